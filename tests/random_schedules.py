"""Random schedules and topologies, for tests that hold two counts against each other."""

from fractions import Fraction

import numpy as np
from hypothesis import strategies as st

from colllib import algorithms
from colllib.schedule import Schedule, Step, pipelined, scaled, side_by_side
from colllib.topology import from_links

WILD = st.one_of(
    st.fractions(min_value=Fraction(1, 10**6), max_value=2**70, max_denominator=2**40),
    st.integers(2**53, 2**80).map(Fraction),
    st.integers(1, 1000).map(lambda n: Fraction(n, 10)),
    st.sampled_from([Fraction(2**31 - 1), Fraction(2**31 - 19), Fraction(450000000001), Fraction(0.1), Fraction(1)]),
)

ANYWHERE = [
    (primitive, algorithm.name)
    for primitive in ("broadcast", "reduce", "all-gather", "reduce-scatter", "all-reduce", "all-to-all")
    for algorithm in algorithms.of(primitive)
]


@st.composite
def schedules(draw, ranks):
    """A correct schedule: an algorithm, perhaps cut in segments, perhaps two of them side by side."""

    def one():
        algorithm = algorithms.find(*draw(st.sampled_from(ANYWHERE)))
        built = algorithm.build(ranks) if algorithm.fits(ranks) else algorithms.find("all-reduce", "ring").build(ranks)
        return pipelined(built, draw(st.integers(1, 3)))

    if draw(st.booleans()):
        return one()
    part = draw(st.sampled_from([Fraction(1, 2), Fraction(1, 4), Fraction(3, 8)]))
    return side_by_side(scaled(one(), part), scaled(one(), 1 - part))


@st.composite
def wirings(draw, ranks, speeds, latencies, most_levels=1, most_cables=1):
    """Ranks and a few switches: a path one way round through all of them, and more links at random."""
    switches = draw(st.integers(0, 2))
    nodes = ranks + switches
    order = draw(st.permutations(range(nodes)))
    links = {(order[i], order[(i + 1) % nodes]) for i in range(nodes) if nodes > 1}
    pairs = st.tuples(st.integers(0, nodes - 1), st.integers(0, nodes - 1)).filter(lambda pair: pair[0] != pair[1])
    links = sorted(links | draw(st.sets(pairs, max_size=12) if nodes > 1 else st.just(set())))
    count = len(links)

    def column(values):
        return draw(st.lists(values, min_size=count, max_size=count))

    return from_links(
        "at random",
        ranks,
        links,
        switches=switches,
        alpha=column(latencies),
        bandwidth=column(speeds),
        level=column(st.integers(0, most_levels - 1)),
        cables=column(st.sampled_from([1, 2, 4][:most_cables])),
    )


def copied(schedule):
    """The schedule with arrays of its own in every step, so that nothing can be recognized as the same object."""
    steps = [Step(*(np.array(values) for values in schedule.step(t))) for t in range(schedule.num_steps)]
    return Schedule.from_steps(schedule.blocks, steps, schedule.switches)

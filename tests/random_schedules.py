"""Random schedules and topologies, for tests that hold two counts against each other."""

from fractions import Fraction
from itertools import pairwise
from math import prod

import numpy as np
from hypothesis import strategies as st

from colllib import algorithms, primitives
from colllib.algorithms import allgather, allreduce, alltoall, direct, reducescatter, trees
from colllib.algorithms.nested import nested
from colllib.exact import Fractions
from colllib.schedule import Orbit, Schedule, Step, in_sequence, pipelined, reversed_in_time, scaled, side_by_side
from colllib.topology import Lattice, from_links

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


@st.composite
def seeds(draw, ranks):
    """A correct schedule of a few blocks: each goes along a tree, up or down or both, or from rank to rank."""
    parts = []
    for share in draw(st.lists(WILD, min_size=1, max_size=3)):
        order = draw(st.permutations(range(ranks)))
        kind = draw(st.sampled_from(["broadcast", "reduce", "all-reduce", "path"]))
        if kind == "path":
            stops = order[: draw(st.integers(1, ranks))]
            blocks = primitives.Blocks(ranks, Fractions.of([share]), np.array(stops[:1]), np.array(stops[-1:]), ())
            parts.append(Schedule.from_steps(blocks, [Step.of(a, b, 0) for a, b in pairwise(stops)]))
            continue
        parent = np.full(ranks, trees.ROOT)
        for place, rank in enumerate(order[1:], 1):
            parent[rank] = order[draw(st.integers(0, place - 1))]
        down = trees.down_by_level(parent, primitives.broadcast(ranks, root=order[0]))
        up = reversed_in_time(down)
        schedule = {"broadcast": down, "reduce": up, "all-reduce": in_sequence(up, down)}[kind]
        parts.append(scaled(schedule, share))
    return side_by_side(*parts)


@st.composite
def lattices(draw, most=12):
    """A lattice of not too many ranks, with wraparound or without."""
    sizes: list[int] = []
    for size in draw(st.lists(st.integers(1, 6), min_size=1, max_size=3)):
        sizes.append(size if prod(sizes) * size <= most else 1)
    return Lattice(tuple(sizes), draw(st.booleans()))


HALVES = [(reducescatter.ring, allgather.ring), (reducescatter.bruck, allgather.bruck)]
WHOLES = [allreduce.ring, allreduce.bidirectional_ring, direct.all_reduce, allreduce.recursive_doubling]


@st.composite
def compositions(draw):
    """All-reduces over one to three axes, one inside another, some with axes along which blocks stay; or halves."""
    sizes = draw(st.lists(st.sampled_from([1, 2, 3, 4]), min_size=1, max_size=3).filter(lambda s: prod(s) <= 16))
    *outside, inner = draw(st.permutations(range(len(sizes))))
    before, after = [], []
    for axis in outside:
        down, up = draw(st.sampled_from(HALVES))
        if sizes[axis] != 3 and draw(st.booleans()):
            down, up = reducescatter.recursive_halving, allgather.recursive_doubling
        before.append((axis, down(sizes[axis])))
        after.insert(0, (axis, up(sizes[axis])))
    build = draw(st.sampled_from(WHOLES[: 3 if sizes[inner] == 3 else 4]))
    kind = draw(st.sampled_from(["all-reduce", "reduce-scatter", "all-gather", "all-to-all"]))
    phases = {
        "all-reduce": [*before, (inner, build(sizes[inner])), *after],
        "reduce-scatter": before,
        "all-gather": after,
        "all-to-all": [(axis, alltoall.pairwise(size)) for axis, size in enumerate(sizes)],
    }[kind]
    return nested(Lattice(tuple(sizes)), phases)


@st.composite
def orbits(draw):
    """A correct schedule that is the same seen from every rank."""
    if draw(st.booleans()):
        lattice = draw(lattices())
        return Orbit(draw(seeds(lattice.ranks)), lattice)
    orbit = draw(compositions())
    if draw(st.booleans()):
        orbit = scaled(orbit, draw(WILD))
    if draw(st.booleans()):
        orbit = side_by_side(orbit, scaled(orbit, draw(st.fractions(0, 3, max_denominator=7))))
    return reversed_in_time(orbit) if not orbit.fixed_axes and draw(st.booleans()) else orbit


@st.composite
def spoiled(draw, orbit):
    """The orbit with some messages of its seed dropped, repeated, delayed or altered: most often wrong."""
    when, messages = orbit.seed.messages
    table = np.stack((when, *messages)) if len(when) else np.zeros((5, 0), dtype=np.intp)
    limits = (orbit.num_steps, orbit.ranks, orbit.ranks, len(orbit.seed.blocks), 2)
    for _ in range(draw(st.integers(1, 2)) if table.size else 0):
        i = draw(st.integers(0, table.shape[1] - 1))
        change = draw(st.sampled_from(["drop", "repeat", *range(5)]))
        if change == "drop":
            table = np.delete(table, i, axis=1)
        elif change == "repeat":
            table = np.insert(table, i, table[:, i], axis=1)
        else:
            table[change, i] = draw(st.integers(0, limits[change] - 1))
        if not table.size:
            break
    table = table[:, np.argsort(table[0], kind="stable")]
    step = Step(table[1], table[2], table[3], table[4].astype(bool))
    seed = Schedule.from_messages(orbit.seed.blocks, orbit.num_steps, table[0], step)
    return Orbit(seed, orbit.lattice, orbit.fixed_axes, orbit.number)

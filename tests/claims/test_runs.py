"""Every execution that the ledger rests on, once more through the second interpreter, or the third if it is large."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
import reference
import reference_in_arrays

from colllib import claims
from colllib.algorithms import allreduce, broadcast
from colllib.claims import runs
from colllib.schedule import Schedule, Step

MOST = 1500  # messages of a run that dictionaries repeat
MESSAGE, ALPHA = Fraction(1, 1000), Fraction(1)  # a thousandth tells bytes from latencies
LADDER = claims.ledger()


@pytest.fixture(scope="module", autouse=True)
def all_runs():
    for entry in LADDER:
        assert entry.finding


@cache
def routes(topology, pair):
    return reference.routes(topology, [pair])[pair]


def small(schedule):
    if schedule.ranks > 64:
        return False
    return sum(len(schedule.step(t).src) for t in range(schedule.num_steps)) <= MOST


def own_routes(schedule, topology):
    """The links of the messages that say themselves where they go."""
    if schedule.paths is None:
        return {}
    link = {}
    for number, pair in enumerate(zip(topology.link_src.tolist(), topology.link_dst.tolist(), strict=True)):
        link.setdefault(pair, number)
    chosen = zip(schedule.paths.block.tolist(), schedule.paths.number.tolist(), strict=True)
    routes = {(block, schedule.paths.nodes[number]) for block, number in chosen}
    return {(block, route[0], route[-1]): [link[pair] for pair in pairwise(route)] for block, route in routes}


def priced(schedule, topology, message, alpha):
    """Lock-step seconds by dictionaries, for one alpha for all levels and links of their own speed."""
    own = own_routes(schedule, topology)
    total, shares, levels = Fraction(0), list(schedule.blocks.share), 1 + max(t.level for t in topology.tiers)
    for step in reference.messages(schedule):
        load, longest = {}, Fraction(0)
        taken = {
            (src, dst, block): own.get((block, src, dst)) or routes(topology, (src, dst)) for src, dst, block, _ in step
        }
        for links in {tuple(links) for links in taken.values()}:
            longest = max(longest, reference.route_latency(topology, list(links), [alpha] * levels))
        for (_, _, block), links in taken.items():
            for link in links:
                load[link] = load.get(link, 0) + shares[block] * message
        total += longest + max((share / topology.bandwidth[link] for link, share in load.items()), default=Fraction(0))
    return total


def recorded(large):
    """Every run that is small, or large, with its schedule and whether it was proved."""
    for run, proved in runs.RECORD.items():
        try:
            schedule = run.schedule()
        except ValueError:  # a schedule that cannot even be built was refused, and is claimed to be
            assert not proved
            continue
        if small(schedule) != large:
            yield run, schedule, proved


def lock_step(run):
    """What a run was recorded to take, at one alpha for all levels and links of their own speed."""
    done = runs._executed(run)
    levels = 1 + max(tier.level for tier in done.topology.tiers)
    price = {"alpha": (ALPHA,) * levels, "bandwidth": (1,) * levels} if levels > 1 else {"alpha": ALPHA, "bandwidth": 1}
    return float(done.cost.seconds(message=MESSAGE, **price))


def test_every_recorded_execution_that_is_not_large_is_repeated_by_the_second_interpreter(all_runs):
    repeated = 0
    for run, schedule, proved in recorded(large=False):
        repeated += 1
        if not proved:
            continue
        assert reference.holds(schedule), run
        seconds = priced(schedule, run.topology(schedule.ranks), MESSAGE, ALPHA)
        assert lock_step(run) == pytest.approx(float(seconds), rel=1e-12), run
    assert repeated > 0.75 * len(runs.RECORD)


def test_every_large_recorded_execution_is_repeated_by_the_third_interpreter(all_runs):
    for run, schedule, proved in recorded(large=True):
        assert proved, run
        assert schedule.paths is None, run  # the topology's router knows every way
        assert reference_in_arrays.holds(schedule), run
        seconds = reference_in_arrays.seconds(schedule, run.topology(schedule.ranks), float(MESSAGE), float(ALPHA))
        assert lock_step(run) == pytest.approx(seconds, rel=1e-9), run


@pytest.mark.parametrize("build", [allreduce.ring, allreduce.rabenseifner, broadcast.binomial_tree])
def test_the_third_interpreter_agrees_with_the_second_on_what_is_sent_once_twice_or_not_at_all(build):
    schedule = build(8)
    *before, last = (schedule.step(t) for t in range(schedule.num_steps))
    verdicts = []
    for keep in (np.s_[:], np.s_[1:], np.r_[0, 0 : len(last.src)]):
        changed = Schedule.from_steps(schedule.blocks, [*before, Step(*(column[keep] for column in last))])
        verdicts.append(reference_in_arrays.holds(changed))
        assert verdicts[-1] == reference.holds(changed)
    assert verdicts[:2] == [True, False]


def test_every_recorded_time_is_repeated_on_the_second_event_clock(all_runs):
    assert runs.TIMED
    for run, message, *price in runs.TIMED:
        schedule = run.schedule()
        topology = run.topology(schedule.ranks)
        levels = 1 + max(tier.level for tier in topology.tiers)
        each = [[Fraction(value) for value in np.broadcast_to(values, levels).tolist()] for values in price]
        last = max(
            arrival for *_, arrival in reference.event_times(schedule, topology, Fraction(message), *each).values()
        )
        assert runs._clocked(run, message, *price)[0] == pytest.approx(float(last)), run


def test_a_run_is_executed_once_and_collected_wherever_it_is_used():
    first = runs.built(allreduce.ring, 5)
    with runs.collected() as used:
        assert runs.built(allreduce.ring, 5) is first
    [use] = used
    assert (use.topology.name, use.clock, use.how, use.what) == ("star:5", "lock-step", "executed", "all-reduce ring")


def test_a_run_of_millions_of_messages_is_made_by_symmetry_and_says_so():
    with runs.collected() as used:
        cost = runs.run("all-reduce ring", "star:4096").cost
        runs.run("all-reduce ring", "star:8")
    assert (cost.n_alpha, cost.n_beta) == (2 * 4095, Fraction(2 * 4095, 4096))
    assert [use.how for use in used] == ["by symmetry", "executed"]


def test_the_limit_of_a_pipeline_is_held_to_its_busiest_link():
    assert runs.load_limit("broadcast chain", "star:6").value == 1
    chain = [reference.star_cost(broadcast.chain(6, segments=p))[1] for p in (50, 500)]
    assert chain[0] > chain[1] > 1

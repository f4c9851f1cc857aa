"""The search against brute force that shares no code with it, and its schedules against both interpreters."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations, product

import pytest
import reference

from colllib.algorithms import allreduce
from colllib.algorithms.circulant import circulant_cost
from colllib.bounds import lower_bound
from colllib.execution import execute
from colllib.primitives import PRIMITIVES, broadcast
from colllib.schedule import Schedule, Step, reversed_in_time
from colllib.search import BACKWARDS, SEARCHED, least_bytes, patterns

CASES = [
    *((name, 2, steps) for name in SEARCHED for steps in (1, 2)),
    *((name, 3, steps) for name in SEARCHED for steps in (2, 3, 4)),
    *((name, 4, steps) for name in SEARCHED for steps in (1, 2)),
    ("broadcast", 4, 3),
    ("all-reduce", 4, 3),
    ("all-to-all", 4, 3),
]
#: Where the bound on the steps is not attained: `brute_all_reduce_steps` says so as well.
FEWEST = {("all-reduce", 3): 3}


@pytest.mark.parametrize(("name", "n", "steps"), CASES)
def test_what_is_found_is_proved_on_one_port_and_beats_no_bound(name, n, steps):
    best = least_bytes(name, n, steps)
    assert (best is None) == (steps < FEWEST.get((name, n), lower_bound(name, n).n_alpha))
    if best is None:
        return
    run = execute(best.schedule)
    assert PRIMITIVES[name].accepts(best.schedule.blocks)
    assert run.cost.n_beta == best.n_beta >= lower_bound(name, n).n_beta
    assert run.partners() == (1, 1)
    assert best.schedule.num_steps == steps
    # and by the second interpreter
    assert reference.holds(best.schedule)
    assert reference.star_cost(best.schedule)[1] == best.n_beta
    assert reference.busiest_ports(best.schedule) == (1, 1)


def test_more_steps_never_cost_more_bytes():
    for name, n in (("broadcast", 3), ("all-reduce", 3), ("all-to-all", 3)):
        optima = [least_bytes(name, n, steps) for steps in range(1, 5)]
        values = [best.n_beta for best in optima if best]
        assert values == sorted(values, reverse=True)
        assert all(optima[k] for k in range(optima.index(next(filter(None, optima))), 4))


def test_backwards_is_as_good():
    for name, forward in BACKWARDS.items():
        best = least_bytes(name, 3, 3)
        assert best.n_beta == least_bytes(forward, 3, 3).n_beta
        again = reversed_in_time(best.schedule)
        assert PRIMITIVES[forward].accepts(again.blocks)
        assert execute(again).cost == execute(best.schedule).cost


def test_patterns_are_all_that_cannot_be_extended():
    """Every set of messages that leaves at most one per port is part of one of them."""
    for n in (2, 3, 4):
        edges = {frozenset((s, d) for s, d in enumerate(p) if s != d) for p in patterns(n)}
        for choice in product(*([d for d in range(n) if d != s] + [None] for s in range(n))):
            used = [d for d in choice if d is not None]
            if len(used) == len(set(used)):
                assert any({(s, d) for s, d in enumerate(choice) if d is not None} <= known for known in edges)


# -- brute force: whole blocks of equal size, every message spelled out -----------------------------


def brute_broadcast(n, blocks, steps):
    """The least sum of largest bundles, as a share of M, over all schedules of `steps` steps; None if there is none."""
    everything = frozenset(range(blocks))
    states = {(everything, *[frozenset()] * (n - 1)): 0}
    for _ in range(steps):
        after = {}
        for state, cost in states.items():
            for chosen in sends([bundles(known) for known in state], n):
                new = list(state)
                for dst, bundle in chosen:
                    new[dst] = new[dst] | bundle
                price = cost + max((len(bundle) for _, bundle in chosen), default=0)
                key = tuple(new)
                after[key] = min(price, after.get(key, price))
        states = after
    best = states.get((everything,) * n)
    return None if best is None else Fraction(best, blocks)


def bundles(blocks):
    items = sorted(blocks)
    return [frozenset(i for k, i in enumerate(items) if mask >> k & 1) for mask in range(1, 1 << len(items))]


def sends(offers, n, src=0, taken=frozenset()):
    """Every choice of at most one message from each rank and to each rank."""
    if src == n:
        yield []
        return
    for rest in sends(offers, n, src + 1, taken):
        yield rest
    for dst in range(n):
        if dst != src and dst not in taken:
            for rest in sends(offers, n, src + 1, taken | {dst}):
                for bundle in offers[src]:
                    yield [(dst, bundle), *rest]


@pytest.mark.parametrize(("n", "blocks", "steps"), [(2, 2, 1), (2, 2, 2), (3, 1, 2), (3, 2, 2), (3, 2, 3), (3, 1, 1)])
def test_broadcast_against_brute_force(n, blocks, steps):
    best, brute = least_bytes("broadcast", n, steps), brute_broadcast(n, blocks, steps)
    if best is None:
        assert brute is None
    elif blocks % best.n_beta.denominator == 0:
        assert brute == best.n_beta
    else:
        assert brute >= best.n_beta


def test_messages_of_several_segments_beat_the_circulant_broadcast_on_five_ranks():
    """By hand: step 1 the vector to rank 1, then a half to each of two, which swap while rank 4 gets all."""
    steps = [
        Step.of([0, 0], [1, 1], [0, 1]),
        Step.of([0, 1], [2, 3], [0, 1]),
        Step.of([2, 3, 0, 0], [3, 2, 4, 4], [0, 1, 0, 1]),
    ]
    schedule = Schedule.from_steps(broadcast(5, 2), steps)
    assert reference.holds(schedule)
    assert reference.busiest_ports(schedule) == (1, 1)
    assert reference.star_cost(schedule) == (3, brute_broadcast(5, 2, 3)) == (3, Fraction(5, 2))
    assert min(circulant_cost(5, p).n_beta for p in (1, 2) if circulant_cost(5, p).n_alpha == 3) == 3


def brute_all_reduce_steps(n):
    """The fewest steps of any all-reduce of one block: each rank adds, replaces or ignores what it gets."""
    start = tuple(frozenset([r]) for r in range(n))
    everyone = frozenset(range(n))
    states, steps = {start}, 0
    while (everyone,) * n not in states:
        after = set()
        for state in states:
            for senders in permutations(range(n)):  # rank d hears from senders[d]; itself means nobody
                choices = []
                for dst, src in enumerate(senders):
                    mine = [state[dst], state[src]]
                    if not state[dst] & state[src]:
                        mine.append(state[dst] | state[src])
                    choices.append(mine)
                after |= set(product(*choices))
        states, steps = after, steps + 1
    return steps


@pytest.mark.parametrize("n", [2, 3])
def test_steps_of_an_all_reduce_against_brute_force(n):
    fewest = brute_all_reduce_steps(n)
    assert least_bytes("all-reduce", n, fewest)
    assert fewest == 1 or least_bytes("all-reduce", n, fewest - 1) is None


def test_three_ranks_that_remember_all_reduce_in_two_steps():
    """Keeping what arrives apart from one's own, all-gathering whole vectors, needs only the two steps of the bound."""
    assert least_bytes("all-gather", 3, 2).n_beta * 3 == 2
    assert least_bytes("all-reduce", 3, 2) is None


def test_the_case_that_no_named_algorithm_attains():
    best = least_bytes("all-reduce", 4, 3)
    assert best.n_beta == lower_bound("all-reduce", 4).n_beta == reference.star_cost(allreduce.rabenseifner(4))[1]
    assert allreduce.rabenseifner(4).num_steps == 4


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: least_bytes("broadcast", 6, 3), "for 2 to 5 ranks"),
        (lambda: least_bytes("all-reduce", 5, 3), "for 2 to 4 ranks"),
        (lambda: least_bytes("point-to-point", 2, 1), "no search"),
        (lambda: least_bytes("broadcast", 3, 0), "steps 0: must be at least 1"),
        (lambda: least_bytes("broadcast", 3, 2.5), "steps 2.5: must be a whole number"),
        (lambda: least_bytes("all-gather", 1, 1), "N = 1: .* for 2 to 5 ranks"),
    ],
)
def test_what_is_not_searched_is_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()

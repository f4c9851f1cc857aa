"""K-nomial exchange: any N in any radix, several partners a step, against counts that share no code with it."""

from fractions import Fraction

import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st

from colllib.algorithms import allgather, allreduce, find, reducescatter
from colllib.cost import Cost
from colllib.execution import execute
from colllib.ladder import Entry, field_of
from colllib.primitives import PRIMITIVES, all_gather
from colllib.schedule import Schedule
from colllib.topology import fat_tree, star

BUILDS = {
    "all-gather": (allgather.knomial, allgather.knomial_cost, 1),
    "reduce-scatter": (reducescatter.knomial, allgather.knomial_cost, 1),
    "all-reduce": (allreduce.knomial, allreduce.knomial_cost, 2),
}


@pytest.mark.parametrize("primitive", BUILDS)
@given(ranks=st.integers(1, 40), radix=st.integers(2, 41))
def test_any_radix_serves_any_number_of_ranks_in_the_fewest_steps_and_bytes(primitive, ranks, radix):
    build, cost, halves = BUILDS[primitive]
    schedule = build(ranks, radix=radix)
    steps = next(steps for steps in range(7) if radix**steps >= ranks)
    assert PRIMITIVES[primitive].accepts(schedule.blocks)
    assert reference.holds(schedule)
    assert reference.star_cost(schedule) == (halves * steps, Fraction(halves * (ranks - 1), ranks))
    assert execute(schedule).cost == cost(ranks, radix) == Cost(*reference.star_cost(schedule))
    assert max(execute(schedule).partners()) <= radix - 1


@pytest.mark.parametrize("primitive", BUILDS)
@pytest.mark.parametrize(("ranks", "steps"), [(2, 1), (4, 1), (5, 2), (16, 2), (17, 3), (64, 3), (72, 4), (512, 5)])
def test_without_a_radix_what_is_held_grows_fourfold(primitive, ranks, steps):
    build, cost, halves = BUILDS[primitive]
    expected = Cost(halves * steps, Fraction(halves * (ranks - 1), ranks))
    assert execute(build(ranks)).cost == cost(ranks) == cost(ranks, radix=4) == expected


@given(weights=st.lists(st.integers(1, 9), min_size=2, max_size=13), radix=st.integers(2, 13))
def test_shards_of_any_size_arrive_and_each_rank_receives_what_it_lacks(weights, radix):
    shares = [Fraction(weight, sum(weights)) for weight in weights]
    even = allgather.knomial(len(shares), radix=radix)
    uneven = Schedule(all_gather(len(shares), shares), even.num_steps, even.step)
    assert reference.holds(uneven)
    assert execute(uneven).received == tuple(1 - share for share in shares)


def test_seventy_two_ranks_meet_as_two_by_six_by_six():
    """By hand: each with the one that is 36 away, then with five in its half, then with all of its six."""
    steps = list(reference.messages(allgather.knomial(72, radix=6)))
    groups = [lambda r: r % 36, lambda r: (r % 6, r // 36), lambda r: r // 6]
    for step, group in zip(steps, groups, strict=True):
        pairs = {(i, j) for i in range(72) for j in range(72) if i != j and group(i) == group(j)}
        assert {(src, dst) for src, dst, _, _ in step} == pairs
    assert [len(step) for step in steps] == [72, 720, 4320]


def test_other_numbers_go_down_one_tree_rotated():
    """By hand, seven ranks in threes: block 0 goes 3 and 6 up, then each of its holders sends it one and two up."""
    steps = list(reference.messages(allgather.knomial(7, radix=3)))
    assert [{(src, dst) for src, dst, block, _ in step if block == 0} for step in steps] == [
        {(0, 3), (0, 6)},
        {(0, 1), (0, 2), (3, 4), (3, 5)},
    ]
    for step in steps:
        assert {((src - block) % 7, (dst - block) % 7) for src, dst, block, _ in step} == {
            (src, dst) for src, dst, block, _ in step if block == 0
        }


@pytest.mark.parametrize("ranks", [3, 5, 8, 13])
def test_radix_two_counts_as_bruck_and_radix_n_is_direct(ranks):
    two, all_at_once = (allgather.knomial(ranks, radix=radix) for radix in (2, ranks))
    assert execute(two).cost == execute(allgather.bruck(ranks)).cost
    [step] = reference.messages(all_at_once)
    assert {message[:3] for message in step} == {(i, j, i) for i in range(ranks) for j in range(ranks) if i != j}


@pytest.mark.parametrize("radix", [0, 1, 2.0, True])
def test_a_radix_below_two_is_refused(radix):
    for refused in (allgather.knomial, allgather.knomial_cost):
        with pytest.raises(ValueError, match="a radix must be a whole number of at least 2"):
            refused(8, radix=radix)


def by_hand(ranks, radix, message):
    """Half an all-reduce, in units of alpha and alpha BW: a step waits for its bytes or for its last message."""
    seconds, place = 0.0, 1
    while place < ranks:
        sent = sum(block // place % radix > 0 for block in range(0, ranks, place))
        messages = min(radix, -(-ranks // place)) - 1
        seconds += 1 + max(sent / ranks * message, messages - 1)
        place *= radix
    return seconds


@given(ranks=st.integers(5, 80), message=st.floats(0.01, 1e4))
def test_a_ladder_takes_the_radix_that_is_fastest_if_messages_leave_an_alpha_apart(ranks, message):
    price = {"message": message, "alpha": 1.0, "bandwidth": 1.0}
    [rung], _ = field_of("all-reduce", star(ranks), [find("all-reduce", "knomial")], searching=True, **price)
    best = min(by_hand(ranks, radix, message) for radix in range(3, min(ranks, 9)))
    assert rung.apart == pytest.approx(2 * best)
    assert rung.apart == pytest.approx(2 * by_hand(ranks, rung.algorithm.chosen["radix"], message))


def test_at_the_anchor_it_is_first_in_radix_four_as_ucc_has_it_however_its_messages_leave():
    """By hand: ten steps and 511/256 of 16 MB; one by one the steps of 6 and 24 shards wait for a third message."""
    price = {"message": 16e6, "alpha": 0.5e-6, "bandwidth": 900e9}
    among = [find("all-reduce", name) for name in ("rabenseifner", "knomial", "bruck")]
    rungs, left_out = field_of("all-reduce", star(512), among, searching=True, **price)
    assert [rung.label for rung in rungs] == ["k-nomial, radix 4", "Rabenseifner", "Bruck"]
    assert not left_out
    shard = 16e6 / 512 / 900e9
    assert rungs[0].seconds == pytest.approx(10 * 0.5e-6 + 2 * 511 * shard)
    assert rungs[0].posting == pytest.approx(2 * (2 * 1e-6 - (6 + 24) * shard))


def test_two_ranks_or_three_have_no_radix_to_choose():
    assert [Entry(find("all-gather", "knomial"), star(n)).radices for n in (2, 3, 4, 6, 64)] == [
        (),
        (),
        (3,),
        (3, 4, 5),
        (3, 4, 5, 6, 7, 8),
    ]


def test_of_thousands_of_ranks_it_is_compared_only_where_all_look_alike():
    price = {"message": 16e6, "alpha": 0.5e-6, "bandwidth": 900e9}
    among = [find("all-reduce", name) for name in ("bruck", "knomial")]
    placed, left_out = (field_of("all-reduce", on, among, searching=True, **price) for on in (star(2048), fat_tree(20)))
    assert [rung.algorithm.name for rung in placed[0]] == ["knomial", "bruck"]
    assert left_out[1].keys() == {"knomial"}

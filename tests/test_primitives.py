"""Primitives as specifications of who holds what before and after."""

import re
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from colllib.exact import Fractions
from colllib.primitives import (
    PRIMITIVES,
    Blocks,
    all_gather,
    all_reduce,
    all_to_all,
    broadcast,
    point_to_point,
    reduce,
    reduce_scatter,
    whole_numbers,
)


def sides(blocks):
    return [
        (set(blocks.holders(int(s)).tolist()), set(blocks.holders(int(t)).tolist()))
        for s, t in zip(blocks.source, blocks.target, strict=True)
    ]


@pytest.mark.parametrize("ranks", [1, 2, 3, 5, 12])
def test_each_primitive_says_who_holds_a_block_before_and_who_must_hold_it_after(ranks):
    everyone = set(range(ranks))
    root = ranks - 1
    assert sides(broadcast(ranks, root=root)) == [({root}, everyone)]
    assert sides(reduce(ranks, root=root)) == [(everyone, {root})]
    assert sides(all_reduce(ranks)) == [(everyone, everyone)]
    assert sides(reduce_scatter(ranks)) == [(everyone, {r}) for r in range(ranks)]
    assert sides(all_gather(ranks)) == [({r}, everyone) for r in range(ranks)]
    assert sides(all_to_all(ranks)) == [({i}, {j}) for i in range(ranks) for j in range(ranks)]
    assert sides(point_to_point(ranks, source=0, target=root)) == [({0}, {root})]


@pytest.mark.parametrize("ranks", [2, 5])
def test_each_primitive_accepts_its_own_blocks_and_no_others(ranks):
    blocks = {
        "broadcast": broadcast(ranks),
        "reduce": reduce(ranks),
        "all-reduce": all_reduce(ranks),
        "reduce-scatter": reduce_scatter(ranks),
        "all-gather": all_gather(ranks),
        "all-to-all": all_to_all(ranks),
        "point-to-point": point_to_point(ranks),
    }
    assert blocks.keys() == PRIMITIVES.keys()
    accepted = {(p, b) for p, primitive in PRIMITIVES.items() for b in blocks if primitive.accepts(blocks[b])}
    # not even a broadcast as the all-gather of one rank's shard: every rank must own one
    assert accepted == {(name, name) for name in blocks}


@pytest.mark.parametrize(
    ("primitive", "blocks"),
    [
        ("all-to-all", Blocks(3, Fractions.equal(3), np.arange(3), np.arange(3), ())),
        ("all-to-all", Blocks(3, Fractions.equal(3, 3), np.arange(3), np.zeros(3, dtype=int), ())),
        ("point-to-point", Blocks(3, Fractions.equal(1), np.array([1]), np.array([1]), ())),
        ("all-gather", all_gather(3, owner=[0, 1, 1])),
        ("reduce-scatter", reduce_scatter(3, owner=[2, 1, 1])),
        ("broadcast", Blocks(3, Fractions.equal(0), np.zeros(0, dtype=int), np.zeros(0, dtype=int), ())),
    ],
)
def test_what_moves_too_little_is_not_the_primitive(primitive, blocks):
    assert not PRIMITIVES[primitive].accepts(blocks)


@pytest.mark.parametrize(
    ("groups", "target", "complaint"),
    [
        (([0, 5],), 3, "group of the ranks [0, 5]"),
        (([],), 3, "group of the ranks []"),
        (([1, 1],), 3, "group of the ranks [1, 1]"),
        (([-1, 0],), 3, "group of the ranks [-1, 0]"),
        ((range(10),), 3, "group of the ranks [0, 1, 2, 3, 4, 5, 6, 7]: must name some of 0..2"),
        ((), 3, "a target outside 0..2"),
        ((), -1, "a target outside 0..2"),
    ],
)
def test_blocks_name_ranks_that_are_there(groups, target, complaint):
    with pytest.raises(ValueError, match=r"^[^\n]+$") as refusal:
        Blocks(3, Fractions.equal(1), np.array([0]), np.array([target]), tuple(np.array(g, dtype=int) for g in groups))
    assert complaint in str(refusal.value)


def test_owners_are_whole_numbers():
    with pytest.raises(ValueError, match=r"owner 1\.5: must be a whole number"):
        reduce_scatter(2, owner=[1.5, 0])
    with pytest.raises(ValueError, match=r"rank 9223372036854775808: must be below 2\^63"):
        whole_numbers("rank", [2**63])
    for large in (2**63, 2**70):
        with pytest.raises(ValueError, match=rf"owner {large}: must be below 2\^63"):
            reduce_scatter(2, owner=[0, large])


def test_sizes_may_be_uneven_down_to_nothing():
    shares = [Fraction(1, 2), Fraction(0), Fraction(1, 3), Fraction(1, 6)]
    assert list(all_gather(4, shares).share) == shares
    assert PRIMITIVES["all-gather"].accepts(all_gather(4, shares))
    table = [[Fraction(0), Fraction(1)], [Fraction(1, 4), Fraction(3, 4)]]
    assert PRIMITIVES["all-to-all"].accepts(all_to_all(2, table))


@pytest.mark.parametrize("ranks", [0, -1, 1.5])
def test_blocks_are_held_by_one_rank_at_least(ranks):
    none = np.zeros(0, dtype=np.intp)
    with pytest.raises(ValueError, match=f"^N = {ranks}: the number of ranks"):
        Blocks(ranks, Fractions.of([]), none, none, ())


@pytest.mark.parametrize(
    ("build", "complaint"),
    [
        (lambda: all_reduce(0), "N = 0"),
        (lambda: all_reduce(-3), "N = -3"),
        (lambda: all_reduce(2.5), "N = 2.5"),
        (lambda: all_reduce(True), "N = True"),
        (lambda: broadcast(4, root=4), "root 4: must be one of the ranks 0..3"),
        (lambda: broadcast(4, root=-1), "root -1"),
        (lambda: point_to_point(2, target=2), "target 2"),
        (lambda: all_reduce(4, shares=0), "0 slices"),
        (lambda: broadcast(2, shares=2**25), "a message: 33554432 slices are too many, at most 16777216 will do"),
        (lambda: replace(broadcast(3), groups=(np.array([0, 3]),)), "ranks [0, 3]: must name some of 0..2, each once"),
        (lambda: all_reduce(4, shares=[Fraction(1, 2)]), "sum to 1/2"),
        (lambda: all_reduce(4, shares=[Fraction(-1), Fraction(2)]), "share of -1"),
        (lambda: all_gather(3, owner=[0, 1]), "2 owners for 3 blocks"),
        (lambda: all_gather(3, owner=[0, 1, 3]), "owner 3"),
        (lambda: all_to_all(2, [[Fraction(1)]]), "2 x 2 table"),
    ],
)
def test_bad_input_is_refused_in_one_line_that_names_the_value(build, complaint):
    with pytest.raises(ValueError, match=r"^[^\n]+$") as refusal:
        build()
    assert complaint in str(refusal.value)


def test_a_source_that_is_no_rank_and_no_group_is_refused():
    good = all_to_all(2)
    for wrong in ([0, 0, 1, 2], [0, 0, 1, -1]):
        with pytest.raises(ValueError, match=re.escape("source outside 0..1")):
            Blocks(2, good.share, np.array(wrong), good.target, ())


def test_a_group_of_one_rank_is_that_rank_in_an_all_to_all():
    groups = (np.array([0]), np.array([1]))
    blocks = Blocks(2, Fractions.of([Fraction(1, 2)] * 4), np.array([2, 2, 3, 3]), np.array([0, 3, 2, 1]), groups)
    assert PRIMITIVES["all-to-all"].accepts(blocks)
    assert not PRIMITIVES["all-to-all"].accepts(replace(blocks, target=np.array([0, 2, 2, 1])))


def mixed(sources, targets, shares, groups=()):
    sides = (np.array(side) for side in (sources, targets))
    return Blocks(3, Fractions.of(shares), *sides, tuple(np.array(group) for group in groups))


HALF, THIRD = Fraction(1, 2), Fraction(1, 3)


@pytest.mark.parametrize(
    ("primitive", "right", "wrong"),
    [
        ("broadcast", ([0, 0], [3, 3]), ([0, 0], [3, 4])),  # one of the two blocks does not reach all
        ("broadcast", ([0, 0], [3, 3]), ([0, 4], [3, 3])),  # or is held by two
        ("reduce", ([3, 3], [1, 1]), ([3, 4], [1, 1])),
        ("all-reduce", ([3, 3], [3, 3]), ([3, 3], [3, 4])),
        ("point-to-point", ([0, 0], [2, 2]), ([0, 0], [2, 4])),
    ],
)
def test_one_block_of_another_kind_makes_another_primitive(primitive, right, wrong):
    groups = ([0, 1, 2], [0, 1])
    assert PRIMITIVES[primitive].accepts(mixed(*right, [HALF, HALF], groups))
    assert not PRIMITIVES[primitive].accepts(mixed(*wrong, [HALF, HALF], groups))


def test_in_an_all_to_all_every_rank_sends_one_message():
    good = all_to_all(3)
    assert PRIMITIVES["all-to-all"].accepts(good)
    for rank in range(3):
        share = [HALF if block // 3 == rank else THIRD for block in range(9)]
        assert not PRIMITIVES["all-to-all"].accepts(replace(good, share=Fractions.of(share)))


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_a_message_to_its_own_sender_is_none_where_there_are_others(ranks):
    own = Blocks(ranks, Fractions.equal(1), np.array([0]), np.array([0]), ())
    assert PRIMITIVES["point-to-point"].accepts(own) == (ranks == 1)
    as_a_group = replace(own, target=np.array([ranks]), groups=(np.array([0]),))
    assert PRIMITIVES["point-to-point"].accepts(as_a_group) == (ranks == 1)
    if ranks > 1:
        assert PRIMITIVES["point-to-point"].accepts(replace(as_a_group, groups=(np.array([1]),)))
        with pytest.raises(ValueError, match="source and target are both rank 0"):
            point_to_point(ranks, source=0, target=0)


def test_one_share_that_cannot_be_is_named_among_others():
    with pytest.raises(ValueError, match="a share of -1/2"):
        broadcast(3, shares=[Fraction(3, 2), -HALF])
    with pytest.raises(ValueError, match="a share of -1/2"):
        Blocks(3, Fractions.of([Fraction(3, 2), -HALF]), np.array([0, 0]), np.array([1, 1]), ())
    for table in ([[HALF] * 2] * 2 + [[HALF] * 3], [[THIRD] * 3] * 2, [[THIRD] * 2] * 3):
        with pytest.raises(ValueError, match="must form a 3 x 3 table"):
            all_to_all(3, table)

"""The algebra of schedules: what it makes still does what it must, and costs what a second count says."""

import re
import sys
from collections import Counter
from dataclasses import FrozenInstanceError, fields, replace
from fractions import Fraction

import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st

from colllib.algorithms import CATALOGUE, allgather, allreduce, broadcast, innetwork, reducescatter
from colllib.algorithms.nested import Phase, nested
from colllib.cost import Cost, Tier, TieredCost
from colllib.events import Processor, Timeline
from colllib.exact import Fractions
from colllib.execution import Execution, ScheduleError, execute
from colllib.lattice_group import LatticeGroup
from colllib.limits import TooLarge
from colllib.primitives import (
    PRIMITIVES,
    Blocks,
    Primitive,
    all_gather,
    all_reduce,
    all_to_all,
    point_to_point,
    reduce,
    reduce_scatter,
)
from colllib.primitives import broadcast as broadcast_blocks
from colllib.schedule import (
    Schedule,
    Step,
    in_sequence,
    pipelined,
    placed,
    reversed_in_time,
    scaled,
    side_by_side,
    split,
)
from colllib.topology import Lattice, Topology, line, ring, star, switch_tree
from colllib.topology.paths import Paths

ranks = st.integers(1, 13)
builders = st.sampled_from(
    [
        allreduce.ring,
        allreduce.binomial_tree,
        allreduce.double_binary_tree,
        allreduce.recursive_doubling,
        allreduce.rabenseifner,
        allgather.ring,
        reducescatter.ring,
        broadcast.chain,
        broadcast.binomial_tree,
    ]
)


def test_a_schedule_is_itself_and_no_other():
    tree = allreduce.binomial_tree(4)
    assert {tree: "kept"}[tree] == "kept"
    assert replace(tree) != tree


def test_a_step_keeps_the_arrays_that_it_is_given():
    rank, add = np.arange(3), np.array([True, False, True])
    step = Step.of(rank, rank[::-1], rank, add)
    assert step.src is rank
    assert step.block is rank
    assert step.add is add


@pytest.mark.parametrize(
    "build",
    [allreduce.ring, allreduce.recursive_doubling, broadcast.chain, broadcast.binomial_tree],
)
def test_a_step_that_a_schedule_does_not_have_is_no_empty_step(build):
    schedule = build(4)
    for t in (-1, schedule.num_steps):
        with pytest.raises(IndexError, match=f"^step {t}: there are {schedule.num_steps}, counted from 0$"):
            schedule.step(t)


def test_a_step_alone_is_no_list_of_steps():
    with pytest.raises(ValueError, match=r"^a step is array\(\[0\]\): from_steps takes a list of Steps$"):
        Schedule.from_steps(broadcast_blocks(2), Step.of(0, 1, 0))


@pytest.mark.parametrize(
    ("columns", "lengths"),
    [
        (([0, 1], [1, 2, 3], 0), "2, 3, 1, 1"),
        (([0, 1, 2], 3, 0, [True, False]), "3, 1, 1, 2"),
        (([], [0, 1], 0), "0, 2, 1, 1"),
    ],
)
def test_the_columns_of_a_step_are_of_one_length(columns, lengths):
    with pytest.raises(ValueError, match=rf"^src, dst, block, add of lengths \[{lengths}\]: must be of one"):
        Step.of(*columns)


def test_who_sends_nothing_has_no_partners():
    assert Step.of([], [], []).partners() == (0, 0)
    assert execute(allreduce.ring(1)).partners() == (0, 0)
    assert execute(Schedule.from_steps(all_gather(1), [Step.of([], [], [])])).partners() == (0, 0)


def agrees(schedule):
    """Executor and reference interpreter agree on the end state and on every count."""
    run = execute(schedule)
    assert reference.holds(schedule)
    assert (run.cost.n_alpha, run.cost.n_beta) == reference.star_cost(schedule)
    sent, received = reference.traffic(schedule)
    assert list(run.sent) == [sent[r] for r in range(schedule.ranks)]
    assert list(run.received) == [received[r] for r in range(schedule.ranks)]
    assert run.partners() == reference.busiest_ports(schedule)
    return run


@given(builders, ranks, st.integers(1, 5), st.integers(1, 3))
def test_pipelining_keeps_the_end_state_and_the_bytes(build, n, segments, interval):
    whole = build(n)
    cut = pipelined(whole, segments, interval)
    run = agrees(cut)
    assert run.sent == execute(whole).sent
    if whole.num_steps:
        assert cut.num_steps == whole.num_steps + (segments - 1) * interval
        assert len(cut.blocks) == segments * len(whole.blocks)


def test_what_is_not_cut_and_what_does_nothing_stays_as_it_is():
    for whole in (allreduce.ring(4), flat(allreduce.ring(4)), placed(allreduce.ring(2), [3, 1], 4)):
        assert pipelined(whole, 1) is whole
        assert pipelined(whole, 1, 3) is whole
        assert split(whole, 1) is whole
    alone = allreduce.ring(1)
    assert pipelined(alone, 3) is alone


@given(builders, ranks, st.integers(1, 4))
def test_pieces_that_travel_together_cost_what_the_whole_costs(build, n, pieces):
    whole = build(n)
    cut = split(whole, pieces)
    run = agrees(cut)
    assert (run.cost, run.sent) == (execute(whole).cost, execute(whole).sent)
    assert len(cut.blocks) == pieces * len(whole.blocks)
    assert cut.num_messages == pieces * whole.num_messages
    assert list(cut.blocks.share) == [share / pieces for share in whole.blocks.share for _ in range(pieces)]
    for small, large in zip(reference.messages(cut), reference.messages(whole), strict=True):
        assert Counter((src, dst, block // pieces, add) for src, dst, block, add in small) == Counter(large * pieces)


def flat(schedule):
    """The same, given as all its messages at once."""
    return Schedule.from_messages(schedule.blocks, schedule.num_steps, *schedule.messages)


@given(builders, ranks, st.integers(0, 3))
def test_a_schedule_is_the_same_by_its_steps_or_by_all_its_messages(build, n, idle):
    of_steps = build(n)
    late = Schedule.from_steps(of_steps.blocks, [Step.of([], [], [])] * idle + list(of_steps.steps))
    for one in (of_steps, late):
        when, messages = one.messages
        steps = list(reference.messages(one))
        assert when.tolist() == [t for t, step in enumerate(steps) for _ in step]
        assert list(zip(*(column.tolist() for column in messages), strict=True)) == reference.messages_of(one)
        assert one.num_messages == flat(one).num_messages == len(when)
        assert list(reference.messages(flat(one))) == steps
        twice = [in_sequence(one, late), in_sequence(flat(one), flat(late)), in_sequence(one, flat(late))]
        assert all(list(reference.messages(both)) == steps + list(reference.messages(late)) for both in twice)


@given(st.sampled_from([allgather.ring, reducescatter.ring, broadcast.chain, broadcast.binomial_tree]), ranks)
def test_time_reversal_swaps_source_and_target_and_costs_the_same(build, n):
    forward = build(n)
    backward = reversed_in_time(forward)
    assert agrees(backward).cost == execute(forward).cost
    assert backward.blocks.source.tolist() == forward.blocks.target.tolist()
    again = reversed_in_time(backward)
    assert [list(step) for step in reference.messages(again)] == [list(step) for step in reference.messages(forward)]


def test_reversing_an_exchange_of_sums_gives_no_all_reduce_and_execution_says_so():
    with pytest.raises(ScheduleError, match="lacks the contribution"):
        execute(reversed_in_time(allreduce.recursive_doubling(4)))


def test_reversing_a_broadcast_that_sends_the_root_what_it_holds_counts_twice_and_execution_says_so():
    with pytest.raises(ScheduleError, match="already holds"):
        execute(reversed_in_time(broadcast.scatter_allgather(4)))


def test_a_block_sent_from_one_rank_to_one_other_stays_a_copy_when_reversed():
    from colllib.primitives import point_to_point

    relay = Schedule.from_steps(point_to_point(3, target=2), [Step.of(0, 1, 0), Step.of(1, 2, 0)])
    agrees(reversed_in_time(relay))
    assert not reversed_in_time(relay).step(0).add.any()


@given(builders, ranks, st.randoms(use_true_random=False), st.integers(0, 6))
def test_a_placed_schedule_costs_the_same_and_leaves_the_other_ranks_alone(build, n, random, extra):
    onto = random.sample(range(n + extra), n)
    inner = build(n)
    outer = placed(inner, onto, n + extra)
    run = agrees(outer)
    assert run.cost == execute(inner).cost
    assert [run.sent[rank] for rank in onto] == list(execute(inner).sent)
    assert sum(run.sent) == sum(execute(inner).sent)


@given(builders, builders, ranks)
def test_side_by_side_keeps_both_end_states_and_adds_their_bytes(first, second, n):
    a, b = first(n), second(n)
    both = agrees(side_by_side(a, b))
    assert both.schedule.num_steps == max(a.num_steps, b.num_steps)
    assert [x + y for x, y in zip(execute(a).sent, execute(b).sent, strict=True)] == list(both.sent)


@given(ranks, st.fractions(min_value=0, max_value=5, max_denominator=12))
def test_scaling_a_message_scales_its_bytes_and_no_steps(n, factor):
    whole, part = execute(allreduce.ring(n)), execute(scaled(allreduce.ring(n), factor))
    assert part.cost.n_beta == whole.cost.n_beta * factor
    assert part.cost.n_alpha == whole.cost.n_alpha


def test_two_rings_with_half_a_message_each_share_the_ports_of_a_star():
    halves = [
        scaled(in_sequence(reducescatter.ring(6, direction=d), allgather.ring(6, direction=d, first=0)), Fraction(1, 2))
        for d in (1, -1)
    ]
    run = agrees(side_by_side(*halves))
    assert PRIMITIVES["all-reduce"].accepts(run.schedule.blocks)
    assert run.cost == execute(allreduce.ring(6)).cost


def test_concurrent_groups_on_disjoint_ranks_do_not_slow_each_other_on_a_star():
    left = placed(allreduce.ring(4), [0, 2, 4, 6], 8)
    right = placed(allreduce.ring(4), [1, 3, 5, 7], 8)
    assert agrees(side_by_side(left, right)).cost == execute(allreduce.ring(4)).cost


def test_a_sequence_that_does_not_fit_together_is_refuted_by_execution():
    # the second half expects rank r to own chunk r + 1, the first leaves it with chunk r
    with pytest.raises(ScheduleError):
        execute(in_sequence(reducescatter.ring(4, first=-1), allgather.ring(4, first=1)))


@pytest.mark.parametrize(
    ("build", "complaint"),
    [
        (lambda: in_sequence(allreduce.ring(3), allreduce.ring(4)), "same ranks"),
        (lambda: in_sequence(allreduce.ring(3), broadcast.chain(3)), "same blocks"),
        (lambda: side_by_side(), "at least one"),
        (lambda: side_by_side(allreduce.ring(3), allreduce.ring(4)), "[3, 4] ranks"),
        (lambda: placed(allreduce.ring(3), [0, 1]), "must name 3 different ranks"),
        (lambda: placed(allreduce.ring(3), [0, 1, 1]), "must name 3 different ranks"),
        (lambda: placed(allreduce.ring(3), [0, 1, 5], 5), "place 5"),
        (lambda: placed(allreduce.ring(3), [0, 1, 2], 0), "N = 0: the number of ranks"),
        (lambda: placed(allreduce.ring(3), [0, 1, 2], "3"), "N = '3': the number of ranks"),
        (lambda: scaled(allreduce.ring(3), -1), "negative"),
        (lambda: pipelined(allreduce.ring(3), 0), "segments 0: must be at least 1"),
        (lambda: pipelined(allreduce.ring(3), 2, 0), "interval 0: must be at least 1"),
        (lambda: split(allreduce.ring(3), 0), "pieces 0: must be at least 1"),
        (lambda: split(replace(allreduce.ring(3), paths=Paths.of([])), 2), "paths of its own cannot be cut"),
        (lambda: placed(replace(allreduce.ring(3), paths=Paths.of([])), [2, 0, 1]), "cannot be placed elsewhere"),
    ],
)
def test_operations_that_make_no_sense_are_refused_in_one_line(build, complaint):
    with pytest.raises(ValueError, match=r"^[^\n]+$") as refusal:
        build()
    assert complaint in str(refusal.value)


def test_a_schedule_that_uses_switches_is_placed_nowhere_else():
    with pytest.raises(ValueError, match="uses switches belongs to its topology"):
        placed(innetwork.multicast(star(3, replicates=True)), [2, 0, 1])


def test_switches_that_take_part_do_so_in_every_operation():
    plain = allreduce.binomial_tree(3)
    in_network = Schedule.from_steps(plain.blocks, [Step.of([0, 1, 2], 3, 0, add=True), Step.of(3, [0, 1, 2], 0)], 1)
    for one, other in ((plain, in_network), (in_network, plain), (in_network, in_network)):
        for joined in (in_sequence(one, other), side_by_side(one, other)):
            assert (joined.switches, joined.nodes) == (1, 4)
    assert in_sequence(plain, plain).switches == side_by_side(plain, plain).switches == 0
    for joined in (pipelined(in_network, 2), split(in_network, 2), reversed_in_time(in_network), scaled(in_network, 2)):
        assert (joined.switches, joined.nodes) == (1, 4)


def among(groups, source, target, steps):
    """One block on four ranks, with some groups of them."""
    own = tuple(np.array(group) for group in groups)
    return Schedule.from_steps(Blocks(4, Fractions.equal(1), np.array([source]), np.array([target]), own), steps)


@pytest.mark.parametrize("source", [3, 4, 5])
@pytest.mark.parametrize("target", [2, 4, 5])
def test_reversed_in_time_a_copy_is_an_addition_unless_it_goes_from_one_rank_to_one(source, target):
    """A value of 4 is the first of two groups."""
    forward = among([[0, 3], [1, 2]], source, target, [Step.of([3, 3], [0, 1], 0, add=[False, True])])
    back = reversed_in_time(forward).step(0)
    assert list(zip(*(column.tolist() for column in back), strict=True)) == [
        (0, 3, 0, max(source, target) >= 4),
        (1, 3, 0, False),
    ]


def test_groups_keep_their_ranks_when_schedules_are_joined():
    """A value of 4 is the first group. Ranks 0 and 1 add up at rank 0, which tells ranks 2 and 3."""
    added = among([[0, 1]], 4, 0, [Step.of(1, 0, 0, add=True)])
    multicast = among([[1, 3], [0, 2, 3]], 0, 5, [Step.of(0, [2, 3], 0)])
    whole = in_sequence(added, multicast).blocks
    assert whole.holders(int(whole.source[0])).tolist() == [0, 1]
    assert whole.holders(int(whole.target[0])).tolist() == [0, 2, 3]
    first = in_sequence(added, among([[0, 3], [1, 2]], 0, 4, [Step.of(0, 3, 0)]))
    assert first.blocks.holders(int(first.blocks.target[0])).tolist() == [0, 3]
    assert agrees(first).cost == Cost(2, 2)
    both = side_by_side(added, multicast, added)
    ends = [
        [both.blocks.holders(int(side[k])).tolist() for side in (both.blocks.source, both.blocks.target)]
        for k in range(3)
    ]
    assert ends == [[[0, 1], [0]], [[0], [0, 2, 3]], [[0, 1], [0]]]
    relocated = placed(multicast, [3, 1, 0, 2]).blocks
    assert sorted(relocated.holders(int(relocated.target[0])).tolist()) == [0, 2, 3]
    assert relocated.holders(int(relocated.source[0])).tolist() == [3]
    back = reversed_in_time(multicast).blocks
    assert back.holders(int(back.source[0])).tolist() == [0, 2, 3]


def plain(build, n):
    """A schedule of an algorithm that is no orbit."""
    return flat(build(n))


#: What counts what, how many there are, and what has so many.
COUNTED = [
    ("primitives", "MOST_BLOCKS", 9, lambda: all_to_all(3)),
    ("primitives", "MOST_BLOCKS", 7, lambda: broadcast_blocks(2, 7)),
    ("primitives", "MOST_MESSAGES", 12, lambda: broadcast_blocks(5, 3)),
    ("primitives", "MOST_MESSAGES", 20, lambda: reduce_scatter(5)),
    ("schedule", "MOST_BLOCKS", 5, lambda: allgather.ring(5).blocks),
    ("schedule", "MOST_BLOCKS", 12, lambda: pipelined(broadcast.chain(4), 12)),
    ("schedule", "MOST_BLOCKS", 6, lambda: split(broadcast.chain(4), 6)),
    ("schedule", "MOST_MESSAGES", 5, lambda: allgather.ring(5).step(3)),
    ("algorithms.nested", "MOST_BLOCKS", 6, lambda: on_two_axes()),
    # the three blocks of a rank's line go to three ranks each in two steps, and two ranks have each of them
    ("algorithms.nested", "MOST_MESSAGES", 24, lambda: on_two_axes()),
    ("algorithms.nested", "MOST_AT_ONCE", 12, lambda: list(on_two_axes().steps)),
]


def on_two_axes():
    """An all-gather of two ranks on one axis, and then of three on the other."""
    return nested(Lattice((2, 3)), [(0, plain(allgather.ring, 2)), (1, plain(allgather.ring, 3))])


@pytest.mark.parametrize(("module", "limit", "count", "build"), COUNTED, ids=lambda value: str(value)[:20])
def test_what_is_as_large_as_may_be_is_made_and_one_more_is_refused(module, limit, count, build, monkeypatch):
    defining = sys.modules[f"colllib.{module}"]  # which a function of its name may hide
    monkeypatch.setattr(defining, limit, count)
    build()
    monkeypatch.setattr(defining, limit, count - 1)
    with pytest.raises(TooLarge, match=f"{count} [a-z]+ are too many, at most {count - 1} will do"):
        build()


BY_RANKS = [algorithm for algorithm in CATALOGUE if algorithm.takes == "ranks"]


@pytest.mark.parametrize("algorithm", BY_RANKS, ids=lambda a: f"{a.primitive}-{a.name}")
@pytest.mark.parametrize("ranks", [1, 2, 5, 8])
def test_numpys_whole_numbers_build_and_cost_the_same(algorithm, ranks):
    if algorithm.fits(ranks):
        ours, theirs = algorithm.build(ranks), algorithm.build(np.int64(ranks))
        assert ours.num_steps == theirs.num_steps
        for t in range(ours.num_steps):
            assert all(map(np.array_equal, ours.step(t), theirs.step(t)))
        if algorithm.has_closed_form and algorithm.cost.covers(ranks):
            assert algorithm.cost(np.int64(ranks)) == algorithm.cost(ranks)


@pytest.mark.parametrize(("when", "steps"), [([1, 0], 2), ([0], 2), ([0, 5], 2), ([-1, 0], 2), ([], 2)])
def test_messages_at_no_step_are_refused(when, steps):
    with pytest.raises(ValueError, match=rf"^when: must name one of the steps 0\.\.{steps - 1} for each of 2 messages"):
        Schedule.from_messages(broadcast_blocks(3), steps, np.array(when, dtype=np.intp), Step.of([0, 1], [1, 2], 0))


PARTS = [broadcast_blocks, reduce, all_reduce, reduce_scatter, all_gather, all_to_all, point_to_point]


@pytest.mark.parametrize("wrong", [0, -2, 1.5, True, "4"])
@pytest.mark.parametrize(
    "build",
    [*PARTS, star, ring, line, lambda n: switch_tree(n, 4), *(algorithm.build for algorithm in BY_RANKS)],
    ids=lambda build: getattr(build, "__name__", "built"),
)
def test_a_number_of_ranks_that_is_none_is_refused_as_such(build, wrong):
    with pytest.raises(ValueError, match=f"^N = {re.escape(repr(wrong))}: the number of ranks must be a whole number"):
        build(wrong)


@pytest.mark.parametrize("wrong", [-1, 3, 0.5, True])
def test_a_rank_that_is_not_there_is_refused_by_its_role(wrong):
    for build, role in (
        (lambda: broadcast_blocks(3, root=wrong), "root"),
        (lambda: reduce(3, root=wrong), "root"),
        (lambda: point_to_point(3, source=wrong, target=0), "source"),
        (lambda: point_to_point(3, source=0, target=wrong), "target"),
        (lambda: placed(allreduce.ring(3), [0, 1, wrong]), "place"),
    ):
        if role != "place" or wrong is not True:  # which is also 1
            with pytest.raises(ValueError, match=f"^{role} {wrong!r}: must be one of the ranks 0..2"):
                build()


#: What the core is made of: values, which are equal where their parts are, and what holds arrays or functions.
VALUES = (Tier, Cost, TieredCost, Primitive, Processor, LatticeGroup, Lattice)
IDENTITIES = (Blocks, Fractions, Schedule, Execution, Topology, Timeline, Phase)


@pytest.mark.parametrize("record", [*VALUES, *IDENTITIES], ids=lambda record: record.__name__)
def test_no_record_of_the_core_changes_and_those_with_arrays_are_told_apart_by_identity(record):
    instance = object.__new__(record)
    first = fields(record)[0].name
    with pytest.raises(FrozenInstanceError, match=first):
        setattr(instance, first, None)
    assert (record.__eq__ is object.__eq__) == (record in IDENTITIES)

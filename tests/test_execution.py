"""The executor: it proves what is true, and names rank, block and step of what is not."""

import re
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st
from random_schedules import copied

from colllib import provenance
from colllib.algorithms import ALGORITHMS, allgather, allreduce, broadcast, hierarchical
from colllib.algorithms.nested import nested
from colllib.cost import Cost
from colllib.exact import Fractions
from colllib.execution import ScheduleError, execute, trace
from colllib.primitives import Blocks, all_gather, all_reduce, all_to_all, reduce, reduce_scatter
from colllib.primitives import broadcast as broadcast_blocks
from colllib.schedule import Schedule, Step, placed, side_by_side
from colllib.topology import Lattice, boxes, from_links, full_mesh, ring, star, torus


def spoilt(schedule, t, change):
    """The schedule with one step replaced."""
    steps = [schedule.step(k) for k in range(schedule.num_steps)]
    steps[t] = change(steps[t])
    return Schedule.from_steps(schedule.blocks, steps)


def without(step, i):
    return Step(*(np.delete(values, i) for values in step))


def refusal(schedule, topology=None):
    with pytest.raises(ScheduleError, match=r"^[^\n]+$") as error:
        execute(schedule, topology)
    return error.value


def test_a_block_sent_before_it_arrives_is_named_with_rank_and_step():
    early = Schedule.from_steps(broadcast_blocks(3), [Step.of(1, 2, 0), Step.of(0, 1, 0)])
    error = refusal(early)
    assert (error.rank, error.block, error.step) == (1, 0, 0)
    assert "rank 1 sends block 0 to rank 2 but does not hold it" in str(error)


def test_a_rank_outside_the_group_that_sums_has_nothing_to_send():
    pair = Blocks(3, Fractions.equal(1), np.array([3]), np.array([3]), (np.array([0, 1]),))
    error = refusal(Schedule.from_steps(pair, [Step.of([0, 2], [1, 0], [0, 0], add=True)]))
    assert "rank 2 sends block 0 to rank 0 but does not hold it" in str(error)


def test_a_missing_contribution_is_named():
    error = refusal(spoilt(allreduce.binomial_tree(4), 0, lambda step: without(step, 0)))
    assert "lacks the contribution of rank" in str(error)
    # every rank's final value is wrong, the first one is reported with the step that wrote it
    assert (error.rank, error.block) == (0, 0)


def test_of_several_missing_contributions_the_first_is_named():
    error = refusal(Schedule.from_steps(all_reduce(3), []))
    assert str(error) == "rank 1 ends with a block 0 that lacks the contribution of rank 0; no step wrote it"


def test_a_rank_that_has_nothing_is_named_before_those_that_lack_something():
    groups = (np.array([0, 1]), np.array([0, 1, 2]))
    error = refusal(Schedule.from_steps(Blocks(3, Fractions.equal(1), np.array([3]), np.array([4]), groups), []))
    assert str(error) == "rank 2 never receives block 0, which it must hold at the end"


def test_ranks_that_add_in_different_orders_are_each_proved():
    every_pair = Step.of([0, 0, 1, 1, 2, 2], [1, 2, 0, 2, 0, 1], [0] * 6, add=True)
    assert execute(Schedule.from_steps(all_reduce(3), [every_pair])).cost == Cost(1, 2)


def test_a_contribution_counted_twice_is_found_in_the_step_that_counts_it():
    ring4 = allreduce.ring(4)
    steps = [ring4.step(t) for t in range(3)]
    twice = Schedule.from_steps(all_reduce(4, 4), [*steps[:2], steps[1], *steps[2:]])
    error = refusal(twice)
    assert "adds a contribution of rank" in str(error)
    assert error.step == 2


def test_of_several_contributions_counted_twice_the_first_is_named():
    onward = Step.of(1, 2, 0, add=True)
    error = refusal(Schedule.from_steps(reduce(3, root=2), [Step.of(0, 1, 0, add=True), onward, onward]))
    assert "rank 2 adds a contribution of rank 0 to block 0 that it already holds" in str(error)


def test_a_block_that_never_arrives_is_named():
    error = refusal(Schedule.from_steps(broadcast_blocks(3), [Step.of(0, 1, 0)]))
    assert (error.rank, error.block, error.step) == (2, 0, None)
    assert "never receives block 0" in str(error)


def test_a_sum_that_ends_at_the_wrong_owner_is_refused():
    wrong = Schedule.from_steps(reduce_scatter(2, owner=[1, 0]), [Step.of([0, 1], [1, 0], [1, 0], add=True)])
    error = refusal(wrong)
    # block 0 ended at rank 0 and block 1 at rank 1: each at the wrong one
    assert (error.rank, error.block) in {(0, 1), (1, 0)}


def test_a_copy_over_a_partial_sum_loses_contributions_and_is_refused():
    ring4 = allreduce.ring(4)
    error = refusal(spoilt(ring4, 1, lambda step: step._replace(add=~step.add)))
    assert "lacks the contribution" in str(error)


def test_two_messages_that_overwrite_one_cell_in_one_step_are_refused():
    race = Schedule.from_steps(all_gather(3), [Step.of([0, 1], [2, 2], [0, 0])])
    with pytest.raises(ScheduleError):
        execute(race)
    blocks = all_reduce(3)
    race = Schedule.from_steps(blocks, [Step.of([0, 1], [2, 2], [0, 0], add=[True, False])])
    error = refusal(race)
    assert (error.rank, error.block, error.step) == (2, 0, 0)
    assert "more than once" in str(error)


def test_several_additions_into_one_cell_in_one_step_all_count():
    gather = Schedule.from_steps(reduce(5), [Step.of([1, 2, 3, 4], 0, 0, add=True)])
    run = execute(gather)
    assert run.cost.n_beta == 4
    assert run.partners() == (1, 4)


def test_a_message_to_oneself_is_refused():
    error = refusal(Schedule.from_steps(broadcast_blocks(2), [Step.of(0, 0, 0)]))
    assert "to itself" in str(error)


@pytest.mark.parametrize(
    ("step", "complaint"),
    [
        (Step.of(0, 2, 0), "step 0: node 2 does not exist; nodes are 0..1 (2 ranks, switches=0)"),
        (Step.of(-1, 1, 0), "step 0: node -1 does not exist; nodes are 0..1 (2 ranks, switches=0)"),
        (Step.of(0, 1, 3), "step 0: block 3 does not exist; blocks are 0..0"),
    ],
)
def test_nodes_and_blocks_that_do_not_exist_are_refused(step, complaint):
    with pytest.raises(ValueError, match=f"^{re.escape(complaint)}$"):
        execute(Schedule.from_steps(broadcast_blocks(2), [step]))


@pytest.mark.parametrize("kind", [np.int8, np.uint64, float])
def test_numbers_whose_products_may_overflow_are_refused(kind):
    ring4 = allgather.ring(4)
    small = spoilt(ring4, 1, lambda step: step._replace(src=step.src.astype(kind)))
    with pytest.raises(ValueError, match=f"^step 1: nodes of type {np.dtype(kind)} instead of int64: "):
        execute(small)
    with pytest.raises(ValueError, match=f"^sources of type {np.dtype(kind)}: must be int64$"):
        replace(ring4.blocks, source=ring4.blocks.source.astype(kind))


def test_a_name_in_place_of_a_topology_is_refused_with_what_makes_one():
    with pytest.raises(ValueError, match=r"'star:4' is a name: pass colllib.topology.expression.find\('star:4'\)"):
        execute(allreduce.ring(4), "star:4")


def test_a_topology_of_another_size_is_refused():
    with pytest.raises(ValueError, match=r"4 ranks does not fit star:5"):
        execute(allreduce.ring(4), star(5))


def test_a_foreign_value_in_the_place_of_a_block_is_refused():
    # block (0, 1) of an all-to-all must come from rank 0; here rank 1 keeps nothing of it
    swap = Schedule.from_steps(all_to_all(2), [Step.of(0, 1, 1)])
    error = refusal(swap)
    assert (error.rank, error.block) == (0, 2)


def up_and_down(add=True):
    """An all-reduce through a switch: everybody sends up, the switch adds and sends down."""
    n = 3
    ranks = np.arange(n)
    steps = [Step.of(ranks, n, 0, add=add), Step.of(n, ranks, 0)]
    return Schedule.from_steps(all_reduce(n), steps, switches=1)


def hub(**allowed):
    n = 3
    links = [(r, n) for r in range(n)] + [(n, r) for r in range(n)]
    return from_links("hub", n, links, switches=1, alpha=[1] * 2 * n, **allowed)


def test_a_switch_that_may_combine_and_replicate_reduces_in_the_network():
    run = execute(up_and_down(), hub(combines=True, replicates=True))
    assert (run.cost.n_alpha, run.cost.n_beta) == (2, 2)
    assert set(run.sent) == {1} == set(run.received)


@pytest.mark.parametrize(
    ("allowed", "complaint"),
    [({"replicates": True}, "do not combine"), ({"combines": True}, "do not replicate")],
)
def test_a_switch_is_refused_what_it_cannot_do(allowed, complaint):
    error = refusal(up_and_down(), hub(**allowed))
    assert complaint in str(error)
    assert error.rank == 3


def test_the_first_block_of_a_bundle_that_goes_elsewhere_is_named():
    to_one_and_two = Blocks(3, Fractions.equal(4), np.zeros(4, int), np.array([1, 1, 2, 2]), ())
    steps = [Step.of(0, 3, range(4)), Step.of(3, [1, 1, 2, 2], range(4))]
    error = refusal(Schedule.from_steps(to_one_and_two, steps, switches=1), hub(replicates=True))
    assert "must take out of a bundle block 2; its switches do not scatter" in str(error)
    assert (error.rank, error.block, error.step) == (3, 2, 0)


def bundle(first, second, groups):
    """Two blocks of rank 0 for rank 2 (a 2) or for a group (3 and more) that go through a switch together."""
    blocks = Blocks(3, Fractions.equal(2), np.zeros(2, int), np.array([first, second]), groups)
    ends = [(rank, block) for block in (0, 1) for rank in blocks.holders(int(blocks.target[block])) if rank]
    return Schedule.from_steps(blocks, [Step.of(0, 3, [0, 1]), Step.of(3, *zip(*ends, strict=True))], switches=1)


def test_blocks_for_the_same_ranks_are_one_bundle():
    execute(bundle(3, 4, (np.array([1, 2]), np.array([2, 1]))), hub(replicates=True))


@pytest.mark.parametrize(("first", "second"), [(2, 3), (2, 4), (3, 4), (4, 3)])
def test_blocks_for_other_ranks_are_no_bundle(first, second):
    error = refusal(bundle(first, second, (np.array([1, 2]), np.array([0, 2]))), hub(replicates=True))
    assert "must take out of a bundle block 1" in str(error)


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda a: f"{a.primitive}-{a.name}")
@given(n=st.integers(1, 17), segments=st.integers(1, 5))
@settings(max_examples=25)
def test_trace_and_executor_agree_with_a_second_interpreter(algorithm, n, segments):
    n = n if algorithm.fits(n) else 1 << n.bit_length()
    schedule = algorithm.build(n, **({"segments": segments} if algorithm.segmented else {}))
    assert list(trace(schedule)) == list(reference.states(schedule))
    assert reference.holds(schedule)
    run = execute(schedule)
    assert (run.cost.n_alpha, run.cost.n_beta) == reference.star_cost(schedule)


@given(
    build=st.sampled_from([allreduce.ring, allreduce.double_binary_tree, allreduce.rabenseifner]),
    n=st.integers(2, 9),
    data=st.data(),
)
def test_no_dropped_message_goes_unnoticed(build, n, data):
    schedule = build(n)
    t = data.draw(st.integers(0, schedule.num_steps - 1))
    i = data.draw(st.integers(0, len(schedule.step(t).src) - 1))
    with pytest.raises(ScheduleError):
        execute(spoilt(schedule, t, lambda step: without(step, i)))


@given(n=st.integers(2, 8), data=st.data())
@settings(max_examples=60)
def test_random_reductions_are_proved_exactly_when_the_second_interpreter_agrees(n, data):
    """Each rank adds what it has to a lower one's, the last first, along another tree for each half; one may stray."""
    steps = [
        [(src, data.draw(st.integers(0, src - 1)), block, True) for block in (0, 1)] for src in range(n - 1, 0, -1)
    ]
    for t in data.draw(st.lists(st.integers(0, n - 2), max_size=1)):
        src, dst, *rest = steps[t][0]
        steps[t][0] = ((src + data.draw(st.integers(0, n - 1))) % n, dst, *rest)
        steps[t] = [message for message in steps[t] if message[0] != message[1]]
    schedule = Schedule.from_steps(
        reduce(n, shares=2), [Step.of(*(list(values) for values in zip(*step, strict=True))) for step in steps]
    )
    if reference.holds(schedule):
        execute(schedule)
    else:
        with pytest.raises(ScheduleError):
            execute(schedule)


@st.composite
def mixed_schedules(draw):
    """Blocks of one rank and of several side by side, moved and added at random."""
    n = draw(st.integers(2, 5))
    rank, who = st.integers(0, n - 1), st.integers(0, n)
    sides = draw(st.lists(st.tuples(who, who), min_size=1, max_size=4))
    source, target = (np.array(side) for side in zip(*sides, strict=True))
    blocks = Blocks(n, Fractions.equal(len(sides)), source, target, (np.arange(n),))
    message = st.tuples(rank, rank, st.integers(0, len(sides) - 1), st.booleans()).filter(lambda m: m[0] != m[1])
    steps = draw(st.lists(st.lists(message, min_size=1, max_size=4), max_size=6))
    return Schedule.from_steps(blocks, [Step.of(*(list(v) for v in zip(*step, strict=True))) for step in steps])


def by_the_second_interpreter(schedule):
    for step in reference.messages(schedule):
        arrivals = Counter((dst, block) for _, dst, block, _ in step)
        if any(arrivals[dst, block] > 1 and not add for _, dst, block, add in step):
            return False
    try:
        return reference.holds(schedule)
    except KeyError:  # a rank sends what it does not hold
        return False


#: What decides how cells are kept and how many are looked at together: usual sizes, and the least that do.
SIZES = {"CHUNK": 1, "LANE_CELLS": 1, "MOST_BITS": 0}


@given(mixed_schedules(), st.sets(st.sampled_from(sorted(SIZES))), st.integers(1, 3))
@settings(max_examples=500)
def test_blocks_of_one_rank_and_of_several_are_proved_as_the_second_interpreter_says(schedule, small, by):
    with pytest.MonkeyPatch.context() as patch:
        for name in small:
            patch.setattr(provenance, name, by * SIZES[name])
        if by_the_second_interpreter(schedule):
            run = execute(schedule)
            assert (run.cost.n_alpha, run.cost.n_beta) == reference.star_cost(schedule)
        else:
            with pytest.raises(ScheduleError):
                execute(schedule)


def test_a_block_added_to_itself_is_wrong_only_where_that_stays():
    blocks = broadcast_blocks(2)
    copy, twice = Step.of(0, 1, 0), Step.of(0, 1, 0, add=True)
    assert "already holds" in str(refusal(Schedule.from_steps(blocks, [copy, twice])))
    execute(Schedule.from_steps(blocks, [copy, twice, copy]))


@given(st.lists(st.booleans(), min_size=1, max_size=4))
def test_a_block_added_to_itself_is_found_beside_what_is_only_copied(adds):
    blocks = range(len(adds))
    steps = [Step.of(0, 1, blocks), Step.of(0, 1, blocks, add=adds)]
    schedule = Schedule.from_steps(broadcast_blocks(2, len(adds)), steps)
    if any(adds):
        error = refusal(schedule)
        assert (error.rank, error.block, error.step) == (1, adds.index(True), 1)
        assert "already holds" in str(error)
    else:
        assert execute(schedule).cost == Cost(2, 2)


def test_counts_do_not_overflow_however_often_a_contribution_is_doubled():
    both = Step.of([0, 1], [1, 0], 0, add=True)
    error = refusal(Schedule.from_steps(all_reduce(2), [both] * 70))
    assert "already holds" in str(error)
    assert error.step == 1


def test_the_ledger_of_a_physical_ring_counts_every_hop():
    chain = Schedule.from_steps(broadcast_blocks(6), [Step.of([0] * 5, [1, 2, 3, 4, 5], 0)])
    run = execute(chain, ring(6))
    assert run.cost.n_alpha == 3  # rank 3 is three hops away
    # ranks 1, 2 and 3 are reached upwards, 5 and 4 downwards
    assert [str(load) for load in run.link_load(0)] == ["3", "2", "1", "0", "0", "0", "2", "0", "0", "0", "0", "1"]
    assert run.cost.n_beta == 3
    assert run.link_total == run.link_load(0)


def test_link_loads_of_all_steps_sum_to_the_totals():
    run = execute(allreduce.rabenseifner(8), ring(8))
    total = [sum(loads) for loads in zip(*(run.link_load(t) for t in range(run.schedule.num_steps)), strict=True)]
    assert list(run.link_total) == total
    assert run.cost.n_beta == sum(max(run.link_load(t)) for t in range(run.schedule.num_steps))


@pytest.mark.parametrize("topology", [boxes((3, 4)), boxes((4, 2), seed=1), boxes((2, 2, 2), oversubscription=2)])
@pytest.mark.parametrize("build", [hierarchical.all_to_all, hierarchical.all_reduce])
def test_bundles_of_blocks_load_the_links_as_their_messages_one_by_one(build, topology):
    """The ledger routes a bundle once; `link_load` routes every message of a step."""
    run = execute(build(topology), topology)
    loads = [run.link_load(t) for t in range(run.schedule.num_steps)]
    assert list(run.link_total) == [sum(steps) for steps in zip(*loads, strict=True)]
    assert any(run.schedule.step(t).src[0] == run.schedule.step(t).src[1] for t in range(run.schedule.num_steps))


def test_bandwidths_that_differ_price_the_slowest_link():
    fast_and_slow = from_links("two", 2, [(0, 1), (1, 0)], bandwidth=[3, Fraction(1, 2)], alpha=[1, 5])
    run = execute(allreduce.recursive_doubling(2), fast_and_slow)
    assert (run.cost.n_alpha, run.cost.n_beta) == (5, 2)


def test_a_topology_without_a_route_is_refused():
    one_way = from_links("one-way", 2, [(0, 1)])
    with pytest.raises(ValueError, match="no route from rank 1 to rank 0"):
        execute(allreduce.ring(2), one_way)


def test_one_rank_needs_no_step_and_is_proved():
    for algorithm in ALGORITHMS:
        run = execute(algorithm.build(1))
        assert (run.cost.n_alpha, run.cost.n_beta, run.sent) == (0, 0, (0,))


def test_uneven_chunks_are_counted_exactly():
    shares = [Fraction(1, 2), Fraction(1, 3), Fraction(1, 6), Fraction(0)]
    schedule = allreduce.ring(4, shares=shares)
    run = execute(schedule)
    assert (run.cost.n_alpha, run.cost.n_beta) == reference.star_cost(schedule)
    assert run.cost.n_beta == 6 * Fraction(1, 2)  # some port carries the largest chunk in every step


def test_full_mesh_gives_every_pair_a_link():
    run = execute(Schedule.from_steps(reduce(5), [Step.of([1, 2, 3, 4], 0, 0, add=True)]), full_mesh(5))
    assert run.cost.n_beta == 1
    assert Counter(run.link_total) == {1: 4, 0: 16}


def test_the_chain_is_traced_as_it_is_run():
    assert [sorted(rank for rank, _ in state) for state in trace(broadcast.chain(4, root=1))] == [
        [1],
        [1, 2],
        [1, 2, 3],
        [0, 1, 2, 3],
    ]


def test_a_fault_among_half_a_million_messages_is_found_and_named():
    schedule = allreduce.ring(512)

    def step(t):
        return without(schedule.step(t), 77) if t == 300 else schedule.step(t)

    error = refusal(Schedule(schedule.blocks, schedule.num_steps, step))
    # rank 77 sends chunk 77 - 300 in step 300: from rank 78 on its sum lacks what rank 77 had gathered
    assert error.block == (77 - 300) % 512
    assert "lacks the contribution" in str(error)


PLAIN = [a for a in ALGORITHMS if a.primitive in ("all-to-all", "all-gather", "broadcast")]


@pytest.mark.parametrize("algorithm", PLAIN, ids=lambda a: f"{a.primitive}-{a.name}")
def test_lists_of_holders_prove_and_refuse_what_bits_do(algorithm, monkeypatch):
    """Where a bit for every cell would be too many, blocks remember who holds them."""
    schedule = algorithm.build(8)
    bits = execute(schedule)
    monkeypatch.setattr(provenance, "MOST_BITS", 0)
    assert execute(schedule).cost == bits.cost
    for spoil in (lambda step: without(step, 0), lambda step: step._replace(add=~step.add)):
        broken = spoilt(schedule, schedule.num_steps - 1, spoil)
        try:
            execute(broken)
            verdict = True
        except ScheduleError:
            verdict = False
        assert verdict == reference.holds(broken)


def test_exchanges_keep_a_proof_small():
    """Partners that make the same sum share its number: 64 ranks of recursive doubling make 6 x 32 sums, then fewer."""
    cells = provenance.Provenance(allreduce.recursive_doubling(64))
    for t in range(6):
        cells.advance(t, cells.schedule.step(t), star(64))
    cells.prove()
    assert cells.summed.next_id == 64 + 32 + 16 + 8 + 4 + 2 + 1


def test_exchanges_keep_a_proof_small_beside_what_goes_one_way():
    both = side_by_side(allreduce.recursive_doubling(8), allreduce.binomial_tree(8))
    cells = provenance.Provenance(both)
    for t in range(both.num_steps):
        cells.advance(t, both.step(t), star(8))
    assert cells.summed.next_id - len(cells.summed.cells) == (4 + 2 + 1) + 7


def test_a_target_that_never_hears_of_a_sum_is_named():
    blocks = Blocks(3, Fractions.equal(1), np.array([3]), np.array([2]), (np.array([0, 1]),))
    with pytest.raises(ScheduleError, match="rank 2"):
        execute(Schedule.from_steps(blocks, [Step.of(1, 0, 0, add=True)]))


@pytest.mark.parametrize(("dst", "complaint"), [(0, "to itself"), (5, "step 0")])
def test_what_cannot_be_executed_cannot_be_traced(dst, complaint):
    with pytest.raises(ValueError, match=complaint):
        list(trace(Schedule.from_steps(broadcast_blocks(3), [Step.of(0, dst, 0)])))


def test_sums_made_in_other_orders_are_proved_rank_by_rank_where_their_counts_would_fill_the_memory(monkeypatch):
    monkeypatch.setattr(provenance, "LANE_CELLS", 1)
    everyone = Step.of([0, 1, 0, 2, 1, 2], [1, 0, 2, 0, 2, 1], 0, add=True)
    assert execute(Schedule.from_steps(all_reduce(3), [everyone])).how == "executed"
    again = refusal(Schedule.from_steps(all_reduce(3), [everyone, Step.of(1, 2, 0, add=True)]))
    assert (again.rank, again.block, again.step) == (2, 0, 1)


def test_a_refusal_says_who_ends_with_what_another_one_added_twice():
    """Rank 1 adds rank 0's contribution twice, and is the root itself, or passes its sum on to the root."""
    twice = [Step.of(0, 1, 0, add=True), Step.of(0, 1, 0, add=True)]
    assert "ends with it" not in str(refusal(Schedule.from_steps(reduce(2, root=1), twice)))
    passed_on = [*twice, Step.of(1, 2, 0, add=True)]
    assert "and rank 2 ends with it" in str(refusal(Schedule.from_steps(reduce(3, root=2), passed_on)))


@st.composite
def one_wrong_message(draw):
    """Messages that are all right but for one, where it stands, and what is to be said of it."""
    n = draw(st.integers(2, 5))
    # every rank sends its shard of an all-gather to some others: the lowest and the highest numbers among them
    pairs = [(src, dst) for src in range(n) for dst in range(n) if src != dst]
    right = [(src, dst, src) for src, dst in draw(st.permutations(pairs))]
    place, step = draw(st.integers(0, len(right))), draw(st.integers(0, 2))
    rank, other = draw(st.sampled_from(pairs))
    far = draw(st.sampled_from([-2, -1, n, n + 1]))
    name, wrong, cell = draw(
        st.sampled_from(
            [
                (f"node {far} does not exist; nodes are 0..{n - 1} ({n} ranks, switches=0)", (far, other, other), None),
                (f"node {far} does not exist; nodes are 0..{n - 1} ({n} ranks, switches=0)", (rank, far, rank), None),
                (f"block {far} does not exist; blocks are 0..{n - 1}", (rank, other, far), None),
                (f"rank {rank} sends block {rank} to itself", (rank, rank, rank), (rank, rank)),
                (f"rank {rank} sends block {other} to rank {other} but", (rank, other, other), (rank, other)),
                (f"rank {other} receives block {rank} more than once", (rank, other, rank), (other, rank)),
            ]
        )
    )
    messages = [*right[:place], wrong, *right[place:]]
    steps = [Step.of([], [], [])] * step + [Step.of(*zip(*messages, strict=True))]
    return Schedule.from_steps(all_gather(n), steps), f"step {step}: {name}", cell, step


@given(one_wrong_message())
def test_the_message_that_is_wrong_is_named_wherever_it_stands(drawn):
    schedule, message, cell, step = drawn
    with pytest.raises(ValueError, match=f"^{re.escape(message)}") as error:
        execute(schedule)
    if cell is not None:
        assert (error.value.rank, error.value.block, error.value.step) == (*cell, step)


def test_numbers_of_cells_and_values_fit_their_types_and_what_is_beyond_is_refused():
    assert np.iinfo(np.int32).max == provenance.MOST_IDS - 1
    assert provenance.MOST_CELLS >> 3 == 2**33  # bytes
    with pytest.raises(ValueError, match=r"cells of nodes and blocks are more than 2\*\*36"):
        provenance.Bits(2**36)


@given(st.lists(st.sets(st.integers(0, 2), min_size=1), min_size=1, max_size=4), st.integers(0, 2))
def test_the_first_block_that_a_switch_must_send_twice_is_named(receivers, idle):
    """Rank 0 sends all blocks up, and the switch each of them to some ranks."""
    blocks = broadcast_blocks(3, len(receivers))
    messages = [(3, rank, block) for block, ranks in enumerate(receivers) for rank in ranks]
    steps = [Step.of(0, 3, range(len(receivers))), *[Step.of([], [], [])] * idle, Step.of(*zip(*messages, strict=True))]
    several = [block for block, ranks in enumerate(receivers) if len(ranks) > 1]
    error = refusal(Schedule.from_steps(blocks, steps, switches=1), hub(scatters=True))
    if several:
        assert f"must send to several nodes block {several[0]}; its switches do not replicate" in str(error)
        assert (error.rank, error.block, error.step) == (3, several[0], 1 + idle)
    else:
        assert "never receives" in str(error)


@given(st.lists(st.booleans(), min_size=1, max_size=5))
def test_the_first_block_that_a_switch_must_add_is_named(adds):
    blocks = all_reduce(3, len(adds))
    up = Step.of(0, 3, range(len(adds)), add=adds)
    error = refusal(Schedule.from_steps(blocks, [up], switches=1), hub(replicates=True, scatters=True))
    if any(adds):
        assert f"must add block {adds.index(True)}; its switches do not combine" in str(error)
        assert (error.rank, error.block, error.step) == (3, adds.index(True), 0)
    else:
        assert "lacks the contribution" in str(error)


@pytest.mark.parametrize("outsider", [0, 1, 2])
def test_what_is_added_to_nothing_is_stored_while_another_rank_adds_to_its_own(outsider):
    """Two ranks have the sum, a third one only what it was sent, whatever the numbers of all three."""
    one, other = (rank for rank in range(3) if rank != outsider)
    pair = Blocks(3, Fractions.equal(1), np.array([3]), np.array([one]), (np.array([one, other]),))
    schedule = Schedule.from_steps(pair, [Step.of(other, [one, outsider], 0, add=True)])
    assert execute(schedule).how == "executed"
    *_, last = trace(schedule)
    assert last == {(one, 0): Counter([one, other]), (other, 0): Counter([other]), (outsider, 0): Counter([other])}


@pytest.mark.parametrize("times", [2, 3, 4])
@pytest.mark.parametrize("before", [0, 1])
def test_a_block_that_is_added_to_itself_several_times_in_a_step_is_refused(times, before):
    again = Step.of([0] * times, [1] * times, [0] * times, add=True)
    error = refusal(Schedule.from_steps(broadcast_blocks(2), [Step.of(0, 1, 0)] * before + [again]))
    assert "adds a contribution of rank 0 to block 0 that it already holds" in str(error)
    assert (error.rank, error.block, error.step) == (1, 0, before)


def test_a_doubled_block_is_as_wrong_wherever_it_is_copied_to():
    sends = [(0, 1, False), (0, 1, True), (1, 2, False), (0, 1, False), (0, 3, False)]
    steps = [Step.of([src], [dst], [0], add) for src, dst, add in sends]
    with pytest.raises(ScheduleError, match="rank 2 ends with it; each may be counted once"):
        execute(Schedule.from_steps(broadcast_blocks(4), steps), star(4))
    mended = [*steps, Step.of([0], [2], [0], False)]
    assert execute(Schedule.from_steps(broadcast_blocks(4), mended), star(4)).schedule.num_steps == 6


#: Numbers of nodes around those at which their numbers need another byte.
NODES = st.sampled_from([1, 2, 7, 8, 9, 126, 127, 128, 129, 130, 2**15 - 1, 2**15, 2**15 + 1, 2**15 + 2])


@given(NODES, st.data())
def test_bits_and_lists_of_holders_hold_the_cells_that_were_put_into_them(nodes, data):
    rank = st.integers(0, nodes - 1) | st.integers(max(nodes - 3, 0), nodes - 1)
    source = np.array(data.draw(st.lists(rank, min_size=1, max_size=4)))
    blocks = len(source)
    cell = st.tuples(rank, st.integers(0, blocks - 1)).map(lambda cell: cell[0] * blocks + cell[1])
    cells = st.lists(cell, max_size=6).map(lambda some: np.array(some, dtype=np.intp))
    lists, bits = provenance.Holders(nodes, source), provenance.Bits(nodes * blocks)
    start = source * blocks + np.arange(blocks)
    bits.add(start)
    expected = set(start.tolist())

    def holds_what_is_there(holders, looked_at):
        near = np.unique(np.concatenate([looked_at + by for by in range(-9, 10)]))
        near = near[(near >= 0) & (near < nodes * blocks)]
        assert near[holders.has(near)].tolist() == sorted(expected & set(near.tolist()))

    for some in data.draw(st.lists(cells, max_size=4)):
        expected |= set(some.tolist())
        for holders in (lists, bits):
            holders.add(some)
            holds_what_is_there(holders, np.append(some, start))
    some = data.draw(cells)
    bits.remove(some)
    expected -= set(some.tolist())
    holds_what_is_there(bits, np.append(some, start))


def test_what_is_as_large_as_its_numbers_allow_is_executed_and_one_more_is_refused(monkeypatch):
    monkeypatch.setattr(provenance, "MOST_BITS", 0)
    onward = Schedule.from_steps(broadcast_blocks(4, 3), [Step.of(0, rank, [0, 1, 2]) for rank in (1, 2, 3)])
    pair = Schedule.from_steps(all_reduce(2, 2), [Step.of([0, 0, 1, 1], [1, 1, 0, 0], [0, 1, 0, 1], add=True)])
    for schedule, most, complaint in (
        (onward, 10, r"3 blocks visit more than 3 nodes each"),  # three lists of three nodes, and a fourth
        (pair, 9, r"more than 2\*\*31 values"),  # four at the start, four more by the sums
        (pair, 5, r"2 nodes x 2 blocks are more than 2\*\*31 cells"),
    ):
        monkeypatch.setattr(provenance, "MOST_IDS", most)
        if "cells" not in complaint:
            assert execute(schedule).how == "executed"
        monkeypatch.setattr(provenance, "MOST_IDS", most - 1)
        with pytest.raises(ValueError, match=complaint):
            execute(schedule)


def counting_routes(topology):
    """The topology, and a list that grows with every call of its router."""
    calls = []

    def router(src, dst):
        calls.append(len(src))
        return topology.router(src, dst)

    return replace(topology, router=router), calls


@pytest.mark.parametrize(
    ("schedule", "topology", "times"),
    [
        (allreduce.ring(6), star(6), 1),
        (placed(allreduce.ring(6), onto=[3, 1, 5, 0, 2, 4]), star(6), 1),
        # a ring on the root's line with both segments at once, then these one after the other to the other line
        (
            nested(Lattice((4, 2)), [(0, allreduce.ring(4)), (1, broadcast.binomial_tree(2, segments=2))]),
            torus((4, 2)),
            2,
        ),
    ],
)
def test_routes_that_are_the_same_in_every_step_are_found_once(schedule, topology, times):
    topology, calls = counting_routes(topology)
    execute(schedule, topology)
    assert len(calls) == times


@pytest.mark.parametrize("shared", ["src", "dst"])
def test_steps_that_have_the_same_array_of_senders_or_of_receivers_have_routes_of_their_own(shared):
    """All pairs, a distance in each step: every rank sends to rank r + d, or receives from rank r - d."""
    rank, steps = np.arange(4), []
    for d in (1, 2, 3):
        src, dst = (rank, (rank + d) % 4) if shared == "src" else ((rank - d) % 4, rank)
        steps.append(Step(src, dst, src, np.zeros(4, dtype=bool)))
    pairs = Schedule.from_steps(all_gather(4), steps)
    on_two_axes = nested(Lattice((4, 2)), [(0, pairs), (1, broadcast.chain(2, segments=2))])
    for schedule, topology in ((pairs, ring(4)), (on_two_axes, torus((4, 2)))):
        run, again = execute(schedule, topology), execute(copied(schedule), topology)
        assert (run.link_total, run.sent, run.received) == (again.link_total, again.sent, again.received)
        assert run.kinds() == again.kinds()
        run, again = execute(schedule), reference.star_cost(schedule)
        assert (run.cost.n_alpha, run.cost.n_beta) == again


def test_a_run_is_shown_with_its_cost_in_two_numbers_or_by_tier():
    assert repr(execute(allreduce.ring(4))) == "Execution(6 steps on star:4: n_alpha=6, n_beta=3/2)"
    topology = boxes((2, 2))
    run = execute(hierarchical.all_reduce(topology), topology)
    assert repr(run) == f"Execution({run.schedule.num_steps} steps on boxes:2x2: {run.cost})"
    assert "n_alpha" not in repr(run)


def test_steps_along_the_same_edges_with_other_sizes_are_each_counted():
    # one chunk of 1/2, 1/3 and 1/6 each: a link of the ring carries all but the one that its end began with
    shares = [Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)]
    schedule = allgather.ring(3, shares=shares)
    assert schedule.step(0).src is schedule.step(1).src
    assert schedule.step(0).dst is schedule.step(1).dst
    run = execute(schedule)
    assert run.sent == tuple(1 - shares[(rank + 1) % 3] for rank in range(3))
    assert run.received == tuple(1 - shares[rank] for rank in range(3))
    assert [max(run.link_load(t)) for t in range(2)] == [Fraction(1, 2)] * 2


def test_a_step_that_writes_new_ends_into_arrays_of_an_earlier_one_is_stopped():
    """They are known again as objects: the ledger would count each step as the first."""
    src, dst = np.array([0]), np.array([1])

    def step(t):
        src[0], dst[0] = t, t + 1
        return Step(src, dst, np.array([0]), np.array([False]))

    with pytest.raises(ValueError, match="read-only"):
        execute(Schedule(broadcast_blocks(4), 3, step))

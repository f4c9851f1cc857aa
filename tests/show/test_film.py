"""What a film shows is what a second interpreter computes, step by step."""

from __future__ import annotations

from collections import Counter
from itertools import product

import pytest
import reference
from hypothesis import given
from random_schedules import schedules

from colllib.algorithms import ALGORITHMS, allreduce, broadcast, find
from colllib.execution import execute
from colllib.show.film import Film
from colllib.show.pen import ARRIVED, FEW, FINAL, SPENT
from colllib.show.players import variants
from colllib.topology import boxes, star

PRIMITIVES = sorted({a.primitive for a in ALGORITHMS})
SIZES = (2, 3, 5, 8)
PLAYED = [
    (primitive, name, n)
    for primitive in PRIMITIVES
    for name, entry in variants(primitive).items()
    for n in SIZES
    if entry.fits(star(n))
]


def film_of(primitive, name, n):
    return Film(name, execute(variants(primitive)[name].build(star(n))))


def seen(film, t, node):
    """(block, contributor) pairs that the cells of a node show."""
    filled = set()
    for k, cell in enumerate(film.cells):
        value = film.value(t, node, k)
        assert value < 2**cell.slots
        if film.kind == "contributions":
            filled |= {(0, k)} if value else set()
        elif film.kind == "destinations":
            filled |= {(cell.blocks[rank], rank) for rank in range(cell.slots) if value >> rank & 1}
        else:
            (block,) = cell.blocks
            filled |= {(block, rank) for slot, rank in enumerate(film.sources[block]) if value >> slot & 1}
    return filled


@pytest.mark.parametrize(("primitive", "name", "n"), PLAYED)
def test_slots_are_filled_by_those_whose_contributions_a_second_interpreter_finds(primitive, name, n):
    film = film_of(primitive, name, n)
    place = {block: int(who) for block, who in enumerate(film.blocks.source)}
    steps = [[], *reference.messages(film.schedule)]
    for t, state in enumerate(reference.states(film.schedule)):
        place |= {block: dst for _, dst, block, _ in steps[t]}
        for node in range(n if film.kind != "groups" else 0):
            expected = {(block, rank) for (at, block), value in state.items() if at == node for rank in value}
            if film.kind == "destinations":  # a block that has been passed on is not shown any more
                expected = {(block, rank) for block, rank in expected if place[block] == node}
            assert seen(film, t, node) == expected


@pytest.mark.parametrize(("primitive", "name", "n"), PLAYED)
def test_every_message_of_the_schedule_is_one_moving_block(primitive, name, n):
    film = film_of(primitive, name, n)
    for t, step in enumerate(reference.messages(film.schedule), 1):
        moving = Counter((m.src, m.dst, block, m.add) for m in film.messages[t] for block in m.blocks)
        assert moving == Counter(step)
    assert film.messages[0] == ()


@given(schedules(4))
def test_every_message_of_any_schedule_moves(schedule):
    film = Film("", execute(schedule))
    for t, step in enumerate(reference.messages(schedule), 1):
        assert Counter((m.src, m.dst, b, m.add) for m in film.messages[t] for b in m.blocks) == Counter(step)


@pytest.mark.parametrize(("primitive", "name", "n"), PLAYED)
def test_at_the_end_all_that_must_be_there_is_final_and_nothing_was_before_its_time(primitive, name, n):
    film = film_of(primitive, name, n)
    for t, state in enumerate(reference.states(film.schedule)):
        ready = {
            (int(rank), block)
            for block, who in enumerate(film.blocks.target)
            for rank in film.blocks.holders(int(who))
            if set(state.get((int(rank), block), ())) == set(film.sources[block])
        }
        assert film.done(t)[0] == len(ready)
        for node in range(n):
            for k, cell in enumerate(film.cells):
                final = all((node, block) in ready for block in cell.blocks)
                assert bool(film.marks(t, node, k) & FINAL) == (final and bool(film.value(t, node, k)))
    assert film.done(film.steps)[0] == film.done(0)[1]


@pytest.mark.parametrize("build", [allreduce.ring, allreduce.rabenseifner, allreduce.double_binary_tree])
def test_what_is_faint_is_neither_sent_again_nor_asked_for(build):
    """By looking ahead: a value is of use until it is overwritten, if it is sent or added to before, or asked for."""
    film = Film("", execute(build(4)))
    steps = [[], *reference.messages(film.schedule)]

    def of_use(t, node, block):
        for step in steps[t + 1 :]:
            if any((src, b) == (node, block) for src, _, b, _ in step):
                return True
            if any((dst, b, add) == (node, block, False) for _, dst, b, add in step):
                return False
        return node in film.blocks.holders(int(film.blocks.target[block]))

    for t, node, block in product(range(film.steps + 1), range(4), range(len(film.blocks))):
        marks = film.marks(t, node, block)
        arrived = any((dst, b) == (node, block) for _, dst, b, _ in steps[t])
        if film.value(t, node, block):
            assert bool(marks & SPENT) != of_use(t, node, block)
            assert bool(marks & ARRIVED) == arrived


@pytest.mark.parametrize("n", range(3, 20))
def test_each_rank_of_the_double_tree_is_an_inner_node_once_at_most(n):
    trees = Film("", execute(allreduce.double_binary_tree(n))).trees
    assert len(trees) == 2
    inner = [{parent for parent in parents if parent >= 0} for parents, _ in trees]
    assert len(inner[0] & inner[1]) <= n % 2
    for parents, _ in trees:
        assert max(Counter(p for p in parents if p >= 0).values()) <= 2


def test_a_chain_is_a_tree_without_branches_and_a_ring_is_no_tree():
    assert Film("", execute(broadcast.chain(5))).trees == [([-1, 0, 1, 2, 3], [0])]
    assert Film("", execute(allreduce.recursive_doubling(4))).trees == []


@pytest.mark.parametrize(("n", "kind"), [(4, "blocks"), (FEW, "blocks"), (20, "groups")])
def test_many_blocks_share_cells(n, kind):
    film = Film("", execute(allreduce.ring(n)))
    assert film.kind == kind
    assert sorted(block for cell in film.cells for block in cell.blocks) == list(range(n))


@pytest.mark.parametrize("sizes", [(2, 2), (4, 2), (2, 2, 2)])
def test_a_slot_is_that_of_a_rank_in_whatever_order_the_schedule_lists_who_contributes(sizes):
    topology = boxes(sizes)
    film = Film("tree", execute(find("all-reduce", "tree").build(topology), topology))
    assert film.kind == "blocks"
    assert any(list(group) != sorted(group) for group in film.blocks.groups)
    for rank, cell in product(range(topology.ranks), range(len(film.cells))):
        assert film.value(0, rank, cell) == 1 << rank

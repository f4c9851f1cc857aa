"""The torus player: what it shows against the traces, the executor and links walked by hand."""

import re
from fractions import Fraction
from math import prod

import pytest
import reference

from colllib.execution import execute, trace
from colllib.show import torus_player
from colllib.show.torus_player import OFFERED, SHAPES, Play, told
from colllib.topology import Lattice, torus

EXPLORER = torus_player()
SMALL = [(name, dims) for name in OFFERED for dims in ((2, 2, 2), (3, 3), (4, 3))]


def play(name, dims):
    text, build = OFFERED[name]
    return Play(text, Lattice(dims), execute(build(Lattice(dims)), torus(dims)))


@pytest.mark.parametrize(("name", "dims"), SMALL, ids=str)
def test_the_counts_are_those_of_the_traces(name, dims):
    shown = play(name, dims)
    for t, state in enumerate(trace(shown.run.schedule)):
        counted = shown.counts[t]
        assert counted.sum() == sum(sum(value.values()) for value in state.values())
        for (rank, block), value in state.items():
            assert counted[rank, block] == sum(value.values())


@pytest.mark.parametrize(("name", "dims"), SMALL, ids=str)
def test_busy_links_are_the_pairs_of_neighbors_that_exchange_something(name, dims):
    shown = play(name, dims)
    for t, step in enumerate(reference.messages(shown.run.schedule), 1):
        pairs = {(src, dst) for src, dst, _, _ in step}
        assert sum(map(len, shown.busy(t).values())) == len(pairs)
        load = sum(shown.run.schedule.blocks.share[block] for _, _, block, _ in step)
        assert sum(map(sum, shown.busy(t).values())) == load
    assert shown.cost(shown.steps) == shown.run.cost


@pytest.mark.parametrize("dims", [(3, 3), (3, 3, 3), (4, 4, 4)])
def test_how_much_of_the_links_is_used(dims):
    """One axis in one direction at a time is one link of 2k; rotated copies and breadth-first use all."""
    assert play("dim-ring", dims).use(2 * sum(d - 1 for d in dims)) == Fraction(1, 2 * len(dims))
    for name in ("rotated-dim-ring", "breadth-first", "all-gather"):
        shown = play(name, dims)
        assert shown.use(shown.steps) == 1


def test_every_link_is_drawn_once_and_points_where_it_leads():
    for dims in SHAPES:
        shown = play("dim-chain", dims)
        assert len(set(shown.links)) == len(shown.links) == prod(dims) * sum(min(d - 1, 2) for d in dims)
        html = EXPLORER.render(1, {"algorithm": "dim-chain", "dims": dims, "step": 0})
        frames = prod(dims)
        triangles = sum(d.count("z") for d in re.findall(r'<path d="([^"]*)" style="[^"]*opacity', html))
        assert triangles == len(shown.links)
        assert sum(d.count("z") for d in re.findall(r'<path d="([^"]*)" fill="none"', html)) == frames


@pytest.mark.parametrize("step", [1, 4, 6])
def test_the_cube_shows_what_the_phases_leave(step):
    html = EXPLORER.render(1, {"algorithm": "dim-ring", "dims": (2, 2, 2), "step": step})
    share, count = {1: ("1/2", "2/8"), 4: ("1/4", "Σ"), 6: ("all", "Σ")}[step]
    assert html.count(f">{share}</text>") == html.count(f">{count}</text>") == 8


def test_the_summary_and_the_table_say_the_same_numbers():
    state = {"algorithm": "dim-ring", "dims": (4, 4, 4), "step": 4}
    text = told(play("dim-ring", (4, 4, 4)), 4)
    assert text == EXPLORER.render(len(EXPLORER.all_parts) - 1, state)
    assert "step 4 of 18 uses 64 of 384 links (64 on Y)" in text
    rows = re.findall(r"<td[^>]*>([^<]*)</td>", EXPLORER.render(2, state))
    assert rows == ["0 of 128", "0", "0", "64 of 128", "1/16", "4", "0 of 128", "0", "0"]


def test_every_state_renders_and_the_page_stays_small():
    assert sum(1 for _ in EXPLORER.states([0, 1, 2])) < 2000
    assert len(EXPLORER.grid.json().encode()) < 5_000_000


def test_a_reader_may_choose_other_shapes_and_bad_ones_are_refused_in_one_line():
    other = torus_player(("dim-ring", (2, 3, 4), 3), [(2, 3, 4), (5,)])
    text = other.render(len(other.all_parts) - 1, {"algorithm": "dim-ring", "dims": (2, 3, 4), "step": 3})
    assert "on 2 × 3 × 4: step 3 of 12 uses 24 of 120 links (24 on Y)" in text
    for start, shapes, complaint in (
        (("dim-ring", (3, 3), 1), [(2, 2)], "dims (3, 3): must be one of the shapes, 2 × 2"),
        (("flat", (2, 2), 1), [(2, 2)], "algorithm 'flat': must be one of dim-ring"),
        (("dim-ring", (5, 5, 5), 1), [(5, 5, 5)], "1 to 3 axes and 2 to 64 ranks"),
        (("dim-ring", (2, 2, 2, 2), 1), [(2, 2, 2, 2)], "1 to 3 axes"),
    ):
        with pytest.raises(ValueError, match=r"^[^\n]+$") as refusal:
            torus_player(start, shapes)
        assert complaint in str(refusal.value)

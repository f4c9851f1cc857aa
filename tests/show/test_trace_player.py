"""The trace player shows what the second interpreter computes, cell by cell."""

from __future__ import annotations

import re

import pytest
import reference
from show_browser import opened, write_page

from colllib.algorithms import ALGORITHMS, CATALOGUE, reducescatter
from colllib.algorithms.lattice import line_reduce_scatter
from colllib.execution import execute
from colllib.ladder import skipped
from colllib.show import trace_player
from colllib.show.trace_player import variants, variants_on
from colllib.topology import find, line

PRIMITIVES = sorted({a.primitive for a in ALGORITHMS})
WIRES = [
    find(spec)
    for spec in (
        "torus:2x2",
        "torus:3x2",
        "mesh:3x2",
        "torus:2x2x2",
        "inc-star:2",
        "inc-star:5",
        "inc-switch-tree:4x3",
        "full-mesh:3",
        "boxes:2x2",
    )
]
ON_WIRES = [(primitive, where) for where in WIRES for primitive in PRIMITIVES if primitive != "point-to-point"]
CELL = re.compile(r"<td(?: class=\"([dm ]*)\")?>([^<]*)</td>")


class First:
    """The first t steps of a schedule, as far as the second interpreter needs it."""

    def __init__(self, schedule, t):
        self.blocks, self.step, self.num_steps = schedule.blocks, schedule.step, t


def shown(player, name, n, step):
    """Each row's cells as (set of contributions or None, marks)."""
    html = player.render(0, {"algorithm": name, "n": n, "step": step})
    for row in re.findall(r'<tr><th scope="row">\d+</th>(.*?)<td class="s">([^<]*)</td></tr>', html):
        yield [(ranks(text, n), set(marks.split())) for marks, text in CELL.findall(row[0])], row[1]


def ranks(text, n):
    if text in ("·", "Σ"):
        return None if text == "·" else set(range(n))
    found = set()
    for part in text.split("+"):
        first, _, last = part.partition("–")
        found |= set(range(int(first), int(last or first) + 1))
    return found


@pytest.mark.parametrize("name", variants("all-reduce"))
@pytest.mark.parametrize("n", [2, 3, 6, 8])
def test_every_cell_of_every_step_is_what_a_second_interpreter_finds(name, n):
    player = trace_player()
    schedule = variants("all-reduce")[name][1](n)
    steps = list(reference.messages(schedule))
    sent = [0] * n
    for t, state in enumerate(reference.states(schedule)):
        arrived = {(dst, block) for _, dst, block, _ in steps[t - 1]} if t else set()
        for src, _, block, _ in steps[t - 1] if t else ():
            sent[src] += schedule.blocks.share[block]
        for rank, (cells, total) in enumerate(shown(player, name, n, t)):
            assert total == str(sent[rank])
            for block, (held, marks) in enumerate(cells):
                assert held == set(state[rank, block])
                assert ("m" in marks) == ((rank, block) in arrived)
                assert ("d" in marks) == (len(held) == n)


@pytest.mark.parametrize("name", variants("all-to-all"))
@pytest.mark.parametrize("n", [2, 4, 7])
def test_the_grid_of_an_all_to_all_says_where_a_second_interpreter_finds_each_block(name, n):
    player = trace_player("all-to-all")
    schedule = variants("all-to-all")[name][1](n)
    steps = list(reference.messages(schedule))
    place = [b // n for b in range(n * n)]
    for t, state in enumerate(reference.states(schedule)):
        moved = {block: dst for _, dst, block, _ in steps[t - 1]} if t else {}
        for block, dst in moved.items():
            place[block] = dst
        html = player.render(0, {"algorithm": name, "n": n, "step": t})
        cells = re.findall(r'<td class="([dm ]*)" style="[^"]*">(\d+)</td>', html)
        assert [int(text) for _, text in cells] == place
        for block, (marks, _) in enumerate(cells):
            assert (place[block], block) in state
            assert ("m" in marks) == (block in moved)
            assert ("d" in marks) == (place[block] == block % n)
    assert place == [b % n for b in range(n * n)]


def test_running_costs_end_at_the_executed_total():
    player = trace_player()
    schedule = variants("all-reduce")["rabenseifner"][1](8)
    cost = execute(schedule).cost
    told = player.render(2, {"algorithm": "rabenseifner", "n": 8, "step": schedule.num_steps})
    assert f"n_alpha = {cost.n_alpha} of {cost.n_alpha}, n_beta = {cost.n_beta} of {cost.n_beta}" in told


@pytest.mark.parametrize("primitive", PRIMITIVES)
@pytest.mark.parametrize("n", [2, 4, 7])
def test_messages_and_running_costs_are_what_a_second_interpreter_finds(primitive, n):
    player = trace_player(primitive)
    for name, (_, build, fits) in variants(primitive).items():
        if not fits(n):
            continue
        schedule = build(n)
        steps = list(reference.messages(schedule))
        for t in range(schedule.num_steps + 1):
            state = {"algorithm": name, "n": n, "step": t}
            listed = re.findall(r"<li>(\d+) → (\d+): blocks? (.*?) (added|copied)</li>", player.render(1, state))
            expected = {(src, dst, add): 0 for src, dst, _, add in (steps[t - 1] if t else ())}
            for src, dst, _, add in steps[t - 1] if t else ():
                expected[src, dst, add] += 1
            found = {(int(a), int(b), how == "added"): what.count(",") + 1 for a, b, what, how in listed}
            assert found == expected
            alpha, beta = reference.star_cost(First(schedule, t))
            assert f"n_alpha = {alpha} of " in player.render(2, state)
            assert f"n_beta = {beta} of " in player.render(2, state)


@pytest.mark.parametrize("primitive", [p for p in PRIMITIVES if p != "all-to-all"])
def test_cells_of_every_primitive_are_marked_final_where_the_second_interpreter_says_so(primitive):
    player, n = trace_player(primitive), 4
    for name, (_, build, _) in variants(primitive).items():
        schedule = build(n)
        blocks = schedule.blocks
        for t, state in enumerate(reference.states(schedule)):
            for rank, (cells, _) in enumerate(shown(player, name, n, t)):
                for block, (held, marks) in enumerate(cells):
                    source = {int(r) for r in blocks.holders(int(blocks.source[block]))}
                    value = set(state.get((rank, block), ()))
                    assert (held or set()) == value
                    wanted = rank in blocks.holders(int(blocks.target[block]))
                    assert ("d" in marks) == (wanted and value == source)


@pytest.mark.parametrize("primitive", [p for p in PRIMITIVES if p != "all-reduce"])
def test_every_primitive_can_be_played_to_its_end(primitive):
    player = trace_player(primitive, ranks=[2, 4, 5])
    for name in variants(primitive):
        last = max(player.choices(2, {"algorithm": name, "n": 4}))
        text = player.all_parts[-1].html({"algorithm": name, "n": 4, "step": last})
        done, wanted = re.search(r"(\d+) of (\d+) places", text).groups()
        assert done == wanted


def test_every_registered_algorithm_is_offered():
    """Those for any network by the number of ranks; those for one kind of wires wherever they can run."""
    for algorithm in ALGORITHMS:
        assert algorithm.name in variants(algorithm.primitive)
        assert any(variants(algorithm.primitive)[algorithm.name][2](n) for n in range(2, 9))
    for algorithm in CATALOGUE[len(ALGORITHMS) :]:
        served = [where for where in WIRES if skipped(algorithm, where) is None]
        assert served, "choose wires for it"
        for where in served:
            assert algorithm.name in variants_on(algorithm.primitive, where)
    offered = set(variants("all-gather")) | set(variants("all-reduce")) | set(variants("broadcast"))
    assert offered >= {"pat, A = 1", "pat, A = 2", "bidirectional-ring", "shortest-way-ring", "circulant, P = 4"}


@pytest.mark.parametrize("primitive", PRIMITIVES)
@pytest.mark.parametrize("n", [2, 3, 5, 8])
def test_every_registered_algorithm_is_played_to_its_end_as_executed(primitive, n):
    """From nothing done to all places final, every message of every step listed, at the executed cost."""
    player = trace_player(primitive, ranks=[n])
    for name, (_, build, fits) in variants(primitive).items():
        if not fits(n):
            assert name not in player.choices(0, {})
            continue
        schedule, steps = build(n), player.choices(2, {"algorithm": name, "n": n})
        walked(player, schedule, execute(schedule).cost, {"algorithm": name, "n": n}, steps)


@pytest.mark.parametrize(("primitive", "where"), ON_WIRES, ids=lambda value: getattr(value, "name", value))
def test_every_algorithm_of_some_wires_is_played_to_its_end_as_executed(primitive, where):
    player = trace_player(primitive, on=[where])
    offered = variants_on(primitive, where)
    assert list(player.choices(0, {})) == list(offered)
    for name, (_, build) in offered.items():
        schedule, state = build(), {"algorithm": name, "wires": where.name}
        walked(player, schedule, execute(schedule, where).cost, state, player.choices(2, state))


def walked(player, schedule, cost, state, steps):
    """Render every step of one schedule, and hold what is told, listed and drawn against a second interpreter."""
    assert list(steps) == list(range(schedule.num_steps + 1))
    messages = [[], *reference.messages(schedule)]
    for t in steps:
        now = state | {"step": t}
        picture, moves = player.render(0, now), player.render(1, now)
        assert picture.count("<circle ") == schedule.nodes
        pairs = {(src, dst, add) for src, dst, _, add in messages[t]}
        assert picture.count('class="h"') == len(pairs)
        listed = re.findall(r"<li>(\S+) → (\S+): blocks? (.*?) (added|copied)</li>", moves)
        assert len(listed) == len(pairs)
        assert sum(what.count(",") + 1 for _, _, what, _ in listed) == len(messages[t])
        assert {node(text, schedule) for a, b, _, _ in listed for text in (a, b)} == {
            end for src, dst, _ in pairs for end in (src, dst)
        }
    end = state | {"step": schedule.num_steps}
    told = f"n_alpha = {cost.n_alpha} of {cost.n_alpha}, n_beta = {cost.n_beta} of {cost.n_beta}"
    assert told in player.render(2, end)
    done, wanted = re.search(r"(\d+) of (\d+) places", player.all_parts[-1].html(end)).groups()
    blocks = schedule.blocks
    assert done == wanted == str(sum(len(blocks.holders(int(target))) for target in blocks.target))


def node(text, schedule):
    if text == "sw":
        return schedule.ranks
    return schedule.ranks + int(text[1:]) if text.startswith("s") else int(text)


@pytest.mark.parametrize("primitive", ["all-reduce", "reduce-scatter", "broadcast"])
@pytest.mark.parametrize("where", WIRES, ids=lambda where: where.name)
def test_cells_on_wires_hold_what_a_second_interpreter_finds_and_switches_have_their_rows(primitive, where):
    player = trace_player(primitive, on=[where])
    for name, (_, build) in variants_on(primitive, where).items():
        schedule = build()
        blocks = schedule.blocks
        for t, state in enumerate(reference.states(schedule)):
            html = player.render(0, {"algorithm": name, "wires": where.name, "step": t})
            rows = re.findall(r'<tr><th scope="row">([^<]*)</th>(.*?)<td class="s">', html)
            assert [node(text, schedule) for text, _ in rows] == list(range(schedule.nodes))
            for rank, (_, row) in enumerate(rows):
                for block, (_, text) in enumerate(CELL.findall(row)):
                    source = {int(r) for r in blocks.holders(int(blocks.source[block]))}
                    held = source if text == "Σ" else ranks(text, schedule.ranks) or set()
                    assert held == set(state.get((rank, block), ()))


def test_the_way_of_a_block_through_a_switch_is_told_in_the_grid():
    player = trace_player("all-to-all", on=[find("inc-star:3")], start=("in-network", "inc-star:3", 1))
    grid = player.render(0, player.start)
    assert grid.count(">sw</td>") == 6  # all blocks but the three that stay
    assert "each rank has sent 2/3 M" in player.render(2, player.start)


def test_two_players_give_the_same_bytes_and_stay_small():
    first, second = trace_player()._repr_html_(), trace_player()._repr_html_()
    assert first == second
    assert len(first) < 250_000


def test_only_the_blocks_of_an_all_to_all_are_named_by_source_and_target():
    named = {}
    for primitive in PRIMITIVES:
        player = trace_player(primitive, ranks=[2])
        for name in variants(primitive):
            told = player.render(1, {"algorithm": name, "n": 2, "step": 1})
            named.setdefault(primitive, set()).update(re.findall(r"blocks? ([^ ]+) (?:added|copied)", told))
    assert named.pop("all-to-all") == {"0→1", "1→0"}
    assert not any("→" in name for found in named.values() for name in found)


def test_without_a_start_the_nearest_to_four_ranks_is_shown_and_what_serves_none_is_left_out():
    player = trace_player("all-gather", ranks=[3, 6, 7])
    assert player.start["n"] == 3
    assert "recursive-doubling" not in player.choices(0, {})
    assert player.grid.fragments
    with pytest.raises(ValueError, match="no algorithm for all-gather serves any of the ranks"):
        trace_player("all-gather", ranks=[])


def test_other_schedules_are_played_on_another_topology_and_a_line_is_drawn_as_a_row():
    offer = {"both": ("From both ends", line_reduce_scatter), "ring": ("Round a ring", reducescatter.ring)}
    player = trace_player("reduce-scatter", ranks=[5], offer=offer, where=line)
    for name, build in (("both", line_reduce_scatter), ("ring", reducescatter.ring)):
        cost = execute(build(5), line(5)).cost
        told = player.render(2, {"algorithm": name, "n": 5, "step": 4})
        assert f"n_alpha = {cost.n_alpha} of {cost.n_alpha}, n_beta = {cost.n_beta} of {cost.n_beta} (line, " in told
    assert execute(reducescatter.ring(5), line(5)).cost.n_alpha == 4 * 4  # the message that closes the ring
    picture = player.render(0, {"algorithm": "both", "n": 5, "step": 1})
    assert set(re.findall(r'<circle cx="[0-9]+" cy="([0-9]+)"', picture)) == {"30"}
    assert set(re.findall(r'cy="([0-9]+)"', trace_player(ranks=[5]).render(0, trace_player(ranks=[5]).start))) > {"20"}


def test_a_start_that_is_not_on_offer_is_refused():
    with pytest.raises(ValueError, match="algorithm"):
        trace_player(start=("butterfly", 4, 0))


def test_in_a_page_without_kernel_and_network_the_algorithm_and_the_step_can_be_changed(tmp_path, with_chromium):
    with opened(write_page(tmp_path, trace_player())) as (tab, troubles):
        tab.wait_for_selector(".cl-running")
        tab.get_by_role("combobox", name="Algorithm").select_option(label="Recursive doubling")
        tab.get_by_role("slider", name="Ranks N").press("End")
        steps = tab.get_by_role("slider", name="Steps done")
        steps.press("End")
        assert steps.get_attribute("aria-valuetext") == "3 of 3"
        assert tab.locator(".cl-trace td.d").count() == 8
        steps.press("ArrowLeft")
        assert tab.locator(".cl-trace td.d").count() == 0
        told = tab.locator("[aria-live]").inner_text()
        assert told.startswith("Recursive doubling on 8 ranks: step 2 of 3 moved 8 blocks")
        tab.get_by_role("button", name="Next").click()
        assert steps.get_attribute("aria-valuetext") == "3 of 3"
        assert troubles == []

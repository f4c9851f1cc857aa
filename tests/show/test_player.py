"""The players: what they offer, what they tell, and how they move in a real browser."""

from __future__ import annotations

import json
import re
from functools import cache
from html import unescape

import pytest
import reference
from show_browser import opened, write_page

from colllib.algorithms import ALGORITHMS, CATALOGUE, allgather, allreduce, broadcast, reduce, reducescatter
from colllib.algorithms.lattice import dim_ring_reduce_scatter, line_reduce_scatter
from colllib.execution import execute
from colllib.ladder import skipped
from colllib.show import boxes_player, boxes_switch_player, still, switch_player, torus_player, trace_player
from colllib.show.control import Control
from colllib.show.player import player as play
from colllib.show.players import FEW, variants
from colllib.topology import boxes, line, star, torus
from colllib.topology.expression import find

PRIMITIVES = sorted({a.primitive for a in ALGORITHMS})
PLAYERS = {
    "trace": trace_player,
    "torus": torus_player,
    "boxes": boxes_player,
    "switch": switch_player,
    "boxes-switch": boxes_switch_player,
}
player_of = cache(lambda kind: PLAYERS[kind]())  # to make one takes as long as most tests with it


class First:
    """The first t steps of a schedule, as far as the second interpreter needs it."""

    def __init__(self, schedule, t):
        self.blocks, self.step, self.num_steps = schedule.blocks, schedule.step, t


def costs(player, state):
    """n_alpha and n_beta that are told, so far."""
    return re.search(r"<sub>α</sub> = (\S+) of .*?<sub>β</sub> = (\S+) of ", player.render(1, state)).groups()


def told(player, **changed):
    """What the part with the costs says, and what the legend says, without markup."""
    state = player.start | changed
    parts = [re.sub(r"<[^>]*>", " ", unescape(player.render(part, state))) for part in (1, 2)]
    return " ".join(" ".join(parts).split())


def test_an_all_to_all_says_from_where_to_where_its_blocks_go_however_they_are_numbered():
    player = boxes_player("all-to-all", sizes=((2, 2), (2, 4)))
    hierarchical = {"offer": "all", "algorithm": "hierarchical"}
    assert "0→1: 0→1 0→3; 1→0: 1→0 1→2;" in told(player, **hierarchical, boxes=(2, 2), step=1)
    assert "0→2: 0→2 1→2;" in told(player, **hierarchical, boxes=(2, 2), step=2)
    assert "0→1: 0→1 0→5; 1→2: 1→2 1→6;" in told(player, **hierarchical, boxes=(2, 4), step=1)
    pieces = {"offer": "all", "algorithm": "hierarchical, P = 4", "boxes": (2, 4), "step": 1}
    assert "0→1: 0→1 0→5;" in told(player, **pieces)
    assert "0→1: M/16; 1→2: M/16;" in told(player_of("boxes"), **pieces)  # where no cell has a number


def test_what_runs_between_two_ranks_alone_is_not_on_offer_where_more_are():
    offered = trace_player("all-reduce").choices(1, {"offer": "all"})
    assert {"ring", "rabenseifner"} <= set(offered)
    assert not {"direct", "one-shot"} & set(offered)


def test_tiers_and_switches_have_names_that_say_what_they_are():
    assert "uplinks of a box 3M/4 , uplinks of a group M/2" in told(player_of("boxes"), boxes=(2, 2, 2), step=3)
    assert "from node to node: 0→S2: 0" in told(player_of("boxes-switch"), algorithm="nvls", boxes=(2, 4), step=3)
    assert "A tile is a rank, or a switch (S)" in told(player_of("switch"))
    climbing = {"offer": "all", "algorithm": "all-reduce binomial-tree", "network": "inc-switch-tree:8x4", "step": 1}
    assert "Bytes so far, over the fullest link of each step, added up: 3M of" in told(player_of("switch"), **climbing)


def frame(player, state):
    """What the script is given for a state."""
    return json.loads(unescape(re.search(r'data-frame="([^"]*)"', player.render(1, state))[1]))


@pytest.mark.parametrize("primitive", PRIMITIVES)
@pytest.mark.parametrize("n", [2, 4, 7])
def test_running_costs_are_what_a_second_interpreter_counts(primitive, n):
    player = trace_player(primitive, ranks=[n])
    for name in player.choices(1, {"offer": "all"}) if player.controls[0].name == "offer" else FEW[primitive]:
        schedule = variants(primitive)[name].build(star(n))
        for t in range(schedule.num_steps + 1):
            state = {"offer": "all", "algorithm": name, "n": n, "step": t}
            assert costs(player, state) == tuple(map(str, reference.star_cost(First(schedule, t))))


@pytest.mark.parametrize("kind", PLAYERS)
def test_they_start_at_step_1_and_end_with_all_in_place(kind):
    player = player_of(kind)
    assert player.start["step"] == 1
    summary = player.all_parts[-1].html
    assert "step 1 of" in summary(player.start)
    assert "nothing has moved yet" in summary(player.start | {"step": 0})
    last = max(player.choices(len(player.controls) - 1, player.start))
    ready, places = re.search(r"(\d+) of (\d+) places", summary(player.start | {"step": last})).groups()
    assert ready == places


@pytest.mark.parametrize("kind", PLAYERS)
def test_a_page_stays_small(kind):
    assert len(player_of(kind)._repr_html_()) < 320_000


def test_every_algorithm_of_the_library_is_offered_where_it_runs():
    wires = [
        star(4),
        *map(find, ("torus:2x2x2", "mesh:3x2", "full-mesh:3", "inc-star:5", "inc-switch-tree:4x3")),
        boxes((2, 2)),
        boxes((2, 2), inc="both"),
    ]
    for algorithm in (one for one in CATALOGUE if one.compared):
        served = [topology for topology in wires if skipped(algorithm, topology) is None]
        assert served, f"choose wires for {algorithm}"
        assert all(variants(algorithm.primitive)[algorithm.name].fits(topology) for topology in served)
    assert set(variants("all-gather")) >= {"pat, A = 1", "pat, A = 2"}


def test_few_algorithms_come_first_and_the_rest_is_behind_all():
    player = trace_player()
    assert list(player.choices(1, player.start)) == list(FEW["all-reduce"])
    assert len(player.choices(1, player.start | {"offer": "all"})) > len(FEW["all-reduce"])
    assert player.start["algorithm"] == "ring"
    assert trace_player(start=("pat", 4), primitive="all-gather").start["algorithm"] == "pat"


def test_other_schedules_are_played_on_other_wires_in_a_row():
    offer = {"both": ("From both ends", line_reduce_scatter), "ring": ("Round a ring", reducescatter.ring)}
    player = trace_player("reduce-scatter", ranks=[5], offer=offer, topology=line)
    for name, build in (("both", line_reduce_scatter), ("ring", reducescatter.ring)):
        cost = execute(build(5), line(5)).cost
        assert costs(player, {"algorithm": name, "n": 5, "step": 4}) == (str(cost.n_alpha), str(cost.n_beta))
    assert execute(reducescatter.ring(5), line(5)).cost.n_alpha == 4 * 4  # the message that closes the ring


def test_what_is_not_on_offer_is_refused_in_one_line():
    with pytest.raises(ValueError, match="butterfly"):
        trace_player(start=("butterfly", 4))
    with pytest.raises(ValueError, match="'n' starts at 3, which is not among its values: 4"):
        trace_player("all-gather", ranks=[3, 4], start=("recursive-doubling", 3))
    with pytest.raises(ValueError, match="'algorithm' has no values"):
        play("T", variants("all-gather"), Control("n", "N", [3]), star, ["recursive-doubling"])


@pytest.mark.parametrize(
    "schedule", [broadcast.scatter_allgather(4), reduce.binomial_tree(4), allreduce.ring(4), allgather.ring(4)]
)
def test_the_legend_of_a_still_names_just_what_is_drawn(schedule):
    for t in range(schedule.num_steps + 1):
        picture, _, legend = still(schedule, t, title="T")._repr_html_().rpartition('<div class="cl-legend">')
        drawn = {letter for letters in re.findall(r'<g class="c h\d([^"]*)"', picture) for letter in letters.split()}
        for letter, words in (("m", "just arrived"), ("x", "not needed any more")):
            assert (words in legend) == (letter in drawn), (t, words)
        assert ("added" in legend, "copied" in legend) == ("a add" in picture, "a copy" in picture), t
    assert "final" in legend
    assert "final" not in still(reduce.binomial_tree(4), 1, title="T")._repr_html_().rpartition("cl-legend")[2]


def test_samples_have_slots_where_cells_have_them():
    for schedule, slotted in ((allreduce.ring(4), True), (allgather.ring(4), False), (reduce.binomial_tree(4), False)):
        _, _, legend = still(schedule, 1, title="T")._repr_html_().rpartition('<div class="cl-legend">')
        assert ("pathLength" in legend) == slotted
    landed = still(allgather.ring(4), 1, title="T")._repr_html_().rpartition('<div class="cl-legend">')[2]
    assert "c h2 p f m" in landed  # what arrives is final


def test_a_still_on_a_torus_names_the_axes_along_which_something_has_just_moved():
    axes = torus((3, 2))
    schedule = dim_ring_reduce_scatter(axes.lattice)
    for t, step in enumerate(schedule.steps, 1):
        named = set(re.findall("along ([XY])", still(schedule, t, axes, title="T")._repr_html_()))
        assert named == {"X" if src // 3 == dst // 3 else "Y" for src, dst in zip(step.src, step.dst, strict=True)}


def test_one_place_has_its_value_after_one_of_one_step():
    player = trace_player("reduce")
    state = {**player.start, "algorithm": "chain", "n": 2, "step": 1}
    assert "; 1 of 1 place has its final value." in player.render(len(player.parts), state)
    assert "1 of 1 step ." in told(player, **state)


def test_a_still_says_what_it_shows():
    shown = still(reducescatter.ring(4), 2, title="T")
    sentence = "After step 2 of 3 on 4 ranks: step 2 of 3 moved 4 blocks; 0 of 4 places have their final value."
    assert shown.alt.startswith(f"{sentence} Rank 0 holds ")
    assert len(re.findall(r"\d from \d, \d, \d\b", shown.alt)) == 4  # one block of each rank lacks one contribution
    assert shown._repr_html_().count("<svg class") > 2
    for step in (-1, 4):
        with pytest.raises(ValueError, match=f"step {step}: must be from 0, before the first, to 3"):
            still(reducescatter.ring(4), step, title="T")


# -- in a browser ---------------------------------------------------------------------------------


def tokens(tab):
    return tab.locator(".cl-wide .ts .t").count()


def test_the_keyboard_steps_plays_and_loops(tmp_path, with_chromium):
    page = write_page(tmp_path, trace_player(ranks=[4]))
    with opened(page, viewport={"width": 900, "height": 900}) as (tab, troubles):
        tab.wait_for_selector(".cl-running")
        steps = tab.get_by_role("slider", name="Steps done")
        assert steps.get_attribute("aria-valuetext") == "1 of 6"
        assert tokens(tab) == 4
        steps.press("End")
        tab.get_by_label("Speed").select_option("2")
        assert (
            tab.locator("[aria-live]").inner_text().startswith("Ring on 4 ranks: step 6 of 6 moved 4 blocks; 16 of 16")
        )
        tab.get_by_label("loop").press("Space")
        tab.get_by_role("button", name="Play").press("Space")
        for text in ("1 of 6", "6 of 6", "0 of 6"):  # the end is followed by the beginning
            tab.wait_for_selector(f'[aria-valuetext="{text}"]')
        tab.get_by_role("button", name="Pause").press("Space")
        assert tab.locator("[aria-live]").get_attribute("aria-live") == "polite"
        assert troubles == []


def test_blocks_travel_along_their_arrows_and_land_when_they_arrive(tmp_path, with_chromium):
    page = write_page(tmp_path, trace_player(ranks=[4]))
    with opened(page, viewport={"width": 900, "height": 900}) as (tab, troubles):
        tab.wait_for_selector(".cl-running")
        tab.get_by_role("slider", name="Steps done").press("ArrowRight")
        moving = "() => document.querySelector('.cl-wide .t').getAnimations().map((a) => a.animationName)"
        assert tab.evaluate(moving) == ["cl-travel"]
        assert tab.locator(".cl-wide .m").count() == 4  # those of the step before
        tab.wait_for_selector(".cl-scene:not(.cl-go)")
        assert tab.locator(".cl-wide .m").count() == 4
        paths = tab.eval_on_selector_all(".cl-wide .t", "(all) => all.map((t) => getComputedStyle(t).offsetPath)")
        drawn = tab.eval_on_selector_all(
            ".cl-wide .a > path:first-child", "(all) => all.map((a) => a.getAttribute('d'))"
        )
        assert [re.findall(r"-?[\d.]+", path) for path in paths] == [re.findall(r"-?[\d.]+", d) for d in drawn]
        assert troubles == []


def test_who_wants_less_motion_sees_the_next_state_at_once(tmp_path, with_chromium):
    page = write_page(tmp_path, trace_player(ranks=[4]))
    with opened(page, viewport={"width": 900, "height": 900}, reduced_motion="reduce") as (tab, troubles):
        tab.wait_for_selector(".cl-running")
        tab.get_by_role("slider", name="Steps done").press("ArrowRight")
        assert tab.locator(".cl-go").count() == 0
        assert tab.locator(".cl-wide .m").count() == 4
        assert tab.evaluate("document.getAnimations().length") == 0
        assert troubles == []


@pytest.mark.parametrize("width", [390, 1280])
def test_picture_and_costs_stay_where_they_are_for_every_step_once_the_longest_answer_was_there(
    width, tmp_path, with_chromium
):
    with opened(write_page(tmp_path, player_of("trace")), viewport={"width": width, "height": 900}) as (tab, troubles):
        tab.wait_for_selector(".cl-running")
        tops = "[0, 1].map((k) => document.querySelector(`[data-part='${k}']`).getBoundingClientRect().top)"
        for algorithm in ("Ring", "Binomial tree"):
            tab.locator("select[data-control]").select_option(algorithm)
            for n in ("End", "ArrowLeft", "Home"):
                tab.get_by_role("slider", name="Ranks N").press(n)
                seen = []
                for step in ("End", "Home", "ArrowRight"):
                    tab.get_by_role("slider", name="Steps done").press(step)
                    seen.append(tab.evaluate(tops))
                assert seen[0] == seen[1] == seen[2]
        assert troubles == []


def test_what_stands_below_a_player_stays_there_from_its_first_step_to_its_last_and_back(tmp_path, with_chromium):
    with opened(write_page(tmp_path, player_of("boxes")), viewport={"width": 390, "height": 844}) as (tab, troubles):
        tab.wait_for_selector(".cl-running")
        steps, seen = tab.get_by_role("slider", name="Steps done"), set()
        for key in ("ArrowRight", "ArrowLeft"):
            for _ in range(int(steps.get_attribute("max"))):
                steps.press(key)
                seen.add(tab.evaluate("document.querySelector('.cl-explorer').offsetHeight"))
        assert len(seen) == 1
        reserved = "[...document.querySelectorAll('.cl-part')].map((part) => part.style.minHeight).join('')"
        assert tab.evaluate(reserved)
        tab.locator("select[data-control]").first.select_option(index=1)
        assert not tab.evaluate(reserved)
        assert troubles == []


@pytest.mark.parametrize("kind", PLAYERS)
def test_the_script_draws_what_python_draws(kind, tmp_path, with_chromium):
    """Every step of the first film, as the page has it, against the picture that a kernel shows."""
    player = player_of(kind)
    last = max(player.choices(len(player.controls) - 1, player.start))
    with opened(write_page(tmp_path, player), reduced_motion="reduce") as (tab, troubles):
        tab.wait_for_selector(".cl-running")
        steps = tab.get_by_role("slider", name="Steps done")
        steps.press("Home")
        for t in range(1, last + 1):
            steps.press("ArrowRight")
            same = tab.evaluate(
                """(markup) => {
                  const python = document.createElement("div");
                  python.innerHTML = markup;
                  const labels = (root) => [...root.querySelectorAll(".k")].map((k) => k.getAttribute("aria-label"));
                  const looks = (root) => [...root.querySelectorAll(".k .c, .t .c")].map(
                    (c) => [...c.classList].sort().join(" "));
                  const arrows = (root) => [...root.querySelectorAll(".a path")].map((p) => p.getAttribute("d"));
                  const strips = (root) => [...root.querySelectorAll(".k .c path")].map(
                    (p) => p.getAttribute("stroke-dasharray") || p.getAttribute("d"));
                  const page = document.querySelector(".cl-scene");
                  return [labels, looks, arrows, strips].map((of) => [of(page).join("|"), of(python).join("|")]);
                }""",
                player.picture(**player.start | {"step": t}),
            )
            for page, python in same:
                assert page.replace("w ", "").replace(" w", "") == python.replace("w ", "").replace(" w", "")
        assert troubles == []


@pytest.mark.parametrize("width", [390, 900])
def test_type_is_as_large_on_a_phone_and_nothing_runs_out_of_the_page(width, tmp_path, with_chromium):
    page = write_page(tmp_path, *map(player_of, PLAYERS))
    with opened(page, viewport={"width": width, "height": 800}) as (tab, _):
        tab.wait_for_selector(".cl-running")
        sizes = tab.evaluate(
            """() => [...document.querySelectorAll(".cl-scene svg")].filter((s) => s.getBoundingClientRect().width)
              .map((s) => [s.getBoundingClientRect().width / s.viewBox.baseVal.width, ...[...s.querySelectorAll("text")]
                .map((t) => parseFloat(getComputedStyle(t).fontSize))])"""
        )
        assert len(sizes) == 5
        assert all(scale * size > 10.9 for scale, *text in sizes for size in text)
        assert tab.evaluate("document.documentElement.scrollWidth") <= width

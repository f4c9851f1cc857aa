"""The explorer's grid, its static form and its widgets, without a browser."""

from __future__ import annotations

import base64
import json
import re
import subprocess
import sys
import zlib

import pytest
from show_toy import steps, toy

from colllib.show import Control, Explorer, Part, Table
from colllib.show.theme import digest

N = Control("n", "Ranks N", [2, 4, 8])
SHOW = Part(lambda n: f"<p>{n}</p>")
SAID = Part(lambda: "said")


def payload(html: str) -> dict:
    match = re.search(r'data-digest="(\w+)">([\w+/=]+)</script>', html)
    assert match
    text = zlib.decompress(base64.b64decode(match[2])).decode()
    assert digest(text, 16) == match[1]
    return json.loads(text)


def fragment(data: dict, part: int, *indices: int) -> str:
    node = data["parts"][part]["tree"]
    for control in data["parts"][part]["on"]:
        node = node[indices[control]]
    return data["fragments"][node]


def test_same_bytes_in_another_process():
    script = "import show_toy; from colllib.show.theme import digest; print(digest(show_toy.toy()._repr_html_(), 64))"
    path = ":".join(p for p in sys.path if p)
    runs = {
        subprocess.run(
            [sys.executable, "-c", script],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONPATH": path, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    }
    assert runs == {digest(toy()._repr_html_(), 64) + "\n"}


def test_the_library_does_not_import_its_edge():
    script = "import sys, colllib; print([m for m in ('colllib.show', 'matplotlib', 'ipywidgets') if m in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", script], text=True) == "[]\n"


def test_showing_an_explorer_needs_no_matplotlib():
    script = "import sys, colllib.show; print('matplotlib' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", script], text=True) == "False\n"


def test_payload_holds_every_state_once():
    data = payload(toy()._repr_html_())
    assert len(data["fragments"]) == len(set(data["fragments"]))
    for a, algorithm in enumerate(("ring", "tree")):
        for k, n in enumerate((2, 4, 8, 16, 32)):
            for step in range(steps(algorithm, n) + 1):
                assert f"After step {step}<" in fragment(data, 2, a, k, step)
    assert data["start"] == [0, 2, 0]
    assert data["play"] == 2
    assert fragment(data, 3, 1, 1) == "<p>Half of 4 is 2 &amp; that is all.</p>"


def test_equal_fragments_are_kept_once_and_rendered_once_a_state():
    calls = []
    parity = Part(lambda n: calls.append(n) or f"<p>{n % 2}</p>")
    grid = Explorer("Parity", [Control("n", "n", range(10))], [parity, parity], summary=lambda n: "x").grid
    assert grid["fragments"] == ["<p>0</p>", "<p>1</p>", "x"]
    assert sorted(calls) == sorted([*range(10)] * 2)


def test_a_part_is_rendered_only_for_what_it_depends_on():
    calls = []
    other = Control("m", "m", range(50))
    Explorer("x", [N, other], [Part(lambda n: calls.append(n) or "<p></p>")], summary=SAID).grid  # noqa: B018
    assert calls == [2, 4, 8]


def test_a_dependent_range_brings_its_controls_along():
    step = Control("step", "Step", lambda n: range(n))
    kind = Control("kind", "Kind", ["a", "b"])
    explorer = Explorer("x", [N, kind, step], [Part(lambda step: f"<p>step {step}</p>")], summary=SAID)
    assert explorer.closure(("step",)) == (0, 2)
    assert [len(texts) for texts in explorer.grid["controls"][2]["tree"]] == [2, 4, 8]
    assert [len(row) for row in explorer.grid["parts"][0]["tree"]] == [2, 4, 8]
    assert len([f for f in explorer.grid["fragments"] if "step" in f]) == 8


def test_a_summary_may_depend_on_fewer_controls():
    big = [Control(name, name, range(100)) for name in "abc"]
    part = Part(lambda b: "<p></p>")
    assert len(Explorer("x", big, [part], summary=lambda a: f"a is {a}").grid["fragments"]) == 101


def test_controls_whose_names_are_only_known_later_are_named_beside_the_function():
    name = "n"
    part = Part(lambda **state: f"<p>{state[name]}</p>", depends_on=(name,))
    half = Control("half", "Half", lambda **state: range(state[name] // 2), depends_on=(name,))
    explorer = Explorer("x", [N, half], [part], summary=lambda: "fixed")
    assert explorer.grid["fragments"] == ["<p>2</p>", "<p>4</p>", "<p>8</p>", "fixed"]
    assert [len(texts) for texts in explorer.grid["controls"][1]["tree"]] == [1, 2, 4]


def test_text_is_escaped_everywhere():
    evil = '</script><b title="x">'
    control = Control("n", evil, [evil, "x"], kind="select")
    html = Explorer(evil, [control], [Part(lambda: "<p>1</p>", evil)], summary=lambda: evil)._repr_html_()
    assert evil not in html
    assert html.count("</script>") == 2
    assert "&lt;/script&gt;&lt;b title=&quot;x&quot;&gt;" in html


def test_static_form_reads_without_script():
    html = toy()._repr_html_()
    assert '<fieldset class="cl-controls" disabled>' in html
    assert "lets you change: Algorithm (Ring, Tree &lt;binomial&gt;); Ranks N from 2 to 32; Step from 0 of 14" in html
    assert "After step 0" in html
    assert "ring on 8 ranks, step 0 &lt; 15" in html
    assert 'aria-valuetext="8"' in html
    assert 'value="0" checked autocomplete="off"> Ring</label>' in html
    assert "http:" not in html
    assert "https:" not in html


def test_fragments_may_be_charts_tables_or_text():
    part = Part(lambda n: Table(["n"], [[n]]))
    html = Explorer("x", [N], [part], summary=SAID)._repr_html_()
    assert html.count('<style data-colllib="explorer-') == 1
    assert html.split("<script")[0].count("<table") == 1


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Explorer("x", [N, N], [SHOW], summary=SAID), "two controls have the name 'n'"),
        (lambda: Explorer("x", [], [SHOW], summary=SAID), "at least one control and one part"),
        (lambda: Explorer("x", [N], [], summary=SAID), "at least one control and one part"),
        (
            lambda: Explorer("x", [N], [SHOW], play="m", summary=SAID),
            "play names 'm', which is no control; the controls are n",
        ),
        (
            lambda: Explorer("x", [N], [Part(lambda m: "")], summary=SAID),
            "part 1 depends on 'm', which is no control",
        ),
        (
            lambda: Explorer("x", [N], [SHOW], summary=lambda m: ""),
            "the summary depends on 'm'",
        ),
        (
            lambda: Explorer("x", [Control("n", "N", [2], start=3)], [SHOW], summary=SAID),
            "starts at 3, .* among its values: 2",
        ),
        (
            lambda: Explorer("x", [Control("n", "N", [])], [SHOW], summary=SAID),
            "control 'n' has no values; give at least one",
        ),
        (
            lambda: Explorer("x", [Control("n", "N", [1, 1.5], format="{:.0f}".format)], [SHOW], summary=SAID).grid,
            None,
        ),
        (
            lambda: Explorer("x", [Control("n", "N", [1, 1.1], format="{:.0f}".format)], [SHOW], summary=SAID),
            "control 'n' offers '1' twice",
        ),
        (
            lambda: Explorer("x", [Control("n", "N", [1, 2, 1])], [SHOW], summary=SAID),
            "control 'n' offers 1 twice",
        ),
        (
            lambda: Explorer("x", [Control("n", "N", [1, True, 2])], [SHOW], summary=SAID),
            "control 'n' offers 1 twice",
        ),
        (
            lambda: Control("n", "N", [1], kind="knob"),
            "has the kind 'knob'; say 'slider', 'select' or 'number'",
        ),
        (lambda: Control("n", "N", [1], depends_on=("m",)), "its values must be a function"),
        (
            lambda: Explorer("x", [Control("n", "N", lambda m: [1]), Control("m", "M", [1])], [SHOW], summary=SAID),
            "depends on 'm', which is no earlier control",
        ),
        (
            lambda: Explorer("x", [N, Control("k", "k", lambda n: range(n - 4))], [SHOW], summary=SAID).grid,
            "control 'k' has no values where n = 2",
        ),
        (
            lambda: Explorer("x", [Control("n", "N", range(6001))], [SHOW], summary=SAID).grid,
            r"part 1 \(n\) has more than 6,000",
        ),
        (
            lambda: (
                Explorer("x", [Control("n", "N", range(4))], [Part(lambda n: f"{n} " * 10**6)], summary=SAID).payload
            ),
            "unpacks to .* MB, over the 8 MB",
        ),
    ],
)
def test_mistakes_are_named(build, message):
    if message is None:
        build()
        return
    with pytest.raises(ValueError, match=message) as caught:
        build()
    assert "\n" not in str(caught.value)


def test_widgets_follow_python():
    live = toy().live
    assert "After step 0" in live.parts[2].value
    live.controls["step"].index = 5
    assert "After step 5" in live.parts[2].value
    assert "step 5" in live.parts[-1].value
    live.controls["algorithm"].index = 1
    assert len(live.controls["step"].options) == 7
    assert live.controls["step"].index == 5
    live.controls["n"].index = 0
    assert live.controls["step"].index == 2
    assert live.state == {"algorithm": "tree", "n": 2, "step": 2}
    assert "After step 2" in live.parts[2].value


def test_widgets_keep_a_text_that_moves():
    powers = {"any": range(2, 9), "powers": [2, 4, 8]}
    kind = Control("kind", "Kind", list(powers), kind="select")
    live = Explorer("x", [kind, Control("n", "N", lambda kind: powers[kind], start=4)], [SHOW], summary=SAID).live
    live.controls["kind"].index = 1
    assert live.state == {"kind": "powers", "n": 4}


def test_what_plays_moves_the_slider_and_stops_where_it_ends():
    live = toy().live
    play, slider = live.box.children[4], live.controls["step"]
    play.value = 3
    assert live.state["step"] == slider.index == 3
    slider.index = 1
    assert play.value == 1
    live.controls["n"].index = 0
    assert play.max == len(slider.options) - 1 == 2
    play.value = 9
    assert live.state["step"] == 2


def test_the_answer_stands_above_the_figure_and_what_is_folded_comes_last():
    folded, shown = Part(SHOW.render, fold="More"), SHOW
    explorer = Explorer("x", [N], [shown, folded, shown], summary=SAID)
    assert re.findall(r'data-part="(\d)"', explorer._repr_html_()) == ["3", "0", "2", "1"]
    live = explorer.live
    assert live.box.children[-4:] == (live.parts[3], live.parts[0], live.parts[2], live.parts[1])


def test_bundle_has_all_three_forms():
    explorer = toy()
    bundle = explorer._repr_mimebundle_()
    assert bundle["text/plain"] == "Explorer: Steps of an all-reduce (Algorithm, Ranks N, Step)"
    assert bundle["text/html"] == explorer._repr_html_()
    assert bundle["application/vnd.jupyter.widget-view+json"]["model_id"] == explorer.live.box.model_id

"""Figures: deterministic, themed, described, and clear about wrong input."""

from __future__ import annotations

import re

import pytest

from colllib.show import Chart, Mark, bars, lines, number
from colllib.show.figure import BROAD, SLIM
from colllib.show.lines import Axis, _span, linear_ticks
from colllib.show.theme import SERIES, asset

CURVES = {"ring": ([2, 4, 8], [2, 6, 14]), "tree": ([2, 4, 8], [2, 4, 6])}


def luminance(color: str) -> float:
    channels = [int(color[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, two: str) -> float:
    dark, light = sorted((luminance(one), luminance(two)))
    return (light + 0.05) / (dark + 0.05)


def test_alt_text_is_the_repr_and_is_escaped_in_html():
    chart = Chart("<svg/>", 'Squares & "cubes".')
    assert repr(chart) == 'Squares & "cubes".'
    assert 'role="img" aria-label="Squares &amp; &quot;cubes&quot;."' in chart.fragment()


def test_lines_say_the_values_at_both_ends():
    chart = lines(CURVES, x_label="ranks N", y_label="steps", log_x=2)
    assert repr(chart).endswith("At 8: tree 6, ring 14.")


def test_lines_say_where_a_curve_turns_round_and_from_where_on_which_is_lowest():
    dip, flat = ([1, 2, 4, 8], [9, 3, 5, 8]), ([1, 2, 4, 8], [4, 4, 4, 4])
    chart = lines({"dip": dip, "flat": flat}, x_label="P", y_label="time", marks=[Mark(2, "best", 3)])
    assert "dip is lowest at 2: 3." in chart.alt
    assert "flat is" not in chart.alt
    assert "Lowest: from 1 flat, from 2 dip, from 4 flat." in chart.alt
    assert chart.alt.endswith("best is marked at 2.")
    commas = lines({"dip, twice": dip, "flat": flat}, x_label="P", y_label="time", marks=[Mark(4, "4")])
    assert "At 1: flat 4; dip, twice 9." in commas.alt
    assert commas.alt.endswith("Marked: 4.")


def test_a_conclusion_above_a_figure_is_read_with_it_once():
    fragments = [Chart("<svg/>", alt, "Ring first").fragment() for alt in ("Two bars.", "Ring first. Two bars.")]
    assert [re.search('aria-label="([^"]*)"', one)[1] for one in fragments] == ["Ring first. Two bars."] * 2


def test_lines_differ_in_color_and_in_style():
    html = lines(CURVES, x_label="N", y_label="steps").body
    styles = re.findall(r'style="(stroke:[^"]+)" stroke-width="2"([^/]*)/', html)
    assert len(styles) == 2
    assert styles[0][0] != styles[1][0]
    assert styles[0][1] != styles[1][1]


def test_an_axis_of_one_positive_value_begins_at_zero():
    assert _span([0.875], 0, False) == (0, 1.75)
    assert _span([0], 0, False) == (-1, 1)


@pytest.mark.parametrize("log_y", [0, 2, True])
@pytest.mark.parametrize("values", [[3, 3], [1e-9, 1e9], [999.5, 1000.5], [7]])
def test_lines_draw_any_range_inside_the_picture(log_y, values):
    xs = range(1, len(values) + 1)
    chart = lines({"a": (xs, values)}, x_label="x", y_label="y", log_y=log_y, y_from_zero=False)
    for drawn, width in ((chart.body, SLIM), (chart.broad(), BROAD)):
        for x, y in re.findall(r"[ML](-?[\d.]+) (-?[\d.]+)", drawn):
            assert 0 <= float(x) <= width
            assert 0 <= float(y) <= 250
        assert drawn.count("<text") >= 5


def test_a_percentage_on_the_axis_begins_inside_the_picture():
    for low, high in ((0, 3), (0, 0.4), (-0.2, 0.2)):
        chart = lines({"a": ([1, 2], [low, high])}, x_label="x", y_label="y", y_format="{:+.0%}".format)
        for drawn, size in ((chart.body, 13.5), (chart.broad(), 12)):
            ticks = re.findall(r'<text x="([\d.]+)" y="[\d.]+" text-anchor="end">([^<]*)%<', drawn)
            assert len(ticks) > 2
            for right, digits in ticks:
                assert float(right) > size * (0.58 * len(digits) + 0.92)  # of an em, in a wide type


def test_a_band_lies_around_its_curve_inside_the_picture_and_is_told():
    low, high = [1, 1], [40, 50]
    chart = lines({"a": ([1, 2], [5, 6])}, x_label="x", y_label="y", bands={"a": (low, high)})
    assert chart.alt.endswith("Band of a at the end: 1 to 50.")
    band, line = (
        [tuple(map(float, point.split())) for point in path.rstrip("z").split("L")]
        for path in re.findall(r'd="M([^"]*L[^"]*)" style', chart.body)[:2]
    )
    assert len(band) == 4
    assert all(0 <= y <= 250 for _, y in band)
    for (x, y), top, bottom in zip(line, reversed(band[2:]), band[:2], strict=True):
        assert top[0] == x == bottom[0]
        assert top[1] < y < bottom[1]


def test_scattered_dots_are_not_joined_and_their_legend_shows_a_dot():
    chart = lines(
        {"line": ([1, 8], [1, 1]), "runs": ([1, 2, 8], [2, 1, 3])}, x_label="x", y_label="y", scattered=["runs"]
    )
    legend, line, runs = re.split('<g data-row="(?:line|runs)">', chart.body)
    assert (line.count("<path"), runs.count("<path"), runs.count("<circle")) == (1, 0, 3)
    assert (legend.count("<circle"), legend.count("M0 5H30")) == (1, 1)
    assert chart.alt.startswith("Chart of y against x for line, runs.")


def test_figures_with_one_palette_have_a_color_for_each_name():
    def color(*names):
        html = lines(dict.fromkeys(names, CURVES["ring"]), x_label="x", y_label="y", palette="abc").body
        return re.findall(r'style="(stroke:[^"]+)" stroke-width="2"([^/]*)/', html)

    assert color("b", "a") == color("a", "b")[::-1]
    assert color("c") == color("a", "b", "c")[2:]


def test_what_is_paired_is_dashed_in_the_color_of_the_other_which_is_solid():
    series = dict.fromkeys(["was", "should", "another"], CURVES["ring"])
    html = lines(series, x_label="x", y_label="y", paired={"should": "was", "another": "unknown"}).body
    was, should, another = re.findall(r'd="M\d[^"]*" style="(stroke:[^"]+)" stroke-width="2"([^/]*)/', html)
    assert was[0] == should[0] != another[0]
    assert (was[1], should[1]) == ("", another[1])


def test_short_labels_stand_above_where_a_curve_ends_far_from_the_right():
    far, near = ([1, 8], [2, 3]), ([1, 2], [1, 2])
    assert "cl-legend" not in lines({"far": far, "too": far}, x_label="x", y_label="y").body
    assert "cl-legend" in lines({"far": far, "near": near}, x_label="x", y_label="y").body


def test_labels_stand_above_where_many_curves_end_in_one_place_and_a_lone_curve_needs_none():
    for many, above in ((1, False), (2, False), (4, True)):
        curves = {f"curve {k}": ([1, 8], [k, 9]) for k in range(many)}
        chart = lines(curves, x_label="x", y_label="y")
        assert ("cl-legend" in chart.body) == ("cl-legend" in chart.broad()) == above


def test_the_label_of_a_mark_takes_the_corner_where_nothing_crosses_it():
    def stands(at, *ys):
        html = lines({"a": ([1, 2, 3], ys)}, x_label="x", y_label="y", marks=[Mark(at, "best", ys[at - 1])]).body
        x, y, anchor = re.search(r'x="([\d.]+)" y="([\d.]+)" text-anchor="(\w+)"[^>]*>best<', html).groups()
        across, up = map(float, re.search(r'cx="([\d.]+)" cy="([\d.]+)" r="4.5"', html).groups())
        return anchor, float(x) > across, float(y) > up

    assert stands(2, 1, 5, 9) == ("end", False, False)  # beside a rising line it is above on the left
    assert stands(2, 9, 5, 1) == ("start", True, False)
    assert stands(2, 5, 10, 5)[2]  # at the top there is room below only
    assert stands(3, 9, 5, 1)[0] == "end"


def test_labels_of_series_and_marks_are_escaped():
    html = lines({"<b>": ([1, 2], [1, 2])}, x_label="x", y_label="y", marks=[Mark(1, "a<b")]).body
    assert "<b>" not in html
    assert "&lt;b&gt;" in html
    assert "a&lt;b" in html


@pytest.mark.parametrize(
    ("series", "options", "message"),
    [
        ({}, {}, "1 to 8 series, not 0"),
        ({"a": ([1], [])}, {}, "series 'a' has 1 x and 0 y"),
        ({"a": ([1, 2], [0, 1])}, {"log_y": 10}, "series 'a' has y = 0; it must be positive"),
        ({"a": ([1], [float("nan")])}, {}, "y = nan; it must be finite"),
        ({"a": ([1], [1])}, {"log_x": 1}, "2 or more, not 1"),
        ({"a": ([1], [1])}, {"log_x": 2, "marks": [Mark(0, "zero")]}, "mark 'zero' has x = 0"),
        ({"a": ([1, 2], [5, 6])}, {"bands": {"a": ([1], [2])}}, "series 'low of a' has 2 x and 1 y"),
    ],
)
def test_lines_refuse_what_they_cannot_draw(series, options, message):
    with pytest.raises(ValueError, match=message):
        lines(series, x_label="x", y_label="y", **options)


def test_bars_are_sorted_with_a_total_order():
    one = bars({"b": 1, "a": 1, "c": 0.5})
    assert repr(one) == "Bar chart, lowest first: c 0.5; a 1; b 1."
    assert one == bars({"c": 0.5, "a": 1, "b": 1})


def test_bars_that_are_not_ranked_keep_their_order_and_widths():
    values = {"b": 2, "a": 1, "c": 4}
    kept, sorted_by_value = bars(values, ranked=False), bars(values)
    assert repr(kept) == "Bar chart: b 2; a 1; c 4."
    assert sorted(re.findall(r"width:[\d.]+%", kept.body)) == sorted(re.findall(r"width:[\d.]+%", sorted_by_value.body))


def test_values_on_a_logarithmic_scale_are_dots_between_powers_of_ten():
    chart = bars({"a": 2, "b": 200}, log=True)
    assert "log scale" in chart.body
    assert [float(at) for at in re.findall(r'<em style="left:([\d.]+)%"', chart.body)] == pytest.approx([10.03, 76.7])
    assert re.findall(r">([\d,]+)</u>", chart.body) == ["1", "10", "100", "1,000"]
    assert "cl-bar" not in chart.body.replace("cl-bars", "")
    assert 'style="left:0.00%"' in bars({"a": 10}, log=True).body


def test_bars_that_are_shares_have_the_whole_as_their_track():
    chart = bars({"a": 1, "b": 2}, of=8)
    assert re.findall(r"width:([\d.]+)%", chart.body) == ["12.50", "25.00"]
    assert "cl-of" in chart.body
    assert "cl-of" not in bars({"a": 1, "b": 2}).body


def test_several_values_of_a_label_stand_together_and_are_told_apart_without_color():
    chart = bars({"x": {"in": 4, "out": 1}, "y": {"in": 2}, "z": 3}, highlight=["x"])
    assert repr(chart) == "Bar chart, lowest first: y in 2; z 3; x in 4, out 1."
    key, drawn = chart.body.split('<div class="cl-bars')
    assert re.findall(r"</i>(\w+)</span>", key) == ["in", "out"]
    assert (key.count("cl-hollow"), drawn.count("cl-hollow")) == (1, 1)
    assert '<b style="grid-row:span 2">x</b>' in drawn


@pytest.mark.parametrize(
    ("values", "options", "message"),
    [
        ({}, {}, "at least one value"),
        ({"a": -1}, {}, "'a' has the value -1; it must be finite and zero or more"),
        ({"a": 0}, {"log": True}, "must be finite and positive"),
        ({"a": {"b": -1}}, {}, "'a, b' has the value -1"),
        ({"a": 3}, {"of": 2}, "'a' has the value 3, more than the 2 that it is a share of"),
        ({"a": 1}, {"highlight": ["b"]}, "highlight 'b' is not a bar; the bars are a"),
    ],
)
def test_bars_refuse_what_they_cannot_draw(values, options, message):
    with pytest.raises(ValueError, match=message):
        bars(values, **options)


def test_numbers_are_short():
    assert [number(v) for v in (1e6, 999999.7, 1.5e7, 2e-3, 123456)] == [
        "10⁶",
        "10⁶",
        "1.5×10⁷",
        "2×10⁻³",
        "123,456",
    ]


def test_every_color_reads_on_its_background_in_both_themes():
    colors = dict(re.findall(r"(--cl-[\w-]+): [^;]*?(light-dark\([^)]+\))", asset("theme.css")))
    pairs = {name: re.findall(r"#[0-9a-f]{6}", value) for name, value in colors.items()}
    grounds = {name: pair for name, pair in pairs.items() if name in ("--cl-bg", "--cl-soft")}
    inks = ["fg", "muted", "accent", "ok", "bad", *(f"s{k}" for k in range(1, 9))]
    for theme in (0, 1):
        for ink in inks:
            for ground in grounds.values():
                assert contrast(pairs[f"--cl-{ink}"][theme], ground[theme]) >= 4.5, (ink, theme)
        assert contrast(pairs["--cl-bad"][theme], pairs["--cl-bad-soft"][theme]) >= 4.5, theme
        assert contrast(pairs["--cl-edge"][theme], pairs["--cl-bg"][theme]) >= 3
    assert [pairs[f"--cl-s{k}"][0] for k in range(1, 9)] == list(SERIES)


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [(0, 10, [0, 2, 4, 6, 8, 10]), (0, 0.3, [0, 0.1, 0.2, 0.3]), (0.6, 1.2, [0.6, 0.8, 1, 1.2])],
)
def test_round_values_at_the_ends_of_an_axis_have_ticks(low, high, ticks):
    assert linear_ticks(low, high, 3 if high < 2 else 5) == ticks


def test_a_narrow_logarithmic_axis_has_round_ticks_too():
    assert Axis(0.953, 2.2, 10, 0, 100).ticks(5) == [1, 2]
    assert Axis(0.953, 1.9, 10, 0, 100).ticks(5) == [1, 1.2, 1.4, 1.6, 1.8]


def test_a_logarithmic_axis_with_little_room_has_ticks_at_both_ends():
    assert Axis(1e2, 1e11, 10, 0, 100).ticks(1) == [1e2, 1e11]

"""Tables: accessible HTML, aligned text, clear errors."""

from __future__ import annotations

from fractions import Fraction

import pytest

from colllib.show import Table


def test_html_has_caption_scopes_and_a_focusable_scroller():
    html = Table(["algorithm", "steps"], [["ring", 14]], "Steps <N = 8>")._repr_html_()
    assert 'class="colllib cl-scroll" tabindex="0" role="group" aria-label="Table: Steps &lt;N = 8&gt;"' in html
    assert "<caption>Steps &lt;N = 8&gt;</caption>" in html
    assert '<th scope="col">algorithm</th><th scope="col" class="cl-right">steps</th>' in html
    assert '<th scope="row">ring</th><td class="cl-right">14</td>' in html


def test_the_first_column_with_a_text_in_every_row_names_the_rows():
    grouped = Table(["fabric", "algorithm", "n"], [["star", "ring", 1], ["", "tree", 2]]).fragment()
    assert "<td>star</td>" in grouped
    assert '<tr><td></td><th scope="row">tree</th>' in grouped
    assert "<th scope" not in Table(["", ""], [["a", ""], ["", "b"]]).fragment()


def test_cells_are_escaped():
    html = Table(["a"], [["<script>"]]).fragment()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html


def test_an_empty_header_is_no_header_cell():
    assert '<tr><td></td><th scope="col" class="cl-right">n</th></tr>' in Table(["", "n"], [["a", 1]]).fragment()


def test_columns_of_numbers_go_right_whatever_the_unit():
    rows = [["x", "1,022", Fraction(511, 256), "546.2 µs", "N/A"], ["y", 18, 2, "51 µs", "3"]]
    assert Table(list("abcde"), rows).columns == ("left", "right", "right", "right", "left")
    assert Table(["a"], []).columns == ("left",)


def test_a_rows_name_that_begins_with_a_number_stands_left():
    assert Table(["shape", "as a cell"], [["4 × 4", "4 × 4"], ["8 boxes of 8", "2 to 3"]]).columns == ("left", "right")
    assert Table(["N", "M"], [["4,096", 1], ["64 KiB", 2]]).columns == ("right", "right")


def test_repr_is_text_without_number_parsing():
    assert repr(Table(["a", "b"], [["x", "1.50"]])) == "a       b\n---  ----\nx    1.50"
    assert "a" in repr(Table(["a", "b"], []))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([], []), "at least one header"),
        ((["a", "b"], [["x", 1], ["y"]]), "row 2 has 1 cells; the headers say 2"),
        ((["a"], [], None, ["left", "right"]), "align names 2 columns; the headers say 1"),
        ((["a"], [], None, ["middle"]), "align 'middle' is not left or right"),
    ],
)
def test_wrong_shapes_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        Table(*arguments)

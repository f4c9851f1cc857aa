"""One color and dash for each algorithm, wherever it is drawn."""

from __future__ import annotations

from itertools import product

import pytest

from colllib.algorithms import CATALOGUE
from colllib.show import boxes_explorer, cost_explorer, lines
from colllib.show.looks import BOUND, DASHES, LOOKS, known, letters, looks
from colllib.show.theme import SERIES


def test_every_algorithm_of_the_catalogue_has_a_look_and_its_own_letters():
    without = {algorithm.name for algorithm in CATALOGUE} - LOOKS.keys()
    taken = {(look.hue, look.dash) for look in (*LOOKS.values(), BOUND)}
    free = sorted(set(product(range(len(SERIES)), range(len(DASHES)))) - taken)
    assert not without, f"give {without} a look in colllib/show/looks.py; no other has these pairs of hue, dash: {free}"
    codes = [look.code.lower() for look in LOOKS.values()]
    assert len(set(codes)) == len(codes)


def test_no_two_algorithms_look_alike_and_none_looks_like_a_bound():
    styles = [(look.hue, look.dash) for look in (*LOOKS.values(), BOUND)]
    assert len(set(styles)) == len(styles)


def test_all_reduces_over_boxes_differ_in_color():
    explorer = boxes_explorer()
    looks = explorer.parts[0].race.looks({**explorer.start, "adds": "both"})
    assert len({look.hue for look in looks}) == len(looks)


def test_an_algorithm_looks_the_same_in_another_place_and_order():
    first = looks(["measured", "ring", "Rabenseifner", "lower bounds"])
    second = looks(["Rabenseifner, P = 4", "ring"])
    assert first[1] == second[1] == known("ring")
    assert first[2] == second[0]
    assert len({(look.hue, look.dash) for look in first}) == 4
    assert known("channels") == known("ring channels, alternate")


@pytest.mark.parametrize("primitive", ["broadcast", "all-reduce", "all-gather"])
def test_a_figure_and_an_explorer_draw_an_algorithm_alike(primitive):
    explorer = cost_explorer(primitive)
    for one in explorer.parts[0].race.standings(explorer.start):
        if not one.row.bound:
            drawn = lines({"else": ([1, 2], [1, 2]), one.row.name: ([1, 2], [2, 3])}, x_label="x", y_label="y").body
            assert f"stroke:{one.look.color}" in drawn
            assert one.look.dashes in drawn


def test_letters_of_what_is_no_algorithm_are_its_initials():
    [look] = looks(["the wire"])
    assert letters("the wire", look) == "TW"

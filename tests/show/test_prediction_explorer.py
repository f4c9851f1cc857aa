"""The prediction explorer says what the model and the published figures say."""

from __future__ import annotations

import re

import pytest
from show_browser import opened, write_page

from colllib.measured.predict import predict
from colllib.measured.sweeps import of_others
from colllib.show import prediction_explorer
from colllib.show.log_reader import MACHINES, SIZES
from colllib.topology.machines import find
from colllib.units import rate, seconds


@pytest.mark.parametrize(("on", "machine"), [("dgx-h100:4,cards=4", "dgx-h100,cards=4"), ("gh200:4", "gh200")])
@pytest.mark.parametrize("collective", ["all-reduce", "all-to-all"])
def test_time_rate_pick_and_what_binds_are_those_of_the_prediction(on, machine, collective):
    explorer = prediction_explorer()
    for size in (SIZES[0], SIZES[-1]):
        state = explorer.start | {"collective": collective, "machine": machine, "boxes": 4, "size": size}
        sentence, prediction = explorer.render(len(explorer.parts), state), predict(find(on), collective, size)
        for words in (seconds(prediction.seconds), rate(prediction.busbw), prediction.picked, prediction.binding):
            assert words in sentence
        sizes = explorer.render(2, state)
        assert rate(prediction.busbw) in sizes


def test_what_others_measured_stands_in_the_title_beside_what_is_predicted_or_that_nobody_is_known():
    explorer = prediction_explorer()
    known = [rate for rate, _ in of_others(find("dgx-h100:2"), "all-reduce")]
    figure = explorer.render(0, explorer.start)
    assert (
        f"others measured {rate(known[0])} to {rate(known[-1])} at their largest message ({len(known)} runs)" in figure
    )
    assert f"Predicted {rate(predict(find('dgx-h100:2'), 'all-reduce', 2**33).busbw)} for 8 GiB; " in figure
    assert figure.count(f'data-at="{2**33}"') in (len(known), 2 * len(known))  # of one width or of both
    assert "nobody" in explorer.render(0, explorer.start | {"boxes": 64})


@pytest.mark.parametrize("boxes", [2, 64])
def test_what_is_heard_of_the_curve_is_its_two_ends_whether_others_measured_or_not(boxes):
    explorer = prediction_explorer()
    on = find(f"dgx-h100:{boxes}")
    low, high = (rate(predict(on, "all-reduce", size).busbw) for size in (SIZES[0], SIZES[-1]))
    heard = re.search('aria-label="([^"]*)"', explorer.render(0, explorer.start | {"boxes": boxes}))[1]
    assert heard.endswith(f"predicted {low} at 1 KiB, {high} at 16 GiB.")
    assert heard.count("measured by others") == 0


@pytest.mark.browser
def test_the_dot_of_the_chosen_message_is_the_largest_on_the_curve_of_every_machine(tmp_path):
    with opened(write_page(tmp_path, prediction_explorer())) as (tab, troubles):
        tab.wait_for_selector(".cl-running")
        for size, machine in ((2**24, "dgx-h100"), (2**10, "dgx-h100"), (2**34, "gh200")):
            tab.locator('[data-control="1"]').select_option(str(list(MACHINES).index(machine)))
            tab.locator('[data-control="3"]').fill(str(SIZES.index(size)))
            widths = tab.locator("[data-row=predicted] [data-at]:visible").evaluate_all(
                "dots => dots.map((dot) => dot.getBBox().width)"
            )
            assert (len(widths), SIZES[widths.index(max(widths))]) == (len(SIZES), size)
            assert widths.count(max(widths)) == 1
        assert troubles == []


def test_a_page_holds_it_for_every_machine():
    explorer = prediction_explorer()
    assert explorer.offers(1) == [list(MACHINES.values())]
    assert len(explorer.payload) < 2_200_000

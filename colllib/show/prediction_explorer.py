"""The prediction explorer: the reader's machine and message, what NCCL would pick, how long it takes, who measured."""

from dataclasses import replace

from colllib.measured.predict import predict
from colllib.measured.sweeps import PUBLISHED, of_others
from colllib.measured.tuning import VERSION
from colllib.show.control import Control, Part
from colllib.show.explorer import Explorer
from colllib.show.figure import Chart
from colllib.show.lines import lines
from colllib.show.log_reader import MACHINES, SIZES, boxes_of, predicted
from colllib.show.table import Table
from colllib.units import binary_size, percent, rate, seconds, several

COLLECTIVES = ("all-reduce", "all-gather", "all-to-all")
PREDICTED, OTHERS = "predicted", "measured by others, largest message"


def prediction_explorer() -> Explorer:
    """A collective, a machine, its boxes and a message against the time, its parts, the pick and what others measured.

    >>> prediction_explorer()
    Explorer: What should it take? (Collective, Machine, Boxes, Message)
    """
    return Explorer(
        "What should it take?",
        [
            Control("collective", "Collective", COLLECTIVES, kind="select"),
            Control("machine", "Machine", MACHINES, "dgx-h100", "select"),
            Control("boxes", "Boxes", (1, 2, 4, 8, 16, 32, 64), 2),
            Control("size", "Message", SIZES, 2**24, format=binary_size),
        ],
        [
            Part(_curve, "Bus bandwidth by message"),
            Part(_here, "The dot of the message"),
            Part(_sizes, fold="Every size"),
        ],
        summary=_summary,
        note=f"{VERSION}'s model, scaled to published sweeps. Latency and wire are the two parts of the "
        f"time. Runs of others stand at {binary_size(PUBLISHED)}, with which most end. Of small messages between boxes "
        "it knows no network's own latency.",
        note_title="What is predicted here",
        name="prediction",
    )


def _curve(collective: str, machine: str, boxes: int) -> Chart:
    rates = [prediction.busbw for prediction in predicted(collective, machine, boxes)]
    largest = predict(boxes_of(machine, boxes), collective, PUBLISHED).busbw
    others = [one for one, _ in of_others(boxes_of(machine, boxes), collective)]
    curves = {PREDICTED: (SIZES, rates)}
    known = "nobody's run of such a machine is known here"
    if others:
        span = rate(others[0]) if others[0] == others[-1] else f"{rate(others[0])} to {rate(others[-1])}"
        known = f"others measured {span} at their largest message ({several(len(others), 'run')})"
        curves[OTHERS] = [PUBLISHED] * len(others), others
    chart = lines(
        curves,
        x_label="message",
        y_label="bus bandwidth",
        log_x=2,
        x_format=binary_size,
        y_format=rate,
        dots=True,
        scattered=[OTHERS],
        palette=[PREDICTED, OTHERS],
        title=f"Predicted {rate(largest)} for {binary_size(PUBLISHED)}; {known}",
    )
    first, last = (f"{rate(rates[k])} at {binary_size(SIZES[k])}" for k in (0, -1))
    return replace(chart, alt=f"Chart of bus bandwidth against message: predicted {first}, {last}.")


def _here(size: int) -> str:
    """A part for the message alone: in each curve it would be thirteen times as many curves."""
    large = f'[data-row="{PREDICTED}"] [data-at="{size}"] {{ r: 5.5px; stroke: var(--cl-fg); stroke-width: 2px }}'
    return f'<p class="cl-hint">The large dot: {binary_size(size)}.</p><style>.colllib {large}</style>'


def _sizes(collective: str, machine: str, boxes: int) -> Table:
    rows = [
        (binary_size(p.message), seconds(p.seconds), rate(p.busbw), p.picked, p.binding)
        for p in predicted(collective, machine, boxes)
    ]
    return Table(["message", "time", "bus bandwidth", "picked", "what binds"], rows)


def _summary(collective: str, machine: str, boxes: int, size: int) -> str:
    p = predicted(collective, machine, boxes)[SIZES.index(size)]
    return (
        f"{binary_size(size)} on {several(boxes_of(machine, boxes).ranks, 'GPU')}: {seconds(p.seconds)}, "
        f"{rate(p.busbw)} of bus bandwidth by {p.picked}. Of the time, {percent(p.latency / p.seconds)} is latency; "
        f"what binds: {p.binding}."
    )

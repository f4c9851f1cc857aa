"""A text area for the reader's own log: parsed and drawn in the page, over what is predicted; nothing is sent."""

import json
from collections import defaultdict
from functools import cache
from statistics import median, quantiles

from colllib.measured.expected import PAIRS, expected, slow_below
from colllib.measured.log import factor
from colllib.measured.predict import Prediction, compared, healthy, predict
from colllib.measured.read import BYTES
from colllib.measured.sweeps import PUBLISHED, figures, kind, sweeps
from colllib.measured.write import write
from colllib.show.theme import code, escape, shipped, style
from colllib.topology.machines import PATTERNS, PRESETS, Machine, find

COLLECTIVES = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all", "sendrecv")
MOST_BOXES = 64
SIZES = [2**k for k in range(10, 36, 2)]  # of what is predicted
LARGE = 2**30  # bytes: smaller ones need not reach a range that rests on larger ones
BORDERS = (2**16, 2**24, LARGE)  # below 64 KiB latency decides, from 16 MiB on bandwidth shows
HALF_THE_CARDS = ("dgx-a100", "dgx-h100", "dgx-h200")  # of which boxes with a card for two GPUs are as usual
UNKNOWN_RUNS = {"gh200-nvl32"}  # machines of which nobody published one
#: As on the command line without the number of boxes -> as shown.
MACHINES = {name: name for name in PRESETS if name not in UNKNOWN_RUNS} | {
    f"{name},cards=4": f"{name}, 4 cards" for name in HALF_THE_CARDS
}
EXAMPLE = "eks-p5-2n"  # one of the published logs, and what it was measured on
EXAMPLE_MACHINE, EXAMPLE_BOXES = "dgx-h100", 2


def boxes_of(machine: str, boxes: int) -> Machine:
    """So many boxes of one of `MACHINES`.

    >>> boxes_of("dgx-h100,cards=4", 2).network / 1e9
    200.0
    """
    name, *options = machine.split(",")
    return find(",".join([f"{name}:{boxes}", *options]))


@cache
def predicted(collective: str, machine: str, boxes: int) -> list[Prediction]:
    """What so many boxes of one of `MACHINES` are predicted to take, for each of `SIZES`."""
    return [predict(boxes_of(machine, boxes), collective, size) for size in SIZES]


def ranges() -> dict[str, dict[str, list[tuple[float, ...]]]]:
    """Collective -> machine -> in GB/s, for 1 box, for 2, and so on, the lowest and the highest healthy bus bandwidth,
    and below what a run is slow, and one of which nobody knows how far it would climb.

    >>> ranges()["all-reduce"]["dgx-h100"][1]
    (405.9, 504.0, 310.2, 155.1)
    """

    def of(collective: str, machine: str, boxes: int) -> tuple[float, ...]:
        on = boxes_of(machine, boxes)
        healthy = expected(on, collective)
        slow, climbing = (slow_below(on, healthy, settled) for settled in (1, 0))
        return tuple(float(f"{rate / 1e9:.4g}") for rate in (healthy.low, healthy.high, slow, climbing))

    counts = range(1, MOST_BOXES + 1)
    return {name: {machine: [of(name, machine, n) for n in counts] for machine in MACHINES} for name in COLLECTIVES}


@cache
def foreseen() -> dict[str, dict[str, list[list[float]]]]:
    """Collective -> machine -> for 1 box, for 2, and so on, the predicted microseconds of each of `SIZES`.

    >>> round(factor("all-reduce", 16) * SIZES[-1] / foreseen()["all-reduce"]["dgx-h100"][1][-1] / 1e3)
    446
    """

    def of(collective: str, machine: str, boxes: int) -> list[float]:
        return [float(f"{1e6 * one.seconds:.4g}") for one in predicted(collective, machine, boxes)]

    counts = range(1, MOST_BOXES + 1)
    return {name: {machine: [of(name, machine, n) for n in counts] for machine in MACHINES} for name in COLLECTIVES}


@cache
def spread() -> list[list[tuple[float, float]]]:
    """Between which shares of the predicted rate four of five published sweeps are.

    For one box with links and for several, each for messages below each of `BORDERS`. Collectives in which GPUs send
    to others directly are left out: too few are published.

    >>> low, high = spread()[1][0]
    >>> 0.2 < low < 0.5, 1.2 < high < 1.5
    (True, True)
    """
    shares: defaultdict[tuple[bool, int], list[float]] = defaultdict(list)
    for one in compared():
        machine, of_region = one.sweep.machine, defaultdict(list)
        if machine and machine.linked and one.sweep.run.collective not in PAIRS:
            for size, time, prediction in one.rows:
                of_region[sum(size >= border for border in BORDERS)].append(prediction.seconds / time)
            for region, values in of_region.items():
                shares[machine.boxes > 1, region].append(median(values))

    def of(values: list[float]) -> tuple[float, float]:
        tenths = quantiles(values, n=10, method="inclusive")
        return round(tenths[0], 2), round(tenths[-1], 2)

    return [[of(shares[several, region]) for region in range(len(BORDERS))] for several in (False, True)]


def published() -> dict[str, list[tuple[float, float]]]:
    """Healthy runs of the machines: sizes and microseconds; a figure without a size is taken for one of 8 GiB.

    >>> len(published()["all-reduce dgx-h100 2"]) > 100
    True
    """
    runs = [(str(sweep.run.collective), sweep.machine, sweep.points) for sweep in healthy()]
    for one in figures():
        if one.machine and one.state == "healthy":
            seconds = PUBLISHED * factor(one.collective, one.machine.ranks) / one.busbw
            runs.append((one.collective, one.machine, [(PUBLISHED, seconds)]))
    of: defaultdict[str, list[tuple[float, float]]] = defaultdict(list)
    for collective, machine, points in runs:
        for name in MACHINES:
            if machine and machine.boxes <= MOST_BOXES and kind(machine) == kind(boxes_of(name, machine.boxes)):
                of[f"{collective} {name} {machine.boxes}"] += [(n, float(f"{1e6 * t:.3g}")) for n, t in points]
    return dict(of)


def _data(value: object) -> str:
    """For an attribute of an element, a whole number without its point."""
    return escape(json.dumps(value, separators=(",", ":")).replace(".0,", ",").replace(".0]", "]"))


class LogReader:
    """The form; it starts with a published log, and without script it says which command reads one.

    >>> LogReader()
    A text area that reads an nccl-tests log and draws it over what is predicted.
    """

    def _repr_html_(self) -> str:
        example = write(next(sweep.run for sweep in sweeps() if sweep.name == EXAMPLE))
        collectives = "".join(f"<option>{name}</option>" for name in COLLECTIVES)
        machines = "".join(
            f'<option value="{name}"{" selected" if name == EXAMPLE_MACHINE else ""}>{shown}</option>'
            for name, shown in MACHINES.items()
        )
        kinds = [(pattern, name if name in MACHINES else "") for pattern, name in PATTERNS]
        gpus = {name: PRESETS[name.partition(",")[0]].gpus for name in MACHINES}
        return (
            f'{style("theme", "log")}<div class="colllib cl-log" '
            f'data-gpus="{_data(gpus)}" data-kinds="{_data(kinds)}" data-widths="{_data(BYTES)}" '
            f'data-ranges="{_data(ranges())}" '
            f'data-borders="{_data(BORDERS)}" data-sizes="{_data(SIZES)}" data-foreseen="{_data(foreseen())}" '
            f'data-spread="{_data(spread())}" data-published="{_data(published())}">'
            "<noscript>Without JavaScript, <code>colllib diagnose LOG</code> reads a log.</noscript>"
            f'<form hidden aria-label="Read a log"><label>Your log'
            f'<textarea name="log" rows="7" spellcheck="false">{escape(example)}</textarea></label>'
            f'<label>Collective<select name="collective">{collectives}</select></label>'
            f'<label>Machine<select name="machine">{machines}</select></label>'
            f'<label>Boxes<input name="boxes" type="number" min="1" max="{MOST_BOXES}" value="{EXAMPLE_BOXES}"></label>'
            "</form>"
            f'<div class="cl-log-plot"></div><output aria-live="polite"></output><div class="cl-log-table"></div>'
            f"{shipped('script', 'log', code('log'))}</div>"
        )

    def __repr__(self) -> str:
        return "A text area that reads an nccl-tests log and draws it over what is predicted."

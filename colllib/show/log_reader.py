"""A text area for the reader's own log: parsed and drawn in the page, over the range of a machine; nothing is sent."""

import json

from colllib.measured.expected import expected
from colllib.measured.sweeps import sweeps
from colllib.measured.write import write
from colllib.show.theme import asset, escape, style
from colllib.topology.machines import PATTERNS, PRESETS, Machine, find

COLLECTIVES = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all", "sendrecv")
MOST_BOXES = 64
LARGE = 2**30  # bytes: smaller ones need not reach a range that rests on larger ones
HALF_THE_CARDS = ("dgx-a100", "dgx-h100", "dgx-h200")  # of which boxes with a card for two GPUs are as usual
#: As on the command line without the number of boxes -> as shown.
MACHINES = {name: name for name in PRESETS} | {f"{name},cards=4": f"{name}, 4 cards" for name in HALF_THE_CARDS}
EXAMPLE = "eks-p5-2n"  # one of the published logs, and what it was measured on
EXAMPLE_MACHINE, EXAMPLE_BOXES = "dgx-h100", 2


def boxes_of(machine: str, boxes: int) -> Machine:
    """So many boxes of one of `MACHINES`.

    >>> boxes_of("dgx-h100,cards=4", 2).network / 1e9
    200.0
    """
    name, *options = machine.split(",")
    return find(",".join([f"{name}:{boxes}", *options]))


def ranges() -> dict[str, dict[str, list[tuple[float, float]]]]:
    """Collective -> machine -> lowest and highest healthy bus bandwidth in GB/s, for 1 box, for 2, and so on.

    >>> ranges()["all-reduce"]["dgx-h100"][1]
    (361.43, 504.0)
    """

    def of(collective: str, machine: str, boxes: int) -> tuple[float, float]:
        healthy = expected(boxes_of(machine, boxes), collective)
        return round(healthy.low / 1e9, 3), round(healthy.high / 1e9, 3)

    counts = range(1, MOST_BOXES + 1)
    return {name: {machine: [of(name, machine, n) for n in counts] for machine in MACHINES} for name in COLLECTIVES}


class LogReader:
    """The form; it starts with a published log, and without script it says which command reads one.

    >>> LogReader()
    A text area that reads an nccl-tests log and draws it over the range of a machine.
    """

    def _repr_html_(self) -> str:
        example = write(next(sweep.run for sweep in sweeps() if sweep.name == EXAMPLE))
        collectives = "".join(f"<option>{name}</option>" for name in COLLECTIVES)
        machines = "".join(
            f'<option value="{name}"{" selected" if name == EXAMPLE_MACHINE else ""}>{shown}</option>'
            for name, shown in MACHINES.items()
        )
        gpus = {name: PRESETS[name.partition(",")[0]].gpus for name in MACHINES}
        return (
            f'{style("theme", "log")}<div class="colllib cl-log" data-large="{LARGE}" '
            f'data-gpus="{escape(json.dumps(gpus))}" data-kinds="{escape(json.dumps(PATTERNS))}" '
            f'data-ranges="{escape(json.dumps(ranges(), separators=(",", ":")))}">'
            "<noscript>Without JavaScript, <code>colllib diagnose LOG</code> reads a log.</noscript>"
            f'<form hidden aria-label="Read a log"><label>Your log'
            f'<textarea name="log" rows="7" spellcheck="false">{escape(example)}</textarea></label>'
            f'<label>Collective<select name="collective">{collectives}</select></label>'
            f'<label>Machine<select name="machine">{machines}</select></label>'
            f'<label>Boxes<input name="boxes" type="number" min="1" max="{MOST_BOXES}" value="{EXAMPLE_BOXES}"></label>'
            "</form>"
            f'<div class="cl-log-plot"></div><output aria-live="polite"></output>'
            f"<script>{asset('log.js')}</script></div>"
        )

    def __repr__(self) -> str:
        return "A text area that reads an nccl-tests log and draws it over the range of a machine."

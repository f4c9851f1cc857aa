"""A text area for the reader's own log: parsed and drawn in the page, over the range of a machine; nothing is sent."""

import json

from colllib.measured.expected import expected
from colllib.measured.shape import LARGE
from colllib.measured.sweeps import sweeps
from colllib.measured.write import write
from colllib.show.theme import asset, escape, style
from colllib.topology.machines import PRESETS, find

COLLECTIVES = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all", "sendrecv")
BOXES = (1, 2, 4, 8, 16, 32)
EXAMPLE, EXAMPLE_ON = "eks-p5-2n", "dgx-h100:2"


def ranges() -> dict[str, dict[str, tuple[float, float, int]]]:
    """Collective -> machine -> lowest and highest healthy bus bandwidth in GB/s, and its ranks.

    >>> [round(value) for value in ranges()["all-reduce"]["dgx-h100:2"]]
    [272, 504, 16]
    """
    found: dict[str, dict[str, tuple[float, float, int]]] = {}
    for collective in COLLECTIVES:
        for preset in PRESETS:
            for boxes in BOXES:
                machine = find(f"{preset}:{boxes}")
                if machine.ranks > 1:
                    bound = expected(machine, collective)
                    found.setdefault(collective, {})[f"{preset}:{boxes}"] = (
                        bound.low / 1e9,
                        bound.high / 1e9,
                        machine.ranks,
                    )
    return found


class LogReader:
    """The form; it starts with a published log, and without script it says which command reads one.

    >>> LogReader()
    A text area that reads an nccl-tests log and draws it over the range of a machine.
    """

    def _repr_html_(self) -> str:
        example = write(next(sweep.run for sweep in sweeps() if sweep.name == EXAMPLE), "nccl-tests")
        known = ranges()
        collectives = "".join(f"<option>{name}</option>" for name in known)
        machines = "".join(
            f"<option{' selected' if name == EXAMPLE_ON else ''}>{name}</option>" for name in known["all-reduce"]
        )
        rounded = {
            key: {on: [round(value, 3) for value in values] for on, values in at.items()} for key, at in known.items()
        }
        return (
            f'{style("theme", "log")}<div class="colllib cl-log" data-large="{LARGE}" '
            f'data-ranges="{escape(json.dumps(rounded))}">'
            "<noscript>Without JavaScript, <code>colllib diagnose LOG</code> reads a log.</noscript>"
            f'<form hidden aria-label="Read a log"><label>your log'
            f'<textarea name="log" rows="7" spellcheck="false">{escape(example)}</textarea></label>'
            f'<label>collective<select name="collective">{collectives}</select></label>'
            f'<label>machine<select name="machine">{machines}</select></label></form>'
            f'<div class="cl-log-plot"></div><output aria-live="polite"></output>'
            f"<script>{asset('log.js')}</script></div>"
        )

    def __repr__(self) -> str:
        return "A text area that reads an nccl-tests log and draws it over the range of a machine."

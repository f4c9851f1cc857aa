"""The ladder explorer: every fabric's rung for a primitive at the reader's M, alpha and BW, ideal or with losses."""

import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from colllib import ladder
from colllib.bounds import floor
from colllib.efficiency import PROFILES
from colllib.ladder import Entry
from colllib.realistic_ladder import LINES
from colllib.show.control import Control, Quantity
from colllib.show.cost_explorer import forms, prices
from colllib.show.explorer import Explorer
from colllib.show.race import Form, Race, Row
from colllib.show.views import Dots, Rows
from colllib.topology import injection

PORTS = {False: "each link", True: "all links of a rank"}
ORDER = Control("order", "Rows", ("as listed", "by time"))

#: A wire for each pair of 512 ranks would lead every ladder, and nobody builds it.
SPECS = tuple(spec for spec in ladder.FABRICS if not spec.startswith("full-mesh"))

_COLUMNS = "fabric = name | by = variant | time | of fastest | n_alpha | n_beta"
_SHORT = {"inc-star:512": "star that adds", "star:512": "star", "torus:8x8x8": "torus"}
_ADDS = ("reduce", "reduce-scatter", "all-reduce")  # what asks the switch to add
_KINDS = {"full-mesh": "full mesh", "inc-star": "star that computes"}


def fabric_name(spec: str) -> str:
    """A fabric as prose writes it.

    >>> fabric_name("full-mesh:512"), fabric_name("torus:4x4,tie=balanced, alternating axes")
    ('full mesh 512', 'torus 4 × 4, tie=balanced, alternating axes')
    """
    kind, _, size = spec.partition(":")
    spaced = re.sub(r",(?! )", ", ", re.sub(r"(?<=\d)x(?=\d)", " × ", size))
    return f"{_KINDS.get(kind, kind)} {spaced}"


def rung(
    name: str, variants: Mapping[str, Form], entry: Entry, ports: bool, losses: tuple[str, str] = ("alpha", "bw")
) -> Row:
    """A row of the ladder: the forms of one fabric, the fastest of which counts, with the lower bounds of an entry."""
    scale = injection(entry.topology) if ports else Fraction(1)
    scaled = {label: form.scaled(scale) for label, form in variants.items()}
    least = Form((floor(entry.algorithm.primitive, entry.topology),)).scaled(scale)
    return Row(name, scaled, floor=least, alpha=losses[:1], bandwidth=losses[1:])


def ladder_explorer() -> Explorer:
    """Primitive, M, alpha, BW and the port convention against the rungs of all fabrics of 512 ranks.

    Every rung is executed once, or counted by symmetry or by a closed form that tests hold against execution.

    >>> ladder_explorer()
    Explorer: The ladder of 512 ranks (Primitive, Message M, Latency α, Bandwidth BW, BW is that of, Rows)
    """
    tori = [spec for spec in SPECS if spec.startswith("torus")]
    owned = ", ".join(f"{injection(ladder.topology(spec))} on {fabric_name(spec)}" for spec in tori)
    note = (
        "Lock-step clock; a port has one partner in a step. A rank owns one link on the star and one per neighbor "
        f"elsewhere: {owned}, 2 on the ring, and on a mesh as many as on its torus but for the ranks at the rim. "
        "P is the best whole number of segments. The tick beside a dot is the sum of the fabric's two lower bounds."
    )
    heads = f"{_COLUMNS} | over its bounds = over floor"
    return _ladder("The ladder of 512 ranks", _rungs, heads, note, "ladder")


def _rungs(p: str, ports: bool) -> list[Row]:
    """Every fabric that the primitive has an algorithm for."""
    fabrics = [(spec, ladder.entries(p, spec, trusting=True)) for spec in SPECS]
    return [rung(fabric_name(spec), forms(entries), entries[0], ports) for spec, entries in fabrics if entries]


def realistic_ladder_explorer() -> Explorer:
    """The ladder with rungs of a switch that takes part, and coefficients that the reader sets for each fabric.

    Times with coefficients stand beside the ideal ones, each in its best number of segments: the lines of the
    table in `colllib.realistic_ladder`, and on every fabric the fastest of all others.

    Source of the coefficients shown first: `colllib.efficiency.PROFILES`.

    >>> realistic_ladder_explorer().title
    'The ladder of 512 ranks, ideal and with coefficients'
    """
    star, adding, wires = PROFILES["crossbar"], PROFILES["nvls one-shot"], PROFILES["torus"]
    etas = [
        Quantity("star", "BW kept, star", "number", 0.01, 1, float(star.beta)),
        Quantity("adding", "BW kept, adding", "number", 0.01, 1, round(float(adding.beta), 2)),
        Quantity("wires", "BW kept, torus", "number", 0.01, 1, float(wires.beta)),
        Quantity("delay", "α times, torus", "number", 1, 20, float(wires.alpha)),
    ]
    note = (
        "Lock-step clock, 512 ranks. A rank owns one link on a star and "
        f"{injection(ladder.topology('torus:8x8x8'))} on the torus of 8 × 8 × 8. The "
        "part of BW that a fabric keeps (η<sub>β</sub>) divides its bytes, η<sub>α</sub> multiplies its latencies; "
        "both ways through a switch that adds keep the same. P is the best whole number of segments with them."
    )
    title = "The ladder of 512 ranks, ideal and with coefficients"
    return _ladder(title, _realistic_rungs, _COLUMNS, note, "realistic", etas, ("alpha", "bw"))


def _realistic_rungs(p: str, ports: bool) -> list[Row]:
    """On every fabric of the table its lines, and the fastest of all other algorithms."""
    rungs = []
    for spec in dict.fromkeys(line.on for line in LINES):
        losses = _losses(p, spec)
        labels = {line.name: line.label for line in LINES if (line.primitive, line.on) == (p, spec)}
        entries = ladder.entries(p, spec, trusting=True)
        if spec.startswith("inc"):  # what leaves the switch out is a row of the plain star
            entries = tuple(entry for entry in entries if entry.algorithm.name.startswith("in-network"))
        for entry in entries:
            if label := labels.get(entry.algorithm.name):
                rungs.append(rung(label, Form.variants(entry), entry, ports, losses))
        if others := [entry for entry in entries if entry.algorithm.name not in labels]:
            rungs.append(rung(f"{_SHORT[spec]}, others", forms(others), others[0], ports, losses))
    return rungs


def _losses(primitive: str, spec: str) -> tuple[str, str]:
    """What alpha and BW become on a fabric, in the names of the quantities."""
    if spec.startswith("torus"):
        return "alpha*delay", "bw*wires"
    if spec.startswith("inc") and primitive in _ADDS:
        return "alpha", "bw*adding"
    return "alpha", "bw*star"


def _ladder(
    title: str,
    rows: Callable[[str, bool], list[Row]],
    heads: str,
    note: str,
    name: str,
    etas: Sequence[Quantity] = (),
    ideal: tuple[str, ...] = (),
) -> Explorer:
    race = Race(rows)
    return Explorer(
        title,
        [
            Control("p", "Primitive", ladder.PRIMITIVES, "all-reduce", kind="select"),
            *prices(),
            Control("ports", "BW is that of", PORTS, False),
            *etas,
            ORDER,
        ],
        [
            Dots(race, "Rungs", order=ORDER.name, ideal=ideal),
            Rows(race, "Costs of the rungs", "All in numbers", heads, order=ORDER.name, tinted=True),
        ],
        summary="{p} of {m}, BW that of {ports}: {fastest} with {time}{next}.",
        note=note,
        name=name,
    )

"""Which machine a log is of: what is told, then what the log says, then what its numbers leave possible."""

from __future__ import annotations

from dataclasses import dataclass, replace

from colllib.measured.expected import PAIRS, SEND_SHARE, expected, filled
from colllib.measured.log import Run
from colllib.measured.machines import UNKNOWN, Machine, by_gpu
from colllib.measured.shape import LARGE, Shape
from colllib.units import shortened

ANY_RANKS = 2**20  # where only the printed busbw counts, and it is the same whatever the factor
MANY_RANKS = 24  # from which on the printed digits may not tell how many there are
EFA_CARD = 12.5e9  # of the boxes with Ampere and before, of which those with A100s (p4d) have four, others one
TRANSPORT_CARD = 25e9  # of the transports that tell it
TRANSPORTS = {"cxi": 0, "tcpx_": 4, "fastrak": 8}  # Slingshot's, whose cards the log counts; of A3 High and A3 Mega
POOREST_CARD = 12.5e9  # of usual boxes of several GPUs
WIDEST_SLOT = 126e9  # one way, of 16 lanes of PCIe 6.0
UNSURE = 0.85  # of the low end: nearer than that, a run is neither healthy nor slow
LARGEST_HOST = 16  # GPUs: a larger NVLink domain spans hosts, and is one box
Assumed = list[str]


@dataclass(frozen=True)
class Hints:
    """What is told beside the log; it overrides what the log says, but not how many ranks ran on how many hosts.

    Args:
        gpus_per_box: ranks on a host.
        boxes: hosts.
        gpu: its name.
        cards: cards of a host, and the rate of one in bytes per second.
        collective: the book's name.
        machine: all of the hardware at once.
    """

    gpus_per_box: int | None = None
    boxes: int | None = None
    gpu: str = ""
    cards: tuple[int, float] | None = None
    collective: str | None = None
    machine: Machine | None = None


def ranks_of(run: Run, hints: Hints) -> int | None:
    """Ranks that are told, or that the log shows; null where nobody knows."""
    if hints.machine is not None:
        return hints.machine.ranks
    if hints.boxes and hints.gpus_per_box:
        return hints.boxes * hints.gpus_per_box
    return run.ranks


def at_least(run: Run) -> int:
    """Ranks, or how many there are at least: an algbw beside the busbw shows the ranks of few."""
    shows = run.collective not in ("sendrecv", "broadcast", "reduce") and any(row.algbw for row in run.rows)
    return run.ranks or (MANY_RANKS if shows else 1)


def linked(run: Run, form: Shape) -> bool:
    """Whether unknown GPUs exchange more than all but links of their own carry: PCIe in a box, between boxes cards."""
    one = run.boxes == 1 or (run.boxes is None and at_least(run) <= UNKNOWN.gpus)
    others = WIDEST_SLOT if run.collective == "sendrecv" else UNKNOWN.pcie if one else UNKNOWN.network
    return form.largest >= LARGE and not form.erratic and form.measured > others


def stand_in(run: Run, form: Shape) -> tuple[Machine | None, str]:
    """Boxes of eight that decide about a run of unknown GPUs whatever theirs are, and how, or nothing.

    The richest usual ones have 400 Gb/s a GPU: what is fast enough even for them, or for two such GPUs, is healthy, and
    no fabric scatters so that is. The poorest have one card of 100 Gb/s: what is too slow even for them is slow. A ring
    between them that fills a usual total of several cards has such cards.
    """
    pair = run.ranks == 2 and run.boxes != 1 and not form.erratic and form.largest >= LARGE
    if pair and SEND_SHARE * UNKNOWN.card <= form.measured <= UNKNOWN.card:
        return replace(UNKNOWN, boxes=2, gpus=1, cards=1, cards_known=True), "it is fast enough for a card of 400 Gb/s"
    count = run.boxes or at_least(run) // UNKNOWN.gpus
    if count < 2 or form.largest < LARGE or run.ranks not in (None, count * UNKNOWN.gpus):
        return None, ""
    rich = replace(UNKNOWN, boxes=count, cards_known=True)
    poor = replace(rich, cards=1, card=POOREST_CARD)
    bound = expected(rich, str(run.collective))
    if form.erratic:
        return rich, "it scatters as no healthy fabric does, assumed to have 8 x 400 Gb/s a box"
    if bound.low <= form.measured <= bound.high:
        return rich, "it is fast enough for boxes of 8 GPUs with 8 x 400 Gb/s cards"
    if form.measured < UNSURE * expected(poor, str(run.collective)).low:
        return poor, "it is too slow even for boxes of 8 GPUs with one card of 100 Gb/s"
    full = filled(form.measured)
    if full <= UNKNOWN.card or run.collective in PAIRS:
        return None, ""
    return replace(rich, card=full / rich.cards), f"it is what cards of {full / 1e9:g} GB/s a box give"


def machine_of(run: Run, hints: Hints) -> tuple[Machine | None, Assumed]:
    """The machine, or null where its GPU is not known, and what was assumed.

    Raises:
        ValueError: if the hints contradict each other or the log's ranks.

    >>> found, assumed = machine_of(Run("columns", (), "all-reduce", 16, 2, 8, "NVIDIA H100 80GB HBM3"), Hints())
    >>> found.name, found.boxes, assumed
    ('H100', 2, ['assumed: 8 x 400 Gb/s cards a box'])
    """
    assumed: Assumed = []
    stated = ranks_of(run, hints)
    if run.ranks and stated and stated < run.ranks:
        raise ValueError(f"the log has {run.ranks} ranks, the machine that is told holds {stated}")
    if stated and hints.boxes and stated % hints.boxes:
        raise ValueError(f"{stated} ranks do not fill {hints.boxes} boxes")
    fewer = bool(run.ranks and stated and stated > run.ranks)
    if fewer:
        assumed.append(f"the log shows {run.ranks} ranks of the {stated} that are told")
    if hints.machine is not None:
        return (_part_of(hints.machine, run) if fewer else hints.machine), assumed
    kind, counted = by_gpu(hints.gpu or run.gpu), run.facts.get("cards", "0")
    spoken = " ".join((*run.facts, *(run.facts.get(key, "") for key in ("network", "provider")))).lower()
    number = max((number or int(counted) for name, number in TRANSPORTS.items() if name in spoken), default=0)
    if number and not hints.cards:
        hints = replace(hints, cards=(number, TRANSPORT_CARD))
        assumed.append(f"from the log: {number} cards of 200 Gb/s, by its transport")
    if kind is None:
        if hints.gpu:
            assumed.append(f"GPU {shortened(hints.gpu)!r} is not known")
        if not hints.cards or (hints.boxes or run.boxes or (stated or 0) // LARGEST_HOST) < 2:
            return None, assumed
        kind = UNKNOWN
    gpus, ranks = _layout(run, hints, kind, assumed)
    if ranks % gpus:
        if hints.gpus_per_box:
            raise ValueError(f"{ranks} ranks do not fill boxes of {gpus} GPUs")
        return None, [f"{ranks} ranks do not fill boxes of {gpus} GPUs"]
    if hints.boxes and hints.boxes * gpus != ranks and not fewer:
        raise ValueError(f"{hints.boxes} boxes of {gpus} GPUs do not hold {ranks} ranks")
    made = _with_cards(replace(kind, gpus=gpus, boxes=ranks // gpus), run, hints, kind, assumed)
    return (_part_of(made, run) if fewer else made), assumed


def _layout(run: Run, hints: Hints, kind: Machine, assumed: Assumed) -> tuple[int, int]:
    """GPUs of a box, and ranks."""
    ranks, boxes, gpus = ranks_of(run, hints), hints.boxes, hints.gpus_per_box
    if kind.gpus <= LARGEST_HOST or boxes or gpus:
        boxes, gpus = boxes or run.boxes, gpus or run.gpus_per_box
    if ranks is None:
        ranks = boxes * (gpus or kind.gpus) if boxes else gpus
    if ranks is None:
        ranks = kind.gpus
        assumed.append(f"assumed: one box of {ranks} GPUs")
    if gpus is None:
        gpus = ranks // boxes if boxes and ranks % boxes == 0 else min(ranks, kind.gpus)
        if not boxes:
            assumed.append(f"assumed: boxes of {gpus} GPUs")
    return gpus, ranks


def _with_cards(made: Machine, run: Run, hints: Hints, kind: Machine, assumed: Assumed) -> Machine:
    """The cards as told, or as the log counts them, or the usual ones."""
    if hints.cards:
        return replace(made, cards=hints.cards[0], card=hints.cards[1], cards_known=True)
    if made.boxes == 1:
        return made
    if made.gpus < kind.gpus and kind.cards > 1:
        part = made.gpus / kind.gpus
        common = max(made.card, part * kind.common_network)
        made = replace(made, cards=max(1, int(kind.cards * part)), common_network=common)
    counted, named = (int(run.facts.get(key, "0")) for key in ("cards", "named cards"))
    if "efa" in (run.facts.get("provider"), run.facts.get("FI_PROVIDER")) and kind.generation < 2:
        made = replace(made, cards=counted or (4 if kind.name == "A100" else 1), card=EFA_CARD)
    elif 0 < (fewer := counted if counted > 1 else named) < made.cards:
        made = replace(made, cards=fewer)  # one that the log counts is a finding; those that are named may be one
    whence = "from the log" if made.cards in (counted, named) else "assumed"
    assumed.append(f"{whence}: {made.cards} x {made.card * 8 / 1e9:g} Gb/s cards a box")
    return made


def _part_of(machine: Machine, run: Run) -> Machine:
    """As much of a machine as the log's ranks fill, with the cards that are next to those GPUs."""
    ranks = run.ranks or machine.ranks
    shown = run.gpus_per_box if machine.gpus <= LARGEST_HOST else None
    gpus = shown or min(ranks, machine.gpus)
    if gpus > machine.gpus or ranks % gpus:
        return machine
    return replace(machine, gpus=gpus, boxes=ranks // gpus, cards=max(1, machine.cards * gpus // machine.gpus))

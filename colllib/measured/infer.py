"""Which machine a log is of: by the options, then by what the log says, then by what its numbers leave possible."""

from dataclasses import dataclass, replace
from math import inf, isinf

from colllib.measured.causes import MANY_CARDS, waits
from colllib.measured.expected import (
    CARD_SHARE,
    CARD_TOTALS,
    PAIRS,
    POOR_CARDS,
    SEND_SHARE,
    SLOT_SHARE,
    UNSURE,
    expected,
    filled,
)
from colllib.measured.log import OF_MPI, Run, factor
from colllib.measured.predict import SMALL
from colllib.measured.segments import LARGE, Shape
from colllib.primitives import is_whole
from colllib.topology.machines import UNKNOWN, Machine, by_gpu
from colllib.units import binary_size, several, shortened

NEURON = "nccom-test"  # the dialect of what runs on NeuronCores alone
ANY_RANKS = 2**20  # where only the printed busbw counts, and it is the same whatever the factor
MANY_RANKS = 24  # from which on the printed digits may not tell how many there are
EFA_CARD = 12.5e9  # of the boxes with Ampere and before, of which those with A100s (p4d) have four, others one
TRANSPORT_CARD = 25e9  # of the transports that tell it
TRANSPORTS = {"cxi": 0, "tcpx_": 4, "fastrak": 8}  # Slingshot's, whose cards the log counts; of A3 High and A3 Mega
POOREST_CARD = 12.5e9  # of usual boxes of several GPUs
HALF_CARD, FULL_CARD = 25e9, 0.985  # of 200 Gb/s, and the most that arrives of one: the rest is packets' headers
OLDER_SLOT = 31.5e9  # one way, of 16 lanes of PCIe 4.0
FEW_LANES = 7.9e9  # one way, of 4 lanes of PCIe 4.0, as GPUs of laptops and in docks have
LATEST = 100e-6  # seconds: sockets of a slow processor take half of it
UNCLEAR = 0.09  # of the time that latencies take: more, and the speed says no longer which cards it fills
LEAST_OF_A_TREE = 1.1  # over two boxes, of what their cards carry, where NCCL takes one: 1.14 and more is seen
WIDEST_SLOT = 126e9  # one way, of 16 lanes of PCIe 6.0
LARGEST_HOST = 16  # GPUs: a larger NVLink domain spans hosts, and is one box
FAST, SLOW = "healthy", "below-expectation"
USUAL = ("V100", "A100", "H100", "B200", "MI300X")  # GPUs with links of their own, of boxes that many have
OF_AMD = ("MI250X", "MI300X", "MI350X")  # the same in a log of rccl-tests


@dataclass(frozen=True)
class Hints:
    """What the options say beside the log; they override it, but not how many ranks ran on how many hosts.

    Args:
        gpus_per_box: ranks on a host.
        boxes: hosts.
        gpu: its name.
        cards: how many a host has, and the rate of one in bytes per second.
        collective: the book's name.
        machine: all of the hardware at once.

    Raises:
        ValueError: for cards that are not so told.
    """

    gpus_per_box: int | None = None
    boxes: int | None = None
    gpu: str = ""
    cards: tuple[int, float] | None = None
    collective: str | None = None
    machine: Machine | None = None

    def __post_init__(self) -> None:
        match self.cards:
            case (count, int() | float() as rate) if is_whole(count) and count > 0 and 0 < rate < inf:
                return
        if self.cards is not None:
            form = "must be a number and the bytes per second of one, as in (8, 50e9)"
            raise ValueError(f"cards {shortened(repr(self.cards))}: {form}")


def ranks_of(run: Run, hints: Hints) -> int | None:
    """Ranks by the options, or as the log shows them; null where nobody knows."""
    if hints.machine is not None:
        return hints.machine.ranks
    if hints.boxes and hints.gpus_per_box:
        return hints.boxes * hints.gpus_per_box
    return run.ranks


def at_least(run: Run) -> int:
    """Ranks, or how many there are at least: an algbw beside the busbw shows the ranks of few."""
    shows = run.collective not in ("sendrecv", "broadcast", "reduce") and any(row.algbw for row in run.rows)
    return run.ranks or (MANY_RANKS if shows else 1)


def in_one_box(run: Run) -> bool:
    """Whether a run was of one box, or of few enough ranks to fit in one."""
    return run.boxes == 1 or (run.boxes is None and run.gpus_per_box != 1 and at_least(run) <= UNKNOWN.gpus)


def _for_whom(run: Run, form: Shape) -> tuple[str, bool]:
    """Of which usual GPUs a box is healthy at such a speed and of which not, in words; and whether of any."""
    if "host memory" in run.facts:
        return "", True
    gpus, fits, more = min(max(2, at_least(run)), UNKNOWN.gpus), [], []
    for kind in filter(None, map(by_gpu, OF_AMD if "rccl" in run.facts else USUAL)):
        bound = expected(replace(kind, gpus=gpus, boxes=1), form.collective)
        if form.measured < bound.low:
            more.append(f"{kind.name} ({bound.low / 1e9:.0f} to {bound.high / 1e9:.0f})")
        elif form.measured <= bound.high:
            fits.append(kind.name)
    healthy = f": healthy for {', '.join(fits)}" if fits else ""
    slow = f", {'but ' * bool(fits)}too little for a box of {', '.join(more)}" if more else ""
    return healthy + slow, bool(fits) or not more


def late(run: Run) -> str:
    """That the smallest message of MPI takes a pair longer than it takes over any network, or nothing."""
    if run.dialect not in OF_MPI or run.collective != "sendrecv":
        return ""
    (size, *_), (seconds, *_) = run.series()
    if size > SMALL or seconds < LATEST:
        return ""
    return f"{1e6 * seconds:.0f} us for {binary_size(size)}, where a pair waits {1e6 * LATEST:.0f} us over no network"


def decided(run: Run, form: Shape) -> tuple[str, str]:
    """What the numbers alone say of a run of unknown GPUs and cards: the state and why, or no state, perhaps also why.

    Fast is what only links of the GPUs' own carry, or enough for the richest usual boxes (400 Gb/s for each of up
    to eight GPUs), or what fills cards; slow is less than the poorest give (one card of 100 Gb/s, a slot of PCIe 4.0),
    or lies between two usual totals of cards, or scatters, or had twice the speed before. A named GPU may have fewer
    lanes, one of up to 100 Gb/s may be all that two have, and NeuronCores are in no slots: of them nothing is said.
    """
    if run.dialect == NEURON:
        return "", ""
    if why := late(run):
        return SLOW, why
    speed, ranks, pairs, one = form.measured, at_least(run), form.collective in PAIRS, in_one_box(run)
    others = WIDEST_SLOT if form.collective == "sendrecv" else UNKNOWN.pcie if one else UNKNOWN.network
    few = one or (run.ranks is not None and ranks <= UNKNOWN.gpus)
    if form.largest >= LARGE and speed < form.best / 2:
        return SLOW, f"less than half of the {form.best / 1e9:.3g} GB/s that a smaller message got on the same wires"
    if form.erratic and form.largest >= LARGE and not few:
        return SLOW, "no figure of a healthy fabric, as it scatters so widely"
    if form.erratic or form.largest < LARGE or form.step_back >= 2**20:
        return "", ""
    if run.gpus_per_box != 1 and speed > others:
        text, usual = _for_whom(run, form) if one else ("", True)
        if run.boxes == 1 and not usual:
            return "", ""
        text += "; two boxes of fewer may be as fast" * (not usual)
        return FAST, f"more than PCIe or cards carry: the GPUs' own links are in use{text}"
    boxes, gpus = run.boxes or ranks // UNKNOWN.gpus, run.gpus_per_box or UNKNOWN.gpus
    rich = replace(UNKNOWN, boxes=max(2, boxes), gpus=gpus, cards=min(gpus, UNKNOWN.cards), cards_known=True)
    poor = replace(rich, cards=1, card=POOREST_CARD)
    low, least = expected(rich, form.collective).low, expected(poor, form.collective).least
    nearly = UNSURE if boxes == 2 else 1.0  # there a tree over half the cards gives as much
    if nearly * low <= speed <= 2 * rich.network and not one:  # and it carries at most twice its cards
        return FAST, f"enough{', or nearly,' if speed < low else ''} even for boxes with {rich.cards} x 400 Gb/s cards"
    if few:
        state, why = _of_few(run, speed, one and ranks > 1 and not pairs)
        if state == SLOW and "host memory" in run.facts:  # slow for GPUs, of which none takes part
            return "", ""
        return state, why + (_for_whom(run, form)[0] if one and state == FAST else "")
    if speed < UNSURE * least:
        return SLOW, "too little even for boxes with one card of 100 Gb/s"
    if pairs or waits(rich, form) > UNCLEAR:
        return "", ""
    if (full := filled(speed)) > UNKNOWN.card and form.best <= full:
        return FAST, f"what cards of {full / 1e9:g} GB/s a box give"
    more = 2 * CARD_SHARE if boxes > 2 else LEAST_OF_A_TREE
    ring = form.collective == "all-reduce" or any(row.in_place for row in run.rows)  # half a table may be all-to-all's
    between = any(total < speed < more * total for total in CARD_TOTALS if total < UNKNOWN.network / 2)
    if between and ring and form.settled == 1:
        return SLOW, "more than one usual total of a box's cards, and too little for the next"
    return "", ""


def _of_few(run: Run, speed: float, one: bool) -> tuple[str, str]:
    if (run.ranks == 2 or run.collective == "sendrecv") and run.boxes != 1:  # each has a card for itself
        most = 1.0 if "host memory" in run.facts else FULL_CARD  # a slot of PCIe 4.0 gives GPUs as much as the rest
        if POOREST_CARD < speed < SEND_SHARE * HALF_CARD:
            return SLOW, "more than a card of 100 Gb/s carries, and too little for one of 200 Gb/s"
        if SEND_SHARE * HALF_CARD <= speed <= most * HALF_CARD or speed >= SEND_SHARE * UNKNOWN.card:
            return FAST, "what a pair gets of a card of 200 Gb/s, or of 400 Gb/s and more"
        full = filled(speed, (*POOR_CARDS, HALF_CARD))
        if full and run.ranks == 2:
            return "", f"what one card of {full * 8 / 1e9:g} Gb/s gives"
    elif one and not run.gpu and speed >= SLOT_SHARE * UNKNOWN.pcie:
        return FAST, "enough for GPUs without links of their own, even in slots of PCIe 5.0"
    slot, what = OLDER_SLOT, "in slots of PCIe 4.0 or of a card of 100 Gb/s"
    if run.gpu and in_one_box(run):  # nobody knows its slot
        slot, what = FEW_LANES, "of four lanes of PCIe 4.0"
    return (SLOW, f"less than GPUs get {what}") if speed < UNSURE * SLOT_SHARE * slot else ("", "")


def machine_of(run: Run, hints: Hints) -> tuple[Machine | None, list[str]]:
    """The machine, or null where its GPU is not known, and what was assumed.

    Raises:
        ValueError: if the hints contradict each other or the log's ranks.

    >>> machine, assumed = machine_of(Run("columns", (), "all-reduce", 16, 2, 8, "NVIDIA H100 80GB HBM3"), Hints())
    >>> machine.name, machine.boxes, assumed
    ('H100', 2, ['assumed: 8 x 400 Gb/s cards a box'])
    """
    assumed: list[str] = []
    stated = ranks_of(run, hints)
    if run.ranks and stated and stated < run.ranks:
        raise ValueError(f"the log has {run.ranks} ranks, the machine that is told holds {stated}")
    if stated and hints.boxes and stated % hints.boxes:
        raise ValueError(f"{stated} ranks do not fill {hints.boxes} boxes")
    fewer = bool(run.ranks and stated and stated > run.ranks)
    if fewer:
        assumed.append(f"the log shows {run.ranks} ranks of the {stated} that are told")
    if hints.machine is not None:
        return _part_of(hints.machine, run), assumed
    kind, counted = by_gpu(hints.gpu or run.gpu), int(run.facts.get("cards", "0"))
    near = hints.gpus_per_box or run.gpus_per_box or 1
    if counted > near >= 4 and counted % near == 0:  # libfabric may list several domains of a card
        counted = near
    names = " ".join((*run.facts, *(run.facts.get(key, "") for key in ("network", "provider")))).lower()
    number = max((number or counted for name, number in TRANSPORTS.items() if name in names), default=0)
    if number and not hints.cards:
        hints = replace(hints, cards=(number, TRANSPORT_CARD))
        assumed.append(f"from the log: {number} cards of 200 Gb/s, by its transport")
    if kind is None and run.dialect == NEURON:
        return None, assumed
    if kind is None:
        if hints.gpu:
            assumed.append(f"GPU {shortened(hints.gpu)!r} is not known")
        if not hints.cards or (hints.boxes or run.boxes or (stated or 0) // UNKNOWN.gpus) < 2:
            return None, assumed
        kind = UNKNOWN
    gpus, ranks = _layout(run, hints, kind, assumed)
    if ranks % gpus:
        if hints.gpus_per_box:
            raise ValueError(f"{ranks} ranks do not fill boxes of {gpus} GPUs")
        return None, [f"{ranks} ranks do not fill boxes of {gpus} GPUs"]
    if hints.boxes and hints.boxes * gpus != ranks and not fewer:
        raise ValueError(f"{hints.boxes} boxes of {gpus} GPUs do not hold {ranks} ranks")
    part = gpus / kind.gpus if kind.modular else 1.0  # else a few GPUs may have all cards of a box
    machine = replace(kind, gpus=gpus, boxes=ranks // gpus, most_network=part * kind.most_network)
    machine = _with_cards(machine, run, hints, kind, assumed)
    return (_part_of(machine, run) if fewer else machine), assumed


def _layout(run: Run, hints: Hints, kind: Machine, assumed: list[str]) -> tuple[int, int]:
    """GPUs of a box, and ranks."""
    ranks, boxes, gpus = ranks_of(run, hints), hints.boxes, hints.gpus_per_box
    if kind.gpus <= LARGEST_HOST or boxes or gpus:
        boxes, gpus = boxes or run.boxes, gpus or run.gpus_per_box
    if ranks is None:
        ranks, near = (boxes * (gpus or kind.gpus) if boxes else gpus), gpus or max(2, kind.gpus)
        if not boxes and min(run.factors, default=0.0) > 1.01 * factor("all-reduce", near):
            ranks = near * max(2, MANY_RANKS // near)
            assumed.append(f"the printed busbw is of more than {near} ranks")
    if ranks is None:
        ranks = max(2, kind.gpus)
        assumed.append(f"assumed: {'one box' if kind.gpus > 1 else 'two boxes'} of {several(kind.gpus, 'GPU')}")
    if gpus is None:
        gpus = ranks // boxes if boxes and ranks % boxes == 0 else min(ranks, kind.gpus)
        if not boxes:
            assumed.append(f"assumed: boxes of {several(gpus, 'GPU')}")
    return gpus, ranks


def _with_cards(machine: Machine, run: Run, hints: Hints, kind: Machine, assumed: list[str]) -> Machine:
    """The cards by the options, or as the log counts them, or the usual ones."""
    if hints.cards:
        return replace(machine, cards=hints.cards[0], card=hints.cards[1], cards_known=True)
    if machine.boxes == 1:
        return machine
    if machine.gpus < kind.gpus and kind.cards > 1:
        part = machine.gpus / kind.gpus
        common = part * kind.common_network
        if not kind.modular:  # on such boards nobody knows
            common = machine.card if isinf(common) else max(machine.card, common)
        machine = replace(machine, cards=max(1, int(kind.cards * part)), common_network=common)
    counted, named = (int(run.facts.get(key, "0")) for key in ("cards", "named cards"))
    if "efa" in (run.facts.get("provider"), run.facts.get("FI_PROVIDER")) and kind.generation < 2:
        machine = replace(machine, cards=counted or (4 if kind.name == "A100" else 1), card=EFA_CARD)
    elif 0 < (fewer := counted if counted > 1 else named) < machine.cards - (machine.cards >= MANY_CARDS):
        machine = replace(machine, cards=fewer)  # one that the log counts is a finding, as is one that is missing
    whence = "from the log" if machine.cards in (counted, named) else "assumed"
    cards = f"{machine.cards} x {machine.card * 8 / 1e9:g} Gb/s card{'s' * (machine.cards > 1)} a box"
    assumed.append(f"{whence}: {cards}")
    return machine


def _part_of(machine: Machine, run: Run) -> Machine:
    """As much of a machine as the log's ranks fill, in boxes as the log has them, with the cards next to those GPUs.

    A pair of MPI's is on two hosts, if there are two.
    """
    ranks = run.ranks or machine.ranks
    shown = run.gpus_per_box if machine.gpus <= LARGEST_HOST and run.ranks else None
    apart = run.dialect in OF_MPI and run.collective == "sendrecv" and run.ranks == 2 and machine.boxes > 1
    gpus = shown or (1 if apart else min(ranks, machine.gpus))
    if gpus > machine.gpus or ranks % gpus:
        return machine
    return replace(machine, gpus=gpus, boxes=ranks // gpus, cards=max(1, machine.cards * gpus // machine.gpus))

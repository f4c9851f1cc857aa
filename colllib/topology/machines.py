"""Machines as their makers describe them: what a GPU's links and a box's cards carry, one way.

The table machines.csv is the one place for those figures. A rate is what the wire is sold as; what of it arrives
is an efficiency, which `colllib.measured.predict` fits to published measurements.
"""

from __future__ import annotations

import re
from csv import DictReader
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import cache
from importlib.resources import files
from itertools import combinations
from math import inf
from typing import Any

from colllib.units import BadText, parse, rate, shortened, whole

Bonds = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Machine:
    """A kind of box, and how many of them; rates in bytes per second, one way."""

    name: str  # of the GPU
    link: float  # of all links of a GPU to its peers; PCIe where there are no others
    pcie: float  # of a GPU's PCIe slot: 16 lanes of 8, 16 or 32 GT/s, less 128b/130b (PCI-SIG)
    generation: int  # NCCL's index of the architecture: 0 Volta and before, 1 Ampere, 2 Hopper, 3 Blackwell
    nvls: bool  # whether the switch adds
    gpus: int  # per box
    cards: int  # network cards per box
    card: float  # of one of them
    most_network: float  # of the richest set of cards of such a box
    source: str  # where the figures stand
    boxes: int = 1
    vendor: str = "nvidia"  # or amd
    cards_known: bool = False  # whether somebody told the cards, or they are the usual ones
    collnet: bool = False  # whether the network's switches add (SHARP), and NCCL may use them
    far: int = 0  # cards that no GPU reaches without crossing the processor, where that is known
    oversubscription: float = 1.0  # how many times too narrow the way out of a box is
    mesh: int = 0  # links of a GPU of which one leads to each peer
    bridge: float = 0.0  # of the NVLink bridge that is sold for pairs of such cards
    common_network: float = inf  # of the cards that boxes have as often as the usual ones, where that is less
    processor: str = "intel"  # amd or arm, of the vendor's own boxes where there are such; NCCL tells AMD's from others
    alpha: tuple[float, ...] = ()  # for schedules, of a step in a box and of one between boxes, where a file tells them
    rails: int = 0  # for schedules, on which the cards are, where that is told
    dies: bool = False  # whether each is a die of an MI250X, whose links to others differ
    bonds: Bonds = ()  # links between every two GPUs of a box, where they differ from pair to pair

    @property
    def ranks(self) -> int:
        """One for each GPU."""
        return self.boxes * self.gpus

    @property
    def rate(self) -> float:
        """What oversubscription leaves of a card, one way, in bytes per second."""
        return self.card / self.oversubscription

    @property
    def one_card(self) -> Machine:
        """The same where one card of a box sends, through links up as wide as before."""
        return self._with_cards(1)

    @property
    def one_sender(self) -> Machine:
        """The same where one GPU of a box sends: over its cards, where it has several."""
        return self._with_cards(max(1, self.cards // self.gpus))

    def _with_cards(self, cards: int) -> Machine:
        return replace(self, cards=cards, oversubscription=max(1.0, self.oversubscription * cards / self.cards))

    @property
    def behind_slots(self) -> Machine:
        """The same with cards that carry no more than the slots of all GPUs send, and links up as wide as before."""
        card = min(self.card, self.gpus * self.slot / self.cards)
        return replace(self, card=card, oversubscription=max(1.0, self.oversubscription * card / self.card))

    @property
    def network(self) -> float:
        """What the way out of a box carries, one way, in bytes per second: its cards, behind its GPUs' slots."""
        return min(self.cards * self.rate, self.gpus * self.slot)

    @property
    def modular(self) -> bool:
        """Whether each GPU brings cards of its own, as on a Grace: so many of them have so many."""
        return self.processor == "arm"

    @property
    def slots_bind(self) -> bool:
        """Whether the GPUs' PCIe slots carry less than the cards: one GPU cannot fill four cards."""
        return self.gpus * self.slot < self.cards * self.rate

    @property
    def slot(self) -> float:
        """What a GPU sends to its cards, one way, in bytes per second: past its slot on a Grace (C2C, as NVLink)."""
        return self.link if self.linked and self.modular else self.pcie

    def reach(self, collective: str = "") -> float:
        """What of its links a GPU can use in its box, one way, in bytes per second: in a mesh those to peers."""
        if self.dies:
            ring, all_to_all = DIES.get(self.gpus, (1 / 2, 1 / 2))
            one = 1 if self.gpus == 2 else 1 / 4
            return self.link * {"all-to-all": all_to_all, "sendrecv": one}.get(collective, ring)
        if self.uneven:
            each = sum(self.bonds[0])
            links = {"all-to-all": narrowest(self.bonds), "sendrecv": max(map(max, self.bonds))}
            return self.link * links.get(collective, each) / each
        if not self.mesh:
            return self.link
        return self.link / self.mesh * (1 if collective == "sendrecv" else max(1, min(self.mesh, self.gpus - 1)))

    @property
    def inner(self) -> str:
        """What joins the GPUs of a box."""
        return ("NVLink" if self.vendor == "nvidia" else "Infinity Fabric") if self.linked else "PCIe"

    @property
    def joined(self) -> tuple[str, float]:
        """How the GPUs of a box are joined for schedules, and the bytes per second of a port or link, one way."""
        if 1 < self.gpus <= self.mesh + 1:
            return "full-mesh", self.link / self.mesh
        return "switch", self.reach("sendrecv") if self.dies else self.link  # of dies, the slowest link's

    @property
    def uneven(self) -> bool:
        """Whether all GPUs of a box take part, and have links of their own to some others and more than to the rest."""
        return self.linked and len(self.bonds) == self.gpus

    @property
    def note(self) -> str:
        """What the model leaves out of such a box."""
        if not self.linked or not 1 < self.gpus <= len(self.bonds):
            return ""
        if self.uneven:
            return (
                "over several boxes and in steps of training its NVLinks, which differ by the pair, stand as one port"
            )
        return "its NVLinks stand as one port, though some lead to GPUs that take no part"

    @property
    def ratio(self) -> Fraction:
        """The oversubscription."""
        return Fraction(self.oversubscription).limit_denominator(1000)

    @property
    def linked(self) -> bool:
        """Whether GPUs have links of their own, not PCIe alone."""
        return self.link > self.pcie


#: Of the four links between two dies of an MI250X, what a ring over so many dies of a box has, the first ones, and an
#: all-to-all by the narrowest cut.
DIES = {2: (1.0, 1.0), 3: (1 / 4, 1 / 4), 4: (1 / 2, 3 / 8), 5: (1 / 2, 1 / 3), 6: (1 / 2, 15 / 32), 8: (1.0, 21 / 32)}


@cache
def narrowest(bonds: Bonds) -> float:
    """Of a GPU's links, what an all-to-all has by the narrowest cut: k (n - k) nths of M cross it, busbw counts n - 1.

    >>> narrowest(((0, 2, 1), (2, 0, 0), (1, 0, 0)))
    1.0
    """
    n = len(bonds)
    sides = (side for k in range(1, n // 2 + 1) for side in combinations(range(n), k))
    cuts = ((len(side), sum(bonds[a][b] for a in side for b in range(n) if b not in side)) for side in sides)
    return min(links * (n - 1) / (k * (n - k)) for k, links in cuts)


def _bonds(text: str | None) -> Bonds:
    return tuple(tuple(map(int, row)) for row in (text or "").split())


# what is empty is false
_TYPES: dict[str, Any] = {"str": str, "int": int, "float": float, "bool": bool, "Bonds": _bonds}
_ROWS = list(DictReader((files("colllib") / "topology" / "machines.csv").read_text(encoding="utf-8").splitlines()))
#: GPUs by the patterns of the names that drivers and people use, more special ones first.
_KINDS = {
    row["pattern"]: Machine(**{f.name: _TYPES[str(f.type)](row[f.name]) for f in fields(Machine) if f.name in row})
    for row in _ROWS
}
GPUS = tuple(machine.name for machine in _KINDS.values())

#: (pattern, preset or nothing) of each of them.
PATTERNS = tuple((row["pattern"], row["preset"]) for row in _ROWS)

#: Where nobody knows the GPU: links and slots that leave the binding to the cards.
UNKNOWN = replace(_KINDS[r"\bb200\b"], name="GPU", generation=1, nvls=False, source="the cards that are told")

#: Boxes by the names of the command line.
PRESETS = {row["preset"]: _KINDS[row["pattern"]] for row in _ROWS if row["preset"]}

#: Instances of a cloud, by the GPU and what differs from its usual box.
# Source: https://docs.aws.amazon.com/ec2/latest/instancetypes/ac.html
INSTANCES = {
    "p4d": ("a100", "cards=4,card=100Gb/s,processor=intel"),
    "p5": ("h100", "cards=32,card=100Gb/s,processor=amd"),
    "p5en": ("h200", "cards=16,card=200Gb/s"),
}

#: What `with_options` takes.
OPTIONS = (
    "boxes=2, gpus=8, cards=4, card=400Gb/s, link=450GB/s, pcie=16GB/s, oversubscription=2, collnet=true, "
    "processor=amd or without=card 11"
)

LEAF = 32  # boxes that a leaf of a rail joins in examples
_LOST = "one card of one box may be missing, as in without=card 11; for all else that fails: colllib ladder"


def by_gpu(name: str) -> Machine | None:
    """The usual box of a GPU, by a name that a driver or a person gives it, or nothing.

    >>> by_gpu("NVIDIA H100 80GB HBM3").link / 1e9, by_gpu("Tesla K80").name, by_gpu("unheard of")
    (450.0, 'K80', None)
    """
    spoken = re.sub("[-_]", " ", name.lower())
    machine = next((kind for pattern, kind in _KINDS.items() if re.search(rf"(?:{pattern})(?!\d)", spoken)), None)
    if machine is None or (machine.linked and machine.vendor == "nvidia"):
        return machine
    plain = re.sub(r"^((nvidia|tesla|geforce|amd|instinct) )+", "", name, flags=re.IGNORECASE)  # of many of a kind
    plain = re.sub(r"^([rg]tx)(?=\d)", r"\1 ", plain, flags=re.IGNORECASE)
    plain = plain.upper() if plain.islower() else plain
    like = "" if re.search(rf"{re.escape(machine.name)}\b", plain, re.IGNORECASE) else f"; {plain} is taken for it"
    return replace(machine, name=plain, source=machine.source + like)


def named(name: str) -> Machine | None:
    """One box of a preset, of an instance of AWS or of a GPU, by the name in an expression, or nothing.

    >>> named("p5.48xlarge").network / 1e9, named("star")
    (400.0, None)
    """
    if instance := INSTANCES.get(re.sub(r"\.\d+xlarge$", "", name.lower())):
        machine = by_gpu(instance[0])
        assert machine is not None
        return replace(changed(machine, instance[1]), source=f"{machine.source}; its cards: AWS, {name}")
    return PRESETS.get(name.lower()) or (by_gpu(name) if re.fullmatch(r"[\w -]*", name) else None)


def find(expression: str) -> Machine:
    """The machine that an expression names: a preset or a GPU, its boxes behind a colon, what differs behind commas.

    Raises:
        BadText: for an unknown name or option, a value that cannot be, or boxes on PCIe whose cards nobody told.

    >>> machine = find("dgx-h100:2,cards=4,card=200Gbit/s")
    >>> machine.ranks, machine.network / 1e9
    (16, 100.0)
    >>> find("l40s:1").inner
    'PCIe'
    """
    head, comma, options = expression.strip().partition(",")
    name, colon, count = head.partition(":")
    kind = named(name)
    if kind is None:
        raise BadText(
            f"unknown machine {shortened(expression)!r}: known are {', '.join(f'{p}:2' for p in PRESETS)}, "
            f"an instance ({', '.join(INSTANCES)}), a GPU such as h20:2 or l40s:1, or a cluster file (.toml)"
        )
    machine = replace(kind, boxes=positive("boxes", count if colon else "1"), cards_known=True)
    if comma:
        machine = changed(machine, options)
    if colon and re.search(r"\bboxes=", options):
        raise BadText(f"machine {shortened(expression)!r}: its boxes are given twice")
    if kind.gpus > 1 and not kind.linked:
        check_cards(machine, expression)
    return machine


def check_cards(machine: Machine, expression: str) -> None:
    """Refuse several boxes without usual cards whose cards the expression does not say.

    Raises:
        BadText: naming the options that say them.
    """
    if machine.boxes > 1 and "card=" not in expression:
        raise BadText(f"machine {shortened(expression)!r}: such boxes have no usual cards: say cards=2,card=100Gb/s")


def changed(machine: Machine, options: str) -> Machine:
    """The same machine but for some options, such as "boxes=8,card=200Gbit/s" (see `with_options`).

    >>> [changed(find("dgx-h100:2"), options).network / 1e9 for options in ("boxes=8,oversubscription=2", "gpus=4")]
    [200.0, 200.0]
    """
    values: dict[str, str] = {}
    for option in options.split(","):
        key, _, value = option.partition("=")
        if key in values:
            raise BadText(f"machine option {shortened(option)!r}: {key} is given twice")
        values[key] = value
    return with_options(machine, values)


def with_options(machine: Machine, options: dict[str, str]) -> Machine:
    """The same machine but for some options; with another number of GPUs no more cards, unless their number is given.

    Where one box lacks a card, all lack one: NCCL gives every box as many channels as the box with the fewest has (its
    src/init.cc, from the graphs that ranks gather).

    The slots of GPUs without links of their own are their links.

    Raises:
        BadText: for an option that is unknown, or whose value cannot be; for links that carry less than the slot.

    >>> with_options(find("rtx3090:1"), {"pcie": "8GB/s"}).link / 1e9
    8.0
    """
    changes, each = {key: _parsed(key, value) for key, value in options.items()}, machine.cards // machine.gpus
    if "pcie" in changes and not machine.linked:
        changes.setdefault("link", changes["pcie"])
    lost = changes.pop("without", None)
    machine = replace(machine, **changes, cards_known=machine.cards_known or "card" in options)
    if machine.link < machine.pcie:
        raise BadText(
            f"links of {rate(machine.link)} beside a PCIe slot of {rate(machine.pcie)}: tell the slot as in pcie=6GB/s"
        )
    if "gpus" in options and "cards" not in options:
        machine = replace(
            machine, cards=each * machine.gpus if machine.modular else min(machine.cards, max(1, each) * machine.gpus)
        )
    if lost is None:
        return machine
    if machine.cards == 1 or lost >= machine.boxes * machine.cards:
        raise BadText(f"without card {lost}: there are {machine.boxes} x {machine.cards} cards, one of which must stay")
    return replace(machine, cards=machine.cards - 1)


def on_rails(machine: Machine) -> str:
    """What to do instead of a prediction on a machine's rails."""
    if machine.boxes <= LEAF:
        return f"up to {LEAF} boxes have one leaf for a rail, and no spine: leave rails and oversubscription out"
    machine = machine.behind_slots
    inside, link = machine.joined
    near, far = (rate(speed).replace(" ", "") for speed in (link, machine.card * machine.cards / machine.gpus))
    others = f",inside={inside}" * (inside != "switch") + f",oversubscription={machine.ratio}" * (machine.ratio > 1)
    leaves = -(-machine.boxes // LEAF)
    each = -(-machine.boxes // leaves)
    rails = machine.rails if machine.rails > 1 and machine.gpus % machine.rails == 0 else machine.gpus
    return (
        "NCCL's rings and trees stay on their rail, and few of their steps lead from one leaf of it to the next: leave "
        f"rails and oversubscription out. For an all-to-all, on {leaves} leaves of {each} boxes: colllib ladder "
        f"all-to-all --on boxes:{leaves}x{each}x{machine.gpus},rails={rails}{others} "
        f"--alpha 0.6us{',2.7us' * (2 + (rails > 1))} --bandwidth {near}{f',{far}' * (2 + (rails > 1))}"
    )


def _parsed(key: str, value: str) -> Any:
    if key in ("boxes", "gpus", "cards", "rails"):
        return positive(key, value)
    if key in ("card", "link", "pcie"):
        return parse("bandwidth", value)
    if key == "oversubscription":
        ratio = Fraction(value) if re.fullmatch(r"\d{1,4}(\.\d{1,3}|/[1-9]\d{0,3})?", value, re.ASCII) else 0
        if not 1 <= ratio <= 1000:
            raise BadText(f"oversubscription {shortened(value)!r}: must be 1 to 1000, as 2 for 2 to 1")
        return float(ratio)
    if key == "collnet" and value in ("true", "false"):
        return value == "true"
    if key == "processor" and value in ("amd", "intel", "arm"):
        return value
    if key == "without" and re.fullmatch(r"card \d{1,9}", value, re.ASCII):
        return int(value.removeprefix("card "))
    hint = _LOST if key == "without" else f"take {OPTIONS}"
    raise BadText(f"machine option {shortened(f'{key}={value}'.rstrip('='))!r}: {hint}")


def positive(what: str, text: str) -> int:
    """A number of boxes, GPUs or cards.

    Raises:
        BadText: if it is none, or not 1 to 1,000,000.
    """
    number = whole(what, text, f"{what}=2")
    if not 1 <= number <= 1_000_000:
        raise BadText(f"{what} {number}: must be 1 to 1,000,000")
    return number


def cards(text: str) -> tuple[int, float]:
    """Number and rate of a box's cards, from text such as "8x400Gb/s".

    Raises:
        BadText: if it cannot be read.

    >>> cards("8x400Gb/s"), cards("2x25GB/s")
    ((8, 50000000000.0), (2, 25000000000.0))
    """
    count, x, speed = text.strip().rpartition("x")
    speed = re.sub(r"(?<=[KMGT])(b(it)?)?$", "b/s", speed)  # as in 8x400G
    try:
        return positive("cards", count if x else "1"), parse("bandwidth", speed)
    except BadText:
        raise BadText(f"cards {shortened(text)!r}: write them as 8x400Gb/s") from None

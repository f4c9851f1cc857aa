"""Machines as their makers describe them: what a GPU's links and a box's cards carry, one way.

This table is the one place for those figures. A rate is what the wire is sold as; what of it arrives
is an efficiency, which `colllib.measured.predict` fits to published measurements.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from math import inf
from typing import Any

from colllib.topology.presets import PRESETS as TOPOLOGIES
from colllib.units import parse, shortened, whole


@dataclass(frozen=True)
class Machine:
    """A kind of box, and how many of them.

    Args:
        name: the GPU.
        link: bytes per second of all links of a GPU to its peers, one way; PCIe where there are no others.
        pcie: bytes per second of a GPU's PCIe slot, one way.
        generation: NCCL's index of the architecture: 0 Volta and before, 1 Ampere, 2 Hopper, 3 Blackwell.
        nvls: whether the switch adds.
        gpus: GPUs per box that are usual.
        cards: network cards per box that are usual; least and most are what a box is taken for where nobody tells it.
        card: bytes per second of one, one way, likewise.
        source: where the figures stand.
        boxes: how many.
        vendor: nvidia or amd.
        cards_known: whether somebody told the cards, or they are the usual ones.
        collnet: whether the network's switches add (SHARP), and NCCL may use them.
        far: cards that no GPU reaches without crossing the processor, where that is known.
        oversubscription: how many times too narrow the way out of a box is.
        mesh: links of a GPU of which one leads to each peer, or 0.
        bridge: bytes per second, one way, of the NVLink bridge that is sold for pairs of such cards, or 0.
        common_network: bytes per second of the cards that boxes have as often as the usual ones, where that is less.
    """

    name: str
    link: float
    pcie: float
    generation: int
    nvls: bool
    gpus: int
    cards: int
    card: float
    least_network: float
    most_network: float
    source: str
    boxes: int = 1
    vendor: str = "nvidia"
    cards_known: bool = False
    collnet: bool = False
    far: int = 0
    oversubscription: float = 1.0
    mesh: int = 0
    bridge: float = 0.0
    common_network: float = inf

    @property
    def ranks(self) -> int:
        """One for each GPU."""
        return self.boxes * self.gpus

    @property
    def network(self) -> float:
        """What the way out of a box carries, one way, in bytes per second: its cards, behind its GPUs' slots."""
        return min(self.cards * self.rate, self.gpus * self.pcie)

    @property
    def rate(self) -> float:
        """What oversubscription leaves of a card, one way, in bytes per second."""
        return self.card / self.oversubscription

    @property
    def slots_bind(self) -> bool:
        """Whether the GPUs' PCIe slots carry less than the cards: one GPU cannot fill four cards."""
        return self.gpus * self.pcie < self.cards * self.rate

    def reach(self, collective: str = "") -> float:
        """What of its links a GPU can use in its box, one way, in bytes per second: in a mesh those to peers."""
        if not self.mesh:
            return self.link
        return self.link / self.mesh * (1 if collective == "sendrecv" else max(1, min(self.mesh, self.gpus - 1)))

    @property
    def inner(self) -> str:
        """What joins the GPUs of a box."""
        return ("NVLink" if self.vendor == "nvidia" else "Infinity Fabric") if self.linked else "PCIe"

    @property
    def linked(self) -> bool:
        """Whether GPUs have links of their own, not PCIe alone."""
        return self.link > self.pcie


_GEN3, _GEN4, _GEN5 = 15.75e9, 31.5e9, 63e9  # x16 one way: PCI-SIG, 8, 16 and 32 GT/s with 128b/130b
_SHEET = "data sheet of "


def _nvlink(
    name: str, speeds: str | tuple[float, float], pcie: float, generation: int, gpus: int, most: float
) -> Machine:
    """Link and card, or the preset of a topology that has them."""
    link, card = TOPOLOGIES[speeds].bandwidth if isinstance(speeds, str) else speeds
    source = f"NVIDIA, {_SHEET}{name} and of its DGX"
    least = min(most, gpus * 50e9) if generation > 1 else most / 8  # 400 Gbit/s for each GPU; before, 1 x 100 or 200
    return Machine(name, link, pcie, generation, generation > 1, gpus, 8, card, least, most, source)


def _fabric(name: str, preset: str, links: int, source: str) -> Machine:
    """A topology's preset has the links of Infinity Fabric one by one, and 4 cards where there are few links."""
    link, card = TOPOLOGIES[preset].bandwidth
    pcie, generation, cards = (_GEN5, 2, 8) if links == 7 else (_GEN4, 1, 4)
    made = Machine(name, links * link, pcie, generation, False, 8, cards, card, 12.5e9, cards * card, f"AMD, {source}")
    return replace(made, vendor="amd", mesh=7 if links == 7 else 0)


def _slot(name: str, pcie: float, generation: int, bridge: float = 0.0) -> Machine:
    source = f"NVIDIA, {_SHEET}{name}"
    return Machine(name, pcie, pcie, generation, False, 8, 1, 12.5e9, 1.25e9, 400e9, source, bridge=bridge)


_MI300A = "CDNA 3 white paper: two Infinity Fabric links of 64 GB/s one way to each of 3 peers"

#: GPUs by the patterns of the names that drivers and people use, more special ones first.
_KINDS: tuple[tuple[str, Machine], ...] = (
    (r"gb[23]00|nvl72", replace(_nvlink("GB200 NVL72", "nvl72", _GEN5, 3, 72, 7.2e12), cards=72)),
    (r"\bb300\b", replace(_nvlink("B300", "b200", 2 * _GEN5, 3, 8, 800e9), card=100e9)),
    (r"\bb200\b", _nvlink("B200", "b200", _GEN5, 3, 8, 800e9)),
    (r"gh200 nvl32", replace(_nvlink("GH200 NVL32", "gh200", _GEN5, 2, 32, 1.6e12), cards=32)),
    (r"gh200", replace(_nvlink("GH200", (450e9, 25e9), _GEN5, 2, 1, 100e9), cards=1)),
    (r"gb10\b", replace(_slot("GB10", _GEN5, 3), gpus=1, card=25e9, least_network=25e9)),
    (r"h[12]00.*(pcie|nvl\b)", _slot("H100 PCIe", _GEN5, 2, bridge=300e9)),
    (r"h20\b", _nvlink("H20", "dgx-h100", _GEN5, 2, 8, 400e9)),
    (r"h800", _nvlink("H800", (200e9, 50e9), _GEN5, 2, 8, 400e9)),
    (r"h200", _nvlink("H200", "dgx-h200", _GEN5, 2, 8, 400e9)),
    (r"h100", _nvlink("H100", "dgx-h100", _GEN5, 2, 8, 400e9)),
    (r"a100.*pcie", _slot("A100 PCIe", _GEN4, 1, bridge=300e9)),
    (r"a800", _nvlink("A800", (200e9, 25e9), _GEN4, 1, 8, 200e9)),
    (r"a100", replace(_nvlink("A100", "dgx-a100", _GEN4, 1, 8, 200e9), common_network=100e9)),
    (r"v100.*pcie", _slot("V100 PCIe", _GEN3, 0)),
    (r"v100", replace(_nvlink("V100", (150e9, 12.5e9), _GEN3, 0, 8, 100e9), cards=4, common_network=12.5e9)),
    (r"p100.*pcie", _slot("P100 PCIe", _GEN3, 0)),
    (r"p100", replace(_nvlink("P100", (80e9, 12.5e9), _GEN3, 0, 8, 50e9), cards=4, least_network=1.25e9)),
    (r"rtx pro|rtx 50[0-9]0|5090|6000d", _slot("RTX PRO 6000", _GEN5, 3)),
    (r"l4\b", _slot("L4", _GEN4 / 2, 1)),
    (r"l40|l20|rtx 40[0-9]0|4090|6000 ada|ada gen", _slot("L40S", _GEN4, 1)),
    (r"\ba(10g?|2|16|30|40)\b|a[456]000|rtx 30[0-9]0|3090", _slot("A40", _GEN4, 1, bridge=56.25e9)),
    (r"2080 ti|titan rtx|quadro rtx", _slot("Quadro RTX 8000", _GEN3, 0, bridge=50e9)),
    (r"\bt4\b|2080|p4\b|p40|1080|titan|quadro|rtx [5-8]000|k80|m40|m60", _slot("T4", _GEN3, 0)),
    (r"mi300a", replace(_fabric("MI300A", "mi300x", 3, _MI300A), link=384e9, pcie=_GEN5, card=25e9, mesh=3, gpus=4)),
    (r"mi3", _fabric("MI300X", "mi300x", 7, "CDNA 3 white paper: 7 Infinity Fabric links of 64 GB/s one way")),
    (r"mi2[15]0", _fabric("MI250X", "mi250x", 3, "CDNA 2 white paper: 3 Infinity Fabric links of 50 GB/s leave a die")),
    (
        r"mi(50|60|100)|vega|radeon (?!graphics)|rx ?[67]\d|w[67]\d00",
        replace(_slot("MI100", _GEN4, 0), vendor="amd", source="AMD, data sheet of Instinct MI100, without its bridge"),
    ),
)

#: Where nobody knows the GPU: links and slots that leave the binding to the cards.
UNKNOWN = replace(_nvlink("GPU", "b200", _GEN5, 1, 8, 800e9), source="the cards that are told")

#: Presets by the names of the command line.
PRESETS = {name: name for name in ("dgx-v100", "dgx-a100", "dgx-h100", "dgx-h200", "b200", "nvl72", "mi250x", "mi300x")}
PRESETS["gh200"] = "gh200 nvl32"


def by_gpu(name: str) -> Machine | None:
    """The usual box of a GPU, by a name that a driver or a person gives it, or nothing.

    >>> by_gpu("NVIDIA H100 80GB HBM3").link / 1e9, by_gpu("Tesla K80").name, by_gpu("unheard of")
    (450.0, 'K80', None)
    """
    lowered = name.lower()
    machine = next((machine for pattern, machine in _KINDS if re.search(pattern, lowered)), None)
    if machine is None or (machine.linked and machine.vendor == "nvidia"):
        return machine
    plain = re.sub(r"^((nvidia|tesla|geforce|amd|instinct) )+", "", name, flags=re.IGNORECASE)  # of many of a kind
    return replace(machine, name=plain.upper() if plain.islower() else plain)


def find(expression: str) -> Machine:
    """The machine that an expression such as "dgx-h100:2,cards=4,card=400Gbit/s" names.

    Args:
        expression: a preset, its boxes behind a colon, and behind commas what differs from it (see `changed`).

    Raises:
        ValueError: for an unknown preset or option, or a value that cannot be.

    >>> found = find("dgx-h100:2,cards=4")
    >>> found.ranks, found.network / 1e9
    (16, 200.0)
    """
    head, *options = expression.strip().split(",")
    name, colon, count = head.partition(":")
    kind = by_gpu(PRESETS[name]) if name in PRESETS else None
    if kind is None:
        raise ValueError(f"unknown machine {shortened(expression)!r}: known are {', '.join(f'{p}:n' for p in PRESETS)}")
    return changed(replace(kind, boxes=positive("boxes", count if colon else "1"), cards_known=True), ",".join(options))


def changed(machine: Machine, options: str) -> Machine:
    """The same machine but for some options, such as "cards=4,card=200Gbit/s".

    Raises:
        ValueError: for an unknown option, or a value that cannot be.

    >>> changed(find("dgx-h100:2"), "boxes=8,oversubscription=2").network / 1e9
    200.0
    """
    for option in filter(None, options.split(",")):
        key, _, value = option.partition("=")
        machine = with_option(machine, key, value)
    return machine


def with_option(machine: Machine, key: str, value: str) -> Machine:
    """The same machine but for one option; raises a ValueError if it is unknown, or its value cannot be."""
    if key in ("boxes", "gpus", "cards"):
        stated: Any = positive(key, value)
    elif key in ("card", "link"):
        stated = parse("bandwidth", value)
    elif key == "oversubscription":
        if not re.fullmatch(r"\d{1,4}(\.\d{1,3})?", value, re.ASCII) or not 1 <= float(value) <= 1000:
            raise ValueError(f"oversubscription {shortened(value)!r}: must be 1 to 1000")
        stated = float(value)
    elif (key, value) == ("collnet", "true"):
        stated = True
    else:
        known = "boxes=2, gpus=8, cards=4, card=400Gbit/s, link=450GB/s, oversubscription=2 or collnet=true"
        raise ValueError(f"machine option {shortened(f'{key}={value}')!r}: take {known}")
    return replace(machine, **{key: stated})


def positive(what: str, text: str) -> int:
    """A number of boxes, GPUs or cards.

    Raises:
        ValueError: if it is none, or not 1 to 1,000,000.
    """
    number = whole(what, text, f"{what}=2")
    if not 1 <= number <= 1_000_000:
        raise ValueError(f"{what} {number}: must be 1 to 1,000,000")
    return number


def cards(text: str) -> tuple[int, float]:
    """Number and rate of a box's cards, from text such as "8x400Gb/s".

    Raises:
        ValueError: if it cannot be read.

    >>> cards("8x400Gb/s"), cards("2x25GB/s")
    ((8, 50000000000.0), (2, 25000000000.0))
    """
    count, x, rate = text.strip().partition("x")
    if not x:
        count, rate = "1", text.strip()
    rate = re.sub(r"(?<=[KMGT])b(?:it)?(?:ps|/s)?$|(?<=[KMGT])$", "bit/s", rate)
    rate = re.sub(r"Bps$", "B/s", rate)
    try:
        return positive("cards", count), parse("bandwidth", rate)
    except ValueError:
        raise ValueError(f"cards {shortened(text)!r}: write them as 8x400Gb/s") from None

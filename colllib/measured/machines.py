"""Machines as their makers describe them: what a GPU's links and a box's cards carry, one way.

This table is the one place for those figures. A rate is what the wire is sold as; what of it arrives
is an efficiency, which `colllib.measured.predict` fits to published measurements.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from colllib.units import parse, shortened, whole


@dataclass(frozen=True)
class Machine:
    """A kind of box, and how many of them.

    Args:
        name: the GPU.
        link: bytes per second of all links of a GPU to its peers, one way; PCIe where there are no others.
        switched: whether every GPU reaches every other at the full link (NVSwitch, or full-mesh Infinity Fabric).
        pcie: bytes per second of a GPU's PCIe slot, one way.
        generation: NCCL's index of the architecture: 0 Volta and before, 1 Ampere, 2 Hopper, 3 Blackwell.
        nvls: whether the switch adds.
        gpus: GPUs per box that are usual.
        cards: network cards per box that are usual, and the fewest and most that are sold.
        card: bytes per second of one, one way, likewise.
        source: where the figures stand.
        boxes: how many.
        vendor: nvidia or amd.
        cards_known: whether somebody told the cards, or they are the usual ones.
        collnet: whether the network's switches add (SHARP), and NCCL may use them.
        far: cards that no GPU reaches without crossing the processor, where that is known.
    """

    name: str
    link: float
    switched: bool
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

    @property
    def ranks(self) -> int:
        """One for each GPU."""
        return self.boxes * self.gpus

    @property
    def network(self) -> float:
        """What all cards of a box carry, one way, in bytes per second."""
        return self.cards * self.card

    @property
    def linked(self) -> bool:
        """Whether GPUs have links of their own, not PCIe alone."""
        return self.link > self.pcie


_GEN3, _GEN4, _GEN5 = 15.75e9, 31.5e9, 63e9  # x16 one way: PCI-SIG, 8, 16 and 32 GT/s with 128b/130b
_SHEET = "data sheet of "


def _nvlink(name: str, link: float, pcie: float, generation: int, gpus: int, card: float, most: float) -> Machine:
    switched, nvls = generation > 0, generation > 1
    source = f"NVIDIA, {_SHEET}{name} and of its DGX"
    least = most / 8 if generation == 1 else most / 4  # the leanest clouds: 2 x 100 Gbit/s, 4 x 200 Gbit/s
    return Machine(name, link, switched, pcie, generation, nvls, gpus, 8, card, least, most, source)


def _slot(name: str, pcie: float, generation: int, link: float = 0) -> Machine:
    source = f"NVIDIA, {_SHEET}{name}"
    return Machine(name, max(link, pcie), False, pcie, generation, False, 8, 1, 12.5e9, 1.25e9, 400e9, source)


#: GPUs by the patterns of the names that drivers and people use, more special ones first.
_KINDS: tuple[tuple[str, Machine], ...] = (
    (r"gb[23]00|nvl72", replace(_nvlink("GB200 NVL72", 900e9, _GEN5, 3, 72, 50e9, 7.2e12), cards=72)),
    (r"\bb[23]00\b", _nvlink("B200", 900e9, _GEN5, 3, 8, 50e9, 800e9)),
    (r"gh200 nvl32", replace(_nvlink("GH200 NVL32", 450e9, _GEN5, 2, 32, 50e9, 1.6e12), cards=32)),
    (r"gh200", replace(_nvlink("GH200", 450e9, _GEN5, 2, 1, 25e9, 100e9), cards=1)),
    (r"h100.*(pcie|nvl\b)", _slot("H100 PCIe", _GEN5, 2)),
    (r"h20\b", _nvlink("H20", 450e9, _GEN5, 2, 8, 50e9, 400e9)),
    (r"h800", _nvlink("H800", 200e9, _GEN5, 2, 8, 50e9, 400e9)),
    (r"h200", _nvlink("H200", 450e9, _GEN5, 2, 8, 50e9, 400e9)),
    (r"h100", _nvlink("H100", 450e9, _GEN5, 2, 8, 50e9, 400e9)),
    (r"a100.*pcie", _slot("A100 PCIe", _GEN4, 1)),
    (r"a800", _nvlink("A800", 200e9, _GEN4, 1, 8, 25e9, 200e9)),
    (r"a100", _nvlink("A100", 300e9, _GEN4, 1, 8, 25e9, 200e9)),
    (r"v100.*pcie", _slot("V100 PCIe", _GEN3, 0)),
    (r"v100", replace(_nvlink("V100", 150e9, _GEN3, 0, 8, 12.5e9, 100e9), cards=4, least_network=1.25e9)),
    (r"p100.*pcie", _slot("P100 PCIe", _GEN3, 0)),
    (r"p100", replace(_nvlink("P100", 80e9, _GEN3, 0, 8, 12.5e9, 50e9), cards=4, least_network=1.25e9)),
    (r"rtx pro|rtx 50[0-9]0|5090", _slot("RTX PRO 6000", _GEN5, 3)),
    (r"l4\b", _slot("L4", _GEN4 / 2, 1)),
    (r"l40|l20|rtx 40[0-9]0|4090|6000 ada|ada gen", _slot("L40S", _GEN4, 1)),
    (r"\ba(10g?|2|16|30|40)\b|a[456]000|rtx 30[0-9]0|3090", _slot("A40", _GEN4, 1)),
    (r"\bt4\b|2080|p4\b|p40|1080|titan|quadro|rtx [5-8]000|k80|m40|m60", _slot("T4", _GEN3, 0)),
    (
        r"mi3[025]5?0?[ax]\b|mi3",
        Machine(
            *("MI300X", 448e9, True, _GEN5, 2, False, 8, 8, 50e9, 12.5e9, 400e9),
            source="AMD, CDNA 3 white paper: 7 Infinity Fabric links of 64 GB/s one way",
            vendor="amd",
        ),
    ),
    (
        r"mi2[15]0x?|mi250",
        Machine(
            *("MI250X", 150e9, False, _GEN4, 1, False, 8, 4, 25e9, 12.5e9, 100e9),
            source="AMD, CDNA 2 white paper: 3 Infinity Fabric links of 50 GB/s one way leave a die's package",
            vendor="amd",
        ),
    ),
    (
        r"mi(50|60|100)|vega|radeon|rx ?[67]\d|w[67]\d00",
        Machine(
            *("MI100", _GEN4, False, _GEN4, 0, False, 8, 1, 12.5e9, 1.25e9, 400e9),
            source="AMD, data sheet of Instinct MI100, without its bridge",
            vendor="amd",
        ),
    ),
)

#: Presets by the names of the command line.
PRESETS = {
    "dgx-v100": "v100",
    "dgx-a100": "a100",
    "dgx-h100": "h100",
    "dgx-h200": "h200",
    "b200": "b200",
    "nvl72": "nvl72",
    "mi250x": "mi250x",
    "mi300x": "mi300x",
    "gh200": "gh200 nvl32",
}


def by_gpu(name: str) -> Machine | None:
    """The usual box of a GPU, by a name that a driver or a person gives it, or nothing.

    >>> by_gpu("NVIDIA H100 80GB HBM3").link / 1e9, by_gpu("unheard of")
    (450.0, None)
    """
    lowered = name.lower()
    return next((machine for pattern, machine in _KINDS if re.search(pattern, lowered)), None)


def find(expression: str) -> Machine:
    """The machine that an expression such as "dgx-h100:2,cards=4,card=400Gbit/s" names.

    Args:
        expression: a preset, the number of boxes behind a colon, and cards=, card=, gpus=, collnet=true behind commas.

    Raises:
        ValueError: for an unknown preset or option, or a value that cannot be.

    >>> found = find("dgx-h100:2,cards=4")
    >>> found.ranks, found.network / 1e9
    (16, 200.0)
    """
    head, *options = expression.strip().split(",")
    name, _, count = head.partition(":")
    kind = by_gpu(PRESETS[name]) if name in PRESETS else None
    if kind is None:
        raise ValueError(f"unknown machine {shortened(expression)!r}: known are {', '.join(f'{p}:n' for p in PRESETS)}")
    made = replace(kind, boxes=_positive("boxes", count or "1"), cards_known=True)
    for option in options:
        key, _, value = option.partition("=")
        if key == "cards":
            made = replace(made, cards=_positive(key, value))
        elif key == "gpus":
            made = replace(made, gpus=_positive(key, value))
        elif key == "card":
            made = replace(made, card=parse("bandwidth", value))
        elif option == "collnet=true":
            made = replace(made, collnet=True)
        else:
            known = "cards=4, card=400Gbit/s, gpus=8 or collnet=true"
            raise ValueError(f"machine option {shortened(option)!r}: take {known}")
    return made


def _positive(what: str, text: str) -> int:
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
        return _positive("cards", count), parse("bandwidth", rate)
    except ValueError:
        raise ValueError(f"cards {shortened(text)!r}: write them as 8x400Gb/s") from None

"""What the wires of a machine allow a collective, and what of it usually arrives: the range of a healthy run."""

from dataclasses import dataclass, replace
from math import inf

import numpy as np

from colllib.busbw import ideal_gain
from colllib.measured.sweeps import of_others
from colllib.topology.machines import UNKNOWN, Machine
from colllib.units import several

#: Shares of the wire that all but a few healthy public measurements reach (see sweeps.csv and figures.csv).
CARD_SHARE, LINK_SHARE, PAIR_SHARE, SLOT_SHARE = 0.68, 0.64, 0.5, 0.3
SEND_SHARE = 0.75  # of a card that one pair of GPUs has for itself: 0.78 (RoCE, an MTU of 1024) to 0.97 are seen;
# and of a GPU's share in an all-to-all, where all healthy runs but one reach 0.84
PAIRS = ("sendrecv", "all-to-all")  # in which a GPU sends to others directly
CARD_TOTALS = (12.5e9, 25e9, 50e9, 100e9, 200e9, 400e9, 800e9)  # bytes per second of the cards that boxes usually have
POOR_CARDS = (1.25e9, 3.125e9, 6.25e9, 12.5e9)  # of 10 to 100 Gb/s, as smaller instances of clouds have
UNSURE = 0.85  # of what healthy runs reach at the least: nearer than that, a run is neither healthy nor slow
FEWEST, REPEATED = 4, 0.94  # published runs of such machines that make a range narrower; how near runs are repeated
OVER_PCIE = 1.15  # of a slot: what a pair reaches over one link of its own at the least
TWO_A_SLOT = ("K80", "M60")  # boards of two GPUs, which share it where they copy through host memory
NVLS_MOST = 0.72  # of what a switch that adds can give at most: up to 0.69 is seen on 8 GPUs


@dataclass(frozen=True)
class Expected:
    """The range of a healthy busbw at large messages, in bytes per second."""

    low: float  # from which on a run is healthy: near what nine of ten published ones reach, if there are `FEWEST`
    high: float  # what the wires allow
    binding: str  # network card, spine, NVLink, Infinity Fabric or PCIe
    why: str  # the arithmetic, in words
    least: float  # what healthy runs reach at the least
    gap: tuple[float, float] = (inf, inf)  # between what two usual sets of cards give, where nobody says which
    runs: tuple[float, ...] = ()  # healthy ones of such machines that were published, ascending


def filled(busbw: float, totals: tuple[float, ...] = CARD_TOTALS) -> float:
    """The usual total of cards that a ring fills, or 0: NCCL's maintainers count 24 GB/s for 200 Gbit/s."""
    return next((total for total in totals if 0.9 <= busbw / total <= 1), 0.0)


def totals_of(machine: Machine) -> tuple[float, ...]:
    """What the cards of such boxes may carry together; of GPUs in slots nobody knows usual ones.

    >>> from colllib.topology.machines import find
    >>> [min(totals_of(find(one))) / 1e9 for one in ("dgx-h100:2", "gb10:2", "t4:2,gpus=1,card=25Gb/s")]
    [12.5, 12.5, 1.25]
    """
    usual = machine.linked or machine.most_network <= machine.network
    return CARD_TOTALS if usual else POOR_CARDS + CARD_TOTALS


def expected(machine: Machine, collective: str, reached: float = 1.0) -> Expected:
    """The range for a collective over all GPUs of a machine.

    Over several boxes a box of G of N ranks sends at least its part of the result, and a ring sends a
    busbw of all its cards together; two boxes can do better, since each sends its sum once. In an
    all-to-all each GPU has its share of the cards, in a send to the next rank one card.

    Args:
        machine: the boxes, at least 2 ranks.
        collective: the book's name, or sendrecv.
        reached: what the message should reach of the busbw of the largest, which published runs mostly tell.

    >>> from colllib.topology.machines import find
    >>> bound = expected(find("dgx-h100:2"), "all-reduce")
    >>> bound.binding, round(bound.low / 1e9), round(bound.high / 1e9)
    ('network card', 406, 504)
    """
    bound = by_wires(machine, collective)
    if machine.boxes > 1 and not machine.cards_known and machine.common_network < machine.network:
        return bound  # nobody knows whose runs to compare with
    runs = tuple(rate for rate, _ in of_others(machine, collective, near=True))
    low, least = (REPEATED * np.quantile(runs, 0.1), runs[0]) if len(runs) >= FEWEST else (0.0, 0.0)
    low, least = max(bound.low, reached * float(low)), max(bound.least, reached * least)
    return replace(bound, low=low, least=min(low, least), runs=runs)


def slow_below(machine: Machine, bound: Expected, settled: float = 1.0) -> float:
    """The busbw below which a large message is slow: from there up to the range nobody can tell.

    Args:
        machine, bound: the boxes, and what is expected of them.
        settled: what a run that is still climbing has of its plateau; from a half on that counts.

    >>> from colllib.topology.machines import find
    >>> h100 = find("dgx-h100:2")
    >>> round(slow_below(h100, expected(h100, "all-reduce")) / 1e9)
    310
    """
    # one bridge of the two or three that fit, or a board of PCIe 4.0, as are in use with GPUs of PCIe 5.0
    half_a_slot = machine.pcie >= UNKNOWN.pcie or machine.name in TWO_A_SLOT
    halved = machine.boxes == 1 and (machine.bridge if machine.linked else half_a_slot)
    # and of several racks nobody published a run that is known to be healthy; one that climbs may yet fill slower cards
    racks = machine.boxes > 1 and (machine.gpus > UNKNOWN.gpus or (settled < 1 and not machine.cards_known))
    return UNSURE * bound.least * (0.5 if halved or racks else max(0.5, settled) if machine.boxes > 1 else 1.0)


def by_wires(machine: Machine, collective: str) -> Expected:
    """The same by the shares alone that nearly any healthy run reaches."""
    inside = _inside(machine, collective)
    if machine.boxes == 1:
        return inside
    usual, most, share, note = _outside(machine, collective)
    if machine.gpus == 1 and collective != "all-to-all":  # it has its cards for itself, and sends to one other
        share = SEND_SHARE
    binding, why = "network card", f"{several(machine.cards, 'card')} of {machine.card / 1e9:g} GB/s a box"
    if (machine.one_sender if collective == "sendrecv" else machine).oversubscription > 1:
        binding, why = "spine", f"{why}, and 1/{machine.oversubscription:g} of that on its way up"
    gap = (inf, inf)
    if not machine.cards_known:
        fewer = min(1.0, machine.common_network / machine.network)
        gap = (fewer * most, share * usual)
        richest = min(machine.most_network, machine.gpus * machine.slot)
        most = max(most, most * richest / machine.network)
        if fewer < 1:
            usual *= fewer
            why += f", or {machine.common_network / 1e9:g} GB/s together, as many boxes have"
        if richest > machine.network:
            why += f"; the richest such boxes carry {richest / 1e9:g} GB/s"
    if machine.slots_bind:
        binding, why = "PCIe", f"{why}, behind PCIe slots of {machine.pcie / 1e9:g} GB/s a GPU"
    if machine.gpus > 1 and inside.low < share * usual and collective not in PAIRS:
        return replace(inside, high=min(inside.high, most))
    high = min(most, inside.high)
    low = min(high, (SEND_SHARE if collective in PAIRS else share) * usual)
    return Expected(low, high, binding, why + note, min(high, share * usual), gap)


def _outside(machine: Machine, collective: str) -> tuple[float, float, float, str]:
    """Busbw between boxes: of the usual algorithm, the most that the cards allow, the share that arrives; a note."""
    n, boxes, gpus, network = machine.ranks, machine.boxes, machine.gpus, machine.network
    if collective == "sendrecv":
        one = machine.one_sender
        pair = min(one.cards * one.rate, machine.slot)
        return pair, pair, SEND_SHARE, f", {one.cards if one.cards > 1 else 'one'} of them for a pair"
    if collective == "all-to-all":
        gpu = network / gpus * (n - 1) / (n - gpus)
        return gpu, gpu, PAIR_SHARE, f", shared by {gpus} GPUs"
    if collective in ("broadcast", "reduce"):  # all of the message enters or leaves a box
        return network, network, CARD_SHARE, ""
    if collective == "all-reduce" and machine.collnet:  # a card carries its part of the message once each way
        return network, network * 2 * (n - 1) / n, CARD_SHARE, ", where the network adds"
    return network, network * (n - 1) / n * boxes / (boxes - 1), CARD_SHARE, ""


def _inside(machine: Machine, collective: str) -> Expected:
    pair = collective in PAIRS
    if machine.linked:
        board = machine.gpus <= 4 and machine.vendor == "nvidia" and not machine.bridge
        name, link = machine.inner, machine.link if board else machine.reach(collective)
        adds = machine.nvls and collective == "all-reduce"
        high = link * max(1.0, NVLS_MOST * float(ideal_gain(machine.gpus)) if adds else 0.0)
        low = link * (PAIR_SHARE if pair else LINK_SHARE)
        if board:
            peers = 1 if pair else machine.gpus - 1  # boards of four have no switch, and few links to each peer
            low *= peers / 3 if machine.generation else 1 / 6  # Volta's have one link here, two there
        if machine.dies and machine.gpus < 8:
            low *= machine.link / (4 * link)  # perhaps of dies that one link joins
        if machine.uneven and collective == "sendrecv":
            low /= max(map(max, machine.bonds))  # of a pair that one link joins
        least = low  # of a pair: links that carry no more than PCIe may not be in use
        over = OVER_PCIE * machine.pcie
        low = over if machine.gpus == 2 and not machine.bridge and low < over <= high else low
        return Expected(low, high, name, f"{name} of {link / 1e9:g} GB/s a GPU, one way", least)
    low = SLOT_SHARE * machine.pcie * (1.5 if machine.gpus == 2 else 1.0)
    return Expected(low, machine.pcie, "PCIe", f"a PCIe slot of {machine.pcie / 1e9:g} GB/s, one way", low)

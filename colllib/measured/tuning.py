"""NCCL's own model of its algorithms and protocols, for several GPUs in a box, at version 2.30.7.

It is the model by which NCCL chooses: latencies and bandwidths that its authors measured, not what a
run will take. `colllib.measured.predict` scales it to published measurements. Left out: NVLS and CollNet
for gathering and scattering, the latency that a card reports, LL on boxes with Intel processors (AMD's
ceilings are taken). RCCL chooses by tables of its own, which are not here: for AMD's machines the model is
NCCL's with their links.

Source: NVIDIA/nccl at 5067397c, src/graph/tuning.cc, search.cc and topo.h.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from importlib.resources import files
from math import log2

from colllib.library_choices import (
    NCCL_BASE,
    NCCL_EFFICIENCY,
    NCCL_NETWORK_STEP,
    NCCL_NVLINK_STEP,
    NCCL_TREE_CORRECTION,
    PROTOCOLS,
)
from colllib.measured.machines import Machine

VERSION = "NCCL 2.30.7"

#: What differs between architectures, by `Machine.generation`.
GENERATIONS = tomllib.loads((files("colllib") / "measured" / "tuning.toml").read_text(encoding="utf-8"))["generation"]
LINK_SHARE = tuple(each["link_usable"] / each["link_sold"] for each in GENERATIONS)
LL_MOST_BETWEEN = (22.5, 19.0)  # GB/s, over two boxes and over more
NVLS_STEP, NVLS_NETWORK_STEP, NVLS_TREE_STEP = 25.0, 18.0, 20.9  # microseconds: in the box, and between boxes
COLLNET_STEP, COLLNET_NETWORK_STEP, COLLNET_FAN = 3.7, 31.0, 0.4
CHAIN_STEP, CHAIN_NETWORK_STEP = 2.8, 30.0
PAT_LOG, PAT_EACH = 1 / 3.5, 2.8  # of a network step for each doubling of the boxes; microseconds a rank
PCI_STEP = {"tree": (1.0, 1.9, 4.0), "ring": (1.0, 2.5, 5.7)}
PCI_SHARE = 12 / 15.75
NETWORK_OVERHEAD = (2.0, 2.0, 6.0)  # microseconds a step, AMD processors: LL, LL128, Simple
_RING_CHANNELS = 16


@dataclass(frozen=True)
class Estimate:
    """What the model says of one algorithm and protocol.

    Args:
        algorithm: ring, tree, PAT, NVLS, NVLSTree, CollNetDirect, CollNetChain, or direct for sends.
        protocol: LL, LL128 or Simple.
        channels: how many work side by side.
        latency: seconds at size 0.
        algbw: bytes per second at large sizes.
        efficiency: what the protocol and the algorithm leave of the wires.
        binding: network card, NVLink, Infinity Fabric or PCIe.
    """

    algorithm: str
    protocol: str
    channels: int
    latency: float
    algbw: float
    efficiency: float
    binding: str

    def wire(self, message: float, generation: int) -> float:
        """Seconds that the bytes take, with the correction for a tree's middle sizes."""
        rate = self.algbw
        place = int(message // 64).bit_length() - 1
        table = NCCL_TREE_CORRECTION[PROTOCOLS.index(self.protocol)]
        corrected = self.algorithm == "tree" or (self.algorithm == "NVLSTree" and generation > 2)
        if corrected and 0 <= place < len(table):
            rate *= table[place]
        return message / rate

    def waiting(self, message: float, machine: Machine) -> float:
        """Seconds of latency: a ring between boxes waits longer once every rank and channel has a chunk."""
        plateau = self.algorithm == "ring" and self.protocol == "Simple" and machine.boxes > 1
        if plateau and message / (self.channels * machine.ranks) >= 64:
            return float(self.latency * GENERATIONS[machine.generation]["plateau"])
        return self.latency


def estimates(machine: Machine, collective: str) -> list[Estimate]:
    """Every algorithm and protocol that NCCL would compare.

    Args:
        machine: the boxes.
        collective: the book's name, or sendrecv.

    Raises:
        ValueError: for fewer than 2 ranks.

    >>> from colllib.measured.machines import find
    >>> found = {(e.algorithm, e.protocol): e for e in estimates(find("dgx-h100:1"), "all-reduce")}
    >>> round(found["NVLS", "Simple"].algbw * 1.75 / 1e9), round(found["ring", "Simple"].algbw * 1.75 / 1e9)
    (476, 360)
    """
    if machine.ranks < 2:
        raise ValueError("1 rank sends nothing: take at least 2")
    if collective in ("sendrecv", "all-to-all"):
        return [_sends(machine, collective)]
    found = [_ring(machine, collective, p) for p in range(3)]
    if collective == "all-reduce":
        found += [_tree(machine, p) for p in range(3)]
        if machine.nvls and machine.gpus > 2 and machine.linked:
            found.append(_nvls(machine))
        if machine.collnet and machine.boxes > 1 and machine.linked:
            found += [_collnet(machine), _chain(machine)]
    elif machine.gpus == 1 and collective in ("all-gather", "reduce-scatter"):
        found.append(_pat(machine))
    return [estimate for estimate in found if estimate.algbw > 0]


def _speed(machine: Machine) -> tuple[float, int, str]:
    """GB/s of all channels of a ring, their number, and what binds."""
    inside = _inside(machine)
    if machine.boxes == 1:
        return inside, 24 if machine.generation == 1 and machine.linked else _RING_CHANNELS, machine.inner
    outside, name = _outside(machine)
    channels = min(32, 2 * machine.cards)
    return (outside, channels, name) if outside <= inside else (inside, channels, machine.inner)


def _outside(machine: Machine) -> tuple[float, str]:
    """GB/s of all channels between boxes, and whether cards or the slots before them bind."""
    cards = machine.cards * _card(machine)
    if machine.slots_bind:
        return min(cards, machine.gpus * machine.pcie / 1e9 * PCI_SHARE), "PCIe"
    return cards, "network card"


def _inside(machine: Machine, collective: str = "") -> float:
    if not machine.linked:
        return machine.pcie / 1e9 * PCI_SHARE
    link = machine.reach(collective) / 1e9 * LINK_SHARE[machine.generation]
    return max(float(s * min(_RING_CHANNELS, link // s)) for s in GENERATIONS[machine.generation]["speeds_inside"])


def _card(machine: Machine) -> float:
    """GB/s of the channels over one card: the highest speed of the search that fits, as often as it fits."""
    rate = machine.rate / 1e9
    speeds: list[float] = GENERATIONS[machine.generation]["speeds_between"]
    speed = next((s for s in speeds if s <= rate), rate)  # the search ends at 0.12
    return speed * (rate // speed)


def _steps(machine: Machine, collective: str) -> int:
    twice = 2 if collective == "all-reduce" else 1
    return twice * (machine.ranks - 1) if collective not in ("broadcast", "reduce") else machine.ranks


def _ring(machine: Machine, collective: str, p: int) -> Estimate:
    wire, channels, binding = _speed(machine)
    place, of = min(machine.boxes, 3) - 1, GENERATIONS[machine.generation]
    most = (of["ll_inside"], *LL_MOST_BETWEEN)[place]
    bus = (min(most, wire / 2), min(0.92 * wire, channels * of["ring_ll128"]), wire)[p]
    steps = _steps(machine, collective)
    inside = (NCCL_NVLINK_STEP if machine.linked else PCI_STEP)["ring"][p]
    between = 0
    if machine.boxes > 1:
        inside = max(inside, NETWORK_OVERHEAD[p])
        between = (2 if collective == "all-reduce" else 1) * (machine.boxes - 1)
    outside = NCCL_NETWORK_STEP["tree" if machine.gpus == 1 else "ring"][p]
    latency = NCCL_BASE["ring"][p] + (steps - between) * inside + between * outside
    return _made("ring", p, channels, latency, bus * machine.ranks / steps, bus / wire, binding)


def _tree(machine: Machine, p: int) -> Estimate:
    wire, channels, binding = _speed(machine)
    place, of = min(machine.boxes, 3) - 1, GENERATIONS[machine.generation]
    bus = min(NCCL_EFFICIENCY["tree"] * wire, channels * of["tree"][place])
    if p == 0:
        bus = min(bus / 3.8, (of["ll_inside"], *LL_MOST_BETWEEN)[place])
    if p == 1:
        share = 7 / 9 if machine.boxes == 1 else 120 / 128
        bus = min(bus * share, channels * of["tree_ll128"][place])
    inside = (NCCL_NVLINK_STEP if machine.linked else PCI_STEP)["tree"][p]
    hops = (machine.gpus - 1) * inside + int(log2(machine.boxes)) * NCCL_NETWORK_STEP["tree"][p]
    return _made("tree", p, channels, NCCL_BASE["tree"][p] + 2 * hops, bus / 2, bus / wire, binding)


def _nvls(machine: Machine) -> Estimate:
    """NVLS in a box; between boxes NVLSTree, or NVLS where the network adds; with a channel for each GPU.

    A channel books its speed twice on the link of its own GPU, both ways, and once on everybody else's: N channels
    book N + 1 speeds on every link. The model takes its share of all channels but one, and doubles it for the two
    halves of an all-reduce.
    """
    of, share = GENERATIONS[machine.generation], "NVLS, Hopper" if machine.generation == 2 else "NVLS, Blackwell"
    link, gpus = machine.link / 1e9 * LINK_SHARE[machine.generation], min(machine.gpus, 32)
    speed = next(s for s in (*of["speeds_inside"], link / (gpus + 1)) if (gpus + 1) * s <= link)
    inside = 2 * speed * NCCL_EFFICIENCY[share] * (gpus - 1) / gpus
    name, bus, binding = "NVLS", inside * gpus, "NVLink"
    latency = NVLS_STEP
    if machine.boxes > 1:
        most = inside if machine.collnet else of["nvls_tree"][min(machine.boxes, 3) - 1]
        outside, out = _outside(machine)
        outside *= (2 if machine.boxes == 2 and not machine.collnet else 1) / gpus
        bus = min(inside, outside, most) * gpus
        binding = out if outside <= min(inside, most) else "NVLink"
        if machine.collnet:
            latency += NVLS_NETWORK_STEP
        else:
            name, latency = "NVLSTree", NVLS_STEP + 2 * int(log2(machine.boxes)) * NVLS_TREE_STEP
    ratio = machine.ranks / _steps(machine, "all-reduce")
    return _made(name, 2, gpus, latency, bus * ratio, min(1.0, bus / (gpus * speed * 2)), binding)


def _collnet(machine: Machine) -> Estimate:
    """CollNetDirect: a GPU with a card is the head of its part, and the network adds the heads' sums."""
    heads = min(machine.cards, machine.gpus)
    shared = machine.gpus / heads
    wire = min(_outside(machine)[0], _inside(machine))
    share = (0.85 if machine.generation > 1 else 1.0) / (shared - (shared - 1) / 2)
    others = machine.gpus - 1
    latency = 2 * (min(1, others) * COLLNET_STEP + others * COLLNET_FAN) + COLLNET_NETWORK_STEP
    return _made("CollNetDirect", 2, heads, latency, wire * share / 2, share, "network card")


def _chain(machine: Machine) -> Estimate:
    """CollNetChain: the sum goes along the GPUs of a box, out to the network, which adds, and back along them."""
    wire, channels, binding = _speed(machine)
    latency = 2 * (machine.gpus - 1) * CHAIN_STEP + CHAIN_NETWORK_STEP
    return _made("CollNetChain", 2, channels, latency, wire / 2, 1.0, binding)


def _pat(machine: Machine) -> Estimate:
    """PAT, which takes one GPU a box, for gathering and scattering."""
    wire, channels, binding = _speed(machine)
    share, step = NCCL_EFFICIENCY["pat"], NCCL_NETWORK_STEP["pat"][2]
    latency = NCCL_BASE["pat"][2] + int(log2(machine.boxes)) * step * PAT_LOG + machine.ranks * PAT_EACH
    return _made("PAT", 2, channels, latency, share * wire, share, binding)


def _sends(machine: Machine, collective: str) -> Estimate:
    """Sends and receives, which NCCL's model does not price: the wires at the speeds of its channels."""
    n, gpus = machine.ranks, machine.gpus
    inside, card = _inside(machine, collective), _card(machine)
    latency = NCCL_BASE["ring"][2] + (NCCL_NETWORK_STEP if machine.boxes > 1 else NCCL_NVLINK_STEP)["ring"][2]
    if machine.boxes == 1:
        bus, binding = inside, machine.inner
    else:
        share, slot = card * (1 if collective == "sendrecv" else machine.cards / gpus), machine.pcie / 1e9 * PCI_SHARE
        remote = 1.0 if collective == "sendrecv" else (n - gpus) / (n - 1)
        bus, binding = min(inside, min(share, slot) / remote), "PCIe" if slot < share else "network card"
    return _made("direct", 2, 1, latency, bus * (1.0 if collective == "sendrecv" else n / (n - 1)), 1.0, binding)


def _made(name: str, p: int, channels: int, latency: float, algbw: float, share: float, binding: str) -> Estimate:
    return Estimate(name, PROTOCOLS[p], channels, latency * 1e-6, algbw * 1e9, share, binding)


def pick(found: list[Estimate], machine: Machine, message: float) -> Estimate:
    """The one that NCCL takes at a size."""
    return min(found, key=lambda e: e.waiting(message, machine) + e.wire(message, machine.generation))

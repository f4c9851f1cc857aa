"""NCCL's own model of its algorithms and protocols, at version 2.30.7: the one by which it chooses.

Latencies and rates are its authors' constants (tuning.toml), not what a run will take: `colllib.measured.predict`
scales them to published measurements, `colllib.library_choices` takes them as they are. Left out: NVLS and CollNet
for gathering and scattering, and the latency that a card reports; Pascal is taken for Volta. RCCL chooses by tables
of its own, which are not here: for AMD's machines the model is NCCL's with their links.

Source: NVIDIA/nccl at 5067397c, src/graph/tuning.cc, search.cc, connect.cc and topo.h.
"""

import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from math import ceil, floor, inf, log2, prod
from operator import itemgetter
from typing import Any

from colllib.topology.machines import Machine

VERSION = "NCCL 2.30.7"
PROTOCOLS = ("LL", "LL128", "Simple")
ROOTED = ("broadcast", "reduce")

_TABLE = tomllib.loads((files("colllib") / "measured" / "tuning.toml").read_text(encoding="utf-8"))
#: What differs between architectures, by `Machine.generation`.
GENERATIONS = _TABLE["generation"]
LINK_SHARE: tuple[float, ...] = tuple(gpu["link_usable"] / gpu["link_sold"] for gpu in GENERATIONS)
_CORRECTION = {protocol: (*factors, 1.0) for protocol, factors in _TABLE["correction"].items()}

#: Algorithm -> which 2.x of NCCL brought it, of those that not all have.
SINCE: dict[str, int] = _TABLE["since"]

#: Microseconds by algorithm, for LL, LL128 and Simple: of a call, and of a step over a kind of wire.
BASE: dict[str, list[float]] = _TABLE["call"]
NVLINK_STEP: dict[str, list[float]] = _TABLE["step"]["NVLink"]
PCIE_STEP: dict[str, list[float]] = _TABLE["step"]["PCIe"]
NETWORK_STEP: dict[str, list[float]] = _TABLE["step"]["network"]
COLLNET_GPUS = 8  # of a box, at most (enqueue.cc:2001)
COLLNET_FAN = 0.4  # microseconds for each other GPU of a box (tuning.cc:421)
PAT_LOG, PAT_EACH = 1 / 3.5, 2.8  # of a network step for each doubling of the boxes; microseconds a rank (432)

# What algorithms and protocols leave of the wires (327 to 348; search.cc:1133, topo.h:25)
RING_LL, RING_LL128 = 1 / 2, 0.92
TREE, TREE_LL, TREE_LL128, TREE_LL128_IN_A_BOX = 0.92, 3.8, 120 / 128, 7 / 9
TREE_BY_ONE_GPU = 0.85  # all traffic of a card comes from one GPU
PAT, COLLNET = 0.75, 0.85
PCIE = 12 / 15.75
CARD = 24 / 25  # of a card, as NCCL's maintainers count it (nccl-tests issue 119)
#: What arrives of an Infinity Fabric link, and rings fill; of sends the fit tells it. AMD, "Understanding RCCL
#: Bandwidth and xGMI Performance on AMD Instinct MI300X" (rocm.blogs.amd.com, 2025): 310 to 330 of 448 GB/s at best.
FABRIC = 48 / 64

_NVLINK = "NVLink"


@dataclass(frozen=True)
class Estimate:
    """What the model says of one algorithm and protocol."""

    algorithm: str  # ring, tree, PAT, NVLS, NVLSTree, CollNetDirect, CollNetChain, or direct for sends
    protocol: str  # LL, LL128 or Simple
    latency: float  # seconds at size 0; of a chain, of a call and one step
    algbw: float  # bytes per second at large sizes
    binding: str  # network card, spine, NVLink, Infinity Fabric, PCIe, or the ceiling of NVLS, a tree or a protocol
    correction: Sequence[float] = (1.0,)  # factors on the rate from 64 B, 128 B, 256 B ... on
    plateau: tuple[float, float] = (inf, 1.0)  # from how many bytes on the latency is how many times as long
    ceiling: float = inf  # bytes per second above which NCCL does not count the rate when it compares
    counted: float = 1.0  # how many times the latency NCCL counts when it compares
    further: float = 0.0  # how many times as long as the latency a chain's other steps take
    peers: float = 0  # in other boxes, or in the only one, to each of which it sends: the model does not price that

    def wire(self, message: float) -> float:
        """Seconds that the bytes take, with a correction that is a line over the logarithm of the size."""
        place = min(max(0.0, log2(message / 64)), len(self.correction) - 1)
        below, above = self.correction[floor(place)], self.correction[ceil(place)]
        return message / (self.algbw * (below + (above - below) * (place - floor(place))))

    def waiting(self, message: float) -> float:
        """Seconds of latency."""
        start, times = self.plateau
        return self.latency * times if message >= start else self.latency

    def seconds(self, message: float) -> float:
        """The time by which NCCL compares, with a correction that is a staircase."""
        place = int(message // 64).bit_length() - 1
        correction = self.correction[place] if 0 <= place < len(self.correction) else 1.0
        return self.counted * self.waiting(message) + message / (min(self.algbw, self.ceiling) * correction)


def model_of(machine: Machine) -> str:
    """Whose model it is, and what of it is another library's.

    >>> from colllib.topology.machines import find
    >>> model_of(find("mi300x:1"))
    "NCCL 2.30.7, latencies of NCCL, not RCCL's"
    """
    return f"{VERSION}, latencies of NCCL, not RCCL's" if machine.vendor == "amd" else VERSION


def estimates(machine: Machine, collective: str) -> list[Estimate]:
    """Every algorithm and protocol that NCCL would compare.

    Args:
        machine: the boxes and their GPUs, at least 2.
        collective: the book's name, or sendrecv.

    Raises:
        ValueError: for fewer than 2 ranks.

    >>> from colllib.topology.machines import find
    >>> options = {(e.algorithm, e.protocol): e for e in estimates(find("dgx-h100:1"), "all-reduce")}
    >>> round(options["NVLS", "Simple"].algbw * 1.75 / 1e9), round(options["ring", "Simple"].algbw * 1.75 / 1e9)
    (476, 360)
    """
    if machine.ranks < 2:
        raise ValueError("1 rank sends nothing: take at least 2")
    if collective in ("sendrecv", "all-to-all"):
        return [_sends(machine, collective)]
    options = [_ring(machine, collective, p) for p in range(3)]
    if collective == "all-reduce":
        options += [_tree(machine, p) for p in range(3)]
        adds = machine.collnet and machine.boxes > 1
        if machine.nvls and machine.gpus > 2 and machine.linked and _heads(machine) > 1:
            options += [_nvls(machine)] if adds or machine.boxes == 1 else []
            options += [_nvls(machine, tree=True)] if machine.boxes > 1 else []
        if adds and machine.linked and machine.gpus <= COLLNET_GPUS:
            options += _collnet(machine)
    elif machine.gpus == 1 and collective in ("all-gather", "reduce-scatter"):
        options.append(_pat(machine))
    paths = machine.linked or machine.gpus == 1  # short enough for LL128: no PCIe between GPUs (tuning.cc:531)
    return [option for option in options if option.algbw > 0 and (paths or option.protocol != "LL128")]


def times(machine: Machine, collective: str, message: float) -> dict[tuple[str, str], float]:
    """Seconds that NCCL estimates for a message in bytes, by algorithm and protocol.

    >>> from colllib.topology.machines import find
    >>> seconds = times(find("dgx-h100:512,gpus=1,cards=1"), "all-reduce", 16e6)
    >>> min(seconds, key=seconds.get), round(seconds["ring", "Simple"] * 1e3, 1)
    (('tree', 'LL128'), 20.7)
    """
    return {(e.algorithm, e.protocol): e.seconds(message) for e in estimates(machine, collective)}


def pick(options: list[Estimate], message: float) -> Estimate:
    """The one that NCCL takes at a size."""
    return min(options, key=lambda option: option.seconds(message))


# -- wires: rates in GB/s ---------------------------------------------------------------------


def _wires(machine: Machine) -> tuple[float, int, str]:
    """Of a ring: all its channels, their number in NCCL's search, and what binds."""
    speed, many, binding = (*_inside(machine), machine.inner) if machine.boxes == 1 else _between(machine)
    # twice as many at half the speed, unless they are slow, or many since Hopper (search.cc:1036)
    enough = speed < 25 or (machine.generation >= 2 and speed < 50 and many > 4)
    return speed * many, min(32, many if enough else 2 * many), binding


def _between(machine: Machine) -> tuple[float, int, str]:
    """The speed of a ring's channels between boxes, their number, and what keeps out more (search.cc:1244).

    In a box a channel takes the links of all GPUs but the one by which it leaves: where one leaves by each of G, a link
    carries G - 1.
    """
    gpus, link, rate, (fastest, _) = machine.gpus, _link(machine), machine.rate / 1e9, _card(machine)
    slots, hops = gpus * machine.slot / 1e9 * PCIE, gpus - 1 if machine.linked else gpus
    best, many, binding = 0.0, 0, ""
    for speed in (s for s in (*GENERATIONS[machine.generation]["speeds_between"], fastest) if s <= fastest):
        if speed <= 0.49 * best:
            break
        links = 32 if gpus == 1 else min(32, max(int(link // speed), gpus * int(link // (hops * speed))))
        cards = machine.cards * int(rate // speed), _way(machine)
        fits = min(cards, (int(slots // speed), "PCIe"), (links, machine.inner), key=itemgetter(0))
        if speed * fits[0] > best * many:
            best, (many, binding) = speed, fits
    return best, many, binding


def _outside(machine: Machine, sends: bool = False) -> tuple[float, str]:
    """All channels between boxes, or wires for sends, and whether cards, the spine or the slots before them bind."""
    speed, many = (machine.rate / 1e9 * CARD, 1) if sends else _card(machine)
    slots, cards = machine.gpus * machine.slot / 1e9 * PCIE, machine.cards * speed * many
    return (slots, "PCIe") if slots < cards else (cards, _way(machine))


def _way(machine: Machine) -> str:
    return "network card" if machine.oversubscription == 1 else "spine"


def _inside(machine: Machine, collective: str = "") -> tuple[float, int]:
    """The speed of channels in a box, and their number before it is doubled."""
    link = _link(machine, collective)
    if not machine.linked:
        return link, 1
    return max(((s, min(16, int(link // s))) for s in GENERATIONS[machine.generation]["speeds_inside"]), key=prod)


def _link(machine: Machine, collective: str = "") -> float:
    """What the model uses of what joins a GPU to others in its box."""
    if not machine.linked:
        return machine.pcie / 1e9 * PCIE
    share = FABRIC if machine.vendor == "amd" and not collective else LINK_SHARE[machine.generation]
    return machine.reach(collective) / 1e9 * share


def _card(machine: Machine) -> tuple[float, int]:
    """A channel over one card, the highest speed of the search that fits, past a slot too, and how often it fits."""
    rate, slot = machine.rate / 1e9, machine.slot / 1e9 * PCIE
    speed = _fastest(GENERATIONS[machine.generation]["speeds_between"], min(rate, slot))
    return speed, int(rate // speed)


def _fastest(speeds: list[float], most: float) -> float:
    """The first of a descending list that is not above `most`, or that, where the list ends before."""
    return next((s for s in speeds if s <= most), most)


def _raised(speeds: list[float], speed: float) -> float:
    """Twice a channel's speed, or what follows in a descending list, as far as it goes (search.cc:1274)."""
    return next((s for s in reversed(speeds) if s >= 2 * speed), speeds[0])


# -- algorithms: rates in GB/s, latencies in microseconds -------------------------------------


def _ring(machine: Machine, collective: str, p: int) -> Estimate:
    n, boxes, of = machine.ranks, machine.boxes, GENERATIONS[machine.generation]
    wire, channels, binding = _wires(machine)
    bus = wire * (RING_LL, RING_LL128, 1)[p]
    ceiling = (_most_ll(machine), channels * of["ring_ll128"], inf)[p]
    bus, binding = min((bus, binding), (ceiling, PROTOCOLS[p]), key=itemgetter(0))
    inside, outside = _step(machine, "ring", p)
    call, twice, first, more = BASE["ring"][p], 2 if collective == "all-reduce" else 1, inside, dict[str, Any]()
    if boxes > 1:
        inside, first = max(inside, _processor(machine)["overhead"][p]), NETWORK_STEP["ring"][p]
    steps, between = twice * (n - 1), twice * (boxes - 1)
    latency = call + (steps - between) * inside + between * outside
    if collective in ROOTED:  # a chain: counted is one step where all channels take one way, else n (tuning.cc:394)
        alike, steps = boxes == 1 or min(machine.cards, machine.gpus) == 1, n
        more["further"] = latency / (call + first) - 1
        latency = call + first
        more["counted"] = 1.0 if alike else (call + n * first) / latency
    if twice == 2 and p == 2 and boxes > 1:  # once every rank and channel has 64 bytes
        more["plateau"] = (64.0 * min(64, 2 * channels) * n, of["plateau"])
    return _estimate("ring", latency, bus * n / steps, binding, p=p, **more)


def _tree(machine: Machine, p: int) -> Estimate:
    wire, channels, binding = _wires(machine)
    place, of = min(machine.boxes, 3) - 1, GENERATIONS[machine.generation]
    if machine.boxes == 2:  # a channel in its box counts, as fast as links carry all of them (tuning.cc:306)
        link, between = inf if machine.gpus == 1 else _link(machine), wire / channels
        faster = [s for s in of["speeds_between"] if s > between and channels * s <= link]
        wire = channels * _raised([*faster, between], between)
    # the ceilings of a channel bind, or cards, where more of them bring more channels
    more = _wires(replace(machine, cards=2 * machine.cards))[1] > channels
    tree, ll128 = (binding, binding) if more else ("tree", PROTOCOLS[p])
    bus, binding = min((wire * TREE, binding), (channels * of["tree"][place], tree))
    if p == 0:
        bus, binding = min((bus / TREE_LL, binding), (_most_ll(machine), PROTOCOLS[p]))
    if p == 1:
        share = TREE_LL128_IN_A_BOX if machine.boxes == 1 else TREE_LL128
        bus, binding = min((bus * share, binding), (channels * of["tree_ll128"][place], ll128))
    # since Hopper also where a GPU and its card have a PCIe switch for themselves, as in usual boxes (search.cc:1215)
    if machine.gpus == 1 or (machine.boxes > 1 and machine.generation > 1 and machine.cards >= machine.gpus):
        bus *= TREE_BY_ONE_GPU
    inside, outside = _step(machine, "tree", p)
    latency = BASE["tree"][p] + 2 * ((machine.gpus - 1) * inside + int(log2(machine.boxes)) * outside)
    return _estimate("tree", latency, bus / 2, binding, p=p, correction=(*_CORRECTION[PROTOCOLS[p]][:23], 1.0))


def _heads(machine: Machine) -> int:
    """Channels of NVLS: one for each GPU, between boxes for each that has a card (search.cc:756)."""
    return min(machine.gpus, 32, machine.cards if machine.boxes > 1 else machine.gpus)


def _nvls(machine: Machine, tree: bool = False) -> Estimate:
    """NVLS in a box, and between boxes where the network adds; NVLSTree between boxes.

    A channel books its speed twice on the link of its own GPU, both ways, and once on everybody else's: N channels
    book N + 1 speeds on every link. The model takes its share of all channels but one, and doubles it for the two
    halves of an all-reduce. In one box it counts no channel above the speed towards a network (tuning.cc:321), between
    boxes none above what fits on a GPU's cards, though B200s are measured at the speed that fits in one box.
    """
    of, heads, boxes = GENERATIONS[machine.generation], _heads(machine), machine.boxes
    fits, share = _link(machine) / (heads + 1), 2 * of["nvls"] * (heads - 1) / heads
    speed = _fastest(of["speeds_inside"], fits)
    ratio = machine.ranks / (2 * (machine.ranks - 1))
    name, more = "NVLSTree" if tree else "NVLS", dict[str, Any]()
    latency, across = _step(machine, name, 2)
    if boxes == 1:
        bus, binding = speed * share * heads, _NVLINK
        more["ceiling"] = _raised(of["speeds_inside"], speed) * heads * ratio * 1e9
    else:
        outside, binding = _outside(machine)
        counted = _fastest(of["speeds_between"], min(fits, outside / heads))
        outside *= (2 if boxes == 2 and tree else 1) / heads
        ceiling = of["nvls_tree"][min(boxes, 3) - 1] if tree else inf
        inside = max(speed, counted) * share
        bus = min(outside, ceiling, inside) * heads
        more["ceiling"] = min(outside, ceiling, counted * share) * heads * ratio * 1e9
        if inside < min(outside, ceiling):
            binding = _NVLINK
        elif ceiling < outside and machine.cards >= machine.gpus:  # of a channel; with more cards there are more
            binding = "NVLS"
        latency += (2 * int(log2(boxes)) if tree else 1) * across
        if tree and machine.generation > 2 and machine.processor != "arm":
            more["correction"] = _CORRECTION["Simple"]
    return _estimate(name, latency, bus * ratio, binding, **more)


def _collnet(machine: Machine) -> Iterator[Estimate]:
    """CollNetDirect: a GPU with a card is the head of its part; CollNetChain: the sum goes along a box's GPUs.

    Between boxes the network adds.
    """
    heads, others = min(machine.cards, machine.gpus), machine.gpus - 1
    shared = machine.gpus / heads
    share = (COLLNET if machine.generation > 1 else 1.0) / (shared - (shared - 1) / 2)
    inside, outside = _step(machine, "CollNetDirect", 2)
    latency = 2 * (min(1, others) * inside + others * COLLNET_FAN) + outside
    wire, binding = min(_outside(machine), (prod(_inside(machine)), machine.inner))
    if machine.linked and machine.joined[0] == "switch" and not machine.dies:  # tuning.cc: off without an NVSwitch
        yield _estimate("CollNetDirect", latency, wire * share / 2, binding)
    wire, _, binding = _wires(machine)
    inside, outside = _step(machine, "CollNetChain", 2)
    yield _estimate("CollNetChain", 2 * others * inside + outside, wire / 2, binding)


def _pat(machine: Machine) -> Estimate:
    """PAT, which takes one GPU a box, for gathering and scattering."""
    wire, _, binding = _wires(machine)
    _, outside = _step(machine, "PAT", 2)
    latency = BASE["PAT"][2] + int(log2(machine.boxes)) * outside * PAT_LOG + machine.ranks * PAT_EACH
    return _estimate("PAT", latency, PAT * wire, binding)


def _sends(machine: Machine, collective: str) -> Estimate:
    """Sends and receives, which NCCL's model does not price: links at the speeds of its channels, cards as wires."""
    n, gpus, pair = machine.ranks, machine.gpus, collective == "sendrecv"
    bus, step, binding = prod(_inside(machine, collective)), NVLINK_STEP, machine.inner
    if machine.boxes > 1:
        outside, way = _outside(replace(machine.one_sender, gpus=1) if pair else machine, sends=True)  # one to the next
        outside /= 1.0 if pair else gpus * (n - gpus) / (n - 1)
        step = NETWORK_STEP
        bus, binding = min((outside, way), (bus, binding), key=itemgetter(0))
    peers = 0 if pair else n - gpus or n - 1
    rate = bus * (1.0 if pair else n / (n - 1))
    return _estimate("direct", BASE["ring"][2] + step["ring"][2], rate, binding, peers=peers)


def _step(machine: Machine, algorithm: str, p: int) -> tuple[float, float]:
    """A step in a box and between boxes; with one GPU a box, the tree's between boxes."""
    inside = NVLINK_STEP if machine.linked else PCIE_STEP
    return inside[algorithm][p], NETWORK_STEP["tree" if machine.gpus == 1 else algorithm][p]


def _processor(machine: Machine) -> dict[str, list[float]]:
    constants: dict[str, list[float]] = _TABLE["processor"]["amd" if machine.processor == "amd" else "other"]
    return constants


def _most_ll(machine: Machine) -> float:
    """The rate that LL reaches at most: a matter of the GPUs in a box, and of the processors between boxes."""
    if machine.boxes == 1:
        return float(GENERATIONS[machine.generation]["ll_inside"])
    return _processor(machine)["ll_between"][min(machine.boxes, 3) - 2]


def _estimate(name: str, latency: float, algbw: float, binding: str, *, p: int = 2, **more: Any) -> Estimate:
    return Estimate(name, PROTOCOLS[p], latency * 1e-6, algbw * 1e9, binding, **more)

"""What may slow a run down, and the evidence for each: weights add up, the heaviest is named first."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from csv import DictReader
from dataclasses import dataclass, replace
from importlib.resources import files
from math import inf
from string import digits
from typing import Any

from colllib.measured.expected import PAIRS, UNSURE, expected, filled, totals_of
from colllib.measured.log import Run
from colllib.measured.predict import Prediction, predict
from colllib.measured.segments import LARGE, Shape
from colllib.measured.tuning import NETWORK_STEP, NVLINK_STEP, SINCE
from colllib.topology.machines import UNKNOWN, Machine
from colllib.units import binary_size, percent, several

_ROWS = DictReader((files("colllib") / "measured" / "causes.csv").read_text(encoding="utf-8").splitlines())
_IN_A_BOX = " in a box"  # behind a cause that reads otherwise where no network is in use
_ADVICE = {row["cause"]: (row["words"], row["next_test"], row["settings"].split(), row["remedy"]) for row in _ROWS}
#: By name: the words for it, what to run next, with which settings of the library, and what mends it.
CAUSES = {name: words for name, words in _ADVICE.items() if not name.endswith(_IN_A_BOX)}
CERTAIN = 3.0  # the weight of what the log itself says
MANY_CARDS = 8  # of a box: nobody builds it with one less, where 5 or 6 may be four and some for storage


def advice(cause: str, boxes: int | None, vendor: str = "") -> tuple[str, str, list[str], str]:
    """As in `CAUSES`, for a run in so many boxes, and for the GPUs of one vendor where it is known."""
    words, test, settings, remedy = _ADVICE.get(f"{cause}{_IN_A_BOX}" if boxes == 1 else cause, _ADVICE[cause])
    return words, of_vendor(test, vendor), settings, of_vendor(remedy, vendor)


def of_vendor(text: str, vendor: str) -> str:
    """What of a text is for the GPUs of a vendor; all of it where nobody knows which.

    "(AMD: …)", one between two semicolons and without parentheses in it, stands for all since the last semicolon.

    >>> [of_vendor("slots; nvidia-smi (AMD: rocm-smi), then wait", vendor) for vendor in ("nvidia", "amd")]
    ['slots; nvidia-smi, then wait', 'slots; rocm-smi, then wait']
    """
    return re.sub(r"([^\s;][^;]*) \(AMD: ([^()]*)\)", rf"\{1 + (vendor == 'amd')}", text) if vendor else text


@dataclass(frozen=True)
class Evidence:
    """A cause, how much speaks for it, and what."""

    cause: str
    weight: float
    text: str
    test: str = ""  # what to look at before the cause's own next test


def of_the_log(run: Run, boxes: int | None, usual_cards: int = 0) -> Iterator[Evidence]:
    """What the text around the table says, of the network only between boxes; `usual_cards` are those of a box."""
    facts = run.facts
    if boxes != 1:
        yield from _of_the_network(facts, usual_cards)
    if facts.get("NCCL_P2P_DISABLE") == "1" or facts.get("NCCL_P2P_LEVEL") in ("LOC", "0"):
        yield Evidence("p2p-disabled", CERTAIN + 1, "the settings switch peer-to-peer copies off")
    elif "no p2p" in facts:
        yield Evidence("p2p-disabled", CERTAIN, "the library says that peer-to-peer is disabled between GPUs")
    elif "via SHM" in facts:
        weight, channels = (1.0, "some channels") if "via P2P" in facts else (CERTAIN, "channels")
        yield Evidence("p2p-disabled", weight, f"{channels} go via shared memory, not peer to peer")
    links = [float(rate) for rate in facts.get("links", "").split()]
    if run.ranks == 2 and links[1:] and 2 * links[0] < links[-1]:  # a mesh of more may have them so by design
        text = f"some NVLinks are down: the log shows {links[0]:g} and {links[-1]:g} GB/s between the same two GPUs"
        yield Evidence("other", CERTAIN, text, "nvidia-smi nvlink -s")
    if "iommu" in facts:
        yield Evidence("p2p-disabled", 1.5, "the library misses iommu=pt, which peer-to-peer copies need")
    if any(name in facts for name in ("NCCL_ALGO", "NCCL_PROTO", "NCCL_MAX_NCHANNELS")):
        yield Evidence("misconfiguration", 0.7, "algorithm, protocol or channels are forced by settings")


def _of_the_network(facts: Mapping[str, str], usual_cards: int) -> Iterator[Evidence]:
    sockets = (facts.get(key, "").lower().startswith("socket") for key in ("network", "NCCL_NET", "via NET"))
    if any(sockets) or facts.get("provider") in ("tcp", "sockets"):
        yield Evidence("misconfiguration", CERTAIN, "the log says that NCCL uses sockets")
        yield Evidence("nic-limited", CERTAIN - 1, "sockets leave most of a fast card unused")
        return
    if facts.get("NCCL_IB_DISABLE") == "1":
        yield Evidence("misconfiguration", CERTAIN, "NCCL_IB_DISABLE=1 switches RDMA off")
    off = facts.get("NCCL_NET_GDR_DISABLE") == "1" or facts.get("FI_EFA_USE_DEVICE_RDMA") == "0"
    if facts.get("NCCL_NET_GDR_LEVEL") in ("LOC", "0") or off:
        yield Evidence("no-gdr", CERTAIN + 1, "the settings switch GPUDirect RDMA off")
    elif "rdma" not in facts and ("via NET" in facts or "no rdma" in facts):
        yield Evidence("no-gdr", CERTAIN, "channels go via the network without GDRDMA")
    for key, certainty in (("cards", CERTAIN), ("named cards", 1.5)):
        if (used := int(facts.get(key, usual_cards))) < usual_cards:
            cause, weight = ("single-nic", certainty) if used == 1 else ("misconfiguration", 1.0)
            text, missing, test = f"the library uses {used} of {several(usual_cards, 'card')}", "", ""
            if key == "cards" and used + 1 == usual_cards >= MANY_CARDS:
                names = facts.get("names of cards", "").split()
                numbered = {f"{names[0].rstrip(digits)}{k}" for k in range(usual_cards)} if names else set()
                missing = "".join(numbered - {*names}) if numbered > {*names} else ""
                weight, test = certainty, f"ibstat {missing or 'for every card'} on each host, and NCCL_IB_HCA"
            yield Evidence(cause, weight, text + f", not {missing}" * bool(missing), test)


def modeled(machine: Machine, form: Shape, **changed: Any) -> Prediction:
    """What the largest message should take on such a machine, or one that differs in something."""
    return predict(replace(machine, **changed), form.collective, form.largest)


def of_nvls(machine: Machine, form: Shape, facts: Mapping[str, str]) -> Iterator[Evidence]:
    """Whether the switch adds nothing though it could: by the log, or in a box by the speed of another algorithm."""
    added, plain = modeled(machine, form), modeled(machine, form, nvls=False)
    algorithm, ran = added.picked.split("/")[0], facts.get("version", "")
    if not algorithm.startswith("NVLS"):
        return
    rates = f"{plain.picked} would give {plain.busbw / 1e9:.3g} GB/s, {added.picked} {added.busbw / 1e9:.3g}"
    reason = "the library says that NVLS is not available" if "no nvls" in facts else ""
    if ran and int(ran.split(".")[1]) < SINCE[algorithm]:
        reason = f"NCCL {ran} has no {algorithm}, which came with 2.{SINCE[algorithm]}"
    if reason:
        yield Evidence("nvls", CERTAIN if machine.boxes == 1 else 2.0, f"{reason}: {rates}")
    elif machine.boxes == 1 and UNSURE * plain.busbw <= form.measured <= (plain.busbw * added.busbw) ** 0.5:
        yield Evidence("nvls", 2.0, f"as fast as without NVLS: {rates}")


def of_the_numbers(machine: Machine, form: Shape, facts: Mapping[str, str]) -> Iterator[Evidence]:
    """What the numbers say of a slow run; where the log shows GPUDirect RDMA, its way over PCIe is what can be slow."""
    if "beside" in facts:
        text = f"the {facts['beside']} beside it is healthy over the same cards: the choice of algorithm may be slow"
        yield Evidence("other", 1.5, text)
        return
    direct = "rdma" in facts and "no rdma" not in facts
    rdma = facts.get("network", "").startswith(("IB", "AWS")) or facts.get("provider") in ("efa", "cxi")
    all_used = int(facts.get("cards", "0")) >= machine.cards > 1
    for mark in _of_the_numbers(machine, form):
        if "host memory" in facts and mark.cause in ("no-gdr", "p2p-disabled"):
            continue  # no GPU's memory takes part
        if mark.cause == "no-gdr" and direct:
            detour = "GPUDirect RDMA is on, but may go through the processor (ACS, or a card far from its GPU)"
            yield replace(mark, cause="pcie-limited", text=detour)
        elif all_used and mark.cause == "single-nic":
            text = f"{mark.text}, but the library uses all {machine.cards}: one slow card or link holds up the rest"
            yield Evidence("nic-limited", 1.0, text)
        elif (direct or all_used or rdma) and mark.cause == "misconfiguration":
            yield replace(mark, weight=mark.weight / 2)  # it is in use, at least
        else:
            yield mark


def _of_the_numbers(machine: Machine, form: Shape) -> Iterator[Evidence]:
    if machine.boxes == 1:
        if form.largest >= LARGE:
            yield from _inside_a_box(machine, form)
        return
    if form.erratic and form.fastest >= expected(machine, form.collective).low:
        text = f"large messages reach {max(form.best, form.fastest) / 1e9:.3g} GB/s: what slows others comes and goes"
        yield Evidence("congestion", 1.4 + (1.0 if machine.boxes >= 8 else 0), text)
        yield Evidence("other", 1.3, text)
        return
    if form.erratic:
        text = "busbw is erratic at large sizes"
        yield Evidence("no-gdr", 1.4 + (0.8 if machine.boxes == 2 else 0), text)
        yield Evidence("congestion", 1.2 + (1.2 if machine.boxes >= 8 else 0), text)
        yield Evidence("misconfiguration", 0.8, text)
    if machine.far:
        text = f"no GPU reaches {machine.far} of {machine.cards} cards without crossing the processor"
        yield Evidence("no-gdr", (CERTAIN - 0.5) * min(1.0, machine.far / machine.cards), text)
    if form.collective in PAIRS:
        yield from _of_pairs(machine, form)
    else:
        yield from _of_a_ring(machine, form)


def _of_pairs(machine: Machine, form: Shape) -> Iterator[Evidence]:
    reached = form.measured / expected(machine, form.collective).least
    one_pair = form.collective == "sendrecv"
    if reached < 0.15:
        yield Evidence("misconfiguration", 1.6, f"{percent(reached)} of what a pair should get, as over sockets")
    if machine.boxes == 2:
        yield Evidence("no-gdr", 1.2, "copies through host memory can cost a pair as much")
    else:
        yield Evidence("congestion", 1.5 if one_pair else 1.2, "many flows cross the fabric at once")
    text = f"GPUs share {machine.cards} cards" if machine.gpus > 1 else "a card may be slow, or in a narrow slot"
    yield Evidence("nic-limited", 1.4 if machine.boxes > 2 and not one_pair else 1.1, text)
    yield Evidence("other", 0.8, "the library may give a pair few channels")


def _of_a_ring(machine: Machine, form: Shape) -> Iterator[Evidence]:
    waiting, share = waits(machine, form), form.measured / machine.network
    if waiting > 0.15:
        text = f"latencies over {machine.ranks} ranks are {waiting:.2g} times the time of the largest message"
        twice = 1 - min(1, 2 * waiting)  # steps over other networks than InfiniBand take up to twice as long
        explained = form.measured >= UNSURE * twice * expected(machine, form.collective).least
        yield Evidence("latency-bound", min(2.5, 8 * waiting) if explained else 0.7, text)
    if form.erratic:
        return
    one_card = 0.0 if machine.cards_known else filled(form.measured, totals_of(machine))
    if 0 < one_card <= UNKNOWN.card:
        yield Evidence("single-nic", 2.2, f"busbw is that of one card of {one_card * 8 / 1e9:g} Gb/s")
    elif machine.cards > 1 and waiting <= 0.15:
        one = machine.one_card
        alone = modeled(one, form).busbw  # over two boxes of a tree, too
        if 0.75 * one.rate <= form.measured <= 1.05 * one.rate or 0.85 <= form.measured / alone <= 1.15:
            yield Evidence("single-nic", 2.2, f"busbw is that of one card of {machine.cards}")
    if machine.name == "GB10" and 0.6 <= form.measured / (machine.pcie / 4) <= 1:
        yield Evidence("single-nic", 2.2, "busbw is that of one of the port's two devices, with 4 lanes of PCIe each")
    limit, whose = ("cards set", "cards'") if machine.oversubscription == 1 else ("spine sets", "spine's")
    yield Evidence("nic-limited", 1.1, f"between boxes the {limit} the limit, the slowest for all")
    if machine.boxes >= 8:
        yield Evidence("congestion", 1.2, f"{machine.boxes} boxes share the fabric")
    if share < 0.3:
        if machine.name == UNKNOWN.name and not machine.cards_known:
            whose = "richest usual cards'"
        yield Evidence("misconfiguration", 1.6, f"{percent(share)} of the {whose} rate, on a smooth curve")
        yield Evidence("no-gdr", 1.25, "copies through host memory can cost as much")
        return
    if machine.cards > 1:
        yield from _half_of_the_cards(machine, form)
    about = "about what" if share < 0.5 else "more than"
    text = f"{share:.0%} of the {whose} rate, {about} copies through host memory leave"
    yield Evidence("no-gdr", 1.3 if share < 0.65 else 0.9, text)
    unused = "some of the cards may not be in use"
    yield Evidence("misconfiguration", 0.8, unused if machine.cards > 1 else "an MTU of 1500 can cost as much")


def _half_of_the_cards(machine: Machine, form: Shape) -> Iterator[Evidence]:
    slow = modeled(machine, form, card=machine.card / 2).busbw
    few = modeled(machine, form, cards=machine.cards // 2).busbw
    if 0.9 * min(slow, few) <= form.measured <= 1.1 * max(slow, few):
        text = "cards or slots at half their rate, or links up that are half as wide, would give"
        yield Evidence("nic-limited", 0.6, f"{text} {slow / 1e9:.3g} GB/s")
        yield Evidence("misconfiguration", 0.7, f"half of the cards would give {few / 1e9:.3g} GB/s")
        yield Evidence("congestion", 0.2, "links up that are half as wide make flows collide")
    elif machine.network / 2 < form.measured < min(slow, few):
        text = f"half of the cards would give {few / 1e9:.3g} GB/s, and cards of half the rate {slow / 1e9:.3g}"
        yield Evidence("other", 1.4, f"{text}: no fault that is known leaves just as much")


def waits(machine: Machine, form: Shape) -> float:
    """Latencies over the time of the largest message: of a ring's steps, but no less or more than the sweep shows."""
    steps, (least, most) = 0.0, (0.0, inf)
    if machine.boxes > 1 and form.collective not in PAIRS:
        inside, outside = NVLINK_STEP["ring"][2], NETWORK_STEP["ring"][2]  # microseconds
        steps = 1e-6 * ((machine.ranks - machine.boxes) * inside + (machine.boxes - 1) * outside)
    if form.fitted:
        line = form.fitted[-1]
        least, most = (end / line.seconds(form.largest) for end in line.constant_interval)
    return min(max(steps * form.measured / form.largest, least), most)


def _inside_a_box(machine: Machine, form: Shape) -> Iterator[Evidence]:
    share = form.best / machine.pcie
    if machine.linked and share > 1:
        yield Evidence("misconfiguration", 1.2, "more than PCIe carries, less than all links: some are not in use")
        yield Evidence("other", 0.9, "a GPU may be slow or its links degraded")
        return
    if 2 < machine.gpus <= machine.mesh and form.measured <= machine.link / machine.mesh:
        yield Evidence("misconfiguration", 2.0, "no more than one link of the mesh: one ring through part of it")
    kind = "PCIe 5.0" if machine.name == UNKNOWN.name else "PCIe"  # of the fastest that it may be
    about = f"{form.measured / 1e9:.3g} of a {kind} slot's {machine.pcie / 1e9:.3g} GB/s"
    slot, copies = (1.7, 1.3) if machine.linked and (share > 0.45 or machine.gpus > 2) else (1.2, 1.7)
    yield Evidence("pcie-limited", slot, f"{about}: the data cross PCIe")
    yield Evidence("p2p-disabled", copies, f"{about}: copies through host memory")


def noted(form: Shape) -> Iterator[Evidence]:
    """What is worth a note whatever the speed."""
    if form.step_back and not form.erratic:
        size = binary_size(form.step_back)
        weight = 0.7 if form.largest >= LARGE else 2.5  # small messages show little but the choice of protocol
        yield Evidence("protocol-switch", weight, f"a message larger than {size} takes less time than it")


def weighed(evidence: list[Evidence]) -> list[tuple[str, float]]:
    """Causes and their weights, heaviest first.

    >>> weighed([Evidence("no-gdr", 1.0, ""), Evidence("other", 1.5, ""), Evidence("no-gdr", 1.0, "")])
    [('no-gdr', 2.0), ('other', 1.5)]
    """
    total: defaultdict[str, float] = defaultdict(float)
    for mark in evidence:
        total[mark.cause] += mark.weight
    return sorted(total.items(), key=lambda pair: (-pair[1], list(CAUSES).index(pair[0])))

"""Answers on all-to-all: pairwise exchange, ring relay, Bruck with its rotations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cache, partial

import numpy as np

from colllib.algorithms import alltoall, of
from colllib.claims.finding import Finding, answer, counted, not_checkable
from colllib.claims.model import POWERS, SIZES
from colllib.claims.traces import agreeing
from colllib.cost import Cost, crossover
from colllib.events import event_clock
from colllib.execution import Execution, execute, trace
from colllib.ladder import ANCHOR_ALPHA, ANCHOR_BANDWIDTH, ANCHOR_MESSAGE
from colllib.primitives import PRIMITIVES, all_to_all
from colllib.schedule import Schedule, pipelined
from colllib.topology import ring

CHAPTER = "08-all-to-all"
SMALL_POWERS = tuple(n for n in POWERS if n <= 64)

not_checkable(
    CHAPTER,
    {
        "E-01-112": "A statement about what NCCL ships; its source (ncclP2pSchedule in src/init.cc) goes through "
        "groups of ranks at the offsets 0, 1, 3, 6, 10, ..., and only inside a group at 0, 1, 2, ....",
    },
)


def _log(n: int) -> int:
    return (n - 1).bit_length()


def _pairwise_cost(n: int) -> Cost:
    return Cost(n - 1, Fraction(n - 1, n))


@cache
def _relay_on_ring(n: int, tie: str = "up", bundled: bool = False) -> Execution:
    return execute(alltoall.ring_relay(n, tie=tie, bundled=bundled), ring(n))


# -- what every all-to-all moves --------------------------------------------------------------


@answer(CHAPTER, "E-01-099")
def _all_ranks_together() -> Finding:
    executed = {n: sum(execute(alltoall.pairwise(n)).sent) for n in SIZES}
    return Finding.compare({n: Fraction(n - 1) for n in SIZES}, executed)


@answer(CHAPTER, "E-01-100")
def _most_bandwidth_hungry() -> Finding:
    least = {}
    for name in PRIMITIVES:
        builds = [partial(a.build, segments=100) if a.segmented else a.build for a in of(name) if a.fits(8)]
        least[name] = min(execute(build(8)).cost.n_beta for build in builds)
    hungriest = [name for name, load in least.items() if load == max(least.values())]
    because = (
        "On one port per rank an all-to-all needs (N-1)/N, as much as an all-gather and half of an all-reduce; it is "
        "the hungriest where blocks must cross several links, as on a ring from N = 8 on."
    )
    return Finding.compare("all-to-all", ", ".join(hungriest), because)


@answer(CHAPTER, "E-01-117")
def _nothing_to_combine_or_replicate() -> Finding:
    executed = {}
    for n in SIZES:
        blocks = all_to_all(n)
        ends = np.concatenate((blocks.source, blocks.target)).tolist()
        executed[f"blocks with several sources or targets, N = {n}"] = sum(len(blocks.holders(who)) > 1 for who in ends)
    return Finding.compare(dict.fromkeys(executed, 0), executed)


# -- pairwise exchange ------------------------------------------------------------------------


@answer(CHAPTER, "E-00-033", "E-01-111", "E-01-115")
def _pairwise() -> Finding:
    return counted({"pairwise": alltoall.pairwise}, _pairwise_cost, SIZES)


@answer(CHAPTER, "E-01-173")
def _pairwise_of_four() -> Finding:
    return Finding.compare(Cost(3, Fraction(3, 4)), execute(alltoall.pairwise(4)).cost)


def _kept(schedule: Schedule, t: int) -> list[set[str]]:
    """What each rank holds after t steps and has not sent on, in the source's names: v01 from rank 0 to rank 1."""
    n = schedule.ranks
    sent = {
        (src, block)
        for step in map(schedule.step, range(t))
        for src, block in zip(step.src.tolist(), step.block.tolist(), strict=True)
    }
    held = [set[str]() for _ in range(n)]
    for rank, block in list(trace(schedule))[t]:
        if (rank, block) not in sent:
            held[rank].add(_name(n, block))
    return held


def _name(n: int, block: int) -> str:
    return f"v{block // n}{block % n}"


def _sets(printed: str, executed: list[set[str]]) -> Finding:
    """Printed sets of blocks, one rank a line, against executed ones."""
    rows = [set(line.split()) for line in printed.strip().splitlines()]
    claimed = {f"R{rank} holds {name}": name in rows[rank] for rank in range(4) for name in rows[rank] | executed[rank]}
    found = {
        f"R{rank} holds {name}": name in executed[rank] for rank in range(4) for name in rows[rank] | executed[rank]
    }
    return agreeing(claimed, found)


_PAIRWISE_STATES = {
    "E-01-108": (1, "v00 v02 v03 v30\n v01 v10 v11 v13\n v12 v20 v21 v22\n v23 v31 v32 v33"),
    "E-01-109": (2, "v00 v03 v20 v30\n v01 v10 v11 v31\n v02 v12 v21 v22\n v13 v23 v32 v33"),
    "E-01-110": (3, "v00 v10 v20 v30\n v01 v11 v21 v31\n v02 v12 v22 v32\n v03 v13 v23 v33"),
}


def _pairwise_state(t: int, printed: str) -> Finding:
    return _sets(printed, _kept(alltoall.pairwise(4), t))


for _id, (_t, _printed) in _PAIRWISE_STATES.items():
    answer(CHAPTER, _id)(partial(_pairwise_state, _t, _printed))


@answer(CHAPTER, "E-01-113")
def _rounds_do_not_overlap() -> Finding:
    """In lock-step, the clock of the text; the event clock's answer is the note."""
    claimed, executed = {}, {}
    for n in (4, 7, 8):
        for p in (1, 2, 4, 16):
            cost = execute(pipelined(alltoall.pairwise(n), p)).cost
            claimed[f"N = {n}, {p} pieces"] = [Fraction(n - 1, n), True]
            executed[f"N = {n}, {p} pieces"] = [Fraction(cost.n_beta), cost.n_alpha >= n - 1]
    clock = event_clock(alltoall.pairwise(64), message=ANCHOR_MESSAGE, alpha=ANCHOR_ALPHA, bandwidth=ANCHOR_BANDWIDTH)
    latencies = (clock.seconds - 63 / 64 * ANCHOR_MESSAGE / ANCHOR_BANDWIDTH) / ANCHOR_ALPHA
    where = (
        "In lock-step, and for the bytes of a port under any clock. Latencies may overlap, as no round needs what "
        f"another delivers: where alpha delays a message without occupying its port, 63 rounds cost {latencies:.0f} of "
        "them."
    )
    return Finding.compare(claimed, executed, "Segments go below the floor.").holding(
        where, "n_beta = (N-1)/N in 1 to 16 pieces, N = 4, 7 and 8"
    )


# -- ring relay -------------------------------------------------------------------------------

_RELAY = (
    "A block for distance d loads d links, so with shortest ways the busier links carry N/2 (N/2 + 1) / 2 blocks of "
    "M/N for even N: N-1 of them, in as many steps, only up to N = 4."
)


@answer(CHAPTER, "E-00-034")
def _relay_steps() -> Finding:
    executed = {n: alltoall.ring_relay(n, bundled=False).num_steps for n in SIZES}
    because = (
        "With one block on a link and step, distances 1 to N/2 need 1 + 2 + ... + N/2 steps: N-1 only up to N = 4 "
        "(with bundles, N/2 steps)."
    )
    return Finding.compare({n: n - 1 for n in SIZES}, executed, because)


def _delivered(t: int) -> list[set[str]]:
    """The blocks that have reached their destination on each of four ranks, after t steps of the relay."""
    state = list(trace(alltoall.ring_relay(4, bundled=False)))[t]
    return [{_name(4, block) for at, block in state if at == rank == block % 4} for rank in range(4)]


@answer(CHAPTER, "E-01-101")
def _relay_first_step() -> Finding:
    return _sets("v00 v10 v30\n v01 v11 v21\n v12 v22 v32\n v03 v23 v33", _delivered(1))


@answer(CHAPTER, "E-01-102")
def _relay_parked() -> Finding:
    # what arrives in step 2 and is not at its destination, and that nothing is delivered
    step = alltoall.ring_relay(4, bundled=False).step(1)
    parked = [
        {_name(4, int(b)) for b, at in zip(step.block, step.dst, strict=True) if at == r != b % 4} for r in range(4)
    ]
    still = [here | there for here, there in zip(parked, _delivered(2), strict=True)]
    return _sets("v31 v00 v10 v30\n v02 v01 v11 v21\n v13 v12 v22 v32\n v20 v03 v23 v33", still)


@answer(CHAPTER, "E-01-103")
def _relay_last_step() -> Finding:
    return _sets(_PAIRWISE_STATES["E-01-110"][1], _delivered(3))


@answer(CHAPTER, "E-01-104")
def _relay_directions() -> Finding:
    schedule = alltoall.ring_relay(4, bundled=False)
    ways = [len(set(((step.dst - step.src) % 4).tolist())) for step in map(schedule.step, range(schedule.num_steps))]
    said = {"its text (both, in every step)": 3, "its table (leftward idle in steps 2 and 3)": 1}
    because = "Leftward there is one block of one hop; it is delivered in the first of the three steps."
    return Finding.statements(said, ways.count(2), because)


@answer(CHAPTER, "E-01-105")
def _relay_busiest_link() -> Finding:
    executed = {n: max(_relay_on_ring(n).link_total) * n for n in SIZES if n > 2}
    return Finding.compare({n: Fraction(n - 1) for n in executed}, executed, _RELAY)


@answer(CHAPTER, "E-01-106", "E-01-114")
def _relay_cost() -> Finding:
    executed = {n: _relay_on_ring(n).cost for n in SIZES}
    return Finding.compare({n: _pairwise_cost(n) for n in SIZES}, executed, _RELAY)


@answer(CHAPTER, "E-01-107")
def _relay_links_of_four() -> Finding:
    run = _relay_on_ring(4)
    counts = [load * 4 for load in run.link_total]
    return Finding.compare({"right": [3] * 4, "left": [1] * 4}, {"right": counts[:4], "left": counts[4:]})


@answer(CHAPTER, "E-01-116")
def _relay_equals_pairwise() -> Finding:
    relays: Mapping[str, Callable[[int], Cost]] = {
        "relay on a ring": lambda n: _relay_on_ring(n).cost,
        "relay on a ring, bundled and split": lambda n: _relay_on_ring(n, "split", True).cost,
        "relay on a star": lambda n: execute(alltoall.ring_relay(n, bundled=False)).cost,
    }
    executed = {f"{name}, N = {n}": cost(n) for name, cost in relays.items() for n in SIZES}
    claimed = {f"{name}, N = {n}": execute(alltoall.pairwise(n)).cost for name in relays for n in SIZES}
    because = (
        "Pairwise moves every block once, the relay d times: its bandwidth term grows like N/8 with a link per "
        "neighbor and like N/4 with one port, while pairwise on a star stays below 1."
    )
    return Finding.compare(claimed, executed, because)


# the headings of part 02, section 3, in order
PART_02_SECTION_3 = (
    "Dim-decomposition",
    "Broadcast",
    "Reduce",
    "All-reduce",
    "All-gather / reduce-scatter",
    "All-to-all",
)


@answer(CHAPTER, "E-01-118")
def _cross_reference() -> Finding:
    because = "Section 3.3 of that file treats the reduce; the ring relay on a torus stands in section 3.6."
    return Finding.compare("All-to-all", PART_02_SECTION_3[3 - 1], because)


# -- Bruck ------------------------------------------------------------------------------------


@answer(CHAPTER, "E-00-035", "E-01-172")
def _bruck() -> Finding:
    return counted({"Bruck": alltoall.bruck}, lambda n: Cost(_log(n), Fraction(_log(n), 2)), SMALL_POWERS)


_BUFFERS = {
    "E-01-168": {
        0: "v00 v01 v02 v03\n v10 v11 v12 v13\n v20 v21 v22 v23\n v30 v31 v32 v33",
        1: "v00 v01 v02 v03\n v11 v12 v13 v10\n v22 v23 v20 v21\n v33 v30 v31 v32",
    },
    "E-01-169": {2: "v00 v30 v02 v32\n v11 v01 v13 v03\n v22 v12 v20 v10\n v33 v23 v31 v21"},
    "E-01-170": {3: "v00 v30 v20 v10\n v11 v01 v31 v21\n v22 v12 v02 v32\n v33 v23 v13 v03"},
}


def _buffers(printed: Mapping[int, str]) -> Finding:
    states = list(alltoall.bruck_buffers(4))
    claimed, executed = {}, {}
    for state, text in printed.items():
        for rank, line in enumerate(text.splitlines()):
            for slot, name in enumerate(line.split()):
                claimed[f"state {state}, R{rank} slot {slot}"] = name
                executed[f"state {state}, R{rank} slot {slot}"] = _name(4, states[state][rank][slot])
    return agreeing(claimed, executed)


for _id, _states in _BUFFERS.items():
    answer(CHAPTER, _id)(partial(_buffers, _states))


def _right(row: list[int], by: int) -> list[int]:
    return [row[(slot - by) % len(row)] for slot in range(len(row))]


@answer(CHAPTER, "E-01-171")
def _post_rotation() -> Finding:
    """Whether "right by i", alone or with either way of reversing, gives the layout that the source prints."""
    sizes = range(3, 9)
    executed = {}
    for how, permute in {
        "right by i": lambda row, i: _right(row, i),
        "right by i, then reversed": lambda row, i: _right(row, i)[::-1],
        "right by i, then reversed but for slot 0": lambda row, i: _right(row, i)[:1] + _right(row, i)[1:][::-1],
    }.items():
        good = []
        for n in sizes:
            *_, before, after = alltoall.bruck_buffers(n)
            good.append(all(permute(before[i], i) == after[i] for i in range(n)))
        executed[f"{how}, N = 3 to 8"] = any(good)
    because = (
        "Slot j must go to slot i - j, which is a reversal in any case: reverse all slots but slot 0 and then rotate "
        "right by i, or reverse all and rotate right by i + 1."
    )
    return Finding.compare(dict.fromkeys(executed, True), executed, because, "bruck1997")


@answer(CHAPTER, "E-01-174")
def _crossover() -> Finding:
    executed = {}
    for n in (4, 8, 64, 512):
        pairwise, bruck = alltoall.pairwise_cost(n), alltoall.bruck_cost(n)
        if n <= 64:
            pairwise, bruck = execute(alltoall.pairwise(n)).cost, execute(alltoall.bruck(n)).cost
        executed[f"alpha BW at N = {n}"] = round(float(crossover(pairwise, bruck) or 0), 1)
    because = (
        "Pairwise has N-1-log2 N latencies more and saves (log2 N)/2 - (N-1)/N of M: the crossover grows almost like "
        "2N / log2 N; section 7.3 does not compute it."
    )
    return Finding.compare(dict.fromkeys(executed, 1.0), executed, because)

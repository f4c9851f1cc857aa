"""What algorithms cost on one switch: one message, every algorithm, bus bandwidth, radices, a switch that takes part.

The controls that explorers of costs share are here, too.
"""

from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from functools import partial

from colllib import ladder
from colllib.algorithms import of, pointtopoint
from colllib.algorithms.alltoall import bruck_cost, pairwise_cost, radices, ring_relay_cost_on_ring
from colllib.algorithms.innetwork import two_shot_cost
from colllib.bounds import bus_factor, lower_bound
from colllib.cost import Cost
from colllib.execution import execute
from colllib.ladder import Entry
from colllib.show.control import Control, Quantity
from colllib.show.explorer import Explorer
from colllib.show.looks import SWITCH
from colllib.show.race import Form, Race, Row, only
from colllib.show.views import Curves, Rows, Turns, Variants
from colllib.switch_gain import able_star, stream_limit
from colllib.topology import star
from colllib.topology.presets import PRESETS

#: A race that the quantities of `two_tiers` price.
two_tier_race = partial(Race, alpha=("alpha", "alpha_out"), bandwidth=("bw", "bw_out"))
#: All small numbers, boxes of 8, racks of 72, round numbers and powers of two.
RANKS = tuple(
    sorted(
        {*range(2, 64), *range(64, 256, 8), *range(256, 1025, 64), *range(72, 577, 72), *(2**k for k in range(11, 17))}
        | {100, 1000, 2304, 4608}
    )
)


def message(start: float = ladder.ANCHOR_MESSAGE) -> Quantity:
    """M, from 100 B to 100 GB on its slider."""
    return Quantity("m", "Message M", "message size", 1e2, 1e11, start)


def alpha(start: float = ladder.ANCHOR_ALPHA) -> Quantity:
    """The latency, from 10 ns to 1 ms on its slider."""
    return Quantity("alpha", "Latency α", "time", 1e-8, 1e-3, start)


def bandwidth(start: float = ladder.ANCHOR_BANDWIDTH) -> Quantity:
    """BW, from 1 GB/s to 10 TB/s on its slider."""
    return Quantity("bw", "Bandwidth BW", "bandwidth", 1e9, 1e13, start)


def prices(
    m: float = ladder.ANCHOR_MESSAGE, a: float = ladder.ANCHOR_ALPHA, bw: float = ladder.ANCHOR_BANDWIDTH
) -> list[Quantity]:
    """M, latency and BW, from where they start."""
    return [message(m), alpha(a), bandwidth(bw)]


def two_tiers() -> list[Quantity]:
    """Latency and bandwidth in the box and between boxes, at first those of a DGX H100."""
    latency, speed = PRESETS["dgx-h100"].speeds(2)
    return [
        replace(alpha(latency[0]), label="Latency in the box"),
        replace(bandwidth(speed[0]), label="BW in the box"),
        replace(alpha(latency[1]), name="alpha_out", label="Latency between boxes"),
        replace(bandwidth(speed[1]), name="bw_out", label="BW of a card"),
    ]


def ranks(start: int = ladder.ANCHOR_RANKS) -> Control:
    """N, from `RANKS`."""
    return Control("n", "Ranks N", RANKS, start, kind="number")


def forms(entries: Iterable[Entry]) -> dict[str, Form]:
    """What each entry costs under its label, or in every base that may be the best where it takes one.

    >>> list(forms(ladder.on_star("all-to-all", name, 8) for name in ("pairwise", "bruck")))
    ['pairwise', 'Bruck, radix 2', 'Bruck, radix 3', 'Bruck, radix 6']
    """
    return {label: form for entry in entries for label, form in Form.variants(entry, entry.algorithm.label).items()}


def on_star(primitive: str, n: int) -> list[Row]:
    """All algorithms for any network that serve N ranks, on a star, and the two lower bounds.

    >>> [row.name for row in on_star("all-gather", 6)]
    ['ring', 'Bruck', 'PAT', 'lower bounds']
    """
    entries = [(a.label, ladder.on_star(primitive, a.name, n)) for a in of(primitive) if a.fits(n)]
    floor = Row("lower bounds", only(lower_bound(primitive, n)), bound=True)
    return [*(Row(label, Form.variants(entry)) for label, entry in entries), floor]


def cost_explorer(primitive: str = "all-reduce") -> Explorer:
    """N, M, alpha and BW against all algorithms of a primitive: curves, table, winner, crossovers.

    >>> cost_explorer()
    Explorer: Cost of an all-reduce (Ranks N, Message M, Latency α, Bandwidth BW)
    """
    race = Race(lambda n: on_star(primitive, n))
    return Explorer(
        f"Cost of {'an' if primitive[0] in 'ao' else 'a'} {primitive}",
        [ranks(), *prices()],
        [
            Curves(race),
            Rows(race, "Algorithms", "All in numbers", "algorithm = title | time | of fastest | n_alpha | n_beta | P"),
            Turns(race, "Where the fastest changes", "Where the fastest changes"),
        ],
        summary="At N = {n} and M = {m}, {fastest} with {time}, {over} times the sum of the two lower bounds{next}.",
        note="Star, one full-duplex port per rank, lock-step clock; one partner a step, in rings both ways and in "
        "double binary trees two: sending to everybody at once is not among these, nor under the bounds. The counts "
        "are closed forms, and tests hold each of them against an execution, message by message. P is the best whole "
        "number of segments for that M (of two trees: of each half), 2²⁰ at most. Each of the two lower bounds holds "
        "by itself; their sum is a floor that no schedule need reach.",
        name="cost",
    )


# -- one message -----------------------------------------------------------------------------------------------------


def message_explorer() -> Explorer:
    """M, alpha and BW of one message: what is latency, what is bytes, and which share of BW arrives.

    >>> message_explorer()
    Explorer: One message (Message M, Latency α, Bandwidth BW)
    """
    cost = execute(pointtopoint.direct(2)).cost
    together = Row("together", only(cost))
    wire = Row("the wire", only(Cost(0, cost.n_beta)), bound=True)
    parts = Race(lambda: [together, Row("latency", only(Cost(cost.n_alpha, 0))), Row("bytes", dict(wire.variants))])
    arrives = Race(lambda: [together, wire])
    return Explorer(
        "One message",
        prices(100e3),
        [
            Curves(parts, what="time", y_label="time", strip=False),
            Curves(
                arrives,
                "Bandwidth that arrives",
                "The bandwidth that arrives",
                what="rate",
                y_label="M over the time",
                strip=False,
            ),
        ],
        summary="{m} take {time:together}: {time:latency} of latency and {time:bytes} of bytes. {rate:together} "
        "arrive, {share:together} of the link. Latency and bytes are equal, and half of BW arrives, at "
        "{even:latency|bytes}.",
        name="message",
    )


# -- bus bandwidth ---------------------------------------------------------------------------------------------------


FEW = "ring and switch"


def _busbw_rows(primitive: str, n: int, shown: str) -> list[Row]:
    """Every algorithm on a star, for an all-reduce also through a switch that adds, and the wire."""
    factor = bus_factor(primitive, n)
    rows = [Row(row.name, row.variants, factor=factor) for row in on_star(primitive, n) if not row.bound]
    if primitive == "all-reduce":
        rows.append(Row(SWITCH, {"": Form.fitted(partial(two_shot_cost, star(n)))}, factor=factor))
    if shown == FEW:
        rows = [row for row in rows if row.name in ("ring", SWITCH)]
    return [*rows, Row("the wire", only(Cost(0, 1)), bandwidth=("bw",), bound=True)]


def busbw_explorer() -> Explorer:
    """A primitive, N, M, alpha, BW and what the wire yields of it: the bus bandwidth of every algorithm.

    >>> busbw_explorer()
    Explorer: Bus bandwidth (Primitive, Ranks N, Algorithms, Message M, Latency α, Bandwidth BW, Efficiency)
    """
    race = Race(_busbw_rows, bandwidth=("bw*eff",))
    heads = "algorithm = title | time | algbw | busbw | P"
    return Explorer(
        "Bus bandwidth",
        [
            Control("primitive", "Primitive", ladder.PRIMITIVES, "all-reduce", kind="select"),
            ranks(8),
            Control("shown", "Algorithms", lambda primitive: (FEW, "all") if primitive == "all-reduce" else ("all",)),
            *prices(1e9, 2e-6, 450e9),
            Quantity("eff", "Efficiency", "number", 0.01, 1.0, 1.0),
        ],
        [
            Curves(race, "Bus bandwidth against message size", what="rate", y_label="busbw", log=False),
            Rows(race, "What nccl-tests would print", "What nccl-tests would print", heads),
        ],
        summary="Of {shown}, at N = {n} and M = {m}, {fastest}: busbw {rate}, {share} of the wire. Assumed: a wire "
        "of {bw}, efficiency {eff}, and calls that are nothing but their messages.",
        note="Star, one full-duplex port per rank, lock-step clock, best whole number of segments, Bruck's all-to-all "
        "in its best radix. The dotted line is one port, one way. The efficiency multiplies BW for every algorithm "
        "alike. Time of a call only: no launch, no protocol.",
        name="busbw",
    )


# -- an all-to-all between Bruck and pairwise exchange ---------------------------------------------------------------


def _between(n: int) -> list[Row]:
    """Bruck with the best radix, and both ends of the scale."""
    return [
        Row("Bruck, best radix", {f"radix {k}": Form((bruck_cost(n, k),)) for k in radices(n)}),
        Row("Bruck, radix 2", only(bruck_cost(n))),
        Row("pairwise", only(pairwise_cost(n))),
        Row("lower bounds", only(lower_bound("all-to-all", n)), bound=True),
    ]


def on_other_wires(n: int) -> list[Row]:
    """The same bytes on another clock, and on the wires of a ring."""
    relay = ring_relay_cost_on_ring(n, "split")
    costs = (
        ("pairwise", pairwise_cost(n), "star, lock-step"),
        ("pairwise, ports never idle", Cost(1, pairwise_cost(n).n_beta), "star, event clock"),
        ("ring relay", relay, "ring, lock-step"),
        ("ring relay, links of BW/2", Cost(relay.n_alpha, 2 * Fraction(relay.n_beta)), "ring, lock-step"),
    )
    return [Row(name, only(cost), more={"where": setting}) for name, cost, setting in costs]


def alltoall_explorer() -> Explorer:
    """N, M, alpha and BW against the radix of an all-to-all, with pairwise exchange and a ring relay beside it.

    The counts are those of closed forms that tests hold against execution; the event clock's row is
    the one that `event_clock` confirms for pairwise exchange.

    >>> alltoall_explorer()
    Explorer: All-to-all: steps against bytes (Ranks N, Message M, Latency α, Bandwidth BW)
    """
    race = Race(_between)
    heads = "algorithm = name | where | time | n_alpha | n_beta"
    return Explorer(
        "All-to-all: steps against bytes",
        [ranks(), *prices()],
        [
            Curves(race, strip=False),
            Variants(race, "Time against radix", "Every radix that is best somewhere", x_label="radix k"),
            Rows(Race(on_other_wires), "On other clocks and wires", "On other clocks and wires", heads),
        ],
        summary="At N = {n} and M = {m}, {variant:Bruck, best radix} is fastest on a star with "
        "{time:Bruck, best radix}; radix 2 (Bruck) takes {times:Bruck, radix 2|Bruck, best radix}, radix N "
        "(pairwise exchange) {times:pairwise|Bruck, best radix}.",
        note="M is what each rank sends in all, so M/N goes to each destination. Radix 2 is Bruck's algorithm, radix "
        "N is pairwise exchange; all radices between are counted. On the star a rank has one full-duplex port of BW, "
        "on the ring a link of BW to each neighbor, which together send twice as much; links of BW/2 make it equal.",
        name="alltoall",
    )


# -- a switch that takes part ----------------------------------------------------------------------------------------


#: The part of alpha that the switch takes.
PARTS = {Fraction(1, 10): "10%", Fraction(2, 5): "40%", Fraction(4, 5): "80%"}


def _gains(primitive: str, n: int, part: Fraction) -> list[Row]:
    """The fastest software, the fastest algorithm through the switch, and the switch without whole segments."""
    topology = able_star(n, float(1 - part), float(part))
    entries = [Entry(algorithm, topology, trusting=True) for algorithm in ladder.offered(primitive, topology)]
    counted = [entry for entry in entries if entry.how == ladder.CLOSED_FORM]
    return [
        Row("software", forms(entry for entry in counted if entry.algorithm.takes == "ranks")),
        Row("switch, lock-step", forms(entry for entry in counted if entry.algorithm.takes == "topology")),
        Row("switch, streaming", only(stream_limit(primitive, n))),
    ]


def inc_explorer() -> Explorer:
    """Collective, N, M, alpha, BW and the switch's part of alpha: the gain of the switch over the message size.

    >>> inc_explorer()
    Explorer: What the switch gains (Collective, Ranks N, Message M, Latency α, Bandwidth BW, Switch's part of α)
    """
    race = Race(_gains)
    gain = "times as fast as software"
    return Explorer(
        "What the switch gains",
        [
            Control("primitive", "Collective", ladder.PRIMITIVES, "all-reduce", "select"),
            ranks(),
            *prices(),
            Control("part", "Switch's part of α", PARTS, Fraction(2, 5)),
        ],
        [
            Curves(race, what="gain", y_label=gain, log=False, strip=False),
            Rows(race, "The race", "The race in numbers", " = name | by = variant | time | n_alpha | n_beta"),
        ],
        summary="{primitive} of {m} on {n} ranks: the fastest software in lock-step is {variant:software} with "
        "{time:software}. The switch is {gain:switch, lock-step} times as fast in lock-step, streaming "
        "{gain:switch, streaming} times.",
        note="One switch, one full-duplex port of BW per rank. Endpoint and switch together are one alpha, for "
        "software and switch alike. Lock-step clock at the best whole number of segments; streaming is what the event "
        "clock tends to in ever more of them. There software gains, too: pairwise all-to-all is then as fast as the "
        "streaming switch. In a reduce-scatter every rank pushes its whole vector.",
        name="switch",
    )

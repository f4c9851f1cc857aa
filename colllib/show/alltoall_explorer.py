"""The all-to-all explorer: from Bruck to pairwise exchange by the radix, and the same bytes on a ring."""

from fractions import Fraction

from colllib.algorithms.alltoall import bruck_cost, pairwise_cost, radices, ring_relay_cost_on_ring
from colllib.bounds import lower_bound
from colllib.cost import Cost
from colllib.show.cost_explorer import prices, ranks
from colllib.show.explorer import Explorer
from colllib.show.race import Form, Race, Row, only
from colllib.show.views import Curves, Rows, Ways


def rows(n: int) -> list[Row]:
    """Bruck with the best radix, and both ends of the scale."""
    bound = lower_bound("all-to-all", n)
    return [
        Row("Bruck, best radix", {f"radix {k}": Form((bruck_cost(n, k),)) for k in radices(n)}),
        Row("Bruck, radix 2", only(bruck_cost(n))),
        Row("pairwise", only(pairwise_cost(n))),
        Row("lower bounds", only(Cost(bound.n_alpha, bound.n_beta)), bound=True),
    ]


def elsewhere(n: int) -> list[Row]:
    """The same bytes on another clock, and on the wires of a ring."""
    relay = ring_relay_cost_on_ring(n, "split")
    found = (
        ("pairwise", pairwise_cost(n), "star, lock-step"),
        ("pairwise, ports never idle", Cost(1, pairwise_cost(n).n_beta), "star, event clock"),
        ("ring relay", relay, "ring, lock-step"),
        ("ring relay, links of BW/2", Cost(relay.n_alpha, 2 * Fraction(relay.n_beta)), "ring, lock-step"),
    )
    return [Row(name, only(cost), more={"where": where}) for name, cost, where in found]


def alltoall_explorer() -> Explorer:
    """N, M, alpha and BW against the radix of an all-to-all, with pairwise exchange and a ring relay beside it.

    The counts are those of closed forms that tests hold against execution; the event clock's row is
    the one that `event_clock` confirms for pairwise exchange.

    >>> alltoall_explorer()
    Explorer: All-to-all: steps against bytes (Ranks N, Message M, Latency α, Bandwidth BW)
    """
    race = Race(rows)
    return Explorer(
        "All-to-all: steps against bytes",
        [ranks(), *prices()],
        [
            Curves(race, strip=False),
            Ways(race, "Time against radix", "Every radix that is best somewhere", x_label="radix k"),
            Rows(Race(elsewhere), "On other clocks and wires", "On other clocks and wires", _COLUMNS),
        ],
        summary="At N = {n} and M = {m}, {way:Bruck, best radix} is fastest on a star with {time:Bruck, best radix}; "
        "radix 2 takes {times:Bruck, radix 2|Bruck, best radix} times, pairwise exchange "
        "{times:pairwise|Bruck, best radix} times as long.",
        note="M is what each rank sends in all, so M/N goes to each destination. Radix 2 is Bruck's algorithm, radix "
        "N is pairwise exchange; all radices between are counted. On the star a rank has one full-duplex port of BW, "
        "on the ring a link of BW to each neighbor, which together inject twice as much; links of BW/2 make it equal.",
        name="alltoall",
    )


_COLUMNS = "algorithm = name | where | time | n_alpha | n_beta"

"""Lower bounds: what no schedule can beat, each with its port model.

Three kinds. *Per rank*: what one rank cannot avoid to send or receive. *On average*: what all ranks
together must send, spread over all ports. *By cut*: what must leave a set of nodes, over the links
that leave it. Switches that add or replicate escape the second kind, never the other two.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import comb
from operator import attrgetter

import numpy as np

from colllib.algorithms.relay import relay_load
from colllib.closed_form import EVEN_LONG_RINGS, LONG_RINGS, ClosedForm
from colllib.cost import Cost
from colllib.primitives import check_counts, check_ranks, is_power_of_two
from colllib.topology import Topology
from colllib.topology.cuts import cut_links, distances

MOST_RANKS_TO_CUT = 12


@dataclass(frozen=True)
class Traffic:
    """What any schedule must move, in units of M, without help from switches."""

    send: Fraction  # the most that some one rank must send
    receive: Fraction  # the most that some one rank must receive
    both: Fraction  # the most that some one rank must send and receive together
    total: Fraction  # what all ranks together must send, and so receive


def least_traffic(primitive: str, ranks: int) -> Traffic:
    """What a primitive makes its ranks move, whatever the schedule.

    * Broadcast: the root sends every byte at least once, N-1 ranks must receive it. Reduce is the same backwards.
    * All-reduce: a rank's contribution to each element must leave it once, and word from the others must reach it
      once. All together: of each element N-1 partial sums must be sent before anyone can know the total, and then N-1
      ranks must be told: 2(N-1) (Patarasuk & Yuan 2009, Theorem 1).
    * All-gather: a rank receives N-1 shards and sends its own at least once. Reduce-scatter is the same backwards.
    * All-to-all: a rank sends N-1 blocks and receives N-1.

    Raises:
        ValueError: for an unknown primitive or N < 1.

    >>> least_traffic("all-reduce", 4)
    Traffic(send=Fraction(1, 1), receive=Fraction(1, 1), both=Fraction(2, 1), total=Fraction(6, 1))
    """
    _one_port(primitive, ranks)  # which refuses unknown names
    if ranks == 1:
        return Traffic(*[Fraction(0)] * 4)
    one, others = Fraction(1), Fraction(ranks - 1)
    own, away = one / ranks, others / ranks
    return {
        "broadcast": Traffic(one, one, one, others),
        "reduce": Traffic(one, one, one, others),
        "all-reduce": Traffic(one, one, 2 * one, 2 * others),
        "reduce-scatter": Traffic(away, own, one, others),
        "all-gather": Traffic(own, away, one, others),
        "all-to-all": Traffic(away, away, 2 * away, others),
        "point-to-point": Traffic(one, one, one, one),
    }[primitive]


def fewest_steps(ranks: int, ports: int = 1) -> int:
    """Steps until what one rank knows can be known to N, or the other way round: ceil(log_(k+1) N).

    Everybody who knows it tells one other rank through each of its k ports: in a step k+1 times as many know it.

    >>> fewest_steps(512), fewest_steps(512, ports=3), fewest_steps(512, ports=511)
    (9, 5, 1)
    """
    check_ranks(ranks, None)
    check_counts(ports=ports)
    steps, reached = 0, 1
    while reached < ranks:
        reached *= ports + 1
        steps += 1
    return steps


@dataclass(frozen=True)
class PortBound:
    """Lower bounds for a port model: steps, and n_beta by what one rank cannot avoid and on the average port."""

    n_alpha: int
    rank: Fraction
    average: Fraction

    @property
    def n_beta(self) -> Fraction:
        """The larger of the two."""
        return max(self.rank, self.average)


def port_bound(primitive: str, ranks: int, *, ports: int = 1, full_duplex: bool = True) -> PortBound:
    """Lower bounds for k ports of BW per rank, full-duplex or not, and no help from switches.

    A port that is not full-duplex sends or receives, not both at once, so its two loads add up.

    >>> bound = port_bound("all-reduce", 8)
    >>> bound.rank, bound.average
    (Fraction(1, 1), Fraction(7, 4))
    >>> port_bound("all-to-all", 8, full_duplex=False).n_beta
    Fraction(7, 4)
    """
    traffic = least_traffic(primitive, ranks)
    steps = fewest_steps(ranks, ports)
    if primitive == "point-to-point":
        steps = min(1, steps)
    rank = max(traffic.send, traffic.receive) if full_duplex else traffic.both
    average = traffic.total / ranks * (1 if full_duplex else 2)
    return PortBound(steps, rank / ports, average / ports)


#: With one full-duplex port of BW per rank: the fewest latencies and the fewest bytes, each by itself.
ONE_PORT: Mapping[str, ClosedForm] = {
    "broadcast": ClosedForm.of("lg(N)", "1"),
    "reduce": ClosedForm.of("lg(N)", "1"),
    "all-gather": ClosedForm.of("lg(N)", "(N - 1) / N"),
    "reduce-scatter": ClosedForm.of("lg(N)", "(N - 1) / N"),
    "all-reduce": ClosedForm.of("lg(N)", "2 * (N - 1) / N"),
    "all-to-all": ClosedForm.of("lg(N)", "(N - 1) / N"),
    "point-to-point": ClosedForm.of("1", "1"),
}

#: On a torus, with one full-duplex link of BW per neighbor.
ON_TORUS: Mapping[str, ClosedForm] = {
    "broadcast": ClosedForm.of("total(d // 2)", "1 / (2 * k)", LONG_RINGS),
    "reduce": ClosedForm.of("total(d // 2)", "1 / (2 * k)", LONG_RINGS),
    "all-gather": ClosedForm.of("total(d // 2)", "(N - 1) / (2 * k * N)", LONG_RINGS),
    "reduce-scatter": ClosedForm.of("total(d // 2)", "(N - 1) / (2 * k * N)", LONG_RINGS),
    "all-reduce": ClosedForm.of("total(d // 2)", "(N - 1) / (k * N)", LONG_RINGS),
    "all-to-all": ClosedForm.of("total(d // 2)", "most(d) / 8", EVEN_LONG_RINGS),
}


def _one_port(primitive: str, ranks: int) -> ClosedForm:
    check_ranks(ranks, None)
    if primitive not in ONE_PORT:
        raise ValueError(f"unknown primitive {primitive!r}: known are {', '.join(ONE_PORT)}")
    return ONE_PORT[primitive]


def lower_bound(primitive: str, ranks: int) -> Cost:
    """The fewest latencies and the fewest bytes on the busiest port, each by itself: `ONE_PORT`.

    The latencies are those of `fewest_steps`, the bytes the larger of what one rank cannot avoid and the average
    (`port_bound`). Some primitive and N allow no schedule that attains both parts at once: `colllib.search` settles
    small cases, `bytes_in_fewest_steps` the powers of two.

    Raises:
        ValueError: for an unknown primitive or N < 1.

    >>> lower_bound("all-reduce", 512)
    Cost(n_alpha=9, n_beta=511/256)
    """
    form = _one_port(primitive, ranks)
    return form.cost(ranks) if ranks > 1 else Cost(0, 0)


# -- both bounds at once ------------------------------------------------------------------------


def bytes_in_fewest_steps(primitive: str, ranks: int) -> Fraction:
    """The least n_beta of any schedule of only log2 N steps, one full-duplex port, N a power of two.

    With N = 2^L and L steps, the set of ranks that know of a byte must double in every step, so whoever knows it sends
    it in every step: the root of a broadcast, and every rank of an all-reduce, sends M in each. A reduce is a broadcast
    backwards. In an all-to-all the blocks must take `all_to_all_hops` hops. All-gather and reduce-scatter meet both
    bounds at once.

    Raises:
        ValueError: if N is no power of two.

    >>> bytes_in_fewest_steps("broadcast", 8), bytes_in_fewest_steps("all-to-all", 8)
    (Fraction(3, 1), Fraction(3, 2))
    """
    bound = lower_bound(primitive, ranks)
    if not is_power_of_two(ranks):
        raise ValueError(f"N = {ranks}: the argument needs a power of two")
    if primitive in ("broadcast", "reduce", "all-reduce"):
        return Fraction(bound.n_alpha)
    if primitive == "all-to-all":
        return Fraction(all_to_all_hops(ranks, int(bound.n_alpha)), ranks)
    return Fraction(bound.n_beta)


def all_to_all_hops(ranks: int, steps: int) -> int:
    """The fewest hops that one rank's blocks take in an all-to-all of T steps; over N, a bound on n_beta.

    A block that moves in h of the T steps has C(T, h) choices of steps, each of which ends at one rank. So at most that
    many ranks are h hops away, and the cheapest plan fills them in order of h.

    Raises:
        ValueError: if T steps do not reach N ranks.

    >>> all_to_all_hops(4, 2), all_to_all_hops(4, 3), all_to_all_hops(512, 9)
    (4, 3, 2304)
    """
    if fewest_steps(ranks) > steps:
        raise ValueError(f"{steps} steps do not reach {ranks} ranks")
    left, hops = ranks - 1, 0
    for h in range(1, steps + 1):
        reached = min(left, comb(steps, h))
        left -= reached
        hops += h * reached
    return hops


# -- cuts -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cut:
    """Some ranks against all others: what a primitive must bring out, and over which links."""

    inside: tuple[int, ...]  # the ranks on one side
    crossing: Fraction  # what must leave them, in units of M
    links: int  # directed ones that lead out
    bandwidth: Fraction  # of these links together, in units of BW

    @property
    def n_beta(self) -> Fraction:
        """The bound: crossing over bandwidth."""
        return self.crossing / self.bandwidth


def crossing(primitive: str, ranks: int, inside: Collection[int]) -> Fraction:
    """What must leave a set of ranks, in units of M, even if every switch can add and replicate.

    A root, and the source of a point-to-point, is rank 0, its target the last one.

    >>> [str(crossing(name, 8, range(4))) for name in ("all-reduce", "all-gather", "all-to-all")]
    ['1', '1/2', '2']
    """
    _one_port(primitive, ranks)
    size = len(set(inside))
    if size in (0, ranks):
        return Fraction(0)
    return {
        "broadcast": Fraction(0 in inside),
        "reduce": Fraction(0 not in inside),
        "all-reduce": Fraction(1),
        "reduce-scatter": Fraction(ranks - size, ranks),
        "all-gather": Fraction(size, ranks),
        "all-to-all": Fraction(size * (ranks - size), ranks),
        "point-to-point": Fraction(0 in inside and ranks - 1 not in inside),
    }[primitive]


def cut(primitive: str, topology: Topology, inside: Collection[int]) -> Cut:
    """What a primitive must push out of some ranks, and over how much bandwidth; a root is rank 0.

    A switch stands on whichever side suits the traffic.

    Raises:
        ValueError: if a side is empty, no link leads out, or the topology has several levels.

    >>> from colllib.topology import torus
    >>> half = cut("all-to-all", torus((4, 4)), [rank for rank in range(16) if rank % 4 < 2])
    >>> half.crossing, half.links, half.n_beta
    (Fraction(4, 1), 8, Fraction(1, 2))
    """
    side = tuple(sorted(set(inside)))
    if not 0 < len(side) < topology.ranks:
        raise ValueError(f"{len(side)} of {topology.ranks} ranks: no cut")
    topology.check_one_level("the bandwidth of a cut")
    links = cut_links(topology, side)
    if not len(links):
        raise ValueError(f"nothing leaves the ranks {side} of {topology.name}")
    needed = crossing(primitive, topology.ranks, side)
    return Cut(side, needed, len(links), topology.bandwidth.taken(links).total())


def middle_cut(topology: Topology) -> Cut:
    """What an all-to-all meets across the middle of a lattice's longest axis: of all axes the largest bound.

    Raises:
        ValueError: for a topology without axes.

    >>> from colllib.topology import torus
    >>> middle_cut(torus((16, 8, 4))).n_beta, middle_cut(torus((5, 5))).n_beta
    (Fraction(2, 1), Fraction(3, 5))
    """
    lattice = topology.lattice
    if lattice is None:
        raise ValueError(f"{topology.name} has no axes: give the side of the cut yourself")
    rank = np.arange(lattice.ranks)
    cuts = [
        cut("all-to-all", topology, np.flatnonzero(lattice.coordinate(rank, axis) < size // 2).tolist())
        for axis, size in enumerate(lattice.dims)
        if size > 1
    ]
    return max(cuts, key=attrgetter("n_beta"))


def worst_cut(primitive: str, topology: Topology) -> Cut:
    """The set of ranks whose links bound n_beta most; of equal ones the smallest, lowest-numbered.

    Raises:
        ValueError: for one rank, or more than 12: all 2^N sets are tried.

    >>> from colllib.topology import ring
    >>> worst = worst_cut("all-to-all", ring(8))
    >>> worst.inside, worst.n_beta
    ((0, 1, 2, 3), Fraction(1, 1))
    """
    ranks = topology.ranks
    if not 2 <= ranks <= MOST_RANKS_TO_CUT:
        raise ValueError(f"N = {ranks}: all sets of ranks are tried, for 2 to {MOST_RANKS_TO_CUT} ranks")
    sides = (inside for size in range(1, ranks) for inside in combinations(range(ranks), size))
    cuts = (cut(primitive, topology, side) for side in sides if crossing(primitive, ranks, side))
    return max(cuts, key=attrgetter("n_beta"))


def injection_bound(primitive: str, topology: Topology) -> Fraction:
    """The average bound on any topology whose switches neither add nor replicate: traffic over injection.

    >>> from colllib.topology import ring, star
    >>> injection_bound("all-reduce", star(8)), injection_bound("all-reduce", ring(8))
    (Fraction(7, 4), Fraction(7, 8))
    """
    if topology.combines or topology.replicates:
        raise ValueError(f"the switches of {topology.name} help: what ranks send is not all that moves")
    topology.check_one_level("what ranks inject")
    leaving = topology.bandwidth.taken(np.flatnonzero(topology.link_src < topology.ranks)).total()
    total = least_traffic(primitive, topology.ranks).total
    if total and not leaving:
        raise ValueError(f"{topology.name}: no link leaves any rank")
    return total / leaving if total else total


def bus_factor(primitive: str, ranks: int) -> Fraction:
    """What nccl-tests multiplies algorithm bandwidth with to report bus bandwidth: the bytes of `ONE_PORT`.

    Source: nccl-tests, doc/PERFORMANCE.md.

    Raises:
        ValueError: for an unknown primitive or N < 1.

    >>> bus_factor("all-reduce", 8)
    Fraction(7, 4)
    """
    return Fraction(_one_port(primitive, ranks).n_beta(N=ranks))


def floor(primitive: str, topology: Topology) -> Cost:
    """The fewest latencies and the fewest bytes on a fabric, each by itself.

    On a star `lower_bound`, with one partner each way in a step (a relay round a ring has two). A switch that takes
    part leaves what a rank cannot avoid to send or receive, over one route. On wires between ranks no block is farther
    away than its hops, and the links into a rank (for an all-to-all, those across the middle of the longest axis; on a
    graph all together) carry what must cross them. A root is rank 0, and a point-to-point goes to the last rank.

    Raises:
        ValueError: for links of several speeds, boxes and other trees of switches, where no such floor is known.

    >>> from colllib.topology import torus
    >>> floor("all-gather", torus((8, 8, 8))), floor("all-to-all", torus((32, 16)))
    (Cost(n_alpha=12, n_beta=511/3072), Cost(n_alpha=24, n_beta=4))
    """
    if topology.switches > 1 or len(topology.tiers) > 1:
        raise ValueError(
            f"{topology.name}: floors are known for one switch and for wires between ranks, all of one speed"
        )
    of_bw = _floor(primitive, topology)
    return Cost(of_bw.n_alpha, of_bw.n_beta / topology.tiers[0].bandwidth)


def _floor(primitive: str, topology: Topology) -> Cost:
    """The floor with links of BW."""
    n, axes = topology.ranks, topology.lattice
    one_port = lower_bound(primitive, n)
    helps = topology.combines or topology.replicates or topology.scatters
    if n == 1 or (topology.switches and not helps):
        return one_port
    if topology.switches:
        traffic = least_traffic(primitive, n)
        return Cost(1, max(traffic.send, traffic.receive))
    load = Fraction(one_port.n_beta)
    if axes is None:  # a graph: no rank has more links than the most, and all have what all ranks must send
        apart = distances(topology)
        far = {"broadcast": apart[0], "reduce": apart[:, 0], "point-to-point": apart[0, -1]}.get(primitive, apart).max()
        most = max(int(np.bincount(ends).max()) for ends in (topology.link_src, topology.link_dst))
        total = Fraction(int(apart.sum()), n) if primitive == "all-to-all" else least_traffic(primitive, n).total
        return Cost(int(far), max(load / most, total / topology.num_links))
    form = ON_TORUS.get(primitive)
    if form is not None and form.holds(axes):
        return form.cost(axes)
    # around a torus the last rank is next to the first on every axis
    around = 1 if primitive == "point-to-point" else max(axes.dims)
    hops = sum(min(size // 2, around) if axes.wraps else size - 1 for size in axes.dims)
    links = np.bincount(topology.link_dst, minlength=n)
    if links.min() == 0:
        raise ValueError(f"{topology.name}: no link leads to rank {links.argmin()}")
    if primitive == "all-to-all":
        return Cost(hops, max(relay_load(axes), load / int(links.min())))
    # an all-reduce is held to the average rank, all else to the rank with the fewest links
    ports = Fraction(topology.num_links, n) if primitive == "all-reduce" else int(links.min())
    return Cost(hops, load / ports)

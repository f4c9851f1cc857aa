"""Every primitive on every fabric: executed once, priced often.

A `Way` is an algorithm on a fabric with its exact cost; its execution does not depend on the
message, so one execution prices every message, latency and bandwidth. A `Rung` is a way with a
price. Fabrics are named as on the command line, such as "torus:8x8x8".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, partial
from math import ceil, log2

import numpy as np

from colllib import topology as topologies
from colllib.algorithms import (
    Algorithm,
    allgather,
    allreduce,
    alltoall,
    broadcast,
    direct,
    find,
    lattice,
    of,
    reducescatter,
    relay,
    serving,
)
from colllib.algorithms import reduce as reduces
from colllib.bounds import least_traffic, lower_bound
from colllib.contention import IDEAL, Eta, effective
from colllib.cost import Cost, best_segments
from colllib.execution import execute
from colllib.pipeline import pipeline_cost
from colllib.schedule import Schedule
from colllib.topology import Lattice, Topology

PRIMITIVES = ("broadcast", "reduce", "all-gather", "reduce-scatter", "all-reduce", "all-to-all")

#: The fabrics of the ladder at N = 512, in the order of the tables.
FABRICS = (
    "star:512",
    "torus:8x8x8",
    "torus:8x4x4x4",
    "torus:16x8x4",
    "torus:32x16",
    "ring:512",
    "mesh:8x8x8",
    "mesh:32x16",
    "full-mesh:512",
)

#: The kinds of fabric that have a list of algorithms.
KINDS = ("star", "inc-star", "full-mesh", "ring", "line", "torus", "mesh")

#: Above so many ranks a few rungs that would take seconds are not executed but priced as `ways` says.
LARGE = 64


@dataclass(frozen=True, eq=False)
class Way:
    """An algorithm on a fabric, before it has a price.

    Attributes:
        primitive: the primitive's name.
        fabric: the fabric, as on the command line.
        name: the algorithm, as prose writes it.
        build: makes the schedule from the number of segments.
        cost: the exact cost at so many segments, with a full BW on every link.
        segmented: whether it takes segments.
        executed: whether `cost` is that of an execution of this very schedule; else it is a closed form, a count
            by symmetry, or that of the schedule backwards, all of which tests hold against execution.
        shipped: whether it is the algorithm that Lu's table (part 02, section 5.1) names as shipped there.
    """

    primitive: str
    fabric: str
    name: str
    build: Callable[[int], Schedule]
    cost: Callable[[int], Cost]
    segmented: bool = False
    executed: bool = True
    shipped: bool = False

    def priced(
        self,
        *,
        message: float,
        alpha: float,
        bandwidth: float,
        equal_injection: bool = False,
        segments: int | None = None,
        eta: Eta = IDEAL,
    ) -> Rung:
        """The way for a message: at the best whole number of segments unless one is given.

        Args:
            message: M in bytes.
            alpha: latency in seconds.
            bandwidth: BW in bytes per second.
            equal_injection: a rank's links have BW together, instead of each.
            segments: how many.
            eta: what the fabric is said to lose; the best number of segments follows it.
        """
        scale = injection(self.fabric) if equal_injection else Fraction(1)

        def cost(pieces: int) -> Cost:
            plain = self.cost(pieces)
            return Cost(plain.n_alpha, plain.n_beta * scale)

        price = {"message": message, "alpha": alpha, "bandwidth": bandwidth}
        if not self.segmented:
            segments = 1
        if segments is None:
            segments = best_segments(
                lambda p: effective(cost(p), eta), message=message, alpha=alpha, bandwidth=bandwidth
            )
        found = cost(segments)
        return Rung(self, segments, equal_injection, eta, found, effective(found, eta).seconds(**price))


@dataclass(frozen=True, eq=False)
class Rung:
    """A way with a price.

    Attributes:
        way: the algorithm on its fabric.
        segments: how many.
        equal_injection: whether a rank's links have BW together, instead of each.
        eta: what the fabric is said to lose.
        cost: the exact cost under that convention: the counts, which no coefficient changes.
        seconds: its lock-step time, with the coefficients.
    """

    way: Way
    segments: int
    equal_injection: bool
    eta: Eta
    cost: Cost
    seconds: float

    @property
    def label(self) -> str:
        """The algorithm, with its segments where it is pipelined."""
        return self.way.name + (f", P = {self.segments}" if self.segments > 1 else "")

    def execution_cost(self) -> Cost:
        """Its cost executed now, on the fabric with the links of the convention."""
        where = fabric(self.way.fabric)
        if self.equal_injection:
            where = topologies.equal_injection(where)
        return execute(self.way.build(self.segments), where).cost


@cache
def fabric(spec: str) -> Topology:
    """The topology of a fabric, made once."""
    return topologies.find(spec)


@cache
def injection(spec: str) -> Fraction:
    """What the best-connected rank of a fabric injects over all its links, in units of BW.

    >>> injection("torus:8x8x8"), injection("star:512"), injection("torus:4x4x2")
    (Fraction(6, 1), Fraction(1, 1), Fraction(5, 1))
    """
    where = fabric(spec)
    total = np.bincount(where.link_src, where.bandwidth.numerators, where.nodes)[: where.ranks]
    return Fraction(int(total.max(initial=0)), where.bandwidth.denominator)


# -- which algorithms on which fabric ------------------------------------------------------------


@cache
def ways(primitive: str, spec: str) -> tuple[Way, ...]:
    """The algorithms of a primitive that make sense on a fabric, each executed where that takes a second at most.

    Args:
        primitive: its name.
        spec: the fabric.

    Raises:
        ValueError: for an unknown primitive, or a fabric without a list of algorithms.

    >>> [(way.name, way.cost(1)) for way in ways("all-gather", "torus:4x4")]
    [('dim ring', Cost(n_alpha=6, n_beta=15/16)), ('breadth first', Cost(n_alpha=4, n_beta=15/64))]
    """
    if primitive not in PRIMITIVES:
        raise ValueError(f"unknown primitive {primitive!r}: known are {', '.join(PRIMITIVES)}")
    kind = spec.partition(":")[0]
    if kind == "inc-star":
        return _through_switch(primitive, spec)
    if kind not in ("star", "full-mesh") and fabric(spec).lattice is None:
        raise ValueError(f"no list of algorithms for {spec!r}: known are {', '.join(KINDS)}")
    found = {"star": _on_star, "full-mesh": _on_full_mesh}.get(kind, _on_lattice)(primitive, spec)
    if primitive != "reduce-scatter" or fabric(spec).ranks <= LARGE:
        return found
    # the proof of a large reduce-scatter takes seconds: the same messages run as an all-gather, the other way
    mirrored = zip(found, ways("all-gather", spec), strict=True)
    return tuple(replace(way, cost=twin.cost, executed=False) for way, twin in mirrored)


def way(primitive: str, spec: str, name: str) -> Way:
    """The way of a fabric that goes by a name.

    Raises:
        ValueError: if there is none, naming the known ones.

    >>> way("all-to-all", "torus:8x8x8", "rotated relay").cost(1)
    Cost(n_alpha=12, n_beta=1)
    """
    for found in ways(primitive, spec):
        if found.name == name:
            return found
    known = ", ".join(found.name for found in ways(primitive, spec))
    raise ValueError(f"no {name!r} for {primitive} on {spec}: known are {known}")


@cache
def proved(way: Way, segments: int = 1) -> Cost:
    """A way's cost, executed and proved, once for each number of segments.

    >>> proved(way("broadcast", "star:4", "chain"), 3)
    Cost(n_alpha=5, n_beta=5/3)
    """
    return way.cost(segments) if way.executed else execute(way.build(segments), fabric(way.fabric)).cost


def _executed(primitive: str, spec: str, name: str, build: Callable[[], Schedule], shipped: bool = False) -> Way:
    """A way without segments, run once when its cost is first asked for."""

    @cache
    def cost(_: int) -> Cost:
        return execute(build(), fabric(spec)).cost

    return Way(primitive, spec, name, lambda _: build(), cost, shipped=shipped)


def _closed(spec: str, algorithm: Algorithm, what: int | Lattice | Topology, *, shipped: bool = False) -> Way:
    """An algorithm, built from what it takes, priced by its closed form, which tests hold against execution."""

    def options(segments: int) -> dict[str, int]:
        return {"segments": segments} if algorithm.segmented else {}

    @cache
    def cost(segments: int) -> Cost:
        return algorithm.cost(what, **options(segments))

    return Way(
        algorithm.primitive,
        spec,
        algorithm.label,
        lambda segments: algorithm.build(what, **options(segments)),
        cost,
        algorithm.segmented,
        executed=False,
        shipped=shipped,
    )


_SHIPPED_ON_STAR = {
    "broadcast": ("binomial-tree",),
    "reduce": ("binomial-tree",),
    "all-reduce": ("ring", "double-binary-tree"),
    "all-gather": ("ring",),
    "reduce-scatter": ("ring",),
    "all-to-all": ("pairwise",),
}


def _on_star(primitive: str, spec: str) -> tuple[Way, ...]:
    ranks = fabric(spec).ranks
    found = []
    for algorithm in of(primitive):
        if not algorithm.fits(ranks) or algorithm.name == "ring-relay":  # a relay is for rings
            continue
        shipped = algorithm.name in _SHIPPED_ON_STAR[primitive]
        if algorithm.segmented:
            found.append(_closed(spec, algorithm, ranks, shipped=shipped))
        else:
            found.append(_executed(primitive, spec, algorithm.label, partial(algorithm.build, ranks), shipped))
    return tuple(found)


def _through_switch(primitive: str, spec: str) -> tuple[Way, ...]:
    """What a switch that adds, replicates and scatters does by itself."""
    where = fabric(spec)
    return tuple(_closed(spec, one, where) for one in serving(primitive, where) if one.takes == "topology")


def _on_full_mesh(primitive: str, spec: str) -> tuple[Way, ...]:
    n = fabric(spec).ranks
    depth = (n - 1).bit_length()
    named = {
        "all-gather": (("ring", partial(allgather.ring, n)),),
        "reduce-scatter": (("ring", partial(reducescatter.ring, n)),),
        "all-reduce": (("ring", partial(allreduce.ring, n)),),
        "all-to-all": (("pairwise", partial(alltoall.pairwise, n)),),
    }
    found = [_executed(primitive, spec, name, build, shipped=True) for name, build in named.get(primitive, ())]
    if found and n > LARGE and primitive != "all-to-all":
        found = [_closed(spec, find(primitive, "ring"), n, shipped=True)]
    if primitive in ("broadcast", "reduce"):
        module = broadcast if primitive == "broadcast" else reduces
        build = lambda p: module.binomial_tree(n, segments=p)  # noqa: E731
        cost = lambda p: pipeline_cost(depth, p)  # noqa: E731
        found.append(Way(primitive, spec, "binomial tree", build, cost, True, executed=False, shipped=True))
    if primitive == "all-reduce":
        found.append(_executed(primitive, spec, "recursive doubling", partial(allreduce.recursive_doubling, n)))
    straight = {
        "broadcast": direct.broadcast,
        "reduce": direct.reduce,
        "all-gather": direct.all_gather,
        "reduce-scatter": direct.reduce_scatter,
        "all-reduce": direct.all_reduce,
        "all-to-all": direct.all_to_all,
    }[primitive]
    return (*found, _executed(primitive, spec, "direct", partial(straight, n)))


def _on_lattice(primitive: str, spec: str) -> tuple[Way, ...]:
    axes = fabric(spec).lattice
    assert axes is not None
    return {
        "broadcast": _rooted_on_lattice,
        "reduce": _rooted_on_lattice,
        "all-gather": _halves_on_lattice,
        "reduce-scatter": _halves_on_lattice,
        "all-reduce": _all_reduce_on_lattice,
        "all-to-all": _all_to_all_on_lattice,
    }[primitive](primitive, spec, axes)


def _rooted_on_lattice(primitive: str, spec: str, axes: Lattice) -> tuple[Way, ...]:
    chain = _closed(spec, find(primitive, "dim-chain"), axes, shipped=True)
    if not axes.wraps:
        return (chain,)
    return chain, replace(_closed(spec, find(primitive, "all-links"), axes), cost=_all_links(axes))


def _all_links(axes: Lattice) -> Callable[[int], Cost]:
    @cache
    def depth_and_trees() -> tuple[int, int]:
        one = lattice.all_links_broadcast_cost(axes, 1)
        return int(one.n_alpha), round(one.n_alpha / Fraction(one.n_beta)) if one.n_beta else 1

    def cost(segments: int) -> Cost:  # as all_links_broadcast_cost, with the trees built once
        depth, trees = depth_and_trees()
        return Cost(depth + segments - 1, Fraction(depth + segments - 1, segments * trees)) if depth else Cost(0, 0)

    return cost


def _halves_on_lattice(primitive: str, spec: str, axes: Lattice) -> tuple[Way, ...]:
    ring = find(primitive, "dim-ring")
    found = [_executed(primitive, spec, ring.label, partial(ring.build, axes), shipped=True)]
    if axes.wraps:
        found.append(_closed(spec, find(primitive, "breadth-first"), axes))
    else:
        half = lattice.dim_ring_all_gather if primitive == "all-gather" else lattice.dim_ring_reduce_scatter
        found.append(_executed(primitive, spec, "rotated dim ring", partial(lattice.rotated, axes, half)))
    return tuple(found)


def _all_reduce_on_lattice(primitive: str, spec: str, axes: Lattice) -> tuple[Way, ...]:
    found = [_executed(primitive, spec, "dim ring", partial(lattice.dim_ring, axes), shipped=True)]
    if axes.wraps:
        found.append(_closed(spec, find(primitive, "breadth-first"), axes))
    else:
        found.append(_executed(primitive, spec, "rotated dim ring", partial(lattice.rotated_dim_ring, axes)))
    if axes.ranks <= 64 or len(axes.dims) > 1:  # on a ring of 512 its routes are too long to be worth it
        doubling = partial(allreduce.recursive_doubling, axes.ranks)
        found.append(_executed(primitive, spec, "recursive doubling", doubling))
    return tuple(found)


def _all_to_all_on_lattice(primitive: str, spec: str, axes: Lattice) -> tuple[Way, ...]:
    return (_closed(spec, find(primitive, "rotated-relay"), axes, shipped=True),)


# -- ladders and tables --------------------------------------------------------------------------


def rungs(
    primitive: str,
    specs: Sequence[str] = FABRICS,
    *,
    message: float,
    alpha: float,
    bandwidth: float,
    equal_injection: bool = False,
    shipped: bool = False,
) -> list[Rung]:
    """The fastest way on each fabric, fastest fabric first.

    Args:
        primitive: its name.
        specs: the fabrics.
        message: M in bytes.
        alpha: latency in seconds.
        bandwidth: BW in bytes per second.
        equal_injection: a rank's links have BW together, instead of each.
        shipped: choose among the algorithms that Lu's table names, instead of all; a fabric without any has no rung.

    >>> price = {"message": 16e6, "alpha": 0.5e-6, "bandwidth": 900e9}
    >>> [rung.way.fabric for rung in rungs("all-reduce", ("star:8", "torus:2x2x2"), **price)]
    ['torus:2x2x2', 'star:8']
    """
    found = []
    for spec in specs:
        priced = [
            way.priced(message=message, alpha=alpha, bandwidth=bandwidth, equal_injection=equal_injection)
            for way in ways(primitive, spec)
            if way.shipped or not shipped
        ]
        if priced:
            found.append(min(priced, key=lambda rung: (rung.seconds, rung.way.name)))
    return sorted(found, key=lambda rung: (rung.seconds, specs.index(rung.way.fabric)))


def table(
    specs: Sequence[str] = FABRICS, primitives: Sequence[str] = PRIMITIVES, **price: float | bool
) -> Mapping[str, Mapping[str, Rung]]:
    """`rungs` of every primitive, as fabric -> primitive -> rung.

    >>> price = {"message": 16e6, "alpha": 0.5e-6, "bandwidth": 900e9}
    >>> round(table(("star:8",), ("all-gather",), **price)["star:8"]["all-gather"].seconds * 1e6, 2)
    17.06
    """
    by_primitive = {
        name: {rung.way.fabric: rung for rung in rungs(name, specs, **price)}  # type: ignore[arg-type]
        for name in primitives
    }
    return {spec: {name: by_primitive[name][spec] for name in primitives} for spec in specs}


def ideal(primitive: str, spec: str) -> dict[str, Cost]:
    """The rows of Lu's table (part 02, section 5.1) for a fabric: algorithm -> latency and bandwidth coefficient.

    Each coefficient is a limit of its own; that one schedule has both is what executions examine.

    >>> ideal("all-to-all", "torus:8x8x8")
    {'ring relay': Cost(n_alpha=12, n_beta=1)}
    """
    where = fabric(spec)
    n, axes = where.ranks, where.lattice
    depth, away = ceil(log2(n)), Fraction(n - 1, n)
    if axes is None:
        return {
            "broadcast": {"binomial tree": Cost(depth, 1)},
            "reduce": {"binomial tree": Cost(depth, 1)},
            "all-reduce": {"double binary tree": Cost(2 * depth, 1), "ring": Cost(2 * (n - 1), 2 * away)},
            "all-gather": {"ring": Cost(n - 1, away)},
            "reduce-scatter": {"ring": Cost(n - 1, away)},
            "all-to-all": {"pairwise": Cost(n - 1, away)},
        }[primitive]
    ring = sum(size - 1 for size in axes.dims)
    far = sum(size // 2 for size in axes.dims) if axes.wraps else ring
    longest = Fraction(max(axes.dims), 8 if axes.wraps else 4)
    return {
        "broadcast": {"dim chain": Cost(far, 1)},
        "reduce": {"dim chain": Cost(far, 1)},
        "all-reduce": {"dim ring": Cost(2 * ring, 2 * away)},
        "all-gather": {"dim ring": Cost(ring, away)},
        "reduce-scatter": {"dim ring": Cost(ring, away)},
        "all-to-all": {"ring relay": Cost(far, longest)},
    }[primitive]


def floor(primitive: str, spec: str) -> Cost:
    """The fewest latencies and the fewest bytes on a fabric, each by itself.

    On a star `lower_bound`. A switch that takes part leaves what a rank cannot avoid to send or
    receive, over one route. On wires between ranks no block is farther away than its hops, and the
    links into a rank (for an all-to-all, those across the middle of the longest axis) carry what must cross them.

    >>> floor("all-gather", "torus:8x8x8"), floor("all-to-all", "torus:32x16")
    (Cost(n_alpha=12, n_beta=511/3072), Cost(n_alpha=24, n_beta=4))
    """
    where = fabric(spec)
    n, axes = where.ranks, where.lattice
    one_port = lower_bound(primitive, n)
    load = Fraction(one_port.n_beta)
    if spec.startswith("star"):
        return one_port
    if spec.startswith("inc-star"):
        must = least_traffic(primitive, n)
        return Cost(1, max(must.send, must.receive)) if n > 1 else one_port
    links = np.bincount(where.link_dst, minlength=n)
    if axes is None:  # a link per pair
        return Cost(1, load / (n - 1)) if n > 1 else one_port
    far = sum(size // 2 if axes.wraps else size - 1 for size in axes.dims)
    if primitive == "all-to-all":
        return Cost(far, max(relay.relay_load(axes), load / int(links.min())))
    # an all-reduce is held to the average rank, all else to the rank with the fewest links
    ports = Fraction(where.num_links, n) if primitive == "all-reduce" else int(links.min())
    return Cost(far, load / ports)

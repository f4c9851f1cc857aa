"""Answers on the table of all primitives on all fabrics, and on what it leaves out."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache, partial
from math import ceil, log2

from colllib.algorithms import allgather, allreduce, alltoall, broadcast, lattice, reduce, reducescatter, relay
from colllib.claims.finding import Finding, answer
from colllib.claims.model import POWERS
from colllib.contention import hot_destination, skew_factor, together
from colllib.cost import Cost
from colllib.execution import execute
from colllib.ladder import topology
from colllib.measures import busiest_link
from colllib.schedule import Schedule, pipelined
from colllib.topology import Lattice, Topology, full_mesh, mesh, star, torus
from colllib.topology.lattice import lines_along

CHAPTER = "17-ladder-every-primitive"
SIZES = (3, 4, 7, 8, 12, 64)
SHAPES = ((4, 4), (5, 3), (4, 4, 4), (2, 6, 3), (8, 8), (8, 8, 8))
EVEN = ((4, 4), (6, 6), (8, 4), (4, 4, 4), (6, 4, 4), (8, 8))
_ROOT = (
    "The root's one port carries every segment to or from each of its log2 N children: no number of segments brings "
    "the load below log2 N, and M/BW needs a link per pair of ranks."
)


def ideal(primitive: str, spec: str) -> dict[str, Cost]:
    """The rows of Lu's table (part 02, section 5.1) for a fabric: algorithm -> latency and bandwidth coefficient.

    Each coefficient is a limit of its own; that one schedule has both is what executions examine.

    >>> ideal("all-to-all", "torus:8x8x8")
    {'rotated-relay': Cost(n_alpha=12, n_beta=1)}
    """
    where = topology(spec)
    n, axes = where.ranks, where.lattice
    depth, away = ceil(log2(n)), Fraction(n - 1, n)
    if axes is None:
        return {
            "broadcast": {"binomial-tree": Cost(depth, 1)},
            "reduce": {"binomial-tree": Cost(depth, 1)},
            "all-reduce": {"double-binary-tree": Cost(2 * depth, 1), "ring": Cost(2 * (n - 1), 2 * away)},
            "all-gather": {"ring": Cost(n - 1, away)},
            "reduce-scatter": {"ring": Cost(n - 1, away)},
            "all-to-all": {"pairwise": Cost(n - 1, away)},
        }[primitive]
    ring = sum(size - 1 for size in axes.dims)
    far = sum(size // 2 for size in axes.dims) if axes.wraps else ring
    longest = Fraction(max(axes.dims), 8 if axes.wraps else 4)
    return {
        "broadcast": {"dim-chain": Cost(far, 1)},
        "reduce": {"dim-chain": Cost(far, 1)},
        "all-reduce": {"dim-ring": Cost(2 * ring, 2 * away)},
        "all-gather": {"dim-ring": Cost(ring, away)},
        "reduce-scatter": {"dim-ring": Cost(ring, away)},
        "all-to-all": {"rotated-relay": Cost(far, longest)},
    }[primitive]


def _log(n: int) -> int:
    return (n - 1).bit_length()


def _limits(build: Callable[..., Schedule], of: int | Lattice, where: Topology) -> Cost:
    """What the table prints: the latency of the first segment, and the load that no number of segments undercuts.

    Both are read off executions: the steps in P segments without those that follow the first, and
    the most that one link carries over the whole run.
    """
    pieces = 7
    run = execute(build(of, segments=pieces), where)
    return Cost(run.cost.n_alpha - (pieces - 1), busiest_link(run))


def _rooted(
    tree: Callable[..., Schedule], where: Callable[[int], Topology], sizes: tuple[int, ...], because: str = ""
) -> Finding:
    """A tree's row: claimed log2 N and 1."""
    executed = {n: _limits(tree, n, where(n)) for n in sizes}
    return Finding.compare({n: Cost(_log(n), 1) for n in sizes}, executed, because)


answer(CHAPTER, "E-02-103")(partial(_rooted, broadcast.binomial_tree, star, (*SIZES, 512), _ROOT))
answer(CHAPTER, "E-02-104")(partial(_rooted, reduce.binomial_tree, star, (*SIZES, 512), _ROOT))
answer(CHAPTER, "E-02-114")(partial(_rooted, broadcast.binomial_tree, full_mesh, SIZES))
answer(CHAPTER, "E-02-115")(partial(_rooted, reduce.binomial_tree, full_mesh, SIZES))


@answer(CHAPTER, "E-02-105")
def _double_tree_on_one_port() -> Finding:
    """The latency of the vector in one piece, the load in many."""
    executed = {
        n: Cost(
            execute(allreduce.double_binary_tree(n)).cost.n_alpha,
            busiest_link(execute(allreduce.double_binary_tree(n, segments=60))),
        )
        for n in (8, 64, 512)
    }
    because = (
        "On one port an inner rank sends M and receives M while the trees reduce, and again while they broadcast: the "
        "load in many segments is 2, and 1 needs two ports or a link per pair."
    )
    return Finding.compare({n: Cost(2 * _log(n), 1) for n in executed}, executed, because, "sanders2009")


def _double_tree(ranks: int, segments: int) -> Schedule:
    return pipelined(allreduce.double_binary_tree(ranks), segments)


@answer(CHAPTER, "E-02-116")
def _double_tree_with_a_link_per_pair() -> Finding:
    powers = [n for n in POWERS if 4 <= n <= 64]
    executed = {n: _limits(_double_tree, n, full_mesh(n)) for n in powers}
    return Finding.compare({n: Cost(2 * _log(n), 1) for n in powers}, executed)


def _plain(
    build: Callable[[int], Schedule], where: Callable[[int], Topology], claimed: Callable[[int], Cost]
) -> Finding:
    executed = {n: execute(build(n), where(n)).cost for n in SIZES}
    return Finding.compare({n: claimed(n) for n in SIZES}, executed)


def _away(n: int) -> Cost:
    return Cost(n - 1, Fraction(n - 1, n))


def _twice_away(n: int) -> Cost:
    return Cost(2 * (n - 1), Fraction(2 * (n - 1), n))


def _both_halves(where: Callable[[int], Topology]) -> Finding:
    halves = {"all-gather": allgather.ring, "reduce-scatter": reducescatter.ring}
    executed = {f"{name}, N = {n}": execute(build(n), where(n)).cost for name, build in halves.items() for n in SIZES}
    claimed = {f"{name}, N = {n}": _away(n) for name in halves for n in SIZES}
    return Finding.compare(claimed, executed)


for _where, _ring, _halves, _exchange in (
    (star, "E-02-106", "E-02-107", "E-02-108"),
    (full_mesh, "E-02-117", "E-02-118", "E-02-119"),
):
    answer(CHAPTER, _ring)(partial(_plain, allreduce.ring, _where, _twice_away))
    answer(CHAPTER, _halves)(partial(_both_halves, _where))
    answer(CHAPTER, _exchange)(partial(_plain, alltoall.pairwise, _where, _away))


# -- tori and meshes -----------------------------------------------------------------------------


def _axes(where: Topology) -> Lattice:
    assert where.lattice is not None
    return where.lattice


def _chains(build: Callable[..., Schedule], wires: Callable[[tuple[int, ...]], Topology]) -> Finding:
    executed, claimed = {}, {}
    for dims in SHAPES:
        where = wires(dims)
        axes = _axes(where)
        executed[where.name] = _limits(build, axes, where)
        claimed[where.name] = Cost(sum(d // 2 if axes.wraps else d - 1 for d in dims), 1)
    return Finding.compare(claimed, executed)


answer(CHAPTER, "E-02-109")(partial(_chains, lattice.dim_chain, torus))
answer(CHAPTER, "E-02-110")(partial(_chains, lattice.dim_chain_reduce, torus))
answer(CHAPTER, "E-02-120")(partial(_chains, lattice.dim_chain, mesh))
answer(CHAPTER, "E-02-121")(partial(_chains, lattice.dim_chain_reduce, mesh))


def _dim_rings(
    builds: tuple[Callable[[Lattice], Schedule], ...], times: int, wires: Callable[[tuple[int, ...]], Topology]
) -> Finding:
    executed, claimed = {}, {}
    for dims in SHAPES:
        where = wires(dims)
        n = where.ranks
        if n > 64 and times == 1:
            continue
        for build in builds:
            key = f"{build.__name__.replace('_', ' ')}, {where.name}"
            executed[key] = execute(build(_axes(where)), where).cost
            claimed[key] = Cost(times * sum(d - 1 for d in dims), Fraction(times * (n - 1), n))
    return Finding.compare(claimed, executed)


_HALVES = (lattice.dim_ring_all_gather, lattice.dim_ring_reduce_scatter)
answer(CHAPTER, "E-02-111")(partial(_dim_rings, (lattice.dim_ring,), 2, torus))
answer(CHAPTER, "E-02-112")(partial(_dim_rings, _HALVES, 1, torus))
answer(CHAPTER, "E-02-122")(partial(_dim_rings, (lattice.dim_ring,), 2, mesh))
answer(CHAPTER, "E-02-123")(partial(_dim_rings, _HALVES, 1, mesh))


def _relays(wires: Callable[[tuple[int, ...]], Topology], share: int) -> Finding:
    """Steps, and what the busiest link carries over the run: the load if no link had to wait."""
    executed, claimed = {}, {}
    for dims in EVEN:
        where = wires(dims)
        axes = _axes(where)
        run = execute(relay.relay(axes, tie="split", rotated=True), where)
        executed[where.name] = Cost(run.cost.n_alpha, busiest_link(run))
        far = sum(d // 2 if axes.wraps else d - 1 for d in dims)
        claimed[where.name] = Cost(far, Fraction(max(dims), share))
    return Finding.compare(claimed, executed)


answer(CHAPTER, "E-02-113")(partial(_relays, torus, 8))
answer(CHAPTER, "E-02-124")(partial(_relays, mesh, 4))


# -- the observations ----------------------------------------------------------------------------


@answer(CHAPTER, "E-02-125")
def _gap_in_latency() -> Finding:
    """The observation sets half an all-reduce beside half an all-reduce: sum (d-1), log2 N, N-1."""
    where = torus((8, 8, 8))
    executed = {
        "torus": execute(lattice.dim_ring(_axes(where)), where).cost.n_alpha,
        "double tree": execute(allreduce.double_binary_tree(512)).cost.n_alpha,
        "ring": execute(allreduce.ring(512)).cost.n_alpha,
    }
    return Finding.compare({"torus": 2 * 21, "double tree": 2 * _log(512), "ring": 2 * 511}, executed)


def _even_load(dims: tuple[int, ...]) -> Fraction:
    """What a link of the longest axis carries in an all-to-all, ties divided between the two ways."""
    up, down = relay.torus_link_loads(Lattice(dims))[dims.index(max(dims))]
    return (up + down) / 2


@answer(CHAPTER, "E-02-126")
def _penalty_of_cubes() -> Finding:
    executed = {f"{d}x{d}x{d}": _even_load((d, d, d)) for d in (4, 16)}
    because = "The busiest link carries d/8 of M, and d/8 is 1 for cubes of side 8 only: 1/2 at 4x4x4, 2 at 16x16x16."
    return Finding.compare(dict.fromkeys(executed, Fraction(1)), executed, because)


@answer(CHAPTER, "E-02-127")
def _penalty_of_a_skinny_shape() -> Finding:
    return Finding.compare(Fraction(32), _even_load((256, 2, 2)))


@answer(CHAPTER, "E-02-128")
def _compression_by_halving() -> Finding:
    executed, claimed = {}, {}
    for d in (4, 8, 16):
        where = torus((d,))
        ring, halving = (execute(b(_axes(where)), where).cost for b in (lattice.dim_ring, lattice.dim_rabenseifner))
        executed[f"d = {d}"] = Fraction(ring.n_alpha) / Fraction(halving.n_alpha)
        claimed[f"d = {d}"] = Fraction(d - 1, _log(d))
    because = (
        "Steps fall by (d-1)/log2 d, hops do not: a partner at distance 2^k is 2^k links away, and 1 + 2 + ... + d/2 "
        "is d-1, the hops of the ring."
    )
    return Finding.compare(claimed, executed, because)


@cache
def groups_of_eight(axis_count: int) -> Cost:
    """Ring all-reduces of 8 ranks on all lines along the first axes of an 8x8x8 torus, all at once."""
    where = torus((8, 8, 8))
    groups = [group for axis in range(axis_count) for group in lines_along(_axes(where), axis)]
    return together([(allreduce.ring(8), group.tolist()) for group in groups], where).joint.cost


@answer(CHAPTER, "E-02-129")
def _replicas_along_one_axis() -> Finding:
    alone = together([(allreduce.ring(8), range(8))], torus((8, 8, 8))).joint.cost
    executed = {
        "64 groups along X slow each other down": groups_of_eight(1) != alone,
        "192 groups along X, Y and Z slow each other down": groups_of_eight(3) != alone,
    }
    because = (
        "Parallel lines of one axis share no link: 64 rings of 8 along X, and 192 along all axes, cost what one ring "
        "costs; it is groups that share a line, or are scattered, that contend."
    )
    return Finding.compare(dict.fromkeys(executed, True), executed, because)


@answer(CHAPTER, "E-02-130")
def _hot_expert() -> Finding:
    shares = hot_destination(512, 10)
    on_star, on_torus = (skew_factor(where, shares) for where in (star(512), torus((8, 8, 8), tie="balanced")))
    executed = {"star": f"{float(on_star):.1f}x", "torus pays more than the star": on_torus > on_star}
    because = (
        f"The hot rank's one port on a star carries {float(on_star):.1f} times its uniform load; on the 8x8x8 torus "
        f"that rank has six links, and the busiest one carries {float(on_torus):.1f} times its uniform load."
    )
    return Finding.compare({"torus pays more than the star": True, "star": "1.0x"}, executed, because)

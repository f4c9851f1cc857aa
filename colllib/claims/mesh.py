"""Answers on meshes, open and full."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import ceil

from colllib.algorithms import allgather, allreduce, alltoall, broadcast, direct, lattice, reducescatter, relay
from colllib.claims.finding import Finding, answer, not_checkable
from colllib.cost import Cost
from colllib.execution import execute
from colllib.schedule import Schedule
from colllib.topology import Latency, Lattice, full_mesh, line, mesh, one_port, ring, star, torus
from colllib.topology.cuts import links_per_rank, wires

CHAPTER = "16-mesh"
SIZES = (2, 3, 4, 5, 6, 7, 8, 12, 16)
SHAPES = ((4,), (7,), (3, 3), (4, 3), (4, 4), (3, 3, 3), (4, 2, 3))
EVEN = ((4,), (8,), (6, 4), (8, 4), (8, 3))

not_checkable(
    CHAPTER,
    {
        "E-02-093": "A statement about what shipped; NVIDIA describes the DGX-2, of the second generation of NVLink, "
        "as 16 GPUs joined by NVSwitches.",
    },
)


@answer(CHAPTER, "E-02-091")
def _cut_through() -> Finding:
    """The alpha of a star that section 2 builds up from its parts, executed with these parts."""
    alpha = 500
    parts = Latency(endpoint=Fraction(400, alpha), switch=Fraction(100, alpha))
    through = star(2, latency=parts)
    because = (
        "Section 2 gives the traversal of the switch 100 ns of an alpha of 500 ns, of which the endpoints' software is "
        "400 ns; section 4.1 calls all of it the switch's."
    )
    executed = (
        f"{int(parts.switch * alpha)} ns of the {int(sum(through.alpha[k] for k in (0, 2)) * alpha)} ns of a route"
    )
    return Finding.statements({"§2": "100 ns", "§4.1": "500 ns"}, executed, because)


# -- full mesh -----------------------------------------------------------------------------------


@answer(CHAPTER, "E-02-092")
def _all_to_all_through_one_port() -> Finding:
    """One link at a time, or all of them behind one port: what the source assumes."""
    executed: dict[str, Fraction] = {}
    for n in SIZES:
        executed[f"N = {n}, pairwise"] = Fraction(execute(alltoall.pairwise(n), full_mesh(n)).cost.n_beta)
        executed[f"N = {n}, behind one port"] = Fraction(
            execute(direct.all_to_all(n), one_port(full_mesh(n))).cost.n_beta
        )
    return Finding.compare({key: Fraction(n - 1, n) for n in SIZES for key in executed if f"= {n}," in key}, executed)


_ANYWHERE: dict[str, Callable[[int], Schedule]] = {
    "all-reduce ring": allreduce.ring,
    "all-reduce recursive doubling": allreduce.recursive_doubling,
    "all-reduce Rabenseifner": allreduce.rabenseifner,
    "all-gather PAT": allgather.pat,
    "all-to-all pairwise": alltoall.pairwise,
    "all-to-all Bruck": alltoall.bruck,
    "broadcast binomial tree, 4 segments": lambda n: broadcast.binomial_tree(n, segments=4),
    "all-reduce double binary tree": allreduce.double_binary_tree,
}


@answer(CHAPTER, "E-00-041")
def _full_mesh_is_a_star() -> Finding:
    """Every schedule that the source names, on both; n_alpha and n_beta must be equal."""
    claimed, executed = {}, {}
    for name, build in _ANYWHERE.items():
        for n in (4, 8, 16):
            key = f"{name}, N = {n}"
            executed[key] = execute(build(n), full_mesh(n)).cost
            claimed[key] = execute(build(n), star(n)).cost
    because = (
        "True of every schedule in which a rank talks to one other at a time; where it talks to several, as in the "
        "trees, a star's port carries the sum and a link per pair does not."
    )
    return Finding.compare(claimed, executed, because)


# -- lines and meshes ----------------------------------------------------------------------------


@answer(CHAPTER, "E-02-094")
def _neighbors() -> Finding:
    axes = Lattice((3, 3, 3))
    links = links_per_rank(mesh((3, 3, 3)))
    said = {(1, 1, 1): 6, (1, 1, 0): 5, (0, 1, 0): 4, (0, 0, 0): 3}
    executed = {at: links[sum(x * stride for x, stride in zip(at, axes.strides, strict=True))] for at in said}
    return Finding.compare(said, executed)


@answer(CHAPTER, "E-02-095")
def _line_and_ring() -> Finding:
    claimed, executed = {}, {}
    for d in SIZES:
        for name, build in (("RS", lattice.dim_ring_reduce_scatter), ("AG", lattice.dim_ring_all_gather)):
            executed[f"{name}, d = {d}"] = execute(build(Lattice((d,), False)), line(d)).cost
            claimed[f"{name}, d = {d}"] = execute(reducescatter.ring(d), ring(d)).cost
    return Finding.compare(claimed, executed)


def _formula(dims: tuple[int, ...]) -> Cost:
    ranks = Lattice(dims).ranks
    return Cost(2 * sum(d - 1 for d in dims), Fraction(2 * (ranks - 1), ranks))


@answer(CHAPTER, "E-02-096")
def _all_reduce() -> Finding:
    executed = {str(Lattice(dims)): execute(lattice.dim_ring(Lattice(dims, False)), mesh(dims)).cost for dims in SHAPES}
    return Finding.compare({str(Lattice(dims)): _formula(dims) for dims in SHAPES}, executed)


def _busiest(dims: tuple[int, ...]) -> Fraction:
    """What the busiest link carries in an executed all-to-all, each block over a shortest path."""
    return max(execute(relay.relay(Lattice(dims, False)), mesh(dims)).link_total)


@answer(CHAPTER, "E-02-097")
def _all_to_all() -> Finding:
    executed: dict[str, Fraction] = {f"{Lattice(dims)}, busiest link": _busiest(dims) for dims in EVEN}
    claimed = {f"{Lattice(dims)}, busiest link": Fraction(max(dims), 4) for dims in EVEN}
    for dims in ((4,), (8,), (6, 4), (8, 4)):  # and a schedule that never lets that link idle
        found = execute(relay.relay_one_by_one(mesh(dims)), mesh(dims)).cost
        executed[f"{Lattice(dims)}, n_beta"] = Fraction(found.n_beta)
        claimed[f"{Lattice(dims)}, n_beta"] = Fraction(max(dims), 4)
    return Finding.compare(claimed, executed)


@answer(CHAPTER, "E-00-042")
def _row_of_the_cheatsheet() -> Finding:
    executed: dict[str, object] = {}
    claimed: dict[str, object] = {}
    for dims in ((4,), (4, 4), (8, 4), (4, 4, 2)):
        axes = Lattice(dims, False)
        executed[f"{axes}, all-reduce"] = execute(lattice.dim_ring(axes), mesh(dims)).cost
        claimed[f"{axes}, all-reduce"] = _formula(dims)
        executed[f"{axes}, busiest link of an all-to-all"] = _busiest(dims)
        claimed[f"{axes}, busiest link of an all-to-all"] = Fraction(max(dims), 4)
    return Finding.compare(claimed, executed)


@answer(CHAPTER, "E-02-098")
def _mesh_against_star() -> Finding:
    """Loads of the busiest link, against pairwise exchange on a star; the torus with its ties shared out."""
    on_star = Fraction(511, 512)
    assert execute(alltoall.pairwise(512)).cost.n_beta == on_star
    loads = (
        ("2", mesh((8, 8, 8))),
        ("8", mesh((32, 16))),
        ("4", torus((32, 16), tie="balanced")),
    )
    return Finding.rounds({text: float(max(relay.link_loads(where)) / on_star) for text, where in loads})


@answer(CHAPTER, "E-02-099")
def _decomposed() -> Finding:
    """The axes one after the other: the busiest link of each axis, added up."""
    claimed, executed = {}, {}
    for dims in ((8,), (4, 4), (8, 4), (4, 4, 2)):
        axes, where = Lattice(dims, False), mesh(dims)
        total = execute(relay.relay(axes, phased=True), where).link_total
        step = abs(where.link_dst - where.link_src)
        executed[str(axes)] = sum(
            (max(load for load, apart in zip(total, step, strict=True) if apart == stride) for stride in axes.strides),
            Fraction(0),
        )
        claimed[str(axes)] = Fraction(sum(dims), 4)
    return Finding.compare(claimed, executed)


@answer(CHAPTER, "E-02-100")
def _from_the_middle() -> Finding:
    executed = {}
    for d in (3, 4, 5, 7, 8, 12):
        whole = lattice.dim_chain(Lattice((d,), False), root=d // 2)
        executed[d] = execute(whole, line(d)).cost.n_alpha
    return Finding.compare({d: ceil((d - 1) / 2) for d in executed}, executed)


@answer(CHAPTER, "E-02-101")
def _wires_that_wrap() -> Finding:
    """About N is met down to two thirds of N."""
    shapes = ((8, 8, 8), (16, 16, 16), (32, 16))
    extra = {str(Lattice(dims)): wires(torus(dims)) - wires(mesh(dims)) for dims in shapes}
    ranks = {str(Lattice(dims)): Lattice(dims).ranks for dims in shapes}
    executed = {f"{key}: {extra[key]} for N = {ranks[key]}": 3 * extra[key] >= 2 * ranks[key] for key in extra}
    because = (
        "An axis of d ranks has N/d lines and each gets one wire: N times the sum of 1/d_i, far fewer than N where the "
        "axes are long."
    )
    return Finding.compare(dict.fromkeys(executed, True), executed, because)


@answer(CHAPTER, "E-02-102")
def _one_way_at_a_time() -> Finding:
    executed = {}
    for d in SIZES:
        naive = execute(lattice.line_reduce_scatter(d, together=False), line(d)).cost
        executed[f"d = {d}"] = Fraction(naive.n_beta) / Fraction(
            execute(lattice.line_reduce_scatter(d), line(d)).cost.n_beta
        )
    return Finding.compare(dict.fromkeys(executed, Fraction(2)), executed)

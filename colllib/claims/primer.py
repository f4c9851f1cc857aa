"""Answers on what topologies are: neighbors, diameters, wires, bisections."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from colllib.algorithms import allreduce, alltoall, lattice, pointtopoint
from colllib.bounds import lower_bound
from colllib.claims.finding import Finding, answer, not_checkable
from colllib.cost import Cost
from colllib.execution import execute
from colllib.topology import Latency, Lattice, Topology, fat_tree, full_mesh, leaf_spine, line, mesh, ring, star, torus
from colllib.topology.cuts import bisection, diameter, links_per_rank, wires

CHAPTER = "13-topology-primer"
SIZES = (2, 3, 4, 6, 7, 8, 12, 16)
SHAPES = ((5,), (8,), (4, 3), (4, 4), (5, 4), (4, 4, 2), (3, 3, 3), (4, 3, 2), (8, 1, 1))

not_checkable(
    CHAPTER,
    {
        "E-02-001": "A cross-reference, and a wrong one: appendix B of the same part and part 03 itself have the fat "
        "tree in section 1, and section 2 has the composition rules.",
        "E-02-018": "A statement about what shipped; NVIDIA's own description joins the 16 GPUs of a DGX-2 through "
        "NVSwitches, and of the two only the DGX-1 was a cube-mesh.",
        "E-02-021": "A statement about what NCCL ships; its tuning model (src/graph/tuning.cc) offers broadcast the "
        "ring alone.",
        "E-02-022": "A statement about what NCCL ships; its tuning model (src/graph/tuning.cc) offers reduce the ring "
        "alone.",
        "E-02-023": "A statement about what NCCL ships; its tuning model (src/graph/tuning.cc) has both, and more.",
    },
)

# -- neighbors and wires ------------------------------------------------------------------------


@answer(CHAPTER, "E-02-003")
def _neighbors() -> Finding:
    executed = {Lattice(dims): set(links_per_rank(torus(dims))) for dims in SHAPES}
    return Finding.compare({axes: {sum(min(d - 1, 2) for d in axes.dims)} for axes in executed}, executed)


def _neighbors_of(claimed: int, *shapes: tuple[int, ...]) -> Finding:
    executed = {str(Lattice(dims)): set(links_per_rank(torus(dims))) for dims in shapes}
    return Finding.compare({key: {claimed} for key in executed}, executed)


answer(CHAPTER, "E-02-004")(lambda: _neighbors_of(5, (3, 3, 2), (4, 4, 2), (7, 7, 2)))
answer(CHAPTER, "E-02-005")(lambda: _neighbors_of(6, (3, 3, 4), (4, 4, 4), (7, 7, 4)))
answer(CHAPTER, "E-02-006")(lambda: _neighbors_of(6, (3, 3, 3)))
answer(CHAPTER, "E-02-007")(lambda: _neighbors_of(6, (3, 3, 4)))
answer(CHAPTER, "E-02-008")(lambda: _neighbors_of(6, (16, 16, 4)))
answer(CHAPTER, "E-02-009")(lambda: _neighbors_of(5, (4, 4, 2)))
answer(CHAPTER, "E-02-010")(lambda: _neighbors_of(3, (2, 2, 2)))
answer(CHAPTER, "E-02-011")(lambda: _neighbors_of(2, (8, 1, 1)))


def _axis_of(topology: Topology, a: int, b: int) -> int:
    assert topology.lattice is not None
    ends = (topology.lattice.coordinates(a), topology.lattice.coordinates(b))
    (axis,) = (k for k in range(len(ends[0])) if ends[0][k] != ends[1][k])
    return axis


@answer(CHAPTER, "E-02-012")
def _edges_of_a_cube() -> Finding:
    cube = torus((2, 2, 2))
    links = zip(cube.link_src.tolist(), cube.link_dst.tolist(), strict=True)
    axes = [_axis_of(cube, a, b) for a, b in links if a < b]
    executed = {"edges": wires(cube), "per axis": {axes.count(axis) for axis in range(3)}}
    return Finding.compare({"edges": 12, "per axis": {4}}, executed)


_NEIGHBORS = {  # as the source lists them, in its order: axis by axis
    (1, 1, 1): "011 211 101 121 110 112",
    (0, 0, 0): "100 200 010 020 001 002",
    (0, 1, 2): "112 212 002 022 011 010",
}
_WRAPS = {(1, 1, 1): 0, (0, 0, 0): 3, (0, 1, 2): 2}


@answer(CHAPTER, "E-02-013")
def _neighbors_in_a_cube_of_three() -> Finding:
    where = torus((3, 3, 3))
    axes = Lattice((3, 3, 3))
    claimed: dict[str, object] = {}
    executed: dict[str, object] = {}
    for place, listed in _NEIGHBORS.items():
        rank = int(np.dot(place, axes.strides))
        near = [axes.coordinates(int(b)) for b in where.link_dst[where.link_src == rank]]
        executed[f"of {place}"] = {"".join(map(str, at)) for at in near}
        claimed[f"of {place}"] = set(listed.split())
        executed[f"wraps of {place}"] = sum(max(abs(a - b) for a, b in zip(place, at, strict=True)) == 2 for at in near)
        claimed[f"wraps of {place}"] = _WRAPS[place]
    return Finding.compare(claimed, executed)


#: Google's documentation: the chips of a v5p pod, and the largest slice of it.
V5P_POD, V5P_LARGEST_SLICE = 8960, (16, 16, 24)


@answer(CHAPTER, "E-02-014")
def _chips_of_a_pod() -> Finding:
    because = (
        f"16 x 16 x 16 is {Lattice((16, 16, 16)).ranks}, the size of a TPU v4 pod; the documentation gives a v5p pod "
        f"{V5P_POD:,} chips and its largest slice {Lattice(V5P_LARGEST_SLICE)}."
    )
    return Finding.compare(Lattice((16, 16, 16)).ranks, V5P_POD, because, "tpuv5p")


@answer(CHAPTER, "E-02-016")
def _edges_of_a_full_mesh() -> Finding:
    executed = {n: wires(full_mesh(n)) for n in SIZES}
    return Finding.compare({n: n * (n - 1) // 2 for n in SIZES}, executed)


# -- latency and bandwidth of a star -------------------------------------------------------------


@answer(CHAPTER, "E-02-019")
def _parts_of_alpha() -> Finding:
    """A message from rank to rank through one switch, with alpha = 0.5 us divided as the source divides it."""
    alpha = 500  # ns
    parts = Latency(endpoint=Fraction(400, alpha), switch=Fraction(100, alpha))
    route = execute(pointtopoint.direct(2), star(2, latency=parts)).cost
    return Finding.compare(Fraction(1, 2), route.n_alpha * Fraction(alpha, 1000))


#: NVIDIA's data sheet on fifth-generation NVLink: links of a GPU, and GB/s of all of them, both ways.
NVLINK5_LINKS, NVLINK5_BOTH_WAYS = 18, 1800


@answer(CHAPTER, "E-02-020")
def _one_port() -> Finding:
    because = (
        f"A GPU has {NVLINK5_LINKS} such links: 900 GB/s one way is what all of them give together, bonded to the one "
        "port of our star."
    )
    return Finding.compare(
        {"GB/s one way per link": Fraction(900)},
        {"GB/s one way per link": Fraction(NVLINK5_BOTH_WAYS, 2 * NVLINK5_LINKS)},
        because,
        "nvlink",
    )


@answer(CHAPTER, "E-02-024")
def _all_to_all_on_a_star() -> Finding:
    """Both sides: the bound, and that a schedule attains it."""
    executed = {}
    for n in SIZES:
        executed[f"N = {n}, bound"] = Fraction(lower_bound("all-to-all", n).n_beta)
        executed[f"N = {n}, pairwise"] = Fraction(execute(alltoall.pairwise(n)).cost.n_beta)
    said = {key: Fraction(n - 1, n) for n in SIZES for key in (f"N = {n}, bound", f"N = {n}, pairwise")}
    return Finding.compare(said, executed)


# -- diameters -----------------------------------------------------------------------------------


@answer(CHAPTER, "E-02-002", "E-02-141")
def _diameter_of_a_star() -> Finding:
    executed = {n: diameter(star(n)) for n in SIZES}
    return Finding.compare(dict.fromkeys(executed, 2), executed)


@answer(CHAPTER, "E-02-139")
def _diameter_of_a_torus() -> Finding:
    executed = {Lattice(dims): diameter(torus(dims)) for dims in SHAPES}
    return Finding.compare({axes: sum(d // 2 for d in axes.dims) for axes in executed}, executed)


@answer(CHAPTER, "E-02-140")
def _diameter_of_a_mesh() -> Finding:
    executed = {Lattice(dims, False): diameter(mesh(dims)) for dims in SHAPES}
    return Finding.compare({axes: sum(d - 1 for d in axes.dims) for axes in executed}, executed)


@answer(CHAPTER, "E-02-142")
def _diameter_of_a_full_mesh() -> Finding:
    executed = {n: diameter(full_mesh(n)) for n in SIZES}
    return Finding.compare(dict.fromkeys(executed, 1), executed)


answer(CHAPTER, "E-02-143")(lambda: Finding.compare(4, diameter(leaf_spine(4, 2, 2))))
answer(CHAPTER, "E-02-144")(lambda: Finding.compare(6, diameter(fat_tree(4))))


@answer(CHAPTER, "E-02-145")
def _three_by_three() -> Finding:
    claimed = {"10": 1, "20": 1, "01": 1, "02": 1, "11": 2, "21": 2, "12": 2, "22": 2}
    where, axes = torus((3, 3)), Lattice((3, 3))
    executed = {}
    for rank in range(1, 9):
        message, _ = where.router(np.array([0]), np.array([rank]))
        executed["".join(map(str, axes.coordinates(rank)))] = len(message)
    return Finding.compare(
        claimed | {"D of the torus": 2, "D of the mesh": 4},
        executed | {"D of the torus": diameter(where), "D of the mesh": diameter(mesh((3, 3)))},
    )


def _diameters_of_512(dims: tuple[int, ...], closed: int, opened: int) -> Finding:
    executed = {"torus": diameter(torus(dims)), "mesh": diameter(mesh(dims))}
    return Finding.compare({"torus": closed, "mesh": opened}, executed)


answer(CHAPTER, "E-02-146")(lambda: _diameters_of_512((512,), 256, 511))
answer(CHAPTER, "E-02-147")(lambda: _diameters_of_512((32, 16), 24, 46))
answer(CHAPTER, "E-02-148")(lambda: _diameters_of_512((8, 8, 8), 12, 21))
answer(CHAPTER, "E-02-149")(lambda: _diameters_of_512((8, 4, 4, 4), 10, 16))


@answer(CHAPTER, "E-02-150")
def _compression() -> Finding:
    """About 25 is met within 5 %; 1.75 is exact."""
    fewer = Fraction(diameter(ring(512)), diameter(torus((8, 4, 4, 4))))
    ratio = Fraction(diameter(mesh((8, 8, 8))), diameter(torus((8, 8, 8))))
    executed = {f"256/10 = {float(fewer)} is about 25": abs(fewer / 25 - 1) < Fraction(1, 20), "21/12": ratio}
    return Finding.compare(dict(zip(executed, (True, Fraction(7, 4)), strict=True)), executed)


# -- what enters which formula -------------------------------------------------------------------


@answer(CHAPTER, "E-02-151")
def _coefficient_of_the_ring() -> Finding:
    executed = {f"ring all-reduce, N = {n}": Fraction(execute(allreduce.ring(n)).cost.n_beta) for n in SIZES}
    because = (
        "(N-1)/N is the coefficient of a reduce-scatter or an all-gather; an all-reduce is one after the other and "
        "moves twice that."
    )
    return Finding.compare({f"ring all-reduce, N = {n}": Fraction(n - 1, n) for n in SIZES}, executed, because)


@answer(CHAPTER, "E-02-152")
def _diameter_in_the_latency() -> Finding:
    """If D decided n_alpha, tori of one diameter would have one n_alpha."""
    by_diameter: dict[int, list[int]] = {}
    for dims in ((8, 8, 8), (6,), (4, 2), (3, 3, 3), (2, 2, 2)):
        steps = execute(lattice.dim_ring(Lattice(dims)), torus(dims)).cost.n_alpha
        by_diameter.setdefault(diameter(torus(dims)), []).append(int(steps))
    executed = {f"steps of dim-ring on tori with D = {hops}": steps for hops, steps in by_diameter.items()}
    because = (
        "2 sum(d_i - 1) is not a function of the torus's diameter: a ring that is used one way takes d - 1 steps, and "
        "only the schedule that goes the shorter way round takes 2D."
    )
    return Finding.compare(
        {key: [2 * hops] * len(steps) for key, (hops, steps) in zip(executed, by_diameter.items(), strict=True)},
        executed,
        because,
    )


# -- bisections ----------------------------------------------------------------------------------


@answer(CHAPTER, "E-02-015")
def _how_they_grow() -> Finding:
    """From axes of 4 to axes of 8: N grows by 2^k."""
    claimed, executed = {}, {}
    for k in (1, 2, 3):
        small, large = torus((4,) * k), torus((8,) * k)
        executed[f"k = {k}, D"] = Fraction(diameter(large), diameter(small))
        claimed[f"k = {k}, D"] = Fraction(2)  # N^(1/k)
        executed[f"k = {k}, bisection"] = bisection(large).bandwidth / bisection(small).bandwidth
        claimed[f"k = {k}, bisection"] = Fraction(2 ** (k - 1))  # N^((k-1)/k)
    return Finding.compare(claimed, executed)


@answer(CHAPTER, "E-00-043")
def _bisection_of_a_torus() -> Finding:
    """Every half is tried up to 20 ranks; above, cut and bound meet."""
    executed, claimed = {}, {}
    for dims in ((4,), (7,), (4, 3), (6, 3), (4, 4), (4, 4, 4), (8, 8, 8), (3, 2), (3, 3), (5, 4)):
        found = bisection(torus(dims))
        assert found.exact
        executed[str(Lattice(dims))] = found.bandwidth
        claimed[str(Lattice(dims))] = Fraction(2 * torus(dims).ranks, max(dims))
    because = (
        "The formula holds where the longest axis is even and has at least 4 ranks; an odd one cannot be cut in two "
        "equal parts, and the layer that is left over in the middle has to be cut as well."
    )
    return Finding.compare(claimed, executed, because, "arjona2014")


@answer(CHAPTER, "E-00-044", "E-02-084")
def _bisection_of_a_fat_tree() -> Finding:
    executed, claimed = {}, {}
    for leaves, down, up in ((4, 2, 1), (2, 4, 2), (2, 4, 1), (4, 2, 2), (2, 4, 4)):
        where = leaf_spine(leaves, down, up)
        found = bisection(where)
        assert found.exact
        over = Fraction(down, up)
        key = f"N = {where.ranks}, {leaves} leaves, s = {over}"
        executed[key], claimed[key] = found.bandwidth, over * where.ranks
    because = (
        "Counted one way, as the same texts count the torus's, N/2 ranks on one side can send N/2 BW at most, and "
        "oversubscription divides that: N BW / 2s."
    )
    return Finding.compare(claimed, executed, because)


@answer("16-mesh", "E-02-017")
def _latency_per_axis() -> Finding:
    """One text says twice the ring's alpha per axis (1.3), and the same as the ring's (4.2)."""
    d = 8
    opened = execute(lattice.dim_ring_reduce_scatter(Lattice((d,), False)), line(d)).cost
    one_way = execute(lattice.dim_ring_reduce_scatter(Lattice((d,))), ring(d)).cost
    both_ways = execute(lattice.dim_shortest_way_reduce_scatter(Lattice((d,))), ring(d)).cost
    because = (
        "A line takes the d - 1 steps of a ring that is used one way; only a ring that is used both ways, in d/2 "
        "steps, is almost twice as fast, and it then moves half the bytes as well."
    )
    told = f"line {_pair(opened)}; ring one way {_pair(one_way)}; ring both ways {_pair(both_ways)} at d = {d}"
    return Finding.statements({"§1.3": "about twice the ring's alpha", "§4.2": "the ring's alpha"}, told, because)


def _pair(cost: Cost) -> str:
    return f"{cost.n_alpha} alpha, {cost.n_beta} M/BW"

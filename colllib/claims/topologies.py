"""Answers on topologies: their links, diameters and cuts, and collectives along the axes of tori and meshes."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import compress, pairwise, permutations, product
from typing import Any

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from colllib.algorithms import allreduce, direct, lattice, relay
from colllib.claims.cases import along, as_quantities, deferred, measured, once, one_by, per
from colllib.claims.runs import built, place, proves, run
from colllib.claims.value import Case, Cases, Table
from colllib.execution import trace
from colllib.schedule import Schedule, Step, in_sequence, placed
from colllib.topology import Lattice, full_mesh, one_port, star
from colllib.topology.cuts import diameter, links_per_rank, wires

SEND = "point-to-point direct"
DIM_RING, PAIRWISE, TREE = "all-reduce dim-ring", "all-to-all pairwise", "broadcast binomial-tree"
NS = (2, 3, 4, 6, 7, 8, 12, 16)

# -- links, diameters, cuts ---------------------------------------------------------------------------


def _neighbors_of_three() -> Cases:
    topology = place("torus:3x3x3")
    case: dict[str, Any] = {"at": topology.name}
    for name, at in (("body", (1, 1, 1)), ("corner", (0, 0, 0)), ("edge", (0, 1, 2))):
        rank = int(np.dot(at, Lattice((3, 3, 3)).strides))
        neighbors = [Lattice((3, 3, 3)).coordinates(int(b)) for b in topology.link_dst[topology.link_src == rank]]
        case[name] = " ".join(sorted("".join(map(str, neighbor)) for neighbor in neighbors))
        case[f"{name}_wraps"] = sum(bool((np.abs(np.subtract(at, neighbor)) == 2).any()) for neighbor in neighbors)
    yield case


def _per_axis(on: str) -> int:
    cube = place(on)
    axis = np.unique(cube.link_src ^ cube.link_dst, return_counts=True)[1]  # a link each way
    return int(axis.max()) // 2


def _hops(on: str) -> str:
    """From the first rank of a square of three to every other."""
    square = place(on)
    message, _ = square.router(np.zeros(8, dtype=int), np.arange(1, 9))
    labels = ("".join(map(str, Lattice((3, 3)).coordinates(rank))) for rank in range(1, 9))
    return " ".join(sorted(f"{label}:{count}" for label, count in zip(labels, np.bincount(message), strict=True)))


def _mesh_and_star() -> Cases:
    """With one port per rank on the mesh, which the source gives it, and apart with a port for every link."""
    names = ("ring", "recursive-doubling", "rabenseifner", "double-binary-tree")
    whats = [*(f"all-reduce {name}" for name in names), "all-gather pat", "all-to-all bruck", PAIRWISE, TREE]
    for n, what in product((4, 8, 16), whats):
        topologies = {"mesh": one_port(full_mesh(n)), "apart": full_mesh(n), "star": star(n)}
        runs = {name: as_quantities(run(what, on, 4 if what == TREE else 1)) for name, on in topologies.items()}
        pairwise_beta = Fraction(run(PAIRWISE, topologies["mesh"]).cost.n_beta)
        yield {"at": f"N = {n}, {what}", "N": n, "pairwise": pairwise_beta, **runs}


# -- printed states of small tori ---------------------------------------------------------------------

CUBE, CUBE_LETTERS = Lattice((2, 2, 2)), "abefcdgh"  # the source's letter of rank x + 2y + 4z
SQUARE, SQUARE_LETTERS = Lattice((3, 3)), "abcdefghi"


def _contents_after(schedule: Schedule, t: int, letters: str) -> dict[tuple[str, int], str]:
    """(rank, block) after t steps -> the ranks whose contributions it holds; ranks by their letters."""
    return {
        (letters[rank], block): "".join(sorted(letters[source] for source in value.elements()))
        for (rank, block), value in sorted(list(trace(schedule))[t].items())
    }


def _pairs(schedule: Schedule, t: int, letters: str) -> str:
    """Who sends to whom in step t, counted from 1, as pairs of letters."""
    ends = {letters[src] + letters[dst] for src, dst in np.transpose(schedule.step(t - 1)[:2])}
    return " ".join(sorted(ends))


@deferred
def _phased(build: Callable[..., Schedule], axes: Lattice, letters: str) -> Cases:
    """After each phase: who has sent to whom, who holds the vector, and the sums that a later message touches."""
    schedule = built(build, axes, phased=True, on=f"torus:{axes}").schedule
    case: dict[str, Any] = {"at": f"torus:{axes}"}
    for t in range(1, schedule.num_steps + 1):
        contents = _contents_after(schedule, t, letters)
        later = "".join(_pairs(schedule, k, letters) for k in range(t + 1, schedule.num_steps + 1)) or letters[0]
        holders = sorted(letter for letter, _ in contents)
        sums = " ".join(f"{letter}:{contents[letter, 0]}" for letter in holders if letter in later)
        case |= {f"sent{t}": _pairs(schedule, t, letters), f"holders{t}": "".join(holders), f"sums{t}": sums}
    yield case


def _all_reduced() -> Cases:
    """The chunks that each rank has got furthest with, and whose contributions these hold, after every step.

    Our chunk of owner r has the number that the source leaves with r after the reduce-scatter.
    """
    schedule = built(lattice.dim_ring, CUBE, on="torus:2x2x2").schedule
    number = ["acegbdfh".index(letter) for letter in CUBE_LETTERS]
    for t in range(schedule.num_steps + 1):
        contents = _contents_after(schedule, t, CUBE_LETTERS)
        cells = []
        for letter in sorted(CUBE_LETTERS):
            mine = {number[block]: contents[letter, block] for block in range(8) if (letter, block) in contents}
            best = sorted(chunk for chunk, who in mine.items() if len(who) == max(map(len, mine.values())))
            whose = "|".join(sorted({mine[chunk] for chunk in best}))
            cells.append(f"{letter}:{''.join(map(str, best))}:{whose}")
        yield {"at": f"step {t}", "step": t, "state": " ".join(cells)}


# -- all-reduce along the axes -------------------------------------------------------------------------


def _rings_at_once() -> Cases:
    """The X links fall into so many rings, counted as connected components."""
    topology = place("torus:16x16x16")
    ends = np.array((topology.link_src, topology.link_dst))
    on_x = ends[:, (ends[0] - ends[1]) % 16 != 0]  # neighbors on other axes are multiples of 16 apart
    rings, ring = connected_components(coo_array((np.ones(on_x.shape[1]), tuple(on_x))))
    yield {"at": topology.name, "rings": rings, "ranks": int(np.bincount(ring).max())}


def flat_ring(axes: Lattice) -> Schedule:
    """The ring's all-reduce from neighbor to neighbor, by a walk over all ranks."""
    return placed(allreduce.ring(axes.ranks), lattice.snake(axes))


def ring_between_boxes(count: int, ranks: int) -> Schedule:
    """The ring's all-reduce through all boxes in turn, so that every hop leaves one."""
    walk = np.arange(count * ranks).reshape(count, ranks).T.ravel()
    return placed(allreduce.ring(count * ranks), walk.tolist())


def _of_4096(axes: Lattice) -> Case:
    """The flat ring's walk has hops of one link."""
    order = np.array(lattice.snake(axes))
    message, _ = place(f"torus:{axes}").router(order, np.roll(order, -1))
    steps = 2 * (axes.ranks - 1) * int(np.bincount(message).max())
    return {"rings": measured(DIM_RING, f"torus:{axes}"), "flat_alpha": steps}


def _hops_in_rank_order(axes: Lattice) -> Case:
    """Of the links of every hop of a ring in the printed order."""
    rank = np.arange(axes.ranks)
    hops = np.bincount(place(f"torus:{axes}").router(rank, np.roll(rank, -1))[0])
    return {"average": float(hops.mean()), "longest": int(hops.max()), "of_one_link": f"{(hops == 1).mean():.0%}"}


def _phases(axes: Lattice) -> Case:
    """The n_beta of each phase of a dim-ring all-reduce, X-RS first."""
    done = run(DIM_RING, f"torus:{axes}")
    ends = np.cumsum([0, *(size - 1 for size in (*axes.dims, *axes.dims[::-1]))]).tolist()
    parts = [Fraction(done.cost_of(range(a, b)).n_beta) for a, b in pairwise(ends)]
    sides = {f"d{name}": size for name, size in zip("xyz", axes.dims, strict=True)}
    named = {f"phase{k}": part for k, part in enumerate(parts, 1)}
    return {"scatter": sum(parts[:3]), "gather": sum(parts[3:]), **named, **sides}


def _in_use(step: Step, axes: Lattice) -> list[int]:
    """The axes along which a step sends."""
    return [k for k in range(len(axes.dims)) if (axes.coordinate(step.src, k) != axes.coordinate(step.dst, k)).any()]


def _axes_at_once(axes: Lattice) -> Case:
    steps = run("all-reduce rotated-dim-ring", f"torus:{axes}").schedule.steps
    return {"axes_at_once": min(len(_in_use(step, axes)) for step in steps)}


def _begins() -> str:
    first = run("reduce-scatter dim-ring", "torus:4x3x2").schedule.step(0)
    return " ".join("XYZ"[axis] for axis in _in_use(first, Lattice((4, 3, 2))))


def _gathered_in(dims: tuple[int, ...], order: tuple[int, ...]) -> Schedule:
    down = lattice.dim_ring_reduce_scatter(Lattice(dims))
    return in_sequence(down, lattice.dim_ring_all_gather(Lattice(dims), order=order))


def _orders() -> Cases:
    """Every order of the gathers after one order of the reduce-scatters: proved by the executor, and equally dear."""
    for dims, order in product(((4, 3, 2), (8, 2, 2)), permutations(range(3))):
        on = f"torus:{Lattice(dims)}"
        turned = as_quantities(built(_gathered_in, dims, order, on=on))
        yield {"at": f"{on}, gathers {order}", "turned": turned, "usual": measured(DIM_RING, on)}


def _against_rings(axes: Lattice) -> Case:
    """Rabenseifner on every axis, at its best over both orders of the partners and both rules for ties."""
    tries = product(("near", "far"), (f"torus:{axes}", f"torus:{axes},tie=balanced"))
    runs = [as_quantities(built(lattice.dim_rabenseifner, axes, order=order, on=on)) for order, on in tries]
    halving = min(runs, key=lambda one: (one.n_alpha, one.n_beta))
    rings = measured(DIM_RING, f"torus:{axes}")
    saved = rings.n_alpha - halving.n_alpha
    compression = Fraction(rings.n_alpha) / Fraction(halving.n_alpha)
    ratios = {"saved_us": float(saved) * 0.5, "saving": 100 * (1 - halving.t / rings.t), "compression": compression}
    return {"halving": halving, "rings": rings, "saved": saved, **ratios}


# -- meshes --------------------------------------------------------------------------------------------


def one_by_one(axes: Lattice) -> Schedule:
    """A schedule that never lets the busiest link idle."""
    return relay.relay_one_by_one(place(f"mesh:{axes}"))


def _one_after_the_other(axes: Lattice) -> Case:
    """The busiest link of each axis, added up."""
    done = built(relay.relay, axes, phased=True, on=f"mesh:{axes}")
    apart = abs(done.topology.link_dst - done.topology.link_src)
    return {"in_all": sum(max(compress(done.link_total, apart == stride)) for stride in axes.strides)}


def _line(size: int, together: bool) -> Fraction:
    return Fraction(built(lattice.line_reduce_scatter, size, together=together, on=f"mesh:{size}").cost.n_beta)


TABLE: Table = {
    "E-02-013": _neighbors_of_three,
    "E-02-012": along("torus", ((2, 2, 2),), edges=lambda on: wires(place(on)), per_axis=_per_axis),
    "E-02-145": once(
        "3x3",
        torus=lambda: diameter(place("torus:3x3")),
        mesh=lambda: diameter(place("mesh:3x3")),
        hops=lambda: _hops("torus:3x3"),
    ),
    " ".join(f"E-02-{number:03}" for number in range(46, 53)): _all_reduced,
    "E-02-025": _rings_at_once,
    "E-02-056 E-02-070 E-02-028": along("torus", ((16, 16, 16),), _of_4096),
    "E-02-073": _orders,
    "E-00-040 E-02-131 E-02-132 E-02-133 E-02-134 E-02-135 E-02-137 E-02-128": along(
        "torus", ((4,), (8,), (16,), (4, 4), (4, 4, 4), (8, 8, 8)), _against_rings
    ),
    "E-02-138": once(
        "torus:4x4x4", runs=lambda: proves(lattice.dim_rabenseifner, Lattice((4, 4, 4)), on="torus:4x4x4")
    ),
    "E-02-060 E-02-061 E-02-062 E-02-063 E-02-064 E-02-065 E-02-066": along(
        "torus", ((2, 2, 2), (4, 3, 2), (2, 3, 5), (8, 8, 8)), _phases
    ),
    "E-02-029": along("torus", ((4, 4, 4), (2, 2, 2)), _hops_in_rank_order),
    "E-02-031 E-02-032 E-02-033": _phased(lattice.dim_chain, CUBE, CUBE_LETTERS),
    "E-02-037": _phased(lattice.dim_chain, SQUARE, SQUARE_LETTERS),
    "E-02-041 E-02-042 E-02-043": _phased(lattice.dim_chain_reduce, CUBE, CUBE_LETTERS),
    "E-02-044": _phased(lattice.dim_chain_reduce, SQUARE, SQUARE_LETTERS),
    "E-02-058": once("torus:4x3x2", begins=_begins),
    "E-02-059": along("torus", ((2, 2, 2), (4, 4), (3, 3, 3), (4, 4, 4)), _axes_at_once),
    "E-00-041": _mesh_and_star,
    "E-02-092": per(
        NS,
        pairwise=lambda n: Fraction(run(PAIRWISE, f"full-mesh:{n}").cost.n_beta),
        behind_one_port=lambda n: Fraction(built(direct.all_to_all, n, on=one_port(full_mesh(n))).cost.n_beta),
    ),
    # by ranks x + 3y + 9z
    "E-02-094": one_by(
        "mesh:3x3x3", lambda rank: links_per_rank(place("mesh:3x3x3"))[rank], body=13, face=4, edge=3, corner=0
    ),
    "E-02-099": along("mesh", ((8,), (4, 4), (8, 4), (4, 4, 2)), _one_after_the_other),
    "E-02-102": per((2, 3, 4, 5, 8, 16), name="size", times=lambda size: _line(size, False) / _line(size, True)),
}

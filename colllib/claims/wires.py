"""Answers on the all-to-all of a torus: link loads, ties, the bisection, shapes, and what decomposition costs."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import pairwise

import networkx as nx
import numpy as np

from colllib.algorithms import alltoall, relay
from colllib.bounds import middle_cut
from colllib.claims.finding import Finding, answer
from colllib.cost import Cost
from colllib.events import event_clock
from colllib.exact import Fractions
from colllib.execution import Execution, execute
from colllib.ladder import ANCHOR_RANKS
from colllib.primitives import Blocks, all_to_all
from colllib.schedule import Schedule, Step
from colllib.topology import Lattice, Topology, torus
from colllib.topology.routes import alternating_torus, blocks_on, with_routes

CHAPTER = "15-all-to-all-on-wires"
SMALL = (4, 4)
#: Cubic shapes that are executed, block by block.
CUBES = ((4, 4), (6, 6), (8, 8), (4, 4, 4))
#: The sections of the source's part 02, and its appendices.
PART_02 = ("1", "2", "3", "4", "5", "Appendix A", "Appendix B", "Appendix C")


@cache
def _relay(dims: tuple[int, ...], tie: str = "split", phased: bool = False, rotated: bool = True) -> Execution:
    return execute(relay.relay(Lattice(dims), tie=tie, phased=phased, rotated=rotated), torus(dims))


@cache
def _loads(dims: tuple[int, ...], tie: str = "balanced") -> tuple[Fraction, ...]:
    return relay.link_loads(torus(dims, tie=tie))


def _busiest(dims: tuple[int, ...], tie: str = "balanced") -> Fraction:
    return max(_loads(dims, tie))


def _rank(name: str) -> int:
    return ord(name) - ord("a")


def _name(rank: int) -> str:
    return chr(ord("a") + rank)


# -- the relay and its routes ------------------------------------------------------------------


@answer(CHAPTER, "E-02-075")
def _ports_over() -> Finding:
    executed = {str(Lattice(dims)): _relay(dims).cost for dims in CUBES}
    ring = {str(Lattice(dims)): Cost(n - 1, Fraction(n - 1, n)) for dims in CUBES for n in (Lattice(dims).ranks,)}
    general = {str(Lattice(dims)): Cost(sum(size // 2 for size in dims), Fraction(max(dims), 8)) for dims in CUBES}
    last = str(Lattice(CUBES[-1]))
    because = (
        "One section says that the ring relay's cost carries over to the torus verbatim, and then derives another: "
        "executed, the steps are the diameter's, and the bytes those of the busiest link."
    )
    said = {"its first paragraph": ring[last], "its general formula": general[last]}
    return Finding.statements(said, executed[last], because)


@answer(CHAPTER, "E-02-076")
def _sample_routes() -> Finding:
    ends = ("ab", "ad", "ac", "ak")
    message, _ = torus(SMALL).router(np.array([_rank(p[0]) for p in ends]), np.array([_rank(p[1]) for p in ends]))
    hops = np.bincount(message, minlength=len(ends)).tolist()
    return Finding.compare(dict(zip(ends, (1, 1, 2, 4), strict=True)), dict(zip(ends, hops, strict=True)))


@answer(CHAPTER, "E-02-077")
def _chunks() -> Finding:
    blocks = all_to_all(Lattice(SMALL).ranks)
    return Finding.compare(240, int((blocks.source != blocks.target).sum()))


@answer(CHAPTER, "E-02-078")
def _all_there_after_the_diameter() -> Finding:
    routes: dict[str, Topology] = {
        "ties up": torus(SMALL),
        "ties balanced": torus(SMALL, tie="balanced"),
        "ties balanced, axes in turn": alternating_torus(SMALL),
    }
    executed = {f"steps, {how}": execute(relay.relay_one_by_one(w), w).cost.n_alpha for how, w in routes.items()}
    because = (
        "The 240 chunks cross 512 links in all, and 64 links with a chunk each carry 64 in a step: 8 steps at least; "
        "in 4 steps all arrive only if a link may carry several at once, in longer steps."
    )
    return Finding.compare(dict.fromkeys(executed, 4), executed, because)


@answer(CHAPTER, "E-02-079")
def _diameter_steps() -> Finding:
    shapes = (*CUBES, (5, 3), (6, 4), (4, 2, 3), (8,))
    claimed = {str(Lattice(dims)): nx.diameter(torus(dims).to_networkx()) for dims in shapes}
    executed = {str(Lattice(dims)): _relay(dims).cost.n_alpha for dims in shapes}
    return Finding.compare(claimed, executed)


def _parity_path(a: int, b: int) -> list[int]:
    """X first; on a tie even coordinates go up and odd ones down."""
    at, path = [a % 4, a // 4], [a]
    for axis, end in enumerate((b % 4, b // 4)):
        ahead = (end - at[axis]) % 4
        way = 1 if ahead == 1 or (ahead == 2 and at[axis] % 2 == 0) else -1
        while at[axis] != end:
            at[axis] = (at[axis] + way) % 4
            path.append(at[0] + 4 * at[1])
    return path


@answer(CHAPTER, "E-02-081")
def _chunks_on_one_link() -> Finding:
    """The printed list belongs to one way to balance the ties; under it all links carry 8."""
    where = with_routes(torus(SMALL), _parity_path)
    printed = sorted(f"{a}->{b}" for a in "ab" for b in "cgko")
    found = sorted(f"{_name(a)}->{_name(b)}" for a, b in blocks_on(where, _rank("b"), _rank("c")))
    loads = sorted({str(load * where.ranks) for load in relay.link_loads(where)})
    claimed = {"on b->c": ", ".join(printed), "loads of all links": "8"}
    return Finding.compare(claimed, {"on b->c": ", ".join(found), "loads of all links": ", ".join(loads)})


# -- the cut -----------------------------------------------------------------------------------


@answer(CHAPTER, "E-02-080", "E-02-155")
def _severed() -> Finding:
    return Finding.compare(8, middle_cut(torus(SMALL)).links)


@answer(CHAPTER, "E-02-156")
def _chunks_across() -> Finding:
    return Finding.compare(64, middle_cut(torus(SMALL)).crossing * Lattice(SMALL).ranks)


@answer(CHAPTER, "E-02-157")
def _bytes_across() -> Finding:
    return Finding.compare(Fraction(4), middle_cut(torus(SMALL)).crossing)


@answer(CHAPTER, "E-02-158")
def _throughput_across() -> Finding:
    return Finding.compare(Fraction(8), middle_cut(torus(SMALL)).bandwidth)


@answer(CHAPTER, "E-02-159")
def _chunks_per_link() -> Finding:
    rank = np.arange(16)
    where = torus(SMALL, tie="balanced")
    west = np.isin(rank % 4, (0, 1))
    crossing = west[where.link_src] & ~west[where.link_dst]
    loads = {load * 16 for load, over in zip(_loads(SMALL), crossing, strict=True) if over}
    return Finding.compare({Fraction(8)}, loads)


@answer(CHAPTER, "E-02-082")
def _half() -> Finding:
    """A bound from the cut, and a schedule that attains it."""
    claimed = {"cut": Fraction(1, 2), "executed": Fraction(1, 2)}
    return Finding.compare(claimed, {"cut": middle_cut(torus(SMALL)).n_beta, "executed": _relay(SMALL).cost.n_beta})


@answer(CHAPTER, "E-02-083")
def _eighth_of_the_longest() -> Finding:
    """Even axes of at least 4: the bound of the cut and the load of the busiest link."""
    shapes = ((4,), (4, 4), (6, 4), (8, 4), (8, 2), (8, 8), (4, 4, 4), (8, 4, 3), (8, 8, 8), (16, 8, 4))
    claimed, executed = {}, {}
    for dims in shapes:
        name = str(Lattice(dims))
        claimed[name] = (Fraction(max(dims), 8), Fraction(max(dims), 8))
        executed[name] = (middle_cut(torus(dims)).n_beta, relay.relay_load(Lattice(dims)))
    return Finding.compare(claimed, executed)


@answer(CHAPTER, "E-00-039")
def _eighth_at_cubes() -> Finding:
    cubes = [(size,) * axes for axes in (2, 3) for size in range(2, 7) if size**axes <= 64 or axes == 2]
    claimed = {str(Lattice(dims)): Fraction(dims[0], 8) for dims in cubes}
    executed = {str(Lattice(dims)): max(_relay(dims).link_total) for dims in cubes}
    wrong = [name for name in executed if executed[name] != claimed[name]]
    even = {name for name in executed if int(name.split("x")[0]) in (4, 6)}
    assert not even & set(wrong)
    because = (
        "Cubes of an even size from 4 on have exactly d/8; an odd size has (d^2-1)/8d, and at size 2, where one link "
        "joins two ranks, it is 1/2 and not 1/4."
    )
    return Finding.compare(claimed, executed, because)


# -- shapes, decomposition, ports ----------------------------------------------------------------


@answer(CHAPTER, "E-02-085")
def _one_axis_at_a_time() -> Finding:
    shapes = (*CUBES, (6, 4), (8, 4), (4, 8))
    executed = {str(Lattice(dims)): _relay(dims, "split", True, False).cost.n_beta for dims in shapes}
    claimed = {str(Lattice(dims)): Fraction(sum(dims), 8) for dims in shapes}
    executed["8x8x8"] = execute(
        relay.relay(Lattice((8, 8, 8)), tie="balanced", phased=True), torus((8, 8, 8))
    ).cost.n_beta
    claimed["8x8x8"] = Fraction(3)
    return Finding.compare(claimed, executed)


@answer(CHAPTER, "E-02-086")
def _no_escape() -> Finding:
    claimed, executed = {}, {}
    for dims in CUBES:
        phased = _relay(dims, "split", True, True).cost.n_beta
        least = middle_cut(torus(dims)).n_beta
        claimed[f"decomposed over the bound, {Lattice(dims)}"] = Fraction(len(dims))
        executed[f"decomposed over the bound, {Lattice(dims)}"] = phased / least
    because = (
        "Only one copy of it idles the other axes; cut every block into k slices that begin with different axes, and "
        "the decomposed schedule uses all links in every phase and costs what the cut demands."
    )
    return Finding.compare(claimed, executed, because)


@answer(CHAPTER, "E-02-087")
def _skewed_shapes() -> Finding:
    loads = {dims: _busiest(dims) for dims in ((8, 8, 8), (16, 8, 4), (32, 4, 4))}
    cube = loads[8, 8, 8]
    executed = {str(Lattice(dims)): load / cube for dims, load in loads.items() if dims != (8, 8, 8)}
    return Finding.compare({"16x8x4": Fraction(2), "32x4x4": Fraction(4)}, executed)


@answer(CHAPTER, "E-02-088")
def _two_axes_to_three() -> Finding:
    return Finding.compare(Fraction(4), _busiest((32, 16)) / _busiest((8, 8, 8)))


@answer(CHAPTER, "E-02-089")
def _against_a_star() -> Finding:
    """A link of BW per neighbor, six of them, against one port of BW: as the source compares."""
    star = alltoall.pairwise_cost(ANCHOR_RANKS).n_beta
    return Finding.rounds({"1": float(_busiest((8, 8, 8)) / star)})


# -- two ways of counting ------------------------------------------------------------------------


@answer(CHAPTER, "E-02-153")
def _one_journey() -> Finding:
    """The chunk from a to k alone on the torus, passed on when it has arrived in full; no latency."""
    route = [_rank(name) for name in "abcgk"]
    blocks = Blocks(16, Fractions.equal(1, Fraction(1, 16)), np.array([route[0]]), np.array([route[-1]]), ())
    steps = [Step.of(a, b, 0) for a, b in pairwise(route)]
    clock = event_clock(Schedule.from_steps(blocks, steps), torus(SMALL), message=1, alpha=0, bandwidth=1)
    return Finding.compare(Fraction(1, 4), Fraction(clock.seconds))


@answer(CHAPTER, "E-02-154")
def _routes_to_the_antipode() -> Finding:
    graph = torus(SMALL).to_networkx()
    routes = list(nx.all_shortest_paths(graph, _rank("a"), _rank("k")))
    because = (
        "Two hops on each axis, each axis either way round, in any of six orders: 24 routes; each of them crosses the "
        "cut once, as the source says of the three that it lists."
    )
    return Finding.compare(3, len(routes), because)


def _ratio_row(dims: tuple[int, ...], chunks: str, ratio: str) -> Finding:
    ranks = Lattice(dims).ranks
    if ranks <= ANCHOR_RANKS:
        busiest = _busiest(dims) * ranks
    else:  # by symmetry; half of the ties each way
        busiest = max(sum(pair, Fraction(0)) / 2 for pair in relay.torus_link_loads(Lattice(dims))) * ranks
    diameter = sum(size // 2 for size in dims)
    return Finding.rounds({chunks: float(busiest), ratio: float(busiest / diameter)})


@answer(CHAPTER, "E-02-160")
def _ratio_4() -> Finding:
    return _ratio_row((4, 4), "8", "2")


@answer(CHAPTER, "E-02-161")
def _ratio_8() -> Finding:
    return _ratio_row((8, 8), "64", "8")


@answer(CHAPTER, "E-02-162")
def _ratio_512() -> Finding:
    return _ratio_row((8, 8, 8), "512", "43")


@answer(CHAPTER, "E-02-163")
def _ratio_4096() -> Finding:
    return _ratio_row((16, 16, 16), "8192", "341")


@answer(CHAPTER, "E-02-164")
def _symmetry() -> Finding:
    executed = {
        "ties balanced": sorted(set(_loads(SMALL))),
        "ties up": sorted(set(_loads(SMALL, "up"))),
    }
    because = (
        "Symmetry makes all links of one axis and direction alike, not the two directions: with every tie upwards the "
        "links up carry three times those down, and only balanced or split ties give M/2 everywhere."
    )
    return Finding.compare({how: [Fraction(1, 2)] for how in executed}, executed, because)


# -- cross-references ----------------------------------------------------------------------------


@answer(CHAPTER, "E-02-090")
def _appendix() -> Finding:
    because = "That part has the appendices A, B and C; what section 3.6 points to is appendix C, and C.3 for D.3."
    return Finding.compare("Appendix D", PART_02[-1], because)


@answer(CHAPTER, "E-02-165")
def _section_7() -> Finding:
    return Finding.compare("section 7", f"section {PART_02[-4]}", "That part ends with section 5 and three appendices.")

"""Answers on all-to-all: pairwise exchange, ring relay, Bruck, and the relay on the wires of a torus."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from itertools import pairwise, product
from string import ascii_lowercase

import numpy as np

from colllib.algorithms import alltoall, relay
from colllib.bounds import middle_cut
from colllib.claims.allreduce import least, relay_singly
from colllib.claims.cases import Dims, measured, once, per
from colllib.claims.runs import ANCHOR, SIZES, built, place, run, timed
from colllib.claims.value import Case, Cases, Table
from colllib.exact import Fractions
from colllib.execution import trace
from colllib.primitives import PRIMITIVES, Blocks, all_to_all
from colllib.schedule import Schedule, Step
from colllib.topology import Lattice, torus
from colllib.topology.cuts import cut_links
from colllib.topology.routes import alternating_torus, blocks_on, with_routes

PAIRWISE, BRUCK = "all-to-all pairwise", "all-to-all bruck"


def _name(block: int) -> str:
    """A block of four ranks in the source's names: v01 from rank 0 to rank 1."""
    return f"v{block // 4}{block % 4}"


def _rows(pairs: Iterable[tuple[int, int]]) -> str:
    """The blocks of each of four ranks, from pairs of rank and block."""
    return " / ".join(" ".join(sorted(_name(block) for at, block in pairs if at == rank)) for rank in range(4))


def _pairwise_states() -> Cases:
    """What each of four ranks holds after t rounds and has not sent on."""
    schedule = built(alltoall.pairwise, 4).schedule
    sent: set[tuple[int, int]] = set()
    for t, state in enumerate(trace(schedule)):
        yield {"at": f"step {t}", "step": t, "state": _rows(state.keys() - sent)}
        if t < schedule.num_steps:
            sent |= set(zip(schedule.step(t).src.tolist(), schedule.step(t).block.tolist(), strict=True))


def _relay_states() -> Cases:
    """The blocks of four ranks that are where they belong, and what has just come in to be passed on."""
    schedule = built(relay_singly, 4, on="ring:4").schedule
    for t, state in enumerate(trace(schedule)):
        delivered = [(at, block) for at, block in state if at == block % 4]
        arrived = np.transpose(schedule.step(t - 1)[1:3]).tolist() if t else []
        parked = [(at, block) for at, block in arrived if at != block % 4]
        yield {"at": f"step {t}", "step": t, "delivered": _rows(delivered), "parked": _rows(parked)}


def _rounds_apart() -> Cases:
    """In lock-step, the clock of the text; what latencies do on the event clock goes with it."""
    seconds = timed(alltoall.pairwise, 16, price=(ANCHOR["message"], ANCHOR["alpha"], ANCHOR["bandwidth"]))
    latencies = (seconds - 15 / 16 * ANCHOR["message"] / ANCHOR["bandwidth"]) / ANCHOR["alpha"]
    for n, p in product((4, 7, 8), (1, 2, 4, 16)):
        cut = measured(PAIRWISE, f"star:{n}", p)
        yield cut.case(f"N = {n}, P = {p}", N=n, event_latencies=f"{latencies:.0f}")


def _relay_on_a_ring(n: int) -> Case:
    done = built(relay_singly, n, on=f"ring:{n}")
    chunks = [load * n for load in done.link_total]
    right, left = (" ".join(map(str, sorted(set(loads)))) for loads in (chunks[:n], chunks[n:]))
    cost = {"n_alpha": done.cost.n_alpha, "n_beta": Fraction(done.cost.n_beta)}
    return {**cost, "chunks": max(chunks), "right": right, "left": left}


def _buffers() -> Cases:
    """Slot by slot, after the rotation and after each round; `bruck_buffers` walks the executed schedule's buffers."""
    built(alltoall.bruck, 4)
    for_all = (" / ".join(" ".join(map(_name, row)) for row in state) for state in alltoall.bruck_buffers(4))
    yield {"at": "N = 4"} | {f"after{number}": text for number, text in enumerate(for_all)}


def _post_rotation(n: int) -> Case:
    """Whether "right by i", alone or reversed, gives the layout that the source prints."""
    built(alltoall.bruck, n)
    *_, before, after = alltoall.bruck_buffers(n)
    turned = [[row[(slot - i) % n] for slot in range(n)] for i, row in enumerate(before)]
    layouts = {"right_by_i": turned, "and_reversed": [row[::-1] for row in turned]}
    return {name: layout == [list(row) for row in after] for name, layout in layouts.items()}


# -- on the wires of a torus -------------------------------------------------------------------------

SQUARE, CUBE = "torus:4x4", "torus:8x8x8"
CUBES: tuple[Dims, ...] = ((4, 4), (6, 6), (8, 8), (4, 4, 4))


def in_slices(lattice: Lattice, phased: bool = False, rotated: bool = True) -> Schedule:
    """A relay with every block in slices that begin with different axes, ties split."""
    return relay.relay(lattice, tie="split", rotated=rotated, phased=phased)


_rank = ascii_lowercase.index  # by the source's letter


def _hops() -> Cases:
    import networkx as nx  # slow to import, and needed here alone

    topology = place(SQUARE)
    ends = ("ab", "ad", "ac", "ak")
    message, _ = topology.router(*np.array([list(map(_rank, pair)) for pair in ends]).T)
    routes = list(nx.all_shortest_paths(topology.to_networkx(), _rank("a"), _rank("k")))
    chunks = int((all_to_all(16).source != all_to_all(16).target).sum())
    yield dict(zip(ends, np.bincount(message).tolist(), strict=True)) | {"routes": len(routes), "chunks": chunks}


def _after_the_diameter() -> Cases:
    """One chunk on a link and step, the chunks with most hops to go first, over three kinds of route."""
    up, balanced = (torus((4, 4), tie=tie) for tie in ("up", "balanced"))
    for kind, on in (("up", up), ("balanced", balanced), ("balanced, axes in turn", alternating_torus((4, 4)))):
        steps = built(relay.relay_one_by_one, on, on=on).schedule.num_steps
        yield {"at": f"4x4, ties {kind}", "diameter": 4, "steps": steps}


def _parity_path(a: int, b: int) -> list[int]:
    """X first; on a tie even coordinates go up and odd ones down."""
    at = [a % 4, a // 4]
    path = [a]
    for axis, end in enumerate((b % 4, b // 4)):
        ahead = (end - at[axis]) % 4
        direction = 1 if ahead == 1 or (ahead == 2 and at[axis] % 2 == 0) else -1
        while at[axis] != end:
            at[axis] = (at[axis] + direction) % 4
            path.append(at[0] + 4 * at[1])
    return path


def _chunks_on_one_link() -> Cases:
    """The printed list belongs to one way to balance the ties; under it all links carry 8."""
    topology = with_routes(place(SQUARE), _parity_path)
    on_bc = sorted(ascii_lowercase[a] + ascii_lowercase[b] for a, b in blocks_on(topology, _rank("b"), _rank("c")))
    loads = {load * topology.ranks for load in relay.link_loads(topology)}
    yield {"at": SQUARE, "on_bc": " ".join(on_bc), "least": min(loads), "most": max(loads)}


def _cut() -> Cases:
    middle = middle_cut(place(SQUARE))
    topology = place(f"{SQUARE},tie=balanced")
    eastward = cut_links(topology, [rank for rank in range(16) if rank % 4 < 2])
    per_link = max(relay.link_loads(topology)[link] for link in eastward) * 16
    cut = {"severed": middle.links, "bytes": middle.crossing, "throughput": middle.bandwidth, "per_link": per_link}
    n_beta = built(in_slices, Lattice((4, 4)), on=SQUARE).cost.n_beta
    yield {"at": SQUARE, "chunks": middle.crossing * 16, "n_beta": Fraction(n_beta), **cut}


def _journey() -> Schedule:
    """The chunk from a to k alone, over b, c and g."""
    route = np.array(list(map(_rank, "abcgk")))
    blocks = Blocks(16, Fractions.equal(1, Fraction(1, 16)), route[:1], route[-1:], ())
    return Schedule.from_steps(blocks, [Step.of(a, b, 0) for a, b in pairwise(route)])


TABLE: Table = {
    "E-01-108 E-01-109 E-01-110": _pairwise_states,
    "E-01-101 E-01-102 E-01-103": _relay_states,
    "E-01-113": _rounds_apart,
    "E-01-168 E-01-169 E-01-170": _buffers,
    "E-01-100": once(
        "N = 8",
        alltoall=lambda: least("all-to-all", 8, pieces=100),
        others=lambda: max(least(name, 8, pieces=100) for name in PRIMITIVES if name != "all-to-all"),
    ),
    "E-01-117": per((4, 8), options=lambda n: int(run("all-to-all in-network", f"inc-star:{n}").cost.n_alpha < n - 1)),
    "E-01-104": per(
        (4,),
        both_ways=lambda n: sum(
            len(np.unique((step.dst - step.src) % n)) == 2
            for step in built(relay_singly, n, on=f"ring:{n}").schedule.steps
        ),
    ),
    "E-00-034 E-01-105 E-01-106 E-01-107 E-01-114": per(SIZES[1:], _relay_on_a_ring),
    "E-01-171": per(range(3, 9), _post_rotation),
    "E-02-076 E-02-077 E-02-154": _hops,
    "E-02-078": _after_the_diameter,
    "E-02-081": _chunks_on_one_link,
    "E-02-080 E-02-082 E-02-155 E-02-156 E-02-157 E-02-158 E-02-159": _cut,
    # what a port carries, beside the N/4 that cross a cut of N/2 ports
    "A-06": per(
        (4, 8, 64),
        bound=lambda n: "port" if 2 * max(run("all-to-all in-network", f"inc-star:{n}").received) > 1 else "bisection",
    ),
    "E-02-153": once(SQUARE, n_beta=lambda: Fraction(timed(_journey, on=SQUARE, price=(1.0, 0.0, 1.0)))),
}

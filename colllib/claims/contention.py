"""Answers on contention: coefficients, placements, skew, long axes, oversubscription, and the ladder re-priced."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import compress, product
from statistics import median
from typing import Any

import numpy as np

from colllib.algorithms import allreduce, direct, find, lattice
from colllib.algorithms.innetwork import port_load
from colllib.claims.allreduce import HALVING, TREE
from colllib.claims.cases import along, deferred, once, one_by, per, us
from colllib.claims.innetwork import CUBE, RELAY, STAR, streamed, trip
from colllib.claims.runs import best, built, load_limit, place, proves, run
from colllib.claims.value import Case, Cases, Rows, Table
from colllib.contention import hot_destination, scattered
from colllib.cost import Cost
from colllib.efficiency import NVLINK4, PROFILES, effective, implied_eta_beta
from colllib.ladder import topology
from colllib.primitives import all_reduce
from colllib.schedule import Schedule, placed, side_by_side
from colllib.topology import Lattice, Topology, leaf_spine, star

H100, NVLS = 360e9, 470e9  # the published bus bandwidths that the source calibrates with


def _crossbar() -> Cases:
    n_beta = Fraction(run("all-reduce ring", "star:8").cost.n_beta)
    eta = Fraction(implied_eta_beta(H100, NVLINK4, n_beta, 8)).limit_denominator(1000)
    yield {"N": 8, "eta": eta, "busbw": int(H100 / 1e9), "link": int(NVLINK4 / 1e9), "n_beta": n_beta}


def _nvls() -> Cases:
    one, two = (implied_eta_beta(NVLS, NVLINK4, port_load(8, shots=shots), 8) for shots in (1, 2))
    yield {"N": 8, "eta": one * float(load_limit("all-reduce in-network", "inc-star:8").value), "two_shot": two}


# -- where groups lie ------------------------------------------------------------------------------------


def interleaved(groups: int, running: int) -> Schedule:
    """The first of so many groups that take turns on a ring of twelve, each in a ring all-reduce of its own."""
    rings = (placed(allreduce.ring(12 // groups), range(first, 12, groups), 12) for first in range(running))
    return side_by_side(*rings)


def _two_rings() -> Schedule:
    """Two rings of eight, meant as an all-reduce of sixteen."""
    rings = side_by_side(*(placed(allreduce.ring(8), range(8 * y, 8 * y + 8), 16) for y in (0, 1)))
    return Schedule(all_reduce(16, 16), rings.num_steps, rings.step)


def _block() -> Schedule:
    """Dim-ring of an 8 x 2 block of the 8x8x8 torus."""
    return placed(lattice.dim_ring(Lattice((8, 2))), range(16), 512)


def _scattered(seed: int) -> Schedule:
    """A ring of sixteen ranks drawn from the 8x8x8 torus, in rank order."""
    (group,) = scattered(512, 16, seed, groups=1, ordered=True)
    return placed(allreduce.ring(16), group.tolist(), 512)


def _fallback() -> Cases:
    """One group of 16 on an idle cube, over 20 draws, beside an aligned 8 x 2 block."""
    ideal = built(_block, on=CUBE).cost
    draws = [built(_scattered, seed, on=CUBE) for seed in range(20)]
    yield {
        "at": "16 scattered ranks of torus:8x8x8",
        "over_ideal": median(float(done.cost.n_alpha / ideal.n_alpha) for done in draws),
        "steps": draws[0].schedule.num_steps / float(ideal.n_alpha),
        "times": median(us(done.cost) / us(ideal) for done in draws),
    }


def round_a_corner(ranks: int) -> Schedule:
    """A ring of eight round a 2 x 2 x 2 corner of an 8x8x8 torus and back, hop by hop."""
    return placed(allreduce.ring(8), [0, 1, 9, 8, 72, 73, 65, 64], ranks)


def along_axes(groups: int) -> Schedule:
    """Ring all-reduces of 8 ranks on so many lines of an 8x8x8 torus, first all along X, then all along Y."""
    ranks = np.arange(512).reshape(8, 8, 8)
    rows = [line for axis in (2, 1, 0) for line in np.moveaxis(ranks, axis, 2).reshape(-1, 8).tolist()][:groups]
    return side_by_side(*(placed(allreduce.ring(8), line, 512) for line in rows))


def skewed(ranks: int, factor: int) -> Schedule:
    """An all-to-all in one step in which one destination gets several times the share of any other."""
    return direct.all_to_all(ranks, hot_destination(ranks, factor))


def _bisection(axes: Lattice) -> Case:
    done = built(direct.all_to_all, axes.ranks, on=f"torus:{axes},tie=balanced")
    right = np.arange(axes.ranks) % axes.dims[0] >= axes.dims[0] // 2
    return {"crossing": sum(compress(done.link_total, right[done.topology.link_src] != right[done.topology.link_dst]))}


# -- oversubscription ------------------------------------------------------------------------------------


def _narrow(s: Fraction | int, uplinks: Fraction) -> Topology:
    """Four leaves of eight ranks with links at 0.80 of BW and uplinks at their own share, oversubscribed s times.

    The fluid limit of the spine, so that no flows collide.
    """
    fabric = leaf_spine(4, 8, 1, uplink=Fraction(8, s) * uplinks / Fraction(4, 5))
    tiers = tuple(replace(tier, bandwidth=tier.bandwidth * Fraction(4, 5)) for tier in fabric.tiers)
    return replace(fabric, name=f"leaf-spine:4x8x1 with uplinks of {float(8 / s * uplinks):g} BW", tiers=tiers)


def _eta_beta(topology: Topology, dst: Any) -> Fraction:
    """What every rank reaches of BW that sends M to one other rank."""
    load = np.bincount(place(topology).router(np.arange(topology.ranks), dst)[1], minlength=topology.num_links)
    return 1 / Fraction(max(int(count) / speed for count, speed in zip(load, topology.bandwidth, strict=True)))


def eta_of_tiers(share: Fraction, narrow: Sequence[Fraction | int] = (1, 2, 4)) -> Rows:
    """Traffic inside leaves and between them, with uplinks at a share of their rate."""
    rank, within = np.arange(32), Fraction(4, 5)
    return per(
        narrow,
        name="s",
        inside=lambda s: _eta_beta(_narrow(s, within), rank // 8 * 8 + (rank + 1) % 8),
        across=lambda s: _eta_beta(_narrow(s, share), (rank + 8) % 32),
    )


def _two_boundaries(s: int) -> Case:
    """Pods of a three-tier tree, oversubscribed s times at both boundaries, with uplinks bonded."""
    tree = topology(f"switch-tree:{2 * s * s * (s + 1)}x{2 * s + 2},uplinks=2")
    return {"s3": s, "across": _eta_beta(tree, (np.arange(tree.ranks) + 2 * s * s) % tree.ranks)}


# -- the realistic ladder --------------------------------------------------------------------------------

INC, GATHER_INC, TORUS, GATHER_TORUS = "inc all-reduce", "inc all-gather", "all-reduce dim-ring", "all-gather dim-ring"
GATHER, PAIRWISE = "all-gather recursive-doubling", "all-to-all pairwise"
ON_A_TORUS = (TORUS, GATHER_TORUS, RELAY)


def _cost(line: str, profile: str = "ideal") -> Cost:
    """A line at N = 512: the switch streams, the double tree takes its best pieces for these coefficients."""
    if line.startswith("inc "):
        cost: Cost = streamed(line.removeprefix("inc ")).cost
        return cost
    if line == TREE:
        return best(TREE, STAR, eta=PROFILES[profile]).cost
    return run(line, CUBE if line in ON_A_TORUS else STAR).cost


def both(line: str) -> tuple[float, float]:
    """The time at the anchor without and with the coefficients of Lu's profile, in microseconds."""
    profile = "nvls" if line == INC else "torus" if line in ON_A_TORUS else "crossbar"
    return us(_cost(line)), us(effective(_cost(line, profile), PROFILES[profile]))


def _quotients(slower: str, faster: str) -> tuple[float, float]:
    """How many times longer one line takes than another, without and with the coefficients."""
    (ideal, real), (fast_ideal, fast_real) = both(slower), both(faster)
    return ideal / fast_ideal, real / fast_real


@deferred
def _line(line: str, over: str = "") -> Cases:
    """A line of the table, or its quotient over a faster one, beside Rabenseifner's, which one row describes."""
    (ideal, real), (halving, halving_real) = (_quotients(one, over) if over else both(one) for one in (line, HALVING))
    case = {"ideal": ideal, "real": real, "increase": 100 * (real / ideal - 1), "trip": trip("all-reduce")}
    others = {"halving": halving, "halving_real": halving_real, "halving_rises": 100 * (halving_real / halving - 1)}
    yield {"at": "N = 512, 16 MB", **case, **others}


def _through_a_switch(primitive: str) -> Schedule:
    return find(primitive, "in-network").build(topology("inc-star:8"))


def every_margin() -> Cases:
    of_all_reduce = [(HALVING, INC), (TORUS, INC), (TORUS, HALVING)]
    of_all_gather = [(GATHER, GATHER_INC), (GATHER_TORUS, GATHER)]
    for slower, faster in [*of_all_reduce, *of_all_gather, (PAIRWISE, RELAY)]:
        before, after = _quotients(slower, faster)
        yield {"at": f"{slower} over {faster}", "margin_before": before, "margin_after": after}


TABLE: Table = {
    "E-05-001 E-05-011 E-00-054 A-02": _crossbar,
    "E-05-012 E-00-055": _nvls,
    "E-05-004": _fallback,
    "E-05-003": once(
        "an 8 x 2 block of torus:8x8x8",
        proved=lambda: proves(_two_rings, on="torus:8x2"),
        n_alpha=lambda: built(_block, on=CUBE).cost.n_alpha,
        n_beta=lambda: built(_block, on=CUBE).cost.n_beta,
    ),
    "E-05-006": once(
        "8 jobs", least=lambda: int(min(max(np.bincount(axes, minlength=3)) for axes in product(range(3), repeat=8)))
    ),
    "E-05-008": along("torus", ((8, 8), (4, 4, 4), (8, 4)), _bisection),
    "E-05-020": per((2, 3), _two_boundaries, name="s2"),
    "E-05-016": eta_of_tiers(Fraction(1)),
    "E-05-017 E-05-018 E-05-019 E-00-057 E-03-071 E-03-072": eta_of_tiers(Fraction(4, 5)),
    "E-03-073": eta_of_tiers(Fraction(4, 5), (1, Fraction(9, 8), Fraction(5, 4), 2)),
    "E-05-042 E-03-075": every_margin,
    "E-05-021 E-05-022": _line(INC),
    "E-05-023 E-05-024": _line(TREE),
    "E-05-025 E-05-026": _line(TORUS),
    "E-05-027": once(
        "torus:8x8x8",
        worse=lambda: 100 * float(effective(_cost(TORUS), PROFILES["torus"]).n_beta / _cost(TORUS).n_beta - 1),
    ),
    "E-05-028": one_by(
        "N = 512, 16 MB, with the coefficients",
        lambda slower: _quotients(slower, INC)[1],
        over_tree=TREE,
        over_torus=TORUS,
        over_halving=HALVING,
    ),
    "E-05-029": _line(TREE, INC),
    "E-05-030": _line(TORUS, INC),
    "E-05-031": once(
        "torus over Rabenseifner on a star",
        gap_before=lambda: 100 * (_quotients(TORUS, HALVING)[0] - 1),
        gap_after=lambda: 100 * (_quotients(TORUS, HALVING)[1] - 1),
    ),
    "E-05-032": _line(GATHER_INC),
    "E-05-033": _line(GATHER),
    "E-05-034": _line(GATHER_TORUS),
    "E-05-035": _line(PAIRWISE),
    "E-05-036": _line(RELAY),
    "E-05-037": one_by(
        "a switch that cannot add",
        lambda primitive: proves(_through_a_switch, primitive, on=star(8, replicates=True, scatters=True)),
        all_gather="all-gather",
        reduce_scatter="reduce-scatter",
    ),
    "E-05-038": _line(GATHER, GATHER_INC),
    "E-05-039": per(
        (GATHER_INC, GATHER, GATHER_TORUS),
        name="line",
        latency_share=lambda line: 100 * us(Cost(_cost(line).n_alpha, 0)) / us(_cost(line)),
    ),
    "E-05-040": _line(PAIRWISE, RELAY),
}

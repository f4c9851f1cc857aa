"""Answers on contention: coefficients, placements, skew and oversubscription."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import compress, product
from statistics import median
from typing import Any

import numpy as np

from colllib.algorithms import allreduce, direct, find, lattice
from colllib.algorithms.innetwork import SwitchTree, port_load
from colllib.claims.cases import along, once, one_by, per, us
from colllib.claims.runs import at_one_speed, built, load_limit, place, proves, run
from colllib.claims.value import Case, Cases, Limit, Rows, Table
from colllib.contention import hot_destination, scattered
from colllib.efficiency import NVLINK4, implied_eta_beta
from colllib.ladder import topology
from colllib.primitives import all_reduce
from colllib.schedule import Schedule, placed, side_by_side
from colllib.topology import Lattice, Topology, leaf_spine, star

CUBE = "torus:8x8x8"
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


def across_leaves(on: str) -> Schedule:
    """The first hosts of all leaves all-reduce among themselves, and so do the second and all others, by switches."""
    tree = SwitchTree(topology(on))
    groups = np.arange(tree.ranks).reshape(len(np.unique(tree.parent[: tree.ranks])), -1).T
    alone = (placed(allreduce.recursive_doubling(len(group)), group.tolist(), tree.ranks) for group in groups)
    carries = np.logical_or.reduce(tree.below[:, groups], axis=2)
    steps = tree.up(carries, True) + tree.down(carries)
    return Schedule.from_steps(side_by_side(*alone).blocks, steps, tree.switches)


def _above_leaves_of_eight(s: int) -> Case:
    """Groups of a host of each leaf, as the middle phase has them, and one of all hosts; in ever more pieces."""
    on = f"inc-switch-tree:32x{8 + 8 // s},uplinks={8 // s}"
    n_beta = Limit.of(lambda pieces: at_one_speed(built(across_leaves, on, on=on, pieces=pieces).cost))
    return {"n_beta": n_beta, "of_all": load_limit("all-reduce in-network", on)}


def _through_a_switch(primitive: str) -> Schedule:
    return find(primitive, "in-network").build(topology("inc-star:8"))


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
    "A-01": per((2, 4, 8), _above_leaves_of_eight, name="s"),
    "E-05-006": once(
        "8 jobs", least=lambda: int(min(max(np.bincount(axes, minlength=3)) for axes in product(range(3), repeat=8)))
    ),
    "E-05-008": along("torus", ((8, 8), (4, 4, 4), (8, 4)), _bisection),
    "E-05-020": per((2, 3), _two_boundaries, name="s2"),
    "E-05-016": eta_of_tiers(Fraction(1)),
    "E-05-017 E-05-018 E-05-019 E-00-057 E-03-071 E-03-072": eta_of_tiers(Fraction(4, 5)),
    "E-03-073": eta_of_tiers(Fraction(4, 5), (1, Fraction(9, 8), Fraction(5, 4), 2)),
    "E-05-037": one_by(
        "a switch that cannot add",
        lambda primitive: proves(_through_a_switch, primitive, on=star(8, replicates=True, scatters=True)),
        all_gather="all-gather",
        reduce_scatter="reduce-scatter",
    ),
}

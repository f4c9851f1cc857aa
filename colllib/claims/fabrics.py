"""Answers on what the table of all fabrics leaves out: neighbors that share links, long axes, skewed destinations."""

from __future__ import annotations

from colllib.algorithms import allreduce, direct
from colllib.claims.alltoall import LOADED, in_slices, longest
from colllib.claims.cases import along, once, over
from colllib.claims.runs import built, place
from colllib.claims.value import Cases, Table
from colllib.contention import hot_destination
from colllib.schedule import Schedule, placed, side_by_side
from colllib.topology import Lattice
from colllib.topology.lattice import lines_along


def _groups(lines: int) -> Schedule:
    """Ring all-reduces of 8 ranks on so many lines of an 8x8x8 torus, first all along X, then all along Y."""
    dims = Lattice((8, 8, 8))
    rows = [line.tolist() for axis in range(3) for line in lines_along(dims, axis)][:lines]
    return side_by_side(*(placed(allreduce.ring(8), line, 512) for line in rows))


def _replicas() -> Cases:
    alone, *crowds = (built(_groups, lines, on="torus:8x8x8").cost for lines in (1, 64, 192))
    for axes, crowd in zip(("X", "XYZ"), crowds, strict=True):
        yield {"at": f"{64 * len(axes)} groups along {axes}", "contend": crowd != alone}


def skewed(ranks: int, factor: int) -> Schedule:
    """An all-to-all in one step in which one destination gets several times the share of any other."""
    return direct.all_to_all(ranks, hot_destination(ranks, factor))


def hot(on: str) -> float:
    """How many times its uniform load the busiest link carries when one destination gets ten times the share."""
    loads = [max(built(skewed, place(on).ranks, factor, on=on).link_total) for factor in (10, 1)]
    return float(loads[0] / loads[1])


TABLE: Table = {
    "E-02-129": _replicas,
    "E-02-124": over(in_slices, on="mesh", shapes=LOADED),
    # a link of the longest axis in an all-to-all, ties divided between the two ways
    "E-02-126 E-02-127": along("torus", ((4, 4, 4), (8, 8, 8), (16, 16, 16), (256, 2, 2)), penalty=longest),
    "E-02-130": once(
        "N = 64, one destination with 10 times the share",
        star=lambda: hot("star:64"),
        torus=lambda: hot("torus:4x4x4,tie=balanced"),
    ),
}

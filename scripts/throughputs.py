"""Searches what proves the all-to-all throughput of graphs that take too long for the ledger, from both sides.

    python scripts/throughputs.py [GRAPH...]

Writes the rows of these graphs, or of all, to colllib/claims/throughputs.csv, in about nine CPU minutes for all. The
ledger executes what the rows say: the flow that spreads over the ways by one set of lengths, and the bound by another.

Lengths for which a flow loads all orbits of links alike are those at which the sum of its soft distances is largest, a
smooth function: Nesterov (2005), "Smooth Minimization of Non-Smooth Functions", climbed by L-BFGS at ever less heat.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.optimize import minimize

from colllib.graphs.spread import Certificate, spread_loads
from colllib.graphs.throughput import FloatArray, Flow, narrowed
from colllib.topology import Topology
from colllib.topology.expression import find

TABLE = Path(__file__).parents[1] / "colllib" / "claims" / "throughputs.csv"
FIELDS = ("graph", "flow", "heat", "spread", "lengths")
APART = 3e-4  # up to which share of f trees of shortest ways are added, on graphs of few orbits
MOST = 2**18  # sources times orbits of links
FEW_ORBITS = ("debruijn:4x4", "line-graph(power(diamond,2))", "kautz:4x1024")
GRID = 10**6  # whole lengths of links are this in the mean
MEMORY = 30  # steps that L-BFGS keeps
OF_TREES = ("kautz:4x1024",)  # where no spreading flow is near enough, f of the trees is kept instead
SEARCHES = {  # steps at each heat, and heats
    "debruijn:4x4": (100, (0.1, 0.01, 0.003)),
    "line-graph(power(diamond,2))": (100, (0.1, 0.01, 0.003)),
    "kautz:4x1024": (250, (0.1, 0.03, 0.02, 0.015)),
    "line-graph(line-graph(line-graph(circulant:16x3x4)))": (100, (0.1, 0.03, 0.01, 0.003)),
    "line-graph(line-graph(power(diamond,2)))": (100, (0.1, 0.03, 0.01, 0.003, 0.001)),
    "line-graph(power(modified-debruijn:2x4,2))": (100, (0.1, 0.02, 0.005, 0.001, 0.0003)),
    "kautz:4x960": (100, (0.1, 0.03, 0.01)),
}


def search(graph: Topology, heats: Sequence[float], turns: int) -> Certificate:
    """A certificate, mostly the nearer the smaller the last heats; its two sides need not meet.

    Args:
        graph: strongly connected, of two or more ranks.
        heats: from large to small, in mean lengths of links.
        turns: steps of L-BFGS at each heat.
    """
    flow = Flow.of(graph)
    links = flow.capacity.sum()
    best_low, best_high = 0.0, np.inf
    heat_of_best, spread, bounding = 1, np.ones_like(flow.orbit), np.ones_like(flow.orbit)
    logs = np.zeros_like(flow.capacity)
    for heat in heats:

        def objective(logs: FloatArray, heat: float = heat) -> tuple[float, FloatArray]:
            """How far the soft distances are from the largest, but for what all share, and where that falls."""
            nonlocal best_low, best_high, heat_of_best, spread, bounding
            lengths = np.exp(logs)
            lengths *= links / (lengths @ flow.capacity)
            soft, loads = spread_loads(flow, lengths, heat)
            rounded = np.maximum(np.rint(lengths * GRID), 1).astype(np.intp)
            low, high = 1 / (loads / flow.capacity).max(), links / (flow.copies @ flow.distances(lengths)).sum()
            if low > best_low:
                best_low, heat_of_best, spread = low, round(heat * GRID), rounded
            if high < best_high:
                best_high, bounding = high, rounded
            uphill = loads * lengths
            return -soft / links, (uphill.sum() * lengths * flow.capacity / links - uphill) / links

        optimum = minimize(
            objective,
            logs,
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": turns, "maxcor": MEMORY, "ftol": 0, "gtol": 0},
        )
        logs = optimum.x
    return Certificate(heat_of_best, spread, bounding)


def row(graph: str) -> dict[str, str]:
    """What proves f of a graph, as a row of the table."""
    topology = find(graph)
    turns, heats = SEARCHES[graph]
    solution = search(topology, heats, turns)
    flow = ""
    if graph in FEW_ORBITS:
        of_trees, _, lengths = narrowed(topology, APART, MOST)
        solution = replace(solution, lengths=lengths)
        flow = str(of_trees) if graph in OF_TREES else ""
    low, high = solution.bracket(topology)
    print(graph, low, float(high), flush=True)
    spread, bounding = (" ".join(map(str, one.tolist())) for one in (solution.spread, solution.lengths))
    return {"graph": graph, "flow": flow, "heat": str(solution.heat), "spread": spread, "lengths": bounding}


def update(graphs: Iterable[str]) -> None:
    """Searches again for some graphs and keeps the rows of the others."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        rows = {one["graph"]: one for one in csv.DictReader(file)}
    rows |= {graph: row(graph) for graph in graphs}
    with TABLE.open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, FIELDS, lineterminator="\n")
        table.writeheader()
        table.writerows(rows[graph] for graph in SEARCHES if graph in rows)


if __name__ == "__main__":
    update(sys.argv[1:] or SEARCHES)

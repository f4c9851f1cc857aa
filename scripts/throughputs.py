"""Brackets the all-to-all throughput of graphs that take a linear program too long for the ledger of claims.

    python scripts/throughputs.py

Writes colllib/claims/throughputs.csv in about a CPU minute; a test computes the first row again.
"""

from __future__ import annotations

import csv
from pathlib import Path

from colllib.graphs.throughput import bracket
from colllib.topology import find

TABLE = Path(__file__).parents[1] / "colllib" / "claims" / "throughputs.csv"
APART = 3e-4  # as a share of f: what three digits need
MOST = 2**18  # sources times orbits of links
GRAPHS = (
    "debruijn:4x4",
    "line-graph(power(diamond,2))",
    "kautz:4x1024",
    "line-graph(line-graph(line-graph(circulant:16x3x4)))",
)

if __name__ == "__main__":
    with TABLE.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(("graph", "flow", "lengths"))
        for graph in GRAPHS:
            rows.writerow((graph, *bracket(find(graph), APART, MOST)))
            file.flush()

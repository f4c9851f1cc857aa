"""Finds the frontiers of degree 4 at many N, which takes too long for the ledger of claims.

    python scripts/frontiers.py

Writes colllib/claims/frontiers.csv in some three CPU minutes; a test counts some of its rows again.
"""

from __future__ import annotations

import csv
from pathlib import Path

from colllib.graphs.finder import pareto

TABLE = Path(__file__).parents[1] / "colllib" / "claims" / "frontiers.csv"
SIZES = range(5, 2001, 13)  # 13 shares no factor with the degree or with most N

if __name__ == "__main__":
    with TABLE.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(("ranks", "steps", "load", "made"))
        for ranks in SIZES:
            for row in pareto(ranks, 4, jumps=False):
                rows.writerow((ranks, row.n_alpha, row.n_beta_node, row.made))
            file.flush()

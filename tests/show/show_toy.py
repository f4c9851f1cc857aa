"""A small explorer that uses every feature; the tests and the benchmarks share it."""

from __future__ import annotations

from colllib.show import Control, Explorer, Mark, Part, Table, bars, lines

RANKS = (2, 4, 8, 16, 32)


def steps(algorithm: str, n: int) -> int:
    """Steps of an all-reduce: enough of a model to have something to show."""
    return 2 * (n - 1) if algorithm == "ring" else 2 * (n - 1).bit_length()


def _chart(algorithm: str, n: int) -> object:
    curves = {name: (RANKS, [steps(name, n) for n in RANKS]) for name in ("ring", "tree")}
    mark = Mark(n, f"N = {n}", steps(algorithm, n))
    return lines(curves, x_label="ranks N", y_label="steps", log_x=2, marks=[mark], title="Steps")


def _bars(algorithm: str, n: int) -> object:
    counts = {name: float(steps(name, n)) for name in ("ring", "tree")}
    return bars(counts, value_format="{:.0f} steps".format, highlight=[algorithm])


def _table(algorithm: str, n: int, step: int) -> object:
    names = [f"rank {r}" for r in range(n)]
    counts = [min(step + 1 + r, n) for r in range(n)]
    return Table(["", *names], [["blocks held", *counts]], f"After step {step}")


def _steps(algorithm: str, n: int) -> dict:
    return {k: f"{k} of {steps(algorithm, n)}" for k in range(steps(algorithm, n) + 1)}


def toy() -> Explorer:
    """Three controls (the range of the last depends on the others) and four parts."""
    return Explorer(
        "Steps of an all-reduce",
        [
            Control("algorithm", "Algorithm", {"ring": "Ring", "tree": "Tree <binomial>"}, kind="select"),
            Control("n", "Ranks N", RANKS, start=8),
            Control("step", "Step", _steps),
        ],
        [
            Part(_chart, "Chart of steps"),
            Part(_bars),
            Part(_table, "Blocks after each step"),
            Part(lambda n: f"<p>Half of {n} is {n // 2} &amp; that is all.</p>"),
        ],
        summary=lambda algorithm, n, step: f"{algorithm} on {n} ranks, step {step} < {steps(algorithm, n) + 1}",
        play="step",
    )

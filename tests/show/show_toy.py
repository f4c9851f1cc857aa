"""A small explorer that uses every feature; the tests and the benchmarks share it."""

from __future__ import annotations

from colllib.show import Control, Explorer, Mark, Part, Table, bars, lines

RANKS = (2, 4, 8, 16, 32)


def steps(algorithm: str, n: int) -> int:
    """Steps of an all-reduce: enough of a model to have something to show."""
    return 2 * (n - 1) if algorithm == "ring" else 2 * (n - 1).bit_length()


def _chart(state: dict) -> object:
    curves = {name: (RANKS, [steps(name, n) for n in RANKS]) for name in ("ring", "tree")}
    mark = Mark(state["n"], f"N = {state['n']}", steps(state["algorithm"], state["n"]))
    return lines(curves, x_label="ranks N", y_label="steps", log_x=2, marks=[mark], title="Steps")


def _bars(state: dict) -> object:
    counts = {name: float(steps(name, state["n"])) for name in ("ring", "tree")}
    return bars(counts, value_format="{:.0f} steps".format, highlight=[state["algorithm"]])


def _table(state: dict) -> object:
    names = [f"rank {r}" for r in range(state["n"])]
    held = [min(state["step"] + 1 + r, state["n"]) for r in range(state["n"])]
    return Table(["", *names], [["blocks held", *held]], f"After step {state['step']}")


def toy() -> Explorer:
    """Three controls (the range of the last depends on the others) and four parts."""
    return Explorer(
        "Steps of an all-reduce",
        [
            Control("algorithm", "Algorithm", {"ring": "Ring", "tree": "Tree <binomial>"}, kind="select"),
            Control("n", "Ranks N", RANKS, start=8),
            Control("step", "Step", lambda s: {k: f"{k} of {steps(**s)}" for k in range(steps(**s) + 1)}),
        ],
        [
            Part(("algorithm", "n"), _chart, "Chart of steps"),
            Part(("algorithm", "n"), _bars),
            Part(("algorithm", "n", "step"), _table, "Blocks after each step"),
            Part(("n",), lambda s: f"<p>Half of {s['n']} is {s['n'] // 2} &amp; that is all.</p>"),
        ],
        summary=lambda s: f"{s['algorithm']} on {s['n']} ranks, step {s['step']} < {steps(s['algorithm'], s['n']) + 1}",
        play="step",
    )

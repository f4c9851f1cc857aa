"""The compression explorer: loss against steps or bytes, for compressors with and without a memory."""

from collections.abc import Callable
from functools import cache

from colllib import units
from colllib.show.control import Control, Part
from colllib.show.explorer import Explorer
from colllib.show.figure import Chart
from colllib.show.lines import lines, number
from colllib.show.table import Table
from colllib.training import compression, problems
from colllib.training.compression import Average, LowRank
from colllib.training.problems import Problem, Run

WORKERS, STEPS, SHARE = 4, 100, 0.05
PROBLEMS: dict[str, Callable[..., Problem]] = {
    "least squares": problems.least_squares,
    "logistic regression": problems.logistic,
    "landscape": problems.terrain,
}
METHODS: dict[str, Callable[[bool], Average | LowRank]] = {
    "FP32": lambda feedback: Average(WORKERS),
    "INT8": lambda feedback: Average(WORKERS, compression.int8(), feedback=feedback),
    "sign": lambda feedback: Average(WORKERS, compression.sign, feedback=feedback),
    "top 5%": lambda feedback: Average(WORKERS, compression.top_k(SHARE), "gather", feedback),
    "random 5%": lambda feedback: Average(
        WORKERS, compression.random_k(SHARE, unbiased=not feedback), "gather", feedback
    ),
    "low rank": lambda feedback: LowRank(WORKERS),
}
ALWAYS = {"FP32": False, "low rank": True}  # the first has nothing to remember, the second is nothing without
RATES = {1.0: "as for FP32", 0.25: "a quarter of it"}


@cache
def trained(problem: str, method: str, feedback: bool, rate: float, seed: int = 1) -> Run:
    """A run of 100 steps with four workers."""
    task = PROBLEMS[problem](WORKERS, seed=seed)
    return problems.descend(task, METHODS[method](feedback), STEPS, task.rate * rate)


def compression_explorer() -> Explorer:
    """Compressors on three problems, with and without error feedback, at two learning rates.

    >>> compression_explorer()
    Explorer: Fewer bytes (Problem, Error feedback, Learning rate, Against)
    """
    return Explorer(
        "Fewer bytes",
        [
            Control("problem", "Problem", tuple(PROBLEMS), "logistic regression"),
            Control("feedback", "Error feedback", {False: "off", True: "on"}, False),
            Control("rate", "Learning rate", RATES, 1.0),
            Control("against", "Against", ("steps", "bytes"), "steps"),
        ],
        [
            Part(_curves, "Loss"),
            Part(_table, "After 100 steps", fold="Bytes and losses after 100 steps"),
        ],
        summary=_summary,
        name="compression",
    )


def _runs(problem: str, feedback: bool, rate: float) -> dict[str, Run]:
    return {name: trained(problem, name, ALWAYS.get(name, feedback), rate) for name in METHODS}


def _curves(problem: str, feedback: bool, rate: float, against: str) -> Chart:
    runs = _runs(problem, feedback, rate)
    in_steps = against == "steps"
    series = {}
    best = min(runs.keys() - {"FP32"}, key=lambda name: runs[name].loss[-1])
    for name, run in runs.items():
        within = [k for k in range(1, len(run.loss)) if run.loss[k] <= 10 * run.loss[0]]
        steps = within[::2]  # every other step is enough for a curve
        xs = steps if in_steps else [int(run.bytes[k]) for k in steps]
        series[name] = (xs, [float(run.loss[k]) for k in steps])
    return lines(
        series,
        x_label="step" if in_steps else "bytes sent by a worker",
        y_label="loss",
        log_y=10,
        log_x=0 if in_steps else 10,
        x_format=number if in_steps else units.size,
        title=f"The best of the compressed is {best} with {runs[best].loss[-1]:.3g}; "
        f"FP32 ends at {runs['FP32'].loss[-1]:.3g}",
    )


def _table(problem: str, feedback: bool, rate: float) -> Table:
    rows = []
    for name, run in _runs(problem, feedback, rate).items():
        end = f"lost in step {len(run.loss) - 1}" if run.diverged else f"{run.loss[-1]:.4g}"
        rows.append((name, units.size(run.bytes[1] * STEPS), end))
    return Table(["method", "a worker sends", "loss"], rows, "After 100 steps")


def _summary(problem: str, feedback: bool, rate: float) -> str:
    runs = _runs(problem, feedback, rate)
    lost = [name for name, run in runs.items() if run.loss[-1] > run.loss[0]]
    last = max(runs, key=lambda name: runs[name].loss[-1])
    return f"Worse than at the start: {', '.join(lost)}." if lost else f"All end below the start; {last} is last."

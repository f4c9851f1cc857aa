"""Small problems that workers with different data minimize together, and descent on them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from colllib.limits import check_size
from colllib.primitives import check_counts
from colllib.training.compression import Adam, Average, Floats, LowRank, fp32


class Problem(NamedTuple):
    """Something to minimize, shared among workers whose data differ."""

    start: Floats  # where descent begins, shape (d,)
    gradients: Callable[[Floats, int], list[Floats]]  # of each worker's own loss at x in some step, of shape (d,)
    loss: Callable[[Floats], float]  # the mean over the workers' data, less the least there is where that is known
    rate: float  # of plain descent, where it converges well


MOST_NUMBERS = 2**24


def _check(numbers: int, **counts: int) -> None:
    check_counts(**counts)
    check_size("a problem", numbers, MOST_NUMBERS, "numbers")


def least_squares(workers: int, dimension: int = 64, *, seed: int = 0) -> Problem:
    """Noisy gradients of linear regression; every worker has data of its own scale and its own truth."""
    _check(workers * dimension**2, workers=workers, dimension=dimension)
    random = np.random.default_rng(seed)
    scales = np.geomspace(0.3, 3, dimension)
    truth = random.normal(size=dimension)
    inputs = [random.normal(size=(2 * dimension, dimension)) * random.permutation(scales) for _ in range(workers)]
    outputs = [a @ (truth + random.normal(size=dimension)) for a in inputs]
    together = np.vstack(inputs)
    best = np.linalg.lstsq(together, np.concatenate(outputs))[0]

    def gradients(x: Floats, step: int) -> list[Floats]:
        rows = np.random.default_rng((seed, step)).integers(2 * dimension, size=(workers, dimension))
        drawn = ((a[r], y[r]) for a, y, r in zip(inputs, outputs, rows, strict=True))
        return [a.T @ (a @ x - y) / dimension for a, y in drawn]

    def loss(x: Floats) -> float:
        return float(((together @ (x - best)) ** 2).mean() / 2)

    return Problem(np.zeros(dimension), gradients, loss, rate=0.1)


def logistic(workers: int, dimension: int = 64, *, seed: int = 0) -> Problem:
    """Logistic regression in which every worker has mostly one of the two classes."""
    _check(workers * dimension**2, workers=workers, dimension=dimension)
    random = np.random.default_rng(seed)
    truth = random.normal(size=dimension)
    inputs = random.normal(size=(workers, 4 * dimension, dimension)) / np.sqrt(dimension)
    labels = np.where(inputs @ truth + 0.3 * random.normal(size=inputs.shape[:2]) > 0, 1.0, -1.0)
    order = np.argsort(labels.ravel() + random.normal(size=labels.size), kind="stable")
    inputs = inputs.reshape(-1, dimension)[order].reshape(inputs.shape)
    labels = labels.ravel()[order].reshape(labels.shape)

    def gradients(x: Floats, step: int) -> list[Floats]:
        weight = -labels / (1 + np.exp(labels * (inputs @ x)))
        return [w @ a / len(a) + 1e-3 * x for w, a in zip(weight, inputs, strict=True)]

    def loss(x: Floats) -> float:
        return float(np.logaddexp(0, -labels * (inputs @ x)).mean() + 5e-4 * x @ x)

    return Problem(np.zeros(dimension), gradients, loss, rate=8.0)


def terrain(workers: int, *, seed: int = 0) -> Problem:
    """A network of two hidden layers learns the height of a landscape; every worker knows a strip of it.

    The heights are the digital elevation model of Jacksboro, which matplotlib ships as sample data.
    """
    _check(workers, workers=workers)
    hidden = 16
    from matplotlib.cbook import get_sample_data

    with np.load(str(get_sample_data("jacksboro_fault_dem.npz", asfileobj=False))) as data:
        heights = data["elevation"][::16, ::16].astype(float)
    heights = (heights - heights.mean()) / heights.std()
    grid = np.stack(np.meshgrid(*(np.linspace(-1, 1, n) for n in heights.shape), indexing="ij"), axis=-1)
    strips = np.array_split(np.arange(heights.size), workers)
    shapes = [(2, hidden), (hidden,), (hidden, hidden), (hidden,), (hidden, 1), (1,)]  # matrices, and what is added
    ends = np.cumsum([int(np.prod(shape)) for shape in shapes])[:-1]
    inputs, targets = 4 * grid.reshape(-1, 2), heights.reshape(-1, 1)

    def layers(x: Floats) -> list[Floats]:
        return [part.reshape(shape) for part, shape in zip(np.split(x, ends), shapes, strict=True)]

    def forward(x: Floats, points: Floats) -> list[Floats]:
        w1, b1, w2, b2, w3, b3 = layers(x)
        first = np.tanh(points @ w1 + b1)
        second = np.tanh(first @ w2 + b2)
        return [points, first, second, second @ w3 + b3]

    def gradient(x: Floats, strip: NDArray[np.intp]) -> Floats:
        *activations, output = forward(x, inputs[strip])
        matrices = layers(x)[::2]
        slope = (output - targets[strip]) / len(strip)
        parts: list[Floats] = []
        for activation, matrix in zip(reversed(activations), reversed(matrices), strict=True):
            parts += [slope.sum(0), activation.T @ slope]
            slope = slope @ matrix.T * (1 - activation**2)
        return np.concatenate([part.ravel() for part in reversed(parts)])

    random = np.random.default_rng(seed)
    return Problem(
        start=np.concatenate([random.normal(size=shape).ravel() / np.sqrt(shape[0]) for shape in shapes]),
        gradients=lambda x, step: [gradient(x, strip) for strip in strips],
        loss=lambda x: float(((forward(x, inputs)[-1] - targets) ** 2).mean() / 2),
        rate=0.2,
    )


def cancelling() -> Problem:
    """Three workers, three numbers: the largest entries of their gradients hide what the mean says.

    Source: Beznosikov et al. (2020), "On biased compression for distributed learning", example 1.

    >>> three = cancelling()
    >>> three.gradients(three.start, 0)[0], np.mean(three.gradients(three.start, 0), axis=0).round(3)
    (array([-5.5,  4.5,  4.5]), array([1.167, 1.167, 1.167]))
    """
    rows = 2 - 5 * np.eye(3)
    return Problem(
        start=np.ones(3),
        gradients=lambda x, step: [2 * (row @ x) * row + x / 2 for row in rows],
        loss=lambda x: float(((rows @ x) ** 2).mean() + x @ x / 4),
        rate=0.02,
    )


# -- training ------------------------------------------------------------------------------------

LOST = 1000
MOST_STEPS = 2**15  # of the problems here, about a minute


@dataclass(frozen=True, eq=False)
class Run:
    """What a training run did; it ends where the loss is LOST times what it was."""

    loss: Floats  # before each step and at the end, shape (steps + 1,)
    bytes: NDArray[np.intp]  # that the busiest worker had sent by then, shape (steps + 1,)

    @property
    def diverged(self) -> bool:
        """Whether it ended early."""
        return not self.loss[-1] <= LOST * self.loss[0]  # true also of what is not a number


def descend(problem: Problem, average: Average | LowRank | Adam, steps: int, rate: float | None = None) -> Run:
    """Go against what `average` makes of the workers' gradients, step by step, unless it is lost before.

    Args:
        average: a new one, since it goes on counting and remembering.
        rate: of learning, above 0 (default: the problem's own).

    Raises:
        ValueError: for no step or more than MOST_STEPS, a rate that is not above 0 and finite, or an average that has
            sent before.

    >>> run = descend(cancelling(), Average(3), 50)
    >>> bool(run.loss[-1] < 0.5 * run.loss[0]), int(run.bytes[1])
    (True, 16)
    """
    check_counts(steps=steps)
    check_size("a descent", steps, MOST_STEPS, "steps")
    rate = problem.rate if rate is None else rate
    if not 0 < rate < float("inf"):
        raise ValueError(f"rate {rate}: must be above 0 and finite")
    if average.bytes.any():
        raise ValueError(f"this {type(average).__name__} remembers another descent: take a new one")
    x = problem.start
    losses, sent = [problem.loss(x)], [0]
    while len(losses) <= steps and losses[-1] <= LOST * losses[0]:
        step = len(losses) - 1
        x = x - rate * average([fp32(gradient) for gradient in problem.gradients(x, step)], step)
        losses.append(problem.loss(x))
        sent.append(int(average.bytes.max()))
    return Run(np.array(losses), np.array(sent))

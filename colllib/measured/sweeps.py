"""What others published, each with its address and what was said of it: sweeps, single figures, engines' kernels."""

import csv
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from itertools import pairwise, zip_longest
from math import exp, log
from typing import NamedTuple

from colllib.measured.log import Row, Run, factor
from colllib.topology.machines import Machine, by_gpu, cards


@dataclass(frozen=True)
class Sweep:
    """One published table, the half out of place where it has two."""

    name: str  # of the row
    source: str  # its address
    judged_by: str  # who said what it is: maintainer, vendor or user
    state: str  # what was said, as `colllib diagnose` would
    cause: str  # likewise, or empty
    machine: Machine | None  # the boxes, or null where the GPU is not known
    network: str  # what joins the boxes, or empty where nobody says
    run: Run  # the figures as printed

    @property
    def points(self) -> list[tuple[float, float]]:
        """Sizes in bytes and times in seconds."""
        return list(zip(*(values.tolist() for values in self.run.series()), strict=True))

    @property
    def group(self) -> tuple[str, str]:
        """Who measured, and on which GPU: one machine, as far as that can be told."""
        return self.source.split("/")[3], self.machine.name if self.machine else ""


@cache
def sweeps() -> tuple[Sweep, ...]:
    """Every published sweep that the project carries.

    >>> by_name = {sweep.name: sweep for sweep in sweeps()}
    >>> by_name["tog-h100-1n-nvls"].machine.name, by_name["tog-h100-1n-nvls"].judged_by
    ('H100', 'user')
    """
    return tuple(_sweep(line) for line in _lines("sweeps.csv"))


def _lines(name: str) -> Iterator[dict[str, str]]:
    yield from csv.DictReader((files("colllib") / "measured" / name).read_text(encoding="utf-8").splitlines())


def _sweep(line: dict[str, str]) -> Sweep:
    boxes, gpus = int(line["boxes"] or 0), int(line["gpus"] or 0)
    share = factor(line["collective"], boxes * gpus) if boxes else 0.0
    columns = (line[name].split() for name in ("bytes", "times_us", "busbw_GBps"))
    rows = []
    for k, (size, time, busbw) in enumerate(zip_longest(*columns), 1):  # some have no times
        seconds, rate = float(time) * 1e-6 if time else None, float(busbw) * 1e9
        rows.append(Row(k, float(size), seconds, rate / share if share else None, rate))
    counts = boxes * gpus or None, boxes or None, gpus or None
    run = Run("columns", tuple(rows), line["collective"], *counts, line["gpu"])
    texts = {key: line[key] for key in ("source", "judged_by", "state", "cause", "network")}
    return Sweep(line["id"], machine=_machine(line["gpu"], boxes, gpus, line["cards"]), run=run, **texts)


def _machine(gpu: str, boxes: int, gpus: int, of_a_box: str) -> Machine | None:
    """So many boxes of a GPU with some cards, such as 8x400Gb/s, or null where it is not known."""
    machine = by_gpu(gpu) if gpu else None
    if machine and boxes:
        machine = replace(machine, boxes=boxes, gpus=gpus)
    if machine and of_a_box:
        number, rate = cards(of_a_box)
        machine = replace(machine, cards=number, card=rate, cards_known=True)
    return machine


@dataclass(frozen=True)
class Figure:
    """The bus bandwidth of a large message, as somebody told it at a place on GitHub."""

    place: str  # a repository, perhaps at a commit, or one of its issues or pull requests
    boxes: int
    gpus: int  # of a box
    gpu: str  # as told, or empty
    cards: str  # of a box, such as 8x400Gb/s, or empty
    collective: str
    busbw: float  # bytes per second
    state: str  # what was said, as `colllib diagnose` would
    cause: str  # likewise, or empty

    @property
    def machine(self) -> Machine | None:
        """The boxes, or null where the GPU or, between boxes, the cards are not told."""
        return _machine(self.gpu, self.boxes, self.gpus, self.cards) if self.cards or self.boxes == 1 else None

    @property
    def group(self) -> tuple[str, str]:
        """As that of a `Sweep`."""
        return self.place.split("/")[0], self.machine.name if self.machine else ""


@cache
def figures() -> tuple[Figure, ...]:
    """Every published figure that the project carries.

    >>> figures()[0].place, figures()[0].machine.name, figures()[0].busbw
    ('NVIDIA/nccl/issues/1639', 'RTX 5090', 28000000000.0)
    """
    return tuple(_figure(**line) for line in _lines("figures.csv"))


def _figure(boxes: str, gpus: str, busbw_GBps: str, **texts: str) -> Figure:
    return Figure(boxes=int(boxes), gpus=int(gpus), busbw=float(busbw_GBps) * 1e9, **texts)


@dataclass(frozen=True)
class Kernel:
    """The times of an engine's own kernel, or of a library called as an engine calls it."""

    name: str  # whose
    machine: Machine  # one box of so many GPUs
    collective: str  # the book's name
    points: tuple[tuple[float, float], ...]  # sizes in bytes, ascending, and times in seconds
    source: str  # its address
    noted: str  # how it was measured


@cache
def kernels() -> tuple[Kernel, ...]:
    """Every published kernel that the project carries.

    >>> [(one.name, one.points[2]) for one in kernels() if (one.machine.name, one.machine.gpus) == ("H100", 8)]
    [('vLLM', (32768.0, 1.18e-05)), ('SGLang', (32768.0, 7.8e-06))]
    """
    return tuple(_kernel(**line) for line in _lines("kernels.csv"))


def _kernel(kernel: str, gpu: str, gpus: str, collective: str, bytes: str, times_us: str, **texts: str) -> Kernel:
    machine = _machine(gpu, 1, int(gpus), "")
    assert machine, f"{gpu} is no known GPU"
    pairs = zip(bytes.split(), times_us.split(), strict=True)
    points = tuple((float(size), float(f"{time}e-6")) for size, time in pairs)
    return Kernel(kernel, machine, collective, points, **texts)


def between(points: Iterable[tuple[float, float]], message: float) -> float | None:
    """The seconds of a message between those of the sizes around it, on logarithmic scales; none beyond the ends.

    >>> between([(1024, 4e-6), (4096, 6e-6)], 1024), between([(1024, 4e-6), (4096, 9e-6)], 2048)
    (4e-06, 6e-06)
    """
    for (low, first), (high, last) in pairwise(points):
        if low <= message <= high:
            share = log(message / low) / log(high / low)
            return float(f"{exp((1 - share) * log(first) + share * log(last)):.4g}")
    return None


def kind(one: Machine, near: bool = False) -> tuple[object, ...]:
    """What machines have in common that should measure the same, or nearly.

    >>> from colllib.topology.machines import find
    >>> kind(find("dgx-h100:1")) == kind(find("dgx-h100:1,cards=4")), kind(find("dgx-h100:2"))[:3]
    (True, ('H100', 2, 8))
    """
    name, boxes = ((one.vendor, one.generation, one.nvls), min(3, one.boxes)) if near else (one.name, one.boxes)
    network, adds = (one.network, one.collnet) if one.boxes > 1 else (0.0, False)
    return name, boxes, one.gpus, one.reach(), network, adds


@cache
def most_ranks() -> int:
    """GPUs of the largest published run.

    >>> most_ranks()
    2400
    """
    machines = [*(one.machine for one in sweeps()), *(one.machine for one in figures())]
    return max(machine.ranks for machine in machines if machine)


PUBLISHED = 2**33  # bytes of the largest message of most published runs, and of a figure that does not say


class Point(NamedTuple):
    """What somebody measured of the largest message."""

    busbw: float  # bytes per second
    source: str  # its address
    machine: Machine  # whose
    state: str  # what was said, as `colllib diagnose` would
    group: tuple[str, str]  # as that of a `Sweep`


@cache
def _ends(near: bool) -> dict[object, list[Point]]:
    """By kind of machine, collective and state; a figure that tells a sweep's end again is none."""
    ends: defaultdict[object, list[Point]] = defaultdict(list)
    measured = [(s.group, s.run.boxes, s.run.collective, s.run.rows[-1].busbw or 0.0) for s in sweeps()]
    for s, (*_, what, rate) in zip(sweeps(), measured, strict=True):
        if s.machine:
            ends[kind(s.machine, near), what, s.state].append(Point(rate, s.source, s.machine, s.state, s.group))
    for f in figures():
        one = [f.group, f.boxes, f.collective]
        again = any(one == of and abs(rate / f.busbw - 1) < 0.01 for *of, rate in measured)
        if f.machine and not again:
            point = Point(f.busbw, f"https://github.com/{f.place}", f.machine, f.state, f.group)
            ends[kind(f.machine, near), f.collective, f.state].append(point)
    return ends


def of_others(machine: Machine, collective: str, state: str = "healthy", near: bool = False) -> list[tuple[float, str]]:
    """What others measured of the largest message on such machines, in bytes per second, and where it stands.

    Args:
        machine, collective: as for `colllib.measured.predict.predict`.
        state: what was said of the runs.
        near: also of other GPUs with links as fast, and from three boxes on of other numbers of them.

    >>> from colllib.topology.machines import find
    >>> [round(rate / 1e9) for rate, _ in of_others(find("dgx-h100:4"), "all-reduce")]
    [320, 366, 391]
    >>> [round(rate / 1e9) for rate, _ in of_others(find("dgx-h100:64"), "all-reduce", near=True)]
    [280, 320, 321, 340, 350, 350, 366, 387, 391]
    """
    ends = _ends(near).get((kind(machine, near), collective, state), [])
    return sorted((one.busbw, one.source) for one in ends)


def near_size(machine: Machine, collective: str, message: float) -> list[tuple[str, float, float, str]]:
    """What as many GPUs, also others with links as fast, took for about that size in healthy runs.

    The GPU, the size, which is at most a factor of 1.5 away, the seconds and the address.

    >>> from colllib.topology.machines import find
    >>> [(gpu, round(1e6 * time)) for gpu, _, time, _ in near_size(find("dgx-h100:1"), "all-reduce", 2**15)]
    [('H100', 34), ('H200', 40)]
    """
    runs = []
    for one in sweeps():
        alike = one.machine and one.machine.ranks == machine.ranks and kind(one.machine, True) == kind(machine, True)
        if alike and one.machine and one.run.collective == collective and one.state == "healthy" and one.points:
            size, time = min(one.points, key=lambda point: abs(log(point[0] / message)))
            if abs(log(size / message)) <= log(1.5):
                runs.append((one.machine.name, size, time, one.source))
    return runs


def nearest(machine: Machine, collective: str) -> list[Point]:
    """What others measured on such boxes, one or several, also of other GPUs with links as fast: the nearest number of
    boxes first.

    Healthy runs, or where there are none those of which nobody says what they are.

    >>> from colllib.topology.machines import find
    >>> [(one.machine.name, one.machine.boxes) for one in nearest(find("dgx-h100:64"), "all-reduce")][:3]
    [('H100', 32), ('H200', 248), ('H100', 12)]
    """
    kinds = [kind(replace(machine, boxes=boxes), True) for boxes in ((2, 3) if machine.boxes > 1 else (1,))]
    known, unsure = (
        [one for alike in kinds for one in _ends(True).get((alike, collective, state), [])]
        for state in ("healthy", "undecided")
    )
    return sorted(known or unsure, key=lambda one: abs(log(one.machine.boxes / machine.boxes)))

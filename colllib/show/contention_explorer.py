"""The contention explorer: jobs on a torus or a leaf-spine fabric, the links they share, what it costs."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import product

import numpy as np
from numpy.typing import NDArray

from colllib import ladder
from colllib.algorithms import allreduce, alltoall
from colllib.contention import Together, aligned, scattered, together
from colllib.exact import IntArray
from colllib.execution import Execution
from colllib.schedule import Schedule
from colllib.show.control import Control, Part
from colllib.show.cost_explorer import prices
from colllib.show.explorer import Explorer
from colllib.show.figure import Chart, legend_row
from colllib.show.layouts import direction
from colllib.show.lines import px, text
from colllib.show.race import Form, Race, Row, only
from colllib.show.theme import color
from colllib.show.views import Rows
from colllib.topology import Lattice, Topology
from colllib.units import several

SIDE = 8  # ranks of an axis, leaves, ranks of a leaf
FABRICS = {
    "torus 8 × 8": "torus:8x8",
    "leaf-spine, 8 spines": "leaf-spine:8x8x8,seed=1",
    "leaf-spine, 4 spines (2:1)": "leaf-spine:8x8x4,seed=1",
}
WORKS: dict[str, Callable[[int], Schedule]] = {
    "ring all-reduce": allreduce.ring,
    "pairwise all-to-all": alltoall.pairwise,
}
LAYOUTS = {"rows": "aligned: neighbors", "columns": "strided: in equal steps", "drawn": "scattered at random"}


@dataclass(frozen=True, eq=False)
class Scene:
    """Jobs on a fabric, executed."""

    places: IntArray  # the ranks of each job, shape (jobs, ranks of a job)
    runs: Together  # all of them executed together and each alone
    aligned: Execution  # one job on aligned ranks, alone

    @cached_property
    def loads(self) -> NDArray[np.float64]:
        """What each link carries in all, in units of what one rank sends, shape (L,)."""
        return np.array(self.runs.joint.link_total, dtype=float) / float(self.aligned.sent[0])

    @cached_property
    def levels(self) -> IntArray:
        """Which of the loads in the legend each link has, rounded up, shape (L,)."""
        return np.minimum(np.ceil(self.loads - 1e-9), len(_LEVELS) - 1).astype(np.intp)


def places_of(size: int, layout: str, groups: int, draw: int) -> IntArray:
    """The ranks of each job of a size.

    >>> places_of(8, "columns", 2, 0)[:, :3].tolist()
    [[0, 8, 16], [1, 9, 17]]
    """
    ranks = SIDE * SIDE
    if layout == "drawn":
        return scattered(ranks, size, draw, groups, ordered=True)
    return (aligned(ranks, size) if layout == "rows" else aligned(ranks, ranks // size).T)[:groups]


@cache
def scene(fabric: str, work: str, size: int, groups: int, layout: str, draw: int) -> Scene:
    """Execute one state of the explorer."""
    schedule, places = WORKS[work](size), places_of(size, layout, groups, draw)
    runs = together([(schedule, ranks.tolist()) for ranks in places], ladder.topology(FABRICS[fabric]))
    base = runs if layout == "rows" else scene(fabric, work, size, 1, "rows", 0).runs
    return Scene(places, runs, base.alone[0])


def contention_explorer() -> Explorer:
    """Where jobs of 2 to 32 ranks lie, against the load of every link and the slowdown of every job.

    >>> contention_explorer()
    Explorer: Jobs that share wires (Fabric, Each job runs, Ranks of a job, Jobs, Layout, Draw, Message M, ...
    """
    race = Race(rows)
    heads = "job = name | time | times an aligned job alone = over floor | n_alpha | n_beta"
    return Explorer(
        "Jobs that share wires",
        [
            Control("fabric", "Fabric", tuple(FABRICS), kind="select"),
            Control("work", "Each job runs", tuple(WORKS), kind="select"),
            Control("size", "Ranks of a job", (2, 4, 8, 16, 32), 8),
            Control("groups", "Jobs", lambda size: [n for n in (1, 2, 4, 8) if n * size <= SIDE * SIDE], 8),
            Control("layout", "Layout", LAYOUTS, "drawn", kind="select"),
            Control("draw", "Draw", lambda layout: (1, 2, 3) if layout == "drawn" else {0: "none"}),
            *prices(),
        ],
        [
            Part(_picture, "Jobs and link loads"),
            Rows(race, "Slowdown of each job", "Every job in numbers", heads, swatches=False),
        ],
        summary="Jobs of {size} ranks, {groups} of them, {m} each: {slowest}.",
        note="Torus: one full-duplex link of BW per neighbor, routed along X, then Y, each direction drawn as a line "
        "of its own. Leaf-spine: one port of BW per rank; every two ranks below different leaves hash to one spine, "
        "at 2 α; a square is the link of a leaf up to a spine, or down from it. "
        "Lock-step clock, all jobs in the same steps. A load of k is k times what one rank sends in all; squares have "
        "it if all are whole. Layout: alone against an aligned job alone; sharing: in company against alone.",
        note_title="What is drawn here",
    )


def rows(fabric: str, work: str, size: int, groups: int, layout: str, draw: int) -> list[Row]:
    """Every job in company, and below it alone; an aligned job alone is the floor of both."""
    jobs = scene(fabric, work, size, groups, layout, draw)
    floor = Form((jobs.aligned.cost,))
    pairs = []
    for k, (run, cost) in enumerate(zip(jobs.runs.alone, jobs.runs.in_step, strict=True), 1):
        pairs.append(Row(f"job {k}", only(cost), floor))
        pairs.append(Row(f"job {k} alone", only(run.cost), floor, group=f"job {k}", bound=True))
    return pairs


def _picture(fabric: str, work: str, size: int, groups: int, layout: str, draw: int) -> Chart:
    jobs = scene(fabric, work, size, groups, layout, draw)
    body = _torus_picture(jobs) if fabric.startswith("torus") else _spine_picture(jobs)
    counts = np.bincount(jobs.levels, minlength=len(_LEVELS))
    described = "; ".join(f"{name}: {int(n)}" for name, n in zip(_LEVELS, counts, strict=True) if n)
    alt = f"Jobs on {fabric}: {len(jobs.places)}. Directed links by load: {described}."
    busiest = jobs.loads.max()
    links = several(int(np.isclose(jobs.loads, busiest).sum()), "directed link")
    title = f"Busiest: {links} with a load of {busiest:.3g}"
    line = '<svg width="26" height="10"><path d="M0 5H26" style="stroke:{}" stroke-width="{}"/></svg>'
    legend = legend_row((line.format(_HUES[k], _WIDTHS[k]), name) for k, name in enumerate(_LEVELS) if counts[k])
    return Chart(legend + body, alt, title)


_LEVELS = ("idle", "load up to 1", "load up to 2", "load up to 3", "load above 3")
_WIDTHS = (0.7, 1.6, 3.0, 4.4, 6.0)
_HUES = (
    "var(--cl-line,#c3c9d0)",
    *(f"color-mix(in srgb, currentColor {share}%, transparent)" for share in (40, 60, 80, 100)),  # hues are jobs
)


def _job_marks(jobs: Scene, spot: Callable[[int], tuple[float, float]], radius: float) -> str:
    """A dot for every rank, in the color of its job and with its number."""

    def dots(ranks: Iterable[int], ink: str, wide: float) -> str:
        path = "".join(f"M{x:g} {y:g}h0" for x, y in map(spot, ranks))
        return f'<path d="{path}" style="stroke:{ink}" stroke-width="{wide:g}"/>'

    every = range(SIDE * SIDE)
    out = [dots(every, "currentColor", 2 * radius + 0.5), dots(every, "var(--cl-bg,#fff)", 2 * radius - 0.5)]
    for job, ranks in enumerate(jobs.places.tolist(), 1):
        texts = "".join(f'<text x="{x:g}" y="{y + 3.6:g}">{job}</text>' for x, y in map(spot, ranks))
        out.append(
            f'{dots(ranks, color(job - 1), 2 * radius)}<g style="fill:var(--cl-bg,#fff)" stroke="none" '
            f'font-size="11.5" text-anchor="middle">{texts}</g>'
        )
    return f'<g stroke-linecap="round">{"".join(out)}</g>'


def _torus_picture(jobs: Scene) -> str:
    """Ranks as dots, each direction of a link as a line of its own beside the other, wraparound as stubs."""
    step, left = 40, 30
    axes = Lattice((SIDE, SIDE))

    def spot(rank: int) -> tuple[float, float]:
        return left + step * (rank % SIDE), left + step * (rank // SIDE)

    segments: list[list[str]] = [[] for _ in _LEVELS]
    ends = jobs.runs.topology.link_src.tolist(), jobs.runs.topology.link_dst.tolist()
    for a, b, level in zip(*ends, jobs.levels, strict=True):
        x, y = spot(a)
        axis, sign = direction(axes, a, b)
        length = sign * (step if b - a == sign * axes.strides[axis] else step * 0.55)
        side = 4 * sign  # up and down on opposite sides
        segments[level].append(f"M{x - side:g} {y:g}v{length:g}" if axis else f"M{x:g} {y + side:g}h{length:g}")
    links = "".join(
        f'<path d="{"".join(part)}" style="stroke:{_HUES[k]}" stroke-width="{_WIDTHS[k]}"/>'
        for k, part in enumerate(segments)
        if part
    )
    size = 2 * left + step * (SIDE - 1)
    return (
        f'<svg viewBox="0 0 {size} {size}" style="max-width:380px" aria-hidden="true">'
        f'<g fill="none">{links}</g>{_job_marks(jobs, spot, 8.5)}</svg>'
    )


def spine_links(topology: Topology) -> tuple[IntArray, IntArray]:
    """The links of each leaf up to each spine, and then those down from it, shapes (leaves, spines).

    >>> topology = ladder.topology("leaf-spine:8x8x4")
    >>> up, down = spine_links(topology)
    >>> [(int(topology.link_src[k]), int(topology.link_dst[k])) for k in (up[1, 2], down[1, 2])]
    [(65, 74), (74, 65)]
    """
    number = np.zeros((topology.nodes, topology.nodes), dtype=np.intp)
    number[topology.link_src, topology.link_dst] = range(topology.num_links)
    leaves, spines = np.s_[topology.ranks : topology.ranks + SIDE], np.s_[topology.ranks + SIDE :]
    return number[leaves, spines], number[spines, leaves].T


def _spine_picture(jobs: Scene) -> str:
    """The ranks below their leaves, and for every leaf and spine the load of the link up and of the link down."""
    spines = jobs.runs.topology.switches - SIDE
    cell, row = 17, 22.95

    def spot(rank: int) -> tuple[float, float]:
        return 52 + cell * (rank % SIDE), 34 + row * (rank // SIDE)

    links = spine_links(jobs.runs.topology)
    loads, levels = jobs.loads.round().tolist(), jobs.levels.tolist()
    whole = np.allclose(jobs.loads, loads)
    out = [text(44, 14, "start", "ranks, by job")]
    out += [text(2, 38 + row * leaf, "start", f"leaf {leaf}") for leaf in range(SIDE)]
    for panel, title in enumerate(("up", "down")):
        left = 205 + panel * (spines * 11 + 18)
        out.append(text(left, 14, "start", title))
        for leaf, spine in product(range(SIDE), range(spines)):
            x, y = left + 11 * spine, 34 + row * leaf
            number = links[panel][leaf, spine]
            out.append(f'<path d="M{x} {px(y - 8)}h10v16h-10z" style="fill:{_HUES[levels[number]]}"/>')
            if whole and loads[number] > 1:
                out.append(text(x + 5, y + 3.5, "middle", f"{loads[number]:g}", ' style="fill:var(--cl-bg,#fff)"'))
    width = 205 + 2 * (spines * 11 + 18)
    return (
        f'<svg viewBox="0 0 {width} 215" fill="currentColor" font-size="11.5" aria-hidden="true">{"".join(out)}'
        f"{_job_marks(jobs, spot, 7.5)}</svg>"
    )

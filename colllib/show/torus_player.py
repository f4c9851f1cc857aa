"""The torus player: collectives on small tori, slice by slice, with every link that works and every one that idles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property, partial
from math import prod

import numpy as np

from colllib.algorithms import lattice
from colllib.cost import Cost
from colllib.exact import IntArray
from colllib.execution import Execution, execute
from colllib.schedule import Schedule
from colllib.show.control import Control, Part, State
from colllib.show.explorer import Explorer
from colllib.show.table import Table
from colllib.show.theme import color, escape
from colllib.topology import Lattice, torus

AXES = "XYZ"
SHAPES = ((2, 2, 2), (6,), (3, 3), (4, 3), (4, 4), (4, 3, 2), (3, 3, 3), (4, 4, 4))
MOST_RANKS, MOST_AXES = 64, 3
OFFERED: dict[str, tuple[str, Callable[[Lattice], Schedule]]] = {
    "dim-ring": ("All-reduce: dim-ring, axis by axis", lattice.dim_ring),
    "dim-shortest-way": ("All-reduce: axis by axis, both ways round", lattice.dim_shortest_way),
    "rotated-dim-ring": ("All-reduce: rotated copies of dim-ring", lattice.rotated_dim_ring),
    "breadth-first": ("All-reduce: breadth-first", lattice.breadth_first),
    "all-gather": ("All-gather: breadth-first", lattice.breadth_first_all_gather),
    "dim-chain": ("Broadcast: axis by axis", partial(lattice.dim_chain, phased=True)),
    "all-links": ("Broadcast: disjoint trees, 4 segments", partial(lattice.all_links_broadcast, segments=4)),
    "dim-chain-reduce": ("Reduce: axis by axis", partial(lattice.dim_chain_reduce, phased=True)),
}
CELL, GAP, EDGE = 52, 15, 26


@dataclass(frozen=True)
class Play:
    """One schedule, executed on its torus.

    Attributes:
        text: what the menu calls it.
        axes: the torus.
        run: its execution.
    """

    text: str
    axes: Lattice
    run: Execution

    @property
    def steps(self) -> int:
        """Number of steps."""
        return self.run.schedule.num_steps

    @cached_property
    def places(self) -> list[tuple[int, ...]]:
        """The coordinates x, y, z of each rank, 0 on axes that the torus lacks."""
        return [(*self.axes.coordinates(rank), 0, 0)[:3] for rank in range(self.axes.ranks)]

    @cached_property
    def counts(self) -> list[IntArray]:
        """After each number of steps: how many contributions lie in each (rank, block).

        The executor has proved that no contribution is counted twice, so numbers suffice.
        """
        schedule = self.run.schedule
        blocks = schedule.blocks
        now = np.zeros((schedule.ranks, len(blocks)), dtype=np.intp)
        for block in range(len(blocks)):
            now[blocks.holders(int(blocks.source[block])), block] = 1
        found = [now]
        for t in range(schedule.num_steps):
            step, then = schedule.step(t), now.copy()
            np.add.at(then, (step.dst[step.add], step.block[step.add]), now[step.src[step.add], step.block[step.add]])
            copied = ~step.add
            then[step.dst[copied], step.block[copied]] = now[step.src[copied], step.block[copied]]
            found.append(then)
            now = then
        return found

    @cached_property
    def needed(self) -> int:
        """Contributions that complete a block."""
        blocks = self.run.schedule.blocks
        return len(blocks.holders(int(blocks.source[0])))

    def furthest(self, t: int) -> list[tuple[Fraction, int]]:
        """For each rank: the share of M that it has got furthest with, and how many contributions that holds."""
        share = self.run.schedule.blocks.share
        found = []
        for row in self.counts[t]:
            most = int(row.max())
            found.append(
                (Fraction(int(share.numerators[row == most].sum()), share.denominator) if most else Fraction(0), most)
            )
        return found

    @cached_property
    def links(self) -> list[tuple[int, int, int]]:
        """Each link of the torus: the rank it leaves, its axis, and 1 or -1 for up or down (round a ring as well)."""
        where, found = self.run.topology, []
        for src, dst in zip(where.link_src.tolist(), where.link_dst.tolist(), strict=True):
            here, there = self.places[src], self.places[dst]
            axis = next(k for k, (a, b) in enumerate(zip(here, there, strict=True)) if a != b)
            size = self.axes.dims[axis]
            up = (there[axis] - here[axis]) % size == 1 and (size > 2 or here[axis] == 0)
            found.append((src, axis, 1 if up else -1))
        return found

    @cache  # noqa: B019  (a play lives as long as its explorer)
    def loads(self, t: int) -> tuple[Fraction, ...]:
        """What each link carries in the step that leads to state t, as a share of M."""
        return self.run.link_load(t - 1) if t else (Fraction(0),) * self.run.topology.num_links

    @cache  # noqa: B019
    def adding(self, t: int) -> frozenset[tuple[int, int]]:
        """The pairs of neighbors between which something is added in the step that leads to state t."""
        if not t:
            return frozenset()
        step = self.run.schedule.step(t - 1)
        return frozenset(zip(step.src[step.add].tolist(), step.dst[step.add].tolist(), strict=True))

    @cache  # noqa: B019
    def busy(self, t: int) -> dict[int, list[Fraction]]:
        """For each axis, the loads of the links that work in the step that leads to state t."""
        found: dict[int, list[Fraction]] = {axis: [] for axis, size in enumerate(self.axes.dims) if size > 1}
        for (_, axis, _), load in zip(self.links, self.loads(t), strict=True):
            if load:
                found[axis].append(load)
        return found

    def cost(self, t: int) -> Cost:
        """The cost of the first t steps."""
        return self.run.cost_of(range(t))

    def use(self, t: int) -> Fraction:
        """Of the time that t steps spend on bytes, the part that the average link works."""
        beta = Fraction(self.cost(t).n_beta)
        return sum(self.carried[:t], Fraction(0)) / beta / self.run.topology.num_links if beta else Fraction(0)

    @cached_property
    def carried(self) -> list[Fraction]:
        """What all links together carry in each step, as a share of M."""
        return [sum(filter(None, self.loads(t)), Fraction(0)) for t in range(1, self.steps + 1)]


def torus_player(
    start: tuple[str, tuple[int, ...], int] = ("dim-ring", (2, 2, 2), 1),
    shapes: Sequence[tuple[int, ...]] = SHAPES,
) -> Explorer:
    """Collectives on small tori, step by step: slices side by side, links that work and links that idle.

    Everything is executed on a torus with one full-duplex link per neighbor, lock-step clock.

    Args:
        start: algorithm, dims and the number of steps done that are shown first.
        shapes: the dims to choose from, each with up to three axes and 64 ranks.

    Raises:
        ValueError: for an algorithm, dims or a shape that is not on offer.

    >>> torus_player()
    Explorer: On a torus, step by step (Algorithm, Torus, Steps done)
    """

    @cache
    def play(name: str, dims: tuple[int, ...]) -> Play:
        text, build = OFFERED[name]
        return Play(text, Lattice(dims), execute(build(Lattice(dims)), torus(dims)))

    def played(state: State) -> tuple[Play, int]:
        return play(state["algorithm"], state["dims"]), state["step"]

    def steps(state: State) -> dict[int, str]:
        last = play(state["algorithm"], state["dims"]).steps
        return {t: f"{t} of {last}" for t in range(last + 1)}

    name, dims, done = start
    if name not in OFFERED:
        raise ValueError(f"algorithm {name!r}: must be one of {', '.join(OFFERED)}")
    if dims not in shapes:
        raise ValueError(f"dims {dims}: must be one of the shapes, {', '.join(map(_shape, shapes))}")
    for shape in shapes:
        if not 1 <= len(shape) <= MOST_AXES or not 1 < prod(shape) <= MOST_RANKS:
            raise ValueError(f"shape {shape}: must have 1 to {MOST_AXES} axes and 2 to {MOST_RANKS} ranks")
    every = ("algorithm", "dims", "step")
    return Explorer(
        "On a torus, step by step",
        [
            Control("algorithm", "Algorithm", {key: text for key, (text, _) in OFFERED.items()}, name, "select"),
            Control("dims", "Torus", {shape: _shape(shape) for shape in shapes}, dims, "select"),
            Control("step", "Steps done", steps, done),
        ],
        [
            Part(every, lambda s: _calendar(*played(s)), "Axes in use, step by step"),
            Part(every, lambda s: _slices(*played(s)), "The torus, slice by slice"),
            Part(every, lambda s: _table(*played(s)), "What this step moves over each axis"),
            Part(every, lambda s: _costs(*played(s))),
            Part((), lambda s: _READING),
        ],
        summary=Part(every, lambda s: told(*played(s))),
        play="step",
    )


def _shape(dims: tuple[int, ...]) -> str:
    return " × ".join(map(str, dims)) if len(dims) > 1 else f"a ring of {dims[0]}"


def told(play: Play, t: int) -> str:
    """The state in words, from its data."""
    shape = _shape(play.axes.dims)
    done, last = play.cost(t), play.cost(play.steps)
    whole = sum(share == 1 and count == play.needed for share, count in play.furthest(t))
    busy = play.busy(t)
    used = ", ".join(f"{len(loads)} on {AXES[axis]}" for axis, loads in busy.items() if loads)
    links = play.run.topology.num_links
    moved = (
        f"step {t} of {play.steps} uses {sum(map(len, busy.values()))} of {links} links ({used})"
        if t
        else "no step is done"
    )
    return (
        f"{play.text}, on {shape}: {moved}; {whole} of {play.axes.ranks} ranks have everything; "
        f"n_alpha {done.n_alpha} of {last.n_alpha}, n_beta {done.n_beta} of {last.n_beta}."
    )


def _tint(axis: int) -> str:
    return color((0, 1, 3)[axis])


def _calendar(play: Play, t: int) -> str:
    """A row of steps, each with the letters of the axes that it uses; those done are filled."""
    width = 14 * max(len(_letters(play, k)) for k in range(1, play.steps + 1)) + 8
    boxes = [f"M{(k - 1) * (width + 3) + 2} 3h{width}v22h-{width}z" for k in range(1, play.steps + 1)]
    marks: dict[int, list[str]] = {}
    for k in range(1, play.steps + 1):
        axes = [axis for axis, loads in play.busy(k).items() if loads]
        for place, axis in enumerate(axes):
            at = (k - 1) * (width + 3) + 2 + width / 2 + 13 * (place - (len(axes) - 1) / 2)
            marks.setdefault(axis, []).append(f'<text x="{at:g}" y="19">{AXES[axis]}</text>')
    whole = play.steps * (width + 3) + 4
    letters = "; ".join(f"{k}: {_letters(play, k)}" for k in range(1, play.steps + 1))
    alt = escape(f"Axes in use by step: {letters}. {t} steps are done.")
    return (
        f'<svg viewBox="0 0 {whole} 28" width="{whole}" height="28" role="img" aria-label="{alt}" text-anchor="middle" '
        f'style="display:block;max-width:none;font:700 13px var(--cl-mono,monospace);stroke:currentColor">'
        f'<path d="{"".join(boxes[:t])}" style="fill:var(--cl-soft,#f3f5f7)"/>'
        f'<path d="{"".join(boxes[t:])}" fill="none"/>'
        f'<path d="{"".join(boxes[max(0, t - 1) : t])}" fill="none" stroke-width="3"/>'
        + "".join(f'<g style="fill:{_tint(axis)};stroke:none">{"".join(found)}</g>' for axis, found in marks.items())
        + "</svg>"
    )


def _letters(play: Play, t: int) -> str:
    return "".join(AXES[axis] for axis, loads in play.busy(t).items() if loads)


def _slices(play: Play, t: int) -> str:
    dims = (*play.axes.dims, 1, 1)[:3]
    furthest = play.furthest(t)
    drawn = "".join(_slice(play, t, z, dims, furthest) for z in range(dims[2]))
    return (
        f'<div role="img" aria-label="{escape(told(play, t))}" '
        f'style="display:flex;flex-wrap:wrap;gap:0.4em 1.2em">{drawn}</div>'
    )


def _slice(play: Play, t: int, z: int, dims: tuple[int, ...], furthest: list[tuple[Fraction, int]]) -> str:
    """A grid of ranks, y upwards; arrows stand where a rank's links leave it."""
    pitch = CELL + GAP
    width, height = EDGE + dims[0] * pitch + GAP, dims[1] * pitch + GAP + 34
    drawn = Cells()
    ticks = []
    for y in range(dims[1]):
        top = GAP + 18 + (dims[1] - 1 - y) * pitch
        ticks.append(f'<text x="12" y="{top + CELL // 2 + 4}">y{y}</text>')
        for x in range(dims[0]):
            rank = x + dims[0] * (y + dims[1] * z)
            drawn.add(EDGE + GAP + x * pitch, top, rank, furthest[rank], play.needed)
    for x in range(dims[0]):
        ticks.append(f'<text x="{EDGE + GAP + x * pitch + CELL // 2}" y="{height - 4}">x{x}</text>')
    if len(play.axes.dims) > 2:
        ticks.append(f'<text x="{EDGE + GAP + 18}" y="12" font-weight="700">z = {z}</text>')
    return (
        f'<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}" aria-hidden="true" '
        f'text-anchor="middle" style="max-width:100%;height:auto;font:11px var(--cl-mono,monospace);fill:currentColor">'
        f"{drawn.markup()}{''.join(ticks)}{_arrows(play, t, z, dims)}</svg>"
    )


class Cells:
    """The squares of a slice, gathered by look, since a page holds hundreds of states."""

    def __init__(self) -> None:
        self.tones: dict[str, list[str]] = {}
        self.frames: list[str] = []
        self.texts: tuple[list[str], list[str], list[str]] = ([], [], [])

    def add(self, x: int, y: int, rank: int, furthest: tuple[Fraction, int], needed: int) -> None:
        """A rank: its number, the share of M it has got furthest with, and the contributions therein."""
        share, count = furthest
        whole = count == needed and share > 0
        middle = x + CELL // 2
        self.frames.append(f"M{x} {y}h{CELL}v{CELL}h-{CELL}z")
        self.texts[0].append(f'<text x="{middle}" y="{y + 14}">{rank}</text>')
        if share:
            level = round(CELL * (float(share) if whole else count / needed))
            tone = "var(--cl-ok-soft,#e0f3e6)" if whole else "var(--cl-move-soft,#fdebdd)"
            self.tones.setdefault(tone, []).append(f"M{x} {y + CELL}v-{level}h{CELL}v{level}z")
            self.texts[1].append(f'<text x="{middle}" y="{y + 30}">{_short(share)}</text>')
            if needed > 1:
                self.texts[2].append(f'<text x="{middle}" y="{y + 45}">{"Σ" if whole else f"{count}/{needed}"}</text>')

    def markup(self) -> str:
        """All squares, fills below frames below texts."""
        fills = "".join(f'<path d="{"".join(found)}" style="fill:{tone}"/>' for tone, found in self.tones.items())
        ranks, shares, counts = ("".join(texts) for texts in self.texts)
        return (
            f'{fills}<path d="{"".join(self.frames)}" fill="none" style="stroke:var(--cl-edge,#77808a)"/>'
            f'<g style="fill:var(--cl-muted,#57606a)">{ranks}</g><g font-weight="700">{shares}</g>{counts}'
        )


def _short(share: Fraction) -> str:
    """A share of M that fits a cell.

    >>> _short(Fraction(3, 8)), _short(Fraction(37, 1536))
    ('3/8', '2.4%')
    """
    text = str(share)
    return "all" if share == 1 else text if len(text) <= 5 else f"{float(share):.1%}"


def _arrows(play: Play, t: int, z: int, dims: tuple[int, ...]) -> str:
    """Triangles on the edges of the cells, gathered by axis and kind: added, copied, idle."""
    pitch = CELL + GAP
    paths: dict[tuple[int, str], list[str]] = {}
    ends = play.run.topology.link_dst.tolist()
    for (src, axis, way), dst, load in zip(play.links, ends, play.loads(t), strict=True):
        at = play.places[src]
        if at[2] != z:
            continue
        left, top = EDGE + GAP + at[0] * pitch, GAP + 18 + (dims[1] - 1 - at[1]) * pitch
        kind = ("add" if (src, dst) in play.adding(t) else "copy") if load else "idle"
        paths.setdefault((axis, kind), []).append(_triangle(left, top, axis, way, kind == "idle"))
    out = []
    for (axis, kind), shapes in sorted(paths.items()):
        if kind == "idle":
            style = "fill:var(--cl-edge,#77808a);opacity:0.6"
        else:
            style = (
                f"stroke:{_tint(axis)};stroke-width:1.6;fill:{_tint(axis) if kind == 'add' else 'var(--cl-bg,#fff)'}"
            )
        out.append(f'<path d="{"".join(shapes)}" style="{style}"/>')
    return "".join(out)


def _triangle(left: int, top: int, axis: int, way: int, idle: bool) -> str:
    middle, size = CELL // 2, 3 if idle else 5
    long = 2 * size * way
    if axis == 0:
        x, y = (left + CELL + 2, top + middle - 8) if way > 0 else (left - 2, top + middle + 8)
        return f"M{x} {y - size}v{2 * size}l{long}-{size}z"
    if axis == 1:
        x, y = (left + middle - 8, top - 2) if way > 0 else (left + middle + 8, top + CELL + 2)
        return f"M{x - size} {y}h{2 * size}l-{size} {-long}z"
    x, y = (left + CELL - 3, top + 3) if way > 0 else (left + 3, top + CELL - 3)
    return f"M{x} {y}v{long}l{-long} {-long}z"


def _table(play: Play, t: int) -> Table:
    busy = play.busy(t)
    total = {axis: sum(link[1] == axis for link in play.links) for axis in busy}
    rows = [
        (
            AXES[axis],
            f"{len(loads)} of {total[axis]}",
            str(max(loads, default=Fraction(0))),
            str(sum(loads, Fraction(0))),
        )
        for axis, loads in busy.items()
    ]
    caption = f"Step {t} of {play.steps}" if t else "Nothing has moved yet"
    return Table(
        ["axis", "links at work", "busiest link, M", "all links, M"], rows, caption, ("left", "right", "right", "right")
    )


def _costs(play: Play, t: int) -> str:
    done, last = play.cost(t), play.cost(play.steps)
    use = f"; the average link has worked {float(play.use(t)):.0%} of the time that bytes take" if t else ""
    return (
        f"<p><b>So far</b> n_alpha = {done.n_alpha} of {last.n_alpha}, n_beta = {done.n_beta} of {last.n_beta}{use}. "
        f"Over the whole run: {float(play.use(play.steps)):.0%}.</p>"
    )


_READING = (
    "<p><b>Reading it</b> A square is a rank: its number; the share of M that it has got furthest with; and how many "
    "contributions are in there, Σ for all. Filled triangles send something to be added, hollow ones a copy, small "
    "gray ones are idle links. X runs to the right, Y upwards, Z through the corners to the next slice; an arrow that "
    "leaves the picture comes back on the other side. One full-duplex link per neighbor, lock-step clock.</p>"
)

"""The trace player: any algorithm on a few ranks, step by step, every block on every rank."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import product
from math import cos, hypot, pi, sin

from colllib import algorithms
from colllib.execution import Execution, execute, trace
from colllib.schedule import Schedule, Step
from colllib.show.control import Control, Part, State
from colllib.show.explorer import Explorer
from colllib.show.pair_grid import has_pairs, pair_grid, sent_so_far
from colllib.show.theme import escape
from colllib.topology import Topology, star

Build = Callable[[int], Schedule]


@dataclass(frozen=True)
class Play:
    """One schedule, executed, with its state before the first and after every step."""

    name: str
    run: Execution
    states: tuple[dict[tuple[int, int], Counter[int]], ...]

    @property
    def schedule(self) -> Schedule:
        """What is played."""
        return self.run.schedule

    def messages(self, t: int) -> Step:
        """The messages that led to state t."""
        return self.schedule.step(t - 1) if t else Step.of([], [], [])


def variants(primitive: str) -> dict[str, tuple[str, Build, Callable[[int], bool]]]:
    """What the player offers for a primitive: name -> (text, builder from N, which N it serves).

    >>> list(variants("all-reduce"))[2:4]
    ['double-binary-tree', 'double-binary-tree, P = 4']
    """
    offered: dict[str, tuple[str, Build, Callable[[int], bool]]] = {}
    for algorithm in algorithms.of(primitive):
        text = algorithm.label[0].upper() + algorithm.label[1:]
        offered[algorithm.name] = (text, algorithm.build, algorithm.fits)
        if algorithm.segmented:
            cut = f"{algorithm.name}, P = 4"
            offered[cut] = (f"{text}, 4 segments", _with(algorithm.build, segments=4), algorithm.fits)
        if algorithm.name == "rabenseifner":
            offered["rabenseifner, far"] = (f"{text}, far first", _with(algorithm.build, order="far"), algorithm.fits)
        if (primitive, algorithm.name) == ("all-to-all", "bruck"):
            offered["bruck, radix 3"] = (f"{text}, radix 3", _with(algorithm.build, radix=3), algorithm.fits)
        if algorithm.name == "ring-relay":
            singly = _with(algorithm.build, bundled=False)
            offered["ring-relay, singly"] = (f"{text}, one block at a time", singly, algorithm.fits)
    return offered


def _with(build: Callable[..., Schedule], **options: object) -> Build:
    return lambda ranks: build(ranks, **options)


def trace_player(
    primitive: str = "all-reduce",
    *,
    ranks: Sequence[int] = range(2, 9),
    start: tuple[str, int, int] | None = None,
    offer: Mapping[str, tuple[str, Build]] | None = None,
    where: Callable[[int], Topology] = star,
) -> Explorer:
    """Every algorithm for a primitive, step by step: who holds which contributions, what moves, what it has cost.

    Args:
        primitive: its name.
        ranks: the numbers of ranks on offer.
        start: algorithm, N and the number of steps done that are shown first (default: the first
            algorithm, N = 4 or the nearest on offer, half way through).
        offer: other schedules than the library's list: name -> (text, builder from N).
        where: the topology from N (default: a star); an open line is drawn as one.

    Raises:
        ValueError: for an unknown primitive, or a start that is not on offer.

    >>> trace_player(ranks=[2, 4])
    Explorer: All-reduce, step by step (Algorithm, Ranks N, Steps done)
    >>> from colllib.algorithms.lattice import line_reduce_scatter
    >>> from colllib.topology import line
    >>> trace_player("reduce-scatter", ranks=[4], offer={"line": ("From both ends", line_reduce_scatter)}, where=line)
    Explorer: Reduce-scatter, step by step (Algorithm, Ranks N, Steps done)
    """
    kinds = variants(primitive) if offer is None else {k: (*given, lambda _: True) for k, given in offer.items()}
    offered = {name: kind for name, kind in kinds.items() if any(map(kind[2], ranks))}

    @cache
    def play(name: str, n: int) -> Play:
        schedule = offered[name][1](n)
        return Play(offered[name][0], execute(schedule, where(n)), tuple(trace(schedule)))

    def played(state: State) -> tuple[Play, int]:
        return play(state["algorithm"], state["n"]), state["step"]

    if start is None:
        if not offered:
            raise ValueError(f"no algorithm for {primitive} serves any of the ranks {list(ranks)}: offer others")
        name = next(iter(offered))
        n = min(filter(offered[name][2], ranks), key=lambda r: (abs(r - 4), r))
        done = play(name, n).schedule.num_steps // 2
    else:
        name, n, done = start
    return Explorer(
        f"{primitive[0].upper()}{primitive[1:]}, step by step",
        [
            Control("algorithm", "Algorithm", {key: text for key, (text, _, _) in offered.items()}, name, "select"),
            Control("n", "Ranks N", lambda s: [r for r in ranks if offered[s["algorithm"]][2](r)], n),
            Control("step", "Steps done", lambda s: _counted(play(s["algorithm"], s["n"])), done),
        ],
        [
            Part(_ALL, lambda s: _picture(*played(s)), "Messages of this step, and contributions on each rank"),
            Part(_ALL, lambda s: _moves(*played(s))),
            Part(_ALL, lambda s: _costs(*played(s))),
        ],
        summary=Part(_ALL, lambda s: _told(*played(s))),
        play="step",
    )


_ALL = ("algorithm", "n", "step")


def _counted(play: Play) -> dict[int, str]:
    last = play.schedule.num_steps
    return {t: f"{t} of {last}" for t in range(last + 1)}


def _picture(play: Play, t: int) -> str:
    grid = pair_grid(play.schedule, t) if has_pairs(play.schedule) else _grid(play, t)
    return f'<div class="cl-beside">{_circle(play, t)}{grid}</div>'


def _grid(play: Play, t: int) -> str:
    """Ranks by blocks: the contributions in each cell, what just arrived, what is complete."""
    schedule, state = play.schedule, play.states[t]
    step = play.messages(t)
    arrived = set(zip(step.dst.tolist(), step.block.tolist(), strict=True))
    sent = _sent(play, t)
    names = _names(schedule)
    head = "".join(f'<th scope="col">{name}</th>' for name in names)
    rows = []
    for rank in range(schedule.ranks):
        cells = (
            _cell(schedule, state.get((rank, block)), rank, block, (rank, block) in arrived)
            for block in range(len(schedule.blocks))
        )
        rows.append(f'<tr><th scope="row">{rank}</th>{"".join(cells)}<td class="s">{sent[rank]}</td></tr>')
    return (
        '<table class="colllib-table cl-trace"><caption>Contributions by rank and block'
        f'</caption><thead><tr><th scope="col">rank</th>{head}<th scope="col">sent, M</th></tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table>"
    )


def _cell(schedule: Schedule, value: Counter[int] | None, rank: int, block: int, arrived: bool) -> str:
    if value is None:
        return "<td>·</td>"
    blocks = schedule.blocks
    source = blocks.holders(int(blocks.source[block]))
    complete = len(value) == len(source)
    wanted = rank in blocks.holders(int(blocks.target[block]))
    marks = "d" * (complete and wanted) + " m" * arrived
    text = "Σ" if complete and len(source) > 1 else _runs(sorted(value.elements()))
    return f'<td class="{marks.strip()}">{text}</td>' if marks else f"<td>{text}</td>"


def _runs(ranks: list[int]) -> str:
    """Ranks joined by +, three or more in a row as a range: 0+2–4."""
    runs: list[list[int]] = []
    for rank in ranks:
        if runs and rank == runs[-1][-1] + 1:
            runs[-1].append(rank)
        else:
            runs.append([rank])
    return "+".join(f"{run[0]}–{run[-1]}" if len(run) > 2 else "+".join(map(str, run)) for run in runs)


def _sent(play: Play, t: int) -> list[Fraction]:
    share = play.schedule.blocks.share
    total = [0] * play.schedule.ranks
    for k in range(1, t + 1):
        step = play.messages(k)
        for src, block in zip(step.src.tolist(), step.block.tolist(), strict=True):
            total[src] += int(share.numerators[block])
    return [Fraction(count, share.denominator) for count in total]


def _bundles(step: Step) -> dict[tuple[int, int, bool], list[int]]:
    found: dict[tuple[int, int, bool], list[int]] = {}
    for src, dst, block, add in zip(*(values.tolist() for values in step), strict=True):
        found.setdefault((src, dst, add), []).append(block)
    return found


def _names(schedule: Schedule) -> list[str]:
    """What to call each block: its number, or source→target where every pair of ranks has one."""
    if has_pairs(schedule):
        return [f"{source}→{target}" for source, target in product(range(schedule.ranks), repeat=2)]
    return [str(block) for block in range(len(schedule.blocks))]


def _moves(play: Play, t: int) -> str:
    names = _names(play.schedule)
    if t == 0:
        return "<p>Nothing has moved yet.</p>"
    items = "".join(
        f"<li>{src} → {dst}: {_listed(blocks, names)} {'added' if add else 'copied'}</li>"
        for (src, dst, add), blocks in sorted(_bundles(play.messages(t)).items())
    )
    return f"<p>Step {t} moved, from rank → to rank:</p><ul class='cl-moves'>{items or '<li>nothing</li>'}</ul>"


def _listed(blocks: list[int], names: list[str]) -> str:
    return f"{'block' if len(blocks) == 1 else 'blocks'} {', '.join(names[b] for b in sorted(blocks))}"


def _costs(play: Play, t: int) -> str:
    run = play.run
    alpha = Fraction(int(run.step_alpha[:t].sum()), run.topology.alpha.denominator)
    beta = Fraction(int(run.step_beta[:t].sum()), run.beta_denominator)
    pairs = has_pairs(play.schedule)
    also = f"; {sent_so_far(play.schedule, t)}" if pairs else ""
    wires = run.topology.name.split(":")[0]
    return (
        f"<p><b>So far</b> n_alpha = {alpha} of {run.cost.n_alpha}, n_beta = {beta} of {run.cost.n_beta} "
        f"({wires}, {run.topology.port_model}, lock-step clock){also}.</p><p><b>Reading it</b> "
        f"{_READING_PAIRS if pairs else _READING}</p>"
    )


_READING = (
    "Solid arrows add, dashed ones copy. <b>Σ</b> is a complete sum; a filled green cell holds its final value; "
    "a framed one has just arrived."
)
_READING_PAIRS = (
    "One row for each source, one column for each destination; the number and the color say which rank has the "
    "block now. A bold number has reached its destination; a framed cell has just moved. At first every row has one "
    "color, in the end every column."
)


def _told(play: Play, t: int) -> str:
    blocks = play.schedule.blocks
    done = wanted = 0
    for block in range(len(blocks)):
        need = len(blocks.holders(int(blocks.source[block])))
        for rank in blocks.holders(int(blocks.target[block])):
            wanted += 1
            done += len(play.states[t].get((int(rank), block), ())) == need
    moved = len(play.messages(t).src)
    last = play.schedule.num_steps
    said = f"step {t} of {last} moved {moved} block{'s' * (moved != 1)}" if t else f"none of {last} steps is done"
    return f"{play.name} on {play.schedule.ranks} ranks: {said}; {done} of {wanted} places have their final value."


def _circle(play: Play, t: int) -> str:
    """The ranks on a circle, or in a row, and an arrow for every pair that has just exchanged something."""
    n = play.schedule.ranks
    axes, size, in_a_row = play.run.topology.lattice, 'viewBox="0 0 220 208"', False
    where = [(110 + 84 * sin(2 * pi * r / n), 104 - 84 * cos(2 * pi * r / n)) for r in range(n)]
    if axes is not None and not axes.wraps and len(axes.dims) == 1:
        in_a_row, middle = True, 30 + 6 * max(0, n - 6)
        where = [(20 + 60 * r, middle) for r in range(n)]
        size = f'viewBox="0 0 {60 * n - 20} {2 * middle}" style="width:{4.6 * n:.1f}em"'
    arrows = "".join(
        _arrow(where[src], where[dst], add, 9 + 12 * (abs(src - dst) - 1) * in_a_row)
        for src, dst, add in sorted(_bundles(play.messages(t)))
    )
    ranks = "".join(
        f'<circle cx="{x:.0f}" cy="{y:.0f}" r="14"/><text x="{x:.0f}" y="{y + 5:.0f}">{r}</text>'
        for r, (x, y) in enumerate(where)
    )
    alt = escape(_told(play, t))
    return f'<svg class="cl-circle" {size} role="img" aria-label="{alt}">{arrows}{ranks}</svg>'


def _arrow(start: tuple[float, float], end: tuple[float, float], add: bool, bend: int) -> str:
    dx, dy = end[0] - start[0], end[1] - start[1]
    length = hypot(dx, dy)
    ux, uy = dx / length, dy / length
    # bent to its left, so that the two ways between a pair stay apart
    mx, my = (start[0] + end[0]) / 2 + uy * bend, (start[1] + end[1]) / 2 - ux * bend
    tx, ty = end[0] - ux * 16 + uy * 2, end[1] - uy * 16 - ux * 2
    sx, sy = start[0] + ux * 15, start[1] + uy * 15
    head = f"M{tx:.0f} {ty:.0f}L{tx - ux * 9 + uy * 5:.0f} {ty - uy * 9 - ux * 5:.0f}"
    head += f"L{tx - ux * 9 - uy * 5:.0f} {ty - uy * 9 + ux * 5:.0f}Z"
    kind = "" if add else ' class="c"'
    return f'<path d="M{sx:.0f} {sy:.0f}Q{mx:.0f} {my:.0f} {tx:.0f} {ty:.0f}"{kind}/><path d="{head}" class="h"/>'

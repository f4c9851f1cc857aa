"""The trace player: any algorithm on a few ranks, step by step, every block on every rank."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial
from itertools import product
from math import dist, hypot

from colllib import algorithms, ladder
from colllib.execution import Execution, execute, trace
from colllib.schedule import Schedule, Step
from colllib.show.control import Control, Part, State
from colllib.show.explorer import Explorer
from colllib.show.pair_grid import has_pairs, pair_grid, sent_so_far
from colllib.show.places import Point, node_name, places
from colllib.show.theme import escape
from colllib.topology import Topology, star

Build = Callable[[int], Schedule]


@dataclass(frozen=True)
class Play:
    """One schedule, executed on a star or on other wires, with its state before the first and after every step."""

    name: str
    run: Execution
    states: tuple[dict[tuple[int, int], Counter[int]], ...]
    wires: str = "star, one full-duplex port per rank"

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
            fused = _with(algorithm.build, fused=True)
            offered["rabenseifner, fused"] = (f"{text}, middle step fused", fused, algorithm.fits)
        if algorithm.name == "pat":
            for cap, told in ((2, "two blocks"), (1, "one block")):
                capped = _with(algorithm.build, cap=cap)
                offered[f"pat, A = {cap}"] = (f"{text}, at most {told} a message", capped, algorithm.fits)
        if (primitive, algorithm.name) == ("all-to-all", "bruck"):
            offered["bruck, radix 3"] = (f"{text}, radix 3", _with(algorithm.build, radix=3), algorithm.fits)
        if algorithm.name == "ring-relay":
            singly = _with(algorithm.build, bundled=False)
            offered["ring-relay, singly"] = (f"{text}, one block at a time", singly, algorithm.fits)
    return offered


def variants_on(primitive: str, topology: Topology) -> dict[str, tuple[str, Callable[[], Schedule]]]:
    """What the player offers on a topology: what is made for its kind first, then all others that it serves.

    >>> from colllib.topology import mesh
    >>> list(variants_on("all-gather", mesh((3, 2))))[:4]
    ['dim-ring', 'rotated-dim-ring', 'ring', 'bruck']
    """
    offered: dict[str, tuple[str, Callable[[], Schedule]]] = {}
    for algorithm in ladder.offered(primitive, topology):
        if algorithm in algorithms.ALGORITHMS:
            continue
        place = algorithm.argument(topology)
        text = algorithm.label[0].upper() + algorithm.label[1:]
        offered[algorithm.name] = text, partial(algorithm.build, place)
        if algorithm.segmented:
            offered[f"{algorithm.name}, P = 4"] = f"{text}, 4 segments", partial(algorithm.build, place, segments=4)
        if (primitive, algorithm.name) == ("all-to-all", "relay"):
            offered["relay, axis after axis"] = f"{text}, axis after axis", partial(algorithm.build, place, phased=True)
    for name, (text, build, fits) in variants(primitive).items():
        if fits(topology.ranks):
            offered[name] = text, partial(build, topology.ranks)
    return offered


def _with(build: Callable[..., Schedule], **options: object) -> Build:
    return lambda ranks: build(ranks, **options)


def trace_player(
    primitive: str = "all-reduce",
    *,
    ranks: Sequence[int] = range(2, 9),
    on: Sequence[Topology] = (),
    start: tuple[str, int | str, int] | None = None,
    offer: Mapping[str, tuple[str, Build]] | None = None,
    where: Callable[[int], Topology] = star,
) -> Explorer:
    """Every algorithm for a primitive, step by step: who holds which contributions, what moves, what it has cost.

    Args:
        primitive: its name.
        ranks: the numbers of ranks on offer.
        on: small topologies to offer instead, with the algorithms made for them, such as a torus or a
            star whose switch adds; they go by their names.
        start: algorithm, N (or the topology's name) and the number of steps done that are shown first
            (default: the first algorithm, N = 4 or the nearest on offer, half way through).
        offer: other schedules than the library's list: name -> (text, builder from N).
        where: the topology for N (default: a star); a line is drawn as a row.

    Raises:
        ValueError: for an unknown primitive, or a start that is not on offer.

    >>> trace_player(ranks=[2, 4])
    Explorer: All-reduce, step by step (Algorithm, Ranks N, Steps done)
    >>> from colllib.algorithms.lattice import line_reduce_scatter
    >>> from colllib.topology import line
    >>> trace_player("reduce-scatter", ranks=[4], offer={"line": ("From both ends", line_reduce_scatter)}, where=line)
    Explorer: Reduce-scatter, step by step (Algorithm, Ranks N, Steps done)
    """
    if on:
        return _player_on(primitive, on, start)
    kinds = variants(primitive) if offer is None else {k: (*given, lambda _: True) for k, given in offer.items()}
    offered = {name: kind for name, kind in kinds.items() if any(map(kind[2], ranks))}

    @cache
    def play(name: str, n: int) -> Play:
        schedule = offered[name][1](n)
        topology = where(n)
        wires = f"{topology.name.split(':')[0]}, {topology.port_model}"
        return Play(offered[name][0], execute(schedule, topology), tuple(trace(schedule)), wires)

    if start is None:
        if not offered:
            raise ValueError(f"no algorithm for {primitive} serves any of the ranks {list(ranks)}: offer others")
        name = next(iter(offered))
        n = min(filter(offered[name][2], ranks), key=lambda r: (abs(r - 4), r))
        start = name, n, play(name, n).schedule.num_steps // 2
    texts = {key: text for key, (text, _, _) in offered.items()}
    places = Control("n", "Ranks N", lambda s: [r for r in ranks if offered[s["algorithm"]][2](r)], start[1])
    return _player(f"{primitive}, step by step", texts, places, play, start)


def _player_on(primitive: str, on: Sequence[Topology], start: tuple[str, int | str, int] | None) -> Explorer:
    offered = {where.name: variants_on(primitive, where) for where in on}
    texts = {name: text for kinds in offered.values() for name, (text, _) in kinds.items()}

    @cache
    def play(name: str, wires: str) -> Play:
        where = next(topology for topology in on if topology.name == wires)
        text, build = offered[wires][name]
        schedule = build()
        said = f"{where.name}, {where.port_model}"
        return Play(text, execute(schedule, where), tuple(trace(schedule)), said)

    if start is None:
        name = next(iter(texts))
        wires = next(wires for wires, kinds in offered.items() if name in kinds)
        start = name, wires, play(name, wires).schedule.num_steps // 2
    places = Control(
        "wires",
        "Wires",
        lambda s: [wires for wires, kinds in offered.items() if s["algorithm"] in kinds],
        start[1],
        kind="select",
    )
    return _player(f"{primitive} on its wires, step by step", texts, places, play, start)


def _player(
    title: str, texts: dict[str, str], places: Control, play: Callable[..., Play], start: tuple[str, int | str, int]
) -> Explorer:
    every = ("algorithm", places.name, "step")

    def played(state: State) -> tuple[Play, int]:
        return play(state["algorithm"], state[places.name]), state["step"]

    return Explorer(
        f"{title[0].upper()}{title[1:]}",
        [
            Control("algorithm", "Algorithm", texts, start[0], "select"),
            places,
            Control("step", "Steps done", lambda s: _counted(play(s["algorithm"], s[places.name])), start[2]),
        ],
        [
            Part(every, lambda s: _picture(*played(s)), "Messages of this step, and contributions on each rank"),
            Part(every, lambda s: _moves(*played(s))),
            Part(every, lambda s: _costs(*played(s))),
        ],
        summary=Part(every, lambda s: _told(*played(s))),
        play="step",
    )


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
    for rank in range(schedule.nodes):
        cells = (
            _cell(schedule, state.get((rank, block)), rank, block, (rank, block) in arrived)
            for block in range(len(schedule.blocks))
        )
        rows.append(
            f'<tr><th scope="row">{node_name(schedule, rank)}</th>{"".join(cells)}<td class="s">{sent[rank]}</td></tr>'
        )
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
    total = [0] * play.schedule.nodes
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
    node = partial(node_name, play.schedule)
    items = "".join(
        f"<li>{node(src)} → {node(dst)}: {_listed(blocks, names)} {'added' if add else 'copied'}</li>"
        for (src, dst, add), blocks in sorted(_bundles(play.messages(t)).items())
    )
    return f"<p>Step {t} moved, from rank → to rank:</p><ul class='cl-moves'>{items or '<li>nothing</li>'}</ul>"


def _listed(blocks: list[int], names: list[str]) -> str:
    return f"{'block' if len(blocks) == 1 else 'blocks'} {', '.join(names[b] for b in sorted(blocks))}"


def _costs(play: Play, t: int) -> str:
    run = play.run
    paid = run.cost_of(range(t))
    pairs = has_pairs(play.schedule)
    also = f"; {sent_so_far(play.schedule, t)}" if pairs else ""
    return (
        f"<p><b>So far</b> n_alpha = {paid.n_alpha} of {run.cost.n_alpha}, n_beta = {paid.n_beta} of {run.cost.n_beta} "
        f"({play.wires}, lock-step clock){also}.</p><p><b>Reading it</b> "
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
    """The ranks on a circle or on their grid, and an arrow for every pair that has just exchanged something."""
    axes, n, size = play.run.topology.lattice, play.schedule.nodes, 'viewBox="0 0 220 208"'
    where = places(play.run.topology, n)
    in_a_row = axes is not None and len(axes.dims) == 1 and not axes.wraps
    if in_a_row:
        middle = 30 + 6 * max(0, n - 6)
        where = [(20 + 60 * r, middle) for r in range(n)]
        size = f'viewBox="0 0 {60 * n - 20} {2 * middle}" style="width:{4.6 * n:.1f}em"'
    near = min(dist(where[0], other) for other in where[1:])
    arrows = []
    for src, dst, add in sorted(_bundles(play.messages(t))):
        # on a grid what goes round, or past a neighbor, makes way for it
        far = axes is not None and dist(where[src], where[dst]) > 1.6 * near
        bend = 9 + 12 * (abs(src - dst) - 1) if in_a_row else 26 if far else 9
        arrows.append(_arrow(where[src], where[dst], add, bend))
    ranks = "".join(
        f'<circle cx="{x:.0f}" cy="{y:.0f}" r="14"/><text x="{x:.0f}" y="{y + 5:.0f}">'
        f"{node_name(play.schedule, r)}</text>"
        for r, (x, y) in enumerate(where)
    )
    alt = escape(_told(play, t))
    drawn = f"{''.join(arrows)}{ranks}"
    return f'<svg class="cl-circle" {size} role="img" aria-label="{alt}">{drawn}</svg>'


def _arrow(start: Point, end: Point, add: bool, bend: int) -> str:
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

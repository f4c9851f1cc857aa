"""Link maps: what every link of a small torus or mesh carries in an all-to-all, at once and step by step.

All that is drawn is counted by executing a schedule: the loads are the ledger's, the blocks are
those whose messages crossed the link.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, cached_property, partial
from itertools import accumulate
from math import ceil
from typing import Any

from colllib.algorithms import relay
from colllib.bounds import floor
from colllib.execution import Execution, execute
from colllib.show.control import Control, Part, counted
from colllib.show.cost_explorer import prices
from colllib.show.explorer import Explorer
from colllib.show.figure import Chart, legend_row
from colllib.show.geometry import Point, num
from colllib.show.ladder_explorer import fabric_name
from colllib.show.layouts import direction
from colllib.show.race import Form, Race, Row
from colllib.show.theme import color, escape, letter, listed
from colllib.show.views import Rows, Summary
from colllib.topology import Lattice, Topology, mesh, torus
from colllib.topology.routes import alternating_torus

DIMS = {
    "torus": ((4, 4), (2, 2), (3, 3), (4, 2), (5, 3), (5, 5), (6, 4), (8, 4), (6, 6), (8, 1)),
    "mesh": ((3, 3), (4, 4), (6, 4), (6, 6), (8, 1)),
}
SHAPES = {f"{kind} {x} × {y}": (kind, (x, y)) for kind, sizes in DIMS.items() for x, y in sizes}
_MOST_NAMES = 36

#: A variant of an all-to-all: the options of the relay, or the torus with the routes of one block on a link at a time.
Variant = dict[str, Any] | Callable[[tuple[int, ...]], Topology]
#: Kind of a shape -> its rules. Ties are a torus' matter.
RULES: dict[str, dict[str, Variant]] = {
    "torus": {
        "X first, ties up": {"tie": "up"},
        "X first, ties balanced": {"tie": "balanced"},
        "X first, ties split": {"tie": "split"},
        "slices, ties split": {"tie": "split", "rotated": True},
        "alternating axes, one block at a time": alternating_torus,
    },
    "mesh": {"X first": {}, "slices": {"rotated": True}},
}


def rules(shape: str) -> tuple[str, ...]:
    """The rules that are offered for a shape."""
    return tuple(RULES[SHAPES[shape][0]])


@dataclass(frozen=True, eq=False)
class Heat:
    """What some steps of an execution put on the links.

    Attributes:
        run: the execution.
        crossings: per link, how often each block's messages crossed it.
        most: the load that is drawn hottest; None for that of the busiest link.
        names: what to write beside each link in place of its load, or nothing.
    """

    run: Execution
    crossings: tuple[Counter[int], ...]
    most: Fraction | None = None
    names: tuple[str, ...] = ()

    @cached_property
    def loads(self) -> tuple[Fraction, ...]:
        """What every directed link carries, in units of M."""
        share = self.run.schedule.blocks.share
        return tuple(
            Fraction(sum(int(share.numerators[block]) * times for block, times in blocks.items()), share.denominator)
            for blocks in self.crossings
        )

    @property
    def hottest(self) -> int:
        """The first of the busiest links."""
        return self.loads.index(max(self.loads))

    @property
    def unit(self) -> Fraction:
        """M/N: what the numbers on the map count."""
        return Fraction(1, self.run.topology.ranks)

    @cached_property
    def top(self) -> Fraction:
        """The load that is drawn hottest."""
        return self.most or max(self.loads)

    def level(self, load: Fraction) -> int:
        """The color of a load: 0 for an idle link, else 1 (quietest) to 5 (busiest)."""
        return ceil(_LEVELS * load / self.top)


def heat(shape: str, rule: str, sender: int | None = None) -> Heat:
    """Execute an all-to-all and count what crosses which link; a color is the same load under every rule.

    Args:
        shape: a key of `SHAPES`.
        rule: one of `rules(shape)`.
        sender: count only the blocks that begin at this rank; None for all.

    >>> links = heat("torus 4 × 4", "X first, ties up")
    >>> links.run.topology.link_name(links.hottest), str(links.loads[links.hottest])
    ('0 -> 1', '3/4')
    """
    return _heats(shape, sender)[rule]


@cache
def _heats(shape: str, sender: int | None) -> dict[str, Heat]:
    kind, dims = SHAPES[shape]
    runs = {rule: _run(variant, Lattice(dims, kind == "torus")) for rule, variant in RULES[kind].items()}
    heats = {rule: heat_of(run, range(run.schedule.num_steps), sender) for rule, run in runs.items()}
    most = max(load for links in heats.values() for load in links.loads)
    return {rule: replace(links, most=most) for rule, links in heats.items()}


def _run(variant: Variant, axes: Lattice) -> Execution:
    if callable(variant):
        topology = variant(axes.dims)
        return execute(relay.relay_one_by_one(topology), topology)
    return execute(relay.relay(axes, **variant), torus(axes.dims) if axes.wraps else mesh(axes.dims))


def heat_of(run: Execution, steps: Iterable[int], sender: int | None = None) -> Heat:
    """What some steps of an execution put on the links; only of blocks that begin at the sender, if one is given."""
    schedule, topology = run.schedule, run.topology
    crossings: list[Counter[int]] = [Counter() for _ in range(topology.num_links)]
    for step in map(schedule.step, steps):
        messages, links = topology.router(step.src, step.dst)
        for block, link in zip(step.block[messages].tolist(), links.tolist(), strict=True):
            if sender is None or schedule.blocks.source[block] == sender:
                crossings[link][block] += 1
    return Heat(run, tuple(crossings))


def link_label(topology: Topology, link: int) -> str:
    """A link as "b→c"."""
    return "→".join(letter(int(ends[link])) for ends in (topology.link_src, topology.link_dst))


def carried(links: Heat, link: int) -> str:
    """What a link carried, block by block, in words."""
    blocks = links.run.schedule.blocks
    pairs: dict[tuple[int, int], Fraction] = defaultdict(Fraction)
    for block, times in links.crossings[link].items():
        pairs[int(blocks.source[block]), int(blocks.target[block])] += blocks.share[block] * times
    described = [
        f"{letter(a)}→{letter(b)}" + ("" if size == links.unit else f" ({num(size / links.unit, 2)})")
        for (a, b), size in sorted(pairs.items())
    ]
    rest = len(described) - _MOST_NAMES
    return (listed(described[:_MOST_NAMES]) or "nothing") + (f" and {rest} more" if rest > 0 else "")


# -- drawing -------------------------------------------------------------------------------------

_LEVELS = 5

FEW = 2  # loads that the legend tells, so that no link has a number

#: Line colors as CSS variables, from the book's blue to its orange; color-mix serves both themes.
_COLORS = "--h0:var(--cl-line,#c3c9d0);" + ";".join(
    f"--h{k}:color-mix(in oklab,{color(1)} {100 * (k - 1) // (_LEVELS - 1)}%,{color(0)})" for k in range(1, _LEVELS + 1)
)


def _arrow(x: float, y: float, dx: int, dy: int, length: float, level: int) -> str:
    """An arrow from (x, y) in the direction (dx, dy), a unit vector; the wider, the busier."""
    width = 0.8 + level
    head, half = 4.5 + width / 2, 1.4 + width / 1.5
    shaft = length - head
    dash = ' stroke-dasharray="2 3"' if level == 0 else ""
    return (
        f'<path d="M{x:.4g} {y:.4g}l{dx * shaft:.4g} {dy * shaft:.4g}" style="stroke:var(--h{level})" '
        f'stroke-width="{width:.2g}"{dash}/><path d="M{x + dx * length:.4g} {y + dy * length:.4g}'
        f"l{-dx * head - dy * half:.4g} {-dy * head + dx * half:.4g}l{2 * dy * half:.4g} {-2 * dx * half:.4g}z"
        f'" style="fill:var(--h{level})"/>'
    )


def _links(links: Heat, at: Sequence[Point], gap: float) -> str:
    topology, axes = links.run.topology, links.run.topology.lattice
    assert axes is not None
    arrows, numbers = [], []
    numbered = links.names or len({load for load in links.loads if load}) > FEW  # else the legend tells all
    for link, load in enumerate(links.loads):
        src, dst = int(topology.link_src[link]), int(topology.link_dst[link])
        axis, sign = direction(axes, src, dst)
        wraps = dst - src != sign * axes.strides[axis]
        dx, dy = (sign, 0) if axis == 0 else (0, -sign)
        # the two directions keep to their right, like traffic, and each number to its own arrow
        sx, sy = -5 * dy, 5 * dx
        x, y = at[src]
        room = 26.0 if wraps else gap - 24
        level = links.level(load)
        arrows.append(_arrow(x + 12 * dx + sx, y + 12 * dy + sy, dx, dy, room, level))
        if wraps:  # and where it comes in again
            u, v = at[dst]
            arrows.append(_arrow(u - 38 * dx + sx, v - 38 * dy + sy, dx, dy, 26, level))
        middle = 12 + room / 2
        nx, ny = x + dx * middle + 3.2 * sx, y + dy * middle + (3.7 * sy if sy > 0 else 2.1 * sy) + (3.5 if dy else 0)
        bold = ' font-weight="700"' if load == links.top else ""
        if load and numbered:
            words = links.names[link] if links.names else num(load / links.unit, 2)
            numbers.append(f'<text x="{nx:.4g}" y="{ny:.4g}"{bold}>{words}</text>')
    halo = 'fill="currentColor" text-anchor="middle" paint-order="stroke" stroke="var(--cl-bg,#fff)" stroke-width="2.5"'
    return f'<g fill="none" style="{_COLORS}">{"".join(arrows)}</g><g {halo}>{"".join(numbers)}</g>'


def _ranks(at: Sequence[Point], sender: int | None) -> str:
    out = []
    for rank, (x, y) in enumerate(at):
        fill, ink = "var(--cl-soft,#f3f5f7)", "currentColor"
        if rank == sender:
            fill, ink = color(0), "var(--cl-bg,#fff)"
        out.append(
            f'<circle cx="{x:g}" cy="{y:g}" r="10.5" style="fill:{fill};stroke:var(--cl-edge,#77808a)"/>'
            f'<text x="{x:g}" y="{y + 4:g}" style="fill:{ink}">{letter(rank)}</text>'
        )
    return f'<g stroke-width="1" text-anchor="middle">{"".join(out)}</g>'


def _legend(links: Heat) -> str:
    """For every color on the map, the loads that have it."""
    by_level: dict[int, list[str]] = defaultdict(list)
    for load in sorted(set(links.loads)):
        by_level[links.level(load)].append(num(load / links.unit, 2))
    keys = []
    for level, loads in by_level.items():
        words = ", ".join(loads) if len(loads) <= FEW else f"{loads[0]} to {loads[-1]}"
        arrow = f'<svg width="30" height="12" fill="none">{_arrow(1, 6, 1, 0, 28, level)}</svg>'
        keys.append((arrow, words if level else "idle"))
    return legend_row(keys, f' style="{_COLORS}"')


def describe(links: Heat) -> str:
    """The alt text: the busiest and the quietest links, and how many there are of each load."""
    topology = links.run.topology
    assert topology.lattice is not None
    below = " ".join(map(letter, range(topology.lattice.dims[0])))
    counts = Counter(links.loads)
    described = ", ".join(
        f"{num(load / links.unit, 2)} on {count}" for load, count in sorted(counts.items(), reverse=True)[:6]
    )
    more = f", and {len(counts) - 6} other loads" if len(counts) > 6 else ""
    return (
        f"{fabric_name(topology.name.partition(',')[0])}: map of {topology.num_links} directed links "
        f"by what they carry, in M/N: {described}{more}. "
        f"The first of the busiest is {link_label(topology, links.hottest)}. "
        f"Ranks stand in rows of {topology.lattice.dims[0]}, the first row below: {below}."
    )


def heat_map(links: Heat, sender: int | None = None, title: str = "") -> Chart:
    """Draw the links of a small lattice, colored by load; of more than two loads with each as a number, in M/N.

    >>> heat_map(heat("torus 2 × 2", "X first, ties balanced"))
    torus 2 × 2: map of 8 directed links by what they carry, in M/N: 2 on 8. The first of the busiest is a→b. ...
    """
    axes = links.run.topology.lattice
    assert axes is not None
    columns, rows = axes.dims
    gap = next(gap for most, gap in ((4, 74.0), (6, 62.0), (99, 54.0)) if max(axes.dims) <= most)
    edge = 46.0 if axes.wraps else 22.0
    at = [(edge + gap * x, edge + gap * (rows - 1 - y)) for y in range(rows) for x in range(columns)]
    width, height = (2 * edge + gap * (size - 1) for size in axes.dims)
    body = (
        f'{_legend(links)}<svg viewBox="0 0 {width:g} {height:g}" font-size="11" aria-hidden="true" '
        f'style="min-width:{width:.0f}px;max-width:{1.45 * width:.0f}px">{_links(links, at, gap)}'
        f"{_ranks(at, sender)}</svg>"
    )
    return Chart(body, describe(links), title)


# -- the explorer --------------------------------------------------------------------------------


def link_heat_explorer() -> Explorer:
    """Shape and rule, M, alpha and BW: the load of every link, the hottest link's blocks, and the time.

    >>> link_heat_explorer()
    Explorer: Which link is hot? (Shape, Rule, Blocks of, Message M, Latency α, Bandwidth BW)
    """
    every = Race(lambda shape: [_priced(shape, rule, rule) for rule in rules(shape)])
    heads = "rule = name | time | of fastest | times the links' bound = over floor | n_alpha | n_beta"
    return Explorer(
        "Which link is hot?",
        [
            Control("shape", "Shape", tuple(SHAPES), "torus 4 × 4", kind="select"),
            Control("rule", "Rule", rules, kind="select"),
            Control("sender", "Blocks of", {None: "all ranks", 0: "rank a"}),
            *prices(),
        ],
        [
            Part(lambda shape, rule, sender: heat_map(heat(shape, rule, sender), sender), "Link map"),
            Part(_facts, "The hottest link"),
            Rows(every, "Every rule", "Every rule in numbers", heads, swatches=False),
        ],
        summary=Summary(
            Race(_chosen),
            text="All-to-all on a {shape}, {rule}: {variant:chosen}. {m} take {time:chosen} in lock-step, "
            "{over:chosen} times the least that these links allow.",
        ),
    )


def _facts(shape: str, rule: str, sender: int | None) -> str:
    links, of_all_senders = heat(shape, rule, sender), heat(shape, rule)
    topology, link, cost = links.run.topology, links.hottest, links.run.cost
    least = floor("all-to-all", topology).n_beta
    rows = [
        f"Hottest link{_whose(sender)}: <b>{link_label(topology, link)}</b> with "
        f"{num(links.loads[link] / links.unit, 2)} of M/N, that is {links.loads[link]} of M: "
        f"{escape(carried(links, link))}.",
        f"Run in lock-step: <i>n</i><sub>α</sub> = {cost.n_alpha}, <i>n</i><sub>β</sub> = {cost.n_beta}; "
        f"the busiest link alone needs {max(of_all_senders.loads)}, and no schedule less than {least}.",
        f"Numbers on links count M/N = M/{topology.ranks}. Port model: {escape(topology.port_model)}.",
    ]
    return "".join(f"<p>{row}</p>" for row in rows)


def _whose(sender: int | None) -> str:
    return "" if sender is None else f" of rank {letter(sender)}'s blocks"


def _priced(shape: str, rule: str, name: str, label: str = "") -> Row:
    run = heat(shape, rule).run
    return Row(name, {label: Form((run.cost,))}, floor=Form((floor("all-to-all", run.topology),)))


def _chosen(shape: str, rule: str, sender: int | None) -> list[Row]:
    """The rule; its label says which link is hottest."""
    links = heat(shape, rule, sender)
    most = max(links.loads)
    label = link_label(links.run.topology, links.hottest)
    hottest = f"the hottest link{_whose(sender)} is {label}"
    if more := links.loads.count(most) - 1:
        hottest = f"the hottest links{_whose(sender)} are {label} and {more} more, each"
    return [_priced(shape, rule, "chosen", f"{hottest} with {num(most / links.unit, 2)} of M/N")]


# -- step by step --------------------------------------------------------------------------------

STEPPED, BLOCKS = (4, 4), 240  # the lattice, and how many blocks travel

WAYS: dict[str, Variant] = {
    "one block on a link: X first, ties up": torus,
    "one block on a link: X first, ties balanced": partial(torus, tie="balanced"),
    "one block on a link: alternating axes": alternating_torus,
    "bundles: X first": {"tie": "split"},
    "bundles: slices": {"tie": "split", "rotated": True},
    "bundles: axis after axis": {"tie": "split", "phased": True},
    "bundles: slices, axis after axis": {"tie": "split", "rotated": True, "phased": True},
}


@dataclass(frozen=True, eq=False)
class Progress:
    """One way to run it: what every step put on the links, and after each the blocks that have arrived."""

    run: Execution
    heats: tuple[Heat, ...]
    arrived: tuple[Fraction, ...]


@cache
def progress(way: str) -> Progress:
    """Execute one of `WAYS` and look at every step."""
    run = _run(WAYS[way], Lattice(STEPPED))
    schedule = run.schedule
    heats = [heat_of(run, [t]) for t in range(schedule.num_steps)]
    if callable(WAYS[way]):
        heats = [replace(links, most=3 * links.unit, names=_names(links)) for links in heats]
    else:
        heats = [replace(links, most=max(max(each.loads) for each in heats)) for links in heats]
    share, target = schedule.blocks.share, schedule.blocks.target
    steps = map(schedule.step, range(schedule.num_steps))
    arriving = (step.block[step.dst == target[step.block]] for step in steps)
    arrived = accumulate(share.taken(blocks).total() * schedule.ranks for blocks in arriving)
    return Progress(run, tuple(heats), tuple(arrived))


def _names(links: Heat) -> tuple[str, ...]:
    """The block on each link as its source and its destination: "ak"."""
    blocks = links.run.schedule.blocks
    return tuple(
        "".join(letter(int(blocks.source[block])) + letter(int(blocks.target[block])) for block in crossing)
        for crossing in links.crossings
    )


def link_steps_explorer() -> Explorer:
    """Seven ways to run the 240 blocks of a 4 × 4 torus, step by step.

    >>> link_steps_explorer()
    Explorer: 240 blocks on 4 × 4, step by step (How, Step)
    """
    start = "bundles: X first"
    return Explorer(
        "240 blocks on 4 × 4, step by step",
        [
            Control("way", "How", tuple(WAYS), start, kind="select"),
            Control("step", "Step", lambda way: counted(len(progress(way).heats), 1), 1),
        ],
        [
            Part(lambda way, step: heat_map(progress(way).heats[step - 1]), "Links in this step"),
            Part(_so_far, "So far"),
        ],
        summary=_sentence,
        play="step",
    )


def _so_far(way: str, step: int) -> str:
    done = progress(way)
    run = done.run
    beta = run.cost_of(range(step)).n_beta
    reading = "Numbers on links count M/N = M/16, ties split."
    if callable(WAYS[way]):
        reading = "<b>ak</b> beside a link is the block from a to k."
    return (
        f"<p>So far <i>n</i><sub>α</sub> = {step} of {run.cost.n_alpha}, "
        f"<i>n</i><sub>β</sub> = {beta} of {run.cost.n_beta} (lock-step); "
        f"{num(done.arrived[step - 1], 2)} of {BLOCKS} blocks have arrived.</p>"
        f"<p>{reading} Dashed links are idle. Port model: {run.topology.port_model}.</p>"
    )


def _sentence(way: str, step: int) -> str:
    done = progress(way)
    links = done.heats[step - 1]
    busy = sum(load > 0 for load in links.loads)
    return (
        f"{way[0].upper()}{way[1:]}, step {step} of {len(done.heats)}: {busy} of {len(links.loads)} links are "
        f"busy, the busiest carries {num(max(links.loads) / links.unit, 2)} of M/16; "
        f"{num(done.arrived[step - 1], 2)} of {BLOCKS} blocks have arrived."
    )

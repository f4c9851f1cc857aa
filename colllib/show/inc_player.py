"""The in-network player: a collective through switches beside a software tree for the same, step by step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property, partial

from colllib.algorithms import allgather, allreduce, alltoall, broadcast, innetwork, reduce, reducescatter
from colllib.algorithms.innetwork import SwitchTree
from colllib.cost import Cost
from colllib.execution import Execution, execute, trace
from colllib.schedule import Schedule, pipelined
from colllib.show.control import Control, Part, State
from colllib.show.explorer import Explorer
from colllib.show.pair_grid import has_pairs
from colllib.show.theme import escape
from colllib.show.trace_player import Play, _arrow, _bundles, _circle, _runs
from colllib.topology import Latency, Topology, star, switch_tree

RANKS = (2, 3, 4, 5, 6, 8)
BEND = 9  # how far an arrow leaves its cable
SEGMENTS = (1, 4)
PARTS = Latency(endpoint=Fraction(3, 5), switch=Fraction(2, 5))
FABRICS = {"one": "One switch", "tree": "Two levels of switches"}

#: Name -> what the player calls it, its builder through switches, and the software tree or its like.
COLLECTIVES: dict[str, tuple[str, Callable[..., Schedule], str, Callable[[int], Schedule]]] = {
    "one-shot": ("All-reduce, one shot", innetwork.one_shot_all_reduce, "Binomial tree", allreduce.binomial_tree),
    "two-shot": ("All-reduce, two shots", innetwork.two_shot_all_reduce, "Binomial tree", allreduce.binomial_tree),
    "scatter": ("Reduce-scatter, as drawn", innetwork.scatter_reduced, "Bruck", reducescatter.bruck),
    "scatter-kept": (
        "Reduce-scatter, own slice kept",
        partial(innetwork.scatter_reduced, keep_own=True),
        "Bruck",
        reducescatter.bruck,
    ),
    "gather": ("All-gather", innetwork.gather_multicast, "Bruck", allgather.bruck),
    "broadcast": ("Broadcast", innetwork.multicast, "Binomial tree", broadcast.binomial_tree),
    "reduce": ("Reduce", innetwork.reduce_to_root, "Binomial tree", reduce.binomial_tree),
    "all-to-all": ("All-to-all", innetwork.scatter_bundles, "Bruck", alltoall.bruck),
}


def fabric(name: str, ranks: int) -> Topology:
    """The switches of the player, which can do everything; alpha is 3/5 endpoint and 2/5 switch.

    >>> fabric("tree", 8).switches, fabric("one", 8).switches
    (4, 1)
    """
    can = {"combines": True, "replicates": True, "scatters": True}
    if name == "one":
        return star(ranks, latency=PARTS, **can)
    return switch_tree(ranks, 3 if ranks <= 6 else 4, latency=PARTS, **can)


def fabrics(ranks: int) -> dict[str, str]:
    """What is on offer for N: two levels need four ranks.

    >>> list(fabrics(3)), list(fabrics(4))
    (['one'], ['one', 'tree'])
    """
    return {name: text for name, text in FABRICS.items() if name == "one" or ranks >= 4}


@dataclass(frozen=True, eq=False)
class Side:
    """One of the two runs, with its states and what each node sent and received so far."""

    name: str
    run: Execution
    states: tuple[dict[tuple[int, int], Counter[int]], ...]

    @cached_property
    def tree(self) -> SwitchTree:
        """The switches above the ranks."""
        return SwitchTree(self.run.topology)

    @property
    def steps(self) -> int:
        """How many it takes."""
        return self.run.schedule.num_steps

    def moved(self, t: int) -> tuple[list[Fraction], list[Fraction]]:
        """What each node sent and received in the first t steps, as shares of M."""
        schedule = self.run.schedule
        share, out, into = schedule.blocks.share, [0] * schedule.nodes, [0] * schedule.nodes
        for k in range(t):
            step = schedule.step(k)
            for src, dst, block in zip(step.src.tolist(), step.dst.tolist(), step.block.tolist(), strict=True):
                out[src] += int(share.numerators[block])
                into[dst] += int(share.numerators[block])
        return [Fraction(n, share.denominator) for n in out], [Fraction(n, share.denominator) for n in into]

    def paid(self, t: int) -> Cost:
        """The cost of the first t steps."""
        return self.run.cost_of(range(t))


def through(collective: str, ranks: int, where: str, segments: int) -> Side:
    """The collective through the switches."""
    place = fabric(where, ranks)
    return _side("In the network", COLLECTIVES[collective][1](place, segments=segments), place)


def around(collective: str, ranks: int, segments: int) -> Side:
    """The software's run, on a star whose switch only forwards, in as many segments."""
    _, _, name, build = COLLECTIVES[collective]
    return _side(name, pipelined(build(ranks), segments), star(ranks))


def _side(name: str, schedule: Schedule, where: Topology) -> Side:
    return Side(name, execute(schedule, where), tuple(trace(schedule)))


def inc_player(collective: str = "one-shot", ranks: int = 8, step: int = 1) -> Explorer:
    """A collective through switches and a software tree side by side: what moves, who holds what, what it has cost.

    Args:
        collective: which is shown first.
        ranks: N at first.
        step: steps done at first.

    >>> inc_player()
    Explorer: Through the switch, step by step (Collective, Ranks N, Fabric, Segments P, Steps done)
    """

    @cache
    def inc(c: str, n: int, f: str, p: int) -> Side:
        return through(c, n, f, p)

    @cache
    def soft(c: str, n: int, p: int) -> Side:
        return around(c, n, p)

    def both(s: State) -> tuple[Side, Side, int]:
        return inc(s["collective"], s["n"], s["fabric"], s["p"]), soft(s["collective"], s["n"], s["p"]), s["step"]

    def steps(s: State) -> dict[int, str]:
        last = max(side.steps for side in both({**s, "step": 0})[:2])
        return {t: f"{t} of {last}" for t in range(last + 1)}

    return Explorer(
        "Through the switch, step by step",
        [
            Control("collective", "Collective", {k: v[0] for k, v in COLLECTIVES.items()}, collective, "select"),
            Control("n", "Ranks N", RANKS, ranks),
            Control("fabric", "Fabric", lambda s: fabrics(s["n"]), "one", "select", depends_on=("n",)),
            Control("p", "Segments P", SEGMENTS, 1),
            Control("step", "Steps done", steps, step),
        ],
        [
            Part(_ALL, lambda s: _network(*both(s)), "In the network"),
            Part(_ALL, lambda s: _software(*both(s)), "In software"),
            Part((), lambda s: _READING),
        ],
        summary=Part(_ALL, lambda s: told(*both(s))),
        play="step",
    )


_ALL = ("collective", "n", "fabric", "p", "step")
_READING = (
    "<p><b>Reading it</b> Circles are ranks, squares switches. Solid arrows add, dashed ones copy. <b>Σ</b> is a "
    "complete sum, 0–3 the sum of what these ranks contributed, × 2 says of how many blocks. One alpha is 3/5 endpoint "
    "and 2/5 switch here; a step lasts as long as the slower of the two, and then its busiest link.</p>"
)


def _network(inc: Side, _: Side, step: int) -> str:
    return _inside(inc, min(step, inc.steps))


def _software(_: Side, soft: Side, step: int) -> str:
    return _outside(soft, min(step, soft.steps))


# one side waits at its end while the other goes on, and the same software runs beside every fabric
@cache
def _inside(side: Side, t: int) -> str:
    return f'<div class="cl-beside">{_tree(side, t)}{_holdings(side, t)}</div>{_costs(side, t)}'


@cache
def _outside(side: Side, t: int) -> str:
    picture = _circle(Play(side.name, side.run, side.states), t)
    return f'<div class="cl-beside">{picture}{_holdings(side, t)}</div>{_costs(side, t)}'


def _places(side: Side) -> list[tuple[float, float]]:
    """Ranks in a row, every switch above the middle of what hangs below it."""
    tree = side.tree
    n = tree.ranks
    wide = 36.0
    found = [(wide * (r + 0.5), 150.0 if tree.height == 1 else 190.0) for r in range(n)]
    for switch in range(n, tree.nodes):
        below = [found[r][0] for r in range(n) if tree.below[switch, r]]
        height = int(tree.level[switch])
        found.append((sum(below) / len(below), found[0][1] - height * (110.0 if tree.height == 1 else 85.0)))
    return found


_DOCK = 0.6  # how far from the middle of a switch its cables end, as a share of how far off they start


def _dock(place: list[tuple[float, float]], below: int, above: int) -> float:
    """Where the cable from a node meets the switch above it."""
    return place[above][0] + _DOCK * (place[below][0] - place[above][0])


def _widths(side: Side, place: list[tuple[float, float]]) -> dict[int, float]:
    """Half the width of every switch: enough for its cables."""
    found = dict.fromkeys(range(side.tree.ranks, side.tree.nodes), 14.0)
    for below, above in enumerate(side.tree.parent.tolist()):
        if above >= 0:
            found[above] = max(found[above], abs(_dock(place, below, above) - place[above][0]) + 10)
    return found


def _ends(place: list[tuple[float, float]], src: int, dst: int) -> tuple[tuple[float, float], tuple[float, float]]:
    """Both ends of an arrow along the cable between a node and the switch above it."""
    below, above = (src, dst) if place[src][1] > place[dst][1] else (dst, src)
    ends = {below: place[below], above: (_dock(place, below, above), place[above][1])}
    return ends[src], ends[dst]


def _tree(side: Side, t: int) -> str:
    schedule = side.run.schedule
    place, n = _places(side), schedule.ranks
    step = schedule.step(t - 1) if t else None
    parent = side.tree.parent
    lines = "".join(
        f'<path d="M{place[a][0]:.0f} {place[a][1]:.0f}L{_dock(place, a, b):.0f} {place[b][1]:.0f}" '
        'style="stroke:var(--cl-edge);stroke-width:1"/>'
        for a, b in enumerate(parent.tolist())
        if b >= 0
    )
    arrows = "".join(_arrow(*_ends(place, a, b), add, BEND) for a, b, add in sorted(_bundles(step))) if step else ""
    wide = _widths(side, place)
    nodes = "".join(
        f'<circle cx="{x:.0f}" cy="{y:.0f}" r="13"/><text x="{x:.0f}" y="{y + 5:.0f}">{k}</text>'
        if k < n
        else f'<rect x="{x - wide[k]:.0f}" y="{y - 13:.0f}" width="{2 * wide[k]:.0f}" height="26" rx="3" '
        'style="fill:var(--cl-soft);stroke:var(--cl-fg);stroke-width:1.5"/>'
        f'<text x="{x:.0f}" y="{y + 5:.0f}">S{k - n}</text>'
        for k, (x, y) in enumerate(place)
    )
    width, height = max(36 * n, 120), place[0][1] + 18
    alt = escape(_said(side, t))
    style = f"width:{width / 15:.1f}em"
    view = f"{min(0, 18 * n - 60)} 0 {width} {height:.0f}"
    head = f'<svg class="cl-circle" style="{style}" viewBox="{view}" role="img" aria-label="{alt}">'
    return f"{head}{lines}{arrows}{nodes}</svg>"


def holds(side: Side, node: int, t: int) -> str:
    """What a node has after t steps, in words as short as a table cell."""
    schedule, state = side.run.schedule, side.states[t]
    blocks = schedule.blocks
    mine = [block for block in range(len(blocks)) if (node, block) in state]
    if not mine:
        return "·"
    if has_pairs(schedule) or (blocks.source < blocks.ranks).all():
        return f"{len(mine)} of {len(blocks)}"
    found: Counter[str] = Counter()
    for block in mine:
        value = state[node, block]
        whole = len(value) == len(blocks.holders(int(blocks.source[block])))
        found["Σ" if whole else _runs(sorted(value.elements()))] += 1
    return ", ".join(f"{what} × {count}" if count > 1 else what for what, count in found.items())


def _holdings(side: Side, t: int) -> str:
    schedule = side.run.schedule
    out, into = side.moved(t)
    rows = []
    for node in (*range(schedule.ranks, schedule.nodes), *range(schedule.ranks)):
        name = str(node) if node < schedule.ranks else f"S{node - schedule.ranks}"
        traffic = f'<td class="s">{out[node]}</td><td class="s">{into[node]}</td>'
        if node >= schedule.ranks:
            traffic = '<td class="s"></td><td class="s"></td>'
        rows.append(f'<tr><th scope="row">{name}</th><td>{holds(side, node, t)}</td>{traffic}</tr>')
    return (
        f'<table class="colllib-table cl-trace"><caption>{side.name}</caption><thead><tr><th scope="col">node</th>'
        '<th scope="col">blocks</th><th scope="col">up, M</th><th scope="col">down, M</th></tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table>"
    )


def parts(side: Side, t: int) -> tuple[int, int]:
    """Of the steps so far, how many waited for an endpoint, and how many for a switch alone."""
    schedule = side.run.schedule
    starts = sum(bool((schedule.step(k).src < schedule.ranks).any()) for k in range(t))
    return starts, t - starts


def _costs(side: Side, t: int) -> str:
    paid = side.paid(t)
    cost = side.run.cost
    made = ""
    if side.run.schedule.switches:
        starts, switches = parts(side, t)
        made = f" ({starts} × {PARTS.endpoint} for endpoints, {switches} × {PARTS.switch} for switches)"
    return (
        f"<p><b>{side.name}</b> after {t} of {side.steps} steps: n_alpha = {paid.n_alpha} of {cost.n_alpha}{made}, "
        f"n_beta = {paid.n_beta} of {cost.n_beta}.</p>"
    )


def done(side: Side, t: int) -> tuple[int, int]:
    """Places that have their final value after t steps, and places that need one."""
    blocks = side.run.schedule.blocks
    ready = wanted = 0
    for block in range(len(blocks)):
        need = len(blocks.holders(int(blocks.source[block])))
        for rank in blocks.holders(int(blocks.target[block])):
            wanted += 1
            ready += len(side.states[t].get((int(rank), block), ())) == need
    return ready, wanted


@cache
def _said(side: Side, t: int) -> str:
    ready, wanted = done(side, t)
    return f"{side.name}: {t} of {side.steps} steps done, {ready} of {wanted} places have their final value"


def told(inc: Side, soft: Side, step: int) -> str:
    """Both runs after so many steps, in words."""
    said = []
    for side in (inc, soft):
        t = min(step, side.steps)
        paid = side.paid(t)
        said.append(f"{_said(side, t)}, n_alpha {paid.n_alpha}, n_beta {paid.n_beta}")
    return f"{'. '.join(said)}."

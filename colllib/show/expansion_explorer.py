"""Expansions, step by step: a small graph, the larger one that it becomes, and a shard's route through both."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property

from colllib.algorithms import breadth_first, expansion
from colllib.execution import Execution, execute
from colllib.graphs.links import arcs
from colllib.graphs.measures import degree
from colllib.optimality import at_node
from colllib.schedule import Schedule
from colllib.show.control import Control, Part, counted
from colllib.show.drawings.graphs import LOADS, STATES, Spread, around, in_rows, radius_of
from colllib.show.explorer import Explorer
from colllib.show.pen import Pen, both_widths, legend_of
from colllib.show.table import Table
from colllib.show.theme import letter
from colllib.topology import Topology
from colllib.topology.expression import find

PANEL = 230.0  # for the base; the larger graph takes the rest
ROOM = 304.0

#: What the explorer offers: how a graph is expanded -> what the reader sees.
KINDS = {"line-graph": "line graph", "degree": "two-copy degree expansion", "power": "Cartesian square"}
BASES = {
    "complete-bipartite:2x2": "complete bipartite 2 + 2",
    "full-mesh:3": "complete graph of 3",
    "full-mesh:4": "complete graph of 4",
    "uniring:1x4": "one-way ring of 4",
    "debruijn:2x2": "de Bruijn graph of 4",
    "diamond": "diamond",
}
FITS = {
    "line-graph": ("complete-bipartite:2x2", "full-mesh:3", "full-mesh:4", "debruijn:2x2", "diamond"),
    "degree": ("complete-bipartite:2x2", "full-mesh:3", "full-mesh:4", "uniring:1x4"),
    "power": ("complete-bipartite:2x2", "full-mesh:3", "full-mesh:4", "uniring:1x4"),
}


@dataclass(frozen=True)
class Expanded:
    """A base, by its name, with its breadth-first all-gather, and both expanded as `KINDS` names it.

    >>> square = Expanded("line-graph", "complete-bipartite:2x2")
    >>> square.graph, square.names[:3], str(square.cost), str(square.theorem)
    ('line-graph(complete-bipartite:2x2)', ('ac', 'ad', 'bc'), '1', '1')
    >>> [str(Expanded(kind, "full-mesh:4").theorem) for kind in KINDS]
    ['1', '7/8', '15/16']
    """

    kind: str
    base: str

    @cached_property
    def small(self) -> Topology:
        """The base."""
        return find(self.base)

    @cached_property
    def before(self) -> Schedule:
        """The all-gather of the base."""
        return breadth_first.all_gather(self.small)

    @cached_property
    def links(self) -> list[tuple[int, int]]:
        """Those of the base, which are the ranks of its line graph."""
        return list(zip(*(end.tolist() for end in arcs(self.small)), strict=True))

    @property
    def graph(self) -> str:
        """The expression of the larger graph."""
        return f"{self.kind}({self.base})" if self.kind == "line-graph" else f"{self.kind}({self.base},2)"

    @cached_property
    def run(self) -> Execution:
        """The expanded schedule, executed on the expanded graph."""
        if self.kind == "line-graph":
            schedule = expansion.line_graph(self.before, self.small)
        elif self.kind == "degree":
            schedule = expansion.degree_expansion(self.before, self.small, 2)
        else:
            schedule = expansion.cartesian_product(self.before, self.before)
        return execute(schedule, find(self.graph))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Of the larger graph's ranks, in letters of the base's: a link, a copy with its number, or a pair."""
        ranks = self.small.ranks
        if self.kind == "line-graph":
            return tuple(letter(a) + letter(b) for a, b in self.links)
        if self.kind == "degree":
            return tuple(f"{letter(rank % ranks)}{rank // ranks + 1}" for rank in range(2 * ranks))
        return tuple(letter(rank % ranks) + letter(rank // ranks) for rank in range(ranks**2))

    def traced(self, rank: int, step: int) -> tuple[int, int]:
        """Which rank of the base broadcasts when the larger graph does a step for a rank, and its step; -1 for none."""
        ranks, steps = self.small.ranks, self.before.num_steps
        if self.kind == "line-graph":
            return self.links[rank][1], step - 1
        if self.kind == "degree":
            return rank % ranks, step if step <= steps else -1
        return (rank % ranks, step) if step <= steps else (rank // ranks, step - steps)

    @property
    def small_cost(self) -> Fraction:
        """n_beta of the base in units of M/B."""
        return node_beta(execute(self.before, self.small))

    @property
    def cost(self) -> Fraction:
        """n_beta as executed, in units of M/B."""
        return node_beta(self.run)

    @property
    def theorem(self) -> Fraction:
        """n_beta as the theorem has it, in units of M/B; that of a line graph is an upper bound.

        Source: Zhao's dissertation (2026), section A.4.
        """
        cost, ranks = self.small_cost, self.small.ranks
        if self.kind == "power":
            return cost * Fraction(ranks, ranks - 1) * (1 - Fraction(1, ranks**2))
        return cost + Fraction(1, ranks if self.kind == "line-graph" else 2 * ranks)


def node_beta(run: Execution) -> Fraction:
    """What an all-gather takes in M/B, where B is all that a rank sends.

    >>> from colllib.topology import ring
    >>> node_beta(execute(breadth_first.all_gather(ring(4)), ring(4)))
    Fraction(3, 4)
    """
    return at_node("all-gather", run.topology, run.cost).n_beta


_expanded = cache(Expanded)
_spread = cache(Spread)


def expansion_explorer() -> Explorer:
    """A link, a copy or a pair becomes a rank, and its shard takes the routes of the base.

    >>> expansion_explorer()
    Explorer: A graph becomes a larger one (Expansion, Base, Follow, Steps done)
    """
    return Explorer(
        "A graph becomes a larger one",
        [
            Control("kind", "Expansion", KINDS, "line-graph", "select"),
            Control("base", "Base", lambda kind: {name: BASES[name] for name in FITS[kind]}, kind="select"),
            Control("rank", "Follow", _followed, 0, "select"),
            Control("step", "Steps done", lambda kind, base: counted(_expanded(kind, base).run.schedule.num_steps), 2),
        ],
        [Part(_picture, "The base and what it becomes"), Part(_costs, "What it costs")],
        _summary,
        "step",
        "expansion",
    )


def _followed(kind: str, base: str) -> dict[int, str]:
    what = {"line-graph": "link", "degree": "copy", "power": "pair"}[kind]
    return {rank: f"{what} {name}" for rank, name in enumerate(_expanded(kind, base).names)}


def _picture(kind: str, base: str, rank: int, step: int) -> str:
    expanded = _expanded(kind, base)
    spread = _spread(expanded.run.schedule, rank)
    owner, base_step = expanded.traced(rank, step)
    small = _spread(expanded.before, owner)
    radius = min(radius_of(expanded.small), PANEL / 2 - 20)
    names = [letter(k) for k in range(expanded.small.ranks)]
    # the first step of a line graph goes from a link to those that follow it: in the base, over the link itself
    loads = small.carried[base_step - 1] if base_step > 0 else {}
    if kind == "line-graph" and base_step <= 0:
        loads = {expanded.links[rank]: Fraction(1)}
    picks = {k: f"rank={k}" for k in range(len(expanded.names))}
    edges = {link: picks[k] for k, link in enumerate(expanded.links)} if kind == "line-graph" else None

    def draw(pen: Pen) -> None:
        pen.text(0, -radius - 32, f"base: {BASES[base]}", "q")
        look = {owner: ("i", -1)} | {k: ("i", 0) for k in small.holders(max(base_step, 0)) if k != owner}
        around(pen, expanded.small, (0, 0), radius, loads=loads, look=look, names=names, picks=edges)
        left, top = (PANEL / 2 + 30, -radius) if pen.wide else (-ROOM / 2, radius + 62)
        pen.text(left + ROOM / 2, top - 32, f"{KINDS[kind]}: the shard of {expanded.names[rank]}", "q")
        in_rows(pen, spread, step, (left, top - 12), ROOM - 26, names=expanded.names, picks=picks)

    legend = [(f"arrow {color}", words) for color, words in LOADS.items()]
    legend += [(f"disk i h{color}", words) for (_, color), words in STATES.items()]
    return f'<div class="cl-scene">{both_widths(draw)}</div>{legend_of(legend)}'


def _costs(kind: str, base: str) -> Table:
    expanded = _expanded(kind, base)
    large, small = expanded.run.topology, expanded.small
    anew = execute(breadth_first.all_gather(large), large)
    rows = [
        ("base", small.ranks, degree(small), expanded.before.num_steps, expanded.small_cost),
        ("expanded", large.ranks, degree(large), expanded.run.schedule.num_steps, expanded.cost),
        ("theorem", "", "", "", expanded.theorem),
        ("made anew", large.ranks, degree(large), anew.schedule.num_steps, node_beta(anew)),
        ("least", "", "", "", Fraction(large.ranks - 1, large.ranks)),
    ]
    return Table(["all-gather", "N", "d", "steps", "bytes, M/B"], rows, align=("left", *["right"] * 4))


def _summary(kind: str, base: str, rank: int, step: int) -> str:
    expanded = _expanded(kind, base)
    spread = _spread(expanded.run.schedule, rank)
    holders = spread.holders(step)
    partly = {dst for loads in spread.carried[:step] for _, dst in loads}.difference(holders)
    verb, rest = "has" if len(holders) == 1 else "have", f", {len(partly)} a part of it (white)" if partly else ""
    return (
        f"{KINDS[kind].capitalize()} of {BASES[base]}: after {step} of {expanded.run.schedule.num_steps} steps "
        f"{len(holders)} of {expanded.run.topology.ranks} ranks {verb} the shard of {expanded.names[rank]}{rest}."
    )

"""The graph player: a breadth-first all-gather on a small graph, what its links carry and where one shard has got."""

from fractions import Fraction
from functools import cache
from itertools import groupby
from operator import itemgetter

from colllib.algorithms import breadth_first
from colllib.execution import Execution, execute
from colllib.graphs.measures import degree, moore_diameter
from colllib.optimality import at_node
from colllib.show.control import Control, Part, counted
from colllib.show.drawings.graphs import Link, Spread, around, in_rows, radius_of, reached
from colllib.show.explorer import Explorer
from colllib.show.pen import Pen, both_widths, legend_of
from colllib.show.theme import escape, listed
from colllib.topology.expression import find
from colllib.units import several

PANEL = 304.0  # each of two panels, which are below one another on a phone
#: Expressions and what the reader sees of them; d and N stand behind.
GRAPHS = {
    "circulant:16x3x4": "circulant, jumps 3 and 4",
    "complete-bipartite:4x4": "complete bipartite 4 + 4",
    "kautz:4x16": "generalized Kautz",
    "kautz:2x12": "Kautz",
    "debruijn:2x4": "de Bruijn",
    "modified-debruijn:2x4": "de Bruijn, modified",
    "diamond": "diamond",
    "hypercube:3": "cube",
    "hypercube:4": "4-cube",
    "twisted-hypercube:4": "twisted 4-cube",
    "hamming:2x3": "Hamming 3 × 3",
    "distance-regular:14": "distance-regular",
    "torus:4x4": "torus 4 × 4",
    "torus:5x3": "torus 5 × 3",
    "shifted-ring:16x5": "two shifted rings",
    "biring:4x9": "ring of double links",
    "uniring:2x8": "one-way ring of double links",
    "full-mesh:5": "complete",
    "line-graph(complete-bipartite:2x2)": "line graph of 2 + 2",
    "degree(uniring:1x4,2)": "ring of 4, doubled",
}


@cache
def gathered(expression: str) -> Execution:
    """A breadth-first all-gather, executed on a graph.

    >>> run = gathered("kautz:2x12")
    >>> max(link_loads(run, 3).values()), sentence(run, 3)
    (Fraction(4, 1), 'the busiest of 24 links carries 4 shards, and all of them work')
    """
    topology = find(expression)
    return execute(breadth_first.all_gather(topology), topology)


def link_loads(run: Execution, step: int) -> dict[Link, Fraction]:
    """What each link carries in a step, in shards for each of its cables."""
    if not step:
        return {}
    topology = run.topology
    ends = zip(topology.link_src.tolist(), topology.link_dst.tolist(), strict=True)
    loads = zip(ends, run.link_load(step - 1), topology.bandwidth, strict=True)
    return {link: share * topology.ranks / width for link, share, width in loads if share}


def sentence(run: Execution, step: int) -> str:
    """The links of a step in words."""
    loads, links = link_loads(run, step), run.topology.num_links
    idle, most = links - len(loads), max(loads.values())
    rest = {0: "all of them work", 1: "one of them carries nothing"}.get(idle, f"{idle} of them carry nothing")
    if len(set(loads.values())) == 1 and not idle:
        return f"every one of {links} links carries {shards(most)}"
    return f"the busiest of {links} links carries {shards(most)}, and {rest}"


def shards(amount: Fraction) -> str:
    """A number of shards in words.

    >>> shards(Fraction(7, 4)), shards(Fraction(1, 2)), shards(Fraction(1))
    ('7/4 shards', '1/2 shard', '1 shard')
    """
    return f"{amount} shard{'s' * (amount > 1)}"


@cache
def _spread(expression: str, owner: int) -> Spread:
    return Spread(gathered(expression).schedule, owner)


def graph_player() -> Explorer:
    """Breadth-first all-gathers on graphs of up to 16 ranks, step by step.

    >>> graph_player()
    Explorer: All-gather on a graph, step by step (Graph, Follow the shard of rank, Steps done)
    """
    graphs = {name: gathered(name).topology for name in GRAPHS}
    texts = {name: f"{text}: N = {graphs[name].ranks}, d = {degree(graphs[name])}" for name, text in GRAPHS.items()}
    return Explorer(
        "All-gather on a graph, step by step",
        [
            Control("graph", "Graph", texts, "kautz:4x16", "select"),
            Control("owner", "Follow the shard of rank", _owners, 0),
            Control("step", "Steps done", lambda graph: counted(gathered(graph).schedule.num_steps), 1),
        ],
        [Part(_picture, "All links, and one shard"), Part(_costs, "Costs so far")],
        _summary,
        "step",
        "graph-player",
    )


LEGEND = [("disk i", "its owner"), ("disk i h1", "it has just arrived"), ("disk i h0", "it arrived before")]
LEGEND += [("disk", "it has not arrived"), ("arrow h1", "carries it now")]
LEGEND += [("arrow h0", "a smaller part"), ("line e", "other links")]


def _owners(graph: str) -> list[int]:
    ranks = gathered(graph).topology.ranks
    return sorted({0, 1, ranks // 2, ranks - 1})


def _picture(graph: str, owner: int, step: int) -> str:
    run = gathered(graph)
    spread = _spread(graph, owner)
    radius = radius_of(run.topology)
    loads = spread.carried[step - 1] if step else {}

    def draw(pen: Pen) -> None:
        pen.text(0, -radius - 32, f"in step {step}, among all links" if step else "all links", "q")
        look = reached(spread, step)
        around(pen, run.topology, (0, 0), radius, loads=loads, look=look)
        left, top = (PANEL / 2 + 14, -radius) if pen.wide else (-PANEL / 2, radius + 62)
        pen.text(left + PANEL / 2, top - 32, f"the shard of rank {spread.owner}", "q")
        in_rows(pen, spread, step, (left, top - 12), PANEL - 26)

    alt = escape(_described(graph, owner, step))
    return f'<div class="cl-scene" role="img" aria-label="{alt}">{both_widths(draw)}</div>{legend_of(LEGEND)}'


def _described(graph: str, owner: int, step: int) -> str:
    """The picture in words: where each rank's links lead, and who has the shard since when."""
    topology, when = gathered(graph).topology, _spread(graph, owner).complete
    links = sorted(set(zip(topology.link_src.tolist(), topology.link_dst.tolist(), strict=True)))
    leads = "; ".join(f"{a} to {listed(b for _, b in ends)}" for a, ends in groupby(links, itemgetter(0)))
    before = [rank for rank, t in enumerate(when) if t < max(step, 1)]
    fresh = [rank for rank, t in enumerate(when) if t == step > 0]
    arrived = f"; it has just arrived at {listed(fresh)}" if fresh else ""
    return f"Links lead from {leads}. The shard of rank {owner} is at {listed(before)}{arrived}."


def _costs(graph: str, step: int) -> str:
    run = gathered(graph)
    ports, ranks = degree(run.topology), run.topology.ranks
    cost = at_node("all-gather", run.topology, run.cost)
    paid = run.cost_of(range(step)).n_beta
    least = moore_diameter(ranks, ports)
    steps = f"as few as {ranks} ranks of degree {ports} can need" if cost.latency else f"{least} might do"
    load = "all links busy throughout" if cost.bandwidth else f"at least {Fraction(ranks - 1, ranks)} must arrive"
    now = f"In step {step} {sentence(run, step)}. " if step else ""
    return (
        f"<p>{now}So far the bytes have taken <b>{ports * Fraction(paid)}</b> of <b>{cost.n_beta}</b> "
        f"<i>M</i>/<i>B</i>, <i>B</i> being what the {ports} links of a rank carry together.</p>"
        f"<p>Whole: <b>{several(run.schedule.num_steps, 'step')}</b> ({steps}), "
        f"<b>{cost.n_beta}</b> <i>M</i>/<i>B</i> ({load}).</p>"
    )


def _summary(graph: str, owner: int, step: int) -> str:
    run = gathered(graph)
    holders = len(_spread(graph, owner).holders(step))
    now = f"in step {step} {sentence(run, step)}" if step else "nothing has moved yet"
    verb = "has" if holders == 1 else "have"
    return f"{GRAPHS[graph]}: {now}; {holders} of {run.topology.ranks} ranks {verb} the shard of rank {owner}."

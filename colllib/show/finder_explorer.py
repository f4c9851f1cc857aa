"""The topology finder's explorer: N and the degree give a frontier, alpha and M say where on it to stand."""

from functools import cache
from string import ascii_uppercase

from colllib.cost import Cost
from colllib.graphs.finder import Found, pareto
from colllib.graphs.measures import moore_diameter
from colllib.show.control import Control, Part, Quantity
from colllib.show.cost_explorer import alpha, message
from colllib.show.explorer import Explorer
from colllib.show.figure import Chart
from colllib.show.lines import Mark, lines
from colllib.show.looks import looks
from colllib.show.race import Race, Row, only
from colllib.show.theme import escape
from colllib.show.views import Curves, Rows
from colllib.units import several

RANKS = (8, 12, 16, 20, 32, 64, 100, 101, 128, 256, 512, 1000, 1024)
DEGREES = (2, 4)


@cache
def named(ranks: int, degree: int) -> dict[str, Found]:
    """The rows of a frontier under short names, such as "A (3 steps)"."""
    rows = pareto(ranks, degree)
    return {f"{ascii_uppercase[k]} ({several(row.n_alpha, 'step')})": row for k, row in enumerate(rows)}


def frontier(n: int, d: int) -> Chart:
    """Steps against the bandwidth term in M/B on n ranks of d links, with a letter for every row."""
    rows = named(n, d)
    steps = [row.n_alpha for row in rows.values()]
    bandwidth = [float(row.n_beta_node) for row in rows.values()]
    dots = zip(rows, steps, bandwidth, looks(list(rows)), strict=True)
    marks = [Mark(x, name[0], y, look) for name, x, y, look in dots]
    y_label = "n_beta per rank, M/B"
    return lines(
        {y_label: (steps, bandwidth)},
        x_label="steps n_alpha",
        y_label=y_label,
        y_from_zero=False,
        scattered=[y_label],
        marks=marks,
        title="No graph below beats another in both",
    )


def provenance(row: Found) -> str:
    """A row with what it is made of, as nested lists, each with its own cost.

    >>> provenance(pareto(5, 4)[0])
    '<li>complete graph: N = 5, 1 step, 4/5 M/B</li>'
    """
    inner = "".join(map(provenance, row.parents))
    text = f"{row.made}: N = {row.ranks}, {several(row.n_alpha, 'step')}, {row.n_beta_node} M/B"
    return f"<li>{escape(text)}{f'<ul>{inner}</ul>' if inner else ''}</li>"


def finder_explorer() -> Explorer:
    """N and d against the frontier of graphs, their provenance, and who wins at which alpha, M and B.

    B is the bandwidth of all d links of a rank together.

    >>> finder_explorer()
    Explorer: Which graph? (Ranks N, Links of a rank d, Message M, Latency α, Bandwidth B of a rank's d links)
    """
    race = Race(_rows)
    heads = "choice = name | graph | n_alpha | n_beta per rank = n_beta | time | of fastest"
    return Explorer(
        "Which graph?",
        [
            Control("n", "Ranks N", RANKS, 1024, kind="number"),
            Control("d", "Links of a rank d", DEGREES, 4),
            message(1e6),
            alpha(10e-6),
            Quantity("bw", "Bandwidth B of a rank's d links", "bandwidth", 1e9, 1e13, 12.5e9),
        ],
        [
            Part(frontier, "Frontier"),
            Curves(race),
            Rows(race, "Graphs", "The graphs in numbers", heads),
            Part(_trees, fold="What each is made of"),
        ],
        summary="{n} ranks with {d} links each, all-gather of {m}: {fastest} with {time}{next}.",
        name="finder",
    )


def _rows(n: int, d: int) -> list[Row]:
    graphs = named(n, d).items()
    bound = Cost(moore_diameter(n, d), pareto(n, d)[-1].n_beta_node)
    rows = [Row(name, only(Cost(row.n_alpha, row.n_beta_node)), more={"graph": row.words}) for name, row in graphs]
    return [*rows, Row("lower bounds", only(bound), bound=True)]


def _trees(n: int, d: int) -> str:
    rows = named(n, d).items()
    return "".join(f"<p><b>{name}</b></p><ul>{provenance(row)}</ul>" for name, row in rows)

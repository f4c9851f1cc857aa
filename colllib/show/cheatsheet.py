"""The cheatsheet: what the library knows of costs in formulas, as the tables of a page."""

from collections.abc import Iterable, Sequence

from colllib import ladder, units
from colllib.algorithms import find
from colllib.algorithms.hierarchical import TWO_TIERS
from colllib.bounds import ON_TORUS, ONE_PORT
from colllib.cost import BEST_SEGMENTS_SQUARED, CROSSOVER, Terms
from colllib.ladder import Entry, Rung
from colllib.show.ladder_explorer import fabric_name
from colllib.show.views import in_prose
from colllib.two_tiers import CLUSTERS, cluster, price, rungs

#: The kinds of topology, each with the one whose times are shown.
ANCHORS = {
    "star": "star:512",
    "inc-star": "inc-star:512",
    "torus": "torus:8x8x8",
    "mesh": "mesh:8x8x8",
    "full-mesh": "full-mesh:512",
}
_PRICE: Terms = {"message": ladder.ANCHOR_MESSAGE, "alpha": ladder.ANCHOR_ALPHA, "bandwidth": ladder.ANCHOR_BANDWIDTH}
#: A primitive, with the one whose schedules are its own backwards.
_BACKWARDS = {
    "broadcast": "broadcast, reduce",
    "all-gather": "all-gather, reduce-scatter",
    "all-reduce": "all-reduce",
    "all-to-all": "all-to-all",
}

#: The section that draws an algorithm which the glossary lacks.
_DRAWN = {
    **dict.fromkeys(("all links", "dim-chain"), "torus.ipynb#broadcast-a-tree-for-each-link-of-the-root"),
    "dim-shortest-way": "torus.ipynb#why-it-cant-be-better-and-why-dim-ring-is-not-the-best",
    **dict.fromkeys(
        ("Rabenseifner by axes", "swing", "rotated swing"), "torus.ipynb#halving-on-wires-saves-no-latency-swing-some"
    ),
    "relay in slices": "all-to-all-on-wires.ipynb#the-order-decides-whether-links-idle",
    "rooted breadth-first": "graphs-for-collectives.ipynb#three-ways-to-all-reduce-and-what-fewer-steps-cost",
}
#: What the page writes as a letter, so that tables are not wider than its column.
_LETTERS = {r"\lceil\log_2 N\rceil": "q", r"\sum_i \lfloor d_i/2\rfloor": "D"}


def in_letters(tex: str) -> str:
    r"""Formulas as the page prints them.

    >>> in_letters(r"$2\,\lceil\log_2 N\rceil$"), in_letters("$N = 2^m$")
    ('$2q$', '$N = 2^q$')
    """
    for long, letter in _LETTERS.items():
        tex = tex.replace(rf"\,{long}", letter).replace(long, letter)
    return tex.replace(r"\frac", r"\dfrac").replace("N = 2^m", "N = 2^q")


def closed_forms(kind: str) -> str:
    """The algorithms on a kind of topology as a Markdown table, fastest at the anchor first.

    Args:
        kind: a key of `ANCHORS`.

    >>> print(closed_forms("full-mesh").splitlines()[-1])
    | all-to-all | direct | $1$ | $\\dfrac{1}{N}$ | any | 535\u00a0ns |
    """
    spec = ANCHORS[kind]
    rows = []
    # a switch adds on the way up and replicates on the way down: the one is not the other backwards
    both = {name: name for name in ladder.PRIMITIVES} if kind == "inc-star" else _BACKWARDS
    for primitive, named in both.items():
        for place, priced in enumerate(_at_anchor(primitive, spec)):
            rows.append(["" if place else named, *_cells(*priced)])
    headers = ["primitive", "algorithm", r"latencies $n_\alpha$", r"bytes $n_\beta$", "for", fabric_name(spec)]
    return _table(headers, rows)


def _table(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = (f"| {' | '.join(row)} |" for row in (headers, ["---"] * len(headers), *rows))
    return "\n".join(in_letters(line.replace("|  |", "| |")) for line in lines)


def _time(seconds: float) -> str:
    return units.seconds(seconds, 3).replace(" ", "\u00a0")


def _at_anchor(primitive: str, spec: str) -> list[tuple[Entry, Rung]]:
    """What runs on a topology, with its price at the anchor, fastest first."""
    entries = ladder.entries(primitive, spec, trusting=True)
    if spec.startswith("inc-"):  # what only passes through the switch stands on the star's table
        entries = tuple(entry for entry in entries if entry.algorithm.takes == "topology")
    usual = (entry.in_radix(2) if entry.radices else entry for entry in entries)  # the radix of the formulas
    priced = [(entry, one.priced(**_PRICE)) for entry, one in zip(entries, usual, strict=True)]
    return sorted(priced, key=lambda pair: (pair[1].seconds, pair[0].algorithm.label))


def _cells(entry: Entry, rung: Rung) -> list[str]:
    """The algorithm, its latencies and bytes, where that holds, and the time at the anchor."""
    form = entry.algorithm.form(entry.topology, rung.segments)
    time = _time(rung.seconds) + (f" $P={rung.segments}$" if rung.segments > 1 else "")
    name = entry.algorithm.label
    name = f"[{name}](../notebooks/{_DRAWN[name]})" if name in _DRAWN else name
    if (entry.algorithm.primitive, name) == ("all-gather", "recursive doubling"):
        name += ", halving"
    if form is None:
        return [name, f"({rung.cost.n_alpha})", f"({float(rung.cost.n_beta):.4g})", "–", time]
    n_beta = form.n_beta.tex.replace(r"d_{\max}", "d") if "equal" in form.holds.text else form.n_beta.tex
    return [name, f"${form.n_alpha.tex}$", f"${n_beta}$", form.holds.text, time]


def bounds_table() -> str:
    r"""The lower bounds as a Markdown table.

    >>> print(bounds_table().splitlines()[2])
    | broadcast | $q$ | $1$ | $D$ | $\dfrac{1}{2k}$ |
    """
    headers = ["primitive", *(f"{network}: $n_\\{n}$" for network in ("one port", "torus") for n in ("alpha", "beta"))]
    rows = []
    for primitive in ladder.PRIMITIVES:
        bounds = ONE_PORT[primitive], ON_TORUS[primitive]
        rows.append([primitive, *(f"${part.tex}$" for bound in bounds for part in (bound.n_alpha, bound.n_beta))])
    return _table(headers, rows)


def two_tiers() -> str:
    r"""Hierarchical schedules over B boxes of G ranks as a Markdown table, with their times on a cluster of 512.

    >>> print(two_tiers().splitlines()[5][:63])
    | all-reduce | ring | $2(G-1)$ | $2(B-1)$ | $\dfrac{2(G-1)}{G}$
    """
    name = next(iter(CLUSTERS))
    rows = []
    for form in TWO_TIERS:
        algorithm = find(form.primitive, "hierarchical").configured({"tiers": form.tiers})
        rung = ladder.run(algorithm, cluster(name), **price(name), segments=1)
        parts = (f"${part.tex}$" for part in (form.inner, form.outer, form.port, form.card))
        label = find(form.primitive, form.tiers).label
        rows.append([_BACKWARDS[form.primitive], label, *parts, _time(rung.seconds)])
    headers = ["primitive", "both tiers", "latencies inside", "outside", "bytes on a port", "on a card", name]
    return _table(headers, rows)


def fastest_on_clusters(primitives: Sequence[str] = ladder.PRIMITIVES) -> str:
    """The fastest on clusters of several tiers at the anchor's message, as a Markdown table.

    >>> head, _, row = fastest_on_clusters(["broadcast"]).splitlines()
    >>> head
    '| primitive | 64 boxes of 8 on rails | time | 8 NVL72 racks | time |'
    >>> row.startswith("| broadcast | "), row.count("|")
    (True, 6)
    """
    rows = []
    for primitive in primitives:
        fastest = [rungs(primitive, name)[0] for name in CLUSTERS]
        rows.append([primitive, *(cell for rung in fastest for cell in (rung.label, _time(rung.seconds)))])
    return _table(["primitive", *(head for name in CLUSTERS for head in (name, "time"))], rows)


def handy() -> str:
    r"""Three formulas that one looks up, as a Markdown list.

    >>> print(handy().splitlines()[-1])  # doctest: +ELLIPSIS
    - Bus bandwidth is $M/t$ times $1$ for broadcast and reduce, ...
    """
    names: dict[str, list[str]] = {}
    for primitive in ladder.PRIMITIVES:
        names.setdefault(ONE_PORT[primitive].n_beta.tex, []).append(primitive)
    factors = [f"${factor}$ for {in_prose(primitives)}" for factor, primitives in names.items()]
    return "\n".join(
        [
            rf"- Two schedules without segments cost the same at $M^* = {CROSSOVER.tex}\,\alpha\,\mathrm{{BW}}$ "
            "([which algorithm wins](../notebooks/ladder-512)).",
            rf"- A pipeline of $L$ steps is fastest with about $P^* = \sqrt{{{BEST_SEGMENTS_SQUARED.tex}}}$ segments, "
            r"where $m = M/(\alpha\,\mathrm{BW})$ ([pipelining](../notebooks/pipelining)).",
            f"- Bus bandwidth is $M/t$ times {in_prose(factors)} ([bus bandwidth](../notebooks/bus-bandwidth)).",
        ]
    )

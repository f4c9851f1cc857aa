"""Answers that are runs and nothing else: `runs.csv` names them beside the claims that they answer.

    runs  = part [ "; " part ]... [ " for " name " = " words [ " and " name " = " words ]... ]
    part  = [ name " = " ] [ what " on " ] topology
    what  = algorithm of the catalogue [ " in " pieces, or " in best" ], or an all-gather of `GATHERS` with numbers

A name in braces stands for each of its words in turn: {N} for numbers of ranks, {d} for axes, {G} for graphs, MB for
messages; without words for N and d these are SIZES and SHAPES. A part without a name lends its quantities to a case
of its own; all those with names are in every case.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from importlib import resources
from itertools import product
from typing import Any

from colllib.claims.cases import SHAPES, Quantities, as_quantities, deferred, measured, of_topology
from colllib.claims.graph_tables import ideal
from colllib.claims.graphs import base, by_theorem, copies, lines, on, power
from colllib.claims.runs import SIZES, best, place
from colllib.claims.value import Case, Cases, Table
from colllib.topology import Lattice

#: All-gathers on a graph, on what operations make of it so many times, or what bounds all on so many ranks.
GATHERS: Mapping[str, Callable[..., Quantities]] = {
    "breadth-first": on,
    "base": base,
    "lines": lines,
    "copies": copies,
    "power": power,
    "theorem": by_theorem,
    "square-theorem": partial(by_theorem, squared=True),
    "bound": lambda ranks: ideal(int(ranks)),
}
DEFAULTS = {"N": " ".join(map(str, SIZES)), "d": " ".join(str(Lattice(dims)) for dims in SHAPES)}


@deferred
def runs(text: str) -> Cases:
    """The cases of a cell.

    >>> case = next(iter(runs("all-reduce ring on star:{N}; tree = all-reduce binomial-tree on star:{N} for N = 8")()))
    >>> case["at"], case["n_alpha"], case["tree"].n_alpha
    ('N = 8', 14, 6)
    """
    said, _, words = text.partition(" for ")
    given = dict(one.split(" = ") for one in words.split(" and ") if one)
    given = {name: each for name, each in DEFAULTS.items() if f"{{{name}}}" in said} | given
    parts = [part.rpartition(" = ")[::2] for part in said.split("; ")]
    for chosen in product(*(each.split(", " if ", " in each else None) for each in given.values())):
        yield from _cases(parts, dict(zip(given, chosen, strict=True)))


def _cases(parts: list[tuple[str, str]], chosen: Mapping[str, str]) -> Iterator[Case]:
    filled = [(name, part.format_map(chosen)) for name, part in parts]
    known: dict[str, Any] = {name: int(word) for name, word in chosen.items() if word.isdigit()}
    price = {}
    if "MB" in chosen:
        known["MB"] = float(chosen["MB"])
        price["message"] = 1e6 * known["MB"]
    if "d" in chosen:
        lattice = Lattice(tuple(map(int, chosen["d"].split("x"))))
        known |= {"d": lattice.dims, "k": len(lattice.dims), "N": lattice.ranks}
    at = _at(chosen, [part.rpartition(" on ")[2] for _, part in filled])
    known |= {name: _quantities(part, price) for name, part in filled if name}
    alone = [part for name, part in filled if not name]
    for part in alone:
        found, what = _quantities(part, price), part.rpartition(" on ")[0]
        label = f", {what}" if len(alone) > 1 or not {"N", "d"} & set(chosen) else ""
        yield found.case(**{"at": found.known.get("at", at + label), **known})
    if not alone:
        yield {"at": at, **known}


def _at(chosen: Mapping[str, str], topologies: list[str]) -> str:
    """How a case is called: by its topologies where N does not say it, and by what was chosen."""
    own = [] if "N" in chosen else topologies[:1] if "d" in chosen else list(dict.fromkeys(topologies))
    for name, word in chosen.items():
        shown = f"{word} MB" if name == "MB" else f"{name} = {word}" if word.isdigit() else word
        own += [shown] if name not in "dG" else []
    return ", ".join(own)


def _quantities(part: str, price: Mapping[str, Any]) -> Quantities:
    what, _, topology = part.rpartition(" on ")
    kind, *numbers = what.split(" ")
    if not what:
        return of_topology(place(topology))
    if kind in GATHERS:
        return GATHERS[kind](topology, *map(int, numbers))
    algorithm, _, pieces = what.partition(" in ")
    if pieces == "best":
        rung = best(algorithm, topology, **price)
        return as_quantities(rung.entry.cost(rung.segments), **price).also(pieces=lambda: rung.segments)
    return measured((algorithm, int(pieces or 1)), topology, **price)


def _table() -> Table:
    text = (resources.files(__package__) / "runs.csv").read_text(encoding="utf-8")
    return {row["claims"]: runs(row["runs"]) for row in csv.DictReader(text.splitlines())}


TABLE = _table()

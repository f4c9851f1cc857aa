"""Answers that are runs and what follows from them: `runs.csv` has them beside the claims that they answer.

    runs  = part [ "; " part ]... [ " for " name " = " words [ " and " name " = " words ]... ]
    part  = [ name " = " ] [ what " on " ] topology, or name " = " "(" expression ")", or "at = [" label "]"
    what  = algorithm of the catalogue [ " " option "=" word ]... [ " in " pieces, or " in best" ],
            or one of `SCHEDULES`, or an all-gather of `GATHERS`, each with numbers, or "streamed " primitive

Beside the options of an algorithm, steps=a:b takes its cost from step a to before step b, eta what its topology loses
(`PROFILES`), and MB, us or GBs a price of its own.

A name in braces stands for each of its words in turn: {N} for numbers of ranks, {d} for axes, {G} for graphs, {L} and
{n} for boxes and their ranks, {C} for collectives; without words for N and d these are SIZES and SHAPES. Several names
before one "=" go together, with "|" between what they stand for. MB, us and GBs are message, alpha and bandwidth, us
and GBs of two levels with "/"; else they are the anchor's. A part without a name lends its quantities to a case of its
own; all those with names are in every case. An expression (`colllib.claims.value`) takes what stands before it.
"""

from __future__ import annotations

import re
from collections import ChainMap
from collections.abc import Callable, Mapping
from functools import partial
from itertools import product
from typing import Any

from colllib import ladder
from colllib.algorithms import direct
from colllib.algorithms.allreduce import double_binary_tree
from colllib.algorithms.alltoall import ring_relay
from colllib.claims.allreduce import double_tree, hierarchical_ring, relay_singly, single_tree
from colllib.claims.alltoall import in_slices
from colllib.claims.cases import SHAPES, Quantities, as_quantities, measured, of_schedule, of_topology
from colllib.claims.contention import along_axes, interleaved, round_a_corner, skewed
from colllib.claims.graph_tables import ideal
from colllib.claims.graphs import base, both_ways, by_theorem, copies, lines, on, power
from colllib.claims.innetwork import streamed
from colllib.claims.runs import SIZES, best, place
from colllib.claims.tiers import axis_after_axis
from colllib.claims.topologies import flat_ring, one_by_one, ring_between_boxes
from colllib.claims.value import Cases, Table, evaluated, stored
from colllib.efficiency import IDEAL, PROFILES, effective
from colllib.schedule import Schedule
from colllib.topology import Lattice

#: All-gathers on a graph, on what operations make of it so many times, or what bounds all on so many ranks; in words.
GATHERS: Mapping[str, tuple[Callable[..., Quantities], str]] = {
    "breadth-first": (on, "all-gather breadth-first on"),
    "base": (base, "all-gather in full steps on"),
    "lines": (lines, "all-gather on the {}-fold line graph of"),
    "copies": (copies, "all-gather on the degree expansion by {} of"),
    "power": (power, "all-gather on the Cartesian power {} of"),
    "both-ways": (both_ways, "all-gather with its links both ways on"),
    "theorem": (by_theorem, "all-gather by the theorem on the {}-fold line graph of"),
    "square-theorem": (
        partial(by_theorem, squared=True),
        "all-gather by the theorems on the {}-fold line graph of the square of",
    ),
    "bound": (lambda ranks: ideal(int(ranks)), "bound of all graphs of degree 4 with N ="),
}
#: Schedules that the catalogue does not have, each by what builds it from its numbers, or else from N or axes d.
SCHEDULES: Mapping[str, Callable[..., Schedule]] = {
    "single-tree": single_tree,
    "double-tree": double_tree,
    "tree": double_binary_tree,
    "relay-singly": relay_singly,
    "relay-split": partial(ring_relay, tie="split"),
    "at-once": direct.all_to_all,
    "parameter-server": partial(direct.parameter_server, servers=1, colocated=True),
    "axis-by-axis": partial(in_slices, phased=True, rotated=False),
    "slices-by-axis": partial(in_slices, phased=True),
    "flat-ring": flat_ring,
    "ring-between": ring_between_boxes,
    "one-by-one": one_by_one,
    "rings": axis_after_axis,
    "hierarchical-ring": hierarchical_ring,
    "interleaved": interleaved,
    "along-axes": along_axes,
    "round-a-corner": round_a_corner,
    "skewed": skewed,
}
#: What a price is made of: the name in `us`, of which unit, and how that is written.
PRICES = {"MB": ("message", 1e6, "MB"), "us": ("alpha", 1e-6, "µs"), "GBs": ("bandwidth", 1e9, "GB/s")}
DEFAULTS = {"N": " ".join(map(str, SIZES)), "d": " ".join(str(Lattice(dims)) for dims in SHAPES)}


class Runs:
    """The cases of a cell.

    >>> ring = Runs("all-reduce ring on star:{N}; tree = all-reduce binomial-tree on star:{N} for N = 8")
    >>> case = next(iter(ring()))
    >>> case["at"], case["n_alpha"], case["tree"].n_alpha
    ('N = 8', 14, 6)
    >>> ratio = Runs("one = star:{N}; other = ring:{N}; times = (other.D / one.D); at = [of {N}] for N = 8")
    >>> [(case["at"], case["times"]) for case in ratio()]
    [('of 8', Fraction(2, 1))]
    """

    def __init__(self, text: str) -> None:
        self.template, _, assignments = " ".join(text.split()).partition(" for ")
        assigned = dict(assignment.split(" = ") for assignment in assignments.split(" and ") if assignment)
        names = " ".join(assigned).split(" ")
        values = {k: v for k, v in DEFAULTS.items() if f"{{{k}}}" in self.template and k not in names} | assigned
        self.values = {name: words.split(", " if ", " in words else None) for name, words in values.items()}

    @property
    def words(self) -> str:
        """What is run, for a reader.

        >>> print(Runs("tree = broadcast two-tree in best on star:{N} for N = 8 64").words)
        tree: broadcast two-tree in its best number of pieces on star:{N}; N = 8, 64
        >>> print(Runs("lines 1 on hamming:2x3").words)
        all-gather on the 1-fold line graph of hamming:2x3
        """
        runs, expressions = _parts(self.template)
        if expressions:
            return ""  # a reader needs what ran, not what was worked out from it
        parts = [f"{name}: " * bool(name and what) + _words(what, topology) for name, what, topology in runs]
        values = [
            f"{', '.join(words)} {PRICES[name][2]}" if name in PRICES else f"{name} = {', '.join(words)}"
            for name, words in self.values.items()
        ]
        return "; ".join(parts + values)

    def __call__(self) -> Cases:
        """Every case."""
        for words in product(*self.values.values()):
            chosen: dict[str, str] = {}
            for names, word in zip(self.values, words, strict=True):
                chosen |= zip(names.split(" "), word.split("|"), strict=True)
            runs, expressions = _parts(self.template.format_map(chosen))
            at, known = _at(chosen, [topology for *_, topology in runs]), _known(chosen)
            asked = _price(chosen), "d" in chosen
            known |= {name: _quantities(what, topology, *asked) for name, what, topology in runs if name}
            unnamed = [(what, topology) for name, what, topology in runs if not name]
            for what, topology in unnamed or [("", "")]:
                lent = _quantities(what, topology, *asked) if unnamed else Quantities({})
                label = f", {what}" if what and (len(unnamed) > 1 or not {"N", "d"} & set(chosen)) else ""
                case = ChainMap({"at": lent.known.get("at", at + label), **known}, lent)  # type: ignore[arg-type]
                for name, text in expressions.items():
                    case[name] = text[1:-1] if name == "at" else evaluated(text, case)
                yield case


def _parts(text: str) -> tuple[list[tuple[str, str, str]], dict[str, str]]:
    """Of every run its name, which may be empty, what is run, and on which topology; and the expressions by name."""
    parts = [part.split(" = ", 1) if " = " in part else ("", part) for part in text.split("; ")]
    expressions = {name: part for name, part in parts if part.startswith(("(", "["))}
    return [(name, *part.rpartition(" on ")[::2]) for name, part in parts if name not in expressions], expressions


def _quantities(what: str, topology: str, price: Mapping[str, Any], of_axes: bool) -> Quantities:
    if not what:
        return of_topology(place(topology))
    algorithm, _, pieces = what.partition(" in ")
    algorithm, *assignments = re.split(r" (?=\w+=)", algorithm)
    kind, *numbers = algorithm.split(" ")
    if kind in GATHERS:
        return GATHERS[kind][0](topology, *map(int, numbers))
    words = dict(assignment.split("=") for assignment in assignments)
    price = {**price, **_price(words)}
    steps, eta = words.pop("steps", ""), PROFILES[words.pop("eta", "ideal")]
    shape = ladder.topology(topology)
    if pieces == "best":
        rung = best(algorithm, topology, **price, eta=eta)
        lent = as_quantities(rung.entry.cost(rung.segments), **price).also(pieces=lambda: rung.segments)
    elif kind == "streamed":
        lent = streamed(numbers[0], shape.ranks, **price)
    elif kind in SCHEDULES:
        arguments: list[Any] = [*map(int, numbers)] or [shape.lattice if of_axes else shape.ranks]
        lent = of_schedule(SCHEDULES[kind], topology, *arguments, **price)
    else:
        given = {name: word for name, word in words.items() if name not in PRICES}
        options = {name: int(word) if word.isdigit() else {"no": False}.get(word, word) for name, word in given.items()}
        lent = measured(algorithm, topology, int(pieces or 1), options=options, **price)
    if steps:
        begin, end = map(int, steps.split(":"))
        lent = as_quantities(lent["run"].cost_of(range(lent["steps"])[begin:end]), **price)
    return lent if eta == IDEAL else as_quantities(effective(lent["cost"], eta), **price)


def _known(chosen: Mapping[str, str]) -> dict[str, Any]:
    """The numbers among what was chosen, and what axes are."""
    known: dict[str, Any] = {name: int(word) for name, word in chosen.items() if word.isdigit()}
    known |= {name: float(word) for name, word in chosen.items() if name in PRICES and "/" not in word}
    if "d" in chosen:
        lattice = Lattice(tuple(map(int, chosen["d"].split("x"))))
        known |= {"d": lattice.dims, "k": len(lattice.dims), "N": lattice.ranks}
    return known


def _price(words: Mapping[str, str]) -> dict[str, Any]:
    """What words say of the message, of alpha and of the bandwidth, in bytes and seconds."""
    price = {}
    for name, (key, unit, _) in PRICES.items():
        if name in words:
            levels = tuple(unit * float(level) for level in words[name].split("/"))
            price[key] = levels if len(levels) > 1 else levels[0]
    return price


def _words(what: str, topology: str) -> str:
    """What is run, in words."""
    kind, *numbers = what.split(" ")
    if kind in GATHERS:
        return f"{GATHERS[kind][1].format(*numbers)} {topology}"
    algorithm, _, pieces = what.partition(" in ")
    cut = " in its best number of pieces" if pieces == "best" else f" in {pieces} pieces" if pieces else ""
    return f"{algorithm}{cut} on {topology}" if what else topology


def _at(chosen: Mapping[str, str], topologies: list[str]) -> str:
    """How a case is called: by its topologies where N does not say it, and by what was chosen."""
    if "N" in chosen:
        labels = []
    elif "d" in chosen:
        labels = topologies[:1]
    else:
        labels = list(dict.fromkeys(topologies))
    for name, word in chosen.items():
        if name in PRICES:
            labels.append(f"{word} {PRICES[name][2]}")
        elif name not in ("d", "G", "L", "n", "C"):
            labels.append(f"{name} = {word}" if word.isdigit() else word)
    return ", ".join(labels)


TABLE: Table = {row["claims"]: Runs(row["runs"]) for row in stored("runs.csv")}

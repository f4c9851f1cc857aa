"""The primitive explorer: what each primitive makes true, what it is made of, and its lower bounds."""

from __future__ import annotations

from functools import cache

from colllib.algorithms import identities
from colllib.bounds import lower_bound, port_bound
from colllib.execution import execute
from colllib.primitives import PRIMITIVES
from colllib.schedule import Schedule
from colllib.show.control import Control, Part, State
from colllib.show.drawings import an_instance, before_after, describe
from colllib.show.explorer import Explorer
from colllib.show.table import Table

RANKS = (2, 3, 4, 5, 6)
MESSAGE = {
    "broadcast": "the vector",
    "reduce": "the vector",
    "all-reduce": "the vector",
    "reduce-scatter": "each rank's input",
    "all-gather": "the gathered result",
    "all-to-all": "each rank's send buffer",
    "point-to-point": "the vector",
}


def primitive_explorer() -> Explorer:
    """Primitive, number of ranks and root: before and after, the identities executed, the lower bounds.

    >>> primitive_explorer()
    Explorer: What a primitive makes true (Primitive, Ranks N, Root)
    """
    return Explorer(
        "What a primitive makes true",
        [
            Control("primitive", "Primitive", list(PRIMITIVES), "reduce-scatter", "select"),
            Control("n", "Ranks N", RANKS, 4),
            Control("root", "Root", _roots),
        ],
        [
            Part(_ALL, lambda s: before_after(_here(s)), "Before and after"),
            Part(("primitive",), _said),
            Part(_ALL, _made_of, "The identities, executed", fold="The identities, executed"),
            Part(("primitive", "n"), _bounds, "Lower bounds", fold="Lower bounds"),
        ],
        summary=Part(_ALL, _summary),
    )


_ALL = ("primitive", "n", "root")


def _roots(state: State) -> dict[int, str]:
    kinds = {PRIMITIVES[state["primitive"]].source, PRIMITIVES[state["primitive"]].target}
    return {r: str(r) for r in range(state["n"])} if "root" in kinds else {0: "no root"}


@cache
def _instance(primitive: str, ranks: int, root: int) -> Schedule:
    return an_instance(primitive, ranks, root)


def _here(state: State) -> Schedule:
    return _instance(state["primitive"], state["n"], state["root"])


def _said(state: State) -> str:
    name = state["primitive"]
    statement = PRIMITIVES[name].statement
    return (
        f"<p>{statement[0].upper()}{statement[1:]}. M is {MESSAGE[name]}. In full color: what the primitive asks "
        "for; faint: what the schedule leaves behind, not to be relied on. A cell says whose contributions it has.</p>"
    )


def _made_of(state: State) -> Table | str:
    rows = []
    for identity in identities.of(state["primitive"]):
        run = execute(identity.build(state["n"], state["root"]))
        proved = PRIMITIVES[state["primitive"]].accepts(run.schedule.blocks)
        assert proved
        rows.append((identity.text, run.cost.n_alpha, str(run.cost.n_beta)))
    if not rows:
        return "<p>Point-to-point is what all the others are made of.</p>"
    caption = f"Also {_article(state['primitive'])}: proved by execution on {state['n']} ranks"
    return Table(["made of", "n_alpha", "n_beta"], rows, caption, align=("left", "right", "right"))


def _bounds(state: State) -> Table:
    name, n = state["primitive"], state["n"]
    rows = []
    for label, full_duplex in (("full-duplex", True), ("one way at a time", False)):
        bound = port_bound(name, n, full_duplex=full_duplex)
        rows.append((label, bound.n_alpha, str(bound.rank), str(bound.average)))
    headers = ["one port per rank", "n_alpha", "n_beta by the rank", "n_beta on average"]
    return Table(headers, rows, "No schedule beats these", align=("left", "right", "right", "right"))


def _article(name: str) -> str:
    return f"{'an' if name[0] in 'ao' else 'a'} {name}"


def _summary(state: State) -> str:
    name, n = state["primitive"], state["n"]
    bound = lower_bound(name, n)
    if name == "all-to-all":
        words = "Before: rank i holds a block for every rank. After: rank j must hold a block from every rank."
    else:
        words = describe(_here(state).blocks)
    text = f"{name[0].upper()}{name[1:]} on {n} ranks. {words}"
    return f"{text} Lower bounds on one full-duplex port: n_alpha = {bound.n_alpha}, n_beta = {bound.n_beta}."

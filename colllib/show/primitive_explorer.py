"""The primitive explorer: what each primitive makes true, what it is made of, and its lower bounds."""

from colllib.algorithms import identities
from colllib.bounds import lower_bound, port_bound
from colllib.execution import execute
from colllib.primitives import PRIMITIVES
from colllib.show.control import Control, Part
from colllib.show.drawings import an_instance, before_after, describe
from colllib.show.explorer import Explorer
from colllib.show.pen import Drawing
from colllib.show.table import Table

MESSAGE = {
    **dict.fromkeys(("broadcast", "reduce", "all-reduce", "point-to-point"), "the vector"),
    "reduce-scatter": "each rank's input",
    "all-gather": "the gathered result",
    "all-to-all": "each rank's send buffer",
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
            Control("n", "Ranks N", range(2, 7), 4),
            Control("root", "Root", _roots),
        ],
        [
            Part(_before_after, "Before and after"),
            Part(_in_words, "In words"),
            Part(_made_of, "Made of others", fold="Made of others"),
            Part(_bounds, "Lower bounds", fold="Lower bounds"),
        ],
        summary=_summary,
    )


def _roots(primitive: str, n: int) -> dict[int, str]:
    kinds = {PRIMITIVES[primitive].source, PRIMITIVES[primitive].target}
    return {r: str(r) for r in range(n)} if "root" in kinds else {0: "no root"}


def _before_after(primitive: str, n: int, root: int) -> Drawing:
    return before_after(an_instance(primitive, n, root), colors="contributor")


def _in_words(primitive: str) -> str:
    statement = PRIMITIVES[primitive].statement
    number = "the rank that it is for" if primitive == "all-to-all" else "its place in the vector"
    return (
        f"<p>{statement[0].upper()}{statement[1:]}. M is {MESSAGE[primitive]}. The number of a block is {number}, its "
        "colors are the ranks whose numbers are in it. Faint: what a schedule leaves behind, not to be relied on.</p>"
    )


def _made_of(primitive: str, n: int, root: int) -> Table | str:
    rows = []
    for identity in identities.of(primitive):
        run = execute(identity.build(n, root))
        assert PRIMITIVES[primitive].accepts(run.schedule.blocks)
        rows.append((identity.text, run.cost.n_alpha, str(run.cost.n_beta)))
    if not rows:
        return "<p>Point-to-point is what all the others are made of.</p>"
    caption = f"Also {'an' if primitive[0] in 'ao' else 'a'} {primitive}: proved by execution on {n} ranks"
    return Table(["made of", "n_alpha", "n_beta"], rows, caption)


def _bounds(primitive: str, n: int) -> Table:
    rows = []
    for label, full_duplex in (("full-duplex", True), ("one way at a time", False)):
        bound = port_bound(primitive, n, full_duplex=full_duplex)
        rows.append((label, bound.n_alpha, str(bound.rank), str(bound.average)))
    headers = ["one port per rank", "n_alpha", "n_beta of one rank", "n_beta on average"]
    return Table(headers, rows, "No schedule beats these")


def _summary(primitive: str, n: int, root: int) -> str:
    bound = lower_bound(primitive, n)
    words = describe(an_instance(primitive, n, root).blocks)
    return (
        f"{primitive.capitalize()} on {n} ranks. {words} Lower bounds on one full-duplex port: "
        f"n_alpha = {bound.n_alpha}, n_beta = {bound.n_beta}."
    )

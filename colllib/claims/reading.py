"""What was read in documents, where it takes a count; all other facts stand in `because.toml`."""

from __future__ import annotations

from colllib.bounds import bus_factor
from colllib.claims.cases import per
from colllib.claims.runs import SIZES
from colllib.claims.value import Cases, Rows, Table

#: The numbered sections of the source's parts, as far as its map of primitives can point to them.
SECTIONS = {
    "01": "1 2 3 3.1 3.2 3.3 4 4.1 4.2 4.3 5 5.1 5.2 5.3 6 7 7.1 7.2 7.3 8 9 A B B.1 B.2 B.3 B.4 B.5 C D",
    "02": "1 1.1 1.2 1.3 2 2.1 2.2 2.3 2.4 2.5 3 3.1 3.2 3.3 3.4 3.5 3.6 4 4.1 4.2 5 5.1 5.2 A B C",
    "03": "1 1.1 1.2 2 2.1 2.2 2.3 3 3.1 3.2 3.3 A B",
    "04": "1 1.1 1.2 1.3 1.4 2 2.1 2.2 3 3.1 3.2 3.3 4",
}
#: Where the map points to, an entry each.
MAP = (
    "01 8, 01 3, 01 4, 01 5.1, 01 5.2, 01 B.1, 01 B.2, 01 6, 01 A, 01 B.4, 01 7.1, 01 7.2, 01 B.5, 04 1.2, "
    "02 3.2+02 3.3, 02 3.4, 02 A, 02 3.5, 02 3.6, 02 4.1, 02 4.2, 03 1, 03 2.1, 04 1"
)


def _map_of_primitives() -> Cases:
    entries = [map(str.split, entry.split("+")) for entry in MAP.split(", ")]
    resolving = sum(all(section in SECTIONS[part].split() for part, section in places) for places in entries)
    return [{"entries": len(entries), "resolving": resolving}]


FACTORS = ("all-reduce", "all-gather", "reduce-scatter", "broadcast", "all-to-all", "reduce")


def factor(primitive: str) -> Rows:
    """What nccl-tests multiplies an algorithm bandwidth by."""
    return per(SIZES, lambda n: {primitive.replace("-", "_"): bus_factor(primitive, n)})


def printed() -> Cases:
    """No run: the value computes with numbers that the source prints."""
    return [{"at": "the source's numbers"}]


def _methods() -> Cases:
    """Those that the text names as schedules of steps and of flows, beside the rows of the table."""
    steps = {"SCCL", "TACCL", "TE-CCL", "TACOS", "BFB", "SyCCL"}
    flows = {"Blink", "MultiTree", "TTO"}
    table = {"SCCL", "TACCL", "TE-CCL", "TACOS", "BFB", "Blink", "MultiTree", "TTO", "SyCCL", "ForestColl"}
    in_table = table - {"ForestColl"} == steps | flows
    return [{"at": "Table B.1", "steps": len(steps), "flows": len(flows), "in_table": in_table}]


TABLE: Table = {
    "D-2-011 D-3-005 D-3-008 D-3-115 D-3-119 D-3-120 D-3-130 D-3-133 D-A-009": printed,
    "D-4-002 D-4-003 D-4-004 D-4-063 D-4-066 D-4-069 D-4-072 D-4-073 D-4-074 D-B-007": printed,
    "E-00-056 E-01-194 E-05-013 E-05-014 E-05-015": printed,
    "D-4-008": _methods,
    "E-00-002": _map_of_primitives,
    **{f"E-01-{number}": factor(primitive) for number, primitive in enumerate(FACTORS, 195)},
    "E-REFS-009": lambda: [{"both_ways_Tb": 2 * 144 * 0.8}],
}

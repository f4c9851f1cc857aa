"""What reading decides: definitions, facts in documents, and references inside a source."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from colllib.bounds import bus_factor
from colllib.claims.finding import FACT, Cases, Verdict, answer, table
from colllib.claims.runs import SIZES
from colllib.claims.value import Words

MODEL, ROOTED, GATHER, AR = "alpha-beta", "broadcast-and-reduce", "all-gather-and-reduce-scatter", "all-reduce"
A2A, PRIMER, TORUS = "all-to-all", "topology-primer", "torus"
WIRES, MESH, SWITCH = "all-to-all-on-wires", "mesh", "in-network"
RAILS, PER_TIER = "rails-and-spines", "which-algorithm-per-tier"


def nothing() -> Cases:
    """No cases: words, or two places of one text and nothing that execution could add."""
    return []


for _kind, _chapter, _ids in (
    (Verdict.DEFINITION, MODEL, "E-00-004 E-00-005 E-00-007 E-00-008 E-00-017"),
    (Verdict.DEFINITION, RAILS, "E-03-013"),
    (Verdict.DEFINITION, "primitives", "E-00-009 E-00-010 E-00-011 E-00-012 E-00-013 E-00-014 E-00-015"),
    (Verdict.NOT_CHECKABLE, MODEL, "E-01-203"),
    (Verdict.NOT_CHECKABLE, ROOTED, "E-01-027"),
    (Verdict.NOT_CHECKABLE, SWITCH, "E-04-007 E-04-012"),
    (Verdict.NOT_CHECKABLE, RAILS, "E-03-100 E-03-101"),
    (FACT, MODEL, "E-00-006"),
    (FACT, PRIMER, "E-02-019"),
    (FACT, SWITCH, "E-04-001"),
    (FACT, PER_TIER, "E-03-058 E-REFS-014"),
    (FACT, "in-network-at-two-tiers", "E-03-074"),
):
    answer(_chapter, _ids, _kind)(nothing)


def says(**quantities: Any) -> Callable[[], Cases]:
    """What a document says, which the sentence of the claim cites; texts are words."""
    return lambda: [{name: Words(said) if isinstance(said, str) else said for name, said in quantities.items()}]


def factor(primitive: str) -> Callable[[], Cases]:
    """What nccl-tests multiplies an algorithm bandwidth by."""
    name = primitive.replace("-", "_")
    return lambda: [{"at": f"N = {n}", "N": n, name: bus_factor(primitive, n)} for n in SIZES if n > 1]


# -- what libraries and machines do ------------------------------------------------------------------

table(GATHER, {"E-01-095": says(scale_up="ring NVLS"), "E-01-098": says(ranks_per_node=1)}, FACT)
table(ROOTED, {"E-01-025": says(broadcast="ring"), "E-01-041": says(ring_reduce="always")}, FACT)
table(MESH, {"E-02-093": says(dgx2="NVSwitch", nvswitch_since=2)}, FACT)
table(TORUS, {"E-02-071": says(v4=4096, v5p=8960), "E-02-072": says(stands_in="5")}, FACT)
table(
    PRIMER,
    {
        "E-02-014": says(chips=8960),
        "E-02-018": says(dgx2="NVSwitch"),
        "E-02-020": says(per_link=1800 // 2 // 18),  # both ways, of 18 links
        "E-02-021": says(broadcast="ring"),
        "E-02-022": says(reduce="ring"),
        "E-02-023": says(ring=True, tree=True),
        "E-02-001": says(stands_in="1"),
    },
    FACT,
)
table(
    RAILS,
    {
        "E-03-004": says(star=72, v5p=8960),
        "E-03-006": says(gpus=72, both_ways=1800, cards=4 * 18, ndr=50, xdr=100),
        "E-03-011": says(disjoint=False),
        "E-03-098": says(ports=64),
        "E-REFS-006": says(clos_tiers=2),
        "E-REFS-007": says(per_link=1800 // 2 // 18, one_way=900),
        "E-REFS-008": says(total_TB=130),
        "E-REFS-010": says(ra_is_cooled_by="air"),
    },
    FACT,
)
table(RAILS, {"E-REFS-009": says(both_ways_Tb=2 * 144 * 0.8)})
_TESTED = ("all-reduce", "all-gather", "reduce-scatter", "broadcast", "all-to-all", "reduce")
table("bus-bandwidth", {f"E-01-{number}": factor(name) for number, name in enumerate(_TESTED, 195)}, FACT)

# -- references inside the source: where the topic stands ----------------------------------------------

table(MODEL, {"E-00-001": says(stands_in="04 05")}, FACT)
table(
    AR,
    {
        "E-01-005": says(allreduce="ring", allgather="ring", alltoall="p2p"),
        "E-01-006": says(others="PAT NVLS CollNet"),
        "E-01-146": says(stands_in="C"),
    },
    FACT,
)
table(
    A2A, {"E-01-118": says(stands_in="3.6"), "E-01-112": says(alltoall="p2p", function="scheduleP2pTasksToPlan")}, FACT
)
table(
    PER_TIER,
    {
        "E-03-102": says(stands_in="4.2"),
        "E-REFS-001": says(authors="Hu Shen"),
        "E-REFS-004": says(stands_in="3.2 4.2"),
        "E-REFS-005": says(tiers=False),
        "E-REFS-011": says(stands_in="3.4"),
        "E-REFS-012": says(cited=False),
        "E-REFS-013": says(checked=10, holding=9),
    },
    FACT,
)
table(WIRES, {"E-02-090": says(stands_in="C C.3"), "E-02-165": says(stands_in="5.2")}, FACT)

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


@answer(MODEL, "E-00-002", FACT)
def _map_of_primitives() -> Cases:
    entries = [entry.split("+") for entry in MAP.split(", ")]
    there = [all(place[3:] in SECTIONS[place[:2]].split() for place in places) for places in entries]
    return [{"entries": len(entries), "resolving": sum(there)}]

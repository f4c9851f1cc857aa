"""Answers on what the primitives mean, and on one primitive out of others."""

from __future__ import annotations

from functools import partial

from colllib.algorithms import identities, of
from colllib.claims.finding import Finding, answer
from colllib.claims.model import SIZES
from colllib.execution import execute
from colllib.primitives import PRIMITIVES

CHAPTER = "02-primitives"

_STATES = {
    "E-00-009": "broadcast",
    "E-00-010": "reduce",
    "E-00-011": "all-reduce",
    "E-00-012": "reduce-scatter",
    "E-00-013": "all-gather",
    "E-00-014": "all-to-all",
    "E-00-015": "point-to-point",
}
# who holds a block before -> who must hold it after, as the table's rows say
_SAID = {
    "broadcast": ("root", "all"),
    "reduce": ("all", "root"),
    "all-reduce": ("all", "all"),
    "reduce-scatter": ("all", "owner"),
    "all-gather": ("owner", "all"),
    "all-to-all": ("owner", "owner"),
    "point-to-point": ("root", "root"),
}


def _state(name: str) -> Finding:
    # execute proves the end state of the schedule that is then compared with the row
    schedule = execute(of(name)[0].build(4)).schedule
    primitive = PRIMITIVES[name]
    proved = (primitive.source, primitive.target) if primitive.accepts(schedule.blocks) else None
    return Finding.compare(_SAID[name], proved)


for _id, _name in _STATES.items():
    answer(CHAPTER, _id)(partial(_state, _name))


@answer(CHAPTER, "E-00-016")
def _all_reduce_is_reduce_scatter_and_all_gather() -> Finding:
    build = identities.of("all-reduce")[0].build
    proved = {n: PRIMITIVES["all-reduce"].accepts(execute(build(n, 0)).schedule.blocks) for n in SIZES}
    return Finding.compare(dict.fromkeys(SIZES, True), proved)

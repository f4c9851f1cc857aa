"""The flip explorer: one bit of one rank flips somewhere in an all-reduce, and somebody notices, or nobody."""

from functools import cache

import numpy as np

from colllib.algorithms import allreduce
from colllib.show.control import Control, Part
from colllib.show.explorer import Explorer
from colllib.show.table import Table
from colllib.training import faults
from colllib.training.faults import PHASES, Flip

RANKS, SIZE = 4, 8
BITS = {31: "31, the sign", 30: "30, the largest of the exponent", 26: "26, of the exponent", 20: "20, of the fraction"}
BITS |= {0: "0, the smallest of the fraction"}
CHECKS = {
    "link": "a checksum on each link",
    "hash": "hashes of the ranks' results",
    "total": "a result's sum against the gradients' sums",
}


@cache
def gradients() -> list[faults.Singles]:
    """Of four ranks, eight numbers each."""
    return list(np.random.default_rng(1).normal(size=(RANKS, SIZE)).astype(np.float32))


@cache
def flip_case(phase: str, rank: int, bit: int) -> Flip:
    """The ring all-reduce of the gradients, with the flip."""
    return faults.flip(gradients(), phase, rank=rank, bit=bit)


def flip_explorer() -> Explorer:
    """Where a bit flips, whose, and which; and who can tell afterwards.

    >>> flip_explorer()
    Explorer: One bit (It flips, At rank, Bit)
    """
    return Explorer(
        "One bit",
        [
            Control("phase", "It flips", PHASES, "sum in memory", kind="select"),
            Control("rank", "At rank", range(RANKS), 1),
            Control("bit", "Bit", BITS, 26, kind="select"),
        ],
        [Part(_ranks, "What each rank ends with"), Part(_checks, "Who notices")],
        summary=_summary,
        name="flip",
    )


def _ranks(phase: str, rank: int, bit: int) -> Table:
    flip = flip_case(phase, rank, bit)
    exact = faults.reduced(allreduce.ring(RANKS), gradients())[0]
    rows = []
    for k, result in enumerate(flip.results):
        place = int(np.argmax(np.abs(np.nan_to_num(result.astype(float), nan=np.inf) - exact)))
        verdict = "wrong" if k in flip.wrong else "right"
        rows.append((str(k), f"{result[place]:.9g}", f"{exact[place]:.9g}", verdict))
    return Table(["rank", "worst number", "right is", "result"], rows, "The ranks' results")


def _checks(phase: str, rank: int, bit: int) -> Table:
    flip = flip_case(phase, rank, bit)
    rows = [("yes" if getattr(flip, name) else "no", text) for name, text in CHECKS.items()]
    return Table(["notices", "check"], rows, "Who notices")


def _summary(phase: str, rank: int, bit: int) -> str:
    flip = flip_case(phase, rank, bit)
    seen = [text for name, text in CHECKS.items() if getattr(flip, name)]
    return (
        f"Ranks that end with a wrong result: {len(flip.wrong)} of {RANKS}; noticed by {', '.join(seen) or 'nobody'}."
    )

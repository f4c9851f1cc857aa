"""The flip explorer: one bit of one rank flips somewhere in an all-reduce, and somebody notices, or nobody."""

from functools import cache

import numpy as np

from colllib.algorithms import allreduce
from colllib.show.control import Control, Part
from colllib.show.explorer import Explorer
from colllib.show.geometry import Box, Point, between
from colllib.show.pen import Drawing, Pen, drawing, legend_of
from colllib.show.table import Table
from colllib.show.theme import listed
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
        [
            Part(_picture, "The ring, and what each rank ends with"),
            Part(_lamps, "Who notices"),
            Part(_ranks, fold="The numbers"),
        ],
        summary=_summary,
        name="flip",
    )


PLACES: tuple[Point, ...] = ((0, -72), (104, 0), (0, 72), (-104, 0))  # of the cards of the ring
WRONG = ("h7 p", "h5 p f")  # the classes of a block that is right, and of one that is wrong


def _picture(phase: str, rank: int, bit: int) -> Drawing:
    """Four cards round the ring with the blocks of their results, the wrong ones filled, and where the bit flips."""
    flip = flip_case(phase, rank, bit)
    exact = np.array_split(_exact(), RANKS)
    wrong = [
        [block for block, part in enumerate(np.array_split(result, RANKS)) if not np.array_equal(part, exact[block])]
        for result in flip.results
    ]
    cards = [Box(x, y, 98, 48) for x, y in PLACES]
    tracks = [between(card, cards[(k + 1) % RANKS], 12) for k, card in enumerate(cards)]

    def draw(pen: Pen) -> None:
        for k, card in enumerate(cards):
            if k != rank or not flip.link:
                pen.arrow(tracks[k], "add")
            pen.group(card)
            pen.text(card.x, card.y - 14, k, "b")
            for block in range(RANKS):
                x, y = card.x - 43 + 22 * block, card.y - 4
                frame = f'<rect x="{x:g}" y="{y:g}" width="20" height="20"/>'
                label = f'<text x="{x + 10:g}" y="{y + 14:g}">{block}</text>'
                pen.put(f'<g class="c {WRONG[block in wrong[k]]}">{frame}{label}</g>')
        if flip.link:
            pen.arrow(tracks[rank], "add", index=5, width=3)
            x, y = tracks[rank].at(0.5)
            pen.tag(1.5 * x, 1.3 * y, f"bit {bit}")
        else:
            pen.tag(cards[rank].x + 30, cards[rank].y - 33, f"bit {bit}")

    described = "; ".join(f"rank {k}: {listed(blocks) if blocks else 'none'}" for k, blocks in enumerate(wrong))
    legend = [("pale h7", "right"), ("patch h5", "wrong")]
    return drawing(
        draw, title="", alt=f"Bit {bit} flips {PHASES[phase]}, rank {rank}. Wrong blocks of {described}.", legend=legend
    )


def _lamps(phase: str, rank: int, bit: int) -> str:
    """The three checks as lamps, lit where they notice."""
    lamps = {True: ("disk i h1", "notices"), False: ("disk", "silent")}
    lit = {text: lamps[getattr(flip_case(phase, rank, bit), check)] for check, text in CHECKS.items()}
    return legend_of((lamp, f"{text}: {word}") for text, (lamp, word) in lit.items())


def _exact() -> faults.Singles:
    return faults.reduced(allreduce.ring(RANKS), gradients())[0]


def _ranks(phase: str, rank: int, bit: int) -> Table:
    flip, exact = flip_case(phase, rank, bit), _exact()
    rows = []
    for k, result in enumerate(flip.results):
        place = int(np.argmax(np.abs(np.nan_to_num(result.astype(float), nan=np.inf) - exact)))
        rows.append((str(k), f"{result[place]:.9g}", f"{exact[place]:.9g}", "wrong" if k in flip.wrong else "right"))
    return Table(["rank", "worst number", "right is", "result"], rows, "The ranks' results")


def _summary(phase: str, rank: int, bit: int) -> str:
    flip = flip_case(phase, rank, bit)
    if not flip.wrong:
        return "No rank ends with a wrong result: rounding swallows the bit."
    seen = [text for name, text in CHECKS.items() if getattr(flip, name)]
    return (
        f"Ranks that end with a wrong result: {len(flip.wrong)} of {RANKS}; noticed by {', '.join(seen) or 'nobody'}."
    )

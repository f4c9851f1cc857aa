"""One color, dash and code for each algorithm, in every figure, table and map of the book."""

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from colllib.algorithms import CATALOGUE
from colllib.show.theme import SERIES, color

DASHES = ("", "7 3", "2 2.5", "8 3 2 3", "12 3", "4 2", "10 2 2 2 2 2", "1 4")


class Look(NamedTuple):
    """How a series is drawn: which of the eight colors and of the eight dashes, and the letters that stand for it."""

    hue: int
    dash: int
    code: str = ""

    @property
    def color(self) -> str:
        """The CSS color."""
        return color(self.hue)

    @property
    def dashes(self) -> str:
        """The SVG attribute, with a space before it; nothing for a solid line."""
        return f' stroke-dasharray="{DASHES[self.dash]}"' if self.dash else ""


#: By the algorithm's name: no two have the same color and dash.
LOOKS = {
    "ring": Look(0, 0, "Ri"),
    "binomial-tree": Look(2, 2, "BT"),
    "double-binary-tree": Look(3, 3, "DB"),
    "recursive-doubling": Look(1, 1, "RD"),
    "rabenseifner": Look(5, 4, "Ra"),
    "bidirectional-ring": Look(4, 5, "Bi"),
    "shortest-way-ring": Look(6, 6, "SR"),
    "reduce-broadcast": Look(7, 7, "RB"),
    "chain": Look(0, 1, "Ch"),
    "two-tree": Look(3, 0, "TT"),
    "scatter-allgather": Look(5, 3, "SA"),
    "scatter-bruck": Look(6, 5, "SB"),
    "circulant": Look(4, 4, "Ci"),
    "recursive-halving": Look(1, 4, "RH"),
    "bruck": Look(4, 2, "Br"),
    "pat": Look(6, 3, "PA"),
    "knomial": Look(7, 4, "Kn"),
    "pairwise": Look(3, 1, "Pw"),
    "ring-relay": Look(0, 3, "RR"),
    "dim-ring": Look(0, 2, "DR"),
    "dim-chain": Look(0, 4, "DC"),
    "all-links": Look(2, 0, "AL"),
    "breadth-first": Look(2, 1, "BF"),
    "breadth-first-rooted": Look(2, 3, "Bo"),
    "flow": Look(3, 4, "Fl"),
    "synthesis": Look(1, 5, "Sy"),
    "rotated-dim-ring": Look(5, 0, "Ro"),
    "dim-shortest-way": Look(6, 0, "DS"),
    "dim-rabenseifner": Look(5, 5, "RX"),
    "swing": Look(3, 5, "Sw"),
    "rotated-swing": Look(4, 1, "RS"),
    "relay": Look(6, 2, "Re"),
    "rotated-relay": Look(6, 1, "RT"),
    "in-network": Look(1, 0, "IN"),
    "in-network-two-shot": Look(1, 3, "I2"),
    "direct": Look(4, 3, "Di"),
    "one-shot": Look(2, 4, "OS"),
    "hierarchical": Look(4, 0, "Hi"),
    "forest": Look(3, 6, "Fo"),
    "channels": Look(2, 5, "Cs"),
    "tree": Look(3, 2, "Tb"),
    "nvls-tree": Look(1, 2, "NT"),
    "collnet": Look(6, 4, "CN"),
    "nvls": Look(5, 1, "NV"),
    "pairwise-by-boxes": Look(7, 5, "PX"),
    "neighbor": Look(0, 5, "NE"),  # an all-gather of Open MPI
}


BOUND = Look(7, 2)  # how every bound is drawn
SWITCH = "adding switch, two shots"


@cache
def _labels() -> dict[str, Look]:
    looks = {name: LOOKS[a.name] for a in CATALOGUE for name in (a.name, a.label)}
    return looks | {SWITCH: LOOKS["in-network-two-shot"], "the wire": BOUND, "neighbor": LOOKS["neighbor"]}


def known(label: str) -> Look | None:
    """The look of the algorithm that a label names, alone, before or after a comma; None if it names none.

    >>> known("ring, P = 4").code, known("star, ring").code, known("flat ring").code, known("measured")
    ('Ri', 'Ri', 'Ri', None)
    """
    before, _, after = label.removeprefix("flat ").partition(", ")
    return _labels().get(label) or _labels().get(before) or _labels().get(after)


def letters(name: str, look: Look) -> str:
    """What stands for a name where there is no room: its algorithm's code, or the initials before a parenthesis.

    >>> letters("lower bounds", Look(7, 2)), letters("A (4 steps)", Look(0, 0))
    ('LB', 'A')
    """
    return look.code or "".join(word[0] for word in name.split(" (")[0].split()[:3]).upper()


def looks(labels: Sequence[str]) -> list[Look]:
    """A look for each series of a figure: its algorithm's, and for everything else one that no other has.

    >>> looks(["star, ring", "ring"])
    [Look(hue=1, dash=1, code=''), Look(hue=0, dash=0, code='Ri')]
    """
    named = {_labels().get(label) for label in labels}  # those of bare names have precedence
    known_looks: list[Look | None] = []
    for label in labels:
        look = known(label)
        taken = look in known_looks or (look in named and label not in _labels())
        known_looks.append(None if taken else look)
    drawn = {(look.hue, look.dash) for look in known_looks if look}
    hues = {hue for hue, _ in drawn}
    spare = iter(sorted(range(len(SERIES)), key=lambda hue: hue in hues))
    chosen = []
    for k, look in enumerate(known_looks):
        if look is None:
            hue = next(spare, k % len(SERIES))
            free = [d % len(DASHES) for d in range(hue, hue + len(DASHES)) if (hue, d % len(DASHES)) not in drawn]
            look = Look(hue, min(free, key=[one.dash for one in known_looks if one].count))
        chosen.append(look)
    return chosen

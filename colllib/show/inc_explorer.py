"""The in-network explorer: how many times faster than software a switch is, over the message size."""

from fractions import Fraction

from colllib.ladder import CLOSED_FORM, PRIMITIVES, Entry, offered
from colllib.show.control import Control
from colllib.show.cost_explorer import prices, ranks
from colllib.show.explorer import Explorer
from colllib.show.race import Form, Race, Row, only
from colllib.show.views import Curves, Rows
from colllib.switch_race import able_star, stream_limit

#: The part of alpha that the switch takes.
PARTS = {Fraction(1, 10): "10%", Fraction(2, 5): "40%", Fraction(4, 5): "80%"}


def rows(primitive: str, n: int, part: Fraction) -> list[Row]:
    """The fastest software, the fastest way through the switch, and the switch without whole segments."""
    topology = able_star(n, float(1 - part), float(part))
    entries = [Entry(algorithm, topology, trusting=True) for algorithm in offered(primitive, topology)]
    known = [entry for entry in entries if entry.how == CLOSED_FORM]
    ways = {
        takes: {
            way: form
            for entry in known
            if entry.algorithm.takes == takes
            for way, form in Form.ways(entry, entry.algorithm.label).items()
        }
        for takes in ("ranks", "topology")
    }
    return [
        Row("software", ways["ranks"]),
        Row("switch, lock-step", ways["topology"]),
        Row("switch, streaming", only(stream_limit(primitive, n))),
    ]


def inc_explorer() -> Explorer:
    """Collective, N, M, alpha, BW and the switch's part of alpha: the gain of the switch over the message size.

    >>> inc_explorer()
    Explorer: What the switch gains (Collective, Ranks N, Message M, Latency α, Bandwidth BW, Switch's part of α)
    """
    race = Race(rows)
    gain = "times faster than software"
    return Explorer(
        "What the switch gains",
        [
            Control("primitive", "Collective", PRIMITIVES, "all-reduce", "select"),
            ranks(),
            *prices(),
            Control("part", "Switch's part of α", PARTS, Fraction(2, 5)),
        ],
        [
            Curves(race, what="gain", y_label=gain, log=False, strip=False),
            Rows(race, "The race", "The race in numbers", " = name | by = way | time | n_alpha | n_beta"),
        ],
        summary="{primitive} of {m} on {n} ranks: the fastest software is {way:software} with {time:software}. In "
        "lock-step the switch is {gain:switch, lock-step} times as fast, streaming {gain:switch, streaming} times.",
        note="One switch, one full-duplex port of BW per rank. Endpoint and switch together are one alpha, for "
        "software and switch alike. Lock-step clock at the best whole number of segments; streaming is what the event "
        "clock tends to in ever more of them. In a reduce-scatter every rank pushes its whole vector.",
        name="switch",
    )

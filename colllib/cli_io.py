"""How commands ask and answer: values with units, speeds of several levels, and words and tables, or JSON."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import wraps
from itertools import chain
from threading import Event, Thread
from typing import Any, TypeVar

import click
from tabulate import tabulate

from colllib import units
from colllib.cost import Price
from colllib.ladder import ANCHOR_ALPHA, ANCHOR_BANDWIDTH
from colllib.limits import check_size
from colllib.primitives import PRIMITIVES
from colllib.topology import Topology
from colllib.topology.cluster import note_of

#: What a command yields: first what --json prints, or a function that makes it, then the paragraphs printed otherwise.
Answer = Iterator[Any]
Item = TypeVar("Item")


class Read(click.ParamType):
    """What a function makes of a parameter's name and its text; errors are the function's own."""

    def __init__(self, name: str, read: Callable[[str, str], Any]) -> None:
        self.name, self.read = name, read

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return self.read(str(param and param.name), value) if isinstance(value, str) else value


def spelled(text: str, names: Iterable[str]) -> str:
    """The one of some names that a text is but for capitals and what stands between words; else the text.

    >>> spelled("all_reduce", ["all-reduce"]), spelled("AllToAll", ["all-to-all"]), spelled("gossip", ["reduce"])
    ('all-reduce', 'all-to-all', 'gossip')
    """

    def bare(name: str) -> str:
        return re.sub("[-_ +]", "", name.lower())

    return next((name for name in names if bare(name) == bare(text)), text)


def quantity(kind: str) -> Read:
    """A value with a unit."""
    return Read(kind, lambda _, text: units.parse(kind, text))


#: The book's name of a primitive, however it is spelled.
PRIMITIVE = Read("primitive", lambda _, text: spelled(text, PRIMITIVES))


def quantities(kind: str) -> Read:
    """Values with units and commas between, as a tuple."""
    return Read(kind, lambda _, text: tuple(units.parse(kind, part) for part in text.split(",")))


def whole(least: int = 0, most: int | None = None) -> Read:
    """A whole number.

    >>> whole(1).convert("0", click.Option(["--nodes"]), None)
    Traceback (most recent call last):
    ValueError: nodes 0: must be at least 1
    """

    def read(name: str, text: str) -> int:
        number = units.whole(name, text, str(least or 1))
        if number < least:
            raise ValueError(f"{name} {number}: must be at least {least}")
        if most is not None:
            check_size(name, number, most, name)
        return number

    return Read("whole number", read)


_EXAMPLES = {"alpha": ("0.6us", "2.7us"), "bandwidth": ("450GB/s", "50GB/s")}  # in a box, and outside


@dataclass(frozen=True)
class Network:
    """What --message, --alpha and --bandwidth say."""

    message: float
    alpha: Price | None
    bandwidth: Price | None

    def on(self, topology: Topology) -> dict[str, Any]:
        """Message, alphas and bandwidths; by default a machine's, or the anchor's on one level."""
        levels = topology.levels
        price: dict[str, Any] = {"message": self.message}
        usual = topology.speeds or ((ANCHOR_ALPHA,), (ANCHOR_BANDWIDTH,))
        given = {"alpha": self.alpha, "bandwidth": self.bandwidth}
        for (name, option), default in zip(given.items(), usual, strict=True):
            price[name] = default if option is None else tuple(option)  # type: ignore[arg-type]
        unfit = [name for name in given if len(price[name]) != levels]
        if unfit:
            options = (f"--{name} {','.join(_EXAMPLES[name][min(k, 1)] for k in range(levels))}" for name in unfit)
            name = unfit[0]
            names = ", ".join(next(tier.name for tier in topology.tiers if tier.level == k) for k in range(levels))
            needed = f"{levels} values, innermost first ({names})" if levels > 1 else "one value"
            what = f"not {len(price[name])}" if given[name] is not None else "and has none of its own"
            raise ValueError(f"{topology.name} takes {needed} for --{name}, {what}: say {' '.join(options)}")
        return price

    def with_speeds(self, topology: Topology) -> Topology:
        """The topology with the bandwidths that are given, for which a forest is packed; without any as it is."""
        if self.bandwidth is None:
            return topology
        price = self.on(topology)
        return replace(topology, speeds=(price["alpha"], price["bandwidth"]))


_BY_LEVEL = "(default: {}, or a machine's own; on several tiers one for each level, innermost first)"
bandwidth_option = click.option(
    "--bandwidth", type=quantities("bandwidth"), help=f"BW, such as 50GB/s or 400Gb/s {_BY_LEVEL.format('900GB/s')}"
)


def priced(command: Callable[..., Any]) -> Callable[..., Any]:
    """A command that takes a message size and speeds, as a `Network`."""

    @click.option("--message", type=quantity("message size"), default="16MB", help="M, such as 1.5GB or 256MiB")
    @click.option("--alpha", type=quantities("time"), help=f"latency, such as 1us {_BY_LEVEL.format('0.5us')}")
    @bandwidth_option
    @wraps(command)
    def with_network(*, message: float, alpha: Price | None, bandwidth: Price | None, **others: Any) -> Any:
        return command(network=Network(message, alpha, bandwidth), **others)

    return with_network


def answered(command: Callable[..., Answer]) -> Callable[..., None]:
    """A command that prints what the function yields, and takes --json; at the end what is left out of a machine `on`.

    >>> @answered
    ... def half(number):
    ...     yield {"half": number / 2}
    ...     yield f"half of {number} is {number / 2}"
    >>> half(number=3, as_json=False)
    half of 3 is 1.5
    """

    @click.option("--json", "as_json", is_flag=True, help="print JSON")
    @wraps(command)
    def printed(*, as_json: bool, **arguments: Any) -> None:
        answer = command(**arguments)
        result = next(answer)
        note = note_of(arguments.get("on") or arguments.get("fabric") or "")
        if as_json:
            shown = result() if callable(result) else result
            answer = iter([json_text(shown | {"note": note} if note else shown)])
        elif note:
            answer = chain(answer, [f"\nOf this machine, {note}."])
        for text in answer:
            click.echo(text)

    return printed


def json_text(result: Any) -> str:
    """A result as the JSON that every command prints."""
    return json.dumps(result, indent=2, allow_nan=False)


PATIENCE = 5.0  # seconds, after which something at work is named


def progress(items: Iterable[Item], name: Callable[[Item], str]) -> AbstractContextManager[Iterable[Item]]:
    """The items; standard error names the one at work: a terminal in a bar, and else a line, if it takes long."""
    listed, hidden = list(items), not sys.stderr.isatty()
    return click.progressbar(
        _named_if_long(listed, name) if hidden else listed,
        length=len(listed),
        hidden=hidden,
        file=sys.stderr,
        item_show_func=lambda item: None if item is None else name(item),
    )


def _named_if_long(items: Sequence[Item], name: Callable[[Item], str]) -> Iterator[Item]:
    for number, item in enumerate(items, 1):
        line, done = f"{number} of {len(items)}, {name(item)}: still at work after {PATIENCE:g} s", Event()
        Thread(target=_said_late, args=(line, done), daemon=True).start()
        try:
            yield item
        finally:
            done.set()


def _said_late(line: str, done: Event) -> None:
    if not done.wait(PATIENCE):
        click.echo(line, err=True)


def table(headers: Sequence[str], rows: Sequence[Any], widths: Sequence[int | None] | None = None) -> str:
    """A table whose cells stand as they are, broken where they are wider than given.

    >>> print(table(("N", "time"), [("08", "1e3")]))
    N    time
    ---  ------
    08   1e3
    """
    return tabulate(rows, headers=headers, disable_numparse=True, maxcolwidths=widths)


def speeds(alpha: Sequence[float], bandwidth: Sequence[float]) -> str:
    """Latencies and bandwidths of every level, for people.

    >>> speeds((0.5e-6,), (900e9,))
    'alpha = 500 ns, BW = 900 GB/s'
    """
    return f"alpha = {' | '.join(map(units.seconds, alpha))}, BW = {' | '.join(map(units.rate, bandwidth))}"

"""How a command answers: in words and tables, or as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from functools import wraps
from typing import Any

import click
from tabulate import tabulate

#: What a command yields: first what --json prints, then the paragraphs that it prints otherwise.
Answer = Iterator[Any]


def answered(command: Callable[..., Answer]) -> Callable[..., None]:
    """A command that prints what the function yields, and takes --json.

    >>> @answered
    ... def half(number):
    ...     yield {"half": number / 2}
    ...     yield f"half of {number} is {number / 2}"
    >>> half(number=3, as_json=False)
    half of 3 is 1.5
    """

    @click.option("--json", "as_json", is_flag=True, help="print JSON")
    @wraps(command)
    def printed(*, as_json: bool, **given: Any) -> None:
        answer = command(**given)
        result = next(answer)
        for text in [json_text(result)] if as_json else answer:
            click.echo(text)

    return printed


def json_text(result: Any) -> str:
    """A result as the JSON that every command prints."""
    return json.dumps(result, indent=2, allow_nan=False)


def table(headers: Sequence[str], rows: Sequence[Any], widths: Sequence[int | None] | None = None) -> str:
    """A table whose cells stand as they are, broken where they are wider than given.

    >>> print(table(("N", "time"), [("08", "1e3")]))
    N    time
    ---  ------
    08   1e3
    """
    return tabulate(rows, headers=headers, disable_numparse=True, maxcolwidths=widths)


def lines(rows: Sequence[Sequence[str]], widths: Sequence[int | None] | None = None) -> str:
    """Lines of a name and what is said about it.

    >>> print(lines([("trees", "3"), ("bottleneck", "none")]))
    trees       3
    bottleneck  none
    """
    return tabulate(rows, tablefmt="plain", disable_numparse=True, maxcolwidths=widths)

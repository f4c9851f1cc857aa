"""What an explorer is made of: controls that the reader moves, parts that follow them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

State = dict[str, Any]
Values = Sequence[Hashable] | Mapping[Any, str]


@dataclass(frozen=True)
class Control:
    """One thing the reader can move.

    `values` is a sequence, a mapping from value to display text, or a function of the earlier
    controls' values that returns either; `depends_on` narrows which earlier controls it reads
    (default: all of them).  `start` defaults to the first value.

    >>> Control("n", "Ranks N", [2, 4, 8], start=4)
    Control(name='n', label='Ranks N', start=4, kind='slider')
    """

    name: str
    label: str
    values: Values | Callable[[State], Values] = field(repr=False)
    start: Hashable | None = None
    kind: Literal["slider", "select"] = "slider"
    format: Callable[[Any], str] = field(default=str, repr=False)
    depends_on: tuple[str, ...] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.kind not in ("slider", "select"):
            raise ValueError(f"control {self.name!r} has the kind {self.kind!r}; say 'slider' or 'select'")
        if not callable(self.values) and self.depends_on:
            raise ValueError(f"control {self.name!r} depends on others, so its values must be a function")

    def choices(self, state: State) -> dict[Any, str]:
        """The values on offer in `state`, each with its display text."""
        values = self.values(dict(state)) if callable(self.values) else self.values
        if isinstance(values, Mapping):
            found = {value: str(text) for value, text in values.items()}
        else:
            found = {}
            for value in values:
                if value in found:
                    raise ValueError(f"control {self.name!r} offers {value!r} twice; values must differ")
                found[value] = self.format(value)
        if not found:
            where = f" where {_say(state)}" if state else ""
            raise ValueError(f"control {self.name!r} has no values{where}; give at least one")
        if len(set(found.values())) < len(found):
            raise ValueError(f"control {self.name!r} shows two of its values with the same text; make them differ")
        return found


@dataclass(frozen=True)
class Part:
    """A fragment of HTML that depends on the named controls only.

    `render` gets their values as a dict, and returns markup or anything with a ``fragment()``
    (a `Chart`, a `Table`).  `label` names the part for screen readers if it has to scroll.
    """

    depends_on: tuple[str, ...]
    render: Callable[[State], Any]
    label: str = ""

    def html(self, state: State) -> str:
        """The fragment for `state`, of which only the controls named are passed on."""
        made = self.render({name: state[name] for name in self.depends_on})
        return made if isinstance(made, str) else str(made.fragment())


def _say(state: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in state.items())

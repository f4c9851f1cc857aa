"""What an explorer is made of: controls and quantities that the reader moves, parts that follow them."""

import re
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from inspect import signature
from math import log10
from typing import Any, ClassVar, Literal

from colllib import units

State = dict[str, Any]
Values = Sequence[Hashable] | Mapping[Any, str]


def reads(function: Callable[..., Any]) -> tuple[str, ...]:
    """The controls that a function asks for, by the names of its parameters.

    >>> reads(lambda n, root: n)
    ('n', 'root')
    """
    parameters = signature(function).parameters.values()
    return tuple(parameter.name for parameter in parameters if parameter.kind != parameter.VAR_KEYWORD)


def counted(last: int, first: int = 0) -> dict[int, str]:
    """Values of a control over steps.

    >>> counted(2)
    {0: '0 of 2', 1: '1 of 2', 2: '2 of 2'}
    """
    return {t: f"{t} of {last}" for t in range(first, last + 1)}


@dataclass(frozen=True)
class Control:
    """One thing the reader can choose.

    `values` is a sequence, a mapping from value to display text, or a function that returns either;
    its parameters are earlier controls (or `depends_on` names them).  `start` defaults to the first
    value.  A "number" is a slider with a field that takes one of the values.  What never offers
    more than three values becomes radio buttons.

    >>> Control("n", "Ranks N", [2, 4, 8, 16], start=4)
    Control(name='n', label='Ranks N', start=4, kind='slider')
    """

    name: str
    label: str
    values: Values | Callable[..., Values] = field(repr=False)
    start: Hashable | None = None
    kind: Literal["slider", "select", "number"] = "slider"
    format: Callable[[Any], str] = field(default=str, repr=False)
    depends_on: tuple[str, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        if self.kind not in ("slider", "select", "number"):
            raise ValueError(f"control {self.name!r} has the kind {self.kind!r}; say 'slider', 'select' or 'number'")
        if not callable(self.values) and self.depends_on:
            raise ValueError(f"control {self.name!r} depends on others, so its values must be a function")
        if callable(self.values):
            object.__setattr__(self, "depends_on", self.depends_on or reads(self.values))

    def choices(self, state: State) -> dict[Any, str]:
        """The values on offer in `state`, each with its display text."""
        values = self.values
        if callable(values):
            values = values(**{name: state[name] for name in self.depends_on})
        pairs = values.items() if isinstance(values, Mapping) else [(value, self.format(value)) for value in values]
        texts = [(value, str(text)) for value, text in pairs]
        if not texts:
            settings = ", ".join(f"{name} = {value}" for name, value in state.items())
            condition = f" where {settings}" if state else ""
            raise ValueError(f"control {self.name!r} has no values{condition}; give at least one")
        for column in zip(*texts, strict=True):
            for one, times in Counter(column).items():
                if times > 1:
                    raise ValueError(f"control {self.name!r} offers {one!r} twice; values and their texts must differ")
        return dict(texts)


_TEXT: dict[str, Callable[[float, int], str]] = {
    "message size": units.size,
    "time": units.seconds,
    "bandwidth": units.rate,
    "number": lambda value, digits: f"{value:.{digits}g}",
}


@dataclass(frozen=True)
class Quantity:
    """A number that the reader types or slides; the page prices with it, so no fragment depends on it.

    The ends of the slider are powers of ten but for a "number", which has no unit and a linear slider. Any value above
    0 can be typed, of a number only those between.

    >>> message = Quantity("m", "Message M", "message size", 1e2, 1e11, 16e6)
    >>> message.text(message.read("64 MB")), message.at(64e6)
    ('64 MB', 58)
    """

    name: str
    label: str
    kind: Literal["message size", "time", "bandwidth", "number"]
    low: float
    high: float
    start: float
    only_with: str = ""  # the control with whose first choice it decides nothing, and is not shown
    depends_on: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        if self.kind not in _TEXT:
            raise ValueError(f"quantity {self.name!r} has the kind {self.kind!r}; say one of {', '.join(_TEXT)}")
        if not 0 < self.low <= self.start <= self.high:
            raise ValueError(
                f"quantity {self.name!r}: {self.low} < start {self.start} < {self.high} must hold, above 0"
            )

    def text(self, value: float, digits: int = 4) -> str:
        """The value for reading."""
        return _TEXT[self.kind](value, digits)

    def read(self, text: str) -> float:
        """What a reader typed.

        Raises:
            ValueError: if it cannot be read, is not above 0, or is a number outside the slider.
        """
        if self.kind != "number":
            value = units.parse(self.kind, re.sub(r",(?=[0-9]{3}(?![0-9]))", "", text))  # "1,000 B"
            if value == 0:
                raise ValueError(f"{self.kind} {text!r}: must be above 0")
            return value
        value = float(text) if re.fullmatch(r" *(\d+\.?\d*|\.\d+)(e-?\d{1,3})? *", text, re.ASCII) else 0.0
        if not self.low <= value <= self.high:
            raise ValueError(f"{text!r}: must be a number from {self.low:g} to {self.high:g}")
        return value

    @property
    def marks(self) -> list[float]:
        """The values of the slider: ten in a decade, or of a number its lowest and the hundredths of its highest."""
        if self.kind == "number":
            hundredths = [float(f"{self.high * k / 100:.4g}") for k in range(1, 101)]
            return [self.low, *(value for value in hundredths if value > self.low)]
        decades = range(round(log10(self.low)), round(log10(self.high)))
        nice = (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8)
        return [*(float(f"{digits}e{k}") for k in decades for digits in nice), self.high]

    def at(self, value: float) -> int:
        """The mark that is nearest to a value."""
        marks = self.marks
        scale = float if self.kind == "number" else log10
        return min(range(len(marks)), key=lambda k: abs(scale(marks[k]) - scale(value)))


@dataclass(frozen=True)
class Part:
    """A fragment of HTML that depends on some controls only.

    The parameters of `render` are those controls (or `depends_on` names them); it returns markup or
    anything with a ``fragment()`` (a `Chart`, a `Table`).  `label` names the part for screen readers
    if it has to scroll.  `fold` is what to click on to see it, below everything else; "" shows it at once.
    """

    render: Callable[..., Any]
    label: str = ""
    fold: str = ""
    depends_on: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "depends_on", self.depends_on or reads(self.render))

    def html(self, state: State) -> str:
        """The fragment for `state`, of which only those controls are passed on."""
        rendered = self.render(**{name: state[name] for name in self.depends_on})
        if not isinstance(rendered, str) and not hasattr(rendered, "fragment"):
            raise ValueError(f"part {self.label!r} rendered {rendered!r}: must be markup, or have a fragment()")
        return rendered if isinstance(rendered, str) else str(rendered.fragment())

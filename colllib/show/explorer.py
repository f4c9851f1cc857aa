"""The explorer: controls, and parts that follow them.

One object serves both worlds.  With a kernel it is ipywidgets; in a page without one it is native
HTML controls and a small script that swaps the fragments rendered here, and prices exact counts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from colllib.show.control import Control, Part, Quantity, State
from colllib.show.looks import Look, known
from colllib.show.page import static_html
from colllib.show.race import Race, Row
from colllib.show.theme import typeset
from colllib.show.views import Summary, View

if TYPE_CHECKING:
    from colllib.show.live import Live

FEW = 3  # values that stand side by side
MOST_STATES = 6_000
MOST_BYTES = 8_000_000


@dataclass(frozen=True)
class Explorer:
    """Controls and parts, with a summary that is read out after each move.

    `summary` returns plain text (its parameters are controls, as a part's), or is a sentence with slots
    about the first race of the parts (see `Summary`).  `play` names the control that Previous, Play and Next
    move.  `name` is the explorer's address in a page (default: its title in small letters).  `note` says
    what it rests on, folded below everything.

    >>> square = Part(lambda n: f"<p>{n} squared is {n**2}</p>")
    >>> numbers = Control("n", "Number n", range(5), start=2)
    >>> explorer = Explorer("Squares", [numbers], [square], lambda n: f"{n} times {n}")
    >>> explorer
    Explorer: Squares (Number n)
    >>> explorer.grid["fragments"][:2]
    ['<p>0 squared is 0</p>', '<p>1 squared is 1</p>']
    """

    title: str
    controls: Sequence[Control | Quantity]
    parts: Sequence[Part | View]
    summary: str | Part | View | Callable[..., str]
    play: str | None = None
    name: str = ""
    note: str = ""
    note_title: str = "What is priced here"
    _offers: dict[tuple[Any, ...], dict[Any, str]] = field(default_factory=dict, init=False, repr=False, compare=False)
    _rendered: dict[tuple[Any, ...], str] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.note:
            object.__setattr__(self, "parts", (*self.parts, Part(lambda: f"<p>{self.note}</p>", fold=self.note_title)))
        names = [control.name for control in self.controls]
        if not names or not self.parts:
            raise ValueError(f"explorer {self.title!r} needs at least one control and one part")
        chosen = [control.name for control in self.controls if isinstance(control, Control)]
        for place, control in enumerate(self.controls):
            name, before = repr(control.name), names[:place]
            if control.name in before:
                raise ValueError(f"two controls have the name {name}; names must differ")
            _refuse_unknown(f"control {name} depends on", control.depends_on, before, "earlier control")
            if isinstance(control, Quantity) and control.only_with:
                _refuse_unknown(f"quantity {name} is shown with", [control.only_with], chosen)
        _refuse_unknown("play names", [self.play] if self.play else [], chosen)
        for number, part in enumerate(self.all_parts):
            needed = part.race.depends_on if isinstance(part, View) else part.depends_on
            _refuse_unknown(f"{self._part_name(number)} depends on", needed, chosen)
        self.start  # noqa: B018  (raises where a start value is not on offer)

    def __repr__(self) -> str:
        return f"Explorer: {self.title} ({', '.join(control.label for control in self.controls)})"

    def form(self, place: int) -> str:
        """How control number `place` is shown: as its kind says; few values as "radio" buttons; one alone, "", not."""
        control, most = self.controls[place], max(map(len, self.offers(place)))
        if most > FEW or control.name == self.play:
            return control.kind
        return "radio" if most > 1 else ""

    @property
    def address(self) -> str:
        """What leads to it within a page."""
        return self.name or slug(self.title)

    def idle(self, place: int, state: State) -> bool:
        """Whether control number `place` decides nothing in `state`: one choice alone, or `only_with` has its first."""
        control = self.controls[place]
        if isinstance(control, Control):
            return len(self.choices(place, state)) == 1
        if not control.only_with:
            return False
        other = [one.name for one in self.controls].index(control.only_with)
        return bool(state[control.only_with] == next(iter(self.choices(other, state))))

    # -- states ---------------------------------------------------------------------------

    @cached_property
    def all_parts(self) -> tuple[Part | View, ...]:
        """The parts, and last of all the summary, whose text is escaped."""
        summary = self.summary
        if isinstance(summary, str):
            race = next((part.race for part in self.parts if isinstance(part, View)), None)
            if race is None:
                raise ValueError(
                    f"explorer {self.title!r}: a text as summary needs a part with a race: give a function"
                )
            summary = Summary(race, text=summary)
        if isinstance(summary, View):
            return (*self.parts, summary)
        plain = summary if isinstance(summary, Part) else Part(summary)
        return (*self.parts, Part(lambda **state: typeset(plain.render(**state)), depends_on=plain.depends_on))

    @cached_property
    def order(self) -> list[int]:
        """The parts by number as they stand: the summary, which is the answer, the parts, those folded."""
        return [len(self.parts), *sorted(range(len(self.parts)), key=lambda k: bool(self.parts[k].fold))]

    def _part_name(self, number: int) -> str:
        return "the summary" if number == len(self.parts) else f"part {number + 1}"

    def texts(self, state: State) -> dict[str, str]:
        """The text of every control."""
        return {
            control.name: control.text(state[control.name])
            if isinstance(control, Quantity)
            else self.choices(place, state)[state[control.name]]
            for place, control in enumerate(self.controls)
        }

    def needs(self, place: int) -> tuple[int, ...]:
        """The earlier controls that decide what control number `place` offers."""
        return self.closure(self.controls[place].depends_on)

    def closure(self, names: Sequence[str]) -> tuple[int, ...]:
        """The controls named, and those that decide what they offer, in order."""
        places: set[int] = set()
        for place, control in enumerate(self.controls):
            if control.name in names:
                places |= {place, *self.needs(place)}
        return tuple(sorted(places))

    def choices(self, place: int, state: State) -> dict[Any, str]:
        """What control number `place` offers in `state`, as value: text."""
        control = self.controls[place]
        assert isinstance(control, Control), f"{control.name} offers no choices"
        needed = {self.controls[k].name: state[self.controls[k].name] for k in self.needs(place)}
        key = (place, *needed.values())
        if key not in self._offers:
            self._offers[key] = control.choices(needed)
        return self._offers[key]

    def offers(self, place: int) -> list[list[str]]:
        """What control number `place` offers in every state of those that decide it, as texts."""
        return [list(self.choices(place, state).values()) for state in self.states(self.needs(place))]

    @cached_property
    def start(self) -> State:
        """The state that is shown first."""
        state: State = {}
        for place, control in enumerate(self.controls):
            if isinstance(control, Quantity):
                state[control.name] = control.start
                continue
            offered = self.choices(place, state)
            value = next(iter(offered)) if control.start is None else control.start
            if value not in offered:
                raise ValueError(
                    f"control {control.name!r} starts at {value!r}, which is not among its values: "
                    f"{', '.join(map(str, islice(offered, 12)))}{', ...' if len(offered) > 12 else ''}"
                )
            state[control.name] = value
        return state

    def states(self, on: Sequence[int], state: State | None = None) -> Iterator[State]:
        """Every state of the controls numbered `on` (which must include what they need)."""
        state = state or {}
        if not on:
            yield state
            return
        for value in self.choices(on[0], state):
            yield from self.states(on[1:], {**state, self.controls[on[0]].name: value})

    def tree(self, on: Sequence[int], leaf: Callable[[State], Any], state: State | None = None) -> Any:
        """`leaf` of every state, as nested lists with one level for each control in `on`."""
        state = state or {}
        if not on:
            return leaf(state)
        name = self.controls[on[0]].name
        return [self.tree(on[1:], leaf, {**state, name: value}) for value in self.choices(on[0], state)]

    def _limited(self, names: Sequence[str], what: str) -> tuple[int, ...]:
        """The `closure` of the controls that `what` depends on, whose states a page can hold."""
        on = self.closure(names)
        if sum(1 for _ in islice(self.states(on), MOST_STATES + 1)) > MOST_STATES:
            raise ValueError(
                f"{what} has more than {MOST_STATES:,} states; let it depend on fewer controls, or offer fewer values"
            )
        return on

    # -- rendering ------------------------------------------------------------------------

    def render(self, number: int, state: State) -> str:
        """The markup of a part (the last one is the summary) in `state`; a fragment is made once."""
        part = self.all_parts[number]
        if isinstance(part, View):
            return part.draw(state, self.texts(state))
        key = (number, *(state[name] for name in part.depends_on))
        if key not in self._rendered:
            self._rendered[key] = part.html(state)
        return self._rendered[key]

    @cached_property
    def grid(self) -> dict[str, Any]:
        """Every state, rendered: nested lists of fragment numbers over the controls, and the fragments; races, views.

        Raises:
            ValueError: where something has too many states for a page.
        """
        fragments: dict[str, int] = {}

        def numbered(part: int, state: State) -> int:
            return fragments.setdefault(self.render(part, state), len(fragments))

        races = list(dict.fromkeys(part.race for part in self.all_parts if isinstance(part, View)))
        parts = []
        for number, part in enumerate(self.all_parts):
            if isinstance(part, View):
                parts.append({"race": races.index(part.race), **part.options()})
                continue
            on = self._limited(part.depends_on, f"{self._part_name(number)} ({', '.join(part.depends_on)})")
            parts.append({"on": on, "tree": self.tree(on, partial(numbered, number))})
        names = [control.name for control in self.controls]
        return {
            "start": [self._place_of(self.start[name], place) for place, name in enumerate(names)],
            "controls": [self._offer(place) for place in range(len(names))],
            "parts": parts,
            "fragments": list(fragments),
            "races": [self._race(race) for race in races],
            "play": names.index(self.play) if self.play else None,
        }

    @cached_property
    def payload(self) -> str:
        """The grid for the page's script, the same text on every machine.

        Raises:
            ValueError: if it is too large for a page.
        """
        text = _dense(self.grid)
        if (size := len(text.encode())) > MOST_BYTES:
            raise ValueError(
                f"explorer {self.title!r} unpacks to {size / 1e6:.1f} MB, over the {MOST_BYTES / 1e6:g} MB a page can "
                "take; offer fewer values, or split large parts"
            )
        return text

    def _place_of(self, value: Any, place: int) -> float:
        """A value of control number `place` as the page has it: that of a quantity itself, of a choice its number."""
        control = self.controls[place]
        return value if isinstance(control, Quantity) else list(self.choices(place, self.start)).index(value)

    def _offer(self, place: int) -> dict[str, Any]:
        """What the page needs to know of a control."""
        control = self.controls[place]
        if isinstance(control, Quantity):
            shown_with = {"with": control.only_with} if control.only_with else {}
            return {"name": control.name, "kind": control.kind, "marks": control.marks, **shown_with}
        on = self._limited(control.depends_on, f"the range of control {control.name!r}")
        tree = self.tree(on, lambda state: list(self.choices(place, state).values()))
        offer: dict[str, Any] = {"name": control.name, "on": on, "tree": tree}
        values = [] if callable(control.values) else list(control.values)
        if any(isinstance(value, int | float) and str(value) != control.format(value) for value in values):
            offer["numbers"] = values
        return offer

    def _race(self, race: Race) -> dict[str, Any]:
        """The rows of a race in every state of its controls; equal ones once."""
        on = self._limited(race.depends_on, f"a race ({', '.join(race.depends_on)})")
        rows: dict[str, int] = {}
        variants: dict[str, int] = {}

        def packed(row: Row, look: Look) -> dict[str, Any]:
            counts = _dense({label: form.counts for label, form in row.variants.items()})
            return {**row.packed(), "w": variants.setdefault(counts, len(variants)), "l": look}

        def numbered(state: State) -> int:
            fields = [packed(row, look) for row, look in zip(race.rows_in(state), race.looks(state), strict=True)]
            return rows.setdefault(_dense(fields), len(rows))

        tree = self.tree(on, numbered)
        forms = [json.loads(counts) for counts in variants]
        looks = {label: look for form in forms for label in form if (look := known(label))}
        return {
            "on": on,
            "tree": tree,
            "rows": [json.loads(fields) for fields in rows],
            "m": race.message,
            "a": race.alpha,
            "s": race.bandwidth,
            "looks": looks,
            "variants": forms,
            **({"v": race.levels} if race.levels else {}),
        }

    # -- showing --------------------------------------------------------------------------

    @cached_property
    def live(self) -> Live:
        """The ipywidgets form: ``live.controls[name]`` moves, ``live.parts`` follow."""
        from colllib.show.live import Live

        return Live(self)

    @cached_property
    def _html(self) -> str:
        return static_html(self)

    def _repr_html_(self) -> str:
        return self._html

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:
        bundle: dict[str, Any] = {"text/plain": repr(self), "text/html": self._html}
        view = self.live.box._repr_mimebundle_()
        bundle.update({kind: data for kind, data in view.items() if kind.endswith("widget-view+json")})
        return bundle


def _refuse_unknown(what: str, names: Iterable[str], offered: Sequence[str], kind: str = "control") -> None:
    for name in names:
        if name not in offered:
            raise ValueError(f"{what} {name!r}, which is no {kind}; the {kind}s are {', '.join(offered)}")


def _dense(data: object) -> str:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))


def slug(text: str) -> str:
    """A text as part of an address.

    >>> slug("All-reduce, step by step"), slug("0 of 6"), slug("4 × 4")
    ('all-reduce-step-by-step', '0-of-6', '4-4')
    """
    return re.sub(r"[^a-z0-9.]+", "-", text.lower()).strip("-")

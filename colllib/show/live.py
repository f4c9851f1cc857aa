"""The explorer with a kernel: ipywidgets, filled by the same render functions as the page."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import ipywidgets as widgets

from colllib.show.theme import escape, style

if TYPE_CHECKING:
    from colllib.show.control import State
    from colllib.show.explorer import Explorer

PAUSE = 0.9  # seconds between steps while playing


class Live:
    """Widgets for an explorer; moving a control, by hand or from Python, redraws the parts.

    >>> from colllib.show import Control, Explorer, Part
    >>> ring = Part(("n",), lambda s: f"<p>{2 * (s['n'] - 1)} steps</p>")
    >>> live = Explorer("Ring", [Control("n", "Ranks N", [2, 4, 8])], [ring]).live
    >>> live.controls["n"].index = 2
    >>> live.parts[0].value
    '<p>14 steps</p>'
    """

    def __init__(self, explorer: Explorer) -> None:
        self.explorer = explorer
        self._texts: list[list[str]] = []
        self._busy = False
        self._playing = False
        self.controls: dict[str, Any] = {}
        state: State = {}
        for place, control in enumerate(explorer.controls):
            offered = explorer.choices(place, state)
            state[control.name] = explorer.start[control.name]
            make = widgets.SelectionSlider if control.kind == "slider" else widgets.Dropdown
            texts = list(offered.values())
            widget = make(
                options=[(text, k) for k, text in enumerate(texts)],
                index=list(offered).index(state[control.name]),
                description=control.label,
                style={"description_width": "initial"},
                layout={"max_width": "36em", "width": "auto"},
            )
            self._texts.append(texts)
            self.controls[control.name] = widget
            widget.observe(lambda _, place=place: self._moved(place), names="index")
        self.parts = [widgets.HTML() for _ in explorer.all_parts]
        for part in self.parts:
            part.add_class("cl-part")
        self.box = widgets.VBox([self._head(), *self.controls.values(), *self._buttons(), *self.parts])
        for name in ("colllib", "cl-explorer", "cl-live"):
            self.box.add_class(name)
        self._draw()

    def _head(self) -> widgets.HTML:
        return widgets.HTML(f'{style("theme", "explorer", "pen")}<p class="cl-title">{escape(self.explorer.title)}</p>')

    def _buttons(self) -> list[widgets.HBox]:
        if self.explorer.play is None:
            return []
        slider = self.controls[self.explorer.play]
        previous, self._play, following = (widgets.Button(description=w) for w in ("Previous", "Play", "Next"))
        previous.on_click(lambda _: self._step(slider, -1))
        following.on_click(lambda _: self._step(slider, +1))
        self._play.on_click(lambda _: self._toggle(slider))
        return [widgets.HBox([previous, self._play, following])]

    def _step(self, slider: Any, by: int) -> None:
        slider.index = min(max(slider.index + by, 0), len(slider.options) - 1)

    def _toggle(self, slider: Any) -> None:
        self._playing = not self._playing
        self._play.description = "Pause" if self._playing else "Play"
        if self._playing:
            if slider.index == len(slider.options) - 1:
                slider.index = 0
            self._task = asyncio.ensure_future(self._run(slider))
        else:
            self._task.cancel()

    async def _run(self, slider: Any) -> None:
        while slider.index < len(slider.options) - 1:
            await asyncio.sleep(PAUSE)
            self._step(slider, +1)
        self._playing = False
        self._play.description = "Play"

    @property
    def state(self) -> State:
        """The values the controls stand at."""
        state: State = {}
        for place, control in enumerate(self.explorer.controls):
            offered = list(self.explorer.choices(place, state))
            state[control.name] = offered[self.controls[control.name].index]
        return state

    def _moved(self, moved: int) -> None:
        if self._busy:
            return
        self._busy = True
        try:
            state: State = {}
            for place, control in enumerate(self.explorer.controls):
                offered = self.explorer.choices(place, state)
                if place > moved:
                    self._refit(place, list(offered.values()))
                state[control.name] = list(offered)[self.controls[control.name].index]
            self._draw()
        finally:
            self._busy = False

    def _refit(self, place: int, texts: list[str]) -> None:
        """Keep the text where the new range has it, else clamp; the page's script does the same."""
        old = self._texts[place]
        if texts == old:
            return
        widget = self.controls[self.explorer.controls[place].name]
        text, index = old[widget.index], widget.index
        self._texts[place] = texts
        widget.options = [(shown, k) for k, shown in enumerate(texts)]
        widget.index = texts.index(text) if text in texts else min(index, len(texts) - 1)

    def _draw(self) -> None:
        state = self.state
        last = len(self.parts) - 1
        for number, part in enumerate(self.parts):
            made = self.explorer.render(number, state)
            part.value = f'<p class="cl-summary" aria-live="polite">{made}</p>' if number == last else made

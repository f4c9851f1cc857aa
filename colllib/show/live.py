"""The explorer with a kernel: ipywidgets, filled by the same render functions as the page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import ipywidgets as widgets

from colllib.show.control import Control, Quantity
from colllib.show.theme import escape, style

if TYPE_CHECKING:
    from colllib.show.control import State
    from colllib.show.explorer import Explorer

WIDE = {"description_width": "8em"}

PAUSE = 900  # milliseconds between steps while playing


class Live:
    """Widgets for an explorer; moving a control, by hand or from Python, redraws the parts.

    ``controls[name]`` has an index for a choice, and for a quantity a value, which is text; ``state`` has their values.

    >>> from colllib.show import Control, Explorer, Part
    >>> ring = Part(lambda n: f"<p>{2 * (n - 1)} steps</p>")
    >>> live = Explorer("Ring", [Control("n", "Ranks N", [2, 4, 8])], [ring], lambda n: f"{n} ranks").live
    >>> live.controls["n"].index = 2
    >>> live.parts[0].value
    '<p>14 steps</p>'
    """

    def __init__(self, explorer: Explorer) -> None:
        self.explorer = explorer
        self.state: State = dict(explorer.start)
        self._busy = False
        self.controls: dict[str, Any] = {}
        self._shown = [
            self._quantity(control) if isinstance(control, Quantity) else self._choice(place, control)
            for place, control in enumerate(explorer.controls)
        ]
        self.parts = [widgets.HTML() for _ in explorer.all_parts]
        for part in self.parts:
            part.add_class("cl-part")
        head = widgets.HTML(f'{style("theme", "explorer", "pen")}<p class="cl-title">{escape(explorer.title)}</p>')
        self.box = widgets.VBox([head, *self._shown, *self._played(), *(self.parts[k] for k in explorer.order)])
        for name in ("colllib", "cl-explorer", "cl-live"):
            self.box.add_class(name)
        self._draw()

    def _choice(self, place: int, control: Control) -> Any:
        offered, form = self.explorer.choices(place, self.explorer.start), self.explorer.form(place)
        few = {"select": widgets.Dropdown, "radio": widgets.ToggleButtons}
        widget = few.get(form, widgets.SelectionSlider)(
            options=[(text, k) for k, text in enumerate(offered.values())],
            index=list(offered).index(self.explorer.start[control.name]),
            description=control.label,
            style=WIDE if form != "radio" else {**WIDE, "button_width": "auto"},
            layout={"max_width": "44em", "width": "auto"},
        )
        self.controls[control.name] = widget
        widget.observe(lambda _: self._chosen(place), names="index")
        return widget

    def _quantity(self, control: Quantity) -> widgets.HBox:
        """A slider over the marks, and a field that takes any value and says what it cannot read."""
        start = self.explorer.start[control.name]
        slider = widgets.IntSlider(
            control.at(start), 0, len(control.marks) - 1, description=control.label, style=WIDE, readout=False
        )
        field = widgets.Text(control.text(start), continuous_update=False, layout={"width": "8em"})
        trouble = widgets.HTML()

        def slid(change: dict[str, Any]) -> None:
            if not self._busy:
                field.value = control.text(control.marks[change["new"]])

        def typed(change: dict[str, Any]) -> None:
            try:
                value = control.read(change["new"])
            except ValueError as error:
                trouble.value = f'<span class="cl-error" role="alert">{escape(error)}</span>'
                return
            trouble.value = ""
            self.state[control.name] = value
            self._busy = True
            slider.value = control.at(value)
            self._busy = False
            self._draw()

        slider.observe(slid, names="value")
        field.observe(typed, names="value")
        self.controls[control.name] = field
        return widgets.HBox([slider, field, trouble])

    def _played(self) -> list[widgets.Play]:
        """What plays a control; by hand its slider moves."""
        if self.explorer.play is None:
            return []
        slider = self.controls[self.explorer.play]
        self._play = widgets.Play(slider.index, max=len(slider.options) - 1, interval=PAUSE)
        widgets.link((self._play, "value"), (slider, "index"))
        return [self._play]

    def _chosen(self, changed: int) -> None:
        if self._busy:
            return
        self._busy = True
        try:
            for place, control in enumerate(self.explorer.controls):
                if place < changed or isinstance(control, Quantity):
                    continue
                offered = self.explorer.choices(place, self.state)
                if place > changed:
                    self._refit(control.name, list(offered.values()))
                self.state[control.name] = list(offered)[self.controls[control.name].index]
            self._draw()
        finally:
            self._busy = False

    def _refit(self, name: str, texts: list[str]) -> None:
        """Keep the text where the new range has it, else clamp; the page's script does the same."""
        widget = self.controls[name]
        old, index = [text for text, _ in widget.options], widget.index
        if texts == old:
            return
        if name == self.explorer.play:
            self._play.max = len(texts) - 1
        widget.options = [(text, k) for k, text in enumerate(texts)]
        widget.index = texts.index(old[index]) if old[index] in texts else min(index, len(texts) - 1)

    def _draw(self) -> None:
        for place, shown in enumerate(self._shown):
            shown.layout.set_trait("display", "none" if self.explorer.idle(place, self.state) else None)
        last = len(self.parts) - 1
        for number, part in enumerate(self.parts):
            markup = self.explorer.render(number, self.state)
            part.value = f'<p class="cl-summary" aria-live="polite">{markup}</p>' if number == last else markup

"""The explorer in a page without a kernel: native controls, first state in place, grid as payload."""

from __future__ import annotations

import base64
import zlib
from typing import TYPE_CHECKING

from colllib.show.theme import asset, digest, escape, style

if TYPE_CHECKING:
    from colllib.show.explorer import Explorer


def _control(explorer: Explorer, place: int) -> str:
    control = explorer.controls[place]
    texts = list(explorer.choices(place, explorer.start).values())
    at = explorer.grid.start[place]
    name = f'<span class="cl-name">{escape(control.label)}</span>'
    if control.kind == "select":
        options = "".join(
            f'<option value="{k}"{" selected" if k == at else ""}>{escape(text)}</option>'
            for k, text in enumerate(texts)
        )
        field = f'<select data-control="{place}" autocomplete="off">{options}</select>'
        return f'<label class="cl-control">{name}{field}</label>'
    field = (
        f'<input type="range" data-control="{place}" min="0" max="{len(texts) - 1}" step="1" value="{at}" '
        f'aria-valuetext="{escape(texts[at])}" autocomplete="off">'
    )
    value = f'<span class="cl-value" aria-hidden="true">{escape(texts[at])}</span>'
    return f'<label class="cl-control">{name}{field}{value}</label>'


def _buttons(explorer: Explorer) -> str:
    if explorer.play is None:
        return ""
    label = next(control.label for control in explorer.controls if control.name == explorer.play)
    words = "".join(
        f'<button type="button" data-act="{word.lower()}">{word}</button>' for word in ("Previous", "Play", "Next")
    )
    return f'<div class="cl-buttons" role="group" aria-label="{escape(label)}">{words}</div>'


def _note(explorer: Explorer) -> str:
    told = []
    for place, control in enumerate(explorer.controls):
        texts = list(explorer.choices(place, explorer.start).values())
        span = f"from {texts[0]} to {texts[-1]}" if control.kind == "slider" else f"({', '.join(texts)})"
        told.append(f"{control.label} {span}")
    return f"Shown is one state. With its script running, this page lets you change: {'; '.join(told)}."


def static_html(explorer: Explorer) -> str:
    """The whole static form: style, controls, first state, payload, script.

    The payload's digest is of what it unpacks to: the packed bytes may differ between builds of zlib.
    """
    grid = explorer.grid
    payload = grid.json()
    packed = base64.b64encode(zlib.compress(payload.encode(), 9)).decode()
    last = len(explorer.parts)
    parts = []
    for number, part in enumerate(explorer.parts):
        label = escape(part.label or f"{explorer.title}, part {number + 1}")
        parts.append(
            f'<div class="cl-part cl-scroll" data-part="{number}" tabindex="0" role="group" '
            f'aria-label="{label}">{explorer.render(number, explorer.start)}</div>'
        )
    controls = "".join(_control(explorer, place) for place in range(len(explorer.controls)))
    return (
        f"{style('theme', 'explorer', 'pen')}"
        f'<section class="colllib cl-explorer" aria-label="{escape(explorer.title)}">'
        f'<p class="cl-title">{escape(explorer.title)}</p>'
        f'<fieldset class="cl-controls" disabled><legend class="cl-hidden">Controls</legend>'
        f"{controls}{_buttons(explorer)}</fieldset>"
        f'<p class="cl-note">{escape(_note(explorer))}</p>{"".join(parts)}'
        f'<p class="cl-summary" data-part="{last}" aria-live="polite">{explorer.render(last, explorer.start)}</p>'
        f'<script type="application/x-colllib-grid" data-digest="{digest(payload, 16)}">{packed}</script>'
        f"<script>{asset('explorer.js')}</script></section>"
    )

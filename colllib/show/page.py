"""The explorer in a page without a kernel: native controls, first state in place, grid as payload."""

from __future__ import annotations

import base64
import zlib
from functools import partial
from typing import TYPE_CHECKING

from colllib.show.control import Control, Quantity
from colllib.show.theme import digest, escape, script, style

if TYPE_CHECKING:
    from colllib.show.explorer import Explorer

MANY = 24  # choices that a note does not list
LONG = 22  # letters that fit into one of two columns
SPEEDS = ("0.5", "1", "2", "4")
SOFT_HYPHEN = "\u00ad"


def _control(explorer: Explorer, place: int) -> str:
    """The control as HTML; nothing for one that never offers more than one choice."""
    control = explorer.controls[place]
    name = f'<span class="cl-name">{escape(control.label)}</span>'
    only = " cl-only" if explorer.idle(place, explorer.start) else ""
    if isinstance(control, Quantity):
        value = explorer.start[control.name]
        return _typed(place, control.label, control.text(value), control.at(value), len(control.marks), only)
    texts = list(explorer.choices(place, explorer.start).values())
    at = int(explorer.grid["start"][place])
    form = explorer.form(place)
    if not form:
        return ""
    beside = "".join if form == "radio" else partial(max, key=len)  # a list shows one at a time
    across = " cl-across" if max(len(beside(offer)) for offer in explorer.offers(place)) > LONG else ""
    if form == "radio":
        choices = "".join(
            f'<label><input type="radio" name="{explorer.address}-{place}" value="{k}"{" checked" if k == at else ""} '
            f'autocomplete="off"> {escape(text)}</label>'
            for k, text in enumerate(texts)
        )
        return (
            f'<fieldset class="cl-control{across}{only}" data-control="{place}">'
            f'<legend class="cl-name">{escape(control.label)}</legend>'
            f'<span class="cl-choices">{choices}</span></fieldset>'
        )
    if form == "select":
        options = "".join(
            f'<option value="{k}"{" selected" if k == at else ""}>{escape(text)}</option>'
            for k, text in enumerate(texts)
        )
        field = f'<select data-control="{place}" autocomplete="off">{options}</select>'
        return f'<label class="cl-control{across}{only}">{name}{field}</label>'
    if form == "number":
        return _typed(place, control.label, texts[at], at, len(texts), only)
    value = f'<span class="cl-value" aria-hidden="true">{escape(texts[at])}</span>'
    slider = f'<label class="cl-control{only}">{name}{_slider(place, texts[at], at, len(texts))}{value}</label>'
    return f'<div class="cl-play">{slider}{_buttons(control)}</div>' if control.name == explorer.play else slider


def _slider(place: int, text: str, at: int, count: int, more: str = "") -> str:
    return (
        f'<input type="range" data-control="{place}" min="0" max="{count - 1}" step="1" value="{at}" '
        f'aria-valuetext="{escape(text)}" autocomplete="off"{more}>'
    )


def _typed(place: int, label: str, text: str, at: int, count: int, only: str) -> str:
    """A slider, and a field beside it that says what cannot be read."""
    name = escape(label.replace(SOFT_HYPHEN, ""))
    slider = _slider(place, text, at, count, f' aria-label="{name}"')
    return (
        f'<div class="cl-control{only}"><span class="cl-name">{escape(label)}</span>{slider}'
        f'<input type="text" class="cl-field" value="{escape(text)}" aria-label="{name}, typed" '
        f'autocomplete="off" spellcheck="false"><span class="cl-error" role="alert"></span></div>'
    )


def _buttons(control: Control) -> str:
    """What plays a control, to stand beside it."""
    words = "".join(
        f'<button type="button" data-act="{word.lower()}">{word}</button>' for word in ("Previous", "Play", "Next")
    )
    speeds = "".join(f'<option value="{s}"{" selected" if s == "1" else ""}>{s} ×</option>' for s in SPEEDS)
    return (
        f'<div class="cl-buttons" role="group" aria-label="{escape(control.label)}">{words}'
        f'<select data-act="speed" aria-label="Speed" autocomplete="off">{speeds}</select>'
        '<label><input type="checkbox" data-act="loop" autocomplete="off"> loop</label></div>'
    )


def _note(explorer: Explorer) -> str:
    described = []
    for place, control in enumerate(explorer.controls):
        if isinstance(control, Quantity):
            described.append(f"{control.label} (any value)")
            continue
        texts, form = list(explorer.choices(place, explorer.start).values()), explorer.form(place)
        span = f"({', '.join(texts)})" if form in ("radio", "select") else f"from {texts[0]} to {texts[-1]}"
        if len(texts) > MANY and form == "select":
            span = f"({len(texts)} choices, such as {texts[0]})"
        if form:
            described.append(f"{control.label} {span}")
    return f"Shown is one state. With its script running, this page lets you change: {'; '.join(described)}."


def _part(explorer: Explorer, number: int) -> str:
    if number == len(explorer.parts):
        summary = explorer.render(number, explorer.start)
        return f'<p class="cl-summary" data-part="{number}" aria-live="polite">{summary}</p>'
    part = explorer.parts[number]
    label = escape(part.label or part.fold or f"{explorer.title}, part {number + 1}")
    markup = (
        f'<div class="cl-part cl-scroll" data-part="{number}" tabindex="0" role="group" '
        f'aria-label="{label}">{explorer.render(number, explorer.start)}</div>'
    )
    return f"<details><summary>{escape(part.fold)}</summary>{markup}</details>" if part.fold else markup


def head(title: str) -> str:
    """A title, what copies the address of what is shown, and what tells a screen reader whether that worked."""
    return (
        f'<div class="cl-head"><p class="cl-title">{escape(title)}</p><button type="button" data-act="copy" '
        'class="cl-copy">Copy link</button><span class="cl-hidden" role="status"></span></div>'
    )


def static_html(explorer: Explorer) -> str:
    """The whole static form: style, controls, parts, payload, script."""
    parts = "".join(_part(explorer, k) for k in explorer.order)
    controls = "".join(_control(explorer, k) for k in range(len(explorer.controls)))
    return (
        f'{style("theme", "explorer", "pen")}<section class="colllib cl-explorer" id="{explorer.address}" '
        f'aria-label="{escape(explorer.title)}">{head(explorer.title)}'
        f'<fieldset class="cl-controls" disabled><legend class="cl-hidden">Controls</legend>{controls}</fieldset>'
        f'<p class="cl-note">{escape(_note(explorer))}</p>{parts}'
        f"{packed(explorer.payload)}{script()}</section>"
    )


def packed(payload: str) -> str:
    """The element that carries an explorer's states.

    Its digest is of what it unpacks to: the packed bytes may differ between builds of zlib.
    """
    bytes_of = base64.b64encode(zlib.compress(payload.encode(), 9)).decode()
    return f'<script type="application/x-colllib-grid" data-digest="{digest(payload, 16)}">{bytes_of}</script>'

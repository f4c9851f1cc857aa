"""Style sheets, escaping and colors shared by everything that is shown."""

import hashlib
import json
import re
from collections.abc import Iterable
from functools import cache
from html import escape as _escape
from importlib import resources
from string import ascii_letters

#: Light-theme values of the series colors ``--cl-s1`` to ``--cl-s8`` (see ``static/theme.css``).
SERIES = ("#0b5cad", "#a83f08", "#17703a", "#83359f", "#086b76", "#b0222f", "#6c5d05", "#57606a")


@cache
def asset(name: str) -> str:
    """Text of a file in ``colllib/show/static``."""
    return (resources.files(__package__) / "static" / name).read_text(encoding="utf-8").strip()


@cache
def style(*sheets: str) -> str:
    """A ``<style>`` element for each of the named sheets, without comments, marked so that a book can ship it once.

    >>> style("theme").startswith('<style data-colllib="theme-')
    True
    """
    plain = {name: re.sub(r"/\*.*?\*/", "", asset(f"{name}.css"), flags=re.S) for name in sheets}
    dense = {name: re.sub(r" ?([{};]) ?", r"\1", " ".join(text.split())) for name, text in plain.items()}
    return "".join(shipped("style", name, text) for name, text in dense.items())


@cache
def script() -> str:
    """The ``<script>`` element that runs explorers, marked likewise; in a page that has it already it does nothing."""
    once = "if (window.colllibShow) { window.colllibShow.start(); return; }"
    text = "\n".join(map(code, ("race", "draw", "explorer")))
    return shipped("script", "explorer", f"(function () {{\n{once}\n{text}\n}}());")


@cache
def code(name: str) -> str:
    """The named script without comments and indents, and with the colors of the series.

    >>> "// " in code("player")
    False
    """
    colored = re.sub(r"var\(--cl-s(\d)\)", lambda match: color(int(match[1]) - 1), asset(f"{name}.js"))
    colored = colored.replace('"SERIES"', json.dumps(SERIES))
    lines = (re.sub(r"(^|\s)//( .*|$)", "", line).strip() for line in colored.splitlines())
    return "\n".join(filter(None, lines))


def shipped(tag: str, name: str, text: str) -> str:
    """A ``<style>`` or ``<script>`` that an output carries and a book ships once, as a file of that name."""
    return f'<{tag} data-colllib="{name}-{digest(text)}.{"css" if tag == "style" else "js"}">{text}</{tag}>'


def escape(text: object) -> str:
    """Text made safe for HTML content and for quoted attributes.

    >>> escape('a < "b"')
    'a &lt; &quot;b&quot;'
    """
    return _escape(str(text), quote=True)


_GREEK = {"alpha": "α", "beta": "β", "α": "α", "β": "β"}
_COUNT = re.compile(f"n_({'|'.join(_GREEK)})")


def typeset(text: object) -> str:
    """Text made safe for HTML content, its two counts with a subscript, as prose has them.

    >>> typeset("n_beta < 2")
    '<i>n</i><sub>β</sub> &lt; 2'
    >>> typeset("n_β of a ring")
    '<i>n</i><sub>β</sub> of a ring'
    """
    return _COUNT.sub(lambda match: f"<i>n</i><sub>{_GREEK[match[1]]}</sub>", escape(text))


def typeset_svg(text: str) -> str:
    """The same for a label in an SVG.

    >>> typeset_svg("steps n_alpha")
    'steps <tspan font-style="italic">n</tspan><tspan font-size="11" dy="3">α</tspan>'
    """
    match = _COUNT.search(text)
    if not match:
        return escape(text)
    before, name, after = text[: match.start()], match[1], text[match.end() :]
    count = f'<tspan font-style="italic">n</tspan><tspan font-size="11" dy="3">{_GREEK[name]}</tspan>'
    return escape(before) + count + (f'<tspan dy="-3">{typeset_svg(after)}</tspan>' if after else "")


def digest(text: str, length: int = 10) -> str:
    """A short name for a content, the same on every machine.

    >>> digest("ring")
    '16b9745831'
    """
    return hashlib.sha256(text.encode()).hexdigest()[:length]


def color(index: int) -> str:
    """CSS color of a series, counted from 0, with a fallback for hosts without our sheet.

    >>> color(0)
    'var(--cl-s1,#0b5cad)'
    """
    place = index % len(SERIES)
    return f"var(--cl-s{place + 1},{SERIES[place]})"


def letter(rank: int) -> str:
    """Ranks as letters, a to z, then A to Z.

    >>> letter(2), letter(35)
    ('c', 'J')
    """
    return ascii_letters[rank]


def listed(items: Iterable[object]) -> str:
    """Things, with commas between them.

    >>> listed([3, 5])
    '3, 5'
    """
    return ", ".join(map(str, items))

"""Draws the picture of README.md: what an all-reduce over 512 ranks costs, by message size.

    python scripts/readme_picture.py

Writes book/_static/all-reduce-512.svg, which a test compares with what this script draws now.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from colllib import units
from colllib.ladder import ANCHOR_ALPHA, ANCHOR_BANDWIDTH, ANCHOR_RANKS, Entry, on_star
from colllib.show.lines import Curve, Frame, plot
from colllib.show.looks import looks
from colllib.show.theme import asset

PICTURE = Path(__file__).parents[1] / "book" / "_static" / "all-reduce-512.svg"
WIDTH, HEIGHT = 640, 380
SHOWN = ("ring", "binomial-tree", "double-binary-tree", "recursive-doubling", "rabenseifner")


def times(sizes: list[float]) -> dict[str, list[float]]:
    """Seconds of the best-known algorithms at every size, by the closed forms that tests hold against execution."""

    def seconds(entry: Entry, size: float) -> float:
        return entry.priced(message=size, alpha=ANCHOR_ALPHA, bandwidth=ANCHOR_BANDWIDTH).seconds

    entries = [on_star("all-reduce", name, ANCHOR_RANKS) for name in SHOWN]
    return {entry.algorithm.label: [seconds(entry, size) for size in sizes] for entry in entries}


def picture() -> tuple[str, str]:
    """The picture as a standalone SVG, and its alt text."""
    sizes = [float(size) for size in np.logspace(3, 11, 65)]
    seconds = times(sizes)
    curves = [
        Curve(label, label, sizes, line, look)
        for (label, line), look in zip(seconds.items(), looks(list(seconds)), strict=True)
    ]
    axes = ("message size M", "time of one all-reduce", 10, 10, units.size, units.seconds)
    body = plot(curves, Frame(*axes, width=WIDTH, height=HEIGHT), ends=True)
    fastest, slowest = [], []
    for i in (0, -1):
        order = sorted((line[i], label) for label, line in seconds.items())
        fastest.append(order[0][1])
        slowest.append(order[-1][1])
    alt = (
        f"Time of one all-reduce over {ANCHOR_RANKS} ranks against message size. At {units.size(sizes[0])} "
        f"{fastest[0]} is fastest and {slowest[0]} slowest, at {units.size(sizes[-1])} {fastest[1]} and {slowest[1]}."
    )
    return standalone(body), alt


def standalone(svg: str) -> str:
    """An SVG of colllib's with the colors of both themes and a background, for use as an image."""
    names = r"(--cl-(?:fg|bg|line|muted|s\d)):[^;]*(light-dark\(#\w+, #\w+\))"
    colors = " ".join(f"{name}: {value};" for name, value in re.findall(names, asset("theme.css")))
    ink = "color: var(--cl-fg); fill: currentColor;"
    style = f"svg {{ color-scheme: light dark; font-family: sans-serif; {ink} {colors} }}"
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}"'
    background = f'<style>{style}</style><rect width="100%" height="100%" rx="6" fill="var(--cl-bg)"/>'
    start = svg.index(">") + 1
    return svg[:start].replace("<svg", head, 1) + background + svg[start:] + "\n"


if __name__ == "__main__":
    svg, alt = picture()
    PICTURE.write_text(svg, encoding="utf-8")
    print(alt)

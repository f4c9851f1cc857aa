"""The map of winners: who is fastest over ranks and message size, and what a library takes there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cache
from itertools import groupby, pairwise
from math import ceil, floor, log10
from typing import TypeVar

from colllib import units
from colllib.algorithms import Algorithm, of
from colllib.ladder import regret
from colllib.ladder import winners as fastest
from colllib.library_choices import LIBRARIES, Choice, choice
from colllib.show.control import Control, Part, State
from colllib.show.explorer import Explorer
from colllib.show.figure import Chart
from colllib.show.table import Table
from colllib.show.theme import SERIES, color, escape

T = TypeVar("T")

RANKS = (2, 3, 4, 6, 8, 12, 16, 24, 32, 64, 72, 128, 256, 512, 1024, 4096)
PER_DECADE = 3
MESSAGES = tuple(10 ** (2 + k / PER_DECADE) for k in range(25))
ALPHAS = (0.5e-6, 2e-6, 10e-6)
BANDWIDTHS = (50e9, 400e9, 900e9)
PRIMITIVES = ("all-reduce", "all-gather", "reduce-scatter", "broadcast", "reduce", "all-to-all")
NOBODY = "nobody"
CLEAR, DARK = 1.1, 2.0  # regret up to which a cell stays clear, from which it is dark

LEFT, TOP, CELL, ROW = 34.0, 4.0, 13.6, 15.0
WIDTH = LEFT + CELL * len(MESSAGES) + 6


def winners_map(primitive: str = "all-reduce", library: str = NOBODY) -> Explorer:
    """Who is fastest at each N and M, and what MPICH, Open MPI and NCCL take there.

    The map comes from the closed forms on a star with one full-duplex port per rank, on the
    lock-step clock, each segmented algorithm at its best whole number of segments; tests hold it
    against executions. It depends on M / (alpha BW) only; a library's choice on M itself.

    Args:
        primitive: the one that is shown first.
        library: the one that is compared first, or nobody.

    >>> winners_map()
    Explorer: Who wins where (Primitive, Latency alpha, Bandwidth BW, Compare with)
    """
    network = ("primitive", "alpha", "bw")
    every = (*network, "library")
    return Explorer(
        "Who wins where",
        [
            Control("primitive", "Primitive", PRIMITIVES, primitive, kind="select"),
            Control("alpha", "Latency alpha", ALPHAS, ALPHAS[0], format=units.seconds),
            Control("bw", "Bandwidth BW", BANDWIDTHS, BANDWIDTHS[-1], format=units.rate),
            Control("library", "Compare with", (NOBODY, *LIBRARIES), library, kind="select"),
        ],
        [
            Part(network, _map),
            Part(every, lambda s: "" if s["library"] == NOBODY else _regrets(s)),
            Part(network, _crossings, "Where the winner changes"),
            Part((), lambda s: _NOTE),
        ],
        summary=Part(every, _told),
    )


_NOTE = (
    '<p class="cl-hint">Star, one full-duplex port per rank, lock-step clock, best whole number of segments. Where '
    "several tie, the map names the one that leads most often, and the legend the others. Sizes in steps of a third of "
    "a decade; the sizes in the table are exact to four digits.</p>"
)


def _unit(state: State) -> float:
    return float(state["alpha"] * state["bw"])


@cache
def cells(primitive: str, unit: float) -> tuple[tuple[Algorithm, ...], ...]:
    """The winner in each cell, one row for each of `RANKS`, one column for each of `MESSAGES`.

    Args:
        primitive: its name.
        unit: alpha * BW in bytes.
    """
    tied = [[fastest(primitive, n, m / unit) for m in MESSAGES] for n in RANKS]
    often = Counter(algorithm for row in tied for cell in row for algorithm in cell)
    table = of(primitive)
    return tuple(tuple(min(cell, key=lambda a: (-often[a], table.index(a))) for cell in row) for row in tied)


@cache
def codes(primitive: str) -> dict[Algorithm, str]:
    """One or two letters for each algorithm: its initials, or the first two letters where that is not unique.

    >>> [f"{code} {a.name}" for a, code in codes("all-reduce").items()][:3]
    ['Ri ring', 'BT binomial-tree', 'DB double-binary-tree']
    """
    words = {a: a.label.replace("-", " ").split() for a in of(primitive)}
    initials = {a: "".join(word[0].upper() for word in w[:2]) for a, w in words.items()}
    often = Counter(initials.values())
    found: dict[Algorithm, str] = {}
    for algorithm, code in initials.items():
        first = words[algorithm][0].capitalize()
        several = [
            first[:2],
            *(first[0] + letter for word in words[algorithm][1:] for letter in word),
            *map(str, "123"),
        ]
        options = [code, *several] if often[code] == 1 else several
        found[algorithm] = next(option for option in options if option not in found.values())
    return found


def _hue(primitive: str, algorithm: Algorithm) -> int:
    """The place of an algorithm's color: those that ever win on the map come first."""
    return _hues(primitive).index(algorithm) % len(SERIES)


@cache
def _hues(primitive: str) -> list[Algorithm]:
    winning = {a for alpha in ALPHAS for bw in BANDWIDTHS for row in cells(primitive, alpha * bw) for a in row}
    return sorted(of(primitive), key=lambda a: a not in winning)


# -- drawing ----------------------------------------------------------------------------------


def _runs(row: Sequence[T]) -> list[tuple[int, int, T]]:
    """Equal neighbors: (first column, number of columns, value)."""
    found, at = [], 0
    for value, group in groupby(row):
        length = len(list(group))
        found.append((at, length, value))
        at += length
    return found


def _frame() -> str:
    bottom = TOP + ROW * len(RANKS)
    out = [
        f'<text x="{LEFT - 5:g}" y="{TOP + ROW * k + 11:.0f}" text-anchor="end">{n}</text>' for k, n in enumerate(RANKS)
    ]
    for k, message in enumerate(MESSAGES):
        if k % (2 * PER_DECADE) == 0:
            at = LEFT + CELL * (k + 0.5)
            out.append(f'<path d="M{at:.1f} {bottom:g}v4" stroke="currentColor"/>')
            out.append(f'<text x="{at:.1f}" y="{bottom + 16:g}" text-anchor="middle">{units.size(message)}</text>')
    middle = LEFT + CELL * len(MESSAGES) / 2
    out.append(f'<text x="{middle:.0f}" y="{bottom + 31:g}" text-anchor="middle">message M</text>')
    out.append(f'<text x="2" y="{bottom + 31:g}">ranks N</text>')
    return "".join(out)


def _box(k: int, column: int, length: int, style: str) -> str:
    return (
        f'<path d="M{LEFT + CELL * column:.1f} {TOP + ROW * k:g}h{CELL * length:.1f}v{ROW:g}'
        f'h-{CELL * length:.1f}z" {style}/>'
    )


def _letters(k: int, column: int, length: int, code: str) -> str:
    """The code in the middle of a run, and repeated in a long one."""
    times = 1 if length < 14 else 2
    return "".join(
        f'<text x="{LEFT + CELL * (column + length * (2 * i + 1) / (2 * times)):.1f}" y="{TOP + ROW * k + 11:g}" '
        f'text-anchor="middle">{code}</text>'
        for i in range(times)
    )


def _svg(body: str) -> str:
    height = TOP + ROW * len(RANKS) + 36
    return f'<svg viewBox="0 0 {WIDTH:.0f} {height:.0f}" font-size="10.5" aria-hidden="true">{body}{_frame()}</svg>'


def _map(state: State) -> Chart:
    primitive = state["primitive"]
    rows = cells(primitive, _unit(state))
    body, letters = [], codes(primitive)
    for k, row in enumerate(rows):
        for column, length, algorithm in _runs(row):
            style = f'style="fill:{color(_hue(primitive, algorithm))}" fill-opacity=".22" stroke="var(--cl-bg,#fff)"'
            body.append(_box(k, column, length, style))
            body.append(_letters(k, column, length, letters[algorithm]))
    often = Counter(algorithm for row in rows for algorithm in row)
    keys = []
    for algorithm, _ in often.most_common():
        swatch = (
            '<svg width="26" height="15" font-size="10"><path d="M0 0h26v15h-26z" '
            f'style="fill:{color(_hue(primitive, algorithm))}" fill-opacity=".22"/>'
            f'<text x="13" y="11" text-anchor="middle" fill="currentColor">{letters[algorithm]}</text></svg>'
        )
        keys.append(f"<span>{swatch}{escape(algorithm.label + _ties(primitive, _unit(state), algorithm))}</span>")
    legend = f'<div class="cl-legend">{"".join(keys)}</div>'
    told = ", ".join(f"{a.label} {100 * times / _total():.0f} %" for a, times in often.most_common())
    corner = (rows[-1][0].label, rows[0][0].label, rows[-1][-1].label, rows[0][-1].label)
    alt = (
        f"Map of the fastest {primitive} over {len(RANKS)} numbers of ranks from {RANKS[0]} to {RANKS[-1]} and "
        f"messages from {units.size(MESSAGES[0])} to {units.size(MESSAGES[-1])}. Share of the cells: {told}. "
        f"Smallest message: {corner[1]} at {RANKS[0]} ranks, {corner[0]} at {RANKS[-1]}; "
        f"largest: {corner[3]} and {corner[2]}. The table below has every row."
    )
    title = f"{primitive[0].upper() + primitive[1:]}: the fastest at each N and M"
    return Chart(legend + _svg("".join(body)), alt, title)


def _total() -> int:
    return len(RANKS) * len(MESSAGES)


def _ties(primitive: str, unit: float, algorithm: Algorithm) -> str:
    """Who else is as fast in its cells: everywhere, or in some of them."""
    inside = [
        fastest(primitive, n, m / unit)
        for n, row in zip(RANKS, cells(primitive, unit), strict=True)
        for m, winner in zip(MESSAGES, row, strict=True)
        if winner is algorithm
    ]
    shares = Counter(other for cell in inside for other in cell if other is not algorithm)
    always = [other.label for other, times in shares.items() if times == len(inside)]
    partly = [other.label for other, times in shares.items() if times < len(inside)]
    told = []
    if always:
        told.append(f"{_and(always)} as fast in all its cells")
    if partly:
        told.append(f"{_and(partly)} in some")
    return f" ({', '.join(told)})" if told else ""


def _and(names: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


# -- crossings --------------------------------------------------------------------------------


@cache
def crossings(primitive: str, ranks: int, unit: float) -> tuple[tuple[float, Algorithm, Algorithm], ...]:
    """Where the winner changes along a row of the map: (size in bytes, before, after), bisected to four digits.

    Args:
        primitive: its name.
        ranks: number of ranks N, one of `RANKS`.
        unit: alpha * BW in bytes.
    """
    row = cells(primitive, unit)[RANKS.index(ranks)]
    table = of(primitive)
    found: list[tuple[float, Algorithm, Algorithm]] = []
    for (low, before), (top, after) in pairwise(zip(MESSAGES, row, strict=True)):
        while before is not after:  # a third may win between two cells
            high = top
            while high / low > 1.00005:
                middle = (low * high) ** 0.5
                low, high = (middle, high) if before in fastest(primitive, ranks, middle / unit) else (low, middle)
            winners = fastest(primitive, ranks, high / unit)
            following = after if after in winners else min(winners, key=table.index)
            found.append((high, before, following))
            low, before = high, following
    return tuple(found)


def _crossings(state: State) -> str:
    primitive, unit, letters = state["primitive"], _unit(state), codes(state["primitive"])
    rows = []
    for n, row in zip(RANKS, cells(primitive, unit), strict=True):
        changes = [f"{letters[after]} from {units.size(size, 4)}" for size, _, after in crossings(primitive, n, unit)]
        rows.append((n, ", ".join([letters[row[0]], *changes])))
    table = Table(["ranks N", "fastest, from 100 B upwards"], rows, align=("right", "left"))
    return f"<details><summary>Where the winner changes, as text</summary>{table.fragment()}</details>"


# -- libraries --------------------------------------------------------------------------------


@cache
def compared(
    primitive: str, unit: float, bandwidth: float, library: str
) -> tuple[tuple[tuple[Choice, float], ...], ...]:
    """A library's choice in each cell and how many times the fastest one's time it takes there (0: not known).

    Args:
        primitive: its name.
        unit: alpha * BW in bytes.
        bandwidth: BW in bytes per second.
        library: its name.
    """
    rows = []
    for n in RANKS:
        row = []
        for m in MESSAGES:
            taken = choice(library, primitive, n, m, bandwidth=bandwidth) or Choice(library, "", None)
            times = regret(primitive, taken.algorithm, n, m / unit) if taken.algorithm else 0.0
            row.append((taken, times))
        rows.append(tuple(row))
    return tuple(rows)


_SHADES: tuple[tuple[str, str], ...] = (
    ("within 10 % of the fastest", 'fill="none"'),
    ("up to twice its time", 'style="fill:var(--cl-s2,#a83f08)" fill-opacity=".2"'),
    ("more than twice", 'style="fill:var(--cl-s6,#b0222f)" fill-opacity=".5"'),
    ("an algorithm this book does not build", 'style="fill:var(--cl-s8,#57606a)" fill-opacity=".16"'),
)


def _shade(times: float) -> int:
    return 3 if times == 0 else 0 if times <= CLEAR else 1 if times <= DARK else 2


def _regrets(state: State) -> Chart:
    primitive, library = state["primitive"], state["library"]
    rows = compared(primitive, _unit(state), state["bw"], library)
    letters = {a.name: code for a, code in codes(primitive).items()}
    body = []
    for k, row in enumerate(rows):
        for column, length, shade in _runs([_shade(times) for _, times in row]):
            body.append(_box(k, column, length, f'{_SHADES[shade][1]} stroke="none"'))
        for column, length, name in _runs([taken.algorithm for taken, _ in row]):
            body.append(_box(k, column, length, 'fill="none" stroke="var(--cl-line,#c3c9d0)"'))
            body.append(_letters(k, column, length, letters.get(name or "", "?")))
    shown = {_shade(times) for row in rows for _, times in row}
    keys = "".join(
        f'<span><svg width="26" height="15"><path d="M.5 .5h25v14h-25z" {style} stroke="var(--cl-line,#c3c9d0)"/></svg>'
        f"{text}</span>"
        for place, (text, style) in enumerate(_SHADES)
        if place in shown
    )
    title = f"What {library} takes, and how much slower that is here"
    return Chart(f'<div class="cl-legend">{keys}</div>' + _svg("".join(body)), f"{title}. {_verdict(state)}", title)


def _verdict(state: State) -> str:
    primitive, library = state["primitive"], state["library"]
    rows = compared(primitive, _unit(state), state["bw"], library)
    known = [
        (times, n, m, taken)
        for n, row in zip(RANKS, rows, strict=True)
        for m, (taken, times) in zip(MESSAGES, row, strict=True)
        if times
    ]
    if not known:
        return f"{library}: no choice of its for {primitive} that this book can price."
    close = sum(times <= CLEAR for times, *_ in known)
    times, n, m, taken = max(known, key=lambda entry: entry[0])
    told = f"{library} is within 10 % of the fastest in {close} of {len(known)} cells that can be priced"
    if times > CLEAR:
        told += (
            f"; at worst it takes {_times(times)} the time of the fastest, with {taken.named} "
            f"at N = {n} and M = {units.size(m)}"
        )
    return told + "."


def _times(value: float) -> str:
    digits = max(0, 1 - floor(log10(value))) if value < 10 else 0
    return f"{value:.{digits}f} times" if value < 1e4 else f"{ceil(value):,} times"


def _told(state: State) -> str:
    rows = cells(state["primitive"], _unit(state))
    often = Counter(algorithm.label for row in rows for algorithm in row)
    told = ", ".join(f"{label} in {100 * times / _total():.0f} %" for label, times in often.most_common(3))
    text = f"alpha BW = {units.size(_unit(state))}. Fastest: {told} of the cells."
    return text if state["library"] == NOBODY else f"{text} {_verdict(state)}"

"""A small pen: nodes, links, arrows, blocks and boxes as SVG, drawn once for a page and once for a phone.

A picture is a function that draws with a `Pen` of a given width. `drawing` calls it for two widths and keeps both; the
style sheet shows the one that fits, at its own size. So type is as large on a phone as on a page.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from colllib.show.figure import Chart, legend_row
from colllib.show.geometry import Box, Point, Track, bow, ends, num
from colllib.show.theme import SERIES, escape, typeset

#: What fits a page's column beside an explorer's border, and a phone of 390 px.
WIDE, NARROW = 640, 326
TYPE = 12.0
RADIUS = 5.0  # of a dot


def hue(index: int) -> str:
    """The class that colors a mark by a block, a rank or an axis; the palette is that of all figures."""
    return f"h{index % len(SERIES)}"


def extent(text: str, size: float = TYPE) -> float:
    """About how wide a text is."""
    return 0.6 * size * len(text)


# -- blocks ---------------------------------------------------------------------------------------

HELD, FINAL, ARRIVED, SPENT = 1, 2, 4, 8
FEW = 8  # contributions that a cell can tell apart


@dataclass(frozen=True)
class Tile:
    """How a block is drawn: its frame, how many contributions make it complete, whether it shows its number; and where
    it stands for several blocks, how many."""

    width: float
    height: float
    slots: int = 1
    labeled: bool = True
    many: int = 0


def cell_classes(value: int, marks: int, required: bool = False) -> str:
    """The classes of a cell: is required in the end, holds something, is final, has just arrived, is of no more use."""
    words = [(required, "w"), (value, "p"), (marks & FINAL, "f"), (marks & ARRIVED, "m"), (marks & SPENT, "x")]
    return "".join(f" {word}" for condition, word in words if condition)


def dashes(value: int, slots: int) -> str:
    """Contributions as dashes: one for each that is there, or where there are many, as many as there are.

    >>> dashes(0b101, 3), dashes(9, 16)
    ('.8 .2 0 1 .8 .2', '9 16')
    """
    if slots > FEW:
        return f"{value} {slots}"
    return " ".join(".8 .2" if value >> k & 1 else "0 1" for k in range(slots))


def cell(x: float, y: float, look: Tile, index: int, value: int = 1, marks: int = HELD, required: bool = False) -> str:
    """A block: a frame in its color, its number, and a strip with a slot for each contribution.

    Args:
        x, y: its upper left corner.
        index: its number, which it shows and which colors it.
        value: the contributions in it, as bits from rank 0 on, or their count where there are many.
        marks: a sum of `FINAL`, `ARRIVED` and `SPENT`.
        required: whether the block must be there in the end.
    """
    w, h = look.width, look.height
    frame = f'<rect x="{num(x)}" y="{num(y)}" width="{num(w)}" height="{num(h)}"/>'
    strip = text = ""
    if look.many:
        strip = (
            f'<path class="q" transform="translate({num(x + 1)} {num(y + h - 1)})" pathLength="{look.slots}" '
            f'data-many="{look.many}" d="{filling(look, value)}"/>'
        )
    elif look.slots > 1 and look.labeled:
        strip = _strip(f"M{num(x + 1.5)} {num(y + h - 5)}h{num(w - 3)}", 0, look.slots, value)
    elif look.slots > 1:
        strip = _strip(f"M{num(x + w / 2)} {num(y + h - 1)}v{num(2 - h)}", w - 2, look.slots, value)
    if look.labeled:
        up = y + (h - 8 if look.slots > 1 else h) / 2 + 4
        text = f'<text x="{num(x + w / 2)}" y="{num(up)}">{index}</text>'
    return f'<g class="c {hue(index)}{cell_classes(value, marks, required)}">{frame}{strip}{text}</g>'


def stripes(x: float, y: float, look: Tile, label: object, contributors: Sequence[int], marks: int = FINAL) -> str:
    """A block in the colors of those whose numbers are in it, from the top: stripes are a sum, a frame is nothing.

    >>> stripes(0, 0, Tile(20, 20), 3, [0, 2]).count('<path class="q h2"')
    1
    """
    w, high = look.width, look.height / max(1, len(contributors))
    plain = ' style="rx:0;stroke:none"' if len(contributors) > 1 else ""
    first = f'<rect x="{num(x)}" y="{num(y)}" width="{num(w)}" height="{num(high)}"{plain}/>'
    if not contributors:
        return f'<g class="c">{first}</g>'
    others = "".join(
        f'<path class="q {hue(rank)}" d="M{num(x)} {num(y + k * high)}h{num(w)}v{num(high)}h{num(-w)}z"/>'
        for k, rank in enumerate(contributors[1:], 1)
    )
    text = f'<text x="{num(x + w / 2)}" y="{num(y + look.height / 2 + 4)}">{label}</text>'
    return f'<g class="c {hue(contributors[0])}{cell_classes(1, FINAL | marks)}">{first}{others}{text}</g>'


def filling(look: Tile, value: int) -> str:
    """Several blocks as a rectangle: as wide as they are many, as high as each has contributions.

    >>> filling(Tile(18, 18, slots=4, labeled=False, many=8), 4 * 5 + 2)
    'M0 0h8v-8H0z'
    """
    blocks, contributions = divmod(value, look.slots + 1)
    wide, high = (look.width - 2) * blocks / look.many, (look.height - 2) * contributions / look.slots
    return f"M0 0h{num(wide)}v-{num(high)}H0z"


def _strip(d: str, width: float, slots: int, value: int) -> str:
    thick = f' stroke-width="{num(width)}"' if width else ""
    return f'<path d="{d}"{thick} pathLength="{slots}" stroke-dasharray="{dashes(value, slots)}"/>'


def arrows(tracks: Iterable[Track], kind: str, width: float = 0.0, head: float = 7.5) -> str:
    """Arrows with heads of a length, alike, as one mark of the classes named; of a width of their own above 0."""
    thick = f' style="stroke-width:{num(width)}"' if width else ""
    tracks = list(tracks)
    shafts, heads = "".join(track.d for track in tracks), "".join(track.pointed(head) for track in tracks)
    return f'<g class="a {kind}"><path{thick} d="{shafts}"/><path class="d" d="{heads}"/></g>'


CHIP = Tile(13, 15)


def token(content: Sequence[int] | str, kind: int = 0) -> tuple[str, float, float]:
    """A message that moves along an arrow, around the origin, with its width and height.

    The content is numbers of blocks, or in the color `kind` an amount, or "" for a dot.
    """
    if content == "":
        return f'<g class="c p f {hue(kind)}"><rect x="-5" y="-5" width="10" height="10" class="round"/></g>', 10, 10
    if isinstance(content, str):
        width = extent(content, 11) + 8
        frame = f'<rect x="{num(-width / 2)}" y="-8" width="{num(width)}" height="16" class="round"/>'
        return f'<g class="c p f {hue(kind)}">{frame}<text x="0" y="4">{content}</text></g>', width, 16
    columns = min(len(content), 4)
    rows = -(-len(content) // columns)
    width, height = 14 * columns - 1, 16 * rows - 1
    cells = "".join(
        cell(14 * (k % columns) - width / 2, 16 * (k // columns) - height / 2, CHIP, index, 1, FINAL)
        for k, index in enumerate(content)
    )
    return cells, width, height


# -- pictures -------------------------------------------------------------------------------------


class Pen:
    """Draws one picture that is at most `width` wide, and keeps track of the room that it takes."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.wide = width == WIDE
        self._marks: list[str] = []
        self._room: list[Box] = []

    def put(self, markup: str, *room: Box | Point) -> None:
        """Anything, with the boxes or points that it reaches to."""
        self._marks.append(markup)
        self._room += [part if isinstance(part, Box) else Box(*part, 0, 0) for part in room]

    def text(self, x: float, y: float, words: object, kind: str = "", anchor: str = "middle") -> None:
        """A text whose middle (or start, or end) is at (x, y); kind "b" is bold, "q" quiet."""
        width = extent(str(words))
        middle = x + {"middle": 0.0, "start": width / 2, "end": -width / 2}[anchor]
        side = "" if anchor == "middle" else f' text-anchor="{anchor}"'
        look = f' class="{kind}"' if kind else ""
        self.put(
            f'<text x="{num(x)}" y="{num(y + 4)}"{look}{side}>{escape(words)}</text>', Box(middle, y, width, TYPE + 2)
        )

    def line(self, points: Iterable[Point], kind: str = "l", more: str = "") -> None:
        """A line through some points, of the classes named, with further attributes."""
        points = list(points)
        self.put(f'<path class="{kind}"{more} d="M{"L".join(f"{num(x)} {num(y)}" for x, y in points)}"/>', *points)

    def lines(self, tracks: Iterable[Track], kind: str = "e") -> None:
        """Lines along some tracks, faint ones where nothing moves."""
        self.put(f'<path class="{kind}" d="{"".join(track.d for track in tracks)}"/>')

    def arrow(
        self,
        track: Track,
        kind: str = "add",
        label: object = "",
        share: float = 0.5,
        index: int = -1,
        width: float = 0.0,
    ) -> None:
        """An arrow, solid ("add") or dashed ("copy"), in a color of the palette or in that of the text.

        It has the width of all others, or one above 0.
        """
        self.put(arrows([track], f"{kind} {hue(index)}" if index >= 0 else kind, width), *track.points)
        if label != "":
            self.tag(*track.at(share), label)

    def tag(self, x: float, y: float, words: object) -> None:
        """A short text on a patch of background, for the middle of a line."""
        box = Box(x, y, extent(str(words), 11) + 6, 16)
        self.put(f'<g class="g ">{_frame(box, 8)}<text x="{num(x)}" y="{num(y + 4)}">{escape(words)}</text></g>', box)

    def disk(self, box: Box, name: object, kind: str = "", index: int = -1) -> None:
        """A rank as a disk; kind "i" is filled, in a color of the palette if an index is given."""
        tint = f" {hue(index)}" if index >= 0 else ""
        small = ' class="small"' if box.width < 26 else ""
        self.put(
            f'<g class="n {kind}{tint}"><circle cx="{num(box.x)}" cy="{num(box.y)}" r="{num(box.width / 2)}"/>'
            f'<text x="{num(box.x)}" y="{num(box.y + 4.5)}"{small}>{escape(name)}</text></g>',
            box,
        )

    def dot(self, x: float, y: float, kind: str = "dot") -> None:
        """A small disk without a name, of the classes named."""
        self.put(f'<circle class="{kind}" cx="{num(x)}" cy="{num(y)}" r="{num(RADIUS)}"/>', Box(x, y, 10, 10))

    def switch(self, x: float, y: float, name: object = "switch", width: float = 0.0) -> None:
        """A switch as a box."""
        box = Box(x, y, width or extent(str(name)) + 12, 24)
        self.put(f'<g class="s">{_frame(box, 4)}<text x="{num(x)}" y="{num(y + 4)}">{escape(name)}</text></g>', box)

    def group(self, around: Box, name: str = "") -> None:
        """A box around other things, with a name in its upper left corner; draw it before them."""
        self.put(f'<g class="r">{_frame(around, 8)}</g>', around)
        if name:
            self.corner(around, name)

    def corner(self, around: Box, name: str) -> None:
        """A name in the upper left corner of a box around other things."""
        self.text(around.x - around.width / 2 + 8, around.y - around.height / 2 + 11, name, "q", "start")

    def cell(self, x: float, y: float, look: Tile, index: int, value: int = 1, marks: int = HELD) -> None:
        """A block, as `cell` draws it."""
        room = Box(x + look.width / 2, y + look.height / 2, look.width, look.height)
        self.put(cell(x, y, look, index, value, marks), room)

    def stripes(self, x: float, y: float, look: Tile, label: object, contributors: Sequence[int], marks: int) -> None:
        """A block in the colors of its contributors, as `stripes` draws it."""
        room = Box(x + look.width / 2, y + look.height / 2, look.width, look.height)
        self.put(stripes(x, y, look, label, contributors, marks), room)

    def svg(self, kind: str = "", data: str = "") -> str:
        """The picture at its own size, with one more class and other attributes if need be."""
        left, right, top, bottom = ends(self._room)
        width, height = right - left + 4, bottom - top + 4
        if width > self.width:
            raise ValueError(
                f"a picture of {width:.0f} px does not fit into {self.width} px: draw less, or in more rows"
            )
        view = " ".join(map(num, (left - 2, top - 2, width, height)))
        return (
            f'<svg class="cl-pen cl-{"wide" if self.wide else "narrow"} {kind}" viewBox="{view}" width="{width:.0f}" '
            f'height="{height:.0f}"{data}>{"".join(self._marks)}</svg>'
        )


def _frame(box: Box, radius: float) -> str:
    return (
        f'<rect x="{num(box.x - box.width / 2)}" y="{num(box.y - box.height / 2)}" width="{num(box.width)}" '
        f'height="{num(box.height)}" rx="{num(radius)}"/>'
    )


class Drawing(Chart):
    """A picture in both widths with its legend, a title that says its conclusion, and an alt text."""

    kind = "cl-drawing"
    sheets = ("theme", "pen")


def both_widths(draw: Callable[[Pen], None]) -> str:
    """The picture for a page and the one for a phone."""
    pens = [Pen(width) for width in (WIDE, NARROW)]
    for pen in pens:
        draw(pen)
    return "".join(pen.svg() for pen in pens)


def drawing(draw: Callable[[Pen], None], *, title: str, alt: str, legend: Iterable[tuple[str, str]] = ()) -> Drawing:
    """A picture from a function that draws it.

    Args:
        draw: draws with the pen it is given; called once for each width.
        title: the conclusion.
        alt: what there is to see, in words computed from the data.
        legend: names of swatches (see `swatch`) with what they stand for.

    >>> drawing(lambda pen: pen.text(0, 0, "5"), title="Five", alt="The number 5.")
    The number 5.
    """
    return Drawing(both_widths(draw) + legend_of(legend), alt, title)


class Row(Chart):
    """Pictures side by side, each with its own title and alt text."""

    sheets = ("theme", "pen")

    def fragment(self) -> str:
        """The markup without the style sheets."""
        return self.body


def in_a_row(*charts: Chart) -> Row:
    """Small pictures to compare, in a row; below one another where they have no room.

    >>> five = drawing(lambda pen: pen.text(0, 0, "5"), title="Five", alt="The number 5.")
    >>> in_a_row(five, five)
    The number 5. The number 5.
    """
    narrowest = 17 if len(charts) == 2 else 13  # rem
    columns = f"grid-template-columns:repeat(auto-fit,minmax(min({narrowest}rem,100%),1fr))"
    drawn = ""
    for chart in charts:  # titles in one row of the grid, pictures in the next, however long the titles are
        named = chart.alt if chart.title in chart.alt else f"{chart.title}. {chart.alt}"
        place = "align-self:start;margin:0.5em 0 0"
        title = f'<p class="cl-heading" aria-hidden="true" style="{place}">{typeset(chart.title)}</p>'
        picture = replace(chart, title="", alt=named).fragment()
        rows = "display:grid;grid-template-rows:subgrid;grid-row:span 2;align-items:center"
        drawn += f'<div style="{rows}">{title}{picture}</div>'
    grid = f'<div class="colllib" style="display:grid;{columns};gap:0 1.5em">{drawn}</div>'
    return Row(grid, " ".join(chart.alt for chart in charts))


def legend_of(items: Iterable[tuple[str, str]]) -> str:
    """Swatches with what they stand for, in a row."""
    return legend_row((swatch(name), words) for name, words in items)


#: Name of a swatch -> its width and height, and its markup with a place for a class, which follows the name.
_SWATCHES = {
    "arrow": (28, 16, arrows([bow((1, 8), (27, 8))], "{}")),
    "line": (28, 16, '<path class="l {}" d="M1 8H27"/>'),
    "disk": (16, 16, '<g class="n {}"><circle cx="8" cy="8" r="6.5"/></g>'),
    "patch": (16, 16, '<g class="c p f {}"><rect x="2" y="2" width="12" height="12"/></g>'),
    "pale": (16, 16, '<g class="c p {}"><rect x="2" y="2" width="12" height="12"/></g>'),
    "dot": (12, 16, '<circle class="dot {}" cx="6" cy="8" r="5"/>'),
    "card": (12, 16, '<rect class="port" x="1" y="3" width="10" height="10" rx="2"/>'),
    "port": (12, 16, '<circle class="port" cx="6" cy="8" r="5"/>'),
    **{
        f"{kind} {state}": (tile.width + 2, tile.height + 2, cell(1, 1, tile, 2, value, marks))
        for kind, tile in (("block", Tile(21, 26, 4)), ("whole", Tile(17, 18)))
        for state, value, marks in (
            ("partial", 0b0101, HELD),
            ("final", 0b1111, FINAL),
            ("new", 0b0101, ARRIVED),
            ("new final", 0b1111, ARRIVED + FINAL),
            ("spent", 0b0101, SPENT),
        )
    },
    **{
        name: (18, 20, stripes(1, 2, Tile(16, 16), "", contributors, marks))
        for name, contributors, marks in (
            ("one", [0], FINAL),
            ("two", range(2), FINAL),
            ("sum", range(4), FINAL),
            ("rest", range(2), SPENT),
        )
    },
}


def swatch(name: str) -> str:
    """A small picture for a legend.

    Args:
        name: "arrow add", "line t1", "disk i", "patch h2", "pale h2" (a mark and its class), "block final" (a block in
            one of its states; "whole final" without slots), "sum" (a block in its contributors' colors; also "one",
            "two", "rest"), "dot on", "card" or "port"; anything else is written as it is.

    >>> swatch("×")
    '<b>×</b>'
    """
    mark, _, kind = name.partition(" ")
    known = _SWATCHES.get(name) or _SWATCHES.get(mark)
    if not known:
        return f"<b>{escape(name)}</b>"
    width, height, markup = known
    return f'<svg class="cl-pen" width="{width}" height="{height}" aria-hidden="true">{markup.format(kind)}</svg>'

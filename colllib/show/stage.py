"""The picture of a film: a card for each node, arrows where something is sent, laid out for a page or for a phone."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise, product, starmap
from math import ceil, dist, inf, prod, sqrt

import numpy as np

from colllib.algorithms.trees import depths
from colllib.show import layouts
from colllib.show.film import Film, Message, amount
from colllib.show.geometry import Box, Point, Track, between, bow, ends, jump, lane, num
from colllib.show.pen import CHIP, FEW, FINAL, WIDE, Pen, Tile, arrows, cell, extent, token
from colllib.show.theme import escape
from colllib.topology import Lattice, Topology

NAME = 17.0  # height of the line with a card's name
MARGIN = 8.0  # that the picture keeps
BENDS = (14, 24, 36, 50, 66, 84, 104)
NEAR = 52.0  # how far from its sender a token rests at best on a track longer than twice that, but for a column's
AXES = ("h0", "h1", "h3")  # the colors of X, Y and Z

Pair = tuple[int, int, int]


@dataclass(frozen=True)
class Card:
    """A node with its cells, and where it is; in the second of two trees it is part 1."""

    node: int
    part: int
    cells: tuple[int, ...]
    box: Box


class Stage:
    """The places of a film at one width.

    Attributes:
        cards: of all nodes; those of a second tree follow those of the first.
        columns: in how many columns cells stand on a card.
        side: whether names are at the side of cards and not on top.
        frames: boxes with their tiers.
        tracks: the lines that messages take, by source, destination and tree.
        tints: the class of a track: its axis or its tier.
        shows_idle: whether tracks on which nothing moves are drawn.
        says: how much messages say where there is room for it: "all", the "amount", or nothing (a "dot").

    >>> from colllib import execute
    >>> from colllib.algorithms import allgather
    >>> stage = Stage(Film("ring", execute(allgather.ring(4))), WIDE)
    >>> [round(card.box.x) for card in stage.cards], list(stage.tracks)
    ([0, 96, 0, -96], [(0, 1, 0), (1, 2, 0), (2, 3, 0), (3, 0, 0)])
    """

    def __init__(self, film: Film, width: int) -> None:
        self.film, self.width, self.room = film, width, width - MARGIN
        self._parts = max(film.part) + 1
        self.look = self._look()
        self.cards: list[Card] = []
        self.columns, self.side = self._most_columns, False
        self.frames: list[tuple[Box, int]] = []
        self.tracks: dict[Pair, Track] = {}
        self.tints: dict[Pair, str] = {}
        self.shows_idle = False
        topology, axes = film.run.topology, film.run.topology.lattice
        if film.schedule.switches and axes is not None:
            self._on_switches_of_boxes(axes, topology)
        elif film.schedule.switches:
            self._on_switches(topology)
        elif axes is not None and topology.switches:
            self._in_boxes(axes, topology)
        elif axes is not None and len(axes.dims) > 1:
            self._on_lattice(axes, topology)
        elif not self._in_trees():
            if axes is not None and not axes.wraps:
                self._in_a_row(range(axes.ranks))
            elif width == WIDE or film.schedule.ranks < 4:
                self._put(layouts.circle(film.schedule.ranks, self._size(self.columns), self.room))
            else:
                self._in_a_column()
        self.tracks |= {pair: self._clear(pair) for pair in self._pairs if pair not in self.tracks}
        self.says = self._most_that_fits()

    # -- cards ------------------------------------------------------------------------------------

    def _look(self) -> Tile:
        film = self.film
        slots = max(cell.slots for cell in film.cells)
        if film.kind == "contributions":
            return CHIP
        if film.kind == "groups" or film.schedule.ranks > FEW:
            side = 18 if len(film.cells) < 5 else 10
            many = max(len(cell.blocks) for cell in film.cells) if film.kind == "groups" else 0
            return Tile(side, side, slots, labeled=False, many=many)
        return Tile(21, 26, slots) if slots > 1 else Tile(17, 18)

    @property
    def _gap(self) -> int:
        return 2 if self.look.labeled else 1

    @property
    def _most_columns(self) -> int:
        """In how many columns cells stand where there is room."""
        count = len(self.film.cells)
        if not self.look.labeled:
            return ceil(sqrt(count))
        if count < 4:
            return count
        return 2 if count == 4 and self.look.slots > 1 else 4

    def _size(self, columns: int) -> tuple[float, float]:
        """Of a card with so many columns."""
        cells = max(self.film.part.count(part) for part in (0, 1)) if self._parts == 2 else len(self.film.cells)
        wide = columns * (self.look.width + self._gap) - self._gap
        high = ceil(cells / columns) * (self.look.height + self._gap) - self._gap
        return (wide + 32, high + 10) if self.side else (max(wide, 22.0) + 12, high + NAME + 7)

    def _put(self, places: Sequence[Point], part: int = 0) -> None:
        """Cards for all nodes, in order."""
        film, size = self.film, self._size(self.columns)
        cells = tuple(k for k, cell in enumerate(film.cells) if film.part[cell.blocks[0]] == part)
        self.cards += [Card(node, part, cells, Box(x, y, *size)) for node, (x, y) in enumerate(places)]

    @cached_property
    def _boxes(self) -> dict[tuple[int, int], Box]:
        return {(card.node, card.part): card.box for card in self.cards}

    # -- places -----------------------------------------------------------------------------------

    def _in_a_column(self) -> None:
        """Cards below one another, arrows round their right."""
        cells = len(self.film.cells)
        columns = min(cells, int((self.width - 120) // (self.look.width + 2)))
        self.columns, self.side = ceil(cells / ceil(cells / columns)), True
        wide, high = self._size(self.columns)
        self._put([(0.0, k * (high + 9)) for k in range(self.film.schedule.ranks)])
        farthest = min(self.width - wide - 12, 96.0)
        for a, b, part in self._pairs:
            out = 16 + (farthest - 16) * abs(a - b) / max(2, len(self.cards) - 1)
            self.tracks[a, b, part] = _beside(self.cards[a].box, self.cards[b].box, out, 1, 3)

    def _in_a_row(self, order: Sequence[int]) -> None:
        """Cards in rows, each beside the one before; below it where two have no room."""
        self._put(layouts.snake(order, self._size(self.columns), self.room))
        both = any((b, a, part) in self._pairs for a, b, part in self._pairs)
        self.tracks = {
            (a, b, part): lane(self._boxes[a, part], self._boxes[b, part], 9.0 * both) for a, b, part in self._pairs
        }

    def _in_trees(self) -> bool:
        """Whether blocks move along one tree or two, which fit beside or below one another; a chain is a row."""
        trees = self.film.trees
        if len(trees) not in (1, 2):
            return False
        if len(trees) == 1 and max(map(trees[0][0].count, trees[0][0])) == 1:
            self._in_a_row(depths(trees[0][0]).argsort().tolist())
            return True
        cells = len(trees[0][1]) if self._parts == 2 else len(self.film.cells)
        even = sorted({ceil(cells / ceil(cells / columns)) for columns in range(1, min(4, cells) + 1)}, reverse=True)
        for beside, columns in product((True, False), even):
            size = self._size(columns)
            shapes = [layouts.tree(parents, size) for parents, _ in trees]
            wide = [max(x for x, _ in places) + size[0] for places in shapes]
            if (sum(wide) + 40 * (len(wide) - 1) if beside else max(wide)) <= self.room:
                break
        else:
            if self._parts == 2:
                raise ValueError(
                    f"two trees of {len(trees[0][0])} ranks do not fit into {self.width} px: draw fewer ranks"
                )
            return False
        self.columns = columns
        down = max(y for _, y in shapes[0]) + size[1] + 40
        for part, places in enumerate(shapes):
            dx, dy = (part * (wide[0] + 40), 0.0) if beside else (0.0, part * down)
            self._put([(x + dx, y + dy) for x, y in places], part)
        self.tracks = {(a, b, part): between(self._boxes[a, part], self._boxes[b, part]) for a, b, part in self._pairs}
        self.shows_idle = True
        return True

    def _on_switches(self, topology: Topology) -> None:
        """Ranks in a row below their switches."""
        self._narrow(self.room / topology.ranks - 4)
        self._put(layouts.switches(topology, self._size(self.columns), self.room))
        ends = zip(topology.link_src.tolist(), topology.link_dst.tolist(), strict=True)
        self.tracks = {(a, b, 0): lane(self._boxes[a, 0], self._boxes[b, 0]) for a, b in ends}
        self.shows_idle = True

    def _narrow(self, most: float) -> None:
        """Give cards that stand in a row fewer columns, or smaller cells, where they must."""
        while self.columns > 2 and self._size(self.columns)[0] > most:
            self.columns -= 1
        if self._size(self.columns)[0] > most:
            self.look = replace(self.look, width=10, height=10, labeled=False)

    def _on_switches_of_boxes(self, axes: Lattice, topology: Topology) -> None:
        """Ranks in a row, what moves between the boxes above them, and what moves in a box below."""
        self._tint(topology)
        level = {pair: int(tint[1:]) for pair, tint in self.tints.items()}
        below = {dst: level[src, dst, 0] == 0 for src, dst, _ in self._pairs if dst >= axes.ranks > src}
        self._narrow((self.room - 16 * (topology.ranks // topology.in_box)) / topology.ranks - 2)
        size = self._size(self.columns)
        places, self.frames = layouts.boxes_in_a_row(axes.dims, size, self.room, any(below.values()))
        self._put(places)
        for switch in sorted(below):
            on = [places[src][0] for src, dst, _ in self._pairs if dst == switch]
            box = Box((min(on) + max(on)) / 2, (1 if below[switch] else -1) * (size[1] + layouts.APART), *size)
            self.cards.append(replace(self.cards[0], node=switch, box=box))
        for src, dst, part in self._pairs:
            self.tracks[src, dst, part] = self._over_or_under(src, dst, over=level[src, dst, part] > 0)
        self.shows_idle = True

    def _over_or_under(self, src: int, dst: int, over: bool) -> Track:
        """A track between ranks of a row, or to and from a switch, that stays above the row or below it."""
        a, b = self._boxes[src, 0], self._boxes[dst, 0]
        right, side = (1 if b.x > a.x else -1), (-1 if over else 1)
        if a.y == b.y:
            start, end = ((box.x + 5 * right, box.y + side * (box.height / 2 + 4)) for box in (a, b))
            return bow(start, end, -side * right * (16 + abs(a.x - b.x) / 7))
        rank, switch = (a, b) if src < dst else (b, a)
        apart = 3 if src < dst else -3
        ends = (
            (rank.x + apart, rank.y + side * (rank.height / 2 + 4)),
            (switch.x + (rank.x - switch.x) * 0.12 + apart, switch.y - side * (switch.height / 2 + 4)),
        )
        return bow(*(ends if src < dst else ends[::-1]))

    def _in_boxes(self, axes: Lattice, topology: Topology) -> None:
        """Boxes round their cards; named cells stand in the number of columns that makes the picture least high."""

        def height(columns: int) -> float:
            _, frames = layouts.boxes(axes.dims, self._size(columns), self.room)
            left, right, top, bottom = ends([box for box, _ in frames])
            return bottom - top if columns == self.columns or right - left <= self.room else inf

        most = len(self.film.cells) if self.look.labeled else self.columns
        self.columns = min(range(self.columns, most + 1), key=height)
        places, self.frames = layouts.boxes(axes.dims, self._size(self.columns), self.room)
        self._put(places)
        self._tint(topology)

    def _tint(self, topology: Topology) -> None:
        """Every track in the color of the outermost tier that its route takes."""
        for src, dst, _ in self._pairs:
            _, links = topology.router(np.array([src]), np.array([dst]))
            self.tints[src, dst, 0] = f"t{max(topology.tiers[tier].level for tier in topology.tier[links].tolist())}"

    def _on_lattice(self, axes: Lattice, topology: Topology) -> None:
        small_map = len(axes.dims) == 2 and len(self.film.cells) == axes.ranks  # each cell where its owner is
        self.columns = axes.dims[0] if small_map else self.columns
        deep = axes.dims == (2, 2, 2)
        out = (max(axes.dims) > 2 and axes.wraps) or (len(axes.dims) > 2 and not deep)
        stub = self.width / 18 if out else 4.0
        if len(axes.dims) > 2 and self.look.labeled:  # as many columns as let the slices be beside one another
            most = (self.width / prod(axes.dims[2:]) - 2 * stub) / axes.dims[0] - 46
            if deep:
                most = layouts.widest_of_cube(self.room)
            several = range(self.columns, 1, -1)
            self.columns = next((columns for columns in several if self._size(columns)[0] <= most), self.columns)
        size = self._size(self.columns)
        gap = max(18.0, min(46.0, (self.room - 2 * stub) / axes.dims[0] - size[0]))
        self._put(layouts.lattice(axes, size, gap, self.room, stub))
        for a, b in sorted(set(zip(topology.link_src.tolist(), topology.link_dst.tolist(), strict=True))):
            axis, sign = layouts.direction(axes, a, b)
            self.tints[a, b, 0] = AXES[axis]
            self.tracks[a, b, 0] = self._link(axes, a, b, axis, sign, stub)
        self.shows_idle = True

    def _link(self, axes: Lattice, a: int, b: int, axis: int, sign: int, stub: float) -> Track:
        """A link between neighbors: straight, or out of the picture and in again where it goes round or to a slice."""
        one, other = self._boxes[a, 0], self._boxes[b, 0]
        apart = 6.0 if self.width != WIDE else 9.0 if axis == 0 else 18.0
        if axis == 2 and layouts.is_cube(axes, (one.width, one.height), self.room):
            return lane(one, other, 4.0)
        if axis < 2 and b - a == sign * axes.strides[axis]:
            return lane(one, other, apart)
        if axis < 2:
            dx, dy = (sign, 0.0) if axis == 0 else (0.0, -sign)
            out = lane(one, replace(one, x=one.x + dx, y=one.y + dy), apart).points[0]
            back = lane(replace(other, x=other.x - dx, y=other.y - dy), other, apart).points[-1]
        else:  # up through the upper right corner, and in through the lower left
            dx, dy = 0.6 * sign, -0.8 * sign
            out = (one.x + sign * (one.width / 2 - 6), one.y - sign * (one.height / 2 + 3))
            back = (other.x - sign * (other.width / 2 - 14), other.y + sign * (other.height / 2 + 3))
        away, before = (out[0] + dx * stub, out[1] + dy * stub), (back[0] - dx * stub, back[1] - dy * stub)
        return jump([out, away], [before, back])

    # -- tracks -----------------------------------------------------------------------------------

    @cached_property
    def _pairs(self) -> list[Pair]:
        """All that send to one another, in order."""
        return sorted({pair_of(message) for messages in self.film.messages[1:] for message in messages})

    def _clear(self, pair: Pair) -> Track:
        """An arrow between two cards, bent until it passes no third one."""
        src, dst, part = pair
        a, b = self._boxes[src, part], self._boxes[dst, part]
        others = [card.box for card in self.cards if card.box not in (a, b)]
        sides = (1,) if (dst, src, part) in self._pairs else (1, -1)
        tracks = [between(a, b, bend * side) for bend in BENDS for side in sides]
        if abs(a.x - b.x) < a.width / 2:
            tracks += [_beside(a, b, bend, side) for bend in BENDS[1:] for side in (1, -1)]
        else:
            tracks += [_across(a, b, bend) for bend in (0, 8, -8)]
        left, right = self._reach
        inside = [track for track in tracks if all(left < x < right for x, _ in track.points)] or tracks[:1]
        for track in inside:
            if not any(Box(*point, 10, 10).meets(box) for point in track.points for box in others):
                return track
        return inside[0]

    @cached_property
    def _reach(self) -> tuple[float, float]:
        """How far to the left and to the right there is room."""
        boxes = [card.box for card in self.cards] + [frame for frame, _ in self.frames]
        left, right, _, _ = ends(boxes)
        spare = (self.room - (right - left)) / 2
        return left - spare, right + spare

    @cached_property
    def _titles(self) -> list[str]:
        """What stands in the upper left corners of the frames."""
        tiers = [tier for _, tier in self.frames]
        return [f"{('box', 'group of boxes', 'row')[tier]} {tiers[:k].count(tier)}" for k, tier in enumerate(tiers)]

    @cached_property
    def tokens(self) -> list[list[tuple[int, tuple[int, ...] | str]]]:
        """Step by step, where on its track each message stands when nothing moves, in percent, and what it says; of
        many that say the same amount only the first says it."""
        steps = []
        for messages in self.film.messages:
            stops = [(rest, content) for rest, content, _ in self._stops(messages, self.says)]
            says = {content for _, content in stops}
            if len(stops) > FEW and len(says) == 1 and isinstance(stops[0][1], str):
                stops[1:] = [(rest, "") for rest, _ in stops[1:]]
            steps.append(stops)
        return steps

    def _most_that_fits(self) -> str:
        """How much all messages can say without covering cards or one another."""
        for says in ("all", "amount"):
            stops = (stop for messages in self.film.messages[1:] for stop in self._stops(messages, says))
            if all(free for *_, free in stops):
                return says
        return "dot"

    def _stops(self, messages: Sequence[Message], says: str) -> list[tuple[int, tuple[int, ...] | str, bool]]:
        """For each message a place near its sender or in the middle, what it says, and whether cards and others have
        left it free."""
        taken = [card.box for card in self.cards]
        for (frame, _), title in zip(self.frames, self._titles, strict=True):
            wide = extent(title)
            taken.append(Box(frame.x - (frame.width - wide) / 2 + 8, frame.y - frame.height / 2 + 11, wide, 12))
        stops = []
        for message in messages:
            track = self.tracks[pair_of(message)]
            contents = {"all": message.content, "amount": amount(self.film.share(message.blocks)), "dot": ""}
            content = contents[says]
            _, width, height = token(content)
            best = 50.0 if self.side else min(50.0, 100 * NEAR / track.length)
            edge = 100 * sum(starmap(dist, pairwise(track.runs[0]))) / track.length  # where it jumps, if it does
            shares = [share for share in range(8, 93, 3) if abs(share - edge) > 1]
            shares.sort(key=lambda share: abs(share - best))
            for aside, rest in product((6, 0) if self.side else (0,), shares):  # two that touch read as one
                box = Box(*track.at(rest / 100), width + aside, height)
                if free := not any(box.meets(other, 1) for other in taken):
                    break
            else:
                rest = round(best)
            taken.append(box)
            stops.append((rest, content, free))
        return stops

    # -- drawing ----------------------------------------------------------------------------------

    def svg(self, t: int) -> str:
        """The picture after t steps."""
        pen, messages = Pen(self.width), self.film.messages[t]
        for frame, _ in self.frames:
            pen.group(frame)
        few = len(self.tracks) <= 2 * len(self.cards)
        pen.lines(self.tracks.values(), "e" if self.shows_idle or few else "e off")
        marks, tokens = [], []
        for message, (rest, content) in zip(messages, self.tokens[t], strict=True):
            track, tint = self.tracks[pair_of(message)], self.tints.get(pair_of(message), "")
            marks.append(arrows([track], f"{'add' if message.add else 'copy'} {tint}"))
            place = f"offset-path:path('{track.d}');offset-distance:{rest}%"
            tokens.append(f'<g class="t" style="{place}">{token(content, self.kind(message))[0]}</g>')
        reach: list[Point | Box] = [point for track in self.tracks.values() for point in track.points]
        for some, stops in zip(self.film.messages, self.tokens, strict=True):
            for message, (rest, content) in zip(some, stops, strict=True):
                reach.append(Box(*self.tracks[pair_of(message)].at(rest / 100), 0, token(content)[2]))
        pen.put(f'<g class="as" aria-hidden="true">{"".join(marks)}</g>', *reach)
        for card in self.cards:
            pen.put(self._card(card, t), card.box)
        pen.put(f'<g class="ts" aria-hidden="true">{"".join(tokens)}</g>')
        for (frame, _), title in zip(self.frames, self._titles, strict=True):  # last, for wires would cross them out
            pen.corner(frame, title)
        # the script takes the tracks from the faint lines: for each, how many parts it has, and its class
        tracks = ",".join(f"{len(track.runs)}{self.tints.get(pair, '')}" for pair, track in self.tracks.items())
        return pen.svg("cl-stage", f' data-tracks="{tracks}"')

    def kind(self, message: Message) -> int:
        """The color of an amount: that of the axis along which it is sent."""
        tint = self.tints.get(pair_of(message), "h0")
        return int(tint[1:]) if tint in AXES else 0

    def _card(self, card: Card, t: int) -> str:
        film, box, look, gap = self.film, card.box, self.look, self._gap
        left, top = 26.0, 5.0
        if not self.side:
            left, top = (box.width - self.columns * (look.width + gap) + gap) / 2, NAME + 1
        cells = []
        for k, index in enumerate(card.cells):
            x, y = left + k % self.columns * (look.width + gap), top + k // self.columns * (look.height + gap)
            value, marks = film.value(t, card.node, index), film.marks(t, card.node, index)
            its_look = replace(look, slots=film.cells[index].slots)
            cells.append(cell(x, y, its_look, index, value, marks, film.required(card.node, index)))
        switch = card.node >= film.schedule.ranks
        name = node_name(film, card.node)
        label = escape(name if switch else f"rank {name}")
        x, y = (13.0, box.height / 2 + 4.5) if self.side else (box.width / 2, 13.5)
        return (
            f'<g class="k{" sw" * switch}" transform="translate({num(box.x - box.width / 2)} '
            f'{num(box.y - box.height / 2)})" role="img" data-name="{label}" '
            f'aria-label="{label}: {self.described(card, t)}">'
            f'<rect class="o" width="{num(box.width)}" height="{num(box.height)}" rx="7"/>'
            f'<text x="{num(x)}" y="{num(y)}" class="b">{"S" if name == "switch" and box.width < 50 else name}</text>'
            f"{''.join(cells)}</g>"
        )

    def described(self, card: Card, t: int) -> str:
        """What a card shows, for those who do not see it."""
        film, node = self.film, card.node
        if not self.look.labeled:
            final = sum(bool(film.marks(t, node, index) & FINAL) for index in card.cells)
            return f"{final} of {len(card.cells)} final"
        blocks = []
        for index in card.cells:
            value, slots = film.value(t, node, index), film.cells[index].slots
            if not value:
                continue
            ranks = [str(k) for k in range(slots) if value >> k & 1]
            if slots == 1:
                blocks.append(str(index))
            elif len(ranks) == slots:
                blocks.append(f"{index} complete")
            else:
                blocks.append(f"{index} from {', '.join(ranks)}")
        return "; ".join(blocks) or "nothing"


def _beside(a: Box, b: Box, bend: float, side: int, gap: float = 5) -> Track:
    """An arrow between two boxes of a column, out at their right or left and in again."""
    down = 1 if b.y > a.y else -1
    start, end = ((box.x + side * (box.width / 2 + gap), box.y + at) for box, at in ((a, 4), (b, -4)))
    return bow(start, end, down * side * bend)


def _across(a: Box, b: Box, bend: float) -> Track:
    """An arrow between two boxes of different columns, from side to side."""
    right = 1 if b.x > a.x else -1
    return bow((a.x + right * (a.width / 2 + 5), a.y), (b.x - right * (b.width / 2 + 5), b.y), bend)


def pair_of(message: Message) -> Pair:
    """The key of the track that a message takes."""
    return message.src, message.dst, message.part


def node_name(film: Film, node: int) -> str:
    """A rank's number; a switch by its name, those of several that take part numbered without a gap."""
    if node < film.schedule.ranks:
        return str(node)
    return "switch" if film.schedule.switches == 1 else f"S{film.switches.index(node)}"

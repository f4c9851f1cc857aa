"""What a page may compute: the price of exact counts, and who is fastest.

A `Race` ships counts that executions, or closed forms that executions confirm, have given. Python prices them for the
first state and for a live explorer, ``static/race.js`` for the page; tests hold the two together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache, cached_property
from itertools import pairwise
from math import ceil, floor, inf, log2, prod, sqrt
from typing import Any

from colllib.cost import SAME, Cost, TieredCost
from colllib.ladder import TIE, Entry
from colllib.show.control import State, reads
from colllib.show.looks import BOUND, Look, known, looks

MOST = 2**20  # segments, as in `colllib.cost.best_segments`
STEPS = 8  # numbers of segments that a curve has between one and twice as many
LEAST = (2, 3, 4)  # segments from which on a cost may have its form
SEVERAL = (2, 3, 4, 5, 6, 7, 8, 16, 64, 1000)  # segments in which it must then be right


@dataclass(frozen=True)
class Form:
    """A cost, and how it follows the number of segments P.

    First it is given point by point, then it is (a0 + a1 P) alpha + (b0 + b1/P) M/BW.

    >>> Form((Cost(1022, Fraction(511, 256)),)).price(16e6, [0.5e-6], [900e9])
    (0.0005464861111111111, 1)
    """

    few: tuple[Cost, ...]  # in 1, 2, ... segments
    slope: tuple[Fraction, Fraction, Fraction, Fraction] | None = None  # a0, a1, b0 and b1; None for no segments

    @classmethod
    def fitted(cls, cost: Callable[[int], Cost]) -> Form:
        """The form of a segmented schedule's cost, from as many segments on as it takes to fill a short pipeline.

        Raises:
            ValueError: if the cost has another form.

        >>> Form.fitted(lambda p: Cost(7 + p - 1, Fraction(7 + p - 1, p))).slope
        (Fraction(6, 1), Fraction(1, 1), Fraction(1, 1), Fraction(6, 1))
        """
        for least in LEAST:
            first, second = cost(least), cost(least + 1)
            a1 = Fraction(second.n_alpha) - first.n_alpha
            b1 = (Fraction(first.n_beta) - second.n_beta) * least * (least + 1)
            slope = (first.n_alpha - least * a1, a1, first.n_beta - b1 / least, b1)
            form = cls(tuple(cost(p) for p in range(1, least)), slope)
            if a1 > 0 and b1 >= 0 and all(cost(p) == form.cost(p) for p in SEVERAL):
                return form
        raise ValueError(f"no a0 + a1 P latencies and b0 + b1/P bytes: {', '.join(str(cost(p)) for p in SEVERAL)}")

    @classmethod
    def variants(cls, entry: Entry, name: str = "") -> dict[str, Form]:
        """An algorithm's form under a name, or its forms in every radix that may be the best where it takes one.

        >>> from colllib.ladder import on_star
        >>> list(Form.variants(on_star("all-to-all", "bruck", 8), "Bruck"))
        ['Bruck, radix 2', 'Bruck, radix 3', 'Bruck, radix 6']
        >>> list(Form.variants(on_star("reduce", "chain", 8)))
        ['']
        """
        variants = {", ".join(filter(None, (name, f"radix {radix}"))): entry.in_radix(radix) for radix in entry.radices}
        return {
            label: cls.fitted(variant.cost) if variant.algorithm.segmented else cls((variant.cost(),))
            for label, variant in (variants or {name: entry}).items()
        }

    def scaled(self, beta: Fraction) -> Form:
        """With so many times the bytes."""
        if beta == 1:
            return self
        few = tuple(Cost(cost.n_alpha, cost.n_beta * beta) for cost in self.few)
        if self.slope is None:
            return Form(few)
        a0, a1, b0, b1 = self.slope
        return Form(few, (a0, a1, b0 * beta, b1 * beta))

    def cost(self, segments: int = 1) -> Cost:
        """The exact cost in so many segments."""
        if self.slope is None or segments <= len(self.few):
            return self.few[segments - 1]
        a0, a1, b0, b1 = self.slope
        return Cost(a0 + a1 * segments, b0 + b1 / segments)

    @cached_property
    def _numbers(self) -> list[Any]:
        if isinstance(self.few[0], TieredCost):
            return _kinds(self.few[0])
        return [*(count for cost in self.few for count in (cost.n_alpha, cost.n_beta)), *(self.slope or ())]

    @cached_property
    def counts(self) -> Any:
        """What the page gets: numbers, and text such as "511/256" for a fraction."""
        return _each(lambda count: int(count) if Fraction(count).denominator == 1 else str(count), self._numbers)

    @cached_property
    def _floats(self) -> Any:
        return _each(float, self._numbers)

    def busy(self, message: float, alpha: Sequence[float], bandwidth: Sequence[float]) -> list[float]:
        """Seconds for which each level's busiest links carry bytes, and seconds of latency; of a cost by tiers."""
        waits = sum(steps * max(h * a for h, a in zip(hops, alpha, strict=True)) for steps, hops, _ in self._floats)
        carries = [
            sum(steps * loads[level] * message / speed for steps, _, loads in self._floats)
            for level, speed in enumerate(bandwidth)
        ]
        return [*carries, waits]

    def seconds(self, segments: int, alpha: float, per_byte: float) -> float:
        """The time in so many segments, of a cost on one tier, at a latency alpha and M/BW per_byte, all in seconds."""
        counts = self._floats
        if segments <= len(self.few):
            return float(counts[2 * segments - 2] * alpha + counts[2 * segments - 1] * per_byte)
        a0, a1, b0, b1 = counts[-4:]
        return float((a0 + a1 * segments) * alpha + (b0 + b1 / segments) * per_byte)

    def price(self, message: float, alpha: Sequence[float], bandwidth: Sequence[float]) -> tuple[float, int]:
        """Seconds, and in how many segments: the smallest best whole number of them."""
        counts = self._floats
        if isinstance(self.few[0], TieredCost):
            waits = (max(h * a for h, a in zip(hops, alpha, strict=True)) for _, hops, _ in counts)
            sends = (max(load * message / b for load, b in zip(loads, bandwidth, strict=True)) for *_, loads in counts)
            return sum(steps * (wait + send) for (steps, *_), wait, send in zip(counts, waits, sends, strict=True)), 1
        per_byte = message / bandwidth[0]
        several, most = [*range(1, len(self.few) + 1)], max(1, min(MOST, floor(message)))  # each has a byte
        if self.slope:
            _, a1, _, b1 = counts[-4:]
            near = floor(min(sqrt(b1 * per_byte / (a1 * alpha[0])), most - 2)) - 1
            start = max(len(several) + 1, near)
            several += range(start, start + 4)
        times = {p: self.seconds(p, alpha[0], per_byte) for p in several if p <= most}
        lowest = min(times.values()) * SAME
        best = next(p for p, time in times.items() if time <= lowest)
        return times[best], best


def only(cost: Cost) -> dict[str, Form]:
    """The variants of a row that has only one, in one piece."""
    return {"": Form((cost,))}


def _each(change: Callable[[Any], Any], numbers: Any) -> Any:
    return [_each(change, one) for one in numbers] if isinstance(numbers, list | tuple) else change(numbers)


def _kinds(cost: TieredCost) -> list[Any]:
    """The kinds of step: how many, and the hops and loads that each level of alpha and BW has of them."""
    levels = [[t for t, tier in enumerate(cost.tiers) if tier.level == level] for level in range(cost.levels)]
    return [
        [
            kind.steps,
            [max((Fraction(kind.hops[t]) for t in tiers), default=Fraction(0)) for tiers in levels],
            [max((kind.loads[t] / cost.tiers[t].bandwidth for t in tiers), default=Fraction(0)) for tiers in levels],
        ]
        for kind in cost.kinds
    ]


@dataclass(frozen=True)
class Row:
    """One competitor: what it is called, and its variants, of which the fastest counts.

    Where somebody chose and not the fastest counts, `takes` has the variant below so many bytes; one that is not among
    `variants` has no price.
    """

    name: str  # in tables and at its curve
    variants: Mapping[str, Form]  # by their labels, "" where there is only one
    floor: Form | None = None  # the two lower bounds that its time is compared with
    message: float | None = None  # M in bytes, where it is not the reader's
    times: int = 1  # how often it runs
    factor: Fraction | int = 1  # of nccl-tests, by which M over the time is multiplied
    group: str = ""  # what bars add it to (default: itself)
    alpha: tuple[str, ...] = ()  # the quantities, if not the race's
    bandwidth: tuple[str, ...] = ()
    bound: bool = False  # whether it is a bound, drawn and not ranked
    more: Mapping[str, str] = field(default_factory=dict)  # what a table says of it besides, by column
    takes: tuple[tuple[float, str], ...] = ()

    def packed(self) -> dict[str, Any]:
        """What the page gets beside the variants, without what is as usual."""
        fields: dict[str, Any] = {
            "n": self.name,
            "d": self.more,
            "f": self.floor and self.floor.counts,
            "m": self.message,
            "g": self.group,
            "b": int(self.bound),
            "t": self.times > 1 and self.times,
            "x": self.factor != 1 and str(Fraction(self.factor)),
            "a": self.alpha,
            "s": self.bandwidth,
            "k": self.takes,
        }
        return {key: value for key, value in fields.items() if value}


@dataclass(frozen=True)
class Priced:
    """A row with its price: the variant, in how many segments, how long it and its floor take in seconds, its look."""

    row: Row
    variant: str
    segments: int
    seconds: float
    floor: float
    look: Look

    @property
    def cost(self) -> Cost:
        """The exact cost of one run."""
        return self.row.variants[self.variant].cost(self.segments)

    @property
    def label(self) -> str:
        """The variant, or else the row, with its segments where it is pipelined."""
        return (self.variant or self.row.name) + (f", P = {self.segments}" if self.segments > 1 else "")

    @property
    def tint(self) -> str:
        """The color of the algorithm that it goes by, or else the row's."""
        return (known(self.variant) or self.look).color

    @property
    def title(self) -> str:
        """The row, with its variant in parentheses if there are several."""
        return f"{self.row.name} ({self.label})" if self.variant else self.row.name


@dataclass(frozen=True)
class Race:
    """Rows for every state of some controls, and the quantities that price them.

    For every level, innermost first, `alpha` and `bandwidth` name the quantities whose product is its alpha and its BW,
    such as "alpha*delay", or "bw/over" for a quotient.
    """

    rows: Callable[..., Sequence[Row]]  # its parameters are controls
    message: str = "m"  # the quantity (or the control of numbers) that is M
    alpha: tuple[str, ...] = ("alpha",)
    bandwidth: tuple[str, ...] = ("bw",)
    levels: tuple[str, ...] = ()  # what the links of each level are called, where a view tells them apart

    @cached_property
    def depends_on(self) -> tuple[str, ...]:
        """The controls that decide the rows."""
        return reads(self.rows)

    @cached_property
    def _cached_rows(self) -> Callable[..., list[Row]]:
        return cache(lambda **controls: list(self.rows(**controls)))

    def rows_in(self, state: State) -> list[Row]:
        """The rows in a state; made once."""
        return self._cached_rows(**{name: state[name] for name in self.depends_on})

    def standings(self, state: State) -> list[Priced]:
        """Every row, priced, in the order of the rows."""
        rows = zip(self.rows_in(state), self.looks(state), strict=True)
        return [self._priced(row, state, look) for row, look in rows]

    def looks(self, state: State) -> list[Look]:
        """How every row is drawn: bounds alike, the others by the algorithm that they name."""
        rows = self.rows_in(state)
        chosen = iter(looks([row.name for row in rows if not row.bound]))
        return [BOUND if row.bound else next(chosen) for row in rows]

    def ideal(self, state: State, alpha: str, bandwidth: str) -> list[Priced]:
        """Every row at the same alpha and BW, whatever its own."""
        rows = [replace(row, alpha=(alpha,), bandwidth=(bandwidth,)) for row in self.rows_in(state)]
        return [self._priced(row, state, BOUND) for row in rows]

    def prices(self, row: Row, state: State) -> dict[str, tuple[float, int]]:
        """Seconds and segments of every variant of a row."""
        return {variant: form.price(*self._quantities(row, state)) for variant, form in row.variants.items()}

    def over_segments(self, one: Priced, state: State) -> list[tuple[int, float]]:
        """Numbers of segments, ever farther apart, to four times the best and 64 at least, but
        none of less than a byte; with their times."""
        message, (alpha, *_), (bandwidth, *_) = self._quantities(one.row, state)
        last = ceil(STEPS * log2(max(64, 4 * one.segments)))
        several = sorted({round(2 ** (k / STEPS)) for k in range(last + 1)} | {one.segments})
        form, most = one.row.variants[one.variant], max(1, min(MOST, floor(message)))
        return [(p, form.seconds(p, alpha, message / bandwidth)) for p in several if p <= most]

    def _quantities(self, row: Row, state: State) -> tuple[float, list[float], list[float]]:
        message = state[self.message] if row.message is None else row.message
        alpha = [_product(term, state) for term in row.alpha or self.alpha]
        bandwidth = [_product(term, state) for term in row.bandwidth or self.bandwidth]
        return message, alpha, bandwidth

    def busy(self, one: Priced, state: State) -> list[float]:
        """What `Form.busy` says of the variant that a row is priced by, as shares of its time."""
        return [part / one.seconds for part in one.row.variants[one.variant].busy(*self._quantities(one.row, state))]

    def _priced(self, row: Row, state: State, look: Look) -> Priced:
        prices = self.prices(row, state)
        variant = min(prices, key=lambda label: prices[label][0])
        if row.takes:
            variant = next(label for limit, label in row.takes if state[self.message] < limit)
        seconds, segments = prices.get(variant, (inf, 1))
        least = row.floor.price(*self._quantities(row, state))[0] if row.floor else 0.0
        return Priced(row, variant, segments, row.times * seconds, row.times * least, look)


def _product(term: str, state: State) -> float:
    numerator, *denominators = (prod(float(state[name]) for name in part.split("*")) for part in term.split("/"))
    return numerator / prod(denominators)


def fastest(standings: Sequence[Priced]) -> list[Priced]:
    """The fastest that is no bound, and all that tie with it, in the order of the rows."""
    running = [one for one in standings if not one.row.bound]
    least = min(one.seconds for one in running)
    return [one for one in running if one.seconds <= least * (1 + TIE)]


def turns(race: Race, state: State, sizes: Sequence[float]) -> list[tuple[float, list[Priced]]]:
    """From which message on which rows are fastest, together until others are and none of them is, bisected between
    the sizes.

    The first begins at the first size.
    """

    def first(message: float) -> list[Priced]:
        return fastest(race.standings({**state, race.message: message}))

    def still(message: float) -> list[Priced]:
        """Those of the last leaders that still lead."""
        names = {one.row.name for one in first(message)}
        return [one for one in leaders[-1][1] if one.row.name in names]

    leaders = [(sizes[0], first(sizes[0]))]
    for low, high in pairwise(sizes):
        while not still(high):
            below, above = low, high
            while above > below * 1.0001:
                middle = sqrt(below * above)
                below, above = (middle, above) if still(middle) else (below, middle)
            leaders.append((above, first(above)))
            low = above
        leaders[-1] = leaders[-1][0], still(high)
    return leaders

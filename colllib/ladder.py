"""The one price: an algorithm on a topology, what it costs exactly, how that is known, and how long it takes."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from math import inf
from operator import attrgetter
from typing import Any, NamedTuple, TypeGuard, Unpack

from colllib import units
from colllib.algorithms import Algorithm, every, find, of
from colllib.algorithms.alltoall import radices
from colllib.bounds import bus_factor
from colllib.cost import Cost, Terms, best_segments, check_latency
from colllib.efficiency import IDEAL, Eta, slowed
from colllib.execution import Execution, execute, expected_seconds
from colllib.limits import IN_FULL, MOST_BLOCKS, SOON, NotSoon, TooLarge, check_seconds, check_size, waiting
from colllib.primitives import lg
from colllib.schedule import Orbit, Schedule
from colllib.segmentation import Parts, Pricing, continued, in_every_way, lowest, overlapped
from colllib.symmetry import by_symmetry, expected_by_symmetry, has_classes
from colllib.topology import Lattice, NoRouteError, Topology, injection, star
from colllib.topology.cuts import check_connected
from colllib.topology.expression import find as find_topology

# the anchor where the numbers of all chapters meet
ANCHOR_RANKS = 512
ANCHOR_MESSAGE = 16e6
ANCHOR_ALPHA = 0.5e-6
ANCHOR_BANDWIDTH = 900e9

PRIMITIVES = ("broadcast", "reduce", "all-gather", "reduce-scatter", "all-reduce", "all-to-all")

#: The topologies of the ladders at N = 512, in the order of the tables.
FABRICS = (
    "star:512",
    "torus:8x8x8",
    "torus:8x4x4x4",
    "torus:16x8x4",
    "torus:32x16",
    "ring:512",
    "mesh:8x8x8",
    "mesh:32x16",
    "full-mesh:512",
)

EXECUTED, CLOSED_FORM = "executed", "closed form"
NOT_STARTED = "is found by a search that a ladder does not start"

MOST_SEGMENTS = 2**14  # that are tried when the best number is sought
LONGEST = 6.0  # seconds, as expected, of the one that is executed where its best number of segments is sought


@dataclass(frozen=True, eq=False)
class Entry:
    """An algorithm, configured or not, on a topology, before it has a price."""

    algorithm: Algorithm
    topology: Topology
    #: whether a closed form, which tests hold to executions, is taken wherever it is the cost; else only in segments
    trusting: bool = False
    _costs: dict[int, tuple[Cost, str]] = field(default_factory=dict, repr=False)
    _in_radix: dict[int, Entry] = field(default_factory=dict, repr=False)

    @cached_property
    def how(self) -> str:
        """How its costs are known: executed, or by a closed form."""
        trusted = self.trusting or self.algorithm.segmented
        return CLOSED_FORM if trusted and self.algorithm.costs_its_closed_form(self.topology) else EXECUTED

    def schedule(self, segments: int = 1) -> Schedule:
        """The schedule in so many segments; refuses where it cannot run, or takes none."""
        return self.algorithm.build(self.algorithm.argument(self.topology), **self._segment_option(segments))

    def execution(self, segments: int = 1) -> Execution:
        """The schedule executed and proved, now: in full, or by symmetry where it has millions of messages."""
        schedule = self.schedule(segments)
        return (by_symmetry if _symmetric(schedule) else execute)(schedule, self.topology)

    def __str__(self) -> str:
        return f"{self.algorithm.primitive} {self.algorithm.name} on {self.topology.name}"

    def check(self, segments: int = 1) -> None:
        """Refuse what would take more than about a minute to execute; `by_symmetry` refuses for itself."""
        schedule = self.schedule(segments)
        if not _symmetric(schedule):
            named = f"{self} in {segments} segments" if segments != 1 else str(self)
            check_seconds(named, expected_seconds(named, schedule, self.topology))

    def runs_within(self, seconds: float, segments: int) -> bool:
        """Whether executing it is expected to fit into the memory and to take no longer."""
        with suppress(TooLarge):
            schedule = self.schedule(segments)
            if _symmetric(schedule):
                return expected_by_symmetry(schedule, self.topology) <= seconds
            return expected_seconds(str(self), schedule, self.topology) <= seconds
        return False

    def cost(self, segments: int = 1) -> Cost:
        """The exact cost, by what `how` says; remembered."""
        return self._known(segments)[0]

    def _known(self, segments: int) -> tuple[Cost, str]:
        """The cost, and how it is known."""
        if segments not in self._costs:
            if self.how == EXECUTED:
                run = self.execution(segments)
                self._costs[segments] = run.cost, run.how
            else:
                argument = self.algorithm.argument(self.topology)
                self._costs[segments] = self.algorithm.cost(argument, **self._segment_option(segments)), CLOSED_FORM
        return self._costs[segments]

    def _segment_option(self, segments: int) -> dict[str, int]:
        """The number of segments as an algorithm takes it; refused by one that takes none."""
        if self.algorithm.segmented:
            return {"segments": segments}
        if segments != 1:
            raise ValueError(f"{self.algorithm.primitive} {self.algorithm.name} takes no segments: leave them out")
        return {}

    @property
    def rounds(self) -> int:
        """After how many segments its steps are as before."""
        return max(1, lg(self.topology.ranks)) if self.algorithm.in_rounds else 1

    @cached_property
    def radices(self) -> tuple[int, ...]:
        """The radices to choose from, where an algorithm takes one; pairwise, where its closed form is the cost.

        N, and where it is the same N - 1, are left out: they are direct or pairwise exchange, which has a name of its
        own. So is 2 where several messages leave at once, and more than 8, which saves little.

        >>> entry("all-to-all", "bruck", "star:9").radices, entry("all-to-all", "pairwise", "star:9").radices
        ((3, 7), ())
        """
        algorithm, ranks = self.algorithm, self.topology.ranks
        if "radix" not in algorithm.options or algorithm.chosen:
            return ()
        if algorithm.many_partners:
            return tuple(range(3, min(ranks, 9)))
        return radices(ranks, most=ranks - 2) if algorithm.costs_its_closed_form(self.topology) else ()

    def in_radix(self, radix: int) -> Entry:
        """The same with a radix; made once."""
        if radix not in self._in_radix:
            in_radix = self.algorithm.configured({"radix": radix})
            self._in_radix[radix] = Entry(in_radix, self.topology, self.trusting)
        return self._in_radix[radix]

    def in_best_radix(self, **price: Unpack[Terms]) -> Entry:
        """The same in the best of its `radices` at a price, if messages leave an alpha apart; itself where it has none.

        >>> at = {"message": 16e6, "alpha": 0.5e-6, "bandwidth": 900e9}
        >>> entry("all-to-all", "bruck", "star:512").in_best_radix(**at).algorithm.chosen
        {'radix': 22}
        """
        if not self.radices:
            return self
        pricing = Pricing(self.topology, **price) if self.algorithm.many_partners else None

        def seconds(radix: int) -> float:
            if pricing is None:
                return self.algorithm.cost.configured(radix=radix)(self.topology.ranks).seconds(**price)
            schedule = self.in_radix(radix).schedule()
            return sum(pricing.lock_step(schedule)) + pricing.posting(schedule)

        return self.in_radix(min(self.radices, key=seconds))

    def priced(
        self, *, segments: int | None = None, eta: Eta = IDEAL, equal_injection: bool = False, **price: Unpack[Terms]
    ) -> Rung:
        """The entry with a price, in the best whole number of segments, unless one is given, and the best radix.

        Args:
            eta: what the topology is said to lose; the best number of segments follows it.
            equal_injection: a rank's links have BW together, instead of each.
            price: as for `Cost.seconds`.

        >>> price = {"message": 16e6, "alpha": 0.5e-6, "bandwidth": 900e9}
        >>> tree = entry("all-reduce", "double-binary-tree", "star:512").priced(**price)
        >>> tree.label, tree.how, round(tree.seconds * 1e6, 2)
        ('double binary tree, P = 12', 'closed form', 96.78)
        """
        price = slowed(price, eta, injection(self.topology) if equal_injection else 1)
        if self.radices:
            return self.in_best_radix(**price).priced(segments=segments, **price)
        if segments is None:
            segments = 1
            if self.algorithm.segmented and self.how == CLOSED_FORM:
                segments = best_segments(self.cost, **price)
            elif self.algorithm.segmented:
                segments, _ = _best_segments(self, price)
        cost, how = self._known(segments)
        return Rung(self, segments, cost.seconds(**price), price["message"], how)


def _symmetric(schedule: Schedule) -> TypeGuard[Orbit]:
    return isinstance(schedule, Orbit) and schedule.num_messages > IN_FULL


class NotRun(NamedTuple):
    """What would be faster, or may be, and takes long to run."""

    entry: Entry
    segments: int  # the best number of them; of unknown seconds the first one that was not tried
    seconds: float | None  # by what its steps send over each link

    @property
    def described(self) -> dict[str, Any]:
        """As results have it."""
        return {"options": _options(self.entry.algorithm), "segments": self.segments, "time_s": self.seconds}

    def __str__(self) -> str:
        if self.seconds is None:
            return f"P > {self.segments - 1} not tried"
        return f"{', '.join(_chosen(self.entry, self.segments))} too long to run: {units.seconds(self.seconds, 4)}"


@dataclass(frozen=True, eq=False)
class Rung:
    """A priced entry: an algorithm on a topology in P segments, what it costs, how long it takes, how that is known."""

    entry: Entry
    segments: int  # 1 where it takes none
    seconds: float  # lock-step, with what the topology is said to lose, and at equal injection where that is asked
    message: float  # M in bytes
    how: str  # "executed", "by symmetry", "closed form", or "counted": the bytes on each link in each step, not proved
    run: Execution | None = field(default=None, repr=False)  # that the cost comes from
    not_run: NotRun | None = None  # what would be faster and takes long to run
    #: of one that sends to several in a step, how much longer it takes if a rank's messages leave an alpha apart
    posting: float | None = None

    @property
    def execution(self) -> Execution:
        """The run that the cost comes from, or one made now."""
        return self.run or self.entry.execution(self.segments)

    @property
    def cost(self) -> Cost:
        """The exact cost; executed now if it was only counted."""
        return self.run.cost if self.run else self.entry.cost(self.segments)

    @property
    def apart(self) -> float:
        """The seconds if a rank's messages in a step leave an alpha apart."""
        return self.seconds + (self.posting or 0)

    @property
    def algorithm(self) -> Algorithm:
        """Which."""
        return self.entry.algorithm

    @property
    def label(self) -> str:
        """The algorithm, with its radix or its tiers where they are chosen, and its segments where it is pipelined."""
        return ", ".join([self.algorithm.label, *_chosen(self.entry, self.segments)])

    @property
    def options(self) -> list[str]:
        """What is chosen of the algorithm's options, as the command line takes it, such as "tiers=ring,ring"."""
        return _options(self.algorithm)

    @property
    def algbw(self) -> float:
        """M over the time, in bytes per second; infinite for a time of zero."""
        return self.message / self.seconds if self.seconds else float("inf")

    @property
    def busbw(self) -> float:
        """What nccl-tests calls bus bandwidth, in bytes per second."""
        share = float(bus_factor(self.algorithm.primitive, self.entry.topology.ranks))
        return self.algbw * share if share else 0.0  # of one rank nothing is sent, in no time


def _options(algorithm: Algorithm) -> list[str]:
    return [f"{name}={value}" for name, value in algorithm.chosen.items()]


def _chosen(entry: Entry, segments: int) -> list[str]:
    """What is chosen that tables show: of tiers those that join anything, and of several their order."""
    algorithm, chosen = entry.algorithm, entry.algorithm.chosen
    dims = entry.topology.lattice.dims if entry.topology.lattice else ()
    tiers = chosen["tiers"].split(",") if "tiers" in chosen else []
    if len(tiers) == len(dims):
        tiers = [name for name, size in zip(tiers, dims, strict=True) if size > 1]
    several = sum(size > 1 for size in dims) > 1
    shown = [f"radix {chosen['radix']}"] if "radix" in chosen else []
    shown += [" + ".join(tiers)] if tiers else []
    shown += [chosen["order"]] if algorithm.name == "hierarchical" and "order" in chosen and several else []
    shown += [chosen["turn"]] if "turn" in chosen else []
    return [*shown, *([f"P = {segments}"] if segments > 1 else [])]


#: The topology of an expression, made once.
topology = cache(find_topology)


@cache
def entry(primitive: str, name: str, on: str, trusting: bool = False) -> Entry:
    """An algorithm on the topology of an expression, made once, so that it is executed once.

    Raises:
        ValueError: if there is no such algorithm, or it cannot run there.

    >>> entry("all-to-all", "rotated-relay", "torus:8x8x8", trusting=True).cost()
    Cost(n_alpha=12, n_beta=1)
    """
    candidate = Entry(find(primitive, name), topology(on), trusting)
    candidate.algorithm.argument(candidate.topology)  # which refuses where it cannot run
    return candidate


def offered(primitive: str, topology: Topology) -> tuple[Algorithm, ...]:
    """The algorithms of a primitive that a ladder on a topology compares.

    >>> [algorithm.name for algorithm in offered("all-to-all", topology("full-mesh:8"))]
    ['pairwise', 'bruck', 'ring-relay', 'direct']
    """
    return tuple(a for a in every(primitive) if skipped(a, topology) is None)


def skipped(algorithm: Algorithm, topology: Topology, searching: bool = False) -> str | None:
    """Why a ladder leaves an algorithm out, as a sentence without its subject; None if it does not.

    Args:
        searching: whether it starts searches.

    >>> skipped(find("all-to-all", "direct"), topology("star:8"))
    'sends to several partners at once over links that they share, where a step costs one alpha: see colllib run'
    """
    if (refusal := algorithm.refusal(topology)) is not None:
        return refusal
    waited = algorithm.searched is None or topology.ranks * topology.num_links <= algorithm.searched
    if not waited and not (searching and not algorithm.searched) and not algorithm.costs_its_closed_form(topology):
        return NOT_STARTED
    return _crowded(topology) if algorithm.many_partners and not (searching and topology.switches) else None


def _crowded(topology: Topology) -> str | None:
    """Why sending to several others in a step is left out; None where a rank has a link to each."""
    ranks = topology.ranks
    paired = int(((topology.link_src < ranks) & (topology.link_dst < ranks)).sum()) == ranks * (ranks - 1)
    if paired or ranks <= 2:
        return None
    return "sends to several partners at once over links that they share, where a step costs one alpha: see colllib run"


def _posted_soon(candidate: Entry) -> bool:
    """Whether what a rank's messages take one by one is counted soon; of several radices, if all ranks look alike."""
    if not candidate.radices:
        return candidate.runs_within(SOON / 10, 1)
    schedule = candidate.schedule()
    return not _symmetric(schedule) or has_classes(schedule, candidate.topology)


def _sought(candidate: Entry) -> str | None:
    """Search for a schedule where that takes about two seconds at most; why what is found is left out, as `skipped`."""
    try:
        with waiting(SOON):
            candidate.schedule()
    except NotSoon:
        return NOT_STARTED
    except ValueError as error:  # such as links that are wider one way
        return str(error)
    return None


def run(algorithm: Algorithm, topology: Topology, *, segments: int | None = None, **price: Unpack[Terms]) -> Rung:
    """Execute one algorithm and price it, keeping the execution.

    Args:
        segments: how many; None takes the best whole number where the algorithm is segmented, by the closed form
            where it holds and else by a search, without executing what is not chosen.
        price: as for `Cost.seconds`.

    Raises:
        ValueError: if segments are given to an algorithm that takes none, or it cannot run there.
        TooLarge: if it would take more than about a minute.

    >>> from colllib import star
    >>> rung = run(find("all-reduce", "ring"), star(4), message=4e6, alpha=1e-6, bandwidth=1e9)
    >>> rung.cost, round(rung.seconds * 1e6)
    (Cost(n_alpha=6, n_beta=3/2), 6006)
    """
    candidate = Entry(algorithm, topology)
    check_size(str(candidate), segments or 1, MOST_BLOCKS, "segments")
    candidate.check()
    not_run = None
    if segments is None:
        segments, not_run = _best_segments(candidate, price) if algorithm.segmented else (1, None)
    if segments != 1:
        candidate.check(segments)
    execution = candidate.execution(segments)
    seconds = execution.cost.seconds(**price)
    return Rung(candidate, segments, seconds, price["message"], execution.how, run=execution, not_run=not_run)


def _best_segments(candidate: Entry, price: Terms) -> tuple[int, NotRun | None]:
    """The best whole number of segments of those that may run, and what would be faster beyond them."""
    too_many = f"{candidate}: the best number of segments is above {MOST_SEGMENTS}, too many to run; give one"
    if candidate.how == CLOSED_FORM:
        segments = best_segments(candidate.cost, **price)
        if segments > MOST_SEGMENTS:
            raise TooLarge(too_many)
        return segments, None
    check_latency(price["alpha"])
    in_one = candidate.schedule()
    if not in_one.num_steps:
        return 1, None
    if candidate.algorithm.overlaps:
        tried, parts = dict[int, tuple[float, float]](), overlapped(in_one, candidate.topology, **price)
    else:
        tried, parts = _priced_in_rounds(candidate, in_one.num_steps, price)
    seconds, segments, not_run = _best_that_may_run(candidate, parts, in_one.num_steps)
    if segments == MOST_SEGMENTS and sum(parts(segments + 1)) < seconds:
        raise TooLarge(too_many)
    if not_run is not None and not_run.segments == 1:  # it is run however long that takes
        seconds, not_run = sum(parts(1)), None
    refused = min((pieces for pieces, (wait, _) in tried.items() if wait == inf), default=None)
    if refused is not None and not_run is None:
        most = max(pieces for pieces in tried if pieces < refused)
        wait, busy = tried[most]
        if wait + busy * most / MOST_SEGMENTS < seconds:  # the least that further ones may take
            not_run = NotRun(candidate, refused, None)
    return segments, not_run


def _priced_in_rounds(candidate: Entry, steps: int, price: Terms) -> tuple[dict[int, tuple[float, float]], Parts]:
    """What P segments that do not overlap take: of few the schedule is priced, infinite where it is too large to run.

    Returns:
        those that were priced, to which more are added, and what any P take.
    """
    pricing, tried = Pricing(candidate.topology, **price), dict[int, tuple[float, float]]()

    def priced(pieces: int) -> tuple[float, float]:
        tried[pieces] = (inf, inf)
        if pieces == 1 or candidate.runs_within(LONGEST, pieces):
            tried[pieces] = pricing.lock_step(candidate.schedule(pieces))
        return tried[pieces]

    return tried, continued(priced, steps, candidate.rounds)


def _best_that_may_run(
    candidate: Entry, parts: Parts, steps: int, below: float = inf
) -> tuple[float, int, NotRun | None]:
    """As `lowest`, of the numbers of segments that may run, and what would be faster beyond them."""
    most = MOST_SEGMENTS if candidate.algorithm.segmented else 1
    seconds, segments = lowest(parts, steps, most, rounds=candidate.rounds, below=below)
    if seconds == inf or candidate.runs_within(LONGEST, segments):
        return seconds, segments, None
    most = bisect_left(range(1, segments), True, key=lambda pieces: not candidate.runs_within(LONGEST, pieces))
    fewer = lowest(parts, steps, most, rounds=candidate.rounds) if most else (inf, 1)
    return *fewer, NotRun(candidate, segments, seconds)


def best(algorithm: Algorithm, argument: int | Lattice | Topology, **price: Unpack[Terms]) -> int:
    """The best whole number of segments by the closed form, for the ranks, axes or topology that it is built from.

    Raises:
        ValueError: for an algorithm without a closed form.

    >>> best(find("all-reduce", "double-binary-tree"), 512, message=16e6, alpha=0.5e-6, bandwidth=900e9)
    12
    """
    if not algorithm.has_closed_form:
        raise ValueError(f"{algorithm.primitive} {algorithm.name} has no closed form: give the number of segments")
    return best_segments(lambda p: algorithm.cost(argument, segments=p), **price)


def ladder(primitive: str, topology: Topology, **price: Unpack[Terms]) -> list[Rung]:
    """Every algorithm that a topology offers, fastest first, each executed: what `field_of` compares.

    >>> from colllib import star
    >>> [rung.label for rung in ladder("all-reduce", star(8), message=1e9, alpha=1e-6, bandwidth=1e9)][:2]
    ['Rabenseifner', 'Bruck']
    """
    return field_of(primitive, topology, **price)[0]


def field_of(
    primitive: str,
    topology: Topology,
    among: Iterable[Algorithm] | None = None,
    searching: bool = False,
    **price: Unpack[Terms],
) -> tuple[list[Rung], dict[str, str]]:
    """Every algorithm, or some, that a topology offers, fastest first, and why the others are left out.

    Segmented ones are in their best P, as by `run`, Bruck's all-to-all on a star in its best radix, k-nomial in the one
    that is best if messages leave an alpha apart, a hierarchical one in the order and with the algorithms on its tiers
    that are fastest at their best P, and channels in the faster turn.

    Args:
        among: which of them.
        searching: whether forests, flows and syntheses are searched for, where that takes about two seconds at most,
            and what sends to several others in a step through switches is run. Through switches these are left out
            where their place depends on whether the messages of a rank in a step pass its link at once, or an alpha
            apart.

    Raises:
        NoRouteError: if none can run because ranks are cut off from the others.

    >>> from colllib.topology import boxes
    >>> apart = boxes((2, 4), rails=4, apart=True)
    >>> rungs, left_out = field_of("all-gather", apart, message=1e9, alpha=(1e-6, 5e-6), bandwidth=(450e9, 50e9))
    >>> [rung.label for rung in rungs][1:], left_out["ring"][:33]
    (['ring channels, alternate', 'recursive doubling'], 'no route from rank 3 to rank 4: t')
    """
    rungs, left_out = [], {}
    for algorithm in every(primitive) if among is None else among:
        try:
            candidate = Entry(algorithm, topology)
            why = skipped(algorithm, topology, searching)
            if why is None and algorithm.searched == 0:
                why = _sought(candidate)
            if why is None and algorithm.many_partners and not _posted_soon(candidate):
                why = _crowded(topology)
            if why is not None:
                left_out[algorithm.name] = why
                continue
            rung = _in_best_way(candidate, price) or run(candidate.in_best_radix(**price).algorithm, topology, **price)
            several = algorithm.many_partners or algorithm.searched == 0 or algorithm.name == "collnet"  # in its box
            if topology.switches and several:
                posting = Pricing(topology, **price).posting(rung.entry.schedule(rung.segments))
                rung = replace(rung, posting=posting)
            rungs.append(rung)
        except (TooLarge, NoRouteError) as error:
            left_out[algorithm.name] = str(error)
    if not rungs:
        check_connected(topology)
    placed: list[Rung] = []
    unplaced = {}
    for rung in sorted(rungs, key=lambda rung: rung.posting or 0):
        if any(_order(rung.seconds, other.seconds) != _order(rung.apart, other.apart) for other in placed):
            at_once, apart = units.seconds(rung.seconds, 4), units.seconds(rung.apart, 4)
            why = f"if the messages of a rank in a step pass its link at once, {apart} if an alpha apart"
            unplaced[rung.algorithm.name] = f"takes {at_once} {why}"
        else:
            placed.append(rung)
    return sorted((rung for rung in rungs if rung in placed), key=_seconds), unplaced | left_out


def _order(one: float, other: float) -> int:
    """1 if one time is longer than another, -1 if it is shorter, 0 if they tie."""
    return (one > other * (1 + TIE)) - (other > one * (1 + TIE))


def _in_best_way(candidate: Entry, price: Terms) -> Rung | None:
    """A hierarchical algorithm in its best order on its best tiers, or channels in their best turn, in the best P.

    All that have a route are compared, but for what would take long to execute. None where there is no such way.
    """
    topology = candidate.topology
    if not candidate.algorithm.options.keys() & {"tiers", "turn"}:
        return None
    if candidate.algorithm.segmented:
        check_latency(price["alpha"])
    options = list(in_every_way(candidate.algorithm, topology, **price))
    if not options:
        return None
    bounds = sorted((traffic.least(), number) for number, (_, traffic) in enumerate(options))
    least, timed, beyond = inf, [], []
    for bound, number in bounds:
        if bound > least * (1 + TIE):
            break  # no number of segments makes it as fast
        configured, traffic = options[number]
        parts, steps = traffic.in_segments(), len(traffic.waits)
        time, pieces, not_run = _best_that_may_run(Entry(configured, topology), parts, steps, least * (1 + TIE))
        least = min(least, time)
        timed.append((time, number, pieces))
        if not_run:
            beyond.append(not_run)
    tied = [(number, pieces) for time, number, pieces in timed if time <= least * (1 + TIE) < inf]
    chosen, segments = min(tied, default=(0, None))
    rung = run(options[chosen][0], topology, segments=segments, **price)
    faster = [one for one in beyond if one.seconds is not None and one.seconds < rung.seconds * (1 - WORTH)]
    return replace(rung, not_run=min(faster, key=attrgetter("seconds"), default=rung.not_run))


WORTH = 1e-3  # what something faster must save to be named though it is not run
#: By which rungs are ordered; of equals, the one that stands first in the catalogue is first.
_seconds = attrgetter("seconds")


BUTTERFLIES = ("recursive-doubling", "recursive-halving")


@cache
def entries(primitive: str, expression: str, trusting: bool = False) -> tuple[Entry, ...]:
    """What a table compares on a topology: algorithms made for it or with a closed form there, and butterflies.

    All others have to be executed for every number of segments; `ladder` does that.

    >>> [entry.algorithm.label for entry in entries("all-gather", "torus:4x4")]
    ['recursive doubling', 'dim-ring', 'breadth-first', 'dim-ring in rotated copies']
    """
    on = topology(expression)
    compared = (
        algorithm
        for algorithm in offered(primitive, on)
        if algorithm.takes != "ranks" or algorithm.costs_its_closed_form(on) or algorithm.name in BUTTERFLIES
    )
    return tuple(entry(primitive, algorithm.name, expression, trusting) for algorithm in compared)


def fastest(primitive: str, on: str, *, trusting: bool = False, **price: Any) -> Rung:
    """The fastest of a topology's `entries`; `price` is what `Entry.priced` takes.

    >>> fastest("all-reduce", "torus:2x2x2", message=16e6, alpha=0.5e-6, bandwidth=900e9).label
    'dim-ring in rotated copies'
    """
    rungs = (one.priced(**price) for one in entries(primitive, on, trusting))
    return min(rungs, key=_seconds)


# -- by closed forms alone, on a star: fast enough for a map -----------------------------------------


@cache
def on_star(primitive: str, name: str, ranks: int) -> Entry:
    """An algorithm on a star of N ranks, with its closed form.

    >>> on_star("all-reduce", "ring", 2**20).cost().n_alpha
    2097150
    """
    return Entry(find(primitive, name), star(ranks), trusting=True)


@cache
def standing(primitive: str, name: str, ranks: int, message: float) -> Rung:
    """One algorithm on a star by its closed form, with M in units of alpha * BW and the time in units of alpha.

    As libraries have it: in radix 2 where it takes one. In these units neither alpha nor BW appears: one field serves
    every network.

    >>> standing("all-reduce", "double-binary-tree", 512, 16e6 / (0.5e-6 * 900e9)).segments
    12
    """
    candidate = on_star(primitive, name, ranks)
    usual = candidate.in_radix(2) if candidate.radices else candidate
    return usual.priced(message=message, alpha=1.0, bandwidth=1.0)


def on_stars(primitive: str, ranks: int, **price: Unpack[Terms]) -> list[Rung]:
    """Every algorithm for any network that serves N ranks, as listed, Bruck's all-to-all in its best radix.

    >>> [rung.label for rung in on_stars("all-to-all", 8, message=5.0, alpha=1.0, bandwidth=1.0)][:2]
    ['pairwise', 'Bruck, radix 3']
    """
    entries = (on_star(primitive, algorithm.name, ranks) for algorithm in of(primitive) if algorithm.fits(ranks))
    return [one.priced(**price) for one in entries]


@cache
def standings(primitive: str, ranks: int, message: float) -> tuple[Rung, ...]:
    """Those `on_stars` in the units of `standing`, fastest first.

    >>> [(rung.label, round(rung.seconds, 2)) for rung in standings("all-to-all", 8, 5.0)][:2]
    [('Bruck, radix 3', 10.25), ('pairwise', 11.38)]
    """
    return tuple(sorted(on_stars(primitive, ranks, message=float(message), alpha=1.0, bandwidth=1.0), key=_seconds))


#: Times that differ by less than this share are a tie.
TIE = 1e-9


def winners(primitive: str, ranks: int, message: float) -> tuple[Algorithm, ...]:
    """The fastest algorithm, or all that tie, in the order of the catalogue.

    >>> [a.name for a in winners("all-gather", 6, 10.0)], [a.name for a in winners("all-reduce", 6, 1e9)]
    (['bruck', 'pat'], ['bruck', 'shortest-way-ring'])
    """
    ranking = standings(primitive, ranks, message)
    tied = {rung.algorithm.name for rung in ranking if rung.seconds <= ranking[0].seconds * (1 + TIE)}
    return tuple(a for a in of(primitive) if a.name in tied)


def regret(primitive: str, name: str, ranks: int, message: float) -> float:
    """How many times the fastest algorithm's time another one takes.

    >>> round(regret("all-reduce", "ring", 512, 16e6 / (0.5e-6 * 900e9)), 1)
    12.3
    """
    return standing(primitive, name, ranks, float(message)).seconds / standings(primitive, ranks, message)[0].seconds

"""Answers on collectives through switches.

Printed totals of in-network rows are held against the event clock with many segments, which is what a switch
that streams comes to; those of software rows, as everywhere in the book, against the lock-step clock at the
best whole number of segments.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cache, partial

from colllib import switch_race
from colllib.algorithms import allreduce, alltoall, direct, find, innetwork, relay
from colllib.algorithms.innetwork import SwitchTree, room
from colllib.claims.finding import Finding, Verdict, answer, not_checkable
from colllib.cost import Cost, half_bandwidth_message
from colllib.events import event_clock
from colllib.execution import Execution, ScheduleError, execute
from colllib.ladder import ANCHOR_ALPHA, ANCHOR_BANDWIDTH, ANCHOR_MESSAGE, PRIMITIVES, Entry, Rung, entry, run
from colllib.switch_race import STREAM
from colllib.topology import Latency, Lattice, Topology, ring, star, switch_tree, torus

CHAPTER = "18-in-network"
TABLES = "19-in-network-tables"
PRICE = {"alpha": ANCHOR_ALPHA, "bandwidth": ANCHOR_BANDWIDTH}
ANCHOR = {"message": ANCHOR_MESSAGE, **PRICE}
RANKS = 512
SIZES = (2, 5, 8, 16)
CUBE = (8, 8, 8)
HALVES = ("all-gather", "reduce-scatter")
# one alpha of 0.5 us, of which the source gives the switch 0.2 us (part 04 sections 1.3 and 3)
PARTS = Latency(endpoint=Fraction(3, 5), switch=Fraction(2, 5))
ENDPOINT, SWITCHING = 300e-9, 200e-9

not_checkable(
    CHAPTER,
    {
        "E-04-001": "A property of endpoint software; section 3 of the same text puts the endpoint and the switch "
        "together at 0.5 us.",
        "E-04-007": "A statement about what ships; NCCL's model (src/tuning/nvls.cc, cost_model.cc) has NVLS for "
        "all-reduce, all-gather and reduce-scatter, and only a ring for broadcast.",
        "E-04-012": "A statement about what ships.",
    },
)


def inc_star(ranks: int, latency: Latency = PARTS, **able: bool) -> Topology:
    """One switch that can do everything, or what is named."""
    can = able or {"combines": True, "replicates": True, "scatters": True}
    return star(ranks, latency=latency, **can)


def inc_tree(ranks: int, radix: int, latency: Latency = PARTS) -> Topology:
    """A tree of switches that can do everything."""
    return switch_tree(ranks, radix, latency=latency, combines=True, replicates=True, scatters=True)


BUILDS = {primitive: find(primitive, "in-network").build for primitive in PRIMITIVES}


@cache
def traversals(primitive: str, ranks: int = 8, radix: int | None = None) -> dict[str, int]:
    """How often a primitive in one piece pays each part of alpha, counted by pricing that part alone."""
    found = {}
    for part, latency in (
        ("endpoint starts", Latency(endpoint=Fraction(1), switch=Fraction(0))),
        ("links", Latency(endpoint=Fraction(0), hop=Fraction(1, 2), switch=Fraction(0))),
        ("switches", Latency(endpoint=Fraction(0), switch=Fraction(1))),
    ):
        where = inc_star(ranks, latency) if radix is None else inc_tree(ranks, radix, latency)
        count = execute(BUILDS[primitive](where), where).cost.n_alpha
        found[part] = int(2 * count if part == "links" else count)
    return found


@cache
def latency_of(primitive: str, ranks: int = 8) -> Fraction:
    """n_alpha of a primitive in one piece through one switch."""
    where = inc_star(ranks)
    return Fraction(execute(BUILDS[primitive](where), where).cost.n_alpha)


def streamed(primitive: str, message: float = ANCHOR_MESSAGE) -> float:
    """Seconds on the event clock in many segments."""
    return switch_race.streamed(primitive, message, ENDPOINT, SWITCHING)


def _entry(primitive: str, on: str, name: str) -> Entry:
    return entry(primitive, name, on, trusting=True)


def _at_best(primitive: str, on: str, name: str, message: float = ANCHOR_MESSAGE) -> Rung:
    return _entry(primitive, on, name).priced(message=message, alpha=ANCHOR_ALPHA, bandwidth=ANCHOR_BANDWIDTH)


@cache
def software(primitive: str, name: str, message: float = ANCHOR_MESSAGE) -> float:
    """Seconds in lock-step on a star, executed at the best whole number of segments."""
    best = _at_best(primitive, f"star:{RANKS}", name, message)
    return best.entry.executed_cost(best.segments).seconds(message=message, **PRICE)


@cache
def in_lockstep(primitive: str, message: float = ANCHOR_MESSAGE) -> float:
    """Seconds in lock-step through one switch, executed at the best whole number of segments."""
    chosen, where = find(primitive, "in-network"), inc_star(RANKS)
    return run(chosen, where, message=message, alpha=ANCHOR_ALPHA, bandwidth=ANCHOR_BANDWIDTH).seconds


def on_torus(primitive: str, name: str, segments: int | None = None) -> Cost:
    """An algorithm executed on the 8x8x8 torus, at the best whole number of segments or at the one given."""
    best = _at_best(primitive, "torus:8x8x8", name)
    return best.entry.executed_cost(best.segments if segments is None else segments)


def _us(seconds: float) -> float:
    return seconds * 1e6


def _rounds_to(printed: str, values: Sequence[float], because: str = "") -> Finding:
    """One printed number for several primitives: all of them must round to it."""
    findings = [Finding.rounds({printed: value}, because) for value in values]
    return next((f for f in findings if f.verdict is Verdict.REFUTED), findings[0])


# -- what a traversal costs -------------------------------------------------------------------


_ONE_ALPHA = (
    "The trip has two hops, as the texts count it, up to the switch and down again, but one start at an endpoint and "
    "one switch: the alpha that every software row pays for a step of two links, and not the latency of two switches."
)
_TWO_ROWS = (
    "The same trip, up to the switch and down again, is counted twice here and once there: executed, every collective "
    "through one switch has two links, one start at an endpoint and one switch."
)
_ONE_SWITCH = (
    "One switch is crossed, and an endpoint starts the trip once, which the column leaves out; the speed-up holds for "
    "one alpha against one alpha per step."
)
_TWICE = (
    "The texts count the same one-way trip through one switch once and twice; executed it starts at one endpoint and "
    "crosses one switch."
)


def _software_steps(primitive: str, name: str) -> Fraction:
    return Fraction(_once(primitive, name).n_alpha)


def _once(primitive: str, name: str) -> Cost:
    """A piece of software on the star, executed in one piece."""
    return _entry(primitive, f"star:{RANKS}", name).executed_cost()


def _counted_twice(primitive: str, elsewhere: str) -> Finding:
    """A row that counts two switches where another place counts one for the same trip."""
    crossed = traversals(primitive)["switches"]
    return Finding.statements({"this row": 2, elsewhere: 1}, f"switches crossed: {crossed}", _TWO_ROWS)


for _id, _primitive, _elsewhere in (
    ("E-00-048", "all-reduce", "the row of reduce"),
    ("E-00-050", "reduce-scatter", "the row of reduce"),
    ("E-00-051", "all-gather", "the row of reduce"),
    ("E-00-052", "broadcast", "part 04 section 1.4"),
    ("E-04-013", "all-reduce", "the row of reduce"),
    ("E-04-015", "reduce-scatter", "the row of reduce"),
    ("E-04-016", "all-gather", "the row of reduce"),
    ("E-04-057", "all-reduce", "the row of broadcast and reduce"),
    ("E-04-059", "all-gather", "the row of broadcast and reduce"),
):  # section 4 of part 04 is a table of the second chapter
    answer(TABLES if _id >= "E-04-055" else CHAPTER, _id)(partial(_counted_twice, _primitive, _elsewhere))


def _counted_once(rivals: tuple[tuple[str, str], ...], speedup: int) -> Finding:
    """A row with one switch: the switches of the trip, and the gain in latencies over software."""
    claimed: dict[str, Fraction] = {}
    executed: dict[str, Fraction] = {}
    for primitive, name in rivals:
        claimed |= {f"switches, {primitive}": Fraction(1), f"speed-up, {primitive}": Fraction(speedup)}
        executed |= {
            f"switches, {primitive}": Fraction(traversals(primitive)["switches"]),
            f"speed-up, {primitive}": _software_steps(primitive, name) / latency_of(primitive),
        }
    return Finding.compare(claimed, executed, _ONE_ALPHA).holding(_ONE_SWITCH)


_REDUCE, _BROADCAST, _ALL_TO_ALL = (
    ("reduce", "binomial-tree"),
    ("broadcast", "binomial-tree"),
    ("all-to-all", "pairwise"),
)
for _id, _rivals, _speedup in (
    ("E-00-049", (_REDUCE,), 9),
    ("E-04-014", (_REDUCE,), 9),
    ("E-04-017", (_BROADCAST,), 9),
    ("E-04-018", (_ALL_TO_ALL,), RANKS - 1),
    ("E-04-061", (_BROADCAST, _REDUCE), 9),
    ("E-04-063", (_ALL_TO_ALL,), RANKS - 1),
):
    answer(TABLES if _id >= "E-04-055" else CHAPTER, _id)(partial(_counted_once, _rivals, _speedup))


@answer(CHAPTER, "E-00-053")
def _effective_bandwidth() -> Finding:
    """BW over n_beta, as the same part defines it, of an all-to-all whose bundles the switch takes apart."""
    said = {"this row": Fraction(RANKS - 1, RANKS), "part 04 section 1.4": Fraction(1)}
    because = (
        "BW_eff is BW / n_beta, and n_beta is (N-1)/N: the cheatsheet prints the inverse, the other table the limit."
    )
    return Finding.statements(said, 1 / Fraction(_hardware(RANKS).n_beta), because)


def _two_texts(primitive: str) -> Finding:
    said = {"part 01": 2, "part 04 section 1.4": 1}
    return Finding.statements(said, traversals(primitive)["switches"], _TWICE)


@answer(CHAPTER, "E-01-026", "E-01-031")
@cache
def _broadcast_in_two_texts() -> Finding:
    return _two_texts("broadcast")


@answer(CHAPTER, "E-01-047", "E-01-051")
@cache
def _reduce_in_two_texts() -> Finding:
    return _two_texts("reduce")


@answer(CHAPTER, "E-01-122", "E-01-125", "E-04-021")
@cache
def _two_switches() -> Finding:
    claimed = {"endpoint starts": 0, "switches": 2}
    executed = {part: traversals("all-reduce")[part] for part in claimed}
    return Finding.compare(claimed, executed, _ONE_ALPHA)


@answer(CHAPTER, "E-04-002")
def _saved_per_level() -> Finding:
    """What one more tier adds: two switches in the network, two full latencies in software."""
    saved = []
    for switch, endpoint in ((Fraction(1, 5), Fraction(1)), (Fraction(2, 5), Fraction(3))):
        latency = Latency(endpoint=(endpoint - switch) / endpoint, switch=switch / endpoint)
        costs = [
            Fraction(execute(innetwork.one_shot_all_reduce(where), where).cost.n_alpha)
            for where in (inc_tree(ranks, 4, latency) for ranks in (12, 36))
        ]
        saved.append(2 / (costs[1] - costs[0]))
    executed = {f"{float(ratio):g} lies in 5 to 10": 5 <= ratio <= 10 for ratio in saved}
    return Finding.compare(dict.fromkeys(executed, True), executed)


@answer(CHAPTER, "E-04-003")
def _a_step_of_the_ring() -> Finding:
    executed = {}
    for n in SIZES[1:]:
        done = execute(find("reduce-scatter", "ring").build(n))
        executed[f"N = {n}"] = max(max(done.link_load(t)) for t in range(done.schedule.num_steps))
    because = "A step forwards one chunk, M/N; (N-1)/N M is the sum over all N-1 steps."
    return Finding.compare({f"N = {n}": Fraction(n - 1, n) for n in SIZES[1:]}, executed, because)


@answer(CHAPTER, "E-04-004")
def _pushing_the_whole_vector() -> Finding:
    executed = {}
    for n in SIZES:
        where = inc_star(n)
        executed[f"N = {n}"] = max(execute(innetwork.scatter_reduced(where, segments=3), where).sent)
    because = (
        "Every rank pushes M as drawn, so its port is busy for M/BW in any number of segments; (N-1)/N takes a rank "
        "that keeps its own slice at home."
    )
    return Finding.compare({f"N = {n}": Fraction(n - 1, n) for n in SIZES}, executed, because)


_ROUND_TRIPS = (
    "Push and receive are one trip through the switch, as in the reduce that the same text counts once: one alpha, so "
    "the ring's N-1 steps are N-1 times as long."
)


@answer(CHAPTER, "E-04-005")
def _speed_up_of_the_latency() -> Finding:
    claimed: dict[str, Fraction] = {}
    executed: dict[str, Fraction] = {}
    for n in (8, 64, RANKS):
        tree = Fraction(execute(find("reduce", "binomial-tree").build(n)).cost.n_alpha) / latency_of("reduce")
        rounds = Fraction(execute(find("reduce-scatter", "ring").build(n)).cost.n_alpha) / latency_of("reduce-scatter")
        claimed |= {f"tree, N = {n}": Fraction(n.bit_length() - 1), f"ring, N = {n}": Fraction(n - 1, 2)}
        executed |= {f"tree, N = {n}": tree, f"ring, N = {n}": rounds}
    return Finding.compare(claimed, executed, _ROUND_TRIPS)


@answer(CHAPTER, "E-04-006")
def _bytes_of_the_all_gather() -> Finding:
    claimed, executed = {}, {}
    for n in SIZES:
        where = inc_star(n)
        done = execute(innetwork.gather_multicast(where, segments=2), where)
        executed[f"N = {n}: up, down"] = [max(done.sent), max(done.received)]
        claimed[f"N = {n}: up, down"] = [Fraction(1, n), Fraction(n - 1, n)]
    return Finding.compare(claimed, executed)


# -- the hardware all-to-all on 72 ranks ------------------------------------------------------


@cache
def _pairwise_72() -> Cost:
    return execute(alltoall.pairwise(72)).cost


@cache
def _hardware(ranks: int) -> Cost:
    return execute(direct.all_to_all(ranks)).cost


@answer(TABLES, "E-04-008")
def _software_all_to_all() -> Finding:
    alpha, load = (part.seconds(**ANCHOR) for part in (Cost(_pairwise_72().n_alpha, 0), Cost(0, _pairwise_72().n_beta)))
    return Finding.rounds({"35.5": _us(alpha), "17.5": _us(load), "53": _us(alpha + load)})


@answer(TABLES, "E-04-009")
def _hardware_all_to_all() -> Finding:
    total = _us(_hardware(72).seconds(**ANCHOR))
    alpha = _us(float(latency_of("all-to-all", 72)) * ANCHOR_ALPHA)
    because = (
        f"Two switch latencies stand where one start at an endpoint and one switch execute, {alpha:g} us; the total "
        f"of 18 us survives, as {total - alpha:.1f} us of it are bytes."
    )
    return Finding.rounds({"18": total, "0.4": alpha}, because)


@answer(TABLES, "E-04-010")
def _three_times() -> Finding:
    return Finding.rounds({"3": _pairwise_72().seconds(**ANCHOR) / _hardware(72).seconds(**ANCHOR)})


@answer(TABLES, "E-04-011")
def _small_all_to_all() -> Finding:
    claimed = {"35.5 us over 0.4 us, the table above it": Fraction(355, 4), "(N-1)/2": Fraction(71, 2)}
    executed = Fraction(_pairwise_72().n_alpha) / latency_of("all-to-all", 72)
    because = "The latencies of the table have another quotient than the sentence; 71 steps of one alpha against one."
    return Finding.statements({k: float(v) for k, v in claimed.items()}, float(executed), because)


# -- bandwidth --------------------------------------------------------------------------------


@answer(CHAPTER, "E-04-019")
def _double_tree_sends_two() -> Finding:
    executed = {n: max(execute(allreduce.double_binary_tree(n)).sent) for n in (16, 64, RANKS)}
    return Finding.compare(dict.fromkeys(executed, Fraction(2)), executed)


@answer(CHAPTER, "E-04-020")
def _software_saturates() -> Finding:
    gather = _once("all-gather", "ring").n_beta
    tree = execute(find("broadcast", "two-tree").build(16, segments=2000)).cost.n_beta
    return _rounds_to("1.0", [float(gather), float(tree)])


# -- trees of switches ------------------------------------------------------------------------


@cache
def _tree(ranks: int, radix: int) -> Topology:
    return inc_tree(ranks, radix, Latency(endpoint=Fraction(5, 6), switch=Fraction(1, 6)))


def _tiers(ranks: int, radix: int) -> int:
    return SwitchTree(_tree(ranks, radix)).height


_UPLINKS = "A switch below the root gives a port to its uplink, so that it takes radix - 1 below it and not radix."


@answer(CHAPTER, "E-04-022")
def _steps_of_a_tree() -> Finding:
    """r is the fan-in of a level, as the text defines it: a switch has r ports below and one more for its uplink."""
    claimed, executed = {}, {}
    for fan_in, ranks in ((3, 9), (3, 13), (4, 4), (4, 11), (4, 16), (4, 64), (8, 60), (64, 4096)):
        tiers = next(k for k in range(1, 9) if fan_in**k >= ranks)
        claimed[f"N = {ranks}, r = {fan_in}"] = 2 * tiers
        executed[f"N = {ranks}, r = {fan_in}"] = innetwork.one_shot_all_reduce(_tree(ranks, fan_in + 1)).num_steps
    where = (
        "In hops, and with r switches or ranks below a switch, as the text defines r: its uplink is one port more "
        "(see E-04-023). The switches on the way are 2k - 1."
    )
    return Finding.compare(claimed, executed, "The tree is higher.").holding(where)


@answer(CHAPTER, "E-04-023")
def _room_in_a_tree() -> Finding:
    """A tree of 262,144 is too large to build: its room follows the rule that the smaller trees keep."""
    executed = {f"{ranks:,} in {k} tiers": ranks <= room(64, k) for ranks, k in ((262_144, 3), (4096, 2))}
    executed["4,096 in 2 tiers"] |= _tiers(4096, 64) == 2
    executed |= {
        f"{room(radix, k)} ranks fill {k} tiers of radix {radix}": _tiers(room(radix, k), radix) == k
        and _tiers(room(radix, k) + 1, radix) == k + 1
        for radix, k in ((4, 2), (16, 2), (4, 3), (6, 3))
    }
    because = f"{_UPLINKS} {room(64, 2):,} fit below two tiers, {room(64, 3):,} below three."
    return Finding.compare(dict.fromkeys(executed, True), executed, because)


@cache
def _through_4096(switch: Fraction) -> float:
    """Latency in us of an all-reduce of 4,096 through radix 64: an endpoint of 1 us, switches of so many us."""
    where = _tree(4096, 64)  # endpoint 5/6, switch 1/6
    n_alpha = Fraction(execute(innetwork.one_shot_all_reduce(where), where).cost.n_alpha)
    switches = (n_alpha - Fraction(5, 6)) / Fraction(1, 6)
    return float(1 + switches * switch)


@answer(TABLES, "E-04-024")
def _latency_at_4096() -> Finding:
    return Finding.rounds({"2": _through_4096(Fraction(1, 5)), "3": _through_4096(Fraction(2, 5))})


@answer(TABLES, "E-04-025")
def _ring_at_4096() -> Finding:
    """The ring's steps by its closed form, which tests hold against execution; the tree is executed."""
    steps = int(allreduce.ring_cost(4096).n_alpha)
    middle = (_through_4096(Fraction(1, 5)) + _through_4096(Fraction(2, 5))) / 2
    return Finding.rounds({"8190": steps, "8": steps / 1000, "3": steps / middle / 1000})


@answer(TABLES, "E-04-026")
def _one_or_two_tiers() -> Finding:
    """alpha_switch = 0.5 us and no endpoint, as the formula has it; N decides the tiers alone, so 12 stand for 512."""
    alone = Latency(endpoint=Fraction(0), switch=Fraction(1))
    times = []
    for where in (inc_tree(12, 4, alone), inc_star(4, alone)):
        schedule = innetwork.one_shot_all_reduce(where, segments=STREAM)
        times.append(_us(event_clock(schedule, where, **ANCHOR).seconds))
    because = (
        "k tiers are 2k - 1 switches on the way up and down, so that each total has one switch too many; that the two "
        "are nearly equal at 16 MB executes as said."
    )
    return Finding.rounds({"20": times[0], "19": times[1]}, because)


# -- the ladder at N = 512 --------------------------------------------------------------------


_TREE_LIMIT = (
    "18 alpha + 2 M/BW is a limit that the double binary tree does not reach in lock-step with any whole number of "
    "segments; Rabenseifner comes to {:.2f} us."
)


def _software_row(primitive: str, name: str, text: str, because: str = "") -> Finding:
    return Finding.rounds({text: _us(software(primitive, name))}, because)


@answer(TABLES, "E-04-027")
def _star_ring() -> Finding:
    return _software_row("all-reduce", "ring", "546")


@answer(TABLES, "E-04-028")
def _star_halving() -> Finding:
    """The row names two algorithms; it is the second that executes as printed (for the first: E-04-031)."""
    cost = _once("all-reduce", "rabenseifner")
    alpha, load = (_us(part.seconds(**ANCHOR)) for part in (Cost(cost.n_alpha, 0), Cost(0, cost.n_beta)))
    found = Finding.adds_up({"9": alpha, "35.5": load}, "45", "The parts add up to less.")
    return found.holding(f"For Rabenseifner, the second of the two algorithms that the row names. {found.because}")


@answer(TABLES, "E-04-031")
def _star_tree() -> Finding:
    because = _TREE_LIMIT.format(_us(software("all-reduce", "rabenseifner")))
    return _software_row("all-reduce", "double-binary-tree", "45", because)


_LINK_OR_ROUTE = (
    "The row counts 0.5 us for each of two links, the software rows 0.5 us for a route of two links; counted alike, "
    "in-network is one alpha."
)


@answer(TABLES, "E-04-029")
def _inc_rung() -> Finding:
    return Finding.rounds({"18.8": _us(streamed("all-reduce"))}, _LINK_OR_ROUTE)


@answer(TABLES, "E-04-030")
def _torus_ring() -> Finding:
    cost = on_torus("all-reduce", "dim-ring")
    alpha, load = (part.seconds(**ANCHOR) for part in (Cost(cost.n_alpha, 0), Cost(0, cost.n_beta)))
    return Finding.adds_up({"21": _us(alpha), "35.5": _us(load)}, "57", "The parts add up to less.")


@answer(TABLES, "E-04-032")
def _net_speed_ups() -> Finding:
    inc = streamed("all-reduce")
    tree = software("all-reduce", "rabenseifner") / inc
    cube = on_torus("all-reduce", "dim-ring").seconds(**ANCHOR) / inc
    ring_of_512 = software("all-reduce", "ring") / inc
    because = (
        f"Against the double tree that the text names it is {software('all-reduce', 'double-binary-tree') / inc:.1f}, "
        f"against Rabenseifner {tree:.2f}; against the ring {ring_of_512:.1f}, since one alpha less is paid."
    )
    return Finding.rounds({"2.4": tree, "3": cube, "29": ring_of_512}, because)


_REGIME = (
    "The tree's column prints a time that Rabenseifner has and the double tree in lock-step has not; the in-network "
    "column counts one alpha too many. Streamed, the all-reduce takes {:.4g} us, and {} is the fastest software with "
    "{:.4g} us."
)


def _regime(message: float, tree: str, inc: str, ratio: str, scale: float = 1e6) -> Finding:
    names = ("double-binary-tree", "rabenseifner", "recursive-doubling")
    times = {name: software("all-reduce", name, message) for name in names}
    best = min(times, key=times.__getitem__)
    through = streamed("all-reduce", message=message)
    because = _REGIME.format(_us(through), find("all-reduce", best).label, _us(times[best]))
    speedup = times["double-binary-tree"] / through
    return Finding.rounds({tree: times["double-binary-tree"] * scale, inc: through * scale, ratio: speedup}, because)


@answer(TABLES, "E-04-033")
def _regime_10_kb() -> Finding:
    return _regime(10e3, "9.02", "1.01", "9")


@answer(TABLES, "E-04-034")
def _regime_1_mb() -> Finding:
    return _regime(1e6, "11.2", "2.1", "5")


@answer(TABLES, "E-04-035")
def _regime_16_mb() -> Finding:
    return _regime(ANCHOR_MESSAGE, "45", "18.8", "2.4")


@answer(TABLES, "E-04-036")
def _regime_1_gb() -> Finding:
    return _regime(1e9, "2.23", "1.11", "2", 1e3)


@answer(TABLES, "E-04-037")
def _half_latency() -> Finding:
    """Rabenseifner's cost, whose numbers the formula takes."""
    cost = _once("all-reduce", "rabenseifner")
    size = half_bandwidth_message(cost) * Fraction(ANCHOR_ALPHA) * Fraction(ANCHOR_BANDWIDTH)
    return Finding.rounds({"4": float(size) / 1e6})


# -- the other primitives ---------------------------------------------------------------------


@answer(TABLES, "E-04-038")
@cache
def _gather_ring() -> Finding:
    return _rounds_to("273", [_us(software(primitive, "ring")) for primitive in HALVES])


@answer(TABLES, "E-04-039")
def _gather_doubling() -> Finding:
    pair = zip(HALVES, ("recursive-doubling", "recursive-halving"), strict=True)
    return _rounds_to("22.2", [_us(software(primitive, name)) for primitive, name in pair])


@answer(TABLES, "E-04-040")
def _gather_through_the_switch() -> Finding:
    gather, scatter = (_us(in_lockstep(primitive)) for primitive in HALVES)
    because = f"{_LINK_OR_ROUTE} The reduce-scatter comes to {scatter:.2f} us."
    return _rounds_to("18.7", [gather, scatter], because)


@answer(TABLES, "E-04-041")
def _gather_on_the_torus() -> Finding:
    return _rounds_to("28.2", [_us(on_torus(primitive, "dim-ring").seconds(**ANCHOR)) for primitive in HALVES])


_NO_P = (
    "The n_alpha printed belongs to one segment and M/BW to endlessly many: at the best whole number, {}, it is {:.1f} "
    "us in lock-step."
)


def _limit_row(name: str, text: str) -> Finding:
    best, time = _at_best("broadcast", f"star:{RANKS}", name), _us(software("broadcast", name))
    return Finding.rounds({text: time}, _NO_P.format(best.segments, time))


@answer(TABLES, "E-04-042")
def _broadcast_chain() -> Finding:
    return _limit_row("chain", "273")


@answer(TABLES, "E-04-043")
def _broadcast_tree() -> Finding:
    return _limit_row("two-tree", "22.3")


@answer(TABLES, "E-04-044")
def _broadcast_through_the_switch() -> Finding:
    return _rounds_to("18.3", [_us(streamed(primitive)) for primitive in ("broadcast", "reduce")])


@answer(TABLES, "E-04-045")
def _broadcast_on_the_torus() -> Finding:
    time = _us(on_torus("broadcast", "dim-chain").seconds(**ANCHOR))
    segments = _at_best("broadcast", "torus:8x8x8", "dim-chain").segments
    return Finding.rounds({"23.8": time}, _NO_P.format(segments, time))


@answer(TABLES, "E-04-046")
def _all_to_all_pairwise() -> Finding:
    return _software_row("all-to-all", "pairwise", "273")


@answer(TABLES, "E-04-047")
def _sharp_has_no_all_to_all() -> Finding:
    where = inc_star(8, combines=True, replicates=True)
    try:
        execute(innetwork.scatter_bundles(where), where)
    except ScheduleError:
        return Finding.compare("refused", "refused")
    return Finding.compare("refused", "done", "A switch that adds and replicates did it.")


@answer(TABLES, "E-04-048")
def _hardware_all_to_all_512() -> Finding:
    cost = _hardware(RANKS)
    because = f"It is {cost.n_alpha} alpha, not two, and {cost.n_beta} M."
    return Finding.rounds({"19": _us(cost.seconds(**ANCHOR))}, because)


def _relay() -> Cost:
    """Run by symmetry; tests execute it in full on 8x8x8."""
    return relay.rotated_relay_cost(Lattice(CUBE))


@cache
def _relay_in_one_piece() -> Execution:
    return execute(relay.relay(Lattice(CUBE)), torus(CUBE))


def _in_slices() -> str:
    plain = _relay_in_one_piece().cost
    return (
        "With every block in slices that take the axes in turn, and ties split: then all links are busy in every "
        f"step. In one piece along X, Y, Z the relay takes n_beta = {plain.n_beta} in lock-step, "
        f"{_us(plain.seconds(**ANCHOR)):.1f} us."
    )


@answer(TABLES, "E-04-049")
def _all_to_all_on_the_torus() -> Finding:
    return Finding.rounds({"23.8": _us(_relay().seconds(**ANCHOR))}).holding(_in_slices())


@cache
def _best_broadcast() -> tuple[str, float]:
    names = ("circulant", "two-tree", "binomial-tree", "scatter-allgather")
    return min(((find("broadcast", name).label, software("broadcast", name)) for name in names), key=lambda x: x[1])


@answer(TABLES, "E-04-050")
def _only_a_fifth() -> Finding:
    name, time = _best_broadcast()
    gather = software("all-gather", "recursive-doubling") / in_lockstep("all-gather")
    because = (
        f"For all-gather and reduce-scatter it is {gather:.2f}; for broadcast and reduce the best software at a whole "
        f"number of segments, {name}, takes {_us(time):.1f} us."
    )
    return _rounds_to("1.2", [gather, time / streamed("broadcast")], because)


@answer(TABLES, "E-04-051")
def _small_ceilings() -> Finding:
    executed = {}
    for primitive, name in (("broadcast", "binomial-tree"), ("all-gather", "recursive-doubling")):
        executed[primitive] = _software_steps(primitive, name) / latency_of(primitive)
    claimed = {"broadcast": Fraction(9), "all-gather": Fraction(9, 2)}
    return Finding.compare(claimed, executed, _ROUND_TRIPS.replace("the ring's N-1 steps are N-1", "9 steps are 9"))


@answer(TABLES, "E-04-052")
def _torus_against_the_switch() -> Finding:
    gather = on_torus("all-gather", "dim-ring").seconds(**ANCHOR)
    chain = on_torus("broadcast", "dim-chain").seconds(**ANCHOR)
    executed = {
        "all-gather": 1.25 <= gather / in_lockstep("all-gather") < 1.55,
        "ten times faster than the ring": round(software("all-gather", "ring") / gather) == 10,
        "broadcast": 1.25 <= chain / streamed("broadcast") < 1.55,
    }
    because = (
        f"All-gather is {gather / in_lockstep('all-gather'):.2f} times slower; broadcast, at the best number of "
        f"segments, {chain / streamed('broadcast'):.2f} times."
    )
    return Finding.compare(dict.fromkeys(executed, True), executed, because)


@answer(TABLES, "E-04-053")
def _torus_all_to_all_gain() -> Finding:
    gain = software("all-to-all", "pairwise") / _relay().seconds(**ANCHOR)
    return Finding.rounds({"11.5": gain}).holding(_in_slices())


@cache
def _busiest_link(dims: tuple[int, ...]) -> Fraction:
    where = torus(dims) if len(dims) > 1 else ring(dims[0])
    return max(execute(relay.relay(Lattice(dims)), where).link_total)


@answer(TABLES, "E-04-054")
def _cubes_and_the_penalty() -> Finding:
    executed = {f"{dims}": _busiest_link(dims) for dims in ((8,), (8, 8), (16,), (16, 16))}
    said = {"section 3.3, cubic shapes": Fraction(1), "section 4, at 16x16x16": Fraction(2)}
    because = (
        "The load of the busiest link is D/8 whatever the number of axes: the size of an axis decides, not that the "
        f"shape is cubic. At 16x16 it is {executed['(16, 16)']}."
    )
    return Finding.statements(said, "D/8", because)


# -- the summary of section 4 -----------------------------------------------------------------


def _ratios(claimed: Mapping[str, Fraction], executed: Mapping[str, Fraction], because: str = "") -> Finding:
    return Finding.compare(claimed, executed, because)


def _many(primitive: str, name: str, segments: int) -> int:
    """n_beta in many segments, to the nearest whole number, on 16 ranks."""
    return round(float(execute(find(primitive, name).build(16, segments=segments)).cost.n_beta))


@cache
def _inc_load(primitive: str) -> int:
    where = inc_star(8)
    return round(float(execute(BUILDS[primitive](where, segments=STREAM // 8), where).cost.n_beta))


@answer(TABLES, "E-04-055")
def _summary_all_reduce_ring() -> Finding:
    cost = _once("all-reduce", "ring")
    executed = {
        "large M": Fraction(round(cost.n_beta), _inc_load("all-reduce")),
        "small M": cost.n_alpha / latency_of("all-reduce"),
    }
    return _ratios({"small M": Fraction(RANKS - 1), "large M": Fraction(2)}, executed, _TWICE_AS_LARGE)


_TWICE_AS_LARGE = (
    "The printed speed-up takes two alphas for one trip through the switch; with one it is twice as large, for every "
    "algorithm of the column."
)


@answer(TABLES, "E-04-056")
def _summary_all_reduce_tree() -> Finding:
    cost = _once("all-reduce", "double-binary-tree")
    executed = {
        "large M": Fraction(_many("all-reduce", "double-binary-tree", 500), _inc_load("all-reduce")),
        "small M": Fraction(cost.n_alpha) / latency_of("all-reduce"),
    }
    return _ratios({"small M": Fraction(9), "large M": Fraction(2)}, executed, _TWICE_AS_LARGE)


@answer(TABLES, "E-04-058")
def _summary_gather_ring() -> Finding:
    executed = {p: _software_steps(p, "ring") / latency_of(p) for p in ("all-gather", "reduce-scatter")}
    return _ratios(dict.fromkeys(executed, Fraction(RANKS - 1, 2)), executed, _TWICE_AS_LARGE)


@answer(TABLES, "E-04-060")
def _summary_broadcast_tree() -> Finding:
    executed = {}
    for p in ("broadcast", "reduce"):
        executed[f"{p}, small M"] = _software_steps(p, "binomial-tree") / latency_of(p)
        executed[f"{p}, large M"] = Fraction(_many(p, "two-tree", 500), _inc_load(p))
    return _ratios({key: Fraction(9 if "small" in key else 1) for key in executed}, executed)


@answer(TABLES, "E-04-062")
def _summary_all_to_all() -> Finding:
    cost = _once("all-to-all", "pairwise")
    executed = {
        "small M": cost.n_alpha / latency_of("all-to-all"),
        "large M": Fraction(round(cost.n_beta), _inc_load("all-to-all")),
    }
    return _ratios({"small M": Fraction(RANKS - 1), "large M": Fraction(1)}, executed)


@answer(TABLES, "E-04-064")
def _summary_torus_all_reduce() -> Finding:
    cost = on_torus("all-reduce", "dim-ring")
    executed = {
        "large M": Fraction(round(cost.n_beta), _inc_load("all-reduce")),
        "small M": cost.n_alpha / latency_of("all-reduce"),
    }
    return _ratios({"small M": Fraction(21), "large M": Fraction(2)}, executed, _TWICE_AS_LARGE)


@answer(TABLES, "E-04-065")
def _summary_torus_gather() -> Finding:
    executed = {p: on_torus(p, "dim-ring").n_alpha / latency_of(p) for p in ("all-gather", "reduce-scatter")}
    return _ratios(dict.fromkeys(executed, Fraction(21, 2)), executed, _TWICE_AS_LARGE)


@answer(TABLES, "E-04-066")
def _summary_torus_broadcast() -> Finding:
    executed = {}
    for p in ("broadcast", "reduce"):
        executed[f"{p}, small M"] = on_torus(p, "dim-chain", 1).n_alpha / latency_of(p)
        load = Fraction(on_torus(p, "dim-chain", STREAM // 4).n_beta)
        executed[f"{p}, large M"] = Fraction(round(load), _inc_load(p))
    return _ratios({key: Fraction(12 if "small" in key else 1) for key in executed}, executed)


@answer(TABLES, "E-04-067")
def _summary_torus_all_to_all() -> Finding:
    """The load of the busiest link, which slices attain; 16x16x16 is read off 16 and 16x16 (E-04-054)."""
    executed = {
        "small M, 8x8x8": Fraction(_relay().n_alpha) / latency_of("all-to-all"),
        "large M, 8x8x8": Fraction(_relay().n_beta),
        "large M, axes of 16": _busiest_link((16, 16)),
    }
    claimed = dict(zip(executed, (Fraction(12), Fraction(1), Fraction(2)), strict=True))
    return _ratios(claimed, executed)


@answer(TABLES, "E-04-068")
def _seventy() -> Finding:
    rivals = ("recursive-doubling", "double-binary-tree", "ring")
    executed = [int(_software_steps("all-reduce", name) / latency_of("all-reduce")) for name in rivals]
    because = (
        "These are the limits at N = 512 against recursive doubling, the double tree and the ring, and the text's own "
        "table has 9 at 10 KB; 70 is near N - 1 for the 72 ranks of a rack, half of what a ring loses there."
    )
    return Finding.compare("70", ", ".join(map(str, executed)), because)


def _all_links(dims: tuple[int, ...]) -> Fraction:
    """n_beta of an all-reduce over all links at once; 64 ranks stand for 512, which take seconds."""
    return Fraction(execute(find("all-reduce", "breadth-first").build(Lattice(dims)), torus(dims)).cost.n_beta)


@answer(TABLES, "E-04-069")
def _torus_pays_twice() -> Finding:
    executed = {
        "dim-ring": round(float(on_torus("all-reduce", "dim-ring").n_beta), 1),
        "breadth-first": round(float(_all_links((4, 4, 4))), 1),
    }
    because = (
        "A ring through one axis after the other keeps one of the six links of a rank busy; used all at once they "
        "bring n_beta to a third. At equal injection, links of BW/6, it is 2 again."
    )
    return Finding.compare(dict.fromkeys(executed, 2.0), executed, because)

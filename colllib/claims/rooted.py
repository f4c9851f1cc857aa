"""Answers on broadcast and reduce."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache, partial
from math import comb, sqrt

from colllib.algorithms import allgather, broadcast, find, reduce, reducescatter, trees
from colllib.claims.finding import Finding, answer, counted, not_checkable
from colllib.claims.model import POWERS, SIZES
from colllib.claims.traces import printed
from colllib.cost import Cost, best_segments
from colllib.execution import execute
from colllib.ladder import ANCHOR_ALPHA, ANCHOR_BANDWIDTH, ANCHOR_MESSAGE, run
from colllib.primitives import broadcast as needs
from colllib.schedule import Schedule, reversed_in_time
from colllib.topology import Topology, full_mesh, star

CHAPTER = "04-broadcast-and-reduce"
SEGMENTS = (1, 2, 4, 9)
PRICE = {"alpha": ANCHOR_ALPHA, "bandwidth": ANCHOR_BANDWIDTH}
_ROOT = (
    "The root sends every segment to each of its log2 N children through one port, so n_beta stays log2 N however "
    "finely the vector is cut; the formula needs a link per pair of ranks."
)
_ROOT_UP = (
    "The root takes in every segment from each of its log2 N children through one port, so n_beta stays log2 N however "
    "finely the vector is cut; the formula needs a link per pair of ranks."
)
_TWO_COLUMNS = (
    "n_alpha = {} belongs to the vector in one piece and n_beta = 1 to endlessly many segments, where n_alpha grows "
    "without end: no schedule has both."
)
_FLOOR = (
    "With P segments the chain costs n_alpha = N + P - 2 and n_beta = (N + P - 2)/P: at the best P both lie above the "
    "pair that is printed, and no P has it."
)

not_checkable(
    CHAPTER,
    {
        "E-01-025": "A statement about what NCCL ships; its tuning model (src/graph/tuning.cc) offers broadcast the "
        "ring alone.",
        "E-01-027": "A property of switches.",
        "E-01-041": "A statement about what NCCL ships; its tuning model (src/graph/tuning.cc) offers reduce the ring "
        "alone, so that it selects it always.",
    },
)


def _log(n: int) -> int:
    return (n - 1).bit_length()


_CHAIN = {
    "E-01-007": (1, ("0 0 0 0", "0 - - -", "- - - -", "- - - -")),
    "E-01-008": (2, ("0 0 0 0", "0 0 - -", "0 - - -", "- - - -")),
    "E-01-009": (3, ("0 0 0 0", "0 0 0 -", "0 0 - -", "0 - - -")),
    "E-01-010": (4, ("0 0 0 0", "0 0 0 0", "0 0 0 -", "0 0 - -")),
    "E-01-011": (5, ("0 0 0 0", "0 0 0 0", "0 0 0 0", "0 0 0 -")),
    "E-01-012": (6, ("0 0 0 0",) * 4),
}
_CHAIN_UP = {
    "E-01-033": (1, ("0 0 0 0", "1 1 1 1", "23 2 2 2", "3 3 3 3")),
    "E-01-034": (2, ("0 0 0 0", "123 1 1 1", "23 23 2 2", "3 3 3 3")),
    "E-01-035": (3, ("S 0 0 0", "123 123 1 1", "23 23 23 2", "3 3 3 3")),
    "E-01-036": (4, ("S S 0 0", "123 123 123 1", "23 23 23 23", "? ? ? ?")),
    "E-01-037": (5, ("S S S 0", "123 123 123 123", "23 23 23 23", "? ? ? ?")),
    "E-01-038": (6, ("S S S S", "? ? ? ?", "? ? ? ?", "? ? ? ?")),
}
_TREE = {
    "E-01-018": (1, ("0 0 0 0", "0 0 0 0", "- - - -", "- - - -")),
    "E-01-019": (2, ("0 0 0 0",) * 4),
}
_TREE_UP = {
    "E-01-042": (1, ("01 01 01 01", "? ? ? ?", "23 23 23 23", "? ? ? ?")),
    "E-01-043": (2, ("S S S S", "? ? ? ?", "? ? ? ?", "? ? ? ?")),
}


def _printed_reduce_tree() -> Schedule:
    """The tree whose steps the source traces for reduce: neighbors first."""
    return reversed_in_time(trees.down_one_child_a_step([-1, 0, 0, 2], [0, 1, 0, 1], needs(4)))


# our reduce is the broadcast backwards and so takes the last chunk first; the source takes chunk 0 first
for _table, _build, _chunks in (
    (_CHAIN, lambda: broadcast.chain(4, segments=4), (0, 1, 2, 3)),
    (_CHAIN_UP, lambda: reduce.chain(4, segments=4), (3, 2, 1, 0)),
    (_TREE, lambda: broadcast.binomial_tree(4), (0, 1, 2, 3)),
    (_TREE_UP, _printed_reduce_tree, (0, 1, 2, 3)),
):
    for _id, (_t, _rows) in _table.items():
        answer(CHAPTER, _id)(partial(printed, _build, _t, _rows, _chunks))


@answer(CHAPTER, "E-01-013")
def _steps_of_the_chain() -> Finding:
    return Finding.compare(6, execute(broadcast.chain(4, segments=4)).cost.n_alpha)


def _in_segments(
    build: Callable[..., Schedule],
    claimed: Callable[[int, int], Cost],
    sizes: tuple[int, ...],
    where: Callable[[int], Topology] = star,
    because: str = "",
) -> Finding:
    """A claimed cost at P segments against the executed one, for every N and several P."""
    executed, said = {}, {}
    for n in sizes:
        for p in SEGMENTS:
            key = f"N = {n}, P = {p}"
            executed[key] = execute(build(n, segments=p), where(n)).cost
            said[key] = claimed(n, p)
    return Finding.compare(said, executed, because)


def _assembly_line(steps: int, segments: int) -> Cost:
    """What the source's formula says for P segments through a schedule of so many steps."""
    return Cost(steps + segments - 1, Fraction(steps + segments - 1, segments))


@answer(CHAPTER, "E-01-014")
def _chain_formula() -> Finding:
    return _in_segments(broadcast.chain, lambda n, p: _assembly_line(n - 1, p), SIZES)


@answer(CHAPTER, "E-01-039")
def _chain_formula_up() -> Finding:
    return _in_segments(reduce.chain, lambda n, p: _assembly_line(n - 1, p), SIZES)


def _best_of_the_chain(n: int, message: float = ANCHOR_MESSAGE) -> int:
    return best_segments(
        partial(broadcast.chain_cost, n), message=message, alpha=ANCHOR_ALPHA, bandwidth=ANCHOR_BANDWIDTH
    )


def _time_of_the_chain(n: int, segments: int) -> float:
    return execute(broadcast.chain(n, segments=segments)).cost.seconds(message=ANCHOR_MESSAGE, **PRICE)


@answer(CHAPTER, "E-01-015")
def _best_segments_of_the_chain() -> Finding:
    """The whole numbers on either side of the root are executed against each other and against their neighbors."""
    claimed, executed = {}, {}
    for n in (8, 64, 128):
        root = int(sqrt((n - 2) * ANCHOR_MESSAGE / ANCHOR_BANDWIDTH / ANCHOR_ALPHA))
        times = {p: _time_of_the_chain(n, p) for p in range(root - 1, root + 3)}
        claimed[f"N = {n}: best beside the root"] = True
        executed[f"N = {n}: best beside the root"] = min(times, key=times.__getitem__) in (root, root + 1)
    return Finding.compare(claimed, executed)


@answer(CHAPTER, "E-01-016")
def _square_root_of_the_chain() -> Finding:
    load = ANCHOR_MESSAGE / ANCHOR_BANDWIDTH
    printed_times = {}
    for n in (8, 64, 128):
        formula = (n - 1) * ANCHOR_ALPHA + load + 2 * sqrt((n - 2) * ANCHOR_ALPHA * load)
        printed_times[f"{formula * 1e6:.1f}"] = _time_of_the_chain(n, _best_of_the_chain(n)) * 1e6
    because = (
        "At the best P, (N + P - 2)(alpha + M / P BW) is (N-2) alpha + M/BW + 2 sqrt((N-2) alpha M/BW): one alpha "
        "less than the formula says."
    )
    return Finding.rounds(printed_times, because)


def _fewest_bytes(build: Callable[..., Schedule], steps: int, n: int) -> Fraction:
    """The least n_beta among numbers of segments that keep n_alpha at the number of steps claimed."""
    costs = [execute(build(n, segments=p)).cost for p in SEGMENTS]
    return min(Fraction(cost.n_beta) for cost in costs if cost.n_alpha <= steps)


def _both_columns(build: Callable[..., Schedule], steps: Callable[[int], int], because: str) -> Finding:
    executed = {f"n_beta at n_alpha = {steps(n)}, N = {n}": _fewest_bytes(build, steps(n), n) for n in SIZES}
    return Finding.compare(dict.fromkeys(executed, Fraction(1)), executed, because)


@answer(CHAPTER, "E-00-022")
def _chain_broadcast() -> Finding:
    return _both_columns(broadcast.chain, lambda n: n - 1, _TWO_COLUMNS.format("N-1"))


@answer(CHAPTER, "E-00-024")
def _chain_reduce() -> Finding:
    return _both_columns(reduce.chain, lambda n: n - 1, _TWO_COLUMNS.format("N-1"))


@answer(CHAPTER, "E-00-023")
def _binomial_broadcast() -> Finding:
    return _both_columns(broadcast.binomial_tree, _log, _ROOT)


@answer(CHAPTER, "E-00-025")
def _binomial_reduce() -> Finding:
    return _both_columns(reduce.binomial_tree, _log, _ROOT_UP)


def _chain_at_its_best(build: Callable[..., Schedule]) -> Finding:
    """The pair printed for the best P, against what executes at the best P, from 1 MB to 1 GB."""
    executed, claimed = {}, {}
    for n in (8, 64):
        for message in (1e6, ANCHOR_MESSAGE, 1e9):
            p = _best_of_the_chain(n, message)
            key = f"N = {n}, M = {message / 1e6:g} MB, P = {p}"
            executed[key], claimed[key] = execute(build(n, segments=p)).cost, Cost(n - 1, 1)
    return Finding.compare(claimed, executed, _FLOOR)


@answer(CHAPTER, "E-01-017", "E-01-030")
@cache
def _chain_has_both_at_once() -> Finding:
    return _chain_at_its_best(broadcast.chain)


@answer(CHAPTER, "E-01-050")
def _chain_up_has_both_at_once() -> Finding:
    return _chain_at_its_best(reduce.chain)


@answer(CHAPTER, "E-01-020")
def _levels() -> Finding:
    executed = {}
    for k in range(1, 8):
        depth = trees.depths(trees.binomial(1 << k)).tolist()
        executed[k] = [depth.count(level) for level in range(k + 1)]
    return Finding.compare({k: [comb(k, d) for d in range(k + 1)] for k in executed}, executed)


@answer(CHAPTER, "E-01-021", "E-01-028")
@cache
def _tree_in_one_piece() -> Finding:
    return counted({"binomial tree": broadcast.binomial_tree}, lambda n: Cost(_log(n), _log(n)), SIZES)


@answer(CHAPTER, "E-01-045", "E-01-048")
@cache
def _tree_up_in_one_piece() -> Finding:
    return counted({"binomial tree": reduce.binomial_tree}, lambda n: Cost(_log(n), _log(n)), SIZES)


_MORE_THAN_TWO = tuple(n for n in SIZES if n > 2)


@answer(CHAPTER, "E-01-022", "E-01-029")
@cache
def _tree_in_many_pieces() -> Finding:
    """Held against the source's formula at each P, not against its limit."""
    claimed = lambda n, p: _assembly_line(_log(n), p)  # noqa: E731
    return _in_segments(broadcast.binomial_tree, claimed, _MORE_THAN_TWO, because=_ROOT)


@answer(CHAPTER, "E-01-046", "E-01-049")
@cache
def _tree_up_in_many_pieces() -> Finding:
    claimed = lambda n, p: _assembly_line(_log(n), p)  # noqa: E731
    return _in_segments(reduce.binomial_tree, claimed, _MORE_THAN_TWO, because=_ROOT_UP)


@answer(CHAPTER, "E-01-023")
def _partners_of_the_root() -> Finding:
    """Pipelined, with so many segments that every edge of the tree is in use at once."""
    executed = {
        f"N = {n}": max(execute(broadcast.binomial_tree(n, segments=_log(n))).partners()) for n in POWERS if n > 2
    }
    because = "In the steady state the root serves all of its log2 N children in every step."
    return Finding.compare({key: min(3, most) for key, most in executed.items()}, executed, because)


@answer(CHAPTER, "E-01-024")
def _tree_with_a_link_per_pair() -> Finding:
    return _in_segments(
        broadcast.binomial_tree, lambda n, p: _assembly_line(_log(n), p), (2, 3, 4, 6, 8, 12, 16, 33), full_mesh
    )


@answer(CHAPTER, "E-01-032")
def _as_many_segments_as_ranks() -> Finding:
    executed = {n: Fraction(execute(broadcast.chain(n, segments=n)).cost.n_beta) for n in SIZES if n > 2}
    return Finding.compare(
        dict.fromkeys(executed, Fraction(1)), executed, "With P = N it is 2(N-1)/N, almost twice the floor."
    )


@cache
def _tree_wins(primitive: str, n: int, message: float) -> bool:
    """Whether the binomial tree beats the chain on one port, each executed at its best number of segments."""
    tree, chain = (
        run(find(primitive, name), star(n), message=message, alpha=ANCHOR_ALPHA, bandwidth=ANCHOR_BANDWIDTH).seconds
        for name in ("binomial-tree", "chain")
    )
    return tree < chain


_FROM_1_KB_TO_1_GB = (1e3, 100e3, ANCHOR_MESSAGE, 100e6, 1e9)


@answer(CHAPTER, "E-01-040")
def _tree_dominates() -> Finding:
    executed = {
        f"N = {n}, {message / 1e6:g} MB: tree faster": _tree_wins("reduce", n, message)
        for n in (8, 64)
        for message in _FROM_1_KB_TO_1_GB
    }
    because = (
        "On one port the tree moves log2 N times the vector, in whatever pieces, and the pipelined chain little more "
        "than the vector itself: large vectors go to the chain."
    )
    return Finding.compare(dict.fromkeys(executed, True), executed, because)


def _mesh_time(build: Callable[..., Schedule], steps: int, n: int, message: float) -> float:
    """The time at the best P where every pair has a link, and both schedules are assembly lines (E-01-024)."""
    p = best_segments(partial(_assembly_line, steps), message=message, alpha=ANCHOR_ALPHA, bandwidth=ANCHOR_BANDWIDTH)
    return execute(build(n, segments=p), full_mesh(n)).cost.seconds(message=message, **PRICE)


@answer(CHAPTER, "E-01-052")
def _reduce_differs_from_broadcast() -> Finding:
    n = 64
    one_port, mesh = [], []
    for primitive, module in (("broadcast", broadcast), ("reduce", reduce)):
        one_port.append(len({_tree_wins(primitive, n, message) for message in _FROM_1_KB_TO_1_GB}) == 2)
        tree_first = {
            _mesh_time(module.binomial_tree, _log(n), n, message) < _mesh_time(module.chain, n - 1, n, message)
            for message in _FROM_1_KB_TO_1_GB
        }
        mesh.append(len(tree_first) == 2)
    executed = {
        "crossover on a mesh, broadcast and reduce": mesh,
        "crossover on one port, broadcast and reduce": one_port,
    }
    because = (
        "A reduce is the broadcast backwards and costs the same at every P: on one port both cross over from the tree "
        "to the chain, with a link per pair neither does."
    )
    return Finding.compare({key: [True, False] for key in executed}, executed, because)


def _edges(schedule: Schedule) -> set[str]:
    """Who talks to whom, in either direction."""
    steps = (schedule.step(t) for t in range(schedule.num_steps))
    return {f"{min(a, b)}-{max(a, b)}" for step in steps for a, b in zip(step.src, step.dst, strict=True)}


@answer(CHAPTER, "E-01-044")
def _one_tree_for_both() -> Finding:
    """The edges of the two schedules whose steps the source traces (E-01-018 and -019, E-01-042 and -043)."""
    down, up = _edges(broadcast.binomial_tree(4)), _edges(_printed_reduce_tree())
    because = "The traced broadcast sends 1 to 3, the traced reduce 3 to 2: two different binomial trees."
    return Finding.statements({"§3.2": down, "§4.2": up}, "two trees", because)


@answer("06-all-gather-and-reduce-scatter", "E-01-094")
def _ring_halves_of_four() -> Finding:
    executed = {"RS": execute(reducescatter.ring(4)).cost, "AG": execute(allgather.ring(4)).cost}
    return Finding.compare(dict.fromkeys(executed, Cost(3, Fraction(3, 4))), executed)

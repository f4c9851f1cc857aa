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
_COLUMN = (
    "The column gives n_alpha as {} in one piece and lets pipelining take it to 1: P segments take {} steps, more with "
    "every segment. It is n_beta that tends to 1{}."
)
_LIMIT = (
    "A limit, as the text says: at the best P the time tends to (N-1) alpha + M/BW as M grows, and what is left over "
    "grows like the square root of M. No P has both terms, and at a given size the time is up to twice their sum."
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


def _excess(build: Callable[..., Schedule], n: int) -> list[tuple[float, float]]:
    """By how much the executed time at the best P exceeds (N-1) alpha + M/BW, for messages 16 times each other.

    The numbers of segments stand for the messages: P = k (N-2) is the best where M/BW is k^2 (N-2) alpha.

    Returns:
        The excess as a share of the limit, and as a share of 2 sqrt((N-2) alpha M/BW).
    """
    found = []
    for k in (1, 4, 16, 64):
        message = k * k * (n - 2) * ANCHOR_ALPHA * ANCHOR_BANDWIDTH
        time = execute(build(n, segments=k * (n - 2))).cost.seconds(message=message, **PRICE)
        limit = (n - 1) * ANCHOR_ALPHA + message / ANCHOR_BANDWIDTH
        found.append((time / limit - 1, (time - limit) / (2 * k * (n - 2) * ANCHOR_ALPHA)))
    return found


def _as_a_limit(build: Callable[..., Schedule]) -> Finding:
    executed = {}
    for n in (4, 5, 8, 12):
        shares, of_the_root = zip(*_excess(build, n), strict=True)
        executed[f"N = {n}: the excess falls"] = list(shares) == sorted(shares, reverse=True) and shares[-1] < 0.04
        executed[f"N = {n}: it is of the order of the root"] = all(0.5 < share <= 1 for share in of_the_root)
    text = ", ".join(f"{share:.0%}" for share in shares)
    return Finding.compare(dict.fromkeys(executed, True), executed, "The limit is not approached.").holding(
        _LIMIT, f"N = 12, M/BW = 10 alpha and 16, 256, 4,096 times that: {text} above the limit"
    )


@answer(CHAPTER, "E-01-016", "E-01-017", "E-01-030")
@cache
def _chain_tends_to_its_limit() -> Finding:
    return _as_a_limit(broadcast.chain)


@answer(CHAPTER, "E-01-050")
def _chain_up_tends_to_its_limit() -> Finding:
    return _as_a_limit(reduce.chain)


def _column(build: Callable[..., Schedule], steps: Callable[[int], int], because: str) -> Finding:
    """n_alpha in one piece, and in many, where the column has it at 1."""
    claimed: dict[str, int] = {}
    executed: dict[str, int] = {}
    for n in (4, 8, 33, 64):
        claimed |= {f"n_alpha raw, N = {n}": steps(n), f"n_alpha in 64 segments, N = {n}": 1}
        executed |= {
            f"n_alpha raw, N = {n}": int(execute(build(n)).cost.n_alpha),
            f"n_alpha in 64 segments, N = {n}": int(execute(build(n, segments=64)).cost.n_alpha),
        }
    return Finding.compare(claimed, executed, because)


_ROOT_ONLY = ", and for this tree only with a link per pair of ranks; through one port its root serves log2 N children"


@answer(CHAPTER, "E-00-022")
def _chain_broadcast() -> Finding:
    return _column(broadcast.chain, lambda n: n - 1, _COLUMN.format("N-1", "N + P - 2", ""))


@answer(CHAPTER, "E-00-024")
def _chain_reduce() -> Finding:
    return _column(reduce.chain, lambda n: n - 1, _COLUMN.format("N-1", "N + P - 2", ""))


@answer(CHAPTER, "E-00-023")
def _binomial_broadcast() -> Finding:
    return _column(broadcast.binomial_tree, _log, _COLUMN.format("log2 N", "log2 N + P - 1", _ROOT_ONLY))


@answer(CHAPTER, "E-00-025")
def _binomial_reduce() -> Finding:
    return _column(reduce.binomial_tree, _log, _COLUMN.format("log2 N", "log2 N + P - 1", _ROOT_ONLY))


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


@answer(CHAPTER, "E-01-022")
def _tree_in_many_pieces() -> Finding:
    """Held against the source's formula at each P, not against its limit."""
    claimed = lambda n, p: _assembly_line(_log(n), p)  # noqa: E731
    return _in_segments(broadcast.binomial_tree, claimed, _MORE_THAN_TWO, because=_ROOT)


@answer(CHAPTER, "E-01-046")
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


_PER_PAIR = (
    "On the fully connected fabric of that part, with a link per pair of ranks, and as a limit; through one port per "
    "rank the root's log2 N children keep n_beta at log2 N."
)


@answer(CHAPTER, "E-01-029")
def _row_of_the_tree() -> Finding:
    return _tree_with_a_link_per_pair().holding(_PER_PAIR)


@answer(CHAPTER, "E-01-049")
def _row_of_the_tree_up() -> Finding:
    claimed = lambda n, p: _assembly_line(_log(n), p)  # noqa: E731
    return _in_segments(reduce.binomial_tree, claimed, (2, 3, 4, 6, 8, 12, 16, 33), full_mesh).holding(_PER_PAIR)


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


@cache
def _mesh_time(build: Callable[..., Schedule], steps: int, n: int, message: float) -> float:
    """The time at the best P where every pair has a link, and both schedules are assembly lines (E-01-024)."""
    p = best_segments(partial(_assembly_line, steps), message=message, alpha=ANCHOR_ALPHA, bandwidth=ANCHOR_BANDWIDTH)
    return execute(build(n, segments=p), full_mesh(n)).cost.seconds(message=message, **PRICE)


@answer(CHAPTER, "E-01-040")
def _tree_dominates() -> Finding:
    """On port-adequate fabrics, as the text has it: a link per pair of ranks."""
    n = 64
    executed = {}
    for message in _FROM_1_KB_TO_1_GB:
        tree, chain = (
            _mesh_time(build, steps, n, message)
            for build, steps in ((reduce.binomial_tree, _log(n)), (reduce.chain, n - 1))
        )
        executed[f"N = {n}, {message / 1e6:g} MB: tree faster"] = tree < chain
    where = (
        "On what the text calls port-adequate fabrics, here a link per pair of ranks. On one port the tree moves "
        "log2 N times the vector, in whatever pieces, and large vectors go to the chain (64 ranks, 1 GB: tree faster, "
        f"{'yes' if _tree_wins('reduce', n, 1e9) else 'no'})."
    )
    return Finding.compare(dict.fromkeys(executed, True), executed, "The chain wins.").holding(
        where, "tree faster at N = 64, from 1 kB to 1 GB"
    )


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

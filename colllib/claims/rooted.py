"""Answers on broadcast and reduce."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from math import sqrt

from colllib.algorithms import allgather, broadcast, reduce, reducescatter, trees
from colllib.claims.finding import Finding, answer, not_checkable
from colllib.claims.model import POWERS, SIZES
from colllib.claims.others import CHAPTER, counted
from colllib.claims.traces import printed
from colllib.cost import Cost, best_segments
from colllib.execution import execute
from colllib.ladder import ANCHOR_ALPHA, ANCHOR_BANDWIDTH, ANCHOR_MESSAGE
from colllib.primitives import broadcast as needs
from colllib.schedule import Schedule, reversed_in_time
from colllib.topology import full_mesh

SEGMENTS = (1, 2, 4, 9)
_ROOT = (
    "On one port the root sends every segment to each of its log2 N children: n_beta stays log2 N. A link per pair of "
    "ranks brings it to 1."
)
_FLOOR = (
    "With P segments the chain costs n_alpha = N + P - 2 and n_beta = (N + P - 2)/P; n_beta = 1 needs endlessly many."
)

not_checkable(
    CHAPTER,
    {
        "E-01-025": "A statement about what NCCL ships; its ncclBroadcast runs on rings.",
        "E-01-027": "A property of switches.",
        "E-01-041": "A statement about what NCCL ships.",
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
    """The tree whose steps the source traces for reduce: neighbours first."""
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
    return Finding.compare(6, broadcast.chain(4, segments=4).num_steps)


@answer(CHAPTER, "E-01-014", "E-01-039")
def _chain_formula() -> Finding:
    executed, claimed = {}, {}
    for n in SIZES:
        for p in SEGMENTS:
            key = f"N = {n}, P = {p}"
            executed[key] = execute(broadcast.chain(n, segments=p)).cost
            claimed[key] = Cost(n + p - 2, Fraction(n + p - 2, p))
    return Finding.compare(claimed, executed)


def _chain_at_the_anchor(n: int) -> tuple[float, int]:
    load = ANCHOR_MESSAGE / ANCHOR_BANDWIDTH
    cost = partial(broadcast.chain_cost, n)
    best = best_segments(cost, message=ANCHOR_MESSAGE, alpha=ANCHOR_ALPHA, bandwidth=ANCHOR_BANDWIDTH)
    return sqrt((n - 2) * load / ANCHOR_ALPHA), best


@answer(CHAPTER, "E-01-015")
def _best_segments_of_the_chain() -> Finding:
    pairs = {n: _chain_at_the_anchor(n) for n in (8, 64, 512)}
    return Finding.compare(dict.fromkeys(pairs, True), {n: abs(best - root) < 1 for n, (root, best) in pairs.items()})


@answer(CHAPTER, "E-01-016")
def _square_root_of_the_chain() -> Finding:
    n, load = 512, ANCHOR_MESSAGE / ANCHOR_BANDWIDTH
    formula = (n - 1) * ANCHOR_ALPHA + load + 2 * sqrt((n - 2) * ANCHOR_ALPHA * load)
    cost = execute(broadcast.chain(n, segments=_chain_at_the_anchor(n)[1])).cost
    executed = cost.seconds(message=ANCHOR_MESSAGE, alpha=ANCHOR_ALPHA, bandwidth=ANCHOR_BANDWIDTH)
    because = (
        "At the best P, (N + P - 2)(alpha + M / P BW) is (N-2) alpha + M/BW + 2 sqrt((N-2) alpha M/BW): one alpha "
        "less than the formula says."
    )
    return Finding.rounds({f"{formula * 1e6:.1f}": executed * 1e6}, because)


@answer(CHAPTER, "E-01-017", "E-01-030", "E-01-050")
def _chain_has_both_at_once() -> Finding:
    return counted({"chain": broadcast.chain}, lambda n: Cost(n - 1, 1), SIZES, _FLOOR)


@answer(CHAPTER, "E-01-020")
def _levels() -> Finding:
    depth = trees.depths(trees.binomial(4)).tolist()
    return Finding.compare([1, 2, 1], [depth.count(level) for level in range(3)])


@answer(CHAPTER, "E-01-021", "E-01-028")
def _tree_in_one_piece() -> Finding:
    return counted({"binomial tree": broadcast.binomial_tree}, lambda n: Cost(_log(n), _log(n)), SIZES)


@answer(CHAPTER, "E-01-045", "E-01-048")
def _tree_up_in_one_piece() -> Finding:
    return counted({"binomial tree": reduce.binomial_tree}, lambda n: Cost(_log(n), _log(n)), SIZES)


@answer(CHAPTER, "E-01-022", "E-01-029", "E-01-040", "E-01-046", "E-01-049")
def _tree_in_many_pieces() -> Finding:
    sizes = [n for n in POWERS if n > 2]
    executed = {n: Fraction(execute(broadcast.binomial_tree(n, segments=50)).cost.n_beta) for n in sizes}
    return Finding.compare(dict.fromkeys(sizes, Fraction(1)), executed, _ROOT)


@answer(CHAPTER, "E-01-023")
def _partners_of_the_root() -> Finding:
    children = trees.binomial(512).tolist().count(0)
    return Finding.compare("at most 3", f"{children}", "The root of a binomial tree has log2 N children.")


@answer(CHAPTER, "E-01-024")
def _tree_with_a_link_per_pair() -> Finding:
    executed, claimed = {}, {}
    for n in (4, 8, 16):
        for p in SEGMENTS:
            key = f"N = {n}, P = {p}"
            executed[key] = execute(broadcast.binomial_tree(n, segments=p), full_mesh(n)).cost
            claimed[key] = Cost(_log(n) + p - 1, Fraction(_log(n) + p - 1, p))
    return Finding.compare(claimed, executed)


@answer(CHAPTER, "E-01-032")
def _as_many_segments_as_ranks() -> Finding:
    executed = {n: Fraction(execute(broadcast.chain(n, segments=n)).cost.n_beta) for n in SIZES if n > 2}
    return Finding.compare(
        dict.fromkeys(executed, Fraction(1)), executed, "With P = N it is 2(N-1)/N, almost twice the floor."
    )


@answer(CHAPTER, "E-01-044")
def _one_tree_for_both() -> Finding:
    down = {"0-1", "0-2", "1-3"}  # the edges of the broadcast that the source traces
    up = {"0-1", "0-2", "2-3"}  # and of the reduce
    because = "The traced broadcast sends 1 to 3, the traced reduce 3 to 2: two different binomial trees."
    return Finding.statements({"§3.2": down, "§4.2": up}, "two trees", because)


@answer(CHAPTER, "E-01-094")
def _ring_halves_of_four() -> Finding:
    executed = {"RS": execute(reducescatter.ring(4)).cost, "AG": execute(allgather.ring(4)).cost}
    return Finding.compare(dict.fromkeys(executed, Cost(3, Fraction(3, 4))), executed)

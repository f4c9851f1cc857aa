"""Answers on broadcast, on reduce, and on pipelining."""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import Any

import numpy as np

from colllib.algorithms import broadcast, reduce, trees
from colllib.claims.allreduce import DOUBLING
from colllib.claims.cases import best_us, measured, once, per
from colllib.claims.runs import ANCHOR, POWERS, SIZES, built, run
from colllib.claims.traces import edges, states
from colllib.claims.value import Cases, Limit, Rows, Table, Words
from colllib.cost import best_segments_unrounded
from colllib.execution import Execution
from colllib.metrics import busy_ports, phases
from colllib.primitives import broadcast as needs
from colllib.schedule import Schedule, reversed_in_time

CHAIN, TREE, TREE_UP = "broadcast chain", "broadcast binomial-tree", "reduce binomial-tree"
SEGMENTS = (1, 2, 3, 4, 9, 10, 16)
MESSAGES = (1e3, 100e3, 16e6, 100e6)


def printed_reduce_tree() -> Schedule:
    """The tree whose steps the source traces for reduce: neighbors first."""
    return reversed_in_time(trees.down_one_child_a_step([-1, 0, 0, 2], [0, 1, 0, 1], needs(4)))


def _levels(k: int) -> Words:
    depth = trees.depths(trees.binomial(1 << k)).tolist()
    return Words(" ".join(str(depth.count(d)) for d in range(k + 1)))


def _partners(n: int) -> int:
    """Of the busiest rank, in so many pieces that every edge of the tree is in use at once."""
    return max(run(TREE, f"star:{n}", (n - 1).bit_length()).partners())


def _best_of_a_chain() -> Cases:
    """The whole numbers beside the root are executed against each other and against their neighbors."""
    for stages in (3, 7, 9, 31):
        for m in (ANCHOR["message"] / (ANCHOR["alpha"] * ANCHOR["bandwidth"]), 400.0):
            near = int(best_segments_unrounded(stages, message=m, alpha=1, bandwidth=1))
            costs = {p: run(CHAIN, f"star:{stages + 1}", p).cost for p in range(max(1, near - 1), near + 3)}
            times = {p: cost.seconds(message=m, alpha=1, bandwidth=1) for p, cost in costs.items()}
            at = f"L = {stages}, M = {m:.3g} alpha BW"
            yield {"at": at, "L": stages, "N": stages + 1, "m": m, "best": min(times, key=times.__getitem__)}


def _crossovers() -> Cases:
    """Whether tree and chain cross over between 1 kB and 100 MB, each at its best P."""
    for on in ("star:16", "full-mesh:16"):
        case: dict[str, Any] = {"at": on}
        for primitive in ("broadcast", "reduce"):
            tree, chain = f"{primitive} binomial-tree", f"{primitive} chain"
            wins = {best_us(tree, on, message=m) < best_us(chain, on, message=m) for m in MESSAGES}
            case[primitive] = len(wins) == 2
        yield case


# -- pipelining ------------------------------------------------------------------------------------


def _master_formula() -> Cases:
    for n, p in product(SIZES, SEGMENTS):
        yield measured((CHAIN, p), f"star:{n}").case(f"chain, N = {n}, P = {p}", L=n - 1, P=p)
    for what, n, p in product((TREE, DOUBLING), (4, 8, 16), SEGMENTS):
        at = f"{what} on a full mesh, N = {n}, P = {p}"
        yield measured((what, p), f"full-mesh:{n}").case(at, L=n.bit_length() - 1, P=p)


def _time_at_the_best() -> Cases:
    """At the best P, which is the whole number 160 there: L = 9, alpha = 0.5, M/BW = 1,600."""
    p = round(best_segments_unrounded(9, message=1600, alpha=0.5, bandwidth=1))
    yield {"at": f"P = {p}", "t": run(CHAIN, "star:10", p).cost.seconds(message=1600, alpha=0.5, bandwidth=1)}


def _interior(what: str) -> Rows:
    """Of the ranks other than the root: the links that one uses at once, and the bytes through its port."""

    def done(n: int) -> Execution:
        return run(what, f"star:{n}", 2 * (n - 1).bit_length())

    def links(n: int) -> int:
        ends = (np.concatenate((step.src, step.dst)) for step in done(n).schedule.steps)
        return max(int(np.bincount(end)[1:].max()) for end in ends)

    return per("N", (8, 64, 512), links=links, inner_port=lambda n: Limit(max(done(n).sent[1:] + done(n).received[1:])))


TABLE: Table = {
    "E-01-015 E-01-182": _best_of_a_chain,
    "E-01-052": _crossovers,
    "E-01-007 E-01-008 E-01-009 E-01-010 E-01-011 E-01-012": states(partial(broadcast.chain, segments=4), 4),
    # our reduce is the broadcast backwards and so takes the last chunk first; the source takes chunk 0 first
    "E-01-033 E-01-034 E-01-035 E-01-036 E-01-037 E-01-038": states(
        partial(reduce.chain, segments=4), 4, chunks=(3, 2, 1, 0)
    ),
    "E-01-018 E-01-019": states(broadcast.binomial_tree, 4),
    "E-01-042 E-01-043": states(printed_reduce_tree),
    "E-01-020": per("k", range(1, 8), levels=_levels),
    "E-01-023": per("N", POWERS[1:], partners=_partners),
    "E-01-044": once("N = 4", edges=lambda: edges(*built(broadcast.binomial_tree, 4).schedule.steps)),
    "E-01-177": _master_formula,
    "E-01-183": _time_at_the_best,
    "E-01-175": per(
        "P",
        (2, 3, 4, 8),
        at=", L = 3",
        fill=lambda p: phases(busy_ports(built(broadcast.chain, 4, segments=p).schedule)).fill,
    ),
    "E-01-187": _interior(TREE),
    "E-01-188": _interior(TREE_UP),
}

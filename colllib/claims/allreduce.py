"""Answers on all-reduce, on what bounds it from below, and on the ladder of algorithms at the anchor."""

from __future__ import annotations

from bisect import bisect_left
from fractions import Fraction
from typing import Any

import numpy as np

from colllib.algorithms import allreduce, alltoall, identities, of, reducescatter, trees
from colllib.algorithms.nested import nested
from colllib.claims.cases import best_us, deferred, distances, measured, once, per, states, us
from colllib.claims.runs import SIZES, at_one_speed, built, load_limit, makes, proves, run
from colllib.claims.value import Cases, Table
from colllib.execution import trace
from colllib.primitives import broadcast as broadcast_blocks
from colllib.primitives import lg
from colllib.primitives import reduce_scatter as reduce_scatter_blocks
from colllib.provenance import ScheduleError
from colllib.schedule import Schedule, Step, in_sequence, reversed_in_time
from colllib.topology import Lattice

RING, TREE, DOUBLING, HALVING = (
    f"all-reduce {name}" for name in ("ring", "double-binary-tree", "recursive-doubling", "rabenseifner")
)
MESHED = (4, 8, 16, 64)
#: The two trees that the source draws for four ranks, as arrays of parents.
FIRST, SECOND = (-1, 0, 0, 1), (3, 2, 3, -1)


def single_tree(ranks: int = 4) -> Schedule:
    """The tree drawn first, up and down again."""
    down = trees.down_by_level(FIRST, broadcast_blocks(ranks, shares=4))
    return in_sequence(reversed_in_time(down), down)


def double_tree(ranks: int = 4) -> Schedule:
    """Both drawn trees at once, each with half of the vector."""
    return allreduce.double_binary_tree(ranks, parents=(FIRST, SECOND))


def _one_half_after_the_other(n: int) -> Schedule:
    return identities.of("all-reduce")[0].build(n, 0)


def _half(n: int) -> Schedule:
    """The first half of Rabenseifner alone, meant as a reduce-scatter."""
    schedule = allreduce.rabenseifner(n)
    return Schedule.from_steps(reduce_scatter_blocks(n), [schedule.step(t) for t in range(lg(n))])


def least(primitive: str, n: int, pieces: int = 1) -> Fraction:
    """The least n_beta of all algorithms for any network, segmented ones in so many pieces, on one port."""
    runs = (run(f"{primitive} {a.name}", f"star:{n}", pieces if a.segmented else 1) for a in of(primitive) if a.fits(n))
    return min(at_one_speed(one.cost) for one in runs)


@deferred
def _every(n: int) -> Cases:
    for algorithm in of("all-reduce"):
        yield measured(f"all-reduce {algorithm.name}", f"star:{n}").case(f"{algorithm.label}, N = {n}", N=n)


def _ring_indices() -> Cases:
    ring = built(reducescatter.ring, 4, first=0).schedule
    owned = np.argsort(ring.blocks.target).tolist()
    for t, step in enumerate(ring.steps, 1):
        for src, dst, chunk in np.transpose(step[:3]).tolist():
            case = {"at": f"step {t}, rank {src}", "N": 4, "t": t, "i": src, "right": dst}
            yield {**case, "chunk": chunk, "owned": owned[src]}


def _roles() -> Cases:
    """Per rank of four: in how many trees it is inner, and whether one tree uses one way of its link while reducing."""
    schedule = built(double_tree).schedule
    src, dst, block, _ = Step.joined(list(schedule.steps)[: schedule.num_steps // 2])
    tree = 2 * block // len(schedule.blocks)
    for rank in range(4):
        out, into = (len(np.unique(tree[ends == rank])) for ends in (src, dst))
        yield {"at": f"R{rank}", "inner_in": into, "apart": max(out, into) < 2}


def _partners_in_the_pipeline(n: int) -> int:
    both = built(allreduce.double_binary_tree, n, pieces=40).schedule
    pairs = (np.unique(np.sort(step[:2], axis=0), axis=1) for step in both.steps)
    return max(int(np.bincount(met.ravel()).max()) for met in pairs)


_START = ((1, 2, 3, 4), (5, 6, 7, 8), (9, 10, 11, 12), (13, 14, 15, 16))


def _stepper() -> Cases:
    """The numbers of exercise 1 after every step of the reduce-scatter, and what the all-reduce's stepper counts."""
    case: dict[str, Any] = {"at": "N = 4", "states": len(list(trace(run(RING, "star:4").schedule)))}
    for t, state in enumerate(trace(built(reducescatter.ring, 4, first=0).schedule)):
        cells = [[sum(_START[r][c] for r in state[rank, c].elements()) for c in range(4)] for rank in range(4)]
        case[f"step{t}"] = " / ".join(" ".join(map(str, row)) for row in cells)
    yield case | {"all": measured(RING, "star:4")}


def _tree_wins(kilobytes: int) -> bool:
    """Whether the executed double tree at its best P beats recursive doubling."""
    message = kilobytes * 1e3
    return us(run(DOUBLING, "star:512").cost, message=message) > best_us(TREE, message=message)


def hierarchical_ring(count: int, ranks: int) -> Schedule:
    """Rings on the boxes, then between them, then back."""
    inside, between = reducescatter.ring(ranks), allreduce.ring(count)
    return nested(Lattice((ranks, count)), [(0, inside), (1, between), (0, reversed_in_time(inside))])


def _ghosts(silent: bool) -> Schedule:
    """Rabenseifner of eight ranks; silent ghosts, 6 and 7, neither send nor receive."""
    schedule = allreduce.rabenseifner(8)
    steps = (step.taken((step.src < 6) & (step.dst < 6)) if silent else step for step in schedule.steps)
    return Schedule.from_steps(schedule.blocks, list(steps))


def _with_ghosts() -> Cases:
    sent = built(_ghosts, False).sent
    try:
        built(_ghosts, True)
        described = "the sum comes out as well"
    except ScheduleError as error:
        described = f"the run is refused: {error}"
    yield {"at": "P = 6 in 8", "wasted": sum(sent[6:]) / sum(sent), "silent": described}


def relay_singly(n: int) -> Schedule:
    """The ring relay with one block on a link and step, ties up."""
    return alltoall.ring_relay(n, bundled=False)


TABLE: Table = {
    "E-00-016": per(SIZES, same=lambda n: makes("all-reduce", built(_one_half_after_the_other, n))),
    "E-01-003": per(MESHED, materialized=lambda n: proves(_half, n, on=f"star:{n}")),
    "E-00-018": per(
        SIZES,
        received=lambda n: min(min(run(f"broadcast {a.name}", f"star:{n}").received[1:]) for a in of("broadcast")),
    ),
    "E-00-019": per(SIZES, bound=lambda n: least("all-gather", n)),
    "E-00-020": per(SIZES, bound=lambda n: least("all-reduce", n)),
    "E-00-021": per(SIZES, bound=lambda n: least("all-to-all", n)),
    "E-00-003": _every(8),
    "E-01-201": _every(64),
    "E-01-054": _ring_indices,
    "E-01-072 E-01-073": _roles,
    "E-01-082 E-01-190": per(
        (8, 64), partners=_partners_in_the_pipeline, limit=lambda n: load_limit(TREE, f"star:{n}")
    ),
    "E-01-161": per((3, 5, 6, 7, 12), paired=lambda n: len(np.unique(run(DOUBLING, f"star:{n}").schedule.step(0)[:2]))),
    "E-01-164": once("N = 4", distances=lambda: distances(HALVING, 2)),
    "E-01-055 E-01-056 E-01-057 E-01-058 E-01-059 E-01-060": states(allreduce.ring, 4),
    "E-01-066 E-01-067 E-01-068 E-01-069": states(single_tree),
    "E-01-074 E-01-075 E-01-076 E-01-077": states(double_tree),
    "E-01-142 E-01-143": states(allreduce.recursive_doubling, 4),
    # the source lets ranks 0 to 3 keep chunks 0, 3, 1, 2; ours keep the block of their own number
    "E-01-147 E-01-148 E-01-149 E-01-150": states(allreduce.rabenseifner, 4, chunks=(0, 3, 1, 2)),
    "R-01 R-04": _stepper,
    "E-01-158": once(
        "N = 512, 10 kB",
        doubling_fastest=lambda: (
            min((best_us(f"all-reduce {a.name}", message=10e3), a.name) for a in of("all-reduce"))[1]
            == "recursive-doubling"
        ),
    ),
    "E-01-154": once("N = 512", kB=lambda: bisect_left(range(1 << 20), True, lo=1, key=_tree_wins)),
    "R-12": _with_ghosts,
}

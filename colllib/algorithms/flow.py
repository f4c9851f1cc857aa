"""All-to-all on any network of ranks: a flow through time, of which no schedule of as many steps costs less.

Source: the flow through time of Ford and Fulkerson (1958), "Constructing Maximal Dynamic Flows from
Static Flows", with one commodity for each source, as in Basu et al. (2024), "Efficient All-to-All
Collective Communication Schedules for Direct-Connect Topologies".
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from colllib.algorithms.breadth_first import on_connected_ranks
from colllib.exact import Fractions, IntArray
from colllib.limits import PIECE, TooLarge, check_seconds, check_size
from colllib.primitives import Blocks
from colllib.schedule import Schedule, Step
from colllib.topology.base import Topology
from colllib.topology.cuts import distances

MOST_VARIABLES = 2**14  # sources times links times steps
MOST_PIECES = 5000  # of a block
CLOSE = 1e-6  # to a whole number of pieces
HOP = 1e-5  # price of a hop of a block: of equally short schedules that with the fewest


@lru_cache(maxsize=8)
def all_to_all(topology: Topology, steps: int = 0) -> Schedule:
    """Blocks travel over any paths and wait anywhere; the sum of the steps' largest loads is as small as can be.

    Args:
        topology: ranks only, each of which reaches all others.
        steps: how many (default: as many as the diameter, the fewest).

    Raises:
        ValueError: for too few steps.
        TooLarge: if the linear program is too large, or its solution has too small pieces.

    >>> from colllib.execution import execute
    >>> from colllib.topology.expression import find
    >>> execute(all_to_all(find("ring:5")), find("ring:5")).cost
    Cost(n_alpha=2, n_beta=3/5)
    """
    if (why := on_connected_ranks(topology)) is not None:
        raise ValueError(f"all-to-all flow {why}")
    ranks = topology.ranks
    check_size(f"all-to-all flow on {topology.name}", ranks * topology.num_links, MOST_VARIABLES, "variables")
    hops = distances(topology)
    steps = steps or max(int(hops.max()), 1)
    if steps < hops.max():
        raise ValueError(f"all-to-all flow on {topology.name}: {steps} steps are fewer than its diameter {hops.max()}")
    amounts = _amounts(topology, hops, steps)
    pieces = _pieces(amounts, topology.name)
    piece_counts = np.rint(amounts * pieces).astype(np.intp)
    check_seconds(f"all-to-all flow on {topology.name}", PIECE * float(piece_counts.sum()), "ranks")
    messages = [
        (t, int(topology.link_src[link]), int(topology.link_dst[link]), (source * ranks + target) * pieces + piece)
        for source in range(ranks)
        for target, piece, path in _paths(topology, source, piece_counts[source], pieces)
        for t, link in path
    ]
    when, src, dst, block = np.array(sorted(messages), dtype=np.intp).reshape(-1, 4).T
    sources, targets = (np.repeat(end, pieces) for end in np.divmod(np.arange(ranks * ranks), ranks))
    blocks = Blocks(ranks, Fractions.equal(len(sources), ranks), sources, targets, ())
    return Schedule.from_messages(blocks, steps, when, Step.of(src, dst, block))


def _amounts(topology: Topology, hops: IntArray, steps: int) -> NDArray[np.float64]:
    """What each source's blocks put on each link in each step, in blocks; shape (N, T, links)."""
    from scipy.optimize import linprog
    from scipy.sparse import coo_array, eye_array, hstack, kron, vstack

    ranks, links = topology.ranks, topology.num_links
    check_size(f"all-to-all flow on {topology.name}", ranks * links * steps, MOST_VARIABLES, "variables")
    departed, arrived = _conservation(topology, steps)
    bandwidth = topology.bandwidth.as_floats()[:, None]
    width = coo_array(bandwidth / bandwidth.max(initial=1))  # a load is worth more than a hop
    loads = hstack([kron(np.ones((1, ranks)), eye_array(steps * links)), -kron(eye_array(steps), width)])
    idle = coo_array((departed.shape[0], steps)), coo_array((arrived.shape[0], steps))
    # no block returns to its source, and none is where it cannot be yet
    late = hops[:, None, topology.link_src] > np.arange(steps)[:, None]
    barred = late | (np.arange(ranks)[:, None, None] == topology.link_dst) | (topology.link_src == topology.link_dst)
    most = np.where(barred, 0, np.inf).ravel()
    limits: dict[str, Any] = {
        "A_ub": vstack([loads, hstack([departed, idle[0]])]).tocsr(),
        "b_ub": np.zeros(loads.shape[0] + departed.shape[0]),
        "A_eq": hstack([arrived, idle[1]]).tocsr(),
        "b_eq": np.ones(arrived.shape[0]),
        "bounds": [(0.0, value) for value in most.tolist()] + [(0.0, None)] * steps,
    }
    solution = linprog(np.r_[np.full(len(most), HOP), np.ones(steps)], **limits, method="highs-ds")
    if solution.x is None:
        raise ValueError(f"all-to-all flow on {topology.name}: {solution.message}")
    amounts: NDArray[np.float64] = solution.x[: len(most)].reshape(ranks, steps, links)
    return amounts


def _conservation(topology: Topology, steps: int) -> tuple[Any, Any]:
    """Rows for each source and other rank: what left it up to each step less what came before, and what stays there."""
    from scipy.sparse import block_diag, csr_array, kron

    ranks, links = topology.ranks, topology.num_links
    every = np.arange(links)
    out, into = (
        csr_array((np.ones(links), (ends, every)), shape=(ranks, links))
        for ends in (topology.link_src, topology.link_dst)
    )
    up_to = np.tril(np.ones((steps, steps)))
    sent = (kron(up_to, out) - kron(up_to - np.eye(steps), into)).tocsr()
    gained = kron(np.ones((1, steps)), into - out).tocsr()
    others = [np.flatnonzero(np.arange(ranks) != source) for source in range(ranks)]
    departed = block_diag([sent[(targets + ranks * np.arange(steps)[:, None]).ravel()] for targets in others])
    arrived = block_diag([gained[targets] for targets in others])
    return departed, arrived


def _pieces(amounts: NDArray[np.float64], name: str) -> int:
    """The fewest pieces of a block of which every link carries whole ones."""
    parts = np.unique(amounts.round(9))
    for pieces in range(1, MOST_PIECES + 1):
        if (np.abs(parts * pieces - np.rint(parts * pieces)) < CLOSE * pieces).all():
            return pieces
    raise TooLarge(f"all-to-all flow on {name}: blocks would have to be cut into more than {MOST_PIECES} pieces")


def _paths(
    topology: Topology, source: int, left: IntArray, pieces: int
) -> Iterator[tuple[int, int, list[tuple[int, int]]]]:
    """A flow through time taken apart: for every target and piece the steps and links of its path, backwards.

    A piece that is somewhere in time came over a link in the last step that brought any, or had been there before;
    what a rank keeps, and what has been taken away, is what is left of the flow.
    """
    steps = len(left)
    waiting = np.zeros((steps + 1, topology.ranks), dtype=np.intp)  # at a rank when a step begins, until the next one
    waiting[0, source] = pieces * (topology.ranks - 1)
    for t in range(steps):
        leaving = np.bincount(topology.link_src, weights=left[t], minlength=topology.ranks).astype(np.intp)
        coming = np.bincount(topology.link_dst, weights=left[t], minlength=topology.ranks).astype(np.intp)
        waiting[t] -= leaving  # from here on what waits during the step
        waiting[t + 1] = waiting[t] + coming
    into = [np.flatnonzero(topology.link_dst == rank) for rank in range(topology.ranks)]
    for target in range(topology.ranks):
        for piece in range(pieces if target != source else 0):
            at, path = target, []
            for t in reversed(range(steps)):
                if waiting[t, at]:
                    waiting[t, at] -= 1
                    continue
                link = next(int(k) for k in into[at] if left[t, k])
                left[t, link] -= 1
                path.append((t, link))
                at = int(topology.link_src[link])
            yield target, piece, path

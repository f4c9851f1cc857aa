"""All-gathers by integer program: the least cost of all schedules of so many steps and pieces on a small graph.

Every piece of every shard may go over every link in every step, so that the time grows fast:
a witness of what is optimal, and no method for large graphs.

Source: the problem is that of Cai et al. (2021), "Synthesizing Optimal Collective Algorithms", who give it
to a solver of logic.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from colllib.algorithms.breadth_first import on_connected_ranks, shards
from colllib.exact import IntArray
from colllib.limits import check_seconds, check_size
from colllib.primitives import check_counts
from colllib.schedule import Schedule, Step
from colllib.topology.base import Topology
from colllib.topology.cuts import distances

MOST_VARIABLES = 2**14
INFEASIBLE = 2  # the solver's word for it


def on_several_ranks(topology: Topology) -> str | None:
    """Only ranks with links of one level among themselves, of which there are several, will do."""
    return (
        on_connected_ranks(topology) if topology.ranks > 1 else f"needs at least two ranks, and {topology.name} has one"
    )


def all_gather(
    topology: Topology, steps: int = 0, pieces: int = 1, loads: Sequence[int] = (), seconds: float = 15
) -> Schedule:
    """A schedule whose bandwidth term no other one of so many steps and pieces has less of.

    Args:
        topology: ranks only, each of which reaches all others.
        steps: how many (default: as many as the diameter, the fewest).
        pieces: into how many equal pieces each shard is cut.
        loads: how many pieces a link of bandwidth 1 may carry in each step (default: the least in all).
        seconds: how long the solver may take, in seconds.

    Raises:
        ValueError: for one rank, too few steps, loads that no schedule has, or if the solver has no proof in its time.
        TooLarge: if the program is too large.

    >>> from colllib.execution import execute
    >>> from colllib.topology.expression import find
    >>> execute(all_gather(find("diamond"), pieces=2), find("diamond")).cost
    Cost(n_alpha=3, n_beta=7/16)
    """
    if (why := on_several_ranks(topology)) is not None:
        raise ValueError(f"synthesis {why}")
    check_counts(pieces=pieces)
    links = np.flatnonzero(topology.link_src != topology.link_dst)
    check_size(f"synthesis on {topology.name}", topology.ranks * len(links), MOST_VARIABLES, "messages to choose from")
    hops = distances(topology)
    steps = steps or len(loads) or int(hops.max())
    if steps < hops.max():
        raise ValueError(f"synthesis on {topology.name}: {steps} steps are fewer than its diameter {hops.max()}")
    loads = tuple(loads)
    if loads and len(loads) != steps:
        raise ValueError(f"synthesis on {topology.name}: {len(loads)} loads for {steps} steps")
    messages = topology.ranks * pieces * len(links) * steps
    check_size(f"synthesis on {topology.name}", messages, MOST_VARIABLES, "messages to choose from")
    check_seconds(f"synthesis on {topology.name}", seconds, "seconds")
    solution = _least_cost(topology, links, steps, pieces, loads, seconds)
    if solution.status == INFEASIBLE:
        raise ValueError(f"synthesis on {topology.name}: no schedule in {pieces} pieces has loads {loads}")
    if solution.status != 0:
        raise ValueError(f"synthesis on {topology.name}: no proof of a least cost within {seconds:g} s")
    chosen = np.rint(solution.x[:messages]).reshape(topology.ranks * pieces, steps, len(links))
    block, step, link = np.nonzero(chosen)
    order = np.argsort(step, kind="stable")
    sent_over = links[link[order]]
    sent = Step.of(topology.link_src[sent_over], topology.link_dst[sent_over], block[order])
    return Schedule.from_messages(shards(topology.ranks, pieces), steps, step[order], sent)


def _least_cost(
    topology: Topology, links: IntArray, steps: int, pieces: int, loads: Sequence[int], seconds: float
) -> Any:
    """The solver's answer: whether each block goes over each link in each step, and behind those the steps' loads."""
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import coo_array, csr_array, eye_array, hstack, kron, vstack

    ranks, src, dst = topology.ranks, topology.link_src[links], topology.link_dst[links]
    blocks, every = ranks * pieces, np.arange(len(links))
    start, end = (csr_array((np.ones(len(links)), (ends, every)), shape=(ranks, len(links))) for ends in (src, dst))
    # a block arrives once where it has to, and leaves a rank only after it has arrived
    once = kron(eye_array(blocks), kron(np.ones((1, steps)), end))
    owner = np.repeat(np.arange(ranks), pieces)
    before = np.tril(np.ones((steps, steps)), -1)
    departed = eye_array(steps * len(links)) - kron(before, start.T @ end)
    messages = blocks * steps * len(links)
    owned = np.tile((src == owner[:, None])[:, None], (1, steps, 1)).ravel().astype(float)
    needed = (np.arange(ranks) != owner[:, None]).ravel().astype(float)
    bandwidth = topology.bandwidth.as_floats()[links]
    widest = bandwidth.max()
    given_loads = [load * widest for load in loads]
    room = -kron(eye_array(steps), coo_array(bandwidth[:, None] / widest))
    widths: Any = hstack([kron(np.ones((1, blocks)), eye_array(steps * len(links))), room])
    idle = [coo_array((rows, steps)) for rows in (once.shape[0], messages)]
    program: Any = vstack([widths, hstack([once, idle[0]]), hstack([kron(eye_array(blocks), departed), idle[1]])])
    low = np.r_[np.full(widths.shape[0], -np.inf), needed, np.full(messages, -np.inf)]
    high = np.r_[np.zeros(widths.shape[0]), needed, owned]
    return milp(
        np.r_[np.zeros(messages), np.ones(steps)],
        constraints=LinearConstraint(program.tocsr(), low, high),
        # over links of one width whole pieces are whole loads
        integrality=np.r_[np.ones(messages), np.full(steps, (bandwidth == widest).all())],
        bounds=Bounds(
            np.r_[np.zeros(messages), given_loads or np.zeros(steps)],
            np.r_[np.ones(messages), given_loads or np.full(steps, np.inf)],
        ),
        options={"time_limit": seconds, "mip_rel_gap": 0},
    )

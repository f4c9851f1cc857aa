"""Direct algorithms: every message goes straight from the rank that has a block to one that needs it.

On a full mesh, with a link per pair of ranks, a step of these uses all links, but for broadcast and
reduce. On a star the same schedules are allowed, and the ledger charges each port for the N - 1
messages that meet there.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from colllib import primitives
from colllib.algorithms import allgather, alltoall
from colllib.closed_form import formulas
from colllib.exact import Fractions
from colllib.limits import MOST_BLOCKS, check_size
from colllib.schedule import Schedule, Step, backwards, there_and_back
from colllib.topology import Lattice


def all_to_all(ranks: int, shares: Sequence[Sequence[Fraction]] | None = None) -> Schedule:
    """Every block goes straight to its destination, all of them in one step.

    Args:
        shares: of M, by source and destination (default: all alike).

    >>> from colllib.execution import execute
    >>> from colllib.topology import full_mesh
    >>> execute(all_to_all(8), full_mesh(8)).cost, execute(all_to_all(8)).cost
    (Cost(n_alpha=1, n_beta=1/8), Cost(n_alpha=1, n_beta=7/8))
    """
    primitives.check_ranks(ranks)
    other = np.arange(1, ranks)
    one = Schedule.from_steps(alltoall.blocks_of(ranks), [Step.of(0, other, other)] if ranks > 1 else [])
    return alltoall.from_every_rank(one, shares)


def all_gather(ranks: int) -> Schedule:
    """Every owner sends its shard to all others, in one step.

    >>> all_gather(8).num_steps
    1
    """
    primitives.check_ranks(ranks)
    return allgather.of_every_rank(ranks, [Step.of(0, np.arange(1, ranks), 0)] if ranks > 1 else [], Lattice((ranks,)))


#: Everyone sends each owner its share, and the owner adds N - 1 of them up, in one step.
reduce_scatter = backwards(all_gather)


all_reduce = there_and_back(reduce_scatter)  # two steps for any N


def one_shot(ranks: int) -> Schedule:
    """All-reduce in one step: everybody sends the whole vector to everybody, and adds up what arrives.

    >>> from colllib.execution import execute
    >>> execute(one_shot(8)).cost, execute(all_reduce(8)).cost
    (Cost(n_alpha=1, n_beta=7), Cost(n_alpha=2, n_beta=7/4))
    """
    blocks = primitives.all_reduce(ranks)
    check_size(f"one shot over {ranks} ranks", ranks * ranks, MOST_BLOCKS, "messages")
    src, dst = np.nonzero(~np.eye(ranks, dtype=np.bool_))
    return Schedule.from_steps(blocks, [Step.of(src, dst, 0, add=True)] if ranks > 1 else [])


def broadcast(ranks: int, *, root: int = 0) -> Schedule:
    """The root sends a different slice to every other rank, and keeps one; then all of them exchange their slices.

    >>> from colllib.execution import execute
    >>> from colllib.topology import full_mesh
    >>> execute(broadcast(8), full_mesh(8)).cost
    Cost(n_alpha=2, n_beta=1/4)
    """
    blocks = primitives.broadcast(ranks, ranks, root)
    others = np.delete(np.arange(ranks), root)
    src, dst = np.nonzero(~np.eye(ranks, dtype=np.bool_) & (np.arange(ranks) != root))
    steps = [Step.of(root, others, others), Step.of(src, dst, src)] if ranks > 1 else []
    return Schedule.from_steps(blocks, steps)


reduce = backwards(broadcast)


def parameter_server(workers: int, servers: int, *, colocated: bool = False) -> Schedule:
    """Every worker pushes the k-th part of its gradient to server k, then pulls the k-th part of the sum.

    Ranks 0 to W - 1 are the workers. The servers are the ranks after them, which contribute nothing; or
    where they are colocated, the first K workers. Each of the K servers holds M/K.

    Args:
        workers: W, at least 1.
        servers: K, at least 1; colocated at most W.
        colocated: whether servers share the ranks, and the ports, of workers.

    Raises:
        ValueError: for numbers that cannot be.

    >>> from colllib.execution import execute
    >>> execute(parameter_server(8, 1)).cost, execute(parameter_server(8, 8, colocated=True)).cost
    (Cost(n_alpha=2, n_beta=16), Cost(n_alpha=2, n_beta=7/4))
    """
    primitives.check_counts(workers=workers, servers=servers)
    if colocated and servers > workers:
        raise ValueError(f"{servers} servers colocated with {workers} workers: there must be a worker for each")
    check_size(f"{workers} workers and {servers} servers", workers * servers, MOST_BLOCKS, "messages")
    ranks = workers if colocated else workers + servers
    every = np.full(servers, ranks)
    share = Fractions(np.ones(servers, dtype=np.intp), servers)
    blocks = primitives.Blocks(ranks, share, every, every, (np.arange(workers),))
    worker, block = (axis.ravel() for axis in np.indices((workers, servers)))
    server = block if colocated else workers + block
    away = worker != server
    push = Step.of(worker[away], server[away], block[away], add=True)
    pull = Step.of(server[away], worker[away], block[away])
    return Schedule.from_steps(blocks, [push, pull] if away.any() else [])


# On a full mesh with a link of BW per pair:
one_step_cost = formulas("1", "1 / N")
one_shot_cost = formulas("1", "1")
two_step_cost = formulas("2", "2 / N")

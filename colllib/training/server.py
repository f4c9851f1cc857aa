"""Parameter servers: the all-reduce in which workers push what they have to servers and pull the sums."""

from __future__ import annotations

import numpy as np

from colllib.exact import Fractions
from colllib.limits import MOST_BLOCKS, check_size
from colllib.primitives import Blocks, check_counts
from colllib.schedule import Schedule, Step


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
    >>> execute(parameter_server(8, 1)).cost.n_beta, execute(parameter_server(8, 8, colocated=True)).cost.n_beta
    (Fraction(16, 1), Fraction(7, 4))
    """
    check_counts(workers=workers, servers=servers)
    if colocated and servers > workers:
        raise ValueError(f"{servers} servers colocated with {workers} workers: there must be a worker for each")
    check_size(f"{workers} workers and {servers} servers", workers * servers, MOST_BLOCKS, "messages")
    ranks = workers if colocated else workers + servers
    every = np.full(servers, ranks)
    share = Fractions(np.ones(servers, dtype=np.intp), servers)
    blocks = Blocks(ranks, share, every, every, (np.arange(workers),))
    worker, block = (axis.ravel() for axis in np.indices((workers, servers)))
    server = block if colocated else workers + block
    away = worker != server
    push = Step.of(worker[away], server[away], block[away], add=True)
    pull = Step.of(server[away], worker[away], block[away])
    return Schedule.from_steps(blocks, [push, pull] if away.any() else [])

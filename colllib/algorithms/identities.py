"""One primitive out of others: the identities, each as a schedule that `execute` can prove."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from colllib.algorithms import allgather, broadcast, reduce, reducescatter
from colllib.schedule import Schedule, in_sequence, reversed_in_time, scaled, side_by_side


@dataclass(frozen=True)
class Identity:
    """A way to get one primitive out of others."""

    primitive: str  # what it makes true
    text: str  # out of what, in words
    build: Callable[[int, int], Schedule]  # from the number of ranks and the root, which most ignore


def _from_every_root(build: Callable[..., Schedule], whole: bool = False) -> Callable[[int, int], Schedule]:
    """From each root once, side by side, with M/N each or the whole of M."""
    return lambda n, _: side_by_side(
        *(scaled(build(n, root=root), 1 if whole else Fraction(1, n)) for root in range(n))
    )


IDENTITIES = (
    Identity(
        "all-reduce",
        "reduce-scatter, then all-gather",
        lambda n, root: in_sequence(reducescatter.ring(n), allgather.ring(n)),
    ),
    Identity(
        "all-reduce",
        "reduce, then broadcast",
        lambda n, root: in_sequence(reduce.binomial_tree(n, root=root), broadcast.binomial_tree(n, root=root)),
    ),
    Identity("broadcast", "a reduce, backwards", lambda n, root: reversed_in_time(reduce.binomial_tree(n, root=root))),
    Identity(
        "broadcast",
        "scatter, then all-gather",
        lambda n, root: in_sequence(broadcast.scatter(n, root=root), allgather.bruck(n)),
    ),
    Identity(
        "reduce", "a broadcast, backwards", lambda n, root: reversed_in_time(broadcast.binomial_tree(n, root=root))
    ),
    Identity(
        "reduce",
        "reduce-scatter, then gather",
        lambda n, root: in_sequence(reducescatter.bruck(n), reversed_in_time(broadcast.scatter(n, root=root))),
    ),
    Identity("all-gather", "a reduce-scatter, backwards", lambda n, root: reversed_in_time(reducescatter.ring(n))),
    Identity("all-gather", "N broadcasts side by side, each of M/N, down a chain", _from_every_root(broadcast.chain)),
    Identity(
        "all-gather",
        "N broadcasts side by side, each of M/N, down a binomial tree",
        _from_every_root(broadcast.binomial_tree),
    ),
    Identity("reduce-scatter", "an all-gather, backwards", lambda n, root: reversed_in_time(allgather.ring(n))),
    Identity("reduce-scatter", "N reduces side by side, each of M/N, up a chain", _from_every_root(reduce.chain)),
    Identity(
        "all-to-all",
        "N scatters side by side, each of M, down a binomial tree",
        _from_every_root(broadcast.scatter, whole=True),
    ),
)


def of(primitive: str) -> tuple[Identity, ...]:
    """The identities that make a primitive true; none for point-to-point.

    >>> from colllib.execution import execute
    >>> for identity in of("all-reduce"):
    ...     print(identity.text, execute(identity.build(8, 0)).cost)
    reduce-scatter, then all-gather Cost(n_alpha=14, n_beta=7/4)
    reduce, then broadcast Cost(n_alpha=6, n_beta=6)
    """
    return tuple(identity for identity in IDENTITIES if identity.primitive == primitive)

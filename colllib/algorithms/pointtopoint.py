"""Point-to-point: one message."""

from __future__ import annotations

from colllib.closed_form import closed_form
from colllib.cost import Cost
from colllib.primitives import check_ranks, point_to_point
from colllib.schedule import Schedule, Step


def direct(ranks: int, *, source: int = 0, target: int | None = None) -> Schedule:
    """Rank `source` sends its vector to rank `target` (default: the last rank) in one message.

    >>> direct(4)
    Schedule(4 ranks, 1 blocks, 1 steps)
    """
    check_ranks(ranks)
    target = ranks - 1 if target is None else target
    blocks = point_to_point(ranks, source=source, target=target)
    return Schedule.from_steps(blocks, [] if source == target else [Step.of(source, target, 0)])


@closed_form("1", "1")
def direct_cost(ranks: int) -> Cost:
    """Closed form of `direct` between two different ranks on one full-duplex port per rank.

    >>> direct_cost(4)
    Cost(n_alpha=1, n_beta=1)
    """

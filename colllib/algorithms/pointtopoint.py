"""Point-to-point: one message."""

from __future__ import annotations

from colllib.closed_form import formulas
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


#: Between two different ranks on one full-duplex port per rank.
direct_cost = formulas("1", "1")

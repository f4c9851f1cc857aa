"""Drawings of who talks to whom, round by round: butterflies and the way of one block."""

from __future__ import annotations

from fractions import Fraction

from colllib.execution import execute
from colllib.schedule import Schedule
from colllib.show.film import Film, amount
from colllib.show.geometry import Box, between, num
from colllib.show.pen import (
    Drawing,
    Pen,
    drawing,
)
from colllib.show.theme import listed

# -- rounds ---------------------------------------------------------------------------------------


def butterfly(schedule: Schedule, *, follow: int = 0, title: str = "") -> Drawing:
    """Ranks as rows, steps as columns: who sends to whom, and how much.

    The thicker a line, the larger the message. What one rank's data touches is drawn in color.

    Args:
        schedule: on up to 16 ranks.
        follow: the rank whose data is followed.
        title: the conclusion.

    >>> from colllib.algorithms import allreduce
    >>> butterfly(allreduce.recursive_doubling(4))
    Messages of 4 ranks in 2 steps. Step 1: 4 messages of M, partners 1 apart; step 2: 4 messages of M, partners 2 \
apart. What rank 0 has reaches 2, 4 ranks.
    """
    film = Film("", execute(schedule))
    n, steps = schedule.ranks, film.steps
    shares = schedule.blocks.share
    reached = [{follow}]
    for t in range(1, steps + 1):
        reached.append(reached[-1] | {move.dst for move in film.moves(t) if move.src in reached[-1]})
    sizes = [
        [Fraction(int(shares.numerators[list(move.blocks)].sum()), shares.denominator) for move in film.moves(t)]
        for t in range(1, steps + 1)
    ]

    def draw(pen: Pen) -> None:
        column = min(110.0, (pen.width - 60) / max(1, steps))
        row = 30.0 if n <= 8 else 22.0
        radius = 5.0
        for rank in range(n):
            pen.line([(0, row * rank), (column * steps, row * rank)], "e")
            pen.text(-20, row * rank, rank, "b")
        for t in range(1, steps + 1):
            x = column * (t - 1)
            pen.text(x + column / 2, -32, f"step {t}" if column > 60 else t, "b")
            largest = max(sizes[t - 1], default=Fraction(0))
            pen.text(x + column / 2, -17, amount(largest), "q")
            for move, size in zip(film.moves(t), sizes[t - 1], strict=True):
                kind = "l on" if move.src in reached[t - 1] else "l"
                start, end = (x + radius, row * move.src), (x + column - radius, row * move.dst)
                pen.put(
                    f'<path class="{kind}" stroke-width="{num(1 + 3.5 * float(size))}" '
                    f'd="M{num(start[0])} {num(start[1])}L{num(end[0])} {num(end[1])}"/>'
                )
        for t in range(steps + 1):
            for rank in range(n):
                kind = "dot on" if rank in reached[t] else "dot"
                point = (column * t, row * rank)
                pen.put(
                    f'<circle class="{kind}" cx="{num(point[0])}" cy="{num(point[1])}" r="{radius}"/>',
                    Box(*point, 10, 10),
                )

    told = []
    for t in range(1, steps + 1):
        apart = sorted({min((move.dst - move.src) % n, (move.src - move.dst) % n) for move in film.moves(t)})
        told.append(
            f"step {t}: {len(film.moves(t))} messages of {' or '.join(map(amount, sorted(set(sizes[t - 1]))))}, "
            f"partners {listed(apart)} apart"
        )
    said = "; ".join(told)
    alt = (
        f"Messages of {n} ranks in {steps} steps. {said[:1].upper()}{said[1:]}. What rank {follow} has reaches "
        f"{listed(len(ranks) for ranks in reached[1:])} ranks."
    )
    return drawing(draw, title=title, alt=alt, legend=[("dot on", f"what rank {follow} has got to by then")])


def walk(schedule: Schedule, *, block: int = 0, title: str = "") -> Drawing:
    """How one block of an all-gather gets around: the distance from its owner to the right, step after step downwards.

    In an algorithm that treats all ranks alike every other block takes the same way from its own rank.
    The last column says how many blocks a message has in each step.

    Args:
        schedule: in which the block comes from one rank.
        block: which.
        title: the conclusion.

    Raises:
        ValueError: for a block that several ranks contribute to.

    >>> from colllib.algorithms import allgather
    >>> walk(allgather.bruck(6))
    The way of block 0 of rank 0 to 6 ranks in 3 steps. Step 1: 0 to 1; step 2: 0 to 2, 1 to 3; step 3: 0 to 4, 1 to \
5. Blocks in a message: 1, 2, 2.
    """
    film = Film("", execute(schedule))
    if film.need(block) > 1:
        raise ValueError(f"block {block} is summed over {film.need(block)} ranks: a walk starts at one")
    n, owner = schedule.ranks, film.sources[block][0]
    hops = [[(move.src, move.dst) for move in film.moves(t) if block in move.blocks] for t in range(1, film.steps + 1)]
    up = sum((dst - owner) % n for step in hops[:1] for _, dst in step)
    down = sum((owner - dst) % n for step in hops[:1] for _, dst in step)
    way = 1 if up <= down else -1
    ways = [[(way * (a - owner) % n, way * (b - owner) % n) for a, b in step] for step in hops]
    sizes = [max((len(move.blocks) for move in film.moves(t)), default=0) for t in range(1, film.steps + 1)]

    def draw(pen: Pen) -> None:
        column = min(64.0, (pen.width - 96) / n)
        row, radius = (40.0 if film.steps <= 8 else 26.0), 5.0
        since = {0: 0}
        pen.text(-30, -20, "distance", "q", "start") if pen.wide else None
        for at in range(n):
            pen.text(column * at + 60, -20, at, "b")
        for t, step in enumerate(ways, 1):
            pen.text(0, row * (t - 0.5), f"step {t}", "", "start")
            pen.text(column * (n - 1) + 76, row * (t - 0.5), f"× {sizes[t - 1]}", "q", "start")
            for _, b in step:
                since.setdefault(b, t)
        for at, t in since.items():
            pen.line([(column * at + 60, row * t), (column * at + 60, row * film.steps)], "l on")
        for t, step in enumerate(ways, 1):
            for a, b in step:
                start, end = (
                    Box(column * a + 60, row * (t - 1), 10, 10, True),
                    Box(column * b + 60, row * t, 10, 10, True),
                )
                pen.arrow(between(start, end), "add", index=0)
        for at, t in since.items():
            pen.put(
                f'<circle class="dot on" cx="{num(column * at + 60)}" cy="{num(row * t)}" r="{radius}"/>',
                Box(column * at + 60, row * t, 10, 10),
            )

    told = "; ".join(
        f"step {t}: {listed(f'{a} to {b}' for a, b in sorted(step)) or 'nothing'}" for t, step in enumerate(ways, 1)
    )
    alt = (
        f"The way of block {block} of rank {owner} to {n} ranks in {film.steps} steps. {told[:1].upper()}{told[1:]}. "
        f"Blocks in a message: {listed(sizes)}."
    )
    return drawing(
        draw,
        title=title,
        alt=alt,
        legend=[("dot on", "rank at this distance has the block"), ("×", "blocks a message")],
    )

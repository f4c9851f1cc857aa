"""Drawings of who talks to whom, round by round: butterflies and the route of one block."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import product

from colllib import units
from colllib.execution import execute
from colllib.schedule import Schedule
from colllib.show.film import Film, amount
from colllib.show.geometry import Box, between, num
from colllib.show.pen import RADIUS, Drawing, Pen, drawing
from colllib.show.theme import listed


def butterfly(schedule: Schedule, *, title: str = "") -> Drawing:
    """Up to 16 ranks as rows, steps as columns: who sends to whom, and how much, below the conclusion as a title.

    The thicker a line, the larger the message. What rank 0's data touches is drawn in color.

    >>> from colllib.algorithms import allreduce
    >>> butterfly(allreduce.recursive_doubling(4))
    Messages of 4 ranks in 2 steps. Step 1: 4 messages of M, partners 1 apart; step 2: 4 messages of M, partners 2 \
apart. What rank 0 has reaches 2, 4 ranks.
    """
    film = Film("", execute(schedule))
    n, steps = schedule.ranks, film.steps
    reached = [{0}]
    for messages in film.messages[1:]:
        reached.append(reached[-1] | {message.dst for message in messages if message.src in reached[-1]})
    sizes = [[film.share(message.blocks) for message in messages] for messages in film.messages]

    def draw(pen: Pen) -> None:
        column = min(110.0, (pen.width - 60) / max(1, steps))
        row = 30.0 if n <= 8 else 22.0
        for rank in range(n):
            pen.line([(0, row * rank), (column * steps, row * rank)], "e")
            pen.text(-20, row * rank, rank, "b")
        for t in range(1, steps + 1):
            x = column * (t - 1)
            pen.text(x + column / 2, -32, f"step {t}" if column > 60 else t, "b")
            pen.text(x + column / 2, -17, amount(max(sizes[t], default=Fraction(0))), "q")
            for message, size in zip(film.messages[t], sizes[t], strict=True):
                kind = "l on" if message.src in reached[t - 1] else "l"
                ends = (x + RADIUS, row * message.src), (x + column - RADIUS, row * message.dst)
                pen.line(ends, kind, f' stroke-width="{num(1 + 3.5 * float(size))}"')
        for t, rank in product(range(steps + 1), range(n)):
            pen.dot(column * t, row * rank, "dot on" if rank in reached[t] else "dot")

    summaries = "; ".join(_summary(film, t, sizes[t]) for t in range(1, steps + 1))
    alt = (
        f"Messages of {n} ranks in {steps} steps. {summaries[:1].upper()}{summaries[1:]}. What rank 0 has reaches "
        f"{listed(len(ranks) for ranks in reached[1:])} ranks."
    )
    return drawing(draw, title=title, alt=alt, legend=[("dot on", "what rank 0 has got to by then")])


def _summary(film: Film, t: int, sizes: Sequence[Fraction]) -> str:
    n, messages = film.schedule.ranks, film.messages[t]
    apart = sorted({min((one.dst - one.src) % n, (one.src - one.dst) % n) for one in messages})
    large = " or ".join(map(amount, sorted(set(sizes))))
    return f"step {t}: {units.several(len(messages), 'message')} of {large}, partners {listed(apart)} apart"


def walk(schedule: Schedule, *, block: int = 0, title: str = "") -> Drawing:
    """How one block of an all-gather gets around: the distance from its owner to the right, step after step downwards.

    In an algorithm that treats all ranks alike every other block takes the same route from its own rank.
    The last column says how many blocks a message has in each step, where it is ever more than one.

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
    hops = _hops(film, block, owner)
    sizes = [max((len(message.blocks) for message in messages), default=0) for messages in film.messages[1:]]
    since = {0: 0} | {b: t for t, step in reversed(list(enumerate(hops, 1))) for _, b in step}

    def draw(pen: Pen) -> None:
        column, row = min(64.0, (pen.width - 96) / n), 40.0 if film.steps <= 8 else 26.0
        x = [column * distance + 60 for distance in range(n)]
        pen.text(*((-30, -20) if pen.wide else (0, -36)), "distance", "q", "start")
        for distance, place in enumerate(x):
            pen.text(place, -20, distance, "b")
        for t, size in enumerate(sizes, 1):
            pen.text(0, row * (t - 0.5), f"step {t}", "", "start")
            if max(sizes) > 1:
                pen.text(x[-1] + 16, row * (t - 0.5), f"× {size}", "q", "start")
        for distance, t in since.items():
            pen.line([(x[distance], row * t), (x[distance], row * film.steps)], "l on")
        for t, step in enumerate(hops, 1):
            for a, b in step:
                start, end = Box(x[a], row * (t - 1), 10, 10, True), Box(x[b], row * t, 10, 10, True)
                pen.arrow(between(start, end), "add", index=0)
        for distance, t in since.items():
            pen.dot(x[distance], row * t, "dot on")

    described = "; ".join(
        f"step {t}: {listed(f'{a} to {b}' for a, b in sorted(step)) or 'nothing'}" for t, step in enumerate(hops, 1)
    )
    alt = (
        f"The way of block {block} of rank {owner} to {n} ranks in {film.steps} steps. "
        f"{described[:1].upper()}{described[1:]}. Blocks in a message: {listed(sizes)}."
    )
    legend = [("dot on", "rank at this distance has the block"), *[("×", "blocks a message")] * (max(sizes) > 1)]
    return drawing(draw, title=title, alt=alt, legend=legend)


def _hops(film: Film, block: int, owner: int) -> list[list[tuple[int, int]]]:
    """For each step the hops of a block, from and to which distance from its owner, in the direction it starts in."""
    n = film.schedule.ranks
    hops = [[(one.src, one.dst) for one in messages if block in one.blocks] for messages in film.messages[1:]]
    up = sum((dst - owner) % n for step in hops[:1] for _, dst in step)
    down = sum((owner - dst) % n for step in hops[:1] for _, dst in step)
    sign = 1 if up <= down else -1
    return [[(sign * (src - owner) % n, sign * (dst - owner) % n) for src, dst in step] for step in hops]

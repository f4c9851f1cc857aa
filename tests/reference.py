"""An interpreter of schedules that shares no code with the executor: dicts and Counters, a message at a time.

It is the second count that every result of the executor is held against.
"""

from collections import Counter, defaultdict
from fractions import Fraction


def messages(schedule):
    """Each step as a list of (src, dst, block, add)."""
    for t in range(schedule.num_steps):
        step = schedule.step(t)
        yield list(zip(map(int, step.src), map(int, step.dst), map(int, step.block), map(bool, step.add), strict=True))


def initial(schedule):
    """(rank, block) -> Counter of contributing ranks, before the first step."""
    state = {}
    for block, who in enumerate(schedule.blocks.source):
        for rank in schedule.blocks.holders(int(who)):
            state[int(rank), block] = Counter([int(rank)])
    return state


def states(schedule):
    """The state before the first and after every step."""
    state = initial(schedule)
    yield dict(state)
    for step in messages(schedule):
        sent = [(dst, block, add, state[src, block]) for src, dst, block, add in step]
        for dst, block, add, value in sent:
            state[dst, block] = state[dst, block] + value if add and (dst, block) in state else value
        yield dict(state)


def holds(schedule):
    """Whether every target ends with each contribution exactly once and no other."""
    *_, final = states(schedule)
    for block, who in enumerate(schedule.blocks.target):
        source = schedule.blocks.holders(int(schedule.blocks.source[block]))
        wanted = Counter(int(rank) for rank in source)
        if any(final.get((int(rank), block)) != wanted for rank in schedule.blocks.holders(int(who))):
            return False
    return True


def star_cost(schedule):
    """(n_alpha, n_beta) on a star with one full-duplex port per rank, lock-step."""
    n_alpha, n_beta = 0, Fraction(0)
    shares = list(schedule.blocks.share)
    for step in messages(schedule):
        port = defaultdict(Fraction)
        for src, dst, block, _ in step:
            port["out", src] += shares[block]
            port["in", dst] += shares[block]
        n_alpha += bool(step)
        n_beta += max(port.values(), default=Fraction(0))
    return n_alpha, n_beta


def traffic(schedule):
    """What each rank sent and received, as shares of M."""
    sent, received = Counter(), Counter()
    shares = list(schedule.blocks.share)
    for step in messages(schedule):
        for src, dst, block, _ in step:
            sent[src] += shares[block]
            received[dst] += shares[block]
    return sent, received


def busiest_ports(schedule):
    """The most partners that a rank sends to, and receives from, in one step."""
    most = [0, 0]
    for step in messages(schedule):
        pairs = {(src, dst) for src, dst, _, _ in step}
        for side in (0, 1):
            most[side] = max([most[side], *Counter(pair[side] for pair in pairs).values()])
    return tuple(most)


def values(schedule, vectors):
    """The final numbers of each rank: block b of rank r starts as vectors[r][b]."""
    state = {(rank, block): vectors[rank][block] for rank, block in initial(schedule)}
    for step in messages(schedule):
        sent = [(dst, block, add, state[src, block]) for src, dst, block, add in step]
        for dst, block, add, value in sent:
            state[dst, block] = state[dst, block] + value if add and (dst, block) in state else value
    return state

"""A third interpreter, for runs of millions of messages: random numbers that add up, in arrays, a step at a time.

It shares no code with the executor, and only the topology's router with it.
"""

import numpy as np

CELLS = 2**24  # of the array that has a number for each node and block


def holds(schedule, seed=0):
    """Whether every target ends with each contribution exactly once.

    Every contribution is a number of 64 bits, and sums wrap around, so that a wrong one comes out right once in 2^64.
    Blocks do not touch one another: of more than fit into the array, so many are drawn.
    """
    rng = np.random.default_rng(seed)
    blocks, nodes = schedule.blocks, schedule.ranks + schedule.switches
    drawn = np.sort(rng.permutation(len(blocks))[: max(1, CELLS // nodes)])
    column = np.full(len(blocks), -1)
    column[drawn] = np.arange(len(drawn))
    source, target = (np.array([int(who) for who in side])[drawn] for side in (blocks.source, blocks.target))
    value, has = np.zeros((nodes, len(drawn)), np.uint64), np.zeros((nodes, len(drawn)), bool)
    expected = np.zeros(len(drawn), np.uint64)
    for who in np.unique(source).tolist():
        cells = np.ix_(blocks.holders(who), np.flatnonzero(source == who))
        value[cells] = rng.integers(2**64, size=value[cells].shape, dtype=np.uint64)
        has[cells] = True
        expected[source == who] = value[cells].sum(axis=0)
    for t in range(schedule.num_steps):
        src, dst, block, add = schedule.step(t)
        at, looked_at = column[block], column[block] >= 0
        src, dst, at, add = src[looked_at], dst[looked_at], at[looked_at], add[looked_at]
        if not has[src, at].all():
            return False
        sent = value[src, at]
        value[dst[~add], at[~add]] = sent[~add]
        np.add.at(value, (dst[add], at[add]), sent[add])
        has[dst, at] = True
    return all(
        (value[np.ix_(blocks.holders(who), np.flatnonzero(target == who))] == expected[target == who]).all()
        for who in np.unique(target).tolist()
    )


def seconds(schedule, topology, message, alpha):
    """The lock-step time, for one alpha for all levels and links of their own speed, in floating point."""
    share, speed, part = (
        np.array([float(number) for number in numbers])
        for numbers in (schedule.blocks.share, topology.bandwidth, topology.alpha)
    )
    level = np.array([topology.tiers[int(tier)].level for tier in topology.tier])
    nodes, total, routed = topology.ranks + topology.switches, 0.0, {}
    for t in range(schedule.num_steps):
        src, dst, block, _ = schedule.step(t)
        if not len(src):
            continue
        key = src.tobytes(), dst.tobytes()
        if key not in routed:  # most schedules have few patterns
            pairs, pair = np.unique(src.astype(np.int64) * nodes + dst, return_inverse=True)
            route, link = topology.router(pairs // nodes, pairs % nodes)
            top = np.zeros(len(pairs), int)
            np.maximum.at(top, route, level[link])
            outermost = level[link] == top[route]
            latency = np.bincount(route[outermost], part[link[outermost]]).max()
            if len(routed) > 64:
                routed.clear()
            routed[key] = pair, route, link, latency
        pair, route, link, latency = routed[key]
        load = np.bincount(pair, share[block])
        total += latency * alpha + message * (np.bincount(link, load[route], len(speed)) / speed).max()
    return total

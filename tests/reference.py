"""An interpreter of schedules that shares no code with the executor: dicts and Counters, a message at a time.

It is the second count that every result of the executor is held against.
"""

from collections import Counter, defaultdict
from fractions import Fraction


def messages(schedule):
    """Each step as a list of (src, dst, block, add)."""
    for t in range(schedule.num_steps):
        columns = (column.tolist() for column in schedule.step(t))
        yield list(zip(*columns, strict=True))


def messages_of(schedule):
    """All messages of all steps."""
    return [message for step in messages(schedule) for message in step]


def initial(schedule):
    """(rank, block) -> Counter of contributors, before the first step."""
    state = {}
    for block, who in enumerate(schedule.blocks.source):
        for rank in schedule.blocks.holders(int(who)).tolist():
            state[rank, block] = Counter([rank])
    return state


def states(schedule):
    """The state before the first and after every step."""
    state = initial(schedule)
    yield dict(state)
    for step in messages(schedule):
        sent = [state[src, block] for src, dst, block, add in step]
        for (_, dst, block, add), value in zip(step, sent, strict=True):
            if add and (dst, block) in state:
                value = state[dst, block] + value
            state[dst, block] = value
        yield dict(state)


def holds(schedule):
    """Whether every target ends with each contribution exactly once."""
    blocks = schedule.blocks
    *_, final = states(schedule)
    for block in range(len(blocks)):
        expected = Counter(blocks.holders(int(blocks.source[block])).tolist())
        for rank in blocks.holders(int(blocks.target[block])).tolist():
            if final.get((rank, block)) != expected:
                return False
    return True


def star_cost(schedule):
    """(n_alpha, n_beta) on a star of full-duplex ports, lock-step."""
    n_alpha, n_beta = 0, Fraction(0)
    for step in messages(schedule):
        port = defaultdict(Fraction)
        for src, dst, block, _ in step:
            port["out", src] += schedule.blocks.share[block]
            port["in", dst] += schedule.blocks.share[block]
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


def routes(topology, pairs):
    """The links of each route, asked for one at a time, as {pair: [link, ...]}."""
    import numpy as np

    paths = {}
    for src, dst in pairs:
        message, link = topology.router(np.array([src]), np.array([dst]))
        assert set(message.tolist()) <= {0}
        paths[src, dst] = link.tolist()
    return paths


def route_latency(topology, links, alpha):
    """A route's latency: the parts of alpha of its links of the outermost level, times that level's alpha."""
    levels = [topology.tiers[int(topology.tier[link])].level for link in links]
    top = max(levels, default=0)
    return (
        sum((topology.alpha[int(k)] for k, at in zip(links, levels, strict=True) if at == top), Fraction(0))
        * alpha[top]
    )


def tiered_time(schedule, topology, message, alpha, bandwidth):
    """The lock-step time on any topology, by dictionaries of fractions: one alpha and one BW for each level."""
    shares = list(schedule.blocks.share)
    total = Fraction(0)
    for step in messages(schedule):
        pairs = {(src, dst) for src, dst, _, _ in step}
        route = routes(topology, pairs)
        longest = max((route_latency(topology, route[pair], alpha) for pair in pairs), default=Fraction(0))
        load = defaultdict(Fraction)
        for src, dst, block, _ in step:
            for link in route[src, dst]:
                load[link] += shares[block]
        busiest = Fraction(0)
        for link, share in load.items():
            tier = topology.tiers[int(topology.tier[link])]
            busiest = max(busiest, share * message / (tier.bandwidth * bandwidth[tier.level]))
        total += longest + busiest
    return total


def event_times(schedule, topology, message, alpha, bandwidth, processor=None, late=None, slow=None):
    """When each message is ready, starts and arrives on the event clock, by scanning for what is next.

    As {(step, src, dst): (ready, start, arrival)}.
    """
    late, slow = late or {}, slow or {}
    shares = list(schedule.blocks.share)
    bundles = {}
    for t, step in enumerate(messages(schedule)):
        for src, dst, block, add in step:
            bundles.setdefault((t, src, dst), []).append((block, add))
    flows = sorted(bundles)
    order = {f: i for i, f in enumerate(flows)}
    written = defaultdict(lambda: defaultdict(list))  # of each cell: by step, the messages that write it
    for f in flows:
        for block, add in bundles[f]:
            written[f[2], block][f[0]].append((f, add))

    # a message needs what its sender's cells were last written by; an addition is there with the older ones
    def writers(node, block, before):
        """The messages whose arrival makes the value that the cell holds before a step."""
        needed = []
        for t in sorted((t for t in written[node, block] if t < before), reverse=True):
            arriving = written[node, block][t]
            needed += [f for f, _ in arriving]
            if not all(add for _, add in arriving):
                break
        return needed

    waits = {f: {g for block, _ in bundles[f] for g in writers(f[1], block, f[0])} for f in flows}
    route = routes(topology, {f[1:] for f in flows})
    tier = {link: topology.tiers[int(topology.tier[link])] for links in route.values() for link in links}
    cables = {link: [Fraction(0)] * tier[link].cables for link in tier}
    overhead, gap = (Fraction(time) for time in (processor.overhead, processor.gap)) if processor else (0, 0)
    busy, next_sent, next_received = (defaultdict(Fraction) for _ in range(3))
    at, tail, hop, ready, start, done = {}, {}, {}, {}, {}, {}

    def wire(f, link):
        """How long a message is on a link: with a processor the first of its bytes takes no time."""
        size = sum(shares[block] for block, _ in bundles[f]) * message
        size = max(size - 1, 0) if processor else size
        return size * slow.get(f[1:], 1) * tier[link].cables / (tier[link].bandwidth * bandwidth[tier[link].level])

    def when(f):
        """When a message goes on: it is sent before its first link and received after its last."""
        if hop[f] < 0:
            return max(at[f], busy[f[1]], next_sent[f[1]])
        if hop[f] < len(route[f[1:]]):
            return at[f]
        return max(at[f], busy[f[2]], next_received[f[2]] + wire(f, route[f[1:]][-1]))

    while len(done) < len(flows):
        for f in flows:
            if f not in at and waits[f] <= done.keys():
                ready[f] = at[f] = max([done[g] for g in waits[f]] + [Fraction(late.get(f[1], 0))])
                tail[f], hop[f] = Fraction(0), -1 if processor else 0
        # the earliest request is served first, ties in schedule order
        now, _, f = min((when(g), order[g], g) for g in at if g not in done)
        links = route[f[1:]]
        if hop[f] < 0:
            at[f] = busy[f[1]] = now + overhead
            next_sent[f[1]] = now + wire(f, links[0]) + gap
            hop[f] = 0
            continue
        if hop[f] == len(links):
            done[f] = busy[f[2]] = now + overhead
            next_received[f[2]] = now + gap
            continue
        link = links[hop[f]]
        free = min(cables[link])
        begin = max(now, free)
        start.setdefault(f, begin)
        tail[f] = max(begin + wire(f, link), tail[f])
        cables[link][cables[link].index(free)] = tail[f]
        top = max(tier[k].level for k in links)
        later = topology.alpha[int(link)] * alpha[top] if tier[link].level == top else Fraction(0)
        tail[f] += later
        hop[f] += 1
        at[f] = begin + later if hop[f] < len(links) else tail[f]
        if hop[f] == len(links) and not processor:
            done[f] = tail[f]
    return {f: (ready[f], start[f], done[f]) for f in flows}

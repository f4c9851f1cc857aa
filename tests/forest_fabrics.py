"""Fabrics for the tests of forests: the examples of the literature and random ones, and counts that share no code."""

from fractions import Fraction
from itertools import combinations, pairwise

import networkx as nx
from hypothesis import strategies as st

from colllib.topology import from_links


def two_boxes(wide=10, ranks=4):
    """Two boxes with a switch of `wide` per rank in each, and one switch of 1 per rank between them."""
    box = [(rank, 2 * ranks + rank // ranks) for rank in range(2 * ranks)]
    between = [(rank, 2 * ranks + 2) for rank in range(2 * ranks)]
    links = [pair for a, b in box + between for pair in ((a, b), (b, a))]
    speeds = [wide] * (2 * len(box)) + [1] * (2 * len(between))
    return from_links("two boxes", 2 * ranks, links, switches=3, bandwidth=speeds, alpha=[Fraction(1, 2)] * len(links))


def from_speeds(ranks, nodes, speeds):
    """A topology from a dict of link bandwidths."""
    links = sorted(speeds)
    return from_links(
        "random",
        ranks,
        links,
        switches=nodes - ranks,
        bandwidth=[speeds[link] for link in links],
        alpha=[1] * len(links),
    )


@st.composite
def balanced(draw, most_ranks=4, most_switches=2):
    """Closed walks of some width each: every node sends as much as it receives. The first one joins all nodes."""
    ranks, switches = draw(st.integers(2, most_ranks)), draw(st.integers(0, most_switches))
    nodes = ranks + switches
    walks = [draw(st.permutations(range(nodes)))]
    walks += draw(st.lists(st.lists(st.integers(0, nodes - 1), min_size=2, max_size=nodes, unique=True), max_size=5))
    speeds: dict[tuple[int, int], int] = {}
    for walk in walks:
        wide = draw(st.integers(1, 4))
        for link in pairwise([*walk, walk[0]]):
            speeds[link] = speeds.get(link, 0) + wide
    return from_speeds(ranks, nodes, speeds)


@st.composite
def unbalanced(draw, most_ranks=5):
    """Ranks alone, joined in a ring and by other links of any widths."""
    ranks = draw(st.integers(2, most_ranks))
    order = draw(st.permutations(range(ranks)))
    pairs = [(a, b) for a in range(ranks) for b in range(ranks) if a != b]
    links = {*pairwise([*order, order[0]]), *draw(st.sets(st.sampled_from(pairs)))}
    return from_speeds(ranks, ranks, {link: draw(st.integers(1, 5)) for link in sorted(links)})


def speeds_of(topology):
    """The bandwidth of each link, in GB/s where the topology has speeds."""
    speeds = {}
    for a, b, tier in zip(topology.link_src.tolist(), topology.link_dst.tolist(), topology.tier.tolist(), strict=True):
        level = topology.tiers[tier].level
        unit = Fraction(topology.speeds[1][level]) / 10**9 if topology.speeds else 1
        speeds[a, b] = topology.tiers[tier].bandwidth * unit
    return speeds


def worst_cut(topology, weights):
    """The largest ratio of what must leave a set to what can, by plain sets."""
    speeds, nodes, best = speeds_of(topology), range(topology.nodes), Fraction(0)
    for size in range(1, topology.nodes):
        for inside in map(set, combinations(nodes, size)):
            if not set(range(topology.ranks)) <= inside:
                leaving = sum(speed for (a, b), speed in speeds.items() if a in inside and b not in inside)
                best = max(best, Fraction(sum(weights[rank] for rank in inside if rank < topology.ranks)) / leaving)
    return best


def every_rank_can_receive(topology, weights, inverse):
    """Whether at 1/x all that is sent can reach every rank, by the flows of networkx."""
    graph = nx.DiGraph()
    for (a, b), speed in speeds_of(topology).items():
        graph.add_edge(a, b, capacity=speed * inverse)
    for rank, weight in enumerate(weights):
        graph.add_edge("source", rank, capacity=Fraction(weight))
    return all(nx.maximum_flow_value(graph, "source", rank) == sum(weights) for rank in range(topology.ranks))


def check_trees(packing):
    """Every tree spans the ranks, every root has its number, and no link carries more trees than fit on it."""
    topology, limit = packing.fabric.topology, packing.bound
    started, carried = dict.fromkeys(range(topology.ranks), 0), dict.fromkeys(speeds_of(topology), 0)
    for tree in packing.trees:
        started[tree.root] += tree.size
        graph = nx.DiGraph(tree.edges)
        graph.add_node(tree.root)
        assert sorted(graph) == list(range(topology.ranks))
        assert nx.is_arborescence(graph)
        assert topology.ranks == 1 or graph.in_degree(tree.root) == 0
        for (start, end), path in zip(tree.edges, tree.paths, strict=True):
            assert (path[0], path[-1]) == (start, end)
            assert all(node >= topology.ranks for node in path[1:-1])
            for link in pairwise(path):
                carried[link if packing.primitive not in ("reduce", "reduce-scatter") else link[::-1]] += tree.size
    assert list(started.values()) == [limit.trees * int(weight) for weight in packing.fabric.weight]
    assert all(carried[link] <= limit.unit * speed for link, speed in speeds_of(topology).items())

"""Answers on leaves, spines, rails and fat-trees: switches, ports, cables and routes, counted on topologies."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np

from colllib.claims.cases import once, per
from colllib.claims.runs import place, run
from colllib.claims.tiers import BY_BOXES
from colllib.claims.value import Cases, Table
from colllib.cost import Cost
from colllib.topology import Topology, from_links
from colllib.topology.describe import switches, wires
from colllib.topology.latency import HALVES

POD = "superpod:32"


def _route(topology: Topology, src: int, dst: int) -> list[str]:
    """The tiers of the links that a message takes, in no order."""
    _, links = topology.router(np.array([src]), np.array([dst]))
    return [topology.tiers[int(topology.tier[link])].name for link in links]


def longest_route(on: str) -> int:
    """The most links between rank 0 and another rank."""
    topology = place(on)
    rest = np.arange(1, topology.ranks)
    return int(np.bincount(topology.router(np.zeros_like(rest), rest)[0]).max())


def _small_clos() -> Cases:
    topology = place("leaf-spine:4x4x2")
    leaf, spine = switches(topology)
    case = {"s": Fraction(leaf.ports["port"], leaf.ports["uplink"]), "links": wires(topology)[1].cables}
    yield {"at": topology.name, **case, "of_a_spine": spine.ports["uplink"]}


def _sent(rank: int, on: str = "leaf-spine:4x4x2") -> Cost:
    """What one message from rank 0 costs."""
    return run("point-to-point direct", on, target=rank).cost


def _oversubscribed() -> Cases:
    """All ranks of each leaf send to the next leaf, spread over the spines: the step of a pairwise exchange."""
    for hosts, spines, wide in ((4, 2, 1), (4, 4, 1), (8, 2, 1), (8, 2, 2), (6, 2, Fraction(3, 2))):
        on = f"leaf-spine:3x{hosts}x{spines},routing=spread" + f",uplink={wide}" * (wide != 1)
        done = run(BY_BOXES, on)
        step = done.cost_of(range(hosts - 1, hosts)).n_beta * 3 * hosts
        yield {"at": on, "down": hosts, "up": spines, "bw_down": 1, "bw_up": wide, "s": max(step, Fraction(1))}


def _gap() -> Cases:
    """One message of 1 TB in and between racks, without latency."""
    inside, outside = (
        _sent(rank, "boxes:2x72").seconds(message=1, alpha=(0, 0), bandwidth=(0.9, 0.05)) for rank in (1, 72)
    )
    yield {"at": "boxes:2x72", "gap": outside / inside}


def _across_rails() -> Cases:
    """From a GPU over its sibling on the right rail to one of another rack, which does or does not share the leaf."""
    topology = place(POD)
    for rack, name in ((1, "racks that share a leaf"), (4, "racks that do not")):
        sibling, there = _route(topology, 0, 1), _route(topology, 1, 72 * rack + 1)
        yield {"at": name, "nvlink": sibling.count("box") // 2, "ib": len(there)}


def _leaves() -> Cases:
    for racks in (4, 8, 32):
        rails, local = (
            next(alike.number for alike in switches(place(on)) if "card" in alike.ports)
            for on in (f"superpod:{racks}", f"boxes:{racks}x72")
        )
        yield {"at": f"L = {racks}", "L": racks, "rails": rails, "times": Fraction(rails, local)}


def _edges_of_a_ring() -> Cases:
    topology = place("superpod:8")
    edges = Counter(len(_route(topology, 72 * rack, 72 * ((rack + 1) % 8))) for rack in range(8))
    yield {"at": topology.name, "same_leaf": edges[2], "across": edges[4]}


def _classes_of_peers() -> Cases:
    """Cross-rack peers by the network links behind the sibling that is on their rail."""
    topology = place("superpod:8")
    links = Counter(0 if peer < 72 else len(_route(topology, peer % 72, peer)) for peer in range(1, topology.ranks))
    yield {"at": topology.name, "n": 72, "p": 4, "L": 8, "inside": links[0], "same_leaf": links[2], "across": links[4]}


def _pod() -> Cases:
    """Every port and cable of 32 racks on four rails, of leaves and spines with 144 ports, and of a leaf a rack."""
    topology = place(POD)
    rack, leaf, spine = switches(topology, radix=144)
    (pod_leaf,) = (alike for alike in switches(place("boxes:32x72")) if "card" in alike.ports)
    spines, leaves, near = spine.chassis, leaf.number, _ranks_of_a_leaf(topology)
    yield {
        "at": POD,
        "N": topology.ranks,
        "L": rack.number,
        "ports": pod_leaf.ports["card"] + pod_leaf.ports["uplink"],
        "racks_of_a_leaf": len({rank // 72 for rank in near}),
        "cards_of_a_rack": sum(rank < 72 for rank in near),
        "members": leaf.ports["card"] * leaves // 4,
        "leaves": leaves,
        "spines": spines,
        "cables_of_a_pair": leaf.ports["uplink"] // (spines // 4),
        "ports_of_a_spine": spine.ports["uplink"] // (spines // 4),
        "cables": wires(topology)[2].cables // 4,
    }


def _ranks_of_a_leaf(topology: Topology) -> list[int]:
    """The ranks whose cards lead to the leaf of rank 0."""
    card = [tier.name for tier in topology.tiers].index("card")
    up = np.flatnonzero((topology.tier == card) & (topology.link_src < topology.ranks))
    leaf = topology.link_dst[up][topology.link_src[up] == 0]
    return [int(rank) for rank in topology.link_src[up][topology.link_dst[up] == leaf]]


# -- fat-trees ---------------------------------------------------------------------------------------------


def _fat_trees() -> Cases:
    for k in (4, 48, 64):
        topology = place(f"fat-tree:{k}")
        edge, aggregation, core = switches(topology)
        pods = core.ports["uplink 2"]  # a core has a port to each pod
        numbers = {"edges": edge.number, "aggregations": aggregation.number, "cores": core.number}
        ports = {"hosts_of_an_edge": edge.ports["port"], "edge_up": edge.ports["uplink"], "core_up": k - pods}
        sizes = {"hosts": topology.ranks, "switches": topology.switches}
        yield {"at": topology.name, "k": k, "pods": pods, **numbers, **ports, **sizes}


def _leiserson() -> Cases:
    """The figure: a host on each of four edge switches, links of 1, 2 and 4 BW towards the root."""
    ups = [(0, 4), (1, 5), (2, 6), (3, 7), (4, 8), (5, 8), (6, 9), (7, 9), (8, 10), (9, 10)]
    width = [1] * 4 + [2] * 4 + [4] * 2
    tree = place(
        from_links(
            "the figure's tree",
            4,
            ups + [(b, a) for a, b in ups],
            switches=7,
            latency=HALVES,
            bandwidth=width * 2,
            port_model="one full-duplex port per host",
        )
    )
    total = Counter[str]()
    for src, dst, speed in zip(tree.link_src.tolist(), tree.link_dst.tolist(), tree.bandwidth, strict=True):
        if src < dst:
            total["hosts" if src < 4 else "edge" if src < 8 else "root"] += int(speed)
    yield {"at": tree.name, **total}


def equal_paths(k: int) -> int:
    """Shortest paths between hosts of two pods."""
    import networkx as nx  # slow to import, and needed here alone

    topology = place(f"fat-tree:{k}")
    return sum(1 for _ in nx.all_shortest_paths(topology.to_networkx(), 0, topology.ranks - 1))


TABLE: Table = {
    "E-03-001": _small_clos,
    "E-03-002": once("leaf-spine:4x4x2", ratio=lambda: _sent(4).n_alpha / Fraction(_sent(1).n_alpha)),
    "E-03-003": _oversubscribed,
    "E-03-007": _gap,
    "E-03-010": _across_rails,
    "E-03-012": _leaves,
    "E-03-014": _edges_of_a_ring,
    "E-03-043 E-03-044 E-03-045": _classes_of_peers,
    " ".join(f"E-03-{number:03}" for number in (8, 9, 76, 77, 78, 79, 80, 81, 82, 83, 84, 85)): _pod,
    " ".join(f"E-03-{number:03}" for number in range(86, 96)): _fat_trees,
    "E-03-096": _leiserson,
    "E-03-005": once(
        "leaf-spine and fat-tree",
        two=lambda: longest_route("leaf-spine:4x4x2"),
        three=lambda: longest_route("fat-tree:4"),
    ),
    "E-03-097": per("k", (4, 6, 8), paths=equal_paths),
    "E-03-099": once("fat-tree:144", hosts_of_144=lambda: place("fat-tree:144").ranks),
}

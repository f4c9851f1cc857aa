"""Answers on leaves, spines, rails and fat-trees: switches, ports, cables and routes, counted on topologies."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np

from colllib.claims.cases import once, per
from colllib.claims.runs import place, run
from colllib.claims.tiers import BY_BOXES
from colllib.claims.value import Case, Cases, Table
from colllib.topology import Topology, from_links
from colllib.topology.describe import Switches, switches, wires
from colllib.topology.latency import HALVES

POD = "superpod:32"


def _route(topology: Topology, src: int, dst: int) -> list[str]:
    """The tiers of the links that a message takes, in no order."""
    _, links = topology.router(np.array([src]), np.array([dst]))
    return [topology.tiers[int(topology.tier[link])].name for link in links]


def _leaf(on: str) -> Switches:
    """The switches that cards lead to."""
    return next(alike for alike in switches(place(on)) if "card" in alike.ports)


def _small_clos() -> Cases:
    topology = place("leaf-spine:4x4x2")
    leaf, _ = switches(topology)
    case = {"s": Fraction(leaf.ports["port"], leaf.ports["uplink"]), "links": wires(topology)[1].cables}
    yield {"at": topology.name, **case}


def _oversubscribed() -> Cases:
    """All ranks of each leaf send to the next leaf, spread over the spines: the step of a pairwise exchange."""
    for hosts, spines, wide in ((4, 2, 1), (4, 4, 1), (8, 2, 1), (8, 2, 2), (6, 2, Fraction(3, 2))):
        on = f"leaf-spine:3x{hosts}x{spines},routing=spread" + f",uplink={wide}" * (wide != 1)
        step = run(BY_BOXES, on).cost_of(range(hosts - 1, hosts)).n_beta * 3 * hosts
        yield {"at": on, "down": hosts, "up": spines, "bw_down": 1, "bw_up": wide, "s": max(step, Fraction(1))}


def _gap() -> float:
    """One message of 1 TB between racks over one in a rack, without latency."""
    inside, outside = (
        run("point-to-point direct", "boxes:2x72", target=rank).cost.seconds(
            message=1, alpha=(0, 0), bandwidth=(0.9, 0.05)
        )
        for rank in (1, 72)
    )
    return outside / inside


def _across_rails() -> Cases:
    """From a GPU over its sibling on the right rail to one of another rack, which does or does not share the leaf."""
    sibling = _route(place(POD), 0, 1)
    for rack, name in ((1, "racks that share a leaf"), (4, "racks that do not")):
        yield {"at": name, "nvlink": sibling.count("box") // 2, "ib": len(_route(place(POD), 1, 72 * rack + 1))}


def _leaves(racks: int) -> Case:
    rails = _leaf(f"superpod:{racks}").number
    return {"rails": rails, "times": Fraction(rails, _leaf(f"boxes:{racks}x72").number)}


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
    cards = np.flatnonzero((topology.tier == 1) & (topology.link_src < topology.ranks))
    above = topology.link_dst[cards][np.argsort(topology.link_src[cards])]
    near = np.flatnonzero(above == above[0]) // 72  # the racks of the cards that lead to the leaf of rank 0
    yield {
        "at": POD,
        "N": topology.ranks,
        "L": rack.number,
        "ports": sum(_leaf("boxes:32x72").ports.values()),
        "racks_of_a_leaf": len(np.unique(near)),
        "cards_of_a_rack": int((near == 0).sum()),
        "members": leaf.ports["card"] * leaf.number // 4,
        "leaves": leaf.number,
        "spines": spine.chassis,
        "cables_of_a_pair": leaf.ports["uplink"] // (spine.chassis // 4),
        "ports_of_a_spine": spine.ports["uplink"] // (spine.chassis // 4),
        "cables": wires(topology)[2].cables // 4,
    }


# -- fat-trees ---------------------------------------------------------------------------------------------


def _fat_tree(k: int) -> Case:
    topology = place(f"fat-tree:{k}")
    edge, aggregation, core = switches(topology)
    pods = core.ports["uplink 2"]  # a core has a port to each pod
    numbers = {"edges": edge.number, "aggregations": aggregation.number, "cores": core.number, "pods": pods}
    ports = {"hosts_of_an_edge": edge.ports["port"], "edge_up": edge.ports["uplink"], "core_up": k - pods}
    return {"at": topology.name, "hosts": topology.ranks, "switches": topology.switches, **numbers, **ports}


def _leiserson() -> Cases:
    """The figure: a host on each of four edge switches, links of 1, 2 and 4 BW towards the root."""
    ups = [(0, 4), (1, 5), (2, 6), (3, 7), (4, 8), (5, 8), (6, 9), (7, 9), (8, 10), (9, 10)]
    links, widths = ups + [(b, a) for a, b in ups], ([1] * 4 + [2] * 4 + [4] * 2) * 2
    port = "one full-duplex port per host"
    tree = from_links("the figure's tree", 4, links, switches=7, latency=HALVES, bandwidth=widths, port_model=port)
    tiers = sorted(wires(place(tree)), key=lambda tier: tier.bandwidth)
    hosts, edge, root = (tier.cables * tier.bandwidth for tier in tiers)
    yield {"at": tree.name, "hosts": hosts, "edge": edge, "root": root}


def equal_paths(k: int) -> int:
    """Shortest paths between hosts of two pods."""
    import networkx as nx  # slow to import, and needed here alone

    topology = place(f"fat-tree:{k}")
    return sum(1 for _ in nx.all_shortest_paths(topology.to_networkx(), 0, topology.ranks - 1))


TABLE: Table = {
    "E-03-001": _small_clos,
    "E-03-003": _oversubscribed,
    "E-03-007": once("boxes:2x72", gap=_gap),
    "E-03-010": _across_rails,
    "E-03-012": per("L", (4, 8, 32), _leaves),
    "E-03-014": _edges_of_a_ring,
    "E-03-043 E-03-044 E-03-045": _classes_of_peers,
    " ".join(f"E-03-{number:03}" for number in (8, 9, 76, 77, 78, 79, 80, 81, 82, 83, 84, 85)): _pod,
    " ".join(f"E-03-{number:03}" for number in range(86, 96)): per("k", (4, 48, 64), _fat_tree),
    "E-03-096": _leiserson,
    "E-03-097": per("k", (4, 6, 8), paths=equal_paths),
}

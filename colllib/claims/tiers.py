"""Answers on boxes, on collectives over two and three tiers, and on the leaves, spines and fat-trees between them.

An alpha of a tier is that of a whole route whose highest tier it is, a BW that of a port or card; uplinks have what
the cards below them need, unless they are oversubscribed. Lock-step, in one piece, unless an entry says otherwise.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np

from colllib.algorithms import allreduce
from colllib.algorithms.nested import nested
from colllib.claims.allreduce import HALVING, RING, hierarchical_ring
from colllib.claims.cases import as_quantities, edges, measured, per, per_level, states
from colllib.claims.runs import built, place, run, timed
from colllib.claims.value import Case, Cases, Table
from colllib.cost import Price
from colllib.schedule import Schedule, placed
from colllib.topology import Lattice, Topology, from_links
from colllib.topology.describe import Switches, switches, wires
from colllib.topology.latency import HALVES

RINGS = "all-reduce hierarchical"  # in the boxes, between them, and in the boxes again


def _shorter_rings() -> Cases:
    """Latencies of one flat ring of 144, and of rings on the two tiers of every division, in one alpha."""
    one = run(RING, "star:144").cost.n_alpha
    two = {count: sum(per_level(run(RINGS, f"boxes:{count}x{144 // count}"))) for count in (2, 6, 8, 9, 12, 16, 18, 24)}
    best = min(two, key=lambda count: two[count])
    case = {"flat": one, "nested": two[2], "saved": 100 * float(1 - two[2] / one), "best": best}
    yield {"at": "N = 144", **case, "speed_up": float(one / two[best])}


def _one_of_each_rack(racks: int) -> Schedule:
    return placed(allreduce.ring(racks), [72 * rack for rack in range(racks)], 72 * racks)


def _mixed_ring() -> Cases:
    """Eight racks, four to a leaf: latency of a ring of one GPU a rack, by the step."""
    price: tuple[float, Price, Price] = (1e-9, (0.5, 2.0, 8.0), (1.0, 1.0, 1.0))
    lock_step = built(_one_of_each_rack, 8, on="superpod:8").cost.seconds(message=0, alpha=price[1], bandwidth=price[2])
    event = timed(_one_of_each_rack, 8, on="superpod:8", price=price)
    yield {"at": "superpod:8", "outer": event / 14, "lock_step": lock_step / 14, "leaf": 2.0, "spine": 8.0}


def _butterfly() -> Cases:
    """Eight ranks in two boxes, near partners first."""
    done = run(HALVING, "boxes:2x4")
    rounds = {f"round{k}": edges(done.schedule.step(k)) for k in range(3)}
    crossed = {"crossing": as_quantities(done).leaving, "ring_crossing": measured(RING, "boxes:2x4").leaving}
    yield measured(HALVING, "star:8").case("boxes:2x4", N=8, **rounds, **crossed)


def axis_after_axis(dims: Lattice) -> Schedule:
    """A whole ring all-reduce along every axis, one after another: the text taken literally."""
    return nested(dims, [(axis, allreduce.ring(size)) for axis, size in enumerate(dims.dims)])


# -- leaves, spines, rails and fat-trees: switches, ports and routes ------------------------------------------

POD = "superpod:32"


def _links(topology: Topology, src: int, dst: int) -> int:
    """How many links a message takes."""
    return len(topology.router(np.array([src]), np.array([dst]))[1])


def _leaf(on: str) -> Switches:
    """The switches that cards lead to."""
    return next(alike for alike in switches(place(on)) if "card" in alike.ports)


def _small_clos() -> Cases:
    topology = place("leaf-spine:4x4x2")
    ports = switches(topology)[0].ports
    yield {"at": topology.name, "s": Fraction(ports["port"], ports["uplink"]), "links": wires(topology)[1].cables}


def _across_rails() -> Cases:
    """From a GPU over its sibling on the right rail to one of another rack, which does or does not share the leaf."""
    for rack, name in ((1, "racks that share a leaf"), (4, "racks that do not")):
        yield {"at": name, "nvlink": _links(place(POD), 0, 1) // 2, "ib": _links(place(POD), 1, 72 * rack + 1)}


def _leaves(racks: int) -> Case:
    rails = _leaf(f"superpod:{racks}").number
    return {"rails": rails, "times": Fraction(rails, _leaf(f"boxes:{racks}x72").number)}


def _edges_of_a_ring() -> Cases:
    topology = place("superpod:8")
    edges = Counter(_links(topology, 72 * rack, 72 * ((rack + 1) % 8)) for rack in range(8))
    yield {"at": topology.name, "same_leaf": edges[2], "across": edges[4]}


def _classes_of_peers() -> Cases:
    """Cross-rack peers by the network links behind the sibling that is on their rail."""
    topology = place("superpod:8")
    links = Counter(0 if peer < 72 else _links(topology, peer % 72, peer) for peer in range(1, topology.ranks))
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
    links = ups + [(b, a) for a, b in ups]
    widths = ([1] * 4 + [2] * 4 + [4] * 2) * 2
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
    "E-03-038 E-03-039": _shorter_rings,
    "E-03-015": _mixed_ring,
    "M-35": _butterfly,
    # steps 1, 3 and 4 end the phases; the ranks of a box share chunks 0 1 and 2 3, which are blocks 0 2 and 1 3
    "E-03-016 E-03-017 E-03-018": states(hierarchical_ring, 2, 2, chunks=(0, 2, 1, 3), on="boxes:2x2"),
    "E-03-001": _small_clos,
    "E-03-010": _across_rails,
    "E-03-012": per((4, 8, 32), _leaves, name="L"),
    "E-03-014": _edges_of_a_ring,
    "E-03-043 E-03-044 E-03-045": _classes_of_peers,
    " ".join(f"E-03-{number:03}" for number in (8, 9, 76, 77, 78, 79, 80, 81, 82, 83, 84, 85)): _pod,
    " ".join(f"E-03-{number:03}" for number in range(86, 96)): per((4, 48, 64), _fat_tree, name="k"),
    "E-03-096": _leiserson,
    "E-03-097": per((4, 6, 8), name="k", paths=equal_paths),
}

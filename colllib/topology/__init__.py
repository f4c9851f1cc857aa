"""Topologies: ranks, switches and directed links with latency and bandwidth, and the routes over them.

`colllib.topology.expression` has the names of all kinds.
"""

from colllib.topology.base import Lattice, NoRouteError, Router, Topology, equal_injection, injection, one_port
from colllib.topology.boxes import boxes
from colllib.topology.clos import fat_tree, leaf_spine
from colllib.topology.graph import from_links, full_mesh
from colllib.topology.latency import Latency
from colllib.topology.lattice import line, mesh, ring, torus
from colllib.topology.routes import flow_hash
from colllib.topology.star import star, switch_tree
from colllib.topology.twisted import twisted_torus

__all__ = [
    "Latency",
    "Lattice",
    "NoRouteError",
    "Router",
    "Topology",
    "boxes",
    "equal_injection",
    "fat_tree",
    "flow_hash",
    "from_links",
    "full_mesh",
    "injection",
    "leaf_spine",
    "line",
    "mesh",
    "one_port",
    "ring",
    "star",
    "switch_tree",
    "torus",
    "twisted_torus",
]

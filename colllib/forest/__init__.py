"""Throughput-optimal schedules on any fabric: trees packed up to the bound that its cuts set.

The order of the modules is that of the work: a topology's capacities (`fabric`), the bound and its
bottleneck (`bound`, by `flow`), switches taken out (`splitting`), trees packed (`packing`, or
`symmetric` where those of one rank or box serve all), and the schedules that they make (`trees`).

Source: Zhao et al. (2026), "ForestColl: Throughput-Optimal Collective Communications on Heterogeneous
Network Fabrics".
"""

from colllib.forest.bound import Bound, bound, fixed, ratio
from colllib.forest.fabric import Fabric, fabric
from colllib.forest.packing import Tree
from colllib.forest.trees import Forest, busiest, forest, traffic

__all__ = [
    "Bound",
    "Fabric",
    "Forest",
    "Tree",
    "bound",
    "busiest",
    "fabric",
    "fixed",
    "forest",
    "ratio",
    "traffic",
]

"""All that a graph promises before any schedule, under the names of the command line."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from colllib.graphs import measures
from colllib.graphs.isomorphism import reversal
from colllib.graphs.throughput import distance_bound, throughput
from colllib.limits import TooLarge, check_size
from colllib.optimality import breadth_first_optimal
from colllib.topology.base import Topology
from colllib.topology.cuts import diameter

MOST_VARIABLES = 2**13  # of the program for f, which takes about a second
MOST_PAIRS = 2**28  # of a rank and a link in a graph whose breadth-first schedule takes about ten seconds


def promises(graph: Topology) -> dict[str, Any]:
    """Degree, diameter, Moore bounds, f and what is known of breadth-first schedules.

    What takes equal degrees is None where they differ, and what is too large to find is None and says so in
    `left_out`.

    Raises:
        ValueError: for a topology with switches or unequal links, or one that is not strongly connected.

    >>> from colllib.topology.expression import find
    >>> claims = promises(find("complete-bipartite:4x4"))
    >>> claims["degree"], claims["diameter"], claims["moore_diameter"], str(claims["f"])
    (4, 2, 2, '2/5')
    """
    left_out: dict[str, str] = {}

    def of(name: str, measure: Callable[[Topology], Any]) -> Any:
        try:
            return measure(graph)
        except TooLarge as error:
            left_out[name] = str(error)
            return None

    def optimal(graph: Topology) -> bool:
        pairs = graph.ranks * graph.num_links
        check_size(f"a breadth-first schedule on {graph.name}", pairs, MOST_PAIRS, "pairs of a rank and a link")
        return breadth_first_optimal(graph)

    common_degree = measures.equal_degree(graph)
    hops: int | None = of("diameter", diameter)
    undirected_links = measures.is_undirected(graph)
    result: dict[str, Any] = {"nodes": graph.ranks, "degree": common_degree, "diameter": hops}
    for name, undirected in (("", False), ("_undirected", True)):
        bound = diameter_bound = None
        if common_degree is not None and (undirected_links or not undirected):
            diameter_bound = measures.moore_diameter(graph.ranks, common_degree, undirected=undirected)
            bound = None if hops is None else measures.moore_bound(common_degree, hops, undirected=undirected)
        result |= {f"moore_bound{name}": bound, f"moore_diameter{name}": diameter_bound}
    result["undirected"] = undirected_links
    result["reverse_symmetric"] = of("reverse_symmetric", lambda graph: reversal(graph) is not None)
    if hops is not None:
        result["even_layers"] = measures.even_layers(graph)
        result["intersection_array"] = measures.intersection_array(graph)
        result["f_bound"] = distance_bound(graph) if graph.ranks > 1 else None
    if common_degree is not None:
        result["breadth_first_optimal"] = of("breadth_first_optimal", optimal)
    result["f"] = of("f", partial(throughput, most=MOST_VARIABLES)) if graph.ranks > 1 else None
    return result | {"left_out": left_out}

"""All that a graph promises before any schedule, under the names of the command line."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from colllib.graphs import measures
from colllib.graphs.isomorphism import reverse_symmetric
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
    >>> found = promises(find("complete-bipartite:4x4"))
    >>> found["degree"], found["diameter"], found["moore_diameter"], str(found["f"])
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

    ports = measures.equal_degree(graph)
    far: int | None = of("diameter", diameter)
    both = measures.is_undirected(graph)
    found: dict[str, Any] = {"nodes": graph.ranks, "degree": ports, "diameter": far}
    for name, undirected in (("", False), ("_undirected", True)):
        known = ports if both or not undirected else None
        found[f"moore_bound{name}"] = found[f"moore_diameter{name}"] = None
        if known is not None:
            found[f"moore_diameter{name}"] = measures.moore_diameter(graph.ranks, known, undirected=undirected)
        if known is not None and far is not None:
            found[f"moore_bound{name}"] = measures.moore_bound(known, far, undirected=undirected)
    found["undirected"] = both
    found["reverse_symmetric"] = of("reverse_symmetric", reverse_symmetric)
    if far is not None:
        found["even_layers"] = measures.even_layers(graph)
        found["intersection_array"] = measures.intersection_array(graph)
        found["f_bound"] = distance_bound(graph) if graph.ranks > 1 else None
    if ports is not None:
        found["breadth_first_optimal"] = of("breadth_first_optimal", optimal)
    found["f"] = of("f", partial(throughput, most=MOST_VARIABLES)) if graph.ranks > 1 else None
    return found | {"left_out": left_out}

"""The commands `colllib describe` and `colllib find-topology`, and all that a graph promises before any schedule."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import click
from tabulate import tabulate

from colllib import units
from colllib.cli_io import Answer, answered, speeds, table, whole
from colllib.graphs import measures
from colllib.graphs.finder import pareto
from colllib.graphs.isomorphism import reversal
from colllib.graphs.links import is_graph
from colllib.graphs.throughput import distance_bound, throughput
from colllib.ladder import CLOSED_FORM
from colllib.limits import TooLarge, check_size
from colllib.optimality import breadth_first_optimal
from colllib.topology.base import Topology
from colllib.topology.cuts import diameter
from colllib.topology.describe import counted, drawn, switches, wires
from colllib.topology.expression import find as find_topology

MOST_VARIABLES = 2**13  # of the program for f, which takes about a second
MOST_PAIRS = 2**28  # of a rank and a link in a graph whose breadth-first schedule takes about ten seconds


@click.command("describe")
@click.argument("on", metavar="TOPOLOGY")
@click.option("--radix", type=whole(1), help="ports of the switches that are bought, such as 144 (default: not asked)")
@answered
def describe_command(on: str, radix: int | None) -> Answer:
    """What a topology is built from: switches, ports, cables.

    It is drawn as rank 0 sees it: what its cables lead to, and what is behind that. Behind switches also what half of
    a tier's cables carry. Of a graph of equal links without switches also its degree, diameter, Moore bounds, and f, at
    which every rank can send to every other one at once; what takes too long to find is left out, and says at which
    size.
    """
    topology = find_topology(on)
    built = switches(topology, radix or 0) if topology.switches else []
    result: dict[str, Any] = {
        "topology": topology.name,
        "port_model": topology.port_model,
        "ranks": topology.ranks,
        "boxes": -(-topology.ranks // topology.in_box) if topology.in_box else 0,
        "switches": [alike._asdict() for alike in built],
        "tiers": [_as_text(tier._asdict()) for tier in wires(topology)],
    }
    if topology.speeds is not None:
        result |= {"alpha_s": topology.speeds[0], "bandwidth_bytes_per_s": topology.speeds[1]}
    promised = promises(topology) if is_graph(topology) else {}
    yield result | _as_text(promised)
    boxes = f", {result['boxes']} box{'es' if result['boxes'] > 1 else ''}" if result["boxes"] else ""
    yield f"{topology.name} ({topology.port_model}): {units.several(topology.ranks, 'rank')}{boxes}\n"
    yield "\n".join(drawn(topology)) + "\n"
    if promised:
        described = promised | promised.pop("left_out")
        yield tabulate([(name, str(value)) for name, value in described.items()], tablefmt="plain") + "\n"
    if built:
        rows = [(alike.number, counted(alike.ports), *((alike.chassis,) if radix else ())) for alike in built]
        headers = ("switches", "ports of each", *((f"of {radix} ports",) if radix else ()))
        yield tabulate(rows, headers=headers) + "\n"
    if any(alike.chassis > alike.number for alike in built):
        yield f"One of more than {radix} ports stands for several, and nothing is counted between these.\n"
    columns = {"tier": "tier", "cables": "cables", "BW of one": "bandwidth"}
    columns |= {"bisection in BW": "bisection"} if built else {}
    yield table(tuple(columns), [[tier[name] for name in columns.values()] for tier in result["tiers"]])
    if topology.speeds is not None:
        yield f"\n{speeds(*topology.speeds)}"


def promises(graph: Topology) -> dict[str, Any]:
    """Degree, diameter, Moore bounds, f and what is known of breadth-first schedules.

    What takes equal degrees is None where they differ, and what is too large to find is None and says so in `left_out`.

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


def _as_text(values: dict[str, Any]) -> dict[str, Any]:
    """Fractions as text, for JSON."""
    return {name: str(value) if isinstance(value, Fraction) else value for name, value in values.items()}


@click.command("find-topology")
@click.option("--nodes", type=whole(1), required=True, help="ranks, such as 1024")
@click.option("--degree", type=whole(1), required=True, help="links out of and into each rank, such as 4")
@answered
def find_topology_command(nodes: int, degree: int) -> Answer:
    """Graphs that no other beats in both latency and bandwidth.

    Those of a breadth-first all-gather, of known graphs and expansions of them; the cost of each is that of its own
    breadth-first problems. `run` takes its expression: colllib run all-gather breadth-first --on EXPRESSION.
    """
    headers = ("n_alpha", "n_beta_node", "expression", "provenance")
    rows = [(row.n_alpha, str(row.n_beta_node), row.expression, row.words) for row in pareto(nodes, degree)]
    yield {
        "nodes": nodes,
        "degree": degree,
        "how": CLOSED_FORM,
        "rows": [dict(zip(headers, row, strict=True)) for row in rows],
    }
    yield f"{nodes} ranks of degree {degree}; n_beta in units of M/B, B that of all links of a rank\n"
    yield table(headers, rows)

"""The commands `colllib describe` and `colllib find-topology`."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import click
from tabulate import tabulate

from colllib import units
from colllib.cli_io import Answer, answered, speeds, table, whole
from colllib.graphs.describe import promises
from colllib.graphs.finder import pareto
from colllib.graphs.links import is_graph
from colllib.ladder import CLOSED_FORM
from colllib.topology.describe import counted, drawn, switches, wires
from colllib.topology.expression import find as find_topology


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

"""The command `colllib forest`."""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter
from typing import Any

import click
from tabulate import tabulate

from colllib import forest as forests
from colllib import units
from colllib.cli_io import PRIMITIVE, Answer, Network, answered, bandwidth_option, whole
from colllib.cost import Price
from colllib.forest import Forest
from colllib.ladder import ANCHOR_ALPHA, ANCHOR_BANDWIDTH, ANCHOR_MESSAGE
from colllib.topology.expression import find as find_topology


@click.command("forest")
@click.argument("fabric", metavar="TOPOLOGY")
@click.option(
    "--primitive",
    type=PRIMITIVE,
    default="all-gather",
    help="all-gather, reduce-scatter, all-reduce, broadcast or reduce",
)
@click.option("--trees", type=whole(1), help="for each root (default: as many as reach the bound)")
@click.option("--root", type=whole(), help="of a broadcast or reduce (default: 0)")
@click.option("--way", default="best", help="moves, boxes, general, or best, the first of these that can")
@click.option("--multicast", is_flag=True, help="switches that can do so replicate and add")
@bandwidth_option
@answered
def forest_command(
    fabric: str,
    primitive: str,
    trees: int | None,
    root: int | None,
    way: str,
    multicast: bool,
    bandwidth: Price | None,
) -> Answer:
    """Pack trees that no schedule can beat, and execute them.

    The bound, its bottleneck, and what the trees reach. An all-reduce is two halves, a reduce-scatter and an
    all-gather, each at its bound; a schedule that is not in halves may be faster.
    """
    topology = find_topology(fabric)
    usual = None if topology.speeds else (ANCHOR_BANDWIDTH,) * topology.levels
    price = Network(ANCHOR_MESSAGE, (ANCHOR_ALPHA,) * topology.levels, bandwidth or usual).on(topology)
    if bandwidth is not None:
        topology = replace(topology, speeds=(price["alpha"], price["bandwidth"]))
    begun = perf_counter()
    forest = forests.forest(topology, primitive=primitive, trees=trees, root=root, way=way, multicast=multicast)
    seconds = perf_counter() - begun
    limit, halves = forest.bound, 2 if primitive == "all-reduce" else 1
    per_unit = 1.0 if topology.speeds else price["bandwidth"][0] / 1e9
    result: dict[str, Any] = {
        "topology": topology.name,
        "primitive": primitive,
        "ranks": topology.ranks,
        "inverse_throughput": str(limit.inverse_throughput),
        "bandwidth_unit": "GB/s" if topology.speeds else f"BW = {units.rate(price['bandwidth'][0])}",
        "algbw_GBps": per_unit * float(forest.algbw) / halves if limit.cut else None,
        "trees_per_root": limit.trees,
        "unit": str(limit.unit),
        "bottleneck": {
            "vertices": [node if node < topology.ranks else f"s{node - topology.ranks}" for node in limit.cut],
            "ratio": str(forests.ratio(forest.fabric, limit.cut)) if limit.cut else "0",
        },
        "heights": {str(height): count for height, count in forest.heights.items()},
        "way": forest.way,
        "executed": forest.reached(),
        "how": forest.runs[0].how,
        "search_s": seconds,
    }
    if multicast:
        plain, able = (forests.traffic(one) for one in (replace(forest, multicast=False), forest))
        result["multicast"] = {
            "saved_on_links": str(plain.on_links - able.on_links),
            "saved_at_ranks": str(plain.at_ranks - able.at_ranks),
        }
    yield result
    yield f"{primitive} forest on {fabric}, {units.several(topology.ranks, 'rank')}"
    yield _about_forest(forest, result, "1/x*" if trees is None else f"U/{trees}")


def _about_forest(forest: Forest, result: dict[str, Any], bound: str) -> str:
    """The bound by its name, its bottleneck and the trees, for people."""
    limit = forest.bound
    apart = [str(node) for node in range(forest.fabric.ranks) if node not in limit.cut]
    names = ", ".join(apart[:8]) + (f" and {len(apart) - 8} more" if len(apart) > 8 else "")
    rate = f", algbw {units.rate(1e9 * result['algbw_GBps'])}" if limit.cut else ""
    if result["primitive"] == "all-reduce":
        rate += " over both halves, of which this is the bound each"
    seconds = units.seconds(result["search_s"], 3)
    rows: tuple[tuple[str, str], ...] = (
        ("bound", f"{bound} = {limit.inverse_throughput} per {result['bandwidth_unit']}{rate}"),
        ("bottleneck", f"between rank{'s' if len(apart) > 1 else ''} {names} and all others" if limit.cut else "none"),
        ("trees", f"{limit.trees} for each root, U = {limit.unit}, by {result['way']}, in {seconds}"),
        ("heights", ", ".join(f"{height}: {count}" for height, count in forest.heights.items())),
        ("executed", f"the busiest link carries {'just' if result['executed'] else 'NOT'} what the bound says"),
    )
    if "multicast" in result:
        saved = result["multicast"]
        savings = (
            f"links carry {saved['saved_on_links']} M less, and ranks send and receive {saved['saved_at_ranks']} M less"
        )
        rows += (("multicast", savings if saved["saved_on_links"] != "0" else "no switch here replicates"),)
    return tabulate([("", *line) for line in rows], tablefmt="plain", disable_numparse=True)

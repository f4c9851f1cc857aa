"""The command line: `colllib list | run | trace | ladder | forest | describe | ...`, each with --json."""

from __future__ import annotations

import io
import os
import shlex
import sys
import textwrap
import traceback
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import wraps
from importlib import import_module
from math import isfinite
from operator import attrgetter
from typing import Any

import click
from click.core import ParameterSource
from tabulate import tabulate

from colllib import algorithms, ladder, msccl, simgrid, units
from colllib.bounds import bus_factor
from colllib.cli_io import (
    PRIMITIVE,
    Answer,
    Network,
    answered,
    json_text,
    priced,
    progress,
    speeds,
    spelled,
    table,
    whole,
)
from colllib.cost import Kind, TieredCost
from colllib.events import event_clock
from colllib.exact import Fractions, IntArray
from colllib.execution import Execution
from colllib.execution import trace as trace_states
from colllib.limits import EVENT, check_seconds, check_size
from colllib.measured.log import PROGRAMS
from colllib.measured.predict import predict
from colllib.measured.tuning import model_of
from colllib.metrics import IN_BOX, OPTICS, PICOJOULES, joules, optical
from colllib.optimality import PASSES, at_node
from colllib.placement import at_places, in_groups, local_search, order_of, read_groups, read_placement
from colllib.primitives import PRIMITIVES
from colllib.schedule import Schedule, Step
from colllib.segmentation import Pricing
from colllib.topology import Topology, machines, star
from colllib.topology.cluster import machine_on
from colllib.topology.expression import MEANINGS, OPERATIONS, TOPOLOGIES, Form, before_failures
from colllib.topology.expression import find as find_topology
from colllib.topology.failures import in_each_box
from colllib.topology.presets import PRESETS

MOST_BROKEN = 64  # boxes of which each lacks a card in turn: so many take seconds, and twice as many four times as long
MOST_TRACED = 64  # ranks, and cells over all steps: more grow into pages nobody reads
MOST_CELLS = 2**16
MOST_EXPORTED = 2**17  # messages in a file
MOST_ELEMENTS = 2**24  # of a message that is really sent
MOST_TEXT = 200  # characters of an option
MOST_ERROR = 500
SHORT = 10e-6  # seconds, beside which a kernel's start counts
SUMMED_EXACTLY = ("float64", "float32", "int64", "int32", "complex128")  # by MPI as by numpy
RANK_OF_PROCESS = ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK")  # what the mpiruns say to each process


@dataclass(frozen=True)
class Choice:
    """Which algorithm a command line names, with the options that it chooses, and its segments, None for the best."""

    algorithm: algorithms.Algorithm
    options: tuple[str, ...]
    segments: int | None

    @property
    def names(self) -> dict[str, str]:
        """As results begin."""
        return {"primitive": self.algorithm.primitive, "algorithm": self.algorithm.name}

    def schedule(self, topology: Topology, why: str) -> Schedule:
        """In a given number of segments, where nothing says which would be best."""
        if self.segments is None:
            raise ValueError(f"segments 'best': {why}, give a whole number")
        return ladder.Entry(self.algorithm, topology).schedule(self.segments)


def _scheduled(command: Callable[..., Any]) -> Callable[..., Any]:
    """A command about one algorithm of a primitive, as a `Choice`."""

    @click.argument("primitive", type=PRIMITIVE)
    @click.argument("algorithm")
    @click.option(
        "--segments", default="1", help="a whole number; for run also best, by lock-step: each costs a latency"
    )
    @click.option("--tiers", help=f"of a hierarchical schedule: {algorithms.MEANINGS['tiers']}")
    @click.option("--order", help=algorithms.MEANINGS["order"])
    @click.option("--root", help="where the algorithm has one (default: 0)")
    @click.option("--with", "options", multiple=True, metavar="NAME=VALUE", help="another option of it, such as cap=2")
    @wraps(command)
    def scheduled(*, primitive: str, algorithm: str, segments: str, options: tuple[str, ...], **others: Any) -> Any:
        named = {name: others.pop(name) for name in ("tiers", "order", "root")}
        options += tuple(f"{name}={value}" for name, value in named.items() if value is not None)
        names = {name: one.name for one in algorithms.every(primitive) for name in (one.label, one.name)}
        named_so = names.get(spelled(algorithm, names), algorithm)
        chosen = _configured(algorithms.find(primitive, named_so), options)
        return command(choice=Choice(chosen, options, _segments(chosen, segments)), **others)

    return scheduled


def _configured(chosen: algorithms.Algorithm, options: tuple[str, ...]) -> algorithms.Algorithm:
    values = {}
    for text in options:
        name, _, value = text.partition("=")
        if len(text) > MOST_TEXT:
            too_long = f"{len(text)} characters are too many, at most {MOST_TEXT} will do"
            raise ValueError(f"option {units.shortened(text)!r}: {too_long}")
        if not value:
            raise ValueError(f"option {units.shortened(text)!r}: write NAME=VALUE, such as root=3")
        if name in values:
            raise ValueError(f"option {units.shortened(name)!r}: is given twice")
        values[name] = _option(chosen.options.get(name, "str"), name, value)
    return chosen.configured(values)


def _option(kind: str, name: str, value: str) -> int | str | bool:
    if kind == "int":
        return units.whole(f"option {name}", value, f"{name}=1", signed=True)
    if kind == "bool" and value not in ("true", "false"):
        raise ValueError(f"option '{name}={value}': must be true or false")
    return value == "true" if kind == "bool" else value


def _segments(chosen: algorithms.Algorithm, text: str) -> int | None:
    if text == "best":
        return None if chosen.segmented else 1
    count = units.whole("segments", text, "4, or best")
    if count < 1:
        raise ValueError(f"segments {text!r}: must be a whole number of at least 1, or best")
    if count > 1 and not chosen.segmented:
        raise ValueError(f"{chosen.primitive} {chosen.name} takes no segments: leave them out")
    return count


def _on(**attributes: Any) -> Any:
    return click.option("--on", **{"help": "topology, such as boxes:64x8; colllib list has all"} | attributes)


#: The modules of the commands that are not here: each is imported when one of its commands is called.
ELSEWHERE = {
    "claims": "claims.command",
    "describe": "graphs.command",
    "diagnose": "measured.commands",
    "experts": "training.command",
    "find-topology": "graphs.command",
    "forest": "forest.command",
    "mpi-bench": "measured.commands",
    "predict": "measured.commands",
    "step": "training.command",
    "sweeps": "measured.commands",
}


_ABOUT_JSON = """\b
With --json a key ends in its unit: _s, _bytes, _GBps, _per_s; note is what the
model of a machine leaves out. Else alpha is in seconds, bandwidth in bytes a
second, n_beta and what ends in _max shares of M:
run: algorithm, options, segments, message_bytes, how, n_alpha, n_beta, tiers,
  kinds, sent_max, time_s, algbw_GBps, busbw_GBps, clock
ladder: message_bytes, rungs (as of run), left_out (why), nccl, by_box_s
predict: rows of bytes (M), time_s, busbw_GBps, picked, binding, latency_s,
  wire_s, efficiency (of wire_s alone); sensitivity and what_if with change (of
  what), saved (share of the time, below 0 if lost); notes, source, others,
  near_size (measured near that size), nearest, measured_over_predicted
step: plan, tokens, sequence, microbatches, schedule, chunks, bucket_bytes,
  buckets, collectives, teraflops, time_s, flops_per_token (in the layers,
  attention included), mfu, state_bytes, activations_bytes, fits
  (null: unknown), stages; of --plan all plans, time_s and
  with_activations_bytes of each
experts: gate, top_k, most_boxes, tokens, width, message_bytes, imbalance (of
  experts, over the mean), imbalance_of_copies, imbalance_of_ranks, busiest_M
  (shares of M), time_s
describe: tiers with bandwidth and bisection in BW; forest: algbw_GBps, heights
"""


class Commands(click.Group):
    """The commands of `colllib`; those that take topologies or machines end their help with a list of them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names, in the order of the alphabet."""
        return sorted({*self.commands, *ELSEWHERE})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """One command, or None where there is none of that name."""
        if cmd_name in ELSEWHERE and cmd_name not in self.commands:
            module = import_module(f"colllib.{ELSEWHERE[cmd_name]}")
            self.add_command(getattr(module, f"{cmd_name.replace('-', '_')}_command"))
        command = self.commands.get(cmd_name)
        if command and any(parameter.name in ("on", "fabric") for parameter in command.params):
            command.epilog = _ABOUT.get(cmd_name, _ABOUT_TOPOLOGIES)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, and refuse an option that is given twice, of which click would take the last one."""
        name, command, rest = super().resolve_command(ctx, args)
        options = (parameter for parameter in command.params if isinstance(parameter, click.Option)) if command else ()
        once = {text for option in options if not (option.multiple or option.is_flag) for text in option.opts}
        given = [word.partition("=")[0] for word in rest]
        if twice := next((word for word in given if word in once and given.count(word) > 1), None):
            raise ValueError(f"{twice} is given twice: give it once, and call again to compare")
        return name, command, rest


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "show_default": True},
    invoke_without_command=True,
    epilog=_ABOUT_JSON,
)
@click.pass_context
def cli(context: click.Context) -> None:
    """Collective communication, executed message by message.

    \b
    colllib ladder all-reduce --on dgx-h100:24,oversubscription=2 --message 256MiB
        which algorithm on 24 boxes of 8 H100 with 2:1 oversubscription
    colllib predict all-reduce --on dgx-h100:24 --message 256MiB
        what NCCL should reach there; without --message from 1 KiB to 16 GiB
    colllib diagnose LOG
        whether what nccl-tests printed is healthy
    colllib run all-reduce ring --on star:8
        one algorithm, proved and counted
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@cli.command("list")
@answered
def list_command() -> Answer:
    """Primitives, algorithms, topologies and machines.

    With their options, and what these say.
    """
    known = _known()
    yield known
    yield tabulate(known["primitives"].items(), headers=("primitive", "what becomes true"))
    rows = [
        (name, algorithm, ", ".join(known["options"].get(f"{name} {algorithm}", [])))
        for name, names in known["algorithms"].items()
        for algorithm in names
    ]
    yield "\n" + tabulate(rows, headers=("primitive", "algorithm", "takes (--segments P, --with NAME=VALUE)"))
    yield "\n" + tabulate(known["meanings"]["algorithms"].items(), headers=("option", "of an algorithm"))
    forms = [(form.example, _defaults(form, ", ")) for form in TOPOLOGIES.values()]
    yield "\n" + tabulate(forms, headers=("topology", "options behind commas, and their defaults"))
    words = TOPOLOGIES["debruijn"].example
    yield (
        "\nof uniring, biring and kautz the degree, then the ranks; of debruijn the degree, then a word's length: "
        f"{words} has {find_topology(words).ranks} ranks"
    )
    yield f"of topologies G without switches: {', '.join(known['operations'])}"
    yield "\n" + tabulate(known["meanings"]["topologies"].items(), headers=("option", "of a topology"))
    presets = [
        (
            f"{name}:2",
            machine["topology"],
            " | ".join(map(units.rate, machine["bandwidth_bytes_per_s"])),
            "yes" if machine["predicted"] else "",
        )
        for name, machine in known["machines"].items()
    ]
    yield "\n" + tabulate(presets, headers=("machine", "stands for", "BW", "predict, diagnose"))
    others = known["predicted"]
    yield f"also, for all commands: {', '.join(f'{name}:2' for name in others['boxes'] + others['instances'])}"
    yield f"and usual boxes of a GPU, as in h20:2: {', '.join(others['gpus'])}\n"
    anchor = speeds((ladder.ANCHOR_ALPHA,), (ladder.ANCHOR_BANDWIDTH,))
    yield f"anchor: N = {ladder.ANCHOR_RANKS}, M = {units.size(ladder.ANCHOR_MESSAGE)}, {anchor}"


def _defaults(form: Form, comma: str = ",") -> str:
    return comma.join(f"{key}={value}" for key, value in form.options.items())


def _known() -> dict[str, Any]:
    """All names."""
    return {
        "primitives": {p.name: p.statement for p in PRIMITIVES.values()},
        "algorithms": {name: [a.name for a in algorithms.every(name)] for name in PRIMITIVES},
        "options": {
            f"{a.primitive} {a.name}": [*(["segments"] if a.segmented else []), *a.options]
            for a in algorithms.CATALOGUE
            if a.segmented or a.options
        },
        "topologies": [form.example for form in TOPOLOGIES.values()],
        "topology_options": {name: form.options for name, form in TOPOLOGIES.items() if form.options},
        "meanings": {"algorithms": algorithms.MEANINGS, "topologies": MEANINGS},
        "operations": [f"{name}({','.join(operation.operands)})" for name, operation in OPERATIONS.items()],
        "machines": {
            name: {
                "topology": preset.expression(2),
                "bandwidth_bytes_per_s": preset.bandwidth,
                "source": preset.source,
                "note": preset.note,
                "predicted": name in machines.PRESETS,
            }
            for name, preset in PRESETS.items()
        },
        "predicted": {
            "boxes": [name for name in machines.PRESETS if name not in PRESETS],
            "instances": list(machines.INSTANCES),
            "gpus": list(machines.GPUS),
        },
        "presets": {
            "anchor": {
                "ranks": ladder.ANCHOR_RANKS,
                "message_bytes": ladder.ANCHOR_MESSAGE,
                "alpha_s": ladder.ANCHOR_ALPHA,
                "bandwidth_bytes_per_s": ladder.ANCHOR_BANDWIDTH,
            }
        },
    }


@cli.command("run")
@_scheduled
@_on(default=f"star:{ladder.ANCHOR_RANKS}")
@priced
@click.option("--clock", default="lockstep", help="lockstep or event")
@click.option("--placement", "place", default="contiguous", help="contiguous, strided, random[,SEED] or search[,SEED]")
@click.option("--groups", "grouped", help="groups with a message M each: inside:8 or across:8 (default: none)")
@answered
def run_command(choice: Choice, on: str, network: Network, clock: str, place: str, grouped: str | None) -> Answer:
    """Execute one algorithm, prove its end state, count its cost."""
    if clock not in _CLOCKS:
        raise ValueError(f"clock {units.shortened(clock)!r}: must be lockstep or event")
    chosen, topology = choice.algorithm, network.with_speeds(find_topology(on))
    price = network.on(topology)
    if grouped is not None:
        chosen = in_groups(chosen, *read_groups(grouped))
    kind, seed = read_placement(place)
    if kind == "search":
        schedule = ladder.Entry(chosen, topology).schedule(choice.segments or 1)
        chosen = at_places(chosen, local_search(schedule, topology, seed=seed, **price))
    elif kind != "contiguous":
        chosen = at_places(chosen, order_of(topology, kind, seed))
    rung = ladder.run(chosen, topology, segments=choice.segments, **price)
    result = _described(rung, price)
    result |= {"options": list(choice.options), "clock": clock, "placement": place}
    if clock == "event":
        check_seconds(f"{rung.entry} on the event clock", EVENT * result["messages"])
        result |= _times(rung, event_clock(rung.execution.schedule, topology, **price).seconds)
    if grouped is not None:
        result |= {"groups": grouped} | _of_a_group(choice.algorithm, read_groups(grouped)[0], result)
    yield result
    yield _sentences(result)
    yield from _unlaunched(topology, network, result["time_s"])


def _unlaunched(topology: Topology, network: Network, seconds: float) -> Answer:
    """What a machine's own latencies leave out, where little else is left."""
    if topology.speeds and not network.alpha and seconds < SHORT:
        yield "\nalpha is that of a message: starting a kernel takes several microseconds more"


def _of_a_group(algorithm: algorithms.Algorithm, size: int, result: dict[str, Any]) -> dict[str, Any]:
    """What of a result is one group's: that its end state is the primitive's, and its bus bandwidth."""
    primitive, rate = algorithm.primitive, result["algbw_GBps"]
    return {
        "correct": ladder.Entry(algorithm, star(size)).schedule(result["segments"]).makes(PRIMITIVES[primitive]),
        "busbw_GBps": None if rate is None else rate * float(bus_factor(primitive, size)),
    }


def _described(rung: ladder.Rung, price: dict[str, Any]) -> dict[str, Any]:
    run, chosen, topology = rung.execution, rung.algorithm, rung.entry.topology
    result = {
        "primitive": chosen.primitive,
        "algorithm": chosen.name,
        "topology": topology.name,
        "port_model": topology.port_model,
        "ranks": topology.ranks,
        "segments": rung.segments,
        "message_bytes": price["message"],
        "alpha": price["alpha"],
        "bandwidth": price["bandwidth"],
        "how": rung.how,
        "not_run": rung.not_run and rung.not_run.described,
        # execute has proved the end state; this is the proof that it is the primitive's
        "correct": run.schedule.makes(PRIMITIVES[chosen.primitive]),
        "steps": run.schedule.num_steps,
        "messages": run.schedule.num_messages,
        "n_alpha": _exact(run.cost.n_alpha),
        "n_beta": None if isinstance(run.cost, TieredCost) else str(run.cost.n_beta),
        "sent_max": _most(run, run.ledger.sent[: topology.ranks]),
        "received_max": _most(run, run.ledger.received[: topology.ranks]),
        "link_load_max": _most(run, run.ledger.link),
        "energy_J": joules(run, price["message"]),
        "tiers": [
            {
                "name": tier.name,
                "alpha": price["alpha"][tier.level],
                "bandwidth": float(tier.bandwidth) * price["bandwidth"][tier.level],
            }
            for tier in topology.tiers
        ],
    }
    if isinstance(run.cost, TieredCost):
        result["kinds"] = [_kind(kind, run.cost, price["alpha"]) for kind in run.cost.kinds]
    if chosen.costs_its_closed_form(topology):
        formula = ladder.Entry(chosen, topology, trusting=True).cost(rung.segments)
        result["closed_form"] = {
            "n_alpha": _exact(formula.n_alpha),
            "n_beta": str(formula.n_beta),
            "agrees": formula == run.cost,
        }
    if chosen.name in ("breadth-first", "synthesis") and chosen.primitive in PASSES:
        result |= _at_node(rung)
    return result | _times(rung, rung.seconds)


def _most(run: Execution, counts: IntArray) -> str:
    """The largest share of M; of a million ranks not all become fractions."""
    return str(Fractions(counts, run.ledger.denominator).largest())


def _at_node(rung: ladder.Rung) -> dict[str, Any]:
    """The cost by a rank's whole bandwidth, which ranks of unequal degree have no common one of."""
    run, topology = rung.execution, rung.entry.topology
    pieces = len(run.schedule.blocks) // topology.ranks
    try:
        cost = at_node(rung.algorithm.primitive, topology, run.cost)
    except ValueError as error:
        return {"n_beta_node": None, "optimal": None, "no_n_beta_node": str(error), "pieces": pieces}
    optimal = {"latency": cost.latency, "bandwidth": cost.bandwidth}
    return {"n_beta_node": str(cost.n_beta), "optimal": optimal, "pieces": pieces}


def _kind(kind: Kind, cost: TieredCost, alpha: Sequence[float]) -> dict[str, Any]:
    """A kind of step, with the hops of the one route that is longest at these latencies."""
    latencies = [float(hops) * alpha[tier.level] for hops, tier in zip(kind.hops, cost.tiers, strict=True)]
    longest = latencies.index(max(latencies))
    hops = [hops if place == longest else 0 for place, hops in enumerate(kind.hops)]
    return {"steps": kind.steps, "hops": list(map(_exact, hops)), "loads": list(map(str, kind.loads))}


def _exact(count: int | Fraction | None) -> int | str | None:
    """A count of latencies, which may be a fraction where there are switches; None where they are of several kinds."""
    return str(count) if isinstance(count, Fraction) else count


def _times(rung: ladder.Rung, seconds: float) -> dict[str, Any]:
    timed = replace(rung, seconds=seconds)
    rates = {"algbw_GBps": timed.algbw / 1e9, "busbw_GBps": timed.busbw / 1e9}
    return {"time_s": seconds, **{name: rate if isfinite(rate) else None for name, rate in rates.items()}}


_CLOCKS = {"lockstep": "lock-step", "event": "event"}


def _named(result: dict[str, Any]) -> str:
    """The algorithm, with what is chosen of it."""
    segments = [f"{result['segments']} segments"] if result["segments"] > 1 else []
    return ", ".join([f"{result['primitive']} {result['algorithm']}", *result["options"], *segments])


def _sentences(result: dict[str, Any]) -> str:
    parts = f", groups {result['groups']}" if "groups" in result else ""
    parts += f", placement {result['placement']}" if result["placement"] != "contiguous" else ""
    lines = [
        f"{_named(result)}{parts} on {result['topology']} ({result['port_model']})",
        f"  end state   {'proved' if result['correct'] else 'not that of the primitive'} ({result['how']}), "
        f"{units.several(result['steps'], 'step')}, {units.several(result['messages'], 'message')}",
    ]
    if "kinds" in result:
        lines += _tables_of_tiers(result)
    else:
        lines.append(f"  cost        n_alpha = {result['n_alpha']}, n_beta = {result['n_beta']}")
    if "n_beta_node" in result:
        lines += _sentences_at_node(result)
    priced_at = f"M = {units.message(result['message_bytes'])}"
    if "kinds" not in result:
        priced_at += f", {speeds(result['alpha'], result['bandwidth'])}"
    lines += [
        f"  priced at   {priced_at}",
        f"  per rank    sent at most {result['sent_max']} M, received at most {result['received_max']} M",
        f"  per link    at most {result['link_load_max']} M",
    ]
    if formula := result.get("closed_form"):
        verdict = "agrees" if formula["agrees"] else "does not agree"
        lines.append(f"  closed form n_alpha = {formula['n_alpha']}, n_beta = {formula['n_beta']}: {verdict}")
    if energy := result["energy_J"]:
        lines.append(f"  energy      {_span(energy)} in the links, in a box {IN_BOX}")
    lines.append(f"  time        {units.seconds(result['time_s'], 4)} ({_CLOCKS[result['clock']]} clock)")
    if None not in (result["algbw_GBps"], result["busbw_GBps"]):  # as of one rank, in no time
        algbw, busbw = (units.rate(1e9 * result[f"{name}_GBps"]) for name in ("algbw", "busbw"))
        lines[-1] += f", algbw {algbw}, busbw {busbw}"
    return "\n".join(lines)


def _span(energy: tuple[float, float] | None) -> str:
    """From the least to the most, with its unit once."""
    if energy is None:
        return ""
    least, most = map(units.energy, energy)
    return f"{least.removesuffix(most[most.index(' ') :])} to {most}"


def _sentences_at_node(result: dict[str, Any]) -> list[str]:
    """Which number uses which convention."""
    shards = f"  pieces      {result['pieces']} for each shard"
    if result["optimal"] is None:
        return [f"  per rank    no one B: {result['no_n_beta_node']}", shards]
    bounds = [f"{what} {'optimal' if met else 'not optimal'}" for what, met in result["optimal"].items()]
    return [
        "              n_beta in units of M/BW, BW that of one link",
        f"  per rank    n_beta = {result['n_beta_node']} in units of M/B, B that of all links of a rank; "
        + ", ".join(bounds),
        shards,
    ]


def _tables_of_tiers(result: dict[str, Any]) -> list[str]:
    tiers = result["tiers"]
    rows = [(tier["name"], units.seconds(tier["alpha"]), units.rate(tier["bandwidth"])) for tier in tiers]
    kinds = [
        (kind["steps"], *(f"{hops} | {load}" for hops, load in zip(kind["hops"], kind["loads"], strict=True)))
        for kind in result["kinds"]
    ]
    shown = [
        table(("tier", "alpha", "BW of a link"), rows),
        table(("steps", *(f"{tier['name']}: hops | M" for tier in tiers)), kinds),
    ]
    shown.append("hops: latencies of a step's longest route, at the tier they are of; M: on the tier's busiest link")
    return ["", *("  " + line for table in shown for line in (*table.splitlines(), ""))]


@cli.command("trace")
@_scheduled
@_on(default="star:4")
@answered
def trace_command(choice: Choice, on: str) -> Answer:
    """The state of every rank after every step.

    Which ranks' contributions are in which block.
    """
    topology = find_topology(on)
    if topology.ranks > MOST_TRACED:
        raise ValueError(f"a trace of {topology.ranks} ranks is unreadable: take at most {MOST_TRACED}")
    schedule = choice.schedule(topology, "a trace has no message size")
    cells = (schedule.num_steps + 1) * topology.ranks * len(schedule.blocks)
    check_size("a trace of every step, rank and block", cells, MOST_CELLS, "cells")
    states, blocks = _states(schedule), range(len(schedule.blocks))
    yield choice.names | {"ranks": topology.ranks, "states": states}
    for state in states:
        yield "before" if state["step"] == 0 else f"after step {state['step']}"
        rows = [
            (f"rank {rank}", *("+".join(map(str, contributions.get(str(block), ()))) or "-" for block in blocks))
            for rank, contributions in enumerate(state["ranks"])
        ]
        yield table(["", *(f"block {block}" for block in blocks)], rows) + "\n"


def _states(schedule: Schedule) -> list[dict[str, Any]]:
    """After every step the messages that led there, and of every rank whose contributions are in each block."""
    states = []
    for t, state in enumerate(trace_states(schedule)):
        ranks: list[dict[str, list[int]]] = [{} for _ in range(schedule.ranks)]
        for (node, block), value in sorted(state.items()):
            if node < schedule.ranks:  # a switch holds for others
                ranks[node][str(block)] = sorted(value.elements())
        rows = [] if t == 0 else zip(*(column.tolist() for column in schedule.step(t - 1)), strict=True)
        messages = [dict(zip(Step._fields, row, strict=True)) for row in rows]
        states.append({"step": t, "messages": messages, "ranks": ranks})
    return states


def _by_box(on: str, rungs: Sequence[ladder.Rung], price: dict[str, Any]) -> tuple[dict[str, tuple[float, float]], int]:
    """What NCCL's trees take at least and at most, by which box has lost the one card that `on` leaves out.

    And which box it is at least, with the faster of them.
    """
    trees = [rung for rung in rungs if rung.algorithm.name in ("tree", "nvls-tree")]
    intact, failed = before_failures(on)
    if not trees or len(failed) != 1 or not failed[0].startswith("card "):
        return {}, 0
    topology = find_topology(intact)
    if topology.ranks > MOST_BROKEN * topology.in_box:
        return {}, 0
    broken, times, least = in_each_box(topology, int(failed[0].removeprefix("card "))), {}, []
    for rung in trees:
        each = [Pricing(one, **price).lock_step(rung.entry.schedule(rung.segments)) for one in broken]
        seconds = list(map(sum, each))
        times[rung.label] = min(seconds), max(seconds)
        least.append(seconds.index(min(seconds)))
    return times, least[0]


def _by_nccl(primitive: str, on: str | None, network: Network) -> dict[str, Any] | None:
    """What NCCL should take on a machine with the speeds of its makers, or nothing where that is not predicted."""
    if on is None or network.alpha or network.bandwidth or primitive not in PROGRAMS:
        return None
    named = on.replace(",inc=both", ",collnet=true")
    try:
        machine = machine_on(named)
    except units.BadText:
        return None
    if machine.alpha or machine.ranks < 2 or not network.message:
        return None
    one = predict(machine, primitive, network.message)
    command = f"colllib predict {primitive} --on {shlex.quote(named)} --message {_size(network.message)}"
    result = {"model": model_of(machine), "picked": one.picked, "time_s": one.seconds, "busbw_GBps": one.busbw / 1e9}
    return result | {"command": command}


def _size(message: float) -> str:
    """As an option takes it, with all its digits."""
    short = units.message(message).replace(" ", "")
    return short if units.parse("message size", short) == message else f"{message:.15g}B"


def _command(primitive: str, name: str, on: str, network: Network, price: dict[str, Any]) -> str:
    """That runs what a ladder does not search for."""
    words = ["colllib", "run", primitive, name, "--on", on, "--message", _size(network.message)]
    if network.alpha:
        words += ["--alpha", ",".join(f"{1e6 * alpha:g}us" for alpha in price["alpha"])]
    if network.bandwidth:
        words += ["--bandwidth", ",".join(f"{bandwidth / 1e9:g}GB/s" for bandwidth in price["bandwidth"])]
    return shlex.join([*words, *(["--segments", "best"] if algorithms.find(primitive, name).segmented else [])])


@cli.command("ladder")
@click.argument("primitive", type=PRIMITIVE)
@click.option("--ranks", type=whole(), help=f"N, on a star (default: {ladder.ANCHOR_RANKS})")
@_on()
@priced
@answered
def ladder_command(primitive: str, ranks: int | None, on: str | None, network: Network) -> Answer:
    """Every algorithm for a primitive, fastest first.

    Each in its best number of segments P, one that works tier by tier with the best algorithm on each, and channels in
    the better turn.
    """
    if ranks is not None and on is not None:
        raise ValueError("give --ranks N for a star, or --on TOPOLOGY, not both")
    expression = f"star:{ladder.ANCHOR_RANKS if ranks is None else ranks}" if on is None else on
    topology = network.with_speeds(find_topology(expression))
    price = network.on(topology)
    with progress(algorithms.every(primitive), attrgetter("name")) as among:
        rungs, left_out = ladder.field_of(primitive, topology, among, searching=True, **price)
    if not rungs:
        raise ValueError(f"nothing can be compared on {topology.name}; {'; '.join(dict.fromkeys(left_out.values()))}")
    nccl, (by_box, root) = _by_nccl(primitive, on, network), _by_box(on or "", rungs, price)
    yield lambda: {
        "primitive": primitive,
        "topology": topology.name,
        "message_bytes": network.message,
        "rungs": [_described(rung, price) | {"options": rung.options, "clock": "lockstep"} for rung in rungs],
        "left_out": left_out,
        "nccl": nccl,
        "by_box_s": by_box,
    }
    counts, fastest = topology.levels == 1, rungs[0].seconds
    energies = [joules(rung.execution, network.message) for rung in rungs]
    known = any(energies)
    rows = [
        (
            rung.label,
            *((rung.cost.n_alpha, str(rung.cost.n_beta)) if counts else ()),
            units.seconds(rung.seconds, 4),
            f"{units.ratio(1 if rung.seconds == fastest else rung.seconds / fastest)}x",
            units.rate(rung.busbw) if isfinite(rung.busbw) else "",
            *([_span(spent)] if known else []),
            rung.how + (f" ({rung.not_run})" if rung.not_run else ""),
        )
        for rung, spent in zip(rungs, energies, strict=True)
    ]
    yield (
        f"{primitive} on {topology.name} ({topology.port_model}), "
        f"M = {units.message(network.message)}, {speeds(price['alpha'], price['bandwidth'])}, lock-step clock\n"
    )
    not_started = [name for name, why in left_out.items() if why == ladder.NOT_STARTED]
    for name in not_started:
        command = _command(primitive, name, expression, network, price)
        yield f"{name} may be faster; it is found by a search: {command}\n"
    cost, energy = ("n_alpha", "n_beta") if counts else (), ("energy",) if known else ()
    first = "of first" if not_started else "of fastest"
    yield table(("algorithm", *cost, "time", first, "busbw", *energy, "how"), rows)
    factor = bus_factor(primitive, topology.ranks)
    yield f"\nbusbw is {'' if factor == 1 else f'{factor} times '}algbw, which is M over the time"
    yield from _unlaunched(topology, network, fastest)
    if known:
        yield _what_takes_energy(topology)
    if topology.in_box and topology.combines and primitive != "all-to-all":
        yield (
            "\nin-network, NVLS and CollNet take switches that add, and lose nothing here: NVLS in a box was measured "
            "at up to 70% of that; inc=none leaves them out"
        )
    spans = [(label, *map(units.seconds, span)) for label, span in by_box.items()]
    if differing := [f"{label} takes {least} to {most}" for label, least, most in spans if least != most]:
        yield f"\n{', '.join(differing)}, by which box lacks the card: a tree's root, such as box {root}, sends half"
    if topology.inside is None and any(rung.algorithm.name == "channels" for rung in rungs):
        fill = topology.meshed and (topology.in_box % 2 == 0 or topology.ranks <= topology.in_box)
        many = "which together use all links of a box" if fill else "as many as a box has ranks"
        yield f"\nring channels are NCCL's ring, {many}; ring is one alone"
    if several := ", ".join(rung.algorithm.label for rung in rungs if rung.posting):
        yield (
            f"\n{several}: through switches a rank may send to, or hear from, several others in a step, and "
            "pays one alpha; if these messages passed its link an alpha apart, the order would be the same"
        )
    whys = dict.fromkeys(why for why in left_out.values() if why != ladder.NOT_STARTED)
    if reasons := {why: [name for name, other in left_out.items() if other == why] for why in whys}:
        yield "\nleft out:" + "".join(f"\n  {', '.join(names)}: {why}" for why, names in reasons.items())
    if nccl:
        speed = f"{units.seconds(nccl['time_s'])}, {units.rate(1e9 * nccl['busbw_GBps'])} busbw"
        after = " after a restart" if "without=" in str(on) else ""
        yield f"\nNCCL should take {speed}{after}, by {nccl['picked']} ({nccl['model']}): {nccl['command']}"


def _what_takes_energy(topology: Topology) -> str:
    """Of a ladder's column."""
    inside, outside = (f"{low:g} to {high:g} pJ" for low, high in (PICOJOULES["box"], OPTICS))
    links = optical(topology)
    way = f", of which a message to the same place in another box crosses {links}" if links else ""
    return f"\nenergy is that of the ends of links, {inside} a bit in a box {IN_BOX}, {outside} on an optical link{way}"


@cli.command("mpi-run")
@_scheduled
@_on(help="for an algorithm of some wires: a topology of as many ranks")
@click.option("--elements", type=whole(1, MOST_ELEMENTS), help="length of M (default: at least 1000, as fits)")
@click.option("--dtype", type=click.Choice(SUMMED_EXACTLY), default="float64", help="type of an element")
@click.option("--seed", type=whole(), default="0", help="of the random inputs")
@click.option("--json", "as_json", is_flag=True, help="print JSON")
def mpi_run_command(choice: Choice, on: str | None, elements: int | None, dtype: str, seed: int, as_json: bool) -> int:
    """Run an algorithm over real MPI, and compare with MPI's own.

    One process a rank, on random inputs: the buffers must be equal in every bit.
    Start it with mpirun, such as: mpirun -n 8 colllib mpi-run all-reduce ring
    """
    from colllib import mpi

    named = None if on is None else find_topology(on)
    world = mpi.world()
    try:
        topology = named or choice.algorithm.at_home(world.Get_size())
        if topology.ranks != world.Get_size():
            raise ValueError(
                f"{topology.name} has {topology.ranks} ranks: start as many processes, not {world.Get_size()}"
            )
        schedule = choice.schedule(topology, "a run over MPI has no price")
        check_seconds(str(ladder.Entry(choice.algorithm, topology)), EVENT * schedule.num_messages)
        witness = mpi.witness(choice.algorithm.primitive, schedule, world, elements=elements, dtype=dtype, seed=seed)
    except ValueError:
        raise  # every process has the same one
    except Exception:
        traceback.print_exc()
        world.Abort(3)  # else the others would wait for this one
    if world.Get_rank() != 0:
        return 0
    result = choice.names | {
        "topology": topology.name,
        "segments": choice.segments,
        "options": list(choice.options),
        "ranks": witness.ranks,
        "elements": witness.elements,
        "dtype": witness.dtype,
        "steps": schedule.num_steps,
        "equal": witness.equal,
        "differing_ranks": list(witness.differing),
        "mpi_function": witness.function,
        "mpi_library": mpi.library(),
    }
    click.echo(json_text(result) if as_json else _beside_mpi(result))
    return 0 if witness.equal else 1


def _beside_mpi(result: dict[str, Any]) -> str:
    """Whether the buffers were equal, for people."""
    verdict = "equal on every rank" if result["equal"] else f"DIFFERENT on ranks {result['differing_ranks']}"
    return (
        f"{_named(result)} on {result['ranks']} ranks, "
        f"{result['elements']} elements of {result['dtype']}: {verdict}\n"
        f"  colllib  MPI messages in steps: {result['steps']}\n"
        f"  MPI      {result['mpi_function']} of {result['mpi_library']}"
        f"{'' if result['ranks'] > 1 else ', on one rank: more by mpirun, such as mpirun -n 8 colllib mpi-run ...'}"
    )


@cli.command("export")
@_scheduled
@_on(required=True)
@click.option("--format", "form", default="msccl", help="msccl, an XML file, or simgrid, a time-independent trace")
@click.option("--to", "folder", help="of simgrid: where to write trace, platform and hosts (default: trace printed)")
@priced
def export_command(choice: Choice, on: str, form: str, folder: str | None, network: Network) -> None:
    """Write a schedule as MSCCL's XML, or as a trace for SimGrid.

    The XML is run on buffers of its own first. A trace takes M, a platform also alpha and BW; with --to the command
    that replays them is printed.
    """
    if form not in ("msccl", "simgrid"):
        raise ValueError(f"format {units.shortened(form)!r}: must be msccl or simgrid")
    if folder is not None and form != "simgrid":
        raise ValueError("an MSCCL file is printed: leave --to out")
    sized = click.get_current_context().get_parameter_source("message") is ParameterSource.COMMANDLINE
    if form == "msccl" and (sized or (network.alpha and not network.bandwidth)):
        raise ValueError("an MSCCL file has no message size and no price: leave --message and --alpha out")
    topology = network.with_speeds(find_topology(on))
    if network.alpha is not None:
        network.on(topology)  # which refuses a wrong number of values, also where no platform is written
    check_size("a file for every rank", topology.ranks, msccl.MOST_GPUS, "ranks")
    schedule = choice.schedule(topology, "a file is of one schedule")
    check_size("a file of every message", schedule.num_messages, MOST_EXPORTED, "messages")
    if form == "msccl":
        text = msccl.export(schedule, choice.algorithm.primitive, f"{choice.algorithm.name} on {topology.name}")
        msccl.run(text)
        if needs := msccl.for_azure(text):
            click.echo(f"colllib: Azure's executor takes this file only with {needs}", err=True)
        if (chunks := msccl.chunks(text)) & (chunks - 1):  # divides no power of two
            sizes = f"give nccl-tests -b {chunks}K -e 1G -f 2, not -b 1M"
            click.echo(f"colllib: only calls of a multiple of {chunks} elements execute this file: {sizes}", err=True)
        return click.echo(text)
    if folder is None:
        return click.echo(simgrid.trace(schedule, network.message))
    price = network.on(topology)
    try:
        command = simgrid.write(folder, schedule, topology, **price)
    except OSError as error:
        raise ValueError(f"--to {units.shortened(folder)!r}: {error.strerror}") from None
    click.echo(f"cd {shlex.quote(folder)} && {shlex.join(command)}")


_ABOUT_FILES = """

\b
Or a file: a cluster's .toml, with a line for each of boxes = 24, gpus = 8,
gpu = "h100" (or link = "450GB/s"), and if they differ cards = 4,
card = "400Gb/s", oversubscription = 2, for schedules also rails = 8 and
alpha = "0.6us,2.7us"; what nvidia-smi topo -m printed, .txt; or what NCCL
wrote to NCCL_TOPO_DUMP_FILE, .xml; these two are one box, and take options:
topo.txt,boxes=2,card=200Gb/s, and gpu=rtx4090 if needed."""


def _machines(names: Iterable[str], options: str) -> str:
    """The end of a help text that names them."""
    listed = textwrap.fill(" ".join(f"{name}:N" for name in names), 76, initial_indent="  ", subsequent_indent="  ")
    rest = f"or by a GPU's name, such as h20:N or l40s:N.\n\nWhat differs stands behind commas: {options}."
    return f"\b\nMachines, of N boxes:\n{listed}\n{rest}"


_EVERY = dict.fromkeys([*PRESETS, *machines.PRESETS, *machines.INSTANCES])
_ON_BOXES = f"card=400Gb/s, gpus=8, {_defaults(TOPOLOGIES['boxes'], ', ')} or without=card 11"
_ABOUT_BOXES = _machines(_EVERY, _ON_BOXES) + _ABOUT_FILES
_ABOUT_TOPOLOGIES = (
    "\b\nTopologies, their options and defaults; what these say, and graphs: colllib list\n"
    + "\n".join(f"  {form.example},{_defaults(form)}" for form in TOPOLOGIES.values() if form.options)
    + "\n\n"
    + _ABOUT_BOXES
)
_ABOUT_MACHINES = _machines([*machines.PRESETS, *machines.INSTANCES], machines.OPTIONS) + _ABOUT_FILES
_ABOUT = {"predict": _ABOUT_MACHINES, "diagnose": _ABOUT_MACHINES, "step": _ABOUT_BOXES}


def main(arguments: list[str] | None = None) -> None:
    """Run the command line: bad input ends with status 2 and one line on standard error, output that fails with 1.

    Under mpirun the first process speaks for all and its status is the job's; the others end with 0,
    so that none of them makes mpirun stop the first one before it has spoken.
    """
    if sys.stdout is None:
        sys.exit(_refuse("standard output is closed, and there is nowhere to write to", 1))
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # what an old encoding lacks is no fault of the input
    out = sys.stdout
    try:
        status = cli.main(arguments, prog_name="colllib", standalone_mode=False)
    except click.ClickException as error:
        context = getattr(error, "ctx", None)  # of a word that no command, or this one, takes
        hint = f": {context.command_path} --help says what is taken" if context else ""
        status = _refuse(error.format_message().removesuffix(".") + hint)
    except (ValueError, ImportError) as error:  # such as an MPI that is not there
        status = _refuse(str(error))
    except MemoryError:
        status = _refuse("this takes more memory than there is: take fewer ranks, blocks or segments")
    except OSError as error:
        status = _refuse(f"{error.filename or 'standard output'}: {error.strerror}", 1)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left must not fail again at the end
    except SystemExit as end:  # also by click, where who reads the output has left, which then replaces it
        status = end.code if sys.stdout is out else 0
    except (click.Abort, KeyboardInterrupt):
        status = 130
    sys.exit(status or 0)


def _refuse(message: str, status: int = 2) -> int:
    if any(os.environ.get(name, "0") != "0" for name in RANK_OF_PROCESS):
        return 0
    click.echo("colllib: " + units.shortened(" ".join(message.split()), MOST_ERROR), err=True)
    return status

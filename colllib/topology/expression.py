"""Expressions that name a topology, such as "star:512", "boxes:64x8,cards=1" or "line-graph(circulant:16x3x4)"."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from inspect import signature
from typing import Any, NamedTuple

from colllib.graphs import distance_regular, families, operations
from colllib.topology import machines
from colllib.topology.base import Topology
from colllib.topology.boxes import boxes
from colllib.topology.clos import fat_tree, leaf_spine
from colllib.topology.cluster import intact_machine, is_file, machine_on, topology_of
from colllib.topology.failures import without
from colllib.topology.graph import full_mesh
from colllib.topology.latency import HALVES, Latency
from colllib.topology.lattice import line, mesh, ring, torus
from colllib.topology.mi250 import mi250
from colllib.topology.presets import PRESETS
from colllib.topology.star import star, switch_tree
from colllib.topology.tree import Oversubscription
from colllib.topology.twisted import twisted_torus
from colllib.units import parse, shortened, whole

MOST_SIZES = 20  # behind a colon: as many axes of two ranks as there may be ranks
MOST_DIGITS = 18  # of a fraction
MOST_NESTED = 20  # operations inside one another
_LATENCY = ("endpoint", "hop", "switch")  # the options that make up a `Latency`


@dataclass(frozen=True)
class Form:
    """How an expression names a kind of topology."""

    build: Callable[..., Topology]  # its arguments after the sizes are the options of the expression
    sizes: int | None  # numbers behind a colon; 0 for any number of them, as one argument; None for no colon
    example: str  # what the command line shows
    words: Mapping[str, str] = field(default_factory=dict)  # what may stand for some sizes

    @property
    def options(self) -> dict[str, str]:
        """The options of the expression and their defaults.

        >>> TOPOLOGIES["torus"].options
        {'tie': 'up', 'order': 'none'}
        """
        defaults: dict[str, str] = {}
        for name, parameter in list(signature(self.build).parameters.items())[max(1, self.sizes or 0) :]:
            if name == "latency":
                defaults |= {part: str(getattr(HALVES, part)) for part in _LATENCY}
            else:
                defaults[name] = str(parameter.default).lower()
        return defaults


def _inc(build: Callable[..., Topology]) -> Callable[..., Topology]:
    return partial(build, combines=True, replicates=True, scatters=True)


#: The kinds of topology that an expression can name.
TOPOLOGIES: dict[str, Form] = {
    "star": Form(star, 1, "star:N"),
    "ring": Form(ring, 1, "ring:N"),
    "line": Form(line, 1, "line:N"),
    "torus": Form(torus, 0, "torus:8x8x8"),
    "mesh": Form(mesh, 0, "mesh:4x4"),
    "twisted-torus": Form(twisted_torus, 0, "twisted-torus:4x4x8"),
    "full-mesh": Form(full_mesh, 1, "full-mesh:N"),
    "boxes": Form(boxes, 0, "boxes:64x8"),
    "leaf-spine": Form(leaf_spine, 3, "leaf-spine:8x8x4"),
    "fat-tree": Form(fat_tree, 1, "fat-tree:K"),
    "switch-tree": Form(switch_tree, 2, "switch-tree:64x16"),
    "inc-star": Form(_inc(star), 1, "inc-star:N"),
    "inc-switch-tree": Form(_inc(switch_tree), 2, "inc-switch-tree:64x16"),
    "mi250": Form(mi250, 1, "mi250:2"),
    "complete-bipartite": Form(families.complete_bipartite, 2, "complete-bipartite:4x4"),
    "hamming": Form(families.hamming, 2, "hamming:2x3"),
    "hypercube": Form(families.hypercube, 1, "hypercube:10"),
    "twisted-hypercube": Form(families.twisted_hypercube, 1, "twisted-hypercube:3"),
    "uniring": Form(families.unidirectional_ring, 2, "uniring:1x4"),
    "biring": Form(families.bidirectional_ring, 2, "biring:2x9"),
    "shifted-ring": Form(families.shifted_ring, 2, "shifted-ring:16x5"),
    "circulant": Form(families.circulant, 0, "circulant:16x3x4"),
    "directed-circulant": Form(families.directed_circulant, 0, "directed-circulant:6x1x2x3x4"),
    "dihedral": Form(families.dihedral, 0, "dihedral:32x1x24x27x28"),
    "kautz": Form(families.kautz, 2, "kautz:2x6"),
    "debruijn": Form(families.de_bruijn, 2, "debruijn:2x4"),
    "modified-debruijn": Form(families.modified_de_bruijn, 2, "modified-debruijn:2x4"),
    "diamond": Form(families.diamond, None, "diamond"),
    "distance-regular": Form(
        distance_regular.distance_regular,
        1,
        "distance-regular:35",
        {named.word: str(size) for size, named in distance_regular.VALENCY_FOUR.items()},
    ),
}


#: What an option of an expression says, in a line.
MEANINGS = {
    "apart": "whether nothing joins the rails",
    "card": "of a machine, the rate of a card, such as 100Gb/s",
    "cards": "network cards of a box (none: one for each rank)",
    "combines": "whether switches can add",
    "dies": "how many of a box take part",
    "endpoint": "share of alpha in sender and receiver, with 2 hop and switch 1",
    "hop": "share of alpha on one link",
    "inc": "which switches add, replicate and take bundles apart: none, box, network or both (default: a machine's)",
    "inside": "what joins the ranks of a box: switch, full-mesh or a torus, such as torus:4x4x4",
    "order": "in which a message travels the axes, such as 1:0 (none: as given)",
    "oversubscription": "how many times less the links up carry than the ranks below send; for each tier: 1:3",
    "ports": "bonded ports of a rank",
    "rails": "on how many rails the cards of a box are; on 1, boxes share a leaf",
    "ranks": "N, where the last box has fewer than the others",
    "replicates": "whether switches can send one block to several",
    "routing": "which way up: fixed, hash of both ends, or spread over all",
    "scatters": "whether switches can take bundles apart",
    "seed": "of the hash of messages over cables (none: spread over all)",
    "switch": "share of alpha in a switch",
    "tie": "which way to the antipode: up or balanced",
    "uplink": "BW of a link up, such as 2 or 1/2",
    "uplinks": "ports of a switch that lead up",
    "without": "what has failed, such as card 11, leaf 1 or a cable 0-1; which box lacks a card counts",
}


class Operation(NamedTuple):
    """What makes a graph from operands: "G" is a topology, "n" a whole number."""

    build: Callable[..., Topology]
    operands: str


#: What an expression can make of topologies without switches, as in line-graph(ring:4).
OPERATIONS: dict[str, Operation] = {
    "line-graph": Operation(operations.line_graph, "G"),
    "degree": Operation(operations.degree_expansion, "Gn"),
    "power": Operation(operations.cartesian_power, "Gn"),
    "product": Operation(operations.cartesian_product, "GG"),
    "transpose": Operation(operations.transpose, "G"),
    "bidirectional": Operation(operations.bidirectional, "G"),
}

#: Other names that the literature has for some.
ALIASES = {"mi250-8x2": "mi250:2,dies=8"}


def find(expression: str) -> Topology:
    """The topology that an expression such as "star:512", "torus:8x8x8" or "boxes:64x8,cards=1" names.

    Args:
        expression: a name, its sizes behind a colon, and options behind commas; or a preset, such as "dgx-h100:64",
            with the options of the topology that it stands for, and card=, the rate of its cards, of which counts what
            the GPUs' slots carry; or the path of a cluster file (.toml), of NCCL's topology file (.xml), or of what
            `nvidia-smi topo -m` printed (.txt); or an operation on expressions, such as "line-graph(circulant:16x3x4)".
            `without=` stands what has failed: "card 3", "leaf 1", or a cable such as "0-1".

    Raises:
        ValueError: for an unknown name or option, or a value that cannot be.

    >>> find("ring:8"), find("boxes:4x8,cards=2,oversubscription=2").tiers[2].bandwidth
    (Topology(ring:8, 8 ranks, 0 switches, 16 links), Fraction(1, 1))
    """
    if expression.count("(") > MOST_NESTED:
        raise ValueError(f"topology {shortened(expression)!r}: at most {MOST_NESTED} operations are taken")
    intact, failed = before_failures(expression)
    if failed:
        machine = intact_machine(expression)
        if machine and machine.cards > machine.gpus and "card" in "".join(failed):
            raise ValueError(f"without {failed[0]}: schedules take all cards of a GPU as one: see colllib predict")
        return without(find(intact), *failed)
    head, *rest = _outside(intact)
    if is_file(expression):
        return topology_of(machine_on(expression, schedules=True))
    if "(" in head:
        return _operation(head, rest)
    name, _, size = head.partition(":")
    if name in PRESETS and ",gpus=" not in expression:
        return _preset(name, size, rest)
    if name not in TOPOLOGIES and machines.named(name):
        own = [option for option in rest if option.partition("=")[0] in ("apart", "inc", "ranks", "seed")]
        if len({option.partition("=")[0] for option in own}) < len(own):
            raise ValueError(f"topology {shortened(expression)!r}: an option is given twice")
        machine = machines.find(",".join([head, *(option for option in rest if option not in own)]))
        return topology_of(machine, **dict(_option(option, "boxes", TOPOLOGIES["boxes"]) for option in own))
    if name not in TOPOLOGIES:
        known = ", ".join(
            [*(form.example for form in list(TOPOLOGIES.values())[:11]), *(f"{box}:2" for box in PRESETS), "other GPUs"]
        )
        raise ValueError(
            f"unknown topology {shortened(expression)!r}: known are {known}, and graphs: colllib list; own wires: "
            "colllib.topology.from_links"
        )
    return _built(f"topology {shortened(expression)!r}", name, size, rest)


def before_failures(expression: str) -> tuple[str, list[str]]:
    """The expression without what has failed, and that.

    >>> before_failures("dgx-h100:8,without=card 3,rails=8")
    ('dgx-h100:8,rails=8', ['card 3'])
    """
    parts = _outside(ALIASES.get(expression.strip(), expression.strip()))
    intact = [part for part in parts if not part.startswith("without=")]
    return ",".join(intact), [part.partition("=")[2] for part in parts if part not in intact]


def _built(what: str, name: str, size: str, options: list[str]) -> Topology:
    """The topology of one of `TOPOLOGIES`; `what` begins the message of an error."""
    form = TOPOLOGIES[name]
    if form.sizes is None:
        if size or options:
            raise ValueError(f"{what}: neither a size nor an option is taken, only {name}")
        return form.build()
    if not size:
        raise ValueError(f"{what}: its size is missing, as in {form.example}")
    sizes = form.words.get(size, size).split("x")
    if len(sizes) != (form.sizes or min(len(sizes), MOST_SIZES)):
        needed = f"{form.sizes} whole number{'s are' if form.sizes > 1 else ' is'} needed"
        if not form.sizes:
            needed = f"at most {MOST_SIZES} sizes are taken"
        raise ValueError(f"{what}: {needed}, as in {form.example}")
    numbers = [whole(f"{what}: the size", part, form.example) for part in sizes]
    keys = [option.partition("=")[0] for option in options]
    if twice := [key for key in form.options if keys.count(key) > 1]:
        raise ValueError(f"{what}: {twice[0]} is given {keys.count(twice[0])} times")
    values = dict(_option(option, name, form) for option in options)
    parts = {part: values.pop(part) for part in _LATENCY if part in values}
    if parts:
        values["latency"] = Latency(**parts)
    return form.build(*numbers, **values) if form.sizes else form.build(tuple(numbers), **values)


def _operation(head: str, options: list[str]) -> Topology:
    name, _, inside = head.partition("(")
    forms = {key: f"{key}({','.join(operation.operands)})" for key, operation in OPERATIONS.items()}
    if name not in OPERATIONS:
        raise ValueError(f"unknown operation {shortened(name)!r}: known are {', '.join(forms.values())}")
    form, (build, kinds) = forms[name], OPERATIONS[name]
    if options:
        raise ValueError(f"{name} takes no option {shortened(options[0])!r}; its operands stand in brackets: {form}")
    if not inside.endswith(")"):
        raise ValueError(f"topology {shortened(head)!r}: its brackets do not close at its end, as in {form}")
    operands: list[str] = []
    for part in _outside(inside[:-1]):
        if operands and "=" in part.partition("(")[0]:
            operands[-1] += f",{part}"  # an option of the topology before it
        else:
            operands.append(part)
    if len(operands) != len(kinds):
        raise ValueError(f"topology {shortened(head)!r}: {len(operands)} operands do not fit {form}")
    what, example = f"topology {shortened(head)!r}: n", f"{name}(ring:4,2)"
    return build(
        *(find(text) if kind == "G" else whole(what, text, example) for kind, text in zip(kinds, operands, strict=True))
    )


def _outside(expression: str) -> list[str]:
    """An expression cut at its commas outside brackets."""
    parts, depth = [""], 0
    for letter in expression:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def _preset(name: str, size: str, options: list[str]) -> Topology:
    count = whole(f"{name}: the size", size, f"{name}:2")
    if count < 1:
        raise ValueError(f"{name}:{count}: must be at least 1")
    preset, rates = PRESETS[name], [option for option in options if option.startswith("card=")]
    stands_for, *fixed = preset.expression(count).split(",")
    if len(rates) > 1:
        raise ValueError(f"{name}:{count}: card is given {len(rates)} times")
    taken = [*TOPOLOGIES["boxes"].options, "card", "gpus", "without"]
    for key in (option.partition("=")[0] for option in options):
        if key not in taken:
            alone = "taken by predict and diagnose alone" if f"{key}=" in machines.OPTIONS else "not taken"
            raise ValueError(f"{name}:{count}: option {shortened(key)!r} is {alone}: take {', '.join(taken)}")
    own = next((option for option in fixed if option.startswith("inside=")), "inside=switch")
    for other in options:
        if other.startswith("inside=") and other != own and "torus" in other + own:
            unlike = f"its bandwidth is that of {own}: take boxes:{count}x…, with --bandwidth"
            raise ValueError(f"{name}:{count}: {shortened(other)!r}: {unlike}")
    for rate in rates:  # as `machines.with_options` takes it
        preset = replace(preset, bandwidth=(preset.bandwidth[0], parse("bandwidth", rate.partition("=")[2])))
        options.remove(rate)
    chosen = {option.partition("=")[0] for option in options}
    if any(option.startswith("inside=") and option != "inside=switch" for option in options):  # links, and no switch
        chosen.add("inc")
    usual = [option for option in fixed if option.partition("=")[0] not in chosen]
    if rates and name in machines.PRESETS:  # such cards may be faster than the GPUs' slots
        cards = [option for option in (*rates, *usual, *options) if option.startswith(("card", "oversubscription="))]
        kind = machines.changed(machines.PRESETS[name], ",".join(cards)).behind_slots
        preset = replace(preset, bandwidth=(preset.bandwidth[0], kind.card))
        options = [re.sub("^(oversubscription=).*", rf"\g<1>{kind.ratio}", one) for one in options]
    topology = find(",".join([stands_for, *usual, *options]))
    # the switches of these machines add and replicate, and take no bundles apart
    return replace(topology, speeds=preset.speeds(topology.levels), scatters=topology.scatters and "inc" in chosen)


def _option(text: str, name: str, form: Form) -> tuple[str, Any]:
    key, _, value = text.partition("=")
    taken = form.options
    if key not in taken:
        listed = ", ".join([*(f"{option} ({default})" for option, default in taken.items()), "without"])
        raise ValueError(f"{name} takes no option {shortened(key)!r}; its options and their defaults: {listed}")
    what = f"option {key} of {name}"
    parameter = signature(form.build, eval_str=True).parameters.get(key)
    kind = Fraction if parameter is None else parameter.annotation  # a part of a latency is a fraction
    if kind is bool:
        if value not in ("true", "false"):
            raise ValueError(f"{what} {shortened(value)!r}: must be true or false")
        return key, value == "true"
    if kind is str:
        return key, value
    if kind in (int, int | None):
        return key, whole(what, value, f"{key}=2")
    if kind == Sequence[int] | None:
        return key, tuple(whole(what, part, f"{key}=1:0") for part in value.split(":"))
    several = value.split(":") if kind == Oversubscription else [value]
    fractions = tuple(_fraction(part, what) for part in several)
    return key, fractions[0] if len(fractions) == 1 else fractions


def _fraction(text: str, what: str) -> Fraction:
    try:
        if not text.isascii() or len(text) > MOST_DIGITS or "e" in text.lower() or "_" in text:
            raise ValueError
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise ValueError(f"{what} {shortened(text)!r}: must be a number or a fraction, such as 2 or 8/3") from None

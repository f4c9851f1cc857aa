"""A cluster of one's own: a short TOML file, and every other way to say which machine is meant."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from colllib.measured import machines
from colllib.measured.devices import read_nccl_xml, read_smi
from colllib.measured.machines import Machine, by_gpu
from colllib.topology import Topology
from colllib.topology.boxes import boxes
from colllib.topology.presets import PRESETS
from colllib.units import parse, shortened

MOST_BYTES = 2**20
_WHOLE = ("boxes", "gpus", "cards")
_KEYS = (*_WHOLE, "gpu", "link", "card", "oversubscription")


def topology_of(machine: Machine) -> Topology:
    """The boxes as a topology, with the speeds of a GPU's links and of a card, and a preset's latencies."""
    narrow = Fraction(machine.oversubscription).limit_denominator(1000)
    made = boxes((machine.boxes, machine.gpus), cards=machine.cards, oversubscription=narrow)
    latencies, _ = PRESETS["dgx-h100"].speeds(made.levels)  # NCCL's of a step, the same for every machine
    return replace(made, speeds=(latencies, (machine.link, *[machine.card] * (made.levels - 1))))


def read_cluster(text: str) -> Machine:
    """A cluster file: boxes, gpus of a box, and a known gpu or the link of one; cards of a box, card, oversubscription.

    Raises:
        ValueError: if it is no TOML, has a key that is not known, lacks one, or a value that cannot be.

    >>> file = ("boxes = 4", "gpus = 8", 'gpu = "h100"', "cards = 4", 'card = "200Gbit/s"', "oversubscription = 2")
    >>> found = read_cluster("\\n".join(file))
    >>> found.ranks, found.rate / 1e9, topology_of(found).name
    (32, 12.5, 'boxes:4x8,cards=4,oversubscription=2')
    """
    try:
        stated = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"cluster file: {error}") from None
    unknown = next((key for key in stated if key not in _KEYS), None)
    if unknown is not None:
        raise ValueError(f"cluster file: unknown key {shortened(unknown)!r}; known are {', '.join(_KEYS)}")
    for key in _WHOLE:
        if key in stated and (type(stated[key]) is not int or not 1 <= stated[key] <= 100_000):
            raise ValueError(f"cluster file: {key} = {shortened(repr(stated[key]))} must be 1 to 100,000")
    if "boxes" not in stated or "gpus" not in stated or not ("gpu" in stated or "link" in stated):
        raise ValueError('cluster file: boxes, gpus and gpu (or link) are needed, as in gpu = "h100"')
    return _cluster(stated)


def _cluster(stated: dict[str, Any]) -> Machine:
    kind = by_gpu(_text(stated, "gpu", "")) if "gpu" in stated else machines.UNKNOWN
    if kind is None:
        raise ValueError(
            f'cluster file: GPU {shortened(stated["gpu"])!r} is not known; give its link = "450GB/s" instead'
        )
    if "link" in stated:
        kind = replace(kind, link=parse("bandwidth", _text(stated, "link", "")), source="a cluster file")
    narrow = stated.get("oversubscription", 1)
    if type(narrow) not in (int, float) or not 1 <= narrow <= 1000:
        raise ValueError(f"cluster file: oversubscription = {shortened(repr(narrow))} must be 1 to 1000")
    card = parse("bandwidth", _text(stated, "card", "")) if "card" in stated else kind.card
    count = stated.get("cards", min(kind.cards, stated["gpus"]))
    made = replace(kind, boxes=stated["boxes"], gpus=stated["gpus"], cards=count, card=card, cards_known=True)
    if "gpu" not in stated:  # nobody knows its slot, so it is not what binds
        made = replace(made, pcie=max(made.pcie, made.cards * card / made.gpus))
    return replace(made, oversubscription=float(narrow))


def _text(stated: dict[str, Any], key: str, default: str) -> str:
    value = stated.get(key, default)
    if not isinstance(value, str):
        raise ValueError(f"cluster file: {key} = {shortened(repr(value))} must be a text in quotes")
    return value


def read_text(path: str) -> str:
    """A small file.

    Raises:
        ValueError: if it cannot be read, is no text, or is over 1 MiB.
    """
    place = Path(path)
    try:
        if not place.is_file() or place.stat().st_size > MOST_BYTES:
            raise ValueError(f"file {shortened(path)!r}: not there, or over 1 MiB")
        return place.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"file {shortened(path)!r}: {error}") from None


def machine_on(text: str, gpu: str = "") -> Machine:
    """The machine that --on names: a preset such as dgx-h100:2, a cluster file (.toml), NCCL's topology file (.xml),
    or what `nvidia-smi topo -m` printed (.txt); the last two are one box.

    Raises:
        ValueError: if it names none.
    """
    if text.endswith(".toml"):
        return read_cluster(read_text(text))
    if text.endswith(".xml"):
        return read_nccl_xml(read_text(text)).machine(gpu)
    if text.endswith(".txt"):
        return read_smi(read_text(text)).machine(gpu)
    return machines.find(text)

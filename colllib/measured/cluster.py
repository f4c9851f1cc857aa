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
from colllib.units import shortened

MOST_BYTES = 2**20


def topology_of(machine: Machine) -> Topology:
    """The boxes as a topology, with the speeds of a GPU's links and of a card, and a preset's latencies."""
    narrow = Fraction(machine.oversubscription).limit_denominator(1000)
    made = boxes((machine.boxes, machine.gpus), cards=machine.cards, oversubscription=narrow)
    latencies, _ = PRESETS["dgx-h100"].speeds(made.levels)  # NCCL's of a step, the same for every machine
    return replace(made, speeds=(latencies, (machine.link, *[machine.card] * (made.levels - 1))))


def read_cluster(text: str) -> Machine:
    """A cluster file: boxes, gpus of a box, a known gpu or the link of one, and the other options of `machines.find`.

    Raises:
        ValueError: if it is no TOML, has a key that is not known, lacks one, or a value that cannot be.

    >>> file = ("boxes = 4", "gpus = 8", 'gpu = "h100"', "cards = 4", 'card = "200Gbit/s"', "oversubscription = 2")
    >>> found = read_cluster("\\n".join(file))
    >>> found.ranks, found.rate / 1e9, topology_of(found).name
    (32, 12.5, 'boxes:4x8,cards=4,oversubscription=2')
    """
    try:
        return _cluster(tomllib.loads(text))
    except ValueError as error:  # of TOML or of a value
        raise ValueError(f"cluster file: {error}") from None


def _cluster(stated: dict[str, Any]) -> Machine:
    if not {"boxes", "gpus"} <= stated.keys() or not {"gpu", "link"} & stated.keys():
        raise ValueError('boxes, gpus and gpu (or link) are needed, as in gpu = "h100"')
    gpu = stated.pop("gpu", None)
    made = machines.UNKNOWN if gpu is None else by_gpu(str(gpu))
    if made is None:
        raise ValueError(f'GPU {shortened(str(gpu))!r} is not known; give its link = "450GB/s" instead')
    for key, value in stated.items():
        made = machines.with_option(made, key, "true" if value is True else str(value))
    if "cards" not in stated:
        made = replace(made, cards=min(made.cards, made.gpus))
    if gpu is None:  # nobody knows its slot, so it is not what binds
        made = replace(made, pcie=max(made.pcie, made.cards * made.card / made.gpus))
    return replace(made, cards_known=True, source="a cluster file" if "link" in stated else made.source)


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
        return read_nccl_xml(read_text(text), gpu)
    if text.endswith(".txt"):
        return read_smi(read_text(text), gpu)
    return machines.find(text)

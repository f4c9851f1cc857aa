"""A machine from a file: a short one of one's own, what `nvidia-smi topo -m` prints, and NCCL's topology file."""

from __future__ import annotations

import re
import tomllib
from contextlib import suppress
from dataclasses import replace
from itertools import combinations
from math import inf
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

from colllib.limits import small_text
from colllib.plain_xml import number, parsed
from colllib.topology import Topology, machines
from colllib.topology.boxes import boxes
from colllib.topology.graph import from_links
from colllib.topology.machines import Machine, by_gpu
from colllib.topology.presets import PRESETS, Preset
from colllib.units import BadText, parse, shortened

#: of a cluster file
KEYS = ("gpu", *re.findall(r"(\w+)=", machines.OPTIONS.partition(" or ")[0]), "alpha", "rails")
MOST_LINKS = 18  # of a GPU: more between all pairs together means that they lead to a switch
MOST_WIRED = 8  # GPUs that were ever joined without one
_BY_LINKS = {6: "v100", 12: "a100", 18: "h100"}
_BY_SM = {70: "v100", 80: "a100", 90: "h100", 100: "b200", 103: "b300"}
_GRACE = {90: "gh200", 100: "gb200", 103: "gb300"}
_PATH = re.compile(r"X|PIX|PXB|PHB|NODE|SYS|SOC|NV(\d{1,2})")


def topology_of(machine: Machine, **options: Any) -> Topology:
    """The boxes as a topology, with its GPU's switches, speeds of links and cards, and NCCL's latencies or a file's.

    One box whose GPUs have more links to some others than to the rest is the graph of these links.

    Args:
        options: others of `boxes`, which even such a box is then.

    >>> topology_of(machines.find("dgx-v100:1")), topology_of(machines.find("dgx-v100:2")).name
    (Topology(8 V100 by their NVLinks, 8 ranks, 0 switches, 32 links), 'boxes:2x8,cards=4')
    """
    latencies, _ = PRESETS["dgx-h100"].speeds(2)  # NCCL's of a step, as for all that are predicted
    inner, outer = machine.alpha or latencies
    if machine.uneven and machine.boxes == 1 and not options:
        pairs = [(a, b) for a in range(machine.gpus) for b in range(machine.gpus) if machine.bonds[a][b]]
        widths, each = [machine.bonds[a][b] for a, b in pairs], sum(machine.bonds[0])
        name, owns = f"{machine.gpus} {machine.name} by their NVLinks", f"{each} NVLinks per rank"
        graph = from_links(name, machine.gpus, pairs, bandwidth=widths, cables=widths, port_model=owns)
        return replace(graph, speeds=((inner,), (machine.link / each,)))
    inc = {(True, False): "box", (False, True): "network", (True, True): "both"}.get(
        (machine.nvls, machine.collnet), "none"
    )
    machine = machine.behind_slots
    cards, card = machine.cards, machine.card
    if cards > machine.gpus:  # several cards of a GPU are one
        cards, card = machine.gpus, card * cards / machine.gpus
    inside, link = machine.joined
    sizes = (machine.boxes, machine.gpus)
    options = {"inc": inc, "rails": machine.rails or None, **options}
    topology = boxes(sizes, cards=cards, oversubscription=machine.ratio, inside=inside, **options)
    further = topology.levels - 1
    return replace(topology, speeds=((inner, *[outer] * further), (link, *[card] * further)), scatters=False)


def machine_on(text: str, gpu: str = "", *, schedules: bool = False) -> Machine:
    """The machine that --on names: a preset such as dgx-h100:2, a cluster file (.toml), NCCL's topology file (.xml),
    or what `nvidia-smi topo -m` printed (.txt); the last two are one box.

    Behind a file, too, stands what differs, as in topo.txt,boxes=2; and the GPU, where the file does not tell it.

    Raises:
        ValueError: if it names none, a file that cannot be read or is over 1 MiB, or rails, but for `schedules`.
    """
    name, *options = text.split(",")
    if (word := text.partition(":")[0]) in {"mi250", "mi250-8x2", *PRESETS} - machines.PRESETS.keys():
        more = "; mi250x has both" if word.startswith("mi250") else ""
        raise BadText(f"{word} has no model here: it has schedules (ladder, describe), no predictions of NCCL{more}")
    machine = _of_a_file(name, options, gpu, text) if is_file(text) else machines.find(text)
    if machine.rails and not schedules:
        raise BadText(f"{shortened(name)}, rails = {machine.rails}: {machines.on_rails(machine)}")
    return machine


def _of_a_file(name: str, options: list[str], gpu: str, text: str) -> Machine:
    if not name.endswith(".toml"):
        gpu = next((option[4:] for option in options if option.startswith("gpu=")), gpu)
        options = [option for option in options if not option.startswith("gpu=")]
    try:
        content = small_text(Path(name))
    except (OSError, ValueError) as error:
        raise ValueError(f"file {shortened(name)!r}: {error}") from None
    if name.endswith(".toml"):
        machine = read_cluster(content)
    else:
        machine = read_nccl_xml(content, gpu) if name.endswith(".xml") else read_smi(content, gpu)
    machine = machines.changed(machine, ",".join(options)) if options else machine
    if not (machine.cards_known or machine.linked):
        machines.check_cards(machine, text)
    return machine


def preset_of(on: str) -> Preset | None:
    """What is known of the GPU of a machine, by its preset, or by its name where that or a file tells it, or nothing.

    >>> preset_of("h100:2").memory, preset_of("superpod:4").note[:9], preset_of("star:8")
    (80000000000.0, 'its cards', None)
    """
    name, machine = on.partition(":")[0], intact_machine(on)
    if machine:
        name = {kind.name: preset for preset, kind in machines.PRESETS.items()}.get(machine.name, name)
    return PRESETS.get(name)


def note_of(on: str) -> str:
    """What the model of a machine leaves out, or nothing.

    >>> note_of("v100:2")[-17:], note_of("dgx-a100:2"), note_of("star:8")
    ('stand as one port', '', '')
    """
    known = preset_of(on) or intact_machine(on)
    return known.note if known else ""


def intact_machine(on: str) -> Machine | None:
    """The machine without what has failed, or nothing."""
    with suppress(ValueError):  # what is wrong with it the command says
        return machine_on(",".join(part for part in on.split(",") if not part.startswith("without=")), schedules=True)
    return None


def is_file(expression: str) -> bool:
    """Whether it names a file and no topology or preset: by the end of its name.

    >>> is_file("topo.txt,boxes=2"), is_file("dgx-h100:2")
    (True, False)
    """
    return expression.split(",")[0].endswith((".toml", ".xml", ".txt"))


def read_cluster(text: str) -> Machine:
    """A cluster file: boxes, gpus of a box, a known gpu or the link of one, and the options of `machines.with_options`
    but without=; for schedules also alpha, a time in a box and one between boxes, and rails.

    Raises:
        ValueError: if it is no TOML, has a key that is not known, lacks one, or a value that cannot be.

    >>> file = ("boxes = 4", "gpus = 8", 'gpu = "h100"', "cards = 4", 'card = "200Gbit/s"', "oversubscription = 2")
    >>> machine = read_cluster("\\n".join(file))
    >>> machine.ranks, machine.rate / 1e9, topology_of(machine).name
    (32, 12.5, 'boxes:4x8,cards=4,oversubscription=2,inc=box')
    """
    try:
        return _cluster(tomllib.loads(text))
    except ValueError as error:  # of TOML or of a value
        raise ValueError(f"cluster file: {error}") from None


def _cluster(stated: dict[str, Any]) -> Machine:
    if not {"boxes", "gpus"} <= stated.keys() or not {"gpu", "link"} & stated.keys():
        raise ValueError('boxes, gpus and gpu (or link) are needed, as in gpu = "h100"')
    for key in stated.keys() - KEYS:
        raise ValueError(f"key {shortened(key)!r}: known are {', '.join(KEYS)}")
    if not {"gpu", "card"} & stated.keys() and stated["boxes"] != 1:
        raise ValueError('without gpu the cards are needed, too, as in cards = 4 and card = "400Gb/s"')
    gpu, alpha = (stated.pop(key, None) for key in ("gpu", "alpha"))
    machine = machines.UNKNOWN if gpu is None else by_gpu(str(gpu))
    if machine is None:
        raise ValueError(f'GPU {shortened(str(gpu))!r} is not known; give its link = "450GB/s" instead')
    options = {key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in stated.items()}
    machine = machines.with_options(machine, options)
    if alpha is not None:
        machine = replace(machine, alpha=_latencies(str(alpha)))
    if gpu is None:  # nobody knows its slot, so it is not what binds
        machine = replace(machine, pcie=max(machine.pcie, machine.cards * machine.card / machine.gpus))
    return replace(machine, cards_known=True, source="a cluster file" if "link" in stated else machine.source)


def _latencies(text: str) -> tuple[float, ...]:
    times = tuple(parse("time", part.strip()) for part in text.split(","))
    if len(times) != 2:
        raise ValueError(f'alpha {shortened(text)!r}: a time in a box and one between boxes, as in "0.6us,2.7us"')
    return times


def read_smi(text: str, gpu: str = "") -> Machine:
    """The box of a matrix that `nvidia-smi topo -m` prints; `gpu` is its GPU, where the number of links does not tell.

    Raises:
        ValueError: if there is no matrix, a row has another length than the header, a cell is unknown, by line, or
            nothing tells the GPU.

    >>> box = read_smi("     GPU0 GPU1 NIC0\\nGPU0  X   NV12 PIX\\nGPU1 NV12  X   SYS\\nNIC0 PIX  SYS   X")
    >>> box.name, box.gpus, box.cards, box.far
    ('A100', 2, 1, 0)
    """
    header: list[str] = []
    rows: dict[str, dict[str, str]] = {}
    for line_number, line in enumerate(re.sub(r"\x1b\[[0-9;]*m", "", text).splitlines(), 1):
        name, *cells = line.split() or [""]
        if not header and name == "GPU0" and not (cells and _PATH.fullmatch(cells[0])):
            header = [word for word in (name, *cells) if re.fullmatch(r"GPU\d{1,3}|NIC\d{1,3}|[a-z]\w*\d", word)]
        elif name in header and name not in rows:
            rows[name] = dict(zip(header, cells, strict=False))
            if wrong := [cell for cell in rows[name].values() if not _PATH.fullmatch(cell)]:
                raise ValueError(f"nvidia-smi topo, line {line_number}: cell {shortened(wrong[0])!r}")
            if len(cells) < len(header) or rows[name][name] != "X":
                raise ValueError(f"nvidia-smi topo, line {line_number}: the row of {name} does not fit the header")
    gpus = [name for name in header if name.startswith("GPU")]
    if not gpus or rows.keys() != set(header):
        raise ValueError("no whole matrix of nvidia-smi topo -m: paste it from its header line on")
    bonds = tuple(tuple(int(rows[a][b].partition("NV")[2] or 0) for b in gpus) for a in gpus)
    links = [sum(row) if sum(row) <= MOST_LINKS else max(row) for row in bonds]
    # but for Volta's, a pair without links means bridges
    all_linked = max(links) == 6 or all(row.count(0) == 1 for row in bonds)
    cards = [name for name in header if name not in gpus]
    near = [card for card in cards if any(rows[gpu][card] in ("PIX", "PXB") for gpu in gpus)]
    used = near or cards  # NCCL takes what is near, and leaves the others to storage and management
    kind = gpu or (_BY_LINKS.get(max(links), "") if all_linked else "")
    return _box(len(gpus), len(used), 0, len(used) - len(near), kind, links, bonds)


def read_nccl_xml(text: str, gpu: str = "") -> Machine:
    """The box of the file that NCCL writes to `NCCL_TOPO_DUMP_FILE`; `gpu` names it, where the architecture does not.

    Raises:
        ValueError: if it is no such file, a number in it is none, or nothing tells the GPU.

    >>> box = read_nccl_xml('<system version="1"><cpu><pci><gpu dev="0" sm="90"><nvlink count="18"/></gpu></pci>'
    ...                     '<nic><net name="mlx5_0" dev="0" speed="400000" gdr="1"/></nic></cpu></system>')
    >>> box.name, box.gpus, box.cards, box.card / 1e9
    ('H100', 1, 1, 50.0)
    """
    system = parsed(text, "system")
    gpus = list(system.iter("gpu"))
    if not gpus:
        raise ValueError("a topology file without <gpu>")
    links = [sum(number(link, "count") for link in element.iter("nvlink")) for element in gpus]
    # NVL72: 18 hosts
    nets = {(cpu.get("host_hash"), number(net, "dev")): net for cpu in system for net in cpu.iter("net")}
    fastest = max((number(net, "speed", 1) for net in nets.values()), default=0)
    used = [net for net in nets.values() if number(net, "speed") * 4 > fastest]  # not a management port
    far = sum(net.get("gdr", "1") == "0" for net in used)
    kinds = {_kind(element, len(gpus)) for element in gpus if element.get("sm")}
    kind = gpu or (kinds.pop() if len(kinds) == 1 else "")
    place = {gpu: pci.get("busid", "") for pci in system.iter("pci") for gpu in pci.findall("gpu")}
    count = {(place.get(gpu), link.get("target")): number(link, "count") for gpu in gpus for link in gpu.iter("nvlink")}
    few = gpus[: MOST_WIRED + 1]
    bonds = tuple(tuple(count.get((place.get(a), place.get(b)), 0) * (a is not b) for b in few) for a in few)
    machine = _box(len(gpus), len(used), fastest * 1e6 / 8, far, kind, links, bonds)
    slot, before_cards = (_slot(system, tag) for tag in ("gpu", "nic"))
    if slot < machine.pcie:
        machine = replace(machine, pcie=slot, link=machine.link if machine.linked else slot)
    if before_cards < min(machine.card, machine.pcie):
        machine = replace(machine, card=before_cards)
    vendors = {cpu.get("vendor") for cpu in system.iter("cpu")} & {"AuthenticAMD", "GenuineIntel"}
    return replace(machine, processor="amd" if "AuthenticAMD" in vendors else "intel") if vendors else machine


def _slot(system: Element, tag: str) -> float:
    """What the narrowest slot of a GPU or a card carries; one that a virtual machine does not tell carries all."""
    rates = [inf]
    for pci in system.iter("pci"):
        speed = re.match(r"(\d{1,3}(\.\d)?) ?GT/s", pci.get("link_speed", ""))
        lanes = re.fullmatch(r"[1-9]\d?", pci.get("link_width", ""))
        if speed and lanes and pci.find(tag) is not None:
            each = float(speed[1]) / 8  # of 128 bits in 130, as in machines.csv, or of 8 in 10
            rates.append(int(lanes[0]) * each * (15.75e9 / 16 if each >= 1 else 0.8e9))
    return min(rates)


def _kind(gpu: Element, gpus: int) -> str:
    """By the architecture; in a PCIe slot where NVLinks lead neither to a switch nor to all others."""
    sm, links = number(gpu, "sm"), list(gpu.iter("nvlink"))
    kind = (_BY_SM if gpu.find("c2c") is None else _GRACE).get(sm, "")
    peers = [link for link in links if link.get("tclass", "").startswith("0x03")]
    apart = len(peers) == len(links) < (1 if sm == 70 else gpus - 1)
    return f"{kind.upper()} PCIe" if kind and apart and gpus > 1 else kind


def _box(gpus: int, cards: int, card: float, far: int, kind: str, links: list[int], bonds: machines.Bonds) -> Machine:
    machine, count = by_gpu(kind), f"{max(links)} NVLinks"
    odd = ", ".join(f"GPU {k} has {n}" for k, n in enumerate(links) if n < max(links))
    if odd:
        count = f"{shortened(odd)} NVLinks, the others {max(links)}"
    if machine is None:
        if kind:
            raise ValueError(f"GPU {shortened(kind)!r}: known are {', '.join(machines.GPUS)}")
        raise ValueError(
            f"the file does not tell the GPU ({count}): say it behind a comma, as in gpu=rtx4090 or gpu=a100pcie"
        )
    if odd and machine.linked:
        raise ValueError(f"{count}: no machine that is predicted; nvidia-smi nvlink -s says which are down")
    differ = len({bonds[a][b] for a, b in combinations(range(len(bonds)), 2)}) > 1
    straight = len(bonds) == gpus <= MOST_WIRED and {*map(sum, bonds)} == {*map(sum, machine.bonds)}
    bonds = bonds if differ and straight and machines.narrowest(bonds) > 0 else ()
    cards = cards or max(1, machine.cards * gpus // machine.gpus)
    machine = replace(machine, gpus=gpus, cards=cards, far=far, bonds=bonds)
    return replace(machine, card=card, cards_known=True) if card else machine

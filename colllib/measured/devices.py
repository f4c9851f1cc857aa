"""Boxes as their own tools describe them: `nvidia-smi topo -m`, and NCCL's topology file."""

from __future__ import annotations

import re
from dataclasses import replace

from colllib.measured.machines import Machine, by_gpu
from colllib.plain_xml import number, parsed
from colllib.units import shortened

_PATH = re.compile(r"X|PIX|PXB|PHB|NODE|SYS|SOC|NV(\d{1,2})")
MOST_LINKS = 18  # of a GPU: more between all pairs together means that they lead to a switch
_BY_LINKS = {6: "v100", 12: "a100", 18: "h100"}
_BY_SM = {70: "v100", 80: "a100", 90: "h100", 100: "b200", 103: "b200"}


def _box(gpus: int, cards: int, card: float, far: int, kind: str, links: int) -> Machine:
    made = by_gpu(kind)
    if made is None:
        raise ValueError(f"the file does not tell the GPU ({links} NVLinks): say --gpu h100, or take a cluster file")
    made = replace(made, gpus=gpus, cards=cards or max(1, made.cards * gpus // made.gpus), far=far)
    return replace(made, card=card, cards_known=True) if card else made


def read_smi(text: str, gpu: str = "") -> Machine:
    """The box of a matrix that `nvidia-smi topo -m` prints.

    Args:
        text: the matrix, with or without what stands around it.
        gpu: its name, where the number of links does not tell it.

    Raises:
        ValueError: if there is no matrix, a row has another length than the header, a cell is unknown, by line, or
            nothing tells the GPU.

    >>> found = read_smi("     GPU0 GPU1 NIC0\\nGPU0  X   NV12 PIX\\nGPU1 NV12  X   SYS\\nNIC0 PIX  SYS   X")
    >>> found.name, found.gpus, found.cards, found.far
    ('A100', 2, 1, 0)
    """
    header: list[str] = []
    rows: dict[str, list[str]] = {}
    for at, line in enumerate(re.sub(r"\x1b\[[0-9;]*m", "", text).splitlines(), 1):
        words = line.split()
        if not header and words[:1] == ["GPU0"] and (len(words) < 2 or not _PATH.fullmatch(words[1])):
            header = [word for word in words if re.fullmatch(r"GPU\d{1,3}|NIC\d{1,3}|[a-z]\w*\d", word)]
        elif header and words and words[0] in header and words[0] not in rows:
            cells = words[1 : 1 + len(header)]
            wrong = next((cell for cell in cells if not _PATH.fullmatch(cell)), "")
            if len(cells) != len(header) or wrong or cells[header.index(words[0])] != "X":
                what = f"cell {shortened(wrong)!r}" if wrong else f"the row of {words[0]} does not fit the header"
                raise ValueError(f"nvidia-smi topo, line {at}: {what}")
            rows[words[0]] = cells
    gpus = [name for name in header if name.startswith("GPU")]
    if not gpus or any(name not in rows for name in header):
        raise ValueError("no whole matrix of nvidia-smi topo -m: paste it from its header line on")
    places = {name: k for k, name in enumerate(header)}
    bonds = [[int(rows[a][places[b]].partition("NV")[2] or 0) for b in gpus if b != a] for a in gpus]
    most = max((sum(row) if sum(row) <= MOST_LINKS else max(row) for row in bonds), default=0)
    cards = [name for name in header if name not in gpus]
    near = sum(any(rows[gpu][places[card]] in ("PIX", "PXB") for gpu in gpus) for card in cards)
    return _box(len(gpus), len(cards), 0, len(cards) - near, gpu or _BY_LINKS.get(most, ""), most)


def read_nccl_xml(text: str, gpu: str = "") -> Machine:
    """The box of the file that NCCL writes to `NCCL_TOPO_DUMP_FILE`, without entities or external references.

    Args:
        text: the file.
        gpu: its name, where the architecture does not tell it.

    Raises:
        ValueError: if it is no such file, a number in it is none, or nothing tells the GPU.

    >>> found = read_nccl_xml('<system version="1"><cpu><pci><gpu dev="0" sm="90"><nvlink count="18"/></gpu></pci>'
    ...                       '<nic><net name="mlx5_0" dev="0" speed="400000" gdr="1"/></nic></cpu></system>')
    >>> found.name, found.gpus, found.cards, found.card / 1e9
    ('H100', 1, 1, 50.0)
    """
    system = parsed(text, "system")
    gpus = list(system.iter("gpu"))
    if not gpus:
        raise ValueError("a topology file without <gpu>")
    links = max(sum(number(link, "count") for link in each.iter("nvlink")) for each in gpus)
    nets = {number(net, "dev"): net for net in system.iter("net")}
    speeds = sorted(number(net, "speed", 1) for net in nets.values())
    fast = [net for net in nets.values() if number(net, "speed") * 4 > speeds[-1]]  # not a management port
    far = sum(net.get("gdr", "1") == "0" for net in fast)
    card = speeds[-1] * 1e6 / 8 if speeds else 0
    kinds = {_BY_SM.get(number(each, "sm"), "") for each in gpus if each.get("sm")}
    return _box(len(gpus), len(fast), card, far, gpu or (kinds.pop() if len(kinds) == 1 else ""), links)

"""Schedules for MSCCL: written as its XML, and that XML run on numpy buffers in two orders, to check what was exported.

In the file each pair of GPUs has a thread block that sends and one that receives. A step waits for
one step of another thread block of its GPU; where it must wait for more, `nop` steps before it do.
A receive with a sum (`rrc`) is an add, a receive (`r`) a copy.

Source: microsoft/msccl, src/graph/topo.cc and xml.h (what its reader takes), src/include/msccl.h (limits),
src/collectives/device/msccl_interpreter.h (how a file is executed). Azure/msccl-executor-nccl, makefiles/common.mk
and src/misc/msccl/msccl_parser.cc (what is different there).
"""

from __future__ import annotations

import itertools
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.etree.ElementTree import Element
from xml.sax.saxutils import quoteattr

import numpy as np
from numpy.typing import NDArray

from colllib.buffers import counts, fitting, inputs, outputs
from colllib.plain_xml import number, parsed
from colllib.primitives import PRIMITIVES
from colllib.schedule import Schedule
from colllib.units import shortened

#: Primitive -> MSCCL's name, and the buffer that holds all of M in place.
COLLECTIVES = {
    "all-reduce": ("allreduce", "i"),
    "all-gather": ("allgather", "o"),
    "reduce-scatter": ("reduce_scatter", "i"),
}
MOST_STEPS, MOST_COUNT, MOST_GPUS, MOST_ELEMENTS = 256, 71, 1024, 4095
AZURE_STEPS = 64  # as Azure's executor is built by default
MOST_PEERS = 32  # on a channel, in each direction
#: Thread blocks wait for each other, so all must run at once: on an A100, a block of 17 warps with 96 registers a
#: thread on each of 108 processors. (MSCCL names them in 8 bits, so no GPU runs over 128.)
MOST_BLOCKS = 108
IN_FLIGHT = 2  # chunks sent and not yet received: with protocol Simple each takes half of a connection's buffer
MOST_BYTES = 2**63 - 1  # of a message; where a file says nothing MSCCL takes it below 128 MiB only
_KINDS = ("s", "r", "rrc", "nop")
Values = NDArray[np.int64]
_Wires = dict[tuple[int, int, int], deque[tuple[int, int]]]  # by sender, receiver and channel: values, with counts


@dataclass
class _Step:
    kind: str
    source: int  # first chunk that it reads
    target: int  # and that it writes
    count: int
    waits: tuple[int, int] = (-1, -1)  # for a thread block's step
    has_dependents: bool = False


@dataclass
class _Gpu:
    """Thread blocks of a GPU by (direction, peer), and for each chunk the thread blocks and steps that used it last."""

    blocks: dict[tuple[str, int], int] = field(default_factory=dict)
    steps: list[list[_Step]] = field(default_factory=list)
    written: dict[int, tuple[int, int]] = field(default_factory=dict)
    read: dict[int, list[tuple[int, int]]] = field(default_factory=dict)  # since it was written

    def add(self, direction: str, peer: int, kind: str, first: int, count: int) -> None:
        """A step behind everything that it must not overtake."""
        block = self.blocks.setdefault((direction, peer), len(self.blocks))
        if block == len(self.steps):
            self.steps.append([])
        chunks = range(first, first + count)
        dependencies = {self.written[chunk] for chunk in chunks if chunk in self.written}
        if kind != "s":
            dependencies |= {reader for chunk in chunks for reader in self.read.get(chunk, ())}
        latest: dict[int, int] = {}
        for other, place in dependencies:
            if other != block:  # the own thread block keeps its order anyway
                latest[other] = max(place, latest.get(other, 0))
        waits = sorted(latest.items())
        for dependency in waits[:-1]:
            self._append(block, _Step("nop", 0, 0, 0), dependency)
        self._append(block, _Step(kind, first, first, count), waits[-1] if waits else None)
        added = (block, len(self.steps[block]) - 1)
        for chunk in chunks:
            if kind == "s":
                self.read.setdefault(chunk, []).append(added)
            else:
                self.written[chunk] = added
                self.read[chunk] = []

    def _append(self, block: int, step: _Step, wait: tuple[int, int] | None) -> None:
        if wait is not None:
            step.waits = wait
            self.steps[wait[0]][wait[1]].has_dependents = True
        self.steps[block].append(step)


def export(schedule: Schedule, primitive: str, name: str) -> str:
    """The XML of a schedule.

    Args:
        schedule: of all-reduce, all-gather or reduce-scatter, without switches.
        primitive: which of them.
        name: of the algorithm, for the file.

    Raises:
        ValueError: for a primitive not known or not the schedule's, switches or a path over another GPU (which way a
            message takes through switches is the network's affair), or what is beyond the limits: 256 steps of a thread
            block, 108 thread blocks of a GPU, 71 chunks a step, 4095 XML elements that a GPU keeps.

    >>> from colllib import algorithms
    >>> text = export(algorithms.find("all-reduce", "ring").build(4), "all-reduce", "ring")
    >>> run(text, seed=1)
    ('allreduce', 4)
    """
    if primitive not in COLLECTIVES:
        raise ValueError(f"no MSCCL file for {primitive}: take {', '.join(COLLECTIVES)}")
    if not schedule.makes(PRIMITIVES[primitive]):
        raise ValueError(f"{schedule!r} is no {primitive} of one message M among all ranks")
    if schedule.switches:
        raise ValueError("a schedule in which switches take part: MSCCL runs on GPUs alone")
    for path in schedule.paths.nodes if schedule.paths else ():
        if over := [node for node in path[1:-1] if node < schedule.ranks]:
            raise ValueError(f"a message from GPU {path[0]} to {path[-1]} over GPU {over[0]}: MSCCL sends straight")
    first, count = _chunks(schedule, primitive)
    gpus = [_Gpu() for _ in range(schedule.ranks)]
    has_chunks = np.array(count) > 0  # of a block without any there is nothing to send
    for step in schedule.steps:
        messages = list(zip(*(column.tolist() for column in step.taken(has_chunks[step.block])), strict=True))
        for source, target, block, _ in messages:  # all of a step read the state before it
            gpus[source].add("send", target, "s", first[block], count[block])
        for source, target, block, adds in messages:
            gpus[target].add("recv", source, "rrc" if adds else "r", first[block], count[block])
    _check(gpus, max(count))
    return "\n".join(_lines(gpus, primitive, name, sum(count)))


def _chunks(schedule: Schedule, primitive: str) -> tuple[list[int], list[int]]:
    """The place and the number of chunks of each block."""
    blocks = schedule.blocks
    count = counts(blocks, fitting(blocks))
    whole, part = (outputs, inputs) if primitive == "all-gather" else (inputs, outputs)
    if len({int(count[part(blocks, rank)].sum()) for rank in range(schedule.ranks)}) > 1:
        raise ValueError(f"an {primitive} with shards of several sizes: MSCCL takes equal ones")
    order = whole(blocks, 0)
    first = np.empty_like(count)
    first[order] = np.cumsum(count[order]) - count[order]
    return first.tolist(), count.tolist()


def _check(gpus: list[_Gpu], most: int) -> None:
    steps = max((len(steps) for gpu in gpus for steps in gpu.steps), default=0)
    elements = 1 + len(gpus) + max(len(gpu.steps) + sum(map(len, gpu.steps)) for gpu in gpus)
    for what, value, whose, limit in (
        ("steps of a thread block", steps, "Microsoft's MSCCL takes", MOST_STEPS),
        ("thread blocks of a GPU", max(len(gpu.steps) for gpu in gpus), "an A100 runs", MOST_BLOCKS),
        ("chunks in a step", most, "MSCCL takes", MOST_COUNT),
        ("XML elements of a GPU", elements, "MSCCL takes", MOST_ELEMENTS),
    ):
        if value > limit:
            raise ValueError(f"{value} {what}: {whose} at most {limit}")


def _channels(gpus: list[_Gpu]) -> dict[tuple[int, int], int]:
    """For each sender and receiver the first channel that has room at both ends, which must use the same one."""
    channels: dict[tuple[int, int], int] = {}
    taken: Counter[tuple[str, int, int]] = Counter()
    for source, gpu in enumerate(gpus):
        for target in (peer for direction, peer in gpu.blocks if direction == "send"):
            room = (
                c for c in itertools.count() if max(taken["send", source, c], taken["recv", target, c]) < MOST_PEERS
            )
            channel = channels[source, target] = next(room)
            taken.update([("send", source, channel), ("recv", target, channel)])
    return channels


def _lines(gpus: list[_Gpu], primitive: str, name: str, chunks: int) -> Iterator[str]:
    collective, buffer = COLLECTIVES[primitive]
    shard = chunks // len(gpus)
    inputs = shard if primitive == "all-gather" else chunks
    outputs = shard if primitive == "reduce-scatter" else chunks
    channels = _channels(gpus)
    nchannels = 1 + max(channels.values(), default=0)
    yield (
        f'<algo name={quoteattr(name)} proto="Simple" nchannels="{nchannels}" nchunksperloop="{chunks}" '
        f'ngpus="{len(gpus)}" coll="{collective}" inplace="1" outofplace="0" minBytes="0" maxBytes="{MOST_BYTES}">'
    )
    for rank, gpu in enumerate(gpus):
        yield f'  <gpu id="{rank}" i_chunks="{inputs}" o_chunks="{outputs}" s_chunks="0">'
        for (direction, peer), block in gpu.blocks.items():
            send, receive = (peer, -1) if direction == "send" else (-1, peer)
            channel = channels[(rank, peer) if direction == "send" else (peer, rank)]
            yield f'    <tb id="{block}" send="{send}" recv="{receive}" chan="{channel}">'
            for s, step in enumerate(gpu.steps[block]):
                other, place = step.waits
                buffers = f'srcbuf="{buffer}" srcoff="{step.source}" dstbuf="{buffer}" dstoff="{step.target}"'
                waits = f'depid="{other}" deps="{place}" hasdep="{int(step.has_dependents)}"'
                yield f'      <step s="{s}" type="{step.kind}" {buffers} cnt="{step.count}" {waits}/>'
            yield "    </tb>"
        yield "  </gpu>"
    yield "</algo>"


def chunks(text: str) -> int:
    """Into how many chunks a file of `export` cuts a message: calls of no multiple of so many elements run NCCL's own.

    >>> chunks('<algo nchunksperloop="48" ngpus="8">')
    48
    """
    return int(text.partition('nchunksperloop="')[2].partition('"')[0])


def for_azure(text: str) -> str:
    """What Azure's executor needs before it takes a file of `export`, empty if nothing.

    >>> for_azure('<algo coll="reduce_scatter">')
    'coll="reducescatter"'
    """
    needs = {
        'coll="reduce_scatter"': 'coll="reducescatter"',
        f'<step s="{AZURE_STEPS}"': f"MSCCL_MAX_NUM_STEPS={MOST_STEPS} when it is built",
    }
    return " and ".join(need for sign, need in needs.items() if sign in text)


@dataclass
class _Block:
    send: int
    recv: int
    channel: int
    steps: list[_Step]
    steps_done: int = 0
    chunks_done: int = 0  # of the next step


def run(text: str, *, seed: int = 0) -> tuple[str, int]:
    """Execute an MSCCL file on numpy buffers, in two orders of thread blocks, and compare what each ends with.

    Args:
        text: the XML, in the part of the format that `export` writes: in place, send, receive, receive with a
            sum, and nop.
        seed: of the inputs.

    Returns:
        the collective's name in MSCCL, and the number of GPUs.

    Raises:
        ValueError: if the file cannot be read, uses what is not defined, never ends where a connection holds
            `IN_FLIGHT` chunks, leaves something unreceived, or ends with a wrong value, which is named by GPU and
            chunk.
    """
    algo = parsed(text, "algo")
    collective, size, chunks = algo.get("coll"), number(algo, "ngpus", 1), number(algo, "nchunksperloop", 1)
    known = {name for name, _ in COLLECTIVES.values()}
    if collective not in known:
        raise ValueError(f"coll = {shortened(repr(collective))}: known are {', '.join(sorted(known))}")
    if size > MOST_GPUS or chunks > MOST_GPUS * MOST_COUNT or (collective != "allreduce" and chunks % size):
        raise ValueError(f"{chunks} chunks on {size} GPUs: too many, or not the same for each")
    inputs = np.random.default_rng(seed).integers(1, 2**40, (size, chunks))
    for receives_first in (False, True):  # thread blocks may run in any order
        # for an all-gather each GPU has its own chunks only
        buffers = np.where(_own(inputs), inputs, 0) if collective == "allgather" else inputs.copy()
        _execute(_read(algo, size, chunks), buffers, receives_first=receives_first)
        _compare(buffers, inputs, collective)
    return collective, size


def _read(algo: Element, size: int, chunks: int) -> list[list[_Block]]:
    gpus: dict[int, list[_Block]] = {}
    channels = number(algo, "nchannels", 1)
    for gpu in algo:
        rank = number(gpu, "id")
        if gpu.tag != "gpu" or rank >= size or rank in gpus:
            raise ValueError(f"<{shortened(gpu.tag)}> with id {rank}: each of {size} <gpu> stands once")
        blocks = []
        for k, tb in enumerate(gpu):
            if tb.tag != "tb" or number(tb, "id") != k:
                raise ValueError(f"GPU {rank}: thread block {k} is not the next <tb>")
            send, receive, channel = number(tb, "send", -1), number(tb, "recv", -1), number(tb, "chan")
            if max(send, receive) >= size or channel >= channels:
                raise ValueError(f"GPU {rank}, thread block {k}: a peer over {size - 1} or channel over {channels - 1}")
            steps = [_read_step(step, s, rank, chunks) for s, step in enumerate(tb)]
            blocks.append(_Block(send, receive, channel, steps))
        for block in blocks:
            for step in block.steps:
                other, place = step.waits
                if other >= len(blocks) or (other >= 0 and place >= len(blocks[other].steps)):
                    raise ValueError(f"GPU {rank}: a step waits for {other}, {place}, which is not there")
        gpus[rank] = blocks
    if len(gpus) < size:
        raise ValueError(f"the file has not all of {size} GPUs")
    return [gpus[rank] for rank in range(size)]


def _read_step(step: Element, s: int, rank: int, chunks: int) -> _Step:
    kind = step.get("type", "")
    if step.tag != "step" or number(step, "s") != s or kind not in _KINDS:
        raise ValueError(f"GPU {rank}: step {s} is not the next one of type {', '.join(_KINDS)}")
    source, target = number(step, "srcoff"), number(step, "dstoff")
    count = number(step, "cnt", 0 if kind == "nop" else 1)
    if max(source, target) + count > chunks or step.get("srcbuf") != step.get("dstbuf"):
        raise ValueError(f"GPU {rank}, step {s}: beyond {chunks} chunks, or from one buffer to another")
    return _Step(kind, source, target, count, (number(step, "depid", -1), number(step, "deps", -1)))


def _own(inputs: Values) -> NDArray[np.bool_]:
    """Which chunks are of each GPU's own shard."""
    gpus, chunks = inputs.shape
    return np.repeat(np.eye(gpus, dtype=np.bool_), chunks // gpus, axis=1)


def _execute(gpus: list[list[_Block]], buffers: Values, *, receives_first: bool) -> None:
    """Run the thread blocks as they stand, or from the last one on, where what is sent is received at once."""
    wires: _Wires = {}
    onward = -1 if receives_first else 1
    moving = True
    while moving:
        moving = False
        for rank, blocks in list(enumerate(gpus))[::onward]:
            for block in blocks[::onward]:
                while _advance(block, rank, blocks, buffers, wires):
                    moving = True
                    peers = gpus[block.send] if receives_first and block.send >= 0 else []
                    receiving = [peer for peer in reversed(peers) if peer.recv >= 0]
                    while any(_advance(peer, block.send, peers, buffers, wires) for peer in receiving):
                        pass
    for rank, blocks in enumerate(gpus):
        for k, block in enumerate(blocks):
            if block.steps_done < len(block.steps):
                stuck = f"thread block {k} of GPU {rank}"
                raise ValueError(f"deadlock with {IN_FLIGHT} chunks in flight: {stuck} waits for ever")
    if any(wires.values()):
        raise ValueError("something that was sent is never received")


def _advance(
    block: _Block,
    rank: int,
    blocks: list[_Block],
    buffers: Values,
    wires: _Wires,
) -> bool:
    """Move the next chunk of the next step, if there is one and it can be moved."""
    if block.steps_done == len(block.steps):
        return False
    step = block.steps[block.steps_done]
    other, place = step.waits
    if other >= 0 and blocks[other].steps_done <= place:
        return False
    source, target = step.source + block.chunks_done, step.target + block.chunks_done
    if step.kind == "s":
        wire = wires.setdefault((rank, block.send, block.channel), deque())
        if len(wire) == IN_FLIGHT:
            return False
        wire.append((int(buffers[rank, source]), step.count))
    elif step.kind != "nop":
        arrived = wires.get((block.recv, rank, block.channel))
        if not arrived:
            return False
        value, sent = arrived.popleft()
        if sent != step.count:
            raise ValueError(f"GPU {rank} receives {sent} chunks where it expects {step.count}")
        buffers[rank, target] = value + (buffers[rank, source] if step.kind == "rrc" else 0)
    block.chunks_done += 1
    if block.chunks_done >= step.count:
        block.steps_done += 1
        block.chunks_done = 0
    return True


def _compare(buffers: Values, inputs: Values, collective: str) -> None:
    """Refuse what a GPU ends with if a chunk that it must have differs."""
    expected = inputs[_own(inputs)] if collective == "allgather" else inputs.sum(axis=0)
    wrong = buffers != expected
    if collective == "reduce_scatter":
        wrong &= _own(inputs)
    if wrong.any():
        rank, chunk = np.argwhere(wrong)[0].tolist()
        raise ValueError(f"GPU {rank} ends with a wrong chunk {chunk}")

"""Things that go wrong in a collective: flipped bits, calls that do not match, the order of sums.

A schedule knows what every rank does; here each rank acts alone. `flip` damages one value in transit, and
`run_programs` lets every rank run a program of its own, with messages that wait for their receivers, until all are
done or nobody can move. Late ranks and slow links are the event clock's (`colllib.events.event_clock`).
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from colllib.algorithms import allreduce
from colllib.buffers import Turn, inputs, outputs, turns
from colllib.evaluation import Message, Wire, final_values
from colllib.primitives import check_rank, is_whole
from colllib.schedule import Schedule, Step

Singles = NDArray[np.float32]

# -- flipped bits --------------------------------------------------------------------------------


def flipped(value: Singles, bit: int) -> Singles:
    """A copy of FP32 numbers with one bit of the first flipped; bit 31 is the sign, 23 to 30 the exponent.

    >>> flipped(np.array([1.0, 2.0], dtype=np.float32), bit=31)
    array([-1.,  2.], dtype=float32)
    """
    damaged = np.array(value, dtype=np.float32)
    if not is_whole(bit) or not 0 <= bit < 32 or not damaged.size:
        raise ValueError(f"bit {bit} of {damaged.size} numbers: the first FP32 number has the bits 0 to 31")
    damaged.view(np.uint32)[0] ^= 1 << bit
    return damaged


PHASES = {
    "gradient": "in a rank's gradient, before the collective",
    "sum in memory": "in a partial sum in memory, before it is sent",
    "reduce-scatter wire": "on a link, in the reduce-scatter",
    "all-gather wire": "on a link, in the first step of the all-gather",
    "last hop": "on a link, in the last step",
    "result": "in a rank's result, after the collective",
}


class Flip(NamedTuple):
    """A ring all-reduce in FP32 in which one bit was flipped, and whether each of three checks notices."""

    results: list[Singles]  # what each rank ended with
    wrong: list[int]  # the ranks whose result is not the right one
    link: bool  # a checksum on each link
    hash: bool  # ranks that compare hashes of their results
    total: bool  # a result's sum, which differs from that of all gradients by more than rounding


def flip(gradients: Sequence[Singles], phase: str, *, rank: int = 1, bit: int = 26) -> Flip:
    """Run a ring all-reduce on the gradients, one vector per rank, and flip one bit.

    Args:
        phase: one of PHASES.
        rank: which flips it, or sends what is flipped.

    Raises:
        ValueError: for vectors of several lengths, fewer than three or shorter than ranks; another phase, rank or bit.

    >>> data = [np.ones(4, dtype=np.float32)] * 4
    >>> [flip(data, phase).wrong for phase in ("gradient", "all-gather wire", "last hop")]
    [[0, 1, 2, 3], [0, 2, 3], [2]]
    """
    if phase not in PHASES:
        raise ValueError(f"phase {phase!r}: must be one of {', '.join(PHASES)}")
    ring = allreduce.ring(len(gradients))
    if ring.ranks < 3 or len({len(g) for g in gradients}) > 1 or len(gradients[0]) < ring.ranks:
        lengths = ", ".join(str(len(g)) for g in gradients)  # between two ranks no partial sum travels
        raise ValueError(f"gradients of lengths {lengths}: three or more of one length, a number for each rank or more")
    check_rank("rank", rank, ring.ranks)
    flip_step = {"all-gather wire": ring.ranks - 1, "last hop": ring.num_steps - 1}.get(phase, 1)
    vectors = [np.array(gradient, dtype=np.float32) for gradient in gradients]
    right = _summed(ring, vectors)
    if phase == "gradient":
        vectors[rank] = flipped(vectors[rank], bit)
    checksum = sum(float(g.sum(dtype=np.float64)) for g in vectors)  # a gradient that was wrong before is one of them

    def wire(sent: Singles, message: Message) -> Singles:
        return flipped(sent, bit) if (message.step, message.src) == (flip_step, rank) else sent

    results = _summed(ring, vectors, None if phase in ("gradient", "result") else wire)
    if phase == "result":
        results[rank] = flipped(results[rank], bit)
    error = np.max([abs(float(result.sum(dtype=np.float64)) - checksum) for result in results])  # NaN if one of them is
    scale = sum(float(np.abs(g).sum(dtype=np.float64)) for g in vectors)
    return Flip(
        results,
        wrong=[k for k, result in enumerate(results) if not np.array_equal(result, right[k])],
        link=phase.endswith(("wire", "hop")),
        hash=len({result.tobytes() for result in results}) > 1,
        total=not error <= len(gradients) * float(np.finfo(np.float32).eps) * scale,
    )


def _summed(
    schedule: Schedule, gradients: Sequence[Singles], wire: Wire | None = None, add: Callable[..., Singles] = np.add
) -> list[Singles]:
    parts = [np.array_split(np.asarray(g, dtype=np.float32), len(schedule.blocks)) for g in gradients]
    return [np.concatenate(row) for row in final_values(schedule, parts, add, wire)]


# -- schedules with a fault ----------------------------------------------------------------------

#: What a rank may do wrong in one step of a schedule.
FAULTS = ("leaves out what it is to send", "sends another block", "swaps this step and the next")


def faulty(schedule: Schedule, fault: str, *, rank: int, step: int) -> Schedule:
    """A schedule in which one rank does one of FAULTS in a step, from 0; run it with `execute(..., proved=False)`.

    Raises:
        ValueError: for another fault or rank, or a step in which this rank does not send.

    >>> ring = allreduce.ring(4)
    >>> first_difference(ring, faulty(ring, FAULTS[1], rank=2, step=3))
    'step 4 of 6: rank 2 should send block 3 to 3, and sends block 0 to 3'
    """
    if fault not in FAULTS:
        raise ValueError(f"fault {fault!r}: must be one of {', '.join(FAULTS)}")
    if fault == FAULTS[1] and len(schedule.blocks) == 1:
        raise ValueError(f"{fault}: there is one alone")
    check_rank("rank", rank, schedule.ranks)
    swaps = fault == FAULTS[2]
    last = schedule.num_steps - 1 - swaps
    if not is_whole(step) or not 0 <= step <= last or rank not in schedule.step(step).src:
        raise ValueError(f"step {step}: must be one from 0 to {last} in which rank {rank} sends")
    sends = [messages.taken(messages.src == rank) for messages in schedule.steps]
    if swaps:
        sends[step], sends[step + 1] = sends[step + 1], sends[step]
    elif fault == FAULTS[1]:
        sends[step] = sends[step]._replace(block=(sends[step].block + 1) % len(schedule.blocks))
    else:
        sends[step] = Step.of([], [], [])
    others = [messages.taken(messages.src != rank) for messages in schedule.steps]
    steps = [Step.joined(pair) for pair in zip(others, sends, strict=True)]
    return Schedule.from_steps(schedule.blocks, steps, schedule.switches)


def first_difference(right: Schedule, other: Schedule) -> str:
    """Where a schedule first leaves another, in one line; steps counted from 1, as a player does; "" if nowhere."""
    steps = max(right.num_steps, other.num_steps)
    due, sent = _sends(right, steps), _sends(other, steps)
    for t, rank in product(range(steps), range(right.ranks)):
        if due[rank][t] != sent[rank][t]:
            should, does = (
                ", ".join(f"block {block} to {dst}" for dst, block in sends[rank][t]) or "nothing"
                for sends in (due, sent)
            )
            swaps = due[rank][t : t + 2] == sent[rank][t : t + 2][::-1]
            line = f"step {t + 1} of {steps}: rank {rank} should send {should}, and sends {does}"
            return f"{line}: it swaps steps {t + 1} and {t + 2}" if swaps else line
    return ""


def _sends(schedule: Schedule, steps: int) -> list[list[list[tuple[int, int]]]]:
    """Destination and block of what each rank sends in each step, in order."""
    sends: list[list[list[tuple[int, int]]]] = [[[] for _ in range(steps)] for _ in range(schedule.ranks)]
    for t, step in enumerate(schedule.steps):
        for src, dst, block in sorted(zip(step.src.tolist(), step.dst.tolist(), step.block.tolist(), strict=True)):
            sends[src][t].append((dst, block))
    return sends


# -- programs that do not match ------------------------------------------------------------------


class Call(NamedTuple):
    """A collective as a rank calls it: by which name, the schedule that it follows, and its own vector."""

    label: str
    schedule: Schedule
    vector: NDArray[Any]


class Outcome(NamedTuple):
    """What became of a set of programs."""

    results: list[list[NDArray[Any]]]  # results[rank][call], the rank's receive buffer, of the calls that it finished
    waits: dict[int, list[int]]  # if nobody can go on, which ranks each rank waits for
    reason: str  # in one line, "" if all finished

    @property
    def cycle(self) -> list[int]:
        """Ranks that wait for one another in a circle, if there are any, from the lowest."""
        import networkx as nx

        waits = nx.DiGraph([(rank, other) for rank, others in self.waits.items() for other in others])
        ranks = next(nx.simple_cycles(waits), [])
        return min((ranks[k:] + ranks[:k] for k in range(len(ranks))), default=[])


def _turns(rank: int, program: Sequence[Call], results: list[NDArray[Any]]) -> Iterator[Turn]:
    """The steps of a rank's calls in which it sends or receives, each done once nothing of it is open."""
    for call in program:
        blocks, vector = call.schedule.blocks, call.vector
        before, after = inputs(blocks, rank).tolist(), outputs(blocks, rank).tolist()
        parts = np.array_split(vector, len(before) or len(blocks))  # who has none receives into all of its vector
        sizes = np.full(len(blocks), len(vector) // len(parts))
        sizes[before or slice(None)] = [len(part) for part in parts]
        values = dict(zip(before, parts, strict=False))  # by block
        yield from (turn for turn in turns(call.schedule, rank, values, sizes) if turn.sends or turn.expects)
        results.append(np.concatenate([vector[:0], *(values[block] for block in after)]))


def run_programs(programs: Sequence[Sequence[Call]]) -> Outcome:
    """Let every rank make its own calls in order; a message leaves when its receiver waits for one from this sender.

    Nothing checks that ranks mean the same call, as nothing in a network does: a message is taken for
    what its receiver expects. So programs may finish with wrong results, stop over sizes, or wait for ever.

    Raises:
        ValueError: for a call for another number of ranks.

    >>> one = Call("A", allreduce.ring(3), np.arange(3.0))
    >>> run_programs([[one], [one], [one]]).results[0][0]
    array([0., 3., 6.])
    >>> run_programs([[one], [one], []]).reason
    'no rank can go on: 0 (in A) waits for 2; 1 (in A) waits for 2; rank 2 has finished'
    """
    for call in (call for program in programs for call in program):
        if call.schedule.ranks != len(programs):
            raise ValueError(f"{call.label} is for {call.schedule.ranks} ranks: there are {len(programs)} programs")
    results: list[list[NDArray[Any]]] = [[] for _ in programs]

    def named(rank: int) -> str:
        return f"{rank} (in {programs[rank][len(results[rank])].label})"

    later = [_turns(rank, program, results[rank]) for rank, program in enumerate(programs)]
    now = {rank: turn for rank, program in enumerate(later) if (turn := next(program, None))}  # of ranks in a call
    while pairs := [(src, dst) for src in now for dst in now[src].sends if dst in now and src in now[dst].expects]:
        for src, dst in pairs:
            sent, expected = np.concatenate(now[src].sends.pop(dst)), now[dst].expects.pop(src)
            if len(sent) != expected:
                receiver = f"rank {named(dst)} expects {expected} numbers"
                return Outcome(results, {}, f"{receiver} from rank {named(src)}, which sends {len(sent)}")
            now[dst].arrived[src] = sent
        following = {r: turn if turn.sends or turn.expects else next(later[r], None) for r, turn in now.items()}
        now = {rank: turn for rank, turn in following.items() if turn}
    waits = {rank: sorted({*turn.sends, *turn.expects}) for rank, turn in now.items()}
    if not waits:
        return Outcome(results, waits, "")
    ranks = [f"{named(rank)} waits for {', '.join(map(str, on))}" for rank, on in waits.items()]
    ranks += [f"rank {rank} has finished" for rank in range(len(programs)) if rank not in now]
    return Outcome(results, waits, "no rank can go on: " + "; ".join(ranks))


# -- sums in some order and precision ------------------------------------------------------------


def bf16(values: Singles) -> Singles:
    """FP32 numbers rounded to the nearest BF16 number, ties to even: the upper 16 bits.

    >>> bf16(np.array([1.0, 1.00390625, 3.14159265], dtype=np.float32))
    array([1.      , 1.      , 3.140625], dtype=float32)
    """
    single = np.asarray(values, dtype=np.float32)
    bits = single.view(np.uint32)
    rounded = (bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000
    return np.where(np.isnan(single), single, rounded.view(np.float32))


Rounding = Callable[[Singles], Singles]

#: What is rounded on the wire, and after each addition.
SUMS: dict[str, tuple[Rounding, Rounding]] = {
    "FP32": (np.asarray, np.asarray),
    "BF16 on the wire": (bf16, np.asarray),
    "BF16 sums": (bf16, bf16),
}


def reduced(schedule: Schedule, gradients: Sequence[Singles], precision: str = "FP32") -> list[Singles]:
    """What an all-reduce makes of each rank's FP32 vector, all of one length, rounded on its way as SUMS says.

    Raises:
        ValueError: for another precision, or vectors of several lengths.

    >>> small = [np.full(2, x, dtype=np.float32) for x in (256, 1, 1, 1)]
    >>> for precision in SUMS:  # what each rank ends with
    ...     print(precision, [int(total[0]) for total in reduced(allreduce.recursive_doubling(4), small, precision)])
    FP32 [259, 259, 259, 259]
    BF16 on the wire [259, 259, 258, 258]
    BF16 sums [258, 258, 258, 258]
    """
    if precision not in SUMS:
        raise ValueError(f"precision {precision!r}: must be one of {', '.join(SUMS)}")
    if len({len(gradient) for gradient in gradients}) > 1:
        raise ValueError(f"gradients of lengths {', '.join(str(len(g)) for g in gradients)}: must be of one length")
    wire, after = SUMS[precision]
    return _summed(schedule, gradients, lambda sent, message: wire(sent), lambda mine, came: after(mine + came))

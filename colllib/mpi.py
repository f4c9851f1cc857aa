"""The second witness: schedules run rank by rank over real MPI, and MPI's own collectives on the same inputs.

`run` makes this process one rank of a schedule: real buffers, nonblocking point-to-point messages,
no executor. `witness` runs a schedule that way, gives the same inputs to MPI's own collective and
compares the buffers bit by bit. Under mpirun, for all-reduce::

    mpirun -n 8 colllib mpi-run all-reduce ring

This needs an MPI, and mpi4py, which ``make mpi`` installs.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

from colllib.buffers import Array, counts, fitting, inputs, outputs, split, turns
from colllib.exact import IntArray, counted
from colllib.primitives import PRIMITIVES, Blocks
from colllib.provenance import NOTHING, Summed, check_step, refuse_never
from colllib.schedule import Schedule

LARGEST_SUM = 2**24  # float32 holds every integer up to here, and so do the other types


def world() -> Any:
    """All processes that mpirun started, as one communicator; this process alone without mpirun.

    Raises:
        ImportError: if mpi4py is not installed, or finds no MPI; the message says what to install.
    """
    try:
        return importlib.import_module("mpi4py.MPI").COMM_WORLD
    except ModuleNotFoundError as error:
        raise ImportError("mpi4py is not installed: make mpi installs it") from error
    except (ImportError, RuntimeError) as error:
        why = str(error).partition("\n")[0]
        raise ImportError(f"mpi4py finds no MPI ({why}): install one, such as Debian's openmpi-bin") from error


def library() -> str:
    """Name and version of the MPI in use, as it gives them itself."""
    text: str = importlib.import_module("mpi4py.MPI").Get_library_version()
    return " ".join(text.partition(",")[0].splitlines()[0].replace("Version:", "").strip("\0").split())


def run(schedule: Schedule, buffer: Array, communicator: Any, *, elements: int) -> Array:
    """Be one rank of a schedule: send and receive what it says, step by step.

    Every process of the communicator calls this with the same schedule. What one rank sends one other in one step is
    one MPI message. There is no barrier. Additions happen at the receiver, in the order in which the schedule lists the
    messages, however they arrive.

    Args:
        schedule: any schedule without switches.
        buffer: this rank's input, of any dtype (see `colllib.buffers` for the order); empty, but
            of the same dtype, on a rank that contributes nothing.
        communicator: an mpi4py communicator of as many processes as the schedule has ranks.
        elements: the length of the whole message M, in elements.

    Returns:
        this rank's output, a new array.

    Raises:
        ValueError: on every process, if anything does not fit: the number of processes, the length
            of a buffer, switches, shares that cut through an element.
        ScheduleError: on every process, if the schedule sends what the sender does not hold, or
            leaves a target with nothing. Wrong values are not noticed here: that is for `witness`.
    """
    size = communicator.Get_size()
    if schedule.ranks != size:
        raise ValueError(f"a schedule for {schedule.ranks} ranks and {size} processes: start one for each rank")
    _check(schedule)
    rank = communicator.Get_rank()
    _agree(communicator, _misfit(schedule.blocks, rank, buffer, elements), (buffer.dtype.str, elements))
    count = counts(schedule.blocks, elements)
    own = inputs(schedule.blocks, rank)
    contents = dict(zip(own.tolist(), split(buffer.copy(), count[own]), strict=True))
    private = communicator.Dup()  # the caller's own messages cannot be mistaken for these
    try:
        for turn in turns(schedule, rank, contents, count):
            turn.arrived.update({src: np.empty(length, buffer.dtype) for src, length in turn.expects.items()})
            requests = [private.Irecv(bundle.view(np.uint8), source=src) for src, bundle in turn.arrived.items()]
            for dst, bundle in turn.sends.items():
                requests.append(private.Isend(_joined(bundle, buffer.dtype).view(np.uint8), dest=dst))
            for request in requests:
                request.Wait()
    finally:
        private.Free()
    return _joined([contents[block] for block in outputs(schedule.blocks, rank).tolist()], buffer.dtype)


def _joined(parts: list[Array], dtype: np.dtype[Any]) -> Array:
    """Blocks end to end, in just this dtype: numpy alone would turn foreign byte orders into the machine's."""
    return np.concatenate([np.empty(0, dtype), *parts], dtype=dtype)


def _check(schedule: Schedule) -> None:
    """Refuse, before anything is sent, what would let a process wait for ever."""
    if schedule.switches:
        raise ValueError(
            "the schedule sends through switches, and MPI offers none to send to: give one in which only ranks send"
        )
    blocks = schedule.blocks
    cells = Summed(schedule, np.arange(len(blocks)))
    for t, step in enumerate(schedule.steps):
        if len(step.src):
            check_step(schedule, None, t, step)
            cells.advance(t, step)
    for rank in range(schedule.ranks):
        needed = outputs(blocks, rank)
        never = needed[cells.cells[cells.cell(rank, needed)] == NOTHING]
        if len(never):
            refuse_never(rank, int(never[0]))


def _misfit(blocks: Blocks, rank: int, buffer: Array, elements: int) -> str | None:
    """What is wrong with what one rank gives, if anything."""
    try:
        length = _input_length(blocks, rank, elements)
    except ValueError as error:
        return str(error)
    if buffer.dtype.hasobject:
        return f"a buffer of {buffer.dtype} holds Python objects, which cannot be sent as they are"
    if buffer.shape != (length,):
        return f"a buffer of shape {buffer.shape}: the schedule needs ({length},)"
    return None


def _agree(communicator: Any, problem: str | None, kind: tuple[str, int]) -> None:
    """All processes go on, or all refuse: one that refused alone would leave the others waiting."""
    everyone = communicator.allgather((problem, kind))
    _, (dtype_at_0, elements_at_0) = everyone[0]
    for rank, (complaint, (dtype, elements)) in enumerate(everyone):
        if complaint is not None:
            raise ValueError(f"rank {rank}: {complaint}")
        if (dtype, elements) != (dtype_at_0, elements_at_0):
            raise ValueError(
                f"rank {rank} has {elements} elements of {dtype} and rank 0 {elements_at_0} of {dtype_at_0}: "
                "all ranks must agree"
            )


@dataclass(frozen=True)
class Witness:
    """What a schedule gave over MPI, held against MPI's own collective."""

    primitive: str
    function: str  # of MPI that was asked
    ranks: int
    elements: int  # of the message M
    dtype: str
    differing: tuple[int, ...]  # the ranks whose two buffers differ in at least one bit

    @property
    def equal(self) -> bool:
        """Whether all ranks hold the same both ways."""
        return not self.differing


def witness(
    primitive: str,
    schedule: Schedule,
    communicator: Any,
    *,
    elements: int | None = None,
    dtype: str = "float64",
    seed: int = 0,
) -> Witness:
    """Run a schedule over MPI messages, then MPI's own collective on the same inputs, and compare.

    The inputs are random whole numbers, so small that every sum of them is exact in the dtype:
    the order of additions makes no difference, and equal means equal in every bit.

    Args:
        schedule: what to run; it may be wrong, that is what this finds out.
        elements: the length of M (default: the least of at least 1000 that fits the shares).
        dtype: a number type that MPI knows and that holds whole numbers up to 2**24.
        seed: of the inputs.

    Raises:
        ValueError: on every process, for an unknown primitive, or blocks that are not the
            primitive's; and as for `run`.
    """
    if primitive not in PRIMITIVES:
        raise ValueError(f"unknown primitive {primitive!r}: known are {', '.join(PRIMITIVES)}")
    blocks = schedule.blocks
    if not PRIMITIVES[primitive].accepts(blocks):
        raise ValueError(f"{schedule!r} moves the blocks of another primitive than {primitive}")
    elements = fitting(blocks, 1000) if elements is None else elements
    buffer = numbers(blocks, communicator.Get_rank(), elements, dtype, seed)
    mine = run(schedule, buffer, communicator, elements=elements)
    theirs = collective(primitive, blocks, buffer, communicator, elements=elements)
    differs = communicator.allgather(mine.tobytes() != theirs.tobytes())
    wrong = tuple(np.flatnonzero(differs).tolist())
    return Witness(primitive, mpi_function(primitive, blocks), blocks.ranks, elements, np.dtype(dtype).name, wrong)


def bench(
    primitive: str, schedule: Schedule | None, communicator: Any, *, blocks: Blocks, elements: int, repeats: int | None
) -> tuple[float, int]:
    """The time of a collective on this machine, of the slowest process: MPI's own, or a schedule's messages.

    All that Python does for MPI's own is done beforehand. A schedule is run by Python, step by step, so that its time
    is mostly Python's. As in the benchmarks of OSU, a barrier precedes each run and is not timed.

    Args:
        schedule: what to time; None for MPI's own collective.
        blocks: the blocks of the primitive, or of the schedule.
        elements: the length of M, of float32.
        repeats: how many runs are timed, after a tenth as many that are not; None for a tenth of a second's.

    Returns:
        seconds of a run, and the number of ranks on which it gave anything but MPI's own result.

    Raises:
        ValueError: on every process, as for `run`.
    """
    buffer = numbers(blocks, communicator.Get_rank(), elements, "float32")
    call, output = prepared(primitive, blocks, buffer, communicator, elements=elements)
    call()
    differs = False
    if schedule is not None:
        call = partial(run, schedule, buffer, communicator, elements=elements)
        differs = call().tobytes() != output.tobytes()
    if repeats is None:
        repeats = min(MOST_RUNS, max(LEAST_RUNS, int(0.1 / _timed(call, communicator, 1))))
    _timed(call, communicator, -(-repeats // 10))
    return _timed(call, communicator, repeats), sum(communicator.allgather(differs))


LEAST_RUNS, MOST_RUNS = 10, 1000  # of a size in a benchmark


def _timed(call: Callable[[], Any], communicator: Any, runs: int) -> float:
    """Seconds of a run, of the slowest process."""
    seconds = 0.0
    for _ in range(runs):
        communicator.Barrier()
        begin = perf_counter()
        call()
        seconds += perf_counter() - begin
    slowest: float = max(communicator.allgather(seconds))
    return slowest / runs


def numbers(blocks: Blocks, rank: int, elements: int, dtype: str = "float64", seed: int = 0) -> Array:
    """A rank's random input: whole numbers from 1 up, of which N add up exactly.

    >>> from colllib.primitives import all_reduce
    >>> bool(numbers(all_reduce(2**21), rank=1, elements=1000).max() * 2**21 <= LARGEST_SUM)
    True
    """
    length, most = _input_length(blocks, rank, elements), max(1, LARGEST_SUM // blocks.ranks)
    return np.random.default_rng([seed, rank]).integers(1, most, length, endpoint=True).astype(dtype)


def _input_length(blocks: Blocks, rank: int, elements: int) -> int:
    return int(counts(blocks, elements)[inputs(blocks, rank)].sum())


def mpi_function(primitive: str, blocks: Blocks) -> str:
    """The function of MPI that does what a primitive says: for shares of one size, or for uneven ones.

    >>> from colllib.primitives import all_gather
    >>> mpi_function("all-gather", all_gather(4))
    'MPI_Allgather'
    """
    even, uneven = _ENDINGS.get(primitive, ("", ""))
    return _FUNCTIONS[primitive] + (even if even == uneven or _even(blocks) else uneven)


_FUNCTIONS = {
    "broadcast": "MPI_Bcast",
    "reduce": "MPI_Reduce",
    "all-reduce": "MPI_Allreduce",
    "reduce-scatter": "MPI_Reduce_scatter",
    "all-gather": "MPI_Allgather",
    "all-to-all": "MPI_Alltoall",
    "point-to-point": "MPI_Send and MPI_Recv",
}
_ENDINGS = {"reduce-scatter": ("_block", ""), "all-gather": ("", "v"), "all-to-all": ("", "v")}


def _even(blocks: Blocks) -> bool:
    """Whether every owner, or every pair of source and target, has as much as every other."""
    ranks = blocks.ranks
    owners = [side for side in (blocks.source, blocks.target) if (side < ranks).all()]
    key = owners[0] * ranks + owners[1] if len(owners) == 2 else owners[0]
    size = np.bincount(key, blocks.share.numerators, ranks ** len(owners))
    return bool((size == size[0]).all())


def collective(primitive: str, blocks: Blocks, buffer: Array, communicator: Any, *, elements: int) -> Array:
    """MPI's own collective on this rank's input; returns this rank's output.

    Args as for `run`; no schedule takes part, the blocks only say who has how much of what.
    """
    call, output = prepared(primitive, blocks, buffer, communicator, elements=elements)
    call()
    return output


def prepared(
    primitive: str, blocks: Blocks, buffer: Array, communicator: Any, *, elements: int
) -> tuple[Callable[[], Any], Array]:
    """MPI's own collective, ready to be called as often as one likes, and this rank's output, which each call fills.

    Args as for `collective`.
    """
    rank, size = communicator.Get_rank(), counts(blocks, elements)
    receives = outputs(blocks, rank)
    output = np.empty(int(size[receives].sum()), buffer.dtype)
    source, target = (int(blocks.holders(int(side[0]))[0]) for side in (blocks.source, blocks.target))

    def by_rank(side: IntArray, some: IntArray) -> IntArray:
        """How many elements each rank has on one side, among some blocks."""
        return counted(side[some], size[some], blocks.ranks)

    call: Callable[[], Any]
    match function := mpi_function(primitive, blocks):
        case "MPI_Bcast":
            if rank == source:
                output[:] = buffer
            call = partial(communicator.Bcast, output, root=source)
        case "MPI_Reduce":
            call = partial(communicator.Reduce, buffer, output if rank == target else None, root=target)
        case "MPI_Reduce_scatter":
            taken = by_rank(blocks.target, np.arange(len(blocks)))
            call = partial(communicator.Reduce_scatter, buffer, output, recvcounts=taken)
        case "MPI_Allgatherv":
            call = partial(communicator.Allgatherv, buffer, [output, by_rank(blocks.source, receives)])
        case "MPI_Alltoallv":
            to, origin = by_rank(blocks.target, inputs(blocks, rank)), by_rank(blocks.source, receives)
            call = partial(communicator.Alltoallv, [buffer, to], [output, origin])
        case "MPI_Send and MPI_Recv":
            if source == target == rank:
                output[:] = buffer
            if source != target and rank == source:
                call = partial(communicator.Send, buffer, dest=target)
            elif source != target and rank == target:
                call = partial(communicator.Recv, output, source=source)
            else:
                call = tuple  # nothing to do
        case _:
            call = partial(getattr(communicator, function.removeprefix("MPI_")), buffer, output)
    return call, output

"""What test_mpi.py starts under mpirun: many schedules over real MPI in one go, each held against MPI's own collective.

    mpirun -n 5 python tests/mpi_worker.py

Rank 0 prints a JSON list with one entry for each of `cases(5)`, in their order. The test module builds the same cases
and holds the entries against the executor and the second interpreter, which take no part here.
"""

from __future__ import annotations

import inspect
import json
import random
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from colllib import mpi
from colllib.algorithms import CATALOGUE, Algorithm, allgather, allreduce, alltoall, broadcast, reducescatter
from colllib.execution import ScheduleError
from colllib.primitives import all_to_all
from colllib.schedule import Schedule, Step, in_sequence, pipelined, placed, scaled, side_by_side

MUTANTS = 40


class Case(NamedTuple):
    """A schedule to run; `name` starts with its primitive and its algorithm."""

    name: str
    primitive: str
    schedule: Schedule
    dtype: str = "float64"


def cases(ranks: int) -> list[Case]:
    """All that one mpirun goes through."""
    return [*shipped(ranks), *uneven(ranks), *composed(ranks), *typed(ranks), *mutants(ranks)]


def shipped(ranks: int) -> list[Case]:
    """Every algorithm that serves so many ranks, with several roots and numbers of segments where it takes them."""
    cases = []
    for algorithm in runnable(ranks):
        argument = algorithm.argument(algorithm.at_home(ranks))
        taken = inspect.signature(algorithm.build).parameters
        for segments, root in ((1, 0), (2, ranks - 1), (5, ranks // 2)):
            options = {name: value for name, value in (("segments", segments), ("root", root)) if name in taken}
            words = [f"{name}={value}" for name, value in options.items()]
            name = " ".join([algorithm.primitive, algorithm.name, *words])
            cases.append(Case(name, algorithm.primitive, algorithm.build(argument, **options)))
            if not options:
                break
    return cases


def runnable(ranks: int) -> list[Algorithm]:
    """The algorithms that serve so many ranks where they are at home, and need no switch to take part."""
    homes = [(algorithm, algorithm.at_home(ranks)) for algorithm in CATALOGUE]
    return [a for a, home in homes if a.refusal(home) is None and not home.combines]


def shares_of(ranks: int) -> list[Fraction]:
    """Uneven slices, 0 : 1 : 2 : ..., so that one rank's is empty."""
    return [Fraction(2 * rank, ranks * (ranks - 1)) for rank in range(ranks)]


def uneven(ranks: int) -> list[Case]:
    """Slices and pairs of different sizes."""
    shares = shares_of(ranks)
    pairs = [[shares[(i + j) % ranks] for j in range(ranks)] for i in range(ranks)]
    uneven_pairs = replace(alltoall.pairwise(ranks), blocks=all_to_all(ranks, pairs))
    return [
        Case("all-gather ring uneven", "all-gather", allgather.ring(ranks, shares=shares)),
        Case("reduce-scatter ring uneven", "reduce-scatter", reducescatter.ring(ranks, shares=shares)),
        Case("all-reduce ring uneven", "all-reduce", allreduce.ring(ranks, shares=shares)),
        Case("all-to-all pairwise uneven", "all-to-all", uneven_pairs),
        Case("all-to-all bruck uneven", "all-to-all", replace(alltoall.bruck(ranks), blocks=uneven_pairs.blocks)),
    ]


def composed(ranks: int) -> list[Case]:
    """Variants that the table of algorithms does not name, and schedules made of schedules."""
    turned = [(3 * rank + 1) % ranks if ranks % 3 else (rank + 1) % ranks for rank in range(ranks)]
    both = [reducescatter.ring(ranks, direction=direction) for direction in (1, -1)]
    return [
        Case("all-to-all ring-relay split", "all-to-all", alltoall.ring_relay(ranks, tie="split")),
        Case("all-to-all ring-relay one by one", "all-to-all", alltoall.ring_relay(ranks, bundled=False)),
        Case("all-gather pat cap=1", "all-gather", allgather.pat(ranks, cap=1)),
        Case("all-gather ring textbook", "all-gather", allgather.ring(ranks, first=1)),
        Case("reduce-scatter ring textbook", "reduce-scatter", reducescatter.ring(ranks, first=0)),
        Case(
            "reduce-scatter ring both ways", "reduce-scatter", side_by_side(*(scaled(h, Fraction(1, 2)) for h in both))
        ),
        Case("all-reduce ring both ways", "all-reduce", allreduce.bidirectional_ring(ranks)),
        Case("all-reduce ring shortest way", "all-reduce", allreduce.shortest_way_ring(ranks)),
        Case("all-reduce bruck", "all-reduce", in_sequence(reducescatter.bruck(ranks), allgather.bruck(ranks))),
        Case("all-reduce ring pipelined", "all-reduce", pipelined(allreduce.ring(ranks), 3)),
        Case("all-reduce ring permuted", "all-reduce", placed(allreduce.ring(ranks), turned)),
        Case("broadcast two-tree permuted", "broadcast", placed(broadcast.two_tree(ranks, segments=3), turned)),
    ]


def typed(ranks: int) -> list[Case]:
    """The same in every type of element that the command line offers."""
    return [
        Case(f"all-reduce {name} {dtype}", "all-reduce", build(ranks), dtype)
        for dtype in ("float32", "int32", "int64", "complex128")
        for name, build in (("ring", allreduce.ring), ("recursive-doubling", allreduce.recursive_doubling))
    ]


def mutants(ranks: int) -> list[Case]:
    """Schedules that were changed at one place: most are wrong, some can't even run, some stay right."""
    rng = random.Random(ranks)
    pool = [
        ("all-reduce", allreduce.ring(ranks)),
        ("all-reduce", allreduce.double_binary_tree(ranks, segments=2)),
        ("all-reduce", allreduce.rabenseifner(ranks)),
        ("reduce-scatter", reducescatter.bruck(ranks)),
        ("all-gather", allgather.bruck(ranks)),
        ("all-to-all", alltoall.bruck(ranks)),
        ("broadcast", broadcast.binomial_tree(ranks, segments=2)),
    ]
    cases = [Case("mutant without an addition", "all-reduce", without_an_addition(ranks))]
    while len(cases) < MUTANTS:
        primitive, schedule = rng.choice(pool)
        steps = [schedule.step(t) for t in range(schedule.num_steps)]
        t = rng.choice([t for t, step in enumerate(steps) if len(step.src)])
        change = rng.choice([drop, turn, redirect, swap_blocks, repeat, exchange])
        change(rng, schedule, steps, t)
        cases.append(Case(f"mutant {change.__name__}", primitive, Schedule.from_steps(schedule.blocks, steps)))
    return cases


def without_an_addition(ranks: int) -> Schedule:
    """A ring all-reduce in which one addition of the first step was forgotten."""
    ring = allreduce.ring(ranks)
    steps = [ring.step(t) for t in range(ring.num_steps)]
    assert steps[0].add[0]
    steps[0] = Step(*(np.delete(values, 0) for values in steps[0]))
    return Schedule.from_steps(ring.blocks, steps)


def drop(rng: random.Random, schedule: Schedule, steps: list[Step], t: int) -> None:
    i = rng.randrange(len(steps[t].src))
    steps[t] = Step(*(np.delete(values, i) for values in steps[t]))


def turn(rng: random.Random, schedule: Schedule, steps: list[Step], t: int) -> None:
    """A copy becomes an addition, an addition a copy."""
    add = steps[t].add.copy()
    i = rng.randrange(len(add))
    add[i] = not add[i]
    steps[t] = steps[t]._replace(add=add)


def redirect(rng: random.Random, schedule: Schedule, steps: list[Step], t: int) -> None:
    dst = steps[t].dst.copy()
    dst[rng.randrange(len(dst))] = rng.randrange(schedule.ranks)
    steps[t] = steps[t]._replace(dst=dst)


def swap_blocks(rng: random.Random, schedule: Schedule, steps: list[Step], t: int) -> None:
    block = steps[t].block.copy()
    i = rng.randrange(len(block))
    block[i] = rng.randrange(len(schedule.blocks))
    steps[t] = steps[t]._replace(block=block)


def repeat(rng: random.Random, schedule: Schedule, steps: list[Step], t: int) -> None:
    """A step runs twice: harmless for copies."""
    steps.insert(t, steps[t])


def exchange(rng: random.Random, schedule: Schedule, steps: list[Step], t: int) -> None:
    """Two steps change places."""
    other = rng.randrange(len(steps))
    steps[t], steps[other] = steps[other], steps[t]


class Counting:
    """A communicator that counts the nonblocking messages of this rank, and their bytes."""

    def __init__(self, communicator: Any, counted: list[int]) -> None:
        self.communicator, self.counted = communicator, counted

    def __getattr__(self, name: str) -> Any:
        return getattr(self.communicator, name)

    def Dup(self) -> Counting:
        return Counting(self.communicator.Dup(), self.counted)

    def Isend(self, buffer: Any, dest: int) -> Any:
        self.counted[0] += 1
        self.counted[1] += buffer.nbytes
        return self.communicator.Isend(buffer, dest=dest)


def tried(case: Case, world: Any) -> dict[str, Any]:
    """What became of a case; the same on every rank."""
    counting = Counting(world, [0, 0])
    try:
        result = mpi.witness(case.primitive, case.schedule, counting, dtype=case.dtype)
    except ScheduleError as error:
        return {"name": case.name, "refused": str(error)}
    messages, sent = zip(*world.allgather(counting.counted), strict=True)
    return {
        "name": case.name,
        "equal": result.equal,
        "differing": result.differing,
        "function": result.function,
        "elements": result.elements,
        "messages": sum(messages),
        "sent": [count // np.dtype(case.dtype).itemsize for count in sent],
    }


def main() -> None:
    world = mpi.world()
    try:
        results = [tried(case, world) for case in cases(world.Get_size())]
        if world.Get_rank() == 0:
            print(json.dumps(results))
    except BaseException:
        import traceback

        traceback.print_exc()
        world.Abort(3)


if __name__ == "__main__":
    main()

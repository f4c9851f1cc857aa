"""The second witness. What needs a real MPI is skipped without one and says so; in CI (``CI=true``) it fails."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from fractions import Fraction
from pathlib import Path

import mpi_worker
import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st
from mpi_threads import on_threads

from colllib import algorithms, mpi
from colllib.algorithms import allgather, allreduce, broadcast, pointtopoint
from colllib.buffers import counts, fitting, inputs, outputs
from colllib.cli import main
from colllib.execution import ScheduleError, execute
from colllib.measured.diagnose import diagnose
from colllib.measured.read import read
from colllib.primitives import PRIMITIVES, all_gather, all_reduce, reduce
from colllib.primitives import broadcast as broadcast_blocks
from colllib.schedule import Schedule, Step
from colllib.topology.expression import find as find_topology

TESTS = Path(__file__).resolve().parent
PAGE = (TESTS.parent / "book" / "witness.md").read_text(encoding="utf-8")
RANKS = [2, 3, 5, 8]
FUNCTIONS = {
    "broadcast": "MPI_Bcast",
    "reduce": "MPI_Reduce",
    "all-reduce": "MPI_Allreduce",
    "reduce-scatter": "MPI_Reduce_scatter_block",
    "all-gather": "MPI_Allgather",
    "all-to-all": "MPI_Alltoall",
    "point-to-point": "MPI_Send and MPI_Recv",
}
UNEVEN = {"reduce-scatter": "MPI_Reduce_scatter", "all-gather": "MPI_Allgatherv", "all-to-all": "MPI_Alltoallv"}

# More processes than cores, as root, in a container: what each MPI needs to be told there. One that does not know a
# variable does not look at it.
ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
    "OMPI_MCA_mpi_yield_when_idle": "1",  # a process that waits leaves the core to one that works
    "OMPI_MCA_pml": "ob1",
    "OMPI_MCA_btl_vader_single_copy_mechanism": "none",  # the others need ptrace
    "OMPI_MCA_btl_sm_single_copy_mechanism": "none",  # the same, in Open MPI 5
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    "OPENBLAS_NUM_THREADS": "1",
}


@pytest.fixture(scope="session")
def mpirun():
    """Start a command on several ranks: ``mpirun(ranks, *command)``."""
    path = shutil.which("mpirun")
    missing = [
        name for name, installed in (("mpirun", path), ("mpi4py", importlib.util.find_spec("mpi4py"))) if not installed
    ]
    if missing:
        message = f"no {' and no '.join(missing)} here: install an MPI (Debian's openmpi-bin), then run: make mpi"
        if os.environ.get("CI", "").lower() == "true":
            pytest.fail(f"{message} (in CI the second witness must be heard)")
        pytest.skip(message)
    version = subprocess.run([path, "--version"], capture_output=True, text=True, check=False, timeout=60).stdout
    open_mpi = ["--oversubscribe", "--allow-run-as-root", "--bind-to", "none"]
    options = open_mpi if "open" in version.lower() and "hydra" not in version.lower() else []

    def start(ranks, *command):
        return subprocess.run(
            [path, *options, "-n", str(ranks), *map(str, command)],
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
            env=environment(**ENVIRONMENT),
        )

    return start


def environment(**more):
    path = os.pathsep.join(filter(None, (str(TESTS), os.environ.get("PYTHONPATH"))))
    return {**os.environ, "PYTHONPATH": path, **more}


def ours(stream):
    """The lines that colllib wrote: mpirun adds its own when a process ends with a status other than 0."""
    return [line for line in stream.splitlines() if line.startswith("colllib: ")]


# --- over real MPI


def is_proved(schedule):
    try:
        execute(schedule)
    except (ScheduleError, ValueError):
        return False
    return True


@pytest.mark.parametrize("ranks", RANKS)
def test_mpi_gives_what_the_executor_proves_and_nothing_else(mpirun, ranks):
    done = mpirun(ranks, sys.executable, TESTS / "mpi_worker.py")
    assert done.returncode == 0, done.stderr
    cases, results = mpi_worker.cases(ranks), json.loads(done.stdout)
    assert [result["name"] for result in results] == [case.name for case in cases]

    complaints = []
    for case, result in zip(cases, results, strict=True):
        mutant, equal = case.name.startswith("mutant"), result.get("equal", False)
        if is_proved(case.schedule) != equal:
            complaints.append(f"executor and MPI disagree: {result}")
        if not mutant and not equal:
            complaints.append(f"not what MPI gives: {result}")
        if "refused" not in result:
            complaints += [f"{case.name}: {what}" for what in miscounted(case.schedule, result)]
        uneven = UNEVEN if "uneven" in case.name else {}
        if not mutant and result["function"] != (FUNCTIONS | uneven)[case.primitive]:
            complaints.append(f"{case.name}: held against {result['function']}")
    assert not complaints, "\n".join(complaints)

    heard = {tuple(result["name"].split()[:2]) for result in results}
    assert {(a.primitive, a.name) for a in mpi_worker.runnable(ranks)} <= heard
    assert {case.primitive for case in cases} == set(PRIMITIVES)
    assert {"dim-ring", "hierarchical", "direct"} <= {name for _, name in heard}


def miscounted(schedule, result):
    """What the bytes that MPI was given say against the ledger, and against the second interpreter."""
    sent, _ = reference.traffic(schedule)
    expected = [sent[rank] * result["elements"] for rank in range(schedule.ranks)]
    if result["sent"] != expected:
        yield f"sent {result['sent']} elements over MPI, {expected} by the second interpreter"
    bundles = sum(len({(src, dst) for src, dst, _, _ in step}) for step in reference.messages(schedule))
    if result["messages"] != bundles:
        yield f"{result['messages']} messages over MPI, {bundles} by the second interpreter"
    if result["equal"]:
        ledger = [share * result["elements"] for share in execute(schedule).sent]
        if result["sent"] != ledger:
            yield f"sent {result['sent']} elements over MPI, {ledger} by the ledger"


@pytest.mark.parametrize("ranks", RANKS)
def test_the_mutants_are_of_every_kind(ranks):
    """Or else that executor and MPI agree on them would say little."""
    mutants = [case for case in mpi_worker.cases(ranks) if case.name.startswith("mutant")]
    proved = [is_proved(case.schedule) for case in mutants]
    assert len(mutants) == mpi_worker.MUTANTS
    assert 5 < sum(proved) < len(proved) - 10
    assert not proved[0]  # the ring without an addition


COLLLIB = (sys.executable, "-m", "colllib", "mpi-run")


def test_the_command_says_what_was_run_and_that_it_is_equal(mpirun):
    done = mpirun(3, *COLLLIB, "broadcast", "two-tree", "--segments", "3", "--root", "2", "--dtype", "int32", "--json")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result.pop("mpi_library")
    assert result == {
        "primitive": "broadcast",
        "algorithm": "two-tree",
        "topology": "star:3",
        "segments": 3,
        "options": ["root=2"],
        "ranks": 3,
        "elements": 1002,  # the least of at least 1000 that six slices divide
        "dtype": "int32",
        "steps": execute(broadcast.two_tree(3, segments=3, root=2)).cost.n_alpha,
        "equal": True,
        "differing_ranks": [],
        "mpi_function": "MPI_Bcast",
    }


def test_the_command_also_speaks_to_people(mpirun):
    done = mpirun(3, *COLLLIB, "reduce-scatter", "ring", "--elements", "6")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == "reduce-scatter ring on 3 ranks, 6 elements of float64: equal on every rank"
    assert "MPI_Reduce_scatter" in lines[2]


def alone(*arguments):
    return subprocess.run(
        [*COLLLIB, *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env=environment(**ENVIRONMENT),
    )


@pytest.mark.usefixtures("mpirun")
@pytest.mark.parametrize("algorithm", [(), ("ring",)])
def test_a_benchmark_over_mpi_prints_a_table_that_the_diagnosis_reads(mpirun, algorithm, tmp_path):
    words = ("mpi-bench", "all-reduce", *algorithm, "--to", "8KiB", "--repeats", "2")
    done = mpirun(3, *COLLLIB[:-1], *words)
    (run,) = read(done.stdout)
    assert (run.collective, run.ranks, run.unread) == ("all-reduce", 3, ())
    assert [row.message for row in run.rows] == pytest.approx([1024 * 2**k for k in range(4)], rel=0.02)
    assert all(row.seconds > 0 for row in run.rows)
    assert {row.wrong for row in run.rows} == ({"0"} if algorithm else {"N/A"})
    assert diagnose(run).state == "undecided"


@pytest.mark.usefixtures("mpirun")
def test_small_messages_that_are_rounded_to_the_same_number_of_elements_are_one_row(mpirun):
    words = ("mpi-bench", "all-reduce", "--from", "4B", "--to", "256B", "--repeats", "1")
    (run,) = read(mpirun(6, *COLLLIB[:-1], *words).stdout)
    assert [row.message for row in run.rows] == [24, 48, 72, 144, 264]  # 4 bytes each, at least 1 for each of 6 ranks
    assert diagnose(run).state == "undecided"


def test_without_mpirun_the_command_runs_on_one_rank():
    done = alone("all-reduce", "ring", "--json")
    assert done.returncode == 0, done.stderr
    assert (json.loads(done.stdout)["ranks"], json.loads(done.stdout)["equal"]) == (1, True)


@pytest.mark.usefixtures("mpirun")
@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["all-reduce", "dim-ring", "--on", "torus:2x2"], "torus:2x2 has 4 ranks: start as many processes, not 1"),
        (["broadcast", "chain", "--root", "3"], "root 3: must be one of the ranks 0..0"),
    ],
)
def test_bad_input_ends_with_status_2_and_one_line(arguments, complaint):
    done = alone(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"colllib: {complaint}\n"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["all-gather", "recursive-doubling"], "needs a power of two, not 3 ranks"),  # said when MPI has started
        (["all-reduce", "in-network"], "the schedule sends through switches, and MPI offers none"),
        (["all-reduce", "ring", "--dtype", "float16"], "float16"),  # and before
    ],
)
def test_bad_input_ends_every_rank_and_one_of_them_says_why(mpirun, arguments, complaint):
    done = mpirun(3, *COLLLIB, *arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert len(ours(done.stderr)) == 1
    assert complaint in ours(done.stderr)[0]
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "home"),
    [
        (["all-reduce", "dim-ring"], "torus:3x2"),
        (["all-to-all", "hierarchical", "--with", "tiers=bruck,pairwise"], "boxes:2x3"),
        (["all-reduce", "swing", "--on", "torus:2x2x1"], "torus:2x2x1"),
    ],
)
def test_an_algorithm_of_some_wires_runs_on_those_given_or_on_wires_of_its_kind(mpirun, arguments, home):
    done = mpirun(find_topology(home).ranks, *COLLLIB, *arguments, "--json")
    assert done.returncode == 0, done.stderr
    assert (json.loads(done.stdout)["topology"], json.loads(done.stdout)["equal"]) == (home, True)


def test_different_buffers_end_with_status_1(mpirun):
    code = """if True:
        import dataclasses, mpi_worker
        from colllib import algorithms, cli
        wrong = dataclasses.replace(algorithms.find("all-reduce", "ring"), build=mpi_worker.without_an_addition)
        algorithms.find = lambda primitive, name: wrong
        cli.main(["mpi-run", "all-reduce", "ring"])"""
    done = mpirun(3, sys.executable, "-c", code)
    assert done.returncode == 1
    assert "DIFFERENT on ranks [0, 1, 2]" in done.stdout


def test_a_rank_that_breaks_takes_the_others_with_it(mpirun):
    code = """if True:
        from colllib import cli, mpi
        turns = mpi.turns
        def breaking(*arguments):
            if arguments[1] == 1:
                raise RuntimeError("rank 1 is broken")
            return turns(*arguments)
        mpi.turns = breaking
        cli.main(["mpi-run", "all-reduce", "ring"])"""
    done = mpirun(3, sys.executable, "-c", code)
    assert done.returncode != 0
    assert "rank 1 is broken" in done.stderr


def test_the_page_says_what_is_done_and_its_example_runs(mpirun):
    assert f"on {', '.join(map(str, RANKS[:-1]))} and {RANKS[-1]} ranks" in PAGE
    assert len({case.dtype for case in mpi_worker.cases(3)}) == 5
    assert "for five types of numbers" in PAGE
    command = re.search(r"```console\n\$ mpirun -n 8 --oversubscribe \.venv/bin/colllib (.*)\n```", PAGE)[1]
    assert mpirun(2, *COLLLIB[:-1], *command.split()).returncode == 0
    example = re.search(r"```python\n(.*?)```", PAGE, re.S)[1]
    done = mpirun(3, sys.executable, "-c", example + "assert total.tolist() == [3.0] * 30")
    assert (done.returncode, done.stderr) == (0, "")


# --- the same code between threads, with no MPI


def step_of(messages):
    return Step.of(*(list(values) for values in zip(*messages, strict=True))) if messages else Step.of([], [], [])


@given(n=st.integers(2, 5), data=st.data())
@settings(max_examples=60)
def test_any_schedule_gives_the_values_of_the_second_interpreter(n, data):
    rank = st.integers(0, n - 1)
    message = st.tuples(rank, rank, st.integers(0, 2), st.booleans()).filter(lambda m: m[0] != m[1])
    steps = data.draw(st.lists(st.lists(message, max_size=2 * n), max_size=5))
    blocks = all_reduce(n, [Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)])
    schedule = Schedule.from_steps(blocks, [step_of(step) for step in steps])
    vectors = [[np.arange(size) * 10 + 100**rank for size in (6, 4, 2)] for rank in range(n)]

    def part(communicator):
        return mpi.run(schedule, np.concatenate(vectors[communicator.Get_rank()]), communicator, elements=12)

    results = on_threads(n, part)
    if any(overwritten(step) for step in steps):
        assert all(isinstance(result, ScheduleError) for result in results)
    else:
        final = reference.values(schedule, vectors)
        for rank, result in enumerate(results):
            assert result.tolist() == np.concatenate([final[rank, block] for block in range(3)]).tolist()


def overwritten(step):
    """Whether a cell receives several messages in one step and one of them replaces it."""
    times = Counter((dst, block) for _, dst, block, _ in step)
    return any(times[dst, block] > 1 and not add for _, dst, block, add in step)


@given(order=st.permutations(range(1, 6)))
@settings(max_examples=20)
def test_additions_happen_in_the_order_of_the_schedule(order):
    """In floating point the order shows: 1e16 + 1 is 1e16, so that a 1 counts only after 1e16 and -1e16 have met."""
    value = [0.0, 1e16, 1.0, -1e16, 3.0, 1e-3]
    schedule = Schedule.from_steps(reduce(6), [Step.of(order, 0, 0, add=True)])
    root, *others = on_threads(
        6, lambda world: mpi.run(schedule, np.array([value[world.Get_rank()]]), world, elements=1)
    )
    folded = 0.0
    for rank in order:
        folded += value[rank]
    assert root.tolist() == [folded]
    assert all(len(other) == 0 for other in others)


def test_all_messages_of_a_step_read_the_state_before_it():
    swap = Schedule.from_steps(all_reduce(2), [Step.of([0, 1], [1, 0], 0)])
    results = on_threads(2, lambda world: mpi.run(swap, np.array([world.Get_rank()]), world, elements=1))
    assert [result.tolist() for result in results] == [[1], [0]]


def test_any_type_of_element_travels():
    kind = np.dtype([("name", "S3"), ("value", ">f4")])
    sent = np.array([(b"abc", 1.5), (b"de", -2.0)], dtype=kind)
    schedule = pointtopoint.direct(2)
    _, arrived = on_threads(2, lambda world: mpi.run(schedule, sent[: 2 - 2 * world.Get_rank()], world, elements=2))
    assert arrived.dtype == kind
    assert arrived.tolist() == sent.tolist()


def test_the_callers_buffer_stays_as_it_was():
    buffers = [np.full(4, 10.0**rank) for rank in range(4)]
    results = on_threads(4, lambda world: mpi.run(allreduce.ring(4), buffers[world.Get_rank()], world, elements=4))
    assert all(result.tolist() == [1111.0] * 4 for result in results)
    assert [buffer.tolist() for buffer in buffers] == [[10.0**rank] * 4 for rank in range(4)]


def refusals(schedule, buffer_of, ranks=3, elements=6):
    """The one complaint that all ranks raise."""
    results = on_threads(ranks, lambda world: mpi.run(schedule, buffer_of(world.Get_rank()), world, elements=elements))
    assert all(isinstance(result, ValueError) for result in results), results
    assert len({str(result) for result in results}) == 1
    return str(results[0])


@pytest.mark.parametrize(
    ("buffer_of", "complaint"),
    [
        (lambda rank: np.zeros(6 + (rank == 2)), "rank 2: a buffer of shape (7,): the schedule needs (6,)"),
        (lambda rank: np.zeros((2, 3)), "rank 0: a buffer of shape (2, 3)"),
        (lambda rank: np.zeros(6, "i4" if rank == 1 else "f8"), "rank 1 has 6 elements of <i4 and rank 0 6 of <f8"),
        (lambda rank: np.array([None] * 6), "Python objects"),
    ],
)
def test_a_buffer_that_does_not_fit_on_one_rank_is_refused_on_all(buffer_of, complaint):
    assert complaint in refusals(allreduce.ring(3), buffer_of)


def test_a_length_that_does_not_fit_the_shares_is_refused_with_one_that_does():
    complaint = refusals(allreduce.ring(3), lambda rank: np.zeros(7), elements=7)
    assert "7 elements: the blocks need a multiple of 3, such as 6 or 9" in complaint
    assert "such as 3" in refusals(allreduce.ring(3), lambda rank: np.zeros(0), elements=0)


@pytest.mark.parametrize(
    ("schedule", "complaint"),
    [
        (allreduce.ring(4), "a schedule for 4 ranks and 3 processes"),
        (Schedule.from_steps(all_reduce(3), [Step.of(0, 3, 0)], switches=1), "the schedule sends through switches"),
        (
            Schedule.from_steps(all_reduce(3), [Step.of(0, 3, 0)]),
            "step 0: node 3 does not exist; nodes are 0..2 (3 ranks, switches=0)",
        ),
        (Schedule.from_steps(all_reduce(3), [Step.of(0, 1, 1)]), "step 0: block 1 does not exist; blocks are 0..0"),
        (
            Schedule.from_steps(broadcast_blocks(3), [Step.of(1, 2, 0)]),
            "step 0: rank 1 sends block 0 to rank 2 but does not hold it",
        ),
        (Schedule.from_steps(all_reduce(3), [Step.of(1, 1, 0)]), "step 0: rank 1 sends block 0 to itself"),
        (Schedule.from_steps(all_reduce(3), [Step.of([0, 1], 2, 0)]), "step 0: rank 2 receives block 0 more than once"),
        (
            Schedule.from_steps(broadcast_blocks(3), [Step.of(0, 1, 0)]),
            "rank 2 never receives block 0, which it must hold",
        ),
    ],
)
def test_a_schedule_that_cannot_run_is_refused_before_anything_is_sent(schedule, complaint):
    assert refusals(schedule, lambda rank: np.zeros(6)).startswith(complaint)


# --- lengths, orders, inputs


@given(shares=st.lists(st.fractions(0, 1, max_denominator=12), min_size=1, max_size=5), least=st.integers(1, 500))
def test_the_fitting_length_is_the_least_in_which_every_block_is_whole(shares, least):
    total = sum(shares) or 1
    shares = [share / total for share in shares] if sum(shares) else [Fraction(1)]
    blocks = broadcast_blocks(2, shares)
    length = fitting(blocks, least)
    fits = [n for n in range(least, length + 1) if all((share * n).denominator == 1 for share in shares)]
    assert fits == [length]
    assert counts(blocks, length).tolist() == [share * length for share in shares]


def test_buffers_hold_blocks_as_mpi_lays_them_out():
    textbook = allgather.ring(4, first=1).blocks  # rank r starts with chunk r + 1
    assert [inputs(textbook, rank).tolist() for rank in range(4)] == [[1], [2], [3], [0]]
    assert outputs(textbook, 2).tolist() == [1, 2, 3, 0]  # by rank, whatever the chunk's number
    assert mpi.mpi_function("all-gather", textbook) == "MPI_Allgather"
    uneven = all_gather(2, [Fraction(1, 3), Fraction(2, 3)])
    assert mpi.mpi_function("all-gather", uneven) == "MPI_Allgatherv"


class Idle:
    """An MPI that does nothing, seen by the first of many ranks."""

    def __init__(self, size):
        self.size = size

    def Get_rank(self):
        return 0

    def Barrier(self):
        pass

    def allgather(self, value):
        return [value] * self.size

    def __getattr__(self, name):
        return lambda *_, **__: None


@pytest.mark.parametrize("primitive", PRIMITIVES)
@pytest.mark.parametrize("ranks", [4, 64])
def test_python_does_nothing_in_a_timed_run_but_call_mpi(primitive, ranks):
    algorithm = algorithms.of(primitive)[0]
    blocks = algorithm.build(algorithm.argument(algorithm.at_home(ranks))).blocks
    elements = fitting(blocks)

    def calls(repeats):
        counted = Counter()
        sys.setprofile(lambda frame, event, _: counted.update([event] if event.endswith("call") else []))
        try:
            mpi.bench(primitive, None, Idle(ranks), blocks=blocks, elements=elements, repeats=repeats)
        finally:
            sys.setprofile(None)
        return counted

    calls(1)  # whatever is imported at first
    more = calls(20) - calls(10)
    runs = 10 + 1  # a tenth of the runs are to warm up
    assert more == {
        "call": 2 * runs,
        "c_call": 2 * runs,
    }  # a barrier and the collective; a clock twice


@pytest.mark.parametrize("dtype", ["float64", "float32", "int32"])
def test_sums_of_the_inputs_are_exact_in_any_order(dtype):
    ranks = 100
    vectors = [mpi.numbers(all_reduce(ranks), rank, 50, dtype) for rank in range(ranks)]
    exact = [sum(int(vector[i]) for vector in vectors) for i in range(50)]
    forwards, backwards = np.zeros(50, dtype), np.zeros(50, dtype)
    for vector in vectors:
        forwards = forwards + vector
    for vector in reversed(vectors):
        backwards = backwards + vector
    assert forwards.tolist() == backwards.tolist() == exact
    assert all(vector.min() >= 1 for vector in vectors)
    assert len({vector.tobytes() for vector in vectors}) == ranks


def test_another_primitive_is_refused():
    for primitive, complaint in (("reduce", "another primitive than reduce"), ("sum", "known are broadcast")):
        with pytest.raises(ValueError, match=complaint):
            mpi.witness(primitive, allreduce.ring(2), communicator=None)


# --- without mpi4py


def without_mpi4py(*arguments, **variables):
    code = "import sys; sys.modules['mpi4py'] = None; from colllib.cli import main; main(sys.argv[1:])"
    variables = {**environment(), **{"PMI_RANK": "0", "PMIX_RANK": "0"}, **variables}
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False, timeout=60, env=variables
    )


def test_what_is_missing_is_said_in_one_line():
    done = without_mpi4py("mpi-run", "all-reduce", "ring")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "colllib: mpi4py is not installed: make mpi installs it\n"


def test_only_the_first_process_complains():
    done = without_mpi4py("mpi-run", "all-reduce", "ring", OMPI_COMM_WORLD_RANK="1")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["all-reduce", "ring", "--root", "1"], "all-reduce ring takes no option 'root': it takes first"),
        (["all-reduce", "ring", "--elements", "0"], "elements 0: must be at least 1"),
        (["all-reduce", "ring", "--elements", "99999999999"], "elements: 99999999999 elements are too many"),
        (["all-reduce", "ring", "--seed", "1_0"], "seed '1_0': must be a whole number"),
        (["all-reduce", "ring", "--segments", "2"], "takes no segments"),
        (["all-reduce", "butterfly"], "known are ring"),
    ],
)
def test_what_is_wrong_without_mpi_needs_no_mpi(arguments, complaint, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    with pytest.raises(SystemExit) as end:
        main(["mpi-run", *arguments])
    assert end.value.code == 2
    assert complaint in ours(capsys.readouterr().err)[0]


def test_nothing_else_needs_mpi4py():
    done = without_mpi4py("run", "all-reduce", "ring", "--on", "star:4", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["correct"]

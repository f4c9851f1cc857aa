"""How many small faults in a part of the library do its tests find? One fault at a time, in a copy of the project.

    make mutants COUNT=60 SEED=1 PART=core

A mutant that no test finds is printed with its line. `EQUIVALENT` names those that change no result, and says why.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import copy
import io
import json
import os
import pickle
import random
import resource
import shutil
import sys
import tempfile
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from itertools import accumulate, chain
from pathlib import Path
from typing import TypeVar

# What the tests import from elsewhere, imported once: every run of them is a fork.
import hypothesis
import networkx  # noqa: F401
import pytest
import scipy.optimize
import scipy.sparse  # noqa: F401

ROOT = Path(__file__).resolve().parent.parent
LIBRARY = ROOT / "colllib"
FAST = ("tests/test_execution.py", "tests/test_schedule.py", "tests/test_tiers.py", "tests/algorithms")
#: A file of the core -> the tests that know it best, run before all others.
CORE = {
    "schedule.py": ("tests/test_schedule.py", "tests/test_symmetry.py"),
    "execution.py": ("tests/test_execution.py", "tests/test_tiers.py"),
    "provenance.py": ("tests/test_execution.py",),
    "primitives.py": ("tests/test_primitives.py",),
    "exact.py": ("tests/test_exact.py",),
    "cost.py": ("tests/test_cost.py", "tests/test_tiers.py", "tests/show/test_race.py"),
    "events.py": ("tests/test_events.py", "tests/training/test_processor.py", "tests/test_paths.py"),
    "symmetry.py": ("tests/test_symmetry.py",),
    "lattice_group.py": ("tests/test_lattice_group.py",),
    "topology/base.py": ("tests/test_topology.py", "tests/test_routes.py"),
    "topology/star.py": ("tests/test_topology.py", "tests/test_routes.py"),
    "topology/lattice.py": ("tests/test_lattice.py", "tests/test_topology.py"),
    "algorithms/allreduce.py": ("tests/algorithms",),
    "algorithms/nested.py": ("tests/algorithms/test_nested.py",),
}
#: A module that stands by itself -> the tests that mirror it.
SINGLE = {
    **{f"{name}.py": (f"tests/test_{name}.py",) for name in ("busbw", "closed_form", "evaluation", "fit", "formula")},
    **{f"{name}.py": (f"tests/test_{name}.py",) for name in ("limits", "metrics", "optimality", "switch_gain")},
    "cli.py": ("tests/test_cli.py",),
    "cli_io.py": ("tests/test_cli.py",),
    "bounds.py": ("tests/test_bounds.py", "tests/test_cuts.py"),
    "contention.py": ("tests/test_contention.py",),
    "ladder.py": tuple(f"tests/test_{name}.py" for name in ("ladder", "entries", "winners", "limits", "failures")),
    "library_choices.py": ("tests/test_library_choices.py", "tests/test_winners.py"),
    "efficiency.py": ("tests/test_realistic_ladder.py",),
    "realistic_ladder.py": ("tests/test_realistic_ladder.py",),
    "msccl.py": ("tests/test_msccl.py",),
    "segmentation.py": ("tests/test_segmentation.py",),
    "parallelism.py": ("tests/test_parallelism.py",),
    "placement.py": ("tests/test_placement.py",),
    "search.py": ("tests/test_search.py",),
    "simgrid.py": ("tests/test_simgrid.py",),
    "two_tiers.py": ("tests/test_two_tiers.py",),
    "units.py": ("tests/test_units.py",),
}
#: What is drawn, apart from the pictures themselves -> the tests that mirror it.
SHOW = {
    "show/layouts.py": ("tests/show/test_drawings.py", "tests/show/test_stage.py"),
    "show/lines.py": ("tests/show/test_figure.py", "tests/show/test_looks.py"),
    "show/pen.py": ("tests/show/test_drawings.py", "tests/show/test_stage.py", "tests/show/test_film.py"),
    "show/table.py": ("tests/show/test_table.py",),
}
TOPOLOGY = (
    "topology",
    "routes",
    "lattice",
    "cuts",
    "boxes",
    "failures",
    "limits",
    "mi250",
    "paths",
    "presets",
    "twisted",
    "tiers",
)


@dataclass(frozen=True)
class Part:
    """A part of the library: its files with the tests that know each best, and tests for what those leave."""

    first: dict[str, tuple[str, ...]]
    rest: tuple[str, ...] = ()

    @property
    def tests(self) -> tuple[str, ...]:
        """All tests of the part, each once."""
        named = {test for tests in self.first.values() for test in tests if not test.startswith(self.rest)}
        return tuple(sorted({*self.rest, *named}))


def package(name: str, rest: tuple[str, ...]) -> Part:
    """A package without what other parts have of it: first a file's tests by its name, then all of the package."""
    first: dict[str, tuple[str, ...]] = {}
    for path in sorted((LIBRARY / name).rglob("*.py")):
        file = path.relative_to(LIBRARY).as_posix()
        if file not in {*CORE, *SHOW}:
            own = [f"{folder}/test_{path.stem}.py" for folder in (f"tests/{name}", "tests")]
            own.append(f"tests/{name}/test_{path.parent.name}.py")
            first[file] = tuple(test for test in own if (ROOT / test).exists())[:1]
    return Part(first, rest)


PARTS = {
    "core": Part(CORE, FAST),
    **{name: package(name, (f"tests/{name}", "tests/test_cli.py")) for name in ("measured", "training")},
    **{name: package(name, (f"tests/{name}", "tests/test_cli.py")) for name in ("forest", "graphs")},
    "topology": package("topology", tuple(f"tests/test_{name}.py" for name in TOPOLOGY)),
    "single": Part(SINGLE),
    "show": Part(SHOW),
    **{name: package(name, (f"tests/{name}",)) for name in ("algorithms", "claims")},
    "pictures": package("show", ("tests/show",)),
}
#: Constants that decide what takes less time or memory, and no result.
TUNING = ("LANE_CELLS", "MOST_BITS", "CHUNK", "COMPARED", "SPARSE", "SAMPLED_MESSAGES", "SAMPLED_STEPS")
#: What a mutated line reads -> why it changes no result.
EQUIVALENT = {
    "if table.dtype != object or max(row, default=0) > np.iinfo(np.intp).max:": "numbers that fit are objects too",
    "return np.where((place >= 0) & (self.written[place] >= cell * self.steps), self.order[place], -2)": "so is -2",
    "pair = step.src[bundled] * schedule.nodes - step.dst[bundled]": "that names a pair as well",
    "pair[source * blocks.ranks - target] = True": "that is another place for each pair as well",
    "place = 1": "the first list stays as it is, and the next ones take what comes",
    "while top <= limit and time(min(2 * top, limit)) * SAME < time(top):": "at the limit no time is below itself",
    "return _fitting(values, int(np.max(np.abs(times), initial=2))) * times": "numbers that fit are objects too",
    "if values.strides == (0,) and len(values) == 1:": "a copy has the same values",
    "if np.reshape(counts[start], -2)[element] == 0:": "numpy takes any negative length for what is left",
    "elif size == 2 and last and (last.kind == 'xor') and (last.rank_stride + last.size == stride):": (
        "then fewer axes of two are one factor"
    ),
    "def _arrive(self, into: IntArray, add: NDArray[np.bool_], value: Ids, current: Ids, "
    "exchanged: bool=False) -> None:": "equal sums with a number each are proved as well",
    "if (self.cells[into] != number).all():": "messages that do not meet are found to be so once more",
    "times = np.minimum(counts[end - len(left) * lanes:end], 3)": "three times is more than once as well",
    "if table.dtype != object and max(row, default=0) >= np.iinfo(np.intp).max:": "the largest that fits is exact too",
    "if current.min() <= 0:": "then nothing is empty",
    "if current.min() < 1:": "then nothing is empty",
    "self.bits = np.zeros(size // 8 + 2, dtype=np.uint8)": "a byte more than there are cells for",
    "self.bits = np.zeros(size * 8 + 1, dtype=np.uint8)": "more bytes than there are cells for",
    "NOTHING = -2": "so is -2",
    "self.nobody = kind.type(-2)": "so is -2",
    "link_of = np.full((len(lattice.dims), 3, lattice.ranks), -1)": "there is no third way along an axis",
    "link_of = np.full((len(lattice.dims), 2, lattice.ranks), -2)": "so is -2",
    "size = int(MOST_AT_ONCE / max(2, mean_crossings(topology, src, dst))) + 1": (
        "portions of other sizes add up to the same"
    ),
    "size = int(MOST_AT_ONCE / max(1, mean_crossings(topology, src, dst))) + 2": (
        "portions of other sizes add up to the same"
    ),
    "wide = max(1, LANE_CELLS * self.next_id)": "so many lanes at once prove the same",
    "wide = max(2, LANE_CELLS // self.next_id)": "so many lanes at once prove the same",
    "together = max(2, CHUNK // len(columns))": "so many ranks at once prove the same",
    "together = max(1, CHUNK * len(columns))": "so many ranks at once prove the same",
    "elements = np.append(orbit.lattice.strides, np.random.default_rng(1).integers(ranks, size=FEW)) % ranks": (
        "those are as much at random"
    ),
    "self.present: Bits | Holders = Bits(size) if size <= MOST_BITS else Holders(schedule.nodes, self.source)": (
        "bits find what lists find"
    ),
    "for k in range(int(lane.max(initial=-1)) + 2):": "no value is in that lane",
    "first = min(FEW + 2, limit)": "one more that is tried",
    "FEW = 5": "one more that is tried",
    "FEW = 4": "one more that is tried",
    "times = min(times, 3)": "three times is more than once as well",
    "times = np.minimum(times, 3)": "three times is more than once as well",
    "radix = max(len(pairs), 2)": "that many numbers are apart as well",
    "while top < limit and time(min(2 + top, limit)) * SAME < time(top):": (
        "it falls to the next but one where the lowest is behind it"
    ),
    "low, high = (max(low, top // 3), min(2 * top, limit))": "what is looked for is in a wider stretch as well",
    "if max(self.denominator, self.numerators.max(initial=1), -self.numerators.min(initial=0)) >= LARGEST_FLOAT:": (
        "1 fits"
    ),
    "if max(self.denominator, self.numerators.max(initial=0), -self.numerators.min(initial=1)) >= LARGEST_FLOAT:": (
        "1 fits"
    ),
    "wrong = np.array(counts[:len(self.start)]).reshape(len(self.start), -2)[starts] != 1": (
        "numpy takes any negative length for what is left"
    ),
    "for k in range(int(turn.max()) + 2):": "in the last turn nothing arrives",
    "symmetric = symmetric and all((np.array_equal(crossings, crossed[1]) for crossings in crossed))": (
        "what all are like is like all"
    ),
    "for k in range(int(lane.max(initial=-2)) + 1):": "then there is no lane either",
    "return array.astype(object) if max(largest, 2) * times >= LARGEST_INT else array": (
        "numbers that fit are objects too"
    ),
    "largest = max(int(array.max(initial=1)), -int(array.min(initial=0)))": "numbers that fit are objects too",
    "largest = max(int(array.max(initial=0)), -int(array.min(initial=1)))": "numbers that fit are objects too",
    "return total.astype(object) if total[index].max(initial=1) >= LARGEST_INT else total": (
        "numbers that fit are objects too"
    ),
    "fits = max(map(abs, exact), default=1) < LARGEST_INT": "nothing fits all the same",
    "if max(self.denominator, self.numerators.max(initial=0), -self.numerators.min(initial=0)) > LARGEST_FLOAT:": (
        "2^53 itself is exact as well"
    ),
    "low, high = (max(low, top // 2), min(3 * top, limit))": "what is looked for is in a wider stretch as well",
    "return _scrambled(color + np.uint64(3) * (self.out @ scrambled) - np.uint64(5) * (self.into @ scrambled))": (
        "that is another color as well"
    ),
    "table = np.full((ranks, place.max() + 2), len(end))": "a column more of no links",
    "known = np.where(src == dst, -2, src * ranks + dst)": "so is -2",
    "jump = (isqrt(2 * ranks - 3) + 1) // 2": "the root is less only where it was even, and half of it is rounded down",
    "if lost + more > -worth:": "none is just that",
    "return _scrambled(color - np.uint64(3) * (self.out @ scrambled) + np.uint64(5) * (self.into @ scrambled))": (
        "that is another color as well"
    ),
    "turn = np.arange(len(into)) - np.minimum.accumulate(np.where(first, np.arange(len(into)), 0))": (
        "one message at a time adds up to the same"
    ),
    "tier_in_tree, up = (np.array(tier_of_height)[height], np.where(paid, 1, 2)[height])": "either end pays a half",
    "times = np.where((m == 0) | (x == 0), 0, 1 + (m - x - 2) % 3)": "the same plane with its columns in another order",
    "times = np.where((m == 0) | (x == 0), 0, 1 + (m + x + 2) % 3)": "the same plane with its columns in another order",
    "labels: IntArray = connected_components(pairs, directed=True)[1][label].astype(np.intp)": (
        "of directed pairs the weak components are found unless strong ones are asked for"
    ),
    "tried[0][one] = tried[1][other] = chosen - np.uint64(1)": "that is another color as well",
    "if adds and form.measured >= NVLS_LEAST * machine.link:": "no run is just as fast",
    "if share <= 0.3:": "none is just that",
    "if waiting >= 0.15:": "none is just that",
    "if SEND_SHARE * HALF_CARD <= speed <= most * HALF_CARD or speed > SEND_SHARE * UNKNOWN.card:": (
        "none is just that"
    ),
    "if run.gpus_per_box != 1 and speed >= others:": "none is just that",
    "if 1 < one_card <= UNKNOWN.card:": "no card has a byte per second",
    "price = [count * np.log(b[-1] / count + FLOOR ** 2) + 6 * k * np.log(count) for k, b in enumerate(best, 2)]": (
        "the cheapest stays so where each costs as much more"
    ),
    "for h in range(1, steps + 2):": "of T steps none takes T + 1",
    "mesh: int = 1": "a single link to a peer is all of a GPU's links",
    "top_k: int = 1": "a model without experts has no layer that asks",
    "_in_radix: dict[int, Entry] = field(default_factory=dict, repr=True)": "only its repr is longer",
    "again = _lines(size, (constant + slope * size) * np.maximum(1 - drawn, 0.05), weight)": (
        "noise is as wide the other way"
    ),
    "table = np.zeros((int(power.max(initial=1)) + 1, size))": "no range is in the further row",
    "most = MOST_SEGMENTS if candidate.algorithm.segmented else 2": "in two segments a ring takes a step more",
}
LONGEST = 3600  # seconds of the processor's time in which the tests end without a fault
STARTING = 20  # seconds more than thrice their time: a mutant that takes longer does not end, and is found
TIMES = "seconds.json"
OPTIONS = ("-x", "-q", "-p", "no:cacheprovider", "--benchmark-disable")
UNSHRUNK = (hypothesis.Phase.explicit, hypothesis.Phase.reuse, hypothesis.Phase.generate)  # one failure is enough

SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    **{ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq},
    **{ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.FloorDiv: ast.Mult, ast.Mod: ast.FloorDiv},
    **{ast.And: ast.Or, ast.Or: ast.And, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd},
}
NAMES = {"all": "any", "any": "all", "max": "min", "min": "max", "minimum": "maximum", "maximum": "minimum"}


_Tree = TypeVar("_Tree", bound=ast.AST)


def sites(tree: ast.Module) -> Iterator[ast.AST]:
    """The nodes that a fault may sit in, outside of what changes no result."""
    skipped = {id(inner) for node in ast.walk(tree) for part in _ignored(node) for inner in ast.walk(part)}
    for node in ast.walk(tree):
        if id(node) not in skipped and mutated(_copied(node)) is not None:
            yield node


def _copied(tree: _Tree) -> _Tree:
    """A deep copy; `copy.deepcopy` takes several times as long."""
    copied: _Tree = pickle.loads(pickle.dumps(tree))
    return copied


def _ignored(node: ast.AST) -> list[ast.AST]:
    """Parts that change no result: annotations, `strict` and `frozen`, which assert what is so, and what saves time."""
    parts = [getattr(node, name, None) for name in ("annotation", "returns")]
    if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") in TUNING:
        parts.append(node.value)
    if isinstance(node, ast.keyword) and node.arg in ("strict", "frozen"):
        parts.append(node.value)
    return [part for part in parts if isinstance(part, ast.AST)]


def mutated(node: ast.AST) -> ast.AST | None:
    """The node with a fault in it, None where it takes none."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPS:
        node.ops[0] = SWAPS[type(node.ops[0])]()  # type: ignore[call-overload]
        return node
    if isinstance(node, ast.BinOp | ast.BoolOp | ast.AugAssign) and type(node.op) in SWAPS:
        node.op = SWAPS[type(node.op)]()  # type: ignore[assignment]
        return node
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return node.operand
    if isinstance(node, ast.Constant) and isinstance(node.value, bool | int):
        node.value = not node.value if isinstance(node.value, bool) else node.value + 1
        return node
    if isinstance(node, ast.Attribute) and node.attr in NAMES:
        node.attr = NAMES[node.attr]
        return node
    if isinstance(node, ast.Name) and node.id in NAMES:
        node.id = NAMES[node.id]
        return node
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        return ast.copy_location(ast.Pass(), node)
    return None


class _Replace(ast.NodeTransformer):
    def __init__(self, target: ast.AST) -> None:
        self.target = target

    def visit(self, node: ast.AST) -> ast.AST:
        return mutated(node) or node if node is self.target else self.generic_visit(node)


class Clock:
    """A plugin of pytest that notes the seconds of the processor that each test takes."""

    def __init__(self) -> None:
        self.took: dict[str, float] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        start = sum(os.times()[:4])  # with what the commands take that a test starts
        done = yield
        self.took[item.nodeid] = sum(os.times()[:4]) - start
        return done


@dataclass(frozen=True)
class Shortest:
    """A plugin of pytest that runs a file's own tests before others, the shortest first, as many as the time allows."""

    own: tuple[str, ...]
    took: dict[str, float]
    seconds: float

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items.sort(key=lambda item: (not item.nodeid.startswith(self.own), self.took.get(item.nodeid, 0)))
        ends = accumulate(self.took.get(item.nodeid, 0) for item in items)
        items[:] = [item for item, end in zip(items, list(ends), strict=True) if end <= self.seconds]


def passes(project: Path, plugin: Clock | Shortest, limit: int, *tests: str) -> bool:
    """Whether tests pass in a fork that runs in the project's copy and has this much of the processor's time."""
    child = os.fork()
    if not child:
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
        os.chdir(project)
        sys.path.insert(0, str(project))
        for stream in (1, 2):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
        code = pytest.main([*OPTIONS, *tests], plugins=[plugin])
        if isinstance(plugin, Clock):
            (project / TIMES).write_text(json.dumps(plugin.took), encoding="utf-8")
        os._exit(code)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return status in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)  # not every file has doctests


def doctests(*names: str) -> tuple[str, ...]:
    """What pytest is called with for the doctests of some files."""
    return "--doctest-modules", *(f"colllib/{name}" for name in names)


def readings(tree: ast.Module) -> Iterator[str]:
    """What the lines with a fault read, as `faulty` has them: statement by statement, which is quicker."""
    for statement in ast.walk(tree):
        if isinstance(statement, ast.stmt):
            header = copy.copy(statement)
            for block in {"body", "orelse", "finalbody"}.intersection(header._fields):
                setattr(header, block, [ast.Pass()] if block == "body" else [])
            alone = ast.Module([header], [])
            yield from (faulty(alone, node)[1] for node in sites(alone))


def stale() -> list[str]:
    """What `EQUIVALENT` names and no fault makes any more."""
    files = (ast.parse((LIBRARY / name).read_text(encoding="utf-8")) for part in PARTS.values() for name in part.first)
    left = {line.removeprefix("el") for line in EQUIVALENT}  # where an if is an elif
    for line in chain.from_iterable(map(readings, files)):
        left.discard(line.removeprefix("el"))
        if not left:
            break
    return [line for line in EQUIVALENT if line.removeprefix("el") in left]


def faulty(tree: ast.Module, node: ast.AST) -> tuple[str, str]:
    """A file's text with a fault in one node, and its line."""
    at = next(index for index, other in enumerate(ast.walk(tree)) if other is node)
    mutant = _copied(tree)
    target = next(other for index, other in enumerate(ast.walk(mutant)) if index == at)
    before, after = ast.unparse(tree), ast.unparse(ast.fix_missing_locations(_Replace(target).visit(mutant)))
    lines = zip(before.splitlines(), after.splitlines(), strict=False)
    without, line = next(((a.strip(), b.strip()) for a, b in lines if a != b), ("", ""))
    return after, f"without {without}" if line == "pass" else line


def survives(project: Path, part: Part, name: str, took: dict[str, float], seconds: float) -> bool:
    """Whether the tests of a part pass that its time allows, and a file's doctests."""
    own = part.first[name]
    limit = int(3 * min(sum(took.values()), seconds)) + STARTING
    tests = part.tests if part.rest else own
    runs = ((Shortest(own, took, seconds), tests), (Clock(), doctests(name)))
    return all(passes(project, plugin, limit, *tests) for plugin, tests in runs)


def main() -> int:
    """Make the faults one by one, print those that survive, and the score."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--count", type=int, default=60, help="how many faults, drawn from all sites of the part")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--part", choices=sorted(PARTS), default="core", help="a part of the library")
    parser.add_argument("--only", help="one file of the part")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="of tests against each fault, the shortest")
    chosen = parser.parse_args()
    part = PARTS[chosen.part]
    names = [chosen.only] if chosen.only else list(part.first)
    if not part.first.keys() >= set(names):
        parser.error(f"{chosen.only}: the part {chosen.part} has {', '.join(part.first)}")
    if lines := stale():
        parser.error(f"EQUIVALENT: no line with a fault reads {lines}")
    with contextlib.redirect_stdout(io.StringIO()):
        pytest.main(["--version"])  # imports the plugins
    hypothesis.settings.register_profile("unshrunk", phases=UNSHRUNK)
    hypothesis.settings.load_profile("unshrunk")  # the tests' own profile is made from this one
    trees = {name: ast.parse((LIBRARY / name).read_text(encoding="utf-8")) for name in names}
    every = [(name, node) for name, tree in trees.items() for node in sites(tree)]
    drawn = random.Random(chosen.seed).sample(every, min(chosen.count, len(every)))
    alive = equivalent = 0
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder) / "project"
        shutil.copytree(ROOT, project, ignore=shutil.ignore_patterns(".*", "_build"))
        mirrored = part.tests if part.rest else tuple(sorted({test for name in names for test in part.first[name]}))
        for tests in (doctests(*names), mirrored):
            if not passes(project, Clock(), LONGEST, *tests):
                raise SystemExit(f"{' '.join(tests)}: fails without a fault")
        took = json.loads((project / TIMES).read_text(encoding="utf-8"))
        for count, (name, node) in enumerate(drawn):
            print(f"{count} of {len(drawn)}", end="\r", file=sys.stderr, flush=True)
            after, changed = faulty(trees[name], node)
            if changed in EQUIVALENT:
                equivalent += 1
                continue
            (project / "colllib" / name).write_text(after, encoding="utf-8")
            if survives(project, part, name, took, chosen.seconds):
                alive += 1
                print(f"{name}:{getattr(node, 'lineno', 0)} survives: {changed}", flush=True)
            shutil.copy2(LIBRARY / name, project / "colllib" / name)
    real = len(drawn) - equivalent
    print(f"{real - alive} of {real} faults found ({(real - alive) / max(real, 1):.0%}), {equivalent} equivalent")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

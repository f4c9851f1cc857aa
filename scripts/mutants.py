"""How many small faults in the core do its tests find? One fault at a time, in a copy of the project.

    make mutants COUNT=60 SEED=1

A mutant that no test finds is printed with its line. `EQUIVALENT` names those that change no result, and says why.
"""

from __future__ import annotations

import argparse
import ast
import copy
import random
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
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
    "moves.py": ("tests/test_moves.py",),
    "topology/base.py": ("tests/test_topology.py", "tests/test_routes.py"),
    "topology/star.py": ("tests/test_topology.py", "tests/test_routes.py"),
    "topology/lattice.py": ("tests/test_lattice.py", "tests/test_topology.py"),
    "algorithms/allreduce.py": ("tests/algorithms",),
    "algorithms/nested.py": ("tests/algorithms/test_nested.py",),
}
#: All tests of the core.
EVERY = tuple(sorted({*FAST, *(test for tests in CORE.values() for test in tests if not test.startswith(FAST))}))
#: Constants that decide what takes less time or memory, and no result.
TUNING = ("LANE_CELLS", "MOST_BITS", "FEW_KEYS", "CHUNK", "HASHES", "COMPARED")
#: What a mutated line reads -> why it changes no result.
EQUIVALENT = {
    "if table.dtype != object or max(row, default=0) > np.iinfo(np.intp).max:": "numbers that fit are objects too",
    "return np.where((place >= 0) & (self.written[place] >= cell * self.steps), self.order[place], -2)": "so is -2",
    "pair = step.src[bundled] * schedule.nodes - step.dst[bundled]": "that names a pair as well",
    "others = (lattice.coordinate(dst, k) - lattice.coordinate(src, k) "
    "for k in range(len(lattice.dims)) if k != axis)": "a sum and a difference are even together",
    "pair[source * blocks.ranks - target] = True": "that is another place for each pair as well",
    "place = 1": "the first list stays as it is, and the next ones take what comes",
    "ranks = len(pair[1])": "both trees have all ranks",
    "depth[node] = depth[parent[node]] + 2": "which of two nodes is deeper is all that counts",
    "while top <= limit and time(min(2 * top, limit)) * SAME < time(top):": "at the limit no time is below itself",
    "self.by_cell = size <= FEW_KEYS": "a table finds what sorting finds",
    "return _fitting(values, int(np.max(times, initial=2))) * times": "numbers that fit are objects too",
    "if values.strides == (0,) and len(values) == 1:": "a copy has the same values",
    "climb = 2 * np.append(child, -2)": "the root has no way up",
    "if np.reshape(counts[start], -2)[move] == 0:": "numpy takes any negative length for what is left",
    "elif size == 2 and found and (found[-1].kind == 'xor') and (found[-1].stride + found[-1].size == stride):": (
        "then fewer axes of two are turned at once"
    ),
    "if len(key) + 64 < self.size and self.size >= FEW_KEYS:": "sorting finds what a table finds",
    "def _arrive(self, into: IntArray, add: NDArray[np.bool_], value: Ids, held: Ids, "
    "exchanged: bool=False) -> None:": "equal sums with a number each are proved as well",
    "if (self.cells[into] != number).all():": "messages that do not meet are found to be so once more",
    "times = np.minimum(counts[end - len(left) * lanes:end], 3)": "three times is more than once as well",
    "if levels >= 1:": "the exact way takes longer, and gives the same time",
    "if table.dtype != object and max(row, default=0) >= np.iinfo(np.intp).max:": "the largest that fits is exact too",
    "last = 3 * int(depth.max(initial=0))": "routes end before",
    "if held.min() <= 0:": "then nothing is empty",
    "if held.min() < 1:": "then nothing is empty",
    "slot = pair[waiting] + odd >> 31 & size - 1": "what meets in a table goes on to the next hash",
    "slot = pair[waiting] * odd >> 31 & size - 2": "what meets in a table goes on to the next hash",
    "self.bits = np.zeros(size // 8 + 2, dtype=np.uint8)": "a byte more than there are cells for",
    "self.bits = np.zeros(size * 8 + 1, dtype=np.uint8)": "more bytes than there are cells for",
    "NOTHING = -2": "so is -2",
    "self.nobody = kind.type(-2)": "so is -2",
    "parent = np.append(above, -2)": "the root has no way up",
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
    "together = max(2, CHUNK // len(wanted))": "so many ranks at once prove the same",
    "together = max(1, CHUNK * len(wanted))": "so many ranks at once prove the same",
    "moves = np.append(orbit.lattice.strides, np.random.default_rng(1).integers(ranks, size=FEW)) % ranks": (
        "those are as much at random"
    ),
    "self.held: Bits | Holders = Bits(size) if size <= MOST_BITS else Holders(schedule.nodes, self.source)": (
        "bits find what lists find"
    ),
    "halves = [low] if 2 * d == ranks and way != 1 else [high] if 2 * d == ranks else [low, high]": (
        "either half may go up, if the other one goes down"
    ),
    "for k in range(int(lane.max(initial=-1)) + 2):": "no value is in that lane",
    "first = min(FEW + 2, limit)": "one more that is tried",
    "FEW = 5": "one more that is tried",
    "FEW = 4": "one more that is tried",
    "groups += [self.apart.moved(ranks, copy) for copy in (copies[:2] if everyone else copies)]": (
        "nobody names the second group"
    ),
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
    "depth = ranks.bit_length() - 1 if ranks % 2 else (ranks - 2).bit_length()": "an odd number is as long",
    "wrong = np.array(counts[:len(self.start)]).reshape(len(self.start), -2)[of_lane] != 1": (
        "numpy takes any negative length for what is left"
    ),
    "if len(key) * 64 <= self.size and self.size >= FEW_KEYS:": "sorting finds what a table finds",
    "for k in range(int(turn.max()) + 2):": "in the last turn nothing arrives",
    "last = 2 * int(depth.max(initial=1))": "routes end before",
    "kept = kept and all((np.array_equal(found, crossed[1]) for found in crossed))": "what all are like is like all",
    "size = 1 << (2 + len(left)).bit_length()": "what meets in a table goes on to the next hash",
    "size = 1 << (3 * len(left)).bit_length()": "what meets in a table goes on to the next hash",
    "size = 2 << (2 * len(left)).bit_length()": "what meets in a table goes on to the next hash",
    "for k in range(int(lane.max(initial=-2)) + 1):": "then there is no lane either",
    "return array.astype(object) if max(largest, 2) * times >= LARGEST_INT else array": (
        "numbers that fit are objects too"
    ),
    "largest = max(int(array.max(initial=1)), -int(array.min(initial=0)))": "numbers that fit are objects too",
    "largest = max(int(array.max(initial=0)), -int(array.min(initial=1)))": "numbers that fit are objects too",
    "return total.astype(object) if total.max(initial=1) >= LARGEST_INT else total": "numbers that fit are objects too",
    "fits = max(map(abs, exact), default=1) < LARGEST_INT": "nothing fits all the same",
    "if max(self.denominator, self.numerators.max(initial=0), -self.numerators.min(initial=0)) > LARGEST_FLOAT:": (
        "2^53 itself is exact as well"
    ),
    "low, high = (max(low, top // 2), min(3 * top, limit))": "what is looked for is in a wider stretch as well",
}
SECONDS = 400  # of the processor's time: a mutant that takes more does not end, and is found, however busy the machine

SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    **{ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq},
    **{ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.FloorDiv: ast.Mult, ast.Mod: ast.FloorDiv},
    **{ast.And: ast.Or, ast.Or: ast.And, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd},
}
NAMES = {"all": "any", "any": "all", "max": "min", "min": "max", "minimum": "maximum", "maximum": "minimum"}


def sites(tree: ast.Module) -> Iterator[ast.AST]:
    """The nodes that a fault may sit in, outside of what changes no result."""
    skipped = {id(inner) for node in ast.walk(tree) for part in _ignored(node) for inner in ast.walk(part)}
    for node in ast.walk(tree):
        if id(node) not in skipped and mutated(copy.deepcopy(node)) is not None:
            yield node


def _ignored(node: ast.AST) -> list[ast.AST]:
    """Parts that change no result: annotations, `strict`, which asserts what is so, and what only takes less time."""
    parts = [getattr(node, name, None) for name in ("annotation", "returns")]
    if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") in TUNING:
        parts.append(node.value)
    if isinstance(node, ast.keyword) and node.arg == "strict":
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


def survives(project: Path, name: str) -> bool:
    """Whether all tests of the core pass in the project's copy, those that know a file best first."""
    rest = tuple(test for test in EVERY if test not in CORE[name])
    return all(passes(project, *tests) for tests in (CORE[name], doctests(name), rest))


def doctests(name: str) -> tuple[str, str]:
    """How they are run: by themselves, as a test module would hide the function of its name in the package."""
    return "--doctest-modules", f"colllib/{name}"


def passes(project: Path, *tests: str) -> bool:
    """Whether tests pass in the project's copy."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--benchmark-disable", *tests]
    return not subprocess.run(command, cwd=project, capture_output=True, preexec_fn=_limit, check=False).returncode


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))


def main() -> int:
    """Make the faults one by one, print those that survive, and the score."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--count", type=int, default=60, help="how many faults, drawn from all sites of the core")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=sorted(CORE), help="one file of the core")
    chosen = parser.parse_args()
    names = [chosen.only] if chosen.only else list(CORE)
    trees = {name: ast.parse((ROOT / "colllib" / name).read_text(encoding="utf-8")) for name in names}
    every = [(name, node) for name, tree in trees.items() for node in sites(tree)]
    drawn = random.Random(chosen.seed).sample(every, min(chosen.count, len(every)))
    alive = equivalent = 0
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder) / "project"
        shutil.copytree(ROOT, project, ignore=shutil.ignore_patterns(".*", "_build", "notebooks", "book"))
        for tests in (EVERY, *map(doctests, names)):
            if not passes(project, *tests):
                raise SystemExit(f"{' '.join(tests)}: fails without a fault")
        for count, (name, node) in enumerate(drawn):
            print(f"{count} of {len(drawn)}", end="\r", file=sys.stderr, flush=True)
            path, before = project / "colllib" / name, ast.unparse(trees[name])
            at = next(index for index, found in enumerate(ast.walk(trees[name])) if found is node)
            tree = copy.deepcopy(trees[name])
            target = next(found for index, found in enumerate(ast.walk(tree)) if index == at)
            after = ast.unparse(ast.fix_missing_locations(_Replace(target).visit(tree)))
            changed = next((b for a, b in zip(before.splitlines(), after.splitlines(), strict=False) if a != b), "")
            if changed.strip() in EQUIVALENT:
                equivalent += 1
                continue
            path.write_text(after, encoding="utf-8")
            if survives(project, name):
                alive += 1
                print(f"{name}:{getattr(node, 'lineno', 0)} survives: {changed.strip()}", flush=True)
            path.write_text((ROOT / "colllib" / name).read_text(encoding="utf-8"), encoding="utf-8")
    real = len(drawn) - equivalent
    print(f"{real - alive} of {real} faults found ({(real - alive) / max(real, 1):.0%}), {equivalent} equivalent")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

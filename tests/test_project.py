"""What goes for the files of the project as a whole."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import networkx as nx
import pytest

ROOT = Path(__file__).resolve().parents[1]
LOCKS = {path.name: path.read_text(encoding="utf-8") for path in sorted(ROOT.glob("requirements*.lock"))}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def pins(text):
    """The versions of each package of a lock file; what they are for (a system, a Python) is left out."""
    versions = {}
    for name, version in re.findall(r"^([a-z0-9._-]+)==([^\s;]+)", text, re.M):
        versions.setdefault(name, set()).add(version)
    return versions


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_file_holds_names_versions_and_hashes_and_no_addresses(name):
    """Neither an index nor a path: any index can serve the same files."""
    packages = re.split(r"\n(?=[a-z0-9])", re.sub("^#.*\n", "", LOCKS[name], flags=re.M).strip())
    for package in packages:
        head, *hashes = package.split(" \\\n")
        assert re.fullmatch(r"[a-z0-9._-]+==[^\s;]+( ; [^\\/]+)?", head), head
        assert hashes, f"{head} has no hash"
        assert all(re.fullmatch(r"    --hash=sha256:[0-9a-f]{64}", each) for each in hashes), head
    assert len(packages) > len(PROJECT["dependencies"])


def test_the_lock_files_pin_every_dependency():
    extras = PROJECT["optional-dependencies"]
    needed = {
        "requirements.lock": ("build", "book", "test"),
        "requirements-lab.lock": ("build", "lab"),
        "requirements-mpi.lock": ("build", "mpi"),
    }
    assert set(needed) == set(LOCKS)
    assert {extra for group in needed.values() for extra in group} == set(extras)
    for lock, group in needed.items():
        for requirement in (*PROJECT["dependencies"], *(each for extra in group for each in extras[extra])):
            name, _, exact = re.fullmatch(r"([A-Za-z0-9._-]+)(?:(==|>=)(.*))?", requirement).groups()
            assert name in pins(LOCKS[lock]), f"{name} is not in {lock}; run: make lock"
            assert "==" not in requirement or pins(LOCKS[lock])[name] == {exact}, requirement


def test_the_lock_files_agree():
    first = pins(LOCKS["requirements.lock"])
    for text in LOCKS.values():
        assert all(first.get(name, versions) == versions for name, versions in pins(text).items())


def git(*words, fine=(0,)):
    if shutil.which("git") is None:
        pytest.skip("no git here")
    run = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    if run.returncode not in fine:
        pytest.skip(f"not a git checkout: {run.stderr.strip()}")
    return run


def files_of_the_project():
    listing = git("ls-files", "-z", "--cached", "--others", "--exclude-standard")
    return [ROOT / name for name in listing.stdout.split("\0") if name and (ROOT / name).is_file()]


def test_nothing_names_this_machine_or_a_package_index():
    """No path of the machine it was written on, no host of a package registry: a clone works alone."""
    never = re.compile(
        r"/(?:home|root|Users|work|opt)/[a-z]|/tmp/[a-z]|\b(?:files\.pythonhosted|pypi|registry\.npmjs)\.org"
    )
    for path in files_of_the_project():
        if path == Path(__file__).resolve():
            continue
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        match = never.search(text)
        assert not match, f"{path.relative_to(ROOT)}: {match[0]!r}"


def test_ci_runs_the_test_command_of_the_readme():
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert script.splitlines()[-1] == "make test"
    assert "set -euo pipefail" in script
    assert "make test" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_what_the_package_reads_ships_with_it():
    """The build takes the whole package, so a data file needs no list; but git must not ignore it."""
    data = [path for path in (ROOT / "colllib").rglob("*") if path.suffix in (".css", ".js", ".csv")]
    assert data
    assert not git("check-ignore", *map(str, data), fine=(0, 1)).stdout


def test_workflows_name_the_actions_they_run_by_commit():
    """A tag can be moved to other code."""
    for workflow in (ROOT / ".github" / "workflows").glob("*.yml"):
        for action in re.findall(r"uses: *(.*)", workflow.read_text(encoding="utf-8")):
            assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", action), action


def imported(path, names):
    """The modules of the library that a file imports, also inside functions; not what only a type checker reads."""
    skipped = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            skipped |= set(ast.walk(node))
        elif isinstance(node, ast.ImportFrom) and node not in skipped:
            for alias in node.names:
                yield node.module if f"{node.module}.{alias.name}" not in names else f"{node.module}.{alias.name}"


def test_no_module_needs_one_that_needs_it():
    """But for the one catalogue: the algorithm of a tier is named in it, as is the one made of such tiers."""
    paths = sorted((ROOT / "colllib").rglob("*.py"))
    names = {".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path for path in paths}
    needs = nx.DiGraph((name, other) for name, path in names.items() for other in imported(path, names))
    circles = [sorted(group) for group in nx.strongly_connected_components(needs) if len(group) > 1]
    assert circles == [["colllib.algorithms", "colllib.algorithms.hierarchical"]]


#: Words that say of a thing only that it was dealt with; a name says what it is.
SAYS_NOTHING = {"found", "told", "moved", "here", "there", "said", "wanted", "goes"}


def test_no_variable_bears_a_word_that_says_nothing():
    parts = ("colllib", "tests", "scripts", "benchmarks", "book")
    for path in sorted(path for part in parts for path in (ROOT / part).rglob("*.py")):
        nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
        stored = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
        parameters = {node.arg for node in nodes if isinstance(node, ast.arg)}
        fields = {"found"} if path.name == "finding.py" else set()  # a key of because.toml
        assert (stored | parameters) & SAYS_NOTHING <= fields, path


def test_no_name_in_a_script_of_the_pages_says_nothing():
    """Declared, a parameter of an arrow or a property: what its readers see in strings and comments may say so."""
    word = f"(?:{'|'.join(sorted(SAYS_NOTHING | {'ways'}))})"
    names = rf"(?:const|let|function) [\[{{]?{word}\b|[,\[{{] *{word} *=(?!=)|\.{word}\b|\b{word}\)? *=>|[{{,] *{word}:"
    for path in sorted(path for part in ("colllib", "book") for path in (ROOT / part).rglob("*.js")):
        assert not re.findall(names, path.read_text(encoding="utf-8")), path

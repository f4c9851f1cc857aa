"""Names in the cells of a notebook: what a loop or a removed cell leaves behind is not used by a later cell.

A caption that says `N = {n}` and a schedule of `n` ranks are both wrong when `n` is what a loop three sections earlier
ended with; re-execution cannot see it, because the stored output is wrong in the same way. And what a cell makes that
is not on the page, not even folded, meets a reader who looks for it in vain.
"""

from __future__ import annotations

import ast
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
SCOPES = (ast.FunctionDef, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.ClassDef)


def at_top(tree):
    """All nodes of a cell outside functions, classes and comprehensions, in the order of the text."""
    for node in ast.iter_child_nodes(tree):
        if not isinstance(node, SCOPES):
            yield node
            yield from at_top(node)


def bound(tree):
    """The names that a cell binds at its top, and whether the last to do so is a loop."""
    targets = [node.target for node in at_top(tree) if isinstance(node, ast.For)]
    looping = {id(name) for target in targets for name in ast.walk(target)}
    names = {}
    for node in at_top(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names[node.id] = id(node) in looping
        elif isinstance(node, ast.alias):
            names[node.asname or node.name] = False
    return names


def bound_inside(node):
    """The names that a function, a lambda or a comprehension binds itself."""
    return {inner.arg for inner in ast.walk(node) if isinstance(inner, ast.arg)} | {
        inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store)
    }


def read(node, hidden=frozenset()):
    """The names that a cell reads and does not bind in an inner scope around the place."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id not in hidden:
        yield node.id
    inner = hidden | bound_inside(node) if isinstance(node, SCOPES) else hidden
    for child in ast.iter_child_nodes(node):
        yield from read(child, inner)


def stale(cells):
    """Names that a loop of an earlier cell left behind, with the number of the cell that reads them."""
    left = set()
    for place, cell in enumerate(cells, start=1):
        tree = ast.parse(cell)
        fresh = bound(tree)
        yield from ((place, name) for name in sorted(set(read(tree)) & (left - fresh.keys())))
        left = (left - fresh.keys()) | {name for name, by_a_loop in fresh.items() if by_a_loop}


def made(tree):
    """The names that a cell leaves to the next."""
    return bound(tree).keys() | {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}


def nowhere(cells):
    """Names that a cell on the page reads though a removed one made them, with the number of the cell that reads."""
    removed = set()
    for place, (cell, shown) in enumerate(cells, start=1):
        tree = ast.parse(cell)
        if not shown:
            removed |= made(tree)
            continue
        removed -= made(tree)
        yield from ((place, name) for name in sorted(set(read(tree)) & removed))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_no_cell_uses_what_a_loop_of_an_earlier_cell_left_behind(path):
    cells = [cell.source for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
    assert list(stale(cells)) == []


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["n = 64", "for n in (5, 33):\n    pass", 'print(f"N = {n}")'], [(3, "n")]),
        (["for n, p in pairs:\n    pass", "rows = [p for q in n]"], [(2, "n"), (2, "p")]),
        (["for n in (5, 33):\n    pass", "n = 64", "print(n)"], []),
        (["for n in (5, 33):\n    pass", "for n in (2, 3):\n    print(n)"], []),
        (["for n in (5, 33):\n    pass", "[n for n in (2, 3)], lambda n: n"], []),
        (["for n in (5, 33):\n    pass\nn = 64", "print(n)"], []),
        (["n = 64\nfor n in (5, 33):\n    pass", "print(n)"], [(2, "n")]),
    ],
)
def test_a_stale_name_is_found_and_a_new_one_is_not(cells, expected):
    assert list(stale(cells)) == expected


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_name_on_the_page_was_made_on_the_page(path):
    cells = [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
    removed = {"remove-cell", "remove-input"}
    assert list(nowhere((cell.source, not removed & set(cell.metadata.get("tags", ()))) for cell in cells)) == []


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        ([("able = 1", False), ("able", True)], [(2, "able")]),
        ([("def able():\n    pass", False), ("able()", True)], [(2, "able")]),
        ([("able = 1", False), ("able", False)], []),
        ([("able = 1", False), ("able = 2\nable", True), ("able", True)], []),
        ([("n = 64", True), ("n = 8", False), ("n", True)], [(3, "n")]),
    ],
)
def test_a_name_that_only_a_removed_cell_made_is_noticed(cells, expected):
    assert list(nowhere(cells)) == expected

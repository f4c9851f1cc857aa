"""The book's extension: what several outputs carry is shipped once."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import SimpleNamespace

import pytest
from docutils import nodes
from docutils.core import publish_doctree

from colllib.show import message_explorer

PATH = Path(__file__).parents[1] / "book" / "_ext" / "collectives_book.py"


def extension():
    spec = importlib.util.spec_from_file_location("collectives_book", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_outputs_name_shared_files_instead_of_carrying_them():
    output = message_explorer()._repr_html_()
    files: dict[str, str] = {}
    page = extension().share(f"<html><head></head><body>{output}{output}</body></html>", "../", files)
    assert sorted(name.rpartition(".")[2] for name in files) == ["css", "css", "css", "js", "js"]
    assert "<style" not in page
    assert page.count('<link rel="stylesheet" href="../_static/colllib/theme-') == 1
    assert page.count('<script defer src="../_static/colllib/explorer-') == 1
    assert page.count('data-src="../_static/colllib/') == 2  # two explorers, one file
    [data] = [content for name, content in files.items() if content.startswith("colllibShow.load(")]
    packed = output.split('data-digest="')[1].split('">')[1].split("</script>")[0]
    assert f'"{packed}"' in data
    assert packed not in page


def test_a_page_without_explorers_stays_as_it_is():
    page = "<html><head></head><body><style>p {}</style><script>let x;</script></body></html>"
    assert extension().share(page, "", {}) == page


PAGE = """
Trees
=====
About 12 minutes.

Above all.

Two trees
---------
Cost is :math:`n_\\beta = \\frac{N - 1}{2}\\alpha`.

.. code::

   event_clock(schedule)

.. code:: console

   $ colllib list

.. raw:: html

   <p class="cl-heading">Two &amp; <b>three</b></p><svg></svg><table><caption>A table</caption></table>
   <ol><li id="e-01-003" class="x"><p>A tree &amp; <b>its</b> leaves</p></li></ol>
"""


def test_sections_are_listed_with_their_prose_and_what_heads_their_pictures_and_claims_by_their_ids():
    document = publish_doctree(PAGE, settings_overrides={"doctitle_xform": False})
    for block in document.findall(nodes.literal_block):
        block["language"] = block["classes"][-1]
    text = "Cost is n_β = (N - 1)/2 α. $ colllib list Two & three. A table."
    assert extension().sections("notebooks/trees", document) == [
        ["notebooks/trees", "Trees", "trees", "Trees", "Above all.", ""],
        ["notebooks/trees", "Trees", "two-trees", "Two trees", text, "event_clock"],
        ["notebooks/trees", "Trees", "e-01-003", "E-01-003", "A tree & its leaves", ""],
    ]


def test_a_section_without_prose_is_listed_with_its_subsections():
    page = "Six causes\n==========\n\nOne card\n--------\nText.\n\nOne socket\n----------\nText.\n"
    document = publish_doctree(page, settings_overrides={"doctitle_xform": False})
    assert extension().sections("p", document)[0][4] == "One card. One socket."


def test_a_search_page_that_a_second_build_does_not_write_reads_the_sections_once(tmp_path, monkeypatch):
    book = extension()
    monkeypatch.setattr(book, "index_works", lambda app: ({}, []))
    (tmp_path / "_static").mkdir()
    page = tmp_path / "search.html"
    page.write_text("<html><head></head></html>", encoding="utf-8")
    app = SimpleNamespace(
        builder=SimpleNamespace(format="html"), outdir=tmp_path, env=SimpleNamespace(found_docs=set())
    )
    for _ in range(2):
        book.index_sections(app, None)
        assert page.read_text(encoding="utf-8").count("search-sections.js") == 1


@pytest.mark.parametrize(
    ("formula", "typed"),
    [
        (r"\frac{q}{q-2+2/N}\,\alpha\,\mathrm{BW}", "q/(q-2+2/N) α BW"),
        (r"\sum_i \lfloor d_i/2\rfloor \frac12 k", "Σ _i ⌊d_i/2⌋ 1/2 k"),
        (r"2\lceil\log_2 N\rceil \ge 511 \cdot 5", "2⌈log_2 N⌉ ≥ 511 · 5"),
    ],
)
def test_a_formula_is_listed_as_one_would_type_it(formula, typed):
    assert " ".join(extension().untexed(formula).split()) == typed


def test_the_first_column_with_a_text_in_every_row_names_the_rows():
    for first, named in (("ring", 0), (":math:`N`", 0), ("..", 1)):
        document = publish_doctree(f"========= ==\nwhat      N\n========= ==\n{first:9} 8\n========= ==\n")
        extension().name_rows(None, document)
        stubs = [column for column, spec in enumerate(document.findall(nodes.colspec)) if spec.get("stub")]
        assert stubs == [named]

"""The book's extension: what several outputs carry is shipped once."""

from __future__ import annotations

import importlib.util
from pathlib import Path

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
Cost is :math:`n_\\beta = 2`.

.. code::

   not_prose()

.. raw:: html

   <p class="cl-heading">Two &amp; <b>three</b></p><svg></svg><table><caption>A table</caption></table>
   <ol><li id="e-01-003" class="x"><p>A tree &amp; <b>its</b> leaves</p></li></ol>
"""


def test_sections_are_listed_with_their_prose_and_what_heads_their_pictures_and_claims_by_their_ids():
    document = publish_doctree(PAGE, settings_overrides={"doctitle_xform": False})
    assert extension().sections("notebooks/trees", document) == [
        ["notebooks/trees", "Trees", "trees", "Trees", "Above all."],
        ["notebooks/trees", "Trees", "two-trees", "Two trees", "Cost is n_beta = 2. Two & three. A table."],
        ["notebooks/trees", "Trees", "e-01-003", "E-01-003", "A tree & its leaves"],
    ]


def test_the_first_column_with_a_text_in_every_row_names_the_rows():
    for first, named in (("ring", 0), (":math:`N`", 0), ("..", 1)):
        document = publish_doctree(f"========= ==\nwhat      N\n========= ==\n{first:9} 8\n========= ==\n")
        extension().name_rows(None, document)
        stubs = [column for column, spec in enumerate(document.findall(nodes.colspec)) if spec.get("stub")]
        assert stubs == [named]

"""The book's own Sphinx extension: no third-party requests, no script errors, and things computed while building.

- What several outputs carry, a notebook's cells being complete by themselves, is shipped once: style sheets and scripts
  as files that pages share, an explorer's data as a file that its page asks for when the reader comes near.
- MathJax is copied out of the package that carries it, one file of 2 MB.
- A solution in words and the folded cell that follows it are one fold.
- Written pages are repaired where the theme, the bibliography or the tables are wrong (see ``REPAIRS``).
- sphinx-thebe, which jupyter-book always loads, is kept from adding its scripts: they name addresses of other projects,
  and declare one constant twice, which is a SyntaxError on every page.
- The search page answers by section, with an excerpt, from a list of all sections (``search.js``).
- The directive ``{execute}`` runs Python while the book is built and puts its last expression into the page.
"""

from __future__ import annotations

import ast
import html
import importlib.util
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from myst_nb.sphinx_ import HideCodeCellNode  # type: ignore[import-untyped]
from pybtex.richtext import Text  # type: ignore[import-untyped]
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.util.docutils import SphinxDirective

REPAIRS = [
    # A page opened as a file may not preload fonts, and says so to the console. The stylesheet loads them anyway.
    (re.compile(r'\s*<link rel="preload" as="font"[^>]*>'), ""),
    # The entries of a list are list items; the role that docutils gives them is deprecated.
    (re.compile(r'(<div class="citation"[^>]*) role="doc-biblioentry"'), r'\1 role="listitem"'),
    # The sidebar's head and search field lie outside every landmark.
    (
        re.compile(r'<div class="bd-sidebar-primary bd-sidebar">'),
        r'<div class="bd-sidebar-primary bd-sidebar" role="region" aria-label="Book">',
    ),
    # The search page has the field of every page and its own, by one id.
    (re.compile(r'(\sid="search-input".*?\sid="search-)input"', re.DOTALL), r'\1field"'),
    # docutils does not say of what a table's heads are heads.
    (re.compile(r'<th class="stub'), r'<th scope="row" class="stub'),
    (re.compile(r'<th class="head'), r'<th scope="col" class="head'),
]
CARRIED = re.compile(r'<(style|script) data-colllib="([\w.-]+)">(.*?)</\1>', re.DOTALL)
DATA = re.compile(r'(<script type="application/x-colllib-grid" data-digest="(\w+)")>([\w+/=]+)</script>')
HEADING = re.compile(r'<(?:p class="cl-heading"|caption)[^>]*>(.*?)</(?:p|caption)>', re.DOTALL)
MINUTES = re.compile(r"About \d+ minutes\.")
CARD = re.compile(r'<li id="(e-[\w-]+)"[^>]*>(.*?)(?=<li |</li>|</[ou]l>)', re.DOTALL)
TAG = re.compile(r"<[^>]+>")
LETTERS = {"alpha": "α", "beta": "β", "eta": "η", "sqrt": "√", "log": "log", "dots": "…", "cdots": "…", "infty": "∞"}
BRACKETS = {"lceil": "⌈", "rceil": "⌉", "lfloor": "⌊", "rfloor": "⌋"}
SIGNS = {"sum": "Σ", "cdot": "·", "times": "×", "ge": "≥", "le": "≤", "approx": "≈", "to": "→", "mid": "|", "in": "∈"}
SYMBOLS = LETTERS | BRACKETS | {name: f" {sign} " for name, sign in SIGNS.items()}
TEX: list[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]]] = [
    (re.compile(r"\\(?:[;,!\s]|quad)|\\(?:left|right|big|Big)(?![A-Za-z])"), " "),
    (re.compile(r"\\(?:mathrm|mathbf|text|operatorname)\s*\{([^{}]*)\}"), r"\1"),
    (re.compile(r"([_^])\{(\w+)\}"), r"\1\2"),
    (re.compile(r"\\[dt]?frac\s*(\w)\s*(\w)"), r" \1/\2 "),
    (re.compile(r"\\[dt]?frac\{([^{}]*)\}\{([^{}]*)\}"), r" (\1)/(\2) "),
    (re.compile(r"\((\w+)\)/"), r"\1/"),
    (re.compile(r"/\((\w+)\)"), r"/\1"),
    (re.compile(r"\\([A-Za-z]+)"), lambda match: SYMBOLS.get(match[1], f"{match[1]} ")),
    (re.compile(r"(?<=[⌈⌊√])\s+|[\\{}$]"), ""),
]
CODE_NAME = re.compile(r"\b[A-Za-z]\w*_\w+")
UNFOLD = {"Code", "Check it", "Solution"}
MATH = (nodes.math, nodes.math_block)
FILES = "_static/colllib"  # where they go
THEBE_LISTENERS = {"init_thebe_core", "update_thebe_context"}


def disconnect_thebe(app: Sphinx, config: Config) -> None:
    """Take sphinx-thebe's two page-changing listeners off their events; its stylesheet and node stay."""
    for listeners in app.events.listeners.values():
        for listener in list(listeners):
            if listener.handler.__module__ == "sphinx_thebe" and listener.handler.__name__ in THEBE_LISTENERS:
                app.disconnect(listener.id)


def copy_mathjax(app: Sphinx, error: Exception | None) -> None:
    """Copy ``tex-svg.js`` to where ``mathjax_path`` says it is."""
    if error is not None or app.builder.format != "html":
        return
    package = importlib.util.find_spec("sphinx-mathjax-offline")
    if package is None or package.origin is None:
        raise RuntimeError("sphinx-mathjax-offline is not installed; run: make venv")
    source = Path(package.origin).parent / "static" / "mathjax" / "tex-svg.js"
    target = Path(app.outdir) / "_static" / app.config.mathjax_path
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)


def name_rows(app: Sphinx, document: nodes.document) -> None:
    """Make the first column with a text in every row of a table in Markdown the rows' names, which a screen reader says
    with a cell."""
    for group in document.findall(nodes.tgroup):
        [body] = group.findall(nodes.tbody)
        columns = zip(*(row.children for row in body.findall(nodes.row)), strict=True)
        for spec, cells in zip(group.findall(nodes.colspec), columns, strict=True):
            if all(cell.astext().strip() for cell in cells):
                spec["stub"] = 1
                break


def unite_folds(app: Sphinx, document: nodes.document) -> None:
    """Make a fold in Markdown and the folded cell right after it one fold, which looks like that of any cell."""
    for dropdown in [one for one in document.findall(nodes.admonition) if "dropdown" in one["classes"]]:
        title, *body = dropdown.children
        fold = HideCodeCellNode("", *body, prompt_show=title.astext(), prompt_hide=title.astext())
        fold["classes"] = ["above-input"]
        after = dropdown.parent.index(dropdown) + 1
        for cell in dropdown.parent.children[after : after + 1]:
            if isinstance(cell, nodes.container) and cell.get("hide_mode") == "all":
                dropdown.parent.remove(cell)
                fold.extend(cell.children)
        dropdown.replace_self(nodes.container("", fold, classes=["cell", "tag_hide-cell"]))


def repair_pages(app: Sphinx, error: Exception | None) -> None:
    """Apply `REPAIRS` to every page."""
    if error is not None or app.builder.format != "html":
        return
    for page in Path(app.outdir).rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        for pattern, replacement in REPAIRS:
            text = pattern.sub(replacement, text)
        page.write_text(text, encoding="utf-8")


def share(text: str, root: str, files: dict[str, str]) -> str:
    """A page whose outputs name files instead of carrying style sheets, scripts and data; the files are collected.

    Args:
        text: the page.
        root: the way from it to the book's root, such as "../".
        files: name -> content, to which those of this page are added.
    """
    heads: dict[str, str] = {}

    def carried(match: re.Match[str]) -> str:
        tag, name, content = match.groups()
        files[name] = content
        address = f"{root}{FILES}/{name}"
        heads[name] = (
            f'<link rel="stylesheet" href="{address}">'
            if tag == "style"
            else f'<script defer src="{address}"></script>'
        )
        return ""

    def data(match: re.Match[str]) -> str:
        opening, name, packed = match.groups()
        files[f"{name}.js"] = f'colllibShow.load("{name}","{packed}");'
        return f'{opening} data-src="{root}{FILES}/{name}.js"></script>'

    text = DATA.sub(data, CARRIED.sub(carried, text))
    return text.replace("</head>", "".join(heads.values()) + "</head>", 1)


def share_files(app: Sphinx, error: Exception | None) -> None:
    """Apply `share` to every page, and write the files."""
    if error is not None or app.builder.format != "html":
        return
    out, files = Path(app.outdir), dict[str, str]()
    for page in out.rglob("*.html"):
        depth = len(page.relative_to(out).parts) - 1
        page.write_text(share(page.read_text(encoding="utf-8"), "../" * depth, files), encoding="utf-8")
    (out / FILES).mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (out / FILES / name).write_text(content, encoding="utf-8")


def sections(docname: str, document: nodes.document, works: dict[str, str] | None = None) -> list[list[str]]:
    """What the search finds on a page: its sections, a glossary's terms, the ledger's claims.

    Args:
        docname: the page's name.
        document: what is on it.
        works: the key of each work that may be cited, and the text that stands for it.

    Returns:
        a list of page, title of the page, anchor, title, text, names in code. The text of a section is its prose, its
        commands and what stands above its pictures and tables, folded ones included, without its subsections' and
        without a glossary's terms, which are found by themselves; a section that has none has its subsections' titles.
    """
    title = words(document.next_node(nodes.title))
    listed = []
    for section in document.findall(nodes.section):
        elsewhere = (nodes.section, nodes.title, addnodes.glossary)
        own = [child for child in section.children if not isinstance(child, elsewhere)]
        prose = [words(node, works) for child in own for node in child.findall(nodes.paragraph)]
        blocks = [block for child in own for block in child.findall(nodes.literal_block)]
        commands = [" ".join(block.astext().split()) for block in blocks if block.get("language") == "console"]
        above = [line for child in own for line in above_outputs(child)]
        below = [
            words(part.next_node(nodes.title)) + "." for part in section.children if isinstance(part, nodes.section)
        ]
        text = " ".join([line for line in prose if not MINUTES.match(line)] + commands + above) or " ".join(below)
        names = sorted({name for block in blocks if not drawn(block) for name in CODE_NAME.findall(block.astext())})
        heading = words(section.next_node(nodes.title))
        listed.append([docname, title, section["ids"][0], heading, text, " ".join(names)])
    for term in document.findall(nodes.term):
        if term["ids"]:
            text = words(term.parent.next_node(nodes.definition), works)
            listed.append([docname, title, term["ids"][0], words(term), text, ""])
    for raw in document.findall(nodes.raw):
        for anchor, card in CARD.findall(raw.astext()):
            listed.append([docname, title, anchor, anchor.upper(), plain(card), ""])
    return listed


def drawn(block: nodes.literal_block) -> bool:
    """Whether it is code that only draws, which a page folds."""
    cell = block.parent.parent
    return isinstance(cell, nodes.Element) and cell.get("prompt_show") == "Code"


def above_outputs(node: Any) -> list[str]:
    """What stands above the pictures and tables on a part of a page, and what unfolds them, as sentences."""
    folds = [str(cell["prompt_show"]) for cell in node.findall(nodes.container) if cell.get("hide_mode")]
    titles = [f"{fold}." for fold in folds if fold not in UNFOLD]
    return titles + [line for raw in node.findall(nodes.raw) for line in headings(raw)]


def headings(raw: nodes.raw) -> list[str]:
    """What stands above the pictures and tables of an output, as sentences."""
    return [f"{plain(heading)}." for heading in HEADING.findall(raw.astext())]


def plain(markup: str) -> str:
    """The text of HTML as one line."""
    return " ".join(html.unescape(TAG.sub(" ", markup)).split())


def words(node: Any, works: dict[str, str] | None = None) -> str:
    """The text of a node as one line, formulas without their markup, and authors in place of the keys of citations."""
    parts = []
    for text in node.findall(nodes.Text):
        cited = next((one for one in (text.parent, text.parent.parent) if _cites(one)), None)
        if cited is None:
            parts.append(untexed(str(text)) if isinstance(text.parent, MATH) else str(text))
        elif works:
            short = "; ".join(works[key.strip()] for key in cited["reftarget"].split(","))
            parts.append(short if cited["reftype"] == "t" else f"({short})")
    return " ".join("".join(parts).split())


def _cites(node: Any) -> bool:
    return isinstance(node, nodes.Element) and node.get("refdomain") == "cite"


def untexed(formula: str) -> str:
    """A formula as one would type it: ``\\frac{M}{2\\alpha}`` is M/(2α)."""
    for pattern, typed in TEX:
        formula = pattern.sub(typed, formula)
    return formula


def index_works(app: Sphinx) -> tuple[dict[str, str], list[list[str]]]:
    """How each work of the bibliography is cited in a text (key -> "Bruck et al., 1997"), and an entry for each in the
    list of `sections`: its title, with its authors and the pages that cite it."""
    domain: Any = app.env.get_domain("cite")
    titles = {page: words(title) for page, title in app.env.titles.items()}
    cites: dict[str, list[str]] = {}
    for reference in domain.citation_refs:
        for target in reference.targets:
            cites.setdefault(target.key, []).append(titles[reference.docname])
    works, listed = {}, []
    for citation in domain.citations:
        fields, people = citation.entry.fields, citation.entry.persons.get("author", [])
        last = [" ".join(map(str, person.rich_prelast_names + person.rich_last_names)) for person in people]
        first = [" ".join(map(str, person.rich_first_names + person.rich_middle_names)) for person in people]
        names = [" ".join(parts) for parts in zip(first, last, strict=True)]
        short = " and ".join(last) if len(last) < 3 else f"{last[0]} et al."
        works[citation.key] = f"{short}, {fields.get('year', '')}"
        places = list(dict.fromkeys(cites.get(citation.key, [])))
        note = re.sub(r"\\(?:texttt|url) ?", "", str(Text.from_latex(fields.get("note", ""))))
        text = f"{'; '.join(names)}, {fields.get('year', '')}. {note} "
        text += f"Cited in {', '.join(places)}." if places else ""
        page = citation.bibliography_key.docname
        title = str(Text.from_latex(fields["title"]))
        listed.append([page, titles[page], citation.citation_id, title, " ".join(text.split()), citation.key])
    return works, listed


def index_sections(app: Sphinx, error: Exception | None) -> None:
    """Write the list of all sections, and let the search page read it instead of answering by page."""
    if error is not None or app.builder.format != "html":
        return
    out = Path(app.outdir)
    works, entries = index_works(app)
    for name in sorted(app.env.found_docs):
        entries += sections(name, app.env.get_doctree(name), works)
    listed = json.dumps(entries, ensure_ascii=False, separators=(",", ":"))
    (out / "_static" / "search-sections.js").write_text(f"const SECTIONS = {listed};", encoding="utf-8")
    page = out / "search.html"
    scripts = "".join(f'<script src="_static/{name}.js"></script>' for name in ("search-sections", "search"))
    text = page.read_text(encoding="utf-8").replace(scripts, "")  # of the last build, where it wrote the page
    page.write_text(text.replace("</head>", f"{scripts}</head>", 1), encoding="utf-8")


class Execute(SphinxDirective):
    """Python, run while the book is built; the value of the last expression goes into the page.

    An object with ``_repr_html_`` (a table, a figure, an explorer) is put in as it is; its ``anchors``, if it has any,
    go into the index that the search asks (name -> id of an element). A string is read as Markdown, headings included.
    """

    has_content = True
    required_arguments = 0
    optional_arguments = 0
    option_spec: ClassVar[dict[str, Any]] = {}

    def run(self) -> list[nodes.Node]:
        self.assert_has_content()
        source, line = self.get_source_info()
        tree = ast.parse("\n".join(self.content), filename=source)
        last = tree.body[-1]
        if not isinstance(last, ast.Expr):
            raise self.error("the directive's last line must be an expression, whose value is shown")
        names: dict[str, Any] = {"__name__": "__book__"}
        try:
            exec(compile(ast.Module(tree.body[:-1], []), source, "exec"), names)
            value = eval(compile(ast.Expression(last.value), source, "eval"), names)
        except Exception as error:
            raise self.error(f"{type(error).__name__}: {error} (in the directive at line {line})") from error
        if isinstance(value, str):
            return list(self.parse_text_to_nodes(value, allow_section_headings=True))
        if hasattr(value, "_repr_html_"):
            raw = nodes.raw("", value._repr_html_(), format="html")
            if not hasattr(value, "anchors"):
                return [raw]
            entries = [("single", name, anchor, "main", None) for name, anchor in value.anchors.items()]
            return [addnodes.index(entries=entries), raw]
        return [nodes.literal_block("", repr(value))]


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("execute", Execute)
    app.connect("config-inited", disconnect_thebe, priority=900)
    app.connect("doctree-read", name_rows)
    app.connect("doctree-read", unite_folds)
    app.connect("build-finished", copy_mathjax)
    app.connect("build-finished", repair_pages)
    app.connect("build-finished", share_files)
    app.connect("build-finished", index_sections)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}

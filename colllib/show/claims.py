"""Claims as the last line of a chapter, as cards that can be filtered, and as errata."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from colllib.claims import FAILS, HOLDS, SOURCES, Cause, Claim, Finding, causes, entry, for_chapter, ledger
from colllib.show.theme import code, escape, style
from colllib.units import several


class Claimed:
    """The line that ends a chapter: how many published statements were checked for it, with a link to them.

    Most were executed; a fact was looked up. Definitions, and what nothing can check, are in the ledger only.

    >>> Claimed("mesh")
    15 statements of published texts were checked for this chapter; 5 do not hold.
    """

    def __init__(self, chapter: str) -> None:
        self.chapter = chapter
        self.verdicts = [claim.verdict for claim in for_chapter(chapter)]

    def _line(self, opening: str, closing: str) -> str:
        checked = sum(verdict in FAILS or verdict in HOLDS for verdict in self.verdicts)
        failing = sum(verdict in FAILS for verdict in self.verdicts)
        described = f"{opening}{several(checked, 'statement')} of published texts{closing}"
        if checked == 1:
            return f"{described} was checked for this chapter; it {'does not hold' if failing else 'holds'}."
        fails = f"{failing} {'does' if failing == 1 else 'do'} not hold" if failing else "all of them hold"
        return f"{described} were checked for this chapter; {fails}."

    def _repr_markdown_(self) -> str:
        return self._line("[", f"](../book/claims.html?chapter={self.chapter})")

    def __repr__(self) -> str:
        return self._line("", "")


@dataclass(frozen=True, repr=False)
class Ledger:
    """Every claim as a card, its verdict first; a form filters them, and without script all are shown.

    >>> from colllib.claims import for_chapter
    >>> Ledger(for_chapter("mesh"))
    15 claims: 9 reproduced, ...
    """

    entries: Sequence[Claim]

    @property
    def anchors(self) -> dict[str, str]:
        """Id of a claim -> the anchor of its card, for the index of the book's search."""
        return {e.id: _anchor(e) for e in self.entries}

    def _repr_html_(self) -> str:
        cards = [_facets(e) for e in self.entries]
        values = {name: ["", *sorted({facets[name] for facets in cards} - {""})] for name in _FACETS}
        choices = "".join(_choice(name, offered[1:]) for name, offered in values.items())
        text = '<label>words<input name="text" type="search"></label>'
        places = [" ".join(str(values[name].index(facets[name])) for name in _FACETS) for facets in cards]
        items = "".join(map(_card, self.entries, places))
        return (
            f'{style("theme", "ledger")}<div class="colllib cl-ledger">'
            f'<form hidden aria-label="Filter the claims">{choices}{text}<output aria-live="polite"></output></form>'
            f"<ol>{items}</ol><script>{code('ledger')}</script></div>"
        )

    def __repr__(self) -> str:
        counted = Counter(e.verdict.value for e in self.entries)
        return f"{len(self.entries)} claims: " + ", ".join(f"{count} {verdict}" for verdict, count in counted.items())


_FACETS = ("source", "section", "chapter", "verdict")


def _facets(claim: Claim) -> dict[str, str]:
    """What a card is filtered by; a section is that of one source."""
    section = _place(claim) if claim.where else ""
    return dict(zip(_FACETS, (SOURCES[claim.source], section, claim.chapter, claim.verdict.value), strict=True))


def _choice(name: str, values: Iterable[str]) -> str:
    options = "".join(f"<option>{escape(value)}</option>" for value in values)
    if name == "verdict":  # groups of them, by the class of a card
        options += (
            '<option value="cl-fails">any that does not hold</option><option value="cl-holds">any that holds</option>'
        )
    return f'<label>{name}<select name="{name}"><option value="">all</option>{options}</select></label>'


def _card(claim: Claim, places: str) -> str:
    """A claim; `places` are those of its facets among the choices of the form, so that a thousand cards stay light."""
    finding = claim.finding
    anchor = _anchor(claim)
    color = errata = ""
    if claim.verdict in FAILS:
        color = ' class="cl-fails"'
        errata = f' · <a href="errata.html#{anchor}">in the errata</a>'
    elif claim.verdict in HOLDS:
        color = ' class="cl-holds"'
    chapter = f'; <a href="../notebooks/{claim.chapter}.html">chapter {claim.chapter}</a>' if claim.chapter else ""
    basis = f"; {escape(finding.basis)}" if finding.how != "none" else ""
    paragraphs = [
        f'<strong>{claim.verdict.value}</strong> <a href="#{anchor}">{claim.id}</a>{errata}',
        escape(_stated(claim)),
        "" if _claimed(claim) == "as stated" else f"Printed: {escape(_claimed(claim))}",
        f"{_value_label(finding)}: {escape(finding.executed)}" if finding.executed else "",
        escape(finding.because),
        f"{escape(_place(claim))}{chapter}{basis}",
    ]
    text = "".join(f"<p>{paragraph}" for paragraph in paragraphs if paragraph)
    return f'<li id="{anchor}"{color} data-at="{places}">{text}'  # HTML ends each where the next begins, paragraphs too


def errata() -> str:
    """The entries that do not hold, by the cause that they share, as Markdown for the owners of the texts.

    A section a cause, the largest first: a paragraph on it and where the book explains it, then every entry with an
    anchor of its own (its id in small letters), its place, what is printed, what was executed, and links to the ledger
    and to the chapter on its topic.

    >>> errata().splitlines()[0]
    '## One trip through a switch, counted once and twice'
    """
    lines = []
    in_order = [claim.id for claim in ledger()]
    for cause in sorted(causes().values(), key=lambda cause: -len(cause.ids)):
        see = f" See [](../notebooks/{cause.see})." if cause.see else ""
        lines += [f"## {cause.title}", "", _plain(cause.text) + _cited(cause.reference) + see, ""]
        for name in sorted(cause.ids, key=in_order.index):
            lines += _erratum(entry(name), cause)
    return "\n".join(lines)


def _erratum(claim: Claim, cause: Cause) -> list[str]:
    """A term for what is said, and its definition; the paragraph of the cause is not said again."""
    finding = claim.finding
    reason = "" if finding.because == cause.text else f" {_plain(finding.because)}"
    cited = _cited(finding.reference) if finding.reference != cause.reference else ""
    chapter = f"[](../notebooks/{claim.chapter}.ipynb)"
    link = f'<a id="{_anchor(claim)}" href="claims.html#{_anchor(claim)}">{claim.id}</a>'
    return [
        f"**{link}, {_plain(_place(claim))}.** {_plain(_stated(claim))}",
        f": *{finding.verdict.value}.* Printed: {_plain(_claimed(claim))}. "
        f"{_value_label(finding)}: {_plain(finding.executed)}."
        f"{reason}{cited} ({_plain(finding.basis)}; {chapter})",
        "",
    ]


def _anchor(claim: Claim) -> str:
    """Where the ledger and the errata have a claim."""
    return claim.id.lower()


def _place(claim: Claim) -> str:
    return ", ".join(filter(None, (SOURCES[claim.source].split(",")[0], claim.where)))


def _stated(claim: Claim) -> str:
    return claim.statement + (f" ({claim.inputs})" if claim.inputs not in ("", "-") else "")


def _value_label(finding: Finding) -> str:
    """How the value came about, as the label of the value."""
    return "Read" if finding.how == "read" else "Executed" if "executed" in finding.how else "Computed"


def _cited(reference: str) -> str:
    return f" {{cite:p}}`{reference}`" if reference else ""


def _claimed(claim: Claim) -> str:
    return claim.claimed if claim.claimed not in ("", "-") else "as stated"


def _plain(text: str) -> str:
    """Text with the characters that Markdown would take for markup kept as they are."""
    return re.sub(r"[\\*_`<[${|]", r"\\\g<0>", text)

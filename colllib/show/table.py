"""Tables that are HTML in a page and aligned text everywhere else."""

from collections.abc import Sequence
from dataclasses import dataclass

from tabulate import tabulate

from colllib.show.theme import escape, style, typeset


def _numeric(cell: object) -> bool:
    text = str(cell).replace(",", "").replace("\u2009", "").strip()
    head = text.split(" ")[0].split("/")[0].rstrip("%")
    try:
        float(head)
    except ValueError:
        return False
    return True


@dataclass(frozen=True, repr=False)
class Table:
    """Headers, rows, a caption that states the conclusion; columns of numbers to the right.

    Cells are text or anything with a ``str``; markup in them is escaped. The first column with a text in every row
    names the rows, for screen readers. Rows that are `lit` light up together with what has the name in their first
    cell in the same explorer's figure.

    >>> Table(["algorithm", "steps"], [["ring", 14], ["tree", 6]], "Steps at N = 8")
    Steps at N = 8
    algorithm      steps
    -----------  -------
    ring              14
    tree               6
    """

    headers: Sequence[str]
    rows: Sequence[Sequence[object]]
    caption: str | None = None
    align: Sequence[str] | None = None
    lit: bool = False

    def __post_init__(self) -> None:
        if not self.headers:
            raise ValueError("a table needs at least one header")
        for place, row in enumerate(self.rows, 1):
            if len(row) != len(self.headers):
                raise ValueError(f"row {place} has {len(row)} cells; the headers say {len(self.headers)}")
        if self.align is not None and len(self.align) != len(self.headers):
            raise ValueError(f"align names {len(self.align)} columns; the headers say {len(self.headers)}")
        for align in self.align or ():
            if align not in ("left", "right"):
                raise ValueError(f"align {align!r} is not left or right")

    @property
    def columns(self) -> tuple[str, ...]:
        """The alignment in use: `align`, else right for columns of numbers; a row's name that only begins with one
        ("4 × 4", "8 boxes of 8") is a text."""
        if self.align is not None:
            return tuple(self.align)
        numeric = [bool(self.rows) and all(_numeric(row[k]) for row in self.rows) for k in range(len(self.headers))]
        numeric[0] &= all(len(str(row[0]).split()) <= 2 for row in self.rows)
        return tuple("right" if is_numeric else "left" for is_numeric in numeric)

    def fragment(self) -> str:
        """The table alone, for use inside an explorer's part (the part scrolls)."""
        attributes = [f' class="cl-{align}"' if align != "left" else "" for align in self.columns]
        caption = f"<caption>{typeset(self.caption)}</caption>" if self.caption else ""
        head = "".join(
            f'<th scope="col"{attribute}>{typeset(header)}</th>' if header else "<td></td>"
            for header, attribute in zip(self.headers, attributes, strict=True)
        )
        names = next((k for k in range(len(self.headers)) if all(str(row[k]) for row in self.rows)), None)
        body = []
        for row in self.rows:
            cells = [f"<td{attribute}>{typeset(cell)}</td>" for cell, attribute in zip(row, attributes, strict=True)]
            if names is not None:
                cells[names] = f'<th scope="row"{attributes[names]}>{typeset(row[names])}</th>'
            lit = f' data-row="{escape(row[0])}" tabindex="0"' if self.lit else ""
            body.append(f"<tr{lit}>{''.join(cells)}</tr>")
        return (
            f'<table class="colllib-table">{caption}<thead><tr>{head}</tr></thead>'
            f"<tbody>{''.join(body)}</tbody></table>"
        )

    def _repr_html_(self) -> str:
        name = escape(self.caption or ", ".join(self.headers))
        return (
            f'{style("theme")}<div class="colllib cl-scroll" tabindex="0" role="group" '
            f'aria-label="Table: {name}">{self.fragment()}</div>'
        )

    def __repr__(self) -> str:
        cells = [[str(cell) for cell in row] for row in self.rows]
        text = tabulate(cells, headers=list(self.headers), colalign=self.columns, disable_numparse=True)
        return f"{self.caption}\n{text}" if self.caption else text

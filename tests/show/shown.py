"""What a rendered table says, cell by cell."""

from __future__ import annotations

import re
from html import unescape


def rows(html: str) -> list[list[str]]:
    """The texts of a table's rows below the head, without their markup."""
    return [_cells(row) for row in re.findall(r"<tr[^>]*>(.*?)</tr>", html.split("<tbody>")[-1])]


def headings(html: str) -> list[str]:
    """The texts of a table's head."""
    return _cells(html.split("<tbody>")[0])


def _cells(row: str) -> list[str]:
    return [unescape(re.sub(r"<[^>]*>", "", cell)) for cell in re.findall(r"<t[hd]\b[^>]*>(.*?)</t[hd]>", row)]

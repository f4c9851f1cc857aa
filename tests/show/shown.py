"""What a rendered table says, cell by cell."""

from __future__ import annotations

import re
from html import unescape


def rows(html: str) -> list[list[str]]:
    """The texts of a table's rows below the head, without their markup."""
    return [
        [unescape(re.sub(r"<[^>]*>", "", cell)) for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row)]
        for row in re.findall(r"<tr[^>]*>(.*?)</tr>", html.split("<tbody>")[-1])
    ]

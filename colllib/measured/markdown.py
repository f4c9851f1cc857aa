"""Tables in Markdown, as people post them: columns in any order, with units in heads or cells, several runs in one."""

import re
from dataclasses import replace

from colllib.measured.log import COLLECTIVES, Row, Table, finite

_QUANTITY = re.compile(r"([\d.,_]+)\s*([KMGT]?)(i?)(B(?:ytes)?|)(ps|/s)?(?:\s+\D.*)?", re.IGNORECASE)
_SIZED = re.compile(
    r"((message|msg|buffer|data|transfer|tensor|total) )?size|message|payload|bytes|buffer|b(?= ?\([kmg])|"
    r"((메시지|데이터) )?크기|(消息|数据|訊息|資料)(大小|量)|(メッセージ|データ)?サイズ|(nachrichten|daten)?größe"
)
_RATE_NAMES = (  # how Markdown, or a table with commas, spells a column -> our name
    (re.compile(r"(?<![a-z])bus[ _-]?(bw|bandwidth)(?![a-z])"), "busbw"),
    (re.compile(r"(?<![a-z])alg(o(rithm)?)?[ _-]?(bw|bandwidth)(?![a-z])"), "algbw"),
    (re.compile(r"^in[ _-]?place$"), "in-place"),
)
_A_SIZE = re.compile(r"[\d.,]+ ?(?:[kmgt]i?b?|b|bytes)")
_RUN_NAMES = ("collective", "operation", "primitive", "test")  # columns that tell runs apart
_NO_NAMES = ("", "#", "no", "no.", "nr", "index")  # of columns that count the rows
_RANKS_NAME = re.compile(r"(?:# ?|number of )?(?:n|gpus|ranks|n ?gpus|n ?ranks|world size)")
_DURATION = re.compile(r"([\d.,_]+)\s*([nmuµμ]?s)?(?:\s.*)?")
SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ns": 1e-9}
SIZES_IN = re.compile(r"(?i:size|message|payload|buffer|^b|크기|大小|量|サイズ|größe) ?\(((?i:[kmgt]i?b?))\)")
UNIT = re.compile(r"\(\s*([mnµμu]?s|[kKMGT]?i?[Bb](?:its?|ytes?)?(?:/s|ps))\s*\)")


def header(line: str) -> tuple[str, ...]:
    """The columns that a line of cells names, or none."""
    cells = [column_name(cell) for cell in line.strip("|").split("|")]
    named = any(kind in cell for kind in ("busbw", "algbw") for cell in cells)  # then a size may stand elsewhere
    sized = any(map(_SIZED.match, cells if named else cells[:1]))
    return tuple(cells) if len(cells) > 1 and sized else ()


def column_name(cell: str) -> str:
    """What a cell of a head calls its column, in our words where it is a rate."""
    name = cell.strip(" *`").lower()
    for pattern, ours in _RATE_NAMES:
        name = pattern.sub(ours, name)
    return name


def take_row(tables: list[Table], line: str) -> None:
    """Add what a line of cells says to the last table, or to that of its run."""
    table = tables[-1]
    cells = [re.sub("[*`]", "", cell).strip() for cell in line.strip("|").split("|")]  # a number may be in bold
    if table.dialect != "markdown" or all(set(cell) <= set("-: ") for cell in cells):
        return
    if len(cells) != len(table.columns):
        return table.refuse(f"{len(cells)} cells for {len(table.columns)} columns")
    if all(map(_A_SIZE.fullmatch, table.columns[1:])):
        return _transposed(table, cells)
    at = next(column for column, name in enumerate(table.columns) if _SIZED.match(name))
    table = _labeled(tables, cells, at)
    unit = SIZES_IN.search(table.columns[at])
    message = _quantity(cells[at] + (unit[1] if unit and cells[at][-1:].isdigit() else ""), size=True)
    rows: list[dict[str, float | None]] = []
    names: list[str] = []
    for name, cell in zip(table.columns, cells, strict=True):
        if kind := _markdown_column(name, cell, table.columns):
            if not rows or kind in rows[-1]:
                rows.append({})
                names.append(name)
            value = _duration(cell, name) if kind == "time" else _quantity(cell, size=False)
            rows[-1][kind] = value if value and value > 0 else None
    wrong = [cell for name, cell in zip(table.columns, cells, strict=True) if name in ("wrong", "#wrong")]
    half_of_row = dict(zip(table.columns, cells, strict=True)).get("in-place", "").lower()
    two_halves = len(rows) == 2 and ("time" in rows[0] | rows[1] or re.search("in.place", names[1]))
    for half, row in enumerate(rows):
        if message is None or None in row.values():
            table.refuse("a cell is no size, or no number above 0")
            continue
        seconds, algbw, busbw = map(row.get, ("time", "algbw", "busbw"))
        if seconds and algbw and not 0.9 < message / seconds / algbw < 1.1:
            table.refuse("algbw is not size over time, which is not used")
            seconds = None
        in_place = half_of_row in ("1", "true", "yes") if half_of_row else half == 1 if two_halves else None
        place = "" if half_of_row or two_halves else names[half]
        errors = wrong[half] if len(wrong) == len(rows) else "".join(wrong[:1])
        table.add(Row(table.number, message, seconds, algbw, busbw, in_place, errors), place)


def _transposed(table: Table, cells: list[str]) -> None:
    """A row of a table that has a column for each size."""
    name = column_name(cells[0])
    if _markdown_column(name, "", (name,)) != "busbw":
        return table.refuse("a row over columns of sizes that is no busbw")
    for size, cell in zip(table.columns[1:], cells[1:], strict=True):
        message, busbw = _quantity(size, size=True), _quantity(cell, size=False)
        if message and busbw:
            table.add(Row(table.number, message, None, None, busbw), name)
        else:
            table.refuse("a cell is no number above 0")


def _labeled(tables: list[Table], cells: list[str], at: int) -> Table:
    """The table of a row's run: each collective or number of ranks that stands before the size has one."""
    table = tables[-1]
    named = [
        (name, cell)
        for column, (name, cell) in enumerate(zip(table.columns, cells, strict=True))
        if name in _RUN_NAMES
        or (column < at and name not in _NO_NAMES and not _markdown_column(name, "", table.columns))
    ]
    plain, labels = table.labeled.setdefault((), table), tuple(cell for _, cell in named)
    if labels not in table.labeled:
        tables.append(replace(plain, rows=[], marks=[], unread=[], per_rank=[]))
        table.labeled[labels] = tables[-1]
    labeled = table.labeled[labels]
    labeled.number, labeled.stream = table.number, table.stream
    for name, cell in named:
        labeled.collective = COLLECTIVES.get(re.sub(r"[^a-z]", "", cell.lower()), labeled.collective)
        if _RANKS_NAME.fullmatch(name) and cell.isdigit():
            labeled.ranks = int(cell)
        elif name in ("nodes", "hosts") and cell.isdigit():
            labeled.hosts = int(cell)
    return labeled


def _markdown_column(name: str, cell: str, columns: tuple[str, ...]) -> str:
    """What stands in a column; rates without a name are bus bandwidths, which is what people tabulate."""
    kinds = ("busbw", "algbw", "time")
    if "factor" in name or re.search(r"mbps|mb/s", name):  # of two bandwidths, or another unit
        return ""
    if any(kind in column for kind in kinds for column in columns):
        return next((kind for kind in kinds if kind in name), "")
    return "busbw" if re.search(r"nodes?$|gb/s|gbps", name) or cell.endswith("GB/s") else ""


def _duration(cell: str, name: str) -> float | None:
    """Seconds, in the unit of the cell or else of its column, or else in microseconds."""
    match, unit = _DURATION.fullmatch(cell), UNIT.search(name) or re.search("_([mnu]?s)$", name)
    value = finite(match[1]) if match else None
    return value * SECONDS.get((match and match[2]) or (unit[1] if unit else ""), 1e-6) if value else None


def _quantity(cell: str, size: bool) -> float | None:
    """Bytes, or bytes per second. A K that is not 1024 stands where the number is no power of two, as in 65K."""
    match = _QUANTITY.fullmatch(cell)
    value = None if match is None else finite(match[1])
    if match is None or value is None or (not size and re.match("[KMGT]b", match[2] + match[4])):  # bits
        return None
    power = " KMGT".index(match[2].upper() or " ")
    if not size:
        return value * (1e9 if not match[2] else 1000.0**power)
    binary = match[3] or (not match[4] and value == int(value) and int(value) & (int(value) - 1) == 0)
    return value * (1024.0 if binary else 1000.0) ** power

"""Reading benchmark logs in the forms that people post. What is no row is named by its line; nothing is guessed."""

from __future__ import annotations

import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from math import isfinite
from pathlib import Path
from statistics import median

from colllib.measured.log import COLLECTIVES, Row, Run, Unread, factor
from colllib.units import shortened

MOST_BYTES = 64 * 2**20
MOST_LINE = 4000  # characters

_TAG = re.compile(r"\[\d+,\d+\]<std(?:out|err)>:")
_LABEL = re.compile(r"^\s*(?:\[\d+\](?=\s|\d)|\d+:(?:\s|$))")
_INSIDE = re.compile(r"(?<=[\dA])(?:\[\d+\]| \d+:)(?=\s)")  # the same label again in mid-line, behind a number or N/A
_ESCAPE = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_TYPE_BYTES = {"int8": 1, "uint8": 1, "half": 2, "fp16": 2, "bf16": 2, "bfloat16": 2, "float": 4, "fp32": 4}
_TYPE_BYTES |= {"int32": 4, "uint32": 4, "int64": 8, "uint64": 8, "double": 8, "int16": 2, "uint16": 2}
_TYPE_BYTES |= dict.fromkeys(("f8e4m3", "f8e5m2", "fp8_e4m3", "fp8_e5m2"), 1)
_NUMBER = re.compile(r"[+-]?(?:\d[\d_,]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\*?|[+-]?(?:nan|inf)|N/A", re.IGNORECASE)
_QUANTITY = re.compile(r"([\d.,_]+)\s*([KMGT]?)(i?)(B(?:ytes)?|)(ps|/s)?", re.IGNORECASE)
_RANK = re.compile(
    r"\bRank\s+(\d+)\s+(?:Group\s+\d+\s+)?(?:Pid\s+\d+\s+)?on\s+(\S+)\s+device\s+(\d+)\s+\[[0-9a-fA-Fx:.]+\]\s*(.*)"
)
_FACTS = {
    "network": re.compile(r"NCCL INFO Using (?:network|plugin) (.+?)\s*$|NET/(Socket|IB|OFI) : Using"),
    "nranks": re.compile(r"\bnranks (\d+)\b"),
    "library": re.compile(r"(?:NCCL version |nccl-library=|RCCL version[ :]+)(\d[\w.+-]*)"),
    "via P2P": re.compile(r"\bvia (P2P)\b"),
    "via SHM": re.compile(r"\bvia (SHM)\b"),
    "via NET": re.compile(r"\bvia NET/([^/\s]+)"),
    "rdma": re.compile(r"via NET/.*/(GDRDMA)|GPU Direct RDMA (Enabled)|use ring PXN \d (GDR 1)"),
    "no rdma": re.compile(r"GPU Direct RDMA (Disabled)|use ring PXN \d (GDR 0)"),
    "no card": re.compile(r"NET/IB : (No device found)"),
    "no p2p": re.compile(r"(P2P is disabled between connected GPUs)"),
    "iommu": re.compile(r"(Missing \"?iommu=pt)"),
    "provider": re.compile(r"NET/OFI Selected [Pp]rovider is (\w+)"),
}
_CARD = re.compile(r"\[\d+\]\w+:\d+/(?:IB|RoCE)")  # of the line that begins "NET/IB : Using"
_NICS = re.compile(r"\(found (\d{1,3}) nics\)")
_SETTING = re.compile(r"\b((?:NCCL|RCCL|FI|HSA)_[A-Z0-9_]+)(?:=| set (?:by environment )?to )\s*([^\s;]+)")
_TOOL = re.compile(r"\b([a-z_]+)_perf\b|nccom-test\b.*?\b(all[rg]|redsct|alltoall|sendrecv)\b", re.IGNORECASE)
_OSU = re.compile(r"#\s*OSU .*?(All-?reduce|Allgather|Alltoall|Reduce_scatter|Broadcast|Bcast|Reduce)\b", re.IGNORECASE)
_SHORTENED = re.compile(r"last rank (\d{1,7}), (\d{1,6}) hosts in all")  # by who posted it, instead of the lines
_AVERAGE = re.compile(r"Avg bus bandwidth\s*:\s*[\d.]")
_UNIT = re.compile(r"\(\s*([mnµu]?s|[kKMGT]?i?[Bb](?:its?|ytes?)?(?:/s|ps))\s*\)")


@dataclass
class _Table:
    """A run while its lines come in."""

    dialect: str = "nccl-tests"
    columns: tuple[str, ...] = ()
    rows: list[Row] = field(default_factory=list)
    streams: list[str] = field(default_factory=list)  # the process that printed a row
    devices: dict[int, tuple[str, int, str]] = field(default_factory=dict)
    firsts: set[str] = field(default_factory=set)  # hosts that say that they have rank 0: one of each job
    facts: dict[str, str] = field(default_factory=dict)
    unread: list[Unread] = field(default_factory=list)
    collective: str | None = None
    ended: bool = False  # by its line of averages
    reduces: bool | None = None
    root: str = ""
    per_rank: list[float] = field(default_factory=list)  # size over count and type: the ranks, where it counts by rank
    ranks: int | None = None
    hosts: int | None = None
    places: list[int] = field(default_factory=list)  # in Markdown: the column of each row
    before: _Table | None = None  # it speaks for this one where this one says nothing itself
    after: dict[str, str] = field(default_factory=dict)  # facts behind its last line, which are the next run's
    number: int = 0  # of the line that is read, and who printed it
    stream: str = ""
    line: str = ""

    def refuse(self, why: str) -> None:
        """Name the line that is read as one that could not be."""
        self.unread.append(Unread(self.number, why, shortened(self.line)))

    def add(self, row: Row, place: int = 0) -> None:
        """One time, and its column in Markdown."""
        self.rows.append(row)
        self.streams.append(self.stream)
        self.places.append(place)


def read_file(path: str | Path) -> tuple[Run, ...]:
    """The runs in a file.

    Raises:
        ValueError: if it cannot be opened, is over 64 MiB, or holds no row.
    """
    place = Path(path)
    try:
        if not place.is_file():
            raise ValueError(f"log {shortened(str(path))!r}: no such file")
        if place.stat().st_size > MOST_BYTES:
            raise ValueError(f"log {shortened(str(path))!r}: over 64 MiB; cut out the table")
        raw = place.read_bytes()
    except OSError as error:
        raise ValueError(f"log {shortened(str(path))!r}: {error.strerror}") from None
    wide = raw[:2] in (BOM_UTF16_LE, BOM_UTF16_BE)  # as Windows redirects
    return read(raw.decode("utf-16" if wide else "utf-8-sig", errors="replace"))


def read(text: str) -> tuple[Run, ...]:
    """The runs in a text: nccl-tests, rccl-tests, nccom-test, OSU, Markdown and plain tables.

    Args:
        text: what was posted, with or without what stands around the table.

    Raises:
        ValueError: if there is no row in it.

    Source: the formats are those of nccl-tests (src/common.cu), of the Neuron documentation and of OMB's README.

    >>> (run,) = read("# size time algbw busbw\\n 1_048_576  100.0  10.49  18.35\\n")
    >>> run.rows[0].message, round(run.rows[0].busbw / 1e9, 2), run.ranks
    (1048576.0, 18.35, 8)
    """
    tables = [_Table()]
    for number, stream, line in _lines(text):
        _take(tables, number, stream, line)
    whole = [table for table in tables if table.rows]
    if not whole:
        unread = [mark for table in tables for mark in table.unread]
        why = f"; line {unread[0].line}: {unread[0].why}" if unread else ""
        raise ValueError(f"no row of a benchmark table in a text of {len(text.splitlines())} lines{why}")
    return tuple(run for table in whole for run in _finished(table))


def _lines(text: str) -> Iterator[tuple[int, str, str]]:
    """Number, process and text of every line, the processes of one line taken apart and a cut line joined."""
    waiting: dict[str, str] = {}
    for number, raw in enumerate(text.split("\n"), 1):
        line = _ESCAPE.sub("", raw).rstrip("\r")[:MOST_LINE]
        tags = [match.group() for match in _TAG.finditer(line)]
        if not line.strip():
            continue
        if not tags:
            label, line = _LABEL.match(line), _INSIDE.sub(" ", line)
            yield number, label.group().strip() if label else "", line[label.end() :] if label else line
            continue
        bare = _TAG.sub("", line)
        if len(_numbers(bare) or ()) >= 8:
            yield number, tags[0], bare
            continue
        pieces = _TAG.split(line)
        if pieces[0].strip():
            yield number, "", pieces[0]
        for place, (tag, piece) in enumerate(zip(tags, pieces[1:], strict=True)):
            joined = waiting.pop(tag, "") + piece
            if place < len(tags) - 1:
                waiting[tag] = joined[:MOST_LINE]
            else:
                yield number, tag, joined


def _take(tables: list[_Table], number: int, stream: str, line: str) -> None:
    table, stripped = tables[-1], line.strip()
    table.number, table.stream, table.line = number, stream, stripped
    if stripped[:1].isdigit() and _row(table, stripped):
        return
    columns = _header(stripped)
    units = set(_UNIT.findall(line)) if columns or stripped.startswith(("#", "(")) else set()
    if columns:
        table = _next(tables)
        table.dialect, table.columns = columns[0], columns[1:]
    table.number, table.stream, table.line = number, stream, stripped
    if foreign := units - {"us", "µs", "GB/s", "GBps"}:
        table.refuse(f"unit {min(foreign)}: times are in us, rates in GB/s")
        table.dialect, table.columns = "nccl-tests", ("refused",)
    if columns or foreign:
        return
    if match := _OSU.search(line):
        table = _next(tables)
        table.dialect, table.collective = "osu", COLLECTIVES[match[1].lower().replace("-", "")]
        return
    if "nThread" in line and "minBytes" in line:
        table = _next(tables)
    if match := _RANK.search(stripped):
        table = _next(tables) if table.ended else table
        rank, host = int(match[1]), match[2]
        if rank == 0:
            table.firsts.add(host)
        table.devices[rank] = (host, int(match[3]), match[4].strip())
        return
    if _AVERAGE.search(line):
        table.ended = True
        return
    if stripped.startswith("|"):
        _markdown(table, stripped)
    elif stripped.startswith("#") or not _row(table, stripped):
        _remarks(table, line)


def _next(tables: list[_Table]) -> _Table:
    if tables[-1].rows:
        tables.append(_Table(before=tables[-1], facts=tables[-1].after))
    return tables[-1]


def _header(line: str) -> tuple[str, ...]:
    """Dialect and columns, if the line names them."""
    if line.startswith("|"):
        cells = [cell.strip().lower() for cell in line.strip("|").split("|")]
        sized = bool(cells) and re.match(r"(message )?size|payload|bytes", cells[0]) is not None
        return ("markdown", *cells) if sized and len(cells) > 1 else ()
    words = line.lstrip("# ").split()
    if len(words) < 2 or words[0].partition("(")[0].lower() != "size":
        return ()
    names = [word.partition("(")[0].lower() for word in words]
    if "latency" in line.lower() and "algbw" not in names:
        return ("osu", *("size", "time"))
    if "busbw" not in names:
        return ()
    if any("(" in word for word in words) and "elems" in line:
        return ("nccom-test", *names)
    return ("nccl-tests" if "count" in names else "columns", *names)


def _remarks(table: _Table, line: str) -> None:
    if match := _TOOL.search(line):
        name = (match[1] or match[2]).lower()
        table.collective = COLLECTIVES.get(name, table.collective)
    if match := re.search(r"nccom-test .*?-r\s*(\d{1,6})\b", line):
        table.ranks = int(match[1])
    if match := _SHORTENED.search(line):
        table.ranks, table.hosts = int(match[1]) + 1, int(match[2])
    facts = table.after if table.ended else table.facts
    for name, pattern in _FACTS.items():
        if match := pattern.search(line):
            facts[name] = next(group for group in match.groups() if group)
    if found := len(_CARD.findall(line)) if "NET/IB : Using" in line else _NICS.findall(line):
        facts["cards"] = str(found if isinstance(found, int) else found[0])
    facts.update((name, value.replace("\\", "").strip("\"'")) for name, value in _SETTING.findall(line))
    chosen = [name.split(":")[0] for name in facts.get("NCCL_IB_HCA", "").lstrip("=").split(",")]
    if "NCCL_IB_HCA" in line and all(re.fullmatch(r"[A-Za-z]\w*_\d+", name) for name in chosen):
        facts["named cards"] = str(len(set(chosen)))


def _float(text: str) -> float | None:
    try:
        value = float(text.replace(",", ""))
    except ValueError:
        return None
    return value if isfinite(value) else None


def _numbers(line: str) -> list[str] | None:
    """Size, count, type, redop and the numbers of an nccl-tests row, or nothing."""
    words = line.split()
    place = next((k for k, word in enumerate(words) if word in _TYPE_BYTES), -1)
    if place < 2 or not all(_NUMBER.fullmatch(word) for word in words[place - 2 : place]):
        return None
    rest = words[place + 1 :]
    redop = rest.pop(0) if rest and re.fullmatch(r"[a-z]{3,6}", rest[0]) and rest[0] not in ("nan", "inf") else ""
    end = next((k for k, word in enumerate(rest) if not _NUMBER.fullmatch(word)), len(rest))
    return [*words[place - 2 : place + 1], redop, *rest[:end]]


def _row(table: _Table, line: str) -> bool:
    words = _numbers(line)
    if table.columns == ("refused",):
        return words is not None
    if words is not None:
        _full_row(table, *words)
        return True
    words = line.split()
    if table.dialect not in ("columns", "osu") or not table.columns or not all(map(_NUMBER.fullmatch, words)):
        return False
    if len(words) < len(table.columns) or (table.dialect == "columns" and len(words) != len(table.columns)):
        table.refuse(f"{len(words)} numbers for {len(table.columns)} columns")
    else:
        _add(table, dict(zip(table.columns, words, strict=False)))
    return True


def _full_row(table: _Table, size: str, count: str, kind: str, redop: str, *numbers: str) -> None:
    rest, whole = list(numbers), (4, 5, 8, 9)  # of one half or two, each perhaps behind a root
    expected = len(table.columns) - 3 - ("redop" in table.columns)
    if table.dialect == "nccom-test":
        rest = [*rest[:3], ""]
    if len(rest) not in whole:
        return table.refuse(f"{len(rest)} numbers after the type")
    headed = table.dialect == "nccl-tests" and "time" in table.columns
    if headed and len(rest) not in (expected, 4 + ("root" in table.columns)):
        return table.refuse(f"{len(rest)} numbers where the header has {expected}")
    if len(rest) % 4:
        table.root = rest.pop(0)
    for half in range(len(rest) // 4):
        cells = dict(zip(("time", "algbw", "busbw"), rest[4 * half :], strict=False))
        place = None if table.dialect == "nccom-test" else half == 1
        _add(table, {"size": size, **cells}, place, rest[4 * half + 3])
    elements, total = _float(count), _float(size)
    if redop:
        table.reduces = redop != "none"
    if elements and total and kind in _TYPE_BYTES:
        table.per_rank.append(total / (elements * _TYPE_BYTES[kind]))


def _add(table: _Table, cells: dict[str, str], in_place: bool | None = None, wrong: str = "") -> None:
    """The row of some cells by their columns, in us and GB/s, unless one of them cannot be."""
    message, seconds, rate, bus = (_float(cells.get(name, "")) for name in ("size", "time", "algbw", "busbw"))
    why = ""
    if message is None or message < 0:
        why = "no size"
    elif "time" in cells and (seconds or 0.0) <= 0 < message:
        why = "its time is not above 0"
    elif any(name in cells and (-1.0 if x is None else x) < 0 for name, x in (("algbw", rate), ("busbw", bus))):
        why = "a bandwidth that is no number from 0 on"
    elif seconds and rate and message and not _agree(message, seconds, rate, cells["time"], cells["algbw"]):
        why = "algbw is not size over time"
    if why or message is None:
        return table.refuse(why)
    seconds, rate, bus = (None if x is None else x * unit for x, unit in ((seconds, 1e-6), (rate, 1e9), (bus, 1e9)))
    table.add(Row(table.number, message, seconds, rate, bus, in_place, wrong))


def _agree(message: float, micros: float, rate: float, time: str, algbw: str) -> bool:
    """Whether the printed algbw is size over time within what printing rounds."""
    off = abs(message / (micros * 1000) / rate - 1)
    return off <= 0.02 or off <= 0.02 + _last_digit(time) / micros + _last_digit(algbw) / rate


def _last_digit(text: str) -> float:
    _, _, places = text.lower().partition(".")
    return 10.0 ** -len(places) if "e" not in text.lower() else 0.1


def _markdown(table: _Table, line: str) -> None:
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    if table.dialect != "markdown" or all(set(cell) <= set("-: ") for cell in cells):
        return
    if len(cells) != len(table.columns):
        return table.refuse(f"{len(cells)} cells for {len(table.columns)} columns")
    message = _quantity(cells[0], size=True)
    rows: list[dict[str, float | None]] = []
    kinds = [_markdown_column(name, table.columns) for name in table.columns[1:]]
    for kind, cell in zip(kinds, cells[1:], strict=True):
        if not kind:
            continue
        if not rows or kind in rows[-1]:
            rows.append({})
        value = _float(cell.split()[0] if cell else "") if kind == "time" else _quantity(cell, size=False)
        rows[-1][kind] = value if value and value > 0 else None
    for half, row in enumerate(rows):
        if message is None or None in row.values():
            table.refuse("a cell cannot be read")
            continue
        time, algbw, busbw = (row.get(kind) for kind in ("time", "algbw", "busbw"))
        in_place = half == 1 if len(rows) == 2 and "time" in kinds else None
        seconds = None if time is None else time * 1e-6
        table.add(Row(table.number, message, seconds, algbw, busbw, in_place), half + 1 if in_place is None else 0)


def _markdown_column(name: str, columns: tuple[str, ...]) -> str:
    """What stands in a column; rates without a name are bus bandwidths, which is what people tabulate."""
    kinds = ("busbw", "algbw", "time")
    found = next((kind for kind in kinds if kind in name), "")
    if found or any(kind in column for kind in kinds for column in columns):
        return found
    return "busbw" if re.search(r"nodes?$|gb/s|gbps", name) else ""


def _quantity(cell: str, size: bool) -> float | None:
    """Bytes, or bytes per second. A K that is not 1024 stands where the number is no power of two, as in 65K."""
    match = _QUANTITY.fullmatch(cell)
    value = None if match is None else _float(match[1])
    if match is None or value is None:
        return None
    power = " KMGT".index(match[2].upper() or " ")
    if not size:
        return value * (1e9 if not match[2] else 1000.0**power)
    binary = match[3] or (not match[4] and value == int(value) and int(value) & (int(value) - 1) == 0)
    return value * (1024.0 if binary else 1000.0) ** power


def _finished(table: _Table) -> Iterator[Run]:
    """The run or, for a table with one column for each number of nodes, the runs."""
    made = _run(table)
    if len(set(table.places)) <= 1:
        yield made
        return
    for place in dict.fromkeys(table.places):
        rows = tuple(row for row, at in zip(table.rows, table.places, strict=True) if at == place)
        nodes = re.fullmatch(r"(\d{1,5}) nodes?", table.columns[place])
        yield replace(made, rows=rows, boxes=int(nodes[1]) if nodes else None)


def _run(table: _Table) -> Run:
    if table.before is not None:
        table.facts = table.facts or table.before.facts
        table.devices = table.devices or table.before.devices
        table.firsts = table.firsts or table.before.firsts
    devices = table.devices.values()
    printed = table.ranks or (max(table.devices) + 1 if devices else None)
    if printed is None and re.fullmatch(r"\d{1,8}", table.facts.get("nranks", "")):
        printed = int(table.facts["nranks"])
    hosts = Counter(host for host, _, _ in devices)
    boxes, per_box = table.hosts or len(hosts) or None, max(hosts.values(), default=None)
    if printed and len(devices) < printed:  # some lines were cut out
        boxes, per_box = table.hosts, max((device + 1 for _, device, _ in devices), default=None)
    collective, ranks = _deduced(table, printed)
    if per_box and ranks and ranks % per_box == 0:
        boxes = ranks // per_box
    elif ranks != printed:
        boxes = None
    gpu = next((name for _, _, name in devices), "")
    counts = Counter(table.streams)  # a process that printed a row or two of many was mislabeled
    streams = sum(count >= max(1, len(table.rows) / 10) for count in counts.values())
    known = (table.dialect, tuple(table.rows), collective, ranks, boxes, per_box, gpu, max(streams, len(table.firsts)))
    return Run(*known, table.facts, tuple(table.unread))


def _ranks_of_an_all_reduce(rows: list[Row]) -> int | None:
    """The N of busbw = 2 (N - 1) / N algbw, if the printed digits of all rows together leave one."""
    rates = [(row.algbw, row.busbw) for row in rows if row.algbw and row.busbw and row.algbw > 1e9]
    whole = (d for d in (0, 1) if all(abs(round(rate / 1e9, d) * 1e9 - rate) < 1 for pair in rates for rate in pair))
    half = 5e8 / 10 ** next(whole, 2)  # of the last digit that is printed
    least = max(((busbw - half) / (algbw + half) for algbw, busbw in rates), default=2.0)
    most = min(((busbw + half) / (algbw - half) for algbw, busbw in rates), default=2.0)
    if not least <= most < 2:
        return None
    found = {round(2 / (2 - ratio)) for ratio in (least, most)}
    return found.pop() if len(found) == 1 else None


def _deduced(table: _Table, ranks: int | None) -> tuple[str | None, int | None]:
    """Collective and ranks where the columns leave one possibility."""
    ratios = sorted(row.busbw / row.algbw for row in table.rows if row.algbw and row.busbw and row.algbw > 1e9)
    ratio, collective = ratios[len(ratios) // 2] if ratios else None, table.collective
    if ranks is None and ratio is None and any(row.algbw and row.busbw == 0 for row in table.rows):
        ranks = 1  # every factor but sendrecv's and broadcast's is 0 on one rank
    if ranks == 1 and ratio:
        ranks = None  # a bus bandwidth above 0 needs two: the other lines of ranks are elsewhere
    divided = round(median(table.per_rank)) if table.per_rank else 1
    unchecked = any(row.wrong in ("N/A", "1e+00") for row in table.rows if row.in_place) and any(
        row.wrong not in ("N/A", "1e+00") for row in table.rows if not row.in_place
    )
    if collective is None and divided > 1:
        collective = "reduce-scatter" if table.reduces else "all-to-all" if unchecked else "all-gather"
    elif collective is None and ratio is not None:
        if ratio > 1.005:
            collective = "all-reduce"
        elif table.root not in ("", "-1"):  # only these two print one, and in place they are checked
            collective = "reduce" if table.reduces else "broadcast"
        elif ratio >= 0.995 and unchecked:
            collective = "sendrecv"
        elif ratio >= 0.995 and table.reduces and ranks in (None, 2):
            collective, ranks = "all-reduce", 2  # a sendrecv checks nothing in place
    if divided > 1 and (ratio or 0.0) < 1:
        ranks = divided
    if collective and ratio and ranks and ranks > 1 and abs(factor(collective, ranks) / ratio - 1) > 0.005:
        ranks = None  # the rank lines are not all there
    if ranks is None and collective == "all-reduce":
        ranks = _ranks_of_an_all_reduce(table.rows)
    return collective, ranks

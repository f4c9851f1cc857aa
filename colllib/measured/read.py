"""Reading benchmark logs in the forms that people post. What is no row is named by its line; nothing is guessed."""

import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise, zip_longest
from pathlib import Path
from statistics import median_high

from colllib.measured import markdown
from colllib.measured.log import COLLECTIVES, LEAST_RATE, OF_MPI, Row, Run, Table, factor, finite
from colllib.topology.machines import by_gpu
from colllib.units import shortened

FORMS = (
    "tables of nccl-tests, rccl-tests, nccom-test, the OSU and Intel benchmarks of MPI and ucc_perftest, those in "
    "Markdown, and columns below a header with size and busbw"
)
MOST_BYTES = 64 * 2**20
MOST_LINE = 4000  # characters
FEWEST_LINES = 4  # of ranks that may be all of a host's

_TAG = re.compile(r"\[\d+,\d+\]<std(?:out|err)>:")
_LABEL = re.compile(r"^\s*(?:\[\d+\](?=\s|\d)|\d+:(?:\s|$))")
_INSIDE = re.compile(r"(?<=[\dA])(?:\[\d+\]| \d+:)(?=\s)")  # the same label again in mid-line, behind a number or N/A
_ESCAPE = re.compile(r"\x1b(?:\[[0-9;?]*[A-Za-z]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[()][A-Z0-9])|(?::\w+:)?`")
#: Of an element, by the names of its type.
BYTES = {
    **dict.fromkeys(("int8", "uint8", "f8e4m3", "f8e5m2", "fp8_e4m3", "fp8_e5m2", "char"), 1),
    **dict.fromkeys(("int16", "uint16", "half", "fp16", "bf16", "bfloat16"), 2),
    **dict.fromkeys(("int32", "uint32", "int", "float", "fp32"), 4),
    **dict.fromkeys(("int64", "uint64", "double"), 8),
}
_A_NUMBER = r"(?i:[+-]?(?:\d[\d_,]*(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?\*?|[+-]?(?:nan|inf)|N/A)(?!\S)"
_NUMBER = re.compile(_A_NUMBER)
_WORDS = ("type", "redop", "op", "algo", "proto", "algorithm")  # columns that hold no number
_ALIASES = {  # what programs call a column -> our name
    **dict.fromkeys(("#wrong", "error", "res"), "wrong"),
    **dict.fromkeys(("cputime", "cpu_time", "time:avg", "t[usec]", "t_avg[usec]"), "time"),
}
_HALF: tuple[str, ...] = ("time", "algbw", "busbw", "wrong")
_NO_MEMORY = 1e14  # bytes per second, more than any holds: nothing was moved
_GIB = 2**30 / 1e9  # what nccom-test counts in where it prints whole microseconds
#: Size, count, type, perhaps what is done to them, and the numbers behind.
_ROW = re.compile(
    rf"(?<![^\s:\]])({_A_NUMBER})\s+({_A_NUMBER})\s+({'|'.join(BYTES)})(?!\S)"
    rf"(?:\s+(?!(?:nan|inf)\s)([a-z]{{3,6}})(?!\S))?((?:\s+{_A_NUMBER})*)"
)
_CUT_OFF = re.compile(rf"\d\s+\d+\s+(?:{'|'.join(BYTES)})(?!\S)")  # a row whose size is glued to something
_INFO = r"(?=[\w.-]+:\d+:\d+ \[\d+\])"  # a line of NCCL's, printed into another
_PART = rf"(?:(?:\s*{_A_NUMBER}){{5,7}}|(?:\s*{_A_NUMBER}){{1,3}})\s*$"  # of a row that a narrow page wraps
_HEAD = re.compile(rf"\s*\d+\s+\d+\s+(?:{'|'.join(BYTES)})\s+[a-z]{{3,6}}\s+-?\d(?:{_INFO}|(?=\s){_PART})")
_HALVES = re.compile(rf"(?:(?:\s+[\d.]+){{3}}\s+(?:0|[1-9]\d*|N/A)){{1,2}}(?:\s*$|{_INFO})|{_PART}")
_NVLINK = re.compile(r"\+ NVL\[([\d.]+)\] - GPU/")  # of the library's graph of a box, in GB/s
_ELIDED = re.compile(r"(?<=\s)(?:\.{3}|…)\s(?=.*\d|.*busbw)")  # columns that were left out
_NAME = r"\s*[\w#/.-]+(?:\s*\([^()]*\))?\s*"
_BY_COMMAS = re.compile(rf"{_NAME}(?:,{_NAME}){{2,}}")  # a header whose columns stand between commas
_RANK = re.compile(
    r"\bRank\s+(\d+)\s+(?:Group\s+\d+\s+)?(?:Pid\s+\d+\s+)?(?:on\s+(\S+)\s+|uses\s+)?device\s+(\d+)\s+\[[0-9a-fA-Fx:.]+\]\s*(.*)"
)
_SHORTENED = re.compile(r"last rank (\d{1,7}), (\d{1,6}) hosts in all")  # by who posted it, instead of the lines
_BANNER = re.compile(r"nThread.*minBytes")
_START = re.compile(  # of another table; what a group holds are its ranks
    rf"^#{{2,6}} \S|{_BANNER.pattern}|test starting|#\s*OSU |# Benchmarking |^Collective:  |"
    r"# #processes = (\d{1,7})\b|nccom-test (?:(?!nccom).)*?-r\s*(\d{1,6})\b"
)
_GPU = re.compile(r"\b(?:RTX ?\d{4}|[A-Z]{1,2}\d{2,3}[A-Z]?(?:[- ](?:PCI[Ee]|NVL))?)\b")  # as a title names it
_WRONG = re.compile(r"Out of bounds values\s*:\s*([1-9]\d*) FAILED")
_BROKEN = re.compile(
    r"Test (?:NCCL|RCCL|CUDA|HIP) failure \S+ '([^'\n]*?)[\s/]*(?:\(run with|'|$)|Test failure (\S+:\d+)", re.M
)
_LOST = re.compile(r"\d\.\d+\s+\d+\.\d|Avg bus bandwidth\s*:\s*[\d.]")  # what rows leave, where none is read
_END = re.compile(r"Avg bus bandwidth\s*:\s*[\d.]")
_TOOL = re.compile(
    r"\b(?P<nccl>[a-z_]+?(?=(?:_test)?_perf\b)|[a-z_]*(?:reduce|gather|scatter|broadcast)(?=_test\b))|"
    r"nccom-test\b(?:(?!nccom).)*?"
    r"\b(?P<nccom>all[rg]|redsct|all_(?:reduce|gather)|reduce_scatter|alltoall|sendrecv|permute)\b|"
    r"#\s*OSU \S+ (?P<title>[^#]*?) ?(?:Latency|(?P<bandwidth>Bandwidth))\b|"
    r"(?:\./|\b(?:mpirun(?:_rsh)?|mpiexec|srun) ).*?\bosu_(?:xccl_)?(?P<osu>[a-z]*(?:all|cast)[a-z]*)\b|"
    r"\bosu_(?:xccl_)?(?P<pair>latency|(?:bi)?bw)\b|"
    r"^(?:# Benchmarking|Collective: ) +(?P<benchmark>\S+)",
    re.IGNORECASE,
)
_OSU_RATES = ("osu", "size", "busbw")  # in MB/s, of messages that do not wait for each other: no times
_FACTS = {
    "network": re.compile(r"NCCL INFO Using (?:network|plugin) (.+?)\s*$|NET/(Socket|IB|OFI) : Using"),
    "nranks": re.compile(r"\bn[rR]anks (\d{1,8})\b"),
    "ranks of a box": re.compile(r"\blocalRanks (\d{1,4})\b"),
    "via P2P": re.compile(r"\bvia (P2P)\b"),
    "via SHM": re.compile(r"\bvia (SHM)\b"),
    "via NET": re.compile(r"\bvia NET/([^/\s]+)"),
    "rdma": re.compile(r"via NET/.*/(GDRDMA)|GPU Direct RDMA (Enabled)|use ring PXN \d (GDR 1)"),
    "no rdma": re.compile(r"GPU Direct RDMA (Disabled)|use ring PXN \d (GDR 0)"),
    "version": re.compile(r"\bNCCL version (2(?:\.\d{1,3}){1,2})"),
    "no nvls": re.compile(r"NVLS multicast support is (not) available"),
    "no p2p": re.compile(r"(P2P is disabled between connected GPUs)"),
    "iommu": re.compile(r"(Missing \"?iommu=pt)"),
    "provider": re.compile(r"NET/OFI Selected [Pp]rovider is (\w+)"),
    "rccl": re.compile(r"\b(rccl-tests|RCCL)[: ]+[Vv]ersion\b"),
    "library": re.compile(r"# ?OSU ([NR]CCL)-"),  # not MPI
    "host memory": re.compile(
        r"# ?(OSU MPI) |(Send Buffer on HOST .*Receive Buffer on HOST)|^(Memory type:\s+host)|"
        r"\b(IMB-\w+)\b(?!-GPU)|^# colllib (mpi-bench)\b"
    ),
    "cards": re.compile(r"\(found (\d{1,3}) nics\)"),
}
_LAUNCH = re.compile(r"\b(mpirun(?:_rsh)?|mpiexec|srun)\b(.*?)(?:_perf|\bosu_[a-z_]+|\bIMB-\w+|ucc_perftest)\b(.*)")
_RANKS = re.compile(r"\s-{1,2}(?:np?|ntasks)[ =](\d{1,7})\b")
_PER_BOX = re.compile(r"n(?:tasks-)?per-?node[ =](\d{1,4})|\bppr:(\d{1,4}):node|\s--?(?:H|host)[ =]\S*?:(\d{1,4})[,\s]")
_NODES = re.compile(r"\s-N ?(\d{1,6})\b|\s--nodes[ =](\d{1,6})\b")  # of srun; in Open MPI's -N the ranks of one
_GPUS = re.compile(r"\s-g ?(\d{1,3})\b")  # of a process
_CARD = re.compile(r"\[\d+\](\w+):\d+(?::\d*){0,2}/(?:IB|RoCE)")  # of the line "NET/IB : Using": port, rail, plane
_SETTING = re.compile(
    r"\b((?:NCCL|RCCL|FI|HSA)_[A-Z0-9_]+)(?:=| set (?:by environment )?to )\s*([^\s;]+(?:;\w+:[^\s;]+)*)"
)


def read_file(path: str | Path, collective: str | None = None) -> tuple[Run, ...]:
    """The runs in a file, or in what a pipe such as /dev/stdin brings, as `read` takes them.

    Raises:
        ValueError: if it cannot be opened, is over 64 MiB, or holds no row.
    """
    name = f"log {shortened(str(path))!r}"
    try:
        with Path(path).open("rb") as file:
            raw = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise ValueError(f"{name}: {error.strerror}") from None
    if len(raw) > MOST_BYTES:
        raise ValueError(f"{name}: over 64 MiB; cut out the table")
    wide = raw[:2] in (BOM_UTF16_LE, BOM_UTF16_BE)  # as Windows redirects
    return read(raw.decode("utf-16" if wide else "utf-8-sig", errors="replace"), collective)


def read(text: str, collective: str | None = None) -> tuple[Run, ...]:
    """The runs in a text, in one of `FORMS`.

    Args:
        text: what was posted, with or without what stands around the table.
        collective: what was run, where the text names another program alone.

    Raises:
        ValueError: if there is no row in it, and no header or failure of the test, nor jobs of one rank, that says why.

    Source: the formats are those of nccl-tests (src/common.cu; its issue 45 for algbw up to June 2020), of the Neuron
    documentation, of OMB's README, of IMB (src_c/IMB_output.c) and of UCC (tools/perf/ucc_pt_benchmark.cc).

    >>> (run,) = read("# size time algbw busbw\\n 1_048_576  100.0  10.49  18.35\\n")
    >>> run.rows[0].message, round(run.rows[0].busbw / 1e9, 2), run.ranks
    (1048576.0, 18.35, 8)
    """
    tables = [Table()]
    for line in _lines(text):
        _take(tables, *line)
    full = [table for table in tables if table.rows]
    for table in full:
        if table.collective is None and table.parts > 1 and table.rooted:
            table.name("a table of a gather or a scatter")  # no other prints a root and counts by rank
    for before, table in pairwise(full):  # what is said of the one before holds, where nothing stands above this one
        table.facts = table.facts or before.facts
        table.devices = table.devices or before.devices
    filled = [table for table in full if not table.other] or (full if collective else [])
    unread = list(dict.fromkeys(table.other for table in tables if table.other and table not in filled))
    unread += [mark for table in tables if not (table.other or table.rows) for mark in table.unread]
    if not filled:
        if broken := _BROKEN.search(text):
            return (Run("nccl-tests", (), facts={"failed": f"failed before its first row ({broken[1] or broken[2]})"}),)
        if len(ranks := [device[0] for table in tables for device in table.devices]) > 1 and not any(ranks):
            return (Run("nccl-tests", (), streams=len(ranks)),)  # each process is rank 0 of a job of its own
        heads = [table for table in tables if table.dialect == "nccl-tests" and (table.devices or table.columns)]
        if (heads or _BANNER.search(text)) and not unread and not _LOST.search(text):
            return (Run("nccl-tests", (), facts={"failed": "hung, crashed or still runs: no row follows its header"}),)
        why = f"line {unread[0].line}: {unread[0].why}" if unread else f"read are {FORMS}"
        what = "table of a collective that is known" if full else "row of a benchmark table"
        raise ValueError(f"no {what} in a text of {len(text.splitlines())} lines; {why}")
    last = filled[-1]
    last.unread += unread
    last.collective = last.collective or COLLECTIVES.get(last.named)
    joined = filled[:1]
    for table in filled[1:]:
        if not joined[-1].take(table):
            joined.append(table)
    return tuple(run for table in joined for run in _runs(table))


def _lines(text: str) -> Iterator[tuple[int, str, str]]:
    """Number, process and text of every line, the processes of one line taken apart and a cut line joined."""
    waiting: dict[str, str] = {}
    for number, line in _rejoined(text):
        if not line.strip():
            continue
        first, *pieces = _TAG.split(line)
        if not pieces:
            label = _LABEL.match(line)
            place, stream = (label.end(), label.group().strip()) if label else (0, "")
            yield number, stream, _INSIDE.sub(" ", line[place:])
            continue
        tags, bare = _TAG.findall(line), first + "".join(pieces)
        if (row := _ROW.search(bare)) and len(row[5].split()) >= 4:
            yield number, tags[0], bare
            continue
        if first.strip():
            yield number, "", first
        for tag, piece in zip(tags[:-1], pieces, strict=False):
            waiting[tag] = (waiting.pop(tag, "") + piece)[:MOST_LINE]
        yield number, tags[-1], waiting.pop(tags[-1], "") + pieces[-1]


def _rejoined(text: str) -> Iterator[tuple[int, str]]:
    """The lines by number, a row as one whose halves NCCL's own lines cut apart, or whose end a page wrapped."""
    first, cut = 0, ""
    for number, raw in enumerate(text.split("\n"), 1):
        line = _ESCAPE.sub("", raw).rstrip("\r")[:MOST_LINE]
        head = _HEAD.match(line)
        part = head or (_HALVES.match(line) if cut else None)
        if cut and (head or line.startswith("#") or not (part or len(cut.split()) in (5, 9))):  # no more of it comes
            yield first, cut
            cut = ""
        if part:
            first, cut, line = first if cut else number, f"{cut} {part[0]}", line[part.end() :]
        if len(cut.split()) == 13:  # what is done with it, and four numbers of each half
            yield first, cut
            cut = ""
        yield number, line
    yield first, cut


def _take(tables: list[Table], number: int, stream: str, text: str) -> None:
    table, text = tables[-1], text.strip()
    if not text.startswith("|"):
        text = text.strip('", ').rstrip("| ")  # what a list of strings and a copy of a gist leave
    table.number, table.stream = number, stream
    bars = f"|{text.replace(',', '|')}|"
    by_commas = text.count(",") == len(table.columns) - 1 if table.commas else False
    if by_commas or (_BY_COMMAS.fullmatch(text) and "busbw" in markdown.column_name(text) and _header(bars)):
        by_commas, text = True, bars
    text = _ELIDED.sub("", text)
    if (text[:1].isdigit() or _ROW.match(text.lstrip("# "))) and _row(table, text):  # a row, perhaps commented out
        return
    columns, rank, tool = _header(text), _RANK.search(text), _TOOL.search(text)
    of_next = table.ended and (rank or (tool and "concluded" not in text))
    if (table.rows or table.labeled) and (columns or of_next or _START.search(text)):
        before, table = table, Table(number, stream, table.after, other=table.other)
        tables.append(table)
        table.name(before.named)
        before.named = ""
    if columns:
        table.dialect, table.columns, table.commas = columns[0], columns[1:], by_commas
        table.of_launch = re.search("cpu_?time", text, re.IGNORECASE) is not None
    units = set(markdown.UNIT.findall(text)) if columns or text.startswith(("#", "(")) else set()
    if columns and columns[0] != "markdown":
        units |= set(markdown.SIZES_IN.findall(text))
    known = {"us", "µs", "μs", "GB/s", "GBps", "MB/s" if columns == _OSU_RATES else ""}
    if foreign := units - known - (markdown.SECONDS.keys() if columns[:1] == ("markdown",) else set()):
        table.refuse(f"unit {min(foreign)}: times are in us, rates in GB/s, sizes in bytes")
        table.dialect, table.columns = "nccl-tests", ("refused",)
    if columns or foreign:
        return
    if rank:
        unnamed = sum(device == int(rank[3]) for _, _, device, _ in table.devices)  # each host has a device of a number
        table.devices.append((int(rank[1]), rank[2] or f"{unnamed}", int(rank[3]), rank[4].strip()))
    elif _END.search(text):
        table.ended = True
    elif text.startswith("|"):
        markdown.take_row(tables, text)
    elif text.startswith("#") or not _row(table, text):
        _remarks(table, text, tool)


def _header(line: str) -> tuple[str, ...]:
    """Dialect and columns, if the line names them."""
    if line.startswith("|"):
        cells = markdown.header(line)
        return ("markdown", *cells) if cells else ()
    words = re.sub(r"\([^)]*\)", " ", line.lower()).lstrip("# ").split()
    names = [_ALIASES.get(word, word) for word in words]
    if names[:3] == ["bytes", "n", "type"]:  # nccl-tests up to March 2019, whose times are in ms
        return ("nccl-tests", *names)
    if names[:2] == ["bytes", "#repetitions"] and "time" in names:  # of IMB
        return ("imb", "size", *names[1:])
    if names[:4] == ["count", "size", "time,", "us"]:  # of ucc_perftest, the mean first
        return ("osu", *names[:2], "time", "min", "max", *["busbw"] * ("bandwidth," in names))
    if len(names) < 2 or names[0] != "size":
        return ()
    if "latency" in line.lower() and "algbw" not in names:
        return ("osu", "size", "time")
    if names[1] in ("bandwidth", "bi-bandwidth") and "(MB/s)" in line:
        return _OSU_RATES
    if "busbw" not in names:
        return ()
    if "(" in line and "elems" in line:
        return ("nccom-test", *names)
    return ("nccl-tests" if {"count", "type"} <= {*names} else "columns", *names)


def _remarks(table: Table, line: str, tool: re.Match[str] | None) -> None:
    if tool:
        groups = tool.groupdict("").items()  # of which one names a program, or none a pair
        program = "".join(text for name, text in groups if name not in ("pair", "bandwidth")).lower().replace("-", "")
        if not tool["nccl"]:  # of equal counts, where alltoallv_perf weighs them by distance
            program = re.sub(r"(allgather|alltoall|reduce_scatter)(?:[vw]|_block)\b", r"\1", program)
        both_ways = tool["pair"] == "bibw" or (tool["bandwidth"] and program == "bidirectional")
        if both_ways or tool["pair"] or tool["title"] == "":  # of a pair: many at once, or half of there and back
            program, table.ranks, table.directions = "sendrecv", 2, 2 if both_ways else 1
        elif (title := tool["title"] or tool["benchmark"]) and program not in COLLECTIVES:
            program = f"a table of {'osu_mbw_mr (run osu_bw)' if program == 'multiple' else shortened(title)}"
        if table.rows and "concluded" not in line:
            table.named = program
        else:
            table.name(program)
    if (match := _START.search(line)) and match.lastindex:
        table.ranks = int(match[match.lastindex])
    if (match := _WRONG.search(line)) and table.rows and not any(row.failed for row in table.rows):  # by its own count
        table.rows[-1] = replace(table.rows[-1], wrong=f"{match[1]} in all")
    if match := _SHORTENED.search(line):
        table.ranks, table.hosts = int(match[1]) + 1, int(match[2])
    facts = table.after if table.ended or table.named else table.facts
    if re.match("#{2,6} ", line):  # the title of what follows
        plain = re.sub("[-_ ]", "", line.lower())
        books = {book for name, book in COLLECTIVES.items() if len(name) > 7 and name in plain}
        gpus = {kind.name for kind in map(by_gpu, _GPU.findall(line)) if kind}
        facts |= {key: names.pop() for key, names in (("title", books), ("gpu", gpus)) if len(names) == 1}
    for name, pattern in _FACTS.items():
        if match := pattern.search(line):
            facts[name] = match[match.lastindex or 0]
    if match := _NVLINK.search(line):
        facts["links"] = " ".join(sorted({*facts.get("links", "").split(), match[1]}, key=float))
    if "NET/IB : Using" in line and (cards := _CARD.findall(line)):
        facts |= {"cards": str(len(cards)), "names of cards": " ".join(cards)}
    table.command = (f"{table.command[:-1]} {line}" if table.command.endswith("\\") else line)[:MOST_LINE]
    facts.update(_launched(table.command))
    facts.update((name, value.replace("\\", "").strip("\"'")) for name, value in _SETTING.findall(line))
    chosen = {name.split(":")[0] for name in facts.get("NCCL_IB_HCA", "").lstrip("=").split(",")}
    if "NCCL_IB_HCA" in line and all(re.fullmatch(r"[A-Za-z]\w*_\d+", name) for name in chosen):
        facts["named cards"] = str(len(chosen))


def _launched(line: str) -> dict[str, str]:
    """Ranks, and those of a box, by a whole command that starts them, or that gives each host so many."""
    command = _LAUNCH.search(line)
    if not command:
        return {}
    launcher, words, program_words = command.groups()
    ranks, per_box, nodes = (_count(pattern, words) for pattern in (_RANKS, _PER_BOX, _NODES))
    gpus = _count(_GPUS, program_words) or 1
    if launcher != "srun":
        per_box, nodes = per_box or nodes, 0
    per_box = min(per_box, ranks or per_box)
    counts = {"nranks": ranks or nodes * per_box, "ranks of a box": per_box}
    return {name: str(count * gpus) for name, count in counts.items() if count}


def _count(pattern: re.Pattern[str], text: str) -> int:
    """The number that a pattern takes from a text, or 0."""
    match = pattern.search(text)
    return int(match[match.lastindex or 0]) if match else 0


def _row(table: Table, line: str) -> bool:
    """Whether a line is one of numbers: it is taken as a row, or refused."""
    full = _ROW.search(line)
    words = line.split()[: len(table.columns) if table.dialect in OF_MPI else None]  # what is behind them is not read
    begun = bool(words and table.columns) and not table.ended and all(map(_NUMBER.fullmatch, words[:2]))
    if table.columns == ("refused",):
        return full is not None
    if full and table.dialect != "nccom-test":
        _full_row(table, *full.groups(""))
        return True
    if not full and _CUT_OFF.search(line):
        table.refuse("a size, a count and a type, but no row")
        return True
    numbers = (word for name, word in zip_longest(table.columns, words) if word and name not in _WORDS)
    by_column = table.columns and table.dialect in ("columns", *OF_MPI, "nccom-test")  # exactly what the header names
    if not words or not by_column or not all(map(_NUMBER.fullmatch, numbers)):
        if begun:
            table.refuse("numbers, but no row")
        return begun
    shared = table.columns.index("time") if table.columns.count("time") == 2 else 0  # by both places of the data
    half = (len(table.columns) - shared) // (2 if shared else 1)
    if len(words) not in (len(table.columns), shared + half):  # mscclpp-test leaves the other place blank
        table.refuse(f"{len(words)} numbers for {len(table.columns)} columns")
        return True
    for first in range(shared, len(words), half):
        cells = dict(zip(table.columns, [*words[:shared], *words[first : first + half]], strict=False))
        if line.endswith((" Pass", " Fail")):  # of OMB with -c
            cells["wrong"] = line[-4:]
        _add(table, cells, first > shared or None)
    return True


def _full_row(table: Table, size: str, count: str, kind: str, redop: str, behind: str) -> None:
    """One half or two, each of what the header names, or of four numbers, perhaps behind a root."""
    rest, names = behind.split(), table.columns[3 + ("redop" in table.columns or "op" in table.columns) :]
    if "algo" in names:  # rccl-tests with -M: what was chosen, or N/A
        names = names[: names.index("algo")]
        rest = rest[: len(names)]
    rooted, half, place = len(rest) % 4 == 1, _HALF, "after the type"
    if table.dialect == "nccl-tests" and "time" in names:
        rooted = "root" in names
        half = names[rooted:][: (len(names) - rooted) // names.count("time")]
        place = f"where the header has {len(names)}"
        if half == _HALF[: len(half)] and len(rest) - rooted in (4, 8):  # a page wrapped the header, too
            half = _HALF
    if len(rest) not in (rooted + len(half), rooted + 2 * len(half)):
        return table.refuse(f"{len(rest)} numbers {place}")
    if rooted:
        table.root = rest.pop(0)
    elements, total = finite(count), finite(size)
    parts = total / (elements * BYTES[kind]) if elements and total else 1.0
    for first in range(0, len(rest), len(half)):
        cells = dict(zip(half, rest[first:], strict=False))
        _add(table, {"size": size, **cells}, first > 0, parts, kind + redop)
    if redop:
        table.reduces = redop != "none"
    if elements and total:
        table.per_rank.append(parts)


def _add(table: Table, cells: dict[str, str], in_place: bool | None, parts: float = 1.0, kind: str = "") -> None:
    """The row of some cells by their columns, in us and GB/s, unless one of them cannot be.

    Where a message is counted in parts, one of each rank, the algbw of programs up to June 2020 leaves one part out.
    """
    message, micros, rate, bus = (finite(cells.get(name, "")) for name in ("size", "time", "algbw", "busbw"))
    unit = 1e3 if table.columns[:1] == ("bytes",) else 1.0
    micros = None if micros is None else micros * unit
    if message is None or message < 0:
        return table.refuse("no size")
    if "time" in cells and (micros or 0.0) <= 0 < message:
        return table.refuse("its time is no number above 0")
    for name, bandwidth in (("algbw", rate), ("busbw", bus)):
        if name in cells and (bandwidth is None or bandwidth < 0):
            return table.refuse("a bandwidth that is no number from 0 on")
    if table.of_launch:
        micros = None  # the rates are those of the whole call
    if micros and rate and message:
        rounded = 0.02 + _last_digit(cells["time"]) * unit / micros + _last_digit(cells["algbw"]) / rate
        times = message / (micros * 1000) / rate
        if rounded < abs(times - 1):
            if parts > 1 and abs(times * (1 - 1 / parts) - 1) <= rounded:
                rate *= times
            elif table.dialect == "nccom-test" and abs(times / _GIB - 1) <= rounded:
                rate, bus = rate * _GIB, (bus or 0.0) * _GIB
            else:
                return table.refuse("algbw is not size over time")
    giga = 1e6 / table.directions if (table.dialect, *table.columns) == _OSU_RATES else 1e9
    seconds, rate, bus = (None if x is None else x * unit for x, unit in ((micros, 1e-6), (rate, 1e9), (bus, giga)))
    kind = kind or (table.marks[-1][1] if table.marks else "")  # where a row leaves it out, that of the last one
    table.add(Row(table.number, message, seconds, rate, bus, in_place, cells.get("wrong", "")), kind)


def _last_digit(text: str) -> float:
    mantissa, _, power = text.lower().partition("e")
    return 10.0 ** (int(power or 0) - len(mantissa.partition(".")[2]))


def _runs(table: Table) -> Iterator[Run]:
    """The run or, for a table with a column for each number of nodes or with several types, the runs."""
    devices = {device[0]: device for device in table.devices}
    hosts = Counter(host for _, host, _, _ in devices.values())
    jobs = {host for rank, host, _, _ in table.devices if rank == 0}
    printed = table.ranks or max(devices, default=-1) + 1 or int(table.facts.get("nranks", 0)) or None
    shown = int(table.facts.get("ranks of a box", 0)) or None
    boxes, per_box = table.hosts or len(hosts) or None, max(hosts.values(), default=shown)
    if printed and len(devices) < printed:  # some lines were cut out
        boxes, per_box = table.hosts, max((device + 1 for _, _, device, _ in devices.values()), default=shown)
    collective, ranks = _deduced(table, printed)
    first = 0 <= max(devices, default=-1) < FEWEST_LINES - 1  # only the first few lines, of a list that was cut short
    if (first or len(devices) == 1) and ranks != len(devices):  # they say nothing of the other ranks
        boxes, per_box = table.hosts, shown
    if per_box and ranks and ranks % per_box == 0:
        boxes = ranks // per_box
    elif ranks != printed:
        boxes, per_box = None if printed else table.hosts, None if ranks else per_box
    gpu = next((name for *_, name in devices.values()), table.facts.get("gpu", ""))
    most = len(table.rows) / 10  # a process that printed a row or two of many was mislabeled
    rows_of = Counter(stream for stream, _ in table.marks)
    streams = max(sum(count >= most for count in rows_of.values()), len(jobs))
    known = (table.dialect, tuple(table.rows), collective, ranks, boxes, per_box, gpu, streams)
    run = Run(*known, table.facts, tuple(table.unread))
    kinds = dict.fromkeys(kind for _, kind in table.marks)
    if len(kinds) == 1:
        yield run
        return
    for kind in kinds:
        rows = tuple(row for row, (_, its) in zip(table.rows, table.marks, strict=True) if its == kind)
        nodes = re.fullmatch(r"(\d{1,5}) nodes?", kind)
        others = None if table.dialect == "markdown" else boxes
        yield replace(run, rows=rows, boxes=int(nodes[1]) if nodes else others)


def _ranks_by(rates: list[tuple[float, float]], limit: float) -> int | None:
    """The N of busbw = limit (N - 1) / N algbw, if the printed digits of all rows together leave one."""
    fit = (d for d in (0, 1) if all(abs(round(rate / 1e9, d) * 1e9 - rate) < 1 for pair in rates for rate in pair))
    half = 5e8 / 10 ** next(fit, 2)  # of the last digit that is printed
    least = max(((busbw - half) / (algbw + half) for algbw, busbw in rates), default=limit)
    most = min(((busbw + half) / (algbw - half) for algbw, busbw in rates), default=limit)
    if not least <= most < limit:
        return None
    fewest_ranks, most_ranks = (round(limit / (limit - ratio)) for ratio in (least, most))
    return fewest_ranks if fewest_ranks == most_ranks else None


def _deduced(table: Table, ranks: int | None) -> tuple[str | None, int | None]:
    """Collective and ranks where the columns leave one possibility."""
    rates = [(row.algbw, row.busbw) for row in table.rows if row.algbw and row.busbw and row.algbw >= LEAST_RATE]
    exact = [pair for pair in rates if pair[0] > 1e9]  # of less, two printed decimals show the factor coarsely
    ratio, coarse, collective = None, 0.005, table.collective
    if rates:
        ratio, *middle = median_high((busbw / algbw, algbw, busbw) for algbw, busbw in exact or rates)
        coarse = 0.005 if exact else max(0.1, sum(5e6 / rate for rate in middle))
    if ranks is None and ratio is None and any(row.algbw and row.busbw == 0 for row in table.rows):
        ranks = 1  # every factor but sendrecv's and broadcast's is 0 on one rank
    if ranks == 1 and ratio and max(algbw for algbw, _ in rates) < _NO_MEMORY:
        ranks = None  # a bus bandwidth above 0 needs two: the other lines of ranks are elsewhere
    if table.dialect == "markdown" and (ratio is None or (ratio > 1.005) == (table.facts.get("title") == "all-reduce")):
        collective = collective or table.facts.get("title")
    in_place = [row.wrong in ("N/A", "1e+00") for row in table.rows if row.in_place]
    out_of_place = [row.wrong in ("N/A", "1e+00") for row in table.rows if not row.in_place]
    unchecked = any(in_place) and not all(out_of_place)  # in place alone
    if collective is None and table.parts > 1:
        checked = any(row.in_place and row.wrong for row in table.rows) and not all(in_place)
        half = "all-to-all" if unchecked else "all-gather" if checked else None
        collective = "reduce-scatter" if table.reduces else half
    elif collective is None and ratio is not None:
        if ratio > 1.005:
            collective = "all-reduce"
        elif table.rooted:  # of which only these two do not count by rank
            collective = "reduce" if table.reduces else "broadcast"
        elif ratio >= 0.995 and (unchecked or (table.root == "-1" and (ranks or 2) > 2)):
            collective = "sendrecv"
        elif ratio >= 0.995 and table.reduces and ranks in (None, 2) and not all(in_place or out_of_place):
            collective, ranks = "all-reduce", 2  # a sendrecv checks nothing in place
    if table.parts > 1 and (ratio or 0.0) < 1:
        ranks = table.parts
    if collective and ratio and ranks and ranks > 1 and abs(factor(collective, ranks) / ratio - 1) > coarse:
        ranks = None  # the rank lines are not all there
    if ranks is None and collective in ("all-reduce", "all-gather", "reduce-scatter", "all-to-all"):
        ranks = _ranks_by(rates, 2.0 if collective == "all-reduce" else 1.0)
    return collective, ranks

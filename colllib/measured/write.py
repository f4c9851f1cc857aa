"""Writing tables in the dialects that `read` reads: for tests, and for what this machine has measured."""

from __future__ import annotations

from colllib.measured.log import Row, Run

#: Program, operation and root that it prints, and whether its count is of one rank.
PROGRAMS = {
    "all-reduce": ("all_reduce_perf", "sum", -1, False),
    "all-gather": ("all_gather_perf", "none", -1, True),
    "reduce-scatter": ("reduce_scatter_perf", "sum", -1, True),
    "all-to-all": ("alltoall_perf", "none", -1, True),
    "sendrecv": ("sendrecv_perf", "sum", -1, False),
    "broadcast": ("broadcast_perf", "none", 0, False),
    "reduce": ("reduce_perf", "sum", 0, False),
}
_OSU = {"all-reduce": "Allreduce", "all-gather": "Allgather", "all-to-all": "Alltoall", "broadcast": "Broadcast"}
_NCCOM = {"all-reduce": "allr", "all-gather": "allg", "reduce-scatter": "redsct", "all-to-all": "alltoall"}
DIALECTS = ("nccl-tests", "nccl-tests-old", "nccl-tests-2.17", "markdown", "nccom-test", "osu")


def write(run: Run, dialect: str, prefix: str = "") -> str:
    """A run as the program prints it.

    Args:
        run: needs its collective and ranks; of each size one row, or one row out of place and one in place. Without
            a GPU's name nothing is said of devices.
        dialect: one of `DIALECTS`.
        prefix: in front of every line, such as "[1,0]<stdout>:".

    Raises:
        ValueError: for an unknown dialect, or a run that the program cannot print.

    >>> run = Run("columns", (Row(1, 1e6, 1e-4, 1e10, 1.75e10),), "all-reduce", 8)
    >>> print(write(run, "nccom-test"))
    nccom-test -r 8 allr
             size(B)    count(elems)     type    time(us)    algbw(GB/s)    busbw(GB/s)
             1000000         1000000    uint8      100.00          10.00          17.50
    """
    if dialect not in DIALECTS:
        raise ValueError(f"dialect {dialect!r}: known are {', '.join(DIALECTS)}")
    if run.collective not in PROGRAMS or run.ranks is None:
        raise ValueError("a table needs its collective and its ranks")
    lines = {"markdown": _markdown, "nccom-test": _nccom, "osu": _osu}.get(dialect)
    made = lines(run) if lines else _nccl(run, dialect)
    return "\n".join(prefix + line for line in made)


def _time(seconds: float) -> str:
    """As nccl-tests prints: two decimals below 100 us, one below 10 ms, none above."""
    micros = seconds * 1e6
    return f"{micros:.{2 if micros < 99.995 else 1 if micros < 9999.95 else 0}f}"


def _pairs(run: Run) -> list[tuple[Row, Row | None]]:
    inside = {row.message: row for row in run.rows if row.in_place}
    return [(row, inside.get(row.message)) for row in run.rows if not row.in_place]


def _nccl(run: Run, dialect: str) -> list[str]:
    program, redop, root, per_rank = PROGRAMS[str(run.collective)]
    ranks, per_box = run.ranks or 1, run.gpus_per_box or run.ranks or 1
    old, pairs = dialect == "nccl-tests-old", _pairs(run)
    sizes = [int(row.message) for row in run.rows] or [0]
    made = []
    if dialect == "nccl-tests-2.17":
        made.append("# nccl-tests version 2.17.9 nccl-headers=22602 nccl-library=22602")
    if dialect == "nccl-tests-2.17" or not run.gpu:
        made.append(f"# Collective test starting: {program}")
    if run.gpu:
        made.append(
            f"# nThread 1 nGpus 1 minBytes {min(sizes)} maxBytes {max(sizes)} step: 2(factor) warmup iters: 5 iters: 20"
        )
        made += ["#", "# Using devices"]
        group = "" if old else "Group  0 "
        for rank in range(ranks):
            where = f"on node{rank // per_box + 1:02d} device {rank % per_box:2d} [0x{rank % per_box:02x}]"
            made.append(f"#  Rank {rank:2d} {group}Pid {1000 + rank:6d} {where} {run.gpu}")
    wrong = " error" if old else "#wrong"
    mid = "" if old else "    root"
    half = f"     time   algbw   busbw {wrong}"
    made += ["#", f"#       size         count      type   redop{mid}{half}{half}"]
    made.append("#        (B)    (elements)                       (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)")
    for out, inside in pairs:
        count = int(out.message) // 4 // (ranks if per_rank else 1)
        line = f"{int(out.message):12d}  {count:12d}     float  {redop:>6s}" + ("" if old else f"  {root:6d}")
        for place, row in enumerate((out, inside)):
            if row is not None:
                unchecked = place == 1 and run.collective in ("all-to-all", "sendrecv")
                mark = row.wrong or ("N/A" if unchecked else "2e-07" if old else "0")
                rates = f"{(row.algbw or 0) / 1e9:7.2f} {(row.busbw or 0) / 1e9:7.2f}"
                line += f"  {_time(row.seconds or 0):>7s} {rates}  {mark:>5s}"
        made.append(line)
    bus = [row.busbw / 1e9 for row in run.rows if row.busbw is not None]
    bad = sum(int(row.wrong) for row in run.rows if row.wrong.isdigit())
    made += [
        f"# Out of bounds values : {bad} {'FAILED' if bad else 'OK'}",
        f"# Avg bus bandwidth    : {sum(bus) / max(len(bus), 1):g}",
    ]
    return made


def _markdown(run: Run) -> list[str]:
    made = ["| size (B) | time (us) | algbw (GB/s) | busbw (GB/s) |", "| ---: | ---: | ---: | ---: |"]
    for row, _ in _pairs(run):
        rates = f"{(row.algbw or 0) / 1e9:.2f} | {(row.busbw or 0) / 1e9:.2f}"
        made.append(f"| {int(row.message)} | {_time(row.seconds or 0)} | {rates} |")
    return made


def _nccom(run: Run) -> list[str]:
    if run.collective not in _NCCOM:
        raise ValueError(f"nccom-test has no {run.collective}")
    made = [f"nccom-test -r {run.ranks} {_NCCOM[run.collective]}"]
    made.append("         size(B)    count(elems)     type    time(us)    algbw(GB/s)    busbw(GB/s)")
    for row, _ in _pairs(run):
        rates = f"{(row.algbw or 0) / 1e9:15.2f}{(row.busbw or 0) / 1e9:15.2f}"
        made.append(f"{int(row.message):16d}{int(row.message):16d}    uint8 {(row.seconds or 0) * 1e6:11.2f}{rates}")
    return made


def _osu(run: Run) -> list[str]:
    if run.collective not in _OSU:
        raise ValueError(f"the OSU writer has no {run.collective}")
    made = [f"# OSU MPI {_OSU[run.collective]} Latency Test v7.4", f"{'# Size':10s}{'Avg Latency(us)':>18s}"]
    share = (run.ranks or 1) if run.collective in ("all-gather", "all-to-all") else 1
    return made + [f"{int(row.message) // share:<10d}{(row.seconds or 0) * 1e6:18.2f}" for row, _ in _pairs(run)]

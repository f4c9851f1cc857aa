"""Writing tables in the dialects that `read` reads: for tests, and for what this machine has measured."""

from __future__ import annotations

from typing import Any

from colllib.measured.log import PROGRAMS, Row, Run

#: Of the dialects with one line a size: what stands above, and the line.
_PLAIN = {
    "markdown": (
        "| size (B) | time (us) | algbw (GB/s) | busbw (GB/s) |\n| ---: | ---: | ---: | ---: |",
        "| {size} | {time} | {algbw:.2f} | {busbw:.2f} |",
    ),
    "nccom-test": (
        "nccom-test -r {ranks} {nccom}\n"
        "         size(B)    count(elems)     type    time:avg(us)    algbw(GB/s)    busbw(GB/s)",
        "{size:16d}{size:16d}    uint8 {micros:15.2f}{algbw:15.2f}{busbw:15.2f}",
    ),
    "osu": ("# OSU MPI {osu} Latency Test v7.4\n# Size       Avg Latency(us)", "{of_a_rank:<10d}{micros:18.2f}"),
}
DIALECTS = ("nccl-tests", "nccl-tests-old", "nccl-tests-2.17", *_PLAIN)


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
             size(B)    count(elems)     type    time:avg(us)    algbw(GB/s)    busbw(GB/s)
             1000000         1000000    uint8          100.00          10.00          17.50
    """
    if dialect not in DIALECTS:
        raise ValueError(f"dialect {dialect!r}: known are {', '.join(DIALECTS)}")
    if run.collective not in PROGRAMS or run.ranks is None:
        raise ValueError("a table needs its collective and its ranks")
    made = _plain(run, run.ranks, dialect) if dialect in _PLAIN else _nccl(run, run.ranks, dialect)
    return "\n".join(prefix + line for line in made)


def _cells(row: Row) -> dict[str, Any]:
    micros = (row.seconds or 0) * 1e6
    time = f"{micros:.{2 if micros < 99.995 else 1 if micros < 9999.95 else 0}f}"  # as nccl-tests prints
    rates = {"algbw": (row.algbw or 0) / 1e9, "busbw": (row.busbw or 0) / 1e9}
    return {"size": int(row.message), "time": time, "micros": micros, **rates}


def _plain(run: Run, ranks: int, dialect: str) -> list[str]:
    _, _, _, per_rank, nccom, osu = PROGRAMS[str(run.collective)]
    if not {"nccom-test": nccom, "osu": osu}.get(dialect, "any"):
        raise ValueError(f"{run.collective} is not written as {dialect}")
    head, line = _PLAIN[dialect]
    share, rows = ranks if per_rank else 1, [_cells(row) for row in run.rows if not row.in_place]
    lines = [line.format(of_a_rank=cells["size"] // share, **cells) for cells in rows]
    return [*head.format(ranks=ranks, nccom=nccom, osu=osu).split("\n"), *lines]


def _nccl(run: Run, ranks: int, dialect: str) -> list[str]:
    program, redop, root, per_rank, _, _ = PROGRAMS[str(run.collective)]
    old, per_box = dialect == "nccl-tests-old", run.gpus_per_box or ranks
    made = []
    if dialect == "nccl-tests-2.17":
        made.append("# nccl-tests version 2.17.9 nccl-headers=22602 nccl-library=22602")
    if dialect == "nccl-tests-2.17" or not run.gpu:
        made.append(f"# Collective test starting: {program}")
    if run.gpu:
        sizes = [int(row.message) for row in run.rows] or [0]
        ends = f"minBytes {min(sizes)} maxBytes {max(sizes)} step: 2(factor)"
        made += [f"# nThread 1 nGpus 1 {ends} warmup iters: 5 iters: 20", "#", "# Using devices"]
        group = "" if old else "Group  0 "
        for rank in range(ranks):
            box, device = divmod(rank, per_box)
            where = f"on node{box + 1:02d} device {device:2d} [0x{device:02x}]"
            made.append(f"#  Rank {rank:2d} {group}Pid {1000 + rank:6d} {where} {run.gpu}")
    half = f"     time   algbw   busbw {' error' if old else '#wrong'}"
    made += ["#", f"#       size         count      type   redop{'' if old else '    root'}{half}{half}"]
    made.append("#        (B)    (elements)                       (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)")
    inside = {row.message: row for row in run.rows if row.in_place}
    for out in (row for row in run.rows if not row.in_place):
        count = int(out.message) // 4 // (ranks if per_rank else 1)
        line = f"{int(out.message):12d}  {count:12d}     float  {redop:>6s}" + ("" if old else f"  {root:6d}")
        for row in filter(None, (out, inside.get(out.message))):
            unchecked = row is not out and run.collective in ("all-to-all", "sendrecv")
            mark = row.wrong or ("N/A" if unchecked else "2e-07" if old else "0")
            line += "  {time:>7s} {algbw:7.2f} {busbw:7.2f}".format(**_cells(row)) + f"  {mark:>5s}"
        made.append(line)
    bus = [row.busbw / 1e9 for row in run.rows if row.busbw is not None]
    bad = sum(int(row.wrong) for row in run.rows if row.wrong.isdigit())
    made.append(f"# Out of bounds values : {bad} {'FAILED' if bad else 'OK'}")
    return [*made, f"# Avg bus bandwidth    : {sum(bus) / max(len(bus), 1):g}"]

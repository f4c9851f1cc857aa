"""A run in each dialect that is read: nccl-tests by the library's own writer, the others by their documentation."""

from __future__ import annotations

import re

from colllib.busbw import PER_RANK
from colllib.measured.log import PROGRAMS
from colllib.measured.write import write as _write

#: Of the dialects with one line a size: what stands above, and the line.
_PLAIN = {
    "markdown": (
        "| size (B) | time (us) | algbw (GB/s) | busbw (GB/s) |\n| ---: | ---: | ---: | ---: |",
        "| {size} | {micros:.2f} | {algbw:.2f} | {busbw:.2f} |",
    ),
    "nccom-test": (
        "nccom-test -r {ranks} {nccom}\n"
        "         size(B)    count(elems)     type    time:avg(us)    algbw(GB/s)    busbw(GB/s)",
        "{size:16d}{size:16d}    uint8 {micros:15.2f}{algbw:15.2f}{busbw:15.2f}",
    ),
    "osu": ("# OSU MPI-CUDA {osu} Latency Test v7.4\n# Size       Avg Latency(us)", "{of_a_rank:<10d}{micros:18.2f}"),
    # src_c/IMB_output.c of intel/mpi-benchmarks
    "imb": (
        "#----------------\n# Benchmarking {mpi} \n# #processes = {ranks} \n#----------------\n"
        "       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]",
        "{of_a_rank:13d}           10{least:13.2f}{most:13.2f}{micros:13.2f}",
    ),
    # tools/perf/ucc_pt_benchmark.cc of openucx/ucc, with -F
    "ucc": (
        "Collective:             {mpi}\nMemory type:            cuda\n\n"
        "       Count        Size                Time, us                       Bus Bandwidth, GB/s\n"
        "                                 avg         min         max         avg         max         min",
        "{of_a_rank:12d}{of_a_rank:12d}{micros:12.2f}{least:12.2f}{most:12.2f}{busbw:12.2f}{busbw:12.2f}{busbw:12.2f}",
    ),
}
OF_A_RANK = ("osu", "imb", "ucc")  # whose sizes are of a rank's part where a collective has such parts
DIALECTS = ("nccl-tests", "nccl-tests-old", "nccl-tests-2.17", *_PLAIN)


def write(run, dialect="nccl-tests", prefix=""):
    """A run as the program prints it, with something such as "[1,0]<stdout>:" in front of every line."""
    text = _plain(run, *_PLAIN[dialect]) if dialect in _PLAIN else _write(run)
    if dialect == "nccl-tests-old":
        text = text.replace("Group  0 ", "").replace("    root", "").replace("#wrong", " error")
        text = re.sub(r"(?m)^( *\d+ +\d+ +float +\w+)  +-?\d+", r"\1", text)
        text = re.sub(r"(?m)      0(?=  |$)", "  2e-07", text)
    if dialect == "nccl-tests-2.17":
        starting = f"# Collective test starting: {PROGRAMS[run.collective][0]}\n"
        text = "# nccl-tests version 2.17.9 nccl-headers=22602 nccl-library=22602\n" + starting * bool(run.gpu) + text
    return "\n".join(prefix + line for line in text.split("\n"))


def _plain(run, head, line):
    *_, nccom, osu = PROGRAMS[run.collective]
    mpi = run.collective.replace("-", "").capitalize()
    # in IMB_reduce_scatter.c and IMB_reduce_scatter_block.c, too, the size is that of a rank's part
    share = (
        run.ranks
        if run.collective in PER_RANK or ("Benchmarking" in head and run.collective == "reduce-scatter")
        else 1
    )
    lines = [
        line.format(
            size=int(row.message),
            of_a_rank=int(row.message) // share,
            micros=(row.seconds or 0) * 1e6,
            least=(row.seconds or 0) * 0.9e6,
            most=(row.seconds or 0) * 1.2e6,
            algbw=row.algbw / 1e9,
            busbw=row.busbw / 1e9,
        )
        for row in run.rows
        if not row.in_place
    ]
    return "\n".join([head.format(ranks=run.ranks, nccom=nccom, osu=osu, mpi=mpi), *lines])

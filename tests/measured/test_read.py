"""Logs are read in every form that they are posted in, and what is no row is named."""

from __future__ import annotations

import dataclasses
import os
import re
import textwrap
from time import process_time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from measured import logs
from measured.dialects import DIALECTS, OF_A_RANK, write

from colllib.measured import read as reading
from colllib.measured.commands import diagnose_command
from colllib.measured.diagnose import diagnose
from colllib.measured.log import Row, Run, factor
from colllib.measured.read import FORMS, read, read_file

HEADER = "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n"
ROW = "     1048576     262144   float  sum   -1   100.0  10.49   18.35   0    100.0  10.49   18.35   0\n"
PREFIXES = ("", "[1,0]<stdout>:", "0: ", "[0] ")
SUPPORTED = {
    **dict.fromkeys(DIALECTS, ("all-reduce", "all-gather", "all-to-all")),
    "nccl-tests": ("all-reduce", "all-gather", "reduce-scatter", "all-to-all", "sendrecv", "broadcast", "reduce"),
}


@st.composite
def runs(draw, dialect):
    """A run whose times are as they print, so that reading it back must give the same numbers."""
    collective = draw(st.sampled_from(SUPPORTED[dialect]))
    boxes, per_box = draw(st.integers(1, 3)), draw(st.sampled_from((2, 4, 8)))
    ranks = boxes * per_box
    exponents = sorted(draw(st.sets(st.integers(20, 33), min_size=2, max_size=8)))
    halves = (False, True) if dialect.startswith("nccl") else (None,)
    rows = []
    for k, exponent in enumerate(exponents):
        for in_place in halves:
            message = 2**exponent * (ranks * 4 if collective != "all-reduce" else 1)
            rate = draw(st.floats(1e10, 4e11))  # below, 100 s can fill UCC's column, and touch the one before
            seconds = message / rate
            bus = rate * factor(collective, ranks)
            rows.append(Row(k, float(message), seconds, rate, bus, in_place))
    return Run(dialect, tuple(rows), collective, ranks, boxes, per_box, "NVIDIA Test")


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("prefix", PREFIXES)
def test_what_is_written_in_a_dialect_is_read_back(dialect, prefix):
    @settings(max_examples=15, deadline=None)
    @given(runs(dialect))
    def check(run):
        (parsed,) = read(write(run, dialect, prefix))
        assert not parsed.unread
        per_rank = run.ranks if dialect in OF_A_RANK and run.collective != "all-reduce" else 1
        expected = [(row.message / per_rank, row.in_place) for row in run.rows]
        assert [(row.message, row.in_place) for row in parsed.rows] == expected
        for row, given_row in zip(parsed.rows, run.rows, strict=True):
            assert row.seconds == pytest.approx(given_row.seconds, rel=0.01)
            if row.busbw is not None:
                assert row.busbw == pytest.approx(given_row.busbw, abs=6e6)
        if dialect.startswith("nccl"):
            expected = (run.collective, run.ranks, run.boxes, run.gpus_per_box, run.gpu)
            assert (parsed.collective, parsed.ranks, parsed.boxes, parsed.gpus_per_box, parsed.gpu) == expected

    check()


@pytest.mark.parametrize(
    "text", ["{}", '{"results": 5}', "[1, 2]", "[" * 10**5, "7", "null", '{"config": {"devices": 1}}']
)
def test_json_of_another_kind_is_no_benchmark(text):
    with pytest.raises(
        ValueError, match=r"^no row of a benchmark table in a text of 1 lines; read are tables of nccl-tests"
    ):
        read(text)


@pytest.mark.parametrize(
    ("micros", "printed"),
    [(0.904, "0.90"), (99.99, "99.99"), (100.04, "100.0"), (9999.9, "9999.9"), (12345.6, "12346")],
)
def test_times_have_as_many_digits_as_nccl_tests_print_and_are_read_as_they_are(micros, printed):
    """src/common.cu of nccl-tests: none after the point from 10 ms on, one from 100 us on, else two."""
    size = 4096.0 * round(micros / 0.904)
    row = Row(1, size, micros * 1e-6, size / micros * 1e6, size / micros * 1e6 * 1.875)
    line = write(Run("nccl-tests", (row,), "all-reduce", 16), "nccl-tests")
    assert printed in line.split()
    assert read(line)[0].rows[0].seconds == pytest.approx(float(printed) * 1e-6)


def test_a_prefix_in_mid_line_is_taken_out():
    text = HEADER + ROW.replace("   float", "[1,0]<stdout>:   float")
    (run,) = read(text)
    assert [row.message for row in run.rows] == [2**20, 2**20]


def test_a_row_cut_by_another_process_is_joined():
    first, rest = ROW[:40], ROW[40:]
    text = HEADER + f"[1,0]<stdout>:{first}[1,3]<stdout>:node02: NCCL INFO something\n[1,0]<stdout>:{rest}"
    (run,) = read(text)
    assert len(run.rows) == 2
    assert run.rows[0].seconds == pytest.approx(100e-6)


@pytest.mark.parametrize("host", ["node1", "38dcf168f605", "10.0.0.7"])
def test_a_row_whose_halves_come_between_lines_of_nccl_is_joined(host):
    info = f"{host}:15:15 [0] NCCL INFO AllReduce: 1048576 Bytes -> Algo RING proto SIMPLE channel\n"
    head, half = "  1048576  262144  float  sum  -1", "  100.0  10.49  18.35  0"
    in_place = half.replace("100.0", "101.0").replace("10.49", "10.38")
    cut = f"{head}{info}{info}{half}{info}{info}{in_place}\n"
    (run,) = read(HEADER + cut + cut.replace("262144  float", "262144  int32") + "# Avg bus bandwidth    : 18.35\n")[:1]
    assert [(row.line, row.seconds, row.in_place, row.wrong) for row in run.rows] == [
        (2, pytest.approx(1e-4), False, "0"),
        (2, pytest.approx(1.01e-4), True, "0"),
    ]
    (lost,) = read(HEADER + ROW + head + info + info + "# Avg bus bandwidth    : 18.35\n")
    assert [mark.line for mark in lost.unread] == [3]
    (both,) = read(HEADER + head + info + half + half + "\n")
    assert (len(both.rows), both.unread) == (2, ())


@pytest.mark.parametrize("width", [66, 72, 80])
@pytest.mark.parametrize(("before", "behind"), [("", ""), (":mark:`", "`")])
def test_rows_that_a_narrow_page_wraps_are_read(width, before, behind):
    printed = logs.text(300e9, boxes=1, sizes=[2**k for k in range(20, 34)])
    lines = [" ".join(line.split()) for line in printed.split("\n")]
    wrapped = "\n\n".join(before + textwrap.fill(line, width) + behind for line in lines)
    assert [(row.message, row.seconds, row.busbw, row.in_place) for row in read(wrapped)[0].rows] == [
        (row.message, row.seconds, row.busbw, row.in_place) for row in read(printed)[0].rows
    ]


def test_a_row_that_ends_early_takes_nothing_from_what_follows():
    short = ROW.rsplit(maxsplit=2)[0]
    (run,) = read(f"{HEADER}{short}\n\n5 6\n{ROW}")
    assert (len(run.rows), [mark.line for mark in run.unread]) == (2, [2, 4])


@pytest.mark.parametrize(
    ("cell", "size"),
    [("64K", 2**16), ("65K", 65_000), ("65KiB", 65 * 2**10), ("1.5K", 1500), ("64KB", 64_000), ("3M", 3_000_000)],
)
def test_a_k_is_1024_of_a_power_of_two_and_else_what_is_written(cell, size):
    (run,) = read(f"| size | 2 nodes |\n| --- | --- |\n| {cell} | 1GBps |\n")
    assert run.rows[0].message == size


def test_numbers_in_bold_and_what_is_remarked_behind_them_are_read():
    text = "| Message | Avg ms | algbw GB/s | **busbw GB/s** |\n|---:|---:|---:|---:|\n"
    (run,) = read(
        f"{text}| 1.00 GiB | 4.07 | 263.59 | **461.28** |\n| **2 GB** | 8 | 268 | **469** \u2190 peak (8.02 ms) |\n"
    )
    assert [(row.message, row.busbw) for row in run.rows] == [(2.0**30, 461.28e9), (2e9, 469e9)]
    assert run.ranks == 8


def test_ranks_and_hosts_may_be_told_by_the_last_rank_and_a_count():
    (run,) = read("# last rank 7, 2 hosts in all\n" + HEADER + ROW)
    assert (run.ranks, run.boxes) == (8, 2)


def test_two_sizes_measured_twice_are_one_job_and_sizes_that_fall_twice_are_not():
    sizes = [2.0**k for k in range(10, 30)]
    for extra, mixed in ((sizes[3:5], ""), (sizes[:0:-9], "go up and down")):
        again = sorted([*sizes, *extra]) if not mixed else [*sizes, *extra]
        reason = Run("columns", tuple(Row(k, size, 1.0, None, None) for k, size in enumerate(again))).mixed
        assert mixed in reason
        assert bool(reason) == bool(mixed)


def test_a_table_that_begins_with_the_largest_size_is_one_job():
    sizes = [2.0**k for k in range(29, 9, -1)]
    assert not Run("columns", tuple(Row(k, size, 1.0, None, None) for k, size in enumerate(sizes))).mixed


@pytest.mark.parametrize(("written", "seconds"), [("34,399.7", 34.3997e-3), ("34399,7", None), ("34,39,9", None)])
def test_a_comma_stands_between_thousands_or_the_row_is_refused(written, seconds):
    text = f"| size | time |\n| --- | --- |\n| 8589934592 | {written} |\n| 1024 | 30.0 |\n"
    (run,) = read(text)
    rows = {row.message: row.seconds for row in run.rows}
    assert rows.get(8589934592.0) == (None if seconds is None else pytest.approx(seconds))
    assert len(run.unread) == (seconds is None)


def test_processes_that_each_print_a_table_are_a_mixture():
    (run,) = read(HEADER + "".join(f"[1,{k}]<stdout>:{ROW}" for k in range(4)))
    assert run.streams == 4
    assert run.mixed


def test_several_runs_in_one_file_stay_apart():
    runs = read(HEADER + ROW + "# Avg bus bandwidth    : 18.35\n" + HEADER + ROW * 1)
    assert [len(run.rows) for run in runs] == [2, 2]


@pytest.mark.parametrize("gpu", ["", "NVIDIA Test"])
@pytest.mark.parametrize("dialect", [name for name in DIALECTS if name != "markdown"])
def test_what_stands_above_a_run_names_its_collective_and_not_that_of_the_run_before(dialect, gpu):
    asked = ("all-reduce", "all-gather", "all-to-all")
    text = "\n".join(logs.text(9e9, dialect, collective=collective, gpu=gpu) for collective in asked)
    assert [run.collective for run in read(text)] == list(asked)


def test_a_command_behind_the_averages_of_a_run_starts_the_next():
    first, second = (logs.text(9e9, collective=collective) for collective in ("all-gather", "sendrecv"))
    runs = read(f"{first}\n# Collective test concluded: all_gather_perf\n$ mpirun ./sendrecv_perf -b 8\n{second}")
    assert [run.collective for run in runs] == ["all-gather", "sendrecv"]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (("100.0", "0.00"), "its time is no number above 0"),
        (("100.0", "nan"), "its time is no number above 0"),
        (("10.49", "nan"), "a bandwidth that is no number"),
        (("100.0", "100000"), "algbw is not size over time"),
        (("10.49", "1"), "algbw is not size over time"),
        (("   0\n", "\n"), "numbers where the header has"),
    ],
)
def test_what_is_no_row_is_named_by_its_line(change, why):
    good = ROW.replace("1048576", "2097152").replace("100.0", "200.0")
    (run,) = read(HEADER + ROW.replace(*change) + good)
    assert {mark.line for mark in run.unread} == {2}
    assert why in run.unread[0].why
    assert {row.line for row in run.rows} == {3}


def test_a_label_may_be_glued_to_a_size_that_fills_its_field():
    (run,) = read(HEADER + "[STAT]:" + ROW + "[STAT]:" + ROW.strip().replace("100.0  10.49", "101.0  10.38") + "\n")
    assert ([row.line for row in run.rows], run.unread) == ([2, 2, 3, 3], ())


def test_a_line_that_looks_like_a_row_and_is_none_is_named():
    (run,) = read(HEADER + ROW + "node1" + ROW.strip() + "\n")
    assert [mark.line for mark in run.unread] == [3]


@pytest.mark.parametrize("damaged", [ROW.replace("float", "flo4t"), ROW.replace("float", "")])
def test_a_row_without_a_known_type_is_named(damaged):
    (run,) = read(HEADER + ROW.replace("1048576", "2097152").replace("100.0", "200.0") + damaged)
    assert (len(run.rows), [mark.line for mark in run.unread]) == (2, [3])


@pytest.mark.parametrize("dialect", ["nccl-tests", "nccl-tests-old"])
def test_a_last_row_is_named_wherever_it_is_cut_off(dialect):
    *above, last, _, _ = logs.text(300e9, dialect, boxes=1).rstrip("\n").split("\n")
    whole = len(read("\n".join(above))[0].rows)
    for end in range(len(last) - len(last.lstrip()) + 1, last.index("sum")):
        (run,) = read("\n".join([*above, last[:end]]))
        assert (len(run.rows), [mark.line for mark in run.unread]) == (whole, [len(above) + 1]), last[:end]


def test_ranks_are_counted_in_a_table_of_less_than_1_gb_per_second():
    rows = (f" {2**k} {2**k / 0.957e3:.1f} 0.96 1.44\n" for k in range(28, 32))  # 4 copy through host memory
    (run,) = read("# size time algbw busbw\n" + "".join(rows))
    assert (run.collective, run.ranks) == ("all-reduce", 4)


def test_a_table_in_other_units_is_refused_by_its_line():
    with pytest.raises(ValueError, match=r"line 2: unit ms"):
        read(HEADER + "#        (B)    (elements)     (ms)  (GB/s)  (GB/s)\n" + ROW)


def test_text_without_a_row_is_refused():
    with pytest.raises(ValueError, match=r"no row"):
        read("nothing\nto see\n")


def test_a_file_is_read_up_to_64_mib(tmp_path):
    place = tmp_path / "log"
    place.write_text(HEADER + ROW)
    assert len(read_file(place)) == 1
    for size, complaint in ((2**26, "no row"), (2**26 + 1, "over 64 MiB; cut out the table")):
        place.write_bytes(b"")
        os.truncate(place, size)
        with pytest.raises(ValueError, match=complaint):
            read_file(place)


def test_a_log_may_come_through_a_pipe():
    out, into = os.pipe()
    os.write(into, (HEADER + ROW).encode())
    os.close(into)
    assert read_file(f"/dev/fd/{out}")[0].rows == read(HEADER + ROW)[0].rows
    os.close(out)


@pytest.mark.parametrize(("place", "complaint"), [("nowhere", "No such file"), ("/", "Is a directory")])
def test_what_cannot_be_opened_says_why(place, complaint):
    with pytest.raises(ValueError, match=rf"^log '{place}': {complaint}"):
        read_file(place)


def test_a_number_with_two_points_is_none():
    (run,) = read("| size | busbw |\n| --- | --- |\n| 1.2.3MB | 5 |\n| 2MB | 1.2.3 |\n| 4MB | 7 |\n")
    assert [row.message for row in run.rows] == [4e6]
    assert [bad.line for bad in run.unread] == [3, 4]


@pytest.mark.parametrize("dialect", [each for each in DIALECTS if each != "markdown"])
def test_a_bar_behind_a_line_belongs_to_the_page_that_it_was_copied_from(dialect):
    text = write(logs.run(300e9), dialect)
    assert read("".join(f"{line} |\n" for line in text.splitlines())) == read(text)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_row_without_a_time_is_written_as_one_that_cannot_be_read(dialect):
    run = logs.run(300e9, sizes=[2**26, 2**27, 2**28])
    rows = tuple(dataclasses.replace(row, seconds=None) if row.message == 2**27 else row for row in run.rows)
    (parsed,) = read(write(dataclasses.replace(run, rows=rows), dialect))
    assert {row.message for row in parsed.rows} == {2**26, 2**28}
    assert parsed.unread


def test_one_wrong_rate_between_others_does_not_hide_the_collective():
    run = logs.run(300e9, sizes=[2**k for k in range(26, 31)])
    rows = tuple(dataclasses.replace(row, busbw=row.algbw) if row.message == 2**28 else row for row in run.rows)
    text = write(dataclasses.replace(run, rows=rows), "nccl-tests")
    table = "\n".join(line for line in text.split("\n") if "Rank" not in line and "_perf" not in line)
    assert read(table)[0].collective == "all-reduce"
    assert read(table)[0].ranks is None


def test_a_table_with_a_column_for_each_number_of_nodes_is_a_run_each():
    table = "| payload | 1 node | 4 nodes |\n| ---: | ---: | ---: |\n"
    table += "| 32KiB | 1.20GBps | 0.01GBps |\n| 1GiB | 700GBps | 350GBps |\n"
    one, four = read(table)
    assert (one.boxes, four.boxes) == (1, 4)
    assert [row.busbw for row in four.rows] == [0.01e9, 350e9]
    assert four.rows[1].message == 2**30


def test_the_collective_is_told_only_where_the_columns_leave_one():
    (run,) = read(HEADER + ROW)
    assert (run.collective, run.ranks) == ("all-reduce", 8)
    same = ROW.replace("18.35", "10.49").replace("sum   -1", "sum    0")
    assert read(HEADER + same)[0].collective == "reduce"  # it prints its root
    assert read(HEADER + same.replace("sum", "none"))[0].collective == "broadcast"


def test_gathering_over_so_many_ranks_that_its_factor_is_nearly_1_is_told_by_its_count():
    count, rate = 2**30 // 4 // 1024, 2**30 / 5000 / 1000
    half = f"5000.0 {rate:.2f} {rate * 1023 / 1024:.2f}"
    (run,) = read(HEADER + f"{2**30} {count} float none -1 {half} 0 {half} 0\n")
    assert (run.collective, run.ranks) == ("all-gather", 1024)


def test_a_header_without_wrong_values_has_three_numbers_in_a_half():
    header = "#  size  count  type  redop  root  time  algbw  busbw\n"
    (run,) = read(header + "8388608 2097152 float sum -1 80.32 104.44 182.77\n")
    assert (run.collective, run.ranks, run.unread) == ("all-reduce", 8, ())
    assert run.rows[0].seconds == pytest.approx(80.32e-6)


def test_rates_of_what_crosses_a_wire_as_programs_up_to_2020_print_them_are_taken_back_to_the_whole_message():
    header = "#  size  count  type  time  algbw  busbw  error  time  algbw  busbw  error\n"
    half = f"1000.0 {0.75 * 2**30 / 1e6:.2f} {0.75 * 2**30 / 1e6:.2f} 0e+00"  # three of four parts, in 1 ms
    (run,) = read(header + f"{2**30} {2**30 // 4 // 4} float {half} {half}\n")
    assert (run.collective, run.ranks, run.unread) == ("all-gather", 4, ())
    assert run.rows[0].algbw == pytest.approx(2**30 / 1e-3, rel=1e-4)
    assert run.rows[0].busbw == pytest.approx(0.75 * 2**30 / 1e-3, rel=1e-4)


@pytest.mark.parametrize(
    "text",
    [
        "| size (B) | time (us) | busbw (Gb/s) |\n| --- | --- | --- |\n| 1048576 | 100 | 146.8 |\n",
        "# OSU MPI Allreduce Latency Test v7.4\n# Size  Avg Latency(ms)\n1048576  0.1\n",
        "size(B) count(elems) type time(ms) algbw(GB/s) busbw(GB/s)\n 1048576 262144 float 0.1 10.49 18.35\n",
    ],
)
def test_other_units_in_a_header_are_refused_in_every_dialect(text):
    with pytest.raises(ValueError, match=r"unit (ms|Gb/s): times are in us, rates in GB/s"):
        read(text)


@pytest.mark.parametrize(
    ("name", "cell"),
    [("Time (ms)", "2.0"), ("time (μs)", "2000"), ("time", "2000.0"), ("Time", "2 ms"), ("time", "`2ms`")],
)
def test_a_time_in_markdown_is_in_the_unit_of_its_cell_or_of_its_column(name, cell):
    names = f"| Size | {name} | Algorithm BW (GB/s) | Bus BW (GB/s) |\n|---|---|---|---|\n"
    (run,) = read(f"{names}| 8MB | {cell} | 4 | 7 |\n")
    (row,) = run.rows
    assert (row.message, row.seconds, row.algbw, row.busbw) == (8e6, pytest.approx(2e-3), 4e9, 7e9)
    assert (run.collective, run.unread) == ("all-reduce", ())


def test_a_time_in_markdown_that_is_not_size_over_algbw_is_named_and_not_used():
    (run,) = read("| size | time (ms) | algbw (GB/s) | busbw (GB/s) |\n|---|---|---|---|\n| 8MB | 8.4 | 4 | 7 |\n")
    assert [(row.seconds, row.busbw) for row in run.rows] == [(None, 7e9)]
    assert [mark.line for mark in run.unread] == [3]


@pytest.mark.parametrize(
    "name",
    ["메시지 크기", "消息大小", "数据量", "メッセージサイズ", "Data Size", "Transfer size", "Total size", "größe"],
)
def test_the_column_of_sizes_in_markdown_may_have_a_name_in_another_language(name):
    (run,) = read(f"| {name} | busbw (GB/s) |\n|---|---|\n| 8 MB | 7 |\n| 104,857,600 | 9 |\n")
    assert [(row.message, row.busbw) for row in run.rows] == [(8e6, 7e9), (104857600, 9e9)]


def test_titles_name_the_collective_and_the_gpu_of_the_tables_below_them():
    # Bailey Cho, "Running NCCL Tests on p6-b200": two nodes
    text = """
### AllReduce (2 nodes, 16x B200, EFA v3)
| Size | AlgBW (GB/s) | BusBW (GB/s) |
|------|-------------|-------------|
| 4 GB | 349.15 | 654.67 |
| **8 GB** | **364.75** | **683.90** |

Peak BusBW: **683.90 GB/s**

### AllToAll (2 nodes, 16x B200, EFA v3)
| Size | AlgBW (GB/s) | BusBW (GB/s) |
|------|-------------|-------------|
| 1 GB | 92.80 | 87.00 |
| **8 GB** | **95.09** | **89.14** |
"""
    runs = read(text)
    assert [(run.collective, run.ranks, run.gpu) for run in runs] == [
        ("all-reduce", 16, "B200"),
        ("all-to-all", 16, "B200"),
    ]
    assert [diagnose(run).state for run in runs] == ["healthy", "healthy"]
    (of_two,) = read(
        text.split("\n\n")[0].replace("AllReduce", "AllReduce and AllGather").replace("B200", "B200, H100")
    )
    assert (of_two.collective, of_two.gpu) == ("all-reduce", "")  # by its columns alone
    (other,) = read(text.split("\n\n")[0].replace("AllReduce", "Before the all-gather"))
    assert other.collective == "all-reduce"  # no other one prints a busbw above its algbw


@pytest.mark.parametrize("ranks", [2, 3, 8, 16, 24])
@pytest.mark.parametrize("collective", ["all-gather", "reduce-scatter", "all-to-all"])
def test_the_ranks_of_a_collective_that_is_named_are_those_of_its_factor(collective, ranks):
    rows = "\n".join(
        f"{2**k} {t:.1f} {2**k / t / 1e3:.2f} {2**k / t / 1e3 * (1 - 1 / ranks):.2f}"
        for k, t in ((30, 2500.0), (31, 4900.0), (32, 9600.0))
    )
    program = collective.replace("-", "_").replace("_to_", "to")
    (run,) = read(f"# Collective test starting: {program}_perf\n# size time algbw busbw\n{rows}\n")
    assert (run.collective, run.ranks) == (collective, ranks)


@pytest.mark.parametrize(
    ("name", "spelled"),
    [
        ("RTX 4090", "4 x RTX 4090"),
        ("H100 PCIe", "H100 PCIe"),
        ("A100-PCIE", "2x A100-PCIE, 4 ranks"),
        ("MI300X", "8x MI300X, RCCL"),
        ("", "run 2, 4 nodes"),
    ],
)
def test_a_gpu_of_a_title_is_one_that_is_known(name, spelled):
    (run,) = read(f"## {spelled}\n| Size | busbw (GB/s) |\n| --- | --- |\n| 1 GB | 20 |\n")
    assert run.gpu == name


def test_cells_in_backticks_are_read_and_their_columns_tell_the_halves():
    names = "| Size | Out-of-place busbw | In-place busbw | Wrong |\n|--:|--:|--:|--:|\n"
    (run,) = read(names + "| `8 MiB` | `7 GB/s` | `9 GB/s` | `0` |\n")
    assert [(row.busbw, row.in_place, row.wrong) for row in run.rows] == [(7e9, False, "0"), (9e9, True, "0")]


def test_wrong_values_in_markdown_are_those_of_their_half():
    half = "time (us) | algbw | busbw | #wrong |"
    (run,) = read(f"| size | {half} {half}\n|{9 * '---|'}\n| 8000000 | 2000 | 4 | 7 | 0 | 2000 | 4 | 7 | 3 |\n")
    assert [(row.in_place, row.failed) for row in run.rows] == [(False, False), (True, True)]


def test_a_collective_in_front_of_the_size_or_behind_it_is_that_of_the_row():
    table = "| Test | Size | Algo BW (GB/s) | Bus BW (GB/s) |\n|---|---|---|---|\n| AllReduce | 8 MB | 4 | 7 |\n"
    many = read(table + "| All-Gather | 8 MB | 8 | 7 |\n| AllReduce | 16 MB | 5 | 8.75 |\n")
    assert [(run.collective, len(run.rows)) for run in many] == [("all-reduce", 2), ("all-gather", 1)]
    names = "| Data Size | Collective | Algbw (GB/s) | Busbw (GB/s) |\n|---|---|---|---|\n"
    (run,) = read(names + "| 8MB | ALL_TO_ALL-1 | 8 | 7 |\n")
    assert (run.collective, run.rows[0].busbw) == ("all-to-all", 7e9)


def test_a_number_of_the_row_in_front_of_the_size_makes_no_runs():
    (run,) = read("| # | size | busbw |\n|---|---|---|\n| 1 | 8M | 7 |\n| 2 | 16M | 8 |\n")
    assert [row.busbw for row in run.rows] == [7e9, 8e9]


def test_a_rate_in_bits_in_a_cell_of_markdown_is_refused():
    (run,) = read("| size | busbw |\n|---|---|\n| 8M | 56 Gb/s |\n| 8M | 7 GB/s |\n")
    assert ([row.busbw for row in run.rows], [mark.line for mark in run.unread]) == ([7e9], [3])


def test_ranks_or_nodes_in_front_of_the_size_are_a_run_each():
    rows = "|---|---|---|---|\n| 2 | 10 | 7 | 7 |\n| 2 | 100 | 8 | 8 |\n| 4 | 10 | 4 | 6 |\n| 4 | 100 | 5 | 7.5 |\n"
    many = read("| N | B (MB) | alg BW (GB/s) | bus BW (GB/s) |\n" + rows)
    assert [(run.ranks, [row.message for row in run.rows]) for run in many] == [(2, [1e7, 1e8]), (4, [1e7, 1e8])]
    many = read("| nodes | size (MB) | algbw | busbw |\n" + rows)
    assert [(run.boxes, len(run.rows)) for run in many] == [(2, 2), (4, 2)]


def test_a_table_with_a_column_for_each_size_is_read_by_its_rows_of_busbw():
    (run,) = read("| message | 1 MiB | 16 MiB |\n|---|--:|--:|\n| busbw | 7 | 9 |\n| latency | 10 | 20 |\n")
    assert [(row.message, row.busbw) for row in run.rows] == [(2**20, 7e9), (2**24, 9e9)]
    assert [mark.line for mark in run.unread] == [4]
    (run,) = read("| message | 1 MiB | 16 MiB |\n|---|--:|--:|\n| busbw | - | 9 |\n")
    assert ([row.message for row in run.rows], [mark.line for mark in run.unread]) == ([2**24], [3])


def test_columns_whose_cells_are_rates_are_runs_and_shares_are_none():
    many = read("| Size | 2.28 | 2.29 | change |\n|---|---|---|---|\n| 8M | 7.0 GB/s | 6.3 GB/s | 10% |\n")
    assert [run.rows[0].busbw for run in many] == [7e9, 6.3e9]


def test_units_apart_from_their_names_are_no_columns():
    (run,) = read("   size (B)   time (us)  algBW (GB/s)  busBW (GB/s)\n 1048576  1120.60  0.936  0.936\n")
    assert [(row.message, row.busbw) for row in run.rows] == [(2.0**20, 0.936e9)]


@pytest.mark.parametrize("name", ["size", "Message size", "Buffer"])
def test_sizes_in_another_unit_are_read_in_markdown_and_refused_elsewhere(name):
    (run,) = read(f"| {name} (MB) | busbw (GB/s) |\n| --- | --- |\n| 64 | 276.6 |\n")
    assert run.rows[0].message == 64e6
    with pytest.raises(ValueError, match=r"unit MB: .*sizes in bytes"):
        read("size (MB)  time (us)  algbw (GB/s)  busbw (GB/s)\n 64  1000  67.1  67.1\n")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig", "utf-8"])
def test_a_log_may_be_redirected_on_windows(encoding, tmp_path):
    place = tmp_path / "log"
    place.write_text(HEADER + ROW, encoding=encoding)
    assert read_file(place)[0].rows == read(HEADER + ROW)[0].rows


@pytest.mark.parametrize("label", ["[0] ", "12: "])
def test_a_label_in_mid_line_is_no_number(label):
    words = ROW.split()
    inside = f" {label}".lstrip() if label.startswith("[") else f" {label}"
    (run,) = read(label + HEADER + label + inside.join(" ".join(part) for part in (words[:5], words[5:9], words[9:])))
    assert [row.message for row in run.rows] == [2**20] * 2
    assert run.streams == 1


@pytest.mark.parametrize("digits", [0, 1, 2])
@pytest.mark.parametrize("ranks", [2, 6, 8, 16, 48, 64, 512])
@pytest.mark.parametrize("busbw", [3, 40, 440])
def test_ranks_are_counted_from_bandwidths_only_where_their_digits_leave_one(busbw, ranks, digits):
    rows = [(2**k, busbw * 2**k / (2**k + 2**24)) for k in range(20, 34)]
    cells = [(size, f"{bus / factor('all-reduce', ranks):.{digits}f}", f"{bus:.{digits}f}") for size, bus in rows]
    table = "| size (B) | algbw (GB/s) | busbw (GB/s) |\n| --- | --- | --- |\n"
    table += "".join(f"| {size} | {algbw} | {bus} |\n" for size, algbw, bus in cells if float(algbw) > 0)
    counted = read(table)[0].ranks
    assert counted in (None, ranks)
    assert counted == ranks or ranks not in (6, 8) or digits < 2


def test_one_rank_is_no_more_than_a_line_where_bandwidth_needs_two():
    line = "# Rank  0 Group  0 Pid 7 on box device  0 [0x01] NVIDIA A10G\n"
    assert read(line + HEADER + ROW)[0].ranks == 8
    alone = ROW.replace("18.35", "0.00")
    assert read(line + HEADER + alone)[0].ranks == 1


def test_a_slow_table_does_not_tell_its_ranks_and_one_whose_bandwidth_is_0_has_one():
    slow = ROW.replace("100.0", "2016.0").replace("10.49", "0.52").replace("18.35", "0.91")
    assert read(HEADER + slow)[0].ranks is None
    assert read(HEADER + ROW.replace("18.35", "0.00"))[0].ranks == 1


def test_printed_ranks_stand_beside_bandwidths_of_which_two_decimals_say_little():
    """3 ranks at 45.1 MB/s: 0.05 and 0.06 are 1.2, and the factor is 4/3."""
    lines = "".join(f"# Rank {rank} Pid 7 on a device {rank} [0x01] NVIDIA A10G\n" for rank in range(3))
    slow = ROW.replace("100.0", "23250.0").replace("10.49", "0.05").replace("18.35", "0.06")
    assert read(lines + HEADER + slow)[0].ranks == 3
    fast = ROW.replace("18.35", "12.59")
    assert read(lines + HEADER + fast)[0].ranks is None


@pytest.mark.parametrize("collective", SUPPORTED["nccl-tests"])
def test_the_elements_of_a_row_are_those_of_a_rank_where_each_has_its_part(collective):
    """nccl-tests: all_gather.cu, reduce_scatter.cu and alltoall.cu divide the count by the ranks."""
    parts = 16 if collective in ("all-gather", "reduce-scatter", "all-to-all") else 1
    rows = [line.split() for line in logs.text(50e9, collective=collective).split("\n") if " float " in line]
    assert len(rows) == len(logs.SIZES)
    for size, count, *_ in rows:
        assert int(count) == int(size) // 4 // parts


def test_of_device_lines_that_were_cut_out_the_last_one_tells_ranks_and_boxes():
    lines = "".join(f"# Rank {rank} Pid 7 on {host} device {rank % 8} [0x01] NVIDIA A10G\n"
                    for rank, host in ((0, "a"), (15, "b")))  # fmt: skip
    (run,) = read(lines + HEADER + ROW.replace("18.35", "19.66"))  # of 16 ranks
    assert (run.ranks, run.boxes, run.gpus_per_box) == (16, 2, 8)


def test_device_lines_whose_last_ones_are_cut_out_say_nothing_of_boxes():
    lines = "".join(f"# Rank {rank} Pid 7 on a device {rank} [0x01] NVIDIA A100\n" for rank in range(5))
    (run,) = read(lines + HEADER + " 8589934592 2147483648 float sum -1 104180 82.45 159.75 0 106210 80.88 156.70 0\n")
    assert (run.ranks, run.boxes, run.gpus_per_box, run.gpu) == (32, None, None, "NVIDIA A100")


def test_a_row_of_fewer_numbers_than_columns_is_named():
    (run,) = read("# size time algbw busbw\n 1048576 100.0 10.49 18.35\n 2097152 200.0 10.49\n")
    assert [(mark.line, mark.why) for mark in run.unread] == [(3, "3 numbers for 4 columns")]


@pytest.mark.parametrize("dialect", [name for name in DIALECTS if name.startswith("nccl-tests")])
def test_a_table_that_is_written_without_device_lines_names_its_program(dialect):
    made = logs.text(50e9, dialect, collective="sendrecv", gpu="")
    assert "sendrecv_perf" in made
    assert read(made)[0].collective == "sendrecv"


def test_device_lines_that_lost_their_hash_in_markdown_are_read():
    lines = "".join(f"  Rank {k:2d} Group  0 Pid 7 on box device {k:2d} [0x0{k}] NVIDIA A10G\n" for k in range(8))
    (run,) = read(lines + HEADER + ROW)
    assert (run.gpu, run.boxes, run.gpus_per_box) == ("NVIDIA A10G", 1, 8)


def test_rows_without_a_time_get_it_from_their_bandwidth():
    (run,) = read("| size | busbw |\n| --- | --- |\n| 1MiB | 17.5 |\n")
    assert run.series()[0].size == 0  # without the collective, nobody knows
    known = dataclasses.replace(run, collective="all-reduce", ranks=8)
    assert known.series()[1] == pytest.approx([2**20 / 10e9])


@pytest.mark.parametrize("words", ["#OSU ", "nccom-test ", "nThread", "1 ", "a_", "[1,0]<stdout>:1 "])
def test_a_long_line_that_repeats_itself_is_soon_read(words):
    line = (words * 4000)[: reading.MOST_LINE] + "\n"
    began = process_time()
    read(HEADER + ROW + 60 * line)
    assert process_time() - began < 5  # where every place of a line is looked at again from every other: 14 s


RCCL = """# nThread 1 nGpus 2 minBytes 1048576 maxBytes 4194304 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1
#
rccl-tests: Version develop:0000000
# Using devices
#   Rank  0 Pid   2303 on node01 device  0 [0000:2f:00.0] AMD Instinct MI210
#   Rank  1 Pid   2303 on node01 device  1 [0000:03:00.0] AMD Instinct MI210
RCCL version : 2.22.3-develop:0000000
HIP version  : 7.0
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
     1048576        262144     float     sum      -1    65.88   15.92   15.92      0    66.30   15.82   15.82      0
     4194304       1048576     float     sum      -1    198.9   21.09   21.09     {0}    198.7   21.11   21.11      0
# Errors with asterisks indicate errors that have exceeded the maximum threshold.
# Out of bounds values : 0 OK
"""


def test_nccl_tests_up_to_march_2019_count_time_in_ms():
    devices = "".join(f"#   Rank  {rank} on  n{rank} device  0 [0x00] Tesla V100\n" for rank in (0, 1))
    both = "#  bytes  N  type  op  time  algbw  busbw  res  time  algbw  busbw  res\n"
    (run,) = read(devices + both + " 1048576 262144 float sum 2.059 0.51 0.51 N/A 3.314 0.32 0.32 N/A | |\n")
    assert [row.seconds for row in run.rows] == pytest.approx([2.059e-3, 3.314e-3])
    assert [row.in_place for row in run.rows] == [False, True]
    assert (run.ranks, run.boxes, run.gpu, run.unread) == (2, 2, "Tesla V100", ())
    (run,) = read("#  bytes  N  type  root  time  algbw  busbw  res\n 1048576 262144 float 0 2.059 0.51 0.51 0e+00\n")
    assert run.rows[0].seconds == pytest.approx(2.059e-3)


def test_what_rccl_tests_prints_is_read_and_an_asterisk_marks_its_errors():
    (run,) = read(RCCL.format("0"))
    assert (run.collective, run.ranks, run.boxes, run.gpu, run.unread) == ("all-reduce", 2, 1, "AMD Instinct MI210", ())
    assert "rccl" in run.facts
    assert [row.failed for row in run.rows] == [False] * 4
    assert [row.failed for row in read(RCCL.format("1e+00*"))[0].rows] == [False, False, True, False]


def test_cards_are_counted_behind_the_backslashes_of_a_shell():
    (run,) = read(r"mpirun -x NCCL_IB_HCA=mlx5_2\,mlx5_3\,mlx5_0 all_reduce_perf" + "\n" + logs.text(9e9))
    assert run.facts["named cards"] == "3"


def test_in_place_marks_tell_an_all_to_all_only_where_the_other_half_is_checked():
    row = "  8589934592  134217728  float  none  -1  92988  92.38  86.60  {}  92968  92.40  86.62  {}"
    collectives = [read(row.format(*marks))[0].collective for marks in (("0", "N/A"), ("0", "0"), ("N/A", "N/A"))]
    assert collectives == ["all-to-all", "all-gather", None]
    assert read(row.format("0", "").rpartition("  92968")[0])[0].collective is None  # its other half was left out


@pytest.mark.parametrize(
    ("ranks", "marks", "known"),
    [
        (16, ("N/A", "N/A"), ("sendrecv", 16)),  # with -c 0
        (16, ("0", "N/A"), ("sendrecv", 16)),
        (0, ("N/A", "N/A"), (None, None)),
        (0, ("0", "N/A"), ("sendrecv", None)),
        (0, ("0", "0"), ("all-reduce", 2)),
    ],
)
def test_equal_rates_are_those_of_a_sendrecv_unless_two_ranks_may_have_added(ranks, marks, known):
    lines = "".join(f"#  Rank {k} Pid 7 on n{k // 8} device {k % 8} [0x01] NVIDIA H100\n" for k in range(ranks))
    row = "  8589934592  2147483648  float  sum  -1  189000  45.45  45.45  {}  189000  45.45  45.45  {}\n"
    (run,) = read(lines + HEADER + row.format(*marks))
    assert (run.collective, run.ranks) == known


def test_a_table_of_parts_that_prints_a_root_is_of_a_gather_or_a_scatter_and_refused():
    # nccl-tests, src/gather.cu and src/scatter.cu
    row = HEADER + "  8589934592  134217728  float  none  0  176203  48.75  45.70  0  176203  48.75  45.70  0\n"
    with pytest.raises(ValueError, match="a table of a gather or a scatter: known are"):
        read(row)
    assert [run.collective for run in read(f"# Collective test starting: all_gather_perf\n{row}")] == ["all-gather"]


def test_alltoallv_of_nccl_tests_weighs_its_parts_and_is_no_all_to_all():
    with pytest.raises(ValueError, match="alltoallv: known are"):
        read("# Collective test starting: alltoallv_perf\n" + HEADER + ROW.replace("sum", "none"))


def test_a_time_of_ten_seconds_is_printed_with_two_digits():
    # nccl-tests from 2.17.1 on, util.cu: 12.5 s for 32 GiB are 2.75 GB/s, and with 16 ranks 5.15
    (run,) = read(HEADER + " 34359738368 8589934592 float sum -1 1.2e+07 2.75 5.15 0 1.3e+07 2.75 5.15 0\n")
    assert ([row.seconds for row in run.rows], run.unread) == (pytest.approx([12, 13]), ())
    (run,) = read(HEADER + ROW + " 34359738368 8589934592 float sum -1 1.2e+07 3.75 7.03 0 1.2e+07 2.75 5.15 0\n")
    assert [mark.why for mark in run.unread] == ["algbw is not size over time"]


def test_whether_rings_use_rdma_is_read_of_the_lines_that_say_that_they_are_connected():
    lines = "n1:1:2 [0] NCCL INFO Connected all rings, use ring PXN 0 GDR {}\n" + logs.text(9e9)
    assert [key in read(lines.format(k))[0].facts for k in (0, 1) for key in ("rdma", "no rdma")] == [
        *(False, True),
        *(True, False),
    ]


@pytest.mark.parametrize(
    ("command", "shape"),
    [
        ("mpirun -np 512 --map-by ppr:8:node ./all_reduce_perf -b 8G -e 8G -g 1", (512, 64, 8)),
        ("mpirun -n 16 -N 8 -hostfile h ./all_reduce_perf -b 10G -e 10G -t 1 -g 1", (16, 2, 8)),
        ("mpirun --hostfile h -n 2 ./build/all_reduce_perf -b 8 -e 16G -g 8 -n 30", (16, None, None)),
        ("srun -N2 -t5 --ntasks-per-node=4 ./all_reduce_perf -b 8 -e 128M -f 2", (8, 2, 4)),
        ("srun -N 3 ./all_reduce_perf -b 100M -n 1", (None, None, None)),  # the last is no number of ranks
        ("mpirun -np 16 \\", (None, None, None)),  # the rest stands elsewhere
        ("./build/all_reduce_perf -g 8 -n 20", (None, None, None)),
        ("mpirun --host 10.0.0.1:8,10.0.0.2:8 \\\n  -np 16 \\\n  ./all_reduce_perf -g 1", (16, 2, 8)),
        ("mpirun -np 2 -H a:1,b:1 ./all_reduce_perf -g 4", (8, 2, 4)),
        ("mpirun -np 2 -H a:8,b:8 ./all_reduce_perf -g 1", (2, 1, 2)),  # both on the first
    ],
)
def test_a_whole_command_tells_the_ranks_and_those_of_a_box(command, shape):
    (run,) = read(f"$ {command}\n# size busbw\n 1073741824 350.0\n")
    assert (run.ranks, run.boxes, run.gpus_per_box) == shape


def test_the_library_says_ranks_and_those_of_a_box_where_no_device_is_listed():
    words = "h1:7:9 [1] NCCL INFO comm 0x5a rank 1 nRanks 16 nNodes 2 localRanks 8 localRank 1 MNNVL 0\n"
    (run,) = read(words + "# size busbw\n 1073741824 350.0\n")
    assert (run.ranks, run.boxes, run.gpus_per_box) == (16, 2, 8)


def test_a_command_that_contradicts_the_table_tells_nothing():
    (run,) = read("mpirun -np 4 ./all_reduce_perf -g 1\n# size time algbw busbw\n 1048576  100.0  10.49  18.35\n")
    assert run.ranks == 8


def test_types_that_a_program_runs_one_after_the_other_are_runs_of_their_own():
    table = write(logs.run(480e9), "nccl-tests")
    again = [line.replace("float ", "int32 ") for line in table.splitlines() if not line.startswith("#")]
    runs = read("\n".join([table, *again]))
    assert [run.mixed for run in runs] == ["", ""]
    assert [(run.ranks, run.boxes, len(run.rows)) for run in runs] == [(16, 2, 48)] * 2


def test_rows_that_leave_out_their_type_have_that_of_the_row_before():
    rows = " 1048576 262144 float sum 100.0 10.49 18.35 0\n 2097152 200.0 10.49 18.35\n 4194304 400.0 10.49 18.35\n"
    (run,) = read("# size time algbw busbw\n" + rows)
    assert len(run.rows) == 3


def test_the_line_of_one_rank_says_nothing_of_how_the_others_lie():
    table = write(logs.run(340e9, gpu="AMD Instinct MI355X"), "nccl-tests")
    kept = [line for line in table.splitlines() if "Rank" not in line or "Rank  0" in line]
    (run,) = read("\n".join(kept))
    assert (run.gpu, run.ranks, run.boxes, run.gpus_per_box) == ("AMD Instinct MI355X", 16, None, None)


def test_columns_of_words_keep_no_row_from_being_read():
    # as in ROCm/rocm-systems/pull/9406, without a time
    (run,) = read("size type redop busbw algo proto nchannels\n67108864 float sum 190.33 TREE SIMPLE 64\n")
    assert [(row.message, row.busbw, row.seconds) for row in run.rows] == [(67108864.0, 190.33e9, None)]


@pytest.mark.parametrize("chosen", ["RING    SIMPLE          64", "N/A       N/A         N/A"])
def test_what_the_library_chose_may_stand_behind_a_row(chosen):
    # rccl-tests with -M 1, as its src/common.cpp prints it
    names = "algo     proto   nchannels"
    (run,) = read(HEADER.replace("\n", f"  {names}\n") + ROW[:-1] + f" {chosen}\n")
    assert ([row.busbw for row in run.rows], run.unread) == ([18.35e9] * 2, ())


#: As the Neuron documentation prints them (tools/neuron-sys-tools/nccom-test): the ranks, the operation, the table.
NCCOM = {
    "whole microseconds": (
        (2, "allr"),
        "size(B) count(elems) type time(us) algbw(GB/s) busbw(GB/s)",
        (("67108864 16777216 fp32 1214 51.48 51.48", 1214), ("1073741824 268435456 fp32 18930 52.83 52.83", 18930)),
    ),
    "an average": (
        (32, "allg"),
        "size(B) count(elems) type time:avg(us) algbw(GB/s) busbw(GB/s)",
        (("65536 16384 fp32 8.18 8.01 7.76", 8.18), ("524288 131072 fp32 23.11 22.69 21.98", 23.11)),
    ),
    "--show-input-output-size": (
        (32, "allg"),
        "size(B) count(elems) total_input_size(B) total_output_size(B) type time:avg(us) algbw(GB/s) busbw(GB/s)",
        (("524288 131072 16384 524288 fp32 23.16 22.64 21.93", 23.16),),
    ),
    "--stats": (
        (8, "all_gather"),
        "size(B) count(elems) type time:avg(us) time:p25(us) time:p99(us) algbw(GB/s) busbw(GB/s)",
        (("65536 16384 fp32 11.31 11 13 5.80 5.07", 11.31), ("524288 131072 fp32 14.83 14 17 35.34 30.92", 14.83)),
    ),
    "--show-algorithm": (
        (16, "allr"),
        "size(B) count(elems) type time:avg(us) algbw(GB/s) busbw(GB/s) algorithm",
        (("536870912 134217728 fp32 9689.51 55.41 103.89 kangaring", 9689.51),),
    ),
}  # fmt: skip


@pytest.mark.parametrize("which", NCCOM)
def test_nccom_test_is_read_as_its_documentation_prints_it(which):
    """It says that the rates are in GiB per second, which is so where it prints whole microseconds, and no more."""
    (ranks, operation), header, lines = NCCOM[which]
    (run,) = read("\n".join([f"nccom-test -r {ranks} {operation}", f"  {header}", *(line for line, _ in lines)]))
    collective = "all-reduce" if operation == "allr" else "all-gather"
    assert (run.dialect, run.collective, run.ranks, run.unread) == ("nccom-test", collective, ranks, ())
    assert [row.seconds for row in run.rows] == pytest.approx([micros * 1e-6 for _, micros in lines])
    for row in run.rows[-1:]:
        rate = row.message / row.seconds
        assert (row.algbw, row.busbw) == pytest.approx((rate, rate * factor(collective, ranks)), rel=0.02)


@pytest.mark.parametrize(
    ("name", "collective"),
    [
        ("Allreduce", "all-reduce"),
        ("All-to-All Personalized Exchange", "all-to-all"),
        ("Broadcast", "broadcast"),
        ("Allgatherv", "all-gather"),  # of equal counts, as OMB has them
        ("All-to-Allv Personalized Exchange", "all-to-all"),
        ("Reduce_scatter_block", "reduce-scatter"),
    ],
)
@pytest.mark.parametrize("behind", ["", "  8.0  12.0  1000", "  Pass", "  8.0  12.0  1000  Fail"])
def test_osu_tables_are_named_as_their_programs_print_it_whatever_stands_behind_the_mean(name, collective, behind):
    (run,) = read(f"# OSU MPI-CUDA {name} Latency Test v7.5\n# Size  Avg Latency(us)\n1048576  10.00{behind}\n")
    assert run.collective == collective
    assert [row.seconds for row in run.rows] == pytest.approx([1e-5])
    assert [row.failed for row in run.rows] == [behind.endswith("Fail")]


def test_the_bandwidth_of_osu_is_that_of_one_rank_to_another_and_has_no_times():
    """As https://github.com/eth-cscs/cscs-docs prints it; both ways at once count half."""
    table = (
        "# OSU MPI-CUDA {}Bandwidth Test v7.5\n# Datatype: MPI_CHAR.\n# Size      Bandwidth (MB/s)        Validation\n"
    )
    (run,) = read(table.format("") + "4194304    23991.51    Pass\n")
    assert (run.collective, run.ranks, run.unread) == ("sendrecv", 2, ())
    assert [(row.message, row.seconds, row.busbw) for row in run.rows] == [(2.0**22, None, 23991.51e6)]
    (both,) = read(table.format("Bi-Directional ") + "4194304    43417.67\n")
    assert (both.collective, both.ranks, both.rows[0].busbw) == ("sendrecv", 2, 43417.67e6 / 2)


@pytest.mark.parametrize(("tool", "rate"), [("osu_bw", 24e9), ("osu_bibw", 12e9)])
def test_a_script_that_names_the_osu_benchmark_instead_of_its_header_is_read(tool, rate):
    (run,) = read(f"--- {tool} (D D) ---\n# Size      Bandwidth (MB/s)\n4194304    24000.00\n")
    assert (run.collective, run.ranks, run.rows[0].busbw) == ("sendrecv", 2, rate)


@pytest.mark.parametrize("title", ["--- osu_latency (D D) ---", "# OSU MPI-CUDA Latency Test v7.5"])
def test_the_latency_of_osu_is_half_of_a_way_there_and_back_so_that_of_one_message_of_a_pair(title):
    (run,) = read(f"{title}\n# Size       Avg Latency(us)\n4194304        79.64\n")
    assert (run.collective, run.ranks, run.rows[0].seconds) == ("sendrecv", 2, pytest.approx(79.64e-6))


def test_the_old_name_of_the_column_of_both_directions_is_known():
    (run,) = read("# OSU MPI Bi-Directional Bandwidth Test\n# Size     Bi-Bandwidth (MB/s)\n4194304    24000.00\n")
    assert (run.collective, run.rows[0].busbw) == ("sendrecv", 12e9)


@pytest.mark.parametrize(("ranks", "gpus"), [(8, 8), (16, 8), (4, 4)])
def test_ranks_whose_hosts_were_taken_out_of_the_list_are_on_as_many_hosts_as_a_device_has_ranks(ranks, gpus):
    log = logs.text(50e9, boxes=ranks // gpus, per_box=gpus, gpu="AMD Instinct MI300X")
    redacted = re.sub(r" on +\S+ device", " device", log)
    assert redacted != log
    (run,) = read(redacted)
    assert (run.ranks, run.boxes, run.gpus_per_box, run.gpu) == (ranks, ranks // gpus, gpus, "AMD Instinct MI300X")


def test_a_list_of_ranks_that_ends_after_two_says_nothing_of_the_other_six():
    rows = logs.text(200e9, boxes=1, per_box=8, gpu="NVIDIA H100 80GB HBM3")
    short = "\n".join(line for line in rows.split("\n") if not re.search(r"Rank +[2-7]\b", line))
    (run,) = read(short)
    assert (run.ranks, run.boxes, run.gpus_per_box, run.gpu) == (8, None, None, "NVIDIA H100 80GB HBM3")


def test_a_banner_without_rows_is_a_run_that_ended_before_its_first():
    (run,) = read("# nThread 1 nGpus 8 minBytes 8 maxBytes 8589934592 step: 2(factor) warmup iters: 5\nkilled\n")
    assert (run.rows, run.facts["failed"]) == ((), "hung, crashed or still runs: no row follows its header")


def test_the_benchmark_of_many_pairs_is_refused_by_its_name():
    title = "# OSU MPI-CUDA Multiple Bandwidth / Message Rate Test v7.4\n"
    with pytest.raises(ValueError, match=r"a table of osu_mbw_mr \(run osu_bw\)"):
        read(title + "# [ pairs: 4 ] [ window size: 64 ]\n# Size   MB/s   Messages/s\n4194304  96000.00  22888.18\n")


@pytest.mark.parametrize(
    ("command", "known"),
    [
        ("mpirun -mca coll_hcoll_enable 1 ./osu_alltoall", ("all-to-all", None, None)),
        ("$ srun -N2 --ntasks-per-node=4 --mpi=pmix ./collective/osu_alltoall -d cuda", ("all-to-all", 8, 2)),
        ("mpirun -np 16 -npernode 8 osu_iallreduce", (None, 16, 2)),
        ("$MV2_HOME/bin/mpirun_rsh -np 4 a b MV2_USE_CUDA=1 ./osu_allreduce -d cuda", ("all-reduce", 4, None)),
        ("the osu_alltoall of before", (None, None, None)),
        ("mpirun -n 16 -N 8 osu_xccl_allreduce -d cuda D D", ("all-reduce", 16, 2)),
    ],
)
def test_a_command_names_the_osu_benchmark_and_its_ranks(command, known):
    (run,) = read(f"{command}\n\n# Size       Avg Latency(us)\n1048576      100.00\n")
    assert (run.collective, run.ranks, run.boxes) == known


@pytest.mark.parametrize(
    "above",
    [
        *(f"# Collective test starting: {name}_perf\n{HEADER}" for name in ("gather", "scatter", "hypercube")),
        "nccom-test -r 8 permute\nsize(B) count(elems) type time:avg(us) algbw(GB/s) busbw(GB/s)\n",
        *(
            f"# OSU MPI{name} Latency Test v7.5\n# Size  Latency (us)\n"
            for name in (" Multi", " Gather", " Non-blocking Reduce")
        ),
    ],
)
def test_the_table_of_a_program_whose_rates_mean_something_else_is_no_table_of_a_known_one(above):
    with pytest.raises(ValueError, match=r"line 1: .*: known are all-reduce"):
        read(above + ROW + "1048576 262144 uint8 100.0 10.49 18.35\n1048576 100.0\n")
    (run,) = read(above + ROW + "1048576 262144 uint8 100.0 10.49 18.35\n1048576 100.0\n", "all-reduce")  # as is told
    assert run.rows
    (run,) = read(above + ROW + "# Collective test starting: all_reduce_perf\n" + HEADER + ROW)
    assert len(run.rows) == 2
    assert run.unread


def test_a_table_that_was_of_another_program_by_its_last_line_is_taken_back():
    with pytest.raises(ValueError, match=r"line 3: gather"):
        read(HEADER + ROW + "# Collective test concluded: gather_perf\n")


@pytest.mark.parametrize("averages", ["", "# Avg bus bandwidth    : 18.35\n"])
def test_the_command_behind_a_table_names_the_next_and_not_the_one_before(averages):
    asked = ("all_gather", "sendrecv", "alltoall", "all_gather")
    sections = (f"$ mpirun -np 8 ./{name}_perf -b 1M\n{HEADER}{ROW.replace('18.35', '10.49')}" for name in asked)
    names = {"all_gather": "all-gather", "alltoall": "all-to-all"}
    assert [run.collective for run in read(averages.join(sections))] == [names.get(name, name) for name in asked]


def test_a_table_may_be_named_behind_it_alone():
    (run,) = read(HEADER + ROW.replace("18.35", "10.49") + "this was sendrecv_perf over two hosts\n")
    assert run.collective == "sendrecv"


@pytest.mark.parametrize(
    "around", ['"{}",', "\x1b]0;title\x07{}\x1b(B\x1b[m", "\x1b[?25l\x1b[32m{}\x1b[0m\x1b[K", '    "{}"']
)
def test_quotes_of_a_list_and_what_a_terminal_adds_are_no_part_of_a_line(around):
    text = HEADER + ROW
    assert read("\n".join(around.format(line) for line in text.splitlines()))[0].rows == read(text)[0].rows


@pytest.mark.parametrize("name", ["cputime", "cpu_time"])
@pytest.mark.parametrize(("names", "numbers"), [("", ""), (" i_min i_max i_p99 i_cv%", " 95 120 119 3.2")])
def test_the_time_of_the_processor_is_that_of_the_launch_and_the_rates_are_those_of_the_call(name, names, numbers):
    """With -C, nccl-tests stops its clock for that column before it waits for the GPUs (src/common.cu)."""
    half, cells = f"{name} algbw busbw #wrong{names}", f"12.00 10.49 18.35 0{numbers}"
    table = f"# size count type redop root {half} {half}\n1048576 262144 float sum -1 {cells} {cells}\n"
    (run,) = read(f"{table}8 2 float sum -1 {cells.replace('10.49 18.35', '0.00 0.00')}\n")
    assert [(row.seconds, row.algbw, row.busbw) for row in run.rows[:2]] == [(None, 10.49e9, 18.35e9)] * 2
    assert (run.collective, run.ranks, run.unread) == ("all-reduce", 8, ())
    assert run.times() == {2.0**20: pytest.approx([2**20 / 10.49e9] * 2)}  # of the small one nothing is known


def test_rows_of_nccl_1_are_read_with_its_types_and_its_devices():
    head = "Rank  0 uses device  0 [0x01] Some GPU\nRank  1 uses device  1 [0x02] Some GPU\n"
    names = "bytes N type op time algbw busbw res time algbw busbw res\n"
    row = "1000000 {} {} sum 0.100 10.00 10.00 0e+00 0.200 5.00 5.00 0e+00\n"
    text = "# ./all_reduce_test 1000000 2\n" + head + names + row.format(1000000, "char") + row.format(250000, "int")
    many = read(text)
    assert [(run.collective, run.ranks, run.boxes, run.gpu) for run in many] == [("all-reduce", 2, 1, "Some GPU")] * 2
    assert [[row.seconds for row in run.rows] for run in many] == [pytest.approx([1e-4, 2e-4])] * 2


def test_a_row_that_was_commented_out_is_a_row():
    (run,) = read(HEADER + "#" + ROW)
    assert (len(run.rows), run.unread) == (2, ())


def test_columns_that_were_left_out_are_not_missed():
    (run,) = read("#  size  count  type ... time  algbw  busbw #wrong\n 1048576 262144 float ... 100.0 10.49 18.35 0\n")
    assert [(row.seconds, row.busbw) for row in run.rows] == [(pytest.approx(1e-4), 18.35e9)]


def test_a_table_of_a_label_in_every_row_is_soon_read_and_what_stands_above_is_said_of_each():
    rows = "".join(f"| AllReduce | {ranks} | 8M | 7 |\n" for ranks in range(2, 6000))
    start = process_time()
    many = read("NCCL INFO Using network Socket\n| Test | GPUs | size | busbw |\n|---|---|---|---|\n" + rows)
    assert process_time() - start < 10
    assert {run.facts["network"] for run in many} == {"Socket"}
    assert [run.ranks for run in many] == list(range(2, 6000))


def test_values_between_commas_are_read_by_the_names_above_them():
    names = "numCycle,collective,size,time_ms,algbw,busbw,busbwfactor,inplace,#wrong\n"
    text = (
        names + "0,AllReduce,8000000,2.0,4.0,7.0,1.75,0,0\n0,AllReduce,8000000,1.0,8.0,14.0,1.75,1,0\nso, it is done\n"
    )
    (run,) = read(text)
    assert (run.collective, run.unread) == ("all-reduce", ())
    assert [(row.seconds, row.busbw, row.in_place) for row in run.rows] == [(2e-3, 7e9, False), (1e-3, 14e9, True)]
    (run,) = read("Size (B), Algbw (GB/s), Bus_BW (GB/s)\n8M, 4.0, 7.0\n")
    assert [(row.message, row.algbw, row.busbw) for row in run.rows] == [(2**23, 4e9, 7e9)]
    with pytest.raises(ValueError, match="no row"):
        read("size,busbw_MBps,remark\n8M,7000,none\n")


def test_a_sentence_with_commas_is_no_header():
    (run,) = read("size time algbw busbw\nsize, the time and busbw, of each run\n1048576 100.0 10.49 18.35\n")
    assert (run.dialect, len(run.rows)) == ("columns", 1)


@pytest.mark.parametrize("cells", ["100.0 10.49 9.83 0 200.0 5.24 4.92 0", "        100.0 10.49 9.83 0"])
def test_a_row_without_a_type_may_leave_one_of_its_places_blank(cells):
    text = (
        "mpirun -np 16 ./build/test/alltoall_test_perf -b 1M\n"
        "[1,0]<stdout>:#  size  count  time algbw busbw #wrong  time algbw busbw #wrong\n"
        f"[1,0]<stdout>:  1048576  16384  {cells}\n[1,0]<stdout>:\n"
    )
    (run,) = read(text)
    assert (run.collective, run.ranks, run.unread) == ("all-to-all", 16, ())
    assert [row.seconds for row in run.rows] == pytest.approx([1e-4, 2e-4][: len(run.rows)])
    assert [row.in_place for row in run.rows] == [None, True][: len(cells.split()) // 4]


@pytest.mark.parametrize(("count", "failed"), [("0 OK", False), ("4 FAILED", True)])
def test_values_that_the_program_counts_as_wrong_are_wrong_whatever_the_rows_show(count, failed):
    (run,) = read(HEADER + ROW + f"# Out of bounds values : {count}\n# Avg bus bandwidth    : 18.35\n")
    assert any(row.failed for row in run.rows) == failed
    (run,) = read(HEADER + ROW.replace("18.35   0    100", "18.35   3    100") + f"# Out of bounds values : {count}\n")
    assert [row.wrong for row in run.rows] == ["3", "0"]  # which a row shows


def test_one_rank_that_reduces_faster_than_any_memory_has_no_others():
    device = "# nThread 1 nGpus 1\n# Rank  0 Pid 1 on host device  0 [0x01] Some GPU\n"
    row = "1073741824 268435456 float sum 0 4000.0 268.44 268.44 0 {} 0\n"
    ranks = [read("# reduce_perf\n" + device + HEADER + row.format(half))[0].ranks
             for half in ("0.20 5368709.12 5368709.12", "4000.0 268.44 268.44")]  # fmt: skip
    assert ranks == [1, None]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("h: Test NCCL failure c.cu:1 'remote process exited (run with NCCL_DEBUG=INFO) / '", "remote process exited"),
        ("h: Test CUDA failure c.cu:1 'CUDA-capable device(s) is/are busy'", "CUDA-capable device(s) is/are busy"),
        ("h: Test NCCL failure c.cu:4 'unhandled cuda error / '", "unhandled cuda error"),
        ("2097152 32768 float none -1 h: Test CUDA failure c.cu:9 'an illegal access'", "an illegal access"),
        (" .. h pid 12345: Test failure common.cu:1454", "common.cu:1454"),
    ],
)
def test_a_test_that_failed_before_its_first_row_is_no_measurement_and_says_why(line, why):
    (run,) = read(HEADER + line + "\n")
    assert (run.rows, run.facts["failed"]) == ((), f"failed before its first row ({why})")
    diagnosis = diagnose(run)
    assert diagnosis.state == "not-a-measurement"
    assert why in diagnosis.verdict


@pytest.mark.parametrize(
    "text", [HEADER, "# Rank 0 Pid 1 on n1 device 0 [0x1] A100\n# Rank 1 Pid 1 on n1 device 1 [0x2] A100\n"]
)
def test_a_header_without_a_row_is_of_a_test_that_hung_or_crashed(text):
    (run,) = read("n1:1:1 [0] NCCL INFO Bootstrap : Using eth0\n" + text)
    assert (run.rows, run.facts["failed"]) == ((), "hung, crashed or still runs: no row follows its header")
    with pytest.raises(ValueError, match=r"no row of a benchmark table .* line"):
        read(text + "  1048576  262144  float\n")
    for left in ("# Avg bus bandwidth    : 18.35\n", "1048576 262144 my_float 100.0 10.49 18.35\n"):
        with pytest.raises(ValueError, match="no row"):
            read(text + left)  # there were rows, of whatever kind


def test_a_test_that_failed_later_keeps_its_rows():
    (run,) = read(HEADER + ROW + " .. h pid 12345: Test failure common.cu:1454\n")
    assert len(run.rows) == 2


ONE_SIZE = (
    "# nThread 1 nGpus 8 minBytes {0} maxBytes {0} step: 2(factor)\n"
    + "".join(f"#  Rank  {rank} Pid  {{1}} on  node1 device  {rank} [0x0{rank}] NVIDIA A100\n" for rank in range(8))
    + HEADER
    + "  {0}  {5}  float  sum  -1  {2}  {3}  {4}  0\n# Avg bus bandwidth    : {4}\n"
)
SIZES = (
    ("67108864", "101", "1000.0", "67.11", "117.44", "16777216"),
    ("134217728", "102", "1500.0", "89.48", "156.59", "33554432"),
)


def test_a_program_that_was_started_once_for_each_size_ran_one_sweep():
    for order in (SIZES, SIZES[::-1]):
        (run,) = read("".join(ONE_SIZE.format(*size) for size in order))
        assert sorted(row.message for row in run.rows) == [2.0**26, 2.0**27]
        assert (run.ranks, run.boxes, run.collective, run.streams, run.mixed) == (8, 1, "all-reduce", 1, "")


@pytest.mark.parametrize(
    "second",
    [
        ONE_SIZE.format(*SIZES[0]),  # the same size, which says that something else differs
        "NCCL_ALGO=Tree\n" + ONE_SIZE.format(*SIZES[1]),
        ONE_SIZE.format(*SIZES[1]).replace("node1", "node2"),
        ONE_SIZE.format(*SIZES[1]).replace(" -1 ", " 0 ").replace("156.59", "89.48"),
    ],
)
def test_a_larger_size_of_another_job_is_a_run_of_its_own(second):
    assert len(read(ONE_SIZE.format(*SIZES[0]) + second)) == 2


IMB = """# Calling sequence was:
# IMB-MPI1{gpu} Allreduce PingPong Barrier Gatherv
# Benchmarking PingPong
# #processes = 2
# ( 6 additional processes waiting in MPI_Barrier)
       #bytes #repetitions      t[usec]   Mbytes/sec
      4194304           10       180.05     23295.00
# Benchmarking Allreduce
# #processes = 8
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
      4194304           10       795.53       797.59       796.56
    8388608  out-of-mem.; needed X=   8.1 GB; use flag "-mem X" or MAX_MEM_USAGE>=X (IMB_mem_info.h)
# Benchmarking Barrier
# #processes = 8
 #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
         1000         8.53         8.55         8.54
# Benchmarking Gatherv
# #processes = 8
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
      4194304           10       795.53       797.59       796.56
"""


@pytest.mark.parametrize(("gpu", "hosts"), [("", True), ("-GPU", False)])
def test_the_tables_of_intels_benchmarks_are_runs_of_their_processes_by_the_mean(gpu, hosts):
    runs = read(IMB.format(gpu=gpu))
    assert [(run.collective, run.ranks, run.rows[0].seconds) for run in runs] == [
        ("sendrecv", 2, pytest.approx(180.05e-6)),
        ("all-reduce", 8, pytest.approx(796.56e-6)),
    ]
    assert {"host memory" in run.facts for run in runs} == {hosts}
    assert "a table of Gatherv" in runs[-1].unread[0].why


@pytest.mark.parametrize(("memory", "hosts"), [("cuda", False), ("host", True)])
def test_the_table_of_uccs_benchmark_says_whose_memory_it_is(memory, hosts):
    command = "$ srun -N 2 --ntasks-per-node=4 ucc_perftest -c allreduce\n"
    run = Run("ucc", (Row(1, 2.0**24, 1e-3, 2.0**24 * 1e3, 2.0**24 * 1.75e3),), "all-reduce", 8)
    (parsed,) = read(command + write(run, "ucc").replace("cuda", memory) + "\nTotal time: 5 ms\n")
    assert (parsed.collective, parsed.ranks, parsed.boxes, parsed.unread) == ("all-reduce", 8, 2, ())
    assert ("host memory" in parsed.facts) == hosts


def test_a_plain_table_of_sizes_and_bandwidths_is_in_gigabytes():
    (run,) = read("# size busbw\n1073741824 350.1\n")
    assert (run.dialect, run.rows[0].busbw) == ("columns", 350.1e9)


def test_the_help_of_diagnose_names_every_form_that_is_read():
    named = set(re.findall(r"\w+[-_]\w+|\b[A-Z]\w+", FORMS))
    assert {"nccl-tests", "ucc_perftest", "OSU", "Markdown"} <= named
    assert [name for name in named if name not in str(diagnose_command.help)] == []

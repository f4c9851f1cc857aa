"""The text area that reads a log in the page, compared with the reader in Python."""

from __future__ import annotations

from itertools import product

import pytest
from measured.dialects import write
from show_browser import opened, write_page

from colllib.measured.diagnose import diagnose
from colllib.measured.expected import expected, slow_below
from colllib.measured.infer import Hints
from colllib.measured.log import COLLECTIVES, factor
from colllib.measured.predict import predict
from colllib.measured.read import read
from colllib.measured.sweeps import sweeps
from colllib.show.log_reader import BORDERS, MOST_BOXES, SIZES, LogReader, spread
from colllib.topology.machines import find

ALONE = """134217728 33554432 float sum -1 631.9 212.41 0.00 0 0.51 263017.30 0.00 0
268435456 67108864 float sum -1 1007.4 266.46 0.00 0 0.31 857621.27 0.00 0"""
SWEEPS = [s for s in sweeps() if s.run.ranks and s.run.ranks <= 32 and all(row.seconds for row in s.run.rows)]
FORMS = (("nccl-tests", ""), ("nccl-tests-old", ""), ("nccl-tests", "[1,0]<stdout>:"))
#: What the page must say beyond in, above or below, of rows that are short of a healthy run of two DGX H100.
ROWS = {
    "1048576 262144 float sum -1 45.1 23.2 43.5 0 45.1 23.2 43.5 0": "1 MiB: 43.5 GB/s, too small a message to compare",
    "16777216 4194304 float sum -1 210 79.9 150 0 210 79.9 150 0": "16 MiB: 150 GB/s, too small a message to compare",
    "8589934592 2147483648 float sum -1 34399 250 468 12 34399 250 468 0": "Values are wrong",
    "8589934592 2147483648 float sum -1 34399 250 468 0 34399 250 468 7": "Values are wrong",
    "8589934592 2147483648 float sum -1 34399 250 468 0\n# Out of bounds values : 5 FAILED": "Values are wrong",
    "8,589,934,592 2_147_483_648 bf16 sum -1 34399 250 468 0": "1 row read. At 8 GiB: 468 GB/s, in the healthy range",
    "8589934592 2147483648 float sum -1 34399 250 -3 0": "No row of an nccl-tests table",
    "# size count type": "No row follows the header: the test hung, crashed or still runs",
    "#  Rank  0 Group  0\n#  Rank  1 Group  0": "the test hung, crashed or still runs",
    "# size count type\n1048576 262144 45.1 23.2 43.5": "No row of an nccl-tests table",
    "8589934592 2147483648 float sum -1 87060 98.67 185 0": "GB/s, unless its cards are fewer or slower. For causes",
    "\n".join(["# size count type", "8589934592 2147483648 float sum -1 34399 250 468 0"] * 2): "2 tables stand in",
    "#  Rank 15 Group  0\n8589934592 2147483648 float sum -1 34399 250 468 0": "colllib diagnose LOG --on dgx-h100:2",
    "8589934592 2147483648 float sum -1 34399 250 468 N/A 34399 250 468 0": "468 GB/s, in the healthy range",
    "8589934592 2147483648 float 34399 250 468 2e-07 34399 250 468 2e-07": "468 GB/s, in the healthy range",
    "8589934592 2147483648 float sum -1 34399 250 468 0 34399 250 468 0  2026-07-10 10:11:12": "At 8 GiB: 468",
    "8589934592 2147483648 float sum -1 34399 250 468 0 1 2 2 0.2 34399 250 468 0 1 2 2 0.2": "At 8 GiB: 468",
    "8589934592 2147483648 float sum -1 34399 250 468 0 1 2 2 0.2 34399 250 468 9 1 2 2 0.2": "Values are wrong",
    "8589934592 2147483648 float sum -1 34399 250 468 0\n9 9 float sum -1 34399 250 468 0": "1 row read, 1 not",
    "8589934592 2147483648 float sum -1 34399 1998 3745 0": "in this text: algbw is not size over time",
    "8589934592 2147483648 float sum -1 34399000 250 468 0": "in this text: algbw is not size over time",
    "#  (B)  (elements)  (ms)  (GB/s)\n8589934592 2147483648 float sum -1 34399 250 468 0": "header has the unit ms",
    "[1,0]<stdout>:#  (us)  (Gb/s)\n8589934592 2147483648 float sum -1 34399 250 468 0": "The header has the unit Gb/s",
    "# (us) (GB/s)\n8589934592 2147483648 float sum -1 34399 250 468 0": "468 GB/s, in the healthy range",
    "8589934592 134217728 float none -1 34399 234 234 0": "no all-reduce: choose the collective",
    "8589934592 134217728 float none -1 34399 250 234 0 34399 250 234 0": "no all-reduce: choose the collective",
    "\n".join(["8589934592 2147483648 float sum -1 34399 250 468 0 34399 250 468 0"] * 4): "4 rows read",
    "#  Rank  0 Group  0\n#  Rank  1 Group  0\n8589934592 2147483648 float sum -1 34399 250 468 0 34399 250 468 0": (
        "468 GB/s. The log lists 2 ranks, dgx-h100:2 has 16: another machine ran. For causes "
        "and confidence: colllib diagnose LOG"
    ),
}
PASTE = "(area, text) => { area.value = text; area.dispatchEvent(new Event('input', { bubbles: true })); }"


def half(rate, collective, ranks, size=2**33):
    """Time, algbw, busbw and wrong values of a busbw in GB/s, as nccl-tests reckons them."""
    algbw = rate / factor(collective, ranks)
    return f"{size / 1e3 / algbw:.4f} {algbw:.4f} {rate:.4f} 0"


def log_on(gpu, boxes, per_box, program="all_reduce_perf", rate=224):
    """A log that names its program and its GPUs."""
    numbers = half(rate, COLLECTIVES[program.removesuffix("_perf")], boxes * per_box)
    ranks = (
        f"#  Rank {r:2d} Group  0 Pid 1 on n{r // per_box} device {r % per_box} [0x0] {gpu}"
        for r in range(boxes * per_box)
    )
    row = f"8589934592 2147483648 float {'sum' if 'reduce' in program else 'none'} -1 {numbers} {numbers}"
    return "\n".join([f"# Collective test starting: {program}", *ranks, row])


@pytest.mark.browser
@pytest.mark.usefixtures("with_chromium")
def test_the_page_takes_the_machine_and_the_collective_that_a_log_names(tmp_path):
    with opened(write_page(tmp_path, LogReader())) as (tab, troubles):
        area, output, machine = tab.locator("textarea"), tab.locator("output"), tab.locator("select[name=machine]")
        area.fill(log_on("NVIDIA A100-SXM4-80GB", 4, 8))
        assert "in the healthy range of dgx-a100:4" in output.text_content()
        machine.select_option("dgx-a100,cards=4")
        area.fill(log_on("NVIDIA A100-SXM4-80GB", 2, 8))
        assert "of dgx-a100:2,cards=4, " in output.text_content()
        machine.select_option("dgx-h100")
        assert "The log names NVIDIA A100-SXM4-80GB, no GPU of dgx-h100: another machine" in output.text_content()
        area.fill(log_on("NVIDIA GB200", 36, 4, "all_gather_perf"))
        assert "healthy range of nvl72:2, " in output.text_content()
        assert output.text_content().endswith("--primitive all-gather")
        area.fill(log_on("NVIDIA GeForce RTX 4090", 1, 4))
        assert "This page has no preset for NVIDIA GeForce RTX 4090. For causes" in output.text_content()
        area.fill(log_on("NVIDIA H100 80GB HBM3", 2, 4))
        assert "The log lists 8 ranks, dgx-h100:2 has 16" in output.text_content()
    assert troubles == []


@pytest.mark.browser
@pytest.mark.usefixtures("with_chromium")
def test_a_log_of_another_collective_or_number_of_ranks_is_not_set_against_the_range(tmp_path):
    """As nccl-tests 2.19.6 names its program, and 2.13 does not."""
    another = "choose the collective and the machine that ran. For causes and confidence: colllib diagnose LOG"
    with opened(write_page(tmp_path, LogReader())) as (tab, troubles):
        area, output = tab.locator("textarea"), tab.locator("output")
        for program in ("reduce", "broadcast"):
            area.fill(log_on("NVIDIA H100 80GB HBM3", 1, 8, f"{program}_perf", 338))
            assert f"338 GB/s. This page knows no range of {program}_perf. For causes" in output.text_content()
        area.fill(log_on("NVIDIA H100 80GB HBM3", 2, 8, rate=57).replace("all_reduce", "alltoallv"))
        assert "This page knows no range of alltoallv_perf. " in output.text_content()
        for of_what, says in (("sendrecv", "1 times"), ("reduce_scatter", "0.938 times")):
            log = log_on("NVIDIA H100 80GB HBM3", 2, 8, f"{of_what}_perf", 48).replace(" none ", " sum ")
            area.fill(log.partition("\n")[2])
            tab.locator("select[name=collective]").select_option("all-reduce")
            assert (
                f"Its busbw is {says} algbw, and 1.88 in all-reduce on dgx-h100:2: {another}" in output.text_content()
            )
            assert output.text_content().endswith("LOG")
        tab.locator("select[name=collective]").select_option("reduce-scatter")
        assert "below the healthy range of dgx-h100:2" in output.text_content()
        old = half(47, "all-reduce", 16).split()  # up to June 2020 algbw left one part out
        area.fill(f"8589934592 134217728 float sum {8589.934592e3 / 47 * 15 / 16:.1f} 47.00 47.00 {old[-1]}")
        assert "below the healthy range of dgx-h100:2" in output.text_content()
        tab.locator("select[name=collective]").select_option("all-reduce")
        area.fill(f"8589934592 2147483648 float sum -1 {half(300, 'all-reduce', 8)}")
        assert f"1.75 times algbw, and 1.88 in all-reduce on dgx-h100:2: {another}" in output.text_content()
    assert troubles == []


@pytest.mark.browser
@pytest.mark.usefixtures("with_chromium")
def test_a_time_of_the_launch_is_not_taken_for_that_of_the_call_and_long_times_have_few_digits(tmp_path):
    names = "# size count type redop root cputime algbw busbw #wrong\n"
    rows = f"{2**33} {2**31} float sum -1 14.00 250.00 468.75 0\n8 2 float sum -1 12.00 0.00 0.00 0"
    with opened(write_page(tmp_path, LogReader())) as (tab, troubles):
        area, output = tab.locator("textarea"), tab.locator("output")
        area.fill(names + rows)
        assert output.text_content().startswith("2 rows read. At 8 GiB: 469 GB/s, in the healthy range")
        assert tab.locator("circle").count() == 3  # the small message has a rate, and no time
        on = find("dgx-h100:2")
        reached = round(100 * predict(on, "all-reduce", 2**33).seconds / (2**33 / 250e9))
        assert verdicts(tab)["from 1 GiB on"][0] == f"{reached}%"
        job = "SLURM_JOB_CPUTIME=3\n# size count type redop root time algbw busbw #wrong\n"
        area.fill(f"{job}{2**33} {2**31} float sum -1 900.00 250.00 468.75 0")
        assert "algbw is not size over time" in output.text_content()
        # 2**35 / 1.25e7 us, of which two digits are left
        area.fill(f"{2**35} {2**33} float sum -1 1.2e+07 2.75 5.15 0")
        assert output.text_content().startswith("1 row read. At 32 GiB: 5.15 GB/s, below the healthy range")
    assert troubles == []


@pytest.mark.browser
@pytest.mark.usefixtures("with_chromium")
def test_a_run_below_the_range_of_racks_is_not_said_to_be_slow_without_a_condition(tmp_path):
    with opened(write_page(tmp_path, LogReader())) as (tab, troubles):
        area, output = tab.locator("textarea"), tab.locator("output")
        area.fill(log_on("NVIDIA GB200", 18, 4, rate=188))
        assert "below the healthy range of nvl72:1, " in output.text_content()
        assert "GB/s, unless only cards join its hosts. " in output.text_content()
        area.fill(log_on("NVIDIA GB200", 36, 4, rate=188))
        assert "but nobody published a healthy run over several such racks. " in output.text_content()
        area.fill(log_on("NVIDIA H100 80GB HBM3", 1, 8, rate=188))
        assert "below the healthy range of dgx-h100:1, " in output.text_content()
        assert "unless" not in output.text_content()
    assert troubles == []


@pytest.mark.browser
@pytest.mark.usefixtures("with_chromium")
def test_the_page_reads_what_python_reads_from_every_published_sweep_and_refuses_what_is_no_measurement(tmp_path):
    page = write_page(tmp_path, LogReader())
    with opened(page, viewport={"width": 360, "height": 800}) as (tab, troubles):
        area, output = tab.locator("textarea"), tab.locator("output")
        assert "in the healthy range of dgx-h100:2" in output.text_content()
        assert tab.evaluate("document.documentElement.scrollWidth") <= 360
        for k, sweep in enumerate(SWEEPS):
            text = write(sweep.run, *FORMS[k % len(FORMS)])
            (run,) = read(text)
            area.evaluate(PASTE, text)
            last = max(run.rows, key=lambda row: row.message).busbw / 1e9
            assert output.text_content().startswith(f"{len(run.rows)} rows read. At "), sweep.name
            assert float(output.text_content().split(": ")[1].split(" GB/s")[0]) == float(f"{last:.3g}"), sweep.name
            assert tab.locator("circle").count() == 2 * len(run.rows)  # of the bandwidths and of the times
        area.fill(f"0 0 float sum -1 0.12 0.00 0.00 0 0.12 0.00 0.00 0\n{text}")  # nothing sent, but a row
        assert output.text_content().startswith(f"{len(run.rows)} rows read. At ")
        tab.locator("input[name=boxes]").fill("2")
        tab.locator("select[name=collective]").select_option("all-to-all")
        area.fill("8589934592 134217728 float none -1 34399 250 234 0 34399 250 234 0")
        assert output.text_content().endswith("--primitive all-to-all")
        area.fill("8589934592 2147483648 float sum -1 34399 250 468 0 34399 250 468 0")
        assert "Its redop is sum, so this is no all-to-all: choose the collective that ran." in output.text_content()
        assert "range" not in output.text_content() + tab.locator(".cl-log-plot").text_content()
        assert tab.locator(".cl-log-table").text_content() == ""
        tab.locator("select[name=collective]").select_option("sendrecv")  # whose rows say sum, though nothing is added
        area.fill(f"8589934592 2147483648 float sum -1 {half(45, 'sendrecv', 16)}")
        assert output.text_content().endswith("--primitive sendrecv")
        area.fill(ALONE)
        assert "Every bus bandwidth is 0" in output.text_content()
        area.fill("\n".join([ALONE.splitlines()[0]] * 4))
        assert "no measurement" in output.text_content()
        tab.locator("select[name=collective]").select_option("all-reduce")
        tab.locator("select[name=machine]").select_option("dgx-h100")
        tab.locator("input[name=boxes]").fill("2")
        for row, why in ROWS.items():
            area.fill(row)
            assert why in output.text_content(), row
        for boxes, cards in product((1, 3, 41, MOST_BOXES), (",cards=4", "")):  # typed, one digit after the other
            tab.locator("input[name=boxes]").fill(str(boxes))
            tab.locator("select[name=machine]").select_option(f"dgx-h100{cards}")
            area.fill(f"8589934592 2147483648 float sum -1 {half(400, 'all-reduce', 8 * boxes)}")
            on = f"dgx-h100:{boxes}{cards}"
            range_of = expected(find(on), "all-reduce")
            low, high = (float(text.split(" GB/s")[0]) for text in
                         output.text_content().split(f"range of {on}, ")[1].split(" to "))  # fmt: skip
            assert output.text_content().endswith(f"colllib diagnose LOG --on {on}")
            assert (low, high) == (float(f"{range_of.low / 1e9:.3g}"), float(f"{range_of.high / 1e9:.3g}"))
        named = tab.get_by_role("img").get_attribute("aria-label")
        assert named.startswith("Your log: bus bandwidth from 400 GB/s at 8 GiB to 400 GB/s at 8 GiB")
        assert tab.locator("th[scope=col]").count() == 4
        assert tab.locator("th[scope=row]").count() == tab.locator(".cl-log-table tr").count() - 1
        field = tab.get_by_label("Boxes")
        assert field.get_attribute("aria-invalid") == "false"
        for boxes in ("0", "", "1.5", str(MOST_BOXES + 1)):
            tab.locator("input[name=boxes]").fill(boxes)
            assert field.get_attribute("aria-invalid") == "true"
            assert output.text_content().startswith(f"Boxes: a whole number, here from 1 to {MOST_BOXES}")
        tab.locator("input[name=boxes]").fill("2")
        area.fill("nothing of the kind")
        assert output.text_content().startswith("No row of an nccl-tests table in this text.")
    assert troubles == []


def verdicts(tab):
    """The table below the picture: by the name of a region the three other cells."""
    cells = [row.split("\t") for row in tab.locator(".cl-log-table tr").all_inner_texts()][1:]
    return {name: rest for name, *rest in cells}


@pytest.mark.browser
@pytest.mark.usefixtures("with_chromium")
@pytest.mark.parametrize(
    ("collective", "machine", "boxes"), [("all-reduce", "dgx-h100", 5), ("all-to-all", "nvl72", 3)]
)
def test_a_run_is_set_against_the_prediction_and_against_healthy_runs_in_each_region_of_sizes(
    tmp_path, collective, machine, boxes
):
    on = find(f"{machine}:{boxes}")
    bound, least, largest = expected(on, collective), 2**12, 2**34
    reached = predict(on, collective, largest).busbw
    with opened(write_page(tmp_path, LogReader())) as (tab, troubles):
        tab.locator("select[name=collective]").select_option(collective)
        tab.locator("select[name=machine]").select_option(machine)
        tab.locator("input[name=boxes]").fill(str(boxes))
        as_printed = spread()[1][2][0] - 0.003  # the least of healthy runs, in whole percent
        shares = {least: 0.5, 2**20: 0.1, 2**28: as_printed, largest: 0.9 * slow_below(on, bound) / reached}
        rows = []
        for size, share in shares.items():
            numbers = half(predict(on, collective, size).busbw * share / 1e9, collective, on.ranks, size)
            rows.append(
                f"{size} {size // 4} float {'sum' if 'reduce' in collective else 'none'} -1 {numbers} {numbers}"
            )
        tab.locator("textarea").fill("\n".join(rows))
        table = verdicts(tab)
        names = ["below 64 KiB", "below 16 MiB", "below 1 GiB", "from 1 GiB on"]
        assert list(table) == names
        for name, share in zip(names, shares.values(), strict=True):
            assert abs(float(table[name][0].rstrip("%")) - 100 * share) <= 1
        low, high = (f"{100 * rate / reached:.0f}" for rate in (bound.low, bound.high))
        assert table["from 1 GiB on"][1:] == [f"{low} to {high}%", "below the healthy range"]
        usual = [["too few", "no verdict"]] * 3
        if collective == "all-reduce":
            words_of = ("as others", "slower than most", "as others")
            usual = [
                [f"{100 * low:.0f} to {100 * high:.0f}%", words]
                for (low, high), words in zip(spread()[1], words_of, strict=True)
            ]
        assert [table[name][1:] for name in names[:3]] == usual
    assert troubles == []


@pytest.mark.browser
@pytest.mark.usefixtures("with_chromium")
@pytest.mark.parametrize("name", ["dgx-h100:2", "dgx-h100:64", "b200:1", "dgx-a100:8", "nvl72:2"])
def test_a_run_is_below_the_range_undecided_or_in_it_where_the_diagnosis_says_so(tmp_path, name):
    """At both sides of each border; farther below the lower one, since the diagnosis allows for latency."""
    on = find(name)
    machine, boxes = name.split(":")
    bound = expected(on, "all-reduce")
    states = {"below-expectation": "below the", "undecided": "undecided: below the", "healthy": "in the"}
    seen = set()
    with opened(write_page(tmp_path, LogReader())) as (tab, troubles):
        tab.locator("select[name=machine]").select_option(machine)
        tab.locator("input[name=boxes]").fill(boxes)
        slow = slow_below(on, bound)
        for rate in (0.9e-9 * slow, 1.03e-9 * slow, 0.97e-9 * bound.low, 1.03e-9 * bound.low):
            row = f"8589934592 2147483648 float sum -1 {half(rate, 'all-reduce', on.ranks)}"
            tab.locator("textarea").fill(f"# size count type redop root time algbw busbw #wrong\n{row}")
            (run,) = read(tab.locator("textarea").input_value())
            state = diagnose(run, Hints(machine=on)).state
            seen.add(state)
            assert f", {states[state]} healthy range of {name}, " in tab.locator("output").text_content()
            assert (verdicts(tab)["from 1 GiB on"][2] == "undecided") is (state == "undecided")
    assert seen == {*states}
    assert troubles == []


@pytest.mark.browser
@pytest.mark.usefixtures("with_chromium")
@pytest.mark.parametrize(
    ("rates", "place"),
    [
        ((200, 240, 271, 290), "undecided: below"),  # on its way to 312 GB/s, and slow below 310
        ((200, 240, 288, 290), "below"),
        ((200, 215, 232, 250), "below"),  # on its way to 271 GB/s
    ],
)
def test_a_run_over_boxes_that_still_climbs_is_undecided_as_the_diagnosis_has_it(tmp_path, rates, place):
    on = find("dgx-h100:2")
    rates = {2 ** (30 + k): rate for k, rate in enumerate(rates)}
    rows = [f"{n} {n // 4} float sum -1 {half(rate, 'all-reduce', on.ranks, n)}" for n, rate in rates.items()]
    log = "\n".join(["# size count type redop root time algbw busbw #wrong", *rows])
    (run,) = read(log)
    state = diagnose(run, Hints(machine=on)).state
    with opened(write_page(tmp_path, LogReader())) as (tab, troubles):
        tab.locator("select[name=machine]").select_option("dgx-h100")
        tab.locator("input[name=boxes]").fill("2")
        tab.locator("textarea").fill(log)
        assert f", {place} the healthy range of dgx-h100:2, " in tab.locator("output").text_content()
        assert verdicts(tab)["from 1 GiB on"][2] == ("undecided" if "undecided" in place else "below the healthy range")
        assert troubles == []
    assert state == ("undecided" if place.startswith("undecided") else "below-expectation")


def test_the_predicted_curve_is_known_at_the_borders_of_the_regions_and_beyond_them():
    assert {*BORDERS} < {*SIZES}
    assert SIZES[-1] > BORDERS[-1]

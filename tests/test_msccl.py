"""What is exported to MSCCL is proved by running the file itself, and files from elsewhere are refused in one line."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from colllib import algorithms, cli
from colllib.algorithms import allgather
from colllib.forest import forest
from colllib.ladder import offered
from colllib.msccl import COLLECTIVES, export, run
from colllib.plain_xml import parsed
from colllib.primitives import all_reduce
from colllib.schedule import Schedule, Step, side_by_side
from colllib.topology import star
from colllib.topology.expression import find
from colllib.topology.paths import Paths

RING = export(algorithms.find("all-reduce", "ring").build(4), "all-reduce", "ring")


@settings(max_examples=60, deadline=None)
@given(st.data(), st.sampled_from(sorted(COLLECTIVES)), st.integers(2, 9))
def test_every_algorithm_that_can_be_exported_ends_right_in_the_interpreter(data, primitive, ranks):
    topology = star(ranks)
    chosen = data.draw(st.sampled_from(list(offered(primitive, topology))))
    segments = {"segments": data.draw(st.integers(1, 3))} if chosen.segmented else {}
    schedule = chosen.build(chosen.argument(topology), **segments)
    try:
        text = export(schedule, primitive, chosen.name)
    except ValueError as error:
        assert re.search(r"at most|several sizes|switches", str(error))  # noqa: PT017
        return
    assert run(text, seed=ranks) == (COLLECTIVES[primitive][0], ranks)
    read_as_msccl_does(text)


@given(st.lists(st.integers(0, 3), min_size=2, max_size=6).filter(any))
@settings(max_examples=30, deadline=None)
def test_blocks_of_uneven_sizes_some_of_them_empty_end_right(sizes):
    shares = [Fraction(size, sum(sizes)) for size in sizes]
    text = export(algorithms.allreduce.ring(len(sizes), shares=shares), "all-reduce", "ring")
    assert run(text) == ("allreduce", len(sizes))
    read_as_msccl_does(text)


def read_as_msccl_does(text):
    """What MSCCL's reader (src/graph/topo.cc) asks of a file beyond what the interpreter needs."""
    algo = parsed(text, "algo")
    ranks, chunks = int(algo.get("ngpus")), int(algo.get("nchunksperloop"))
    assert int(algo.get("minBytes")) == 0
    assert 2**40 < int(algo.get("maxBytes")) < 2**63
    shards = {"allgather": "i_chunks", "reduce_scatter": "o_chunks"}.get(algo.get("coll"))
    sends, receives = set(), set()
    for gpu in algo:
        for side in ("i_chunks", "o_chunks"):
            assert int(gpu.get(side)) * (ranks if side == shards else 1) == chunks
        for direction in ("send", "recv"):
            peers = [tb.get(direction) for tb in gpu if tb.get(direction) != "-1"]
            assert gpu.get("id") not in peers
            assert len(peers) == len(set(peers))
            channels = [tb.get("chan") for tb in gpu if tb.get(direction) != "-1"]
            assert all(channels.count(channel) <= 32 for channel in channels)
        sends |= {(gpu.get("id"), tb.get("send"), tb.get("chan")) for tb in gpu if tb.get("send") != "-1"}
        receives |= {(tb.get("recv"), gpu.get("id"), tb.get("chan")) for tb in gpu if tb.get("recv") != "-1"}
        for tb in gpu:
            for step, following in zip(tb, [*tb[1:], None], strict=True):
                if step.get("type") == "nop":  # it hands its wait to the next one, which must have one too
                    assert step.get("hasdep") == "0"
                    assert following.get("depid") != "-1"
                else:
                    assert 0 < int(step.get("cnt")) < 72
    assert sends == receives  # a connection is of one channel
    assert {int(channel) for *_, channel in sends} == set(range(int(algo.get("nchannels"))))


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ('type="rrc"', 'type="r"', "wrong chunk"),
        ('type="s"', 'type="launch"', "not the next one of type"),
        ('depid="-1"', 'depid="77"', "which is not there"),
        ('cnt="1"', 'cnt="9"', "beyond"),
        ('ngpus="4"', 'ngpus="5"', "not all of 5"),
        ('ngpus="4"', 'ngpus="four"', "no whole number"),
        ('chan="0"', 'chan="1"', "or channel over 0"),
        ('nchannels="1"', 'nchannels="0"', "must be 1 to"),
        ('coll="allreduce"', 'coll="sort"', "known are"),
        ("<algo", "<!DOCTYPE algo [<!ENTITY x 'y'>]><algo", "document type"),
        ("</algo>", "", "no XML"),
        ("<algo", "<system", "no XML"),
    ],
)
def test_a_file_that_is_wrong_is_refused_and_named(old, new, why):
    with pytest.raises(ValueError, match=why) as caught:
        run(RING.replace(old, new, 1))
    assert len(str(caught.value).splitlines()) == 1


def test_a_wait_in_a_circle_is_a_deadlock():
    step = '<step s="0" type="nop" srcbuf="i" srcoff="0" dstbuf="i" dstoff="0" cnt="0" depid="{}" deps="0" hasdep="1"/>'
    blocks = "".join(f'<tb id="{k}" send="-1" recv="-1" chan="0">{step.format(1 - k)}</tb>' for k in range(2))
    with pytest.raises(ValueError, match="deadlock"):
        run(f'<algo coll="allreduce" ngpus="1" nchunksperloop="1" nchannels="1"><gpu id="0">{blocks}</gpu></algo>')


@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_a_file_is_refused_in_which_a_receive_does_not_wait_for_the_send_before_it(ranks):
    """Where all receive first, a GPU sends the sum instead of what it had."""
    text = export(algorithms.find("all-reduce", "one-shot").build(ranks), "all-reduce", "one-shot")
    assert run(text) == ("allreduce", ranks)
    with pytest.raises(ValueError, match="ends with a wrong chunk"):
        run(re.sub(r'(type="rrc".*) depid="\d+" deps="\d+"', r'\1 depid="-1" deps="-1"', text))


def exchanged(shares, back=1):
    """An all-reduce of two GPUs in one step: each sends all its blocks, GPU 1 in the order that back says."""
    every = np.arange(len(shares))
    swap = Step.of(
        np.repeat([0, 1], len(every)), np.repeat([1, 0], len(every)), np.concatenate([every, every[::back]]), True
    )
    return Schedule.from_steps(all_reduce(2, shares), [swap])


@pytest.mark.parametrize(
    ("schedule", "ends"),
    [
        (exchanged([Fraction(1, 3), Fraction(2, 3)]), True),
        (exchanged([Fraction(1, 4), Fraction(3, 4)]), False),
        (exchanged([Fraction(1, 4)] * 4), True),
        (exchanged([Fraction(1, 4)] * 4, back=-1), False),
    ],
)
def test_a_connection_holds_two_chunks_and_who_must_send_more_before_receiving_waits_for_ever(schedule, ends):
    """A block is received where it is sent from, so its receive waits until all of it is on its way."""
    text = export(schedule, "all-reduce", "swap")
    if ends:
        assert run(text) == ("allreduce", 2)
    else:
        with pytest.raises(ValueError, match="deadlock with 2 chunks in flight"):
            run(text)


def test_a_primitive_that_is_not_written_is_refused():
    schedule = algorithms.find("broadcast", "chain").build(4)
    with pytest.raises(ValueError, match="no MSCCL file for broadcast"):
        export(schedule, "broadcast", "chain")


def test_a_file_is_of_the_primitive_that_the_schedule_makes():
    chain, ring = (algorithms.find(*names).build(4) for names in (("broadcast", "chain"), ("all-gather", "ring")))
    jobs = side_by_side(*(algorithms.find("all-reduce", "ring").build(4) for _ in range(2)))
    for schedule in (chain, ring, jobs):
        with pytest.raises(ValueError, match=r"is no all-reduce of one message M among all ranks$"):
            export(schedule, "all-reduce", "mislabeled")


def test_nesting_without_end_is_refused():
    with pytest.raises(ValueError, match="nested over"):
        parsed("<a>" * 1000 + "</a>" * 1000, "a")


def test_the_command_prints_what_it_has_proved():
    result = CliRunner().invoke(cli.cli, ["export", "all-gather", "ring", "--on", "ring:6"])
    assert run(result.stdout) == ("allgather", 6)


@pytest.mark.parametrize("primitive", ["all-gather", "reduce-scatter"])
def test_a_forest_with_paths_through_switches_is_exported_as_messages_between_gpus(primitive):
    schedule = forest(find("fat-tree:4"), primitive=primitive).schedule()
    assert schedule.paths is not None
    assert run(export(schedule, primitive, "forest"))[1] == 16


def summed_by_gpu_0(shares, ranks=2):
    """An all-reduce: the other GPUs send every block, one GPU after the other, and get the sums back."""
    blocks = all_reduce(ranks, shares)
    every, others = np.arange(len(blocks.share)), range(1, ranks)
    gather = [Step.of([rank], [0], every, True) for rank in others]
    return Schedule.from_steps(blocks, [*gather, *(Step.of([0], [rank], every) for rank in others)])


def by_every_other(ranks):
    """An all-gather in which each GPU has two thread blocks for each other one."""
    return algorithms.find("all-gather", "direct").build(ranks)


@pytest.mark.parametrize(
    ("primitive", "schedule", "complaint"),
    [
        ("all-reduce", summed_by_gpu_0(256), None),
        ("all-reduce", summed_by_gpu_0(257), "257 steps of a thread block: Microsoft's MSCCL takes at most 256"),
        ("all-reduce", summed_by_gpu_0([Fraction(1, 72), Fraction(71, 72)]), None),
        ("all-reduce", summed_by_gpu_0([Fraction(1, 73), Fraction(72, 73)]), "72 chunks in a step: .* at most 71"),
        ("all-reduce", summed_by_gpu_0(256, 8), None),
        ("all-reduce", summed_by_gpu_0(256, 9), "4122 XML elements of a GPU: MSCCL takes at most 4095"),
        ("all-gather", by_every_other(33), None),
        ("all-gather", by_every_other(34), None),
        ("all-gather", by_every_other(55), None),
        ("all-gather", by_every_other(56), "110 thread blocks of a GPU: an A100 runs at most 108"),
        ("all-reduce", summed_by_gpu_0(1, 55), None),
        ("all-reduce", summed_by_gpu_0(1, 56), "110 thread blocks of a GPU: an A100 runs at most 108"),
    ],
)
def test_as_much_is_written_as_msccl_takes(primitive, schedule, complaint):
    if complaint is None:
        text = export(schedule, primitive, "largest")
        assert run(text)[1] == schedule.ranks
        read_as_msccl_does(text)
    else:
        with pytest.raises(ValueError, match=complaint):
            export(schedule, primitive, "larger")


def test_a_channel_has_32_connections_of_a_gpu_each_way():
    for ranks, channels in ((33, 1), (34, 2), (55, 2)):
        assert f'nchannels="{channels}"' in export(by_every_other(ranks), "all-gather", "direct")


def test_what_is_sent_on_one_channel_is_not_received_on_another():
    text = export(by_every_other(40), "all-gather", "direct")
    with pytest.raises(ValueError, match="deadlock"):
        run(re.sub(r'(recv="\d+" chan=)"1"', r'\1"0"', text, count=1))


@pytest.mark.parametrize(
    ("asked", "needs"),
    [
        ("all-reduce ring --on star:33", ""),
        ("all-reduce ring --on star:34", "MSCCL_MAX_NUM_STEPS=256 when it is built"),
        ("reduce-scatter ring --on star:8", 'coll="reducescatter"'),
        ("reduce-scatter ring --on star:66", 'coll="reducescatter" and MSCCL_MAX_NUM_STEPS=256 when it is built'),
    ],
)
def test_the_command_notes_what_azures_executor_needs_besides(asked, needs):
    """Its reader knows no reduce_scatter, and 64 steps of a thread block: a ring has 2(N-1), or N-1."""
    result = CliRunner().invoke(cli.cli, ["export", *asked.split()])
    run(result.stdout)
    noted = [line for line in result.stderr.splitlines() if "Azure" in line]
    assert noted == ([f"colllib: Azure's executor takes this file only with {needs}"] if needs else [])


@pytest.mark.parametrize(
    ("asked", "chunks"),
    [
        ("all-gather forest --on dgx-a100:2", 208),  # 13 trees for each of 16 roots
        ("all-reduce ring --on star:6", 6),
        ("all-gather forest --on dgx-a100:4", 0),
        ("all-reduce ring --on star:8", 0),
    ],
)
def test_the_command_notes_the_sizes_that_execute_a_file_where_no_power_of_two_does(asked, chunks):
    """All that nccl-tests measures by -b 1M -f 2 are 2^k elements."""
    result = CliRunner().invoke(cli.cli, ["export", *asked.split()])
    written = int(re.search('nchunksperloop="(.*?)"', result.stdout)[1])
    sizes = re.findall(r"-b (\d+)K -e 1G -f 2, not -b 1M", result.stderr)
    assert sizes == [str(chunks)] * bool(chunks)
    assert all(2**k % written for k in range(18, 29)) == bool(chunks)
    assert all(2**k * (int(size) * 1024 // 4) % written == 0 for size in sizes for k in range(10))


def test_a_shard_that_lacks_a_term_is_named():
    """Any of the ring's sums: the shard that it belongs to is chunk r of GPU r."""
    text = export(algorithms.find("reduce-scatter", "ring").build(4), "reduce-scatter", "ring")
    pieces = text.split('type="rrc"')
    assert len(pieces) == 1 + 4 * 3
    for k in range(1, len(pieces)):
        wrong = 'type="rrc"'.join(pieces[:k]) + 'type="r"' + 'type="rrc"'.join(pieces[k:])
        with pytest.raises(ValueError, match=r"^GPU (\d) ends with a wrong chunk \1$"):
            run(wrong)


def test_a_path_over_another_gpu_is_refused():
    schedule = replace(allgather.ring(4), paths=Paths.of([(0, (0, 3, 2, 1))]))
    with pytest.raises(ValueError, match="a message from GPU 0 to 1 over GPU 3"):
        export(schedule, "all-gather", "ring")

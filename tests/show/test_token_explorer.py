"""The token explorer: its parts against counts that are made here once more."""

from __future__ import annotations

import pytest
from shown import rows

from colllib import units
from colllib.algorithms import find
from colllib.execution import execute
from colllib.measured.sweeps import kernels, sweeps
from colllib.parallelism import MODELS, read_for_token
from colllib.show import token_explorer
from colllib.show.token_explorer import seconds_of

EXPLORER = token_explorer()
NCCL = next(dict(sweep.points) for sweep in sweeps() if sweep.name == "azure-nd-h100v5")


def shown(**changed):
    """The times of the parts, and what is said beside them."""
    state = {**EXPLORER.start, **changed}
    table = {row[0]: row[-1] for row in rows(EXPLORER.render(3, state))}
    return table, EXPLORER.render(1, state), EXPLORER.render(len(EXPLORER.parts), state)


def one_call(n, message, alpha, bandwidth):
    """All others at once, or a part to each and back."""
    return min(alpha + (n - 1) * message / bandwidth, 2 * alpha + 2 * (n - 1) / n * message / bandwidth)


@pytest.mark.parametrize("call", ["SGLang", "vLLM", "NCCL"])
@pytest.mark.parametrize(("alpha", "bw"), [(0.6e-6, 450e9), (2e-6, 900e9)])
def test_the_parts_of_a_token_of_the_largest_llama(call, alpha, bw):
    table, kept, sentence = shown(call=call, alpha=alpha, bw=bw, memory=2e12)
    matrices = 405_853_388_800 - 128256 * 16384  # of the embedding one row is read
    assert table["weights"] == units.seconds(matrices / 8 / 2e12, 4)
    cached = 2 * 126 * 1 * 128 * 2 * 4096  # of 8 heads each rank has one
    assert table["keys and values"] == units.seconds(cached / 2e12, 4)
    wires = one_call(8, 32768, alpha, bw)
    assert table["all-reduces: wires"] == units.seconds(253 * wires, 4)
    taken = {"SGLang": 7.8e-6, "vLLM": 11.8e-6, "NCCL": float(f"{NCCL[32768]:.4g}")}[call]
    beyond = float(f"{taken - one_call(8, 32768, 0.6e-6, 450e9):.4g}")
    assert table["all-reduces: kernel and launch"] == units.seconds(253 * beyond, 4)
    gathered = execute(find("all-gather", "recursive-doubling").build(8)).cost
    assert table["logits"] == units.seconds(gathered.seconds(message=2 * 128256, alpha=alpha, bandwidth=bw), 4)
    assert f"{units.size(405_853_388_800 / 8)} of weights and {units.size(cached)} of keys" in kept
    assert "does not fit" not in kept
    assert sentence.endswith(": weights.")


def test_experts_are_read_as_often_as_a_uniform_gate_chooses_them_and_a_latent_is_kept_by_all():
    table, kept, _ = shown(model="DeepSeek-V3", tp=8, sequences=2, context=1024)
    expert = 3 * 7168 * 2048
    chosen = 256 * (1 - (248 / 256) ** 2)  # of two tokens that choose 8 each
    read = 671_026_419_200 - 58 * (256 - chosen) * expert - 129280 * 7168
    assert table["weights"] == units.seconds(read / 8 / 3.35e12, 4)
    assert table["keys and values"] == units.seconds(61 * 576 * 2 * 2 * 1024 / 3.35e12, 4)
    assert "the same on all 8" in kept
    assert "does not fit in the 80 GB of an H100" in kept


def test_multiplying_outlasts_reading_weights_from_the_noted_sequences_on_unless_there_are_experts():
    assert "From 60 sequences in FP8, multiplying (400 TFLOP/s) outlasts reading dense weights." in EXPLORER.note
    for model in MODELS.values():
        dense = not any(map(model.has_experts, range(model.layers)))
        assert (2 * model.active * 60 / 400e12 > read_for_token(model, 60) / 3.35e12) == dense


def test_one_gpu_reduces_nothing_and_is_asked_for_no_links():
    table, *_ = shown(model="Llama 3.1 8B", tp=1, call="SGLang")
    assert list(table) == ["weights", "keys and values"]
    state = {**EXPLORER.start, "model": "Llama 3.1 8B", "tp": 1, "call": "SGLang"}
    idle = {control.name for place, control in enumerate(EXPLORER.controls) if EXPLORER.idle(place, state)}
    assert {"alpha", "bw", "call"} <= idle


@pytest.mark.parametrize(
    ("call", "tp", "sequences", "measured"),
    [
        ("SGLang", 8, 1, True),
        ("vLLM", 4, 32, True),
        ("NCCL", 4, 1, False),
        ("SGLang", 8, 64, False),
        ("NCCL", 8, 64, True),
    ],
)
def test_what_is_not_measured_is_called_so_with_its_gpus_and_size(call, tp, sequences, measured):
    table, *_ = shown(call=call, tp=tp, sequences=sequences)
    sentence = EXPLORER.render(2, {**EXPLORER.start, "call": call, "tp": tp, "sequences": sequences})
    size = units.size(sequences * 16384 * 2)
    assert (f"on {tp} GPUs for messages of {size}: α and bytes stand alone" in sentence) == (not measured)
    assert ("all-reduces: kernel and launch" in table) == measured


def test_a_time_between_two_measured_sizes_lies_between_theirs():
    points = next(dict(one.points) for one in kernels() if one.name == "vLLM" and one.machine.gpus == 8)
    assert seconds_of("vLLM", 8, 32768) == points[32768]
    assert points[32768] < seconds_of("vLLM", 8, 65536) < points[262144]
    assert seconds_of("NCCL", 8, 2**20) == pytest.approx(NCCL[2**20], rel=1e-3)
    assert seconds_of("NCCL", 4, 2**20) is None


def test_it_fits_into_a_page():
    assert len(EXPLORER.payload) < 300_000

"""A guard against rules that fit the open logs alone: figures of other public threads, and logs made of the model.

A row of the first table is a figure, what its thread tells of the machine, and what was said of it there. The logs are
of machines, faults, collectives, dialects and sizes that the open logs do not have.
"""

from __future__ import annotations

import pytest
from measured import logs

from colllib.measured.diagnose import Diagnosis, diagnose
from colllib.measured.infer import Hints
from colllib.measured.machines import cards
from colllib.measured.read import read
from colllib.measured.write import write

SLOW, FINE = "below-expectation", "healthy"
#: thread on GitHub, boxes, GPUs a box, GPU, cards, collective, busbw in GB/s, what it is, one of its causes
THREADS = (
    ("NVIDIA/nccl/issues/1639", 1, 8, "GeForce RTX 5090", "", "all-reduce", 28, FINE, ""),
    ("NVIDIA/nccl/issues/1639", 1, 4, "GeForce RTX 5090", "", "all-reduce", 35, FINE, ""),
    ("NVIDIA/nccl/issues/412", 12, 8, "A800", "1x200Gb/s", "all-reduce", 15.3, SLOW, "no-gdr"),
    ("NVIDIA/nccl-tests/issues/29", 4, 8, "V100-SXM2", "1x100Gb/s", "all-reduce", 6, SLOW, "no-gdr"),
    ("NVIDIA/nccl-tests/issues/29", 4, 8, "V100-SXM2", "1x100Gb/s", "all-reduce", 12.2, FINE, ""),
    ("NVIDIA/nccl-tests/issues/228", 1, 8, "A100-SXM4", "", "all-reduce", 220, FINE, ""),
    ("NVIDIA/nccl/issues/1221", 2, 8, "H100", "8x400Gb/s", "all-reduce", 430, FINE, ""),
    ("NVIDIA/nccl/issues/1221", 2, 8, "H100", "8x400Gb/s", "all-reduce", 330, FINE, ""),
    ("NVIDIA/nccl/issues/1221", 4, 8, "H100", "8x400Gb/s", "all-reduce", 320, FINE, ""),
    ("NVIDIA/nccl-tests/issues/290", 1, 8, "H100", "", "all-reduce", 476, FINE, "nvls"),
    ("NVIDIA/nccl-tests/issues/212", 1, 8, "H100", "", "all-gather", 370, FINE, ""),
    ("NVIDIA/nccl/issues/812", 2, 8, "A100-SXM4", "8x200Gb/s", "all-reduce", 192, FINE, ""),
    ("NVIDIA/nccl/issues/495", 2, 8, "A100-SXM4", "8x100Gb/s", "all-reduce", 75, FINE, ""),
    ("NVIDIA/nccl/issues/837", 2, 8, "A100-SXM4", "2x200Gb/s", "all-reduce", 57, FINE, ""),
    ("NVIDIA/nccl/issues/837", 2, 8, "A100-SXM4", "2x200Gb/s", "all-reduce", 7.05, SLOW, ""),
    ("NVIDIA/nccl-tests/issues/350", 2, 1, "A100", "1x200Gb/s", "all-gather", 22, FINE, ""),
    ("NVIDIA/nccl-tests/issues/350", 2, 1, "A100", "1x200Gb/s", "all-gather", 13, SLOW, "no-gdr"),
    ("NVIDIA/nccl/issues/2409", 2, 8, "H100", "8x400Gb/s", "all-reduce", 231, SLOW, ""),
    ("NVIDIA/nccl/issues/2409", 2, 1, "H100", "1x400Gb/s", "sendrecv", 13.1, SLOW, ""),
    ("NVIDIA/nccl/issues/2409", 2, 8, "H100", "8x400Gb/s", "all-gather", 101, SLOW, ""),
    ("NVIDIA/nccl/issues/2409", 2, 8, "H100", "8x400Gb/s", "all-to-all", 25, SLOW, ""),
    ("NVIDIA/nccl-tests/issues/267", 6, 8, "H100", "8x400Gb/s", "all-to-all", 50, FINE, ""),
    ("NVIDIA/nccl/issues/1048", 1, 8, "A100-SXM4", "", "all-reduce", 232.5, FINE, ""),
    ("NVIDIA/nccl/issues/1048", 2, 8, "A100-SXM4", "4x200Gb/s", "all-reduce", 86, FINE, ""),
    ("NVIDIA/nccl/issues/1048", 2, 8, "A100-SXM4", "1x200Gb/s", "all-reduce", 24, FINE, ""),
    ("NVIDIA/nccl/issues/1374", 1, 8, "H800", "", "all-reduce", 215, FINE, "nvls"),
    ("NVIDIA/nccl-tests/issues/283", 248, 8, "H200", "8x400Gb/s", "all-reduce", 350, FINE, ""),
    ("NVIDIA/nccl-tests/issues/309", 2, 8, "H100", "8x400Gb/s", "all-reduce", 470, FINE, ""),
    ("NVIDIA/nccl-tests/issues/309", 4, 8, "H100", "8x400Gb/s", "all-reduce", 365.84, FINE, ""),
    ("NVIDIA/nccl/issues/595", 2, 4, "A100-SXM4", "2x200Gb/s", "all-reduce", 3, SLOW, ""),
    ("NVIDIA/nccl-tests/issues/112", 2, 8, "A100-SXM4", "1x200Gb/s", "all-reduce", 9.84, SLOW, "no-gdr"),
    ("NVIDIA/nccl-tests/issues/154", 2, 1, "A100-SXM4", "2x25Gb/s", "sendrecv", 0.6, SLOW, ""),
    ("NVIDIA/nccl/issues/527", 1, 8, "A100-SXM4", "", "all-reduce", 230.8, FINE, ""),
    ("NVIDIA/nccl-tests/issues/232", 2, 1, "H100", "4x400Gb/s", "all-reduce", 50, FINE, ""),  # of one GPU's slot
    ("NVIDIA/nccl/issues/2140", 1, 8, "B300", "", "all-reduce", 845, FINE, "nvls"),
    ("NVIDIA/nccl/issues/2140", 1, 8, "B300", "", "all-reduce", 695, FINE, ""),
    ("coreweave/nccl-tests/pull/43", 18, 4, "GB200", "", "all-reduce", 836, FINE, ""),
)


def test_figures_of_public_threads_are_judged_as_they_were_judged_there():
    right = wrong = slow = named = 0
    for thread, boxes, gpus, gpu, told, collective, busbw, state, cause in THREADS:
        log = logs.text(busbw * 1e9, boxes=boxes, per_box=gpus, gpu=gpu, collective=collective)
        found = diagnose(read(log)[0], Hints(cards=cards(told) if told else None))
        right += found.state == state
        wrong += found.state not in (state, "undecided")
        assert found.confidence < 0.8, thread
        if cause and state == SLOW:
            slow += 1
            named += cause in (found.cause, *found.alternatives)
    assert right >= 0.9 * len(THREADS)
    assert wrong <= 0.05 * len(THREADS)
    assert named >= 0.8 * slow


GPUS = {"dgx-v100": "V100-SXM2", "dgx-a100": "A100-SXM4", "dgx-h100": "H100 80GB HBM3", "b200": "B200"}
CARDS = {"dgx-v100": (4, 12.5e9), "dgx-a100": (8, 25e9), "dgx-h100": (8, 50e9), "b200": (8, 50e9)}
COLLECTIVES = ("all-reduce", "all-gather", "reduce-scatter")
SOCKETS = "n1:1:1 [0] NCCL INFO Using network Socket\n"
COPIED = "n1:1:1 [0] NCCL INFO Channel 00/0 : 7[7] -> 8[0] [send] via NET/IB/0\n"
SHARED = "n1:1:1 [0] NCCL INFO Channel 00 : 0[0] -> 1[1] via SHM/direct/direct\n"
#: what is in use, how it differs from the model, what the log says, state, causes that are right
FAULTS = (
    *((f"{m}:{n},cards=1", {}, "", SLOW, {"single-nic"}) for m in ("dgx-a100", "dgx-h100", "b200") for n in (2, 4, 16)),
    *((f"dgx-h100:{n},cards=2", {}, "", SLOW, {"misconfiguration", "single-nic", "nic-limited"}) for n in (2, 8, 32)),
    *((f"{m}:{n}", {"slower": 2.3}, "", SLOW, {"no-gdr"}) for m in ("dgx-a100", "dgx-h100") for n in (2, 3, 6)),
    *((f"{m}:4", {"slower": 3}, COPIED, SLOW, {"no-gdr"}) for m in GPUS),
    *((f"{m}:{n}", {"slower": 90}, "", SLOW, {"misconfiguration"}) for m in GPUS for n in (2, 12)),
    *((f"{m}:8", {"slower": 40}, SOCKETS, SLOW, {"misconfiguration"}) for m in GPUS),
    *((f"{m}:1", {"slower": 13}, "", SLOW, {"pcie-limited", "p2p-disabled"}) for m in GPUS),
    *((f"{m}:1", {"slower": 30}, SHARED, SLOW, {"p2p-disabled"}) for m in GPUS),
    *((f"dgx-h100:{n}", {"slower": 1.9, "scatter": 0.4}, "", SLOW, {"congestion"}) for n in (12, 24, 64)),
    *((f"dgx-a100:{n},oversubscription=4", {}, "", SLOW, {"congestion", "nic-limited"}) for n in (12, 48)),
    *((f"{m}:64", {"top": 2**25}, "", "undecided", {"latency-bound"}) for m in ("dgx-h100", "dgx-a100")),
    *((f"{m}:{n}", {"top": 2**34}, "", FINE, set()) for m in GPUS for n in (1, 2, 5, 40)),
)
PAIRS = (
    *((f"{m}:{n}", {}, "", FINE, set()) for m in GPUS for n in (2, 16)),
    *((f"{m}:2", {"slower": 4}, "", SLOW, {"no-gdr", "nic-limited"}) for m in GPUS),
    *((f"{m}:{n}", {"slower": 60}, "", SLOW, {"misconfiguration"}) for m in GPUS for n in (2, 8)),
    *((f"{m}:16", {"slower": 3}, "", SLOW, {"congestion"}) for m in GPUS),
)


def verdict(place: int, machine: str, shape: dict[str, object], words: str, collective: str) -> Diagnosis:
    """Of one log in one of the dialects and prefixes."""
    name = machine.split(":")[0]
    run = logs.modeled(machine, place, gpu=GPUS[name], collective=collective, **shape)
    dialect, prefix = (
        ("nccl-tests", "nccl-tests-old", "nccl-tests-2.17")[place % 3],
        ("", "0: ", "[0] ")[place // 3 % 3],
    )
    return diagnose(read(words + write(run, dialect, prefix))[0], Hints(cards=CARDS[name]))


@pytest.mark.parametrize(
    ("logs_made", "collectives"), [(FAULTS, COLLECTIVES), (PAIRS, ("all-to-all", "sendrecv"))], ids=["rings", "pairs"]
)
def test_logs_of_machines_and_faults_that_no_rule_was_written_for(logs_made, collectives):
    right = wrong = slow = named = 0
    for place, (machine, shape, words, state, causes) in enumerate(logs_made):
        found = verdict(place, machine, shape, words, collectives[place % len(collectives)])
        right += found.state == state or (state == "undecided" and found.state == SLOW)
        wrong += found.state not in (state, SLOW, "undecided") or (state == FINE and found.state == SLOW)
        if causes:
            slow += 1
            named += bool(causes & {found.cause, *found.alternatives})
            assert found.cause in causes or found.confidence < 0.8, (machine, shape, found.verdict)
    assert right >= 0.9 * len(logs_made)
    assert wrong <= 0.05 * len(logs_made)
    assert named >= 0.85 * slow

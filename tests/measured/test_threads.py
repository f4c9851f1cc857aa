"""A guard against rules that fit the open logs alone: figures of other public threads, and logs made of the model.

A row of the first table is a figure, what its thread tells of the machine, and what was said of it there. The logs are
of machines, faults, collectives, dialects and sizes that the open logs do not have.
"""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from pathlib import Path

import pytest
from measured import logs
from measured.dialects import write

from colllib.measured.diagnose import Diagnosis, diagnose
from colllib.measured.infer import Hints
from colllib.measured.read import read
from colllib.topology.machines import cards

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
    # from here on the rules were tried before they were mended: of 63 with the cards 51 right and 5 wrong, 35 and 6
    # without them
    ("NVIDIA/nccl/issues/949", 2, 8, "A100-SXM4", "2x200Gb/s", "all-reduce", 27, SLOW, "no-gdr"),
    ("NVIDIA/nccl/issues/949", 2, 8, "A100-SXM4", "2x200Gb/s", "all-reduce", 48, FINE, ""),
    ("NVIDIA/nccl/issues/841", 1, 8, "A100 80GB PCIe", "", "all-reduce", 8, SLOW, "p2p-disabled"),
    ("NVIDIA/nccl/issues/841", 1, 8, "A100 80GB PCIe", "", "all-reduce", 21, FINE, ""),
    ("NVIDIA/nccl-tests/issues/178", 1, 2, "A100 80GB PCIe", "", "all-reduce", 208, FINE, ""),
    ("NVIDIA/nccl-tests/issues/178", 1, 3, "A100 80GB PCIe", "", "all-reduce", 20, FINE, ""),
    ("NVIDIA/nccl-tests/issues/149", 1, 8, "A100-SXM4", "", "all-reduce", 200, FINE, ""),
    ("NVIDIA/nccl-tests/issues/331", 1, 2, "A100-SXM-64GB", "", "sendrecv", 72, FINE, ""),  # a board of four
    ("NVIDIA/nccl-tests/issues/78", 8, 8, "V100-SXM2", "1x100Gb/s", "all-reduce", 4.32, SLOW, ""),
    ("NVIDIA/nccl-tests/issues/78", 8, 8, "V100-SXM2", "1x100Gb/s", "all-to-all", 0.51, SLOW, ""),
    ("NVIDIA/nccl/issues/1272", 8, 4, "GH200 120GB", "4x200Gb/s", "sendrecv", 24.24, FINE, ""),
    ("NVIDIA/nccl/issues/1272", 8, 4, "GH200 120GB", "4x200Gb/s", "sendrecv", 18.3, SLOW, ""),
    ("NVIDIA/nccl-tests/issues/106", 2, 8, "A100-SXM4", "8x100Gb/s", "all-reduce", 88, FINE, ""),
    ("NVIDIA/nccl-tests/issues/106", 2, 8, "A100-SXM4", "8x100Gb/s", "all-reduce", 49, SLOW, ""),
    ("NVIDIA/nccl-tests/issues/169", 2, 8, "A100-SXM4", "8x100Gb/s", "all-reduce", 100, FINE, ""),
    ("NVIDIA/nccl-tests/issues/169", 6, 8, "A100-SXM4", "8x100Gb/s", "all-reduce", 40, SLOW, ""),
    ("NVIDIA/nccl/issues/2171", 2, 8, "H100", "8x400Gb/s", "all-reduce", 154.9, SLOW, "no-gdr"),
    ("NVIDIA/nccl/issues/2171", 1, 8, "H100", "", "all-reduce", 474, FINE, "nvls"),
    ("NVIDIA/nccl/issues/1676", 2, 8, "A100-SXM4", "8x200Gb/s", "all-reduce", 10, SLOW, "no-gdr"),
    ("NVIDIA/nccl/issues/1676", 2, 8, "A100-SXM4", "8x200Gb/s", "all-reduce", 180, FINE, ""),
    ("NVIDIA/nccl/issues/465", 4, 8, "V100-SXM2", "1x100Gb/s", "all-reduce", 6, SLOW, "no-gdr"),
    ("NVIDIA/nccl/issues/1454", 300, 8, "H100", "4x400Gb/s", "all-reduce", 14, SLOW, ""),
    ("NVIDIA/nccl/issues/1600", 16, 8, "H100", "8x400Gb/s", "all-reduce", 10, SLOW, "misconfiguration"),
    ("ROCm/rccl/pull/2078", 2, 8, "AMD Instinct MI300X", "8x400Gb/s", "all-reduce", 360, FINE, ""),
    ("NVIDIA/dgx-spark-playbooks/issues/25", 2, 1, "GB10", "1x200Gb/s", "all-gather", 20.9, FINE, ""),
    ("NVIDIA/dgx-spark-playbooks/issues/102", 2, 1, "GB10", "1x200Gb/s", "all-gather", 3, SLOW, "misconfiguration"),
    ("NVIDIA/nccl/issues/450", 4, 8, "V100-SXM2", "1x100Gb/s", "all-reduce", 5, SLOW, "nic-limited"),
    ("NVIDIA/nccl/issues/209", 2, 1, "V100-SXM2", "1x32Gb/s", "all-reduce", 3.87, FINE, ""),
    ("NVIDIA/nccl/issues/209", 2, 8, "V100-SXM2", "1x32Gb/s", "all-reduce", 1.85, SLOW, "nic-limited"),
    ("NVIDIA/nccl-tests/issues/160", 4, 8, "A100-SXM4", "4x200Gb/s", "all-reduce", 80, FINE, ""),
    ("NVIDIA/nccl-tests/issues/153", 2, 8, "H800", "8x100Gb/s", "all-reduce", 161, FINE, "nvls"),
    ("NVIDIA/nccl-tests/issues/265", 2, 1, "H100", "1x400Gb/s", "all-reduce", 30, SLOW, "nic-limited"),
    ("uccl-project/uccl/issues/205", 8, 8, "H100", "8x400Gb/s", "all-reduce", 350, FINE, ""),
    ("NVIDIA/nccl/issues/1084", 2, 8, "A30", "2x100Gb/s", "all-reduce", 7.9, SLOW, "no-gdr"),
    ("NVIDIA/nccl/issues/235", 2, 8, "V100-SXM2", "1x100Gb/s", "all-reduce", 15.6, FINE, ""),
    ("NVIDIA/nccl/issues/235", 32, 8, "V100-SXM2", "1x100Gb/s", "all-reduce", 7, SLOW, ""),
    ("NVIDIA/nccl-tests/pull/59", 2, 8, "A100-SXM4", "8x200Gb/s", "all-gather", 200, FINE, ""),
    ("NVIDIA/nccl-tests/pull/59", 2, 8, "A100-SXM4", "8x200Gb/s", "all-to-all", 25, FINE, ""),
    ("NVIDIA/nccl/issues/1455", 1, 8, "H100", "", "all-reduce", 480, FINE, "nvls"),
    ("NVIDIA/nccl/issues/1455", 1, 5, "H100", "", "all-reduce", 420, FINE, "nvls"),
    ("NVIDIA/nccl/issues/1455", 1, 2, "H100", "", "all-reduce", 367, FINE, ""),
    ("NVIDIA/nccl-tests/issues/196", 2, 8, "H100 PCIe", "1x100Gb/s", "all-reduce", 15, FINE, ""),
    ("NVIDIA/nccl-tests/issues/93", 1, 4, "V100-SXM2", "", "all-reduce", 31.7, FINE, ""),
    ("NVIDIA/nccl-tests/issues/93", 1, 4, "V100-SXM2", "", "all-reduce", 15.5, SLOW, ""),
    ("NVIDIA/nccl-tests/issues/152", 2, 8, "A100-SXM4", "4x200Gb/s", "all-reduce", 30, SLOW, "no-gdr"),
    ("NVIDIA/nccl/issues/1281", 1, 8, "H100", "", "reduce-scatter", 360, FINE, ""),
    ("NVIDIA/nccl/issues/1281", 1, 8, "H100", "", "all-gather", 350, FINE, ""),
    ("NVIDIA/nccl/issues/1229", 4, 8, "H100", "8x400Gb/s", "reduce-scatter", 360, FINE, ""),
    ("NVIDIA/nccl/issues/1229", 64, 8, "H100", "8x400Gb/s", "reduce-scatter", 280, FINE, ""),
    ("NVIDIA/nccl/issues/812", 2, 8, "A100-SXM4", "8x100Gb/s", "all-reduce", 60, SLOW, ""),
    ("ROCm/rocm-systems/pull/9406", 2, 8, "AMD Instinct MI350X", "8x400Gb/s", "all-reduce", 249, FINE, ""),
    ("aws/aws-ofi-nccl/issues/33", 2, 8, "V100-SXM2", "1x100Gb/s", "all-reduce", 24.4, FINE, ""),
    ("aws/aws-ofi-nccl/issues/33", 2, 8, "V100-SXM2", "1x100Gb/s", "all-reduce", 15.2, SLOW, ""),
    ("NVIDIA/nccl/issues/340", 1, 2, "GeForce RTX 2080 Ti", "", "broadcast", 21.9, FINE, ""),
    # of a second trial: of 62 logs of 47 places 45 right and 5 wrong from the log alone, 57 and 4 with what their
    # authors tell, before the rules were mended
    ("ROCm/ROCm/issues/5571", 2, 1, "AMD Radeon AI PRO R9700", "", "all-reduce", 10.8, SLOW, "no-gdr"),
    ("ROCm/rccl/issues/1562", 1, 8, "AMD Instinct MI300X VF", "", "all-reduce", 293, FINE, ""),
    ("NVIDIA/nccl-tests/issues/293", 2, 1, "A100-PCIE-40GB", "1x200Gb/s", "all-reduce", 6.44, SLOW, ""),
    ("NVIDIA/nccl-tests/issues/293", 2, 1, "A100-PCIE-40GB", "1x200Gb/s", "all-reduce", 1.1, SLOW, "no-gdr"),
    ("NVIDIA/nccl-tests/issues/293", 2, 1, "A100-PCIE-40GB", "1x200Gb/s", "all-reduce", 8.8, SLOW, "no-gdr"),
    ("coreweave/nccl-tests/pull/92", 2, 8, "B200", "8x400Gb/s", "all-reduce", 690, FINE, ""),
    ("coreweave/nccl-tests/pull/92", 2, 8, "H100", "8x400Gb/s", "all-reduce", 440.6, FINE, ""),
    ("NVIDIA/nccl/issues/1303", 2, 8, "H100", "16x200Gb/s", "all-reduce", 41, SLOW, "misconfiguration"),
    ("NVIDIA/nccl/issues/1303", 2, 8, "H100", "16x200Gb/s", "all-reduce", 51, SLOW, "misconfiguration"),
    ("NVIDIA/nccl/issues/1303", 2, 8, "H100", "16x200Gb/s", "all-reduce", 193, SLOW, "misconfiguration"),
    ("NVIDIA/nccl/issues/1303", 2, 8, "H100", "16x200Gb/s", "all-reduce", 365, FINE, ""),
    ("NVIDIA/nccl/issues/1792", 16, 8, "H20", "", "all-to-all", 20, SLOW, ""),
    ("NVIDIA/nccl-tests/issues/83", 2, 4, "V100-PCIE-16GB", "1x25Gb/s", "all-reduce", 1.7, SLOW, "nic-limited"),
    ("NVIDIA/nccl/issues/398", 2, 1, "V100-SXM2", "1x100Gb/s", "all-reduce", 4.75, SLOW, "nic-limited"),
    ("NVIDIA/dgx-spark-playbooks/pull/103", 2, 1, "GB10", "1x200Gb/s", "all-gather", 23.74, FINE, ""),
    ("NVIDIA/dgx-spark-playbooks/pull/103", 2, 1, "GB10", "1x200Gb/s", "all-gather", 3.04, SLOW, "misconfiguration"),
    ("oracle-quickstart/oci-hpc-oke", 2, 8, "A100-SXM4", "16x100Gb/s", "all-reduce", 190, FINE, ""),
    ("awslabs/awsome-distributed-ai", 2, 8, "B300", "16x400Gb/s", "all-reduce", 751, FINE, ""),
    ("NVIDIA/nccl-tests/issues/332", 1, 8, "GeForce RTX 5090", "", "all-to-all", 33, FINE, ""),
    ("NVIDIA/nccl-tests/issues/332", 1, 8, "GeForce RTX 5090", "", "all-to-all", 22, FINE, ""),
    ("NVIDIA/nccl-tests/issues/326", 1, 8, "H100", "", "all-gather", 360, FINE, ""),
    # of a third trial, written down before any rule saw them: 38 logs and then, after mending, 23 and 16 more; from the
    # log alone 22, 16 and 13 of them right and 4, 2 and 1 wrong
    ("NVIDIA/nccl-tests/issues/380", 2, 8, "H200", "4x400Gb/s", "all-reduce", 320, FINE, ""),
    ("NVIDIA/nccl-tests/issues/380", 2, 8, "H200", "4x400Gb/s", "all-reduce", 184, SLOW, "no-gdr"),
    ("NVIDIA/nccl-tests/issues/297", 2, 8, "H100", "4x400Gb/s", "all-reduce", 362, FINE, ""),
    ("NVIDIA/nccl/issues/1161", 1, 2, "H100 PCIe", "", "all-reduce", 116, SLOW, ""),
    ("aws/aws-k8s-tester/pull/503", 2, 8, "H100", "32x100Gb/s", "all-reduce", 442, FINE, ""),
    ("aws/aws-ofi-nccl/issues/65", 2, 8, "A100-SXM4", "4x100Gb/s", "all-reduce", 42, SLOW, ""),
    ("NVIDIA/nccl/issues/527", 4, 8, "A100-SXM4", "4x100Gb/s", "all-reduce", 29.6, SLOW, ""),
    # of a fourth trial, likewise: 36 logs and then, after mending, 15 more; from the log alone 23 and 11 of them right
    # and 5 and 2 wrong, with what their authors tell 31 and 13 right, 3 and 2 wrong
    ("NVIDIA/nccl-tests/issues/290", 2, 8, "H100", "8x400Gb/s", "all-reduce", 155.6, SLOW, ""),
    ("NVIDIA/nccl-tests/issues/290", 2, 8, "H100", "8x400Gb/s", "all-reduce", 89.9, SLOW, ""),
    ("NVIDIA/nccl/issues/1412", 2, 8, "A100-SXM4", "4x200Gb/s", "all-reduce", 93, FINE, ""),
    ("NVIDIA/nccl/issues/2035", 8, 8, "B300", "8x800Gb/s", "all-reduce", 200, SLOW, ""),
    ("NVIDIA/nccl/issues/2035", 16, 8, "B300", "8x800Gb/s", "all-reduce", 760, FINE, ""),
    ("NVIDIA/nccl/issues/1801", 3, 4, "GB200", "4x400Gb/s", "all-reduce", 196.87, FINE, ""),  # of three racks
    ("NVIDIA/nccl/issues/1801", 3, 8, "GB200", "8x400Gb/s", "all-reduce", 393.64, FINE, ""),
    ("NVIDIA/nccl-tests/issues/22", 2, 8, "V100-SXM2", "1x100Gb/s", "all-reduce", 15.6, FINE, ""),
    ("NVIDIA/nccl-tests/issues/100", 2, 8, "A100-SXM4", "4x200Gb/s", "all-reduce", 91, FINE, ""),
    ("NVIDIA/nccl/issues/307", 2, 8, "V100-SXM2", "4x100Gb/s", "broadcast", 19, SLOW, "nic-limited"),
    ("oracle-japan/ocitutorials", 2, 8, "A100-SXM4", "16x100Gb/s", "all-reduce", 57, SLOW, "misconfiguration"),
    ("oracle-japan/ocitutorials", 2, 8, "A100-SXM4", "16x100Gb/s", "all-reduce", 221, FINE, ""),
    ("skypilot-org/skypilot", 2, 8, "H200", "8x400Gb/s", "all-reduce", 482, FINE, ""),
    ("skypilot-org/skypilot", 2, 8, "H200", "8x400Gb/s", "all-reduce", 3.7, SLOW, "misconfiguration"),
    ("tonyd2wild/DeepSeek-v4-Flash/pull/35", 2, 1, "GB10", "1x200Gb/s", "all-reduce", 12.25, SLOW, "single-nic"),
    ("tonyd2wild/DeepSeek-v4-Flash/pull/35", 2, 1, "GB10", "1x200Gb/s", "all-reduce", 20.1, FINE, ""),
    ("tinygrad/open-gpu-kernel-modules/issues/17", 1, 5, "GeForce RTX 4090", "", "all-reduce", 24.7, FINE, ""),
    ("dstackai/dstack", 2, 8, "B200", "8x400Gb/s", "all-reduce", 683, FINE, ""),
    ("dstackai/dstack", 2, 8, "H100", "4x200Gb/s", "all-gather", 50, FINE, ""),
    # of a fifth trial, likewise: 46 logs and then, after mending, 20 more, nine of them without a name of a GPU; from
    # the log alone 36 and 10 of them right and 5 and 0 wrong, with what is told 42 and 15 right, 2 and 0 wrong
    ("NVIDIA/nccl-tests/issues/272", 1, 8, "H200", "", "all-reduce", 475, FINE, "nvls"),
    ("NVIDIA/nccl/issues/1807", 1, 8, "B200", "", "all-reduce", 830, FINE, "nvls"),
    ("NVIDIA/nccl/issues/319", 8, 8, "V100-SXM2", "4x100Gb/s", "all-reduce", 43.53, FINE, ""),
    ("NVIDIA/nccl/issues/319", 8, 8, "V100-SXM2", "4x100Gb/s", "all-reduce", 19.53, SLOW, "congestion"),
    ("NVIDIA/nccl/issues/325", 2, 8, "V100-SXM2", "4x100Gb/s", "all-reduce", 39, FINE, ""),
    ("NVIDIA/nccl/issues/325", 2, 8, "V100-SXM2", "4x100Gb/s", "all-reduce", 25, SLOW, "congestion"),
    ("NVIDIA/nccl/issues/1202", 1, 4, "L40S", "", "all-reduce", 22, FINE, ""),
    ("NVIDIA/nccl/issues/1202", 2, 1, "L40S", "2x100Gb/s", "all-reduce", 21.4, FINE, ""),
    ("NVIDIA/nccl/issues/588", 12, 8, "A100-SXM4", "", "all-reduce", 3.7, SLOW, "misconfiguration"),
    ("NVIDIA/nccl/issues/1218", 32, 8, "H100", "8x400Gb/s", "all-reduce", 340, FINE, ""),
    ("NVIDIA/nccl-tests/issues/371", 2, 8, "H100", "8x400Gb/s", "all-reduce", 70, SLOW, "no-gdr"),
    ("NVIDIA/nccl-tests/issues/321", 2, 2, "H20", "", "all-to-all", 50.37, SLOW, ""),
    ("NVIDIA/nccl-tests/issues/44", 1, 2, "GeForce RTX 2080 Ti", "", "all-gather", 21.1, FINE, ""),
    ("NVIDIA/aicr/issues/1413", 2, 4, "GB300", "8x400Gb/s", "all-reduce", 387, FINE, ""),
    ("nebius/nebius-solutions-library/pull/1135", 2, 4, "GB300", "4x400Gb/s", "all-reduce", 246, FINE, ""),
    ("nebius/nebius-solutions-library/pull/1135", 2, 4, "GB300", "", "all-reduce", 599, FINE, ""),
    ("voipmonitor/rtx6kpro", 1, 8, "RTX PRO 6000 Blackwell", "", "all-reduce", 41.1, FINE, ""),
    ("voipmonitor/rtx6kpro", 1, 7, "RTX PRO 6000 Blackwell", "", "all-reduce", 41.5, FINE, ""),
    ("voipmonitor/rtx6kpro", 1, 2, "RTX PRO 6000 Blackwell", "", "all-reduce", 18.9, FINE, ""),  # in PCIe 4.0
    ("lessizzmore/create-a3mega-ztan-fork", 2, 8, "H100", "8x200Gb/s", "all-reduce", 338.8, FINE, ""),
    ("Anthony-Hoo/Anthony-Hoo.github.io", 1, 2, "GeForce RTX 2080 Ti", "", "all-reduce", 4, SLOW, "p2p-disabled"),
    ("CCI-MOC/roce-testing", 2, 1, "", "1x400Gb/s", "sendrecv", 15.49, SLOW, ""),
    ("CCI-MOC/roce-testing", 2, 4, "", "1x400Gb/s", "sendrecv", 5.84, SLOW, ""),
    # of a sixth trial, likewise: 48 logs and then, after mending, 21 more, most of them tables without the lines of
    # devices; from the log alone 35 and 13 of them right and 4 and 0 wrong, with what is told 42 and 17 right, 5 and 2
    # wrong
    ("eth-cscs/cscs-docs", 2, 4, "GH200 120GB", "4x200Gb/s", "all-reduce", 122.57, FINE, ""),
    ("eth-cscs/cscs-docs", 2, 4, "GH200 120GB", "4x200Gb/s", "all-reduce", 5.43, SLOW, "misconfiguration"),
    ("eth-cscs/cscs-docs", 2, 1, "GH200 120GB", "1x200Gb/s", "all-reduce", 22.86, FINE, ""),
    ("dingp/communication-libraries-image", 8, 4, "A100-SXM4", "4x200Gb/s", "all-reduce", 68.96, FINE, ""),
    ("dingp/communication-libraries-image", 8, 4, "A100-SXM4", "4x200Gb/s", "all-reduce", 23.76, SLOW, "single-nic"),
    ("dingp/communication-libraries-image", 2, 4, "A100-SXM4", "4x200Gb/s", "all-reduce", 72.23, FINE, ""),
    ("NVIDIA/nccl-tests/issues/309", 8, 8, "H100", "8x400Gb/s", "all-reduce", 320.7, FINE, ""),
    ("aws-samples/aws-do-eks", 1, 8, "H100", "", "all-reduce", 468.6, FINE, "nvls"),
    ("aws-samples/aws-do-eks", 2, 8, "H100", "32x100Gb/s", "all-reduce", 438.85, FINE, ""),
    ("NVIDIA/nccl/issues/1222", 4, 8, "H100", "8x400Gb/s", "all-reduce", 391.1, FINE, ""),
    ("pytorch/pytorch/issues/117748", 8, 8, "H100", "32x100Gb/s", "all-reduce", 104.2, SLOW, "misconfiguration"),
    ("pytorch/pytorch/issues/117748", 8, 8, "H100", "32x100Gb/s", "all-reduce", 279.78, FINE, ""),
    ("NVIDIA/nccl-tests/issues/352", 2, 4, "A100-SXM-64GB", "4x100Gb/s", "all-reduce", 12.25, SLOW, "single-nic"),
    ("NVIDIA/nccl-tests/issues/352", 2, 4, "A100-SXM-64GB", "4x100Gb/s", "all-reduce", 87.5, FINE, ""),
    ("NVIDIA/nccl-tests/issues/156", 2, 8, "A800", "4x200Gb/s", "all-reduce", 76, SLOW, ""),
    ("NVIDIA/nccl-tests/issues/156", 2, 8, "A800", "4x200Gb/s", "all-reduce", 96, FINE, ""),
    ("NVIDIA/nccl-tests/issues/187", 14, 8, "A800", "", "all-reduce", 95, FINE, ""),
    ("NVIDIA/nccl/issues/1138", 2, 8, "A100-SXM4", "4x200Gb/s", "all-to-all", 19.83, FINE, ""),
    ("GoogleCloudPlatform/cluster-toolkit", 2, 8, "H100", "4x200Gb/s", "all-gather", 71.35, FINE, ""),
    ("GoogleCloudPlatform/cluster-toolkit", 2, 8, "H100", "8x200Gb/s", "all-gather", 188.9, FINE, ""),
    ("dstackai/dstack", 2, 8, "A100-SXM4", "8x200Gb/s", "all-reduce", 194.06, FINE, ""),
    ("oracle-quickstart/oci-hpc-oke", 2, 8, "A100-SXM4", "16x100Gb/s", "all-reduce", 237.94, FINE, ""),
    ("skypilot-org/skypilot", 2, 8, "H100", "8x400Gb/s", "all-reduce", 467.28, FINE, ""),
    ("coreweave/nccl-tests", 12, 8, "H100", "8x400Gb/s", "all-reduce", 386.56, FINE, ""),
    ("microsoft/superbenchmark", 1, 8, "A100-SXM4", "", "all-gather", 223.39, FINE, ""),
    ("oracle-japan/ocitutorials", 1, 8, "V100-SXM2", "", "all-reduce", 135.5, FINE, ""),
    ("oracle-japan/ocitutorials", 1, 8, "A100-SXM4", "", "all-reduce", 232.2, FINE, ""),
    ("oracle-japan/ocitutorials", 2, 8, "A100-SXM4", "16x100Gb/s", "all-reduce", 224.87, FINE, ""),
    # of a seventh trial, likewise: 41 logs, 15 of them slow and most of them tables alone; from the log alone 22 of
    # them right and 1 wrong, with what is told 30 and 3; the cause was named of 7 of 14 alone, and of 12 told
    ("NVIDIA/nccl-tests/issues/362", 2, 8, "", "", "all-reduce", 481, FINE, ""),
    ("NVIDIA/nccl-tests/issues/362", 2, 8, "", "", "all-reduce", 104, SLOW, "no-gdr"),
    ("NVIDIA/nccl/issues/371", 2, 8, "", "", "all-reduce", 6.12, SLOW, "no-gdr"),
    ("NVIDIA/nccl/issues/371", 2, 8, "", "", "all-reduce", 9.24, FINE, ""),
    ("NVIDIA/nccl-tests/issues/252", 2, 4, "H100", "4x200Gb/s", "all-reduce", 94.8, FINE, ""),
    ("NVIDIA/nccl-tests/issues/287", 1, 4, "GeForce RTX 5090", "", "all-reduce", 27.27, FINE, ""),
    ("Azure/aks-rdma-infiniband", 2, 8, "", "8x200Gb/s", "all-reduce", 187, FINE, ""),
    ("Azure/aks-rdma-infiniband", 2, 8, "", "8x200Gb/s", "all-reduce", 3.12, SLOW, "misconfiguration"),
    ("aws-samples/aws-efa-eks", 2, 8, "A100-SXM4", "4x100Gb/s", "all-reduce", 32.8, FINE, ""),
    ("kubernetes-sigs/dranet", 2, 1, "GB200", "1x400Gb/s", "all-reduce", 46, FINE, ""),
    ("kubernetes-sigs/dranet", 2, 1, "GB200", "1x400Gb/s", "all-reduce", 25, SLOW, "no-gdr"),
    ("kubernetes-sigs/dranet", 2, 1, "H200", "1x400Gb/s", "all-gather", 32.8, FINE, ""),
    ("Azure/AKS", 2, 1, "GB300", "", "all-reduce", 56, FINE, ""),
    ("Azure/AKS", 2, 1, "GB300", "", "all-reduce", 25, SLOW, "no-gdr"),
    # of an eighth trial, likewise: 19 logs, 8 of them slow; alone 9 of them right and 4 wrong, told 17 and 1; the cause
    # was named of 4 of 7 alone, and of 5 told
    ("NVIDIA/nccl/issues/439", 2, 2, "A100-SXM4", "2x200Gb/s", "all-reduce", 24, SLOW, "single-nic"),
    ("NVIDIA/nccl/issues/439", 2, 2, "A100-SXM4", "2x200Gb/s", "all-reduce", 48, FINE, ""),
    ("NVIDIA/nccl/issues/644", 1, 8, "", "", "all-gather", 5.3, SLOW, "misconfiguration"),
    ("NVIDIA/nccl/issues/1856", 3, 8, "", "2x400Gb/s", "all-gather", 20, SLOW, ""),
    ("NVIDIA/nccl-tests/issues/311", 4, 2, "A100-SXM4", "1x200Gb/s", "all-reduce", 21.7, FINE, ""),
    ("tinygrad/open-gpu-kernel-modules", 1, 6, "GeForce RTX 4090", "", "all-reduce", 24.58, FINE, ""),
    ("kubernetes-sigs/dranet", 2, 1, "GB300", "1x400Gb/s", "all-reduce", 53.9, FINE, ""),
    ("kubernetes-sigs/dranet", 2, 1, "GB300", "2x400Gb/s", "all-reduce", 104.65, FINE, ""),
    # of a ninth trial, likewise: 53 logs, 22 of them slow, most of them tables alone or figures of reports; alone 41 of
    # them right and 3 wrong, with what is told 49 and 2; the cause was named of 19 of 22, alone as well as told
    ("GB300 NVL72 bring-up", 1, 4, "GB300", "", "all-reduce", 48, SLOW, "misconfiguration"),
    ("GB300 NVL72 bring-up", 1, 4, "GB300", "", "all-reduce", 687, FINE, ""),
    ("Notes on rented A100 PCIe", 1, 2, "A100 80GB PCIe", "", "all-reduce", 2.29, SLOW, "p2p-disabled"),
    ("A3 High without TCPX, scaling lab", 1, 8, "H100", "", "all-reduce", 465.43, FINE, ""),
    ("A3 High without TCPX, scaling lab", 2, 8, "H100", "", "all-reduce", 23.7, SLOW, "misconfiguration"),
    ("A3 High without TCPX, scaling lab", 3, 8, "H100", "", "all-reduce", 14.95, SLOW, "misconfiguration"),
    ("A3 High without TCPX, scaling lab", 2, 8, "H100", "", "all-reduce", 28.6, SLOW, "misconfiguration"),
    ("B200 on Ubuntu, notes for the admins", 2, 8, "B200", "8x400Gb/s", "all-reduce", 268.4, FINE, ""),
    ("Two DGX Spark, bring-up notes", 2, 1, "GB10", "1x200Gb/s", "all-reduce", 3.02, SLOW, "misconfiguration"),
    ("Two DGX Spark, bring-up notes", 2, 1, "GB10", "1x200Gb/s", "all-reduce", 23.39, FINE, ""),
    ("GB10, one HCA or both", 2, 1, "GB10", "1x200Gb/s", "all-reduce", 12.53, SLOW, "single-nic"),
    ("GB10, one HCA or both", 2, 1, "GB10", "1x200Gb/s", "all-reduce", 23.55, FINE, ""),
    ("Azure H100, azcluster", 2, 8, "H100", "8x400Gb/s", "all-reduce", 466.4, FINE, ""),
    ("Isolated all-reduce on 8 GPUs", 1, 8, "", "", "all-reduce", 443, FINE, ""),
    ("6 H100 of a box, scaling", 1, 6, "H100", "", "all-reduce", 443, FINE, ""),
    ("GB300 on Kubernetes, tests of images", 2, 4, "GB300", "4x400Gb/s", "all-reduce", 325.88, FINE, ""),
    ("GB300 on Kubernetes, tests of images", 2, 4, "GB300", "", "all-reduce", 3.67, SLOW, "misconfiguration"),
    ("Arrhenius, pip NCCL", 2, 4, "GH200", "", "all-reduce", 6.5, SLOW, "misconfiguration"),
    ("Arrhenius, pip NCCL", 1, 4, "GH200", "", "all-reduce", 330, FINE, ""),
    ("A3 Mega, 8 nodes validated", 8, 8, "H100", "8x200Gb/s", "all-reduce", 187, FINE, ""),
    ("B300, NCCL's protocols", 1, 8, "B300", "", "all-reduce", 836.5, FINE, ""),
    ("Nebius Slurm, quick check", 2, 8, "", "", "all-reduce", 475, FINE, ""),
    ("482 on two and 392 on three nodes", 3, 8, "", "8x400Gb/s", "all-reduce", 392, FINE, ""),
    ("HyperPod on EKS, no plugin", 2, 8, "H200", "", "all-reduce", 3.2, SLOW, "misconfiguration"),
    ("4 H20, preflight", 1, 4, "H20", "", "all-reduce", 351.1, FINE, ""),
    ("MLPerf on bridged H100 NVL", 1, 2, "H100 NVL", "", "all-reduce", 211, FINE, ""),
    ("FastVideo on a pair of Sparks", 2, 1, "GB10", "1x200Gb/s", "all-reduce", 21, FINE, ""),
    (
        "4 RTX 4090 on EPYC, SHM by kernel or copy engine",
        1,
        2,
        "RTX 4090",
        "",
        "all-reduce",
        2.24,
        SLOW,
        "p2p-disabled",
    ),
    (
        "4 RTX 4090 on EPYC, SHM by kernel or copy engine",
        1,
        4,
        "RTX 4090",
        "",
        "all-reduce",
        2.17,
        SLOW,
        "p2p-disabled",
    ),
    ("4 RTX 4090 on EPYC, SHM by kernel or copy engine", 1, 4, "RTX 4090", "", "all-reduce", 10.59, FINE, ""),
    ("NVIDIA/nccl-tests/issues/307", 1, 8, "NVIDIA GeForce RTX 4090", "", "all-reduce", 5, SLOW, "p2p-disabled"),
    ("NVIDIA/nccl-tests/issues/319", 2, 8, "H100", "8x400Gb/s", "all-reduce", 89.24, SLOW, "no-gdr"),
    ("P6-B300 over EFA", 2, 8, "B300", "16x400Gb/s", "all-reduce", 870.3, FINE, ""),
    ("NVIDIA LLM benchmarking, H100", 1, 8, "H100", "", "all-reduce", 479.9, FINE, ""),
    ("16 H100 with 8 x 400G", 2, 8, "H100", "8x400Gb/s", "all-reduce", 391.45, FINE, ""),
    ("GKE TCPXO, a test's sample", 2, 8, "H100", "8x200Gb/s", "all-reduce", 333.5, FINE, ""),
    ("8 A100, a parser's sample", 1, 8, "A100-SXM4", "", "all-reduce", 197.87, FINE, ""),
    ("MI355X, a parser's sample", 2, 8, "AMD Instinct MI355X", "8x400Gb/s", "all-reduce", 343.57, FINE, ""),
    ("3 T4 over sockets", 3, 1, "Tesla T4", "", "all-reduce", 0.5, SLOW, "misconfiguration"),
    ("RoCE VF in Kubernetes, Koordinator", 2, 1, "", "1x25Gb/s", "all-reduce", 2.84, FINE, ""),
    ("2 V100 PCIe of an Azure VM", 1, 2, "V100-PCIE-16GB", "", "all-reduce", 6.88, FINE, ""),
    ("Makani at ALCF, cores of ranks", 2, 4, "A100-SXM4", "2x200Gb/s", "all-reduce", 4.08, SLOW, "misconfiguration"),
    ("Makani at ALCF, cores of ranks", 2, 4, "A100-SXM4", "2x200Gb/s", "all-reduce", 36.93, FINE, ""),
    ("4 R9700, an image's legacy IPC", 1, 4, "AMD Radeon AI PRO R9700", "", "all-reduce", 11.6, SLOW, "p2p-disabled"),
    ("4 R9700, an image's legacy IPC", 1, 4, "AMD Radeon AI PRO R9700", "", "all-reduce", 19.7, FINE, ""),
    ("H200 booted by PXE without iommu=pt", 2, 8, "H200", "8x400Gb/s", "all-reduce", 101, SLOW, "no-gdr"),
    ("GB10, a card attached while running", 2, 1, "GB10", "1x200Gb/s", "all-reduce", 2.8, SLOW, "misconfiguration"),
    ("Two GPUs of a host over loopback", 1, 2, "", "", "all-reduce", 1.7, SLOW, "misconfiguration"),
    ("One cable, sockets or RDMA", 2, 1, "", "", "all-reduce", 4, SLOW, "misconfiguration"),
    ("One cable, sockets or RDMA", 2, 1, "", "", "all-reduce", 42, FINE, ""),
    ("Containers over Slingshot", 2, 4, "GH200", "4x200Gb/s", "all-reduce", 13, SLOW, "misconfiguration"),
    # of a tenth trial, likewise: 28 logs, 9 of them slow, most of them tables as posted; alone 20 of them right and 1
    # wrong, with what is told 23 and 1; the cause was named of 6 of 9, alone as well as told
    ("NVIDIA tools on OpenShift, L40S", 2, 1, "L40S", "", "all-reduce", 8.12, SLOW, "misconfiguration"),
    ("Kubeflow on A800, a sample job", 12, 2, "A800-SXM4-80GB", "", "all-reduce", 42.3, FINE, ""),
    ("H200 on Azure, a driver update", 1, 8, "H200", "", "all-reduce", 478.1, FINE, "nvls"),
    ("EC2's guide to EFA, p3dn", 2, 8, "V100-SXM2-32GB", "1x100Gb/s", "all-reduce", 8.95, FINE, ""),
    ("B200 over gIB, a job of two nodes", 2, 8, "B200", "8x400Gb/s", "all-reduce", 684.5, FINE, ""),
    ("Two DGX H100, a pasted run", 2, 8, "H100", "8x400Gb/s", "all-reduce", 472.4, FINE, ""),
    ("MI300X in a Kubernetes cloud of AMD's", 1, 8, "AMD Instinct MI300X", "", "all-reduce", 315.9, FINE, ""),
    ("MI300X under Slurm at AMD's", 2, 8, "AMD Instinct MI300X", "8x400Gb/s", "all-reduce", 357.5, FINE, ""),
    ("Containers on a Slingshot machine, an example", 2, 4, "", "", "all-reduce", 158.7, FINE, ""),
    ("Two GB10 stacked, gotchas", 2, 1, "GB10", "1x200Gb/s", "all-gather", 24.2, FINE, ""),
    ("Two GB10 stacked, gotchas", 2, 1, "GB10", "1x200Gb/s", "all-gather", 3, SLOW, "misconfiguration"),
    ("Two GB10 stacked, gotchas", 2, 1, "GB10", "1x200Gb/s", "all-gather", 13.5, SLOW, "single-nic"),
    ("SR-IOV and RoCE in Kubernetes, a validated design", 2, 8, "", "", "all-reduce", 22.9, FINE, ""),
    ("HyperPod's deep health check", 2, 1, "", "", "all-reduce", 1.19, FINE, ""),
    ("MI355X, 2 to 8 GPUs of a box", 1, 8, "AMD Instinct MI355X", "", "all-reduce", 381.8, FINE, ""),
    ("MI355X, 2 to 8 GPUs of a box", 1, 5, "AMD Instinct MI355X", "", "all-reduce", 38, SLOW, "misconfiguration"),
    ("NVIDIA/nccl/issues/1411", 2, 4, "H800", "4x400Gb/s", "all-reduce", 157.6, FINE, ""),
    ("NVIDIA/nccl/issues/1411", 2, 8, "H800", "4x400Gb/s", "all-reduce", 149.3, FINE, ""),
    # of an eleventh trial, likewise: 36 logs, 13 of them slow, half of them figures of reports; alone 21 of them right
    # and 1 wrong, with what is told 29 and 1; the cause was named of 9 of 13 alone, and of 11 told
    ("Azure H200, stress tests beside the job", 4, 8, "H200", "8x400Gb/s", "all-reduce", 390, FINE, ""),
    ("Azure H200, stress tests beside the job", 2, 8, "H200", "8x400Gb/s", "all-reduce", 170, SLOW, "other"),
    ("gVisor with RDMA, test plan", 2, 8, "B200", "", "all-reduce", 386, FINE, ""),
    ("gVisor with RDMA, test plan", 2, 8, "B200", "", "all-reduce", 4, SLOW, "misconfiguration"),
    ("gVisor with RDMA, test plan", 2, 8, "H200", "", "all-reduce", 22, SLOW, "no-gdr"),
    ("Two GB10, one device at MTU 1500", 2, 1, "GB10", "1x200Gb/s", "all-reduce", 17.85, SLOW, "misconfiguration"),
    ("Two GB10, one device at MTU 1500", 2, 1, "GB10", "1x200Gb/s", "all-reduce", 23.85, FINE, ""),
    ("Three GB10 in a ring of cables", 3, 1, "GB10", "1x200Gb/s", "all-reduce", 24, FINE, ""),
    ("A40 rented, P2P or SHM", 1, 2, "A40", "", "all-reduce", 22.11, FINE, ""),
    ("A40 rented, P2P or SHM", 1, 4, "A40", "", "all-reduce", 7.65, SLOW, "p2p-disabled"),
    ("RTX 4090 48G, BAR1 P2P", 1, 4, "GeForce RTX 4090", "", "all-reduce", 16.8, FINE, ""),  # Xeons, as expected
    ("RTX 4090 48G, BAR1 P2P", 1, 8, "GeForce RTX 4090", "", "all-reduce", 14.2, FINE, ""),
    ("RTX 4090 48G, BAR1 P2P", 1, 8, "GeForce RTX 4090", "", "all-reduce", 20.46, FINE, ""),
    ("RTX 4090 48G, BAR1 P2P", 1, 4, "GeForce RTX 4090", "", "all-reduce", 4.1, SLOW, "p2p-disabled"),  # EPYC 7302
    ("RTX 4090 48G, BAR1 P2P", 1, 4, "GeForce RTX 4090", "", "all-reduce", 25.15, FINE, ""),
    ("8 RTX 3090, driver with P2P", 1, 8, "GeForce RTX 3090", "", "all-reduce", 24.7, FINE, ""),
    ("8 RTX 3090, driver with P2P", 1, 8, "GeForce RTX 3090", "", "all-reduce", 2.7, SLOW, "p2p-disabled"),
    ("A3 Mega with TCPXO, scaling lab", 2, 8, "H100", "8x200Gb/s", "all-reduce", 317.84, FINE, ""),
    ("P5en, NCCL as a reference line", 1, 8, "H200", "", "all-reduce", 347, FINE, ""),
    ("Kestrel, collective test for tenders", 16, 4, "H100", "", "all-reduce", 45.72, FINE, ""),
    ("CoreWeave, A100 with SHARP", 4, 8, "A100-SXM4", "", "all-reduce", 159.75, FINE, ""),
    ("Yandex Cloud, cluster of GPUs", 2, 8, "", "", "all-reduce", 121.4, FINE, ""),
    ("A3 High, test plan for one node", 1, 8, "H100", "", "all-reduce", 263.2, FINE, ""),
    ("Flux on GKE, two V100", 2, 1, "V100-SXM2-16GB", "", "all-reduce", 0.74, SLOW, "misconfiguration"),
    ("Kaggle, two T4", 1, 2, "Tesla T4", "", "all-reduce", 4.02, SLOW, "p2p-disabled"),
    ("GB300, transport report", 1, 8, "GB300", "", "all-reduce", 726, FINE, ""),
    ("nano-nccl, two hosts", 2, 4, "", "", "all-reduce", 0.12, SLOW, "misconfiguration"),
    ("NVIDIA/nccl/issues/1603", 1, 4, "GeForce RTX 4090", "", "all-to-all", 2, SLOW, "pcie-limited"),
    ("NVIDIA/nccl/issues/1603", 1, 4, "GeForce RTX 4090", "", "all-to-all", 18, FINE, ""),
    ("NVIDIA/nccl/issues/1603", 1, 4, "GeForce RTX 4090", "", "all-reduce", 22, FINE, ""),
    ("DGX on Talos, NCCL report", 1, 8, "H100", "", "all-reduce", 477.16, FINE, ""),
    ("SkyPilot on converted nodes", 2, 8, "H200", "8x400Gb/s", "all-reduce", 437.5, FINE, ""),
    # of a twelfth trial, likewise: 34 logs, 13 of them slow, half of them figures of reports; alone 15 of them right
    # and 7 wrong, with what is told 25 and 6; the cause was named of 4 of 13 alone, and of 7 told; here are those that
    # the last figure tells, without those that the form of the sweep does (see test_diagnose.py)
    ("A blog on NCCL, 8 V100", 1, 8, "Tesla V100-SXM2-16GB", "", "all-reduce", 129.03, FINE, ""),
    ("aistabci/abci2.0benchmark", 1, 4, "Tesla V100-SXM2-16GB", "", "all-reduce", 112.47, FINE, ""),
    ("eunomia-bpf/nccl-eBPF", 1, 2, "B300", "", "all-reduce", 485.43, FINE, ""),
    ("NVIDIA/deepops", 2, 8, "A100-SXM4", "8x200Gb/s", "all-reduce", 188.61, FINE, ""),
    ("NVIDIA/deepops", 2, 8, "V100-SXM2", "2x100Gb/s", "all-reduce", 22.89, FINE, ""),
    ("NVIDIA/deepops", 4, 8, "A100-SXM4", "8x200Gb/s", "all-reduce", 191.31, FINE, ""),
    ("aws-samples/awsome-distributed-training", 2, 8, "A100-SXM4", "4x100Gb/s", "all-reduce", 78.33, FINE, ""),
    ("kaust-rccl/ksl-docs", 2, 4, "A100-SXM4", "2x200Gb/s", "all-reduce", 43.29, FINE, ""),
    ("NCCL Multinode Characterization", 2, 1, "A100", "1x100Gb/s", "all-reduce", 10.75, FINE, ""),
    ("NVIDIA/nccl/issues/2218", 1, 4, "V100-SXM2", "", "all-gather", 115.35, SLOW, "other"),
    ("NVIDIA/nccl/issues/2218", 1, 4, "V100-SXM2", "", "all-gather", 128.98, FINE, ""),
    ("B300, a regression of all-to-all", 8, 8, "B300", "8x800Gb/s", "all-to-all", 106, FINE, ""),
    ("luxingcom/aicad-nccl-optimization", 4, 1, "GB10", "1x200Gb/s", "all-reduce", 21.5, FINE, ""),
    ("GAAS inter-node debugging notes", 3, 4, "H200", "4x400Gb/s", "broadcast", 28.28, SLOW, "no-gdr"),
    ("GAAS inter-node debugging notes", 3, 4, "H200", "4x400Gb/s", "all-reduce", 34.56, SLOW, "no-gdr"),
)


@pytest.mark.parametrize(
    ("seen", "least_right", "most_wrong", "least_named"),
    [("cards", 0.84, 0.04, 0.88), ("log", 0.8, 0.08, 0.9), ("table", 0.67, 0.04, 0.81)],
    ids=["cards told", "log alone", "table without the lines of devices"],
)
def test_figures_of_public_threads_are_judged_as_they_were_judged_there(seen, least_right, most_wrong, least_named):
    right = wrong = slow = named = 0
    for thread, boxes, gpus, gpu, told, collective, busbw, state, cause in THREADS:
        log = logs.text(busbw * 1e9, boxes=boxes, per_box=gpus, gpu=gpu, collective=collective)
        if seen == "table":
            log = "\n".join(line for line in log.split("\n") if "Rank" not in line)
        found = diagnose(read(log)[0], Hints(cards=cards(told) if told and seen == "cards" else None))
        right += found.state == state
        wrong += found.state not in (state, "undecided")
        assert found.confidence < 0.8, thread
        if cause and state == SLOW:
            slow += 1
            named += cause in (found.cause, *found.alternatives)
    assert right >= least_right * len(THREADS)
    assert wrong <= most_wrong * len(THREADS)
    assert named >= least_named * slow


def test_a_table_with_a_process_label_in_mid_line_shows_a_fabric_that_collapses():
    # NVIDIA/nccl/issues/1453: three boxes over two racks
    log = """
[0]      4194304       1048576     float     sum      -1[0]     622.6    6.74   12.91      0[0]     625.8    6.70   12.85      0
[0]     16777216       4194304     float     sum      -1[0]    1334.9   12.57   24.09      0[0]    1336.5   12.55   24.06      0
[0]     33554432       8388608     float     sum      -1[0]    2180.1   15.39   29.50      0[0]    2285.2   14.68   28.14      0
[0]    268435456      67108864     float     sum      -1[0]    125807    2.13    4.09      0[0]    121575    2.21    4.23      0
[0]    536870912     134217728     float     sum      -1[0]    193909    2.77    5.31      0[0]    192903    2.78    5.33      0
"""  # noqa: E501
    (run,) = read(log)
    found = diagnose(run, Hints(gpu="h100", cards=cards("8x400Gb/s")))
    assert (run.ranks, run.unread, found.state) == (24, (), SLOW)
    assert "congestion" in (found.cause, *found.alternatives)


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


def test_the_page_counts_the_verdicts_on_logs_that_the_rules_had_not_seen():
    """A row is a public log, what was noted of it before, and what first came out, alone and told the machine.

    The rules were mended after each draw. Whether a noted cause was among those named is written from draw 3 on.
    """
    here = Path(__file__)
    rows = list(csv.DictReader((here.parent / "blind.csv").read_text(encoding="utf-8").splitlines()))
    page = json.loads((here.parents[2] / "notebooks" / "is-my-cluster-slow.ipynb").read_text(encoding="utf-8"))
    prose = "".join(line for cell in page["cells"] for line in cell["source"])
    (said,) = re.findall(r"For that, .*?So tell it", prose, re.DOTALL)
    alone, told = (Counter(row[how] for row in rows) for how in ("alone", "told"))
    counts = [each[verdict] for each in (alone, told) for verdict in ("right", "wrong", "undecided")]
    causes = [sum(row[how] == "named" for row in rows) for how in ("alone_cause", "told_cause")]
    noted = sum(row["alone_cause"] != "" for row in rows)
    last = Counter(row["alone"] for row in rows if row["draw"] == rows[-1]["draw"])
    latest = [last.total(), *(last[verdict] for verdict in ("right", "wrong", "undecided"))]
    assert list(map(int, re.findall(r"\d+", said))) == [len(rows), *counts[:3], *latest, *counts[3:], noted, *causes]

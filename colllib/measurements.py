"""Published measurements, as data with their sources."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Measured:
    """Published bus bandwidths of one machine at one size, with and without the switch adding.

    Attributes:
        what: machine, software and size.
        source: where it is published.
        busbw: ranks -> (bus bandwidth as NCCL chose, with NVLS switched off), in bytes per second.
        link: the rate of a rank's links one way, in bytes per second.
    """

    what: str
    source: str
    busbw: dict[int, tuple[float, float]]
    link: float


#: At 4 ranks NCCL chose the ring both times.
H200_BY_RANKS = Measured(
    what="H200 on NVSwitch, nccl-tests all-reduce, 8 GiB, NCCL 2.27.7",
    source="S. Bekman, Machine Learning Engineering, network/README.md, section SHARP, commit c53741b8",
    busbw={
        4: (363.3e9, 363.3e9),
        5: (414.2e9, 364.4e9),
        6: (435.6e9, 365.1e9),
        7: (460.0e9, 365.7e9),
        8: (473.1e9, 365.6e9),
    },
    link=450e9,
)

#: At 4 and 5 ranks NCCL chose the ring.
B200_BY_RANKS = Measured(
    what="B200 on NVSwitch, nccl-tests all-reduce, 8 GiB, NCCL 2.27.7",
    source="S. Bekman, Machine Learning Engineering, network/README.md, section SHARP, commit 744d01e0",
    busbw={
        4: (673.2e9, 673.8e9),
        5: (677.8e9, 677.8e9),
        6: (778.2e9, 677.8e9),
        7: (811.2e9, 680.5e9),
        8: (838.0e9, 682.2e9),
    },
    link=900e9,
)

B300_BY_RANKS = Measured(
    what="B300 on NVSwitch, all-reduce, NCCL 2.30.4",
    source="NVIDIA/nccl issue 2140",
    busbw={8: (845e9, 695e9)},
    link=900e9,
)

NVL72_BY_RANKS = Measured(
    what="NVL72, all-reduce, from a slide",
    source="S. Bekman, Machine Learning Engineering, network/README.md, section SHARP, commit 744d01e0",
    busbw={72: (850e9, 680e9)},
    link=900e9,
)

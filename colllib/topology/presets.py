"""Machines that people have: boxes with the bandwidths that their makers state.

Makers state no latencies. Those here are what NCCL's own model takes for a step of a ring in its
protocol for small messages, over NVLink and over the network, whoever made the machine.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

GB = 1e9
PODS_OF_A_LEAF = 4  # 18 cards of each on a rail, and 72 ports of 144 down
MOST_PODS = 576  # a spine of 144 ports reaches so many leaves


@dataclass(frozen=True)
class Preset:
    """A machine.

    Args:
        expression: from how many boxes, the expression of its topology.
        bandwidth: per port of a box and per card, in bytes per second and direction.
        source: an address for each figure, or a key of the bibliography.
        note: what the model leaves out, where it does.
        inc: which of its switches can add and replicate, an option of `boxes`; empty for none.
    """

    expression: Callable[[int], str]
    bandwidth: tuple[float, float]
    source: tuple[str, ...]
    note: str = ""
    inc: str = ""

    def speeds(self, levels: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Alphas in seconds and bandwidths in bytes per second, one for each level, innermost first.

        >>> PRESETS["dgx-h100"].speeds(2)
        ((6e-07, 2.7e-06), (450000000000.0, 50000000000.0))
        """
        from colllib.measured.tuning import NETWORK_STEP, NVLINK_STEP

        inner, outer = (step["ring"][0] * 1e-6 for step in (NVLINK_STEP, NETWORK_STEP))
        return (inner, *[outer] * (levels - 1)), (self.bandwidth[0], *[self.bandwidth[1]] * (levels - 1))


def _of(ranks: int, *options: str) -> Callable[[int], str]:
    return lambda count: ",".join((f"boxes:{count}x{ranks}", *options))


def _superpod(pods: int) -> str:
    """Rail i has the i-th card of every compute tray; a leaf serves a rail of four pods, spines join its leaves."""
    if pods > MOST_PODS or (pods > PODS_OF_A_LEAF and pods % PODS_OF_A_LEAF):
        raise ValueError(
            f"superpod:{pods}: a leaf serves {PODS_OF_A_LEAF} pods: take at most {PODS_OF_A_LEAF} pods, or a multiple "
            f"of them up to {MOST_PODS}"
        )
    sizes = f"{pods}x72" if pods <= PODS_OF_A_LEAF else f"{pods // PODS_OF_A_LEAF}x{PODS_OF_A_LEAF}x72"
    return f"boxes:{sizes},rails=4,apart=true"


_DGX = "https://docs.nvidia.com/dgx/dgx{0}-user-guide/introduction-to-dgx{0}.html"

#: By name; the number behind the colon is that of boxes, racks, pods or slices.
PRESETS: dict[str, Preset] = {
    "dgx-a100": Preset(_of(8), (300 * GB, 25 * GB), ("nvlink", _DGX.format("a100"))),
    "dgx-h100": Preset(_of(8), (450 * GB, 50 * GB), ("nvlink", _DGX.format("h100")), inc="box"),
    "dgx-h200": Preset(_of(8), (450 * GB, 50 * GB), ("nvlink", _DGX.format("h100")), inc="box"),
    "b200": Preset(_of(8), (900 * GB, 50 * GB), ("nvlink", _DGX.format("b200")), inc="box"),
    "nvl72": Preset(
        _of(72),
        (900 * GB, 50 * GB),
        (
            "gb200nvl72",
            "https://docs.nvidia.com/dgx-superpod/reference-architecture-scalable-infrastructure-gb200/latest/",
        ),
        inc="box",
    ),
    "superpod": Preset(
        _superpod,
        (900 * GB, 100 * GB),
        ("gb200nvl72", "https://www.nvidia.com/en-us/networking/products/infiniband/quantum-x800/"),
        "its cards have the rate of its switches' ports, where NVIDIA's design for the GB200 has half of it (nvl72); "
        "all spines of a rail stand as one switch, over which traffic spreads evenly, and join no two rails",
        inc="box",
    ),
    "gh200": Preset(
        _of(32),
        (450 * GB, 50 * GB),
        (
            "https://developer.nvidia.com/blog/one-giant-superchip-for-llms-recommenders-and-gnns-introducing-nvidia-"
            "gh200-nvl32/",
        ),
        inc="box",
    ),
    "mi250x": Preset(
        _of(8, "cards=4"),
        (50 * GB, 25 * GB),
        ("https://docs.olcf.ornl.gov/systems/frontier_user_guide.html",),
        "its links of 50 to 200 GB/s stand as one port of the slowest one's bandwidth",
    ),
    "mi300x": Preset(
        _of(8, "inside=full-mesh"),
        (64 * GB, 50 * GB),
        (
            "https://www.amd.com/en/products/accelerators/instinct/mi300/platform.html",
            "https://rocm.docs.amd.com/en/latest/how-to/rocm-for-ai/inference/benchmark-docker/vllm-mori-distributed.html",
        ),
    ),
    "trn2": Preset(
        _of(16),
        (512 * GB, 25 * GB),
        ("https://awsdocs-neuron.readthedocs-hosted.com/en/latest/about-neuron/arch/neuron-hardware/trn2-arch.html",),
        "the four links of a chip in its 4 x 4 torus stand as one port of their bandwidth together",
    ),
    "tpu-v5p": Preset(
        _of(64),
        (600 * GB, 6.25 * GB),
        ("tpuv5p",),
        "slices of 4 x 4 x 4 over the data-center network; a chip's six links stand as one port of their bandwidth",
    ),
}

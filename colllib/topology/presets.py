"""Machines that people have: boxes with the bandwidths that their makers state.

Few makers state latencies. Elsewhere they are what NCCL's own model takes for a step of a ring in its
protocol for small messages, over NVLink and over the network.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files

from colllib.measured.tuning import NETWORK_STEP, NVLINK_STEP
from colllib.topology.machines import PRESETS as MACHINES

PODS_OF_A_LEAF = 4  # 18 cards of each on a rail, and 72 ports of 144 down
MOST_PODS = 576  # a spine of 144 ports reaches so many leaves


@dataclass(frozen=True)
class Preset:
    """A machine."""

    expression: Callable[[int], str]  # from how many boxes, that of its topology
    bandwidth: tuple[float, float]  # per port or link in a box and per card, in bytes per second and direction
    alpha: tuple[float, float]  # seconds in a box and outside, where the maker states none those of NCCL
    memory: float | None  # of a GPU, in bytes, where it is needed
    teraflops: int | None  # the peak of a GPU in dense BF16, likewise
    source: tuple[str, ...]  # an address for each figure, or a key of the bibliography
    note: str = ""  # what the model leaves out, where it does

    def speeds(self, levels: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Alphas in seconds and bandwidths in bytes per second, one for each level, innermost first.

        >>> PRESETS["dgx-h100"].speeds(2)
        ((6e-07, 2.7e-06), (450000000000.0, 50000000000.0))
        """
        more = levels - 1
        return (self.alpha[0], *[self.alpha[1]] * more), (self.bandwidth[0], *[self.bandwidth[1]] * more)


def _superpod(pods: int) -> str:
    """Rail i has the i-th card of every compute tray; a leaf serves a rail of four pods, spines join its leaves."""
    if pods > MOST_PODS or (pods > PODS_OF_A_LEAF and pods % PODS_OF_A_LEAF):
        raise ValueError(
            f"superpod:{pods}: a leaf serves {PODS_OF_A_LEAF} pods: take at most {PODS_OF_A_LEAF} pods, or a multiple "
            f"of them up to {MOST_PODS}"
        )
    sizes = f"{pods}x72" if pods <= PODS_OF_A_LEAF else f"{pods // PODS_OF_A_LEAF}x{PODS_OF_A_LEAF}x72"
    return f"boxes:{sizes},rails=4,apart=true,inc=box"


def _bandwidth(name: str, links: int | None = None, GBps: tuple[float, float] | None = None) -> tuple[float, float]:
    """Of a port and a card; a port is all links of a GPU, or one of so many, as of those that lead to one peer each."""
    if GBps is not None:
        return GBps[0] * 1e9, GBps[1] * 1e9
    machine = MACHINES[name]
    return machine.link / (links or machine.mesh or 1), machine.card


_NCCL = [step["ring"][0] for step in (NVLINK_STEP, NETWORK_STEP)]
_TABLE = tomllib.loads((files("colllib") / "topology" / "presets.toml").read_text(encoding="utf-8"))

#: By name; the number behind the colon is that of boxes, racks, pods or slices.
PRESETS = {
    name: Preset(
        _superpod if name == "superpod" else row["topology"].format,
        _bandwidth(name, row.get("links"), row.get("GBps")),
        tuple(1e-6 * us for us in row.get("alpha_us", _NCCL)),
        1e9 * row["GB"] if "GB" in row else None,
        row.get("TFLOPS"),
        tuple(row["source"]),
        row.get("note", ""),
    )
    for name, row in _TABLE.items()
}

"""Schedules for SimGrid: time-independent traces that `smpirun -replay` runs, on a platform made of our links.

The trace is an MPI program: rank by rank and step by step each posts its receives, sends, and waits
until its own messages of the step have ended; no barrier joins the steps of different ranks. On the
platform every directed link is one of SimGrid's, and what a route takes of alpha is one more, which
delays and is never full, because here only the outermost level of a route has a latency.

SimGrid divides a link among all that cross it, in inverse proportion to their latencies, where the
event clock serves first come, first served, and it adds `ENVELOPE` bytes to every message. `SETTINGS`
switches off what this model has no counterpart for: TCP's windows, its acknowledgements against the
stream (`crosstraffic`, which adds 4.6% to a hierarchical all-reduce on 8 × 8), factors fitted to one
cluster (those of LV08 make a latency 13 times as long, take 3% of the bandwidth, and double that time),
and the time in MPI itself.

Source: Casanova, Giersch, Legrand, Quinson & Suter (2014); SimGrid's manual on SMPI and trace replay.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Unpack

import numpy as np

from colllib.cost import Price, Terms, values_per_level
from colllib.execution import check_fit
from colllib.schedule import Schedule, Step, bundled
from colllib.topology import Topology

ENVELOPE = 16  # bytes that SimGrid adds to each message, for its tag, target and communicator
MOST_BYTES = 2**31 - 1  # of a message: SimGrid counts them in a C int
NEVER_FULL = "1e21Bps"  # bandwidth of a link that only delays

#: As `--cfg`: nothing but latency and shares of bandwidth. A send ends when its message has arrived.
SETTINGS = {
    "network/model": "CM02",
    "network/crosstraffic": "0",
    "network/TCP-gamma": "0",
    "network/bandwidth-factor": "1",
    "network/latency-factor": "1",
    "network/weight-S": "0",
    "smpi/os": "0:0:0",
    "smpi/or": "0:0:0",
    "smpi/ois": "0:0:0",
    "smpi/async-small-thresh": "0",
    "smpi/send-is-detached-thresh": "0",
    "smpi/simulate-computation": "no",
    "surf/precision": "1e-12",
}
#: In place of theirs: a send ends at once, whatever its size, and a rank waits for its receives only.
EAGER = {"smpi/async-small-thresh": str(MOST_BYTES), "smpi/send-is-detached-thresh": str(MOST_BYTES)}
FILES = ("platform.xml", "hosts.txt", "trace.txt", "replay.txt")


def trace(schedule: Schedule, message: float) -> str:
    """A schedule as a time-independent trace.

    Args:
        schedule: between ranks alone, on the topology's routes.
        message: M in bytes; what travels is rounded to whole bytes.

    Raises:
        ValueError: for a schedule with switches or paths of its own, or a message beyond `MOST_BYTES`.

    >>> from colllib.algorithms import broadcast
    >>> print(trace(broadcast.chain(3), 8e6))  # doctest: +ELLIPSIS
    0 init
    1 init
    2 init
    0 isend 1 0 8000000
    0 waitall
    1 irecv 0 0 8000000
    1 waitall
    1 isend 2 0 8000000
    ...
    """
    if schedule.switches or schedule.paths is not None:
        raise ValueError("SimGrid replays messages between ranks on given routes: no switches or paths of one's own")
    lines = [f"{rank} init" for rank in range(schedule.ranks)]
    for step in schedule.steps:
        lines += _step(schedule, step, message)
    return "\n".join([*lines, *(f"{rank} finalize" for rank in range(schedule.ranks))])


def _step(schedule: Schedule, step: Step, message: float) -> Iterator[str]:
    work: dict[int, list[str]] = {}
    for source, target, part in zip(*bundled(step, schedule.blocks, schedule.ranks), strict=True):
        size = round(part * Fraction(message))
        if size > MOST_BYTES:
            raise ValueError(f"a message of {size} bytes: SimGrid's replay takes at most {MOST_BYTES}, make M smaller")
        work.setdefault(target, []).insert(0, f"irecv {source} 0 {size}")
        work.setdefault(source, []).append(f"isend {target} 0 {size}")
    for rank, calls in sorted(work.items()):
        yield from (f"{rank} {call}" for call in (*calls, "waitall"))


def platform(schedule: Schedule, topology: Topology, *, alpha: Price, bandwidth: Price) -> str:
    """A topology as a SimGrid platform, with the routes that a schedule's messages take, and those back.

    Args:
        alpha: latency unit in seconds, one for each level of the topology.
        bandwidth: BW in bytes per second, likewise.

    >>> from colllib.algorithms import broadcast
    >>> from colllib.topology import star
    >>> text = platform(broadcast.chain(2), star(2), alpha=1e-6, bandwidth=1e9)
    >>> print(text.splitlines()[-4])
    <route src="0" dst="1" symmetrical="NO"><link_ctn id="0"/><link_ctn id="3"/><link_ctn id="alpha-0-2"/></route>
    """
    check_fit(schedule, topology)
    alphas, speeds = values_per_level(topology.levels, message=0, alpha=alpha, bandwidth=bandwidth)
    step = Step.joined(list(schedule.steps))
    forth, back = step.src * topology.ranks + step.dst, step.dst * topology.ranks + step.src
    src, dst = np.divmod(np.unique(np.concatenate((forth, back))), topology.ranks)
    route, link = topology.router(src, dst)
    level, part = (values.tolist() for values in topology.latencies(route, link, len(src)))
    order = np.argsort(route, kind="stable")
    routes = np.split(link[order], np.cumsum(np.bincount(route, minlength=len(src))))[:-1]
    lines = [
        '<?xml version="1.0"?>',
        '<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">',
        '<platform version="4.1">',
        '<zone id="all" routing="Full">',
        *(f'<host id="{rank}" speed="1Gf"/>' for rank in range(topology.ranks)),
    ]
    for number, place in enumerate(topology.tier.tolist()):
        tier = topology.tiers[place]
        speed = float(tier.bandwidth) * speeds[tier.level]
        lines.append(f'<link id="{number}" bandwidth="{speed!r}Bps" latency="0s"/>')
    for depth, count in sorted(set(zip(level, part, strict=True))):
        seconds = alphas[depth] * count / topology.alpha.denominator
        delay = f'bandwidth="{NEVER_FULL}" latency="{seconds!r}s" sharing_policy="FATPIPE"'
        lines.append(f'<link id="alpha-{depth}-{count}" {delay}/>')
    for source, target, links, depth, count in zip(src.tolist(), dst.tolist(), routes, level, part, strict=True):
        crossing = "".join(f'<link_ctn id="{name}"/>' for name in (*links.tolist(), f"alpha-{depth}-{count}"))
        lines.append(f'<route src="{source}" dst="{target}" symmetrical="NO">{crossing}</route>')
    return "\n".join([*lines, "</zone>", "</platform>"])


def write(
    folder: str | Path,
    schedule: Schedule,
    topology: Topology,
    *,
    message: float,
    alpha: Price,
    bandwidth: Price,
    settings: Mapping[str, str] = SETTINGS,
) -> list[str]:
    """Write a platform, its hosts and a trace into a folder, and return the command that replays them there.

    Args:
        folder: which is made if need be.
        schedule, topology, message, alpha, bandwidth: as for `trace` and `platform`.
        settings: in place of some of `SETTINGS`, or besides.
    """
    texts = (
        platform(schedule, topology, alpha=alpha, bandwidth=bandwidth),
        "\n".join(map(str, range(topology.ranks))),
        trace(schedule, message),
        FILES[2],
    )
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in zip(FILES, texts, strict=True):
        (folder / name).write_text(text + "\n", encoding="utf-8")
    files = ("-platform", FILES[0], "-hostfile", FILES[1], "-replay", FILES[3])
    configuration = (f"--cfg={name}:{value}" for name, value in (SETTINGS | dict(settings)).items())
    return ["smpirun", "-np", str(topology.ranks), *files, *configuration, "--log=root.fmt:%.12r:%m%n"]


def replay(
    schedule: Schedule, topology: Topology, *, settings: Mapping[str, str] = SETTINGS, **price: Unpack[Terms]
) -> float:
    """The simulated seconds that a schedule takes in SimGrid; arguments as for `write`.

    Raises:
        ValueError: where SimGrid is not installed, or does not come to an end.
    """
    _check_installed()
    with TemporaryDirectory() as folder:
        command = write(folder, schedule, topology, settings=settings, **price)
        process = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    time = re.search(r"^([\d.]+):Simulation time", process.stdout + process.stderr, re.MULTILINE)
    if process.returncode or time is None:
        raise ValueError(f"SimGrid ended with status {process.returncode}: {process.stderr.strip()[-300:]}")
    return float(time[1])


def version() -> str:
    """SimGrid's version, such as "3.32".

    Raises:
        ValueError: where it is not installed.
    """
    _check_installed()
    return subprocess.run(["smpirun", "-version"], capture_output=True, text=True, check=True).stdout.split()[-1]


def _check_installed() -> None:
    if shutil.which("smpirun") is None:
        raise ValueError("smpirun is not installed: it comes with SimGrid, Debian's libsimgrid-dev")

"""What a collective should take on a machine: NCCL's model, scaled to published measurements."""

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cache
from math import log
from statistics import median
from typing import NamedTuple

from colllib.measured.expected import by_wires
from colllib.measured.log import factor
from colllib.measured.sweeps import PUBLISHED, Sweep, nearest, sweeps
from colllib.measured.tuning import Estimate, estimates, pick
from colllib.topology.machines import Machine

LARGE, SMALL = 2**28, 2**16  # from here on the wire decides; up to here the latency
#: Seconds that a peer in the only box adds to an all-to-all at the least: the median up to 1 MiB over 64 and 72 GPUs of
#: GB200 and GB300 NVL72 in XLA's table (openxla/xla, pull 36518). Fewer than 36 GPUs wait no longer than for one send.
PEER_IN_BOX = 0.9e-6


@dataclass(frozen=True)
class Prediction:
    """One size."""

    message: float  # bytes
    seconds: float  # the predicted time, `latency` + `wire`
    busbw: float  # bytes per second
    picked: str  # algorithm and protocol, which NCCL's model takes unless others are asked for
    binding: str  # latency, or what the bytes wait for
    latency: float  # seconds of it
    wire: float  # seconds of it
    efficiency: float  # what algorithm, protocol and, by published runs, practice leave of `bound`
    bound: float  # busbw that the wires allow, in bytes per second


def predict(
    machine: Machine, collective: str, message: float, without: Collection[tuple[str, str]] = (), latency: float = 1.0
) -> Prediction:
    """The time of a collective.

    Args:
        machine: the boxes, at least 2 ranks.
        collective: the book's name, or sendrecv.
        message: bytes, above 0.
        without: groups of sweeps that the efficiencies are not fitted to (see `Sweep.group`).
        latency: how much of the model's latencies is left.

    Raises:
        ValueError: for fewer than 2 ranks, or a message that is not above 0.

    >>> from colllib.topology.machines import find
    >>> large = predict(find("dgx-h100:1"), "all-reduce", 2**33)
    >>> large.picked, large.binding, 450e9 < large.busbw < 490e9
    ('NVLS/Simple', 'NVLink', True)
    """
    options = _options(machine, collective, message, latency)
    return _scaled(machine, collective, message, pick(options, message), without)


def each_algorithm(machine: Machine, collective: str, message: float) -> list[Prediction]:
    """What every algorithm and protocol would take that NCCL could pick, fastest first; arguments as of `predict`.

    NCCL picks by its own estimates, which are not scaled to measurements: what it picks need not come first.

    >>> from colllib.topology.machines import find
    >>> [p.picked for p in each_algorithm(find("dgx-h100:1"), "all-reduce", 2**33)][:3]
    ['NVLS/Simple', 'ring/Simple', 'ring/LL128']
    """
    options = _options(machine, collective, message)
    return sorted((_scaled(machine, collective, message, option) for option in options), key=lambda p: p.seconds)


def _options(machine: Machine, collective: str, message: float, latency: float = 1.0) -> list[Estimate]:
    if not message > 0:
        raise ValueError(f"message {message!r}: must be above 0")
    return [replace(e, latency=latency * e.latency, peers=latency * e.peers) for e in estimates(machine, collective)]


def _scaled(
    machine: Machine, collective: str, message: float, chosen: Estimate, without: Collection[tuple[str, str]] = ()
) -> Prediction:
    """What an algorithm takes, by its estimate and by how long healthy runs took over theirs."""
    rates, waits, per_peer = _measured_over_modeled(frozenset(without))
    several, direct = machine.boxes > 1, chosen.algorithm == "direct"
    rate = rates.get((several, direct)) or rates.get((not several, direct), 1.0)
    wait = chosen.waiting(message) * (waits.get(several, 1.0) + chosen.further)
    wait = wait + per_peer * chosen.peers if several else max(wait, PEER_IN_BOX * chosen.peers)
    share, bound = factor(collective, machine.ranks), by_wires(machine, collective).high
    wire = max(chosen.wire(message) / rate, message * share / bound)
    seconds = wait + wire
    picked, binding = f"{chosen.algorithm}/{chosen.protocol}", "latency" if wait > wire else chosen.binding
    efficiency = message / wire * share / bound
    return Prediction(message, seconds, message / seconds * share, picked, binding, wait, wire, efficiency, bound)


class _Fit(NamedTuple):
    """What runs took over what is modeled."""

    rates: dict[tuple[bool, bool], float]  # whether between boxes, and whether GPUs send to others directly
    waits: dict[bool, float]  # latencies, by whether between boxes
    per_peer: float  # seconds more for each peer in another box, where a GPU sends to all of them


@cache
def _measured_over_modeled(without: frozenset[tuple[str, str]]) -> _Fit:
    """What healthy runs say, but for some groups of sweeps.

    The wire that binds chooses no rate: a faster one would then be slower where another comes to bind.
    """
    rates: defaultdict[tuple[bool, bool], list[float]] = defaultdict(list)
    waits: defaultdict[bool, list[float]] = defaultdict(list)
    sending: list[list[tuple[float, float, float, float]]] = []  # what each all-to-all took
    for sweep in healthy():
        if sweep.group in without or (machine := sweep.machine) is None:
            continue
        options, several = estimates(machine, str(sweep.run.collective)), machine.boxes > 1
        large: defaultdict[tuple[bool, bool], list[float]] = defaultdict(list)
        small = []
        for size, time in sweep.points:
            chosen = pick(options, size)
            wait, wire = chosen.waiting(size), chosen.wire(size)
            if size >= LARGE:
                large[several, chosen.algorithm == "direct"].append(wire / max(time - wait, time / 2))
            elif size <= SMALL:
                small.append((time, wait, wire, chosen.peers))
        for kind, values in large.items():
            rates[kind].append(median(values))
        if small and several and options[0].peers:
            sending.append(small)
        elif small:
            waits[several].append(median(time / (wait + wire) for time, wait, wire, _ in small))
    usual = {k: median(v) for k, v in waits.items()}
    each = [median((t - usual.get(True, 1.0) * wait - wire) / n for t, wait, wire, n in small) for small in sending]
    return _Fit({k: median(v) for k, v in rates.items()}, usual, max(0.0, median(each)) if each else 0.0)


def healthy() -> list[Sweep]:
    """The published sweeps that are called healthy and whose machine is known."""
    return [sweep for sweep in sweeps() if sweep.state == "healthy" and sweep.machine]


@dataclass(frozen=True)
class Compared:
    """A published sweep beside its prediction, whose efficiencies were fitted without that machine."""

    sweep: Sweep  # the measurement
    rows: tuple[tuple[float, float, Prediction], ...]  # message, measured seconds, prediction

    @property
    def error(self) -> float:
        """Median of |predicted over measured - 1| over the sweep's sizes."""
        return median(abs(prediction.seconds / time - 1) for _, time, prediction in self.rows)

    @property
    def large_error(self) -> float | None:
        """The same of busbw at 1 GiB and more, or null where the sweep ends below."""
        large = [abs(time / prediction.seconds - 1) for size, time, prediction in self.rows if size >= 2**30]
        return median(large) if large else None


def compared(state: str = "healthy") -> list[Compared]:
    """Every published sweep of a state whose machine is known, beside what is predicted without it."""
    return [
        Compared(s, tuple((n, t, predict(s.machine, str(s.run.collective), n, (s.group,))) for n, t in s.points))
        for s in sweeps()
        if s.state == state and s.machine
    ]


def measured_over(machine: Machine, collective: str, message: float) -> tuple[str, list[float]]:
    """Which published runs are nearest, and what they reached over what is predicted without them, ascending.

    Of large messages the runs on one, two, or three and more such boxes, or on several; else of all sweeps at about
    that size. Arguments as of `predict`.

    >>> from colllib.topology.machines import find
    >>> measured_over(find("dgx-h100:64"), "all-reduce", 2**30)[0]
    '3 or more such boxes'
    """
    alike = nearest(machine, collective)
    such = "boxes with as much network, none oversubscribed," if machine.oversubscription > 1 else "such boxes"
    what = {1: "one such box", 2: f"two {such}"}.get(machine.boxes, f"3 or more {such}")
    as_many = [one for one in alike if min(one.machine.boxes, 3) == min(machine.boxes, 3)]
    if message >= LARGE and alike:
        if len(as_many) < 2 < machine.boxes:
            as_many, what = alike, f"several {such}"
        ratios = [one.busbw / predict(one.machine, collective, PUBLISHED, (one.group,)).busbw for one in as_many]
        return what, sorted(ratios)
    rows = [
        min(one.rows, key=lambda row: abs(log(row[0] / message)))
        for one in compared()
        if one.sweep.run.collective == collective and (one.sweep.run.boxes == 1) == (machine.boxes == 1)
    ]
    times = sorted(prediction.seconds / time for size, time, prediction in rows if 0.5 <= size / message <= 2)
    return f"{'one box' if machine.boxes == 1 else 'several boxes'} of any GPU, at about that size", times

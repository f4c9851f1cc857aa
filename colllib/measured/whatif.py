"""What would change: the same prediction on machines that differ in something, and what helps most."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from colllib.measured.predict import Prediction, predict
from colllib.topology.machines import Machine, changed, on_rails
from colllib.units import BadText, shortened


@dataclass(frozen=True)
class Change:
    """A prediction on a changed machine."""

    what: str  # has changed
    ranks: int  # then
    prediction: Prediction  # of the same message
    saved: float  # share of the time that the change saves; below 0 where it costs time


def what_if(machine: Machine, collective: str, message: float, options: Sequence[str]) -> list[Change]:
    """The prediction with each of some changes alone.

    Args:
        machine, collective, message: as for `colllib.measured.predict.predict`.
        options: such as "cards=4" or "boxes=4,gpus=4", which places 16 ranks on more boxes; see `machines.changed`.

    Raises:
        ValueError: for an option that is not known, or cannot be.

    >>> from colllib.topology.machines import find
    >>> (narrow,) = what_if(find("dgx-a100:8"), "all-gather", 2**34, ["oversubscription=2"])
    >>> round(narrow.saved, 1)
    -1.0
    """
    base = predict(machine, collective, message).seconds
    others = [(option, changed(machine, option)) for option in options]
    for option, other in others:
        if other.rails:
            raise BadText(f"machine option {shortened(option)!r}: {on_rails(other)}")
    predicted = [(option, other.ranks, predict(other, collective, message)) for option, other in others]
    return [Change(option, ranks, p, 1 - p.seconds / base) for option, ranks, p in predicted]


def sensitivity(machine: Machine, collective: str, message: float) -> list[Change]:
    """What each speed changes when it is twice as good and all others stay, what helps most first.

    The model has ceilings of its own (a channel's rate, NVLS's), so twice a speed may change nothing.

    >>> from colllib.topology.machines import find
    >>> 'cards' in sensitivity(find("dgx-h100:4,cards=4"), "all-reduce", 1e9)[0].what
    True
    """
    pcie = machine.pcie if machine.linked else 2 * machine.pcie
    better = {f"{machine.inner} twice as fast": replace(machine, link=2 * machine.link, pcie=pcie)}
    if machine.boxes > 1:
        narrow = machine.oversubscription > 1
        ratio, stays = machine.oversubscription * (1 + narrow), ", the spine as it is" * narrow
        faster = replace(machine, card=2 * machine.card, oversubscription=ratio)
        better[f"cards twice as fast{stays}"] = faster
        better[f"twice as many cards{stays}"] = replace(machine, cards=2 * machine.cards, oversubscription=ratio)
        if 2 * machine.pcie < machine.link:
            if machine.slots_bind:
                better["PCIe twice as fast"] = replace(machine, pcie=2 * machine.pcie)
            elif faster.slots_bind:
                better["cards and PCIe twice as fast"] = replace(faster, pcie=2 * machine.pcie)
    if machine.oversubscription > 1:
        better["a spine twice as wide"] = replace(machine, oversubscription=max(1.0, machine.oversubscription / 2))
    base = predict(machine, collective, message).seconds
    predictions = {what: predict(other, collective, message) for what, other in better.items()}
    predictions["half the latency"] = predict(machine, collective, message, latency=0.5)
    changes = [Change(what, machine.ranks, p, 1 - p.seconds / base) for what, p in predictions.items()]
    return sorted(changes, key=lambda change: -change.saved)

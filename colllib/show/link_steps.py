"""An all-to-all on a 4 × 4 torus, step by step: what is on every link, and what has arrived."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache

from colllib.algorithms import relay
from colllib.execution import Execution, execute
from colllib.schedule import Schedule
from colllib.show.control import Control, Part, counted
from colllib.show.explorer import Explorer
from colllib.show.link_heat import Heat, amount, heat_map, heat_of, rank_name
from colllib.topology import Lattice, Topology, torus
from colllib.topology.routes import alternating_torus

DIMS = (4, 4)

#: name -> (schedule and topology, whether every link carries one whole block or none in a step)
WAYS: dict[str, tuple[Callable[[], tuple[Schedule, Topology]], bool]] = {
    "one block on a link: X first, ties up": (lambda: _singly(torus(DIMS)), True),
    "one block on a link: X first, ties balanced": (lambda: _singly(torus(DIMS, tie="balanced")), True),
    "one block on a link: axes in turn": (lambda: _singly(alternating_torus(DIMS)), True),
    "bundles: X first": (lambda: _bundled(), False),
    "bundles: slices": (lambda: _bundled(rotated=True), False),
    "bundles: axis after axis": (lambda: _bundled(phased=True), False),
    "bundles: slices, axis after axis": (lambda: _bundled(rotated=True, phased=True), False),
}


def _singly(topology: Topology) -> tuple[Schedule, Topology]:
    return relay.relay_one_by_one(topology), topology


def _bundled(*, rotated: bool = False, phased: bool = False) -> tuple[Schedule, Topology]:
    return relay.relay(Lattice(DIMS), tie="split", rotated=rotated, phased=phased), torus(DIMS)


@dataclass(frozen=True, eq=False)
class Progress:
    """One way to run it.

    Attributes:
        run: the execution.
        heats: what every step put on the links.
        arrived: after every step, the blocks that have reached their destination.
    """

    run: Execution
    heats: tuple[Heat, ...]
    arrived: tuple[Fraction, ...]

    @property
    def blocks(self) -> int:
        """How many blocks travel."""
        return self.run.schedule.ranks * (self.run.schedule.ranks - 1)


@cache
def progress(way: str) -> Progress:
    """Execute one of `WAYS` and look at every step.

    >>> found = progress("one block on a link: axes in turn")
    >>> len(found.heats), {sum(load > 0 for load in heat.loads) for heat in found.heats}  # busy links
    (8, {64})
    >>> str(found.arrived[-1])
    '240'
    """
    build, single = WAYS[way]
    schedule, where = build()
    run = execute(schedule, where)
    heats = [heat_of(run, [t]) for t in range(schedule.num_steps)]
    if single:
        heats = [replace(found, most=3 * found.unit, names=_names(found)) for found in heats]
    else:
        most = max(max(found.loads) for found in heats)
        heats = [replace(found, most=most) for found in heats]
    share, target = schedule.blocks.share, schedule.blocks.target
    there, arrived = Fraction(0), []
    for t in range(schedule.num_steps):
        step = schedule.step(t)
        home = step.block[step.dst == target[step.block]]
        there += Fraction(int(share.numerators[home].sum()), share.denominator)
        arrived.append(there * schedule.ranks)
    return Progress(run, tuple(heats), tuple(arrived))


def _names(found: Heat) -> tuple[str, ...]:
    """The block on each link as its source and its destination: "ak"."""
    blocks = found.run.schedule.blocks
    return tuple(
        "".join(rank_name(int(blocks.source[block])) + rank_name(int(blocks.target[block])) for block in crossed)
        for crossed in found.crossings
    )


def link_steps_explorer() -> Explorer:
    """Seven ways to run the 240 blocks of a 4 × 4 torus, step by step.

    >>> link_steps_explorer()
    Explorer: 240 blocks on 4 × 4, step by step (How, Step)
    """
    start = "bundles: X first"
    return Explorer(
        "240 blocks on 4 × 4, step by step",
        [
            Control("way", "How", tuple(WAYS), start, kind="select"),
            Control("step", "Step", lambda way: counted(len(progress(way).heats), 1), 1),
        ],
        [Part(lambda way, step: heat_map(progress(way).heats[step - 1]), "Links in this step"), Part(_facts)],
        summary=_summary,
        play="step",
    )


def _facts(way: str, step: int) -> str:
    done, (_, single) = progress(way), WAYS[way]
    run = done.run
    beta = run.cost_of(range(step)).n_beta
    names, numbers = (
        "<b>ak</b> beside a link is the block from a to k.",
        "Numbers on links count M/N = M/16, ties split.",
    )
    reading = names if single else numbers
    return (
        f"<p>So far <i>n</i><sub>α</sub> = {step} of {run.cost.n_alpha}, "
        f"<i>n</i><sub>β</sub> = {beta} of {run.cost.n_beta} (lock-step); "
        f"{amount(done.arrived[step - 1])} of {done.blocks} blocks have arrived.</p>"
        f"<p>{reading} Dashed links are idle. Port model: {run.topology.port_model}.</p>"
    )


def _summary(way: str, step: int) -> str:
    done = progress(way)
    found = done.heats[step - 1]
    busy = sum(load > 0 for load in found.loads)
    return (
        f"{way}, step {step} of {len(done.heats)}: {busy} of {len(found.loads)} links are busy, the busiest "
        f"carries {amount(max(found.loads) / found.unit)} of M/16; {amount(done.arrived[step - 1])} of {done.blocks} "
        "blocks have arrived."
    )

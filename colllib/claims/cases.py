"""The cases that answers are made of: runs at several sizes, every quantity of which has a name."""

from __future__ import annotations

from collections import ChainMap, Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial, wraps
from typing import Any, ParamSpec

import numpy as np

from colllib.algorithms.innetwork import SwitchTree
from colllib.algorithms.relay import link_loads, torus_link_loads
from colllib.bounds import middle_cut
from colllib.claims.runs import ANCHOR, Used, at_one_speed, best, built, collected, load_limit, note_again, run
from colllib.claims.value import Case, Cases, Limit, Rows
from colllib.cost import Cost
from colllib.execution import Execution, trace
from colllib.metrics import busiest_link, busy_ports, crossings, phases, staging
from colllib.schedule import Schedule, Step
from colllib.topology import Lattice, Topology
from colllib.topology.cuts import bisection, diameter, links_per_rank, wires

Arguments = ParamSpec("Arguments")
Dims = tuple[int, ...]

#: Shapes on which formulas over axes are tried: even and odd, an axis of two, unequal axes.
SHAPES: tuple[Dims, ...] = ((5,), (2, 2), (4, 3), (4, 4), (2, 2, 2), (4, 3, 2), (3, 3, 3), (4, 4, 4), (8, 8, 8))


def deferred(cases: Callable[Arguments, Cases]) -> Callable[Arguments, Rows]:
    """The cases of some arguments, worked out when they are asked for."""

    @wraps(cases)
    def rows(*arguments: Arguments.args, **options: Arguments.kwargs) -> Rows:
        return partial(cases, *arguments, **options)

    return rows


def us(cost: Cost, **price: float) -> float:
    """A time at the anchor, or at another price, in microseconds."""
    return 1e6 * cost.seconds(**(ANCHOR | price))


def best_us(what: str, on: str = "star:512", **price: float) -> float:
    """An algorithm at its best number of pieces, in microseconds."""
    return 1e6 * best(what, on, **price).seconds


class Quantities(Mapping[str, Any]):
    """Quantities by name, worked out once, when asked for; what that executes is noted each time.

    >>> Quantities({"square": lambda: 3**2}, side=3)["square"]
    9
    """

    def __init__(self, functions: Mapping[str, Callable[[], Any]], **known: Any) -> None:
        self.functions = functions
        self.known = known
        self.used: dict[str, Used] = {}

    def __getitem__(self, name: str) -> Any:
        if name in self.used:
            note_again(self.used[name])
        elif name not in self.known:
            with collected() as used:
                self.known[name] = self.functions[name]()
            self.used[name] = used
        return self.known[name]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self[name]

    def also(self, **more: Callable[[], Any]) -> Quantities:
        """The same, with further functions, or other ones for what is not known yet."""
        self.functions = {**self.functions, **more}
        return self

    def case(self, at: str, **quantities: Any) -> Case:
        """A case of these quantities and of others."""
        return ChainMap({"at": at, **quantities}, self)  # type: ignore[arg-type]

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys((*self.known, *self.functions)))

    def __len__(self) -> int:
        return sum(1 for _ in self)


def per_level(done: Execution) -> tuple[Fraction, ...]:
    """The latencies of a run, for each level of its topology."""
    levels = range(done.cost.levels)
    no_bytes = [Fraction(1)] * done.cost.levels
    return tuple(done.cost.time(0, [Fraction(level == one) for one in levels], no_bytes) for level in levels)


def as_quantities(done: Execution | Cost, limit: Callable[[], Limit] | None = None, **price: Any) -> Quantities:
    """A run's quantities, or a cost's; times are in microseconds, at the anchor or at another price.

    >>> done = as_quantities(run("all-reduce ring", "star:4"))
    >>> done["n_alpha"], done.moved, done.case("N = 4", sent=0)["sent"]
    (6, Fraction(6, 1), 0)
    """
    cost = done if isinstance(done, Cost) else done.cost
    no_latency = {"alpha": (0,) * cost.levels if cost.levels > 1 else 0}
    functions: dict[str, Callable[[], Any]] = {
        "n_alpha": lambda: cost.n_alpha,
        "n_beta": lambda: at_one_speed(cost),
    }
    if cost.levels == 1 or price:  # the anchor has one alpha and one bandwidth
        functions |= {
            "latency": lambda: us(cost, **price | {"message": 0}),
            "load": lambda: us(cost, **price | no_latency),
            "t": lambda: us(cost, **price),
        }
    if limit is not None:
        functions["limit"] = limit  # of n_beta, in ever more pieces
    if isinstance(done, Execution):
        functions |= _of_run(done) | {"floor": lambda: 1e6 * _floor(done, **price), "cost": lambda: cost}
        return of_topology(done.topology).also(**functions)
    return Quantities(functions, cost=cost)


def _of_run(done: Execution) -> dict[str, Callable[[], Any]]:
    """What a run has beside its cost."""
    return {
        "run": lambda: done,
        "steps": lambda: done.schedule.num_steps,
        "sent": lambda: max(done.sent),
        "received": lambda: max(done.received),
        "moved": lambda: sum(done.sent),
        "busiest": lambda: max(done.link_total),
        "step": lambda: max(max(done.link_load(t)) for t in range(done.schedule.num_steps)),
        "card": lambda: crossings(done)["card"].most,
        "box": lambda: crossings(done)["box"].most,
        "uplink": lambda: crossings(done)["uplink"].most,
        "leaving": lambda: crossings(done)["uplink"].total / 2,  # what all boxes send to others
        "inner": lambda: per_level(done)[0],
        "outer": lambda: per_level(done)[1],
        "carried": lambda: Limit(busiest_link(done)),  # what n_beta comes to if no link ever idles
        "out": lambda: done.partners()[0],
        "into": lambda: done.partners()[1],
        "reached": lambda: len(_partners(done)[0]),  # whom rank 0 sends to over the run
        "met": lambda: len(set.union(*_partners(done))),
        "hops": lambda: sum(int((step.block == 0).sum()) for step in done.schedule.steps),  # of the first block
        "loads": lambda: " ".join(str(done.cost_of([t]).n_beta) for t in range(done.schedule.num_steps)),
        "inner_links": lambda: max(int(np.bincount(np.concatenate(s[:2]))[1:].max()) for s in done.schedule.steps),
        "inner_port": lambda: max(done.sent[1:] + done.received[1:]),  # of the ranks other than the root
        "fill": lambda: phases(busy_ports(done.schedule)).fill,
        "parked": lambda: max(staging(done.schedule), default=Fraction(0)) * done.schedule.ranks,  # in shards
        "payload": lambda: max(kind.loads[1] for kind in done.kinds()),  # of a message between boxes
        "highest": lambda: sum(kind.steps * kind.loads[1] for kind in done.kinds() if kind.loads[-1]),
    }


def of_topology(topology: Topology) -> Quantities:
    """What a topology is, without any run.

    >>> from colllib.topology.expression import find
    >>> ring = of_topology(find("ring:8"))
    >>> ring["D"], ring["edges"], ring["neighbors"], str(ring["bandwidth"])
    (4, 8, 2, '2')
    """
    return Quantities(
        {
            "D": lambda: diameter(topology),
            "edges": lambda: wires(topology),
            "neighbors": lambda: max(links_per_rank(topology)),
            "bandwidth": lambda: bisection(topology).bandwidth,  # every half is tried up to 20 ranks; then a bound
            "longest": lambda: _longest(topology),
            "routed": lambda: max(link_loads(topology)),  # what the busiest link carries of an all-to-all
            "idlest": lambda: min(link_loads(topology)),
            "height": lambda: SwitchTree(topology).height,
            "crossing": lambda: middle_cut(topology).crossing,  # one way, of an all-to-all
            "cut": lambda: Fraction(middle_cut(topology).n_beta),  # what that takes at least
        },
        N=topology.ranks,
    )


def _floor(done: Execution, message: float, bandwidth: Sequence[float], **_: Any) -> float:
    """What the busiest port or card is busy for: no number of pieces brings a run below it."""
    crossed = crossings(done)
    busy = (crossed[tier.name].most / tier.bandwidth / Fraction(bandwidth[tier.level]) for tier in done.topology.tiers)
    return message * float(max(busy))


def _longest(torus: Topology) -> Fraction:
    """What a link of the longest axis carries in an all-to-all, ties divided between the two ways."""
    assert torus.lattice is not None
    return max((up + down) / 2 for up, down in torus_link_loads(torus.lattice))


def _partners(done: Execution) -> tuple[set[int], set[int]]:
    """Whom rank 0 sends to, and whom it hears from."""
    src, dst, *_ = Step.joined(list(done.schedule.steps))
    return set(dst[src == 0].tolist()), set(src[dst == 0].tolist())


def measured(what: str, on: str, pieces: int = 1, options: Mapping[str, Any] | None = None, **price: Any) -> Quantities:
    """What a run of an algorithm gives; times are as at `us`."""
    return as_quantities(run(what, on, pieces, **(options or {})), lambda: load_limit(what, on), **price)


def of_schedule(build: Callable[..., Schedule], on: str, *arguments: Any, **price: Any) -> Quantities:
    """What a run of a schedule gives, by what builds it and from which arguments."""
    # a double tree over a full mesh is full from 16 pieces on
    limit = partial(Limit.of, lambda pieces: built(build, *arguments, on=on, pieces=pieces).cost.n_beta, 16)
    return as_quantities(built(build, *arguments, on=on), limit, **price)


@deferred
def along(
    on: str,
    shapes: Sequence[Dims],
    several: Callable[[Lattice], Case] = lambda _: {},
    **quantities: Callable[[str], Any],
) -> Cases:
    """Lattices of one kind and several shapes: a function for each quantity, or one for several."""
    for dims in shapes:
        at = f"{on}:{Lattice(dims)}"
        axes = Lattice(dims, on == "torus")
        of_one = {name: quantity(at) for name, quantity in quantities.items()}
        yield {"at": at, "d": dims, "k": len(dims), "N": axes.ranks, **of_one, **several(axes)}


@deferred
def once(at: str, **quantities: Callable[[], Any]) -> Cases:
    """A single case."""
    yield {"at": at} | {name: quantity() for name, quantity in quantities.items()}


@deferred
def one_by(at: str, quantity: Callable[[Any], Any], **arguments: Any) -> Cases:
    """A single case of one function at several arguments, each by the name of its quantity."""
    yield {"at": at} | {name: quantity(argument) for name, argument in arguments.items()}


@deferred
def per(
    values: Sequence[Any],
    several: Callable[[Any], Case] = lambda _: {},
    name: str = "N",
    at: str = "",
    **quantities: Callable[[Any], Any],
) -> Cases:
    """Cases along N or another quantity: a function for each of the others, or one for several.

    >>> list(per((2, 3), lambda n: {"square": n * n}, half=lambda n: n / 2)())[1]
    {'at': 'N = 3', 'N': 3, 'half': 1.5, 'square': 9}
    """
    for value in values:
        of_one = {key: quantity(value) for key, quantity in quantities.items()}
        yield {"at": f"{name} = {value}{at}", name: value, **of_one, **several(value)}


@deferred
def states(
    build: Callable[..., Schedule], *arguments: int, chunks: Sequence[int] = range(4), on: str = "star"
) -> Cases:
    """What each of four ranks holds in each of four chunks after every step: a row a rank, "-" for nothing.

    Args:
        chunks: the source's number for each of our chunks; those that lie in one block share its value.

    >>> from colllib.algorithms import broadcast
    >>> list(states(broadcast.binomial_tree, 4)())[1]["state"]
    '0 0 0 0 / 0 0 0 0 / - - - - / - - - -'
    """
    schedule = built(build, *arguments, on=on).schedule
    blocks = [chunks.index(chunk) * len(schedule.blocks) // 4 for chunk in range(4)]
    texts = []
    for contents in trace(schedule):
        contributors = (contents.get((rank, block), Counter()).elements() for rank in range(4) for block in blocks)
        cells = ["".join(map(str, sorted(ranks))) or "-" for ranks in contributors]
        texts.append(" / ".join(" ".join(cells[4 * rank : 4 * rank + 4]) for rank in range(4)))
    after = {f"after{t}": state for t, state in enumerate(texts)}
    for t, state in enumerate(texts):
        yield {"at": f"step {t}", "step": t, "state": state, **after}


def distances(what: str, first: int = 0) -> str:
    """How far apart the partners of a butterfly of four ranks are in every step from `first` on."""
    steps = list(run(what, "star:4").schedule.steps)[first:]
    return " ".join(str(int((step.src ^ step.dst)[0])) for step in steps)


def edges(*steps: Step) -> str:
    """The pairs of ranks that meet in some steps."""
    ends = np.unique(np.sort(np.hstack([step[:2] for step in steps]), axis=0), axis=1)
    return " ".join(f"{a}-{b}" for a, b in ends.T)

"""Plans: a way for every operation, what a machine takes for them, and the cheapest by an integer program."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from math import inf, prod
from typing import Any

import numpy as np

from colllib.primitives import check_counts, is_whole
from colllib.training.tensor_states.graph import Graph, Node
from colllib.training.tensor_states.states import AGAIN, KEPT, Change, State, Way, changes, check_state, stage, ways

Ways = Mapping[str, Way]  # by the name of the node
States = Mapping[str, State]  # by the name of the tensor
Offers = Mapping[str, list[Way]]


@dataclass(frozen=True)
class Machine:
    """What a plan is priced on.

    Args:
        mesh: ranks on each axis.
        bandwidth: of a port on each axis, bytes per second.
        flops: of a device, per second, for einsums.
        touch: bytes per second that a device reads and writes in its memory, for everything else.
        width: bytes of a number.
        memory: numbers that a device can keep of what stays between steps (default: no limit).
        activations: numbers that a device can keep from the forward pass for the backward pass (default: no limit).
        stages: the axis whose ranks are the stages of a pipeline (default: none).
        microbatches: that a batch is cut into for the pipeline, which runs as 1F1B does.

    Raises:
        ValueError: for an axis below 1 or one that is not there, a bandwidth for another number of axes, or what is
            not positive.
    """

    mesh: tuple[int, ...]
    bandwidth: tuple[float, ...]
    flops: float = 400e12
    touch: float = 3.35e12
    width: int = 2
    memory: float = inf
    activations: float = inf
    stages: int | None = None
    microbatches: int = 1

    def __post_init__(self) -> None:
        if not self.mesh or len(self.bandwidth) != len(self.mesh) or not all(is_whole(n) and n > 0 for n in self.mesh):
            speeds = f"bandwidths {self.bandwidth}"
            raise ValueError(f"mesh {self.mesh} with {speeds}: each axis needs ranks and a bandwidth")
        if self.stages is not None and not 0 <= self.stages < len(self.mesh):
            raise ValueError(f"stages on axis {self.stages}: the mesh {self.mesh} has {len(self.mesh)} axes, from 0")
        check_counts(microbatches=self.microbatches)
        for name in ("flops", "touch", "width", "memory", "activations", "bandwidth"):
            if not np.all(np.greater(getattr(self, name), 0)):
                raise ValueError(f"{name} {getattr(self, name)}: must be more than 0")

    @property
    def depth(self) -> int:
        """How many stages the pipeline has, 1 without one."""
        return 1 if self.stages is None else self.mesh[self.stages]

    def change(self, graph: Graph, letters: str, before: State, after: State) -> tuple[float, tuple[Change, ...]]:
        """Seconds of a change of state, its collectives' lower bounds without latency; and these collectives.

        Raises:
            ValueError: for a state that the tensor cannot come to.
        """
        sizes = tuple((letter, graph.sizes[letter]) for letter in letters)
        reached = changes(sizes, before, tuple(self.mesh), tuple(self.bandwidth))
        if after not in reached:
            raise ValueError(f"{dict(sizes)} on the mesh {self.mesh} cannot come from {before} to {after}")
        seconds, path = reached[after]
        return seconds * self.width, path

    def compute(self, graph: Graph, node: Node, way: Way) -> float:
        """Seconds of an operation: what is not cut every rank does; what is not kept it does twice."""
        if node.kind in ("input", "rename"):
            return 0.0
        axes = zip(*way.inputs, way.output, strict=True)  # the placements of all its tensors on each axis
        cuts = prod(size for size, placed in zip(self.mesh, axes, strict=True) if any(map(str.islower, placed)))
        share = (1 + (way.later == AGAIN)) / cuts
        if node.kind == "einsum":
            products = graph.numbers({letter for name in node.inputs for letter in graph.by_name[name].letters})
            return 2 * products * share / self.flops
        return (len(node.inputs) + 1) * graph.numbers(node.letters) * self.width * share / self.touch

    def keeps(self, graph: Graph, node: Node, way: Way) -> tuple[float, float]:
        """Numbers of a tensor that a rank keeps between steps, and from the forward pass for the backward pass.

        Of the latter a pipeline's stage keeps the share of a batch that 1F1B has in flight.
        """
        cuts = prod(size for size, placement in zip(self.mesh, way.output, strict=True) if placement.islower())
        numbers = graph.numbers(node.letters) / cuts
        flight = min(self.microbatches, self.depth - stage(way.output)) / self.microbatches
        return numbers * node.keep, numbers * flight * (way.later == KEPT)


@dataclass(frozen=True)
class Plan:
    """How every node of a graph runs on a machine, by its name, and in which final states some tensors must be."""

    graph: Graph
    machine: Machine
    ways: Ways
    final: States

    @property
    def states(self) -> dict[str, State]:
        """The state in which each tensor is made."""
        return {name: way.output for name, way in self.ways.items()}

    @property
    def _edges(self) -> Iterator[tuple[str, str, State, State, float]]:
        """Tensor, user ("" for the end), the state it is in, the state that is needed, and the seconds in between."""
        uses: list[tuple[str, str, Node | None, State]] = []
        for node in self.graph.nodes:
            way = self.ways[node.name]
            users = [node.name, f"{node.name} again"] if way.later == AGAIN else [node.name]
            for user in users:
                uses += [(name, user, node, state) for name, state in zip(node.inputs, way.inputs, strict=True)]
        uses += [(name, "", None, state) for name, state in self.final.items()]
        for name, user, taker, after in uses:
            before = self.ways[name].output
            yield name, user, before, after, _transfer(self.graph, self.machine, name, taker, before, after)

    @property
    def communication(self) -> list[tuple[str, str, int, str, int]]:
        """Tensor, user, axis, primitive and M in numbers, of each collective that is needed."""
        graph, mesh = self.graph, self.machine.mesh
        return [
            (name, user, axis, primitive, numbers)
            for name, user, before, after, _ in self._edges
            for axis, primitive, numbers, _ in self.machine.change(graph, graph.by_name[name].letters, before, after)[1]
            if primitive != "slice" and mesh[axis] > 1
        ]

    @property
    def seconds(self) -> float:
        """Computation and communication, one after the other.

        In a pipeline one microbatch passes all stages, and each further one takes what the busiest stage does for it.
        1F1B takes more only where stages differ in how their work divides into forward and backward.
        """
        microbatches = self.machine.microbatches
        loads = self._by_stage(lambda node, way: self.machine.compute(self.graph, node, way))
        total = sum(loads) + self.exposed
        for _, _, before, after, seconds in self._edges:
            for k in {stage(before), stage(after)}:
                loads[k] += seconds
        return (total + (microbatches - 1) * max(loads)) / microbatches if total < inf else inf

    @property
    def exposed(self) -> float:
        """Seconds of communication, of all stages together."""
        return sum(seconds for *_, seconds in self._edges)

    @property
    def activations(self) -> float:
        """Numbers that a rank keeps from the forward pass for the backward pass, if not everything is kept."""
        return max(self._by_stage(lambda node, way: self.machine.keeps(self.graph, node, way)[1]))

    @property
    def again(self) -> list[str]:
        """The tensors that are computed a second time for the backward pass."""
        return [name for name, way in self.ways.items() if way.later == AGAIN]

    def _by_stage(self, number: Callable[[Node, Way], float]) -> list[float]:
        sums = [0.0] * self.machine.depth
        for node in self.graph.nodes:
            way = self.ways[node.name]
            sums[stage(way.output)] += number(node, way)
        return sums

    @property
    def runs(self) -> bool:
        """Whether it fits its machine, what lasts keeps its state, and what is computed again finds its inputs."""
        machine, states, nodes = self.machine, self.states, self.graph.by_name
        return (
            self.seconds < inf
            and max(self._by_stage(lambda node, way: machine.keeps(self.graph, node, way)[0])) <= machine.memory
            and self.activations <= machine.activations
            and all(_without_stage(states[new]) == _without_stage(states[old]) for new, old in self.graph.same.items())
            and not any(_dropped(nodes[name], self.ways[name]) for user in self.again for name in nodes[user].inputs)
        )


def _dropped(node: Node, way: Way) -> bool:
    """Whether a tensor is gone when the backward pass begins."""
    return not (way.later or node.keep)


def _without_stage(state: State) -> State:
    """A state but for the number of the stage."""
    return tuple("" if placement.isdigit() else placement for placement in state)


def _transfer(graph: Graph, machine: Machine, name: str, user: Node | None, before: State, after: State) -> float:
    """Seconds in which a tensor comes to its user, None for the end.

    Infinite for what a pipeline does not do: tensors go to later stages forward and to earlier ones backward,
    parameters nowhere.
    """
    tensor, source, target = graph.by_name[name], stage(before), stage(after)
    if source != target:
        backward = target < source
        if user is None or tensor.keep or not (tensor.backward == user.backward == backward):
            return inf
    return machine.change(graph, tensor.letters, before, after)[0]


# -- the search ----------------------------------------------------------------------------------


def cheapest(
    graph: Graph,
    machine: Machine,
    *,
    given: States | None = None,
    final: States | None = None,
    trying_all: bool = False,
) -> Plan:
    """The plan with the least seconds, by an integer program: a way for each node, a pair of states for each edge.

    Args:
        given: states that some tensors must have when they are made.
        final: states that some tensors must have in the end.
        trying_all: look at every plan instead, which only a graph of a few nodes allows.

    Raises:
        ValueError: for a state that a tensor cannot be in, or if no plan has what is given and fits the memory.

    Source: the formulation is Alpa's (Zheng et al., 2022, section 4.2).
    """
    given, final = given or {}, final or {}
    for name, state in (*given.items(), *final.items()):
        check_state(graph, name, state, machine.mesh, machine.stages)
    offered = {node.name: _offers(graph, node, machine, given.get(node.name)) for node in graph.nodes}
    chosen = (_by_trial if trying_all else _by_program)(graph, machine, offered, final)
    if chosen is None:
        limits = {"": machine.memory, " of activations": machine.activations}
        fits = (f" with at most {limit:g} numbers{what} on a rank" for what, limit in limits.items() if limit < inf)
        raise ValueError(f"no plan on the mesh {machine.mesh} has the states that are given{' and'.join(fits)}")
    return Plan(graph, machine, chosen, final)


def _offers(graph: Graph, node: Node, machine: Machine, given: State | None) -> list[Way]:
    """The ways of a node; an input may be in any state unless one is given."""
    fates = [""]
    if machine.activations < inf and not (node.keep or node.backward):
        fates = [KEPT]
        if node.kind != "input":
            fates.append(AGAIN)
        if not any(node.name in user.inputs and user.backward for user in graph.nodes):
            fates.append("")
    offered = ways(graph, node, machine.mesh, machine.stages)
    return [replace(way, later=fate) for way in offered if given in (None, way.output) for fate in fates]


def _by_trial(graph: Graph, machine: Machine, offered: Offers, final: States) -> Ways | None:
    choices = (dict(zip(offered, options, strict=True)) for options in product(*offered.values()))
    plans = (Plan(graph, machine, chosen, final) for chosen in choices)
    best = min((plan for plan in plans if plan.runs), key=lambda plan: plan.seconds, default=None)
    return None if best is None else best.ways


Row = tuple[dict[int, float], float, float]  # a sum of columns times numbers, and its two limits
Columns = Mapping[str, list[tuple[int, Way]]]  # those of each node's ways
Cost = tuple[float, set[int]]  # the seconds of a column, and the stages that spend them


def _by_program(graph: Graph, machine: Machine, offered: Offers, final: States) -> Ways | None:
    rows: list[Row] = []
    columns: dict[str, list[tuple[int, Way]]] = {}
    costs: list[Cost] = []
    for node in graph.nodes:
        columns[node.name] = list(enumerate(offered[node.name], len(costs)))
        costs += [(machine.compute(graph, node, way), {stage(way.output)}) for way in offered[node.name]]
        rows.append(({k: 1.0 for k, _ in columns[node.name]}, 1, 1))
    binary = len(costs)
    # a tensor, its user, and the columns of the ways that take it in a state and so often
    edges: list[tuple[str, Node | None, dict[Any, list[int]]]] = [
        (name, node, _grouped(((way.inputs[place], 1 + (way.later == AGAIN)), k) for k, way in columns[node.name]))
        for node in graph.nodes
        for place, name in enumerate(node.inputs)
    ]
    edges += [(name, None, {(state, 1): []}) for name, state in final.items()]
    for name, user, inputs in edges:
        start, outputs = len(costs), _grouped((way.output, k) for k, way in columns[name])
        for before, (after, times) in product(outputs, inputs):
            seconds = times * _transfer(graph, machine, name, user, before, after)
            costs.append((seconds, {stage(before), stage(after)}))
        pairs = np.arange(start, len(costs)).reshape(len(outputs), len(inputs))
        for sums, groups in ((pairs, outputs.values()), (pairs.T, inputs.values())):
            for added, ways_of_state in zip(sums.tolist(), groups, strict=True):
                total = 0 if ways_of_state else 1
                rows.append((_less(added, ways_of_state), total, total))
    rows += _limits(graph, machine, columns)
    solution = _solved(rows, costs, binary, machine)
    if solution is None:
        return None
    return {name: max(options, key=lambda column: solution[column[0]])[1] for name, options in columns.items()}


def _limits(graph: Graph, machine: Machine, columns: Columns) -> Iterator[Row]:
    """What lasts keeps its state, all fits the memory, and what is computed again finds its inputs."""
    for pair in graph.same.items():
        new, old = (_grouped((_without_stage(way.output), k) for k, way in columns[name]) for name in pair)
        for state in old:  # the old one is made in just one of these
            yield _less(new.get(state, []), old[state]), 0, 0
    for kind, limit in enumerate((machine.memory, machine.activations)):
        if limit == inf:
            continue
        for k in range(machine.depth):
            terms = {
                column: kept
                for node in graph.nodes
                for column, way in columns[node.name]
                if stage(way.output) == k and (kept := machine.keeps(graph, node, way)[kind])
            }
            yield terms, -inf, limit
    for node in graph.nodes:
        again = [k for k, way in columns[node.name] if way.later == AGAIN]
        for name in node.inputs:
            dropped = [k for k, way in columns[name] if _dropped(graph.by_name[name], way)]
            if again and dropped:
                yield dict.fromkeys(again + dropped, 1.0), -inf, 1


def _solved(rows: list[Row], costs: list[Cost], binary: int, machine: Machine) -> np.ndarray | None:
    """The columns between 0 and 1, the first `binary` of them integers, with the least time; or None.

    The time is that of all costs, and of the largest load for each further microbatch.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import coo_array

    price = np.array([seconds for seconds, _ in costs])
    possible = np.isfinite(price)
    price = np.where(possible, price, 0.0) / (price[possible].max(initial=0) or 1.0)
    most = len(price)  # the column of the largest load
    for k in range(machine.depth):
        load = {column: price[column] for column, (_, stages) in enumerate(costs) if k in stages and price[column]}
        rows.append((load | {most: -1.0}, -inf, 0))
    entries = [(row, *term) for row, (terms, _, _) in enumerate(rows) for term in terms.items()]
    row, column, value = map(np.array, zip(*entries, strict=True))
    _, low, high = zip(*rows, strict=True)
    result = milp(
        np.append(price, machine.microbatches - 1),
        integrality=(np.arange(most + 1) < binary).astype(int),
        bounds=Bounds(0, np.append(np.where(possible, 1.0, 0.0), inf)),
        constraints=LinearConstraint(coo_array((value, (row, column))).tocsr(), np.array(low), np.array(high)),
        options={"mip_rel_gap": 0},
    )
    return None if result.x is None else np.asarray(result.x)


def _less(columns: Iterable[int], others: Iterable[int]) -> dict[int, float]:
    """The sum of some columns without that of others."""
    return dict.fromkeys(columns, 1.0) | dict.fromkeys(others, -1.0)


def _grouped(columns: Iterable[tuple[Any, int]]) -> dict[Any, list[int]]:
    groups: defaultdict[Any, list[int]] = defaultdict(list)
    for key, k in columns:
        groups[key].append(k)
    return groups

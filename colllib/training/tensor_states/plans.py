"""Plans: a way for every operation, what a machine takes for them, and the cheapest by an integer program."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from math import prod

import numpy as np

from colllib.bounds import lower_bound
from colllib.primitives import check_counts, is_whole
from colllib.training.tensor_states.graph import Graph, Node
from colllib.training.tensor_states.states import (
    AGAIN,
    KEPT,
    State,
    Way,
    changes,
    check_state,
    stage,
    ways,
)


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
    memory: float = float("inf")
    activations: float = float("inf")
    stages: int | None = None
    microbatches: int = 1

    def __post_init__(self) -> None:
        if not self.mesh or len(self.bandwidth) != len(self.mesh) or not all(is_whole(n) and n > 0 for n in self.mesh):
            raise ValueError(
                f"mesh {self.mesh} with bandwidths {self.bandwidth}: each axis needs ranks and a bandwidth"
            )
        if self.stages is not None and not 0 <= self.stages < len(self.mesh):
            raise ValueError(f"stages on axis {self.stages}: the mesh {self.mesh} has {len(self.mesh)} axes, from 0")
        check_counts(microbatches=self.microbatches)
        rates = {"flops": self.flops, "touch": self.touch, "width": self.width, "bandwidth": min(self.bandwidth)}
        rates |= {"memory": self.memory, "activations": self.activations}
        for name, value in rates.items():
            if not value > 0:
                raise ValueError(f"{name} {value:g}: must be more than 0")

    @property
    def depth(self) -> int:
        """How many stages the pipeline has, 1 without one."""
        return 1 if self.stages is None else self.mesh[self.stages]

    @property
    def bubble(self) -> float:
        """How many times as long as the work of its busiest stage a batch takes."""
        return (self.microbatches + self.depth - 1) / self.microbatches

    def flight(self, k: int) -> float:
        """The share of a batch whose activations stage k keeps at once, as 1F1B has it."""
        return min(self.microbatches, self.depth - k) / self.microbatches

    def change(self, graph: Graph, letters: str, before: State, after: State) -> float:
        """Seconds of a change of state: its collectives' lower bounds, without latency; infinite if none do it."""
        seconds = 0.0
        try:
            for axis, name, numbers in changes(graph, letters, before, after, self.mesh):
                if name != "slice" and self.mesh[axis] > 1:
                    load = 1.0 if name == "send" else float(lower_bound(name, self.mesh[axis]).n_beta)
                    seconds += load * numbers * self.width / self.bandwidth[axis]
        except ValueError:  # axes that swap letters
            return float("inf")
        return seconds

    def compute(self, graph: Graph, node: Node, way: Way) -> float:
        """Seconds of an operation: what is not cut every rank does; what is not kept it does twice."""
        cut = [any(state[axis].islower() for state in (*way.inputs, way.output)) for axis in range(len(self.mesh))]
        share = (1 + (way.later == AGAIN)) / prod(size for size, here in zip(self.mesh, cut, strict=True) if here)
        if node.kind in ("input", "rename"):
            return 0.0
        if node.kind == "einsum":
            return 2 * graph.terms(node) * share / self.flops
        return (len(node.inputs) + 1) * graph.numbers(node.letters) * self.width * share / self.touch

    def size(self, graph: Graph, node: Node, state: State) -> float:
        """Numbers that a rank has of a tensor."""
        cut = prod(size for size, here in zip(self.mesh, state, strict=True) if here.islower())
        return graph.numbers(node.letters) / cut


@dataclass(frozen=True)
class Plan:
    """How every node runs.

    Attributes:
        graph, machine: of what, on what.
        ways: by the name of the node.
        final: the states that some tensors must have in the end.
    """

    graph: Graph
    machine: Machine
    ways: Mapping[str, Way]
    final: Mapping[str, State]

    @property
    def states(self) -> dict[str, State]:
        """The state in which each tensor is made."""
        return {name: way.output for name, way in self.ways.items()}

    @property
    def edges(self) -> Iterator[tuple[str, str, State, State]]:
        """Tensor, user ("" for the end), the state it is in and the state that is wanted."""
        for node in self.graph.nodes:
            way = self.ways[node.name]
            for user in (node.name, f"{node.name} again")[: 1 + (way.later == AGAIN)]:
                for name, wanted in zip(node.inputs, way.inputs, strict=True):
                    yield name, user, self.ways[name].output, wanted
        for name, wanted in self.final.items():
            yield name, "", self.ways[name].output, wanted

    @property
    def communication(self) -> list[tuple[str, str, int, str, int]]:
        """Tensor, user, axis, primitive and M in numbers, of each collective that is needed."""
        return [
            (name, user, axis, primitive, numbers)
            for name, user, before, after in self.edges
            for axis, primitive, numbers in changes(
                self.graph, self.graph.by_name[name].letters, before, after, self.machine.mesh
            )
            if primitive != "slice" and self.machine.mesh[axis] > 1
        ]

    @property
    def seconds(self) -> float:
        """Computation and communication, one after the other; in a pipeline those of the busiest stage, and waiting."""
        loads = [0.0] * self.machine.depth
        for node in self.graph.nodes:
            loads[stage(self.states[node.name])] += self.machine.compute(self.graph, node, self.ways[node.name])
        for before, after, seconds in self._changes:
            for k in {stage(before), stage(after)}:
                loads[k] += seconds
        return max(loads) * self.machine.bubble

    @property
    def exposed(self) -> float:
        """Seconds of communication, of all stages together."""
        return sum(seconds for *_, seconds in self._changes)

    @property
    def _changes(self) -> Iterator[tuple[State, State, float]]:
        for name, _, before, after in self.edges:
            yield before, after, self.machine.change(self.graph, self.graph.by_name[name].letters, before, after)

    @property
    def kept(self) -> float:
        """Numbers that a rank keeps between steps, in a pipeline of the stage with the most."""
        return max(self._numbers(lambda node: node.keep))

    @property
    def activations(self) -> float:
        """Numbers that a rank keeps from the forward pass for the backward pass, if not everything is kept."""
        each = self._numbers(lambda node: self.ways[node.name].later == KEPT)
        return max(numbers * self.machine.flight(k) for k, numbers in enumerate(each))

    @property
    def again(self) -> list[str]:
        """The tensors that are computed a second time for the backward pass."""
        return [name for name, way in self.ways.items() if way.later == AGAIN]

    def _numbers(self, which: Callable[[Node], bool]) -> list[float]:
        found = [0.0] * self.machine.depth
        for node in filter(which, self.graph.nodes):
            found[stage(self.states[node.name])] += self.machine.size(self.graph, node, self.states[node.name])
        return found

    @property
    def runs(self) -> bool:
        """Whether it fits its machine, what lasts keeps its state, and what is computed again finds its inputs."""
        states, nodes = self.states, self.graph.by_name
        return (
            self.kept <= self.machine.memory
            and self.activations <= self.machine.activations
            and all(_elsewhere(states[new]) == _elsewhere(states[old]) for new, old in self.graph.same.items())
            and all(
                _may_move(nodes[name], nodes.get(user.removesuffix(" again")), before, after)
                for name, user, before, after in self.edges
            )
            and not any(_dropped(nodes[name], self.ways[name]) for user in self.again for name in nodes[user].inputs)
        )


def _dropped(node: Node, way: Way) -> bool:
    """Whether a tensor is gone when the backward pass begins."""
    return not (way.later or node.keep)


def _elsewhere(state: State) -> State:
    """A state but for the stage."""
    return tuple("" if here.isdigit() else here for here in state)


def _may_move(tensor: Node, user: Node | None, before: State, after: State) -> bool:
    """Whether a tensor goes to its user's stage: forward and later backward again, and parameters never."""
    here, there = stage(before), stage(after)
    if here == there:
        return True
    return user is not None and not tensor.keep and tensor.backward == user.backward == (there < here)


# -- the search ----------------------------------------------------------------------------------


def cheapest(
    graph: Graph,
    machine: Machine,
    *,
    given: Mapping[str, State] | None = None,
    final: Mapping[str, State] | None = None,
    trying_all: bool = False,
) -> Plan:
    """The plan with the least seconds, by an integer program: a way for each node, a pair of states for each edge.

    Args:
        graph: what to run.
        machine: where.
        given: states that some tensors must have when they are made.
        final: states that some tensors must have in the end.
        trying_all: look at every plan instead, which only a graph of a few nodes allows.

    Raises:
        ValueError: for a state that a tensor cannot be in, or if no plan fits the memory.

    Source: the formulation is Alpa's (Zheng et al., 2022, section 4.2).
    """
    given, final = given or {}, final or {}
    for name, state in (*given.items(), *final.items()):
        check_state(graph, name, state, machine.mesh, machine.stages)
    offered = {node.name: _offers(graph, node, machine, given) for node in graph.nodes}
    chosen = _by_trial(graph, machine, offered, final) if trying_all else _by_program(graph, machine, offered, final)
    if chosen is None:
        limits = {"": machine.memory, " of activations": machine.activations}
        described = " and ".join(f"{limit:g} numbers{what}" for what, limit in limits.items() if limit < float("inf"))
        raise ValueError(f"no plan keeps at most {described or 'any'} on a rank of the mesh {machine.mesh}")
    return Plan(graph, machine, chosen, final)


def _offers(graph: Graph, node: Node, machine: Machine, given: Mapping[str, State]) -> list[Way]:
    """The ways of a node; an input may be in any state unless one is given."""
    offered = [
        way for way in ways(graph, node, machine.mesh, machine.stages) if way.output == given.get(node.name, way.output)
    ]
    if node.kind == "input":
        offered = [Way((), way.output) for way in offered]
    if machine.activations == float("inf") or node.keep or node.backward:
        fates = [""]
    else:
        fates = [KEPT, AGAIN][: 1 + (node.kind != "input")]
        if not any(node.name in user.inputs and user.backward for user in graph.nodes):
            fates.append("")
    return [replace(way, later=fate) for way in dict.fromkeys(offered) for fate in fates]


def _by_trial(
    graph: Graph, machine: Machine, offered: Mapping[str, list[Way]], final: Mapping[str, State]
) -> dict[str, Way] | None:
    plans = (Plan(graph, machine, dict(zip(offered, ways, strict=True)), final) for ways in product(*offered.values()))
    best = min((plan for plan in plans if plan.runs), key=lambda plan: plan.seconds, default=None)
    return None if best is None or best.seconds == float("inf") else dict(best.ways)


Row = tuple[list[tuple[int, float]], float, float]  # a sum of columns times numbers, and its two limits


def _solved(rows: list[Row], costs: list[float], whole: int, loads: list[list[bool]]) -> np.ndarray | None:
    """The columns between 0 and 1, the first `whole` of them integers, whose largest load is least; or None."""
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import coo_array

    price = np.array(costs)
    possible = np.isfinite(price)
    price = np.where(possible, price, 0.0) / (price[possible].max(initial=0) or 1.0)
    most = len(price)  # the column of the largest load
    for load in loads:
        here = [(k, float(price[k])) for k, counts in enumerate(load) if counts and price[k]]
        rows.append(([*here, (most, -1.0)], -np.inf, 0))
    entries = [(row, *term) for row, (terms, _, _) in enumerate(rows) for term in terms]
    row, column, value = (np.array(part) for part in zip(*entries, strict=True))
    low, high = (np.array(limits) for limits in list(zip(*rows, strict=True))[1:])
    found = milp(
        np.eye(most + 1)[most],
        integrality=(np.arange(most + 1) < whole).astype(int),
        bounds=Bounds(0, np.append(np.where(possible, 1.0, 0.0), np.inf)),
        constraints=LinearConstraint(coo_array((value, (row, column)), shape=(len(rows), most + 1)).tocsr(), low, high),
        options={"mip_rel_gap": 0},
    )
    return None if found.x is None else np.asarray(found.x)


def _by_program(
    graph: Graph, machine: Machine, offered: Mapping[str, list[Way]], final: Mapping[str, State]
) -> dict[str, Way] | None:
    rows, columns = list[Row](), dict[str, list[tuple[int, Way]]]()
    costs, loads = list[float](), list[tuple[int, ...]]()
    for node in graph.nodes:
        columns[node.name] = list(enumerate(offered[node.name], len(costs)))
        costs += [machine.compute(graph, node, way) for way in offered[node.name]]
        loads += [(stage(way.output),) for way in offered[node.name]]
        rows.append(([(k, 1.0) for k, _ in columns[node.name]], 1, 1))
    whole = len(costs)
    for name, user, wanted in _wanted(graph, columns, final):
        start, made = len(costs), _by_output(columns[name])
        for before, (after, times) in product(made, wanted):
            tensor = graph.by_name[name]
            moves = _may_move(tensor, user, before, after)
            costs.append(times * machine.change(graph, tensor.letters, before, after) if moves else float("inf"))
            loads.append((stage(before), stage(after)))
        pairs = np.arange(start, len(costs)).reshape(len(made), len(wanted))
        for sums, users in ((pairs, made.values()), (pairs.T, wanted.values())):
            for added, takers in zip(sums.tolist(), users, strict=True):
                total = 0 if takers else 1
                rows.append(([*((k, 1.0) for k in added), *((k, -1.0) for k in takers)], total, total))
    for new, old in graph.same.items():
        ends = [_by_output(columns[name], _elsewhere) for name in (new, old)]
        for state in dict.fromkeys([*ends[0], *ends[1]]):
            signs = zip(ends, (1.0, -1.0), strict=True)
            rows.append(([(k, sign) for end, sign in signs for k in end.get(state, [])], 0, 0))
    rows += _limits(graph, machine, columns)
    found = _solved(rows, costs, whole, [[k in on for on in loads] for k in range(machine.depth)])
    if found is None:
        return None
    return {name: max(own, key=lambda column: found[column[0]])[1] for name, own in columns.items()}


def _limits(graph: Graph, machine: Machine, columns: Mapping[str, list[tuple[int, Way]]]) -> Iterator[Row]:
    """What fits the memory; and what is computed again finds its inputs."""
    for limit, stays in ((machine.memory, None), (machine.activations, KEPT)):
        for k in range(machine.depth) if limit < float("inf") else ():
            terms = [
                (column, machine.size(graph, node, way.output) * (machine.flight(k) if stays else 1.0))
                for node in graph.nodes
                for column, way in columns[node.name]
                if (way.later == stays if stays else node.keep) and stage(way.output) == k
            ]
            yield terms, -np.inf, limit
    for node in graph.nodes:
        again = [(k, 1.0) for k, way in columns[node.name] if way.later == AGAIN]
        for name in node.inputs:
            gone = [(k, 1.0) for k, way in columns[name] if _dropped(graph.by_name[name], way)]
            if again and gone:
                yield [*again, *gone], -np.inf, 1


def _wanted(
    graph: Graph, columns: Mapping[str, list[tuple[int, Way]]], final: Mapping[str, State]
) -> Iterator[tuple[str, Node | None, dict[tuple[State, int], list[int]]]]:
    """Each edge: tensor, user, and what is wanted: a state and how often, with the columns of the ways that want it."""
    for node in graph.nodes:
        for place, name in enumerate(node.inputs):
            found: dict[tuple[State, int], list[int]] = {}
            for k, way in columns[node.name]:
                found.setdefault((way.inputs[place], 1 + (way.later == AGAIN)), []).append(k)
            yield name, node, found
    for name, state in final.items():
        yield name, None, {(state, 1): []}


def _by_output(
    columns: list[tuple[int, Way]], of: Callable[[State], State] = lambda state: state
) -> dict[State, list[int]]:
    found: dict[State, list[int]] = {}
    for k, way in columns:
        found.setdefault(of(way.output), []).append(k)
    return found

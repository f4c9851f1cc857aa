"""The mesh explorer: what the wires of a mesh carry, beside those of the torus of the same shape."""

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cache

from colllib.algorithms import lattice, relay
from colllib.execution import Execution, execute
from colllib.schedule import Schedule
from colllib.show.control import Control, Part
from colllib.show.drawings import wiring
from colllib.show.explorer import Explorer
from colllib.show.figure import Chart
from colllib.show.pen import legend_of
from colllib.show.table import Table
from colllib.topology import Lattice, mesh, torus
from colllib.topology.cuts import wires

SHAPES = ((8,), (12,), (3, 3), (4, 4), (5, 5), (6, 4), (8, 4), (6, 6), (8, 8))


def _middle(axes: Lattice) -> int:
    return sum(size // 2 * stride for size, stride in zip(axes.dims, axes.strides, strict=True))


COLLECTIVES: dict[str, Callable[[Lattice], Schedule]] = {
    "all-to-all, relayed": relay.relay,
    "reduce-scatter, axis by axis": lattice.dim_ring_reduce_scatter,
    "all-reduce, dim-ring": lattice.dim_ring,
    "all-reduce, rotated copies": lattice.rotated_dim_ring,
    "broadcast from a corner": lattice.dim_chain,
    "broadcast from the middle": lambda axes: lattice.dim_chain(axes, root=_middle(axes)),
}


@cache
def run(collective: str, dims: tuple[int, ...], wraps: bool) -> Execution:
    """A collective, executed on the torus or mesh of a shape, a link of BW per neighbor and direction.

    >>> max(run("all-to-all, relayed", (8,), False).link_total)
    Fraction(2, 1)
    """
    topology = torus(dims) if wraps else mesh(dims)
    return execute(COLLECTIVES[collective](Lattice(dims, wraps)), topology)


def loads(execution: Execution) -> Mapping[tuple[int, int], Fraction]:
    """For each wire, what its busier direction carried over the whole run, in units of M."""
    topology = execution.topology
    busier: dict[tuple[int, int], Fraction] = {}
    for a, b, load in zip(topology.link_src.tolist(), topology.link_dst.tolist(), execution.link_total, strict=True):
        wire = (min(a, b), max(a, b))
        busier[wire] = max(load, busier.get(wire, load))
    return busier


def mesh_explorer() -> Explorer:
    """Collective and shape against the loads of all wires, on a mesh and on the torus of the same shape.

    >>> mesh_explorer()
    Explorer: What the wires carry (Collective, Shape)
    """
    return Explorer(
        "What the wires carry",
        [
            Control("collective", "Collective", list(COLLECTIVES), kind="select"),
            Control("dims", "Shape", {dims: _size(dims) for dims in SHAPES}, (8, 8)),
        ],
        [Part(_pictures, "The mesh and its torus"), Part(_table, "Mesh and torus", fold="Both in numbers")],
        summary=_summary,
        note="The thicker a wire, the more its busier direction carries over the whole run; both pictures have one "
        "scale. Every rank has a full-duplex link of BW to each "
        "neighbor; lock-step. Wires that leave a grid come back at the other end of their row or column.",
        note_title="What is drawn here",
    )


def _size(dims: tuple[int, ...]) -> str:
    return " × ".join(map(str, dims)) if len(dims) > 1 else f"{dims[0]} in a row"


def _pair(collective: str, dims: tuple[int, ...]) -> tuple[Execution, Execution]:
    return run(collective, dims, False), run(collective, dims, True)


def _pictures(collective: str, dims: tuple[int, ...]) -> str:
    on_mesh, on_torus = _pair(collective, dims)
    most = max(*on_mesh.link_total, *on_torus.link_total)
    drawn = _picture(on_mesh, "mesh", dims, most).fragment() + _picture(on_torus, "torus", dims, most).fragment()
    legend = legend_of([("line busiest", "the busiest wires of the two"), ("line", "the thinner, the less")])
    return f'<div class="cl-pair" style="align-items:start">{drawn}</div>{legend}'


def _picture(execution: Execution, what: str, dims: tuple[int, ...], most: Fraction) -> Chart:
    carried = loads(execution)
    top, low = max(carried.values()), min(carried.values())
    busiest = [f"{a}-{b}" for (a, b), load in carried.items() if load == top]
    alt = (
        f"{what.capitalize()} {_size(dims)}: wires carry between {low} M and {top} M; "
        f"{len(busiest)} of {len(carried)} wires carry the most, among them {', '.join(busiest[:4])}."
    )
    most_on = f"all {len(carried)} wires carry"
    if len(busiest) < len(carried):
        most_on = f"{len(busiest)} of {len(carried)} wires carry its most,"
    title = f"{what.capitalize()}: {most_on} {top}\N{NO-BREAK SPACE}M"
    widths = {wire: float(load / most) for wire, load in carried.items()}
    return wiring(execution.topology, width=widths, title=title, alt=alt)


def _table(collective: str, dims: tuple[int, ...]) -> Table:
    names = ("wires", "n_α", "n_β", "busiest link, M", "mean link / busiest")
    columns = map(_measures, _pair(collective, dims))
    return Table(["", "mesh", "torus"], list(zip(names, *columns, strict=True)))


def _measures(execution: Execution) -> tuple[object, ...]:
    carried, cost = execution.link_total, execution.cost
    top = max(carried)
    mean = float(sum(carried)) / len(carried)
    return wires(execution.topology), cost.n_alpha, str(cost.n_beta), str(top), f"{mean / float(top):.0%}"


def _summary(collective: str, dims: tuple[int, ...]) -> str:
    on_mesh, on_torus = _pair(collective, dims)
    a, b = max(on_mesh.link_total), max(on_torus.link_total)
    most = f"the mesh's busiest link carries {a} M, {float(a / b):.2f} times the torus's {b} M"
    if a == b:
        most = f"the busiest link carries {a} M on both"
    hops = on_mesh.cost.n_alpha, on_torus.cost.n_alpha
    steps = f"{hops[0]} on both" if hops[0] == hops[1] else f"{hops[0]} against {hops[1]}"
    return f"{collective.capitalize()}, on {_size(dims)}: {most}; latencies: {steps}."

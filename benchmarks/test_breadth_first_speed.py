"""How long breadth-first schedules take to plan, divide and execute with proof. Run with `make bench`.

Targets, in CPU seconds of one core: 1,024 ranks of degree 4 within 3, the hypercube of 1,024 within 4 and 700 MB, the
fourth line graph of K(4,4), 2,048 ranks, within 8, kautz:8x1000 within 3; the loads of a 50 x 50 torus within 10.
"""

import resource
import time
from fractions import Fraction

import pytest

from colllib import execute
from colllib.algorithms import expansion
from colllib.algorithms.breadth_first import BreadthFirst
from colllib.topology.expression import find


def _lines(base, times):
    return "line-graph(" * times + base + ")" * times


GRAPHS = [
    *("kautz:4x1024", "circulant:1024x22x23", _lines("circulant:16x3x4", 3), "power(diamond,3)"),
    *("hypercube:10", "kautz:8x1000", _lines("complete-bipartite:4x4", 4), "torus:32x32"),
]


@pytest.mark.parametrize("name", GRAPHS)
def test_an_all_gather_is_planned_executed_and_proved(benchmark, name):
    """From the expression to the proof."""

    def run():
        start = time.process_time()
        topology = find(name)
        plan = BreadthFirst(topology)
        done = execute(plan.all_gather(), topology)
        benchmark.extra_info["CPU_s"] = time.process_time() - start
        return plan, done

    plan, done = benchmark.pedantic(run, rounds=1)
    benchmark.extra_info |= {"pieces": plan.pieces, "cost": str(done.cost)}
    benchmark.extra_info["peak_memory_MB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    assert done.cost.n_alpha == len(plan.layers)
    assert done.cost.n_beta == sum(plan.loads) / plan.topology.ranks


@pytest.mark.parametrize("times", [3, 4])
def test_a_schedule_is_expanded_to_line_graphs_and_executed(benchmark, times):
    """The same graph as above, its schedule made from that of K(4,4)."""

    def run():
        graph = find("complete-bipartite:4x4")
        schedule = BreadthFirst(graph).all_gather()
        for _ in range(times):
            schedule, graph = expansion.line_graph(schedule, graph), find(f"line-graph({graph.name})")
        return execute(schedule, graph)

    done = benchmark.pedantic(run, rounds=1)
    benchmark.extra_info["peak_memory_MB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    added = Fraction(4, 3) * (Fraction(1, 8) - Fraction(1, 8 * 4**times))
    assert 4 * done.cost.n_beta == Fraction(7, 8) + added


def test_the_loads_of_a_50_by_50_torus(benchmark):
    """The closed form, step by step."""
    loads = benchmark.pedantic(lambda: BreadthFirst(find("torus:50x50")).loads, rounds=3)
    assert sum(loads) == Fraction(2499, 4)


def test_a_linear_program_for_each_receiver(benchmark):
    """What the closed form saves: the programs of one step of kautz:4x1024."""
    plan = BreadthFirst(find("kautz:4x1024"))
    loads = benchmark.pedantic(lambda: [plan.linear_program(u, 5) for u in range(1024)], rounds=1)
    assert max(loads) == plan.loads[4]

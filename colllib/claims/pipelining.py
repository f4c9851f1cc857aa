"""Answers on pipelining."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache, partial
from math import sqrt

import numpy as np

from colllib.algorithms import allreduce, broadcast, reduce
from colllib.claims.finding import Finding, answer
from colllib.claims.model import POWERS, SIZES
from colllib.cost import Cost
from colllib.execution import Execution, execute
from colllib.measures import busiest_link, busy_ports, phases
from colllib.pipeline import best_segments_unrounded, pipeline_cost
from colllib.schedule import Schedule, pipelined
from colllib.topology import Topology, from_links, full_mesh

CHAPTER = "05-pipelining"
SEGMENTS = (1, 2, 3, 10, 16)


def _log(n: int) -> int:
    return (n - 1).bit_length()


@answer(CHAPTER, "E-01-175")
def _fill() -> Finding:
    executed = {p: phases(busy_ports(broadcast.chain(4, segments=p))).fill for p in (2, 3, 4, 8)}
    because = (
        "All L = 3 steps are busy from slot L on, so the pipeline fills in min(L, P) - 1 slots; that is P - 1 only "
        "while P is at most L."
    )
    return Finding.compare({p: p - 1 for p in executed}, executed, because)


@answer(CHAPTER, "E-01-176")
def _slots() -> Finding:
    return Finding.compare(5, broadcast.chain(4, segments=3).num_steps)


@answer(CHAPTER, "E-01-177")
def _master_formula() -> Finding:
    claimed, executed = {}, {}
    for p in SEGMENTS:
        for n in SIZES:
            executed[f"chain, N = {n}, P = {p}"] = execute(broadcast.chain(n, segments=p)).cost
            claimed[f"chain, N = {n}, P = {p}"] = pipeline_cost(n - 1, p)
        for build in (broadcast.binomial_tree, allreduce.recursive_doubling):
            for n in (4, 8, 16):
                key = f"{build.__name__}, a link per pair, N = {n}, P = {p}"
                executed[key] = execute(pipelined(build(n), p), full_mesh(n)).cost
                claimed[key] = pipeline_cost(_log(n), p)
    return Finding.compare(claimed, executed)


@answer(CHAPTER, "E-01-178")
def _depths() -> Finding:
    claimed, executed = {}, {}
    rows: dict[str, tuple[Callable[[int], Schedule], Callable[[int], int], tuple[int, ...]]] = {
        "chain broadcast": (broadcast.chain, lambda n: n - 1, SIZES),
        "chain reduce": (reduce.chain, lambda n: n - 1, SIZES),
        "binomial tree": (broadcast.binomial_tree, _log, SIZES),
        "ring": (allreduce.ring, lambda n: 2 * (n - 1), SIZES),
        "double binary tree": (allreduce.double_binary_tree, lambda n: 2 * _log(n), POWERS),
    }
    for name, (build, depth, sizes) in rows.items():
        for n in sizes:
            claimed[f"{name}, N = {n}"] = depth(n)
            executed[f"{name}, N = {n}"] = build(n).num_steps
    return Finding.compare(claimed, executed)


def _three_steps(segments: int, claimed: Cost) -> Finding:
    return Finding.compare(claimed, execute(broadcast.chain(4, segments=segments)).cost)


for _id, _p, _said in (
    ("E-01-179", 1, Cost(3, 3)),
    ("E-01-180", 3, Cost(5, Fraction(5, 3))),
    ("E-01-181", 10, Cost(12, Fraction(6, 5))),
):
    answer(CHAPTER, _id)(partial(_three_steps, _p, _said))


@answer(CHAPTER, "E-01-182")
def _best_segments() -> Finding:
    executed = {}
    for stages in (3, 9, 31):
        for ratio in (1.0, 35.6, 400.0):
            real = best_segments_unrounded(stages, message=ratio, alpha=1, bandwidth=1)
            near = range(max(1, int(real) - 3), int(real) + 5)
            times = {
                p: execute(broadcast.chain(stages + 1, segments=p)).cost.seconds(message=ratio, alpha=1, bandwidth=1)
                for p in near
            }
            best = min(times, key=times.__getitem__)
            executed[f"L = {stages}, M = {ratio:g} alpha BW"] = abs(best - max(real, 1)) < 1
    return Finding.compare(dict.fromkeys(executed, True), executed)


@answer(CHAPTER, "E-01-183")
def _time_at_the_best() -> Finding:
    stages, alpha, load = 9, 0.5, 1600.0
    formula = stages * alpha + load + 2 * sqrt((stages - 1) * alpha * load)
    segments = round(best_segments_unrounded(stages, message=load, alpha=alpha, bandwidth=1))
    cost = execute(broadcast.chain(stages + 1, segments=segments)).cost
    because = (
        "(L + P - 1)(alpha + M / P BW) at P* is (L-1) alpha + M/BW + 2 sqrt((L-1) alpha M/BW): one alpha less than "
        "the formula says."
    )
    return Finding.rounds({f"{formula:.1f}": cost.seconds(message=load, alpha=alpha, bandwidth=1)}, because)


@cache
def torus(*sides: int) -> Topology:
    """A torus with a link to each neighbor, both ways."""
    shape = np.arange(int(np.prod(sides))).reshape(sides)
    links = set()
    for axis in range(len(sides)):
        ahead = np.roll(shape, -1, axis)
        links |= set(zip(shape.ravel().tolist(), ahead.ravel().tolist(), strict=True))
        links |= set(zip(ahead.ravel().tolist(), shape.ravel().tolist(), strict=True))
    return from_links(f"torus:{'x'.join(map(str, sides))}", shape.size, sorted(links))


@answer(CHAPTER, "E-01-184")
def _neighbors_on_a_torus() -> Finding:
    executed = {f"{len(s)}-D ports": int((torus(*s).link_src == 0).sum()) for s in ((5,), (4, 4), (3, 3, 3))}
    claimed = {"1-D ports": 2, "2-D ports": 4, "3-D ports": 6}
    whole = allreduce.recursive_doubling(512)
    partners = {int(d) for t in range(whole.num_steps) for d in whole.step(t).dst[whole.step(t).src == 0]}
    executed["log2 N partners fit 8x8x8"] = len(partners) <= 6
    claimed["log2 N partners fit 8x8x8"] = False
    return Finding.compare(claimed, executed)


def _links_and_limit(run: Execution) -> dict[str, Fraction]:
    """The links that one rank uses at once, in and out, and what n_beta tends to on one port."""
    return {"links": Fraction(sum(run.partners())), "n_beta in the limit": busiest_link(run)}


def _chain_row(build: Callable[..., Schedule]) -> Finding:
    executed = {n: _links_and_limit(execute(build(n, segments=2 * n))) for n in (3, 8, 64)}
    return Finding.compare({n: {"links": Fraction(2), "n_beta in the limit": Fraction(1)} for n in executed}, executed)


answer(CHAPTER, "E-01-185")(partial(_chain_row, broadcast.chain))
answer(CHAPTER, "E-01-186")(partial(_chain_row, reduce.chain))


def _interior(schedule: Schedule) -> dict[str, Fraction]:
    """Of the ranks other than the root, 0: the links one uses at once, and the bytes through its port."""
    n = schedule.ranks
    links = 0
    for t in range(schedule.num_steps):
        step = schedule.step(t)
        used = np.bincount(step.src, minlength=n)[1:] + np.bincount(step.dst, minlength=n)[1:]
        links = max(links, int(used.max()))
    run = execute(schedule)
    return {"links": Fraction(links), "n_beta": max(run.sent[1:] + run.received[1:])}


_INTERIOR = (
    "Rank 1 of a binomial tree has a parent and log2 N - 1 children, and while the pipeline is full it serves all of "
    "them in every step: log2 N links, log2 N - 1 vectors through its port, and log2 N through the root's."
)


def _binomial_row(build: Callable[..., Schedule]) -> Finding:
    executed = {n: _interior(build(n, segments=2 * _log(n))) for n in (8, 64, 512)}
    return Finding.compare({n: {"links": Fraction(2), "n_beta": Fraction(1)} for n in executed}, executed, _INTERIOR)


answer(CHAPTER, "E-01-187")(partial(_binomial_row, broadcast.binomial_tree))
answer(CHAPTER, "E-01-188")(partial(_binomial_row, reduce.binomial_tree))

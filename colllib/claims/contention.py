"""Answers on contention: the coefficients, placements, skew, oversubscription, and the ladder that they re-price."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np

from colllib.algorithms import allreduce, alltoall, direct, find, lattice
from colllib.algorithms.innetwork import port_load
from colllib.claims.finding import Finding, Verdict, answer
from colllib.contention import Band, hot_destination, skew_factor, study, together
from colllib.cost import Cost
from colllib.execution import ScheduleError, execute
from colllib.ladder import ANCHOR_ALPHA, ANCHOR_BANDWIDTH, ANCHOR_MESSAGE
from colllib.losses import NVLINK4, PROFILES, effective, implied_eta_beta
from colllib.lossy import Line, line
from colllib.primitives import all_reduce
from colllib.schedule import Schedule, placed, side_by_side
from colllib.topology import Lattice, Topology, leaf_spine, mesh, star, switch_tree, torus

CHAPTER = "20-contention"
LADDER = "21-realistic-ladder"
ANCHOR = {"message": ANCHOR_MESSAGE, "alpha": ANCHOR_ALPHA, "bandwidth": ANCHOR_BANDWIDTH}
H100, NVLS = 360e9, 470e9  # the published bus bandwidths that the source calibrates with
CUBE = (8, 8, 8)


# -- calibration ---------------------------------------------------------------------------------


@answer(CHAPTER, "E-05-001", "E-05-011", "E-00-054")
def _crossbar() -> Finding:
    n_beta = execute(allreduce.ring(8)).cost.n_beta
    return Finding.rounds({"0.80": implied_eta_beta(H100, NVLINK4, Fraction(n_beta), 8)})


@answer(CHAPTER, "E-05-002")
def _floor() -> Finding:
    pair = together([(allreduce.ring(4), (0, 2, 4, 6)), (allreduce.ring(4), (1, 3, 5, 7))], torus((8,)))
    idle = PROFILES["crossbar"].beta
    shared = idle * Fraction(pair.alone[0].cost.n_beta) / Fraction(pair.in_step[0].n_beta)
    because = (
        "What an idle machine reaches is the largest value, and sharing a link lowers it: two rings over the same "
        "links, each at 0.80, run at 0.40. The heading has the word; it is the loss that has a floor."
    )
    said = {"the heading of section 2.1": "a ceiling", "its text": "a floor"}
    return Finding.statements(said, f"{float(shared):.2f} for two jobs over the same links", because)


@answer(CHAPTER, "E-05-012", "E-00-055")
def _nvls() -> Finding:
    one, two = (implied_eta_beta(NVLS, NVLINK4, port_load(8, shots=shots), 8) for shots in (1, 2))
    because = (
        "470 GB/s was measured at N = 8, where the bus factor is 7/4; halving it takes the factor 2 of N without end. "
        f"At N = 8 the same measurement gives {one:.2f} for n_beta = 1, and {two:.2f} for the two-shot 9/8."
    )
    return Finding.rounds({"0.52": one}, because)


@answer(CHAPTER, "E-05-013")
def _lift() -> Finding:
    return Finding.rounds({"1.3": NVLS / H100})


@answer(CHAPTER, "E-05-014", "E-00-056")
def _torus() -> Finding:
    return Finding.rounds({"0.6": 1 / 1.63})


@answer(CHAPTER, "E-05-015")
def _rates() -> Finding:
    added, plain = (busbw / NVLINK4 / 1.75 for busbw in (NVLS, H100))
    because = (
        f"What a rank realizes at N = 8 is the bus bandwidth over 7/4: {added:.2f} BW and {plain:.2f} BW. The quotient "
        f"of {added / plain:.1f} stands, since both were divided by 2."
    )
    return Finding.rounds({"0.52": added, "0.40": plain, "1.3": added / plain}, because)


@answer(CHAPTER, "E-05-010")
def _formula() -> Finding:
    """The formula where a coefficient can say it: k rings over the same links have eta_beta = 1/k at every size."""
    executed, claimed = {}, {}
    for k in (1, 2, 3, 4):
        rings = [(allreduce.ring(12 // k), range(first, 12, k)) for first in range(k)]  # interleaved on one ring
        found = together(rings, torus((12,)))
        claimed[f"{k} rings"] = effective(found.alone[0].cost, replace(PROFILES["ideal"], beta=Fraction(1, k)))
        executed[f"{k} rings"] = found.in_step[0]
    return Finding.compare(claimed, executed, "The coefficients do not give the executed cost.")


# -- where groups lie ----------------------------------------------------------------------------


def _block() -> list[int]:
    return [x + 8 * y for y in (0, 1) for x in range(8)]


@answer(CHAPTER, "E-05-003")
def _sixteen() -> Finding:
    rings = side_by_side(*(placed(allreduce.ring(8), range(8 * y, 8 * y + 8), 16) for y in (0, 1)))
    half = Schedule(all_reduce(16, 16), rings.num_steps, rings.step)
    try:
        execute(half, torus((8, 2)))
        proved = True
    except ScheduleError:
        proved = False
    run = execute(placed(lattice.dim_ring(Lattice((8, 2))), _block(), 512), torus(CUBE)).cost
    because = (
        "Two rings of eight leave every rank with eight of the sixteen contributions, and one ring of eight has no "
        "room for sixteen: the group is an 8 x 2 block, which dim-ring serves in 16 steps, each one hop."
    )
    claimed = {"rings of 8 make it true": True, "cost": Cost(14, Fraction(7, 4))}
    return Finding.compare(claimed, {"rings of 8 make it true": proved, "cost": run}, because)


@answer(CHAPTER, "E-05-004")
def _scattered() -> Finding:
    """In steps, as the text counts, and in time at the anchor; what latencies do is in the note."""
    ideal, ring = lattice.dim_ring_cost(Lattice((8, 2))), allreduce.ring(16)
    single, full = (study(ring, torus(CUBE), draws=200, groups=g, ordered=True) for g in (1, None))
    steps = float(ring.num_steps / ideal.n_alpha)
    alpha = Band.of([float(cost.n_alpha / ideal.n_alpha) for cost in single])
    alone, crowd = (Band.of([cost.seconds(**ANCHOR) / ideal.seconds(**ANCHOR) for cost in s]) for s in (single, full))
    where = (
        f"For one group of 16 in rank order on an idle cube, against an aligned 8 x 2 block: {steps:.1f} times the "
        f"steps, and {alone} times the time at 16 MB, over 200 draws. But a step lasts as long as its longest "
        f"route: in latencies, which is what short messages pay, it is {alpha} times the ideal, and with all 32 groups "
        f"scattered 16 MB take {crowd} times as long."
    )
    executed = {"steps, rounded": 2 <= round(steps) <= 4, "time at 16 MB, as a rule": 2 <= alone.middle <= 4}
    return Finding.compare(dict.fromkeys(executed, True), executed, where).holding(
        where, f"{steps:.1f} in steps, {alone} in time at 16 MB"
    )


@cache
def _along_x(groups: int) -> tuple[int, Cost, Cost]:
    rows = [range(8 * line, 8 * line + 8) for line in range(groups)]
    found = together([(allreduce.ring(8), row) for row in rows], torus(CUBE))
    return int(found.users.max()), found.alone[0].cost, max(found.in_step, key=lambda cost: cost.n_beta)


@answer(CHAPTER, "E-05-005")
def _same_links() -> Finding:
    executed = {f"{g} groups": _along_x(g)[0] for g in (8, 64)}
    because = (
        "Groups along X lie on different lines of X, and every line has links of its own: no link serves two groups, "
        "even with all 64 at once."
    )
    return Finding.compare({"8 groups": 8, "64 groups": 64}, executed, because)


@answer(CHAPTER, "E-05-006")
def _pigeons() -> Finding:
    least = min(max(np.bincount(axes, minlength=3)) for axes in product(range(3), repeat=8))
    return Finding.compare(3, int(least))


@answer(CHAPTER, "E-05-007")
def _splits() -> Finding:
    _, alone, in_company = _along_x(64)
    cube = [0, 1, 9, 8, 72, 73, 65, 64]  # round a 2 x 2 x 2 corner and back, hop by hop
    around = execute(placed(allreduce.ring(8), cube, 512), torus(CUBE)).cost
    because = (
        "64 groups of 8 along X run at once in the time of one, 14 steps and 7/4 M; and a ring of 8 round a 2 x 2 x 2 "
        "corner costs just as much, so the axis is not forced either."
    )
    executed = {"another layout costs more": around != alone, "bandwidth splits": in_company != alone}
    return Finding.compare({"another layout costs more": True, "bandwidth splits": True}, executed, because)


# -- skew ----------------------------------------------------------------------------------------


@answer(CHAPTER, "E-05-008")
def _bisection() -> Finding:
    claimed, executed = {}, {}
    for dims in ((8, 8), (4, 4, 4), (8, 4)):
        where = torus(dims, tie="balanced")
        total = execute(direct.all_to_all(where.ranks), where).link_total
        right = [int(rank) % dims[0] >= dims[0] // 2 for rank in range(where.ranks)]
        ends = zip(where.link_src.tolist(), where.link_dst.tolist(), total, strict=True)
        executed[where.name] = sum((load for a, b, load in ends if right[a] != right[b]), Fraction(0))
        claimed[where.name] = Fraction(where.ranks, 2)
    return Finding.compare(claimed, executed)


@answer(CHAPTER, "E-05-009")
def _absorbs() -> Finding:
    shares = hot_destination(64, 10)
    places: tuple[Topology, ...] = (star(64), torus((8, 8), tie="balanced"), mesh((8, 8)))
    found = {where.name: skew_factor(where, shares) for where in places}
    because = (
        "All that goes to the hot rank goes through its one port: ten times the share of the others makes the "
        f"all-to-all {float(found['star:64']):.1f} times as long on a star of 64, more than on an 8 x 8 torus "
        f"({float(found['torus:8x8']):.1f}) or mesh ({float(found['mesh:8x8']):.1f}) with a link per neighbor."
    )
    return Finding.compare("1x", f"{float(found['star:64']):.1f}x", because)


# -- oversubscription ----------------------------------------------------------------------------


def _tiers(s: int, uplinks_too: bool = True) -> tuple[Fraction, Fraction]:
    """The executed eta_beta of traffic inside leaves and between them: oversubscription s, links at 0.80 of BW.

    Every rank sends M to one other rank; the fluid limit of the spine, so that no flows collide.
    """
    hardware, leaves, hosts = Fraction(4, 5), 4, 8
    uplink = Fraction(hosts, s) * (hardware if uplinks_too else 1) / hardware
    fabric = leaf_spine(leaves, hosts, 1, uplink=uplink)
    fabric = replace(fabric, tiers=tuple(replace(tier, bandwidth=tier.bandwidth * hardware) for tier in fabric.tiers))
    rank = np.arange(leaves * hosts)
    inside = rank // hosts * hosts + (rank + 1) % hosts
    across = (rank + hosts) % len(rank)
    found = []
    for dst in (inside, across):
        load = np.bincount(fabric.router(rank, dst)[1], minlength=fabric.num_links)
        slowest = max(int(count) / speed for count, speed in zip(load, fabric.bandwidth, strict=True))
        found.append(1 / Fraction(slowest))
    return found[0], found[1]


def _told(values: dict[int, Fraction]) -> str:
    return ", ".join(f"{float(value):.2f}" for value in values.values())


@answer(CHAPTER, "E-05-016")
def _upper_bound() -> Finding:
    holds = {
        f"s = {s}": max(_tiers(s)[1], _tiers(s, uplinks_too=False)[1]) <= min(Fraction(4, 5), Fraction(1, s))
        for s in (1, 2, 4)
    }
    return Finding.compare(dict.fromkeys(holds, True), holds, "The bound does not hold.")


@answer(CHAPTER, "E-05-017")
def _leaf_row() -> Finding:
    return Finding.compare(dict.fromkeys((1, 2, 4), Fraction(4, 5)), {s: _tiers(s)[0] for s in (1, 2, 4)})


@answer(CHAPTER, "E-05-018")
def _spine_row() -> Finding:
    executed = {s: _tiers(s)[1] for s in (1, 2, 4)}
    because = (
        "The table multiplies 0.80 by 1/s, the sentence below it takes the smaller of the two; executed, uplinks that "
        "run at 0.80 of their rate and are oversubscribed s times give the product."
    )
    said = {"the table": "0.80, 0.40, 0.20", "the sentence": "0.80, 0.50, 0.25"}
    return Finding.statements(said, _told(executed), because)


@answer(CHAPTER, "E-05-019", "E-00-057")
def _cross_leaf() -> Finding:
    executed = {s: _tiers(s)[1] for s in (1, 2, 4)}
    full = {s: _tiers(s, uplinks_too=False)[1] for s in (1, 2, 4)}
    because = (
        "If uplinks too reach only 0.80 of their rate, as the spine row has it at s = 1, 1/s of that rate is 0.80/s; "
        f"min(0.80, 1/s) takes uplinks at their full rate ({_told(full)} executed)."
    )
    return Finding.compare("0.80, 0.50, 0.25", _told(executed), because)


def _across_pods(s: int) -> Fraction:
    """The executed eta_beta of traffic between pods of a three-tier tree, oversubscribed s times at both boundaries.

    A switch has 2 uplinks and 2 s links down; the uplinks of a switch are bonded, so that no flows collide.
    """
    pod = 2 * s * s
    ranks = pod * (s + 1)
    fabric = switch_tree(ranks, 2 * s + 2, uplinks=2)
    rank = np.arange(ranks)
    load = np.bincount(fabric.router(rank, (rank + pod) % ranks)[1], minlength=fabric.num_links)
    return 1 / Fraction(max(int(count) / speed for count, speed in zip(load, fabric.bandwidth, strict=True)))


@answer(CHAPTER, "E-05-020")
def _two_boundaries() -> Finding:
    executed = _across_pods(2)
    because = (
        "What passes both boundaries is divided at both: 1/(s2 s3), as the word says. The minimum in the formula is an "
        f"upper bound that no such fabric reaches (s = 3 at both: {_across_pods(3)})."
    )
    return Finding.statements({"the word": Fraction(1, 4), "the formula": Fraction(1, 2)}, executed, because)


# -- the realistic ladder ------------------------------------------------------------------------

INC = line("all-reduce", "in-network")
TREE = line("all-reduce", "double-binary-tree")
HALVING = line("all-reduce", "rabenseifner")
TORUS = line("all-reduce", "dim-ring")
GATHER_INC = line("all-gather", "in-network")
GATHER = line("all-gather", "recursive-doubling")
GATHER_TORUS = line("all-gather", "dim-ring")
PAIRWISE = line("all-to-all", "pairwise")
RELAY = line("all-to-all", "rotated-relay")


@cache
def micro(of: Line) -> tuple[float, float]:
    """A line's executed time at the anchor without and with the coefficients, in microseconds."""
    ideal, real = of.ideal(**ANCHOR), of.real(**ANCHOR)
    if of is RELAY:  # counted block by block from one rank; tests/test_lossy.py executes all 512, in seconds
        return ideal.seconds * 1e6, real.seconds * 1e6
    ideal_us, real_us = (
        effective(r.entry.executed_cost(r.segments), r.eta).seconds(**ANCHOR) * 1e6 for r in (ideal, real)
    )
    return ideal_us, real_us


def _row(of: Line, ideal: str, realistic: str, because: str = "") -> Finding:
    return Finding.rounds(dict(zip((ideal, realistic), micro(of), strict=True)), because)


def _increase(of: Line) -> float:
    ideal, realistic = micro(of)
    return 100 * (realistic / ideal - 1)


@answer(LADDER, "E-05-021")
def _inc_row() -> Finding:
    because = (
        "2 alpha + M/BW is a limit: whole vectors cut into P pieces cost (P+1)/2 alpha and (P+1)/P M/BW, and the best "
        f"P is {INC.ideal(**ANCHOR).segments} without the coefficients and "
        f"{INC.real(**ANCHOR).segments} with them."
    )
    return _row(INC, "18.8", "35", because)


@answer(LADDER, "E-05-022")
def _inc_increase() -> Finding:
    limit = (1 + ANCHOR_MESSAGE / ANCHOR_BANDWIDTH * 1e6 / 0.52) / (1 + ANCHOR_MESSAGE / ANCHOR_BANDWIDTH * 1e6) - 1
    because = (
        f"Executed at the best number of pieces; the limit's own formula gives {100 * limit:.0f} %, 86 is the quotient "
        "of two rounded totals."
    )
    return Finding.rounds({"86": _increase(INC)}, because)


@answer(LADDER, "E-05-023")
def _tree_row() -> Finding:
    because = (
        "18 alpha belong to one piece and n_beta = 2 to pieces without end; at the best P the double tree executes as "
        f"printed here, and the line is Rabenseifner's: {micro(HALVING)[0]:.1f} and {micro(HALVING)[1]:.1f} us."
    )
    return _row(TREE, "45", "53", because)


@answer(LADDER, "E-05-024")
def _tree_increase() -> Finding:
    because = (
        f"Executed double tree at its best P; Rabenseifner, which the line describes, rises by "
        f"{_increase(HALVING):.0f} %."
    )
    return Finding.rounds({"18": _increase(TREE)}, because)


@answer(LADDER, "E-05-025")
def _torus_row() -> Finding:
    """57 is printed as the sum of 21 and 35.5."""
    cost, realistic = TORUS.entry.executed_cost(), micro(TORUS)[1]
    alpha, load = (part.seconds(**ANCHOR) * 1e6 for part in (Cost(cost.n_alpha, 0), Cost(0, cost.n_beta)))
    ideal, rounded = Finding.adds_up({"21": alpha, "35.5": load}, "57"), Finding.rounds({"84": realistic})
    return (
        replace(ideal, executed=f"{ideal.executed}, {rounded.executed}")
        if rounded.verdict is Verdict.ROUNDED
        else rounded
    )


@answer(LADDER, "E-05-026")
def _torus_increase() -> Finding:
    because = f"47 is the quotient of the rounded totals 84 and 57; the times give {_increase(TORUS):.0f} %."
    return Finding.rounds({"47": _increase(TORUS)}, because)


@answer(LADDER, "E-05-027")
def _torus_bytes() -> Finding:
    cost = TORUS.entry.executed_cost()
    load = effective(cost, TORUS.eta).n_beta / Fraction(cost.n_beta)
    because = f"1/0.60 is {float(load):.3f}, whatever the schedule."
    return Finding.rounds({"65": 100 * (float(load) - 1)}, because)


_LIMITS = (
    "The in-network and the double-tree line of the source are limits; executed at the best number of pieces, "
    "both move, and by different amounts."
)


@answer(LADDER, "E-05-028")
def _ahead() -> Finding:
    found = {"1.5": micro(TREE)[1] / micro(INC)[1], "2.4": micro(TORUS)[1] / micro(INC)[1]}
    return Finding.rounds(found, _LIMITS)


@answer(LADDER, "E-05-029")
def _margin_tree() -> Finding:
    ideal, realistic = (a / b for a, b in zip(micro(TREE), micro(INC), strict=True))
    because = f"{_LIMITS} To Rabenseifner it is {micro(HALVING)[0] / micro(INC)[0]:.1f} and then "
    return Finding.rounds({"2.4": ideal, "1.5": realistic}, because + f"{micro(HALVING)[1] / micro(INC)[1]:.1f}.")


@answer(LADDER, "E-05-030")
def _margin_torus() -> Finding:
    ideal, realistic = (a / b for a, b in zip(micro(TORUS), micro(INC), strict=True))
    return Finding.rounds({"3.0": ideal, "2.4": realistic}, _LIMITS)


@answer(LADDER, "E-05-031")
def _non_inc() -> Finding:
    before, after = (100 * (a / b - 1) for a, b in zip(micro(TORUS), micro(HALVING), strict=True))
    because = (
        "From 25 to 60 % is no compression, in the source's own figures; executed, Rabenseifner on the star against "
        f"dim-ring on the torus goes from {before:.0f} to {after:.0f} %."
    )
    return Finding.compare("compresses", "widens" if after > before else "compresses", because)


@answer(LADDER, "E-05-032")
def _gather_inc() -> Finding:
    because = (
        "Up to the switch and down again is one alpha, as for every other message of this star; the line charges two, "
        f"and with one it is {micro(GATHER_INC)[0]:.1f} and {micro(GATHER_INC)[1]:.1f} us."
    )
    return _row(GATHER_INC, "18.7", "23.2", because)


@answer(LADDER, "E-05-033")
def _gather_star() -> Finding:
    return _row(GATHER, "22.2", "26.7")


@answer(LADDER, "E-05-034")
def _gather_torus() -> Finding:
    return _row(GATHER_TORUS, "28.2", "42.2")


@answer(LADDER, "E-05-035")
def _pairwise_row() -> Finding:
    return _row(PAIRWISE, "273", "278")


@answer(LADDER, "E-05-036")
def _relay_row() -> Finding:
    return _row(RELAY, "23.8", "36.8")


@answer(LADDER, "E-05-037")
def _no_adder() -> Finding:
    executed = {}
    for primitive in ("all-gather", "reduce-scatter"):
        adds = star(8, combines=True, replicates=True, scatters=True)
        plain = star(8, replicates=True, scatters=True)
        schedule = find(primitive, "in-network").build(adds)
        execute(schedule, adds)
        try:
            execute(schedule, plain)
            executed[primitive] = "runs"
        except ScheduleError:
            executed[primitive] = "needs a switch that adds"
    because = "An all-gather only needs a switch that replicates; in a reduce-scatter the switch must add."
    return Finding.compare(dict.fromkeys(executed, "runs"), executed, because)


@answer(LADDER, "E-05-038")
def _gather_margin() -> Finding:
    ideal, realistic = (a / b for a, b in zip(micro(GATHER), micro(GATHER_INC), strict=True))
    because = (
        f"With one alpha for the way through the switch the gap is {ideal:.2f} and, with the coefficients, "
        f"{realistic:.2f}."
    )
    return Finding.rounds({"1.2": ideal, "1.15": realistic}, because)


@answer(LADDER, "E-05-039")
def _dominated() -> Finding:
    share = {}
    for of in (GATHER_INC, GATHER, GATHER_TORUS):
        cost = of.entry.executed_cost()
        share[of.label] = f"{100 * float(cost.n_alpha) * ANCHOR_ALPHA / cost.seconds(**ANCHOR):.0f} %"
    because = (
        f"At 16 MB the latencies are {', '.join(share.values())} of the three lines; these differ by their latencies, "
        "since their bytes are equal, but the bytes are most of the time."
    )
    return Finding.compare(dict.fromkeys(share, "more than 50 %"), share, because)


@answer(LADDER, "E-05-040")
def _alltoall_margin() -> Finding:
    ideal, realistic = (a / b for a, b in zip(micro(PAIRWISE), micro(RELAY), strict=True))
    return Finding.rounds({"11.5": ideal, "7.5": realistic})


@answer(LADDER, "E-05-041")
def _scales() -> Finding:
    executed = {}
    for size in (4, 6, 8):
        where = torus((size,) * 3, tie="balanced")
        grows = execute(direct.all_to_all(size**3), where).cost.n_beta
        executed[f"N = {size**3}"] = f"torus {float(grows):g}, star {float(_star_load(size**3)):.2f}"
    because = (
        "It is the torus that pays: the bytes on its busiest link grow with the axis, d/8 for even d, and a star's "
        "port carries (N-1)/N at every N; what the torus saves at N = 512 are pairwise exchange's 511 latencies."
    )
    return Finding.compare("no growth on the torus", "; ".join(executed.values()), because)


def _star_load(ranks: int) -> Fraction:
    return Fraction(execute(alltoall.pairwise(ranks)).cost.n_beta)


@answer(LADDER, "E-05-042")
def _every_margin() -> Finding:
    pairs = {
        "all-reduce, Rabenseifner to in-network": (HALVING, INC),
        "all-reduce, torus to in-network": (TORUS, INC),
        "all-reduce, torus to Rabenseifner": (TORUS, HALVING),
        "all-gather, star to in-network": (GATHER, GATHER_INC),
        "all-gather, torus to star": (GATHER_TORUS, GATHER),
        "all-to-all, pairwise to torus": (PAIRWISE, RELAY),
    }
    executed = {}
    for name, (slower, faster) in pairs.items():
        before, after = (a / b for a, b in zip(micro(slower), micro(faster), strict=True))
        executed[name] = "tightens" if after < before else "widens"
    because = (
        "Margins to in-network all-reduce and to the torus's all-to-all shrink; between star and torus they grow, in "
        "all-reduce and all-gather, because there the slower fabric has the worse coefficients."
    )
    return Finding.compare(dict.fromkeys(executed, "tightens"), executed, because)

"""Answers on boxes: collectives over two and three tiers, their phases, their order and what in-network changes.

An alpha of a tier is that of a whole route whose highest tier it is, a BW that of a port or card; uplinks have what
the cards below them need, unless they are oversubscribed. Lock-step, in one piece, unless an entry says otherwise.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from colllib.algorithms import allreduce, lattice
from colllib.algorithms.nested import nested
from colllib.claims.allreduce import HALVING, hierarchical_ring, ring_and_tree_meet
from colllib.claims.cases import as_quantities, deferred, each, per, us
from colllib.claims.contention import eta_of_tiers, every_margin
from colllib.claims.innetwork import trip
from colllib.claims.runs import built, closed, run, timed
from colllib.claims.traces import edges, states
from colllib.claims.value import Cases, Limit, Rows, Table
from colllib.cost import Cost, half_bandwidth_message
from colllib.execution import Execution
from colllib.ladder import topology
from colllib.measures import crossings
from colllib.placement import order_of
from colllib.schedule import Schedule, placed
from colllib.topology import Lattice

BY_BOXES = "all-to-all pairwise-by-boxes"
RING, TREE = "all-reduce ring", "all-reduce double-binary-tree"

#: Lu's two racks, NVLink inside and a shared leaf between them, and his spine.
LEAF: dict[str, Any] = {"message": 16e6, "alpha": (0.5e-6, 2e-6), "bandwidth": (900e9, 50e9)}
SPINE = LEAF | {"alpha": (0.5e-6, 8e-6)}
#: The same over one fabric only.
NVLINK: dict[str, Any] = {"message": 16e6, "alpha": 0.5e-6, "bandwidth": 900e9}
IB: dict[str, Any] = {"message": 16e6, "alpha": 8e-6, "bandwidth": 50e9}
#: (boxes, ranks of a box) on which formulas over both are tried.
PAIRS = ((2, 2), (2, 4), (4, 2), (4, 4), (3, 5), (8, 4))


def per_level(done: Execution) -> tuple[Fraction, ...]:
    """The latencies of a run, for each level of its topology."""
    levels, no_bytes = range(done.cost.levels), [Fraction(1)] * done.cost.levels
    return tuple(done.cost.time(0, [Fraction(level == one) for one in levels], no_bytes) for level in levels)


def parts(cost: Cost, price: dict[str, Any]) -> tuple[float, float]:
    """The latency and the load of a cost at a price."""
    whole, alone = cost.seconds(**price), cost.seconds(**price | {"message": 0})
    return alone, whole - alone


def _alike(done: Execution) -> Fraction:
    """The load of a run where all ports and cards have one BW."""
    return Fraction(done.cost.time(1, [Fraction(0)] * done.cost.levels, [Fraction(1)] * done.cost.levels))


def _in_ever_more_pieces(what: str, on: str) -> Limit:
    return Limit.of(lambda pieces: _alike(run(what, on, pieces)))


def rings(count: int, ranks: int, on: str = "") -> Execution:
    """Rings in the boxes, between them, and in the boxes again."""
    return built(hierarchical_ring, count, ranks, on=on or f"boxes:{count}x{ranks}")


# -- the table of compositions ---------------------------------------------------------------------------


@deferred
def composed(primitive: str, **options: Any) -> Cases:
    """A primitive on one tier after the other, with what each tier's alpha is paid and its load at one BW."""
    for count, ranks in PAIRS:
        on = f"boxes:{count}x{ranks}"
        done = run(f"{primitive} hierarchical", on, **options)
        inner, outer = per_level(done)
        case = {"at": on, "L": count, "N": count * ranks, "inner": inner, "outer": outer, "load": _alike(done)}
        if primitive in ("broadcast", "reduce"):
            case["limit"] = _in_ever_more_pieces(f"{primitive} hierarchical", on)
        yield case


def _halves() -> Cases:
    """An all-gather of its own, inner first, beside the way back of an all-reduce."""
    for count, ranks in PAIRS:
        on = f"boxes:{count}x{ranks}"
        alone, whole = run("all-gather hierarchical", on, order="inner-first"), rings(count, ranks)
        steps = whole.schedule.num_steps
        loads = [
            sum(k.steps * k.loads[1] for k in done) for done in (alone.kinds(), whole.kinds(range(steps // 2, steps)))
        ]
        yield {"at": on, "L": count, "N": count * ranks, "card": loads[0], "half_card": loads[1]}


# -- two racks of 72 --------------------------------------------------------------------------------------


def _two_racks() -> Cases:
    done, ib = rings(2, 72, "superpod:2"), as_quantities(run(RING, "star:144").cost, **IB)
    inner, outer = (as_quantities(done.cost_of(phase), **LEAF) for phase in (range(71), range(71, 73)))
    both, in_boxes = as_quantities(done.cost, **LEAF), LEAF | {"message": 0, "alpha": (0.5e-6, 0)}
    payload = max(k.loads[1] for k in done.kinds()) * 2  # a rank sends half of its piece to the other of two
    share = 100 * (ib.latency - both.latency) / (ib.t - both.t)
    own = {"payload": payload, "in_boxes": us(done.cost, **in_boxes), "latency_share": share}
    yield both.case("N = 144, 16 MB", inner=inner, outer=outer, ib=ib, **own)


def flat(what: str, price: dict[str, Any]) -> Rows:
    """An algorithm of 144 ranks on one switch, at a price."""
    return lambda: [as_quantities(run(what, "star:144").cost, **price).case("N = 144")]


def _shorter_rings() -> Cases:
    """Latencies of one flat ring of 144, and of rings on the two tiers of every division, in one alpha."""
    one = run(RING, "star:144").cost.n_alpha
    two = {count: sum(per_level(rings(count, 144 // count))) for count in (2, 6, 8, 9, 12, 16, 18, 24)}
    best = min(two, key=lambda count: two[count])
    case = {"flat": one, "nested": two[2], "saved": 100 * float(1 - two[2] / one), "best": best}
    yield {"at": "N = 144", **case, "speed_up": float(one / two[best])}


def _telescoped() -> Cases:
    done = run("all-reduce hierarchical", "boxes:16x64", tiers="ring,recursive-doubling")
    yield {"at": "boxes:16x64", "payload": max(k.loads[1] for k in done.kinds())}


def _mixed_ring() -> Cases:
    """Eight racks, four to a leaf: latency of a ring of one GPU a rack, by the step."""
    done = built(_one_of_each_rack, 8, on="superpod:8")
    price = (1e-9, (0.5, 2.0, 8.0), (1.0, 1.0, 1.0))
    clocks = (
        timed(_one_of_each_rack, 8, on="superpod:8", price=price),
        done.cost.seconds(message=0, alpha=price[1], bandwidth=price[2]),
    )
    event, lock_step = (seconds / 14 for seconds in clocks)
    yield {"at": "superpod:8", "outer": event, "lock_step": lock_step, "leaf": 2.0, "spine": 8.0}


def _one_of_each_rack(racks: int) -> Schedule:
    return placed(allreduce.ring(racks), [72 * rack for rack in range(racks)], 72 * racks)


# -- all-to-all --------------------------------------------------------------------------------------------


def _all_to_all_of_two_racks() -> Cases:
    done, nvlink = run(BY_BOXES, "boxes:2x72"), run("all-to-all pairwise", "star:144")
    inside, between = (as_quantities(done.cost_of(steps), **LEAF) for steps in (range(71), range(71, 143)))
    yield as_quantities(done.cost, **LEAF).case(
        "N = 144, 16 MB",
        inside=inside,
        between=between,
        far=as_quantities(done.cost, **SPINE),
        nvlink=as_quantities(nvlink.cost, **NVLINK),
        pair_times=between.t / 72 / (inside.t / 71),
        crossing=crossings(done)["uplink"].total / 2,
        two_phases=us(run("all-to-all hierarchical", "boxes:2x72").cost, **LEAF),
    )


def _classes_of_bytes() -> Cases:
    for count, ranks, s in ((2, 4, 1), (4, 4, 1), (3, 5, 1), (4, 4, 2), (4, 4, 4)):
        on = f"boxes:{count}x{ranks}" + f",oversubscription={s}" * (s > 1)
        cost = run(BY_BOXES, on).cost
        load = cost.seconds(message=1.0, alpha=(0, 0), bandwidth=(6, 1))
        yield {"at": on, "n": ranks, "N": count * ranks, "s": s, "inner": 6, "load": load}


def _single_ranks_on_leaves() -> Cases:
    """A route over one switch is one alpha, over three two."""
    for count, ranks in PAIRS[1:]:
        done = run(BY_BOXES, f"leaf-spine:{count}x{ranks}x1,routing=spread")
        case = {"N": count * ranks, "L": count, "leaf": 1, "spine": 2, "n_alpha": done.cost.n_alpha}
        yield {"at": done.topology.name, **case}


# -- in-network at two tiers ---------------------------------------------------------------------------------


def _floor(done: Execution, price: dict[str, Any]) -> float:
    """What the busiest port or card is busy for: no number of pieces brings a run below it."""
    found, speeds = crossings(done), [float(speed) for speed in price["bandwidth"]]
    busy = [float(found[tier.name].most / tier.bandwidth) / speeds[tier.level] for tier in done.topology.tiers]
    return max(busy) * float(price["message"])


#: Switches alone: 0.2 us for NVLink's, 0.5 us for InfiniBand's.
SWITCHES = LEAF | {"alpha": (0.2e-6, 0.5e-6)}


def _both_tiers() -> Cases:
    """32 racks of 72, of which no number of pieces makes the busiest port any less busy."""
    both, outer = run("all-reduce nvls", "boxes:32x72,inc=both"), run("all-reduce collnet", "boxes:32x72,inc=network")
    trees = float(run(TREE, "star:72").cost.n_alpha) / 2  # the software inside, as the text has it
    outside = as_quantities(outer.cost, **SWITCHES | {"alpha": (0, 0.5e-6)})
    trips = as_quantities(both.cost, **SWITCHES).latency, trees + outside.latency
    loads = [1e6 * _floor(done, LEAF) for done in (both, outer)]
    one = us(Cost(0, run("all-reduce in-network", "inc-star:72", 64).cost.n_beta), **NVLINK)
    times = {"t": trips[0] + loads[0], "outer_t": trips[1] + loads[1]}
    yield {"at": "boxes:32x72, 16 MB", "load": loads[0], "outer_load": loads[1], **times, "one_rack": one + 0.2}


def _lifted() -> Cases:
    """What a card carries between the racks, by rings and through switches that add."""
    plain, inc = rings(8, 4), run("all-reduce collnet", "boxes:8x4,inc=network")
    lift = crossings(plain)["card"].most / crossings(inc)["card"].most
    yield {"at": "boxes:8x4", "lift": lift, "outer_lift": lift > 1}


@deferred
def software(primitive: str, name: str) -> Cases:
    """Latencies of 72 and of 32 ranks in us, of software in one piece and of one trip through a switch."""
    inner, outer = (run(f"{primitive} {name}", f"star:{n}").cost.n_alpha for n in (72, 32))
    once_through = trip(primitive) if primitive != "all-to-all" else Fraction(0)
    us = {"inner_us": Fraction(inner) / 2, "outer_us": Fraction(8 * outer)}
    switch = {"trip": once_through, "nvls_us": once_through / 5, "sharp_us": once_through / 2}
    yield {"at": "72 and 32 ranks", **us, **switch}


# -- Tsugrii, and Reddi --------------------------------------------------------------------------------------

#: In ms and GB.
TSUGRII: dict[str, Any] = {"message": 10.0, "alpha": (1e-3, 5e-3), "bandwidth": (0.6, 0.05)}
REDDI: dict[str, Any] = {"message": 1.0, "alpha": (0.0, 3e-3), "bandwidth": (0.45, 0.05)}


def leaving(done: Execution) -> Fraction:
    """What all boxes send to others, as a share of M."""
    return crossings(done)["uplink"].total / 2


@deferred
def against(price: dict[str, Any], count: int = 8, ranks: int = 8, narrow: int = 1) -> Cases:
    """A flat ring and rings on both tiers: times of whole and phases, bytes of cards and between boxes."""
    on = f"boxes:{count}x{ranks}" + f",oversubscription={narrow}" * (narrow > 1)
    plain, two = built(allreduce.ring, count * ranks, on=on), rings(count, ranks, on)
    steps = range(two.schedule.num_steps)
    phases = steps[: ranks - 1], steps[ranks - 1 : 1 - ranks]
    inside, between = (two.cost_of(phase).seconds(**price) for phase in phases)
    (latency, load), nested_t = parts(plain.cost, price), two.cost.seconds(**price)
    gb = price["message"]
    sent = {"ring_GB": float(max(plain.sent)) * gb, "card_GB": float(crossings(two)["card"].most) * gb}
    totals = {"ring_total": float(leaving(plain)) * gb, "nested_total": float(leaving(two)) * gb}
    loads = {tier: crossed.most for tier, crossed in crossings(two).items()}
    loads["inner"], loads["outer"] = per_level(two)
    bound = [done.schedule.num_steps * price["alpha"][1] + _floor(done, price) for done in (plain, two)]
    times = {"latency": latency, "load": load, "flat": latency + load, "inside": inside, "inner_ms": 2 * inside}
    times |= {"between": between, "nested": nested_t, "ratio": (latency + load) / nested_t}
    drop = totals["ring_total"] / totals["nested_total"]
    sums = {"bound": bound[1], "flat_over_sum": (latency + load) / bound[0], "nested_over_sum": nested_t / bound[1]}
    yield {"at": plain.topology.name, **times, **sent, **totals, **loads, **sums, "drop": drop, "share": 1 / drop}


def _three_tiers() -> Cases:
    """1 GB over 4 racks of 4 boxes of 8, the racks' uplinks two to one; larger messages give the same ratio."""
    on = "boxes:4x4x8,oversubscription=1:2"
    price = REDDI | {"alpha": (0.0, 3e-3, 3e-3), "bandwidth": (0.45, 0.05, 0.05)}
    plain, two = built(allreduce.ring, 128, on=on), run("all-reduce hierarchical", on)
    (racks,) = (kind for kind in two.kinds() if kind.loads[3])  # a ring of 4 sends 2 * 3/4 of its payload
    times = [done.cost.seconds(**price) for done in (plain, two)]
    shrink = Fraction(3, 2) / (racks.steps * racks.loads[1])
    yield {"at": on, "flat": times[0], "nested": times[1], "ratio": times[0] / times[1], "shrink": shrink}


def _butterfly() -> Cases:
    """Eight ranks in two boxes, near partners first."""
    done, plain = run(HALVING, "boxes:2x4"), built(allreduce.ring, 8, on="boxes:2x4")
    rounds = {f"round{k}": edges(done.schedule.step(k)) for k in range(3)}
    cost = run(HALVING, "star:8").cost
    crossed = {"crossing": leaving(done), "ring_crossing": leaving(plain)}
    yield {"at": "boxes:2x4", "N": 8, **rounds, "n_alpha": cost.n_alpha, "n_beta": Fraction(cost.n_beta), **crossed}


def _large_messages() -> Cases:
    """How much of the software's time the switch's fewer latencies save, for 1 MB, 100 MB and 10 GB on eight ranks."""
    ring = run(RING, "star:8").cost
    saved = [
        100 * (float(ring.n_alpha) - 1) * 3.0 / ring.seconds(message=m, alpha=3.0, bandwidth=0.05)
        for m in (1, 100, 1e4)
    ]
    gain = Fraction(ring.n_beta) / Limit.of(lambda p: run("all-reduce in-network", "inc-star:8", p).cost.n_beta).value
    yield {"at": "N = 8", "small": saved[0], "middle": saved[1], "large": saved[2], "gain": gain}


def axis_after_axis(dims: Lattice) -> Schedule:
    """A whole ring all-reduce along every axis, one after another: the text taken literally.

    >>> axis_after_axis(Lattice((2, 2))).num_steps
    4
    """
    return nested(dims, [(axis, allreduce.ring(size)) for axis, size in enumerate(dims.dims)])


def _literal_torus() -> Cases:
    for dims in ((4, 4), (4, 4, 4), (3, 4, 5)):
        on = "torus:" + "x".join(map(str, dims))
        done, right = built(axis_after_axis, Lattice(dims), on=on), built(lattice.dim_ring, Lattice(dims), on=on)
        yield {"at": on, "d": dims, "n_beta": Fraction(done.cost.n_beta), "dim_ring": right.cost.n_beta}


def _misplaced() -> Cases:
    """What is left of the bandwidth of rings on both tiers of 8 x 8 when ranks are placed otherwise than they count."""
    where = topology("boxes:8x8")
    good = rings(8, 8).cost.seconds(**REDDI)
    found = {}
    for kind in ("strided", "random"):
        order = tuple(order_of(where, kind).tolist())
        found[kind] = 100 * good / built(_placed_rings, order, on="boxes:8x8").cost.seconds(**REDDI)
    yield {"at": "boxes:8x8, 1 GB", **found, "least": min(found.values()), "most": max(found.values())}


def _placed_rings(order: tuple[int, ...]) -> Schedule:
    return placed(hierarchical_ring(8, 8), list(order))


def _ring_or_crossbar() -> Cases:
    """A ring of eight over an exchange of all with all, for messages without bytes and without latency."""
    ring, cross = run(RING, "star:8").cost, run("all-reduce direct", "star:8").cost
    latencies, loads = Fraction(ring.n_alpha) / cross.n_alpha, Fraction(ring.n_beta) / cross.n_beta
    for name, times in (("latency", latencies), ("bandwidth", loads)):
        yield {"at": f"N = 8, {name} alone", "times": times}


def _steps_and_gaps() -> Cases:
    ring, tree = (closed(what, "star:1024").n_alpha for what in (RING, "all-reduce binomial-tree"))
    small = {n: run(f"all-reduce {n}", "star:8").cost.n_alpha for n in ("ring", "binomial-tree")}
    case = {"ring": ring, "tree": tree, "ratio": Fraction(ring) / tree, "ring8": small["ring"]}
    yield {"at": "N = 1024", **case, "tree8": small["binomial-tree"], "gap": 450 // 50}


TABLE: Table = {
    "E-03-026": _halves,
    "E-03-020 E-03-027 E-03-028 E-03-029 E-03-030 E-03-031 E-03-032 E-03-035 E-03-036 E-03-037 E-03-040": _two_racks,
    "E-03-038 E-03-039": _shorter_rings,
    "E-03-057": _telescoped,
    "E-03-015": _mixed_ring,
    "E-03-048 E-03-049 E-03-050 E-03-052 E-03-053 E-03-055 E-03-056 E-03-042 E-03-041": _all_to_all_of_two_racks,
    "E-03-046": _classes_of_bytes,
    "E-03-047": _single_ranks_on_leaves,
    "E-03-068 E-03-069 E-03-070": _both_tiers,
    "E-03-060 E-03-061": _lifted,
    "M-42": _three_tiers,
    "M-35": _butterfly,
    "M-43": _large_messages,
    "M-44": _literal_torus,
    "M-45": _misplaced,
    "M-46": _ring_or_crossbar,
    "M-60": _steps_and_gaps,
    "E-03-019 E-03-021": composed("all-reduce"),
    "E-03-033": flat(RING, NVLINK),
    "E-03-034": flat(RING, IB),
    "T-13 T-14 T-15 T-21": against(TSUGRII),
    "T-16": against(TSUGRII, 16),
    "T-17": lambda: [ring_and_tree_meet(8, 5, 50)],
    "T-18": against(TSUGRII, narrow=3),
    "T-19": against({"message": 1.0, "alpha": (0.0, 0.0), "bandwidth": (1.0, 1.0)}, 2, 2),
    "M-27": against(REDDI | {"message": 140.0, "alpha": (0.0, 1.5e-3)}, 16),
    "M-40": against(REDDI),
    "E-03-022": composed("all-gather", order="inner-first"),
    "E-03-023": composed("reduce-scatter", order="outer-first"),
    "E-03-024": composed("broadcast"),
    "E-03-025": composed("reduce"),
    "E-03-051": flat("all-to-all pairwise", NVLINK),
    "E-03-054": flat("all-to-all pairwise", IB),
    "E-REFS-003": each("all-to-all bruck", sizes=(4, 8, 16)),
    "E-03-059 E-03-062": software("all-reduce", "double-binary-tree"),
    "E-03-063": software("all-gather", "bruck"),
    "E-03-064": software("reduce-scatter", "bruck"),
    "E-03-065": software("broadcast", "binomial-tree"),
    "E-03-066": software("reduce", "binomial-tree"),
    "E-03-067": software("all-to-all", "pairwise"),
    "E-03-071 E-03-072": eta_of_tiers(Fraction(4, 5)),
    "E-03-073": eta_of_tiers(Fraction(4, 5), (1, Fraction(9, 8), Fraction(5, 4), 2)),
    "E-03-075": every_margin,
    "E-REFS-002": per(
        "N",
        (4, 8, 16),
        rounds=lambda n: run("all-gather pat", f"star:{n}").schedule.num_steps,
        shards=lambda n: (
            n * max(max(run("all-gather pat", f"star:{n}").link_load(t)) for t in range(n.bit_length() - 1))
        ),
    ),
    "E-REFS-015": per(
        "N", (8, 64, 512), kB=lambda n: 450 * float(half_bandwidth_message(run(HALVING, f"star:{n}").cost))
    ),
    # steps 1, 3 and 4 end the phases; the ranks of a box share chunks 0 1 and 2 3, which are blocks 0 2 and 1 3
    "E-03-016 E-03-017 E-03-018": states(hierarchical_ring, 2, 2, chunks=(0, 2, 1, 3), on="boxes:2x2"),
}

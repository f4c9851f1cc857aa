"""Answers on tori: collectives axis by axis, what they leave idle, and halving on wires."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cache, partial
from itertools import pairwise, permutations
from math import prod

import networkx as nx
import numpy as np

from colllib.algorithms import allreduce, broadcast, lattice, reducescatter
from colllib.claims.finding import Finding, answer
from colllib.claims.traces import agreeing, held_after
from colllib.cost import Cost
from colllib.execution import Execution, execute
from colllib.ladder import ANCHOR_ALPHA, ANCHOR_BANDWIDTH, ANCHOR_MESSAGE
from colllib.measures import busiest_link
from colllib.schedule import Schedule, in_sequence, placed
from colllib.topology import Lattice, ring, torus

CHAPTER = "14-torus"
SHAPES = ((5,), (2, 2), (4, 3), (4, 4), (2, 2, 2), (4, 3, 2), (3, 3, 3), (4, 4, 4), (8, 8, 8))
PRICE = {"message": ANCHOR_MESSAGE, "alpha": ANCHOR_ALPHA, "bandwidth": ANCHOR_BANDWIDTH}
CUBE, CUBE_LETTERS = Lattice((2, 2, 2)), "abefcdgh"  # the source's letter of rank x + 2y + 4z
SQUARE, SQUARE_LETTERS = Lattice((3, 3)), "abcdefghi"
_WIRES = (
    "A partner at distance 2^s on an axis is 2^s links away: the hops of a halving add up to d - 1, as many as the "
    "ring's, and the long messages share links; 2 log2 d is its cost where all partners are one hop away, as on a star."
)


def _name(dims: tuple[int, ...]) -> str:
    return "x".join(map(str, dims))


@cache
def _dim_ring(dims: tuple[int, ...]) -> Execution:
    return execute(lattice.dim_ring(Lattice(dims)), torus(dims))


# -- printed states ------------------------------------------------------------------------------


def _messages(schedule: Schedule, t: int, letters: str) -> str:
    step = schedule.step(t)
    return " ".join(
        sorted({letters[src] + letters[dst] for src, dst in zip(step.src.tolist(), step.dst.tolist(), strict=True)})
    )


def _spread(axes: Lattice, letters: str, t: int, messages: str, holders: str) -> Finding:
    """A broadcast's step and the state after it: who sent to whom, who holds the vector."""
    schedule = lattice.dim_chain(axes, phased=True)
    held = held_after(schedule, t, letters)
    executed: dict[str, object] = {f"{letter} holds V": (letter, 0) in held for letter in letters}
    claimed: dict[str, object] = {f"{letter} holds V": letter in holders for letter in letters}
    executed["messages"], claimed["messages"] = _messages(schedule, t - 1, letters), messages
    return agreeing(claimed, executed)


def _collected(axes: Lattice, letters: str, t: int, messages: str, sums: Mapping[str, str]) -> Finding:
    """A reduce's step and the state after it: partial sums, and as dormant those that no later message touches."""
    schedule = lattice.dim_chain_reduce(axes, phased=True)
    held = held_after(schedule, t, letters)
    later = "".join(_messages(schedule, k, letters) for k in range(t, schedule.num_steps)) or letters[0]
    executed = {letter: held[letter, 0] if letter in later else "dormant" for letter in letters}
    claimed = {letter: sums.get(letter, "dormant") for letter in letters}
    executed["messages"], claimed["messages"] = _messages(schedule, t - 1, letters), messages
    return agreeing(claimed, executed)


for _id, _t, _moved, _holders in (
    ("E-02-031", 1, "ab", "ab"),
    ("E-02-032", 2, "ae bf", "abef"),
    ("E-02-033", 3, "ac bd eg fh", "abcdefgh"),
):
    answer(CHAPTER, _id)(partial(_spread, CUBE, CUBE_LETTERS, _t, _moved, _holders))

for _id, _t, _moved, _sums in (
    ("E-02-041", 1, "ca db ge hf", {"a": "ac", "b": "bd", "e": "eg", "f": "fh"}),
    ("E-02-042", 2, "ea fb", {"a": "aceg", "b": "bdfh"}),
    ("E-02-043", 3, "ba", {"a": "abcdefgh"}),
):
    answer(CHAPTER, _id)(partial(_collected, CUBE, CUBE_LETTERS, _t, _moved, _sums))


def _both(first: Finding, second: Finding) -> Finding:
    return first if first.verdict is not second.verdict else second


@answer(CHAPTER, "E-02-037")
def _square_broadcast() -> Finding:
    first = _spread(SQUARE, SQUARE_LETTERS, 1, "ab ac", "abc")
    return _both(first, _spread(SQUARE, SQUARE_LETTERS, 2, "ad ag be bh cf ci", SQUARE_LETTERS))


@answer(CHAPTER, "E-02-044")
def _square_reduce() -> Finding:
    columns = {"a": "adg", "b": "beh", "c": "cfi"}
    first = _collected(SQUARE, SQUARE_LETTERS, 1, "da eb fc ga hb ic", columns)
    return _both(first, _collected(SQUARE, SQUARE_LETTERS, 2, "ba ca", {"a": SQUARE_LETTERS}))


# after so many steps: the chunks that a rank has got furthest with, and whose contributions these hold
_HALF = {**dict.fromkeys("aceg", "0123"), **dict.fromkeys("bdfh", "4567")}
_QUARTER = {"a": "01", "c": "01", "e": "23", "g": "23", "b": "45", "d": "45", "f": "67", "h": "67"}
_EIGHTH = {"a": "0", "c": "1", "e": "2", "g": "3", "b": "4", "d": "5", "f": "6", "h": "7"}
_IN_X = {
    **dict.fromkeys("ab", "ab"),
    **dict.fromkeys("cd", "cd"),
    **dict.fromkeys("ef", "ef"),
    **dict.fromkeys("gh", "gh"),
}
_IN_XY = {**dict.fromkeys("abef", "abef"), **dict.fromkeys("cdgh", "cdgh")}
_WHOLE = dict.fromkeys("abcdefgh", "abcdefgh")
CUBE_ALL_REDUCE: dict[str, tuple[int, dict[str, str], dict[str, str]]] = {
    "E-02-046": (0, dict.fromkeys("abcdefgh", "01234567"), {letter: letter for letter in "abcdefgh"}),
    "E-02-047": (1, _HALF, _IN_X),
    "E-02-048": (2, _QUARTER, _IN_XY),
    "E-02-049": (3, _EIGHTH, _WHOLE),
    "E-02-050": (4, _QUARTER, _WHOLE),
    "E-02-051": (5, _HALF, _WHOLE),
    "E-02-052": (6, dict.fromkeys("abcdefgh", "01234567"), _WHOLE),
}


def _all_reduced(t: int, chunks: Mapping[str, str], sums: Mapping[str, str]) -> Finding:
    """All cells: our chunk of owner r has the number that the source leaves with r after the reduce-scatter."""
    schedule = lattice.dim_ring(CUBE)
    held = held_after(schedule, t, CUBE_LETTERS)
    number = [_EIGHTH[letter] for letter in CUBE_LETTERS]
    executed: dict[str, object] = {"each chunk has one owner": "".join(sorted(number))}
    claimed: dict[str, object] = {"each chunk has one owner": "01234567"}
    for letter in CUBE_LETTERS:
        mine = {number[block]: held[letter, block] for block in range(8) if (letter, block) in held}
        most = max(map(len, mine.values()))
        furthest = {chunk: who for chunk, who in sorted(mine.items()) if len(who) == most}
        executed[letter] = furthest
        claimed[letter] = dict.fromkeys(chunks[letter], sums[letter])
    return agreeing(claimed, executed)


for _id, (_t, _chunks, _sums) in CUBE_ALL_REDUCE.items():
    answer(CHAPTER, _id)(partial(_all_reduced, _t, _chunks, _sums))


# -- steps ---------------------------------------------------------------------------------------


@answer(CHAPTER, "E-02-025")
def _rings_at_once() -> Finding:
    """The X links of the torus fall into so many rings, counted as connected components of equal size."""
    where = torus((16, 16, 16))
    on_x = abs(where.link_src - where.link_dst) % 16 != 0  # neighbors on other axes are multiples of 16 apart
    links = zip(where.link_src[on_x].tolist(), where.link_dst[on_x].tolist(), strict=True)
    rings = list(nx.connected_components(nx.Graph(links)))
    executed = {"rings of an axis": len(rings), "ranks of each": max(map(len, rings))}
    return Finding.compare({"rings of an axis": 256, "ranks of each": 16}, executed)


@cache
def _flat_ring(dims: tuple[int, ...]) -> Cost:
    """The flat ring's all-reduce on the wires of a torus, from neighbor to neighbor."""
    return execute(placed(allreduce.ring(prod(dims)), lattice.snake(Lattice(dims))), torus(dims)).cost


def _compression(dims: tuple[int, ...]) -> float:
    # of whole all-reduces; both halves of either take the same number of steps
    return float(Fraction(_flat_ring(dims).n_alpha) / Fraction(_dim_ring(dims).cost.n_alpha))


@answer(CHAPTER, "E-02-026")
def _compression_of_8() -> Finding:
    return Finding.rounds({"2.3": _compression((2, 2, 2))})


@answer(CHAPTER, "E-02-027")
def _compression_of_512() -> Finding:
    return Finding.rounds({"24": _compression((8, 8, 8))})


@answer(CHAPTER, "E-02-028")
def _compression_of_4096() -> Finding:
    """The flat ring's hops are routed; the rings of the axes are executed one by one."""
    axes = Lattice((16, 16, 16))
    order = np.array(lattice.snake(axes))
    message, _ = torus(axes.dims).router(order, np.roll(order, -1))
    hops = int(np.bincount(message).max())
    steps = sum(execute(reducescatter.ring(size), ring(size)).cost.n_alpha for size in axes.dims)
    return Finding.rounds({"91": float(Fraction((axes.ranks - 1) * hops) / steps)})


@answer(CHAPTER, "E-02-029")
def _links_of_a_logical_hop() -> Finding:
    executed = {}
    for dims in ((2, 2, 2), (4, 4, 4), (8, 8, 8)):
        rank = np.arange(prod(dims))
        message, _ = torus(dims).router(rank, np.roll(rank, -1))
        executed[f"{_name(dims)}: links of a hop, on average"] = Fraction(len(message), len(rank))
    because = (
        "In the printed order, which is rank order, half of the hops or more cross one link; in a snake's order all "
        "do. Only the longest hop, of 3 links, holds up the lock-step."
    )
    told = {key: "many" if value >= 2 else f"{float(value):.2f}" for key, value in executed.items()}
    return Finding.compare(dict.fromkeys(told, "many"), told, because)


@answer(CHAPTER, "E-02-034")
def _hops_of_the_cube() -> Finding:
    down = execute(lattice.dim_chain(CUBE), torus(CUBE.dims)).cost.n_alpha
    return Finding.compare(
        {"broadcast": 3, "all-reduce": 6}, {"broadcast": down, "all-reduce": _dim_ring((2, 2, 2)).cost.n_alpha}
    )


@answer(CHAPTER, "E-02-035")
def _tree_on_a_ring() -> Finding:
    sizes = (4, 8, 16, 32, 64)
    executed = {}
    for size in sizes:
        tree = execute(broadcast.binomial_tree(size), ring(size)).cost.n_alpha
        chain = execute(lattice.dim_chain(Lattice((size,)), both=False), ring(size)).cost.n_alpha
        executed[f"d = {size}: tree, chain"] = (tree, chain)
    return Finding.compare({f"d = {size}: tree, chain": (size - 1, size - 1) for size in sizes}, executed)


@answer(CHAPTER, "E-02-036", "E-02-039")
@cache
def _both_ways_round() -> Finding:
    """The bound is the diameter, from a graph library; it is attained."""
    executed, claimed = {}, {}
    for size in (2, 3, 4, 5, 8, 16, 33):
        attained = execute(lattice.dim_chain(Lattice((size,))), ring(size)).cost.n_alpha
        executed[f"d = {size}: steps, bound"] = (attained, nx.diameter(ring(size).to_networkx()))
        claimed[f"d = {size}: steps, bound"] = (size // 2, size // 2)
    return Finding.compare(claimed, executed)


_WHOLE_PHASES = (
    "Both phases move the whole vector, so in one piece n_beta is 2; one M/BW is what many segments approach on the "
    "event clock."
)


def _square_in_one_piece(build: Callable[..., Schedule]) -> Finding:
    return Finding.compare(Cost(2, 1), execute(build(SQUARE), torus(SQUARE.dims)).cost, _WHOLE_PHASES)


answer(CHAPTER, "E-02-038")(partial(_square_in_one_piece, lattice.dim_chain))
answer(CHAPTER, "E-02-045")(partial(_square_in_one_piece, lattice.dim_chain_reduce))


@answer(CHAPTER, "E-02-040")
def _both_terms_of_the_broadcast() -> Finding:
    """What is printed is a limit: the depth in one piece, and what the busiest link carries of many segments."""
    claimed, executed = {}, {}
    for dims in ((4, 4), (5, 3), (3, 3, 3), (8, 8, 8)):
        steps = sum(size // 2 for size in dims)
        one, many = (execute(lattice.dim_chain(Lattice(dims), segments=p), torus(dims)) for p in (1, 2 * steps))
        key = f"{_name(dims)}, in the limit of many segments"
        executed[key], claimed[key] = Cost(one.cost.n_alpha, busiest_link(many)), Cost(steps, 1)
    return Finding.compare(claimed, executed)


def _steps_of(dims: tuple[int, ...], claimed: int) -> Finding:
    return Finding.compare(claimed, _dim_ring(dims).cost.n_alpha)


for _id, _dims, _steps in (
    ("E-02-053", (2, 2, 2), 6),
    ("E-02-054", (4, 4, 4), 18),
    ("E-02-055", (8, 8, 8), 42),
    ("E-02-057", (16, 16, 4), 66),
):
    answer(CHAPTER, _id)(partial(_steps_of, _dims, _steps))


@cache
def _one_ring_of_each(dims: tuple[int, ...]) -> Cost:
    """An all-reduce from its parts: a ring of every axis executed, its bytes scaled to what is left by then."""
    total, held = Cost(0, 0), Fraction(1)
    for size in dims:
        one = execute(allreduce.ring(size), ring(size)).cost
        total += Cost(one.n_alpha, one.n_beta * held)
        held /= size
    return total


@answer(CHAPTER, "E-02-056")
def _steps_of_4096() -> Finding:
    return Finding.compare(90, _one_ring_of_each((16, 16, 16)).n_alpha)


# -- bytes ---------------------------------------------------------------------------------------


@answer(CHAPTER, "E-00-038", "E-02-067")
@cache
def _dim_ring_formula() -> Finding:
    claimed = {
        _name(dims): Cost(2 * sum(size - 1 for size in dims), 2 * (1 - Fraction(1, prod(dims)))) for dims in SHAPES
    }
    return Finding.compare(claimed, {_name(dims): _dim_ring(dims).cost for dims in SHAPES})


@answer(CHAPTER, "E-02-074")
def _half_formula() -> Finding:
    executed, claimed = {}, {}
    for dims in SHAPES[:-1]:
        for name, build in (("RS", lattice.dim_ring_reduce_scatter), ("AG", lattice.dim_ring_all_gather)):
            executed[f"{name} on {_name(dims)}"] = execute(build(Lattice(dims)), torus(dims)).cost
            claimed[f"{name} on {_name(dims)}"] = Cost(sum(size - 1 for size in dims), 1 - Fraction(1, prod(dims)))
    return Finding.compare(claimed, executed)


def _phases(run: Execution, dims: tuple[int, ...]) -> list[Fraction]:
    """The n_beta of each phase of a dim-ring all-reduce, X-RS first."""
    sizes = [*dims, *dims[::-1]]
    ends = np.cumsum([0, *(size - 1 for size in sizes)])
    return [Fraction(run.cost_of(range(a, b)).n_beta) for a, b in pairwise(ends.tolist())]


def _phase_row(row: int) -> Finding:
    executed, claimed = {}, {}
    for dims in ((2, 2, 2), (4, 3, 2), (2, 3, 5), (8, 8, 8)):
        axis = row if row < 3 else 5 - row
        executed[_name(dims)] = _phases(_dim_ring(dims), dims)[row]
        claimed[_name(dims)] = Fraction(dims[axis] - 1, prod(dims[: axis + 1]))
    return Finding.compare(claimed, executed)


for _row in range(6):
    answer(CHAPTER, f"E-02-{60 + _row:03}")(partial(_phase_row, _row))


@answer(CHAPTER, "E-02-066")
def _telescoping() -> Finding:
    phases = _phases(_dim_ring((4, 3, 2)), (4, 3, 2))
    return Finding.compare(
        {"RS": Fraction(23, 24), "AG": Fraction(23, 24)}, {"RS": sum(phases[:3]), "AG": sum(phases[3:])}
    )


@answer(CHAPTER, "E-02-068")
def _bytes_of_8() -> Finding:
    return Finding.rounds({"1.75": float(_dim_ring((2, 2, 2)).cost.n_beta)})


@answer(CHAPTER, "E-02-069")
def _bytes_of_512() -> Finding:
    return Finding.rounds({"1.996": float(_dim_ring((8, 8, 8)).cost.n_beta)})


@answer(CHAPTER, "E-02-070")
def _bytes_of_4096() -> Finding:
    return Finding.rounds({"2": float(_one_ring_of_each((16, 16, 16)).n_beta)})


@answer(CHAPTER, "E-02-030")
def _one_axis_at_a_time_is_optimal() -> Finding:
    """The least n_beta that an executed all-reduce attains on the same wires."""
    claimed, executed = {}, {}
    for dims in ((2, 2, 2), (4, 4), (3, 3, 3), (4, 4, 4)):
        axes = Lattice(dims)
        builds = (lattice.dim_ring, lattice.rotated_dim_ring, lattice.breadth_first)
        executed[f"least n_beta on {_name(dims)}"] = min(
            execute(build(axes), torus(dims)).cost.n_beta for build in builds
        )
        claimed[f"least n_beta on {_name(dims)}"] = _dim_ring(dims).cost.n_beta
    because = (
        "It is optimal for a rank with one port; a rank of a torus has a link per neighbor, and rotated copies or "
        "breadth-first schedules keep all of them busy, in as many steps or fewer."
    )
    return Finding.compare(claimed, executed, because)


def _axes_in_use(schedule: Schedule, axes: Lattice, t: int) -> set[int]:
    step = schedule.step(t)
    return {
        axis
        for axis in range(len(axes.dims))
        if (axes.coordinate(step.src, axis) != axes.coordinate(step.dst, axis)).any()
    }


@answer(CHAPTER, "E-02-059")
def _phases_cannot_overlap() -> Finding:
    executed = {}
    for dims in ((2, 2, 2), (4, 4), (3, 3, 3), (4, 4, 4)):
        schedule = execute(lattice.rotated_dim_ring(Lattice(dims)), torus(dims)).schedule
        at_once = [len(_axes_in_use(schedule, Lattice(dims), t)) for t in range(schedule.num_steps)]
        executed[f"axes in use in every step, {_name(dims)}"] = min(at_once)
    because = (
        "The phases of one chunk follow each other, those of different chunks need not: copies of the schedule, each "
        "with a part of the vector and its own order of the axes, use all axes in every one of the same steps."
    )
    return Finding.compare(dict.fromkeys(executed, 1), executed, because)


@answer(CHAPTER, "E-02-058")
def _who_waits() -> Finding:
    axes = Lattice((4, 3, 2))
    schedule = lattice.dim_ring_reduce_scatter(axes)
    first = [next(t for t in range(schedule.num_steps) if axis in _axes_in_use(schedule, axes, t)) for axis in (0, 1)]
    executed = "Y-RS waits for X-RS" if first[0] < first[1] else "X-RS waits for Y-RS"
    said = {"section 3.4, algorithm": "Y-RS waits for X-RS", "section 3.4, cost": "X-RS waits for Y-RS"}
    because = "The algorithm as printed and as executed begins with X; the sentence on its cost has the two swapped."
    return Finding.statements(said, executed, because)


@answer(CHAPTER, "E-02-073")
def _order_of_the_gathers() -> Finding:
    """Every order of the gathers after one order of the reduce-scatters: proved by the executor, and equally dear."""
    claimed, executed = {}, {}
    for dims in ((4, 3, 2), (2, 3, 5), (8, 2, 2)):
        axes = Lattice(dims)
        down = lattice.dim_ring_reduce_scatter(axes)
        for order in permutations(range(3)):
            gather = lattice.dim_ring_all_gather(axes, order=order)
            key = f"{_name(dims)}, gathers of RS order {order} backwards"
            executed[key] = execute(in_sequence(down, gather), torus(dims)).cost
            claimed[key] = _dim_ring(dims).cost
    return Finding.compare(claimed, executed)


# -- what is said about products and other parts --------------------------------------------------


@answer(CHAPTER, "E-02-071")
def _full_pods() -> Finding:
    """The ranks of 16x16x16 against the pod sizes in the vendor's paper and documentation."""
    cube = Lattice((16, 16, 16)).ranks
    documented = {"TPU v4": 4096, "TPU v5p": 8960}
    because = (
        "16 x 16 x 16 is the pod of TPU v4; the documentation gives TPU v5p pods of 8,960 chips and 16 x 16 x 24 as "
        "the largest slice."
    )
    return Finding.compare(dict.fromkeys(documented, cube), documented, because, "tpuv5p")


@answer(CHAPTER, "E-02-072")
def _where_the_anchor_is() -> Finding:
    """Where the ledger's claims of part 05 take up the anchor's 57 us."""
    from colllib.claims import claims

    rows = [c for c in claims() if c.where.startswith("part 05") and c.claimed.startswith("57 ")]
    executed = {f"section {claim.where.split(', ')[1].split('.')[0]}" for claim in rows}
    because = "Section 5 of part 05 prices the 512 ranks again; section 6 lists what its coefficients leave out."
    return Finding.compare({"section 6"}, executed, because)


@answer(CHAPTER, "E-02-138")
def _four_is_a_power_of_two() -> Finding:
    executed = execute(lattice.dim_rabenseifner(Lattice((4, 4, 4))), torus((4, 4, 4)))
    because = "4 is a power of two: halving on every axis of 4 x 4 x 4 executes, and its end state is proved."
    return Finding.compare(
        "no halving on 4x4x4", f"{executed.schedule.num_steps} halvings and doublings on 4x4x4", because
    )


# -- halving on wires ----------------------------------------------------------------------------


@cache
def _halving(dims: tuple[int, ...], order: str, tie: str = "balanced") -> Cost:
    return execute(lattice.dim_rabenseifner(Lattice(dims), order=order), torus(dims, tie=tie)).cost


def _least(dims: tuple[int, ...]) -> Cost:
    """The halving at its best: over both orders of the partners and both rules for ties."""
    return min(
        (_halving(dims, order, tie) for order in ("near", "far") for tie in ("up", "balanced")),
        key=lambda cost: (cost.n_alpha, cost.n_beta),
    )


@answer(CHAPTER, "E-00-040")
def _halving_formula() -> Finding:
    shapes = ((4,), (8,), (16,), (4, 4), (4, 4, 4), (8, 8, 8))
    claimed = {
        _name(dims): Cost(2 * sum(size.bit_length() - 1 for size in dims), 2 * (1 - Fraction(1, prod(dims))))
        for dims in shapes
    }
    return Finding.compare(claimed, {_name(dims): _least(dims) for dims in shapes}, _WIRES)


@answer(CHAPTER, "E-02-131")
def _compression_of_halving() -> Finding:
    printed = dict(zip((4, 8, 16), ("1.5", "2.3", "3.75"), strict=True))
    executed = {}
    for size in printed:
        flat = execute(allreduce.ring(size), ring(size)).cost.n_alpha
        executed[f"d = {size}"] = f"{float(flat / Fraction(_least((size,)).n_alpha)):.3g}"
    return Finding.compare({f"d = {size}": text for size, text in printed.items()}, executed, _WIRES)


@answer(CHAPTER, "E-02-132")
def _square_of_four() -> Finding:
    executed = f"{_least((4, 4)).n_alpha} against {_dim_ring((4, 4)).cost.n_alpha}"
    return Finding.compare("8 against 12", executed, _WIRES)


@answer(CHAPTER, "E-02-133")
def _bytes_of_halving() -> Finding:
    because = (
        "Far partners share links: after the nearest partner took 1/2 over one link, 1/4 goes over two and 1/8 over "
        "four, and two of them meet on the busiest link: 1/2 + 2/4 + 2/8."
    )
    return Finding.compare({"d = 8": Fraction(7, 8)}, {"d = 8": Fraction(_least((8,)).n_beta) / 2}, because)


@answer(CHAPTER, "E-02-134")
def _three_all_reduces_of_512() -> Finding:
    dims = (8, 8, 8)
    executed = {
        "flat ring": _flat_ring(dims).n_alpha,
        "dim-ring": _dim_ring(dims).cost.n_alpha,
        "halving": _least(dims).n_alpha,
    }
    return Finding.compare({"flat ring": 1022, "dim-ring": 42, "halving": 18}, executed, _WIRES)


@answer(CHAPTER, "E-02-135")
def _hops_saved() -> Finding:
    saved = Fraction(_dim_ring((8, 8, 8)).cost.n_alpha) - Fraction(_least((8, 8, 8)).n_alpha)
    executed = f"{saved} hops, {float(saved) * ANCHOR_ALPHA * 1e6:g} us"
    return Finding.compare("24 hops, 12 us", executed, _WIRES)


@answer(CHAPTER, "E-02-136")
def _ring_at_the_anchor() -> Finding:
    cost = _dim_ring((8, 8, 8)).cost
    alpha, load = (part.seconds(**PRICE) * 1e6 for part in (Cost(cost.n_alpha, 0), Cost(0, cost.n_beta)))
    return Finding.adds_up({"21": alpha, "35.5": load}, "57", "The parts add up to less.")


@answer(CHAPTER, "E-02-137")
def _halving_at_the_anchor() -> Finding:
    cost = _least((8, 8, 8))
    ours, rings = cost.seconds(**PRICE), _dim_ring((8, 8, 8)).cost.seconds(**PRICE)
    executed = f"{ours * 1e6:.1f} us, {ours / rings - 1:.0%} more than the ring"
    return Finding.compare("45 us, 21% less than the ring", executed, _WIRES)

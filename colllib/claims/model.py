"""Answers on the alpha-beta model, bounds and bus bandwidth."""

from __future__ import annotations

from fractions import Fraction

from colllib.algorithms import allreduce, find, of, pointtopoint
from colllib.claims.finding import Finding, answer, not_checkable
from colllib.cost import crossover
from colllib.execution import execute

CHAPTER = "01-alpha-beta"
SIZES = (2, 3, 4, 5, 6, 7, 8, 12, 16, 33, 64)
POWERS = (2, 4, 8, 16, 64, 512)

not_checkable(
    CHAPTER,
    {
        "E-00-002": "A count of references inside the source, whose text the project does not carry.",
        "E-00-004": "A definition; this book counts the longest route's alpha in every step.",
        "E-00-005": "A definition, and this book's too; what a rank owns is the port model's business.",
        "E-00-006": "A property of switches; the book takes it from measurements, not from execution.",
        "E-00-007": "A definition for fabrics of several tiers.",
        "E-00-008": "A definition; the factors it needs are checked one by one.",
        "E-01-203": "A property of hardware.",
    },
)

PART_00_SECTIONS = (
    "Symbols",
    "The seven primitives",
    "Cost-model skeleton",
    "Per-algorithm costs (topology-free)",
    "Per-topology specializations",
    "Hierarchical composition",
    "In-network collectives (INC)",
    "Realistic cost: eta coefficients",
)


@answer(CHAPTER, "E-00-001")
def _anchor_numbers_in_the_cheatsheet() -> Finding:
    present = any("512" in title or "anchor" in title for title in PART_00_SECTIONS)
    return Finding.compare(
        "present",
        "present" if present else "absent",
        "The file index promises them; none of the eight sections holds them.",
    )


@answer(CHAPTER, "E-00-003")
def _n_beta_is_bytes_per_rank() -> Finding:
    claimed, executed = {}, {}
    for algorithm in of("all-reduce"):
        result = execute(algorithm.build(8))
        executed[algorithm.name] = Fraction(result.cost.n_beta)
        claimed[algorithm.name] = max(result.sent)
    because = (
        "The most loaded port may be another one in every step, so the sum over steps exceeds what any rank sends: "
        "for trees the source itself counts steps, not bytes."
    )
    return Finding.compare(claimed, executed, because)


@answer(CHAPTER, "E-00-017")
def _every_schedule_is_linear_in_the_message() -> Finding:
    """Every all-reduce of the library in one piece and in eight, priced step by step at five sizes."""
    claimed, executed = {}, {}
    for algorithm in of("all-reduce"):
        for segments in (1, 8) if algorithm.segmented else (1,):
            result = execute(algorithm.build(8, segments=segments) if algorithm.segmented else algorithm.build(8))
            steps = range(result.schedule.num_steps)
            for size in (0, 1, 10, 1000):  # M/BW in units of alpha
                by_step = sum((1 + Fraction(max(result.link_load(t))) * size for t in steps), Fraction(0))
                key = f"{algorithm.name} in {segments}, M/BW = {size} alpha"
                executed[key] = by_step
                claimed[key] = result.cost.n_alpha + result.cost.n_beta * size
    where = (
        "Of one schedule. A pipelined algorithm takes another number of segments for every M, and its time grows with "
        "a square-root term in between, which the text leaves out where it writes a limit."
    )
    return Finding.compare(claimed, executed, "The time is not the sum of its steps.").holding(
        where, f"the sum over the steps, for {len(executed)} schedules and sizes"
    )


@answer(CHAPTER, "E-01-001", "E-01-119")
def _one_message() -> Finding:
    return Finding.compare(pointtopoint.direct_cost(2), execute(pointtopoint.direct(2)).cost)


@answer(CHAPTER, "R-02")
def _crossover_of_64_ranks() -> Finding:
    ring, tree = (find("all-reduce", name).cost(64) for name in ("ring", "binomial-tree"))
    exact = float(crossover(ring, tree) or 0) * 1e-6 * 100e9 / 1e6
    rough = 1e-6 * 100e9 * 64 / (6 - 1) / 1e6
    of_the_printed = 100 * (round(rough, 2) / round(exact, 2) - 1)
    where = (
        f"About 12 %, from the sizes as they are printed; unrounded they differ by {100 * (rough / exact - 1):.1f} %."
    )
    return Finding.rounds({"1.28": rough, "1.14": exact, "12": of_the_printed}).holding(where)


@answer(CHAPTER, "R-03")
def _crossover_of_256_ranks() -> Finding:
    ring, tree = (execute(build(256)).cost for build in (allreduce.ring, allreduce.binomial_tree))
    slope = {cost: float(cost.n_beta) / 200e9 for cost in (ring, tree)}
    return Finding.rounds(
        {
            "35.3": float(crossover(ring, tree) or 0) * 5e-6 * 200e9 / 1e6,
            "2.55": float(ring.n_alpha) * 5e-6 * 1e3,
            "80": float(tree.n_alpha) * 5e-6 * 1e6,
            "9.96": slope[ring] * 1e12,
            "8": slope[tree] * 1e11,
            "7.004": (slope[tree] - slope[ring]) * 1e11,
        }
    )

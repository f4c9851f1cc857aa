"""What is too large is refused before it is made; what the book and its readers need is not."""

from contextlib import suppress
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import pytest

from colllib.algorithms import CATALOGUE, broadcast, find
from colllib.execution import expected_seconds
from colllib.ladder import MOST_SEGMENTS, run
from colllib.limits import MOST_SECONDS, NotSoon, TooLarge, check_seconds, waiting
from colllib.primitives import all_gather, all_to_all
from colllib.schedule import pipelined
from colllib.topology.expression import find as topology

PRICE = {"message": 16e6, "alpha": 0.5e-6, "bandwidth": 900e9}


@pytest.mark.parametrize(
    ("expression", "ranks"),
    [
        ("ring:1048576", 2**20),
        ("torus:64x64x64", 2**18),
        ("star:1048576", 2**20),
        ("fat-tree:48", 27648),
        ("boxes:512x8,cards=2,oversubscription=2", 4096),
        ("full-mesh:2048", 2048),
        ("switch-tree:1048576x64,uplinks=8", 2**20),
        ("twisted-torus:20", 800),
        ("ring:4096,without=0-1", 4096),
    ],
)
def test_large_topologies_can_be_had(expression, ranks):
    assert topology(expression).ranks == ranks


@pytest.mark.parametrize(
    "expression",
    [
        "star:4294967296",
        "ring:4294967296",
        "line:999999999999999999",
        "torus:99999999999x9",
        "mesh:1000x1000x1000x1000",
        "torus:" + "x".join(["2"] * 20),
        "torus:" + "x".join(["999999999999999999"] * 20),
        "torus:" + "x".join(["1"] * 5000),
        "full-mesh:100000",
        "full-mesh:1000000000",
        "switch-tree:1000000000x16",
        "inc-star:1000000000",
        "inc-switch-tree:3000000x3",
        "leaf-spine:100000x100000x100000",
        "leaf-spine:2x2x999999999999999999",
        "fat-tree:2000000",
        "fat-tree:2000,routing=spread",
        "twisted-torus:100000",
        "boxes:100000x100000",
        "boxes:1000x2x2x500,seed=1",
        "hamming:13x4",
        "ring:4097,without=0-1",
    ],
)
def test_topologies_that_are_too_large_are_refused_before_they_are_made(expression, small_memory):
    with pytest.raises(
        ValueError, match=r"^.{,300}(too many, at most \d+ will do|at most 20 sizes are taken, as in .*)$"
    ):
        topology(expression)


@pytest.fixture
def small_memory():
    """Room for what is there and some 300 MB more."""
    resource, pages = pytest.importorskip("resource"), Path("/proc/self/statm")
    if not pages.exists():
        pytest.skip("the address space is limited by Linux only")
    used = int(pages.read_text().split()[0]) * resource.getpagesize()
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used + 300 * 2**20, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


@pytest.mark.parametrize("algorithm", CATALOGUE, ids=lambda a: f"{a.primitive}-{a.name}")
def test_no_algorithm_fills_the_memory_before_it_is_refused(algorithm, small_memory):
    """On 2^16 ranks it is built, or refused in one line."""
    topology = algorithm.at_home(2**16)
    with suppress(TooLarge):
        expected_seconds("this", algorithm.build(algorithm.argument(topology)), topology)


@pytest.mark.parametrize("ranks", [10**9, 10**30])
@pytest.mark.parametrize(
    "algorithm", [a for a in CATALOGUE if a.takes == "ranks"], ids=lambda a: f"{a.primitive}-{a.name}"
)
def test_no_algorithm_begins_with_more_ranks_than_there_may_be(algorithm, ranks, small_memory):
    if algorithm.fits(ranks):
        with pytest.raises(TooLarge, match="are too many, at most"):
            algorithm.build(ranks)


@pytest.mark.parametrize(
    "build", [lambda: all_to_all(100000), lambda: all_gather(2**20), lambda: pipelined(broadcast.chain(3), 2**40)]
)
def test_blocks_that_are_too_many_are_refused(build, small_memory):
    with pytest.raises(TooLarge, match=r"^\D*\d+.*(blocks|messages) are too many, at most \d+ will do$"):
        build()


@pytest.mark.parametrize(
    ("primitive", "name", "expression", "segments"),
    [
        ("broadcast", "chain", "ring:100000", 1),
        ("broadcast", "chain", "star:4", 10**6),
        ("all-reduce", "recursive-doubling", "ring:100000", 1),
        ("all-to-all", "pairwise", "torus:64x64x64", 1),
        ("all-reduce", "rabenseifner", "star:70000", 1),
        ("broadcast", "two-tree", "torus:4x4", 10**9),
    ],
)
def test_what_would_run_for_hours_is_refused_at_once(primitive, name, expression, segments, small_memory):
    with pytest.raises(TooLarge, match=r"^.*(too many, at most|take fewer ranks or segments).*$"):
        run(find(primitive, name), topology(expression), segments=segments, **PRICE)


def test_who_waits_less_is_refused_what_others_may_run_and_what_nobody_may():
    check_seconds("a search", 7)
    with waiting(2):
        check_seconds("a search", 1.9)
        with pytest.raises(NotSoon, match="would take about 7 s"):
            check_seconds("a search", 7)
        with pytest.raises(TooLarge, match="at most 60 s") as refused:
            check_seconds("a search", 61)
        assert not isinstance(refused.value, NotSoon)
    check_seconds("a search", 7)


def test_an_all_to_all_between_4096_ranks_in_boxes_is_not_refused():
    fabric = topology("boxes:512x8")
    algorithm = find("all-to-all", "hierarchical")
    assert expected_seconds("this", algorithm.build(fabric), fabric) < MOST_SECONDS


@pytest.mark.parametrize("name", ["ring", "binomial-tree", "rabenseifner"])
@pytest.mark.parametrize("expression", ["star:{}", "ring:{}", "boxes:{}x2"])
def test_the_expected_time_grows_with_the_work(name, expression):
    sizes = [topology(expression.format(n)) for n in (8, 16, 32, 64)]
    schedules = [find("all-reduce", name).build(fabric.ranks) for fabric in sizes]
    times = [expected_seconds("this", *pair) for pair in zip(schedules, sizes, strict=True)]
    assert all(0 < few < many for few, many in pairwise(times))


@pytest.mark.parametrize("expression", ["star:8", "torus:4x4"])
def test_where_no_number_of_segments_is_best_it_is_said(expression):
    with pytest.raises(TooLarge, match=r"no number of them is best"):
        run(find("broadcast", "two-tree"), topology(expression), **(PRICE | {"alpha": 0.0}))


@pytest.mark.parametrize("price", [{"bandwidth": 1.0}, {"message": 1e30}])
def test_where_too_many_segments_are_best_it_is_said(price):
    tree = find("broadcast", "two-tree")
    for expression in ("star:8", "torus:4x4"):  # with a closed form, and without
        with pytest.raises(TooLarge, match=rf"best number of segments is above {MOST_SEGMENTS}"):
            run(tree, topology(expression), **(PRICE | price))


def test_the_best_number_is_found_below_the_limit_and_refused_above():
    """A chain of N ranks is fastest in about sqrt((N - 2) M / (alpha BW)) segments."""
    chain, fabric = find("broadcast", "chain"), topology("star:6")
    for segments in (10, 100, 1000):
        price = {"message": segments**2 / 4, "alpha": 1.0, "bandwidth": 1.0}
        assert run(chain, fabric, **price).segments == pytest.approx(segments, rel=0.01)
    with pytest.raises(TooLarge, match=f"above {MOST_SEGMENTS}"):
        run(chain, fabric, message=Fraction(10**10, 4), alpha=1.0, bandwidth=1.0)

"""The search page: sections with excerpts, spellings that mean the same, no server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.browser

SHOWN = "#search-results .search-summary:not(:empty)"
ASK = """(query) => {
  document.getElementById("search-results").replaceChildren();
  Search.performSearch(query);
}"""
ROWS = """(all) => all.map((row) => {
  const link = row.querySelector("a");
  return [link.getAttribute("href"), link.innerText, row.querySelector("p").innerText];
})"""


def address_of(query: str) -> str:
    """What follows the search page's own address, after a question was typed on another page."""
    return f"?q={query.replace(' ', '%20')}"


@pytest.fixture(scope="module")
def tab(browser: Any, site: Path, opened: Callable[..., AbstractContextManager[Any]]) -> Iterator[Any]:
    """The search page, loaded once: it takes one question after another."""
    with opened(browser, site, "search.html", query=address_of("ring")) as page:
        page.wait_for_selector(SHOWN)
        yield page


def asked(tab: Any, query: str) -> Any:
    """The search page, after it was asked."""
    tab.evaluate(ASK, query)
    tab.wait_for_selector(SHOWN)
    return tab


def results_in(tab: Any) -> list[list[str]]:
    """The results in order: where each leads, what it is called, and its excerpt."""
    return tab.locator("#search-results li").evaluate_all(ROWS)


def searched(tab: Any, query: str) -> list[list[str]]:
    """The results of a question."""
    return results_in(asked(tab, query))


@pytest.mark.parametrize("spelling", ["allreduce", "all reduce", "AllReduce", "all-reduce"])
def test_all_spellings_of_a_primitive_find_its_chapter_first_by_address_as_on_the_page(visit, tab, spelling):
    with visit("search.html", query=address_of(spelling)) as page:
        page.wait_for_selector(SHOWN)
        results = results_in(page)
    assert results[0][0].startswith("notebooks/all-reduce.html#")
    assert results == searched(tab, spelling)


@pytest.mark.parametrize(
    ("query", "page"),
    [("double binary tree", "notebooks/all-reduce"), ("NVLS", "notebooks/in-network"), ("PXN", "book/glossary")],
)
def test_a_term_is_found_in_the_section_on_it_with_an_excerpt(tab, site, query, page):
    results = searched(tab, query)
    address, _, excerpt = next(result for result in results[:3] if result[0].startswith(page))
    path, _, anchor = address.partition("#")
    assert f'id="{anchor}"' in (site / path).read_text(encoding="utf-8")
    assert excerpt


@pytest.mark.parametrize(
    ("question", "section"),
    [
        (
            "What busbw should I expect from all_reduce on 2 nodes of 8 H100?",
            "is-my-cluster-slow.html#the-busbw-to-expect-h100-and-others",
        ),
        ("Only one NIC of eight is used; how do I see it?", "is-my-cluster-slow.html#one-card-of-eight"),
        ("When is the tree used and when the ring?", "ladder-512.html#ring-or-tree"),
        (
            "Is 2:1 oversubscription OK for my training?",
            "rails-and-spines.html#which-algorithms-oversubscription-touches",
        ),
        ("Why is decode at TP 16 over two boxes slower than TP 8?", "what-a-token-waits-for.html#decode"),
        ("Which bucket_cap_mb should I set?", "buckets-and-overlap.html#which-bucket-is-best-and-why"),
        ("NCCL watchdog timeout: which rank did not call the collective?", "faults-and-debugging.html#the-calls"),
        ("TPU 3D torus 4x4x4 all-reduce bandwidth", "torus.html#"),
        ("Why is Avg bus bandwidth 0?", "is-my-cluster-slow.html#no-measurement-at-all"),
        ("How many warmup iterations do I need?", "measuring-without-fooling-yourself.html#the-first-row"),
        ("Why is ring all-reduce bandwidth optimal, and why 2(N-1)/N?", "all-reduce.html#why-it-can-t-be-better"),
        ("Why do my sums differ with the number of ranks?", "primitives.html#the-order-of-a-sum"),
        ("Is all-reduce deterministic and bitwise reproducible?", "primitives.html#the-order-of-a-sum"),
        ("alltoall performance goes down when I add nodes", "bus-bandwidth.html#why-busbw-changes-with-the-number"),
        ("What does prefill cost with TP, for the TTFT?", "what-a-token-waits-for.html#prefill"),
        ("vLLM custom all-reduce for small messages", "what-a-token-waits-for.html#what-ships"),
        ("FSDP all-gather does not overlap", "sharded-data-parallelism.html#"),
        ("find the slow node in training", "faults-and-debugging.html#one-slow-gpu-or-link-among-512"),
        ("one slow GPU among 512", "faults-and-debugging.html#one-slow-gpu-or-link-among-512"),
        ("AllReduce latency of 0.5 us with CUDA graph", "measuring-without-fooling-yourself.html#in-place"),
        ("bandwidth drops on 3 servers, 2 and 4 are fine", "rails-and-spines.html#which-algorithms-over"),
        ("bonded NIC reaches half of its bandwidth", "contention.html#what-ships"),
        ("Ulysses or ring attention", "from-primitives-to-parallelism.html#count-it"),
    ],
)
def test_a_question_finds_the_section_that_answers_it_among_the_first_three(tab, question, section):
    assert any(address.startswith(f"notebooks/{section}") for address, *_ in searched(tab, question)[:3])


@pytest.mark.parametrize(
    ("query", "page"),
    [
        ("NCCL_ALGO", "book/glossary.html#term-NCCL_ALGO"),
        ("from_steps", "notebooks/primitives.html#your-own-schedule"),
        ("all_reduce_perf", "notebooks/is-my-cluster-slow.html#"),
        ("top-k sparsification", "notebooks/compression.html#"),
        ("PAT", "notebooks/all-gather-and-reduce-scatter.html#pat"),
        ("clos", "book/glossary.html#term-fat-tree"),
        ("rabensiefner", "book/glossary.html#term-Rabenseifner"),
        ("heirarchical all-reduce", "notebooks/boxes-and-cards.html#"),
        ("allredcue", "notebooks/all-reduce.html#all-reduce"),
        ("congestion", "notebooks/contention.html#"),
        ("noisy neighbour", "notebooks/contention.html#"),
        ("deadlock", "notebooks/faults-and-debugging.html#"),
        ("rail optimized", "notebooks/rails-and-spines.html#"),
        ("multirail", "notebooks/rails-and-spines.html#"),
        ("over-subscription", "notebooks/rails-and-spines.html#"),
        ("in-network computing", "notebooks/in-network.html#"),
        ("link down", "book/glossary.html#term-failed-link"),
        ("bus bandwidth formula", "notebooks/bus-bandwidth.html#"),
        ("why is busbw higher than link speed", "notebooks/bus-bandwidth.html#why-"),
        ("how does ring allreduce work", "book/glossary.html#term-ring-all-reduce"),
        ("how big should buckets be", "notebooks/buckets-and-overlap.html#which-bucket"),
        ("validate schedule", "notebooks/primitives.html#what-the-proof-catches"),
        ("latency bandwidth model", "book/glossary.html#term-alpha-beta-model"),
        ("ICI", "book/glossary.html#term-ICI"),
        ("forestcoll", "book/references.html#"),
        ("van de geijn", "book/references.html#"),
        ("Patarasuk", "notebooks/all-reduce.html#"),
        ("HCA", "book/glossary.html#term-card"),
        ("NIC, HCA, node, replicas", "book/how-to-read.html#nic-node-replicas-what-others-call-it"),
        ("SHARP NVLS Ring replicas", "book/how-to-read.html#nic-node-replicas-what-others-call-it"),
        ("link flap symbol errors", "notebooks/faults-and-debugging.html#one-slow-gpu"),
        ("256 experts on NVL72", "notebooks/all-to-all-across-boxes.html#experts-in-milliseconds"),
    ],
)
def test_other_words_and_spellings_find_the_page_among_the_first_three(tab, query, page):
    assert any(address.startswith(page) for address, *_ in searched(tab, query)[:3])


@pytest.mark.parametrize(
    ("query", "note"),
    [
        ("NCCL_IB_TIMEOUT", "NCCL_IB_TIMEOUT is not in the book."),
        ("hierachical", "Nothing for “hierachical”; shown: “hierarchical”."),
    ],
)
def test_what_is_shown_instead_is_said(tab, query, note):
    asked(tab, query)
    assert note in tab.locator("#search-results .search-summary").inner_text()


def test_claims_come_after_all_others(tab):
    results = [
        address.startswith("book/claims.html#e-") for address, *_ in searched(tab, "pipeline parallel point to point")
    ]
    assert results == sorted(results)
    assert True in results


def test_words_that_the_book_does_not_have_do_not_hide_the_others(tab):
    assert searched(tab, "PXN xyzzy")[0][0] == searched(tab, "PXN")[0][0]


def test_what_stands_above_a_picture_is_found(tab):
    [(address, *_)] = [
        one for one in searched(tab, "Half of the wire needs 7.2 MB on 8 ranks") if "at-small-sizes" in one[0]
    ]
    assert address.startswith("notebooks/bus-bandwidth.html#")


def test_an_excerpt_shows_the_words_and_marks_them(tab):
    asked(tab, "half-bandwidth size")
    first = tab.locator("#search-results li").first
    assert "half-bandwidth" in first.inner_text().lower()
    assert first.locator("mark").count() > 0


def test_a_claim_is_found_by_its_id(tab):
    """The first answer is the card in the ledger, not the top of a page."""
    assert searched(tab, "E-02-083")[0][0] == "book/claims.html#e-02-083"


def test_what_is_nowhere_is_said(tab):
    asked(tab, "xyzzy")
    assert "Nothing is found" in tab.locator("#search-results").inner_text()
    assert tab.locator("#search-results li").count() == 0

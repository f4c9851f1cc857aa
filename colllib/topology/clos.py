"""Two tiers of switches: every leaf switch has a link to every spine switch."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from colllib.exact import Fractions, IntArray
from colllib.primitives import is_whole
from colllib.topology.base import Router, Topology
from colllib.topology.star import HALVES, Latency

SPREADS = ("hash", "destination")


def flow_hash(src: IntArray, dst: IntArray, seed: int = 0) -> IntArray:
    """A number below 2^31 for each pair of nodes: what a switch that hashes flows would take modulo its links.

    The two numbers, side by side in 64 bits and moved by the seed, go through the finalizer of
    splitmix64. The same pair has the same number in every step, as a flow keeps its path.

    Source: Steele, Lea & Flood (2014), "Fast splittable pseudorandom number generators", figure 14.

    >>> flow_hash(np.array([0, 0, 1]), np.array([8, 9, 8]), seed=1) % 4
    array([2, 3, 1])
    """
    with np.errstate(over="ignore"):
        x = (np.asarray(src, dtype=np.uint64) << np.uint64(32)) | np.asarray(dst, dtype=np.uint64)
        x = x + np.uint64(seed + 1) * np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        x = x ^ (x >> np.uint64(31))
    return (x >> np.uint64(33)).astype(np.intp)


def leaf_spine(
    leaves: int,
    hosts: int,
    spines: int,
    *,
    uplink: Fraction | int = 1,
    spread: str = "hash",
    seed: int = 0,
    latency: Latency = HALVES,
) -> Topology:
    """Leaf switches with `hosts` ranks each, and a link from every leaf to every spine.

    A leaf is oversubscribed by hosts / (spines * uplink). A message between two leaves takes one
    spine, and always the same one for the same two ranks. One spine with uplinks k times as fast
    is the fluid limit of k spines: traffic that divides without remainder.

    Args:
        leaves: number of leaf switches.
        hosts: ranks below each leaf; rank r is below leaf r div hosts.
        spines: number of spine switches.
        uplink: bandwidth of each link between leaf and spine, in units of BW.
        spread: which spine a message takes: "hash", by `flow_hash` of its two ends, or
            "destination", the destination's number modulo the spines.
        seed: of the hash.
        latency: how alpha divides: a route of s switches costs endpoint + (s + 1) hops + s switches.

    Raises:
        ValueError: for a size below 1, an uplink without bandwidth or an unknown rule.

    Source: Leiserson (1985) for the tree, Al-Fares et al. (2008) for hashing flows onto it.

    >>> leaf_spine(8, 8, 4)
    Topology(leaf-spine:8x8x4, 64 ranks, 12 switches, 192 links)
    """
    for name, count in (("leaves", leaves), ("hosts", hosts), ("spines", spines)):
        if not is_whole(count) or count < 1:
            raise ValueError(f"{name} = {count!r}: must be a whole number of at least 1")
    if not is_whole(seed) or seed < 0:
        raise ValueError(f"seed = {seed!r}: must be a whole number of at least 0")
    if uplink <= 0:
        raise ValueError(f"uplink = {uplink}: a link needs a positive bandwidth")
    if spread not in SPREADS:
        raise ValueError(f"spread {spread!r}: must be one of {', '.join(SPREADS)}")
    ranks = leaves * hosts
    rank = np.arange(ranks)
    own_leaf = ranks + rank // hosts
    leaf, spine = (ends.ravel() for ends in np.meshgrid(np.arange(leaves), np.arange(spines), indexing="ij"))
    leaf, spine = leaf + ranks, spine + ranks + leaves
    # rank -> leaf, leaf -> rank, leaf -> spine, spine -> leaf
    pairs = 2 * leaves * spines
    alpha = [Fractions.of([part]).repeated(count) for part, count in _latencies(latency, ranks, pairs)]
    speed = [Fractions.equal(2 * ranks, 2 * ranks), Fractions.of([uplink]).repeated(pairs)]
    return Topology(
        name=f"leaf-spine:{leaves}x{hosts}x{spines}",
        ranks=ranks,
        switches=leaves + spines,
        link_src=np.concatenate((rank, own_leaf, leaf, spine)),
        link_dst=np.concatenate((own_leaf, rank, spine, leaf)),
        alpha=Fractions.joined(alpha),
        bandwidth=Fractions.joined(speed),
        router=_router(leaves, hosts, spines, spread, seed),
        port_model="one full-duplex port per rank",
    )


def _latencies(latency: Latency, ranks: int, pairs: int) -> list[tuple[Fraction, int]]:
    return [(latency.up, ranks), (latency.down, ranks), (latency.down, pairs)]


def _router(leaves: int, hosts: int, spines: int, spread: str, seed: int) -> Router:
    ranks = leaves * hosts

    def route(src: IntArray, dst: IntArray) -> tuple[IntArray, IntArray]:
        src, dst = np.asarray(src), np.asarray(dst)
        if len(src) and max(src.max(), dst.max()) >= ranks:
            raise ValueError("switches of a leaf-spine fabric only forward: no route starts or ends at one")
        own = np.arange(len(src))
        far = np.flatnonzero(src // hosts != dst // hosts)
        chosen = (flow_hash(src[far], dst[far], seed) if spread == "hash" else dst[far]) % spines
        up = 2 * ranks + src[far] // hosts * spines + chosen
        down = 2 * ranks + (leaves + dst[far] // hosts) * spines + chosen
        message = np.concatenate((own, far, far, own))
        order = np.argsort(message, kind="stable")
        return message[order], np.concatenate((src, up, down, ranks + dst))[order]

    return route

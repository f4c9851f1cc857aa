"""Families of graphs, built by formula: those that source texts on direct-connect networks use.

Numbers in a name stand as in the literature: H(n, q) is `hamming:NxQ`, the Kautz and de Bruijn graphs give their
degree first, circulants and dihedral graphs the number of ranks and then the jumps.

>>> [(graph.ranks, graph.num_links) for graph in (hamming(2, 3), hypercube(10), circulant((16, 3, 4)), de_bruijn(2, 3))]
[(9, 36), (1024, 10240), (16, 64), (8, 16)]
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd

import numpy as np

from colllib.exact import IntArray
from colllib.graphs.links import from_arcs
from colllib.limits import MOST_NODES
from colllib.topology.base import Topology, check_network

MOST_WORDS = 64  # on the cycle of a modified de Bruijn graph


def complete_bipartite(a: int, b: int) -> Topology:
    """K_{a,b}: every one of a ranks is joined to every one of b others."""
    name = f"complete-bipartite:{a}x{b}"
    _least(name, "each side", min(a, b), 1)
    check_network(name, a + b, 2 * a * b)
    left, right = np.repeat(np.arange(a), b), np.tile(np.arange(a, a + b), a)
    return from_arcs(name, a + b, np.concatenate((left, right)), np.concatenate((right, left)))


def hamming(n: int, q: int) -> Topology:
    """H(n, q), the n-th Cartesian power of the complete graph on q: words of n letters that differ in one."""
    name = f"hamming:{n}x{q}"
    _least(name, "the number of letters in a word", n, 1)
    _least(name, "the number of letters to choose from", q, 2)
    src, dst = _words(name, n, q)  # which refuses what is too large
    return from_arcs(name, q**n, src, dst)


def hypercube(axes: int) -> Topology:
    """The cube of 2^n ranks, each joined to those whose number differs in one bit."""
    name = f"hypercube:{axes}"
    _least(name, "the number of axes", axes, 1)
    src, dst = _words(name, axes, 2)
    return from_arcs(name, 2**axes, src, dst)


def twisted_hypercube(axes: int) -> Topology:
    """The n-cube with two opposite sides of one square exchanged for its diagonals, which cuts the diameter by one.

    The square is that of ranks 0, 1, 3, 2: links 0-1 and 2-3 become 0-3 and 2-1.

    Source: Esfahanian, Ni and Sagan (1991), "The Twisted N-Cube with Application to Multiprocessing".

    >>> from colllib.topology.cuts import diameter
    >>> diameter(hypercube(3)), diameter(twisted_hypercube(3))
    (3, 2)
    """
    name = f"twisted-hypercube:{axes}"
    _least(name, "the number of axes", axes, 3)
    src, dst = _words(name, axes, 2)
    exchanged = (src < 4) & (src ^ dst == 1)
    return from_arcs(name, 2**axes, src, np.where(exchanged, src ^ 3, dst))


def unidirectional_ring(degree: int, ranks: int) -> Topology:
    """UniRing(d, m): m ranks, each with d parallel links to the next one."""
    name = f"uniring:{degree}x{ranks}"
    _least(name, "the degree", degree, 1)
    return _jumping(name, ranks, [1], degree)


def bidirectional_ring(degree: int, ranks: int) -> Topology:
    """BiRing(d, m): m ranks, each with d / 2 parallel links to either neighbor."""
    name = f"biring:{degree}x{ranks}"
    if degree < 2 or degree % 2:
        raise ValueError(f"{name}: the degree must be even, half of it each way, and not {degree}")
    _least(name, "the number of ranks", ranks, 3)
    return _jumping(name, ranks, [1, -1], degree // 2)


def circulant(sizes: Sequence[int]) -> Topology:
    """C(n, {a_1, ..., a_k}): rank i is joined to i + a and i - a for every jump a, so that the degree is 2 k.

    Equal jumps, and a jump of n / 2, make parallel links.

    Raises:
        ValueError: for no jump, one outside 1..n-1, or jumps that share a divisor with n and so leave the graph apart.
    """
    name, ranks, jumps = _circulant("circulant", sizes)
    return _jumping(name, ranks, [signed for jump in jumps for signed in (jump, -jump)])


def directed_circulant(sizes: Sequence[int]) -> Topology:
    """Rank i has a link to i + a for every jump a: the degree is the number of jumps.

    With n = d + 2 and the jumps 1..d it is the directed circulant graph of degree d that needs two steps.
    """
    return _jumping(*_circulant("directed-circulant", sizes))


def dihedral(sizes: Sequence[int]) -> Topology:
    """For every jump a, rank i of an even number n has a link to i + a if i is even, and to i - a if it is odd.

    It is a Cayley graph of the dihedral group, the motions of a polygon of n / 2 corners: rank 2 k turns it by k, and
    2 k + 1 also turns it over. A jump is a motion more, so all ranks look alike.

    Source: Akers and Krishnamurthy (1989), "A Group-Theoretic Model for Symmetric Interconnection Networks".

    Raises:
        ValueError: for no jump, one outside 1..n-1, an odd n, or jumps that leave the graph in parts.
    """
    name, ranks, jumps = _circulant("dihedral", sizes)
    odd = next((jump for jump in jumps if jump % 2), 0)
    if ranks % 2 or gcd(ranks, *(jump - jump % 2 * odd for jump in jumps)) > 2:
        raise ValueError(
            f"{name}: N must be even, and N, even jumps and differences of odd ones share no divisor but 2"
        )
    check_network(name, ranks, ranks * len(jumps))
    src = np.tile(np.arange(ranks), len(jumps))
    return from_arcs(name, ranks, src, (src + np.where(src % 2, -1, 1) * np.repeat(jumps, ranks)) % ranks)


def shifted_ring(ranks: int, step: int) -> Topology:
    """Two bidirectional rings over the same n ranks, one with steps of 1 and one with steps of p.

    Source: Wang et al. (2023), "TopoOpt: Co-optimizing Network Topology and Parallelization Strategy", whose
    rings have steps coprime to n.
    """
    name = f"shifted-ring:{ranks}x{step}"
    _least(name, "the number of ranks", ranks, 3)
    if not 0 < step < ranks or gcd(ranks, step) != 1:
        raise ValueError(f"{name}: the step {step} must be in 1..{ranks - 1} and coprime to {ranks}")
    return _jumping(name, ranks, [1, -1, step, -step])


def kautz(degree: int, ranks: int) -> Topology:
    """The generalized Kautz graph of degree d on m ranks: links from x to -d x - a mod m for a = 1..d.

    For m = d^(n+1) + d^n it is the Kautz graph K(d, n). Where d + 1 does not divide m, some ranks have self-loops.

    Source: Imase and Itoh (1983), "A Design for Directed Graphs with Minimum Diameter".
    """
    name = f"kautz:{degree}x{ranks}"
    _least(name, "the degree", degree, 1)
    _least(name, f"the number of ranks with degree {degree}", ranks, degree + 1)
    check_network(name, ranks, ranks * degree)
    src = np.repeat(np.arange(ranks), degree)
    return from_arcs(name, ranks, src, (-degree * src - np.tile(np.arange(1, degree + 1), ranks)) % ranks)


def de_bruijn(degree: int, letters: int) -> Topology:
    """DBJ(d, n): words of n letters out of d, each with links to those that drop its first letter and add a last one.

    The d words of one letter have self-loops.
    """
    name = f"debruijn:{degree}x{letters}"
    src, dst = _shifts(name, degree, letters)
    return from_arcs(name, degree**letters, src, dst)


def modified_de_bruijn(degree: int, letters: int) -> Topology:
    """DBJMod(d, n): the de Bruijn graph whose self-loops and pairs of opposite links have become one long cycle.

    The literature shows one cycle of many, for 8 ranks, in a picture: the successor of a word is not unique.
    This is the lowest cycle in lexicographic order that makes no parallel links. For DBJMod(2, 4) it agrees with all
    that is said (diameter 4, not isomorphic to its transpose, throughput of the square 2.94e-3), as do three of the
    other five cycles; for DBJMod(4, 2) the throughput of its line graph is 2.22e-2, and the literature prints 2.21e-2.

    Raises:
        ValueError: if no such cycle exists.
    """
    name = f"modified-debruijn:{degree}x{letters}"
    _least(name, "the number of letters in a word", letters, 2)
    src, dst = _shifts(name, degree, letters)
    ranks = degree**letters
    stays = (src - dst * degree) % ranks >= degree  # no link leads back
    words = np.unique(src[~stays]).tolist()
    among_words = stays & np.isin(src, words) & np.isin(dst, words)
    arcs = set(zip(src[among_words].tolist(), dst[among_words].tolist(), strict=True))

    def cycle(path: list[int]) -> list[int] | None:
        if len(path) == len(words):
            return None if (path[-1], path[0]) in arcs else path
        onward = (word for word in words if word not in path and (path[-1], word) not in arcs)
        return next((closed for word in onward if (closed := cycle([*path, word]))), None)

    path = cycle(words[:1]) if len(words) <= MOST_WORDS else None
    if path is None:
        raise ValueError(f"{name}: no cycle of at most {MOST_WORDS} words without parallel links is found")
    return from_arcs(name, ranks, np.append(src[stays], path), np.append(dst[stays], [*path[1:], path[0]]))


def diamond() -> Topology:
    """The diamond: 8 ranks of degree 2 and diameter 3, whose all-gather can take 3 steps of full links.

    The literature shows it in a picture and says: N = 8, d = 2, not isomorphic to its transpose, Moore optimal and
    bandwidth optimal, and an all-to-all throughput of the square of 1.87e-2. Of the 256 digraphs of this size, degree
    and diameter without self-loops or parallel links exactly two fit, this one and its transpose.

    Source: found by search; named by Zhao et al. (2025), "Efficient Direct-Connect Topologies for Collective
    Communications".
    """
    src = np.repeat(np.arange(8), 2)
    return from_arcs("diamond", 8, src, np.array([1, 2, 2, 3, 4, 5, 6, 7, 0, 3, 1, 6, 0, 7, 4, 5]))


def _shifts(name: str, degree: int, letters: int) -> tuple[IntArray, IntArray]:
    _least(name, "the degree", degree, 2)
    _least(name, "the number of letters in a word", letters, 1)
    ranks = _power(name, degree, letters)
    check_network(name, ranks, ranks * degree)
    src = np.repeat(np.arange(ranks), degree)
    return src, (src * degree + np.tile(np.arange(degree), ranks)) % ranks


def _words(name: str, n: int, q: int) -> tuple[IntArray, IntArray]:
    """All pairs of words of n out of q letters that differ in one."""
    ranks = _power(name, q, n)
    check_network(name, ranks, ranks * n * (q - 1))
    word, more, place = np.arange(ranks), np.arange(1, q)[:, None], np.power(q, np.arange(n))[:, None, None]
    letter = word // place % q
    neighbor: IntArray = word + ((letter + more) % q - letter) * place
    return np.tile(word, n * (q - 1)), neighbor.ravel()


def _circulant(kind: str, sizes: Sequence[int]) -> tuple[str, int, list[int]]:
    ranks, *jumps = sizes
    name = f"{kind}:{'x'.join(map(str, sizes))}"
    if not jumps:
        raise ValueError(f"{name}: the number of ranks and at least one jump are needed, as in {kind}:16x1x3")
    wrong = [jump for jump in jumps if not 0 < jump < ranks]
    if wrong:
        raise ValueError(f"{name}: the jump {wrong[0]} is not in 1..{ranks - 1}")
    if gcd(*sizes) > 1:
        raise ValueError(
            f"{name} is not strongly connected: {gcd(*sizes)} divides the number of ranks and every jump, and must not"
        )
    return name, ranks, jumps


def _jumping(name: str, ranks: int, jumps: Sequence[int], parallel: int = 1) -> Topology:
    """From every rank so many parallel links to the one that each jump leads to."""
    _least(name, "the number of ranks", ranks, 2)
    check_network(name, ranks, ranks * len(jumps) * parallel)
    src = np.tile(np.arange(ranks), len(jumps) * parallel)
    return from_arcs(name, ranks, src, (src + np.repeat(jumps, ranks * parallel)) % ranks)


def _least(name: str, what: str, value: int, least: int) -> None:
    if value < least:
        raise ValueError(f"{name}: {what} must be at least {least}, and not {value}")


def _power(name: str, base: int, exponent: int) -> int:
    """base^exponent ranks, refused before a number too long for the memory is made."""
    check_network(name, base ** min(exponent, MOST_NODES.bit_length()), 0)
    return int(base**exponent)

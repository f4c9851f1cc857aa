"""Two tiers: boxes of ranks with a fast switch inside, and a slower network between them."""

from __future__ import annotations

from fractions import Fraction

from colllib.primitives import check_ranks
from colllib.topology.base import Topology
from colllib.topology.graph import from_links


def boxes(
    count: int,
    ranks: int,
    *,
    fast: Fraction | int = 6,
    inside_alpha: Fraction | int = 1,
    between_alpha: Fraction | int = 5,
    oversubscription: Fraction | int = 1,
) -> Topology:
    """Boxes with a fast switch in each, and a network card of BW per rank.

    Rank r is number r % ranks of box r // ranks. A message within a box takes the box's switch. One
    that leaves goes over the sender's card to the box's leaf switch, up to the spine, down to the
    other leaf and over the receiver's card. The link from leaf to spine carries all cards of a box
    together, divided by the oversubscription.

    Args:
        count: number of boxes.
        ranks: ranks in a box.
        fast: bandwidth of a rank's link to the switch in its box, in units of BW.
        inside_alpha: latency from rank to rank in a box, in units of alpha.
        between_alpha: latency from rank to rank of different boxes.
        oversubscription: how many times too narrow the way from leaf to spine is, at least 1.

    >>> boxes(8, 8)
    Topology(boxes:8x8, 64 ranks, 17 switches, 272 links)
    """
    check_ranks(count)
    check_ranks(ranks)
    if oversubscription < 1:
        raise ValueError(f"oversubscription {oversubscription}: must be at least 1")
    total = count * ranks
    links: list[tuple[int, int]] = []
    alpha: list[Fraction] = []
    speed: list[Fraction] = []

    def join(a: int, b: int, latency: Fraction, bandwidth: Fraction) -> None:
        links.extend(((a, b), (b, a)))
        alpha.extend((latency, latency))
        speed.extend((bandwidth, bandwidth))

    spine = total + 2 * count
    for box in range(count):
        inner, leaf = total + box, total + count + box
        for rank in range(box * ranks, (box + 1) * ranks):
            join(rank, inner, Fraction(inside_alpha) / 2, Fraction(fast))
            join(rank, leaf, Fraction(between_alpha) / 2, Fraction(1))
        join(leaf, spine, Fraction(0), Fraction(ranks) / Fraction(oversubscription))
    return from_links(
        f"boxes:{count}x{ranks}",
        total,
        links,
        switches=2 * count + 1,
        alpha=alpha,
        bandwidth=speed,
        port_model="one full-duplex port in the box and one network card per rank",
    )

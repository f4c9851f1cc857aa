"""Ranks around one switch."""

from __future__ import annotations

import numpy as np

from colllib.exact import Fractions, IntArray
from colllib.primitives import check_ranks
from colllib.topology.base import Topology


def star(ranks: int, ports: int = 1) -> Topology:
    """N ranks around one switch, each with one full-duplex link of `ports` times BW.

    The two links of a route have the declared alpha together, half each. With several ports they
    are bonded, as NVLink's are: k ports act as one link of k times the bandwidth.

    >>> star(2).alpha[0]
    Fraction(1, 2)
    """
    check_ranks(ranks)
    if ports < 1:
        raise ValueError(f"{ports} ports: a rank needs at least 1")
    nodes = np.arange(ranks)
    hub = np.full(ranks, ranks)

    def route(src: IntArray, dst: IntArray) -> tuple[IntArray, IntArray]:
        message = np.arange(len(src))
        return np.concatenate((message, message)), np.concatenate((src, dst + ranks))

    return Topology(
        name=f"star:{ranks}" if ports == 1 else f"star:{ranks} with {ports} ports",
        ranks=ranks,
        switches=1,
        link_src=np.concatenate((nodes, hub)),
        link_dst=np.concatenate((hub, nodes)),
        alpha=Fractions.equal(2 * ranks, ranks),
        bandwidth=Fractions.equal(2 * ranks, 2 * ranks * ports),
        router=route,
        port_model=f"{'one full-duplex port' if ports == 1 else f'{ports} full-duplex ports'} per rank",
    )

"""A drawing of how a token gets to its experts: once per expert, once per rank or once per box."""

from collections.abc import Iterator
from fractions import Fraction

from colllib.exact import IntArray
from colllib.execution import execute
from colllib.show.film import Film, amount
from colllib.show.geometry import Box, between
from colllib.show.pen import CHIP, FINAL, Drawing, Pen, drawing
from colllib.show.theme import listed
from colllib.topology import Topology
from colllib.training import experts

PITCH, GAP = 46.0, 62.0  # from rank to rank, and between the boxes
APART = 16.0  # between arrows of the same two ranks
CHOSEN = 4  # the color of the chosen experts
Hop = tuple[int, int, int]  # from, to, and how often


def dispatches(topology: Topology, routing: experts.Routing, hosts: experts.Placement, *, title: str = "") -> Drawing:
    """How the token of rank 0 travels between two boxes, as each of the dispatches is executed.

    Args:
        topology: two boxes.
        routing: what one token on each rank chose.
        hosts: on which rank each expert lives; one rank each.
        title: the conclusion.

    Raises:
        ValueError: for other than two boxes, or several tokens on a rank.

    >>> from numpy import array
    >>> from colllib.topology import boxes
    >>> dispatches(boxes((2, 2)), experts.Routing(array([[[4, 5, 6]]] * 4), 8), experts.contiguous(8, 4))
    The token of rank 0 chose experts 4, 5, 6. Once per expert: 0 to 2 twice, 0 to 3; M crosses between the boxes. \
Once per rank: 0 to 2, 0 to 3; 2M/3 crosses between the boxes. Once per box: 0 to 2, 2 to 3; M/3 crosses between the \
boxes.
    """
    ranks, in_box = topology.ranks, topology.in_box
    if not in_box or ranks != 2 * in_box or routing.chosen.shape[1] != 1:
        raise ValueError(f"{routing.chosen.shape[1]} tokens on each rank of {topology.name}: draws one, on two boxes")
    targets, top_k = experts.destinations(routing, hosts), routing.chosen.shape[2]
    hops = {once: list(_hops(topology, targets, once)) for once in experts.COPIES}
    crossing = {
        once: amount(Fraction(sum(times for a, b, times in way if a // in_box != b // in_box), top_k))
        for once, way in hops.items()
    }
    lives = [[expert for expert, (host,) in enumerate(hosts) if host == rank] for rank in range(ranks)]
    wide = 33.0 + (CHIP.width + 2) * max(map(len, lives))  # of a box
    picked = set(routing.chosen[0].ravel().tolist())

    def draw(pen: Pen) -> None:
        panel = 2 * wide + GAP + 32
        for k, (once, way) in enumerate(hops.items()):
            dx, dy = (k * panel, 0.0) if pen.wide else (0.0, k * (in_box * PITCH + 50))
            pen.text(dx + wide + GAP / 2, dy - 50, f"once {once}", "b")
            pen.text(dx + wide + GAP / 2, dy - 35, f"{crossing[once]} crosses", "q")
            disks = []
            for box in range(2):
                middle = dx + wide / 2 + box * (wide + GAP)
                pen.group(Box(middle, dy + PITCH * (in_box - 1) / 2, wide, PITCH * in_box - 6))
                for place in range(in_box):
                    rank, y, side = box * in_box + place, dy + PITCH * place, 2 * box - 1
                    disks.append(Box(middle - side * (wide / 2 - 16), y, 22, 22, round=True))
                    for n, expert in enumerate(lives[rank]):
                        x = middle - wide / 2 + 31 + n * (CHIP.width + 2) - (1 - box) * 27
                        if expert in picked:
                            pen.stripes(x, y - CHIP.height / 2, CHIP, expert, [CHOSEN], FINAL)
                        else:
                            pen.cell(x, y - CHIP.height / 2, CHIP, expert, 0)
            for a, b, times in way:
                for n in range(times):
                    pen.arrow(between(disks[a], disks[b], APART * (n - (times - 1) / 2)), "add")
            for rank, disk in enumerate(disks):
                pen.disk(disk, rank, "" if rank else "i")

    sentences = " ".join(
        f"Once {once}: {', '.join(map(_told, way))}; {crossing[once]} crosses between the boxes."
        for once, way in hops.items()
    )
    alt = f"The token of rank 0 chose experts {listed(sorted(picked))}. {sentences}"
    legend = [("disk i", "has the token"), (f"patch h{CHOSEN}", "an expert that it chose")]
    return drawing(draw, title=title, alt=alt, legend=legend)


def _told(hop: Hop) -> str:
    a, b, times = hop
    return f"{a} to {b}{('', ' twice')[times - 1] if times < 3 else f' {times} times'}"


def _hops(topology: Topology, targets: IntArray, once: str) -> Iterator[Hop]:
    """The messages of rank 0's token, in order: from, to, and how many times."""
    film = Film("", execute(experts.dispatch(topology, targets, once), topology))
    own = {block for block, (start, _) in enumerate(film.ends) if start == 0}
    for messages in film.messages:
        for message in messages:
            if blocks := sorted(own & set(message.blocks)):
                times = film.share(blocks) * targets.shape[2]
                yield message.src, message.dst, int(times)

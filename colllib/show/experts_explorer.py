"""The experts explorer: who chooses which experts, where these live, and what dispatch and combine then cost."""

from fractions import Fraction
from functools import cache

import numpy as np

from colllib.exact import IntArray
from colllib.execution import Execution, execute
from colllib.metrics import crossings
from colllib.show.control import Control, Part
from colllib.show.cost_explorer import message, two_tier_race, two_tiers
from colllib.show.explorer import Explorer
from colllib.show.figure import BROAD, SLIM, Chart
from colllib.show.lines import HALO, px, text
from colllib.show.race import Row, only
from colllib.show.theme import color
from colllib.show.views import Rows
from colllib.topology import boxes
from colllib.training import experts
from colllib.training.experts import Routing
from colllib.units import percent

BOXES, IN_BOX, TOKENS, EXPERTS, TOP_K = 4, 4, 32, 64, 4
RANKS = BOXES * IN_BOX
SEED = 192  # of 200 draws, the nearest to the medians of what the chapter says
GATES = {"uniform": "uniform", "zipf": "Zipf, s = 1", "topics": "topics, as if trained"}
PLACEMENTS = ("contiguous", "round-robin", "by load", "16 replicas")
CAPACITIES: dict[float, str] = {0: "no limit", 2: "2", 1: "1"}


@cache
def routing(gate: str, capacity: float) -> Routing:
    """What the tokens of 16 ranks choose of 64 experts."""
    if gate in ("uniform", "zipf"):
        scores = experts.zipf_scores(RANKS, TOKENS, EXPERTS, 1.0 if gate == "zipf" else 0.0, seed=SEED)
    else:
        tokens = experts.topical_tokens(RANKS, TOKENS, seed=SEED)
        matrix = np.random.default_rng(SEED).normal(size=(tokens.shape[-1], EXPERTS)) / 2
        scores = tokens @ matrix
    chosen = experts.route(scores, TOP_K)
    return experts.with_capacity(chosen, Fraction(capacity)) if capacity else chosen


@cache
def destinations(gate: str, capacity: float, placement: str) -> IntArray:
    """The rank of each choice; experts are placed by the load that they will have, if by load."""
    chosen = routing(gate, capacity)
    if placement == "contiguous":
        return experts.destinations(chosen, experts.contiguous(EXPERTS, RANKS))
    load = [1] * EXPERTS if placement == "round-robin" else chosen.load
    placed = experts.by_load(load, RANKS, copies=RANKS if placement == "16 replicas" else 0)
    return experts.destinations(chosen, placed)


@cache
def dispatched(gate: str, capacity: float, placement: str, copies: str) -> Execution:
    """The dispatch, executed."""
    topology = boxes((BOXES, IN_BOX))
    return execute(experts.dispatch(topology, destinations(gate, capacity, placement), copies), topology)


def experts_explorer() -> Explorer:
    """Gates, placements and capacity against the time of dispatch and combine, which cost the same.

    >>> experts_explorer()
    Explorer: Tokens to experts (Gate, Capacity factor, Experts placed, ...)
    """
    race = two_tier_race(_rows)
    heads = "sent = name | dispatch = time | of fastest | busiest card = card"
    return Explorer(
        "Tokens to experts",
        [
            Control("gate", "Gate", GATES, "topics", kind="select"),
            Control("capacity", "Capacity factor", CAPACITIES, 0),
            Control("where", "Experts placed", PLACEMENTS, "contiguous", kind="select"),
            message(4e6),
            *two_tiers(),
        ],
        [
            Part(_work, "Choices that each rank serves"),
            Rows(race, "How often a token is sent", columns=heads, swatches=False),
        ],
        summary="Dispatch of {m}: {fastest} with {time}{next}.",
        name="experts",
    )


def _rows(gate: str, capacity: float, where: str) -> list[Row]:
    runs = {copies: dispatched(gate, capacity, where, copies) for copies in experts.COPIES}
    busiest = {copies: f"{float(crossings(run)['card'].most):.2f} M" for copies, run in runs.items()}
    return [Row(f"once {copies}", only(run.cost), more={"card": busiest[copies]}) for copies, run in runs.items()]


TALL, EDGE = 104.0, 18.0  # of the highest bar, and left of all


def _work(gate: str, capacity: float, where: str) -> Chart:
    """A bar for each rank, in its box, with a line at an equal share."""
    chosen = routing(gate, capacity)
    targets = destinations(gate, capacity, where)
    work = np.bincount(targets[targets >= 0], minlength=RANKS) * RANKS / targets.size
    dropped = f"{percent(chosen.dropped)} dropped" if chosen.dropped else "none dropped"
    visited = experts.boxes_visited(targets, IN_BOX)
    busiest = int(work.argmax())
    most, least = float(work.max()), float(work.min())

    def draw(width: float) -> str:
        bottom, room = TALL + 18, (width - EDGE) / (RANKS + BOXES / 2)
        high = TALL / max(most, 1.0)
        out = [text(EDGE - 6, bottom - high + 4, "end", "1"), text(EDGE - 6, bottom + 4, "end", "0")]
        for rank, share in enumerate(map(float, work)):
            x = EDGE + room * (rank + 0.25 + rank // IN_BOX / 2)
            fill = color(1) if rank == busiest else "var(--cl-edge,#77808a)"
            bar = f'x="{px(x)}" y="{px(bottom - high * share)}" width="{px(0.8 * room)}" height="{px(high * share)}"'
            out.append(f'<rect {bar} rx="2" style="fill:{fill}"/>')
            out.append(text(x + 0.4 * room, bottom + 15, "middle", str(rank)))
            if rank in (busiest, int(work.argmin())):
                out.append(text(x + 0.4 * room, bottom - high * share - 4, "middle", f"{share:.2f}", HALO))
        for box in range(BOXES):
            x = EDGE + room * (IN_BOX + 0.5) * box
            out.append(f'<path d="M{px(x)} {px(bottom + 20)}h{px(room * (IN_BOX + 0.3))}" stroke="currentColor"/>')
            out.append(text(x + room * (IN_BOX + 0.3) / 2, bottom + 34, "middle", f"box {box}"))
        line = f"M{px(EDGE)} {px(bottom - high)}H{px(width)}M{px(EDGE)} {px(bottom)}H{px(width)}"
        out.append(f'<path d="{line}" stroke="currentColor" stroke-dasharray="3 3"/>')
        size = f'viewBox="0 0 {px(width)} {px(bottom + 38)}"'
        return f'<svg class="cl-plot" {size} font-size="12" aria-hidden="true">{"".join(out)}</svg>'

    title = f"Choices served, in equal shares: {least:.2f} to {most:.2f} by a rank, {chosen.imbalance:.2f} by the "
    title += f"busiest expert; {dropped}; a token visits {visited:.1f} of {BOXES} boxes"
    alt = f"A bar for each rank: {', '.join(f'{share:.2f}' for share in work)}."
    return Chart(draw(SLIM), alt, title, lambda: draw(BROAD))

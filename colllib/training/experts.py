"""Mixture of experts: tokens choose experts, experts live on ranks, and what follows is an uneven all-to-all.

A gate gives every token a score for each expert; `route` lets it choose k of them. A placement says on
which ranks each expert lives. `dispatch` makes of both a schedule that `execute` proves and counts, and
its reverse in time is the combine: the experts' outputs, weighted, are added on their way home.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
from math import ceil, isfinite

import numpy as np

from colllib.exact import Fractions, IntArray
from colllib.limits import check_size
from colllib.primitives import Blocks, check_counts, is_whole, whole_numbers
from colllib.schedule import Schedule, Step
from colllib.topology import Topology
from colllib.training.tensor_states.graph import Floats, softmax

Placement = tuple[tuple[int, ...], ...]

DROPPED = -1
MOST_SCORES = 2**20
MOST_DRAWN = 2**27  # scores one rank after the other, some seconds

# -- gates ---------------------------------------------------------------------------------------


def zipf_scores(ranks: int, tokens: int, experts: int, exponent: float = 0.0, *, seed: int = 0) -> Floats:
    """Scores of each rank's tokens whose best k are k different experts, drawn with the popularity of a Zipf law.

    In each draw the k-th most popular has k^-exponent of the first's weight, so that 0 is uniform; which is the most
    popular is drawn too.

    >>> zipf_scores(2, 3, 8).shape
    (2, 3, 8)
    """
    check_counts(ranks=ranks, tokens=tokens, experts=experts)
    check_size(
        f"scores on {ranks} ranks for {experts} experts", tokens, MOST_SCORES // (ranks * experts), "tokens a rank"
    )
    return np.stack(list(_zipf(ranks, tokens, experts, exponent, seed)))


def _zipf(ranks: int, tokens: int, experts: int, exponent: float, seed: int) -> Iterator[Floats]:
    """These scores, rank by rank."""
    if not isfinite(exponent):
        raise ValueError(f"exponent {exponent}: must be finite")
    random = np.random.default_rng(seed)
    popularity = random.permutation(-exponent * np.log(np.arange(1, experts + 1)))
    for _ in range(ranks):
        yield popularity + random.gumbel(size=(tokens, experts))  # the best are a draw without replacement


def zipf_routing(
    ranks: int, tokens: int, experts: int, top_k: int, exponent: float = 0.0, *, seed: int = 0, **limit: int
) -> Routing:
    """What `route` makes of `zipf_scores`, of which it never keeps more than a rank's: so there may be more tokens.

    `limit` is that of `route`: boxes and most_boxes.

    >>> bool((zipf_routing(2, 3, 8, 2).chosen == route(zipf_scores(2, 3, 8), 2).chosen).all())
    True
    """
    check_counts(ranks=ranks, tokens=tokens, experts=experts)
    most = MOST_DRAWN // (ranks * experts)
    check_size(f"choices on {ranks} ranks among {experts} experts", tokens, most, "tokens a rank")
    of_ranks = (route(scores[None], top_k, **limit).chosen for scores in _zipf(ranks, tokens, experts, exponent, seed))
    return Routing(np.concatenate(list(of_ranks)), experts)


def topical_tokens(ranks: int, tokens: int, *, seed: int = 0) -> Floats:
    """Tokens as a trained model sees them, vectors in clusters of unequal size; every rank has a mix of its own."""
    check_counts(ranks=ranks, tokens=tokens)
    check_size("topics of tokens", ranks * tokens, MOST_SCORES, "tokens")
    topics, width = 12, 16
    random = np.random.default_rng(seed)
    centers = random.normal(size=(topics, width))
    sizes = 1 / np.arange(1, topics + 1)
    mixes = random.dirichlet(4 * sizes, size=ranks)
    topic = np.stack([random.choice(topics, size=tokens, p=mix) for mix in mixes])
    return centers[topic] + 0.5 * random.normal(size=(ranks, tokens, width))


def balanced_gate(gate: Floats, tokens: Floats, top_k: int, weight: float, *, steps: int = 200) -> Floats:
    """The gate after so many steps of descent on the auxiliary loss, near its old scores by a quadratic penalty.

    Args:
        gate: the matrix W of the scores x W, shape (width, experts).
        tokens: x, shape (ranks, tokens, width).
        weight: of the auxiliary loss, finite; 0 leaves the gate as it is.

    Source: Fedus, Zoph & Shazeer (2022), section 2.2, for the loss.

    Raises:
        ValueError: for tokens of another width, a weight that is negative or infinite, or too many steps.
    """
    if len(gate) != tokens.shape[-1]:
        raise ValueError(f"a gate for vectors of {len(gate)} numbers, tokens of {tokens.shape[-1]}: must be the same")
    check_counts(steps=steps)
    if not 0 <= weight < float("inf"):
        raise ValueError(f"weight {weight} of the auxiliary loss: must be finite and at least 0")
    x = tokens.reshape(-1, tokens.shape[-1])
    old, experts, new = x @ gate, gate.shape[1], gate.copy()
    check_size("descent on the auxiliary loss", steps * old.size, MOST_SCORES * 2**8, "scores")  # about a minute
    rate = len(x) / np.linalg.norm(x, 2) ** 2 / (1 + weight)  # the loss is the steeper the more it weighs
    for _ in range(steps):
        scores = x @ new
        share = route(scores[None], top_k).load / (top_k * len(x))
        chance = softmax(scores)
        slope = weight * experts * chance * (share - chance @ share[:, None]) + scores - old
        new -= rate * x.T @ slope / len(x)
    return new


def auxiliary_loss(scores: Floats, top_k: int) -> float:
    """E times the sum over experts of (share of choices) x (mean probability): 1 when balanced.

    >>> round(auxiliary_loss(np.tile(np.eye(4), (1, 2, 1)), top_k=1), 6)
    1.0
    """
    share = route(scores, top_k).load / scores[..., 0].size / top_k
    chance = softmax(scores).reshape(-1, scores.shape[-1]).mean(axis=0)
    return float(scores.shape[-1] * share @ chance)


# -- choices -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Routing:
    """Which of E experts every token visits, shape (ranks, tokens, k), the best first; -1 where one was dropped."""

    chosen: IntArray
    experts: int

    @property
    def load(self) -> IntArray:
        """How many tokens each expert gets, shape (experts,)."""
        return np.bincount(self.chosen[self.chosen != DROPPED], minlength=self.experts)

    @property
    def dropped(self) -> float:
        """The share of choices that were dropped."""
        return float((self.chosen == DROPPED).mean())

    @property
    def imbalance(self) -> float:
        """The busiest expert's load over the mean load of all choices made."""
        return float(self.load.max() * self.experts / self.chosen.size)


def route(scores: Floats, top_k: int, *, boxes: int = 1, most_boxes: int | None = None) -> Routing:
    """Let every token choose its k best experts, perhaps in a few boxes only.

    Args:
        scores: shape (ranks, tokens, experts).
        boxes: among how many boxes the experts are divided, in order.
        most_boxes: a token may visit so many of them (default: all): those with the largest sums of their
            best k / most_boxes affinities, an affinity being the sigmoid of a score.

    Raises:
        ValueError: for k < 1 or k > E, boxes that do not divide the experts, or a limit that leaves too few.

    Source: DeepSeek-V3 technical report, section 2.1.2, for the limit.

    >>> route(np.array([[[0.1, 0.9, 0.5]]]), top_k=2).chosen
    array([[[1, 2]]])
    """
    experts = scores.shape[-1]
    if not is_whole(top_k) or not 1 <= top_k <= experts:
        raise ValueError(f"top_k = {top_k!r}: a token can choose 1 to {experts} of {experts} experts")
    check_counts(boxes=boxes)
    if experts % boxes:
        raise ValueError(f"boxes = {boxes}: must divide the {experts} experts")
    if np.isnan(scores).any():
        raise ValueError("a score is not a number: a token cannot choose by it")
    in_box, most = experts // boxes, boxes if most_boxes is None else most_boxes
    if not is_whole(most) or not 1 <= most <= boxes or most * in_box < top_k:
        least = ceil(top_k / in_box)
        raise ValueError(f"most_boxes = {most!r}: must be {least} to {boxes}: a box has {in_box} experts, k is {top_k}")
    if most < boxes:
        from scipy.special import expit

        affinity = expit(scores).reshape(*scores.shape[:-1], boxes, in_box)
        best = np.sort(affinity, axis=-1)[..., -max(1, top_k // most) :].sum(axis=-1)
        place = np.argsort(np.argsort(-best, axis=-1, kind="stable"), axis=-1)  # of each box, for a token
        scores = np.where(np.repeat(place < most, in_box, axis=-1), scores, -np.inf)
    return Routing(np.argsort(-scores, axis=-1, kind="stable")[..., :top_k], experts)


def with_capacity(routing: Routing, factor: float | Fraction) -> Routing:
    """Drop what exceeds an expert's capacity, ceil(factor x choices / experts): first choices stay first.

    Raises:
        ValueError: for a factor that is not finite and above 0.

    >>> two = route(np.zeros((1, 4, 2)), top_k=1)  # four tokens, all to expert 0
    >>> with_capacity(two, 1).chosen.ravel()
    array([ 0,  0, -1, -1])
    """
    if not 0 < factor < float("inf"):
        raise ValueError(f"capacity factor {factor}: must be finite and above 0, or no token is served")
    limit = ceil(Fraction(str(factor)) * routing.chosen.size / routing.experts)
    in_turn = np.moveaxis(routing.chosen, -1, 0).copy()
    flat = in_turn.ravel()
    for expert in range(routing.experts):
        flat[np.flatnonzero(flat == expert)[limit:]] = DROPPED
    return Routing(np.moveaxis(in_turn, 0, -1), routing.experts)


# -- placements ----------------------------------------------------------------------------------


def contiguous(experts: int, ranks: int) -> Placement:
    """Neighboring experts on the same rank.

    >>> contiguous(4, 2)
    ((0,), (0,), (1,), (1,))
    """
    per_rank = _per_rank(experts, ranks)
    return tuple((expert // per_rank,) for expert in range(experts))


def by_load(load: Sequence[int] | IntArray, ranks: int, copies: int = 0) -> Placement:
    """Equally many experts on every rank, those of the largest load first and each where there is the least to do.

    Each of some further copies, so many in all, goes to the expert with the most tokens per copy.

    Source: the greedy balancer of DeepSeek's EPLB, in one tier; but copies of an expert go to different ranks.

    Raises:
        ValueError: if experts and copies together cannot be divided among the ranks, or there are more than
            N copies of all.

    >>> by_load([8, 1, 2, 3], 2), by_load([1, 1, 1, 1], 2)  # equal loads go round
    (((0,), (0,), (1,), (1,)), ((0,), (1,), (0,), (1,)))
    >>> by_load([8, 1, 1], 2, copies=1)
    ((0, 1), (0,), (1,))
    """
    load = whole_numbers("load", load)
    slots = _per_rank(len(load) + copies, ranks)
    most = len(load) * (ranks - 1)
    if not 0 <= copies <= most:
        raise ValueError(f"copies = {copies}: {len(load)} experts on {ranks} ranks have room for 0 to {most}")
    if min(load) < 0:
        raise ValueError(f"load {min(load)}: an expert cannot have fewer than 0 tokens")
    instances = [1] * len(load)  # of each expert
    for _ in range(copies):
        busiest = max((e for e in range(len(load)) if instances[e] < ranks), key=lambda e: load[e] / instances[e])
        instances[busiest] += 1
    work, free = [Fraction(0)] * ranks, [slots] * ranks
    hosts: list[set[int]] = [set() for _ in load]
    for expert in sorted(range(len(load)), key=lambda e: -load[e] / instances[e]):
        for _ in range(instances[expert]):
            rank = min((r for r in range(ranks) if free[r]), key=lambda r: (r in hosts[expert], work[r]))
            hosts[expert].add(rank)
            free[rank] -= 1
            work[rank] += Fraction(int(load[expert]), instances[expert])
    return tuple(tuple(sorted(host_ranks)) for host_ranks in hosts)


def _per_rank(experts: int, ranks: int) -> int:
    check_counts(experts=experts, ranks=ranks)
    check_size("a placement", experts, MOST_SCORES, "experts")
    if experts % ranks:
        most = next(fewer for fewer in range(ranks, 0, -1) if experts % fewer == 0)
        raise ValueError(
            f"{experts} experts on {ranks} ranks: each must hold equally many, so take {ranks} or a multiple, as with "
            f"{-experts % ranks} redundant ones, or as many ranks as divide {experts}, as {most} do (gpus={most} keeps "
            "so many of a single box that has them)"
        )
    return experts // ranks


def destinations(routing: Routing, hosts: Placement) -> IntArray:
    """The rank to which each choice goes, shape (ranks, tokens, k); tokens t = 0, 1, ... of rank r take copies r + t in
    turn, without knowing which of them chose the expert."""
    if len(hosts) != routing.experts:
        raise ValueError(f"a placement of {len(hosts)} experts for a routing to {routing.experts}")
    count = np.array([len(host_ranks) for host_ranks in hosts])
    table = np.array([np.resize(host_ranks, count.max()) for host_ranks in hosts])
    ranks, tokens, _ = routing.chosen.shape
    turn = (np.arange(ranks)[:, None] + np.arange(tokens))[:, :, None]
    return np.where(routing.chosen == DROPPED, DROPPED, table[routing.chosen, turn % count[routing.chosen]])


# -- the collective ------------------------------------------------------------------------------

COPIES = ("per expert", "per rank", "per box")


def dispatch(topology: Topology, target_ranks: IntArray, copies: str = "per rank") -> Schedule:
    """The uneven all-to-all that takes tokens to their experts' ranks; M is all that a rank's tokens chose.

    Args:
        target_ranks: the rank that each choice goes to, -1 for none, shape (ranks, tokens, k).
        copies: of a token. "per expert" or "per rank", everything is sent at once, straight to its rank. "per box", a
            token crosses to the rank with its own number in the other box once, and is copied there: two steps, as in
            DeepSeek-V3.

    Raises:
        ValueError: for other copies, or a topology that does not fit.

    >>> from colllib import execute, metrics, topology
    >>> two = topology.boxes((2, 2))
    >>> target_ranks = np.array([[[2, 3]]] * 4)  # one token on each rank; both its experts live in the second box
    >>> [str(metrics.crossings(execute(dispatch(two, target_ranks, copies), two))["card"].most) for copies in COPIES]
    ['1', '1', '1/2']
    """
    target_ranks = whole_numbers("destination", target_ranks)
    ranks, tokens, top_k = target_ranks.shape
    in_box = topology.in_box if copies == "per box" else 1
    if copies not in COPIES:
        raise ValueError(f"copies {copies!r}: must be one of {', '.join(COPIES)}")
    if ranks != topology.ranks:
        raise ValueError(f"tokens of {ranks} ranks on {topology.name}, which has {topology.ranks}")
    if not in_box or ranks % in_box:
        raise ValueError(f"{topology.name} has no boxes of equally many ranks: copies per box need some")
    if not target_ranks.size:
        raise ValueError(f"{tokens} tokens with {top_k} choices: there is nothing to send")
    least, most = target_ranks.min(), target_ranks.max()
    if not -1 <= least <= most < ranks:
        raise ValueError(f"a token goes to rank {most}, or {least}: ranks are 0 to {ranks - 1}, -1 is none")
    sent: Counter[tuple[int, tuple[int, ...]]] = Counter()  # from a rank to some ranks of one box
    if copies == "per box":
        for rank, row in enumerate(target_ranks.tolist()):
            for chosen in row:
                for _, receivers in groupby(sorted({*chosen} - {DROPPED}), key=lambda r: r // in_box):
                    sent[rank, tuple(receivers)] += 1
    else:  # to each receiver alone
        rows = np.sort(target_ranks.reshape(ranks, -1, 1) if copies == "per expert" else target_ranks, axis=-1)
        pairs = (np.arange(ranks)[:, None, None] * ranks + rows)[np.diff(rows, axis=-1, prepend=DROPPED) != 0]
        for pair, count in zip(*np.unique(pairs, return_counts=True), strict=True):
            sent[int(pair) // ranks, (int(pair) % ranks,)] = int(count)
    source = np.array([rank for rank, _ in sent], dtype=np.intp)
    groups = [np.array(receivers) for _, receivers in sent]
    first = np.array([group[0] for group in groups], dtype=np.intp)
    target = np.where([len(group) > 1 for group in groups], ranks + np.arange(len(sent)), first)
    share = Fractions.of([Fraction(count, tokens * top_k) for count in sent.values()])
    relay = first // in_box * in_box + source % in_box
    across = np.flatnonzero(source // in_box != relay // in_box)
    inside = [(relay[block], r, block) for block, group in enumerate(groups) for r in group if r != relay[block]]
    steps = [Step.of(source[across], relay[across], across), Step.of(*np.array(inside, dtype=np.intp).reshape(-1, 3).T)]
    blocks = Blocks(ranks, share, source, target, tuple(groups))
    return Schedule.from_steps(blocks, [step for step in steps if len(step.src)])


def boxes_visited(target_ranks: IntArray, in_box: int) -> float:
    """How many boxes a token's experts are in, on average; its own box counts if one of them is there."""
    check_counts(in_box=in_box)
    boxes = range(target_ranks.max() // in_box + 1)
    return float(sum((target_ranks // in_box == box).any(axis=-1).mean() for box in boxes))

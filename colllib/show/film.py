"""A schedule as a film: what each rank shows after each step, and which messages led there, from its execution."""

from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import chain, product
from typing import Literal, NamedTuple

import numpy as np

from colllib.algorithms.trees import depths
from colllib.execution import Execution, trace
from colllib.show.pen import ARRIVED, FEW, FINAL, SPENT

MOST_CELLS = 16  # of a rank; more blocks are put together

State = dict[tuple[int, int], Counter[int]]


class Cell(NamedTuple):
    """A place that every rank has: the blocks that it stands for, and how many contributions fill it."""

    blocks: tuple[int, ...]
    slots: int


class Message(NamedTuple):
    """From node to node, in which tree, added or copied; its blocks; and what the reader sees of them.

    That is numbers of cells, or an amount.
    """

    src: int
    dst: int
    part: int
    add: bool
    blocks: tuple[int, ...]
    content: tuple[int, ...] | str


def amount(share: Fraction) -> str:
    """A share of the message M.

    >>> [amount(Fraction(v)) for v in ("1", "1/8", "3/8", "2", "0")]
    ['M', 'M/8', '3M/8', '2M', '0']
    """
    if not share:
        return "0"
    numerator = "M" if share.numerator == 1 else f"{share.numerator}M"
    return numerator if share.denominator == 1 else f"{numerator}/{share.denominator}"


class Film:
    """An execution under the name that the reader knows, looked at step by step.

    What a rank shows depends on the schedule. Usually there is a cell for each block, with a slot for each rank that
    contributes to it. A single block that is summed shows its contributions as cells of their own. An all-to-all has
    a cell for each destination, with a slot for each source. And where there are many blocks, those with one source and
    one target share a cell.

    >>> from colllib import execute
    >>> from colllib.algorithms import allreduce
    >>> film = Film("ring", execute(allreduce.ring(4)))
    >>> film.kind, film.steps, film.value(1, 1, 0), film.messages[1][0].content
    ('blocks', 6, 3, (0,))
    """

    def __init__(self, name: str, run: Execution) -> None:
        self.name, self.run, self.schedule = name, run, run.schedule
        self.blocks, self.steps = run.schedule.blocks, run.schedule.num_steps
        sources, targets = self.blocks.source.tolist(), self.blocks.target.tolist()
        #: For each block its source and its target.
        self.ends = list(zip(sources, targets, strict=True))
        #: For each block the ranks that have it, or contribute to it, before the first step, in order.
        self.sources = [sorted(self.blocks.holders(who).tolist()) for who in sources]
        #: For each block the ranks that must have it in the end.
        self.targets = [self.blocks.holders(who).tolist() for who in targets]

    @cached_property
    def kind(self) -> Literal["blocks", "contributions", "destinations", "groups"]:
        """What the cells of a rank stand for."""
        if len(self.ends) == self.schedule.ranks**2 and self.between_pairs:
            return "destinations"
        if len(self.blocks) == 1 and 1 < self.need(0) <= FEW:
            return "contributions"
        return "blocks" if len(self.blocks) <= MOST_CELLS else "groups"

    @cached_property
    def between_pairs(self) -> bool:
        """Whether each rank has something for each rank, as in an all-to-all."""
        return set(self.ends) == set(product(range(self.schedule.ranks), repeat=2))

    @cached_property
    def _required(self) -> list[tuple[int, int]]:
        """The (rank, block) that must be there in the end."""
        return [(rank, block) for block, ranks in enumerate(self.targets) for rank in ranks]

    def need(self, block: int) -> int:
        """How many contributions make a block complete."""
        return len(self.sources[block])

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        """What each rank has a place for."""
        ranks = self.schedule.ranks
        if self.kind == "contributions":
            return (Cell((0,), 1),) * ranks
        if self.kind == "destinations":
            by_source = sorted(range(len(self.ends)), key=self.ends.__getitem__)
            return tuple(Cell(tuple(by_source[target::ranks]), ranks) for target in range(ranks))
        groups: dict[tuple[int, int, int], list[int]] = {}
        for block, ends in enumerate(self.ends):
            groups.setdefault((*ends, block if self.kind == "blocks" else 0), []).append(block)
        return tuple(Cell(tuple(blocks), self.need(blocks[0])) for blocks in groups.values())

    # -- what a rank holds ------------------------------------------------------------------------

    @cached_property
    def states(self) -> tuple[State, ...]:
        """Before the first step and after every one, whose contributions each (node, block) holds."""
        return tuple(trace(self.schedule))

    @cached_property
    def useful(self) -> tuple[frozenset[tuple[int, int]], ...]:
        """For every state the (node, block) whose value is still sent, or must be there in the end."""
        useful = set(self._required)
        backwards = [frozenset(useful)]
        for sent in reversed(self._sent[1:]):
            useful -= {(dst, block) for _, dst, block, add in sent if not add}
            useful |= {(src, block) for src, _, block, _ in sent}
            backwards.append(frozenset(useful))
        return tuple(reversed(backwards))

    @cached_property
    def is_spent(self) -> bool:
        """Whether a rank ever holds what is no longer of use."""
        return any(not state.keys() <= useful for state, useful in zip(self.states, self.useful, strict=True))

    def value(self, t: int, node: int, cell: int) -> int:
        """The contributions in a cell after t steps: as bits, or their count where there are more than eight.

        Where a cell has several blocks, those that are of no more use are not in it. Of a group: how many of its blocks
        are, times (slots + 1), and the most contributions in one of them.
        """
        blocks, slots = self.cells[cell]
        state = self.states[t]
        if self.kind == "contributions":
            return int(cell in state.get((node, 0), ()))
        held = [block for block in blocks if state.get((node, block))]
        if self.kind != "blocks":
            held = [block for block in held if (node, block) in self.useful[t]]
        counts = [len(state[node, block]) for block in held]
        if self.kind == "groups":
            return len(held) * (slots + 1) + max(counts, default=0)
        if slots > FEW or slots == 1:
            return sum(counts)
        if self.kind == "destinations":
            return sum(1 << self.ends[block][0] for block in held)
        return sum(1 << self.sources[block].index(rank) for block in held for rank in state[node, block])

    def required(self, node: int, cell: int) -> bool:
        """Whether a node must hold a cell's blocks in the end."""
        return node in self.targets[self.cells[cell].blocks[0]]

    def marks(self, t: int, node: int, cell: int) -> int:
        """What there is to say of a cell after t steps: a sum of `FINAL`, `ARRIVED` and `SPENT`."""
        blocks = self.cells[cell].blocks
        if not self.value(t, node, cell):
            return 0
        final = self.required(node, cell) and all(self.complete(t, node, block) for block in blocks)
        spent = not any((node, block) in self.useful[t] for block in blocks)
        return FINAL * final + ARRIVED * self._arrived(t, node, cell) + SPENT * spent

    def _arrived(self, t: int, node: int, cell: int) -> bool:
        if self.kind == "contributions":
            senders = (src for src, dst, *_ in self._sent[t] if dst == node)
            return any(cell in self.states[t - 1][src, 0] for src in senders)
        blocks = self.cells[cell].blocks
        return any(dst == node and block in blocks for _, dst, block, _ in self._sent[t])

    def complete(self, t: int, node: int, block: int) -> bool:
        """Whether a node has all contributions to a block, each once."""
        contributions = self.states[t].get((node, block), Counter())
        return len(contributions) == contributions.total() == self.need(block)

    def done(self, t: int) -> tuple[int, int]:
        """Places that have their final value after t steps, and places that need one."""
        return sum(self.complete(t, *place) for place in self._required), len(self._required)

    @cached_property
    def switches(self) -> list[int]:
        """The switches that send or receive, and then the others."""
        ends = {node for messages in self.messages for message in messages for node in (message.src, message.dst)}
        return sorted(range(self.schedule.ranks, self.schedule.nodes), key=lambda node: (node not in ends, node))

    # -- messages ---------------------------------------------------------------------------------

    @cached_property
    def _sent(self) -> list[list[tuple[int, int, int, bool]]]:
        """For every state the (source, destination, block, whether it is added) that led to it."""
        steps = map(self.schedule.step, range(self.steps))
        return [[], *(list(zip(*(column.tolist() for column in step), strict=True)) for step in steps)]

    @cached_property
    def messages(self) -> tuple[tuple[Message, ...], ...]:
        """For every state the messages of the step that led to it."""
        return tuple(tuple(self._messages_of(t)) for t in range(self.steps + 1))

    def _messages_of(self, t: int) -> Iterable[Message]:
        bundles: dict[tuple[int, int, int, bool], list[int]] = {}
        for src, dst, block, add in self._sent[t]:
            bundles.setdefault((src, dst, self.part[block], add), []).append(block)
        for (src, dst, part, add), blocks in sorted(bundles.items()):
            yield Message(src, dst, part, add, tuple(sorted(blocks)), self._content(t, src, sorted(blocks)))

    def _content(self, t: int, src: int, blocks: list[int]) -> tuple[int, ...] | str:
        if self.kind == "contributions":
            return tuple(sorted(self.states[t - 1][src, 0]))
        if self.kind == "groups" or max(len(blocks), self.schedule.ranks) > FEW:
            return amount(self.share(blocks))
        if self.kind == "destinations":
            return tuple(self.ends[block][1] for block in blocks)
        return tuple(blocks)

    def share(self, blocks: Sequence[int]) -> Fraction:
        """How much of the message some blocks are."""
        return self.blocks.share.taken(np.array(blocks)).total()

    @cached_property
    def part(self) -> list[int]:
        """For each block in which of two trees it moves; 0 where there are not two."""
        trees = self.trees if len(self.trees) == 2 else []
        tree_of = {block: tree for tree, (_, blocks) in enumerate(trees) for block in blocks}
        return [tree_of.get(block, 0) for block in range(len(self.blocks))]

    # -- its shape --------------------------------------------------------------------------------

    @cached_property
    def trees(self) -> list[tuple[list[int], list[int]]]:
        """The trees along which blocks move, as arrays of parents, each with its blocks; none where it is no tree."""
        if self.run.topology.lattice is not None or self.schedule.switches:
            return []  # their places are given
        edges: list[set[tuple[int, int]]] = [set() for _ in range(len(self.blocks))]
        for src, dst, block, add in chain.from_iterable(self._sent):
            edges[block].add((src, dst) if add else (dst, src))
        trees: dict[tuple[int, ...], list[int]] = {}
        for block, pairs in enumerate(edges):
            parent = dict(pairs)
            parents = tuple(parent.get(node, -1) for node in range(self.schedule.nodes))
            try:
                depths(parents)
            except ValueError:
                return []
            if len(parent) < len(pairs):
                return []
            trees.setdefault(parents, []).append(block)
        return [(list(parents), blocks) for parents, blocks in trees.items()]

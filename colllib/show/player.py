"""The players: any algorithm on a few ranks, step by step, its blocks sent from card to card.

A page gets the picture of every algorithm on every offer once, as markup, and for each step what
changes in it, as data; ``static/player.js`` moves the blocks and fills the cells.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

from colllib.cost import Tier
from colllib.execution import execute
from colllib.schedule import Schedule
from colllib.show.control import Control, Part, counted
from colllib.show.explorer import Explorer
from colllib.show.film import Film, Message, amount
from colllib.show.pen import ARRIVED, FINAL, NARROW, SPENT, WIDE, Drawing, legend_of
from colllib.show.stage import AXES, Stage, node_name, pair_of
from colllib.show.theme import code, escape
from colllib.topology import Topology
from colllib.units import several

if TYPE_CHECKING:
    from colllib.show.live import Live

MOST_LISTED = 24  # messages of a step that are listed in words
LOCK_STEP = "lock-step clock (a step begins when the one before is over)"
FABRICS = {"inc-star": "a star whose switch takes part", "inc-switch-tree": "a tree of switches that take part"}


def tier_name(tier: Tier) -> str:
    """What carries the bytes of a tier of boxes, or of groups of them; cables that share their load are one."""
    return {"uplink": "uplinks of a box", "uplink 2": "uplinks of a group"}.get(tier.name, tier.name)


@dataclass(frozen=True)
class Entry:
    """What a player offers: how it is called, how it is built on a topology, and whether it can be."""

    text: str
    build: Callable[[Topology], Schedule]
    fits: Callable[[Topology], bool]


# -- what a page shows ----------------------------------------------------------------------------


class Show:
    """A film on its two stages, with the words that go with every step."""

    def __init__(self, film: Film) -> None:
        self.film = film
        self.stages = tuple(Stage(film, width) for width in (WIDE, NARROW))

    def picture(self, t: int) -> str:
        """The cards after t steps, with what has just been sent, in both widths."""
        return f'<div class="cl-scene">{"".join(stage.svg(t) for stage in self.stages)}</div>'

    def frame(self, t: int) -> str:
        """The same as data, for the picture of the state after any step."""
        messages, pairs = self.film.messages[t], list(self.stages[0].tracks)
        cells = [
            16 * self.film.value(t, card.node, cell) + self.film.marks(t, card.node, cell)
            for card in self.stages[0].cards
            for cell in card.cells
        ]
        moves = [(pairs.index(pair_of(one)), int(one.add), self.stages[0].kind(one)) for one in messages]
        tokens = [stage.tokens[t] for stage in self.stages]
        return json.dumps({"t": t, "cells": cells, "moves": moves, "tokens": tokens}, separators=(",", ":"))

    def sentence(self, t: int) -> str:
        """The step in a sentence, for the live region."""
        film = self.film
        ready, required = film.done(t)
        blocks = sum(len(message.blocks) for message in film.messages[t])
        last = f"step {t} of {film.steps} moved {several(blocks, 'block')}" if t else "nothing has moved yet"
        final = f"{several(required, 'place')} {'has its' if required == 1 else 'have their'} final value"
        return f"{film.name} on {film.schedule.ranks} ranks: {last}; {ready} of {final}."

    def costs(self, t: int) -> str:
        """What the first t steps cost, in words and in symbols, and the messages of the last."""
        counts = self._tiers(t) if self.film.run.cost.levels > 1 else self._counts(t)
        return f"<p>{counts}</p>{self._links(t)}{self._listed(t)}"

    def _counts(self, t: int) -> str:
        run = self.film.run
        paid, total = run.cost_of(range(t)), run.cost
        wires = run.topology.lattice or run.topology.switches > 1
        way = "over the fullest link" if wires else "through the fullest port"
        return (
            f"<b>{t} of {several(self.film.steps, 'step')}</b>. Bytes so far, {way} of each step, added up: "
            f"<b>{amount(Fraction(paid.n_beta))}</b> of {amount(Fraction(total.n_beta))}. "
            f"<small>In symbols: <i>n</i><sub>α</sub> = {paid.n_alpha} of {total.n_alpha}, "
            f"<i>n</i><sub>β</sub> = {paid.n_beta} of {total.n_beta}</small>"
        )

    def _tiers(self, t: int) -> str:
        run, tiers = self.film.run, self.film.run.topology.tiers
        load, steps = [Fraction(0)] * len(tiers), [0] * len(tiers)
        for kind in run.kinds(range(t)):
            steps[max(k for k, hops in enumerate(kind.hops) if hops)] += kind.steps
            load = [so_far + kind.steps * more for so_far, more in zip(load, kind.loads, strict=True)]
        over = [f"{count} by {tier_name(tier)}" for tier, count in zip(tiers, steps, strict=True) if count]
        if steps[0]:
            over[0] = f"{steps[0]} inside"
        carried = ", ".join(f"{tier_name(tier)} <b>{amount(most)}</b>" for tier, most in zip(tiers, load, strict=True))
        rest = f": {', '.join(over)}. Bytes so far, over the fullest of each step, added up: {carried}." if t else "."
        return f"<b>{t} of {several(self.film.steps, 'step')}</b>{rest}"

    def _links(self, t: int) -> str:
        """On a lattice: how many links work."""
        run = self.film.run
        if run.topology.switches or not run.topology.lattice or not t:
            return ""
        busy = sum(load > 0 for load in run.link_load(t - 1))
        use = sum(sum(run.link_load(k), Fraction(0)) for k in range(t))
        share = use / Fraction(run.cost_of(range(t)).n_beta) / run.topology.num_links
        return (
            f"<p>This step uses {busy} of {run.topology.num_links} links. So far the average link has worked "
            f"{float(share):.0%} of the time that bytes take.</p>"
        )

    def _listed(self, t: int) -> str:
        """The messages of a step in words; where there are many, those that are alike counted together."""
        film, messages = self.film, self.film.messages[t]

        def in_words(message: Message) -> str:
            what = [str(b) for b in message.blocks]
            if film.between_pairs:  # from where to where
                what = [f"{source}→{target}" for source, target in dict.fromkeys(film.ends[b] for b in message.blocks)]
            elif film.kind == "groups":
                what = [str(message.content)]
            return f"{node_name(film, message.src)}→{node_name(film, message.dst)}: {' '.join(what)}"

        sentences = []
        for add, verb in ((True, "Added"), (False, "Copied")):
            chosen = [message for message in messages if message.add == add]
            if not chosen:
                continue
            listed = [in_words(message) for message in chosen]
            if len(messages) > MOST_LISTED:
                counts = Counter(message.content for message in chosen)
                listed = [f"{count} times {size}" for size, count in counts.items()]
            between = "node to node" if film.schedule.switches else "rank to rank"
            sentences.append(f"{verb}, from {between}: {'; '.join(listed)}.")
        text = " ".join(sentences) or "Nothing has moved yet."
        return f'<details class="cl-moves"><summary>Messages of step {t}</summary><p>{text}</p></details>'

    def legend(self, step: int | None = None) -> str:
        """What cells and arrows mean, as far as this film uses them, and what its costs are of; or for the state after
        one of its steps."""
        film = self.film
        words = {
            "blocks": "A tile is a rank, a cell a block of the vector"
            + ("; its strip has a slot for each rank's contribution." if self._summed else "."),
            "contributions": "A tile is a rank; a cell is one rank's contribution to the sum.",
            "destinations": "A tile is a rank; a cell has the blocks for the rank that it names, with a slot for each "
            "rank that they come from.",
            "groups": "A tile is a rank, a cell a block, or all that go from one rank to one other."
            if film.need(0) == 1
            else "A tile is a rank; the filling is as wide as the part of the vector that the rank still works "
            "on, and as high as the contributions that are in it.",
        }[film.kind]
        if film.schedule.switches:
            words = words.replace("A tile is a rank", "A tile is a rank, or a switch (S)")
        if step is None:
            kind = film.run.topology.name.partition(":")[0]
            words += f" Costs: {escape(f'{FABRICS.get(kind, kind)}, {film.run.topology.port_model}, {LOCK_STEP}')}."
        return f'{legend_of(self._swatches(step))}<p class="cl-hint">{words}</p>'

    @property
    def _summed(self) -> bool:
        return self.film.kind != "destinations" and self.film.need(0) > 1

    @property
    def _plain(self) -> bool:
        """Whether cells have no slots."""
        return self.film.kind in ("blocks", "contributions") and max(cell.slots for cell in self.film.cells) == 1

    def _states(self, step: int | None) -> Iterable[tuple[str, str]]:
        """What a block may be, or is somewhere after a step."""
        film, cells = self.film, [(card.node, cell) for card in self.stages[0].cards for cell in card.cells]
        held = [] if step is None else [film.marks(step, *cell) for cell in cells if film.value(step, *cell)]
        spent = film.is_spent if step is None else any(marks & SPENT for marks in held)
        if self._summed and film.kind == "blocks" and (step is None or 0 in held):
            yield "partial", "partial"
        if step is None or any(marks & FINAL for marks in held):
            yield "final", "final"
        arrived = [marks for marks in held if marks & ARRIVED]
        if step is None or arrived:
            final = all(marks & FINAL for marks in arrived)
            if step is None:
                final = not self._summed and all(film.required(*cell) for cell in cells)
            yield "new final" if self._plain and final else "new", "just arrived"
        if spent and film.kind in ("blocks", "contributions"):
            yield "spent", "not needed any more"

    def _swatches(self, step: int | None) -> list[tuple[str, str]]:
        """Names of swatches with what they stand for."""
        film = self.film
        items = [(f"{'whole' if self._plain else 'block'} {state}", words) for state, words in self._states(step)]
        messages = [one for some in (film.messages if step is None else [film.messages[step]]) for one in some]
        sent, tints = {one.add for one in messages}, {self.stages[0].tints.get(pair_of(one)) for one in messages}
        arrows = ((True, "arrow add", "added"), (False, "arrow copy", "copied"))
        items += [(arrow, word) for add, arrow, word in arrows if add in sent]
        tiers = {tint for tint in self.stages[0].tints.values() if tint[0] == "t" and tint != "t0"}
        names = {f"t{tier.level}": tier_name(tier) for tier in film.run.topology.tiers[::-1]}
        items += [(f"arrow {tint}", f"by {names[tint]}") for tint in sorted(tiers)]
        if film.run.topology.lattice is not None and not film.run.topology.switches:
            axes = zip("XYZ", AXES, film.run.topology.lattice.dims, strict=False)
            items += [(f"patch {hue}", f"along {axis}") for axis, hue, _ in axes if step is None or hue in tints]
        return items


@dataclass(frozen=True, repr=False)
class Player(Explorer):
    """An explorer whose picture moves.

    With a kernel every part is drawn anew for every state, in a page only what changes.
    """

    picture: Callable[..., str] = str

    @cached_property
    def live(self) -> Live:
        """The ipywidgets form, whose picture is drawn anew in every state."""
        every_control = tuple(control.name for control in self.controls)
        first, *others = self.parts
        drawn_anew = Part(self.picture, first.label, depends_on=every_control)
        return Explorer(self.title, self.controls, [drawn_anew, *others], self.summary, self.play).live

    @cached_property
    def _html(self) -> str:
        return f"{super()._html}<script>{code('player')}</script>"


def player(
    title: str,
    offered: Mapping[str, Entry],
    place: Control,
    build: Callable[[Any], Topology],
    few: Sequence[str],
    start: tuple[str, Hashable] | None = None,
    proved: bool = True,
) -> Player:
    """A player of some entries on some topologies.

    Args:
        offered: what can be played, by name; `few` of it at first.
        place: the control that chooses a topology.
        build: the topology from the control's value.
        start: name and place that are shown first (default: the first of each).
        proved: whether every end state must be right.

    Raises:
        ValueError: for a name or a place that is not on offer.
    """
    texts = place.choices({})
    places = {key: build(key) for key in texts}
    fit = {name: [key for key, topology in places.items() if entry.fits(topology)] for name, entry in offered.items()}
    first, first_place = start or (None, None)

    @cache
    def show(name: str, key: Hashable) -> Show:
        schedule = offered[name].build(places[key])
        return Show(Film(offered[name].text, execute(schedule, places[key], proved=proved)))

    def shown(**state: Any) -> Show:
        return show(state["algorithm"], state[place.name])

    named = {name: entry.text for name, entry in offered.items() if fit[name]}
    scene, each_step = ("algorithm", place.name), ("algorithm", place.name, "step")
    controls = [
        *_algorithms(named, few, first),
        replace(place, values=lambda algorithm: {key: texts[key] for key in fit[algorithm]}, start=first_place),
        Control("step", "Steps done", lambda **state: counted(shown(**state).film.steps), 1, depends_on=scene),
    ]

    def words(step: int, **state: Any) -> str:
        played = shown(**state)
        return f'<div data-frame="{escape(played.frame(step))}">{played.costs(step)}</div>'

    return Player(
        title,
        controls,
        [
            Part(lambda **state: shown(**state).picture(1), "Ranks, what they hold and what moves", depends_on=scene),
            Part(words, "Costs so far", depends_on=each_step),
            Part(lambda **state: shown(**state).legend(), "How to read it", depends_on=scene),
        ],
        Part(lambda step, **state: shown(**state).sentence(step), depends_on=each_step),
        "step",
        picture=lambda step, **state: shown(**state).picture(step),
    )


def _algorithms(named: Mapping[str, str], few: Sequence[str], start: str | None) -> list[Control]:
    """The choice of an algorithm; and before it, if more than a few fit, the choice between the few and all."""
    basic = {name: named[name] for name in few if name in named}
    if start is not None and start in named:
        basic[start] = named[start]
    if len(basic) == len(named):
        return [Control("algorithm", "Algorithm", basic, start, "select")]
    offers = {"few": "the basic ones" if len(basic) > 1 else "the basic one", "all": f"all {len(named)}"}
    return [
        Control("offer", "Algorithms", offers, "few", "select"),
        Control("algorithm", "Algorithm", lambda offer: basic if offer == "few" else named, start, "select"),
    ]


def still(schedule: Schedule, step: int, topology: Topology | None = None, *, title: str) -> Drawing:
    """One moment of a player as a drawing: what each rank holds after so many steps, and what the last one moved.

    The topology is a star if none is given.

    Raises:
        ValueError: for a step that the schedule has not.

    >>> from colllib.algorithms import allgather
    >>> still(allgather.ring(4), 1, title="Everyone passes on its own shard")
    After step 1 of 3 on 4 ranks: step 1 of 3 moved 4 blocks; 8 of 16 places have their final value. \
Rank 0 holds 0; 3. Rank 1 holds 0; 1. Rank 2 holds 1; 2. Rank 3 holds 2; 3.
    """
    if not 0 <= step <= schedule.num_steps:
        raise ValueError(f"step {step}: must be from 0, before the first, to {schedule.num_steps}")
    show = Show(Film("", execute(schedule, topology)))
    cards = [card for card in show.stages[0].cards if card.node < schedule.ranks]
    holdings = " ".join(f"Rank {card.node} holds {show.stages[0].described(card, step)}." for card in cards)
    sentence = show.sentence(step).partition(":")[2]
    alt = f"After step {step} of {show.film.steps} on {schedule.ranks} ranks:{sentence} {holdings}"
    return Drawing(show.picture(step) + show.legend(step), alt, title)

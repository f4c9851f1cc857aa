"""Where cards stand and ways lead: nothing overlaps, arrows join the right cards and pass no other."""

from __future__ import annotations

import json
import re
from functools import cache
from itertools import combinations
from math import hypot

import numpy as np
import pytest

from colllib.algorithms import allreduce, broadcast, pointtopoint
from colllib.execution import execute
from colllib.show.film import Film
from colllib.show.geometry import Box, between, bow, jump, lane
from colllib.show.pen import NARROW, WIDE, token
from colllib.show.player import Show
from colllib.show.players import ADDING_IN_BOXES, variants
from colllib.show.stage import Stage, pair_of
from colllib.topology import boxes, mesh, star, torus
from colllib.topology.expression import find

CELL = re.compile(r'<g class="c h\d([^"]*)"><rect [^>]*/><path [^>]*stroke-dasharray="([^"]*)"')
PLACES = [
    *map(star, (2, 3, 5, 8)),
    torus((2, 2, 2)),
    torus((3, 3)),
    torus((4, 4)),
    mesh((4, 3)),
    boxes((2, 2)),
    boxes((2, 4)),
    boxes((2, 2, 2)),
    find("inc-star:4"),
    find("inc-switch-tree:8x4"),
]
PRIMITIVES = ("all-reduce", "broadcast", "all-gather", "all-to-all")
PLAYED = [
    pytest.param(entry, topology, id=f"{primitive}-{name}-{topology.name}")
    for topology in PLACES
    for primitive in PRIMITIVES
    for name, entry in variants(primitive).items()
    if ("," not in name or name.startswith("chain")) and entry.fits(topology)
]

PLAYED += [
    pytest.param(variants("all-reduce")[name], boxes(size, inc="both"), id=f"{name}-{size}")
    for name in ADDING_IN_BOXES
    for size in ((2, 2), (2, 4), (3, 2))
]


@cache
def stages(entry, topology):
    film = Film(entry.text, execute(entry.build(topology), topology))
    return [Stage(film, width) for width in (WIDE, NARROW)]


def away(point, box):
    """How far a point is outside of a box."""
    return hypot(
        max(0, abs(point[0] - box.x) - box.width / 2),
        max(0, abs(point[1] - box.y) - box.height / 2),
    )


@pytest.mark.parametrize(("entry", "topology"), PLAYED)
def test_cards_do_not_overlap_and_ways_join_the_cards_of_their_ends(entry, topology):
    for stage in stages(entry, topology):
        for one, other in combinations(stage.cards, 2):
            assert not one.box.meets(other.box)
        card = {(card.node, card.part): card.box for card in stage.cards}
        for (src, dst, part), track in stage.tracks.items():
            assert away(track.points[0], card[src, part]) < 25
            assert away(track.points[-1], card[dst, part]) < 25
        pairs = {pair_of(message) for messages in stage.film.messages for message in messages}
        assert pairs <= set(stage.tracks)


def has_links_for(stage):
    """Whether every message goes along one link, where a picture shows the links."""
    topology = stage.film.run.topology
    links = set(zip(topology.link_src.tolist(), topology.link_dst.tolist(), strict=True))
    return topology.switches > 0 or topology.lattice is None or {pair[:2] for pair in stage.tracks} <= links


@pytest.mark.parametrize(("entry", "topology"), PLAYED)
def test_no_way_passes_through_a_card(entry, topology):
    for stage in filter(has_links_for, stages(entry, topology)):
        for track in stage.tracks.values():
            points = [track.at(share / 100) for share in range(5, 96, 5)]
            assert min(away(point, card.box) for point in points for card in stage.cards) > 0


@pytest.mark.parametrize(("entry", "topology"), PLAYED)
def test_what_messages_say_covers_neither_cards_nor_other_messages(entry, topology):
    for stage in stages(entry, topology):
        for t in range(1, stage.film.steps + 1) if stage.says != "dot" else ():
            messages = stage.film.messages[t]
            labels = [
                Box(*stage.tracks[pair_of(message)].at(rest / 100), *token(content)[1:])
                for message, (rest, content) in zip(messages, stage.tokens[t], strict=True)
            ]
            assert not any(label.meets(card.box) for label in labels for card in stage.cards)
            assert not any(one.meets(other) for one, other in combinations(labels, 2))
            for message, (rest, _) in zip(messages, stage.tokens[t], strict=True):
                track = stage.tracks[pair_of(message)]  # a browser may round to either side of where one jumps
                assert hypot(*np.subtract(track.at((rest - 0.5) / 100), track.at((rest + 0.5) / 100))) < 10


@pytest.mark.parametrize("n", [2, 4, 8])
@pytest.mark.parametrize("name", ["ring", "binomial-tree", "double-binary-tree", "recursive-doubling"])
def test_the_usual_pictures_have_room_to_name_every_block(n, name):
    wide, _ = stages(variants("all-reduce")[name], star(n))
    assert wide.says == "all"


@pytest.mark.parametrize("entry", [variants("all-reduce")["ring"], variants("all-gather")["bruck"]])
def test_in_a_column_no_way_ends_where_another_begins_and_what_messages_say_stands_apart(entry):
    stage = stages(entry, star(6))[1]
    assert stage.side
    ends = {(round(x), round(y)) for track in stage.tracks.values() for x, y in track.points[-1:]}
    assert not ends & {(round(x), round(y)) for track in stage.tracks.values() for x, y in track.points[:1]}
    for messages, tokens in zip(stage.film.messages, stage.tokens, strict=True):
        labels = [
            Box(*stage.tracks[pair_of(message)].at(rest / 100), *token(content)[1:])
            for message, (rest, content) in zip(messages, tokens, strict=True)
        ]
        for one, other in combinations(labels, 2):
            assert abs(one.y - other.y) > one.height or abs(one.x - other.x) > one.width + 4


def test_trees_are_drawn_as_trees_and_a_chain_as_a_row():
    for stage in stages(variants("broadcast")["binomial-tree"], star(8)):
        ((parents, _),) = stage.film.trees
        y = [card.box.y for card in stage.cards]
        assert all(y[rank] > y[above] for rank, above in enumerate(parents) if above >= 0)
    wide, _ = stages(variants("broadcast")["chain"], star(6))
    assert len({card.box.y for card in wide.cards}) == 1
    for stage in stages(variants("all-reduce")["double-binary-tree"], star(8)):
        assert [card.part for card in stage.cards] == [0] * 8 + [1] * 8


@pytest.mark.parametrize("sizes", [(2, 2), (2, 4), (4, 2), (2, 2, 2)])
def test_ranks_stand_in_the_box_that_they_are_in(sizes):
    topology = boxes(sizes)
    for stage in stages(variants("all-reduce")["hierarchical"], topology):
        inner = [frame for frame, tier in stage.frames if tier == 0]
        assert len(inner) == topology.ranks // sizes[-1]
        for card in stage.cards:
            inside = [k for k, frame in enumerate(inner) if away((card.box.x, card.box.y), frame) == 0]
            assert inside == [card.node // sizes[-1]]
        for (src, dst, _), tint in stage.tints.items():
            assert (tint == "t0") == (src // sizes[-1] == dst // sizes[-1])


def test_on_a_torus_every_link_has_a_way_in_the_direction_of_its_axis():
    for stage in stages(variants("all-reduce")["dim-ring"], torus((4, 3))):
        topology = stage.film.run.topology
        assert {pair[:2] for pair in stage.tracks} == set(
            zip(topology.link_src.tolist(), topology.link_dst.tolist(), strict=True)
        )
        for (src, dst, part), track in stage.tracks.items():
            (x, y), (u, v) = track.points[:2]
            up = (dst - src) % 4 == 1 and src // 4 == dst // 4, (dst - src) % 12 == 4 and src % 4 == dst % 4
            assert (u > x, v < y) == up
            assert stage.tints[src, dst, part] == ("h0" if abs(u - x) > abs(v - y) else "h1")


def test_two_trees_that_do_not_fit_are_refused_in_one_line():
    with pytest.raises(ValueError, match="two trees of 40 ranks do not fit into 640 px: draw fewer ranks"):
        Show(Film("", execute(allreduce.double_binary_tree(40))))


def test_a_point_on_a_way_is_where_its_share_of_the_length_ends():
    straight = bow((0, 0), (30, 40))
    assert (straight.length, straight.at(0.5)) == (50, (15, 20))
    around = jump([(0, 0), (10, 0)], [(90, 0), (100, 0)])
    assert (around.length, around.at(0.25), around.at(0.75)) == (20, (5, 0), (95, 0))
    bent = bow((0, 0), (100, 0), 20)
    assert bent.at(0.5) == pytest.approx((50, -20))  # to the left of who goes to the right
    a, b = Box(0, 0, 20, 20), Box(100, 0, 20, 20)
    assert lane(a, b, 5).points[0][1] == 5
    assert between(a, b, 8).at(0.5)[1] < 0 < between(b, a, 8).at(0.5)[1]


def test_the_data_of_a_frame_are_what_the_picture_of_its_state_shows():
    """The script draws from them what Python draws where there is a kernel."""
    show = Show(Film("ring", execute(allreduce.ring(4))))
    for t in range(show.film.steps + 1):
        frame = json.loads(show.frame(t))
        cells = re.findall(
            r'<g class="c h\d([^"]*)"><rect [^>]*/><path [^>]*stroke-dasharray="([^"]*)"', show.picture(t)
        )
        assert len(cells) == 2 * len(frame["cells"])
        for (looks, dashes), code in zip(cells, [*frame["cells"]] * 2, strict=True):
            value, marks = divmod(code, 16)
            assert [dash == ".8 .2" for dash in re.findall(r"\.8 \.2|0 1", dashes)] == [
                bool(value >> k & 1) for k in range(4)
            ]
            assert [f" {word}" in looks for word in "pfmx"] == [
                bool(v) for v in (value, marks & 2, marks & 4, marks & 8)
            ]
        assert len(frame["moves"]) == len(show.film.messages[t])


def test_one_message_between_two_ranks_is_one_way_with_its_block():
    show = Show(Film("direct", execute(pointtopoint.direct(2))))
    assert list(show.stages[0].tracks) == [(0, 1, 0)]
    assert json.loads(show.frame(1))["tokens"][0][0][1] == [0]
    chain = Show(Film("chain", execute(broadcast.chain(3))))
    assert [len(json.loads(chain.frame(t))["moves"]) for t in range(3)] == [0, 1, 1]

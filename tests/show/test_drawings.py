"""Drawings against the schedule or the topology that they show, read back from the markup."""

from __future__ import annotations

import html
import re
from collections import Counter
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
import reference
from show_browser import opened, write_page
from show_svg import disks, pictures

from colllib.algorithms import allgather, allreduce, broadcast, reduce
from colllib.execution import ScheduleError, execute
from colllib.primitives import PRIMITIVES
from colllib.schedule import Schedule, Step
from colllib.show.drawings import (
    an_instance,
    before_after,
    butterfly,
    dispatches,
    network,
    primitives,
    products,
    tree,
    two_trees,
    walk,
    wiring,
)
from colllib.show.drawings import star as draw_star
from colllib.show.film import amount
from colllib.show.geometry import Box
from colllib.show.pen import ARRIVED, FINAL, HELD, NARROW, SPENT, WIDE, Pen, cell_classes, extent, in_a_row
from colllib.topology import boxes, fat_tree, leaf_spine, line, ring, star, torus
from colllib.topology.expression import find
from colllib.training import experts
from colllib.training.tensor_states import Graph, Node

X, W, Y = Node("x", "td"), Node("w", "df"), Node("y", "tf", ("x", "w"), "einsum")
PRODUCT = Graph((X, W, Y, Node("z", "tf", ("y",), "relu")), {"t": 12, "d": 12, "f": 12})
ALL = [
    draw_star(star(8)),
    draw_star(star(4), execute(allgather.ring(4))),
    tree(broadcast.chain(8)),
    tree(broadcast.binomial_tree(16)),
    tree(allreduce.binomial_tree(8)),
    two_trees(allreduce.double_binary_tree(8)),
    two_trees(broadcast.two_tree(16)),
    butterfly(allreduce.recursive_doubling(16)),
    butterfly(allreduce.rabenseifner(16)),
    walk(allgather.bruck(12)),
    walk(allgather.pat(12)),
    primitives(),
    before_after(allreduce.ring(4)),
    network(boxes((2, 8), cards=1)),
    network(boxes((2, 2, 4), cards=2)),
    network(boxes((4, 4), rails=4)),
    network(leaf_spine(4, 4, 4)),
    network(fat_tree(4)),
    wiring(torus((4, 4, 4))),
    dispatches(boxes((2, 2)), experts.Routing(np.array([[[4, 5, 6]]] * 4), 8), experts.contiguous(8, 4)),
    products(PRODUCT, Y),
]


@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_a_star_has_a_port_and_two_links_for_each_rank(n):
    for svg in pictures(draw_star(star(n)).body):
        assert set(disks(svg)) == set(range(n))
        assert svg.count('<circle class="port"') == n
        assert svg.count('<g class="a add') == 2 * n + 2  # and two at the port that is drawn larger


def test_the_links_of_a_star_say_what_a_step_puts_on_them():
    schedule = broadcast.binomial_tree(4)
    for t, step in enumerate(reference.messages(schedule), 1):
        for svg in pictures(draw_star(star(4), execute(schedule), t).body):
            assert svg.count(">M</text>") == 2 * len(step)  # up from the sender and down to the receiver
            assert svg.count('<path class="e"') == 8 - 2 * len(step)
    with pytest.raises(ValueError, match="ring:4 is no star"):
        draw_star(ring(4))
    with pytest.raises(ValueError, match=r"ring:4: only topologies with switches .*; others: `wiring`"):
        network(ring(4))


def test_a_star_refuses_a_run_on_other_links():
    """By its number alone the link of rank 2 to the switch of five would be drawn as another of the switch of four."""
    run = execute(broadcast.chain(5), star(5))
    with pytest.raises(ValueError, match="a run on star:5 does not fit star:4"):
        draw_star(star(4), run, 2)
    with pytest.raises(ValueError, match="a run on ring:4 does not fit star:4"):
        draw_star(star(4), execute(broadcast.chain(4), ring(4)))
    draw_star(star(5), execute(broadcast.chain(5), star(5, ports=2)))


@pytest.mark.parametrize(("half", "stranger"), [([7, 8], 7), ([5, 6], 6), ([-1], -1)])
def test_a_half_of_other_ranks_is_refused(half, stranger):
    with pytest.raises(ValueError, match=f"half: ring:6 has no rank {stranger}"):
        wiring(ring(6), half=half)


def test_the_links_of_a_star_are_as_thick_as_what_they_carry():
    to_one = Step.of([1, 2, 3], 0, 0, add=True)
    run = execute(Schedule.from_steps(reduce.binomial_tree(4).blocks, [to_one]))
    for svg in pictures(draw_star(star(4), run).body):
        widths = sorted(map(float, re.findall(r'style="stroke-width:([\d.]+)"', svg)))
        assert widths == pytest.approx([1.75, 1.75, 1.75, 5.25], abs=0.06)


@pytest.mark.parametrize("schedule", [broadcast.chain(6), broadcast.binomial_tree(13), reduce.binomial_tree(7)])
def test_a_tree_has_an_edge_for_each_pair_that_talks_with_the_steps_in_which_it_does(schedule):
    talks = Counter()
    for t, step in enumerate(reference.messages(schedule), 1):
        talks.update({(src, dst): t for src, dst, *_ in step})
    drawn = tree(schedule)
    edges = {frozenset((int(a), int(b))): int(t) for a, b, t in re.findall(r"(\d+)→(\d+) in (\d+)", drawn.alt)}
    assert edges == {frozenset(pair): t for pair, t in talks.items()}
    for svg in pictures(drawn.body):
        assert set(disks(svg)) == set(range(schedule.ranks))
        assert sorted(map(int, re.findall(r'<g class="g ">.*?>(\d+)</text>', svg))) == sorted(talks.values())


def test_labels_of_a_tree_that_is_used_up_and_down_do_not_touch():
    label = r'<rect x="(\S+)" y="(\S+)" width="(\S+)" height="(\S+)" rx="8"/><text[^>]*>↑'
    for svg in pictures(tree(allreduce.binomial_tree(8)).body):
        rooms = [tuple(map(float, match)) for match in re.findall(label, svg)]
        assert len(rooms) == 7
        for one, other in combinations(rooms, 2):
            assert abs(one[0] - other[0]) > one[2] or abs(one[1] - other[1]) > one[3]


@pytest.mark.parametrize("n", range(3, 17))
def test_of_the_double_tree_each_rank_is_inner_in_one_tree_at_most(n):
    schedule = allreduce.double_binary_tree(n)
    parents = {}
    for step in reference.messages(schedule):
        for src, dst, block, add in step:
            if add:
                parents[block, src] = dst
    inner = [{dst for (block, _), dst in parents.items() if block == half} for half in (0, 1)]
    assert len(inner[0] & inner[1]) <= n % 2
    for svg in pictures(two_trees(schedule).body):
        for half in (0, 1):
            filled = re.findall(rf'<g class="n i h{half}">.*?>(\d+)</text>', svg)
            assert sorted(map(int, filled)) == sorted(inner[half])


@pytest.mark.parametrize("n", [4, 7, 8, 13])
def test_edges_of_two_trees_are_dashed_where_they_take_turns_and_the_legend_says_in_which_steps(n):
    schedule = allreduce.double_binary_tree(n, segments=3)
    drawn = two_trees(schedule)
    assert "up in odd steps, down in even" in drawn.body
    down = {}
    for t, step in enumerate(reference.messages(schedule), 1):
        for src, dst, block, add in step:
            ends = (dst, src) if add else (src, dst)
            down.setdefault((*ends, block // 3), set()).add((t + add) % 2)
    assert all(len(turn) == 1 for turn in down.values())
    even = sum(turn == {0} for turn in down.values())
    for svg in pictures(drawn.body):
        assert svg.count('class="l copy"') == even
    assert "used in odd steps" in two_trees(broadcast.two_tree(n, segments=3)).body
    one_piece = two_trees(allreduce.double_binary_tree(8)).body
    assert "steps" not in one_piece
    assert "l copy" not in one_piece


def test_a_schedule_that_is_no_tree_is_refused_in_one_line():
    with pytest.raises(ValueError, match="along no trees: a drawing of one needs one"):
        tree(allreduce.recursive_doubling(4))
    with pytest.raises(ValueError, match="along 1 trees: a drawing of two needs two"):
        two_trees(broadcast.binomial_tree(4))


@pytest.mark.parametrize("schedule", [allreduce.recursive_doubling(8), allreduce.rabenseifner(8), allgather.bruck(6)])
def test_a_butterfly_has_a_line_for_each_message_and_follows_what_a_rank_has(schedule):
    lines = sum(len({(src, dst) for src, dst, *_ in step}) for step in reference.messages(schedule))
    reached, total = {0}, 1
    for step in reference.messages(schedule):
        reached |= {dst for src, dst, *_ in step if src in reached}
        total += len(reached)
    for svg in pictures(butterfly(schedule).body):
        assert len(re.findall(r'<path class="l(?: on)?" stroke-width', svg)) == lines
        assert svg.count('<circle class="dot on"') == total


@pytest.mark.parametrize("n", [4, 7, 12])
@pytest.mark.parametrize("build", [allgather.ring, allgather.bruck, allgather.pat])
def test_a_walk_reaches_every_rank_once(build, n):
    schedule = build(n)
    drawn = walk(schedule)
    hops = [(int(a), int(b)) for a, b in re.findall(r"(\d+) to (\d+)[,;.]", drawn.alt)]
    assert sorted(b for _, b in hops) == list(range(1, n))
    assert all(a in {0, *(b for _, b in hops[:k])} for k, (a, _) in enumerate(hops))
    blocks = [max(Counter(src for src, *_ in step).values()) for step in reference.messages(schedule)]
    assert drawn.alt.endswith(f"Blocks in a message: {', '.join(map(str, blocks))}.")
    assert all(svg.count('<circle class="dot on"') == n for svg in pictures(drawn.body))


@pytest.mark.parametrize("name", sorted(set(PRIMITIVES) - {"all-to-all"}))
@pytest.mark.parametrize("n", [2, 4, 6])
def test_before_and_after_are_filled_as_the_second_interpreter_finds(name, n):
    schedule = an_instance(name, n)
    first, *_, last = reference.states(schedule)
    cells_of_all = sum(len(schedule.blocks.holders(int(who))) for who in schedule.blocks.target)
    for svg in pictures(before_after(schedule).body):
        cells = re.findall(r'<g class="c h\d([^"]*)">', svg)
        half = len(cells) // 2
        assert sum(" p" in look for look in cells[:half]) == len({at for at, holders in first.items() if holders})
        assert sum(" f" in look for look in cells[half:]) == cells_of_all
    assert last


@pytest.mark.parametrize("name", PRIMITIVES)
@pytest.mark.parametrize("n", [2, 4, 6])
def test_stripes_have_the_colors_of_those_whose_numbers_the_second_interpreter_finds(name, n):
    schedule = an_instance(name, n)
    first, *_, last = reference.states(schedule)
    ends = list(zip(schedule.blocks.source.tolist(), schedule.blocks.target.tolist(), strict=True))
    for svg in pictures(before_after(schedule, colors="contributor").body):
        cells = re.findall(r'<g class="c([^"]*)">(.*?)</g>', svg)
        assert len(cells) == 2 * n * n
        for place, (look, body) in enumerate(cells):
            after, rank, k = place // n**2, place // n % n, place % n
            block = k if name != "all-to-all" else ends.index((k, rank) if after else (rank, k))
            holders = (first, last)[after].get((rank, block), {})
            assert list(map(int, re.findall(r" h(\d)", look + body))) == sorted(holders)
            asked = rank in schedule.blocks.holders(ends[block][1])
            assert (" x" in look) == (after == 1 and bool(holders) and not asked)
            number = re.findall(r">(\d)</text>", body)
            assert number == ([str(ends[block][1] if name == "all-to-all" else k)] if holders else [])


def test_a_schedule_that_does_not_do_what_it_should_is_refused():
    chain = broadcast.chain(3)
    with pytest.raises(ScheduleError, match="never receives"):
        before_after(Schedule(chain.blocks, 1, chain.step))


def test_the_seven_primitives_have_a_thumbnail_and_a_sentence_each():
    drawn = primitives(4)
    assert re.findall(r"<figcaption>(.*?)</figcaption>", drawn.body) == list(PRIMITIVES)
    assert all(f"{name}: Before" in drawn.alt for name in PRIMITIVES)
    assert drawn.body.count('<g class="c') == len(PRIMITIVES) * 2 * 4 * 4
    thumbnails = re.findall(r"<figcaption>(.*?)</.*?>(.*?)</figure>", drawn.body)
    colors = {name: re.findall(r" h(\d)", body) for name, body in thumbnails}
    rows = [color for color in "0123" for _ in range(4)]
    assert colors["all-to-all"] == rows + list("0123") * 4
    assert colors["reduce-scatter"] == rows + list("0123") * 4
    assert colors["all-gather"] == list("0123") * 5


@pytest.mark.parametrize(
    "topology",
    [boxes((2, 4)), boxes((2, 8), cards=2), boxes((2, 2, 2)), boxes((4, 4), rails=4), leaf_spine(4, 2, 2), fat_tree(4)],
)
def test_a_network_has_every_rank_switch_and_link(topology):
    pairs = {frozenset(ends) for ends in zip(topology.link_src.tolist(), topology.link_dst.tolist(), strict=True)}
    drawn = network(topology)
    for svg in pictures(drawn.body):
        names = set(map(int, re.findall(r">(\d+)</text>", svg)))
        assert names == set(range(topology.ranks))
        assert svg.count('<g class="s">') == topology.switches
        assert len(re.findall(r'<path class="l t\d"', svg)) == len(pairs)
    counted = re.findall(
        r"(\d+) ([a-z]+(?: \d)?)(?:, each (\S+) (?:BW|× ([a-z]+)))?[;.]", drawn.alt.partition("Links: ")[2]
    )
    assert sum(int(count) for count, *_ in counted) == len(pairs)
    bandwidth = {tier.name: tier.bandwidth for tier in topology.tiers}
    for _, name, times, of in counted:
        assert bandwidth[name] == Fraction(times or 1) * bandwidth.get(of, 1)
    assert len(counted) == len(bandwidth)


def test_links_of_boxes_are_as_wide_as_so_many_cards_and_those_of_one_speed_have_it_in_bw():
    assert "16 box; 16 card; 2 uplink, each 8 × card." in network(boxes((2, 8))).alt
    assert "16 card; 4 uplink, each 4 × card." in network(boxes((4, 4), rails=4)).alt
    assert "8 uplink, each 1 BW." in network(leaf_spine(4, 2, 2)).alt


@pytest.mark.parametrize(
    "name",
    ["boxes:4x4,rails=4", "boxes:2x8,rails=4", "boxes:2x4,rails=2,apart=true", "boxes:2x2x4,rails=4", "boxes:2x4"],
)
def test_no_switch_of_a_network_lies_over_another_or_over_a_rank(name):
    for svg in pictures(network(find(name)).body):
        bars = re.findall(r'<g class="s"><rect x="(\S+)" y="(\S+)" width="(\S+)" height="24"', svg)
        places = [tuple(map(float, bar)) for bar in bars]
        assert len(places) == find(name).switches
        for k, (x, y, width) in enumerate(places):
            assert width > 0
            for u, v, other in places[:k]:
                assert x + width <= u or u + other <= x or abs(y - v) >= 24


@pytest.mark.parametrize(
    "drawn", [network(leaf_spine(4, 4, 2)), network(boxes((2, 4), inc="both")), wiring(torus((4, 3))), wiring(line(4))]
)
def test_an_alternative_text_says_in_words_what_is_drawn(drawn):
    assert not re.search(r"[a-z]:\d|=", drawn.alt)
    assert drawn.alt[0].isupper() or drawn.alt[0].isdigit()


@pytest.mark.parametrize("choice", [[4, 5, 6], [0, 1, 7], [0, 2, 4], [6, 7, 5], [8, 10, 11]])
def test_a_token_travels_as_often_as_a_plain_count_of_its_choices_says(choice):
    """Twelve experts on two boxes of three; box, rank and expert are counted from the numbers alone."""
    drawn = dispatches(boxes((2, 3)), experts.Routing(np.array([[choice]] * 6), 12), experts.contiguous(12, 6))
    hosts = [expert // 2 for expert in choice]
    away = [host for host in hosts if host >= 3]
    relay = {3} if away else set()
    handed = set(away) - relay
    straight = Counter(host for host in hosts if host != 0)
    inside = {host for host in straight if host < 3}
    arrows = [sum(straight.values()), len(straight), len(relay) + len(handed) + len(inside)]
    crossing = [Fraction(len(away), 3), Fraction(len(set(away)), 3), Fraction(len(relay), 3)]
    for picture in pictures(drawn.body):
        assert picture.count('<g class="a add') == sum(arrows)
        assert re.findall(r">([^<]*) crosses<", picture) == [amount(share) for share in crossing]


def test_a_dispatch_is_drawn_between_two_boxes_for_one_token_on_each_rank():
    routing = experts.Routing(np.zeros((4, 2, 1), dtype=int), 4)
    with pytest.raises(ValueError, match="draws one, on two boxes"):
        dispatches(boxes((2, 2)), routing, experts.contiguous(4, 4))
    with pytest.raises(ValueError, match="draws one, on two boxes"):
        dispatches(star(4), experts.Routing(routing.chosen[:, :1], 4), experts.contiguous(4, 4))


def test_too_many_ranks_are_refused_in_one_line():
    with pytest.raises(ValueError, match="up to 16 ranks"):
        network(boxes((4, 8)))
    with pytest.raises(ValueError, match="only topologies with switches"):
        network(torus((2, 2)))


def test_a_picture_has_room_for_all_that_is_put_into_it_and_two_pixels_around():
    pen = Pen(300)
    for box in (Box(-50, 10, 20, 4), Box(100, -30, 10, 6), Box(0, 0, 0, 0)):
        pen.put("", box)
    assert f'viewBox="-62 -35 {60 + 105 + 4} {33 + 12 + 4}"' in pen.svg()


@pytest.mark.parametrize("marks", [part for size in range(4) for part in combinations((FINAL, ARRIVED, SPENT), size)])
def test_each_mark_of_a_block_is_a_class_of_its_own(marks):
    classes = "".join(word for mark, word in ((FINAL, " f"), (ARRIVED, " m"), (SPENT, " x")) if mark in marks)
    assert cell_classes(0, HELD + sum(marks)) == classes


@pytest.mark.parametrize(("width", "rows"), [(784, 1), (390, 2)])
def test_pictures_stand_side_by_side_where_they_have_room(width, rows, tmp_path, with_chromium):
    both = in_a_row(wiring(ring(8), title="First " * 12), wiring(ring(8), title="Second"))
    with opened(write_page(tmp_path, both), viewport={"width": width, "height": 900}) as (tab, _):
        tops = tab.evaluate("[...document.querySelectorAll('[role=img]')].map((el) => el.getBoundingClientRect().top)")
    assert len(tops) == 2
    assert len(set(tops)) == rows


def test_the_box_of_a_switch_is_wider_than_its_name():
    pen = Pen(300)
    pen.switch(0, 0, "spine 17")
    (box,) = re.findall(r'<rect [^>]*width="([\d.]+)"', pen.svg())
    assert float(box) > extent("spine 17")


@pytest.mark.parametrize("drawn", ALL, ids=lambda drawn: drawn.alt[:40])
def test_every_drawing_fits_a_page_and_a_phone_and_says_what_it_shows(drawn):
    label = html.unescape(re.search('role="img" aria-label="([^"]*)"', drawn._repr_html_())[1])
    assert drawn.title in label
    assert drawn.alt in label
    for svg in pictures(drawn.body):
        width = float(re.search(r' width="([\d.]+)"', svg)[1])
        assert width <= (WIDE if "cl-wide" in svg else NARROW)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 900])
def test_type_can_be_read_in_both_themes_on_a_phone_and_on_a_page(theme, width, tmp_path, with_chromium):
    """No text under 11 px, none over the border, and at least 4.5 to 1 on the ground that it stands on."""
    with opened(write_page(tmp_path, *ALL, theme=theme), viewport={"width": width, "height": 900}) as (tab, _):
        texts = tab.evaluate(
            """() => {
              const parts = (color) => color.match(/[\\d.]+/g).map((v) => v / (color.startsWith("rgb") ? 255 : 1));
              const lum = (color) => {
                const [r, g, b] = color.map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
                return 0.2126 * r + 0.7152 * g + 0.0722 * b;
              };
              const ratio = (a, b) => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
              const probe = document.createElement("i");
              probe.style.color = "var(--cl-bg)";
              const shown = (t) => t.getBoundingClientRect().width && getComputedStyle(t).visibility === "visible";
              return [...document.querySelectorAll("svg.cl-pen text")].filter(shown).map((t) => {
                const style = getComputedStyle(t);
                const ground = t.parentNode.querySelector(":scope > circle, :scope > rect");
                t.closest(".colllib").append(probe);
                const page = parts(getComputedStyle(probe).color);
                const inside = t.parentNode.matches("g") && ground;
                const { fill, opacity } = inside ? getComputedStyle(ground) : { fill: "none" };
                const under = fill === "none" ? page : parts(fill).map((v, k) => opacity * v + (1 - opacity) * page[k]);
                return [t.textContent, parseFloat(style.fontSize), ratio(lum(parts(style.fill)), lum(under)),
                  t.getBoundingClientRect().right];
              });
            }"""
        )
        assert len(texts) > 300
        assert [row for row in texts if row[1] < 11] == []
        assert [row for row in texts if row[2] < 4.5] == []
        assert [row for row in texts if row[3] > width] == []


def test_lines_are_as_thick_as_their_messages_or_loads_are_large(tmp_path, with_chromium):
    """Also under the style sheet: Rabenseifner's messages are 1/2, 1/4, 1/8 of M and back again."""
    loads = wiring(line(4), width={(0, 1): 0.5, (1, 2): 1.0, (2, 3): 0.25})
    page = write_page(tmp_path, butterfly(allreduce.rabenseifner(8)), loads)
    with opened(page, viewport={"width": 900, "height": 900}) as (tab, _):
        one, other = tab.evaluate(
            """() => [...document.querySelectorAll(".cl-wide")].map((svg) => [...svg.querySelectorAll(".l")]
              .map((l) => parseFloat(getComputedStyle(l).strokeWidth)))"""
        )
    sizes = [Fraction(1, 2), Fraction(1, 4), Fraction(1, 8)]
    thick = [1 + 3.5 * float(size) for size in sizes + sizes[::-1]]
    assert [one[8 * t] for t in range(6)] == pytest.approx(thick, abs=0.06)
    assert other == [4, 7, 2.5]


def test_a_product_has_seven_whole_matrices_six_cut_ones_and_five_sums():
    """R R R; a cut of rows, of columns, and of the inner dimension, whose product is a sum; and a sum times R."""
    for picture in pictures(products(PRODUCT, Y).body):
        assert picture.count(">0, 1</text>") == 3 + 1 + 1 + 1 + 1
        assert picture.count(">0+1</text>") == 1 + 2 + 2
        assert [picture.count(f">{rank}</text>") for rank in (0, 1)] == [2 + 2 + 2] * 2


def test_a_drawn_product_is_one_of_two_matrices():
    with pytest.raises(ValueError, match="z is no product of two matrices"):
        products(PRODUCT, PRODUCT.nodes[3])

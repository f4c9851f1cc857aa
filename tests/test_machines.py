"""Machines: the links and bandwidths that their makers state, counted by hand from data sheets."""

import networkx as nx
import pytest
from forest_fabrics import speeds_of

from colllib.topology import find


@pytest.mark.parametrize(
    ("name", "inside", "outside"), [("dgx-a100", 300, 25), ("dgx-h100", 450, 50), ("nvl72", 900, 50)]
)
def test_every_gpu_of_a_box_has_its_port_and_its_card(name, inside, outside):
    topology = find(f"{name}:2")
    sent = [
        sorted(speed for (a, _), speed in speeds_of(topology).items() if a == rank) for rank in (0, topology.ranks - 1)
    ]
    assert sent == [[outside, inside]] * 2
    assert set(speeds_of(find(f"{name}:1")).values()) == {inside}


def test_every_mi250_die_has_seven_links_to_three_or_four_others():
    speeds = speeds_of(find("mi250:1"))
    wired = nx.DiGraph()
    wired.add_weighted_edges_from((a, b, speed) for (a, b), speed in speeds.items())
    assert {wired.out_degree(die, weight="weight") for die in range(16)} == {350}
    assert {wired.out_degree(die) for die in range(16)} == {3, 4}
    assert all(speeds[b, a] == speed for (a, b), speed in speeds.items())
    assert nx.is_strongly_connected(wired)
    assert all(speeds[2 * package, 2 * package + 1] == 200 for package in range(8))


def test_two_mi250_boxes_meet_at_one_switch_and_half_of_each_is_a_machine_too():
    whole, half = speeds_of(find("mi250:2")), speeds_of(find("mi250-8x2"))
    assert sum(speed for (a, b), speed in whole.items() if b == 32 and a < 16) == 256
    place = {rank: rank if rank < 8 else rank + 8 for rank in range(16)} | {16: 32}
    kept = {(place[a], place[b]): speed for (a, b), speed in half.items()}
    assert kept == {link: speed for link, speed in whole.items() if set(link) <= set(place.values())}


@pytest.mark.parametrize(("name", "says"), [("mi250:0", "mi250:0: must be at least 1"), ("nvl72:x", "nvl72:2")])
def test_a_machine_of_no_boxes_is_refused_in_one_line(name, says):
    with pytest.raises(ValueError, match=r"^[^\n]+$") as refusal:
        find(name)
    assert says in str(refusal.value)

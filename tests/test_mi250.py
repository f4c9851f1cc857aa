"""MI250 boxes: the links of their dies, counted by what their maker states of a die and of a package."""

import networkx as nx
import pytest
from forest_fabrics import speeds_of

from colllib.topology.expression import find


def test_every_die_has_seven_links_to_three_or_four_others():
    speeds = speeds_of(find("mi250:1"))
    wired = nx.DiGraph()
    wired.add_weighted_edges_from((a, b, speed) for (a, b), speed in speeds.items())
    assert {wired.out_degree(die, weight="weight") for die in range(16)} == {350}
    assert {wired.out_degree(die) for die in range(16)} == {3, 4}
    assert all(speeds[b, a] == speed for (a, b), speed in speeds.items())
    assert nx.is_strongly_connected(wired)
    assert all(speeds[2 * package, 2 * package + 1] == 200 for package in range(8))


def test_two_boxes_meet_at_one_switch_and_half_of_each_is_a_machine_too():
    both, half = speeds_of(find("mi250:2")), speeds_of(find("mi250-8x2"))
    assert sum(speed for (a, b), speed in both.items() if b == 32 and a < 16) == 256
    place = {rank: rank if rank < 8 else rank + 8 for rank in range(16)} | {16: 32}
    mapped = {(place[a], place[b]): speed for (a, b), speed in half.items()}
    assert mapped == {link: speed for link, speed in both.items() if set(link) <= set(place.values())}


@pytest.mark.parametrize(
    ("name", "says"),
    [("mi250:0", "mi250:0: must be at least 1"), ("mi250:2,dies=4", "dies = 4: all 16"), ("mi250:x", "as in mi250:2")],
)
def test_other_boxes_are_refused_in_one_line(name, says):
    with pytest.raises(ValueError, match=r"^[^\n]+$") as refusal:
        find(name)
    assert says in str(refusal.value)

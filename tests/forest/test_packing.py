"""Packing asks for no flow whose answer is known, and says beforehand about how long it takes."""

from time import process_time

import pytest
from forest_fabrics import balanced
from hypothesis import given, settings

from colllib.forest import forest, packing, splitting, trees
from colllib.topology.expression import find


@settings(max_examples=40, deadline=None)
@given(topology=balanced(most_ranks=6))
def test_no_tree_could_take_a_link_into_a_full_set_that_it_is_in(topology):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(packing, "Growth", _Asking)
        forest(topology, way="general")


class _Asking(packing.Growth):
    """Asks for the flow as well."""

    def most(self, batch, start, end):
        found, known = super().most(batch, start, end), self.full
        self.full = []
        assert super().most(batch, start, end) == found
        self.full = known
        return found


def test_what_the_general_way_takes_is_known_within_a_factor_of_three(monkeypatch):
    """On a machine of any speed: there is one by which all fabrics take what is expected of them."""
    least, most = [], []
    for name in ("dgx-h100:4", "mi250:2", "torus:8x8", "fat-tree:4", "nvl72:1"):
        expected = []
        for module in (trees, splitting):
            monkeypatch.setattr(module, "check_seconds", lambda _, seconds, __, to=expected: to.append(seconds))
        since = process_time()
        forest(find(name), way="general")
        took = process_time() - since
        least.append(max(expected) / took)
        most.append(sum(expected) / took)
    assert max(least) / 3 < 3 * min(most)
    assert min(most) > 1 / 20  # no machine is so slow, or so fast
    assert max(least) < 20

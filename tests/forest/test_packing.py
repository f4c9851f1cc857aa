"""Packing asks for no flow whose answer is known."""

import pytest
from forest_fabrics import balanced
from hypothesis import given, settings

from colllib.forest import forest, packing


@settings(max_examples=40, deadline=None)
@given(topology=balanced(most_ranks=6))
def test_no_tree_could_take_a_link_into_a_full_set_that_it_is_in(topology):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(packing, "Growth", _Asking)
        forest(topology, way="general")


class _Asking(packing.Growth):
    """Asks for the flow as well."""

    def most(self, batch, start, end):
        amount, known = super().most(batch, start, end), self.full
        self.full = []
        assert super().most(batch, start, end) == amount
        self.full = known
        return amount

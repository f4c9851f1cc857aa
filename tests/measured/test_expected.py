"""What a machine allows a collective: the parts of it that a figure by hand tells."""

from __future__ import annotations

import pytest

from colllib.measured.expected import LINK_SHARE, PAIR_SHARE, expected
from colllib.measured.machines import find


@pytest.mark.parametrize(
    ("gpus", "collective", "links"),
    [(4, "sendrecv", 1), (4, "all-to-all", 1), (4, "all-gather", 3), (3, "all-gather", 2), (2, "all-reduce", 1)],
)
def test_on_a_board_of_four_without_a_switch_a_third_of_the_links_leads_to_each_other_gpu(gpus, collective, links):
    board = find(f"dgx-a100:1,gpus={gpus}")
    share = PAIR_SHARE if collective in ("sendrecv", "all-to-all") else LINK_SHARE
    assert expected(board, collective).low == pytest.approx(share * board.link * links / 3)

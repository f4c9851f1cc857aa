"""The explorers of the primitives and of the bounds: their numbers against executions."""

from __future__ import annotations

import reference
from shown import rows

from colllib.algorithms import find, identities, of
from colllib.bounds import bytes_in_fewest_steps, lower_bound
from colllib.execution import execute
from colllib.primitives import PRIMITIVES
from colllib.show import bounds_explorer, primitive_explorer
from colllib.show.bounds_explorer import SEGMENTS, entries
from colllib.show.primitive_explorer import MESSAGE, an_instance


def test_an_instance_is_the_primitive_from_that_root():
    for name, primitive in PRIMITIVES.items():
        for n in (2, 3, 5):
            for root in range(n):
                schedule = an_instance(name, n, root)
                assert primitive.accepts(schedule.blocks)
                assert reference.holds(schedule)
    assert an_instance("broadcast", 5, 3).blocks.source.tolist() == [3] * 5
    assert set(MESSAGE) == set(PRIMITIVES)


def test_the_identities_shown_have_the_costs_of_the_second_count():
    explorer = primitive_explorer()
    for name in PRIMITIVES:
        table = rows(explorer.render(2, {"primitive": name, "n": 5, "root": 0}))
        counted = [(i.text, *map(str, reference.star_cost(i.build(5, 0)))) for i in identities.of(name)]
        assert [tuple(row) for row in table] == counted


def test_the_bounds_shown_and_said_are_the_bounds():
    explorer = primitive_explorer()
    state = {"primitive": "all-reduce", "n": 6, "root": 0}
    assert rows(explorer.render(3, state))[0] == ["full-duplex", "3", "1", "5/3"]
    assert rows(explorer.render(3, state))[1] == ["one way at a time", "3", "2", "10/3"]
    assert "<i>n</i><sub>α</sub> = 3, <i>n</i><sub>β</sub> = 5/3." in explorer.render(4, state)


def test_only_rooted_primitives_offer_a_root():
    explorer = primitive_explorer()
    assert explorer.choices(2, {"primitive": "reduce", "n": 3}) == {0: "0", 1: "1", 2: "2"}
    assert explorer.choices(2, {"primitive": "all-gather", "n": 3}) == {0: "no root"}


def test_the_table_of_the_bounds_explorer_is_executed():
    explorer = bounds_explorer()
    state = {"primitive": "all-reduce", "n": 6, "ports": "one"}
    table = {row[0]: row[2:] for row in rows(explorer.render(1, state)) if not row[1]}
    bound = lower_bound("all-reduce", 6)
    assert table["lower bounds"][0] == str(bound.n_alpha)
    for algorithm in of("all-reduce"):
        if not algorithm.segmented:
            schedule = algorithm.build(6)
            steps, load = reference.star_cost(schedule)
            at_once = max(execute(schedule).partners())
            over = f"{steps / bound.n_alpha:.2f}" if at_once == 1 else f"{at_once} at once"
            assert table[algorithm.label] == [str(steps), over, str(load), f"{float(load / bound.n_beta):.2f}"]
    assert table["shortest way ring"][1] == "2 at once"
    four = {name: cost for name, _, cost, _ in entries("all-reduce", 6, "four")}
    assert four["ring"].n_beta == find("all-reduce", "ring").cost(6).n_beta / 4


def test_every_state_of_the_bounds_explorer_can_be_shown():
    assert len(bounds_explorer().payload) < 1_900_000


def test_pipelined_algorithms_stand_there_with_every_p():
    assert [p for name, p, _, _ in entries("broadcast", 4, "one") if name == "chain"] == list(SEGMENTS)


def test_what_is_read_out_says_who_attains_what():
    explorer = bounds_explorer()
    summary = explorer.render(3, {"primitive": "all-reduce", "n": 16, "ports": "one"})
    assert "nothing here attains both bounds of all-reduce" in summary
    assert "That on latencies is met by recursive doubling, that on bytes by ring" in summary
    assert f"4 steps cost <i>n</i><sub>β</sub> = {bytes_in_fewest_steps('all-reduce', 16)} at least" in summary
    summary = explorer.render(3, {"primitive": "broadcast", "n": 64, "ports": "four"})
    assert "That on latencies is met by nothing, that on bytes by nothing" in summary
    summary = explorer.render(3, {"primitive": "all-gather", "n": 16, "ports": "one"})
    assert "attain both bounds of all-gather" in summary
    summary = explorer.render(3, {"primitive": "all-reduce", "n": 12, "ports": "one"})
    assert "No schedule meets both" not in summary


def test_who_has_several_messages_at_a_port_at_once_attains_no_bound_on_steps():
    explorer = bounds_explorer()
    crowded = "In as few steps, but with several messages through a port at once: "
    summaries = {
        (primitive, n, ports): explorer.render(3, {"primitive": primitive, "n": n, "ports": ports})
        for primitive, n, ports in (
            ("all-reduce", 3, "one"),
            ("all-to-all", 3, "one"),
            ("all-to-all", 6, "one"),
            ("all-gather", 8, "one way"),
            ("broadcast", 8, "one way"),
        )
    }
    assert f"{crowded}double binary tree and shortest way ring." in summaries["all-reduce", 3, "one"]
    assert "nothing here attains both" in summaries["all-reduce", 3, "one"]
    assert (
        f"pairwise and Bruck attain both bounds of all-to-all. {crowded}ring relay."
        in summaries["all-to-all", 3, "one"]
    )
    assert "That on latencies is met by Bruck, that on bytes by pairwise" in summaries["all-to-all", 6, "one"]
    assert "That on latencies is met by nothing" in summaries["all-gather", 8, "one way"]
    assert f"{crowded}recursive doubling, Bruck and PAT." in summaries["all-gather", 8, "one way"]
    assert "That on latencies is met by binomial tree and circulant" in summaries["broadcast", 8, "one way"]
    for primitive in PRIMITIVES:
        for name, p, _, at_once in entries(primitive, 8, "one") if primitive != "point-to-point" else ():
            [algorithm] = [a for a in of(primitive) if a.label == name]
            schedule = algorithm.build(8, **({"segments": p} if algorithm.segmented else {}))
            assert at_once == max(execute(schedule).partners())

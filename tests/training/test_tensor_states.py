"""Plans: executed on shards against one device, and the integer program against trying all."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from colllib.training import tensor_states as ts
from colllib.training.pipelines import pipeline
from colllib.training.tensor_states import Graph, Machine, Node, training_step
from colllib.training.tensor_states.states import Way

BANDWIDTH = 450e9


def inputs(graph, seed=0):
    random = np.random.default_rng(seed)
    return {
        n.name: random.normal(size=[graph.sizes[letter] for letter in n.letters])
        for n in graph.nodes
        if n.kind == "input"
    }


def mlp(tokens, width, inner):
    nodes = (
        Node("x", "td"),
        Node("A", "df", keep=True),
        Node("h", "tf", ("x", "A"), "einsum"),
        Node("f", "tf", ("h",), "relu"),
        Node("B", "fd", keep=True),
        Node("y", "td", ("f", "B"), "einsum"),
    )
    return Graph(nodes, {"t": tokens, "d": width, "f": inner})


MESHES = st.sampled_from([(1,), (2,), (4,), (2, 2), (2, 4), (4, 2)])


@given(
    MESHES,
    st.sampled_from([None, 0]),
    st.randoms(use_true_random=False),
    st.sampled_from(["mlp", "step", "transformer", "training"]),
)
@settings(deadline=None, max_examples=40)
def test_any_plan_executed_on_shards_gives_what_one_device_gives(mesh, stages, random, which):
    graph = {
        "mlp": mlp(8, 4, 8),
        "step": ts.mlp_step(8, 4, 8),
        "transformer": ts.transformer_block(4, 4, 8, 4, 8),
        "training": training_step(ts.transformer_block(4, 4, 8, 4, 8)),
    }[which]
    machine = Machine(mesh, (BANDWIDTH,) * len(mesh), stages=stages)
    chosen = {}
    for node in graph.nodes:
        chosen[node.name] = random.choice(ts.ways(graph, node, mesh, stages))
    final = {
        name: tuple(state if state.isdigit() else "R" for state in way.output)
        for name, way in chosen.items()
        if name[0] in "yznd"
    }
    values = inputs(graph)
    results = ts.run(ts.Plan(graph, machine, chosen, final), values)
    expected = ts.unsharded(graph, values)
    for name, value in results.items():
        assert np.allclose(value, expected[name])


@given(
    st.sampled_from([(2,), (4,), (2, 2)]),
    st.sampled_from([2, 4, 64, 1024]),
    st.sampled_from([4, 64]),
    st.sampled_from([16, 256]),
    st.sampled_from([1.0, 0.5]),
)
@settings(deadline=None, max_examples=8)
def test_the_integer_program_finds_a_plan_as_cheap_as_the_best_of_all(mesh, tokens, width, inner, memory):
    graph = Graph(mlp(tokens, width, inner).nodes[:4], {"t": tokens, "d": width, "f": inner})
    machine = Machine(mesh, (50e9, BANDWIDTH)[-len(mesh) :], flops=1e12, memory=memory * width * inner)
    final = {"f": ("R",) * len(mesh)}
    program, best = (ts.cheapest(graph, machine, final=final, trying_all=every) for every in (False, True))
    assert program.seconds == pytest.approx(best.seconds, rel=1e-4)
    assert program.runs


def step_plan(tokens, memory=float("inf")):
    return ts.cheapest(ts.mlp_step(tokens, 1024, 4096), Machine((8,), (BANDWIDTH,), memory=memory))


def used(plan):
    return [(name, user, primitive) for name, user, _, primitive, _ in plan.communication]


def test_fewer_tokens_than_inner_width_make_it_megatrons_plan_and_more_make_it_data_parallel():
    few, many = step_plan(2048), step_plan(8192)
    assert (few.states["A"], few.states["B"], few.states["x"]) == (("f",), ("f",), ("R",))
    assert used(few) == [("sum", "y", "all-reduce"), ("dx by h", "dx", "all-reduce")]
    assert (many.states["A"], many.states["B"], many.states["x"]) == (("R",), ("R",), ("t",))
    assert used(many) == [("dA", "new A", "all-reduce"), ("dB", "new B", "all-reduce")]
    assert few.exposed / many.exposed == pytest.approx(2048 / 4096)


def test_without_room_for_copies_data_parallelism_becomes_fsdp():
    calls = used(step_plan(8192, memory=2 * 1024 * 4096 / 8))
    assert [(name, primitive) for name, _, primitive in calls if name in "AB"] == [
        ("A", "all-gather"), ("B", "all-gather"), ("B", "all-gather"), ("A", "all-gather"),
    ]  # fmt: skip
    assert [primitive for name, _, primitive in calls if name in ("dA", "dB")] == ["reduce-scatter"] * 2


def test_a_transformer_block_gets_tensor_and_sequence_parallelism_in_the_box_and_data_parallelism_across():
    width = 4096
    graph = ts.transformer_block(8, 2048, width, 32, 4 * width)
    machine = Machine((4, 8), (50e9, BANDWIDTH), memory=12 * width**2 / 8)
    plan = ts.cheapest(graph, machine)
    assert plan.states["x"] == plan.states["y"] == plan.states["norm 2"] == ("b", "s")
    assert {plan.states[name] for name in ("Wq", "Wk", "Wv", "Wo")} == {("R", "h")}
    assert {plan.states[name] for name in "AB"} == {("R", "f")}
    assert used(plan) == [
        ("norm 1", "into", "all-gather"),
        ("attention", "sum", "reduce-scatter"),
        ("norm 2", "inner", "all-gather"),
        ("mlp", "z", "reduce-scatter"),
    ]


BLOCK = training_step(ts.transformer_block(1, 2048, 4096, 32, 4 * 4096))


def block_plan(room):
    """A box of eight, with room for an eighth of the parameters and so many numbers of activations."""
    return ts.cheapest(BLOCK, Machine((8,), (BANDWIDTH,), memory=12 * 4096**2 / 8, activations=room))


def test_a_training_step_of_a_block_is_megatrons_with_sequence_parallelism_and_attention_is_computed_again_first():
    ample, less, least = (block_plan(room) for room in (float("inf"), 30e6, 10e6))
    for plan in (ample, less, least):
        assert {plan.states[name] for name in ("x", "z", "dx", "dz")} == {("s",)}
        assert {plan.states[name] for name in ("Wq", "Wk", "Wv", "Wo")} == {("h",)}
        assert {plan.states[name] for name in "AB"} == {("f",)}
    assert [kind for name in less.again if (kind := BLOCK.by_name[name].kind) != "rename"] == ["einsum", "softmax"]
    assert {"scores", "softmax"} <= set(less.again)
    assert ("norm 1", "into again", "all-gather") in used(least)
    assert ample.seconds < less.seconds < least.seconds


@pytest.mark.parametrize("room", [1, 2, 4, 6])
def test_a_step_that_computes_activations_again_gives_what_one_device_gives(room):
    graph = training_step(ts.transformer_block(4, 4, 8, 4, 8))
    machine = Machine((4,), (BANDWIDTH,), activations=graph.numbers("bsd") / 4 * room)
    plan = ts.cheapest(graph, machine, final={"new A": ("R",), "dx": ("R",)})
    assert plan.runs
    assert plan.again
    values = inputs(graph)
    results, expected = ts.run(plan, values), ts.unsharded(graph, values)
    assert all(np.allclose(value, expected[name]) for name, value in results.items())


@pytest.mark.parametrize("room", [1.5, 3.0])
def test_with_little_room_for_activations_the_program_is_as_cheap_as_the_best_of_all(room):
    nodes = (Node("x", "td"), Node("f", "td", ("x",), "relu"), Node("y", "td", ("f",), "norm", "d"))  # fmt: skip
    graph = training_step(Graph(nodes, {"t": 8, "d": 8}))
    machine = Machine((2,), (1e12,), activations=32 * room)
    program, best = (ts.cheapest(graph, machine, trying_all=every) for every in (False, True))
    assert program.seconds == pytest.approx(best.seconds, rel=1e-6)
    assert program.runs


def squares():
    """y = (x A)^2 + (x A)^2, with a parameter that nothing needs."""
    nodes = (
        Node("x", "td"),
        Node("A", "df", keep=True),
        Node("idle", "f", keep=True),
        Node("h", "tf", ("x", "A"), "einsum"),
        Node("square", "tf", ("h", "h"), "einsum"),
        Node("y", "tf", ("square", "square"), "add"),
    )
    return training_step(Graph(nodes, {"t": 4, "d": 2, "f": 2}))


def test_an_input_that_the_output_does_not_need_gets_no_gradient():
    nodes = (Node("x", "td"), Node("A", "td", keep=True), Node("y", "td", ("A",), "relu"))
    graph = training_step(Graph(nodes, {"t": 4, "d": 2}))
    assert graph.same == {"new A": "A", "y": "x", "dy": "x"}
    assert "dx" not in graph.by_name


def test_a_tensor_that_an_operation_uses_twice_is_right_on_shards_too():
    graph = squares()
    graph = Graph(graph.nodes, graph.sizes, {"new A": "A"})
    final = {"y": ("t",), "new A": ("R",), "dx": ("t",)}
    plan = ts.cheapest(graph, Machine((2,), (BANDWIDTH,)), given={"x": ("t",), "A": ("R",)}, final=final)
    values = inputs(graph)
    results, whole = ts.run(plan, values), ts.unsharded(graph, values)
    assert all(np.allclose(results[name], whole[name]) for name in final)


@pytest.mark.parametrize(
    "make", [lambda: ts.mlp_step(3, 2, 4), lambda: training_step(ts.transformer_block(2, 2, 4, 2, 4)), squares]
)
def test_the_backward_pass_is_the_slope_of_the_forward_pass(make):
    graph = make()
    values = inputs(graph)
    results = ts.unsharded(graph, values)
    last = next(name for name, first in graph.same.items() if name[0] in "yz")
    random = np.random.default_rng(1)
    for node in (n for n in graph.nodes if n.kind == "input" and not n.backward and n.name != "idle"):
        way = random.normal(size=values[node.name].shape)
        ends = [ts.unsharded(graph, values | {node.name: values[node.name] + h * way})[last] for h in (-1e-6, 1e-6)]
        slope = float(((ends[1] - ends[0]) * values[f"d{last}"]).sum()) / 2e-6
        gradient = results[f"new {node.name}"] - values[node.name] if node.keep else results[f"d{node.name}"]
        assert float((gradient * way).sum()) == pytest.approx(slope, rel=1e-5, abs=1e-6)


def layers(inner, tokens=64, width=8):
    """A training step of as many layers as there are inner widths."""
    nodes, last = [Node("x", "td")], "x"
    for k, letter in enumerate("abcdefgh"[: len(inner)]):
        nodes += [
            Node(f"A{k}", f"w{letter}", keep=True), Node(f"B{k}", f"{letter}w", keep=True),
            Node(f"h{k}", f"t{letter}", (last, f"A{k}"), "einsum"), Node(f"s{k}", "tw", (f"h{k}", f"B{k}"), "einsum"),
            Node(f"y{k}", "tw", (f"s{k}",), "rename"),
        ]  # fmt: skip
        last = f"y{k}"
    nodes[0] = Node("x", "tw")
    return training_step(Graph(tuple(nodes), {"t": tokens, "w": width, **dict(zip("abcdefgh", inner, strict=False))}))


@pytest.mark.parametrize(("stages", "microbatches"), [(2, 1), (2, 4), (4, 8)])
def test_stages_of_equal_layers_take_what_the_executed_1f1b_does(stages, microbatches):
    graph = layers((16,) * 4)
    machine = Machine((stages,), (1e30,), flops=1.0, touch=1e30, stages=0, microbatches=microbatches)
    plan = ts.cheapest(graph, machine)
    assert [plan.states[f"A{k}"][0] for k in range(4)] == [str(k * stages // 4) for k in range(4)]
    forward = 4 / stages * 2 * 2 * 64 * 8 * 16 / microbatches
    executed = pipeline("1f1b", stages, microbatches, forward=forward, backward=2 * forward)
    assert plan.seconds == pytest.approx(executed.seconds)


@pytest.mark.parametrize("microbatches", [1, 2, 8])
def test_one_microbatch_passes_all_stages_and_each_further_one_takes_what_the_busiest_stage_does(microbatches):
    """By hand: of widths 64, 8, 8 and 8 the first is the busiest stage; three products of matrices for each of two."""
    machine = Machine((2,), (1e30,), flops=1.0, touch=1e30, stages=0, microbatches=microbatches)
    wide, narrow = (3 * 2 * 2 * 64 * 8 * inner / microbatches for inner in (64, 24))
    plan = ts.cheapest(layers((64, 8, 8, 8)), machine)
    assert plan.seconds == pytest.approx(wide + narrow + (microbatches - 1) * wide)


def test_a_wide_layer_has_a_stage_to_itself_and_a_slow_network_prefers_stages_to_copies():
    graph = layers((64, 8, 8, 8))
    plan = ts.cheapest(graph, Machine((2,), (1e12,), flops=1e9, stages=0, microbatches=8))
    assert [plan.states[f"A{k}"][0] for k in range(4)] == ["0", "1", "1", "1"]
    sends = [name for name, _, _, primitive, _ in plan.communication if primitive == "point-to-point"]
    assert sends == ["s0", "dy0"]


def test_a_slow_network_prefers_stages_and_a_fast_one_cuts_the_layers():
    graph = layers((256,) * 4)
    for bandwidth, first in ((1e7, 0), (1e12, None)):
        plans = [ts.cheapest(graph, Machine((2,), (bandwidth,), 1e9, stages=s, microbatches=64)) for s in (0, None)]
        assert min(plans, key=lambda plan: plan.seconds).machine.stages == first


def test_a_pipeline_whose_activations_do_not_all_fit_gives_what_one_device_gives():
    graph = training_step(ts.transformer_block(4, 4, 8, 4, 8))
    room = graph.numbers("bsd") * 8
    machine = Machine((2,), (BANDWIDTH,), flops=1e9, stages=0, microbatches=4, activations=room)
    plan = ts.cheapest(graph, machine)
    assert plan.runs
    assert {state[0] for state in plan.states.values()} == {"0", "1"}
    values = inputs(graph)
    asked = ts.Plan(graph, machine, plan.ways, {n: plan.states[n] for n in ("z", "dx", "new A", "new Wq")})
    results, expected = ts.run(asked, values), ts.unsharded(graph, values)
    assert all(np.allclose(value, expected[name]) for name, value in results.items())


def test_with_stages_the_program_is_as_cheap_as_the_best_of_all():
    nodes = (Node("x", "td"), Node("A", "df", keep=True), Node("h", "tf", ("x", "A"), "einsum"), Node("f", "tf", ("h",),
             "relu"))  # fmt: skip
    graph = training_step(Graph(nodes, {"t": 8, "d": 8, "f": 16}))
    graph = Graph(graph.nodes, graph.sizes)
    machine = Machine((2,), (1e12,), flops=1e10, stages=0, microbatches=2, activations=200)
    program, best = (ts.cheapest(graph, machine, trying_all=every) for every in (False, True))
    assert program.seconds == pytest.approx(best.seconds, rel=1e-6)
    assert program.runs


def test_a_change_of_state_costs_what_the_primitive_does_by_itself():
    graph = Graph((Node("x", "ab"),), {"a": 8, "b": 8})
    machine = Machine((4,), (1.0,), width=1)
    for before, after, numbers in (("P", "R", 96), ("P", "a", 48), ("a", "R", 48), ("a", "b", 12), ("R", "a", 0)):
        assert machine.change(graph, "ab", (before,), (after,))[0] == numbers


def test_a_sum_over_two_axes_is_a_hierarchical_all_reduce_and_a_copy_on_one_axis_helps_to_sum_over_the_other():
    """By hand, for M numbers on 4 boxes of 8: what a rank sends in the box, and between boxes of an eighth."""
    graph, numbers = Graph((Node("x", "ab"), Node("y", "ab", ("x",), "rename")), {"a": 8, "b": 4}), 32
    machine = Machine((4, 8), (1.0, 9.0), width=1)
    between = 2 * 3 / 4 * numbers / 8
    for before, in_box in ((("P", "P"), 2), (("P", "R"), 1)):
        seconds, path = machine.change(graph, "ab", before, ("R", "R"))
        assert seconds == pytest.approx(in_box * 7 / 8 * numbers / 9 + between)
        assert [(axis, name) for axis, name, *_ in path] == [
            (1, "reduce-scatter" if in_box == 2 else "slice"), (0, "all-reduce"), (1, "all-gather"),
        ]  # fmt: skip
        chosen = {"x": Way((), ("a", "R")), "y": Way((before,), before)}
        values = inputs(graph)
        assert np.allclose(ts.run(ts.Plan(graph, machine, chosen, {"y": ("R", "R")}), values)["y"], values["x"])


@given(st.sampled_from([(2, 2), (4, 8), (3, 4), (2, 2, 3)]), st.lists(st.integers(1, 900), min_size=3, max_size=3))
@settings(deadline=None, max_examples=10)
def test_no_detour_over_a_third_state_costs_less(mesh, speeds):
    graph = Graph((Node("x", "ab"),), {"a": 24, "b": 16})
    machine = Machine(mesh, tuple(map(float, speeds[: len(mesh)])))
    states = {way.output for way in ts.ways(graph, graph.nodes[0], mesh)} | {("P",) * len(mesh)}
    cost = {pair: machine.change(graph, "ab", *pair)[0] for pair in product(states, repeat=2)}
    for before, after, over in product(states, repeat=3):
        assert cost[before, after] <= (cost[before, over] + cost[over, after]) * (1 + 1e-6)


def test_of_two_axes_that_swap_their_letters_one_gives_way_first():
    """A rank gathers 8 of 16 numbers, 4 of which it has, exchanges half of these 8, and keeps a half."""
    graph = Graph((Node("x", "ab"), Node("y", "ab", ("x",), "rename")), {"a": 4, "b": 4})
    machine, swapped = Machine((2, 2), (1.0, 1.0), width=1), ("b", "a")
    assert machine.change(graph, "ab", ("a", "b"), swapped)[0] == 4 + 4
    chosen = {"x": Way((), ("a", "b")), "y": Way((swapped,), swapped)}
    values = inputs(graph)
    results = ts.run(ts.Plan(graph, machine, chosen, {"y": swapped}), values)
    assert np.array_equal(results["y"], values["x"])


def test_an_input_that_is_partial_is_the_sum_of_what_its_ranks_hold():
    graph = Graph((Node("x", "ab"), Node("y", "ab", ("x",), "rename")), {"a": 4, "b": 4})
    chosen, values = {"x": Way((), ("P",)), "y": Way((("P",),), ("P",))}, inputs(graph)
    results = ts.run(ts.Plan(graph, Machine((2,), (1.0,)), chosen, {"y": ("R",)}), values)
    assert np.array_equal(results["y"], values["x"])


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (
            lambda: ts.cheapest(mlp(6, 4, 8), Machine((4,), (1.0,)), given={"x": ("t",)}),
            r"x \(t = 6, d = 4\) cannot be 't' on axis 0 of 4 ranks: it can be R, P, d",
        ),
        (
            lambda: ts.cheapest(mlp(8, 4, 8), Machine((4,), (1.0,)), given={"x": ("f",)}),
            "cannot be 'f' on axis 0 of 4 ranks: it can be R, P, t, d",
        ),
        (lambda: ts.cheapest(mlp(8, 4, 8), Machine((2, 2), (1.0, 1.0)), final={"y": ("R",)}), "has 2 axes"),
        (
            lambda: ts.cheapest(mlp(8, 4, 8), Machine((2,), (1.0,), memory=1)),
            "no plan .* states that are given with at most 1 numbers on a rank",
        ),
        (lambda: ts.cheapest(mlp(8, 4, 8), Machine((1,), (1.0,), memory=1), trying_all=True), "no plan on the mesh"),
        (
            lambda: Machine((4,), (1.0,)).change(mlp(6, 4, 8), "td", ("P",), ("t",)),
            r"\{'t': 6, 'd': 4\} on the mesh \(4,\) cannot come from \('P',\) to \('t',\)",
        ),
        (lambda: Graph((Node("x", "ab"),), {"a": 1}), "x has the dimension 'b', which has no size"),
        (lambda: Graph((Node("y", "a", ("x",), "rename"),), {"a": 1}), "y needs x, which is not made before it"),
        (lambda: Machine((2,), (1.0,), stages=1), r"stages on axis 1: the mesh \(2,\) has 1 axes"),
        (lambda: Machine((2,), (1.0,), microbatches=0), "microbatches 0: must be at least 1"),
        (
            lambda: ts.cheapest(mlp(8, 4, 8), Machine((2,), (1.0,), stages=0), given={"x": ("t",)}),
            "cannot be 't' on axis 0 of 2 ranks: it can be 0, 1",
        ),
        (lambda: Machine((2,), (1.0,), memory=float("nan")), "memory nan: must be more than 0"),
        (lambda: Machine((2,), (0.0,)), r"bandwidth \(0.0,\): must be more than 0"),
        (
            lambda: ts.cheapest(ts.mlp_step(8, 4, 8), Machine((2,), (1.0,), activations=1)),
            "no plan .* with at most 1 numbers of activations on a rank",
        ),
        (lambda: Machine((0,), (1.0,)), "each axis needs ranks and a bandwidth"),
        (lambda: Machine((2.5,), (1.0,)), "each axis needs ranks and a bandwidth"),
        (lambda: ts.mlp_step(8, 4, -4), "size of f -4: must be at least 1"),
        (lambda: ts.transformer_block(2, 4, 9, 2, 8), "2 heads of a width of 9: they must divide it"),
        (lambda: ts.cheapest(mlp(8, 4, 8), Machine((2,), (1.0,)), given={"q": ("R",)}), "no tensor 'q': there are x"),
        (
            lambda: ts.unsharded(mlp(8, 4, 8), {"x": np.ones((7, 4))}),
            r"x is \(7, 4\): must be an array of shape \(8, 4\)",
        ),
        (lambda: Graph((Node("x", "a"), Node("x", "a")), {"a": 1}), "x is made twice"),
        (lambda: Graph((Node("x", "A"),), {"A": 1}), "dimension 'A': must be a small letter"),
        (lambda: Node("y", "td", ("x",), "softmax"), "along '': must be one of 't', 'd'"),
        (lambda: Node("y", "td", ("x",), "norm back", "td"), "along 'td': must be one of 't', 'd'"),
        (lambda: Node("y", "td", ("x",), "relu", "d"), "along 'd': must be one of ''"),
        (
            lambda: ts.cheapest(mlp(8, 4, 8), Machine((2,), (1.0,)), given={"x": ("P",)}),
            "has the states that are given$",
        ),
        (lambda: Graph((Node("x", "aa"),), {"a": 2}), r"x \[aa\]: each dimension needs a letter of its own"),
        (
            lambda: Graph((Node("x", "a"), Node("y", "a", ("x",), "tan")), {"a": 1}),
            "y is a 'tan': must be one of input, einsum",
        ),
        (lambda: Node("y", "a", ("x", "x"), "mul"), r"a product of entries is an einsum of equal letters"),
        (lambda: Graph((Node("x", "a"), Node("y", "b", ("x",), "einsum")), {"a": 1, "b": 1}), "dimension 'b'"),
    ],
)
def test_bad_input_is_refused_in_one_line(call, says):
    with pytest.raises(ValueError, match=says):
        call()

"""The stages explorer: a pipeline schedule as a timeline, its bubble and what it holds."""

from __future__ import annotations

from functools import cache

from colllib.show.control import Control, Part, State
from colllib.show.explorer import Explorer
from colllib.show.figure import Chart
from colllib.show.gantt import gantt
from colllib.training.pipelines import compute, held, pipeline
from colllib.training.timeline import Step

NAMES = {
    ("gpipe", 1): "GPipe",
    ("1f1b", 1): "1F1B",
    ("interleaved", 2): "interleaved, 2 chunks",
    ("interleaved", 4): "interleaved, 4 chunks",
    ("zb-h1", 1): "ZB-H1",
}
ALL = ("name", "p", "rounds", "send")


@cache
def staged(name: tuple[str, int], p: int, rounds: int, send: float) -> Step:
    """The schedule with forward 1, backward 2, half of it for the weights, and `rounds` microbatches a stage."""
    return pipeline(name[0], p, p * rounds, chunks=name[1], send=send)


def stages_explorer() -> Explorer:
    """Schedule, stages, microbatches and the time of a message against the timeline of every stage.

    >>> stages_explorer()
    Explorer: Stages at work (Schedule, Stages p, Microbatches over p, A message, over a forward)
    """
    return Explorer(
        "Stages at work",
        [
            Control("name", "Schedule", NAMES, ("1f1b", 1), kind="select"),
            Control("p", "Stages p", (2, 4, 8), 4),
            Control("rounds", "Microbatches over p", (1, 2, 3, 4), 2, kind="number"),
            Control("send", "A message, over a forward", (0, 0.25, 1), 0, kind="number"),
        ],
        [Part(ALL, _timeline, "Every stage"), Part((), lambda _: _NOTE, fold="What is simulated here")],
        summary=Part(ALL, _summary),
        name="stages",
    )


_NOTE = (
    "<p>A stage's forward over one microbatch takes 1 s, its backward 2 s, half of it for the gradients of the "
    "weights. With chunks, a stage holds several parts of the model, and a pass over a part takes its share. Messages "
    "queue for the link between their two stages and keep no stage from computing.</p>"
)


def _step(state: State) -> Step:
    return staged(*(state[name] for name in ALL))


def _timeline(state: State) -> Chart:
    step = _step(state)
    title = f"{NAMES[state['name']]}: stages idle {100 * _idle(state):.1f} % of the step"
    return gantt(step, {f"stage {k}": compute(k) for k in range(state["p"])}, title=title)


def _idle(state: State) -> float:
    step = _step(state)
    idle = sum(step.idle(compute(k)) for k in range(state["p"]))
    return float(idle / state["p"] / step.seconds)


def _summary(state: State) -> str:
    kind, chunks = state["name"]
    most = held(kind, state["p"], 0, state["p"] * state["rounds"], chunks)
    return (
        f"{NAMES[state['name']]}, {state['p']} stages, {state['p'] * state['rounds']} microbatches: idle "
        f"{100 * _idle(state):.1f} %; the first stage holds the activations of {most:g} microbatches."
    )

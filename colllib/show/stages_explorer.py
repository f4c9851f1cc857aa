"""The stages explorer: a pipeline schedule as a timeline, its bubble and what it holds."""

from functools import cache

from colllib.show.control import Control, Part
from colllib.show.explorer import Explorer
from colllib.show.figure import Chart
from colllib.show.timelines import gantt
from colllib.training.pipelines import compute, held, pipeline
from colllib.training.timeline import Step

NAMES = {
    ("gpipe", 1): "GPipe",
    ("1f1b", 1): "1F1B",
    ("interleaved", 2): "interleaved, 2 chunks",
    ("interleaved", 4): "interleaved, 4 chunks",
    ("zb-h1", 1): "ZB-H1",
}


@cache
def staged(name: tuple[str, int], p: int, rounds: int, send: float) -> Step:
    """The schedule with forward 1, backward 2, half of it for the weights, and `rounds` microbatches a stage."""
    return pipeline(name[0], p, p * rounds, chunks=name[1], send=send)


def _rounds(p: int) -> dict[int, str]:
    """Microbatches, of which interleaving takes multiples of the stages."""
    return {rounds: str(p * rounds) for rounds in (1, 2, 3, 4, 6, 8) if p * rounds <= 24}


def stages_explorer() -> Explorer:
    """Schedule, stages, microbatches and the time of a message against the timeline of every stage.

    >>> stages_explorer()
    Explorer: Stages at work (Schedule, Stages p, Microbatches m, A message takes, in F)
    """
    return Explorer(
        "Stages at work",
        [
            Control("name", "Schedule", NAMES, ("1f1b", 1), kind="select"),
            Control("p", "Stages p", (2, 4, 8), 4),
            Control("rounds", "Microbatches m", _rounds, 2, kind="number"),
            Control("send", "A message takes, in F", (0, 0.25, 0.5, 1), 0, kind="number"),
        ],
        [Part(_timeline, "Every stage")],
        summary=_summary,
        note="A stage's forward over one microbatch takes F, its backward 2 F, half of it for the gradients of the "
        "weights. With chunks, a stage holds several parts of the model, and a pass over a part takes its share. "
        "Messages queue for the link between their two stages and keep no stage from computing.",
        note_title="What is simulated here",
        name="stages",
    )


def _idle(step: Step, p: int) -> str:
    return f"{100 * sum(step.idle(compute(k)) for k in range(p)) / p / step.seconds:.1f}%"


def _timeline(name: tuple[str, int], p: int, rounds: int, send: float) -> Chart:
    step = staged(name, p, rounds, send)
    title = f"{NAMES[name]}: {step.seconds:.4g} F a step (F: one forward), stages idle {_idle(step, p)}"
    return gantt(step, {f"stage {k}": compute(k) for k in range(p)}, time_format="{:.3g} F".format, title=title)


def _summary(name: tuple[str, int], p: int, rounds: int, send: float) -> str:
    kind, chunks = name
    most = held(kind, p, 0, p * rounds, chunks)
    return (
        f"{NAMES[name]}, {p} stages, {p * rounds} microbatches: idle {_idle(staged(name, p, rounds, send), p)}; the "
        f"first stage holds the activations of {most:g} microbatches."
    )

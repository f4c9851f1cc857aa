"""The command line over measurements: `colllib diagnose` and `colllib predict`."""

import re
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from math import ceil, inf, log2
from statistics import median
from typing import Any, NamedTuple

import click
from tabulate import tabulate

from colllib import algorithms, units
from colllib.buffers import fitting
from colllib.cli_io import Answer, Read, answered, quantity, spelled, table
from colllib.ladder import Rung, field_of
from colllib.measured import whatif
from colllib.measured.diagnose import AS_IT_SHOULD, Diagnosis, diagnose
from colllib.measured.expected import PAIRS
from colllib.measured.infer import LARGEST_HOST, Hints
from colllib.measured.log import PROGRAMS, Row, Run, Unread, factor
from colllib.measured.predict import Prediction, compared, each_algorithm, measured_over, predict
from colllib.measured.read import read_file
from colllib.measured.segments import LARGE, Segment
from colllib.measured.sweeps import kernels, most_ranks, near_size, nearest, of_others
from colllib.measured.tuning import model_of
from colllib.measured.write import write
from colllib.topology import machines
from colllib.topology.cluster import machine_on, topology_of
from colllib.topology.machines import Machine

PEERS = (
    "Its latency grows with the peers in other boxes, at the mean rate of two runs of 16 GPUs, which differ by a "
    "factor of 3; a run of 1,024 GPUs waited 4 times as long as is predicted."
)
OTHER_NETWORKS = "2 to 5"  # of the published sweeps, medians over the messages that wait
#: Bytes up to which RCCL reads directly in a box of eight. ROCm/rocm-systems, `rccl_arch_thresholds.cc`, `ddaVmmMax`.
DIRECT_READS = dict.fromkeys(("MI300X", "MI308X", "MI325X"), 2**23) | dict.fromkeys(("MI350X", "MI355X"), 2**26)
OF_ENGINES = 2, 4, 6, 8, 16  # GPUs for which vLLM, AITER or FlashInfer have kernels of their own
MOST_OF_ENGINES = 2**20  # bytes of an all-reduce in a box that engines do not leave to a library
MOST_BENCHED = 2**30  # bytes of a message that is really sent
MOST_RANKS = 256  # of schedules that are executed beside a prediction: those of 512 take a minute
WHAT_IF = "the same with a change, such as cards=4, or the same ranks placed otherwise, such as boxes=4,gpus=4; "
WHAT_IF += "oversubscription stays the ratio that it is; another machine takes a call of its own"
_OF_PAT = "PAT is missing: NCCL takes it of itself with one GPU a box alone; NCCL_PAT_ENABLE=1 is not modeled."
_SLOWER = "At {} NCCL picks, by its own estimates, what is slower: --algorithms has every NCCL_ALGO and NCCL_PROTO."
_NO_BEST = f"--best is looked for up to {MOST_RANKS} ranks; colllib ladder executes schedules of more."
_ON_LEAVES = "all-reduce", "all-gather", "reduce-scatter"  # of which rings leave a leaf with few messages
_STATES = ("below-expectation", "not-a-measurement", "undecided", "healthy")  # the worst first


def _known_collective(_: str, name: str) -> str:
    if (known := spelled(name, PROGRAMS)) in PROGRAMS:
        return known
    raise ValueError(f"unknown collective {units.shortened(name)!r}: known are {', '.join(PROGRAMS)}")


def _known_gpu(_: str, name: str) -> str:
    if name and not machines.by_gpu(name):
        other = 'for another one give --on a cluster file (.toml) with its link = "450GB/s"'
        raise ValueError(f"--gpu {units.shortened(name)!r}: known are {', '.join(machines.GPUS)}; {other}")
    return name


def _above_nothing(_: str, text: str) -> float:
    size = units.parse("message size", text.removeprefix("-"))
    if text.startswith("-") or not size:
        raise ValueError(f"message size {units.shortened(text)!r}: must be above 0, such as 1GiB")
    return size


_Shown = tuple[dict[str, Any], str]  # beside a prediction, in JSON and in words
_COLLECTIVE, _GPU = Read("collective", _known_collective), Read("GPU", _known_gpu)
_SENT = Read("message size", _above_nothing)
_NUMBER = Read("number", lambda name, text: machines.positive(name.replace("_", "-"), text))
_CARDS = Read("cards", lambda _, text: machines.cards(text))


@click.command("diagnose")
@click.argument("log")
@click.option("--on", help="the machine, such as dgx-h100:2, or a file")
@click.option("--gpu", default="", show_default=False, type=_GPU, help="the GPU, such as h100")
@click.option("--boxes", type=_NUMBER, help="number of boxes")
@click.option("--gpus-per-box", type=_NUMBER, help="ranks in a box")
@click.option("--cards", type=_CARDS, help="network cards of a box, such as 8x400Gb/s")
@click.option("--primitive", "collective", type=_COLLECTIVE, help="what was run, if not in the log")
@answered
def diagnose_command(log: str, on: str | None, **options: Any) -> Answer:
    """Whether a benchmark's log is healthy, and what binds.

    The verdict comes with its evidence and the next test to run. Its confidence, 0 to 1, is that of the cause where a
    run is below expectation, else that of the state: a score, not a probability. LOG is a file, or - for a pipe, with a
    table of nccl-tests or rccl-tests (old or new), nccom-test, the OSU or Intel benchmarks of MPI, ucc_perftest, in
    Markdown, or of columns with a header.
    """
    runs = read_file("/dev/stdin" if log == "-" else log, options["collective"])
    judged = _judged(runs, on, options)
    worst, first = min(judged, key=_urgency).run, _beside_others(judged)
    unread = [mark for run in runs for mark in run.unread]
    tables = [{"primitive": run.collective, "ranks": run.ranks, "state": verdict.state} for run, _, verdict in judged]
    yield first.as_json() | {"runs": len(runs), "tables": tables, "unread_lines": [mark.line for mark in unread]}
    primitive = options["collective"]
    others = Counter(f"{_named(run, primitive)} {verdict.state}" for run, _, verdict in judged if run is not worst)
    states = ", ".join(f"{count} x {what}" if count > 1 else what for what, count in others.items())
    line = f" from line {worst.rows[0].line}" if worst.rows else ""
    which = f"{_named(worst, primitive)}{line}, one of {len(judged)}"
    rest = f"; {'the others' if len(judged) > 2 else 'the other'}: {states}"
    table_of = f"\n  table       {which}{rest}" if states else ""
    yield _sentences(first, unread).replace("\n", f"{table_of}\n", 1)


class _Judged(NamedTuple):
    run: Run
    hints: Hints
    verdict: Diagnosis


def _judged(runs: Sequence[Run], on: str | None, options: dict[str, Any]) -> list[_Judged]:
    """Those that may be of the boxes that are told, or else all; by the GPU that each prints, or one beside it."""
    printed = [run.gpu for run in runs if run.gpu]
    beside = next(filter(machines.by_gpu, printed), "".join(printed[:1]))
    of_gpu = {gpu: _hints(on, gpu, options) for gpu in dict.fromkeys(run.gpu or beside for run in runs)}
    hinted = [(run, of_gpu[run.gpu or beside]) for run in runs]
    chosen = [(run, hints) for run, hints in hinted if _of_those_boxes(run, hints)] or hinted
    return [_Judged(run, hints, diagnose(run, hints)) for run, hints in chosen]


def _beside_others(judged: Sequence[_Judged]) -> Diagnosis:
    """The verdict that is named first; another run of the same machine may show that its cards are in order."""
    worst, hints, first = min(judged, key=_urgency)
    for run, _, verdict in judged:
        same = (run.ranks, run.boxes, run.gpu) == (worst.ranks, worst.boxes, worst.gpu)
        by_cards = verdict.bound is not None and verdict.bound.binding in AS_IT_SHOULD
        same &= run.collective not in (*PAIRS, worst.collective)  # a run of it with other settings says nothing
        if same and by_cards and verdict.state == "healthy" != first.state:
            first = diagnose(replace(worst, facts={**worst.facts, "beside": str(run.collective)}), hints)
    return first


def _hints(on: str | None, printed: str, options: dict[str, Any]) -> Hints:
    """What the options say of a run whose log prints a GPU, or of one beside it.

    The GPU is by the log where that says more of the same one, as V100-PCIE of V100.
    """
    kind, exact = machines.by_gpu(options["gpu"]), machines.by_gpu(printed)
    more_exact = not kind or (exact and re.match(rf"{re.escape(kind.name)}[ -]", exact.name))
    gpu = printed if more_exact else options["gpu"]
    machine = None if on is None else machine_on(on, gpu if machines.by_gpu(gpu) else "")
    if machine and kind and machine.name.split()[0] not in (kind.name.split()[0], machines.UNKNOWN.name):
        raise ValueError(f"--gpu {options['gpu']}: --on {on} has {machine.name}")
    if machine:
        boxes, gpus = options["boxes"] or machine.boxes, options["gpus_per_box"] or machine.gpus
        machine = replace(machine, boxes=boxes, gpus=gpus)
        if cards := options["cards"]:
            machine = replace(machine, cards=cards[0], card=cards[1], cards_known=True)
    return Hints(**options | {"gpu": gpu, "machine": machine})


def _of_those_boxes(run: Run, hints: Hints) -> bool:
    """Whether a run may be of the boxes that are told; how many hosts a rack is, nobody tells."""
    machine = hints.machine
    boxes = hints.boxes or (machine.boxes if machine and machine.gpus <= LARGEST_HOST else None)
    return boxes is None or run.boxes in (None, boxes)


def _named(run: Run, collective: str | None) -> str:
    ranks = f" of {run.ranks} ranks" if run.ranks else ""
    return f"{collective or run.collective or 'all-reduce'}{ranks}"


def _urgency(judged: _Judged) -> tuple[bool, int, int, float]:
    """In which order runs are named: the worst state first, then the most boxes; small messages alone say least."""
    run, _, diagnosis = judged
    small = diagnosis.state == "undecided" and diagnosis.form is not None and diagnosis.form.largest < LARGE
    return small, _STATES.index(diagnosis.state), -(run.boxes or 0), -diagnosis.confidence


def _sentences(verdict: Diagnosis, unread: list[Unread]) -> str:
    others = f"; or {', '.join(verdict.alternatives)}" if verdict.alternatives else ""
    sure, slow = f", confidence {verdict.confidence:.2f}", verdict.state == "below-expectation"
    lines = [
        verdict.verdict,
        f"  state       {verdict.state}{sure * (not slow)}",
        f"  cause       {verdict.cause or 'none'}{sure * slow}{others}",
        f"  binding     {verdict.binding}",
        *(f"  evidence    {text}" for text in verdict.evidence if text != verdict.verdict),
        f"  next test   {verdict.next_test}",
        *([f"  remedy      {verdict.remedy}"] if verdict.remedy else ()),
    ]
    if unread:
        lines.append(f"  not read    lines {', '.join(str(mark.line) for mark in unread[:10])}: {unread[0].why}")
    if rows := [_segment(part) for part in verdict.form.fitted] if verdict.form else []:
        lines += ["", table(("sizes", "constant", "95 %", "size / slope", "95 %", "residual"), rows)]
    return "\n".join(lines)


def _segment(part: Segment) -> tuple[str, ...]:
    constants, rates = (
        " to ".join(unit(end) if end < inf else "?" for end in ends)
        for unit, ends in ((units.seconds, part.constant_interval), (units.rate, part.bandwidth_interval))
    )
    sizes = f"{units.binary_size(part.first)} to {units.binary_size(part.last)}"
    rate = units.rate(part.bandwidth) if part.bandwidth < inf else "flat"
    return sizes, units.seconds(part.constant), constants, rate, rates, f"{part.residual:.1%}"


@click.command("predict")
@click.argument("primitive", type=_COLLECTIVE)
@click.option("--on", required=True, help="the machine, such as dgx-h100:2 or dgx-h100:2,cards=4, or a file")
@click.option("--message", type=_SENT, help="one size, such as 1GiB, instead of a sweep")
@click.option("--what-if", multiple=True, help=WHAT_IF)
@click.option("--sensitivity", is_flag=True, help="what each speed changes, what helps most first")
@click.option("--algorithms", "each", is_flag=True, help="what each NCCL_ALGO and NCCL_PROTO would take")
@click.option("--best", is_flag=True, help="the best schedule of the ladder at the machine's speeds, executed")
@answered
def predict_command(
    primitive: str, on: str, message: float | None, what_if: Sequence[str], sensitivity: bool, each: bool, best: bool
) -> Answer:
    """What a collective should take on a machine.

    By NCCL's model, scaled to published measurements.
    """
    machine = machine_on(on)
    if message is None and (what_if or sensitivity or best):
        why = "compare one size (--best executes the whole ladder at it)"
        raise ValueError(f"--what-if, --sensitivity and --best {why}: give --message too, such as 1GiB")
    sizes = [float(2**k) for k in range(10, 35)] if message is None else [message]
    predictions = [predict(machine, primitive, size) for size in sizes]
    rung = _best(machine, primitive, sizes[0]) if best and machine.ranks <= MOST_RANKS else None
    shown = [_choices(machine, primitive, sizes)] if each else []
    if what_if:
        shown.append(_changes("what_if", "with", whatif.what_if(machine, primitive, sizes[0], what_if)))
    if sensitivity:
        helps = whatif.sensitivity(machine, primitive, sizes[0])
        shown.append(_changes("sensitivity", "with, what helps most first", helps))
    shown += [_of_the_ladder(rung)] if rung else []
    (published, others), model = _published(machine, primitive, predictions[-1]), model_of(machine)
    without_pat = each and primitive in ("all-gather", "reduce-scatter") and machine.gpus > 1
    notes = [
        *_of_the_network(machine, primitive, what_if),
        *([_OF_PAT] if without_pat else []),
        *([_NO_BEST] if best and not rung else []),
        *(_SLOWER.format(units.message(p.message)) for last, p in pairwise(predictions) if p.busbw < 0.8 * last.busbw),
        *_of_lost(machine, primitive, on, message, what_if),
        *_of_the_model(machine, primitive, predictions[0], what_if),
        *_of_engines(machine, primitive, sizes[0]),
    ]
    answer = {"primitive": primitive, "machine": on, "ranks": machine.ranks, "model": model, "source": machine.source}
    answer |= {"rows": [_row(p) for p in predictions]} | published
    for values, _ in shown:
        answer |= values
    yield answer | {"notes": notes}
    yield f"{primitive} on {on}: {machine.ranks} {machine.name}, model scaled to published runs: {model}\n"
    yield _sweep_table("picked", predictions)
    share = "what algorithm, protocol and practice (by published runs) leave of what the wires allow; without latency"
    yield f"\nshare: {share}"
    yield from (text for _, text in shown)
    adding = ", and what switches that add have given at most," if machine.nvls and primitive == "all-reduce" else ""
    bound = predictions[0].bound
    lossless = ", and the best schedule is of switches that lose nothing" if rung and rung.busbw > bound else ""
    yield f"\nThe wires{adding} allow a busbw of {units.rate(bound)}{lossless}. Source of the machine: {machine.source}"
    yield from others
    yield from notes


def _choices(machine: Machine, primitive: str, sizes: Sequence[float]) -> _Shown:
    """Every algorithm and protocol at one size, the fastest first; or the sweep of each of them."""
    choices = [p for size in sizes for p in each_algorithm(machine, primitive, size)]
    if sizes[1:]:
        choices.sort(key=lambda p: p.picked)
    return {"algorithms": [_row(p, "algorithm") for p in choices]}, "\n" + _sweep_table("algorithm", choices)


def _changes(key: str, title: str, changes: Sequence[whatif.Change]) -> _Shown:
    values = [{"change": c.what, "ranks": c.ranks, "saved": c.saved, **_row(c.prediction)} for c in changes]
    cells = [(change.what, f"{-change.saved:+z.1%}", *_cells(change.prediction)) for change in changes]
    text = "\n" + table((title, "change", "time", "algbw", "busbw", "picked", "binding"), cells)
    if key == "sensitivity" and any(change.saved == 0 for change in changes):
        text += "\n\n+0.0%: something else binds, too: another speed (give several to one --what-if, behind commas), "
        text += "or a ceiling of NCCL's model: tree, NVLS, or a protocol"
    return {key: values}, text


def _of_the_ladder(rung: Rung) -> _Shown:
    chosen = {"algorithm": rung.algorithm.name, "options": rung.options, "segments": rung.segments}
    chosen |= {"time_s": rung.seconds, "busbw_GBps": rung.busbw / 1e9, "how": rung.how}
    speed = f"{units.seconds(rung.seconds)}, {units.rate(rung.busbw)} busbw"
    text = f"The best schedule of the ladder, {rung.how}, with nothing lost: {rung.label}, {speed}."
    return {"best": chosen}, f"\n{text}"


def _published(machine: Machine, primitive: str, largest: Prediction) -> tuple[dict[str, Any], list[str]]:
    """What others measured and how far predictions were off, in JSON and in words, for the largest message."""
    healthy, points, texts = of_others(machine, primitive), nearest(machine, primitive), []
    alike = healthy or of_others(machine, primitive, "undecided")
    beside = [one for one in points if one.machine.boxes != machine.boxes]
    which, ratios = measured_over(machine, primitive, largest.message)
    near = near_size(machine, primitive, largest.message) if largest.message < LARGE else []
    if near:
        times = {gpu: sorted(time for other, _, time, _ in near if other == gpu) for gpu, *_ in near}
        took = "; ".join(f"{machine.ranks} {gpu} {', '.join(map(units.seconds, each))}" for gpu, each in times.items())
        texts.append(f"Others measured at about that size: {took}. --json says where.")
    elif alike:
        rates = [rate for rate, _ in alike]
        low, high, middle = map(units.rate, (rates[0], rates[-1], median(rates)))
        such = "machines with as much network" if machine.oversubscription > 1 else "such machines"
        span = f"{low} to {high} on {such}, half of {len(rates)} at least {middle}" if rates[1:] else low
        unsure = "" if healthy else " Nobody says whether that is healthy."
        texts.append(f"Others measured {span}, at their largest message; --json says where.{unsure}")
    if machine.boxes > 1 and machine.gpus > 8 and not any(one.state == "healthy" for one in points):
        texts.append(f"A guess: no published run of several boxes of {machine.gpus} GPUs is called healthy.")
    if beside:
        places: dict[str, list[str]] = {}
        for one in beside:
            places.setdefault(f"{one.machine.boxes} x {one.machine.name}", []).append(units.rate(one.busbw))
        listed = "; ".join(f"{place} {', '.join(speeds)}" for place, speeds in list(places.items())[:3])
        texts.append(f"Nearest published, in boxes, at their largest message: {listed}. --json says where.")
    if ratios:
        least, most = (units.rate(min(ratio * largest.busbw, largest.bound)) for ratio in (ratios[0], ratios[-1]))
        capped = ", all that the wires allow" if ratios[-1] * largest.busbw > largest.bound else ""
        texts.append(
            f"Published runs of {which} reached {ratios[0]:.2f} to {ratios[-1]:.2f} times what is "
            f"predicted without them, half of {len(ratios)} at least {median(ratios):.2f}; of "
            f"{units.rate(largest.busbw)} that is {least} to {most}{capped}."
        )
    answer = {
        "others": [{"busbw_GBps": rate / 1e9, "source": source} for rate, source in alike],
        "near_size": [{"gpu": g, "bytes": n, "time_s": t, "source": source} for g, n, t, source in near],
        "measured_over_predicted": {"of": which, "runs": ratios},
        "nearest": [
            {"gpu": one.machine.name, "boxes": one.machine.boxes, "busbw_GBps": one.busbw / 1e9, "state": one.state}
            | {"source": one.source}
            for one in beside
        ],
    }
    return answer, texts


def _of_the_network(machine: Machine, primitive: str, what_if: Sequence[str]) -> Iterator[str]:
    if machine.boxes > 1 and not machine.cards_known:
        yield (
            f"The rate of a card is not known: predicted with {units.rate(machine.card)}, and the wires with the most "
            "that such boxes have; say card=400Gb/s."
        )
    if machine.collnet and machine.boxes > 1 and primitive == "all-reduce":
        cards = units.rate(machine.network * factor(primitive, machine.ranks))
        yield (
            f"With SHARP a card carries its part of the message once each way: cards alone would allow {cards}. "
            "NCCL's model counts on half of that, and no published run with SHARP corrects it."
        )
    if machine.oversubscription > 1 or any("oversubscription" in option for option in what_if):
        part = f", whose links up carry {1 / machine.ratio} of its cards" * (machine.oversubscription > 1)
        yield f"Each box has a leaf of its own{part}: these are no rails."
        if primitive in _ON_LEAVES:
            several = f"{ceil(machine.oversubscription)} boxes or more" if part else "as many boxes"
            odd = machine.boxes % 2 and machine.boxes < machine.oversubscription  # a channel leaves its rail once
            trees = " Trees on such leaves do lose, the less the more boxes share one." * (primitive == "all-reduce")
            yield (
                f"{'Where' if odd else 'On rails, or where'} {several} share a leaf, NCCL's rings lose nothing: leave "
                f"oversubscription out.{trees}"
            )
    if machine.oversubscription > 1 and any(re.search(r"\bcards?=", option) for option in what_if):
        yield "Oversubscription is a ratio: with other cards links up change as well. --sensitivity leaves them."


def _of_lost(machine: Machine, primitive: str, on: str, message: float | None, what_if: Sequence[str]) -> Iterator[str]:
    for lost in re.findall(r"without=card \d+", ",".join([on, *what_if])):
        going_on = shlex.quote(f"{on.replace(f',{lost}', '')},{lost}")
        going_on += f" --message {units.message(message).replace(' ', '')}" if message else ""
        detour = " By a detour instead, where the box counts (least is lost in the first or the last): "
        detour += f"colllib ladder {primitive} --on {going_on}"
        yield (
            f"{lost.replace('=', ' ').capitalize()}: of a job that is restarted; NCCL then gives every box the "
            f"channels of the box with fewest cards. A running one fails.{detour * (machine.cards <= machine.gpus)}"
        )


def _of_the_model(machine: Machine, primitive: str, smallest: Prediction, what_if: Sequence[str]) -> Iterator[str]:
    boxes = machine.boxes, *(machines.changed(machine, option).boxes for option in what_if)
    if min(boxes) == 1 < max(boxes) and smallest.binding == "latency":
        yield "Latencies in one box and over several are scaled to runs of different sites: the two do not compare."
    if machine.boxes > 1 and machine.card > 2 * machine.slot:
        yield f"Cards of {units.rate(machine.card)} stand behind slots of {units.rate(machine.slot)}: or are they Gb/s?"
    if machine.ranks > most_ranks():
        yield f"No published run is of more than {most_ranks():,} GPUs: beyond that nothing holds the model to any."
    if machine.boxes > 1 and primitive == "all-to-all" and smallest.binding == "latency":
        yield PEERS
    if machine.boxes > 1 and smallest.message <= 2**14:
        yield f"Up to 16 KiB EFA and TCPXO took {OTHER_NETWORKS} times these latencies, RCCL over RoCE 7 times."
    if machine.bridge and machine.gpus == 2 and machine.boxes == 1 and not machine.linked:
        yield f"Without the NVLink bridge that is sold for such pairs; with it: link={machine.bridge / 1e9:g}GB/s."
    if machine.alpha:
        yield "The file's latencies are for schedules (run, ladder, --best): these predictions take NCCL's."
    if machine.vendor == "amd":
        direct = DIRECT_READS.get(machine.name, 0) if (machine.boxes, machine.gpus) == (1, 8) else 0
        if primitive in ("all-reduce", "all-gather", "reduce-scatter") and smallest.message <= direct:
            yield (
                "RCCL is not modeled. From 2.30.4 on its GPUs read each other's memory up to "
                f"{units.binary_size(direct)}: an all-reduce took as little as a fifth of these times "
                "(ROCm/rocm-systems, pull 10072)."
            )
        else:
            yield (
                "RCCL has tables and schedules of its own, such as direct sends for small all-gathers, which are not "
                "modeled: the choice is NCCL's on such links."
            )


def _of_engines(machine: Machine, primitive: str, message: float) -> Iterator[str]:
    """That engines for inference do not wait for the library here, and what their kernels took nearest to that size."""
    if primitive != "all-reduce" or machine.boxes > 1 or not machine.linked or message > MOST_OF_ENGINES:
        return
    if machine.gpus not in OF_ENGINES or machine.dies:
        return
    alike = [one for one in kernels() if (one.machine.name, one.machine.gpus) == (machine.name, machine.gpus)]
    closest = [(one, *min(one.points, key=lambda point: abs(log2(point[0] / message)))) for one in alike]
    took = ", ".join(f"{units.seconds(t)} ({one.name}, {units.binary_size(n)})" for one, n, t in closest)
    measured = f": {machine.gpus} {machine.name} took {took}" if took else ""
    yield (
        f"Engines for inference run kernels of their own for small all-reduces in a box{measured}. Predicted is the "
        "library, called one by one: no CUDA graph, no registered buffers."
    )


def _sweep_table(title: str, predictions: Sequence[Prediction]) -> str:
    rows = [
        (units.message(p.message), *_cells(p), *map(units.seconds, (p.latency, p.wire)), f"{p.efficiency:.0%}")
        for p in predictions
    ]
    return table(("size", "time", "algbw", "busbw", title, "binding", "latency", "wire", "share"), rows)


def _row(p: Prediction, title: str = "picked") -> dict[str, Any]:
    return {
        "bytes": p.message,
        "time_s": p.seconds,
        "algbw_GBps": p.message / p.seconds / 1e9,
        "busbw_GBps": p.busbw / 1e9,
        title: p.picked,
        "binding": p.binding,
        "latency_s": p.latency,
        "wire_s": p.wire,
        "efficiency": p.efficiency,
        "wires_allow_busbw_GBps": p.bound / 1e9,
    }


def _cells(p: Prediction) -> tuple[str, ...]:
    return units.seconds(p.seconds), units.rate(p.message / p.seconds), units.rate(p.busbw), p.picked, p.binding


def _best(machine: Machine, collective: str, message: float) -> Rung:
    """The fastest schedule of the ladder on the machine's boxes: its wires in full, its latencies NCCL's of a step."""
    topology = topology_of(machine)
    alpha, bandwidth = topology.speeds or ((), ())
    rungs, _ = field_of(collective, topology, searching=True, message=message, alpha=alpha, bandwidth=bandwidth)
    return rungs[0]


@click.command("sweeps")
@answered
def sweeps_command() -> Answer:
    """Healthy published sweeps beside what is predicted.

    The machine of each is left out of the fit that predicts it.
    """
    sweeps: list[dict[str, Any]] = []
    for comparison in compared():
        sweep, (size, time, largest) = comparison.sweep, comparison.rows[-1]
        measured = largest.busbw * largest.seconds / time / 1e9
        sweeps.append(
            {"name": sweep.name, "source": sweep.source, "judged_by": sweep.judged_by}
            | {"primitive": sweep.run.collective, "ranks": sweep.run.ranks, "largest_bytes": size}
            | {"measured_busbw_GBps": measured, "picked": largest.picked, "predicted_busbw_GBps": largest.busbw / 1e9}
            | {"error_large": comparison.large_error, "error_sweep": comparison.error}
        )
    large = [sweep["error_large"] for sweep in sweeps if sweep["error_large"] is not None]
    errors = {"large": median(large), "sweep": median(sweep["error_sweep"] for sweep in sweeps)}
    doubted = {one.sweep.name: one.large_error for one in compared("undecided") if one.large_error is not None}
    yield {"sweeps": sweeps, "median_error": errors, "error_large_of_doubted": doubted}
    columns = ("name", "primitive", "ranks", "measured_busbw_GBps", "predicted_busbw_GBps", "picked")
    rows = [[sweep[key] for key in (*columns, "error_large", "error_sweep")] for sweep in sweeps]
    headers = ("sweep", "primitive", "ranks", "GB/s", "predicted", "picked", ">= 1 GiB", "all sizes")
    yield tabulate(rows, headers=headers, floatfmt=("", "", "", ".0f", ".0f", "", ".0%", ".0%"))
    yield f"median error: {errors['large']:.0%} of busbw from 1 GiB on, {errors['sweep']:.0%} of the times"
    yield f"left out, as we doubt them: {', '.join(f'{name} ({off:.0%})' for name, off in doubted.items())}"


@click.command("mpi-bench")
@click.argument("primitive", type=_COLLECTIVE)
@click.argument("algorithm", required=False)
@click.option("--from", "least", type=quantity("message size"), default="1KiB", help="the smallest message")
@click.option(
    "--to", "most", type=quantity("message size"), default="4MiB", help="the largest; each size is twice the one before"
)
@click.option("--repeats", type=_NUMBER, help="timed runs of a size (default: as many as take 0.1 s, 10 to 1000)")
def mpi_bench_command(primitive: str, algorithm: str | None, least: float, most: float, repeats: int | None) -> None:
    """Time MPI's own collective, or a schedule over MPI.

    The table that is printed is one that diagnose reads.
    Start it with mpirun, such as: mpirun -n 4 colllib mpi-bench all-reduce
    """
    from colllib import mpi

    if not 4 <= least <= most <= MOST_BENCHED:
        ends = map(units.binary_size, (least, most, MOST_BENCHED))
        raise ValueError("--from {} --to {}: take 4B to {}, ascending".format(*ends))
    chosen = algorithms.find(primitive, algorithm) if algorithm else algorithms.of(primitive)[0]
    world = mpi.world()
    ranks = world.Get_size()
    if ranks < 2:
        raise ValueError("1 process sends nothing: start it with mpirun, such as mpirun -n 4 colllib mpi-bench ...")
    schedule = chosen.build(chosen.argument(chosen.at_home(ranks)))
    timed, blocks = schedule if algorithm else None, schedule.blocks
    rows: list[Row] = []
    doubled = [least * 2**k for k in range(int(log2(most / least)) + 1)]
    for elements in dict.fromkeys(fitting(blocks, int(size) // 4) for size in doubled):  # small ones may be alike
        seconds, wrong = mpi.bench(primitive, timed, world, blocks=blocks, elements=elements, repeats=repeats)
        rate = 4 * elements / seconds
        mark = str(wrong) if timed else "N/A"
        rows.append(Row(len(rows), 4.0 * elements, seconds, rate, rate * factor(primitive, ranks), False, mark))
    if world.Get_rank() == 0:
        what = f"{algorithm} by Python" if algorithm else mpi.mpi_function(primitive, blocks)
        runs = repeats or f"{mpi.LEAST_RUNS} to {mpi.MOST_RUNS}"
        click.echo(f"# colllib mpi-bench: {what}, {mpi.library()}, nranks {ranks}, float32, {runs} runs a size")
        click.echo(write(Run("nccl-tests", tuple(rows), primitive, ranks)))

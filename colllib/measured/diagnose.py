"""Is a run healthy, and if not, why? A verdict with its evidence, its confidence and the next test."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil, inf, isfinite, log
from statistics import median
from typing import Any

from colllib.measured import causes
from colllib.measured.causes import CERTAIN, Evidence, advice, modeled, of_vendor, weighed
from colllib.measured.expected import (
    CARD_TOTALS,
    FEWEST,
    PAIRS,
    UNSURE,
    Expected,
    expected,
    filled,
    slow_below,
    totals_of,
)
from colllib.measured.infer import ANY_RANKS, LARGEST_HOST, NEURON, Hints, at_least, decided, late, machine_of, ranks_of
from colllib.measured.log import OF_MPI, PROGRAMS, Run, factor
from colllib.measured.predict import SMALL, Prediction, predict
from colllib.measured.segments import LARGE, Segment, Shape, shape
from colllib.measured.sweeps import PUBLISHED
from colllib.measured.tuning import GENERATIONS, SINCE, VERSION
from colllib.topology.machines import UNKNOWN, Machine, by_gpu
from colllib.units import binary_size, percent, several, shortened

FASTER_THAN_THE_WIRE = 1.15
SLOWER = 0.85  # of the model's pick: a run that is slower took another algorithm, or fewer cards
MUCH_LATER = 10.0  # times the predicted time of a small message: networks take up to 7
WINDOW = 64  # messages that OSU's tests of bandwidth have under way at once
NVLS_LEAST = 0.86  # of the link: no ring reaches it
#: Collectives of MPI's benchmarks whose sizes are those of a rank's part, by dialect.
OF_A_PART = {"osu": ("all-gather", "all-to-all"), "imb": ("all-gather", "all-to-all", "reduce-scatter")}
MPI_TEST = "mpirun -np 2 osu_bw D D, then H H: where only H H is fast, MPI has no direct way to the GPUs' memory"
HOSTS_TEST = "osu_latency and osu_bw from one host to another, then within one: which of them the collective is near"
MPI_REMEDY = (
    "an MPI built for GPUs; in UCX_TLS cuda_copy, cuda_ipc and gdr_copy (AMD: in UCX_TLS rocm_copy and rocm_ipc), all "
    "cards in UCX_NET_DEVICES; MPICH_GPU_SUPPORT_ENABLED=1"
)
#: Settings that act on collectives -> what acts on sends, in a box and between boxes (of NCCL's sources)
OF_PAIRS = {
    "NCCL_ALGO=Ring": ("NCCL_MIN_P2P_NCHANNELS=32", "NCCL_NCHANNELS_PER_NET_PEER=4"),
    "NCCL_PROTO=Simple": ("NCCL_P2P_LL_THRESHOLD=0", "NCCL_P2P_LL_THRESHOLD=0"),
}
AGAINST = "the log names"  # what the options say otherwise
AS_IT_SHOULD = {"network card": "the cards bind, as they should", "spine": "the spine binds, as it should"}
NO_HINTS = Hints()
MOST_SURE = 0.79  # of what the numbers alone say; more only where the log says it in words


@dataclass(frozen=True)
class Diagnosis:
    """The verdict."""

    state: str  # healthy, below-expectation, not-a-measurement or undecided
    cause: str | None  # one of `causes.CAUSES`, or null
    alternatives: tuple[str, ...]  # at most two more
    confidence: float  # 0 to 1, of the cause where the state is below-expectation, else of the state
    binding: str  # what limits such a run, or unknown
    verdict: str
    evidence: tuple[str, ...]
    next_test: str
    form: Shape | None = None  # the sweep, where it is one
    bound: Expected | None = None  # what was expected, where the machine is known
    boxes: int | None = None  # in which it ran, if known
    predicted: float | None = None  # busbw by the model, in bytes per second, where the machine is known
    vendor: str = ""  # of the GPUs, if known

    @property
    def remedy(self) -> str:
        """What usually mends the cause of a slow run, or nothing."""
        remedy = ""
        if self.cause and self.state == "below-expectation":
            remedy = advice(self.cause, self.boxes, self.vendor)[-1]
        return of_vendor(MPI_REMEDY, self.vendor) if "osu_" in self.next_test and "NCCL" in remedy else remedy

    def as_json(self) -> dict[str, Any]:
        """The keys of `colllib diagnose --json`."""
        form, bound = self.form, self.bound
        return {
            "state": self.state,
            "cause": self.cause,
            "alternatives": list(self.alternatives),
            "confidence": round(self.confidence, 2),
            "binding": self.binding,
            "measured_busbw_GBps": None if form is None else round(form.measured / 1e9, 3),
            "in_place_busbw_GBps": None if form is None or form.in_place is None else round(form.in_place / 1e9, 3),
            "expected_busbw_GBps": None if bound is None else [round(bound.low / 1e9, 3), round(bound.high / 1e9, 3)],
            "predicted_busbw_GBps": None if self.predicted is None else round(self.predicted / 1e9, 3),
            "published_busbw_GBps": [round(rate / 1e9, 3) for rate in (bound.runs if bound else ())],
            "fit_segments": [_segment(part) for part in (form.fitted if form else ())],
            "next_test": self.next_test,
            "remedy": self.remedy,
            "verdict": self.verdict,
            "evidence": list(self.evidence),
        }


def _segment(part: Segment) -> dict[str, Any]:
    """What is infinite, as the rate of a flat line, is null in JSON."""
    rates = [end / 1e9 if isfinite(end) else None for end in (part.bandwidth, *part.bandwidth_interval)]
    return {
        "first_bytes": part.first,
        "last_bytes": part.last,
        "constant_s": part.constant,
        "constant_interval_s": [end if isfinite(end) else None for end in part.constant_interval],
        "bandwidth_GBps": rates[0],
        "bandwidth_interval_GBps": rates[1:],
        "residual": part.residual,
    }


def diagnose(run: Run, hints: Hints = NO_HINTS) -> Diagnosis:
    """The verdict on a run.

    Args:
        run: as read from a log.
        hints: what is known of the machine.

    Raises:
        ValueError: if the hints contradict each other or the log's ranks.

    >>> from colllib.measured.read import read
    >>> (run,) = read("# size time algbw busbw\\n 1073741824 4568.9 235.01 440.65\\n")
    >>> diagnosis = diagnose(run, Hints(gpu="H100", gpus_per_box=8, boxes=2))
    >>> diagnosis.state, diagnosis.binding  # of NVLSTree, which is faster than a ring over the cards
    ('healthy', 'NVLS')
    """
    known_ranks = ranks_of(run, hints)
    if nothing := _no_measurement(run, known_ranks):
        return nothing
    machine, assumed = machine_of(run, hints)
    ranks = machine.ranks if machine else known_ranks
    kind = by_gpu(run.gpu)
    if machine and kind and kind.name.casefold() != machine.name.casefold():
        assumed.insert(0, f"{AGAINST} {shortened(run.gpu)}, and {machine.name} is told")
    box = hints.machine.gpus if hints.machine else hints.gpus_per_box or 0
    if 0 < box <= LARGEST_HOST and run.ranks == known_ranks and run.gpus_per_box not in (None, box):
        assumed.insert(0, f"{AGAINST} {run.boxes} x {run.gpus_per_box} ranks, and boxes of {box} are told")
    collective = hints.collective or run.collective
    if collective is None and max(run.factors, default=1.0) < 0.995:
        return _less_than_algbw(run, hints)
    if collective is None:
        collective = "all-reduce"
        assumed.append("assumed: an all-reduce")
    if ranks is None and not any(row.busbw for row in run.rows):
        return _undecided("neither the log nor the options say how many ranks ran", "tell --boxes and --gpus-per-box")
    gpu = machine.name if machine and machine.name != UNKNOWN.name else run.gpu
    known = replace(run, collective=collective, ranks=max(2, ranks or ANY_RANKS), gpu=gpu)
    if ranks and collective in OF_A_PART.get(run.dialect, ()):
        known = replace(known, rows=tuple(replace(row, message=ranks * row.message) for row in run.rows))
    try:
        form = _form(known, known_ranks)
    except ValueError as error:
        return _undecided(str(error), "a table with times")
    if any(row.failed for row in run.rows):
        return _wrong_values(run, form)
    if ranks and ranks > 1 and (factors := run.factors):
        printed, should = median(factors), factor(collective, ranks)
        if not hints.collective and abs(printed / should - 1) > 0.2:
            why = f"busbw is {printed:.3g} times size over time, as no {collective} of {ranks} ranks prints it"
            return _undecided(why, f"tell --primitive{', if the time is right' * bool(run.collective)}")
        if abs(printed / should - 1) > 0.05:
            assumed.append(
                f"busbw is {printed:.3g} times size over time in the log, and {should:.3g} times for {collective}"
            )
    hosts = "host memory" in run.facts and (machine is None or machine.boxes == 1 or machine.name == UNKNOWN.name)
    if hosts and (collective != "sendrecv" or (machine and machine.boxes == 1)):  # a pair shows the network alone
        return _of_hosts(known, form, assumed)
    if machine is None:
        boxes, gpus = hints.boxes or run.boxes, hints.gpus_per_box or run.gpus_per_box
        known = replace(known, ranks=ranks, boxes=boxes, gpus_per_box=gpus)
        return _unknown_machine(known, form, hints.cards, assumed)
    return _judged(replace(known, boxes=machine.boxes) if hints.machine else known, form, machine, assumed)


def _no_measurement(run: Run, ranks: int | None) -> Diagnosis | None:
    """Why there is nothing to judge: the test failed, a rank is alone, or several jobs wrote into one file."""
    if not run.rows and "failed" in run.facts:
        text = f"This is no measurement: the test {run.facts['failed']}."
        fix = "the same run with NCCL_DEBUG=INFO, and read the first WARN"
        return Diagnosis("not-a-measurement", "other", (), MOST_SURE, "unknown", text, (text,), fix)
    one_rank = "every job has 1 rank, which sends nothing"
    why = one_rank if (run.ranks or ranks) == 1 else run.mixed
    if not why:
        return None
    text, sure = f"This is no measurement: {why}.", MOST_SURE if run.mixed else 0.9
    fix = "build nccl-tests with MPI=1 and start one job over all ranks, with its output in a file of its own"
    return Diagnosis("not-a-measurement", "misconfiguration", (), sure, "unknown", text, (why,), fix)


def _less_than_algbw(run: Run, hints: Hints) -> Diagnosis:
    """Of half an all-reduce or an all-to-all, where both say the same."""
    half, other = (diagnose(replace(run, collective=name), hints) for name in ("all-gather", "all-to-all"))
    faster = other.bound and other.form and other.form.measured > FASTER_THAN_THE_WIRE * other.bound.high
    if faster or half.state == other.state != "undecided":
        return replace(half, evidence=(*half.evidence, "assumed: an all-gather"))
    return _undecided("busbw is below algbw, as no all-reduce prints it", "tell --primitive")


def _form(run: Run, ranks: int | None) -> Shape:
    """The shape of a sweep, whose ranks may not be known."""
    form = shape(run)
    if ranks is None:
        at_largest = [row.busbw for row in run.rows if row.busbw and row.message == form.largest]
        printed = median(at_largest or [form.measured])  # not by a factor that nobody knows
        form = replace(form, fitted=(), measured=printed, best=form.best * printed / form.measured)
    if run.dialect in OF_MPI and not any(row.seconds for row in run.rows):
        form = replace(form, largest=WINDOW * form.largest)
    return form


def _wrong_values(run: Run, form: Shape) -> Diagnosis:
    failed = [row for row in run.rows if row.failed]
    text = "Values are wrong by the check of the program, so no speed of this run counts."
    fix = "the same run twice" if run.dialect in OF_MPI else "the same run with -c 1 twice, then with NCCL_PROTO=Simple"
    shown = [f"{row.wrong} at {binary_size(row.message)}" for row in failed if "all" not in row.wrong]
    evidence = f"{failed[0].wrong} values are wrong"
    if shown:
        evidence = f"wrong values in {len(shown)} of {len(run.rows)} rows: {', '.join(shown[:4])}"
    others = ("misconfiguration", "protocol-switch")
    return Diagnosis("not-a-measurement", "other", others, 0.5, "unknown", text, (text, evidence), fix, form)


def _undecided(why: str, test: str) -> Diagnosis:
    return Diagnosis("undecided", None, (), 0.2, "unknown", f"I cannot tell: {why}.", (why,), test)


def _of_hosts(run: Run, form: Shape, assumed: list[str]) -> Diagnosis:
    """Of buffers of processors, of which nothing is known but what was measured."""
    why = f"{form.measured / 1e9:.3g} GB/s busbw of buffers in the hosts' memory, and only GPUs are judged"
    verdict = _undecided(f"{why}; the fit stands", HOSTS_TEST)
    return replace(verdict, evidence=(*verdict.evidence, *assumed), form=form, boxes=run.boxes)


def _unknown_machine(run: Run, form: Shape, cards: tuple[int, float] | None, assumed: list[str]) -> Diagnosis:
    """Without a GPU the speed may still decide, or the log say why it is low."""
    marks = [*causes.of_the_log(run, run.boxes, cards[0] if cards else 0), *causes.noted(form)]
    speed, certain = f"{form.measured / 1e9:.3g} GB/s", _certain(marks)
    state, why = decided(run, form)
    if state == "healthy" and (not certain or form.measured > UNKNOWN.pcie):
        untold = "--cards" if "host memory" in run.facts else "--gpu" if run.boxes else "--gpu and --boxes"
        text = f"{speed} is {why}; say {untold} to be sure."
        adds = form.measured > UNKNOWN.pcie and form.collective == "all-reduce" and "rccl" not in run.facts
        faster = ("nvls",) if adds else ()
        return Diagnosis(state, None, faster, 0.5, "unknown", text, (text, *assumed), _test(None, run, run.boxes), form)
    if why and not state:
        marks += [
            Evidence("single-nic", CERTAIN - 0.5, f"{speed} is {why}"),
            Evidence("misconfiguration", 1.0, "sockets may leave as much of a faster card"),
            *[Evidence("no-gdr", 0.9, "or copies through host memory")] * ("host memory" not in run.facts),
        ]
    elif not certain:
        if_slow = (mark for mark in _if_slow(run, form) if run.dialect != NEURON or mark.cause == "latency-bound")
        marks += if_slow if state else (replace(mark, weight=mark.weight / 2) for mark in if_slow)  # if it is slow
    ranked = [cause for cause, _ in weighed(marks)]
    cause, likely = (ranked[0], f"most likely {advice(ranked[0], run.boxes)[0]}.") if ranked else (None, "")
    if certain and (state or not why or cause != "no-gdr"):  # a card that is filled waits for no copies
        why = max((mark for mark in marks if mark.cause == cause), key=lambda mark: mark.weight).text
        state, sure, text = "below-expectation", 0.55, f"{speed}, and the log itself says why: {why}."
    elif state:
        sure, text = 0.5, f"{speed} is {why}; {likely}"
    else:
        guess = f" If it should be faster, {likely}" if cause and form.largest >= LARGE else ""
        missing = [*["--boxes"] * (not run.boxes), *["--cards"] * (not cards)]
        unknown = f"the machine is not known; say {', '.join(['--gpu', *missing])}"
        if run.dialect == NEURON:
            unknown = "the links of NeuronCores are not known"
        known = f"is {why}, which may be all there is; say {' and '.join(missing)}."
        text = f"I cannot tell: {speed} {known}" if why else f"I cannot tell: {speed}, but {unknown}.{guess}"
        state, sure = "undecided", 0.3
    evidence = (*dict.fromkeys(mark.text for mark in marks), *assumed) or (text,)
    alternatives, test = tuple(ranked[1:3]), _test(cause, run, run.boxes)
    rest = evidence, test, form, None, run.boxes, None, run.vendor
    return Diagnosis(state, cause, alternatives, sure, "unknown", text, *rest)


def _if_slow(run: Run, form: Shape) -> Iterator[Evidence]:
    """What speaks for which cause if the run is slow, on the richest usual boxes; few ranks may be in one or in two."""
    ranks = at_least(run)
    usual = (2, 1) if 1 < ranks <= UNKNOWN.gpus else (max(2, ranks // UNKNOWN.gpus),)
    for boxes in (run.boxes,) if run.boxes else usual:
        gpus = max(1, ranks // boxes) if run.ranks else UNKNOWN.gpus
        machine = replace(UNKNOWN, boxes=boxes, gpus=gpus, cards=min(gpus, UNKNOWN.cards))
        yield from causes.of_the_numbers(machine, form, run.facts)


def _certain(marks: Sequence[Evidence]) -> bool:
    """Whether the log says a cause in words."""
    return any(mark.weight >= CERTAIN for mark in marks)


@dataclass(frozen=True)
class _Case:
    """A run on a machine that is known, what it should give, and what the log says."""

    run: Run
    form: Shape
    machine: Machine  # with the links and cards that the log or the speed shows
    model: Prediction
    bound: Expected
    condition: str  # on which it is that machine, or empty
    poorer: str  # which slower cards it fills, where nobody told them and such boxes do not have them; or empty
    log_says: tuple[Evidence, ...]
    unadded: tuple[Evidence, ...]  # of these, that the switch adds nothing
    assumed: tuple[str, ...]

    @classmethod
    def of(cls, run: Run, form: Shape, machine: Machine, assumed: list[str]) -> "_Case":
        machine, condition = _as_shown(machine, form, run, assumed)
        model, plateau = (predict(machine, form.collective, size) for size in (form.largest, PUBLISHED))
        bound = expected(machine, form.collective, min(1.0, model.busbw / plateau.busbw))
        if UNSURE * model.busbw <= form.measured and model.busbw < UNSURE * form.best:
            form = replace(form, erratic=False)  # as NCCL's own choice makes it fall
        usual = machine if machine.cards_known else by_gpu(machine.name) or machine
        cards = max(usual.cards * machine.gpus // usual.gpus if usual.modular else usual.cards, machine.cards)
        unadded = tuple(causes.of_nvls(machine, form, run.facts))
        log_says = (*causes.of_the_log(run, machine.boxes, cards), *unadded)
        poorer = _filled_cards(machine, form)
        if poorer and machine.common_network < machine.network:  # such boxes have them
            condition = " and ".join(filter(None, (f"the cards of a box are {poorer}", condition)))
            bound, poorer = replace(bound, gap=(inf, inf)), ""
        return cls(run, form, machine, model, bound, condition, poorer, log_says, unadded, tuple(assumed))

    @property
    def certain(self) -> bool:
        return _certain(self.log_says)

    @property
    def slower(self) -> bool:
        return self.form.measured < SLOWER * self.model.busbw

    @property
    def late(self) -> float:
        """How many times the predicted time the smallest message takes, if that is more than networks take; or 0."""
        (smallest, *_), (seconds, *_) = self.run.series()
        if smallest > SMALL:
            return 0.0
        times = float(seconds / predict(self.machine, self.form.collective, smallest).seconds)
        return times if times > MUCH_LATER else 0.0

    @property
    def doubtful(self) -> bool:
        """Whether something speaks against a run that is fast enough."""
        return bool(self.certain or self.condition or (self.slower and self.machine.boxes > 1) or self.late)

    def state(self) -> tuple[str, float]:
        """State, and how far from its border, as a logarithm to the base 2; near it, what the log says decides."""
        scatters = self.form.erratic and self.machine.boxes > 1
        state, distance = self._by_speed(scatters or self.certain)
        if self.poorer and not self.certain:
            return "undecided", 0.0
        if late(self.run) or (state == "healthy" and (scatters or (self.slower and self.certain))):
            return "below-expectation", 0.0  # no healthy fabric scatters so, or the log says why
        return state, distance

    def _by_speed(self, certain: bool) -> tuple[str, float]:
        form, bound, machine = self.form, self.bound, self.machine
        speed, guessed = form.measured, machine.boxes > 1 and not machine.cards_known
        border = bound.low if certain else slow_below(machine, bound, form.settled)
        too_fast, between = speed > FASTER_THAN_THE_WIRE * bound.high, bound.gap[0] < speed < bound.gap[1]
        if too_fast or between or (guessed and form.largest < LARGE):
            return "undecided", 0.0
        if speed >= bound.low:
            return "healthy", log(speed / bound.low, 2)
        waiting = causes.waits(machine, form)
        if form.largest < LARGE or speed >= border * (1 - waiting):  # with larger messages it may be fast enough
            return "undecided", 0.0
        return "below-expectation", log(border / speed, 2)

    def marks(self, healthy: bool) -> tuple[list[Evidence], list[Evidence]]:
        """What speaks for a cause, and what makes a healthy run as fast as it is."""
        marks = [mark for mark in self.log_says if not healthy or mark.weight >= CERTAIN]
        marks += causes.noted(self.form)
        if healthy:
            return marks, [*_normal(self), *(replace(mark, weight=0.9) for mark in self.unadded)]
        if self.form.measured <= FASTER_THAN_THE_WIRE * self.bound.high:
            marks += causes.of_the_numbers(self.machine, self.form, self.run.facts)
        return marks, []


def _judged(run: Run, form: Shape, machine: Machine, assumed: list[str]) -> Diagnosis:
    case = _Case.of(run, form, machine, assumed)
    machine, bound, model = case.machine, case.bound, case.model
    state, distance = case.state()
    healthy = state == "healthy"
    marks, normal = case.marks(healthy)
    ranked = weighed(marks + normal)
    cause = next((name for name, _ in ranked), None)
    if healthy:
        cause = next((mark.cause for mark in normal if mark.weight >= 1), None)
    rest = tuple(name for name, _ in ranked if name != cause)[:2]
    certain = _certain([mark for mark in marks if mark.cause == cause])
    sure = _confidence(case, state, distance, ranked, certain)
    faster = healthy and form.measured > machine.network and machine.boxes > 1  # than a ring over its cards
    binding = "latency" if cause == "latency-bound" else model.binding if faster else bound.binding
    evidence = tuple(_evidence(case, dict.fromkeys(mark.text for mark in marks + normal if mark.text)))
    spoken = _verdict(case, state, cause), evidence, _next_test(case, state, cause)
    return Diagnosis(state, cause, rest, sure, binding, *spoken, form, bound, machine.boxes, model.busbw, run.vendor)


def _evidence(case: _Case, shown_by: Iterable[str]) -> Iterator[str]:
    """What the verdict rests on: what is expected, what shows a cause, and what was assumed."""
    run, form, runs = case.run, case.form, case.bound.runs
    rates = [f"{rate / 1e9:.3g}" for rate in runs] or ["none"]
    spread = f"{rates[0]} to {rates[-1]} GB/s, half of them at least {median(runs) / 1e9:.3g}" if runs[1:] else rates[0]
    published = f"{several(len(runs), 'healthy run')} of such machines published: {spread}"
    against = [text for text in case.assumed if text.startswith(AGAINST)]
    yield from against
    yield f"expected: {case.bound.why}"
    yield f"predicted: {case.model.busbw / 1e9:.3g} GB/s by {case.model.picked}; {published}"
    yield from shown_by
    yield from case.assumed[len(against) :]
    if run.unread:
        lines = {mark.line for mark in run.unread}
        yield f"{several(len(lines), 'line')} could not be read, the first is {min(lines)}"
    if form.in_place and form.largest >= LARGE and not 0.8 < form.in_place / form.measured < 1.25:
        yield f"in place {form.in_place / 1e9:.3g} GB/s: a network carries the same bytes, so look at the GPUs"
    yield from _other_release(run.facts.get("version", ""), case.machine, case.model)
    if case.late:
        yield f"the smallest message takes {case.late:.0f} times the predicted time"


def _verdict(case: _Case, state: str, cause: str | None) -> str:
    """The verdict in a sentence or a few."""
    form, machine, model = case.form, case.machine, case.model
    verdict = _sentence(case, state, cause)
    for mark in case.log_says:
        if mark.cause == cause and mark.test:
            counts = (machine.cards - 1, machine.cards) if cause == "misconfiguration" else ()
            rates = [f"{n} would give {modeled(machine, form, cards=n).busbw / 1e9:.3g} GB/s" for n in counts]
            cost = f" ({', '.join(rates)})" if rates else ""
            verdict = verdict.replace(_likely(cause, machine.boxes), f"most likely {mark.text}{cost}")
    if state == "healthy" and case.late:
        verdict += f" Small messages are not: the smallest takes {case.late:.0f} times the predicted time."
    for against in case.assumed[:1]:
        if against.startswith(AGAINST):
            verdict = f"Mind that {against}: {verdict}"
    if case.slower and state != "below-expectation":
        verdict += f" {model.picked}, which NCCL's model picks, would give {model.busbw / 1e9:.3g}."
    return verdict


def _next_test(case: _Case, state: str, cause: str | None) -> str:
    """What to run next: for the cause, or for what is doubtful about a healthy run."""
    run, form, machine, healthy = case.run, case.form, case.machine, state == "healthy"
    tree = state == "undecided" and machine.boxes == 2 and form.collective == "all-reduce"  # perhaps, of fewer cards
    to_test = None if tree or (healthy and case.doubtful) else cause
    if healthy:
        doubts = (("latency-bound", case.late), ("no-gdr", case.condition), ("nvls", case.unadded))
        to_test = next((name for name, doubt in doubts if doubt), to_test)
    hosts = max(machine.boxes, run.boxes or 1, ceil(machine.gpus / LARGEST_HOST))
    test = _test(to_test, replace(run, boxes=hosts, ranks=machine.ranks), machine.boxes)
    if healthy and "NVLink domain" in case.condition:
        test = f"nvidia-smi -q | grep -A5 Fabric, then {test}"
    for mark in case.log_says:
        if mark.cause == cause and mark.test:
            test = f"{mark.test}, then {test}"
    return test


def _other_release(ran: str, machine: Machine, model: Prediction) -> list[str]:
    """That the log is of another release of NCCL than the model, and what of it matters to such a run."""
    ours, algorithm = VERSION.split()[1], model.picked.split("/")[0]
    if not ran or ran == ours:
        return []
    minor, retuned = int(ran.split(".")[1]), GENERATIONS[machine.generation].get("retuned", 0)
    later = "no difference that matters here is known"
    if minor < SINCE.get(algorithm, 0):
        later = f"{algorithm} came with 2.{SINCE[algorithm]}"
    elif algorithm in SINCE and minor < retuned:
        later = f"from 2.{retuned} on {algorithm} is chosen by other figures on such GPUs"
    return [f"the log is of NCCL {ran}, the prediction of {ours}: {later}"]


def _as_shown(machine: Machine, form: Shape, run: Run, assumed: list[str]) -> tuple[Machine, str]:
    """The machine with the links and cards that the log or the speed shows, and on which condition it is that one."""
    entries = [entry.rpartition(":") for entry in run.facts.get("NCCL_ALGO", "^").upper().split(";")]
    listed = next((names for function, _, names in reversed(entries) if function in ("", "ALLREDUCE")), "^")
    named = ("NVLS" if machine.boxes == 1 else "NVLSTREE") in listed.lstrip("^").split(",")
    left_out = run.facts.get("NCCL_NVLS_ENABLE") == "0"
    left_out |= named == listed.startswith("^")
    if left_out and machine.nvls and form.collective == "all-reduce":
        machine = replace(machine, nvls=False)
        assumed.append("the settings leave out NVLS, by which the switch adds")
    machine, apart = _joined_by_cards(machine, form, run, assumed)
    shown = "the log shows NVLinks" if "links" in run.facts else "faster than PCIe" * (form.measured > machine.pcie)
    if machine.boxes == 1 and machine.gpus == 2 and machine.bridge and shown:
        assumed.append(f"{shown}, so a bridge of {machine.bridge / 1e9:g} GB/s joins the two GPUs")
        return replace(machine, link=machine.bridge), ""
    return machine, apart


def _joined_by_cards(machine: Machine, form: Shape, run: Run, assumed: list[str]) -> tuple[Machine, str]:
    """The hosts of an NVLink domain apart, where the log says so or NVLink is faster; a condition if nobody told it."""
    hosts, domain = run.boxes or 1, expected(machine, form.collective)
    off = run.facts.get("NCCL_MNNVL_ENABLE") == "0"
    apart = off or "via NET" in run.facts or form.measured < UNSURE * domain.low
    if machine.boxes > 1 or hosts == 1 or not apart:
        return machine, ""
    assumed.append("cards, not NVLink, join the hosts")
    gpus = machine.gpus // hosts
    cards = machine.cards if machine.cards_known else min(machine.cards, gpus)
    common, most = machine.common_network * cards / machine.cards, machine.most_network / hosts
    alone = replace(machine, boxes=hosts, gpus=gpus, cards=cards, common_network=common, most_network=most)
    only = f"only cards join these hosts; in one NVLink domain {domain.low / 1e9:.3g} GB/s and more would be expected"
    return alone, "" if off or machine.cards_known else only


def _filled_cards(machine: Machine, form: Shape) -> str:
    """Which slower cards a ring fills, if nobody told them and it fills at least half of the usual ones; or nothing.

    Where there are no usual ones it may be the one card of a small instance.
    """
    fewest = 3 if form.collective == "all-reduce" and machine.gpus > 1 else 2  # of two boxes a tree may be faster
    totals = totals_of(machine)
    known, ring = totals == CARD_TOTALS, form.collective not in PAIRS and machine.boxes >= fewest
    total = filled(form.measured, totals) if ring and not machine.cards_known else 0.0
    if not total or (known and (machine.gpus == 1 or total < machine.network / 2)) or total >= machine.network:
        return ""
    lower, usual = (f"{machine.cards} x {rate * 8 / 1e9:g} Gb/s" for rate in (total / machine.cards, machine.card))
    return f"{lower} ({percent(form.measured / machine.network)} of {usual})"


def _normal(case: _Case) -> Iterator[Evidence]:
    """What makes a healthy run as fast as it is, and over several boxes what a faster one would have."""
    form, machine, model = case.form, case.machine, case.model
    adds = machine.nvls and machine.gpus > 1 and form.collective == "all-reduce"
    if machine.boxes == 1:
        if adds and form.measured > NVLS_LEAST * machine.link:
            yield Evidence("nvls", 1.5, "faster than a ring on these links: the switch adds (NVLS)")
        elif not machine.linked:
            yield Evidence("pcie-limited", 1.0, "without links of their own the GPUs are as fast as PCIe")
        return
    by_wires = form.measured <= machine.network or model.binding in AS_IT_SHOULD
    text = AS_IT_SHOULD.get(case.bound.binding, "") if by_wires else ""
    yield Evidence("single-nic" if machine.cards == 1 < machine.gpus else "nic-limited", 0.8, text)
    fewer = max(1, machine.cards - 1)
    rate = modeled(machine, form, cards=fewer).busbw
    if fewer > 1 and form.measured <= 1.02 * rate < 0.95 * model.busbw:
        text = f"{fewer} of {machine.cards} cards would give as much, {rate / 1e9:.3g} GB/s"
        yield Evidence("misconfiguration", 0.85, text)
    if adds and form.measured > machine.network:
        yield Evidence("nvls", 0.9, "faster than a ring over the cards: NVLSTree or a tree")
    if case.slower:
        yield Evidence("misconfiguration", 0.95, f"{model.picked} over part of the cards would give as much")


def _confidence(case: _Case, state: str, distance: float, ranked: list[tuple[str, float]], certain: bool) -> float:
    if state == "undecided":
        return 0.3
    sure, most = 0.55 + 0.25 * min(1.0, distance), MOST_SURE
    if state == "below-expectation":
        sure = min(sure, 0.35 + 0.5 * ranked[0][1] / sum(weight for _, weight in ranked) if ranked else 0.3)
        if certain:
            sure, most = sure if case.assumed else 0.85, 0.85
    sure -= 0.05 * len(case.assumed) + (0.2 if len(case.run.unread) > len(case.run.rows) / 10 else 0.0)
    return max(0.2, min(most, sure, 0.5 if state == "healthy" and case.doubtful else 1.0))


def _likely(cause: str | None, boxes: int) -> str:
    return "the numbers name no cause" if cause in (None, "other") else f"most likely {advice(cause, boxes)[0]}"


def _sentence(case: _Case, state: str, cause: str | None) -> str:
    form, machine, bound = case.form, case.machine, case.bound
    boxes = "many" if case.run.ranks == ANY_RANKS and not case.run.boxes else machine.boxes
    low, high, reached = (
        f"{rate / 1e9:{'.3g' if rate < 1e12 else ',.0f'}}" for rate in (bound.low, bound.high, form.measured)
    )
    apart = f"{boxes} x " if machine.boxes > 1 else ""
    speed, span = f"{apart}{machine.gpus} {machine.name} at {reached} GB/s busbw", f"{low} to {high} GB/s"
    wires = {"network card": "the network cards", "spine": "the spine"}.get(bound.binding, bound.binding)
    if state == "healthy":
        condition = case.condition or case.poorer
        only = f", if {condition}" if condition else ""
        as_fast = "the switch adds (NVLS)" if cause == "nvls" else advice(cause, machine.boxes)[0] if cause else ""
        return f"{speed}: normal for {wires} ({span}){only}{'; ' * bool(as_fast)}{as_fast}."
    if state == "below-expectation":
        how = "is below the" if form.measured < bound.low else "is not as it should be, though within the"
        return f"{speed} {how} {span} of {wires}; {_likely(cause, machine.boxes)}."
    if case.poorer:
        why = f"what cards of {case.poorer} a box carry; say --cards"
    elif form.measured > FASTER_THAN_THE_WIRE * bound.high:
        why = "faster than its wires, so the machine is another one"
    elif form.largest < LARGE or cause == "latency-bound":
        why = "measured at small messages only" if form.largest < LARGE else "measured at too little for its ranks"
    elif machine.boxes > 1 and machine.gpus > UNKNOWN.gpus and form.measured < bound.low:
        why = f"below {span}, and no run over several such racks that is known to be healthy was published"
    elif bound.gap[0] < form.measured < bound.gap[1]:
        why = "between what the usual sets of cards give; say --cards"
    elif bound.least < bound.low and form.measured >= bound.least * UNSURE and len(bound.runs) >= FEWEST:
        why = f"below the {low} GB/s that nearly all of {len(bound.runs)} published runs of such machines reach"
    else:
        why = f"{'perhaps no plateau yet, below' if form.settled < 1 else 'near the low end of'} {span}"
    return f"I cannot tell: {speed} is {why}."


def _test(cause: str | None, run: Run, boxes: int | None) -> str:
    """A command: one host needs no mpirun, nor nccl-tests built with MPI; several get their settings by -x."""
    if "host memory" in run.facts:
        return HOSTS_TEST
    if run.dialect in OF_MPI and "library" not in run.facts:
        return MPI_TEST
    collective = run.collective or "all-reduce"
    program, *_, on_neuron, _ = PROGRAMS[collective]
    if run.dialect == NEURON:
        return f"nccom-test -r {run.ranks or 'N'} -b 1mb -e 1gb -f 2 {on_neuron or collective}, then with fewer cores"
    _, words, settings, _ = advice(cause or "other", boxes, run.vendor)
    if collective in PAIRS:
        settings = [OF_PAIRS.get(setting, (setting, setting))[run.boxes != 1] for setting in settings]
    program = f"./build/{program}"
    alone = run.boxes == 1 and run.ranks is not None
    if alone:
        launch, gpus = " ".join([*settings, program]), run.ranks
    else:
        exports = (f"-x {setting}" for setting in settings)
        launch, gpus = " ".join(["mpirun", f"-np {run.ranks or 'N'}", *exports, program]), 1
    large, sweep = (
        f"{launch} {sizes} -g {gpus}" for sizes in ("-b 1G -e 8G -f 2 -w 20", "-b 8 -e 16G -f 2 -w 20 -n 100")
    )
    return words.format(
        run=large, sweep=sweep, alone="" if alone or run.ranks == (run.boxes or 0) else ", then one box alone"
    )

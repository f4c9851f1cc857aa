"""Random command lines, most of them wrong somewhere, run one after another in this process.

    python tests/cli_lines.py SEED LINES

Prints a JSON list for each line: as soon as it begins the words alone, and when it is done the words, the status,
and what went to standard output and standard error. No line gets more than SECONDS of processor time, and the process
no more than MEMORY: where one takes more, the process ends, and the line that it had begun is the last one printed.
"""

from __future__ import annotations

import contextlib
import io
import json
import random
import resource
import sys
import tempfile
from pathlib import Path
from typing import Any

from colllib import cli, cli_io, mpi
from colllib.algorithms import CATALOGUE
from colllib.measured.sweeps import sweeps
from colllib.measured.write import write
from colllib.primitives import PRIMITIVES
from colllib.topology.expression import TOPOLOGIES
from colllib.topology.machines import PRESETS as MACHINES
from colllib.topology.presets import PRESETS

# a ladder runs several algorithms of up to six seconds each, and a machine may be half as fast
SECONDS, MEMORY = 60, 4 * 2**30

LARGE = ["3000000", "4294967296", "9007199254740993", "999999999999999999", "9" * 30, "9" * 5000]
WILD = [
    "",
    " ",
    "-1",
    "--4",
    "+3",
    "1_0",
    "٤",
    "４",
    "0x10",
    "1e3",
    "1.5",
    "∞",
    "nan",
    "None",
    "many",
    "\n",
    "\x1b[31m",
    "\udcff",
    "é" * 300,
]
NUMBERS = [str(n) for n in (1, 2, 3, 4, 4, 5, 6, 7, 8, 8, 9, 12, 16)]
SIZES = ["16MB", "1GB", "1 kB", "0B", "1GiB", "3.5MB", ".5MB", "1e6B", "8Mbit", "1e30B", "1e-30B", "7B"]
TIMES = ["0.5us", "1us", "250 ns", "0s", "5µs", "1e-6 s", "1e12s", "3ms"]
RATES = ["900GB/s", "400Gbit/s", "1B/s", "1e-30B/s", "1e30B/s", "50 GB/s", "1.8TB/s"]
QUANTITIES = [
    *("1.2.3MB", "∞ MB", "[1]MB", "MB", "µB", "--5MB", "1,000MB", "16MB;", "us", "9**9**9 MB", "2**99999999999MB"),
    *("1e300B", "1e999999999B", "1e-300B/s", "0GB/s", "-1us", "nans", "infB", "16 MB/s/s", "1 mebibyte", "16", "5 GHz"),
    *("٤MB", "1_0MB", "9" * 5000 + "MB", "1" + "0" * 99 + "MB", "__import__('os')", "", "16\u00a0MB", "1MB,2MB"),
]
TEXTS = ["near", "far", "rounds", "up", "split", "balanced", "inner-first", "true", "false", "ring", "bruck"]


class Lines:
    """Command lines from one seed, some of them about a log."""

    def __init__(self, seed: int, log: str) -> None:
        self.random, self.log = random.Random(seed), log

    def one_of(self, *choices: list[str], often: float = 0.85) -> str:
        """From the first list mostly, else from the others."""
        good, *others = choices
        bad = [value for choice in others for value in choice]
        return self.random.choice(good if not bad or self.random.random() < often else bad)

    def number(self, often: float = 0.9) -> str:
        return self.one_of(NUMBERS, LARGE, WILD, often=often)

    def name(self, known: list[str]) -> str:
        return self.one_of(known, ["", "butterfly", "x" * 5000, "--", "ring\n", "ümlaut"], often=0.97)

    def topology(self, most: int = 16) -> str:
        kind = self.one_of([*TOPOLOGIES, "star", "ring", "torus", "boxes"], ["moon", "", "x" * 3000])
        count = TOPOLOGIES[kind].sizes if kind in TOPOLOGIES else 1
        if "debruijn" in kind or "hypercube" in kind:
            most = 4  # a size is an exponent: three lines of two thousand took as long as half of the others
        sizes = [
            self.one_of([n for n in NUMBERS if int(n) <= most], LARGE, WILD, often=0.95)
            for _ in range(count or self.random.choice([1, 2, 2, 2, 3, 3, 30]))
        ]
        if kind == "boxes" and self.random.random() < 0.9:
            sizes = sizes[:3]
        text = f"{kind}:{'x'.join(sizes)}" if self.random.random() < 0.97 else kind + self.one_of(WILD)
        known = TOPOLOGIES[kind].options if kind in TOPOLOGIES else {"seed": "0"}
        while known and self.random.random() < 0.25:
            key = self.one_of(list(known), ["speed", ""], often=0.95)
            value = self.one_of(
                [*NUMBERS, "1/2", "8/3", "1:0", "2:4", known.get(key, "0")], TEXTS, LARGE, WILD, often=0.7
            )
            text += f",{key}={value}"
        return text

    def quantities(self) -> list[str]:
        words: list[str] = []
        for option, good in (("--message", SIZES), ("--alpha", TIMES), ("--bandwidth", RATES)):
            if self.random.random() < 0.4:
                several = 1 if option == "--message" else self.random.choice([1] * 9 + [2, 3])
                words += [option, ",".join(self.one_of(good, QUANTITIES, often=0.93) for _ in range(several))]
        return words

    def prices_of(self, on: str) -> list[str]:
        """Most lines on boxes give a value for each level."""
        if not on.startswith("boxes:") or self.random.random() < 0.2:
            return self.quantities()
        levels = on.partition(",")[0].count("x")  # one of them in the word "boxes"
        return ["--alpha", ",".join(["1us"] * levels), "--bandwidth", ",".join(["50GB/s"] * levels)]

    def algorithm(self) -> tuple[list[str], dict[str, str], bool, str]:
        """Its names, its options, whether it takes segments, and a topology that may suit it."""
        chosen = self.random.choice(CATALOGUE)
        primitive, name = self.name([chosen.primitive]), self.name([chosen.name])
        on = self.topology()
        if self.random.random() < 0.7:
            n = self.random.choice(NUMBERS)
            try:
                on = chosen.at_home(int(n)).name
            except (StopIteration, ValueError):
                on = f"star:{n}"
        return [primitive, name], chosen.options, chosen.segmented, on

    def options(self, known: dict[str, str]) -> list[str]:
        words: list[str] = []
        while self.random.random() < 0.4:
            key = self.one_of([*known] or ["root"], ["speed", "", "root"], often=0.95)
            good = {"int": NUMBERS[:4], "bool": ["true", "false"]}.get(known.get(key, ""), TEXTS)
            words += ["--with", f"{key}={self.one_of(good, LARGE, WILD, TEXTS)}"]
        return words

    def segments(self, segmented: bool) -> list[str]:
        if self.random.random() > (0.5 if segmented else 0.05):
            return []
        return ["--segments", self.one_of([*NUMBERS, "best", "best"], LARGE, WILD, often=0.8)]

    def machine(self) -> str:
        """A machine of predictions, or a topology's preset, with options."""
        text = f"{self.one_of([*MACHINES], [*PRESETS, 'dgx-z9', 'nowhere.toml', ''], often=0.93)}:{self.number()}"
        while self.random.random() < 0.4:
            good = dict.fromkeys(("cards", "gpus", "boxes"), NUMBERS) | dict.fromkeys(("card", "link"), RATES)
            key = self.one_of([*good, "oversubscription", "collnet"], ["speed", ""], often=0.95)
            value = self.one_of(good.get(key, ["true", "2", "1.5"]), QUANTITIES, LARGE, WILD, often=0.9)
            text += f",{key}={value}"
        return text

    def measured(self, command: str) -> list[str]:
        """The rest of a line of predict, diagnose, describe or mpi-bench."""
        if command == "describe":
            return [self.one_of([self.machine(), self.topology()])]
        primitive = self.name([*PRIMITIVES, "sendrecv"])
        if command == "mpi-bench":
            return [primitive, *self.one_of([["ring"], []]), "--to", self.one_of(SIZES, QUANTITIES)]
        words = ["--on", self.machine()] if command == "predict" or self.random.random() < 0.5 else []
        if command == "predict":
            words = [primitive, *words]
            if self.random.random() < 0.3:
                return words
            words += ["--message", self.one_of(SIZES, QUANTITIES)]
            if self.random.random() < 0.4:
                words += ["--what-if", self.machine().partition(",")[2]]
            return words + self.one_of([[], ["--sensitivity"], ["--algorithms"]])
        for option in ("--boxes", "--gpus-per-box"):
            words += [option, self.number()] if self.random.random() < 0.4 else []
        words += ["--gpu", self.name(["h100", "A100-SXM4-80GB", "mi300x"])] if self.random.random() < 0.5 else []
        cards = f"{self.number()}x{self.one_of(RATES, QUANTITIES)}"
        words += ["--cards", cards] if self.random.random() < 0.4 else []
        return [self.one_of([self.log], ["nowhere.txt", ""]), *words]

    def places(self) -> list[str]:
        """Placements and groups, as `run` and `ladder` take them."""
        if self.random.random() > 0.15:
            return []
        kinds = ["contiguous", "strided", "random", "random,3", "search"]
        placement = ["--placement", self.one_of(kinds, NUMBERS, WILD)]
        groups = ["--groups", f"{self.one_of(['inside', 'across'], WILD)}:{self.number()}"]
        return self.one_of([placement, groups, placement + groups])

    def line(self) -> list[str]:
        common = ["run"] * 10 + ["trace"] * 4 + ["ladder"] * 4 + ["mpi-run"] * 2 + ["list"]
        command = self.one_of(common + ["predict"] * 3 + ["diagnose"] * 3 + ["describe"] * 2 + ["mpi-bench"])
        words = [self.name([command])]
        if command in ("predict", "diagnose", "describe", "mpi-bench"):
            words += self.measured(command)
        elif command == "ladder":
            topology = self.topology(most=6)
            words.append(self.name(list(PRIMITIVES)))
            words += self.one_of([["--on", topology]] * 3, [["--ranks", self.number(0.7)], []], often=0.7)
            words += self.prices_of(topology)
        elif command != "list":
            names, known, segmented, topology = self.algorithm()
            words += [*names, "--on", topology, *self.options(known), *self.segments(segmented)]
            if command == "run":
                words += self.prices_of(topology) + self.places()
            if command == "mpi-run":
                words += ["--elements", self.number(), "--seed", self.number()]
            if command == "run" and self.random.random() < 0.2:
                words += ["--clock", self.one_of(["event", "event", "lockstep"], WILD)]
        if self.random.random() < 0.04:
            words.insert(
                self.random.randrange(len(words)), self.one_of(["--loud", "-x", "--with", "--root", "--", "-h"])
            )
        if self.random.random() < 0.02:
            del words[self.random.randrange(len(words))]
        return [*words, *(["--json"] if self.random.random() < 0.6 else [])]


def run(words: list[str]) -> tuple[Any, str, str]:
    """The status of a line, and what it prints."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            cli.main(words)
            status: Any = "no exit"
        except SystemExit as end:
            status = end.code
        except BaseException as error:
            status = repr(error)
    return status, out.getvalue(), err.getvalue()


def without_mpi() -> Any:
    raise ImportError("no MPI is started here")


def main(seed: int, count: int) -> None:
    mpi.world = without_mpi
    cli_io.PATIENCE = 3600.0  # in which nothing is said of what takes long
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    log = Path(tempfile.mkdtemp()) / "log.txt"
    log.write_text(write(next(sweep.run for sweep in sweeps() if sweep.run.ranks)), encoding="utf-8")
    lines = Lines(seed, str(log))
    for _ in range(count):
        words = lines.line()
        print(json.dumps([words]), flush=True)
        used = resource.getrusage(resource.RUSAGE_SELF)
        resource.setrlimit(resource.RLIMIT_CPU, (int(used.ru_utime + used.ru_stime) + SECONDS, resource.RLIM_INFINITY))
        print(json.dumps([words, *run(words)]), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))

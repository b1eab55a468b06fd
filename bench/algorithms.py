"""Every classifier of the catalogue beside PA: the whole run over a file, by default parameters."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.data import CLASSES, FEATURES
from bench.measure import Bench, BenchError, Line, run, warm

LIMIT = 30  # seconds that one run may take
SLOW = 10  # seconds beyond which a run is not repeated

SECOND_ORDER = 1.6
SPARSE = 1.6
PLAIN_LOOPS = 2.0  # methods written as loops over the entries of a row
SELECTION = 3.0
ONE_MORE = 1.5
MIRROR = 2.0
TARGETS = dict.fromkeys(("arow", "cw", "iellip", "narow", "nherd", "scw", "sop"), SECOND_ORDER)
TARGETS |= dict.fromkeys(("ada-fobos", "ada-rda", "fobos", "rda", "truncated-gradient"), SPARSE)
TARGETS |= dict.fromkeys(("ftrl", "group-rda", "multi-task-rda"), PLAIN_LOOPS)
TARGETS |= dict.fromkeys(("ofs", "pet", "sofs"), SELECTION)
TARGETS |= dict.fromkeys(("alma", "aggressive-romma", "mira", "romma"), ONE_MORE)
TARGETS |= dict.fromkeys(("eg", "mirror-descent"), MIRROR)
MANY = 4.0  # classes: 20 scores a row instead of one

ALL = f"n_features={FEATURES}"  # weights that are there from the beginning
VARIANTS: dict[str, tuple[tuple[str, ...], ...]] = {  # parameters other than the defaults
    "bayesian-sparse": (("memory=100",),),  # a matrix of all features would be beyond its limit
    "pa": (("average=true",),),
    "eg": ((ALL,),),
    "group-rda": (("groups=10",),),
    "ofs": (("k=1000",),),
    "pet": (("k=1000",),),
    "sofs": (("k=1000",),),
    "mirror-descent": ((), ("mirror=entropy", ALL), ("mirror=pnorm", "p=4")),
    "multi-task-rda": (("n_tasks=1",),),
}
QUADRATIC = ("voted-perceptron", "bayesian-sparse")  # on the head of the file only


@dataclass(frozen=True)
class Case:
    """One command."""

    algorithm: str
    file: Path
    parameters: tuple[str, ...] = ()

    @property
    def what(self) -> str:
        return f"run -a {self.algorithm}" + "".join(f" -p {parameter}" for parameter in self.parameters)

    @property
    def target(self) -> float | None:
        return ONE_MORE if "average=true" in self.parameters else TARGETS.get(self.algorithm)

    def run(self, bench: Bench) -> float:
        options = [word for parameter in self.parameters for word in ("-p", parameter)]
        return run(bench.seriatim, "run", self.file, "-a", self.algorithm, *options, "--json", limit=LIMIT).seconds


def compare(bench: Bench) -> Iterator[Line]:
    """In turns; a case that is slow has one turn, one that fails or takes too long is left out."""
    files = bench.files
    warm(files.libsvm, files.many, files.head)
    known = classifiers(bench)
    cases = [
        Case(name, files.head if name in QUADRATIC else files.libsvm, parameters)
        for name in known
        for parameters in VARIANTS.get(name, ((),))
    ]
    pa, head, many = (Case("pa", file) for file in (files.libsvm, files.head, files.many))
    seconds: dict[Case, list[float]] = {case: [] for case in (pa, many, head, *cases)}
    failed: dict[Case, str] = {}
    for turn in range(bench.repeat):
        for case, times in seconds.items():
            if case in failed or (times and min(times) > SLOW):
                continue
            bench.say(f"{case.what} on {case.file.name}, {turn + 1} of {bench.repeat}")
            try:
                times.append(case.run(bench))
            except BenchError as error:
                if case in (pa, many, head):
                    raise
                failed[case] = f"left out: {error}"
    for case in [case for case in cases if case not in failed]:
        beside = head if case.file == files.head else pa
        what, peer = (f"{one.what} {files.head.name}" if beside == head else one.what for one in (case, pa))
        yield Line(what, peer, min(seconds[case]), min(seconds[beside]), "s", case.target)
    note = "; ".join(failed.values())
    yield Line(f"run -a pa, {CLASSES} classes", "2 classes", min(seconds[many]), min(seconds[pa]), "s", MANY, note=note)


def classifiers(bench: Bench) -> list[str]:
    """Their names on the command line; kernel machines, which grow with the file, have a bench of their own."""
    known = json.loads(run(bench.seriatim, "algorithms", "--json").output)
    return [name for name, about in known.items() if about["task"] == "classification" and about["family"] != "kernel"]

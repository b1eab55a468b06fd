"""What judging costs: beside learning alone, beside River, and on two cores beside one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.measure import Bench, Line, Worker, best, run, take_turns

PERMUTATIONS = 20
AGAIN = 20  # times as many turns of judging
OFTEN = 4  # times as many turns on two cores: each is over in a tenth of a second, and has to have both of them
FEW = 2  # permutations that River goes over in a turn


def compare(bench: Bench) -> Iterator[Line]:
    yield judging(bench)
    with TemporaryDirectory() as folder:
        spam = Path(folder) / "spam.svm"
        run(bench.seriatim, "convert", "spam", spam)
        yield beside_river(bench, spam)
    yield bare(bench)
    yield on_two_cores(bench, PERMUTATIONS)
    yield on_two_cores(bench, FEW, bench.files.arrays)


def judging(bench: Bench) -> Line:
    """Progressive validation beside the same learning without it."""
    bench.say("progressive, and learning alone")
    with Worker(bench.python, "evaluation", bench.files.arrays, AGAIN * bench.repeat) as both:
        seconds = both()
    return Line("progressive, pa", "learning alone", seconds["judging"], seconds["learning"], "s", 1.1)


def beside_river(bench: Bench, spam: Path) -> Line:
    """Time a run of the algorithms that both have; River's is that of a few permutations."""
    with (
        Worker(bench.python, "comparing", "seriatim", PERMUTATIONS, 2, "shared") as ours,
        Worker(bench.peers, "comparing", "river", FEW, spam) as theirs,
    ):
        answers = best(take_turns(bench, {"seriatim": ours, "river": theirs}, min(bench.repeat, 3)))
    each = [1e3 * answers[who]["seconds"] / answers[who]["runs"] for who in ("seriatim", "river")]
    note = f"ours all of `compare` with {PERMUTATIONS} permutations, River's progressive_val_score with {FEW}"
    return Line("compare spam, a run", "river", *each, "ms", 1 / 50, note=note)


def bare(bench: Bench) -> Line:
    """What a second core is worth here and now: the same learning by two threads and by one, and nothing else."""
    with (
        Worker(bench.python, "comparing", "bare", PERMUTATIONS, 2) as two,
        Worker(bench.python, "comparing", "bare", PERMUTATIONS, 1) as one,
    ):
        answers = best(take_turns(bench, {"2 threads": two, "1 thread": one}, OFTEN * bench.repeat))
    seconds = [answers[side]["seconds"] for side in ("2 threads", "1 thread")]
    return Line("learning spam, 2 threads", "1 thread", *seconds, "s", note="no comparison can gain more than that")


def on_two_cores(bench: Bench, permutations: int, *arrays: Path) -> Line:
    """The default comparison with two jobs and with one."""
    given = permutations, "all", *arrays
    with (
        Worker(bench.python, "comparing", "seriatim", given[0], 2, *given[1:]) as two,
        Worker(bench.python, "comparing", "seriatim", given[0], 1, *given[1:]) as one,
    ):
        answers = best(take_turns(bench, {"2 jobs": two, "1 job": one}, OFTEN * bench.repeat))
    seconds = [answers[side]["seconds"] for side in ("2 jobs", "1 job")]
    what = "20,000 rows" if arrays else "spam"
    return Line(f"compare {what}, {answers['1 job']['runs']} runs, 2 jobs", "1 job", *seconds, "s", 1 / 1.8)

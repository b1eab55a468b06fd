"""`python -m bench`: Seriatim beside its peers, in one table."""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from bench import (
    algorithms,
    decomposition,
    dictionary,
    dimension,
    evaluation,
    kernels,
    memory,
    one_by_one,
    partial_fit,
    passes,
    pipe,
    portfolio,
    reading,
    recommend,
    startup,
    topics,
    vowpal_wabbit,
    words,
    zeros,
)
from bench.data import prepare
from bench.measure import ROOT, Bench, BenchError, Line

COMPARISONS = {
    "vw": vowpal_wabbit.compare,
    "words": words.compare,
    "load": reading.load,
    "csv": reading.csv,
    "parquet": reading.parquet,
    "gzip": reading.gzip,
    "passes": passes.compare,
    "memory": memory.compare,
    "pipe": pipe.compare,
    "partial-fit": partial_fit.compare,
    "one-by-one": one_by_one.compare,
    "startup": startup.compare,
    "algorithms": algorithms.compare,
    "dimension": dimension.compare,
    "zeros": zeros.compare,
    "evaluation": evaluation.compare,
    "kernels": kernels.compare,
    "svd": decomposition.compare,
    "recommend": recommend.compare,
    "topics": topics.compare,
    "dictionary": dictionary.compare,
    "portfolio": portfolio.compare,
}
OURS = ("numpy", "scipy", "pyarrow", "isal")
PEERS = ("vowpalwabbit", "scikit-learn", "gensim", "river", "scipy", "numpy", "pyarrow")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure Seriatim beside its peers.")
    parser.add_argument("--rows", type=positive, default=1_000_000, help="rows of the file (default: 1000000)")
    parser.add_argument("--repeat", type=positive, default=5, help="turns each, of which the best counts (default: 5)")
    parser.add_argument("--only", choices=COMPARISONS, help="one comparison instead of all")
    parser.add_argument(
        "--seriatim", type=Path, default=Path(sys.executable).with_name("seriatim"), metavar="EXECUTABLE"
    )
    parser.add_argument("--peers", type=Path, default=ROOT / ".venv-peers/bin/python", metavar="PYTHON")
    parser.add_argument("--data", metavar="FOLDER", help="of the larger data sets (default: $SERIATIM_DATA)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there, too")
    return parser.parse_args()


def positive(text: str) -> int:
    """A whole number from 1 on."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number from 1 on, found {text!r}")
    return int(text)


def absolute(path: Path, what: str) -> Path:
    """The path of a program that is there; links are kept, for a virtual environment is known by them."""
    if not os.access(path, os.X_OK):
        raise BenchError(f"{what} is not at {path}; `make bench` makes it")
    return path.absolute()


def versions(python: Path, names: tuple[str, ...]) -> dict[str, str]:
    """The versions of packages, and of Python, as an interpreter has them."""
    code = (
        "import json, platform, sys; from importlib.metadata import version;"
        "print(json.dumps({'python': platform.python_version()} | {name: version(name) for name in sys.argv[1:]}))"
    )
    done = subprocess.run([python, "-c", code, *names], capture_output=True, text=True)
    if done.returncode:
        missing = done.stderr.rstrip().rpartition("\n")[2]
        raise BenchError(f"{python} has not all of {', '.join(names)} ({missing}); `make bench` installs them")
    return json.loads(done.stdout)


def measure(options: argparse.Namespace, console: Console) -> tuple[dict[str, Any], list[Line]]:
    """All lines, and what they were measured with."""
    seriatim = absolute(options.seriatim, "the seriatim command")
    python = absolute(seriatim.with_name("python"), "Seriatim's interpreter")
    peers = absolute(options.peers, "the peers' interpreter")
    about = {
        "rows": options.rows,
        "repeat": options.repeat,
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 2),  # of others: nothing has been started yet
        "ours": versions(python, OURS),
        "theirs": versions(peers, PEERS),
    }
    # The display has no thread of its own: it would disturb what is measured.
    columns = SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()
    lines = []
    with Progress(*columns, console=console, transient=True, auto_refresh=False) as progress:
        task = progress.add_task("")

        def say(text: str) -> None:
            progress.update(task, description=text, refresh=True)

        files = prepare(options.rows, say)
        bench = Bench(seriatim, python, peers, options.rows, options.repeat, files, say)
        for name in [options.only] if options.only else COMPARISONS:
            for line in COMPARISONS[name](bench):
                lines.append(line)
                progress.console.print(f"{line.what}, beside {line.beside}: {ratio(line.ratio)}", highlight=False)
    return about, lines


def ratio(value: float) -> str:
    """A ratio as one is said: 1/6.2 below 1, 1.35 above."""
    return f"1/{1 / value:.1f}" if value < 0.95 else f"{value:.2f}"


def target(line: Line) -> str:
    if line.target is not None:
        return f"1/{1 / line.target:.3g}" if line.target < 1 else f"{line.target:g}"
    return "" if line.limit is None else f"{line.limit:g} {line.unit}"


def show(about: dict[str, Any], lines: list[Line], console: Console) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("what")
    table.add_column("beside")
    for title in ("ours", "theirs", "ratio", "target", "met"):
        table.add_column(title, justify="right", no_wrap=True)
    met = {True: "[green]yes", False: "[red]no", None: ""}
    for line in lines:
        values = (f"{value:.3g} {line.unit}" for value in (line.ours, line.theirs))
        table.add_row(line.what, line.beside, *values, ratio(line.ratio), target(line), met[line.met])
    console.print(table)
    for line in lines:
        if line.note:
            console.print(f"{line.what}, beside {line.beside}: {line.note}", highlight=False, style="dim")
    busy = "; others were at work, so measure again" if about["load"] > 0.25 * about["cores"] else ""
    console.print(f"{about['cores']} cores, load {about['load']} at the start{busy}", highlight=False, style="dim")
    for side in ("ours", "theirs"):
        console.print(
            f"{side}: {', '.join(' '.join(item) for item in about[side].items())}", highlight=False, style="dim"
        )


def main() -> int:
    options = arguments()
    if options.data:
        os.environ["SERIATIM_DATA"] = str(Path(options.data).absolute())  # the workers read it, too
    try:
        about, lines = measure(options, Console(stderr=True))
    except BenchError as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    show(about, lines, Console())
    if options.json:
        figures = [asdict(line) | {"ratio": line.ratio, "met": line.met} for line in lines]
        options.json.write_text(json.dumps({**about, "lines": figures}, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

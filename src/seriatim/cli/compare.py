"""seriatim compare"""

from __future__ import annotations

import json
import shlex
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Any

import click

from seriatim.cli import (
    Prefix,
    check_folder,
    data_argument,
    feature_options,
    features_of,
    format_options,
    report_skipped,
)

FOLDER = "seriatim-results/"


@click.command("compare")
@data_argument
@click.option(
    "-a",
    "--algorithm",
    "algorithms",
    multiple=True,
    metavar="SPEC",
    help="NAME or NAME:PARAMETER=VALUE,...; may be repeated. A good dozen if there is none.",
)
@click.option("--permutations", type=click.IntRange(1), default=20, show_default=True, help="Orders to run over.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of the permutations.")
@click.option("--jobs", type=click.IntRange(1), help="Runs at the same time; as many as there are cores.")
@click.option("--limit", type=click.IntRange(1), help="Read only so many examples.")
@click.option("--sample", type=click.FloatRange(0, 1, min_open=True), help="Take this share, by chance.")
@format_options
@feature_options
@click.option("--store", metavar="FILE", help=f"Keep the runs here; else in the folder {FOLDER}.")
@click.option(
    "--regret/--no-regret", default=True, help="Regret and bounds on the first permutation, where they apply."
)
@click.option("--tune", is_flag=True, help="First tune each algorithm, on examples that are then left out.")
@click.option("--search", type=click.Choice(["grid", "random", "halving"]), default="grid", help="How to tune.")
@click.option("--prefix", type=Prefix(), default="0.2", metavar="SHARE|N", help="Tune on so much.")
@click.option("--like-libol", is_flag=True, help="Tune on the examples that are reported, as the literature does.")
@click.option("--report", metavar="FILE", help="Write the report here; else beside the runs.")
@click.option("--no-report", is_flag=True, help="Write no report.")
@click.option("--figures", type=click.Choice(["png", "svg"]), help="Save the figures, too, beside the report.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(
    sources: tuple[str, ...],
    algorithms: tuple[str, ...],
    permutations: int,
    seed: int,
    jobs: int | None,
    store: str | None,
    regret: bool,
    tune: bool,
    search: str,
    prefix: float,
    like_libol: bool,
    report: str | None,
    no_report: bool,
    figures: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Run many algorithms over the same permutations of DATA, and say which is best and which differ from it.

    Each run is judged by every prediction that it makes before it learns the answer. The table shows the mean and the
    standard deviation over the permutations. Every run is kept, so that a comparison that was stopped goes on where it
    was, a second one prints at once, and with another algorithm or more permutations only those are run. DATA is as for
    `seriatim run`; labels that are not whole numbers or names are estimated, and judged by the mean absolute error.

    \b
    seriatim compare spam
    seriatim compare spam --normalize max -a arow -a arow:r=10 -a pa:variant=II,C=0.1
    seriatim compare spam --normalize max --tune
    seriatim compare mail.csv --label spam --text subject --permutations 50 --jobs 2
    seriatim compare sea:noise=0.2 --limit 20000 --no-report --json
    """
    from seriatim.evaluate import compare

    for path in (store, report):
        check_folder(path)
    features = features_of(options)
    stream = open_data(sources, features, options)
    start = time.perf_counter()
    try:
        with LiveTable() as live:
            comparison = compare(
                stream,
                algorithms or None,
                permutations=permutations,
                seed=seed,
                jobs=jobs,
                store=store or FOLDER,
                features=features,
                regret=regret and not no_report,
                tune="like-libol" if like_libol else search if tune else None,
                prefix=prefix,
                watch=live,
            )
    except KeyboardInterrupt:  # before the first run
        click.echo("seriatim: interrupted", err=True)
        sys.exit(130)
    comparison.command = shlex.join(["seriatim", *sys.argv[1:]])
    report_skipped(stream)
    written = [] if no_report or comparison.interrupted else write_report(comparison, report, figures)
    if as_json:
        click.echo(json.dumps(comparison.as_dict() | {"store": str(comparison.store), "written": written}))
    else:
        show(comparison, time.perf_counter() - start)
        for path in written:
            click.echo(f"report: {path}")
    if comparison.interrupted:
        done = f"{len(comparison.records):,} of {comparison.total:,} runs are kept"
        click.echo(f"seriatim: interrupted; {done}, and the same command goes on from there", err=True)
        sys.exit(130)


def open_data(sources: tuple[str, ...], features: Any, options: dict[str, Any]) -> Any:
    from seriatim import data

    source = sources[0] if len(sources) == 1 else list(sources)
    if len(sources) == 1 and data.drift.generated(sources[0]) is not None:
        return data.stream(source, limit=options["limit"], sample=options["sample"])
    return data.stream(source, features=features, **options)


def write_report(comparison: Any, path: str | None, figures: str | None) -> list[str]:
    """Write the report, and figures by request; the files and folders that there are now."""
    from seriatim import report

    about = comparison.as_dict()
    place = Path(path) if path else comparison.store.parent / f"{about['title']}.html"
    report.write(about, place)
    written = [str(place)]
    if figures:
        folder = place.with_name(f"{place.stem}-figures")
        report.save_figures(about, folder, figures)
        written.append(f"{folder}/")
    return written


# ---- tables


class LiveTable:
    """How the comparison stands, on a terminal, while it runs."""

    def __init__(self) -> None:
        self.start = time.perf_counter()
        self.visible = sys.stderr.isatty()
        self.screen: Any = None

    def __enter__(self) -> LiveTable | None:
        return self if self.visible else None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        if self.screen is not None:
            self.screen.stop()

    def __call__(self, comparison: Any) -> None:
        if self.screen is None:
            from rich.console import Console
            from rich.live import Live

            screen = Console(stderr=True)
            self.screen = Live(console=screen, auto_refresh=False, transient=True, redirect_stdout=False)
            self.screen.start()
        self.screen.update(table(comparison, comparison.standings(test=False), self.left(comparison)), refresh=True)

    def left(self, comparison: Any) -> str:
        """How many runs there are, and how long the others will take."""
        done = f"{len(comparison.records):,} of {comparison.total:,} runs"
        if comparison.doing:
            return f"{done}; {comparison.doing}"
        if not comparison.ran:
            return done
        seconds = (time.perf_counter() - self.start) / comparison.ran * (comparison.total - len(comparison.records))
        return f"{done}, {seconds:,.0f} s left"


def table(comparison: Any, standings: list[Any], caption: str | None = None) -> Any:
    """The algorithms that have run so far, the best first and in bold."""
    from rich.table import Table

    size = "support vectors" if any("support vectors" in standing.figures for standing in standings) else "updates"
    shown = [comparison.measure, size, "seconds"]
    grid = Table(box=None, pad_edge=False, caption=caption, caption_justify="left")
    grid.add_column("algorithm", header_style="bold", no_wrap=True)
    for name in shown:
        grid.add_column(name, justify="right", header_style="bold", no_wrap=True)
    unfinished = any(standing.runs < comparison.permutations for standing in standings)
    if unfinished:
        grid.add_column("runs", justify="right", header_style="bold", no_wrap=True)
    digits = {name: digits_of(name, standings) for name in shown}
    for standing in standings:
        cells = [figure(standing.figures.get(name), digits[name]) for name in shown]
        runs = [f"{standing.runs}/{comparison.permutations}"] if unfinished else []
        label = f"{standing.label} {mark()}" if is_as_good(standing) else standing.label
        grid.add_row(label, *cells, *runs, style="bold" if standing.best else None)
    return grid


def is_as_good(standing: Any) -> bool:
    """Whether the test does not tell it from the best."""
    return standing.p is not None and not standing.differs


def digits_of(name: str, standings: list[Any]) -> int:
    """Decimals by which the figures of a column are told apart."""
    if name == "mistake rate":
        return 4
    means = [abs(standing.figures[name][0]) for standing in standings if name in standing.figures]
    smallest = min([mean for mean in means if 0 < mean < float("inf")], default=1.0)
    return next((digits for digits in range(6) if smallest * 10**digits >= 10), 6)


def figure(value: tuple[float, float] | None, digits: int) -> str:
    """Mean and deviation.

    >>> figure((1234.5, 0.25), 2), figure((float("nan"), 0.0), 2), figure(None, 2)
    ('1,234.50 ± 0.25', 'diverged', '')
    """
    if value is None:
        return ""
    mean, deviation = value
    if not abs(mean) < float("inf"):
        return "diverged"
    return f"{mean:,.{digits}f} {drawable('±', '+-')} {deviation:,.{digits}f}"


def drawable(sign: str, otherwise: str) -> str:
    """A sign, where standard output has it."""
    try:
        sign.encode(getattr(sys.stdout, "encoding", None) or "ascii")
    except UnicodeEncodeError:
        return otherwise
    return sign


def mark() -> str:
    return drawable("≈", "~")


def show(comparison: Any, seconds: float) -> None:
    """The result for a person."""
    from rich.console import Console

    examples, standings = comparison.examples, comparison.standings()
    if standings:
        orders = "1 permutation" if comparison.permutations == 1 else f"{comparison.permutations:,} permutations"
        size = f"{examples.n:,} examples, {examples.features:,} features"
        click.secho(f"{examples.name}: {size}, {orders} (seed {comparison.seed})", bold=True)
        if comparison.tuning:
            click.echo(f"tuned: {comparison.tuning}")
        console = Console() if sys.stdout.isatty() else Console(width=200)
        console.print(table(comparison, standings), highlight=False)
        if line := explanation(comparison, standings):
            click.echo(line)
        if comparison.no_regret:
            click.echo(f"no regret: it {comparison.no_regret}")
    done = f"{comparison.ran:,} runs in {seconds:.1f} s" if comparison.ran else "all of them from there"
    click.echo(f"runs: {comparison.store} ({done})")


def explanation(comparison: Any, standings: list[Any]) -> str:
    """What the marks mean, or why there is none."""
    from seriatim.evaluate.significance import LEVEL, fewest_pairs

    if len(standings) < 2:
        return ""
    if all(standing.p is None for standing in standings):
        few = fewest_pairs(len(standings) - 1)
        return f"so few permutations show no significant difference among so many algorithms; {few} could"
    method = f"Wilcoxon's signed ranks over the permutations, Holm's correction, p >= {LEVEL}"
    if any(map(is_as_good, standings)):
        return f"{mark()} no significant difference from the best ({method})"
    return f"all others differ significantly from the best ({method.replace('>=', '<')})"

"""seriatim compare"""

from __future__ import annotations

import json
import os
import shlex
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Any

import click

from seriatim.cli.interrupts import interrupts
from seriatim.cli.options import (
    PrefixType,
    chosen,
    data_argument,
    feature_options,
    features_of,
    format_options,
    json_option,
    limit_option,
    on_terminal,
    report_skipped,
    sample_option,
)
from seriatim.cli.paths import Writes, paths, reads_named_in
from seriatim.cli.screen import console, say
from seriatim.core.text import printable

FOLDER = "seriatim-results/"


@click.command("compare")
@data_argument
@click.option(
    "-a",
    "--algorithm",
    "algorithms",
    multiple=True,
    metavar="SPEC",
    help="An algorithm, as NAME or NAME:PARAMETER=VALUE,... Repeatable (default: about a dozen algorithms).",
)
@click.option(
    "--permutations",
    type=click.IntRange(1),
    default=20,
    metavar="N",
    show_default=True,
    help="Run over N random orders.",
)
@click.option(
    "--seed", type=click.IntRange(0), default=0, metavar="N", show_default=True, help="Seed of the random orders."
)
@click.option(
    "--jobs", type=click.IntRange(1), metavar="N", help="Execute N runs in parallel (default: the number of cores)."
)
@limit_option
@sample_option
@format_options
@feature_options
@click.option("--store", metavar="FILE", help=f"Store the runs in this file (default: a file in {FOLDER}).")
@click.option(
    "--metric",
    metavar="NAME",
    help="Rank by this metric, such as auc or f1 (default: mistake rate; for regression, mean absolute error).",
)
@click.option(
    "--regret/--no-regret",
    default=None,
    help="Compute regret and bounds on the first permutation (default: only if this takes a few seconds).",
)
@click.option(
    "--tune", is_flag=True, help="First tune each algorithm on a prefix of the examples. The runs use the rest."
)
@click.option(
    "--search",
    type=click.Choice(["grid", "random", "halving"]),
    default="grid",
    show_default=True,
    help="Search method of --tune.",
)
@click.option(
    "--prefix",
    type=PrefixType(),
    default="0.2",
    show_default=True,
    metavar="FRACTION|N",
    help="Tune on this fraction of the examples, or on the first N.",
)
@click.option(
    "--like-libol",
    is_flag=True,
    help="Tune on the same examples that the runs use, as LIBOL does. This makes the results optimistic.",
)
@click.option(
    "--report",
    metavar="FILE",
    type=Writes(),
    help="Write the report to this file (default: in the folder of the runs).",
)
@click.option("--no-report", is_flag=True, help="Do not write the report.")
@click.option(
    "--figures", type=click.Choice(["png", "svg"]), help="Also save the plots, in a folder beside the report."
)
@json_option
def command(
    sources: tuple[str, ...],
    algorithms: tuple[str, ...],
    permutations: int,
    seed: int,
    jobs: int | None,
    store: str | None,
    metric: str | None,
    regret: bool | None,
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
    """Run many algorithms over the same random orders of DATA, and test which differ from the best.

    In each run, the model predicts an example, then sees its label and learns from it. The table shows the mean and
    the standard deviation over the orders, and the time of one run. `seriatim run --help` describes DATA. If the
    labels are numbers such as 2.5, the task is regression, and the table shows the mean absolute error.

    The command stores every finished run. If you repeat the command, it executes only the missing runs: after an
    interrupt, with another algorithm, or with more permutations.

    \b
    seriatim compare spam
    seriatim compare spam --normalize max -a arow -a arow:r=10 -a pa:variant=II,C=0.1
    seriatim compare spam --normalize max --tune
    seriatim compare spam --metric auc -a oam -a cspa -a arow
    seriatim compare mail.csv --label spam --text subject --permutations 50 --jobs 2
    seriatim compare sea:noise=0.2 --limit 20000 --no-report --json
    """
    from seriatim.evaluate import compare

    check_options(tune, like_libol, no_report, report, figures)
    reads_named_in(algorithms)
    check_places(store or FOLDER, None if no_report else report or "", figures, tune or like_libol)
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
                metric=metric,
                regret=False if no_report else regret,
                tune="like-libol" if like_libol else search if tune else None,
                prefix=prefix,
                watch=live,
            )
            if comparison.store is None:  # the search was interrupted
                raise KeyboardInterrupt
    except KeyboardInterrupt:  # before the first run
        say("seriatim: interrupted", err=True)
        sys.exit(130)
    comparison.command = shlex.join(["seriatim", *sys.argv[1:]])
    report_skipped(stream)
    with interrupts.keeping("the report"):
        written = [] if no_report or comparison.interrupted else write_report(comparison, report, figures)
    if as_json:
        click.echo(json.dumps(comparison.as_dict() | {"store": str(comparison.store), "written": written}))
    else:
        show(comparison, time.perf_counter() - start)
        for path in written:
            say(f"{'figures' if path.endswith('/') else 'report'}: {path}")
    if comparison.interrupted:
        done = f"{len(comparison.records):,} of {comparison.total:,} runs are stored"
        say(f"seriatim: interrupted; {done}; repeat the command to continue", err=True)
        sys.exit(130)


def check_options(tune: bool, like_libol: bool, no_report: bool, report: str | None, figures: str | None) -> None:
    """Refuse options that have no effect or exclude each other."""
    for name in ("search", "prefix"):
        if chosen(name) and not tune:
            instead = "--tune instead of --like-libol" if like_libol else "--tune"
            raise click.UsageError(f"--{name} has no effect without --tune; give {instead}")
    if tune and like_libol:
        raise click.UsageError("--tune and --like-libol exclude each other; remove one")
    if no_report and (report or figures):
        raise click.UsageError("--no-report excludes --report and --figures; remove one")


def check_places(store: str, report: str | None, figures: str | None, tune: bool) -> None:
    """Check that the runs, the report and the figures can be written without overwriting an input.

    report : its path; "" for the default path, None for no report.
    """
    if Path(store).is_dir() or store.endswith(os.sep):  # file names in it contain a hash of the examples
        paths().writes_in(store)
        page = Path(report) if report else None
    else:
        paths().writes(store, "--store")
        page = Path(report) if report else None
        if tune:
            paths().writes(Path(store).with_suffix(".tuned.json"), "--tune")
        if report == "":
            page = Path(store).with_suffix(".html")
            paths().writes(page, "the report")
    if figures and page:
        from seriatim.report.figures import KINDS

        folder = figures_folder(page)
        paths().writes_in(folder)
        for name in KINDS if folder.is_dir() else ():
            paths().writes(folder / f"{name}.{figures}", "--figures")


def open_data(sources: tuple[str, ...], features: Any, options: dict[str, Any]) -> Any:
    from seriatim import data

    source = sources[0] if len(sources) == 1 else list(sources)
    return data.stream(source, features=features, **options)


def write_report(comparison: Any, path: str | None, figures: str | None) -> list[str]:
    """Write the report, and figures on request. Return the written files and folders."""
    from seriatim import report

    about = comparison.as_dict()
    place = Path(path) if path else comparison.store.with_suffix(".html")
    if place.resolve() == comparison.store.resolve():
        raise click.UsageError(f"{place} holds the runs; give --report another file")
    report.write(about, place)
    written = [str(place)]
    if figures:
        folder = figures_folder(place)
        report.save_figures(about, folder, figures)
        written.append(f"{folder}/")
    return written


def figures_folder(page: Path) -> Path:
    return page.with_name(f"{page.stem}-figures")


# ---- tables


class LiveTable:
    """Shows the comparison on a terminal while it runs."""

    def __init__(self) -> None:
        self.start = time.perf_counter()
        self.visible = on_terminal(sys.stderr)
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
            from rich.live import Live

            screen = console(err=True)
            self.screen = Live(console=screen, auto_refresh=False, transient=True, redirect_stdout=False)
            self.screen.start()
        from rich.text import Text

        from seriatim import report

        if not comparison.records:
            self.start = time.perf_counter()  # count only the runs for the time left
            self.screen.update(Text(printable(comparison.doing)), refresh=True)
        else:
            table = report.table(comparison.brief(test=False), width=self.screen.console.width)
            table.caption = Text(printable(self.left(comparison)))
            self.screen.update(table, refresh=True)

    def left(self, comparison: Any) -> str:
        """The number of finished runs, and the time left."""
        done = f"{len(comparison.records):,} of {comparison.total:,} runs"
        if comparison.doing:
            return f"{done}; {comparison.doing}"
        if not comparison.ran:
            return done
        seconds = (time.perf_counter() - self.start) / comparison.ran * (comparison.total - len(comparison.records))
        return f"{done}, {seconds:,.0f} s left"


def show(comparison: Any, seconds: float) -> None:
    """Print the result as text."""
    from seriatim import report

    examples, about = comparison.examples, comparison.brief()
    if about["algorithms"]:
        orders = "1 permutation" if comparison.permutations == 1 else f"{comparison.permutations:,} permutations"
        size = f"{examples.n:,} examples, {examples.features:,} features"
        say(f"{examples.name}: {size}, {orders} (seed {comparison.seed})", bold=True)
        if comparison.tuning:
            say(f"tuned: {comparison.tuning}")
        if examples.labels is not None and len(examples.labels) == 1:
            label = next(iter(examples.labels))
            say(f"all examples have the label {label}: nothing to learn. Is the file sorted? Use more of it")
        screen = console(None if on_terminal(sys.stdout) else 160)
        table = report.table(about, width=screen.width)
        table.caption = None
        screen.print(table)
        for line in (*explanation(about["algorithms"]), *no_regret(comparison)):
            say(line)
    done = f"{comparison.ran:,} new runs in {seconds:.1f} s" if comparison.ran else "no new runs"
    say(f"runs: {comparison.store} ({done}; each algorithm also runs once in file order)")


def no_regret(comparison: Any) -> list[str]:
    return [f"no regret: it {comparison.no_regret}"] if comparison.no_regret else []


def explanation(algorithms: list[dict[str, Any]]) -> list[str]:
    """Explain the marks of significance, or why there are none."""
    from seriatim.evaluate.comparison.significance import LEVEL, fewest_pairs

    if len(algorithms) < 2:
        return []
    tested = [one for one in algorithms if one["p"] is not None]
    if not tested:
        few = fewest_pairs(len(algorithms) - 1)
        return [f"too few permutations for a significance test; at least {few} are needed"]
    best = next(one["label"] for one in algorithms if one["best"])
    if all(one["differs"] for one in tested):
        found = f"all other algorithms differ significantly from {best} (p < {LEVEL})"
    else:
        found = f"≈ no significant difference from {best} (p >= {LEVEL})"
    return [found, "test: Wilcoxon signed-rank test over the permutations, with Holm correction"]

"""seriatim tune"""

from __future__ import annotations

import json
import shlex
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

import click

from seriatim.cli.options import (
    FEATURES,
    PrefixType,
    algorithm_options,
    build_model,
    chosen,
    data_argument,
    feature_options,
    features_of,
    format_options,
    json_option,
    limit_option,
    on_terminal,
    open_stream,
    report_skipped,
    shuffle_option,
)
from seriatim.cli.screen import say, show_table
from seriatim.core.text import printable

SHOWN = 20  # trials in the table


@click.command("tune")
@data_argument
@algorithm_options
@click.option(
    "--over",
    multiple=True,
    metavar="NAME=V,V,..",
    help="Try these values of a parameter. Repeatable (default: values preset for the algorithm).",
)
@click.option(
    "--search",
    type=click.Choice(["grid", "random", "halving"]),
    default="grid",
    show_default=True,
    help="Search method: all combinations, random ones, or successive halving.",
)
@click.option(
    "--prefix",
    type=PrefixType(),
    default="0.2",
    show_default=True,
    metavar="FRACTION|N",
    help="Search on this fraction of the examples, or on the first N.",
)
@click.option(
    "--tries", type=click.IntRange(1), metavar="N", help="Try at most N combinations (default: 200; 50 for random)."
)
@click.option("--measure", "--metric", metavar="NAME", help="Optimize mistake_rate, mean_loss, auc, f1, ...")
@click.option(
    "--seed", type=click.IntRange(0), default=0, metavar="N", show_default=True, help="Seed of the random choices."
)
@click.option(
    "--like-libol",
    is_flag=True,
    help="Search on all examples and report on the same ones, as LIBOL does. This makes the result optimistic.",
)
@click.option(
    "--jobs", type=click.IntRange(1), metavar="N", help="Execute N trials in parallel (default: the number of cores)."
)
@shuffle_option
@limit_option
@format_options
@feature_options
@json_option
def command(
    sources: tuple[str, ...],
    algorithm: str,
    parameters: tuple[str, ...],
    over: tuple[str, ...],
    like_libol: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Search parameters on the first examples of DATA, and evaluate the best parameters on the rest.

    Each trial runs over the prefix. The best trial has the fewest mistakes, the lowest mean loss (regression) or the
    best --metric. The command then runs the best parameters and the defaults over the rest, which the search has not
    seen. The search tries the values that `seriatim algorithms NAME` shows. Parameters set with -p stay fixed.

    \b
    seriatim tune spam -a scw
    seriatim tune spam -a scw -p variant=II --search halving
    seriatim tune mail.svm -a ogd --over eta=0.01,0.1,1 --over loss=hinge,logistic
    seriatim tune prices.csv -a pa-regressor --search random --tries 30 --prefix 5000
    seriatim tune spam -a arow --like-libol
    """
    from seriatim import data
    from seriatim.evaluate import progressive, tune
    from seriatim.evaluate.tuning.tune import endless

    if like_libol and chosen("prefix"):
        raise click.UsageError("--prefix has no effect with --like-libol, which searches on all examples; remove one")
    how = {name: options.pop(name) for name in ("search", "prefix", "tries", "measure", "seed", "jobs")}
    reading = dict(options)
    model = build_model(algorithm, parameters, features_of(options))
    values = values_of(model, parameters, over)
    stream = open_stream(sources, model, **options)
    stream.split(0)  # raises now if the stream cannot be read twice
    if endless(stream):
        raise click.UsageError(f"{stream.name} has no end; give --limit")
    with SearchProgress() as progress:
        try:
            found = tune(model, stream, over=values, like_libol=like_libol, watch=progress, **how)
        except KeyboardInterrupt:
            progress.clear()
            say(f"seriatim: interrupted after {progress.done} of {progress.planned} runs", err=True)
            sys.exit(130)
    report_skipped(stream)
    rest = data.stream(stream, skip=found.rest)
    metrics = [] if found.measure in ("mistake_rate", "mean_loss") else [how["measure"]]
    runs = []
    for one in (found.model, model):
        runs.append(progressive(one, rest, metrics=metrics))
        if runs[-1].interrupted:
            say("seriatim: interrupted", err=True)
            sys.exit(130)
    if reading["limit"] is not None:  # --limit counts after --skip
        reading["limit"] -= found.rest
    given = [*sources, *data_options(reading), *(word for name in metrics for word in ("--metric", name))]
    again = command_for(given, algorithm, parameters, found)
    if as_json:
        names = ("tuned", "defaults")
        figures = {name: run.summary() for name, run in zip(names, runs, strict=True)}
        click.echo(json.dumps({**found.as_dict(), "command": again, **figures}))
    else:
        show(found, runs, stream.name, again)


def values_of(model: Any, parameters: tuple[str, ...], over: tuple[str, ...]) -> dict[str, Sequence[Any]]:
    """The values to try of each parameter: from --over, else those the class declares. -p fixes a parameter."""
    from seriatim.errors import ParameterError

    fixed = {text.partition("=")[0] for text in parameters}
    if not over:
        return {name: one.search for name, one in model.parameters.items() if one.search and name not in fixed}
    values: dict[str, Sequence[Any]] = {}
    for text in over:
        name, equals, listed = text.partition("=")
        if not equals or name not in model.parameters or name == "features":
            known = ", ".join(name for name in model.parameters if name != "features")
            raise ParameterError(
                f"--over {text}: expected NAME=VALUE,VALUE,.. with a parameter of {type(model).__name__}: {known}"
            )
        if name in fixed or name in values:
            raise ParameterError(f"--over {text}: {name} is already set by another --over or -p")
        values[name] = [model.parameters[name].parse(value) for value in listed.split(",") if value]
    return values


# ---- the command that repeats the best run


READING = ("format", "header", "skip_bad", "limit", "shuffle", *(name.split("/")[0].lstrip("-") for name in FEATURES))


def data_options(options: Mapping[str, Any]) -> list[str]:
    """The options of reading, as the user gave them.

    >>> data_options({"shuffle": 0, "text": ("a", "b"), "cross": (("a", "b"),), "lower": False, "skip_bad": False})
    ['--shuffle', '0', '--text', 'a', '--text', 'b', '--cross', 'a', 'b', '--no-lower']
    """
    given = []
    for name in options:
        value, flag = options[name], f"--{name.replace('_', '-')}"
        if name not in READING or value is None:
            continue
        if isinstance(value, bool):
            given += [flag] if value else [f"--no-{name}"] if name in ("header", "lower") else []
        else:
            for one in value if isinstance(value, tuple) else [value]:
                given += [flag, *map(str, one if isinstance(one, tuple) else [one])]
    return given


def command_for(given: list[str], algorithm: str, parameters: tuple[str, ...], found: Any) -> str:
    """The `seriatim run` command with the best parameters, on examples that the search has not seen."""
    best = [f"{name}={value}" for name, value in found.best.items()]
    words = ["seriatim", "run", *given, "-a", algorithm]
    for text in (*parameters, *best):
        words += ["-p", text]
    if found.rest:
        words += ["--skip", str(found.rest)]
    return shlex.join(words)


# ---- output


class SearchProgress:
    """Shows the search ten times a second if stderr is a terminal."""

    def __init__(self) -> None:
        self.visible = on_terminal(sys.stderr)
        self.shown = -1.0
        self.done = self.planned = 0

    def __enter__(self) -> SearchProgress:
        return self

    def __exit__(self, *problem: object) -> None:
        self.clear()

    def __call__(self, done: int, planned: int, best: Any) -> None:
        self.done, self.planned = done, planned
        if self.visible and time.perf_counter() - self.shown > 0.1:
            self.shown = time.perf_counter()
            line = f"{done / planned:4.0%}  {done} of {planned} runs  {best.value:.4g} with {words(best.parameters)}"
            print(f"\r\x1b[K{printable(line)}", end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        if self.visible:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def words(parameters: dict[str, Any]) -> str:
    return " ".join(f"{name}={shown(value)}" for name, value in parameters.items())


def shown(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def show(found: Any, runs: list[Any], name: str, again: str) -> None:
    """Print the trials, the results on the rest, and the command that repeats them."""
    say(f"{type(found.model).__name__} on {name}: {found.said}", bold=True)
    width = None if on_terminal(sys.stdout) else 120
    show_table(trials_table(found), width)
    hidden = len(found.ranked) - SHOWN
    if hidden > 0:
        say(f"  and {hidden:,} more")
    for line in edges(found):
        say(line)
    say()
    show_table(figures_table(found, runs), width)
    if found.like_libol:
        say("the search used these same examples, as LIBOL does: the first row is optimistic")
    say("", again)


def trials_table(found: Any) -> Any:
    """The trials as a table, best first."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in (*found.best, found.measure.replace("_", " "), "examples"):
        table.add_column(printable(title), justify="right")
    if any(trial.problem for trial in found.ranked[:SHOWN]):
        table.add_column("")
    for k, trial in enumerate(found.ranked[:SHOWN]):
        cells = [shown(trial.parameters[name]) if name in trial.parameters else "" for name in found.best]
        value = "failed" if trial.problem else figure(trial.value, found.measure)
        row = [*cells, value, f"{trial.examples:,}", *([trial.problem] if trial.problem else [])]
        table.add_row(*map(printable, row), style="bold" if k == 0 else None)
    return table


def figure(value: float, measure: str) -> str:
    return f"{value:.6g}" if measure == "mean_loss" else f"{value:.4f}"


def edges(found: Any) -> list[str]:
    """Warn of each best value that is the smallest or the largest tried: a better one may lie beyond."""
    lines = []
    for name, value in found.best.items():
        tried = {trial.parameters[name] for trial in found.trials if name in trial.parameters}
        if len(tried) > 2 and all(isinstance(one, int | float) for one in tried) and value in (min(tried), max(tried)):
            end = "smallest" if value == min(tried) else "largest"
            lines.append(f"{name}={shown(value)} is the {end} value tried; try others with --over {name}=...")
    return lines


def figures_table(found: Any, runs: list[Any]) -> Any:
    """The results of the best parameters and of the defaults, as a table."""
    from rich.table import Table

    where = f"on all {runs[0].examples:,}" if found.like_libol else f"on the other {runs[0].examples:,}"
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(where)
    labels = runs[0].mistakes is not None
    for title in (
        *runs[0].figures,
        *(("mistakes", "mistake rate") if labels else ()),
        "mean loss",
        "updates",
        "seconds",
    ):
        table.add_column(title, justify="right")
    names = (words(found.best), words({name: getattr(runs[1].model, name) for name in found.best}))
    for name, run in zip(names, runs, strict=True):
        counts = [f"{run.mistakes:,}", f"{run.mistake_rate:.4f}"] if labels else []
        others = ["" if value is None else f"{value:.4f}" for value in run.figures.values()]
        table.add_row(
            printable(name), *others, *counts, f"{run.mean_loss:.6g}", f"{run.updates:,}", f"{run.seconds:.3f}"
        )
    return table

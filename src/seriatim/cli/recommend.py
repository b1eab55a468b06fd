"""seriatim recommend"""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from typing import Any

import click
from click.core import ParameterSource

from seriatim.cli.interrupts import interrupts
from seriatim.cli.options import build_recommender, json_option, passes_option, report, shuffle_option
from seriatim.cli.paths import Data, Reads, Writes, save_model
from seriatim.cli.screen import say
from seriatim.core.text import printable


@click.command("recommend")
@click.argument("sources", metavar="[DATA]...", nargs=-1, type=Data())
@click.option(
    "-a",
    "--algorithm",
    metavar="NAME",
    default="svd-recommender",
    show_default=True,
    help="The algorithm: svd-recommender, pmf or rmf.",
)
@click.option(
    "-p", "parameters", multiple=True, metavar="NAME=VALUE", help="Set a parameter of the algorithm. Repeatable."
)
@click.option("--user", "users", multiple=True, metavar="USER", help="Recommend items to this user. Repeatable.")
@click.option(
    "--item", "items", multiple=True, metavar="ITEM", help="Show the items most similar to this one. Repeatable."
)
@click.option("-n", "count", default=10, show_default=True, type=click.IntRange(1), metavar="N", help="Show N items.")
@click.option("--titles", metavar="FILE", type=Reads(), help="Read the titles of the items from this table.")
@click.option(
    "--model", "model_file", type=Reads(goes_on=True), help="Use this saved model; with DATA, continue training it."
)
@click.option("--save", type=Writes(), help="Save the model to this file at the end.")
@click.option("--columns", metavar="U,I,R", help="The columns of the user, the item and the rating, by name or number.")
@click.option(
    "--header/--no-header", default=None, help="Whether the first line names the columns (default: detected)."
)
@passes_option
@shuffle_option
@click.option("--limit", type=click.IntRange(1), metavar="N", help="Use only the first N ratings.")
@click.option(
    "--skip-bad",
    is_flag=True,
    help="Skip lines with errors, and report how many. By default the first error stops the command.",
)
@click.option(
    "--metric", "metrics", multiple=True, metavar="NAME", help="Also report this metric: ndcg:K or r2. Repeatable."
)
@json_option
def command(
    sources: tuple[str, ...],
    algorithm: str,
    parameters: tuple[str, ...],
    users: tuple[str, ...],
    items: tuple[str, ...],
    count: int,
    titles: str | None,
    model_file: str | None,
    save: str | None,
    columns: str | None,
    metrics: tuple[str, ...],
    as_json: bool,
    **options: Any,
) -> None:
    """Learn the ratings in DATA one at a time, and recommend items.

    The model predicts each rating, then sees it and learns from it. The command reports the error of all predictions.

    DATA is one or more files with a user, an item and a rating per line, or - for standard input. The columns may be
    separated by commas, tabs or ::, as in MovieLens, and the first line may name them. Files may be compressed with
    gzip, zstd, bzip2 or xz. A saved model can recommend without DATA.

    \b
    seriatim recommend u.data --user 196 --titles u.item
    seriatim recommend ratings.csv.gz -a pmf -p low=0.5 -p biases=true --passes 5 --shuffle 1 --save films.model
    seriatim recommend --model films.model --user 196 -n 20
    seriatim recommend --model films.model --item 50 --titles movies.csv
    seriatim recommend reviews.tsv --columns reviewer,book,stars -p high=10 -p rank=20 --json
    """
    from seriatim import load
    from seriatim.data.read import ratings
    from seriatim.errors import ModelError

    source_of = click.get_current_context().get_parameter_source
    if model_file and (parameters or source_of("algorithm") is ParameterSource.COMMANDLINE):
        raise click.UsageError("--model is a saved model with its own algorithm and parameters; remove -a and -p")
    if not sources and not model_file:
        raise click.UsageError("give DATA to learn from, or a saved --model")
    if not (sources or users or items or save):
        raise click.UsageError("nothing to do with the model; give --user or --item, or DATA to learn from")
    model: Any = load(model_file) if model_file else build_recommender(algorithm, parameters)
    if model.task != "recommendation":
        raise ModelError(f"{model_file}: {model!r} does {model.task}: use `seriatim predict`")
    called = ratings.titles(titles) if titles else {}
    run = None
    if sources:
        wanted = None if columns is None else columns.split(",")
        stream = ratings.Ratings(sources, columns=wanted, low=model.low, high=model.high, **options)
        with interrupts.keeping(save):
            run = learn(model, stream, metrics)
            if save and run.examples:
                save_model(model, save)
        report(run, stream)
    elif save:
        save_model(model, save)
    asked = {user: model.recommend(ratings.label_of_cell(user), count) for user in users}
    near = {item: model.nearest(ratings.label_of_cell(item), count) for item in items}
    if as_json:
        about: dict[str, Any] = {} if run is None else run.summary()
        about |= {"recommendations": {user: rows(found, called) for user, found in asked.items()}} if users else {}
        about |= {"nearest": {item: rows(found, called) for item, found in near.items()}} if items else {}
        click.echo(json.dumps(about))
    else:
        if run is not None:
            show(run, stream.name)
        known = set(model.users_) if users else set()
        for user, found in asked.items():
            new = "" if ratings.label_of_cell(user) in known else ", of whom nothing is known"
            table(f"for user {user}{new}", "score" if model.ranks else "rating", found, called)
        for item, found in near.items():
            title = called.get(ratings.label_of_cell(item))
            table(f"nearest to item {item}{f' {title}' if title else ''}", "cosine", found, called)
    if run is not None and run.interrupted:
        sys.exit(130)


def learn(model: Any, stream: Any, metrics: tuple[str, ...]) -> Any:
    """Run a model over a stream and show the progress."""
    from seriatim.cli.live import Live
    from seriatim.evaluate import progressive

    class LiveRatings(Live):
        def line(self, run: Any, seconds: float) -> str:
            rate = f"{run.examples:,} ratings  {run.examples / max(seconds, 1e-9):,.0f}/s"
            return f"{rate}  {run.measure} {run.figure:.4f}"

    with LiveRatings(stream) as live:
        return progressive(model, stream, metrics=metrics, watch=live)


def rows(found: list[tuple[Any, float]], called: dict[Any, str]) -> list[dict[str, Any]]:
    """Items with scores and titles, as JSON types."""
    return [
        {"item": item, "score": score} | ({"title": called[item]} if item in called else {}) for item, score in found
    ]


def show(run: Any, name: str) -> None:
    """Print the summary as text."""
    from seriatim.cli.run import sparkline

    figures = [("ratings", f"{run.examples:,}"), ("users", f"{run.users:,}"), ("items", f"{run.items:,}")]
    figures += [(kind, f"{value:.4f}") for kind in ("rmse", "mae") if (value := getattr(run, kind)) is not None]
    figures += [(kind, "none" if value is None else f"{value:.4f}") for kind, value in run.figures.items()]
    figures += [("seconds", f"{run.seconds:.3f}"), ("ratings/s", f"{run.examples / max(run.seconds, 1e-9):,.0f}")]
    say(f"{run.model} on {name}", bold=True)
    width = max(12, *(len(label) for label, _ in figures))
    for label, value in figures:
        say(f"  {label:<{width}} {value:>14}")
    if len(run.curve) > 2:
        with suppress(UnicodeEncodeError):  # other terminals cannot show the block characters
            say(f"  {sparkline(run.curve)}  {run.measure} over time")


def table(heading: str, what: str, found: list[tuple[Any, float]], called: dict[Any, str]) -> None:
    """Print items with their scores, best first."""
    say("", heading, bold=True)
    names = [(printable(item), printable(called.get(item, ""))) for item, _ in found]
    width = max([4, *(len(item) for item, _ in names)])
    length = max([len(title) for _, title in names], default=0)
    say(f"  {'item':<{width}} {what:>8}{'  title' if length else ''}")
    for (_, score), (shown, title) in zip(found, names, strict=True):
        say(f"  {shown:<{width}} {score:>8.4f}{'  ' + title if title else ''}")
    if not found:
        say("  none")

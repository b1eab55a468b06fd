"""seriatim run"""

from __future__ import annotations

import csv
import json
import sys
from typing import Any

import click

from seriatim.cli.interrupts import interrupts
from seriatim.cli.options import (
    TableChoice,
    algorithm_options,
    build_model,
    collisions_of,
    data_argument,
    feature_options,
    features_of,
    json_option,
    open_stream,
    report,
    stream_options,
)
from seriatim.cli.paths import Data, Writes, save_model
from seriatim.cli.screen import is_unicode, say

MOST_CHANGES = 20


class MetricOption(click.Option):
    """An option that lists the metrics. They are imported when the help is shown, because NumPy takes 0.1 seconds."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        from seriatim.evaluate.metrics import METRICS

        names = [f"{name}{kind.argument}" for name, kind in METRICS.items() if kind.task != "recommendation"]
        self.help = f"Also report this metric. Repeatable. One of {', '.join(names)}."
        return super().get_help_record(ctx)


def detectors() -> Any:
    from seriatim.evaluate.drift import DETECTORS

    return DETECTORS


@click.command("run")
@data_argument
@algorithm_options
@stream_options
@feature_options
@click.option("--metric", "metrics", cls=MetricOption, multiple=True, metavar="NAME")
@click.option("--window", type=click.IntRange(1), metavar="N", help="Also report metrics over the last N examples.")
@click.option(
    "--fade",
    type=click.FloatRange(0, 1, min_open=True),
    metavar="A",
    help="Also report metrics with exponential forgetting; A is the factor, such as 0.999.",
)
@click.option(
    "--warm-up",
    type=click.IntRange(0),
    default=0,
    metavar="N",
    help="Learn the first N examples without counting their predictions.",
)
@click.option(
    "--every", type=click.IntRange(1), metavar="N", help="Add a point to the learning curve every N examples."
)
@click.option(
    "--test",
    metavar="FILE",
    type=Data(),
    help="Evaluate on this held-out file after 1, 2, 4, ... examples, or every N with --every N.",
)
@click.option(
    "--drift",
    type=TableChoice(detectors),
    help="Detect drift in the mistakes or losses with this detector, and report each change.",
)
@click.option(
    "--on-drift",
    type=click.Choice(["restart", "blend"]),
    help="When errors rise: `restart` the model, or `blend` it with a new one.",
)
@click.option("--save", type=Writes(), help="Save the model to this file at the end.")
@click.option("--curve", type=Writes(), help="Write the learning curve to this file, as CSV.")
@json_option
def command(
    sources: tuple[str, ...],
    algorithm: str,
    parameters: tuple[str, ...],
    metrics: tuple[str, ...],
    window: int | None,
    fade: float | None,
    warm_up: int,
    every: int | None,
    test: str | None,
    drift: str | None,
    on_drift: str | None,
    save: str | None,
    curve: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Run one algorithm over DATA and report how well it predicts.

    The model predicts each example, then sees its label and learns from it. The results count every prediction, from
    the first example on.

    DATA is one or more files, a bundled data set such as spam, or a generated stream such as sea:noise=0.2. Give - for
    standard input. The formats are LIBSVM, Vowpal Wabbit, CSV, TSV, JSON lines, Parquet and Arrow. Files may be
    compressed with gzip, zstd, bzip2 or xz.

    \b
    seriatim run spam -a pa
    seriatim run spam -a ogd -p loss=logistic -p eta=0.01 --shuffle 1
    seriatim run mail.csv --label spam --text subject --text body --bits 20
    seriatim run sea:noise=0.2 --limit 100000 --window 1000
    seriatim run sea --limit 100000 -a arow --drift adwin --on-drift restart
    seriatim run train.svm -a arow --metric auc --metric f1 --test test.svm
    zcat big.svm.gz | seriatim run - -a averaged-perceptron --save big.model --json
    """
    from seriatim.cli.live import Live
    from seriatim.evaluate import progressive

    model = build_model(algorithm, parameters, features_of(options))
    stream = open_stream(sources, model, **options)
    watched = model if on_drift is None else around(model, on_drift, drift)
    asked = [*metrics] if drift is None or on_drift else [*metrics, changes_by(drift, model)]
    held_out = None if test is None else open_stream((test,), model, **format_of(options))
    judging: dict[str, Any] = {"metrics": asked, "window": window, "fade": fade, "warm_up": warm_up, "every": every}
    with interrupts.keeping(save, curve):
        with Live(stream) as live:
            run = progressive(watched, stream, **judging, held_out=held_out, watch=live)
        if save and run.examples:
            save_model(getattr(watched, "model", watched), save)
        if curve and run.examples:
            write_curve(run, curve)
    report(run, stream)
    for trouble in dict.fromkeys(one.trouble(run.labels) for one in run.followed if one.named):
        if trouble:
            say(f"seriatim: {trouble}", err=True)
    share = collisions_of(stream)
    collisions = {} if share is None else {"collisions": share}
    found = changes_of(run)
    if as_json:
        changes = {} if found is None else {"changes": [change.as_dict() for change in found]}
        held = {"held_out": run.held_out_curve} if test else {}
        click.echo(json.dumps(run.summary() | held | collisions | changes))
    else:
        show(run, stream.name, collisions)
        show_changes(run.measure, found)
    if run.interrupted:
        sys.exit(130)


def changes_by(detector: str, model: Any) -> Any:
    from seriatim.errors import ParameterError
    from seriatim.evaluate.drift import DETECTORS, Changes

    if detector == "ddm" and model.task != "classification":
        raise ParameterError(
            f"--drift ddm: DDM needs mistakes (0 or 1), but {model!r} has losses; use another detector"
        )
    return Changes(DETECTORS[detector]())


def around(model: Any, how: str, detector: str | None) -> Any:
    """Wrap a model so that it acts on drift."""
    from seriatim.evaluate.drift import DETECTORS, Blend, Restart

    return {"restart": Restart, "blend": Blend}[how](model, DETECTORS[detector]() if detector else None)


def changes_of(run: Any) -> Any:
    """The detected changes; None without a detector."""
    found = [one.changes for one in run.followed if str(one) == "changes"]
    return getattr(run.model, "changes_", found[0] if found else None)


def show_changes(measure: str, found: Any) -> None:
    """Print the last changes, if there is a detector."""
    if found is None:
        return
    if not found:
        say(f"  no change of the {measure} was found")
    if len(found) > MOST_CHANGES:
        say(f"  {len(found):,} changes; the last {MOST_CHANGES}:")
    for change in found[-MOST_CHANGES:]:
        say(f"  {measure}, {change}")


def format_of(options: dict[str, Any]) -> dict[str, Any]:
    """The format options among the options of a stream."""
    return {name: options[name] for name in ("skip_bad", "header", "format")}


def write_curve(run: Any, path: str) -> None:
    from seriatim.files import whole_file

    with whole_file(path) as place, place.open("w", newline="") as file:
        writer = csv.writer(file)
        curves = {run.measure: dict(run.curve)} | {name: dict(curve) for name, curve in run.curves.items()}
        curves |= {"held out": dict(run.held_out_curve)} if run.held_out_curve else {}
        writer.writerow(["examples", *(name.replace(",", "").replace(" ", "_") for name in curves)])
        places = sorted({place for curve in curves.values() for place in curve})
        writer.writerows([place, *(curve.get(place) for curve in curves.values())] for place in places)


def show(run: Any, name: str, collisions: dict[str, float]) -> None:
    """Print the summary as text."""
    figures = [("examples", f"{run.examples:,}"), ("features", f"{run.features:,}")]
    if run.mistakes is not None:
        figures += [("mistakes", f"{run.mistakes:,}"), ("mistake rate", f"{run.mistake_rate:.4f}")]
    figures += [
        ("mean loss", f"{run.mean_loss:.6g}"),
        ("updates", f"{run.updates:,}"),
        *((("support vectors", f"{kept:,}"),) if (kept := getattr(run.model, "n_support_", None)) is not None else ()),
        ("seconds", f"{run.seconds:.3f}"),
        ("examples/s", f"{run.examples / max(run.seconds, 1e-9):,.0f}"),
        ("non-zeros/s", f"{run.values / max(run.seconds, 1e-9):,.0f}"),
    ]
    figures += [(name, f"{value:.6g}" if value is not None else "none") for name, value in run.figures.items()]
    figures += [(f"held out, {t:,}", f"{value:.4f}") for t, value in run.held_out_curve[-1:]]
    figures += [(name, f"{share:.4f} of the used columns") for name, share in collisions.items()]
    width = max(12, *(len(label) for label, _ in figures))
    say(f"{run.model} on {name}", bold=True)
    for label, value in figures:
        say(f"  {label:<{width}} {value:>14}")
    if len(run.curve) > 2:
        line = f"  {sparkline(run.curve)}  {'mean loss' if run.mistakes is None else 'mistake rate'} over time"
        if is_unicode(sys.stdout):  # other terminals cannot show the block characters
            say(line)


def sparkline(curve: list[tuple[int, float]], width: int = 40) -> str:
    """The curve as one line of text, from the first tenth of the stream on.

    >>> sparkline([(1, 0.5), (2, 0.25), (3, 0.0)], width=3)
    '█▅▁'
    """
    late = [value for examples, value in curve if examples >= curve[-1][0] / 10]
    width = min(width, len(late))
    picked = [late[i * (len(late) - 1) // max(width - 1, 1)] for i in range(width)]
    low, high = min(picked), max(picked)
    return "".join("▁▂▃▄▅▆▇█"[round(7 * (value - low) / (high - low)) if high > low else 0] for value in picked)

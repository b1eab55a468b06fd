"""seriatim train"""

from __future__ import annotations

import sys
from typing import Any

import click
from click.core import ParameterSource

from seriatim.cli.interrupts import interrupts
from seriatim.cli.options import (
    algorithm_options,
    build_model,
    data_argument,
    feature_options,
    features_of,
    load_estimator,
    open_stream,
    report,
    stream_options,
)
from seriatim.cli.paths import Reads, Writes, save_model
from seriatim.cli.screen import say


@click.command("train")
@data_argument
@algorithm_options
@stream_options
@feature_options
@click.option("-o", "--output", required=True, type=Writes(), help="Save the model to this file.")
@click.option(
    "--resume",
    type=Reads(goes_on=True),
    help="Continue training this saved model, with its algorithm, parameters and features.",
)
def command(
    sources: tuple[str, ...],
    algorithm: str,
    parameters: tuple[str, ...],
    output: str,
    resume: str | None,
    **options: Any,
) -> None:
    """Learn from DATA and save the model. `seriatim run --help` describes DATA.

    \b
    seriatim train spam -a pa -o spam.model
    seriatim train more.svm --resume spam.model -o spam.model
    """
    from seriatim.cli.live import Live
    from seriatim.evaluate import progressive

    source_of = click.get_current_context().get_parameter_source
    features = features_of(options)
    if resume and (parameters or features or source_of("algorithm") is ParameterSource.COMMANDLINE):
        raise click.UsageError(
            "--resume uses the model's own algorithm, parameters and features; remove -a, -p and feature options"
        )
    model = load_estimator(resume) if resume else build_model(algorithm, parameters, features)
    stream = open_stream(sources, model, **options)
    with interrupts.keeping(output):
        with Live(stream) as live:
            run = progressive(model, stream, watch=live)
        if run.examples:
            save_model(model, output)
    report(run, stream)
    say(f"{model} learned {run.examples:,} examples of {run.features:,} features in {run.seconds:.3f} s: {output}")
    if run.interrupted:
        sys.exit(130)

"""seriatim train"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from seriatim.cli import algorithm_options, build_model, report_skipped, stream_options


@click.command("train")
@click.argument("source", metavar="DATA")
@algorithm_options
@stream_options
@click.option("-o", "--output", required=True, type=click.Path(dir_okay=False), help="Where to save the model.")
@click.option("--resume", type=click.Path(dir_okay=False), help="Go on with a saved model instead of a new one.")
def command(
    source: str,
    algorithm: str,
    parameters: tuple[str, ...],
    output: str,
    resume: str | None,
    **stream_options: Any,
) -> None:
    """Learn from DATA and save the model.

    \b
    seriatim train spam -a pa -o spam.model
    seriatim train more.svm --resume spam.model -o spam.model
    """
    from seriatim import data, load
    from seriatim.cli.live import Live
    from seriatim.evaluate import progressive

    if not Path(output).absolute().parent.is_dir():
        raise click.UsageError(f"there is no folder {Path(output).parent} to save the model in")
    model = load(resume) if resume else build_model(algorithm, parameters)
    stream = data.stream(source, **stream_options)
    model._begin(stream.feature_names)
    with Live(stream) as live:
        run = progressive(model, stream, watch=live)
    report_skipped(stream)
    model.save(output)
    click.echo(
        f"{model} learned {run.examples:,} examples of {run.features:,} features in {run.seconds:.3f} s: {output}"
    )
    if run.interrupted:
        sys.exit(130)

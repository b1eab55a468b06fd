"""seriatim predict"""

from __future__ import annotations

import sys
from typing import Any, TextIO

import click
import numpy as np

from seriatim.cli import check_folder, report_skipped
from seriatim.modelfile import whole_file


@click.command("predict")
@click.argument("model_file", metavar="MODEL", type=click.Path(dir_okay=False))
@click.argument("source", metavar="DATA")
@click.option("-o", "--output", type=click.Path(dir_okay=False), help="Instead of standard output.")
@click.option("--scores", is_flag=True, help="Print the score, or one score a label, instead of the label.")
@click.option("--skip-bad", is_flag=True, help="Skip bad lines; then the output has fewer lines than the input.")
def command(model_file: str, source: str, output: str | None, scores: bool, skip_bad: bool) -> None:
    """Predict the label of each line of DATA with a saved model, one line each.

    The share of labels that differ from those in DATA goes to standard error.

    \b
    seriatim predict spam.model new.svm > labels.txt
    seriatim predict spam.model new.svm --scores -o scores.txt
    """
    from seriatim import data, load

    check_folder(output)
    model: Any = load(model_file)
    stream = data.stream(source, skip_bad=skip_bad)
    if output is None:
        summary = predict(model, stream, scores, sys.stdout)
    else:
        with whole_file(output) as path, path.open("w") as file:
            summary = predict(model, stream, scores, file)
    report_skipped(stream)
    click.echo(summary, err=True)


def predict(model: Any, stream: Any, scores: bool, file: TextIO) -> str:
    """Write a line for each example; how the predictions compare with the labels, in words."""
    examples = wrong = 0
    squared = 0.0
    for rows, y in stream:
        values = model.scores_of(rows)
        predicted = model.decide(values)
        examples += rows.n
        if model.task == "classification":
            wrong += int(np.count_nonzero(predicted != y))
        else:
            squared += float(np.sum((predicted - model._targets(y, rows.n)) ** 2))
        lines = values if scores else predicted[:, None]
        file.writelines(" ".join(map(str, line)) + "\n" for line in lines.tolist())
        file.flush()  # for whoever waits at the other end of a pipe
    if model.task == "classification":
        return f"{wrong:,} of {examples:,} labels differ ({wrong / max(examples, 1):.4f})"
    return f"root mean squared error {(squared / max(examples, 1)) ** 0.5:.6g} over {examples:,} examples"

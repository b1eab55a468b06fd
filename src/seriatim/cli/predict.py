"""seriatim predict"""

from __future__ import annotations

import sys
from typing import Any, TextIO

import click
import numpy as np

from seriatim.cli.options import data_argument, format_options, load_estimator, on_terminal, open_stream, report_skipped
from seriatim.cli.paths import Reads, Writes, expect_printing
from seriatim.cli.screen import say
from seriatim.core.text import one_line, printable
from seriatim.files import whole_file


@click.command("predict")
@click.argument("model_file", metavar="MODEL", type=Reads())
@data_argument
@format_options
@click.option("-o", "--output", type=Writes(), help="Write the predictions to this file instead of standard output.")
@click.option(
    "--scores",
    is_flag=True,
    help="Print scores instead of labels: one per example, or one per label if there are more than two.",
)
def command(model_file: str, sources: tuple[str, ...], output: str | None, scores: bool, **options: Any) -> None:
    """Predict the label of each example of DATA with a saved model: one line per example.

    If DATA has labels, the fraction of wrong predictions goes to standard error. Lines skipped by --skip-bad have no
    line in the output. A model that learned without labels prints the transformed row, or its loss with --scores.

    Labels are written in UTF-8. A label with line breaks, or one that begins with a quote, is written as a JSON
    string. A terminal shows escapes instead of control characters.

    \b
    seriatim predict spam.model new.svm > labels.txt
    seriatim predict spam.model new.svm --scores -o scores.txt
    """
    if output is None:
        expect_printing()
    model = load_estimator(model_file)
    stream = open_stream(sources, model, labelled=False, **options)
    if output is None:
        summary = predict(model, stream, scores, sys.stdout)
    else:
        with whole_file(output) as path, path.open("w", encoding="utf-8", newline="\n") as file:
            summary = predict(model, stream, scores, file)
    report_skipped(stream)
    say(summary, err=True)


def predict(model: Any, stream: Any, scores: bool, file: TextIO) -> str:
    """Write a line for each example. Return a sentence that compares predictions and labels."""
    examples = labelled = wrong = inside = 0
    squared = total = 0.0
    for rows, y in stream:
        values = model.score_rows(rows)
        total += float(values[:, 0].sum())
        predicted = model.decide(values)[:, None] if hasattr(model, "predict") else model.transform_rows(rows)
        examples += rows.n
        inside += int(np.count_nonzero(values[:, 0] >= 0))
        known = np.array([label == label for label in y.tolist()])  # NaN means no label
        labelled += int(np.count_nonzero(known))
        if model.task == "classification":
            wrong += int(np.count_nonzero(predicted[known, 0] != y[known]))
        elif model.task == "regression" and known.any():
            squared += float(np.sum((predicted[known, 0] - model.as_targets(y[known], int(known.sum()))) ** 2))
        lines = values if scores else predicted
        text = printable if on_terminal(file) else one_line
        file.writelines(" ".join(map(text, line)) + "\n" for line in lines.tolist())
        file.flush()  # for the reader of a pipe
    if model.task == "novelty":
        return f"{inside:,} of {examples:,} examples are inside"
    if not model.labelled:
        return f"{examples:,} examples, mean loss {total / max(examples, 1):.6g}"
    if not labelled:
        return f"{examples:,} examples without labels: nothing to compare with"
    if model.task == "classification":
        return f"{wrong:,} of {labelled:,} predictions are wrong ({wrong / labelled:.4f})"
    return f"root mean squared error {(squared / labelled) ** 0.5:.6g} over {labelled:,} examples"

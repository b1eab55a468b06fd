"""seriatim describe"""

from __future__ import annotations

import json
import sys
from typing import Any

import click

from seriatim.cli.live import Live
from seriatim.cli.options import (
    collisions_of,
    data_argument,
    feature_options,
    features_of,
    format_options,
    json_option,
    limit_option,
    report_skipped,
    sample_option,
)
from seriatim.cli.screen import say
from seriatim.errors import DataError


@click.command("describe")
@data_argument
@limit_option
@sample_option
@format_options
@feature_options
@json_option
def command(sources: tuple[str, ...], as_json: bool, **options: Any) -> None:
    """Summarize DATA: rows, features, labels, scales, and warnings.

    Zeros count as absent. A duplicate has the same features and label as an earlier row. A contradiction has the
    same features as an earlier row, but a new label. Both counts are exact up to 10 million distinct rows (160 MB);
    beyond that they are estimated from a sample.

    \b
    seriatim describe spam
    seriatim describe mail.csv.gz --label spam --text subject
    seriatim describe 'log-*.svm' --sample 0.1 --json
    """
    from seriatim import data
    from seriatim.data.describe import describe

    source = sources[0] if len(sources) == 1 else list(sources)
    features = features_of(options)
    stream = data.stream(source, features=features, labelled=False, **options)  # type: ignore[arg-type]
    with DescribeProgress(stream) as progress:
        about = describe(stream, watch=progress)
    if features is not None and features.label is not None and not (about.labels or about.targets):
        raise DataError(f"{stream.name}: no labels in the column {features.label!r}")
    report_skipped(stream)
    collisions = collisions_of(stream)
    if as_json:
        click.echo(json.dumps(about.summary() | ({} if collisions is None else {"collisions": collisions})))
    else:
        show(about, collisions)
    if about.interrupted:
        say("seriatim: interrupted; the results cover the examples so far", err=True)
        sys.exit(130)


class DescribeProgress(Live):
    """Shows the number of rows read so far."""

    def line(self, rows: int, seconds: float) -> str:
        return f"{rows:,} rows  {rows / max(seconds, 1e-9):,.0f}/s"


def show(about: Any, collisions: float | None) -> None:
    """Print the description as text."""
    say(about.name, bold=True)
    shown = figures(about, collisions)
    width = max(len(value) for _, value, _ in shown)
    for name, value, more in shown:
        say(f"  {name:<14} {value:>{width}}  {more}".rstrip())
    if about.labels:
        say("", "  labels", bold=True)
        rows = [[readable(one["label"]), f"{one['rows']:,}", percent(one["share"])] for one in about.labels]
        show_table(rows)
        if about.different_labels > len(rows):
            say(f"    and {about.different_labels - len(rows):,} more")
    if about.heaviest:
        say("", "  most frequent features, without their zeros", bold=True)
        rows = [["", "rows", "share", "min", "mean", "max", "deviation"]]
        for one in about.heaviest:
            values = [f"{one[name]:.5g}" for name in rows[0][3:]]
            rows.append([readable(one["name"]), f"{one['rows']:,}", percent(one["share"]), *values])
        show_table(rows)
    if about.warnings:
        say("", "  warnings", bold=True)
        for warning in about.warnings:
            say(f"    {warning['text']}", fg="yellow")


def figures(about: Any, collisions: float | None) -> list[tuple[str, str, str]]:
    """Rows of (name, value, explanation)."""
    row, values, targets = about.per_row, about.values, about.targets
    about_ = "" if about.exact else "about "
    shown = [
        ("rows", f"{about.rows:,}", f"{about.empty_rows:,} without any feature" if about.empty_rows else ""),
        ("features", f"{about.features:,}", f"{about.used:,} used" if about.used < about.features else ""),
        ("non-zeros", f"{about.nonzeros:,}", f"{percent(about.density)} of rows times features"),
        ("per row", f"{row['mean']:,.1f}", f"from {row['min']:,} to {row['max']:,}"),
    ]
    if values:
        parts = f"{percent(values['ones'])} are 1, {percent(values['negative'])} are negative"
        shown.append(("values", f"{values['min']:.5g} to {values['max']:.5g}", parts))
    if targets:
        spread = f"from {targets['min']:.6g} to {targets['max']:.6g}, deviation {targets['deviation']:.6g}"
        shown.append(("mean target", f"{targets['mean']:.6g}", spread))
    elif about.different_labels is None:
        shown.append(("labels", "many", "too many to count"))
    if about.unlabelled:
        shown.append(("unlabelled", f"{about.unlabelled:,}", f"{percent(about.unlabelled / about.rows)} of the rows"))
    for name, count, what in (
        ("duplicates", about.duplicates, "repeat the features and the label of an earlier row"),
        ("contradictions", about.contradictions, "repeat the features of an earlier row with another label"),
    ):
        shown.append((name, f"{about_}{count:,}", f"{percent(count / max(about.rows, 1))} {what}"))
    if collisions is not None:
        shown.append(("collisions", percent(collisions), "of the used columns are shared by several names"))
    return shown


def show_table(rows: list[list[str]]) -> None:
    """Print a table with the first column left-aligned and the others right-aligned."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for first, *others in rows:
        numbers = "  ".join(f"{cell:>{width}}" for cell, width in zip(others, widths[1:], strict=True))
        say(f"    {first:<{widths[0]}}  {numbers}")


def percent(share: float) -> str:
    """Format a fraction. Only 0 is shown as 0%, and only 1 as 100%.

    >>> percent(0.25), percent(0.00001), percent(0.99999), percent(0)
    ('25.0%', '<0.1%', '>99.9%', '0%')
    """
    if share in (0, 1):
        return f"{share:.0%}"
    return "<0.1%" if share < 0.001 else ">99.9%" if share > 0.999 else f"{share:.1%}"


def readable(name: Any) -> str:
    """A name or label on one line, cut to 40 characters."""
    text = name if isinstance(name, str) and name.isprintable() and name else repr(name)
    return text if len(text) <= 40 else text[:37] + "..."

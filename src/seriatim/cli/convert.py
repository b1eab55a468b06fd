"""seriatim convert"""

from __future__ import annotations

import sys
import time
from typing import Any

import click

from seriatim.cli.options import (
    TableChoice,
    feature_options,
    features_of,
    format_options,
    formats,
    on_terminal,
    report_skipped,
)
from seriatim.cli.paths import Data, Writes
from seriatim.cli.screen import say


@click.command("convert")
@click.argument("sources", metavar="IN...", nargs=-1, required=True, type=Data())
@click.argument("output", metavar="OUT", type=Writes(dash=True))
@click.option(
    "--to",
    type=TableChoice(lambda: (name for name in formats() if name != "text")),
    help="The format of OUT (default: from its name).",
)
@click.option("--limit", type=click.IntRange(1), metavar="N", help="Write only the first N records.")
@click.option(
    "--names", type=Writes(), help="For LIBSVM: write the feature names to this file, one per line, in column order."
)
@format_options
@feature_options
def command(
    sources: tuple[str, ...], output: str, to: str | None, limit: int | None, names: str | None, **options: Any
) -> None:
    """Convert one or more files IN to another format, and write OUT.

    The name of OUT gives its format. The endings .gz, .zst, .bz2 and .xz compress it; - is standard output. OUT is
    written completely or not at all.

    Conversions between CSV, TSV, JSON lines, Parquet and Arrow keep the cells as they are. LIBSVM and Vowpal Wabbit
    files hold labels and features; the options say how columns become features. LIBSVM numbers the features from 1 as
    they appear, unless their names are whole numbers. A table made from these formats has a column "label" and one
    column per feature.

    \b
    seriatim convert mail.csv mail.parquet
    seriatim convert mail.csv.gz mail.svm --label spam --text subject --names mail.names
    seriatim convert 2025.jsonl 2026.jsonl both.csv.zst
    seriatim convert spam spam.vw
    seriatim convert sea:noise=0.2 sea.csv --limit 100000
    zcat mail.svm.gz | seriatim convert - - --to jsonl
    """
    from seriatim.data.read.delimited import is_number
    from seriatim.data.write.convert import convert

    features = features_of(options)
    with ConvertProgress() as progress:
        done = convert(
            list(sources), output, to=to, features=features, names=names, limit=limit, watch=progress, **options
        )
    report_skipped(done.source)
    if done.numbered and names is None:
        say(
            f"seriatim: {len(done.columns):,} features, numbered from 1 in order of appearance; "
            f"--names FILE writes their names",
            err=True,
        )
    if done.target in ("csv", "tsv") and done.source.named and any(map(is_number, done.columns)):
        say("seriatim: some column names are numbers; give --header to read this table", err=True)


class ConvertProgress:
    """Shows the progress ten times a second if stderr is a terminal."""

    def __init__(self) -> None:
        self.shown = self.start = time.perf_counter()
        self.visible = on_terminal(sys.stderr)

    def __enter__(self) -> ConvertProgress:
        return self

    def __exit__(self, *problem: object) -> None:
        if self.visible:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)

    def __call__(self, count: int, source: Any) -> None:
        now = time.perf_counter()
        if self.visible and now - self.shown > 0.1:
            self.shown = now
            share = source.share_read()
            read = "" if share is None else f"{share:4.0%}  "
            rate = count / max(now - self.start, 1e-9)
            print(f"\r\x1b[K{read}{count:,} records  {rate:,.0f}/s", end="", file=sys.stderr, flush=True)

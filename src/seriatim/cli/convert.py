"""seriatim convert"""

from __future__ import annotations

import sys
import time
from typing import Any

import click

from seriatim.cli import feature_options, features_of, format_options, on_terminal, report_skipped
from seriatim.cli.paths import Data, Writes
from seriatim.cli.screen import say


@click.command("convert")
@click.argument("sources", metavar="IN...", nargs=-1, required=True, type=Data())
@click.argument("output", metavar="OUT", type=Writes(dash=True))
@click.option(
    "--to",
    type=click.Choice(["libsvm", "vw", "csv", "tsv", "jsonl", "parquet", "arrow"]),
    help="The format of OUT; else told from its name.",
)
@click.option("--limit", type=click.IntRange(1), help="Write only so many records.")
@click.option("--names", type=Writes(), help="Write the names of LIBSVM's columns here, one a line.")
@format_options
@feature_options
def command(
    sources: tuple[str, ...], output: str, to: str | None, limit: int | None, names: str | None, **options: Any
) -> None:
    """Write what is in IN, one file or several, to OUT in another format.

    The name of OUT tells the format, and by .gz, .zst, .bz2 or .xz how it is packed; - is standard output. OUT is
    written whole or not at all.

    Between CSV, TSV, JSON lines, Parquet and Arrow cells are kept as they are. To LIBSVM and Vowpal Wabbit's text go
    labels and features, made of the data as the options say: names are numbered in LIBSVM, from 1 in the order in which
    they are met, unless they are whole numbers. From these formats come a column "label" and one for each feature.

    \b
    seriatim convert mail.csv mail.parquet
    seriatim convert mail.csv.gz mail.svm --label spam --text subject --names mail.names
    seriatim convert 2025.jsonl 2026.jsonl both.csv.zst
    seriatim convert spam spam.vw
    seriatim convert sea:noise=0.2 sea.csv --limit 100000
    zcat mail.svm.gz | seriatim convert - - --to jsonl
    """
    from seriatim.data.delimited import is_number
    from seriatim.data.write import convert

    features = features_of(options)
    with Progress() as progress:
        done = convert(
            list(sources), output, to=to, features=features, names=names, limit=limit, watch=progress, **options
        )
    report_skipped(done.source)
    if done.numbered and names is None:
        say(
            f"seriatim: {len(done.columns):,} features, numbered from 1 in the order in which their names are met; "
            f"--names FILE writes them",
            err=True,
        )
    if done.target in ("csv", "tsv") and done.source.named and any(map(is_number, done.columns)):
        say("seriatim: some columns are called by numbers; to read the table again say --header", err=True)


class Progress:
    """How far it is, ten times a second, if stderr is a terminal."""

    def __init__(self) -> None:
        self.shown = self.start = time.perf_counter()
        self.visible = on_terminal(sys.stderr)

    def __enter__(self) -> Progress:
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

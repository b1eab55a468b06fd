"""seriatim topics"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import numpy as np

from seriatim.cli.interrupts import interrupts
from seriatim.cli.live import Live
from seriatim.cli.options import (
    build_model,
    feature_options,
    features_of,
    json_option,
    load_estimator,
    open_stream,
    report,
    stream_options,
)
from seriatim.cli.paths import Data, Reads, Writes, save_model
from seriatim.cli.screen import say
from seriatim.data.read.formats import COMPRESSED

TEXTS = (".txt", ".text")
FEWEST = 0.001  # topics of less weight are not shown


@click.command("topics")
@click.argument("sources", metavar="[DATA]...", nargs=-1, type=Data())
@click.option(
    "-a", "--algorithm", type=click.Choice(["lda", "hdp"]), default="lda", show_default=True, help="The algorithm."
)
@click.option("-k", "--topics", "count", type=click.IntRange(1), metavar="N", help="Learn N topics; hdp: at most N.")
@click.option(
    "-p", "parameters", multiple=True, metavar="NAME=VALUE", help="Set a parameter of the algorithm. Repeatable."
)
@stream_options
@feature_options
@click.option("--stop-words", type=Reads(exists=True), help="Ignore the words in this file.")
@click.option(
    "--min-length", type=click.IntRange(1), default=1, metavar="N", help="Ignore words with fewer than N letters."
)
@click.option(
    "--words", default=10, show_default=True, type=click.IntRange(1), metavar="N", help="Print N words per topic."
)
@click.option("--save", type=Writes(), help="Save the model to this file at the end.")
@click.option(
    "--model",
    "model_file",
    type=Reads(goes_on=True),
    help="Print the topics of this saved model; with DATA, continue training it.",
)
@json_option
def command(
    sources: tuple[str, ...],
    algorithm: str,
    count: int | None,
    parameters: tuple[str, ...],
    stop_words: str | None,
    min_length: int,
    words: int,
    save: str | None,
    model_file: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Learn the topics of the documents in DATA, and print the most probable words of each topic.

    A .txt file has one document per line, and so has any file with --format text. For tables and JSON lines, name the
    column of the documents with --text; all other columns are ignored. LIBSVM files, Vowpal Wabbit files and tables of
    numbers hold word counts. The perplexity is measured on each document before the model learns it. Without DATA the
    command prints the topics of a saved --model.

    \b
    seriatim topics news.txt -k 20
    seriatim topics news.jsonl.gz --text body --stop-words english.txt --min-length 3 --passes 5
    seriatim topics counts.svm -a hdp -p total=10000 --save news.model
    seriatim topics --model news.model --words 20
    zcat news.txt.gz | seriatim topics - --format text -k 50 -p batch=1024 --json
    """
    features = features_of(options)
    if not sources and model_file is None:
        raise click.UsageError("no documents; give DATA, or a saved --model")
    if options["format"] is None and sources and all(map(is_text, sources)):
        options["format"] = "text"
    if model_file is not None:
        if parameters or features or count:
            raise click.UsageError(
                "--model is a saved model with its own topics, parameters and features; remove those options"
            )
        model = load_estimator(model_file)
        if not hasattr(model, "topic_weights_"):
            raise click.UsageError(
                f"{model_file} holds a {type(model).__name__}, which has no topics; give a model of lda or hdp"
            )
    else:
        if options["format"] == "text":
            from seriatim.features import Features

            features = replace(features or Features(), text=("text",))
        elif features is not None and features.text:
            features = replace(features, drop=(*features.drop, "*"))
        name = "n_topics" if algorithm == "lda" else "max_topics"
        given = (f"{name}={count}",) if count else ()
        model = build_model(algorithm, (*parameters, *given), features)
    about: dict[str, Any] = {"model": repr(model)}
    run = None
    if sources:
        stream: Any = open_stream(sources, model, **{**options, "labelled": False})
        if stop_words or min_length > 1:
            stream = WantedWords(stream, words_of(stop_words) if stop_words else set(), min_length)
        with interrupts.keeping(save):
            run = learn(model, stream)
            if save and run.examples:
                save_model(model, save)
        report(run, stream)
        about |= {"documents": run.examples, "seconds": run.seconds, "perplexity": model.perplexity_}
    about |= {"vocabulary": model.n_words_, "topics": topics_of(model, words)}
    if as_json:
        click.echo(json.dumps(about))
    else:
        show(about)
    if run is not None and run.interrupted:
        sys.exit(130)


def words_of(path: str) -> set[str]:
    """The words of a file, in lower case."""
    from seriatim.errors import DataError

    try:
        return set(Path(path).read_text("utf-8-sig").lower().split())
    except UnicodeDecodeError:
        raise DataError(f"{path}: expected words in UTF-8") from None


def is_text(path: str) -> bool:
    """Whether the name says that the file has one document per line.

    >>> is_text("news.txt.gz"), is_text("news.csv")
    (True, False)
    """
    endings = [ending.lower() for ending in Path(path).suffixes]
    while endings and endings[-1] in COMPRESSED:
        endings.pop()
    return bool(endings) and endings[-1] in TEXTS


def learn(model: Any, stream: Any) -> Any:
    from seriatim.evaluate import progressive

    with TopicsProgress(stream) as live:
        return progressive(model, stream, watch=live)


def expect_words(model: Any, stream: Any) -> None:
    """Raise DataError if a text column was read as a category."""
    from seriatim.errors import DataError

    if model.features_.text:
        return
    for name in getattr(model, "feature_names_in_", ()):  # none if the columns have no names
        column, _, word = str(name).partition("=")
        if " " in word:
            raise DataError(
                f"{stream.name}: the column {column!r} holds texts; give --text {column} to count their words"
            )


class TopicsProgress(Live):
    """The progress line, with the perplexity so far."""

    def __call__(self, run: Any) -> None:
        if not self.looked:
            expect_words(run.model, self.stream)
            self.looked = True
        super().__call__(run)

    looked = False

    def line(self, run: Any, seconds: float) -> str:
        rate = f"{run.examples:,} documents  {run.examples / max(seconds, 1e-9):,.0f}/s"
        known = run.model.perplexity_
        return rate if known is None else f"{rate}  perplexity {known:,.1f}"


class WantedWords:
    """A stream without some words. The model never sees them, and ignores them later."""

    def __init__(self, stream: Any, stop: set[str], least: int) -> None:
        self.stream, self.stop, self.least = stream, stop, least
        self.judged = np.zeros(0, bool)
        self.names: Any = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        from seriatim.core.rows import Rows
        from seriatim.data.cache import sparse
        from seriatim.errors import DataError

        for rows, y in self.stream:
            if rows.names is None:
                raise DataError(f"{self.stream.name}: words without names; --stop-words and --min-length need names")
            start, index, value = sparse(rows)
            kept = self.wanted(rows.names, rows.features)[index]
            counted = np.concatenate([[0], np.cumsum(kept)])
            some = Rows.sparse(counted[start], index[kept], value[kept], rows.features).in_any_order()
            some.names = rows.names
            yield some.check(), y

    def wanted(self, names: Any, n: int) -> np.ndarray:
        """Which of the first n names are words to keep, as a mask."""
        if names is not self.names:
            self.names, self.judged = names, np.zeros(0, bool)
        new = [word_of(names[j]) for j in range(len(self.judged), n)]
        more = [len(word) >= self.least and word.lower() not in self.stop for word in new]
        self.judged = np.concatenate([self.judged, np.array(more, bool)])
        return self.judged


def word_of(name: Any) -> str:
    """A word without its column."""
    return str(name).rpartition("=")[2] or str(name)


def topics_of(model: Any, words: int) -> list[dict[str, Any]]:
    """The topics by weight, each with its most probable words. Column numbers start at 1."""
    weights = model.topic_weights_
    topics = model.topics(words)
    single = len({str(word).partition("=")[0] for topic in topics for word, _ in topic}) == 1

    def shown(word: Any) -> str:
        return str(word + 1) if isinstance(word, int) else word_of(word) if single else word

    heavy = [k for k in np.argsort(-weights, kind="stable").tolist() if weights[k] >= FEWEST]
    return [
        {"topic": k, "weight": float(weights[k]), "words": [(shown(word), share) for word, share in topics[k]]}
        for k in heavy
    ]


def topic_lines(topics: list[dict[str, Any]]) -> Iterator[str]:
    """A line for each topic."""
    yield f"{'topic':>5}  {'weight':>6}  words"
    for topic in topics:
        words = "  ".join(f"{word} {share:.3f}" for word, share in topic["words"])
        yield f"{topic['topic']:>5}  {topic['weight']:>6.3f}  {words}"


def show(about: dict[str, Any]) -> None:
    """Print the summary as text."""
    say(about["model"], bold=True)
    if "documents" in about:
        rate = about["documents"] / max(about["seconds"], 1e-9)
        say(f"  {about['documents']:,} documents, {about['vocabulary']:,} words, {rate:,.0f} documents/s")
        if about["perplexity"] is not None:
            say(f"  perplexity {about['perplexity']:,.1f} (each document measured before the model learned it)")
    say()
    for line in topic_lines(about["topics"]):
        say(f"  {line}")

"""`seriatim topics`: documents in, topics out."""

from __future__ import annotations

import gzip
import json
import math
import random
import subprocess
from pathlib import Path

import numpy as np
import pytest

import seriatim
from seriatim import data
from seriatim.core.loop import Scores
from tests.cli.test_cli import COMMAND, folder, good, seriatim_  # noqa: F401, fixtures

THEMES = ("oil price barrel opec crude", "goal match team player league", "gene protein cell virus enzyme")


def lines(n=300):
    """Documents of one theme each, with two words that occur in all themes."""
    rng = random.Random(1)
    return ["The of " + " ".join(rng.choices(rng.choice(THEMES).split(), k=12)) for _ in range(n)]


@pytest.fixture
def news(folder) -> Path:  # noqa: F811
    path = folder / "news.txt"
    path.write_text("\n\n".join(lines()) + "\n")
    (folder / "stop.txt").write_text("\ufeffThe\nof\n")
    return path


def found(about):
    """Whether the words of each topic belong to one theme, a different one for each topic."""
    words = [{word for word, _ in topic["words"]} for topic in about["topics"]]
    return sorted(map(sorted, words)) == sorted(sorted(theme.split()) for theme in THEMES)


SETTING = ("-k", 3, "-p", "batch=16", "-p", "tau0=1", "-p", "seed=3", "--words", 5)


def test_topics_of_a_text(good, news):  # noqa: F811
    out = good("topics", news, *SETTING, "--stop-words", "stop.txt", "--save", "news.model")
    assert "300 documents, 15 words" in out
    assert "perplexity" in out
    assert len([line for line in out.splitlines() if line.strip()[:1].isdigit()]) == 1 + 3
    shown = json.loads(good("topics", "--model", "news.model", "--words", 5, "--json"))
    assert found(shown)
    assert sum(topic["weight"] for topic in shown["topics"]) == pytest.approx(1)
    assert "topics" in good("inspect", "news.model", "-n", 5)
    assert json.loads(good("inspect", "news.model", "-n", 5, "--json"))["topics"] == shown["topics"]


def test_every_way_in_is_the_same(good, news, folder):  # noqa: F811
    """Plain text, compressed text, a column of JSON lines or a table, and a pipe give the same perplexity."""
    (folder / "news.txt.gz").write_bytes(gzip.compress(news.read_bytes()))
    rows = [{"id": i, "body": line} for i, line in enumerate(lines())]
    (folder / "news.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "news.csv").write_text("id,body\n" + "".join(f"{row['id']},{row['body']}\n" for row in rows))
    columns = ("--text", "body")  # the only options
    ways = [(news,), ("news.txt.gz",), ("news.jsonl", *columns), ("news.csv", *columns)]
    results = [json.loads(good("topics", *way, *SETTING, "--min-length", 4, "--json")) for way in ways]
    piped = [*COMMAND, "topics", "-", "--format", "text", *map(str, SETTING), "--min-length", "4", "--json"]
    done = subprocess.run(piped, input=news.read_bytes(), capture_output=True, check=True)
    results.append(json.loads(done.stdout))
    for one in results[1:]:
        assert (one["documents"], one["vocabulary"]) == (300, 14)  # oil is a stop word
        assert one["topics"] == results[0]["topics"]
        assert one["perplexity"] == results[0]["perplexity"]


def test_perplexity_is_that_before_learning(good, news):  # noqa: F811
    about = json.loads(good("topics", news, *SETTING, "--json"))
    model, bound, words = seriatim.LDA(3, batch=16, tau0=1.0, seed=3), 0.0, 0.0
    for rows, y in data.stream(str(news), format="text", labelled=False):
        scores = Scores()
        model.learn_rows(rows, model.as_targets(None, len(y)), scores)
        losses = np.concatenate([part[-1][:, 0] for part in scores.segments])
        counts = np.add.reduceat(rows.arrays[2], rows.arrays[0][:-1])
        bound, words = bound + float(losses @ counts), words + float(counts.sum())
    assert about["perplexity"] == pytest.approx(math.exp(bound / words))


def test_counts_and_hdp(good, folder):  # noqa: F811
    rng = np.random.default_rng(0)
    text = []
    for i in range(200):
        counts = (
            np.bincount(rng.integers(0, 4, 15)) if i % 2 else np.append([0] * 4, np.bincount(rng.integers(0, 4, 15)))
        )
        text.append("0 " + " ".join(f"{w + 1}:{n}" for w, n in enumerate(counts) if n) + "\n")
    (folder / "counts.svm").write_text("".join(text))
    settings = ("doc_topics=4", "start=best", "batch=16", "tau=1", "kappa=0.7")
    setting = [part for one in settings for part in ("-p", one)]
    out = json.loads(
        good("topics", "counts.svm", "-a", "hdp", "-k", 8, *setting, "--passes", 2, "--words", 4, "--json")
    )
    assert out["documents"] == 400
    heaviest = [{int(word) for word, _ in topic["words"]} for topic in out["topics"][:2]]
    assert sorted(map(sorted, heaviest)) == [[1, 2, 3, 4], [5, 6, 7, 8]]


def test_columns_that_are_not_texts_are_left_out(good, folder):  # noqa: F811
    """Also with hashed words and a saved model."""
    rows = [{"id": 1000 + i, "group": "a group", "body": line} for i, line in enumerate(lines())]
    (folder / "news.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    import pyarrow
    from pyarrow import parquet

    parquet.write_table(pyarrow.Table.from_pylist(rows), "news.parquet")
    for file in ("news.jsonl", "news.parquet"):
        about = json.loads(good("topics", file, *SETTING, "--text", "body", "--save", "news.model", "--json"))
        assert about["vocabulary"] == 17
        words = {word for topic in about["topics"] for word, _ in topic["words"]}
        assert words <= {"the", "of", *" ".join(THEMES).split()}
        hashed = json.loads(good("topics", file, *SETTING, "--text", "body", "--bits", 20, "--json"))
        assert hashed["vocabulary"] == 17
        again = json.loads(good("topics", file, "--model", "news.model", "--json"))
        assert again["vocabulary"] == 17
    (folder / "counts.csv").write_text("oil,goal\n1,0\n0,2\n")  # numbers are counts
    assert json.loads(good("topics", "counts.csv", "-k", 2, "--json"))["vocabulary"] == 2
    few = json.loads(good("topics", "counts.csv", "-k", 2, "-a", "hdp", "--json"))  # fewer topics than in a document
    assert len(few["topics"]) <= 2


def test_a_model_goes_on(good, news):  # noqa: F811
    setting = (*SETTING, "--json")
    twice = json.loads(good("topics", news, *setting, "--passes", 2))
    good("topics", news, *setting, "--save", "one.model")
    again = json.loads(good("topics", news, "--model", "one.model", "--words", 5, "--json"))
    assert again["topics"] == twice["topics"]
    lines_ = good("topics", news, "--model", "one.model", "--words", 2)
    assert "documents" in lines_


def test_codes_of_new_documents(seriatim_, good, news, folder):  # noqa: F811
    """Stop words that the model does not know are ignored."""
    good("topics", news, *SETTING, "--stop-words", "stop.txt", "--save", "news.model")
    (folder / "new.txt").write_text("the oil price\nof goal match the team\n")
    status, out, err = seriatim_("predict", "news.model", "new.txt", "--format", "text")
    assert status == 0
    assert "2 examples" in err
    codes = np.array([[float(part) for part in line.split()] for line in out.splitlines()])
    assert codes.shape == (2, 3)
    assert np.argmax(codes[0]) != np.argmax(codes[1])
    assert codes.sum(axis=1) == pytest.approx([1, 1])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "DATA"),
        (("news.txt", "--stop-words", "nothing.txt"), "nothing.txt"),
        (("news.txt", "--stop-words", "bad.txt"), "bad.txt: expected words in UTF-8"),
        (("--model", "pa.model"), "no topics"),
        (("news.txt", "-p", "kappa=2"), "kappa"),
        (("bad.txt",), "line 2, column 3"),
        (("news.csv",), "the column 'body' holds texts; give --text body to count their words"),
        (("news.csv", "--text", "nothing"), "no column 'nothing'"),
        (("empty.txt",), "no examples"),
        (("counts.svm", "--min-length", "2"), "without names"),
        (("minus.svm",), "Negative"),
    ],
)
def test_what_is_wrong(seriatim_, news, folder, arguments, words):  # noqa: F811
    (folder / "bad.txt").write_bytes(b"a good line\nab\xffcd\n")
    (folder / "empty.txt").write_text("\n")
    (folder / "news.csv").write_text("id,body\n7,oil and gas\n")
    (folder / "counts.svm").write_text("0 1:1 2:1\n")
    (folder / "minus.svm").write_text("0 1:1 2:-1\n")
    seriatim.PA().partial_fit([[1.0], [2.0]], [0, 1]).save(folder / "pa.model")
    status, out, err = seriatim_("topics", *arguments)
    assert (status, out) == (2, "")
    assert words in err

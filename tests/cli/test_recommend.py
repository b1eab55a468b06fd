"""`seriatim recommend`: ratings from files in common formats, and the report about the model."""

from __future__ import annotations

import gzip
import json
import re
import subprocess

import numpy as np
import pytest

import seriatim
from seriatim import PMF, evaluate
from seriatim.data.read import ratings as files
from seriatim.errors import DataError, ParameterError, ParseError
from tests.cli.test_cli import COMMAND, folder, good, seriatim_  # noqa: F401, fixtures
from tests.recommend.comparison import ratings


@pytest.fixture
def stream():
    return [(int(user[1:]), item, rating) for user, item, rating in ratings(1, whole=True)]


@pytest.fixture
def table(folder, stream):  # noqa: F811
    """A file as in MovieLens: tabs, a time, no header."""
    path = folder / "u.data"
    path.write_text("".join(f"{user}\t{item}\t{rating:g}\t88125094{user}\n" for user, item, rating in stream))
    return path


def columns(stream):
    return tuple(map(list, zip(*stream, strict=True)))


# ---- files


def read(path, **options):
    users, items, told = [], [], []
    for block in files.Ratings(path, **options):
        for part, values in zip((users, items, told), block, strict=True):
            part.extend(np.asarray(values, dtype=object).tolist())
    return list(zip(users, items, told, strict=True))


WRITTEN = {
    "u.data": ("{0}\t{1}\t{2:g}\t8812\n", "", {}),
    "ratings.csv": ("{0},{1},{2:g},8812\n", "userId,movieId,rating,timestamp\n", {}),
    "other.csv": ("8812,{2:g},{1},{0}\n", "time,Score,item_id,User ID\n", {}),
    "named.csv": ('8812,{2:g},{1},"{0}"\n', "time,grade,book,who\n", {"columns": ["who", "book", "grade"]}),
    "numbered.tsv": ("8812\t{2:g}\t{1}\t{0}\n", "", {"columns": ["4", "3", "2"]}),
    "ratings.dat": ("{0}::{1}::{2:g}::8812\r\n", "", {}),
    "semicolons.csv": ('"{0}";"{1}";"{2:g}"\n', '"User-ID";"ISBN";"Rating"\n', {}),
    "noheader.csv": ("{0},{1},{2:g}\n", "\n# a comment\n", {"header": False}),
    "lastline.csv": ("{0},{1},{2:g}\n", "﻿user,item,rating\n", {"header": True}),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_files_as_users_have_them(folder, stream, name):  # noqa: F811
    line, head, options = WRITTEN[name]
    text = (head + "".join(line.format(*one) for one in stream)).removesuffix("\n")
    (folder / name).write_text(text, newline="")
    assert read(name, **options) == stream
    (folder / f"{name}.gz").write_bytes(gzip.compress(text.encode()))
    assert read([f"{name}.gz", name], **options) == stream * 2
    assert read(name, limit=17, **options) == stream[:17]


def test_names_stay_what_they_are(folder):  # noqa: F811
    (folder / "some.csv").write_text("user,item,rating\nann,007,3\n7, Brazil ,4.5\n-3,0,1\n1e3,00,2\n")
    assert read("some.csv") == [("ann", "007", 3.0), (7, "Brazil", 4.5), (-3, 0, 1.0), ("1e3", "00", 2.0)]


def test_passes_and_orders(table, stream):
    assert read(table, passes=3) == stream * 3
    one, two, other = read(table, passes=2, shuffle=1), read(table, passes=2, shuffle=1), read(table, shuffle=2)
    assert one == two
    assert one[: len(stream)] != one[len(stream) :]
    for order in (one[: len(stream)], one[len(stream) :], other):
        assert order != stream
        assert sorted(order) == sorted(stream)


def test_large_files_are_read_in_parts(folder, monkeypatch):  # noqa: F811
    monkeypatch.setattr(files, "CHUNK", 100)
    long = ratings(2, n=4000)
    (folder / "r.csv").write_text("user,item,rating\n" + "".join(f"{u},{i},{r!r}\n" for u, i, r in long))
    assert read("r.csv") == long
    assert len(list(files.Ratings("r.csv"))) > 100


BAD = {
    "1\t2\t3\n4\t5\n": (2, 4, "expected the rating, found nothing"),
    "1\t2\t3\n4\t\t5\n": (2, 3, "expected the item, found nothing"),
    "1\t2\t3\n\n1\t2\tx\n": (3, 5, "expected a rating from 1 to 5, found 'x'"),
    "1\t2\t3\n10\t2\t6\n": (2, 6, "expected a rating from 1 to 5, found '6'; set the range by low and high"),
    "1\t2\t3\n1\t2\tnan\n": (2, 5, "expected a rating from 1 to 5, found 'nan'"),
    "1\t2\t3\n1\t\xff\t3\n": (2, 3, "expected UTF-8 text"),
    "1\t2\n": (1, 1, "expected a user, an item and a rating in each line, found '1', '2'"),
}


@pytest.mark.parametrize("text", BAD)
def test_bad_lines(folder, seriatim_, text):  # noqa: F811
    line, column, problem = BAD[text]
    (folder / "bad.tsv").write_bytes(text.encode("latin-1"))
    with pytest.raises(ParseError) as caught:
        read("bad.tsv", low=1, high=5)
    assert (caught.value.line, caught.value.column, caught.value.problem) == (line, column, problem)
    status, out, err = seriatim_("recommend", "bad.tsv", "--save", "m")
    assert (status, out, err) == (2, "", f"seriatim: bad.tsv: line {line}, column {column}: {problem}\n")
    assert not (folder / "m").exists()
    if line > 1:
        assert read("bad.tsv", low=1, high=5, skip_bad=True) == [(1, 2, 3.0)]
        status, out, err = seriatim_("recommend", "bad.tsv", "--skip-bad")
        assert status == 0
        assert err == f"seriatim: 1 bad line skipped; the first:\n  bad.tsv: line {line}, column {column}: {problem}\n"


def test_what_cannot_be_read(folder, table):  # noqa: F811
    for open_it in (read, files.titles):  # no bundled set has ratings or titles
        with pytest.raises(DataError, match=r"nowhere\.csv: No such file or directory$"):
            open_it("nowhere.csv")
    with pytest.raises(DataError, match="no column 'who'"):
        read(table, columns=["who", "2", "3"])
    with pytest.raises(ParameterError, match="columns"):
        read(table, columns=["1", "2"])


def test_cells_that_are_too_long(folder):  # noqa: F811
    """The csv module accepts at most 131,072 characters per cell."""
    long = '"' + "x" * 140_000 + '"'
    (folder / "long.csv").write_text(f"user,item,rating\n1,2,3\n{long},2,3\n")
    with pytest.raises(DataError, match=r"long\.csv: line 3, column 1: expected cells: field larger"):
        read("long.csv")
    with pytest.raises(DataError, match=r"long\.csv: expected a table of items and titles: field larger"):
        files.titles("long.csv")
    assert read("long.csv", skip_bad=True) == [(1, 2, 3.0)]


def test_titles(folder):  # noqa: F811
    (folder / "u.item").write_bytes("1|Toy Story (1995)|x\n2|Léon, or so|y\n".encode("latin-1"))
    (folder / "movies.csv").write_text('movieId,title,genres\n1,Toy Story (1995),x\n2,"Léon, or so",y\n')
    (folder / "movies.dat").write_text("1::Toy Story (1995)::x\n2::Léon, or so::y\n")
    for name in ("u.item", "movies.csv", "movies.dat"):
        found = files.titles(name)
        assert {key: found[key] for key in (1, 2)} == {1: "Toy Story (1995)", 2: "Léon, or so"}


# ---- the command


def test_prints_what_it_found(good, table, stream):  # noqa: F811
    lines = good(
        "recommend", table, "-a", "pmf", "-p", "biases=true", "--user", "3", "--item", "2", "-n", "4"
    ).splitlines()
    model = PMF(biases=True)
    users, items, told = columns(stream)
    run = evaluate.progressive(model, (users, items), told)
    assert lines[0] == f"{model} on {table}"
    shown = {line[2:14].strip(): line[14:].strip() for line in lines[1:9]}
    assert list(shown) == ["ratings", "users", "items", "rmse", "mae", "ndcg@10", "seconds", "ratings/s"]
    assert shown["ratings"] == "250"
    assert shown["rmse"] == f"{run.rmse:.4f}"
    assert shown["mae"] == f"{run.mae:.4f}"
    assert shown["ndcg@10"] == f"{run.ndcg:.4f}"
    assert re.fullmatch(r"  [▁▂▃▄▅▆▇█]{40}  rmse over time", lines[9])
    at = lines.index("for user 3")
    assert lines[at + 1].split() == ["item", "rating"]
    assert [line.split() for line in lines[at + 2 : at + 6]] == [
        [str(item), f"{score:.4f}"] for item, score in model.recommend(3, 4)
    ]
    at = lines.index("nearest to item 2")
    assert [line.split() for line in lines[at + 2 : at + 6]] == [
        [str(item), f"{score:.4f}"] for item, score in model.nearest(2, 4)
    ]


@pytest.mark.parametrize("name", ["pmf", "rmf", "svd-recommender"])
def test_save_ask_and_go_on(good, table, stream, name, folder):  # noqa: F811
    about = json.loads(good("recommend", table, "-a", name, "--save", "m", "--user", "1", "--json", "-n", "3"))
    assert list(about) == ["algorithm", "parameters", "ratings", "users", "items", "rmse", "mae", "bytes", "seconds",
                           "metrics", "recommendations"]  # fmt: skip
    assert (about["algorithm"], about["ratings"], about["users"]) == (name, 250, 14)
    model = seriatim.load("m")
    expected = [{"item": item, "score": score} for item, score in model.recommend(1, 3)]
    assert about["recommendations"] == {"1": expected}
    asked = json.loads(good("recommend", "--model", "m", "--user", "1", "--item", "2", "-n", "3", "--json"))
    assert asked["recommendations"] == {"1": expected}
    assert [entry["item"] for entry in asked["nearest"]["2"]] == [item for item, _ in model.nearest(2, 3)]
    good("recommend", table, "--model", "m", "--save", "m")
    assert seriatim.load("m").t_ == 500
    shown = good("inspect", "m")
    assert "ratings" in shown
    assert json.loads(good("inspect", "m", "--json"))["users"] == 14


def test_titles_are_shown(good, table, folder):  # noqa: F811
    (folder / "titles.csv").write_text("".join(f"{item},The {item}th\n" for item in range(20)))
    shown = good("recommend", table, "--user", "1", "--item", "2", "--titles", "titles.csv")
    assert "nearest to item 2 The 2th" in shown
    assert re.search(r"^  \d+ +\d\.\d{4}  The \d+th$", shown, re.MULTILINE)
    found = json.loads(good("recommend", table, "--user", "1", "--titles", "titles.csv", "--json"))
    assert all(entry["title"] == f"The {entry['item']}th" for entry in found["recommendations"]["1"])


def test_users_of_whom_nothing_is_known(good, table):  # noqa: F811
    assert "for user nobody, of whom nothing is known" in good("recommend", table, "--user", "nobody")


def test_standard_input(table):
    done = subprocess.run(
        [*COMMAND, "recommend", "-", "--json"], input=table.read_bytes(), capture_output=True, check=True
    )
    assert json.loads(done.stdout)["ratings"] == 250
    done = subprocess.run(
        [*COMMAND, "recommend", "-", "--passes", "2"], input=table.read_bytes(), capture_output=True, check=False
    )
    assert done.returncode == 2
    assert b"only once" in done.stderr


def test_mistakes_of_users(seriatim_, table, good, folder):  # noqa: F811
    good("recommend", table, "--save", "m")
    good("train", "spam", "-o", "spam.model")
    (folder / "empty.csv").write_text("user,item,rating\n")
    (folder / "nothing").write_text("")
    (folder / "endless").write_text("1,2,3," + 3_000_000 * "x")
    for arguments, problem in (
        ((), "give DATA to learn from, or a saved --model"),
        (("--model", "m", "-p", "eta=1"), "its own algorithm and parameters"),
        (("--model", "spam.model", "--user", "1"), "does classification"),
        (("--model", "m"), "nothing to do with the model"),
        ((table, "-a", "pa"), "use one of pmf, rmf, svd-recommender"),
        ((table, "-a", "pmf", "-p", "eta=-1"), "must be a number above 0"),
        ((table, "-p", "nonsense=1"), "parameter of SVDRecommender"),
        ((table, "-p", "high=4"), "expected a rating from 1 to 4"),
        ((table, "--item", "999"), "the item 999 has no rating"),
        ((table, "--columns", "1,2"), "must be three columns"),
        ((table, "--metric", "accuracy"), "metric of classification"),
        (("empty.csv",), "no examples"),
        (("nothing",), "no examples"),
        (("endless",), "a line of more than 1024 kB"),
        (("nowhere.csv",), "No such file"),
    ):
        status, out, err = seriatim_("recommend", *arguments)
        assert status == 2, arguments
        assert problem in err, arguments
    for arguments in (("run", table, "-a", "pmf"), ("train", table, "-a", "rmf", "-o", "x"),
                      ("tune", table, "-a", "pmf"), ("compare", "spam", "-a", "svd-recommender"),
                      ("predict", "m", table), ("train", table, "--resume", "m", "-o", "x")):  # fmt: skip
        status, out, err = seriatim_(*arguments)
        assert (status, out) == (2, ""), arguments
        assert "recommend" in err, arguments

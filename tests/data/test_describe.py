"""`describe` agrees with plain Python, in every format and for every block size."""

from __future__ import annotations

import csv
import gzip
import json
import math
import re
from collections import Counter
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from seriatim import cli, data
from seriatim.cli.describe import DescribeProgress
from seriatim.core.rows import Rows
from seriatim.data.describe import Description, describe
from seriatim.errors import DataError
from tests.conftest import data_set

NUMBERS = [0.0, 1.0, -1.0, 0.5, 1000.0, 1e-3, 0.1]


def compare(about: Description, examples: list[tuple]) -> None:
    """Describe (label or None, {name: value}) examples in plain Python."""
    rows = [{name: value for name, value in x.items() if value} for _, x in examples]
    values = [value for row in rows for value in row.values()]
    keys = [frozenset(row.items()) for row in rows]
    pairs = {(key, label) for key, (label, _) in zip(keys, examples, strict=True)}
    labels = Counter(label for label, _ in examples if label is not None)
    features = {name: [row[name] for row in rows if name in row] for name in {name for row in rows for name in row}}
    lengths = [len(row) for row in rows]
    assert (about.rows, about.used, about.nonzeros, about.exact) == (len(rows), len(features), len(values), True)
    assert about.density == pytest.approx(len(values) / max(len(rows) * about.features, 1))
    assert (about.empty_rows, about.unlabelled) == (lengths.count(0), len(rows) - labels.total())
    assert (about.duplicates, about.contradictions) == (len(rows) - len(pairs), len(pairs) - len(set(keys)))
    assert about.per_row == {"min": min(lengths), "mean": len(values) / len(rows), "max": max(lengths)}
    if values:
        shares = [values.count(1) / len(values), sum(value < 0 for value in values) / len(values)]
        assert [*about.values.values()] == [min(values), max(values), *shares]
    assert {(*one.values(),) for one in about.labels} == {(one, n, n / labels.total()) for one, n in labels.items()}
    for one in about.heaviest:
        x = features[one["name"]]
        figures = {"min": min(x), "mean": np.mean(x), "max": max(x), "deviation": np.std(x)}
        assert one == pytest.approx({"name": one["name"], "rows": len(x), "share": len(x) / len(rows), **figures})
    weights = {name: (-len(x), -round(sum(map(abs, x)), 6)) for name, x in features.items()}
    assert [weights[one["name"]] for one in about.heaviest] == sorted(weights.values())[:10]


def as_libsvm(examples: list[tuple]) -> str:
    return "".join(f"{label} {' '.join(f'{j}:{v!r}' for j, v in x.items())}\n" for label, x in examples)


def as_vw(examples: list[tuple]) -> str:
    return "".join(f"{label or ''} | {' '.join(f'{j}:{v!r}' for j, v in x.items())}\n" for label, x in examples)


def as_jsonl(examples: list[tuple]) -> str:
    return "".join(json.dumps(x | ({} if label is None else {"label": label})) + "\n" for label, x in examples)


def as_csv(examples: list[tuple]) -> str:
    """Numbers a and b, a category c."""
    lines = ["a,b,c,label"]
    for label, x in examples:
        category = next((name[2:] for name in x if name.startswith("c=")), "")
        lines.append(f"{x.get('a', '')},{x.get('b', '')},{category},{label or ''}")
    return "\n".join(lines) + "\n"


def columns(*names: str) -> st.SearchStrategy:
    return st.dictionaries(st.sampled_from(names), st.sampled_from(NUMBERS))


def listed(labels: list, x: st.SearchStrategy) -> st.SearchStrategy:
    return st.lists(st.tuples(st.sampled_from(labels), x), min_size=1, max_size=60)


categories = st.sampled_from([{}, {"c=red": 1.0}, {"c=green": 1.0}])
FORMATS = {
    "svm": (as_libsvm, listed([-1, 1, "spam"], columns(*map(str, range(1, 15))))),
    "vw": (as_vw, listed([None, "ham", 2, "spam"], columns("one", "two", "three"))),
    "jsonl": (as_jsonl, listed([None, "ham", 0.0, -0.0, 2.5], columns("one", "two", "three"))),
    "csv": (as_csv, listed([None, "ham", "spam"], st.builds(dict.__or__, columns("a", "b"), categories))),
}


@pytest.mark.parametrize("format", FORMATS)
@settings(max_examples=25)
@given(drawn=st.data())
def test_as_plain_python_finds_it_whatever_the_blocks(tmp_path_factory, format, drawn):
    write, examples = FORMATS[format]
    examples = drawn.draw(examples)
    path = tmp_path_factory.mktemp("described") / f"rows.{format}"
    path.write_text(write(examples))
    compare(describe(data.stream(path, labelled=False)), examples)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("seriatim.data.describe.BATCH", 20)
        every = [describe(data.stream(path, labelled=False, block=size)) for size in (1, 30, 1 << 20)]
    assert every[0] == every[1] == every[2]
    compare(every[0], examples)


def test_dense_rows_sparse_rows_and_unnamed_blocks():
    rng = np.random.default_rng(1)
    X = rng.integers(0, 3, (50, 4)) * 0.5
    y = rng.integers(0, 2, 50)
    start = np.concatenate([[0], np.cumsum((X != 0).sum(1))])
    sparse = Rows.sparse(start, np.nonzero(X)[1], X[X != 0], 4)
    assert describe([(Rows.dense(X), y)]) == describe([(sparse, y.astype(object))])
    compare(
        describe([(Rows.dense(X), y)]),
        [(label, {str(j + 1): v for j, v in enumerate(x)}) for x, label in zip(X.tolist(), y.tolist(), strict=True)],
    )


@pytest.mark.parametrize("name", ["a1a/a1a.libsvm", "elec2/elec.csv.gz"])
def test_real_files(name):
    path = data_set(name)
    if name.endswith(".gz"):
        with gzip.open(path, "rt") as file:
            table = list(islice(csv.DictReader(file), 5000))
        examples = [(int(row.pop("target")), {name: float(cell) for name, cell in row.items()}) for row in table]
    else:
        lines = [line.split() for line in path.read_text().splitlines()]
        examples = [(int(y), {j: float(v) for j, v in (p.split(":") for p in x)}) for y, *x in lines]
    compare(describe(data.stream(path, limit=5000)), examples)


# ---- labels, duplicates, extremes


def written(folder: Path, lines: list[str], name: str = "rows.svm") -> Path:
    path = folder / name
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(params=[100, 1 << 18])
def batch(request, monkeypatch) -> None:
    """Test with one batch and with many batches."""
    monkeypatch.setattr("seriatim.data.describe.BATCH", request.param)


def test_many_different_numbers_are_targets(tmp_path, batch):
    y = np.random.default_rng(2).standard_normal(5000) + 1e6
    about = describe(data.stream(written(tmp_path, [f"{t!r} 1:1" for t in y.tolist()])))
    assert about.labels is None
    assert about.targets == pytest.approx({"min": y.min(), "mean": y.mean(), "deviation": y.std(), "max": y.max()})
    for rows in (299, 300):
        about = describe(data.stream(written(tmp_path, [f"{i % 30} 1:1" for i in range(rows)])))
        assert (about.targets is None, about.different_labels) == (rows == 300, 30)
    assert len(about.labels) == 20


@pytest.mark.parametrize(("most", "exact"), [(10**7, True), (5000, False)])
def test_duplicates_of_many_rows_are_estimated(tmp_path, monkeypatch, most, exact):
    """Of 20,000 rows a tenth are duplicates, and another tenth are duplicates with a different label."""
    lines = [f"{i >= 18_000:d} 1:{(i % 18_000 if i >= 18_000 else i % 16_000) + 1}" for i in range(20_000)]
    monkeypatch.setattr("seriatim.data.describe.MOST_HASHES", most)
    about = describe(data.stream(written(tmp_path, lines)))
    assert about.exact is exact
    assert about.duplicates == pytest.approx(2000, rel=0 if exact else 0.5)
    assert about.contradictions == pytest.approx(2000, rel=0 if exact else 0.1)


def test_columns_far_out_cost_nothing(tmp_path):
    about = describe(data.stream(written(tmp_path, ["1 3:1 2147483646:-2", "0 2147483646:1e50", "1 1:1e-300"])))
    assert (about.features, about.used, about.nonzeros) == (2147483646, 3, 4)
    assert [one["name"] for one in about.heaviest] == ["2147483646", "3", "1"]
    assert all(map(math.isfinite, about.values.values()))


# ---- warnings

MANY = range(300)
CASES = {
    "scales": (["0 1:1 2:1001", "1 1:1 2:1002"] * 9, ["0 1:1 2:999", "1 1:-1 2:-990"] * 9),
    "rare label": ([f"{i == 7:d} 1:{i}" for i in MANY], [f"{i % 50 == 7:d} 1:{i}" for i in MANY]),
    "sorted": ([f"{i // 100} 1:{i}" for i in MANY], [f"{i % 3} 1:{i}" for i in MANY]),
    "constant": (["0 1:2 2:3", "1 1:2 2:1"], ["0 1:2 2:3", "1 2:2 1:1"]),
    "unlabelled": (["| a"], ["1 | a"]),
    "categories": (
        ["label,name,n", *(f"{i % 2},p{i * 2 // 3},{i}" for i in MANY)],
        ["label,name,n", *(f"{i % 2},p{i % 140},{i}" for i in MANY)],
    ),
}
NAMED = {
    "scales": ("'2'", "'1'", "--normalize"),
    "rare label": ("label 1 has 1 of 300",),
    "sorted": ("changes 2 times", "about 200 times", "--shuffle"),
    "constant": ("'1' (2)", "--drop"),
    "unlabelled": ("--label",),
    "categories": ("'name' has 200 categories in 300 rows", "--text name", "--drop name"),
}


def warnings(path: Path, **features: object) -> dict[str, str]:
    about = describe(data.stream(path, labelled=False, features=features))
    return {one["kind"]: one["text"] for one in about.warnings}


@pytest.mark.parametrize("kind", CASES)
def test_warnings_come_where_they_should(tmp_path, batch, kind):
    name = {"unlabelled": "rows.vw", "categories": "rows.csv"}.get(kind, "rows.svm")
    there, absent = (warnings(written(tmp_path, lines, name)) for lines in CASES[kind])
    assert kind in there and kind not in absent
    assert all(words in there[kind] for words in NAMED[kind])


def test_what_is_asked_for_is_not_warned_of(tmp_path):
    path = written(tmp_path, CASES["categories"][0], "rows.csv")
    assert "categories" not in warnings(path, text=["name"]) | warnings(path, drop=["name"])
    assert "scales" not in warnings(written(tmp_path, CASES["scales"][0]), normalize="max")


# ---- interrupts, and the command


def test_interrupted_and_mixed_and_empty(tmp_path):
    def blocks():
        yield Rows.dense([[1.0], [2.0]]), np.array([0, 1])
        raise KeyboardInterrupt

    about = describe(blocks())
    assert (about.interrupted, about.rows) == (True, 2)
    paths = [written(tmp_path, ["1 1:1"]), written(tmp_path, ["1 | a"], "rows.vw")]
    with pytest.raises(DataError, match="some features have names"):
        describe(data.stream(paths))
    with pytest.raises(DataError, match="no examples"):
        describe([])


def run(*arguments: object) -> str:
    done = CliRunner().invoke(cli.command, ["describe", *map(str, arguments)], prog_name="seriatim")
    assert (done.exit_code, done.stderr) == (0, ""), done.output
    return done.stdout


def test_the_command(tmp_path):
    assert json.loads(run("spam", "--json")) == describe(data.stream("spam")).summary()
    shown = run("spam")
    for words in (
        r"^spam\n  rows +4,601\n  features +57\n",
        r"\n    nonspam  2,788  60.6%\n",
        r"\n    capitalTotal +4,601",
    ):
        assert re.search(words, shown)
    assert re.search(r"^ +seriatim describe spam$", run("--help"), re.MULTILINE)
    assert json.loads(run("sea:seed=1", "--limit", 500, "--json"))["rows"] == 500
    path = written(tmp_path, ["n,kind", "1,a\x1b", "2,b"], "rows.csv")
    shown = run(path, path, "--label", "n", "--bits", 4)
    assert re.search(r"\n  rows +4\n  features +16 ", shown) and "collisions" in shown
    assert r"'kind=a\x1b'" in run(path, "--label", "n")
    assert 200 < json.loads(run("digits", "--sample", 0.2, "--json"))["rows"] < 500


def test_progress_on_a_terminal_only(capsys):
    with DescribeProgress(data.stream("spam")) as progress:
        progress.shown = -1.0
        progress(1000)
        assert capsys.readouterr().err == ""
        progress.visible = True
        progress(2000)
        assert re.search(r"2,000 rows  [\d,]+/s", capsys.readouterr().err)

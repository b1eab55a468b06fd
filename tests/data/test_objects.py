"""JSON lines: agreement with json for any block size, and the position of every error."""

from __future__ import annotations

import gzip
import json
import lzma
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seriatim import PA, data, evaluate
from seriatim.errors import DataError, ParseError
from tests.conftest import data_set
from tests.data.reading import WAYS, outcome, refusal, rows_of, through_pipe
from tests.reference.features import features_of
from tests.reference.labels import label_of

# ---- generated objects

key = st.text(st.characters(exclude_categories=("Cs",), exclude_characters=".=?*"), min_size=1, max_size=6)
key = key.filter(lambda key: key not in ("label", "class", "target", "y"))
word = st.text(st.characters(exclude_categories=("Cs",)), max_size=10)
number = st.one_of(st.floats(-1e50, 1e50), st.integers(-(10**40), 10**40), st.booleans())
date = st.one_of(st.dates(), st.datetimes()).map(lambda when: when.isoformat())
plain = st.one_of(st.none(), number, word, date, st.sampled_from(["2026-02-30", "1", "", "a b a"]))
value = st.one_of(
    plain,
    st.lists(word, max_size=4),
    st.lists(number, max_size=4),
    st.dictionaries(key, st.one_of(plain, st.dictionaries(key, plain, max_size=2)), max_size=3),
)
example = st.dictionaries(key, value, max_size=6)
label = st.one_of(
    st.integers(-5, 5),
    st.floats(-9, 9),
    st.booleans(),
    word.filter(str.strip),
    st.sampled_from(["7", "+7.0", " 7 ", "007", "1e3", "7x"]),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("objects")


@settings(max_examples=100)
@given(
    st.lists(st.tuples(example, label), min_size=1, max_size=5),
    st.sampled_from(["label", "class", "target", "y", "the label"]),
    st.sampled_from(["\n", "\r\n", "\n\n", " \n\t\r\n "]),
    st.booleans(),
    st.sampled_from(["skip", "count"]),
    st.sampled_from([1 << 20, 1, 7, 64]),
)
def test_objects_are_read_as_json_reads_them(folder, examples, name, end, ascii, missing, block):
    text = end.join(json.dumps({**x, name: y}, ensure_ascii=ascii) for x, y in examples)
    path = folder / "lines.jsonl"
    path.write_bytes(text.encode())
    how = {"missing": missing, "text": ["a", "b"]}
    expected = []
    for line in text.split("\n"):
        if line.strip():
            x = json.loads(line)
            y = x.pop(name)
            expected.append((label_of(y) if isinstance(y, str) else float(y), features_of(x, **how)))
    features = {**how, "label": name if name == "the label" else None}
    assert rows_of(path, block=block, features=features) == expected


def test_a_first_line_may_be_long(folder):
    """Without --label, the first line determines the label key, whatever its length."""
    path = folder / "long.jsonl"
    row = {f"x{i}": 1.5 for i in range(20_000)}
    for text in (json.dumps({**row, "label": 1}), "\n" * 3 + json.dumps({"k": "v" * 200_000, "label": 1})):
        path.write_text(f"{text}\n{text}\n")
        assert [y for y, _ in rows_of(path)] == [1, 1]
        packed = folder / "long.jsonl.gz"
        packed.write_bytes(gzip.compress(path.read_bytes()))
        assert [y for y, _ in rows_of(packed)] == [1, 1]


SPELT = {
    r'{"y":1,"a":1,"a":2}': {"a": 2.0},  # as in json, the last value counts
    r'{"y":1,"\u0061\/":"\u00e9\n\"\\"}': {'a/=é\n"\\': 1.0},
    r'{"y":1,"a":"\ud83d\ude00"}': {"a=😀": 1.0},
    r'{"y":1,"a":1E+2,"b":-0,"c":0.1e1,"d":1e-400}': {"a": 100.0, "b": 0.0, "c": 1.0, "d": 0.0},
    r' { "y" : 1 , "a" : [ ] , "b" : { } } ': {},
    r'{"y":1,"a":["x","x","y"],"b":[0.5,true,null]}': {"a=x": 2.0, "a=y": 1.0, "b.0": 0.5, "b.1": 1.0},
    r'{"y":1,"a":{"b":{"c":"2026-11-16"}}}': {
        "a.b.c.year=2026": 1.0, "a.b.c.month=11": 1.0, "a.b.c.day=16": 1.0, "a.b.c.weekday=Mon": 1.0
    },
}  # fmt: skip


@pytest.mark.parametrize("line", SPELT)
def test_ways_to_spell_an_object(tmp_path, line):
    path = tmp_path / "lines.json"
    path.write_text(line)
    assert rows_of(path) == [(1.0, SPELT[line])]


REAL = ("spamassassin/spamassassin", "amazon-multidomain/sorted_data_acl", "20newsgroups/20news-bydate-test")


@pytest.mark.parametrize("name", REAL)
def test_real_files_are_read_as_json_reads_them(name):
    path = data_set(f"{name}.jsonl.gz")
    with gzip.open(path, "rt") as file:
        objects = [json.loads(line) for line in islice(file, 60)]
    label = "label" if "label" in objects[0] else "group"
    how = {"text": ["text"], "ngram": 2, "drop": ["id"]}
    expected = [(one[label], features_of({k: v for k, v in one.items() if k != label}, **how)) for one in objects]
    assert rows_of(path, limit=60, features={**how, "label": label}) == expected


# ---- blocks, threads and pipes


@pytest.mark.parametrize("features", [{"text": ["t"]}, {"bits": 8, "cross": [("c", "n")]}])
def test_a_run_does_not_depend_on_how_it_is_read(folder, features):
    rng = np.random.default_rng(2)
    words = ["red", "Äpfel", "two\nlines", "", "2026-11-16", "x" * 40]
    objects = [
        {"n": float(rng.random()), "c": words[rng.integers(6)], "t": " ".join(rng.choice(words, 3)), f"k{i % 40}": i,
         "class": "abc"[rng.integers(3)]} for i in range(100)
    ]  # fmt: skip
    text = "\n\r\n".join(map(json.dumps, objects)).encode()
    path, packed = folder / "run.jsonl", folder / "run.jsonl.xz"
    path.write_bytes(text)
    packed.write_bytes(lzma.compress(text))
    expected = outcome(path, threads=1, features=features)
    for block, threads in WAYS:
        assert outcome(path, block=block, threads=threads, features=features) == expected, (block, threads)
    assert outcome(packed, block=64, features=features) == expected
    for content in (text, packed.read_bytes()):
        assert through_pipe(folder, content, lambda pipe: outcome(pipe, features=features)) == expected


# ---- refusals

KEY = "which key is the label? Say so by --label (features=Features(label=...)); there are "
LABEL = "expected a label under 'label', a number or a string, found "
REFUSED = {
    b'{"label":1,"a":1': (17, "expected a JSON object: Input data was truncated"),
    b'{"label":1,"a"': (15, "expected a JSON object: Input data was truncated"),
    b'{"label":1,"a":"x': (18, "expected a JSON object: Input data was truncated"),
    b"{": (2, "expected a JSON object: Input data was truncated"),
    b'{"label":1}}': (12, "expected a JSON object: JSON is malformed: trailing characters"),
    b'{"label":1} {"label":2}': (13, "expected a JSON object: JSON is malformed: trailing characters"),
    b"{'label':1}": (2, "expected a JSON object: JSON is malformed"),
    b'{"label":1,"a":NaN}': (16, "expected a JSON object: JSON is malformed"),
    b'{"label":1,"a":1,}': (18, "expected a JSON object: JSON is malformed"),
    b"label,a": (1, "expected a JSON object: JSON is malformed"),
    b"1 |f a": (3, "expected a JSON object: JSON is malformed: trailing characters"),
    b"[1, 2]": (1, "expected an object, found '[1, 2]'"),
    b'"x"': (1, "expected an object, found '\"x\"'"),
    b" null": (1, "expected an object, found 'null'"),
    b"[" + b"0," * 30 + b"0]": (1, "expected an object, found '[" + "0," * 19 + "0...'"),
    b'{"label":[1],"a":1}': (1, LABEL + "[1]"),
    b'{"label":{"b":1},"a":1}': (1, LABEL + "{'b': 1}"),
    b'{"label":null,"a":1}': (1, LABEL + "none"),
    b'{"label":"","a":1}': (1, LABEL + "''"),
    b'{"label":1e60,"a":1}': (1, LABEL + "1e+60"),
    b'{"a":1,"b":2}': (1, LABEL + "none"),
    b"{}": (1, LABEL + "none"),
    b'{"label":1,"a":1e400}': (22, "expected a JSON object: Number out of range"),
    b'{"label":1,"a":1e60}': (1, "feature 'a': the value 1e+60 is beyond +-1e+50"),
    b'{"label":1,"a":{"b":-1e60}}': (1, "feature 'a.b': the value -1e+60 is beyond +-1e+50"),
    b'{"label":1,"a":[1,"x"]}': (1, "feature 'a': 'x' in a list; a list holds strings, or numbers"),
    b'{"label":1,"a":[[1]]}': (1, "feature 'a': [1] in a list; a list holds strings, or numbers"),
    b'{"label":1,"a":{"b":1},"a.b":2}': (1, "feature 'a.b' is there twice"),
    b'{"label":1,"a":' + b'{"a":' * 99 + b"1" + b"}" * 100: (1, "feature 'a.a.a.a"),
    b'{"label":1,"a":' + b"[" * 9999 + b"]" * 9999 + b"}": (1, "expected an object, found too many"),
    b'{"label":1,"a":"\xff"}': (17, "expected UTF-8 text, found the byte 0xff"),
    b'{"label":1,"\xc3(":2}': (13, "expected UTF-8 text, found the byte 0xc3"),
    b'{"label":"\xe4"}': (11, "expected UTF-8 text, found the byte 0xe4"),
    b'\xff{"label":1}': (1, "expected a JSON object: JSON is malformed"),
    b'{"label":1,"a":"\\ud800"}': (25, "expected a JSON object"),
    b'{"label":1,"a":"\x01"}': (17, "expected a JSON object: JSON is malformed"),
}
GOOD = b'{"label":1,"a":[1,2],"b":"x"}\r\n\n \n'


@pytest.mark.parametrize("line, place", REFUSED.items(), ids=[repr(line)[:30] for line in REFUSED])
@pytest.mark.parametrize("good", [0, 20])
def test_what_is_refused_with_its_place(tmp_path, line, place, good):
    path = tmp_path / "bad.jsonl"
    path.write_bytes(good * GOOD + line + b"\n" + GOOD)
    error = refusal(path)
    assert isinstance(error, ParseError)
    assert (error.line, error.column) == (3 * good + 1, place[0])
    assert error.problem.startswith(place[1])
    assert str(error) == f"{path}: line {error.line}, column {error.column}: {error.problem}"


@pytest.mark.parametrize("block, threads", WAYS[2:])
def test_bad_lines_are_counted_and_all_others_kept(tmp_path, block, threads):
    """The features, names and sums of a bad line are dropped."""
    path = tmp_path / "half.jsonl"
    bad = [line for line in REFUSED if len(line) < 999]
    bad.append(b'{"label":1,"a":"x","b":"z","c":[{}]}')
    path.write_bytes(b"".join(b'{"label":%d,"a":"x","b":["x","x"]}\n%b\n' % (i, line) for i, line in enumerate(bad)))
    stream = data.stream(path, skip_bad=True, block=block, threads=threads)
    assert rows_of(stream) == [(float(i), {"a=x": 1.0, "b=x": 2.0}) for i in range(len(bad))]
    assert (stream.skipped_count, len(stream.skipped)) == (len(bad), 10)
    assert stream.skipped[0] == f"{path}: line 2, column 17: expected a JSON object: Input data was truncated"
    names = outcome(path, skip_bad=True, block=block, threads=threads)[0]["names"]
    assert names == ["a=x", "b=x"]


def test_labels_may_be_missing_where_none_is_needed(tmp_path):
    path = tmp_path / "lines.jsonl"
    path.write_bytes(b'{"a":1}\n{"label":2}\n{"label":null}\n{"label":"spam"}\n')
    labels = [label for label, _ in rows_of(path, labelled=False)]
    assert labels[1::2] == [2.0, "spam"]
    assert np.isnan(labels[::2]).all()


def test_the_key_of_the_label_is_one_for_all(tmp_path):
    path = tmp_path / "lines.jsonl"
    path.write_bytes(b'{"label":"a","y":5}\n{"y":7}\n')
    assert refusal(path).args[0].startswith(f"{path}: line 2, column 1: expected a label under 'label'")
    path.write_bytes(b'{"a":1,"b":2}\n')
    assert refusal(path).args[0].startswith(f"{path}: line 1, column 1: {KEY}'a', 'b'")


@pytest.mark.parametrize("text", [b"", b"\n", b" \r\n\t\n", b"\xef\xbb\xbf"])
def test_files_without_objects(tmp_path, text):
    path = tmp_path / "lines.jsonl"
    path.write_bytes(text)
    assert rows_of(path) == []
    with pytest.raises(DataError, match=r"lines\.jsonl: no examples"):
        data.load(path)


def test_a_label_within_an_object(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"m": {"y": "a", "z": 1}, "u": 1}\n{"m": {"y": "b"}, "u": 2}\n{"m.y": "a", "u": 3}\n')
    model = PA()
    run = evaluate.progressive(model, data.stream(path, features={"label": "m.y"}))
    assert run.examples == 3 and [*model.feature_names_in_] == ["m.z", "u"]

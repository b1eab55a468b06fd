"""All formats convert the text of labels by the same rule."""

import json

import numpy as np
import pytest

from seriatim import PA, PARegressor, data
from seriatim.errors import DataError, ParseError
from seriatim.labels import label_of
from seriatim.parameters import Labels

NUMBERS = {
    "7": 7, "+7": 7, "-7": -7, "7.0": 7, "7.": 7, ".5": 0.5, "0.50": 0.5, "7e0": 7, "70E-1": 7, "0": 0, "-0": 0,
    "0.0": 0, "1e3": 1000, "-1e-2": -0.01, "9007199254740991": 2**53 - 1, "123456789": 123456789,
    "1e49": 1e49,
}  # fmt: skip
NAMES = (
    "007", "00", "-007", "+01", "00.5", "1_000", "1,5", "7x", "x7", "7.0.0", "1e", "1e+", "e5", ".", "+", "-", "--7",
    "0x10",
    "inf", "nan", "-Infinity", "1e400", "\u0667", "\uff17", "7\u00a0", "\u00b2", "true", "spam",
)  # fmt: skip


def read(tmp_path, format, texts):
    """The labels that are read from a file with these texts."""
    path = tmp_path / f"data.{ENDINGS.get(format, format)}"
    if format in ("parquet", "arrow"):
        pa = pytest.importorskip("pyarrow")
        table = pa.table({"label": texts, "x": [1.0] * len(texts)})
        if format == "arrow":
            table = table.set_column(0, "label", table["label"].dictionary_encode())
            with pa.ipc.new_file(path, table.schema) as file:
                file.write_table(table)
        else:
            pytest.importorskip("pyarrow.parquet").write_table(table, path)
    else:
        path.write_text(HEADS.get(format, "") + "".join(map(LINES[format], texts)), encoding="utf-8")
    y = np.concatenate([y for _, y in data.stream(path)])
    return y.tolist()


LINES = {
    "libsvm": lambda text: f"{text} 1:1\n",
    "vw": lambda text: f"{text} | x\n",
    "csv": lambda text: f'"{text}",1\n',
    "tsv": lambda text: f"{text}\t1\n",
    "jsonl": lambda text: json.dumps({"label": text, "x": 1}) + "\n",
}
HEADS = {"csv": "label,x\n", "tsv": "label\tx\n"}
ENDINGS = {"libsvm": "svm"}


@pytest.mark.parametrize("format", [*LINES, "parquet", "arrow"])
def test_a_label_is_the_same_in_every_format(tmp_path, format):
    """Labels agree with `label_of`, in a file with names and in a file with numbers only."""
    numbers, names = [*NUMBERS], [name for name in NAMES if format != "vw" or ":" not in name]
    for texts in (
        numbers,
        names,
        names + numbers,
        [text for pair in zip(names, numbers, strict=False) for text in pair],
    ):
        found = read(tmp_path, format, texts)
        assert found == [NUMBERS.get(text, text) for text in texts]
        assert [type(label) for label in found] == [float if text in NUMBERS else str for text in texts]
    assert [label_of(text) for text in NUMBERS] == [*NUMBERS.values()]
    assert [label_of(text) for text in NAMES] == [*NAMES]
    assert {type(label_of(text)) for text in NUMBERS} == {int, float}
    assert Labels().parse(",".join(texts[:6])) == [label_of(text) for text in texts[:6]]


def test_blanks_around_numbers(tmp_path):
    for format in ("csv", "jsonl", "parquet"):
        assert read(tmp_path, format, [" 7", "7 ", " 7.0 ", " 007", " a "]) == [7, 7, 7, " 007", " a "]


def test_digits_behind_zeros_are_another_label(tmp_path):
    for format in ("libsvm", "csv", "jsonl"):
        path = tmp_path / f"data.{ENDINGS.get(format, format)}"
        read(tmp_path, format, ["007", "7"] * 3)
        model = PA()
        for rows, y in data.stream(path):
            model.learn_rows(rows, model.as_targets(y, rows.n))
        assert model._labels == [7, "007"]


def test_numbers_that_a_float_may_not_hold_are_no_labels(tmp_path):
    """Labels in files are float64. A label that may have been rounded is refused, but is valid as a target."""
    from seriatim.evaluate import progressive

    for text in ("9007199254740993", "9223372036854775809", "1e30", str(-(2**70))):
        for format in (*LINES, "parquet"):
            read(tmp_path, format, [text, "1"])
            path = tmp_path / f"data.{ENDINGS.get(format, format)}"
            with pytest.raises(DataError, match=r"the label .* is a float beyond 2\^53"):
                progressive(PA(), data.stream(path))
            if format not in ("jsonl", "parquet"):
                assert progressive(PARegressor(), data.stream(path)).examples == 2


def test_zeros_before_a_target_do_not_matter(tmp_path):
    for format in ("libsvm", "vw", "csv", "tsv"):
        path = tmp_path / f"data.{ENDINGS.get(format, format)}"
        read(tmp_path, format, ["007", "07.50", "-01", "2"])
        stream = data.stream(path)
        stream.source.numbers = True
        assert np.concatenate([y for _, y in stream]).tolist() == [7, 7.5, -1, 2]
        read(tmp_path, format, ["007", "x", "2"])
        with pytest.raises(ParseError, match="expected a number to estimate, found 'x'"):
            list(stream)
        stream = data.stream(path, skip_bad=True)
        stream.source.numbers = True
        assert np.concatenate([y for _, y in stream]).tolist() == [7, 2]


def test_half_a_letter_by_an_escape(tmp_path):
    path = tmp_path / "data.jsonl"
    for line in ('{"label": "a\\ud800", "x": 1}', '{"label": 1, "a\\ud800": 1}', '{"label": 1, "x": "a\\ud800"}',
                 '{"label": 1, "x": ["a\\ud800"]}', '{"label": 1, "x": {"a\\ud800": 1}}'):  # fmt: skip
        path.write_text('{"label": 0, "x": 1}\n' + line + "\n")
        with pytest.raises(DataError, match="line 2, column"):
            list(data.stream(path))

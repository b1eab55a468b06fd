"""One set of rules: the same examples in any container give the same weights and the same mistakes."""

from __future__ import annotations

import csv
import datetime
import json
import math
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from seriatim import PA, data
from seriatim.evaluate import progressive

NAN, NAT = math.nan, pd.NaT
DAY, HOUR = datetime.date, datetime.datetime

# A column and its values in JSON lines and CSV. Each case tests one rule.
COLUMNS: dict[str, list[Any]] = {
    "whole numbers": [1, 2, -3, 4, 0, 6],
    "fractions": [0.5, -1.25, 3.0, 1e-3, 0.0, 2.5],
    "missing numbers": [0.5, None, 3.0, None, -1.0, 2.0],
    "booleans": [True, False, False, True, True, False],
    "missing booleans": [True, None, False, True, None, False],
    "categories": ["red", "green", "red", "blue", "blue", "red"],
    "missing categories": ["red", None, "red", None, "blue", "red"],
    "dates": [DAY(2026, 11, 16), DAY(2024, 2, 29), DAY(2026, 11, 17), DAY(2000, 1, 1), DAY(1999, 12, 31),
              DAY(2026, 1, 1)],
    "hours": [HOUR(2026, 11, 16, 8, 30), HOUR(2024, 2, 29), HOUR(2026, 11, 16, 9), HOUR(2000, 1, 1, 23, 59, 59),
              HOUR(2026, 11, 16, 8), HOUR(2026, 1, 1)],
    "missing dates": [DAY(2026, 11, 16), None, DAY(2026, 11, 17), None, DAY(1999, 12, 31), DAY(2026, 1, 1)],
}  # fmt: skip
LABELS = ["a", "b", "a", "b", "b", "a"]
OPTIONS: list[dict[str, Any]] = [
    {},
    {"missing": "count"},
    {"text": ["categories", "missing categories"]},
    {"cross": [("booleans", "missing numbers"), ("categories", "missing dates")]},
    {"bits": 10, "missing": "count"},
]

Learned = tuple[dict[Any, float], int]


def rows() -> list[dict[str, Any]]:
    return [dict(zip(COLUMNS, values, strict=True)) for values in zip(*COLUMNS.values(), strict=True)]


def weights(model: PA) -> dict[Any, float]:
    coef = model.coef_[0].tolist()
    names = model.feature_names_in_.tolist() if hasattr(model, "feature_names_in_") else range(len(coef))
    return {name: weight for name, weight in zip(names, coef, strict=True) if weight}


def one_by_one(change: Callable[[Any], Any], how: Any, _: Path) -> Learned:
    """Dicts with a function applied to each value."""
    model = PA(features=how)
    mistakes = 0
    for x, y in zip(rows(), LABELS, strict=True):
        mistakes += model.progress_one({name: change(value) for name, value in x.items()}, y) != y
    return weights(model), mistakes


def frame(make: Callable[[Any], Any], how: Any, _: Path) -> Learned:
    run = progressive(PA(features=how), make(COLUMNS), LABELS)
    return weights(run.model), run.mistakes


def file(name: str, write: Callable[[Path], None], how: Any, folder: Path) -> Learned:
    write(folder / name)
    run = progressive(PA(), data.stream(folder / name, features=how))
    return weights(run.model), run.mistakes


def write_json(path: Path) -> None:
    lines = [json.dumps({**x, "label": y}, default=str) for x, y in zip(rows(), LABELS, strict=True)]
    path.write_text("\n".join(lines) + "\n")


def write_csv(path: Path) -> None:
    with path.open("w", newline="") as out:
        table = csv.writer(out)
        table.writerow([*COLUMNS, "label"])
        for x, y in zip(rows(), LABELS, strict=True):
            cells = ["" if v is None else str(v).lower() if isinstance(v, bool) else v for v in x.values()]
            table.writerow([*cells, y])


def numpy_value(value: Any) -> Any:
    """A value as a NumPy scalar."""
    kinds = {bool: np.bool_, int: np.int16, float: np.float64, DAY: np.datetime64, HOUR: np.datetime64}
    return kinds[type(value)](value) if type(value) in kinds else value


CONTAINERS: dict[str, Callable[[Any, Path], Learned]] = {
    "dicts": lambda *given: one_by_one(lambda value: value, *given),
    "dicts with NaN": lambda *given: one_by_one(lambda value: NAN if value is None else value, *given),
    "dicts with NaT": lambda *given: one_by_one(lambda value: NAT if value is None else value, *given),
    "dicts with NA": lambda *given: one_by_one(lambda value: pd.NA if value is None else value, *given),
    "dicts with Decimal": lambda *given: one_by_one(lambda value: Decimal("NaN") if value is None else value, *given),
    "dicts of NumPy": lambda *given: one_by_one(numpy_value, *given),
    "dicts of texts": lambda *given: one_by_one(
        lambda value: value.isoformat() if isinstance(value, DAY) else value, *given
    ),
    "pandas": lambda *given: frame(pd.DataFrame, *given),
    "pandas of objects": lambda *given: frame(lambda table: pd.DataFrame(table, dtype=object), *given),
    "polars": lambda *given: frame(pl.DataFrame, *given),
    "arrow": lambda *given: frame(pa.table, *given),
    "JSON lines": lambda *given: file("x.jsonl", write_json, *given),
    "CSV": lambda *given: file("x.csv", write_csv, *given),
    "Parquet": lambda *given: file(
        "x.parquet", lambda path: pl.DataFrame({**COLUMNS, "label": LABELS}).write_parquet(path), *given
    ),
}


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: ",".join(options) or "none")
def test_containers_agree(container, options, tmp_path):
    expected, mistakes = CONTAINERS["dicts"](options or None, tmp_path)
    found, theirs = CONTAINERS[container](options or None, tmp_path)
    assert found == pytest.approx(expected, rel=1e-12) and theirs == mistakes
    assert len(expected) > 20


@pytest.mark.parametrize("value", [None, NAN, NAT, pd.NA, np.float32("nan"), np.datetime64("NaT"), Decimal("NaN")])
def test_a_missing_value_is_no_feature(value):
    plain, other = PA().learn_one({"a": 1.0}, "x"), PA().learn_one({"a": 1.0, "b": value, "c": {"d": value}}, "x")
    assert weights(plain) == weights(other) and other.feature_names_in_.tolist() == ["a"]
    listed = PA().learn_one({"v": [1.0, value]}, "x")
    assert listed.feature_names_in_.tolist() == ["v.0"]


@pytest.mark.parametrize("unit", ["D", "h", "m", "s", "ns"])
def test_a_day_of_numpy_is_a_date_in_any_unit(unit):
    model = PA().learn_one({"when": np.datetime64("2026-11-16", unit)}, "x")
    hour = [] if unit == "D" else ["when.hour=00"]
    parts = ["when.year=2026", "when.month=11", "when.day=16", "when.weekday=Mon", *hour]
    assert model.feature_names_in_.tolist() == parts

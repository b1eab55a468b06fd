"""Scaling by the values seen so far, compared with a simple transcription."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from seriatim import PA, Features, load
from seriatim.core.rows import Rows
from seriatim.features.scaler import Scaler

VALUES = st.one_of(st.just(1.0), st.floats(-1e6, 1e6), st.sampled_from([0.0, -1.0, 2.0, 1e-300, 1e49]))
ROWS = st.lists(st.dictionaries(st.integers(0, 4), VALUES, max_size=5), min_size=1, max_size=12)


def plain(kind: str, rows: list[dict[int, float]]) -> list[dict[int, float]]:
    """Scale each row by all values of its features up to this row, recomputed for each row."""
    seen: dict[int, list[float]] = {}
    result = []
    for row in rows:
        scaled = {}
        length = math.sqrt(math.fsum(x * x for x in row.values()))
        for j, x in sorted(row.items()):
            values = seen.setdefault(j, [])
            values.append(x)
            mean = math.fsum(values) / len(values)
            deviation = math.sqrt(math.fsum((v - mean) ** 2 for v in values) / len(values))
            if kind == "unit":
                scaled[j] = x / length if length > 1e-75 else 0.0
            elif kind == "max":
                scaled[j] = x / max(map(abs, values)) if any(values) else 0.0
            elif all(v == 1 for v in values):
                scaled[j] = 1.0
            else:
                scaled[j] = (x - mean) / deviation if deviation > 0 else 0.0
        result.append(scaled)
    return result


def sparse(rows: list[dict[int, float]]) -> Rows:
    start = np.cumsum([0, *map(len, rows)])
    index = [j for row in rows for j in sorted(row)]
    value = [row[j] for row in rows for j in sorted(row)]
    return Rows.sparse(start, np.array(index, np.int32), np.array(value), 5).check()


def values_of(rows: Rows) -> list[float]:
    return rows.arrays[-1].reshape(-1).tolist()


@pytest.mark.parametrize("kind", ["standard", "max", "unit"])
@given(ROWS)
def test_a_row_is_scaled_by_what_came_up_to_it(kind, rows):
    expected = [x for row in plain(kind, rows) for x in row.values()]
    if kind == "standard":  # the deviation of nearly equal values depends on rounding
        spreads = [
            abs(a - b) for a in {v for r in rows for v in r.values()} for b in {v for r in rows for v in r.values()}
        ]
        if any(0 < d < 1e-6 * max(map(abs, (v for r in rows for v in r.values())), default=1) for d in spreads):
            return
    assert values_of(Scaler(kind).scaled(sparse(rows), True)) == pytest.approx(expected, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("kind", ["standard", "max", "unit"])
def test_dense_sparse_and_chunks_give_the_same_bits(kind):
    X = np.random.default_rng(0).standard_normal((50, 5)) * [1, 10, 1e4, 1e-4, 0]
    whole = Scaler(kind).scaled(Rows.dense(X).check(), True).arrays[0]
    chunked = Scaler(kind)
    parts = [chunked.scaled(Rows.dense(X[i : i + 7]).check(), True).arrays[0] for i in range(0, 50, 7)]
    assert np.array_equal(np.concatenate(parts), whole)
    matrix = csr_matrix(np.ones_like(X))
    as_sparse = Rows.sparse(matrix.indptr, matrix.indices, X.reshape(-1), 5).check()
    assert np.array_equal(Scaler(kind).scaled(as_sparse, True).arrays[2], whole.reshape(-1))


@pytest.mark.parametrize("kind", ["standard", "max", "unit"])
def test_predicting_changes_nothing(kind):
    X = np.random.default_rng(1).standard_normal((20, 3))
    scaler = Scaler(kind)
    scaler.scaled(Rows.dense(X).check(), True)
    before = scaler.state()
    first = scaler.scaled(Rows.dense(X[:5]).check(), False).arrays[0]
    assert np.array_equal(first, scaler.scaled(Rows.dense(X[:5]).check(), False).arrays[0])
    assert all(np.array_equal(before[name], value) for name, value in scaler.state().items())


@pytest.mark.parametrize("kind", ["standard", "max", "unit"])
def test_a_model_that_scales_does_not_mind_the_units(kind, tmp_path):
    """Scaling by powers of two is exact, so the model is the same: in one call, row by row, or resumed."""
    rng = np.random.default_rng(2)
    X = rng.standard_normal((200, 4)) + 1
    y = np.where(X[:, 0] > X[:, 1], 1, -1)
    units = np.array([1.0, 4.0, 1024.0, 0.125]) if kind != "unit" else np.full(4, 8.0)
    model = PA(features=Features(normalize=kind)).partial_fit(X, y)
    other = PA(features={"normalize": kind})
    for i in range(0, 200, 9):
        other.partial_fit((X * units)[i : i + 9], y[i : i + 9])
        other.save(tmp_path / "m")
        other = load(tmp_path / "m")
    assert np.array_equal(model.coef_, other.coef_)
    assert np.array_equal(model.predict(X), other.predict(X * units))
    by_dicts = PA(features=Features(normalize=kind))
    for x, label in zip(X, y.tolist(), strict=True):
        by_dicts.learn_one({f"x{j}": v for j, v in enumerate(x)}, label)
    assert np.array_equal(by_dicts.coef_, model.coef_)
    assert by_dicts.score_one({f"x{j}": v for j, v in enumerate(X[0])}) == model.decision_function(X[:1])[0]


def test_an_outlier_in_prediction_stays_finite():
    model = PA(features={"normalize": "standard"})
    for x, label in ((1e-30, 1), (2e-30, -1), (3e-30, 1)):
        model.learn_one({"a": x}, label)
    assert math.isfinite(model.score_one({"a": 1e50}))

"""Rows: refused rows stay refused, and sorted rows are copies."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seriatim import PA
from seriatim.core.rows import Rows
from seriatim.data.read.libsvm import format_rows
from seriatim.errors import DataError
from seriatim.features.block import stacked
from seriatim.labels import coded


def sparse(columns: list[int], values: list[float], features: int) -> Rows:
    return Rows.sparse(np.array([0, len(columns)]), np.array(columns, np.int32), np.array(values), features)


@pytest.mark.parametrize(
    "columns, values", [([5], [1.0]), ([-1], [1.0]), ([1, 5], [1.0, 2.0]), ([1], [np.nan]), ([1, 0], [np.inf, 1.0])]
)
def test_rows_that_were_refused_are_refused_again(columns, values):
    """Otherwise a second attempt would write outside the weights."""
    rows = sparse(columns, values, 2)
    for _ in range(3):
        with pytest.raises(DataError):
            rows.check()
        with pytest.raises(ValueError, match="have not been checked"):
            PA().learn_rows(rows, coded(np.array([1.0])))


@pytest.mark.parametrize("columns", [[2, 0, 1], [1, 1, 0]])
def test_rows_that_are_not_in_order_are_sorted_each_time(columns):
    rows = sparse(columns, [1.0, 2.0, 4.0], 3)
    first, second = rows.check(), rows.check()
    for ours in (first, second):
        index = ours.arrays[1].tolist()
        assert index == sorted(set(columns))
    with pytest.raises(ValueError, match="have not been checked"):
        PA().learn_rows(rows, coded(np.array([1.0])))
    models = [PA() for _ in range(2)]
    for model, ours in zip(models, (first, second), strict=True):
        model.learn_rows(ours, coded(np.array([1.0])))
    assert models[0].coef_.tolist() == models[1].coef_.tolist()


def test_rows_in_order_are_checked_once_and_used_as_they_are():
    rows = sparse([0, 2], [1.0, 2.0], 3)
    assert rows.check() is rows
    assert rows.check() is rows
    assert rows.slice(0, 1).check().arrays[2].tolist() == [1.0, 2.0]


def test_rows_without_columns_have_parts():
    assert sum(part.n for part in Rows.dense(np.zeros((3, 0))).parts(100)) == 3


@pytest.mark.parametrize("digits", [0, 18, 60])
def test_text_has_the_digits_of_a_double_at_most(digits):
    with pytest.raises(ValueError, match="digits"):
        format_rows(Rows.dense(np.random.default_rng(0).random((20, 5))), [b"1"] * 20, b"", digits)


# ---- tables, column by column


@given(st.integers(1, 30), st.integers(1, 9), st.integers(0, 2**32))
def test_stacked_columns_are_the_dense_rows(n, m, seed):
    X = np.random.default_rng(seed).standard_normal((n, m))
    rows = stacked([np.ascontiguousarray(column) for column in X.T])
    assert np.array_equal(rows.arrays[0], X)
    assert np.array_equal(rows.norms, Rows.dense(X).norms)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -1e51])
def test_columns_with_a_hole_are_not_stacked(bad):
    columns = [np.arange(20.0), np.arange(20.0)]
    columns[1][13] = bad
    assert stacked(columns) is None
    with pytest.raises(ValueError, match="column 1 has 19 of 20"):
        stacked([columns[0], columns[0][:19]])


def test_norms_that_do_not_fit_are_refused():
    rows = Rows.sparse([0, 1, 2], [0, 5], [1.0, 2.0], 6)
    with pytest.raises(ValueError, match="1 norms for 2 rows"):
        rows.in_any_order(np.ones(1))
    assert np.array_equal(Rows.sparse([0, 2], [5, 0], [1.0, 2.0], 6).in_any_order().check().arrays[1], [5, 0])


def test_rows_are_given_up_only_if_nobody_has_a_part_of_them():
    rows = Rows.dense(np.ones((3, 2)))
    part = rows.slice(0, 1)
    assert not rows.give_up() and np.array_equal(part.arrays[0], [[1, 1]])
    rows = Rows.dense(np.ones((3, 2)))
    assert rows.give_up()
    with pytest.raises(ValueError, match="reused their memory"):
        rows.arrays  # noqa: B018

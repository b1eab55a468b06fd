"""Markets as tables of price relatives (close/close before) with a row for each day, and checks of them."""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections.abc import Mapping, Sequence
from itertools import pairwise
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from seriatim.core.values import is_absent, plain_array, real_array
from seriatim.errors import DataError, DataTypeError, ParameterError, ParseError
from seriatim.portfolio.days import survey

FOLDER = Path(__file__).parent / "markets"

# The bundled markets; markets/SOURCE.md names their sources.
MARKETS = {
    "djia": "30 stocks of the Dow Jones index, January 2001 to January 2003, 507 days",
    "nyse": "36 stocks of the New York exchange, July 1962 to December 1984, 5,651 days: NYSE(O) of the literature",
}
FAR = ", and between 1e-50 and 1e50 here"
FEW = 10  # fewer numbers are taken for prices only if all of them are above 10
DAYS = 30  # fewer days do not tell prices, which wander, from relatives
STILL = 1e-4  # with a smaller variance of the logarithms, relatives may be an interest rate that hardly changes
SAY_PRICES = "say that they are, by prices=True or --prices, or take seriatim.portfolio.from_prices(prices)"


def load(name: str) -> np.ndarray:
    """The price relatives of a bundled market, with a row for each day and a column for each asset.

    >>> load("djia").shape
    (507, 30)
    """
    if name not in MARKETS:
        raise ParameterError(f"no market is called {name!r}; the bundled markets are {', '.join(MARKETS)}")
    with gzip.open(FOLDER / f"{name}.csv.gz", "rt") as file:
        return np.loadtxt(file, delimiter=",", comments="#")


def table(data: Any) -> tuple[np.ndarray, list[str] | None]:
    """The numbers of a table as doubles in rows, and the names of the columns, or None."""
    names = getattr(data, "column_names", getattr(data, "columns", None))
    if names is not None and len({*names}) < len(names):
        raise DataError(
            f"two assets have the same name: {', '.join(sorted({str(n) for n in names if [*names].count(n) > 1}))}"
        )
    columns = [data] if names is None else [data[name] for name in names]
    try:
        arrays = [numbers(one) for one in columns]
    except (TypeError, ValueError, OverflowError) as error:
        at = "" if names is None else f"column {names[first_bad(columns)]}: "
        kind = DataTypeError if isinstance(error, TypeError) else DataError
        raise kind(f"a market is a table of numbers: {at}{error}") from None
    array = arrays[0] if names is None else np.ascontiguousarray(np.array(arrays).T)
    if array.ndim != 2 or 0 in array.shape:
        raise DataError(f"found an array of shape {array.shape}; expected a row for each day, a column for each asset")
    if names is not None and not all(isinstance(name, str) for name in names):
        names = None
    return array, None if names is None else list(names)


def numbers(data: Any) -> np.ndarray:
    """Numbers as doubles in rows. Missing values of every kind become NaN."""
    pandas = hasattr(data, "isna")  # pandas has missing values that are not floats
    array: Any = data if pandas else plain_array(data, "a market")
    if array.dtype.kind in "cMmUS":  # NumPy would convert them
        raise TypeError(f"found {array.dtype}; expected real numbers")
    if pandas:
        array = array.to_numpy(dtype=np.float64, na_value=np.nan)
    if array.dtype == object:
        absent = np.array([is_absent(value) for value in array.flat], dtype=bool).reshape(array.shape)
        array = real_array(np.where(absent, np.nan, array))
    return np.ascontiguousarray(array, dtype=np.float64)


def first_bad(columns: list[Any]) -> int:
    """The index of the first column that has something other than numbers."""
    for place, column in enumerate(columns):
        try:
            numbers(column)
        except (TypeError, ValueError, OverflowError):
            return place
    raise AssertionError


def day(data: Any) -> tuple[np.ndarray, list[str] | None]:
    """One day as a table: from a sequence, or a dict with names. Also the names, or None."""
    names = None
    if hasattr(data, "to_dict"):  # a Series
        data = data.to_dict()
    if isinstance(data, Mapping):
        names, data = [str(name) for name in data], list(data.values())
    array = plain_array(data, "a day")
    if array.ndim != 1 or not len(array):
        raise DataError(f"expected one number for each asset of the day; found an array of shape {array.shape}")
    return table(array.reshape(1, -1))[0], names


def asset(names: Sequence[str] | None, j: int) -> str:
    return str(j) if names is None else str(names[j])


def check(X: np.ndarray, names: Sequence[str] | None = None, whole: bool = False) -> np.ndarray:
    """Checked relatives; missing ones become 1. `whole`: these are all days, so that every asset needs a number."""
    missing, low, high = surveyed(X, names, "a price relative")
    known = X.size - missing
    if 2 * max(low, high) >= known > 1:
        middle = np.nanmedian(X)
        if (known >= FEW and not 0.5 <= middle <= 2) or np.nanmin(X) > FEW:
            raise DataError(
                f"the median is {middle:g}: these look like prices, not like price relatives (close/close before); "
                + SAY_PRICES
            )
    if len(X) >= DAYS and wander(X):
        raise DataError(
            "the numbers wander instead of varying around 1: these look like prices, not like price relatives "
            "(close/close before); " + SAY_PRICES
        )
    if missing:
        if whole:
            check_columns(X, names)
        X = np.where(np.isnan(X), 1.0, X)
    return X


def surveyed(X: np.ndarray, names: Sequence[str] | None, what: str) -> tuple[int, int, int]:
    """The counts of missing numbers, of those below 1/2 and above 2. DataError unless all are above 0."""
    bad, *counts = survey(X)
    if bad >= 0:
        t, j = divmod(bad, X.shape[1])
        raise DataError(f"day {t}, asset {asset(names, j)}: {X[t, j]}; {what} is a number above 0{FAR}")
    return tuple(counts)


def check_columns(X: np.ndarray, names: Sequence[str] | None) -> None:
    empty = np.flatnonzero(np.isnan(X).all(axis=0))
    if len(empty):
        raise DataError(f"asset {asset(names, empty[0])} has no number at all; remove it")


def from_prices(prices: Any) -> np.ndarray:
    """The relatives of prices, p_t/p_(t-1), one day fewer. A missing price counts as the last known one.

    Before the first price of an asset, and after its last, the relative is 1: wealth in it is cash.

    >>> from_prices([[10.0, 5.0], [11.0, float("nan")], [11.0, 6.0]])
    array([[1.1, 1. ],
           [1. , 1.2]])
    """
    return relatives_of(*table(prices))


def relatives_of(P: np.ndarray, names: Sequence[str] | None = None) -> np.ndarray:
    if len(P) < 2:
        raise DataError("found a single day of prices; relatives need at least two")
    surveyed(P, names, "a price")
    check_columns(P, names)
    if np.isfinite(P).sum() >= FEW and 0.5 <= np.nanmedian(P) <= 2:
        logs = np.log(P)
        if variances(np.diff(logs, axis=0)).sum() > variances(logs).sum():
            raise DataError(
                "these look like price relatives, not like prices: they vary around 1; say that they are, by "
                "prices=False or --relatives"
            )
    known = np.where(np.isnan(P), 0, np.arange(len(P))[:, None])
    filled = np.take_along_axis(P, np.maximum.accumulate(known, axis=0), axis=0)
    relatives = filled[1:] / filled[:-1]
    return np.ascontiguousarray(np.where(np.isnan(relatives), 1.0, relatives))


def wander(X: np.ndarray) -> bool:
    """Whether the numbers stay near those of the day before, as prices do.

    The variance of the steps of the logarithm is about twice its own variance if days are independent, and about 6/n
    times on a random walk of n days.
    """
    logs = np.log(X[: 2 * DAYS])  # all days would take longer than most strategies
    spread = variances(logs)
    return bool(spread.mean() > STILL and variances(np.diff(logs, axis=0)).sum() < spread.sum() / 4)


def variances(columns: np.ndarray) -> np.ndarray:
    """The variance of each column; 0 for a column without numbers."""
    if np.isfinite(columns).all():
        return columns.var(axis=0)
    known = np.isfinite(columns).any(axis=0)
    found = np.zeros(columns.shape[1])
    found[known] = np.nanvar(columns[:, known], axis=0)
    return found


def read(path: str | PathLike[str]) -> tuple[np.ndarray, list[str] | None]:
    """Read a file with a row for each day. Returns the numbers, and the names in its first line, or None.

    Columns without numbers, such as dates, are left out, and so is a first column that counts the days. Reads text with
    commas, semicolons or tabs, plain or gzip, and Parquet. Empty cells and NaN are missing values.
    """
    if str(path).endswith((".parquet", ".pq")):
        whole, kept = read_parquet(path)
        X = table(whole.select(kept))[0]
        start = int(counts_days(str(path), kept[0], X))
        return np.ascontiguousarray(X[:, start:]), kept[start:]
    raw = Path(path).read_bytes()
    try:
        text = (gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw).decode("utf-8-sig")
        first = next((line for line in text.splitlines() if line.strip() and not line.startswith("#")), "")
        mark = max(",;\t", key=first.count)
        cells = csv.reader(io.StringIO(text, newline=""), delimiter=mark)
        lines = [(cells.line_num, row) for row in cells if any(map(str.strip, row)) and not row[0].startswith("#")]
    except (OSError, EOFError, UnicodeDecodeError, csv.Error, zlib.error) as error:
        raise DataError(f"{path}: not a table: {error}") from None
    if not lines:
        raise DataError(f"{path}: no rows")
    return numbers_of(str(path), lines)


def read_parquet(path: str | PathLike[str]) -> tuple[Any, list[str]]:
    """The table in a Parquet file, and the names of its columns of numbers."""
    try:
        from pyarrow import ArrowException, parquet, types
    except ImportError:
        raise DataError(f"{path}: Parquet files are read by pyarrow: pip install 'seriatim[arrow]'") from None
    try:
        whole = parquet.read_table(path)
        whole.validate(full=True)
        kept = [f.name for f in whole.schema if types.is_floating(f.type) or types.is_integer(f.type)]
    except (ArrowException, OSError, EOFError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: not a table: {' '.join(str(error).split())}") from None
    if not kept:
        raise DataError(f"{path}: expected a column of numbers for each asset, found none")
    return whole, kept


def numbers_of(path: str, lines: list[tuple[int, list[str]]]) -> tuple[np.ndarray, list[str] | None]:
    """The columns of numbers of a text file, and their names, or None. `lines` are cells with line numbers."""
    heads = lines[0][1]
    headed = is_heading(heads, lines[1][1] if len(lines) > 1 else [])
    body = lines[headed:]
    if not body:
        raise DataError(f"{path}: no rows below the header")
    for k, row in body:
        if len(row) != len(heads):
            at = min(len(row), len(heads)) + 1
            raise ParseError(path, k, at, f"{len(row)} columns; the first line has {len(heads)}")
    used = [j for j in range(len(heads)) if any(is_number(row[j]) for _, row in body)]
    if not used:
        k, row = body[0]
        raise ParseError(
            path, k, len(row), f"{row[-1]!r} is not a number, nor is any other cell; expected numbers such as 1234.5"
        )
    rows = np.empty((len(body), len(used)))
    for t, (k, row) in enumerate(body):
        for place, j in enumerate(used):
            try:
                rows[t, place] = number_of(row[j])
            except ValueError:
                raise ParseError(path, k, j + 1, f"{row[j]!r} is not a number") from None
    titles = [head.strip() if headed else str(j + 1) for j, head in enumerate(heads)]
    for left in {*range(len(heads))} - {*used}:
        expect_forwards(path, titles[left], [row[left] for _, row in body])
    if counts_days(path, titles[used[0]], rows):
        rows, used = np.ascontiguousarray(rows[:, 1:]), used[1:]
    bad = survey(rows)[0]
    if bad >= 0:
        t, place = divmod(bad, len(used))
        k, row = body[t]
        raise ParseError(
            path, k, used[place] + 1, f"{row[used[place]]}; a price, or a relative, is a number above 0{FAR}"
        )
    return rows, [titles[j] for j in used] if headed else None


def is_heading(first: list[str], second: list[str]) -> bool:
    """Whether the first line is a header: it has no number, or counts the columns, or has a word above a date."""
    numbers = [float(cell) for cell in first if is_number(cell)]
    counted = len(numbers) > 1 and numbers in ([*range(len(numbers))], [*range(1, len(numbers) + 1)])
    words = [cell.strip() and not is_missing(cell) and not has_digit(cell) for cell in first]
    dates = [has_digit(cell) for cell in second]
    return not numbers or counted or any(word and date for word, date in zip(words, dates, strict=False))


def expect_forwards(path: str, name: str, cells: Sequence[Any]) -> None:
    """DataError if the days run backwards: dates, or days by number."""
    if len(cells) >= FEW and all(a > b for a, b in pairwise(cells)):
        raise DataError(f"{path}: column {name} runs backwards, from {cells[0]} to {cells[-1]}; sort the rows by date")


def counts_days(path: str, name: str, rows: np.ndarray) -> bool:
    """Whether the first column is not an asset: increasing integers count the days, or are dates or years."""
    first = rows[:, 0]
    if rows.shape[1] == 1 or len(rows) < FEW or not (first == np.floor(first)).all():
        return False
    expect_forwards(path, name, first.astype(int).tolist())
    return bool((np.diff(first) > 0).all())


def number_of(cell: str) -> float:
    return np.nan if is_missing(cell) else float(cell)


def is_missing(cell: str) -> bool:
    return cell.strip().lower() in ("", "na", "n/a", "nan", "null", "none", "-")


def is_number(cell: str) -> bool:
    try:
        return bool(np.isfinite(float(cell)))
    except ValueError:
        return False


def has_digit(cell: str) -> bool:
    return any(map(str.isdigit, cell))

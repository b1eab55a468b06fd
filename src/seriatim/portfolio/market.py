"""Markets as tables of price relatives, close/close before, a row a day; and what may be wrong with them."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from seriatim.errors import DataError, DataTypeError, ParameterError, ParseError
from seriatim.portfolio.learner import survey

FOLDER = Path(__file__).parent / "markets"

# The bundled markets; markets/SOURCE.md says where they come from. Relatives are stored as whole numbers of this part.
MARKETS = {
    "djia": "30 stocks of the Dow Jones index, January 2001 to January 2003, 507 days",
    "nyse": "36 stocks of the New York exchange, July 1962 to December 1984, 5,651 days: NYSE(O) of the literature",
}
FAR = ", and between 1e-50 and 1e50 here"
FEW = 10  # numbers of which it cannot be told whether they are prices


def load(name: str) -> np.ndarray:
    """The price relatives of a bundled market, a row a day and a column an asset.

    >>> load("djia").shape
    (507, 30)
    """
    if name not in MARKETS:
        raise ParameterError(f"no market is called {name!r}; there are {', '.join(MARKETS)}")
    with gzip.open(FOLDER / f"{name}.csv.gz", "rt") as file:
        return np.loadtxt(file, delimiter=",", comments="#")


def table(data: Any) -> tuple[np.ndarray, list[str] | None]:
    """Numbers in rows of doubles, and the names of the columns if they have some."""
    names = getattr(data, "column_names", None)
    if names is not None:  # Arrow's
        data = np.column_stack([data.column(name).to_numpy() for name in names])
    elif (columns := getattr(data, "columns", None)) is not None:
        names = list(columns)
        data = data.to_numpy()
    try:
        array = np.ascontiguousarray(data, dtype=np.float64)
    except TypeError as error:
        raise DataTypeError(f"a market is a table of numbers: {error}") from None
    except ValueError as error:
        raise DataError(f"a market is a table of numbers: {error}") from None
    if array.ndim != 2 or 0 in array.shape:
        raise DataError(f"expected a row a day and a column an asset; found an array of shape {np.shape(data)}")
    if names is not None and not all(isinstance(name, str) for name in names):
        names = None
    return array, None if names is None else list(names)


def day(data: Any) -> tuple[np.ndarray, list[str] | None]:
    """The same of one day: a sequence, or a dict of names."""
    names = None
    if isinstance(data, Mapping):
        names, data = [str(name) for name in data], list(data.values())
    array = np.asarray(data)
    if array.ndim != 1 or not len(array):
        raise DataError(f"a day has a number for each asset; found an array of shape {array.shape}")
    return table(array.reshape(1, -1))[0], names


def asset(names: Sequence[str] | None, j: int) -> str:
    return str(j) if names is None else str(names[j])


def check(X: np.ndarray, names: Sequence[str] | None = None, whole: bool = False) -> np.ndarray:
    """Relatives as they can be used: those that are missing are 1. `whole`: there is nothing before and after."""
    bad, missing, low, high = survey(X)
    if bad >= 0:
        t, j = divmod(bad, X.shape[1])
        raise DataError(f"day {t}, asset {asset(names, j)}: {X[t, j]}; a price relative is a number above 0{FAR}")
    known = X.size - missing
    if known >= FEW and 2 * max(low, high) >= known:
        middle = np.nanmedian(X)
        if not 0.5 <= middle <= 2:
            raise DataError(
                f"the median is {middle:g}: these look like prices, not like price relatives (close/close before); "
                "say prices=True, or take seriatim.portfolio.from_prices(prices)"
            )
    if missing:
        if whole:
            check_columns(X, names)
        X = np.where(np.isnan(X), 1.0, X)
    return X


def check_columns(X: np.ndarray, names: Sequence[str] | None) -> None:
    empty = np.flatnonzero(np.isnan(X).all(axis=0))
    if len(empty):
        raise DataError(f"asset {asset(names, empty[0])} has not a single number")


def from_prices(prices: Any) -> np.ndarray:
    """The relatives of prices, one day fewer: p_t/p_(t-1), where a price that is missing is the last known one.

    Before the first price of an asset, and when it is no longer traded, the relative is 1: what is put into it is cash.

    >>> from_prices([[10.0, 5.0], [11.0, float("nan")], [11.0, 6.0]])
    array([[1.1, 1. ],
           [1. , 1.2]])
    """
    return relatives_of(*table(prices))


def relatives_of(P: np.ndarray, names: Sequence[str] | None = None) -> np.ndarray:
    if len(P) < 2:
        raise DataError("a single day of prices has no relatives; there must be two")
    bad = survey(P)[0]
    if bad >= 0:
        t, j = divmod(bad, P.shape[1])
        raise DataError(f"day {t}, asset {asset(names, j)}: {P[t, j]}; a price is a number above 0{FAR}")
    check_columns(P, names)
    logs = np.log(P)
    if np.isfinite(P).sum() >= FEW and 0.5 <= np.nanmedian(P) <= 2:
        spread, jumps = np.nanvar(logs, axis=0), variance_of_steps(logs)
        if jumps.sum() > spread.sum():
            raise DataError("these look like price relatives, not like prices: they jump about 1; say prices=False")
    known = np.where(np.isnan(P), 0, np.arange(len(P))[:, None])
    filled = np.take_along_axis(P, np.maximum.accumulate(known, axis=0), axis=0)
    relatives = filled[1:] / filled[:-1]
    return np.ascontiguousarray(np.where(np.isnan(relatives), 1.0, relatives))


def variance_of_steps(logs: np.ndarray) -> np.ndarray:
    steps = np.diff(logs, axis=0)
    known = np.isfinite(steps).any(axis=0)
    found = np.zeros(logs.shape[1])
    found[known] = np.nanvar(steps[:, known], axis=0)
    return found


def read(path: str | PathLike[str]) -> tuple[np.ndarray, list[str] | None]:
    """The numbers of a file with a row a day, and the names in its first line if it has some.

    Columns without numbers, such as dates, are left out. Commas, semicolons or tabs; plain or gzip; or Parquet. What is
    empty, or NaN, is missing.
    """
    if str(path).endswith((".parquet", ".pq")):
        from pyarrow import parquet, types

        whole = parquet.read_table(path)
        numbers = [f.name for f in whole.schema if types.is_floating(f.type) or types.is_integer(f.type)]
        return table(whole.select(numbers))
    raw = Path(path).read_bytes()
    try:
        text = (gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw).decode("utf-8-sig")
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: not a table: {error}") from None
    lines = [(k, line) for k, line in enumerate(text.splitlines(), 1) if line.strip() and not line.startswith("#")]
    if not lines:
        raise DataError(f"{path}: no rows")
    mark = max(",;\t", key=lines[0][1].count)
    cells = csv.reader((line for _, line in lines), delimiter=mark)
    return numbers_of(str(path), [(k, row) for (k, _), row in zip(lines, cells, strict=True)])


def numbers_of(path: str, lines: list[tuple[int, list[str]]]) -> tuple[np.ndarray, list[str] | None]:
    """The columns that have numbers, of lines with their places in the file."""
    heads = lines[0][1]
    headed = not any(is_number(cell) for cell in heads)
    body = lines[headed:]
    for k, row in body:
        if len(row) != len(heads):
            at = min(len(row), len(heads)) + 1
            raise ParseError(path, k, at, f"{len(row)} columns; the first line has {len(heads)}")
    used = [j for j in range(len(heads)) if any(is_number(row[j]) for _, row in body)]
    if not used:
        raise DataError(f"{path}: no column of numbers")
    rows = np.empty((len(body), len(used)))
    for t, (k, row) in enumerate(body):
        for place, j in enumerate(used):
            try:
                rows[t, place] = number_of(row[j])
            except ValueError:
                raise ParseError(path, k, j + 1, f"{row[j]!r} is no number") from None
    return rows, [heads[j].strip() for j in used] if headed else None


def number_of(cell: str) -> float:
    cell = cell.strip()
    return float(cell) if cell and cell.lower() not in ("na", "n/a", "null", "none", "-") else np.nan


def is_number(cell: str) -> bool:
    try:
        return bool(np.isfinite(float(cell)))
    except ValueError:
        return False

"""`seriatim portfolio`: markets from files and bundled ones, strategies, costs, and the page."""

import gzip
import json
from contextlib import suppress

import numpy as np
import pytest
from click.testing import CliRunner

from seriatim import portfolio
from seriatim.cli import portfolio as cli
from seriatim.errors import DataError, ParameterError, ParseError

QUICK = ("-a", "buy-and-hold", "-a", "pamr", "-a", "olmar:window=3", "-a", "bcrp")


def run(*arguments):
    return CliRunner().invoke(cli.command, [*map(str, arguments)])


def figures(*arguments):
    done = run(*arguments, "--json")
    assert done.exit_code == 0, done.output or done.exception
    return json.loads(done.stdout)


@pytest.fixture
def market():
    rng = np.random.default_rng(0)
    return np.exp(0.02 * rng.standard_normal((40, 4)))


def write(path, rows, header="date,a,b,c,d", digits=".17g"):
    lines = [",".join([f"2020-01-{t:02}", *(format(value, digits) for value in row)]) for t, row in enumerate(rows, 1)]
    path.write_text("\n".join([header, *lines]) + "\n")
    return path


def test_bundled_market():
    found = figures("djia", *QUICK)
    assert (found["setting"]["days"], found["setting"]["assets"]) == (507, 30)
    wealth = {one["label"]: one["figures"]["final_wealth"] for one in found["strategies"]}
    assert list(wealth) == sorted(wealth, key=lambda label: -wealth[label])
    assert {label: round(value, 4) for label, value in wealth.items()} == {
        "bcrp": 1.2399,
        "buy-and-hold": 0.7644,
        "pamr": 0.68,
        "olmar window=3": round(portfolio.backtest(portfolio.OLMAR(window=3), portfolio.load("djia")).final_wealth, 4),
    }
    assert len(found["strategies"][0]["wealth"]["value"]) == 507


def test_prices_and_relatives_are_told_apart(tmp_path, market):
    prices = np.vstack([np.full(4, 20.0), 20 * np.cumprod(market, axis=0)])
    by_prices = figures(write(tmp_path / "p.csv", prices), *QUICK)
    by_relatives = figures(write(tmp_path / "r.csv", market), *QUICK)
    assert (by_prices["setting"]["numbers"], by_relatives["setting"]["numbers"]) == ("prices", "relatives")
    assert by_prices["setting"]["names"] == ["a", "b", "c", "d"]
    for one, other in zip(by_prices["strategies"], by_relatives["strategies"], strict=True):
        assert one["label"] == other["label"]
        assert one["figures"]["final_wealth"] == pytest.approx(other["figures"]["final_wealth"], rel=1e-9)


def test_prices_that_begin_at_one(tmp_path, market):
    prices = np.vstack([np.ones(4), np.cumprod(market, axis=0)])
    assert figures(write(tmp_path / "p.csv", prices), *QUICK)["setting"]["numbers"] == "prices"


def test_what_is_said_is_checked(tmp_path, market):
    with pytest.raises(DataError, match="look like prices"):
        raise run(write(tmp_path / "p.csv", 20 * np.cumprod(market, axis=0)), "--relatives").exception
    with pytest.raises(DataError, match="wander"):
        raise run(write(tmp_path / "p.csv", np.cumprod(market, axis=0)), "--relatives").exception
    with pytest.raises(DataError, match="look like price relatives"):
        raise run(write(tmp_path / "r.csv", market), "--prices").exception


def test_costs(tmp_path, market):
    path = write(tmp_path / "r.csv", market)
    for one in figures(path, *QUICK, "--cost", 0.01)["strategies"]:
        model = cli.one_of(one["label"].replace(" ", ":", 1))[1]
        assert one["figures"]["final_wealth"] == portfolio.backtest(model, market, cost=0.01).final_wealth


def test_missing_days_and_an_asset_that_leaves(tmp_path, market):
    market[5, 1] = market[20:, 2] = np.nan
    found = figures(write(tmp_path / "r.csv", market), *QUICK)
    filled = np.where(np.isnan(market), 1.0, market)
    wealth = {one["label"]: one["figures"]["final_wealth"] for one in found["strategies"]}
    assert wealth["pamr"] == portfolio.backtest("pamr", filled).final_wealth


def test_gzip_semicolons_no_names(tmp_path, market):
    path = tmp_path / "r.csv.gz"
    with gzip.open(path, "wt") as file:
        file.writelines(";".join(map(repr, row)) + "\n" for row in market.tolist())
    found = figures(path, "-a", "ucrp")
    assert found["setting"]["names"] is None
    assert found["strategies"][0]["figures"]["final_wealth"] == portfolio.backtest("ucrp", market).final_wealth


def test_all_strategies_by_default(tmp_path, market):
    found = figures(write(tmp_path / "r.csv", market), "--limit", 25)
    assert found["setting"]["days"] == 25
    assert len(found["strategies"]) == len(cli.STRATEGIES)
    known = {
        name for name, cls in vars(portfolio).items() if isinstance(cls, type) and issubclass(cls, portfolio.Strategy)
    }
    shown = {one["strategy"].partition("(")[0] for one in found["strategies"]}
    assert shown == known - {"Strategy", "Kernel"}


def test_table_and_page(tmp_path, market):
    path, page = write(tmp_path / "r.csv", market), tmp_path / "page.html"
    done = run(path, *QUICK, "--report", page)
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    assert lines[0] == "r.csv: 40 days, 4 assets, from relatives"
    assert all(title in done.stdout for title in ("wealth", "annual return", "Sharpe", "drawdown", "turnover"))
    assert lines[-1] == f"report: {page}"
    text = page.read_text()
    assert text.startswith("<!doctype html>") and "https://" not in text
    assert 'data-plot="wealth"' in text and "olmar window=3" in text
    assert "<script>alert" not in text


def test_names_are_escaped(tmp_path, market):
    path, page = write(tmp_path / "<b>.csv", market), tmp_path / "page.html"
    assert run(path, "-a", "ucrp", "--report", page).exit_code == 0
    assert "<b>.csv" not in page.read_text()


BAD = {
    "no such file": (("nowhere.csv",), DataError, "no such file, and no bundled market"),
    "no strategy": (("djia", "-a", "arow"), ParameterError, "is no portfolio strategy"),
    "unknown": (("djia", "-a", "pamrr"), ParameterError, "did you mean pamr"),
    "a parameter out of range": (("djia", "-a", "olmar:window=1"), ParameterError, "window=1"),
    "an unknown parameter": (("djia", "-a", "pamr:x=1"), ParameterError, "'x=1' is not NAME=VALUE"),
}


@pytest.mark.parametrize(("arguments", "kind", "problem"), BAD.values(), ids=list(BAD))
def test_refused(arguments, kind, problem):
    with pytest.raises(kind, match=problem):
        raise run(*arguments).exception


def test_where_a_file_is_wrong(tmp_path, market):
    path = write(tmp_path / "r.csv", market)
    lines = path.read_text().splitlines()
    lines[3] = lines[3].rpartition(",")[0] + ",x"
    path.write_text("\n".join(lines))
    with pytest.raises(ParseError, match=r"line 4, column 5: 'x' is not a number"):
        raise run(path, "-a", "ucrp").exception
    for bad in (-1, 0, np.inf):
        market[7, 2] = bad
        with pytest.raises(ParseError, match=rf"line 9, column 4: {bad}; a price, or a relative, is a number above 0"):
            raise run(write(path, market), "-a", "ucrp").exception


def made(path, rows, header, first, mark=","):
    """Write a file whose first column is `first(t)`. Returns how its numbers are read."""
    lines = [mark.join([str(first(t)), *map(repr, row)]) for t, row in enumerate(rows.tolist())]
    path.write_text("\n".join([*([header] if header is not None else []), *lines]))
    X, names = portfolio.market.read(path)
    return X.shape == rows.shape and (rows == X).all(), names


@pytest.mark.parametrize(
    ("header", "first", "names"),
    [
        ("date,a,b,c,d", lambda t: f"2020-01-{t:02}", ["a", "b", "c", "d"]),
        (None, lambda t: f"2020-01-{t:02}", None),
        ("date,a,b,c,d", lambda t: 20200101 + t, ["a", "b", "c", "d"]),
        (",a,b,c,d", lambda t: t, ["a", "b", "c", "d"]),
        ("year,a,b,c,d", lambda t: 1960 + t, ["a", "b", "c", "d"]),
        (",0,1,2,3", lambda t: t, ["0", "1", "2", "3"]),
        ("date,1,2,3,4", lambda t: f"2020-01-{t:02}", ["1", "2", "3", "4"]),
        ("date,4711,4712,4713,4714", lambda t: f"2020-01-{t:02}", ["4711", "4712", "4713", "4714"]),
        ('date,"a\nx","b, c",c,d', lambda t: f"2020-01-{t:02}", ["a\nx", "b, c", "c", "d"]),
    ],
)  # fmt: skip
def test_headings_and_columns_that_are_no_assets(tmp_path, market, header, first, names):
    """Dates as words or numbers, numbered days, names that are numbers, and no names."""
    assert made(tmp_path / "r.csv", market, header, first) == (True, names)


def test_a_missing_number_in_the_first_line_is_no_name(tmp_path, market):
    market[0, 1] = np.nan
    for word in ("NA", "", "-", "nan"):
        lines = [",".join(word if value != value else repr(value) for value in row) for row in market.tolist()]
        (tmp_path / "r.csv").write_text("\n".join(lines))
        X, names = portfolio.market.read(tmp_path / "r.csv")
        assert names is None
        assert np.array_equal(X, market, equal_nan=True)


def test_comments_with_commas(tmp_path, market):
    text = "# a, b, c, d\n\n" + "\n".join(";".join(map(repr, row)) for row in market.tolist())
    (tmp_path / "r.csv").write_text(text)
    assert (portfolio.market.read(tmp_path / "r.csv")[0] == market).all()


UNREADABLE = {
    "nothing": ("", "no rows"),
    "only a heading": ("date,a,b\n", "no rows below the header"),
    "currency": ("date,a\n2020-01-01,$5\n", r"line 2, column 2: '\$5' is not a number, nor is any other cell"),
    "commas for points": ("date;a\n2020-01-01;5,1\n", r"line 2, column 2: '5,1' is not a number"),
    "too short a line": ("date,a,b\n2020-01-01,5,6\n2020-01-02,5\n", "line 3, column 3: 2 columns; the first line"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "problem"), UNREADABLE.values(), ids=list(UNREADABLE))
def test_files_that_cannot_be_read(tmp_path, text, problem):
    (tmp_path / "r.csv").write_text(text)
    with pytest.raises(DataError, match=problem):
        raise run(tmp_path / "r.csv").exception


def test_files_that_are_no_tables(tmp_path):
    for name, raw in (("r.csv", b"\x1f\x8bnonsense"), ("r.csv", b"\xff\xfe\x00"), ("r.parquet", b"nonsense")):
        (tmp_path / name).write_bytes(raw)
        with pytest.raises(DataError, match="not a table"):
            raise run(tmp_path / name).exception


def test_damaged_markets(tmp_path):
    """Replace each byte of a compressed market and some of a Parquet file: the result is a table or one line."""
    packed = gzip.compress(b"date,a,b\n2020-01-01,1.0,2.0\n2020-01-02,1.1,1.9\n" * 3)
    refused = 0
    for i in range(10, len(packed)):
        (tmp_path / "r.csv.gz").write_bytes(packed[:i] + bytes([packed[i] ^ 0x55]) + packed[i + 1 :])
        with suppress(DataError):
            portfolio.market.read(tmp_path / "r.csv.gz")
            refused -= 1
        refused += 1
    assert refused > 40
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    path = tmp_path / "r.parquet"
    parquet.write_table(pyarrow.table({"a": ["x", "y"]}), path)
    with pytest.raises(DataError, match="expected a column of numbers for each asset, found none"):
        portfolio.market.read(path)
    parquet.write_table(pyarrow.table({"ab": [1.0, 2.0]}), path, store_schema=False)
    path.write_bytes(path.read_bytes().replace(b"ab", b"a\xff"))
    with pytest.raises(DataError, match="not a table"):
        portfolio.market.read(path)


def test_days_that_are_no_numbers():
    masked = np.ma.array([[1.1, 0.9]], mask=[[1, 0]])
    second = np.array([[np.timedelta64(1), 1]], dtype=object)
    for X in (
        masked,
        second,
        [[10**400, 1]],
        [[1], [1, 2]],
        [["1", "2"]],
        np.array([["1", "2"]], dtype=object),
        [[1j, 1]],
    ):
        with pytest.raises(DataError):
            portfolio.from_prices(X)


@pytest.mark.parametrize("date", [lambda t: f"2020-02-{40 - t:02}", lambda t: 20200240 - t], ids=["words", "numbers"])
def test_days_that_run_backwards(tmp_path, market, date):
    with pytest.raises(DataError, match=r"column date runs backwards, from .*40 to .*01; sort the rows"):
        made(tmp_path / "r.csv", market, "date,a,b,c,d", date)


def test_parquet(tmp_path, market):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    columns = {"day": np.arange(40), "when": [f"d{t}" for t in range(40)], "a": market[:, 0], "b": market[:, 1]}
    parquet.write_table(pyarrow.table(columns), tmp_path / "r.parquet")
    X, names = portfolio.market.read(tmp_path / "r.parquet")
    assert names == ["a", "b"]
    assert (market[:, :2] == X).all()


def test_too_little_to_tell(tmp_path, market):
    """One day of prices is not a day of relatives around 50."""
    for rows in (50 * market[:1], market[:2]):
        done = run(write(tmp_path / "r.csv", rows), "-a", "ucrp")
        assert done.exit_code == 2
        assert "too few numbers to tell prices" in done.output
    assert figures(tmp_path / "r.csv", "-a", "ucrp", "--relatives")["setting"]["days"] == 2

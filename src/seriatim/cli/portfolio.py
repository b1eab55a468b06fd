"""seriatim portfolio"""

from __future__ import annotations

import json
import shlex
import sys
import time
from pathlib import Path
from typing import Any

import click

from seriatim.cli.interrupts import interrupts
from seriatim.cli.options import json_option, on_terminal
from seriatim.cli.paths import Data, Writes, reads_named_in
from seriatim.cli.screen import console, say
from seriatim.core.text import printable

# The default strategies: each one, with the variants for which the literature has results.
STRATEGIES = (
    "buy-and-hold",
    "best-stock",
    "ucrp",
    "bcrp",
    "universal-portfolio",
    "exponentiated-gradient",
    "ons",
    "anticor",
    "anticor:nested=true",
    "pamr",
    "pamr:variant=I",
    "pamr:variant=II",
    "cwmr",
    "cwmr:variant=variance",
    "olmar",
    "olmar:variant=2",
    "rmr",
    "corn",
    "corn:ensemble=uniform",
    "corn:ensemble=top",
    "nearest-neighbour",
    "kernel-portfolio",
)


@click.command("portfolio")
@click.argument("market", metavar="MARKET", type=Data())
@click.option(
    "-a",
    "--algorithm",
    "strategies",
    multiple=True,
    metavar="SPEC",
    help="A strategy: NAME or NAME:PARAMETER=VALUE,... Repeatable (default: all strategies).",
)
@click.option(
    "--cost",
    type=click.FloatRange(0, 1, max_open=True),
    default=0.0,
    metavar="RATE",
    help="Transaction cost as a fraction of the traded amount, such as 0.001.",
)
@click.option("--prices", "kind", flag_value="prices", help="The numbers are prices.")
@click.option(
    "--relatives", "kind", flag_value="relatives", help="The numbers are price relatives: price / previous price."
)
@click.option("--limit", type=click.IntRange(1), metavar="N", help="Use only the first N days.")
@click.option(
    "--report", metavar="FILE", type=Writes(), help="Write an HTML report with the wealth curves to this file."
)
@json_option
def command(
    market: str,
    strategies: tuple[str, ...],
    cost: float,
    kind: str | None,
    limit: int | None,
    report: str | None,
    as_json: bool,
) -> None:
    """Run portfolio strategies over MARKET day by day, and compare their final wealth from a start of 1.

    MARKET is a CSV or Parquet table with one row per day and one column per asset, or a bundled market: djia or nyse.
    The command detects whether the numbers are prices or price relatives, unless --prices or --relatives is given.
    It ignores columns without numbers, such as dates, and a first column that counts the days. On a day with a missing
    number the asset is not traded. An asset without numbers from some day on counts as cash.

    The benchmark of the significance test is the market: all assets in equal parts, bought once and held.
    The strategies best-stock and bcrp know all days in advance.

    \b
    seriatim portfolio djia
    seriatim portfolio prices.csv --cost 0.001 --report market.html
    seriatim portfolio nyse -a buy-and-hold -a pamr:variant=II,C=100 -a olmar:window=7 --json
    """
    reads_named_in(strategies)
    X, names, title, kind = opened(market, kind, limit)
    chosen = [one_of(text) for text in dict.fromkeys(strategies or STRATEGIES)]
    start = time.perf_counter()
    runs, interrupted = [], False
    try:
        with BacktestProgress(len(chosen)) as progress:
            for label, strategy in chosen:
                runs.append((label, run_of(strategy, X, cost, progress.of(label))))
    except KeyboardInterrupt:
        interrupted = True
    result = result_of(title, runs, X, names, cost, kind)
    if runs and report and not interrupted:
        from seriatim.report import markets

        with interrupts.keeping(report):
            markets.write(result, report)
    if as_json:
        for one in result["strategies"]:
            one.pop("drawdown")
        click.echo(json.dumps(result | {"written": [report] if report and not interrupted else []}))
    elif runs:
        show(result, time.perf_counter() - start)
        if report and not interrupted:
            say(f"report: {report}")
    if interrupted:
        say(f"seriatim: interrupted; {len(runs)} of {len(chosen)} strategies were run", err=True)
        sys.exit(130)


def opened(market: str, kind: str | None, limit: int | None) -> tuple[Any, list[str] | None, str, str]:
    """Open a market: relatives, names of the assets, title, and the kind of its numbers."""
    from seriatim.errors import DataError
    from seriatim.portfolio import market as markets

    if market in markets.MARKETS and not Path(market).is_file():
        if kind == "prices":
            raise click.UsageError(f"{market} is bundled as price relatives; remove --prices")
        return markets.load(market)[:limit], None, market, "relatives"
    if not Path(market).is_file():
        bundled = ", ".join(markets.MARKETS)
        raise DataError(f"{market}: no such file, and no bundled market of that name; bundled are {bundled}")
    X, names = markets.read(market)
    kind = kind or told(X, names)
    if kind == "prices":
        X = markets.relatives_of(X[: None if limit is None else limit + 1], names)
    else:
        X = markets.check(X[:limit], names, whole=True)
    return X, names, Path(market).name, kind


def told(X: Any, names: list[str] | None) -> str:
    """Detect prices or relatives: numbers that jump around 1 are relatives."""
    from seriatim.errors import DataError
    from seriatim.portfolio import market as markets

    markets.surveyed(X, names, "a price, or a relative,")
    if X.size < markets.FEW or len(X) < 2:
        raise click.UsageError("too few numbers to tell prices from price relatives; give --prices or --relatives")
    try:
        markets.relatives_of(X)
    except DataError:
        return "relatives"
    return "prices"  # also if they drift around 1


def one_of(text: str) -> tuple[str, Any]:
    """A strategy, and its name in the table."""
    from seriatim import catalogue
    from seriatim.errors import ParameterError
    from seriatim.evaluate.comparison.competitors import parsed
    from seriatim.portfolio import Strategy

    cls, values = parsed(text, catalogue.find)
    if not issubclass(cls, Strategy):
        raise ParameterError(
            f"{catalogue.command_name(cls)} does {cls.task} and is no portfolio strategy; see `seriatim algorithms`"
        )
    strategy = cls(**values)
    strategy.check()
    special = " ".join(f"{name}={cls.parameters[name].shown(v).strip(chr(39))}" for name, v in values.items())
    return f"{catalogue.command_name(cls)} {special}".strip(), strategy


def run_of(strategy: Any, X: Any, cost: float, watch: Any) -> Any:
    from seriatim.portfolio import backtest

    return backtest(strategy, X, cost=cost, watch=watch)


def result_of(
    title: str, runs: list[tuple[str, Any]], X: Any, names: list[str] | None, cost: float, kind: str
) -> dict[str, Any]:
    """The results as JSON types, sorted by final wealth."""
    import numpy as np

    from seriatim import __version__

    days = list(range(1, len(X) + 1))
    entries = []
    for label, run in runs:
        figures = run.as_dict()
        peaks = np.maximum(np.maximum.accumulate(run.wealth), 1.0)
        entry = {
            "label": label,
            "strategy": figures.pop("strategy"),
            "hindsight": run.strategy.hindsight,
            "market": type(run.strategy).__name__ == "BuyAndHold",
            "figures": {name: value for name, value in figures.items() if name not in ("days", "cost")},
            "wealth": {"days": days, "value": run.wealth.tolist()},
            "drawdown": {"days": days, "value": (1 - run.wealth / peaks).tolist()},
        }
        entries.append(entry)
    entries.sort(key=lambda one: -(one["figures"]["final_wealth"] or 0.0))
    setting = {
        "days": len(X),
        "assets": X.shape[1],
        "names": names,
        "numbers": kind,
        "cost": cost,
        "command": shlex.join(["seriatim", *sys.argv[1:]]),
        "versions": {"seriatim": __version__, "numpy": np.__version__},
        "date": time.strftime("%Y-%m-%d %H:%M"),
    }
    return {"title": title, "setting": setting, "strategies": entries}


def show(result: dict[str, Any], seconds: float) -> None:
    """Print the result as text."""

    from seriatim.report import markets

    setting = result["setting"]
    costs = f", costs {setting['cost']:g}" if setting["cost"] else ""
    days, assets = (f"{setting[of]:,} {of if setting[of] != 1 else of[:-1]}" for of in ("days", "assets"))
    said = f"{days}, {assets}, from {setting['numbers']}{costs}"
    say(f"{result['title']}: {said}", bold=True)
    screen = console(None if on_terminal(sys.stdout) else 160)
    screen.print(markets.table(result, screen.width))
    say("p: one-sided t-test; null hypothesis: the mean daily return is not above that of the market")
    if any(one["hindsight"] for one in result["strategies"]):
        say("best-stock and bcrp knew all days in advance")
    say(f"{len(result['strategies'])} strategies in {seconds:.1f} s")


class BacktestProgress:
    """Shows the current strategy and its progress on a terminal."""

    def __init__(self, total: int) -> None:
        self.total, self.done, self.shown = total, 0, 0.0
        self.visible = on_terminal(sys.stderr)

    def __enter__(self) -> BacktestProgress:
        return self

    def __exit__(self, *error: object) -> None:
        if self.visible:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)

    def of(self, label: str) -> Any:
        """A function to call with the fraction of the days that this strategy has processed."""
        self.done += 1
        if not self.visible:
            return None

        def watch(share: float) -> None:
            now = time.perf_counter()
            if now - self.shown > 0.1:
                self.shown = now
                line = f"{self.done} of {self.total}  {label}  {share:4.0%}"
                print(f"\r\x1b[K{printable(line)}", end="", file=sys.stderr, flush=True)

        return watch

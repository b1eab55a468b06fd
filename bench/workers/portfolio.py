"""A back-test of NYSE(O): `portfolio WHO STRATEGY DAYS`. It is work of one thread, and the time is the processor's."""

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

from bench.workers.turns import serve


def ours(name: str, days: int) -> Callable[[], dict[str, Any]]:
    import seriatim
    from seriatim.cli.portfolio import one_of
    from seriatim.portfolio import backtest, load

    strategy = one_of(name)[1]
    X = load("nyse")[:days]

    def run() -> dict[str, Any]:
        figures = backtest(strategy, X).as_dict()
        return {"wealth": figures["final_wealth"], "version": seriatim.__version__}

    return run


def theirs(name: str, days: int) -> Callable[[], dict[str, Any]]:
    from importlib.metadata import version

    import numpy as np
    import pandas as pd
    from universal import algos, tools

    warnings.simplefilter("ignore")
    prices = tools.dataset("nyse_o")
    # The prices are in units of the day before the first, which is not in the file.
    first = pd.DataFrame(np.ones((1, prices.shape[1])), columns=prices.columns)
    prices = pd.concat([first, prices], ignore_index=True).iloc[: days + 1]

    def run() -> dict[str, Any]:
        result = getattr(algos, name)().run(prices, log_progress=False)
        return {"wealth": float(result.total_wealth), "version": version("universal-portfolios")}

    return run


def main(who: str, name: str, days: str) -> None:
    run = (ours if who == "seriatim" else theirs)(name, int(days))

    def measure() -> dict[str, Any]:
        start = time.process_time()
        answer = run()
        return {"seconds": time.process_time() - start, **answer}

    serve(measure)


if __name__ == "__main__":
    main(*sys.argv[1:])

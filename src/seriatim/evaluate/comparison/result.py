"""The result of a comparison: means over runs, and tests of significance."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from seriatim import __version__
from seriatim.evaluate.comparison.competitors import Competitor
from seriatim.evaluate.comparison.dataset import Dataset, short_name
from seriatim.evaluate.comparison.significance import LEVEL, fewest_pairs, holm, signed_rank
from seriatim.evaluate.metrics import Metric

# The columns of a table: name, and field of a run.
MEASURES = {"classification": "mistake rate", "regression": "mean absolute error"}
FIGURES = {
    "mistake rate": "mistake_rate",
    "mean absolute error": "mean_absolute_error",
    "mean loss": "mean_loss",
    "updates": "updates",
    "nonzeros": "nonzeros",
    "support vectors": "support_vectors",
    "seconds": "seconds",
}
Record = dict[str, Any]


@dataclass
class Standing:
    """The results of an algorithm: mean and standard deviation (n - 1) of each measure over the permutations.

    `p` is the p-value of the paired test against the best, corrected for the number of tests (see `significance`).
    It is None if there are too few permutations for any difference to be significant.
    """

    label: str
    parameters: dict[str, Any]
    runs: int
    figures: dict[str, tuple[float, float]]
    best: bool = False
    p: float | None = None

    @property
    def differs(self) -> bool:
        """Whether the difference from the best is significant over the permutations."""
        return self.p is not None and self.p < LEVEL


@dataclass
class Comparison:
    """The runs of a comparison so far, and their summary."""

    examples: Dataset = field(repr=False)
    competitors: list[Competitor]
    permutations: int
    seed: int
    fingerprint: str
    command: str | None = None
    metric: Metric | None = None  # ranks the algorithms in place of the usual measure
    tuning: str | None = None
    store: Path | None = None
    interrupted: bool = False
    ran: int = 0  # runs of this call; the others come from the store
    doing: str = ""  # the present activity beside runs
    no_regret: str | None = None  # why there is no regret although asked for
    records: list[Record] = field(default_factory=list, repr=False)

    @property
    def measure(self) -> str:
        """The name of the measure that ranks the algorithms."""
        return self.followed if self.metric is None else str(self.metric)

    @property
    def followed(self) -> str:
        """The name of the measure that the curves show."""
        return MEASURES[self.examples.task]

    @property
    def high(self) -> bool:
        """Whether higher values of the measure are better."""
        return self.metric is not None and self.metric.high

    def figure(self, run: Record, name: str) -> Any:
        """A measure of a run by its name; None if the run has none."""
        return run.get(FIGURES[name]) if name in FIGURES else run.get("metrics", {}).get(name)

    @property
    def total(self) -> int:
        """The number of runs when the comparison is complete."""
        return len(self.competitors) * (self.permutations + 1)

    def runs_of(self, label: str) -> list[Record]:
        """The runs of an algorithm over permutations, ordered by number."""
        runs = [run for run in [*self.records] if run["label"] == label and run["order"] is not None]
        return sorted(runs, key=lambda run: run["order"])

    def standings(self, test: bool = True) -> list[Standing]:
        """The algorithms that have a run, the best first. `test`: also test for significance."""
        found = []
        for one in self.competitors:
            if runs := self.runs_of(one.label):
                figures = {
                    name: mean_and_deviation([self.figure(run, name) for run in runs])
                    for name in dict.fromkeys([self.measure, *FIGURES])
                    if self.figure(runs[0], name) is not None or name == self.measure
                }
                found.append(Standing(one.label, one.parameters, len(runs), figures))
        found.sort(key=lambda standing: number(standing.figures[self.measure][0], self.high))
        if found:
            found[0].best = True
        if test and len(found) > 1:
            self.test(found)
        return found

    def test(self, standings: list[Standing]) -> None:
        """Test each algorithm against the best over their common permutations, if these are enough."""

        def value(run: Record) -> float:  # counts have exact ties, rates do not
            counted = self.measure == "mistake rate"
            return number(run["mistakes"] if counted else self.figure(run, self.measure), self.high)

        values = {
            standing.label: {run["order"]: value(run) for run in self.runs_of(standing.label)} for standing in standings
        }
        best = values[standings[0].label]
        tests = []
        for standing in standings[1:]:
            other = values[standing.label]
            both = sorted(best.keys() & other.keys())
            if len(both) < fewest_pairs(len(standings) - 1):
                return
            tests.append(signed_rank([best[order] for order in both], [other[order] for order in both]))
        for standing, p in zip(standings[1:], holm(tests), strict=True):
            standing.p = p

    # ---- for the report

    def as_dict(self) -> dict[str, Any]:
        """The comparison as plain data, for a report."""
        standings = self.standings()
        return {
            "title": short_name(self.examples.name),
            "setting": self.setting(),
            "measure": self.measure,
            "high": self.high,
            "followed": self.followed,
            "algorithms": [self.shown(standing) for standing in standings],
            "winner": self.winner(standings[0]) if standings else None,
            **self.promises(standings),
        }

    def promises(self, standings: list[Standing]) -> dict[str, Any]:
        """Regret and bounds, as far as they were computed."""
        firsts = {run["label"]: run for run in self.records if run["order"] == 0 and "regret" in run}
        found = [firsts[standing.label] for standing in standings if standing.label in firsts]
        return {
            "regret": [{"label": run["label"], **run["regret"]} for run in found] or None,
            "bounds": [{"label": run["label"], **bound} for run in found for bound in run["bounds"]] or None,
        }

    def brief(self, test: bool = True) -> dict[str, Any]:
        """The comparison without curves, for a table."""
        return {
            "title": short_name(self.examples.name),
            "setting": {},
            "measure": self.measure,
            "high": self.high,
            "algorithms": [self.row(standing) for standing in self.standings(test)],
        }

    def row(self, standing: Standing) -> dict[str, Any]:
        """A row of the table: an algorithm and its measures."""
        return {
            "label": standing.label,
            "parameters": standing.parameters,
            "runs": standing.runs,
            "figures": {
                name: as_json(figure[: min(standing.runs, 2)]) + [None] * (standing.runs == 1)
                for name, figure in standing.figures.items()
            },
            "best": standing.best,
            "p": standing.p,
            "differs": standing.differs,
        }

    def setting(self) -> dict[str, Any]:
        import datetime
        import platform

        examples = self.examples
        return {
            "data": examples.name,
            "fingerprint": self.fingerprint,
            "examples": examples.n,
            "features": examples.features,
            "labels": examples.labels,
            "task": examples.task,
            "permutations": self.permutations,
            "seed": self.seed,
            "tuning": self.tuning,
            "command": self.command,
            "versions": {"seriatim": __version__, "numpy": np.__version__, "python": platform.python_version()},
            "machine": f"{platform.machine()}, {os.cpu_count()} cores, {platform.system()}",
            "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        }

    def shown(self, standing: Standing) -> dict[str, Any]:
        """A row of the table, with curves."""
        runs = self.runs_of(standing.label)
        examples = runs[0]["curve"]["examples"]
        mean, deviation = over_runs([run["curve"]["value"] for run in runs])
        updates = over_runs([run["curve"]["updates"] for run in runs])
        seconds, _ = over_runs([run["curve"]["seconds"] for run in runs])
        return {
            **self.row(standing),
            "curve": {"examples": examples, "mean": as_json(mean), "deviation": as_json(deviation)},
            "updates": {"examples": examples, "mean": as_json(updates[0]), "deviation": as_json(updates[1])},
            "time": {"seconds": as_json(seconds), "value": as_json(mean)},
        }

    def winner(self, best: Standing) -> dict[str, Any]:
        """Details of the best algorithm, from its first run and its run in file order."""
        runs = self.runs_of(best.label)
        by_file = [run for run in self.records if run["label"] == best.label and run["order"] is None]
        return {
            "label": best.label,
            "classes": runs[0].get("classes"),
            "confusion": runs[0].get("confusion"),
            "heaviest": next((run["heaviest"] for run in runs if "heaviest" in run), []),
            "file_order": by_file[0]["in_time"] | {k: by_file[0]["curve"][k] for k in ("examples", "value")}
            if by_file
            else None,
            "drift": by_file[0]["drift"] if by_file else None,
        }


def number(value: Any, high: bool = False) -> float:
    """The value as a number to minimise; None and NaN become infinity."""
    return np.inf if value is None or np.isnan(value) else -float(value) if high else float(value)


def mean_and_deviation(values: list[Any]) -> tuple[float, float]:
    """The mean, and the standard deviation (n - 1), which is 0 for one value.

    >>> mean_and_deviation([1, 2, 3])
    (2.0, 1.0)
    """
    mean, deviation = over_runs([[value] for value in values])
    return float(mean[0]), float(deviation[0])


def over_runs(values: list[list[Any]]) -> tuple[np.ndarray, np.ndarray]:
    """The means and standard deviations over runs; each run is a list of values."""
    table = np.array(values, dtype=np.float64)  # None becomes NaN
    with np.errstate(invalid="ignore", over="ignore"):
        return table.mean(axis=0), table.std(axis=0, ddof=1) if len(table) > 1 else np.zeros(table.shape[1])


def as_json(values: Iterable[Any]) -> list[float | None]:
    """Numbers for JSON; None where not finite."""
    return [float(value) if np.isfinite(value) else None for value in values]

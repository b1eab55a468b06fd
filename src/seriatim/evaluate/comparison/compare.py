"""`compare`: the runs of many algorithms over many orders of one data set."""

from __future__ import annotations

import hashlib
import json
import os
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from seriatim import __version__
from seriatim.core.threads import cores
from seriatim.errors import DataError, ParameterError, SeriatimError
from seriatim.evaluate.comparison.competitors import Competitor, competitors, plain_value
from seriatim.evaluate.comparison.dataset import Dataset, short_name
from seriatim.evaluate.comparison.record import Compared, curve_places, figures_of, heaviest, in_time
from seriatim.evaluate.comparison.result import Comparison, Record
from seriatim.evaluate.metrics import METRICS, Metric, metric
from seriatim.evaluate.progressive import followed_metrics
from seriatim.evaluate.regret_bounds.of_comparison import Promises, why_none
from seriatim.files import whole_file

if TYPE_CHECKING:
    from seriatim.evaluate.comparison.store import RunStore

IN_ORDER = (
    1 << 23
)  # values up to which a permutation is made once for all algorithms; larger ones are made in blocks for each
QUICK_REGRET, MOST_REGRET = 1 << 18, 1 << 22  # values up to which finding the best fixed model takes seconds, minutes
BETWEEN_LOOKS = 0.1  # seconds between two calls of `watch`


def compare(
    data: Any,
    algorithms: Iterable[Any] | None = None,
    *,
    permutations: int = 20,
    seed: int = 0,
    jobs: int | None = None,
    store: str | os.PathLike[str] | None = None,
    features: Any = None,
    metric: str | Metric | None = None,
    regret: bool | None = False,
    tune: str | None = None,
    prefix: float = 0.2,
    watch: Callable[[Comparison], None] | None = None,
) -> Comparison:
    """Run algorithms over the same permutations of a data set, and over its own order, each by progressive validation.

    data : anything that `data.stream` takes, read once into memory; or (X, y).
    algorithms : names, names with parameters such as "pa:C=0.1,variant=II", classes or models. The default is a dozen.
    permutations : permutation k is np.random.default_rng([seed, k]).permutation(n), the same for all algorithms.
    jobs : the number of runs at the same time; by default one per core. The results do not depend on it.
    store : a file that keeps each run when it ends, or a folder for such files (an existing one, or a path ending in
        /). Stored runs are not repeated: an interrupted comparison resumes, and more algorithms or permutations add
        only their own runs.
    features : how the data become features, as for `data.stream`.
    metric : rank the algorithms by this metric, such as "auc", "f1" or "balanced-accuracy" (see `evaluate.metrics`).
        The curves show the usual measure.
    regret : also compute on the first permutation the regret of each algorithm against the best fixed model, and the
        bounds of its papers. None: only if it takes seconds.
    tune : search for good parameters first, by "grid", "random" or "halving", on a random `prefix` that no run uses; or
        "like-libol": on the examples of the runs themselves, as the literature does.
    watch : called ten times a second with the comparison so far. Its `doing` says what happens beside the runs.

    Whole numbers and names are labels: algorithms classify them and are ranked by the mistake rate. Other numbers are
    predicted, and algorithms are ranked by the mean absolute error, whatever their loss. The seconds of a run are the
    time that its thread spent learning and judging. Ctrl-C ends the comparison: `interrupted` is True, and finished
    runs are kept.

    >>> comparison = compare("spam", ["perceptron", "arow"], permutations=3)
    >>> [(standing.label, round(standing.figures["mistake rate"][0], 3)) for standing in comparison.standings()]
    [('arow', 0.094), ('perceptron', 0.478)]
    """
    if permutations < 1 or seed < 0 or (jobs is not None and jobs < 1):
        raise ParameterError("permutations and jobs must be at least 1, seed at least 0")
    examples = Dataset.of(data, features)
    how = examples.how if examples.how.as_dict() else None
    field = competitors(algorithms, examples.task, how, examples.weights is not None)
    field = [Competitor(one.label, one.model.for_columns(examples.names)) for one in field]
    examples.prepare(field[0].model)
    asked = None if metric is None else checked_metric(metric, examples, field)
    comparison = Comparison(examples, field, permutations, seed, examples.fingerprint(), metric=asked)
    if tune is not None:
        try:
            tune_field(comparison, tune, prefix, jobs, store, watch)
        except KeyboardInterrupt:
            comparison.interrupted = True
            return comparison
        examples = comparison.examples
    comparison.store = None if store is None else kept_path(store, examples)
    if regret is not False:
        comparison.no_regret = why_none(examples, QUICK_REGRET if regret is None else MOST_REGRET)
    runs = Runs(comparison, jobs or cores(), promising=regret is not False and comparison.no_regret is None)
    runs.go(watch)
    if runs.promising and not comparison.interrupted:
        runs.promise(watch)
    return comparison


def checked_metric(asked: str | Metric, examples: Dataset, field: list[Competitor]) -> Metric:
    """The metric of this name; an error if it is not one number for a run of each algorithm on this data."""
    found = metric(asked)
    if type(found) not in METRICS.values():
        raise ParameterError(f"metric={asked!r}: must be one number of a whole run")
    for one in field:
        followed_metrics(one.model, [found], None, None)
    if found.name == "auc" and len(examples.targets.labels) > 2:
        raise ParameterError(f"auc is for two labels, and {examples.name} has {len(examples.targets.labels)}")
    if trouble := found.trouble(examples.targets.labels if examples.labels else []):
        raise ParameterError(trouble)
    return found


def tune_field(
    comparison: Comparison,
    search: str,
    prefix: float,
    jobs: int | None,
    store: str | os.PathLike[str] | None,
    watch: Callable[[Comparison], None] | None,
) -> None:
    """Give the algorithms the parameters that were best on some examples, and leave the others to the comparison.

    The parameters are kept beside the runs, so that an interrupted search resumes with the next algorithm.
    """
    from seriatim.evaluate.tuning.tune import divided, tuned

    examples, field, seed, measure = comparison.examples, comparison.competitors, comparison.seed, comparison.metric
    like_libol = search == "like-libol"
    held, rest = divided(examples.n, prefix, seed, like_libol)
    about = [[one.algorithm, one.parameters] for one in field]
    judged = [] if measure is None else [repr(measure)]
    asked = hashed([examples.fingerprint(), about, search, len(held), seed, __version__, *judged]).hexdigest()
    path = None if store is None else kept_path(store, examples).with_suffix(".tuned.json")
    found = known_parameters(path, asked)
    if len(found) < len(field):
        rows = examples.rows(np.arange(examples.n))
        for one in field[len(found) :]:
            (model,), _ = tuned(
                [one.model],
                rows,
                examples.y,
                search="grid" if like_libol else search,
                prefix=prefix,
                measure=measure,
                seed=seed,
                like_libol=like_libol,
                jobs=jobs,
                watch=None if watch is None else Looks(comparison, one.label, watch),
            )
            searched = {name: about for name, about in model.parameters.items() if about.search}
            found.append({name: plain_value(about, getattr(model, name)) for name, about in searched.items()})
            if path is not None:
                with whole_file(path) as place:
                    place.write_text(json.dumps({"asked": asked, "parameters": found}))
        comparison.doing = ""
    comparison.competitors = [
        Competitor(one.label, type(one.model)(**one.given | best)) for one, best in zip(field, found, strict=True)
    ]  # fmt: skip
    if like_libol:
        comparison.tuning = "like LIBOL: on the examples that are then reported on, which flatters"
        return
    comparison.examples = examples.part(rest)
    comparison.fingerprint = comparison.examples.fingerprint()
    comparison.tuning = f"{search} on {len(held):,} examples drawn by the seed, which no run has seen"


class Looks:
    """Calls `watch` ten times a second while an algorithm is tuned."""

    def __init__(self, comparison: Comparison, label: str, watch: Callable[[Comparison], None]) -> None:
        self.comparison, self.label, self.watch = comparison, label, watch
        self.last = 0.0

    def __call__(self, done: int, planned: int, best: Any) -> None:
        if time.perf_counter() - self.last > BETWEEN_LOOKS:
            self.comparison.doing = f"tuning {self.label}: {done:,} of {planned:,} trials"
            self.watch(self.comparison)
            self.last = time.perf_counter()


def known_parameters(path: Path | None, asked: str) -> list[dict[str, Any]]:
    """The stored parameters of a search with the same settings, as far as it went."""
    if path is None or not path.exists():
        return []
    try:
        kept = json.loads(path.read_text())
        return kept["parameters"] if kept["asked"] == asked else []
    except (ValueError, KeyError, TypeError):
        raise DataError(f"{path}: not the stored result of a search; remove the file to search again") from None


def hashed(what: Any) -> Any:
    return hashlib.blake2b(json.dumps(what, sort_keys=True).encode(), digest_size=16)


def kept_path(given: str | os.PathLike[str], examples: Dataset) -> Path:
    """The given file, or the file for this data set in the given folder."""
    path = Path(given)
    if path.is_dir() or os.fspath(given).endswith(os.sep):
        path.mkdir(parents=True, exist_ok=True)
        return path / f"{short_name(examples.name)}-{examples.fingerprint()[:8]}.jsonl"
    return path


def opened(path: Path | None) -> tuple[RunStore | None, dict[str, Record]]:
    """The store and its runs, by key."""
    if path is None:
        return None, {}
    from seriatim.evaluate.comparison.store import RunStore

    store = RunStore(path)
    return store, store.read()


class Order:
    """A permutation of the examples, by its number, and the algorithms that have yet to run over it."""

    def __init__(self, number: int | None, missing: list[Competitor]) -> None:
        self.number, self.missing = number, missing
        self.begun = False
        self.shared = len(missing) > 1
        self.held: list[tuple[Any, Any]] | None = None
        self.turn = threading.Lock()

    def blocks(self, examples: Dataset, seed: int) -> Iterable[tuple[Any, Any]]:
        """The examples in this order, permuted once for all algorithms unless the data set is large."""
        with self.turn:
            if self.held is not None:
                return self.held
            blocks = examples.permuted(examples.order(self.number, seed))
            if not self.shared or examples.nonzeros > IN_ORDER:
                return blocks
            self.held = [*blocks]
            return self.held


class Runs:
    """The runs of a comparison that are not in the store, on several threads: learning releases the GIL."""

    def __init__(self, comparison: Comparison, jobs: int, promising: bool) -> None:
        self.comparison, self.jobs, self.promising = comparison, jobs, promising
        self.firsts: dict[str, tuple[Any, np.ndarray]] = {}  # models of the first permutation, and their predictions
        self.places = curve_places(comparison.examples.n)
        self.turn = threading.Lock()
        self.stopping = False
        self.error: BaseException | None = None
        self.orders = (*range(comparison.permutations), None)
        self.keys: dict[tuple[str, int | None], str] = {}
        self.missing: list[Order] = []
        self.store, kept = opened(comparison.store)
        for competitor in comparison.competitors:
            self.name_runs(competitor)
        for number in self.orders:
            missing = []
            for competitor in comparison.competitors:
                if run := kept.get(self.keys[competitor.label, number]):
                    comparison.records.append({**run, "label": competitor.label})
                else:
                    missing.append(competitor)
            if missing:
                self.missing.append(Order(number, missing))

    def name_runs(self, competitor: Competitor) -> None:
        """Set the keys of runs: a key is a hash of everything that the result depends on."""
        judged = [] if self.comparison.metric is None else [repr(self.comparison.metric)]
        what = [self.comparison.fingerprint, competitor.algorithm, competitor.parameters, __version__, *judged]
        begun = hashed(what)
        for order in self.orders:
            key = begun.copy()
            key.update(f"{order} {None if order is None else self.comparison.seed}".encode())
            self.keys[competitor.label, order] = key.hexdigest()

    def go(self, watch: Callable[[Comparison], None] | None) -> None:
        """Run the missing runs; Ctrl-C stops them between two blocks."""
        threads = [threading.Thread(target=self.work, daemon=True) for _ in range(self.jobs if self.missing else 0)]
        try:
            for thread in threads:
                thread.start()
            while working := [thread for thread in threads if thread.is_alive()]:
                working[0].join(BETWEEN_LOOKS)
                if watch is not None:
                    watch(self.comparison)
            if watch is not None and threads:  # a last call for the final state
                watch(self.comparison)
        except KeyboardInterrupt:
            self.comparison.interrupted = self.stopping = True
        finally:
            self.stopping = True
            for thread in threads:
                if thread.ident is not None:  # Ctrl-C may come before all threads have started
                    thread.join()
        if self.error is not None:
            raise self.error

    def work(self) -> None:
        """The loop of a thread: take runs until none is left."""
        while not self.stopping:
            order, some = self.next_runs()
            if order is None:
                return
            try:
                self.take(order, some)
            except BaseException as error:  # the waiting thread raises it
                self.error, self.stopping = error, True

    def next_runs(self) -> tuple[Order | None, list[Competitor]]:
        """Some runs over one permutation, which share its blocks: all of them while each thread can have a permutation
        of its own, and fewer when few runs are left."""
        with self.turn:
            if not self.missing:
                return None, []
            fresh = [order for order in self.missing if not order.begun]
            order = fresh[0] if len(fresh) >= self.jobs else self.missing[0]
            left = sum(len(order.missing) for order in self.missing)
            few = len(order.missing) if len(fresh) >= self.jobs else max(1, left // (2 * self.jobs))
            some, order.missing = order.missing[:few], order.missing[few:]
            order.begun = True
            if not order.missing:
                self.missing.remove(order)
            return order, some

    def take(self, order: Order, some: list[Competitor]) -> None:
        """Run algorithms over one permutation, one after another, and store each run when it ends."""
        examples = self.comparison.examples
        for competitor in some:
            model = competitor.fresh()
            asked = self.comparison.metric
            asked = None if asked is None else metric(asked)
            margins = self.promising and order.number == 0
            run = Compared(model, self.places, asked, series=order.number is None, margins=margins)
            for rows, targets in model.prepared(iter(order.blocks(examples, self.comparison.seed))):
                if self.stopping:
                    return
                try:
                    run.learn(rows, targets)
                except SeriatimError as error:
                    raise type(error)(f"{competitor.label}: {error}") from None
            if run.margins is not None:
                self.firsts[competitor.label] = run.model, np.concatenate(run.margins)
            record = self.record(competitor, order.number, run)
            if self.store is not None:
                self.store.append(record)
            with self.turn:
                self.comparison.records.append(record)
                self.comparison.ran += 1

    def record(self, competitor: Competitor, order: int | None, run: Compared) -> Record:
        """The record of a run, as the store keeps it."""
        column = self.comparison.examples.column
        weights = [[label, column(j), weight] for label, j, weight in heaviest(run.model)] if order == 0 else None
        return {
            "key": self.keys[competitor.label, order],
            "data": self.comparison.fingerprint,
            "algorithm": competitor.algorithm,
            "parameters": competitor.parameters,
            "label": competitor.label,
            "order": order,
            "seed": None if order is None else self.comparison.seed,
            "version": __version__,
            **figures_of(run),
            **({} if weights is None else {"heaviest": weights}),
            **(in_time(run, self.places) if order is None else {}),
        }

    def promise(self, watch: Callable[[Comparison], None] | None) -> None:
        """Compute regret and bounds of the algorithms whose records lack them."""
        comparison = self.comparison
        firsts = {run["label"]: k for k, run in enumerate(comparison.records) if run["order"] == 0}
        missing = [one for one in comparison.competitors if "regret" not in comparison.records[firsts[one.label]]]
        if not missing:
            return
        try:
            promises = Promises(comparison.examples, comparison.seed)
            for competitor in missing:
                comparison.doing = f"regret of {competitor.label}"
                if watch is not None:
                    watch(comparison)
                first = self.firsts.pop(competitor.label, None)
                record = {**comparison.records[firsts[competitor.label]], **promises.of(competitor, first)}
                comparison.records[firsts[competitor.label]] = record
                if self.store is not None:
                    self.store.append(record)
        except KeyboardInterrupt:  # all runs are finished
            comparison.no_regret = "was interrupted"
            comparison.interrupted = True
        comparison.doing = ""

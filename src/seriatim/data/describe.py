"""Describes a stream: its rows, features, labels and scales, and what may cause trouble in learning.

It takes one pass. Memory grows with the number of features, about 100 bytes each plus their names, and by 16 bytes for
each distinct row up to 160 MB.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from shlex import quote
from typing import Any

import numpy as np

from seriatim.core.names import Vocabulary
from seriatim.core.rows import LIMIT, Rows
from seriatim.data.cache import joined, sparse
from seriatim.errors import DataError
from seriatim.features import Features
from seriatim.labels import is_float, label_order, of_floats

BATCH = 1 << 18  # values and rows per step
SHOWN = 10  # features
LABELS_SHOWN = 20
MOST_CLASSES = 1000  # with more distinct numbers than this, the labels are targets of a regression
MOST_LABELS = 1 << 16  # distinct labels that are counted
MOST_HASHES = 10_000_000  # hashes of distinct rows that are stored; beyond, a sample of them
ENOUGH = 10  # least number of rows with a feature for a statement about its scale
MANY = 20  # least number of categories, or of changes of the label, for a warning
WIDE = 1000  # ratio of scales that causes a warning
RARE = 0.01  # a label with a smaller fraction of the rows is rare

Batch = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]  # start, index and value of a CSR matrix; codes of labels


@dataclass
class Description:
    """The description of a stream. Statistics of a feature cover its non-zero values only.

    features : number of features a model would have, by names or by the highest number; `used` of them have a value.
    labels : the 20 most frequent labels with their rows and fractions; `different_labels` is None beyond 65,536.
    targets : for regression, in place of labels: min, mean, deviation and max.
    duplicates : rows with the features and the label of an earlier row.
    contradictions : rows with the features of earlier rows but a label that none of those has.
    exact : whether duplicates and contradictions are counted; otherwise they are estimated to about 0.1% of the rows.
    heaviest : the features that occur in most rows; among equals those with the largest sum of absolute values.
    warnings : what may cause trouble and what to do about it, as pairs of a kind and a text.
    """

    name: str
    rows: int = 0
    features: int = 0
    used: int = 0
    nonzeros: int = 0
    density: float = 0.0
    per_row: dict[str, float] = field(default_factory=dict)
    empty_rows: int = 0
    values: dict[str, float] | None = None
    labels: list[dict[str, Any]] | None = None
    different_labels: int | None = None
    targets: dict[str, float] | None = None
    unlabelled: int = 0
    duplicates: int = 0
    contradictions: int = 0
    exact: bool = True
    heaviest: list[dict[str, Any]] = field(default_factory=list)
    warnings: list[dict[str, str]] = field(default_factory=list)
    interrupted: bool = False

    def summary(self) -> dict[str, Any]:
        """The description as plain numbers, strings, lists and dicts."""
        return asdict(self)


def describe(stream: Iterable[tuple[Rows, np.ndarray]], *, watch: Callable[[int], None] | None = None) -> Description:
    """Describe a stream in one pass.

    Labels may be missing. `watch` is called now and then with the number of rows so far. Ctrl-C ends the reading and
    sets `interrupted`; the description then covers the rows until that moment.

    >>> from seriatim import data
    >>> about = describe(data.stream("spam"))
    >>> about.rows, about.features, [label["rows"] for label in about.labels]
    (4601, 57, [2788, 1813])
    """
    survey = Survey(stream, watch)
    for batch in batches(survey.blocks()):
        survey.add(*batch)
    if not survey.rows and not survey.interrupted:
        raise DataError(f"{survey.name}: no examples")
    return survey.description()


def batches(blocks: Iterable[Batch]) -> Iterator[Batch]:
    """Blocks cut anew at positions that depend on the rows alone, so sums round alike for any block size."""
    parts: list[Batch] = []
    held = 0
    for block in blocks:
        parts.append(block)
        held += len(block[1]) + len(block[3])
        if held < BATCH:
            continue
        start, index, value = joined([part[:3] for part in parts])
        y = np.concatenate([part[3] for part in parts])
        ends = start[1:] + np.arange(1, len(y) + 1)
        begin = used = 0
        while held >= BATCH:
            end = int(np.searchsorted(ends, used + BATCH)) + 1
            yield cut(start, index, value, y, begin, end)
            begin, used = end, int(ends[end - 1])
            held = int(ends[-1]) - used
        parts = [cut(start, index, value, y, begin, len(y))]
    if held:
        yield *joined([part[:3] for part in parts]), np.concatenate([part[3] for part in parts])


def cut(start: np.ndarray, index: np.ndarray, value: np.ndarray, y: np.ndarray, begin: int, end: int) -> Batch:
    first, last = start[begin], start[end]
    return start[begin : end + 1] - first, index[first:last], value[first:last], y[begin:end]


class Survey:
    """What has been counted of a stream so far."""

    def __init__(self, stream: Iterable[tuple[Rows, np.ndarray]], watch: Callable[[int], None] | None) -> None:
        self.stream, self.watch = stream, watch
        self.name = getattr(stream, "name", "the stream")
        self.vocabulary: Vocabulary | None = None
        self.labels, self.columns, self.hashes = LabelCounts(), ColumnStatistics(), Hashes()
        self.read = self.rows = self.nonzeros = self.empty = self.ones = self.negative = self.longest = self.width = 0
        self.shortest = 1 << 62
        self.interrupted = False

    def blocks(self) -> Iterator[Batch]:
        """Yield the blocks of the stream, with one numbering of features and labels."""
        try:
            for rows, y in self.stream:
                rows = rows.check()
                if not self.read and rows.names is not None:
                    self.vocabulary = Vocabulary()
                if (rows.names is None) != (self.vocabulary is None):
                    raise DataError(f"{self.name}: some features have names, and some only numbers")
                if self.vocabulary is not None:
                    rows = self.vocabulary.translate(rows, True)
                self.read += rows.n
                self.width = max(self.width, rows.features)
                yield *sparse(rows), self.labels.codes(y)
                if self.watch is not None:
                    self.watch(self.read)
        except KeyboardInterrupt:
            self.interrupted = True

    def add(self, start: np.ndarray, index: np.ndarray, value: np.ndarray, y: np.ndarray) -> None:
        slot = self.columns.slots(index)
        there = value != 0
        if not there.all():
            start = np.concatenate([[0], np.cumsum(there)])[start]
            slot, index, value = slot[there], index[there], value[there]
        length = np.diff(start)
        self.rows += len(length)
        self.nonzeros += len(value)
        self.empty += int(np.count_nonzero(length == 0))
        self.longest = max(self.longest, int(length.max()))
        self.shortest = int(length.min(initial=self.shortest))
        self.ones += int(np.count_nonzero(value == 1))
        self.negative += int(np.count_nonzero(value < 0))
        self.labels.add(y)
        self.columns.add(slot, value)
        self.hashes.add(row_hashes(start, index, value), y)

    def named(self, feature: int) -> str:
        """The name of a feature; without names its number in the file, from 1."""
        column = int(self.columns.column[feature])
        return str(column + 1) if self.vocabulary is None else self.vocabulary.names[column]

    def description(self) -> Description:
        columns, labels, rows = self.columns, self.labels, self.rows
        used = np.flatnonzero(columns.count[: columns.n])
        features = self.width if self.vocabulary is None else len(self.vocabulary)
        about = Description(self.name, rows, features, len(used), self.nonzeros, interrupted=self.interrupted)
        about.density = self.nonzeros / max(rows * features, 1)
        about.per_row = {"min": self.shortest if rows else 0, "mean": self.nonzeros / max(rows, 1), "max": self.longest}
        about.empty_rows = self.empty
        if len(used):
            about.values = {
                "min": float(columns.low[used].min()),
                "max": float(columns.high[used].max()),
                "ones": self.ones / self.nonzeros,
                "negative": self.negative / self.nonzeros,
            }
        labels.describe(about)
        about.duplicates, about.contradictions, about.exact = self.hashes.repeats(rows)
        about.heaviest = [self.feature(j) for j in columns.heaviest(used)]
        about.warnings = [{"kind": kind, "text": text} for kind, text in self.warnings(about, used)]
        return about

    def feature(self, j: int) -> dict[str, Any]:
        columns = self.columns
        return {
            "name": self.named(j),
            "rows": int(columns.count[j]),
            "share": float(columns.count[j] / self.rows),
            "min": float(columns.low[j]),
            "mean": float(columns.mean[j]),
            "max": float(columns.high[j]),
            "deviation": float(columns.deviation(j)),
        }

    # ---- warnings

    def warnings(self, about: Description, used: np.ndarray) -> Iterator[tuple[str, str]]:
        """Yield (kind, text): what was found and what to do about it."""
        how = Features.of(getattr(self.stream, "features", None))
        yield from self.labels.warnings(about)
        if how.normalize not in ("standard", "max"):
            yield from self.scales(used[self.columns.count[used] >= ENOUGH])
        if self.vocabulary is not None:
            yield from self.categories(how)
        columns = self.columns
        same = (columns.count == self.rows) & (columns.low == columns.high) | (columns.count == 0)
        constant = np.flatnonzero(same[: columns.n])
        if len(constant) and self.rows > 1:
            names = ", ".join(
                f"{self.named(j)!r} ({columns.low[j] if columns.count[j] else 0:g})" for j in constant[:SHOWN]
            )
            more = f" and {len(constant) - SHOWN:,} more" if len(constant) > SHOWN else ""
            yield (
                "constant",
                f"one value in all rows carries no information: {names}{more}; --drop leaves out a column of a table",
            )

    def scales(self, features: np.ndarray) -> Iterator[tuple[str, str]]:
        # The square of a tiny value may underflow to 0, so values are rescaled first.
        size = np.hypot(self.columns.mean[features], self.columns.deviation(features)).clip(5e-324)
        if len(size) and size.max() > WIDE * size.min():
            large, small = int(size.argmax()), int(size.argmin())
            ratio = float(size[large]) / float(size[small])
            yield (
                "scales",
                f"scales differ by {ratio:,.0f} times: the root mean square of {self.named(features[large])!r} is "
                f"{size[large]:.3g}, that of {self.named(features[small])!r} {size[small]:.3g}; --normalize standard "
                f"or --normalize max makes them alike",
            )

    def categories(self, how: Features) -> Iterator[tuple[str, str]]:
        """Columns with hardly more rows than categories; the features of a category are named column=category."""
        assert self.vocabulary is not None
        categories: Counter[str] = Counter()
        occurrences: Counter[str] = Counter()
        counts = self.columns.count[: self.columns.n].tolist()
        for number, count in zip(self.columns.column.tolist(), counts, strict=False):
            column, is_category, _ = (name := self.vocabulary.names[number]).partition("=")
            if is_category and count and column not in how.text and not (how.cross and "*" in name):
                categories[column] += 1
                occurrences[column] += count
        for column, n in categories.items():
            if n >= MANY and 2 * n > occurrences[column]:
                yield (
                    "categories",
                    f"column {column!r} has {n:,} categories in {occurrences[column]:,} rows, too few for each "
                    f"to learn from; --text {quote(column)} treats it as words, --drop {quote(column)} leaves it out",
                )


class LabelCounts:
    """The labels: how many rows each has, and how often the label changes from one row to the next.

    A label is represented by 64 bits: a number by itself, a name by its hash.
    """

    MISSING = np.float64("nan").view(np.uint64)

    def __init__(self) -> None:
        self.names = LabelHashes()
        self.code, self.count = np.empty(0, np.uint64), np.empty(0, np.int64)
        self.counting = self.whole = True
        self.labelled = self.missing = self.changes = 0
        self.last: np.ndarray = np.empty(0, np.uint64)
        self.mean = self.spread = 0.0
        self.low, self.high = np.inf, -np.inf
        self.rarest: list[tuple[int, Any]] = []

    def codes(self, y: np.ndarray) -> np.ndarray:
        y = of_floats(y)
        if y.dtype.kind not in "fiub":
            return np.fromiter(map(self.names.__getitem__, y.tolist()), np.uint64, len(y))
        numbers = y.astype(np.float64) + 0.0  # turns -0 into 0
        return np.where(np.isnan(numbers), self.MISSING, numbers.view(np.uint64))

    def add(self, codes: np.ndarray) -> None:
        known = codes[codes != self.MISSING]
        self.missing += len(codes) - len(known)
        if not len(known):
            return
        row = np.concatenate([self.last, known])
        self.changes += int(np.count_nonzero(row[1:] != row[:-1]))
        self.last = known[-1:]
        if not self.names:
            self.add_numbers(known.view(np.float64))
        self.labelled += len(known)
        if self.counting:
            code, count = np.unique(known, return_counts=True)
            self.code, place = np.unique(np.concatenate([self.code, code]), return_inverse=True)
            self.count = np.bincount(place, np.concatenate([self.count, count])).astype(np.int64)
            self.counting = len(self.code) <= MOST_LABELS

    def add_numbers(self, y: np.ndarray) -> None:
        """Combine the means and sums of squares of two parts (Chan, Golub and LeVeque, 1983)."""
        self.low, self.high = min(self.low, float(y.min())), max(self.high, float(y.max()))
        self.whole = self.whole and bool((y == np.rint(y)).all())
        y = y.clip(-LIMIT, LIMIT)  # larger squares would overflow, and no learner accepts such targets
        n, mean = len(y), float(y.mean())
        shift, share = mean - self.mean, n / (n + self.labelled)
        self.spread += float(((y - mean) ** 2).sum()) + shift**2 * share * self.labelled
        self.mean += shift * share

    def are_targets(self) -> bool:
        """Whether there are so many distinct numbers that they must be targets of a regression."""
        different = len(self.code)
        many = different > MOST_CLASSES or 10 * different > self.labelled or not self.whole
        return not self.names and different > LABELS_SHOWN and many

    def describe(self, about: Description) -> None:
        about.unlabelled = self.missing
        about.different_labels = len(self.code) if self.counting else None
        if self.are_targets():
            deviation = (self.spread / self.labelled) ** 0.5
            about.targets = {"min": self.low, "mean": self.mean, "deviation": deviation, "max": self.high}
        elif self.counting:
            names = {code: name for name, code in self.names.items()}
            codes, numbers = self.code.tolist(), map(as_label, self.code.view(np.float64).tolist())
            labels = [names.get(code, number) for code, number in zip(codes, numbers, strict=True)]
            ranked = sorted(
                zip(self.count.tolist(), labels, strict=True), key=lambda one: (-one[0], label_order(one[1]))
            )
            about.labels = [
                {"label": label, "rows": n, "share": n / self.labelled} for n, label in ranked[:LABELS_SHOWN]
            ]
            self.rarest = ranked[-1:]

    def warnings(self, about: Description) -> Iterator[tuple[str, str]]:
        n = self.labelled
        if not n:
            yield "unlabelled", "no row has a label; in a table or JSON lines --label COLUMN says where it is"
        if about.labels is None or n < 2:
            return
        share = self.count / n
        if share.min() < min(RARE, 0.5 / len(share)):
            ((count, label),) = self.rarest
            rare = np.count_nonzero(share < RARE)
            others = f", and {rare - 1:,} more labels have less than 1%" if rare > 1 else ""
            yield (
                "rare label",
                f"label {label!r} has {count:,} of {n:,} rows{others}: the mistake rate will hardly show such mistakes",
            )
        expected = (n - 1) * (1 - float((share * (self.count - 1) / (n - 1)).sum()))
        if expected >= MANY and 10 * self.changes < expected:
            yield (
                "sorted",
                f"the rows look sorted by label: it changes {self.changes:,} times from row to row; in random order it "
                f"would change about {expected:,.0f} times; --shuffle SEED mixes the rows",
            )


def as_label(number: float) -> int | float:
    return int(number) if number.is_integer() else number


class LabelHashes(dict[Any, int]):
    """The codes of labels in an object array. Caches the codes of names."""

    def __missing__(self, label: Any) -> int:
        if is_float(label):
            number = np.float64(label) + 0.0
            return int(LabelCounts.MISSING if np.isnan(number) else number.view(np.uint64))
        code = hash(label) & 0xFFFFFFFFFFFFFFFF
        if len(self) <= MOST_LABELS:
            self[label] = code
        return code


class ColumnStatistics:
    """Statistics of each feature: its column, the number of rows where it is not 0, and its values there."""

    WHOLE, REAL = ("column", "count"), ("mean", "spread", "absolute", "low", "high")

    def __init__(self) -> None:
        self.n = 0
        self.column = self.count = self.mean = self.spread = self.absolute = self.low = self.high = np.empty(0)
        self.table = np.zeros(0, np.int32)  # column -> feature, from 1; only pages in use take memory
        self.grow(64)

    def grow(self, n: int) -> None:
        """Make room for n features."""
        for name in self.WHOLE + self.REAL:
            array = np.full(n, {"low": np.inf, "high": -np.inf}.get(name, 0), float if name in self.REAL else int)
            array[: self.n] = getattr(self, name)[: self.n]
            setattr(self, name, array)

    def slots(self, index: np.ndarray) -> np.ndarray:
        """The features of columns; adds new ones."""
        width = int(index.max(initial=-1)) + 1
        if width > len(self.table):
            self.table = np.zeros(1 << (width - 1).bit_length(), np.int32)
            self.table[self.column[: self.n]] = np.arange(1, self.n + 1)
        slot = self.table.take(index)
        new = slot == 0
        if new.any():
            fresh = np.unique(index[new])
            if self.n + len(fresh) > len(self.column):
                self.grow(max(self.n + len(fresh), 2 * self.n))
            self.column[self.n : self.n + len(fresh)] = fresh
            self.table[fresh] = np.arange(self.n + 1, self.n + len(fresh) + 1)
            self.n += len(fresh)
            slot = self.table.take(index)
        return slot - np.intp(1)  # of the index type, else NumPy would convert it at every use

    def add(self, slot: np.ndarray, value: np.ndarray) -> None:
        """Merge the statistics of some values by Chan's formulas."""
        np.minimum.at(self.low, slot, value)
        np.maximum.at(self.high, slot, value)
        here: Any = slice(self.n)
        place, m = slot, self.n
        if m > len(value):  # if few features occur in a batch, only these cost time
            mark = np.zeros(m, bool)
            mark[slot] = True
            here = np.flatnonzero(mark)
            number = np.empty(m, np.intp)
            number[here] = np.arange(len(here))
            place, m = number.take(slot), len(here)
        n, total = np.bincount(place, minlength=m), np.bincount(place, value, m)
        mean, before = total / np.maximum(n, 1), self.count[here]
        shift, share = mean - self.mean[here], n / np.maximum(before + n, 1)
        self.spread[here] += np.bincount(place, (value - mean.take(place)) ** 2, m) + shift**2 * share * before
        self.count[here] += n  # last, because `before` may be a view of it
        self.mean[here] += shift * share
        negative = value.min(initial=0) < 0
        self.absolute[here] += np.bincount(place, np.abs(value), m) if negative else total

    def deviation(self, which: Any) -> Any:
        return np.sqrt(self.spread[which] / self.count[which])

    def heaviest(self, used: np.ndarray) -> np.ndarray:
        count = self.count[used]
        if len(used) > SHOWN:
            used = used[count >= np.partition(count, -SHOWN)[-SHOWN]]
        return used[np.lexsort((self.column[used], -self.absolute[used], -self.count[used]))][:SHOWN]


class Hashes:
    """Finds repeated rows by 64-bit hashes of their features, and of their features and label.

    If there are too many hashes, half of them are dropped, then half of the rest, and so on. Each stored hash then
    stands for 2^halvings rows.
    """

    TOP = np.uint64(0xFFFF << 48)  # bits that both hashes of a row share, so that they are kept or dropped together

    def __init__(self) -> None:
        self.known = [np.empty(0, np.uint64), np.empty(0, np.uint64)]
        self.waiting: list[list[np.ndarray]] = [[], []]
        self.waiting_count = self.halvings = 0

    def add(self, features: np.ndarray, codes: np.ndarray) -> None:
        both = mixed(features + mixed(codes.copy()))
        both = features & self.TOP | both & ~self.TOP
        for kept, hashes in zip(self.waiting, (features, both), strict=True):
            kept.append(hashes[hashes >> np.uint64(64 - self.halvings) == 0] if self.halvings else hashes)
        self.waiting_count += len(self.waiting[0][-1])
        if self.waiting_count >= max(1 << 20, len(self.known[1])):
            self.merge()

    def merge(self) -> None:
        self.known = [
            distinct(np.concatenate([*kept, known])) for kept, known in zip(self.waiting, self.known, strict=True)
        ]
        self.waiting, self.waiting_count = [[], []], 0
        while len(self.known[1]) > MOST_HASHES:
            self.halvings += 1
            limit = np.uint64(1 << (64 - self.halvings))
            self.known = [known[: np.searchsorted(known, limit)].copy() for known in self.known]

    def repeats(self, rows: int) -> tuple[int, int, bool]:
        """The numbers of duplicates and contradictions, and whether they are exact."""
        self.merge()
        features, both = (min(len(known) << self.halvings, rows) for known in self.known)
        return rows - both, max(both - features, 0), not self.halvings


def distinct(hashes: np.ndarray) -> np.ndarray:
    """The distinct values, sorted."""
    hashes.sort()
    return hashes[np.concatenate([[True], hashes[1:] != hashes[:-1]])] if len(hashes) else hashes


def row_hashes(start: np.ndarray, index: np.ndarray, value: np.ndarray) -> np.ndarray:
    """A hash of each row that does not depend on the order of its features: the sum of its entries' hashes."""
    sums = np.zeros(len(index) + 1, np.uint64)
    sums[1:] = index
    sums[1:] *= np.uint64(0x9E3779B97F4A7C15)
    sums[1:] += value.view(np.uint64)
    mixed(sums[1:])
    np.cumsum(sums, out=sums)
    return mixed(sums[start[1:]] - sums[start[:-1]])


def mixed(x: np.ndarray) -> np.ndarray:
    """Mix the bits of the numbers, in place (the last step of SplitMix64)."""
    x ^= x >> np.uint64(30)
    x *= np.uint64(0xBF58476D1CE4E5B9)
    x ^= x >> np.uint64(27)
    x *= np.uint64(0x94D049BB133111EB)
    x ^= x >> np.uint64(31)
    return x

"""All examples of a comparison in memory, to be gone through again and again, in many orders at once."""

from __future__ import annotations

import copy
import hashlib
import json
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from seriatim.core.rows import Rows, picked
from seriatim.data import Stream, stream
from seriatim.data.read.formats import COMPRESSED, ENDINGS
from seriatim.data.stream import Generated, is_paths
from seriatim.errors import DataError, LimitError, ParameterError
from seriatim.estimator import Estimator
from seriatim.estimator.inputs import as_rows, check_targets, is_frame
from seriatim.features import Features
from seriatim.labels import Coded, label_order

BLOCK = 1 << 18  # values that are put in order, and scores that are kept, at a time
ROOM = 2 << 30  # bytes of examples
VALUE = 12  # bytes of a value of sparse rows: itself, and its column
KNOWN_ENDINGS = "|".join(map(re.escape, (*COMPRESSED, *ENDINGS, ".txt", ".dat", ".data")))

Blocks = Iterator[tuple[Rows, Any]]


class Dataset:
    """Rows with sorted columns, their labels or targets, and what they are called.

    >>> examples = Dataset.of("spam")
    >>> examples.n, examples.features, examples.task, examples.names[:2]
    (4601, 57, 'classification', ['make', 'address'])
    >>> from seriatim import PA
    >>> examples.prepare(PA())
    >>> [rows.n for rows, targets in examples.permuted(examples.order(number=0, seed=0))]
    [4601]
    """

    def __init__(
        self,
        rows: Rows,
        y: Any,
        names: list[str] | None = None,
        *,
        name: str = "the data",
        features: Any = None,
        arrays: tuple[np.ndarray, ...] | None = None,
    ) -> None:
        """`arrays` are those of the rows, if nobody else has them; they serve if their columns are in order."""
        self.y = check_targets(y, rows.n)
        given, rows = rows, rows.check()
        self.name, self.names = name, names
        self.how = Features.of(features)
        self.n, self.features, self.nonzeros = rows.n, rows.features, rows.nonzeros
        self.arrays: tuple[np.ndarray, ...] = arrays if arrays is not None and rows is given else rows.arrays
        self.norms = rows.norms
        self.weights = rows.weights if rows.weighted else None
        numbers = self.y.dtype.kind == "f" and not (np.isfinite(self.y) & (self.y == np.rint(self.y))).all()
        self.task = "regression" if numbers else "classification"
        self.targets: Any = None

    @classmethod
    def of(cls, data: Any, features: Any = None) -> Dataset:
        """What `data.stream` takes, read to its end; or (X, y); or examples, which stay as they are."""
        if isinstance(data, Dataset):
            return data
        if isinstance(data, tuple) and len(data) == 2 and not is_paths(data):
            return cls.of_arrays(*data, features)
        if not isinstance(data, Stream):
            reading = {} if features is None else {"features": features}
            data = stream(data, **reading)
        return cls.of_stream(data, features)

    @classmethod
    def of_arrays(cls, X: Any, y: Any, features: Any) -> Dataset:
        if is_frame(X):
            from seriatim.features.frames import frame_rows

            rows = frame_rows(X, Features.of(features), {})
        else:
            rows = as_rows(X)
        names = None if rows.names is None else [*rows.names]
        return cls(rows, y, names, features=features)

    @classmethod
    def of_stream(cls, data: Stream, features: Any) -> Dataset:
        if data.delay:
            raise ParameterError(
                f"{data.name}: delay={data.delay}; a comparison reveals each label at once; remove the delay"
            )
        if isinstance(data.source, Generated) and data.limit is None:
            raise DataError(f"{data.name} has no end; say how many examples to take of it by a limit (--limit)")
        held = Stream(within_room(data))
        held.name = data.name
        arrays, y, names, weights = held.arrays()
        columns = int(arrays[1].max(initial=-1)) + 1 if names is None else len(names)
        rows = Rows.sparse(*arrays, max(columns, 1))
        rows.weights = weights
        how = getattr(data, "features", None) if features is None else features
        return cls(rows, y, names, name=data.name, features=how, arrays=arrays)

    def prepare(self, model: Estimator) -> None:
        """Get the targets ready for algorithms of the kind of this one."""
        self.task = model.task
        try:
            targets = model.as_targets(self.y, self.n)
        except DataError as error:
            raise DataError(f"{self.name}: {error}") from None
        self.targets = ascending(targets) if isinstance(targets, Coded) else targets

    @property
    def labels(self) -> dict[str, int] | None:
        """How many examples each label has."""
        if self.task != "classification":
            return None
        counts = np.bincount(self.targets.which, minlength=len(self.targets.labels)).tolist()
        return dict(zip(map(str, self.targets.labels), counts, strict=True))

    def fingerprint(self) -> str:
        """A hash of the examples, by which results are known to be of the same ones."""
        digest = hashlib.blake2b(digest_size=16)
        labels, y = ([*self.targets.labels], self.targets.which.astype(np.int64)) if self.labels else ([], self.targets)
        about = {"task": self.task, "columns": self.features, "labels": labels, "names": self.names}
        digest.update(json.dumps(about).encode())
        for array in (*self.arrays, y, *([] if self.weights is None else [self.weights])):
            digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()

    # ---- in any order

    def order(self, number: int | None, seed: int) -> np.ndarray:
        """Permutation `number` by this seed; without a number the order in which the examples are."""
        return np.arange(self.n) if number is None else np.random.default_rng([seed, number]).permutation(self.n)

    def permuted(self, order: np.ndarray) -> Blocks:
        """Rows in this order with their targets, block after block, checked."""
        most = max(1, BLOCK // (len(self.targets.labels) if self.task == "classification" else 1))
        ends = np.cumsum(self.lengths[order])
        begin = 0
        while begin < len(order):
            full = (ends[begin - 1] if begin else 0) + BLOCK
            end = min(max(begin + 1, int(np.searchsorted(ends, full, "right"))), begin + most)
            some = order[begin:end]
            yield self.rows(some), self.some_targets(some)
            begin = end

    @property
    def lengths(self) -> np.ndarray:
        return np.diff(self.arrays[0]) if len(self.arrays) == 3 else np.full(self.n, self.features)

    def rows(self, some: np.ndarray) -> Rows:
        if len(self.arrays) == 1:
            rows = Rows.dense(self.arrays[0][some]).check()
        else:
            start, index, value = self.arrays
            rows = Rows.sparse(*picked(start, index, value, some), self.features).in_any_order(self.norms[some])
        if self.weights is not None:
            rows.weights = self.weights[some]
        return rows

    def part(self, some: np.ndarray) -> Dataset:
        """Some of the examples, as if there were no others."""
        found = copy.copy(self)
        rows = self.rows(some)
        found.arrays, found.norms, found.weights = rows.arrays, rows.norms, rows.weights if rows.weighted else None
        found.y, found.targets = np.asarray(self.y)[some], self.some_targets(some)
        found.n, found.nonzeros = rows.n, rows.nonzeros
        return found

    def some_targets(self, some: np.ndarray) -> Any:
        if self.task == "classification":
            return Coded(self.targets.labels, self.targets.which[some])
        return self.targets[some]

    def column(self, j: int) -> str:
        """What column j is called; without names its number, from 1 as in the files."""
        return str(j + 1) if self.names is None or j >= len(self.names) else self.names[j]


def within_room(data: Stream) -> Blocks:
    """The blocks of a stream, as long as they fit into memory."""
    size = 0
    for rows, y in data:
        size += VALUE * rows.nonzeros + 32 * rows.n
        if size > ROOM:
            raise LimitError(
                f"{data.name}: more than {ROOM >> 30} GiB of examples, but a comparison keeps all of them in memory; "
                f"take the first N by --limit N, or a share of them by --sample 0.1"
            )
        yield rows, y


def ascending(y: Coded) -> Coded:
    """The same with the labels in ascending order, whichever came first.

    >>> ascending(Coded(["b", 1], np.array([0, 1, 1])))
    Coded(labels=[1, 'b'], which=array([1, 0, 0], dtype=int8))
    """
    labels = sorted(y.labels, key=label_order)
    place = np.array([labels.index(label) for label in y.labels], dtype=np.int8 if len(labels) <= 2 else np.intp)
    return Coded(labels, place[y.which])


def short_name(name: str) -> str:
    """A name for files: that of the data without folder and endings.

    >>> short_name("mail/in box.csv.gz"), short_name("sea:noise=0.2,seed=1"), short_name("standard input")
    ('in-box', 'sea-noise-0.2-seed-1', 'standard-input')
    """
    first = name.partition(", ")[0].rstrip("/").rpartition("/")[2]
    first = re.sub(rf"({KNOWN_ENDINGS})+$", "", first)
    return re.sub(r"[^\w.-]+", "-", first).strip("-.")[:80] or "data"

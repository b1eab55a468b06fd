"""Interrupts and threads, for every algorithm: `python -m tests.stress lines|moments|threads [N] [seed] [names]`.

lines : KeyboardInterrupt at every line of Python that learning, fitting, setting parameters or saving runs, NumPy's
    lines included. There is no other place at which Python raises a signal, but for those at which compiled code asks.
moments : N signals for each algorithm, at random moments.
threads : ten threads learn, predict, save, pickle and set parameters for N seconds.

After each, the model is as before or after the step; or, where several rows are learned, as after some of them. It can
be saved and loaded, and when it learns the rest, it is what it would have been without the interrupt.
"""

from __future__ import annotations

import copy
import linecache
import pickle
import random
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import seriatim
from seriatim.kernel import Gaussian, Linear
from seriatim.parameters import Number
from tests.test_contract import answers, default, most_labels, same

FOLDER = Path("/dev/shm") if Path("/dev/shm").is_dir() else None  # where a file is flushed at once


class Failure(Exception):
    """The model is neither in the state before nor in the state after a step."""


# ---- steps


class Case(NamedTuple):
    """A step after which the model is as before or as after; or rows, of which it has learned the first ones."""

    name: str
    model: Any
    act: Callable[[Any], Any]
    rest: Callable[[Any, int], Any] | None = None  # learns the rows after the first n


def cases(name: str, cls: Any) -> Iterator[Case]:
    """The steps of an algorithm that change more than its numbers."""
    yield from (ratings if cls.task == "recommendation" else days if cls.task == "portfolio selection"
                else triplets if cls.task == "retrieval" else rows)(name, cls)  # fmt: skip


def rows(name: str, cls: Any) -> Iterator[Case]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 7))
    X = np.ceil(np.abs(X)) if cls.nonnegative else X
    labels = min(5, most_labels(cls))
    model = default(cls)
    y = X[:, 0] if model.task == "regression" else np.array(["d", "a", "e", "b", "c"])[np.arange(30) // 3 % labels]
    known = model.partial_fit(X[:9, :4], np.where(y[:9] > "b", "d", "a") if y.dtype.kind == "U" else y[:9])

    def learn(model: Any, X: Any = X, y: Any = y, begin: int = 9) -> Any:
        return model.partial_fit(X[begin:], y[begin:])

    yield Case("first rows", default(cls), lambda model: learn(model, begin=0), lambda model, n: learn(model, begin=n))
    yield Case("labels and columns", known, learn, lambda model, n: learn(model, begin=9 + n))
    if "features" in cls.parameters and not cls.nonnegative and name != "OnlinePCA":
        scaled = default(cls, features=seriatim.Features(normalize="standard")).partial_fit(X[:9, :4], y[:9])
        yield Case("scaled", scaled, learn, lambda model, n: learn(model, begin=9 + n))
    yield Case("fit", known, lambda model: model.fit(X, y))
    number = free_number(cls)
    if number is not None:
        yield Case("set_params", known, lambda model: model.set_params(**{number: 0.99 * getattr(model, number)}))
    yield Case("save", known, lambda model: model.save(scratch()))
    yield Case("copy", known, copy.deepcopy)
    yield Case("predict", known, lambda model: answers(model, X))

    named = default(cls)
    for x, target in zip(X[:3], y[:3].tolist(), strict=True):
        named.learn_one({f"x{j}": v for j, v in enumerate(x[:4])}, target)
    one = {f"x{j}": v for j, v in enumerate(X[5])} | {"new": 1.0}
    new = y[-1].item() if labels > 2 or model.task == "regression" else y[0].item()
    yield Case("one", named, lambda model: model.learn_one(one, new))
    yield Case("first one", default(cls), lambda model: model.learn_one(one, new))
    yield Case("ask one", named, lambda model: model.score_one(one))
    if "features" in cls.parameters:
        how = {"features": seriatim.Features(normalize="unit", text=("t",), cross=(("x0", "t"),))}
        encoded = default(cls, **how).learn_one({"x0": 1.0, "t": "a b"}, y[0].item())
        yield Case("one text", encoded, lambda model: model.learn_one({"x0": 2.0, "x5": 1.0, "t": "b c"}, new))


def free_number(cls: Any) -> str | None:
    """A parameter that can change while a model learns."""
    numbers = [k for k, p in cls.parameters.items() if isinstance(p, Number) and isinstance(p.default, float)]
    return next((k for k in numbers if k not in cls.fixed), None)


def ratings(name: str, cls: Any) -> Iterator[Case]:
    users, items = [f"u{k % 7}" for k in range(30)], [k % 11 for k in range(30)]
    told = [1.0 + k % 5 for k in range(30)]

    def learn(model: Any, begin: int = 10) -> Any:
        return model.partial_fit(users[begin:], items[begin:], told[begin:])

    known = cls().partial_fit(users[:10], items[:10], told[:10])
    yield Case("first ratings", cls(), lambda model: learn(model, 0), learn)
    yield Case("users and items", known, learn, lambda model, n: learn(model, 10 + n))
    yield Case("fit", known, lambda model: model.fit(users, items, told))
    yield Case("one", known, lambda model: model.learn_one("new", "new", 3.0))
    yield Case("save", known, lambda model: model.save(scratch()))


def days(name: str, cls: Any) -> Iterator[Case]:
    X = np.exp(0.05 * np.random.default_rng(0).standard_normal((24, 4)))

    def learn(model: Any, begin: int = 12) -> Any:
        return model.partial_fit(X[begin:])

    known = cls().partial_fit(X[:12])
    yield Case("first days", cls(), lambda model: learn(model, 0), learn)
    yield Case("days", known, learn, lambda model, n: learn(model, 12 + n))
    yield Case("fit", known, lambda model: model.fit(X))
    yield Case("one", known, lambda model: model.learn_one(X[0]))
    yield Case("first named", cls(), lambda model: model.learn_one({"a": 1.1, "b": 0.9}))
    yield Case("save", known, lambda model: model.save(scratch()))


def triplets(name: str, cls: Any) -> Iterator[Case]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((12, 4))
    told = np.stack([rng.permutation(12)[:3] for _ in range(8)])
    make = {"kernels": [Gaussian(1.0), Linear()]} if name == "OMDL" else {}
    known = cls(**make).partial_fit(X, told[:4])

    def learn(model: Any, begin: int = 4) -> Any:
        return model.partial_fit(X, told[begin:])

    yield Case("first triplets", cls(**make), lambda model: learn(model, 0), learn)
    yield Case("triplets", known, learn, lambda model, n: learn(model, 4 + n))
    yield Case("fit", known, lambda model: model.fit(X, told))
    yield Case("save", known, lambda model: model.save(scratch()))


def scratch() -> Path:
    return Path(tempfile.gettempdir() if FOLDER is None else FOLDER) / f"seriatim-stress-{threading.get_ident()}.model"


# ---- interrupts


class Lines:
    """Raises KeyboardInterrupt at the n-th line of Python that runs within it."""

    def __init__(self, n: int) -> None:
        self.left, self.raised, self.seen = n, False, set[tuple[int, int]]()

    def __call__(self, frame: Any, event: str, _: Any) -> Any:
        path = frame.f_code.co_filename
        # What is raised in a callback of the garbage collector, such as hypothesis has one, is lost, and no interrupt.
        if path == __file__ or "weakref" in path or "importlib" in path or "hypothesis" in path:
            return None
        if event == "line" and not self.raised:
            line = linecache.getline(path, frame.f_lineno).strip()
            place = id(frame), frame.f_lineno
            # A `with` is visited again when it ends. No signal comes between its body and its exit.
            ended = line.startswith(("with ", ")", "async with ")) and place in self.seen
            self.seen.add(place)
            self.left -= not ended
            if self.left < 0 and not ended:
                self.raised = True
                raise KeyboardInterrupt
        return self

    def __enter__(self) -> Lines:
        sys.settrace(self)
        return self

    def __exit__(self, kind: Any, *_: Any) -> bool:
        sys.settrace(None)
        return self.raised and kind is KeyboardInterrupt


def rounds(model: Any) -> int:
    return 0 if model._learner is None else model._learner.t


def prepared(case: Case) -> tuple[Any, Any, Any]:
    """The model, its state before, and that after the step."""
    after = copy.deepcopy(case.model)
    case.act(after)
    for model in (case.model, after):  # models equal to these need no further test
        model.save(scratch())
        if not same(seriatim.load(scratch()).__getstate__(), model.__getstate__()):
            raise Failure(f"{type(model).__name__}, {case.name}: the file is another model")
    return copy.deepcopy(case.model), case.model.__getstate__(), after.__getstate__()


def check(case: Case, model: Any, before: Any, after: Any, where: str) -> None:
    """Check that the model is as before or after, or has learned some rows and can learn the rest."""
    where = f"{type(model).__name__}, {case.name}, {where}"
    if not model._lock.acquire(blocking=False):
        raise Failure(f"{where}: the lock is held")
    model._lock.release()
    state, path = model.__getstate__(), scratch()
    if same(state, before) or same(state, after):
        return
    try:
        model.save(path)
        again = seriatim.load(path)
    except Exception as error:
        raise Failure(f"{where}: {type(error).__name__}: {error}") from error
    if not same(again.__getstate__(), state):
        raise Failure(f"{where}: the file is another model")
    # It may know a name or a label before it has learned the row with it.
    done = rounds(model) - rounds_of(before)
    if case.rest is None:
        if done:
            raise Failure(f"{where}: neither as before nor as after")
        case.act(again)
    elif done < rounds_of(after) - rounds_of(before):
        case.rest(again, done)
    # A file does not say that a mixture of experts has just been told of a label, which none of them could foretell.
    if not same(again.__getstate__(), after) and not getattr(model._learner, "fresh", False):
        raise Failure(f"{where}: after {done} rows and the rest it is another model")


def rounds_of(state: Any) -> int:
    return 0 if state["state"] is None else state["state"]["t"]


def each_line(case: Case, lines: Callable[[int], bool] = lambda n: True) -> int:
    """Interrupt a step at each of its lines, or at some. Returns the number of lines."""
    n = 0
    model, before, after = prepared(case)
    while True:
        with Lines(n) as tracer:
            case.act(model)
        if not tracer.raised:
            return n
        check(case, model, before, after, f"interrupted at line {n}")
        n += 1
        while not lines(n):
            n += 1
        model = copy.deepcopy(case.model)


def alarm(*_: Any) -> None:
    raise KeyboardInterrupt


def moments(case: Case, count: int, rng: random.Random) -> int:
    """Interrupt a step at random moments. Returns how often it was in time."""
    model, before, after = prepared(case)
    begin = time.perf_counter()
    case.act(model)
    lasts, hits = time.perf_counter() - begin, 0
    signal.signal(signal.SIGALRM, alarm)
    for turn in range(count):
        model = copy.deepcopy(case.model)
        try:
            signal.setitimer(signal.ITIMER_REAL, rng.uniform(1e-6, 1.2 * lasts + 2e-6))
            case.act(model)
            signal.setitimer(signal.ITIMER_REAL, 0)
        except KeyboardInterrupt:
            hits += 1
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        check(case, model, before, after, f"signal {turn}")
    return hits


# ---- threads


def threads(cls: Any, seconds: float) -> dict[str, int]:
    """Ten threads use one model. Each learned example is counted, and each saved file loads."""
    rng = np.random.default_rng(0)
    X = np.abs(rng.standard_normal((200, 6)))
    model, until = default(cls), time.monotonic() + seconds
    labels = most_labels(cls)
    y = X[:, 0] if model.task == "regression" else np.array([f"l{k}" for k in rng.integers(0, min(labels, 40), 200)])
    y[:2] = y[:2] if model.task == "regression" else ["l0", "l1"]
    model.partial_fit(X[:2], y[:2])
    counts, errors = {"learned": 2, "files": 0, "copies": 0, "asked": 0, "set": 0}, []
    guard = threading.Lock()
    number = free_number(cls)

    def learn(k: int) -> None:
        n = 1 + k % 7
        model.partial_fit(X[k % 190 :][:n], y[k % 190 :][:n])
        with guard:
            counts["learned"] += n

    def save(k: int) -> None:
        model.save(scratch())
        expect(seriatim.load(scratch()).t_ >= 2)
        counts["files"] += 1

    def pickled(k: int) -> None:
        expect(pickle.loads(pickle.dumps(model)).t_ >= 2)
        counts["copies"] += 1

    def ask(k: int) -> None:
        (model.transform if model.task == "representation" else model.predict)(X[:5])
        _ = model.t_, model.updates_, getattr(model, "coef_", None), getattr(model, "classes_", None)
        counts["asked"] += 1

    def tune(k: int) -> None:
        if number is not None:
            model.set_params(**{number: getattr(model, number)})
            counts["set"] += 1
        time.sleep(0.001)

    def expect(condition: bool) -> None:
        if not condition:
            raise Failure("a copy has forgotten examples")

    def work(act: Callable[[int], None], k: int) -> None:
        try:
            while not errors:  # at least once, also on a slow machine
                act(k)
                k += 1
                if time.monotonic() > until:
                    return
        except BaseException as error:
            errors.append(error)

    jobs = [learn, learn, learn, learn, save, save, pickled, ask, ask, tune]
    running = [threading.Thread(target=work, args=(job, 17 * k)) for k, job in enumerate(jobs)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    if errors:
        raise Failure(f"{cls.__name__}: {errors[0]!r}") from errors[0]
    if model.t_ != counts["learned"]:
        raise Failure(f"{cls.__name__}: {counts['learned']} examples, of which {model.t_} were kept")
    return counts


def main() -> None:
    kind, count, seed, *only = (*sys.argv[1:], *["lines", "100", "0"][len(sys.argv) - 1 :])
    rng, failures = random.Random(int(seed)), 0
    for name, cls in seriatim.algorithms().items():
        if only and name not in only:
            continue
        done = 0
        try:
            if kind == "threads":
                done = threads(cls, float(count))["learned"] if hasattr(cls, "learn_rows") else 0
            else:
                for case in cases(name, cls):
                    try:
                        done += each_line(case) if kind == "lines" else moments(case, int(count) // 8, rng)
                    except Failure as failure:
                        failures += 1
                        print(failure, flush=True)
        except Failure as failure:
            failures += 1
            print(failure, flush=True)
        print(f"{name}: {done}", flush=True)
    print(f"{failures} failures")
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()

"""A part of what `python -m tests.stress` does: interrupts, threads and forks leave every model whole."""

import os
import random
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import seriatim
from seriatim.kernel.base import OneKernel
from tests.stress import Lines, cases, each_line, moments, rounds, threads
from tests.test_contract import ALGORITHMS, assert_same_state, default

FAMILIES: dict[str, dict] = {}
for name, cls in seriatim.algorithms().items():
    FAMILIES.setdefault(cls.family, {})[name] = cls

# If an interrupt comes just after a file is opened, the garbage collector closes the file and warns.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")

families = pytest.mark.parametrize("family", list(FAMILIES))
slow = pytest.mark.slow


@families
@pytest.mark.parametrize("algorithms", ["one", pytest.param("all", marks=slow)])
def test_interrupted_at_some_lines(family, algorithms):
    interrupted = 0
    for name, cls in list(FAMILIES[family].items())[: 1 if algorithms == "one" else None]:
        for number, case in enumerate(cases(name, cls)):
            interrupted += each_line(case, lambda n, first=31 * number % 97: n % 97 == first)
    assert interrupted > 100


@families
def test_interrupted_at_random_moments(family):
    name, cls = next(iter(FAMILIES[family].items()))
    rng = random.Random(1)
    assert sum(moments(case, 4, rng) for case in cases(name, cls)) > 0


@pytest.mark.parametrize("family", [pytest.param(one, marks=() if one == "linear" else slow) for one in FAMILIES])
def test_threads_share_a_model(family):
    for cls in FAMILIES[family].values():
        if cls.__name__ in ALGORITHMS:
            counts = threads(cls, 0.3)
            assert counts["learned"] > 2 and counts["files"] and counts["copies"] and counts["asked"]
            return


def kernel_machines():
    for name, cls in ALGORITHMS.items():
        if issubclass(cls, OneKernel):
            yield name, lambda kernel, cls=cls: cls(kernel)
    for cls in (seriatim.OMKC, seriatim.OM2):
        yield cls.__name__, lambda kernel, cls=cls: cls([kernel, seriatim.kernel.Gaussian(1.0)])
    yield "Hedge", lambda kernel: seriatim.Hedge([seriatim.KernelPerceptron(kernel), seriatim.PA()])


class Interrupting:
    """A kernel in Python that is interrupted at one of its calls."""

    calls = last = 0

    def __call__(self, a, b):
        self.calls += 1
        if self.calls == self.last:
            raise KeyboardInterrupt
        return float(np.exp(-((a - b) ** 2).sum()))


class Failing:
    """A kernel in Python that fails at a given row."""

    def __init__(self, row):
        self.row, self.broken = row, False

    def __call__(self, a, b):
        if self.broken and a[0] == self.row[0]:
            raise OSError("no more")
        return float(a @ b)


def test_a_kernel_in_python_may_be_interrupted():
    """The interrupt is raised after the current row is learned, and the model can continue from there."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 3))
    kernel = Interrupting()
    for name, make in kernel_machines():
        y = X[:, 0] if make(kernel).task == "regression" else (X[:, 0] + X[:, 1] > 0).astype(int)
        kernel.calls, kernel.last = 0, 0
        whole = make(kernel).partial_fit(X, y)
        for last in rng.integers(1, kernel.calls + 1, 6).tolist():
            kernel.calls, kernel.last = 0, last
            model = make(kernel)
            with pytest.raises(KeyboardInterrupt):
                model.partial_fit(X, y)
            learned = model.t_
            assert 1 <= learned <= 30, name
            if learned < 30:
                model.partial_fit(X[learned:], y[learned:])
            assert_same_state(model, whole)


def test_a_kernel_that_fails_leaves_the_model_as_it_was():
    X = np.random.default_rng(0).standard_normal((30, 3))
    kernel = Failing(X[25])
    for _, make in kernel_machines():
        model = make(kernel)
        y = X[:, 0] if model.task == "regression" else (X[:, 0] > 0).astype(int)
        model.partial_fit(X[:20], y[:20])
        before, kernel.broken = model.__getstate__(), True
        with pytest.raises(seriatim.errors.DataError, match="the kernel failed: OSError: no more"):
            model.partial_fit(X[20:], y[20:])
        kernel.broken = False
        assert_same_state(model, model.restored(before))


class Slow:
    """An object whose conversion to an array is slow."""

    def __init__(self, array):
        self.array, self.asked = array, threading.Event()

    def __array__(self, dtype=None, copy=None):
        self.asked.set()
        time.sleep(0.1)
        return self.array


def test_what_others_learn_during_fit_comes_after_it():
    X, y = np.eye(4), [0, 1, 0, 1]
    model, slow = seriatim.PA().partial_fit(X, y), Slow(X)
    fitting = threading.Thread(target=lambda: model.fit(slow, y))
    fitting.start()
    assert slow.asked.wait(10)
    model.partial_fit(X[:3], y[:3])
    fitting.join()
    assert model.t_ == 7


FORK = """
import os, sys, threading, time
import numpy as np
import seriatim

X = np.random.default_rng(0).standard_normal((2000, 20))
y = (X[:, 0] > 0).astype(int)
free, busy = seriatim.AROW().partial_fit(X, y), seriatim.KernelPerceptron().partial_fit(X[:100], y[:100])
ended = False

def learn(model):
    while not ended:
        model.partial_fit(X, y)

threads = [threading.Thread(target=learn, args=(model,), daemon=True) for model in (free, busy)]
for thread in threads:
    thread.start()
time.sleep(0.3)
child = os.fork()
if child == 0:
    free.partial_fit(X, y)
    assert set(free.predict(X)) <= {0, 1}
    try:
        busy.predict(X[:5])
    except seriatim.errors.ModelError as error:
        assert "forked" in str(error), error
    os._exit(0)
ended = True
_, status = os.waitpid(child, 0)
before = free.t_
free.partial_fit(X, y)
assert free.t_ >= before + 2000
sys.exit(os.waitstatus_to_exitcode(status))
"""


def test_a_child_process_does_not_wait_for_a_thread_that_it_has_not():
    done = subprocess.run([sys.executable, "-c", FORK], timeout=60, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_signal_between_rows_of_a_long_block():
    """The rows before the signal are learned, and no others."""
    X = np.random.default_rng(0).standard_normal((400_000, 8))
    y = (X[:, 0] > 0).astype(int)
    model = default(ALGORITHMS["AROW"])
    threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        while True:
            model.partial_fit(X, y)
    except KeyboardInterrupt:
        pass
    learned = rounds(model) % len(y)
    whole = default(ALGORITHMS["AROW"])
    for _ in range(rounds(model) // len(y)):
        whole.partial_fit(X, y)
    if learned:
        whole.partial_fit(X[:learned], y[:learned])
    assert_same_state(model, whole)


def test_lines_are_really_interrupted():
    """Test of the test: the interrupt is raised at the given line, and only there."""

    def act():
        seen.append(1)
        seen.append(2)

    seen: list[int] = []
    with Lines(0) as tracer:
        seriatim.PA().get_params()
    assert tracer.raised
    with Lines(10**6) as tracer:
        act()
    assert not tracer.raised and seen == [1, 2]

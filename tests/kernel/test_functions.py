"""Kernels that are functions of the user: what they may do, and the model after they fail."""

import threading

import numpy as np
import pytest

from seriatim import data, evaluate
from seriatim.data.read.libsvm import format_rows
from seriatim.errors import DataError, NotFittedError, ParameterError
from seriatim.estimator.inputs import as_rows
from seriatim.kernel import Gaussian, Polynomial
from tests.kernel.comparison import learner
from tests.learners import of_rows
from tests.reference.kernels import median_distance

MACHINES = {name: cls for name, cls in of_rows().items() if {"kernel", "kernels"} & {*cls.parameters}}  # all but FOGD
every = pytest.mark.parametrize("name", MACHINES)


def stream(n=60):
    rng = np.random.default_rng(70)
    return rng.standard_normal((n, 4)), rng.choice([-1, 1], n)


def machine(name, kernel):
    cls = learner(name)
    given = {"budget": 6} if "budget" in cls.parameters else {}
    given |= {"sampling": "weighted"} if name == "BOGD" else {}
    return cls([kernel, kernel], **given) if "kernels" in cls.parameters else cls(kernel, **given)


def gaussian(x, z):
    return float(np.exp(-np.sum((x - z) ** 2)))


def same(a, b):
    return a.keys() == b.keys() and all(np.array_equal(a[name], b[name]) for name in a)


@every
def test_an_example_whose_kernel_fails_is_not_learned(name):
    """After a failure the model is unchanged, including counters and random numbers, row by row and in a block."""
    X, y = stream()
    failed = 0
    for trouble in (5, 40, 120, 121, 122, 200, 333):
        calls = []

        def kernel(x, z, calls=calls, trouble=trouble):
            calls.append(1)
            if len(calls) == trouble:
                raise ValueError("no kernel today")
            return gaussian(x, z)

        model = machine(name, kernel)
        for x, label in zip(X, y.tolist(), strict=True):
            before = model.__getstate__()
            try:
                model.learn_one({str(j): v for j, v in enumerate(x.tolist())}, label)
            except DataError as error:
                assert "no kernel today" in str(error)
                after = model.__getstate__()
                if before["state"] is None:
                    assert after["state"] is None
                else:
                    assert same(before["state"], after["state"])
                    assert before["names"] == after["names"]
                failed += 1
    assert failed >= 5


@every
@pytest.mark.parametrize("act", ["partial_fit", "predict", "learn_one"])
def test_a_kernel_cannot_use_its_own_model(name, act):
    """The kernel runs while arrays are in use that learning and predicting would move or change."""
    X, y = stream()
    arguments = {"partial_fit": (X, y), "predict": (X,), "learn_one": ({"0": 1.0}, 1)}
    models = []

    def kernel(x, z):
        if models and models[0].n_support_ >= 5:
            getattr(models.pop(), act)(*arguments[act])
        return gaussian(x, z)

    model = machine(name, kernel)
    models.append(model)
    with pytest.raises(DataError, match=r"called its own model|without names"):
        model.partial_fit(X, y)
    assert not models
    with pytest.raises(NotFittedError):
        model.predict(X)
    assert model.partial_fit(X, y).t_ == len(y)


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_what_ends_a_program_is_no_error_of_the_data(error):
    def kernel(x, z):
        raise error

    model = machine("RBP", kernel)
    with pytest.raises(error):
        model.partial_fit(*stream())
    with pytest.raises(NotFittedError):
        model.predict(stream()[0])


@pytest.mark.parametrize("answer", ["a", 1j, None, [1.0], np.ones(2), float("nan"), float("inf"), -1e300], ids=repr)
def test_answers_that_are_no_numbers(answer):
    with pytest.raises(DataError, match="kernel"):
        machine("KernelPA", lambda x, z: answer).partial_fit(*stream())


def test_a_kernel_does_not_write_to_its_rows():
    """The kernel gets read-only rows, because the next support vector uses the same row."""

    def kernel(x, z):
        x *= 0
        return 1.0

    with pytest.raises(DataError, match="read-only"):
        machine("KernelPerceptron", kernel).partial_fit(*stream())


def test_a_class_is_no_kernel_until_it_is_made():
    with pytest.raises(ParameterError, match=r"kernel=.*Gaussian.*must be"):
        learner("RBP")(Gaussian).partial_fit(*stream())
    with pytest.raises(ParameterError, match=r"kernels=.*must be"):
        learner("OMKC")([Gaussian, Polynomial(2)]).partial_fit(*stream())


def test_a_kernel_object_needs_no_copy_of_the_model(monkeypatch):
    """Only a model with a user's function copies its state before a block."""
    X, y = stream()
    model = learner("KernelPerceptron")(Gaussian(1.0)).partial_fit(X, y)
    copies = []
    monkeypatch.setattr(type(model), "__getstate__", lambda self: copies.append(1))
    model.partial_fit(X, y)
    assert not copies


# ---- widths that come from the data


def test_a_width_from_one_row():
    """A single row has no distance to another row, so the width is unknown."""
    X, y = stream()
    for features in (None, {"normalize": "max"}):
        model = learner("RBP")(sigma="median", features=features)
        with pytest.raises(ParameterError, match=r"median"):
            model.partial_fit(X[:1], y[:1])
        with pytest.raises(ParameterError, match=r"median"):
            model.learn_one({"a": 1.0}, 1)
        model.partial_fit(X, y)


def blocks(X, y, size):
    """A stream like that of `data.stream`."""
    rows = as_rows(X)
    return [(rows.slice(k, min(k + size, len(y))), y[k : k + size]) for k in range(0, len(y), size)]


@pytest.mark.parametrize("name", ["KernelPerceptron", "DUOL", "RBP", "NOGD"])
@pytest.mark.parametrize("features", [None, {"normalize": "standard"}])
def test_a_width_is_that_of_the_first_rows_however_they_come(name, features):
    """The width does not depend on pauses for held-out data or on the size of blocks."""
    X, y = stream(700)
    X[500:] *= 9
    cls = learner(name)

    def model():
        return cls("gaussian", sigma="median", features=features)

    whole = model()
    mistakes = evaluate.progressive(whole, X, y).mistakes
    assert whole.sigma_ == model().partial_fit(X[:500], y[:500]).sigma_ != 1
    if features is None:
        assert whole.sigma_ == pytest.approx(median_distance(X[:500]), rel=1e-12)
    runs = [({"held_out": (X[:9], y[:9])}, X, y), ({}, blocks(X, y, 1), None), ({}, blocks(X, y, 64), None)]
    for options, rows, labels in runs:
        one = model()
        assert evaluate.progressive(one, rows, labels, **options).mistakes == mistakes
        assert one.sigma_ == whole.sigma_
    late = model()
    evaluate.progressive(late, blocks(X, y, 1), delay=2, held_out=(X[:9], y[:9]))
    assert late.sigma_ == whole.sigma_


def test_a_new_start_keeps_the_width():
    """The width comes from the first rows of the stream, also if a restarted model learns single rows."""
    X, y = stream(1500)
    y = np.where(X[:, 0] > 0, 1, -1) * np.where(np.arange(1500) < 900, 1, -1)
    for rows, labels in ((X, y), (blocks(X, y, 7), None)):
        model = evaluate.Restart(learner("DUOL")(sigma="median"))
        evaluate.progressive(model, rows, labels)
        assert model.changes_
        assert model.model.sigma_ == pytest.approx(median_distance(X[:500]), rel=1e-12)
    model = evaluate.Restart(learner("RBP")(sigma="median")).partial_fit(X, np.where(np.arange(1500), y, 1))
    assert model.model.sigma_ == pytest.approx(median_distance(X[:500]), rel=1e-12)


def test_the_width_of_a_file_that_is_read_in_small_pieces(tmp_path):
    """A stream reuses the memory of a block, so the first rows must be copied."""
    path = tmp_path / "rows.svm"
    X, y = data.load("digits")
    X, y = X[:700], y[:700]
    path.write_bytes(format_rows(as_rows(X).check(), [b"%d" % label for label in y]))
    for rows in ((X, y), (data.stream(path, block=2000, threads=2),), (data.stream(path, block=2000, threads=1),)):
        model = learner("RBP")(sigma="median")
        mistakes = evaluate.progressive(model, *rows).mistakes
        assert model.sigma_ == pytest.approx(median_distance(X[:500].toarray()), rel=1e-12)
        assert mistakes == evaluate.progressive(learner("RBP")(sigma=model.sigma_), X, y).mistakes


def test_a_width_can_be_read():
    X, y = np.abs(stream()[0]), stream()[1]
    for kernel, width in (("gaussian", 3.0), ("laplacian", 3.0), ("chi_square", 3.0), (Gaussian(2.0), 2.0)):
        assert learner("RBP")(kernel, sigma=3.0).partial_fit(X, y).sigma_ == width
    for kernel in ("linear", Polynomial(), gaussian):
        assert not hasattr(learner("RBP")(kernel).partial_fit(X, y), "sigma_")


def test_a_width_that_is_yet_to_come_gives_no_matrix():
    with pytest.raises(ParameterError, match="width"):
        Gaussian("median")([[1.0]], [[2.0]])


def test_chi_square_has_no_width_from_the_data():
    with pytest.raises(ParameterError, match="chi_square"):
        learner("RBP")("chi_square", sigma="median").partial_fit(*stream())


# ---- threads


@every
@pytest.mark.parametrize("attribute", ["n_support_", "support_vectors_", "dual_coef_"])
def test_support_vectors_wait_for_who_learns(name, attribute):
    """Learning moves support vectors without the interpreter lock, so reading them must wait."""
    if (name, attribute) == ("VotedKernelPerceptron", "dual_coef_"):
        pytest.skip("it has none")
    model = machine(name, Gaussian(1.0)).partial_fit(*stream())
    done = threading.Event()
    thread = threading.Thread(target=lambda: (getattr(model, attribute), done.set()))
    with model._lock:
        thread.start()
        assert not done.wait(0.05)
    thread.join()
    assert done.is_set()

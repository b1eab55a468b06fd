"""Kernels that are functions of the user's: what they may do, what becomes of a model when they fail."""

import threading

import numpy as np
import pytest

from seriatim.errors import DataError, NotFittedError, ParameterError
from seriatim.kernel import Gaussian, Polynomial
from tests.kernel.comparison import learner
from tests.learners import of_rows

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
    """Row by row as in a block: the model is as it was, its counters and random numbers too."""
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
    """It is called while memory is in use that learning, and predicting, would move or write to."""
    X, y = stream()
    arguments = {"partial_fit": (X, y), "predict": (X,), "learn_one": ({"0": 1.0}, 1)}
    models = []

    def kernel(x, z):
        if models and models[0].n_support_ >= 5:
            getattr(models.pop(), act)(*arguments[act])
        return gaussian(x, z)

    model = machine(name, kernel)
    models.append(model)
    with pytest.raises(DataError, match=r"cannot use the model|without names"):
        model.partial_fit(X, y)
    assert not models
    with pytest.raises(NotFittedError):
        model.predict(X)
    assert model.partial_fit(X, y).t_ == len(y)


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_what_ends_a_program_is_no_error_of_the_data(error):
    def kernel(x, z):
        raise error

    with pytest.raises(error):
        machine("RBP", kernel).partial_fit(*stream())


@pytest.mark.parametrize("answer", ["a", 1j, None, [1.0], np.ones(2), float("nan"), float("inf"), -1e300], ids=repr)
def test_answers_that_are_no_numbers(answer):
    with pytest.raises(DataError, match="kernel"):
        machine("KernelPA", lambda x, z: answer).partial_fit(*stream())


def test_a_kernel_does_not_write_to_its_rows():
    """The next support vector meets the same row."""

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
    """Only what a user's function may interrupt is copied before a block is learned."""
    X, y = stream()
    model = learner("KernelPerceptron")(Gaussian(1.0)).partial_fit(X, y)
    copies = []
    monkeypatch.setattr(type(model), "__getstate__", lambda self: copies.append(1))
    model.partial_fit(X, y)
    assert not copies


# ---- widths that come from the data


def test_a_width_from_one_row():
    """A single row has no distance to another; a width of 1 would be nobody's choice."""
    X, y = stream()
    for features in (None, {"normalize": "max"}):
        model = learner("RBP")(sigma="median", features=features)
        with pytest.raises(ParameterError, match=r"median"):
            model.partial_fit(X[:1], y[:1])
        with pytest.raises(ParameterError, match=r"median"):
            model.learn_one({"a": 1.0}, 1)
        model.partial_fit(X, y)


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
    """Learning moves them without the interpreter lock, so nobody may look at them meanwhile."""
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

"""The state of kernel machines: model files, and the state after an interrupt."""

import json
import signal

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file
from scipy.sparse import csr_matrix

import seriatim
from seriatim.errors import LimitError, ModelError
from tests.kernel.comparison import learner
from tests.kernel.test_functions import stream
from tests.test_modelfile import bits


def interrupted(monkeypatch, name):
    """Make the next call of a function of numpy.linalg raise KeyboardInterrupt."""

    def interrupt(*args):
        monkeypatch.undo()
        raise KeyboardInterrupt

    monkeypatch.setattr(np.linalg, name, interrupt)


def test_an_interruption_as_the_features_of_nogd_are_found(tmp_path, monkeypatch):
    """The interrupt is raised, the budget holds, and the next update computes the features."""
    X, y = stream(200)
    cls = learner("NOGD")
    model = cls("gaussian", 10)
    interrupted(monkeypatch, "eigh")
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(X[:100], y[:100])
    assert model.n_support_ == 10
    model.save(tmp_path / "model")
    for one in (model, seriatim.load(tmp_path / "model")):
        one.partial_fit(X[100:], y[100:])
        assert one.n_support_ == 10
        assert one._learner.state()["M"].shape[1] == 10
        assert np.isfinite(one.decision_function(X)).all()


def test_an_interruption_of_finish():
    """The updates of `finish` do not count as rounds, also after an interrupt."""
    model = learner("LASVM")("linear", C=1e6, tau=1e-9).partial_fit(*stream(300))
    updates = model.updates_

    def interrupt(*_):
        raise KeyboardInterrupt

    old = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.01)  # `finish` takes seconds
        with pytest.raises(KeyboardInterrupt):
            model.finish()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)
    assert model.updates_ == updates


def test_a_feature_too_far_leaves_fogd_as_it_was(tmp_path):
    X, y = stream()
    model = learner("FOGD")().partial_fit(X, y)
    before = bits(model)
    with pytest.raises(LimitError):
        model.partial_fit(csr_matrix(([1.0], ([0], [2**30]))), [1])
    assert bits(model) == before
    model.save(tmp_path / "model")
    assert bits(seriatim.load(tmp_path / "model")) == before


def test_fogd_of_a_width_of_almost_nothing():
    X = np.array([[1e50, -1e50], [1.0, 2.0]])
    model = learner("FOGD")(sigma=1e-300).partial_fit(X, [1, -1])
    assert np.isfinite(model.decision_function(X)).all()


@pytest.mark.parametrize("name", ["RBP", "Forgetron", "BOGD", "BudgetPA", "NOGD"])
@pytest.mark.parametrize("kernel", ["linear", "polynomial", "gaussian", "laplacian", "chi_square", "cosine"])
def test_budgets_with_rows_of_every_length(tmp_path, name, kernel):
    """The state is finite and Q <= 15/32 M, also for k(x, x) = 1e98."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((300, 4)) * 10.0 ** rng.choice([-160, -50, 0, 20, 49], (300, 1))
        y = rng.integers(0, 2, 300)
        model = learner(name)(kernel, 20).partial_fit(X, y)
        state = model.__getstate__()["state"]
        assert all(np.isfinite(value).all() for value in state.values())
        assert np.isfinite(model.decision_function(X)).all()
        assert state.get("Q", -np.inf) <= 15 / 32 * state.get("mistakes", 0)
        model.save(tmp_path / "model")
        assert bits(seriatim.load(tmp_path / "model")) == bits(model)


@pytest.mark.parametrize("name", ["KernelPA", "RBP", "LASVM", "OMKC", "OM2", "NORMARegressor"])
def test_values_that_no_row_can_have(tmp_path, name):
    """A loaded model predicts finite numbers."""
    X, y = stream()
    learner(name)().partial_fit(X, y).save(tmp_path / "model")
    with safe_open(tmp_path / "model", framework="numpy") as file:
        metadata, tensors = file.metadata(), {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
    assert json.loads(metadata["seriatim"])["class"] == name
    tensors["row_value"][3] = 1e200
    save_file(tensors, tmp_path / "model", metadata=metadata)
    with pytest.raises(ModelError, match="beyond"):
        seriatim.load(tmp_path / "model")

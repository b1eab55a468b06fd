"""After an error a model is as before. After an interrupt it has learned the rows that it counts."""

from __future__ import annotations

import os
import pickle
import signal
import sys
import threading

import numpy as np
import pytest
from scipy.sparse import csr_matrix, isspmatrix_csr

import seriatim
from seriatim import FOBOS, OGD, PA, OGDRegressor, OneClassPA, SoftSVM, VotedPerceptron, evaluate
from seriatim.core import table
from seriatim.data.generate import synthetic as generators
from seriatim.errors import DataError, LimitError, NotFittedError, ParameterError
from seriatim.estimator import LARGE, Classifier


def state_of(model) -> object:
    return repr(model.__getstate__())


def examples(n: int = 60, d: int = 5, labels: int = 2, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)), rng.integers(0, labels, n)


@pytest.mark.parametrize("how", ["parameter", "argument"])
def test_labels_that_find_no_room_leave_a_new_model(monkeypatch, how):
    X, y = examples()
    model = PA(classes=range(1000)) if how == "parameter" else PA()
    told = {} if how == "parameter" else {"classes": range(1000)}
    monkeypatch.setattr(table, "MAX_BYTES", 8 * 6 * 999)
    for _ in range(2):
        with pytest.raises(LimitError):
            model.partial_fit(X, y, **told)
        assert model.__getstate__()["state"] is None
    monkeypatch.undo()
    assert model.partial_fit(X, y, **told)._learner.classes == 1000


def test_a_third_label_that_finds_no_room_undoes_the_call(monkeypatch):
    X, y = examples()
    model = PA().partial_fit(X, y)
    model.note = "mine"
    before = state_of(model)
    monkeypatch.setattr(table, "MAX_BYTES", 8 * 6 * 2)
    with pytest.raises(LimitError):
        model.partial_fit(X[:3], [0, 1, 2])
    assert state_of(model) == before and model.note == "mine"


def test_a_name_that_finds_no_room_is_not_known(monkeypatch):
    model = PA().learn_one({"a": 1.0}, 1).learn_one({"a": -1.0}, 0)
    before = state_of(model)
    monkeypatch.setattr(table, "MAX_BYTES", 8 * 16)
    with pytest.raises(LimitError):
        model.learn_one({f"x{i}": 1.0 for i in range(20)}, 1)
    assert state_of(model) == before
    assert model.predict_one({"a": 1.0}) == 1


def large_block():
    """Labels and a CSR matrix that is so large that another thread checks it during learning."""
    rng, n = np.random.default_rng(5), LARGE // 40
    columns = rng.integers(0, 20, (n, 50)) + 20 * np.arange(50)
    return csr_matrix((rng.standard_normal(n * 50), columns.ravel(), np.arange(n + 1) * 50), (n, 1000)), rng.integers(
        0, 2, n
    )


@pytest.mark.parametrize("place", [0, 300, -1])
def test_a_large_block_whose_columns_are_not_in_order(place):
    X, y = large_block()
    expected = PA().partial_fit(X, y)
    mixed = X.copy()
    row = slice(mixed.indptr[place % len(y)], mixed.indptr[place % len(y) + 1])
    mixed.indices[row], mixed.data[row] = mixed.indices[row][::-1].copy(), mixed.data[row][::-1].copy()
    model = PA().partial_fit(mixed, y)
    np.testing.assert_array_equal(model.coef_, expected.coef_)
    assert model.t_ == len(y)


@pytest.mark.parametrize("column", [-1, 1000])
def test_a_large_block_with_a_column_that_is_not_there(column):
    X, y = large_block()
    model = PA().partial_fit(X, y)
    before = model.coef_.copy()
    X.indices[X.indptr[-1] - 3] = column
    with pytest.raises(DataError, match=rf"row {len(y) - 1}: column {column} .* is not in 0..999"):
        model.partial_fit(X, y)
    np.testing.assert_array_equal(model.coef_, before)


def test_a_large_block_is_the_same_in_pieces():
    X, y = large_block()
    model = PA()
    for begin in range(0, len(y), 997):
        model.partial_fit(X[begin : begin + 997], y[begin : begin + 997], classes=np.unique(y))
    np.testing.assert_array_equal(PA().partial_fit(X, y).coef_, model.coef_)


def test_a_large_block_with_a_bad_row_is_undone_and_what_others_set_stays():
    X, y = examples(LARGE // 1000 + 400, 1000)
    model = PA().partial_fit(X[:50], y[:50])
    model.note = "mine"
    before = state_of(model)
    X[-1, 3] = np.nan
    with pytest.raises(DataError, match="NaN"):
        model.partial_fit(X, y)
    assert state_of(model) == before and model.note == "mine"


@pytest.fixture
def interruptible():
    """Enable Ctrl-C, which a background process may ignore."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_an_interrupt_in_mid_block_leaves_figures_and_model_in_agreement(tmp_path, interruptible):
    """Voting is slow enough for the signal to come while a block is learned."""
    X, y = examples(150_000, 5)
    model = VotedPerceptron(classes=[0, 1])
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    run = evaluate.progressive(model, X, y)
    timer.join()
    assert run.interrupted
    assert run.examples == model.t_ < len(y)
    assert run.updates == model.updates_
    assert model.n_features_in_ == 5
    model.save(tmp_path / "m")
    assert seriatim.load(tmp_path / "m").t_ == model.t_


def test_a_long_prediction_can_be_interrupted(interruptible):
    X, y = examples(3000, 5)
    model = VotedPerceptron().fit(X, y)
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        model.predict(np.tile(X, (100, 1)))
    timer.join()


def test_scores_and_labels_are_of_the_same_moment():
    model = PA().learn_one({"a": 1.0}, "l0").learn_one({"b": 1.0}, "l1").learn_one({"c": 1.0}, "l2")
    problems: list[Exception] = []
    stop = threading.Event()

    def ask() -> None:
        while not stop.is_set():
            try:
                model.score_one({"a": 1.0})
                model.predict_one({"b": 1.0})
            except Exception as error:
                problems.append(error)
                return

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    askers = [threading.Thread(target=ask) for _ in range(2)]
    for asker in askers:
        asker.start()
    for i in range(3, 60):
        model.learn_one({"a": float(i % 3), "c": 1.0}, f"l{i}")
    stop.set()
    for asker in askers:
        asker.join()
    sys.setswitchinterval(interval)
    assert problems == []


def test_extreme_parameters_can_be_saved(tmp_path):
    X, y = examples()
    model = SoftSVM(lam=1e-160).fit(X, y)
    model.save(tmp_path / "m")
    assert state_of(seriatim.load(tmp_path / "m")) == state_of(model)


def test_a_projection_does_nothing_in_a_round_without_an_update():
    """|w| is recomputed against rounding errors, but not in rounds without an update."""
    X, y = np.ones((50, 1)), np.ones(50)
    model = OGD(loss="hinge", radius=100, eta=2.0, fit_intercept=False).fit(X, y)
    assert model.updates_ == 1
    learner = model._learner
    learner.norm2 = 9e9  # a projection would change w or this number
    model.partial_fit(X, y)
    assert (learner.norm2, float(model.coef_[0, 0])) == (9e9, 2.0)


def test_the_intercept_of_a_learned_model_stays():
    model = PA().fit(*examples())
    with pytest.raises(ParameterError, match="cannot be changed"):
        model.set_params(fit_intercept=False)
    assert model.set_params(fit_intercept=True, C=2.0).C == 2.0


def test_r2_of_equal_targets():
    X = np.ones((5, 1))
    model = OGDRegressor().fit(X, np.ones(5))
    assert model.score(X, np.full(5, 3.0)) == 0.0
    assert model.score(X, model.predict(X)) == 1.0


def test_generated_streams_can_be_run():
    assert evaluate.progressive(PA(), generators.dense(100, 4, seed=1)).examples == 100


def test_a_forgotten_y_is_said_so():
    with pytest.raises(DataError, match="expected X and y"):
        evaluate.progressive(PA(), np.ones((3, 2)))


def test_a_class_of_ones_own_is_told_what_it_lacks():
    with pytest.raises(TypeError, match="no family and no paper"):

        class Mine(Classifier):
            def build(self):
                return None

    with pytest.raises(TypeError, match="__init__ is generated from the parameters"):

        class Other(Classifier):
            def __init__(self, depth):
                self.depth = depth


def test_a_score_takes_targets_as_fit_does():
    X, y = examples(200)
    model = PA().fit(X, y)
    with pytest.warns(UserWarning, match="column-vector"):
        assert model.score(X, y[:, None]) == model.score(X, y)
    for wrong in (None, "p", y[:5]):
        with pytest.raises(DataError):
            model.score(X, wrong)


def test_many_labels_one_after_another():
    """Each new label copies the arrays. Nothing else may grow with the number of labels."""
    model = PA()
    for i in range(300):
        model.learn_one({"x": 1.0, f"f{i}": 1.0}, f"l{(7 * i) % 300:03}")
    assert len(model.classes_) == 300 and model.classes_.tolist() == sorted(model.classes_.tolist())


def test_a_parameter_that_is_not_there_is_told_with_those_that_are():
    with pytest.raises(TypeError, match=r"PA: .*'c'; it takes .*C, variant"):
        PA(c=1)


def test_an_example_that_changes_while_it_is_read():
    class Number:
        def __float__(self):
            x.update({f"more{i}": 1.0 for i in range(1000)})
            return 1.0

    x = {"a": 1.0, "b": Number()}
    with pytest.raises(DataError, match="has changed while it was read"):
        PA().learn_one(x, 1)


# ---- sparse coef_


@pytest.mark.parametrize("labels", [2, 3])
def test_sparsify(labels, tmp_path):
    """After `sparsify` only the type of `coef_` differs."""
    X, y = examples(labels=labels, d=20)
    model, twin = FOBOS(lam=0.05).partial_fit(X, y), FOBOS(lam=0.05).partial_fit(X, y)
    with pytest.raises(NotFittedError):
        FOBOS().sparsify()
    assert model.sparsify() is model
    assert isspmatrix_csr(model.coef_)
    assert (model.coef_.toarray() == twin.coef_).all()
    assert model.coef_.nnz == model.n_nonzero_ == twin.n_nonzero_
    assert model.sparsity_ == twin.sparsity_
    assert (model.decision_function(X) == twin.decision_function(X)).all()
    model.partial_fit(X, y)
    twin.partial_fit(X, y)
    assert (model.coef_.toarray() == twin.coef_).all()
    run = evaluate.progressive(model, X, y)
    assert run.nonzeros == model.n_nonzero_
    assert isspmatrix_csr(pickle.loads(pickle.dumps(model)).coef_)
    model.save(tmp_path / "model")
    assert isinstance(seriatim.load(tmp_path / "model").coef_, np.ndarray)
    with pytest.raises(DataError):
        model.partial_fit(X * np.nan, y)
    assert isspmatrix_csr(model.coef_)
    assert isinstance(model.densify().coef_, np.ndarray)


def test_sparsify_of_other_kinds():
    X, _ = examples()
    for model in (OGDRegressor().partial_fit(X, X[:, 0]), OneClassPA().partial_fit(X)):
        dense = model.coef_
        assert model.sparsify().coef_.shape == (1, len(dense))
        assert (model.coef_.toarray()[0] == dense).all()
    with pytest.raises(AttributeError, match="no weights"):
        VotedPerceptron().partial_fit(X, [0, 1] * (len(X) // 2)).sparsify()

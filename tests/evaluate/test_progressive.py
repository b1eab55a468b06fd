"""Progressive validation counts what the model predicted before it learned, however the stream is divided."""

import numpy as np
import pytest

import seriatim
from seriatim import PA, AveragedPerceptron, Perceptron, SoftSVM, VotedPerceptron, evaluate
from seriatim.evaluate import progressive
from tests.test_contract import default, examples

ALGORITHMS = seriatim.algorithms()
CLASSIFIERS = {name: cls for name, cls in ALGORITHMS.items() if cls.task == "classification"}
every = pytest.mark.parametrize("cls", ALGORITHMS.values(), ids=list(ALGORITHMS))
classifiers = pytest.mark.parametrize("cls", CLASSIFIERS.values(), ids=list(CLASSIFIERS))


@every
@pytest.mark.parametrize("labels", [2, 4])
def test_runs_add_up(cls, labels):
    """A run that goes on with a model counts as the whole run would have: labels that are known stay known."""
    X, y = examples(cls, labels=labels)
    whole = progressive(default(cls), X, y)
    for size in (1, 30):
        model, loss, mistakes, updates = default(cls), 0.0, 0, 0
        for begin in range(0, len(y), size):
            run = progressive(model, X[begin : begin + size], y[begin : begin + size])
            loss, mistakes, updates = loss + run.loss, mistakes + (run.mistakes or 0), updates + run.updates
        assert mistakes == (whole.mistakes or 0)
        assert updates == whole.updates
        assert loss == pytest.approx(whole.loss, rel=1e-9)


@classifiers
@pytest.mark.parametrize("labels", [2, 4])
def test_mistakes_are_those_of_predict(cls, labels):
    """Asking the model before each example gives the same count; a label never seen cannot have been predicted."""
    X, y = examples(cls, labels=labels)
    classes = list(range(labels))
    run = progressive(default(cls, classes=classes), X, y)
    model, wrong = default(cls, classes=classes).partial_fit(X[:1], y[:1]), 0
    for x, label in zip(X[1:], y[1:], strict=True):
        wrong += model.predict(x[None, :])[0] != label
        model.partial_fit(x[None, :], [label])
    first = 1 if labels > 2 else int(y[0] == 0)  # with two labels declared, the score of 0 stands for the higher
    assert run.mistakes == wrong + first


@pytest.mark.parametrize("loss", seriatim.OGD.parameters["loss"].options)
def test_loss_is_finite_before_there_is_a_rival(loss):
    """The first label of a multiclass model has no rival, and so no margin, but the loss of a run is a number."""
    X, y = examples(seriatim.OGD, labels=3)
    run = progressive(seriatim.OGD(loss=loss, eta=0.01, classes=[0, 1, 2]), X, y)
    assert np.isfinite(run.loss)
    assert run.loss > 0


@every
def test_the_model_is_the_same_as_after_partial_fit(cls):
    X, y = examples(cls, labels=3)
    run = progressive(default(cls), X, y)
    assert run.examples == len(y)
    assert (run.model.predict(X) == default(cls).partial_fit(X, y).predict(X)).all()


def test_curve_ends_at_the_figures_of_the_run():
    X, y = examples(seriatim.PA, n=1500)
    seen = []
    run = progressive(seriatim.PA(), X, y, watch=lambda run: seen.append(run.examples))
    assert seen[-1] == 1500
    assert 256 <= len(run.curve) <= 512
    at, rate = run.curve[-1]
    again = progressive(seriatim.PA(), X[:at], y[:at])
    assert rate == again.mistake_rate


@pytest.mark.parametrize("names", [(2, 1), (0, 1), ("a", "b"), ("b", "a"), (5, "a"), (False, True)])
@pytest.mark.parametrize("cls", [PA, Perceptron, AveragedPerceptron, VotedPerceptron, SoftSVM])
def test_mistakes_do_not_depend_on_what_labels_are_called(cls, names):
    """They are those of a loop that asks, is told, and learns."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((40, 3))
    for y in ([0] * 5 + [1] * 3 + rng.integers(0, 2, 32).tolist(), [0] * 40, [0, 1] * 20):
        labels = np.array([names[k] for k in y], dtype=object)
        model, wrong = cls(), 0
        for x, label in zip(X, labels, strict=True):
            guess = model.predict(x[None, :])[0] if model.__sklearn_is_fitted__() else None
            wrong += guess is None or guess != label
            model.partial_fit(x[None, :], np.array([label], dtype=object))
        assert evaluate.progressive(cls(), X, labels).mistakes == wrong


def test_of_the_signs_the_positive_is_predicted_first():
    X = np.array([[1.0], [2.0]])
    assert evaluate.progressive(PA(), X, [1, 1]).mistakes == 0
    assert evaluate.progressive(PA(), X, [-1, -1]).mistakes == 1
    assert evaluate.progressive(PA(classes=[0, 1]), X, [1, 1]).mistakes == 0


def test_the_curve_ends_with_the_run():
    X, y = np.random.default_rng(0).standard_normal((1237, 3)), np.arange(1237) % 2
    run = evaluate.progressive(PA(), X, y)
    assert run.curve[-1] == (1237, run.mistake_rate)

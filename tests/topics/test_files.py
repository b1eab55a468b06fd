"""Topic models save and load; loading refuses states that no documents can produce."""

import numpy as np
import pytest

import seriatim
from seriatim import HDP, LDA
from seriatim.errors import ModelError
from tests.test_contract import assert_same_state


def documents(n=14, words=5):
    return np.random.default_rng(2).poisson(1.0, (n, words)).astype(float)


@pytest.mark.parametrize("make", [LDA, HDP])
def test_all_words_of_a_vocabulary_begin_at_once(make, tmp_path):
    """With n_features the model has all words, even if the columns or the document have fewer."""
    for n_features in (5, 9, 1 << 12):
        model = make(3, batch=6, n_features=n_features)
        model.partial_fit(documents())
        assert model.components_.shape == (3, n_features)
        model.save(tmp_path / "model")
        assert_same_state(seriatim.load(tmp_path / "model"), model)
        model = make(3, batch=6, n_features=n_features).learn_one({}).learn_one({"word": 2})
        assert len(model.transform_one({"word": 1})) == 3
        assert [len(words) for words in model.topics(n_features)] == [n_features] * 3


def test_parameters_that_round_to_nothing_are_loaded(tmp_path):
    """lambda = eta + (lambda - eta) is 0 where lambda is far below eta."""
    model = HDP(3, doc_topics=2, batch=5, eta=1e6, initial=1e-6).partial_fit(documents(3, 20_000))
    model.save(tmp_path / "model")
    assert_same_state(seriatim.load(tmp_path / "model"), model)


EDITS = [
    ("scale", 5e-324),
    ("left", 1.0),
    ("open", 2**40),
    ("closed", 2**40),
    ("t", 0),
    ("words", lambda w: w + 1),
    ("words", lambda w: w[:-1]),
    ("open_words", lambda w: w + 9),
    ("table", lambda x: x * 1e200),
    ("table", lambda x: -x - 1),
    ("sums", lambda x: 1.1 * x),
    ("mass", lambda x: 1.1 * x),
    ("open_sums", lambda x: -x),
]


@pytest.mark.parametrize(
    ("model", "edits"),
    [
        (LDA(3, batch=6), EDITS),
        (LDA(3, batch=6, n_features=5), EDITS),
        (HDP(3, doc_topics=2, batch=6), [*EDITS, ("used", lambda x: x + 1e200), ("order", lambda x: 0 * x)]),
    ],
)
def test_states_that_no_documents_lead_to(model, edits):
    model.partial_fit(documents())
    for name, value in edits:
        state = model.__getstate__()
        old = state["state"][name]
        state["state"][name] = value(old) if callable(value) else type(old)(value)
        with pytest.raises(ModelError):
            type(model).__new__(type(model)).__setstate__(state)
            pytest.fail(f"{name} was taken")

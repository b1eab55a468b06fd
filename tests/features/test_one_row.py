"""Single examples with `features`: `progress_one`, and the state after a failed call."""

from __future__ import annotations

import random
import signal
from contextlib import suppress

import numpy as np
import pytest

from seriatim import (
    FOGD,
    PA,
    Features,
    HalfSpaceTrees,
    Hedge,
    KernelPerceptron,
    OGDRegressor,
    PARegressor,
    Perceptron,
    load,
)
from seriatim.errors import DataError
from seriatim.evaluate import Restart
from tests.test_contract import assert_same_state

WORDS = [f"word{k}" for k in range(40)]
FEATURES = [
    None,
    {"text": ["t"]},
    {"text": ["t"], "ngram": 2, "cross": [("t", "a")]},
    {"normalize": "standard"},
    {"normalize": "max", "text": ["t"], "missing": "count"},
    {"normalize": "unit", "drop": ["b"]},
    {"bits": 6, "text": ["t"], "normalize": "standard"},
]
every = pytest.mark.parametrize("features", FEATURES, ids=str)


def examples(n: int = 120, labels: int = 3) -> list[tuple[dict, str]]:
    rng = random.Random(4)
    return [
        (
            {
                "a": rng.gauss(0, 1),
                "b": rng.choice([None, 1, 2.5]),
                "c": rng.choice("xyz"),
                "t": " ".join(rng.sample(WORDS, 4)),
            },
            "abc"[rng.randrange(labels)],
        )
        for _ in range(n)
    ]


def models(features):
    yield lambda: PA(features=features), 3
    yield lambda: Perceptron(average=True, features=features), 2
    yield lambda: KernelPerceptron(features=features), 3
    yield lambda: FOGD(n_components=20, features=features), 2
    yield lambda: Hedge([PA(), Perceptron()], features=features), 3


@every
def test_progress_is_predict_and_learn(features):
    for make, labels in models(features):
        together, apart = make(), make()
        for x, y in examples(labels=labels):
            before = apart.predict_one(x)
            apart.learn_one(x, y)
            assert together.progress_one(x, y) == before
        assert_same_state(together, apart)


@every
def test_progress_of_numbers_and_without_targets(features):
    for make in (
        lambda: OGDRegressor(features=features),
        lambda: HalfSpaceTrees(trees=5, depth=4, n_features=3000, features=features),
        lambda: Hedge([OGDRegressor(), PARegressor()], features=features),
    ):
        together, apart = make(), make()
        for k, (x, _) in enumerate(examples()):
            before = apart.predict_one(x)
            apart.learn_one(x, k % 7 + 0.5)
            assert together.progress_one(x, k % 7 + 0.5) == before
        assert_same_state(together, apart)


class Interrupting:
    """A number that raises KeyboardInterrupt when it is read for the n-th time."""

    def __init__(self, n: int) -> None:
        self.left = n

    def __float__(self) -> float:
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt
        return 1.0


@every
@pytest.mark.parametrize("label", ["a", "new"])
def test_an_interrupt_within_a_value_changes_nothing(features, label):
    model, other = PA(features=features), PA(features=features)
    for x, y in examples(50):
        model.learn_one(x, y)
        other.learn_one(x, y)
    for call in (model.learn_one, model.progress_one):
        for wrong, error in ((Interrupting(1), KeyboardInterrupt), (float("inf"), DataError), (object(), DataError)):
            with pytest.raises(error):
                call({"a": 5.0, "new": 1.0, "t": "new words", "z": wrong}, label)
            assert_same_state(model, other)
    assert model.learn_one({"z": Interrupting(2)}, label) is model  # an example is read once
    for x, y in examples(50):
        assert model.progress_one(x, y) is not None


@every
def test_a_loaded_model_resumes_to_the_bit(features, tmp_path):
    """The names that an encoder caches are not part of the state."""
    model = PA(features=None if features is None else Features(**features))
    for k, (x, y) in enumerate(examples()):
        other = None
        if k % 10 == 0 and k:
            model.save(tmp_path / "m")
            other = load(tmp_path / "m")
            assert other.score_one({**x, "unknown": 2.0}) == model.score_one({**x, "unknown": 2.0})
        model.learn_one(x, y)
        if other is not None:
            assert_same_state(other.learn_one(x, y), model)


def test_names_that_are_only_predicted_are_forgotten():
    model = PA(features={"text": ["t"]}).learn_one({"t": "known"}, "x").learn_one({"t": "other"}, "y")
    before = model.score_one({"t": "known"})
    for k in range(3_000):
        model.predict_one({"t": " ".join(f"{k}x{j}" for j in range(50))})
    assert model.score_one({"t": "known"}) == before and model.n_features_in_ == 2


def test_a_name_in_two_ways_is_one_feature():
    model = PA(features={"missing": "count"})
    model.learn_one({"a=x": 1.0, "b": 1.0}, "p").learn_one({"b": -1.0}, "q")
    for x in ({"a=x": 1.0, "a": "x"}, {"a": "x", "a=x": 1.0}):
        assert model.score_one(x) == model.score_one({"a=x": 2.0})
    assert model.learn_one({"a?": 2.0, "a": None}, "p").score_one({"a?": 2.0, "a": None}) == model.score_one(
        {"a?": 3.0}
    )


def test_strings_of_other_classes_are_strings():
    model, other = PA(features={"text": ["t"]}), PA(features={"text": ["t"]})
    for k, (x, y) in enumerate(examples(20)):
        bag = ["p", "q"][: k % 3]
        model.learn_one({**x, "bag": bag}, y)
        strings = {name: np.str_(value) if isinstance(value, str) else value for name, value in x.items()}
        other.learn_one({**strings, "bag": [np.str_(word) for word in bag]}, y)
    assert_same_state(model, other)


class Calling:
    """A number that calls something when it is read."""

    def __init__(self, call) -> None:
        self.call = call

    def __float__(self) -> float:
        self.refused = False
        try:
            self.call()
        except DataError:
            self.refused = True
        return 1.0


@pytest.mark.parametrize("act", ["learn_one", "progress_one", "predict_one"])
@pytest.mark.parametrize("n", [0, 1, 2, 30])
def test_a_value_cannot_change_the_model_that_reads_it(act, n):
    """A new label in between makes two classes three, and other names move the row."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({f"c{k}": [1.0, 2.0, 3.0] for k in range(50)})
    many = {f"n{k}": 1.0 for k in range(3000)}
    for labels in (2, 3):
        for call in (
            lambda model: model.partial_fit(frame, ["u", "v", "w"]),
            lambda model: model.fit(frame, ["u", "v", "w"]),
            lambda model: model.learn_one(many, "new"),
            lambda model: model.progress_one(many, "new"),
            lambda model: model.predict_one(many),
        ):
            model, other = PA(), PA()
            for x, y in examples(n, labels):
                model.learn_one(x, y)
                other.learn_one(x, y)
            value = Calling(lambda call=call, model=model: call(model))
            target = () if act == "predict_one" else ("a",)
            got = getattr(model, act)({"a": 2.0, "z": value}, *target)
            assert got is model or got == getattr(other, act)({"a": 2.0, "z": 1.0}, *target)
            if got is model:
                other.learn_one({"a": 2.0, "z": 1.0}, "a")
            assert_same_state(model, other)


def test_a_kernel_cannot_move_the_row_that_is_learned():
    waiting = []

    def kernel(x, z):
        if waiting:
            with suppress(DataError):
                waiting.pop().predict_one({f"n{k}": 1.0 for k in range(30_000)})
        return float(x[: len(z)] @ z[: len(x)])

    model = KernelPerceptron(kernel=kernel)
    for k in range(6):
        model.learn_one({"a": k % 3 - 1.0, "b": k % 2}, "xy"[k % 2])
    waiting.append(model)
    model.learn_one({"a": -3.0, "b": 2.0}, "x")
    assert model.support_vectors_.toarray()[-1].tolist() == [-3.0, 2.0] and not waiting


def test_an_interrupt_within_a_text_changes_nothing():
    model, other = (PA(features={"text": ["t"], "token": "(?:é+)+x"}) for _ in range(2))
    for x, y in examples(10):
        model.learn_one(x, y)
        other.learn_one(x, y)
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        for call in (model.learn_one, model.progress_one):
            signal.setitimer(signal.ITIMER_REAL, 0.05)
            with pytest.raises(KeyboardInterrupt):
                call({"a": 1.0, "new": 1.0, "t": "é" * 60}, "a")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert_same_state(model, other)


def test_progress_with_a_kernel_that_fails_changes_no_expert():
    left = [10**9]

    def kernel(x, z):
        left[0] -= 1
        if left[0] == 0:
            raise ValueError("no kernel today")
        return float(x[: len(z)] @ z[: len(x)])

    def made():
        model = Hedge([PA(), KernelPerceptron(kernel=kernel)])
        for k in range(8):
            model.learn_one({"a": k % 3 - 1.0, "b": k % 2}, "xy"[k % 2])
        return model

    for n in range(1, 6):
        model, other = made(), made()
        left[0] = n
        with pytest.raises(DataError, match="no kernel today"):
            model.progress_one({"a": 0.5, "b": -0.5}, "x")
        left[0] = 10**9
        assert_same_state(model, other)


@every
def test_a_refused_example_leaves_a_successor_its_names_and_labels(features):
    model = PA(features=features)
    for x, y in examples(30):
        model.learn_one(x, y)
    successor, other = model.successor(), model.successor()
    with pytest.raises(DataError):
        successor.learn_one({"a": float("inf")}, "a")
    assert_same_state(successor, other)
    watched = Restart(successor)
    with pytest.raises(DataError):
        watched.learn_one({"a": float("inf")}, "a")
    assert_same_state(watched.model, other)


@every
def test_the_first_example_may_be_empty(features):
    """Under `make asan` a copy from or to no memory ends the process."""
    model = PA(features=features).learn_one({}, "a").learn_one({}, "b")
    before = model.predict_one({})
    assert model.progress_one({}, "a") == before

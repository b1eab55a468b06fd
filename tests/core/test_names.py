"""Columns of names. Encoders cache keys by object identity; only the text of a key may count."""

import random
import sys
import tracemalloc

import numpy as np

from seriatim import PA


def rows(names, count, size, seed):
    rng = random.Random(seed)
    return [({name: rng.gauss(0, 1) for name in rng.sample(names, size)}, rng.random() < 0.5) for _ in range(count)]


def renewed(x):
    """A copy of a dict whose keys are new objects."""
    return {"".join([*name]): value for name, value in x.items()}


def test_keys_that_are_other_objects_have_the_same_columns():
    names = [f"feature {k}" for k in range(3_000)]  # more than the initial room
    same, other = PA(), PA()
    for x, y in rows(names, 2_000, 20, seed=1):
        assert same.predict_one(x) == other.predict_one(renewed(x))
        same.learn_one(x, y)
        other.learn_one(renewed(x), y)
    assert same.feature_names_in_.tolist() == other.feature_names_in_.tolist()
    np.testing.assert_array_equal(same.coef_, other.coef_)


class Name(str):
    """A string whose __eq__ says that it equals "a"."""

    __slots__ = ()

    def __hash__(self):
        return hash("a")

    def __eq__(self, other):
        return other == "a"


def test_a_key_with_an_equality_of_its_own():
    """The text counts, as in a file."""
    model = PA().learn_one({"a": 1.0}, True).learn_one({"b": 1.0}, False)
    for _ in range(3):
        assert model.score_one({Name("b"): 1.0}) == model.score_one({"b": 1.0}) != model.score_one({"a": 1.0})
        assert model.score_one({Name("zzz"): 1.0}) == model.score_one({"zzz": 1.0})


def test_keys_are_let_go_with_the_model():
    name = "".join(["a name", " of one's own"])
    before = sys.getrefcount(name)
    model = PA().learn_one({name: 1.0}, True)
    model.predict_one({name: 2.0})
    assert sys.getrefcount(name) > before
    del model
    assert sys.getrefcount(name) == before


def test_what_is_remembered_has_a_bound():
    model = PA()
    for k in range(200_000):
        model.learn_one({f"name {k % 10}": 1.0}, k % 2 == 0)  # a new object each time
    tracemalloc.start()
    for k in range(200_000):
        model.learn_one({f"name {k % 10}": 1.0}, k % 2 == 0)
    grown, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert grown < 100_000

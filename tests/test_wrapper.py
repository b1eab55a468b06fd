"""Models around models are saved, loaded, copied and cloned like any other model."""

import copy
import json
import pickle
import re
from contextlib import suppress
from itertools import pairwise

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save as pack
from sklearn.base import clone

import seriatim
from seriatim import AROW, PA, RBP, Hedge, NORMANovelty, OneClassPA, PARegressor, Perceptron
from seriatim.errors import ModelError, ParameterError
from seriatim.evaluate import ADWIN, DDM, KSWIN, Blend, PageHinkley, Restart, Threshold
from tests.test_modelfile import bits, returned

QUICK = ADWIN(delta=0.2)
MAKE = {
    "restart": lambda: Restart(PA(), QUICK),
    "restart, three labels": lambda: Restart(Perceptron(), DDM(least=5)),
    "restart, numbers": lambda: Restart(PARegressor(), PageHinkley(threshold=2.0)),
    "restart, kernel": lambda: Restart(RBP(sigma="median"), QUICK),
    "restart, experts": lambda: Restart(Hedge([PA(), AROW()]), QUICK),
    "blend": lambda: Blend(AROW(), QUICK, 0.3),
    "blend, numbers": lambda: Blend(PARegressor(C=0.1), KSWIN(alpha=0.05, n=40, r=10), least=0.001),
    "threshold": lambda: Threshold(OneClassPA(epsilon=1.0), 0.1, 50),
    "threshold, kernel": lambda: Threshold(NORMANovelty(), window=20),
}
wrappers = pytest.mark.parametrize("make", MAKE.values(), ids=list(MAKE))
N = 900


def stream(model):
    """Rows and targets with two changes of concept."""
    X = np.random.default_rng(5).standard_normal((N, 4))
    turn = np.where((np.arange(N) // 300) % 2, -1.0, 1.0)
    y = turn * X[:, 0]
    if model.task == "regression":
        return X, y
    return X, (y * 2).astype(int).clip(-1, 1) if isinstance(getattr(model, "model", None), Perceptron) else y > 0


def learn(model, X, y, begin, end):
    return model.partial_fit(X[begin:end], y[begin:end])


@wrappers
def test_a_loaded_wrapper_resumes_bit_for_bit(make, tmp_path):
    """A wrapper saved before the first row, soon after a change, or later continues like the original."""
    model = make()
    X, y = stream(model)
    ends = [0, 40, 300, 335, 480, N]
    for begin, end in pairwise(ends):
        for same in (returned(model, tmp_path), copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
            assert bits(same) == bits(model)
            assert repr(same) == repr(model)
            expected = learn(copy.deepcopy(model), X, y, begin, end)
            assert bits(learn(same, X, y, begin, end)) == bits(expected)
        learn(model, X, y, begin, end)
        assert np.array_equal(returned(model, tmp_path).predict(X), model.predict(X))
    assert bits(learn(make(), X, y, 0, N)) != bits(make())
    assert model.nbytes > 0


@wrappers
def test_clones_and_untrained_copies(make):
    model = make()
    X, y = stream(model)
    model.partial_fit(X, y)
    for new in (clone(model), model.fresh()):
        assert repr(new) == repr(make())
        assert not new.__sklearn_is_fitted__()
        assert bits(new.partial_fit(X, y)) == bits(make().partial_fit(X, y))
    assert bits(model.fit(X, y)) == bits(make().partial_fit(X, y))
    assert bits(model.restored(model.snapshot())) == bits(model)


@wrappers
def test_one_by_one(make, tmp_path):
    model = make()
    X, y = stream(model)
    if "sigma" in repr(model):
        return  # the width comes from a block of rows
    for x, label in zip(X[:400], y[:400], strict=True):
        model.learn_one(dict(zip("abcd", x.tolist(), strict=True)), label.item())
    same = returned(model, tmp_path)
    assert bits(same) == bits(model)
    assert same.feature_names_in_.tolist() == [*"abcd"]
    example = {"a": 1.0, "new": -2.0}
    assert same.predict_one(example) == model.predict_one(example)


def test_parameters_are_set_as_of_any_model():
    for make in MAKE.values():
        model = make()
        assert model.set_params(**model.get_params(deep=False)) is model
        with pytest.raises(ParameterError, match="has no parameter 'nothing'"):
            model.set_params(nothing=1)
    model = Threshold(OneClassPA(), share=0.1).set_params(window=30, detector__C=0.5)
    assert (model.window, model.detector.C) == (30, 0.5)
    with pytest.raises(ParameterError, match="window=5"):
        model.set_params(window=5)
    X = np.random.default_rng(0).standard_normal((100, 2))
    model.partial_fit(X)
    assert len(model.set_params(window=12).numbers()["recent"]) == 12
    with pytest.raises(TypeError, match="detector"):
        Threshold()


@pytest.mark.parametrize("stop", range(1, 9))
@pytest.mark.parametrize("wrapper", [Restart, Blend])
def test_an_interrupted_block_leaves_whole_rows(wrapper, stop, monkeypatch):
    """After Ctrl-C in the n-th block of the inner model, the wrapper has learned whole rows."""
    X, y = stream(PA())
    model, left, learn_rows = wrapper(PA(), QUICK), [stop], PA.learn_rows

    def interrupted(*args):
        left[0] -= 1
        learn_rows(*args)
        if not left[0]:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(PA, "learn_rows", interrupted)
        with suppress(KeyboardInterrupt):
            model.partial_fit(X, y)
    done = model.t_ if model.__sklearn_is_fitted__() else 0
    if done:
        assert bits(model) == bits(wrapper(PA(), QUICK).partial_fit(X[:done], y[:done]))
    if done < N:
        model.partial_fit(X[done:], y[done:])
    assert bits(model) == bits(wrapper(PA(), QUICK).partial_fit(X, y))


# ---- damaged files


def content(path):
    with safe_open(path, framework="numpy") as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118, not a dict
        return tensors, json.loads(file.metadata()["seriatim"])


def broken(manifest, tensors):
    """Changes of the manifest or the arrays that make a file invalid."""
    yield from ((f"without {key}", lambda key=key: manifest.pop(key)) for key in list(manifest) if key != "models")
    for key, value in manifest["numbers"].items():
        yield f"{key} as text", lambda key=key, value=value: manifest["numbers"].__setitem__(key, str(value))
        yield f"no {key}", lambda key=key: manifest["numbers"].pop(key)
        if type(value) is int:
            yield f"{key} below 0", lambda key=key: manifest["numbers"].__setitem__(key, -1)
    for name in tensors:
        if name.startswith("models."):
            continue
        yield f"no {name}", lambda name=name: tensors.pop(name)
        yield f"{name} flat", lambda name=name: tensors.__setitem__(name, np.zeros((2, 2, 2)))
    yield "no models", lambda: manifest["models"].clear()
    yield "three models", lambda: manifest["models"].extend(manifest["models"] * 2)
    yield "a wrapper of itself", lambda: manifest["models"].__setitem__(0, copy.deepcopy(manifest))
    yield "another class", lambda: manifest.__setitem__("class", "PA")
    yield "an unknown class", lambda: manifest.__setitem__("class", "os.system")
    yield "no class name", lambda: manifest.__setitem__("class", ["Restart"])
    yield "more parameters", lambda: manifest["parameters"].__setitem__("model", 1)
    yield "another detector", lambda: manifest["parameters"].update(detector={"class": "int", "parameters": {}})


@pytest.mark.parametrize("name", ["restart", "blend", "blend, numbers", "threshold"])
def test_damaged_files_are_refused(name, tmp_path):
    model = MAKE[name]()
    X, y = stream(model)
    learn(model, X, y, 0, 330)
    path = tmp_path / "model"
    model.save(path)
    count = len([*broken(*reversed(content(path)))])
    for k in range(count):
        tensors, manifest = content(path)
        what, spoil = [*broken(manifest, tensors)][k]
        spoil()
        (tmp_path / "bad").write_bytes(pack(tensors, metadata={"seriatim": json.dumps(manifest)}))
        with pytest.raises(ModelError, match=re.escape(str(tmp_path))):
            pytest.fail(f"{what}: {seriatim.load(tmp_path / 'bad')!r} was loaded")


@pytest.mark.parametrize(
    "detector",
    [ADWIN(), DDM(least=2), PageHinkley(direction="both"), KSWIN(n=20, r=5)],
    ids=lambda one: type(one).__name__,
)
def test_numbers_of_a_detector_that_none_has(detector, tmp_path):
    """For any numbers in a file, the wrapper is refused or can continue to learn."""
    model = Restart(PA(), detector)
    X, y = stream(model)
    learn(model, X, y, 0, 60)
    path = tmp_path / "model"
    model.save(path)
    rng = np.random.default_rng(0)
    for _ in range(150):
        tensors, manifest = content(path)
        names = [key for key in (*manifest["numbers"], *tensors) if key.startswith("watch.")]
        for key in rng.choice(names, size=2):
            if key in tensors:
                array = tensors[key] = tensors[key].copy()
                if array.size:
                    array.flat[rng.integers(array.size)] = rng.choice([0, 1, -1, 7, 1 << 40])
            else:
                value = manifest["numbers"][key]
                manifest["numbers"][key] = type(value)(rng.choice([0, 1, 2, 59, 61, 1 << 40]))
        (tmp_path / "bad").write_bytes(pack(tensors, metadata={"seriatim": json.dumps(manifest)}))
        try:
            loaded = seriatim.load(tmp_path / "bad")
        except ModelError:
            continue
        learn(loaded, X, y, 60, 300)

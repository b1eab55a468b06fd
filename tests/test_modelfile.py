"""Model files: models are restored bit for bit, and damaged files are refused with an error that names the damage."""

from __future__ import annotations

import json
import os
import re
import resource
import struct
import threading
from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas
import pytest
from safetensors import safe_open
from safetensors.numpy import save as pack
from scipy.sparse import csr_matrix

import seriatim
from seriatim import (
    PA,
    RBP,
    SOFS,
    BayesianSparse,
    GroupRDA,
    OGDRegressor,
    Perceptron,
    SoftSVM,
    TruncatedGradient,
    VotedPerceptron,
    modelfile,
)
from seriatim.errors import ModelError, SeriatimError
from tests import fuzz_models
from tests.cases import looped
from tests.learners import of_rows
from tests.test_contract import answer_one, answers, default, most_labels, same

ALGORITHMS = of_rows()
CLASSIFIERS = [name for name, cls in ALGORITHMS.items() if cls.task == "classification"]
SOURCE = Path(seriatim.__file__).parent


def rows(seed: int = 0, n: int = 60, columns: int = 5) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((n, columns))


def targets(cls: type, X: np.ndarray, labels: int = 3) -> np.ndarray:
    labels = min(labels, most_labels(cls))
    return X[:, 0] if cls.task == "regression" else (np.abs(X[:, 0] * 7) % labels).astype(int)


def bits(model: object) -> object:
    """The whole state of a model, with arrays as bytes and the types of numbers."""

    def plain(value: object) -> object:
        if isinstance(value, np.ndarray):
            return value.dtype.str, value.shape, value.tobytes()
        if isinstance(value, dict):
            return [(plain(k), plain(v)) for k, v in value.items()]
        return [plain(item) for item in value] if isinstance(value, list | tuple) else repr(value)

    return type(model), plain(model.__getstate__())


def returned(model: object, tmp_path: Path) -> object:
    path = tmp_path / "model"
    model.save(path)
    return seriatim.load(path)


# ---- save and load


@pytest.mark.parametrize("name", ALGORITHMS)
@looped("labels", [1, 2, 3])
def test_every_algorithm_goes_on_bit_for_bit(tmp_path, name, labels):
    cls = ALGORITHMS[name]
    X = np.abs(rows()) if cls.nonnegative else rows()
    y = targets(cls, X, labels)
    model = default(cls).partial_fit(X, y)
    copy = returned(model, tmp_path)
    assert bits(copy) == bits(model)
    assert np.array_equal(answers(copy, X), answers(model, X))
    more = rows(seed=1, columns=8)
    more = np.abs(more) if cls.nonnegative else more
    y = targets(cls, more)
    assert bits(copy.partial_fit(more, y)) == bits(model.partial_fit(more, y))


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_algorithm_goes_on_with_its_names(tmp_path, name):
    cls = ALGORITHMS[name]
    model = default(cls)
    for x in rows(n=20, columns=3).tolist():
        target = round(2 * x[2]) if most_labels(cls) > 2 else int(x[2] > 0)
        model.learn_one({"a": abs(x[0]), "colour": "red" if x[1] > 0 else "blue", "words": ["x", "y"]}, target)
    copy = returned(model, tmp_path)
    assert bits(copy) == bits(model)
    example = {"new": 1.0, "words": ["y", "z"], "a": 2}
    assert np.array_equal(answer_one(copy, example), answer_one(model, example))
    assert bits(copy.learn_one(example, 1)) == bits(model.learn_one(example, 1))


@pytest.mark.parametrize("name", ALGORITHMS)
def test_a_model_that_has_learned_nothing(tmp_path, name):
    model = default(ALGORITHMS[name], fit_intercept=False)
    copy = returned(model, tmp_path)
    assert bits(copy) == bits(model)
    assert same(copy.get_params(), model.get_params())


@pytest.mark.parametrize(
    "labels",
    [[False, True], [0, 1], [-1, 1], [3, 70], [-(2**70), 2**70], ["", "x"], ["a", "ü", "a\nb"], [1, "1"],
     [0, "a", 5, "b"], ["\U0001f600", "\x00"], list(range(12))],
    ids=repr,
)  # fmt: skip
def test_labels_of_every_type(tmp_path, labels):
    X = rows(columns=3)
    y = np.empty(len(X), dtype=object)
    y[:] = [labels[i % len(labels)] for i in range(len(X))]
    for cls in (PA, VotedPerceptron):
        model = cls().partial_fit(X, y)
        copy = returned(model, tmp_path)
        assert bits(copy) == bits(model)
        assert [type(label) for label in copy.classes_.tolist()] == [type(label) for label in model.classes_.tolist()]
        assert copy.predict(X).tolist() == model.predict(X).tolist()


@pytest.mark.parametrize(
    "classes", [[0, 1, 2], ["a", "b"], (3, 1, 2), np.array([2, 1, 0]), np.array(["x", "y", "z"])], ids=str
)
def test_labels_that_were_declared(tmp_path, classes):
    model = PA(classes=classes).partial_fit(rows(columns=3)[:9], [np.asarray(classes).tolist()[0]] * 9)
    copy = returned(model, tmp_path)
    assert np.asarray(copy.classes).tolist() == np.asarray(classes).tolist()
    assert bits(copy)[1][1:] == bits(model)[1][1:]


@pytest.mark.parametrize("eta", [1, 0.5, np.float64(0.1), np.float32(0.1), np.int64(2)], ids=repr)
def test_parameters_of_every_type_of_number(tmp_path, eta):
    assert returned(Perceptron(eta=eta).partial_fit(rows(), [0, 1] * 30), tmp_path).eta == eta


def test_costs_come_back_as_they_were(tmp_path):
    for rho in (None, {}, {("ham", "spam"): 5.0, ("spam", "ham"): 0.5}):
        model = seriatim.CSPA(rho=rho).partial_fit(rows(), np.array(["ham", "spam"] * 30))
        assert bits(returned(model, tmp_path)) == bits(model)


def test_feature_names(tmp_path):
    names = ["", "ü", "a\nb", "a b", '"', "\\", "\x00", "语", "x" * 10_000, "\U0001f600"]
    model = PA()
    for i in range(20):
        model.learn_one({name: float((i + k) % 3) for k, name in enumerate(names)}, i % 2)
    copy = returned(model, tmp_path)
    assert copy.feature_names_in_.tolist() == names
    assert bits(copy) == bits(model)


def test_extreme_numbers(tmp_path):
    X = np.array([[1e50, 0], [-0.0, 5e-324], [1e-300, -1e49]])
    model = OGDRegressor(eta=1e-100, schedule="constant").partial_fit(X, [1.0, -1e50, 1e-308])
    assert bits(returned(model, tmp_path)) == bits(model)


def test_names_that_were_told_before_their_features_came(tmp_path):
    """A stream with feature names may end before the last name occurs, and a dict may then be the first to use it."""
    names = [f"f{j}" for j in range(3000)]
    model = Perceptron(fit_intercept=False)
    frame = pandas.DataFrame(np.zeros((2, 3000)), columns=names)
    frame["f1"] = [1.0, -1.0]
    model.partial_fit(frame, [1, -1])
    # The columns of a dict stand in its own order: here the unknown ones first.
    unknown = dict.fromkeys(reversed(names[2:]), 1e40) | {"f0": 1.0}
    for one in (model, returned(model, tmp_path)):
        assert one.score_one(unknown) == 0
        assert one.score_one(unknown | {"f1": 1.0}) == one.coef_[0][1]
        one.learn_one({"f2999": 1.0, "f0": 1.0}, 1)


# ---- zeros


def test_zeros_take_no_room(tmp_path):
    """A model with 10 nonzero weights of 100,000 is restored bit for bit and continues to learn."""
    X = csr_matrix((rows(columns=10).ravel(), np.tile(np.arange(10) * 10_000, 60), np.arange(61) * 10), (60, 100_000))
    for cls, y in ((PA, [0, 1] * 30), (PA, [0, 1, 2] * 20), (OGDRegressor, X[:, 0].toarray().ravel())):
        model = cls().partial_fit(X, y)
        copy = returned(model, tmp_path)
        assert (tmp_path / "model").stat().st_size < 4000
        assert bits(copy) == bits(model)
        assert bits(copy.partial_fit(X, y)) == bits(model.partial_fit(X, y))


@pytest.mark.parametrize("case", ["1024 and few", "1024 and many", "1023", "all", "the last", "signed", "columns"])
def test_what_is_mostly_zeros(case):
    array = np.zeros(1023 if case == "1023" else 1024)
    array[{"1024 and many": slice(257), "the last": slice(1023, None), "all": slice(0)}.get(case, slice(3))] = 1.5
    if case == "signed":
        array[700] = -0.0
    array = array.reshape(256, 4)[:, ::2] if case == "columns" else array
    array = np.vstack([array, np.zeros((256, 2))]) if case == "columns" else array
    stored, shapes = modelfile.thinned({"w": array, "n": np.zeros(2000, dtype=np.int64)})
    assert set(stored) == ({"w", "n"} if case in ("1024 and many", "1023") else {"w.index", "w.value", "n"})
    again = {**stored, **modelfile.restored(shapes, stored)}["w"]
    assert (again.shape, again.tobytes()) == (array.shape, array.tobytes())


def test_files_of_before(tmp_path):
    """Older files store all zeros and do not mention sparse arrays."""
    path = tmp_path / "model"
    model = mostly_zeros()
    model.save(path)
    manifest, tensors = parts(path)
    assert manifest.pop("sparse") == {"w": [701, 3]}
    tensors = {"w": model.__getstate__()["state"]["w"]}
    assert bits(seriatim.load(write(path, manifest, tensors))) == bits(model)


# ---- saving


def test_saving_is_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "model"
    model = PA().partial_fit(rows(), [0, 1] * 30)
    model.save(path)
    before = path.read_bytes()

    def fail(*arguments, **options):
        raise OSError("no space left")

    for target, name in ((modelfile.os, "fsync"), (modelfile.Path, "replace"), (modelfile.Path, "chmod")):
        with monkeypatch.context() as patch:
            patch.setattr(target, name, fail)
            with pytest.raises(OSError, match="no space left"):
                PA(C=2).save(path)
        assert path.read_bytes() == before
        assert list(tmp_path.iterdir()) == [path]
    with monkeypatch.context() as patch:
        patch.setattr("safetensors.numpy.save_file", fail)
        with pytest.raises(OSError, match="no space left"):
            PA(C=2).save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("name", ["PA", "PMF", "UCRP", "OASIS", "Hedge"])
def test_what_could_not_be_loaded_again_does_not_replace_what_can(tmp_path, monkeypatch, name):
    cls = seriatim.algorithms()[name]
    model = next(iter(fuzz_models.models(cls, default_of(name), False, 0)))
    path = tmp_path / "model"
    model.save(path)
    before = path.read_bytes()
    state = model.__getstate__()
    monkeypatch.setattr(cls, "__getstate__", lambda self: {**state, "state": {**state["state"], "t": -1}})
    with pytest.raises(ModelError, match="not saved"):
        model.save(path)
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["model"]
    monkeypatch.undo()
    assert bits(seriatim.load(path)) == bits(model)


def default_of(name):
    return next(chosen[0] for one, _, chosen in fuzz_models.settings() if one == name)


def wide(cls, columns, **parameters):
    """A model with many columns, of which few were ever nonzero."""
    index = np.linspace(0, columns - 1, 300).astype(int)
    X = csr_matrix((np.ones(300), index, np.arange(0, 301, 10)), shape=(30, columns))
    return cls(**parameters).partial_fit(X, np.arange(30) % 2)


def test_a_file_is_as_small_as_its_memory_allows(tmp_path):
    """A wide model of few numbers has a small file, and one that takes more memory a larger one."""
    path = tmp_path / "model"
    for cls, columns in ((PA, 2**21), (seriatim.FTRL, 2**19), (seriatim.RDA, 2**20), (seriatim.KernelPA, 2**19)):
        wide(cls, columns).save(path)
        assert path.stat().st_size < 100_000, cls
        assert seriatim.load(path).n_features_in_ == columns
    wide(PA, 2**22).save(path)
    assert 100_000 < path.stat().st_size < 3_000_000
    assert seriatim.load(path).n_features_in_ == 2**22
    manifest, tensors = parts(path)
    assert not tensors.pop("room").any()
    assert "MB of memory" in refused(write(path, manifest, tensors))


@pytest.mark.parametrize("scale", [1e50, 1e-160, None], ids=str)
def test_what_values_of_any_size_leave_can_be_saved(tmp_path, scale):
    """The checks of a file accept every saved model, in spite of rounding and overflow."""
    for _, cls, chosen in fuzz_models.settings():
        if not hasattr(cls, "learn_rows"):
            continue
        rng = np.random.default_rng(0)
        X = rows(n=16) * (10.0 ** rng.integers(-60, 50, (16, 5)) if scale is None else scale)
        X = np.abs(X) if cls.nonnegative else X
        model = cls(**chosen[0])
        y = X[:, 0] if model.task == "regression" else np.arange(16) % min(3, most_labels(cls))
        with suppress(SeriatimError):  # a method may refuse such rows
            model.partial_fit(np.clip(X, -1e50, 1e50), np.clip(y, -1e50, 1e50))
        try:
            model.save(tmp_path / "model")
        except ModelError as error:
            assert "diverged" in str(error), (cls, error)


def test_zeros_by_the_gigabyte_are_refused(tmp_path):
    mostly_zeros().save(tmp_path / "model")
    manifest, tensors = parts(tmp_path / "model")
    manifest["sparse"]["w"], manifest["columns"] = [2**23, 3], 2**23 - 1
    assert "32 MB" in refused(write(tmp_path / "model", manifest, tensors))


def test_a_saved_file_may_be_read_by_those_whom_the_mask_allows(tmp_path):
    import os

    path = tmp_path / "model"
    before = os.umask(0o027)
    try:
        PA().save(path)
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o640


def test_saving_into_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(OSError, match="absent"):
        PA().save(tmp_path / "absent" / "model")


def test_nothing_is_ever_unpickled():
    """Loading a file must not be able to run code."""
    forbidden = re.compile(
        r"\b(c?pickle|dill|joblib|marshal|shelve|eval|exec)\b *[(.]|import +(pickle|dill|joblib|marshal|shelve)"
        r"|allow_pickle *= *True"
    )
    for path in [*SOURCE.rglob("*.py"), *SOURCE.rglob("*.pyx")]:
        assert not forbidden.search(path.read_text()), path


# ---- damage


def parts(path: Path) -> tuple[dict, dict]:
    """(manifest, tensors) of a file."""
    with safe_open(path, framework="numpy") as file:
        return json.loads(file.metadata()["seriatim"]), {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118


def write(path: Path, manifest: object, tensors: dict) -> Path:
    path.write_bytes(pack(tensors, metadata={"seriatim": json.dumps(manifest)}))
    return path


def refused(path: Path) -> str:
    with pytest.raises(ModelError) as caught:
        seriatim.load(path)
    assert isinstance(caught.value, SeriatimError) and isinstance(caught.value, ValueError)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert len(message) > len(f"{path}: ")
    return message


def lazily(cls, **parameters):
    """A model whose file has the numbers of its records."""

    def learned():
        return cls(**parameters).partial_fit(rows(), np.array(["ham", "spam"] * 30))

    return learned


def far(places):
    """Numbers that do not ascend, although their 64-bit differences are all above 0."""
    return np.concatenate([places[:1], [2**62, -(2**62) - 2], places[3:]])


def binary() -> PA:
    return PA().partial_fit(rows(), np.array(["ham", "spam"] * 30))


def multiclass() -> PA:
    return PA().partial_fit(rows(), np.arange(60) % 3)


def named() -> PA:
    return PA().learn_one({"a": 1.0, "b": 2.0}, 1).learn_one({"b": 1.0, "c": 2.0}, 0)


def voted() -> VotedPerceptron:
    return VotedPerceptron().partial_fit(rows(), np.arange(60) % 3)


def averaged() -> SoftSVM:
    return SoftSVM().partial_fit(rows(), [0, 1] * 30)


def budgeted() -> RBP:
    return RBP(budget=5).partial_fit(rows(), [0, 1] * 30)


def selected() -> SOFS:
    return SOFS(2).partial_fit(rows(), [0, 1] * 30)


def committee():
    return seriatim.Hedge([PA(), Perceptron()]).partial_fit(rows(), np.array(["ham", "spam"] * 30))


def scaled() -> PA:
    return PA(features={"normalize": "standard"}).partial_fit(rows(), np.array(["ham", "spam"] * 30))


def mostly_zeros() -> PA:
    X = np.zeros((60, 700))
    X[:, [2, 400, 699]] = rows(columns=3)
    return PA().partial_fit(X, np.arange(60) % 3)


def put(*keys):
    """A change of the manifest: stores the last argument at the path of the others."""

    def change(manifest, tensors):
        *way, last, value = keys
        for key in way:
            manifest = manifest[key]
        manifest[last] = value

    return change


def drop(*keys):
    def change(manifest, tensors):
        *way, last = keys
        for key in way:
            manifest = manifest[key]
        del manifest[last]

    return change


def array(name, function):
    def change(manifest, tensors):
        tensors[name] = np.ascontiguousarray(function(tensors[name]))

    return change


def put_array(name, values):
    return lambda manifest, tensors: tensors.update({name: values})


def without(name):
    return lambda manifest, tensors: tensors.pop(name)


def at(value, *place):
    """A copy of an array with one value changed."""

    def change(old):
        new = old.copy()
        new[place if place else (0,) * old.ndim] = value
        return new

    return change


def all_of(*changes):
    def change(manifest, tensors):
        for one in changes:
            one(manifest, tensors)

    return change


def renamed(names):
    return array("feature_names", lambda _: np.frombuffer(json.dumps(names).encode(), dtype=np.uint8))


BIG = 2**62
DAMAGE = {
    # arrays of which the non-zeros are stored
    "no places": (mostly_zeros, without("w.index"), "w.index"),
    "no values": (mostly_zeros, without("w.value"), "w.value"),
    "a sparse array that is dense too": (mostly_zeros, put_array("w", np.zeros((701, 3))), "twice"),
    "places that repeat": (mostly_zeros, array("w.index", lambda w: np.sort(w // 2 * 2)), "ascend"),
    "places that descend": (mostly_zeros, array("w.index", lambda w: w[::-1].copy()), "ascend"),
    "a place below 0": (mostly_zeros, array("w.index", lambda w: w - 1), "ascend"),
    "a place beyond": (mostly_zeros, array("w.index", lambda w: w + 3), "ascend"),
    "places of another type": (mostly_zeros, array("w.index", lambda w: w.astype(np.int64)), "int64"),
    "fewer places than values": (mostly_zeros, array("w.index", lambda w: w[1:].copy()), "places"),
    "places of two dimensions": (mostly_zeros, array("w.index", lambda w: w[None]), "places"),
    "values of another type": (mostly_zeros, array("w.value", lambda w: w.astype(np.float32)), "float32"),
    "a sparse value that is not finite": (mostly_zeros, array("w.value", lambda w: w * np.nan), "finite"),
    "no shapes of sparse arrays": (mostly_zeros, drop("sparse"), ""),
    "shapes that are none": (mostly_zeros, put("sparse", [1]), "shapes"),
    "a shape that is none": (mostly_zeros, put("sparse", "w", "701"), "shape"),
    "a shape of no dimension": (mostly_zeros, put("sparse", "w", []), "shape"),
    "a shape below 0": (mostly_zeros, put("sparse", "w", [-701, -3]), "shape"),
    "a shape of other numbers": (mostly_zeros, put("sparse", "w", [701.0, 3]), "shape"),
    "a shape of fewer classes": (mostly_zeros, put("sparse", "w", [2103, 1]), ""),
    "a shape of more features": (mostly_zeros, put("sparse", "w", [2**24, 3]), "728 bytes"),
    "a shape that is too large": (mostly_zeros, put("sparse", "w", [2**20, 2**20]), "limit"),
    "a shape for which there is no memory": (mostly_zeros, put("sparse", "w", [2**28, 2]), "memory"),
    "a shape of an array that is not there": (mostly_zeros, put("sparse", "v", [5]), "v.index"),
    "records so far apart that differences overflow": (lazily(TruncatedGradient), array("index", far), "ascend"),
    "variances so far apart that differences overflow": (lazily(SOFS, k=4), array("index", far), "ascend"),
    "groups so far apart that differences overflow": (lazily(GroupRDA, groups=2), array("groups", far), "ascend"),
    "features so far apart that differences overflow": (
        lazily(BayesianSparse, memory=5),
        array("active", far),
        "ascend",
    ),
    # the manifest
    "an unknown version": (binary, put("version", 2), "version 2"),
    "version 0": (binary, put("version", 0), "version 0"),
    "a version that is no number": (binary, put("version", "1"), "version"),
    "no version": (binary, drop("version"), "version"),
    "an unknown class": (binary, put("class", "Nonsense"), "Nonsense"),
    "a class that is no algorithm": (binary, put("class", "Estimator"), "Estimator"),
    "a base class": (binary, put("class", "Classifier"), "Classifier"),
    "a class of another module": (binary, put("class", "os.system"), "os.system"),
    "a class that is no name": (binary, put("class", ["PA"]), ""),
    "a class of another kind": (binary, put("class", "PARegressor"), ""),
    "a class with other arrays": (binary, put("class", "VotedPerceptron"), ""),
    "no class": (binary, drop("class"), "class"),
    "an extra key": (binary, put("extra", 1), "extra"),
    "no parameters": (binary, drop("parameters"), "parameters"),
    "parameters that are none": (binary, put("parameters", [1]), ""),
    "a parameter out of range": (binary, put("parameters", "C", -1.0), "C"),
    "a parameter that is NaN": (binary, put("parameters", "C", float("nan")), "C"),
    "a parameter that is infinite": (binary, put("parameters", "C", float("inf")), "C"),
    "a parameter of another type": (binary, put("parameters", "C", "1"), "C"),
    "a parameter that is a list": (binary, put("parameters", "C", [1.0]), "C"),
    "a parameter that is no choice": (binary, put("parameters", "variant", "III"), "variant"),
    "an unknown parameter": (binary, put("parameters", "eta", 1.0), "eta"),
    "a missing parameter": (binary, drop("parameters", "C"), ""),
    "classes that are no labels": (binary, put("parameters", "classes", 5), ""),
    "classes that the model has not": (binary, put("parameters", "classes", [1, 2, 3]), ""),
    "classes of another width": (
        binary,
        all_of(put("parameters", "classes", [1, 2, 3, 4]), array("w", lambda w: np.repeat(w, 4, axis=1))),
        "",
    ),
    "columns below 0": (binary, put("columns", -1), "column"),
    "columns that are no number": (binary, put("columns", "5"), "column"),
    "too many columns": (binary, put("columns", 2**40), "column"),
    "fewer columns than weights": (binary, put("columns", 2), ""),
    "more columns than weights": (binary, put("columns", 9), ""),
    "no columns": (binary, drop("columns"), "columns"),
    # numbers
    "no numbers": (binary, drop("numbers"), "numbers"),
    "numbers that are none": (binary, put("numbers", [1]), ""),
    "arrays without numbers": (binary, put("numbers", {}), ""),
    "a missing number": (binary, drop("numbers", "t"), "t"),
    "an extra number": (binary, put("numbers", "extra", 1), "extra"),
    "a negative counter": (binary, put("numbers", "t", -1), "t"),
    "a counter that is huge": (binary, put("numbers", "t", 2**63), "t"),
    "a counter that is no whole number": (binary, put("numbers", "updates", 1.5), "updates"),
    "a counter that is true": (binary, put("numbers", "t", True), "t"),
    "a counter that is text": (binary, put("numbers", "t", "1"), "t"),
    "more updates than examples": (binary, put("numbers", "updates", 61), "updates"),
    "a number that is NaN": (binary, put("numbers", "scale", float("nan")), "scale"),
    "a number that is infinite": (binary, put("numbers", "total", float("inf")), "total"),
    "a number that is null": (binary, put("numbers", "scale", None), "scale"),
    "a scale of 0": (binary, put("numbers", "scale", 0.0), "scale"),
    # arrays
    "a missing array": (binary, without("w"), "w"),
    "a missing companion": (averaged, without("u"), "u"),
    "an extra array": (binary, lambda m, t: t.update(extra=np.zeros(3)), "extra"),
    "fields of different shape": (averaged, array("u", lambda u: u[:-1]), "shape"),
    "an array of too many columns": (binary, array("w", lambda w: np.repeat(w, 2, axis=1)), "w"),
    "an array of too few columns": (multiclass, array("w", lambda w: w[:, :2]), "w"),
    "an array of too few rows": (binary, array("w", lambda w: w[:-2]), ""),
    "an array of too many rows": (binary, array("w", lambda w: np.repeat(w, 2, axis=0)), ""),
    "an array of no rows": (binary, array("w", lambda w: w[:0]), ""),
    "an array of one dimension": (binary, array("w", np.ravel), ""),
    "an array of three dimensions": (binary, array("w", lambda w: w[:, :, None]), ""),
    "an array that is one number": (binary, array("w", lambda w: np.float64(1)), ""),
    "NaN in an array": (binary, array("w", at(np.nan)), "w"),
    "infinity in an array": (averaged, array("u", at(-np.inf)), "u"),
    "an array of float32": (binary, array("w", lambda w: w.astype(np.float32)), "float32"),
    "an array of float16": (binary, array("w", lambda w: w.astype(np.float16)), "float16"),
    "an array of whole numbers": (binary, array("w", lambda w: w.astype(np.int64)), "int64"),
    "an array of bytes": (binary, array("w", lambda w: w.astype(np.uint8)), "uint8"),
    "an array of truth": (binary, array("w", lambda w: w > 0), "bool"),
    # labels
    "no labels": (binary, drop("labels"), "labels"),
    "labels that are none": (binary, put("labels", "ab"), ""),
    "labels that are lists": (binary, put("labels", [[1], [2]]), ""),
    "labels that are fractions": (binary, put("labels", [0.5, 1.5]), ""),
    "a label twice": (binary, put("labels", ["ham", "ham"]), ""),
    "labels in another order": (binary, put("labels", ["spam", "ham"]), ""),
    "too many labels": (binary, put("labels", ["a", "ham", "spam"]), ""),
    "too few labels": (multiclass, put("labels", [0, 1]), ""),
    "one label of two": (binary, all_of(put("labels", ["ham"]), put("codes", [["ham", 1.0], ["spam", 1.0]])), ""),
    "no label at all": (binary, all_of(put("labels", []), put("codes", [])), ""),
    "no codes": (binary, put("codes", []), ""),
    "no codes for many labels": (multiclass, put("codes", []), ""),
    "no codes for many labels that vote": (voted, put("codes", []), ""),
    "a code of a label that is not there": (binary, put("codes", [["ham", -1.0], ["x", 1.0]]), ""),
    "codes the wrong way round": (binary, put("codes", [["ham", 1.0], ["spam", -1.0]]), ""),
    "a code twice": (binary, put("codes", [["ham", 1.0], ["spam", 1.0]]), ""),
    "codes of many labels exchanged": (multiclass, put("codes", [[0, 1.0], [1, 0.0], [2, 2.0]]), ""),
    "a code that is out of range": (multiclass, put("codes", [[0, 0.0], [1, 1.0], [2, 3.0]]), ""),
    "a code below 0": (multiclass, put("codes", [[0, -1.0], [1, 1.0], [2, 2.0]]), ""),
    "a code that is a fraction": (multiclass, put("codes", [[0, 0.0], [1, 0.5], [2, 2.0]]), ""),
    "a code that is text": (binary, put("codes", [["ham", "x"], ["spam", 1.0]]), ""),
    "a code without a label": (binary, put("codes", [[-1.0], [1.0]]), ""),
    "codes that are none": (binary, put("codes", 5), ""),
    # names
    "names that are not there": (binary, put("named", True), "feature_names"),
    "names that are not wanted": (named, put("named", False), ""),
    "a name twice": (named, renamed(["a", "a", "c"]), "twice"),
    "names that are numbers": (named, renamed([1, 2, 3]), "names"),
    "names that are an object": (named, renamed({"a": 0}), "names"),
    "too few names": (named, renamed(["a"]), ""),
    "names that are no JSON": (named, array("feature_names", lambda _: np.frombuffer(b'["a"', np.uint8)), ""),
    "names that are no text": (named, array("feature_names", lambda _: np.frombuffer(b'["\xff"]', np.uint8)), ""),
    # the rows that the voted perceptron keeps
    "a vote for a class that is not there": (voted, array("vectors", at(3.0, 0, 1)), "vector"),
    "a vote against a class that is not there": (voted, array("vectors", at(7.0, 0, 2)), "vector"),
    "a vote for a class below 0": (voted, array("vectors", at(-1.0, 0, 1)), "vector"),
    "a vote against nothing": (voted, array("vectors", at(-1.0, 0, 2)), "vector"),
    "a vote for half a class": (voted, array("vectors", at(0.5, 0, 1)), "vector"),
    "no votes": (voted, array("vectors", at(0.0, 0, 3)), "vector"),
    "more votes than examples": (voted, array("vectors", at(61.0, 0, 3)), "vector"),
    "votes beyond whole numbers": (voted, array("vectors", at(1e300, 0, 3)), "vector"),
    "a vector too few": (voted, array("vectors", lambda v: v[:-1]), "number"),
    "a vector of three": (voted, array("vectors", lambda v: v[:, :3]), ""),
    "vectors of one dimension": (voted, array("vectors", np.ravel), ""),
    "a kept row that ends beyond the others": (voted, array("row_start", at(10_000, 1)), "rows"),
    "a kept row that begins below 0": (voted, array("row_start", at(-5, 1)), "rows"),
    "kept rows that do not begin at 0": (voted, array("row_start", at(1, 0)), "rows"),
    "kept rows whose lengths overflow": (
        voted,
        array("row_start", lambda s: np.concatenate([[0, BIG + 1, -BIG], s[3:]])),
        "rows",
    ),
    "no row starts": (voted, array("row_start", lambda s: s[:0]), "rows"),
    "a kept row that lacks values": (voted, array("row_value", lambda v: v[:-1]), "rows"),
    "a kept row that lacks norms": (voted, array("row_norm2", lambda v: v[:-1]), "rows"),
    "a kept row that lacks constants": (voted, array("row_constant", lambda v: v[:-1]), "rows"),
    "a kept feature below 0": (voted, array("row_index", at(-1)), "row"),
    "a kept feature beyond the model's": (voted, array("row_index", at(5)), "row"),
    "a kept feature far beyond the model's": (voted, array("row_index", at(2**31 - 2)), "row"),
    "kept features that are fractions": (voted, array("row_index", lambda i: i + 0.5), "row_index"),
    "kept features that are too wide": (voted, array("row_index", lambda i: i.astype(np.int64) + 2**32), "row_index"),
    "NaN in a kept row": (voted, array("row_value", at(np.nan)), "row_value"),
    "a support vector twice in a column": (budgeted, array("row_index", at(1, 0)), "twice"),
    "a support vector in a column beyond": (budgeted, array("row_index", at(5)), "row"),
    "a support vector with a value that no row has": (budgeted, array("row_value", at(1e60)), "beyond"),
    "more support vectors than the budget": (budgeted, put("parameters", "budget", 3), "budget"),
    "coefficients of fewer support vectors": (budgeted, array("alpha", lambda a: a[:-1]), "coefficients"),
    "a kept row with a norm below 0": (voted, array("row_norm2", at(-1.0)), "norm"),
    "a kept row with a constant of another model": (voted, array("row_constant", at(0.5)), "constant"),
    "more votes than rounds": (
        voted,
        array("vectors", lambda v: np.column_stack([v[:, :3], np.full(len(v), 40.0)])),
        "votes",
    ),
    "a feature twice in a row of a buffer": (lazily(seriatim.OAM), array("positive_index", at(0, 1)), "twice"),
    # numbers that sums, shares and counts never are
    "a sum of squares below 0": (lazily(seriatim.FTRL), array("n", at(-1.0, 0, 0)), "negative"),
    "a weight that shrank further than all": (
        lazily(TruncatedGradient),
        array("before", at(9e9, 0, 0)),
        "shrinkage above",
    ),
    "a variance that grew": (lazily(SOFS, k=4), array("sigma", at(2.0, 0, 0)), "variance"),
    "a sum of scales below 0": (binary, put("numbers", "total", -1.0), "scale"),
    "an entry without a grain": (lazily(seriatim.ALMA), put("numbers", "grain", -1.0), "grain"),
    "a row that came after the last": (lazily(seriatim.LASVM), array("alpha", at(61.0, 0, 3)), "a round is not from"),
    "a learner with more rounds than its committee": (committee, put("numbers", "0.t", 61), "61 rounds"),
    "losses beyond all rounds": (committee, array("losses", at(1e60)), "losses"),
    "a mean beyond all values": (scaled, array("scaling.mean", at(1e60)), "mean"),
    "a spread of one value": (scaled, all_of(array("scaling.count", at(1.0))), "spread"),
    "more columns than names": (named, put("columns", 9), "names"),
    "columns before the first example": (
        lambda: PA(),
        put("columns", 3),
        "not learned",
    ),
    "a width for a kernel that has one": (budgeted, put("numbers", "width", 2.0), "width"),
    "a scale of 0 of a kernel machine": (budgeted, put("numbers", "scale", 0.0), "scale"),
    "no kernel of that name": (budgeted, put("parameters", "kernel", "gausian"), "kernel"),
    "a kernel object without its width": (budgeted, put("parameters", "kernel", {"kernel": "gaussian"}), "kernel"),
    **{
        f"columns without end of {build.__name__}": (
            build,
            all_of(put("columns", 10**8), put("numbers", "records", 10**8 + 1)),
            "memory",
        )
        for build in (budgeted, selected)
    },
}


@pytest.fixture
def little_memory():
    """A file of a few kilobytes must not make the loader ask for gigabytes."""
    if "ASAN_OPTIONS" in os.environ:
        pytest.skip("AddressSanitizer needs more addresses than any limit leaves")
    before = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 30), before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


@looped("name", DAMAGE)
def test_damage_is_refused(tmp_path, name, little_memory):
    build, change, word = DAMAGE[name]
    path = tmp_path / "model"
    build().save(path)
    manifest, tensors = parts(path)
    seriatim.load(write(path, manifest, tensors))  # the unchanged file loads
    change(manifest, tensors)
    assert word in refused(write(path, manifest, tensors)).removeprefix(f"{path}: ")


def test_a_file_without_a_manifest(tmp_path):
    path = tmp_path / "model"
    path.write_bytes(pack({"w": np.zeros((2, 1))}))
    refused(path)
    path.write_bytes(pack({"w": np.zeros((2, 1))}, metadata={"other": "1"}))
    assert "seriatim" in refused(path)
    for manifest in ("", "{", "[]", "null", "1", '"x"', "[" * 100_000, '{"version": 1' + "}" * 5, "{}", "1" * 5000):
        path.write_bytes(pack({"w": np.zeros((2, 1))}, metadata={"seriatim": manifest}))
        refused(path)


@pytest.mark.parametrize("name", ["PA", "VotedPerceptron"])
def test_a_file_that_is_cut_anywhere(tmp_path, name):
    path = tmp_path / "model"
    ALGORITHMS[name]().partial_fit(rows(n=6, columns=2), [0, 1, 2] * 2).save(path)
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        refused(path)
    path.write_bytes(whole + b"\x00")
    refused(path)


def test_a_header_that_lies_about_its_length(tmp_path):
    path = tmp_path / "model"
    binary().save(path)
    whole = path.read_bytes()
    length = struct.unpack("<Q", whole[:8])[0]
    for other in (0, 1, length - 1, length + 1, len(whole), 2**31, 2**40, 2**63, 2**64 - 1):
        path.write_bytes(struct.pack("<Q", other) + whole[8:])
        refused(path)


@pytest.mark.parametrize("kind", ["BF16", "F8_E4M3", "F16", "U64", "C64", "F4", "nonsense"])
def test_a_header_with_another_type(tmp_path, kind):
    path = tmp_path / "model"
    binary().save(path)
    whole = path.read_bytes()
    length = struct.unpack("<Q", whole[:8])[0]
    header = whole[8 : 8 + length].replace(b'"F64"', b'"%s"' % kind.encode())
    path.write_bytes(struct.pack("<Q", len(header)) + header + whole[8 + length :])
    refused(path)


def test_an_empty_file_a_folder_and_none(tmp_path):
    path = tmp_path / "model"
    path.write_bytes(b"")
    refused(path)
    path.write_bytes(b"1 1:1\n-1 2:1\n" * 100)
    refused(path)
    refused(tmp_path)
    assert "no such file" in refused(tmp_path / "absent")
    refused(tmp_path / "absent" / "model")


def test_a_refused_file_leaves_nothing_behind(tmp_path):
    """The classes and the catalogue do not change."""
    before = {name: dict(vars(cls)) for name, cls in seriatim.algorithms().items()}
    path = tmp_path / "model"
    binary().save(path)
    manifest, tensors = parts(path)
    write(path, {**manifest, "labels": [1, 2, 3]}, tensors)
    refused(path)
    assert {name: dict(vars(cls)) for name, cls in seriatim.algorithms().items()} == before


def test_a_link_is_followed_and_what_is_no_file_is_not_replaced(tmp_path):
    model = PA().fit([[1.0], [-1.0]], [1, -1])
    real, link = tmp_path / "real", tmp_path / "link"
    real.write_bytes(b"old")
    link.symlink_to(real)
    model.save(link)
    assert link.is_symlink() and seriatim.load(real).t_ == 2
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    received = []
    reader = threading.Thread(target=lambda: received.append(pipe.read_bytes()))
    reader.start()
    model.save(pipe)
    reader.join()
    assert pipe.is_fifo() and received == [real.read_bytes()]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "pipe", "real"]


def test_a_model_that_has_diverged_is_not_saved(tmp_path):
    model = Perceptron(eta=1e300).fit([[1e40], [-1e40], [1e30]] * 5, [1, -1, -1] * 5)
    assert not np.isfinite(model.coef_).all()
    with pytest.raises(ModelError, match="diverged"):
        model.save(tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        PA().fit([[1.0], [-1.0]], [1, -1]).save(tmp_path / "absent" / "m")


def test_names_after_columns_that_nothing_was_learned_of(tmp_path):
    model = PA()
    model._start(5)
    model.learn_one({"a": 1.0}, "spam").save(tmp_path / "model")
    assert seriatim.load(tmp_path / "model").predict_one({"a": 1.0}) == "spam"

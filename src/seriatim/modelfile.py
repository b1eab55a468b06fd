"""Model files: safetensors with a JSON manifest. `load` checks all of a file before it builds the model."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from seriatim import catalogue
from seriatim.core.allowance import Allowance, take
from seriatim.core.table import ascend
from seriatim.errors import LimitError, ModelError
from seriatim.features import Features
from seriatim.features.encoder import KINDS
from seriatim.files import whole_file
from seriatim.labels import label_order

if TYPE_CHECKING:
    from seriatim.estimator.model import Model
    from seriatim.parameters import Parameter

VERSION = 1
ROOM = "room"  # the name of an array of padding

# Loading a file of n bytes may allocate FREE + TIMES n bytes. If a model needs more, its file is padded (ROOM). Copies
# of arrays are not counted; with them, loading stays below 64 MB + 16 n.
FREE = 32 << 20
TIMES = 12

# An array of at least THIN numbers, three quarters of them zeros, is stored as the indices and values of its non-zeros.
THIN = 1 << 10
MAX_NUMBERS = 1 << 29  # numbers in such an array

# Errors that a damaged file may cause.
DAMAGE = (ValueError, TypeError, AttributeError, IndexError, OverflowError, RecursionError, LimitError)


def save(model: Model, path: str | os.PathLike[str]) -> None:
    """Write a model to a temporary file, load it from there as a test, and rename it.

    So an interrupt leaves no half file, and a file that cannot be loaded never replaces a good one.
    """
    from safetensors.numpy import save_file

    tensors, manifest = parts(type(model), model.__getstate__())
    text = json.dumps(manifest, default=as_json)
    with whole_file(path) as temporary:
        save_file(tensors, temporary, metadata={"seriatim": text})
        missing = proved(temporary)
        if missing:
            save_file(tensors | {ROOM: np.zeros(missing, np.uint8)}, temporary, metadata={"seriatim": text})


def parts(cls: type[Model], state: dict[str, Any]) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The arrays of a model's state, and the manifest of everything else."""
    state.pop("sparse", None)  # how the weights are shown
    if "made_by" in state:
        state["made_by"] = state["made_by"].as_dict()
    within = [parts(*one) for one in state.pop("models", ())]  # the models of a wrapper
    given = [(name, cls.parameters[name], value) for name, value in state["parameters"].items()]
    state["parameters"] = {name: parameter.as_json(value) for name, parameter, value in given}
    names, learned, scaling = state.pop("names", None), state.pop("state") or {}, state.pop("scaling", None) or {}
    lists = state.pop("lists", {})
    if "columns" in state:  # it is a model of rows
        state |= {"codes": list(state.get("codes", {}).items()), "named": names is not None}
    else:
        state["lists"] = list(lists)
    manifest = {
        "version": VERSION,
        "class": cls.__name__,
        **state,
        "numbers": {name: value for name, value in learned.items() if not isinstance(value, np.ndarray)},
    }
    learned |= {f"scaling.{name}": value for name, value in scaling.items()}
    for name, value in learned.items():
        if not np.isfinite(value).all():
            raise ModelError(f"the model has diverged and was not saved: {name} is not finite")
    tensors, shapes = thinned({name: value for name, value in learned.items() if isinstance(value, np.ndarray)})
    if shapes:
        manifest["sparse"] = shapes
    for name, parameter, value in given:
        tensors |= {f"{name}.{part}": array for part, array in parameter.arrays(value).items()}
    if names is not None:
        tensors["feature_names"] = as_bytes(names)
    tensors |= {f"list.{name}": as_bytes(values) for name, values in lists.items()}
    if within:
        manifest["models"] = [one for _, one in within]
    for k, (arrays, _) in enumerate(within):
        tensors |= {f"models.{k}.{name}": array for name, array in arrays.items()}
    return tensors, manifest


def proved(path: Path) -> int:
    """Load a file that was just written, as a test. Returns how many bytes of padding the file needs; see FREE."""
    with Allowance(1 << 62) as allowance:
        try:
            made(path)
        except (ModelError, KeyError, MemoryError, *DAMAGE) as error:
            raise ModelError(
                f"the model was not saved, because it could not be loaded again: {error or type(error).__name__}"
            ) from None
    lacking = allowance.taken - FREE - TIMES * path.stat().st_size
    return -(-lacking // TIMES) if lacking > 0 else 0


def as_bytes(values: list[Any]) -> np.ndarray:
    """A list as the bytes of its JSON."""
    return np.frombuffer(json.dumps(values).encode(), dtype=np.uint8)


def thinned(arrays: dict[str, np.ndarray]) -> tuple[dict[str, np.ndarray], dict[str, list[int]]]:
    """The arrays to store, and the shapes of the sparse ones, of which only the non-zeros are stored."""
    stored, shapes = {}, {}
    for name, array in arrays.items():
        array = np.ascontiguousarray(array)
        if array.dtype == np.float64 and THIN <= array.size <= MAX_NUMBERS:
            index = np.flatnonzero(array.reshape(-1).view(np.int64))  # by the bits: -0.0 is not 0.0
            if 4 * len(index) <= array.size:
                stored[f"{name}.index"], stored[f"{name}.value"] = index.astype(np.int32), array.reshape(-1)[index]
                shapes[name] = list(array.shape)
                continue
        stored[name] = array
    return stored, shapes


def restored(shapes: Any, tensors: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The whole arrays of which a file has the non-zeros. Takes those out of `tensors`."""
    expect(isinstance(shapes, dict), "the shapes of sparse arrays are not an object")
    arrays = {}
    for name, shape in shapes.items():
        whole = isinstance(shape, list) and all(type(n) is int and 0 <= n <= MAX_NUMBERS for n in shape)
        expect(whole and 1 <= len(shape) <= 2, f"{name}: {shape!r} is no shape of a sparse array")
        size = math.prod(shape)
        expect(size <= MAX_NUMBERS, f"{name}: a sparse array of shape {shape}; the limit is {MAX_NUMBERS} numbers")
        index, value = tensors.pop(f"{name}.index"), tensors.pop(f"{name}.value")
        expect(name not in tensors, f"{name} is there twice")
        expect(index.dtype == np.int32 and value.dtype == np.float64, f"{name}: {index.dtype} and {value.dtype}")
        expect(index.ndim == 1 and index.shape == value.shape, f"{name}: {index.shape} places of {value.shape} values")
        expect(ascend(index, size), f"{name}: the places of its numbers do not ascend from 0 to less than {size}")
        take(8 * size)
        arrays[name] = np.zeros(shape)
        arrays[name].reshape(-1)[index] = value
    return arrays


def as_json(value: Any) -> Any:
    """A parameter as a value of JSON."""
    if isinstance(value, Features):
        return value.as_dict()
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(f"a parameter of type {type(value).__name__} cannot be saved")


def load(path: str | os.PathLike[str]) -> Model:
    """Load a model. It predicts and learns on exactly as the saved model would, to the last bit."""
    if not Path(path).is_file():
        problem = "a directory, not a model file" if Path(path).is_dir() else "no such file"
        raise ModelError(f"{path}: {problem}")
    try:
        size = Path(path).stat().st_size
        with Allowance(FREE + TIMES * size) as allowance:
            return made(path)
    except KeyError as error:
        raise ModelError(f"{path}: not a whole model: {error} is missing") from None
    except OSError as error:
        raise ModelError(f"{path}: {error.strerror or error}") from None
    except DAMAGE as error:
        raise ModelError(f"{path}: {error}") from None
    except MemoryError as error:
        if allowance.exceeded:
            raise ModelError(
                f"{path}: a file of {size:,} bytes whose model asks for more than {allowance.most >> 20} MB of memory, "
                f"which is the limit for its size"
            ) from None
        raise ModelError(f"{path}: {error or 'no memory for this model'}") from None


def made(path: str | os.PathLike[str]) -> Model:
    """Load a model. The caller adds the path to error messages."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys() if name != ROOM}  # noqa: SIM118, not a dict
    except (SafetensorError, ValueError, TypeError, KeyError, OverflowError, AttributeError) as error:
        raise ModelError(f"not a model file: {error}") from None
    return rebuild(json.loads(metadata["seriatim"]), tensors)


def expect(condition: Any, problem: str) -> None:
    if not condition:
        raise ModelError(problem)


def rebuild(manifest: dict[str, Any], tensors: dict[str, np.ndarray]) -> Model:
    """The model that a manifest and its arrays describe. Takes the arrays that it uses out of `tensors`."""
    expect(isinstance(manifest, dict), "the manifest is not an object")
    version = manifest["version"]
    expect(type(version) is int, "the version is not a number")
    expect(version == VERSION, f"format version {version!r}; this program reads version {VERSION}")
    if "models" in manifest:
        return rebuild_wrapper(manifest, tensors)
    model = untrained(manifest, tensors)
    expect_entries(manifest, model)
    numbers = manifest["numbers"]
    expect_numbers(numbers)
    return (rebuild_of_rows if hasattr(model, "learn_rows") else rebuild_of_lists)(model, manifest, numbers, tensors)


def untrained(manifest: dict[str, Any], tensors: dict[str, np.ndarray]) -> Model:
    """A new model with the class and the parameters of a manifest."""
    cls = catalogue.named(manifest["class"])
    if cls is None:
        raise ModelError(f"no algorithm is called {manifest['class']!r}")
    parameters = manifest["parameters"]
    expect(isinstance(parameters, dict), "the parameters are not an object")
    for name, parameter in cls.parameters.items():
        known_parts = parts_of(parameter, name, tensors)
        arrays = {part: tensors.pop(f"{name}.{part}") for part in known_parts if f"{name}.{part}" in tensors}
        parameters[name] = parameter.restored(parameters[name], arrays)
    model = cls(**parameters)
    model.check()
    return model


def expect_entries(manifest: dict[str, Any], model: Model) -> None:
    """Refuse a manifest with other entries than those of a model of this class."""
    of_rows = hasattr(model, "learn_rows")
    keys = {"version", "class", "parameters", "numbers"}
    keys |= {"columns", "codes", "named", "schema"} if of_rows else {"lists"}
    keys |= {"labels"} if model.task == "classification" else set()
    keys |= ({"sparse", "made_by"} if of_rows else {"sparse"}) & set(manifest)
    wanted, found = ", ".join(sorted(keys)), ", ".join(sorted(manifest))
    expect(wanted == found, f"expected the entries {wanted}, found {found}")
    expect(set(manifest["parameters"]) == set(model.parameters), "the parameters are not those of the algorithm")


def rebuild_of_lists(model: Model, manifest: dict[str, Any], numbers: Any, tensors: dict[str, np.ndarray]) -> Model:
    """A model of ratings, trading days or triplets, whose state may refer to lists of names."""
    lists = lists_of(manifest["lists"], tensors)
    expect_stored(manifest, numbers, tensors)
    expect(numbers or not any(lists.values()), "names without numbers")
    learned = {**numbers, **tensors}
    if learned:
        check_kinds(learned, model.template(learned))
    model.__setstate__({"parameters": model.get_params(), "lists": lists, "state": learned or None})
    return model


def rebuild_of_rows(model: Any, manifest: dict[str, Any], numbers: Any, tensors: dict[str, np.ndarray]) -> Model:
    """A model of rows of features."""
    names = json.loads(tensors.pop("feature_names").tobytes()) if manifest.get("named") else None
    if names is not None:
        expect(isinstance(names, list) and all(isinstance(n, str) for n in names), "feature names are not strings")
    expect_stored(manifest, numbers, tensors)
    columns, schema = manifest["columns"], manifest["schema"]
    expect(type(columns) is int and 0 <= columns < 2**31, f"{columns!r} columns")
    expect(isinstance(schema, dict) and all(kind in KINDS for kind in schema.values()), "the schema is not one")
    scaling = {
        name: tensors.pop(f"scaling.{name}") for name in ("count", "mean", "spread") if f"scaling.{name}" in tensors
    }
    state = {"parameters": model.get_params(), "columns": columns, "names": names, "state": None}
    state |= {"schema": schema, "scaling": scaling}
    if "made_by" in manifest:
        good = isinstance(manifest["made_by"], dict) and state["parameters"]["features"] is None
        expect(good, "made_by: expected the features of a stream, and no features of the model")
        state["made_by"] = Features.of(manifest["made_by"])
    if not numbers:
        expect(not (columns or names or schema or scaling), "columns of a model that has not learned")
        expect(not manifest.get("labels") and not manifest.get("codes"), "labels of a model that has not learned")
    if model.task == "classification":
        state |= labels_of(manifest, numbers)
    expect_columns(model, columns, names, numbers, tensors)
    if numbers:
        state["state"] = {**numbers, **tensors}
        check_kinds(state["state"], model.template(state["state"]))
    model.__setstate__(state)
    if numbers and model.task == "classification":
        classes = len(state["labels"])
        expect(model.n_scores == (1 if classes <= 2 else classes), "the labels and the classes disagree")
    return model


def expect_stored(manifest: dict[str, Any], numbers: Any, tensors: dict[str, np.ndarray]) -> None:
    """Refuse arrays of wrong types, and restore in `tensors` those of which only the non-zeros are stored."""
    expect_arrays(tensors)
    tensors |= restored(manifest.get("sparse", {}), tensors)
    expect(numbers or not tensors, "arrays without numbers")


def labels_of(manifest: dict[str, Any], numbers: Any) -> dict[str, Any]:
    """The labels and codes of a classifier."""
    labels, codes = manifest["labels"], dict(manifest["codes"])
    expect(isinstance(labels, list) and all(type(k) in (bool, int, str) for k in labels), "the labels are not labels")
    expect(len(set(labels)) == len(labels) and labels == sorted(labels, key=label_order), "the labels are not sorted")
    expect(all(type(code) is float for code in codes.values()), "a code is not a number")
    if len(labels) == 1:
        good = list(codes) == labels and codes[labels[0]] in (-1.0, 1.0)
    elif len(labels) == 2:
        good = codes == dict(zip(labels, (-1.0, 1.0), strict=True))
    else:
        good = codes.items() <= {label: float(k) for k, label in enumerate(labels)}.items()
    expect(good, "the labels and their codes disagree")
    expect(codes or not numbers.get("t"), "examples have been learned, and no label was seen")
    return {"labels": labels, "codes": codes}


def expect_columns(
    model: Model, columns: int, names: list[str] | None, numbers: Any, tensors: dict[str, np.ndarray]
) -> None:
    """Refuse numbers of columns, names and records that do not fit together."""
    expect(names is None or columns <= len(names), f"{columns} columns for {len(names or ())} names")
    known_columns = max(columns, len(names or ()), getattr(model, "n_features", None) or 0)
    for one in {name.rpartition(".")[0] for name in (*numbers, *tensors)}:  # the model, or those within it
        own = f"{one}." if one else ""
        records = numbers.get(f"{own}records", len(tensors[f"{own}w"]) if f"{own}w" in tensors else None)
        if records is not None:
            expect(columns <= records - 1 <= known_columns, f"{records} records for {known_columns} columns")


def expect_numbers(numbers: Any) -> None:
    """Refuse a number that is not finite, and a count below 0 or too large."""
    for name, number in numbers.items():
        expect(
            type(number) in (int, float) and math.isfinite(number), f"{name} is {number!r}; expected a finite number"
        )
        expect(type(number) is float or 0 <= number < 2**62, f"{name} is {number!r}; expected a count")


def expect_arrays(tensors: dict[str, np.ndarray]) -> None:
    """Refuse arrays of types that no learner has, and values that are not finite."""
    for name, tensor in tensors.items():
        expect(tensor.dtype.kind in "fi" and tensor.dtype.itemsize in (4, 8), f"{name} has type {tensor.dtype}")
        expect(np.isfinite(tensor).all(), f"{name} holds a value that is not finite")


def rebuild_wrapper(manifest: dict[str, Any], tensors: dict[str, np.ndarray]) -> Model:
    """A model around models: each of these has its own manifest, and arrays whose names begin with its number."""
    from seriatim.estimator.wrapper import wrapper_named

    cls = wrapper_named(manifest["class"])
    if cls is None:
        raise ModelError(f"no model around models is called {manifest['class']!r}")
    keys = {"version", "class", "parameters", "numbers", "lists", "models"} | ({"sparse"} & set(manifest))
    expect(set(manifest) == keys, f"expected {', '.join(sorted(keys))}, found {', '.join(sorted(manifest))}")
    within, models = manifest["models"], []
    expect(isinstance(within, list) and 1 <= len(within) <= cls.most, f"expected 1 to {cls.most} models")
    for k, one in enumerate(within):
        expect(isinstance(one, dict) and "models" not in one, "a model around models is itself in one")
        start = f"models.{k}."
        own = {name.removeprefix(start): tensors.pop(name) for name in [*tensors] if name.startswith(start)}
        models.append(rebuild(one, own))
    parameters, names = manifest["parameters"], set(cls.parameters) - {cls.around}
    expect(isinstance(parameters, dict) and set(parameters) == names, "the parameters are not those of the class")
    given = {name: cls.parameters[name].restored(parameters[name], {}) for name in names}
    model = cls(**{cls.around: models[0]}, **given)
    expect_numbers(manifest["numbers"])
    lists = lists_of(manifest["lists"], tensors)
    expect_arrays(tensors)
    tensors |= restored(manifest.get("sparse", {}), tensors)
    state = {**manifest["numbers"], **tensors}
    check_kinds(state, model.template(state))
    expect(set(lists) == set(model.lists()), "the lists are not those of the class")
    model.restore(models, state, lists)
    return model


def parts_of(parameter: Parameter, name: str, tensors: dict[str, np.ndarray]) -> list[str]:
    """The arrays that belong to a parameter."""
    if parameter.parts is not None:
        return [*parameter.parts]
    return [key.removeprefix(f"{name}.") for key in tensors if key.startswith(f"{name}.")]


def lists_of(names: Any, tensors: dict[str, np.ndarray]) -> dict[str, list[Any]]:
    """The lists of names, each of distinct labels. Takes them out of `tensors`."""
    expect(isinstance(names, list) and all(isinstance(name, str) for name in names), "the lists have no names")
    lists = {name: json.loads(tensors.pop(f"list.{name}").tobytes()) for name in names}
    for name, values in lists.items():
        simple = isinstance(values, list) and all(type(value) in (bool, int, str) for value in values)
        expect(simple and len({(type(v), v) for v in values}) == len(values), f"{name} is no list of different names")
    return lists


def check_kinds(state: dict[str, Any], template: dict[str, Any]) -> None:
    """Refuse a state whose names, types or dimensions are not those of the template."""
    expect(set(state) == set(template), f"expected {', '.join(sorted(template))}, found {', '.join(sorted(state))}")
    for name, value in template.items():
        expect(type(state[name]) is type(value), f"{name} is not a {type(value).__name__}")
        if isinstance(value, np.ndarray):
            expect(state[name].dtype == value.dtype, f"{name} has type {state[name].dtype}; expected {value.dtype}")
            expect(state[name].ndim == value.ndim, f"{name} has {state[name].ndim} dimensions; expected {value.ndim}")

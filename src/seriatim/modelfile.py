"""Model files: safetensors with a JSON manifest. Everything is checked before anything is built."""

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
    from seriatim.model import Model
    from seriatim.parameters import Parameter

VERSION = 1
ROOM = "room"  # the array of bytes that mean nothing

# What a model may take of memory while it is made from a file: so much whatever the file, and so much for each of its
# bytes. A model that needs more has a file with as many bytes more, which mean nothing (ROOM). With what is not
# counted, such as copies of arrays, the whole stays below 64 MB and 16 times the file.
FREE = 32 << 20
TIMES = 12

# An array of at least so many numbers, three quarters of them zeros, is stored by the places and values of the others.
THIN = 1 << 10
MAX_NUMBERS = 1 << 29  # in such an array; those of other arrays are in the file

# What is raised where a file is not what it should be.
DAMAGE = (ValueError, TypeError, AttributeError, IndexError, OverflowError, RecursionError, LimitError)


def save(model: Model, path: str | os.PathLike[str]) -> None:
    """Write a model: to a temporary file beside it, flushed, and renamed, so that the name never holds half of one.

    Before it has the name it is read back: what cannot be loaded does not replace what can.
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
    """What a file has of a model in this state: arrays, and a manifest of the rest."""
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
    """Make the model of a file that was just written; returns how many bytes the file lacks for the memory it takes."""
    with Allowance(1 << 62) as allowance:
        try:
            made(path)
        except (ModelError, KeyError, MemoryError, *DAMAGE) as error:
            raise ModelError(
                f"the model was not saved, for it could not be loaded again: {error or type(error).__name__}"
            ) from None
    lacking = allowance.taken - FREE - TIMES * path.stat().st_size
    return -(-lacking // TIMES) if lacking > 0 else 0


def as_bytes(values: list[Any]) -> np.ndarray:
    """A list as the JSON of it."""
    return np.frombuffer(json.dumps(values).encode(), dtype=np.uint8)


def thinned(arrays: dict[str, np.ndarray]) -> tuple[dict[str, np.ndarray], dict[str, list[int]]]:
    """The arrays as they are stored, and the shapes of those of which only the non-zeros are."""
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
    """The arrays of which only the non-zeros are stored; these are taken from `tensors`."""
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
    """A parameter as what JSON has."""
    if isinstance(value, Features):
        return value.as_dict()
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(f"a parameter of type {type(value).__name__} cannot be saved")


def load(path: str | os.PathLike[str]) -> Model:
    """The model in a file, as it was: it goes on bit for bit."""
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
    """The model in a file; errors do not say which file."""
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
    expect(isinstance(manifest, dict), "the manifest is not an object")
    version = manifest["version"]
    expect(type(version) is int, "the version is not a number")
    expect(version == VERSION, f"format version {version!r}; this program reads version {VERSION}")
    if "models" in manifest:
        return rebuild_wrapper(manifest, tensors)
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
    of_rows = hasattr(model, "learn_rows")
    keys = {"version", "class", "parameters", "numbers"}
    keys |= {"columns", "codes", "named", "schema"} if of_rows else {"lists"}
    keys |= {"labels"} if model.task == "classification" else set()
    keys |= ({"sparse", "made_by"} if of_rows else {"sparse"}) & set(manifest)
    expect(
        set(manifest) == keys, f"expected the entries {', '.join(sorted(keys))}, found {', '.join(sorted(manifest))}"
    )
    expect(set(manifest["parameters"]) == set(model.parameters), "the parameters are not those of the algorithm")
    numbers = manifest["numbers"]
    expect_numbers(numbers)
    if not of_rows:
        lists = lists_of(manifest["lists"], tensors)
    names = json.loads(tensors.pop("feature_names").tobytes()) if manifest.get("named") else None
    if names is not None:
        expect(isinstance(names, list) and all(isinstance(n, str) for n in names), "feature names are not strings")
    expect_arrays(tensors)
    tensors |= restored(manifest.get("sparse", {}), tensors)
    expect(numbers or not tensors, "arrays without numbers")
    if not of_rows:
        expect(numbers or not any(lists.values()), "names without numbers")
        learned = {**numbers, **tensors}
        if learned:
            check_kinds(learned, template(model))
        model.__setstate__({"parameters": model.get_params(), "lists": lists, "state": learned or None})
        return model
    columns = manifest["columns"]
    expect(type(columns) is int and 0 <= columns < 2**31, f"{columns!r} columns")
    schema = manifest["schema"]
    expect(isinstance(schema, dict) and all(kind in KINDS for kind in schema.values()), "the schema is not one")
    scaling = {
        name: tensors.pop(f"scaling.{name}") for name in ("count", "mean", "spread") if f"scaling.{name}" in tensors
    }
    state = {"parameters": model.get_params(), "columns": columns, "names": names, "state": None}
    state |= {"schema": schema, "scaling": scaling}
    if "made_by" in manifest:
        good = isinstance(manifest["made_by"], dict) and parameters["features"] is None
        expect(good, "what made the rows is no features")
        state["made_by"] = Features.of(manifest["made_by"])
    if not numbers:
        expect(not (columns or names or schema or scaling), "columns of a model that has not learned")
        expect(not manifest.get("labels") and not manifest.get("codes"), "labels of a model that has not learned")
    if model.task == "classification":
        labels, codes = manifest["labels"], dict(manifest["codes"])
        expect(
            isinstance(labels, list) and all(type(k) in (bool, int, str) for k in labels), "the labels are not labels"
        )
        expect(
            len(set(labels)) == len(labels) and labels == sorted(labels, key=label_order), "the labels are not sorted"
        )
        expect(all(type(code) is float for code in codes.values()), "a code is not a number")
        places = {label: float(k) for k, label in enumerate(labels)}
        if len(labels) == 1:
            good = list(codes) == labels and codes[labels[0]] in (-1.0, 1.0)
        elif len(labels) == 2:
            good = codes == dict(zip(labels, (-1.0, 1.0), strict=True))
        else:
            good = codes.items() <= places.items()
        expect(good, "the labels and their codes disagree")
        expect(codes or not numbers.get("t"), "examples have been learned, and no label was seen")
        state |= {"labels": labels, "codes": codes}
    expect(names is None or columns <= len(names), f"{columns} columns for {len(names or ())} names")
    known_columns = max(columns, len(names or ()), getattr(model, "n_features", None) or 0)
    for one in {name.rpartition(".")[0] for name in (*numbers, *tensors)}:  # the model, or those within it
        own = f"{one}." if one else ""
        records = numbers.get(f"{own}records", len(tensors[f"{own}w"]) if f"{own}w" in tensors else None)
        if records is not None:
            expect(columns <= records - 1 <= known_columns, f"{records} records for {known_columns} columns")
    if numbers:
        state["state"] = {**numbers, **tensors}
        check_kinds(state["state"], template(model))
    model.__setstate__(state)
    if numbers and model.task == "classification":
        expect(
            model._learner.classes == (1 if len(labels) <= 2 else len(labels)), "the labels and the classes disagree"
        )
    return model


def expect_numbers(numbers: Any) -> None:
    """Refuse a number that is not finite, and a count below 0 or too large."""
    for name, number in numbers.items():
        expect(
            type(number) in (int, float) and math.isfinite(number), f"{name} is {number!r}; expected a finite number"
        )
        expect(type(number) is float or 0 <= number < 2**62, f"{name} is {number!r}; expected a count")


def expect_arrays(tensors: dict[str, np.ndarray]) -> None:
    """Refuse an array of another type than a learner has, and values that are not finite."""
    for name, tensor in tensors.items():
        expect(tensor.dtype.kind in "fi" and tensor.dtype.itemsize in (4, 8), f"{name} has type {tensor.dtype}")
        expect(np.isfinite(tensor).all(), f"{name} holds a value that is not finite")


def rebuild_wrapper(manifest: dict[str, Any], tensors: dict[str, np.ndarray]) -> Model:
    """A model around models: each of these has its own manifest, and arrays whose names begin with its number."""
    from seriatim.wrapper import wrapper_named

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
    """The lists of labels, none of them twice; they are taken from `tensors`."""
    expect(isinstance(names, list) and all(isinstance(name, str) for name in names), "the lists have no names")
    lists = {name: json.loads(tensors.pop(f"list.{name}").tobytes()) for name in names}
    for name, values in lists.items():
        simple = isinstance(values, list) and all(type(value) in (bool, int, str) for value in values)
        expect(simple and len({(type(v), v) for v in values}) == len(values), f"{name} is no list of different names")
    return lists


def template(model: Model) -> dict[str, Any]:
    """The state of a new learner with the parameters of this model."""
    fresh = type(model)(**model.get_params())
    fresh._start()
    return fresh._learner.state()


def check_kinds(state: dict[str, Any], template: dict[str, Any]) -> None:
    """Refuse a state whose names, types or dimensions are not those of the template."""
    expect(set(state) == set(template), f"expected {', '.join(sorted(template))}, found {', '.join(sorted(state))}")
    for name, value in template.items():
        expect(type(state[name]) is type(value), f"{name} is not a {type(value).__name__}")
        if isinstance(value, np.ndarray):
            expect(state[name].dtype == value.dtype, f"{name} has type {state[name].dtype}; expected {value.dtype}")
            expect(state[name].ndim == value.ndim, f"{name} has {state[name].ndim} dimensions; expected {value.ndim}")

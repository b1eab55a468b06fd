"""Model files: safetensors with a JSON manifest. Everything is checked before anything is built."""

from __future__ import annotations

import json
import math
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from seriatim import catalogue
from seriatim.errors import ModelError

if TYPE_CHECKING:
    from seriatim.estimator import Estimator

VERSION = 1


def save(model: Estimator, path: str | os.PathLike[str]) -> None:
    """Write a model: to a temporary file beside it, flushed, and renamed, so that the name never holds half of one."""
    from safetensors.numpy import save_file

    state = model.__getstate__()
    names, learned = state.pop("names"), state.pop("state") or {}
    manifest = {
        "version": VERSION,
        "class": type(model).__name__,
        **state,
        "codes": list(state.get("codes", {}).items()),
        "named": names is not None,
        "numbers": {name: value for name, value in learned.items() if not isinstance(value, np.ndarray)},
    }
    tensors = {name: np.ascontiguousarray(value) for name, value in learned.items() if isinstance(value, np.ndarray)}
    if names is not None:
        tensors["feature_names"] = np.frombuffer(json.dumps(names).encode(), dtype=np.uint8)
    path = Path(path)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    os.close(handle)
    try:
        save_file(tensors, temporary, metadata={"seriatim": json.dumps(manifest, default=lambda value: value.tolist())})
        with Path(temporary).open("rb") as file:
            os.fsync(file.fileno())
        Path(temporary).chmod(0o666 & ~umask())
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current


def load(path: str | os.PathLike[str]) -> Estimator:
    """The model in a file, as it was: it goes on bit for bit."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118, not a dict
    except (SafetensorError, ValueError, TypeError, KeyError, OverflowError) as error:
        raise ModelError(f"{path}: not a model file: {error}") from None
    try:
        return rebuild(json.loads(metadata["seriatim"]), tensors)
    except KeyError as error:
        raise ModelError(f"{path}: not a whole model: {error} is missing") from None
    except (ValueError, TypeError, AttributeError, IndexError, OverflowError, RecursionError) as error:
        raise ModelError(f"{path}: {error}") from None


def expect(condition: Any, problem: str) -> None:
    if not condition:
        raise ModelError(problem)


def rebuild(manifest: dict[str, Any], tensors: dict[str, np.ndarray]) -> Estimator:
    expect(isinstance(manifest, dict), "the manifest is not an object")
    version = manifest["version"]
    expect(version == VERSION, f"format version {version!r}; this program reads version {VERSION}")
    known = catalogue.algorithms()
    expect(manifest["class"] in known, f"no algorithm is called {manifest['class']!r}")
    model = known[manifest["class"]](**manifest["parameters"])
    model._check_parameters()
    numbers = manifest["numbers"]
    for name, number in numbers.items():
        expect(
            type(number) in (int, float) and math.isfinite(number), f"{name} is {number!r}; expected a finite number"
        )
        expect(type(number) is float or 0 <= number < 2**62, f"{name} is {number!r}; expected a count")
    names = json.loads(tensors.pop("feature_names").tobytes()) if manifest["named"] else None
    if names is not None:
        expect(isinstance(names, list) and all(isinstance(n, str) for n in names), "feature names are not strings")
    for name, tensor in tensors.items():
        expect(tensor.dtype.kind in "fi" and tensor.dtype.itemsize in (4, 8), f"{name} has type {tensor.dtype}")
        expect(np.isfinite(tensor).all(), f"{name} holds a value that is not finite")
    columns = manifest["columns"]
    expect(type(columns) is int and 0 <= columns < 2**31, f"{columns!r} columns")
    state = {"parameters": model.get_params(), "columns": columns, "names": names, "state": None}
    if model.task == "classification":
        labels, codes = manifest["labels"], dict(manifest["codes"])
        expect(
            isinstance(labels, list) and all(type(k) in (bool, int, str) for k in labels), "the labels are not labels"
        )
        expect(set(codes) <= set(labels) and len(set(labels)) == len(labels), "the labels and their codes disagree")
        allowed = {-1.0, 1.0} if len(labels) <= 2 else set(range(len(labels)))
        expect(all(type(c) is float and c in allowed for c in codes.values()), "a label has a code that it cannot have")
        state |= {"labels": labels, "codes": codes}
    if numbers:
        state["state"] = {**numbers, **tensors}
    model.__setstate__(state)
    return model

"""Model files changed by structure, each loaded and used: `python -m tests.fuzz models N [seed [first]]`.

A seed is the file of a tiny model. Some of its numbers, arrays, names, parameters and labels are changed, and what
loads predicts, learns, is looked at, saved and loaded again. Cases run in children, a few hundred each, so that a
crash, a hang or memory without bounds is the end of one child and is known by the seed that repeats it.
"""

from __future__ import annotations

import faulthandler
import json
import mmap
import os
import random
import resource
import shutil
import signal
import struct
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load as unpack
from safetensors.numpy import save as pack

import seriatim
from seriatim.errors import ModelError, SeriatimError
from seriatim.kernel import Gaussian, Linear
from seriatim.parameters import Choice, Flag
from tests.test_contract import REQUIRED_ARGUMENTS, SETTINGS, most_labels, same, task_of

BATCH = 400  # cases per child process
SECONDS = 10.0  # of processor time, for one case
FREE = 64 << 20  # what any file may take,
TIMES = 16  # and how much more for each of its bytes
USE = 16  # a loaded model that learns new labels and columns is several times as large, and is saved and loaded again
ADDRESSES = 3 << 30  # beyond what the program has: a runaway allocation is an error here, not the end of the machine

# Smaller than what the contract asks for, so that files are tiny and cases quick.
TINY: dict[str, dict[str, Any]] = {
    "EG": {"n_features": 5},
    "MirrorDescent": {"n_features": 5},
    "OnlinePCA": {"n_features": 5},
    "HalfSpaceTrees": {"trees": 3, "depth": 3, "window": 5, "n_features": None},
    "FOGD": {"n_components": 7},
    "DictionaryLearning": {"n_atoms": 4, "batch": 5},
    "LDA": {"n_topics": 3, "batch": 6},
    "HDP": {"max_topics": 4, "doc_topics": 2, "batch": 6},
    "BayesianSparse": {"sweeps": 20, "memory": 3},
    "UniversalPortfolio": {"samples": 9},
    "Anticor": {"window": 4},
    "OMDL": {"kernels": [Gaussian(1.0), Linear()]},
}
PLAIN = {
    "BayesianSparse": [{"memory": None}],
    "HalfSpaceTrees": [{"n_features": 5}],
    "EG": [{"n_features": None}],
    "CSPA": [{"rho": {(0, 1): 4.0}}],
}

WHOLE = [0, 1, 2, 3, 7, 16, 17, 1000, 2**16, 2**20, 2**24, 2**28, 2**31 - 2, 2**31 - 1, 2**31, 2**32, 2**53, 2**61,
         2**62 - 1, 2**62, 2**63 - 1, 2**63, 2**64, -1, -2, -(2**31), -(2**63), 10**30]  # fmt: skip
REAL = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 1e-5, 5e-324, -5e-324, 1e-300, 1e-150, 1e-50, 1e50, -1e50, 1e51, 1e100, 1e150,
        1e200, 1.7e308, -1.7e308, 1e9, 3e9, 2.0**53, -1e-9, 1 + 2**-52]  # fmt: skip
ODD = [
    None,
    True,
    False,
    "",
    "a",
    "1",
    "\ud800",
    [],
    {},
    [0],
    [[0]],
    [None],
    {"a": 1},
    float("nan"),
    float("inf"),
    1e999,
]
LABELS = [0, 1, 2, -1, True, False, "", "a", "b", "c", "é", 2**62, 2**70, -(2**63), 0.5, None, [], 1.0]
KINDS = [np.float32, np.float16, np.int32, np.int64, np.uint8, np.int16, np.uint64, np.bool_]


# Why what has loaded may not be saved: it has learned until numbers end, or counts from where nobody could count to.
REFUSED = ("diverged", "expected a count")


class Failure(Exception):
    """An outcome that is a bug."""


def expect(condition: object, problem: str) -> None:
    if not condition:
        raise Failure(problem)


# ---- seeds


@dataclass
class Seed:
    """A model file in parts."""

    name: str
    manifest: dict[str, Any]
    arrays: dict[str, np.ndarray]
    note: list[str] = field(default_factory=list)  # the changes

    def copy(self) -> Seed:
        return Seed(self.name, deepcopy(self.manifest), dict(self.arrays))

    def data(self) -> bytes:
        text = json.dumps(self.manifest)
        return pack({k: np.ascontiguousarray(v) for k, v in self.arrays.items()}, metadata={"seriatim": text})


def settings() -> Iterator[tuple[str, type, list[dict[str, Any]]]]:
    """Each algorithm with its default, each of its choices and flags, and what else leads to other code."""
    for name, cls in seriatim.algorithms().items():
        required = {**REQUIRED_ARGUMENTS.get(name, {}), **TINY.get(name, {})}
        chosen: list[dict[str, Any]] = [{}, *SETTINGS.get(name, []), *PLAIN.get(name, [])]
        for parameter, declared in cls.parameters.items():
            if isinstance(declared, Choice):
                chosen += [{parameter: option} for option in declared.options if option != declared.default]
            if isinstance(declared, Flag):
                chosen.append({parameter: not declared.default})
        yield name, cls, [{**required, **one} for one in chosen]


def models(cls: type, parameters: dict[str, Any], every: bool, number: int) -> Iterator[Any]:
    """Tiny models of one setting: all variants, or the plain one and another."""
    variants = VARIANTS[kind_of(cls)]
    for place, variant in enumerate(variants):
        if every or place == 0 or place == 1 + number % max(1, len(variants) - 1):
            try:
                model = variant(cls, parameters)
            except SeriatimError:  # not every variant is for every algorithm
                continue
            if model is not None:
                yield model


def kind_of(cls: Any) -> str:
    if hasattr(cls, "learn_rows"):
        return "labels" if task_of(cls) == "classification" else "rows"
    return cls.task


def rows_for(cls: Any, n: int = 14, d: int = 5) -> np.ndarray:
    X = np.random.default_rng(0).standard_normal((n, d))
    X[::3, 2] = 0
    return np.ceil(np.abs(X)) if getattr(cls, "nonnegative", False) else X


def learned(cls: Any, parameters: dict[str, Any], labels: list[Any], X: np.ndarray | None = None) -> Any:
    X = rows_for(cls) if X is None else X
    y = np.array([labels[k % len(labels)] for k in range(len(X))], dtype=object)
    return cls(**parameters).partial_fit(X, y)


def told(cls: Any, parameters: dict[str, Any], labels: list[Any] | None, names: tuple[str, ...]) -> Any:
    model = cls(**parameters)
    for k, x in enumerate(rows_for(cls)[:6].tolist()):
        example: dict[str, Any] = dict(zip(names, x, strict=False))
        if isinstance(model.features, dict):
            example["t"] = "one two" if k % 2 else "two three"
        model.learn_one(example, x[0] if labels is None else labels[k % len(labels)])
    return model


def table(cls: Any, parameters: dict[str, Any], labels: list[Any] | None) -> Any:
    scale = "unit" if cls.nonnegative or cls.__name__ == "OnlinePCA" else "standard"
    features = {"normalize": scale, "text": ["t"], "cross": [["a", "t"]]}
    return told(cls, {**parameters, "features": features}, labels, ("a", "b\n"))


def few(cls: Any, labels: list[Any]) -> list[Any]:
    return labels[: 2 if most_labels(cls) == 2 else None]


NAMES = ("a", "b\n", "ü", "x0", "x1")
VARIANTS: dict[str, list[Callable[[Any, dict[str, Any]], Any]]] = {
    "labels": [
        lambda cls, p: learned(cls, p, [1, -1]),
        lambda cls, p: learned(cls, p, few(cls, [0, 1, 2])),
        lambda cls, p: told(cls, p, few(cls, ["x", "y", "z"]), NAMES),
        lambda cls, p: table(cls, p, few(cls, [True, False])),
        lambda cls, p: learned(cls, {**p, "classes": few(cls, ["a", "b", "c", "d"])}, few(cls, ["b", "a", "d"])),
        lambda cls, p: learned(cls, p, ["a"], rows_for(cls)[:2]),
        lambda cls, p: learned(cls, {**p, "features": {"normalize": "max"}}, [0, 1]),
        lambda cls, p: cls(**p),
    ],
    "rows": [
        lambda cls, p: cls(**p).partial_fit(rows_for(cls), rows_for(cls)[:, 0]),
        lambda cls, p: told(cls, p, None, NAMES),
        lambda cls, p: table(cls, p, None),
        lambda cls, p: cls(**p).partial_fit(rows_for(cls)[:2], rows_for(cls)[:2, 0]),
        lambda cls, p: cls(**p),
    ],
    "recommendation": [
        lambda cls, p: cls(**p).partial_fit([0, 1, 2, 3] * 4, ["a", "b\n", "ü", "a"] * 4, [1, 2, 4, 5] * 4),
        lambda cls, p: cls(**p).learn_one("u", "a", 3.0),
        lambda cls, p: cls(**p),
    ],
    "portfolio selection": [
        lambda cls, p: cls(**p).partial_fit(np.exp(0.1 * rows_for(cls)[:, :3])),
        lambda cls, p: cls(**p).learn_one([0.9, 1.1]),
        lambda cls, p: cls(**p),
    ],
    "retrieval": [
        lambda cls, p: cls(**p).partial_fit(rows_for(cls)[:6, :3], [[0, 1, 2], [3, 4, 5], [1, 0, 5]]),
        lambda cls, p: cls(**p),
    ],
}


def seeds(folder: Path) -> list[Seed]:
    """The files of tiny models of all algorithms."""
    made = []
    for name, cls, chosen in settings():
        for number, parameters in enumerate(chosen):
            for model in models(cls, parameters, number == 0, number):
                model.save(folder / "seed")
                made.append(taken_apart(name, (folder / "seed").read_bytes()))
    wide = np.zeros((12, 700))
    wide[:, [3, 500, 699]] = rows_for(seriatim.PA)[:12, :3]
    for cls in (seriatim.PA, seriatim.SoftSVM):  # arrays of which the non-zeros are stored
        cls().partial_fit(wide, np.arange(12) % 3).save(folder / "seed")
        made.append(taken_apart(cls.__name__, (folder / "seed").read_bytes()))
    return made


def taken_apart(name: str, data: bytes) -> Seed:
    length = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8 : 8 + length])
    return Seed(name, json.loads(header["__metadata__"]["seriatim"]), unpack(data))


# ---- mutations: each changes one part of a file and describes the change


def whole(rng: random.Random, now: int) -> int:
    return rng.choice([*WHOLE, now + 1, now - 1, 2 * now, now // 2, now + rng.randrange(-5, 6)])


def real(rng: random.Random, now: float) -> float:
    return rng.choice([*REAL, -now, 2 * now, now / 3, 1 + now, now - 1, now * 1e150, now * 1e-150])


def change(rng: random.Random, value: Any) -> Any:
    """Another value of the same kind; seldom of another."""
    if rng.random() < 0.05:
        return deepcopy(rng.choice(ODD))
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return whole(rng, value) if rng.random() < 0.95 else float(value)
    if isinstance(value, float):
        return real(rng, value) if rng.random() < 0.95 else int(min(max(value, -1e9), 1e9))
    if value is None:
        return rng.choice([*WHOLE[:12], *REAL[:8], 5])
    return deepcopy(rng.choice([*ODD, *LABELS]))


def change_number(rng: random.Random, seed: Seed, others: list[Seed]) -> str | None:
    numbers = seed.manifest["numbers"]
    if not numbers:
        return None
    name = rng.choice([*numbers])
    if rng.random() < 0.15:
        numbers[name] = numbers[rng.choice([*numbers])]
    else:
        numbers[name] = change(rng, numbers[name])
    return f"{name}={numbers[name]!r}"


def change_numbers_together(rng: random.Random, seed: Seed, others: list[Seed]) -> str | None:
    """Several that must agree are moved alike, so that what looks at one alone is passed."""
    numbers = seed.manifest["numbers"]
    chosen = [name for name, value in numbers.items() if type(value) is int and rng.random() < 0.6]
    if not chosen:
        return None
    to, add = rng.choice(WHOLE), rng.random() < 0.5
    for name in chosen:
        numbers[name] = numbers[name] + to if add else to
    return f"{'+' if add else ''}{to} in {', '.join(chosen)}"


def change_parameter(rng: random.Random, seed: Seed, others: list[Seed]) -> str | None:
    parameters = seed.manifest["parameters"]
    if not parameters:
        return None
    name = rng.choice([*parameters])
    declared = seriatim.algorithms()[seed.name].parameters.get(name)
    if isinstance(declared, Choice) and rng.random() < 0.8:
        parameters[name] = rng.choice([*declared.options, None])
    elif isinstance(parameters[name], dict | list) and parameters[name]:
        edit(rng, parameters[name])
    else:
        parameters[name] = change(rng, parameters[name])
    return f"{name}={parameters[name]!r}"


def pick(rng: random.Random, seed: Seed) -> str | None:
    return rng.choice([*seed.arrays]) if seed.arrays else None


def change_shape(rng: random.Random, seed: Seed, others: list[Seed]) -> str | None:
    name = pick(rng, seed)
    if name is None:
        return None
    seed.arrays[name] = reshaped(rng, seed.arrays[name])
    return f"{name} has the shape {seed.arrays[name].shape}"


def reshaped(rng: random.Random, array: np.ndarray) -> np.ndarray:
    kind = rng.randrange(9)
    axis = rng.randrange(array.ndim) if array.ndim else 0
    if array.ndim == 0 or kind == 0:
        return array.reshape(-1) if array.ndim != 1 else array.reshape(-1, 1)
    if kind == 1 and array.shape[axis]:
        return np.delete(array, rng.randrange(array.shape[axis]), axis)
    if kind == 2 and array.shape[axis]:
        return np.repeat(array, rng.choice([1, 2, 3]), axis)
    if kind == 3:
        return np.concatenate([array, np.zeros_like(array.take([0], axis) if array.shape[axis] else array)], axis)
    if kind == 4 and array.shape[axis]:
        return np.concatenate([array, array.take([rng.randrange(array.shape[axis])], axis)], axis)
    if kind == 5:
        return array.take([], axis)
    if kind == 6:
        return array.T
    if kind == 7:
        return array[None]
    return array[: rng.randrange(len(array) + 1)]


def change_length_together(rng: random.Random, seed: Seed, others: list[Seed]) -> str | None:
    """All arrays of one length, and the counts that say it, grow or shrink alike."""
    name = pick(rng, seed)
    if name is None or not seed.arrays[name].ndim:
        return None
    n = len(seed.arrays[name])
    to = rng.choice([0, n - 1, n + 1, 2 * n, n + 20])
    if to < 0:
        return None
    for other, array in seed.arrays.items():
        if array.ndim and len(array) == n:
            more = np.zeros((max(to - n, 0), *array.shape[1:]), dtype=array.dtype)
            seed.arrays[other] = np.concatenate([array[:to], more])
    for holder in (seed.manifest, seed.manifest["numbers"]):
        for key, value in holder.items():
            if type(value) is int and value in (n, n - 1) and rng.random() < 0.8:
                holder[key] = value + to - n
    return f"arrays of length {n} have {to}"


def change_dtype(rng: random.Random, seed: Seed, others: list[Seed]) -> str | None:
    name = pick(rng, seed)
    if name is None:
        return None
    seed.arrays[name] = seed.arrays[name].astype(rng.choice(KINDS))
    return f"{name} is {seed.arrays[name].dtype}"


def change_names(rng: random.Random, seed: Seed, others: list[Seed]) -> str | None:
    holder: dict[str, Any] = rng.choice(
        [seed.arrays, seed.arrays, seed.manifest["numbers"], seed.manifest["parameters"]]
    )
    if not holder:
        return None
    name, other, kind = rng.choice([*holder]), rng.choice([*holder]), rng.randrange(4)
    if kind == 0:
        del holder[name]
        return f"no {name}"
    if kind == 1:
        holder[name], holder[other] = holder[other], holder[name]
        return f"{name} and {other} swapped"
    new = rng.choice(["extra", "t", "w", "0.w", "sigma", "records", f"{name}.index", "scaling.mean", "list.users"])
    holder[new] = holder[name]
    if kind == 2 and new != name:
        del holder[name]
    return f"{name} as {new}"


def change_class(rng: random.Random, seed: Seed, others: list[Seed]) -> str | None:
    """Parts of one file in another: the name of the class, what was learned, or how."""
    same_name = [one for one in others if one.name == seed.name]
    other = rng.choice(same_name if rng.random() < 0.6 else others)
    kind = rng.randrange(4)
    if kind == 0:
        seed.manifest["class"] = rng.choice(others).name
        return f"the class is {seed.manifest['class']}"
    if kind == 1:
        seed.manifest["parameters"] = deepcopy(other.manifest["parameters"])
        return f"the parameters of a {other.name}"
    if kind == 2:
        seed.manifest["numbers"], seed.arrays = deepcopy(other.manifest["numbers"]), dict(other.arrays)
        return f"the state of a {other.name}"
    names = [name for name in seed.arrays if name in other.arrays and rng.random() < 0.5]
    seed.arrays |= {name: other.arrays[name] for name in names}
    return f"{', '.join(names)} of a {other.name}"


def change_values(rng: random.Random, seed: Seed, others: list[Seed]) -> str | None:
    name = pick(rng, seed)
    if name is None or not seed.arrays[name].size:
        return None
    array = seed.arrays[name].copy()
    flat = array.reshape(-1)
    kind, place = rng.randrange(9), rng.randrange(flat.size)
    with np.errstate(all="ignore"):
        if kind < 3:
            for at in [place, *(rng.randrange(flat.size) for _ in range(rng.choice([0, 0, 1, 3])))]:
                flat[at] = fitting(rng, array.dtype, flat[at].item())
        elif kind == 3:
            flat[:] = fitting(rng, array.dtype, flat[place].item())
        elif kind == 4:
            rng.shuffle(values := flat.tolist())
            flat[:] = values
        elif kind == 5:
            flat[:] = flat[::-1].copy() if rng.random() < 0.5 else np.sort(flat)
        elif kind == 6:
            flat[rng.randrange(flat.size)] = flat[place]
        elif kind == 7 and array.ndim:
            array[rng.randrange(len(array))] = array[rng.randrange(len(array))]
        elif array.dtype.kind == "f":
            array *= rng.choice([-1.0, 1e50, 1e150, 1e300, 1e-300, 0.0])
            np.nan_to_num(array, copy=False)
    seed.arrays[name] = array
    return f"values of {name} (kind {kind})"


def fitting(rng: random.Random, dtype: np.dtype, now: Any) -> Any:
    if dtype.kind == "f":
        return real(rng, now)
    least, most = (0, 1) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    return min(max(whole(rng, int(now)), least), most)


def change_text(rng: random.Random, seed: Seed, others: list[Seed]) -> str | None:
    """The lists in the file: names of features, users, items."""
    names = [name for name, array in seed.arrays.items() if array.dtype == np.uint8]
    if not names:
        return None
    name = rng.choice(names)
    try:
        values = json.loads(seed.arrays[name].tobytes())
    except ValueError:
        return None
    edit_list(rng, values) if isinstance(values, list) else None
    seed.arrays[name] = np.frombuffer(json.dumps(values).encode(), dtype=np.uint8)
    return f"{name} is {values!r:.100}"


def edit_list(rng: random.Random, values: list[Any]) -> None:
    kind = rng.randrange(6)
    place = rng.randrange(len(values)) if values else 0
    if kind == 0 and values:
        del values[place]
    elif kind == 1:
        values.insert(place, rng.choice(LABELS))
    elif kind == 2 and values:
        values.append(values[place])
    elif kind == 3 and values:
        values[place] = rng.choice(LABELS)
    elif kind == 4:
        rng.shuffle(values)
    else:
        values.append("new")


def change_frame(rng: random.Random, seed: Seed, others: list[Seed]) -> str | None:
    """Columns, labels, codes, schema, lists, version: what is neither learned nor a parameter."""
    keys = [key for key in seed.manifest if key not in ("numbers", "parameters", "class")]
    key = rng.choice(keys)
    value = seed.manifest[key]
    if isinstance(value, list) and rng.random() < 0.7:
        edit_list(rng, value)
    elif isinstance(value, dict | list) and value:
        edit(rng, value)
    elif key == "schema":
        seed.manifest[key] = {rng.choice(["a", "t", "x0"]): rng.choice(["number", "text", "category", "bool", "x", 1])}
    else:
        seed.manifest[key] = change(rng, value)
    return f"{key} is {seed.manifest[key]!r:.100}"


def change_columns(rng: random.Random, seed: Seed, others: list[Seed]) -> str | None:
    """More columns, and the counts of records with them: a model that says it is wide."""
    if "columns" not in seed.manifest:
        return None
    to = rng.choice([6, 17, 100, 2**14, 2**18, 2**20, 2**22, 2**24, 2**28, 2**31 - 2])
    seed.manifest["columns"] = to
    for key, value in seed.manifest["numbers"].items():
        if key.rpartition(".")[2] == "records" and type(value) is int:
            seed.manifest["numbers"][key] = to + 1
    for name, shape in seed.manifest.get("sparse", {}).items():
        if isinstance(shape, list) and shape:
            seed.manifest["sparse"][name] = [to + 1, *shape[1:]]
    return f"{to} columns"


def make_thin(rng: random.Random, seed: Seed, others: list[Seed]) -> str | None:
    """An array stored by its non-zeros, in a shape that is larger than it was."""
    names = [name for name, a in seed.arrays.items() if a.dtype == np.float64 and a.ndim in (1, 2) and a.size]
    if not names or not isinstance(seed.manifest.get("sparse", {}), dict):
        return None
    to = rng.choice([0, 2**10, 2**16, 2**20, 2**22, 2**24, 2**26, 2**29])
    chosen = [name for name in names if seed.arrays[name].shape[0] == seed.arrays[rng.choice(names)].shape[0]]
    for name in chosen:
        array = seed.arrays.pop(name)
        index = np.flatnonzero(array)
        seed.arrays[f"{name}.index"] = index.astype(np.int32)
        seed.arrays[f"{name}.value"] = array.reshape(-1)[index]
        seed.manifest.setdefault("sparse", {})[name] = [max(to, len(array)), *array.shape[1:]]
    if "columns" in seed.manifest and rng.random() < 0.8:
        seed.manifest["columns"] = max(to - 1, 0)
    return f"{', '.join(chosen)} thin, of {to} rows"


CHANGES: list[tuple[Callable[[random.Random, Seed, list[Seed]], str | None], int]] = [
    (change_number, 20),
    (change_numbers_together, 6),
    (change_parameter, 16),
    (change_shape, 8),
    (change_length_together, 6),
    (change_dtype, 2),
    (change_names, 4),
    (change_class, 8),
    (change_values, 24),
    (change_text, 3),
    (change_frame, 6),
    (change_columns, 3),
    (make_thin, 2),
]


def changed(rng: random.Random, files: list[Seed]) -> Seed:
    """A file with one thing changed, or several."""
    seed = rng.choice(files).copy()
    wanted = rng.choice((1, 1, 1, 1, 2, 2, 3, 5))
    for _ in range(10 * wanted):
        by = rng.choices([one for one, _ in CHANGES], [weight for _, weight in CHANGES])[0]
        try:
            note = by(rng, seed, files)
        except (KeyError, TypeError, AttributeError, ValueError, IndexError, OverflowError):
            continue  # what was changed before leaves nothing of this kind to change
        if note is not None:
            seed.note.append(note)
            if len(seed.note) == wanted:
                break
    return seed


def damaged(rng: random.Random, case: Seed) -> bytes:
    """The bytes of a file, some of which are others."""
    case.note.append("damaged bytes")
    data = bytearray(case.data())
    for _ in range(rng.choice((1, 1, 2, 4))):
        at, kind = rng.randrange(len(data) or 1), rng.randrange(5) if data else 3
        if kind == 0:
            data[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            data[at] = rng.choice(b'\x00\xff"{}[],:0123456789-eE')
        elif kind == 2:
            del data[at : at + rng.choice((1, 1, 8, 64))]
        elif kind == 3:
            data[at:at] = rng.choice([b"0", b"-", b'"', b"\x00" * 8, b"\xff" * 8, struct.pack("<d", -1.0)])
        else:
            data = data[: at + 1]
    return bytes(data)


def edit(rng: random.Random, tree: Any) -> None:
    """Change, remove, repeat or swap one item somewhere below."""
    while True:
        keys = list(tree) if isinstance(tree, dict) else list(range(len(tree)))
        if not keys:
            return
        key = rng.choice(keys)
        item = tree[key]
        if isinstance(item, dict | list) and item and rng.random() < 0.85:
            tree = item
            continue
        kind = rng.randrange(8)
        if kind == 0:
            del tree[key]
        elif kind == 1 and isinstance(tree, dict):
            tree[rng.choice(["extra", "t", "w", f"{key}_"])] = deepcopy(item)
        elif kind == 1:
            tree.append(deepcopy(item))
        elif kind == 2:
            tree[key] = deepcopy(tree[rng.choice(keys)])
        else:
            tree[key] = change(rng, item)
        return


# ---- use of a loaded model


def allowed(act: Callable[[], Any]) -> None:
    """Do it; an error of ours is an answer, and so is one that says what there is no memory for."""
    try:
        act()
    except SeriatimError:
        pass
    except MemoryError as error:
        expect(str(error), "a MemoryError that says nothing")


def acts(model: Any) -> Iterator[Callable[[], Any]]:
    """Use a loaded model as users do."""
    yield lambda: repr(model)
    yield lambda: model.__getstate__()
    if not hasattr(model, "learn_rows"):
        yield from OTHER_ACTS[model.task](model)
    else:
        yield from acts_of_rows(model)
    for name in dir(type(model)):
        if name.endswith("_") and not name.startswith("_"):
            yield lambda name=name: getattr(model, name, None)
    yield lambda: model.__getstate__()


def acts_of_rows(model: Any) -> Iterator[Callable[[], Any]]:
    columns = max(5, min(model.n_columns, 2000))
    X = np.abs(np.sin(np.arange(4 * columns))).reshape(4, columns)
    wider = np.abs(np.cos(np.arange(4 * (columns + 12)))).reshape(4, columns + 12)
    task = task_of_model(model)
    labels = [*getattr(model, "_labels", []), 1, 2][:2]
    y = np.array([labels[0], labels[1], labels[1], labels[0]], dtype=object) if task == "classification" else X[:, 0]
    one = {"ü": 1.0, "a": 2.0, "new": 1.0, "b\n": 0.5, "x0": 1.0}
    target = labels[0] if task == "classification" else 0.5
    answers = model.transform if task == "representation" else model.predict
    answer_one = model.transform_one if task == "representation" else model.predict_one
    yield lambda: answers(X)
    yield lambda: answer_one(one)
    yield lambda: model.score_one(one)
    if task == "classification":
        yield lambda: model.decision_function(X)
        yield lambda: model.predict_proba(X) if hasattr(model, "predict_proba") else None
    yield lambda: model.partial_fit(X, y)
    yield lambda: model.learn_one(one, target)
    yield lambda: answers(X)
    yield lambda: model.partial_fit(wider, y)
    yield lambda: model.learn_one({"newer": 1.0, **one}, target)
    if task == "classification":
        yield lambda: model.partial_fit(wider, ["another", labels[0], "another", 7])
        yield lambda: model.learn_one(one, "one more")
    yield lambda: answers(wider)
    yield lambda: answer_one(one)


def task_of_model(model: Any) -> str:
    try:
        return str(model.task)
    except SeriatimError:
        return "regression"


def acts_of_market(model: Any) -> Iterator[Callable[[], Any]]:
    weights = model.weights_ if model._learner is not None and model._learner.t else None
    n = 3 if weights is None else len(weights)
    day = np.linspace(0.9, 1.1, n)
    yield lambda: model.learn_one(day)
    yield lambda: model.partial_fit(np.stack([day, day[::-1], day]))
    yield lambda: model.weights_


def acts_of_ratings(model: Any) -> Iterator[Callable[[], Any]]:
    yield lambda: model.predict([1, 2], ["a", "new"])
    yield lambda: model.partial_fit([1, "new"] * 5, ["a", "ü"] * 5, [model.low] * 10)
    yield lambda: model.learn_one(2, "newer", model.high)
    yield lambda: model.recommend(1, 3)
    yield lambda: model.nearest("a", 3)
    yield lambda: model.predict([1, 2], ["a", "new"])


def acts_of_retrieval(model: Any) -> Iterator[Callable[[], Any]]:
    X = rows_for(seriatim.OASIS)[:6, :3]
    yield lambda: model.order(0, [1, 2])
    yield lambda: model.order(X[0], [X[1], 2 * X[2]])
    yield lambda: model.partial_fit(X, [[0, 1, 2], [3, 4, 5]])
    yield lambda: model.partial_fit(None, [[0, 1, 2]])
    yield lambda: model.order(X[0], [X[1], 2 * X[2]])


OTHER_ACTS = {
    "portfolio selection": acts_of_market,
    "recommendation": acts_of_ratings,
    "retrieval": acts_of_retrieval,
}


def check(path: Path, size: int, watch: Watch) -> bool:
    """Load a file and use the model. Returns whether it loaded."""
    watch.begin()
    try:
        model = seriatim.load(path)
    except ModelError as error:
        expect(str(path) in str(error), f"the file is not named: {error}")
        watch.end("loading", size, 1)
        cause = error.__context__
        expect(not isinstance(cause, MemoryError) or str(cause), f"memory was asked for in vain: {error}")
        return False
    watch.end("loading", size, 1)
    for act in acts(model):
        allowed(act)
    try:
        model.save(path)
    except ModelError as error:
        expect(any(word in str(error) for word in REFUSED), f"the model cannot be saved: {error}")
    except MemoryError as error:
        expect(str(error), "a MemoryError that says nothing")
    else:
        again = seriatim.load(path)
        expect(same(as_saved(again), as_saved(model)), "what was saved is another model")
    watch.end("use", size, USE)
    return True


def as_saved(model: Any) -> dict[str, Any]:
    """The state without what a file does not have: how weights are shown, and parameters in one of several forms."""
    state = {name: value for name, value in model.__getstate__().items() if name != "sparse"}
    kinds = model.parameters
    return state | {"parameters": {name: kinds[name].as_json(value) for name, value in state["parameters"].items()}}


# ---- the loop


class Watch:
    """The largest memory of this process since `begin`, where the system tells."""

    def __init__(self) -> None:
        self.known = Path("/proc/self/clear_refs").exists() and not {"ASAN_OPTIONS", "VALGRIND"} & set(os.environ)
        self.base = 0

    def read(self, name: bytes) -> int:
        text = Path("/proc/self/status").read_bytes()
        at = text.index(name)
        return int(text[at + len(name) : text.index(b"kB", at)]) << 10

    def begin(self) -> None:
        if self.known:
            Path("/proc/self/clear_refs").write_bytes(b"5")
            self.base = self.read(b"VmRSS:")

    def end(self, what: str, size: int, times: int) -> None:
        if self.known:
            taken, most = self.read(b"VmHWM:") - self.base, times * (FREE + TIMES * size)
            expect(taken <= most, f"{what} a file of {size} bytes took {taken >> 20} MB")


def run_cases(files: list[Seed], seed: int, first: int, stop: int, current: mmap.mmap, folder: Path) -> None:
    """Some cases, in this process. `current` holds which one is at work, and how many have loaded and failed."""
    watch, path = Watch(), folder / f"case{os.getpid()}"
    _, loaded, failures = struct.unpack("<qqq", current[:24])
    for i in range(first, stop):
        current[:24] = struct.pack("<qqq", i, loaded, failures)
        rng = random.Random(f"{seed} models {i}")
        case = changed(rng, files)
        try:
            data = case.data() if rng.random() < 0.95 else damaged(rng, case)
            path.write_bytes(data)
            signal.setitimer(signal.ITIMER_PROF, SECONDS)
            loaded += check(path, len(data), watch)
        except Exception as error:
            problem = str(error) if isinstance(error, Failure) else traceback.format_exc()
            failures += 1
            print(f"\n{case.name}: {'; '.join(case.note)}\n{problem}\n{repeat(seed, i)}", flush=True)
        signal.setitimer(signal.ITIMER_PROF, 0)
        if failures >= MOST_FAILURES:
            break
    current[:24] = struct.pack("<qqq", stop, loaded, failures)
    path.unlink(missing_ok=True)


MOST_FAILURES = 200


def guard() -> None:
    faulthandler.enable()
    faulthandler.register(signal.SIGPROF, chain=True)
    warnings.simplefilter("ignore")
    if not {"ASAN_OPTIONS", "VALGRIND"} & set(os.environ):
        now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (now + ADDRESSES, resource.RLIM_INFINITY))


def run(count: int, seed: int, first: int = 0) -> int:
    """Run the cases, one batch per child process. Returns the number of failures."""
    warnings.simplefilter("ignore")
    folder = Path(tempfile.mkdtemp(dir="/dev/shm" if Path("/dev/shm").is_dir() else None))
    current = mmap.mmap(-1, 24)
    try:
        files = seeds(folder)
        begun, at, stop, crashes = time.perf_counter(), first, first + count, 0
        while at < stop:
            until = min(stop, at + BATCH)
            current[:8] = struct.pack("<q", at)
            sys.stdout.flush()
            child = os.fork()
            if child == 0:
                guard()
                try:
                    run_cases(files, seed, at, until, current, folder)
                except BaseException:
                    traceback.print_exc()
                    os._exit(1)
                os._exit(0)
            status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            at, loaded, failures = struct.unpack("<qqq", current)
            if status:
                how = f"{SECONDS:g} s of processor time" if status == -signal.SIGPROF else f"status {status}"
                case = changed(random.Random(f"{seed} models {at}"), files)
                print(f"\n{case.name}: {'; '.join(case.note)}\nended with {how}\n{repeat(seed, at)}", flush=True)
                crashes += 1
                at += 1
            if failures + crashes >= MOST_FAILURES:
                break
        taken = time.perf_counter() - begun
        print(
            f"{at - first:,} models of {len(files)} files in {taken:.1f} s, {loaded:,} loaded, seed {seed}: "
            f"{failures + crashes} failures",
            flush=True,
        )
        return failures + crashes
    finally:
        shutil.rmtree(folder)


def repeat(seed: int, i: int) -> str:
    return f"repeat: python -m tests.fuzz models 1 {seed} {i}"

"""Atoms of image patches, learned in one pass, beside scikit-learn's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from bench.measure import Bench, Line, Worker, best, take_turns

SHAPES = ((8, 100), (10, 144), (12, 256))  # of a patch, and how many atoms
ROWS = 10_240


def compare(bench: Bench) -> Iterator[Line]:
    for side, atoms in SHAPES:
        file = patches(bench.files.folder / f"patches-{side}.npy", side)
        with (
            Worker(bench.python, "dictionary", "seriatim", file, atoms) as ours,
            Worker(bench.peers, "dictionary", "scikit-learn", file, atoms) as theirs,
        ):
            answers = best(take_turns(bench, {"ours": ours, "scikit-learn's": theirs}, bench.repeat))
        beside = "MiniBatchDictionaryLearning"
        what = f"dictionary of {atoms} atoms, {ROWS:,} patches of {side} x {side}"
        seconds, objectives = ([answer[key] for answer in answers.values()] for key in ("seconds", "objective"))
        yield Line(what, beside, *seconds, "s", 1 / 2)
        yield Line(f"{what}: objective", beside, *objectives, "", 1.01)


def patches(path: Path, side: int) -> Path:
    """A file of patches from a photograph, without their means, of length 1 or, where there is little to see, less."""
    if not path.exists():
        import numpy as np
        from sklearn.datasets import load_sample_image

        image = load_sample_image("china.jpg").mean(axis=2) / 255
        rng = np.random.default_rng(0)
        rows, columns = (rng.integers(0, size - side, ROWS) for size in image.shape)
        X = np.lib.stride_tricks.sliding_window_view(image, (side, side))[rows, columns].reshape(ROWS, -1)
        X = X - X.mean(axis=1, keepdims=True)
        X /= np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 0.01)
        np.save(path, X)
    return path

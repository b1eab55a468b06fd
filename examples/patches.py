"""What a photograph is made of: small patches of it come one after another, and a dictionary becomes edges.

Each patch of 12 x 12 grey pixels, without its mean, is to be a sum of few atoms; with every batch of patches the atoms
become better ones. The first are patches themselves. What they come to is what cells of the visual cortex answer to:
edges and bars, each at a place of its own and in a direction of its own. The picture shows the most used first, after
one batch, eight and eighty, and below the loss of patches that it does not learn from.

Flat patches hold little but the grain of the film. So all are divided by their length and a usual one: steep patches
then have a length of nearly 1, and of flat ones there is too little for an atom.

    python examples/patches.py [patches.png]
"""

import sys

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from matplotlib import cbook

from seriatim import DictionaryLearning

SIDE = 12  # pixels of a patch
GRID = 10  # atoms in a line of the picture
BATCH = 256
BATCHES = 80
SHOWN = (1, 8, 80)

with cbook.get_sample_data("grace_hopper.jpg") as file:
    photograph = plt.imread(file).mean(axis=2) / 255
height, width = (size // 2 * 2 for size in photograph.shape)
photograph = photograph[:height, :width].reshape(height // 2, 2, width // 2, 2).mean(axis=(1, 3))
windows = np.lib.stride_tricks.sliding_window_view(photograph, (SIDE, SIDE))
rng = np.random.default_rng(0)


def patches(n, usual):
    """From anywhere in the photograph, a row each."""
    rows, columns = (rng.integers(0, size, n) for size in windows.shape[:2])
    X = windows[rows, columns].reshape(n, -1)
    X = X - X.mean(axis=1, keepdims=True)
    return X / (np.linalg.norm(X, axis=1, keepdims=True) + usual)


def tiles(atoms):
    """The atoms as squares side by side, with a line between them."""
    picture = np.full((GRID * (SIDE + 1) - 1,) * 2, np.nan)
    for k, atom in enumerate(atoms):
        row, column = (SIDE + 1) * np.array(divmod(k, GRID))
        picture[row : row + SIDE, column : column + SIDE] = (atom / np.abs(atom).max()).reshape(SIDE, SIDE)
    return picture


usual = np.median(np.linalg.norm(windows[::4, ::4] - windows[::4, ::4].mean(axis=(2, 3), keepdims=True), axis=(2, 3)))
others = patches(500, usual)
model = DictionaryLearning(n_atoms=GRID**2, lam=0.1, batch=BATCH)
losses, shown = [], {}
for batch in range(1, BATCHES + 1):
    X = patches(BATCH, usual)
    model.partial_fit(X)
    losses.append(-model.score(others))
    if batch in SHOWN:
        often = np.argsort(-np.count_nonzero(model.transform(others), axis=0), kind="stable")
        shown[batch] = tiles(model.components_[often])
used = np.count_nonzero(model.transform(others), axis=1).mean()
print(f"loss {losses[0]:.4f} after the first batch, {losses[-1]:.4f} after the last; atoms of a patch: {used:.1f}")

figure = plt.figure(figsize=(12, 6.5), layout="constrained")
above, below = figure.subfigures(2, 1, height_ratios=(3, 1.5))
for axis, (batch, picture) in zip(above.subplots(1, len(SHOWN)), shown.items(), strict=True):
    axis.imshow(picture, cmap="gray", vmin=-1, vmax=1, interpolation="nearest")
    axis.set_title(f"after {batch * BATCH:,} patches")
    axis.axis("off")
axis = below.subplots()
axis.plot(BATCH * np.arange(1, BATCHES + 1), losses, color="black", linewidth=1)
axis.set(xlabel="patches so far", ylabel="loss of others", xlim=(0, BATCH * BATCHES))
axis.xaxis.set_major_formatter("{x:,.0f}")
axis.spines[["top", "right"]].set_visible(False)
path = sys.argv[1] if len(sys.argv) > 1 else "patches.png"
figure.savefig(path, dpi=150)
print(path)

"""Films for a stream of viewers: what each would rate, and what to show next.

Viewers have tastes in four kinds of films, of which nobody tells the model. Their ratings come one after another, and
half-way a new kind of film appears that nobody has rated. Each rating is predicted before it is told: the picture shows
the error over time, of factors learned by gradients, of the table's own decomposition, and of the mean rating; and
below how the films lie by their factors, those of a kind together.

    python examples/recommend.py [recommend.png]
"""

import sys

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

from seriatim import PMF, SVDRecommender, evaluate

KINDS = ["western", "space", "romance", "crime"]
VIEWERS, FILMS, RATINGS = 400, 200, 30_000

rng = np.random.default_rng(0)
kind = np.arange(FILMS) % len(KINDS)
taste = rng.normal(0, 1, (VIEWERS, len(KINDS)))
quality = rng.normal(0, 0.4, FILMS)
viewer = rng.integers(VIEWERS, size=RATINGS)
film = rng.integers(FILMS, size=RATINGS)
early = np.arange(RATINGS) < RATINGS // 2
film = np.where(early & (kind[film] == 3), film - 1, film)  # no crime in the first half
rating = np.clip(np.round(3 + taste[viewer, kind[film]] + quality[film] + rng.normal(0, 0.5, RATINGS)), 1, 5)
title = np.array([f"{KINDS[k]} {n // len(KINDS)}" for n, k in enumerate(kind)])

figure, (above, below) = plt.subplots(2, 1, figsize=(8, 9))
models = {"PMF": PMF(biases=True), "SVDRecommender": SVDRecommender(rank=6)}
for name, model in models.items():
    run = evaluate.progressive(model, (viewer, title[film]), rating, window=1000)
    print(f"{name}: RMSE {run.rmse:.3f}, MAE {run.mae:.3f}, NDCG@10 {run.ndcg:.3f}")
    above.plot(*zip(*run.curves["rmse, last 1,000"], strict=True), label=name)
mean = np.append(3.0, np.cumsum(rating)[:-1] / np.arange(1, RATINGS))
above.plot([500, RATINGS], [np.sqrt(np.mean((rating - mean) ** 2))] * 2, ":", color="gray", label="the mean so far")
above.axvline(RATINGS // 2, color="lightgray", zorder=0)
above.text(RATINGS // 2, 0.85, " crime films appear", transform=above.get_xaxis_transform(), fontsize=9)
above.set_ylabel("RMSE of the last 1,000")
above.set_xlabel("ratings")
above.legend(frameon=False)

model = models["SVDRecommender"]
names, rows = model.item_factors_
plane = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)[2][:2]
for one in KINDS:
    places = [n for n, name in enumerate(names) if name.startswith(one)]
    below.scatter(*(rows[places] @ plane.T).T, s=14, label=one)
below.set_title("Films by their factors", fontsize=11, loc="left")
below.legend(frameon=False, ncols=4)
for axis in (above, below):
    axis.spines[["top", "right"]].set_visible(False)

print(f"like {names[0]}: {', '.join(name for name, _ in model.nearest(names[0], 5))}")
print(f"for viewer 7: {', '.join(f'{name} ({score:.1f})' for name, score in model.recommend(7, 5))}")
path = sys.argv[1] if len(sys.argv) > 1 else "recommend.png"
figure.tight_layout()
figure.savefig(path, dpi=120)
print(path)

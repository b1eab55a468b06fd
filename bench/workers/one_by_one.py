"""Time of `predict_one` and `learn_one` on dicts: `one_by_one LIBRARY KIND FEATURES`."""

import random
import sys
import time
from typing import Any

from bench.workers.turns import serve

VOCABULARY = 1_000
EXAMPLES = 2_000
ROUNDS = 20_000


def examples(kind: str, size: int) -> list[tuple[dict[str, Any], bool]]:
    """Dicts of `size` features (or words) out of a thousand. Labels by a planted hyperplane; a tenth are flipped."""
    rng = random.Random(size)
    planted = {f"feature_{k}": rng.gauss(0, 1) for k in range(VOCABULARY)}
    drawn = []
    for _ in range(EXAMPLES):
        x = {name: 1.0 if kind == "words" else rng.gauss(0, 1) for name in rng.sample(list(planted), size)}
        positive = sum(value * planted[name] for name, value in x.items()) >= 0
        shown = {"text": " ".join(x)} if kind == "words" else x
        drawn.append((shown, positive != (rng.random() < 0.1)))
    return drawn


def river(kind: str) -> Any:
    """A new model of River."""
    from river import feature_extraction, linear_model, preprocessing

    if kind == "words":
        return feature_extraction.BagOfWords(on="text") | linear_model.LogisticRegression()
    model = linear_model.PAClassifier(C=1.0, mode=1)
    before = {"normalize": preprocessing.StandardScaler, "bits": lambda: preprocessing.FeatureHasher(1 << 18, seed=1)}
    return before[kind]() | model if kind in before else model


def seriatim(kind: str) -> Any:
    """A new model of ours."""
    from seriatim import OGD, PA

    if kind == "words":
        return OGD(loss="logistic", features={"text": ["text"]})
    options = {"normalize": {"normalize": "standard"}, "bits": {"bits": 18}, "dict": {"missing": "count"}}
    return PA(C=1.0, variant="I", features=options.get(kind))


def main(library: str, kind: str, size: str) -> None:
    """A fresh model for each turn, which has met one example; the loop is the same for both libraries."""
    rows = examples(kind, int(size))
    stream = rows * (ROUNDS // EXAMPLES)

    def measure() -> dict[str, float]:
        model = {"river": river, "seriatim": seriatim}[library](kind)
        model.learn_one(*rows[0])
        mistakes = 0
        start = time.perf_counter()
        for x, y in stream:
            mistakes += model.predict_one(x) != y
            model.learn_one(x, y)
        seconds = time.perf_counter() - start
        return {"seconds": seconds / len(stream), "mistake_rate": mistakes / len(stream)}

    serve(measure)


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Results to report on, in the shape that `Comparison.as_dict()` gives.

Curves, figures, confusion and weights are of real runs; p-values, regret, bounds and the places of changes are made up.
"""

import time

import numpy as np
from scipy.sparse import csr_matrix

from seriatim import catalogue, data, evaluate
from seriatim.data.bundled import datasets

DOZEN = (
    "arow", "scw", "nherd", "narow", "cw", "pa", "pa C=0.01", "averaged-perceptron",
    "perceptron", "ogd eta=5", "romma", "alma",
)  # fmt: skip
PIECES = 60


def build(label):
    name, *given = label.split()
    cls = catalogue.find(name)
    values = {key: cls.parameters[key].parse(value) for key, _, value in (text.partition("=") for text in given)}
    return cls(**values)


def one_run(label, X, y, order):
    """Learning in pieces; what stood after each, and the predictions made before each was learned."""
    model, marks, predicted = build(label), [], []
    mistakes, loss, seconds = 0, 0.0, 0.0
    ends = np.linspace(0, len(y), PIECES + 1).astype(int)[1:]
    for begin, end in zip([0, *ends[:-1]], ends, strict=True):
        piece, labels = X[order[begin:end]], y[order[begin:end]]
        predicted += model.predict(piece).tolist() if begin else [labels[0]] * len(labels)
        start = time.perf_counter()
        run = evaluate.progressive(model, piece, labels)
        seconds += time.perf_counter() - start
        mistakes, loss = mistakes + run.mistakes, loss + run.loss
        marks.append((end, mistakes / end, model.updates_, seconds, loss / end))
    return model, np.array(marks), predicted


def algorithm(label, X, y, orders):
    runs = np.array([one_run(label, X, y, order)[1] for order in orders])
    mean, deviation = runs.mean(0), runs.std(0, ddof=1)
    examples = mean[:, 0].astype(int).tolist()

    def figure(column):
        return [float(mean[-1, column]), float(deviation[-1, column])]

    return {
        "label": label,
        "parameters": build(label).get_params(),
        "runs": len(orders),
        "figures": {
            "mistake rate": figure(1), "mean loss": figure(4), "updates": figure(2), "seconds": figure(3),
        },
        "curve": {"examples": examples, "mean": mean[:, 1].tolist(), "deviation": deviation[:, 1].tolist()},
        "updates": {"examples": examples, "mean": mean[:, 2].tolist(), "deviation": deviation[:, 2].tolist()},
        "time": {"seconds": mean[:, 3].tolist(), "value": mean[:, 1].tolist()},
    }  # fmt: skip


def compared(title, X, y, labels, permutations=4):
    """The dict of a comparison on these data, with its winner looked at closely."""
    chance = np.random.default_rng(0)
    orders = [chance.permutation(len(y)) for _ in range(permutations)]
    algorithms = [algorithm(label, X, y, orders) for label in labels]
    algorithms.sort(key=lambda entry: entry["figures"]["mistake rate"][0])
    for rank, entry in enumerate(algorithms):
        entry |= {"best": rank == 0, "p": 0.21 / rank**3 if rank else None, "differs": rank > 1}
    classes, counts = np.unique(y, return_counts=True)
    return {
        "title": title,
        "setting": {
            "data": title, "examples": len(y), "features": X.shape[1], "task": "classification",
            "labels": dict(zip(classes.tolist(), counts.tolist(), strict=True)),
            "permutations": permutations, "seed": 0, "tuning": None, "command": f"seriatim compare {title}",
            "versions": {"seriatim": "0.1.0", "numpy": np.__version__, "python": "3.11.2"},
            "machine": "x86_64, 2 cores, Linux", "date": "2026-11-16",
        },
        "measure": "mistake rate",
        "algorithms": algorithms,
        "winner": winner(algorithms[0]["label"], X, y),
        "regret": None,
        "bounds": None,
    }  # fmt: skip


def winner(label, X, y):
    model, marks, predicted = one_run(label, X, y, np.arange(len(y)))
    classes = model.classes_.tolist()
    place = {name: number for number, name in enumerate(classes)}
    confusion = np.zeros((len(classes), len(classes)), int)
    np.add.at(confusion, ([place[name] for name in y.tolist()], [place[name] for name in predicted]), 1)
    totals = np.concatenate([[0], marks[:, 1] * marks[:, 0]])
    ends = np.concatenate([[0], marks[:, 0]])
    back = np.maximum(np.arange(1, PIECES + 1) - 6, 0)
    recent = (totals[1:] - totals[back]) / (ends[1:] - ends[back])
    return {
        "label": label,
        "classes": classes,
        "confusion": confusion.tolist(),
        "heaviest": heaviest(model),
        "file_order": {
            "examples": ends[1:].astype(int).tolist(), "value": marks[:, 1].tolist(),
            "window": int(ends[6]), "recent": recent.tolist(),
        },
        "drift": [],
    }  # fmt: skip


def heaviest(model):
    names = [*getattr(model, "feature_names_in_", ())]
    names += [str(number + 1) for number in range(len(names), model.coef_.shape[1])]
    rows = zip(model.classes_.tolist()[-len(model.coef_) :], model.coef_, strict=True)
    return [
        [label, names[j], float(row[j])] for label, row in rows for j in np.argsort(-np.abs(row), kind="stable")[:20]
    ]


def turned(X, y, at):
    """The labels of two classes exchanged from one place on."""
    classes = np.unique(y)
    return X, np.where(np.arange(len(y)) < at, y, np.where(y == classes[0], classes[1], classes[0]))


def spam(labels=DOZEN, permutations=4):
    """Everything a report can show: a dozen algorithms, two classes, regret, bounds and a change in the stream."""
    X, y = data.load("spam")
    X = csr_matrix(X / X.max(axis=0).toarray())
    result = compared("spam", X, y, labels, permutations)
    names = datasets()["spam"].feature_names
    label = result["winner"]["label"]
    result["winner"] |= {"file_order": winner(label, *turned(X, y, 3000))["file_order"]}
    result["winner"]["heaviest"] = [[c, names[int(j) - 1], w] for c, j, w in result["winner"]["heaviest"]]
    result["winner"]["drift"] = [
        {"at": 3168, "before": 0.094, "after": 0.412, "detector": "ADWIN"},
        {"at": 3904, "before": 0.371, "after": 0.118, "detector": "ADWIN"},
    ]
    result["regret"], result["bounds"] = regret(X, y), bounds()
    return result


def regret(X, y):
    """Made up from real losses: sums that grow as a regret does, and a curve in the place of a bound."""
    best = build("soft-svm")
    for _ in range(20):
        best.partial_fit(X, y)
    margins = np.where(y == best.classes_[-1], 1, -1) * best.decision_function(X)
    theirs = np.cumsum(np.maximum(0, 1 - margins))
    found = []
    for label, scale in (("ogd eta=5", 30.0), ("pa C=0.01", None)):
        marks = one_run(label, X, y, np.arange(len(y)))[1]
        t = marks[:, 0].astype(int)
        found.append(
            {
                "label": label,
                "comparator": "best in hindsight with |u| <= 3.2, hinge loss, within 1e-6",
                "examples": t.tolist(),
                "regret": (marks[:, 4] * t - theirs[t - 1] + 0.4 * np.sqrt(t)).tolist(),
                "bound": None if scale is None else (scale * np.sqrt(t)).tolist(),
            }
        )
    return found


def bounds():
    names = ("label", "quantity", "measured", "bound", "holds", "paper")
    rows = [
        ("perceptron", "mistakes", 412, 3020.5, True, "Novikoff (1962)"),
        ("ogd eta=5", "regret", 301.25, 2034.9, True, "Zinkevich (2003)"),
        ("pa C=0.01", "mistakes", 4.1e5, 3.2e4, False, "Crammer et al. (2006)"),
    ]
    return [dict(zip(names, row, strict=True)) for row in rows]


def letters(permutations=2):
    """Twenty-six classes around centres of their own, some close to each other; three algorithms."""
    chance = np.random.default_rng(1)
    centres = chance.normal(0, 1.1, (26, 16))
    which = chance.integers(0, 26, 6000)
    X = centres[which] + chance.normal(0, 1, (6000, 16))
    return compared(
        "letters", X, np.array(list("ABCDEFGHIJKLMNOPQRSTUVWXYZ"))[which], ("arow", "pa", "perceptron"), permutations
    )


def loss_only():
    """A regression of one run: no labels, no confusion, no deviation, nothing of the winner."""
    chance = np.random.default_rng(2)
    X = chance.normal(size=(500, 3))
    run = evaluate.progressive(build("ogd-regressor eta=0.1"), X, X @ [1.0, -2.0, 0.5])
    examples, values = [list(column) for column in zip(*run.curve, strict=True)]
    entry = {
        "label": "ogd-regressor", "parameters": {"eta": 0.1}, "runs": 1, "best": True, "p": None, "differs": False,
        "figures": {"mean loss": [run.mean_loss, None], "seconds": [run.seconds, None]},
        "curve": {"examples": examples, "mean": values, "deviation": [None] * len(values)},
    }  # fmt: skip
    setting = {"data": "plane", "examples": 500, "features": 3, "labels": None, "task": "regression"}
    return {
        "title": "plane", "setting": setting | {"permutations": 0, "seed": 0}, "measure": "mean loss",
        "algorithms": [entry], "winner": None, "regret": None, "bounds": None,
    }  # fmt: skip

"""Writes docs/algorithms.md, the table of all algorithms, from the catalogue. `make docs` runs it; a test compares."""

import inspect
from pathlib import Path

from seriatim import catalogue

PAGE = Path(__file__).parents[1] / "docs" / "algorithms.md"

HEAD = """\
# Algorithms

<!-- Written by `make docs` from the docstrings of the classes. -->

`seriatim algorithms NAME` prints the parameters of an algorithm, their ranges, an example and the citation.
In Python, `help(seriatim.PA)` shows the same text.

Classifiers learn two labels or more, unless the table says *binary*. A binary method refuses a third label.
`predict_proba` exists for the logistic loss and for `CW`, `AROW`, `SCW` and `BayesianSparse`. If a class has the
parameter `average`, `average=True` predicts with the average of all weights so far.
"""

FAMILIES = {
    "linear": "Linear models",
    "sparse": "Sparse linear models",
    "kernel": "Kernel methods",
    "imbalance": "Unequal classes and costs",
    "transfer": "Transfer from a trained model",
    "experts": "Prediction with expert advice",
    "novelty": "Novelty and anomalies",
    "decomposition": "Matrix decompositions and dictionaries",
    "topics": "Topics of documents",
    "recommend": "Recommendation",
    "retrieval": "Similarity and distance",
    "portfolio": "Portfolio selection",
}


def page() -> str:
    classes = catalogue.algorithms().values()
    families = [*FAMILIES, *sorted({cls.family for cls in classes} - {*FAMILIES})]
    return "\n".join([HEAD, *(section(name, [cls for cls in classes if cls.family == name]) for name in families)])


def section(family: str, classes: list[type]) -> str:
    rows = [row(cls) for cls in sorted(classes, key=lambda cls: cls.__name__)]
    table = ["| class | `-a` | task | method | paper |", "|---|---|---|---|---|", *rows]
    return "\n".join([f"## {FAMILIES.get(family, family.capitalize())}", "", *table, ""])


def row(cls: type) -> str:
    first = " ".join((inspect.getdoc(cls) or "").partition("\n\n")[0].split())
    task = f"binary {cls.task}" if getattr(cls, "binary", False) else cls.task
    cells = (f"`{cls.__name__}`", f"`{catalogue.command_name(cls)}`", task, first, cls.paper)
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")

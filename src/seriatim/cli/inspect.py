"""seriatim inspect"""

from __future__ import annotations

import json
from typing import Any

import click
import numpy as np

from seriatim.cli.options import json_option
from seriatim.cli.paths import Reads
from seriatim.cli.screen import say
from seriatim.cli.topics import topic_lines, topics_of
from seriatim.core.text import printable


@click.command("inspect")
@click.argument("model_file", metavar="MODEL", type=Reads())
@click.option(
    "-n",
    "--features",
    default=10,
    show_default=True,
    type=click.IntRange(1),
    metavar="N",
    help="Show the N features with the largest weights.",
)
@json_option
def command(model_file: str, features: int, as_json: bool) -> None:
    """Show a saved model: its size, its labels, and the features with the largest weights.

    \b
    seriatim inspect spam.model
    seriatim inspect spam.model -n 100 --json
    """
    from seriatim import load

    about = describe(load(model_file), features)
    if as_json:
        click.echo(json.dumps(about))
        return
    say(about["model"], bold=True)
    shown = ("examples", "updates", "features", "nonzeros", "support vectors", "width", "labels", "intercept")
    of_ratings = ("ratings", "users", "items", "rated pairs", "singular values")
    known = [name for name in (*shown, *of_ratings) if about.get(name) is not None]
    width = max(map(len, known))
    for name in known:
        value = about[name]
        say(f"  {name:<{width}} {', '.join(map(str, value)) if isinstance(value, list) else f'{value:,}'}")
    if "kernels" in about:
        say("", "  weights of the kernels", bold=True)
        width = max(len(kernel) for kernel, _ in about["kernels"])
        for kernel, weight in sorted(about["kernels"], key=lambda pair: -pair[1]):
            say(f"    {kernel:<{width}} {weight:>14.6g}")
    if "topics" in about:
        say("", "  topics", bold=True)
        for line in topic_lines(about["topics"]):
            say(f"    {line}")
    titles = {label: f" of {label}" for label in about["weights"]}
    if len(titles) == 1:
        titles = {label: label and f" for {label} (negative weights: against it)" for label in titles}
    for label, weights in about["weights"].items():
        say("", f"  heaviest features{titles[label]}", bold=True)
        shown_weights = [(printable(name), weight) for name, weight in weights]
        width = max([len(name) for name, _ in shown_weights], default=0)
        for name, weight in shown_weights:
            say(f"    {name:<{width}} {weight:>14.6g}")


def describe(model: Any, features: int) -> dict[str, Any]:
    """Describe a model and its heaviest features. Feature numbers start at 1, as in LIBSVM files."""
    from seriatim import catalogue

    if model.task == "recommendation":
        return describe_recommender(model)
    catalogue.expect_estimator(type(model))
    about: dict[str, Any] = {
        "model": repr(model),
        "examples": model.t_,
        "updates": model.updates_,
        "features": model.n_features_in_,
        "support vectors": getattr(model, "n_support_", None),
        "width": getattr(model, "sigma_", None),
        "labels": model.classes_.tolist() if model.task == "classification" else None,
        "weights": {},
    }
    if hasattr(model, "kernel_weights_"):
        kernels = model.parameters["kernels"].of(model.kernels)
        about["kernels"] = [(repr(k), float(w)) for k, w in zip(kernels, model.kernel_weights_, strict=True)]
    if hasattr(model, "topic_weights_"):
        about["topics"] = topics_of(model, features)
    try:
        coef = np.atleast_2d(model.coef_)
    except AttributeError:
        return about
    names = [*getattr(model, "feature_names_in_", ())]
    names += [str(j + 1) for j in range(len(names), coef.shape[1])]
    about["nonzeros"] = int(np.count_nonzero(coef))
    about["intercept"] = np.atleast_1d(model.intercept_).tolist() if model.fit_intercept else None
    labels = [str(label) for label in about["labels"] or [""]]
    # A binary model has one row, for the positive class.
    for label, row in zip(labels[-len(coef) :], coef, strict=True):
        heaviest = np.argsort(-np.abs(row), kind="stable")[:features]
        about["weights"][label] = [(names[j], float(row[j])) for j in heaviest if row[j] != 0]
    return about


def describe_recommender(model: Any) -> dict[str, Any]:
    """Describe a recommender."""
    values = getattr(model, "singular_values_", None)
    return {
        "model": repr(model),
        "ratings": model.t_,
        "users": len(model.users_),
        "items": len(model.items_),
        "rated pairs": model.n_pairs_,
        "singular values": None if values is None else [round(float(value), 4) for value in values],
        "weights": {},
    }

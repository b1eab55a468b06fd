"""Ratings: PMF beside River's matrix factorisation, on MovieLens-100k."""

from __future__ import annotations

from collections.abc import Iterator

from bench.measure import Bench, Line, Worker, best, take_turns

# What learns, and what River calls it.
BESIDE = {"PMF": "FunkMF", "PMF(biases=True)": "BiasedMF"}


def compare(bench: Bench) -> Iterator[Line]:
    """A pass over the first fold, time a rating: by `partial_fit`, and by `predict_one` and then `learn_one`."""
    for ours, theirs in BESIDE.items():
        for how in ("partial_fit", "learn_one"):
            with (
                Worker(bench.python, "recommend", "seriatim", ours, how) as one,
                Worker(bench.peers, "recommend", "river", theirs, how) as other,
            ):
                answers = best(take_turns(bench, {"seriatim": one, "river": other}, bench.repeat))
            us = [1e6 * answer["seconds"] for answer in answers.values()]
            rmse = " beside ".join(f"{answer['rmse']:.3f}" for answer in answers.values())
            note = f"RMSE of the other ratings {rmse}"
            what = f"{ours}, {'partial_fit' if how == 'partial_fit' else 'predict_one + learn_one'}"
            yield Line(what, f"river's {theirs}", *us, "us", 1 / 10 if how == "partial_fit" else 1 / 6, note=note)

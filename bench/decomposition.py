"""Singular vectors and principal components of a stream, beside scikit-learn's IncrementalPCA and gensim's LSI."""

from __future__ import annotations

from collections.abc import Iterator

from bench.measure import Bench, Line, Worker, best, take_turns

RANKS = (20, 50)  # of images
TOPICS = 100


def compare(bench: Bench) -> Iterator[Line]:
    for rank in RANKS:
        yield from of_images(bench, rank)
    yield of_texts(bench)


def of_images(bench: Bench, rank: int) -> Iterator[Line]:
    """20,000 x 784. The error of each is told as what it is above the best of that rank; an SVD has no mean."""
    with (
        Worker(bench.python, "decomposition", "seriatim-svd", "images", rank) as svd,
        Worker(bench.python, "decomposition", "seriatim-pca", "images", rank) as pca,
        Worker(bench.peers, "decomposition", "sklearn", "images", rank) as usual,
        Worker(bench.peers, "decomposition", "sklearn-small", "images", rank) as small,
    ):
        sides = {
            "OnlineSVD": svd,
            "IncrementalPCA": pca,
            "scikit-learn's": usual,
            "scikit-learn's, small batches": small,
        }
        answers = best(take_turns(bench, sides, bench.repeat))
    above = {side: answer["error"] / answer["best"] - 1 for side, answer in answers.items()}
    for ours in ("OnlineSVD", "IncrementalPCA"):
        for theirs in ("scikit-learn's", "scikit-learn's, small batches"):
            yield Line(
                f"{ours}, images, rank {rank}",
                f"IncrementalPCA, {theirs}",
                answers[ours]["seconds"],
                answers[theirs]["seconds"],
                "s",
                1 / 2,
                note=f"errors are {above[ours]:.2%} and {above[theirs]:.2%} above the best of that rank",
            )


def of_texts(bench: Bench) -> Line:
    with (
        Worker(bench.python, "decomposition", "seriatim-svd", "texts", TOPICS) as ours,
        Worker(bench.peers, "decomposition", "gensim", "texts", TOPICS) as theirs,
    ):
        answers = best(take_turns(bench, {"OnlineSVD": ours, "gensim": theirs}, bench.repeat))
    seconds = [answer["seconds"] for answer in answers.values()]
    errors = " and ".join(f"{answer['error']:.3f}" for answer in answers.values())
    what = f"OnlineSVD, texts, rank {TOPICS}"
    return Line(what, "gensim's LsiModel", *seconds, "s", 1 / 2, note=f"errors |X - X V V'| of {errors}")

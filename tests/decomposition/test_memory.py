"""Memory is bounded: learning a stream of 30 MB after one of 3 MB stores none of it."""

from pathlib import Path

import numpy as np
import pytest

from tests.learners import learner

STATM = Path("/proc/self/statm")
CASES = [
    ("OnlineSVD", {"rank": 5}),
    ("OnlineSVD", {"rank": 5, "block": 50}),
    ("OnlineSVD", {"rank": 5, "missing": True}),
    ("OnlinePCA", {"n_components": 5, "features": {"normalize": "unit"}}),
    ("IncrementalPCA", {"n_components": 5}),
    ("IncrementalPCA", {"n_components": 5, "block": 50}),
    ("DictionaryLearning", {"n_atoms": 20}),
    ("LDA", {"n_topics": 5}),
    ("HDP", {"max_topics": 10, "doc_topics": 3}),
]


def resident():
    """The memory in use, in bytes."""
    return int(STATM.read_text().split()[1]) * 4096


@pytest.mark.slow
@pytest.mark.parametrize(("name", "case"), CASES, ids=str)
def test_the_stream_is_not_kept(name, case):
    if not STATM.exists():
        pytest.skip("the system does not tell")
    rows, columns = (2000, 200) if name != "OnlinePCA" else (2000, 40)  # which takes the square of its directions
    X = np.random.default_rng(0).poisson(0.2, (rows, columns)).astype(float)
    X[:, 0] += 1  # no row of zeros
    model = learner(name)(**case).partial_fit(X)

    def size():
        return sum(np.asarray(part).nbytes for part in model.__getstate__()["state"].values())

    sizes, before = [], 0
    for turn in range(12):
        for begin in range(0, rows, 500):
            model.partial_fit(X[begin : begin + 500])
            sizes.append(size())
        before = resident() if turn == 1 else before
    assert resident() - before < X.nbytes  # of ten times as much
    assert max(sizes) < X.nbytes  # with the rows that wait for their batch

"""Cost-sensitive gradient descent equals its transcription; mistakes of lectures are not repeated."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seriatim import OGD
from seriatim.errors import DataError, ParameterError
from tests.learners import joint, learner, real_stream
from tests.linear.test_reference import PAPERS, WAYS, compare, generic_streams, random_stream, some_ways
from tests.reference import cost
from tests.test_contract import Unchanged

PAPERS["CSOGD"] = cost.CSOGD
CASES = cost.CSOGD.CASES
cases = pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(map(str, case.values())))
variants = pytest.mark.parametrize("variant", ["I", "II"])


@cases
@pytest.mark.parametrize("names", [(-1, 1), (0, 1), ("a", "b")], ids=str)
def test_equals_its_paper(case, names):
    learner("CSOGD")
    X, y = random_stream(1, (0, 1))
    compare(("CSOGD", case), X, np.array(names)[y])
    some = {"sparse, by 7": WAYS["sparse, by 7"]}
    compare(("CSOGD", case), X, np.array(names)[y], intercept=False, classes=list(names), ways=some)


@settings(max_examples=60)
@given(case=st.sampled_from(CASES), stream=generic_streams(), intercept=st.booleans(), ways=some_ways)
def test_generated_streams(case, stream, intercept, ways):
    learner("CSOGD")
    compare(("CSOGD", case), stream[0], stream[1] % 2, intercept, ways=ways)


@variants
@pytest.mark.parametrize("objective", ["sum", "cost"])
def test_spam(variant, objective):
    learner("CSOGD")
    X, y = real_stream("spam")
    case = {"variant": variant, "objective": objective, "positive": 0.8}
    compare(("CSOGD", case), X, y, ways={"sparse, by 7": WAYS["sparse, by 7"]}, rows=X[::20], dicts=False)


@variants
def test_equal_costs_are_gradient_descent(variant):
    """rho = 1: the hinge loss."""
    cls = learner("CSOGD")
    X, y = random_stream(2, (0, 1), n=200)
    plain = joint(OGD(eta=0.1, schedule="constant").partial_fit(X, y))
    assert joint(cls(variant=variant, objective="cost", positive=0.5).partial_fit(X, y)) == pytest.approx(plain)


def test_the_ratio_weighs_positives_alone():
    """One slide of lecture 001 has lambda rho y x for every example; rho_t is rho for y = +1 and 1 for y = -1."""
    cls = learner("CSOGD")
    given = {"variant": "II", "objective": "cost", "positive": 0.8, "eta": 0.1, "fit_intercept": False}
    for label, step in ((1, 0.1 * 4), (0, -0.1)):
        model = cls(**given, classes=[0, 1]).partial_fit([[1.0, 2.0]], [label])
        assert model.coef_[0] == pytest.approx([step, 2 * step], rel=1e-12)


def test_the_margin_asked_of_a_positive_is_the_ratio():
    """Variant I steps by eta while the margin is below rho, here 3, and below 1 for a negative."""
    cls = learner("CSOGD")
    for label, most in ((1, 3.0), (0, 1.0)):
        given = {"variant": "I", "objective": "cost", "positive": 0.75, "eta": 0.25, "fit_intercept": False}
        model = cls(**given, classes=[0, 1])
        for _ in range(50):
            model.partial_fit([[1.0]], [label])
        assert abs(model.coef_[0, 0]) == most
        assert model.updates_ == 4 * most


@variants
def test_the_running_ratio_is_of_the_rows_before(variant):
    """rho = eta_p (T_n + 1) / (eta_n (T_p + 1)), the present row not counted. A row of zeros is counted."""
    cls = learner("CSOGD")
    given = {"variant": variant, "positive": 0.6, "eta": 1e-3, "fit_intercept": False, "classes": [0, 1]}
    X, y = np.vstack([np.zeros((5, 1)), [[1.0]]]), [0, 0, 0, 1, 0, 1]
    rho = 0.6 / 0.4 * (4 + 1) / (1 + 1)
    model = cls(**given, objective="sum").partial_fit(X, y)
    assert model.coef_[0, 0] == pytest.approx(1e-3 * (rho if variant == "II" else 1))


@pytest.mark.parametrize("positive", [0.0, 1.0, -1.0, 2.0])
def test_a_share_is_between_0_and_1(positive):
    cls = learner("CSOGD")
    with pytest.raises(ParameterError, match="positive"):
        cls(positive=positive).partial_fit([[1.0]], [1])


@pytest.mark.parametrize("seed", range(3))
def test_rare_positives_are_found(seed):
    """5% positives: the weighted sum of sensitivity and specificity is above that of plain gradient descent."""
    cls = learner("CSOGD")
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((4000, 5))
    score = X[:, 0] + rng.standard_normal(4000)
    y = (score > np.quantile(score, 0.95)).astype(int)

    def weighted_sum(model):
        right = model.partial_fit(X, y).predict(X) == y
        return (right[y == 1].mean() + right[y == 0].mean()) / 2

    ours = weighted_sum(cls(variant="II", eta=0.01))
    assert ours > weighted_sum(OGD(eta=0.01, schedule="constant")) + 0.05
    assert ours > 0.7


def test_two_labels():
    cls = learner("CSOGD")
    X, y = random_stream(8, (0, 1))
    model = cls().partial_fit(X, y)
    with Unchanged(model), pytest.raises(DataError):
        model.partial_fit(X, (y + 1) % 3)

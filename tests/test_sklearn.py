"""scikit-learn's own checks of an estimator, on every entry of the catalogue."""

import inspect
import warnings

import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator

import seriatim
from seriatim.errors import ParameterError
from seriatim.parameters import REQUIRED
from tests.test_contract import default, examples

ALGORITHMS = {name: cls for name, cls in seriatim.algorithms().items() if hasattr(cls, "learn_rows")}

# What we do otherwise than scikit-learn asks: the check, alone or after a class; the error it then raises; and why.
WIDER = (
    "rows with more columns than were learned are scored, the new ones at weight zero: a stream brings features "
    "that the model has not seen yet. Rows with fewer are refused."
)
EXPECTED = {
    "check_classifiers_train": (
        "does not raise an error when the number of features in predict is different",
        WIDER,
    ),
    "check_outliers_train": ("Did not raise: [<class 'ValueError'>]", WIDER),
    "OGDRegressor-check_regressors_train": (
        "",
        "a step of 1 with the squared loss overshoots on ten standardised features, as the docstring says; the check "
        "knows no way to choose a smaller one.",
    ),
    "NORMARegressor-check_regressors_train": (
        "",
        "to a kernel of width 1 ten standardised features are all far apart; the check knows no way to choose a wider "
        "one.",
    ),
    **dict.fromkeys(  # the few rows of the check are among those with which LASVM begins, before its first step
        (
            "LASVM-check_sample_weight_equivalence_on_dense_data",
            "LASVM-check_sample_weight_equivalence_on_sparse_data",
        ),
        (None, None),
    ),
    "check_all_zero_sample_weights_error": (
        "Did not raise",
        "a row of weight 0 is a round without a step, and so are any number of them.",
    ),
    **dict.fromkeys(
        ("check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data"),
        (
            "is not equivalent to fitting with removed or repeated data points",
            "the order of a stream counts, and the check shuffles it; and a row of weight 2 is one longer step, where "
            "a row that comes again meets a model that has learned it already.",
        ),
    ),
    **dict.fromkeys(
        ("FTRL-check_sample_weight_equivalence_on_dense_data", "FTRL-check_sample_weight_equivalence_on_sparse_data"),
        (
            "no probabilities",
            "with the logistic loss two labels have probabilities and three have none; the check asks for them before "
            "it shows three.",
        ),
    ),
}

# A method that does not say what a weight means refuses it, in whatever check it is given one.
REFUSED = "its method does not define importance weights"


def checks_of(cls):
    """scikit-learn's (estimator, check) pairs. It warns that we do not inherit from its base: importing it is heavy."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*does not inherit from")
        return list(estimator_checks_generator(default(cls), legacy=True))


def name_of(check):
    return getattr(check, "func", check).__name__


CHECKS = [
    pytest.param(estimator, check, id=f"{name}-{name_of(check)}")
    for name, cls in ALGORITHMS.items()
    for estimator, check in checks_of(cls)
]


@pytest.mark.parametrize(("estimator", "check"), CHECKS)
def test_scikit_learn_check(estimator, check):
    names = f"{type(estimator).__name__}-{name_of(check)}", name_of(check)
    error, reason = next((EXPECTED[name] for name in names if name in EXPECTED), (None, None))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # theirs are about their own past
        try:
            check(estimator)
        except (AssertionError, AttributeError, ParameterError) as failure:
            if REFUSED in f"{failure} {failure.__cause__}":
                pytest.xfail(f"{type(estimator).__name__}: {REFUSED}")
            if reason is None or error not in str(failure):
                raise
            pytest.xfail(reason)
    assert reason is None, f"{names[1]} passes now: take it off the list of expected failures"


def test_expected_failures_are_of_checks_that_are_made():
    made = {test.id for test in CHECKS}
    assert all(any(test == name or test.endswith(f"-{name}") for test in made) for name in EXPECTED)


@pytest.mark.parametrize("cls", ALGORITHMS.values(), ids=list(ALGORITHMS))
def test_clone(cls):
    X, y = examples(cls)
    model = default(cls).partial_fit(X, y)
    twin = clone(model)
    assert twin.get_params() == model.get_params()
    assert not twin.__sklearn_is_fitted__()


@pytest.mark.parametrize("cls", ALGORITHMS.values(), ids=list(ALGORITHMS))
def test_pipelines_and_searches(cls):
    if not cls.labelled:
        pytest.skip("without targets there is no score to search by")
    X, y = examples(cls, n=120)
    pipeline = make_pipeline(StandardScaler(), default(cls))
    assert len(cross_val_score(pipeline, X, y, cv=3)) == 3
    choice = {"fit_intercept": [True, False]} if "fit_intercept" in cls.parameters else {"features": [None]}
    search = GridSearchCV(default(cls), choice, cv=3).fit(X, y)
    assert search.best_score_ > (0.5 if cls.task == "classification" else 0.0)


@pytest.mark.parametrize("cls", ALGORITHMS.values(), ids=list(ALGORITHMS))
def test_signature_shows_the_parameters(cls):
    """What help() and an editor show is what scikit-learn reads."""
    shown = inspect.signature(cls).parameters
    assert set(shown) == set(cls.parameters)
    for name, parameter in cls.parameters.items():
        empty = inspect.Parameter.empty if parameter.default is REQUIRED else parameter.default
        assert shown[name].default == empty

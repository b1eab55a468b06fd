"""scikit-learn's own checks of an estimator, on every entry of the catalogue."""

import inspect
import traceback
import warnings
from unittest import SkipTest

import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator

from seriatim.errors import ParameterError
from seriatim.parameters import REQUIRED
from tests.learners import of_rows
from tests.test_contract import default, every_class, examples, same

ALGORITHMS = of_rows()

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
    "HalfSpaceTrees-check_outliers_train": (
        "Arrays are not equal",
        "the tests give it room for a thousand features, of which the check has two: few trees tell rows apart.",
    ),
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
        (
            f"{name}-check_sample_weight_equivalence_on_{kind}_data"
            for name, cls in ALGORITHMS.items()
            for kind in ("dense", "sparse")
            if "loss" in cls.parameters and cls.parameters["loss"].default == "logistic"
        ),
        (
            "no probabilities",
            "with the logistic loss two labels have probabilities and three have none; the check asks for them before "
            "it shows three.",
        ),
    ),
}

# Methods that do not define sample weights refuse them in all checks.
REFUSED = "the method does not define sample weights; remove them"


def checks_of(cls):
    """scikit-learn's (estimator, check) pairs. It warns that we do not inherit from its base: importing it is heavy."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*does not inherit from")
        return list(estimator_checks_generator(default(cls), legacy=True))


def name_of(check):
    return getattr(check, "func", check).__name__


def expectation(cls, check):
    """The error that a check of a class is expected to raise, and why; or (None, None)."""
    return EXPECTED.get(f"{cls.__name__}-{check}", EXPECTED.get(check, (None, None)))


def expected(failure, error, reason):
    """Whether a failure is expected: the method refuses weights, or EXPECTED lists the error."""
    if not isinstance(failure, AssertionError | AttributeError | ParameterError):
        return False
    return REFUSED in f"{failure} {failure.__cause__}" or (reason is not None and error in str(failure))


@every_class
def test_scikit_learn_checks(cls):
    """All checks pass except those in EXPECTED, which fail with the error given there."""
    wrong = []
    for estimator, check in checks_of(cls):
        error, reason = expectation(cls, name_of(check))
        failure = None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # scikit-learn warns about its own deprecations
            try:
                check(estimator)
            except SkipTest:
                continue
            except Exception as raised:
                failure = raised
        if failure is None and reason is not None:
            wrong.append(f"{name_of(check)} passes now: take it off the list of expected failures")
        if failure is not None and not expected(failure, error, reason):
            wrong.append("".join([f"{name_of(check)}\n", *traceback.format_exception(failure)]))
    assert not wrong, "\n".join(wrong)


def test_expected_failures_are_of_checks_that_are_made():
    made = {f"{name}-{name_of(check)}" for name, cls in ALGORITHMS.items() for _, check in checks_of(cls)}
    assert all(any(test == name or test.endswith(f"-{name}") for test in made) for name in EXPECTED)


@every_class
def test_clone(cls):
    X, y = examples(cls)
    model = default(cls).partial_fit(X, y)
    twin = clone(model)
    assert same(twin.get_params(), model.get_params())
    assert not twin.__sklearn_is_fitted__()


@every_class
def test_pipelines_and_searches(cls):
    if not cls.labelled:
        pytest.skip("without targets there is no score to search by")
    X, y = examples(cls, n=120)
    pipeline = make_pipeline(StandardScaler(), default(cls))
    assert len(cross_val_score(pipeline, X, y, cv=3)) == 3
    choice = {"fit_intercept": [True, False]} if "fit_intercept" in cls.parameters else {"features": [None]}
    search = GridSearchCV(default(cls), choice, cv=3).fit(X, y)
    assert search.best_score_ > (0.5 if cls.task == "classification" else 0.0)


@every_class
def test_signature_shows_the_parameters(cls):
    """help() and editors show the signature that scikit-learn reads."""
    shown = inspect.signature(cls).parameters
    assert set(shown) == set(cls.parameters)
    for name, parameter in cls.parameters.items():
        empty = inspect.Parameter.empty if parameter.default is REQUIRED else parameter.default
        assert shown[name].default == empty

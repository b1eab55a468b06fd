"""Cost-sensitive learners equal their transcriptions and satisfy the claims of their papers."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from seriatim import CSPA, PA
from seriatim.errors import ParameterError
from tests.linear.test_margin import joint, moves, noisy
from tests.linear.test_reference import PAPERS, WAYS, compare, generic_streams, random_stream, some_ways
from tests.reference import cost
from tests.test_contract import Unchanged
from tests.test_modelfile import bits, returned

PAPERS["CSPA"] = cost.CSPA  # the comparison finds transcriptions by name
SEEDS = range(5)
VARIANTS = ("prediction", "max_loss")
labels_2_4 = pytest.mark.parametrize("labels", [2, 4])
variants = pytest.mark.parametrize("variant", VARIANTS)
steps = pytest.mark.parametrize("step", ["hard", "I", "II"])


def case_name(case):
    return "-".join(type(value).__name__ if name == "rho" else str(value) for name, value in case.items())


cases = pytest.mark.parametrize("case", cost.CSPA.CASES, ids=case_name)


def matrix(labels, seed=0):
    """Costs from 0 to 6; the diagonal has no effect."""
    rho = np.random.default_rng(seed).integers(0, 25, (labels, labels)) / 4
    np.fill_diagonal(rho, 99)
    return rho


def as_dict(rho, names=None):
    """The costs of a matrix as a dict of label pairs, without those that are 1."""
    names = range(len(rho)) if names is None else names
    pairs = [(i, j) for i in range(len(rho)) for j in range(len(rho)) if i != j and rho[i][j] != 1]
    return {(names[i], names[j]): float(rho[i][j]) for i, j in pairs}


def rival(W, row, label, rho, variant):
    """(delta, required margin) of an example when all labels are known."""
    if len(W) == 1:
        return row[None, :] * (1 if label else -1), np.sqrt(rho[label][1 - label])
    scores = W @ row + (np.sqrt(rho[label]) if variant == "max_loss" else 0)
    scores[label] = -np.inf
    s = np.argmax(scores)
    delta = np.zeros_like(W)
    delta[label] += row
    delta[s] -= row
    return delta, np.sqrt(rho[label][s])


# ---- against the transcription


@cases
@pytest.mark.parametrize("labels", [(-1, 1), (0, 1, 2, 3)], ids=["binary", "multiclass"])
def test_equals_its_paper(case, labels):
    compare(("CSPA", case), *random_stream(1, labels))
    compare(("CSPA", case), *random_stream(2, labels), intercept=False, ways={"dense, by 7": WAYS["dense, by 7"]})


@cases
def test_labels_declared_beforehand(case):
    """A declared label that never occurs is no rival."""
    for seed, labels, more in ((3, (1, 3, 5, 7), [9]), (4, (1, 3), [])):
        X, y = random_stream(seed, labels)
        compare(("CSPA", case), X, y, classes=[*labels, *more], ways={"sparse, by 7": WAYS["sparse, by 7"]})


@cases
@pytest.mark.parametrize("order", [(1, 2, 3, 4), (4, 3, 2, 1), (2, 4, 1, 3)], ids=str)
def test_labels_that_arrive_one_after_another(case, order):
    """Costs may name labels that arrive later, or never."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((80, 4))
    y = np.array([order[rng.integers(0, 1 + t // 20)] for t in range(80)])
    compare(("CSPA", case), X, y, ways={"dense, one call": WAYS["dense, one call"], "dense, by 1": WAYS["dense, by 1"]})
    assert CSPA(**case).partial_fit(X, y).classes_.tolist() == [1, 2, 3, 4]


@settings(max_examples=100)
@given(case=st.sampled_from(cost.CSPA.CASES), stream=generic_streams(), intercept=st.booleans(), ways=some_ways)
def test_generated_streams(case, stream, intercept, ways):
    assume(len(np.unique(stream[0], axis=0)) == len(stream[0]))  # else ties may hang on a rounding
    compare(("CSPA", case), *stream, intercept, ways=ways)


@variants
@pytest.mark.parametrize("labels", [2, 3, 5])
def test_a_matrix_of_costs_equals_its_paper(variant, labels):
    X, y = random_stream(6, tuple(range(labels)))
    for names in (list(range(labels)), list(range(10, 10 + labels))):
        case = {"rho": matrix(labels), "variant": variant, "C": 0.5}
        compare(("CSPA", case), X, y + names[0], classes=names, ways={"dense, by 7": WAYS["dense, by 7"]})


@variants
@labels_2_4
@pytest.mark.parametrize("step", ["I", "II"])
def test_an_importance_multiplies_C(variant, labels, step):
    X, y = noisy(1, labels=labels, noise=1.0)
    g = np.random.default_rng(1).choice([0.25, 1.0, 3.0], len(y))
    case = {"rho": as_dict(matrix(labels)), "variant": variant, "step": step}
    paper = cost.CSPA(7, classes=range(labels), **case)
    for x, label, weight in zip(X, y, g, strict=True):
        paper.C = 0.1 * weight
        paper.learn(np.append(x, 1.0), label)
    model = CSPA(**case, C=0.1, classes=list(range(labels))).partial_fit(X, y, sample_weight=g)
    assert joint(model) == pytest.approx(np.atleast_2d(paper.w), abs=1e-9)
    hard = CSPA(variant=variant, step="hard")
    with Unchanged(hard), pytest.raises(ParameterError, match="sample weights"):
        hard.partial_fit(X, y, sample_weight=g)


# ---- the step


@labels_2_4
@variants
@pytest.mark.parametrize("seed", SEEDS)
def test_the_hard_step_ends_at_the_margin_asked_for(variant, labels, seed):
    """The step is the shortest with a margin of sqrt(rho) over s; there is none where the margin suffices."""
    X, y = noisy(seed, labels=labels, noise=1.0)
    rho, taken = matrix(labels, seed), 0
    for W, row, label, new in moves(CSPA(rho=rho, variant=variant, step="hard", classes=list(range(labels))), X, y):
        delta, asked = rival(W, row, label, rho, variant)
        margin = np.sum(W * delta)
        if margin >= asked or (variant == "prediction" and margin > 0):
            assert (new == W).all()
            continue
        assert np.sum(new * delta) == pytest.approx(asked, abs=1e-9)
        assert np.linalg.norm(new - W) == pytest.approx((asked - margin) / np.linalg.norm(delta), abs=1e-9)
        taken += 1
    assert 0 < taken < len(y) - 4


@labels_2_4
@variants
@pytest.mark.parametrize("step", ["I", "II"])
def test_soft_steps_solve_their_problem(variant, labels, step):
    """W' minimises |W' - W|^2 / 2 + C xi (or C xi^2), where xi is the remaining loss."""
    rng = np.random.default_rng(2)
    X, y = noisy(2, labels=labels, noise=1.0)
    rho, C, taken = matrix(labels), 0.05, 0

    def objective(V):
        xi = max(0.0, asked - np.sum(V * delta))
        return np.sum((V - W) ** 2) / 2 + C * (xi if step == "I" else xi * xi)

    model = CSPA(rho=rho, C=C, variant=variant, step=step, classes=list(range(labels)))
    for W, row, label, new in moves(model, X, y):
        delta, asked = rival(W, row, label, rho, variant)
        if variant == "prediction" and np.sum(W * delta) > 0:
            continue
        for size in (1.0, 1e-2, 1e-4):
            for direction in (delta, -delta, rng.standard_normal(W.shape)):
                assert objective(new + size * direction) >= objective(new) - 1e-12
        taken += (new != W).any()
    assert taken


def test_the_margin_is_scaled_in_the_loss_too():
    """The lecture has l = 1 - (F_y - F_s) where the margin asked for is scaled: a cost would then change nothing.

    With rho itself for the margin it would be 4 after the step; the paper asks for sqrt(rho).
    """
    X, y = [[0.0, 0.0], [0.0, 0.0], [0.0, 0.0], [3.0, 1.0]], [0, 1, 2, 2]
    for variant in VARIANTS:
        after = {}
        for price in (1.0, 4.0):
            model = CSPA(
                rho={(2, 0): price}, variant=variant, step="hard", classes=[0, 1, 2], fit_intercept=False
            ).partial_fit(X, y)
            scores = model.decision_function(X[3:])[0]
            after[price] = scores[2] - scores[0]
            assert scores[1] == 0
        assert after[1.0] == pytest.approx(1)
        assert after[4.0] == pytest.approx(2)


@labels_2_4
@variants
@steps
def test_costs_scale_the_weights(variant, labels, step):
    """With 9 for every pair W is three times what it is with 1, C of PA-I being three times as large too."""
    X, y = noisy(3, labels=labels, noise=1.0)
    nine = 9 * np.ones((labels, labels))
    given = {"variant": variant, "step": step, "classes": list(range(labels))}
    one = CSPA(C=0.2, **given).partial_fit(X, y)
    many = CSPA(rho=nine, C=0.6 if step == "I" else 0.2, **given).partial_fit(X, y)
    assert joint(many) == pytest.approx(3 * joint(one), rel=1e-9, abs=1e-9)


@labels_2_4
@steps
@pytest.mark.parametrize("average", [False, True])
def test_without_costs_the_largest_loss_is_that_of_pa(labels, step, average):
    X, y = noisy(4, labels=labels, noise=1.0)
    for declared in (None, list(range(labels))):
        ours = CSPA(variant="max_loss", step=step, C=0.1, average=average, classes=declared).partial_fit(X, y)
        theirs = PA(variant=step, C=0.1, average=average, classes=declared).partial_fit(X, y)
        assert np.abs(joint(ours) - joint(theirs)).max() <= 1e-12
        assert ours.updates_ == theirs.updates_


@labels_2_4
@steps
def test_a_right_prediction_is_no_reason_for_a_step(labels, step):
    """However small its margin, by prediction; a tie is a mistake, and the largest loss is one below the margin."""
    X, y = noisy(5, labels=labels, noise=1.0)
    small = wrong = 0
    for variant in VARIANTS:
        model = CSPA(variant=variant, step=step, classes=list(range(labels)))
        rho = np.ones((labels, labels))
        for W, row, label, new in moves(model, X, y):
            margin = np.sum(W * rival(W, row, label, rho, variant)[0])
            if abs(margin) < 1e-12 or abs(margin - 1) < 1e-12:
                continue
            assert (new != W).any() == (margin < (0 if variant == "prediction" else 1))
            small += 0 < margin < 1
            wrong += margin < 0
    assert small
    assert wrong
    tie = CSPA(step=step, classes=list(range(labels)), fit_intercept=False)
    tie.partial_fit(np.zeros((labels, 2)), list(range(labels)))
    assert tie.updates_ == 0
    assert tie.partial_fit([[1.0, 2.0]], [0]).updates_ == 1  # F_s = F_y = 0, and 0 would be predicted of many


def test_the_lowest_of_equal_rivals_takes_the_step():
    def rows(**given):
        model = CSPA(step="hard", classes=[0, 1, 2, 3], fit_intercept=False, **given)
        model.partial_fit(np.zeros((4, 1)), [3, 2, 1, 0])
        return model.partial_fit([[1.0]], [1]).coef_[:, 0].tolist()

    assert rows() == [-0.5, 0.5, 0, 0]
    assert rows(variant="max_loss") == [-0.5, 0.5, 0, 0]
    dear = {(1, 2): 4, (1, 3): 4.0}
    assert rows(rho=dear) == [-0.5, 0.5, 0, 0]  # the prediction does not depend on the costs
    assert rows(rho=dear, variant="max_loss") == [0, 1, -1, 0]
    assert rows(rho={(1, 0): 0}) == [0, 0, 0, 0]


@variants
def test_no_rival_no_step(variant):
    model = CSPA(variant=variant, rho={("b", "a"): 9}, classes=["a", "b", "c"], fit_intercept=False)
    model.partial_fit([[1.0, 2.0], [3.0, 1.0]], ["b", "b"])
    assert (model.t_, model.updates_) == (2, 0)
    assert (model.coef_ == 0).all()
    model.partial_fit([[0.0, 0.0]], ["a"])
    assert (model.t_, model.updates_) == (3, 0)
    assert model.partial_fit([[1.0, 0.0]], ["b"]).updates_ == 1


# ---- what the costs do


@pytest.mark.slow
@labels_2_4
@pytest.mark.parametrize("seed", SEEDS)
def test_the_squared_losses_bound_the_cost(labels, seed):
    """A mistake has l >= sqrt(rho), and of data that U separates by the margins asked for sum l^2 <= R^2 |U|^2."""
    rng = np.random.default_rng(seed)
    U, X = rng.standard_normal((labels, 5)), rng.standard_normal((3000, 5))
    U -= U.mean(axis=0)
    order = np.sort(X @ U.T, axis=1)
    gap = order[:, -1] - order[:, -2]
    X, y = X[gap > 1], np.argmax(X @ U.T, axis=1)[gap > 1]
    rho = matrix(labels, seed)
    length2 = np.sum(U**2) * (6 if labels > 2 else 2 * 6)  # the largest cost asks for sqrt(6); binary, w = U_1 - U_0
    radius2 = np.sum(X**2, axis=1).max() * (2 if labels > 2 else 1)
    for variant in VARIANTS:
        model = CSPA(rho=rho, variant=variant, step="hard", classes=list(range(labels)), fit_intercept=False)
        model.partial_fit(X[:1], y[:1])
        total = price = 0.0
        for x, label in zip(X[1:], y[1:], strict=True):
            W, guess = model.coef_.copy(), model.predict(x[None, :])[0]
            new = model.partial_fit(x[None, :], [label]).coef_
            loss2 = np.sum((new - W) ** 2) * (x @ x) * (2 if labels > 2 else 1)
            charge = rho[label][guess] if guess != label else 0
            assert loss2 >= charge - 1e-9
            total += loss2
            price += charge
        assert 0 < price <= total + 1e-6
        assert total <= radius2 * length2


@pytest.mark.slow
@variants
@steps
@pytest.mark.parametrize("seed", SEEDS)
def test_a_dear_confusion_is_made_less_often(variant, step, seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((3000, 4))
    y = np.argmax(X @ rng.standard_normal((4, 3)) + 1.5 * rng.standard_normal((3000, 3)), axis=1)
    made = {1: 0, 100: 0}
    for price in (1, 100):
        model = CSPA(rho={(0, 2): price}, variant=variant, step=step, C=1.0, classes=[0, 1, 2])
        model.partial_fit(X[:3], [0, 1, 2])
        for x, label in zip(X[3:], y[3:], strict=True):
            made[price] += label == 0 and model.predict(x[None, :])[0] == 2
            model.partial_fit(x[None, :], [label])
    assert made[100] < 0.8 * made[1]


# ---- how costs are given


@variants
@labels_2_4
def test_costs_of_every_form_say_the_same(variant, labels):
    X, y = noisy(6, labels=labels, noise=1.0)
    rho = matrix(labels)
    rho[0, 1], rho[1, 0] = 1, 3
    pairs = as_dict(rho)
    assert len(pairs) < labels * (labels - 1)  # one that costs 1 is left out
    whole = {(i, j): rho[i, j] for i in range(labels) for j in range(labels)}
    other = rho.copy()
    np.fill_diagonal(other, 0)
    models = [
        CSPA(rho=form, variant=variant, classes=classes).partial_fit(X, y)
        for form in (rho, rho.tolist(), tuple(map(tuple, rho)), other, pairs, whole)
        for classes in ([*range(labels)], [*range(labels)][::-1])
    ]
    for model in models[1:]:
        assert (joint(model) == joint(models[0])).all()
    assert (joint(CSPA(variant=variant, classes=[*range(labels)]).partial_fit(X, y)) != joint(models[0])).any()
    for empty in ({}, np.ones((labels, labels)), dict.fromkeys(pairs, 1)):
        plain = [CSPA(rho=form, variant=variant, classes=[*range(labels)]).partial_fit(X, y) for form in (None, empty)]
        assert (joint(plain[0]) == joint(plain[1])).all()


@pytest.mark.parametrize("value", [0.0, -1.0, np.nan])
def test_the_diagonal_is_not_looked_at(value):
    X, y = noisy(6, labels=3, noise=1.0)
    rho = matrix(3)
    expected = joint(CSPA(rho=rho, classes=[0, 1, 2]).partial_fit(X, y))
    pairs = as_dict(rho)
    np.fill_diagonal(rho, value)
    for form in (rho, {**pairs, (1, 1): value}):
        assert (joint(CSPA(rho=form, classes=[0, 1, 2]).partial_fit(X, y)) == expected).all()


@variants
@pytest.mark.parametrize("names", [["ham", "spam"], ["", "a", "b b", "ü"]], ids=str)
def test_labels_that_are_strings(variant, names):
    X, y = noisy(7, labels=len(names), noise=1.0)
    rho = matrix(len(names))
    numbers = CSPA(rho=rho, variant=variant, classes=[*range(len(names))]).partial_fit(X, y)
    for form in (rho, as_dict(rho, names)):
        model = CSPA(rho=form, variant=variant, classes=names).partial_fit(X, np.array(names)[y])
        assert (joint(model) == joint(numbers)).all()
        assert model.predict(X).tolist() == [names[k] for k in numbers.predict(X)]
    one_by_one = CSPA(rho=as_dict(rho, names), variant=variant)
    late = CSPA(rho={**as_dict(rho, names), ("none", "such"): 7.0}, variant=variant)
    for x, k in zip(X, y, strict=True):
        one_by_one.learn_one({f"x{j}": value for j, value in enumerate(x)}, names[k])
    late.partial_fit(X, np.array(names)[y])
    assert joint(one_by_one) == pytest.approx(joint(late), abs=1e-12)
    assert late.classes_.tolist() == names


BAD = [
    ({(0, 1): -1e-9}, None),
    ({(0, 1): np.nan}, None),
    ({(0, 1): np.inf}, None),
    ({(0, 1): "dear"}, None),
    ({(0, 1): "2"}, None),
    ({(0, 1): None}, None),
    ({(0, 1): 10**400}, None),
    ({(0, 1, 2): 1.0}, None),
    ({0: 1.0}, None),
    ({"ab": 1.0}, None),
    ({(0.5, 1): 1.0}, None),
    ([[0, 1, -2.0], [1, 0, 1.0]], None),
    ([[0, 1, np.nan], [1, 0, 1.0]], None),
    ([[0, 1], [1, 0, 2.0]], None),
    ([[0, 1, 2.0, 3.0]], None),
    ([[0, -1.0], [1.0, 0]], [0, 1]),
    ([[0, np.nan], [1.0, 0]], [0, 1]),
    ([[0, np.inf], [1.0, 0]], [0, 1]),
    ([[0, "dear"], [1.0, 0]], [0, 1]),
    ([["0", "1"], ["1", "0"]], [0, 1]),
    (1j * np.ones((2, 2)), [0, 1]),
    (np.ones((2, 3)), [0, 1]),
    (np.ones((3, 2)), [0, 1, 2]),
    (np.ones(4), [0, 1]),
    (np.ones((2, 2, 2)), [0, 1]),
    (np.ones((2, 2)), [0, 1, 2]),
    (np.ones((4, 4)), [0, 1]),
    ([[0.0]], [0, 1]),
    ("dear", None),
    (2.0, None),
    (True, None),
    ({(0, 1)}, None),
    (1j, None),
]


@pytest.mark.parametrize(("rho", "classes"), BAD, ids=lambda value: " ".join(repr(value).split())[:40])
def test_bad_costs_are_refused_before_the_first_example(rho, classes):
    X, y = [[1.0, 2.0], [2.0, 1.0]], [0, 1]
    model = CSPA(rho=rho, classes=classes)
    for call in (lambda: model.partial_fit(X, y), lambda: model.fit(X, y), lambda: model.learn_one({"a": 1.0}, 0)):
        with pytest.raises(ParameterError, match=r"\brho\b"):
            call()
        assert not model.__sklearn_is_fitted__()
    live = CSPA(classes=classes).partial_fit(X, y)
    with Unchanged(live), pytest.raises(ParameterError, match=r"\brho\b"):
        live.set_params(rho=rho)


@variants
@labels_2_4
def test_a_label_that_the_matrix_does_not_know(variant, labels):
    X, y = noisy(6, labels=labels)
    model = CSPA(rho=matrix(labels), variant=variant, classes=[*range(labels)]).partial_fit(X, y)
    for call in (lambda: model.partial_fit(X[:2], [0, labels]), lambda: model.partial_fit(X[:1], [-1])):
        with Unchanged(model), pytest.raises(ParameterError, match=r"\brho\b"):
            call()
    assert model.partial_fit(X, y).t_ == 2 * len(y)


# ---- there and back


@variants
@labels_2_4
@pytest.mark.parametrize("form", ["matrix", "lists", "dict", "strings", "none"])
def test_a_saved_model_goes_on_bit_for_bit(tmp_path, variant, labels, form):
    X, y = noisy(8, labels=labels, noise=1.0)
    names = [f"label {k}" for k in range(labels)] if form == "strings" else [*range(labels)]
    pairs = as_dict(matrix(labels), names)
    rho = {
        "matrix": matrix(labels),
        "lists": matrix(labels).tolist(),
        "none": None,
    }.get(form, pairs)
    classes = names if form in ("matrix", "lists") else None
    y = np.array(names)[y]
    model = CSPA(rho=rho, variant=variant, C=0.3, average=True, classes=classes).partial_fit(X[:60], y[:60])
    whole = CSPA(rho=rho, variant=variant, C=0.3, average=True, classes=classes).partial_fit(X, y)
    copy = returned(model, tmp_path)
    assert joint(copy).tobytes() == joint(model).tobytes()
    assert copy.predict(X).tolist() == model.predict(X).tolist()
    for one in (copy, model):
        one.partial_fit(X[60:], y[60:])
        assert bits(one)[1][1:] == bits(whole)[1][1:]
        assert joint(one).tobytes() == joint(whole).tobytes()
    assert (copy.t_, copy.updates_) == (whole.t_, whole.updates_)
    again = returned(copy, tmp_path)
    assert joint(again.fit(X, y)).tobytes() == joint(whole).tobytes()  # the costs themselves have come along


def test_labels_that_come_after_loading_have_their_costs(tmp_path):
    X, y = noisy(9, labels=4, noise=1.0)
    rho = {(3, 0): 9.0, (0, 3): 0.25, (2, 3): 4}
    first = y < 3
    model = CSPA(rho=rho, variant="max_loss").partial_fit(X[first], y[first])
    copy = returned(model, tmp_path).partial_fit(X, y)
    assert joint(copy).tobytes() == joint(model.partial_fit(X, y)).tobytes()
    plain = CSPA(variant="max_loss").partial_fit(X[first], y[first]).partial_fit(X, y)
    assert (joint(plain) != joint(copy)).any()

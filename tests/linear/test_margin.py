"""Claims of the papers on margin methods, and mistakes of lectures and peers that this code does not repeat."""

import subprocess
import sys

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from seriatim import ALMA, MIRA, OGD, PA, ROMMA, AggressiveROMMA, OneClassPA, Perceptron
from seriatim.evaluate import progressive
from tests.reference import margin

SEEDS = range(10)
labels_2_4 = pytest.mark.parametrize("labels", [2, 4])
rommas = pytest.mark.parametrize("cls", [ROMMA, AggressiveROMMA])


def noisy(seed, n=120, d=6, labels=2, noise=0.3):
    """Rows of many norms. The first rows show each label once, so that every label competes."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * rng.choice([0.3, 1.0, 3.0], (n, 1))
    y = np.argmax(X @ rng.standard_normal((d, labels)) + noise * rng.standard_normal((n, labels)), axis=1)
    y[:labels] = range(labels)
    return X, y


def separable(seed, n=400, d=8, gap=0.2):
    """Rows of norm 1, and a vector of norm 1 that separates them with a margin of at least the gap."""
    rng = np.random.default_rng(seed)
    planted = rng.standard_normal(d)
    planted /= np.linalg.norm(planted)
    X = rng.standard_normal((n * 5, d))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    X = X[np.abs(X @ planted) > gap][:n]
    return X, np.where(X @ planted > 0, 1, -1), planted


def joint(model):
    """All weights as one array with a row per class, the intercept last."""
    return np.column_stack([model.coef_, model.intercept_])


def difference(W, row, label):
    """The multiclass form of y x: x in the row of the label and -x in the row of its strongest rival."""
    if len(W) == 1:
        return row[None, :] * (1 if label else -1)
    scores = W @ row
    scores[label] = -np.inf
    delta = np.zeros_like(W)
    delta[label] += row
    delta[np.argmax(scores)] -= row
    return delta


def moves(model, X, y, skip=4):
    """(weights before, row, label, weights after) of each example after the first; rows end with the constant."""
    model.partial_fit(X[:skip], y[:skip])
    for x, label in zip(X[skip:], y[skip:], strict=True):
        before = joint(model)
        yield before, np.append(x, 1.0), label, joint(model.partial_fit(x[None, :], [label]))


def norm(a, p=2):
    return np.sum(np.abs(a) ** p) ** (1 / p)


def link(a, p):
    """The gradient of |a|_p^2 / 2, for a != 0."""
    return np.sign(a) * np.abs(a) ** (p - 1) / norm(a, p) ** (p - 2)


# ---- perceptron and passive-aggressive


def test_perceptron_updates_at_margin_zero():
    """The lecture's 1[y w.x < 0] would never leave w = 0."""
    X, y = noisy(0)
    w = np.zeros(X.shape[1])
    for x, label in zip(X, y, strict=True):
        w = w + (2 * label - 1) * x * ((2 * label - 1) * (w @ x) < 0)
    assert (w == 0).all()
    model = Perceptron(fit_intercept=False).partial_fit(X[:1], y[:1])
    assert (model.coef_[0] == -X[0]).all()
    assert model.updates_ == 1


def test_perceptron_steps_on_mistakes_only():
    """The lecture's table has tau = 1 for a positive margin and 0 for a mistake."""
    X, y = noisy(1)
    mistakes = 0
    for W, row, label, new in moves(Perceptron(), X, y):
        delta = difference(W, row, label)
        wrong = np.sum(W * delta) <= 0
        assert (new == W + wrong * delta).all()
        mistakes += wrong
    assert 0 < mistakes < len(X) - 4


@pytest.mark.parametrize("update", ["uniform", "proportional"])
@pytest.mark.parametrize("seed", SEEDS)
def test_shared_perceptron_updates(update, seed):
    """The true class gets +x, and all classes that score at least as high share -x."""
    X, y = noisy(seed, labels=5, noise=2.0)
    several = 0
    for W, row, label, new in moves(Perceptron(update=update, classes=list(range(5)), eta=0.5), X, y, skip=5):
        above = W @ row - (W @ row)[label]
        errors = [r for r in range(5) if r != label and above[r] >= 0]
        tau = (new - W) @ row / (row @ row) / 0.5
        expected = np.zeros(5)
        if errors:
            expected[label] = 1
            total = above[errors].sum()
            expected[errors] = -above[errors] / total if update == "proportional" and total > 0 else -1 / len(errors)
        assert tau == pytest.approx(expected, abs=1e-12)
        assert new - W == pytest.approx(0.5 * np.outer(expected, row), abs=1e-12)
        several += len(errors) > 1
    assert several


@pytest.mark.parametrize("update", ["uniform", "proportional"])
def test_shared_perceptron_updates_sum_to_zero_on_ties(update):
    """LIBOL's error set is strict (>): from W = 0 only the true class would move."""
    X, y = noisy(2, labels=4)
    model = Perceptron(update=update, classes=[0, 1, 2, 3], fit_intercept=False)
    model.partial_fit(np.zeros((4, 6)), [0, 1, 2, 3])  # all labels are known, and all weights are 0
    model.partial_fit(X[:1], [2])
    assert model.coef_[2] == pytest.approx(X[0], abs=1e-15)
    assert np.abs(model.coef_).sum(axis=1).min() > 0
    model.partial_fit(X, y)
    assert model.coef_.sum(axis=0) == pytest.approx(np.zeros(6), abs=1e-12)

    libol = np.zeros((4, 6))
    errors = [r for r in range(4) if (libol @ X[0])[r] > (libol @ X[0])[2]]
    libol[2] += X[0]
    libol[errors] -= X[0] / max(len(errors), 1)
    assert np.abs(libol.sum(axis=0)).max() > 0.1


def test_perceptron_updates_are_one_where_there_are_two_labels():
    X, y = noisy(3)
    models = [Perceptron(update=update).partial_fit(X, y) for update in ("max", "uniform", "proportional")]
    assert all((joint(model) == joint(models[0])).all() for model in models)


def test_uniform_perceptron_learns():
    """SOL's uniform hinge always returns a loss of 0 and so never updates."""
    X, y = noisy(4, n=400, labels=4, noise=0)
    for update in ("uniform", "proportional"):
        model = Perceptron(update=update).partial_fit(X, y)
        assert model.updates_ > 0
        assert np.mean(model.predict(X) == y) > 0.8


def test_pa2_denominator():
    """|x|^2 + 1/(2C), where the lecture has |x|^2 + C: only the former minimises |w' - w|^2 / 2 + C xi^2."""
    X, y = noisy(5)
    C, worse = 0.2, 0

    def objective(new, W, delta):
        return np.sum((new - W) ** 2) / 2 + C * max(0, 1 - np.sum(new * delta)) ** 2

    for W, row, label, new in moves(PA(variant="II", C=C), X, y):
        delta = difference(W, row, label)
        loss = max(0, 1 - np.sum(W * delta))
        assert new == pytest.approx(W + loss / (np.sum(delta**2) + 1 / (2 * C)) * delta, abs=1e-12)
        printed = W + loss / (np.sum(delta**2) + C) * delta
        worse += objective(printed, W, delta) > objective(new, W, delta) + 1e-9
        assert objective(printed, W, delta) >= objective(new, W, delta) - 1e-12
    assert worse


def test_pa1_belongs_to_the_linear_slack():
    """The lecture shows PA-I under C xi^2, which it does not minimise."""
    X, y = noisy(6)
    C, better, worse = 0.05, 0, 0
    for W, row, label, new in moves(PA(variant="I", C=C), X, y):
        delta = difference(W, row, label)
        loss, norm2 = max(0, 1 - np.sum(W * delta)), np.sum(delta**2)
        square = W + loss / (norm2 + 1 / (2 * C)) * delta
        linear, quadratic = (
            [np.sum((v - W) ** 2) / 2 + C * max(0, 1 - np.sum(v * delta)) ** power for v in (new, square)]
            for power in (1, 2)
        )
        better += linear[0] < linear[1] - 1e-9
        worse += quadratic[0] > quadratic[1] + 1e-9
        assert linear[0] <= linear[1] + 1e-12
    assert better
    assert worse


def test_multiclass_pa_divides_by_twice_the_squared_length():
    """With |x|^2 alone the margin would be 2 - m after the step."""
    X, y = noisy(7, labels=4)
    steps = 0
    for W, row, label, new in moves(PA(variant="hard", classes=[0, 1, 2, 3]), X, y):
        delta = difference(W, row, label)
        margin = np.sum(W * delta)
        if margin < 1:
            assert np.sum(new * delta) == pytest.approx(1, abs=1e-9)
            overshot = W + (1 - margin) / (row @ row) * delta
            assert np.sum(overshot * delta) == pytest.approx(2 - margin, abs=1e-9)
            steps += 1
    assert steps


# ---- ROMMA


@rommas
@labels_2_4
@pytest.mark.parametrize("seed", SEEDS)
def test_romma_constraints(cls, labels, seed):
    """After a step the margin is 1, and w'.w = |w|^2 unless the shortest vector with that margin has more of it."""
    X, y = noisy(seed, labels=labels)
    steps = alone = 0
    for W, row, label, new in moves(cls(classes=list(range(labels))), X, y):
        delta = difference(W, row, label)
        margin, length2, norm2 = np.sum(W * delta), np.sum(W * W), np.sum(delta * delta)
        if margin >= 1 or (cls is ROMMA and margin > 0):
            assert (new == W).all()
            continue
        steps += 1
        scale = 1 + norm(new) * norm(delta)
        assert np.sum(new * delta) == pytest.approx(1, abs=1e-10 * scale)
        if margin >= norm2 * length2:
            assert new == pytest.approx(delta / norm2, rel=1e-12)
            assert np.sum(new * W) >= length2 * (1 - 1e-9)
            alone += 1
        else:
            assert np.sum(new * W) == pytest.approx(length2, abs=1e-10 * norm(new) * norm(W))
    assert steps
    assert not (cls is ROMMA and alone)


def test_aggressive_romma_may_leave_the_old_constraint_inactive():
    """x2 is shorter than x1 and close to it: the vector of margin 1 on x2 satisfies w'.w >= |w|^2 by itself.

    The formula of both constraints would hold on to an equality, with a longer vector.
    """
    x1, x2 = np.array([2.0, 0.1]), np.array([1.0, 0.0])
    model = AggressiveROMMA(fit_intercept=False).partial_fit([x1], [1])
    w = model.coef_[0].copy()
    assert w == pytest.approx(x1 / (x1 @ x1))
    new = model.partial_fit([x2], [1]).coef_[0]
    assert new == pytest.approx([1.0, 0.0])
    f, both = w @ x2, (w @ w) * (x2 @ x2)
    equality = ((both - f) * w + (w @ w) * (1 - f) * x2) / (both - f * f)
    assert equality @ x2 == pytest.approx(1)
    assert equality @ w == pytest.approx(w @ w)
    assert np.linalg.norm(equality) > np.linalg.norm(new) + 1e-3
    assert new @ w > w @ w


@rommas
@labels_2_4
@pytest.mark.parametrize("seed", SEEDS)
def test_romma_steps_to_the_shortest_vector(cls, labels, seed):
    """No nearby vector that satisfies both constraints is shorter."""
    rng = np.random.default_rng(100 + seed)
    X, y = noisy(seed, n=60, labels=labels)
    tried = 0
    for W, row, label, new in moves(cls(classes=list(range(labels))), X, y):
        if (new == W).all():
            continue
        delta = difference(W, row, label)
        for size in (1.0, 1e-2, 1e-4):
            for _ in range(10):
                other = new + size * norm(new) * rng.standard_normal(new.shape)
                if np.sum(other * delta) >= 1 and np.sum(other * W) >= np.sum(W * W):
                    assert norm(other) >= norm(new) * (1 - 1e-10)
                    tried += 1
    assert tried > 50


@rommas
def test_romma_starts_with_a_margin_of_one(cls):
    """x / |x|^2; LIBOL starts from x, whose margin is |x|^2."""
    x = np.array([3.0, -4.0])
    model = cls(fit_intercept=False).partial_fit([[0.0, 0.0], x], [1, 1])
    assert model.coef_[0] == pytest.approx(x / 25, rel=1e-15)
    assert model.decision_function([x])[0] == pytest.approx(1)
    assert (model.t_, model.updates_) == (2, 1)
    model = cls(fit_intercept=False, classes=[0, 1, 2]).partial_fit([x, x], [0, 1])
    assert model.coef_ == pytest.approx(np.outer([-1, 1, 0], x) / 50, rel=1e-15)
    assert np.diff(model.decision_function([x])[0][:2])[0] == pytest.approx(1)


@rommas
def test_romma_takes_no_step_where_none_is_possible(cls):
    """x is parallel to w on the wrong side: no vector satisfies both constraints."""
    model = cls(fit_intercept=False).partial_fit([[1.0, 2.0]], [1])
    before = model.coef_.copy()
    model.partial_fit([[-3.0, -6.0]], [1])
    assert (model.coef_ == before).all()
    assert (model.t_, model.updates_) == (2, 1)


@rommas
@pytest.mark.parametrize("seed", SEEDS)
def test_multiclass_romma_scales_every_row(cls, seed):
    """LIBOL scales the two rows of the step only; then w'.w is not |w|^2, the norm being that of all rows."""
    X, y = noisy(seed, labels=4)
    model, apart = cls(classes=[0, 1, 2, 3]), 0
    for W, row, label, new in moves(model, X, y):
        delta = difference(W, row, label)
        others = ~delta.any(axis=1)
        margin, length2, norm2 = np.sum(W * delta), np.sum(W * W), np.sum(delta * delta)
        if (new == W).all() or margin >= norm2 * length2 or not W[others].any():
            continue
        c = np.sum(new[others] * W[others]) / np.sum(W[others] ** 2)
        assert new[others] == pytest.approx(c * W[others], rel=1e-12)
        assert c == pytest.approx((norm2 * length2 - margin) / (norm2 * length2 - margin**2), rel=1e-9)
        libol = np.where(others[:, None], W, new)
        assert np.sum(libol * delta) == pytest.approx(np.sum(new * delta))
        apart += abs(np.sum(libol * W) - length2) > 1e-6 * length2
    assert apart


@rommas
@pytest.mark.parametrize("seed", range(5))
def test_romma_on_separable_data(cls, seed):
    """w never grows beyond the shortest vector with all margins 1, and there are at most (R |u|)^2 mistakes."""
    X, y, planted = separable(seed, gap=0.05)
    u = planted / (y * (X @ planted)).min()
    model, lengths = cls(fit_intercept=False, classes=[-1, 1]), []
    run = progressive(model, np.tile(X, (3, 1)), np.tile(y, 3))
    assert 0 < run.mistakes <= u @ u  # R = 1
    model = cls(fit_intercept=False)
    for x, label in zip(X, y, strict=True):
        lengths.append(norm(model.partial_fit(x[None, :], [label]).coef_))
    assert max(lengths) <= norm(u) * (1 + 1e-9)
    assert (np.diff(lengths) >= -1e-9).all()


# ---- MIRA


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_mira_solves_its_problem(seed):
    """tau sums to 0, is at most 1 for the true class and at most 0 elsewhere, and no other such tau is better."""
    rng = np.random.default_rng(200 + seed)
    X, y = noisy(seed, labels=5, noise=2.0)
    X[:4] *= 10  # longer than what comes: some steps are as long as allowed
    steps = capped = 0
    for W, row, label, new in moves(MIRA(classes=list(range(5))), X, y, skip=5):
        norm2, scores = row @ row, W @ row
        tau = (new - W) @ row / norm2
        assert new - W == pytest.approx(np.outer(tau, row), abs=1e-9)
        assert tau.sum() == pytest.approx(0, abs=1e-9)
        right = np.arange(5) == label
        assert (tau <= right + 1e-9).all()

        def objective(tau, norm2=norm2, scores=scores):
            return norm2 * np.sum(tau**2) / 2 + scores @ tau

        for _ in range(20):  # the feasible ones: c for the right class, taken from the others in any shares
            c, share = rng.random(), rng.dirichlet(np.full(4, 0.5))
            other = np.insert(-c * share, label, c)
            for size in (1.0, 1e-2, 1e-4):
                assert objective((1 - size) * tau + size * other) >= objective(tau) - 1e-9 * (1 + norm2)
        assert norm(new) <= norm(W) * (1 + 1e-12)  # it is the norm that is minimised, and tau = 0 is allowed
        steps += tau.max() > 1e-6
        capped += tau.max() > 1 - 1e-9
        assert (tau.max() > 1e-9) == (scores[label] < scores[~right].max())
    assert steps > capped > 0


@pytest.mark.parametrize("seed", SEEDS)
def test_binary_mira_is_not_pa(seed):
    """MIRA brings a negative margin to 0, by a step of at most 1. PA brings it to 1."""
    X, y = noisy(seed, n=300, noise=2.0)
    X[0] *= 30  # longer than what comes: some steps are as long as allowed
    free = capped = 0
    for W, row, label, new in moves(MIRA(classes=[0, 1]), X, y, skip=1):
        delta = difference(W, row, label)
        margin, norm2 = np.sum(W * delta), row @ row
        tau = np.sum((new - W) * delta) / norm2
        assert new == pytest.approx(W + np.clip(-margin / norm2, 0, 1) * delta, abs=1e-12)
        lengths = [np.sum((W + t * delta) ** 2) for t in np.linspace(0, 1, 101)]
        assert np.sum(new**2) <= min(lengths) + 1e-12
        if margin > 0:
            assert (new == W).all()
        elif tau < 1 - 1e-9:
            assert np.sum(new * delta) == pytest.approx(0, abs=1e-9)
            free += 1
        else:
            capped += 1
    assert free
    assert capped
    for cls, step in ((MIRA, 0), (PA, 1)):  # a margin of 1/2
        model = cls(fit_intercept=False).partial_fit([[1.0, 0.0], [0.5, 0.0]], [1, 1])
        assert model.updates_ == 1 + step


def test_mira_takes_its_first_step_as_the_perceptron():
    """From W = 0 the minimiser is tau = 0 for any example, so nothing would ever be learned."""
    X, y = noisy(8, labels=4)
    binary = MIRA(fit_intercept=False).partial_fit(np.vstack([np.zeros(6), X[0]]), [1, 1])
    assert (binary.coef_ == X[0]).all()
    assert (binary.t_, binary.updates_) == (2, 1)
    several = MIRA(fit_intercept=False, classes=[0, 1, 2, 3]).partial_fit(X[:2], [2, 1])
    assert (several.coef_ == np.outer([0, 1, -1, 0], X[1])).all()
    assert (several.t_, several.updates_) == (2, 1)
    assert np.mean(MIRA().partial_fit(X, y).predict(X) == y) > 0.6


def test_mira_ends_where_scores_are_equal_but_for_rounding():
    """Few vectors with changing labels bring the scores together to the last bit; the search for theta ends there too.

    A search that does not end holds the process, so that it is given to another.
    """
    code = """
import numpy as np
from seriatim import MIRA
for seed in range(200):
    rng = np.random.default_rng(seed)
    X = (rng.integers(-3, 4, (2, 2)) / 3)[rng.integers(0, 2, 40)]
    W = MIRA(classes=[0, 1, 2, 3], fit_intercept=False).partial_fit(X, rng.integers(0, 4, 40)).coef_
    assert np.isfinite(W).all()
    assert np.abs(W.sum(axis=0)).max() < 1e-12
"""
    subprocess.run([sys.executable, "-c", code], timeout=30, check=True)


# ---- ALMA


@labels_2_4
@pytest.mark.parametrize("p", [2, 3, 8])
@pytest.mark.parametrize("normalize", [True, False])
def test_alma_stays_in_its_ball(labels, p, normalize):
    """|w|_q <= 1, where 1/p + 1/q = 1, and the bound is reached."""
    X, y = noisy(9, labels=labels, noise=2.0)
    q = p / (p - 1)
    model = ALMA(p=p, C=3.0, normalize=normalize, classes=list(range(labels)))
    lengths = [norm(new, q) for *_, new in moves(model, X, y)]
    assert max(lengths) <= 1 + 1e-12
    assert max(lengths) >= 1 - 1e-12


@labels_2_4
@pytest.mark.parametrize("p", [2, 3, 8])
@pytest.mark.parametrize("alpha", [0.3, 0.9, 1.0])
@pytest.mark.parametrize("normalize", [True, False])
def test_alma_moves_in_the_dual_space(labels, p, alpha, normalize):
    """Where the margin is at most (1 - alpha) gamma_k, f(w) moves by eta_k x and is then scaled, if at all."""
    X, y = noisy(10, labels=labels, noise=1.0)
    q = p / (p - 1)
    B, C = 1.7, 4.0
    model = ALMA(p=p, alpha=alpha, B=B, C=C, normalize=normalize, classes=list(range(labels)))
    inside = outside = 0
    model.partial_fit(X[:4], y[:4])
    for features, label in zip(X[4:], y[4:], strict=True):
        W, k = joint(model), model.updates_ + 1
        new = joint(model.partial_fit(features[None, :], [label]))
        stepped = model.updates_ == k
        delta = difference(W, np.append(features, 1.0), label)
        x = delta / norm(delta, p) if normalize else delta
        margin, gamma = np.sum(W * x), B * np.sqrt((p - 1) / k)
        if abs(margin - (1 - alpha) * gamma) > 1e-9:
            assert stepped == (margin < (1 - alpha) * gamma)
        if stepped:
            theta = link(W, q) + C / np.sqrt((p - 1) * k) * x
            shortened = max(1, norm(theta, p))
            assert link(new, q) == pytest.approx(theta / shortened, abs=1e-9)
            inside += shortened == 1
            outside += shortened > 1
    assert outside
    assert inside or not normalize


@pytest.mark.parametrize("p", [2, 4, 8])
def test_alma_has_a_link_function(p):
    """LIBOL, SOL and River let p rescale gamma and eta and add x to w itself; for p = 2 that is the same."""
    X, y = noisy(11)
    w, k, alpha = np.zeros(6), 1, 0.9
    for x, label in zip(X, 2 * y - 1, strict=True):
        if label * (w @ x) <= (1 - alpha) * np.sqrt(p - 1) / (alpha * np.sqrt(k)):
            w = w + np.sqrt(2) / np.sqrt((p - 1) * k) * label * x
            w = w / max(1, np.linalg.norm(w))
            k += 1
    ours = ALMA(p=p, normalize=False, fit_intercept=False).partial_fit(X, y)
    if p == 2:
        assert ours.coef_[0] == pytest.approx(w, abs=1e-12)
        assert ours.updates_ == k - 1
    else:
        assert np.abs(ours.coef_[0] - w).max() > 0.01
        assert norm(w, p / (p - 1)) > 1.01  # not even in the ball of q


@pytest.mark.parametrize("p", [2, 4])
def test_alma_rescales_absent_features_too(p):
    """River rescales only the features of x: on rows of one feature its w leaves the unit ball."""
    rng = np.random.default_rng(12)
    X = np.eye(8)[rng.integers(0, 8, 60)]
    y = np.argmax(X, axis=1) % 2
    q = p / (p - 1)
    model, river, k = ALMA(p=p, alpha=0.3, fit_intercept=False, classes=[0, 1]), np.zeros(8), 1
    shrunk = 0
    for x, label in zip(X, y, strict=True):
        before = model.coef_[0].copy() if river.any() else np.zeros(8)
        after = model.partial_fit(csr_matrix(x[None, :]), [label]).coef_[0]
        assert norm(after, q) <= 1 + 1e-12
        absent = x == 0
        if norm(after, q) > 1 - 1e-12 and before[absent].any() and (after != before).any():
            ratio = np.sum(after[absent] * before[absent]) / np.sum(before[absent] ** 2)
            assert after[absent] == pytest.approx(ratio * before[absent], rel=1e-12)
            shrunk += ratio < 1 - 1e-9
        sign = 2 * label - 1
        if sign * (river @ x) <= 0.7 * np.sqrt(8) / 0.3 * np.sqrt((p - 1) / k):
            river = river + np.sqrt(2 / ((p - 1) * k)) * sign * x
            river = np.where(absent, river, river / max(1, np.linalg.norm(river)))
            k += 1
    assert shrunk
    assert np.linalg.norm(river) > 1.1


@pytest.mark.parametrize("p", [2, 6])
@pytest.mark.parametrize("alpha", [0.3, 0.7])
def test_alma_finds_a_large_margin(p, alpha):
    """Gentile, theorem 3: at most 2 (p-1) (2/alpha - 1)^2 / g^2 + 8/alpha - 4 steps, to a margin of (1 - alpha) g."""
    X, y, planted = separable(13, n=200, d=6)
    q = p / (p - 1)
    planted = planted / norm(planted, q)
    lengths = np.sum(np.abs(X) ** p, axis=1) ** (1 / p)
    gamma = (y * (X @ planted) / lengths).min()
    model = ALMA(p=p, alpha=alpha, fit_intercept=False)
    updates, steps = 0, 1
    for _ in range(2000):
        steps = model.partial_fit(X, y).updates_ - updates
        updates += steps
        if not steps:
            break
    assert steps == 0
    assert 0 < updates <= 2 * (p - 1) / gamma**2 * (2 / alpha - 1) ** 2 + 8 / alpha - 4
    assert (y * (X @ model.coef_[0]) / lengths).min() >= (1 - alpha) * gamma
    assert norm(model.coef_, q) <= 1 + 1e-12


# ---- one class


def points(seed, n=80, d=4):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)) + 3 * rng.standard_normal(d)


def centres(model, X):
    """(centre and radius before, point, centre and radius after), from the second point on."""
    model.partial_fit(X[:1])
    for x in X[1:]:
        before = np.ravel(model.coef_).copy(), model.radius_
        model.partial_fit(x[None, :])
        yield *before, x, np.ravel(model.coef_).copy(), model.radius_


@pytest.mark.parametrize("parameters", margin.OneClassPA.CASES, ids=lambda case: "-".join(map(str, case.values())))
@pytest.mark.parametrize("intercept", [False, True])
def test_one_class_equals_its_paper(parameters, intercept):
    """In one call and row by row, dense and sparse, with rows of zeros and many zeros in rows."""
    rng = np.random.default_rng(18)
    X = (points(19, n=300) + 1) * (rng.random((300, 4)) < 0.5)
    X[100] = 0
    rows = np.column_stack([X, np.full(300, float(intercept))])
    paper = margin.OneClassPA(5, **parameters)
    for row in rows:
        paper.learn(row)
    scores = [paper.score(row) for row in rows]
    for given in (X, csr_matrix(X)):
        one, by_row = (OneClassPA(**parameters, fit_intercept=intercept) for _ in range(2))
        one.partial_fit(given)
        for k in range(300):
            by_row.partial_fit(given[k : k + 1])
        for model in (one, by_row):
            assert np.ravel(model.coef_) == pytest.approx(paper.weights()[:-1], abs=1e-9)
            assert model.radius_ == pytest.approx(paper.radius(), abs=1e-9)
            assert model.decision_function(given) == pytest.approx(scores, abs=1e-9)
            assert model.t_ == 300


@pytest.mark.parametrize("seed", SEEDS)
def test_hard_one_class_ends_at_the_edge(seed):
    """After the hard update |w - x| = epsilon; a point inside changes nothing."""
    steps = 0
    for w, _, x, new, radius in centres(OneClassPA(variant="hard", epsilon=2.0), points(seed)):
        distance = np.linalg.norm(w - x)
        assert radius == 2.0
        if distance <= 2.0:
            assert (new == w).all()
        else:
            assert np.linalg.norm(new - x) == pytest.approx(2.0, abs=1e-12)
            assert np.linalg.norm(new - w) == pytest.approx(distance - 2.0, abs=1e-12)
            steps += 1
    assert 0 < steps < 79


@pytest.mark.parametrize("variant", ["I", "II"])
@pytest.mark.parametrize("B", [None, 4.0])
def test_one_class_solves_its_problem(variant, B):
    """The centre minimises |w' - w|^2 / 2 + C xi (or C xi^2), xi = [|w' - x| - epsilon]+; B adds a coordinate."""
    rng = np.random.default_rng(14)
    C, epsilon, steps = 0.2, 0.5, 0

    def lifted(w, radius):
        return w if B is None else np.append(w, np.sqrt(B * B - radius * radius))

    def objective(v, old, x):
        xi = max(0.0, np.linalg.norm(v - x) - (epsilon if B is None else B))
        return np.sum((v - old) ** 2) / 2 + C * (xi if variant == "I" else xi * xi)

    model = OneClassPA(variant=variant, C=C, epsilon=epsilon, B=B)
    for w, radius, x, new, wider in centres(model, points(15)):
        x = x if B is None else np.append(x, 0.0)
        old, ours = lifted(w, radius), lifted(new, wider)
        best = objective(ours, old, x)
        for size in (1e-1, 1e-3, 1e-5):
            for _ in range(5):
                # radii are known to 1e-16 and the coordinate, near 0, to its root only
                assert objective(ours + size * rng.standard_normal(len(x)), old, x) >= best - 1e-7
        steps += (new != w).any()
    assert steps


@pytest.mark.parametrize("variant", ["hard", "I", "II"])
@pytest.mark.parametrize("seed", range(5))
def test_learned_radius(variant, seed):
    """The radius starts at 0, never shrinks and stays below B. After a hard step the point is on the sphere."""
    B, C = 5.0, 0.3
    first, steps = points(seed)[:1], 0
    distance = np.hypot(np.linalg.norm(first), B)
    tau = {"hard": distance - B, "I": min(C, distance - B), "II": (distance - B) / (1 + 1 / (2 * C))}[variant]
    start = OneClassPA(variant=variant, B=B, C=C).partial_fit(first)
    assert start.radius_ == pytest.approx(B * np.sqrt(1 - (1 - tau / distance) ** 2), abs=1e-9)
    assert np.ravel(start.coef_) == pytest.approx(tau / distance * first[0], abs=1e-12)
    for w, radius, x, new, wider in centres(OneClassPA(variant=variant, B=B, C=C), points(seed)):
        assert 0 <= radius <= wider * (1 + 1e-12)
        assert wider <= B
        height, lower = np.sqrt(B * B - radius * radius), np.sqrt(B * B - wider * wider)
        if np.linalg.norm(w - x) <= radius * (1 - 1e-9):
            assert (new == w).all()
            assert wider == radius
            continue
        steps += 1
        distance = np.sqrt(np.sum((w - x) ** 2) + height**2)
        loss = distance - B
        tau = {"hard": loss, "I": min(C, loss), "II": loss / (1 + 1 / (2 * C))}[variant]
        assert new == pytest.approx(w + tau * (x - w) / distance, abs=1e-9)
        assert lower == pytest.approx(height * (1 - tau / distance), abs=1e-6)
        if variant == "hard":
            assert np.linalg.norm(new - x) == pytest.approx(wider, abs=1e-9)
    assert steps


@pytest.mark.parametrize("B", [None, 3.0])
def test_one_class_decides_by_the_distance(B):
    X = points(16)
    model = OneClassPA(epsilon=1.5, B=B, C=0.5).partial_fit(X)
    distances = np.linalg.norm(X - np.ravel(model.coef_), axis=1)
    scores = model.decision_function(X)
    assert scores == pytest.approx(model.radius_ - distances, abs=1e-12)
    assert model.decision_function(csr_matrix(X)) == pytest.approx(scores, abs=1e-12)
    assert (model.predict(X) == np.where(scores >= 0, 1, -1)).all()
    assert set(model.predict(X).tolist()) == {-1, 1}


def test_one_class_takes_a_row_of_zeros_for_a_point():
    model = OneClassPA(variant="hard", epsilon=0.5).partial_fit([[3.0, 4.0]])
    assert np.ravel(model.coef_) == pytest.approx([2.7, 3.6])
    model.partial_fit([[0.0, 0.0]])
    assert np.ravel(model.coef_) == pytest.approx([0.3, 0.4])
    at_rest = OneClassPA(variant="hard", epsilon=0.5).partial_fit([[0.0, 0.0]])
    assert (at_rest.t_, at_rest.updates_) == (1, 0)
    assert (np.ravel(at_rest.coef_) == 0).all()


# ---- rows of zeros


@pytest.mark.parametrize("make", [Perceptron, OGD, PA, ALMA, ROMMA, AggressiveROMMA, MIRA])
@labels_2_4
def test_a_row_of_zeros_is_a_round_and_no_step(make, labels):
    X, y = noisy(17, labels=labels)
    model = make(fit_intercept=False, classes=list(range(labels))).partial_fit(X, y)
    before, updates = model.coef_.copy(), model.updates_
    model.partial_fit(np.zeros((3, 6)), [0, 1, 0])
    assert (model.coef_ == before).all()
    assert model.t_ == len(X) + 3
    assert make is OGD or model.updates_ == updates

"""GroupRDA and MultiTaskRDA: equal to the transcriptions, minimise their objectives, set whole groups to 0."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from seriatim.errors import DataError, ParameterError
from tests.learners import by_rows, difference, has_no_signed_zero, joint, learner, never_better, real_stream
from tests.linear.test_reference import PAPERS, WAYS, compare, generic_streams, random_stream, some_ways
from tests.reference import sparse
from tests.reference.linear import BY_MARGIN
from tests.sparse.test_sparse import numerically

PAPERS["GroupRDA"] = sparse.GroupRDA
CASES = sparse.GroupRDA.CASES
cases = pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(map(str, case.values())))
labels_2_4 = pytest.mark.parametrize("labels", [2, 4])
variants = pytest.mark.parametrize("variant", ["iMTFS", "aMTFS", "MTFTS"])


def declared(labels):
    return list(labels) if len(labels) > 2 else None


# ---- groups


@cases
@pytest.mark.parametrize("labels", [(-1, 1), (0, 1, 2, 3)], ids=["binary", "multiclass"])
def test_equals_its_paper(case, labels):
    learner("GroupRDA")
    compare(("GroupRDA", case), *random_stream(1, labels), classes=declared(labels), dicts=False)
    some = {"sparse, by 7": WAYS["sparse, by 7"]}
    given = {"intercept": False, "classes": declared(labels), "ways": some, "dicts": False}
    compare(("GroupRDA", case), *random_stream(2, labels), **given)


@cases
def test_labels_that_arrive_one_after_another(case):
    learner("GroupRDA")
    rng = np.random.default_rng(5)
    X = rng.standard_normal((80, 5))
    y = np.array([(2, 4, 1, 3)[rng.integers(0, 1 + t // 20)] for t in range(80)])
    ways = {"dense, one call": WAYS["dense, one call"], "dense, by 1": WAYS["dense, by 1"]}
    compare(("GroupRDA", case), X, y, ways=ways, dicts=False)


@settings(max_examples=60)
@given(
    stream=generic_streams(),
    numbers=st.lists(st.integers(0, 3), min_size=8, max_size=8),
    within=st.sampled_from([0.0, 0.7]),
    rho=st.sampled_from([0.0, 0.05]),
    intercept=st.booleans(),
    ways=some_ways,
)
def test_generated_streams(stream, numbers, within, rho, intercept, ways):
    learner("GroupRDA")
    X, y = stream
    case = {"groups": numbers[: X.shape[1]], "lam": 0.05, "within": within, "rho": rho}
    compare(("GroupRDA", case), X, y, intercept, classes=declared(sorted(set(y.tolist()))), ways=ways, dicts=False)


def test_real_stream():
    """digits: the eight rows of the picture are the groups."""
    learner("GroupRDA")
    X, y = real_stream("digits")
    case = {"groups": [j // 8 for j in range(X.shape[1])], "lam": 0.01, "gamma": 2.0}
    ways = {way: WAYS[way] for way in ("dense, one call", "sparse, by 7")}
    compare(("GroupRDA", case), X, y, classes=sorted(set(y.tolist())), ways=ways, rows=X[::25], dicts=False)


@labels_2_4
@pytest.mark.parametrize("within", [0.0, 0.5])
@pytest.mark.parametrize("rho", [0.0, 0.1])
def test_minimises_its_objective(within, rho, labels):
    """<ubar, w> + lam sum_g (sqrt(d_g) |w^g|_2 + r |w^g|_1) + (gamma / sqrt(t)) (|w|^2 / 2 + rho |w|_1), b left out."""
    cls, rng = learner("GroupRDA"), np.random.default_rng(0)
    X, y = random_stream(3, tuple(range(labels)), n=50)
    y[:labels] = range(labels)
    groups, lam, gamma = [[0, 3], [1, 2], [4]], 0.08, 1.2
    model = cls(groups=groups, lam=lam, gamma=gamma, within=within, rho=rho, classes=list(range(labels)))
    zero = np.zeros((1 if labels == 2 else labels, 6))
    slope = BY_MARGIN["hinge"]
    delta = difference(zero, np.append(X[0], 1.0), y[0], set())
    total, seen, zeros = slope(0.0, 0) * delta, {y[0]}, 0
    for t, (W, row, label, new) in enumerate(by_rows(model, X, y), 2):
        delta = difference(W, row, label, seen)
        total = total + slope(np.sum(W * delta), 0) * delta
        mean, strength = total / t, gamma / np.sqrt(t)

        def objective(V):
            size = np.abs(V[:, :-1]).sum()
            norms = sum(np.sqrt(len(g)) * np.linalg.norm(row) for g in groups for row in V[:, g])
            near = strength * (np.sum(V * V) / 2 + rho * size)  # noqa: B023
            return np.sum(mean * V) + lam * (norms + within * size) + near  # noqa: B023

        never_better(objective, new, rng, 10)
        zeros += sum((new[:, group] == 0).all(axis=1).sum() for group in groups)
        seen.add(label)
    assert zeros


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("within", "rho"), [(0.0, 0.0), (0.6, 0.0), (0.6, 0.2)])
def test_the_closed_form_is_the_numerical_minimiser(within, rho, seed):
    """Check the transcription for DA-GL, DA-SGL and the enhanced form."""
    rng = np.random.default_rng(seed)
    paper = sparse.GroupRDA(4, groups=[0, 0, 1], lam=0.1, gamma=1.5, within=within, rho=rho)
    for _ in range(20):
        paper.learn(np.append(rng.standard_normal(3), 1.0), int(rng.integers(0, 2)))
    mean, strength = paper.G / paper.t, 1.5 / np.sqrt(paper.t)

    def objective(v):
        norms = np.sqrt(2) * np.linalg.norm(v[:2]) + abs(v[2]) + within * np.abs(v[:3]).sum()
        return mean @ v + 0.1 * norms + strength * (v @ v / 2 + rho * np.abs(v[:3]).sum())

    found = numerically(objective, paper.w + 0.2 * rng.standard_normal(4))
    assert objective(paper.w) <= objective(found) + 1e-11
    assert found == pytest.approx(paper.w, abs=2e-4)


def test_groups_are_zero_as_a_whole():
    """A whole group is exactly 0.0, or none of it. With `within` there are zeros inside other groups too."""
    cls = learner("GroupRDA")
    rng = np.random.default_rng(4)
    X = rng.standard_normal((2000, 20))
    y = (X[:, 0] + X[:, 1] + 0.2 * X[:, 2] + 0.3 * rng.standard_normal(2000) > 0).astype(int)
    groups = [j // 4 for j in range(20)]
    W = cls(groups=groups, lam=0.1, loss="logistic").partial_fit(X, y).coef_[0]
    whole = W.reshape(5, 4)
    assert (whole[0] != 0).all()
    assert (whole[1:] == 0.0).all()
    assert has_no_signed_zero(W)
    inner = cls(groups=groups, lam=0.05, within=1.0, loss="logistic").partial_fit(X, y).coef_[0]
    assert (inner[:2] != 0).all()
    assert inner[3] == 0.0


def test_the_first_round_with_nothing_to_learn():
    """|ubar^g| = 0 gives 0 / 0 in the formula: after a row of zeros, and for features that never appeared."""
    cls = learner("GroupRDA")
    model = cls(groups=[0, 0, 1], lam=0.1).partial_fit([[0.0, 0.0, 0.0]], [1])
    assert (model.coef_ == 0).all()
    model.partial_fit([[1.0, 2.0, 0.0]], [1])
    assert model.coef_[0, 2] == 0.0
    assert np.isfinite(joint(model)).all()


def test_the_bias_is_not_regularised():
    cls = learner("GroupRDA")
    X, y = random_stream(6, (0, 1))
    model = cls(groups=[0] * 5, lam=100.0, rho=1.0, gamma=2.0).partial_fit(X, y)
    assert (model.coef_ == 0).all()
    b, total = 0.0, 0.0
    for t, label in enumerate(2 * y - 1, 1):
        total += -label * (label * b < 1)
        b = -np.sqrt(t) / 2 * total / t
    assert model.intercept_[0] == pytest.approx(b, abs=1e-12)
    assert b != 0


@labels_2_4
def test_groups_of_one_are_dual_averaging(labels):
    """With groups of one feature, sqrt(d_g) = 1, the method is l1-RDA."""
    cls, RDA = learner("GroupRDA"), learner("RDA")
    X, y = random_stream(7, tuple(range(labels)))
    given = {"gamma": 2.0, "fit_intercept": False, "classes": list(range(labels))}
    plain = RDA(lam=0.05, rho=0.01, **given).partial_fit(X, y).coef_
    single = cls(groups=[3, 1, 4, 0, 2], lam=0.05, rho=0.01, **given).partial_fit(X, y).coef_
    assert single == pytest.approx(plain, abs=1e-12)
    assert ((single == 0) == (plain == 0)).all()


def test_group_numbers_equal_lists():
    cls = learner("GroupRDA")
    X, y = random_stream(8, (0, 1))
    one = joint(cls([0, 1, 0, 2, 1], lam=0.05).partial_fit(X, y))
    for same in ([[0, 2], [1, 4], [3]], [[3], [4, 1], [2, 0]], [7, 5, 7, 1, 5], np.array([0, 1, 0, 2, 1])):
        assert joint(cls(same, lam=0.05).partial_fit(X, y)) == pytest.approx(one, abs=1e-14)


def test_groups_that_are_absent_for_thousands_of_rounds():
    cls = learner("GroupRDA")
    rng = np.random.default_rng(9)
    X = rng.standard_normal((3000, 6))
    X[5:2995, :4] = 0
    y = rng.integers(0, 2, 3000)
    groups = [0, 0, 1, 1, 2, 2]
    paper, found = sparse.GroupRDA(7, groups=groups, lam=1e-3, gamma=1.0), {}
    for t, (x, label) in enumerate(zip(X, y.tolist(), strict=True), 1):
        paper.learn(np.append(x, 1.0), label)
        if t in (6, 100, 2990, 3000):
            found[t] = paper.w
    for kind in (np.asarray, csr_matrix):
        model, begin = cls(groups=groups, lam=1e-3), 0
        for end, w in found.items():
            model.partial_fit(kind(X[begin:end]), y[begin:end])
            begin = end
            assert joint(model)[0] == pytest.approx(w, abs=1e-9 * np.abs(w).max())
            assert ((joint(model)[0] == 0) == (w == 0)).all()


# ---- tasks


def tasks_stream(seed, n=150, d=5, tasks=3):
    """Tasks with the same relevant features, in random order."""
    rng = np.random.default_rng(seed)
    X, task = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.8), rng.integers(0, tasks, n)
    truth = rng.standard_normal((tasks, d)) * (np.arange(d) < 3)
    y = np.where(np.sum(X * truth[task], axis=1) + 0.3 * rng.standard_normal(n) > 0, 1, -1)
    return X, y, task


def multitask(variant, n_tasks=3, within=0.5, **more):
    """A MultiTaskRDA; only MTFTS gets `within`."""
    cls = learner("MultiTaskRDA")
    if variant == "MTFTS":
        if "within" not in cls.parameters:
            pytest.skip("MTFTS has no weight of its inner penalty")
        more["within"] = within
    return cls(n_tasks=n_tasks, variant=variant, **more)


@variants
@pytest.mark.parametrize("intercept", [False, True])
def test_tasks_equal_their_paper(variant, intercept):
    X, y, task = tasks_stream(10)
    paper = sparse.MultiTaskRDA(6, 3, variant, lam=0.03, gamma=1.5, within=0.5)
    rows = np.column_stack([X, np.full(len(X), float(intercept))])
    for x, label, k in zip(rows, y, task, strict=True):
        paper.learn(x, label, k)
    for kind in (np.asarray, csr_matrix):
        for size in (1, 7, 1000):
            model = multitask(variant, lam=0.03, gamma=1.5, fit_intercept=intercept)
            for i in range(0, len(y), size):
                model.partial_fit(kind(X[i : i + size]), y[i : i + size], task[i : i + size])
            assert model.coef_.shape == (3, 5)
            assert model.coef_ == pytest.approx(paper.W[:, :-1], abs=1e-9 * np.abs(paper.W).max())
            assert ((model.coef_ == 0) == (paper.W[:, :-1] == 0)).all()
            assert has_no_signed_zero(model.coef_)


@settings(max_examples=30)
@given(
    variant=st.sampled_from(["iMTFS", "aMTFS", "MTFTS"]),
    seed=st.integers(0, 10**6),
    n=st.integers(1, 60),
    tasks=st.integers(1, 5),
    lam=st.sampled_from([0.0, 0.01, 0.1]),
)
def test_tasks_on_generated_streams(variant, seed, n, tasks, lam):
    X, y, task = tasks_stream(seed, n, 4, tasks)
    paper = sparse.MultiTaskRDA(4, tasks, variant, lam=lam, gamma=0.7, within=0.5)
    for x, label, k in zip(X, y, task, strict=True):
        paper.learn(x, label, k)
    model = multitask(variant, tasks, lam=lam, gamma=0.7, fit_intercept=False, classes=[-1, 1])
    model.partial_fit(X, y, task)
    assert model.coef_ == pytest.approx(paper.W, abs=1e-9 * max(1e-300, np.abs(paper.W).max()))


def task_penalty(variant, W, within):
    across = np.linalg.norm(W, axis=0).sum()
    return {
        "iMTFS": np.abs(W).sum(),
        "aMTFS": across,
        "MTFTS": within * np.abs(W).sum() + across,
    }[variant]


@variants
def test_tasks_minimise_their_objective(variant):
    """<Gbar, W> + lam times the penalty + gamma |W|^2 / (2 sqrt(t)), the mean over all rounds of all tasks."""
    rng = np.random.default_rng(11)
    X, y, task = tasks_stream(11, n=60)
    lam, gamma = 0.05, 1.2
    model = multitask(variant, lam=lam, gamma=gamma, fit_intercept=False, classes=[-1, 1])
    W, total = np.zeros((3, 5)), np.zeros((3, 5))
    for t, (x, label, k) in enumerate(zip(X, y, task, strict=True), 1):
        total[k] += -label * x * (label * (W[k] @ x) < 1)
        W = model.partial_fit(x[None, :], [label], [k]).coef_.copy()
        mean, strength = total / t, gamma / np.sqrt(t)
        never_better(
            lambda V: np.sum(mean * V) + lam * task_penalty(variant, V, 0.5) + strength * np.sum(V * V) / 2,  # noqa: B023
            W, rng, 10,
        )  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(4))
@variants
def test_the_closed_form_of_tasks_is_the_numerical_minimiser(variant, seed):
    """Check the transcription."""
    rng = np.random.default_rng(seed)
    paper = sparse.MultiTaskRDA(2, 2, variant, lam=0.1, gamma=1.3, within=0.5)
    for _ in range(15):
        paper.learn(rng.standard_normal(2), rng.choice([-1, 1]), rng.integers(0, 2))
    mean, strength = paper.G / paper.t, 1.3 / np.sqrt(paper.t)

    def objective(v):
        V = v.reshape(2, 2)
        return np.sum(mean * V) + 0.1 * task_penalty(variant, V, 0.5) + strength * np.sum(V * V) / 2

    found = numerically(objective, paper.W.ravel() + 0.2 * rng.standard_normal(4))
    assert objective(paper.W.ravel()) <= objective(found) + 1e-11
    assert found == pytest.approx(paper.W.ravel(), abs=2e-4)


def test_a_single_task_is_dual_averaging():
    RDA = learner("RDA")
    X, y, _ = tasks_stream(12)
    plain = RDA(lam=0.05, gamma=1.5, fit_intercept=False).partial_fit(X, y).coef_
    for variant in ("iMTFS", "aMTFS"):
        model = multitask(variant, 1, lam=0.05, gamma=1.5, fit_intercept=False).partial_fit(X, y, np.zeros(len(y), int))
        assert model.coef_ == pytest.approx(plain, abs=1e-12)


def test_across_tasks_a_feature_is_in_all_or_in_none():
    X, y, task = tasks_stream(13, n=3000)
    W = multitask("aMTFS", lam=0.05, gamma=1.0, fit_intercept=False).partial_fit(X, y, task).coef_
    used = (W != 0).sum(axis=0)
    assert set(used.tolist()) <= {0, 3}
    assert (used[:2] == 3).any()
    assert (W[:, used == 0] == 0.0).all()


# ---- forms of `groups`


def test_blocks_of_columns():
    """A number n means groups of n adjacent columns. An incomplete last group has size n too."""
    cls = learner("GroupRDA")
    X, y = random_stream(14, (0, 1, 2), d=6)
    blocks = cls(2, lam=0.05).partial_fit(X, y)
    assert joint(blocks) == pytest.approx(joint(cls([0, 0, 1, 1, 2, 2], lam=0.05).partial_fit(X, y)), abs=1e-14)
    late = cls(2, lam=0.05).partial_fit(X[:, :5], y)
    told = cls([0, 0, 1, 1, 2, 2], lam=0.05).partial_fit(X[:, :5], y)  # the sixth column never appears
    assert joint(late) == pytest.approx(joint(told), abs=1e-14)


def test_a_feature_in_no_group_is_its_own_group():
    cls = learner("GroupRDA")
    X, y = random_stream(15, (0, 1), d=6)
    some = joint(cls([[1, 4]], lam=0.05).partial_fit(X, y))
    assert some == pytest.approx(joint(cls([[0], [1, 4], [2], [3], [5]], lam=0.05).partial_fit(X, y)), abs=1e-14)
    short = joint(cls([0, 0], lam=0.05).partial_fit(X, y))
    assert short == pytest.approx(joint(cls([0, 0, 1, 2, 3, 4], lam=0.05).partial_fit(X, y)), abs=1e-14)


def test_groups_of_names():
    """Names may appear in any order, also after a model was saved and loaded."""
    cls = learner("GroupRDA")
    X, y = random_stream(16, (0, 1, 2))
    plain = cls([[0, 3], [1, 4]], lam=0.05, within=0.2).partial_fit(X, y)
    named = cls([["d", "a"], ["b", "e"]], lam=0.05, within=0.2)
    for t, (x, label) in enumerate(zip(X, y.tolist(), strict=True)):
        named.learn_one({"edcba"[j]: x[4 - j] for j in range(5) if x[4 - j]}, label)
        if t == 30:
            named = pickle.loads(pickle.dumps(named))
    order = ["abcde".index(name) for name in named.feature_names_in_]
    assert named.coef_ == pytest.approx(plain.coef_[:, order], abs=1e-12)
    with pytest.raises(DataError, match="names"):
        cls([["a", "b"]]).partial_fit(X, y)


def test_invalid_groups_are_refused():
    cls = learner("GroupRDA")
    X, y = random_stream(17, (0, 1))
    for bad in (
        0,
        -1,
        1.5,
        True,
        None,
        "a",
        ["a", "b"],
        [0, "a"],
        [[0], [0]],
        [[]],
        [[0, 1.5]],
        [[-1]],
        {0: 1},
        [[True]],
    ):
        with pytest.raises(ParameterError, match="groups"):
            cls(bad).partial_fit(X, y)


@pytest.mark.parametrize(
    ("text", "groups"),
    [("8", 8), ("0,0,1", [0, 0, 1]), ("0,2;1", [[0, 2], [1]]), ("age,sex;", [["age", "sex"]]), ("age,sex", "age,sex")],
)
def test_groups_on_the_command_line(text, groups):
    assert learner("GroupRDA").parameters["groups"].parse(text) == groups


def test_running_norms_equal_the_norms_of_the_sums():
    """After 30,000 steps, of which most and the largest are reversed, the norms are as exact as a new sum."""
    cls = learner("GroupRDA")
    rng = np.random.default_rng(18)
    X = rng.standard_normal((30_000, 6)) * 10.0 ** rng.uniform(-6, 6, (30_000, 1))
    X[1:29_900:2] = X[:29_900:2]
    X[29_900:] = rng.standard_normal((100, 6))
    y = np.arange(30_000) % 2
    model = cls(3, lam=1e-3, loss="absolute").partial_fit(X, y)
    state = model.__getstate__()["state"]
    sums = np.zeros((6, 1))
    sums[state["index"][state["index"] > 0] - 1] = state["G"][state["index"] > 0]
    norms = state["norms"].sum(axis=1) * 2.0**128
    assert norms == pytest.approx([np.sum(sums[:3] ** 2), np.sum(sums[3:] ** 2)], rel=1e-14)


# ---- tasks as arguments


def test_one_by_one_with_tasks():
    X, y, task = tasks_stream(19)
    whole = multitask("aMTFS", lam=0.03).partial_fit(X, y, task)
    model, other = multitask("aMTFS", lam=0.03), multitask("aMTFS", lam=0.03, features={"missing": "count"})
    for x, label, k in zip(X, y.tolist(), task.tolist(), strict=True):
        named = {f"x{j}": value for j, value in enumerate(x.tolist())}
        assert model.learn_one(named, label, task=k) is model
        other.learn_one(named, label, task=k)
    for one in (model, other):
        assert one.coef_ == pytest.approx(whole.coef_, abs=1e-12)
        for x, k, score, label in zip(
            X, task.tolist(), whole.decision_function(X, task), whole.predict(X, task), strict=True
        ):
            named = {f"x{j}": value for j, value in enumerate(x.tolist())}
            assert one.score_one(named, task=k) == pytest.approx(score, abs=1e-12)
            assert one.predict_one(named, task=k) == label


def test_scores_are_by_the_weights_of_the_task():
    X, y, task = tasks_stream(20)
    model = multitask("MTFTS", lam=0.01).partial_fit(X, y, task)
    by_hand = np.sum(X * model.coef_[task], axis=1) + model.intercept_[task]
    assert model.decision_function(X, task) == pytest.approx(by_hand, abs=1e-12)
    assert model.score(X, y, tasks=task) == np.mean(model.predict(X, task) == y) > model.score(X, y)
    assert model.decision_function(X) == pytest.approx(X @ model.coef_[0] + model.intercept_[0], abs=1e-12)
    likely = multitask("iMTFS", loss="logistic").partial_fit(X, y, task)
    assert likely.predict_proba(X, task)[:, 1] == pytest.approx(1 / (1 + np.exp(-likely.decision_function(X, task))))


def test_without_tasks_all_rows_belong_to_task_0():
    X, y, task = tasks_stream(21)
    plain = multitask("aMTFS", lam=0.03).partial_fit(X, y)
    assert (plain.coef_ == multitask("aMTFS", lam=0.03).fit(X, y, 0 * task).coef_).all()
    assert (plain.coef_[1:] == 0).all()
    assert (plain.coef_[0] != 0).any()


@pytest.mark.parametrize(
    "bad", [[0, 1], 3, "a", [[0]] * 150, [0.5] * 150, [3] * 150, [-1] * 150, ["a"] * 150, [np.nan] * 150]
)
def test_invalid_tasks_are_refused(bad):
    X, y, task = tasks_stream(22)
    for model in (multitask("aMTFS"), multitask("aMTFS").partial_fit(X, y, task)):
        before = pickle.dumps(model)
        with pytest.raises(DataError, match="task"):
            model.partial_fit(X, y, bad)
        one = bad[0] if isinstance(bad, list) and len(bad) > 2 else bad
        with pytest.raises(DataError, match="task"):
            multitask("aMTFS").learn_one({"a": 1.0}, 1, task=one)
        assert pickle.dumps(model) == before


def test_a_refused_example_of_a_task_leaves_no_trace():
    model = multitask("aMTFS")
    with pytest.raises(DataError):
        model.learn_one({"a": np.inf}, 1, task=2)
    assert not model.__sklearn_is_fitted__()
    assert model.__getstate__()["state"] is None
    model.learn_one({"a": 1.0}, 1, task=1).learn_one({"a": 2.0}, 0)
    assert (model.coef_[0, 0] < 0) & (model.coef_[1, 0] > 0)


def test_tasks_of_large_blocks_and_of_saved_models():
    X, y, task = tasks_stream(23, n=1100, d=1000)
    whole = multitask("aMTFS", lam=0.01).partial_fit(X, y, task)
    model = multitask("aMTFS", lam=0.01)
    for i in range(0, 1100, 100):
        model.partial_fit(X[i : i + 100], y[i : i + 100], task[i : i + 100])
        model = pickle.loads(pickle.dumps(model))
    assert pickle.dumps(model) == pickle.dumps(whole)

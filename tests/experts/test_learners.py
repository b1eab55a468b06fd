"""Models as experts: the ensemble is a model like any other, and its members learn as they do alone."""

import copy
import json

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import seriatim
from seriatim import AROW, OGD, PA, Perceptron, data, evaluate
from seriatim.errors import DataError, ModelError, ParameterError
from seriatim.evaluate.drift import Restart
from seriatim.kernel import Gaussian
from tests.learners import learner
from tests.test_contract import assert_same_state, close, same

NAMES = ["Hedge", "AdaHedge", "FixedShare", "WeightedMajority"]
every = pytest.mark.parametrize("name", NAMES)


def members():
    return [AROW(), PA(C=0.1, fit_intercept=False), OGD(), seriatim.SoftSVM(), seriatim.KernelPA(Gaussian(20.0))]


def digits(n=600):
    X, y = data.load("digits")
    return X[:n], y[:n].astype(int)


def numbers(n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 5))
    return X, X @ [1.0, -2.0, 0.5, 0.0, 1.0] + 0.1 * rng.standard_normal(n)


@every
def test_losses_are_the_mistakes_of_the_members_alone(name):
    """Averaged members, members with and without a constant, and machines over support vectors."""
    X, y = digits()
    for target in (y, y % 2, 2 * (y % 2) - 1, np.array(["even", "odd"])[y % 2], y == 1):
        model = learner(name)(members())
        evaluate.progressive(model, X, target)
        alone = [evaluate.progressive(one, X, target) for one in members()]
        assert model.losses_.tolist() == [run.mistakes for run in alone]
        for member, run in zip(model.experts_, alone, strict=True):
            assert same(member.__getstate__()["state"], run.model.__getstate__()["state"])
            assert (member.predict(X) == run.model.predict(X)).all()


@every
def test_never_worse_than_the_best_member_by_more_than_the_bound(name):
    X, y = digits()
    model, seen = learner(name)(members()), []
    for begin in range(0, 600, 50):
        model.partial_fit(X[begin : begin + 50], y[begin : begin + 50])
        seen.append((model.regret_, model.bound_))
    assert all(regret <= bound for regret, bound in seen)
    run = evaluate.progressive(learner(name)(members()), X, y)
    assert run.mistakes <= 2 * run.model.loss_ + 1e-9  # half of the weight errs with the vote


@every
def test_the_vote_is_that_of_the_weights(name):
    X, y = digits(300)
    model = learner(name)(members()).partial_fit(X, y)
    votes = np.zeros((300, 10))
    for member, weight in zip(model.experts_, model.weights_, strict=True):
        votes[np.arange(300), member.predict(X)] += weight
    close(model.decision_function(X), votes)
    assert (model.predict(X) == votes.argmax(axis=1)).all()


def test_a_tie_is_the_lower_label():
    pair = [Perceptron(), seriatim.PA()]
    model = learner("Hedge")(pair).partial_fit([[1.0], [-1.0]], ["b", "a"])
    two = model.experts_
    for x in ([[0.5]], [[-0.5]], [[0.0]]):
        guesses = {member.predict(x)[0] for member in two}
        if len(guesses) == 2:
            assert model.predict(x)[0] == "a"


def test_regressors_are_averaged():
    X, y = numbers()
    cls = learner("Hedge")
    experts = [seriatim.PARegressor(), seriatim.OGDRegressor(eta=0.1), seriatim.AROWRegressor()]
    model = cls(experts)
    assert (model.task, model.loss, cls([seriatim.OGDRegressor(), seriatim.OGDRegressor()]).loss) == (
        "regression", "absolute", "squared"
    )  # fmt: skip
    run = evaluate.progressive(model, X, y)
    alone = [evaluate.progressive(one, X, y) for one in experts]
    predicted = sum(w * one.model.predict(X) for w, one in zip(model.weights_, alone, strict=True))
    close(model.predict(X), predicted)
    shares = np.array([np.abs(y - member) for member in progressive_scores(experts, X, y)])
    close(model.losses_, (shares / shares.max(axis=0)).sum(axis=1))
    assert model.regret_ <= model.bound_
    assert run.mean_loss <= max(one.mean_loss for one in alone)
    assert model.score(X, y) > 0.9
    one_by_one = cls(experts)
    for x, target in zip(X, y, strict=True):
        one_by_one.learn_one({f"x{j}": v for j, v in enumerate(x)}, target)
    close(one_by_one.losses_, model.losses_)
    assert one_by_one.predict_one({"x0": 1.0}) == pytest.approx(model.predict([[1.0, 0, 0, 0, 0]])[0])


def progressive_scores(experts, X, y):
    """The prediction of each regressor before it learns."""
    for one in experts:
        fresh, told = type(one)(**one.get_params()), []
        for x, target in zip(X, y, strict=True):
            told.append(fresh.predict(x[None, :])[0] if fresh.__sklearn_is_fitted__() else 0.0)
            fresh.partial_fit(x[None, :], [target])
        yield np.array(told)


def test_an_ensemble_of_ensembles(tmp_path):
    X, y = digits(200)
    cls, ada = learner("Hedge"), learner("AdaHedge")
    model = cls([ada([PA(), AROW()]), OGD()], eta=0.5).partial_fit(X, y)
    model.save(tmp_path / "model")
    again = seriatim.load(tmp_path / "model")
    assert repr(again) == repr(model)
    assert_same_state(again.partial_fit(X, y), model.partial_fit(X, y))


def test_members_with_labels_and_costs_of_their_own(tmp_path):
    """Members receive what they must know about new labels."""
    X, y = digits(300)
    odd = y % 2
    experts = [seriatim.CSPA(rho={(0, 1): 2.0, (1, 0): 1.0}), seriatim.CSOGD(), PA()]
    model = learner("Hedge")(experts).partial_fit(X, odd)
    assert model.losses_.tolist() == [evaluate.progressive(one, X, odd).mistakes for one in experts]
    with pytest.raises(DataError, match="third"):  # CSOGD is for two
        model.partial_fit(X[:1], [2])
    model.save(tmp_path / "model")
    assert same(seriatim.load(tmp_path / "model").__getstate__()["state"], model.__getstate__()["state"])


def test_watched_delayed_scaled_and_encoded():
    X, y = digits(400)
    cls = learner("Hedge")
    assert evaluate.progressive(Restart(cls([PA(), AROW()])), X, y).mistakes > 0
    late = evaluate.progressive(cls([PA(), AROW()]), X, y, delay=10)
    assert late.mistakes > evaluate.progressive(cls([PA(), AROW()]), X, y).mistakes
    scaled = cls([PA(), AROW()], features={"normalize": "max"}).partial_fit(X, y)
    alone = PA(features={"normalize": "max"}).partial_fit(X, y)
    assert (scaled.experts_[0].predict(X) == alone.predict(X)).all()
    words = cls([PA(), AROW()], features={"text": ["t"]})
    words.learn_one({"t": "cheap pills"}, "spam").learn_one({"t": "see you"}, "ham")
    assert words.predict_one({"t": "pills"}) == "spam"


def test_the_experts_given_are_not_touched():
    X, y = digits(100)
    given = [PA().partial_fit(X, y), AROW()]
    before = copy.deepcopy(given)
    model = learner("Hedge")(given).partial_fit(X, y)
    assert same(given, before)
    assert model.experts_[0].t_ == 100


@pytest.mark.parametrize(
    "bad",
    [[], [PA(), seriatim.PARegressor()], [PA], ["pa"], PA(), 5, [seriatim.OneClassPA()], [PA(features={"ngram": 2})],
     [PA(classes=["a", "b"])], [seriatim.KernelPA(sigma="median")], [seriatim.GroupRDA(2)], [PA(C=-1.0)],
     [PA()] * 1001],
    ids=lambda bad: repr(bad)[:40],
)  # fmt: skip
def test_what_cannot_be_experts(bad):
    X, y = digits(20)
    with pytest.raises(ParameterError):
        learner("Hedge")(bad).partial_fit(X, y)


def test_without_learners_rows_are_refused():
    X, y = digits(20)
    model = learner("Hedge")()
    for call in (
        lambda: evaluate.progressive(model, X, y),
        lambda: model.partial_fit(X, y),
        lambda: model.learn_one({"a": 1.0}, 1),
        lambda: model.predict_one({"a": 1.0}),
        lambda: model.experts_,
        lambda: model.predict(X),
    ):
        with pytest.raises(ParameterError, match="models as experts"):
            call()


def test_broken_files(tmp_path):
    """`load` checks the state of each member."""
    X, y = digits(50)
    path = tmp_path / "model"
    learner("Hedge")([PA(), AROW()]).partial_fit(X, y).save(path)
    tensors = load_file(path)
    from safetensors import safe_open

    with safe_open(path, framework="numpy") as file:
        manifest = json.loads(file.metadata()["seriatim"])

    def refused(change, match):
        broken, arrays = copy.deepcopy(manifest), dict(tensors)
        change(broken, arrays)
        save_file(arrays, path, metadata={"seriatim": json.dumps(broken)})
        with pytest.raises(ModelError, match=match):
            seriatim.load(path)

    def experts(m):
        return m["parameters"]["experts"]

    refused(lambda m, a: experts(m).append(experts(m)[0]), "expected")
    refused(lambda m, a: experts(m)[0].update({"class": "os.system"}), "no algorithm is called 'os.system'")
    refused(lambda m, a: experts(m)[0]["parameters"].pop("C"), "not those of PA")
    refused(lambda m, a: experts(m)[0]["parameters"].update(C=-1), "C=-1")
    refused(lambda m, a: experts(m)[0].update({"class": "PARegressor"}), "not those of PARegressor")
    refused(lambda m, a: m["parameters"].update(experts=[]), "experts")
    refused(lambda m, a: m["parameters"].update(experts=experts(m) * 1000), "experts")
    refused(lambda m, a: a.pop("1.w"), "expected|missing")
    refused(lambda m, a: a.update({"0.w": a["0.w"][:3].copy()}), "records")
    refused(lambda m, a: a.update(losses=np.zeros(3)), "experts")
    refused(lambda m, a: a.update(losses=np.array([-1.0, 2.0])), "below 0")
    refused(lambda m, a: a.update({"experts.0.weights": np.zeros(3)}), "no expert")
    refused(lambda m, a: m["numbers"].update({"0.t": -1}), "count")


@every
def test_losses_survive_a_file(name, tmp_path):
    rng = np.random.default_rng(0)
    L = rng.random((200, 7))
    model = learner(name)().partial_fit(L[:90])
    model.save(tmp_path / "model")
    again = seriatim.load(tmp_path / "model")
    assert same(again.partial_fit(L[90:]).__getstate__(), model.partial_fit(L[90:]).__getstate__())
    assert again.weights_.tobytes() == model.weights_.tobytes()
    twin = learner(name)()
    for row in L:
        twin.learn_one(row)
    assert same(twin.__getstate__(), model.__getstate__())
    assert repr(eval(repr(model), {name: learner(name)})) == repr(model)


def test_advice_in_rounds_is_advice_one_by_one():
    rng = np.random.default_rng(1)
    advice, outcome = rng.integers(0, 3, (60, 4)), rng.integers(0, 3, 60)
    for name in NAMES:
        whole, single = learner(name)().partial_fit(advice, outcome), learner(name)()
        for told, truth in zip(advice, outcome, strict=True):
            single.learn_one(told, truth)
        assert same(whole.__getstate__(), single.__getstate__())
        before = copy.deepcopy(whole.__getstate__())
        with pytest.raises(DataError, match=r"round 1, .*expert"):
            whole.partial_fit([[0, 1, 2, 0], [0, 1, 2]], [1, 1])
        assert same(whole.__getstate__(), before)

"""Hedge, AdaHedge, FixedShare, WeightedMajority: equal to their transcriptions, regret under its bound at every step.

Where a property is tested of the `paper` and of `ours`, the first shows that the transcription has it. `bound_` is
always one of `regret_`, `loss_` less the least of `losses_`; what it is of each is in tests/reference/experts.py.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import seriatim
from seriatim.errors import DataError, ParameterError
from tests.experts.comparison import CASES, KINDS, Ours, Paper, both, losses, name_of, rounds
from tests.learners import learner
from tests.reference import experts as papers
from tests.test_contract import Unchanged

# ---- equality with the transcriptions


def compare(spec, L):
    name, case = spec
    ours, paper = Ours(name, L.shape[1], **case), Paper(name, L.shape[1], **case)
    for l in L:  # noqa: E741
        ours.learn(l)
        paper.learn(l)
        for what in ("weights", "loss", "losses", "regret", "bound"):
            assert getattr(ours, what) == pytest.approx(getattr(paper, what), rel=1e-9, abs=1e-9), what
    assert ours.model.best_ == paper.losses.argmin()
    assert ours.model.t_ == len(L)
    assert ours.weights.sum() == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("spec", CASES, ids=name_of)
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "heaviest"])
def test_equals_the_paper(spec, kind):
    learner(spec[0])
    compare(spec, losses(kind, 1, T=60))


@settings(max_examples=30)
@given(st.data())
def test_equals_the_paper_on_any_losses(data):
    """Losses are multiples of 1/8, so that sums are exact and ties are the same for both."""
    spec = data.draw(st.sampled_from(CASES))
    learner(spec[0])
    N = data.draw(st.integers(1, 4))
    L = data.draw(st.lists(st.lists(st.integers(0, 8), min_size=N, max_size=N), min_size=1, max_size=15))
    compare(spec, np.array(L) / 8)


@pytest.mark.parametrize("spec", CASES, ids=name_of)
def test_chunks_rounds_and_files(spec, tmp_path):
    L, cls = losses("random", 2), learner(spec[0])
    whole = cls(**spec[1]).partial_fit(L)
    one = cls(**spec[1])
    for l in L[:13]:  # noqa: E741
        one.learn_one(list(l))
    one.save(tmp_path / "experts")
    again = seriatim.load(tmp_path / "experts").partial_fit(L[13:20]).partial_fit(L[20:])
    assert (again.weights_ == whole.weights_).all()
    assert (again.losses_ == whole.losses_).all()
    assert again.loss_ == whole.loss_
    assert again.bound_ == whole.bound_


# ---- regret


@pytest.mark.slow
@both
@pytest.mark.parametrize("spec", CASES, ids=name_of)
def test_regret_is_under_its_bound(make, spec):
    """The bound holds at every step of 1,000 random and adversarial sequences; 100 for the transcription."""
    # A round of weighted majority is a mistake or none, so losses are 0 or 1.
    whole = spec[0] == "WeightedMajority" and not spec[1].get("randomised")
    kinds = [kind for kind in KINDS if not whole or kind not in ("random", "small")]
    nearest = 0.0
    for n in range(1000 if make is Ours else 100):
        kind, model = kinds[n % len(kinds)], make(spec[0], 4, **spec[1])
        for _ in rounds(model, kind, n):
            assert model.regret <= model.bound + 1e-9, (kind, n)
        nearest = max(nearest, model.regret / model.bound)
    assert nearest > 0.2  # the sequences are hard enough that a bound could be broken


def test_adahedge_is_within_twice_its_gaps():
    for kind in KINDS:
        for seed in range(20):
            model = Paper("AdaHedge", 4)
            for _ in rounds(model, kind, seed):
                assert model.regret <= 2 * model.model.delta + 1e-9


@both
def test_the_bound_grows_as_the_root(make):
    """The regret of one round in T goes to 0, also against the adversary; with a fixed rate it need not."""
    model = make("Hedge", 4)
    average = []
    for t, _ in enumerate(rounds(model, "heaviest", 0, T=800)):
        if t + 1 in (50, 200, 800):
            average.append(model.bound / (t + 1))
    assert average[0] > 1.9 * average[1] > 3.6 * average[2]


@both
@pytest.mark.parametrize("case", [{}, {"eta": 0.6, "alpha": 0.05}])
def test_fixed_share_follows(make, case):
    """Against the best sequence of experts with k changes, found by dynamic programming; and better than Hedge."""
    T, N = 160, 4
    alpha = case.get("alpha", 0.01)
    paper = papers.FixedShare(N, **case)
    for seed in range(5):
        model, hedge = make("FixedShare", N, **case), make("Hedge", N)
        L = np.array(list(rounds(model, "good at times", seed, T, N)))
        for l in L:  # noqa: E741
            hedge.learn(l)
        best = np.full((5, N), np.inf)
        best[0] = 0.0
        for l in L:  # noqa: E741
            best[1:] = np.minimum(best[1:], best[:-1].min(axis=1, keepdims=True))
            best = best + l
        for k in range(5):
            odds = (k + 1) * np.log(N) - k * np.log(alpha) - (T - k - 1) * np.log(1 - alpha)
            assert model.loss - best[k].min() <= odds / paper.eta + paper.eta * T / 8 + 1e-9
    L = np.repeat([[0, 1], [1, 0], [0, 1]], 200, axis=0).astype(float)
    model, hedge = make("FixedShare", 2, **case), make("Hedge", 2)
    for l in L:  # noqa: E741
        model.learn(l)
        hedge.learn(l)
    assert model.loss < 60 < hedge.loss


@both
def test_weights_of_fixed_share_never_vanish(make):
    model = make("FixedShare", 5, alpha=0.05)
    for _ in range(200):
        model.learn([0, 1, 1, 1, 1])
    assert model.weights.min() >= 0.05 / 5 - 1e-12


@both
def test_adahedge_is_as_good_as_the_leader_where_that_is_easy(make):
    """One expert is right all along: a constant, whatever T is; the anytime rate of Hedge pays more."""
    model, hedge = make("AdaHedge", 4), make("Hedge", 4)
    for _ in range(1000):
        for one in (model, hedge):
            one.learn([0, 0.4, 0.5, 1])
    assert model.regret < 3
    assert hedge.regret > model.regret


@both
def test_mistakes_of_weighted_majority(make):
    """(m ln(1/beta) + ln N) / ln(2/(1 + beta)); the majority of ten experts, of whom the best errs m times."""
    rng = np.random.default_rng(3)
    for beta in (0.1, 0.5, 0.9):
        for _ in range(10):
            model = make("WeightedMajority", 10, beta=beta)
            for _ in range(60):
                model.learn((rng.random(10) < np.linspace(0.05, 0.9, 10)).astype(float))
            m = model.losses.min()
            assert model.loss <= (m * np.log(1 / beta) + np.log(10)) / np.log(2 / (1 + beta))
            assert model.loss == int(model.loss)


# ---- long sequences


@pytest.mark.parametrize("spec", CASES, ids=name_of)
def test_long_sequences_do_not_underflow(spec):
    """1e5 rounds in which one expert loses 1 and another 1/2; then, to all classes but the fixed rates, news arrive."""
    model = learner(spec[0])(**spec[1])
    model.partial_fit(np.tile([0.0, 0.5, 1.0], (100_000, 1)))
    assert np.isfinite(model.weights_).all()
    assert model.weights_.sum() == pytest.approx(1, abs=1e-12)
    assert np.isfinite([model.loss_, model.regret_, model.bound_]).all()
    assert list(model.losses_) == [0, 50_000, 100_000]
    model.partial_fit(np.tile([1.0, 1.0, 0.0], (100_001, 1)))
    assert np.isfinite(model.weights_).all()
    assert model.best_ == 2 or spec[0] == "FixedShare"
    assert model.weights_.argmax() == 2


@pytest.mark.parametrize("spec", CASES, ids=name_of)
def test_the_transcriptions_do_not_underflow(spec):
    model = Paper(spec[0], 3, **spec[1])
    for _ in range(3000):
        model.learn([0.0, 0.5, 1.0])
    for _ in range(3001):
        model.learn([1.0, 1.0, 0.0])
    assert model.weights.argmax() == 2
    assert np.isfinite(model.weights).all()


@both
@pytest.mark.parametrize("spec", CASES, ids=name_of)
def test_one_expert(make, spec):
    model = make(spec[0], 1, **spec[1])
    for loss in (0.0, 1.0, 1.0):
        model.learn([loss])
    assert list(model.weights) == [1.0]
    assert model.regret == pytest.approx(0, abs=1e-12)
    assert model.bound >= 0


# ---- advice


def test_labels():
    """The prediction is the weighted vote. An expert that is wrong loses 1."""
    model = learner("Hedge")(eta=1.0)
    model.learn_one(["rain", "sun", "rain"], "sun")
    assert list(model.losses_) == [1, 0, 1]
    assert model.loss_ == pytest.approx(2 / 3)
    e = np.exp(-1)
    assert model.weights_ == pytest.approx(np.array([e, 1, e]) / (1 + 2 * e))
    with Unchanged(model):
        assert model.predict_one(["rain", "sun", "rain"]) == "sun"
        assert model.predict_one(["rain", "sun", "snow"]) == "sun"
    fresh = learner("Hedge")().partial_fit(np.zeros((1, 4)))
    assert fresh.predict_one(["sun", "rain", "rain", "sun"]) == "rain", "the lowest label of a tie"


def test_numbers():
    model = learner("Hedge")(eta=1.0)
    model.learn_one([0.1, 0.9, 0.5], 0.9)
    assert model.losses_ == pytest.approx([0.8, 0, 0.4])
    assert model.predict_one([0.2, 0.4, 0.6]) == pytest.approx(model.weights_ @ [0.2, 0.4, 0.6])
    with Unchanged(model), pytest.raises(DataError, match="expert 2"):
        model.learn_one([0.1, 0.9, 5.5], 0.9)


@pytest.mark.parametrize("name", sorted(papers.CLASSES))
def test_advice_is_losses(name):
    rng = np.random.default_rng(4)
    one, two = learner(name)(), learner(name)()
    for _ in range(30):
        advice, outcome = [str(a) for a in rng.integers(0, 2, 5)], str(rng.integers(0, 2))
        one.learn_one(advice, outcome)
        two.learn_one([float(a != outcome) for a in advice])
    assert (one.weights_ == two.weights_).all()
    assert (one.losses_ == two.losses_).all()
    if name != "WeightedMajority":
        assert one.loss_ == two.loss_


def test_weighted_majority_counts_its_mistakes():
    """With several labels, the largest weight may be below one half."""
    rng, model, mistakes = np.random.default_rng(5), learner("WeightedMajority")(beta=0.7), 0
    paper = papers.WeightedMajority(5, beta=0.7)
    for _ in range(60):
        advice, outcome = [int(a) for a in rng.integers(0, 3, 5)], int(rng.integers(0, 3))
        if model.__sklearn_is_fitted__():
            assert model.predict_one(advice) == papers.majority(paper.w, advice)
        mistakes += papers.majority(paper.w, advice) != outcome
        model.learn_one(advice, outcome)
        paper.learn([float(a != outcome) for a in advice])
        assert model.loss_ == mistakes
        assert model.regret_ <= model.bound_ + 1e-9


def test_randomised_draws():
    """Draws follow the weights and the seed. A repeated call draws the same expert."""
    advice = ["a", "b", "c", "d"]
    counts = dict.fromkeys(advice, 0)
    for seed in range(300):
        model, paper = learner("WeightedMajority")(randomised=True, seed=seed), papers.WeightedMajority(4, seed=seed)
        for l in ([0, 1, 1, 0], [0, 0, 1, 1]):  # noqa: E741
            model.learn_one(l)
            paper.learn(l)
        with Unchanged(model):
            drawn = model.predict_one(advice)
            assert model.predict_one(advice) == drawn == advice[paper.drawn()]
        counts[drawn] += 1
    assert np.array(list(counts.values())) / 300 == pytest.approx(model.weights_, abs=0.1)


# ---- what is refused

BAD = [
    ([0.1, 1.5, 0.2], "expert 1"),
    ([0.1, 0.2, -1e-9], "expert 2"),
    ([np.nan, 0.2, 0.3], "expert 0"),
    ([0.1, 0.2, np.inf], "expert 2"),
    ([0.1, 0.2], "2"),
    ([0.1, 0.2, 0.3, 0.4], "4"),
    ([], "0"),
]


@pytest.mark.parametrize("name, first, then", [
    ("Hedge", {"eta": 0.001}, {"eta": 1.0}), ("FixedShare", {}, {"eta": 1.0}), ("FixedShare", {}, {"alpha": 0.5}),
    ("WeightedMajority", {}, {"beta": 0.9}), ("WeightedMajority", {}, {"randomised": True}),
])  # fmt: skip
def test_what_the_bound_is_of_stays(name, first, then):
    """The rate is fixed: a new rate would change the bound of earlier rounds."""
    learner(name)(**first).set_params(**then)
    model = learner(name)(**first).partial_fit(np.tile([0.0, 1.0], (100, 1)))
    with Unchanged(model), pytest.raises(ParameterError, match="cannot be changed"):
        model.set_params(**then)


@pytest.mark.parametrize("name", sorted(papers.CLASSES))
@pytest.mark.parametrize("bad", BAD, ids=[str(b[0]) for b in BAD])
def test_losses_that_are_refused(name, bad):
    model = learner(name)().partial_fit(losses("random", 6, N=3))
    with Unchanged(model), pytest.raises(DataError, match=bad[1]):
        model.learn_one(bad[0])
    with Unchanged(model), pytest.raises(DataError):
        model.partial_fit([bad[0]])


def test_parameters_that_are_refused():
    for name, case in (
        ("Hedge", {"eta": 0.0}),
        ("Hedge", {"eta": -1.0}),
        ("FixedShare", {"alpha": 0.0}),
        ("FixedShare", {"alpha": 1.0}),
        ("WeightedMajority", {"beta": 0.0}),
        ("WeightedMajority", {"beta": 1.0}),
    ):
        with pytest.raises(ParameterError):
            learner(name)(**case).learn_one([0.0, 1.0])


@pytest.mark.parametrize("name", sorted(papers.CLASSES))
def test_advice_that_is_refused(name):
    model = learner(name)().learn_one(["a", "b"], "a")
    for advice, outcome in ((["a", "b"], None), (["a", None], "a"), (["a", 0.5], "a"), ("ab", "a"), (["a"], "a")):
        with Unchanged(model), pytest.raises(DataError):
            model.learn_one(advice, outcome)
    for advice, outcomes in (([["a", "b"]], 3), (3, ["a"]), ([["a", "b"]], ["a", "b"]), ("ab", "ab")):
        with Unchanged(model), pytest.raises(DataError):
            model.partial_fit(advice, outcomes)


def test_advice_in_a_frame():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"first": ["a", "b", "b"], "second": ["a", "a", "a"]})
    model = learner("Hedge")().partial_fit(frame, frame["first"])
    assert model.losses_.tolist() == [0, 2]


def test_experts_that_are_no_list():
    for experts in (seriatim.AROW(), 0.5, "arow"):
        for call in (lambda m: m.learn_one({"a": 1.0}, 1), lambda m: m.learn_one([0.0, 1.0])):
            with pytest.raises(ParameterError, match="experts="):
                call(learner("Hedge")(experts))


def test_rows_need_experts():
    model = learner("Hedge")()
    with pytest.raises(ParameterError, match="experts"):
        model.predict(np.ones((2, 3)))

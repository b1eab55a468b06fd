"""Detectors of drift do what their papers say, as early and as quietly as stated; wrappers act on what they find."""

import copy
import json
import math
import pickle
from itertools import islice

import numpy as np
import pandas
import pytest
from scipy import stats
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from seriatim import AROW, PA, SOFS, OGDRegressor, OneClassPA, PARegressor, Perceptron, TruncatedGradient, data
from seriatim.data.generate.drift import abrupt, sea, stagger
from seriatim.errors import DataError, ModelError, NotFittedError, ParameterError
from seriatim.evaluate import progressive
from seriatim.evaluate.drift import ADWIN, DDM, KSWIN, Blend, Change, Changes, PageHinkley, Restart, changes
from tests.reference import drift as reference
from tests.test_contract import SUPERVISED, default, most_labels

DETECTORS = [ADWIN, DDM, PageHinkley, KSWIN]
WRAPPERS = [Restart, Blend]
detectors = pytest.mark.parametrize("make", DETECTORS)
wrappers = pytest.mark.parametrize("wrapper", WRAPPERS)


def mistakes(seed, *levels):
    """0 and 1: for each (n, rate), so many."""
    rng = np.random.default_rng(seed)
    return np.concatenate([(rng.random(n) < rate).astype(float) for n, rate in levels])


def gaussian(seed, *levels):
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.normal(mean, deviation, n) for n, mean, deviation in levels])


def places(found):
    return [change.at for change in found]


# ---- the papers


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("parameters", [{}, {"delta": 0.3, "M": 2}, {"delta": 0.05, "M": 1}])
def test_adwin_is_that_of_the_paper(seed, parameters):
    for values in (
        mistakes(seed, (200, 0.2), (120, 0.8), (80, 0.1)),
        1e6 + gaussian(seed, (150, 0, 1), (100, 2, 1), (100, -2, 3)),
    ):
        alarms, widths = reference.adwin(values - values.mean(), **parameters)
        assert len(alarms) > 0
        assert places(ADWIN(**parameters).scan(values)) == alarms
        detector = ADWIN(**parameters)
        assert [(detector.update(x), detector.width)[1] for x in values.tolist()] == widths
        assert detector.mean == pytest.approx(values[-detector.width :].mean())


@pytest.mark.parametrize("seed", range(3))
def test_adwin_against_all_cuts(seed):
    """With a bucket for each value it is ADWIN0; else a cut may be missed, but only a cut: it is later."""
    values = gaussian(seed, (60, 0, 1), (35, 8, 1))
    exact = reference.adwin0(values)
    assert places(ADWIN(M=100).scan(values)) == exact
    assert places(ADWIN(M=1).scan(values))[0] >= exact[0]


@pytest.mark.parametrize("seed", range(4))
def test_ddm_is_that_of_the_paper(seed):
    values = mistakes(seed, (300, 0), (400, 0.1), (200, 0.4), (300, 0.05), (200, 1))
    for parameters in ({}, {"warning": 1.0, "drift": 2.0, "least": 5}):
        alarms, warnings = reference.ddm(values, **parameters)
        assert len(alarms) > 0
        assert places(DDM(**parameters).scan(values)) == alarms
        detector = DDM(**parameters)
        assert [t for t, x in enumerate(values.tolist(), 1) if detector.update(x) or detector.warned] == warnings


@pytest.mark.parametrize("seed", range(4))
def test_page_hinkley_is_that_of_the_paper(seed):
    values = gaussian(seed, (300, 0, 1), (200, 2, 1), (300, 0, 1))
    for parameters in ({"threshold": 20.0}, {"delta": 0.5, "threshold": 8.0}, {"delta": 0.0, "threshold": 15.0}):
        alarms = reference.page_hinkley(values, **parameters)
        assert len(alarms) > 0
        assert places(PageHinkley(**parameters).scan(values)) == alarms
        assert places(PageHinkley(**parameters, direction="down").scan(-values)) == alarms
        both = places(PageHinkley(**parameters, direction="both").scan(values))
        assert both[0] == min(alarms[0], reference.page_hinkley(-values, **parameters)[0])


@pytest.mark.parametrize("seed", range(4))
def test_kswin_is_that_of_the_paper(seed):
    for values in (
        gaussian(seed, (150, 0, 1), (100, 2, 1), (150, 2, 0.2)),
        np.round(gaussian(seed, (150, 0, 2), (200, 3, 2))),  # with ties
    ):
        for parameters in ({}, {"n": 60, "alpha": 0.01}, {"n": 50, "r": 10, "alpha": 0.05}):
            alarms = reference.kswin(values, seed=seed, **parameters)
            assert len(alarms) > 0
            assert places(KSWIN(seed=seed, **parameters).scan(values)) == alarms


@detectors
def test_a_detector_resumes_from_its_state(make):
    """A copy after any number of values finds what the detector finds, to the bit."""
    values = mistakes(3, (230, 0.1), (120, 0.8), (150, 0.2))
    detector = make()
    for begin in range(0, len(values), 50):
        whole = make()
        whole.scan(values[:begin])
        found = whole.scan(values[begin:])
        assert copy.deepcopy(detector).scan(values[begin:]) == found
        assert pickle.loads(pickle.dumps(detector)).scan(values[begin:]) == found
        detector.scan(values[begin : begin + 50])


# ---- delay


def adwin_delay(n, h, variance, reach=1.0, delta=0.002, M=5):
    """How many values after a shift by h there is a cut with h > 2e, and 1/M more, for cuts are between buckets."""
    for after in range(1, n):
        m, ln = 1 / (1 / n + 1 / after), math.log(2 * math.log(n + after) / delta)
        if h > 2 * (math.sqrt(2 / m * variance * ln) + 2 / (3 * m) * reach * ln):
            return after * (1 + 1 / M)
    raise AssertionError("not to be found")


@pytest.mark.parametrize(("low", "high"), [(0.1, 0.2), (0.1, 0.3), (0.05, 0.5), (0.3, 0.2), (0.5, 0.1)])
def test_adwin_finds_mistakes_within_the_stated_delay(low, high):
    delay = adwin_delay(5000, abs(high - low), max(low * (1 - low), high * (1 - high)))
    others = 0
    for seed in range(20):
        found = changes(mistakes(seed, (5000, low), (4900, high)))
        assert 5000 < found[0].at <= 5000 + delay
        assert found[0].since == pytest.approx(5000, abs=delay)
        assert found[0].before == pytest.approx(low, abs=0.03)  # at least four standard errors
        assert (found[0].after > found[0].before) == (high > low)
        others += len(found) - 1
    assert others <= 2


@pytest.mark.parametrize("shift", [0.5, 1, 3, -2])
@pytest.mark.parametrize("scale", [1e-6, 1, 1e6])
def test_adwin_finds_shifts_of_any_scale(shift, scale):
    for seed in range(10):
        values = scale * gaussian(seed, (3000, 5, 1), (2000, 5 + shift, 1))
        found = changes(values)
        delay = adwin_delay(3000, abs(shift), 1 + shift**2 / 4, reach=8 + abs(shift))
        assert places(found) == places(changes(values / scale))
        assert 3000 < found[0].at <= 3000 + delay


@pytest.mark.parametrize(("low", "high"), [(0.1, 0.3), (0.05, 0.5), (0.3, 0.6)])
@pytest.mark.parametrize("quiet", [500, 5000])
def test_ddm_finds_a_rise_within_the_stated_delay(low, high, quiet):
    """Where there was no false alarm before; at the stated rate there are many, soon after the beginning."""
    share = 4 * math.sqrt(low * (1 - low) / quiet) / (high - low)
    streams = [places(DDM().scan(mistakes(seed, (quiet, low), (2 * quiet, high)))) for seed in range(100)]
    delays = [found[0] - quiet for found in streams if found[0] > quiet]
    assert len(delays) >= 30
    assert np.median(delays) <= quiet * share / (1 - share)
    assert np.quantile(delays, 0.9) <= 5 * quiet * share / (1 - share)


def test_ddm_takes_no_notice_of_a_fall():
    assert changes([1, 0, 1] * 1000 + [0, 0, 0, 0, 1] * 1000, DDM()) == []


@pytest.mark.parametrize(("low", "high"), [(0.1, 0.3), (0.05, 0.5), (0.3, 0.6)])
def test_page_hinkley_finds_a_rise_within_the_stated_delay(low, high):
    for seed in range(20):
        values = mistakes(seed, (10_000, low), (5000, high))
        found = [at for at in places(PageHinkley().scan(values)) if at > 10_000]
        assert found[0] <= 10_000 + 1.5 * 50 / (high - low - 0.005)


def test_kswin_finds_what_is_no_change_of_the_mean():
    for seed in range(20):
        values = gaussian(seed, (200, 0, 1), (100, 0, 50))
        assert any(200 < at <= 270 for at in places(KSWIN(seed=seed).scan(values)))
        apart = gaussian(seed, (200, 0, 1), (50, 50, 1))
        found = [at for at in places(KSWIN(alpha=0.0001, seed=seed).scan(apart)) if at > 200]
        assert found[0] <= 200 + 30 * math.sqrt(-math.log(0.0001) / 30) + 1


def test_the_distance_is_that_of_kolmogorov_and_smirnov():
    for seed in range(20):
        a, b = np.round(gaussian(seed, (30, 0, 1)), 1), np.round(gaussian(seed + 1, (30, 0.5, 1)), 1)
        assert reference.distance(a, b) == pytest.approx(stats.ks_2samp(a, b).statistic)


# ---- silence


MILLION = 10**6


@pytest.mark.parametrize("rate", [0.01, 0.1, 0.5])
def test_silence_on_a_million_mistakes(rate):
    """The stated rates: ADWIN admits 2000; by what was measured, hardly any."""
    values = mistakes(11, (MILLION, rate))
    assert len(changes(values)) <= 5
    assert len(DDM().scan(values)) <= 10
    deviation, delta, threshold = math.sqrt(rate * (1 - rate)), 0.005, 50
    b = 2 * delta * (threshold + 1.17 * deviation) / deviation**2
    expected = MILLION * 2 * delta**2 / deviation**2 / (math.exp(min(b, 700)) - b - 1)
    assert len(PageHinkley().scan(values)) <= expected + 4 * math.sqrt(expected) + 2
    assert len(KSWIN(alpha=0.0001).scan(values)) <= 1.2 * 2 * 0.0001 * MILLION


def test_silence_on_a_million_numbers():
    values = gaussian(12, (MILLION, 3, 2))
    assert len(changes(values)) <= 5
    assert len(changes(np.exp(values / 2))) <= 5  # of heavy tails
    b = 2 * 0.1 * (50 + 1.17 * 2) / 4
    expected = MILLION * 2 * 0.01 / 4 / (math.exp(b) - b - 1)
    assert len(PageHinkley(delta=0.1).scan(values)) <= expected + 4 * math.sqrt(expected)
    found = len(KSWIN(alpha=0.001).scan(values))
    assert 100 < found <= 2 * 0.001 * MILLION


def test_ddm_is_not_quiet_at_first():
    """What its docstring warns of."""
    share = np.mean([bool(DDM().scan(mistakes(seed, (1000, 0.1)))) for seed in range(500)])
    assert 0.3 < share < 0.5


# ---- the interface


@detectors
def test_any_division_of_the_values(make):
    values = mistakes(5, (700, 0.1), (400, 0.5), (400, 0.2), (500, 0.9))
    whole = make().scan(values)
    assert whole
    detector = make()
    assert [t for t, x in enumerate(values.tolist(), 1) if detector.update(x)] == places(whole)
    detector = make()
    assert [c for begin in range(0, len(values), 37) for c in detector.scan(values[begin : begin + 37])] == whole
    assert detector.t == len(values)
    detector = make()
    assert detector.first(values) == whole[0]
    assert detector.t == whole[0].at
    assert detector.fresh().t == 0
    assert make().scan([]) == []
    assert make().scan(values.astype(bool)) == whole


@detectors
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, 1e60])
def test_bad_values_are_refused_and_leave_no_trace(make, bad):
    detector, same = make(), make()
    with pytest.raises(DataError, match="value 3: "):
        detector.scan([0.0, 1.0, bad, 0.0])
    with pytest.raises(DataError, match="value 1: "):
        detector.update(bad)
    values = mistakes(5, (700, 0.1), (400, 0.8))
    assert detector.scan(values) == same.scan(values)


@detectors
@pytest.mark.parametrize("bad", [["a", "b"], [[1.0]], 3.0, [None]])
def test_what_is_no_series_is_refused(make, bad):
    with pytest.raises(DataError, match="numbers in one dimension"):
        make().scan(bad)
    with pytest.raises(DataError, match="is not a number"):
        make().update("a")


def test_ddm_takes_mistakes_only():
    with pytest.raises(DataError, match=r"value 2: 0\.5; DDM takes mistakes, each 0 or 1"):
        DDM().scan([0, 0.5])


@pytest.mark.parametrize(
    ("make", "parameters", "message"),
    [
        (ADWIN, {"delta": 0}, "ADWIN: delta=0: must be a number above 0 and below 1"),
        (ADWIN, {"M": 0}, "M=0: must be a whole number at least 1"),
        (DDM, {"warning": 4}, r"DDM: drift=3\.0: must be at least warning=4"),
        (DDM, {"least": 2.5}, "whole number"),
        (PageHinkley, {"threshold": -1}, "threshold=-1: must be"),
        (PageHinkley, {"direction": "left"}, "'up' or 'down' or 'both'"),
        (KSWIN, {"alpha": 1}, "alpha=1: must be"),
        (KSWIN, {"n": 50}, "n=50: must be at least 2 r = 60"),
        (KSWIN, {"seed": -1}, "seed=-1: must be"),
    ],
)
def test_parameters_are_checked(make, parameters, message):
    with pytest.raises(ParameterError, match=message):
        make(**parameters)


@detectors
def test_detectors_are_shown_and_copied(make):
    detector = make()
    assert repr(eval(repr(detector))) == repr(detector)
    assert repr(copy.deepcopy(detector)) == repr(clone(detector)) == repr(detector)
    assert detector.get_params() == {name: declared.default for name, declared in make.parameters.items()}
    for name in make.parameters:
        assert f"\n    {name} : " in make.__doc__


def test_adwin_goes_on_with_its_window_cut():
    detector = ADWIN()
    detector.scan(mistakes(1, (20_000, 0.1)))
    assert detector.width == 20_000
    detector.scan(mistakes(2, (1000, 0.9)))
    assert 950 <= detector.width <= 1100


def test_changes_of_a_feature():
    X = np.concatenate([rows.arrays[0] for rows, _ in islice(abrupt(sea(1), sea(2), 10_000), 2)])
    X[10_000:, 1] += 5
    assert changes(X[:, 0]) == []
    (change,) = changes(X[:, 1])
    assert 10_000 < change.at < 10_100
    assert (change.before, change.after) == pytest.approx((5, 10), abs=1)
    assert change.as_dict()["detector"] == "ADWIN"
    with pytest.raises(ParameterError, match="must be ADWIN"):
        changes(X[:, 1], "adwin")


# ---- models that act


QUICK = PageHinkley(delta=0.1, threshold=4.0)


def switching(labels=2, n=900, features=6, width=300, seed=0):
    """Rows whose labels are given by other weights every so often."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, features))
    weights = rng.normal(size=(-(-n // width), features, labels))
    scores = np.einsum("ij,ijk->ik", X, weights[np.arange(n) // width])
    return X, scores.argmax(axis=1), scores[:, 0]


def examples(cls, labels=2, **options):
    X, y, numbers = switching(labels, **options)
    return X, numbers if cls.task == "regression" else y


@pytest.mark.parametrize("make", [PA, AROW, Perceptron, PARegressor, lambda: OGDRegressor(eta=0.05)])
@pytest.mark.parametrize("detector", [QUICK, ADWIN(delta=0.2), KSWIN()])
def test_wrappers_are_what_they_say(make, detector):
    """Against a loop over rows that follows the docstring, with models of its own."""
    X, y, numbers = switching()
    target = numbers if make().task == "regression" else 2 * y - 1
    costs, rises, model = reference.restart(make, detector, X, target)
    run = progressive(Restart(make(), detector), X, target)
    assert rises or isinstance(detector, ADWIN)
    assert places(run.model.changes_) == rises
    assert run.model.model.coef_.tolist() == model.coef_.tolist()
    assert (run.loss if run.mistakes is None else run.mistakes) == pytest.approx(sum(costs))

    costs, rises, models = reference.blend(make, detector, X, target)
    run = progressive(Blend(make(), detector), X, target)
    assert places(run.model.changes_) == rises
    assert len(models) == 1 + (run.model.beside is not None)
    assert run.model.model.coef_.tolist() == models[0].coef_.tolist()
    assert (run.loss if run.mistakes is None else run.mistakes) == pytest.approx(sum(costs))


@wrappers
@pytest.mark.parametrize("cls", SUPERVISED.values(), ids=list(SUPERVISED))
@pytest.mark.parametrize("labels", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_any_division_of_the_stream(wrapper, cls, labels):
    X, y = examples(cls, min(labels, most_labels(cls)), n=400, width=100)

    def learned(size):
        model, total = wrapper(default(cls), QUICK), 0.0
        for begin in range(0, len(y), size):
            run = progressive(model, X[begin : begin + size], y[begin : begin + size])
            total += run.loss if run.mistakes is None else run.mistakes
            assert np.isfinite(model.score_rows(model.as_rows(X[:3]).check())).all()
        return model, total

    whole, total = learned(len(y))
    # One forgets so fast that nothing rises; the other may use 3 of 7 weights for 4 labels, and nothing falls.
    assert whole.changes_ or cls is TruncatedGradient or (cls is SOFS and labels == 4)
    for size in (1, 7, 64):
        model, same = learned(size)
        assert model.changes_ == whole.changes_
        assert (model.t_, model.updates_) == (whole.t_, whole.updates_)
        assert model.predict(X).tolist() == whole.predict(X).tolist()
        rows = model.as_rows(X).check()
        assert model.score_rows(rows).tolist() == whole.score_rows(rows).tolist()
        assert same == pytest.approx(total, rel=1e-12)
    model = wrapper(default(cls), QUICK).partial_fit(X[:150], y[:150]).partial_fit(X[150:], y[150:])
    assert (model.changes_, model.updates_) == (whole.changes_, whole.updates_)
    assert wrapper(default(cls), QUICK).fit(X[::-1], y).fit(X, y).changes_ == whole.changes_


@wrappers
@pytest.mark.parametrize("cls", [PA, AROW, PARegressor])
@pytest.mark.parametrize("labels", [2, 3])
def test_one_by_one_by_name(wrapper, cls, labels):
    """As in blocks, and features that come in mid-stream do no harm."""
    X, y = examples(cls, labels, n=500, width=100)
    X[:250, 3:] = 0
    named = [{f"x{j}": float(v) for j, v in enumerate(x) if v} for x in X]
    whole = progressive(wrapper(cls(), QUICK), X, y).model
    model, cost = wrapper(cls(), QUICK), 0
    assert model.predict_one(named[0]) in (None, 0.0)
    for x, target in zip(named, y.tolist(), strict=True):
        cost += model.predict_one(x) != target
        model.learn_one(x, target)
    assert places(model.changes_) == places(whole.changes_)
    assert (model.t_, model.updates_, model.n_features_in_) == (500, whole.updates_, 6)
    assert [model.predict_one(x) for x in named[:50]] == pytest.approx(whole.predict(X[:50]).tolist())
    one, many = model.score_one(named[0]), whole.score_rows(whole.as_rows(X[:1]).check())[0].tolist()
    assert (list(one.values()) if isinstance(one, dict) else [one]) == pytest.approx(many)


@wrappers
@pytest.mark.parametrize("size", [1, 11, 1000])
def test_labels_that_come_and_go(wrapper, size):
    """Three names, one of them in the middle only; what has been met stays known after a fresh start."""
    X, y, _ = switching(3, n=900)
    names = np.array(["a", "b", "c"])[y]
    names[:250][names[:250] == "c"] = "a"
    names[500:][names[500:] == "b"] = "a"
    model, wrong = wrapper(PA(), QUICK), 0
    for begin in range(0, 900, size):
        run = progressive(model, X[begin : begin + size], names[begin : begin + size])
        wrong += run.mistakes
    assert model.changes_
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert model.decision_function(X).shape == (900, 3)
    assert set(model.predict(X)) <= {"a", "b", "c"}
    assert (wrong, places(model.changes_)) == (
        (whole := progressive(wrapper(PA(), QUICK), X, names)).mistakes,
        places(whole.model.changes_),
    )


@wrappers
def test_classes_that_were_declared_stay(wrapper):
    X, y, _ = switching(2)
    model = wrapper(PA(), QUICK).partial_fit(X[:10], y[:10], classes=[0, 1, 2]).partial_fit(X[10:], y[10:])
    assert model.changes_
    assert model.classes_.tolist() == [0, 1, 2]
    assert model.decision_function(X).shape == (900, 3)


@wrappers
@pytest.mark.parametrize("detector", [None, DDM(), PageHinkley(threshold=10), KSWIN()])
def test_recovery_from_an_abrupt_switch(wrapper, detector):
    """AROW hardly moves once it is sure; with a fresh start it follows each concept."""
    bare = progressive(AROW(), data.stream(stagger(3, width=1000), limit=6000))
    run = progressive(wrapper(AROW(), detector), data.stream(stagger(3, width=1000), limit=6000))
    assert bare.mistakes > 1500
    assert run.mistakes < 200
    found = places(run.model.changes_)
    assert [round(at, -3) for at in found if at > 1000 and at % 1000 < 120] == [1000, 2000, 3000, 4000, 5000]
    assert len(found) <= 7


@wrappers
def test_recovery_on_sea_and_of_a_regressor(wrapper):
    def total(make):
        streams = [data.stream(sea(seed, width=5000), limit=20_000) for seed in range(4)]
        return sum(progressive(make(), stream).mistakes for stream in streams)

    assert total(lambda: wrapper(AROW())) < 0.97 * total(AROW)
    X, _, y = switching(n=6000, width=2000)
    y = y + np.random.default_rng(0).normal(scale=0.1, size=6000)

    def slow():
        return OGDRegressor(eta=0.5, schedule="inverse")

    bare, run = progressive(slow(), X, y), progressive(wrapper(slow()), X, y)
    assert run.loss < 0.5 * bare.loss
    assert [round(at, -3) for at in places(run.model.changes_)] == [2000, 4000]


@wrappers
def test_nothing_is_done_without_drift(wrapper):
    """The wrapped model is the bare one, to the last bit."""
    X, y, _ = switching(3, n=2000, width=2000)
    model, bare = wrapper(PA()).partial_fit(X, y), PA().partial_fit(X, y)
    assert model.changes_ == []
    assert model.decision_function(X).tolist() == bare.decision_function(X).tolist()
    assert model.score(X, y) == bare.score(X, y)
    assert (model.updates_, model.t_) == (bare.updates_, bare.t_)


def test_a_falling_rate_is_no_reason_to_begin_anew():
    X, y, _ = switching(n=3000, width=3000)
    noisy = np.where(np.arange(3000) < 1000, np.random.default_rng(0).integers(0, 2, 3000), y)
    assert changes(np.arange(3000) < 1000)
    assert Restart(PA()).partial_fit(X, noisy).changes_ == []


@wrappers
def test_a_model_goes_on_from_where_it_is(wrapper):
    X, y, _ = switching()
    model = wrapper(PA().partial_fit(X[:100], y[:100]), QUICK)
    assert progressive(model, X[100:], y[100:]).examples == 800
    assert model.t_ == 900
    assert model.changes_[0].at > 100


@wrappers
def test_streams_with_names_and_weights(wrapper, tmp_path):
    X, y, _ = switching(n=600, width=200)
    path = tmp_path / "some.vw"
    lines = [f"{2 * t - 1} {1 + i % 3} | " + " ".join(f"f{j}:{v:.6f}" for j, v in enumerate(x[: 3 + i // 200]))
             for i, (x, t) in enumerate(zip(X, y, strict=True))]  # fmt: skip
    path.write_text("\n".join(lines) + "\n")
    found = []
    for block in (1 << 20, 2000):
        run = progressive(wrapper(PA(features={"normalize": "standard"}), QUICK), data.stream(path, block=block))
        found.append((run.mistakes, run.updates, run.model.changes_, run.model.n_features_in_))
    assert found[0] == found[1]
    assert found[0][2]
    assert found[0][3] == 5


@wrappers
def test_refusals(wrapper):
    X, y, numbers = switching()
    with pytest.raises(NotFittedError, match="has not seen an example"):
        wrapper(PA()).predict(X)
    for bad in (OneClassPA(), PA, "pa", None):
        with pytest.raises(ParameterError, match="must be a classifier or a regressor"):
            wrapper(bad)
    with pytest.raises(ParameterError, match="must be ADWIN"):
        wrapper(PA(), "ddm")
    with pytest.raises(ParameterError, match="DDM takes mistakes"):
        wrapper(PARegressor(), DDM())
    with pytest.raises(ParameterError, match="DDM takes mistakes"):
        wrapper(PARegressor()).set_params(detector=DDM())
    with pytest.raises(ParameterError, match="classes"):
        wrapper(PARegressor()).partial_fit(X, numbers, classes=[0, 1])
    with pytest.raises(ModelError, match="remove the delay"):
        progressive(wrapper(PA()), X, y, delay=3)
    with pytest.raises(ParameterError, match="has no parameter 'C'"):
        wrapper(PA()).set_params(C=1)
    model = wrapper(PA(), QUICK).partial_fit(X[:500], y[:500])
    before = (model.t_, model.updates_, model.decision_function(X).tolist())
    for bad in ((np.full((2, 6), np.nan), [0, 1]), (X[:2, :3], [0, 1]), (X[:2], [0.5, 1])):
        with pytest.raises(DataError):
            model.partial_fit(*bad)
    assert (model.t_, model.updates_, model.decision_function(X).tolist()) == before
    with pytest.raises(ParameterError, match="least=0"):
        Blend(PA(), least=0.7)


class Interrupting:
    """A block at which Ctrl-C comes when it is learned the n-th time."""

    def __init__(self, monkeypatch, n):
        self.left, self.learn = n, PA.learn_rows
        monkeypatch.setattr(PA, "learn_rows", lambda *args: self(*args))

    def __call__(self, *args):
        self.left -= 1
        self.learn(*args)
        if not self.left:
            raise KeyboardInterrupt


@wrappers
def test_ctrl_c_leaves_what_was_gone_through(wrapper, monkeypatch):
    X, y, _ = switching(n=2000)
    Interrupting(monkeypatch, 4)
    run = progressive(model := wrapper(PA(), QUICK), X, y)
    assert run.interrupted
    assert 0 < run.examples == model.t_ < 2000
    assert model.updates_ == wrapper(PA(), QUICK).partial_fit(X[: model.t_], y[: model.t_]).updates_


@wrappers
def test_parameters(wrapper):
    model = wrapper(PA(C=2.0), DDM())
    assert model.get_params()["model__C"] == 2.0
    assert model.get_params()["detector__least"] == 30
    assert model.set_params(model__C=0.5).model.C == 0.5
    assert repr(eval(repr(model))) == repr(model) == repr(clone(model))
    X, y, _ = switching()
    fitted = clone(wrapper(PA(), QUICK).partial_fit(X, y))
    assert not fitted.__sklearn_is_fitted__()
    assert fitted.set_params(detector=KSWIN()).partial_fit(X, y).changes_[0].detector == "KSWIN"


@wrappers
def test_copies_and_tools(wrapper):
    """Wrappers are copied and sent to other processes; tools of scikit-learn take them."""
    X, y, _ = switching()
    for same in (copy.deepcopy(wrapper(PA(), QUICK)), pickle.loads(pickle.dumps(wrapper(PA(), QUICK)))):
        assert same.partial_fit(X, y).changes_ == wrapper(PA(), QUICK).partial_fit(X, y).changes_
    search = GridSearchCV(wrapper(PA(), QUICK), {"model__C": [0.01, 1.0]}, cv=3).fit(X, y)
    assert search.best_params_["model__C"] in (0.01, 1.0)


@wrappers
def test_frames_and_sparse_rows(wrapper):
    X, y, _ = switching(n=600, width=200)
    whole = wrapper(PA(), QUICK).partial_fit(X, y)
    sparse = wrapper(PA(), QUICK)
    frames = wrapper(PA(), QUICK)
    for begin in range(0, 600, 50):
        sparse.partial_fit(csr_matrix(X[begin : begin + 50]), y[begin : begin + 50])
        frames.partial_fit(pandas.DataFrame(X[begin : begin + 50], columns=[*"abcdef"]), y[begin : begin + 50])
    assert places(sparse.changes_) == places(frames.changes_) == places(whole.changes_)
    assert sparse.decision_function(csr_matrix(X)) == pytest.approx(whole.decision_function(X))
    assert frames.predict(pandas.DataFrame(X, columns=[*"abcdef"])).tolist() == whole.predict(X).tolist()
    assert frames.feature_names_in_.tolist() == [*"abcdef"]


def test_change_is_shown():
    assert str(Change(7, 0.25, 1.0, "DDM")) == "at 7: from 0.25 to 1 (DDM)"
    assert str(Change(7, 0.25, 1.0, "DDM", 5)) == "at 7: from 0.25 to 1 since 5 (DDM)"


@pytest.mark.parametrize("wrapper", [Restart, Blend])
def test_a_run_of_a_wrapper_has_a_summary_and_a_held_out_curve(wrapper):
    X, y = np.random.default_rng(0).standard_normal((300, 3)), np.arange(300) % 2
    run = progressive(wrapper(PA()), X, y, held_out=(X, y), metrics=["f1"], window=50)
    summary = json.loads(json.dumps(run.summary()))
    assert summary["algorithm"] == wrapper.__name__.lower()
    assert summary["parameters"]["model"].startswith("PA(C=1.0")
    assert sum(map(sum, summary["confusion"])) == 299
    assert run.held_out_curve[-1][0] == 300
    assert run.curves["f1"][-1] == (300, run.figures["f1"])


def test_changes_are_of_the_whole_stream_beside_figures_of_a_part_of_it():
    stream = data.stream("stagger:width=1000", limit=3000)
    alone = progressive(PA(), stream, metrics=[Changes()])
    beside = progressive(PA(), stream, metrics=[Changes(), "f1"], window=100, fade=0.99)
    assert beside.figures["changes"] == alone.figures["changes"] > 0
    assert len(beside.figures) == 6


def test_ddm_by_less_than_one_standard_error():
    """The lowest rate itself is no rise: there is something behind each change."""
    found = DDM(warning=0.5, drift=0.5, least=1).scan([0, 1, 0, 1, 0, 0, 1] * 30)
    assert found
    assert all(change.since <= change.at and change.after > change.before for change in found)

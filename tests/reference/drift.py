"""Detectors of drift, and what is done about it, transcribed from the papers: plain, slow, with explicit windows."""

import math

import numpy as np


def cut_differs(older, newer, delta):
    """Bifet and Gavalda (2007), the e_cut for practice, with the range of the values for the paper's 1."""
    window = np.concatenate([older, newer])
    m = 1 / (1 / len(older) + 1 / len(newer))
    ln = math.log(2 / (delta / math.log(len(window))))
    e = math.sqrt(2 / m * np.var(window) * ln) + 2 / (3 * m) * np.ptp(window) * ln
    return abs(np.mean(older) - np.mean(newer)) > e


def adwin0(values, delta=0.002):
    """ADWIN0: every cut of the window is tried; the places of the alarms."""
    window, alarms = [], []
    for t, value in enumerate(values, 1):
        window.append(value)
        before = len(window)
        while any(cut_differs(window[:i], window[i:], delta) for i in range(1, len(window))):
            window.pop(0)
        if len(window) < before:
            alarms.append(t)
    return alarms


def adwin(values, delta=0.002, M=5):
    """ADWIN2: cuts between the buckets of an exponential histogram, here with all their values; alarms and widths."""
    rows, alarms, widths = [[]], [], []  # rows[i]: buckets of 2^i values, the oldest first
    for t, value in enumerate(values, 1):
        rows[0].append([value])
        for i, row in enumerate(rows):
            if len(row) > M:
                if i + 1 == len(rows):
                    rows.append([])
                rows[i + 1].append(row.pop(0) + row.pop(0))
        dropped = False
        while True:
            buckets = [bucket for row in reversed(rows) for bucket in row]
            window = np.concatenate(buckets)
            ends = np.cumsum([len(bucket) for bucket in buckets])[:-1]
            if not any(cut_differs(window[:end], window[end:], delta) for end in ends):
                break
            next(row for row in reversed(rows) if row).pop(0)
            dropped = True
        if dropped:
            alarms.append(t)
        widths.append(len(window))
    return alarms, widths


def ddm(values, warning=2.0, drift=3.0, least=30):
    """Gama et al. (2004): alarms and warnings."""
    alarms, warnings, begin, lowest = [], [], 0, (math.inf, math.inf)
    for t in range(1, len(values) + 1):
        i, p = t - begin, float(np.mean(values[begin:t]))
        if i < least or p == 0:
            continue
        s = math.sqrt(p * (1 - p) / i)
        if p + s < sum(lowest):
            lowest = p, s
        if p + s > lowest[0] + warning * lowest[1]:
            warnings.append(t)
        if p + s > lowest[0] + drift * lowest[1]:
            alarms.append(t)
            begin, lowest = t, (math.inf, math.inf)
    return alarms, warnings


def page_hinkley(values, delta=0.005, threshold=50.0):
    """Page (1954), Hinkley (1971): the alarms for a rise."""
    alarms, begin = [], 0
    for t in range(1, len(values) + 1):
        x = np.asarray(values[begin:t])
        m = np.cumsum(x - np.cumsum(x) / np.arange(1, len(x) + 1) - delta)
        if m[-1] - min(0, m.min()) > threshold:
            alarms.append(t)
            begin = t
    return alarms


def split_mix(seed):
    """SplitMix64 (Steele, Lea and Flood, 2014): random whole numbers below n, of 32 bits each."""
    mask = 2**64 - 1

    def below(n):
        nonlocal seed
        seed = (seed + 0x9E3779B97F4A7C15) & mask
        z = seed
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        return (((z ^ (z >> 31)) >> 32) * n) >> 32

    return below


def distance(a, b):
    """The largest difference of the shares of values up to x; a test holds it against SciPy's."""
    x = np.concatenate([a, b])
    return np.max(np.abs(np.mean(a[:, None] <= x, axis=0) - np.mean(b[:, None] <= x, axis=0)))


def kswin(values, alpha=0.005, n=100, r=30, seed=0):
    """Raab, Heusinger and Schleif (2020): the alarms."""
    window, alarms, below = [], [], split_mix(seed)
    for t, value in enumerate(values, 1):
        window = [*window[-(n - 1) :], value]
        if len(window) < n:
            continue
        older, newest = np.array(window[:-r]), np.array(window[-r:])
        for i in range(r):
            k = i + below(n - r - i)
            older[[i, k]] = older[[k, i]]
        if distance(older[:r], newest) > math.sqrt(-math.log(alpha) / r):
            alarms.append(t)
            window = newest.tolist()
    return alarms


def restart(new_model, detector, X, y):
    """Row by row: ask, tell the detector, learn; a new model after a rise. Labels are -1 and 1."""
    model, watch, costs, rises = new_model(), detector.fresh(), [], []
    for t in range(1, len(y) + 1):
        costs.append(cost(model, score(model, X[t - 1 : t]), y[t - 1]))
        model.partial_fit(X[t - 1 : t], y[t - 1 : t])
        for change in watch.scan(costs[-1:]):
            if change.after > change.before:
                rises.append(t)
                model, watch = new_model(), detector.fresh()
    return costs, rises, model


def blend(new_model, detector, X, y, eta=0.5, least=0.01):
    """The same with two models, in the words of the docstring of Blend."""
    models, losses, watch, costs, rises = [new_model()], [0.0, 0.0], detector.fresh(), [], []
    for t in range(1, len(y) + 1):
        x, target = X[t - 1 : t], y[t - 1]
        scores = [score(model, x) for model in models]
        weights = np.exp(-eta * (np.array(losses) - min(losses)))[: len(models)]
        heavier = models[int(np.argmax(weights))]
        if heavier.task == "classification":
            costs.append(cost(heavier, scores[models.index(heavier)], target))
        else:
            costs.append(cost(heavier, float(weights @ scores / weights.sum()), target))
        each = [cost(model, one, target) for model, one in zip(models, scores, strict=True)]
        for model in models:
            model.partial_fit(x, y[t - 1 : t])
        if len(models) == 2 and sum(each):
            losses = [loss + one / sum(each) for loss, one in zip(losses, each, strict=True)]
        weights = np.exp(-eta * (np.array(losses) - min(losses)))
        rise = any(change.after > change.before for change in watch.scan(costs[-1:]))
        if len(models) == 2 and (rise or min(weights) / sum(weights) < least):
            models, losses = [models[int(np.argmax(weights))]], [0.0, 0.0]
        if rise:
            rises.append(t)
            models, watch = [*models, new_model()], detector.fresh()
    return costs, rises, models


def score(model, x):
    """What the model would say, 0 before its first example."""
    if not model.__sklearn_is_fitted__():
        return 0.0
    return float(model.decision_function(x)[0] if model.task == "classification" else model.predict(x)[0])


def cost(model, f, y):
    if model.task == "classification":
        return float((f >= 0) != (y > 0))
    return {"squared": (y - f) ** 2 / 2, "absolute": abs(y - f)}.get(model.loss, max(0.0, abs(y - f) - model.epsilon))

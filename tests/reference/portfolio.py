"""Portfolio selection, transcribed from the papers; the first days as in the OLPS toolbox, whose figures are published.

A strategy has `b`, the portfolio of the next day, uniform before the first; `learn(x)` tells the price relatives of a
day. T is the number of days told so far. Where a paper and the toolbox differ, the docstring says which is here.
"""

import numpy as np
from scipy import stats
from scipy.optimize import nnls

from tests.reference.budget import Random


def project(v):
    """The nearest point of the simplex: max(v - theta, 0), theta by the largest entries (no entry is cut before)."""
    u = np.sort(v)[::-1]
    theta = (np.cumsum(u) - 1) / np.arange(1, len(v) + 1)
    return np.maximum(v - theta[np.flatnonzero(u > theta)[-1]], 0)


def project_norm(q, A):
    """argmin (b - q)' A (b - q) on the simplex: least squares without signs finds the support, its KKT system b.

    The constraint sum b = 1 is a row of great weight first, and exact in the system of the support. Where the support
    was not the right one, which the signs of b and of the multipliers tell, it is corrected one asset at a time.
    """
    m, R = len(q), np.linalg.cholesky(A).T
    heavy = 1e4 * np.sqrt(np.trace(A))
    rough, _ = nnls(np.vstack([R, np.full(m, heavy)]), np.append(R @ q, heavy), maxiter=30 * m)
    support = rough > 1e-9
    for _ in range(10 * m):
        S = np.flatnonzero(support)
        K = np.block([[A[np.ix_(S, S)], np.ones((len(S), 1))], [np.ones((1, len(S))), np.zeros((1, 1))]])
        *inside, nu = np.linalg.solve(K, np.append((A @ q)[S], 1.0))
        b = np.zeros(m)
        b[S] = inside
        slack = A @ (b - q) + nu
        if b.min() < -1e-14:
            support[b.argmin()] = False
        elif slack[~support].min(initial=0) < -1e-12 * np.abs(A @ q).max():
            support[np.flatnonzero(~support)[slack[~support].argmin()]] = True
        else:
            return np.maximum(b, 0) / np.maximum(b, 0).sum()
    raise AssertionError("no support satisfies the conditions")


def gap(X, b):
    """How far b may be from the best mean log(X b): 0 where it is the best (Cover, 1984)."""
    return (X.T @ (1 / (X @ b))).max() / len(X) - 1


def log_optimal(X):
    """argmax of the product of X b over the simplex, by a primal-dual interior point method.

    max mean log(X b) - sum b over b >= 0 has its optimum on the simplex by itself, so signs are the only constraints.
    """
    n, m = X.shape
    b, z = np.full(m, 1 / m), np.ones(m)
    for _ in range(200):
        r = 1 / (X @ b)
        g = 1 - X.T @ r / n
        mu = 0.1 * min(b @ z / m, 1e-2)
        H = (X * r[:, None] ** 2).T @ X / n
        db = np.linalg.solve(H + np.diag(z / b), mu / b - g)
        dz = mu / b - z - z / b * db
        steps = [min(1, 0.995 / max(1e-300, (-d / v).max())) for d, v in ((db, b), (dz, z))]
        b, z = b + min(steps) * db, z + min(steps) * dz
        if b @ z < 1e-15 and np.abs(g - z).max() < 1e-13:
            break
    b = np.where(b > 1e-13, b, 0)
    return b / b.sum()


class Strategy:
    def __init__(self, m):
        self.m, self.b, self.days = m, np.full(m, 1 / m), []

    def learn(self, x):
        self.days.append(np.asarray(x, dtype=float))
        self.b = self.next(self.days[-1])


class BuyAndHold(Strategy):
    """The shares bought on the first day; the portfolio drifts with the prices."""

    CASES = ({},)

    def next(self, x):
        return self.b * x / (self.b @ x)


class UCRP(Strategy):
    """Uniform every day."""

    CASES = ({},)

    def next(self, x):
        return self.b


def best_stock(X):
    """All on the asset of the greatest wealth, in hindsight; the first of several."""
    return np.eye(X.shape[1])[np.log(X).sum(axis=0).argmax()]


HINDSIGHT = {"BestStock": best_stock, "BCRP": log_optimal}


class UniversalPortfolio(Strategy):
    """Cover (1991): the mean of rebalanced portfolios by their wealth, of `samples` drawn uniformly from the simplex.

    In fours: -ln u scaled to sum 1, u in (0, 1] the next m numbers of the seed; and with the shares of the assets
    4q + k at 4q + (k xor g), g = 1, 2, 3. Those of m mod 4 assets that are left over are split anew for each g, by as
    many further numbers.
    """

    CASES = ({"samples": 200}, {"samples": 303, "seed": 5}, {"samples": 1})

    def __init__(self, m, samples=10_000, seed=0):
        super().__init__(m)
        random, fours, points = Random(seed), m // 4 * 4, []
        while len(points) < samples:
            e = -np.log([((random.bits() >> 11) + 1) * 2.0**-53 for _ in range(m + 3 * (m % 4))])
            point = e[:m] / e[:m].sum()
            for g in range(4):
                rest = e[fours + g * (m % 4) :][: m % 4]
                points.append([*point[np.arange(fours) ^ g], *(rest / rest.sum() * point[fours:].sum())])
        self.points, self.logs = np.array(points)[:samples], np.zeros(samples)

    def next(self, x):
        self.logs += np.log(self.points @ x)
        w = np.exp(self.logs - self.logs.max())
        return w @ self.points / w.sum()


class ExponentiatedGradient(Strategy):
    """Helmbold, Schapire, Singer and Warmuth (1998): b_i exp(eta x_i / (b.x)), scaled; kept as logs."""

    CASES = ({}, {"eta": 2.0})

    def __init__(self, m, eta=0.05):
        super().__init__(m)
        self.eta, self.logs = eta, np.zeros(m)

    def next(self, x):
        self.logs = self.logs + self.eta * x / (self.b @ x)
        b = np.exp(self.logs - self.logs.max())
        return b / b.sum()


class ONS(Strategy):
    """Agarwal, Hazan, Kale and Schapire (2006): Newton's step on the log wealth, projected in the norm of A."""

    CASES = ({}, {"eta": 0.1, "beta": 0.5, "delta": 0.5})

    def __init__(self, m, eta=0.0, beta=1.0, delta=0.125):
        super().__init__(m)
        self.eta, self.beta, self.delta, self.A, self.c = eta, beta, delta, np.eye(m), np.zeros(m)

    def next(self, x):
        g = x / (self.b @ x)
        self.A = self.A + np.outer(g, g)
        self.c = self.c + (1 + 1 / self.beta) * g
        p = project_norm(self.delta * np.linalg.solve(self.A, self.c), self.A)
        return (1 - self.eta) * p + self.eta / self.m


def anticor(X, b, w):
    """Borodin, El-Yaniv and Gogan (2004): money moves from i to j if i did better, and j now follows what i did before.

    X holds all days so far; with fewer than 2w the portfolio stays. Returns that are constant, but for rounding, are
    not correlated with any.
    """
    if len(X) < 2 * w:
        return b
    Z = np.log(X[-2 * w :])
    one, two = Z[:w] - Z[:w].mean(axis=0), Z[w:] - Z[w:].mean(axis=0)
    squares = [np.where((z**2).sum(axis=0) > 1e-24 * w, (z**2).sum(axis=0), 0) for z in (one, two)]
    size = np.sqrt(np.outer(*squares))
    cor = np.divide(one.T @ two, size, out=np.zeros_like(size), where=size > 0)
    mu, own = Z[w:].mean(axis=0), np.maximum(0, -np.diag(cor))
    claim = np.where((mu[:, None] >= mu) & (cor > 0), cor + own[:, None] + own, 0)
    total = claim.sum(axis=1, keepdims=True)
    transfer = b[:, None] * np.divide(claim, total, out=np.zeros_like(claim), where=total > 0)
    return transfer.sum(axis=0) + np.where(total[:, 0] > 0, 0, b)  # who is claimed from gives all


class Anticor(Strategy):
    """The experts of windows `shortest` to `window`, bought and held; `nested`: Anticor again over their returns.

    An expert's step starts from its last `target`, or from what the prices have `drifted` it to. The paper has the
    latter; the toolbox the former, but for the nested form: None is what the published figures are of. Experts who
    hold the same (all do until the shortest windows are full) must have returns equal to the bit, as claims compare
    means with >=: so the returns are sums by rows here, which a product of matrices need not be.
    """

    CASES = (
        {"window": 5},
        {"window": 4, "nested": True},
        {"window": 4, "start": "drifted"},
        {"window": 4, "nested": True, "start": "target"},
        {"window": 5, "shortest": 5},
        {"window": 5, "shortest": 4, "nested": True},
    )

    def __init__(self, m, window=30, shortest=2, nested=False, start=None):
        super().__init__(m)
        self.nested, self.drifts = nested, (start or ("drifted" if nested else "target")) == "drifted"
        self.windows, n = range(shortest, window + 1), window - shortest + 1
        self.inner, self.outer, self.returns, self.logs = (
            np.full((n, m), 1 / m),
            np.full((n, n), 1 / n),
            [],
            np.zeros(n),
        )

    def moved(self, experts, days, x):
        if self.drifts:
            experts = experts * x / (experts * x).sum(axis=1, keepdims=True)
        recent = np.array(days[-2 * self.windows[-1] :])
        return np.array([anticor(recent, b, w) for w, b in zip(self.windows, experts, strict=True)])

    def next(self, x):
        returns = (self.inner * x).sum(axis=1)
        self.returns.append(returns)
        self.logs += np.log(self.outer @ returns if self.nested else returns)
        self.inner = self.moved(self.inner, self.days, x)
        if self.nested:
            self.outer = self.moved(self.outer, self.returns, returns)
        w = np.exp(self.logs - self.logs.max())
        return (w @ self.outer if self.nested else w) @ self.inner / w.sum()


def reverted(b, x, step):
    """b + step(|x - mean|^2) (x - mean), on the simplex; an x that is flat, but for rounding, moves nothing."""
    spread = x - x.mean()
    size = spread @ spread
    return project(b + step(size) * spread) if size > 1e-24 * (x @ x) else b


class PAMR(Strategy):
    """Li, Zhao, Hoi and Gopalkrishnan (2012): away from a return above epsilon; as PA, PA-I and PA-II."""

    CASES = ({}, {"variant": "I", "C": 20.0}, {"variant": "II", "C": 300.0, "epsilon": 0.9})

    def __init__(self, m, variant="hard", epsilon=0.5, C=500.0):
        super().__init__(m)
        self.variant, self.epsilon, self.C = variant, epsilon, C

    def next(self, x):
        loss = max(0, self.b @ x - self.epsilon)
        extra = 1 / (2 * self.C) if self.variant == "II" else 0
        cap = self.C if self.variant == "I" else np.inf
        return reverted(self.b, x, lambda size: -min(cap, loss / (size + extra)))


class CWMR(Strategy):
    """Li, Hoi, Zhao and Gopalkrishnan (2013): the smallest change of N(b, S) that makes b.x <= epsilon probable.

    The constraint is epsilon - mu.x >= phi x'Sx ("variance") or phi sqrt(x'Sx) ("stdev"); S is a diagonal. On a flat
    day, D = 0 but for rounding, and the greater root of the quadratic equation is spurious: it is linear then.
    """

    CASES = ({}, {"variant": "variance"}, {"variant": "stdev", "phi": 1.0, "epsilon": 0.9})

    def __init__(self, m, variant="stdev", phi=2.0, epsilon=0.5):
        super().__init__(m)
        self.variant, self.phi, self.epsilon, self.S = variant, phi, epsilon, np.full(m, 1 / m**2)

    def next(self, x):
        phi, S, slack = self.phi, self.S, self.epsilon - self.b @ x
        V, mean = S @ x**2, S @ x / S.sum()
        D = V - mean * (S @ x)
        D = D if D > 1e-12 * V else 0.0
        if self.variant == "variance":
            a, b, c = 2 * phi * V * D, 2 * phi * slack * V + D, slack - phi * V
        else:
            a, b, c = D * (D + phi**2 * V), 2 * slack * (D + phi**2 * V / 2), slack**2 - phi**2 * V
        lam = self.multiplier(a, b, c)
        u = (-lam * phi * V + np.sqrt((lam * phi * V) ** 2 + 4 * V)) / 2
        self.S = 1 / (1 / S + lam * phi * x**2 * (2 if self.variant == "variance" else 1 / u))
        self.S = self.scaled(self.S)
        return project(self.b - lam * S * (x - mean))

    def scaled(self, S):
        return S / S.sum() / self.m

    @staticmethod
    def multiplier(a, b, c):
        if a == 0:
            return max(0, -c / b) if b else 0.0
        root = np.sqrt(max(0, b * b - 4 * a * c))
        return max(0, (-b + root) / (2 * a), (-b - root) / (2 * a)) if root > 0 else 0.0


class OLMAR(Strategy):
    """Li and Hoi (2012): towards assets below their moving average, simple (1) or exponential (2).

    xt is the average price over today's: (1) of the last `window` days, x_T itself while T <= window, no move at all
    after the first day, as in the toolbox; (2) alpha + (1 - alpha) xt / x_T from xt = 1.
    """

    CASES = ({}, {"window": 3, "epsilon": 2.0}, {"variant": 2}, {"variant": 2, "alpha": 0.9, "epsilon": 1.1})

    def __init__(self, m, variant=1, window=5, alpha=0.5, epsilon=10.0):
        super().__init__(m)
        self.variant, self.window, self.alpha, self.epsilon, self.xt = variant, window, alpha, epsilon, np.ones(m)

    def next(self, x):
        if self.variant == 2:
            self.xt = self.alpha + (1 - self.alpha) * self.xt / x
        elif len(self.days) == 1:
            return self.b
        else:
            self.xt = self.average()
        return reverted(self.b, self.xt, lambda size: max(0, self.epsilon - self.b @ self.xt) / size)

    def average(self):
        if len(self.days) <= self.window:
            return self.days[-1]
        prices = np.cumprod(1 / np.array(self.days[: -self.window : -1]), axis=0)
        return (1 + prices.sum(axis=0)) / self.window


def l1_median(P, iterations=200, tolerance=1e-9):
    """Vardi and Zhang (2000): Weiszfeld's step, held back where the median so far is one of the points."""
    y = np.median(P, axis=0)
    for _ in range(iterations):
        distance = np.linalg.norm(P - y, axis=1)
        away = distance >= 1e-15
        if not away.any():
            return y
        weights = 1 / distance[away]
        T = weights @ P[away] / weights.sum()
        R = np.linalg.norm(weights @ (P[away] - y))
        r = min(1, (not away.all()) / R) if R > 0 else 0
        old, y = y, (1 - r) * T + r * y
        if np.abs(y - old).sum() <= tolerance * np.abs(old).sum():
            break
    return y


class RMR(OLMAR):
    """Huang, Zhou, Li, Hoi and Zhou (2013): OLMAR with the L1-median of the prices, which are 1 after the first day.

    While T <= window, x_T stands for xt, on the first day too.
    """

    CASES = ({}, {"window": 3, "epsilon": 2.0})

    def __init__(self, m, window=5, epsilon=5.0):
        super().__init__(m, window=window, epsilon=epsilon)
        self.prices = [np.ones(m)]

    def next(self, x):
        if len(self.days) > 1:
            self.prices.append(self.prices[-1] * x)
        xt = x
        if len(self.days) > self.window:
            xt = l1_median(np.array(self.prices[-self.window :])) / self.prices[-1]
        return reverted(self.b, xt, lambda size: max(0, self.epsilon - self.b @ xt) / size)


class Patterns(Strategy):
    """Experts who buy what would have been best on the days that followed a past like the present.

    `experts` are (w, level): w days are the past. With T <= w + 1, and where no day is like it, an expert is uniform.
    All are weighted by their wealth. What is best for a set of days is computed once.
    """

    def __init__(self, m, experts):
        super().__init__(m)
        self.experts, self.logs, self.known = experts, np.zeros(len(experts)), {}
        self.portfolios = np.full((len(experts), m), 1 / m)

    def next(self, x):
        self.logs += np.log(self.portfolios @ x)
        X = np.array(self.days)
        self.known.clear()
        self.portfolios = np.array([self.portfolio(X, w, level) for w, level in self.experts])
        weights = np.exp(self.logs - self.logs.max()) * self.chosen()
        return weights @ self.portfolios / weights.sum()

    def chosen(self):
        return 1.0

    def portfolio(self, X, w, level):
        T = len(X)
        if w + 1 >= T:
            return np.full(self.m, 1 / self.m)
        days = np.arange(w, T)
        if w:
            pasts = np.array([X[i - w : i].ravel() for i in days])
            days = days[self.alike(pasts, X[T - w :].ravel(), level, T)]
        key = tuple(sorted(days))
        if key not in self.known:
            self.known[key] = log_optimal(X[list(key)]) if key else np.full(self.m, 1 / self.m)
        return self.known[key]


class CORN(Patterns):
    """Li, Hoi and Gopalkrishnan (2011): a past whose correlation with the present one is at least rho.

    ensemble "uniform" (CORN-U): windows 1 to `window`, all with rho; "top" (CORN-K): and rho = 0, 1/levels, ...; the
    wealthiest share `top` of the experts, rounded up and with those who tie (to 1e-9), has the say. A constant past has
    correlation 0.
    """

    CASES = (
        {"window": 3, "rho": 0.2},
        {"window": 1, "rho": -0.2},
        {"window": 3, "ensemble": "uniform"},
        {"window": 2, "levels": 4, "top": 0.3, "ensemble": "top"},
    )

    def __init__(self, m, window=5, rho=0.1, ensemble=None, levels=10, top=0.1):
        windows = range(1, window + 1)
        experts = {
            None: [(window, rho)],
            "uniform": [(w, rho) for w in windows],
            "top": [(w, level / levels) for w in windows for level in range(levels)],
        }[ensemble]
        super().__init__(m, experts)
        self.top = top if ensemble == "top" else 1.0

    def chosen(self):
        """Those at least as wealthy as the last of the share, before today's portfolios are tried."""
        n = int(np.ceil(self.top * len(self.logs) - 1e-9))
        return self.logs >= np.sort(self.logs)[-n] - 1e-9

    def alike(self, pasts, now, rho, T):
        a, b = pasts - pasts.mean(axis=1, keepdims=True), now - now.mean()
        squares = (a**2).sum(axis=1) * (b @ b)
        varied = ((a**2).sum(axis=1) > 1e-24 * (pasts**2).sum(axis=1)) & (b @ b > 1e-24 * (now @ now))
        return np.divide(a @ b, np.sqrt(squares), out=np.zeros_like(squares), where=varied) >= rho


class KernelPortfolio(Patterns):
    """Györfi, Lugosi and Udina (2006): a past no farther than c/l, l = 1 to L, and all days; the uniform kernel."""

    CASES = ({"k": 2, "l": 3}, {"k": 3, "l": 2, "c": 0.2})

    def __init__(self, m, k=5, l=10, c=1.0):  # noqa: E741, as in the paper
        super().__init__(m, [(0, None)] + [(w, c / level) for w in range(1, k + 1) for level in range(1, l + 1)])

    def alike(self, pasts, now, radius, T):
        return np.linalg.norm(pasts - now, axis=1) <= radius


class NearestNeighbour(Patterns):
    """Györfi, Udina and Walk (2008): the share p_l = 0.02 + 0.5 (l - 1)/(L - 1) of all days with the nearest pasts.

    floor(p_l T) of those that have a past, the earlier of two that are as near. The toolbox leaves the wealth of the
    expert of all days at 1; here it is as the others'.
    """

    CASES = ({"k": 2, "l": 3}, {"k": 1, "l": 1})

    def __init__(self, m, k=5, l=10):  # noqa: E741
        shares = [0.02 + (0.5 * i / (l - 1) if l > 1 else 0) for i in range(l)]
        super().__init__(m, [(0, None)] + [(w, p) for w in range(1, k + 1) for p in shares])

    def alike(self, pasts, now, share, T):
        return np.linalg.norm(pasts - now, axis=1).argsort(kind="stable")[: int(share * T)]


ONLINE = {
    cls.__name__: cls
    for group in (
        (BuyAndHold, UCRP, UniversalPortfolio, ExponentiatedGradient, ONS, Anticor),
        (PAMR, CWMR, OLMAR, RMR),
        (CORN, KernelPortfolio, NearestNeighbour),
    )
    for cls in group
}


def portfolios(name, X, **parameters):
    """What a strategy holds on each day."""
    if name in HINDSIGHT:
        return np.tile(HINDSIGHT[name](X), (len(X), 1))
    strategy, held = ONLINE[name](X.shape[1], **parameters), []
    for x in X:
        held.append(strategy.b)
        strategy.learn(x)
    return np.array(held)


class Account:
    """What becomes of 1 that is held in these portfolios, a share `cost` of what is bought or sold being lost.

    S *= (b.x) (1 - cost/2 sum |b - bhat|): bhat is what the last portfolio has drifted to, and 0 on the first day.
    """

    def __init__(self, X, held, cost=0.0):
        self.days, self.wealth, self.trades, S, before = len(X), [], [], 1.0, np.zeros(X.shape[1])
        for x, b in zip(X, held, strict=True):
            traded = sum(abs(one - other) for one, other in zip(b, before, strict=True))
            S = S * sum(one * other for one, other in zip(b, x, strict=True)) * (1 - cost / 2 * traded)
            before = b * x / (b @ x)
            self.wealth.append(S)
            self.trades.append(traded)
        self.wealth = np.array(self.wealth)

    def figures(self):
        """As the toolbox has them: 252 days a year, 4% a year without risk."""
        path = np.append(1.0, self.wealth)
        daily = path[1:] / path[:-1]
        annual, volatility = path[-1] ** (252 / self.days) - 1, daily.std(ddof=1) * np.sqrt(252)
        return {
            "final_wealth": path[-1],
            "annual_return": annual,
            "volatility": volatility,
            "sharpe": (annual - 0.04) / volatility if volatility > 0 else np.nan,
            "max_drawdown": max(1 - path[t] / path[: t + 1].max() for t in range(len(path))),
            "turnover": np.mean(self.trades[1:]) / 2,
        }

    def t_test(self, market):
        """The regression of the daily excess over 1.000156 on the market's; is its constant above 0?"""
        path, free = np.append(1.0, self.wealth), 1.000156
        daily, theirs = path[1:] / path[:-1], market.wealth / np.append(1.0, market.wealth[:-1])
        A = np.column_stack([np.ones(self.days), theirs - free])
        (alpha, beta), *_ = np.linalg.lstsq(A, daily - free, rcond=None)
        rest = daily - free - A @ [alpha, beta]
        t = alpha / np.sqrt(rest @ rest / (self.days - 2) * np.linalg.inv(A.T @ A)[0, 0])
        p = stats.t.sf(t, self.days - 2)
        return {"alpha": alpha, "beta": beta, "t": t, "p": p, "winning_ratio": np.mean(daily >= theirs)}

"""Online transfer learning: who is believed, the model brought along or the one learned on the spot?

Handwritten digits come one after another, and each is to be told odd or even. One source has learned just that from
other digits, another whether a digit is 5 or more, which is of little use here. `HomogeneousOTL` lets the source vote
with a new classifier; the picture shows the weights of the two over time, and below the mistakes, beside those of
either by itself.

    python examples/transfer.py [transfer.png]
"""

import sys

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

from seriatim import PA, HomogeneousOTL, data

SOURCE, TARGET = "tab:red", "tab:blue"

X, digits = data.load("digits")
order = np.random.default_rng(0).permutation(len(digits))
X, digits = X[order], digits[order]
odd, large = digits % 2 == 1, digits >= 5
known, new = slice(0, 300), slice(300, None)  # what the sources have seen, and what comes now
sources = {
    "A source that agrees: odd or even?": PA(average=True).fit(X[known], odd[known]),
    "One that does not: 5 or more?": PA(average=True).fit(X[known], large[known]),
}


def learn(model, watch=None):
    """Whether each digit was wrong, predicted before it was learned (the first is a guess), and what `watch` saw."""
    wrong, seen = [], []
    for x, label in zip(X[new], odd[new], strict=True):
        wrong.append(bool(wrong) and model.predict(x)[0] != label)
        model.partial_fit(x, [label])
        seen.append(watch and watch(model))
    return np.array(wrong), np.array(seen)


def rate(wrong):
    return np.cumsum(wrong) / np.arange(1, len(wrong) + 1)


alone, _ = learn(PA(C=5.0, classes=[False, True]))
rounds = np.arange(1, len(alone) + 1)
figure, axes = plt.subplots(2, 2, figsize=(9, 6), sharex=True, sharey="row", height_ratios=[1, 1.3])
for (title, source), (above, below) in zip(sources.items(), axes.T, strict=True):
    model = HomogeneousOTL(source, C=5.0, classes=[False, True])
    wrong, weight = learn(model, lambda model: model.source_weight_)
    by_source = source.predict(X[new]) != odd[new]
    print(f"{title} {wrong.sum()} mistakes; {by_source.sum()} of the source, {alone.sum()} without it")

    above.set_title(title, fontsize=11, loc="left")
    above.plot(rounds, weight, color=SOURCE, label="source")
    above.plot(rounds, 1 - weight, color=TARGET, label="learned here")
    below.plot(rounds, rate(by_source), color=SOURCE, linewidth=1, label="source by itself")
    below.plot(rounds, rate(alone), color=TARGET, linewidth=1, label="learned here, no source")
    below.plot(rounds, rate(wrong), color="black", linewidth=2, label="the vote of both")

axes[0, 0].set(ylabel="weight in the vote", ylim=(-0.03, 1.03))
axes[1, 0].set(ylabel="mistake rate so far", ylim=(0, 0.8), xscale="log", xlim=(1, len(rounds)))
axes[1, 0].xaxis.set_major_formatter("{x:,.0f}")
axes[0, 0].legend(frameon=False, loc="center right")
axes[1, 1].legend(frameon=False, loc="upper right")
for axis in axes.flat:
    axis.spines[["top", "right"]].set_visible(False)
for axis in axes[1]:
    axis.set_xlabel("digits so far")
figure.tight_layout()
path = sys.argv[1] if len(sys.argv) > 1 else "transfer.png"
figure.savefig(path, dpi=150)
print(path)

"""Many kernels at once: which of them is believed, and when?

A kernel is chosen before the data are seen, so `OMKC` learns with sixteen of them: polynomials of degree 1 to 3 and
gaussians from narrow to wide. Each has a perceptron and a weight of its own, and a mistake costs a part of the weight;
the prediction is their vote. Handwritten digits come one after another, each to be told odd or even; the picture shows
the weights over time, and below the mistakes, beside those of each kernel by itself.

    python examples/kernels.py [kernels.png]
"""

import sys

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

from seriatim import OMKC, KernelPerceptron, data, evaluate
from seriatim.kernel import Gaussian, Polynomial, Sum

BLOCK = 5  # rows between two looks at the weights

X, digits = data.load("digits")
order = np.random.default_rng(0).permutation(len(digits))
X, odd = X[order], np.where(digits[order] % 2 == 1, 1, -1)
kernels = [*(Polynomial(degree) for degree in (1, 2, 3)), *(Gaussian(2.0**k) for k in range(-6, 7))]
names = [*(f"degree {k.degree}" for k in kernels[:3]), *(f"width {k.sigma:g}" for k in kernels[3:])]
colors = [*plt.colormaps["Reds"]([0.5, 0.7, 0.9]), *plt.colormaps["viridis"](np.linspace(0, 1, len(kernels) - 3))]


def learn(model):
    """The mistake rate so far after each row, predicted before it was learned."""
    return np.array([rate for _, rate in evaluate.progressive(model, X, odd, every=1).curve])


model = OMKC(kernels, classes=[-1, 1])
seen, weights = [0], [np.full(len(kernels), 1 / len(kernels))]
for start in range(0, len(odd), BLOCK):
    block = slice(start, start + BLOCK)
    model.partial_fit(X[block], odd[block])
    seen.append(min(block.stop, len(odd)))
    weights.append(model.kernel_weights_)
weights = np.array(weights)

together = learn(OMKC(kernels, classes=[-1, 1]))
alone = [learn(KernelPerceptron(kernel, classes=[-1, 1])) for kernel in kernels]
summed = learn(KernelPerceptron(Sum(kernels), classes=[-1, 1]))
best = int(np.argmin([rates[-1] for rates in alone]))
print(f"mistake rate of all together {together[-1]:.3f}, of their sum {summed[-1]:.3f}")
print(f"by itself: {', '.join(f'{name} {rates[-1]:.3f}' for name, rates in zip(names, alone, strict=True))}")

figure, (above, below) = plt.subplots(2, 1, figsize=(8, 8), sharex=True, layout="constrained")
above.stackplot(seen, weights.T, colors=colors, labels=names, linewidth=0)
above.set(ylabel="weight in the vote", ylim=(0, 1))
rounds = np.arange(1, len(odd) + 1)
for rates, color in zip(alone, colors, strict=True):
    below.plot(rounds, rates, color=color, linewidth=1)
below.plot([], [], color=colors[9], linewidth=1, label="a kernel by itself")
below.plot(rounds, summed, color="gray", linewidth=2, linestyle="--", label="the sum of all kernels")
below.plot(rounds, together, color="black", linewidth=2, label="their vote")
below.set(xlabel="digits so far", ylabel="mistake rate so far", ylim=(0, 0.6), xscale="log", xlim=(1, len(odd)))
below.xaxis.set_major_formatter("{x:,.0f}")
below.legend(frameon=False, loc="lower left")
handles, labels = above.get_legend_handles_labels()
figure.legend(handles[::-1], labels[::-1], frameon=False, loc="outside right upper", title="kernel")
for axis in (above, below):
    axis.spines[["top", "right"]].set_visible(False)
path = sys.argv[1] if len(sys.argv) > 1 else "kernels.png"
figure.savefig(path, dpi=150)
print(path)

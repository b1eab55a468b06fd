"""Online AUC maximisation, transcribed: dense and naive."""

import numpy as np

from tests.reference.linear import Classifier, grid


class OAM(Classifier):
    """Zhao, Hoi, Jin and Yang (2011), as in lecture 001 with its buffers put right.

    The example goes into the buffer of its own class first, and is then held against that of the other. A full buffer
    takes it with probability N / N_t in the place of one drawn at random: `place` says which, or None for none of them.
    """

    CASES = grid(C=(1.0, 0.1), buffer_size=(100, None), update=("sequential", "gradient"))

    def __init__(self, *args, C=1.0, buffer_size=100, update="sequential", place=lambda n: None, **kwargs):
        super().__init__(*args, **kwargs)
        self.C, self.size, self.kind, self.place = C, buffer_size or np.inf, update, place
        self.buffers, self.counts = {False: [], True: []}, {False: 0, True: 0}

    def step(self, x, label):
        positive = self.positive(label)
        y, own, others = 1 if positive else -1, self.buffers[positive], self.buffers[not positive]
        self.counts[positive] += 1
        if len(own) < self.size:
            own.append(x)
        elif (place := self.place(self.counts[positive])) is not None:
            own[place] = x
        C = self.C * max(1, self.counts[not positive] / self.size)
        at = self.w
        for z in others:
            v = y * (x - z)
            if self.kind == "gradient":
                self.w = self.w + C / 2 * v * (at @ v <= 1)
            elif v @ v > 0:
                self.w = self.w + min(C / 2, max(0, 1 - self.w @ v) / (v @ v)) * v

    def reshape(self, change):
        super().reshape(change)
        self.buffers = {side: self.buffers[not side] for side in self.buffers}
        self.counts = {side: self.counts[not side] for side in self.counts}

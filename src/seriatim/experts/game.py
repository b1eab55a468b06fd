"""Rock, paper, scissors: experts on the habits of a player, and Hedge over them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np

from seriatim.experts.hedge import Hedge

MOVES = ("rock", "paper", "scissors")

Round = tuple[int, int]  # the player's move, and ours
Guess = Callable[[list[Round]], int | None]  # the next move of the player, or None without a prediction


def beaten_by(move: int) -> int:
    """The move that wins against this one."""
    return (move + 1) % 3


def cost(ours: int, theirs: int) -> float:
    """Our loss in a round: 0 for a win, 1/2 for a tie, 1 for a defeat.

    >>> cost(1, 0), cost(0, 0), cost(0, 1)
    (0.0, 0.5, 1.0)
    """
    return (0.5, 0.0, 1.0)[(ours - theirs) % 3]


class Repeated:
    """Predicts the most frequent move after rounds like the last ones."""

    def __init__(self, length: int, both: bool) -> None:
        self.length, self.both = length, both
        self.counts: dict[tuple[int, ...], Counter[int]] = {}

    def context(self, history: list[Round]) -> tuple[int, ...] | None:
        if len(history) < self.length:
            return None
        last = history[len(history) - self.length :]
        return tuple(move for pair in last for move in (pair if self.both else pair[:1]))

    def guess(self, history: list[Round]) -> int | None:
        counts = self.counts.get(self.context(history) or ())
        return max(range(3), key=lambda move: counts[move]) if counts else None

    def learn(self, history: list[Round], move: int) -> None:
        context = self.context(history)
        if context is not None:
            self.counts.setdefault(context, Counter())[move] += 1


def after_a_result(stay: int, tie: int, shift: int) -> Guess:
    """A player who shifts the last move by `stay` after a win, by `tie` after a tie, by `shift` after a defeat."""

    def guess(history: list[Round]) -> int | None:
        if not history:
            return None
        theirs, ours = history[-1]
        return (theirs + {0.0: shift, 0.5: tie, 1.0: stay}[cost(ours, theirs)]) % 3

    return guess


def from_last(own: bool, shift: int) -> Guess:
    """A player who shifts the last move, their own or ours, by `shift`."""
    return lambda history: (history[-1][0 if own else 1] + shift) % 3 if history else None


def always(move: int) -> Guess:
    return lambda history: move


def habits() -> dict[str, Repeated | Guess]:
    """Habits of people who try to play at random."""
    return {
        **{f"always {name}": always(move) for move, name in enumerate(MOVES)},
        "your most frequent move": Repeated(0, both=False),
        "the same again": from_last(True, 0),
        "what beats your last move": from_last(True, 1),
        "what your last move beats": from_last(True, 2),
        "my last move": from_last(False, 0),
        "what beats my last move": from_last(False, 1),
        "what my last move beats": from_last(False, 2),
        "win: stay, lose: up": after_a_result(0, 1, 1),
        "win: stay, lose: down": after_a_result(0, 2, 2),
        "win: stay, lose: copy me": after_a_result(0, 0, 1),
        "your moves after your last": Repeated(1, both=False),
        "after your last two": Repeated(2, both=False),
        "after your last three": Repeated(3, both=False),
        "after your last four": Repeated(4, both=False),
        "after the last round": Repeated(1, both=True),
        "after the last two rounds": Repeated(2, both=True),
    }


class Opponent:
    """Draws one expert by the weights of Hedge, and plays the move that beats the prediction of this expert.

    There is one expert for each habit, and one that plays at random. A win costs 0, a tie 1/2, a defeat 1.

    >>> opponent = Opponent(seed=1)
    >>> for turn in range(60):
    ...     ours = opponent.move()
    ...     opponent.learn(turn % 3)    # rock, paper, scissors, and again
    >>> opponent.won, opponent.lost, opponent.tied
    (59, 0, 1)
    >>> opponent.best
    'what beats your last move'
    """

    def __init__(self, seed: int | None = None) -> None:
        self.random = np.random.default_rng(seed)
        self.habits = habits()
        self.names = [*self.habits, "no habit at all"]
        self.hedge = Hedge()
        self.history: list[Round] = []
        self.won = self.lost = self.tied = 0
        self.answers: list[int] = []
        self.choice: int | None = None

    @property
    def weights(self) -> np.ndarray:
        return self.hedge.weights_ if self.history else np.full(len(self.names), 1 / len(self.names))

    def move(self) -> int:
        """Our move in this round. It is fixed before the player moves; further calls return the same move."""
        if self.choice is None:
            guesses = [
                habit.guess(self.history) if isinstance(habit, Repeated) else habit(self.history)
                for habit in self.habits.values()
            ]
            # A random move for each missing guess: a fixed one would decide the first rounds of most games.
            drawn = self.random.integers(3, size=len(self.names)).tolist()
            self.answers = [
                by_chance if guess is None else beaten_by(guess)
                for guess, by_chance in zip([*guesses, None], drawn, strict=True)
            ]
            self.choice = int(self.random.choice(len(self.names), p=self.weights))
        return self.answers[self.choice]

    def learn(self, theirs: int) -> None:
        """Learn the move of the player in this round."""
        ours = self.move()
        self.hedge.learn_one([cost(answer, theirs) for answer in self.answers])
        for habit in self.habits.values():
            if isinstance(habit, Repeated):
                habit.learn(self.history, theirs)
        self.history.append((theirs, ours))
        self.choice = None
        paid = cost(ours, theirs)
        self.won, self.tied, self.lost = self.won + (paid == 0), self.tied + (paid == 0.5), self.lost + (paid == 1)

    @property
    def paid(self) -> float:
        """The sum of our losses."""
        return self.lost + self.tied / 2

    @property
    def best(self) -> str:
        """The habit whose expert has the least loss."""
        return self.names[self.hedge.best_]

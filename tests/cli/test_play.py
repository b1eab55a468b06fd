"""`seriatim play`: moves are lines of input, and the account of the game is correct."""

import re

import numpy as np
import pytest
from click.testing import CliRunner

from seriatim.cli import command
from seriatim.cli.play import chance_of_lead
from seriatim.experts.game import Opponent, beaten_by, cost


def play(text, *options):
    done = CliRunner().invoke(command, ["play", *options], input=text)
    assert done.exit_code == 0, done.output
    return done.output


def test_moves_by_letter_and_word_and_what_is_none():
    shown = play("r\nPAPER\n  s \nlizard\n\nq\nr\n", "--seed", "3")
    assert shown.count("   (you") == 3
    assert "'lizard' is no move" in shown
    assert "3 rounds: " in shown


@pytest.mark.parametrize("end", ["q\n", "quit\n", "", "r"])
def test_how_a_game_ends(end):
    shown = play(f"r\n{end}", "--seed", "0")
    assert shown.splitlines()[-4].startswith("2 rounds" if end == "r" else "1 round")
    assert "no rounds were played" in play(end.replace("r", ""))


def test_a_seed_is_a_game():
    line = "rpsprsrp" * 5
    moves = "\n".join(line)
    assert play(moves, "--seed", "5") == play(moves, "--seed", "5")
    assert play(moves, "--seed", "5") != play(moves, "--seed", "6")


def test_the_first_move_is_any():
    """The first move is random, also after other games."""
    first = np.bincount([Opponent(seed).move() for seed in range(600)], minlength=3)
    assert first.min() > 150


def test_rounds_end_it():
    assert "7 rounds: " in play("r\n" * 20, "--rounds", "7")


@pytest.mark.parametrize("habit", ["r", "rps", "rrpsp", "sp"])
def test_who_has_a_habit_loses(habit):
    shown = play("\n".join(habit * (300 // len(habit))), "--seed", "1")
    assert "I am ahead" in shown
    assert "less than 0.1%" in shown


def figures(shown):
    won, mine, ties = map(int, re.search(r"you won (\d+), I won (\d+), (\d+) tie", shown).groups())
    regret, bound = map(float, re.search(r"regret is (-?[\d.]+); .* at most ([\d.]+)", shown).groups())
    return won, mine, ties, regret, bound


def test_the_account_is_right():
    rng = np.random.default_rng(0)
    shown = play("\n".join(rng.choice([*"rps"], 200)), "--seed", "2", "--explain")
    won, mine, ties, regret, bound = figures(shown)
    assert (won, mine, ties) == tuple(shown.count(f": {word}   (") for word in ("you win", "I win", "a tie"))
    assert won + mine + ties == 200
    assert regret <= bound
    assert shown.count("; I expected: ") == 200
    lead = "nobody is ahead" if won == mine else f"{'I am' if mine > won else 'you are'} ahead by {abs(won - mine)}"
    assert lead in shown


def test_the_regret_is_bounded_against_one_who_knows_the_weights():
    """The player knows the weights of the experts and plays the worst move for them."""
    opponent = Opponent(seed=0)
    for _ in range(400):
        opponent.move()
        pays = [sum(w * cost(a, theirs) for w, a in zip(opponent.weights, opponent.answers, strict=True))
                for theirs in range(3)]  # fmt: skip
        opponent.learn(int(np.argmax(pays)))
        assert opponent.hedge.regret_ <= opponent.hedge.bound_
    assert opponent.won + opponent.lost + opponent.tied == 400


def test_the_move_is_settled_before_it_is_answered():
    opponent = Opponent(seed=4)
    assert len({opponent.move() for _ in range(20)}) == 1
    ours = opponent.move()
    opponent.learn(beaten_by(ours))
    assert (opponent.lost, opponent.history) == (1, [(beaten_by(ours), ours)])


def test_luck():
    assert chance_of_lead(0, 0) == 1.0
    assert chance_of_lead(600, 500) == pytest.approx(0.00284, rel=0.05)
    assert chance_of_lead(500, 400) == pytest.approx(0.00096, rel=0.1)

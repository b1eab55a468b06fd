"""seriatim play"""

from __future__ import annotations

import math
import sys
from typing import Any

import click

from seriatim.cli.screen import say


@click.command("play")
@click.option(
    "--seed", type=click.IntRange(0), metavar="N", help="Seed of my random choices (default: a new game each time)."
)
@click.option("--rounds", type=click.IntRange(1), metavar="N", help="Stop after N rounds.")
@click.option("--explain", is_flag=True, help="After each round, show the habit that I expected.")
def command(seed: int | None, rounds: int | None, explain: bool) -> None:
    """Play rock, paper, scissors against Hedge, which learns from your moves.

    Type r, p or s, or the whole word. q or the end of the input ends the game. I choose my move before I see yours.

    I follow several experts. Each expects one habit: that you repeat your move, that you stay with a move that won, or
    that you follow a pattern. One expert plays at random. At the end I show who is ahead, whether that could be luck,
    and my regret: my loss minus the loss of my best expert.

    \b
    seriatim play
    seriatim play --seed 1 --explain
    yes r | seriatim play --rounds 100
    """
    from seriatim.experts.game import MOVES, Opponent, cost

    opponent = Opponent(seed)
    talking = sys.stdin.isatty()
    words = {name[:size]: move for move, name in enumerate(MOVES) for size in (1, len(name))}
    say("rock, paper or scissors: r, p or s; q to quit")
    while rounds is None or len(opponent.history) < rounds:
        ours = opponent.move()
        try:
            if talking:
                click.echo("> ", nl=False)
            line = (sys.stdin.readline() or "q").strip().lower()
        except KeyboardInterrupt:
            line = "q"
        if line in ("q", "quit", "exit"):
            break
        if line not in words:
            if line:
                say(f"  {line[:20]!r} is no move; type r, p, s, or q to quit")
            continue
        theirs = words[line]
        habit = opponent.names[opponent.choice or 0]
        opponent.learn(theirs)
        result = {0.0: "I win", 0.5: "a tie", 1.0: "you win"}[cost(ours, theirs)]
        score = f"you {opponent.lost}, I {opponent.won}, {count(opponent.tied, 'tie')}"
        because = f"; I expected: {habit}" if explain else ""
        say(f"  you {MOVES[theirs]}, I {MOVES[ours]}: {result}   ({score}){because}")
    say(*summary(opponent))


def count(number: int, word: str) -> str:
    return f"{number} {word}" + ("" if number == 1 else "s")


def chance_of_lead(won: int, lost: int) -> float:
    """The probability that a fair coin gives either side at least this lead.

    >>> round(chance_of_lead(9, 1), 4), chance_of_lead(3, 3)
    (0.0215, 1.0)
    """
    n, more = won + lost, max(won, lost)
    if n > 1000:  # the normal distribution, with continuity correction
        return min(1.0, math.erfc((abs(won - lost) - 1) / math.sqrt(2 * n)))
    return min(1.0, 2 * sum(math.comb(n, k) for k in range(more, n + 1)) / 2**n)


def summary(opponent: Any) -> list[str]:
    """Who is ahead, and the regret."""
    rounds = len(opponent.history)
    if not rounds:
        return ["no rounds were played"]
    won, lost = opponent.won, opponent.lost
    lead = abs(won - lost)
    ahead = "nobody is ahead" if won == lost else f"{'I am' if won > lost else 'you are'} ahead by {lead}"
    chance = chance_of_lead(won, lost)
    share = f"{chance:.0%}" if chance >= 0.01 else f"{chance:.1%}" if chance >= 0.001 else "less than 0.1%"
    luck = "" if won == lost else f"; two players who toss coins are this far apart in {share} of games"
    hedge = opponent.hedge
    best = float(hedge.losses_.min())
    return [
        "",
        f"{count(rounds, 'round')}: you won {lost}, I won {won}, {count(opponent.tied, 'tie')}: {ahead}{luck}",
        f"a defeat costs 1, a tie 1/2: I lost {opponent.paid:g} ({hedge.loss_:.1f} expected under my weights)",
        f"my best expert would have lost {best:g}; it expected: {opponent.best}",
        f"my regret is {hedge.regret_:.1f}; against any player it is at most {hedge.bound_:.1f} after "
        f"{count(rounds, 'round')}",
    ]

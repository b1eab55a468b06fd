"""Commands that are killed and interrupted at random moments lose nothing; `python -m tests.kills 500` for longer."""

from tests.kills import rounds


def test_killed_and_interrupted(tmp_path):
    outcomes = rounds(5, 1, tmp_path, size=500)
    assert sum(outcomes.values()) >= 15

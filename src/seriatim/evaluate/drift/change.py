"""What a detector of drift reports."""

from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Change:
    """A change of level: found at example `at`, counted from 1, by `detector`; the mean before it and after it.

    `since` is where the detector believes that it began, the first example of the new level; 0 if that is not known.

    >>> print(Change(1200, 0.1, 0.35, "ADWIN", since=1180))
    at 1200: from 0.1 to 0.35 since 1180 (ADWIN)
    """

    at: int
    before: float
    after: float
    detector: str
    since: int = 0

    def __str__(self) -> str:
        since = f" since {self.since}" if self.since else ""
        return f"at {self.at}: from {self.before:.4g} to {self.after:.4g}{since} ({self.detector})"

    def as_dict(self) -> dict[str, float | str]:
        """The same as what JSON has."""
        return asdict(self)

"""Change: the report of a drift detector."""

from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Change:
    """A change of level that `detector` found at example `at`, counted from 1, with the means before and after it.

    `since` is the estimated first example of the new level; 0 if it is unknown.

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
        """The fields as a dict, for JSON."""
        return asdict(self)

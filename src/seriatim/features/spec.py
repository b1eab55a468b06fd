"""`Features`: which columns and words become features, under which names, at which scale."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from typing import Any

from seriatim.core.values import encoded
from seriatim.errors import DataError, ParameterError
from seriatim.features.scaler import SCALES

TOKEN = r"\w+"
MOST_BITS = 28


@dataclass(frozen=True, kw_only=True, repr=False)
class Features:
    """How examples become features. The rules are the same for files, data frames and dicts.

    A number is a feature with the name of its column; true and false are 1 and 0. A category c of column k is the
    feature "k=c". A date becomes its year, month, day, weekday and hour, as categories. A list of strings is a bag of
    categories. None, NaN and NaT are missing values.

    label : the column of the label (default: the first of "label", "class", "target", "y" that exists).
    drop : columns to ignore; "*" ignores all but the text columns.
    text : columns of text. Each word is a feature "k=word", its value is the count.
    ngram : also count sequences of up to `ngram` words.
    lower : convert words to lower case.
    token : a regular expression that matches a word.
    missing : "skip" ignores missing values; "count" makes them the feature "k?".
    cross : pairs of columns. The product of each feature of one and each feature of the other is a feature.
    bits : hash names to 2^bits columns, and store no names.
    normalize : scale the features: "standard" by their running mean and deviation, "max" by their running maximum,
        "unit" each row to norm 1.

    >>> from seriatim import PA
    >>> model = PA(features=Features(text=["mail"])).learn_one({"mail": "Cheap, cheap watches"}, "spam")
    >>> model.feature_names_in_.tolist()
    ['mail=cheap', 'mail=watches']
    """

    label: str | None = None
    drop: tuple[str, ...] = ()
    text: tuple[str, ...] = ()
    ngram: int = 1
    lower: bool = True
    token: str = TOKEN
    missing: str = "skip"
    cross: tuple[tuple[str, str], ...] = ()
    bits: int | None = None
    normalize: str | None = None

    def __post_init__(self) -> None:
        for name in ("drop", "text"):
            given = getattr(self, name)
            self._expect(not isinstance(given, str), name, "a list of column names")
            object.__setattr__(self, name, tuple(given))
            self._expect(all(isinstance(k, str) for k in getattr(self, name)), name, "a list of column names")
        try:
            pairs = [tuple(pair) for pair in self.cross if not isinstance(pair, str)]
            good = len(pairs) == len(self.cross) and all([*map(type, pair)] == [str, str] for pair in pairs)
        except TypeError:
            pairs, good = [], False
        self._expect(good, "cross", "a list of pairs of column names")
        object.__setattr__(self, "cross", tuple(pairs))
        self._expect(len({name for pair in self.cross for name in pair}) <= 64, "cross", "of at most 64 columns")
        self._expect(self.label is None or isinstance(self.label, str), "label", "a column name")
        self._expect(type(self.ngram) is int and 1 <= self.ngram <= 10, "ngram", "a whole number from 1 to 10")
        self._expect(type(self.lower) is bool, "lower", "True or False")
        self._expect(self.missing in ("skip", "count"), "missing", "'skip' or 'count'")
        self._expect(
            self.bits is None or (type(self.bits) is int and 1 <= self.bits <= MOST_BITS),
            "bits",
            f"a whole number from 1 to {MOST_BITS}",
        )
        self._expect(self.normalize in (None, *SCALES), "normalize", " or ".join(map(repr, SCALES)))
        try:
            groups = re.compile(self.token).groups
        except (re.error, TypeError, RecursionError, OverflowError):
            groups = -1
        self._expect(groups == 0 and len(self.token) <= 1000, "token", "a regular expression without groups")

        for text in (self.label or "", self.token, *self.drop, *self.text, *sum(self.cross, ())):
            try:
                encoded(text, "features: the name")
            except DataError as error:
                raise ParameterError(str(error)) from None

    def _expect(self, good: bool, name: str, wanted: str) -> None:
        if not good:
            raise ParameterError(f"{name}={getattr(self, name)!r}: must be {wanted}")

    def __repr__(self) -> str:
        return f"Features({', '.join(f'{name}={value!r}' for name, value in self.as_dict().items())})"

    @classmethod
    def of(cls, value: Any) -> Features:
        """A user's `features`, which may also be None or a dict, as Features."""
        if isinstance(value, Features):
            return value
        if value is None:
            return cls()
        known = [field.name for field in fields(cls)]
        if not isinstance(value, dict) or not set(value) <= set(known):
            raise ParameterError(f"features={value!r}: must be a Features, or a dict of some of {', '.join(known)}")
        return cls(**value)

    def as_dict(self) -> dict[str, Any]:
        """The fields that differ from their defaults."""
        given = {about.name: (getattr(self, about.name), about.default) for about in fields(self)}
        return {name: value for name, (value, usual) in given.items() if value != usual}

    def drops(self, name: str) -> bool:
        """Whether a column is ignored."""
        return name in self.drop or ("*" in self.drop and name not in self.text)

    @property
    def plain(self) -> bool:
        """Whether these options change nothing for dicts."""
        return set(self.as_dict()) <= {"label", "ngram", "lower", "token"}

"""Groups of features as a parameter, and the base class of classifiers that have it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from seriatim.core.names import Vocabulary
from seriatim.core.rows import Rows
from seriatim.errors import DataError
from seriatim.estimator import Classifier
from seriatim.parameters import Parameter

MOST_COLUMNS = 1 << 28


@dataclass(frozen=True)
class Grouping:
    """Blocks of `block` columns each, or the columns and the names of each group."""

    block: int = 0
    columns: tuple[tuple[int, ...], ...] = ()
    names: tuple[tuple[str, ...], ...] = ()


def is_whole(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


@dataclass(frozen=True)
class Groups(Parameter):
    """Groups of features: a size, a group number for each column, or a list of columns and names for each group."""

    commas = True

    @property
    def range(self) -> str:
        return (
            "a whole number n, at least 1, for groups of n adjacent columns, a group number for each column, or a list "
            "of columns or names for each group, in which no column or name occurs twice"
        )

    def parse(self, text: str) -> Any:
        """Parse `8`, a size; `0,0,1,1`, group numbers; or `0,1;2,3` and `age,sex;height;`, a list for each group."""
        if ";" in text:
            lists = [part.split(",") for part in text.split(";") if part]
            return [[int(one) if one.isdigit() else one for one in part] for part in lists]
        try:
            numbers = [int(part) for part in text.split(",")]
        except ValueError:
            return text
        return numbers if len(numbers) > 1 else numbers[0]

    def as_json(self, value: Any) -> Any:
        value = value.tolist() if hasattr(value, "tolist") else value
        if isinstance(value, str) or not hasattr(value, "__iter__"):
            return value
        return [self.as_json(one) for one in value]

    def of(self, value: Any) -> Grouping:
        """The groups; TypeError or ValueError if the value does not describe groups."""
        if is_whole(value):
            if not 1 <= value < MOST_COLUMNS:
                raise ValueError
            return Grouping(block=int(value))
        if isinstance(value, str | bytes | dict):
            raise TypeError
        given = [*value]
        if all(is_whole(one) for one in given):
            numbered: dict[int, list[int]] = {}
            for column, number in enumerate(given):
                numbered.setdefault(int(number), []).append(column)
            return Grouping(columns=tuple(map(tuple, numbered.values())))
        if any(isinstance(group, str | bytes | dict) for group in given):
            raise TypeError
        lists = [[*group] for group in given]
        every = [one for group in lists for one in group]
        good = all(isinstance(one, str) or (is_whole(one) and 0 <= one < MOST_COLUMNS) for one in every)
        if not good or not all(lists) or len({*every}) < len(every):
            raise ValueError
        return Grouping(
            columns=tuple(tuple(int(one) for one in group if not isinstance(one, str)) for group in lists),
            names=tuple(tuple(one for one in group if isinstance(one, str)) for group in lists),
        )

    def problem(self, value: Any) -> str | None:
        try:
            self.of(value)
        except (TypeError, ValueError, OverflowError):
            return self.range
        return None


class Grouped(Classifier):
    """A classifier over groups of features. Names in the groups become the first columns."""

    fixed = (*Classifier.fixed, "groups")
    groups: Any = Groups()

    def _grouping(self) -> tuple[Grouping, list[str]]:
        """The groups, and all their names."""
        known = Groups().of(self.groups)
        return known, [name for group in known.names for name in group]

    def _group(self, learner: Any, vocabulary: Vocabulary | None) -> Any:
        """Pass the groups to a new learner."""
        known, names = self._grouping()
        if vocabulary is not None and names:
            place = {name: column for column, name in enumerate(vocabulary.names)}
            learner.group(0, [[place[name] for name in group if name in place] for group in known.names])
        else:
            learner.group(known.block, known.columns)
        return learner

    def _first_names(self, learner: Any) -> Vocabulary:
        vocabulary = Vocabulary(self._grouping()[1])
        self._group(learner, vocabulary).reserve(len(vocabulary))
        return vocabulary

    def _admit(self, rows: Rows) -> None:
        if rows.names is None and self._vocabulary is None and (self._learner is None or self._learner.t == 0):
            self.check()
            known, names = self._grouping()
            if names and not any(known.columns):
                raise DataError(
                    f"{type(self).__name__}: the groups have names, but these examples do not; give column numbers"
                )

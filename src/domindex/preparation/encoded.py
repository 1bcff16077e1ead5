"""A column as features, and what was done to it that a user should know."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Set
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from domindex.data.messages import preview


@dataclass(frozen=True, eq=False)
class Encoded:
    """A column of a table.

    Attributes
    ----------
    values : (rows, features)
    missing : (rows,), where it had no value
    n_bounded : how many values were drawn in
    unknown : texts that are none of its categories
    """

    values: NDArray[np.float64]
    missing: NDArray[np.bool_]
    n_bounded: int = 0
    unknown: frozenset[str] = frozenset()


@dataclass(frozen=True)
class InputChanges:
    """What was done to columns.

    Attributes
    ----------
    filled : how often a missing value was filled in simply
    bounded : how often a value was drawn in
    unknown : texts that are no category
    drawn : how often a missing value was drawn from what other inputs say of it
    categories : columns of categories, in which the commonest was filled in; elsewhere the median
    """

    filled: Counter[str] = field(default_factory=Counter)
    bounded: Counter[str] = field(default_factory=Counter)
    unknown: Mapping[str, frozenset[str]] = field(default_factory=dict)
    drawn: Counter[str] = field(default_factory=Counter)
    categories: frozenset[str] = frozenset()

    def __add__(self, other: InputChanges) -> InputChanges:
        names = dict.fromkeys([*self.unknown, *other.unknown])
        none: frozenset[str] = frozenset()
        both = {n: self.unknown.get(n, none) | other.unknown.get(n, none) for n in names}
        counts = (self.filled + other.filled, self.bounded + other.bounded)
        categories = self.categories | other.categories
        return InputChanges(*counts, both, self.drawn + other.drawn, categories)

    def notes(self, least_shown: int = 1, *, with_texts: bool = True) -> tuple[str, ...]:
        """Sentences; counts below `least_shown` are not said, and texts only where asked for."""
        notes = []
        for what, part in filled_by(self.filled, self.categories).items():
            listed = counted(part, least_shown)
            notes.append(f"Filled in missing inputs by the sources' {what}: {listed}.")
        drawn = +self.drawn
        if drawn:
            listed = counted(drawn, least_shown)
            notes.append(f"Drew missing inputs from what the others say of them: {listed}.")
        if self.bounded:
            listed = counted(self.bounded, least_shown)
            notes.append(f"Drew in values far beyond those of all domains: {listed}.")
        for name, texts in self.unknown.items() if with_texts else ():
            notes.append(
                f"Column {name!r} holds {preview(sorted(texts), 3)}, which fit never saw or saw "
                f"rarely; {'it counts' if len(texts) == 1 else 'they count'} as none of its "
                "categories."
            )
        return tuple(notes)


def filled_by(filled: Mapping[str, int], categories: Set[str]) -> dict[str, Counter[str]]:
    """How often each column was filled in, by what with; nothing where nothing was."""
    kinds = {"median": filled.keys() - categories, "commonest category": filled.keys() & categories}
    return {
        what: Counter({name: filled[name] for name in filled if name in names})
        for what, names in kinds.items()
        if names
    }


def counted(counts: Counter[str], least: int) -> str:
    """Columns with their counts, most first; those below `least` are not said."""
    said = (
        (name, count if count >= least else f"below {least}")
        for name, count in counts.most_common()
    )
    return preview((f"{name} ({count})" for name, count in said), 5)

"""A column as features, and what was done to it that a user should know."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
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
    """

    filled: Counter[str] = field(default_factory=Counter)
    bounded: Counter[str] = field(default_factory=Counter)
    unknown: Mapping[str, frozenset[str]] = field(default_factory=dict)
    drawn: Counter[str] = field(default_factory=Counter)

    def __add__(self, other: InputChanges) -> InputChanges:
        names = dict.fromkeys([*self.unknown, *other.unknown])
        none: frozenset[str] = frozenset()
        both = {n: self.unknown.get(n, none) | other.unknown.get(n, none) for n in names}
        counts = (self.filled + other.filled, self.bounded + other.bounded)
        return InputChanges(*counts, both, self.drawn + other.drawn)

    def notes(self, least_shown: int = 1, *, with_texts: bool = True) -> tuple[str, ...]:
        """Sentences; counts below `least_shown` are not said, and texts only where asked for."""
        notes = []
        if self.filled:
            listed = _counted(self.filled, least_shown)
            notes.append(f"Filled in missing inputs by the sources' median: {listed}.")
        drawn = +self.drawn
        if drawn:
            listed = _counted(drawn, least_shown)
            notes.append(f"Drew missing inputs from what the others say of them: {listed}.")
        if self.bounded:
            listed = _counted(self.bounded, least_shown)
            notes.append(f"Drew in values far beyond those of all domains: {listed}.")
        for name, texts in self.unknown.items() if with_texts else ():
            notes.append(
                f"Column {name!r} holds {preview(sorted(texts), 3)}, which fit never saw or saw "
                "rarely; they count as none of its categories."
            )
        return tuple(notes)


def _counted(counts: Counter[str], least: int) -> str:
    said = (
        (name, count if count >= least else f"below {least}")
        for name, count in counts.most_common()
    )
    return preview((f"{name} ({count})" for name, count in said), 5)

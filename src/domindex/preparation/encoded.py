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
    """How often each column was filled in or drawn in, and texts of each that are no category."""

    filled: Counter[str] = field(default_factory=Counter)
    bounded: Counter[str] = field(default_factory=Counter)
    unknown: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def __add__(self, other: InputChanges) -> InputChanges:
        names = dict.fromkeys([*self.unknown, *other.unknown])
        none: frozenset[str] = frozenset()
        both = {n: self.unknown.get(n, none) | other.unknown.get(n, none) for n in names}
        return InputChanges(self.filled + other.filled, self.bounded + other.bounded, both)

    def notes(self, least_shown: int = 1, *, with_texts: bool = True) -> tuple[str, ...]:
        """Sentences; counts below `least_shown` are not said, and texts only where asked for."""
        notes = []
        if self.filled:
            listed = _counted(self.filled, least_shown)
            notes.append(f"Filled in missing inputs by the sources' median: {listed}.")
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

"""Two ways round a map that closes, and what depends on which is taken.

A domain away from the sources can be reached along the ring in both directions. Inputs alone
cannot say which is right: where predictions differ, that is told, not decided.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from domindex.committee.committee import Committee
from domindex.model.fitted_indices import FittedIndices
from domindex.representations import PlacedRows

Floats = NDArray[np.float64]

CLEARLY_APART = 0.05
"""Share of rows, or of the outputs' spread, from which two ways are said to differ. Not tuned."""


def ways_apart(
    committee: Committee, rows: PlacedRows, indices: FittedIndices, predicted: Floats
) -> dict[Hashable | None, float] | None:
    """By domain, how far predictions differ that reach it the other way round.

    `predicted` (rows, columns) are those of the way that was taken. For classes the share of rows
    whose class changes; for values the root mean squared difference in units of the outputs'
    spread. 0 where only one way is in question, see `RingCoordinate.chance_of_other_way`: among the
    sources, and close to them. None where no member runs along a ring.
    """
    ring = committee.ring
    if ring is None or rows.angles is None:
        return None
    questions = [bool(ring.in_question(rows.angles[domain.name])) for domain in rows.domains]
    asked = {domain.name for domain, one in zip(rows.domains, questions) if one}
    apart: dict[Hashable | None, float] = {domain.name: 0.0 for domain in rows.domains}
    if not asked:
        return apart
    there = {domain.name: domain.rows for domain in rows.domains}
    other = replace(rows.only(asked), other_way=True)
    values = committee.predict(other, indices).mean
    for domain in other.domains:
        before, after = predicted[there[domain.name]], values[domain.rows]
        apart[domain.name] = _apart(before, after, committee)
    return apart


def _apart(before: Floats, after: Floats, committee: Committee) -> float:
    if committee.deviations is None:
        return float((before.argmax(axis=1) != after.argmax(axis=1)).mean())
    return float(np.sqrt((((before - after) / committee.deviations.unit) ** 2).mean()))

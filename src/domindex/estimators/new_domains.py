"""Domains that were not in the fit: where they lie, and whether they belong there."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Sequence

import numpy as np
import pandas as pd

from domindex.arrays import Floats
from domindex.errors import InputError, OffMapWarning
from domindex.geometry.neighbors import nearest_points
from domindex.geometry.off_map import OffMapTest
from domindex.geometry.settings import OFF_MAP
from domindex.inputs import order_names
from domindex.inputs.messages import frames_inside, preview
from domindex.inputs.numbers import require_finite_table
from domindex.representations import PlacedRows
from domindex.vdi.fitted_indices import FittedIndices


def judge(
    test: OffMapTest, indices: FittedIndices, rows: PlacedRows, flagged_before: Sequence[Hashable]
) -> tuple[Floats, list[Hashable | None]]:
    """(domains,) how far each is from the family, and the names of those off the map, above 1.

    NaN where there are too few known domains to say. A domain of the fit is never flagged; one that
    was added keeps the flag it was added with.
    """
    known, before = set(indices.domain_map.index.domains), set(flagged_before)
    names = [domain.name for domain in rows.domains]
    scaled = indices.scaler.apply_flat(rows.inputs)
    scores = test.ratios([scaled[domain.rows] for domain in rows.domains], tuple(names))
    if test.is_calibrated:
        judged = pd.DataFrame({"domain": _names(names), "score": scores})
        require_finite_table(judged, "How far domains are from the map")
    flags = [name in before if name in known else score > 1.0 for name, score in zip(names, scores)]
    return scores, [name for name, is_off in zip(names, flags) if is_off]


def flag_new(
    test: OffMapTest, indices: FittedIndices, rows: PlacedRows, flagged_before: Sequence[Hashable]
) -> list[Hashable | None]:
    """Names of the domains off the map; those of the fit, which never are, cost nothing."""
    names = {domain.name for domain in rows.domains}
    new = names - set(indices.domain_map.index.domains)
    flagged: set[Hashable | None] = names & set(flagged_before)
    if new:
        part = rows if len(new) == len(names) else rows.only(new)
        flagged |= set(judge(test, indices, part, ())[1])
    return [domain.name for domain in rows.domains if domain.name in flagged]


def warn_off_map(flagged: Sequence[Hashable | None]) -> None:
    """Say to whoever called the library that predictions there rest on nothing."""
    if not flagged:
        return
    if list(flagged) == [None]:
        what = "The rows, which come without sample_domain and count as one new domain, lie"
    elif len(flagged) == 1:
        what = f"The domain {preview(flagged)} lies"
    else:
        what = f"{len(flagged)} domains ({preview(flagged)}) lie"
    warnings.warn(
        f"{what} off the map: further from every known domain than "
        f"{1 - OFF_MAP.false_alarms:.0%} of known domains are from the others. What held on known "
        "domains need not hold there; `place_domains` gives the scores.",
        OffMapWarning,
        stacklevel=frames_inside(),
    )


def check_new_names(names: Sequence[Hashable] | None, known: Sequence[Hashable]) -> None:
    """Names to be added: given, and none that is known, by itself or by its text."""
    if names is None:
        raise InputError(
            "sample_domain is missing, and a domain needs a name to be added. Pass one domain name "
            "per row."
        )
    new = order_names(names)
    taken = [name for name in new if name in set(known)]
    if taken:
        raise InputError(
            f"{preview(taken)} is already among the {len(known)} known domains. Leave rows of "
            "known domains out, give new rows another name, or fit anew to learn from them."
        )
    order_names([*known, *new])


def placement_table(
    rows: PlacedRows, indices: FittedIndices, scores: Floats, flagged: Sequence[Hashable | None]
) -> pd.DataFrame:
    """The columns of `place_domains` without the forecast; no domain is its own neighbour."""
    known = indices.domain_map.index
    names = [domain.name for domain in rows.domains]
    places, deviations = indices.index_at(np.stack([domain.place for domain in rows.domains]))
    columns: dict[str, object] = {
        "domain": _names(names),
        "rows": [len(domain.rows) for domain in rows.domains],
    }
    columns |= {f"index_{n}": axis for n, axis in enumerate(places.T, start=1)}
    columns |= {f"std_{n}": axis for n, axis in enumerate(deviations.T, start=1)}
    if rows.angles is not None:
        columns["angle"] = [rows.angles[name] for name in names]
    numbers = {name: number for number, name in enumerate(known.domains)}
    own = np.array([numbers.get(name, -1) for name in names])
    goals = indices.index()[0].coordinates
    order, gaps = nearest_points(places, min(3, len(numbers) - 1), goals, own)
    for rank, (nearest, away) in enumerate(zip(order.T, gaps.T), start=1):
        columns[f"nearest_{rank}"] = _names([known.domains[number] for number in nearest])
        columns[f"distance_{rank}"] = away
    columns["off_map"] = [name in flagged for name in names]
    columns["off_map_score"] = scores
    return pd.DataFrame(columns)


def _names(names: Sequence[Hashable | None]) -> pd.Series:
    """A column of names, which may be anything."""
    return pd.Series(list(names), dtype=object)

"""Which rows the map of the domains is drawn from."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from domindex.arrays import Floats
from domindex.geometry.matching import (
    MOST_COST,
    balancing_weights,
    effective_sample_fraction,
    may_be_cut,
    resembling_rows,
)
from domindex.inputs import DomainData
from domindex.inputs.standardizing import InputScaler
from domindex.representations.base import PlacedRows
from domindex.representations.normalised import SHAPES, inputs_share_units


def rows_for_map(data: DomainData, most_cost: float = MOST_COST) -> list[NDArray[np.int64]] | None:
    """For every domain the rows to draw the map from; None where all serve.

    When sources hold more kinds of rows than targets, all seasons against one, distances show the
    mix of rows and not the domains: then each source is cut to the rows that resemble the targets'.
    Matching starts from the weights under which source rows look like the targets', in the terms
    in which most of them do.
    """
    scaled = InputScaler.fit(data).apply_flat(data.inputs)
    clouds = [scaled[rows] for rows in data.rows_by_domain()]
    if not may_be_cut(clouds, data.is_source):
        return None
    sources = data.row_is_source
    weights = [
        balancing_weights(rows[sources], rows[~sources]) for rows in _represented(data, scaled)
    ]
    of_rows = np.ones(data.n_rows)
    of_rows[sources] = max(weights, key=effective_sample_fraction)
    by_domain = [of_rows[rows] for rows in data.rows_by_domain()]
    return resembling_rows(clouds, data.is_source, by_domain, most_cost)


def _represented(data: DomainData, scaled: Floats) -> Iterator[Floats]:
    """Rows as they are and, where features share their units, by their shapes."""
    yield scaled
    if not inputs_share_units(data):
        return
    n_features = int(np.prod(data.inputs.shape[1:]))
    for kind in SHAPES:
        if n_features >= kind.least_features:
            yield kind.of(data).apply(PlacedRows.of_data(data)).features

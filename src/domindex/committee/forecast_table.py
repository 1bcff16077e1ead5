"""Forecasts of quality as a table, a row a domain."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from domindex.committee.committee import Committee
from domindex.committee.forecast import Forecaster
from domindex.model.fitted_indices import FittedIndices
from domindex.representations import PlacedRows

Floats = NDArray[np.float64]

NAMES = {"domain": object, "nearest": object}
"""Columns that hold names of domains, which may be anything."""


def forecast_table(
    committee: Committee,
    forecaster: Forecaster,
    rows: PlacedRows,
    indices: FittedIndices,
    sources: Sequence[Hashable],
    off_map: Collection[Hashable | None] = (),
) -> pd.DataFrame:
    """What to expect in every domain of these rows.

    Columns: domain, rows, nearest (source on the map), distance (to it); for classes
    expected_accuracy, low, high (80 %), and for comparison held_out_mean and
    thresholded_confidence; for values expected_error (root mean squared, in the units of a single
    output, or of the outputs' spread), low, high and held_out_mean. `off_map` holds where a domain
    is among those given as off the map: held-out sources say nothing of what to expect there.
    """
    predicted = committee.predict(rows, indices)
    assert predicted.disagreement is not None
    known = indices.domain_map.index
    places = np.stack([np.asarray(known.find(name)) for name in sources])
    unit = 1.0
    if committee.deviations is not None and len(committee.deviations.unit) == 1:
        unit = float(committee.deviations.unit[0])
    records = []
    for name, members, place in rows.domains:
        gaps = np.linalg.norm(places - place, axis=1)
        nearest = int(np.argmin(gaps))
        expected = forecaster.predict(
            predicted.mean[members], predicted.disagreement[members], float(gaps[nearest])
        )
        record = {
            "domain": name,
            "rows": len(members),
            "nearest": sources[nearest],
            "distance": float(gaps[nearest]),
        }
        named = _named(expected, forecaster.is_class, unit)
        records.append(record | named | {"off_map": name in off_map})
    return pd.DataFrame(
        {
            column: pd.Series([record[column] for record in records], dtype=NAMES.get(column))
            for column in records[0]
        }
    )


def _named(expected: dict[str, float], is_class: bool, unit: float) -> dict[str, float]:
    if is_class:
        return {
            "expected_accuracy": expected["expected"],
            "low": expected["low"],
            "high": expected["high"],
            "held_out_mean": expected["mean"],
            "thresholded_confidence": expected["thresholded"],
        }
    return {
        "expected_error": unit * expected["expected"] ** 0.5,
        "low": unit * expected["low"] ** 0.5,
        "high": unit * expected["high"] ** 0.5,
        "held_out_mean": unit * expected["mean"] ** 0.5,
    }

"""Forecasts of quality as a table, a row a domain."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from domindex.committee.committee import Committee
from domindex.committee.forecast import Forecaster
from domindex.committee.two_ways import ways_apart
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
) -> pd.DataFrame:
    """What to expect in every domain of these rows.

    Columns: domain, rows, nearest (source on the map), distance (to it); for classes
    expected_accuracy, low, high (80 %), and for comparison held_out_mean and
    thresholded_confidence; for values expected_error (root mean squared, in the units of a single
    output, or of the outputs' spread), low, high and held_out_mean. Where members run along the
    ring of a map that closes, two_ways says how far predictions agree that reach a domain one way
    round and the other, see `ways_apart`; the interval covers what the other way may cost.
    """
    predicted = committee.predict(rows, indices)
    assert predicted.disagreement is not None
    apart = ways_apart(committee, rows, indices, predicted.mean)
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
        if apart is not None:
            expected = _with_other_way(expected, apart[name], forecaster.is_class)
        record = {
            "domain": name,
            "rows": len(members),
            "nearest": sources[nearest],
            "distance": float(gaps[nearest]),
        }
        record |= _named(expected, forecaster.is_class, unit)
        if apart is not None:
            record["two_ways"] = float(np.clip(1.0 - apart[name], 0.0, 1.0))
        records.append(record)
    return pd.DataFrame(
        {
            column: pd.Series([record[column] for record in records], dtype=NAMES.get(column))
            for column in records[0]
        }
    )


def _with_other_way(expected: dict[str, float], apart: float, is_class: bool) -> dict[str, float]:
    """An interval that holds if the other way round was the right one for all that it changes."""
    if is_class:
        return expected | {"low": max(expected["low"] - apart, 0.0)}
    return expected | {"high": expected["high"] + apart**2}


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

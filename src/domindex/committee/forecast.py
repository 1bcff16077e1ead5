"""What to expect of a committee in a domain without labels, learned from held-out sources.

The committee's own signal (its confidence, or how far its members agree) is corrected by what it
was worth in held-out domains, as it depends on the signal itself and on the distance to what was
learned from. The correction is a ridge regression: few domains move it little.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import t as student

from domindex.arrays import Floats
from domindex.committee.committee import Committee, ways_apart
from domindex.committee.folds import HeldOutRows
from domindex.persistence.saved import Saved
from domindex.representations import PlacedRows
from domindex.vdi.fitted_indices import FittedIndices


@dataclass(frozen=True)
class ForecastSettings:
    """What a forecast believes before any domain was held out."""

    signal_penalty: float  # ridge penalty of the slope, per held-out domain; set on the real suite
    prior_spread: float  # of domains about a forecast: accuracy, or log error; stated, not tuned
    probability: float = 0.8  # of the intervals; a definition
    distance_penalty: float = 0.3  # as `signal_penalty`
    prior_domains: float = 3.0  # how many domains that belief counts for; not tuned
    farthest: float = 3.0  # standard deviations beyond which a trend is not continued; not tuned
    share_of_agreement: float = (
        0.5  # exponent of disagreement: half its word; set on the real suite
    )


CLASSES = ForecastSettings(signal_penalty=0.01, prior_spread=0.05)
VALUES = ForecastSettings(signal_penalty=0.3, prior_spread=0.5)


@dataclass(frozen=True, eq=False)
class Forecaster(Saved):
    """Expected accuracy, or the logarithm of the expected squared error in units of spread."""

    is_class: bool  # which of the two
    centre: Floats  # (2,) of the signals and distances of held-out domains
    scale: Floats  # (2,) of the same
    coefficients: Floats  # (3,) of the correction: intercept, signal, distance
    covariance: Floats  # (3, 3) of the coefficients
    spread: float  # of domains about the forecast
    freedom: float  # degrees of freedom behind the spread
    held_out_mean: float  # mean quality of held-out domains, for comparison
    threshold: float  # of confidence: as many held-out rows lie above as are right; NaN for values
    ignorance: float | None = None  # quality of knowing nothing, with a single source

    @classmethod
    def fit(cls, held_out: Floats, disagreement: Floats, rows: HeldOutRows) -> Forecaster:
        """From the committee's predictions (n, columns) and disagreement (n,) of held-out rows."""
        is_class = rows.n_classes is not None
        signal = rows.by_part(_row_signal(held_out, disagreement, is_class))
        quality = rows.by_part(_row_quality(held_out, rows))
        if not is_class:
            signal = VALUES.share_of_agreement * np.log(signal + 1e-12)
            quality = np.log(quality + 1e-12)
        threshold = np.nan
        if is_class:
            right = float(rows.row_weights @ _row_quality(held_out, rows))
            threshold = _weighted_quantile(held_out.max(axis=1), rows.row_weights, 1.0 - right)
        found = cls._of_parts(signal, rows.part_distances, quality, is_class, threshold)
        if not rows.by_rows:
            return found
        return replace(found, ignorance=1.0 / rows.n_classes if rows.n_classes else 0.0)

    @classmethod
    def _of_parts(
        cls, signal: Floats, distance: Floats, quality: Floats, is_class: bool, threshold: float
    ) -> Forecaster:
        n_parts, settings = len(quality), CLASSES if is_class else VALUES
        given = np.stack([signal, distance], axis=1)
        centre, scale = given.mean(axis=0), given.std(axis=0)
        scale = np.where(scale > 1e-9, scale, 1.0)
        design = np.column_stack([np.ones(n_parts), (given - centre) / scale])
        own_unit = scale[0] ** 2 if is_class else 1.0
        slopes = [0.0, settings.signal_penalty / own_unit, settings.distance_penalty]
        precision = design.T @ design + np.diag(n_parts * np.array(slopes))
        coefficients = np.linalg.solve(precision, design.T @ (quality - signal))
        residuals = quality - signal - design @ coefficients
        freedom = n_parts - 1 + settings.prior_domains
        prior = settings.prior_domains * settings.prior_spread**2
        spread = float(np.sqrt((residuals @ residuals + prior) / freedom))
        mean = float(quality.mean())
        covariance = np.linalg.inv(precision)
        return cls(
            is_class, centre, scale, coefficients, covariance, spread, freedom, mean, threshold
        )

    def predict(self, predicted: Floats, disagreement: Floats, distance: float) -> dict[str, float]:
        """Of a domain with rows predicted as (n, columns), at a distance from the sources."""
        settings = CLASSES if self.is_class else VALUES
        signal = float(_row_signal(predicted, disagreement, self.is_class).mean())
        if not self.is_class:
            signal = settings.share_of_agreement * float(np.log(signal + 1e-12))
        place = (np.array([signal, distance]) - self.centre) / self.scale
        design = np.concatenate([[1.0], np.clip(place, -settings.farthest, settings.farthest)])
        expected = signal + float(design @ self.coefficients)
        variance = self.spread**2 * (1.0 + float(design @ self.covariance @ design))
        if self.is_class:
            chance = float(np.clip(expected, 0.0, 1.0))
            variance += chance * (1.0 - chance) / len(predicted)
        width = student.ppf(0.5 + settings.probability / 2, self.freedom) * np.sqrt(variance)
        low, high = expected - width, expected + width
        if self.ignorance is not None and distance > 0:
            expected, low, high = self._away_from_home(expected, low, high)
        result = {"expected": expected, "low": low, "high": high, "mean": self.held_out_mean}
        if self.is_class:
            result = {name: float(np.clip(value, 0.0, 1.0)) for name, value in result.items()}
            result["thresholded"] = float((predicted.max(axis=1) > self.threshold).mean())
            return result
        return {name: float(np.exp(value)) for name, value in result.items()}

    def _away_from_home(self, expected: float, low: float, high: float) -> tuple[float, ...]:
        """With one source nobody has seen what distance does: anything from as good as at home down
        to knowing nothing is possible."""
        assert self.ignorance is not None
        home = self.held_out_mean
        if self.is_class:
            return min(expected, home), min(low, home, self.ignorance), max(high, home)
        return max(expected, home), min(low, home), max(high, home, self.ignorance)

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Forecaster:
        return super().from_state({"ignorance": None} | state)  # older models do not have it

    def _check_state(self) -> None:
        parts = (self.centre, self.scale, self.coefficients, self.covariance)
        if [part.shape for part in parts] != [(2,), (2,), (3,), (3, 3)]:
            raise ValueError("the parts of the forecast do not fit each other")
        figures = (self.spread, self.freedom, self.held_out_mean, self.threshold, self.ignorance)
        if any(one is not None and math.isinf(one) for one in figures):
            raise ValueError("the figures of the forecast are no numbers")


def _row_signal(predicted: Floats, disagreement: Floats, is_class: bool) -> Floats:
    return predicted.max(axis=1) if is_class else disagreement


def _row_quality(predicted: Floats, rows: HeldOutRows) -> Floats:
    """(n,) whether right, or the squared error in units of spread."""
    if rows.n_classes is not None:
        return (predicted.argmax(axis=1) == rows.labels).astype(np.float64)
    return rows.losses(predicted)


def _weighted_quantile(values: Floats, weights: Floats, share: float) -> float:
    order = np.argsort(values)
    below = np.cumsum(weights[order]) / weights.sum()
    place = int(np.searchsorted(below, share))
    return float(values[order[min(place, len(values) - 1)]])


def forecast_table(
    committee: Committee,
    forecaster: Forecaster,
    rows: PlacedRows,
    indices: FittedIndices,
    sources: Sequence[Hashable],
    off_map: Collection[Hashable | None] = (),
) -> pd.DataFrame:
    """What to expect in every domain of these rows.

    Its columns are those of `forecast_`; off_map, for held-out sources say nothing of domains off
    the map; and, where members run along a ring, two_ways: how far predictions agree that reach a
    domain one way round and the other, see `ways_apart`. The interval covers what that may cost.
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
        other = 0.0 if apart is None else apart[name]  # what the other way round may cost
        if forecaster.is_class:
            expected["low"] = max(expected["low"] - other, 0.0)
        else:
            expected["high"] += other**2
            expected = {what: unit * value**0.5 for what, value in expected.items()}
        record = {
            "domain": name,
            "rows": len(members),
            "nearest": sources[nearest],
            "distance": float(gaps[nearest]),
            "expected_accuracy" if forecaster.is_class else "expected_error": expected["expected"],
            "low": expected["low"],
            "high": expected["high"],
            "held_out_mean": expected["mean"],
        }
        if forecaster.is_class:
            record["thresholded_confidence"] = expected["thresholded"]
        record["off_map"] = name in off_map
        if apart is not None:
            record["two_ways"] = float(np.clip(1.0 - apart[name], 0.0, 1.0))
        records.append(record)
    names = {"domain": object, "nearest": object}  # of domains, which may be anything
    return pd.DataFrame(
        {
            column: pd.Series([record[column] for record in records], dtype=names.get(column))
            for column in records[0]
        }
    )

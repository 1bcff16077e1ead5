"""A candidate's learner on represented rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from domindex.committee.candidate import Candidate
from domindex.committee.learner import Predictor
from domindex.data import DomainData
from domindex.errors import PredictorError
from domindex.representations import RepresentedRows

Floats = NDArray[np.float64]


def fit_candidate(
    candidate: Candidate,
    train: RepresentedRows,
    rows: NDArray[np.int64],
    data: DomainData,
    seed: int,
    weights: Floats | None,
) -> Predictor:
    """The candidate's learner on represented rows, which are the given rows of the data."""
    assert candidate.learner is not None
    labels, n_classes = data.labels[rows], None
    if data.classes is not None:
        n_classes = len(data.classes)
    else:
        labels = train.normalize(labels)
    extra = {} if weights is None else {"weights": weights}
    return candidate.learner.fit(train.features, labels, n_classes, seed, **extra)


def predict_with(predictor: Predictor, rows: RepresentedRows) -> Floats:
    """One finite row of outputs for every row; anyone may bring a predictor."""
    array = np.asarray(predictor.predict(rows.features), dtype=np.float64)
    if array.ndim != 2 or len(array) != len(rows.features):
        raise PredictorError(
            f"The predictor {predictor.name!r} returned shape {array.shape} for "
            f"{len(rows.features)} rows. Return (rows, classes) or (rows, outputs)."
        )
    if not np.isfinite(array).all():
        raise PredictorError(
            f"The predictor {predictor.name!r} returned NaN or infinity. "
            "Look for extreme values in X, or choose another predictor."
        )
    return array

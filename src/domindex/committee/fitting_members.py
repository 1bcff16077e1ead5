"""Members fitted on all sources."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from domindex.committee.candidates import Choice
from domindex.committee.conformal_scaling import conformal_factors
from domindex.committee.fit_context import FitContext
from domindex.committee.folds import held_out_folds
from domindex.committee.members import (
    Deviations,
    NetworkMember,
    PredictorMember,
    check_predictions,
)
from domindex.committee.network_start import NetworkStart, network_start
from domindex.committee.predictors import Learner
from domindex.data import DomainData
from domindex.geometry.domain_geometry import DomainGeometry
from domindex.model.fitted_indices import FittedIndices
from domindex.representations import RepresentedRows
from domindex.training.batches import BatchSampler, TrainingRows
from domindex.training.encoding_training import train_encoding

Floats = NDArray[np.float64]

LEAST_DEVIATION = 1e-12
"""Relative to the largest output that was seen: no interval is a point. Rounding, not tuned."""

DEVIATION_FOLDS = 10
"""Of source domains, held out to see how far predictions are off."""


def fit_network(
    choice: Choice,
    data: DomainData,
    geometry: DomainGeometry,
    indices: FittedIndices,
    context: FitContext,
) -> NetworkMember:
    """Train the variational network on the chosen representation."""
    start = network_start(choice, data, geometry, indices.module.local_dim, context)
    scaled = geometry.scaler.apply(data.inputs)
    rows = TrainingRows.of(data, scaled, context.fabric.device)
    rows = rows.represented_as(start.rows, _drawing_weights(start, data))
    if start.outputs is not None:
        rows = rows.with_labels(start.outputs.apply(start.rows.normalize(data.labels)))
    coordinates = geometry.domain_map.coordinates
    batches = BatchSampler(rows, context.training, context.rng, coordinates)
    in_training = indices.module.float().to(context.fabric.device)
    module = train_encoding(
        start.module,
        in_training,
        batches,
        context.network.adversary,
        context.network.weights(),
        context.trainer,
        context.history,
    )
    indices.module.cpu().double()
    member = NetworkMember(start.representation, module, start.outputs)
    if start.rule is None:
        return member
    deviations = _calibrate(member, start, data, indices, context.choices.coverage)
    return member.calibrated(deviations)


def fit_predictor(learner: Learner, choice: Choice, data: DomainData, seed: int) -> PredictorMember:
    """Fit a predictor on the source rows of the chosen representation."""
    sources, rows = data.row_is_source, choice.candidate.rows.part(data.row_is_source)
    n_classes = None if data.classes is None else len(data.classes)
    labels = data.labels[sources]
    learned = labels if n_classes is not None else rows.normalize(labels)
    predictor = learner.fit(rows.features, learned, n_classes, seed)
    representation = choice.candidate.representation
    if n_classes is not None:
        return PredictorMember(representation, predictor)
    held_out = _held_out(learner, rows, learned, data.row_domains[sources], seed)
    raw = np.broadcast_to(rows.spread, labels.shape)
    factors = conformal_factors(labels - held_out, raw, np.ones(len(labels)))
    return PredictorMember(representation, predictor, Deviations(factors, _least(labels)))


def _drawing_weights(start: NetworkStart, data: DomainData) -> Floats | None:
    """How often rows are drawn: sources as the rule weighs them; all alike for classes."""
    if start.rule is None:
        return None
    weights = np.ones(data.n_rows)
    weights[data.row_is_source] = start.rule.row_weights
    return weights


def _calibrate(
    member: NetworkMember,
    start: NetworkStart,
    data: DomainData,
    indices: FittedIndices,
    coverage: float,
) -> Deviations:
    """So that intervals hold what they say in domains that the rule never saw."""
    assert start.rule is not None
    sources = data.row_is_source
    names = [data.domains[number] for number in data.row_domains[sources]]
    raw = member.predict(indices.placed(data.inputs[sources], names), indices).deviation
    assert raw is not None
    values, least = data.labels[sources], _least(data.labels[sources])
    residuals, weights = values - start.rule.held_out, start.rule.row_weights
    factors = conformal_factors(residuals, np.maximum(raw, least), weights, coverage)
    return Deviations(factors, least)


def _held_out(
    learner: Learner,
    rows: RepresentedRows,
    values: Floats,
    domains: NDArray[np.int64],
    seed: int,
) -> Floats:
    """Values (n, outputs) by predictors that never saw the row's domain, user's units."""
    predicted = np.empty_like(values)
    for test in held_out_folds(domains, DEVIATION_FOLDS):
        train = np.setdiff1d(np.arange(len(values)), test)
        if not len(train):
            train = test
        fitted = learner.fit(rows.features[train], values[train], None, seed)
        part = rows.part(test)
        predicted[test] = check_predictions(fitted, fitted.predict(part.features), part)
    return rows.restore(predicted)


def _least(values: Floats) -> float:
    return LEAST_DEVIATION * max(float(np.abs(values).max()), 1e-300)

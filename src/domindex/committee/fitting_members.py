"""Members fitted on all sources, and what the network would have said of held-out ones."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from domindex.committee.candidate import Candidate
from domindex.committee.encoded_folds import encode_all
from domindex.committee.fit_context import FitContext
from domindex.committee.held_out_rows import HeldOutRows
from domindex.committee.members import EncodedMember, NetworkMember, PredictorMember
from domindex.committee.network_start import NetworkStart
from domindex.committee.represented_folds import RepresentedFolds
from domindex.committee.self_training import learn
from domindex.model.fitted_indices import FittedIndices
from domindex.training.batches import BatchSampler, TrainingRows
from domindex.training.encoding_folds import train_encoding_folds
from domindex.training.encoding_training import train_encoding

Floats = NDArray[np.float64]

FOLD_STEPS = 0.5
BACKBONE_FOLD_STEPS = 0.2
"""Share of the steps that a network takes in a fold, without a backbone and with one: for time. Its
losses are a little too high, so that it has to be clearly better to be believed."""

MOST_FITTED = 20_000
"""Source rows that a predictor is fitted on, at most, and target rows that balance them."""


def fit_predictor(
    candidate: Candidate, represented: RepresentedFolds, seed: int
) -> PredictorMember:
    """A candidate's learner on all source rows."""
    data, rng = represented.data, np.random.default_rng(seed)
    sources, targets = (
        np.sort(rng.permutation(np.flatnonzero(mask))[:MOST_FITTED])
        for mask in (data.row_counts, ~data.row_is_source)
    )
    train, goal = represented.rows.part(sources), represented.rows.part(targets)
    none = np.empty(0, dtype=np.int64)
    predictor = learn(candidate, represented, train, goal, sources, none, seed)
    return PredictorMember(represented.representation, predictor, data.classes is not None)


def fit_network(start: NetworkStart, indices: FittedIndices, context: FitContext) -> NetworkMember:
    """Train the variational network on all sources."""
    data = start.data
    batches = _batches(start, context)
    in_training = indices.module.float().to(context.fabric.device)
    with context.chance.lent():
        untrained = start.module(np.flatnonzero(data.row_is_source))
    module = train_encoding(
        untrained,
        in_training,
        batches,
        context.network.adversary,
        context.network.weights(),
        context.trainer,
        context.history,
    )
    indices.module.cpu().double()
    return NetworkMember(start.representation, module, start.outputs)


def fit_encoded(
    candidate: Candidate,
    network: NetworkMember,
    represented: RepresentedFolds,
    indices: FittedIndices,
    seed: int,
) -> EncodedMember:
    """A candidate's learner on what the trained network makes of all source rows."""
    member = fit_predictor(candidate, encode_all(network, represented, indices), seed)
    return EncodedMember(network, member.predictor, member.is_class)


def fit_network_folds(
    start: NetworkStart, rows: HeldOutRows, indices: FittedIndices, context: FitContext
) -> list[NetworkMember]:
    """A network for every fold, denied the labels of the domains that it holds out.

    All folds are trained as one. A far fold is denied the labels of the domains in between as well.
    """
    data = start.data
    held_out = np.ones((len(rows.folds), data.n_domains), dtype=bool)
    for number, fold in enumerate(rows.folds):
        held_out[number, np.unique(data.row_domains[fold.train])] = False
    share = FOLD_STEPS if context.backbone is None else BACKBONE_FOLD_STEPS
    in_training = indices.module.float().to(context.fabric.device)
    with context.chance.lent():
        untrained = [start.module(fold.train) for fold in rows.folds]
    modules = train_encoding_folds(
        untrained,
        in_training,
        _batches(start, context),
        held_out & data.is_source,
        context.network.adversary,
        context.network.weights(),
        context.trainer,
        n_steps=max(1, int(share * context.training.steps)),
    )
    indices.module.cpu().double()
    return [NetworkMember(start.representation, module, start.outputs) for module in modules]


def predict_network_folds(
    networks: Sequence[NetworkMember],
    represented: RepresentedFolds,
    rows: HeldOutRows,
    indices: FittedIndices,
) -> Floats:
    """(n, columns) for the held-out rows, each by the network of its fold."""
    folds = zip(rows.folds, networks)
    parts = [network.predict(represented.held_out(fold), indices) for fold, network in folds]
    return np.concatenate(parts)


def _batches(start: NetworkStart, context: FitContext) -> BatchSampler:
    data, geometry = start.data, start.geometry
    scaled = geometry.scaler.apply(data.inputs)
    rows = TrainingRows.of(data, scaled, context.fabric.device)
    rows = rows.represented_as(start.rows, data.weights)
    if start.outputs is not None:
        rows = rows.with_labels(start.outputs.apply(start.rows.normalize(data.labels)))
    coordinates = geometry.domain_map.coordinates
    return BatchSampler(rows, context.training, context.rng, coordinates, chance=context.chance)

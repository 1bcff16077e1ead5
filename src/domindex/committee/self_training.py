"""Self-training along the map: unlabelled domains are pseudo-labelled, the nearest first."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from domindex.committee.candidate import Candidate
from domindex.committee.learner import Predictor
from domindex.committee.learning import fit_candidate, predict_with
from domindex.committee.represented_folds import RepresentedFolds
from domindex.geometry.point_distances import PointDistances
from domindex.representations import RepresentedRows

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]

STAGES = 4
"""Groups of domains that are admitted in turn; for time, not tuned."""

STAGE_ROWS = 1500
"""Pseudo-labelled rows that a stage adds, at most; for time, not tuned."""


def arrival_groups(
    distances: PointDistances, is_known: NDArray[np.bool_], others: Numbers
) -> list[Numbers]:
    """The other domains in at most `STAGES` groups, those next to what is known first.

    `distances` are those of the map; a domain that has arrived is known to those
    after it.
    """
    if not len(others):
        return []
    nearest = distances.to_nearest(others, np.flatnonzero(is_known))
    has_arrived = np.zeros(len(others), dtype=bool)
    order = np.empty(len(others), dtype=np.int64)
    for place in range(len(others)):
        first = int(np.argmin(nearest))
        order[place], has_arrived[first] = others[first], True
        nearest = np.minimum(nearest, distances.row(order[place])[others])
        nearest[has_arrived] = np.inf
    groups = np.array_split(order, min(STAGES, len(order)))
    return [group for group in groups if len(group)]


def self_trained(
    candidate: Candidate,
    train: RepresentedRows,
    known: Numbers,
    represented: RepresentedFolds,
    held_out: Numbers,
    seed: int,
    weights: Floats | None,
) -> Predictor:
    """The candidate's learner on known rows and on what it says itself of unlabelled domains.

    `train` are the known rows as represented, `known` their numbers. Unlabelled are the targets
    and, in a fold, the domains that are held out.
    """
    data, rng = represented.data, np.random.default_rng(seed)
    assert candidate.learner is not None
    assert data.classes is not None
    is_known = np.zeros(data.n_domains, dtype=bool)
    is_known[np.unique(data.row_domains[known])] = True
    others = np.union1d(np.flatnonzero(~data.is_source), held_out)
    distances = PointDistances.of(represented.geometry.domain_map.coordinates)
    features, labels, counts = train.features, data.labels[known], weights
    predictor = fit_candidate(candidate, train, known, data, seed, weights)
    for group in arrival_groups(distances, is_known, others):
        rows = rng.permutation(np.flatnonzero(np.isin(data.row_domains, group)))[:STAGE_ROWS]
        added = represented.rows.part(np.sort(rows))
        guessed = predict_with(predictor, added).argmax(axis=1)
        features = np.vstack([features, added.features])
        labels = np.concatenate([labels, guessed])
        extra = {}
        if counts is not None:
            counts = np.concatenate([counts, np.full(len(rows), counts.mean())])
            extra = {"weights": counts}
        predictor = candidate.learner.fit(features, labels, len(data.classes), seed, **extra)
    return predictor


def learn(
    candidate: Candidate,
    represented: RepresentedFolds,
    train: RepresentedRows,
    goal: RepresentedRows,
    known: Numbers,
    held_out: Numbers,
    seed: int,
) -> Predictor:
    """The candidate on known rows, for rows that look like `goal`.

    `train` are the known rows as represented, `known` their numbers, and `held_out` the domains
    that a fold puts in the targets' role.
    """
    data = represented.data
    weights = None if data.weights is None else data.weights[known]
    if candidate.balanced and len(goal.features):
        balanced = represented.balancing(train, goal, known, held_out)
        weights = balanced if weights is None else balanced * weights
    if candidate.self_trained:
        return self_trained(candidate, train, known, represented, held_out, seed, weights)
    return fit_candidate(candidate, train, known, data, seed, weights)

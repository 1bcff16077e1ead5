"""The rows of all folds one after the other: how predictions of them are scored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import softmax

from domindex.committee.folds import Fold
from domindex.data import DomainData

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]

LEAST_PROBABILITY = 1e-12
"""A logarithm stays finite; after smoothing nothing is that small."""

TEMPERATURES = (np.exp(-1.0), np.exp(2.5))
"""Between which a temperature is looked for."""


@dataclass(frozen=True, eq=False)
class HeldOutRows:
    """Rows that are predicted by what never saw their domains, in the order of the folds.

    A domain that is held out in a near and in a far fold has its rows here twice.

    Attributes
    ----------
    folds : the folds
    labels : (n,) classes or (n, outputs) values
    domains : (n,) numbers of domains
    parts : (n,) numbers of pairs of a domain and a kind of fold
    is_far : (parts,) whether the fold is a far one
    part_domains : (parts,) the domain of each
    part_distances : (parts,) how far the domain lay from what was learned from
    part_weights : (parts,) summing to 1: near and far count alike, and domains within them
    unit : (outputs,) spread of the sources' values; None for classes
    n_classes : None for values
    smoothing : share of a probability that is spread over all classes
    """

    folds: tuple[Fold, ...]
    labels: NDArray
    domains: Numbers
    parts: Numbers
    is_far: NDArray[np.bool_]
    part_domains: Numbers
    part_distances: Floats
    part_weights: Floats
    unit: Floats | None
    n_classes: int | None
    smoothing: float

    @classmethod
    def of(cls, folds: Sequence[Fold], data: DomainData, smoothing: float) -> HeldOutRows:
        rows = np.concatenate([fold.held_out for fold in folds])
        kinds = np.concatenate([[fold.kind == "far"] * len(fold.held_out) for fold in folds])
        domains = data.row_domains[rows]
        pairs, parts = np.unique(np.stack([kinds, domains]), axis=1, return_inverse=True)
        distances = {
            (fold.kind == "far", domain): distance
            for fold in folds
            for domain, distance in zip(fold.domains, fold.distance)
        }
        unit = None
        if data.classes is None:
            spread = data.labels[data.row_counts].std(axis=0)
            unit = np.where(spread > 0, spread, 1.0)
        counts = np.bincount(pairs[0], minlength=2)
        weights = 1.0 / counts[pairs[0]] / (counts > 0).sum()
        return cls(
            tuple(folds),
            data.labels[rows],
            domains,
            parts.reshape(-1),
            pairs[0].astype(bool),
            pairs[1],
            np.array([distances[bool(far), domain] for far, domain in pairs.T]),
            weights,
            unit,
            None if data.classes is None else len(data.classes),
            smoothing,
        )

    @cached_property
    def row_weights(self) -> Floats:
        """(n,) summing to 1: parts as they are weighted, rows within them alike."""
        return (self.part_weights / np.bincount(self.parts))[self.parts]

    @property
    def by_rows(self) -> bool:
        """Whether there is a single source, and rows of it are held out, not domains."""
        return self.folds[0].kind == "rows"

    def losses(self, predicted: Floats) -> Floats:
        """(..., n) of predictions (..., n, columns): logarithmic, or squared in units of spread."""
        if self.unit is None:
            taken = np.take_along_axis(
                predicted, np.broadcast_to(self.labels[:, None], (*predicted.shape[:-1], 1)), -1
            )[..., 0]
            return -np.log(np.maximum(taken, LEAST_PROBABILITY))
        return (((predicted - self.labels) / self.unit) ** 2).mean(axis=-1)

    def by_part(self, of_rows: Floats) -> Floats:
        """(parts,) means of something that every row has, (n,)."""
        return np.bincount(self.parts, of_rows) / np.bincount(self.parts)

    def by_domain(self, of_parts: Floats) -> Floats:
        """(held-out domains,) means over near and far."""
        _, place = np.unique(self.part_domains, return_inverse=True)
        return np.bincount(place, of_parts) / np.bincount(place)

    def smoothed(self, probabilities: Floats) -> Floats:
        return smooth(probabilities, self.smoothing)

    def temperature(self, probabilities: Floats) -> float:
        """By which the logarithms of smoothed probabilities are divided at the least mean loss."""
        logs = np.log(self.smoothed(probabilities))

        def loss(log_temperature: float) -> float:
            tempered = softmax(logs / np.exp(log_temperature), axis=1)
            return float(self.row_weights @ self.losses(tempered))

        bounds = tuple(np.log(TEMPERATURES))
        found = minimize_scalar(loss, bounds=bounds, method="bounded", options={"xatol": 0.02})
        return float(np.exp(found.x))


def smooth(probabilities: Floats, smoothing: float) -> Floats:
    """Probabilities (n, classes) of which a share is spread over all classes."""
    return (1 - smoothing) * probabilities + smoothing / probabilities.shape[1]


def temper(probabilities: Floats, temperature: float, smoothing: float) -> Floats:
    """Smoothed probabilities (n, classes), made softer above a temperature of 1."""
    return softmax(np.log(smooth(probabilities, smoothing)) / temperature, axis=1)

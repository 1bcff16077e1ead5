"""Nearest neighbours as a predictor, for pictures and signals: what one would try first there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors

from domindex.arrays import Floats
from domindex.committee.learners.base import (
    Learner,
    Predictor,
    Round,
    weighted_rows,
)

if TYPE_CHECKING:
    from typing_extensions import Self


@dataclass(frozen=True, eq=False)
class NeighboursPredictor(Predictor):
    """Rows that are remembered."""

    kind: ClassVar[str] = "neighbours"
    name: ClassVar[str] = "neighbours"  # type: ignore[misc]
    rows: Floats  # (n, p)
    answers: Floats  # (n, classes) ones and zeros, or (n, outputs) values
    weights: Floats  # (n,) how much a row's answer counts
    prior: Floats | None  # (classes,) counts as one neighbour: five who agree are not certain

    def predict(self, features: Floats) -> Floats:
        if not len(features):
            return np.empty((0, self.answers.shape[1]))
        n_neighbours = min(5, len(self.rows))  # scikit-learn's default
        search = NearestNeighbors(n_neighbors=n_neighbours, algorithm="brute").fit(self.rows)
        nearest = search.kneighbors(features, return_distance=False)
        weights = self.weights[nearest][:, :, None]
        share = (weights * self.answers[nearest]).sum(axis=1) / weights.sum(axis=1)
        if self.prior is None:
            return share
        return (n_neighbours * share + self.prior) / (n_neighbours + 1)

    def state(self) -> dict[str, Any]:
        return {
            "rows": self.rows,
            "answers": self.answers,
            "weights": self.weights,
            "prior": self.prior,
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        rows, answers, weights = (
            np.asarray(state[name], dtype=np.float64) for name in ("rows", "answers", "weights")
        )
        prior = None if state["prior"] is None else np.asarray(state["prior"], dtype=np.float64)
        fits = rows.ndim == answers.ndim == 2 and weights.shape == (len(rows),)
        if not fits or len(rows) != len(answers) or not len(rows):
            raise ValueError("the rows do not fit their answers and weights")
        if prior is not None and prior.shape != (answers.shape[1],):
            raise ValueError("the prior does not fit the classes")
        if not (weights > 0).all():
            raise ValueError("a row counts for nothing")
        return cls(rows, answers, weights, prior)


@dataclass(frozen=True)
class NeighboursLearner(Learner):
    """The mean answer of the five rows that are nearest, cell by cell."""

    rounds: ClassVar[dict[str, Round]] = {"full": Round(4)}
    grids: ClassVar[str] = "only"

    name: str = "neighbours"

    def fit(
        self,
        features: Floats,
        labels: NDArray,
        n_classes: int | None,
        seed: int,
        weights: Floats | None = None,
    ) -> NeighboursPredictor:
        features, labels, weights = weighted_rows(features, labels, weights)
        if weights is None:
            weights = np.ones(len(features))
        rows = np.array(features, dtype=np.float64)
        if n_classes is None:
            return NeighboursPredictor(rows, np.array(labels, dtype=np.float64), weights, None)
        answers = np.eye(n_classes)[labels]
        prior = weights @ answers / weights.sum()
        return NeighboursPredictor(rows, answers, weights, prior)

"""The few directions along which domains differ, among many features that may be noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh, null_space
from scipy.optimize import minimize

Floats = NDArray[np.float64]

MAX_DIRECTIONS = 4
"""Directions beyond which a family of domains is not taken to be low-dimensional."""

MAX_FEATURES = 32
"""Features that are kept; more are reduced to their principal components first."""

MANY_FEATURES = 2048
MOST_ROWS_OF_MANY = 1024
"""Beyond how many features principal components rest on rows instead of a covariance, and on how
many of them at most: for memory and time. Not tuned."""

FALLBACK_DIRECTIONS = 2


@dataclass(frozen=True, eq=False)
class Subspace:
    """Features to coordinates: first those along which domains differ, then the others.

    Attributes
    ----------
    matrix : (features, outputs)
    n_moving : how many of the outputs the flow may move, the first ones
    """

    matrix: Floats
    n_moving: int

    def state(self) -> dict[str, Any]:
        return {"matrix": self.matrix, "n_moving": int(self.n_moving)}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Subspace:
        matrix, n_moving = state["matrix"], state["n_moving"]
        if matrix.ndim != 2 or not 0 <= n_moving <= matrix.shape[1]:
            raise ValueError(f"{n_moving} of {matrix.shape} directions move")
        return cls(matrix, int(n_moving))

    @property
    def moving(self) -> Floats:
        """(features, n_moving)"""
        return self.matrix[:, : self.n_moving]

    @property
    def still(self) -> Floats:
        """(features, outputs - n_moving)"""
        return self.matrix[:, self.n_moving :]


def moving_directions(clouds: Sequence[Floats]) -> Subspace:
    """Split the features into what differs between domains and what does not.

    The directions W maximise the likelihood that everything else is the same in all domains,
    ½ (log|Wᵀ S W| − Σₖ wₖ log|Wᵀ Sₖ W|), with S the total and Sₖ the domains' covariances; their
    number has the shortest description. The others are uncorrelated with them within domains.
    One or two features are left as they are.
    """
    n_features = clouds[0].shape[1]
    if n_features <= FALLBACK_DIRECTIONS:
        return Subspace(np.eye(n_features), n_features)
    reduce = principal_components(np.concatenate(clouds), MAX_FEATURES)
    reduced = [cloud @ reduce for cloud in clouds]
    spread = _Spread.of(reduced)
    directions = spread.search(min(MAX_DIRECTIONS, reduce.shape[1] - 1))
    if directions is None:
        directions = principal_components(np.concatenate(reduced), FALLBACK_DIRECTIONS)
    return Subspace(reduce @ _complete(directions, spread.within), directions.shape[1])


@dataclass(frozen=True, eq=False)
class _Spread:
    """Covariances (domains, p, p), shrunk to their mean where rows are few, and their weights."""

    covariances: Floats
    within: Floats
    total: Floats
    weights: Floats
    n_rows: float

    @classmethod
    def of(cls, clouds: Sequence[Floats]) -> _Spread:
        sizes = np.array([len(cloud) for cloud in clouds], dtype=np.float64)
        weights = sizes / sizes.sum()
        means = np.stack([cloud.mean(axis=0) for cloud in clouds])
        own = np.stack([(c - m).T @ (c - m) / len(c) for c, m in zip(clouds, means)])
        within = np.einsum("n,nij->ij", weights, own)
        within += 1e-6 * (np.trace(within) / len(within) or 1.0) * np.eye(len(within))
        lean = (len(within) / (sizes + len(within)))[:, None, None]
        residual = means - weights @ means
        between = (residual * weights[:, None]).T @ residual
        return cls((1 - lean) * own + lean * within, within, within + between, weights, sizes.sum())

    def search(self, most: int) -> Floats | None:
        """The directions (p, d) of the shortest description; None where d would exceed `most`."""
        start = self._starting_directions()
        lengths = [0.0]
        found: list[Floats] = [np.zeros((len(self.within), 0))]
        for n_directions in range(1, most + 1):
            result = minimize(
                self._negative_gain,
                start[:, :n_directions].ravel(),
                jac=True,
                method="L-BFGS-B",
                options={"maxiter": 200},
            )
            found.append(result.x.reshape(-1, n_directions))
            lengths.append(self.n_rows * result.fun + self._parameter_cost(n_directions))
        best = int(np.argmin(lengths))
        return None if best == 0 or best == most else found[best]

    def _starting_directions(self) -> Floats:
        """Along which means and covariances vary most, relative to the spread within domains."""
        change = self.covariances - np.einsum("n,nij->ij", self.weights, self.covariances)
        inverse = np.linalg.inv(self.within)
        varying = np.einsum("n,nij,jk,nkl->il", self.weights, change, inverse, change)
        return eigh(self.total - self.within + varying, self.within)[1][:, ::-1]

    def _negative_gain(self, flat: Floats) -> tuple[float, Floats]:
        directions = flat.reshape(len(self.within), -1)
        total, own = self.total @ directions, self.covariances @ directions
        total_inside, own_inside = directions.T @ total, directions.T @ own
        gain = np.linalg.slogdet(total_inside)[1]
        gain -= self.weights @ np.linalg.slogdet(own_inside)[1]
        gradient = total @ np.linalg.inv(total_inside) - np.einsum(
            "n,nij,njk->ik", self.weights, own, np.linalg.inv(own_inside)
        )
        return -0.5 * float(gain), -gradient.ravel()

    def _parameter_cost(self, n_directions: int) -> float:
        """½ log n for each number that describes the directions, and each domain along them."""
        n_features, n_domains = len(self.within), len(self.weights)
        shared = n_directions * (n_features - n_directions)
        per_domain = n_directions + n_directions * (n_directions + 1) / 2
        return 0.5 * float(
            np.log(self.n_rows) * shared
            + np.log(self.n_rows / n_domains) * (n_domains - 1) * per_domain
        )


def principal_components(rows: Floats, most: int) -> Floats:
    """(features, ≤ most): all features as they are, or the widest directions of more.

    Of very many features, as large pictures have, the covariance would not fit into memory: there
    they come from the products of some of the rows, spread evenly over all.
    """
    if rows.shape[1] <= most:
        return np.eye(rows.shape[1])
    if rows.shape[1] > MANY_FEATURES:
        return _components_of_rows(rows, most)
    covariance = np.cov(rows.T, bias=True)
    return eigh(covariance)[1][:, ::-1][:, :most]


def _components_of_rows(rows: Floats, most: int) -> Floats:
    """Eigenvectors v = Xᵀu / √λ of XᵀX by those u of XXᵀ, X centred rows."""
    chosen = np.linspace(0, len(rows) - 1, min(len(rows), MOST_ROWS_OF_MANY)).round().astype(int)
    centred = rows[chosen] - rows[chosen].mean(axis=0)
    values, vectors = eigh(centred @ centred.T)
    values, vectors = values[::-1][:most], vectors[:, ::-1][:, :most]
    varying = values > len(rows) * np.finfo(np.float64).eps * max(values[0], 0.0)
    if not varying.any():
        return np.eye(rows.shape[1], most)
    return centred.T @ (vectors[:, varying] / np.sqrt(values[varying]))


def _complete(directions: Floats, within: Floats) -> Floats:
    """`directions` and a complement, all of unit variance and uncorrelated within domains."""
    values, vectors = eigh(within)
    root = (vectors * np.sqrt(values)) @ vectors.T
    inverse_root = (vectors / np.sqrt(values)) @ vectors.T
    own = np.linalg.qr(root @ directions)[0]
    return inverse_root @ np.hstack([own, null_space(own.T)])

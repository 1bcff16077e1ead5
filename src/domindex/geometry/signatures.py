"""What a domain looks like from all sides: quantiles of its rows along many fixed directions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from domindex.geometry.subspace import principal_components
from domindex.geometry.transport import column_quantiles

Floats = NDArray[np.float64]

N_QUANTILES = 16
N_DIRECTIONS = 48
MOST_COMPONENTS = 32
"""Quantiles along each direction, directions at random, and principal components that inputs are
reduced to first: for memory, some kilobytes a domain; not tuned."""

TOTAL_SHARE = 0.01
"""Share of the covariance of all rows in the scale of a direction: where domains do not vary at all
within, differences between them count ten times less than they would; for safety, not tuned."""


@dataclass(frozen=True, eq=False)
class Views:
    """How rows are looked at: along directions, and how far they lie outside what these span.

    Attributes
    ----------
    offset : (features,) the mean of all rows
    directions : (features, views)
    basis : (features, components) orthonormal, the principal components; (features, 0) where all
        features are kept and nothing lies outside
    unit : typical length of what lies outside
    """

    offset: Floats
    directions: Floats
    basis: Floats
    unit: float

    @classmethod
    def fit(cls, clouds: Sequence[Floats], local: Floats) -> Views:
        """From the domains' scaled rows; `local` (features, local_dim) is where u starts."""
        rows = np.concatenate(clouds)
        offset, n_features = rows.mean(axis=0), rows.shape[1]
        basis = principal_components(rows, MOST_COMPONENTS)
        size = basis.shape[1]
        residual = np.concatenate([(cloud - cloud.mean(axis=0)) @ basis for cloud in clouds])
        total = np.cov(((rows - offset) @ basis).T, bias=True).reshape(size, size)
        within = residual.T @ residual / len(residual) + TOTAL_SHARE * total
        within += 1e-3 * (np.trace(total) / size or 1.0) * np.eye(size)
        values, vectors = eigh(within)
        axes = basis @ (vectors / np.sqrt(values))
        mixed = np.random.default_rng(0).normal(size=(size, N_DIRECTIONS if size > 1 else 0))
        along = local @ np.diag(1.0 / _lengths(local.T @ basis @ within @ basis.T @ local))
        directions = np.hstack([axes, axes @ (mixed / np.linalg.norm(mixed, axis=0)), along])
        if size == n_features:
            return cls(offset, directions, np.zeros((n_features, 0)), 1.0)
        outside, length = _outside(rows - offset, basis), np.sqrt(np.trace(total))
        unit = np.hypot(np.sqrt((outside**2).mean()), TOTAL_SHARE * length)
        return cls(offset, directions, basis, float(unit) or 1.0)

    def signature(self, cloud: Floats) -> Floats:
        """(views, quantiles) of the scaled rows of a domain."""
        centred = cloud - self.offset
        seen = centred @ self.directions
        if self.basis.shape[1]:
            seen = np.column_stack([seen, _outside(centred, self.basis) / self.unit])
        levels = (np.arange(N_QUANTILES) + 0.5) / N_QUANTILES
        return column_quantiles(seen, levels).T

    @property
    def n_views(self) -> int:
        return self.directions.shape[1] + bool(self.basis.shape[1])

    def state(self) -> dict[str, Any]:
        return {
            "offset": self.offset,
            "directions": self.directions,
            "basis": self.basis,
            "unit": float(self.unit),
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Views:
        n_features = len(state["offset"])
        shapes = [state[name].shape[:-1] for name in ("directions", "basis")]
        if shapes != [(n_features,), (n_features,)] or not 0.0 < state["unit"] < np.inf:
            raise ValueError("the views of the rows do not fit each other")
        return cls(state["offset"], state["directions"], state["basis"], float(state["unit"]))


def _lengths(products: Floats) -> Floats:
    """(k,) square roots of the diagonal of inner products, 1 where there is no length."""
    lengths = np.sqrt(np.diag(products))
    return np.where(lengths > 0.0, lengths, 1.0)


def _outside(centred: Floats, basis: Floats) -> Floats:
    """(rows,) lengths of what the basis does not span."""
    return np.linalg.norm(centred - centred @ basis @ basis.T, axis=1)

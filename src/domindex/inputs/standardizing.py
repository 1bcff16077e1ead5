"""Inputs on one scale, without erasing differences between domains; outputs on another."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from domindex.arrays import Floats
from domindex.inputs.domain_data import DomainData, InputLayout
from domindex.persistence.saved import Saved

SAME_UNITS = 3.0
"""Features whose deviations differ by no more than this factor are taken to share their units."""


@dataclass(frozen=True, eq=False)
class Scale(Saved):
    """An offset and a scale of every feature or output, (features,) each."""

    offset: Floats
    scale: Floats

    def _check_state(self) -> None:
        offset, scale = self.offset, self.scale
        usable = np.isfinite(offset).all() and ((scale > 0.0) & np.isfinite(scale)).all()
        if offset.ndim != 1 or offset.shape != scale.shape or not usable:
            raise ValueError("an offset does not fit its scale")


class InputScaler(Scale):
    """x ↦ (x − offset) / scale, of all features together to unit variance.

    Features in the same units keep their proportions, so that a rotation stays a rotation; others
    are each measured by their deviation *within* domains: total deviations would shrink just the
    features along which the domains differ most.
    """

    @classmethod
    def fit(cls, data: DomainData, total_share: float = 0.1) -> InputScaler:
        """`total_share` of a feature's total deviation always counts, lest one within domains that
        is next to nothing blows the feature up."""
        inputs = data.inputs.reshape(data.n_rows, -1).astype(np.float64)
        offset = inputs.mean(axis=0)
        centred = inputs - offset
        means = np.zeros((data.n_domains, inputs.shape[1]))
        np.add.at(means, data.row_domains, centred)
        means /= data.domain_sizes[:, None]
        total = np.sqrt((centred**2).mean(axis=0))
        within = np.sqrt(((centred - means[data.row_domains]) ** 2).mean(axis=0))
        scale = np.hypot(within, total_share * total)
        varying = scale[scale > 0.0]
        if len(varying) and varying.max() <= SAME_UNITS * varying.min():
            scale[:] = 1.0
        scale[scale == 0.0] = 1.0
        overall = np.sqrt(((centred / scale) ** 2).mean())
        return cls(offset, scale * (overall or 1.0))

    @classmethod
    def plain(cls, n_features: int) -> InputScaler:
        """One that leaves inputs as they are."""
        return cls(np.zeros(n_features), np.ones(n_features))

    @classmethod
    def of_channels(cls, rows: NDArray, layout: InputLayout) -> InputScaler:
        """For predictors: cells of pictures and signals share the scale of their channel."""
        channels = layout.to_grid(np.asarray(rows, dtype=np.float64))
        axes = (0, *range(2, channels.ndim))
        mean, spread = (of(channels, axis=axes, keepdims=True) for of in (np.mean, np.std))
        found, shape = (mean, np.where(spread > 0, spread, 1.0)), (1, *channels.shape[1:])
        cells = (layout.from_grid(np.broadcast_to(one, shape))[0] for one in found)
        return cls(*map(np.array, cells))

    @property
    def origin(self) -> Floats:
        """Where the user's zero lies on the new scale, (features,)."""
        return -self.offset / self.scale

    def apply(self, inputs: NDArray) -> Floats:
        """Scaled inputs of the shape they came in: pictures stay pictures."""
        return self.apply_flat(inputs).reshape(inputs.shape)

    def apply_flat(self, inputs: NDArray) -> Floats:
        """Scaled inputs as a table, (rows, features)."""
        return (inputs.reshape(len(inputs), -1) - self.offset) / self.scale


class OutputScaler(Scale):
    """Values (rows, outputs) to zero mean and unit deviation over the rows it was fitted on."""

    @classmethod
    def fit(cls, values: Floats, weights: Floats | None = None) -> OutputScaler:
        """Labelled rows, weighted (rows,) or all alike; a constant output keeps its unit."""
        offset = np.average(values, axis=0, weights=weights)
        scale = np.sqrt(np.average((values - offset) ** 2, axis=0, weights=weights))
        rounding = 1e-9 * np.abs(values).max(axis=0)
        return cls(offset, np.where(scale > rounding, scale, 1.0))

    def apply(self, values: Floats) -> Floats:
        return (values - self.offset) / self.scale

    def restore(self, values: Floats) -> Floats:
        return values * self.scale + self.offset

"""How far outputs reach: where a prediction can be seen to be wrong without its label."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from domindex.committee.folds import Fold
from domindex.data import DomainData
from domindex.representations.row_normalised import outputs_share_units

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Reach:
    """The least and the largest value (outputs,) that an output is believed to take.

    Known values, and beyond them as far as those of a held-out source lay beyond the ones it was
    predicted from. Where outputs drift along the map and targets lie further away than any source
    that was held out, the drift is believed to go on. What was never negative stays so, and what
    was never positive too. Where outputs share the units of the inputs, they may go as far as these
    do.
    """

    least: Floats
    largest: Floats

    @classmethod
    def of(cls, data: DomainData, folds: tuple[Fold, ...], farthest: float = 0.0) -> Reach:
        """`farthest` is the distance of the farthest target from its nearest source, on the map."""
        known = data.labels[data.row_counts]
        below = above = np.zeros(known.shape[1])
        for fold in folds:
            train, held_out = data.labels[fold.train], data.labels[fold.held_out]
            below = np.maximum(below, train.min(axis=0) - held_out.min(axis=0))
            above = np.maximum(above, held_out.max(axis=0) - train.max(axis=0))
        falling, rising = _drift(data, folds, farthest)
        least = known.min(axis=0) - below - falling
        largest = known.max(axis=0) + above + rising
        least = np.where(known.min(axis=0) >= 0, np.maximum(least, 0.0), least)
        largest = np.where(known.max(axis=0) <= 0, np.minimum(largest, 0.0), largest)
        if outputs_share_units(data):
            least = np.minimum(least, float(data.inputs.min()))
            largest = np.maximum(largest, float(data.inputs.max()))
        return cls(least, largest)

    def clip(self, values: Floats) -> Floats:
        return np.clip(values, self.least, self.largest)

    def beyond(self, values: Floats, unit: Floats) -> Floats:
        """(n,) how far values (n, outputs) lie outside, in units of spread, mean over outputs."""
        outside = np.maximum(self.least - values, 0) + np.maximum(values - self.largest, 0)
        return (outside / unit).mean(axis=1)

    def state(self) -> dict[str, Any]:
        return {"least": self.least, "largest": self.largest}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Reach:
        least, largest = state["least"], state["largest"]
        if least.ndim != 1 or least.shape != largest.shape or not (least <= largest).all():
            raise ValueError("the reach of the outputs is no range")
        return cls(least, largest)


def _drift(data: DomainData, folds: tuple[Fold, ...], farthest: float) -> tuple[Floats, Floats]:
    """(outputs,) how far the outputs' mean may fall, and rise, on the way to the farthest target
    from where sources were held out: the steepest slope of any fold, far ones if there are any.
    """
    witnesses = [fold for fold in folds if fold.kind == "far"] or list(folds)
    witnesses = [fold for fold in witnesses if fold.distance.min() > 0]
    nothing = np.zeros(data.labels.shape[1])
    if not witnesses:
        return nothing, nothing
    slopes = np.stack(
        [
            (data.labels[fold.held_out].mean(axis=0) - data.labels[fold.train].mean(axis=0))
            / fold.distance.mean()
            for fold in witnesses
        ]
    )
    way = max(0.0, farthest - max(float(fold.distance.max()) for fold in folds))
    return way * np.maximum(-slopes.min(axis=0), 0.0), way * np.maximum(slopes.max(axis=0), 0.0)

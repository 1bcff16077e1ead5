"""How far outputs reach: where a prediction can be seen to be wrong without its label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from domindex.committee.folds import Fold
from domindex.committee.held_out_rows import HeldOutRows
from domindex.committee.weighing import small_sample
from domindex.data import DomainData
from domindex.representations.row_normalised import outputs_share_units

Floats = NDArray[np.float64]

FURTHER = 3.0
"""Times the farthest excursion that was right in the folds, a candidate is believed beyond what is
known: targets lie further away than held-out sources. As far as a forecast follows its signals; not
tuned."""


@dataclass(frozen=True, eq=False)
class Reach:
    """The least and the largest value (outputs,) that an output is believed to take, or, where
    members of a committee are believed differently far, (members, outputs).

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

    @classmethod
    def joined(cls, reaches: Sequence[Reach]) -> Reach:
        """One reach a member, for predictions (members, n, outputs)."""
        return cls(*(np.stack([getattr(r, end) for r in reaches]) for end in ("least", "largest")))

    def clip(self, values: Floats) -> Floats:
        """Values (n, outputs), or (members, n, outputs), drawn to the edge."""
        return np.clip(values, self.least[..., None, :], self.largest[..., None, :])

    def widened(self, predicted: Floats, rows: HeldOutRows, known: KnownOutputs) -> Reach:
        """For a candidate that predicted held-out rows (n, outputs): further, if it has earned it.

        It has where its excursions beyond the values that a fold was learned from were right: cut
        off there, its predictions would have been clearly worse, by as many standard errors over
        held-out domains as others must be ahead of plain ones. A rule that goes on as it should is
        not drawn back to what happened to be labelled.
        """
        losses = [rows.losses(one) for one in (known.clip(predicted), predicted)]
        gains = rows.by_domain(rows.by_part(losses[0] - losses[1]))
        if rows.by_rows or len(gains) < 2:
            return self
        clearly = small_sample(len(gains)) * gains.std(ddof=1) / np.sqrt(len(gains))
        if not gains.mean() > clearly:
            return self
        below = np.maximum(known.least - predicted, 0.0).max(axis=0)
        above = np.maximum(predicted - known.largest, 0.0).max(axis=0)
        least, largest = self.least - FURTHER * below, self.largest + FURTHER * above
        return Reach(
            np.where(self.least >= 0, np.maximum(least, 0.0), least),
            np.where(self.largest <= 0, np.minimum(largest, 0.0), largest),
        )

    def beyond(self, values: Floats, unit: Floats) -> Floats:
        """(n,) how far values (n, outputs) lie outside, in units of spread, mean over outputs."""
        outside = np.maximum(self.least - values, 0) + np.maximum(values - self.largest, 0)
        return (outside / unit).mean(axis=1)

    def state(self) -> dict[str, Any]:
        return {"least": self.least, "largest": self.largest}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Reach:
        least, largest = state["least"], state["largest"]
        if least.ndim not in (1, 2) or least.shape != largest.shape or not (least <= largest).all():
            raise ValueError("the reach of the outputs is no range")
        return cls(least, largest)


@dataclass(frozen=True, eq=False)
class KnownOutputs:
    """For every held-out row, the range of the values (n, outputs) that its fold learned from."""

    least: Floats
    largest: Floats

    @classmethod
    def of(cls, data: DomainData, folds: Sequence[Fold]) -> KnownOutputs:
        def ends(function: str) -> Floats:
            found = [getattr(data.labels[fold.train], function)(axis=0) for fold in folds]
            return np.repeat(found, [len(fold.held_out) for fold in folds], axis=0)

        return cls(ends("min"), ends("max"))

    def clip(self, values: Floats) -> Floats:
        return np.clip(values, self.least, self.largest)


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

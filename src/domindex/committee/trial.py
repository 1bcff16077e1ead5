"""What a candidate predicted of source domains that it never saw, and what that cost."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from domindex.committee.candidate import Candidate
from domindex.committee.held_out_rows import HeldOutRows, temper

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Trial:
    """What a candidate predicted in the folds, and what that cost.

    Attributes
    ----------
    candidate : the candidate
    predicted : (n, columns) for the held-out rows, calibrated, in the user's units
    temperature : by which its probabilities are softened; 1 for values
    losses : (parts,) mean loss of every held-out domain, near and far
    """

    candidate: Candidate
    predicted: Floats
    temperature: float
    losses: Floats

    @classmethod
    def of(cls, candidate: Candidate, predicted: Floats, rows: HeldOutRows) -> Trial:
        """Scored after calibration: probabilities that are too sure are a fault of scale."""
        temperature = 1.0
        if rows.n_classes is not None:
            temperature = rows.temperature(predicted)
            predicted = temper(predicted, temperature, rows.smoothing)
        return cls(candidate, predicted, temperature, rows.by_part(rows.losses(predicted)))

    def near(self, rows: HeldOutRows) -> float:
        return float(self.losses[~rows.is_far].mean())

    def far(self, rows: HeldOutRows) -> float:
        """NaN where there are no far folds."""
        return float(self.losses[rows.is_far].mean()) if rows.is_far.any() else np.nan

    def loss(self, rows: HeldOutRows) -> float:
        return float(rows.part_weights @ self.losses)

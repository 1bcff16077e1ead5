"""The variational network of a fit, for all candidates that need it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from domindex.committee.candidate import Candidate
from domindex.committee.encoded_folds import EncodedFolds
from domindex.committee.fit_context import FitContext
from domindex.committee.fitting_members import (
    fit_encoded,
    fit_network,
    fit_network_folds,
    predict_network_folds,
)
from domindex.committee.held_out_rows import HeldOutRows
from domindex.committee.members import Member, NetworkMember
from domindex.committee.network_start import NetworkStart, network_start
from domindex.committee.represented_folds import RepresentedFolds
from domindex.model.fitted_indices import FittedIndices

Floats = NDArray[np.float64]


@dataclass(eq=False)
class NetworkInPlay:
    """Trained once for its folds and, where a member needs it, once on all sources: by itself it
    predicts, and other predictors stand on what it encodes.

    Attributes
    ----------
    start : where its training starts
    represented : what it is given
    fitted : the network of all sources, once it was asked for
    """

    start: NetworkStart
    represented: RepresentedFolds
    indices: FittedIndices
    context: FitContext
    fitted: NetworkMember | None = None

    @classmethod
    def begin(
        cls, represented: RepresentedFolds, indices: FittedIndices, context: FitContext
    ) -> NetworkInPlay:
        start = network_start(represented, indices.module.local_dim, context)
        return cls(start, represented, indices, context)

    def hold_out(self, rows: HeldOutRows) -> tuple[Floats, EncodedFolds]:
        """What the networks of the folds predict of held-out rows, (n, columns), and encode."""
        networks = fit_network_folds(self.start, rows, self.indices, self.context)
        predicted = predict_network_folds(networks, self.represented, rows, self.indices)
        encoded = EncodedFolds.of_networks(networks, rows.folds, self.represented, self.indices)
        return predicted, encoded

    def member(self, candidate: Candidate, seed: int) -> Member:
        """The network itself, or the candidate's learner on what it encodes."""
        if self.fitted is None:
            self.fitted = fit_network(self.start, self.indices, self.context)
        if candidate.learner is None:
            return self.fitted
        return fit_encoded(candidate, self.fitted, self.represented, self.indices, seed)

"""Predictors fitted on all sources, each once, however often it is asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from domindex.committee.candidate import Candidate
from domindex.committee.fitting_members import fit_predictor
from domindex.committee.kept_pieces import KeptPieces, timed
from domindex.committee.members import PredictorMember
from domindex.committee.represented_folds import RepresentedFolds
from domindex.committee.side_by_side import Workers


@dataclass(frozen=True, eq=False)
class PredictorMembers:
    """The members of candidates that need no network.

    Attributes
    ----------
    represented : what each is fitted on, by name
    kept : what a fit that was cut off had fitted
    """

    represented: Mapping[str, RepresentedFolds]
    seed: int
    workers: Workers
    kept: KeptPieces
    fitted: dict[Candidate, PredictorMember] = field(default_factory=dict)

    def member(self, candidate: Candidate) -> PredictorMember:
        self._recall([candidate])
        if candidate not in self.fitted:
            given = (candidate, self.represented[candidate.representation], self.seed)
            self._remember(candidate, *timed(fit_predictor, *given))
        return self.fitted[candidate]

    def fit_in_threads(self, candidates: Sequence[Candidate]) -> None:
        """Those that may be and are not fitted yet, side by side."""
        own = [one for one in candidates if not one.needs_network]
        self._recall(own)
        left = [one for one in own if one.in_threads and one not in self.fitted]
        if not (left and self.workers.has_threads):
            return
        given = [
            (fit_predictor, one, self.represented[one.representation], self.seed) for one in left
        ]
        for (member, seconds), one in zip(self.workers.run(timed, given, in_threads=True), left):
            self._remember(one, member, seconds)

    def _recall(self, candidates: Sequence[Candidate]) -> None:
        """Take what was fitted before the fit was cut off."""
        for one in candidates:
            if one not in self.fitted:
                member = self.kept.member(one, self.represented[one.representation])
                if member is not None:
                    self.fitted[one] = member

    def _remember(self, candidate: Candidate, member: PredictorMember, seconds: float) -> None:
        self.fitted[candidate] = member
        self.kept.keep_member(candidate, member, seconds)

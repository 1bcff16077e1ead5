"""No adaptation at all: what any method has to beat."""

from __future__ import annotations

from domindex.estimators.baselines.base import DeepBaseline
from domindex.estimators.baselines.study import Study
from domindex.model.adaptation import Adaptation, PlainModule


class SourceOnly(DeepBaseline):
    """Train on the source domains and hope; inputs of targets are not looked at.

    The scale of the inputs alone is taken from all domains, as for every other method.
    """

    def _train(self, study: Study) -> PlainModule:
        return study.train("encoding", Adaptation(study.module()))

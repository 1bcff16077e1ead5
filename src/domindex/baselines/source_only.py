"""No adaptation at all: what any method has to beat."""

from __future__ import annotations

from domindex.baselines.base import DeepBaseline, Study
from domindex.baselines.networks import Adaptation, PlainModule


class SourceOnly(DeepBaseline):
    """Train on the source domains and hope; inputs of targets are not looked at.

    The scale of the inputs alone is taken from all domains, as for every other method.

    Examples
    --------
    >>> from domindex.baselines import SourceOnly
    >>> model = SourceOnly(training=Training(steps=5), random_state=0)
    >>> model.fit(data.X, data.y, **rows, source_domains=[0, 1, 2]).classes_
    array([0, 1])
    """

    def _train(self, study: Study) -> PlainModule:
        return study.train("encoding", Adaptation(study.module()))

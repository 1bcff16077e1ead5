"""Domain-adversarial training."""

from __future__ import annotations

from domindex.baselines.base import AdaptingBaseline, Study
from domindex.baselines.networks import Adaptation, PlainModule


class DANN(AdaptingBaseline):
    """Hide from z which domain a row comes from (Ganin et al., 2016).

    A classifier learns to recognise all N domains by z, and the encoder learns to mislead it:
    min over encoder and predictor of −E[log p(y|z)] − λ · L, with L the classifier's cross-entropy
    divided by log N. Two domains are the method as published; more are its usual extension.

    Examples
    --------
    >>> from domindex.baselines import DANN
    >>> model = DANN(training=Training(steps=5), random_state=0)
    >>> model.fit(data.X, data.y, **rows, source_domains=[0, 1, 2]).classes_
    array([0, 1])
    """

    def _train(self, study: Study) -> PlainModule:
        adversary = study.adversary("domain")
        return study.train("encoding", Adaptation(study.module(), adversary, self._weight))

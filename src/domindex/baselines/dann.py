"""Domain-adversarial training."""

from __future__ import annotations

from domindex.baselines.base import AdaptingBaseline
from domindex.baselines.networks import Adaptation, PlainModule
from domindex.baselines.study import Study


class DANN(AdaptingBaseline):
    """Hide from z which domain a row comes from (Ganin et al., 2016).

    A classifier learns to tell all N domains by z, and the encoder learns to mislead it:
    min over encoder and predictor of −E[log p(y|z)] − λ · L, with L the classifier's cross-entropy
    divided by log N. Two domains are the method as published; more are its usual extension.

    Examples
    --------
    >>> from domindex import Training
    >>> from domindex.datasets import make_circle
    >>> from domindex.baselines import DANN
    >>> data = make_circle(n_domains=4, n_sources=2, samples_per_domain=20)
    >>> model = DANN(training=Training(steps=5), random_state=0)
    >>> names = data.sample_domain
    >>> model = model.fit(data.X, data.y, sample_domain=names, source_domains=[0, 1])
    >>> model.predict(data.X, sample_domain=names).shape
    (80,)
    """

    def _train(self, study: Study) -> PlainModule:
        adversary = study.adversary("domain")
        return study.train("encoding", Adaptation(study.module(), adversary, self._weight))

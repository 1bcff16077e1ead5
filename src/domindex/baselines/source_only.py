"""No adaptation at all: what any method has to beat."""

from __future__ import annotations

from domindex.baselines.base import DeepBaseline
from domindex.baselines.networks import Adaptation, PlainModule
from domindex.baselines.study import Study


class SourceOnly(DeepBaseline):
    """Train on the source domains and hope; inputs of targets are not looked at.

    The scale of the inputs alone is taken from all domains, as for every other method.

    Examples
    --------
    >>> from domindex import Training
    >>> from domindex.datasets import make_circle
    >>> from domindex.baselines import SourceOnly
    >>> data = make_circle(n_domains=4, n_sources=2, samples_per_domain=20)
    >>> model = SourceOnly(training=Training(steps=5), random_state=0)
    >>> names = data.sample_domain
    >>> model = model.fit(data.X, data.y, sample_domain=names, source_domains=[0, 1])
    >>> model.predict(data.X, sample_domain=names).shape
    (80,)
    """

    def _train(self, study: Study) -> PlainModule:
        return study.train("encoding", Adaptation(study.module()))

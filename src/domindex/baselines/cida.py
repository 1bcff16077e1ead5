"""Continuously indexed adaptation, for domains whose index is known."""

from __future__ import annotations

from typing import Any

import numpy as np

from domindex.baselines.base import Study
from domindex.baselines.given import KnownDomains, check_domain_index
from domindex.baselines.networks import Adaptation, PlainModule
from domindex.inputs import DomainData
from domindex.vdi.settings import Training


class CIDA(KnownDomains):
    """Hide a given, continuous index of the domains from z (Wang, He and Katabi, 2020).

    The encoder sees x and the index β of its domain; the adversary regresses β on z, and the
    encoder maximises its squared error. So neighbouring domains are treated alike, which a
    classifier of domain names cannot know.

    `domain_index` maps each domain's name to its number or vector, or is a `DomainIndex`, such as
    `domain_index_` of a fitted model. The other parameters are those of `AdaptingBaseline`.

    Examples
    --------
    >>> from domindex.baselines import CIDA
    >>> known = dict(enumerate(data.true_index[:, 0]))
    >>> model = CIDA(known, training=Training(steps=5), random_state=0)
    >>> model.fit(data.X, data.y, **rows, source_domains=[0, 1, 2]).classes_
    array([0, 1])
    """

    def __init__(
        self,
        domain_index: Any = None,
        *,
        adaptation_weight: float | None = None,
        task: str = "auto",
        latent_dim: int = 16,
        width: int = 64,
        backbone: Any = None,
        training: Training | None = None,
        verbose: int = 0,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        super().__init__(
            adaptation_weight=adaptation_weight,
            task=task,
            latent_dim=latent_dim,
            width=width,
            backbone=backbone,
            training=training,
            verbose=verbose,
            random_state=random_state,
        )
        self.domain_index = domain_index

    def _check_data(self, data: DomainData) -> None:
        check_domain_index(self.domain_index, data.domains)

    def _train(self, study: Study) -> PlainModule:
        study.use_index(check_domain_index(self.domain_index, study.data.domains))
        objective = Adaptation(study.module(), study.adversary("index"), self._weight)
        return study.train("encoding", objective)

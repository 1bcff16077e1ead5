"""Continuously indexed adaptation, for domains whose index is known."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from domindex.arrays import Floats
from domindex.baselines.base import KnownDomains, Study
from domindex.baselines.networks import Adaptation, PlainModule
from domindex.errors import InputError
from domindex.geometry import DomainIndex
from domindex.inputs import DomainData
from domindex.inputs.messages import preview
from domindex.neural.settings import Training

FORMS = (
    "Pass a mapping from each domain's name to its number or vector, for example "
    "dict(zip(names, values)), or a fitted model's domain_index_."
)


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


def check_domain_index(domain_index: Any, domains: Sequence[Hashable]) -> Floats:
    """The index of each of `domains`, (domains, size), centred and on one overall scale."""
    points = _points(domain_index)
    missing = [name for name in domains if name not in points]
    if missing:
        raise InputError(
            f"domain_index has no entry for {preview(missing)}, of {len(domains)} domains in "
            f"sample_domain; it names {preview(points)}. Give every domain its index."
        )
    try:
        rows = [np.atleast_1d(np.asarray(points[name], dtype=np.float64)) for name in domains]
    except (TypeError, ValueError):
        raise InputError(f"domain_index holds values that are not numbers. {FORMS}") from None
    shapes = sorted({row.shape for row in rows})
    if len(shapes) > 1 or len(shapes[0]) != 1 or not shapes[0][0]:
        raise InputError(
            f"domain_index holds entries of shapes {preview(shapes)}. "
            "Give every domain one number, or a vector of the same length as the others."
        )
    index = np.stack(rows)
    lost = [name for name, row in zip(domains, index) if not np.isfinite(row).all()]
    if lost:
        raise InputError(
            f"domain_index is NaN or infinite for {preview(lost)}. Give finite numbers."
        )
    centred = index - index.mean(axis=0)
    spread = float(np.sqrt((centred**2).mean()))
    if spread == 0.0:
        raise InputError(
            "domain_index is the same for every domain, so it tells nothing apart. "
            "Give domains that differ different indices, or use DANN, which needs none."
        )
    return centred / spread


def _points(domain_index: Any) -> Mapping[Hashable, Any]:
    if isinstance(domain_index, DomainIndex):
        return dict(zip(domain_index.domains, domain_index.coordinates))
    if isinstance(domain_index, Mapping):
        return domain_index
    kind = type(domain_index).__name__
    hint = "Pass its domain_index_." if hasattr(domain_index, "domain_index_") else FORMS
    raise InputError(f"domain_index is a {kind}, which does not name the domains. {hint}")

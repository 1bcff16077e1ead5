"""Continuously indexed adaptation, for domains whose index is known."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from scipy.stats import rankdata
from torch import Tensor, nn

from domindex.arrays import Floats
from domindex.baselines.base import KnownDomains, Study
from domindex.baselines.networks import Adaptation, Encoding, PlainEncoder, PlainModule
from domindex.errors import InputError
from domindex.geometry import DomainIndex
from domindex.inputs import DomainData
from domindex.inputs.messages import preview
from domindex.neural.batches import Batch, DomainFacts
from domindex.neural.layers import bounded_scale
from domindex.neural.settings import Training
from domindex.neural.training import Terms
from domindex.vdi.adversary import reader

FORMS = (
    "Pass a mapping from each domain's name to its number or vector, for example "
    "dict(zip(names, values)), or a fitted model's domain_index_."
)


class IndexEncoder(PlainEncoder):
    """x and the index side by side through three layers, as published."""

    def __init__(self, n_features: int, n_given: int, latent_dim: int, width: int) -> None:
        super().__init__(n_features, 0, latent_dim, width)
        self.first = nn.Linear(n_features + n_given, width)
        self.second = nn.Linear(width, width)

    def forward(self, x: Tensor, given: Tensor) -> Tensor:
        index = given[:, None, :].expand(*x.shape[:2], -1)
        hidden = self.first(torch.cat([x, index], dim=-1)).relu()
        return self.norm(self.rest(self.second(hidden).relu()))


class GaussianReader(nn.Module):
    """Reads the index off z with an uncertainty of its own: a mean and a variance."""

    def __init__(self, latent_dim: int, index_dim: int, width: int) -> None:
        super().__init__()
        self.head = reader(latent_dim, 2 * index_dim, width)

    def forward(self, z: Tensor, facts: DomainFacts) -> Tensor:
        """E[(β̂ − β)²/σ² + log σ²]: 1 for guessing, as the index has unit scale."""
        mean, raw = self.head(z).chunk(2, dim=-1)
        deviation = bounded_scale(raw, -4.0, 2.0)
        errors = (mean - facts.beta[:, None, :]) / deviation
        return (errors.square() + 2.0 * deviation.log()).mean()


class StagedAdaptation(Adaptation):
    """Hides the index of domains near the sources first; all have arrived at 0.7 of the training.

    `index` is (domains, size). All at once, far domains are matched before those between are, and
    more often with their classes turned over.
    """

    def __init__(
        self,
        module: PlainModule,
        adversary: nn.Module,
        weight: float,
        index: Floats,
        is_source: NDArray[np.bool_],
        n_steps: int,
    ) -> None:
        super().__init__(module, adversary, weight)
        away = cdist(index, index[is_source]).min(axis=1)
        arrival = np.zeros(len(index))
        arrival[~is_source] = 0.7 * rankdata(away[~is_source]) / max(1, (~is_source).sum())
        self.register_buffer("arrival", torch.tensor(arrival))
        self.progress, self.step = 0.0, 1.0 / n_steps

    def adversary_inputs(self, batch: Batch, latents: Encoding) -> tuple[Tensor, DomainFacts]:
        facts = batch.facts
        there = self.get_buffer("arrival")[facts.numbers] <= self.progress
        links = facts.links[there][:, there]
        return latents.z[there], replace(
            facts, numbers=facts.numbers[there], beta=facts.beta[there], links=links
        )

    def forward(self, batch: Batch, latents: Encoding, ramp: float) -> tuple[Tensor, Terms]:
        self.progress += self.step
        return super().forward(batch, latents, ramp)


class CIDA(KnownDomains):
    """Hide a given, continuous index of the domains from z (Wang, He and Katabi, 2020).

    The encoder sees x and the index β of its domain; the adversary regresses β on z, and the
    encoder maximises its squared error. So neighbouring domains are treated alike, which a
    classifier of domain names cannot know. Targets take part from the sources outwards, as in the
    authors' code, which also takes absolute errors and learns from its own labels of domains that
    came earlier; both are left out here. 2,000 steps by default.

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

    _default_weight = 0.3
    _steps = 2000

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
        adversary = self._adversary(study)
        objective = StagedAdaptation(
            study.module(IndexEncoder),
            adversary,
            self._weight,
            study.index,
            study.data.is_source,
            study.n_steps,
        )
        return study.train("encoding", objective)

    def _adversary(self, study: Study) -> nn.Module:
        return study.adversary("index")


class PCIDA(CIDA):
    """As `CIDA`, but the adversary also says how sure it is: a Gaussian with mean and variance.

    At its optimum neither the mean nor the variance of the index can be read off z.

    Examples
    --------
    >>> from domindex.baselines import PCIDA
    >>> known = dict(enumerate(data.true_index[:, 0]))
    >>> model = PCIDA(known, training=Training(steps=5), random_state=0)
    >>> model.fit(data.X, data.y, **rows, source_domains=[0, 1, 2]).classes_
    array([0, 1])
    """

    def _adversary(self, study: Study) -> nn.Module:
        with study.own_chance():
            return GaussianReader(study.latent_dim, study.index.shape[1], study.width)


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

"""Domain to vector: embed the domains, then adapt by what is near."""

from __future__ import annotations

import math
from collections.abc import Hashable
from copy import deepcopy
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from domindex.arrays import Floats
from domindex.baselines.base import AdaptingBaseline, Study
from domindex.baselines.networks import Adaptation, Encoding, PlainModule
from domindex.errors import InputError
from domindex.inputs import DomainData
from domindex.neural.batches import Batch
from domindex.neural.training import Terms
from domindex.vdi import bound
from domindex.vdi.networks import ClassPredictor


class LabelReader(nn.Module):
    """Reads the class off features of source rows, which shall show the domain alone."""

    def __init__(self, head: nn.Module, n_classes: int) -> None:
        super().__init__()
        self.head = head
        self.guessing = math.log(n_classes)

    def forward(self, features: Tensor, labels: Tensor) -> Tensor:
        """−E[log p(y|features)] / log C: 1 means that nothing can be read."""
        return -bound.label_prediction(labels, self.head(features)) / self.guessing


class DomainFeatures(Adaptation):
    """Features by which all domains are told apart, and from which the class cannot be read."""

    def __init__(self, module: PlainModule, adversary: LabelReader, n_domains: int) -> None:
        super().__init__(module, adversary, weight=1.0)
        self.guessing = math.log(n_domains)

    def adversary_inputs(self, batch: Batch, latents: Encoding) -> tuple[Tensor, Tensor]:
        return latents.z[batch.sources], batch.labels

    def fit(self, batch: Batch, latents: Encoding) -> Terms:
        numbers = batch.facts.numbers[:, None].expand(latents.z.shape[:2])
        predicted = self.module.predict(latents.z)
        return {"domain_prediction": bound.label_prediction(numbers, predicted) / self.guessing}


class NearSources(Adaptation):
    """Sources count by how near they are to the targets."""

    def __init__(
        self, module: PlainModule, adversary: nn.Module, weight: float, source_weights: Tensor
    ) -> None:
        super().__init__(module, adversary, weight)
        self.source_weights = source_weights

    def fit(self, batch: Batch, latents: Encoding) -> Terms:
        likelihood = self.module.predict(latents.z[batch.sources]).log_prob(batch.labels)
        weights = self.source_weights[batch.facts.numbers[batch.sources]]
        return {"label_prediction": (likelihood.mean(dim=1) * weights).sum() / weights.sum()}


@dataclass(frozen=True, eq=False)
class DomainVectors:
    """Clouds of inputs to vectors: means and Gram matrix of their features, then two components.

    Attributes
    ----------
    encoder : the features of scaled inputs, in double precision
    centre, components : (size,) and (size, index_dim) of the projection
    """

    encoder: nn.Module
    centre: Floats
    components: Floats

    @classmethod
    def fit(cls, encoder: nn.Module, clouds: list[Floats]) -> DomainVectors:
        vectors = np.stack([_vector(encoder, cloud) for cloud in clouds])
        centre = vectors.mean(axis=0)
        _, lengths, directions = np.linalg.svd(vectors - centre, full_matrices=False)
        scale = np.sqrt((lengths[:2] ** 2).sum() / (len(clouds) * 2)) or 1.0
        return cls(encoder, centre, directions[:2].T / scale)

    def place(self, cloud: Floats) -> Floats:
        """The vector of a domain with these rows, (index_dim,)."""
        return (_vector(self.encoder, cloud) - self.centre) @ self.components


def _vector(encoder: nn.Module, cloud: Floats) -> Floats:
    """Means of the features and of their products, the upper half of the Gram matrix."""
    with torch.no_grad():
        x = torch.tensor(cloud[None], dtype=torch.float64)
        features = encoder(x, x.new_zeros(1, 0))[0].numpy()
    gram = features.T @ features / len(features)
    return np.concatenate([features.mean(axis=0), gram[np.triu_indices(len(gram))]])


def nearness(index: Floats, is_source: np.ndarray) -> Floats:
    """Weight of every domain as a source, (domains,): its share of the targets nearby."""
    squared = ((index[is_source][:, None] - index[~is_source][None]) ** 2).sum(axis=-1)
    closeness = np.exp(-squared / max(squared.mean(), np.finfo(float).tiny))
    weights = np.zeros(len(index))
    weights[is_source] = (closeness / closeness.sum(axis=0)).mean(axis=1)
    return weights


class D2V(AdaptingBaseline):
    """Embed each domain as a vector, and adapt by it (Domain2Vec; Peng et al., 2020).

    First an encoder learns features that tell all domains apart and from which an adversary cannot
    read the class. A domain's vector is the mean and the Gram matrix of its features, projected to
    two components. Then follows domain-adversarial training: as `DANN`, with an encoder that is
    given its domain's vector, and with sources that count by how near their vectors are to those of
    targets. How the paper of VDI put the vectors to use is not published; ours is the plainest way.
    Domains never seen are embedded by their rows. There is no regression: features are freed of
    *classes*.

    Attributes
    ----------
    domain_indices_ : (domains, 2), the vectors

    Examples
    --------
    >>> from domindex.baselines import D2V
    >>> model = D2V(training=Training(steps=5), random_state=0)
    >>> model.fit(data.X, data.y, **rows, source_domains=[0, 1, 2]).classes_
    array([0, 1])
    """

    _default_weight = 2.0

    domain_indices_: Floats

    def _check_data(self, data: DomainData) -> None:
        if data.task != "classification":
            raise InputError(
                "y holds values, but D2V frees its embedding of classes and has no regression. "
                "Choose another baseline, or bin y into classes."
            )

    def _put_in_order(self, names: tuple[Hashable, ...]) -> None:
        numbers = {name: number for number, name in enumerate(self.domains_)}
        self.domain_indices_ = self.domain_indices_[[numbers[name] for name in names]]
        super()._put_in_order(names)

    def _train(self, study: Study) -> PlainModule:
        latent_dim = study.latent_dim
        with study.own_chance():
            encoder, n_domains = study.encoder(), study.data.n_domains
            embedder = PlainModule(encoder, ClassPredictor(latent_dim, n_domains))
        reader = LabelReader(study.predictor(latent_dim), study.n_outputs)
        features = study.train("domains", DomainFeatures(embedder, reader, n_domains))
        clouds = study.clouds()
        self._vectors = DomainVectors.fit(deepcopy(features.encoder).cpu().double().eval(), clouds)
        self.domain_indices_ = np.stack([self._vectors.place(cloud) for cloud in clouds])
        study.use_index(self.domain_indices_)
        weights = nearness(self.domain_indices_, study.data.is_source)
        objective = NearSources(
            study.module(),
            study.adversary("domain"),
            self._weight,
            torch.tensor(weights, dtype=torch.float32, device=study.rows.inputs.device),
        )
        return study.train("encoding", objective)

    def _give(self, name: Hashable | None, scaled: Floats) -> Floats:
        return self._vectors.place(scaled)

"""One training of a baseline: the data, and the networks and the trainer that all of them share."""

from __future__ import annotations

import copy
from contextlib import AbstractContextManager

import numpy as np
from numpy.typing import NDArray
from torch import nn

from domindex.arrays import Floats
from domindex.baselines.networks import (
    Adaptation,
    PlainEncoder,
    PlainModule,
    PlainValuePredictor,
    SeeingEncoder,
)
from domindex.committee.context import FitContext
from domindex.inputs import DomainData
from domindex.vdi.adversary import Adversary
from domindex.vdi.alignments import ParameterGroup, SeenFeatures, trainable
from domindex.vdi.backbones import FeatureExtractor
from domindex.vdi.batches import BatchSampler, TrainingRows
from domindex.vdi.networks import ClassPredictor
from domindex.vdi.training import Phase


class Study:
    """Builds the networks of a method and trains them.

    Attributes
    ----------
    data : the checked data
    rows : the same, standardised, on the training device
    latent_dim : components of z
    width : size of hidden layers
    index : (domains, size), what the encoder is given of every domain; of size 0 to begin with
    """

    def __init__(self, rows: TrainingRows, latent_dim: int, context: FitContext) -> None:
        self.rows = rows
        self.latent_dim = latent_dim
        self.width = context.network.width
        self._context = context
        self.use_index(np.zeros((self.data.n_domains, 0)))

    @property
    def data(self) -> DomainData:
        return self.rows.data

    @property
    def n_outputs(self) -> int:
        classes = self.data.classes
        return self.data.labels.shape[1] if classes is None else len(classes)

    def clouds(self) -> list[Floats]:
        """The scaled inputs of each domain, (rows, features)."""
        inputs = self.rows.represented.cpu().numpy().astype(np.float64)
        return [inputs[rows] for rows in self.data.rows_by_domain()]

    def use_index(self, index: Floats, links: NDArray[np.bool_] | None = None) -> None:
        """Give encoders and adversaries an index of the domains, and perhaps their graph."""
        self.index = index
        context = self._context
        self._batches = BatchSampler(
            self.rows, context.training, context.rng, index, links, context.chance
        )

    def lent_chance(self) -> AbstractContextManager[None]:
        """Networks made inside start from the fit's own random numbers."""
        return self._context.chance.as_default()

    def module(self) -> PlainModule:
        """A fresh encoder of x and the index, and a fresh predictor."""
        return PlainModule(self.encoder(), self.predictor(self.latent_dim))

    def encoder(self) -> nn.Module:
        """Behind a copy of the backbone, where there is one."""
        backbone, sizes = self._context.backbone, (self.index.shape[1], self.latent_dim, self.width)
        if backbone is None:
            with self.lent_chance():
                return PlainEncoder(self.rows.represented.shape[1], *sizes)
        with self.lent_chance():
            seen = SeenFeatures(copy.deepcopy(backbone.extractor))
            return SeeingEncoder(seen, PlainEncoder(seen.n_features, *sizes))

    def predictor(self, n_inputs: int) -> nn.Module:
        kind = ClassPredictor if self.data.task == "classification" else PlainValuePredictor
        with self.lent_chance():
            return kind(n_inputs, self.n_outputs)

    def adversary(self, kind: str, n_inputs: int | None = None) -> Adversary:
        """Reads the domain, its index or its graph off z; see `model.adversary`."""
        size = n_inputs or self.latent_dim
        index_dim = max(1, self.index.shape[1])
        with self.lent_chance():
            return Adversary((kind,), size, self.data.n_domains, index_dim, self.width)

    def train(self, name: str, objective: Adaptation) -> PlainModule:
        """Train whatever of the objective is not frozen; the averaged module."""
        context = self._context
        device = context.device
        objective = objective.to(device)
        if objective.adversary is not None:
            objective.adversary.to(device)
        phase = Phase(
            name,
            objective,
            self._parameter_groups(objective),
            self._batches,
            context.training.steps,
            context.training.learning_rate,
        )
        averaged = context.trainer.run(phase)
        assert isinstance(averaged, PlainModule)
        return averaged

    def _parameter_groups(self, objective: Adaptation) -> list[ParameterGroup]:
        """A backbone moves at its own rate."""
        layers = [one for one in objective.modules() if isinstance(one, FeatureExtractor)]
        seeing = [parameter for layer in layers for parameter in layer.parameters()]
        known = {id(parameter) for parameter in seeing}
        others = [one for one in objective.parameters() if id(one) not in known]
        groups = [ParameterGroup(trainable(others), 1.0)]
        if self._context.backbone is not None:
            groups.append(ParameterGroup(trainable(seeing), self._context.backbone.rate))
        return groups

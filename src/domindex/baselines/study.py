"""One training of a baseline: the data, and the networks and the loop that all of them share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from lightning_fabric import Fabric
from numpy.typing import NDArray
from torch import nn

from domindex.data import DomainData
from domindex.model.adversary import Adversary
from domindex.model.plain import Adaptation, PlainModule
from domindex.networks.decoders import ClassPredictor
from domindex.networks.plain import PlainEncoder, PlainValuePredictor
from domindex.training.history import History
from domindex.training.loop import train_block
from domindex.training.problem import BatchMaker, Problem
from domindex.training.progress import Progress
from domindex.training.settings import TrainingSettings

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class StudySettings:
    """What can be set about a baseline, the same for all."""

    latent_dim: int
    width: int
    training: TrainingSettings


class Study:
    """Builds the networks of a method and trains them.

    Attributes
    ----------
    data, problem : the checked data, and the same standardised on the training device
    settings : sizes, and how to train
    index : (domains, size), what the encoder is given of every domain; of size 0 to begin with
    """

    def __init__(
        self,
        problem: Problem,
        settings: StudySettings,
        fabric: Fabric,
        rng: np.random.Generator,
        progress: Progress,
    ) -> None:
        self.problem = problem
        self.settings = settings
        self._fabric = fabric
        self._progress = progress
        self._batches = BatchMaker(problem, settings.training, rng)
        batches_per_epoch = np.median(self.data.domain_sizes) / settings.training.batch_size
        self.history = History(int(np.ceil(batches_per_epoch)))
        self.use_index(np.zeros((self.data.n_domains, 0)))

    @property
    def data(self) -> DomainData:
        return self.problem.data

    @property
    def n_features(self) -> int:
        return self.problem.inputs.shape[1]

    @property
    def n_outputs(self) -> int:
        classes = self.data.classes
        return self.data.labels.shape[1] if classes is None else len(classes)

    def use_index(self, index: Floats, links: NDArray[np.bool_] | None = None) -> None:
        """Give encoders and adversaries an index of the domains, and perhaps their graph."""
        self.index = index
        self._batches.use_map(index, links)

    def module(self) -> PlainModule:
        """A fresh encoder of x and the index, and a fresh predictor."""
        return PlainModule(self.encoder(), self.predictor(self.settings.latent_dim))

    def encoder(self) -> PlainEncoder:
        settings = self.settings
        return PlainEncoder(
            self.n_features, self.index.shape[1], settings.latent_dim, settings.width
        )

    def predictor(self, n_inputs: int) -> nn.Module:
        kind = ClassPredictor if self.data.task == "classification" else PlainValuePredictor
        return kind(n_inputs, self.n_outputs)

    def adversary(self, kind: str, n_inputs: int | None = None) -> Adversary:
        """Reads the domain, its index or its graph off z; see `model.adversary`."""
        size = n_inputs or self.settings.latent_dim
        index_dim = max(1, self.index.shape[1])
        return Adversary((kind,), size, self.data.n_domains, index_dim, self.settings.width)

    def train(self, name: str, contest: Adaptation) -> PlainModule:
        """Run the loop on whatever of the contest is not frozen; the averaged module."""
        contest = contest.to(self._fabric.device)
        averaged = train_block(
            name,
            contest,
            [weight for weight in contest.parameters() if weight.requires_grad],
            self._batches,
            self.settings.training,
            self._fabric,
            self.history,
            self._progress,
        )
        assert isinstance(averaged, PlainModule)
        return averaged

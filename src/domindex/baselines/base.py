"""What the deep baselines share: settings, networks, training and predicting."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Hashable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from domindex.arrays import Floats
from domindex.baselines.networks import (
    Adaptation,
    PlainEncoder,
    PlainModule,
    PlainValuePredictor,
    SeeingEncoder,
)
from domindex.committee.context import FitContext, fit_context
from domindex.errors import InputError
from domindex.estimators.base import DomainEstimator, Names, check_task
from domindex.inputs import DomainData, group_rows
from domindex.inputs.domain_data import Task
from domindex.inputs.messages import preview
from domindex.inputs.parameters import check_running, require_counts, require_numbers, require_texts
from domindex.inputs.standardizing import InputScaler, OutputScaler
from domindex.neural.backbones import FeatureExtractor, as_backbone
from domindex.neural.batches import BatchSampler, TrainingRows
from domindex.neural.layers import SeenFeatures
from domindex.neural.settings import Training
from domindex.neural.training import ParameterGroup, Phase, trainable
from domindex.vdi.adversary import Adversary
from domindex.vdi.networks import ClassPredictor
from domindex.vdi.settings import Network


class Study:
    """The data of one training, and the networks and the trainer that all methods share.

    `index`, (domains, size), is what the encoder is given of every domain: nothing to begin with.
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

    @property
    def n_steps(self) -> int:
        return self._context.training.steps

    def clouds(self) -> list[Floats]:
        """The scaled inputs of each domain, (rows, features)."""
        inputs = self.rows.represented.cpu().numpy().astype(np.float64)
        return [inputs[rows] for rows in self.data.rows_by_domain()]

    def use_index(self, index: Floats, links: NDArray[np.bool_] | None = None) -> None:
        """Give encoders and adversaries an index of the domains, and perhaps their graph."""
        self.index = index
        context = self._context
        self._batches = BatchSampler(
            self.rows, context.training, context.rng, index, links, context.torch_rng
        )

    def own_chance(self) -> AbstractContextManager[None]:
        """Networks made inside start from the fit's own random numbers."""
        return self._context.torch_rng.as_default()

    def module(self, kind: type[PlainEncoder] = PlainEncoder) -> PlainModule:
        """A fresh encoder of x and the index, and a fresh predictor."""
        return PlainModule(self.encoder(kind), self.predictor(self.latent_dim))

    def encoder(self, kind: type[PlainEncoder] = PlainEncoder) -> nn.Module:
        """Behind a copy of the backbone, where there is one."""
        backbone, sizes = self._context.backbone, (self.index.shape[1], self.latent_dim, self.width)
        if backbone is None:
            with self.own_chance():
                return kind(self.rows.represented.shape[1], *sizes)
        with self.own_chance():
            seen = SeenFeatures(copy.deepcopy(backbone.extractor))
            return SeeingEncoder(seen, kind(seen.n_features, *sizes))

    def predictor(self, n_inputs: int) -> nn.Module:
        kind = ClassPredictor if self.data.task == "classification" else PlainValuePredictor
        with self.own_chance():
            return kind(n_inputs, self.n_outputs)

    def adversary(self, kind: str, n_inputs: int | None = None) -> Adversary:
        """Reads the domain, its index or its graph off z; see `model.adversary`."""
        size = n_inputs or self.latent_dim
        index_dim = max(1, self.index.shape[1])
        with self.own_chance():
            return Adversary((kind,), size, self.data.n_domains, index_dim, self.width)

    def train(self, name: str, objective: Adaptation, rate: float = 1.0) -> PlainModule:
        """Train what is not frozen, at `rate` times the learning rate; the averaged module."""
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
            rate * context.training.learning_rate,
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


@dataclass(frozen=True, eq=False)
class FittedBaseline:
    """Everything a prediction needs: the averaged networks, on the CPU, in double precision."""

    scaler: InputScaler
    outputs: OutputScaler | None
    module: PlainModule
    given: dict[Hashable, Floats]
    """What the encoder is given of each domain that was seen."""


class DeepBaseline(DomainEstimator):
    """A method to compare with: the networks, data path and training loop of all the others.

    Parameters
    ----------
    task : "classification", "regression", or "auto" to tell by the source labels
    latent_dim : components of the encoding z
    width : size of hidden layers
    backbone : a network that maps inputs to features, as for `CrossDomainClassifier`; None takes
        inputs as they are
    training : how long and where it is trained, a `Training`
    verbose : 1 shows a progress bar
    random_state : seed; the same seed gives the same model

    Attributes
    ----------
    task_ : "classification" or "regression"
    classes_ : class labels, in the order of the columns of `predict_proba`
    domains_ : domain names
    source_domains_ : names of those with labels
    history_ : DataFrame, a row per epoch and a column per term of the objective
    """

    _steps: ClassVar[int] = 500

    def __init__(
        self,
        *,
        task: str = "auto",
        latent_dim: int = 16,
        width: int = 64,
        backbone: Any = None,
        training: Training | None = None,
        verbose: int = 0,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.task = task
        self.latent_dim = latent_dim
        self.width = width
        self.backbone = backbone
        self.training = training
        self.verbose = verbose
        self.random_state = random_state

    @abstractmethod
    def _train(self, study: Study) -> PlainModule:
        """The method itself: build its networks and train them."""

    def _give(self, name: Hashable | None, scaled: Floats) -> Floats:
        """What the encoder is given of a domain that was not seen, (size,)."""
        return np.zeros(0)

    def _fit_data(self, data: DomainData) -> None:
        training = self.training or Training()
        scaler, outputs = InputScaler.fit(data), None
        network, seed = Network(width=self.width), self._seed()
        backbone = self._trained_backbone(data.inputs)
        if backbone is not None:
            backbone = replace(backbone, extractor=backbone.extractor.undoing(scaler))
        settings = training.settings(steps=self._steps)
        given = (data, network, training, settings, seed, self.verbose)
        with fit_context(*given, backbone=backbone) as context:
            rows = TrainingRows.of(data, scaler.apply_flat(data.inputs), context.device)
            if data.task == "regression":
                outputs = OutputScaler.fit(data.labels[data.row_is_source])
                rows = rows.with_labels(outputs.apply(data.labels))
            study = Study(rows, self.latent_dim, context)
            module = self._train(study).cpu().double().eval()
        self.history_ = context.history.to_frame()
        index = dict(zip(data.domains, study.index))
        self._fitted = FittedBaseline(scaler, outputs, module, index)

    def _predict_mean(self, inputs: NDArray, names: Names) -> Floats:
        """A domain at a time, given what is known of it."""
        fitted = self._fitted
        scaled = fitted.scaler.apply_flat(inputs)
        parts = []
        for name, rows in group_rows(names, len(scaled)):
            known = name in fitted.given
            given = fitted.given[name] if known else self._give(name, scaled[rows])
            with torch.no_grad():
                z = fitted.module.encode(_tensor(scaled[rows])[None], _tensor(given)[None])
                predicted = fitted.module.predict(z)
            mean = predicted.probs if hasattr(predicted, "probs") else predicted.mean
            parts.append((rows, mean[0].numpy()))
        result = np.empty((len(inputs), parts[0][1].shape[-1]))
        for rows, values in parts:
            result[rows] = values
        return result if fitted.outputs is None else fitted.outputs.restore(result)

    def _check_parameters(self) -> None:
        check_running(self)
        require_texts(self, "task")
        require_counts(self, "latent_dim", "width")
        if self.training is not None and not isinstance(self.training, Training):
            raise InputError(
                f"training is {self.training!r}. Pass a domindex.Training, or None for defaults."
            )
        (self.training or Training()).check()
        as_backbone(self.backbone)

    def _task_to_fit(self) -> Task | None:
        return check_task(self.task)

    def _known_task(self) -> str | None:
        return getattr(self, "task_", self.task)


class AdaptingBaseline(DeepBaseline):
    """A baseline that weighs something of the targets against predicting the sources.

    `adaptation_weight` says how much that counts; None is the method's own default. The other
    parameters are those of `DeepBaseline`.
    """

    _needs_targets = True
    _default_weight: ClassVar[float] = 1.0

    def __init__(
        self,
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
            task=task,
            latent_dim=latent_dim,
            width=width,
            backbone=backbone,
            training=training,
            verbose=verbose,
            random_state=random_state,
        )
        self.adaptation_weight = adaptation_weight

    @property
    def _weight(self) -> float:
        given = self.adaptation_weight
        return self._default_weight if given is None else given

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.adaptation_weight is not None:
            require_numbers(self, "adaptation_weight")


class KnownDomains(AdaptingBaseline):
    """A baseline whose encoder is given something of each domain, and so needs its name."""

    def _give(self, name: Hashable | None, scaled: Floats) -> Floats:
        if name is None:
            raise InputError(
                f"sample_domain is missing, and {type(self).__name__} encodes a row by its domain. "
                "Pass one domain name per row."
            )
        raise InputError(
            f"{name!r} is none of the domains that fit saw ({preview(self._fitted.given)}), and "
            f"{type(self).__name__} cannot place it. Fit with its rows and what is known of it."
        )


def _tensor(array: NDArray) -> Tensor:
    return torch.tensor(array, dtype=torch.float64)

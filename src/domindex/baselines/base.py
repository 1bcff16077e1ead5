"""What the deep baselines share: settings, fitting and predicting on the same networks."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from domindex.arrays import Floats
from domindex.baselines.networks import PlainModule
from domindex.baselines.study import Study
from domindex.committee.context import fit_context
from domindex.errors import InputError
from domindex.estimators.base import DomainEstimator, Names, check_task
from domindex.inputs import DomainData, group_rows
from domindex.inputs.domain_data import Task
from domindex.inputs.parameters import check_running, require_counts, require_numbers, require_texts
from domindex.inputs.standardizing import InputScaler, OutputScaler
from domindex.vdi.backbones import as_backbone
from domindex.vdi.batches import TrainingRows
from domindex.vdi.settings import Network, Training


@dataclass(frozen=True, eq=False)
class FittedBaseline:
    """Everything a prediction needs.

    Attributes
    ----------
    scaler : inputs to the module's scale
    outputs : values from the module's scale; None for classes
    module : the averaged networks, on the CPU, in double precision
    given : what the encoder is given of each domain that was seen
    """

    scaler: InputScaler
    outputs: OutputScaler | None
    module: PlainModule
    given: dict[Hashable, Floats]


class DeepBaseline(DomainEstimator):
    """A method to compare with: the networks, data path and training loop of all the others.

    Parameters
    ----------
    task : "classification", "regression", or "auto" to tell by the source labels
    latent_dim : components of the encoding z
    width : size of hidden layers
    backbone : a network that maps inputs to features, as for `VDIClassifier`; None takes inputs as
        they are
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
        told = (data, network, training, training.settings(), seed, self.verbose)
        with fit_context(*told, backbone=backbone) as context:
            rows = TrainingRows.of(data, scaler.apply_flat(data.inputs), context.device)
            if data.task == "regression":
                outputs = OutputScaler.fit(data.labels[data.row_is_source])
                rows = rows.with_labels(outputs.apply(data.labels))
            study = Study(rows, self.latent_dim, context)
            module = self._train(study).cpu().double().eval()
        self.history_ = context.history.to_frame()
        given = dict(zip(data.domains, study.index))
        self._fitted = FittedBaseline(scaler, outputs, module, given)

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

    Parameters
    ----------
    adaptation_weight : how much that counts; None is the method's own default
    task : "classification", "regression", or "auto" to tell by the source labels
    latent_dim : components of the encoding z
    width : size of hidden layers
    backbone : a network that maps inputs to features, as for `VDIClassifier`; None takes inputs as
        they are
    training : how long and where it is trained, a `Training`
    verbose : 1 shows a progress bar
    random_state : seed; the same seed gives the same model
    """

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


def _tensor(array: NDArray) -> Tensor:
    return torch.tensor(array, dtype=torch.float64)

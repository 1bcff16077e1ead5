"""What the baselines share: settings, fitting and predicting behind scikit-learn's interface."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, get_args

import numpy as np
import torch
from lightning_fabric import Fabric
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import ClassifierTags, RegressorTags, Tags, check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data
from torch import Tensor

from domindex.baselines.study import Study, StudySettings
from domindex.data import (
    DomainData,
    check_domain_data,
    check_domain_names,
    check_inputs,
    group_rows,
)
from domindex.data.domain_data import Task
from domindex.data.standardizing import InputScaler, OutputScaler
from domindex.errors import InputError
from domindex.model.plain import PlainModule
from domindex.training.problem import Problem
from domindex.training.progress import show_progress
from domindex.training.settings import TrainingSettings
from domindex.training.threads import one_thread

if TYPE_CHECKING:
    from typing_extensions import Self

Floats = NDArray[np.float64]

COUNTS = ("latent_dim", "width", "batch_size", "steps")


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


class DeepBaseline(BaseEstimator, metaclass=ABCMeta):
    """A method to compare with: the networks, data path and training loop of all the others.

    Parameters
    ----------
    task : "classification", "regression", or "auto" to tell by the source labels
    latent_dim : components of the encoding z
    width : size of hidden layers
    batch_size : rows of each domain in a step
    steps : training steps
    learning_rate : its peak
    accelerator, devices, strategy, precision : passed to Lightning Fabric
    verbose : 1 shows a progress bar
    random_state : seed; the same seed gives the same model

    Attributes
    ----------
    task_ : "classification" or "regression"
    classes_ : class labels, in the order of the columns of `predict_proba`
    domains_, source_domains_ : domain names
    history_ : DataFrame, a row per epoch and a column per term of the objective
    """

    __metadata_request__fit: ClassVar = {"sample_domain": True, "source_domains": True}
    __metadata_request__predict: ClassVar = {"sample_domain": True}
    __metadata_request__predict_proba: ClassVar = {"sample_domain": True}
    __metadata_request__score: ClassVar = {"sample_domain": True}

    def __init__(
        self,
        *,
        task: str = "auto",
        latent_dim: int = 16,
        width: int = 64,
        batch_size: int = 32,
        steps: int = 500,
        learning_rate: float = 3e-3,
        accelerator: str = "cpu",
        devices: int | str | list[int] = 1,
        strategy: str = "auto",
        precision: str = "32-true",
        verbose: int = 0,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.task = task
        self.latent_dim = latent_dim
        self.width = width
        self.batch_size = batch_size
        self.steps = steps
        self.learning_rate = learning_rate
        self.accelerator = accelerator
        self.devices = devices
        self.strategy = strategy
        self.precision = precision
        self.verbose = verbose
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        sample_domain: Any = None,
        source_domains: Iterable[Hashable] | None = None,
    ) -> Self:
        """Learn to predict in the domains without labels.

        Parameters
        ----------
        X : array, data frame or tensor, (rows, features) or (rows, ...) for images
        y : labels, one per row; what stands in rows of target domains is never read
        sample_domain : a domain name per row
        source_domains : names of the labelled domains; None where `sample_domain` holds integers,
            negative for targets
        """
        settings = self._settings()
        data = check_domain_data(X, y, sample_domain, source_domains, task=self._chosen_task())
        self._check_data(data)
        validate_data(self, X=X, skip_check_array=True)
        self._input_shape = data.inputs.shape[1:]
        self._fitted = self._fit_module(data, settings)
        self.task_ = data.task
        self.domains_ = list(data.domains)
        self.source_domains_ = list(data.source_domains)
        self._single_output = data.single_output
        if data.classes is not None:
            self.classes_ = np.array(data.classes)
        return self

    def predict(self, X: Any, *, sample_domain: Any = None) -> NDArray:
        """The likeliest class, or the expected values, of every row."""
        predicted = self._predict_mean(X, sample_domain)
        if self.task_ == "classification":
            return self.classes_[predicted.argmax(axis=1)]
        return predicted[:, 0] if self._single_output else predicted

    @available_if(lambda self: self._task_known_as() != "regression")
    def predict_proba(self, X: Any, *, sample_domain: Any = None) -> Floats:
        """Probabilities (rows, classes)."""
        probabilities = self._predict_mean(X, sample_domain)
        return probabilities / probabilities.sum(axis=1, keepdims=True)

    def score(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        sample_domain: Any = None,
    ) -> float:
        """Mean accuracy of `predict`, or the coefficient of determination for values."""
        predicted = self.predict(X, sample_domain=sample_domain)
        measure = accuracy_score if self.task_ == "classification" else r2_score
        return float(measure(y, predicted, sample_weight=sample_weight))

    @abstractmethod
    def _train(self, study: Study) -> PlainModule:
        """The method itself: build its networks and train them."""

    def _check_data(self, data: DomainData) -> None:
        """Refuse what the method cannot do."""

    def _give(self, name: Hashable | None, scaled: Floats) -> Floats:
        """What the encoder is given of a domain that was not seen, (size,)."""
        return np.zeros(0)

    def _fit_module(self, data: DomainData, settings: StudySettings) -> FittedBaseline:
        fabric = Fabric(
            accelerator=self.accelerator,
            devices=self.devices,
            strategy=self.strategy,
            precision=self.precision,
        )
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        scaler = InputScaler.fit(data)
        outputs = (
            OutputScaler.fit(data.labels[data.row_is_source]) if data.task == "regression" else None
        )
        labels = data.labels if outputs is None else outputs.apply(data.labels)
        problem = Problem.of(data, scaler.apply(data.inputs), labels, fabric.device)
        gpus = [fabric.device] if fabric.device.type == "cuda" else []
        with one_thread(), torch.random.fork_rng(gpus), show_progress(self.verbose) as progress:
            torch.manual_seed(seed)
            study = Study(problem, settings, fabric, np.random.default_rng(seed), progress)
            module = self._train(study).cpu().double().eval()
        self.history_ = study.history.to_frame()
        return FittedBaseline(scaler, outputs, module, dict(zip(data.domains, study.index)))

    def _predict_mean(self, X: Any, sample_domain: Any) -> Floats:
        """Probabilities (rows, classes) or values (rows, outputs)."""
        inputs = self._check_rows(X)
        names = None if sample_domain is None else check_domain_names(sample_domain, len(inputs))
        parts = list(self._by_domain(self._fitted.scaler.apply(inputs), names))
        result = np.empty((len(inputs), parts[0][1].shape[-1]))
        for rows, values in parts:
            result[rows] = values
        outputs = self._fitted.outputs
        return result if outputs is None else outputs.restore(result)

    def _by_domain(
        self, scaled: Floats, names: list[Hashable] | None
    ) -> Iterator[tuple[NDArray[np.int64], Floats]]:
        """A domain at a time: its rows, and what the module predicts for them."""
        module, known = self._fitted.module, self._fitted.given
        for name, rows in group_rows(names, len(scaled)):
            given = known[name] if name in known else self._give(name, scaled[rows])
            with torch.no_grad():
                z = module.encode(_tensor(scaled[rows])[None], _tensor(given)[None])
                predicted = module.predict(z)
            mean = predicted.probs if hasattr(predicted, "probs") else predicted.mean
            yield rows, mean[0].numpy()

    def _check_rows(self, X: Any) -> NDArray:
        check_is_fitted(self)
        inputs = check_inputs(X)
        if inputs.shape[1:] != self._input_shape:
            raise InputError(
                f"X has rows of shape {inputs.shape[1:]}, but fit saw {self._input_shape}. "
                "Pass inputs of the same shape."
            )
        validate_data(self, X=X, skip_check_array=True, reset=False)
        return inputs

    def _settings(self) -> StudySettings:
        for name in COUNTS:
            value = getattr(self, name)
            if not isinstance(value, (int, np.integer)) or value < 1:
                raise InputError(f"{name} is {value!r}. Choose a whole number of 1 or more.")
        if not self.learning_rate > 0:
            raise InputError(f"learning_rate is {self.learning_rate!r}. Choose a positive number.")
        training = TrainingSettings(
            steps=self.steps, batch_size=self.batch_size, learning_rate=self.learning_rate
        )
        return StudySettings(self.latent_dim, self.width, training)

    def _chosen_task(self) -> Task | None:
        if self.task == "auto":
            return None
        if self.task not in get_args(Task):
            raise InputError(
                f"task is {self.task!r}. Choose 'auto', 'classification' or 'regression'."
            )
        return self.task  # type: ignore[return-value]

    def _task_known_as(self) -> str:
        return getattr(self, "task_", self.task)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_fitted")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        if self._task_known_as() == "classification":
            tags.estimator_type, tags.classifier_tags = "classifier", ClassifierTags()
        elif self._task_known_as() == "regression":
            tags.estimator_type, tags.regressor_tags = "regressor", RegressorTags()
        return tags


class AdaptingBaseline(DeepBaseline):
    """A baseline that weighs something of the targets against predicting the sources.

    Parameters
    ----------
    adaptation_weight : how much that counts; None is the method's own default
    """

    _default_weight: ClassVar[float] = 1.0

    def __init__(
        self,
        *,
        adaptation_weight: float | None = None,
        task: str = "auto",
        latent_dim: int = 16,
        width: int = 64,
        batch_size: int = 32,
        steps: int = 500,
        learning_rate: float = 3e-3,
        accelerator: str = "cpu",
        devices: int | str | list[int] = 1,
        strategy: str = "auto",
        precision: str = "32-true",
        verbose: int = 0,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        super().__init__(
            task=task,
            latent_dim=latent_dim,
            width=width,
            batch_size=batch_size,
            steps=steps,
            learning_rate=learning_rate,
            accelerator=accelerator,
            devices=devices,
            strategy=strategy,
            precision=precision,
            verbose=verbose,
            random_state=random_state,
        )
        self.adaptation_weight = adaptation_weight

    @property
    def _weight(self) -> float:
        given = self.adaptation_weight
        return self._default_weight if given is None else given

    def _settings(self) -> StudySettings:
        if not self._weight >= 0:
            raise InputError(
                f"adaptation_weight is {self.adaptation_weight!r}. Choose 0 or more, "
                f"or None for the default of {self._default_weight}."
            )
        return super()._settings()


def _tensor(array: NDArray) -> Tensor:
    return torch.tensor(array, dtype=torch.float64)

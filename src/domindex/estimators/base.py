"""What classifier and regressor share: settings, fitting, and reading the map."""

from __future__ import annotations

import os
from abc import ABCMeta, abstractmethod
from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING, Any, ClassVar

import networkx as nx
import numpy as np
from numpy.typing import NDArray
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from domindex.data import DomainData, check_domain_data, check_domain_names, check_inputs
from domindex.data.domain_data import Task
from domindex.errors import InputError
from domindex.estimators.fitting import FitResult, fit_model
from domindex.estimators.planning import Planner
from domindex.estimators.saving import save
from domindex.estimators.settings import ModelSettings
from domindex.estimators.structure import StructureMaker, flow_structure, learned_structure
from domindex.geometry import domain_graph
from domindex.model.objectives import Weights
from domindex.training.progress import show_progress
from domindex.training.settings import TrainingSettings

if TYPE_CHECKING:
    from typing_extensions import Self

Floats = NDArray[np.float64]


COUNTS = ("index_dim", "local_dim", "width", "batch_size", "index_steps", "steps", "starts")

STEPS, STEPS_WITH_FLOW = 1000, 500
STARTS = 2
ADMISSION = 0.6
"""Defaults of `steps` and `starts`. A flow starts aligned, so it needs half the steps and one
start; an affine map that must be found can end in a wrong turn, so domains are admitted to it one
by one along the map, and it gets a second chance."""


class BaseVDI(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator, metaclass=ABCMeta):
    """Variational domain indexing behind scikit-learn's interface."""

    __metadata_request__fit: ClassVar = {"sample_domain": True, "source_domains": True}
    __metadata_request__predict: ClassVar = {"sample_domain": True}
    __metadata_request__score: ClassVar = {"sample_domain": True}

    _task: ClassVar[Task]

    def __init__(
        self,
        *,
        index_dim: int = 2,
        local_dim: int = 4,
        flow: str | None = "auto",
        adversary: tuple[str, ...] = ("graph", "domain"),
        adversary_weight: float = 6.0,
        contrastive_weight: float = 0.1,
        smoothness_weight: float = 1.0,
        width: int = 64,
        batch_size: int = 32,
        index_steps: int = 200,
        steps: int | None = None,
        starts: int | None = None,
        learning_rate: float = 3e-3,
        accelerator: str = "cpu",
        devices: int | str | list[int] = 1,
        strategy: str = "auto",
        precision: str = "32-true",
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.index_dim = index_dim
        self.local_dim = local_dim
        self.flow = flow
        self.adversary = adversary
        self.adversary_weight = adversary_weight
        self.contrastive_weight = contrastive_weight
        self.smoothness_weight = smoothness_weight
        self.width = width
        self.batch_size = batch_size
        self.index_steps = index_steps
        self.steps = steps
        self.starts = starts
        self.learning_rate = learning_rate
        self.accelerator = accelerator
        self.devices = devices
        self.strategy = strategy
        self.precision = precision
        self.n_jobs = n_jobs
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
        """Map the domains and learn to predict in those without labels.

        Parameters
        ----------
        X : array, data frame or tensor, (rows, features) or (rows, ...) for images
        y : labels, one per row; what stands in rows of target domains is never read
        sample_domain : a domain name per row
        source_domains : names of the labelled domains; None where `sample_domain` holds integers,
            negative for targets
        """
        settings = self._settings()
        data = check_domain_data(X, y, sample_domain, source_domains, task=self._task)
        validate_data(self, X=X, skip_check_array=True)
        self._input_shape = data.inputs.shape[1:]
        result = self._fit_model(data, settings)
        self._remember(data, result)
        return self

    def transform(self, X: Any) -> Floats:
        """The local index u of every row, (rows, local_dim): needs no domain."""
        inputs = self._check_rows(X)
        return self._fitted.local_indices(self._fitted.scaler.apply(inputs))

    def encode(self, X: Any, *, sample_domain: Any = None) -> Floats:
        """The encoding z of every row, (rows, latent_dim)."""
        inputs, names = self._check_query(X, sample_domain)
        parts = [
            (rows, latents.z[0].numpy())
            for rows, latents, _ in self._fitted.by_domain(inputs, names)
        ]
        return _scatter(len(inputs), parts)

    def place_domains(self, X: Any, *, sample_domain: Any = None) -> dict[Hashable, Floats]:
        """Where the domains of these rows lie on the map, known or new: name to coordinates.

        New domains are placed by their inputs; the model does not change. Without
        `sample_domain` all rows are one new domain, named None.
        """
        inputs, names = self._check_query(X, sample_domain)
        return self._fitted.place(inputs, names)

    def domain_graph(self, **rule: Any) -> nx.Graph:
        """The domains that are close on the map, as a NetworkX graph.

        `rule` is one of threshold=, quantile= and n_neighbors=, as in `geometry.domain_graph`.
        """
        check_is_fitted(self)
        return domain_graph(self.domain_index_, **rule)

    def index_deviations(self, coordinates: Any) -> Floats:
        """The uncertainty of the map at points of it, (points, index_dim) in and out."""
        check_is_fitted(self)
        return self._fitted.deviations(np.atleast_2d(np.asarray(coordinates, dtype=np.float64)))

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the fitted model to a folder, to be opened by `domindex.load`.

        Weights are kept as safetensors and everything else as JSON, so that opening it runs no
        code. An existing model is refused unless `overwrite`.
        """
        check_is_fitted(self)
        save(self, path, overwrite=overwrite)

    def _fit_model(self, data: DomainData, settings: ModelSettings) -> FitResult:
        from lightning_fabric import Fabric  # here: it takes seconds, and predicting needs none

        fabric = Fabric(
            accelerator=self.accelerator,
            devices=self.devices,
            strategy=self.strategy,
            precision=self.precision,
        )
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        with show_progress(self.verbose) as progress:
            return fit_model(
                data,
                settings,
                self._planner(data),
                fabric,
                seed,
                progress,
            )

    def _structure_maker(self) -> StructureMaker:
        """What the model starts from."""
        return learned_structure if self.flow is None else flow_structure

    @abstractmethod
    def _planner(self, data: DomainData) -> Planner:
        """What settles everything before training."""

    @abstractmethod
    def _describe_outputs(self) -> tuple[dict[str, Any], dict[str, NDArray]]:
        """What is known of the outputs, in terms of JSON and as float arrays."""

    @abstractmethod
    def _revive_outputs(self, described: dict[str, Any], arrays: dict[str, NDArray]) -> None:
        """Take back what `_describe_outputs` gave."""

    def _remember(self, data: DomainData, result: FitResult) -> None:
        self._fitted = result.model
        self.domain_index_, self.domain_index_std_ = result.model.index()
        self.domains_ = list(data.domains)
        self.source_domains_ = list(data.source_domains)
        self.domain_indices_ = self.domain_index_.coordinates
        self.domain_distances_ = result.model.atlas.transport
        self.history_ = result.history
        self.flow_ = result.plan.structure.summary()
        self._n_features_out = self.local_dim

    def _settings(self) -> ModelSettings:
        if self.flow not in ("auto", None):
            raise InputError(f"flow is {self.flow!r}. Choose 'auto', or None for no flow.")
        counts = {name: getattr(self, name) for name in COUNTS}
        if self.steps is None:
            counts["steps"] = STEPS if self.flow is None else STEPS_WITH_FLOW
        if self.starts is None:
            counts["starts"] = STARTS if self.flow is None else 1
        for name, value in counts.items():
            if not isinstance(value, (int, np.integer)) or value < 1:
                raise InputError(f"{name} is {value!r}. Choose a whole number of 1 or more.")
        for name in ("adversary_weight", "contrastive_weight", "smoothness_weight"):
            if not getattr(self, name) >= 0:
                raise InputError(f"{name} is {getattr(self, name)!r}. Choose 0 or more.")
        if not self.learning_rate > 0:
            raise InputError(f"learning_rate is {self.learning_rate!r}. Choose a positive number.")
        return ModelSettings(
            index_dim=self.index_dim,
            local_dim=self.local_dim,
            adversary_kinds=tuple(self.adversary),
            width=self.width,
            training=TrainingSettings(
                index_steps=self.index_steps,
                steps=counts["steps"],
                starts=counts["starts"],
                admission=ADMISSION if self.flow is None else 0.0,
                batch_size=self.batch_size,
                learning_rate=self.learning_rate,
            ),
            weights=Weights(
                contrastive=self.contrastive_weight,
                adversary=self.adversary_weight,
                smoothness=self.smoothness_weight,
            ),
            n_jobs=self.n_jobs,
        )

    def _check_rows(self, X: Any) -> NDArray:
        check_is_fitted(self)
        inputs = check_inputs(X)
        validate_data(self, X=X, skip_check_array=True, reset=False)
        if inputs.shape[1:] != self._input_shape:
            raise InputError(
                f"X has rows of shape {inputs.shape[1:]}, but fit saw {self._input_shape}. "
                "Pass inputs of the same shape."
            )
        return inputs

    def _check_query(self, X: Any, sample_domain: Any) -> tuple[NDArray, list[Hashable] | None]:
        inputs = self._check_rows(X)
        if sample_domain is None:
            return inputs, None
        return inputs, check_domain_names(sample_domain, len(inputs))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_fitted")


def _scatter(n_rows: int, parts: list[tuple[NDArray, NDArray]]) -> Floats:
    """Pieces of rows put back into the order of the input, (rows, size)."""
    result = np.empty((n_rows, parts[0][1].shape[-1]))
    for rows, values in parts:
        result[rows] = values
    return result

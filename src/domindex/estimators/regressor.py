"""Regression in domains without labels."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils import Tags

from domindex.data import DomainData
from domindex.data.domain_data import Task
from domindex.data.normalizing import NORMALIZATIONS, Normalization
from domindex.data.standardizing import OutputScaler
from domindex.errors import InputError
from domindex.estimators.base import BaseVDI, Floats
from domindex.estimators.calibration import calibrating_factors
from domindex.estimators.fitting import FitResult
from domindex.estimators.planning import Planner
from domindex.estimators.saving import plain_frame, revive_frame
from domindex.estimators.settings import ModelSettings
from domindex.estimators.value_plan import ValuePlan, ValuePlanner

LEAST_DEVIATION = 1e-12
"""Relative to the largest output that was seen: no interval is a point."""


class VDIRegressor(RegressorMixin, BaseVDI):
    """Infer where each domain lies, and predict values in the domains without labels.

    Any number of outputs; predictions and their deviations are in the units of `y`.

    Parameters
    ----------
    normalize : how rows are told so that a rule holds in every domain. "rows" subtracts a row's
        own mean and divides by its own deviation, "row_means" only subtracts, "domains" does both
        with the domain's mean and deviation; each is undone in the output, which must share the
        units of the inputs. "none" leaves rows as they are. "auto" also considers the flow, and
        chooses by error on held-out source domains and by how far sources and targets overlap
    flow : "auto" lets inputs be carried along the map by an affine flow if it is the best choice;
        None is the paper's model as written
    index_dim, local_dim, adversary, adversary_weight, contrastive_weight, smoothness_weight,
    width, batch_size, index_steps, steps, starts, learning_rate, accelerator, devices, strategy,
    precision, n_jobs, verbose, random_state : as in `VDIClassifier`

    Attributes
    ----------
    normalization_ : the normalisation in use, or "flow"
    normalization_trials_ : DataFrame, a row for each that was tried: error on held-out source
        domains, overlap of sources and targets, score (lower is better), whether a network may
        bend it, whether it can be trusted, and whether it was chosen
    domains_, source_domains_, domain_indices_, domain_index_std_, domain_index_,
    domain_distances_, history_, flow_ : as in `VDIClassifier`
    """

    _task: ClassVar[Task] = "regression"

    def __init__(
        self,
        *,
        normalize: Normalization | Literal["auto"] = "auto",
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
        super().__init__(
            index_dim=index_dim,
            local_dim=local_dim,
            flow=flow,
            adversary=adversary,
            adversary_weight=adversary_weight,
            contrastive_weight=contrastive_weight,
            smoothness_weight=smoothness_weight,
            width=width,
            batch_size=batch_size,
            index_steps=index_steps,
            steps=steps,
            starts=starts,
            learning_rate=learning_rate,
            accelerator=accelerator,
            devices=devices,
            strategy=strategy,
            precision=precision,
            n_jobs=n_jobs,
            verbose=verbose,
            random_state=random_state,
        )
        self.normalize = normalize

    @overload
    def predict(
        self, X: Any, *, sample_domain: Any = None, return_std: Literal[False] = False
    ) -> Floats: ...

    @overload
    def predict(
        self, X: Any, *, sample_domain: Any = None, return_std: Literal[True]
    ) -> tuple[Floats, Floats]: ...

    def predict(
        self, X: Any, *, sample_domain: Any = None, return_std: bool = False
    ) -> Floats | tuple[Floats, Floats]:
        """The expected outputs, (rows,) or (rows, outputs) as `y` was, and their deviations.

        At the posterior means: deterministic. Deviations are those of a new observation in a
        domain without labels. Domains never seen in `fit` are placed on the map first; without
        `sample_domain` all rows are one new domain.
        """
        inputs, names = self._check_query(X, sample_domain)
        mean, deviation = self._predict_values(inputs, names)
        if self._single_output:
            mean, deviation = mean[:, 0], deviation[:, 0]
        return (mean, deviation) if return_std else mean

    def score(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        sample_domain: Any = None,
    ) -> float:
        """R² of `predict`, averaged over outputs."""
        predicted = self.predict(X, sample_domain=sample_domain)
        return float(r2_score(y, predicted, sample_weight=sample_weight))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def _planner(self, data: DomainData) -> Planner:
        return ValuePlanner(self.normalize, self.flow)

    def _settings(self) -> ModelSettings:
        if self.normalize not in ("auto", *NORMALIZATIONS):
            choices = ", ".join(repr(kind) for kind in ("auto", *NORMALIZATIONS))
            raise InputError(f"normalize is {self.normalize!r}. Choose one of {choices}.")
        return super()._settings()

    def _remember(self, data: DomainData, result: FitResult) -> None:
        super()._remember(data, result)
        plan = result.plan
        assert isinstance(plan, ValuePlan)
        frame = plan.fitted_frame
        self.normalization_ = frame.frame.name
        self.normalization_trials_ = frame.trials
        self._single_output = data.single_output
        self._output_scaler = plan.output_scaler
        sources = data.row_is_source
        values = data.labels[sources]
        self._least_deviation = LEAST_DEVIATION * max(float(np.abs(values).max()), 1e-300)
        self._deviation_factors = np.ones(values.shape[1])
        names = [data.domains[number] for number in data.row_domains[sources]]
        _, deviations = self._predict_values(data.inputs[sources], names)
        self._deviation_factors = calibrating_factors(
            values - frame.held_out, deviations, frame.row_weights
        )

    def _describe_outputs(self) -> tuple[dict[str, Any], dict[str, NDArray]]:
        described = {
            "single": bool(self._single_output),
            "least_deviation": float(self._least_deviation),
            "normalization": self.normalization_,
            "normalization_trials": plain_frame(self.normalization_trials_),
        }
        arrays = {
            "offset": self._output_scaler.offset,
            "scale": self._output_scaler.scale,
            "deviation_factors": self._deviation_factors,
        }
        return described, arrays

    def _revive_outputs(self, described: dict[str, Any], arrays: dict[str, NDArray]) -> None:
        self._single_output = bool(described["single"])
        self._least_deviation = float(described["least_deviation"])
        self.normalization_ = str(described["normalization"])
        self.normalization_trials_ = revive_frame(described["normalization_trials"])
        self._output_scaler = OutputScaler(arrays["offset"], arrays["scale"])
        self._deviation_factors = arrays["deviation_factors"]

    def _predict_values(self, inputs: NDArray, names: list[Any] | None) -> tuple[Floats, Floats]:
        """Means and deviations, (rows, outputs) each, in the user's units."""
        representation = self._fitted.representation
        assert representation is not None
        scaler = self._output_scaler
        mean = np.empty((len(inputs), len(scaler.offset)))
        deviation = np.empty_like(mean)
        for rows, _, predicted in self._fitted.by_domain(inputs, names):
            mean[rows] = predicted.mean[0].numpy()
            deviation[rows] = predicted.stddev[0].numpy()
        told = representation.normalizer.split(inputs, names)
        deviation *= told.spread * scaler.scale * self._deviation_factors
        return told.restore(scaler.restore(mean)), np.maximum(deviation, self._least_deviation)

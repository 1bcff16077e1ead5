"""Any estimator like those of scikit-learn, as a learner."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from domindex.cluster import on_this_machine
from domindex.committee.estimator_checks import require_weights, takes_many_outputs
from domindex.committee.learner import Floats, Predictor, weighted_rows
from domindex.errors import PredictorError
from domindex.persistence.estimator_bytes import estimator_bytes, estimator_from_bytes

if TYPE_CHECKING:
    from typing_extensions import Self

ROUNDING = 1e-9
"""How far below 0 a probability may be."""


@dataclass(frozen=True, eq=False)
class EstimatorPredictor(Predictor):
    """Fitted estimators, and what their columns mean.

    Attributes
    ----------
    name : what it is called in reports and errors
    estimators : for classes one, and none where only one class was there to learn from; for
        values one for all outputs, or one an output
    n_features : columns of the features
    n_outputs : how many classes there are, or values
    present : (k,) numbers of the classes that were there to learn from; None for values
    """

    kind: ClassVar[str] = "estimator"
    name: str
    estimators: tuple[Any, ...]
    n_features: int
    n_outputs: int
    present: NDArray[np.int64] | None = None

    def predict(self, features: Floats) -> Floats:
        if features.ndim != 2 or features.shape[1] != self.n_features:
            raise self._error(f"was given shape {features.shape} for {self.n_features} features")
        return self._values(features) if self.present is None else self._probabilities(features)

    def state(self) -> dict[str, Any]:
        fitted = estimator_bytes(list(self.estimators), f"The predictor {self.name!r}")
        return {
            "name": self.name,
            "estimators": fitted,
            "n_features": self.n_features,
            "n_outputs": self.n_outputs,
            "present": None if self.present is None else self.present.tolist(),
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        estimators = estimator_from_bytes(state["estimators"])
        n_outputs, present = int(state["n_outputs"]), state["present"]
        if present is not None:
            present = np.array(present, dtype=np.int64)
            expected = [1 if len(present) > 1 else 0]
            steps = np.diff(present, prepend=-1, append=n_outputs)
            if present.ndim != 1 or not len(present) or (steps < 1).any():
                raise ValueError("the classes that were learned from are not among all classes")
        else:
            expected = [1, n_outputs]
        if not isinstance(estimators, list) or len(estimators) not in expected:
            raise ValueError("there are not as many estimators as outputs")
        n_features = int(state["n_features"])
        if n_features < 1 or n_outputs < 1:
            raise ValueError("an estimator has no features or no outputs")
        return cls(str(state["name"]), tuple(estimators), n_features, n_outputs, present)

    def _probabilities(self, features: Floats) -> Floats:
        assert self.present is not None
        result = np.zeros((len(features), self.n_outputs))
        if not self.estimators:
            result[:, self.present] = 1.0
            return result
        (estimator,) = self.estimators
        with _blamed(self.name, "predict"):
            raw = np.asarray(estimator.predict_proba(features), dtype=np.float64)
            order = np.asarray(getattr(estimator, "classes_", range(len(self.present))))
            order = order.astype(np.int64)
        self._require(raw, (len(features), len(self.present)), "probabilities")
        if not np.array_equal(np.sort(order), np.arange(len(self.present))):
            raise self._error(f"has other classes_ than it was given: {order!r:.80}")
        total = raw.sum(axis=1, keepdims=True)
        if (raw < -ROUNDING).any() or (total <= 0).any():
            raise self._error("returned probabilities that are negative or all 0")
        result[:, self.present[order]] = np.maximum(raw, 0.0) / total
        return result

    def _values(self, features: Floats) -> Floats:
        columns = self.n_outputs // len(self.estimators)
        parts = []
        for estimator in self.estimators:
            with _blamed(self.name, "predict"):
                part = np.asarray(estimator.predict(features), dtype=np.float64)
            if part.ndim == 1:
                part = part[:, None]
            self._require(part, (len(features), columns), "values")
            parts.append(part)
        return np.hstack(parts)

    def _require(self, array: Floats, shape: tuple[int, int], what: str) -> None:
        if array.shape != shape:
            raise self._error(f"returned {what} of shape {array.shape} where {shape} was expected")
        if not np.isfinite(array).all():
            raise self._error(f"returned {what} with NaN or infinity")

    def _error(self, what: str) -> PredictorError:
        return PredictorError(
            f"The predictor {self.name!r} {what}. Check its parameters, or choose another."
        )


@dataclass(frozen=True, eq=False)
class EstimatorLearner:
    """Fits copies of `estimator`, which itself stays as it is.

    Class numbers are told to it without gaps, as some estimators want them. An estimator that takes
    one output only is fitted once an output. Where its random_state is None, it gets the seed.
    """

    name: str
    estimator: Any

    def fit(
        self,
        features: Floats,
        labels: NDArray,
        n_classes: int | None,
        seed: int,
        weights: Floats | None = None,
    ) -> EstimatorPredictor:
        features, labels, weights = weighted_rows(features, labels, weights)
        n_features = features.shape[1]
        if n_classes is not None:
            present, numbers = np.unique(labels, return_inverse=True)
            present, alone = present.astype(np.int64), len(present) == 1
            fitted = () if alone else (self._fitted(features, numbers, seed, weights),)
            return EstimatorPredictor(self.name, fitted, n_features, n_classes, present)
        outputs = labels.shape[1]
        if outputs > 1 and takes_many_outputs(self.estimator):
            fitted = (self._fitted(features, labels, seed, weights),)
        else:
            fitted = tuple(self._fitted(features, column, seed, weights) for column in labels.T)
        return EstimatorPredictor(self.name, fitted, n_features, outputs)

    def _fitted(self, features: Floats, labels: NDArray, seed: int, weights: Floats | None) -> Any:
        argument = None if weights is None else require_weights(self.estimator, self.name)
        further = {} if argument is None else {argument: weights}
        with _blamed(self.name, "fit"):
            fresh = _copy(self.estimator, seed)
            fresh.fit(features, np.ascontiguousarray(labels), **further)
        return fresh


@contextmanager
def _blamed(name: str, task: str) -> Iterator[None]:
    """Whatever an estimator raises, with its name."""
    try:
        with on_this_machine():
            yield
    except Exception as error:
        raise PredictorError(
            f"The predictor {name!r} failed to {task} ({type(error).__name__}: {error}). "
            "Check its parameters, or choose another."
        ) from error


def _copy(estimator: Any, seed: int) -> Any:
    """An unfitted copy with its random states set, those of its parts too."""
    if not (hasattr(estimator, "get_params") and hasattr(estimator, "set_params")):
        fresh = copy.deepcopy(estimator)
        if getattr(fresh, "random_state", 0) is None:
            fresh.random_state = seed
        return fresh
    fresh = clone(estimator)
    unset = {
        name: seed
        for name, value in fresh.get_params().items()
        if value is None and (name == "random_state" or name.endswith("__random_state"))
    }
    return fresh.set_params(**unset) if unset else fresh

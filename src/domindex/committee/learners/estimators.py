"""Estimators like those of scikit-learn as learners: a user's own, and those tried by default."""

from __future__ import annotations

import copy
import warnings
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from domindex.arrays import Floats
from domindex.cluster import on_this_machine
from domindex.committee.learners.base import (
    PREDICTORS,
    Learner,
    OwnLearner,
    Predictor,
    Round,
    weighted_rows,
)
from domindex.committee.learners.linear import LinearLearner, LinearPredictor
from domindex.errors import InputError, PredictorError
from domindex.inputs.domain_data import InputLayout, Task
from domindex.persistence.estimator_bytes import estimator_bytes, estimator_from_bytes
from domindex.persistence.saved import Saved

if TYPE_CHECKING:
    from typing_extensions import Self


def check_estimator(estimator: Any, task: Task) -> None:
    """Refuse what cannot be fitted for `task`; nothing is fitted here."""
    if isinstance(estimator, type):
        raise InputError(
            f"predictor is the class {estimator.__name__}. Pass an instance of it: "
            f"{estimator.__name__}()."
        )
    name = type(estimator).__name__
    missing = [
        method for method in ("fit", "predict") if not callable(getattr(estimator, method, None))
    ]
    if missing:
        raise InputError(
            f"predictor is {estimator!r:.80}, a {name}, which has no {' and no '.join(missing)}. "
            "Pass a name of list_predictors(), or an estimator like those of scikit-learn."
        )
    kind = getattr(estimator, "_estimator_type", None)
    if hasattr(estimator, "__sklearn_tags__"):
        kind = get_tags(estimator).estimator_type
    wanted = "classifier" if task == "classification" else "regressor"
    if kind in ("classifier", "regressor") and kind != wanted:
        raise InputError(f"predictor is {name}, a {kind}, and the task is {task}. Pass a {wanted}.")
    if task == "classification" and not callable(getattr(estimator, "predict_proba", None)):
        raise InputError(
            f"predictor is {name}, which has no predict_proba as it is set, and classes are "
            f"predicted by their probabilities. Wrap it in CalibratedClassifierCV({name}(...)), "
            "or choose another."
        )


def weight_argument(estimator: Any) -> str | None:
    """What `fit` calls the weights of rows; None where it takes none.

    A pipeline passes them to its last step.
    """
    if isinstance(estimator, Pipeline):
        step, last = estimator.steps[-1]
        inner = None if isinstance(last, str) or last is None else weight_argument(last)
        return None if inner is None else f"{step}__{inner}"
    try:
        return "sample_weight" if has_fit_parameter(estimator, "sample_weight") else None
    except (TypeError, ValueError):
        return None


@dataclass(frozen=True, eq=False)
class EstimatorPredictor(Predictor):
    """Fitted estimators, and what their columns mean."""

    kind: ClassVar[str] = "estimator"
    name: str  # what it is called in reports and errors
    estimators: tuple[Any, ...]  # none for a single class; for values one, or one an output
    n_features: int  # columns of the features
    n_outputs: int  # how many classes there are, or values
    present: NDArray[np.int64] | None = None  # (k,) classes that were learned from; None for values

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
        if (raw < -1e-9).any() or (total <= 0).any():
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
class EstimatorLearner(Learner):
    """Fits copies of `estimator`, which itself stays as it is.

    Class numbers come without gaps, as some estimators want them. An estimator that takes
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
        has_tags = hasattr(self.estimator, "__sklearn_tags__")
        if outputs > 1 and has_tags and get_tags(self.estimator).target_tags.multi_output:
            fitted = (self._fitted(features, labels, seed, weights),)
        else:
            fitted = tuple(self._fitted(features, column, seed, weights) for column in labels.T)
        return EstimatorPredictor(self.name, fitted, n_features, outputs)

    def _fitted(self, features: Floats, labels: NDArray, seed: int, weights: Floats | None) -> Any:
        argument = None if weights is None else weight_argument(self.estimator)
        if weights is not None and argument is None:
            raise InputError(
                f"The predictor {self.name!r} cannot weigh rows: the fit of "
                f"{type(self.estimator).__name__} has no sample_weight. Fit it without weights, or "
                "choose another."
            )
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


class StandardLearner(Learner):
    """Fits an estimator of scikit-learn that it sets for the rows."""

    @abstractmethod
    def estimator(self, features: Floats, is_class: bool) -> Any:
        """Unfitted, for the rows (n, p) that count."""

    def fit(
        self,
        features: Floats,
        labels: NDArray,
        n_classes: int | None,
        seed: int,
        weights: Floats | None = None,
    ) -> EstimatorPredictor:
        features, labels, weights = weighted_rows(features, labels, weights)
        estimator = self.estimator(features, n_classes is not None)
        learner = EstimatorLearner(self.name, estimator)
        return learner.fit(features, labels, n_classes, seed, weights)


@dataclass(frozen=True)
class KernelLearner(StandardLearner):
    """A Gaussian kernel by a number of its landmarks, and a linear rule on them."""

    rounds: ClassVar[dict[str, Round]] = {"full": Round(0)}

    components: int = 200  # landmarks, at most; never more than rows
    strength: float = 10.0  # C of logistic regression, 1/alpha of ridge
    name: str = "kernel"
    same_units: bool = False  # whether one number scales all features, as in `LinearLearner`

    def for_layout(self, layout: InputLayout) -> KernelLearner:
        return replace(self, same_units=True) if layout.is_grid else self

    def estimator(self, features: Floats, is_class: bool) -> Pipeline:
        logistic = LogisticRegression(C=self.strength, max_iter=1000)
        rule = logistic if is_class else Ridge(alpha=1 / self.strength)
        landmarks = Nystroem(n_components=min(self.components, len(features)))
        if self.same_units:
            landmarks.set_params(gamma=1 / (features.var(axis=0).sum() or 1.0))
        return make_pipeline(StandardScaler(with_std=not self.same_units), landmarks, rule)

    def fit(self, *rows: Any, **weights: Any) -> EstimatorPredictor:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return super().fit(*rows, **weights)


@dataclass(frozen=True)
class TreesLearner(StandardLearner):
    """100 extremely randomised trees on one core, no leaf of a single row."""

    in_threads: ClassVar[bool] = True
    on_encoding: ClassVar[bool] = True
    rounds: ClassVar[dict[str, Round]] = {"full": Round(1, 5), "quick": Round(1, 1)}

    name: str = "trees"

    def estimator(self, features: Floats, is_class: bool) -> Any:
        kind = ExtraTreesClassifier if is_class else ExtraTreesRegressor
        return kind(n_estimators=100, min_samples_leaf=2, n_jobs=1)


@dataclass(frozen=True)
class BoostingLearner(StandardLearner):
    """Gradient boosting of 100 trees on binned features."""

    in_threads: ClassVar[bool] = True
    rounds: ClassVar[dict[str, Round]] = {"full": Round(2, 3)}
    grids: ClassVar[str] = "small"

    name: str = "boosting"

    def estimator(self, features: Floats, is_class: bool) -> Any:
        kind = HistGradientBoostingClassifier if is_class else HistGradientBoostingRegressor
        return kind(max_iter=100)


@dataclass(frozen=True, eq=False)
class BoostedLinearPredictor(Predictor):
    """The sum of what a linear rule and the boosting of its residuals predict."""

    kind: ClassVar[str] = "boosted_linear"
    name: ClassVar[str] = "boosted_linear"  # type: ignore[misc]
    linear: LinearPredictor
    rest: EstimatorPredictor

    def predict(self, features: Floats) -> Floats:
        return self.linear.predict(features) + self.rest.predict(features)

    def summands(self) -> tuple[Predictor, ...]:
        return self.linear, self.rest

    def state(self) -> dict[str, Any]:
        return {"linear": self.linear.state(), "rest": self.rest.state()}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        linear = LinearPredictor.from_state(state["linear"])
        rest = EstimatorPredictor.from_state(state["rest"])
        if linear.slopes.shape != (rest.n_features, rest.n_outputs):
            raise ValueError("the linear rule does not fit the trees that are added to it")
        if linear.is_class or rest.present is not None:
            raise ValueError("a sum of predictions is for values, not for classes")
        return cls(linear, rest)


@dataclass(frozen=True)
class BoostedLinearLearner(Learner):
    """A linear rule plus boosting of its residuals: extrapolates, and bends where there are rows.

    For values only: probabilities have no residuals that could be added up.
    """

    task: ClassVar[Task | None] = "regression"
    extrapolates: ClassVar[bool] = True
    in_threads: ClassVar[bool] = True
    rounds: ClassVar[dict[str, Round]] = {"full": Round(3, 1)}
    grids: ClassVar[str] = "small"

    name: str = "boosted_linear"
    linear: LinearLearner = field(default_factory=LinearLearner)
    boosting: BoostingLearner = field(default_factory=BoostingLearner)

    def with_map_coordinates(self, count: int) -> BoostedLinearLearner:
        return replace(self, linear=self.linear.with_map_coordinates(count))

    def fit(
        self,
        features: Floats,
        labels: NDArray,
        n_classes: int | None,
        seed: int,
        weights: Floats | None = None,
    ) -> BoostedLinearPredictor:
        if n_classes is not None:
            raise PredictorError(
                f"The predictor {self.name!r} is for values, and there are {n_classes} classes. "
                "Choose 'boosting' or 'linear' for classes."
            )
        linear = self.linear.fit(features, labels, None, seed, weights)
        residuals = labels - linear.predict(features)
        rest = self.boosting.fit(features, residuals, None, seed, weights)
        return BoostedLinearPredictor(linear, rest)


@dataclass(frozen=True, eq=False)
class NeighboursPredictor(Saved, Predictor):
    """Rows that are remembered."""

    kind: ClassVar[str] = "neighbours"
    name: ClassVar[str] = "neighbours"  # type: ignore[misc]
    rows: Floats  # (n, p)
    answers: Floats  # (n, classes) ones and zeros, or (n, outputs) values
    weights: Floats  # (n,) how much a row's answer counts
    prior: Floats | None  # (classes,) counts as one neighbour: five who agree are not certain

    def predict(self, features: Floats) -> Floats:
        if not len(features):
            return np.empty((0, self.answers.shape[1]))
        n_neighbours = min(5, len(self.rows))  # scikit-learn's default
        search = NearestNeighbors(n_neighbors=n_neighbours, algorithm="brute").fit(self.rows)
        nearest = search.kneighbors(features, return_distance=False)
        weights = self.weights[nearest][:, :, None]
        share = (weights * self.answers[nearest]).sum(axis=1) / weights.sum(axis=1)
        if self.prior is None:
            return share
        return (n_neighbours * share + self.prior) / (n_neighbours + 1)

    def _check_state(self) -> None:
        rows, answers, weights = self.rows, self.answers, self.weights
        fits = rows.ndim == answers.ndim == 2 and weights.shape == (len(rows),)
        if not fits or len(rows) != len(answers) or not len(rows):
            raise ValueError("the rows do not fit their answers and weights")
        if self.prior is not None and self.prior.shape != (answers.shape[1],):
            raise ValueError("the prior does not fit the classes")
        if not (weights > 0).all():
            raise ValueError("a row counts for nothing")


@dataclass(frozen=True)
class NeighboursLearner(Learner):
    """The mean answer of the five rows that are nearest, for pictures and signals."""

    rounds: ClassVar[dict[str, Round]] = {"full": Round(4)}
    grids: ClassVar[str] = "only"

    name: str = "neighbours"

    def fit(
        self,
        features: Floats,
        labels: NDArray,
        n_classes: int | None,
        seed: int,
        weights: Floats | None = None,
    ) -> NeighboursPredictor:
        features, labels, weights = weighted_rows(features, labels, weights)
        if weights is None:
            weights = np.ones(len(features))
        rows = np.array(features, dtype=np.float64)
        if n_classes is None:
            return NeighboursPredictor(rows, np.array(labels, dtype=np.float64), weights, None)
        answers = np.eye(n_classes)[labels]
        prior = weights @ answers / weights.sum()
        return NeighboursPredictor(rows, answers, weights, prior)


def learner_for(predictor: Any, task: Task) -> Learner:
    """The learner that a parameter asks for, by name or by an estimator of the user's."""
    if isinstance(predictor, str):
        known = PREDICTORS[predictor]
        return known if isinstance(known, Learner) else OwnLearner(known)
    check_estimator(predictor, task)
    return EstimatorLearner(type(predictor).__name__, predictor)

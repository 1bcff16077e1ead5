"""Linear rules and estimators like those of scikit-learn as learners: a user's own, and those tried
by default."""

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
from scipy.linalg import eigh
from scipy.special import softmax
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

from domindex.arrays import Floats, Ints
from domindex.cluster import on_this_machine
from domindex.committee.learners.base import (
    PREDICTORS,
    LabelledRows,
    Learner,
    OwnLearner,
    Predictor,
    Round,
)
from domindex.errors import InputError, PredictorError
from domindex.inputs.domain_data import InputLayout, Task
from domindex.persistence.estimator_bytes import estimator_bytes, estimator_from_bytes
from domindex.persistence.saved import Saved

if TYPE_CHECKING:
    from torch import nn
    from typing_extensions import Self


def solve_ridge(
    rows: Floats, values: Floats, weights: Floats, penalty: float
) -> tuple[Floats, Floats]:
    """Slopes C (p, outputs) and intercept c: min Σ wᵢ |yᵢ − zᵢ·C − c|² + λ |C|², Σ w = 1."""
    weights = weights + 1e-12  # rows which all count for nothing still have a mean
    weights = weights / weights.sum()
    centre, mean = weights @ rows, weights @ values
    weighted = ((rows - centre) * weights[:, None]).T
    eigenvalues, vectors = eigh(weighted @ (rows - centre))
    products = vectors.T @ (weighted @ (values - mean))
    slopes = vectors @ (products / (np.maximum(eigenvalues, 0.0) + penalty)[:, None])
    return slopes, mean - centre @ slopes


@dataclass(frozen=True, eq=False)
class LinearPredictor(Saved, Predictor):
    """y = (x − centre) · slopes + intercept."""

    kind: ClassVar[str] = "linear"
    name: ClassVar[str] = "linear"  # type: ignore[misc]
    centre: Floats  # (p,) the mean of the rows that were learned from
    slopes: Floats  # (p, classes) or (p, outputs)
    intercept: Floats  # (classes,) or (outputs,); −∞ for a class that was not there to learn from
    is_class: bool  # whether the outputs are log-odds

    def predict(self, features: Floats) -> Floats:
        raw = (features - self.centre) @ self.slopes + self.intercept
        return softmax(raw, axis=1) if self.is_class else raw

    def torch_module(self) -> nn.Module:
        import torch
        from torch import nn

        layer = nn.Linear(*self.slopes.shape).double()
        with torch.no_grad():
            layer.weight.copy_(torch.tensor(self.slopes.T))
            layer.bias.copy_(torch.tensor(self.intercept - self.centre @ self.slopes))
        return nn.Sequential(layer, nn.Softmax(dim=1)) if self.is_class else layer

    def _check_state(self) -> None:
        shape = (*self.centre.shape, *self.intercept.shape)
        if self.slopes.ndim != 2 or shape != self.slopes.shape:
            raise ValueError("the slopes do not fit the intercept and the centre")
        usable = np.isfinite(self.slopes).all() and np.isfinite(self.centre).all()
        if self.centre.ndim != 1 or not usable:
            raise ValueError("the slopes are no numbers")


@dataclass(frozen=True)
class LinearLearner(Learner):
    """On features of unit variance: min mean(log loss) + penalty/2 · |slopes|² for classes, and for
    values min mean(|error|²) + penalty · |slopes|². Means are weighted where rows are."""

    is_family: ClassVar[bool] = True
    extrapolates: ClassVar[bool] = True
    on_encoding: ClassVar[bool] = True
    may_balance: ClassVar[bool] = True
    rounds: ClassVar[dict[str, Round]] = {"full": Round(0), "quick": Round(0)}

    penalty: float = 1e-3  # of the slopes
    name: str = "linear"
    same_units: bool = False  # one number divides all features: dark cells are not blown up
    together: int = 0  # one number divides the last so many: they are one point of the map

    def __post_init__(self) -> None:
        if not (np.isfinite(self.penalty) and self.penalty > 0):
            raise InputError(f"penalty is {self.penalty!r}. Choose a finite number above 0.")

    def for_layout(self, layout: InputLayout) -> LinearLearner:
        return replace(self, same_units=True) if layout.is_grid else self

    def with_map_coordinates(self, count: int) -> LinearLearner:
        return replace(self, together=count)

    def variants(self, penalties: tuple[float, ...]) -> list[Learner]:
        return [replace(self, penalty=penalty) for penalty in penalties]

    def fit_rows(self, rows: LabelledRows) -> LinearPredictor:
        features, labels, n_classes, _, weights = rows
        weights = np.ones(len(features)) if weights is None else weights
        centre = np.average(features, axis=0, weights=weights)
        scale = np.sqrt(np.average((features - centre) ** 2, axis=0, weights=weights))
        if self.same_units:
            scale = np.full(len(scale), np.sqrt(np.mean(scale**2)))
        if self.together:
            scale[-self.together :] = np.sqrt(np.mean(scale[-self.together :] ** 2))
        size = np.abs(features).max(axis=0)
        scale = np.where(scale > 1e-12 * size, scale, np.inf)  # constant up to rounding
        scaled = (features - centre) / scale
        if n_classes is None:
            slopes, intercept = solve_ridge(scaled, labels, weights, self.penalty)
        else:
            slopes, intercept = self._log_odds(scaled, labels, n_classes, weights)
        return LinearPredictor(centre, slopes / scale[:, None], intercept, n_classes is not None)

    def _log_odds(
        self, scaled: Floats, labels: NDArray, n_classes: int, weights: Floats
    ) -> tuple[Floats, Floats]:
        """Slopes (p, classes) and intercept (classes,) of the classes that are there."""
        slopes, intercept = np.zeros((scaled.shape[1], n_classes)), np.full(n_classes, -np.inf)
        present = np.unique(labels)
        if len(present) == 1:
            intercept[present] = 0.0
            return slopes, intercept
        strength = 1 / (self.penalty * weights.sum())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            logistic = LogisticRegression(C=strength, max_iter=1000)
            logistic.fit(scaled, labels, sample_weight=weights)
        coefficients, offsets = logistic.coef_, logistic.intercept_
        if len(present) == 2:
            coefficients = np.vstack([-coefficients, coefficients]) / 2
            offsets = np.concatenate([-offsets, offsets]) / 2
        slopes[:, present], intercept[present] = coefficients.T, offsets
        return slopes, intercept


@dataclass(frozen=True)
class LinearMixture(Learner):
    """Linear rules that differ in their penalty alone, their slopes averaged by their shares."""

    is_family: ClassVar[bool] = True
    extrapolates: ClassVar[bool] = True
    rules: tuple[LinearLearner, ...]
    shares: tuple[float, ...]
    name: str = "linear"

    def fit_rows(self, rows: LabelledRows) -> LinearPredictor:
        fitted = [rule.fit_rows(rows) for rule in self.rules]
        slopes, intercept = (
            np.tensordot(self.shares, np.stack([getattr(one, name) for one in fitted]), axes=1)
            for name in ("slopes", "intercept")
        )
        return replace(fitted[0], slopes=slopes, intercept=intercept)

    def mixed(self, predicted: Floats, is_class: bool) -> Floats:
        """(n, columns): the mean of what its rules predict (rules, n, columns), geometric for
        classes. Where rules are sure of different ones, what is nearly 0 counts."""
        if not is_class:
            return np.tensordot(self.shares, predicted, axes=1)
        known = np.maximum(predicted, np.finfo(np.float64).tiny)
        return softmax(np.tensordot(self.shares, np.log(known), axes=1), axis=1)


def check_estimator(estimator: Any, task: Task) -> None:
    """Refuse what cannot be fitted for `task`; nothing is fitted here."""
    if isinstance(estimator, type):
        raise InputError(
            f"predictor is the class {estimator.__name__}. Pass an instance of it: "
            f"{estimator.__name__}()."
        )
    name = type(estimator).__name__
    methods = ("fit", "predict")
    missing = [one for one in methods if not callable(getattr(estimator, one, None))]
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
    """What `fit` calls the weights of rows; None where it takes none."""
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
    present: Ints | None = None  # (k,) classes that were learned from; None for values

    def predict(self, features: Floats) -> Floats:
        if features.ndim != 2 or features.shape[1] != self.n_features:
            raise self._error(f"was given shape {features.shape} for {self.n_features} features")
        if self.present is not None:
            return self._probabilities(features, self.present)
        shape = len(features), self.n_outputs // len(self.estimators)
        parts = []
        for estimator in self.estimators:
            with blamed(self.name, "predict"):
                part = np.asarray(estimator.predict(features), dtype=np.float64)
            part = part[:, None] if part.ndim == 1 else part
            parts.append(self._require(part, shape, "values"))
        return np.hstack(parts)

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
        estimators, present = estimator_from_bytes(state["estimators"]), state["present"]
        n_features, n_outputs = int(state["n_features"]), int(state["n_outputs"])
        expected = [1, n_outputs]
        if present is not None:
            present = np.array(present, dtype=np.int64)
            expected = [1 if len(present) > 1 else 0]
            steps = np.diff(present, prepend=-1, append=n_outputs)
            if present.ndim != 1 or not len(present) or (steps < 1).any():
                raise ValueError("the classes that were learned from are not among all classes")
        if not isinstance(estimators, list) or len(estimators) not in expected:
            raise ValueError("there are not as many estimators as outputs")
        if n_features < 1 or n_outputs < 1:
            raise ValueError("an estimator has no features or no outputs")
        return cls(str(state["name"]), tuple(estimators), n_features, n_outputs, present)

    def _probabilities(self, features: Floats, present: Ints) -> Floats:
        result = np.zeros((len(features), self.n_outputs))
        if not self.estimators:
            result[:, present] = 1.0
            return result
        (estimator,) = self.estimators
        with blamed(self.name, "predict"):
            raw = np.asarray(estimator.predict_proba(features), dtype=np.float64)
            order = np.asarray(getattr(estimator, "classes_", range(len(present))), dtype=np.int64)
        self._require(raw, (len(features), len(present)), "probabilities")
        if not np.array_equal(np.sort(order), np.arange(len(present))):
            raise self._error(f"has other classes_ than it was given: {order!r:.80}")
        total = raw.sum(axis=1, keepdims=True)
        if (raw < -1e-9).any() or (total <= 0).any():
            raise self._error("returned probabilities that are negative or all 0")
        result[:, present[order]] = np.maximum(raw, 0.0) / total
        return result

    def _require(self, array: Floats, shape: tuple[int, int], what: str) -> Floats:
        if array.shape != shape:
            raise self._error(f"returned {what} of shape {array.shape} where {shape} was expected")
        if not np.isfinite(array).all():
            raise self._error(f"returned {what} with NaN or infinity")
        return array

    def _error(self, what: str) -> PredictorError:
        return PredictorError(
            f"The predictor {self.name!r} {what}. Check its parameters, or choose another."
        )


@dataclass(frozen=True, eq=False)
class EstimatorLearner(Learner):
    """Fits copies of `estimator`, one an output where it takes a single one. Class numbers come
    without gaps, as some estimators want them; where random_state is None, it is the seed."""

    name: str
    estimator: Any

    def fit_rows(self, rows: LabelledRows) -> EstimatorPredictor:
        n_features = rows.features.shape[1]
        if rows.n_classes is not None:
            present, numbers = np.unique(rows.labels, return_inverse=True)
            present = present.astype(np.int64)
            fitted = () if len(present) == 1 else (self._fitted(rows, numbers),)
            return EstimatorPredictor(self.name, fitted, n_features, rows.n_classes, present)
        n_outputs = rows.labels.shape[1]
        has_tags = hasattr(self.estimator, "__sklearn_tags__")
        if n_outputs > 1 and has_tags and get_tags(self.estimator).target_tags.multi_output:
            fitted = (self._fitted(rows, rows.labels),)
        else:
            fitted = tuple(self._fitted(rows, column) for column in rows.labels.T)
        return EstimatorPredictor(self.name, fitted, n_features, n_outputs)

    def _fitted(self, rows: LabelledRows, labels: NDArray) -> Any:
        further = {}
        if rows.weights is not None:
            argument = weight_argument(self.estimator)
            if argument is None:
                raise InputError(
                    f"The predictor {self.name!r} cannot weigh rows: the fit of "
                    f"{type(self.estimator).__name__} has no sample_weight. Fit it without "
                    "weights, or choose another."
                )
            further[argument] = rows.weights
        with blamed(self.name, "fit"):
            fresh = _copy(self.estimator, rows.seed)
            fresh.fit(rows.features, np.ascontiguousarray(labels), **further)
        return fresh


@contextmanager
def blamed(name: str, task: str) -> Iterator[None]:
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
    names = [name for name, value in fresh.get_params().items() if value is None]
    unset = [name for name in names if f"__{name}".endswith("__random_state")]
    return fresh.set_params(**dict.fromkeys(unset, seed)) if unset else fresh


class StandardLearner(Learner):
    """Fits an estimator of scikit-learn that it sets for the rows."""

    @abstractmethod
    def estimator(self, features: Floats, is_class: bool) -> Any:
        """Unfitted, for the rows (n, p) that count."""

    def fit_rows(self, rows: LabelledRows) -> EstimatorPredictor:
        estimator = self.estimator(rows.features, rows.n_classes is not None)
        return EstimatorLearner(self.name, estimator).fit_rows(rows)


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

    def fit_rows(self, rows: LabelledRows) -> EstimatorPredictor:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return super().fit_rows(rows)


@dataclass(frozen=True)
class TreesLearner(StandardLearner):
    """100 extremely randomised trees on one core, no leaf of a single row."""

    is_family: ClassVar[bool] = True
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

    is_family: ClassVar[bool] = True
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
    For values only: probabilities have no residuals that could be added up."""

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

    def fit_rows(self, rows: LabelledRows) -> BoostedLinearPredictor:
        if rows.n_classes is not None:
            raise PredictorError(
                f"The predictor {self.name!r} is for values, and there are {rows.n_classes} "
                "classes. Choose 'boosting' or 'linear' for classes."
            )
        linear = self.linear.fit_rows(rows)
        residuals = rows.labels - linear.predict(rows.features)
        return BoostedLinearPredictor(
            linear, self.boosting.fit_rows(rows._replace(labels=residuals))
        )


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
        if not fits or not len(rows) == len(answers) > 0:
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

    def fit_rows(self, rows: LabelledRows) -> NeighboursPredictor:
        remembered = np.array(rows.features, dtype=np.float64)
        weights = np.ones(len(remembered)) if rows.weights is None else rows.weights
        if rows.n_classes is None:
            answers, prior = np.array(rows.labels, dtype=np.float64), None
        else:
            answers = np.eye(rows.n_classes)[rows.labels]
            prior = weights @ answers / weights.sum()
        return NeighboursPredictor(remembered, answers, weights, prior)


def learner_for(predictor: Any, task: Task) -> Learner:
    """The learner that a parameter asks for, by name or by an estimator of the user's."""
    if isinstance(predictor, str):
        known = PREDICTORS[predictor]
        if not isinstance(known, Learner):
            return OwnLearner(known)
        if not known.is_installed:
            raise InputError(
                f"The predictor {predictor!r} needs {known.package}, which is not installed. "
                "Run pip install 'domindex[boosting]', or choose another."
            )
        return known
    check_estimator(predictor, task)
    return EstimatorLearner(type(predictor).__name__, predictor)

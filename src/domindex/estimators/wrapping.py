"""Any scikit-learn model on represented source rows; `MomentFlow`, of which a flow aligns them."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Hashable, Iterable
from copy import copy
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import TransformerMixin, clone, is_classifier
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from domindex.arrays import Floats
from domindex.errors import FlowWarning, InputError
from domindex.estimators.base import DomainEstimator, Names
from domindex.estimators.streaming import streams
from domindex.geometry.domain_geometry import DomainGeometry
from domindex.geometry.domain_map import LandmarkError
from domindex.geometry.scaling import DomainIndex
from domindex.inputs import DomainData, group_rows
from domindex.inputs.domain_data import Task
from domindex.inputs.messages import frames_inside
from domindex.inputs.parameters import MAX_DIMENSIONS, check_running, require_counts
from domindex.representations import PlacedRows, RepresentedRows
from domindex.representations.flow import FlowAligned
from domindex.representations.map_rows import rows_for_map

if TYPE_CHECKING:
    from typing_extensions import Self


def _has_estimator(self: WrappingEstimator) -> bool:
    if self.estimator is None:
        raise AttributeError(
            f"{type(self).__name__} has no estimator, so it transforms and does not predict. Pass "
            f"one, such as {type(self).__name__}(LogisticRegression())."
        )
    return True


def check_wrapped(estimator: Any) -> None:
    """Refuse what cannot be fitted and predict; None is no estimator at all."""
    needed = [getattr(estimator, name, None) for name in ("fit", "predict")]
    if estimator is not None and (isinstance(estimator, type) or not all(map(callable, needed))):
        raise InputError(
            f"estimator is {estimator!r:.60}. Pass a classifier or a regressor like those of "
            "scikit-learn, such as LogisticRegression(), or None."
        )


def held_out_score(
    estimator: Any, rows: NDArray, labels: NDArray, domains: NDArray, most_rows: int = 2000
) -> float | None:
    """Accuracy, or share of the variance, in domains held out in three groups from the others.

    None where there are no two domains, or the estimator cannot be fitted on some.
    """
    names, scores = np.unique(domains), list[float]()
    for group in range(min(3, len(names)) if len(names) > 1 else 0):
        held = np.isin(domains, names[group::3])
        seen = np.flatnonzero(~held)
        seen = seen[:: -(-len(seen) // most_rows)]
        try:
            predicted = clone(estimator).fit(rows[seen], labels[seen]).predict(rows[held])
        except Exception:  # of a class of the user's: a group without some class, for one
            return None
        truth = labels[held]
        if is_classifier(estimator):
            scores.append(float(np.mean(predicted == truth)))
        else:
            gaps = ((np.asarray(predicted).reshape(truth.shape) - truth) ** 2).mean()
            scores.append(1.0 - float(gaps / (labels.var(axis=0).mean() or 1.0)))
    return float(np.mean(scores)) if scores else None


class WrappingEstimator(DomainEstimator):
    """Represents rows, and leaves the rest to `estimator`."""

    estimator: Any

    def _fit_data(self, data: DomainData) -> None:
        self._fit_representation(data)
        if self.estimator is None:
            return
        sources = data.row_is_source
        rows = self._represent(data.inputs, data.row_names).part(sources)
        labels = data.labels[sources]
        if data.classes is not None:
            labels = data.classes[labels]
        else:
            labels = rows.normalize(labels)
            labels = labels[:, 0] if data.single_output else labels
        self.estimator_ = clone(self.estimator).fit(rows.features, labels)
        domains = data.row_domains[sources]
        inputs = self._in_own_columns(data.inputs[sources].reshape(len(labels), -1))
        self._check_fitted(rows.features, inputs, labels, domains)

    def _check_fitted(
        self, features: Floats, inputs: NDArray, labels: NDArray, domains: NDArray
    ) -> None:
        """Look at what was fitted, by rows of the sources."""

    @abstractmethod
    def _fit_representation(self, data: DomainData) -> None:
        """Learn to represent rows."""

    @abstractmethod
    def _represent(self, inputs: NDArray, names: Names) -> RepresentedRows:
        """Rows as the estimator is given them."""

    @available_if(_has_estimator)
    @streams
    def predict(self, X: Any, *, sample_domain: Any = None) -> NDArray:
        """Classes or values of every row; a domain never seen is represented by these rows.

        Examples
        --------
        >>> moment_flow.predict(data.X, **rows).shape
        (100,)
        """
        rows = self._represent(*self._check_query(X, sample_domain, warn=True))
        predicted = np.asarray(self.estimator_.predict(rows.features))
        if self.task_ == "classification":
            return predicted
        restored = rows.restore(predicted.reshape(len(predicted), -1))
        return restored[:, 0] if self._single_output else restored

    @available_if(lambda self: hasattr(self.estimator, "predict_proba"))
    @streams
    def predict_proba(self, X: Any, *, sample_domain: Any = None) -> Floats:
        """The estimator's probabilities, in the order of `classes_`.

        Examples
        --------
        >>> moment_flow.predict_proba(data.X, **rows).shape
        (100, 2)
        """
        return self._predict_mean(*self._check_query(X, sample_domain, warn=True))

    def _predict_mean(self, inputs: NDArray, names: Names) -> Floats:
        features = self._represent(inputs, names).features
        return np.asarray(self.estimator_.predict_proba(features))

    def _task_to_fit(self) -> Task | None:
        if self.estimator is None:
            return None
        return "classification" if is_classifier(self.estimator) else "regression"


class MomentFlow(TransformerMixin, WrappingEstimator):
    """Bring every domain to one place along a flow solved from moments: seconds, no training.

    `transform` gives inputs aligned by an affine flow along a geodesic map of the domains. With an
    `estimator`, that is fitted on the aligned sources and predicts in every domain.

    Parameters
    ----------
    estimator : any scikit-learn classifier or regressor, or None for the transformer alone
    index_dim : components of the map
    n_jobs : processes for transport distances, as in joblib

    Attributes
    ----------
    domains_, source_domains_ : names of all domains, and of those with labels
    domain_indices_, domain_index_ : (domains, index_dim), the map; the same as a `DomainIndex`
    domain_angles_ : (domains,) around the ring where the map closes; None where it does not
    held_out_scores_ : how the estimator predicts sources that it has not seen, behind the flow and
        as they are: accuracy, or share of the variance. A warning says where the flow does harm.
        None where there are no two sources, or no estimator
    family_ : the family of the chosen flow
    misfit_ : how far the aligned domains are apart, relative to chance; about 1 is perfect
    estimator_ : the fitted estimator

    Examples
    --------
    >>> from domindex import MomentFlow
    >>> model = MomentFlow().fit(data.X, data.y, **rows, source_domains=[0, 1, 2])
    >>> model.domain_indices_.shape
    (5, 2)
    """

    __metadata_request__transform: ClassVar = {"sample_domain": True}

    held_out_scores_: tuple[float, ...] | None
    domain_index_: DomainIndex
    _placed: dict[Hashable | None, tuple[Floats, float | None]]  # domains on the map and its ring

    def __init__(
        self, estimator: Any = None, *, index_dim: int = 2, n_jobs: int | None = None
    ) -> None:
        self.estimator, self.index_dim, self.n_jobs = estimator, index_dim, n_jobs

    def fit_transform(
        self,
        X: Any,
        y: Any = None,
        *,
        sample_domain: Any = None,
        source_domains: Iterable[Hashable] | None = None,
    ) -> Floats:
        """`fit`, then the same rows at β = 0.

        Examples
        --------
        >>> from domindex import MomentFlow
        >>> MomentFlow().fit_transform(data.X, data.y, **rows, source_domains=[0, 1, 2]).shape
        (100, 2)
        """
        self.fit(X, y, sample_domain=sample_domain, source_domains=source_domains)
        return self.transform(X, sample_domain=sample_domain)

    @streams
    def transform(self, X: Any, *, sample_domain: Any = None) -> Floats:
        """Inputs at β = 0; domains never seen are placed on the map first.

        Examples
        --------
        >>> moment_flow.transform(data.X, **rows).shape
        (100, 2)
        """
        return self._represent(*self._check_query(X, sample_domain, warn=True)).features

    def get_feature_names_out(self, input_features: Any = None) -> NDArray:
        """Names of what `transform` gives, for `set_output`: those of the prepared inputs.

        Examples
        --------
        >>> moment_flow.get_feature_names_out().tolist()
        ['x0', 'x1']
        """
        check_is_fitted(self)
        if self._preparation is not None:
            return np.array(self._preparation.features, dtype=object)
        return np.asarray(_check_feature_names_in(self, input_features), dtype=object)

    def _check_parameters(self) -> None:
        check_running(self)
        require_counts(self, "index_dim", most=MAX_DIMENSIONS)
        check_wrapped(self.estimator)

    def _put_in_order(self, names: tuple[Hashable, ...]) -> None:
        super()._put_in_order(names)
        index: DomainIndex = self.domain_index_.in_order(names)
        self.domain_index_ = index
        self.domain_indices_, self.domain_angles_ = index.coordinates, index.angles

    def _fit_representation(self, data: DomainData) -> None:
        self.held_out_scores_ = None
        self._geometry = geometry = DomainGeometry.fit(
            data, self.index_dim, map_rows=rows_for_map(data), n_jobs=self.n_jobs
        )
        self._aligned = FlowAligned.fit(data, geometry)
        index = self.domain_index_ = geometry.domain_map.index
        self.domain_indices_, self.domain_angles_ = index.coordinates, index.angles
        angles = [None] * len(index.domains) if index.angles is None else index.angles.tolist()
        self._placed = dict(zip(index.domains, zip(index.coordinates, angles)))
        followed = geometry.selected.around or geometry.selected
        self.family_, self.misfit_ = followed.flow.family, followed.misfit

    def _check_fitted(
        self, features: Floats, inputs: NDArray, labels: NDArray, domains: NDArray
    ) -> None:
        behind = held_out_score(self.estimator, features, labels, domains)
        plain = held_out_score(self.estimator, inputs, labels, domains)
        if behind is None or plain is None:
            return
        self.held_out_scores_ = (behind, plain)
        if behind < plain - 0.02:  # more than the luck of a fold
            what = (
                "accuracy" if is_classifier(self.estimator) else "share of the variance explained"
            )
            warnings.warn(
                f"The flow does not fit these domains: of sources that it had not seen, "
                f"{type(self.estimator).__name__} predicts less behind it ({what} {behind:.2f}) "
                f"than as they are ({plain:.2f}), and targets will fare no better. Fit it without "
                "MomentFlow, or let CrossDomainClassifier or CrossDomainRegressor choose.",
                FlowWarning,
                stacklevel=frames_inside(),
            )

    @property
    def landmark_error_(self) -> LandmarkError | None:
        """How well a map of more than 500 domains follows exact distances; None of fewer.

        Examples
        --------
        >>> moment_flow.landmark_error_ is None
        True
        """
        return self._geometry.domain_map.landmark_error

    def _represent(self, inputs: NDArray, names: Names) -> RepresentedRows:
        placed = {
            name: self._placed.get(name) or self._place(inputs[rows])
            for name, rows in group_rows(names, len(inputs))
        }
        places = {name: place for name, (place, _) in placed.items()}
        angles = {name: angle for name, (_, angle) in placed.items() if angle is not None}
        rows = PlacedRows.of(inputs, names, places, angles or None)
        return RepresentedRows.plain(self._in_own_columns(self._aligned.align(rows)))

    def _settled(self, X: Any, names: list[Hashable]) -> Self:
        """A copy that knows where the new domains of these rows lie."""
        settled, inputs = copy(self), self._check_query(X, names)[0]
        new = {name: self._place(inputs[rows]) for name, rows in group_rows(names, len(inputs))}
        settled._placed = {**self._placed, **new}
        return settled

    def _place(self, inputs: NDArray) -> tuple[Floats, float | None]:
        """On the map and around its ring, where a new domain with these rows belongs."""
        domain_map = self._geometry.domain_map
        local = self._geometry.scaler.apply_flat(inputs) @ self._geometry.projection.matrix
        angles = domain_map.angles_of([local])
        return domain_map.locate(local), None if angles is None else float(angles[0])

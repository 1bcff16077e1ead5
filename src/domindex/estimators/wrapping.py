"""Any scikit-learn model, fitted on represented source rows and used everywhere."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone, is_classifier
from sklearn.utils.metaestimators import available_if

from domindex.arrays import Floats
from domindex.errors import InputError
from domindex.estimators.base import DomainEstimator, Names
from domindex.estimators.streaming import streams
from domindex.inputs import DomainData
from domindex.inputs.domain_data import Task
from domindex.representations import RepresentedRows


def _has_estimator(self: WrappingEstimator) -> bool:
    if self.estimator is None:
        raise AttributeError(
            f"{type(self).__name__} has no estimator, so it transforms and does not predict. Pass "
            f"one, such as {type(self).__name__}(LogisticRegression())."
        )
    return True


def check_wrapped(estimator: Any) -> None:
    """Refuse what cannot be fitted and predict; None is no estimator at all."""
    if estimator is None:
        return
    if isinstance(estimator, type) or not (
        callable(getattr(estimator, "fit", None)) and callable(getattr(estimator, "predict", None))
    ):
        raise InputError(
            f"estimator is {estimator!r:.60}. Pass a classifier or a regressor like those of "
            "scikit-learn, such as LogisticRegression(), or None."
        )


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

    @abstractmethod
    def _fit_representation(self, data: DomainData) -> None:
        """Learn to represent rows."""

    @abstractmethod
    def _represent(self, inputs: NDArray, names: Names) -> RepresentedRows:
        """Rows as the estimator is given them."""

    @available_if(_has_estimator)
    @streams
    def predict(self, X: Any, *, sample_domain: Any = None) -> NDArray:
        """Classes or values of every row, in the units of y.

        A domain never seen is represented by the rows given here; without `sample_domain` all rows
        are one new domain, with a warning.

        Examples
        --------
        >>> moment_flow.predict(data.X, **rows).shape
        (100,)
        """
        rows = self._represent(*self._query_with_domains(X, sample_domain))
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
        return self._predict_mean(*self._query_with_domains(X, sample_domain))

    @available_if(_has_estimator)
    def score(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        sample_domain: Any = None,
    ) -> float:
        """Mean accuracy of `predict`, or R² averaged over outputs; only with an estimator.

        Examples
        --------
        >>> 0.0 <= moment_flow.score(data.X, data.y, **rows) <= 1.0
        True
        """
        return super().score(X, y, sample_weight, sample_domain=sample_domain)

    def _predict_mean(self, inputs: NDArray, names: Names) -> Floats:
        features = self._represent(inputs, names).features
        return np.asarray(self.estimator_.predict_proba(features))

    def _task_to_fit(self) -> Task | None:
        if self.estimator is None:
            return None
        return "classification" if is_classifier(self.estimator) else "regression"

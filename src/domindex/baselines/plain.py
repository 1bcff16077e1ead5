"""What a user tries first: any scikit-learn model, fitted on the sources and used everywhere."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from domindex.data import (
    DomainData,
    check_domain_data,
    check_domain_names,
    check_inputs,
    group_rows,
)
from domindex.data.domain_data import Task
from domindex.data.normalizing import Normalization, NormalizedRows, RowNormalizer
from domindex.errors import InputError

if TYPE_CHECKING:
    from typing_extensions import Self

Floats = NDArray[np.float64]


def _gives_probabilities(self: PlainBaseline) -> bool:
    return hasattr(self.estimator, "predict_proba")


class PlainBaseline(BaseEstimator):
    """A scikit-learn model on the rows of all sources together, with two cheap aids.

    >>> model = PlainBaseline(Ridge(), normalize="rows")              # doctest: +SKIP
    >>> model.fit(X, y, sample_domain=states, source_domains=["WA"])  # doctest: +SKIP
    >>> model.predict(X, sample_domain=states)                        # doctest: +SKIP

    Parameters
    ----------
    estimator : any scikit-learn classifier or regressor
    with_domain_means : append the mean input of its domain to every row, the simplest thing that
        tells one domain from another and says something about domains without labels
    normalize : how rows are normalised first: "none", "row_means", "rows" or "domains". A
        regressor's outputs must share the units of the inputs: they are normalised with the same
        two numbers, and predictions restored.

    Attributes
    ----------
    estimator_ : the fitted estimator
    domains_, source_domains_ : domain names
    classes_ : class labels in order, of a classifier only
    """

    __metadata_request__fit: ClassVar = {"sample_domain": True, "source_domains": True}
    __metadata_request__predict: ClassVar = {"sample_domain": True}
    __metadata_request__predict_proba: ClassVar = {"sample_domain": True}

    def __init__(
        self,
        estimator: Any,
        *,
        with_domain_means: bool = False,
        normalize: Normalization = "none",
    ) -> None:
        self.estimator = estimator
        self.with_domain_means = with_domain_means
        self.normalize = normalize

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        sample_domain: Any = None,
        source_domains: Iterable[Hashable] | None = None,
    ) -> Self:
        """Fit the estimator on the source rows; targets lend their inputs' means only."""
        task: Task = "classification" if is_classifier(self.estimator) else "regression"
        data = check_domain_data(X, y, sample_domain, source_domains, task=task)
        self._normalizer = RowNormalizer.fit(self.normalize, data)
        rows = self._normalizer.split(data.inputs, data.row_names)
        self._means = {
            name: rows.shapes[members].mean(axis=0)
            for name, members in zip(data.domains, data.rows_by_domain())
        }
        features = self._features(rows, data.row_names)[data.row_is_source]
        self.estimator_ = clone(self.estimator).fit(features, self._source_labels(data, rows))
        self._single_output = data.single_output
        self.domains_ = list(data.domains)
        self.source_domains_ = list(data.source_domains)
        self.n_features_in_ = rows.shapes.shape[1]
        if data.classes is not None:
            self.classes_ = np.array(data.classes)
        return self

    def predict(self, X: Any, *, sample_domain: Any = None) -> NDArray:
        """Classes or values of every row, in the units of y.

        The mean of a domain never seen is that of the rows given here; without `sample_domain`
        all rows are one new domain.
        """
        rows, features = self._query(X, sample_domain)
        predicted = np.asarray(self.estimator_.predict(features))
        if is_classifier(self.estimator):
            return predicted
        restored = rows.restore(predicted.reshape(len(predicted), -1))
        return restored[:, 0] if self._single_output else restored

    @available_if(_gives_probabilities)
    def predict_proba(self, X: Any, *, sample_domain: Any = None) -> Floats:
        """Probabilities (rows, classes), in the order of `classes_`."""
        _, features = self._query(X, sample_domain)
        return np.asarray(self.estimator_.predict_proba(features))

    def _source_labels(self, data: DomainData, rows: NormalizedRows) -> NDArray:
        sources = data.row_is_source
        if data.classes is not None:
            return data.classes[data.labels[sources]]
        values = rows.normalize(data.labels)[sources]
        return values[:, 0] if data.single_output else values

    def _query(self, X: Any, sample_domain: Any) -> tuple[NormalizedRows, Floats]:
        check_is_fitted(self, "estimator_")
        inputs = check_inputs(X)
        n_features = int(np.prod(inputs.shape[1:]))
        if n_features != self.n_features_in_:
            raise InputError(
                f"X has {n_features} features, but PlainBaseline is expecting "
                f"{self.n_features_in_} features as input. Pass the columns that fit saw."
            )
        names = None if sample_domain is None else check_domain_names(sample_domain, len(inputs))
        rows = self._normalizer.split(inputs, names)
        return rows, self._features(rows, names)

    def _features(self, rows: NormalizedRows, names: Sequence[Hashable] | None) -> Floats:
        """Shapes (rows, features), the means of their domains beside them where asked for."""
        if not self.with_domain_means:
            return rows.shapes
        means = np.empty_like(rows.shapes)
        for name, members in group_rows(names, len(means)):
            known = self._means.get(name)
            means[members] = rows.shapes[members].mean(axis=0) if known is None else known
        return np.hstack([rows.shapes, means])

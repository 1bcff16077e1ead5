"""The closed form alone: a map, a flow along it, and any scikit-learn model on what it carries."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from domindex.data import check_domain_data, check_domain_names, check_inputs, group_rows
from domindex.data.standardizing import InputScaler
from domindex.geometry import DomainIndex
from domindex.geometry.unrolled import unroll

if TYPE_CHECKING:
    from typing_extensions import Self

Floats = NDArray[np.float64]


def _has_estimator(self: MomentFlow) -> bool:
    return self.estimator is not None


class MomentFlow(TransformerMixin, BaseEstimator):
    """Carry every domain to one place along a flow solved from moments: seconds, no training.

    A geodesic map of the domains, and the affine flow along it of the shortest description; see
    `domindex.geometry.flow`. `transform` gives the carried inputs. With an `estimator`, that is
    fitted on the carried sources and predicts in every domain:

    >>> model = MomentFlow(estimator=LogisticRegression())            # doctest: +SKIP
    >>> model.fit(X, y, sample_domain=states, source_domains=["WA"])  # doctest: +SKIP
    >>> model.predict(X, sample_domain=states)                        # doctest: +SKIP

    Parameters
    ----------
    estimator : any scikit-learn classifier or regressor, or None for the transformer alone
    index_dim : components of the map
    n_jobs : processes for transport distances, as in joblib

    Attributes
    ----------
    domains_ : domain names
    domain_indices_ : (domains, index_dim), the map
    domain_index_ : the same as a `DomainIndex`
    family_ : the family of the chosen flow
    misfit_ : how far the carried domains are apart, relative to chance; about 1 is perfect
    estimator_ : the fitted estimator
    """

    __metadata_request__fit: ClassVar = {"sample_domain": True, "source_domains": True}
    __metadata_request__transform: ClassVar = {"sample_domain": True}
    __metadata_request__predict: ClassVar = {"sample_domain": True}

    def __init__(
        self, estimator: Any = None, *, index_dim: int = 2, n_jobs: int | None = None
    ) -> None:
        self.estimator = estimator
        self.index_dim = index_dim
        self.n_jobs = n_jobs

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        sample_domain: Any = None,
        source_domains: Iterable[Hashable] | None = None,
    ) -> Self:
        """Map the domains and solve for the flow; fit the estimator on the carried sources."""
        data = check_domain_data(X, y, sample_domain, source_domains)
        self._scaler = InputScaler.fit(data)
        scaled = self._scaler.apply(data.inputs)
        clouds = [scaled[rows] for rows in data.rows_by_domain()]
        self._unrolled = unroll(
            data.domains, clouds, self.index_dim, self._scaler.origin, self.n_jobs
        )
        self.domain_index_: DomainIndex = self._unrolled.atlas.index
        self.domains_ = list(data.domains)
        self.domain_indices_ = self.domain_index_.coordinates
        self.family_ = self._unrolled.choice.flow.family
        self.misfit_ = self._unrolled.choice.misfit
        self.n_features_in_ = scaled.shape[1]
        if self.estimator is not None:
            sources = data.row_is_source
            carried = self._carry(scaled, data.row_names)[sources]
            labels = data.labels[sources]
            if data.classes is not None:
                labels = data.classes[labels]
            elif data.single_output:
                labels = labels[:, 0]
            self.estimator_ = clone(self.estimator).fit(carried, labels)
        return self

    def transform(self, X: Any, *, sample_domain: Any = None) -> Floats:
        """Inputs carried to β = 0; domains never seen are placed on the map first."""
        check_is_fitted(self)
        inputs = check_inputs(X)
        names = None if sample_domain is None else check_domain_names(sample_domain, len(inputs))
        return self._carry(self._scaler.apply(inputs), names)

    @available_if(_has_estimator)
    def predict(self, X: Any, *, sample_domain: Any = None) -> NDArray:
        """The estimator's prediction on the carried inputs."""
        return self.estimator_.predict(self.transform(X, sample_domain=sample_domain))

    @available_if(_has_estimator)
    def predict_proba(self, X: Any, *, sample_domain: Any = None) -> NDArray:
        """The estimator's probabilities on the carried inputs."""
        return self.estimator_.predict_proba(self.transform(X, sample_domain=sample_domain))

    def _carry(self, scaled: Floats, names: list[Hashable] | None) -> Floats:
        result = np.empty((len(scaled), self._unrolled.projection.matrix.shape[1]))
        for name, rows in group_rows(names, len(scaled)):
            index = self.domain_index_.find(name)
            if index is None:
                index = self._unrolled.locate(scaled[rows])
            result[rows] = self._unrolled.carry(scaled[rows], index)
        return result

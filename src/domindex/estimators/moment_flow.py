"""The closed form alone: a map, a flow along it, and any scikit-learn model on what it aligns."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from copy import copy
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import TransformerMixin
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from domindex.arrays import Floats
from domindex.estimators.base import Names
from domindex.estimators.streaming import streams
from domindex.estimators.wrapping import WrappingEstimator, check_wrapped
from domindex.geometry import DomainIndex
from domindex.geometry.domain_geometry import DomainGeometry
from domindex.geometry.domain_map import LandmarkError
from domindex.inputs import DomainData, group_rows
from domindex.inputs.parameters import MAX_DIMENSIONS, check_running, require_counts
from domindex.representations import PlacedRows, RepresentedRows
from domindex.representations.flow import FlowAligned
from domindex.representations.map_rows import rows_for_map

if TYPE_CHECKING:
    from typing_extensions import Self


class MomentFlow(TransformerMixin, WrappingEstimator):
    """Bring every domain to one place along a flow solved from moments: seconds, no training.

    A geodesic map of the domains, and the affine flow along it of the shortest description; see
    `domindex.geometry.flow`. `transform` gives the aligned inputs. With an `estimator`, that is
    fitted on the aligned sources and predicts in every domain.

    Parameters
    ----------
    estimator : any scikit-learn classifier or regressor, or None for the transformer alone
    index_dim : components of the map
    n_jobs : processes for transport distances, as in joblib

    Attributes
    ----------
    domains_ : domain names
    source_domains_ : names of those with labels
    domain_indices_ : (domains, index_dim), the map
    domain_angles_ : (domains,) around the ring where the map closes; None where it does not
    domain_index_ : the same as a `DomainIndex`
    landmark_error_ : of more than 500 domains, how well the map follows exact distances
    family_ : the family of the chosen flow
    misfit_ : how far the aligned domains are apart, relative to chance; about 1 is perfect
    estimator_ : the fitted estimator

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from domindex import MomentFlow
    >>> model = MomentFlow(LogisticRegression())
    >>> model = model.fit(data.X, data.y, **rows, source_domains=[0, 1, 2])
    >>> model.predict(data.X, **rows).shape
    (100,)
    """

    __metadata_request__transform: ClassVar = {"sample_domain": True}

    _placed: Mapping[Hashable | None, tuple[Floats, float | None]] = MappingProxyType({})
    """Places and angles of new domains, while rows beyond memory are predicted."""

    def __init__(
        self, estimator: Any = None, *, index_dim: int = 2, n_jobs: int | None = None
    ) -> None:
        self.estimator = estimator
        self.index_dim = index_dim
        self.n_jobs = n_jobs

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

        Without `sample_domain` all rows are one new domain, with a warning.

        Examples
        --------
        >>> moment_flow.transform(data.X, **rows).shape
        (100, 2)
        """
        return self._represent(*self._query_with_domains(X, sample_domain)).features

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
        names = _check_feature_names_in(self, input_features)
        return np.asarray(names, dtype=object)

    def _check_parameters(self) -> None:
        check_running(self)
        require_counts(self, "index_dim", most=MAX_DIMENSIONS)
        check_wrapped(self.estimator)

    def _fit_representation(self, data: DomainData) -> None:
        geometry = DomainGeometry.fit(
            data, self.index_dim, map_rows=rows_for_map(data), n_jobs=self.n_jobs
        )
        self._geometry = geometry
        self._aligned = FlowAligned.fit(data, geometry)
        self.domain_index_: DomainIndex = geometry.domain_map.index
        self.domain_indices_ = self.domain_index_.coordinates
        self.domain_angles_ = self.domain_index_.angles
        followed = geometry.selected.around or geometry.selected
        self.family_, self.misfit_ = followed.flow.family, followed.misfit

    @property
    def landmark_error_(self) -> LandmarkError | None:
        """Measured when first asked for, in about a second.

        Examples
        --------
        >>> moment_flow.landmark_error_ is None
        True
        """
        return self._geometry.domain_map.landmark_error

    def _represent(self, inputs: NDArray, names: Names) -> RepresentedRows:
        numbers = {name: number for number, name in enumerate(self.domain_index_.domains)}
        placed = {
            name: self._placed.get(name) or self._place(numbers.get(name), inputs[rows])
            for name, rows in group_rows(names, len(inputs))
        }
        places = {name: place for name, (place, _) in placed.items()}
        angles = {name: angle for name, (_, angle) in placed.items() if angle is not None}
        rows = PlacedRows.of(inputs, names, places, angles or None)
        return RepresentedRows.plain(self._aligned.align(rows))

    def _settled(self, X: Any, names: list[Hashable]) -> Self:
        """A copy that knows where the new domains of these rows lie."""
        settled, inputs = copy(self), self._check_query(X, names)[0]
        groups = group_rows(names, len(inputs))
        settled._placed = {name: self._place(None, inputs[rows]) for name, rows in groups}
        return settled

    def _place(self, number: int | None, inputs: NDArray) -> tuple[Floats, float | None]:
        """On the map and around its ring, or where a new domain with these rows belongs."""
        domain_map, index = self._geometry.domain_map, self.domain_index_
        if number is not None:
            angle = None if index.angles is None else float(index.angles[number])
            return index.coordinates[number], angle
        local = self._geometry.scaler.apply_flat(inputs) @ self._geometry.projection.matrix
        angles = domain_map.angles_of([local])
        return domain_map.locate(local), None if angles is None else float(angles[0])

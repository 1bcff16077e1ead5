"""What a user tries first: any scikit-learn model, fitted on the sources and used everywhere."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from domindex.arrays import Floats
from domindex.errors import InputError
from domindex.estimators.base import Names
from domindex.estimators.wrapping import WrappingEstimator, check_wrapped
from domindex.inputs import DomainData, group_rows
from domindex.inputs.standardizing import InputScaler
from domindex.representations import PlacedRows, Representation, RepresentedRows
from domindex.representations.normalised import (
    SHAPES,
    DomainCentred,
    DomainStandardised,
)

BY_SHAPE = {kind.name: kind for kind in SHAPES}
BY_FEATURE = {kind.name: kind for kind in (DomainCentred, DomainStandardised)}
KNOWN = ("raw", *BY_SHAPE, *BY_FEATURE)


class PlainBaseline(WrappingEstimator):
    """A scikit-learn model on the rows of all sources together, with two cheap aids.

    Parameters
    ----------
    estimator : any scikit-learn classifier or regressor
    with_domain_means : append the mean input of its domain to every row
    representation : "raw", "row_centred", "row_standardised", "domain_scaled", "domain_centred" or
        "domain_standardised". Under the first three after "raw" a regressor's outputs must share
        the units of the inputs

    Attributes
    ----------
    estimator_ : the fitted estimator
    domains_ : domain names
    source_domains_ : names of those with labels
    classes_ : class labels in order, of a classifier only

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from domindex.baselines import PlainBaseline
    >>> model = PlainBaseline(LogisticRegression(), representation="domain_standardised")
    >>> model.fit(data.X, data.y, **rows, source_domains=[0, 1, 2]).classes_
    array([0, 1])
    """

    def __init__(
        self, estimator: Any, *, with_domain_means: bool = False, representation: str = "raw"
    ) -> None:
        self.estimator = estimator
        self.with_domain_means = with_domain_means
        self.representation = representation

    def _may_move_columns(self) -> bool:
        return False  # an estimator of the user's sees them as they are

    def _check_parameters(self) -> None:
        check_wrapped(self.estimator)
        if not isinstance(self.representation, str) or self.representation not in KNOWN:
            raise InputError(
                f"There is no representation {self.representation!r} for plain models; there are "
                f"{', '.join(KNOWN)}. Choose one of these."
            )

    def _fit_representation(self, data: DomainData) -> None:
        self._representation: Representation | None = None
        if self.representation in BY_SHAPE:
            self._representation = BY_SHAPE[self.representation].of(data)
        elif self.representation in BY_FEATURE:
            self._representation = BY_FEATURE[self.representation].of(data, InputScaler.fit(data))
        features = self._represented(data.inputs, data.row_names).features
        self._means = {
            name: features[rows].mean(axis=0)
            for name, rows in zip(data.domains, data.rows_by_domain())
        }

    def _represent(self, inputs: NDArray, names: Names) -> RepresentedRows:
        rows = self._represented(inputs, names)
        if not self.with_domain_means:
            return rows
        means = np.empty_like(rows.features)
        for name, members in group_rows(names, len(means)):
            known = self._means.get(name)
            means[members] = rows.features[members].mean(axis=0) if known is None else known
        return RepresentedRows(np.hstack([rows.features, means]), rows.level, rows.spread)

    def _represented(self, inputs: NDArray, names: Names) -> RepresentedRows:
        """Rows in the representation, without the means."""
        if self._representation is None:
            flat: Floats = inputs.reshape(len(inputs), -1).astype(np.float64)
            return RepresentedRows.plain(flat)
        groups = dict.fromkeys([None] if names is None else names, np.empty(0))
        return self._representation.apply(PlacedRows.of(inputs, names, groups))

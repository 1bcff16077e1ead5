"""The data of a fit as a report takes it: numbers, and beside them columns as users know them."""

from __future__ import annotations

from copy import copy
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from domindex.estimators.base import DomainEstimator
from domindex.estimators.frames import FitArguments, is_frame, only_rows, pandas_frame, take_named
from domindex.inputs import check_domain_names
from domindex.inputs import labels as label_rules


class FittedRows(NamedTuple):
    """A model and the rows of its fit.

    Attributes
    ----------
    model : the same, or one that takes rows that are prepared already
    X : without columns that name domains or hold labels; numbers, where they had to be prepared
    y : labels, one a row
    sample_domain : names, one a row
    table : the inputs as their user knows them; None where that is X
    """

    model: Any
    X: Any
    y: Any
    sample_domain: Any
    table: Any


def as_fitted(
    model: DomainEstimator, X: Any, y: Any, sample_domain: Any, table: Any = None
) -> FittedRows:
    """What `fit` made of a data frame; anything else as it is.

    Rows of sources without a label are left out, as they were there.
    """
    if not is_frame(X):
        return FittedRows(model, X, y, sample_domain, table)
    roles = (model._target_column, model._domain_column)
    rows = take_named(FitArguments(X, y, sample_domain, None, None), *roles)
    rows = _labelled(rows, set(model.source_domains_))
    preparation = model._preparation
    if preparation is None:
        return FittedRows(model, rows.X, rows.y, rows.sample_domain, table)
    frame = pandas_frame(rows.X)
    prepared = pd.DataFrame(preparation.apply(frame).values, columns=preparation.features)
    given = frame[[column.name for column in preparation.columns]] if table is None else table
    return FittedRows(_without_preparation(model), prepared, rows.y, rows.sample_domain, given)


def _labelled(rows: FitArguments, sources: set[Any]) -> FitArguments:
    """Without rows of sources that have no label."""
    if rows.y is None or rows.sample_domain is None:
        return rows  # the gate says what is wrong
    labels = label_rules.check_label_array(rows.y, len(rows.X))
    names = check_domain_names(rows.sample_domain, len(rows.X))
    hidden = label_rules.hidden_marks(labels, minus_one_hides=False)
    lost = np.array([gone and name in sources for gone, name in zip(hidden, names)])
    return only_rows(rows, np.flatnonzero(~lost)) if lost.any() else rows


def _without_preparation(model: DomainEstimator) -> DomainEstimator:
    """The same model, which takes prepared rows as they are."""
    assert model._preparation is not None
    bare = copy(model)
    features = model._preparation.features
    bare._preparation = None
    bare.feature_names_in_ = np.array(features, dtype=object)
    bare.n_features_in_ = len(features)
    return bare

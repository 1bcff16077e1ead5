"""How much rows count in learning: the user's weights, and weights that balance classes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from domindex.data.domain_data import DomainData
from domindex.data.inputs import masked
from domindex.errors import InputError

Floats = NDArray[np.float64]


def with_row_weights(data: DomainData, sample_weight: Any, class_weight: Any) -> DomainData:
    """The data with weights of mean 1 over source rows; as they are where none are asked for.

    `class_weight` is None, "balanced" (every class counts alike), or a mapping from class to
    weight. What stands in rows of targets is never read.

    Examples
    --------
    >>> from domindex.data import check_domain_data
    >>> X, y = [[0.0], [1.0], [2.0], [3.0], [4.0]], ["a", "a", "a", "b", None]
    >>> data = check_domain_data(X, y, ["s", "s", "s", "s", "t"], source_domains=["s"])
    >>> with_row_weights(data, None, "balanced").weights.round(2).tolist()
    [0.67, 0.67, 0.67, 2.0, 1.0]
    """
    if sample_weight is None and class_weight is None:
        return data
    sources = data.row_is_source
    weights = np.ones(data.n_rows)
    if sample_weight is not None:
        weights[sources] = _checked(sample_weight, data)[sources]
    if class_weight is not None:
        weights[sources] *= _of_classes(class_weight, data)
    if not weights[sources].any():
        raise InputError(
            "All source rows have weight zero, so there is nothing to learn from. "
            "Give some of them a positive weight."
        )
    with np.errstate(over="ignore"):
        mean = weights[sources].mean()
    if not np.isfinite(mean):
        raise InputError(
            f"The weights of rows go up to {weights[sources].max():.3g}, and their sum is no "
            "number. Divide them all by the largest."
        )
    weights[sources] /= mean
    return replace(data, weights=weights)


def _checked(sample_weight: Any, data: DomainData) -> Floats:
    try:
        weights = np.array(sample_weight, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError(
            f"sample_weight is {sample_weight!r:.60}. Pass one number a row."
        ) from None
    if weights.shape != (data.n_rows,):
        raise InputError(
            f"sample_weight has shape {weights.shape}, but X has {data.n_rows} rows. "
            "Pass one number a row."
        )
    mask = masked(sample_weight)
    if mask is not None:
        weights[mask] = np.nan
    known = weights[data.row_is_source]
    if not np.isfinite(known).all() or (known < 0).any():
        raise InputError(
            "sample_weight holds numbers below 0, NaN or infinity in source rows. "
            "Pass finite numbers that are not negative."
        )
    return weights


def _of_classes(class_weight: Any, data: DomainData) -> Floats:
    if data.classes is None:
        raise InputError("class_weight is for classes, but y holds values. Leave it None.")
    labels = data.labels[data.row_is_source]
    counts = np.bincount(labels, minlength=len(data.classes))
    if isinstance(class_weight, str) and class_weight == "balanced":
        return (len(labels) / np.maximum(counts, 1) / (counts > 0).sum())[labels]
    if not isinstance(class_weight, Mapping):
        raise InputError(
            f"class_weight is {class_weight!r:.60}. Choose None, 'balanced', or a mapping from "
            "class to weight."
        )
    known = data.classes.tolist()
    unknown = [name for name in class_weight if name not in known]
    if unknown:
        raise InputError(
            f"class_weight names {unknown}, but y holds only {known}. Spell classes as in y."
        )
    try:
        by_class = np.array([float(class_weight.get(name, 1.0)) for name in known])
    except (TypeError, ValueError, OverflowError):
        by_class = np.array([np.nan])
    if not np.isfinite(by_class).all() or (by_class < 0).any():
        raise InputError(
            f"class_weight is {dict(class_weight)}. Pass finite numbers, none of them negative."
        )
    return by_class[labels]

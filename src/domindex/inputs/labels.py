"""Labels and row weights: classes to numbers, values to floats, targets hidden, outliers moved."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.multiclass import type_of_target

from domindex.arrays import Floats
from domindex.errors import ClassNameWarning, ExtremeValueWarning, InputError
from domindex.inputs.domain_data import HIDDEN_CLASS, DomainData, Task
from domindex.inputs.messages import frames_inside, preview
from domindex.inputs.names import is_missing
from domindex.inputs.numbers import (
    masked,
    plain_array,
    require_distinct_columns,
    require_moderate,
    tensor_to_array,
)


def check_label_array(y: Any, n_rows: int) -> NDArray:
    """`y` as an array of one entry (or one row of outputs) per row of X, values untouched."""
    if y is None:
        raise InputError(
            "y is None: this estimator requires y to be passed, but the target y is None. "
            "Pass the labels of the source rows; entries of target rows are ignored."
        )
    native = nw.to_native(y, pass_through=True)
    require_distinct_columns(native, "y")
    frame = nw.from_native(native, allow_series=True, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame | nw.Series):
        array = np.asarray(frame.to_numpy())
    elif hasattr(native, "detach"):
        array = tensor_to_array(native, "y")
    else:
        array = plain_array(native, "y")
    if array.ndim == 0 or len(array) != n_rows:
        count = "a single value" if array.ndim == 0 else f"{len(array)} entries"
        raise InputError(
            f"y has {count}, but X has {n_rows} rows (inconsistent numbers of samples). "
            "Pass one label per row; targets may hold any placeholder."
        )
    if array.ndim > 2 or 0 in array.shape:
        raise InputError(
            f"y has shape {array.shape}. Pass (rows,) for one output, (rows, outputs) for several."
        )
    if np.iscomplexobj(array):
        raise InputError(f"Complex data not supported: y has dtype {array.dtype}.")
    if array.dtype.kind in "Mm":
        raise InputError(
            f"y has dtype {array.dtype}, times. Pass numbers, such as days since the first: "
            "(y - y.min()) / numpy.timedelta64(1, 'D'); or, for classes, texts: y.astype(str)."
        )
    return array


def guess_task(y: NDArray, labelled: NDArray[np.bool_]) -> Task:
    """Classification for texts, booleans and whole numbers in one column; regression otherwise."""
    if y.ndim == 2 and y.shape[1] > 1:
        return "regression"
    known = y.reshape(len(y))[labelled]
    if known.dtype.kind == "f" and not np.all(np.mod(known[np.isfinite(known)], 1) == 0):
        return "regression"
    return "classification"


def encode_classes(y: NDArray, source_rows: NDArray[np.bool_]) -> tuple[NDArray, NDArray[np.int64]]:
    """Sorted classes of the source rows, and every row's class number, targets hidden."""
    if y.ndim == 2:
        if y.shape[1] != 1:
            raise InputError(
                f"y has {y.shape[1]} columns, but a classifier predicts one label. "
                "Pass a 1-D array of classes, or use regression for several outputs."
            )
        message = "A column-vector y was passed when a 1d array was expected; it is flattened."
        warnings.warn(message, DataConversionWarning, stacklevel=4)
        y = y[:, 0]
    known = y[source_rows]
    kinds = sorted({type(value).__name__ for value in known}) if known.dtype == object else []
    if len(kinds) > 1 and "str" in kinds:
        raise InputError(
            f"y mixes the types {', '.join(kinds)} in source rows. Convert the labels to one type."
        )
    if known.dtype.kind == "f" and not np.isfinite(known).all():
        raise InputError(
            "y contains infinity in source rows, which is no class. Drop these rows, or name the "
            "classes."
        )
    try:
        kind = type_of_target(known)
        classes, numbers = np.unique(known, return_inverse=True)
    except (TypeError, ValueError):
        raise InputError(
            f"y holds {preview(known.ravel(), 2):.80}, which cannot be told apart as classes. Pass "
            "one text or whole number a row."
        ) from None
    if kind == "continuous":
        raise InputError(
            f"Unknown label type: y holds continuous values such as {known[0]!r}, "
            "but a classifier needs classes. Use a regressor, or bin the values first."
        )
    if len(classes) < 2:
        raise InputError(
            f"The source rows hold only one class, {classes.tolist()[0]!r} "
            "(a classifier can't train when only one class is present). "
            "Add a source domain that holds another class."
        )
    alike = read_alike([one for one in classes.tolist() if isinstance(one, str)])
    if alike:
        listed = "; ".join(" and ".join(map(repr, group)) for group in alike[:3])
        warnings.warn(
            f"Classes of y differ in capitals or blanks only, and count as several: {listed}. "
            "Spell them alike if they are one, for example y.str.strip().str.lower().",
            ClassNameWarning,
            stacklevel=frames_inside(),
        )
    labels = np.full(len(y), HIDDEN_CLASS, dtype=np.int64)
    labels[source_rows] = numbers
    return classes, labels


def read_alike(names: Iterable[str]) -> list[list[str]]:
    """Groups of names that differ in capitals or blanks only, of two or more."""
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(folded(name), []).append(name)
    return [group for group in groups.values() if len(group) > 1]


def folded(name: str) -> str:
    """A name without what readers overlook."""
    return " ".join(name.split()).casefold()


def class_array(classes: list[Any], kind: str) -> NDArray:
    """Class labels as an array of a type that NumPy writes as "i8", "f4", "b1", "U5" or "O"."""
    if kind[:1] == "U":
        return np.array(classes, dtype=str)
    if kind not in ["b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "O"]:
        raise ValueError(f"classes of type {kind!r}")
    return np.array(classes, dtype=kind)


def encode_values(y: NDArray, source_rows: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Float outputs (rows, outputs), NaN in every target row."""
    columns = y.reshape(len(y), -1)
    try:
        known = columns[source_rows].astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError(
            f"y holds {preview(columns[source_rows].ravel(), 3)}, which are not numbers. "
            "Regression needs numeric labels; use a classifier for classes."
        ) from None
    if np.isinf(known).any():
        raise InputError("y contains infinity in source rows. Drop these rows or cap the values.")
    require_moderate(known, "y")
    largest = np.abs(known).max(initial=0.0)
    if 0.0 < largest < 1e-75:  # below it squares of a spread vanish beside rounding
        raise InputError(
            f"y holds no number beyond {largest:.3g}: squares of such are zero. Choose other units."
        )
    labels = np.full(columns.shape, np.nan)
    labels[source_rows] = known
    return labels


def hidden_marks(y: NDArray, minus_one_hides: bool) -> NDArray[np.bool_]:
    """Rows without a label: NaN or None, and by skada's convention also the class −1."""
    columns = y.reshape(len(y), -1)
    if columns.dtype == object:
        missing = np.array([is_missing(one) for one in columns.ravel()], dtype=bool)
        return np.asarray(missing.reshape(columns.shape).any(axis=1))
    if columns.dtype.kind == "f":
        return np.asarray(np.isnan(columns).any(axis=1))
    if minus_one_hides and columns.dtype.kind in "iu" and columns.shape[1] == 1:
        return np.asarray(columns[:, 0] == HIDDEN_CLASS)
    return np.zeros(len(y), dtype=bool)


def tame_labels(data: DomainData) -> DomainData:
    """The data with every value of y out of proportion moved to the nearest one that is not.

    A single one would decide on the scale of outputs and every mean. It warns by output and row.
    """
    if data.task != "regression":
        return data
    labels, is_source = data.labels, data.row_is_source
    for output in range(labels.shape[1]):
        known = data.labels[is_source, output]
        odd = _out_of_proportion(np.abs(known - np.median(known)))
        if not odd.any():
            continue
        labels = labels.copy() if labels is data.labels else labels
        ordinary, rows = known[~odd], np.flatnonzero(is_source)[odd]
        labels[rows, output] = np.clip(known[odd], ordinary.min(), ordinary.max())
        warnings.warn(
            f"Output {output} of y holds {known[odd][0]:.6g} in row {rows[0]}"
            f"{f' and {len(rows) - 1} more such values' if len(rows) > 1 else ''}, out of all "
            f"proportion to the others ({ordinary.min():.6g} to {ordinary.max():.6g}). It counts "
            f"as {labels[rows[0], output]:.6g} in learning. Correct it, or leave the row out.",
            ExtremeValueWarning,
            stacklevel=frames_inside(),
        )
    return data if labels is data.labels else replace(data, labels=labels)


def _out_of_proportion(
    distances: Floats, factor: float = 1e8, max_share: float = 0.01
) -> NDArray[np.bool_]:
    """(rows,) whether a distance from the median is beyond `factor` median distances.

    Then it is no tail of any distribution but an error, such as 999999999999 for "not known". None
    is where the others do not vary, or where more than `max_share` of the rows are. Not tuned.
    """
    varying = distances[distances > 0]
    usual = float(np.median(varying)) if len(varying) else 0.0
    odd = np.asarray(distances > factor * usual)
    few = odd.sum() <= max(1, int(max_share * len(odd)))
    return odd if usual > 0 and few else np.zeros(len(distances), dtype=bool)


def with_row_weights(data: DomainData, sample_weight: Any, class_weight: Any) -> DomainData:
    """The data with weights of mean 1 over source rows; as they are where none are asked for.

    `class_weight` is None, "balanced" (every class counts alike), or a mapping from class to
    weight. What stands in rows of targets is never read.
    """
    if sample_weight is None and class_weight is None:
        return data
    sources = data.row_is_source
    weights = np.ones(data.n_rows)
    if sample_weight is not None:
        weights[sources] = _checked_weights(sample_weight, data)[sources]
    if class_weight is not None:
        weights[sources] *= _class_weights(class_weight, data)
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


def _checked_weights(sample_weight: Any, data: DomainData) -> Floats:
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


def _class_weights(class_weight: Any, data: DomainData) -> Floats:
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

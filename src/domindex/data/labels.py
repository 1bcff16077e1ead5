"""Labels: class names to numbers, values to floats, and targets hidden."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.multiclass import type_of_target

from domindex.data.domain_data import HIDDEN_CLASS, Task
from domindex.data.finite import SMALLEST, require_moderate
from domindex.data.inputs import (
    masked,
    plain_array,
    require_distinct_columns,
    tensor_to_array,
)
from domindex.data.messages import frames_inside, preview
from domindex.data.names import is_missing
from domindex.errors import ClassNameWarning, InputError

CLASS_TYPES = frozenset(
    ["b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "O"]
)
"""How NumPy writes the types of class labels, beside "U" for texts."""


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
    if array.ndim > 2:
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
    if 0 in array.shape:
        raise InputError(f"y has shape {array.shape}. Pass at least one output.")
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
    if known.dtype == object:
        _require_one_type(known)
    if known.dtype.kind == "f" and not np.isfinite(known).all():
        raise InputError(
            "y contains infinity in source rows, which is no class. Drop these rows, or name the "
            "classes."
        )
    if _kind_of(known) == "continuous":
        raise InputError(
            f"Unknown label type: y holds continuous values such as {known[0]!r}, "
            "but a classifier needs classes. Use a regressor, or bin the values first."
        )
    try:
        classes, numbers = np.unique(known, return_inverse=True)
    except TypeError:
        raise _no_classes(known) from None
    if len(classes) < 2:
        raise InputError(
            f"The source rows hold only one class, {classes.tolist()[0]!r} "
            "(a classifier can't train when only one class is present). "
            "Add a source domain that holds another class."
        )
    _warn_of_alike(classes)
    labels = np.full(len(y), HIDDEN_CLASS, dtype=np.int64)
    labels[source_rows] = numbers
    return classes, labels


def read_alike(names: Iterable[str]) -> list[list[str]]:
    """Groups of names that differ in capitals or blanks only, of two or more.

    Examples
    --------
    >>> from domindex.data.labels import read_alike
    >>> read_alike(["Yes", "no", "yes "])
    [['Yes', 'yes ']]
    """
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(folded(name), []).append(name)
    return [group for group in groups.values() if len(group) > 1]


def folded(name: str) -> str:
    """A name without what readers overlook."""
    return " ".join(name.split()).casefold()


def _warn_of_alike(classes: NDArray) -> None:
    alike = read_alike([one for one in classes.tolist() if isinstance(one, str)])
    if alike:
        listed = "; ".join(" and ".join(map(repr, group)) for group in alike[:3])
        warnings.warn(
            f"Classes of y differ in capitals or blanks only, and count as several: {listed}. "
            "Spell them alike if they are one, for example y.str.strip().str.lower().",
            ClassNameWarning,
            stacklevel=frames_inside(),
        )


def class_array(classes: list[Any], kind: str) -> NDArray:
    """Class labels as an array of a type that NumPy writes as "i8", "f4", "b1", "U5" or "O"."""
    if kind[:1] == "U":
        return np.array(classes, dtype=str)
    if kind not in CLASS_TYPES:
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
    if 0.0 < largest < SMALLEST:
        raise InputError(
            f"y holds no number beyond {largest:.3g}: squares of such are zero. Choose other units."
        )
    labels = np.full(columns.shape, np.nan)
    labels[source_rows] = known
    return labels


def hidden_marks(y: NDArray, minus_one_hides: bool) -> NDArray[np.bool_]:
    """Rows without a label: NaN or None, and by skada's convention also the class −1."""
    columns = y.reshape(len(y), -1)
    hidden = np.asarray(_missing(columns).any(axis=1))
    if minus_one_hides and columns.dtype.kind in "iu" and columns.shape[1] == 1:
        hidden |= columns[:, 0] == HIDDEN_CLASS
    return hidden


def masked_rows(y: Any) -> NDArray[np.bool_] | bool:
    """Rows whose label stands behind the mask of a masked array: what it hides is not read."""
    mask = masked(y)
    return False if mask is None else np.asarray(mask.reshape(len(mask), -1).any(axis=1))


def _kind_of(known: NDArray) -> str:
    try:
        return str(type_of_target(known))
    except (TypeError, ValueError):
        raise _no_classes(known) from None


def _no_classes(known: NDArray) -> InputError:
    return InputError(
        f"y holds {preview(known.ravel(), 2):.80}, which cannot be told apart as classes. Pass one "
        "text or whole number a row."
    )


def _missing(values: NDArray) -> NDArray[np.bool_]:
    if values.dtype.kind == "f":
        return np.asarray(np.isnan(values))
    if values.dtype != object:
        return np.zeros(values.shape, dtype=bool)
    missing = [is_missing(value) for value in values.ravel()]
    return np.array(missing, dtype=bool).reshape(values.shape)


def _require_one_type(known: NDArray) -> None:
    kinds = sorted({type(value).__name__ for value in known})
    if len(kinds) > 1 and "str" in kinds:
        raise InputError(
            f"y mixes the types {', '.join(kinds)} in source rows. Convert the labels to one type."
        )

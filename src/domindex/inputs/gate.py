"""The one gate for user input: what passes here is safe for everything behind it."""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, get_args

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.multiclass import type_of_target

from domindex.arrays import Floats, Ints
from domindex.errors import (
    ClassNameWarning,
    ExtremeValueWarning,
    InputError,
    PreparationWarning,
)
from domindex.inputs.domain_data import HIDDEN_CLASS, DomainData, Task, read_layout
from domindex.inputs.messages import did_you_mean, frames_inside, preview
from domindex.inputs.names import check_domain_names, is_missing, number_names, order_names
from domindex.inputs.numbers import (
    check_inputs,
    masked,
    plain_array,
    require_distinct_columns,
    require_moderate,
    tensor_to_array,
)

Mask = NDArray[np.bool_]


def check_domain_data(
    X: Any,
    y: Any,
    sample_domain: Any,
    source_domains: Iterable[Hashable] | None = None,
    *,
    task: Task | None = None,
    kind: str = "table",
) -> DomainData:
    """Check and freeze a user's data; hide every target label.

    Parameters
    ----------
    X : array, data frame or tensor, (rows, features) or (rows, ...) for images
    y : labels, one per row. A target with labels in fewer than half of its rows, and NaN or None in
        the others, has `target_labels`; what else stands in target rows is never read
    sample_domain : a domain name per row
    source_domains : names of the labelled domains, or a mask of their rows. None follows skada:
        integer names, negative for targets; −1 (a class) and NaN (a value) mark hidden labels.
    task : "classification", "regression", or None to guess it from the source labels
    kind : what rows are: "table", "pictures", "signals", or "auto" to guess it from their shape

    Examples
    --------
    >>> from domindex.inputs import check_domain_data
    >>> X, y = [[0.0], [1.0], [5.0]], ["no", "yes", "no"]
    >>> data = check_domain_data(X, y, ["north", "north", "south"], source_domains=["north"])
    >>> data.labels.tolist(), data.classes.tolist()
    ([0, 1, -1], ['no', 'yes'])
    """
    inputs = check_inputs(X)
    names = check_domain_names(sample_domain, len(inputs))
    domains = order_names(names)
    row_domains = number_names(names, domains)
    array = check_label_array(y, len(inputs))
    is_source = domain_roles(domains, row_domains, source_domains)
    source_rows = is_source[row_domains]
    hidden = hidden_marks(array, minus_one_hides=source_domains is None)
    has_label = ~hidden_marks(array, minus_one_hides=False)  # −1 fills targets that nobody reads
    mask = masked(y)
    if mask is not None:  # what stands behind a mask is not read
        hidden |= mask.reshape(len(mask), -1).any(axis=1)
        has_label &= ~hidden
    _require_labels(domains, row_domains, hidden & source_rows)
    if task is None:  # texts, booleans and whole numbers in one column are classes
        task, known = "classification", array[source_rows]
        fractions = known.dtype.kind == "f" and (np.mod(known[np.isfinite(known)], 1) != 0).any()
        if fractions or (array.ndim == 2 and array.shape[1] > 1):
            task = "regression"
    if task not in get_args(Task):
        raise InputError(f"task is {task!r}. Choose 'classification', 'regression' or None.")
    classes: NDArray | None
    labels: NDArray
    if task == "classification":
        classes, labels = encode_classes(array, source_rows)
    else:
        classes, labels = None, encode_values(array, source_rows)
    return DomainData(
        inputs=inputs,
        labels=labels,
        row_domains=row_domains,
        domains=tuple(domains),
        is_source=is_source,
        task=task,
        classes=classes,
        single_output=array.ndim == 1,
        layout=read_layout(inputs.shape, kind),
        target_labels=_labels_of_targets(
            array, has_label, row_domains, domains, is_source, classes
        ),
    )


def has_few(row_domains: Ints, known: Mask, most: float = 0.5) -> Mask:
    """(domains,) whether some rows have a label, but a smaller share than `most`: then a domain is
    a target with some labels, and no source with gaps."""
    shares = np.bincount(row_domains, known) / np.maximum(np.bincount(row_domains), 1)
    return np.asarray((shares > 0) & (shares < most))


def _labels_of_targets(
    y: NDArray,
    known: Mask,
    row_domains: Ints,
    domains: Sequence[Hashable],
    is_source: Mask,
    classes: NDArray | None,
) -> NDArray | None:
    """Encoded as those of sources, of targets that have few; None where none has."""
    few = has_few(row_domains, known) & ~is_source
    counts, sizes = np.bincount(row_domains, known), np.bincount(row_domains)
    partly = (counts > 0) & (counts < sizes) & ~few & ~is_source
    if partly.any():
        named = preview([name for name, one in zip(domains, partly) if one])
        warnings.warn(
            f"Labels of {named} are not read: "
            "source_domains does not name these domains, and half of their rows or more have one. "
            "Make them sources, without the rows that have no label, or leave out source_domains.",
            PreparationWarning,
            stacklevel=frames_inside(),
        )
    rows = known & few[row_domains]
    if not rows.any():
        return None
    if classes is None:
        return encode_values(y, rows, "targets")
    given = y.reshape(len(y), -1)[rows, 0].tolist()
    numbers = {name: number for number, name in enumerate(classes.tolist())}
    unknown = [(one, n) for one, n in zip(given, row_domains[rows]) if one not in numbers]
    if unknown:
        raise InputError(
            f"y holds the class {unknown[0][0]!r} in the target {domains[unknown[0][1]]!r}, and no "
            f"source has it: there are {preview(classes.tolist())}. Leave such labels out (NaN or "
            "None), or add a source with rows of that class."
        )
    labels = np.full(len(y), HIDDEN_CLASS, dtype=np.int64)
    labels[rows] = [numbers[one] for one in given]
    return labels


def domain_roles(
    domains: Sequence[Hashable], row_domains: Ints, source_domains: Iterable[Hashable] | None
) -> Mask:
    """(domains,) by name, by row, or by the sign of their numbers; one source at least."""
    kind = getattr(getattr(source_domains, "dtype", None), "kind", None)
    if source_domains is None:
        if not all(isinstance(n, numbers.Integral) and not isinstance(n, bool) for n in domains):
            raise InputError(
                "source_domains is missing, and sample_domain holds names that are not integers "
                f"({preview(domains)}), so sources and targets cannot be told apart by sign. "
                "Pass source_domains=[…] with the names of the labelled domains."
            )
        is_source = np.array([name >= 0 for name in domains])  # type: ignore[operator]
    elif kind == "b" and getattr(source_domains, "shape", None) == row_domains.shape:
        # a mask, which whatever splits rows splits with them: names would stay as they are
        marked = np.bincount(row_domains[np.asarray(source_domains)], minlength=len(domains))
        sizes = np.bincount(row_domains, minlength=len(domains))
        mixed = [name for name, m, n in zip(domains, marked, sizes) if 0 < m < n]
        if mixed:
            raise InputError(
                f"source_domains is True in some rows of {preview(mixed)} and False in others. A "
                "domain is a source or a target as a whole: give its rows one value."
            )
        is_source = np.asarray(marked > 0)
    else:
        is_source = _sources_by_name(domains, source_domains)
    if not is_source.any():
        raise InputError(
            f"There is no source domain: sample_domain holds {preview(domains)}, none with labels. "
            "Name at least one labelled domain in source_domains "
            "(without it, domains with a number of 0 or more are the sources)."
        )
    return is_source


def _sources_by_name(domains: Sequence[Hashable], source_domains: Iterable[Hashable]) -> Mask:
    if hasattr(source_domains, "item") and getattr(source_domains, "ndim", 1) == 0:
        source_domains = source_domains.item()
    if isinstance(source_domains, str | bytes):
        raise InputError(
            f"source_domains is one text, {source_domains!r}. "
            f"Pass a list of names, for example [{source_domains!r}]."
        )
    try:
        wanted = list(dict.fromkeys(getattr(source_domains, "tolist", lambda: source_domains)()))
    except TypeError:
        raise InputError(
            f"source_domains is {source_domains!r:.60}. Pass a list of names as in sample_domain, "
            f"such as [{domains[0]!r}]."
        ) from None
    known = set(domains)
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise InputError(
            f"source_domains names {preview(unknown)}, but sample_domain holds only "
            f"{preview(domains, 10)}. "
            f"{did_you_mean(str(unknown[0]), map(str, domains))} Spell each source domain exactly "
            "as in sample_domain."
        )
    chosen = set(wanted)
    return np.array([name in chosen for name in domains])


def _require_labels(domains: Sequence[Hashable], row_domains: Ints, lost: Mask) -> None:
    """Refuse source rows without a label; a source domain with none at all gets its own word."""
    if not lost.any():
        return
    labelled = set(row_domains[~lost].tolist())
    empty = [name for number, name in enumerate(domains) if number not in labelled]
    if empty:
        raise InputError(
            f"All labels are hidden in {preview(empty)}, which count as source domains. "
            "Give them labels, or make them targets: leave them out of source_domains "
            "(without it, give them a negative number in sample_domain)."
        )
    rows = np.flatnonzero(lost).tolist()
    raise InputError(
        f"y contains NaN or hidden labels (−1 without source_domains) in {len(rows)} source rows, "
        f"the first at row {preview(rows)}. Every source row needs a label: drop these rows, "
        "or pass source_domains=[…] if −1 is one of your classes."
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


def encode_classes(y: NDArray, source_rows: Mask) -> tuple[NDArray, Ints]:
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
    except (TypeError, ValueError, ArithmeticError):
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


def encode_values(y: NDArray, source_rows: Mask, role: str = "sources") -> Floats:
    """Float outputs (rows, outputs) of some rows, whose role messages name; NaN in all others."""
    columns = y.reshape(len(y), -1)
    try:
        known = columns[source_rows].astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError(
            f"y holds {preview(columns[source_rows].ravel(), 3)}, which are not numbers. "
            "Regression needs numeric labels; use a classifier for classes."
        ) from None
    if np.isinf(known).any():
        raise InputError(
            f"y contains infinity in rows of {role}. Drop these rows or cap the values."
        )
    require_moderate(known, "y")
    largest = np.abs(known).max(initial=0.0)
    # Below it squares of a spread vanish beside rounding.
    if role == "sources" and 0.0 < largest < 1e-75:
        raise InputError(
            f"y holds no number beyond {largest:.3g}: squares of such are zero. Choose other units."
        )
    labels = np.full(columns.shape, np.nan)
    labels[source_rows] = known
    return labels


def hidden_marks(y: NDArray, minus_one_hides: bool) -> Mask:
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
    """The data with values of y out of all proportion, such as 999999999999 for "not known", moved
    to the nearest that is not; if they are few. A single one would decide on every mean."""
    if data.task != "regression":
        return data
    labels, is_source = data.labels, data.row_is_source
    for output in range(labels.shape[1]):
        known = data.labels[is_source, output]
        distances = np.abs(known - np.median(known))
        usual = np.median(distances[distances > 0]) if distances.any() else np.inf
        odd = distances > 1e8 * usual  # no tail of any distribution
        if not 0 < odd.sum() <= max(1, int(0.01 * len(odd))):
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


def with_row_weights(data: DomainData, sample_weight: Any, class_weight: Any) -> DomainData:
    """The data with weights of mean 1 over source rows, if any are asked for.

    `class_weight` is None, "balanced" (classes count alike), or a mapping from class to weight.
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
    weights = check_weight_array(sample_weight, data.n_rows)
    known = weights[data.row_is_source]
    if not np.isfinite(known).all() or (known < 0).any():
        raise InputError(
            "sample_weight holds numbers below 0, NaN or infinity in source rows. "
            "Pass finite numbers that are not negative."
        )
    return weights


def check_weight_array(sample_weight: Any, n_rows: int) -> Floats:
    """(rows,) numbers, NaN where they are masked."""
    try:
        if hasattr(sample_weight, "detach"):
            sample_weight = tensor_to_array(sample_weight, "sample_weight")
        weights = np.array(sample_weight, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError(
            f"sample_weight is {sample_weight!r:.60}. Pass one number a row."
        ) from None
    if weights.shape != (n_rows,):
        raise InputError(
            f"sample_weight has shape {weights.shape}, but X has {n_rows} rows. "
            "Pass one number a row."
        )
    mask = masked(sample_weight)
    if mask is not None:
        weights[mask] = np.nan
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

"""Columns of the data by domain: to colour the map by, and to compare domains in."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import is_classifier

from domindex.arrays import Ints
from domindex.errors import InputError
from domindex.inputs.names import is_missing
from domindex.inputs.profiles import ColumnProfile, max_profiles
from domindex.reporting.report_data import Value, most_columns

Columns = dict[str, tuple[Value, ...]]


def report_columns(
    model: Any,
    X: Any,
    names: Sequence[Hashable],
    row_domains: Ints,
    extra: Any,
    notes: list[str],
    max_inputs: int = 60,
) -> Columns:
    """One value per domain: of the user's `extra` columns, of predictions, and of the inputs.

    What does not fit is left out, with a sentence in `notes`.
    """
    n_domains = len(model.domain_index_.domains)
    given = {} if extra is None else aggregate_columns(extra, row_domains, n_domains)
    inputs = model._read_rows(X)
    left_out = 0
    if inputs.ndim > 2:
        shown = {"mean of the inputs": inputs.reshape(len(inputs), -1).mean(axis=1)}
    else:
        left_out = max(0, inputs.shape[1] - max_inputs)
        shown = dict(zip(input_names(model, inputs.shape[1]), inputs.T[:max_inputs]))
    ours = aggregate_columns(_predictions(model, X, names) | shown, row_domains, n_domains)
    every = given | {name: values for name, values in ours.items() if name not in given}
    most = most_columns(n_domains)
    left_out += max(0, len(every) - most)
    if left_out:
        notes.append(f"{left_out} of the columns are not offered for colouring the map.")
    return dict(list(every.items())[:most])


def input_names(model: Any, n_inputs: int) -> list[str]:
    """As the model knows them, or by number."""
    return model._input_names() or [f"input {number + 1}" for number in range(n_inputs)]


def _predictions(
    model: Any, X: Any, names: Sequence[Hashable], max_shown: int = 8
) -> dict[str, Any]:
    """What the model predicts, a value per row; of many classes or outputs the first few."""
    if is_classifier(model):
        chances = model.predict_proba(X, sample_domain=names)
        likeliest = chances.argmax(axis=1)
        shown = range(1, 2) if len(model.classes_) == 2 else range(len(model.classes_))[:max_shown]
        shares = {f"predicted share of class {model.classes_[n]}": likeliest == n for n in shown}
        return shares | {"mean confidence": chances.max(axis=1)}
    values = np.asarray(model.predict(X, sample_domain=names)).reshape(len(names), -1)
    if values.shape[1] == 1:
        return {"mean prediction": values[:, 0]}
    outputs = enumerate(values.T[:max_shown], start=1)
    return {f"mean prediction, output {number}": column for number, column in outputs}


def aggregate_columns(columns: Any, row_domains: Ints, n_domains: int) -> Columns:
    """Per domain the mean of each column of numbers, the commonest value of any other.

    Nothing is shown of a single row: a mean needs three values, and a text must be in five rows.
    """
    return {
        label: (_commonest if values.dtype == object else _mean)(values, row_domains, n_domains)
        for label, values in _columns_by_name(columns, "columns", len(row_domains))
    }


def profile_table(
    table: Any, row_domains: Ints, n_domains: int, seed: int = 0
) -> tuple[ColumnProfile, ...]:
    """A profile for each column of a data frame or a mapping; what is no number counts as text."""
    rows = _some_rows(row_domains, seed)
    columns = _columns_by_name(table, "table", len(row_domains))[: max_profiles(n_domains)]
    return tuple(_profile(name, one[rows], row_domains[rows], n_domains) for name, one in columns)


def _profile(name: str, values: NDArray, row_domains: Ints, n_domains: int) -> ColumnProfile:
    if values.dtype.kind == "f":
        return ColumnProfile.of_numbers(name, values, row_domains, n_domains)
    texts: Sequence[Any] = [None if is_missing(one) else str(one) for one in values]
    return ColumnProfile.of_texts(name, texts, row_domains, n_domains)


def _some_rows(row_domains: Ints, seed: int, most: int = 500) -> Ints:
    """At most so many rows of every domain, in their order: enough for eight bins."""
    mixed = np.random.default_rng(seed).permutation(len(row_domains))
    order = mixed[np.argsort(row_domains[mixed], kind="stable")]
    sizes = np.bincount(row_domains)
    starts = np.repeat(np.cumsum(sizes) - sizes, sizes)
    return np.sort(order[np.arange(len(order)) - starts < most])


def _columns_by_name(columns: Any, argument: str, n_rows: int) -> list[tuple[str, NDArray]]:
    """The columns of a data frame or a mapping: floats, NaN where missing, or objects."""
    if not isinstance(columns, Mapping):
        frame = nw.from_native(columns, eager_only=True, pass_through=True)
        if not isinstance(frame, nw.DataFrame):
            raise InputError(
                f"{argument} is a {type(columns).__name__}. Pass a data frame, or a mapping of "
                "names to one value per row."
            )
        columns = {label: frame[label].to_list() for label in frame.columns}
    found = [(str(label), _array(values)) for label, values in columns.items()]
    for label, values in found:
        if len(values) != n_rows:
            raise InputError(
                f"{argument} has {len(values)} values in {label!r}, but there are {n_rows} rows. "
                "Pass one value per row."
            )
    return found


def _array(values: Any) -> NDArray:
    """Numbers as floats, anything else as objects."""
    array = np.asarray(values)
    if array.dtype.kind in "biuf":
        return array.astype(np.float64).ravel()
    objects = np.empty(len(values), dtype=object)
    objects[:] = list(values)
    if all(is_missing(one) or isinstance(one, int | float) for one in objects):
        return np.array([np.nan if is_missing(one) else float(one) for one in objects])
    return objects


def _mean(values: NDArray, row_domains: Ints, n_domains: int) -> tuple[Value, ...]:
    known = np.isfinite(values)
    counts = np.bincount(row_domains[known], minlength=n_domains)
    means = np.bincount(row_domains[known], values[known], n_domains) / np.maximum(counts, 1)
    return tuple(float(m) if n >= 3 else None for m, n in zip(means, counts))


def _commonest(values: NDArray, row_domains: Ints, n_domains: int) -> tuple[Value, ...]:
    known = np.array([not is_missing(one) for one in values], dtype=bool)
    frame = pd.DataFrame(
        {"domain": row_domains[known], "text": [str(one) for one in values[known]]}
    )
    often = frame.groupby("text", sort=False)["text"].transform("size") >= 5
    counts = frame[often].groupby(["domain", "text"], sort=False).size().reset_index(name="n")
    first = counts.sort_values("n", ascending=False, kind="stable").drop_duplicates("domain")
    found = dict(zip(first["domain"].tolist(), first["text"].tolist()))
    return tuple(found.get(number) for number in range(n_domains))

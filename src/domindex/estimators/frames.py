"""What `fit` is given: frames with named columns, texts, gaps and empty labels; rows on disk."""

from __future__ import annotations

import numbers
import sys
import warnings
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
import pandas as pd
from narwhals.exceptions import DuplicateError
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import _safe_indexing

from domindex.errors import (
    BeyondExperienceWarning,
    InputError,
    NoDomainWarning,
    OffMapWarning,
    PreparationWarning,
)
from domindex.geometry.settings import OFF_MAP
from domindex.inputs import check_domain_names
from domindex.inputs.columns import require_roles
from domindex.inputs.domain_data import HIDDEN_CLASS
from domindex.inputs.gate import check_label_array, domain_roles, has_few, hidden_marks
from domindex.inputs.messages import did_you_mean, frames_inside, preview
from domindex.inputs.names import is_missing, number_names, order_names
from domindex.inputs.preparation import (
    InputRequest,
    PreparedInputs,
    TablePreparation,
    input_names,
)
from domindex.inputs.streams import is_stream


@dataclass(frozen=True, eq=False)
class PreparedFrame:
    """A data frame with how it becomes numbers: so tables of the command line come to `fit`."""

    frame: pd.DataFrame
    preparation: TablePreparation


@dataclass(frozen=True, eq=False)
class FitArguments:
    """What `fit` was given, as everything behind it takes it."""

    X: Any  # without columns that name domains or hold labels
    y: Any = None
    sample_domain: Any = None
    source_domains: Iterable[Hashable] | None = None  # None where the signs of numbers say it
    sample_weight: Any = None
    domain_column: str | None = None  # of X, if one named the domains
    target_column: str | None = None  # of X, if one held the labels
    preparation: TablePreparation | None = None  # where it was learned before
    columns: Mapping[str, Any] | None = None  # what to do to columns of a frame: of `InputRequest`


def is_dataset(X: Any) -> bool:
    """Whether X is a torch `Dataset`, or of a class that `holds_items`; torch is not imported."""
    if getattr(type(X), "holds_items", False) is True:
        return True
    torch_data = sys.modules.get("torch.utils.data")
    return torch_data is not None and isinstance(X, torch_data.Dataset)


def is_beyond_memory(X: Any, sample_domain: Any = None) -> bool:
    """Whether X is read in parts; a Dask frame whose domains are given one by one is not."""
    if is_stream(X):
        by_column = sample_domain is None or isinstance(sample_domain, str)
        return by_column or not hasattr(X, "__array__")
    if is_dataset(X):
        return True
    while isinstance(X, np.ndarray) and not isinstance(X, np.memmap):  # views of views
        X = X.base
    return isinstance(X, np.memmap)


def is_frame(X: Any) -> bool:
    """Whether X is a data frame in memory, of pandas, polars or another library."""
    try:
        return isinstance(nw.from_native(X, eager_only=True, pass_through=True), nw.DataFrame)
    except DuplicateError:
        return False  # columns of one name: the gate says what is wrong


def complete_arguments(rows: FitArguments, few_labels: bool = False) -> FitArguments:
    """Named columns are taken out of X, and sources are found by their labels if nobody says;
    domains with few are none where `few_labels` says that the method reads those of targets."""
    if isinstance(rows.X, PreparedFrame):
        rows = replace(rows, X=rows.X.frame, preparation=rows.X.preparation)
    rows = take_named(rows)
    if rows.sample_domain is None or rows.y is None:
        return rows
    try:
        names = check_domain_names(rows.sample_domain, len(rows.y))
    except (InputError, TypeError):
        return rows  # the gate says what is wrong
    if rows.source_domains is None:
        return _by_labels(rows, names, few_labels)
    if isinstance(rows.source_domains, Iterator):
        rows = replace(rows, source_domains=list(rows.source_domains))
    try:
        is_source = _row_is_source(names, rows.source_domains)
    except InputError:
        return rows  # the gate says what is wrong
    _refuse_placeholders(rows, names, is_source)
    return rows


def take_named(
    rows: FitArguments, target: str | None = None, domain: str | None = None
) -> FitArguments:
    """Labels and domains out of columns of a data frame; by default those named in `fit`."""
    if not is_frame(rows.X):
        return rows
    found: dict[str, Any] = {}
    frame = _named_frame(rows.X)
    roles = (("y", "target_column", target), ("sample_domain", "domain_column", domain))
    for role, attribute, default in roles:
        given, there = getattr(rows, role), frame.columns
        name = default if given is None and default in there else given
        if not isinstance(name, str):
            continue
        if name not in there:
            hint = (
                did_you_mean(name, map(str, there)) or "Name a column, or pass one value per row."
            )
            raise InputError(
                f"{role} is {name!r}, and X has no such column; there are {preview(there, 12)}. "
                f"{hint or 'Name a column, or pass one value per row.'}"
            )
        found |= {role: frame[name].to_numpy(), attribute: name}
        frame = frame.drop(name)
    return replace(rows, X=without_columns(frame.to_native(), (target, domain)), **found)


def scored_rows(rows: FitArguments) -> FitArguments:
    """Labels out of X where `y` names a column, and only rows that have one."""
    rows = take_named(rows)
    if is_beyond_memory(rows.X):
        return rows
    hidden = hidden_labels(rows.y, len(rows.X))
    if hidden.all():
        raise InputError(
            f"y holds no label in {len(hidden)} rows, so there is nothing to compare with. Pass "
            "rows whose labels are known."
        )
    return _without(rows, hidden, "Left out {} rows without a label.")


def fitted_rows(model: Any, rows: FitArguments) -> FitArguments:
    """Rows as a fit learned from them: without columns that it took out, or lost labels."""
    rows = take_named(rows, model._target_column, model._domain_column)
    if rows.y is None or rows.sample_domain is None or not is_frame(rows.X):
        return rows  # the gate says what is wrong
    names, sources = check_domain_names(rows.sample_domain, len(rows.X)), set(model.source_domains_)
    pairs = zip(hidden_labels(rows.y, len(rows.X)), names)
    return _without(rows, [gone and name in sources for gone, name in pairs])


def hidden_labels(y: Any, n_rows: int) -> NDArray[np.bool_]:
    """(rows,) where there is no label."""
    return hidden_marks(check_label_array(y, n_rows), minus_one_hides=False)


def without_columns(X: Any, names: Iterable[str | None]) -> Any:
    """A data frame without these columns, as far as it has them; anything else as it is."""
    if not is_frame(X):
        return X
    frame = _named_frame(X)
    there = [name for name in names if name is not None and name in frame.columns]
    return frame.drop(there).to_native() if there else X


def _named_frame(X: Any) -> nw.DataFrame[Any]:
    """A data frame of which every column has a name."""
    frame = nw.from_native(X, eager_only=True)
    nameless = [name for name in frame.columns if is_missing(name)]
    if nameless:
        raise InputError(
            f"X has {len(nameless)} column(s) named {nameless[0]!r}, which is no name. Rename the "
            "columns of X."
        )
    return frame


def frame_preparation(rows: FitArguments, most_said: int = 4) -> TablePreparation | None:
    """How a frame with texts or gaps becomes numbers, with a warning; None where it is numbers."""
    if rows.preparation is not None or not is_frame(rows.X):
        if rows.columns is not None:
            raise InputError(
                f"columns is {rows.columns!r:.60}, which is for data frames in memory, and X is a "
                f"{type(rows.X).__name__}. Pass a data frame, or leave columns out."
            )
        return rows.preparation
    check_label_array(rows.y, len(rows.X))
    if rows.columns is None and not any(  # texts, dates or gaps
        not (values.dtype.is_numeric() or values.dtype == nw.Boolean)
        or values.null_count()
        or (values.dtype.is_float() and values.is_nan().any())
        for values in nw.from_native(rows.X, eager_only=True).iter_columns()
    ):
        return None
    names = check_domain_names(rows.sample_domain, len(rows.X))
    table = pandas_frame(rows.X)
    request = _input_request(rows.columns)
    categories = [str(name) for name in table.select_dtypes("category").columns]
    roles = {"inputs": request.features or (), "columns to leave out": request.exclude}
    roles |= {"columns to keep": request.keep_columns, "categories": request.categorical}
    require_roles(table.columns, roles)
    preparation, notes = TablePreparation.fit(
        table[input_names(list(table.columns), [], request)],
        domains=[str(name) for name in names],
        is_source=_row_is_source(names, rows.source_domains),
        request=replace(request, categorical=[*request.categorical, *categories]),
        in_python=True,
    )
    said = (*notes, *preparation.apply(table).changes.notes(with_texts=False))
    if said:
        short = " ".join(said[:most_said])
        if len(said) > most_said:
            short += f" And {len(said) - most_said} more, in model.preparation_."
        warnings.warn(short, PreparationWarning, stacklevel=frames_inside())
    return replace(preparation, notes=said)


def _input_request(columns: Any) -> InputRequest:
    """What was asked to be done to columns; InputError for what cannot be asked."""
    if columns is None:
        return InputRequest()
    lists = ("features", "exclude", "keep_columns", "categorical")
    known = (*lists, "dates", "missing")
    if not isinstance(columns, Mapping):
        raise InputError(
            f"columns is {columns!r:.60}. Pass a dictionary, such as "
            "{'keep_columns': ['postcode'], 'dates': True}."
        )
    for name, value in columns.items():
        if name not in known:
            hint = did_you_mean(str(name), known) or "Spell it as in this list."
            raise InputError(f"columns has no {name!r}; there are {', '.join(known)}. {hint}")
        is_list = isinstance(value, list | tuple) and all(isinstance(one, str) for one in value)
        if name in lists and not is_list:
            raise InputError(f"{name} is {value!r:.60}. Pass a list of names of columns.")
        if name == "dates" and not isinstance(value, bool):
            raise InputError(f"dates is {value!r:.60}. Pass True or False.")
    return InputRequest(**columns)


def prepared_inputs(preparation: TablePreparation | None, X: Any) -> Any:
    """The inputs of a frame, as the preparation of the fit makes them; X itself without one."""
    if preparation is None:
        return X
    if isinstance(X, PreparedInputs):  # made before
        return np.asfortranarray(X.values)
    if not is_frame(X):
        raise InputError(
            f"fit was given a data frame with texts or missing values, and X is a "
            f"{type(X).__name__}. Pass a data frame with the columns {preview(preparation.names)}."
        )
    prepared = preparation.apply(pandas_frame(X)).values
    return np.asfortranarray(prepared)  # as frames of numbers are: sums have the same last bits


def pandas_frame(X: Any) -> pd.DataFrame:
    """Any data frame as one of pandas, columns named by texts, rows numbered from 0."""
    table = X if isinstance(X, pd.DataFrame) else nw.from_native(X, eager_only=True).to_pandas()
    table = table.reset_index(drop=True)
    return table.set_axis([str(name) for name in table.columns], axis=1)


def warn_without_domain() -> None:
    """Say that all rows count as one domain that was never seen: none is named."""
    warnings.warn(
        "sample_domain is not given, so all rows count as one new domain. Pass the domain of "
        "every row, for example sample_domain=table['hospital'].",
        NoDomainWarning,
        stacklevel=frames_inside(),
    )


def warn_unread_labels(name: str) -> None:
    """Say that a method learns nothing from labels of some rows of targets."""
    warnings.warn(
        f"Some rows of targets have labels, which {name} does not read. Fit a "
        "CrossDomainClassifier or a CrossDomainRegressor, which do.",
        PreparationWarning,
        stacklevel=frames_inside(),
    )


def warn_off_map(flagged: Sequence[Hashable | None]) -> None:
    """Say to whoever called the library that predictions there rest on nothing."""
    if not flagged:
        return
    if list(flagged) == [None]:
        what = "The rows, which come without sample_domain and count as one new domain, lie"
    elif len(flagged) == 1:
        what = f"The domain {preview(flagged)} lies"
    else:
        what = f"{len(flagged)} domains ({preview(flagged)}) lie"
    warnings.warn(
        f"{what} off the map: further from every known domain than "
        f"{1 - OFF_MAP.false_alarms:.0%} of known domains are from the others. What held on known "
        "domains need not hold there; `place_domains` gives the scores.",
        OffMapWarning,
        stacklevel=frames_inside(),
    )


def warn_beyond_experience(reasons: Mapping[Hashable | None, str]) -> None:
    """Say to whoever called the library in which domains intervals are at least that wide."""
    if not reasons:
        return
    name, reason = next(iter(reasons.items()))
    which = (
        f"{len(reasons)} domains ({preview(reasons)}) are"
        if len(reasons) > 1
        else ("The rows are" if name is None else f"The domain {preview(reasons)} is")
    )
    first = "" if len(reasons) == 1 else f"in {preview([name])} "
    warnings.warn(
        f"{which} beyond what held-out sources showed: {first}{reason}. Intervals there are at "
        "least as wide as `forecast_` says; label a few rows before relying on them.",
        BeyondExperienceWarning,
        stacklevel=frames_inside(),
    )


def _without(rows: FitArguments, lost: ArrayLike, note: str | None = None) -> FitArguments:
    """Without the rows that are lost, of which a warning says how many."""
    lost = np.asarray(lost, dtype=bool)
    if not lost.any():
        return rows
    if note is not None:
        said = note.format(int(lost.sum()))
        warnings.warn(said, PreparationWarning, stacklevel=frames_inside())
    return only_rows(rows, np.flatnonzero(~lost))


def only_rows(rows: FitArguments, kept: NDArray[np.int64]) -> FitArguments:
    """Those with these numbers, in all that was given by row."""
    by_row = {name: getattr(rows, name) for name in ("X", "y", "sample_domain", "sample_weight")}
    some = {name: _safe_indexing(one, kept) for name, one in by_row.items() if one is not None}
    return replace(rows, **some)


def _by_labels(rows: FitArguments, names: Sequence[Hashable], few_labels: bool) -> FitArguments:
    """Domains with a label as sources, if nobody says; their rows without one are left out."""
    hidden = hidden_labels(rows.y, len(names))
    if any(isinstance(name, numbers.Integral) and name < 0 for name in names):
        return rows
    if not hidden.any():  # no label is missing, so that there is no target yet
        _refuse_placeholders(rows, names, np.ones(len(names), dtype=bool))
        return replace(rows, sample_domain=names, source_domains=order_names(names))
    sources = {name for name, gone in zip(names, hidden) if not gone}
    if few_labels:
        domains = order_names(names)
        few = {n for n, f in zip(domains, has_few(number_names(names, domains), ~hidden)) if f}
        sources = (sources - few) or sources
    lost = [gone and name in sources for name, gone in zip(names, hidden)]
    rows = replace(rows, sample_domain=names, source_domains=list(sources) or None)
    note = "Left out {} rows of source domains that have no label; they can be predicted."
    return _without(rows, lost, note)


def _row_is_source(
    names: Sequence[Hashable], source_domains: Iterable[Hashable] | None
) -> NDArray[np.bool_]:
    domains = order_names(names)
    row_domains = number_names(names, domains)
    return domain_roles(domains, row_domains, source_domains)[row_domains]


def _refuse_placeholders(
    rows: FitArguments, names: Sequence[Hashable], is_source: NDArray[np.bool_]
) -> None:
    """InputError where sources have −1 for no label: it fills targets, or whole domains only."""
    values = check_label_array(rows.y, len(is_source))
    if values.dtype.kind not in "iu" or values.ndim != 1:
        return
    marked = values == HIDDEN_CLASS
    filled = {name for name, gone in zip(names, marked) if gone}
    sources = {name for name, source in zip(names, is_source) if source}
    nowhere_else = not filled & {name for name, gone in zip(names, marked) if not gone}
    others = np.unique(values[is_source & ~marked])
    all_named = bool(is_source.all()) and len(filled) < len(sources)
    beside_targets = nowhere_else and filled & sources and (filled - sources or all_named)
    if beside_targets and len(others) > 1:
        empty = [name for name in order_names(names) if name in filled & sources]
        raise InputError(
            f"y is −1, which stands for no label, in all rows of {preview(empty)}, and "
            "source_domains names them. Leave them out of source_domains, or fill in their labels; "
            "if −1 is a class, give it another number."
        )
    if marked[~is_source].all() and (~is_source).any() and marked[is_source].any():
        if set(np.unique(values[is_source]).tolist()) <= {HIDDEN_CLASS, 1}:
            return  # a class of its own, beside 1
        raise InputError(
            f"y is −1 in all rows of targets, where it stands for no label, and in "
            f"{int(marked[is_source].sum())} rows of sources. Drop these rows, or give the class "
            "another number."
        )

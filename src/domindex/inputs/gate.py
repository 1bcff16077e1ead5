"""The one gate for user input: what passes here is safe for everything behind it."""

from __future__ import annotations

import numbers
from collections.abc import Hashable, Iterable, Sequence
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from domindex.errors import InputError
from domindex.inputs import labels as label_rules
from domindex.inputs.domain_data import DomainData, Task
from domindex.inputs.layout import read_layout
from domindex.inputs.messages import did_you_mean, preview
from domindex.inputs.names import check_domain_names, number_names, order_names
from domindex.inputs.numbers import check_inputs, masked


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
    y : labels, one per row; what stands in target rows is never read
    sample_domain : a domain name per row
    source_domains : the names of the labelled domains, or True for every row of one and False for
        others, (rows,). None follows skada's convention: integer names, negative for targets;
        there, −1 (a class) and NaN (a value) mark hidden labels.
    task : "classification", "regression", or None to guess it from the source labels
    kind : what rows are: "table", "pictures", "signals", or "auto" to guess it from their shape

    Examples
    --------
    What stands in rows of a target domain is not read, so that nothing can be trained on it:

    >>> from domindex.inputs import check_domain_data
    >>> X, y = [[0.0], [1.0], [5.0]], ["no", "yes", "no"]
    >>> data = check_domain_data(X, y, ["north", "north", "south"], source_domains=["north"])
    >>> data.labels.tolist(), data.classes.tolist()
    ([0, 1, -1], ['no', 'yes'])
    >>> check_domain_data(X, y, ["north", "north", "south"], source_domains=["Nord"])
    Traceback (most recent call last):
    domindex.errors.InputError: source_domains names 'Nord', but sample_domain holds only ...
    """
    inputs = check_inputs(X)
    names = check_domain_names(sample_domain, len(inputs))
    domains = order_names(names)
    row_domains = number_names(names, domains)
    array = label_rules.check_label_array(y, len(inputs))
    is_source = domain_roles(domains, row_domains, source_domains)
    source_rows = is_source[row_domains]
    hidden = label_rules.hidden_marks(array, minus_one_hides=source_domains is None)
    mask = masked(y)
    if mask is not None:  # what stands behind a mask is not read
        hidden |= mask.reshape(len(mask), -1).any(axis=1)
    _require_labels(domains, row_domains, source_rows, hidden)
    chosen = task or label_rules.guess_task(array, source_rows)
    if chosen not in get_args(Task):
        raise InputError(f"task is {chosen!r}. Choose 'classification', 'regression' or None.")
    classes: NDArray | None
    labels: NDArray
    if chosen == "classification":
        classes, labels = label_rules.encode_classes(array, source_rows)
    else:
        classes, labels = None, label_rules.encode_values(array, source_rows)
    return DomainData(
        inputs=inputs,
        labels=labels,
        row_domains=row_domains,
        domains=tuple(domains),
        is_source=is_source,
        task=chosen,
        classes=classes,
        single_output=array.ndim == 1,
        layout=read_layout(inputs.shape, kind),
    )


def domain_roles(
    domains: Sequence[Hashable],
    row_domains: NDArray[np.int64],
    source_domains: Iterable[Hashable] | None,
) -> NDArray[np.bool_]:
    """(domains,) by name, by row, or by the sign of their numbers; of both kinds at least one."""
    if source_domains is None:
        is_source = _sources_by_sign(domains)
    elif (
        getattr(getattr(source_domains, "dtype", None), "kind", None) == "b"
        and getattr(source_domains, "shape", None) == row_domains.shape
    ):
        is_source = _sources_by_row(domains, row_domains, np.asarray(source_domains))
    else:
        is_source = _sources_by_name(domains, source_domains)
    if not is_source.any():
        raise InputError(
            f"There is no source domain: sample_domain holds {preview(domains)}, none with labels. "
            "Name at least one labelled domain in source_domains "
            "(without it, domains with a number of 0 or more are the sources)."
        )
    if is_source.all():
        raise InputError(
            f"There is no target domain: all {len(domains)} domains ({preview(domains)}) are "
            "sources. Leave the domains without labels out of source_domains "
            "(without it, domains with a negative number are the targets)."
        )
    return is_source


def _sources_by_name(
    domains: Sequence[Hashable], source_domains: Iterable[Hashable]
) -> NDArray[np.bool_]:
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


def _sources_by_row(
    domains: Sequence[Hashable], row_domains: NDArray[np.int64], mask: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """By a mask, which whatever splits rows splits with them: names would stay as they are."""
    marked = np.bincount(row_domains[mask], minlength=len(domains))
    sizes = np.bincount(row_domains, minlength=len(domains))
    mixed = [name for name, m, n in zip(domains, marked, sizes) if 0 < m < n]
    if mixed:
        raise InputError(
            f"source_domains is True in some rows of {preview(mixed)} and False in others. A "
            "domain is a source or a target as a whole: give its rows one value."
        )
    return np.asarray(marked > 0)


def _sources_by_sign(domains: Sequence[Hashable]) -> NDArray[np.bool_]:
    if not all(isinstance(n, numbers.Integral) and not isinstance(n, bool) for n in domains):
        raise InputError(
            "source_domains is missing, and sample_domain holds names that are not integers "
            f"({preview(domains)}), so sources and targets cannot be told apart by sign. "
            "Pass source_domains=[…] with the names of the labelled domains."
        )
    return np.array([name >= 0 for name in domains])  # type: ignore[operator]


def _require_labels(
    domains: Sequence[Hashable],
    row_domains: NDArray[np.int64],
    source_rows: NDArray[np.bool_],
    hidden: NDArray[np.bool_],
) -> None:
    """No source row may have a hidden label; a source domain with none at all gets its own word."""
    lost = hidden & source_rows
    if not lost.any():
        return
    sizes = np.bincount(row_domains, minlength=len(domains))
    hidden_sizes = np.bincount(row_domains[lost], minlength=len(domains))
    empty = [name for name, n, h in zip(domains, sizes, hidden_sizes) if n == h]
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

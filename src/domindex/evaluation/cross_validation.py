"""Cross-validation over domains: labels of some sources are hidden, their rows stay."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone, is_classifier
from sklearn.utils import _safe_indexing

from domindex.errors import InputError, PreparationWarning
from domindex.estimators.frames import FitArguments, only_rows, take_named
from domindex.estimators.new_domains import frames_inside
from domindex.inputs import check_domain_names, group_rows
from domindex.inputs.labels import check_label_array, hidden_marks
from domindex.inputs.messages import preview


def cross_validate_domains(
    model: Any,
    X: Any,
    y: Any,
    *,
    sample_domain: Any,
    source_domains: Iterable[Hashable] | None = None,
    n_splits: int = 5,
    random_state: int = 0,
) -> pd.DataFrame:
    """How well each source is predicted by a model that was not given its labels.

    For domains whose rows are there when the model is fitted, as those of its targets are: rows of
    held-out sources stay, and their labels are hidden. `DomainKFold` takes whole domains away, for
    how well a domain is predicted that turns up after the fit, and serves scikit-learn's searches.

    Parameters
    ----------
    model : an estimator of the library; it is cloned, and stays as it is
    X : inputs, as for `fit`
    y : labels, one per row, or the name of a column of a data frame; read in sources only
    sample_domain : a domain name per row, or the name of a column of a data frame
    source_domains : names of the labelled domains, two or more; None takes those with a label that
        is not NaN or None
    n_splits : how many groups the sources are held out in
    random_state : seed of the groups

    Returns
    -------
    A row a source: its fold, its rows, and `accuracy`, or `error`, the root mean squared one.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from domindex import MomentFlow
    >>> from domindex.datasets import make_circle
    >>> from domindex.evaluation import cross_validate_domains
    >>> data = make_circle(n_domains=10, n_sources=4, random_state=0)
    >>> rows = {"sample_domain": data.sample_domain, "source_domains": data.source_domains}
    >>> table = cross_validate_domains(
    ...     MomentFlow(LogisticRegression()), data.X, data.y, **rows, n_splits=2
    ... )
    >>> len(table), list(table.columns)
    (4, ['domain', 'fold', 'rows', 'accuracy'])
    """
    told, names, sources = _labelled(
        FitArguments(X, y, sample_domain, source_domains, None), n_splits
    )
    labels = check_label_array(told.y, len(names))
    shuffled = np.random.default_rng(random_state).permutation(len(sources))
    groups = dict(group_rows(names, len(names)))
    records, said = [], set[str]()
    for fold, held_out in enumerate(np.array_split(shuffled, n_splits)):
        hidden = [sources[number] for number in held_out]
        rest = [name for name in sources if name not in hidden]
        fitted = _fitted(model, replace(told, sample_domain=names, source_domains=rest), said)
        for name in hidden:
            rows = groups[name]
            part, told_name = _safe_indexing(told.X, rows), [name] * len(rows)
            score = _score(fitted, fitted.predict(part, sample_domain=told_name), labels[rows])
            records.append({"domain": name, "fold": fold, "rows": len(rows), **score})
    return pd.DataFrame(records)


def _fitted(model: Any, rows: FitArguments, said: set[str]) -> Any:
    """A copy of the model, fitted; what was `said` of its columns before is not said again."""
    names, sources = rows.sample_domain, rows.source_domains
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", PreparationWarning)
        fitted = clone(model).fit(rows.X, rows.y, sample_domain=names, source_domains=sources)
    for one in caught:
        text = str(one.message)
        if not issubclass(one.category, PreparationWarning) or text not in said:
            warnings.warn(text, one.category, stacklevel=frames_inside())
        said.add(text)
    return fitted


def _labelled(
    rows: FitArguments, n_splits: int
) -> tuple[FitArguments, list[Hashable], list[Hashable]]:
    """Rows without those of sources that have no label, the domain of each, and the sources."""
    told = take_named(rows)
    labels = check_label_array(told.y, len(told.y))
    names = check_domain_names(told.sample_domain, len(labels))
    known = ~hidden_marks(labels, minus_one_hides=False)
    given = told.source_domains
    if given is None:
        given = [name for name, has_label in zip(names, known) if has_label]
    sources = _checked(given, names, n_splits)
    chosen = set(sources)
    is_source = np.array([name in chosen for name in names])
    kept = known | ~is_source
    if kept.all():
        return told, names, sources
    return (
        only_rows(told, np.flatnonzero(kept)),
        [name for name, keep in zip(names, kept) if keep],
        sources,
    )


def _checked(
    source_domains: Iterable[Hashable], names: Sequence[Hashable], n_splits: int
) -> list[Hashable]:
    """The names of the sources, enough for the folds."""
    sources = list(dict.fromkeys(getattr(source_domains, "tolist", lambda: source_domains)()))
    if len(sources) < 2 or not set(sources) <= set(names):
        raise InputError(
            f"source_domains is {preview(sources)}. Name two labelled domains or more, spelled as "
            "in sample_domain."
        )
    if not 2 <= n_splits <= len(sources):
        raise InputError(f"n_splits is {n_splits}. Choose from 2 to {len(sources)}, the sources.")
    return sources


def _score(model: Any, predicted: Any, labels: Any) -> dict[str, float]:
    if is_classifier(model) or getattr(model, "task_", None) == "classification":
        return {"accuracy": float(np.mean(predicted == labels))}
    gaps = np.asarray(predicted, dtype=np.float64) - np.asarray(labels, dtype=np.float64)
    return {"error": float(np.sqrt(np.mean(gaps**2)))}

"""Cross-validation over domains: whole domains held out, or only the labels of some sources."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.model_selection import BaseCrossValidator
from sklearn.utils import _safe_indexing, check_random_state

from domindex.arrays import Ints
from domindex.errors import InputError, PreparationWarning
from domindex.estimators.frames import FitArguments, only_rows, take_named
from domindex.inputs import check_domain_names, group_rows
from domindex.inputs.gate import check_label_array, domain_roles, hidden_marks
from domindex.inputs.messages import frames_inside, preview
from domindex.inputs.names import number_names, order_names

ScoreOn = Literal["both", "sources"]


class DomainKFold(BaseCrossValidator):
    """Holds out whole domains in turn; every side keeps sources, and targets where there are some.

    A held-out domain is one that the model has never seen, like those that turn up after a fit.
    For scikit-learn's `cross_val_score`, `GridSearchCV` and the like, with metadata routing
    switched on: `cross_val_score(model, X, y, cv=DomainKFold(3), params={"sample_domain": names,
    "source_domains": is_source})`, where `is_source` has a truth value per row.

    Parameters
    ----------
    n_splits : folds; no more than there are source domains, or target domains
    score_on : "both" holds out sources and targets; "sources" leaves all targets to every fit
    shuffle : spread domains at random, not in their order
    random_state : seed of that

    Examples
    --------
    >>> names = np.repeat(["a", "b", "c", "d"], 2)
    >>> is_source = np.isin(names, ["a", "b"])
    >>> folds = DomainKFold(2).split(names, sample_domain=names, source_domains=is_source)
    >>> [sorted(set(names[test].tolist())) for _, test in folds]
    [['a', 'c'], ['b', 'd']]
    """

    __metadata_request__split: ClassVar = {"sample_domain": True, "source_domains": True}

    def __init__(
        self,
        n_splits: int = 3,
        *,
        score_on: ScoreOn = "both",
        shuffle: bool = False,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        whole = isinstance(n_splits, int | np.integer) and not isinstance(n_splits, bool)
        if not whole or n_splits < 2:
            raise InputError(f"n_splits is {n_splits!r:.60}. Choose a whole number of 2 or more.")
        if score_on not in get_args(ScoreOn):
            raise InputError(f"score_on is {score_on!r:.60}. Choose one of {get_args(ScoreOn)}.")
        self.n_splits = int(n_splits)
        self.score_on = score_on
        self.shuffle = shuffle
        self.random_state = random_state

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None, **domains: Any) -> int:
        """How many folds there are; the data are not read."""
        return self.n_splits

    def split(
        self,
        X: Any,
        y: Any = None,
        groups: Any = None,
        *,
        sample_domain: Any = None,
        source_domains: Any = None,
    ) -> Iterator[tuple[Ints, Ints]]:
        """Numbers of the rows to fit on, and of those held out, fold by fold.

        Of y is read which rows have none, where nothing else says which domains are sources.

        `groups` are the domains where there is no `sample_domain`.
        """
        n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
        names = check_domain_names(groups if sample_domain is None else sample_domain, n_rows)
        domains = order_names(names)
        row_domains = number_names(names, domains)
        if source_domains is None and y is not None:  # those with a label, as in a fit
            hidden = hidden_marks(check_label_array(y, n_rows), minus_one_hides=False)
            by_number = all(isinstance(name, int) for name in domains)
            if not by_number:
                source_domains = [domains[n] for n in np.unique(row_domains[~hidden])]
        fold_of_domain = self._deal(domain_roles(domains, row_domains, source_domains))
        for fold in range(self.n_splits):
            is_test = fold_of_domain[row_domains] == fold
            yield np.flatnonzero(~is_test), np.flatnonzero(is_test)

    def _deal(self, is_source: NDArray[np.bool_]) -> Ints:
        """(domains,) the fold that holds each out; −1 for those that no fold does."""
        folds = np.full(len(is_source), -1, dtype=np.int64)
        rng = check_random_state(self.random_state)
        kinds: Sequence[tuple[str, bool]] = (("source", True), ("target", False))
        for what, kind in kinds[: 1 if self.score_on == "sources" else 2]:
            members = np.flatnonzero(is_source == kind)
            if not kind and not len(members):  # no target yet
                continue
            if len(members) < self.n_splits:
                raise InputError(
                    f"n_splits is {self.n_splits}, and there are {len(members)} {what} domains to "
                    f"hold out. Choose {len(members)} or fewer"
                    f"{'' if kind else ', or score_on=' + repr('sources')}."
                )
            order = rng.permutation(members) if self.shuffle else members
            folds[order] = np.arange(len(order)) % self.n_splits
        return folds


def cross_validate_domains(
    model: Any,
    X: Any,
    y: Any,
    *,
    sample_domain: Any,
    source_domains: Iterable[Hashable] | None = None,
    n_splits: int | None = None,
    random_state: int = 0,
) -> pd.DataFrame:
    """How well each source is predicted by a model that was not given its labels.

    For domains whose rows are there when the model is fitted, as those of its targets are: rows of
    held-out sources stay, and their labels are hidden. Gives a row per source: its fold, its rows,
    and `accuracy`, or `error`, the root mean squared one. `DomainKFold` takes whole domains away.

    Parameters
    ----------
    model : an estimator of the library; it is cloned, and stays as it is
    X : inputs, as for `fit`
    y : labels, one per row, or the name of a column of a data frame; read in sources only
    sample_domain : a domain name per row, or the name of a column of a data frame
    source_domains : two labelled domains or more; None takes those with a label that is known
    n_splits : how many groups the sources are held out in; None takes 5, or each source alone
        where there are fewer
    random_state : seed of the groups

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from domindex import MomentFlow
    >>> table = cross_validate_domains(
    ...     MomentFlow(LogisticRegression()), data.X, data.y, **rows,
    ...     source_domains=data.source_domains, n_splits=2
    ... )
    >>> list(table.columns)
    ['domain', 'fold', 'rows', 'accuracy']
    """
    asked = FitArguments(X, y, sample_domain, source_domains, None)
    given, names, sources = _labelled(asked)
    n_splits = min(5, len(sources)) if n_splits is None else n_splits
    if not 2 <= n_splits <= len(sources):
        raise InputError(f"n_splits is {n_splits}. Choose from 2 to {len(sources)}, the sources.")
    labels = check_label_array(given.y, len(names))
    shuffled = np.random.default_rng(random_state).permutation(len(sources))
    groups = dict(group_rows(names, len(names)))
    records, said = [], set[str]()
    for fold, held_out in enumerate(np.array_split(shuffled, n_splits)):
        hidden = [sources[number] for number in held_out]
        rest = [name for name in sources if name not in hidden]
        fitted = _fitted(model, replace(given, sample_domain=names, source_domains=rest), said)
        for name in hidden:
            rows = groups[name]
            part = _safe_indexing(given.X, rows)
            predicted = fitted.predict(part, sample_domain=[name] * len(rows))
            score = _score(fitted, predicted, labels[rows])
            records.append({"domain": name, "fold": fold, "rows": len(rows), **score})
    return pd.DataFrame(records)


def _fitted(model: Any, rows: FitArguments, said: set[str]) -> Any:
    """A copy of the model, fitted; a warning on its columns that was `said` is not repeated."""
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


def _labelled(rows: FitArguments) -> tuple[FitArguments, list[Hashable], list[Hashable]]:
    """Rows without those of sources that have no label, the domain of each, and the sources."""
    given = take_named(rows)
    labels = check_label_array(given.y, len(given.y))
    names = check_domain_names(given.sample_domain, len(labels))
    known = ~hidden_marks(labels, minus_one_hides=False)
    named = given.source_domains
    if named is None:
        named = [name for name, has_label in zip(names, known) if has_label]
    sources = list(dict.fromkeys(getattr(named, "tolist", lambda: named)()))
    if len(sources) < 2 or not set(sources) <= set(names):
        raise InputError(
            f"source_domains is {preview(sources)}. Name two labelled domains or more, spelled as "
            "in sample_domain."
        )
    chosen = set(sources)
    used = known | np.array([name not in chosen for name in names])
    rest = np.flatnonzero(used)
    if len(rest) == len(names):
        return given, names, sources
    return only_rows(given, rest), [names[row] for row in rest], sources


def _score(model: Any, predicted: Any, labels: Any) -> dict[str, float]:
    if is_classifier(model) or getattr(model, "task_", None) == "classification":
        return {"accuracy": float(np.mean(predicted == labels))}
    gaps = np.asarray(predicted, dtype=np.float64) - np.asarray(labels, dtype=np.float64)
    return {"error": float(np.sqrt(np.mean(gaps**2)))}

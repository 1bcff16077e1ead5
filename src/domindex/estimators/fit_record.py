"""What a fit leaves for those who want to understand it: figures and counts, no rows."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from domindex.committee.building import BuiltCommittee
from domindex.committee.parallel import Workers
from domindex.committee.record import MOST_GROUPS, HeldOutRecord, column_importance
from domindex.inputs import DomainData
from domindex.inputs.profiles import BINS, MOST_CELLS, ColumnProfile
from domindex.persistence.codec import table_from_state, table_state

OF_OTHERS = " (others)"
"""How the feature of all rare categories of a column is named, after the column."""

MOSTLY_PLAIN = 0.5
"""Share of rows with nothing but 0 and 1 from which on features are taken for categories: those of
rare ones, which have shares instead, are far fewer."""

IMPORTANCE = ("column", "importance", "standard_error")


@dataclass(frozen=True, eq=False)
class FitRecord:
    """How good it was on held-out sources, what it rests on, and what the domains look like.

    Attributes
    ----------
    rows : (domains of the fit,) how many each has
    held_out : quality on held-out sources
    importance : DataFrame, a row a column of the inputs, the weightiest first: column, importance
        (what is lost in held-out sources when it is shuffled: probability of the right class, or
        the rise of the error as a share) and standard_error over domains. Empty where rows are
        pictures or signals, or nothing but a network predicts
    profiles : of the columns of the inputs; empty where rows are no table
    """

    rows: NDArray[np.int64]
    held_out: HeldOutRecord
    importance: pd.DataFrame
    profiles: tuple[ColumnProfile, ...]

    @classmethod
    def of(
        cls,
        built: BuiltCommittee,
        data: DomainData,
        names: Sequence[Hashable] | None,
        seed: int,
        workers: Workers | None = None,
    ) -> FitRecord:
        """`names` are those of the columns; None where the inputs are no columns of the user's."""
        n_features = int(np.prod(data.inputs.shape[1:]))
        is_table = data.inputs.ndim == 2 and not data.layout.is_grid
        if names is None or not is_table or len(names) != n_features:
            return cls(data.domain_sizes, built.held_out, _importance([], np.empty((0, 2))), ())
        texts = [str(name) for name in names]
        profiles = profile_features(data.inputs, texts, data.row_domains, data.n_domains)
        groups = column_groups(texts)
        measured = np.empty((0, 2))
        if built.explained is not None:
            numbers = [columns for _, columns in groups]
            measured = column_importance(built.explained, numbers, seed, workers)
        labels = [label for label, _ in groups[:MOST_GROUPS]] if len(measured) else []
        return cls(data.domain_sizes, built.held_out, _importance(labels, measured), profiles)

    def state(self) -> dict[str, Any]:
        return {
            "rows": [int(count) for count in self.rows],
            "held_out": self.held_out.state(),
            "importance": table_state(self.importance),
            "profiles": {str(k): one.state() for k, one in enumerate(self.profiles)},
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> FitRecord:
        """What `state` described; ValueError where its parts do not fit each other."""
        described = state["profiles"]
        profiles = [ColumnProfile.from_state(described[str(k)]) for k in range(len(described))]
        rows = np.array(state["rows"], dtype=np.int64)
        if any(len(one.counts) != len(rows) for one in profiles):
            raise ValueError("the profiles do not fit the domains")
        held_out = HeldOutRecord.from_state(state["held_out"])
        if (held_out.domains < 0).any() or (held_out.domains >= len(rows)).any():
            raise ValueError("the held-out domains are not among the domains")
        importance = table_from_state(state["importance"])
        if tuple(importance.columns) != IMPORTANCE:
            raise ValueError("the importance of columns is not usable")
        return cls(rows, held_out, importance, tuple(profiles))


def column_groups(names: Sequence[str]) -> list[tuple[str, NDArray[np.int64]]]:
    """Labels and numbers of columns that belong together: "kind=a", "kind=b" are one, "kind".

    Examples
    --------
    >>> from domindex.estimators.fit_record import column_groups
    >>> [(name, columns.tolist()) for name, columns in column_groups(["age", "kind=a", "kind=b"])]
    [('age', [0]), ('kind', [1, 2])]
    >>> [name for name, _ in column_groups(["kind=a", "kind=b", "kind (others)"])]
    ['kind']
    """
    groups: dict[tuple[str, bool], list[int]] = {}
    for number, name in enumerate(names):
        label, equals, level = name.partition("=")
        is_level = bool(equals and label and level)
        pooled = name.removesuffix(OF_OTHERS)
        if pooled != name and (pooled, True) in groups:
            label, is_level = pooled, True
        groups.setdefault((label if is_level else name, is_level), []).append(number)
    return [(label, np.array(columns)) for (label, _), columns in groups.items()]


def profile_features(
    inputs: NDArray, names: Sequence[str], row_domains: NDArray, n_domains: int
) -> tuple[ColumnProfile, ...]:
    """A profile for each column of the user's, as many as `MOST_CELLS` allows.

    Features that are the categories of one column are one column again, as their user knows it.
    """
    found: list[ColumnProfile] = []
    most = max(1, MOST_CELLS // (BINS * max(n_domains, 1)))
    for label, columns in column_groups(names):
        values = np.asarray(inputs[:, columns], dtype=np.float64)
        of_domains = (row_domains, n_domains)
        levels = [
            names[column].removeprefix(f"{label}=")
            for column in columns
            if names[column].startswith(f"{label}=")
        ]
        if levels and _are_categories(values):
            named = values[:, : len(levels)] == 1.0
            codes = np.where(named.any(axis=1), named.argmax(axis=1), len(levels))
            every = np.ones(len(codes), dtype=bool)
            found.append(ColumnProfile.of_categories(label, levels, codes, every, *of_domains))
            continue
        found += [
            ColumnProfile.of_numbers(names[column], one, *of_domains)
            for column, one in zip(columns, values.T)
        ]
    return tuple(found[:most])


def _are_categories(values: NDArray[np.float64]) -> bool:
    """Whether features named "kind=a", "kind=b" are of one column of categories.

    Then rows have a 1 in one of them; a few, whose category is rare, may have shares in all.
    """
    plain = np.isin(values, (0.0, 1.0)).all(axis=1)
    between = (values >= 0.0) & (values <= 1.0)
    alone = values.sum(axis=1) <= 1.0 + 1e-9
    return bool(between.all() and alone.all() and plain.mean() >= MOSTLY_PLAIN)


def _importance(labels: Sequence[str], measured: NDArray[np.float64]) -> pd.DataFrame:
    frame = pd.DataFrame(
        {
            "column": pd.Series(list(labels), dtype=object),
            "importance": measured[:, 0],
            "standard_error": measured[:, 1],
        }
    )
    return frame.sort_values("importance", ascending=False, kind="stable", ignore_index=True)

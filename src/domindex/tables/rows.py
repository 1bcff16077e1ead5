"""Rows of a table with the domain of each: to fit, with roles and labels, or to predict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from domindex.data.domain_data import Task
from domindex.errors import InputError
from domindex.preparation import TablePreparation
from domindex.preparation.columns import require_columns
from domindex.preparation.domain_rule import DomainRule
from domindex.tables.labels import Spelling, TableLabels, choose_sources, read_labels


@dataclass(frozen=True, eq=False)
class LabelledRows:
    """The rows to fit, with the domain, role and label of each; notes say which were left out."""

    table: pd.DataFrame
    domains: list[str]
    labels: TableLabels
    sources: list[str]
    notes: tuple[str, ...] = ()

    @property
    def is_source(self) -> NDArray[np.bool_]:
        chosen = set(self.sources)
        return np.array([name in chosen for name in self.domains])

    @property
    def n_domains(self) -> int:
        return len(set(self.domains))


@dataclass(frozen=True, eq=False)
class PreparedRows:
    """Inputs as the model wants them, the domain of every row, and columns that are kept."""

    inputs: pd.DataFrame
    domains: list[str]
    notes: tuple[str, ...]
    kept: pd.DataFrame


def label_rows(
    table: pd.DataFrame,
    *,
    domain: str,
    targets: Sequence[str],
    sources: Sequence[str] | None,
    task: Task | Literal["auto"],
    rule: DomainRule | None = None,
    spelling: Spelling = "ask",
) -> LabelledRows:
    """Rows of source domains without a label are left out; labels elsewhere are ignored."""
    check_roles(domain, targets)
    require_columns(table.columns, [domain], "domain")
    require_columns(table.columns, targets, "target")
    domains = (rule or DomainRule()).names(table[domain])
    labels = read_labels(table, targets, task, spelling)
    chosen = choose_sources(domains, labels.known, sources)
    every = LabelledRows(table, domains, labels, chosen)
    return _without_lost_rows(every, every.is_source & ~labels.known)


def check_roles(domain: str, targets: Sequence[str]) -> None:
    """That there is something to predict, and that it is not the domain."""
    if not targets or domain in targets:
        raise InputError(
            f"The targets are {list(targets)} and the domain is {domain!r}. "
            "Name at least one column to predict, and another for the domain."
        )


def prepare_rows(table: pd.DataFrame, preparation: TablePreparation) -> PreparedRows:
    """The rows of a later table, prepared as the first was; no column is kept."""
    require_columns(table.columns, [preparation.domain], "domain")
    domains = preparation.rule.names(table[preparation.domain])
    inputs = preparation.apply(table)
    frame = pd.DataFrame(inputs.values, columns=preparation.features)
    return PreparedRows(frame, domains, inputs.notes, table[[]])


def _without_lost_rows(rows: LabelledRows, lost: NDArray[np.bool_]) -> LabelledRows:
    """All rows but the lost ones, with a note on these and on labels that are ignored."""
    notes = []
    ignored = int((~rows.is_source & rows.labels.known).sum())
    if ignored:
        notes.append(f"Ignored the labels of {ignored} rows in domains that are not sources.")
    if lost.any():
        notes.append(
            f"Left out {int(lost.sum())} rows of source domains that have no label; "
            "they can be predicted."
        )
    kept = np.flatnonzero(~lost)
    domains = [rows.domains[row] for row in kept]
    empty = set(rows.sources) - set(domains)
    if empty:
        raise InputError(
            f"The source domains {sorted(empty)[:5]} have no labels at all. Fill in their target, "
            "or leave them out of --sources."
        )
    return LabelledRows(
        rows.table.iloc[kept],
        domains,
        TableLabels(rows.labels.values[kept], rows.labels.known[kept], rows.labels.task),
        rows.sources,
        tuple(notes),
    )

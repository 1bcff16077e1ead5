"""Rows of a table with their domains, labels and roles."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from domindex.errors import InputError
from domindex.inputs.columns import (
    a_date,
    date_parts,
    is_month_first,
    kind_of,
    numbers_of,
    texts_of,
)
from domindex.inputs.domain_data import Task
from domindex.inputs.gate import folded, has_few, read_alike
from domindex.inputs.messages import did_you_mean, preview
from domindex.inputs.streams import is_blank, text_of
from domindex.inputs.windows import OrderWindows

MAX_CLASSES = 20
"""Different whole numbers up to which a target is taken for classes, unless the user says."""

CALENDAR = ("year", "month")
ORDER = "order"
"""What `domain_by` is called where domains are windows along the domain column."""
Spelling = Literal["ask", "merge", "exact"]


@dataclass(frozen=True)
class DomainRule:
    """How a column names domains."""

    # None: by its texts; "year" or "month": by its dates, such as 2004-03; a number: by bands of
    # that width, each named by its lower end; "order": by windows along it.
    by: str | None = None
    month_first: bool = False  # whether 3/4/2020 is in March
    windows: Mapping[str, Any] | None = None  # the state of an `OrderWindows`, in plain lists

    @classmethod
    def fit(cls, column: pd.Series, by: str | None) -> DomainRule:
        if by in CALENDAR and kind_of(column) != "dates":
            raise InputError(
                f"Domains are asked for by {by}, and column {column.name!r} holds no dates: "
                f"{preview(column.tolist(), 2)}. Leave out --domain-by, or name a column of dates."
            )
        if by is None or by in CALENDAR:
            return cls(by, by is not None and is_month_first(column))
        if not _width(by) > 0:
            raise InputError(
                f"Domains are asked for by {by!r}. Choose month or year for dates, or the width of "
                "bands for numbers, such as 0.5."
            )
        return cls(by)

    def names(self, column: pd.Series) -> list[str]:
        """The domain of every row, none blank."""
        given = texts_of(column) if self.by is None else []
        if self.order is not None:
            return self.order.names_of(_values_in_order(column))
        if self.by in CALENDAR:
            parts = date_parts(column, self.month_first)[:, : 1 + CALENDAR.index(self.by)]
            given = [
                None if np.isnan(part).any() else "-".join(f"{int(one):02}" for one in part)
                for part in parts
            ]
        elif self.by is not None:
            width = _width(self.by)
            ends = np.round(np.floor(numbers_of(column) / width) * width, 9).tolist()
            given = [None if np.isnan(end) else text_of(end + 0.0) for end in ends]
        blank = [row for row, name in enumerate(given, start=1) if name is None]
        if blank:
            raise InputError(
                f"The domain column {column.name!r} is blank in {len(blank)} of {len(given)} rows, "
                f"the first is row {blank[0]}. Name the domain of these rows, or leave them out."
            )
        return [name for name in given if name is not None]

    @classmethod
    def along(cls, column: pd.Series, inputs: pd.DataFrame, known: NDArray[np.bool_]) -> DomainRule:
        """Windows of these inputs along a column of numbers or dates; `known` marks labels."""
        labels = np.where(known, 1.0, np.nan)
        state = OrderWindows.fit(inputs, _values_in_order(column), labels).state()
        plain = {k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in state.items()}
        return cls(ORDER, windows=plain)

    @cached_property
    def order(self) -> OrderWindows | None:
        """The windows along the column, where domains are such."""
        if self.windows is None:
            return None
        arrays = {k: np.array(v) if isinstance(v, list) else v for k, v in self.windows.items()}
        return OrderWindows.from_state(arrays)

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> DomainRule:
        by = content.get("by")
        if by == ORDER and isinstance(content.get("windows"), Mapping):
            rule = cls(by, windows=content["windows"])
            assert rule.order is not None  # read here, so that damage is seen
            return rule
        if not (by is None or by in CALENDAR or (isinstance(by, str) and _width(by) > 0)):
            raise ValueError(f"domains by {by!r}")
        return cls(by, bool(content.get("month_first", False)))


def _values_in_order(column: pd.Series) -> Any:
    """Numbers, or dates as pandas reads them; blank ones are refused where they are used."""
    return numbers_of(column) if kind_of(column) == "numbers" else column


def _width(by: str) -> float:
    """Of bands; 0 for what is none."""
    try:
        return float(by) if np.isfinite(float(by)) else 0.0
    except ValueError:
        return 0.0


@dataclass(frozen=True, eq=False)
class TableLabels:
    """Labels (rows,) or (rows, outputs), placeholders where `known` is False, and the task."""

    values: NDArray
    known: NDArray[np.bool_]
    task: Task


def read_labels(
    table: pd.DataFrame,
    targets: Sequence[str],
    task: Task | Literal["auto"],
    spelling: Spelling = "exact",
) -> TableLabels:
    """Classes or values from the target columns; an empty field is no label."""
    if spelling not in get_args(Spelling):
        raise InputError(f"spelling is {spelling!r}. Choose ask, merge or exact.")
    if task not in ("auto", *get_args(Task)):
        raise InputError(f"task is {task!r}. Choose auto, classification or regression.")
    texts = [name for name in targets if _holds_texts(table[name], task)]
    if task != "regression" and len(targets) == 1 and not texts:
        texts = [targets[0]] * _is_spelled(table[targets[0]])
    if len(targets) > 1 or task == "regression":
        _require_values(texts, targets, task)
        return _values(table, targets)
    name = targets[0]
    if texts:
        classes = _spelled(texts_of(table[name]), name, spelling)
        known = np.array([text is not None for text in classes])
        return TableLabels(np.array([text or "" for text in classes]), known, "classification")
    numbers = numbers_of(table[name])
    known = ~np.isnan(numbers)
    whole = bool((np.mod(numbers[known], 1) == 0).all())
    few = whole and len(np.unique(numbers[known])) <= MAX_CLASSES
    if task == "auto" and not few:
        return _values(table, targets)
    if not whole:
        raise InputError(
            f"Column {name!r} holds fractions such as {numbers[known][0]}, which are no classes. "
            "Pass --task regression, or bin the values."
        )
    return TableLabels(np.where(known, numbers, 0).astype(np.int64), known, "classification")


def classes_as_spelled(targets: Sequence[str], task: str) -> list[str]:
    """Columns to be read as they are spelled: of one target that may be of classes. A name may have
    been taken apart at a comma."""
    if task == "regression":
        return []
    return [name.strip() for name in {",".join(targets), ", ".join(targets)}]


def _is_spelled(column: pd.Series) -> bool:
    """Whether classes are more than their numbers: true and false, or codes such as 01."""
    given = list(dict.fromkeys(value for value in column.tolist() if not is_blank(value)))
    if len(given) > MAX_CLASSES:
        return False
    if given and all(isinstance(value, bool | np.bool_) for value in given):
        return True
    return any(isinstance(value, str) and re.fullmatch(r"0\d+", value) for value in given)


def _holds_texts(column: pd.Series, task: Task | Literal["auto"]) -> bool:
    """As of an input, but that classes may be spelled in any way where classes are asked for."""
    try:
        kind = kind_of(column)
    except InputError as error:
        if task == "classification":
            return True
        what = re.split(r"\. (?=(?:Correct|Write|Turn) )", str(error))[0]  # no advice on inputs
        raise InputError(
            f"{what}. Correct the target, or pass --task classification if all are classes."
        ) from None
    if kind == "dates":
        raise a_date(column, is_target=True)
    return kind == "texts"


def as_classes(texts: Sequence[str], classes: Sequence[str]) -> tuple[list[str], list[str]]:
    """Labels as the class that they differ from in capitals or blanks only, and notes on these."""
    spelled: dict[str, list[str]] = {}
    for name in classes:
        spelled.setdefault(folded(name), []).append(name)
    counts = Counter(text for text in texts if text not in set(classes))
    meant = {text: one[0] for text in counts if len(one := spelled.get(folded(text), [])) == 1}
    notes = [f"Took the label {t!r} ({counts[t]} rows) for {meant[t]!r}." for t in meant]
    lost = {text: count for text, count in counts.items() if text not in meant}
    if lost:
        listed = preview((f"{text} ({count} rows)" for text, count in lost.items()), 3)
        notes.append(
            f"Labels that are no class of the run, which no prediction can match: {listed}; the "
            f"classes are {preview(classes)}."
        )
    return [meant.get(text, text) for text in texts], notes


def choose_sources(
    domains: Sequence[str], known: NDArray[np.bool_], named: Sequence[str] | None
) -> list[str]:
    """The labelled domains: those that are named, or those with a label in any row."""
    present = list(dict.fromkeys(domains))
    if len(present) == 1:
        raise InputError(
            f"All rows are of one domain, {present[0]!r}, so there is none to predict in. Name the "
            "column that tells domains apart (--domain), or add rows of domains without labels."
        )
    if named is not None:
        if not named:
            raise InputError(
                f"No domain is named as a source; there are {preview(present, 10)}. Name those "
                "with labels (--sources), or leave the option out to take all with any label."
            )
        found = list(dict.fromkeys(join_names(named, set(present))))
        absent = [name for name in found if name not in present]
        if absent:
            hint = did_you_mean(absent[0], present)
            raise InputError(
                f"There is no domain {absent[0]!r} to be a source; there are "
                f"{preview(present, 10)}. {hint or 'Spell it as in the table.'}"
            )
        return found
    labelled = {name for name, label in zip(domains, known) if label}
    if not labelled:
        raise InputError(
            "No row has a target, so there is nothing to learn from. Fill in the target column of "
            "the labelled domains."
        )
    return [name for name in present if name in labelled]


def join_names(pieces: Sequence[str], present: Set[str]) -> list[str]:
    """Names that hold commas, put together again from what was split there."""
    found, rest = list[str](), list(pieces)
    while rest:
        for length in range(len(rest), 0, -1):
            texts = [mark.join(rest[:length]) for mark in (",", ", ")]
            known = [text for text in texts if text in present]
            if known or length == 1:
                found.append(known[0] if known else rest[0])
                rest = rest[length:]
                break
    return found


def _values(table: pd.DataFrame, targets: Sequence[str]) -> TableLabels:
    columns = np.column_stack([numbers_of(table[name]) for name in targets])
    known = np.asarray(~np.isnan(columns).any(axis=1))
    return TableLabels(columns if len(targets) > 1 else columns[:, 0], known, "regression")


def _spelled(texts: Sequence[str | None], name: str, spelling: Spelling) -> list[str | None]:
    """Classes that read the same as one, where that was said; refused where nothing was."""
    if spelling == "exact":
        return list(texts)
    counts = Counter(text for text in texts if text is not None)
    twice = [sorted(group, key=lambda t: (-counts[t], t)) for group in read_alike(counts)]
    if twice and spelling == "ask":
        listed = "; ".join(
            " and ".join(f"{text!r} ({counts[text]} rows)" for text in group) for group in twice[:3]
        )
        raise InputError(
            f"Classes of {name!r} differ in capitals or blanks only: {listed}. Pass --spelling "
            "merge to take them for one, or --spelling exact if they are not."
        )
    chosen = {text: group[0].strip() for group in twice for text in group}
    return [None if text is None else chosen.get(text, text) for text in texts]


def _require_values(texts: Sequence[str], targets: Sequence[str], task: str) -> None:
    if not texts and task == "classification":
        raise InputError(
            f"A classifier predicts one column, and {len(targets)} are named as targets. "
            "Fit one at a time."
        )
    if texts and len(targets) > 1:
        raise InputError(
            f"{len(targets)} targets are named, which have to be numbers, and {texts[0]!r} holds "
            "texts. Fit one target at a time, or name columns of numbers only."
        )
    if texts:
        raise InputError(
            f"Column {texts[0]!r} holds texts, and regression needs numbers. Correct its values, "
            "or pass --task classification with this column as the only target."
        )


@dataclass(frozen=True, eq=False)
class LabelledRows:
    """The rows to fit, with the domain, role and label of each; notes say which were left out."""

    table: pd.DataFrame
    domains: list[str]
    labels: TableLabels
    sources: list[str]
    notes: tuple[str, ...] = ()

    @classmethod
    def without_labels(cls, table: pd.DataFrame, domains: list[str]) -> LabelledRows:
        """For a map alone: every row counts, and no domain is a source."""
        nothing = np.zeros(len(table))
        return cls(table, domains, TableLabels(nothing, nothing > 0, "regression"), [])

    @property
    def is_source(self) -> NDArray[np.bool_]:
        """(rows,) those that columns are judged by: of sources, or all where none has labels."""
        chosen = set(self.sources or self.domains)
        return np.array([name in chosen for name in self.domains])


def label_rows(
    table: pd.DataFrame,
    domain: str,
    targets: Sequence[str],
    sources: Sequence[str] | None,
    task: Task | Literal["auto"],
    rule: DomainRule | None = None,
    spelling: Spelling = "ask",
    *,
    few_labels: bool = False,
) -> LabelledRows:
    """Rows of source domains without a label are left out; labels elsewhere are ignored, but for
    those of domains that have few, where `few_labels` says that the method reads them."""
    domains = (rule or DomainRule()).names(table[domain])
    labels = read_labels(table, targets, task, spelling)
    numbers = np.unique(domains, return_inverse=True)[1]
    few = labels.known & has_few(numbers, labels.known)[numbers] & few_labels
    surely = labels.known & ~few
    chosen = choose_sources(domains, surely if surely.any() else labels.known, sources)
    is_source = np.isin(domains, chosen)
    read = few & ~is_source
    lost, ignored = is_source & ~labels.known, ~is_source & labels.known & ~read
    kept = np.flatnonzero(~lost)
    left = [domains[row] for row in kept]
    require_labels(set(chosen) - set(left))
    values = labels.values
    if read.any() and labels.task == "classification":  # a placeholder is no class of a target
        values = np.ma.masked_array(values, mask=~labels.known)
    some = TableLabels(values[kept], labels.known[kept], labels.task)
    notes = label_notes(int(ignored.sum()), int(lost.sum()))
    if read.any():
        notes.append(
            f"Read the labels of {read.sum()} rows in {len(np.unique(numbers[read]))} targets: "
            "domains with labels in fewer than half of their rows."
        )
    return LabelledRows(table.iloc[kept], left, some, chosen, tuple(notes))


def require_labels(empty: Iterable[str]) -> None:
    """Refuse sources that have no labels."""
    if names := sorted(empty):
        raise InputError(
            f"The source domains {names[:5]} have no labels at all. Fill in their target, "
            "or leave them out of --sources."
        )


def label_notes(n_ignored: int, n_lost: int) -> list[str]:
    """What is said of labels that are not read, and of rows of sources without one."""
    ignored = f"Ignored the labels of {n_ignored} rows in domains that are not sources."
    lost = f"Left out {n_lost} rows of source domains that have no label; they can be predicted."
    return [note for note, count in ((ignored, n_ignored), (lost, n_lost)) if count]

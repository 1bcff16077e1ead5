"""From a table to numbers, learned once and repeated on every later table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from domindex.data.column_facts import MOST_TEXTS, ColumnFacts
from domindex.data.messages import preview
from domindex.errors import InputError
from domindex.tables.columns import Kind, kind_of, numbers_of, texts_of
from domindex.tables.reading import require_columns

Floats = NDArray[np.float64]
Missing = Literal["impute", "error"]

MAX_CATEGORIES = 100
"""Texts of a column beyond which it looks like an identifier."""


@dataclass(frozen=True)
class NumberColumn:
    """A column of numbers; `fill` stands in for missing ones."""

    name: str
    fill: float

    @property
    def features(self) -> list[str]:
        return [self.name]

    def encode(self, column: pd.Series) -> tuple[Floats, int, set[str]]:
        """(rows, 1), how many values were missing, and texts that are new: never any."""
        numbers = numbers_of(column)
        missing = np.isnan(numbers)
        return np.where(missing, self.fill, numbers)[:, None], int(missing.sum()), set()


@dataclass(frozen=True)
class CategoryColumn:
    """A column of texts, one feature for each of `levels`; `fill` stands in for missing ones."""

    name: str
    levels: tuple[str, ...]
    fill: str

    @property
    def features(self) -> list[str]:
        return [f"{self.name}={level}" for level in self.levels]

    def encode(self, column: pd.Series) -> tuple[Floats, int, set[str]]:
        """(rows, levels), how many values were missing, and the texts that are no level."""
        places, distinct = _distinct(column)
        texts = texts_of(distinct)
        is_missing = np.array([text is None for text in texts])
        position = {level: number for number, level in enumerate(self.levels)}
        filled = [self.fill if text is None else text for text in texts]
        codes = np.array([position.get(text, -1) for text in filled])
        return (
            np.asarray(codes[places][:, None] == np.arange(len(self.levels)), dtype=np.float64),
            int(is_missing[places].sum()),
            {text for text, code in zip(filled, codes) if code < 0},
        )


@dataclass(frozen=True)
class InputChanges:
    """How often each column was filled in, and the texts of each that fit never saw."""

    filled: Counter[str] = field(default_factory=Counter)
    unknown: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def __add__(self, other: InputChanges) -> InputChanges:
        names = dict.fromkeys([*self.unknown, *other.unknown])
        none: frozenset[str] = frozenset()
        both = {n: self.unknown.get(n, none) | other.unknown.get(n, none) for n in names}
        return InputChanges(self.filled + other.filled, both)

    @property
    def notes(self) -> tuple[str, ...]:
        notes = []
        if self.filled:
            listed = preview((f"{name} ({count})" for name, count in self.filled.most_common()), 5)
            notes.append(f"Filled in missing inputs by the sources' median: {listed}.")
        for name, texts in self.unknown.items():
            notes.append(
                f"Column {name!r} holds {preview(sorted(texts), 3)}, which fit never saw; "
                "they count as none of its categories."
            )
        return tuple(notes)


@dataclass(frozen=True, eq=False)
class PreparedInputs:
    """Inputs (rows, features), and what was done to them that a user should know."""

    values: Floats
    changes: InputChanges

    @property
    def notes(self) -> tuple[str, ...]:
        return self.changes.notes


@dataclass(frozen=True)
class TablePreparation:
    """Which columns are inputs, and how they become numbers.

    Attributes
    ----------
    domain : the column that names the domain
    targets : the columns to predict
    columns : the inputs, in the order of the features they become
    missing : "impute" fills missing inputs with the source rows' median, or most frequent text;
        "error" refuses them
    """

    domain: str
    targets: tuple[str, ...]
    columns: tuple[NumberColumn | CategoryColumn, ...]
    missing: Missing = "impute"

    @property
    def features(self) -> list[str]:
        """Names of the features, one per column of the prepared inputs."""
        return [feature for column in self.columns for feature in column.features]

    @classmethod
    def fit(
        cls,
        table: pd.DataFrame,
        *,
        domain: str,
        targets: Sequence[str],
        is_source: NDArray[np.bool_],
        features: Sequence[str] | None = None,
        exclude: Sequence[str] = (),
        categorical: Sequence[str] = (),
        missing: Missing = "impute",
        facts: Mapping[str, ColumnFacts] | None = None,
    ) -> tuple[TablePreparation, tuple[str, ...]]:
        """Learn from a table whose source rows are marked; also returns notes for the user.

        Inputs are all columns but the domain, the targets and `exclude`, or those in `features`.
        Columns that never change are dropped. Where the table is a sample of a larger one, `facts`
        say what all rows hold: which columns change, and the categories of each.
        """
        if missing not in get_args(Missing):
            raise InputError(f"missing is {missing!r}. Choose 'impute' or 'error'.")
        require_columns(table.columns, exclude, "columns to leave out")
        require_columns(table.columns, categorical, "categories")
        chosen = input_names(list(table.columns), domain, targets, features, exclude)
        columns: list[NumberColumn | CategoryColumn] = []
        dropped: list[str] = []
        for name in chosen:
            learned = _learn(table[name], is_source, name in categorical, (facts or {}).get(name))
            if learned is None:
                dropped.append(name)
            else:
                columns.append(learned)
        if not columns:
            raise InputError(
                f"No input is left: {preview(chosen)} never change. "
                "Name columns that differ between rows (--features)."
            )
        notes = []
        if dropped:
            notes.append(f"Dropped {_columns(dropped)} that never change: {preview(dropped)}.")
        coded = [column.name for column in columns if isinstance(column, CategoryColumn)]
        if coded:
            notes.append(f"One-hot encoded {_columns(coded)}: {preview(coded)}.")
        return cls(domain, tuple(targets), tuple(columns), missing), tuple(notes)

    def apply(self, table: pd.DataFrame) -> PreparedInputs:
        """The inputs of a table, prepared as the first was; the table is not changed."""
        require_columns(table.columns, [column.name for column in self.columns], "inputs")
        parts, filled, unknown = [], Counter[str](), dict[str, frozenset[str]]()
        for column in self.columns:
            values, n_missing, new = column.encode(table[column.name])
            parts.append(values)
            if n_missing:
                filled[column.name] = n_missing
            if new:
                unknown[column.name] = frozenset(new)
        if filled and self.missing == "error":
            name, count = filled.most_common(1)[0]
            raise InputError(
                f"{sum(filled.values())} inputs are missing in {_columns(filled)}, most in "
                f"{name!r} ({count}). Fill them in, or let them be imputed (--missing impute)."
            )
        return PreparedInputs(np.hstack(parts), InputChanges(filled, unknown))

    def to_dict(self) -> dict[str, Any]:
        """In terms of JSON."""
        return {
            "domain": self.domain,
            "targets": list(self.targets),
            "missing": self.missing,
            "columns": [asdict(column) for column in self.columns],
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> TablePreparation:
        """What `to_dict` gave; ValueError, KeyError or TypeError for anything else."""
        columns = tuple(_revive(column) for column in content["columns"])
        texts = [content["domain"], *content["targets"]]
        if not columns or not all(isinstance(text, str) for text in texts):
            raise ValueError("there are no columns, or their names are no texts")
        if content["missing"] not in get_args(Missing):
            raise ValueError(f"missing is {content['missing']!r}")
        return cls(content["domain"], tuple(content["targets"]), columns, content["missing"])


def input_names(
    columns: Sequence[str],
    domain: str,
    targets: Sequence[str],
    features: Sequence[str] | None,
    exclude: Sequence[str],
) -> list[str]:
    """The columns that are inputs: those asked for, or all that are nothing else."""
    reserved = {domain, *targets}
    if features is not None:
        require_columns(columns, features, "inputs")
        taken = [name for name in features if name in reserved]
        if taken:
            raise InputError(
                f"{preview(taken)} cannot be an input: it is the domain or a target. "
                "Leave it out of --features."
            )
        return [name for name in dict.fromkeys(features) if name not in exclude]
    return [name for name in columns if name not in reserved and name not in exclude]


def _learn(
    column: pd.Series,
    is_source: NDArray[np.bool_],
    as_category: bool,
    facts: ColumnFacts | None,
) -> NumberColumn | CategoryColumn | None:
    """None for a column that never changes."""
    if not as_category and _kind(column, facts) == "numbers":
        return _learn_numbers(column, is_source, facts)
    name, texts = str(column.name), texts_of(column)
    counts = Counter(text for text in texts if text is not None)
    n_texts: int | str = len(counts)
    if facts is not None:
        counts, n_texts = facts.texts or counts, len(facts.texts or ()) or f"over {MOST_TEXTS}"
    if (facts is not None and facts.texts is None) or len(counts) > MAX_CATEGORIES:
        raise InputError(
            f"Column {name!r} holds {n_texts} different texts, such as {preview(counts, 2)}: "
            "more than categories would. If it names rows, leave it out "
            f"(--exclude {name}); if not, group its values."
        )
    if len(counts) < 2:
        return None
    labelled_counts = Counter(t for t, source in zip(texts, is_source) if source and t is not None)
    fill = min(labelled_counts or counts, key=lambda t: (-(labelled_counts or counts)[t], t))
    return CategoryColumn(name, tuple(sorted(counts)), fill)


def _learn_numbers(
    column: pd.Series, is_source: NDArray[np.bool_], facts: ColumnFacts | None
) -> NumberColumn | None:
    name, numbers = str(column.name), numbers_of(column)
    known = ~np.isnan(numbers)
    ends = (
        [float(end) for end in (numbers[known].min(), numbers[known].max())] if known.any() else []
    )
    if facts is not None:
        if facts.infinite:
            raise InputError(
                f"Column {name!r} is infinite in {facts.infinite} rows. Correct these values, or "
                "leave them empty."
            )
        ends += [end for end in (facts.low, facts.high) if not np.isnan(end)]
    if not ends or min(ends) == max(ends):
        return None
    labelled = numbers[known & is_source]
    middle = labelled if len(labelled) else numbers[known] if known.any() else np.array(ends)
    return NumberColumn(name, float(np.median(middle)))


def _kind(column: pd.Series, facts: ColumnFacts | None) -> Kind:
    """By all texts of a column where they are known."""
    if facts is None or not facts.texts:
        return kind_of(column)
    return kind_of(pd.Series(sorted(facts.texts), name=column.name, dtype=object), in_rows=False)


def _distinct(column: pd.Series) -> tuple[NDArray[np.int64], pd.Series]:
    """(rows,) places in the different values of a column, and these; mixtures stay as they are."""
    kinds = "biuf"
    if column.dtype.kind in kinds or pd.api.types.infer_dtype(column, skipna=True) == "string":
        places, values = pd.factorize(column, use_na_sentinel=False)
        return places, pd.Series(values, name=column.name)
    return np.arange(len(column)), column


def _revive(content: Mapping[str, Any]) -> NumberColumn | CategoryColumn:
    if not isinstance(content["name"], str):
        raise ValueError("a column's name is no text")
    if set(content) == {"name", "fill"}:
        return NumberColumn(content["name"], float(content["fill"]))
    levels = tuple(str(level) for level in content["levels"])
    return CategoryColumn(content["name"], levels, str(content["fill"]))


def _columns(names: Any) -> str:
    return "1 column" if len(names) == 1 else f"{len(names)} columns"

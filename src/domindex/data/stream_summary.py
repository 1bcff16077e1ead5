"""What one pass over a table of any size leaves: counts, moments, categories and a sample."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from domindex.data.arrow_columns import numbered_domains, plain_table, text_of
from domindex.data.bottom_rows import BottomRows, KeyedRows, SampleSize, spread_counts
from domindex.data.column_facts import ColumnFacts, column_facts
from domindex.data.moments import Moments
from domindex.data.names import order_names
from domindex.data.row_keys import row_keys
from domindex.data.streams import Part

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class StreamPlan:
    """What to read of a table, and how.

    Attributes
    ----------
    domain : the column that names the domain
    targets : the columns to predict; none where there is nothing to learn
    inputs : the other columns that are read
    numbers : those of the targets and inputs that hold numbers; the others are taken as they are
        spelled
    is_source : from a domain's name to whether its labels may be read; None where every label may.
        Labels of other domains are replaced by nothing before anything looks at them
    seed : of the choice of rows
    size : of the sample
    spell_domains : whether domains are named by texts, as in files; else by the values themselves
    """

    domain: str
    targets: tuple[str, ...]
    inputs: tuple[str, ...]
    numbers: frozenset[str]
    is_source: Callable[[Hashable], bool] | None = None
    seed: int = 0
    size: SampleSize = field(default_factory=SampleSize)
    spell_domains: bool = True

    @property
    def columns(self) -> list[str]:
        return [self.domain, *self.targets, *self.inputs]


class StreamSummary:
    """What is known of a table after a pass over it.

    Whatever divides or orders the rows, counts, categories, extremes and the sample are the same
    to the bit, and moments up to rounding. Memory is bounded by the sample, the domains and
    `MOST_TEXTS`, never by the rows.
    """

    def __init__(self, plan: StreamPlan) -> None:
        self.plan = plan
        self.names: dict[Hashable, int] = {}
        self.n_rows = np.zeros(0, dtype=np.int64)
        self.n_labelled = np.zeros(0, dtype=np.int64)
        self.n_ignored = 0
        self.columns = {name: ColumnFacts() for name in (*plan.targets, *plan.inputs)}
        self.numbers = tuple(name for name in plan.inputs if name in plan.numbers)
        self.moments = Moments.none(len(self.numbers))
        self._sample = BottomRows(plan.size)

    def add(self, part: Part) -> None:
        """Look at some more rows."""
        plan, table, what = self.plan, part.table, part.what
        if not table.num_rows:
            return
        plain = plain_table(table, [*plan.targets, *plan.inputs], plan.numbers, what)
        rows = self._number(table.column(plan.domain), what)
        plain, labelled, ignored = self._hide_labels(plain, rows)
        self.n_ignored += ignored
        self._count(rows, labelled)
        for name, facts in self.columns.items():
            facts.merge(column_facts(plain.column(name), name in plan.targets))
        self._measure(plain, rows)
        keyed = plain.append_column(plan.domain, _spelled_names(self.names, rows))
        ones = np.ones(len(rows), dtype=np.int64)
        self._sample.add(KeyedRows(plain, 2 * rows + labelled, row_keys(keyed, plan.seed), ones))

    def merge(self, other: StreamSummary) -> None:
        """Add what another pass over other rows has left."""
        places = np.array(
            [self.names.setdefault(name, len(self.names)) for name in other.names], dtype=np.int64
        )
        self._make_room()
        np.add.at(self.n_rows, places, other.n_rows)
        np.add.at(self.n_labelled, places, other.n_labelled)
        self.n_ignored += other.n_ignored
        for name, facts in self.columns.items():
            facts.merge(other.columns[name])
        self.moments.merge(other.moments, places, len(self.names))
        kept = other._sample.kept()
        if kept is not None:
            groups = 2 * places[kept.groups // 2] + kept.groups % 2
            self._sample.add(KeyedRows(kept.table, groups, kept.keys, kept.counts))

    @property
    def domains(self) -> list[Hashable]:
        """Names in order."""
        return order_names(self.names)

    def counts(self) -> pd.DataFrame:
        """A row a domain: its rows, and those with a label."""
        order = [self.names[name] for name in self.domains]
        columns = {"rows": self.n_rows[order], "labelled": self.n_labelled[order]}
        return pd.DataFrame(columns, index=pd.Index(self.domains, name=self.plan.domain))

    def means(self) -> pd.DataFrame:
        """A row a domain, a column a column of numbers; NaN where all are missing."""
        return self._by_domain(np.where(self.moments.counts > 0, self.moments.means, np.nan))

    def deviations(self) -> pd.DataFrame:
        """As `means`."""
        counts = self.moments.counts
        variances = np.where(counts > 0, self.moments.squares / np.maximum(counts, 1.0), np.nan)
        return self._by_domain(np.sqrt(variances))

    def sample(self, sources: Iterable[Hashable] | None = None) -> pd.DataFrame:
        """Rows of every domain, by domain and then by key, no more than the plan's size says.

        Of `sources` only rows with a label are taken; None takes those with any label for sources.
        """
        import pyarrow as pa

        kept = self._sample.kept()
        assert kept is not None
        chosen = {n for n in self.names if self.n_labelled[self.names[n]]}
        chosen = chosen if sources is None else set(sources)
        by_domain = {
            name: kept.part(np.concatenate([_members(kept.groups, g) for g in groups]))
            for name, groups in self._groups(chosen)
        }
        occurrences = np.array([rows.counts.sum() for rows in by_domain.values()])
        most = self.plan.size.rows_of_each(occurrences)
        picked = [
            (name, rows.table.take(spread_counts(rows, most)))
            for name, rows in by_domain.items()
            if len(rows.keys)
        ]
        frame = pa.concat_tables([table for _, table in picked]).to_pandas()
        names = [name for name, table in picked for _ in range(table.num_rows)]
        frame.insert(0, self.plan.domain, names)
        return frame

    def _groups(self, sources: Collection[Hashable]) -> Iterator[tuple[Hashable, list[int]]]:
        """Every domain with the groups of its rows: those with a label, and others if no source."""
        for name in self.domains:
            labelled = 2 * self.names[name] + 1
            yield name, [labelled] if name in sources else [labelled - 1, labelled]

    def _number(self, column: Any, what: str) -> Numbers:
        """(rows,) numbers of the rows' domains; new ones are added."""
        names, places = numbered_domains(column, self.plan.domain, what, self.plan.spell_domains)
        known = [self.names.setdefault(name, len(self.names)) for name in names]
        self._make_room()
        return np.array(known, dtype=np.int64)[places]

    def _make_room(self) -> None:
        more = len(self.names) - len(self.n_rows)
        self.n_rows = np.pad(self.n_rows, (0, more))
        self.n_labelled = np.pad(self.n_labelled, (0, more))

    def _hide_labels(self, table: Any, rows: Numbers) -> tuple[Any, NDArray[np.bool_], int]:
        """The table without labels that may not be read, where there is a label, and how many of
        the labels were hidden."""
        plan = self.plan
        known = np.ones(table.num_rows, dtype=bool)
        for name in plan.targets:
            known &= _is_given(table.column(name))
        if not plan.targets:
            known[:] = False
        if plan.is_source is None or not plan.targets:
            return table, known, 0
        import pyarrow as pa
        import pyarrow.compute as pc

        open_domains = np.array([plan.is_source(name) for name in self.names])
        may_read = open_domains[rows]
        if may_read.all():
            return table, known, 0
        for name in plan.targets:
            column = pc.if_else(pa.array(may_read), table.column(name), None)
            table = table.set_column(table.column_names.index(name), name, column)
        return table, known & may_read, int((known & ~may_read).sum())

    def _count(self, rows: Numbers, labelled: NDArray[np.bool_]) -> None:
        n_domains = len(self.names)
        self.n_rows += np.bincount(rows, minlength=n_domains)
        self.n_labelled += np.bincount(rows[labelled], minlength=n_domains)

    def _measure(self, table: Any, rows: Numbers) -> None:
        columns = [table.column(name).to_numpy() for name in self.numbers]
        values = np.column_stack(columns or [np.empty((len(rows), 0))])
        present, local = np.unique(rows, return_inverse=True)
        self.moments.merge(Moments.of(values, local, len(present)), present, len(self.names))

    def _by_domain(self, values: Floats) -> pd.DataFrame:
        order = [self.names[name] for name in self.domains]
        index = pd.Index(self.domains, name=self.plan.domain)
        return pd.DataFrame(values[order], index=index, columns=list(self.numbers))


def _is_given(column: Any) -> NDArray[np.bool_]:
    """Whether there is a value that is no blank text, (rows,)."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_floating(column.type):
        return ~np.isnan(column.to_numpy())
    given = pc.greater(pc.utf8_length(pc.utf8_trim_whitespace(column)), 0)
    return pc.fill_null(given, False).to_numpy(zero_copy_only=False).astype(bool)


def _spelled_names(names: dict[Hashable, int], rows: Numbers) -> Any:
    """The domain of every row as text, for its key."""
    import pyarrow as pa

    return pa.array([text_of(name) for name in names], pa.string()).take(pa.array(rows))


def _members(groups: Numbers, group: int) -> Numbers:
    """Row numbers of a group; groups are in order."""
    return np.arange(np.searchsorted(groups, group), np.searchsorted(groups, group + 1))

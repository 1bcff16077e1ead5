"""What one pass over a table of any size finds: counts, moments, categories and a sample."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray

from domindex.arrays import Floats, Ints
from domindex.cluster import cluster_errors
from domindex.errors import InputError
from domindex.inputs.names import order_names
from domindex.inputs.sampling import BottomRows, KeyedRows, SampleSize, row_keys
from domindex.inputs.streams import (
    Part,
    RowStream,
    is_blank,
    numbered_domains,
    plain_table,
    read_partition,
    reading,
    text_of,
)


@dataclass(eq=False)
class ColumnFacts:
    """A column as all rows have it."""

    missing: int = 0
    low: float = np.nan  # of finite numbers; NaN where there are none
    high: float = np.nan
    infinite: int = 0
    texts: Counter[str] | None = field(default_factory=Counter)  # None for numbers or too many
    few: frozenset[float] | None = frozenset()  # numbers of a target, while they are whole and few
    most_distinct: int = 1_000

    def add(self, column: Any, is_target: bool) -> None:
        """More values, a pyarrow column of numbers or texts."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if pa.types.is_floating(column.type):
            values = column.to_numpy()
            given = values[~np.isnan(values)]
            finite = given[np.isfinite(given)]
            low, high = (finite.min(), finite.max()) if len(finite) else (np.nan, np.nan)
            whole = is_target and not (np.mod(finite, 1) != 0).any()
            few = frozenset(np.unique(finite).tolist()) if whole else None
            infinite = len(given) - len(finite)
            self.merge(ColumnFacts(len(values) - len(given), low, high, infinite, None, few))
        else:
            counted = pc.value_counts(column.combine_chunks())
            pairs = zip(counted.field("values").to_pylist(), counted.field("counts").to_pylist())
            texts = Counter({value: count for value, count in pairs if not is_blank(value)})
            self.merge(ColumnFacts(len(column) - sum(texts.values()), texts=texts, few=None))

    def merge(self, other: ColumnFacts) -> None:
        """Those of other rows."""
        self.missing += other.missing
        self.low = float(np.fmin(self.low, other.low))
        self.high = float(np.fmax(self.high, other.high))
        self.infinite += other.infinite
        texts = None if self.texts is None or other.texts is None else self.texts + other.texts
        self.texts = None if texts is None or len(texts) > self.most_distinct else texts
        few = None if self.few is None or other.few is None else self.few | other.few
        self.few = None if few is None or len(few) > self.most_distinct else few


@dataclass(frozen=True)
class StreamPlan:
    """What to read of a table, and how."""

    domain: str
    targets: tuple[str, ...]
    inputs: tuple[str, ...]
    numbers: frozenset[str]  # columns that hold numbers; others are taken as they are spelled
    # Whether labels of a domain may be read; others are hidden before anything looks at them.
    is_source: Callable[[Hashable], bool] | None = None
    seed: int = 0
    size: SampleSize = field(default_factory=SampleSize)
    spell_domains: bool = True  # domains are named by texts, as in files
    only: Collection[Hashable] | None = None  # the domains that are looked at


class StreamSummary:
    """What is known of a table after a pass over it.

    Whatever divides or orders the rows, counts, categories, extremes and the sample are the same
    to the bit, and moments up to rounding. Memory is bounded by the sample, the domains and the
    texts that are counted, never by the rows.
    """

    def __init__(self, plan: StreamPlan) -> None:
        self.plan = plan
        self.names: dict[Hashable, int] = {}
        self.n_rows = np.zeros(0, dtype=np.int64)
        self.n_labelled = np.zeros(0, dtype=np.int64)
        self.n_ignored = 0
        self.columns = {name: ColumnFacts() for name in (*plan.targets, *plan.inputs)}
        self.numbers = tuple(name for name in plan.inputs if name in plan.numbers)
        self.moments = np.zeros((3, 0, len(self.numbers)))
        self._sample = BottomRows(plan.size)

    def read(self, parts: Iterable[Part]) -> StreamSummary:
        """Look at some more rows."""
        import pyarrow as pa

        plan = self.plan
        for what, table in parts:
            column = table.column(plan.domain)
            names, places = numbered_domains(column, plan.domain, what, plan.spell_domains)
            if plan.only is not None:
                wanted = np.array([name in plan.only for name in names], dtype=bool)
                table, places = table.filter(wanted[places]), places[wanted[places]]
                places = (np.cumsum(wanted) - 1)[places]
                names = [name for name in names if name in plan.only]
            if not names:
                continue
            rows = self._numbers_of(names)[places]
            plain = plain_table(table, list(self.columns), plan.numbers, what)
            plain, labelled = self._hide_labels(plain, rows)
            self.n_rows += np.bincount(rows, minlength=len(self.names))
            self.n_labelled += np.bincount(rows[labelled], minlength=len(self.names))
            for name, facts in self.columns.items():
                facts.add(plain.column(name), name in plan.targets)
            if self.numbers:
                values = np.column_stack([plain.column(name).to_numpy() for name in self.numbers])
                self._pool(np.unique(rows), _moments(values, rows))
            spelled = pa.array([text_of(name) for name in self.names], pa.string())
            named = plain.append_column(plan.domain, spelled.take(pa.array(rows)))
            keys, ones = row_keys(named, plan.seed), np.ones(len(rows), dtype=np.int64)
            self._sample.add(KeyedRows(plain, 2 * rows + labelled, keys, ones))
        return self

    def merge(self, other: StreamSummary) -> StreamSummary:
        """Add what another pass over other rows has left."""
        places = self._numbers_of(other.names)
        np.add.at(self.n_rows, places, other.n_rows)
        np.add.at(self.n_labelled, places, other.n_labelled)
        self.n_ignored += other.n_ignored
        for name, facts in self.columns.items():
            facts.merge(other.columns[name])
        self._pool(places, other.moments)
        kept = other._sample.kept()
        if kept is not None:
            groups = 2 * places[kept.groups // 2] + kept.groups % 2
            self._sample.add(KeyedRows(kept.table, groups, kept.keys, kept.counts))
        return self

    @property
    def domains(self) -> list[Hashable]:
        """Names in order."""
        return order_names(self.names)

    def counts(self) -> pd.DataFrame:
        """A row a domain: its rows, and those with a label."""
        return self._by_domain({"rows": self.n_rows, "labelled": self.n_labelled})

    def means(self) -> pd.DataFrame:
        """A row a domain, a column a column of numbers; NaN where all are missing."""
        counts, means, _ = self.moments
        return self._by_domain(dict(zip(self.numbers, np.where(counts > 0, means, np.nan).T)))

    def deviations(self) -> pd.DataFrame:
        """As `means`."""
        counts, _, squares = self.moments
        variances = squares / np.where(counts > 0, counts, np.nan)
        return self._by_domain(dict(zip(self.numbers, np.sqrt(variances).T)))

    def sample(self, sources: Iterable[Hashable] | None = None) -> pd.DataFrame:
        """Rows of every domain, by domain and then by key, no more than the plan's size says.

        Of `sources` only rows with a label are taken; None takes those with any label for sources.
        """
        import pyarrow as pa

        kept = self._sample.kept()
        assert kept is not None
        chosen = None if sources is None else set(sources)
        by_domain: dict[Hashable, KeyedRows] = {}
        for name in self.domains:
            number = self.names[name]
            is_source = self.n_labelled[number] > 0 if chosen is None else name in chosen
            ends = np.searchsorted(kept.groups, [2 * number + is_source, 2 * number + 2])
            by_domain[name] = kept.part(np.arange(*ends))
        occurrences = np.array([rows.counts.sum() for rows in by_domain.values()])
        most = self.plan.size.rows_of_each(occurrences)
        tables = {
            name: rows.table.take(rows.spread(most))
            for name, rows in by_domain.items()
            if len(rows.keys)
        }
        frame = pa.concat_tables(tables.values()).to_pandas()
        names = [name for name, table in tables.items() for _ in range(table.num_rows)]
        frame.insert(0, self.plan.domain, names)
        return frame

    def _numbers_of(self, names: Iterable[Hashable]) -> Ints:
        """Numbers of domains; new ones are added."""
        numbers = [self.names.setdefault(name, len(self.names)) for name in names]
        more = len(self.names) - len(self.n_rows)
        self.n_rows = np.pad(self.n_rows, (0, more))
        self.n_labelled = np.pad(self.n_labelled, (0, more))
        self.moments = np.pad(self.moments, ((0, 0), (0, more), (0, 0)))
        return np.array(numbers, dtype=np.int64)

    def _pool(self, places: Ints, other: Floats) -> None:
        """Add the moments of further rows to those of the domains at `places`."""
        counts, means, squares = self.moments[:, places]
        total = counts + other[0]
        apart = other[1] - means
        divisor = np.maximum(total, 1.0)
        squares += other[2] + apart**2 * counts * other[0] / divisor
        self.moments[:, places] = total, means + apart * other[0] / divisor, squares

    def _hide_labels(self, table: Any, rows: Ints) -> tuple[Any, NDArray[np.bool_]]:
        """The table without labels that may not be read, and where there is a label."""
        import pyarrow as pa
        import pyarrow.compute as pc

        plan = self.plan
        known = np.full(table.num_rows, bool(plan.targets))
        for name in plan.targets:
            known &= _is_given(table.column(name))
        if plan.is_source is None:
            return table, known
        may_read = np.array([plan.is_source(name) for name in self.names])[rows]
        self.n_ignored += int((known & ~may_read).sum())
        for name in plan.targets:
            column = pc.if_else(pa.array(may_read), table.column(name), None)
            table = table.set_column(table.column_names.index(name), name, column)
        return table, known & may_read

    def _by_domain(self, columns: dict[str, NDArray]) -> pd.DataFrame:
        order = [self.names[name] for name in self.domains]
        index = pd.Index(self.domains, name=self.plan.domain)
        return pd.DataFrame({name: values[order] for name, values in columns.items()}, index=index)


def _moments(values: Floats, domains: Ints) -> Floats:
    """Counts, means and sums of squares about these, (3, domains, columns), of finite values."""
    known = pd.DataFrame(np.where(np.isfinite(values), values, np.nan)).groupby(domains)
    counts = known.count()
    tables = (counts, known.mean(), known.var(ddof=0) * counts)
    return np.stack([table.fillna(0.0).to_numpy(dtype=np.float64) for table in tables])


def _is_given(column: Any) -> NDArray[np.bool_]:
    """Whether there is a value that is no blank text, (rows,)."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_floating(column.type):
        return ~np.isnan(column.to_numpy())
    given = pc.greater(pc.utf8_length(pc.utf8_trim_whitespace(column)), 0)
    return pc.fill_null(given, False).to_numpy(zero_copy_only=False).astype(bool)


def summarise(stream: RowStream, plan: StreamPlan) -> StreamSummary:
    """What all rows say, and a sample of them.

    A Dask frame is summarised partition by partition where its partitions are computed, and only
    summaries travel. Everything else goes through joblib: by itself in this process, under
    `joblib.parallel_config(backend="dask")` on the workers, which must see the same files.
    """
    if stream.partitions:
        summary = _of_partitions(stream, plan)
    elif effective_n_jobs(None) > 1 and len(stream.readers) > 1:
        jobs = (delayed(_of_readers)([reader], plan) for reader in stream.readers)
        with cluster_errors():
            summary = _merged(Parallel(return_as="generator")(jobs), plan)
    else:
        summary = _of_readers(stream.readers, plan)
    if not summary.names:
        raise InputError(f"{stream.what} has no rows. Check the export that wrote it.")
    return summary


def _of_readers(readers: Iterable[Callable[..., Any]], plan: StreamPlan) -> StreamSummary:
    columns = [plan.domain, *plan.targets, *plan.inputs]
    return StreamSummary(plan).read(part for reader in readers for part in reader(columns))


def _of_partition(frame: Any, number: int, columns: list[str], plan: StreamPlan) -> StreamSummary:
    return StreamSummary(plan).read(read_partition(frame, columns, number, columns))


def _of_partitions(stream: RowStream, plan: StreamPlan, merged_at_once: int = 8) -> StreamSummary:
    """Summaries are added up on the workers, a few at a time, so that no process holds many."""
    import dask

    summarised = dask.delayed(_of_partition, pure=False)
    merged = dask.delayed(_merged, pure=False)
    level = [
        summarised(partition, number, stream.columns, plan)
        for number, partition in enumerate(stream.partitions)
    ]
    while len(level) > 1:
        groups = range(0, len(level), merged_at_once)
        level = [merged(level[start : start + merged_at_once], plan) for start in groups]
    with cluster_errors(), reading(stream.what):
        (summary,) = dask.compute(*level)
    return summary


def _merged(summaries: Iterable[StreamSummary], plan: StreamPlan) -> StreamSummary:
    return reduce(StreamSummary.merge, summaries, StreamSummary(plan))

"""What one pass over a table of any size finds: counts, moments, categories and a sample."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray

from domindex.arrays import Floats, Ints
from domindex.cluster import cluster_errors
from domindex.errors import InputError
from domindex.inputs.messages import did_you_mean, preview
from domindex.inputs.names import order_names
from domindex.inputs.sampling import BottomRows, KeyedRows, SampleSize, row_keys, spread_counts
from domindex.inputs.streams import (
    DaskStream,
    Part,
    Stream,
    as_stream,
    checked_partition,
    is_blank,
    numbered_domains,
    partition_name,
    plain_table,
    reading,
    text_of,
)

MOST_TEXTS = 1_000
"""Different texts of a column that are counted; a column with more has none counted."""


@dataclass(eq=False)
class ColumnFacts:
    """A column as all rows have it.

    Attributes
    ----------
    missing : rows without a value
    low, high : of numbers that are finite; NaN where there are none
    infinite : rows with an infinite number
    texts : how often each text occurs; None where there are more than `MOST_TEXTS`, or numbers
    few : the different numbers, while they are whole and few; None otherwise
    """

    missing: int = 0
    low: float = np.nan
    high: float = np.nan
    infinite: int = 0
    texts: Counter[str] | None = field(default_factory=Counter)
    few: frozenset[float] | None = frozenset()

    def merge(self, other: ColumnFacts) -> None:
        self.missing += other.missing
        self.low, self.high = np.fmin(self.low, other.low), np.fmax(self.high, other.high)
        self.infinite += other.infinite
        self.texts = _added(self.texts, other.texts)
        self.few = _united(self.few, other.few)


def column_facts(column: Any, is_target: bool) -> ColumnFacts:
    """Of the values in one table; different numbers are told apart in targets only."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_floating(column.type):
        values = column.to_numpy()
        given = values[~np.isnan(values)]
        finite = given[np.isfinite(given)]
        low, high = (finite.min(), finite.max()) if len(finite) else (np.nan, np.nan)
        few = _few(finite) if is_target else None
        n_missing, n_infinite = len(values) - len(given), len(given) - len(finite)
        return ColumnFacts(n_missing, float(low), float(high), n_infinite, None, few)
    counted = pc.value_counts(column.combine_chunks())
    pairs = zip(counted.field("values").to_pylist(), counted.field("counts").to_pylist())
    texts = Counter({value: count for value, count in pairs if not is_blank(value)})
    missing = len(column) - sum(texts.values())
    return ColumnFacts(missing, texts=_limited(texts), few=None)


def _few(values: Floats) -> frozenset[float] | None:
    if (np.mod(values, 1) != 0).any():
        return None
    distinct = np.unique(values)
    return frozenset(distinct.tolist()) if len(distinct) <= MOST_TEXTS else None


def _limited(texts: Counter[str]) -> Counter[str] | None:
    return texts if len(texts) <= MOST_TEXTS else None


def _added(first: Counter[str] | None, second: Counter[str] | None) -> Counter[str] | None:
    return None if first is None or second is None else _limited(first + second)


def _united(
    first: frozenset[float] | None, second: frozenset[float] | None
) -> frozenset[float] | None:
    both = None if first is None or second is None else first | second
    return both if both is not None and len(both) <= MOST_TEXTS else None


@dataclass(eq=False)
class Moments:
    """Counts, means and sums of squares about them, (domains, columns) each."""

    counts: Floats
    means: Floats
    squares: Floats

    @classmethod
    def none(cls, n_columns: int) -> Moments:
        return cls(*(np.zeros((0, n_columns)) for _ in range(3)))

    @classmethod
    def of(cls, values: Floats, rows: Ints, n_domains: int) -> Moments:
        """Of values (rows, columns), NaN where missing, in numbered domains (rows,)."""
        n_columns = values.shape[1]
        result = cls(*(np.zeros((n_domains, n_columns)) for _ in range(3)))
        for column in range(n_columns):
            known = np.isfinite(values[:, column])
            used, domains = values[known, column], rows[known]
            counts = np.bincount(domains, minlength=n_domains).astype(np.float64)
            sums = np.bincount(domains, weights=used, minlength=n_domains)
            means = sums / np.maximum(counts, 1.0)
            away = (used - means[domains]) ** 2
            result.counts[:, column], result.means[:, column] = counts, means
            result.squares[:, column] = np.bincount(domains, weights=away, minlength=n_domains)
        return result

    def merge(self, other: Moments, places: Ints, n_domains: int) -> None:
        """Add those of other rows, whose domains have the numbers `places` here."""
        more = n_domains - len(self.counts)
        self.counts, self.means, self.squares = (
            np.pad(array, ((0, more), (0, 0))) for array in (self.counts, self.means, self.squares)
        )
        old, new = self.counts[places], other.counts
        total = np.maximum(old + new, 1.0)
        apart = other.means - self.means[places]
        self.squares[places] += other.squares + apart**2 * old * new / total
        self.means[places] += apart * new / total
        self.counts[places] = old + new


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

    def _number(self, column: Any, what: str) -> Ints:
        """(rows,) numbers of the rows' domains; new ones are added."""
        names, places = numbered_domains(column, self.plan.domain, what, self.plan.spell_domains)
        known = [self.names.setdefault(name, len(self.names)) for name in names]
        self._make_room()
        return np.array(known, dtype=np.int64)[places]

    def _make_room(self) -> None:
        more = len(self.names) - len(self.n_rows)
        self.n_rows = np.pad(self.n_rows, (0, more))
        self.n_labelled = np.pad(self.n_labelled, (0, more))

    def _hide_labels(self, table: Any, rows: Ints) -> tuple[Any, NDArray[np.bool_], int]:
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

    def _count(self, rows: Ints, labelled: NDArray[np.bool_]) -> None:
        n_domains = len(self.names)
        self.n_rows += np.bincount(rows, minlength=n_domains)
        self.n_labelled += np.bincount(rows[labelled], minlength=n_domains)

    def _measure(self, table: Any, rows: Ints) -> None:
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


def _spelled_names(names: dict[Hashable, int], rows: Ints) -> Any:
    """The domain of every row as text, for its key."""
    import pyarrow as pa

    return pa.array([text_of(name) for name in names], pa.string()).take(pa.array(rows))


def _members(groups: Ints, group: int) -> Ints:
    """Row numbers of a group; groups are in order."""
    return np.arange(np.searchsorted(groups, group), np.searchsorted(groups, group + 1))


MERGED_AT_ONCE = 8
"""Summaries of partitions that a worker adds up, so that no process holds many."""


def summarise(stream: Stream, plan: StreamPlan) -> StreamSummary:
    """What all rows say, and a sample of them.

    A Dask frame is summarised partition by partition where its partitions are computed, and only
    summaries travel. Everything else goes through joblib: by itself in this process, under
    `joblib.parallel_config(backend="dask")` on the workers, which must see the same files.
    """
    if isinstance(stream, DaskStream):
        summary = _of_partitions(stream, plan)
    elif effective_n_jobs(None) > 1 and len(stream.pieces()) > 1:
        jobs = (delayed(_of_piece)(piece, plan) for piece in stream.pieces())
        with cluster_errors():
            summary = _merged(Parallel(return_as="generator")(jobs))
    else:
        summary = _of_piece(stream, plan)
    if not len(summary.names):
        raise InputError(f"{stream.what} has no rows. Check the export that wrote it.")
    return summary


def _of_piece(stream: Stream, plan: StreamPlan) -> StreamSummary:
    summary = StreamSummary(plan)
    for part in stream.parts(plan.columns):
        summary.add(part)
    return summary


def _of_partitions(stream: DaskStream, plan: StreamPlan) -> StreamSummary:
    import dask

    summarised = dask.delayed(_of_partition, pure=False)
    merged = dask.delayed(_merged_list, pure=False)
    level = [
        summarised(part, stream.columns, number, plan)
        for number, part in enumerate(stream.delayed())
    ]
    while len(level) > 1:
        groups = range(0, len(level), MERGED_AT_ONCE)
        level = [merged(level[start : start + MERGED_AT_ONCE]) for start in groups]
    with cluster_errors(), reading(stream.what):
        (summary,) = dask.compute(*level)
    return summary


def _of_partition(
    frame: Any, columns: Sequence[str], number: int, plan: StreamPlan
) -> StreamSummary:
    what = partition_name(number)
    summary = StreamSummary(plan)
    summary.add(Part(what, checked_partition(frame, columns, what)))
    return summary


def _merged_list(summaries: list[StreamSummary]) -> StreamSummary:
    return _merged(summaries)


def _merged(summaries: Iterable[StreamSummary]) -> StreamSummary:
    """All in the first."""
    result: StreamSummary | None = None
    for summary in summaries:
        if result is None:
            result = StreamSummary(summary.plan)
        result.merge(summary)
    assert result is not None
    return result


class StreamedRows(NamedTuple):
    """A sample: inputs as a frame, labels, and the name of every row's domain."""

    inputs: pd.DataFrame
    labels: Any
    domains: pd.Series


def sample_rows(
    X: Any, y: Any, sample_domain: Any, source_domains: Iterable[Hashable] | None, seed: int
) -> StreamedRows:
    """A bounded sample of the rows of every domain of a pyarrow dataset, a LazyFrame or Dask frame.

    `y` is the name of the label's column, or a list of them, and `sample_domain` that of the
    domain's. All other columns are inputs, and must be numbers. Labels of domains that are not
    among the sources are never read.
    """
    stream = as_stream(X)
    targets = [y] if isinstance(y, str) else list(y) if isinstance(y, list | tuple) else []
    for name in [*targets, sample_domain]:
        _require_column(stream, name)
    if not targets:
        raise _not_named("y", y)
    inputs = [name for name in stream.columns if name not in {sample_domain, *targets}]
    texts = [name for name in inputs if name not in stream.numbers]
    if texts or not inputs:
        raise InputError(
            f"Columns {preview(texts)} of {stream.what} are no numbers. Select those that are "
            "before fitting, or let `domindex.tables.fit_table` encode them."
        )
    is_source = _not_negative if source_domains is None else frozenset(source_domains).__contains__
    summary = summarise(
        stream,
        StreamPlan(
            sample_domain,
            tuple(targets),
            tuple(inputs),
            stream.numbers,
            is_source=is_source,
            seed=seed,
            spell_domains=False,
        ),
    )
    _refuse_missing(summary, stream)
    sources = [name for name in summary.domains if is_source(name)]
    sample = summary.sample(sources)
    labels = _labels(sample[y], stream.types[y]) if isinstance(y, str) else sample[targets]
    return StreamedRows(sample[inputs], labels, sample[sample_domain])


def _labels(column: pd.Series, kind: Any) -> Any:
    """Of the column's own kind; whatever stands in rows of targets."""
    import pyarrow as pa

    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        return column.fillna(0.0).to_numpy().astype(np.int64 if pa.types.is_integer(kind) else bool)
    return column.to_numpy()


def _not_negative(name: Hashable) -> bool:
    """Whether a domain is a source by its sign; whoever checks names refuses those without one."""
    return not (isinstance(name, int) and name < 0)


def _refuse_missing(summary: StreamSummary, stream: Stream) -> None:
    bad = {
        name: facts.missing + facts.infinite
        for name, facts in summary.columns.items()
        if name in summary.plan.inputs and facts.missing + facts.infinite
    }
    if bad:
        listed = preview((f"{name} ({count})" for name, count in bad.items()), 5)
        raise InputError(
            f"{stream.what} contains NaN, nothing or infinity in {listed}. Fill these in, or let "
            "`domindex.tables.fit_table` do it."
        )


def _require_column(stream: Stream, name: Any) -> None:
    if not isinstance(name, str):
        raise _not_named("y and sample_domain", name)
    if name not in stream.types:
        hint = did_you_mean(name, stream.columns)
        raise InputError(
            f"There is no column {name!r} in {stream.what}; there are "
            f"{preview(stream.columns, 12)}. {hint or 'Spell it as in the table.'}"
        )


def _not_named(what: str, given: Any) -> InputError:
    return InputError(
        f"X is read in parts, so {what} must name its columns, but a {type(given).__name__} was "
        "given. Pass for example y='outcome', sample_domain='hospital'."
    )

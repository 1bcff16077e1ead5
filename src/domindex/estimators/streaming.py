"""Fits and predictions on rows that are not in memory: a sample of them, or a part at a time.

A fit learns from a sample. A prediction first finds the domains that the model does not know,
measures each by a sample of its rows, once, and then goes through all rows: so what is predicted
for a row does not depend on the part that it comes in.
"""

from __future__ import annotations

import inspect
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial, wraps
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from domindex.errors import InputError, OffMapWarning
from domindex.estimators.frames import FitArguments
from domindex.estimators.new_domains import warn_off_map
from domindex.estimators.row_sources import (
    RowSource,
    is_dataset,
    is_mapped,
    naming_dead_readers,
    row_source,
)
from domindex.inputs import sampling
from domindex.inputs.columns import NumberColumn
from domindex.inputs.messages import did_you_mean, preview
from domindex.inputs.names import order_names
from domindex.inputs.numbers import require_finite_result
from domindex.inputs.sampling import choose_rows
from domindex.inputs.stream_summary import StreamPlan, StreamSummary, summarise
from domindex.inputs.streams import (
    Part,
    RowStream,
    as_stream,
    is_stream,
    numbered_domains,
    plain_table,
)

if TYPE_CHECKING:
    from domindex.vdi.backbones import FeatureExtractor

Method = TypeVar("Method", bound=Callable[..., Any])
Names = list[Hashable] | None


def is_beyond_memory(X: Any, sample_domain: Any = None) -> bool:
    """Whether X is read in parts: mapped, a torch `Dataset`, or a table that is a stream.

    A Dask frame whose domains are given one by one is taken into memory.
    """
    if is_stream(X):
        by_column = sample_domain is None or isinstance(sample_domain, str)
        return by_column or not hasattr(X, "__array__")
    return is_mapped(X) or is_dataset(X)


class RowsPart(NamedTuple):
    """Some rows: as an estimator takes them, the domain of each, and the table they came in."""

    X: Any
    names: Names
    table: Any = None


class StreamedRows(ABC):
    """Rows beyond memory, as predictions ask for them."""

    @abstractmethod
    def domains(self) -> Names:
        """The different domains in order; None where rows come without names."""

    @abstractmethod
    def sample(self, only: Collection[Hashable] | None = None) -> tuple[Any, Names]:
        """Rows of every domain, or of some, with their names."""

    @abstractmethod
    def parts(self) -> Iterator[RowsPart]:
        """All rows in their order."""


class StreamedArray(StreamedRows):
    """A memory-mapped array or a torch `Dataset`."""

    def __init__(self, source: RowSource, has_names: bool) -> None:
        self.source = source
        self.names = source.names() if has_names else None
        self.n_values = prod(source.shape)

    def domains(self) -> Names:
        return None if self.names is None else order_names(self.names)

    def sample(self, only: Collection[Hashable] | None = None) -> tuple[NDArray, Names]:
        names = self.names or [None] * self.source.n_rows
        rows = np.array([n for n, name in enumerate(names) if only is None or name in only])
        most = sampling.LIMITS.rows_to_learn_from(self.n_values)
        rows = rows[choose_rows([names[row] for row in rows], [], most, seed=0)]
        return self.source.read(rows).inputs, self._names_of(rows)

    def parts(self) -> Iterator[RowsPart]:
        size = sampling.LIMITS.rows_of_part(self.n_values)
        numbers = np.arange(self.source.n_rows)
        for part in self.source.parts(
            [numbers[start : start + size] for start in range(0, len(numbers), size)]
        ):
            yield RowsPart(part.inputs, self._names_of(part.rows))

    def _names_of(self, rows: NDArray) -> Names:
        return None if self.names is None else [self.names[row] for row in rows]


@dataclass(frozen=True, eq=False)
class StreamedTable(StreamedRows):
    """A stream of tables.

    Attributes
    ----------
    inputs : the columns that are predicted from
    numbers : those of them that hold numbers
    domain : the column that names domains; None where none does
    spell : whether domains are named by texts, as in files; else by the values themselves
    others : columns that the tables of `parts` hold as well
    """

    stream: RowStream
    inputs: list[str]
    numbers: frozenset[str]
    domain: str | None
    spell: bool = False
    others: tuple[str, ...] = ()

    @classmethod
    def of_model(cls, model: Any, X: Any, sample_domain: Any, **more: Any) -> StreamedTable:
        """The columns of X that a fitted model asks for."""
        stream = as_stream(X)
        preparation = model._preparation
        if preparation is None and not hasattr(model, "feature_names_in_"):
            raise InputError(
                f"X is a {type(X).__name__}, which is read in parts by the names of its columns, "
                "and fit saw none. Pass rows that fit into memory, or fit with named columns."
            )
        domain = sample_domain
        if domain is None and model._domain_column in stream.types:
            domain = model._domain_column
        elif domain is not None:
            _require_column(stream, domain)
        numbers = stream.numbers
        if preparation is None:
            inputs = [str(name) for name in model.feature_names_in_]
        else:  # numbers are those that were numbers in the fit too
            inputs = preparation.names
            learned = {one.name for one in preparation.columns if isinstance(one, NumberColumn)}
            numbers = numbers & learned
        for name in inputs:
            _require_column(stream, name)
        return cls(stream, inputs, numbers, domain, **more)

    def domains(self) -> Names:
        if self.domain is None:
            return None
        found: set[Hashable] = set()
        for what, table in self.stream.parts([self.domain]):
            column = table.column(self.domain)
            found |= set(numbered_domains(column, self.domain, what, self.spell)[0])
        if not found:
            raise InputError(f"{self.stream.what} has no rows. Check the export that wrote it.")
        return order_names(found)

    def sample(self, only: Collection[Hashable] | None = None) -> tuple[pd.DataFrame, Names]:
        plan = StreamPlan(
            self.domain or _NAMELESS,
            (),
            tuple(self.inputs),
            self.numbers,
            spell_domains=self.spell,
            only=only,
        )
        sample = StreamSummary(plan).read(self.tables()).sample()
        return sample[self.inputs], sample[self.domain].tolist() if self.domain else None

    def parts(self) -> Iterator[RowsPart]:
        return map(self.read, self.tables())

    def read(self, part: Part) -> RowsPart:
        """A part of `tables` as rows."""
        what, table = part
        plain = plain_table(table, self.inputs, self.numbers, what).to_pandas()
        if self.domain is None:
            return RowsPart(plain, None, table)
        column = table.column(self.domain)
        present, places = numbered_domains(column, self.domain, what, self.spell)
        return RowsPart(plain, [present[place] for place in places], table)

    def tables(self) -> Iterator[Part]:
        """All rows in their order, in parts that can be predicted at once."""
        import pyarrow as pa

        size = sampling.LIMITS.rows_of_part(len(self.inputs))
        columns = [*([self.domain] if self.domain else []), *self.inputs, *self.others]
        for what, table in self.stream.parts(list(dict.fromkeys(columns))):
            if self.domain is None:
                table = table.append_column(_NAMELESS, pa.array(["rows"] * table.num_rows))
            for start in range(0, table.num_rows, size):
                yield Part(what, table.slice(start, size))


_NAMELESS = "\0domain"


def rows_beyond_memory(model: Any, X: Any, sample_domain: Any) -> StreamedRows:
    """X as a fitted model reads it."""
    if is_stream(X):
        return StreamedTable.of_model(model, X, sample_domain)
    source = row_source(X, sample_domain, getattr(model, "n_jobs", None))
    return StreamedArray(source, source.names_come_with_rows or sample_domain is not None)


def streams(method: Method) -> Method:
    """A method of a fitted estimator that, of rows beyond memory, gives the same part by part.

    It takes X and perhaps `sample_domain`, and returns an array with an entry a row, or several.
    Either way, what it returns is finite.
    """
    by_domain = "sample_domain" in inspect.signature(method).parameters

    @wraps(method)
    def streamed(self: Any, X: Any, *others: Any, **more: Any) -> Any:
        if not is_beyond_memory(X, more.get("sample_domain")):
            what = f"{type(self).__name__}.{method.__name__}"
            return require_finite_result(method(self, X, *others, **more), what)
        check_is_fitted(self)
        with naming_dead_readers():
            rows = rows_beyond_memory(self, X, more.pop("sample_domain", None))
            if not by_domain:
                return _joined([streamed(self, part.X, **more) for part in rows.parts()])
            return _predicted(self, partial(streamed, **more), rows)

    return cast(Method, streamed)


def _predicted(model: Any, method: Callable[..., Any], rows: StreamedRows) -> Any:
    """A method of a model, of all rows."""
    present, company, names = rows.domains(), None, None
    with warnings.catch_warnings():
        if present is not None:
            warnings.simplefilter("ignore", OffMapWarning)  # once, at the end
        new = None if present is None else set(model._open_domains(present))
        if new is None or new:
            company, names = rows.sample(new)
            settled = model._settled(company, names)
            model, company = (model, company) if settled is None else (settled, None)
        if company is None:
            parts = [method(model, part.X, sample_domain=part.names) for part in rows.parts()]
        else:
            parts = _beside(partial(method, model), rows, company, names)
    off_map = set(getattr(model, "off_map_domains_", ()))
    warn_off_map([name for name in present or () if name in off_map])
    return _joined(parts)


def _beside(
    method: Callable[..., Any], rows: StreamedRows, company: Any, names: Names
) -> list[Any]:
    """Every part is predicted beside the same rows of new domains, which these are measured by."""
    step = -(-len(company) // 4_096)
    company, results = company[::step], []
    for part in rows.parts():
        both = None if names is None or part.names is None else [*names[::step], *part.names]
        result = method(_joined([company, part.X]), sample_domain=both)
        several = isinstance(result, tuple)
        rest = tuple(one[len(company) :] for one in (result if several else (result,)))
        results.append(rest if several else rest[0])
    return results


def _joined(parts: list[Any]) -> Any:
    """Parts one after the other; where each is several arrays, each of these."""
    if isinstance(parts[0], tuple):
        return tuple(_joined(list(column)) for column in zip(*parts))
    if isinstance(parts[0], pd.DataFrame):
        return pd.concat(parts, ignore_index=True)
    return np.concatenate(parts)


def sample_array(
    source: RowSource, given: FitArguments, extractor: FeatureExtractor | None, seed: int
) -> FitArguments:
    """The rows of an array or Dataset that a fit rests on; labels come from `y` or with the rows.

    X are features where a frozen backbone computes them. It is given rows a part at a time, so that
    inputs that are large never stand in memory together.
    """
    if source.names_come_with_rows and given.y is not None:
        raise InputError(
            "X is a Dataset, whose items (x, y, domain) hold their labels, and y is given too. "
            "Leave it out."
        )
    names = source.names()
    n_inputs = prod(source.shape)
    n_values = n_inputs if extractor is None else extractor.n_features
    sources = _source_names(names, given.source_domains)
    limits = sampling.LIMITS
    rows = choose_rows(names, sources, limits.rows_to_learn_from(n_values), seed)
    size = limits.rows_of_part(n_inputs)
    inputs, labels = [], []
    with naming_dead_readers():
        for part in source.parts([rows[n : n + size] for n in range(0, len(rows), size)]):
            inputs.append(part.inputs if extractor is None else extractor.table(part.inputs))
            labels += part.labels
    chosen = [names[row] for row in rows]
    y, weights = given.y, given.sample_weight
    if source.names_come_with_rows:
        y = _labels_of_sources(labels, chosen, set(sources))
    elif y is not None:
        y = _taken(y, rows, len(names), "y")
    if weights is not None:
        weights = _taken(weights, rows, len(names), "sample_weight")
    return FitArguments(np.concatenate(inputs), y, chosen, given.source_domains, weights)


def tried_rows(source: RowSource, count: int = 256) -> NDArray:
    """Rows from all over the source, to try a backbone on."""
    numbers = np.linspace(0, source.n_rows - 1, min(source.n_rows, count))
    return source.read(numbers.astype(np.int64)).inputs


def _source_names(
    names: list[Hashable], source_domains: Iterable[Hashable] | None
) -> list[Hashable]:
    """Names of sources as far as they are known; the gate says what is wrong with them."""
    if source_domains is not None and not isinstance(source_domains, str | bytes):
        return list(getattr(source_domains, "tolist", lambda: source_domains)())
    return [name for name in dict.fromkeys(names) if isinstance(name, int) and name >= 0]


def _labels_of_sources(labels: list[Any], names: list[Hashable], sources: set[Hashable]) -> NDArray:
    """Labels of a dataset's items, with those of targets, which nobody reads, made like them."""
    known = [label for label, name in zip(labels, names) if name in sources]
    if not known:
        return np.asarray(labels)
    return np.asarray([one if name in sources else known[0] for one, name in zip(labels, names)])


def _taken(values: Any, rows: NDArray, n_rows: int, what: str) -> NDArray:
    native = values.detach().cpu().numpy() if hasattr(values, "detach") else values
    array = native if isinstance(native, np.ndarray) else np.asarray(native)
    if array.ndim == 0 or len(array) != n_rows:
        count = "a single value" if array.ndim == 0 else f"{len(array)} entries"
        raise InputError(f"{what} has {count}, but X has {n_rows} rows. Pass one per row.")
    return np.asarray(array[rows])


def sample_table(given: FitArguments, seed: int) -> FitArguments:
    """A bounded sample of the rows of every domain of a table that is read in parts.

    `y` is the name of the label's column, or a list of them, and `sample_domain` that of the
    domain's. All other columns are inputs, and must be numbers. Labels of domains that are not
    among the sources are never read.
    """
    if given.sample_weight is not None:
        raise InputError(
            "sample_weight is given, and X is read in parts, of which a sample is learned from. "
            "Leave the weights out, or pass rows that fit into memory."
        )
    stream, y, domain = as_stream(given.X), given.y, given.sample_domain
    targets = [y] if isinstance(y, str) else list(y) if isinstance(y, list | tuple) else []
    for name in [*targets, domain]:
        _require_column(stream, name)
    if not targets:
        raise _not_named("y", y)
    inputs = [name for name in stream.columns if name not in {domain, *targets}]
    texts = [name for name in inputs if name not in stream.numbers]
    if texts or not inputs:
        raise InputError(
            f"Columns {preview(texts)} of {stream.what} are no numbers. Select those that are "
            "before fitting, or let `domindex.tables.fit_table` encode them."
        )
    sources = given.source_domains
    is_source = _not_negative if sources is None else frozenset(sources).__contains__
    roles = (domain, tuple(targets), tuple(inputs))
    plan = StreamPlan(*roles, stream.numbers, is_source, seed, spell_domains=False)
    summary = summarise(stream, plan)
    bad = {name: summary.columns[name].missing + summary.columns[name].infinite for name in inputs}
    if any(bad.values()):
        listed = preview((f"{name} ({count})" for name, count in bad.items() if count), 5)
        raise InputError(
            f"{stream.what} contains NaN, nothing or infinity in {listed}. Fill these in, or let "
            "`domindex.tables.fit_table` do it."
        )
    sample = summary.sample([name for name in summary.domains if is_source(name)])
    target = y if isinstance(y, str) else None
    labels = sample[targets] if target is None else _labels(sample[target], stream.types[target])
    return FitArguments(sample[inputs], labels, sample[domain], sources, None, domain, target)


def _labels(column: pd.Series, kind: Any) -> NDArray:
    """Of the column's own kind; whatever stands in rows of targets."""
    from pyarrow import types

    if types.is_integer(kind) or types.is_boolean(kind):
        return column.fillna(0.0).to_numpy().astype(np.int64 if types.is_integer(kind) else bool)
    return column.to_numpy()


def _not_negative(name: Hashable) -> bool:
    """Whether a domain is a source by its sign; whoever checks names refuses those without one."""
    return not (isinstance(name, int) and name < 0)


def _require_column(stream: RowStream, name: Any) -> None:
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

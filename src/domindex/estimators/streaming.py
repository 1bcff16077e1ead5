"""Fits and predictions on rows that are not in memory: a sample of them, or a part at a time.

A fit learns from a sample. A prediction first finds the domains that the model does not know,
measures each by a sample of its rows, once, and then goes through all rows: so what is predicted
for a row does not depend on the part that it comes in.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial, wraps
from math import prod
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from domindex.errors import InputError, OffMapWarning
from domindex.estimators.frames import FitArguments, warn_without_domain
from domindex.estimators.new_domains import warn_off_map
from domindex.estimators.row_sources import (
    NAMELESS,
    NumberedRows,
    RowsPart,
    is_dataset,
    is_mapped,
    naming_dead_readers,
    numbered_rows,
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


def is_beyond_memory(X: Any, sample_domain: Any = None) -> bool:
    """Whether X is read in parts: mapped, a torch `Dataset`, or a table that is a stream.

    A Dask frame whose domains are given one by one is taken into memory.
    """
    if is_stream(X):
        by_column = sample_domain is None or isinstance(sample_domain, str)
        return by_column or not hasattr(X, "__array__")
    return is_mapped(X) or is_dataset(X)


@dataclass(frozen=True, eq=False)
class StreamedTable:
    """A stream of tables as predictions ask for its rows, like `NumberedRows`."""

    stream: RowStream
    inputs: list[str]
    numbers: frozenset[str]  # inputs that hold numbers
    domain: str  # the column that names domains
    nameless: bool = False  # whether the stream has no such column
    spell: bool = False  # whether domains are named by texts, as in files
    others: tuple[str, ...] = ()  # further columns that the tables of `parts` hold

    @classmethod
    def of_model(cls, model: Any, X: Any, sample_domain: Any, **more: Any) -> StreamedTable:
        """The columns of X that a fitted model asks for."""
        stream = as_stream(X)
        preparation, numbers = model._preparation, stream.numbers
        if preparation is not None:  # numbers are those that were numbers in the fit too
            inputs = preparation.names
            numbers &= {one.name for one in preparation.columns if isinstance(one, NumberColumn)}
        elif hasattr(model, "feature_names_in_"):
            inputs = [str(name) for name in model.feature_names_in_]
        else:
            raise InputError(
                f"X is a {type(X).__name__}, which is read in parts by the names of its columns, "
                "and fit saw none. Pass rows that fit into memory, or fit with named columns."
            )
        domain = sample_domain
        if domain is None and model._domain_column in stream.types:
            domain = model._domain_column
        nameless = domain is None
        for name in inputs if nameless else [domain, *inputs]:
            _require_column(stream, name)
        return cls(stream, inputs, numbers, NAMELESS if nameless else domain, nameless, **more)

    def domains(self) -> list[Hashable]:
        if self.nameless:
            return [NAMELESS]
        found: set[Hashable] = set()
        for what, table in self.stream.parts([self.domain]):
            column = table.column(self.domain)
            found |= set(numbered_domains(column, self.domain, what, self.spell)[0])
        if not found:
            raise InputError(f"{self.stream.what} has no rows. Check the export that wrote it.")
        return order_names(found)

    def sample(self, only: Collection[Hashable] | None = None) -> tuple[Any, list[Hashable]]:
        roles = (self.domain, (), tuple(self.inputs))
        plan = StreamPlan(*roles, self.numbers, spell_domains=self.spell, only=only)
        sample = StreamSummary(plan).read(self.tables()).sample()
        return sample[self.inputs], sample[self.domain].tolist()

    def parts(self) -> Iterator[RowsPart]:
        return map(self.read, self.tables())

    def read(self, part: Part) -> RowsPart:
        """A part of `tables` as rows."""
        what, table = part
        plain = plain_table(table, self.inputs, self.numbers, what).to_pandas()
        column = table.column(self.domain)
        names, places = numbered_domains(column, self.domain, what, self.spell)
        return RowsPart(plain, [names[place] for place in places], table)

    def tables(self) -> Iterator[Part]:
        """All rows in their order, in parts that can be predicted at once."""
        import pyarrow as pa

        size = sampling.LIMITS.rows_of_part(len(self.inputs))
        columns = [*self.inputs, *self.others] + [self.domain] * (not self.nameless)
        for what, table in self.stream.parts(list(dict.fromkeys(columns))):
            if self.nameless:
                names = pa.array([NAMELESS] * table.num_rows)
                table = table.append_column(self.domain, names)
            for start in range(0, table.num_rows, size):
                yield Part(what, table.slice(start, size))


StreamedRows = NumberedRows | StreamedTable


def rows_beyond_memory(model: Any, X: Any, sample_domain: Any) -> StreamedRows:
    """X as a fitted model reads it."""
    if is_stream(X):
        return StreamedTable.of_model(model, X, sample_domain)
    return numbered_rows(X, sample_domain, getattr(model, "n_jobs", None), may_be_nameless=True)


def streams(method: Method) -> Method:
    """A method of X and perhaps `sample_domain` that takes rows beyond memory part by part.

    It returns an array with an entry a row, or several, and `streams` sees that it is finite.
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
    if rows.nameless:
        warn_without_domain()
    present = rows.domains()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OffMapWarning)  # once, at the end
        model = settled(model, rows, present)
        parts = [method(model, part.X, sample_domain=part.names) for part in rows.parts()]
    off_map = set(getattr(model, "off_map_domains_", ()))
    warn_off_map([None if rows.nameless else name for name in present if name in off_map])
    return _joined(parts)


def settled(model: Any, rows: StreamedRows, present: Iterable[Hashable]) -> Any:
    """A model that has measured the domains it does not know by a sample of their rows."""
    unknown = set(model._open_domains(present))
    return model._settled(*rows.sample(unknown)) if unknown else model


def _joined(parts: list[Any]) -> Any:
    """Parts one after the other; where each is several arrays, each of these."""
    if isinstance(parts[0], tuple):
        return tuple(_joined(list(column)) for column in zip(*parts))
    return np.concatenate(parts)


def sample_array(
    rows: NumberedRows, given: FitArguments, extractor: FeatureExtractor | None, seed: int
) -> FitArguments:
    """The rows of an array or Dataset that a fit rests on; labels come from `y` or with the rows.

    A frozen backbone makes features of them, a part at a time.
    """
    y, weights = given.y, given.sample_weight
    if rows.has_labels and y is not None:
        raise InputError(
            "X is a Dataset, whose items (x, y, domain) hold their labels, and y is given too. "
            "Leave it out."
        )
    n_values = prod(rows.shape) if extractor is None else extractor.n_features
    sources = _source_names(rows.names, given.source_domains)
    most = sampling.LIMITS.rows_to_learn_from(n_values)
    chosen = choose_rows(rows.names, sources, most, seed)
    inputs, labels, names = [], [], []
    with naming_dead_readers():
        for part in rows.parts(chosen):
            inputs.append(part.X if extractor is None else extractor.table(part.X))
            names += part.names
            labels += part.more
    if rows.has_labels:  # those of targets, which nobody reads, are made like one of a source
        known = set(sources)
        first = next((one for one, name in zip(labels, names) if name in known), None)
        if first is not None:
            labels = [one if name in known else first for one, name in zip(labels, names)]
        y = np.asarray(labels)
    elif y is not None:
        y = _taken(y, chosen, rows.n_rows, "y")
    if weights is not None:
        weights = _taken(weights, chosen, rows.n_rows, "sample_weight")
    return FitArguments(np.concatenate(inputs), y, names, given.source_domains, weights)


def tried_rows(rows: NumberedRows, count: int = 256) -> NDArray:
    """Rows from all over, to try a backbone on."""
    numbers = np.linspace(0, rows.n_rows - 1, min(rows.n_rows, count))
    return rows.read(numbers.astype(np.int64))


def _source_names(
    names: list[Hashable], source_domains: Iterable[Hashable] | None
) -> list[Hashable]:
    """Names of sources as far as they are known; the gate says what is wrong with them."""
    if source_domains is not None and not isinstance(source_domains, str | bytes):
        return list(getattr(source_domains, "tolist", lambda: source_domains)())
    return [name for name in dict.fromkeys(names) if isinstance(name, int) and name >= 0]


def _taken(values: Any, rows: NDArray, n_rows: int, what: str) -> NDArray:
    native = values.detach().cpu().numpy() if hasattr(values, "detach") else values
    array = native if isinstance(native, np.ndarray) else np.asarray(native)
    if array.ndim == 0 or len(array) != n_rows:
        count = "a single value" if array.ndim == 0 else f"{len(array)} entries"
        raise InputError(f"{what} has {count}, but X has {n_rows} rows. Pass one per row.")
    return np.asarray(array[rows])


def sample_table(given: FitArguments, seed: int) -> FitArguments:
    """A bounded sample of the rows of every domain of a table that is read in parts.

    `y` names the label's column, or several, and `sample_domain` the domain's. All others are
    inputs, and must be numbers. Labels of domains that are no sources are never read.
    """
    import pyarrow as pa

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
    if not isinstance(y, str):
        return FitArguments(sample[inputs], sample[targets], sample[domain], sources, None, domain)
    labels, kind = sample[y], stream.types[y]
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):  # whatever stands in targets
        own = np.int64 if pa.types.is_integer(kind) else np.bool_
        labels = labels.fillna(0.0).astype(own)
    return FitArguments(sample[inputs], labels.to_numpy(), sample[domain], sources, None, domain, y)


def _not_negative(name: Hashable) -> bool:
    """Whether a domain is a source by its sign; the gate refuses names without one."""
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

"""Fits and predictions on rows that are not in memory: a sample of them, or a part at a time.

A prediction measures each domain that the model does not know by a sample of its rows, once: so
what is predicted for a row does not depend on the part that it comes in.
"""

from __future__ import annotations

import inspect
import mmap
import pickle
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial, wraps
from itertools import chain
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from domindex.arrays import Ints
from domindex.errors import InputError, OffMapWarning
from domindex.estimators import frames
from domindex.estimators.frames import FitArguments, is_beyond_memory, is_dataset
from domindex.inputs import sampling
from domindex.inputs.columns import NumberColumn
from domindex.inputs.gate import check_label_array
from domindex.inputs.messages import did_you_mean, preview
from domindex.inputs.names import check_domain_names, order_names
from domindex.inputs.numbers import require_finite_result
from domindex.inputs.sampling import choose_rows
from domindex.inputs.streams import (
    Part,
    RowStream,
    StreamPlan,
    StreamSummary,
    as_stream,
    is_stream,
    numbered_domains,
    plain_table,
    summarise,
)

if TYPE_CHECKING:
    from domindex.neural.backbones import FeatureExtractor

ITEM_FORM = (
    "Items must be (x, y, domain): an array, a label (None for targets), and a domain's name."
)
NAMELESS = "rows without sample_domain"
"""The domain of rows that come without one."""

Method = TypeVar("Method", bound=Callable[..., Any])


class RowsPart(NamedTuple):
    """Some rows as an estimator takes them, and the domain of each."""

    X: Any
    names: list[Hashable]
    more: Any  # labels of the rows of a Dataset, or the pyarrow table of the rows of a stream


class NumberedRows(ABC):
    """Rows beyond memory that can be read by their numbers: of an array or a Dataset."""

    n_rows: int
    has_labels = False
    nameless = False  # whether they come without domains, and all count as one, `NAMELESS`

    @cached_property
    @abstractmethod
    def names(self) -> list[Hashable]:
        """The domain of every row."""

    @abstractmethod
    def _read(self, numbers: Sequence[Ints]) -> Iterator[RowsPart]:
        """Rows of the given numbers, a part at a time."""

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Of a row."""
        return self.read(np.arange(1)).shape[1:]

    def read(self, rows: Ints) -> NDArray:
        """Some rows at once."""
        (part,) = self._read([rows])
        return np.asarray(part.X)

    def domains(self) -> list[Hashable]:
        """The different domains in order."""
        return order_names(self.names)

    def sample(self, only: Collection[Hashable] | None = None) -> tuple[NDArray, list[Hashable]]:
        """Rows of every domain, or of some, with their names."""
        rows = np.array([n for n, name in enumerate(self.names) if only is None or name in only])
        most = sampling.LIMITS.rows_to_learn_from(prod(self.shape))
        rows = rows[choose_rows([self.names[row] for row in rows], [], most, seed=0)]
        return self.read(rows), [self.names[row] for row in rows]

    def parts(self, rows: Ints | None = None) -> Iterator[RowsPart]:
        """All rows in their order, or those of some numbers."""
        rows = np.arange(self.n_rows) if rows is None else rows
        size = sampling.LIMITS.rows_of_part(prod(self.shape))
        return self._read([rows[start : start + size] for start in range(0, len(rows), size)])


class MappedRows(NumberedRows):
    """A memory-mapped array (rows, ...), of which only what is asked for is read."""

    def __init__(self, array: NDArray, sample_domain: Any, nameless: bool) -> None:
        if array.ndim < 2 or 0 in array.shape:
            raise InputError(f"X has shape {array.shape}. Pass (rows, features) or (rows, ...).")
        self.array, self.n_rows, self.nameless = array, len(array), nameless
        self.sample_domain = [NAMELESS] * self.n_rows if nameless else sample_domain

    @cached_property
    def names(self) -> list[Hashable]:
        return check_domain_names(self.sample_domain, self.n_rows)

    def _read(self, numbers: Sequence[Ints]) -> Iterator[RowsPart]:
        held: Any = self.array
        while isinstance(held, np.ndarray) and not held.flags.writeable:
            held = held.base
        for rows in numbers:
            inputs = np.array(self.array[rows])
            if isinstance(held, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
                held.madvise(mmap.MADV_DONTNEED)  # else all that was read stays in memory
            yield RowsPart(inputs, [self.names[row] for row in rows], [])


class DatasetRows(NumberedRows):
    """A torch `Dataset` with a length, of items (x, y, domain), read by worker processes."""

    has_labels = True

    def __init__(self, dataset: Any, n_jobs: int | None) -> None:
        self.dataset = dataset
        self.n_workers = effective_n_jobs(n_jobs)
        try:
            self.n_rows = len(dataset)
        except (TypeError, NotImplementedError):
            raise InputError(
                f"X is a {type(dataset).__name__} without a length. Pass a Dataset with __len__ "
                "and __getitem__: rows are drawn from it at random."
            ) from None
        if not self.n_rows:
            raise InputError(f"X is a {type(dataset).__name__} without items.")

    @cached_property
    def names(self) -> list[Hashable]:
        given = getattr(self.dataset, "sample_domain", None)
        if given is not None:  # else it is read through for them
            return check_domain_names(given, self.n_rows)
        loaded = self._loaded(_batches(np.arange(self.n_rows)), names_only=True)
        return [name for _, _, names in loaded for name in names]

    def _read(self, numbers: Sequence[Ints]) -> Iterator[RowsPart]:
        loaded = self._loaded([batch for rows in numbers for batch in _batches(rows)])
        for rows in numbers:
            inputs, labels, names = zip(*(next(loaded) for _ in _batches(rows)))
            shapes = sorted({some.shape[1:] for some in inputs})
            if len(shapes) > 1:
                raise InputError(f"Items of the dataset have x of shapes {shapes}. Make them one.")
            yield RowsPart(np.concatenate(inputs), list(chain(*names)), list(chain(*labels)))

    def _loaded(
        self, batches: Sequence[Ints], names_only: bool = False
    ) -> Iterator[tuple[Any, list[Any], list[Hashable]]]:
        """Inputs, labels and names of some items after the other."""
        from torch.utils.data import DataLoader

        seconds = 120
        loader: Any = DataLoader(
            CheckedItems(self.dataset),  # type: ignore[arg-type]
            batch_sampler=[rows.tolist() for rows in batches],
            num_workers=min(self.n_workers, len(batches)),
            collate_fn=partial(collected, names_only=names_only),
            timeout=seconds,
        )
        with naming_dead_readers(seconds):
            for items in loader:
                if isinstance(items, str):
                    raise InputError(items)
                yield items


def _batches(rows: Ints, items_at_once: int = 256) -> list[Ints]:
    """Row numbers that a process reads before it hands them over."""
    return np.array_split(rows, max(1, -(-len(rows) // items_at_once)))


@contextmanager
def naming_dead_readers(seconds: int = 120) -> Iterator[None]:
    """InputError where a process that reads a dataset dies or hangs, whatever runs just then."""
    try:
        yield
    except (RuntimeError, OSError, pickle.PicklingError) as error:
        if isinstance(error, RuntimeError) and "DataLoader" not in str(error):
            raise
        raise InputError(
            f"A process that reads the dataset failed ({error}). It may have run out of memory or "
            f"been killed, or items took longer than {seconds} s. Try fewer processes with "
            "n_jobs, and read an item by hand."
        ) from error


class CheckedItems:
    """Items (x, y, domain) as an array and plain values, or, for another process, a complaint."""

    def __init__(self, dataset: Any) -> None:
        self.dataset = dataset

    def __getitem__(self, number: int) -> tuple[Any, Any, Any] | str:
        item_name = f"Item {number} of the dataset"
        try:
            item = self.dataset[number]
        except Exception as error:
            said = f"({type(error).__name__}: {error})"
            return f"{item_name} cannot be read {said}. Repair it, or leave it out."
        if not isinstance(item, (tuple, list)) or len(item) != 3:
            length = f" of length {len(item)}" if isinstance(item, (tuple, list)) else ""
            return f"{item_name} is a {type(item).__name__}{length}. {ITEM_FORM}"
        try:
            inputs = np.asarray(item[0])
            if inputs.dtype.kind not in "fiub" or not inputs.size:
                raise ValueError(f"dtype {inputs.dtype}, shape {inputs.shape}")
        except Exception as error:
            return f"{item_name} has an x that is no numbers ({error}). {ITEM_FORM}"
        label, name = _plain(item[1]), _plain(item[2])
        try:
            hash(name)
        except TypeError:
            return (
                f"{item_name} has the domain {name!r:.60}, a {type(name).__name__}, which cannot "
                "name a domain (unhashable). Use strings, integers or tuples."
            )
        if name is None or name != name:
            return f"{item_name} has no domain ({name!r}). {ITEM_FORM}"
        return np.atleast_1d(inputs), label, name


def collected(items: Sequence[Any], names_only: bool) -> tuple[Any, list[Any], list[Any]] | str:
    """Inputs stacked, unless only names are needed, labels and names; or the first complaint."""
    for item in items:
        if isinstance(item, str):
            return item
    inputs, labels, names = map(list, zip(*items))
    if names_only:
        return None, [], names
    shapes = sorted({one.shape for one in inputs})
    if len(shapes) > 1:
        return f"Items of the dataset have x of shapes {shapes}. Make them one."
    return np.stack(inputs), labels, names


def _plain(value: Any) -> Any:
    """A number or text out of a tensor or array of no axes; an array of several numbers as one."""
    value = _native(value)
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.ndim == 0):
        return value.item()
    return value


def _native(value: Any) -> Any:
    """A tensor as an array."""
    return value.detach().cpu().numpy() if hasattr(value, "detach") else value


def numbered_rows(
    X: Any, sample_domain: Any, n_jobs: int | None, *, may_be_nameless: bool = False
) -> NumberedRows:
    """What X is read through."""
    if not is_dataset(X):
        return MappedRows(X, sample_domain, may_be_nameless and sample_domain is None)
    if sample_domain is not None:
        raise InputError(
            "X is a Dataset, whose items (x, y, domain) name their domains, and sample_domain is "
            "given too. Leave it out."
        )
    return DatasetRows(X, n_jobs)


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
    """A method of X that takes rows beyond memory part by part; what it returns must be finite."""
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
        frames.warn_without_domain()
    present = rows.domains()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OffMapWarning)  # once, at the end
        model = settled(model, rows, present)
        parts = [method(model, part.X, sample_domain=part.names) for part in rows.parts()]
    off_map = set(getattr(model, "off_map_domains_", ()))
    frames.warn_off_map([None if rows.nameless else name for name in present if name in off_map])
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
    """The rows of an array or Dataset that a fit rests on, as features of a frozen backbone."""
    y, weights, sources = given.y, given.sample_weight, given.source_domains
    if rows.has_labels and y is not None:
        raise InputError(
            "X is a Dataset, whose items (x, y, domain) hold their labels, and y is given too. "
            "Leave it out."
        )
    n_values = prod(rows.shape) if extractor is None else extractor.n_features
    if sources is not None and not isinstance(sources, str | bytes):  # else the gate refuses it
        named = list(getattr(sources, "tolist", lambda: sources)())
    else:
        named = [name for name in dict.fromkeys(rows.names) if isinstance(name, int) and name >= 0]
    chosen = choose_rows(rows.names, named, sampling.LIMITS.rows_to_learn_from(n_values), seed)
    inputs, labels, names = [], [], []
    with naming_dead_readers():
        for part in rows.parts(chosen):
            inputs.append(part.X if extractor is None else extractor.table(part.X))
            names += part.names
            labels += part.more
    if rows.has_labels:  # those of targets, which nobody reads, are made like one of a source
        known = set(named)
        first = next((one for one, name in zip(labels, names) if name in known), None)
        if first is not None:
            labels = [one if name in known else first for one, name in zip(labels, names)]
        y = np.asarray(labels)
    elif y is not None:
        y = check_label_array(y, rows.n_rows)[chosen]
    if weights is not None:
        weights = np.asarray(_native(weights))
        if weights.shape[:1] != (rows.n_rows,):
            raise InputError(
                f"sample_weight has shape {weights.shape}, but X has {rows.n_rows} rows. Pass one "
                "per row."
            )
        weights = weights[chosen]
    return FitArguments(np.concatenate(inputs), y, names, sources, weights)


def sample_table(given: FitArguments, seed: int) -> FitArguments:
    """A sample of the rows of every domain of a table that is read in parts, by named columns."""
    import pyarrow as pa

    if given.sample_weight is not None:
        raise InputError(
            "sample_weight is given, and X is read in parts, of which a sample is learned from. "
            "Leave the weights out, or pass rows that fit into memory."
        )
    stream, y, domain = as_stream(given.X), given.y, given.sample_domain
    targets = list(y) if isinstance(y, list | tuple) and y else [y]
    for name in [*targets, domain]:
        _require_column(stream, name)
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
        raise InputError(
            "X is read in parts, so y and sample_domain must name its columns, but a "
            f"{type(name).__name__} was given. Pass for example y='outcome', "
            "sample_domain='hospital'."
        )
    if name not in stream.types:
        hint = did_you_mean(name, stream.columns)
        raise InputError(
            f"There is no column {name!r} in {stream.what}; there are "
            f"{preview(stream.columns, 12)}. {hint or 'Spell it as in the table.'}"
        )

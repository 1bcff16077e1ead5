"""Fits and predictions on rows that are not in memory: a sample of them, or a part at a time."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Iterable
from functools import partial, wraps
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from domindex.errors import InputError
from domindex.estimators.row_sources import (
    RowSource,
    is_on_disk,
    naming_dead_readers,
    row_source,
)
from domindex.inputs.numbers import require_finite_result
from domindex.inputs.sampling import (
    choose_rows,
    most_rows,
    parts_in_order,
    random_parts,
    rows_of_part,
)

if TYPE_CHECKING:
    from domindex.vdi.backbones import FeatureExtractor

Method = TypeVar("Method", bound=Callable[..., Any])

TRIED_ROWS = 256
"""On which a backbone is tried, and inputs are measured for it."""

PARTS_SEED = 0
"""Of the parts in which rows of new domains are predicted; any would do."""


class SampledRows(NamedTuple):
    """A sample of rows on disk, in memory.

    Attributes
    ----------
    X, y, sample_domain, sample_weight : of the sampled rows, as `fit` takes them; X are features
        where a frozen backbone told them
    input_shape : of a row on disk
    """

    X: NDArray
    y: Any
    sample_domain: list[Hashable]
    sample_weight: Any
    input_shape: tuple[int, ...]


def sample_rows(
    source: RowSource,
    y: Any,
    source_domains: Iterable[Hashable] | None,
    sample_weight: Any,
    extractor: FeatureExtractor | None,
    seed: int,
) -> SampledRows:
    """The rows that a fit rests on; labels come from `y`, or from the items of a dataset.

    A frozen backbone is given them a part at a time, so that inputs that are large never stand in
    memory together.
    """
    names = source.names()
    shape = source.read(np.arange(1)).inputs.shape[1:]
    n_values = prod(shape) if extractor is None else extractor.n_features
    sources = _sources(names, source_domains)
    rows = choose_rows(names, sources, most_rows(n_values), seed)
    size = rows_of_part(prod(shape))
    inputs, labels = [], []
    with naming_dead_readers():
        for part in source.parts(np.array_split(rows, -(-len(rows) // size))):
            inputs.append(part.inputs if extractor is None else extractor.table(part.inputs))
            labels += part.labels
    chosen = [names[row] for row in rows]
    if source.names_come_with_rows:
        y = _of_sources(labels, chosen, sources)
    elif y is not None:
        y = _taken(y, rows, len(names), "y")
    if sample_weight is not None:
        sample_weight = _taken(sample_weight, rows, len(names), "sample_weight")
    return SampledRows(np.concatenate(inputs), y, chosen, sample_weight, shape)


def sample_query(source: RowSource, sample_domain: Any) -> tuple[NDArray, list[Hashable] | None]:
    """Rows to place domains by, as many of each as of any other, with their names if there are."""
    has_names = source.names_come_with_rows or sample_domain is not None
    names = source.names() if has_names else [None] * source.n_rows
    n_values = prod(source.read(np.arange(1)).inputs.shape[1:])
    rows = choose_rows(names, [], most_rows(n_values), PARTS_SEED)
    return source.read(rows).inputs, [names[row] for row in rows] if has_names else None


def first_rows(source: RowSource) -> NDArray:
    """Some rows, from all over the source."""
    n_tried = min(source.n_rows, TRIED_ROWS)
    return source.read(np.linspace(0, source.n_rows - 1, n_tried).astype(np.int64)).inputs


def streams(method: Method) -> Method:
    """A method of a fitted estimator that, of rows on disk, gives the same a part at a time.

    It takes X and perhaps `sample_domain`, and returns an array with an entry a row, or several.
    Either way, what it returns is finite.
    """
    by_domain = "sample_domain" in inspect.signature(method).parameters

    @wraps(method)
    def streamed(self: Any, X: Any, *others: Any, **more: Any) -> Any:
        if not is_on_disk(X):
            told = f"{type(self).__name__}.{method.__name__}"
            return require_finite_result(method(self, X, *others, **more), told)
        check_is_fitted(self)
        sample_domain = more.pop("sample_domain", None)
        source = row_source(X, sample_domain, getattr(self, "n_jobs", None))
        of_part = partial(streamed, self, **more)
        with naming_dead_readers():
            if not by_domain:
                return _in_order(of_part, source)
            has_names = source.names_come_with_rows or sample_domain is not None
            return _by_domain(of_part, source, set(self.domains_), has_names)

    return cast(Method, streamed)


def _in_order(method: Callable[..., Any], source: RowSource) -> Any:
    """For what needs no domain."""
    parts = source.parts(parts_in_order(source.n_rows, _part_size(source)))
    return _assembled([(part.rows, method(part.inputs)) for part in parts], source.n_rows)


def _by_domain(
    method: Callable[..., Any], source: RowSource, known: set[Hashable], has_names: bool
) -> Any:
    """Rows of known domains as they come; those of new domains in random draws, after that."""
    size, results = _part_size(source), []
    names: list[Hashable | None] = [None] * source.n_rows
    if has_names and not source.names_come_with_rows:
        names = list(source.names())
    is_new = np.ones(source.n_rows, dtype=bool)
    for part in source.parts(parts_in_order(source.n_rows, size) if has_names else []):
        for row, name in zip(part.rows, part.names):
            names[row] = name
        old = np.array([names[row] in known for row in part.rows])
        is_new[part.rows] = ~old
        if old.any():
            told = [names[row] for row in part.rows[old]]
            results.append((part.rows[old], method(part.inputs[old], sample_domain=told)))
    if is_new.any():
        draws = random_parts(names, np.flatnonzero(is_new), size, PARTS_SEED)
        for part in source.parts(draws):
            told = [names[row] for row in part.rows]
            results.append(
                (part.rows, method(part.inputs, sample_domain=told if has_names else None))
            )
    return _assembled(results, source.n_rows)


def _part_size(source: RowSource) -> int:
    return rows_of_part(prod(source.read(np.arange(1)).inputs.shape[1:]))


def _assembled(results: list[tuple[NDArray, Any]], n_rows: int) -> Any:
    """Results of parts in the order of the rows; where they are several, of each."""
    if isinstance(results[0][1], tuple):
        columns = range(len(results[0][1]))
        return tuple(
            _assembled([(rows, values[column]) for rows, values in results], n_rows)
            for column in columns
        )
    first = results[0][1]
    whole = np.empty((n_rows, *first.shape[1:]), dtype=first.dtype)
    for rows, values in results:
        whole[rows] = values
    return whole


def _sources(names: list[Hashable], source_domains: Iterable[Hashable] | None) -> list[Hashable]:
    """Names of sources as far as they can be told; the gate says what is wrong with them."""
    if source_domains is not None and not isinstance(source_domains, str | bytes):
        return list(getattr(source_domains, "tolist", lambda: source_domains)())
    return [name for name in dict.fromkeys(names) if isinstance(name, int) and name >= 0]


def _of_sources(labels: list[Any], names: list[Hashable], sources: list[Hashable]) -> NDArray:
    """Labels of a dataset's items, with those of targets, which nobody reads, made like them."""
    known = set(sources)
    mine = [label for label, name in zip(labels, names) if name in known]
    if not mine:
        return np.asarray(labels)
    return np.asarray([one if name in known else mine[0] for one, name in zip(labels, names)])


def _taken(values: Any, rows: NDArray, n_rows: int, what: str) -> NDArray:
    native = values.detach().cpu().numpy() if hasattr(values, "detach") else values
    array = native if isinstance(native, np.ndarray) else np.asarray(native)
    if array.ndim == 0 or len(array) != n_rows:
        count = "a single value" if array.ndim == 0 else f"{len(array)} entries"
        raise InputError(f"{what} has {count}, but X has {n_rows} rows. Pass one per row.")
    return np.asarray(array[rows])

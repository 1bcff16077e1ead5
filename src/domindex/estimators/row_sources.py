"""Rows that are not in memory, by their numbers: a memory-mapped array, or a torch `Dataset`."""

from __future__ import annotations

import mmap
import pickle
import sys
from abc import ABC, abstractmethod
from collections.abc import Collection, Hashable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property, partial
from itertools import chain
from math import prod
from typing import Any, NamedTuple

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray

from domindex.arrays import Ints
from domindex.errors import InputError
from domindex.inputs import sampling
from domindex.inputs.names import check_domain_names, order_names
from domindex.inputs.sampling import choose_rows

ITEM_FORM = (
    "Items must be (x, y, domain): an array, a label (None for targets), and a domain's name."
)
NAMELESS = "rows without sample_domain"
"""The domain of rows that come without one."""


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
        for rows in numbers:
            inputs = np.array(self.array[rows])
            _release(self.array)
            yield RowsPart(inputs, [self.names[row] for row in rows], [])


class DatasetRows(NumberedRows):
    """A torch `Dataset` with a length, of items (x, y, domain), read by worker processes.

    A dataset with an attribute `sample_domain`, one name an item, need not be read through to know
    the domains.
    """

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
        if given is not None:
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
    """Items (x, y, domain) as an array and plain values, or a text that says what is wrong.

    A text, not an error: it comes out of the process that reads as it went in.
    """

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
    """Inputs stacked, labels and names; or what is wrong with the first item that is wrong.

    Of `names_only`, inputs need not come out of the process that reads.
    """
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
    if hasattr(value, "detach"):
        value = value.detach().cpu().numpy()
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.ndim == 0):
        return value.item()
    return value


def is_mapped(X: Any) -> bool:
    """Whether X is a view of a memory-mapped file."""
    while isinstance(X, np.ndarray):
        if isinstance(X, np.memmap):
            return True
        X = X.base
    return False


def _release(array: NDArray) -> None:
    """Let go of what was read of a file that cannot be written to: else all of it stays mapped."""
    held: Any = array
    while isinstance(held, np.ndarray) and not held.flags.writeable:
        held = held.base
    if isinstance(held, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        held.madvise(mmap.MADV_DONTNEED)


def is_dataset(X: Any) -> bool:
    """Whether X is a torch `Dataset`, or of a class that `holds_items`; torch is not imported."""
    if getattr(type(X), "holds_items", False) is True:
        return True
    torch_data = sys.modules.get("torch.utils.data")
    return torch_data is not None and isinstance(X, torch_data.Dataset)


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

"""Rows that are not in memory, by their numbers: a memory-mapped array, or a torch `Dataset`."""

from __future__ import annotations

import mmap
import pickle
import sys
from abc import ABC, abstractmethod
from collections.abc import Collection, Hashable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
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
    """Some rows as an estimator takes them, and the domain of each.

    Attributes
    ----------
    more : the labels of the rows of a Dataset, or the pyarrow table of the rows of a stream
    """

    X: Any
    names: list[Hashable]
    more: Any


class StreamedRows(ABC):
    """Rows beyond memory, as predictions ask for them."""

    nameless: bool
    """Whether they come without domains, and all count as one, `NAMELESS`."""

    @abstractmethod
    def domains(self) -> list[Hashable]:
        """The different domains in order."""

    @abstractmethod
    def sample(self, only: Collection[Hashable] | None = None) -> tuple[Any, list[Hashable]]:
        """Rows of every domain, or of some, with their names."""

    @abstractmethod
    def parts(self) -> Iterator[RowsPart]:
        """All rows in their order."""


class NumberedRows(StreamedRows):
    """Rows that can be read by their numbers: of an array or a Dataset."""

    n_rows: int
    has_labels = False

    @abstractmethod
    def _all_names(self) -> list[Hashable]:
        """The domain of every row."""

    @abstractmethod
    def _read(self, numbers: Sequence[Ints]) -> Iterator[RowsPart]:
        """Rows of the given numbers, a part at a time."""

    @cached_property
    def names(self) -> list[Hashable]:
        """The domain of every row."""
        return self._all_names()

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Of a row."""
        return self.read(np.arange(1)).shape[1:]

    def read(self, rows: Ints) -> NDArray:
        """Some rows at once."""
        (part,) = self._read([rows])
        return np.asarray(part.X)

    def domains(self) -> list[Hashable]:
        return order_names(self.names)

    def sample(self, only: Collection[Hashable] | None = None) -> tuple[NDArray, list[Hashable]]:
        rows = np.array([n for n, name in enumerate(self.names) if only is None or name in only])
        most = sampling.LIMITS.rows_to_learn_from(prod(self.shape))
        rows = rows[choose_rows([self.names[row] for row in rows], [], most, seed=0)]
        return self.read(rows), [self.names[row] for row in rows]

    def parts(self) -> Iterator[RowsPart]:
        return self.parts_of(np.arange(self.n_rows))

    def parts_of(self, rows: Ints) -> Iterator[RowsPart]:
        """The rows of these numbers."""
        size = sampling.LIMITS.rows_of_part(prod(self.shape))
        return self._read([rows[start : start + size] for start in range(0, len(rows), size)])


class MappedRows(NumberedRows):
    """A memory-mapped array (rows, ...), of which only what is asked for is read."""

    def __init__(self, array: NDArray, sample_domain: Any, nameless: bool) -> None:
        if array.ndim < 2 or 0 in array.shape:
            raise InputError(f"X has shape {array.shape}. Pass (rows, features) or (rows, ...).")
        self.array, self.n_rows, self.nameless = array, len(array), nameless
        self.sample_domain = [NAMELESS] * self.n_rows if nameless else sample_domain

    def _all_names(self) -> list[Hashable]:
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
    nameless = False

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

    def _all_names(self) -> list[Hashable]:
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
            collate_fn=collected_names if names_only else collected,
            timeout=seconds,
        )
        with naming_dead_readers(seconds):
            for failures, items in loader:
                if failures:
                    raise InputError(failures[0])
                yield items


def _batches(rows: Ints, items_at_once: int = 256) -> list[Ints]:
    """Row numbers that a process reads before it hands them over."""
    return np.array_split(rows, max(1, -(-len(rows) // items_at_once)))


@contextmanager
def naming_dead_readers(seconds: int = 120) -> Iterator[None]:
    """InputError where a process that reads a dataset dies or hangs.

    Torch speaks of a dead process wherever the main one is at that moment, be it in a prediction.
    """
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
            return (
                f"{item_name} cannot be read ({type(error).__name__}: {error}). "
                "Repair it, or leave it out."
            )
        if not isinstance(item, (tuple, list)) or len(item) != 3:
            length = f" of length {len(item)}" if isinstance(item, (tuple, list)) else ""
            return f"{item_name} is a {type(item).__name__}{length}. {ITEM_FORM}"
        x, y, name = item
        try:
            inputs = np.asarray(x)
            if inputs.dtype.kind not in "fiub" or not inputs.size:
                raise ValueError(f"dtype {inputs.dtype}, shape {inputs.shape}")
        except Exception as error:
            return f"{item_name} has an x that is no numbers ({error}). {ITEM_FORM}"
        name = _plain(name)
        try:
            hash(name)
        except TypeError:
            return (
                f"{item_name} has the domain {name!r:.60}, a {type(name).__name__}, which cannot "
                "name a domain (unhashable). Use strings, integers or tuples."
            )
        if name is None or name != name:
            return f"{item_name} has no domain ({name!r}). {ITEM_FORM}"
        return np.atleast_1d(inputs), _plain(y), name


def collected(items: Sequence[Any]) -> tuple[list[str], tuple[Any, list[Any], list[Any]]]:
    """What is wrong with some of the items, and else inputs stacked, labels and names."""
    failures, (_, _, names) = collected_names(items)
    if failures:
        return failures, (np.empty(0), [], [])
    shapes = sorted({item[0].shape for item in items})
    if len(shapes) > 1:
        return [f"Items of the dataset have x of shapes {shapes}. Make them one."], (None, [], [])
    return [], (np.stack([item[0] for item in items]), [item[1] for item in items], names)


def collected_names(items: Sequence[Any]) -> tuple[list[str], tuple[None, list[Any], list[Any]]]:
    """The same without inputs: they need not come out of the process."""
    failures = [item for item in items if isinstance(item, str)]
    return failures, (None, [], [] if failures else [item[2] for item in items])


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
    while isinstance(held, np.ndarray):
        if held.flags.writeable:
            return
        held = held.base
    if isinstance(held, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        held.madvise(mmap.MADV_DONTNEED)


def is_dataset(X: Any) -> bool:
    """Whether X is a torch `Dataset`, or of a class that says it `holds_items` like one.

    Torch is not imported for that, nor need it be by whoever writes such a class.
    """
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

"""Rows that are not in memory: a memory-mapped array, or a torch `Dataset` read by processes."""

from __future__ import annotations

import mmap
import pickle
import sys
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray

from domindex.arrays import Ints
from domindex.errors import InputError
from domindex.inputs.names import check_domain_names

READ_SECONDS = 120
"""A part of a dataset that takes longer to be read is taken to hang."""

ITEMS_AT_ONCE = 256
"""Items that a process reads before it hands them over."""


class Part(NamedTuple):
    """Some rows: their numbers, the inputs, and, of a dataset, labels and names of domains."""

    rows: Ints
    inputs: NDArray
    labels: list[Any]
    names: list[Hashable]


class RowSource(ABC):
    """Rows by number, without all of them in memory."""

    n_rows: int
    names_come_with_rows = False

    @abstractmethod
    def parts(self, numbers: Iterable[Ints]) -> Iterator[Part]:
        """Rows of the given numbers, a part at a time."""

    @abstractmethod
    def names(self) -> list[Hashable]:
        """The domain of every row."""

    def read(self, rows: Ints) -> Part:
        """Some rows at once."""
        (part,) = self.parts([rows])
        return part


@dataclass(frozen=True, eq=False)
class MappedRows(RowSource):
    """A memory-mapped array (rows, ...), of which only what is asked for is read."""

    array: NDArray
    sample_domain: Any

    @property
    def n_rows(self) -> int:  # type: ignore[override]
        return len(self.array)

    def names(self) -> list[Hashable]:
        return check_domain_names(self.sample_domain, self.n_rows)

    def parts(self, numbers: Iterable[Ints]) -> Iterator[Part]:
        for rows in numbers:
            inputs = np.array(self.array[rows])
            _release(self.array)
            yield Part(rows, inputs, [], [])


class DatasetRows(RowSource):
    """A torch `Dataset` with a length, of items (x, y, domain), read by worker processes.

    A dataset with an attribute `sample_domain`, one name an item, need not be read through to know
    the domains.
    """

    names_come_with_rows = True

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

    def names(self) -> list[Hashable]:
        told = getattr(self.dataset, "sample_domain", None)
        if told is not None:
            return check_domain_names(told, self.n_rows)
        found: list[Hashable] = []
        numbers = np.array_split(np.arange(self.n_rows), -(-self.n_rows // ITEMS_AT_ONCE))
        for failures, items in self._loaded(numbers, names_only=True):
            _raise_first(failures)
            found += items[2]
        return found

    def parts(self, numbers: Iterable[Ints]) -> Iterator[Part]:
        wanted = [np.asarray(rows) for rows in numbers]
        batches = [
            batch
            for rows in wanted
            for batch in np.array_split(rows, max(1, -(-len(rows) // ITEMS_AT_ONCE)))
        ]
        loaded = self._loaded(batches)
        for rows in wanted:
            inputs: list[NDArray] = []
            labels: list[Any] = []
            names: list[Hashable] = []
            while len(names) < len(rows):
                failures, (some, told, domains) = next(loaded)
                _raise_first(failures)
                inputs.append(some)
                labels += told
                names += domains
            shapes = sorted({part.shape[1:] for part in inputs})
            if len(shapes) > 1:
                raise InputError(f"Items of the dataset have x of shapes {shapes}. Make them one.")
            yield Part(rows, np.concatenate(inputs), labels, names)

    def _loaded(self, batches: Sequence[Ints], names_only: bool = False) -> Iterator[Any]:
        from torch.utils.data import DataLoader

        from domindex.estimators.dataset_items import CheckedItems, collected, collected_names

        loader = DataLoader(
            CheckedItems(self.dataset),
            batch_sampler=[rows.tolist() for rows in batches],
            num_workers=min(self.n_workers, len(batches)),
            collate_fn=collected_names if names_only else collected,
            timeout=READ_SECONDS,
        )
        with naming_dead_readers():
            yield from loader


@contextmanager
def naming_dead_readers() -> Iterator[None]:
    """InputError where a process that reads a dataset dies or hangs.

    Torch tells of a dead process wherever the main one is at that moment, be it in a prediction.
    """
    try:
        yield
    except (RuntimeError, OSError, pickle.PicklingError) as error:
        if isinstance(error, RuntimeError) and "DataLoader" not in str(error):
            raise
        raise InputError(
            f"A process that reads the dataset failed ({error}). It may have run out of memory or "
            f"been killed, or items took longer than {READ_SECONDS} s. Try fewer processes with "
            "n_jobs, and read an item by hand."
        ) from error


def is_on_disk(X: Any) -> bool:
    """Whether X is read from a file as it is used: memory-mapped, or a torch `Dataset`."""
    return is_mapped(X) or is_dataset(X)


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


def row_source(X: Any, sample_domain: Any, n_jobs: int | None) -> RowSource:
    """What X is read through."""
    if not is_dataset(X):
        if X.ndim < 2 or 0 in X.shape:
            raise InputError(f"X has shape {X.shape}. Pass (rows, features) or (rows, ...).")
        return MappedRows(X, sample_domain)
    if sample_domain is not None:
        raise InputError(
            "X is a Dataset, whose items (x, y, domain) name their domains, and sample_domain is "
            "given too. Leave it out."
        )
    return DatasetRows(X, n_jobs)


def _raise_first(failures: list[str]) -> None:
    if failures:
        raise InputError(failures[0])

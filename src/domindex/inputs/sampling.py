"""Which rows of data beyond memory a fit learns from: a bounded number of every domain.

Rows of a table are chosen by a hash of their content, so that neither their order nor their
division into files counts; rows of an array, which have numbers, at random.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from domindex.arrays import Ints
from domindex.inputs.names import number_names, order_names

Keys = NDArray[np.uint64]


class LazyModule:
    """A module that is imported at its first use: most never read a table in parts."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self._name), name)


pa: Any = LazyModule("pyarrow")


@dataclass(frozen=True)
class SampleSize:
    """How many rows of a table are learned from, for time and memory; not tuned."""

    a_domain: int = 2_000  # folds learn from 4,000 rows, and distances of a domain rest on 200
    in_all: int = 100_000  # shared alike by all domains, but each has at least one

    def rows_of_each(self, sizes: Ints) -> int:
        """The most rows of a group, so that groups of these sizes (groups,) fit together."""
        low, high = 1, self.a_domain
        while low < high:
            middle = (low + high + 1) // 2
            fits = np.minimum(sizes, middle).sum() <= self.in_all
            low, high = (middle, high) if fits else (low, middle - 1)
        return low


@dataclass(frozen=True)
class Limits:
    """How much of data beyond memory is held at once; set for a fit of an array within 2 GB."""

    batch_rows: int = 131_072  # of a table, read at once
    piece_rows: int = 1_000_000  # of a file, for one job of a cluster
    waiting_rows: int = 200_000  # not yet sorted into the sample
    part_rows: int = 32_768  # predicted at once
    part_values: int = 4_096 * 512  # rows times features, predicted at once
    array_rows: int = 20_000  # of an array or Dataset, to learn from
    array_values: int = 16_000 * 512  # rows times features of these
    domain_rows: int = 8  # of a domain of an array, whatever the limits say

    def rows_to_learn_from(self, n_values: int) -> int:
        """Rows of `n_values` each of an array that are learned from."""
        return max(1, min(self.array_rows, self.array_values // max(1, n_values)))

    def rows_of_part(self, n_values: int) -> int:
        """Rows of `n_values` each that are predicted at once."""
        return max(1, min(self.part_rows, self.part_values // max(1, n_values)))


LIMITS = Limits()


def choose_rows(
    names: Sequence[Hashable], sources: Collection[Hashable], most: int, seed: int
) -> Ints:
    """Row numbers of a random sample, ascending; all rows where they are no more than `most`.

    Sources and targets have half of it each, or what the other half leaves; domains alike of that.
    """
    if len(names) <= most:
        return np.arange(len(names))
    domains = order_names(names)
    numbers = number_names(names, domains)
    counts = np.bincount(numbers)
    known = set(sources)
    is_source = np.array([name in known for name in domains])
    most_of = np.zeros(len(domains), dtype=np.int64)
    for half in (is_source, ~is_source):
        room = most - min(int(counts[~half].sum()), most // 2)
        most_of[half] = SampleSize(len(names), room).rows_of_each(counts[half])
    most_of = np.maximum(most_of, LIMITS.domain_rows)
    order = np.random.default_rng(seed).permutation(len(names))
    order = order[np.argsort(numbers[order], kind="stable")]
    ranks = np.arange(len(names)) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.sort(order[ranks < np.repeat(most_of, counts)])


def row_keys(table: Any, seed: int) -> Keys:
    """A key for every row of a pyarrow table whose columns are float64 or string, (rows,).

    Keys are as good as random in their order, and equal for equal rows: the smallest k are a
    random choice that does not depend on where rows stand, nor on the order of columns.
    """
    total = np.zeros(table.num_rows, dtype=np.uint64)
    for name in table.column_names:
        column = table.column(name).combine_chunks()
        total += _mixed(_hashes(column) + _hash_texts([name])[0])
    return _mixed(total ^ _mixed(np.array([seed], dtype=np.uint64)))


def _hashes(column: Any) -> Keys:
    missing = np.uint64(0x9E3779B97F4A7C15)
    if pa.types.is_floating(column.type):
        numbers = column.to_numpy(zero_copy_only=False) + 0.0  # −0 is 0
        return np.where(np.isnan(numbers), missing, numbers.view(np.uint64))
    encoded = column.dictionary_encode()
    texts = encoded.dictionary.cast(pa.string()).to_pylist()
    known = np.append(_hash_texts(texts), missing)
    return known[encoded.indices.fill_null(len(texts)).to_numpy(zero_copy_only=False)]


def _hash_texts(texts: list[str]) -> Keys:
    return pd.util.hash_array(np.array(texts, dtype=object), categorize=False)


def _mixed(numbers: Keys) -> Keys:
    """Every bit of the result depends on every bit of a number: the finaliser of SplitMix64."""
    mixed = numbers ^ (numbers >> np.uint64(30))
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(27)
    mixed *= np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    return mixed


@dataclass(frozen=True, eq=False)
class KeyedRows:
    """Rows with the group, the key and the number of occurrences of each, (rows,) each."""

    table: Any
    groups: Ints
    keys: Keys
    counts: Ints

    def part(self, rows: NDArray) -> KeyedRows:
        """Some of the rows, by number."""
        table = self.table.take(rows)
        return KeyedRows(table, self.groups[rows], self.keys[rows], self.counts[rows])

    def spread(self, most: int) -> Ints:
        """Row numbers, at most `most`: of each row as many as its share of all occurrences."""
        order = np.argsort(self.keys, kind="stable")[:most]
        ends = np.cumsum(self.counts[order])
        n_rows = min(most, int(ends[-1]))
        places = (np.arange(n_rows) + 0.5) * ends[-1] / n_rows
        return order[np.searchsorted(ends, places, side="right")]


class BottomRows:
    """Of every group the different rows with the smallest keys, each with how often it occurs."""

    def __init__(self, size: SampleSize) -> None:
        self.size = size
        self._waiting: list[KeyedRows] = []
        self._n_waiting = 0
        self._largest = np.empty(0, dtype=np.uint64)

    def add(self, rows: KeyedRows) -> None:
        """Look at more rows."""
        limits = np.append(self._largest, np.iinfo(np.uint64).max)
        kept = np.flatnonzero(rows.keys <= limits[np.minimum(rows.groups, len(self._largest))])
        if len(kept):
            self._waiting.append(rows.part(kept) if len(kept) < len(rows.keys) else rows)
            self._n_waiting += len(kept)
        if self._n_waiting > LIMITS.waiting_rows + 2 * self.size.in_all:
            self.kept()

    def kept(self) -> KeyedRows | None:
        """The rows so far, by group and then by key; None where there are none."""
        if not self._waiting:
            return None
        rows = _distinct(self._waiting)
        groups, starts, sizes = np.unique(rows.groups, return_index=True, return_counts=True)
        most = self.size.rows_of_each(sizes)
        full = sizes >= most
        self._largest = np.full(groups[-1] + 1, np.iinfo(np.uint64).max, dtype=np.uint64)
        self._largest[groups[full]] = rows.keys[starts[full] + most - 1]
        ranks = np.arange(len(rows.groups)) - np.repeat(starts, sizes)
        rows = rows.part(np.flatnonzero(ranks < most))
        self._waiting, self._n_waiting = [rows], len(rows.keys)
        return rows


def _distinct(parts: Sequence[KeyedRows]) -> KeyedRows:
    """All rows by group and key, equal ones as one."""
    table = pa.concat_tables([part.table for part in parts]).combine_chunks()
    groups = np.concatenate([part.groups for part in parts])
    keys = np.concatenate([part.keys for part in parts])
    counts = np.concatenate([part.counts for part in parts])
    order = np.lexsort((keys, groups))
    is_new = np.diff(groups[order], prepend=-1).astype(bool)
    is_new[1:] |= keys[order][1:] != keys[order][:-1]
    first = np.flatnonzero(is_new)
    chosen = order[first]
    counts = np.add.reduceat(counts[order], first)
    return KeyedRows(table.take(chosen), groups[chosen], keys[chosen], counts)

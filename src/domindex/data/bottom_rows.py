"""A bounded sample of the rows of every group, whatever the order in which rows arrive."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Keys = NDArray[np.uint64]
Numbers = NDArray[np.int64]

ROWS_BETWEEN_SORTS = 200_000
"""Rows that wait before they are sorted into those that are kept: bounds memory, and nothing else
depends on it."""


@dataclass(frozen=True)
class SampleSize:
    """How many rows are kept.

    Attributes
    ----------
    a_domain : of a domain, at most
    in_all : of all domains. Where there are many, each has as many as the others, or all of its
        rows if they are fewer; but never none
    """

    a_domain: int = 2_000
    in_all: int = 100_000

    def rows_of_each(self, sizes: Numbers) -> int:
        """The most rows of a group, so that groups of these sizes (groups,) fit together."""
        low, high = 1, self.a_domain
        while low < high:
            middle = (low + high + 1) // 2
            if np.minimum(sizes, middle).sum() <= self.in_all:
                low = middle
            else:
                high = middle - 1
        return low


@dataclass(frozen=True, eq=False)
class KeyedRows:
    """Rows with the group, the key and the number of occurrences of each, (rows,) each."""

    table: Any
    groups: Numbers
    keys: Keys
    counts: Numbers

    def part(self, rows: NDArray) -> KeyedRows:
        """Some of the rows, by number."""
        table = self.table.take(rows)
        return KeyedRows(table, self.groups[rows], self.keys[rows], self.counts[rows])


class BottomRows:
    """Of every group the different rows with the smallest keys, each with how often it occurs.

    A row that is kept at the end was never beyond the largest key of a full group, so its
    occurrences are counted from the first; what is kept therefore depends on neither the order of
    the rows nor on how they are divided into tables. As rows with small keys are a random choice
    of all different rows, so is the sample.
    """

    def __init__(self, size: SampleSize) -> None:
        self.size = size
        self._waiting: list[KeyedRows] = []
        self._n_waiting = 0
        self._largest = np.empty(0, dtype=np.uint64)

    def add(self, rows: KeyedRows) -> None:
        """Look at more rows."""
        known = len(self._largest)
        top = np.iinfo(np.uint64).max
        limits = np.append(self._largest, top)[np.minimum(rows.groups, known)]
        kept = np.flatnonzero(rows.keys <= limits)
        if len(kept):
            self._waiting.append(rows.part(kept) if len(kept) < len(rows.keys) else rows)
            self._n_waiting += len(kept)
        if self._n_waiting > ROWS_BETWEEN_SORTS + 2 * self.size.in_all:
            self.kept()

    def kept(self) -> KeyedRows | None:
        """The rows so far, by group and then by key; None where there are none."""
        if not self._waiting:
            return None
        rows = _distinct(_joined(self._waiting))
        _, starts, sizes = np.unique(rows.groups, return_index=True, return_counts=True)
        most = self.size.rows_of_each(sizes)
        ranks = np.arange(len(rows.groups)) - np.repeat(starts, sizes)
        if sizes.max() > most:
            rows = rows.part(np.flatnonzero(ranks < most))
        self._largest = _largest_keys(rows, most)
        self._waiting, self._n_waiting = [rows], len(rows.keys)
        return rows


def spread_counts(rows: KeyedRows, most: int) -> Numbers:
    """Row numbers, at most `most`: of each row as many as its share of all occurrences.

    Where all rows occur once these are all rows, or the first `most`.
    """
    order = np.argsort(rows.keys, kind="stable")[:most]
    ends = np.cumsum(rows.counts[order])
    n_rows = min(most, int(ends[-1]))
    places = (np.arange(n_rows) + 0.5) * ends[-1] / n_rows
    return order[np.searchsorted(ends, places, side="right")]


def _joined(parts: list[KeyedRows]) -> KeyedRows:
    import pyarrow as pa

    if len(parts) == 1:
        return parts[0]
    return KeyedRows(
        pa.concat_tables([part.table for part in parts]).combine_chunks(),
        np.concatenate([part.groups for part in parts]),
        np.concatenate([part.keys for part in parts]),
        np.concatenate([part.counts for part in parts]),
    )


def _distinct(rows: KeyedRows) -> KeyedRows:
    """By group and key, equal rows as one."""
    order = np.lexsort((rows.keys, rows.groups))
    groups, keys = rows.groups[order], rows.keys[order]
    is_new = np.append(True, (groups[1:] != groups[:-1]) | (keys[1:] != keys[:-1]))
    first = np.flatnonzero(is_new)
    counts = np.add.reduceat(rows.counts[order], first)
    single = rows.part(order[first])
    return KeyedRows(single.table, single.groups, single.keys, counts)


def _largest_keys(rows: KeyedRows, most: int) -> Keys:
    """(groups,) of those that are full; of others the largest number there is."""
    groups, starts, sizes = np.unique(rows.groups, return_index=True, return_counts=True)
    largest = np.full(int(groups.max()) + 1, np.iinfo(np.uint64).max, dtype=np.uint64)
    full = sizes >= most
    largest[groups[full]] = rows.keys[starts[full] + most - 1]
    return largest

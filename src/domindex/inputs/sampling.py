"""Which rows of data beyond memory a fit uses: by random numbers, or by hashes of their content."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from domindex.arrays import Ints
from domindex.inputs.names import number_names, order_names

Keys = NDArray[np.uint64]

MOST_SAMPLED = 20_000
"""Rows in all that a fit takes of data beyond memory. So many source rows is what predictors learn
from at most anyway; the map thins every domain further."""

MOST_VALUES = 16_000 * 512
"""Rows times features of that sample: a dozen representations of it stand in memory side by side,
each of 65 MB. Set for a fit within 2 GB."""

LEAST_OF_DOMAIN = 8
"""Rows of every domain that are taken whatever these bounds say, as far as it has them."""

ROWS_OF_PART = 4096
VALUES_OF_PART = ROWS_OF_PART * 512
"""Of a part that is predicted at once."""


def most_rows(n_values: int) -> int:
    """Rows of `n_values` each that a fit takes."""
    return max(1, min(MOST_SAMPLED, MOST_VALUES // max(1, n_values)))


def rows_of_part(n_values: int) -> int:
    """Rows of `n_values` each that are predicted at once."""
    return max(1, min(ROWS_OF_PART, VALUES_OF_PART // max(1, n_values)))


def choose_rows(
    names: Sequence[Hashable], sources: Collection[Hashable], most: int, seed: int
) -> Ints:
    """Row numbers of a random sample, ascending; all rows where they are no more than `most`.

    Sources, whose labels are learned from, and targets have half of it each, or what the other half
    leaves. Within a half domains are taken alike: each has as many rows as any other, or all it
    has, but never fewer than `LEAST_OF_DOMAIN`.

    Examples
    --------
    >>> from domindex.inputs.sampling import choose_rows
    >>> names = ["a"] * 1000 + ["b"] * 1000 + ["c"] * 20
    >>> rows = choose_rows(names, ["a"], most=100, seed=0)
    >>> [sum(names[row] == name for row in rows) for name in "abc"]
    [50, 30, 20]
    """
    if len(names) <= most:
        return np.arange(len(names))
    domains = order_names(names)
    numbers = number_names(names, domains)
    counts = np.bincount(numbers, minlength=len(domains))
    known = set(sources)
    is_source = np.array([name in known for name in domains])
    caps = np.zeros(len(domains), dtype=np.int64)
    for half in (is_source, ~is_source):
        left = most - min(int(counts[~half].sum()), most // 2)
        caps[half] = _cap(counts[half], left)
    caps = np.maximum(caps, LEAST_OF_DOMAIN)
    order = np.random.default_rng(seed).permutation(len(names))
    order = order[np.argsort(numbers[order], kind="stable")]
    begins = np.cumsum(counts) - counts
    kept = [order[begin : begin + min(n, cap)] for begin, n, cap in zip(begins, counts, caps)]
    return np.sort(np.concatenate(kept))


def random_parts(names: Sequence[Hashable], rows: Ints, most: int, seed: int) -> list[Ints]:
    """Rows of new domains in parts, each a random draw of the rows of one of them.

    A new domain is placed by the rows that come together; parts in the order of the rows might
    each tell another place. `names` are those of all rows.
    """
    rng = np.random.default_rng(seed)
    mine = [names[row] for row in rows]
    domains = order_names(mine)
    numbers = number_names(mine, domains)
    parts = []
    for number in range(len(domains)):
        members = rows[numbers == number]
        n_parts = -(-len(members) // most)
        parts += [np.sort(part) for part in np.array_split(rng.permutation(members), n_parts)]
    return parts


def parts_in_order(n_rows: int, most: int) -> Iterable[Ints]:
    """All row numbers in their order."""
    for begin in range(0, n_rows, most):
        yield np.arange(begin, min(n_rows, begin + most))


def _cap(counts: Ints, most: int) -> int:
    """The largest number such that domains cut to it have `most` rows at most, together."""
    if not len(counts) or counts.sum() <= most:
        return int(counts.max(initial=0))
    low, high = 0, int(counts.max())
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if np.minimum(counts, middle).sum() <= most else (low, middle)
    return low


MISSING = np.uint64(0x9E3779B97F4A7C15)
"""What a missing value counts as, in columns of any kind."""


def row_keys(table: Any, seed: int) -> Keys:
    """A key for every row of a pyarrow table whose columns are float64 or string, (rows,).

    Keys are as good as random in their order, and equal for equal rows: the smallest k are a
    random choice that does not depend on where rows stand. Columns are told apart by their names,
    so their order does not count either. Two different rows share a key with chance 2⁻⁶⁴.
    """
    total = np.zeros(table.num_rows, dtype=np.uint64)
    for name in table.column_names:
        column = table.column(name).combine_chunks()
        total += _mixed(_values(column) + _of_texts([name])[0])
    return _mixed(total ^ _mixed(np.array([seed], dtype=np.uint64)))


def _values(column: Any) -> Keys:
    import pyarrow as pa

    if pa.types.is_floating(column.type):
        numbers = column.to_numpy(zero_copy_only=False) + 0.0  # −0 is 0
        bits = numbers.view(np.uint64)
        return np.where(np.isnan(numbers), MISSING, bits)
    encoded = column.dictionary_encode()
    texts = encoded.dictionary.cast(pa.string()).to_pylist()
    known = np.append(_of_texts(texts), MISSING)
    places = encoded.indices.fill_null(len(texts)).to_numpy(zero_copy_only=False)
    return known[places]


def _of_texts(texts: list[str]) -> Keys:
    array = np.empty(len(texts), dtype=object)
    array[:] = texts
    return pd.util.hash_array(array, categorize=False)


def _mixed(numbers: Keys) -> Keys:
    """Every bit of the result depends on every bit of a number: the finaliser of SplitMix64."""
    mixed = numbers ^ (numbers >> np.uint64(30))
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(27)
    mixed *= np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    return mixed


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

    def rows_of_each(self, sizes: Ints) -> int:
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
    groups: Ints
    keys: Keys
    counts: Ints

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


def spread_counts(rows: KeyedRows, most: int) -> Ints:
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

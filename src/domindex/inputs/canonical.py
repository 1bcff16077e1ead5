"""An order of rows, domains and columns that follows from what they hold.

How a file was sorted, what its domains are called and where its columns stand then decide nothing
that is drawn at random.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from domindex.arrays import Ints

Keys = NDArray[np.uint64]


class CanonicalOrder(NamedTuple):
    """Numbers of rows, domains and columns as they are to stand, first to last."""

    rows: Ints  # domain by domain
    domains: Ints
    columns: Ints


def canonical_order(
    inputs: NDArray,
    row_domains: Ints,
    n_domains: int,
    beside: NDArray,
    *,
    may_move_columns: bool,
    is_table: bool = True,
) -> CanonicalOrder:
    """By ranks within columns, which no unit changes; of what is no table, by rows as they are.

    `beside` (rows, k), labels of sources and weights, only parts what the inputs leave alike: no
    label decides on the order of rows that differ. Keys are sums of hashes, which know no order.
    Columns that cannot be told apart keep theirs.
    """
    flat = inputs.reshape(len(inputs), -1)

    def of_domains(rows: Keys) -> Keys:
        found = np.zeros(n_domains, dtype=np.uint64)
        np.add.at(found, row_domains, _hashed(rows))
        return found

    columns = np.arange(flat.shape[1])
    if is_table:
        ranks = _ranks(flat)
        start = _row_keys(ranks, np.zeros(flat.shape[1], dtype=np.uint64))
        if may_move_columns:
            where = _hashed(start + of_domains(start)[row_domains])
            columns = np.argsort([_hashed(one + where).sum() for one in ranks.T], kind="stable")
        places = np.empty(len(columns), dtype=np.uint64)
        places[columns] = _hashed(np.arange(len(columns), dtype=np.uint64))
        rows = _row_keys(ranks, places)
    else:
        digests = b"".join(blake2b(row.tobytes(), digest_size=8).digest() for row in flat + 0.0)
        rows = np.frombuffer(digests, dtype=np.uint64)
    ties = _row_keys(_ranks(beside), _hashed(np.arange(beside.shape[1], dtype=np.uint64)))
    domains = np.lexsort([of_domains(_hashed(rows) + ties), of_domains(rows)])
    place = np.argsort(domains)
    return CanonicalOrder(np.lexsort([ties, rows, place[row_domains]]), domains, columns)


def _hashed(numbers: Keys) -> Keys:
    """Each number as one that looks drawn at random: the end of splitmix64."""
    mixed = numbers + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


def _row_keys(ranks: Keys, of_columns: Keys) -> Keys:
    """(rows,) from ranks (rows, columns) and a key of every column."""
    found = np.zeros(len(ranks), dtype=np.uint64)
    for one, key in zip(ranks.T, of_columns):
        found += _hashed(one + key)
    return found


def _ranks(table: NDArray) -> Keys:
    """The number of different values below each, (rows, columns); columns lie side by side."""
    found = np.empty(table.shape, dtype=np.uint64, order="F")
    for number, column in enumerate(table.T):
        found[:, number] = np.unique(column, return_inverse=True)[1]
    return found

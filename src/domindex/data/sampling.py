"""Which rows of data beyond memory a fit rests on, and in which parts the others are predicted."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from domindex.data.names import number_names, order_names

Numbers = NDArray[np.int64]

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
) -> Numbers:
    """Row numbers of a random sample, ascending; all rows where they are no more than `most`.

    Sources, whose labels are learned from, and targets have half of it each, or what the other half
    leaves. Within a half domains are taken alike: each has as many rows as any other, or all it
    has, but never fewer than `LEAST_OF_DOMAIN`.

    Examples
    --------
    >>> from domindex.data.sampling import choose_rows
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


def random_parts(names: Sequence[Hashable], rows: Numbers, most: int, seed: int) -> list[Numbers]:
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


def parts_in_order(n_rows: int, most: int) -> Iterable[Numbers]:
    """All row numbers in their order."""
    for begin in range(0, n_rows, most):
        yield np.arange(begin, min(n_rows, begin + most))


def _cap(counts: Numbers, most: int) -> int:
    """The largest number such that domains cut to it have `most` rows at most, together."""
    if not len(counts) or counts.sum() <= most:
        return int(counts.max(initial=0))
    low, high = 0, int(counts.max())
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if np.minimum(counts, middle).sum() <= most else (low, middle)
    return low

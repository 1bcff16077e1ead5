"""What a search for motions looks at: some rows of every domain, and pairs of neighbours."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]

MOST_ROWS = 160
MOST_PAIRS = 120
"""Rows a domain and pairs of domains that a search looks at: for time, not tuned."""

FEW_DOMAINS = 4
"""Up to which both directions of a pair are looked at; beyond, one, by turns."""


def neighbor_pairs(distances: Floats, ranks: tuple[int, ...], seed: int) -> Numbers:
    """(pairs, 2): every domain with its neighbours of these ranks, in both directions by turns."""
    both = len(distances) <= FEW_DOMAINS
    order = np.argsort(distances, axis=1, kind="stable")
    found = set()
    for rank in ranks:
        if rank < len(distances):
            for domain, near in enumerate(order[:, rank].tolist()):
                if both or (domain + rank) % 2:
                    found.add((domain, near))
                if both or not (domain + rank) % 2:
                    found.add((near, domain))
    pairs = np.array(sorted(pair for pair in found if pair[0] != pair[1]), dtype=np.int64)
    if len(pairs) > MOST_PAIRS:
        pairs = pairs[np.random.default_rng(seed).permutation(len(pairs))[:MOST_PAIRS]]
    return pairs


def background(rows: NDArray) -> tuple[Floats, Floats]:
    """What stands at the rim of the pictures, and their deviation, (channels,) each."""
    rims = []
    for axis in range(2, rows.ndim):
        moved = np.moveaxis(rows, axis, -1)[..., [0, -1]]
        rims.append(np.moveaxis(moved, 1, 0).reshape(rows.shape[1], -1))
    level = np.median(np.concatenate(rims, axis=1), axis=1)
    channels = np.moveaxis(rows, 1, 0).reshape(rows.shape[1], -1)
    spread = channels.std(axis=1)
    return level.astype(np.float64), np.where(spread > 0, spread, 1.0).astype(np.float64)


def split_in_halves(
    scaled: Floats, row_domains: Numbers, n_domains: int, seed: int
) -> list[Floats]:
    """Two samples (domains, channels, cells, rows), of the same number of rows in every domain.

    A domain with few rows gives some of them several times.
    """
    rng = np.random.default_rng(seed)
    sizes = np.bincount(row_domains, minlength=n_domains)
    count = int(np.clip(np.median(sizes), 2, MOST_ROWS)) // 2
    halves: list[list[Floats]] = [[], []]
    for domain in range(n_domains):
        members = rng.permutation(np.flatnonzero(row_domains == domain))
        middle = max(1, len(members) // 2)
        for half, part in zip(halves, (members[:middle], members[middle:])):
            part = part if len(part) else members
            half.append(np.moveaxis(scaled[np.resize(part, count)], 0, -1))
    return [np.stack(half) for half in halves]

"""Source rows to hold out, a domain at a time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import GroupKFold, KFold

ROW_FOLDS = 5
"""Of the rows of a single domain; a common number, not tuned."""


def held_out_folds(domains: NDArray[np.int64], most: int) -> list[NDArray[np.int64]]:
    """Rows to hold out in turn: by domain, at most so many times, or, of one domain, by rows.

    A single row is held out of itself: there is nothing else to learn from.
    """
    n_folds = min(len(np.unique(domains)), most)
    if n_folds > 1:
        return [test for _, test in GroupKFold(n_folds).split(domains, groups=domains)]
    if len(domains) > 1:
        return [test for _, test in KFold(min(ROW_FOLDS, len(domains))).split(domains)]
    return [np.array([0]), np.array([0])]

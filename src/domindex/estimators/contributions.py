"""What a prediction of a row rests on: Shapley values by columns, of whatever a model predicts."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from domindex.arrays import Floats

Predict = Callable[[NDArray], Floats]


def shapley_values(
    predict: Predict,
    rows: NDArray,
    background: NDArray,
    groups: Sequence[NDArray[np.int64]],
    n_draws: int,
    rng: np.random.Generator,
) -> tuple[Floats, Floats]:
    """(rows, groups) what each group of columns adds to a prediction, and (rows,) where it starts.

    In every draw a row begins as one of the background, and its columns are put in one group after
    another, in a random order and then in the reverse one: φ_g is the mean of what g changes. The
    start and the contributions of a row add up to its prediction, up to rounding.
    """
    found = np.zeros((len(rows), len(groups)))
    start = np.zeros(len(rows))
    order = rng.permutation(len(groups))
    for draw in range(n_draws):
        if draw % 2 == 0:
            order = rng.permutation(len(groups))
            chosen = background[rng.integers(len(background), size=len(rows))]
        else:
            order = order[::-1]
        state = np.array(chosen, copy=True)
        before = predict(state)
        start += before / n_draws
        for group in order:
            columns = groups[group]
            state[:, columns] = rows[:, columns]
            after = predict(state)
            found[:, group] += (after - before) / n_draws
            before = after
    return found, start

"""How good predictions are: by row, by domain, by level."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm
from sklearn.metrics import r2_score

from domindex.datasets import DomainDataset
from domindex.errors import InputError
from domindex.inputs import check_domain_names, group_rows
from domindex.inputs.messages import preview

Score = Callable[[Any, Any], float]


def accuracy(y: Any, predicted: Any) -> float:
    """Share of rows whose class is predicted.

    Examples
    --------
    >>> accuracy(["no", "yes", "yes", "no"], ["no", "yes", "no", "no"])
    0.75
    """
    truth, guess = _matching(y, predicted)
    if truth.ndim != 1:
        raise InputError(
            f"y has shape {truth.shape}, but accuracy counts one class per row. "
            "Pass 1-D classes; squared_error scores several outputs."
        )
    if (truth.dtype.kind in "US") != (guess.dtype.kind in "US"):
        raise InputError(
            f"y holds {truth.dtype} and predicted {guess.dtype}, which can never be equal. "
            "Spell classes the same way in both."
        )
    return float((truth == guess).mean())


def squared_error(y: Any, predicted: Any) -> float:
    """Squared errors added over a row's outputs, averaged over rows.

    Examples
    --------
    >>> squared_error([[0.0, 0.0], [1.0, 1.0]], [[3.0, 4.0], [1.0, 1.0]])
    12.5
    """
    truth, guess = (_numbers(values) for values in _matching(y, predicted))
    return float(((truth - guess) ** 2).reshape(len(truth), -1).sum(axis=1).mean())


def r2(y: Any, predicted: Any) -> float:
    """1 for perfect predictions, 0 for the mean of `y`; averaged over outputs.

    Examples
    --------
    >>> r2([1.0, 2.0, 3.0], [1.0, 2.0, 3.0]), r2([1.0, 2.0, 3.0], [2.0, 2.0, 2.0])
    (1.0, 0.0)
    """
    truth, guess = (_numbers(values) for values in _matching(y, predicted))
    if len(truth) < 2:
        raise InputError(
            "R² compares with the spread of y, and there is one row. Pass two or more."
        )
    return float(r2_score(truth, guess))


def interval_coverage(y: Any, mean: Any, deviation: Any, level: float = 0.9) -> float:
    """Share of values inside the central Gaussian intervals that should hold `level` of them.

    Examples
    --------
    >>> interval_coverage([0.0, 1.0, 5.0, 0.5], [0.0, 0.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0])
    0.75
    """
    if not 0 < level < 1:
        raise InputError(f"level is {level}. Choose a share between 0 and 1, such as 0.9.")
    truth, centre = (_numbers(values) for values in _matching(y, mean))
    _, width = (_numbers(values) for values in _matching(y, deviation))
    return float((np.abs(truth - centre) <= norm.ppf((1 + level) / 2) * width).mean())


def target_accuracy(dataset: DomainDataset, predicted: Any) -> float:
    """Accuracy over all rows of target domains; `predicted` has a class for every row.

    Examples
    --------
    >>> target_accuracy(data, np.where(data.is_source, 0, data.y))
    1.0
    """
    _matching(dataset.y, predicted)
    target = ~dataset.is_source
    if not target.any():
        raise InputError(f"{dataset.name} has no rows in target domains, so nothing to score.")
    return accuracy(dataset.y[target], np.asarray(predicted)[target])


def scores_by_domain(
    y: Any, predicted: Any, sample_domain: Any, score: Score = accuracy
) -> dict[Hashable, float]:
    """`score(y, predicted)` of each domain's rows, in the order of the names.

    `score` is `accuracy`, `squared_error` or any function of these two arrays.

    Examples
    --------
    >>> scores_by_domain([0, 1, 1, 0], [0, 1, 0, 0], ["south", "north", "north", "south"])
    {'north': 0.5, 'south': 1.0}
    """
    truth, guess = _matching(y, predicted)
    names = check_domain_names(sample_domain, len(truth))
    return {
        name: float(score(truth[rows], guess[rows])) for name, rows in group_rows(names, len(truth))
    }


def paper_error(y: Any, predicted: Any, sample_domain: Any) -> float:
    """The error that the paper reports for regression.

    Squared errors are added over outputs, averaged over a domain's rows, then over domains: a
    domain with many rows counts no more than another. Pass `y` on the standardised scale, as the
    datasets hold it, and the rows of target domains only.

    Examples
    --------
    >>> paper_error([0.0, 0.0, 0.0, 0.0], [2.0, 0.0, 0.0, 0.0], ["TX", "FL", "FL", "FL"])
    2.0
    """
    errors = scores_by_domain(y, predicted, sample_domain, squared_error)
    return float(np.mean(list(errors.values())))


def scores_by_level(
    by_domain: Mapping[Hashable, float], levels: Mapping[Hashable, int] | None
) -> dict[int, float]:
    """The mean score of the domains at each level, as in `DomainDataset.levels`, nearest first.

    Examples
    --------
    >>> scores_by_level({"NV": 0.5, "UT": 0.25, "ME": 2.0}, {"NV": 1, "UT": 1, "ME": 3})
    {1: 0.375, 3: 2.0}
    """
    if not levels:
        raise InputError("levels is empty or None: this dataset does not say how far targets lie.")
    missing = [name for name in levels if name not in by_domain]
    if missing:
        raise InputError(
            f"by_domain lacks {preview(missing)}, which levels names; it holds "
            f"{preview(by_domain)}. Score every target domain first."
        )
    members: dict[int, list[float]] = {}
    for name, level in levels.items():
        members.setdefault(int(level), []).append(by_domain[name])
    return {level: float(np.mean(members[level])) for level in sorted(members)}


def _matching(y: Any, predicted: Any) -> tuple[NDArray, NDArray]:
    truth, guess = np.asarray(y), np.asarray(predicted)
    if truth.shape != guess.shape or truth.ndim not in (1, 2) or not truth.size:
        raise InputError(
            f"y has shape {truth.shape} and predicted {guess.shape}. "
            "Pass the same rows in both, as (rows,) or (rows, outputs), and at least one."
        )
    return truth, guess


def _numbers(values: NDArray) -> NDArray[np.float64]:
    try:
        numbers = values.astype(np.float64)
    except (TypeError, ValueError):
        raise InputError(
            f"An error needs numbers, but there are values of type {values.dtype}. "
            "Use accuracy for classes."
        ) from None
    if not np.isfinite(numbers).all():
        raise InputError("y or predicted holds NaN or infinity. Score rows with known values only.")
    return numbers

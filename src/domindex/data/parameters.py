"""Parameters of estimators and of settings: numbers that are numbers, counts that are counts."""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from domindex.data.messages import shortened
from domindex.errors import InputError

MOST = 10**9
MOST_DIMENSIONS = 1000
MOST_JOBS = 10**5
"""Beyond what any machine holds: such a number was meant to be another, and is refused before
memory is asked for it."""


def require_counts(holder: Any, *names: str, most: int = MOST) -> None:
    """That these attributes are whole numbers from 1 to `most`."""
    for name in names:
        value = getattr(holder, name)
        whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
        if not whole or value < 1:
            raise InputError(f"{name} is {shortened(value)}. Choose a whole number of 1 or more.")
        if value > most:
            raise InputError(f"{name} is {shortened(value)}. Choose a whole number up to {most}.")


def require_numbers(holder: Any, *names: str, above_zero: bool = False) -> None:
    """That these attributes are finite numbers of 0 or more, or above 0."""
    for name in names:
        value = getattr(holder, name)
        usable = (
            isinstance(value, numbers.Real)
            and not isinstance(value, bool | np.bool_)
            and math.isfinite(number := _as_float(value))
            and (number > 0 if above_zero else number >= 0)
        )
        if not usable:
            wanted = "a positive number" if above_zero else "0 or more"
            raise InputError(f"{name} is {shortened(value)}. Choose {wanted}.")


def _as_float(number: numbers.Real) -> float:
    """Infinity for whole numbers beyond floats."""
    try:
        return float(number)
    except OverflowError:
        return math.inf


def require_texts(holder: Any, *names: str, none_too: bool = False) -> None:
    """That these attributes are texts, or perhaps None: some values cannot even be compared."""
    for name in names:
        value = getattr(holder, name)
        if not (isinstance(value, str) or (none_too and value is None)):
            wanted = "Pass a text, or None" if none_too else "Pass a text"
            raise InputError(f"{name} is {shortened(value)}. {wanted}: see its documentation.")


def check_running(holder: Any) -> None:
    """`n_jobs`, `verbose` and `random_state` of an estimator, as far as it has them."""
    n_jobs = getattr(holder, "n_jobs", None)
    whole = isinstance(n_jobs, int | np.integer) and not isinstance(n_jobs, bool)
    if n_jobs is not None and not (whole and 0 < abs(n_jobs) <= MOST_JOBS):
        raise InputError(
            f"n_jobs is {shortened(n_jobs)}. Choose a number of processes, -1 for all cores, or "
            "None."
        )
    verbose = getattr(holder, "verbose", 0)
    if not isinstance(verbose, int | np.integer | np.bool_):
        raise InputError(f"verbose is {shortened(verbose)}. Choose 0 or 1.")
    state = getattr(holder, "random_state", None)
    try:
        check_random_state(state)
    except (TypeError, ValueError):
        raise InputError(
            f"random_state is {shortened(state)}. Choose a whole number from 0 to 2**32 - 1, a "
            "numpy.random.RandomState, or None."
        ) from None

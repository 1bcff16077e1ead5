"""Parameters of estimators and settings: numbers, counts, and names of registered classes."""

from __future__ import annotations

import math
import numbers
from typing import Any, TypeVar

import numpy as np
from sklearn.utils import check_random_state

from domindex.errors import InputError
from domindex.inputs.messages import did_you_mean, shortened

MAX_DIMENSIONS = 1000
"""Of a map: more was meant to be another number, and is refused before memory is asked for it."""


def require_counts(holder: Any, *names: str, most: int = 10**9) -> None:
    """That these attributes are whole numbers from 1 to `most`, by default what machines hold."""
    for name in names:
        value = getattr(holder, name)
        whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
        if not (whole and 1 <= value <= most):
            wanted = f"up to {most}" if whole and value > most else "of 1 or more"
            raise InputError(f"{name} is {shortened(value)}. Choose a whole number {wanted}.")


def require_numbers(holder: Any, *names: str, above_zero: bool = False) -> None:
    """That these attributes are finite numbers of 0 or more, or above 0."""
    for name in names:
        value = getattr(holder, name)
        is_number = isinstance(value, numbers.Real) and not isinstance(value, bool | np.bool_)
        try:
            number = float(value) if is_number else math.nan
        except OverflowError:  # a whole number beyond floats
            number = math.nan
        if not (math.isfinite(number) and (number > 0 if above_zero else number >= 0)):
            wanted = "a positive number" if above_zero else "0 or more"
            raise InputError(f"{name} is {shortened(value)}. Choose {wanted}.")


def require_texts(holder: Any, *names: str) -> None:
    """That these attributes are texts: some values cannot even be compared."""
    for name in names:
        value = getattr(holder, name)
        if not isinstance(value, str):
            raise InputError(f"{name} is {shortened(value)}. Pass a text: see its documentation.")


def check_running(holder: Any) -> None:
    """`n_jobs`, `verbose` and `random_state` of an estimator, as far as it has them."""
    n_jobs = getattr(holder, "n_jobs", None)
    whole = isinstance(n_jobs, int | np.integer) and not isinstance(n_jobs, bool)
    if n_jobs is not None and not (whole and 0 < abs(n_jobs) <= 10**5):
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


Kind = TypeVar("Kind")


class Registry(dict[str, Kind]):
    """Names to classes; an unknown name is refused with the list of those there are."""

    def __init__(self, what: str) -> None:
        super().__init__()
        self._what = what

    def add(self, name: str, kind: Kind) -> Kind:
        """Make `kind` known; a second registration of the same name replaces the first."""
        if not isinstance(name, str) or not name or name == "auto":
            raise InputError(
                f"A {self._what} cannot be named {name!r}. Give it a text of its own, not 'auto'."
            )
        self[name] = kind
        return kind

    def remove(self, name: str) -> None:
        """Forget a name, such as one that a test had added."""
        self[name]
        del self[name]

    def __getitem__(self, name: str) -> Kind:
        if name in self:
            return super().__getitem__(name)
        hint = did_you_mean(name, self) if isinstance(name, str) else ""
        raise InputError(
            f"There is no {self._what} {name!r}; there are {', '.join(self) or 'none yet'}. "
            f"{hint or 'Choose one of these, or register your own.'}"
        )

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and super().__contains__(name)

    def names(self) -> list[str]:
        return list(self)

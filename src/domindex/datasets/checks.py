"""Checks of the generators' arguments; each failure says what was given and what is allowed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Integral, Real

import numpy as np
from numpy.typing import NDArray

from domindex.errors import InputError

Sizes = int | Sequence[int] | NDArray[np.integer]
Seed = int | np.random.Generator | None


def check_count(name: str, value: object, low: int, high: int | None = None) -> int:
    """`value` as a whole number from `low` to `high`, both included."""
    allowed = f"at least {low}" if high is None else f"from {low} to {high}"
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise InputError(f"{name} is {value!r}; give a whole number, {allowed}.")
    count = int(value)
    if count < low or (high is not None and count > high):
        raise InputError(f"{name} is {count}; give a whole number, {allowed}.")
    return count


def check_noise(value: object, *, zero_allowed: bool) -> float:
    """`value` as a finite spread; without any, some families have no classes to tell apart."""
    allowed = "zero or more" if zero_allowed else "more than zero"
    if not isinstance(value, Real) or not math.isfinite(value):
        raise InputError(f"noise is {value!r}; give a finite number, {allowed}.")
    if value < 0 or (value == 0 and not zero_allowed):
        raise InputError(f"noise is {value}; give a finite number, {allowed}.")
    return float(value)


def check_sizes(samples_per_domain: Sizes, n_domains: int) -> NDArray[np.int64]:
    """(n_domains,) rows of each domain, from one number for all or one for each."""
    if np.ndim(samples_per_domain) == 0:
        size = check_count("samples_per_domain", samples_per_domain, low=1)
        return np.full(n_domains, size, dtype=np.int64)
    sizes = list(samples_per_domain)  # type: ignore[arg-type]
    if len(sizes) != n_domains:
        raise InputError(
            f"samples_per_domain has {len(sizes)} entries, but n_domains is {n_domains}. "
            "Give one whole number for all domains, or one for each."
        )
    checked = [check_count(f"samples_per_domain[{i}]", n, low=1) for i, n in enumerate(sizes)]
    return np.array(checked, dtype=np.int64)


def check_seed(random_state: Seed) -> np.random.Generator:
    """The generator to draw from; one that is handed in is used as it stands."""
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"random_state is {random_state!r}; give a whole number of zero or more, "
            "a numpy.random.Generator, or None for a different draw each time."
        ) from error

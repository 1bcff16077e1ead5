"""How numbers and missing values are spelled in a table."""

from __future__ import annotations

import numpy as np

from domindex.data.names import is_missing

MISSING_WORDS = frozenset(["na", "n/a", "nan", "null", "none", "-", "?", "missing", "#n/a", "."])
"""What stands for a missing value in a column of numbers. Among texts they are texts."""


def number_of(value: object) -> float:
    """NaN for anything that is not a number."""
    if isinstance(value, str) and ("_" in value or stands_for_none(value)):
        return np.nan
    try:
        return float(value)  # type: ignore[arg-type]
    except OverflowError:  # a whole number beyond floats
        return np.inf
    except (TypeError, ValueError):
        return np.nan


def stands_for_none(value: object) -> bool:
    """Whether a value in a column of numbers or dates means that there is none."""
    if isinstance(value, str):
        return not value.strip() or value.strip().lower() in MISSING_WORDS
    return is_missing(value)

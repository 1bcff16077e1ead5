"""The gate on the way out, and how large a number may be on the way in."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from domindex.errors import InputError

LARGEST = 1e75
"""Beyond it the fourth power of a number is none any more, and moments of rows are sums of such."""

SMALLEST = 1e-75
"""Below it squares of a spread vanish beside rounding, and a spread is divided by. For outputs."""


def require_moderate(numbers: NDArray, name: str) -> None:
    """Refuse finite numbers that are too large to compute with."""
    if numbers.dtype.itemsize < 8:  # cannot hold such
        return
    with np.errstate(invalid="ignore"):
        bad = np.argwhere(np.abs(numbers) > LARGEST)
    if not len(bad):
        return
    place = tuple(int(number) for number in bad[0])
    raise InputError(
        f"{name} holds numbers beyond {LARGEST:g}, such as {numbers[place]:.3g} in row {place[0]} "
        f"({len(bad)} in all): their powers are no numbers any more. Choose other units, or "
        "correct these values."
    )


def require_finite_result(result: Any, what: str) -> Any:
    """What an estimator gives, if it is finite; `InputError` with the first row where it is not.

    Every input is finite behind the gate on the way in. One that is very far from those of the fit
    can still be too much for arithmetic, and nobody should meet a NaN for it.
    """
    for part in result if isinstance(result, tuple) else (result,):
        if not isinstance(part, np.ndarray) or part.dtype.kind != "f":
            continue
        finite = np.asarray(np.isfinite(part.reshape(len(part), -1)).all(axis=1))
        if not finite.all():
            _refuse(finite, what, f"row {int(np.argmin(finite))}")
    return result


def require_finite_table(table: pd.DataFrame, what: str) -> pd.DataFrame:
    """A table with a row a domain, if its numbers are finite; `InputError` where they are not.

    Columns of which nothing is known, such as the score of a flag that needs more domains than
    there are, have to be left out.
    """
    numbers = table.select_dtypes("floating").to_numpy(dtype=np.float64)
    finite = np.asarray(np.isfinite(numbers).all(axis=1))
    if not finite.all():
        name = table["domain"].iloc[int(np.argmin(finite))]
        _refuse(finite, what, f"that of the domain {name!r:.80}")
    return table


def _refuse(finite: NDArray[np.bool_], what: str, first: str) -> NoReturn:
    raise InputError(
        f"{what} comes to NaN or infinity in {int((~finite).sum())} of {len(finite)} rows, "
        f"the first is {first}: their inputs are too far from those "
        "of the fit to compute with. Look for extreme values or other units in X."
    )

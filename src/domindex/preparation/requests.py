"""What a user may ask of the columns of a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from domindex.errors import InputError

Missing = Literal["impute", "error"]

LEAST_SHARED = 5
"""Rows, and occurrences of a category, from which on counts and means are shown in what is shared
with others; the bound that statistical offices commonly use for cells of a table."""


@dataclass(frozen=True)
class InputRequest:
    """Which columns are inputs, and what is done to them.

    Attributes
    ----------
    features : the inputs; all columns that are nothing else where None
    exclude : columns that are no inputs, and of which nothing is shown
    categorical : columns whose values are categories even if they look like numbers
    keep : columns that are inputs although they look like names of rows or of domains;
        `keep_columns` of `fit_table`
    dates : take parts of dates (year, month, weekday, hour) as inputs
    missing : "impute" or "error"
    share : what is learned is to be shown to others: categories below 5 rows are pooled
    in_python : notes are for a user of Python, who has no options of the command line

    Examples
    --------
    >>> from domindex.preparation import InputRequest
    >>> InputRequest(exclude=["note"], dates=True).dates
    True
    """

    features: Sequence[str] | None = None
    exclude: Sequence[str] = ()
    categorical: Sequence[str] = ()
    keep: Sequence[str] = ()
    dates: bool = False
    missing: Missing = "impute"
    share: bool = False
    in_python: bool = False

    def __post_init__(self) -> None:
        if self.missing not in get_args(Missing):
            raise InputError(f"missing is {self.missing!r}. Choose 'impute' or 'error'.")

    @property
    def least_shown(self) -> int:
        """Counts below this are not said."""
        return LEAST_SHARED if self.share else 1

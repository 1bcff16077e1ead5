"""Names of domains from a column: as it is spelled, by the calendar, or in bands of a number."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd

from domindex.data.arrow_columns import text_of
from domindex.data.messages import preview
from domindex.errors import InputError
from domindex.preparation.columns import check_domain_column, kind_of, numbers_of
from domindex.preparation.date_column import calendar_names, is_month_first

CALENDAR = ("year", "month")


@dataclass(frozen=True)
class DomainRule:
    """How a column names domains.

    Attributes
    ----------
    by : None takes the texts of the column; "year" or "month" those of its dates, such as 2004-03;
        a number takes bands of that width, each named by its lower end
    month_first : whether 3/4/2020 is in March
    """

    by: str | None = None
    month_first: bool = False

    @classmethod
    def fit(cls, column: pd.Series, by: str | None) -> DomainRule:
        """What was asked for, once it can be done."""
        if by in CALENDAR and kind_of(column) != "dates":
            raise InputError(
                f"Domains are asked for by {by}, and column {column.name!r} holds no dates: "
                f"{preview(column.tolist(), 2)}. Leave out --domain-by, or name a column of dates."
            )
        if by is None or by in CALENDAR:
            return cls(by, by is not None and is_month_first(column))
        if not _width(by) > 0:
            raise InputError(
                f"Domains are asked for by {by!r}. Choose month or year for dates, or the width of "
                "bands for numbers, such as 0.5."
            )
        return cls(by)

    def names(self, column: pd.Series) -> list[str]:
        """The domain of every row, none blank."""
        if self.by is None:
            return check_domain_column(column)
        if self.by in CALENDAR:
            given = calendar_names(column, self.by, self.month_first)
        else:
            numbers, width = numbers_of(column), _width(self.by)
            ends = np.round(np.floor(numbers / width) * width, 9).tolist()
            given = [None if np.isnan(end) else text_of(end + 0.0) for end in ends]
        return check_domain_column(pd.Series(given, name=column.name, dtype=object))

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> DomainRule:
        by = content.get("by")
        if not (by is None or by in CALENDAR or (isinstance(by, str) and _width(by) > 0)):
            raise ValueError(f"domains by {by!r}")
        return cls(by, bool(content.get("month_first", False)))


def _width(by: str) -> float:
    try:
        return float(by) if np.isfinite(float(by)) else 0.0
    except ValueError:
        return 0.0

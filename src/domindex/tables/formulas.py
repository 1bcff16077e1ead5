"""Cells that a spreadsheet would run instead of showing."""

from __future__ import annotations

from typing import Any

import pandas as pd

FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""How a text begins that spreadsheets take for a formula."""


def escape_formulas(table: pd.DataFrame) -> pd.DataFrame:
    """A copy in which texts that begin like a formula have an apostrophe before them.

    Numbers are left alone. The apostrophe is part of the text for whatever is no spreadsheet, so
    this is asked for and never done unasked.

    Examples
    --------
    >>> import pandas as pd
    >>> from domindex.tables.formulas import escape_formulas
    >>> escape_formulas(pd.DataFrame({"site": ["=1+1", "north"], "x": [-1.0, 2.0]})).values.tolist()
    [["'=1+1", -1.0], ['north', 2.0]]
    """
    escaped = table.copy()
    for number, kind in enumerate(table.dtypes):
        if kind.kind not in "biufc":
            column = [_escaped(value) for value in table.iloc[:, number]]
            escaped.isetitem(number, pd.Series(column, index=table.index, dtype=object))
    escaped.columns = [_escaped(name) for name in table.columns]
    return escaped


def _escaped(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value

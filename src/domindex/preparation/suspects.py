"""Columns that are no measurements: they name the row, or the domain."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from domindex.data.arrow_columns import is_blank, text_of

FEW_ROWS = 50
"""Rows below which values that are all different say nothing."""

NEARLY_ALL = 0.5
"""Share of different texts among the values of a column from which on they name rows."""

COLLISIONS = 10.0
"""Pairs of equal values that whole numbers of a column would have by chance, so that having none
shows that they are numbers of records: by chance that happens once in 20,000 columns."""

PURE = 0.95
"""Share of rows whose domain a value of the column tells."""

REPEATED = 5.0
"""Rows a value needs on average for what it tells of the domain to be more than chance."""

FEW_DOMAINS = 3
"""Domains below which a column that tells them apart is just one that differs between them."""

_NAMES_ROWS = re.compile(
    r"(^|[_\W])(id|ids|uuid|guid|mrn|key|record|nr|no|number|code|case)([_\W]|$)", re.IGNORECASE
)


def names_rows(column: pd.Series, is_text: bool) -> bool:
    """Whether the values are those of a record number, a key or a free text."""
    values = [value for value in column.tolist() if not is_blank(value)]
    if len(values) < FEW_ROWS:
        return False
    n_distinct = len(set(values))
    if is_text:
        return n_distinct > NEARLY_ALL * len(values)
    if n_distinct < len(values):
        return False
    numbers = _floats(values)
    if numbers is None or (np.mod(numbers, 1) != 0).any():
        return False
    width = float(numbers.max() - numbers.min()) + 1.0
    called_so = _NAMES_ROWS.search(str(column.name)) is not None
    return called_so or len(values) ** 2 / (2.0 * width) > COLLISIONS


def names_domain(column: pd.Series, domains: Sequence[str]) -> bool:
    """Whether a value tells almost surely which domain a row is of, over and over again."""
    pairs = [(text_of(v), d) for v, d in zip(column.tolist(), domains) if not is_blank(v)]
    present = {domain for _, domain in pairs}
    if len(pairs) < FEW_ROWS or len(present) < FEW_DOMAINS:
        return False
    counts = Counter(value for value, _ in pairs)
    if len(counts) < len(present) or len(pairs) < REPEATED * len(counts):
        return False
    best: Counter[str] = Counter()
    for (value, _), count in Counter(pairs).items():
        best[value] = max(best[value], count)
    return sum(best.values()) >= PURE * len(pairs)


def _floats(values: Sequence[object]) -> NDArray[np.float64] | None:
    try:
        return np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        return None

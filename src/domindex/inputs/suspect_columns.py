"""Columns that need care: those that name rows or domains, and gaps that would place a domain."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from domindex.arrays import Floats
from domindex.inputs.names import group_rows
from domindex.inputs.streams import is_blank, text_of

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


UNEVEN = 0.3
"""Difference between the shares of gaps in two domains from which on a constant in their place
would tell these domains apart; not tuned."""

CHANCE = 3.0
"""Standard errors by which a domain's share of gaps is beyond that of all rows, not by chance."""

FEW_KNOWN = 0.2
"""Share of rows with a value below which a column is left out: the rest would be made up."""

N_RESIDUALS = 33
RIDGE = 1e-3


@dataclass(frozen=True)
class Imputation:
    """Missing values of a column as a draw given the other inputs.

    A constant would leave a domain without the column at one point of it, where no other domain
    is. A draw from what the column is like elsewhere, given the row's other inputs, leaves it where
    these put it. The draw is told by the row itself: the same row always gets the same value.

    Attributes
    ----------
    feature : number of the (first) feature of the column
    weights : of all features, as they are with simple fills, and an intercept at the end. Empty for
        categories, which are drawn by their shares
    residuals : quantiles of what the weights leave; shares of the categories, added up
    """

    feature: int
    weights: tuple[float, ...]
    residuals: tuple[float, ...]

    def fill(self, simple: Floats, missing: NDArray[np.bool_], features: Floats) -> None:
        """Draws given `simple`, filled simply, into `features`, where `missing` (rows,) says."""
        rows = simple[missing]
        if not len(rows):
            return
        chance = row_chances(rows, self.feature)
        residuals = np.array(self.residuals)
        if self.weights:
            expected = rows @ np.array(self.weights[:-1]) + self.weights[-1]
            drawn = residuals[np.minimum((chance * len(residuals)).astype(int), len(residuals) - 1)]
            features[missing, self.feature] = expected + drawn
            return
        level = np.searchsorted(residuals[:-1], chance, side="right")
        columns = slice(self.feature, self.feature + len(residuals))
        features[missing, columns] = level[:, None] == np.arange(len(residuals))

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Imputation:
        weights = tuple(float(one) for one in content["weights"])
        residuals = tuple(float(one) for one in content["residuals"])
        if not residuals or not np.isfinite([*weights, *residuals]).all():
            raise ValueError("an imputation is not of finite numbers")
        return cls(int(content["feature"]), weights, residuals)


def row_chances(rows: Floats, salt: int) -> Floats:
    """(rows,) numbers in 0…1 that look random, told by the bits of each row alone."""
    mixed = np.full(len(rows), 0x9E3779B97F4A7C15 ^ salt, dtype=np.uint64)
    for column in np.ascontiguousarray(rows.T):
        hashed = pd.util.hash_array(column + 0.0)
        mixed = (mixed ^ hashed) * np.uint64(0x100000001B3)
    return (pd.util.hash_array(mixed) >> np.uint64(11)) / float(2**53)


def uneven_domains(missing: NDArray[np.bool_], domains: Sequence[str]) -> list[str]:
    """Domains that lack a column much more than others do; none where gaps are spread evenly."""
    groups = group_rows(list(domains), len(domains))
    sizes = {str(name): (len(rows), float(missing[rows].mean())) for name, rows in groups}
    least, overall = min(share for _, share in sizes.values()), float(missing.mean())
    chance = np.sqrt(overall * (1.0 - overall)) or 1.0
    return [
        name
        for name, (n_rows, share) in sizes.items()
        if share - least >= UNEVEN and (share - overall) * np.sqrt(n_rows) > CHANCE * chance
    ]


def learn_imputation(
    features: Floats,
    missing: NDArray[np.bool_],
    columns: slice,
    usable: NDArray[np.bool_],
    domains: Sequence[str],
) -> Imputation:
    """How a column, `columns` of the features, is told by the `usable` ones where it is known."""
    known = features[~missing]
    if columns.stop - columns.start > 1:
        shares = np.maximum(known[:, columns].mean(axis=0), 1e-9)
        return Imputation(columns.start, (), tuple((shares / shares.sum()).cumsum().tolist()))
    given, values = known[:, usable], known[:, columns.start]
    counts = pd.Series(np.asarray(domains, dtype=object)[~missing])
    weight = 1.0 / counts.map(counts.value_counts()).to_numpy(dtype=np.float64)
    weight /= weight.sum()
    middle, mean = weight @ given, weight @ values
    spread = np.sqrt(weight @ (given - middle) ** 2)
    unit = np.where(spread > 0, spread, 1.0)
    scaled = (given - middle) / unit
    gram = (scaled * weight[:, None]).T @ scaled + RIDGE * np.eye(scaled.shape[1])
    slopes = np.linalg.solve(gram, (scaled * weight[:, None]).T @ (values - mean)) / unit
    intercept = mean - middle @ slopes
    residuals = np.quantile(values - given @ slopes - intercept, _middles(N_RESIDUALS))
    weights = np.zeros(features.shape[1] + 1)
    weights[:-1][usable], weights[-1] = slopes, intercept
    return Imputation(columns.start, tuple(weights.tolist()), tuple(residuals.tolist()))


def _middles(count: int) -> Floats:
    return (np.arange(count) + 0.5) / count

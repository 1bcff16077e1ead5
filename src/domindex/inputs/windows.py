"""Domains out of an order: windows of rows along a time or another number, where none are named.

Without names, an order or anything else that says where rows come from, domains cannot be told from
the rows alone: nothing says which cluster of one domain belongs to which of another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from domindex.arrays import Floats, Ints
from domindex.errors import InputError
from domindex.inputs.gate import check_label_array, hidden_marks
from domindex.inputs.messages import preview
from domindex.persistence.saved import Saved


@dataclass(frozen=True)
class WindowSettings:
    """How windows are found; nothing of it was set on labels."""

    min_rows: int = 20  # of a window: fewer say little of a domain
    max_windows: int = 150  # for time
    max_features: int = 8  # directions of the inputs that are looked at, the widest; for time
    max_blocks: int = 1500  # between which boundaries may lie; for time
    stretch: float = 1.5  # how many times as long as the usual one a window may be
    abrupt: float = 2.0  # how many times the drift within windows a step between them is


SETTINGS = WindowSettings()


@dataclass(frozen=True, eq=False)
class OrderWindows(Saved):
    """Windows along an order: what lies between two boundaries is a domain.

    Examples
    --------
    >>> import numpy as np
    >>> from domindex.inputs.windows import OrderWindows
    >>> times = np.arange(200.0)
    >>> windows = OrderWindows.fit(np.repeat([[0.0], [9.0]], 100, axis=0), times)
    >>> bool(100.0 in windows.starts), windows.names_of([500.0])
    (True, ['after 199'])
    """

    starts: Floats  # (windows,) rising: the least value of each
    ends: Floats  # (windows,) the largest value of each
    centres: Floats  # (windows,) the median value of each
    jumps: Floats  # (windows,) 1 where something jumps with its beginning, 0 elsewhere
    are_dates: bool  # whether values are nanoseconds since 1970, UTC

    @classmethod
    def fit(cls, inputs: Any, order: Any, y: Any = None) -> OrderWindows:
        """Windows of these rows, in whatever order they come; labels say only which rows have none.

        Their usual length is the one with which Gaussians of one half of the rows of each window
        describe the other half best, which balances drift within windows against few rows. Where
        they begin and end describes the rows best again. Rows of one value stay together, and
        windows end where labels do.
        """
        values, are_dates = order_values(order)
        rows = _numbers(inputs, len(values))
        sequence = np.argsort(values, kind="stable")
        values, rows = values[sequence], _widest(rows[sequence])
        n_values = len(np.unique(values))
        if n_values < 2:
            raise InputError(
                f"order is constant ({order_texts(values[:1], are_dates)[0]} in all {len(values)} "
                "rows), so it orders nothing. Pass times or numbers that differ, or name domains "
                "in sample_domain."
            )
        known = np.zeros(len(values), dtype=bool)
        if y is not None:
            known = ~hidden_marks(check_label_array(y, len(values)), minus_one_hides=False)
            known = known[sequence]
        first = np.concatenate([[True], np.diff(values) > 0])  # a window may begin here
        length = _usual_length(rows)
        cuts = _boundaries(rows, first, _label_ends(known, first), length)
        if len(cuts) < 2:
            raise InputError(
                f"{len(values)} rows of {n_values} different values of order make one window: "
                f"windows have {SETTINGS.min_rows} rows at least, and rows of one value stay "
                "together. Pass more rows, a finer order, or names in sample_domain."
            )
        parts = np.split(np.arange(len(values)), cuts[1:])
        return cls(
            starts=values[cuts],
            ends=np.array([values[part[-1]] for part in parts]),
            centres=np.array([np.median(values[part]) for part in parts]),
            jumps=_abrupt(rows, parts).astype(np.float64),
            are_dates=are_dates,
        )

    @property
    def is_abrupt(self) -> NDArray[np.bool_]:
        """(windows,) whether something jumps where it begins; not of the first."""
        return np.asarray(self.jumps > 0)

    @property
    def names(self) -> list[str]:
        """Of the windows: the values between which each lies."""
        low = order_texts(self.starts, self.are_dates)
        high = order_texts(self.ends, self.are_dates)
        return [one if one == other else f"{one} to {other}" for one, other in zip(low, high)]

    def names_of(self, order: Any) -> list[str]:
        """The window of every row; rows before the first or after the last are windows of their
        own, "before …" and "after …"."""
        values, names = self._checked(order), np.array(self.names, dtype=object)
        found = names[np.clip(np.searchsorted(self.starts, values, "right") - 1, 0, None)]
        ends = order_texts(np.array([self.starts[0], self.ends[-1]]), self.are_dates)
        found[values < self.starts[0]] = f"before {ends[0]}"
        found[values > self.ends[-1]] = f"after {ends[1]}"
        return list(found)

    def places(self, order: Any, coordinates: Floats) -> Floats:
        """Where the map, whose windows lie at `coordinates` (windows, index_dim), is at each value:
        between the middles of windows in a straight line, with jumps where something jumps; beyond
        the last as the last few went on."""
        values = self._checked(order)
        result = np.empty((len(values), coordinates.shape[1]))
        stretch = np.cumsum(self.is_abrupt)
        begins = self.starts[np.searchsorted(stretch, np.arange(stretch[-1] + 1))]
        of_rows = np.clip(np.searchsorted(begins, values, "right") - 1, 0, None)
        for number in np.unique(of_rows):
            here, rows = stretch == number, of_rows == number
            along, places = self.centres[here], coordinates[here]
            for axis in range(coordinates.shape[1]):
                result[rows, axis] = np.interp(values[rows], along, places[:, axis])
            for end, outside in ((slice(None, 4), values < along[0]), (slice(-4, None), None)):
                beyond = rows & (values > along[-1] if outside is None else outside)
                if len(along) > 1 and beyond.any():
                    result[beyond] = _gone_on(along[end], places[end], values[beyond])
        return result

    def table(self) -> pd.DataFrame:
        """A row a window: domain, first, last, abrupt."""
        first, last = (_shown(one, self.are_dates) for one in (self.starts, self.ends))
        columns = {"domain": self.names, "first": first, "last": last, "abrupt": self.is_abrupt}
        return pd.DataFrame(columns)

    @property
    def boundaries(self) -> Any:
        """(windows - 1,) the value with which each window after the first begins."""
        return _shown(self.starts[1:], self.are_dates)

    def _checked(self, order: Any) -> Floats:
        values, are_dates = order_values(order)
        if are_dates != self.are_dates:
            kinds = ("dates", "numbers") if self.are_dates else ("numbers", "dates")
            raise InputError(f"order held {kinds[0]} in fit and holds {kinds[1]} now. Pass alike.")
        return values

    def _check_state(self) -> None:
        parts = (self.starts, self.ends, self.centres, self.jumps)
        if len({one.shape for one in parts}) != 1 or not (np.diff(self.starts) > 0).all():
            raise ValueError("the windows are not in order")


def order_values(order: Any) -> tuple[Floats, bool]:
    """Finite numbers (rows,), and whether they are dates: then nanoseconds since 1970, UTC."""
    if np.ndim(order) > 1:
        raise InputError(f"order has shape {np.shape(order)}. Pass one value per row.")
    series = pd.Series(np.asarray(order) if np.ndim(order) else np.array([order]))
    if isinstance(order, pd.Series | pd.Index):
        series = pd.Series(order).reset_index(drop=True)
    are_dates = False
    try:
        if pd.api.types.is_numeric_dtype(series) or all(isinstance(v, float) for v in series):
            values = series.to_numpy(dtype=np.float64)
        else:
            dates = pd.DatetimeIndex(pd.to_datetime(series, utc=True, format="ISO8601"))
            values = dates.as_unit("ns").asi8.astype(np.float64)
            values[dates.isna()], are_dates = np.nan, True
    except (TypeError, ValueError, OverflowError):
        raise InputError(
            f"order holds {preview(series.tolist(), 2)}, neither numbers nor dates. Pass one "
            "number or one date a row, such as 2024-03-01."
        ) from None
    lost = np.flatnonzero(~np.isfinite(values))
    if len(lost):
        raise InputError(
            f"order is missing or infinite in {len(lost)} of {len(values)} rows, the first at row "
            f"{lost[0]}. Fill these in, or leave the rows out."
        )
    return values, are_dates


def order_texts(values: Floats, are_dates: bool) -> list[str]:
    """As a reader would write them: dates without a time of day, and times without seconds, where
    none has them."""
    if not are_dates:
        return [f"{value:.12g}" for value in values]
    stamps = pd.to_datetime(values.astype(np.int64), utc=True)
    form = "%Y-%m-%d %H:%M:%S.%f"
    for shorter, unit in (("%Y-%m-%d %H:%M", "min"), ("%Y-%m-%d", "D")):
        if (stamps == stamps.floor(unit)).all():
            form = shorter
    return [one.strftime(form) for one in stamps]


def _shown(values: Floats, are_dates: bool) -> Any:
    return pd.to_datetime(values.astype(np.int64), utc=True) if are_dates else values


def _numbers(inputs: Any, n_rows: int) -> Floats:
    """Those of the inputs that are numbers, (rows, features), gaps filled by their means."""
    if hasattr(inputs, "select_dtypes"):
        inputs = inputs.select_dtypes(["number", "bool"])
    elif hasattr(inputs, "to_pandas"):
        inputs = inputs.to_pandas().select_dtypes(["number", "bool"])
    try:
        rows = np.asarray(inputs, dtype=np.float64)
    except (TypeError, ValueError):
        rows = np.empty((0, 0))
    if rows.ndim < 2 or len(rows) != n_rows or not rows.shape[1]:
        raise InputError(
            f"order has {n_rows} values, and X has shape {np.shape(inputs)} without columns of "
            "texts. Pass one value per row, of rows that hold numbers."
        )
    rows = rows.reshape(n_rows, -1)
    rows = np.where(np.isfinite(rows), rows, np.nan)
    means = np.nan_to_num(np.nanmean(np.vstack([rows, np.zeros_like(rows[:1])]), axis=0))
    return np.where(np.isnan(rows), means, rows)


def _widest(rows: Floats) -> Floats:
    """Rows on one scale, along the directions in which they vary most between stretches."""
    spread = rows.std(axis=0)
    rows = (rows - rows.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    if rows.shape[1] <= SETTINGS.max_features:
        return rows
    parts = np.array_split(rows, max(2, min(50, len(rows) // SETTINGS.min_rows)))
    means = np.stack([part.mean(axis=0) for part in parts])
    within = np.mean([part.var(axis=0) for part in parts], axis=0)
    weighted = (means - means.mean(axis=0)) / np.sqrt(within + 0.01)
    directions = np.linalg.svd(weighted, full_matrices=False)[2][: SETTINGS.max_features]
    return (rows / np.sqrt(within + 0.01)) @ directions.T


def _usual_length(rows: Floats) -> int:
    """Rows of a window with which even rows describe odd ones best, and the other way round; the
    fewest that are not clearly worse, by a standard error."""
    n_rows, least = len(rows), SETTINGS.min_rows
    least = max(least, -(-n_rows // SETTINGS.max_windows))
    lengths = []
    while least <= max(n_rows // 4, SETTINGS.min_rows):
        lengths.append(least)
        least = round(least * 1.5)
    if not lengths:
        return SETTINGS.min_rows
    fits = np.stack([_held_out_fit(rows, length) for length in lengths])
    best = int(fits.mean(axis=1).argmax())
    lost = fits[best] - fits
    clearly = lost.mean(axis=1) > lost.std(axis=1) / np.sqrt(len(rows))
    return lengths[int(np.argmin(clearly))]


def _held_out_fit(rows: Floats, length: int) -> Floats:
    """(rows,) log-densities by a Gaussian of the other half of the rows in their window."""
    parts = np.array_split(np.arange(len(rows)), max(1, round(len(rows) / length)))
    within = np.mean([_covariance(rows[part]) for part in parts], axis=0)
    result = np.empty(len(rows))
    for part in parts:
        for known, asked in ((part[::2], part[1::2]), (part[1::2], part[::2])):
            result[asked] = _log_density(rows[asked], rows[known], within)
    return result


def _covariance(rows: Floats) -> Floats:
    return np.cov(rows.T, bias=True).reshape(rows.shape[1], rows.shape[1])


def _log_density(asked: Floats, known: Floats, within: Floats) -> Floats:
    """(n,) under a Gaussian whose covariance is drawn to the mean one where rows are few."""
    size = known.shape[1]
    lean = size / (len(known) + size)
    covariance = (1 - lean) * _covariance(known) + lean * within
    covariance += 1e-3 * np.eye(size)
    gaps = asked - known.mean(axis=0)
    squares = (gaps @ np.linalg.inv(covariance) * gaps).sum(axis=1)
    return np.asarray(-0.5 * (squares + np.linalg.slogdet(covariance)[1]))


def _label_ends(known: NDArray[np.bool_], first: NDArray[np.bool_]) -> Ints:
    """Numbers of rows where labels begin or end for long enough to make windows of."""
    changes = np.flatnonzero(np.diff(known)) + 1
    changes = changes[first[changes]]
    edges = np.concatenate([[0], changes, [len(known)]])
    are_long = np.minimum(np.diff(edges)[:-1], np.diff(edges)[1:]) >= SETTINGS.min_rows
    return np.asarray(changes[are_long], dtype=np.int64)


def _boundaries(rows: Floats, first: NDArray[np.bool_], ends: Ints, length: int) -> Ints:
    """Numbers of the rows with which windows begin, the first 0, by dynamic programming.

    Of all windows of `min_rows` to `stretch` usual lengths those that describe the rows in fewest
    nats: Gaussians, each of which costs ½ log n for every number in it.
    """
    n_rows, size = rows.shape
    step = max(SETTINGS.min_rows // 4, -(-n_rows // SETTINGS.max_blocks))
    edges = np.union1d(_next_start(np.arange(0, n_rows, step), first), ends)
    edges = np.append(edges[edges < n_rows], n_rows)
    sums = np.vstack([np.zeros(size), np.cumsum(rows, axis=0)])[edges]
    products = (rows[:, :, None] * rows[:, None, :]).reshape(n_rows, -1)
    squares = np.vstack([np.zeros(size**2), np.cumsum(products, axis=0)])[edges]
    parts = np.array_split(rows, max(1, round(n_rows / length)))
    within = np.mean([_covariance(part) for part in parts], axis=0)
    price = 0.5 * np.log(n_rows) * (size + size * (size + 1) / 2)
    longest = max(SETTINGS.stretch * length, 2 * SETTINGS.min_rows)
    best, came_from = np.full(len(edges), np.inf), np.zeros(len(edges), dtype=np.int64)
    best[0] = 0.0
    walls = np.searchsorted(edges, ends)
    for end in range(1, len(edges)):
        wall = walls[walls < end].max(initial=0)
        nearest = np.searchsorted(edges, edges[end] - SETTINGS.min_rows, "right") - 1
        farthest = np.searchsorted(edges, edges[end] - longest)
        begin = np.arange(max(wall, min(farthest, nearest)), max(nearest, wall) + 1)
        begin = begin[begin < end]
        count = (edges[end] - edges[begin])[:, None].astype(np.float64)
        means = (sums[end] - sums[begin]) / count
        second = ((squares[end] - squares[begin]) / count).reshape(-1, size, size)
        spread = second - means[:, :, None] * means[:, None, :]
        lean = (size / (count + size))[:, :, None]
        spread = (1 - lean) * spread + lean * within + 1e-3 * np.eye(size)
        costs = best[begin] + 0.5 * count[:, 0] * np.linalg.slogdet(spread)[1] + price
        costs = costs + np.where(count[:, 0] < SETTINGS.min_rows, 1e6, 0.0)
        chosen = int(np.argmin(costs))
        best[end], came_from[end] = costs[chosen], begin[chosen]
    cuts, at = [], len(edges) - 1
    while at > 0:
        at = int(came_from[at])
        cuts.append(int(edges[at]))
    return np.array(cuts[::-1], dtype=np.int64)


def _next_start(rows: Ints, first: NDArray[np.bool_]) -> Ints:
    """For each the next row that begins another value of the order, or the number of rows."""
    starts = np.append(np.flatnonzero(first), len(first))
    return np.unique(starts[np.searchsorted(starts, rows)])


def _abrupt(rows: Floats, parts: Sequence[Ints]) -> NDArray[np.bool_]:
    """(windows,) whether the neighbouring halves of two windows differ by far more nats than the
    halves within them, and by more than it costs to describe one more Gaussian."""
    size = rows.shape[1]
    halves = [np.array_split(rows[part], 2) for part in parts]
    within = np.mean([_covariance(rows[part]) for part in parts], axis=0)

    def apart(one: Floats, other: Floats) -> float:
        spreads = [
            np.linalg.slogdet(_covariance(part) + size / len(part) * within + 1e-3 * np.eye(size))[
                1
            ]
            for part in (np.vstack([one, other]), one, other)
        ]
        n_one, n_other = len(one), len(other)
        whole = (n_one + n_other) * spreads[0]
        return 0.5 * float(whole - n_one * spreads[1] - n_other * spreads[2])

    own = [apart(*pair) for pair in halves]
    price = 0.5 * np.log(len(rows) / len(parts)) * (size + size * (size + 1) / 2)
    found = [False]
    for number in range(1, len(parts)):
        step = apart(halves[number - 1][1], halves[number][0])
        drift = max(own[number - 1], own[number], 0.0)
        found.append(step > max(price, SETTINGS.abrupt * drift))
    return np.array(found)


def _gone_on(along: Floats, places: Floats, values: Floats) -> Floats:
    """Places (n, index_dim) on the line through these few, from the one nearest to the values."""
    centred = along - along.mean()
    slope = centred @ (places - places.mean(axis=0)) / (centred @ centred)
    nearest = 0 if values.max() < along[0] else -1
    return places[nearest] + (values - along[nearest])[:, None] * slope

"""How far a value may lie from the others, so that no row can pull a domain across the map."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from domindex.arrays import Floats, Ints
from domindex.errors import ExtremeValueWarning
from domindex.inputs.domain_data import DomainData
from domindex.inputs.messages import frames_inside, shortened
from domindex.inputs.names import group_rows, order_names
from domindex.persistence.saved import Saved


@dataclass(frozen=True)
class BoundSettings:
    """From when on a value is too far out; not tuned."""

    trimmed: float = 0.05  # of a domain's rows, at each end, not counted in its bulk; at least one
    # Widths of a domain's bulk that a value may lie beyond the next one. A normal column is never
    # touched: from a bulk of 3.3 deviations it takes a gap of 6.6.
    widths: float = 2.0
    common: float = 0.5  # of rows with one value, such as 0, beside which only others are looked at


SETTINGS = BoundSettings()


class Limits(NamedTuple):
    """(columns,) each: values below `low` count as `lowest`, those above `high` as `highest`."""

    low: Floats
    high: Floats
    lowest: Floats
    highest: Floats

    def apply(self, inputs: NDArray) -> NDArray:
        """Rows (rows, columns), in the precision they came in."""
        upper = np.where(inputs > self.high, self.highest, inputs)
        return np.where(inputs < self.low, self.lowest, upper).astype(inputs.dtype, copy=False)


def column_bounds(
    values: NDArray, row_domains: Ints, cells_at_once: int = 2**23
) -> tuple[Floats, Floats, Floats]:
    """Low, high and reach of values (rows, columns), NaN where missing; (columns,) each.

    What lies below `low` or above `high` is too far out; `reach` is how far a new domain may lie
    beyond its own bulk. The bulk of a domain is what is left without `trimmed` of its rows at each
    end, so that one row has no say in it. Beyond the bulks of all domains a tail goes on for as
    long as the next value is within `widths` widths of a bulk. `cells_at_once` are sorted.
    """
    size = max(1, cells_at_once // max(1, len(values)))
    parts = [
        _bounds_of_some(values[:, start : start + size].astype(np.float64), row_domains)
        for start in range(0, values.shape[1], size)
    ]
    low, high, reach = np.hstack(parts)
    return low, high, reach


@dataclass(frozen=True, eq=False)
class InputBounds(Saved):
    """What is too far out, learned in a fit, and what it counts as, for rows of then and of later.

    A fit leaves out a row that holds such a value. Elsewhere it counts as the nearest value of its
    own domain. The bulk of a new domain widens the bounds for its own rows, so that a domain far
    out stays far out.
    """

    low: Floats  # (columns,) bounds for domains of the fit: see `column_bounds`
    high: Floats
    reach: Floats  # (columns,) for other domains
    domains: tuple[Hashable, ...]  # those of the fit first
    lowest: Floats  # (domains, columns) the ends of what each has within bounds
    highest: Floats
    added_low: Floats  # (added, columns) bounds of domains that were added later, the last ones
    added_high: Floats

    @classmethod
    def fit(cls, data: DomainData) -> InputBounds:
        """From the inputs of all domains, (rows, columns)."""
        low, high, reach = column_bounds(data.inputs, data.row_domains)
        ends = [_ends(data.inputs[rows], low, high) for rows in data.rows_by_domain()]
        lowest, highest = map(np.stack, zip(*ends))
        nobody = np.zeros((0, len(low)))
        return cls(low, high, reach, data.domains, lowest, highest, nobody, nobody)

    def apply(self, inputs: NDArray, groups: Iterable[tuple[Hashable | None, Ints]]) -> NDArray:
        """Rows within bounds, by names and row numbers of domains; the same array where all are."""
        beyond = self._beyond(inputs)
        if not beyond.any():
            return inputs
        result, numbers = inputs.copy(), {name: n for n, name in enumerate(self.domains)}
        for name, rows in groups:
            if beyond[rows].any():
                part, number = inputs[rows], numbers.get(name)
                limits = self._of_new(part) if number is None else self._of_known(number)
                result[rows] = limits.apply(part)
        return result

    def rows_to_learn_from(self, data: DomainData) -> Ints:
        """Without rows that hold values too far out, if these are few and not all of a class."""
        varies = self.low < self.high
        inputs, low, high = data.inputs[:, varies], self.low[varies], self.high[varies]
        spared = ((inputs < low) | (inputs > high)).any(axis=1)
        sizes, counts = data.domain_sizes, np.bincount(data.row_domains, spared, data.n_domains)
        few = counts <= np.minimum(np.maximum(1, SETTINGS.trimmed * sizes), sizes - 1)
        spared &= few[data.row_domains]
        if data.task == "classification":
            lost = set(data.labels[data.row_counts]) - set(data.labels[data.row_counts & ~spared])
            spared &= ~np.isin(data.labels, list(lost))
        return np.flatnonzero(~spared)

    def apply_by_row(self, inputs: NDArray) -> NDArray:
        """Rows whose domains are not asked for, drawn in to the bounds of the fit."""
        limits = Limits(self.low, self.high, self.low, self.high)
        return limits.apply(inputs) if self._beyond(inputs).any() else inputs

    def limits(self) -> Limits:
        """Of all known domains, (domains, columns) each."""
        known = map(self._of_known, range(len(self.domains)))
        return Limits(*map(np.stack, zip(*known)))

    def with_domains(self, inputs: NDArray, names: Sequence[Hashable]) -> InputBounds:
        """With domains that are added, in their order, by their rows."""
        new = [self._of_new(inputs[rows]) for _, rows in group_rows(names, len(inputs))]
        low, high, lowest, highest = map(np.stack, zip(*new))
        old = (self.lowest, self.highest, self.added_low, self.added_high)
        grown = map(np.vstack, zip(old, (lowest, highest, low, high)))
        domains = (*self.domains, *order_names(names))
        return InputBounds(self.low, self.high, self.reach, domains, *grown)

    def _beyond(self, inputs: NDArray) -> NDArray[np.bool_]:
        """(rows,) whether a value of the row lies beyond the bounds of the fit."""
        return np.asarray(((inputs < self.low) | (inputs > self.high)).any(axis=1))

    def _of_known(self, number: int) -> Limits:
        ends = self.lowest[number], self.highest[number]
        added = number - (len(self.domains) - len(self.added_low))
        if added < 0:
            return Limits(self.low, self.high, *ends)
        return Limits(self.added_low[added], self.added_high[added], *ends)

    def _of_new(self, inputs: NDArray) -> Limits:
        """Of a domain with these rows: as far as its bulk takes it."""
        bulk_low, bulk_high = _bulk(np.sort(inputs.astype(np.float64), axis=0))
        reach = np.maximum(self.reach, SETTINGS.widths * (bulk_high - bulk_low))
        low = np.minimum(self.low, bulk_low - reach)
        high = np.maximum(self.high, bulk_high + reach)
        return Limits(low, high, *_ends(inputs, low, high))

    def _check_state(self) -> None:
        n_domains, shape = len(self.domains), self.low.shape
        bounds, ends = (self.low, self.high), (self.lowest, self.highest)
        added = (self.added_low, self.added_high)
        if any(part.ndim != 1 or part.shape != shape for part in (*bounds, self.reach)):
            raise ValueError("the bounds do not fit each other")
        if any(part.shape != (n_domains, *shape) for part in ends):
            raise ValueError("the bounds do not fit the domains")
        if any(part.shape[1:] != shape or len(part) > n_domains for part in added):
            raise ValueError("the bounds do not fit the domains that were added")
        for low, high in (bounds, ends, added):
            if low.shape != high.shape or not (low <= high).all():
                raise ValueError("a lower bound lies above the upper one")


def warn_of_drawn_in(
    inputs: NDArray,
    bounded: NDArray,
    names: Sequence[Hashable] | None,
    n_left_out: int,
    *,
    has_row_numbers: bool,
    max_named: int = 5,
) -> None:
    """Warn once of columns of X with values that are too far out, those with most of them first."""
    changed = np.asarray(inputs != bounded)
    counts = changed.sum(axis=0)
    columns = np.argsort(-counts, kind="stable")[: int((counts > 0).sum())]
    if not len(columns):
        return
    called = range(inputs.shape[1]) if names is None else list(names)
    said = []
    for column in columns[:max_named]:
        row = int(np.abs(inputs[:, column] - bounded[:, column]).argmax())
        where = f" in row {row}" if has_row_numbers else ""
        others = f" and {counts[column] - 1} more" if counts[column] > 1 else ""
        said.append(
            f"{shortened(called[column])} holds {inputs[row, column]:.6g}{where}, which counts as "
            f"{bounded[row, column]:.6g}{others}"
        )
    more = len(columns) - len(said)
    warnings.warn(
        f"{int(counts.sum())} value(s) of X lie far beyond those of all domains: column "
        f"{'; column '.join(said)}{f'; and {more} more columns' if more else ''}. {n_left_out} "
        "row(s) are left out of learning, so that none of them moves its domain; elsewhere, and in "
        "predictions, such values count as the nearest of their domain. Correct them.",
        ExtremeValueWarning,
        stacklevel=frames_inside(),
    )


def _bounds_of_some(values: Floats, row_domains: Ints) -> Floats:
    """(3, columns) low, high and reach.

    In a column that mostly has one value, the others are looked at; where a single row differs, the
    column is taken to be constant.
    """
    n_known, columns = (~np.isnan(values)).sum(axis=0), np.arange(values.shape[1])
    common = np.sort(values, axis=0)[np.maximum(n_known - 1, 0) // 2, columns]
    mostly_one = (values == common).sum(axis=0) > SETTINGS.common * n_known
    others = np.where(mostly_one & (values == common), np.nan, values)
    order = np.argsort(row_domains, kind="stable")
    groups = np.split(order, np.cumsum(np.bincount(row_domains))[:-1])
    lows, highs = np.full((2, len(groups), len(columns)), np.nan)
    for number, rows in enumerate(groups):
        ordered = np.sort(others[rows], axis=0)
        enough = (~np.isnan(ordered)).sum(axis=0) > 2
        if enough.any():
            low, high = _bulk(ordered)
            lows[number, enough], highs[number, enough] = low[enough], high[enough]
    ordered = np.sort(others, axis=0)
    pooled = np.stack(_bulk(ordered))
    found = np.empty((3, len(columns)))
    for column in columns:
        n_others = int((~np.isnan(ordered[:, column])).sum())
        hub = float(common[column]) if mostly_one[column] else None
        if hub is not None and n_others == 1:
            found[:, column] = hub, hub, 0.0
        else:
            bulks = np.column_stack([lows[:, column], highs[:, column]])
            bulks = bulks[~np.isnan(bulks[:, 0])]
            found[:, column] = _reached(ordered[:n_others, column], bulks, pooled[:, column], hub)
    return found


def _reached(
    ordered: Floats, bulks: Floats, pooled: Floats, hub: float | None
) -> tuple[float, float, float]:
    """Low, high and reach of a column by its values in order, the bulks (domains, 2) of domains,
    that of all rows together, and the one value that most rows have, if any."""
    free = (-np.inf, np.inf, np.inf)
    if not len(ordered):
        return free
    lows, highs = (bulks if len(bulks) else pooled[None]).T
    if hub is not None:
        lows, highs = np.minimum(lows, hub), np.maximum(highs, hub)
    least, most = float(min(lows.min(), pooled[0])), float(max(highs.max(), pooled[1]))
    with np.errstate(over="ignore", invalid="ignore"):
        widths = highs - lows
        width = float(np.median(widths) or widths.max() or most - least)
        reaches = SETTINGS.widths * np.maximum(widths, width)
        high = _tail_end(ordered, most, highs, reaches)
        low = -_tail_end(-ordered[::-1], -least, -lows, reaches)
    if not width or not np.isfinite([low, high]).all():
        return free
    # rounded outwards, so that no row can be read off
    unit = 10.0 ** np.floor(np.log10(max(width, 1e-9 * max(-low, high))) - 1)
    if not unit:  # of values next to nothing
        return free
    low, high = float(np.floor(low / unit) * unit), float(np.ceil(high / unit) * unit)
    return low, high, SETTINGS.widths * width


def _tail_end(ordered: Floats, end: float, tops: Floats, reaches: Floats) -> float:
    """How far up values may lie, if `end` is the highest end of a bulk, each ending at `tops`."""
    step = float(reaches[(tops + reaches).argmax()])
    tail = np.concatenate([[end], ordered[np.searchsorted(ordered, end, side="right") :]])
    gaps = np.flatnonzero(np.diff(tail) > step)
    return float(tail[gaps[0]] if len(gaps) else tail[-1]) + step


def _ends(inputs: NDArray, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """(columns,) the least and the largest value within bounds; the bounds where there is none."""
    values = inputs.astype(np.float64)
    inside = np.where((values < low) | (values > high), np.nan, values)
    lowest, highest = np.fmin.reduce(inside, axis=0), np.fmax.reduce(inside, axis=0)
    return np.where(np.isnan(lowest), low, lowest), np.where(np.isnan(highest), high, highest)


def _bulk(ordered: Floats) -> tuple[Floats, Floats]:
    """(columns,) ends of rising columns, NaN last, without `trimmed` of them at each end."""
    counts, columns = (~np.isnan(ordered)).sum(axis=0), np.arange(ordered.shape[1])
    cut = np.maximum(1, np.ceil(SETTINGS.trimmed * counts)).astype(np.int64)
    cut = np.minimum(cut, np.maximum(counts - 1, 0) // 2)
    return ordered[cut, columns], ordered[np.maximum(counts - 1 - cut, 0), columns]

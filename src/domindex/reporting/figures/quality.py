"""What a fitted model says of itself: what to expect of it, how far it is right, what it rests on.

Everything drawn here was kept by the fit; no data are needed.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

from domindex.errors import InputError
from domindex.reporting.domain_table import explain_domain
from domindex.reporting.figures.canvas import (
    PALETTE,
    SOURCE_COLOR,
    TARGET_COLOR,
    height_of_rows,
    new_axes,
    short_name,
)

MOST_BARS = 12
"""Columns that are drawn where more are known."""


def plot_forecast(
    model: Any, *, found: Mapping[Hashable, float] | None = None, ax: Any = None
) -> Any:
    """What to expect in every target, with its interval of 80 %; the best at the top.

    Parameters
    ----------
    model : a fitted `VDIClassifier` or `VDIRegressor`
    found : domain to accuracy, or error, once labels have turned up; drawn beside the forecast
    ax : axes of Matplotlib to draw on; new ones where None

    Examples
    --------
    >>> from domindex import Training, VDIClassifier
    >>> from domindex.datasets import make_circle
    >>> data = make_circle(n_domains=5, n_sources=3, samples_per_domain=20)
    >>> model = VDIClassifier(
    ...     candidates=[("raw", "linear")], training=Training(index_steps=5), random_state=0
    ... )
    >>> names = data.sample_domain
    >>> model = model.fit(data.X, data.y, sample_domain=names, source_domains=[0, 1, 2])
    >>> from domindex.reporting import plot_forecast
    >>> axes = plot_forecast(model)
    >>> [label.get_text() for label in axes.get_yticklabels()]
    ['4', '3']
    """
    table = getattr(model, "forecast_", None)
    if table is None or not len(table):
        raise InputError(
            "There is no forecast to draw. "
            "Pass a fitted VDIClassifier or VDIRegressor with targets."
        )
    column = "expected_accuracy" if "expected_accuracy" in table else "expected_error"
    table = table.sort_values(column, ascending=column == "expected_accuracy", kind="stable")
    heights = np.arange(len(table))
    axes = new_axes(ax, height_of_rows(len(table)))
    axes.hlines(heights, table["low"], table["high"], color="0.7", linewidth=4, zorder=1)
    axes.scatter(table[column], heights, color=TARGET_COLOR, label="expected", zorder=2)
    if found is not None:
        values = [found.get(name, np.nan) for name in table["domain"]]
        axes.scatter(values, heights, marker="D", s=26, color=PALETTE[2], label="found", zorder=3)
    _name_rows(axes, heights, [str(name) for name in table["domain"]])
    axes.set(xlabel=column.replace("_", " ") + ", and 80 % interval", ylabel="target")
    _legend_above(axes)
    return axes


def plot_calibration(model: Any, *, ax: Any = None) -> Any:
    """What was predicted of held-out sources against what was found there.

    For two classes the probability of the second one, for more classes the confidence and how often
    it was right, for values the prediction by deciles. On the line both agree; the larger a point
    the more rows it stands for.

    Parameters
    ----------
    model : a fitted `VDIClassifier` or `VDIRegressor`
    ax : axes of Matplotlib to draw on; new ones where None

    Examples
    --------
    >>> from domindex import Training, VDIClassifier
    >>> from domindex.datasets import make_circle
    >>> data = make_circle(n_domains=5, n_sources=3, samples_per_domain=20)
    >>> model = VDIClassifier(
    ...     candidates=[("raw", "linear")], training=Training(index_steps=5), random_state=0
    ... )
    >>> names = data.sample_domain
    >>> model = model.fit(data.X, data.y, sample_domain=names, source_domains=[0, 1, 2])
    >>> from domindex.reporting import plot_calibration
    >>> axes = plot_calibration(model)
    >>> axes.get_xlabel()
    'predicted probability of 1'
    """
    bins = _record(model).held_out.calibration
    if not len(bins):
        raise InputError("Too few rows were held out for a calibration curve.")
    predicted, found, share = bins.T
    axes = new_axes(ax)
    ends = [min(predicted.min(), found.min()), max(predicted.max(), found.max())]
    ends = [0.0, 1.0] if hasattr(model, "classes_") else ends
    axes.plot(ends, ends, color="0.7", linestyle=(0, (4, 2)), label="as it should be", zorder=1)
    axes.plot(predicted, found, color=SOURCE_COLOR, linewidth=1, zorder=2)
    axes.scatter(
        predicted, found, s=20 + 300 * share, color=SOURCE_COLOR, label="held-out sources", zorder=3
    )
    axes.set(xlabel=f"predicted {_predicted(model)}", ylabel="found")
    axes.set_aspect("equal", adjustable="box")
    axes.grid(alpha=0.3)
    axes.legend(loc="upper left", frameon=False)
    return axes


def plot_importance(model: Any, *, ax: Any = None) -> Any:
    """What predictions rest on: the loss in held-out sources when a column is shuffled.

    Parameters
    ----------
    model : a fitted `VDIClassifier` or `VDIRegressor`
    ax : axes of Matplotlib to draw on; new ones where None

    Examples
    --------
    >>> from domindex import Training, VDIClassifier
    >>> from domindex.datasets import make_circle
    >>> data = make_circle(n_domains=5, n_sources=3, samples_per_domain=20)
    >>> model = VDIClassifier(
    ...     candidates=[("raw", "linear")], training=Training(index_steps=5), random_state=0
    ... )
    >>> names = data.sample_domain
    >>> model = model.fit(data.X, data.y, sample_domain=names, source_domains=[0, 1, 2])
    >>> from domindex.reporting import plot_importance
    >>> axes = plot_importance(model)
    >>> len(axes.patches)
    2
    """
    table = _record(model).importance.head(MOST_BARS)[::-1]
    if not len(table):
        raise InputError(
            "The fit measured no importance of columns: rows are no table with named columns, or "
            "nothing but a network predicts."
        )
    heights = np.arange(len(table))
    axes = new_axes(ax, height_of_rows(len(table)))
    axes.barh(heights, table["importance"], color=SOURCE_COLOR, height=0.6)
    axes.errorbar(
        table["importance"], heights, xerr=table["standard_error"], fmt="none", color="black"
    )
    _name_rows(axes, heights, list(table["column"]))
    lost = "probability of the right class" if hasattr(model, "classes_") else "share of the error"
    axes.set(xlabel=f"lost when shuffled: {lost}")
    return axes


def plot_differences(model: Any, domain: Hashable, *, most: int = 6, ax: Any = None) -> Any:
    """Why a domain lies where it does: the columns in which it differs, the largest at the top.

    A bar is how far its values are from those of its neighbours on the map and of the sources, 0
    alike to 1 nothing in common; the line across is what so few rows would differ by without any
    reason. Beside the bars stand the ranges that hold the medians, here and in the sources.

    Parameters
    ----------
    model : a fitted `VDIClassifier` or `VDIRegressor`
    domain : the name of the domain
    most : how many columns are drawn
    ax : axes of Matplotlib to draw on; new ones where None

    Examples
    --------
    >>> from domindex import Training, VDIClassifier
    >>> from domindex.datasets import make_circle
    >>> data = make_circle(n_domains=5, n_sources=3, samples_per_domain=20)
    >>> model = VDIClassifier(
    ...     candidates=[("raw", "linear")], training=Training(index_steps=5), random_state=0
    ... )
    >>> names = data.sample_domain
    >>> model = model.fit(data.X, data.y, sample_domain=names, source_domains=[0, 1, 2])
    >>> from domindex.reporting import plot_differences
    >>> axes = plot_differences(model, 4, most=1)
    >>> len(axes.patches)
    2
    """
    _record(model)
    table = explain_domain(model, domain).head(most)[::-1]
    if not len(table):
        raise InputError(
            f"Nothing is known of the columns of {domain!r}: rows are no table with named columns, "
            "or the domain has fewer than 5 rows or was added after the fit."
        )
    heights = np.arange(len(table))
    axes = new_axes(ax, height_of_rows(2 * len(table)))
    axes.barh(heights + 0.19, table["from_sources"], 0.36, color=SOURCE_COLOR, label="from sources")
    axes.barh(
        heights - 0.19, table["from_neighbours"], 0.36, color=TARGET_COLOR, label="from neighbours"
    )
    axes.vlines(table["chance"], heights - 0.4, heights + 0.4, color="black", linewidth=1)
    longest = table[["from_sources", "from_neighbours"]].max(axis=1)
    for height, end, row in zip(heights, longest, table.itertuples()):
        text = f"{row.typical} here, {row.sources_typical} in sources"
        label = axes.annotate(text, (end, height), (5, 0), textcoords="offset points", va="center")
        label.set(fontsize=7, parse_math=False)
    _name_rows(axes, heights, list(table["column"]))
    axes.set_xlim(0.0, max(0.1, 1.75 * float(longest.max())))
    axes.set(xlabel="difference, 0 alike to 1 nothing in common")
    axes.set_ylabel(short_name(domain), parse_math=False)
    _legend_above(axes)
    return axes


def _record(model: Any) -> Any:
    """What the fit kept to be shown."""
    record = getattr(model, "_record", None)
    if record is None:
        raise InputError(
            f"This {type(model).__name__} keeps no record of a fit. Pass a VDIClassifier or "
            "VDIRegressor that was fitted with this version."
        )
    return record


def _predicted(model: Any) -> str:
    classes = getattr(model, "classes_", None)
    if classes is None:
        return "value"
    return f"probability of {classes[1]}" if len(classes) == 2 else "confidence"


def _name_rows(axes: Any, heights: Any, names: list[str]) -> None:
    """Names at the left; a $ in a name is a dollar, not mathematics."""
    axes.set_yticks(heights, [short_name(name) for name in names], fontsize=8)
    for text in axes.get_yticklabels():
        text.set_parse_math(False)
    axes.grid(axis="x", alpha=0.3)


def _legend_above(axes: Any) -> None:
    """Where it covers no row."""
    axes.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=3, frameon=False)

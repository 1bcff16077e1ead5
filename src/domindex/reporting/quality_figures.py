"""Figures of how good a model is: forecasts, calibration, what it rests on, scores, training.

Each takes `ax`, Axes to draw on (None makes new ones), and returns it; none shows or saves."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from itertools import cycle, product
from typing import Any

import numpy as np
import pandas as pd

from domindex.errors import InputError
from domindex.geometry.distances import distances_to_sources
from domindex.inputs.messages import preview
from domindex.reporting.canvas import (
    PALETTE,
    SOURCE_COLOR,
    TARGET_COLOR,
    axes_for_rows,
    draw_domains,
    finish,
    map_and_sources,
    name_rows,
    new_axes,
    short_name,
    source_marks,
)
from domindex.reporting.columns import explain_domain


def plot_forecast(
    model: Any, *, found: Mapping[Hashable, float] | None = None, ax: Any = None
) -> Any:
    """What to expect in every target of a fitted model, with its interval of 80 %; the best on top.

    `found` is the accuracy, or error, by domain, once labels have turned up: drawn beside it.

    Examples
    --------
    >>> [label.get_text() for label in plot_forecast(model).get_yticklabels()]
    ['4', '3']
    """
    table = getattr(model, "forecast_", None)
    if table is None or not len(table):
        raise InputError(
            "There is no forecast to draw. Pass a fitted CrossDomainClassifier or "
            "CrossDomainRegressor with targets."
        )
    column = "expected_accuracy" if "expected_accuracy" in table else "expected_error"
    table = table.sort_values(column, ascending=column == "expected_accuracy", kind="stable")
    heights = np.arange(len(table))
    axes = axes_for_rows(ax, len(table))
    axes.hlines(heights, table["low"], table["high"], color="0.7", linewidth=4, zorder=1)
    axes.scatter(table[column], heights, color=TARGET_COLOR, label="expected", zorder=2)
    if found is not None:
        values = [found.get(name, np.nan) for name in table["domain"]]
        axes.scatter(values, heights, marker="D", s=26, color=PALETTE[2], label="found", zorder=3)
    name_rows(axes, heights, table["domain"])
    axes.set(xlabel=column.replace("_", " ") + ", and 80 % interval", ylabel="target")
    return _legend_above(axes)


def plot_calibration(model: Any, *, ax: Any = None) -> Any:
    """What was predicted of held-out sources against what was found there.

    For two classes the probability of the second one, for more classes the confidence and how often
    it was right, for values the prediction by deciles. On the line both agree; the larger a point
    the more rows it stands for.

    Examples
    --------
    >>> plot_calibration(model).get_xlabel()
    'predicted probability of 1'
    """
    held_out = _record(model).held_out
    if held_out is None:
        raise InputError(
            f"A {type(model).__name__} holds no source out while it is fitted. Pass a "
            "CrossDomainClassifier or CrossDomainRegressor."
        )
    bins = held_out.calibration
    if not len(bins):
        raise InputError("Too few rows were held out for a calibration curve.")
    predicted, found, share = bins.T
    classes = getattr(model, "classes_", None)
    if classes is None:
        what, ends = "value", [bins[:, :2].min(), bins[:, :2].max()]
    else:
        what = f"probability of {classes[1]}" if len(classes) == 2 else "confidence"
        ends = [0.0, 1.0]
    axes = new_axes(ax)
    axes.plot(ends, ends, color="0.7", linestyle=(0, (4, 2)), label="as it should be", zorder=1)
    axes.plot(predicted, found, color=SOURCE_COLOR, linewidth=1, zorder=2)
    style = {"color": SOURCE_COLOR, "label": "held-out sources", "zorder": 3}
    axes.scatter(predicted, found, s=20 + 300 * share, **style)
    axes.set(xlabel=f"predicted {what}", ylabel="found")
    axes.set_aspect("equal", adjustable="box")
    axes.grid(alpha=0.3)
    axes.legend(loc="upper left", frameon=False)
    return axes


def plot_importance(model: Any, *, ax: Any = None) -> Any:
    """What a fitted model rests on: the loss in held-out sources when a column is shuffled.

    Examples
    --------
    >>> len(plot_importance(model).patches)
    2
    """
    table = _record(model).importance.head(12)[::-1]
    if not len(table):
        raise InputError(
            "The fit measured no importance of columns: rows are no table with named columns, or "
            "nothing but a network predicts."
        )
    heights = np.arange(len(table))
    axes = axes_for_rows(ax, len(table))
    axes.barh(heights, table["importance"], color=SOURCE_COLOR, height=0.6)
    errors = {"xerr": table["standard_error"], "fmt": "none", "color": "black"}
    axes.errorbar(table["importance"], heights, **errors)
    name_rows(axes, heights, table["column"])
    lost = "probability of the right class" if hasattr(model, "classes_") else "share of the error"
    axes.set(xlabel=f"lost when shuffled: {lost}")
    return axes


def plot_differences(model: Any, domain: Hashable, *, most: int = 6, ax: Any = None) -> Any:
    """Why a domain lies where it does: the columns in which it differs, the largest at the top.

    A bar is how far its values are from those of its neighbours on the map and of the sources; the
    line across is what so few rows would differ by without any reason. Beside the bars stand the
    ranges that hold the medians, here and in the sources. At most `most` columns are drawn.

    Examples
    --------
    >>> len(plot_differences(model, 4, most=1).patches)
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
    axes = axes_for_rows(ax, 2 * len(table))
    upper = {"color": SOURCE_COLOR, "label": "from sources"}
    lower = {"color": TARGET_COLOR, "label": "from neighbours"}
    axes.barh(heights + 0.19, table["from_sources"], 0.36, **upper)
    axes.barh(heights - 0.19, table["from_neighbours"], 0.36, **lower)
    axes.vlines(table["chance"], heights - 0.4, heights + 0.4, color="black", linewidth=1)
    longest = table[["from_sources", "from_neighbours"]].max(axis=1)
    for height, end, row in zip(heights, longest, table.itertuples()):
        text = f"{row.typical} here, {row.sources_typical} in sources"
        label = axes.annotate(text, (end, height), (5, 0), textcoords="offset points", va="center")
        label.set(fontsize=7, parse_math=False)
    name_rows(axes, heights, table["column"])
    axes.set_xlim(0.0, max(0.1, 1.75 * float(longest.max())))
    axes.set(xlabel="difference, 0 alike to 1 nothing in common")
    axes.set_ylabel(short_name(domain), parse_math=False)
    return _legend_above(axes)


def plot_scores_by_domain(
    scores: Mapping[Hashable, float],
    *,
    baseline: Mapping[Hashable, float] | None = None,
    score_label: str = "score",
    source_domains: Collection[Hashable] = (),
    ax: Any = None,
) -> Any:
    """A score or an error for each domain, as from `scores_by_domain`, the smallest at the bottom.

    `baseline` is the same of another method, joined to it by a line; `source_domains` are squares.

    Examples
    --------
    >>> axes = plot_scores_by_domain({"a": 0.9, "b": 0.8}, source_domains=["a"])
    >>> [label.get_text() for label in axes.get_yticklabels()]
    ['b', 'a']
    """
    if not scores:
        raise InputError("scores is empty. Pass a number for each domain to be drawn.")
    domains = sorted(scores, key=lambda name: scores[name])
    values = np.array([scores[name] for name in domains])
    heights = np.arange(len(domains))
    axes = axes_for_rows(ax, len(domains))
    if baseline is not None:
        others = np.array([baseline.get(name, np.nan) for name in domains])
        axes.hlines(heights, others, values, color="0.8", zorder=1)
        axes.scatter(others, heights, marker="|", s=60, color="0.35", label="baseline", zorder=2)
    points = np.column_stack([values, heights])
    draw_domains(axes, points, source_marks(None, domains, source_domains), zorder=3)
    name_rows(axes, heights, domains, fontsize=7)
    axes.set(xlabel=score_label, ylabel="domain")
    axes.legend(loc="best", frameon=False)
    return axes


def plot_scores_by_distance(
    index: Any,
    scores: Mapping[Hashable, float],
    *,
    source_domains: Collection[Hashable] | None = None,
    score_label: str = "score",
    ax: Any = None,
) -> Any:
    """A score or an error against the distance on the map to the nearest source.

    The unit is the map's median spacing: the median distance of a domain to its nearest other.
    `index` is a fitted model or its map. Domains that `scores` lacks are left out; None for
    `source_domains` takes those of the model.

    Examples
    --------
    >>> axes = plot_scores_by_distance(model, {3: 0.9, 4: 0.8})
    >>> [text.get_text() for text in axes.texts]
    ['3', '4']
    """
    named = getattr(index, "source_domains_", ()) if source_domains is None else source_domains
    index, _ = map_and_sources(index)
    domains = [name for name in index.domains if name in scores]
    if not domains:
        raise InputError(
            f"scores names {preview(scores)}, none of the map's domains "
            f"({preview(index.domains)}). Use the names of the map."
        )
    away = dict(zip(index.domains, distances_to_sources(index, named)))
    points = np.array([[away[name], scores[name]] for name in domains])
    axes = new_axes(ax)
    draw_domains(axes, points, source_marks(None, domains, named))
    away_label = "distance to the nearest source, in median spacings"
    return finish(axes, domains, points, xlabel=away_label, ylabel=score_label)


def plot_history(history: Any, *, terms: Sequence[str] | None = None, ax: Any = None) -> Any:
    """Every term of the objective by epoch, a vertical line where a phase begins.

    Terms differ by orders of magnitude, so the scale is linear near zero and logarithmic beyond.
    `history` is a fitted model or its `history_`; `terms` are the columns to draw, None for all.

    Examples
    --------
    >>> plot_history(model).get_xlabel()
    'epoch'
    """
    table = getattr(history, "history_", history)
    if not isinstance(table, pd.DataFrame):
        raise InputError(
            f"history is a {type(history).__name__}. Pass a fitted model, or its history_."
        )
    known = [name for name in table.columns if name not in ("phase", "step")]
    chosen = known if terms is None else list(terms)
    unknown = [name for name in chosen if name not in known]
    if unknown:
        raise InputError(f"history has no {preview(unknown)}; its terms are {preview(known, 20)}.")
    axes = new_axes(ax)
    styles = cycle(product(("-", "--", ":"), PALETTE))
    for name, (dash, color) in zip(chosen, styles):
        style = {"label": name.replace("_", " "), "color": color, "linestyle": dash}
        axes.plot(np.arange(1, len(table) + 1), table[name], **style)
    axes.set_yscale("symlog", linthresh=1.0)
    phases = table["phase"].tolist() if "phase" in table else []
    for epoch, (before, phase) in enumerate(zip([None, *phases], phases), start=1):
        if phase == before:
            continue
        if epoch > 1:
            axes.axvline(epoch - 0.5, color="0.7", linewidth=0.8)
        top = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points"}
        axes.annotate(str(phase), (epoch, 1.0), (2, 3), **top, fontsize=8)
    axes.set(xlabel="epoch", ylabel="term, mean over an epoch")
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize=8)
    return axes


def _record(model: Any) -> Any:
    """What the fit left to be shown."""
    record = getattr(model, "_record", None)
    if record is None:
        raise InputError(
            f"This {type(model).__name__} keeps no record of a fit. Pass a CrossDomainClassifier "
            "or CrossDomainRegressor that was fitted with this version."
        )
    return record


def _legend_above(axes: Any) -> Any:
    """The axes with a legend where it covers no row."""
    axes.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=3, frameon=False)
    return axes

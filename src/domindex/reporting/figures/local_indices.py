"""Local indices: one point per row, coloured by domain."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from domindex.arrays import Floats
from domindex.errors import InputError
from domindex.inputs import check_domain_names, check_inputs, group_rows
from domindex.inputs.messages import preview
from domindex.reporting.figures.canvas import PALETTE, new_axes, short_name


def plot_local_indices(
    local_indices: ArrayLike,
    sample_domain: Any,
    *,
    domains: Sequence[Hashable] | None = None,
    ax: Any = None,
) -> Any:
    """Local indices of rows, one colour a domain.

    Parameters
    ----------
    local_indices : (rows, local_dim), from `model.transform`; more than two components are drawn
        along the two directions in which all rows vary most
    sample_domain : a domain name per row
    domains : which to draw; all where None
    ax : axes of Matplotlib to draw on; new ones where None

    Examples
    --------
    >>> from domindex.reporting import plot_local_indices
    >>> axes = plot_local_indices([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]], ["a", "a", "b"])
    >>> [text.get_text() for text in axes.get_legend().get_texts()]
    ['a', 'b']
    """
    rows = check_inputs(local_indices, "local_indices")
    names = check_domain_names(sample_domain, len(rows))
    groups = dict(group_rows(names, len(rows)))
    chosen = list(groups) if domains is None else list(domains)
    unknown = [name for name in chosen if name not in groups]
    if unknown:
        raise InputError(
            f"domains names {preview(unknown)}, but sample_domain holds {preview(groups)}. "
            "Spell each domain as in sample_domain."
        )
    axes = new_axes(ax)
    points = _widest_plane(rows.reshape(len(rows), -1).astype(np.float64))
    for name, color in zip(chosen, _colors(len(chosen))):
        axes.scatter(*points[groups[name]].T, s=12, alpha=0.7, color=color, label=short_name(name))
    axes.set(xlabel="local index, first axis", ylabel="local index, second axis")
    axes.set_aspect("equal", adjustable="datalim")
    legend = axes.legend(
        title="domain", loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize=7
    )
    for text in legend.get_texts():
        text.set_parse_math(False)
    return axes


def _widest_plane(rows: Floats) -> Floats:
    centred = rows - rows.mean(axis=0)
    directions = np.linalg.svd(centred, full_matrices=False)[2][:2]
    projected = centred @ directions.T
    return np.pad(projected, ((0, 0), (0, 2 - projected.shape[1])))


def _colors(number: int) -> list[Any]:
    """Colours to tell apart for a few domains, a scale for many."""
    if number <= len(PALETTE):
        return list(PALETTE[:number])
    from matplotlib import colormaps

    return list(colormaps["viridis"](np.linspace(0.0, 1.0, number)))

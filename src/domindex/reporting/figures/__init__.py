"""Figures. Each takes an optional Axes and returns it; none shows or saves."""

from domindex.reporting.figures.graphs import plot_domain_graph
from domindex.reporting.figures.history import plot_history
from domindex.reporting.figures.local_indices import plot_local_indices
from domindex.reporting.figures.maps import plot_domain_map
from domindex.reporting.figures.montage import plot_montage
from domindex.reporting.figures.quality import (
    plot_calibration,
    plot_differences,
    plot_forecast,
    plot_importance,
)
from domindex.reporting.figures.scores import plot_scores_by_distance, plot_scores_by_domain
from domindex.reporting.figures.truth import plot_index_against_truth, plot_map_on_positions

__all__ = [
    "plot_calibration",
    "plot_differences",
    "plot_domain_graph",
    "plot_domain_map",
    "plot_forecast",
    "plot_history",
    "plot_importance",
    "plot_index_against_truth",
    "plot_local_indices",
    "plot_map_on_positions",
    "plot_montage",
    "plot_scores_by_distance",
    "plot_scores_by_domain",
]

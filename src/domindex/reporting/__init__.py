"""Figures of maps and fits."""

from domindex.reporting.figures import (
    plot_domain_graph,
    plot_domain_map,
    plot_history,
    plot_index_against_truth,
    plot_local_indices,
    plot_map_on_positions,
    plot_scores_by_distance,
    plot_scores_by_domain,
)

__all__ = [
    "plot_domain_graph",
    "plot_domain_map",
    "plot_history",
    "plot_index_against_truth",
    "plot_local_indices",
    "plot_map_on_positions",
    "plot_scores_by_distance",
    "plot_scores_by_domain",
]

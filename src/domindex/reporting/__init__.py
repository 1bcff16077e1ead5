"""Figures of maps and fits, and reports of one file."""

from domindex.reporting.audit import audit_summary
from domindex.reporting.building import report_data
from domindex.reporting.map_figures import (
    plot_domain_graph,
    plot_domain_map,
    plot_index_against_truth,
    plot_local_indices,
    plot_map_on_positions,
    plot_montage,
)
from domindex.reporting.paper_figures import paper_figures
from domindex.reporting.quality_figures import (
    plot_calibration,
    plot_differences,
    plot_forecast,
    plot_history,
    plot_importance,
    plot_scores_by_distance,
    plot_scores_by_domain,
)
from domindex.reporting.report import render_report, write_report, write_run_report
from domindex.reporting.report_data import ReportData

__all__ = [
    "ReportData",
    "audit_summary",
    "paper_figures",
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
    "render_report",
    "report_data",
    "write_report",
    "write_run_report",
]

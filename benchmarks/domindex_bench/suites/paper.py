"""Every method on every dataset, beside the figures that the paper printed."""

from __future__ import annotations

from domindex_bench.figures import forecast_figures, map_figures, prediction_figures
from domindex_bench.methods import METHODS
from domindex_bench.paper_tables import paper_document
from domindex_bench.suite import Suite
from domindex_bench.suites.datasets import TITLES, library_datasets

SUITE = Suite(
    name="paper",
    title="Every method on every dataset",
    about=(
        "*paper* is the published figure, *difference* ours minus it. A method without chance "
        "has a single figure."
    ),
    datasets=library_datasets(*TITLES),
    methods=METHODS,
    seeds=3,
    figures=(prediction_figures, map_figures, forecast_figures),
    headline={"classification": "accuracy", "regression": "error"},
    render=paper_document,
)

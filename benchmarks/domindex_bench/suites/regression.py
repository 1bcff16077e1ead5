"""Families that ask something else of a regressor each, drawn anew with every seed."""

from __future__ import annotations

from functools import partial

from domindex_bench.figures import (
    chosen_figures,
    coverage_figures,
    explained_figures,
    map_figures,
)
from domindex_bench.methods import some_methods
from domindex_bench.suite import Suite, SuiteDataset
from domindex_bench.suites.datasets import slug
from domindex_bench.suites.regression_families import FAMILIES, family
from domindex_bench.summary import Summary
from domindex_bench.tables import by_dataset, by_figure

OURS = "vdi"


def _document(summary: Summary) -> str:
    ours = summary.of_methods([OURS])
    parts = [
        "## R² over all target rows",
        by_dataset(summary, "r2"),
        "## Intervals and choices of VDI",
        by_figure(ours, {"coverage": "coverage of 90 % intervals"}, words=["chosen"]),
    ]
    return "\n\n".join(parts)


SUITE = Suite(
    name="regression",
    title="Families for a regressor",
    about=(
        "Families written after the library's constants were found; its rule for domain levels "
        "and its flexible rule came from looking at them. Domains along a line, the first third "
        "of them sources; every seed draws rows and slopes anew. In `changing rule` the rule from "
        "x to y itself changes: no method without target labels can follow."
    ),
    datasets={
        slug(title): SuiteDataset(title, "regression", partial(family, title), redraws=True)
        for title in FAMILIES
    },
    methods=some_methods(OURS, "ridge", "forest", "knn", "boosting"),
    seeds=3,
    figures=(explained_figures, coverage_figures, map_figures, chosen_figures),
    headline={"regression": "r2"},
    render=_document,
)

"""How often 90 % intervals hold the outputs of a source that was left out of everything."""

from __future__ import annotations

import numpy as np

from domindex.datasets.paper import SOURCE_STATES
from domindex_bench.figures import chosen_figures, coverage_figures
from domindex_bench.methods import some_methods
from domindex_bench.suite import Suite, SuiteDataset
from domindex_bench.suites.datasets import TITLES, library_dataset, slug
from domindex_bench.summary import Summary
from domindex_bench.tables import by_figure, markdown

METHOD = "vdi"


def _datasets() -> dict[str, SuiteDataset]:
    return {
        slug(f"{name} without {state}"): library_dataset(
            name, title=f"{TITLES[name][0]}, without {state}", held_out=state
        )
        for name, states in SOURCE_STATES.items()
        for state in states.split()
    }


def _document(summary: Summary) -> str:
    parts = [
        "## Over all sources, each left out once",
        _overall(summary),
        "## Each source",
        by_figure(summary, {"coverage": "coverage"}, words=["chosen"]),
    ]
    return "\n\n".join(parts)


def _overall(summary: Summary) -> str:
    shares: dict[str, list[float]] = {}
    for name in summary.datasets:
        spread = summary.spread(name, METHOD, "coverage")
        if spread is not None:
            whole = summary.suite.title_of(name).rpartition(", without")[0]
            shares.setdefault(whole, []).append(spread.mean)
    rows = [
        [title, f"{np.mean(found):.3f}", f"{min(found):.3f}", f"{max(found):.3f}"]
        for title, found in shares.items()
    ]
    return markdown(["", "coverage", "least", "most"], rows)


SUITE = Suite(
    name="coverage",
    title="Intervals in a domain never seen",
    about=(
        "A source of TPT-48 is left out of the fit altogether, inputs and labels, and then "
        "predicted as a new domain: the share of its values inside 90 % intervals."
    ),
    datasets=_datasets(),
    methods=some_methods(METHOD),
    seeds=1,
    figures=(coverage_figures, chosen_figures),
    headline={"regression": "coverage"},
    render=_document,
)

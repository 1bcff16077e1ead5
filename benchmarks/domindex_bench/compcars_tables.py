"""The suite `compcars` as Markdown: the paper's Table 3, then every method and its map."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from domindex_bench.methods import METHODS
from domindex_bench.published import PAPERS_METHODS, published
from domindex_bench.summary import Summary
from domindex_bench.tables import markdown

CONV = "conv"
"""What the names of methods end in that read pictures through a convolutional backbone."""

TABLE_3, PUBLISHED = ("compcars", "compcars-features"), "compcars"
COLUMNS = {
    "accuracy": "accuracy, %",
    "worst": "worst domain, %",
    "viewpoint_neighbours": "nearest of the same viewpoint, %",
    "viewpoint_silhouette": "silhouette of viewpoints",
    "index_year": "R² of the year",
    "fit_seconds": "fit, s",
}
MAP_NOTE = (
    "Of methods that draw a map: the share of domains whose nearest on it has the same viewpoint, "
    "the silhouette of the viewpoints there, and how well the year is read off it linearly."
)
MISSING_NOTE = "Nothing was measured: neither the photographs nor the authors' features were there."


def compcars_document(summary: Summary) -> str:
    """Table 3 with the paper's figures, then a table for every dataset."""
    parts = ["## Table 3: accuracy (%) on CompCars", *_table_3(summary)]
    for dataset in summary.datasets:
        parts += [f"## {summary.suite.title_of(dataset)}", _details(summary, dataset)]
    return "\n\n".join([*parts, MAP_NOTE])


def _table_3(summary: Summary) -> Iterator[str]:
    measured = [name for name in TABLE_3 if name in summary.datasets]
    if not measured:
        yield MISSING_NOTE
    titles = [METHODS[name].title for name in PAPERS_METHODS]
    rows = [row for name in measured for row in _measured(summary, name)]
    printed = [_printed(method) for method in PAPERS_METHODS]
    paper = ["The paper", "", *(f"{value:.1f}" for value in printed)]
    yield markdown(["", "", *titles], [*rows, paper])


def _measured(summary: Summary, dataset: str) -> Iterator[Sequence[str]]:
    """What was measured, and the difference to what the paper printed."""
    texts, differences = [], []
    for method in PAPERS_METHODS:
        name = _with_figure(summary, dataset, method)
        spread = summary.spread(dataset, name, "accuracy")
        texts.append(summary.text(dataset, name, "accuracy"))
        differences.append("" if spread is None else f"{spread.mean - _printed(method):+.1f}")
    yield [summary.suite.title_of(dataset), "measured", *texts]
    yield ["", "difference", *differences]


def _with_figure(summary: Summary, dataset: str, method: str) -> str:
    """The method itself, or the one with a backbone where that is what ran."""
    other = f"{method}-{CONV}"
    return other if summary.spread(dataset, other, "accuracy") else method


def _printed(method: str) -> float:
    known = published(PUBLISHED, method, "accuracy")
    assert known is not None
    return known.value


def _details(summary: Summary, dataset: str) -> str:
    rows = [
        [
            summary.suite.method_title(method),
            f"`{method}`",
            *(summary.text(dataset, method, figure) for figure in COLUMNS),
        ]
        for method in summary.methods
        if summary.spread(dataset, method, "accuracy") is not None
    ]
    return markdown(["method", "name", *COLUMNS.values()], rows)

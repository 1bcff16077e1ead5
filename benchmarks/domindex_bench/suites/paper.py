"""Every method on every dataset, beside the figures that the paper printed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from domindex_bench.figures import (
    LABELS,
    LOWER_IS_BETTER,
    forecast_figures,
    map_figures,
    prediction_figures,
)
from domindex_bench.methods import METHODS, PAPERS_COLUMNS
from domindex_bench.suite import TITLES, Suite, library_datasets
from domindex_bench.tables import Summary, markdown

TABLE_2_ROWS = {
    "tpt-48-w-e": ("4 Level-1", "6 Level-2", "32 Level-3", "all 42"),
    "tpt-48-n-s": ("10 Level-1", "6 Level-2", "8 Level-3", "all 24"),
}
TABLE_2_FIGURES = ("error_level_1", "error_level_2", "error_level_3", "error")
PAPERS_TITLES = [METHODS[name].title for name in PAPERS_COLUMNS]


def paper_document(summary: Summary) -> str:
    """The paper's tables, then every method in detail."""
    parts = [*_papers_tables(summary), "## Every method", headline_table(summary, short=False)]
    parts.append(
        "Fit time is wall-clock, one thread. Peak memory is the most that the cell's own process "
        "ever held, imports and data included; in brackets the part above what it held before the "
        "fit."
    )
    for dataset in summary.datasets:
        parts += [f"### {summary.suite.title_of(dataset)}", _details(summary, dataset)]
    return "\n\n".join(parts)


def headline_table(summary: Summary, *, short: bool = True) -> str:
    """A row per method, a column per dataset, the paper's figure in brackets.

    `short` leaves out variants, and adds the best of all plain methods, chosen in hindsight.
    """
    suite, datasets = summary.suite, summary.datasets
    variants = {name for name, method in suite.methods.items() if method.variant}
    rows = [
        [suite.method_title(method), *(_beside(summary, name, method) for name in datasets)]
        for method in summary.methods
        if not (short and method in variants)
    ]
    best = [summary.best_plain(dataset) for dataset in datasets]
    if short and set(best) != {"–"}:
        rows.append(["best plain method, chosen in hindsight", *best])
    heads = [f"{suite.title_of(name)}, {LABELS[summary.headline(name)]}" for name in datasets]
    return markdown(["", *heads], rows)


def _papers_tables(summary: Summary) -> Iterator[str]:
    """Headings, remarks and tables; Table 3 is the suite `compcars`."""
    synthetic = [name for name in ("circle", "dg-15", "dg-60") if name in summary.datasets]
    states = [name for name in TABLE_2_ROWS if name in summary.datasets]
    if synthetic:
        yield "## Table 1: accuracy (%) on Circle, DG-15 and DG-60"
        yield _accuracies(summary, synthetic)
    if states:
        yield "## Table 2: error on TPT-48"
        yield (
            "Squared errors on the standardised scale, summed over six months, averaged over a "
            "domain's years, then over domains. Lower is better."
        )
        yield _errors(summary, states)


def _accuracies(summary: Summary, datasets: Sequence[str]) -> str:
    rows = []
    for dataset in datasets:
        for kind, *values in _three_rows(summary, dataset, "accuracy"):
            title = summary.suite.title_of(dataset) if kind == "measured" else ""
            rows.append([title, kind, *values])
    return markdown(["Dataset", "", *PAPERS_TITLES], rows)


def _errors(summary: Summary, datasets: Sequence[str]) -> str:
    rows = []
    for dataset in datasets:
        title = summary.suite.title_of(dataset)
        for figure, label in zip(TABLE_2_FIGURES, TABLE_2_ROWS[dataset], strict=True):
            for kind, *values in _three_rows(summary, dataset, figure):
                first = kind == "measured"
                task = title if first and figure == TABLE_2_FIGURES[0] else ""
                domain = f"Average of {label} domains" if first else ""
                rows.append([task, domain, kind, *values])
    return markdown(["Task", "Domain", "", *PAPERS_TITLES], rows)


def _three_rows(summary: Summary, dataset: str, figure: str) -> list[list[str]]:
    """What was measured, what the paper printed, and the difference, for the paper's methods."""
    digits = 1 if figure == "accuracy" else 3
    measured, printed, differences = ["measured"], ["paper"], ["difference"]
    for method in PAPERS_COLUMNS:
        known = summary.paper_figure(dataset, method, figure)
        spread = summary.spread(dataset, method, figure)
        measured.append(summary.text(dataset, method, figure))
        printed.append(f"{known.value:.{digits}f}" if known else "–")
        differences.append(spread.difference(known.value) if spread and known else "")
    return [measured, printed, differences]


def _details(summary: Summary, dataset: str) -> str:
    headline = summary.headline(dataset)
    rows = []
    for method in summary.methods:
        spread = summary.spread(dataset, method, headline)
        if spread is None:
            continue
        known = summary.paper_figure(dataset, method, headline)
        rows.append(
            [
                summary.suite.method_title(method),
                f"`{method}`",
                str(spread),
                f"{known.value} ({known.source})" if known else "",
                spread.difference(known.value) if known else "",
                _worst_domain(summary, dataset, method),
                _map_figures(summary, dataset, method),
                summary.text(dataset, method, "fit_seconds"),
                f"{summary.text(dataset, method, 'peak_mb')}"
                f" ({summary.text(dataset, method, 'fit_mb')})",
            ]
        )
    heads = ["method", "name", LABELS[headline], "paper", "difference", "worst target domain"]
    return markdown([*heads, "map", "fit, s", "peak memory, MB"], rows)


def _map_figures(summary: Summary, dataset: str, method: str) -> str:
    parts = []
    names = [name for row in summary.results(dataset, method) for name in row.figures]
    for figure in dict.fromkeys(name for name in names if name.startswith("index_")):
        known = summary.paper_figure(dataset, method, figure)
        printed = f" (paper {known.value}, {known.source})" if known else ""
        label = figure.removeprefix("index_").replace("auc", "AUC")
        parts.append(f"{label} {summary.text(dataset, method, figure)}{printed}")
    return ", ".join(parts)


def _beside(summary: Summary, dataset: str, method: str) -> str:
    figure = summary.headline(dataset)
    known = summary.paper_figure(dataset, method, figure)
    text = summary.text(dataset, method, figure)
    return f"{text} ({known.value})" if known else text


def _worst_domain(summary: Summary, dataset: str, method: str) -> str:
    """The domain that fares worst over all seeds, and how."""
    rows = [row for row in summary.results(dataset, method) if "worst" in row.figures]
    if not rows:
        return "–"
    pick, digits = (max, 3) if summary.headline(dataset) in LOWER_IS_BETTER else (min, 1)
    worst = pick(rows, key=lambda row: row.figures["worst"]).figures
    return f"{worst['worst']:.{digits}f} ({worst['worst_domain']})"


SUITE = Suite(
    name="paper",
    title="Every method on every dataset",
    about=(
        "*paper* is the published figure, *difference* ours minus it. Beside CrossDomain, the "
        "default model, stand the paper's figures of VDI. A method without chance "
        "has a single figure."
    ),
    datasets=library_datasets(*TITLES),
    methods=METHODS,
    seeds=3,
    figures=(prediction_figures, map_figures, forecast_figures),
    headline={"classification": "accuracy", "regression": "error"},
    render=paper_document,
)

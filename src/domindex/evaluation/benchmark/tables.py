"""Results as Markdown, shaped like the paper's tables, its figures and the difference beside."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from domindex.evaluation.benchmark.cells import CellResult
from domindex.evaluation.benchmark.methods import METHODS
from domindex.evaluation.benchmark.published import PAPERS_METHODS, published
from domindex.evaluation.benchmark.summary import Spread, Summary, paper_figure

DATASET_TITLES = {
    "circle": "Circle",
    "dg-15": "DG-15",
    "dg-60": "DG-60",
    "tpt-48-w-e": "TPT-48, W (6) → E (42)",
    "tpt-48-n-s": "TPT-48, N (24) → S (24)",
    "compcars": "CompCars",
    "rotating-digits": "Rotating digits",
}
TABLE_2_ROWS = {
    "tpt-48-w-e": ("4 Level-1", "6 Level-2", "32 Level-3", "all 42"),
    "tpt-48-n-s": ("10 Level-1", "6 Level-2", "8 Level-3", "all 24"),
}
TABLE_2_FIGURES = ("error_level_1", "error_level_2", "error_level_3", "error")
PAPERS_TITLES = [METHODS[name].title for name in PAPERS_METHODS]

NOTE = (
    "Mean ± deviation over seeds, a single figure where a method knows no chance. "
    "*paper* is the published figure, *difference* ours minus it. "
    "Target labels were used for scoring only."
)
ERROR_NOTE = (
    "Squared errors on the standardised scale, summed over six months, averaged over a domain's "
    "years, then over domains. Lower is better."
)
COMPCARS_NOTE = "CompCars is given out by its authors on request, and is not measured here."
MEMORY_NOTE = (
    "Fit time is wall-clock, one thread. Peak memory is the most that the cell's own process ever "
    "held, imports and data included; in brackets the part above what it held before the fit."
)


def render_tables(results: Iterable[CellResult], *, complete: bool = False) -> str:
    """The whole document: the paper's tables, then every method in detail.

    `complete` keeps rows of the paper's tables for which nothing was measured.
    """
    results = list(results)
    summary = Summary(results)
    parts = ["# Benchmark", NOTE, *_papers_tables(summary, complete)]
    parts += ["## Every method", headline_table(results, short=False), MEMORY_NOTE]
    for dataset in summary.datasets:
        parts += [f"### {DATASET_TITLES.get(dataset, dataset)}", _details(summary, dataset)]
    if summary.failures():
        parts += ["## Failed cells", _failures(summary)]
    return "\n\n".join(parts) + "\n"


def headline_table(results: Iterable[CellResult], *, short: bool = True) -> str:
    """A row per method, a column per dataset, the paper's figure in brackets.

    `short` leaves out variants, and adds the best of all plain methods that use nothing of this
    library, chosen in hindsight: a bar that no honest choice among them could pass.
    """
    summary = Summary(results)
    datasets = summary.datasets
    rows = []
    for method in summary.methods:
        if short and METHODS[method].variant:
            continue
        rows.append([METHODS[method].title, *(_beside(summary, d, method) for d in datasets)])
    if short and any(METHODS[name].group == "plain" for name in summary.methods):
        best = [_best_plain(summary, dataset) for dataset in datasets]
        rows.append(["best plain method, chosen in hindsight", *best])
    labels = {"accuracy": "accuracy, %", "error": "error"}
    heads = [f"{DATASET_TITLES.get(d, d)}, {labels[summary.headline(d)]}" for d in datasets]
    return _markdown(["", *heads], rows)


def _papers_tables(summary: Summary, complete: bool) -> Iterator[str]:
    """Headings, remarks and tables; a dataset without results only where `complete`."""
    shown = set(DATASET_TITLES) if complete else set(summary.datasets)
    synthetic = [name for name in ("circle", "dg-15", "dg-60") if name in shown]
    states = [name for name in TABLE_2_ROWS if name in shown]
    if synthetic:
        yield "## Table 1: accuracy (%) on Circle, DG-15 and DG-60"
        yield _accuracies(summary, synthetic)
    if states:
        yield "## Table 2: error on TPT-48"
        yield ERROR_NOTE
        yield _errors(summary, states)
    if "compcars" in shown:
        yield "## Table 3: accuracy (%) on CompCars"
        if "compcars" not in summary.datasets:
            yield COMPCARS_NOTE
        yield _accuracies(summary, ["compcars"])


def _accuracies(summary: Summary, datasets: Sequence[str]) -> str:
    rows = []
    for dataset in datasets:
        for kind, *values in _three_rows(summary, dataset, "accuracy"):
            title = DATASET_TITLES[dataset] if kind == "measured" else ""
            rows.append([title, kind, *values])
    return _markdown(["Dataset", "", *PAPERS_TITLES], rows)


def _errors(summary: Summary, datasets: Sequence[str]) -> str:
    rows = []
    for dataset in datasets:
        for figure, label in zip(TABLE_2_FIGURES, TABLE_2_ROWS[dataset], strict=True):
            for kind, *values in _three_rows(summary, dataset, figure):
                first = kind == "measured"
                task = DATASET_TITLES[dataset] if first and figure == TABLE_2_FIGURES[0] else ""
                domain = f"Average of {label} domains" if first else ""
                rows.append([task, domain, kind, *values])
    return _markdown(["Task", "Domain", "", *PAPERS_TITLES], rows)


def _three_rows(summary: Summary, dataset: str, figure: str) -> list[list[str]]:
    """What was measured, what the paper printed, and the difference, for the paper's methods."""
    digits = 1 if figure == "accuracy" else 3
    measured, printed, differences = ["measured"], ["paper"], ["difference"]
    for method in PAPERS_METHODS:
        known = published(dataset, method, figure)
        spread = summary.spread(dataset, method, figure)
        measured.append(summary.text(dataset, method, figure))
        printed.append(f"{known.value:.{digits}f}" if known else "–")
        differences.append(_difference(spread, known.value) if spread and known else "")
    return [measured, printed, differences]


def _details(summary: Summary, dataset: str) -> str:
    headline = summary.headline(dataset)
    rows = []
    for method in summary.methods:
        spread = summary.spread(dataset, method, headline)
        if spread is None:
            continue
        known = paper_figure(dataset, method, headline)
        rows.append(
            [
                METHODS[method].title,
                f"`{method}`",
                str(spread),
                f"{known.value} ({known.source})" if known else "",
                _difference(spread, known.value) if known else "",
                summary.worst_domain(dataset, method),
                _map_figures(summary, dataset, method),
                summary.text(dataset, method, "fit_seconds"),
                f"{summary.text(dataset, method, 'peak_mb')}"
                f" ({summary.text(dataset, method, 'fit_mb')})",
            ]
        )
    figure = "accuracy, %" if headline == "accuracy" else "error"
    heads = ["method", "name", figure, "paper", "difference", "worst target domain", "map"]
    return _markdown([*heads, "fit, s", "peak memory, MB"], rows)


def _map_figures(summary: Summary, dataset: str, method: str) -> str:
    parts = []
    for figure in summary.index_figures(dataset, method):
        known = paper_figure(dataset, method, figure)
        printed = f" (paper {known.value}, {known.source})" if known else ""
        label = figure.removeprefix("index_").replace("auc", "AUC")
        parts.append(f"{label} {summary.text(dataset, method, figure)}{printed}")
    return ", ".join(parts)


def _beside(summary: Summary, dataset: str, method: str) -> str:
    figure = summary.headline(dataset)
    known = paper_figure(dataset, method, figure)
    text = summary.text(dataset, method, figure)
    return f"{text} ({known.value})" if known else text


def _best_plain(summary: Summary, dataset: str) -> str:
    figure = summary.headline(dataset)
    sign = 1.0 if figure == "accuracy" else -1.0
    spreads = {
        name: spread
        for name in summary.methods
        if METHODS[name].group == "plain" and (spread := summary.spread(dataset, name, figure))
    }
    if not spreads:
        return "–"
    best = max(spreads, key=lambda name: sign * spreads[name].mean)
    return f"{spreads[best]} (`{best}`)"


def _difference(spread: Spread, printed: float) -> str:
    return f"{spread.mean - printed:+.{spread.digits}f}"


def _failures(summary: Summary) -> str:
    return "\n".join(f"- {result.cell}: {result.note}" for result in summary.failures())


def _markdown(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)

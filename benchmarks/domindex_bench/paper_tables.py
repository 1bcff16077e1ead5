"""The suite `paper` as Markdown: the paper's tables, its figures and the difference beside."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from domindex_bench.figures import LABELS, LOWER_IS_BETTER
from domindex_bench.methods import METHODS
from domindex_bench.published import PAPERS_METHODS, published
from domindex_bench.summary import Spread, Summary
from domindex_bench.tables import markdown

COMPCARS, COMPCARS_TITLE = "compcars", "CompCars"
TABLE_2_ROWS = {
    "tpt-48-w-e": ("4 Level-1", "6 Level-2", "32 Level-3", "all 42"),
    "tpt-48-n-s": ("10 Level-1", "6 Level-2", "8 Level-3", "all 24"),
}
TABLE_2_FIGURES = ("error_level_1", "error_level_2", "error_level_3", "error")
PAPERS_TITLES = [METHODS[name].title for name in PAPERS_METHODS]

ERROR_NOTE = (
    "Squared errors on the standardised scale, summed over six months, averaged over a domain's "
    "years, then over domains. Lower is better."
)
COMPCARS_NOTE = (
    "CompCars is given out by its authors on request, and is not measured here; where it, or the "
    "features of it that the paper's authors published, can be had, "
    "`domindex-bench run --suite compcars` fills this table."
)
MEMORY_NOTE = (
    "Fit time is wall-clock, one thread. Peak memory is the most that the cell's own process ever "
    "held, imports and data included; in brackets the part above what it held before the fit."
)


def paper_document(summary: Summary) -> str:
    """The paper's tables, then every method in detail."""
    parts = [*_papers_tables(summary)]
    parts += ["## Every method", headline_table(summary, short=False), MEMORY_NOTE]
    for dataset in summary.datasets:
        parts += [f"### {summary.suite.title_of(dataset)}", _details(summary, dataset)]
    return "\n\n".join(parts)


def headline_table(summary: Summary, *, short: bool = True) -> str:
    """A row per method, a column per dataset, the paper's figure in brackets.

    `short` leaves out variants, and adds the best of all plain methods that use nothing of this
    library, chosen in hindsight: a bar that no honest choice among them could pass.
    """
    suite, datasets = summary.suite, summary.datasets
    variants = {name for name, method in suite.methods.items() if method.variant}
    rows = [
        [suite.method_title(method), *(_beside(summary, name, method) for name in datasets)]
        for method in summary.methods
        if not (short and method in variants)
    ]
    if short and _plain_methods(summary):
        best = [_best_plain(summary, dataset) for dataset in datasets]
        rows.append(["best plain method, chosen in hindsight", *best])
    heads = [f"{suite.title_of(name)}, {LABELS[summary.headline(name)]}" for name in datasets]
    return markdown(["", *heads], rows)


def _papers_tables(summary: Summary) -> Iterator[str]:
    """Headings, remarks and tables; CompCars for reference, beside all that can be measured."""
    shown = set(summary.datasets)
    if shown >= set(summary.suite.datasets):
        shown.add(COMPCARS)
    synthetic = [name for name in ("circle", "dg-15", "dg-60") if name in shown]
    states = [name for name in TABLE_2_ROWS if name in shown]
    if synthetic:
        yield "## Table 1: accuracy (%) on Circle, DG-15 and DG-60"
        yield _accuracies(summary, synthetic)
    if states:
        yield "## Table 2: error on TPT-48"
        yield ERROR_NOTE
        yield _errors(summary, states)
    if COMPCARS in shown:
        yield "## Table 3: accuracy (%) on CompCars"
        yield COMPCARS_NOTE
        yield _accuracies(summary, [COMPCARS])


def _accuracies(summary: Summary, datasets: Sequence[str]) -> str:
    rows = []
    for dataset in datasets:
        for kind, *values in _three_rows(summary, dataset, "accuracy"):
            title = _title(summary, dataset) if kind == "measured" else ""
            rows.append([title, kind, *values])
    return markdown(["Dataset", "", *PAPERS_TITLES], rows)


def _title(summary: Summary, dataset: str) -> str:
    return COMPCARS_TITLE if dataset == COMPCARS else summary.suite.title_of(dataset)


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
        known = summary.paper_figure(dataset, method, headline)
        rows.append(
            [
                summary.suite.method_title(method),
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
    heads = ["method", "name", LABELS[headline], "paper", "difference", "worst target domain"]
    return markdown([*heads, "map", "fit, s", "peak memory, MB"], rows)


def _map_figures(summary: Summary, dataset: str, method: str) -> str:
    parts = []
    for figure in summary.index_figures(dataset, method):
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


def _plain_methods(summary: Summary) -> list[str]:
    methods = summary.suite.methods
    return [n for n in summary.methods if n in methods and methods[n].group == "plain"]


def _best_plain(summary: Summary, dataset: str) -> str:
    figure = summary.headline(dataset)
    sign = -1.0 if figure in LOWER_IS_BETTER else 1.0
    spreads = {
        name: spread
        for name in _plain_methods(summary)
        if (spread := summary.spread(dataset, name, figure))
    }
    if not spreads:
        return "–"
    best = max(spreads, key=lambda name: sign * spreads[name].mean)
    return f"{spreads[best]} (`{best}`)"


def _difference(spread: Spread, printed: float) -> str:
    return f"{spread.mean - printed:+.{spread.digits}f}"

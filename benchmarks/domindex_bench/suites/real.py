"""Twelve real datasets: what a user with a table of their own would meet."""

from __future__ import annotations

from functools import partial

from domindex.datasets import DomainDataset
from domindex.datasets.files import DataHome
from domindex_bench.data.real import REAL, load_real_dataset
from domindex_bench.figures import (
    domain_figures,
    forecast_figures,
    map_figures,
    probability_figures,
)
from domindex_bench.methods import PLAIN, skada_methods, some_methods
from domindex_bench.suite import Suite, SuiteDataset
from domindex_bench.tables import Summary, by_dataset, markdown

HEADLINES = {"classification": "domain_accuracy", "regression": "relative_error"}


def _load(name: str, data_home: DataHome, seed: int) -> DomainDataset:
    return load_real_dataset(name, data_home)


def beside_plain(summary: Summary) -> str:
    """A row per dataset: the default, plain linear, plain boosting, the best plain in hindsight."""
    rows = []
    for dataset in summary.datasets:
        figure = summary.headline(dataset)
        linear = "logistic" if figure == "domain_accuracy" else "ridge"
        texts = [
            summary.text(dataset, name, figure) for name in ("cross-domain", linear, "boosting")
        ]
        rows.append([summary.suite.title_of(dataset), *texts, summary.best_plain(dataset)])
    note = (
        "On real data, accuracy in % or squared error over the variance, means over target "
        "domains; the last column is the best of all plain methods, raw and with every domain "
        "standardised, chosen in hindsight:"
    )
    table = markdown(["", "CrossDomain", "plain linear", "plain boosting", "best plain"], rows)
    return f"{note}\n\n{table}"


def _document(summary: Summary) -> str:
    parts = []
    for task, heading in (
        ("classification", "Accuracy, %, mean over target domains"),
        ("regression", "Squared error over the variance of the targets, mean over domains"),
    ):
        names = [name for name in summary.datasets if REAL[name].task == task]
        if names:
            table = by_dataset(summary.of_datasets(names), HEADLINES[task])
            parts += [f"## {heading}", table]
    ours = summary.of_methods(["cross-domain"])
    extra = [
        ("Log-loss", "log_loss", "classification"),
        ("AUC, two classes", "auc", "classification"),
        ("Forecast: points of accuracy off, mean over targets", "forecast_off", "classification"),
        ("The mean of held-out domains instead", "forecast_mean_off", "classification"),
        ("Average thresholded confidence instead", "forecast_threshold_off", "classification"),
        ("Forecast: |log| of expected over true error", "forecast_off", "regression"),
        ("The mean of held-out domains instead", "forecast_mean_off", "regression"),
        ("Targets within the forecast's 80 % interval, %", "forecast_holds", None),
        ("Fit, s", "fit_seconds", None),
    ]
    for heading, figure, kind in extra:
        names = [name for name in ours.datasets if kind in (None, REAL[name].task)]
        if names:
            parts += [f"## {heading}", by_dataset(ours.of_datasets(names), figure)]
    return "\n\n".join(parts)


SUITE = Suite(
    name="real",
    title="Real data",
    about=(
        "Which domains are labelled was fixed before any result was seen. Plain models are fitted "
        "on all source rows, as they are and with every domain's features centred and scaled by "
        "themselves. CORAL and linear optimal transport are skada's, for classes, all sources "
        "together against all targets together; these need `domindex[skada]`. Some "
        "of the committee's constants were looked at with these scores in view, on these and on "
        "other choices of sources (docs/committee.md)."
    ),
    datasets={
        name: SuiteDataset(known.title, known.task, partial(_load, name), optional=True)
        for name, known in REAL.items()
    },
    methods={
        **some_methods("cross-domain", "ridge", "logistic", "svm", "forest", "knn", "boosting"),
        **{method.name: method for method in (m.on_standardised_domains() for m in PLAIN)},
        **skada_methods(),
    },
    seeds=3,
    figures=(domain_figures, probability_figures, map_figures, forecast_figures),
    headline=HEADLINES,
    render=_document,
)

"""Real datasets: what a user with a table of their own would meet."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from scipy.stats import rankdata

from domindex.datasets import DomainDataset
from domindex.datasets.files import DataHome
from domindex_bench.data.real import REAL, RealDataset, load_real_dataset
from domindex_bench.figures import (
    LOWER_IS_BETTER,
    domain_figures,
    forecast_figures,
    map_figures,
    probability_figures,
)
from domindex_bench.methods import BOOSTERS, PLAIN, Method, skada_methods, some_methods
from domindex_bench.suite import Suite, SuiteDataset
from domindex_bench.tables import Summary, by_dataset, markdown

TREES_AND_NEIGHBOURS = ("forest", "knn", "boosting", *BOOSTERS)
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


def mean_ranks(summary: Summary) -> str:
    """The mean rank of the default beside plain models as they are, on datasets that all ran on."""
    families = [
        ("ridge", "logistic"),
        *((name,) for name in ("svm", *TREES_AND_NEIGHBOURS)),
    ]
    names = [("cross-domain",), *families]
    rows, used = [], []
    for dataset in summary.datasets:
        figure = summary.headline(dataset)
        spreads = [
            next((s for one in name if (s := summary.spread(dataset, one, figure))), None)
            for name in names
        ]
        if sum(one is not None for one in spreads) < 2 or spreads[0] is None:
            continue  # nobody beside us was tried on pictures
        sign = 1.0 if figure in LOWER_IS_BETTER else -1.0
        used.append(dataset)
        rows.append([None if one is None else sign * one.mean for one in spreads])
    there = [k for k in range(len(names)) if all(row[k] is not None for row in rows)]
    if not rows or len(there) < 2:
        return ""
    ranks = rankdata([[row[k] for k in there] for row in rows], axis=1).mean(axis=0)
    titles = [" or ".join(summary.suite.method_title(one) for one in names[k]) for k in there]
    table = markdown(["", *titles], [["mean rank", *(f"{rank:.2f}" for rank in ranks)]])
    return f"Of methods that ran on all {len(used)} datasets, as they are:\n\n{table}"


def _document(summary: Summary) -> str:
    parts = [mean_ranks(summary)]
    for task, heading in (
        ("classification", "Accuracy, %, mean over target domains"),
        ("regression", "Squared error over the variance of the targets, mean over domains"),
    ):
        names = [name for name in summary.datasets if summary.suite.datasets[name].task == task]
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
        tasks = {name: summary.suite.datasets[name].task for name in ours.datasets}
        names = [name for name in ours.datasets if kind in (None, tasks[name])]
        if names:
            parts += [f"## {heading}", by_dataset(ours.of_datasets(names), figure)]
    return "\n\n".join(parts)


def real_suite(name: str, title: str, known: Mapping[str, RealDataset], **further: Method) -> Suite:
    """The default beside plain models on real datasets, and `further` methods."""
    return Suite(
        name=name,
        title=title,
        about=(
            "Which domains are labelled was fixed before any result was seen. Plain models are "
            "fitted on all source rows, as they are and with every domain's features centred and "
            "scaled by themselves. CORAL and linear optimal transport are skada's, for classes, "
            "all sources together against all targets together; these need `domindex[skada]`. Some "
            "of the committee's constants were looked at with these scores in view, on these and "
            "on other choices of sources (docs/committee.md)."
        ),
        datasets={
            one: SuiteDataset(dataset.title, dataset.task, partial(_load, one), optional=True)
            for one, dataset in known.items()
        },
        methods={
            **some_methods("cross-domain", "ridge", "logistic", "svm", "forest", "knn", "boosting"),
            **some_methods(*BOOSTERS),
            **{method.name: method for method in (m.on_standardised_domains() for m in PLAIN)},
            **further,
        },
        seeds=3,
        figures=(domain_figures, probability_figures, map_figures, forecast_figures),
        headline=HEADLINES,
        render=_document,
    )


SUITE = real_suite("real", "Real data", REAL, **skada_methods())

"""Generate a family of domains, map them, predict in those without labels, write what was found."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from domindex import CrossDomainClassifier
from domindex.baselines import PlainBaseline
from domindex.datasets import DomainDataset, make_domain_graph
from domindex.evaluation import graph_auc, index_correlation, scores_by_domain
from domindex.reporting import report_data, write_report

OUT = Path("out")

PLAIN = {
    "logistic": LogisticRegression(),
    "5-NN": KNeighborsClassifier(),
    "boosting": HistGradientBoostingClassifier(random_state=0),
}

Scores = dict[str, dict[Any, float]]


def main() -> None:
    console = Console()
    family = make_domain_graph(n_domains=24, random_state=0)
    console.print(
        f"{len(family.domains)} domains, {len(family.X)} rows, labels in "
        f"{len(family.source_domains)} domains. No domain's position is given."
    )
    model = CrossDomainClassifier(random_state=0, verbose=1)
    start = time.perf_counter()
    fit(model, family)
    seconds = time.perf_counter() - start
    predicted = model.predict(family.X, sample_domain=family.sample_domain)

    scores = all_scores(family, predicted)
    console.print(score_table(model, family, scores))
    console.print(summary(model, family, scores, seconds))

    console.print("Writing the report, with an audit of the index …")
    content = report_data(
        model,
        family.X,
        family.y,
        family.sample_domain,
        title="Demo: domains that turn along a spiral",
        columns={
            "true angle (not given)": family.true_index[family.sample_domain, 0],
            "accuracy (labels not given)": predicted == family.y,
        },
        seconds=seconds,
    )
    console.print(f"Report: {write_report(content, OUT / 'report.html')}", soft_wrap=True)


def fit(model: Any, family: DomainDataset) -> Any:
    return model.fit(
        family.X,
        family.y,
        sample_domain=family.sample_domain,
        source_domains=family.source_domains,
    )


def all_scores(family: DomainDataset, predicted: Any) -> Scores:
    """Accuracy by method and domain: this model's, and those of plain models on the sources."""
    rows = family.sample_domain
    scores = {"domindex": scores_by_domain(family.y, predicted, rows)}
    for name, estimator in PLAIN.items():
        plain = fit(PlainBaseline(estimator), family).predict(family.X, sample_domain=rows)
        scores[name] = scores_by_domain(family.y, plain, rows)
    return scores


def score_table(model: CrossDomainClassifier, family: DomainDataset, scores: Scores) -> Table:
    table = Table(title="Accuracy by domain, in the order of the map's first axis")
    for heading in ("domain", "kind", "index", "angle", *scores):
        table.add_column(heading, justify="right")
    for number in np.argsort(model.domain_indices_[:, 0]):
        name = model.domains_[number]
        table.add_row(
            str(name),
            "source" if name in family.source_domains else "target",
            f"{model.domain_indices_[number, 0]:+.2f}",
            f"{family.true_index[number, 0]:.2f}",
            *(f"{by_domain[name]:.1%}" for by_domain in scores.values()),
        )
    table.add_section()
    means = (
        np.mean([by_domain[n] for n in family.target_domains]) for by_domain in scores.values()
    )
    table.add_row("mean", "target", "", "", *(f"{mean:.1%}" for mean in means), style="bold")
    return table


def summary(
    model: CrossDomainClassifier, family: DomainDataset, scores: Scores, seconds: float
) -> str:
    target = np.mean([scores["domindex"][name] for name in family.target_domains])
    return (
        f"Fitted in {seconds:.0f} s. Target accuracy {target:.1%}. Map against the true angles: "
        f"|r| = {index_correlation(model.domain_indices_, family.true_index):.3f}; "
        f"against the true graph: AUC = {graph_auc(model.domain_index_, family.graph):.3f}."
    )


if __name__ == "__main__":
    main()

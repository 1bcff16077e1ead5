"""Generate a family of domains, map them, predict in those without labels, write what was found."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.linear_model import LogisticRegression

from domindex import VDIClassifier
from domindex.datasets import DomainDataset, make_domain_graph
from domindex.evaluation import graph_auc, index_correlation
from domindex.reporting import plot_domain_map

OUT = Path("out")


def main() -> None:
    console = Console()
    family = make_domain_graph(n_domains=24, random_state=0)
    console.print(
        f"{len(family.domains)} domains, {len(family.X)} rows, labels in "
        f"{len(family.source_domains)} domains. No domain's position is given."
    )
    start = time.perf_counter()
    model = VDIClassifier(random_state=0, verbose=1).fit(
        family.X,
        family.y,
        sample_domain=family.sample_domain,
        source_domains=family.source_domains,
    )
    seconds = time.perf_counter() - start

    scores = per_domain_scores(model, family)
    console.print(score_table(model, family, scores))
    summary = summarise(model, family, scores, seconds)
    console.print(summary)

    OUT.mkdir(exist_ok=True)
    axes = plot_domain_map(
        model.domain_index_,
        std=model.domain_index_std_,
        color=family.true_index,
        color_label="true angle (not given)",
        source_domains=family.source_domains,
        graph=model.domain_graph(quantile=0.1),
    )
    axes.figure.savefig(OUT / "map.png", dpi=150)
    report = OUT / "report.md"
    report.write_text(f"# Demo\n\n{summary}\n\n{markdown(scores)}\n\n![map](map.png)\n")
    console.print(f"Report: {report}, picture: {OUT / 'map.png'}")


def per_domain_scores(model: VDIClassifier, family: DomainDataset) -> dict[int, float]:
    predicted = model.predict(family.X, sample_domain=family.sample_domain)
    right = predicted == family.y
    return {name: float(right[family.sample_domain == name].mean()) for name in family.domains}


def score_table(model: VDIClassifier, family: DomainDataset, scores: dict[int, float]) -> Table:
    table = Table(title="Accuracy by domain, in the order of the map's first axis")
    for heading in ("domain", "kind", "index", "true angle", "accuracy"):
        table.add_column(heading, justify="right")
    for number in np.argsort(model.domain_indices_[:, 0]):
        name = model.domains_[number]
        x, y = model.domain_indices_[number]
        table.add_row(
            str(name),
            "source" if name in family.source_domains else "target",
            f"({x:+.2f}, {y:+.2f})",
            f"{family.true_index[number, 0]:.2f}",
            f"{scores[name]:.1%}",
        )
    return table


def summarise(
    model: VDIClassifier, family: DomainDataset, scores: dict[int, float], seconds: float
) -> str:
    sources = family.is_source
    plain = LogisticRegression().fit(family.X[sources], family.y[sources])
    target = np.mean([scores[name] for name in family.target_domains])
    return (
        f"Fitted in {seconds:.0f} s. Target accuracy {target:.1%}; a plain logistic regression on "
        f"the sources gets {plain.score(family.X[~sources], family.y[~sources]):.1%}. "
        f"Map against the true angles: |r| = "
        f"{index_correlation(model.domain_indices_, family.true_index):.3f}; "
        f"against the true graph: AUC = {graph_auc(model.domain_index_, family.graph):.3f}."
    )


def markdown(scores: dict[int, float]) -> str:
    lines = ["| domain | accuracy |", "|---|---|"]
    return "\n".join(lines + [f"| {name} | {score:.1%} |" for name, score in scores.items()])


if __name__ == "__main__":
    main()

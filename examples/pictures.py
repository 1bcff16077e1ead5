"""Draw the pictures of the documentation: docs/pictures/*.png."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from domindex import CrossDomainClassifier
from domindex.datasets import DomainDataset, make_domain_graph
from domindex.reporting import plot_domain_map

PICTURES = Path(__file__).parents[1] / "docs" / "pictures"
COLORS = np.array(["#0072B2", "#D55E00"])


def scatter(ax: Axes, points: np.ndarray, data: DomainDataset, title: str) -> None:
    """Sources by class, targets grey: what training knows."""
    source = data.is_source
    ax.scatter(*points[~source, :2].T, s=5, color="0.75", label="no labels")
    for label in (0, 1):
        of_class = source & (data.y == label)
        ax.scatter(*points[of_class, :2].T, s=8, color=COLORS[label], label=f"class {label}")
    ax.set_title(title)
    ax.set_aspect("equal", adjustable="datalim")
    ax.set_xticks([])
    ax.set_yticks([])


def main() -> None:
    PICTURES.mkdir(exist_ok=True)
    data = make_domain_graph(n_domains=30, n_sources=6, random_state=0)
    model = CrossDomainClassifier(random_state=0).fit(
        data.X, data.y, sample_domain=data.sample_domain, source_domains=data.source_domains
    )
    encoded = model.encode(data.X, sample_domain=data.sample_domain)
    figure, axes = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained")
    scatter(axes[0], data.X, data, "1. Rows of 30 domains, 6 with labels")
    axes[0].legend(loc="lower left", fontsize=7, frameon=False)
    plot_domain_map(
        model.domain_index_,
        std=model.domain_index_std_,
        color=data.true_index[:, 0],
        source_domains=data.source_domains,
        ax=axes[1],
    )
    axes[1].set_title("2. The map of the domains")
    scatter(axes[2], encoded, data, "3. All rows, aligned in one place")
    figure.savefig(PICTURES / "idea.png", dpi=110)


if __name__ == "__main__":
    main()

"""Graph-relational adaptation, for domains whose graph is known."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from domindex.arrays import Floats
from domindex.baselines.base import KnownDomains, Study
from domindex.baselines.networks import Adaptation, PlainModule
from domindex.errors import InputError
from domindex.inputs import DomainData
from domindex.inputs.messages import preview
from domindex.neural.settings import Training


class GRDA(KnownDomains):
    """Hide from z where its domain lies in a given graph (Xu et al., 2022).

    The encoder sees x and an embedding of its domain's node; the adversary embeds z such that
    inner products tell which domains are joined, and the encoder prevents it. A complete graph
    would be `DANN`, a chain is close to `CIDA`. Nodes are embedded by the leading modes of the
    graph's Laplacian.

    `domain_graph` is a `networkx.Graph` with the names of the domains as nodes, for example that of
    a fitted model, `domain_graph(quantile=0.2)`. The other parameters are those of
    `AdaptingBaseline`.

    Examples
    --------
    >>> from domindex.baselines import GRDA
    >>> model = GRDA(data.graph, training=Training(steps=5), random_state=0)
    >>> model.fit(data.X, data.y, **rows, source_domains=[0, 1, 2]).classes_
    array([0, 1])
    """

    _default_weight = 2.0

    def __init__(
        self,
        domain_graph: Any = None,
        *,
        adaptation_weight: float | None = None,
        task: str = "auto",
        latent_dim: int = 16,
        width: int = 64,
        backbone: Any = None,
        training: Training | None = None,
        verbose: int = 0,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        super().__init__(
            adaptation_weight=adaptation_weight,
            task=task,
            latent_dim=latent_dim,
            width=width,
            backbone=backbone,
            training=training,
            verbose=verbose,
            random_state=random_state,
        )
        self.domain_graph = domain_graph

    def _check_data(self, data: DomainData) -> None:
        check_domain_graph(self.domain_graph, data.domains)

    def _train(self, study: Study) -> PlainModule:
        links = check_domain_graph(self.domain_graph, study.data.domains)
        study.use_index(embed_nodes(links), links)
        objective = Adaptation(study.module(), study.adversary("graph"), self._weight)
        return study.train("encoding", objective)


def embed_nodes(links: NDArray[np.bool_], n_components: int = 2) -> Floats:
    """Points (domains, n_components) of the slowest modes of a walk on the graph, at unit scale.

    The leading eigenvectors v of the normalised Laplacian L v = λ v, each divided by √λ: squared
    distances between points are then close to the time a walk takes from one node to the other.
    Eigenvalues below 0.001 belong to parts of the graph that are not joined.
    """
    root = np.sqrt(np.maximum(links.sum(axis=1), 1.0))
    laplacian = np.eye(len(links)) - links / np.outer(root, root)
    values, vectors = np.linalg.eigh(laplacian)
    kept = slice(1, 1 + min(n_components, len(links) - 1))
    points = vectors[:, kept] / root[:, None] / np.sqrt(np.maximum(values[kept], 1e-3))
    points = points * np.sign(points[np.abs(points).argmax(axis=0), np.arange(points.shape[1])])
    points = points - points.mean(axis=0)
    return points / (np.sqrt((points**2).mean()) or 1.0)


def check_domain_graph(graph: Any, domains: Sequence[Hashable]) -> NDArray[np.bool_]:
    """Which of `domains` are joined, (domains, domains), without loops."""
    if not isinstance(graph, nx.Graph):
        raise InputError(
            f"domain_graph is a {type(graph).__name__}. Pass a networkx.Graph whose nodes are the "
            "names of the domains, for example from a fitted model's domain_graph(quantile=0.2)."
        )
    missing = [name for name in domains if name not in graph]
    if missing:
        raise InputError(
            f"domain_graph has no node for {preview(missing)}, of {len(domains)} domains in "
            f"sample_domain; its nodes are {preview(graph.nodes)}. Add every domain as a node."
        )
    links = nx.to_numpy_array(graph, nodelist=list(domains), weight=None) > 0.0
    links = links | links.T
    np.fill_diagonal(links, False)
    if not links.any():
        raise InputError(
            f"domain_graph joins none of the {len(domains)} domains. "
            "Add edges between similar domains, or use DANN, which needs none."
        )
    return links

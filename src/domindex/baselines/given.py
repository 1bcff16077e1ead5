"""What a user gives about the domains: their index, or the graph that joins them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from domindex.arrays import Floats
from domindex.baselines.base import AdaptingBaseline
from domindex.errors import InputError
from domindex.geometry import DomainIndex
from domindex.inputs.messages import preview

FORMS = (
    "Pass a mapping from each domain's name to its number or vector, for example "
    "dict(zip(names, values)), or a fitted model's domain_index_."
)


class KnownDomains(AdaptingBaseline):
    """A baseline whose encoder is given something of each domain, and so needs its name."""

    def _give(self, name: Hashable | None, scaled: Floats) -> Floats:
        if name is None:
            raise InputError(
                f"sample_domain is missing, and {type(self).__name__} encodes a row by its domain. "
                "Pass one domain name per row."
            )
        raise InputError(
            f"{name!r} is none of the domains that fit saw ({preview(self._fitted.given)}), and "
            f"{type(self).__name__} cannot place it. Fit with its rows and what is known of it."
        )


def check_domain_index(domain_index: Any, domains: Sequence[Hashable]) -> Floats:
    """The index of each of `domains`, (domains, size), centred and on one overall scale."""
    points = _points(domain_index)
    missing = [name for name in domains if name not in points]
    if missing:
        raise InputError(
            f"domain_index has no entry for {preview(missing)}, of {len(domains)} domains in "
            f"sample_domain; it names {preview(points)}. Give every domain its index."
        )
    try:
        rows = [np.atleast_1d(np.asarray(points[name], dtype=np.float64)) for name in domains]
    except (TypeError, ValueError):
        raise InputError(f"domain_index holds values that are not numbers. {FORMS}") from None
    shapes = sorted({row.shape for row in rows})
    if len(shapes) > 1 or len(shapes[0]) != 1 or not shapes[0][0]:
        raise InputError(
            f"domain_index holds entries of shapes {preview(shapes)}. "
            "Give every domain one number, or a vector of the same length as the others."
        )
    index = np.stack(rows)
    lost = [name for name, row in zip(domains, index) if not np.isfinite(row).all()]
    if lost:
        raise InputError(
            f"domain_index is NaN or infinite for {preview(lost)}. Give finite numbers."
        )
    centred = index - index.mean(axis=0)
    spread = float(np.sqrt((centred**2).mean()))
    if spread == 0.0:
        raise InputError(
            "domain_index is the same for every domain, so it tells nothing apart. "
            "Give domains that differ different indices, or use DANN, which needs none."
        )
    return centred / spread


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


def _points(domain_index: Any) -> Mapping[Hashable, Any]:
    if isinstance(domain_index, DomainIndex):
        return dict(zip(domain_index.domains, domain_index.coordinates))
    if isinstance(domain_index, Mapping):
        return domain_index
    kind = type(domain_index).__name__
    hint = "Pass its domain_index_." if hasattr(domain_index, "domain_index_") else FORMS
    raise InputError(f"domain_index is a {kind}, which does not name the domains. {hint}")

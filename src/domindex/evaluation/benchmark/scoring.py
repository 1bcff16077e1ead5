"""Figures of a fitted model. Target labels are read here, after the fit, and nowhere else."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from domindex.datasets import DomainDataset
from domindex.evaluation.metrics import graph_auc, index_correlation, linear_r2
from domindex.geometry import DomainIndex

Floats = NDArray[np.float64]


def score_predictions(dataset: DomainDataset, predicted: NDArray) -> dict[str, float | str]:
    """Figures of the predictions of all target rows, in the order of the rows.

    Classification: `accuracy` in % over target rows. Regression: `error`, the paper's: squared
    errors summed over outputs, averaged over a domain's rows, then over target domains; also by
    level. Both: the worst target domain.
    """
    truth = dataset.y[~dataset.is_source]
    names = dataset.sample_domain[~dataset.is_source]
    if dataset.task == "classification":
        hits = 100.0 * (predicted == truth)
        by_domain = _domain_means(hits, names)
        worst = min(by_domain, key=by_domain.__getitem__)
        figures: dict[str, float | str] = {"accuracy": float(hits.mean())}
    else:
        errors = ((predicted - truth) ** 2).reshape(len(truth), -1).sum(axis=1)
        by_domain = _domain_means(errors, names)
        worst = max(by_domain, key=by_domain.__getitem__)
        figures = {"error": float(np.mean(list(by_domain.values())))}
        figures |= _errors_by_level(by_domain, dataset.levels or {})
    return {**figures, "worst_domain": str(worst), "worst": by_domain[worst]}


def _domain_means(values: Floats, names: NDArray) -> dict[Hashable, float]:
    return {name: float(values[names == name].mean()) for name in np.unique(names).tolist()}


def _errors_by_level(
    by_domain: dict[Hashable, float], levels: dict[Any, int]
) -> dict[str, float | str]:
    present = sorted(set(levels.values()))
    return {
        f"error_level_{level}": float(
            np.mean([error for name, error in by_domain.items() if levels[name] == level])
        )
        for level in present
    }


def score_map(dataset: DomainDataset, model: Any) -> dict[str, float]:
    """How well `model.domain_indices_` agrees with what is known; nothing where there is no map.

    A true index of several numbers is read off the map linearly (`index_<name>`, R²); a true graph
    by closeness (`index_auc`); a single true number along the map's main axis
    (`index_correlation`).
    """
    if not hasattr(model, "domain_indices_"):
        return {}
    coordinates = np.asarray(model.domain_indices_, dtype=np.float64)
    order = [dataset.domains.index(name) for name in model.domains_]
    if dataset.true_index is not None and dataset.true_index.shape[1] > 1:
        known = dataset.true_index[order]
        return {
            f"index_{name}": linear_r2(coordinates, column)
            for name, column in zip(dataset.index_names, known.T)
        }
    if dataset.graph is not None:
        return {"index_auc": _auc(model.domains_, coordinates, dataset.graph)}
    if dataset.true_index is not None:
        return {"index_correlation": index_correlation(coordinates, dataset.true_index[order])}
    return {}


def _auc(domains: list[Hashable], coordinates: Floats, graph: nx.Graph) -> float:
    distances = np.linalg.norm(coordinates[:, None] - coordinates[None], axis=-1)
    index = DomainIndex(tuple(domains), coordinates.copy(), distances, np.zeros(len(domains)))
    return graph_auc(index, graph)

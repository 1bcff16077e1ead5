"""The paper's figures, drawn anew from a fit."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np

from domindex.datasets import DomainDataset, load_dataset
from domindex.datasets.files import DataHome
from domindex.errors import InputError
from domindex.estimators.models import find_method
from domindex.evaluation import graph_auc
from domindex.geometry import DomainIndex
from domindex.persistence.atomic import new_file
from domindex.reporting.map_figures import (
    plot_domain_graph,
    plot_domain_map,
    plot_index_against_truth,
    plot_local_indices,
    plot_map_on_positions,
)

Drawings = dict[str, Any]  # the end of a file's name to the Axes that belongs there


def paper_figures(
    dataset_name: str,
    out: str | Path,
    data_home: DataHome = None,
    random_state: int = 0,
    *,
    method: str = "cross-domain",
    model: Any = None,
) -> list[Path]:
    """Fit a dataset of the paper and write the figures that the paper shows of it, as PNG.

    Parameters
    ----------
    dataset_name : "circle", "dg-15", "dg-60", "tpt-48-w-e" or "tpt-48-n-s"
    out : folder of the figures, made where there is none; their paths are returned
    data_home : folder of the datasets' files, as for `load_dataset`
    random_state : seed of the fit
    method : "cross-domain", or "vdi" for the paper's model
    model : an estimator to fit instead of the default one of the method

    Examples
    --------
    >>> paper_figures("mnist", "figures")
    Traceback (most recent call last):
    domindex.errors.InputError: ...
    """
    if dataset_name not in _DRAWINGS:
        raise InputError(
            f"The paper has no figure of {dataset_name!r}. Choose one of {', '.join(_DRAWINGS)}."
        )
    find_method(method, "classification")
    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"The folder {folder} cannot be made: {error.strerror}. Name another with out."
        ) from None
    dataset = load_dataset(dataset_name, data_home)
    fitted = model or find_method(method, dataset.task)(random_state=random_state)
    names, sources = dataset.sample_domain, dataset.source_domains
    fitted.fit(dataset.X, dataset.y, sample_domain=names, source_domains=sources)
    written = []
    for ending, axes in _DRAWINGS[dataset_name](dataset, fitted).items():
        path = folder / f"{dataset_name}-{ending}.png"
        with new_file(path, overwrite=True) as draft:
            axes.figure.savefig(draft, dpi=150)
        written.append(path)
    return written


def _truth(dataset: DomainDataset, index: DomainIndex) -> Any:
    """The true index in the order of the map, (domains, columns)."""
    assert dataset.true_index is not None
    return dataset.true_index[[dataset.domains.index(name) for name in index.domains]]


def _circle_figures(dataset: DomainDataset, model: Any) -> Drawings:
    """The inferred index against the true one."""
    truth = _truth(dataset, model.domain_index_)
    return {"index": plot_index_against_truth(model, truth, truth_label="true domain index")}


def _graph_figures(dataset: DomainDataset, model: Any) -> Drawings:
    """The inferred graph, with as many edges as the true one, and the true graph alone."""
    assert dataset.graph is not None
    truth, sources = dataset.graph, dataset.source_domains
    layout = nx.kamada_kawai_layout(truth)
    inferred = model.domain_graph(quantile=nx.density(truth))
    alone = plot_domain_graph(truth, positions=layout, source_domains=sources)
    beside = plot_domain_graph(inferred, truth, positions=layout, source_domains=sources)
    alone.set_title("True domain graph")
    beside.set_title(f"Inferred domain graph, AUC {graph_auc(model.domain_index_, truth):.2f}")
    return {"true-graph": alone, "inferred-graph": beside}


def _graph_and_local_figures(dataset: DomainDataset, model: Any) -> Drawings:
    """Also local indices: of all domains, and of the first, middle and last one by true angle."""
    by_angle = np.argsort(_truth(dataset, model.domain_index_)[:, 0])
    three = [model.domains_[by_angle[place]] for place in (0, len(by_angle) // 2, -1)]
    local = model.transform(dataset.X)
    return _graph_figures(dataset, model) | {
        "local-indices": plot_local_indices(local, dataset.sample_domain),
        "local-indices-of-three": plot_local_indices(local, dataset.sample_domain, domains=three),
    }


def _temperature_figures(dataset: DomainDataset, model: Any) -> Drawings:
    """The map by latitude and by longitude, and laid on the geography."""
    places = _truth(dataset, model.domain_index_)
    drawings = {}
    for name, column in zip(dataset.index_names, places.T):
        label = f"{name}, scaled to 0 to 1"
        drawings[f"map-by-{name}"] = plot_domain_map(model, color=column, color_label=label)
    latitude, longitude = (dataset.index_names.index(n) for n in ("latitude", "longitude"))
    drawings["map-on-geography"] = plot_map_on_positions(
        model, places[:, [longitude, latitude]], position_names=("longitude", "latitude")
    )
    return drawings


_DRAWINGS: dict[str, Callable[[DomainDataset, Any], Drawings]] = {
    "circle": _circle_figures,
    "dg-15": _graph_and_local_figures,
    "dg-60": _graph_figures,
    "tpt-48-w-e": _temperature_figures,
    "tpt-48-n-s": _temperature_figures,
}

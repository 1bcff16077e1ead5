"""The paper's figures, drawn anew from fits: one column a method."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
from sklearn.base import clone

from domindex.datasets import DomainDataset, load_dataset
from domindex.datasets.files import DataHome
from domindex.errors import InputError
from domindex.estimators.models import MAP, METHODS, find_method
from domindex.evaluation import graph_auc
from domindex.persistence.atomic import new_file
from domindex.reporting.canvas import HEIGHT, WIDTH, new_columns
from domindex.reporting.map_figures import (
    plot_domain_graph,
    plot_domain_map,
    plot_index_against_truth,
    plot_local_indices,
    plot_map_on_positions,
)

TITLES = {"cross-domain": "CrossDomain", "vdi": "VDI, the paper's model"}


def paper_figures(
    dataset: str | DomainDataset,
    out: str | Path,
    data_home: DataHome = None,
    random_state: int = 0,
    *,
    method: Any = "cross-domain",
) -> list[Path]:
    """Fit a dataset of the paper and write the figures that the paper shows of it, as PNG.

    Parameters
    ----------
    dataset : "circle", "dg-15", "dg-60", "tpt-48-w-e", "tpt-48-n-s" or "compcars-features", or one
        of that name that is loaded already
    out : folder of the figures, made where there is none; their paths are returned
    data_home : folder of the datasets' files, as for `load_dataset`
    random_state : seed of the fits
    method : "cross-domain", "vdi" (the paper's model) or an estimator, of which a copy is fitted;
        a sequence of them, or a mapping from titles to them, is drawn side by side

    Examples
    --------
    >>> paper_figures("dg-15", "figures", method="vid")
    Traceback (most recent call last):
    domindex.errors.InputError: ...
    """
    name = dataset if isinstance(dataset, str) else dataset.name
    if name not in _FIGURES:
        raise InputError(
            f"The paper has no figure of {name!r}. Choose one of {', '.join(_FIGURES)}."
        )
    methods = _check_methods(method)
    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"The folder {folder} cannot be made: {error.strerror}. Name another with out."
        ) from None
    data = load_dataset(name, data_home) if isinstance(dataset, str) else dataset
    fitted = {title: _fit(data, one, random_state) for title, one in methods.items()}
    written = []
    for ending, draw in _FIGURES[name].items():
        truth = [("Truth", None)] if draw in _WITH_TRUTH else []
        columns = [*truth, *fitted.items()]
        figure, all_axes = new_columns(len(columns))
        for (title, model), axes in zip(columns, all_axes):
            axes.set_title(title)
            draw(data, model, axes)
            if (own := axes.get_title()) != title:
                axes.set_title(f"{title}\n{own}")
        path = folder / f"{name}-{ending}.png"
        with new_file(path, overwrite=True) as draft:
            figure.savefig(draft, dpi=150, bbox_inches="tight")
        written.append(path)
    return written


def _check_methods(method: Any) -> dict[str, Any]:
    """Names and estimators, one or several, by their titles."""
    if isinstance(method, Mapping):
        methods = dict(method)
    else:
        several = isinstance(method, Sequence) and not isinstance(method, str)
        given = list(method) if several else [method]
        methods = {_title(one): one for one in given}
        if len(methods) < len(given):
            raise InputError(
                f"method names {len(given)} methods of which only {', '.join(methods)} can be told "
                "apart. Pass a mapping from titles to methods."
            )
    known = [name for name in METHODS if name != MAP]
    for one in methods.values():
        if one not in known if isinstance(one, str) else not hasattr(one, "domain_graph"):
            raise InputError(
                f"method names {one!r}. Choose from {', '.join(known)}, or pass an estimator "
                "that draws a map, such as a CrossDomainClassifier."
            )
    if not methods:
        raise InputError(f"method is empty. Name one or more of {', '.join(known)}.")
    return methods


def _title(method: Any) -> str:
    if isinstance(method, str):
        return TITLES.get(method, method)
    return type(method).__name__


def _fit(data: DomainDataset, method: Any, random_state: int) -> Any:
    if isinstance(method, str):
        model = find_method(method, data.task)(random_state=random_state)
    else:
        model = clone(method)
    roles = {"sample_domain": data.sample_domain, "source_domains": data.source_domains}
    return model.fit(data.X, data.y, **roles)


def _truth(dataset: DomainDataset, model: Any) -> Any:
    """The true index in the order of the model's map, (domains, columns)."""
    assert dataset.true_index is not None
    return dataset.true_index[[dataset.domains.index(name) for name in model.domain_index_.domains]]


def _draw_index(dataset: DomainDataset, model: Any, axes: Any) -> None:
    """The inferred index against the true one."""
    truth = _truth(dataset, model)
    plot_index_against_truth(model, truth, truth_label="true domain index", ax=axes)


def _draw_graph(dataset: DomainDataset, model: Any, axes: Any) -> None:
    """The true graph, or the inferred one: of the closest pairs, as many as truly are joined."""
    truth = dataset.graph
    assert truth is not None
    layout = nx.kamada_kawai_layout(truth)
    spread = np.ptp(list(layout.values()), axis=0) / (WIDTH, HEIGHT)  # it shall fill the picture
    positions = {name: place / spread for name, place in layout.items()}
    style: dict[str, Any] = {"positions": positions, "source_domains": dataset.source_domains}
    if model is None:
        axes.set_title(f"{truth.number_of_edges()} edges")
        plot_domain_graph(truth, **style, ax=axes)
        return
    axes.set_title(f"AUC {graph_auc(model.domain_index_, truth):.2f}")
    inferred = model.domain_graph(quantile=nx.density(truth))
    plot_domain_graph(inferred, truth, **style, ax=axes)


def _draw_local(dataset: DomainDataset, model: Any, axes: Any, only_three: bool = False) -> None:
    """Local indices, by true angle: of all domains, or of the first, the middle and the last."""
    names = model.domain_index_.domains
    domains = [names[number] for number in np.argsort(_truth(dataset, model)[:, 0])]
    if only_three:
        domains = [domains[0], domains[len(domains) // 2], domains[-1]]
    local = model.transform(dataset.X)
    plot_local_indices(local, dataset.sample_domain, domains=domains, ax=axes)


def _draw_map(by: str, label: str, dataset: DomainDataset, model: Any, axes: Any) -> None:
    """The map, coloured by a column of the true index."""
    column = _truth(dataset, model)[:, dataset.index_names.index(by)]
    plot_domain_map(model, color=column, color_label=label, ax=axes)


def _draw_viewpoints(dataset: DomainDataset, model: Any, axes: Any) -> None:
    """The map of domains such as "rear-side 2013", coloured by viewpoint."""
    views = [str(name).rsplit(" ", 1)[0] for name in model.domain_index_.domains]
    plot_domain_map(model, color=views, ax=axes)


def _draw_geography(dataset: DomainDataset, model: Any, axes: Any) -> None:
    """The map laid on the geography."""
    names = ("longitude", "latitude")
    places = _truth(dataset, model)[:, [dataset.index_names.index(name) for name in names]]
    plot_map_on_positions(model, places, position_names=names, ax=axes)


Draw = Callable[[DomainDataset, Any, Any], None]  # dataset, fitted model, Axes

_WITH_TRUTH = (_draw_graph,)  # these have a column of their own for it, with None for the model
_TEMPERATURES: dict[str, Draw] = {
    "map-by-latitude": partial(_draw_map, "latitude", "latitude, scaled to 0 to 1"),
    "map-by-longitude": partial(_draw_map, "longitude", "longitude, scaled to 0 to 1"),
    "map-on-geography": _draw_geography,
}
_CARS: dict[str, Draw] = {
    "map-by-viewpoint": _draw_viewpoints,
    "map-by-year": partial(_draw_map, "year", "year of manufacture"),
}
_FIGURES: dict[str, dict[str, Draw]] = {  # the end of a file's name to what is drawn there
    "circle": {"index": _draw_index},
    "dg-15": {
        "graph": _draw_graph,
        "local-indices": _draw_local,
        "local-indices-of-three": partial(_draw_local, only_three=True),
    },
    "dg-60": {"graph": _draw_graph},
    "tpt-48-w-e": _TEMPERATURES,
    "tpt-48-n-s": _TEMPERATURES,
    "compcars-features": _CARS,
    "compcars": _CARS,
    "compcars-generated": _CARS,
}

"""The map of a run as a table or as a graph."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from domindex.data.folders import new_file
from domindex.geometry import domain_graph
from domindex.reporting.distances import distances_to_sources
from domindex.runs.predicting import read_rows
from domindex.runs.run import Run
from domindex.runs.showing import Display

N_NEIGHBORS = 3


@dataclass(frozen=True, eq=False)
class TableIndex:
    """The map: `table` has a row per domain, `graph` joins each to its nearest."""

    table: pd.DataFrame
    graph: nx.Graph


def index_table(
    run: Run | str | os.PathLike[str],
    data: str | os.PathLike[str] | None = None,
    *,
    delimiter: str | None = None,
    progress: bool = False,
) -> TableIndex:
    """Where the domains of a run lie; with `data`, also those of its domains that are new.

    Columns: domain, role (source, target or new), x1, x2, …, std1, std2, …, distance to the nearest
    source in units of the map's median spacing, and the nearest domains.
    """
    run = run if isinstance(run, Run) else Run.open(run)
    display = Display(progress)
    model = run.model()
    names, places = [str(name) for name in model.domains_], [*model.domain_indices_]
    sources = set(model.source_domains_)
    roles = ["source" if name in sources else "target" for name in model.domains_]
    if data is not None:
        rows = read_rows(data, run.preparation(), delimiter, display)
        present = dict.fromkeys(rows.domains)
        new = [name for name in present if name not in set(model.domains_)]
        numbers = pd.Series(rows.domains).groupby(rows.domains).indices
        for name in display.track(new, "placing"):
            part = rows.frame.iloc[numbers[name]]
            place = model.place_domains(part, sample_domain=[name] * len(part))[name]
            names, places, roles = [*names, name], [*places, place], [*roles, "new"]
    coordinates = np.array(places)
    columns: dict[str, object] = {"domain": names, "role": roles}
    columns |= {f"x{n}": axis for n, axis in enumerate(coordinates.T, start=1)}
    deviations = model.index_deviations(coordinates)
    columns |= {f"std{n}": axis for n, axis in enumerate(deviations.T, start=1)}
    columns["distance"] = distances_to_sources(
        model.domain_index_, model.source_domains_, coordinates
    )
    columns |= _nearest(names, coordinates)
    table = pd.DataFrame(columns)
    return TableIndex(table, _graph(table, coordinates))


def write_graph(graph: nx.Graph, path: str | os.PathLike[str], *, overwrite: bool) -> None:
    """Write GraphML, complete or not at all."""
    with new_file(Path(path), overwrite=overwrite) as draft:
        nx.write_graphml(graph, draft)


def _nearest(names: list[str], coordinates: NDArray[np.float64]) -> dict[str, list[str]]:
    distances = cdist(coordinates, coordinates)
    np.fill_diagonal(distances, np.inf)
    order = np.argsort(distances, axis=1, kind="stable")[:, : min(N_NEIGHBORS, len(names) - 1)]
    return {
        f"nearest{rank}": [names[number] for number in column]
        for rank, column in enumerate(order.T, start=1)
    }


def _graph(table: pd.DataFrame, coordinates: NDArray[np.float64]) -> nx.Graph:
    """Every domain joined to its nearest, with everything of the table on the nodes."""
    names = table["domain"].tolist()
    distances = cdist(coordinates, coordinates)
    joined = min(N_NEIGHBORS, len(names) - 1)
    graph = domain_graph(distances, n_neighbors=joined, domains=names)
    told = table.loc[:, "role":"distance"]
    for name, facts in zip(names, told.to_dict("records")):
        graph.nodes[name].update(facts)
    return graph

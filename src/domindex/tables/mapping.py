"""The map of a run as a table or as a graph."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from domindex.geometry.neighbors import nearest_points, point_graph
from domindex.persistence.atomic import check_free_file, new_file
from domindex.persistence.paths import usable_path
from domindex.progress import show_progress
from domindex.reporting.distances import distances_to_sources
from domindex.tables.predicting import coordinates_of, names_off_map, read_rows, say_off_map
from domindex.tables.reading import check_table_path, write_table
from domindex.tables.run import Run, opened
from domindex.tables.text_format import TextFormat


@dataclass(frozen=True, eq=False)
class TableIndex:
    """The map: `table` has a row per domain, `graph` joins each to its nearest.

    Examples
    --------
    >>> found = TableIndex(pd.DataFrame({"domain": ["a", "b"]}), nx.path_graph(["a", "b"]))
    >>> list(found.graph.edges)
    [('a', 'b')]
    """

    table: pd.DataFrame
    graph: nx.Graph


def index_table(
    run: Run | str | os.PathLike[str],
    data: str | os.PathLike[str] | None = None,
    *,
    out: str | os.PathLike[str] | None = None,
    graph: str | os.PathLike[str] | None = None,
    force: bool = False,
    progress: bool = False,
    **form: Any,
) -> TableIndex:
    """Where the domains of a run lie; with `data`, also those of its domains that are new.

    Columns: domain, role (source, target, added or new), x1, x2, …, std1, std2, …, distance to the
    nearest source in units of the map's median spacing, off_map, and the nearest domains. Where the
    map closes also angle, in radians around its ring.

    Parameters
    ----------
    run : a run, or its folder
    data : a CSV or Parquet file with the domain and the inputs
    out : a CSV or Parquet file to write as well
    graph : a GraphML file to write as well
    force : replace files that are there
    progress : draw bars on standard error
    **form : what to say of a text file, see `TextFormat`; by default as in the fit

    Examples
    --------
    >>> index_table(run).table[["domain", "role"]].to_numpy().tolist()[:4]
    [['Ahlen', 'source'], ['Bruck', 'source'], ['Celle', 'source'], ['Dornach', 'target']]
    """
    if out is not None:
        check_table_path(out, overwrite=force)
    if graph is not None:
        check_free_file(usable_path(graph), overwrite=force)
    run = opened(run)
    model, new = run.model(), None
    if data is not None:
        with show_progress(progress) as shown:
            rows = read_rows(run, model, data, TextFormat(**form).over(run.form), shown)
            names = [name for name in rows.domains if name not in set(model.domains_)]
            if names:
                inputs = rows.inputs[np.isin(rows.domains, names)]
                new = model.place_domains(inputs, sample_domain=names, forecast=False)
                say_off_map(names_off_map(new), len(new), shown)
    table, coordinates = map_table(model, new)
    names, n_joined = table["domain"].tolist(), min(3, len(table) - 1)
    joined = point_graph(coordinates, names, n_neighbors=n_joined)
    for name, facts in zip(names, table.loc[:, "role":"off_map"].to_dict("records")):
        joined.nodes[name].update(facts)
    if graph is not None:
        write_graph(joined, graph, overwrite=force)
    if out is not None:
        write_table(table, out, overwrite=force)
    return TableIndex(table, joined)


def map_table(
    model: Any, new: pd.DataFrame | None = None
) -> tuple[pd.DataFrame, NDArray[np.float64]]:
    """The map of a model, and (domains, index_dim) its coordinates; columns as in `index_table`.

    `new` holds places of domains that the model does not know, as `place_domains` gives them.
    """
    names = [str(name) for name in model.domains_]
    sources, added = set(model.source_domains_), set(model.added_domains_)
    roles = [
        "source" if name in sources else "added" if name in added else "target"
        for name in model.domains_
    ]
    coordinates, angles = model.domain_indices_, model.domain_angles_
    off_map = set(map(str, model.off_map_domains_))
    if new is not None:
        off_map |= set(names_off_map(new))
        names += [str(name) for name in new["domain"]]
        roles += ["new"] * len(new)
        coordinates = np.vstack([coordinates, coordinates_of(new)])
        angles = None if angles is None else [*angles, *new["angle"]]
    columns: dict[str, object] = {"domain": names, "role": roles}
    columns |= {f"x{n}": axis for n, axis in enumerate(coordinates.T, start=1)}
    if angles is not None:
        columns["angle"] = angles
    deviations = model.index_deviations(coordinates)
    columns |= {f"std{n}": axis for n, axis in enumerate(deviations.T, start=1)}
    columns["distance"] = distances_to_sources(
        model.domain_index_, model.source_domains_, coordinates
    )
    columns["off_map"] = [name in off_map for name in names]
    nearest, _ = nearest_points(coordinates, min(3, len(names) - 1))
    for rank, column in enumerate(nearest.T, start=1):
        columns[f"nearest{rank}"] = [names[number] for number in column]
    return pd.DataFrame(columns), coordinates


def write_graph(graph: nx.Graph, path: str | os.PathLike[str], *, overwrite: bool) -> None:
    """Write GraphML, complete or not at all.

    Examples
    --------
    >>> write_graph(nx.path_graph(["a", "b"]), "map.graphml", overwrite=False)
    >>> nx.read_graphml("map.graphml").number_of_edges()
    1
    """
    with new_file(path, overwrite=overwrite) as draft:
        nx.write_graphml(graph, draft)

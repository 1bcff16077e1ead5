"""The datasets that can be asked for by name, most of them read from files of the authors."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd

from domindex.datasets import digits, synthetic
from domindex.datasets.dataset import Array, DomainDataset, classification_dataset
from domindex.datasets.files import DataHome, find_file, read_pickle
from domindex.errors import DatasetError

_GRAPH_FILES = {
    "dg-15": ("toy_d15_spiral_tight_boundary.pkl", [0, 12, 3, 4, 14, 8]),
    "dg-60": ("toy_d60_pi_random.pkl", [40, 32, 12, 29, 22, 52]),
}
SOURCE_STATES = {
    "tpt-48-w-e": "WA OR CA ID NV AZ",
    "tpt-48-n-s": "ND VT NH ME WA MT SD MN WI MI NY MA OR ID WY NE IA IL IN OH PA NJ CT RI",
}

VIEWPOINTS = {"front": 0.0, "front-side": 45.0, "side": 90.0, "rear-side": 135.0, "rear": 180.0}
"""Angles from a car's front, in the order round it and of the domains in the authors' file."""

YEARS = range(2009, 2015)
CAR_DOMAINS = tuple(f"{view} {year}" for year in YEARS for view in VIEWPOINTS)
CAR_FILE = "feature_resnet18_new_data.pkl"


def load_circle(data_home: DataHome = None) -> DomainDataset:
    """Circle: 30 domains of 100 points in the plane, X (3000, 2)."""
    content = read_pickle(find_file("toy_d15_quarter_circle.pkl", data_home))
    return classification_dataset(
        X=content["data"],
        y=content["label"].astype(int),
        sample_domain=content["domain"].astype(int),
        name="circle",
        source_domains=list(range(6)),
        true_index=np.arange(30.0)[:, None],
        index_names=("position",),
        graph=None,
        description=(
            "Thirty round clouds of 100 points along half a circle of radius 5, from angle 0 to "
            "pi. A point's class is 1 if it lies outside that circle. The first six domains are "
            "sources."
        ),
    )


def load_domain_graph(name: str, data_home: DataHome = None) -> DomainDataset:
    """DG-15 or DG-60: domains of 100 points in the plane; the true index is an angle, 0 to pi."""
    file, sources = _GRAPH_FILES[name]
    content = read_pickle(find_file(file, data_home))
    graph = nx.empty_graph(len(content["A"]))  # without loops or weights
    graph.add_edges_from(np.argwhere(np.triu(content["A"], k=1)).tolist())
    return classification_dataset(
        X=content["data"],
        y=content["label"].astype(int),
        sample_domain=content["domain"].astype(int),
        name=name,
        source_domains=sources,
        true_index=content["angle"][:, None],
        index_names=("angle",),
        graph=graph,
        description=(
            "Two round clouds a domain, class 0 at the domain's angle and class 1 opposite, at a "
            "distance that grows with the angle. The closer two angles, the likelier an edge of "
            "the graph. The six smallest angles are sources."
        ),
    )


def load_temperatures(name: str, data_home: DataHome = None) -> DomainDataset:
    """TPT-48, west to east or north to south: X and y (windows, 6), in standard units."""
    months = read_pickle(find_file("month_temp_data.pkl", data_home))
    states, sources = sorted(months), SOURCE_STATES[name].split()
    borders = find_file("usa_map.txt", data_home).read_text(encoding="utf-8").splitlines()
    graph = nx.empty_graph(states)
    # the file also knows the District of Columbia
    graph.add_edges_from(pair for pair in map(str.split, borders) if set(pair) <= set(states))
    hops = nx.multi_source_dijkstra_path_length(graph, set(sources))
    # a year each, from January 2008: of sources one every month
    steps = [1 if state in sources else 12 for state in states]
    years = [np.lib.stride_tricks.sliding_window_view(months[state], 12) for state in states]
    windows = [every[::step] for every, step in zip(years, steps)]
    # The scale of the published errors: mean and deviation of the months that are an input
    # somewhere, each counted once. Those that a target has to foretell stay out of it.
    inputs = np.concatenate(
        [
            np.append(part[:, 0], part[-1, 1:6]) if step == 1 else part[:, :6].ravel()
            for part, step in zip(windows, steps)
        ]
    )
    offset, scale = float(inputs.mean()), float(inputs.std())
    places = pd.read_csv(find_file("longitude-latitude-normalize.csv", data_home)).set_index(
        "state"
    )
    index_names = ("latitude", "longitude")  # each scaled to [0, 1] by the authors
    rows = (np.concatenate(windows) - offset) / scale
    return DomainDataset(
        name=name,
        X=rows[:, :6],
        y=rows[:, 6:],
        sample_domain=np.repeat(states, [len(part) for part in windows]),
        source_domains=sources,
        domains=states,
        task="regression",
        true_index=np.ascontiguousarray(places.loc[states, list(index_names)], dtype=float),
        index_names=index_names,
        graph=graph,
        description=(
            "Monthly mean temperatures of 48 American states, 2008 to 2019: six months foretell "
            "the next six. Sources give every window of twelve months, targets the calendar years. "
            "All values are standardised by one mean (offset) and one deviation (scale) of the "
            "input months, in degrees Fahrenheit."
        ),
        # borders to cross from the nearest source; 3 for more than two
        levels={state: min(hops[state], 3) for state in states if state not in sources},
        offset=offset,
        scale=scale,
    )


def load_compcars_features(data_home: DataHome = None) -> DomainDataset:
    """CompCars as the authors published it: X (pictures, 512), features of a ResNet-18."""
    data, label, domain = _checked_cars(read_pickle(find_file(CAR_FILE, data_home)))
    facts = car_facts([name for number, name in enumerate(CAR_DOMAINS) if (domain == number).any()])
    facts["description"] += " Inputs are the 512 features of a ResNet-18 for each photograph."
    return DomainDataset(
        name="compcars-features",
        X=data.astype(np.float32),
        y=label,
        sample_domain=np.array(CAR_DOMAINS)[domain],
        **facts,
    )


def car_facts(domains: Sequence[str]) -> dict[str, Any]:
    """What is known of some of the thirty domains of CompCars, as fields of a `DomainDataset`."""
    places = {f"{view} {year}": (VIEWPOINTS[view], year) for year in YEARS for view in VIEWPOINTS}
    graph = nx.grid_2d_graph(list(YEARS), list(VIEWPOINTS))
    graph = nx.relabel_nodes(graph, {(year, view): f"{view} {year}" for year, view in graph})
    return {
        "source_domains": [CAR_DOMAINS[0]],
        "domains": list(domains),
        "task": "classification",
        "true_index": np.array([places[name] for name in domains], dtype=float),
        "index_names": ("viewpoint", "year"),
        "graph": graph.subgraph(domains),
        "description": (
            "Cars of four types (MPV, SUV, sedan, hatchback), seen from five viewpoints and made "
            "in six years, 2009 to 2014: a domain is a viewpoint and a year, 30 in all. The front "
            "views of 2009 are the source. The true index is the angle of the viewpoint in "
            "degrees, and the year."
        ),
    }


def _checked_cars(content: dict[str, Array]) -> tuple[Array, Array, Array]:
    """Features (n, d), labels (n,) and domain numbers (n,) that fit together."""
    missing = [name for name in ("data", "label", "domain") if name not in content]
    if missing:
        raise DatasetError(
            f"{CAR_FILE} holds {', '.join(map(str, content))}, and no {', '.join(missing)}. "
            "Delete it and load the dataset again."
        )
    data, label, domain = content["data"], content["label"], content["domain"]
    if data.ndim != 2 or label.shape != (len(data),) or domain.shape != (len(data),):
        raise DatasetError(
            f"{CAR_FILE} holds data of shape {data.shape}, label {label.shape} and domain "
            f"{domain.shape}; expected (n, features), (n,) and (n,)."
        )
    numbers = domain.astype(int)
    if not np.isin(numbers, range(len(CAR_DOMAINS))).all() or not (numbers == 0).any():
        raise DatasetError(
            f"{CAR_FILE} numbers its domains from {domain.min()} to {domain.max()}; expected 0, "
            f"which is {CAR_DOMAINS[0]!r}, to {len(CAR_DOMAINS) - 1}."
        )
    return data, label.astype(int), numbers


_LOADERS: dict[str, Callable[[DataHome], DomainDataset]] = {
    "circle": load_circle,
    "dg-15": partial(load_domain_graph, "dg-15"),
    "dg-60": partial(load_domain_graph, "dg-60"),
    "tpt-48-w-e": partial(load_temperatures, "tpt-48-w-e"),
    "tpt-48-n-s": partial(load_temperatures, "tpt-48-n-s"),
    "rotating-digits": lambda data_home: digits.load_rotating_digits(),
    "seasonal": lambda data_home: synthetic.make_seasonal(),
    "compcars-features": load_compcars_features,
}


def list_datasets() -> list[str]:
    """The names that `load_dataset` knows.

    Examples
    --------
    >>> list_datasets()[:6]
    ['circle', 'dg-15', 'dg-60', 'tpt-48-w-e', 'tpt-48-n-s', 'rotating-digits']
    """
    return list(_LOADERS)


def load_dataset(name: str, data_home: DataHome = None) -> DomainDataset:
    """Load a dataset by name, downloading its files the first time.

    Files are looked for in `data_home`, else in the folder named by the environment variable
    DOMINDEX_DATA, else in the user's cache folder. "rotating-digits" and "seasonal" need no file.

    Examples
    --------
    >>> dataset = load_dataset("rotating-digits")
    >>> dataset.X.shape, dataset.source_domains
    ((1797, 1, 8, 8), [0, 10, 20, 30, 40])
    """
    if name not in _LOADERS:
        near = difflib.get_close_matches(str(name).lower(), _LOADERS, n=1, cutoff=0.5)
        hint = f"Did you mean {near[0]!r}?" if near else "Choose one of these."
        raise DatasetError(f"There is no dataset {name!r}; there are {', '.join(_LOADERS)}. {hint}")
    return _LOADERS[name](data_home)

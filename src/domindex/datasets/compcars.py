"""CompCars: photographs of cars, by viewpoint and year, in the folders of its release.

The release has image/MAKE/MODEL/YEAR/NAME.jpg, label/MAKE/MODEL/YEAR/NAME.txt (viewpoint, number of
boxes, box) and misc/attributes.txt (a row a model, its type last). It is given out on request by
its authors: http://mmlab.ie.cuhk.edu.hk/datasets/comp_cars/. Pictures are read one at a time.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from domindex.datasets.checks import check_count, check_seed
from domindex.datasets.compcars_labels import (
    TYPES,
    VIEWPOINTS,
    YEARS,
    Photograph,
    find_photographs,
)
from domindex.datasets.dataset import DomainDataset
from domindex.datasets.files import DATA_HOME_VARIABLE, DataHome, data_folder
from domindex.datasets.pictures import read_picture
from domindex.errors import DatasetError, InputError

Floats = NDArray[np.float32]

FOLDER = "compcars"
PAGE = "http://mmlab.ie.cuhk.edu.hk/datasets/comp_cars/"
PUBLISHED_SIZE, SMALL_SIZE = 224, 64

IMAGENET_MEAN = np.array([0.485, 0.456, 0.406], dtype=np.float32)
IMAGENET_DEVIATION = np.array([0.229, 0.224, 0.225], dtype=np.float32)
"""Of red, green and blue in [0, 1]: what networks trained on ImageNet were shown."""

DOMAINS = tuple(f"{view.name} {year}" for year in YEARS for view in VIEWPOINTS)
"""All thirty, in the order of the authors' numbers: five viewpoints of 2009, then of 2010, …"""

SOURCE = DOMAINS[0]
TRUE_INDEX = np.array([[view.angle, year] for year in YEARS for view in VIEWPOINTS])
INDEX_NAMES = ("viewpoint", "year")

DESCRIPTION = (
    "Cars of four types (MPV, SUV, sedan, hatchback), seen from five viewpoints and made in six "
    "years, 2009 to 2014: a domain is a viewpoint and a year, 30 in all. The front views of 2009 "
    "are the source. The true index is the angle of the viewpoint in degrees, and the year."
)


class CompCars:
    """The paper's subset of CompCars, read lazily: what torch calls a map-style dataset.

    `cars[number]` reads one photograph, crops it to its box, resizes it and returns
    (x, label, domain): x (3, size, size) of float32, the label 0 to 3, the domain's name. It can be
    given to `fit` and to `torch.utils.data.DataLoader` as it is, with any number of workers.

    Parameters
    ----------
    folder : holds image/, label/ and misc/
    size : height and width of a picture, in pixels
    normalise : whether colours are centred and scaled as networks trained on ImageNet expect; else
        they are in [0, 1]
    balanced : whether every domain has as many pictures of each type, chosen by `random_state`, so
        that domains share their label distribution as the paper's do. Which photographs its authors
        picked is not published; their features are (`load_dataset("compcars-features")`)
    random_state : seed of that choice

    Attributes
    ----------
    photographs : path, box, type, viewpoint and year of each, in the order of paths
    labels : (pictures,) 0 MPV, 1 SUV, 2 sedan, 3 hatchback
    sample_domain : (pictures,) names such as "front 2009"
    domains, source_domains : of those that there are, in the order of the paper

    Examples
    --------
    >>> from domindex.datasets import CompCars
    >>> CompCars("elsewhere")
    Traceback (most recent call last):
    domindex.errors.DatasetError: elsewhere is not CompCars: it must hold image/, label/ and ...
    """

    holds_items = True
    """Tells estimators that rows are read from it by number, as from a torch `Dataset`."""

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        size: int = PUBLISHED_SIZE,
        normalise: bool = True,
        balanced: bool = True,
        random_state: int = 0,
    ) -> None:
        self.folder = Path(folder).expanduser()
        self.size = check_count("size", size, low=1, high=4096)
        self.normalise = bool(normalise)
        _require_release(self.folder)
        found = find_photographs(self.folder)
        self.photographs = _balanced(found, random_state) if balanced else found
        present = {one.domain for one in self.photographs}
        if SOURCE not in present or len(present) < 2:
            raise InputError(
                f"{self.folder} has {len(self.photographs)} pictures of the four types in "
                f"{len(present)} of the 30 domains. There must be some of {SOURCE!r}, the source, "
                "and of one target at least."
            )
        self.domains = [name for name in DOMAINS if name in present]
        self.source_domains = [SOURCE]
        self.labels = np.array([one.label for one in self.photographs], dtype=np.int64)
        self.sample_domain = np.array([one.domain for one in self.photographs])

    def __len__(self) -> int:
        return len(self.photographs)

    def __getitem__(self, number: int) -> tuple[Floats, int, str]:
        one = self.photographs[number]
        return self._picture(one, self.size, self.normalise), one.label, one.domain

    def load(self, size: int = SMALL_SIZE) -> DomainDataset:
        """All pictures in memory, X (pictures, 3, size, size) in [0, 1]."""
        size = check_count("size", size, low=1, high=4096)
        inputs = np.empty((len(self), 3, size, size), dtype=np.float32)
        for number, one in enumerate(self.photographs):
            inputs[number] = self._picture(one, size, normalise=False)
        return DomainDataset(
            name="compcars",
            X=inputs,
            y=self.labels,
            sample_domain=self.sample_domain,
            **domain_facts(self.domains),
        )

    def _picture(self, one: Photograph, size: int, normalise: bool) -> Floats:
        values = read_picture(one.path, one.box, size)
        if normalise:
            values = (values - IMAGENET_MEAN) / IMAGENET_DEVIATION
        return np.ascontiguousarray(values.transpose(2, 0, 1))

    def __repr__(self) -> str:
        return (
            f"CompCars({str(self.folder)!r}: {len(self)} pictures of {self.size} x {self.size}, "
            f"{len(self.domains)} domains)"
        )


def load_compcars(data_home: DataHome = None, size: int = SMALL_SIZE) -> DomainDataset:
    """The paper's subset in memory, small: X (pictures, 3, size, size) in [0, 1].

    The release is looked for in `data_home` itself and in its folder compcars, also below data/.
    """
    return CompCars(find_release(data_home)).load(size)


def find_release(data_home: DataHome = None) -> Path:
    """The folder that holds image/, label/ and misc/; DatasetError where there is none."""
    home = data_folder(data_home)
    places = (home, home / FOLDER, home / FOLDER / "data", home / "data")
    for place in places:
        if _is_release(place):
            return place
    raise DatasetError(
        f"There is no CompCars in {home}: no folder with image/, label/ and misc/attributes.txt, "
        f"nor one below {FOLDER}/. Its authors give it out on request: {PAGE}. Unpack it there, or "
        f"name the folder that holds it as data_home or ${DATA_HOME_VARIABLE}. Without the "
        "photographs, 'compcars-features' has the features that the paper's authors published."
    )


def domain_facts(domains: Sequence[str]) -> dict[str, Any]:
    """What is known of some of the thirty domains, as fields of a `DomainDataset`."""
    return {
        "source_domains": [SOURCE],
        "domains": list(domains),
        "task": "classification",
        "true_index": TRUE_INDEX[[DOMAINS.index(name) for name in domains]].astype(float),
        "index_names": INDEX_NAMES,
        "graph": _neighbours().subgraph(domains),
        "description": DESCRIPTION,
    }


def _neighbours() -> nx.Graph:
    """Each domain joined to the next viewpoint of its year, and the next year of its viewpoint."""
    graph = nx.Graph()
    graph.add_nodes_from(DOMAINS)
    views = [view.name for view in VIEWPOINTS]
    for year in YEARS:
        nx.add_path(graph, [f"{view} {year}" for view in views])
    for view in views:
        nx.add_path(graph, [f"{view} {year}" for year in YEARS])
    return graph


def _is_release(folder: Path) -> bool:
    parts = ("image", "label", "misc/attributes.txt")
    return all((folder / part).exists() for part in parts)


def _require_release(folder: Path) -> None:
    if not _is_release(folder):
        raise DatasetError(
            f"{folder} is not CompCars: it must hold image/, label/ and misc/attributes.txt. Name "
            f"the folder of the release, which its authors give out on request: {PAGE}"
        )


def _balanced(photographs: Sequence[Photograph], random_state: int) -> list[Photograph]:
    """In every domain as many of each type as of its rarest, drawn without repetition."""
    rng = check_seed(random_state)
    groups: dict[tuple[str, int], list[int]] = {}
    for number, one in enumerate(photographs):
        groups.setdefault((one.domain, one.label), []).append(number)
    kept: list[int] = []
    for domain in DOMAINS:
        of_types = [groups.get((domain, label), []) for label in range(len(TYPES))]
        count = min(map(len, of_types))
        if not count and any(of_types):
            missing = [name for name, rows in zip(TYPES.values(), of_types) if not rows]
            raise InputError(
                f"{domain!r} has no picture of {', '.join(missing)}, so its types cannot be "
                "balanced. Pass balanced=False to keep all pictures."
            )
        for rows in of_types:
            kept.extend(rng.permutation(rows)[:count].tolist())
    return [photographs[number] for number in sorted(kept)]

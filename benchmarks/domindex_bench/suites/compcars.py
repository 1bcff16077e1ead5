"""Cars by viewpoint and year: the paper's Table 3, and drawn cars that anyone can run."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from domindex.datasets import DomainDataset, load_dataset
from domindex.datasets.files import DataHome, data_folder, git_blob_id
from domindex.persistence.atomic import new_file
from domindex_bench.data.compcars import CompCars, find_release
from domindex_bench.data.drawn_cars import write_generated_compcars
from domindex_bench.figures import (
    domain_figures,
    group_figures,
    map_figures,
    prediction_figures,
)
from domindex_bench.methods import METHODS, PAPERS_COLUMNS, Method, some_methods, with_backbone
from domindex_bench.published import published
from domindex_bench.suite import Suite, SuiteDataset
from domindex_bench.tables import Summary, markdown

GENERATED_SIZE, GENERATED_PER_TYPE = 24, 12
"""Pixels a side, and drawn cars of a type in a domain: what a fit of minutes can hold."""


def photographs(data_home: DataHome, seed: int) -> DomainDataset:
    """The paper's subset of the release: ResNet-18 features, or pictures where it has no weights.

    As in the paper's experiments, features stand for the photographs where published weights lie
    in the data folder, such as resnet18-f37072fd.pth; they are computed once from pictures of
    224 x 224 pixels, read one at a time, and kept in that folder. Without weights the rows are
    pictures of 64 x 64 pixels.
    """
    cars, home = CompCars(find_release(data_home)), data_folder(data_home)
    weights = next(
        (
            path
            for form in ("resnet18*.pth", "resnet18*.safetensors")
            for path in sorted(home.glob(form))
        ),
        None,
    )
    if weights is None:
        return cars.load()
    small = replace(cars.load(size=1), X=resnet_features(cars, weights, home))
    return replace(small, description=f"{small.description} Inputs are ResNet-18 features.")


def generated(data_home: DataHome, seed: int) -> DomainDataset:
    """Cars drawn anew with every seed, written as CompCars' folders and read from there."""
    with TemporaryDirectory() as folder:
        write_generated_compcars(folder, pictures_per_type=GENERATED_PER_TYPE, random_state=seed)
        drawn = CompCars(folder).load(GENERATED_SIZE)
    return replace(drawn, name="compcars-generated")


def resnet_features(cars: CompCars, weights: Path, home: Path) -> NDArray[np.float32]:
    """(pictures, 512), from `home` where they were computed before with these weights."""
    names = "\n".join(f"{one.path.relative_to(cars.folder)} {one.box}" for one in cars.photographs)
    about = f"{git_blob_id(weights)} {cars.size}\n{names}"
    key = hashlib.sha256(about.encode()).hexdigest()[:12]
    kept = home / f"compcars-resnet18-{key}.npy"
    if not kept.exists():
        features = _computed(cars, weights)
        with new_file(kept, overwrite=True) as draft, draft.open("wb") as stream:
            np.save(stream, features)
    found: NDArray[np.float32] = np.load(kept, allow_pickle=False)
    return found


def _computed(cars: CompCars, weights: Path) -> NDArray[np.float32]:
    import torch

    from domindex import Backbone

    shape = (3, cars.size, cars.size)
    network = Backbone("resnet18", frozen=True, weights=weights).network(shape, 0).eval()
    parts = []
    with torch.inference_mode():
        for begin in range(0, len(cars), 64):
            numbers = range(begin, min(begin + 64, len(cars)))
            rows = np.stack([cars[number][0] for number in numbers])
            parts.append(network(torch.from_numpy(rows)).numpy())
    return np.concatenate(parts)


def _features(data_home: DataHome, seed: int) -> DomainDataset:
    return load_dataset("compcars-features", data_home)


def _are_pictures(dataset: DomainDataset) -> bool:
    return dataset.X.ndim > 2


def needs_pictures(dataset: DomainDataset) -> str:
    return "" if _are_pictures(dataset) else "its backbone reads pictures, and these are features"


def needs_features(dataset: DomainDataset) -> str:
    if not _are_pictures(dataset):
        return ""
    return "on pictures it runs with a backbone, as the method of this name that ends in -conv"


def _networks() -> Iterator[Method]:
    """The paper's methods and ours, on features and, through the backbone, on pictures."""
    for method in some_methods(*PAPERS_COLUMNS).values():
        if method.name == "vdi":  # takes no backbone: of pictures it reads the pixels
            yield method
        else:
            yield replace(method, objection=needs_features)
            yield with_backbone(method, "conv", needs_pictures)


COLUMNS = {
    "accuracy": "accuracy, %",
    "worst": "worst domain, %",
    "viewpoint_neighbours": "nearest of the same viewpoint, %",
    "viewpoint_silhouette": "silhouette of viewpoints",
    "index_year": "R² of the year",
    "fit_seconds": "fit, s",
}
MAP_NOTE = (
    "Of methods that draw a map: the share of domains whose nearest on it has the same viewpoint, "
    "the silhouette of the viewpoints there, and how well the year is read off it linearly."
)
MISSING_NOTE = (
    "Neither the photographs nor the authors' features were there: what was measured is of drawn "
    "cars, and says nothing of how near the paper's figures are."
)


def compcars_document(summary: Summary) -> str:
    """Table 3 with the paper's figures, then a table for every dataset."""
    parts = ["## Table 3: accuracy (%) on CompCars", *_table_3(summary)]
    for dataset in summary.datasets:
        parts += [f"## {summary.suite.title_of(dataset)}", _details(summary, dataset)]
    return "\n\n".join([*parts, MAP_NOTE])


def _table_3(summary: Summary) -> Iterator[str]:
    if "compcars" not in summary.datasets and "compcars-features" not in summary.datasets:
        yield MISSING_NOTE
    titles = [METHODS[name].title for name in PAPERS_COLUMNS]
    rows = [row for name in summary.datasets for row in _measured(summary, name)]
    printed = [_printed(method) for method in PAPERS_COLUMNS]
    paper = ["The paper", "", *(f"{value:.1f}" for value in printed)]
    yield markdown(["", "", *titles], [*rows, paper])


def _measured(summary: Summary, dataset: str) -> Iterator[Sequence[str]]:
    """What was measured and, but for drawn cars, the difference to what the paper printed."""
    texts, differences = [], []
    for method in PAPERS_COLUMNS:
        name = _with_figure(summary, dataset, method)
        spread = summary.spread(dataset, name, "accuracy")
        texts.append(summary.text(dataset, name, "accuracy"))
        differences.append("" if spread is None else f"{spread.mean - _printed(method):+.1f}")
    yield [summary.suite.title_of(dataset), "measured", *texts]
    if dataset != "compcars-generated":
        yield ["", "difference", *differences]


def _with_figure(summary: Summary, dataset: str, method: str) -> str:
    """The method itself, or the one with a backbone where that is what ran."""
    other = f"{method}-conv"
    return other if summary.spread(dataset, other, "accuracy") else method


def _printed(method: str) -> float:
    known = published("compcars", METHODS[method].published_as or "", "accuracy")
    assert known is not None
    return known.value


def _details(summary: Summary, dataset: str) -> str:
    rows = [
        [
            summary.suite.method_title(method),
            f"`{method}`",
            *(summary.text(dataset, method, figure) for figure in COLUMNS),
        ]
        for method in summary.methods
        if summary.spread(dataset, method, "accuracy") is not None
    ]
    return markdown(["method", "name", *COLUMNS.values()], rows)


SUITE = Suite(
    name="compcars",
    title="CompCars",
    about=(
        "Four types of cars in 30 domains, five viewpoints in six years; the front views of 2009 "
        "are the source. `compcars` are the photographs of the release, which its authors give out "
        "on request; `compcars-features` the ResNet-18 features that the paper's authors "
        "published. `compcars-generated` are drawn cars in the same folders, anew with every "
        "seed: the viewpoint stretches them, the year tints the picture. On pictures every "
        "network has the backbone `conv`, trained with it; plain models, and the paper's own, "
        "which takes no backbone here, have the pixels."
    ),
    datasets={
        "compcars": SuiteDataset(
            "CompCars, photographs", "classification", photographs, optional=True
        ),
        "compcars-features": SuiteDataset(
            "CompCars, the authors' features", "classification", _features, optional=True
        ),
        "compcars-generated": SuiteDataset(
            "Drawn cars", "classification", generated, redraws=True, optional=True
        ),
    },
    methods={
        **{method.name: method for method in _networks()},
        **some_methods("logistic", "svm", "forest", "knn"),
    },
    seeds=3,
    figures=(
        prediction_figures,
        domain_figures,
        map_figures,
        partial(group_figures, "viewpoint"),
        partial(group_figures, "year"),
    ),
    headline={"classification": "accuracy"},
    render=compcars_document,
)

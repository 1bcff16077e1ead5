"""Rows of the suite on cars: photographs, features that were published, and drawn cars."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from domindex.datasets import CompCars, DomainDataset
from domindex.datasets.compcars import find_release
from domindex.datasets.files import DataHome, data_folder, git_blob_id
from domindex.persistence.atomic import new_file
from domindex_bench.data.drawn_cars import write_generated_compcars

WEIGHTS = ("resnet18*.pth", "resnet18*.safetensors")
"""Files of ResNet-18's published weights that are looked for beside the data."""

ROWS_AT_ONCE = 64
N_DIGITS = 12

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
    weights = next((path for form in WEIGHTS for path in sorted(home.glob(form))), None)
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
    key = hashlib.sha256(about.encode()).hexdigest()[:N_DIGITS]
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
        for begin in range(0, len(cars), ROWS_AT_ONCE):
            numbers = range(begin, min(begin + ROWS_AT_ONCE, len(cars)))
            rows = np.stack([cars[number][0] for number in numbers])
            parts.append(network(torch.from_numpy(rows)).numpy())
    return np.concatenate(parts)

"""Fitted estimators as a folder: weights and arrays in safetensors, everything else in JSON.

Opening one runs no code: there is no pickle, no name is imported from the file, classes come from
a fixed list, and nothing larger than the files themselves is allocated.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from domindex.data.normalizing import NORMALIZATIONS, RowNormalizer
from domindex.data.standardizing import InputScaler
from domindex.errors import InputError
from domindex.estimators.fitted import FittedModel
from domindex.estimators.representation import RowRepresentation
from domindex.estimators.saved_module import build_module, describe_module, module_arrays
from domindex.geometry import DomainIndex
from domindex.geometry.atlas import Atlas
from domindex.geometry.transport import Method
from domindex.geometry.views import CloudView
from domindex.persistence.atomic import new_folder
from domindex.persistence.json_files import read_json, write_json
from domindex.persistence.plain_values import from_plain, to_plain
from domindex.versions import versions

if TYPE_CHECKING:
    from domindex.estimators.base import BaseVDI

FORMAT = "a saved domindex model"
FORMAT_VERSION = 1
"""Raised when a folder can no longer be read by the release before."""

DESCRIPTION = "model.json"
WEIGHTS = "weights.safetensors"

_MODULE = "module."
_DAMAGE = (KeyError, IndexError, TypeError, ValueError, AttributeError, RuntimeError, OverflowError)
"""What reading a description can raise that this library did not write."""

Arrays = dict[str, NDArray]
Json = dict[str, Any]


def save(model: BaseVDI, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
    """Write `model` to a folder that appears complete or not at all."""
    from safetensors.numpy import save_file

    description, arrays = _describe(model)
    with new_folder(path, marker=DESCRIPTION, overwrite=overwrite) as folder:
        save_file({n: np.array(array, order="C") for n, array in arrays.items()}, folder / WEIGHTS)
        description["sha256"] = _checksum(folder / WEIGHTS)
        write_json(folder / DESCRIPTION, description)


def load(path: str | os.PathLike[str]) -> Any:
    """The estimator that was saved at `path`: a `VDIClassifier` or a `VDIRegressor`.

    It predicts bit for bit what the saved one did. Opening a folder from a stranger runs no code.
    """
    folder = Path(path).expanduser()
    if not folder.is_dir():
        raise InputError(f"There is no folder {folder}. Name one that model.save(path) wrote.")
    description = read_json(folder / DESCRIPTION, form=FORMAT, newest=FORMAT_VERSION)
    try:
        return _revive(description, _read_arrays(folder / WEIGHTS, description))
    except InputError:
        raise
    except _DAMAGE as error:
        raise InputError(
            f"{folder} is damaged: {DESCRIPTION} does not describe a model "
            f"({type(error).__name__}: {error}). Copy it again from where it was saved."
        ) from error


def _describe(model: BaseVDI) -> tuple[Json, Arrays]:
    """Everything a prediction needs, and what a user may look up."""
    kinds = _estimators()
    if kinds.get(type(model).__name__) is not type(model):
        raise InputError(
            f"The model is a {type(model).__name__}, and only {', '.join(kinds)} themselves can be "
            "saved. Use pickle, which keeps everything and runs code when opened."
        )
    fitted = model._fitted
    index = model.domain_index_
    arrays = {_MODULE + name: array for name, array in module_arrays(fitted.module).items()}
    arrays |= {
        "scaler.offset": fitted.scaler.offset,
        "scaler.scale": fitted.scaler.scale,
        "index.coordinates": index.coordinates,
        "index.distances": index.distances,
        "index.eigenvalues": index.eigenvalues,
        "index.deviations": model.domain_index_std_,
        "atlas.coordinates": fitted.atlas.index.coordinates,
        "atlas.transport": fitted.atlas.transport,
        "atlas.clouds": np.concatenate(fitted.atlas.clouds),
    }
    description: Json = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "estimator": type(model).__name__,
        "parameters": {
            name: to_plain(value, f"The parameter {name}")
            for name, value in model.get_params(deep=False).items()
        },
        "input_shape": list(model._input_shape),
        "n_features_in": model.n_features_in_,
        "feature_names_in": [str(n) for n in getattr(model, "feature_names_in_", [])] or None,
        "domains": [to_plain(name, "A domain's name") for name in model.domains_],
        "source_domains": [model.domains_.index(name) for name in model.source_domains_],
        "module": describe_module(fitted.module),
        "atlas": {
            "method": fitted.atlas.method,
            "neighbors": [int(number) for number in fitted.atlas.neighbors],
            "unit": float(fitted.atlas.unit),
            "cloud_sizes": [len(cloud) for cloud in fitted.atlas.clouds],
        },
        "view": None if fitted.view is None else {"mean_share": fitted.view.mean_share},
        "representation": None,
        "flow": None if model.flow_ is None else _plain_dict(model.flow_),
        "history": plain_frame(model.history_),
        "versions": versions(),
    }
    if fitted.view is not None:
        arrays["view.matrix"] = fitted.view.matrix
    if fitted.representation is not None:
        description["representation"] = _describe_normalizer(fitted.representation.normalizer)
        arrays["representation.offset"] = fitted.representation.scaler.offset
        arrays["representation.scale"] = fitted.representation.scaler.scale
    own, own_arrays = model._describe_outputs()
    description["outputs"] = own
    arrays |= {f"outputs.{name}": array for name, array in own_arrays.items()}
    description["arrays"] = {
        name: {"shape": list(array.shape), "order": _order(array)} for name, array in arrays.items()
    }
    return description, arrays


def _revive(description: Json, arrays: Arrays) -> BaseVDI:
    kinds = _estimators()
    name = description["estimator"]
    if name not in kinds:
        raise ValueError(f"the estimator is {name!r}, and only {', '.join(kinds)} can be opened")
    model = kinds[name](**{n: from_plain(v) for n, v in description["parameters"].items()})
    domains = tuple(from_plain(name) for name in description["domains"])
    if not domains or len(set(domains)) < len(domains):
        raise ValueError("the domains do not have a name each")
    _check_shapes(description, arrays, len(domains))
    fitted = _revive_fitted(description, arrays, domains)
    model._fitted = fitted
    model._input_shape = tuple(int(size) for size in description["input_shape"])
    model.n_features_in_ = int(description["n_features_in"])
    if description["feature_names_in"] is not None:
        model.feature_names_in_ = np.array(description["feature_names_in"], dtype=object)
    model.domains_ = list(domains)
    model.source_domains_ = [domains[number] for number in description["source_domains"]]
    model.domain_index_ = DomainIndex(
        domains,
        arrays["index.coordinates"],
        arrays["index.distances"],
        arrays["index.eigenvalues"],
    )
    model.domain_index_std_ = arrays["index.deviations"]
    model.domain_indices_ = model.domain_index_.coordinates
    model.domain_distances_ = fitted.atlas.transport
    model.history_ = revive_frame(description["history"])
    model.flow_ = None if description["flow"] is None else _revive_dict(description["flow"])
    model._n_features_out = model.local_dim
    prefix = "outputs."
    own = {name[len(prefix) :]: array for name, array in arrays.items() if name.startswith(prefix)}
    model._revive_outputs(description["outputs"], own)
    return model


def _estimators() -> dict[Any, type[BaseVDI]]:
    """All that can be saved and opened."""
    from domindex.estimators import VDIClassifier, VDIRegressor

    return {"VDIClassifier": VDIClassifier, "VDIRegressor": VDIRegressor}


def _check_shapes(description: Json, arrays: Arrays, n_domains: int) -> None:
    """That the arrays fit the networks and each other; the networks check their own."""
    sizes = description["module"]
    n_features, place = sizes["n_features"], (n_domains, sizes["index_dim"])
    expected = {
        "scaler.offset": (n_features,),
        "scaler.scale": (n_features,),
        "index.coordinates": place,
        "index.deviations": place,
        "index.distances": (n_domains, n_domains),
        "index.eigenvalues": (n_domains,),
        "atlas.coordinates": place,
        "atlas.transport": (n_domains, n_domains),
    }
    for name in ("representation.offset", "representation.scale"):
        if name in arrays:
            expected[name] = (n_features,)
    for name, shape in expected.items():
        if arrays[name].shape != shape:
            raise ValueError(f"{name} has shape {arrays[name].shape} and should have {shape}")


def _revive_fitted(description: Json, arrays: Arrays, domains: tuple[Hashable, ...]) -> FittedModel:
    weights = {n[len(_MODULE) :]: a for n, a in arrays.items() if n.startswith(_MODULE)}
    module = build_module(description["module"], weights)
    representation = None
    if description["representation"] is not None:
        representation = RowRepresentation(
            _revive_normalizer(description["representation"]),
            InputScaler(arrays["representation.offset"], arrays["representation.scale"]),
        )
    view = None
    if description["view"] is not None:
        view = CloudView(arrays["view.matrix"], float(description["view"]["mean_share"]))
    return FittedModel(
        scaler=InputScaler(arrays["scaler.offset"], arrays["scaler.scale"]),
        representation=representation,
        module=module,
        atlas=_revive_atlas(description["atlas"], arrays, domains),
        view=view,
    )


def _revive_atlas(described: Json, arrays: Arrays, domains: tuple[Hashable, ...]) -> Atlas:
    method, sizes, clouds = described["method"], described["cloud_sizes"], arrays["atlas.clouds"]
    if method not in get_args(Method):
        raise ValueError(f"transport is measured by {method!r}")
    if len(sizes) != len(domains) or min(sizes) < 1 or sum(sizes) != len(clouds):
        raise ValueError("the clouds do not match the domains")
    index = DomainIndex(
        domains,
        arrays["atlas.coordinates"],
        arrays["index.distances"],
        arrays["index.eigenvalues"],
    )
    return Atlas(
        index,
        arrays["atlas.transport"],
        tuple(np.split(clouds, np.cumsum(sizes)[:-1])),
        method,
        tuple(int(number) for number in described["neighbors"]),
        float(described["unit"]),
    )


def _describe_normalizer(normalizer: RowNormalizer) -> Json:
    return {
        "kind": normalizer.kind,
        "unit": float(normalizer.unit),
        "domains": [
            [to_plain(name, "A domain's name"), float(level), float(spread)]
            for name, (level, spread) in normalizer.domains.items()
        ],
    }


def _revive_normalizer(described: Json) -> RowNormalizer:
    if described["kind"] not in NORMALIZATIONS:
        raise ValueError(f"rows are normalised by {described['kind']!r}")
    domains = {
        from_plain(name): (float(level), float(spread))
        for name, level, spread in described["domains"]
    }
    return RowNormalizer(described["kind"], float(described["unit"]), domains)


def _read_arrays(path: Path, description: Json) -> Arrays:
    """The arrays, each with the shape and memory order that the description says.

    Order matters to the last bit: matrix products of the same numbers in another order of memory
    may be summed differently.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    if not path.is_file():
        raise InputError(f"There is no {path}. Copy the whole folder of the saved model.")
    if _checksum(path) != description["sha256"]:
        raise InputError(
            f"{path} is damaged: its SHA-256 is not the one that {DESCRIPTION} gives. "
            "Copy the folder again from where it was saved."
        )
    try:
        found = load_file(path)
    except (SafetensorError, OSError, *_DAMAGE) as error:
        raise InputError(f"{path} is damaged ({error}). Copy the folder again.") from error
    described = description["arrays"]
    if found.keys() != described.keys():
        raise ValueError("the arrays are not those that are described")
    return {name: _arranged(found[name], described[name]) for name in described}


def _arranged(array: NDArray, described: Mapping[str, Any]) -> NDArray:
    if list(array.shape) != described["shape"] or array.dtype != np.float64:
        raise ValueError(f"an array has shape {array.shape} and type {array.dtype}")
    return np.array(array, order="F" if described["order"] == "F" else "C")


def _order(array: NDArray) -> str:
    return "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"


def _checksum(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        for block in iter(lambda: file.read(2**20), b""):
            digest.update(block)
    return digest.hexdigest()


def _plain_dict(values: Mapping[str, Any]) -> Json:
    return {str(name): to_plain(value, name) for name, value in values.items()}


def _revive_dict(plain: Json) -> dict[str, Any]:
    return {name: from_plain(value) for name, value in plain.items()}


def plain_frame(frame: pd.DataFrame) -> list[Json]:
    """A table by columns; a missing number is null."""
    return [
        {
            "name": str(name),
            "number": frame[name].dtype.kind == "f",
            "values": [
                None if value != value else to_plain(value, name) for value in frame[name].tolist()
            ],
        }
        for name in frame.columns
    ]


def revive_frame(columns: list[Json]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            column["name"]: np.array(column["values"], dtype=np.float64)
            if column["number"]
            else pd.Series([from_plain(value) for value in column["values"]])
            for column in columns
        }
    )

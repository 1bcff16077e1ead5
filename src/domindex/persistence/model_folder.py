"""Fitted estimators as a folder: weights and arrays in safetensors, everything else in JSON.

Opening one runs no code: there is no pickle, classes come from fixed lists and from what the user
registered, and nothing much larger than the files themselves is allocated.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from domindex.errors import InputError
from domindex.persistence.atomic import existing_folder, new_folder
from domindex.persistence.json_files import read_json, write_json
from domindex.persistence.manifest import MANIFEST, check_manifest, write_manifest
from domindex.persistence.states import Arrays, join_state, split_state
from domindex.versions import versions

FORMAT = "a saved domindex model"
FORMAT_VERSION = 3
"""Raised when a folder can no longer be read by the release before."""

LAST_RELEASES = {2: "domindex 0.1.0"}
"""Formats that are read no more, and the last release that reads each."""

MAY_LACK_VALUES = ("history", "forecast", "candidates")
"""Parts of a state that are tables for people, where NaN stands for no value."""

DESCRIPTION = "model.json"
WEIGHTS = "weights.safetensors"

ARRAY_TYPES = ("float64", "float32", "uint8")
"""Numbers, weights of backbones, and bytes."""

_DAMAGE = (KeyError, IndexError, TypeError, ValueError, AttributeError, RuntimeError, OverflowError)
"""What reading a description can raise that this library did not write."""

Model = TypeVar("Model")


class Saveable(Protocol):
    """What can be saved: it says itself what it is made of."""

    def state(self) -> dict[str, Any]: ...


def save_model(model: Saveable, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
    """Write `model` to a folder that appears complete or not at all."""
    tree, arrays = split_state(model.state())
    with new_folder(path, marker=DESCRIPTION, overwrite=overwrite) as folder:
        _write_arrays(arrays, folder / WEIGHTS)
        description = {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "estimator": type(model).__name__,
            "state": tree,
            "arrays": {name: _described(array) for name, array in arrays.items()},
            "versions": versions(),
        }
        write_json(folder / DESCRIPTION, description)
        write_manifest(folder)


def _write_arrays(arrays: Arrays, path: Path) -> None:
    """OSError where the disk is full, for which safetensors has an error of its own."""
    from safetensors import SafetensorError
    from safetensors.numpy import save_file

    try:
        save_file({n: np.array(array, order="C") for n, array in arrays.items()}, path)
    except SafetensorError as error:
        raise OSError(str(error)) from error


def load_model(
    path: str | os.PathLike[str], kinds: Mapping[str, Callable[[dict[str, Any]], Model]]
) -> Model:
    """The estimator that was saved at `path`; `kinds` makes one of each name from its state."""
    folder = existing_folder(path)
    if os.path.lexists(folder / MANIFEST):
        check_manifest(folder)
    description = read_json(folder / DESCRIPTION, form=FORMAT, newest=FORMAT_VERSION)
    _require_present_format(folder, description)
    if not os.path.lexists(folder / MANIFEST):
        raise InputError(f"There is no {folder / MANIFEST}. Copy the whole folder of the model.")
    try:
        name = description["estimator"]
        if name not in kinds:
            raise ValueError(f"it is a {name!r}, and only {', '.join(kinds)} can be opened")
        state = join_state(description["state"], _read_arrays(folder / WEIGHTS, description))
        return kinds[name](state)
    except InputError:
        raise
    except _DAMAGE as error:
        raise InputError(
            f"{folder} is damaged: {DESCRIPTION} does not describe a model "
            f"({type(error).__name__}: {error}). Copy it again from where it was saved."
        ) from error


def _require_present_format(folder: Path, description: Mapping[str, Any]) -> None:
    found = description["format_version"]
    if found < FORMAT_VERSION:
        last = LAST_RELEASES.get(found, "no release")
        raise InputError(
            f"{folder} has format version {found}, which {last} reads; this domindex reads version "
            f"{FORMAT_VERSION}, in which a model is a committee. Fit and save the model anew."
        )


def _read_arrays(path: Path, description: Mapping[str, Any]) -> Arrays:
    """The arrays, each with the shape and memory order that the description says.

    Order matters to the last bit: matrix products of the same numbers in another order of memory
    may be summed differently.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    if not path.is_file():
        raise InputError(f"There is no {path}. Copy the whole folder of the saved model.")
    try:
        found = load_file(path)
    except (SafetensorError, OSError, *_DAMAGE) as error:
        raise InputError(f"{path} is damaged ({error}). Copy the folder again.") from error
    described = description["arrays"]
    if found.keys() != described.keys():
        raise ValueError("the arrays are not those that are described")
    return {name: _arranged(name, found[name], described[name]) for name in described}


def _arranged(name: str, array: NDArray, described: Mapping[str, Any]) -> NDArray:
    kind = described.get("type", "float64")
    if list(array.shape) != described["shape"] or kind not in ARRAY_TYPES or array.dtype != kind:
        raise ValueError(f"an array has shape {array.shape} and type {array.dtype}")
    may_lack = name.partition(".")[0] in MAY_LACK_VALUES
    if kind == "float64" and not may_lack and not np.isfinite(array).all():
        raise ValueError(f"the array {name} holds NaN or infinity")
    return np.array(array, order="F" if described["order"] == "F" else "C")


def _described(array: NDArray) -> dict[str, Any]:
    return {"shape": list(array.shape), "order": _order(array), "type": str(array.dtype)}


def _order(array: NDArray) -> str:
    return "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"

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

from domindex.errors import InputError
from domindex.persistence.atomic import existing_folder, new_folder
from domindex.persistence.codec import (
    DAMAGE,
    Arrays,
    NotEncodable,
    arrange_arrays,
    decode,
    describe_arrays,
    encode,
    not_saveable,
    read_json,
    write_json,
)
from domindex.persistence.manifest import MANIFEST, check_manifest, write_manifest
from domindex.persistence.paths import open_regular
from domindex.versions import versions

FORMAT = "a saved domindex model"
FORMAT_VERSION = 3
"""Raised when a folder can no longer be read by the release before."""

LAST_RELEASES = {2: "domindex 0.1.0"}
"""Formats that are read no more, and the last release that reads each."""

DESCRIPTION = "model.json"
WEIGHTS = "weights.safetensors"
ARRAY_TYPES = ("float64", "float32", "uint8")
"""Of numbers, weights of backbones, and bytes."""

Model = TypeVar("Model")


class Saveable(Protocol):
    """What can be saved: it says itself what it is made of."""

    def state(self) -> dict[str, Any]: ...


def save_model(model: Saveable, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
    """Write `model` to a folder that appears complete or not at all."""
    try:
        tree, arrays = encode(model.state())
    except NotEncodable as error:
        raise not_saveable(error.value, _words(error.path)) from None
    for name, array in arrays.items():
        if str(array.dtype) not in ARRAY_TYPES:
            arrays[name] = array.astype(np.float64)
    with new_folder(path, marker=DESCRIPTION, overwrite=overwrite) as folder:
        _write_arrays(arrays, folder / WEIGHTS)
        description = {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "estimator": type(model).__name__,
            "state": tree,
            "arrays": describe_arrays(arrays),
            "versions": versions(),
        }
        write_json(folder / DESCRIPTION, description)
        write_manifest(folder)


def _words(path: str) -> str:
    """What a value is called that cannot be saved, by the keys that lead to it."""
    keys = [key for key in path.split(".") if not key.isdigit()]
    if keys[:-1] == ["parameters"]:
        return f"The parameter {keys[-1]}"
    words = {"domains": "A domain's name", "names": "A domain's name", "classes": "A class"}
    return words.get(keys[-1], f"The {'.'.join(keys)}")


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
    found = description["format_version"]
    if found < FORMAT_VERSION:
        raise InputError(
            f"{folder} has format version {found}, which {LAST_RELEASES.get(found, 'no release')} "
            f"reads; this domindex reads version {FORMAT_VERSION}, in which a model is a "
            "committee. Fit and save the model anew."
        )
    if not os.path.lexists(folder / MANIFEST):
        raise InputError(f"There is no {folder / MANIFEST}. Copy the whole folder of the model.")
    try:
        name = description["estimator"]
        if name not in kinds:
            raise ValueError(f"it is a {name!r}, and only {', '.join(kinds)} can be opened")
        state = decode(description["state"], _read_arrays(folder / WEIGHTS, description["arrays"]))
        return kinds[name](state)
    except InputError:
        raise
    except DAMAGE as error:
        raise InputError(
            f"{folder} is damaged: {DESCRIPTION} does not describe a model "
            f"({type(error).__name__}: {error}). Copy it again from where it was saved."
        ) from error


def _read_arrays(path: Path, described: Mapping[str, Any]) -> Arrays:
    """Finite numbers, but in tables for people, where NaN stands for no value."""
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        with open_regular(path):
            found = load_file(path)
    except (SafetensorError, OSError, *DAMAGE) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path} is damaged ({error}). Copy the folder again.") from error
    for name, array in found.items():
        if str(array.dtype) not in ARRAY_TYPES:
            raise ValueError(f"the array {name} has type {array.dtype}")
        is_table = name.partition(".")[0] in ("history", "forecast", "candidates")
        if array.dtype == np.float64 and not is_table and not np.isfinite(array).all():
            raise ValueError(f"the array {name} holds NaN or infinity")
    return arrange_arrays(found, described)

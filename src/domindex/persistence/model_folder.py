"""Fitted estimators as a folder: arrays in safetensors, all else in JSON, and a list of checksums.

Opening one runs no code: there is no pickle, and classes come from fixed lists and from what the
user registered. A checksum finds damage; it is no proof of who wrote a folder.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from domindex.errors import InputError
from domindex.persistence import codec
from domindex.persistence.atomic import existing_folder, new_folder
from domindex.persistence.codec import DAMAGE, Arrays, NotEncodable, read_json, write_json
from domindex.persistence.paths import open_regular, read_bounded
from domindex.versions import versions

FORMAT = "a saved domindex model"
FORMAT_VERSION = 5
"""Raised when a folder can no longer be read by the release before."""

FORMER_NAMES = {
    3: {"VDIClassifier": "CrossDomainClassifier", "VDIRegressor": "CrossDomainRegressor"},
    4: {},
    5: {},
}
"""Formats that are read, and what estimators were called there that have another name now."""

LAST_RELEASES = {2: "domindex 0.1.0"}
"""Formats that are read no more, and the last release that reads each."""

DESCRIPTION = "model.json"
WEIGHTS = "weights.safetensors"
ARRAY_TYPES = ("float64", "float32", "uint8")
"""Of numbers, weights of backbones, and bytes."""

MANIFEST = "manifest.sha256"
SIGNATURE = "this list"
"""What the last line of the manifest, the checksum of all lines above it, stands for."""

Model = TypeVar("Model")


def save_model(model: Any, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
    """Write `model.state()` to a folder that appears complete or not at all."""
    from safetensors import SafetensorError
    from safetensors.numpy import save_file

    try:
        tree, arrays = codec.encode(model.state())
    except NotEncodable as error:
        raise codec.not_saveable(error.value, _words(error.path)) from None
    for name, array in arrays.items():
        if str(array.dtype) not in ARRAY_TYPES:
            arrays[name] = array.astype(np.float64)
    with new_folder(path, marker=DESCRIPTION, overwrite=overwrite) as folder:
        try:
            in_c_order = {name: np.array(array, order="C") for name, array in arrays.items()}
            save_file(in_c_order, folder / WEIGHTS)
        except SafetensorError as error:  # its own word for a full disk
            raise OSError(str(error)) from error
        description = {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "estimator": type(model).__name__,
            "state": tree,
            "arrays": codec.describe_arrays(arrays),
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


def load_model(
    path: str | os.PathLike[str], kinds: Mapping[str, Callable[[dict[str, Any]], Model]]
) -> Model:
    """The estimator that was saved at `path`; `kinds` makes one of each name from its state."""
    folder = existing_folder(path)
    is_listed = os.path.lexists(folder / MANIFEST)
    if is_listed:
        check_manifest(folder)
    description = read_json(folder / DESCRIPTION, form=FORMAT, newest=FORMAT_VERSION)
    found = description["format_version"]
    if found not in FORMER_NAMES:
        raise InputError(
            f"{folder} has format version {found}, which {LAST_RELEASES.get(found, 'no release')} "
            f"reads; this domindex reads versions from {min(FORMER_NAMES)}, in which a model "
            "is a committee. Fit and save the model anew."
        )
    if not is_listed:
        raise InputError(f"There is no {folder / MANIFEST}. Copy the whole folder of the model.")
    try:
        stated = description["estimator"]
        name = FORMER_NAMES[found].get(stated, stated)
        if name not in kinds:
            raise ValueError(f"it is a {stated!r}, and only {', '.join(kinds)} can be opened")
        arrays = _read_arrays(folder / WEIGHTS, description["arrays"])
        return kinds[name](codec.decode(description["state"], arrays))
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
    except InputError:
        raise
    except (SafetensorError, OSError, *DAMAGE) as error:
        raise InputError(f"{path} is damaged ({error}). Copy the folder again.") from error
    for name, array in found.items():
        if str(array.dtype) not in ARRAY_TYPES:
            raise ValueError(f"the array {name} has type {array.dtype}")
        is_table = name.partition(".")[0] in ("history", "forecast", "candidates")
        if array.dtype == np.float64 and not is_table and not np.isfinite(array).all():
            raise ValueError(f"the array {name} holds NaN or infinity")
    return codec.arrange_arrays(found, described)


def write_manifest(folder: Path) -> None:
    """List all files of `folder` with their checksums, and sign the list by its own."""
    names = sorted(path.name for path in folder.iterdir() if path.is_file())
    lines = "".join(f"{_checksum(folder / name)}  {name}\n" for name in names if name != MANIFEST)
    signature = hashlib.sha256(lines.encode()).hexdigest()
    (folder / MANIFEST).write_text(f"{lines}{signature}  {SIGNATURE}\n", encoding="utf-8")


def check_manifest(folder: Path) -> None:
    """InputError where a file is not the one that was listed, or the list is not as it was."""
    manifest = folder / MANIFEST
    try:
        lines = read_bounded(manifest, 64 * 2**10).decode("utf-8").splitlines(keepends=True)
        pairs = [line.rstrip("\n").split("  ", 1) for line in lines]
        signature, last = pairs[-1]
        whole = hashlib.sha256("".join(lines[:-1]).encode()).hexdigest()
        if last != SIGNATURE or signature != whole or not lines[-1].endswith("\n"):
            raise ValueError("its last line is not the checksum of the others")
        listed = {name: expected for expected, name in pairs[:-1]}
        if any("/" in name or "\\" in name or name in ("", ".", "..") for name in listed):
            raise ValueError("it names something outside of the folder")
    except (ValueError, IndexError) as error:
        raise InputError(
            f"{manifest} is damaged ({error}). Copy the folder again from where it was saved."
        ) from None
    for path, expected in ((folder / name, one) for name, one in listed.items()):
        if not os.path.lexists(path):
            raise InputError(f"There is no {path}. Copy the whole folder of the saved model.")
        if _checksum(path) != expected:
            raise InputError(
                f"{path} is damaged: its SHA-256 is not the one that {MANIFEST} gives. "
                "Copy the folder again from where it was saved."
            )


def _checksum(path: Path) -> str:
    digest = hashlib.sha256()
    with open_regular(path) as file:
        for block in iter(lambda: file.read(2**20), b""):
            digest.update(block)
    return digest.hexdigest()

"""Fitted scikit-learn estimators as bytes, without pickle.

The bytes are those of skops: a zip of JSON and arrays. Opening them makes objects of the listed
classes only, and whatever compiled code would follow blindly is checked first.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from domindex.errors import InputError
from domindex.persistence.loaded_checks import check_loaded
from domindex.persistence.tree_checks import check_tree_state
from domindex.persistence.trusted_types import LOADERS, trusted_types

Bytes = NDArray[np.uint8]

ZIP_LEVEL = 1
"""Of deflate. A hundred trees take a fifth of the room, and no longer to write."""

MOST_UNPACKED = 200
"""Times the packed size that contents may take; trees take five times."""

SIMPLE = frozenset({"JsonNode", "NdArrayNode", "TypeNode"})
"""Ways of skops to make an object without parts; arrays of objects, which have some, are never
shared by estimators."""

ROOM = 16 * 2**20
"""Bytes that small contents may take, however well they pack."""


def estimator_bytes(estimator: Any, what: str) -> Bytes:
    """The estimator, or a list of them, as bytes (n,); refused where it could not be opened again.

    `what` names it in the refusal.
    """
    import skops.io

    try:
        packed = skops.io.dumps(
            estimator, compression=zipfile.ZIP_DEFLATED, compresslevel=ZIP_LEVEL
        )
        estimator_from_bytes(np.frombuffer(packed, dtype=np.uint8))
    except Exception as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(
            f"{what} cannot be kept in a saved model, which runs no code when opened ({reason}). "
            "Use pickle, which keeps everything and runs code when opened, or another predictor."
        ) from error
    return np.frombuffer(packed, dtype=np.uint8)


def estimator_from_bytes(packed: Bytes) -> Any:
    """What `estimator_bytes` was given; ValueError for anything that is damaged or not trusted."""
    import skops.io

    data = np.asarray(packed, dtype=np.uint8).tobytes()
    try:
        trusted = _require_trusted(data)
        loaded = skops.io.loads(data, trusted=trusted)
        check_loaded(loaded)
    except ValueError:
        raise
    except Exception as error:
        raise ValueError(f"an estimator is damaged ({type(error).__name__}: {error})") from error
    return loaded


def _require_trusted(data: bytes) -> list[str]:
    """The types in the file, all of them listed; ValueError where one is not."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        unpacked = sum(entry.file_size for entry in archive.infolist())
        if unpacked > max(ROOM, MOST_UNPACKED * len(data)):
            raise ValueError(f"an estimator of {len(data)} bytes would unpack to {unpacked}")
        nodes = list(_nodes(json.loads(archive.read("schema.json"))))
        types = {f"{node['__module__']}.{node['__class__']}" for node in nodes}
        loaders = {str(node["__loader__"]) for node in nodes}
        if types - trusted_types() or loaders - LOADERS:
            strange = sorted(types - trusted_types()) or sorted(loaders - LOADERS)
            raise ValueError(f"{', '.join(strange)} is not among the types that are opened")
        _require_one_meaning(nodes)
        for node in nodes:
            if node["__loader__"] == "TreeNode":
                check_tree_state(node, lambda name: _array(archive, name))
    return sorted(types)


def _require_one_meaning(nodes: list[dict[str, Any]]) -> None:
    """That what is checked is what is made: of nodes with the same number skops makes the first.

    Shared objects have a number in common. Simple ones are then written alike; the parts of a tree
    are never shared.
    """
    groups: dict[Any, list[dict[str, Any]]] = {}
    for node in nodes:
        groups.setdefault(node["__id__"], []).append(node)
    for first, *others in groups.values():
        loaders = {str(node["__loader__"]) for node in (first, *others)}
        is_simple = bool(loaders & SIMPLE) and any(other != first for other in others)
        if is_simple or ("TreeNode" in loaders and len(loaders) > 1):
            raise ValueError("two parts of an estimator have the same number")
    for node in nodes:
        if node["__loader__"] == "TreeNode":
            parts = (node["content"], node["__reduce__"]["args"])
            if any(len(groups[part["__id__"]]) > 1 for part in parts):
                raise ValueError("a tree has the parts of another")


def _array(archive: zipfile.ZipFile, name: str) -> Any:
    return np.load(io.BytesIO(archive.read(name)), allow_pickle=False)


def _nodes(schema: Any) -> Iterator[dict[str, Any]]:
    """What describes an object of the file: how it is made, its type, its parts."""
    waiting = [schema]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            if "__loader__" in part:
                yield part
            waiting += part.values()
        elif isinstance(part, list):
            waiting += part

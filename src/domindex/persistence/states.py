"""Nested states as a tree of JSON and a flat table of arrays, and back.

An object's `state()` is a dictionary of plain values, float arrays, bytes as arrays of uint8, and
further dictionaries. In the tree each kind is marked, so that 1, 1.0, True, "1", (1,) and [1] stay
six things.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from domindex.persistence.plain_values import from_plain, to_plain

Arrays = dict[str, NDArray]

_WORDS = {"domains": "A domain's name", "names": "A domain's name", "classes": "A class"}
"""What a value that cannot be kept is called, by its key."""


def split_state(state: Mapping[str, Any]) -> tuple[dict[str, Any], Arrays]:
    """The tree, and the arrays by their path in it."""
    arrays: Arrays = {}
    return _encode(state, "", arrays), arrays


def join_state(tree: Any, arrays: Arrays) -> dict[str, Any]:
    """What `split_state` was given; ValueError where tree and arrays do not agree."""
    used: set[str] = set()
    state = _decode(tree, arrays, used)
    if not isinstance(state, dict) or used != arrays.keys():
        raise ValueError("the arrays are not those that are described")
    return state


def _encode(value: Any, path: str, arrays: Arrays) -> Any:
    if isinstance(value, Mapping):
        inner = {
            str(k): _encode(v, f"{path}.{k}" if path else str(k), arrays) for k, v in value.items()
        }
        return {"dict": inner}
    if isinstance(value, np.ndarray):
        as_it_is = value.dtype in (np.uint8, np.float32)
        arrays[path] = value if as_it_is else np.asarray(value, dtype=np.float64)
        return {"array": path}
    parent, _, key = path.rpartition(".")
    what = f"The parameter {key}" if parent == "parameters" else _WORDS.get(key, f"The {path}")
    return to_plain(value, what)


def _decode(tree: Any, arrays: Arrays, used: set[str]) -> Any:
    if isinstance(tree, dict) and set(tree) == {"dict"}:
        return {name: _decode(part, arrays, used) for name, part in tree["dict"].items()}
    if isinstance(tree, dict) and set(tree) == {"array"}:
        used.add(tree["array"])
        return arrays[tree["array"]]
    return from_plain(tree)

"""Values of this library as a tree of JSON and a table of arrays, and back, to the last bit.

Unlike a `state()`, which says itself what lasts, this takes any frozen value between two stages of
a fit apart by its fields: numbers, texts, arrays of any type and order of memory, and dataclasses
of this library. No code is read back, and no module is imported for it.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray]

PACKAGE = "domindex."
NUMBERS = "biuf"
"""Kinds of numpy's types that are kept as they are."""


class NotKept(TypeError):  # noqa: N818 - says what happened
    """A value that this module has no way to write."""


def take_apart(value: Any) -> tuple[Any, Arrays]:
    """The tree, in terms of JSON, and the arrays that it names; `NotKept` for anything else."""
    arrays: Arrays = {}
    return _encode(value, arrays), arrays


def put_together(tree: Any, arrays: Mapping[str, NDArray]) -> Any:
    """What `take_apart` was given; ValueError, KeyError or TypeError where that is damaged."""
    if not isinstance(tree, dict):
        return tree
    ((kind, content),) = tree.items()
    if kind in ("list", "tuple"):
        parts = [put_together(part, arrays) for part in content]
        return parts if kind == "list" else tuple(parts)
    if kind == "dict":
        return {put_together(k, arrays): put_together(v, arrays) for k, v in content}
    if kind == "float":
        return float(content)
    if kind == "array":
        return _arranged(arrays[content["name"]], content)
    if kind == "scalar":
        return arrays[content][()]
    if kind == "objects":
        return _objects(content, arrays)
    if kind == "value":
        return _value(content, arrays)
    raise ValueError(f"{kind!r} is not a kind of value")


def _encode(value: Any, arrays: Arrays) -> Any:
    if value is None or type(value) in (str, bool, int):
        return value
    if type(value) is float:
        return value if math.isfinite(value) else {"float": repr(value)}
    if isinstance(value, np.ndarray):
        return _encode_array(value, arrays)
    if isinstance(value, np.generic):
        return _encode_scalar(value, arrays)
    if type(value) in (list, tuple):
        return {type(value).__name__: [_encode(part, arrays) for part in value]}
    if type(value) is dict:
        return {"dict": [[_encode(k, arrays), _encode(v, arrays)] for k, v in value.items()]}
    if is_dataclass(value) and type(value).__module__.startswith(PACKAGE):
        kind = type(value)
        parts = [[one.name, _encode(getattr(value, one.name), arrays)] for one in fields(value)]
        return {"value": {"kind": f"{kind.__module__}:{kind.__qualname__}", "fields": parts}}
    raise NotKept(f"a {type(value).__name__} cannot be kept")


def _encode_scalar(value: np.generic, arrays: Arrays) -> Any:
    if isinstance(value, np.str_):
        return str(value)
    if value.dtype.kind not in NUMBERS:
        raise NotKept(f"a {value.dtype} cannot be kept")
    name = str(len(arrays))
    arrays[name] = np.array(value)
    return {"scalar": name}


def _encode_array(array: NDArray, arrays: Arrays) -> Any:
    if type(array) is not np.ndarray:
        raise NotKept(f"a {type(array).__name__} cannot be kept")
    if array.dtype.kind in "UO":
        parts = [_encode(part, arrays) for part in array.ravel().tolist()]
        return {"objects": {"type": array.dtype.str, "shape": list(array.shape), "parts": parts}}
    if array.dtype.kind not in NUMBERS or not array.dtype.isnative:
        raise NotKept(f"an array of {array.dtype} cannot be kept")
    name, order = str(len(arrays)), _order(array)
    arrays[name] = np.ascontiguousarray(array.T if order == "F" else array)
    if array.ndim == 0:
        arrays[name] = arrays[name].reshape(())
    described: dict[str, Any] = {"name": name, "order": order}
    if order == "strided":
        described |= {"strides": [int(step) for step in array.strides]}
    return {"array": described}


def _order(array: NDArray) -> str:
    """Of memory: products of the same numbers in another order may be summed differently."""
    if array.flags.c_contiguous:
        return "C"
    if array.flags.f_contiguous:
        return "F"
    steps = [step for step, size in zip(array.strides, array.shape) if size > 1]
    if any(step <= 0 or step % array.itemsize for step in steps):
        return "C"  # repeated or backward in memory: what numpy makes a copy of before a product
    return "strided"


def _arranged(array: NDArray, described: Mapping[str, Any]) -> NDArray:
    order = described["order"]
    if order == "F":
        return np.array(array).T
    if order != "strided":
        return np.array(array)
    strides = [int(step) // array.itemsize for step in described["strides"]]
    span = 1 + sum(step * (size - 1) for step, size in zip(strides, array.shape))
    whole = np.zeros(span, dtype=array.dtype)
    view = np.lib.stride_tricks.as_strided(
        whole, array.shape, [step * array.itemsize for step in strides]
    )
    view[...] = array
    return view


def _objects(described: Mapping[str, Any], arrays: Mapping[str, NDArray]) -> NDArray:
    """An array of texts, or of anything."""
    parts = [put_together(part, arrays) for part in described["parts"]]
    flat = np.empty(len(parts), dtype=np.dtype(described["type"]))
    for number, part in enumerate(parts):
        flat[number] = part
    return flat.reshape(described["shape"])


def _value(described: Mapping[str, Any], arrays: Mapping[str, NDArray]) -> Any:
    """A dataclass of this library, of a module that is imported already, as it was."""
    module, _, name = described["kind"].partition(":")
    if not module.startswith(PACKAGE) or module not in sys.modules:
        raise ValueError(f"{module!r} is no module of this library's")
    kind: Any = sys.modules[module]
    for part in name.split("."):
        kind = getattr(kind, part)
    if not (isinstance(kind, type) and is_dataclass(kind)):
        raise ValueError(f"{name!r} is no value of this library's")
    found = {key: put_together(part, arrays) for key, part in described["fields"]}
    if found.keys() != {one.name for one in fields(kind)}:
        raise ValueError(f"{name!r} has other fields")
    made = object.__new__(kind)
    for key, part in found.items():
        object.__setattr__(made, key, part)
    return made

"""The one codec: values as a tree of JSON and a table of arrays, and back, to the last bit.

Kinds are marked in the tree, so that 1, 1.0, True, "1", (1,) and [1] stay six things. Reading runs
no code: nothing is imported, and the number of parts is bounded before any of them is made.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from domindex.errors import InputError
from domindex.persistence.paths import read_bounded

if TYPE_CHECKING:
    import pandas as pd

Arrays = dict[str, NDArray]

DAMAGE = (KeyError, IndexError, TypeError, ValueError, AttributeError, RuntimeError, OverflowError)
"""What reading can raise where a file is not one that this library wrote."""


class NotEncodable(TypeError):  # noqa: N818 - says what happened
    """A value that cannot be written, with its path in the tree."""

    def __init__(self, path: str, value: Any) -> None:
        super().__init__(f"a {type(value).__name__} cannot be written (at {path or 'the top'})")
        self.path, self.value = path, value


def encode(value: Any) -> tuple[Any, Arrays]:
    """The tree, in terms of JSON, and the arrays that it names, each by its path."""
    arrays: Arrays = {}
    return _encode(value, "", arrays), arrays


def _encode(value: Any, path: str, arrays: Arrays) -> Any:
    def part(name: Any, inner: Any) -> Any:
        return _encode(inner, f"{path}.{name}" if path else str(name), arrays)

    if isinstance(value, np.generic):
        value = value.item()
    if value is None or type(value) in (str, bool, int):
        return value
    if type(value) is float:
        return value if math.isfinite(value) else {"float": repr(value)}
    if type(value) in (list, tuple):
        return {type(value).__name__: [part(k, one) for k, one in enumerate(value)]}
    if isinstance(value, Mapping) and all(type(key) is str for key in value):
        return {"dict": {key: part(key, one) for key, one in value.items()}}
    if isinstance(value, Mapping):
        pairs = enumerate(value.items())
        return {"items": [[part(f"{k}.key", key), part(k, one)] for k, (key, one) in pairs]}
    if type(value) is np.ndarray and value.dtype.kind in "UO":
        inner = [part(k, one) for k, one in enumerate(value.ravel().tolist())]
        return {"objects": {"type": value.dtype.kind, "shape": list(value.shape), "parts": inner}}
    if type(value) is np.ndarray:
        if value.dtype.kind not in "biuf" or not value.dtype.isnative or value.itemsize > 8:
            raise NotEncodable(path, value.dtype)
        name = path if path not in arrays else f"{path}#{len(arrays)}"
        arrays[name] = value
        return {"array": name}
    if isinstance(value, np.random.RandomState):
        _, keys, position, has_gauss, cached = value.get_state(legacy=True)
        state = [*np.asarray(keys).tolist(), position, has_gauss]
        return {"random_state": state, "cached": float(cached)}
    if is_dataclass(value) and type(value).__module__.startswith("domindex."):
        kind = f"{type(value).__module__}:{type(value).__qualname__}"
        parts = {one.name: part(one.name, getattr(value, one.name)) for one in fields(value)}
        return {"value": {"kind": kind, "fields": parts}}
    raise NotEncodable(path, value)


def decode(tree: Any, arrays: Mapping[str, NDArray] | None = None, *, values: bool = False) -> Any:
    """What `encode` was given; one of `DAMAGE` where tree and arrays are not its work.

    Dataclasses are made only with `values`, for trusted files: their own checks are not run.
    """
    remaining = dict(arrays or {})

    def made(part: Any) -> Any:
        if part is None or isinstance(part, str | bool | int | float):
            return part
        if isinstance(part, dict) and part.keys() == {"random_state", "cached"}:
            return _random_state(part)
        if not isinstance(part, dict) or len(part) != 1:
            raise ValueError(f"{str(part)[:80]} is not a saved value")
        ((kind, content),) = part.items()
        if kind in ("list", "tuple"):
            return (list if kind == "list" else tuple)(map(made, content))
        if kind == "dict":
            return {key: made(one) for key, one in content.items()}
        if kind == "items":
            return {made(key): made(one) for key, one in content}
        if kind == "float":
            return float(content)
        if kind == "array":
            return remaining.pop(content)
        if kind == "objects":
            return _objects(content["type"], content["shape"], list(map(made, content["parts"])))
        if kind == "value" and values:
            fields_made = {key: made(one) for key, one in content["fields"].items()}
            return _value(content["kind"], fields_made)
        raise ValueError(f"{str(part)[:80]} is not a saved value")

    value = made(tree)
    if remaining:
        raise ValueError("the arrays are not those that are described")
    return value


def _random_state(part: dict[str, Any]) -> np.random.RandomState:
    """The position is checked here: numpy takes any, and reads there when it next draws."""
    *keys, position, has_gauss = (int(number) for number in part["random_state"])
    if not 0 <= position <= 624 or has_gauss not in (0, 1) or not math.isfinite(part["cached"]):
        raise ValueError("a random state is beyond its end")
    revived = np.random.RandomState()
    key = np.array(keys, dtype=np.uint32)
    revived.set_state(("MT19937", key, position, has_gauss, float(part["cached"])))
    return revived


def _objects(kind: str, shape: list[int], parts: list[Any]) -> NDArray:
    """An array of texts ("U"), as wide as they are, or of anything ("O")."""
    if kind not in ("U", "O") or (kind == "U" and not all(type(one) is str for one in parts)):
        raise ValueError(f"{kind!r:.20} is no type of texts or objects")
    flat = np.empty(len(parts), dtype=object)
    for number, part in enumerate(parts):
        flat[number] = part
    return (flat.astype(str) if kind == "U" else flat).reshape(shape)


def _value(kind: str, parts: dict[str, Any]) -> Any:
    """A dataclass of this library, of a module that is imported already, as it was."""
    module, _, name = kind.partition(":")
    if not module.startswith("domindex.") or module not in sys.modules:
        raise ValueError(f"{module!r} is no module of this library's")
    found: Any = sys.modules[module]
    for one in name.split("."):
        found = getattr(found, one)
    if not (isinstance(found, type) and is_dataclass(found)):
        raise ValueError(f"{name!r} is no value of this library's")
    if parts.keys() != {one.name for one in fields(found)}:
        raise ValueError(f"{name!r} has other fields")
    made = object.__new__(found)
    for key, part in parts.items():
        object.__setattr__(made, key, part)
    return made


def to_plain(value: Any, what: str) -> Any:
    """A value without arrays as a tree; InputError, which names `what`, where that cannot be."""
    try:
        return encode(value)[0]
    except NotEncodable as error:
        raise not_saveable(error.value, what) from None


def not_saveable(value: Any, what: str) -> InputError:
    return InputError(
        f"{what} is {value!r}, a {type(value).__name__}, which a saved model cannot keep: it holds "
        "texts, whole numbers, floats, booleans and tuples of these. Convert it, for example with "
        "str(), and fit again; or use pickle, which keeps everything and runs code when opened."
    )


def describe_arrays(arrays: Arrays) -> dict[str, Any]:
    """Shape, type and order of memory of each, on which the last bits of sums depend."""
    return {
        name: {
            "shape": list(array.shape),
            "order": "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C",
            "type": str(array.dtype),
        }
        for name, array in arrays.items()
    }


def arrange_arrays(found: Arrays, described: Mapping[str, Any]) -> Arrays:
    """Arrays of a file as they were described; ValueError where they are others."""
    if found.keys() != described.keys():
        raise ValueError("the arrays are not those that are described")
    for name, array in found.items():
        kind = described[name].get("type", "float64")
        if list(array.shape) != described[name]["shape"] or str(array.dtype) != kind:
            raise ValueError(f"an array has shape {array.shape} and type {array.dtype}")
    return {
        name: np.array(array, order="F" if described[name]["order"] == "F" else "C")
        for name, array in found.items()
    }


def to_bytes(value: Any) -> bytes:
    """A value as one run of bytes: the length of the JSON, the JSON, the arrays as safetensors."""
    from safetensors.numpy import save

    tree, arrays = encode(value)
    head = json.dumps({"tree": tree, "arrays": describe_arrays(arrays)}, allow_nan=False).encode()
    contiguous = {name: np.array(array, order="C") for name, array in arrays.items()}
    return b"".join([len(head).to_bytes(8, "little"), head, save(contiguous)])


def from_bytes(content: bytes, *, values: bool = False) -> Any:
    """What `to_bytes` was given; one of `DAMAGE` where it did not write this. As `decode`."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    end = 8 + int.from_bytes(content[:8], "little")
    described = parse_json(content[8:end])
    try:
        found = load(content[end:])
    except SafetensorError as error:
        raise ValueError(str(error)) from None
    return decode(described["tree"], arrange_arrays(found, described["arrays"]), values=values)


def parse_json(content: bytes, max_nodes: int = 10_000_000) -> Any:
    """JSON as standards have it; ValueError for other content, and where it has too many parts."""
    # Counted before anything is made: two bytes of a file can take a hundred of memory.
    if sum(content.count(sign) for sign in (b",", b"[", b"{")) > max_nodes:
        raise ValueError(f"it has more than {max_nodes} parts")
    try:
        text = content.decode("utf-8")
        return json.loads(text, parse_constant=_finite, parse_float=_finite)
    except RecursionError as error:
        raise ValueError(str(error)) from None


def write_json(path: Path, content: dict[str, Any]) -> None:
    path.write_text(json.dumps(content, indent=1, allow_nan=False) + "\n", encoding="utf-8")


def read_json(path: Path, *, form: str, newest: int) -> dict[str, Any]:
    """An object whose "format" is `form`, of a version up to `newest`."""
    try:
        content = parse_json(read_bounded(path))
    except ValueError as error:
        if isinstance(error, InputError):
            raise
        raise InputError(
            f"{path} is damaged: it is not JSON ({error}). Copy the folder again, or write it anew."
        ) from None
    if not isinstance(content, dict) or content.get("format") != form:
        raise InputError(f"{path} is not {form}. Name a folder that domindex wrote.")
    version = content.get("format_version")
    if type(version) is not int or version < 1:
        raise InputError(f"{path} is damaged: its format_version is {version!r}. Write it anew.")
    if version > newest:
        raise InputError(
            f"{path} has format version {version}, and this domindex reads up to {newest}. "
            "Install a newer domindex to open it (pip install --upgrade domindex)."
        )
    return content


def _finite(text: str) -> float:
    """A number; NaN and infinity, which Python reads beyond JSON, are never written."""
    if not math.isfinite(number := float(text)):
        raise ValueError(f"{text:.20} is no number")
    return number


def table_state(frame: pd.DataFrame) -> dict[str, Any]:
    """A small table by columns; a missing number is None."""
    columns = [frame[name] for name in frame.columns]
    return {
        "columns": [str(name) for name in frame.columns],
        "numeric": [one.dtype.kind == "f" for one in columns],
        "objects": [one.dtype == object for one in columns],
        "values": [[None if v != v else v for v in one.tolist()] for one in columns],
    }


def table_from_state(state: dict[str, Any]) -> pd.DataFrame:
    """What `table_state` was given."""
    import pandas as pd

    parts = zip(*(state[key] for key in ("columns", "numeric", "objects", "values")), strict=True)
    return pd.DataFrame(
        {
            name: np.array(values, dtype=np.float64)
            if numeric
            else pd.Series(values, dtype=object if objects else None)
            for name, numeric, objects, values in parts
        }
    )

"""Dataclasses as nested dictionaries of plain values and arrays, and back, by their fields."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import fields
from types import UnionType
from typing import TYPE_CHECKING, Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np
from pandas import DataFrame

from domindex.persistence.codec import table_from_state, table_state

if TYPE_CHECKING:
    from typing_extensions import Self


PLAIN = (bool, int, float, str)


class Saved:
    """A frozen dataclass whose state is its fields, each as its type hint says.

    Tuples and arrays of whole numbers become lists, tuples of saved values dictionaries by number.
    Parts have a state too, or, where their class must be found again, `entry` and `from_entry`.
    Metadata of a field may name another "key", and say that it is "omitted" at its default.
    """

    def state(self) -> dict[str, Any]:
        """All that `from_state` needs."""
        state: dict[str, Any] = {}
        hints = get_type_hints(type(self))
        for one in fields(self):  # type: ignore[arg-type]
            written = _written(getattr(self, one.name), hints[one.name])
            if not (one.metadata.get("omitted") and written is one.default):
                state[one.metadata.get("key") or one.name] = written
        return state

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """What `state` described; one of `DAMAGE` where it is none, or its parts do not fit."""
        given, rest, hints = {}, dict(state), get_type_hints(cls)
        for one in fields(cls):  # type: ignore[arg-type]
            key = one.metadata.get("key") or one.name
            if key in rest or not one.metadata.get("omitted"):
                given[one.name] = _read(rest.pop(key), hints[one.name], key)
        if rest:
            raise ValueError(f"a {cls.__name__} has no {', '.join(map(str, rest))}")
        made = cls(**given)
        made._check_state()
        return made

    def _check_state(self) -> None:
        """ValueError where the parts, each of its type, do not fit each other."""


def _written(value: Any, hint: Any) -> Any:
    kind, inner = _kind(hint)
    if value is None:
        return None
    if hasattr(value, "entry"):
        return value.entry()
    if hasattr(value, "state"):
        return value.state()
    if kind is DataFrame:
        return table_state(value)
    if kind is tuple and inner[0] is not Hashable:
        parts = [_written(one, inner[0]) for one in value]
        is_plain = inner[0] in PLAIN
        return parts if is_plain else {str(k): one for k, one in enumerate(parts)}
    if kind is np.ndarray and inner[1] == np.dtype[np.int64]:
        return value.tolist()
    if kind is frozenset:
        return tuple(sorted(value, key=repr))
    return kind(value) if kind in PLAIN else dict(value) if kind is Mapping else value


def _read(part: Any, hint: Any, name: str) -> Any:
    """The value of a field; one of `DAMAGE` where `part` is not of its type."""
    kind, inner = _kind(hint)
    if part is None and type(None) in get_args(hint):
        return None
    if hasattr(kind, "from_entry"):
        return kind.from_entry(part)
    if hasattr(kind, "from_state"):
        return kind.from_state(part)
    if kind is DataFrame:
        return table_from_state(part)
    if kind is tuple and isinstance(part, list | tuple | dict):
        parts = [part[str(k)] for k in range(len(part))] if isinstance(part, dict) else part
        return tuple(_read(one, inner[0], name) for one in parts)
    if kind is frozenset:
        return frozenset(require_distinct(part))
    if kind is Mapping:
        return {_read(k, inner[0], name): _read(v, inner[1], name) for k, v in part.items()}
    if kind is np.ndarray and inner[1] == np.dtype[np.int64]:
        return np.array([_read(one, int, name) for one in part], dtype=np.int64)
    if kind is np.ndarray and isinstance(part, np.ndarray) and part.dtype.kind in "fiu":
        return np.asarray(part, dtype=np.float64)
    is_plain = kind in PLAIN and type(part) is kind
    if is_plain or kind is Hashable or (kind is Literal and part in inner):
        return part
    if kind is float and type(part) is int:
        return float(part)
    raise ValueError(f"the {name} is {part!r:.80}")


def _kind(hint: Any) -> tuple[Any, tuple[Any, ...]]:
    """A hint without its arguments, which come second; None is left out of it."""
    if get_origin(hint) in (Union, UnionType):
        (hint,) = (one for one in get_args(hint) if one is not type(None))
    if alias := getattr(get_origin(hint), "__value__", None):  # of NumPy's from Python 3.12 on
        hint = alias[get_args(hint)]
    return get_origin(hint) or hint, get_args(hint)


def require_distinct(names: Sequence[Hashable]) -> Sequence[Hashable]:
    """Names of domains that came back from a state."""
    if len(set(names)) < len(names):
        raise ValueError("two domains have the same name")
    return names

"""Python values as JSON and back, with their types: 1, 1.0, True and "1" stay four things."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from domindex.errors import InputError

_SEQUENCES = {"tuple": tuple, "list": list}


def to_plain(value: Any, what: str) -> Any:
    """`value` in terms of JSON; `what` names it where it cannot be kept."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or type(value) in (str, bool, int):
        return value
    if type(value) is float:
        return value if math.isfinite(value) else {"float": repr(value)}
    if type(value) in (tuple, list):
        return {type(value).__name__: [to_plain(part, what) for part in value]}
    if isinstance(value, np.random.RandomState):
        _, key, position, has_gauss, cached = value.get_state(legacy=True)
        state = [*np.asarray(key).tolist(), position, has_gauss]
        return {"random_state": state, "cached": float(cached)}
    raise InputError(
        f"{what} is {value!r}, a {type(value).__name__}, which a saved model cannot keep: it holds "
        "texts, whole numbers, floats, booleans and tuples of these. Convert it, for example with "
        "str(), and fit again; or use pickle, which keeps everything and runs code when opened."
    )


def from_plain(plain: Any) -> Any:
    """What `to_plain` was given; ValueError for anything that it does not write."""
    if plain is None or isinstance(plain, str | bool | int | float):
        return plain
    if isinstance(plain, dict):
        if set(plain) == {"float"}:
            return float(plain["float"])
        if set(plain) == {"random_state", "cached"}:
            return _random_state(plain)
        for name, kind in _SEQUENCES.items():
            if set(plain) == {name}:
                return kind(from_plain(part) for part in plain[name])
    raise ValueError(f"{str(plain)[:80]} is not a saved value")


def _random_state(plain: dict[str, Any]) -> np.random.RandomState:
    *key, position, has_gauss = (int(number) for number in plain["random_state"])
    revived = np.random.RandomState()
    state = ("MT19937", np.array(key, dtype=np.uint32), position, has_gauss, plain["cached"])
    revived.set_state(state)
    return revived

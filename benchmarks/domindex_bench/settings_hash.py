"""What a figure depends on beside data and seed, as a short hash that a row can carry.

A row of the record is stale as soon as the present code would build its method differently: with
another class, parameter, or constant. Everything is hashed by content, never by address or by
`repr`, so that two processes agree.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import json
import math
import textwrap
from collections.abc import Callable, Collection, Mapping
from dataclasses import fields, is_dataclass
from pathlib import PurePath
from typing import Any

import networkx as nx
import numpy as np

from domindex.errors import InputError

N_DIGITS = 12
SEED = "random_state"
"""The parameter that is no setting: rows carry their seed."""

UNLESS_SET = ("backbone",)
"""Where training takes place, and what stands before it: no settings unless they are set."""


def settings_hash(estimator: Any, without: Collection[str] = ()) -> str:
    """The first twelve hexadecimal digits of SHA-256 over `settings_of`."""
    return hashlib.sha256(_dumps(settings_of(estimator, without)).encode()).hexdigest()[:N_DIGITS]


def settings_of(estimator: Any, without: Collection[str] = ()) -> dict[str, Any]:
    """Everything about an estimator that can be set, as values that JSON can hold.

    The class, every parameter of it and of estimators inside it (what `get_params(deep=True)`
    reaches), except seeds; and, from estimators with a method `_all_settings`, the constants that
    no parameter shows.

    Parameters
    ----------
    estimator : fitted or not
    without : parameters to leave out, because they are data: the true index that CIDA is told
    """
    parameters = estimator.get_params(deep=False)
    settings: dict[str, Any] = {
        "class": _class_name(type(estimator)),
        "parameters": {
            name: _plain(parameters[name])
            for name in sorted(parameters)
            if name != SEED
            and name not in without
            and not (name in UNLESS_SET and parameters[name] is None)
        },
    }
    constants = getattr(estimator, "_all_settings", None)
    if constants is not None:
        settings["constants"] = _plain(constants())
    return settings


def _plain(value: Any) -> Any:
    """`value` as JSON, the same for equal content."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, type):
        return {"class": _class_name(value)}
    if hasattr(value, "get_params"):
        return settings_of(value)
    for kinds, convert in _CONVERTERS:
        if isinstance(value, kinds):
            return convert(value)
    if is_dataclass(value):
        return _with_class(value, {f.name: getattr(value, f.name) for f in fields(value)})
    if callable(value) and hasattr(value, "__qualname__"):
        return _function(value)
    if hasattr(value, "__dict__"):
        return _with_class(value, vars(value))
    raise InputError(
        f"{value!r} of type {type(value).__name__} is part of a method's settings, and cannot be "
        "hashed by content. Give it get_params, make it a dataclass, or a value that JSON can hold."
    )


def _class_name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def _with_class(value: Any, parts: Mapping[str, Any]) -> dict[str, Any]:
    return {"class": _class_name(type(value)), "parts": _mapping(parts)}


def _number(value: float) -> Any:
    return float(value) if math.isfinite(value) else str(float(value))


def _mapping(value: Mapping) -> list[Any]:
    """Pairs in the order of their keys' content: the order of insertion decides nothing."""
    return sorted(([_plain(key), _plain(entry)] for key, entry in value.items()), key=_dumps)


def _array(value: np.ndarray) -> dict[str, Any]:
    about = {"dtype": value.dtype.str.lstrip("<>=|"), "shape": list(value.shape)}
    if value.dtype == object:
        return {**about, "entries": [_plain(entry) for entry in value.ravel().tolist()]}
    content = value.astype(value.dtype.newbyteorder("<"), copy=False)
    return {**about, "sha256": hashlib.sha256(content.tobytes(order="C")).hexdigest()}


def _graph(value: nx.Graph) -> dict[str, Any]:
    directed = value.is_directed()
    links = []
    for first, second, about in value.edges(data=True):
        ends = [_plain(first), _plain(second)]
        links.append([ends if directed else sorted(ends, key=_dumps), _mapping(about)])
    nodes = [[_plain(node), _mapping(about)] for node, about in value.nodes(data=True)]
    return {
        "graph": "directed" if directed else "undirected",
        "nodes": sorted(nodes, key=_dumps),
        "links": sorted(links, key=_dumps),
    }


def _partial(value: functools.partial) -> dict[str, Any]:
    return {
        "partial": _plain(value.func),
        "arguments": _sequence(value.args),
        "keywords": _mapping(value.keywords),
    }


def _function(value: Callable) -> dict[str, Any]:
    """A function by its name, its text and the values it holds; one of C by its name alone."""
    about: dict[str, Any] = {"function": f"{value.__module__}.{value.__qualname__}"}
    owner = getattr(value, "__self__", None)
    if owner is not None and not inspect.ismodule(owner):
        about["of"] = _plain(owner)
    if not (inspect.isfunction(value) or inspect.ismethod(value)):
        return about
    try:
        about["text"] = textwrap.dedent(inspect.getsource(value)).strip()
    except (OSError, TypeError):
        about["code"] = value.__code__.co_code.hex()
    about["defaults"] = _sequence(value.__defaults__ or ())
    about["holds"] = [_plain(cell.cell_contents) for cell in value.__closure__ or ()]
    return about


def _sequence(value: Any) -> list[Any]:
    return [_plain(entry) for entry in value]


_CONVERTERS: tuple[tuple[Any, Callable[[Any], Any]], ...] = (
    (float, _number),
    (np.generic, lambda value: _plain(value.item())),
    (np.ndarray, _array),
    (nx.Graph, _graph),
    (Mapping, _mapping),
    (list | tuple | range, _sequence),
    (set | frozenset, lambda value: sorted(_sequence(value), key=_dumps)),
    (PurePath, str),
    (bytes, bytes.hex),
    (functools.partial, _partial),
)


def _dumps(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))

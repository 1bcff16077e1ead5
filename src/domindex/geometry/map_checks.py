"""Whether what a saved map holds fits together."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np

from domindex.geometry.index import DomainIndex
from domindex.geometry.transport import Method


def check_map_state(state: dict[str, Any], index: DomainIndex) -> None:
    """ValueError where the parts of a `DomainMap.state` do not fit its index."""
    sizes, clouds, n_domains = state["cloud_sizes"], state["clouds"], len(index.domains)
    if state["method"] not in get_args(Method):
        raise ValueError(f"transport is measured by {state['method']!r}")
    if len(sizes) != n_domains or min(sizes) < 1 or sum(sizes) != len(clouds):
        raise ValueError("the clouds do not match the domains")
    n_added = state["n_added"]
    if type(n_added) is not int or not 0 <= n_added < n_domains:
        raise ValueError(f"{n_added} of {n_domains} domains were added")
    landmarks = index.landmarks
    n_drawn = n_domains - n_added if landmarks is None else len(landmarks)
    if landmarks is not None and landmarks[-1] >= n_domains - n_added:
        raise ValueError("a landmark was added to the map that was drawn from it")
    if state["transport"].shape != (n_drawn, n_drawn):
        raise ValueError("the transport distances do not match the domains")
    if not np.isfinite(state["transport"]).all() or not 0.0 < state["unit"] < np.inf:
        raise ValueError("the distances of the map are not usable numbers")
    if any(type(number) is not int or number < 1 for number in state["neighbors"]):
        raise ValueError(f"geodesics pass through {state['neighbors']} neighbours")

"""What a file made, looked through before it is used."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.ensemble._forest import BaseForest
from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC, SVR, NuSVC, NuSVR
from sklearn.tree import BaseDecisionTree
from sklearn.tree._tree import Tree

from domindex.persistence.svm_checks import check_machine
from domindex.persistence.tree_checks import (
    check_boosting,
    check_decision_tree,
    check_forest,
    n_features,
)

RANDOM_KEY = 624
"""Numbers that a Mersenne twister holds; numpy takes any place among them without a look."""

MOST_DEPTH = 100
"""Of objects within objects in a saved estimator; more is not an estimator."""


def check_loaded(loaded: Any) -> None:
    """ValueError where an object in `loaded` would lead compiled code astray."""
    checked: set[int] = set()
    for holder, value in _objects(loaded, None, set(), 0):
        if isinstance(value, BaseDecisionTree):
            checked |= check_decision_tree(value)
        elif isinstance(value, BaseForest):
            check_forest(value)
        elif isinstance(value, HistGradientBoostingClassifier | HistGradientBoostingRegressor):
            checked |= check_boosting(value)
        elif isinstance(value, SVC | NuSVC | SVR | NuSVR) and "support_vectors_" in vars(value):
            check_machine(value, n_features(value))
        elif isinstance(value, Tree | TreePredictor) and id(value) not in checked:
            raise ValueError(f"there is a tree where none belongs, in a {type(holder).__name__}")
        _check_attributes(value)


def _check_attributes(value: Any) -> None:
    """That none stands where the class has something, and that nothing leads elsewhere later."""
    if isinstance(value, Pipeline) and value.memory is not None:
        raise ValueError("a pipeline with a cache, which holds pickles, cannot be opened")
    if isinstance(value, np.random.RandomState):
        _, _, place, *_ = value.get_state(legacy=True)
        if not 0 <= int(place) <= RANDOM_KEY:
            raise ValueError("a random state is beyond its end")
    if isinstance(value, np.random.Generator):
        _require_kind(value.bit_generator, np.random.PCG64)
    for name in getattr(value, "__dict__", {}):
        if hasattr(type(value), name):
            raise ValueError(f"an attribute takes the place of {type(value).__name__}.{name}")


def _require_kind(value: Any, kind: type) -> None:
    if type(value) is not kind:
        raise ValueError(f"there is a {type(value).__name__} instead of a {kind.__name__}")


def _objects(value: Any, holder: Any, seen: set[int], depth: int) -> Iterator[tuple[Any, Any]]:
    """Every object within `value` with what holds it, those that hold others first."""
    if isinstance(value, str | bytes | bool | int | float | None) or id(value) in seen:
        return
    if depth > MOST_DEPTH:
        raise ValueError("objects are nested too deeply")
    seen.add(id(value))
    yield holder, value
    for part in _parts(value):
        yield from _objects(part, value, seen, depth + 1)


def _parts(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    if isinstance(value, list | tuple):
        return list(value)
    if isinstance(value, np.ndarray):
        return list(value.ravel()) if value.dtype == object else []
    return list(getattr(value, "__dict__", {}).values())

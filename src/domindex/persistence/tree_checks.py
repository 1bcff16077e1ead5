"""Fitted trees from a file, checked before anything predicts.

Compiled code follows a tree's node arrays without looking: a child or a feature that does not exist
reads memory of something else. What is checked: every way down ends, at nodes and features that
there are, and the rows that reach a tree have as many features as it was checked for.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble._hist_gradient_boosting.common import PREDICTOR_RECORD_DTYPE
from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor
from sklearn.tree import BaseDecisionTree
from sklearn.tree._tree import NODE_DTYPE, Tree

LEAF = -1
"""The child of a node that has none, in scikit-learn's trees."""


def check_tree_state(state: dict[str, Any], read: Callable[[str], Any]) -> None:
    """ValueError where a tree in a file, as skops describes it, is none.

    Before it is made: already the making reads its arrays as if they were right. `read` gives the
    array in a file of that name.
    """
    described = state["content"]["content"]
    nodes, values = (_array(described[name], read) for name in ("nodes", "values"))
    n_features, n_classes, n_outputs = state["__reduce__"]["args"]["content"]
    classes = _array(n_classes, read)
    if nodes.ndim != 1 or nodes.dtype != NODE_DTYPE or values.dtype != np.float64:
        raise ValueError("the arrays of a tree are not those of this scikit-learn")
    if classes.ndim != 1 or classes.dtype != np.intp or (classes < 1).any():
        raise ValueError("the classes of a tree are no numbers")
    if values.shape != (len(nodes), len(classes), max(classes, default=0)):
        raise ValueError("the values of a tree do not fit its nodes")
    said = [_count(part) for part in (described["node_count"], n_outputs)]
    if said != [len(nodes), len(classes)]:
        raise ValueError("a tree has other nodes than it says")
    left, right, feature = (nodes[n] for n in ("left_child", "right_child", "feature"))
    check_nodes(left, right, feature, _count(n_features))


def check_nodes(left: NDArray, right: NDArray, feature: NDArray, n_features: int) -> None:
    """That inner nodes, whose children and features these are, lead to later nodes.

    All arrays are (nodes,); a leaf's three numbers are `LEAF`. Children that always come later
    leave no way round in circles.
    """
    if not len(left):
        raise ValueError("a tree has no nodes")
    left, right, feature = (np.asarray(part, dtype=np.int64) for part in (left, right, feature))
    inner = left != LEAF
    parents = np.flatnonzero(inner)
    for children in (left[inner], right[inner]):
        if (children <= parents).any() or (children >= len(left)).any():
            raise ValueError("a node of a tree has a child that cannot be")
    if (feature[inner] < 0).any() or (feature[inner] >= n_features).any():
        raise ValueError(f"a node of a tree asks for a feature beyond the {n_features} there are")


def _array(state: dict[str, Any], read: Callable[[str], Any]) -> NDArray:
    """A plain array of numbers or records that a file holds."""
    is_plain = (state["__loader__"], state["__class__"]) == ("NdArrayNode", "ndarray")
    array = read(state["file"]) if is_plain and state["type"] == "numpy" else None
    if not isinstance(array, np.ndarray):
        raise ValueError("a tree has something else than arrays")
    return array


def _count(state: dict[str, Any]) -> int:
    number = json.loads(state["content"]) if state["__loader__"] == "JsonNode" else None
    if type(number) is not int or not 1 <= number < 2**31:
        raise ValueError("a tree counts with something else than whole numbers")
    return number


def check_decision_tree(estimator: Any) -> set[int]:
    """The estimator's own tree, itself seen to before; none where it was not fitted."""
    tree = vars(estimator).get("tree_")
    if tree is None:
        return set()
    if not isinstance(tree, Tree) or tree.n_features != n_features(estimator):
        raise ValueError("a tree is not for the features of its estimator")
    return {id(tree)}


def check_forest(forest: Any) -> None:
    """Its trees are given rows that nobody counts the features of again."""
    for estimator in vars(forest).get("estimators_", []):
        if not isinstance(estimator, BaseDecisionTree):
            raise ValueError("there is something else than trees in a forest")
        if n_features(estimator) != n_features(forest) or "tree_" not in vars(estimator):
            raise ValueError("a tree is not for the features of its forest")


def check_boosting(estimator: Any) -> set[int]:
    """Trees of histogram boosting, on plain numbers: categories have tables of their own."""
    stages = vars(estimator).get("_predictors")
    if stages is None:
        return set()
    categories = np.asarray(estimator._bin_mapper.is_categorical_)
    preprocessor = vars(estimator).get("_preprocessor")
    if preprocessor is not None or categories.any() or vars(estimator).get("_in_fit"):
        raise ValueError("boosting with categories of its own cannot be opened")
    trees = [tree for stage in stages for tree in stage]
    for tree in trees:
        if not isinstance(tree, TreePredictor):
            raise ValueError("there is something else than trees in a boosting")
        nodes = tree.nodes
        if nodes.dtype != PREDICTOR_RECORD_DTYPE or nodes.ndim != 1:
            raise ValueError("the nodes of a tree are not those of this scikit-learn")
        if nodes["is_categorical"].any():
            raise ValueError("boosting with categories of its own cannot be opened")
        leaves = nodes["is_leaf"] != 0
        left = np.where(leaves, LEAF, nodes["left"].astype(np.int64))
        check_nodes(left, nodes["right"], nodes["feature_idx"], n_features(estimator))
    return {id(tree) for tree in trees}


def n_features(estimator: Any) -> int:
    """As scikit-learn checks rows against it; without it nothing would be checked."""
    count = vars(estimator).get("n_features_in_")
    if type(count) is not int or count < 1:
        raise ValueError(f"a {type(estimator).__name__} does not say how many features it takes")
    return count

"""Trees as arrays that torch follows: every row goes down all trees at once, a level a step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from domindex.export.tables import NotExportableError, constant


@dataclass(frozen=True, eq=False)
class Nodes:
    """The nodes of one tree. A leaf is its own child on both sides.

    Attributes
    ----------
    feature : (n,) column that is asked
    threshold : (n,) up to which rows go to the left
    left, right : (n,) numbers of nodes
    value : (n, k) what a leaf says
    """

    feature: NDArray[np.int64]
    threshold: NDArray[np.float64]
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    value: NDArray[np.float64]

    @classmethod
    def of(
        cls, is_leaf: Any, feature: Any, threshold: Any, left: Any, right: Any, value: Any
    ) -> Nodes:
        own = np.arange(len(is_leaf))
        return cls(
            np.where(is_leaf, 0, feature).astype(np.int64),
            np.where(is_leaf, 0.0, threshold).astype(np.float64),
            np.where(is_leaf, own, left).astype(np.int64),
            np.where(is_leaf, own, right).astype(np.int64),
            np.asarray(value, dtype=np.float64),
        )

    @property
    def depth(self) -> int:
        """Steps from the root to the farthest leaf."""
        depth, reached = 0, np.array([0])
        while True:
            inner = reached[self.left[reached] != reached]
            if not len(inner):
                return depth
            reached = np.concatenate([self.left[inner], self.right[inner]])
            depth += 1


class TreeSum(nn.Module):
    """(n, k): what the leaves of all trees say of a row, summed."""

    roots: Tensor
    feature: Tensor
    threshold: Tensor
    left: Tensor
    right: Tensor
    value: Tensor

    def __init__(self, trees: Sequence[Nodes], as_single: bool) -> None:
        """`as_single`: rows are rounded to single precision before they are compared."""
        super().__init__()
        self.depth, self.as_single = max(tree.depth for tree in trees), as_single
        starts = np.cumsum([0, *(len(tree.feature) for tree in trees)])[:-1]
        self.register_buffer("roots", torch.tensor(starts))
        joined = {
            "feature": [tree.feature for tree in trees],
            "left": [tree.left + start for tree, start in zip(trees, starts)],
            "right": [tree.right + start for tree, start in zip(trees, starts)],
        }
        for name, parts in joined.items():
            self.register_buffer(name, torch.tensor(np.concatenate(parts)))
        self.register_buffer("threshold", constant(np.concatenate([t.threshold for t in trees])))
        self.register_buffer("value", constant(np.concatenate([t.value for t in trees])))

    def forward(self, x: Tensor) -> Tensor:
        if self.as_single:
            x = x.to(torch.float32).to(torch.float64)
        node = self.roots.expand(x.shape[0], -1)
        for _ in range(self.depth):
            goes_left = x.gather(1, self.feature[node]) <= self.threshold[node]
            node = torch.where(goes_left, self.left[node], self.right[node])
        return self.value[node].sum(dim=1)


def forest_module(forest: Any, is_class: bool) -> nn.Module:
    """Of scikit-learn's forests: the mean of the trees."""
    trees = [one.tree_ for one in forest.estimators_]
    # (nodes, outputs, classes), of which there is one output, or there are no classes
    values = [tree.value[:, 0, :] if is_class else tree.value[:, :, 0] for tree in trees]
    nodes = [
        Nodes.of(
            tree.children_left == -1,
            tree.feature,
            tree.threshold,
            tree.children_left,
            tree.children_right,
            value / len(trees),
        )
        for tree, value in zip(trees, values)
    ]
    return TreeSum(nodes, as_single=True)


class _Boosted(nn.Module):
    baseline: Tensor

    def __init__(self, trees: TreeSum, baseline: Any, is_class: bool) -> None:
        super().__init__()
        self.trees, self.is_class = trees, is_class
        self.register_buffer("baseline", constant(baseline).reshape(1, -1))

    def forward(self, x: Tensor) -> Tensor:
        raw = self.baseline + self.trees(x)
        if not self.is_class:
            return raw
        if self.baseline.shape[1] == 1:
            positive = torch.sigmoid(raw)
            return torch.cat([1.0 - positive, positive], dim=1)
        return torch.softmax(raw, dim=1)


def boosting_module(model: Any, is_class: bool) -> nn.Module:
    """Of scikit-learn's histogram boosting, for features that are numbers."""
    if not is_class and model.loss not in ("squared_error", "absolute_error", "quantile"):
        raise NotExportableError(f"boosting with the loss {model.loss!r} has no form in torch")
    rounds, n_raw = model._predictors, len(model._predictors[0])
    trees = []
    for one in rounds:
        for column, tree in enumerate(one):
            found = tree.nodes
            if found["is_categorical"].any():
                raise NotExportableError("boosting on categories has no form in torch")
            value = np.zeros((len(found), n_raw))
            value[:, column] = found["value"]
            trees.append(
                Nodes.of(
                    found["is_leaf"].astype(bool),
                    found["feature_idx"],
                    found["num_threshold"],
                    found["left"],
                    found["right"],
                    value,
                )
            )
    return _Boosted(TreeSum(trees, as_single=False), model._baseline_prediction, is_class)

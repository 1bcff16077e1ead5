"""CatBoost and LightGBM as learners, where they are installed. What they fit is taken over as plain
arrays at once: it predicts, is saved, checked and exported without either of them."""

from __future__ import annotations

import json
from abc import abstractmethod
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import softmax
from torch import Tensor, nn

from domindex.arrays import Floats, Ints
from domindex.committee.learners.base import LabelledRows, Learner, Predictor, Round
from domindex.committee.learners.estimators import blamed
from domindex.errors import PredictorError
from domindex.persistence.estimator_bytes import check_nodes
from domindex.persistence.saved import Saved


class Tree(NamedTuple):
    """Numbers of children are within the tree, and come after that of their parent."""

    nodes: Floats  # (nodes, 4) feature, threshold, left and right child; a leaf is its own child
    values: Floats  # (nodes, outputs) what a leaf adds; 0 elsewhere


def leaf(value: Floats) -> Tree:
    """A tree that says the same (outputs,) of every row."""
    return Tree(np.zeros((1, 4)), value[None])


@dataclass(frozen=True, eq=False)
class TreesPredictor(Saved, Predictor):
    """The sum of many trees: a row goes left where its feature is at most the threshold."""

    kind: ClassVar[str] = "boosted_trees"
    name: str  # of the learner
    roots: Ints  # (trees,) the first node of each
    nodes: Floats  # (nodes, 4) as in `Tree`, numbered through
    values: Floats  # (nodes, outputs) likewise
    bias: Floats  # (outputs,) what the sum begins with; −∞ for a class that was not there
    n_features: int
    is_class: bool  # whether the outputs are log-odds

    @classmethod
    def of(
        cls, name: str, trees: list[Tree], bias: Floats, n_features: int, is_class: bool
    ) -> TreesPredictor:
        sizes = [len(tree.nodes) for tree in trees]
        roots = np.cumsum([0, *sizes[:-1]])
        nodes = np.concatenate([tree.nodes for tree in trees])
        nodes[:, 2:] += np.repeat(roots, sizes)[:, None]
        values = np.concatenate([tree.values for tree in trees])
        return cls(name, roots, nodes, values, bias, n_features, is_class)

    def predict(self, features: Floats) -> Floats:
        if features.ndim != 2 or features.shape[1] != self.n_features:
            raise PredictorError(
                f"The predictor {self.name!r} was given shape {features.shape} for "
                f"{self.n_features} features. Pass rows like those that it learned from."
            )
        raw = np.tile(self.bias, (len(features), 1))
        most = max(1, 1_000_000 // (len(self.roots) * len(self.bias)))  # rows at once; for memory
        for first in range(0, len(features), most):
            part = slice(first, first + most)
            raw[part] += self.values[self._leaves(features[part])].sum(axis=1)
        return softmax(raw, axis=1) if self.is_class else raw

    def torch_module(self) -> nn.Module:
        return _TreesModule(self)

    def parts(self) -> tuple[Ints, Floats, Ints, Ints]:
        """Feature, threshold, left and right child of every node, (nodes,) each."""
        feature, threshold, left, right = self.nodes.T
        return feature.astype(np.int64), threshold, left.astype(np.int64), right.astype(np.int64)

    def _leaves(self, features: Floats) -> Ints:
        """(rows, trees) the node in which each row ends."""
        feature, threshold, left, right = self.parts()
        rows, at = np.arange(len(features))[:, None], np.tile(self.roots, (len(features), 1))
        while True:
            goes_left = features[rows, feature[at]] <= threshold[at]
            next_at = np.where(goes_left, left[at], right[at])
            if np.array_equal(next_at, at):
                return at
            at = next_at

    def _check_state(self) -> None:
        size = len(self.nodes)
        if self.nodes.shape != (size, 4) or self.values.shape != (size, *self.bias.shape):
            raise ValueError("the nodes of the trees do not fit their values")
        if not np.isfinite(self.nodes).all() or not np.isfinite(self.values).all():
            raise ValueError("the trees hold something that is no number")
        if (
            self.bias.ndim != 1
            or not (self.bias < np.inf).all()
            or not np.isfinite(self.bias).any()
        ):
            raise ValueError("the sum of the trees begins with no number")
        if not len(self.roots) or (self.roots < 0).any() or (self.roots >= size).any():
            raise ValueError("a tree begins at a node that is not there")
        feature, _, left, right = self.parts()
        is_leaf = (left == np.arange(size)) & (right == left) & (feature == 0)
        check_nodes(np.where(is_leaf, -1, left), right, feature, self.n_features)
        if self.n_features < 1:
            raise ValueError("the trees have no features")


class _TreesModule(nn.Module):
    """The same in torch: every row takes as many steps as the deepest tree has."""

    def __init__(self, trees: TreesPredictor) -> None:
        super().__init__()
        self.feature, self.threshold, self.left, self.right = map(torch.tensor, trees.parts())
        self.roots, self.values = torch.tensor(trees.roots), torch.tensor(trees.values)
        self.bias, self.is_class = torch.tensor(trees.bias), trees.is_class
        _, _, left, right = trees.parts()
        depths = np.zeros(len(left), dtype=np.int64)
        for node in np.flatnonzero(left != np.arange(len(left))):
            depths[[left[node], right[node]]] = depths[node] + 1
        self.depth = int(depths.max())

    def forward(self, features: Tensor) -> Tensor:
        at = self.roots.expand(features.shape[0], -1)
        for _ in range(self.depth):
            goes_left = features.gather(1, self.feature[at]) <= self.threshold[at]
            at = torch.where(goes_left, self.left[at], self.right[at])
        raw = self.bias + self.values[at].sum(dim=1)
        return torch.softmax(raw, dim=1) if self.is_class else raw


@dataclass(frozen=True)
class BoosterLearner(Learner):
    """Fits a library's boosting with its own settings, on one thread, and takes over its trees."""

    in_threads: ClassVar[bool] = True
    rounds: ClassVar[dict[str, Round]] = {"full": Round(3, 1)}
    grids: ClassVar[str] = "small"

    def fit_rows(self, rows: LabelledRows) -> TreesPredictor:
        features, labels, n_classes, seed, weights = rows
        features = np.ascontiguousarray(features, dtype=np.float64)
        weights = np.ones(len(features)) if weights is None else weights / weights.mean()
        if n_classes is None:
            n_outputs, present = labels.shape[1], None
            tasks = [(column, np.array([number])) for number, column in enumerate(labels.T)]
            bias = np.zeros(n_outputs)
        else:
            present, numbers = np.unique(labels, return_inverse=True)
            n_outputs, tasks = n_classes, [(numbers, present.astype(np.int64))]
            bias = np.full(n_classes, -np.inf)
            bias[present] = 0.0
        trees: list[Tree] = []
        for wanted, columns in tasks:
            given = features, wanted, weights, None if present is None else len(present), seed
            for nodes, values in self._trees(*given):
                placed = np.zeros((len(nodes), n_outputs))
                placed[:, columns] = values
                trees.append(Tree(nodes, placed))
        return TreesPredictor.of(self.name, trees, bias, features.shape[1], n_classes is not None)

    def _trees(
        self, features: Floats, labels: NDArray, weights: Floats, n_classes: int | None, seed: int
    ) -> list[Tree]:
        """For one value, or for classes without gaps. Where nothing varies, no library learns."""
        if (labels == labels[0]).all() or (features == features[:1]).all():
            if n_classes is None:
                return [leaf(np.array([weights @ labels / weights.sum()]))]
            return [leaf(np.log(np.bincount(labels, weights)))]
        with blamed(self.name, "fit"):
            return self.grow(features, labels, weights, n_classes, seed)

    @abstractmethod
    def grow(
        self, features: Floats, labels: NDArray, weights: Floats, n_classes: int | None, seed: int
    ) -> list[Tree]:
        """Trees with an output a class, or with one for values."""


@dataclass(frozen=True)
class CatBoostLearner(BoosterLearner):
    """CatBoost: trees that ask the same at all nodes of a level."""

    package: ClassVar[str | None] = "catboost"
    name: str = "catboost"
    trees: int = 200  # with the rate that the library sets for so many; its own 1000 take 5 times
    # as long

    def grow(
        self, features: Floats, labels: NDArray, weights: Floats, n_classes: int | None, seed: int
    ) -> list[Tree]:
        losses = {None: "RMSE", 2: "Logloss"}
        model = import_module("catboost").CatBoost(
            {
                "loss_function": losses.get(n_classes, "MultiClass"),
                "iterations": self.trees,
                "random_seed": seed,
                "thread_count": 1,
                "allow_writing_files": False,
                "logging_level": "Silent",
            }
        )
        model.fit(features, labels, sample_weight=weights)
        with TemporaryDirectory() as folder:  # the library gives its trees to files alone
            path = Path(folder) / "model.json"
            model.save_model(str(path), format="json")
            described = json.loads(path.read_text(encoding="utf-8"))
        scale, bias = described["scale_and_bias"]
        trees = [_from_levels(tree, len(bias), scale) for tree in described["oblivious_trees"]]
        trees.append(leaf(np.array(bias, dtype=np.float64)))
        return [_two_classes(tree) for tree in trees] if n_classes == 2 else trees


def _from_levels(tree: dict[str, Any], n_outputs: int, scale: float) -> Tree:
    """A tree of CatBoost: the first split is the lowest bit of a leaf's number, right is 1."""
    splits = tree["splits"] or []
    inner, leaves = 2 ** len(splits) - 1, 2 ** len(splits)
    numbers = np.arange(inner)
    level = np.floor(np.log2(numbers + 1)).astype(np.int64)
    asked = np.array([[one["float_feature_index"], one["border"]] for one in reversed(splits)])
    asked = asked.reshape(-1, 2)
    asked[:, 1] = asked[:, 1].astype(np.float32)  # as the library holds them
    nodes, values = np.zeros((inner + leaves, 4)), np.zeros((inner + leaves, n_outputs))
    nodes[:inner] = np.column_stack([asked[level], 2 * numbers + 1, 2 * numbers + 2])
    nodes[inner:, 2:] = np.arange(inner, inner + leaves)[:, None]
    values[inner:] = scale * np.array(tree["leaf_values"]).reshape(leaves, n_outputs)
    return Tree(nodes, values)


@dataclass(frozen=True)
class LightGBMLearner(BoosterLearner):
    """LightGBM: trees that grow where it pays most."""

    package: ClassVar[str | None] = "lightgbm"
    name: str = "lightgbm"
    trees: int = 100  # for each class; the library's own number

    def grow(
        self, features: Floats, labels: NDArray, weights: Floats, n_classes: int | None, seed: int
    ) -> list[Tree]:
        lightgbm = import_module("lightgbm")
        objectives = {None: "regression", 2: "binary"}
        parameters: dict[str, Any] = {
            "objective": objectives.get(n_classes, "multiclass"),
            "seed": seed,
            "num_threads": 1,
            "deterministic": True,
            "force_row_wise": True,
            "verbosity": -1,
        }
        n_outputs = n_classes if n_classes is not None and n_classes > 2 else 1
        if n_outputs > 1:
            parameters["num_class"] = n_classes
        rows = lightgbm.Dataset(features, labels, weight=weights, params=parameters)
        model = lightgbm.train(parameters, rows, self.trees).dump_model()
        trees = [
            _from_nested(tree["tree_structure"], number % n_outputs, n_outputs)
            for number, tree in enumerate(model["tree_info"])
        ]
        return [_two_classes(tree) for tree in trees] if n_classes == 2 else trees


def _from_nested(root: dict[str, Any], output: int, n_outputs: int) -> Tree:
    """A tree of LightGBM, whose leaves add to one output."""
    nodes: list[list[float]] = []
    values: list[float] = []

    def add(part: dict[str, Any]) -> int:
        number = len(nodes)
        nodes.append([0.0, 0.0, number, number])
        values.append(part.get("leaf_value", 0.0))
        if "leaf_value" not in part:
            nodes[number][:2] = part["split_feature"], part["threshold"]
            nodes[number][2] = add(part["left_child"])
            nodes[number][3] = add(part["right_child"])
        return number

    add(root)
    placed = np.zeros((len(nodes), n_outputs))
    placed[:, output] = values
    return Tree(np.array(nodes, dtype=np.float64), placed)


def _two_classes(tree: Tree) -> Tree:
    """Log-odds of the second of two classes as one output for each."""
    return tree._replace(values=np.hstack([-tree.values, tree.values]) / 2)

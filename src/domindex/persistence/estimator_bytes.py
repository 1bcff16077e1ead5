"""Fitted scikit-learn estimators as bytes of skops, a zip of JSON and arrays, without pickle.

Opening them makes objects of listed classes only, and checks first whatever compiled code would
follow blindly. Classes whose arrays are not checked here are left out of the list on purpose.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.ensemble._forest import BaseForest
from sklearn.ensemble._hist_gradient_boosting.common import PREDICTOR_RECORD_DTYPE
from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC, SVR, NuSVC, NuSVR
from sklearn.tree import BaseDecisionTree
from sklearn.tree._tree import NODE_DTYPE, Tree

from domindex.errors import InputError
from domindex.persistence.codec import parse_json

Bytes = NDArray[np.uint8]

_PUBLIC = {
    "sklearn._loss._loss": "CyAbsoluteError CyExponentialLoss CyHalfBinomialLoss CyHalfGammaLoss "
    "CyHalfMultinomialLoss CyHalfPoissonLoss CyHalfSquaredError CyHuberLoss CyPinballLoss",
    "sklearn.calibration": "CalibratedClassifierCV",
    "sklearn.compose": "TransformedTargetRegressor",
    "sklearn.cross_decomposition": "CCA PLSCanonical PLSRegression",
    "sklearn.decomposition": "FastICA KernelPCA PCA TruncatedSVD",
    "sklearn.discriminant_analysis": "LinearDiscriminantAnalysis QuadraticDiscriminantAnalysis",
    "sklearn.dummy": "DummyClassifier DummyRegressor",
    "sklearn.ensemble": "AdaBoostClassifier BaggingClassifier BaggingRegressor "
    "ExtraTreesClassifier ExtraTreesRegressor HistGradientBoostingClassifier "
    "HistGradientBoostingRegressor RandomForestClassifier RandomForestRegressor "
    "StackingClassifier StackingRegressor VotingClassifier VotingRegressor",
    "sklearn.feature_selection": "VarianceThreshold",
    "sklearn.impute": "SimpleImputer",
    "sklearn.isotonic": "IsotonicRegression",
    "sklearn.kernel_approximation": "Nystroem PolynomialCountSketch RBFSampler SkewedChi2Sampler",
    "sklearn.kernel_ridge": "KernelRidge",
    "sklearn.linear_model": "ARDRegression BayesianRidge ElasticNet ElasticNetCV GammaRegressor "
    "HuberRegressor Lars LarsCV Lasso LassoCV LassoLars LassoLarsCV LassoLarsIC LinearRegression "
    "LogisticRegression LogisticRegressionCV MultiTaskElasticNet MultiTaskElasticNetCV "
    "MultiTaskLasso MultiTaskLassoCV OrthogonalMatchingPursuit PoissonRegressor "
    "QuantileRegressor Ridge RidgeCV RidgeClassifier RidgeClassifierCV SGDClassifier "
    "SGDRegressor TheilSenRegressor TweedieRegressor",
    "sklearn.multiclass": "OneVsOneClassifier OneVsRestClassifier OutputCodeClassifier",
    "sklearn.multioutput": "MultiOutputRegressor RegressorChain",
    "sklearn.naive_bayes": "BernoulliNB ComplementNB GaussianNB MultinomialNB",
    "sklearn.neural_network": "MLPClassifier MLPRegressor",
    "sklearn.pipeline": "FeatureUnion Pipeline",
    "sklearn.preprocessing": "Binarizer KernelCenterer LabelBinarizer LabelEncoder MaxAbsScaler "
    "MinMaxScaler Normalizer PolynomialFeatures PowerTransformer QuantileTransformer "
    "RobustScaler StandardScaler",
    "sklearn.random_projection": "GaussianRandomProjection",
    "sklearn.svm": "LinearSVC LinearSVR NuSVC NuSVR SVC SVR",
    "sklearn.tree": "DecisionTreeClassifier DecisionTreeRegressor ExtraTreeClassifier "
    "ExtraTreeRegressor",
    "sklearn.utils": "Bunch",
}
"""Classes by the module that offers them; in files they have the module that they name."""

_PARTS = {
    "builtins": "bool dict float int list str tuple",
    "numpy": "bool bool_ dtype float32 float64 int32 int64 ndarray uint32 uint64 uint8",
    "numpy.random._generator": "Generator",
    "numpy.random.mtrand": "RandomState",
    "sklearn._loss.link": "HalfLogitLink IdentityLink Interval LogLink LogitLink MultinomialLogit",
    "sklearn._loss.loss": "AbsoluteError ExponentialLoss HalfBinomialLoss HalfGammaLoss "
    "HalfMultinomialLoss HalfPoissonLoss HalfSquaredError HuberLoss PinballLoss",
    "sklearn.calibration": "_CalibratedClassifier _SigmoidCalibration",
    "sklearn.ensemble._hist_gradient_boosting.binning": "_BinMapper",
    "sklearn.ensemble._hist_gradient_boosting.predictor": "TreePredictor",
    "sklearn.neural_network._stochastic_optimizers": "AdamOptimizer SGDOptimizer",
    "sklearn.tree._tree": "Tree",
}
"""What those are made of, by where it is defined."""

_LOADERS = {
    *("DTypeNode", "DictNode", "JsonNode", "ListNode", "LossNode", "NdArrayNode", "ObjectNode"),
    *("RandomGeneratorNode", "RandomStateNode", "TreeNode", "TupleNode", "TypeNode"),
}
"""The ways of skops to make an object; none of these classes needs another."""


def estimator_bytes(estimator: Any, what: str) -> Bytes:
    """The estimator, or a list of them, as bytes (n,); `what` names it where it is refused."""
    import skops.io

    try:
        packed = skops.io.dumps(estimator, compression=zipfile.ZIP_DEFLATED, compresslevel=1)
        estimator_from_bytes(np.frombuffer(packed, dtype=np.uint8))
    except Exception as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(
            f"{what} cannot be kept in a saved model, which runs no code when opened ({reason}). "
            "Use pickle, which keeps everything and runs code when opened, or another predictor."
        ) from error
    return np.frombuffer(packed, dtype=np.uint8)


def estimator_from_bytes(packed: Bytes) -> Any:
    """What `estimator_bytes` was given; ValueError for anything that is damaged or not trusted."""
    import skops.io

    data = np.asarray(packed, dtype=np.uint8).tobytes()
    try:
        loaded = skops.io.loads(data, trusted=_require_trusted(data))
        _check_loaded(loaded)
    except ValueError:
        raise
    except Exception as error:
        raise ValueError(f"an estimator is damaged ({type(error).__name__}: {error})") from error
    return loaded


def _require_trusted(data: bytes) -> list[str]:
    """The types in the file, all of them listed; ValueError where one is not."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        unpacked = sum(entry.file_size for entry in archive.infolist())
        if unpacked > max(16 * 2**20, 200 * len(data)):  # trees pack to a fifth
            raise ValueError(f"an estimator of {len(data)} bytes would unpack to {unpacked}")
        nodes = list(_nodes(parse_json(archive.read("schema.json"))))
        types = {f"{node['__module__']}.{node['__class__']}" for node in nodes}
        loaders = {str(node["__loader__"]) for node in nodes}
        if types - _trusted_types() or loaders - _LOADERS:
            strange = sorted(types - _trusted_types()) or sorted(loaders - _LOADERS)
            raise ValueError(f"{', '.join(strange)} is not among the types that are opened")
        _require_one_meaning(nodes)
        for node in nodes:
            if node["__loader__"] == "TreeNode":
                _check_tree_state(node, archive)
    return sorted(types)


def _require_one_meaning(nodes: list[dict[str, Any]]) -> None:
    """That what is checked is what is made: of nodes with the same number skops makes the first."""
    simple = {"JsonNode", "NdArrayNode", "TypeNode"}  # without parts: written alike
    groups: dict[Any, list[dict[str, Any]]] = {}
    for node in nodes:
        groups.setdefault(node["__id__"], []).append(node)
    for same in groups.values():
        loaders = {str(node["__loader__"]) for node in same}
        differ = bool(loaders & simple) and any(node != same[0] for node in same[1:])
        if differ or ("TreeNode" in loaders and len(loaders) > 1):
            raise ValueError("two parts of an estimator have the same number")
    for node in nodes:
        if node["__loader__"] == "TreeNode":
            parts = (node["content"], node["__reduce__"]["args"])
            if any(len(groups[part["__id__"]]) > 1 for part in parts):
                raise ValueError("a tree has the parts of another")


def _nodes(schema: Any) -> Iterator[dict[str, Any]]:
    """What describes an object of the file: how it is made, its type, its parts."""
    waiting = [schema]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            if "__loader__" in part:
                yield part
            waiting += part.values()
        elif isinstance(part, list):
            waiting += part


@cache
def _trusted_types() -> frozenset[str]:
    """Full names, as they stand in a file; what this scikit-learn does not have is left out."""
    names = {f"{module}.{name}" for module, listed in _PARTS.items() for name in listed.split()}
    for module, listed in _PUBLIC.items():
        for name in listed.split():
            kind = getattr(import_module(module), name, None)
            if kind is not None:
                names.add(f"{kind.__module__}.{kind.__name__}")
    return frozenset(names)


def _check_loaded(loaded: Any) -> None:
    """ValueError where an object in `loaded` would lead compiled code astray."""
    checked: set[int] = set()
    for holder, value in _objects(loaded, None, set(), 0):
        if isinstance(value, BaseDecisionTree):
            tree = vars(value).get("tree_")  # itself seen to before
            if tree is not None:
                if not isinstance(tree, Tree) or tree.n_features != _n_features(value):
                    raise ValueError("a tree is not for the features of its estimator")
                checked.add(id(tree))
        elif isinstance(value, BaseForest):
            for one in vars(value).get("estimators_", []):
                if not isinstance(one, BaseDecisionTree):
                    raise ValueError("there is something else than trees in a forest")
                if _n_features(one) != _n_features(value) or "tree_" not in vars(one):
                    raise ValueError("a tree is not for the features of its forest")
        elif isinstance(value, HistGradientBoostingClassifier | HistGradientBoostingRegressor):
            checked |= _check_boosting(value)
        elif isinstance(value, SVC | NuSVC | SVR | NuSVR) and "support_vectors_" in vars(value):
            _check_machine(value, _n_features(value))
        elif isinstance(value, Tree | TreePredictor) and id(value) not in checked:
            raise ValueError(f"there is a tree where none belongs, in a {type(holder).__name__}")
        _check_attributes(value)


def _check_attributes(value: Any) -> None:
    """That none stands where the class has something, and that nothing leads elsewhere later."""
    if isinstance(value, Pipeline) and value.memory is not None:
        raise ValueError("a pipeline with a cache, which holds pickles, cannot be opened")
    if isinstance(value, np.random.RandomState):
        _, _, place, *_ = value.get_state(legacy=True)
        if not 0 <= int(place) <= 624:
            raise ValueError("a random state is beyond its end")
    generator = getattr(value, "bit_generator", None)
    if isinstance(value, np.random.Generator) and type(generator) is not np.random.PCG64:
        raise ValueError(f"there is a {type(generator).__name__} instead of a PCG64")
    for name in getattr(value, "__dict__", {}):
        if hasattr(type(value), name):
            raise ValueError(f"an attribute takes the place of {type(value).__name__}.{name}")


def _objects(value: Any, holder: Any, seen: set[int], depth: int) -> Iterator[tuple[Any, Any]]:
    """Every object within `value` with what holds it, those that hold others first."""
    if isinstance(value, str | bytes | bool | int | float | None) or id(value) in seen:
        return
    if depth > 100:
        raise ValueError("objects are nested too deeply")
    seen.add(id(value))
    yield holder, value
    parts: Any = getattr(value, "__dict__", {}).values()
    if isinstance(value, dict):
        parts = value.values()
    elif isinstance(value, list | tuple):
        parts = value
    elif isinstance(value, np.ndarray):
        parts = value.ravel() if value.dtype == object else []
    for part in parts:
        yield from _objects(part, value, seen, depth + 1)


def _check_tree_state(state: dict[str, Any], archive: zipfile.ZipFile) -> None:
    """ValueError where a tree in a file, which skops has yet to make, is none."""
    described = state["content"]["content"]
    nodes, values = (_array(described[name], archive) for name in ("nodes", "values"))
    n_features, n_classes, n_outputs = state["__reduce__"]["args"]["content"]
    classes = _array(n_classes, archive)
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
    """That inner nodes lead to later ones; all arrays are (nodes,), and a leaf's child is −1."""
    if not len(left):
        raise ValueError("a tree has no nodes")
    left, right, feature = (np.asarray(part, dtype=np.int64) for part in (left, right, feature))
    inner = left != -1
    parents = np.flatnonzero(inner)
    for children in (left[inner], right[inner]):
        if (children <= parents).any() or (children >= len(left)).any():
            raise ValueError("a node of a tree has a child that cannot be")
    if (feature[inner] < 0).any() or (feature[inner] >= n_features).any():
        raise ValueError(f"a node of a tree asks for a feature beyond the {n_features} there are")


def _array(state: dict[str, Any], archive: zipfile.ZipFile) -> NDArray:
    """A plain array of numbers or records that the file holds."""
    kind = state["__loader__"], state["__class__"], state["type"]
    if kind != ("NdArrayNode", "ndarray", "numpy"):
        raise ValueError("a tree has something else than arrays")
    return np.load(io.BytesIO(archive.read(state["file"])), allow_pickle=False)


def _count(state: dict[str, Any]) -> int:
    number = json.loads(state["content"]) if state["__loader__"] == "JsonNode" else None
    if type(number) is not int or not 1 <= number < 2**31:
        raise ValueError("a tree counts with something else than whole numbers")
    return number


def _check_boosting(estimator: Any) -> set[int]:
    """Trees of histogram boosting, on plain numbers: categories have tables of their own."""
    stages = vars(estimator).get("_predictors")
    if stages is None:
        return set()
    refusal = "boosting with categories of its own cannot be opened"
    has_categories = np.asarray(estimator._bin_mapper.is_categorical_).any()
    preprocessor = vars(estimator).get("_preprocessor")
    if has_categories or preprocessor is not None or vars(estimator).get("_in_fit"):
        raise ValueError(refusal)
    trees = [tree for stage in stages for tree in stage]
    for tree in trees:
        if not isinstance(tree, TreePredictor):
            raise ValueError("there is something else than trees in a boosting")
        nodes = tree.nodes
        if nodes.dtype != PREDICTOR_RECORD_DTYPE or nodes.ndim != 1:
            raise ValueError("the nodes of a tree are not those of this scikit-learn")
        if nodes["is_categorical"].any():
            raise ValueError(refusal)
        leaves = nodes["is_leaf"] != 0
        left = np.where(leaves, -1, nodes["left"].astype(np.int64))
        check_nodes(left, nodes["right"], nodes["feature_idx"], _n_features(estimator))
    return {id(tree) for tree in trees}


def _n_features(estimator: Any) -> int:
    """As scikit-learn checks rows against it; without it nothing would be checked."""
    count = vars(estimator).get("n_features_in_")
    if type(count) is not int or count < 1:
        raise ValueError(f"a {type(estimator).__name__} does not say how many features it takes")
    return count


def _check_machine(machine: SVC | NuSVC | SVR | NuSVR, n_features: int) -> None:
    """libsvm takes the sizes of its arrays on trust; a machine for values has two classes."""
    found, is_classifier = vars(machine), isinstance(machine, SVC | NuSVC)
    n_classes, counts = len(found["classes_"]) if is_classifier else 2, found["_n_support"]
    size, pairs = len(found["support_vectors_"]), n_classes * (n_classes - 1) // 2
    shapes = {
        "support_vectors_": (size, n_features),
        "support_": (size,),
        "_n_support": (n_classes,),
        "_dual_coef_": (n_classes - 1, size),
        "_intercept_": (pairs,),
    }
    for name, shape in shapes.items():
        if not isinstance(found[name], np.ndarray) or found[name].shape != shape:
            raise ValueError(f"{name} of a kernel machine has not shape {shape}")
    if n_classes < 2 or size < 1 or (counts < 0).any():
        raise ValueError("a kernel machine has no classes or no support vectors")
    if is_classifier and counts.sum() != size:
        raise ValueError("a kernel machine has other support vectors than it says")
    slopes, offsets = found["_probA"], found["_probB"]
    if slopes.shape != offsets.shape or slopes.shape not in ((0,), (pairs,)):
        raise ValueError("the probabilities of a kernel machine do not fit its classes")
    if found["kernel"] not in ("linear", "poly", "rbf", "sigmoid") or found["_sparse"]:
        raise ValueError(f"a kernel machine with kernel {found['kernel']!r:.40} cannot be opened")

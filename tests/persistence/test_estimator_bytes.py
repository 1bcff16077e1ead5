"""Estimators as bytes: the same predictions back, and nothing from a stranger's file."""

import io
import json
import zipfile

import numpy as np
import pytest
import skops.io
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    StackingClassifier,
)
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from domindex.errors import InputError
from domindex.persistence.estimator_bytes import estimator_bytes, estimator_from_bytes

KEPT = [
    ExtraTreesClassifier(5, min_samples_leaf=2, random_state=0),
    RandomForestClassifier(5, random_state=0),
    HistGradientBoostingClassifier(max_iter=5),
    make_pipeline(
        StandardScaler(), Nystroem(n_components=20, random_state=0), LogisticRegression()
    ),
    CalibratedClassifierCV(LinearSVC(), cv=2),
    AdaBoostClassifier(n_estimators=3, random_state=0),
    BaggingClassifier(n_estimators=3, max_features=2, random_state=0),
    StackingClassifier([("bayes", GaussianNB())], cv=2),
    MLPClassifier((4,), max_iter=3, random_state=0),
]


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    return rng.normal(size=(90, 4)), rng.integers(0, 3, 90)


def packed(estimator):
    """What a stranger would write: skops without any look at it."""
    return np.frombuffer(skops.io.dumps(estimator), dtype=np.uint8)


def rewritten(data, change, **arrays):
    """The file with its JSON changed, and with further arrays."""
    old, buffer = zipfile.ZipFile(io.BytesIO(data.tobytes())), io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as new:
        for entry in old.infolist():
            content = old.read(entry)
            if entry.filename == "schema.json":
                content = json.dumps(change(json.loads(content)))
            new.writestr(entry.filename, content)
        for name, array in arrays.items():
            saved = io.BytesIO()
            np.save(saved, array)
            new.writestr(name, saved.getvalue())
    return np.frombuffer(buffer.getvalue(), dtype=np.uint8)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("estimator", KEPT, ids=lambda estimator: type(estimator).__name__)
def test_it_predicts_the_same_when_it_is_back(rows, estimator):
    estimator.fit(*rows)
    data = estimator_bytes(estimator, "It")
    assert data.dtype == np.uint8
    revived = estimator_from_bytes(data)
    predicted = revived.predict_proba(rows[0])
    assert predicted.tobytes() == estimator.predict_proba(rows[0]).tobytes()


def test_an_unfitted_estimator_and_its_parameters_are_kept():
    revived = estimator_from_bytes(estimator_bytes(ExtraTreesClassifier(7), "It"))
    assert revived.n_estimators == 7
    assert not hasattr(revived, "estimators_")


def test_a_forest_is_packed(rows):
    forest = ExtraTreesClassifier(50, random_state=0).fit(*rows)
    assert len(estimator_bytes(forest, "It")) < len(packed(forest)) / 3


class Own:
    """Of the user's own making."""


@pytest.mark.parametrize(
    "estimator",
    [
        Own(),
        make_pipeline(FunctionTransformer(np.sqrt), LogisticRegression()),
        GradientBoostingClassifier(),
        [lambda: 0],
    ],
    ids=["own", "function", "old boosting", "lambda"],
)
def test_what_could_not_be_opened_is_not_written(estimator):
    with pytest.raises(InputError, match=r"^Mine cannot be kept .* Use pickle"):
        estimator_bytes(estimator, "Mine")


def test_boosting_on_categories_is_not_written(rows):
    features = np.column_stack([rows[0], rows[1] % 2])
    boosting = HistGradientBoostingClassifier(max_iter=3, categorical_features=[4])
    with pytest.raises(InputError, match=r"Mine cannot be kept .*OrdinalEncoder"):
        estimator_bytes(boosting.fit(features, rows[1]), "Mine")


@pytest.mark.parametrize(
    "estimator",
    [Own(), GradientBoostingClassifier(), FunctionTransformer(np.sqrt), np.sqrt, np.ma.ones(3)],
    ids=lambda estimator: type(estimator).__name__,
)
def test_a_type_that_is_not_listed_is_not_opened(estimator):
    with pytest.raises(ValueError, match="not among the types that are opened"):
        estimator_from_bytes(packed(estimator))


@pytest.mark.parametrize(
    ("module", "name", "loader"),
    [
        ("os", "system", "FunctionNode"),
        ("builtins", "eval", "TypeNode"),
        ("builtins", "str", "PartialNode"),
        ("builtins", "str", "MethodNode"),
        ("operator", "methodcaller", "OperatorFuncNode"),
        ("subprocess", "Popen", "ObjectNode"),
        ("sklearn.pipeline", "Pipeline.fit", "ObjectNode"),
    ],
)
def test_nothing_is_imported_or_called_for_a_stranger(rows, module, name, loader):
    def change(schema):
        node = {"__module__": module, "__class__": name, "__loader__": loader, "__id__": 1}
        schema["content"]["content"]["C"] = {**node, "content": {}, "attrs": {}}
        return schema

    data = rewritten(packed(LogisticRegression().fit(*rows)), change)
    with pytest.raises(ValueError, match="not among the types that are opened"):
        estimator_from_bytes(data)


def test_a_truncated_or_changed_file_is_refused(rows):
    data = estimator_bytes(LogisticRegression().fit(*rows), "It")
    for size in (0, 1, 100, len(data) // 2, len(data) - 1):
        with pytest.raises(ValueError, match="an estimator is damaged"):
            estimator_from_bytes(data[:size])
    with pytest.raises(ValueError, match="damaged"):
        estimator_from_bytes(rewritten(data, lambda schema: []))
    with pytest.raises(ValueError, match="damaged"):
        estimator_from_bytes(rewritten(data, lambda schema: {"protocol": schema["protocol"]}))


def test_flipped_bytes_never_open_as_something_else(rows):
    forest = ExtraTreesClassifier(2, max_depth=3, random_state=0).fit(*rows)
    data, rng = estimator_bytes(forest, "It"), np.random.default_rng(0)
    for _ in range(60):
        flipped = data.copy()
        flipped[rng.integers(len(data))] ^= 1 << rng.integers(8)
        try:
            revived = estimator_from_bytes(flipped)
        except ValueError:
            continue
        np.testing.assert_array_equal(revived.predict(rows[0]), forest.predict(rows[0]))


def parts_named(schema, name):
    """Every part of the JSON under that key."""
    if isinstance(schema, dict):
        for key, part in schema.items():
            if key == name:
                yield part
            yield from parts_named(part, name)


@pytest.mark.parametrize("count", [0, -1, 10**6])
def test_a_tree_with_more_nodes_than_there_are_is_refused(rows, count):
    def change(schema):
        (node,) = parts_named(schema, "node_count")
        node["content"] = str(count)
        return schema

    data = packed(DecisionTreeClassifier().fit(*rows))
    with pytest.raises(ValueError, match=r"other nodes than it says|whole numbers"):
        estimator_from_bytes(rewritten(data, change))


@pytest.mark.parametrize("part", ["values", "nodes"])
@pytest.mark.parametrize("shape", [(2, 1, 3), (2,), ()])
def test_a_tree_with_other_arrays_than_its_own_is_refused(rows, part, shape):
    def change(schema):
        (node,) = parts_named(schema, part)
        node["file"] = "other"
        return schema

    data = packed(DecisionTreeClassifier().fit(*rows))
    with pytest.raises(ValueError, match=r"the (arrays|values) of a tree"):
        estimator_from_bytes(rewritten(data, change, other=np.zeros(shape)))


@pytest.mark.parametrize("part", ["nodes", "whole"])
def test_a_tree_cannot_pass_for_another(rows, part):
    """Of parts with the same number the first is made, so it would go unchecked."""

    def change(schema):
        (described,) = parts_named(schema, "tree_")
        other = json.loads(json.dumps(described["content"]))
        nodes = described["content"]["content"]["nodes"]
        other["content"]["nodes"] = {**nodes, "file": "other"}
        if part == "nodes":
            described["content"]["__id__"] = 12345
        first = schema["content"]["content"]
        schema["content"]["content"] = {"first": other, **first}
        return schema

    tree = DecisionTreeClassifier().fit(*rows)
    bad = tree.tree_.__getstate__()["nodes"].copy()
    bad["feature"][0] = 10**6
    with pytest.raises(ValueError, match=r"same number|parts of another"):
        estimator_from_bytes(rewritten(packed(tree), change, other=bad))


def test_a_small_file_that_unpacks_to_a_large_one_is_refused():
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("schema.json", b" " * 2**25)
    with pytest.raises(ValueError, match="would unpack to 33554432"):
        estimator_from_bytes(np.frombuffer(buffer.getvalue(), dtype=np.uint8))

"""What would lead compiled code out of its arrays, or elsewhere, is refused beforehand."""

import numpy as np
import pytest
import skops.io
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, NuSVC, NuSVR
from sklearn.tree import DecisionTreeClassifier

from domindex.persistence.estimator_bytes import (
    _check_loaded,
    check_nodes,
    estimator_bytes,
    estimator_from_bytes,
)

HUGE = 2**31 - 8


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    return rng.normal(size=(90, 4)), rng.integers(0, 3, 90)


def reopened(estimator):
    """Written as a stranger would, and opened."""
    return estimator_from_bytes(np.frombuffer(skops.io.dumps(estimator), dtype=np.uint8))


def change_tree(tree, **changes):
    """Node 0's fields, or parts of the state, of a compiled tree."""
    state = tree.__getstate__()
    for name, value in changes.items():
        if name in state["nodes"].dtype.names:
            state["nodes"][name][0] = value
        else:
            state[name] = value
    tree.__setstate__(state)


BAD_NODES = [
    {"left_child": HUGE},
    {"right_child": HUGE},
    {"left_child": 0},
    {"right_child": 0},
    {"left_child": -7},
    {"right_child": -1},
    {"feature": 4},
    {"feature": HUGE},
    {"feature": -2},
]


@pytest.mark.parametrize("change", BAD_NODES, ids=str)
@pytest.mark.parametrize(
    "estimator",
    [
        DecisionTreeClassifier(),
        ExtraTreesClassifier(3),
        RandomForestRegressor(3),
        AdaBoostClassifier(n_estimators=2),
        BaggingClassifier(n_estimators=2),
        make_pipeline(StandardScaler(), ExtraTreesClassifier(3)),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_nodes_that_point_outside_are_refused(rows, estimator, change):
    estimator.fit(*rows)
    last = estimator[-1] if hasattr(estimator, "steps") else estimator
    holder = last.estimators_[-1] if hasattr(last, "estimators_") else last
    reopened(estimator)
    change_tree(holder.tree_, **change)
    with pytest.raises(ValueError, match="a node of a tree"):
        reopened(estimator)


def test_a_tree_for_more_features_than_its_estimator_is_refused(rows):
    wide = DecisionTreeClassifier().fit(np.hstack([rows[0], rows[0]]), rows[1])
    wide.n_features_in_ = 4
    with pytest.raises(ValueError, match="not for the features of its estimator"):
        reopened(wide)
    del wide.n_features_in_
    with pytest.raises(ValueError, match="does not say how many features"):
        reopened(wide)


def test_a_forest_of_trees_for_more_features_is_refused(rows):
    wide = ExtraTreesClassifier(3).fit(np.hstack([rows[0], rows[0]]), rows[1])
    wide.n_features_in_ = 4
    with pytest.raises(ValueError, match="not for the features of its forest"):
        reopened(wide)
    del wide.n_features_in_
    with pytest.raises(ValueError, match="does not say how many features"):
        reopened(wide)


def test_a_forest_of_something_else_is_refused(rows):
    forest = ExtraTreesClassifier(3).fit(*rows)
    forest.estimators_[1] = LogisticRegression().fit(*rows)
    with pytest.raises(ValueError, match="something else than trees"):
        reopened(forest)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("left", HUGE),
        ("right", HUGE),
        ("left", 0),
        ("right", 0),
        ("feature_idx", 4),
        ("feature_idx", -1),
        ("is_categorical", 1),
    ],
)
def test_nodes_of_boosting_that_point_outside_are_refused(rows, field, value):
    boosting = HistGradientBoostingClassifier(max_iter=3).fit(*rows)
    tree = boosting._predictors[-1][-1]
    assert not tree.nodes["is_leaf"][0]
    reopened(boosting)
    tree.nodes[field][0] = value
    with pytest.raises(ValueError, match=r"a node of a tree|categories"):
        reopened(boosting)


def test_a_leaf_of_boosting_that_says_it_is_none_is_refused(rows):
    boosting = HistGradientBoostingClassifier(max_iter=3).fit(*rows)
    boosting._predictors[0][0].nodes["is_leaf"][:] = 0
    with pytest.raises(ValueError, match="a child that cannot be"):
        reopened(boosting)


def test_other_node_arrays_of_boosting_are_refused(rows):
    for nodes in (np.zeros(3), np.zeros(0), None):
        boosting = HistGradientBoostingClassifier(max_iter=3).fit(*rows)
        boosting._predictors[0][0].nodes = nodes
        with pytest.raises(ValueError, match=r"not those of this scikit-learn|damaged"):
            reopened(boosting)


def test_boosting_for_more_features_than_it_says_is_refused(rows):
    features = np.hstack([np.zeros((90, 4)), rows[0]])
    boosting = HistGradientBoostingClassifier(max_iter=3).fit(features, rows[1])
    boosting.n_features_in_ = 4
    with pytest.raises(ValueError, match="a feature beyond the 4"):
        reopened(boosting)


def test_boosting_with_a_step_before_it_is_refused(rows):
    boosting = HistGradientBoostingClassifier(max_iter=3).fit(*rows)
    boosting._preprocessor = StandardScaler().fit(rows[0])
    with pytest.raises(ValueError, match="categories"):
        reopened(boosting)


def test_nodes_are_followed_to_leaves():
    check_nodes(np.array([1, -1, -1]), np.array([2, -1, -1]), np.array([0, -2, -2]), 1)
    with pytest.raises(ValueError, match="no nodes"):
        check_nodes(np.array([]), np.array([]), np.array([]), 1)
    with pytest.raises(ValueError, match="cannot be"):
        check_nodes(np.array([1, 0, -1]), np.array([2, 2, -1]), np.array([0, 0, -2]), 1)


@pytest.mark.parametrize("kind", [SVC, NuSVC, SVR, NuSVR])
@pytest.mark.parametrize("kernel", ["rbf", "poly"])
def test_they_predict_the_same_when_they_are_back(rows, kind, kernel):
    machine = kind(kernel=kernel).fit(*rows)
    revived = estimator_from_bytes(estimator_bytes(machine, "It"))
    assert revived.predict(rows[0]).tobytes() == machine.predict(rows[0]).tobytes()


@pytest.mark.parametrize(
    "change",
    [
        {"_n_support": np.array([60, 60, 60], dtype=np.int32)},
        {"_n_support": np.array([1], dtype=np.int32)},
        {"_n_support": np.array([-100, 80, 78], dtype=np.int32)},
        {"_dual_coef_": np.zeros((1, 2))},
        {"_intercept_": np.zeros(1)},
        {"_probA": np.zeros(1), "_probB": np.zeros(1)},
        {"support_": np.zeros(1, dtype=np.int32)},
        {"support_vectors_": np.zeros((58, 2))},
        {"support_vectors_": np.zeros((3, 4))},
        {"classes_": np.arange(9)},
        {"n_features_in_": 2},
        {"kernel": "precomputed"},
        {"_sparse": True},
        {"_impl": "epsilon_svr"},
    ],
    ids=str,
)
def test_arrays_that_do_not_fit_are_refused(rows, change):
    machine = SVC().fit(*rows)
    reopened(machine)
    for name, value in change.items():
        setattr(machine, name, value)
    with pytest.raises(ValueError, match=r"kernel machine|takes the place"):
        reopened(machine)


@pytest.mark.parametrize("value", [np.float32, str, 3])
def test_an_attribute_in_the_place_of_a_method_is_refused(rows, value):
    forest = ExtraTreesClassifier(3).fit(*rows)
    forest._validate_X_predict = value
    with pytest.raises(ValueError, match=r"takes the place of .*_validate_X_predict"):
        reopened(forest)


def test_a_pipeline_that_would_read_a_cache_is_refused(rows, tmp_path):
    steps = make_pipeline(StandardScaler(), LogisticRegression(), memory=str(tmp_path)).fit(*rows)
    with pytest.raises(ValueError, match="cache"):
        reopened(steps)


def test_a_random_state_beyond_its_end_is_refused(rows):
    state = np.random.RandomState(0)
    forest = ExtraTreesClassifier(2, random_state=state).fit(*rows)
    reopened(forest)
    name, key, _, *rest = state.get_state()
    state.set_state((name, key, 10**6, *rest))
    with pytest.raises(ValueError, match="beyond its end"):
        reopened(forest)


def test_a_generator_of_another_kind_is_refused(rows):
    boosting = HistGradientBoostingClassifier(max_iter=2).fit(*rows)
    boosting._feature_subsample_rng = np.random.Generator(np.random.MT19937(0))
    with pytest.raises(ValueError, match="instead of a PCG64"):
        reopened(boosting)


def test_a_tree_where_none_belongs_is_refused(rows):
    model = LogisticRegression().fit(*rows)
    model.coef_ = DecisionTreeClassifier().fit(*rows).tree_
    with pytest.raises(ValueError, match="where none belongs, in a LogisticRegression"):
        reopened(model)


def test_endless_nesting_is_refused():
    nested = []
    for _ in range(200):
        nested = [nested]
    with pytest.raises(ValueError, match="nested too deeply"):
        _check_loaded(nested)

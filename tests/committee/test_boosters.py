"""CatBoost and LightGBM: their trees become arrays, and the default goes without them."""

import os

import numpy as np
import pytest
import torch

import domindex
from domindex import CrossDomainClassifier, CrossDomainRegressor, Training
from domindex.committee.candidates import list_candidates
from domindex.committee.learners import boosters
from domindex.committee.learners.base import PREDICTORS, Predictor
from domindex.committee.learners.boosters import TreesPredictor
from domindex.errors import InputError
from domindex.export.exporting import load_exported

SHORT = Training(steps=3, index_steps=3)


@pytest.fixture(params=["catboost", "lightgbm"])
def name(request):
    pytest.importorskip(request.param, reason="an extra, domindex[boosting]")
    return request.param


def rows_of(n_classes, n=300, seed=0):
    """Rows that single precision holds exactly, as CatBoost takes them, and uneven weights."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(n, 4)).astype(np.float32).astype(np.float64)
    signal = features[:, 0] + features[:, 1] * features[:, 2]
    weights = rng.uniform(0.5, 1.5, n)
    weights /= weights.mean()
    if n_classes is None:
        return features, signal[:, None], weights
    cuts = np.quantile(signal, np.arange(1, n_classes) / n_classes)
    return features, np.digitize(signal, cuts), weights


def said_by_catboost(features, labels, weights, n_classes):
    kind = {None: "RMSE", 2: "Logloss"}.get(n_classes, "MultiClass")
    quiet = {"logging_level": "Silent", "allow_writing_files": False, "thread_count": 1}
    model = pytest.importorskip("catboost").CatBoost(
        {"loss_function": kind, "iterations": 200, "random_seed": 3, **quiet}
    )
    model.fit(features, labels, sample_weight=weights)
    as_what = "RawFormulaVal" if n_classes is None else "Probability"
    return model.predict(features, prediction_type=as_what).reshape(len(features), -1)


def said_by_lightgbm(features, labels, weights, n_classes):
    module = pytest.importorskip("lightgbm")
    kinds = {None: module.LGBMRegressor}
    model = kinds.get(n_classes, module.LGBMClassifier)(
        random_state=3, n_jobs=1, verbosity=-1, deterministic=True, force_row_wise=True
    )
    model.fit(features, np.ravel(labels), sample_weight=weights)
    said = model.predict(features) if n_classes is None else model.predict_proba(features)
    return said.reshape(len(features), -1)


@pytest.mark.parametrize("n_classes", [None, 2, 4])
def test_the_arrays_say_what_the_library_says(name, n_classes):
    features, labels, weights = rows_of(n_classes)
    fitted = PREDICTORS[name].fit(features, labels, n_classes, 3, weights)
    library = {"catboost": said_by_catboost, "lightgbm": said_by_lightgbm}[name]
    expected = library(features, labels, weights, n_classes)
    np.testing.assert_allclose(fitted.predict(features), expected, atol=1e-12)


@pytest.mark.parametrize("n_classes", [None, 3])
def test_it_comes_back_from_its_state_and_is_the_same_in_torch(name, n_classes):
    features, labels, _ = rows_of(n_classes)
    fitted = PREDICTORS[name].fit(features, labels, n_classes, 0)
    again = PREDICTORS[name].fit(features, labels, n_classes, 0)
    predicted = fitted.predict(features)
    assert again.predict(features).tobytes() == predicted.tobytes()
    assert Predictor.from_entry(fitted.entry()).predict(features).tobytes() == predicted.tobytes()
    in_torch = fitted.torch_module()(torch.from_numpy(features)).numpy()
    np.testing.assert_allclose(in_torch, predicted, atol=1e-12)


def test_classes_that_are_missing_have_no_probability(name):
    features, labels, _ = rows_of(2)
    predicted = PREDICTORS[name].fit(features, 2 * labels, 4, 0).predict(features)
    assert (predicted[:, [1, 3]] == 0).all()
    assert (predicted.argmax(axis=1) == 2 * labels).mean() > 0.95


def test_several_values_each_have_trees_of_their_own(name):
    features, values, _ = rows_of(None)
    both = PREDICTORS[name].fit(features, np.hstack([values, -3 * values + 1]), None, 0)
    alone = PREDICTORS[name].fit(features, values, None, 0)
    np.testing.assert_allclose(both.predict(features)[:, :1], alone.predict(features), atol=1e-12)
    assert abs(both.predict(features)[:, 1] - (1 - 3 * values[:, 0])).mean() < 0.5


def test_where_nothing_varies_shares_and_means_are_left(name):
    learner, still, moving = PREDICTORS[name], np.zeros((4, 2)), np.eye(4)
    shares = learner.fit(still, np.array([0, 1, 1, 2]), 5, 0).predict(still[:1])
    np.testing.assert_allclose(shares, [[0.25, 0.5, 0.25, 0, 0]])
    np.testing.assert_allclose(learner.fit(moving, np.ones(4, int), 3, 0).predict(moving)[:, 1], 1)
    np.testing.assert_allclose(
        learner.fit(moving, np.full((4, 1), 7.0), None, 0).predict(moving), 7
    )


def test_it_writes_no_files(name, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    features, labels, _ = rows_of(2)
    PREDICTORS[name].fit(features, labels, 2, 0)
    assert os.listdir(tmp_path) == []
    assert capfd.readouterr() == ("", "")


def hand_made(**changes):
    """One tree of a question and two leaves, and another that is a leaf."""
    state = {
        "name": "catboost",
        "roots": [0, 3],
        "nodes": np.array([[1, 0.5, 1, 2], [0, 0, 1, 1], [0, 0, 2, 2], [0, 0, 3, 3.0]]),
        "values": np.array([[0.0], [1.0], [2.0], [10.0]]),
        "bias": np.array([100.0]),
        "n_features": 2,
        "is_class": False,
    }
    return {**state, **changes}


def node(number, column, value):
    nodes = hand_made()["nodes"].copy()
    nodes[number, column] = value
    return {"nodes": nodes}


def test_a_row_goes_left_up_to_the_threshold():
    trees = TreesPredictor.from_state(hand_made())
    said = trees.predict(np.array([[9.0, 0.5], [9.0, 0.6]]))
    np.testing.assert_array_equal(said, [[111.0], [112.0]])
    with pytest.raises(domindex.errors.PredictorError, match="shape"):
        trees.predict(np.zeros((1, 3)))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (node(0, 2, 0), "a child that cannot be"),  # would go round for ever
        (node(2, 3, 1), "a child that cannot be"),
        (node(0, 3, 9), "a child that cannot be"),
        (node(0, 0, 2), "asks for a feature beyond"),
        (node(0, 0, -1), "asks for a feature beyond"),
        (node(0, 1, np.nan), "no number"),
        ({"roots": [0, 4]}, "a node that is not there"),
        ({"roots": []}, "a node that is not there"),
        ({"values": np.zeros((3, 1))}, "do not fit their values"),
        ({"bias": np.array([np.nan])}, "begins with no number"),
        ({"nodes": np.zeros((4, 3))}, "do not fit their values"),
    ],
)
def test_damaged_trees_are_refused(changes, said):
    with pytest.raises(ValueError, match=said):
        TreesPredictor.from_state(hand_made(**changes))


def bent_bands(seed=0):
    """Six domains, bands of the first feature, whose classes are those of a bend across them."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.uniform(0, 6, 360), rng.normal(size=(360, 2))])
    y = np.where(X[:, 1] * X[:, 2] > 0, "yes", "no")
    return X, y, np.array([f"band {int(x)}" for x in X[:, 0]])


ROLES = {"source_domains": ["band 0", "band 2", "band 4"]}


def test_asked_for_by_name_it_is_saved_and_exported(name, stays_itself):
    X, y, domain = bent_bands()
    model = CrossDomainClassifier(
        candidates=[("raw", name), ("raw", "linear")], training=SHORT, random_state=0
    )
    model.fit(X, y, sample_domain=domain, **ROLES)
    assert model.candidates_["candidate"].iloc[0] == f"{name} on raw"
    assert name in model.summary()
    stays_itself(model, X, domain)


def test_it_is_exported_to_onnx(name, tmp_path):
    pytest.importorskip("onnxruntime", reason="an extra, domindex[onnx]")
    X, y, domain = bent_bands()
    model = CrossDomainClassifier(candidates=[("raw", name)], training=SHORT, random_state=0)
    model.fit(X, y, sample_domain=domain, **ROLES).export(tmp_path / "onnx", format="onnx")
    exported = load_exported(tmp_path / "onnx").predict_proba(X, sample_domain=domain)
    expected = model.predict_proba(X, sample_domain=domain)
    np.testing.assert_allclose(exported, expected, atol=1e-6)


def listed(line, line_geometry, settings, wish):
    given = wish, "auto", "auto", line, line_geometry, settings
    return {one.predictor for one in list_candidates(*given)}


def test_the_default_goes_without_what_happens_to_be_installed(
    line, line_geometry, settings, monkeypatch
):
    monkeypatch.setattr(boosters.BoosterLearner, "is_installed", True)
    default = listed(line, line_geometry, settings, None)
    assert not default & {"catboost", "lightgbm"}
    assert listed(line, line_geometry, settings, "boosters") == default | {"catboost", "lightgbm"}


@pytest.mark.slow
def test_the_wish_for_boosters_tries_them_beside_the_default(tmp_path):
    installed = {name for name in ("catboost", "lightgbm") if PREDICTORS[name].is_installed}
    if not installed:
        pytest.skip("an extra, domindex[boosting]")
    X, _, domain = bent_bands()
    model = CrossDomainRegressor(candidates="boosters", training=SHORT, random_state=0)
    model.fit(X, X[:, 1] * X[:, 2], sample_domain=domain, **ROLES)
    wanted = {f"{name} on raw" for name in (*installed, "boosting", "linear")}
    assert wanted <= set(model.candidates_["candidate"])
    model.save(tmp_path / "model")
    assert domindex.load(tmp_path / "model").candidates == "boosters"


def test_what_is_not_installed_is_said(monkeypatch):
    monkeypatch.setattr(boosters.BoosterLearner, "is_installed", False)
    X, y, domain = bent_bands()
    with pytest.raises(InputError, match=r"needs catboost, .* pip install 'domindex\[boosting\]'"):
        CrossDomainClassifier(candidates=[("raw", "catboost")]).fit(
            X, y, sample_domain=domain, **ROLES
        )
    with pytest.raises(InputError, match="neither catboost nor lightgbm is installed"):
        CrossDomainClassifier(candidates="boosters").fit(X, y, sample_domain=domain, **ROLES)
    with pytest.raises(InputError, match="Give one or the other"):
        CrossDomainClassifier(candidates="boosters", predictor="linear").fit(
            X, y, sample_domain=domain, **ROLES
        )
    with pytest.raises(InputError, match="or 'boosters'"):
        CrossDomainClassifier(candidates="all").fit(X, y, sample_domain=domain, **ROLES)

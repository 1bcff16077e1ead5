"""The paper's model as an estimator: saved, asked and grown like the others, and hard to break."""

import json
import pickle

import joblib
import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone
from torch import nn

import domindex
from domindex import Backbone, VDIClassifier, VDIRegressor
from domindex.datasets import make_circle
from domindex.errors import InputError, NoDomainWarning, OffMapWarning
from domindex.neural.builtin_backbones import ResNet18
from domindex.persistence.model_folder import MANIFEST, write_manifest

SHORT = {"pretraining_steps": 4, "steps": 6, "refresh_every": 3, "random_state": 0}
CIRCLE = make_circle(n_domains=6, n_sources=3, samples_per_domain=25, random_state=0)
NAMES = [f"d{number}" for number in CIRCLE.sample_domain]
SOURCES = ["d0", "d1", "d2"]
NEW = ["never seen"] * len(NAMES)


def fitted(kind=VDIClassifier, X=CIRCLE.X, y=None, names=NAMES, sources=SOURCES, **settings):
    if y is None:
        y = CIRCLE.y if kind is VDIClassifier else CIRCLE.X + 100.0
    model = kind(**SHORT | settings)
    return model.fit(X, y, sample_domain=names, source_domains=sources)


@pytest.fixture(scope="module")
def classifier():
    return fitted()


@pytest.fixture(scope="module")
def regressor():
    return fitted(VDIRegressor)


def answers(model):
    """All that a user may ask, of known domains and of one that was never seen."""
    found = [model.transform(CIRCLE.X), model.domain_indices_, model.domain_index_std_]
    for names in (NAMES, NEW):
        found.append(model.encode(CIRCLE.X, sample_domain=names))
        placed = model.place_domains(CIRCLE.X, sample_domain=names)
        found.append(placed.filter(regex="index|std|distance|score").to_numpy(dtype=float))
        if isinstance(model, VDIClassifier):
            found.append(model.predict_proba(CIRCLE.X, sample_domain=names))
        else:
            found += model.predict(CIRCLE.X, sample_domain=names, return_std=True)
    return [part.tobytes() for part in found]


@pytest.mark.parametrize(
    "settings",
    [
        {"encoder": "network"},
        {"encoder": "affine"},
        {"prior": "network", "local_index": "projection"},
        {"aggregation": "mean", "geodesics": True, "random_state": np.random.RandomState(3)},
    ],
    ids=["network", "affine", "own prior", "mean"],
)
@pytest.mark.parametrize("kind", [VDIClassifier, VDIRegressor])
def test_a_loaded_model_predicts_bit_for_bit(kind, settings, tmp_path):
    model = fitted(kind, **settings)
    model.save(tmp_path / "model")
    loaded = domindex.load(tmp_path / "model")
    assert type(loaded) is kind
    assert answers(loaded) == answers(model)
    assert loaded.domains_ == model.domains_
    assert loaded.source_domains_ == SOURCES
    assert loaded.summary() == model.summary()
    pd.testing.assert_frame_equal(loaded.history_, model.history_)
    given, kept = loaded.get_params(), model.get_params()
    assert {n: v for n, v in given.items() if n != "random_state"} == {
        n: v for n, v in kept.items() if n != "random_state"
    }


def test_a_table_with_texts_comes_back_with_its_preparation(tmp_path):
    table = pd.DataFrame(CIRCLE.X, columns=["x", "z"]).assign(
        site=NAMES, kind=np.where(CIRCLE.X[:, 0] > 0, "left", "right"), label=CIRCLE.y
    )
    model = VDIClassifier(**SHORT).fit(table, "label", sample_domain="site", source_domains=SOURCES)
    model.save(tmp_path / "model")
    loaded = domindex.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_proba(table), model.predict_proba(table))
    assert set(model.explain_domain("d4")["column"]) == {"x", "z", "kind"}


@pytest.mark.parametrize("name", ["model.json", "weights.safetensors", MANIFEST])
@pytest.mark.parametrize("damage", ["cut", "flipped", "removed"])
def test_a_damaged_file_is_refused(classifier, tmp_path, name, damage):
    classifier.save(tmp_path / "model")
    path = tmp_path / "model" / name
    content = path.read_bytes()
    if damage == "removed":
        path.unlink()
    elif damage == "cut":
        path.write_bytes(content[: len(content) // 2])
    else:
        path.write_bytes(content[:-20] + bytes([content[-20] ^ 1]) + content[-19:])
    with pytest.raises(InputError, match=r"damaged|There is no"):
        domindex.load(tmp_path / "model")


def tampered(folder, change):
    """As by somebody who counts the checksums anew."""
    described = json.loads((folder / "model.json").read_text())
    change(described["state"]["dict"])
    (folder / "model.json").write_text(json.dumps(described))
    write_manifest(folder)


def sizes(state, which):
    return state["indices"]["dict"]["module"]["dict"]["sizes"]["dict"][which]["dict"]


@pytest.mark.parametrize(
    "change",
    [
        lambda state: state.pop("indices"),
        lambda state: state.pop("off_map_test"),
        lambda state: state.pop("history"),
        lambda state: state.pop("outputs"),
        lambda state: state["parameters"]["dict"].update(depth=3),
        lambda state: state["indices"]["dict"].update(aggregation="os.system"),
        lambda state: sizes(state, "model").update(width=10**12),
        lambda state: sizes(state, "model").update(local_dim=-1),
        lambda state: sizes(state, "model").update(affine="yes"),
        lambda state: sizes(state, "model").update(depth=2),
        lambda state: sizes(state, "predictor").update(kind="os.system"),
        lambda state: sizes(state, "predictor").update(n_outputs="2"),
        lambda state: state.update(source_domains={"list": [9]}),
        lambda state: state.update(input_shape={"list": [7]}),
    ],
)
def test_a_state_that_does_not_fit_itself_is_refused(regressor, tmp_path, change):
    regressor.save(tmp_path / "model")
    tampered(tmp_path / "model", change)
    with pytest.raises(InputError, match="is damaged"):
        domindex.load(tmp_path / "model")


def test_classes_that_it_does_not_predict_are_refused(classifier, tmp_path):
    classifier.save(tmp_path / "model")
    tampered(tmp_path / "model", lambda state: state.update(classes={"list": [0, 1, 2]}))
    with pytest.raises(InputError, match="the classes are not those that it predicts"):
        domindex.load(tmp_path / "model")


def test_an_unfitted_model_is_not_saved(tmp_path):
    with pytest.raises(ValueError, match="not fitted"):
        VDIClassifier().save(tmp_path / "model")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kind", [VDIClassifier, VDIRegressor])
def test_copies_have_the_parameters_and_nothing_learned(kind):
    model = kind(width=32, adversary="domain+graph", random_state=5)
    copied = clone(model)
    assert copied.get_params() == model.get_params()
    assert copied.set_params(width=16).width == 16
    assert model.width == 32
    with pytest.raises(ValueError, match="Invalid parameter 'depth'"):
        model.set_params(depth=3)
    with pytest.raises(ValueError, match="not fitted"):
        copied.predict(CIRCLE.X)


@pytest.mark.parametrize("name", ["classifier", "regressor"])
def test_pickle_and_joblib_keep_every_bit(name, request, tmp_path):
    model = request.getfixturevalue(name)
    assert answers(pickle.loads(pickle.dumps(model))) == answers(model)
    joblib.dump(model, tmp_path / "model.joblib")
    assert answers(joblib.load(tmp_path / "model.joblib")) == answers(model)


def test_score_is_accuracy_or_r2(classifier, regressor):
    said = classifier.predict(CIRCLE.X, sample_domain=NAMES)
    found = classifier.score(CIRCLE.X, CIRCLE.y, sample_domain=NAMES)
    assert found == (said == CIRCLE.y).mean()
    assert regressor.score(CIRCLE.X, CIRCLE.X + 100.0, sample_domain=NAMES) <= 1.0
    chances = classifier.predict_proba(CIRCLE.X, sample_domain=NAMES)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    np.testing.assert_array_equal(said, classifier.classes_[chances.argmax(axis=1)])
    assert not hasattr(regressor, "predict_proba")


def test_deviations_are_in_units_of_the_values(regressor):
    mean, deviation = regressor.predict(CIRCLE.X, sample_domain=NAMES, return_std=True)
    assert mean.shape == deviation.shape == CIRCLE.X.shape
    assert (deviation > 0).all()
    wide = fitted(VDIRegressor, y=10.0 * (CIRCLE.X + 100.0))
    np.testing.assert_allclose(
        wide.predict(CIRCLE.X, sample_domain=NAMES, return_std=True)[1], 10.0 * deviation
    )


def test_a_new_domain_is_placed_by_its_rows_and_a_far_one_is_said_to_be(classifier):
    rows = CIRCLE.X[:25]
    placed = classifier.place_domains(rows, sample_domain=["new"] * 25)
    assert placed["nearest_1"].tolist() == ["d0"]
    assert not placed["off_map"].any()
    with pytest.warns(OffMapWarning, match="'far' lies off the map"):
        classifier.predict(rows + 50.0, sample_domain=["far"] * 25)
    with pytest.warns(NoDomainWarning, match="all rows count as one new domain"):
        classifier.predict(rows)


def test_an_added_domain_is_known_and_moves_nobody(classifier, tmp_path):
    new = CIRCLE.X[:25] + 0.1
    grown = classifier.add_domains(new, sample_domain=["new"] * 25)
    assert grown.domains_ == [*classifier.domains_, "new"]
    assert grown.added_domains_ == ["new"]
    np.testing.assert_array_equal(grown.domain_indices_[:6], classifier.domain_indices_)
    asked = {"sample_domain": ["new"] * 25}
    np.testing.assert_allclose(
        grown.predict_proba(new, **asked), classifier.predict_proba(new, **asked)
    )
    alone = grown.predict_proba(new[:1], sample_domain=["new"])
    np.testing.assert_allclose(alone, grown.predict_proba(new, **asked)[:1])
    grown.save(tmp_path / "grown")
    assert answers(domindex.load(tmp_path / "grown")) == answers(grown)
    with pytest.raises(InputError, match="already among the 7 known domains"):
        grown.add_domains(new, sample_domain=["new"] * 25)


def test_rows_on_disk_of_a_new_domain_are_predicted_as_those_in_memory(classifier, tmp_path):
    stored = np.lib.format.open_memmap(
        tmp_path / "rows.npy", mode="w+", dtype=np.float64, shape=CIRCLE.X.shape
    )
    stored[:] = CIRCLE.X
    names = ["new"] * 25 + NAMES[25:]
    np.testing.assert_allclose(
        classifier.predict_proba(stored, sample_domain=names),
        classifier.predict_proba(CIRCLE.X, sample_domain=names),
    )


def test_it_shows_its_map_and_says_that_it_forecasts_nothing(classifier, tmp_path):
    assert classifier.map_["role"].tolist() == ["source"] * 3 + ["target"] * 3
    assert classifier.plot_map().get_xlabel() == "domain index 1"
    assert "no forecast" in classifier.summary()
    with pytest.raises(InputError, match=r"VDIClassifier does not forecast.*CrossDomainClassifier"):
        classifier.forecast(CIRCLE.X, sample_domain=NAMES)
    assert "VDIClassifier" in classifier._html_repr()
    assert classifier.report(tmp_path / "report.html").stat().st_size > 0
    assert classifier.timings_["stage"].tolist() == ["training", "explaining"]
    names = [f"vdiclassifier{number}" for number in range(12)]
    assert classifier.get_feature_names_out().tolist() == names


def test_one_source_more_dimensions_than_domains_and_constant_values_are_served():
    one = fitted(sources=["d0"])
    assert np.isfinite(one.predict_proba(CIRCLE.X, sample_domain=NAMES)).all()
    wide = fitted(index_dim=8)
    assert wide.domain_indices_.shape == (6, 8)
    assert np.isfinite(wide.domain_indices_).all()
    two = fitted(names=["a"] * 75 + ["b"] * 75, sources=["a"])
    assert np.isfinite(two.domain_indices_).all()
    flat = fitted(VDIRegressor, y=np.full(len(NAMES), 3.5))
    assert np.isfinite(flat.predict(CIRCLE.X, sample_domain=NAMES)).all()


HOLES = np.where(np.arange(len(NAMES))[:, None] == 3, np.nan, CIRCLE.X)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"X": HOLES}, "X contains NaN.*row 3, column 0.*Impute or drop"),
        ({"X": CIRCLE.X * 1e100}, "numbers beyond 1e"),
        ({"y": np.zeros(len(NAMES), int)}, "only one class.*Add a source domain"),
        ({"names": ["d0"] * len(NAMES), "sources": ["d0"]}, "no target domain.*Leave"),
        ({"sources": [f"d{n}" for n in range(6)]}, "no target domain"),
        ({"sources": ["d9"]}, "d9"),
        ({"names": None}, "sample_domain is missing"),
        ({"index_dim": 0}, "index_dim is 0. Choose"),
        (
            {"encoder": "affine", "latent_dim": 5},
            "latent_dim is 5, .* of 2 features",
        ),
        ({"device": "abacus"}, "abacus"),
        ({"backbone": "conv"}, r"takes features of a frozen one only.*CrossDomainClassifier"),
        ({"backbone": 3}, "The backbone is 3"),
    ],
    ids=lambda one: str(list(one)) if isinstance(one, dict) else "",
)
def test_what_cannot_be_fitted_is_said_in_words(given, words):
    with pytest.raises(InputError, match=words):
        fitted(**given)


@pytest.mark.parametrize("kind", [VDIClassifier, VDIRegressor])
def test_a_fit_that_fails_leaves_the_model_as_it_was(kind):
    model = fitted(kind)
    before = answers(model)
    with pytest.raises(InputError):
        model.fit(HOLES, CIRCLE.y, sample_domain=NAMES, source_domains=SOURCES)
    assert answers(model) == before


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (CIRCLE.X[:, :1], "X has 1 features"),
        (HOLES, "X contains NaN"),
        (CIRCLE.X[:0], "X is empty"),
        (CIRCLE.X * 1e100, "numbers beyond"),
    ],
)
def test_rows_that_cannot_be_predicted_are_named(classifier, rows, words):
    with pytest.raises(InputError, match=words):
        classifier.predict(rows, sample_domain=NAMES[: len(rows)])


def test_features_of_a_frozen_backbone_stand_for_pictures(tmp_path):
    rng = np.random.default_rng(0)
    pictures = rng.random((len(NAMES), 6, 6)) + 0.1 * np.array(CIRCLE.sample_domain)[:, None, None]
    network = nn.Sequential(nn.Flatten(), nn.Linear(36, 5))
    before = [one.detach().clone() for one in network.parameters()]
    model = fitted(X=pictures, backbone=Backbone(network, frozen=True))
    assert all(torch.equal(*pair) for pair in zip(before, network.parameters()))
    assert model.transform(pictures).shape == (len(NAMES), 12)
    model.save(tmp_path / "model")
    loaded = domindex.load(tmp_path / "model", backbone=network)
    asked = {"sample_domain": NAMES}
    expected = model.predict_proba(pictures, **asked)
    np.testing.assert_array_equal(loaded.predict_proba(pictures, **asked), expected)
    with pytest.raises(InputError, match="backbone=MODULE"):
        domindex.load(tmp_path / "model")


def test_a_frozen_resnet_18_is_taken_and_saved_whole_and_one_to_be_trained_is_refused(tmp_path):
    torch.manual_seed(0)
    torch.save(ResNet18().state_dict(), tmp_path / "weights.pth")
    frozen = Backbone("resnet18", frozen=True, weights=tmp_path / "weights.pth")
    few = np.arange(len(NAMES)) % 5 == 0
    names = [name for name, one in zip(NAMES, few) if one]
    shade = 0.1 * np.arange(len(names))[:, None, None, None]
    pictures = np.random.default_rng(0).random((len(names), 3, 32, 32)) + shade
    given = {"X": pictures, "y": CIRCLE.y[few], "names": names}
    model = fitted(**given, backbone=frozen)
    assert model._extractor.n_features == 512
    model.save(tmp_path / "model")
    loaded = domindex.load(tmp_path / "model")
    expected = model.predict_proba(pictures, sample_domain=names)
    np.testing.assert_array_equal(loaded.predict_proba(pictures, sample_domain=names), expected)
    for trained in ("resnet18", Backbone("resnet18", weights=tmp_path / "weights.pth")):
        with pytest.raises(InputError, match=r"is to be trained.* takes features of a frozen one"):
            fitted(**given, backbone=trained)


def test_domains_are_added_to_a_table_behind_a_frozen_backbone():
    backbone = Backbone(nn.Sequential(nn.Linear(2, 6), nn.Tanh()), frozen=True)
    model = fitted(backbone=backbone)
    grown = model.add_domains(CIRCLE.X, sample_domain=NEW)
    found = grown.predict_proba(CIRCLE.X, sample_domain=NEW)
    np.testing.assert_allclose(found, model.predict_proba(CIRCLE.X, sample_domain=NEW), atol=1e-6)


def test_pictures_without_a_backbone_are_rows_of_numbers():
    pictures = np.random.default_rng(0).random((len(NAMES), 4, 4))
    model = fitted(X=pictures)
    assert model.predict(pictures, sample_domain=NAMES).shape == (len(NAMES),)
    with pytest.raises(InputError, match=r"X has rows of shape \(16,\), but fit saw \(4, 4\)"):
        model.predict(pictures.reshape(-1, 16), sample_domain=NAMES)


def test_by_default_there_is_no_adversary_where_labels_depend_on_the_source(classifier, regressor):
    """The regressor's values move with the domain; the classes have the same shares everywhere."""
    assert "adversary" in classifier.history_
    assert "without an adversary" not in classifier.summary()
    assert "adversary" not in regressor.history_
    assert "without an adversary" in regressor.summary()
    assert "adversary" in fitted(VDIRegressor, adversary="graph").history_
    asked = fitted(adversary=None)
    assert "adversary" not in asked.history_
    assert "without an adversary" not in asked.summary()

"""A representation and a predictor from outside the package: nothing in it knows them."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

import domindex
from domindex import (
    CrossDomainClassifier,
    CrossDomainRegressor,
    Predictor,
    Representation,
    Training,
    list_predictors,
    list_representations,
    register_predictor,
    register_representation,
)
from domindex.committee.learners.base import PREDICTORS
from domindex.datasets import make_circle
from domindex.errors import InputError, PredictorError
from domindex.representations import RepresentedRows
from domindex.representations.base import REPRESENTATIONS

QUICK = {"effort": "quick", "training": Training(index_steps=3, steps=5), "random_state": 0}


@dataclass(frozen=True, eq=False)
class Polar(Representation):
    """Length and angle of every row, the angle turned back along the map."""

    name: ClassVar[str] = "polar"
    slope: float

    @classmethod
    def fit(cls, data, geometry):
        return cls(float(np.abs(geometry.domain_map.coordinates).max()))

    def apply(self, rows):
        length = np.linalg.norm(rows.features, axis=1)
        angle = np.arctan2(rows.features[:, 1], rows.features[:, 0])
        return RepresentedRows.plain(np.column_stack([length, angle + rows.index[:, 0]]))

    def state(self):
        return {"slope": self.slope}

    @classmethod
    def from_state(cls, state):
        return cls(float(state["slope"]))


@dataclass(frozen=True, eq=False)
class Nearest(Predictor):
    """The nearest mean of a class, softly; for values, the mean."""

    name: ClassVar[str] = "nearest mean"
    means: np.ndarray
    is_class: bool

    @classmethod
    def fit(cls, features, labels, n_classes, seed):
        if n_classes is None:
            return cls(labels.mean(axis=0, keepdims=True), False)
        means = [features[labels == number].mean(axis=0) for number in range(n_classes)]
        return cls(np.array(means), True)

    def predict(self, features):
        if not self.is_class:
            return np.repeat(self.means, len(features), axis=0)
        gaps = ((features[:, None] - self.means[None]) ** 2).sum(axis=-1)
        return np.exp(gaps.min(axis=1, keepdims=True) - gaps)

    def state(self):
        return {"means": self.means, "is_class": self.is_class}

    @classmethod
    def from_state(cls, state):
        return cls(state["means"], bool(state["is_class"]))


@pytest.fixture
def registered():
    register_representation(Polar)
    register_predictor(Nearest)
    yield
    REPRESENTATIONS.remove("polar")
    PREDICTORS.remove("nearest mean")


@pytest.fixture(scope="module")
def family():
    return make_circle(n_domains=8, n_sources=4, samples_per_domain=30, random_state=0)


def fit(model, family, y=None):
    return model.fit(
        family.X,
        family.y if y is None else y,
        sample_domain=family.sample_domain,
        source_domains=family.source_domains,
    )


@pytest.mark.parametrize(
    "model",
    [
        CrossDomainClassifier(representation="polar", predictor="nearest mean", **QUICK),
        CrossDomainClassifier(representation="polar", predictor="network", **QUICK),
        CrossDomainClassifier(predictor="nearest mean", **QUICK),
        CrossDomainRegressor(representation="polar", predictor="nearest mean", **QUICK),
        CrossDomainRegressor(representation="polar", predictor="network", **QUICK),
    ],
    ids=lambda model: f"{type(model).__name__} {model.representation} {model.predictor}",
)
def test_they_fit_predict_a_new_domain_save_and_load(model, family, registered, tmp_path):
    y = family.y if isinstance(model, CrossDomainClassifier) else family.X[:, 0]
    model = fit(model, family, y)
    asked = "predict_proba" if isinstance(model, CrossDomainClassifier) else "predict"
    new = {"sample_domain": ["never seen"] * len(family.X)}
    predicted = getattr(model, asked)(family.X, **new)
    assert np.isfinite(predicted).all()
    model.save(tmp_path / "model")
    revived = domindex.load(tmp_path / "model")
    assert getattr(revived, asked)(family.X, **new).tobytes() == predicted.tobytes()
    known = {"sample_domain": family.sample_domain}
    np.testing.assert_array_equal(
        revived.predict(family.X, **known), model.predict(family.X, **known)
    )


def test_they_are_listed_and_gone_when_taken_away(registered):
    assert "polar" in list_representations()
    assert "nearest mean" in list_predictors()


def test_a_saved_model_asks_for_what_is_not_registered(family, registered, tmp_path):
    model = fit(
        CrossDomainClassifier(representation="polar", predictor="nearest mean", **QUICK), family
    )
    model.save(tmp_path / "model")
    REPRESENTATIONS.remove("polar")
    with pytest.raises(InputError, match=r"no representation 'polar'.*register your own"):
        domindex.load(tmp_path / "model")
    register_representation(Polar)
    PREDICTORS.remove("nearest mean")
    with pytest.raises(InputError, match=r"no predictor 'nearest mean'.*register your own"):
        domindex.load(tmp_path / "model")
    register_predictor(Nearest)


def test_an_unknown_name_is_refused_with_the_known_ones(family):
    with pytest.raises(InputError, match=r"no representation 'polar'; there are raw, with_index"):
        fit(CrossDomainClassifier(representation="polar", predictor="network", **QUICK), family)
    with pytest.raises(
        InputError, match=r"no predictor 'stumps'; there are linear, kernel, trees, boosting"
    ):
        fit(CrossDomainClassifier(predictor="stumps", **QUICK), family)


def test_auto_is_nobodys_name():
    class Mine(Polar):
        name = "auto"

    with pytest.raises(InputError, match="cannot be named 'auto'"):
        register_representation(Mine)


@pytest.mark.parametrize(
    ("bad", "word"),
    [(lambda f: np.full((len(f), 2), np.nan), "NaN or infinity"), (lambda f: f[:, 0], "shape")],
)
def test_a_predictor_that_returns_nonsense_is_named(family, registered, monkeypatch, bad, word):
    settings = {"representation": "raw", "predictor": "nearest mean", **QUICK}
    model = fit(CrossDomainClassifier(**settings), family)
    monkeypatch.setattr(Nearest, "predict", lambda self, features: bad(features))
    with pytest.raises(PredictorError, match=f"The predictor 'nearest mean' returned .*{word}"):
        model.predict(family.X)

"""Predictors on what the network encodes, end to end."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

import domindex
from domindex import CrossDomainClassifier, CrossDomainRegressor, Training
from domindex.committee.candidates import list_candidates
from domindex.committee.committee import EncodedMember
from domindex.committee.network import EncodedFolds
from domindex.committee.settings import ChoiceSettings
from domindex.datasets import make_circle
from domindex.errors import InputError, PredictorError
from domindex.geometry.domain_geometry import DomainGeometry
from domindex.inputs import check_domain_data

SHORT = {"training": Training(index_steps=3, steps=6), "random_state": 0}
DATA = make_circle(n_domains=8, n_sources=4, samples_per_domain=30, random_state=0)
HOW = {"sample_domain": DATA.sample_domain, "source_domains": DATA.source_domains}


class Broken(GaussianNB):
    def fit(self, X, y, sample_weight=None):
        raise RuntimeError("I would rather not")


@pytest.fixture(scope="module")
def classes():
    pairs = [("raw", "linear"), ("encoded", "linear"), ("encoded", "trees")]
    return CrossDomainClassifier(candidates=pairs, **SHORT).fit(DATA.X, DATA.y, **HOW)


def test_what_the_network_encodes_is_weighed_beside_the_rest(classes):
    table = classes.candidates_.set_index("candidate")
    assert set(table.index) == {"linear on raw", "linear on encoded", "trees on encoded"}
    assert set(table["representation"]) == {"raw", "encoded"}
    assert table.loc["linear on encoded", "loss"] < table.loc["linear on raw", "loss"]
    assert classes.representation_ == "encoded"
    assert "what the network encodes" in classes.summary()
    assert classes.flow_ is not None


def test_a_saved_model_predicts_the_same_in_known_and_new_domains(classes, tmp_path):
    classes.save(tmp_path / "model")
    again = domindex.load(tmp_path / "model")
    assert any(isinstance(member, EncodedMember) for member in again._committee.members)
    for names in (DATA.sample_domain, np.full(len(DATA.X), "never seen")):
        asked = {"sample_domain": names}
        told = classes.predict_proba(DATA.X, **asked)
        assert np.isfinite(told).all()
        np.testing.assert_array_equal(again.predict_proba(DATA.X, **asked), told)
    np.testing.assert_array_equal(
        again.encode(DATA.X, sample_domain=DATA.sample_domain),
        classes.encode(DATA.X, sample_domain=DATA.sample_domain),
    )


def test_a_domain_that_is_added_is_predicted_as_a_new_one(classes):
    new = {"sample_domain": np.full(30, "new")}
    grown = classes.add_domains(DATA.X[:30], **new)
    told = classes.predict_proba(DATA.X[:30], **new)
    np.testing.assert_allclose(grown.predict_proba(DATA.X[:30], **new), told, atol=1e-9)


def test_one_rule_on_what_the_network_encodes_is_asked_for_by_name():
    values = np.column_stack([DATA.y, 10.0 - 2.0 * DATA.y])
    model = CrossDomainRegressor(representation="encoded", predictor="linear", **SHORT)
    model.fit(DATA.X, values, **HOW)
    assert model.candidates_["candidate"].tolist() == ["linear on encoded"]
    predicted, deviation = model.predict(DATA.X, sample_domain=DATA.sample_domain, return_std=True)
    assert predicted.shape == deviation.shape == values.shape
    is_source = np.isin(DATA.sample_domain, DATA.source_domains)
    error = ((predicted - values)[is_source] ** 2).mean(axis=0) / values[is_source].var(axis=0)
    assert (error < 0.5).all()


def test_the_network_and_a_rule_on_its_encoding_share_one_training():
    pairs = [("flow", "network"), ("encoded", "linear")]
    model = CrossDomainClassifier(candidates=pairs, **SHORT).fit(DATA.X, DATA.y, **HOW)
    phases = model.history_["phase"].tolist()
    assert phases.count("encoding") == 6
    assert {"network on flow", "linear on encoded"} == set(model.candidates_["candidate"])


def test_labels_of_held_out_sources_do_not_reach_what_predicts_them(monkeypatch):
    """A source whose labels are turned around is encoded as before where it is held out."""
    turned, kept, names = DATA.source_domains[0], [], []
    of_networks = EncodedFolds.of_networks.__func__

    def keep(cls, networks, folds, represented, indices):
        kept.append((of_networks(cls, networks, folds, represented, indices), folds))
        names.append(np.array(represented.data.row_names))
        return kept[-1][0]

    monkeypatch.setattr(EncodedFolds, "of_networks", classmethod(keep))
    for y in (DATA.y, np.where(DATA.sample_domain == turned, 1 - DATA.y, DATA.y)):
        CrossDomainClassifier(candidates=[("encoded", "linear")], **SHORT).fit(DATA.X, y, **HOW)
    (first, folds), (second, others) = kept
    for fold, other in zip(folds, others):
        known = turned in names[0][fold.train]
        pairs = list(zip(first.of(fold), second.of(other)))
        same = [np.array_equal(one.features, two.features) for one, two in pairs]
        assert same == [not known] * 2
    assert any(turned in names[0][fold.held_out] for fold in folds)


@pytest.mark.full
def test_a_predictor_that_fails_on_it_is_left_out_where_there_are_others():
    pairs = [("raw", "linear"), ("encoded", Broken())]
    with pytest.warns(UserWarning, match="I would rather not"):
        model = CrossDomainClassifier(candidates=pairs, **SHORT).fit(DATA.X, DATA.y, **HOW)
    assert model.candidates_["candidate"].tolist() == ["linear on raw"]
    with pytest.raises(PredictorError, match="I would rather not"):
        CrossDomainClassifier(candidates=pairs[1:], **SHORT).fit(DATA.X, DATA.y, **HOW)


@pytest.mark.parametrize(
    "settings",
    [
        {"candidates": [("encoded", "network")]},
        {"representation": "encoded", "predictor": "network"},
    ],
)
def test_the_network_does_not_encode_for_itself(settings):
    with pytest.raises(InputError, match="Choose another predictor for 'encoded'"):
        CrossDomainClassifier(**settings).fit(DATA.X, DATA.y, **HOW)


@pytest.mark.parametrize("moves", [True, False])
def test_the_default_tries_it_wherever_it_tries_the_network(moves):
    data = check_domain_data(
        DATA.X, DATA.y, DATA.sample_domain, DATA.source_domains, task="classification"
    )
    geometry = DomainGeometry.fit(data, 2)
    if not moves:
        still = replace(geometry.selected.flow, family="none")
        geometry = replace(geometry, selected=replace(geometry.selected, flow=still, around=None))
    listed = list_candidates(None, "auto", "auto", data, geometry, ChoiceSettings())
    encoded = {one.name for one in listed if one.encoded}
    assert encoded == ({"linear on encoded", "trees on encoded"} if moves else set())
    assert any(one.learner is None for one in listed) == moves

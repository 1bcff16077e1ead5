"""A backbone feeds the model: frozen, as a table of features, or trained with the network."""

import time

import numpy as np
import pytest
import torch
from sklearn.base import clone
from torch import nn

import domindex
from domindex import Backbone, CrossDomainClassifier, CrossDomainRegressor, Training
from domindex.baselines import CIDA, DANN, GRDA
from domindex.errors import InputError
from domindex.neural.builtin_backbones import ResNet18

SIDE, ROWS = 10, 30
SHORT = Training(steps=50, index_steps=10)
NETWORK = [("raw", "network")]
"""What `predictor="network"` comes to on a backbone, without a look at other representations."""


@pytest.fixture(scope="module")
def bars():
    """Pictures of a bar, upright or lying, that moves from domain to domain; four of six known."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 6 * ROWS)
    domain = np.repeat(np.arange(6), ROWS)
    X = rng.normal(0.0, 0.3, (len(y), SIDE, SIDE)).astype(np.float32)
    for picture, label, number in zip(X, y, domain):
        place = slice(1 + number, 3 + number)
        picture[place if label else slice(None), slice(None) if label else place] += 2.0
    return X, y, domain


SOURCES = [0, 1, 3, 5]


class RowsAndColumns(nn.Module):
    """How far the sums of rows, and those of columns, are spread: a bar's direction, wherever."""

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(2))
        self.seen = 0

    def forward(self, x):
        self.seen += len(x)
        return torch.stack([x.sum(dim=2).std(dim=1), x.sum(dim=1).std(dim=1)], dim=1) * self.scale


def fitted(model, bars, **more):
    X, y, domain = bars
    return model.fit(X, y, sample_domain=domain, source_domains=SOURCES, **more)


def accuracy(model, bars):
    X, y, domain = bars
    targets = ~np.isin(domain, SOURCES)
    return model.score(X[targets], y[targets], sample_domain=domain[targets])


def test_everything_stands_on_the_features_of_a_frozen_backbone(bars):
    backbone = Backbone(RowsAndColumns(), frozen=True)
    pairs = [("raw", "linear"), ("domain_standardised", "linear")]
    model = fitted(
        CrossDomainClassifier(backbone=backbone, candidates=pairs, training=SHORT, random_state=0),
        bars,
    )
    X, _, domain = bars
    assert model._extractor.network.seen == 3 + len(X)  # tried on three rows, then each row once
    assert accuracy(model, bars) > 0.95
    assert model.encode(X[:3], sample_domain=domain[:3]).shape == (3, 2)
    assert model._indices.module.flatten.input_shape == (2,)
    assert model.forecast(X, sample_domain=domain).shape[0] == 6


def test_a_frozen_backbone_is_the_same_as_its_features_given_by_hand(bars):
    X, y, domain = bars
    with torch.no_grad():
        features = RowsAndColumns()(torch.tensor(X)).numpy().astype(np.float64)
    pairs = [("raw", "linear"), ("with_index", "linear")]
    through = fitted(
        CrossDomainClassifier(
            backbone=Backbone(RowsAndColumns(), frozen=True),
            candidates=pairs,
            training=SHORT,
            random_state=0,
        ),
        bars,
    )
    by_hand = CrossDomainClassifier(candidates=pairs, training=SHORT, random_state=0).fit(
        features, y, sample_domain=domain, source_domains=SOURCES
    )
    np.testing.assert_allclose(
        through.predict_proba(X, sample_domain=domain),
        by_hand.predict_proba(features, sample_domain=domain),
        atol=1e-6,
    )


CONVOLUTIONS = CrossDomainClassifier(
    backbone="conv",
    candidates=NETWORK,
    effort="quick",
    training=Training(steps=4, index_steps=4),
    random_state=0,
)


@pytest.fixture(scope="module")
def trained(bars):
    return fitted(clone(CONVOLUTIONS), bars)


@pytest.mark.full
def test_convolutions_learn_what_a_bar_is(bars):
    model = CrossDomainClassifier(
        backbone="conv", predictor="network", training=SHORT, random_state=0
    )
    assert accuracy(fitted(model, bars), bars) > 0.9
    assert list(model.candidates_["candidate"]) == ["network on raw"]


def test_convolutions_are_trained_with_the_network_on_raw_inputs(trained, bars):
    X, _, domain = bars
    assert list(trained.candidates_["candidate"]) == ["network on raw"]
    alone = trained.predict_proba(X[:1], sample_domain=domain[:1])
    beside = trained.predict_proba(X[:40], sample_domain=domain[:40])[:1]
    np.testing.assert_allclose(alone, beside, atol=1e-4)


def test_the_same_seed_gives_the_same_backbone(trained, bars):
    X, _, domain = bars
    first, again = trained, fitted(clone(CONVOLUTIONS), bars)
    np.testing.assert_array_equal(
        again.predict_proba(X, sample_domain=domain), first.predict_proba(X, sample_domain=domain)
    )


def test_the_network_is_one_candidate_among_others(bars):
    X, y, domain = bars
    model = CrossDomainRegressor(
        backbone=RowsAndColumns,
        candidates=[("raw", "linear"), ("raw", "network")],
        training=Training(steps=20, index_steps=5),
        random_state=0,
    )
    model.fit(X, y.astype(float), sample_domain=domain, source_domains=SOURCES)
    assert set(model.candidates_["predictor"]) == {"linear", "network"}


def test_p_of_x_reconstructs_standardised_features_without_their_gradient(trained, bars):
    module = trained._indices.module
    told = module.reconstructed(torch.tensor(trained._indices.scaler.apply(bars[0])))
    assert told.shape == (len(bars[0]), module.backbone.n_features)
    assert not told.requires_grad
    assert 0.3 < float(told.std()) < 3.0


def test_a_backbone_by_name_is_saved_with_its_weights(trained, bars, tmp_path):
    X, _, domain = bars
    trained.save(tmp_path / "model")
    again = domindex.load(tmp_path / "model")
    np.testing.assert_array_equal(
        again.predict_proba(X, sample_domain=domain), trained.predict_proba(X, sample_domain=domain)
    )
    assert again.backbone == "conv"
    with pytest.raises(InputError, match="without one of your own"):
        domindex.load(tmp_path / "model", backbone=RowsAndColumns)


@pytest.mark.parametrize("frozen", [True, False])
def test_a_backbone_of_the_users_is_given_again_to_open_a_model(bars, tmp_path, frozen):
    X, _, domain = bars
    model = CrossDomainClassifier(
        backbone=Backbone(RowsAndColumns, frozen=frozen),
        candidates=[("raw", "linear"), ("raw", "network")],
        training=Training(steps=20, index_steps=5),
        random_state=0,
    )
    fitted(model, bars).save(tmp_path / "model")
    with pytest.raises(InputError, match="a backbone of your own"):
        domindex.load(tmp_path / "model")
    with pytest.raises(InputError, match="not the one that the model was saved with"):
        domindex.load(tmp_path / "model", backbone=lambda: nn.Flatten())
    again = domindex.load(tmp_path / "model", backbone=RowsAndColumns())
    assert again.backbone.frozen is frozen
    np.testing.assert_array_equal(
        again.predict_proba(X, sample_domain=domain), model.predict_proba(X, sample_domain=domain)
    )


@pytest.mark.full
def test_published_weights_are_read_from_a_file_and_kept_in_the_model(bars, tmp_path):
    torch.manual_seed(0)
    published = {**ResNet18().state_dict(), "fc.weight": torch.zeros(1000, 512)}
    torch.save({**published, "fc.bias": torch.zeros(1000)}, tmp_path / "resnet18.pth")
    backbone = Backbone("resnet18", frozen=True, weights=tmp_path / "resnet18.pth")
    pairs = [("raw", "linear")]
    model = fitted(
        CrossDomainClassifier(backbone=backbone, candidates=pairs, training=SHORT, random_state=0),
        bars,
    )
    model.save(tmp_path / "model")
    (tmp_path / "resnet18.pth").unlink()
    again = domindex.load(tmp_path / "model")
    X, _, domain = bars
    np.testing.assert_array_equal(
        again.predict_proba(X, sample_domain=domain), model.predict_proba(X, sample_domain=domain)
    )
    torch.testing.assert_close(
        again._extractor.network.network.layer4[1].conv2.weight,
        published["layer4.1.conv2.weight"],
    )


@pytest.mark.full
def test_signals_go_through_the_temporal_network():
    rng = np.random.default_rng(0)
    y, domain = rng.integers(0, 2, 80), np.repeat(np.arange(4), 20)
    time_axis = np.arange(32)
    rate = np.where(y, 0.8, 0.4)[:, None] * (1 + 0.1 * domain[:, None])
    X = np.stack([np.sin(rate * time_axis), np.cos(rate * time_axis)], axis=2)
    model = CrossDomainClassifier(
        backbone="temporal",
        candidates=NETWORK,
        effort="quick",
        training=Training(steps=60, index_steps=5),
        random_state=0,
    )
    model.fit(X, y, sample_domain=domain, source_domains=[0, 1, 3])
    assert model.score(X[domain == 2], y[domain == 2], sample_domain=domain[domain == 2]) > 0.8


def continuous(**more):
    return CIDA({k: k for k in range(6)}, **more)


@pytest.mark.parametrize("make", [DANN, pytest.param(continuous, marks=pytest.mark.full)])
def test_baselines_stand_on_the_same_backbone(bars, make):
    model = fitted(make(backbone="conv", training=SHORT, random_state=0), bars)
    assert accuracy(model, bars) > 0.7
    frozen = Backbone(RowsAndColumns(), frozen=True)
    model = fitted(make(backbone=frozen, training=SHORT, random_state=0), bars)
    assert len(model._fitted.scaler.offset) == 2
    assert accuracy(model, bars) > 0.5


def test_a_backbone_of_the_wrong_form_is_refused_in_seconds(bars):
    for model in (CrossDomainClassifier, DANN, GRDA):
        began = time.monotonic()
        with pytest.raises(InputError, match=r"The backbone|domain_graph"):
            fitted(model(backbone=nn.Identity()), bars)
        assert time.monotonic() - began < 10


def test_a_representation_of_another_size_cannot_come_before_a_backbone(bars):
    model = CrossDomainClassifier(
        backbone="conv", candidates=[("with_index", "network")], training=SHORT, random_state=0
    )
    with pytest.raises(InputError, match=r"takes rows of shape \(10, 10\)"):
        fitted(model, bars)

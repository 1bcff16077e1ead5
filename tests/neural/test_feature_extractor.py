"""A backbone is tried before it is used, and leaves nothing but finite features."""

import time

import numpy as np
import pytest
import torch
from torch import nn

from domindex.errors import InputError
from domindex.inputs.standardizing import InputScaler
from domindex.neural.backbones import (
    Backbone,
    FeatureExtractor,
    as_backbone,
    give_template,
    prepare_extractor,
)

ROWS = np.random.default_rng(0).normal(3.0, 2.0, (6, 4, 5)).astype(np.float32)


class Means(nn.Module):
    """The mean and the largest entry of a row."""

    def forward(self, x):
        flat = x.flatten(1)
        return torch.stack([flat.mean(dim=1), flat.max(dim=1).values], dim=1)


def tall(shape):
    return nn.Sequential(nn.Flatten(), nn.Linear(int(np.prod(shape)), 3))


@pytest.mark.parametrize("given", [Means(), Means, lambda: Means()])
def test_a_module_and_what_makes_one_give_the_same_features(given):
    extractor = prepare_extractor(Backbone(given, frozen=True), ROWS, seed=0)
    expected = np.stack([ROWS.mean(axis=(1, 2)), ROWS.max(axis=(1, 2))], axis=1)
    np.testing.assert_allclose(extractor.table(ROWS), expected, rtol=1e-6)


def test_a_factory_is_told_the_shape_of_a_row_and_draws_from_the_seed():
    first, again, other = (
        prepare_extractor(Backbone(tall), ROWS, seed).table(ROWS) for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, again)
    assert np.abs(first - other).max() > 0.01


def test_the_users_own_module_is_left_as_it_is():
    module = tall((4, 5))
    before = module[1].weight.clone()
    extractor = prepare_extractor(Backbone(module, frozen=True), ROWS, seed=0)
    with torch.no_grad():
        extractor.network[1].weight.zero_()
    assert torch.equal(module[1].weight, before)
    assert module.training
    assert module[1].weight.requires_grad


def test_many_rows_are_computed_in_parts_alike():
    many = np.random.default_rng(1).normal(size=(FeatureExtractor.max_rows + 7, 4, 5))
    extractor = prepare_extractor(Backbone(Means()), many, seed=0)
    np.testing.assert_allclose(extractor.table(many)[-1, 0], many[-1].mean(), rtol=1e-5)


def test_a_network_sees_the_users_units_behind_any_scale():
    scaler = InputScaler(np.linspace(-3, 3, 20), np.linspace(0.5, 2, 20))
    extractor = prepare_extractor(Backbone(Means()), ROWS, seed=0)
    scaled = torch.tensor(scaler.apply_flat(ROWS))
    seen = extractor.undoing(scaler)(scaled).numpy()
    np.testing.assert_allclose(seen, extractor.table(ROWS), rtol=1e-5)


def test_convolutions_see_rows_of_one_scale_whatever_their_units():
    small, large = (
        prepare_extractor(Backbone("conv"), unit * ROWS + unit, seed=0) for unit in (1e-6, 1e6)
    )
    np.testing.assert_allclose(
        small.table(1e-6 * ROWS + 1e-6), large.table(1e6 * ROWS + 1e6), rtol=1e-2, atol=1e-3
    )


def test_a_backbone_stays_in_single_precision_inside_a_double_one():
    extractor = prepare_extractor(Backbone(tall), ROWS, seed=0)
    outer = nn.ModuleList([extractor]).double()
    assert extractor.network[1].weight.dtype == torch.float32
    assert outer[0](torch.tensor(ROWS.reshape(6, -1)).double()).dtype == torch.float64


class Returns(nn.Module):
    def __init__(self, make):
        super().__init__()
        self.make = make

    def forward(self, x):
        return self.make(x)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda x: x, r"maps a batch of shape \(1, 4, 5\) to \(1, 4, 5\)"),
        (lambda x: x.mean(dim=(1, 2)), r"to \(1,\), and must map it to \(1, p\)"),
        (lambda x: x.flatten(1)[:1].repeat(3, 1), r"to \(3, 20\)"),
        (lambda x: (x.flatten(1), 1), "to a tuple"),
        (lambda x: x.flatten(1) / 0, "NaN, infinity, or nothing"),
        (lambda x: x.flatten(1).long(), "int64"),
        (lambda x: x.flatten(1) @ torch.zeros(3, 3), r"fails on a batch of shape \(1, 4, 5\)"),
        (lambda x: x.flatten(1)[:, :3].squeeze(0), r"to \(3,\)"),
    ],
)
def test_a_backbone_of_the_wrong_form_is_refused_at_once(make, message):
    began = time.monotonic()
    with pytest.raises(InputError, match=message) as raised:
        prepare_extractor(Backbone(Returns(make)), ROWS, seed=0)
    assert "The backbone Returns" in str(raised.value)
    assert time.monotonic() - began < 5


def test_rows_that_become_nan_later_are_named():
    extractor = prepare_extractor(Backbone(Returns(lambda x: x.flatten(1).sqrt())), ROWS**2, 0)
    bad = ROWS**2
    bad[4, 0, 0] = -1.0
    with pytest.raises(InputError, match="NaN or infinity for row 4"):
        extractor.table(bad)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (3, "is 3, a int"),
        ("convolution", "There is no backbone 'convolution'"),
        (Backbone("resnet18", frozen=True), "would be random"),
        (Backbone("conv", rate=0.0), "rate is 0.0"),
        (Backbone("conv", frozen="yes"), "frozen is 'yes'"),
    ],
)
def test_settings_that_cannot_be_used_are_refused(given, message):
    with pytest.raises(InputError, match=message):
        as_backbone(given)


@pytest.mark.parametrize("make", [lambda: 3, lambda shape: 1 / 0])
def test_a_factory_that_makes_no_module_is_refused(make):
    with pytest.raises(InputError, match=r"returned a int|could not be made.*ZeroDivision"):
        prepare_extractor(Backbone(make), ROWS, seed=0)


def test_a_saved_backbone_of_the_users_needs_its_module_again():
    extractor = prepare_extractor(Backbone(tall), ROWS, seed=0)
    state = {"inner": extractor.state()}
    with pytest.raises(InputError, match=r"load\(path, backbone=MODULE\)"):
        give_template(state, None)
    assert give_template(state, tall)
    again = FeatureExtractor.from_state(state["inner"])
    np.testing.assert_array_equal(again.table(ROWS), extractor.table(ROWS))


def test_a_saved_backbone_by_name_needs_nothing():
    extractor = prepare_extractor(Backbone("conv"), ROWS, seed=0)
    state = extractor.state()
    assert not give_template(state, None)
    again = FeatureExtractor.from_state(state)
    np.testing.assert_array_equal(again.table(ROWS), extractor.table(ROWS))

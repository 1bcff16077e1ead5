"""Decoders give distributions of the right shape, and values follow the path they are given."""

import math

import numpy as np
import pytest
import torch
from torch.distributions import Categorical, Normal

from domindex.vdi.networks import (
    OUTPUT_PREDICTORS,
    ClassPredictor,
    InputDecoder,
    LocalIndexDecoder,
    ValuePredictor,
)

SLOPES, INTERCEPT = np.arange(6.0).reshape(3, 2), np.array([1.0, -1.0])


def along_the_path(z) -> torch.Tensor:
    return z @ torch.tensor(SLOPES).float() + torch.tensor(INTERCEPT).float()


def test_decoders_give_distributions_of_the_right_shape(assert_within):
    x = InputDecoder(4, 3, width=8)(torch.randn(2, 5, 4))
    assert isinstance(x, Normal)
    assert x.mean.shape == (2, 5, 3)
    assert x.stddev.unique().item() == pytest.approx(0.05**0.5)
    u = LocalIndexDecoder(2, 4, width=8)(torch.randn(6, 2))
    assert u.mean.shape == (6, 1, 4)
    assert_within(u.stddev, (-6.0, 2.0))
    y = ClassPredictor(4, 3)(torch.randn(2, 5, 4))
    assert isinstance(y, Categorical)
    assert y.probs.shape == (2, 5, 3)


def test_values_follow_a_given_path_to_the_letter_unless_they_may_bend():
    z = torch.randn(7, 3)
    expected = along_the_path(z)
    strict = ValuePredictor(3, 2).follow(SLOPES, INTERCEPT, may_bend=False)
    torch.testing.assert_close(strict(z).mean, expected)
    names = {name.split(".")[0] for name, p in strict.named_parameters() if p.requires_grad}
    assert names == {"spread"}
    free = ValuePredictor(3, 2).follow(SLOPES, INTERCEPT, may_bend=True)
    torch.testing.assert_close(free(z).mean, expected)
    assert all(parameter.requires_grad for parameter in free.parameters())


def test_deviations_of_values_stay_within_bounds():
    deviation = ValuePredictor(3, 2)(1e6 * torch.randn(50, 3)).stddev
    low, high = (math.exp(bound / 2) for bound in (-10.0, 4.0))
    assert (deviation >= low * 0.999).all()
    assert (deviation <= high * 1.001).all()


@pytest.mark.parametrize("predictor", [ClassPredictor(3, 4), ValuePredictor(3, 2, width=5)])
def test_a_predictor_is_built_from_its_name_and_sizes(predictor):
    twin = OUTPUT_PREDICTORS[predictor.name](**predictor.sizes)
    twin.load_state_dict(predictor.state_dict())
    z = torch.randn(2, 6, 3)
    labels = torch.ones(2, 6, 1) if predictor.name == "values" else torch.ones(2, 6)
    assert torch.equal(twin(z).log_prob(labels), predictor(z).log_prob(labels))


def test_a_redrawn_predictor_of_classes_starts_elsewhere():
    first = ClassPredictor(3, 4, width=5)
    second = first.redrawn()
    assert second.sizes == first.sizes
    assert not torch.equal(second.linear.weight, first.linear.weight)


@pytest.mark.parametrize("may_bend", [True, False])
def test_a_redrawn_predictor_of_values_stays_on_the_path_it_was_given(may_bend):
    first = ValuePredictor(3, 2, width=5).follow(SLOPES, INTERCEPT, may_bend=may_bend)
    second = first.redrawn()
    z = torch.randn(7, 3)
    torch.testing.assert_close(second(z).mean, along_the_path(z))
    frozen = {name for name, p in first.named_parameters() if not p.requires_grad}
    assert {name for name, p in second.named_parameters() if not p.requires_grad} == frozen
    assert not torch.equal(second.spread[0].weight, first.spread[0].weight)
    assert torch.equal(second.redrawn().linear.weight, first.linear.weight)


def test_a_redrawn_predictor_of_values_without_a_path_starts_elsewhere():
    first = ValuePredictor(3, 2)
    assert not torch.equal(first.redrawn().linear.weight, first.linear.weight)

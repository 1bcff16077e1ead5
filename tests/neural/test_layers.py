"""What networks are built from keeps its bounds and starts where it should."""

import math

import pytest
import torch
from torch import nn

from domindex.neural.layers import (
    GaussianHead,
    Standardising,
    Whitening,
    bounded_scale,
    mlp,
    start_small,
)


@pytest.mark.parametrize("depth", [0, 1, 3])
def test_a_network_has_as_many_hidden_layers_as_asked(depth):
    network = mlp(3, 5, 7, depth)
    assert sum(isinstance(layer, nn.Linear) for layer in network) == depth + 1
    assert network(torch.zeros(2, 4, 3)).shape == (2, 4, 5)


def test_a_network_started_at_nothing_gives_nothing():
    network = mlp(3, 5, 7, depth=2)
    start_small(network, 0.0)
    assert torch.equal(network(torch.randn(10, 3)), torch.zeros(10, 5))


def test_a_scale_stays_within_its_bounds_whatever_comes():
    raw = torch.tensor([-1e9, -3.0, 0.0, 3.0, 1e9])
    scale = bounded_scale(raw, -6.0, 2.0)
    expected = torch.tensor([math.exp(-3.0), math.exp(-1.0), math.exp(1.0)])
    torch.testing.assert_close(scale[[0, 2, 4]], expected)
    assert (scale.diff() > 0).all()


@pytest.mark.parametrize("shape", [(4,), (2, 4), (3, 2, 4)])
def test_a_gaussian_head_takes_any_leading_shape(shape, assert_within):
    head = GaussianHead(4, 3, 8, depth=1, log_variance=(-4.0, 1.0))
    normal = head(torch.randn(shape) * 1e4)
    assert normal.mean.shape == (*shape[:-1], 3)
    assert_within(normal.stddev, (-4.0, 1.0))


def test_whitening_predicts_with_what_it_measured():
    layer = Whitening(2)
    rows = torch.randn(500, 2) @ torch.tensor([[3.0, 0.0], [2.0, 0.1]]) + 7.0
    layer.measure_anew()
    white = layer(rows)
    torch.testing.assert_close(white.T.cov(correction=0), torch.eye(2), atol=1e-2, rtol=0)
    torch.testing.assert_close(layer.eval()(rows), white, atol=1e-3, rtol=1e-3)
    assert torch.isfinite(Whitening(2)(torch.ones(9, 2))).all()


def test_standardised_rows_have_no_mean_and_unit_deviation_and_running_ones_after():
    torch.manual_seed(0)
    rows = 5.0 + 3.0 * torch.randn(4, 50, 2)
    layer = Standardising(2)
    told = layer(rows).flatten(0, 1)
    torch.testing.assert_close(told.mean(dim=0), torch.zeros(2), atol=1e-5, rtol=0)
    torch.testing.assert_close(told.std(dim=0), torch.ones(2), atol=0.01, rtol=0)
    layer.measure_anew()
    layer(rows)
    torch.testing.assert_close(layer.eval()(rows).flatten(0, 1), told)

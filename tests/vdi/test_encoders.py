"""Encoders give distributions of the right shape, within bounds, and start where they should."""

import numpy as np
import pytest
import torch
from scipy.stats import ortho_group

from domindex.vdi.networks import GlobalIndexEncoder, LocalIndexEncoder


def isometry(n_features, local_dim) -> np.ndarray:
    """Orthonormal directions (features, local_dim), local_dim no less than features."""
    if local_dim == 1:
        return np.ones((1, 1))
    return ortho_group.rvs(local_dim, random_state=0)[:n_features]


@pytest.mark.parametrize(("n_features", "local_dim"), [(2, 4), (3, 3), (1, 8)])
def test_local_indices_started_at_an_isometry_are_nearly_one(n_features, local_dim):
    encoder = LocalIndexEncoder(n_features, local_dim, width=32)
    encoder.start_at(isometry(n_features, local_dim))
    x = torch.randn(40, n_features)
    ratio = torch.pdist(encoder(x).mean) / torch.pdist(x)
    assert (ratio - 1).abs().max() < 0.15


def test_local_indices_have_bounded_scales(assert_within):
    normal = LocalIndexEncoder(3, 2, width=8)(torch.randn(2, 5, 3) * 1e4)
    assert normal.mean.shape == (2, 5, 2)
    assert_within(normal.stddev, (-6.0, 0.0))


@pytest.mark.parametrize("order", [slice(None), slice(None, None, -1)])
def test_without_its_refinement_a_local_index_is_the_projection_and_keeps_its_scale(order):
    encoder, directions = LocalIndexEncoder(4, 2, width=8), np.random.default_rng(0).normal(size=8)
    directions = directions.reshape(4, 2)[:, order]
    encoder.start_at(directions)
    x = torch.randn(3, 6, 4)
    before = encoder(x)
    expected = x @ torch.tensor(directions.copy()).float()
    assert not torch.allclose(before.mean, expected, atol=1e-6)
    encoder.drop_refinement()
    after = encoder(x)
    torch.testing.assert_close(after.mean, expected)
    torch.testing.assert_close(after.stddev, before.stddev)


def test_the_mean_of_the_global_index_is_the_raw_index(assert_within):
    raw_index = torch.randn(6, 2)
    normal = GlobalIndexEncoder(2, width=8)(raw_index)
    assert torch.equal(normal.mean, raw_index)
    assert_within(normal.stddev, (-8.0, -2.0))

"""An affine map that the index chooses: never singular, and only its stretch has a price."""

import pytest
import torch

from domindex.neural.layers import start_small
from domindex.vdi.alignments import AffineAlignment


@pytest.mark.parametrize("n_features", [1, 3, 16, 40])
def test_an_affine_map_takes_few_features_and_many(n_features):
    alignment = AffineAlignment(n_features, 2, width=8)
    straight, bent = alignment(torch.randn(3, 6, n_features), torch.randn(3, 2))
    assert straight.shape == bent.shape == (3, 6, min(n_features, 16))
    assert alignment.latent_dim == min(n_features, 16)


def test_an_affine_map_has_unit_spread_while_training():
    straight, _ = AffineAlignment(3, 2, width=8)(torch.randn(4, 50, 3) * 20 + 5, torch.randn(4, 2))
    flat = straight.flatten(0, 1)
    torch.testing.assert_close(flat.mean(dim=0), torch.zeros(3), atol=1e-4, rtol=0)
    torch.testing.assert_close(flat.T.cov(correction=0), torch.eye(3), atol=1e-2, rtol=0)


def bare_maps(alignment, beta) -> torch.Tensor:
    """The linear parts (domains, size, size) of an affine map; unmeasured, it does not whiten."""
    alignment.eval()
    with torch.no_grad():
        corners = torch.cat([torch.zeros(1, alignment.latent_dim), torch.eye(alignment.latent_dim)])
        straight, _ = alignment(corners.expand(len(beta), -1, -1), beta)
    return straight[:, 1:] - straight[:, :1]


def test_an_affine_map_starts_near_the_identity():
    maps = bare_maps(AffineAlignment(3, 2, width=8), torch.randn(5, 2))
    assert (maps - torch.eye(3)).abs().max() < 0.5


def test_an_affine_map_is_invertible_for_every_index():
    alignment = AffineAlignment(3, 2, width=8)
    start_small(alignment.network, 10.0)
    beta = 3 * torch.randn(50, 2)
    maps = bare_maps(alignment, beta)
    assert (maps - torch.eye(3)).abs().max() > 1.0
    assert (torch.linalg.det(maps.double()) > 0).all()


def test_turning_is_free_and_stretching_is_priced():
    alignment = AffineAlignment(2, 1, width=4)
    start_small(alignment.network, 0.0)
    beta = torch.ones(3, 1)
    with torch.no_grad():
        alignment.network[-1].bias.copy_(torch.tensor([0.0, 0.7, -0.7, 0.0, 9.0, 9.0]))
        assert alignment.penalty(beta) == 0.0
        alignment.network[-1].bias.copy_(torch.tensor([0.7, 0.0, 0.0, 0.0, 0.0, 0.0]))
        assert alignment.penalty(beta) > 1.0

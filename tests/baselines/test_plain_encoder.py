"""The baselines' encoder: z keeps its length, and what is given of a domain turns it."""

import pytest
import torch

from domindex.baselines.networks import PlainEncoder, PlainValuePredictor


@pytest.mark.parametrize("factor", [1e-1, 1e3])
def test_z_cannot_be_hidden_by_shrinking_it(factor):
    z = PlainEncoder(3, 0, latent_dim=4, width=8)(factor * torch.randn(2, 6, 3), torch.zeros(2, 0))
    assert z.shape == (2, 6, 4)
    torch.testing.assert_close(z.mean(dim=-1), torch.zeros(2, 6), atol=1e-5, rtol=0)
    torch.testing.assert_close(z.var(dim=-1, correction=0), torch.ones(2, 6), atol=0.05, rtol=0)


def test_what_is_given_of_a_domain_turns_its_rows_only():
    encoder, x = PlainEncoder(3, 2, latent_dim=4, width=8), torch.randn(2, 6, 3)
    first = encoder(x, torch.zeros(2, 2))
    second = encoder(x, torch.tensor([[0.0, 0.0], [1.0, -1.0]]))
    assert torch.equal(first[0], second[0])
    assert not torch.allclose(first[1], second[1], atol=1e-3)


def test_weights_start_small():
    encoder = PlainEncoder(4, 0, latent_dim=4, width=64)
    assert encoder.gate is None
    assert encoder.first.weight.abs().max() <= 0.3 * 0.5


def test_values_have_unit_scale_so_that_likelihood_is_squared_error():
    predictor, z = PlainValuePredictor(4, 2), torch.randn(3, 5, 4)
    predicted = predictor(z)
    assert predicted.mean.shape == (3, 5, 2)
    assert (predicted.stddev == 1.0).all()

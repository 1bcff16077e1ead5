"""Every term of the bound against a closed form or a sum over many draws."""

import math

import pytest
import torch
from torch.distributions import Categorical, Normal

from domindex.vdi import bound
from domindex.vdi.module import Indices, Latents


def normal(*shape, scale=0.5) -> Normal:
    return Normal(torch.randn(shape), scale + torch.rand(shape))


def latents_of(u, beta, z=None, prior=None) -> Latents:
    z = normal(2, 3, 2) if z is None else z
    return Latents(u, u.mean, beta, beta.mean, z, z if prior is None else prior, z.mean)


def gaussian_divergence(q: Normal, p: Normal):
    """KL[q ‖ p] of two normals, number by number."""
    return (
        (p.stddev / q.stddev).log() + (q.variance + (q.mean - p.mean) ** 2) / (2 * p.variance) - 0.5
    )


def test_a_perfectly_decoded_input_scores_the_height_of_the_density():
    x = torch.randn(2, 3, 4)
    value = bound.input_reconstruction(x, Normal(x, torch.full_like(x, 0.1)))
    assert value.item() == pytest.approx(-4 * math.log(0.1 * math.sqrt(2 * math.pi)), rel=1e-5)


def test_an_error_in_the_input_costs_half_its_square():
    x, scale = torch.zeros(2, 3, 4), torch.ones(2, 3, 4)
    gap = bound.input_reconstruction(x, Normal(x, scale)) - bound.input_reconstruction(
        x, Normal(x + 2.0, scale)
    )
    assert gap.item() == pytest.approx(4 * 0.5 * 2.0**2, rel=1e-5)


def test_predicting_labels_is_the_mean_log_probability():
    logits, labels = torch.randn(2, 3, 4), torch.tensor([[0, 1, 2], [3, 3, 0]])
    probabilities = torch.softmax(logits, dim=-1)
    total = 0.0
    for domain in range(2):
        for row in range(3):
            total += math.log(probabilities[domain, row, labels[domain, row]])
    value = bound.label_prediction(labels, Categorical(logits=logits))
    assert value.item() == pytest.approx(total / 6, rel=1e-5)


def test_values_are_predicted_all_outputs_together():
    labels, predicted = torch.randn(2, 3, 4), normal(2, 3, 4)
    value = bound.label_prediction(labels, predicted)
    torch.testing.assert_close(value, predicted.log_prob(labels).sum() / 6)


def test_labels_are_predicted_where_they_are_known_each_fold_weighing_the_same():
    labels, predicted = torch.randn(6, 3, 4), normal(6, 3, 4)
    known = torch.tensor([[True, True, False], [False, False, True]])
    value = bound.label_prediction(labels, predicted, known)
    told = predicted.log_prob(labels).sum(dim=-1)
    torch.testing.assert_close(value, (told[:2].mean() + told[5].mean()) / 2)
    assert bound.label_prediction(labels, predicted, torch.zeros(2, 3, dtype=bool)).item() == 0.0


def test_every_row_of_a_domain_is_explained_by_its_one_index():
    u, decoded = normal(2, 3, 4), normal(2, 1, 4)
    latents = Indices(u, u.mean, normal(2, 2), torch.zeros(2, 2))
    by_hand = -0.5 * ((u.mean - decoded.mean) / decoded.stddev) ** 2
    by_hand = by_hand - (decoded.stddev * math.sqrt(2 * math.pi)).log()
    value = bound.local_index_reconstruction(latents, decoded)
    torch.testing.assert_close(value, by_hand.sum(dim=-1).mean())


def test_the_divergence_of_the_index_is_the_closed_form():
    beta, prior = normal(5, 2), Normal(torch.zeros(2), torch.ones(2))
    sizes = torch.tensor([1, 10, 100, 5, 7])
    value = bound.global_index_divergence(latents_of(normal(2, 3, 4), beta), prior, sizes)
    by_hand = -(gaussian_divergence(beta, prior).sum(dim=-1) / sizes).mean()
    torch.testing.assert_close(value, by_hand)


def test_an_index_like_its_prior_costs_nothing():
    prior = Normal(torch.tensor([0.5, -1.0]), torch.tensor([1.0, 2.0]))
    beta = Normal(prior.mean.expand(5, 2), prior.stddev.expand(5, 2))
    sizes = torch.ones(5)
    value = bound.global_index_divergence(latents_of(normal(2, 3, 4), beta), prior, sizes)
    assert value.item() == pytest.approx(0.0, abs=1e-6)


def test_the_divergence_of_the_encoding_is_the_closed_form_and_what_draws_say():
    z, prior = normal(2, 3, 2), normal(2, 3, 2)
    value = bound.encoding_divergence(latents_of(normal(2, 3, 4), normal(2, 2), z, prior))
    torch.testing.assert_close(value, -gaussian_divergence(z, prior).sum(dim=-1).mean())
    draws = z.sample((20_000,))
    sampled = (prior.log_prob(draws) - z.log_prob(draws)).sum(dim=-1).mean()
    assert value.item() == pytest.approx(sampled.item(), rel=0.02)


def test_an_encoding_that_does_not_leave_its_path_costs_nothing():
    value = bound.encoding_divergence(latents_of(normal(2, 3, 4), normal(2, 2)))
    assert value.item() == pytest.approx(0.0, abs=1e-6)


def test_the_entropy_of_local_indices_is_the_closed_form_and_what_draws_say():
    u = normal(2, 3, 4)
    value = bound.local_index_entropy(latents_of(u, normal(2, 2)))
    by_hand = (0.5 * (2 * math.pi * math.e * u.variance).log()).sum(dim=-1).mean()
    torch.testing.assert_close(value, by_hand)
    sampled = -u.log_prob(u.sample((20_000,))).sum(dim=-1).mean()
    assert value.item() == pytest.approx(sampled.item(), rel=0.02)

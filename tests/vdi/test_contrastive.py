"""The contrastive loss is the paper's formula, in bounded memory."""

import math

import pytest
import torch
from torch.nn import functional

from domindex.vdi.objectives import _thin, contrastive_loss


def by_the_formula(h) -> float:
    """The paper's loss by plain loops, the sum over other domains taken as a mean."""
    n_domains, batch, _ = h.shape

    def similarity(first, second):
        return float(functional.cosine_similarity(h[first], h[second], dim=0))

    total = 0.0
    for k in range(n_domains):
        for i in range(batch):
            others = [
                math.exp(similarity((k, i), (m, n)))
                for m in range(n_domains)
                for n in range(batch)
                if m != k
            ]
            agreement = similarity((k, i), (k, (i + 1) % batch))
            total -= math.log(math.exp(agreement) / (sum(others) / len(others)))
    return total / (n_domains * batch)


@pytest.mark.parametrize("shape", [(2, 2, 3), (3, 4, 2), (5, 1, 4)])
def test_the_loss_is_the_formula(shape):
    h = torch.randn(shape)
    assert contrastive_loss(h).item() == pytest.approx(by_the_formula(h), abs=1e-5)


def test_points_that_are_all_the_same_say_nothing():
    assert contrastive_loss(torch.ones(4, 6, 3)).item() == pytest.approx(0.0, abs=1e-5)


def test_domains_in_opposite_directions_are_as_good_as_it_gets():
    h = torch.stack([torch.ones(6, 3), -torch.ones(6, 3)])
    assert contrastive_loss(h).item() == pytest.approx(-2.0, abs=1e-5)


def test_the_length_of_a_projection_does_not_matter():
    h = torch.randn(3, 4, 5)
    torch.testing.assert_close(contrastive_loss(7.0 * h), contrastive_loss(h))


def test_more_of_the_same_domains_do_not_raise_the_loss():
    few, many = torch.randn(10, 8, 4), torch.randn(100, 8, 4)
    assert contrastive_loss(few).item() == pytest.approx(contrastive_loss(many).item(), abs=0.2)


@pytest.mark.parametrize(
    ("shape", "max_points"), [((10, 50, 3), 100), ((300, 4, 3), 100), ((4, 1000, 2), 7)]
)
def test_no_more_points_are_compared_than_allowed(shape, max_points):
    thinned = _thin(torch.randn(shape), max_points)
    n_domains, batch, _ = thinned.shape
    assert max(n_domains * batch, 4) <= max(max_points, 4)
    assert n_domains >= 2
    assert batch >= 2


def test_two_domains_of_two_rows_are_always_kept():
    assert _thin(torch.randn(9, 9, 3), max_points=1).shape == (2, 2, 3)
    assert torch.isfinite(contrastive_loss(torch.randn(9, 9, 3), max_points=1))


def test_a_small_batch_is_left_alone():
    h = torch.randn(3, 4, 2)
    assert _thin(h, 12) is h


def test_thinning_hardly_changes_the_loss():
    h = torch.randn(20, 64, 8) + torch.randn(20, 1, 8)
    full = contrastive_loss(h, max_points=20 * 64)
    assert contrastive_loss(h, max_points=400).item() == pytest.approx(full.item(), abs=0.05)

"""Misalignment is zero where domains coincide, and cannot be cheated by scale."""

import pytest
import torch

from domindex.committee.encoding import sliced_misalignment


def misalignment(z, seed=0) -> float:
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return sliced_misalignment(z, n_directions=256).item()


def clouds(shift=0.0, n_domains=3, n_rows=50, n_features=2) -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    cloud = torch.randn(n_rows, n_features, generator=generator, dtype=torch.float64)
    places = torch.arange(n_domains, dtype=torch.float64)[:, None, None]
    return cloud + shift * places


def test_domains_that_coincide_are_aligned_in_whatever_order_of_rows():
    same = clouds()
    shuffled = torch.stack([same[0], same[1].flip(0), same[2].roll(7, dims=0)])
    assert misalignment(same) == pytest.approx(0.0, abs=1e-12)
    assert misalignment(shuffled) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("factor", [0.1, 10.0])
def test_shrinking_or_moving_everything_changes_nothing(factor):
    z = clouds(shift=1.0)
    assert misalignment(factor * z - 5.0) == pytest.approx(misalignment(z), rel=1e-3)


def test_an_affine_map_of_everything_hardly_changes_it():
    z = clouds(shift=1.0)
    matrix = torch.tensor([[2.0, 1.0], [-0.5, 1.5]], dtype=torch.float64)
    assert misalignment(z @ matrix + 1.0) == pytest.approx(misalignment(z), rel=0.1)


def test_the_farther_apart_the_worse():
    values = [misalignment(clouds(shift)) for shift in (0.0, 0.1, 0.5, 2.0)]
    assert values == sorted(values)
    assert values[-1] > 10 * values[1] > 0


def test_a_shift_costs_its_share_of_the_total_variance():
    z = clouds(shift=1.0, n_features=1)
    between = z.mean(dim=1).var(correction=0)
    share = between / z.var(correction=0)
    assert misalignment(z) == pytest.approx(share.item(), rel=1e-4)


def test_clouds_of_no_extent_have_a_finite_gradient():
    z = torch.ones(3, 5, 2, dtype=torch.float64, requires_grad=True)
    sliced_misalignment(z).backward()
    assert torch.isfinite(z.grad).all()

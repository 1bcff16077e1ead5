"""How far domains are from coinciding, told without labels."""

import numpy as np
import pytest

from domindex.geometry.misfit import misalignment, misfit, whitening


def long_cloud(n_rows=80, seed=0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n_rows, 2)) * [1, 2] + 2.0


def shifted(n_domains=10) -> list[np.ndarray]:
    """Domains that share a law, not their points, along a line."""
    places = np.linspace(-1, 1, n_domains)
    return [long_cloud(50, n) + place * np.array([2.0, -1.0]) for n, place in enumerate(places)]


def test_clouds_that_coincide_are_perfectly_aligned():
    cloud = long_cloud()
    assert misalignment([cloud, cloud, cloud]) == pytest.approx(0.0, abs=1e-9)


def test_misalignment_does_not_depend_on_units():
    clouds = shifted()
    stretched = [cloud * 1e3 for cloud in clouds]
    assert misalignment(stretched) == pytest.approx(misalignment(clouds), rel=1e-6)


def test_misfit_is_one_for_domains_of_one_law_and_more_for_shifted_ones():
    rng = np.random.default_rng(0)
    alike = [misfit(list(rng.normal(size=(10, 50, 2)))) for _ in range(5)]
    assert np.mean(alike) == pytest.approx(1.0, abs=0.1)
    assert misfit(shifted()) > 2.0


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_whitened_points_are_uncorrelated_and_of_unit_variance(scale):
    points = long_cloud() @ [[1.0, 0.8], [0.0, 1.0]] * scale
    white = points @ whitening(points)
    np.testing.assert_allclose(np.cov(white.T, bias=True), np.eye(2), atol=1e-6)


def test_points_without_any_spread_are_whitened_to_finite_values():
    assert np.isfinite(np.ones((4, 3)) @ whitening(np.ones((4, 3)))).all()


@pytest.mark.parametrize("n_features", [1, 9])
def test_misalignment_is_counted_by_the_dimension(n_features):
    """A shift by a tenth of the spread along every axis is a tenth, however many axes there are."""
    cloud = np.random.default_rng(0).normal(size=(400, n_features))
    cloud = (cloud - cloud.mean(axis=0)) @ whitening(cloud)
    assert misalignment([cloud, cloud + 0.1]) == pytest.approx(0.1, rel=0.15)

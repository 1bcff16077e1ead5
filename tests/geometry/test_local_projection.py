"""How clouds are seen when a map is drawn."""

import numpy as np
import pytest

from domindex.geometry import transport_distances
from domindex.geometry.views import CloudView, choose_view


def test_a_share_of_the_mean_moves_clouds_together_and_keeps_their_shape():
    rng = np.random.default_rng(0)
    clouds = [rng.normal(size=(20, 2)), rng.normal(size=(20, 2)) + [30, 40]]
    seen = [CloudView(np.eye(2), 0.1).apply(cloud) for cloud in clouds]
    gap = np.linalg.norm(seen[1].mean(axis=0) - seen[0].mean(axis=0))
    assert gap == pytest.approx(
        0.1 * np.linalg.norm(clouds[1].mean(axis=0) - clouds[0].mean(axis=0))
    )
    for before, after in zip(clouds, seen):
        np.testing.assert_allclose(before - before.mean(axis=0), after - after.mean(axis=0))


def families(level: float, shape: float, n_domains=12, n_rows=40):
    """Domains that differ by level along one axis, and by the stretch of their clouds."""
    rng = np.random.default_rng(0)
    stretches = np.exp(shape * rng.normal(size=(n_domains, 1, 2)))
    levels = level * rng.normal(size=(n_domains, 1, 2))
    return list(rng.normal(size=(n_domains, n_rows, 2)) * stretches + levels)


def test_levels_are_drawn_in_where_they_would_drown_real_shapes():
    clouds = families(level=50.0, shape=0.7)
    view = choose_view(clouds)
    assert view.mean_share < 0.2
    seen = [view.apply(cloud) for cloud in clouds]
    means = transport_distances([cloud.mean(axis=0, keepdims=True) for cloud in seen])
    shapes = transport_distances([cloud - cloud.mean(axis=0) for cloud in seen])
    assert (means**2).mean() == pytest.approx((shapes**2).mean(), rel=0.05)


@pytest.mark.parametrize(("level", "shape"), [(50.0, 0.0), (0.1, 0.7)])
def test_clouds_are_seen_as_they_are_where_shapes_are_chance_or_levels_are_small(level, shape):
    view = choose_view(families(level, shape))
    assert view.mean_share == 1.0
    np.testing.assert_array_equal(view.matrix, np.eye(2))


def test_two_domains_or_single_rows_are_seen_as_they_are():
    assert choose_view([np.zeros((1, 3)), np.ones((5, 3))]).mean_share == 1.0

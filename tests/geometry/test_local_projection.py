"""Where local indices start: which directions count, and how much of a level."""

import numpy as np
import pytest

from domindex.geometry import DomainMap, transport_distances
from domindex.geometry.local_projection import LocalProjection, local_projections
from domindex.geometry.subspace import Subspace, moving_directions


def families(level: float, shape: float, n_domains=12, n_rows=40):
    """Domains that differ by level along one axis, and by the stretch of their clouds."""
    rng = np.random.default_rng(0)
    stretches = np.exp(shape * rng.normal(size=(n_domains, 1, 2)))
    levels = level * rng.normal(size=(n_domains, 1, 2))
    return list(rng.normal(size=(n_domains, n_rows, 2)) * stretches + levels)


def chosen(clouds, **settings) -> LocalProjection:
    """The last of the possible ones: balanced, where levels and shapes can be."""
    return local_projections(clouds, moving_directions(clouds), **settings)[-1]


def test_levels_are_drawn_in_where_they_would_drown_real_shapes():
    clouds = families(level=50.0, shape=0.7)
    projection = chosen(clouds)
    assert projection.level_share < 0.2
    local_indices = [cloud @ projection.matrix for cloud in clouds]
    seen = DomainMap.fit(range(12), local_indices, 2, level_share=projection.level_share).clouds
    means = transport_distances([cloud.mean(axis=0, keepdims=True) for cloud in seen])
    shapes = transport_distances([cloud - cloud.mean(axis=0) for cloud in seen])
    assert (means**2).mean() == pytest.approx((shapes**2).mean(), rel=0.05)


def test_balanced_clouds_are_white_within_domains_and_widest_in_level_first():
    clouds = families(level=50.0, shape=0.7)
    matrix = chosen(clouds).matrix
    centred = np.concatenate([(cloud - cloud.mean(axis=0)) @ matrix for cloud in clouds])
    covariance = centred.T @ centred / len(centred)
    np.testing.assert_allclose(covariance, np.eye(2), atol=1e-6)
    levels = np.stack([(cloud @ matrix).mean(axis=0) for cloud in clouds])
    first, second = levels.std(axis=0)
    assert first > second


@pytest.mark.parametrize(("level", "shape"), [(50.0, 0.0), (0.1, 0.7)])
def test_clouds_are_seen_as_they_are_where_shapes_are_chance_or_levels_are_small(level, shape):
    projection = chosen(families(level, shape))
    assert projection.level_share == 1.0
    np.testing.assert_array_equal(projection.matrix, np.eye(2))


def test_two_domains_or_single_rows_are_seen_as_they_are():
    assert chosen([np.zeros((1, 3)), np.ones((5, 3))]).level_share == 1.0


def test_levels_stay_where_shapes_would_have_to_be_more_reliable_than_they_can_be():
    clouds = families(level=50.0, shape=0.7)
    assert chosen(clouds, reliable=1.0).level_share == 1.0


def test_everywhere_else_the_moving_directions_are_the_local_ones():
    rng = np.random.default_rng(0)
    clouds = [rng.normal(size=(60, 6)) + 0.7 * n * np.eye(6)[0] for n in range(8)]
    subspace = Subspace(np.diag(np.arange(1.0, 7.0)), 3)
    (projection,) = local_projections(clouds, subspace)
    assert projection.level_share == 1.0
    np.testing.assert_array_equal(projection.matrix, subspace.moving)


@pytest.mark.parametrize("local_dim", [1, 2, 5])
def test_as_many_directions_as_asked_for_the_moving_ones_first(local_dim):
    subspace = Subspace(np.eye(6), 3)
    clouds = [np.zeros((1, 6)), np.ones((5, 6))]
    (projection,) = local_projections(clouds, subspace, local_dim)
    np.testing.assert_array_equal(projection.matrix, np.eye(6)[:, :local_dim])


def test_balanced_directions_are_cut_to_as_many_as_asked_for():
    clouds = families(level=50.0, shape=0.7)
    whole, one = chosen(clouds), chosen(clouds, local_dim=1)
    np.testing.assert_array_equal(one.matrix, whole.matrix[:, :1])
    assert one.level_share == whole.level_share

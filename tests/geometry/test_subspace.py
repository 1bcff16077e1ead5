"""The directions along which domains differ are found among those that are noise."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import subspace_angles
from scipy.stats import ortho_group

from domindex.geometry import DomainMap, domain_geometry, transport_distances
from domindex.geometry.domain_geometry import (
    LocalProjection,
    Subspace,
    local_projections,
    moving_directions,
    principal_components,
)
from domindex.geometry.settings import MAP
from domindex.geometry.transport import misalignment, misfit, whitening


def hidden_circle(n_features=20, n_domains=12, n_rows=60, seed=0):
    """Clouds along an arc of a plane, noise in every other direction, all turned at random."""
    rng = np.random.default_rng(seed)
    turn = ortho_group.rvs(n_features, random_state=seed)
    clouds = []
    for angle in np.linspace(0.0, np.pi, n_domains):
        cloud = rng.normal(size=(n_rows, n_features))
        cloud[:, :2] += 4.0 * np.array([np.cos(angle), np.sin(angle)])
        clouds.append(cloud @ turn)
    return clouds, turn[:2].T


def pooled_within(clouds) -> np.ndarray:
    centred = np.concatenate([cloud - cloud.mean(axis=0) for cloud in clouds])
    return centred.T @ centred / len(centred)


@pytest.mark.parametrize("seed", [0, 1])
def test_a_moving_plane_is_found_among_noise(seed):
    clouds, plane = hidden_circle(n_rows=200, seed=seed)
    subspace = moving_directions(clouds)
    assert subspace.n_moving == 2
    assert np.degrees(subspace_angles(subspace.moving, plane)).max() < 10.0


def test_a_spread_that_changes_is_movement_too():
    rng = np.random.default_rng(0)
    turn = ortho_group.rvs(6, random_state=0)
    scales = np.geomspace(0.3, 3.0, 8)
    clouds = [rng.normal(size=(100, 6)) * [s, 1, 1, 1, 1, 1] @ turn for s in scales]
    subspace = moving_directions(clouds)
    assert subspace.n_moving == 1
    assert np.degrees(subspace_angles(subspace.moving, turn[:1].T)).max() < 10.0


@pytest.mark.parametrize("n_features", [1, 2])
def test_one_or_two_features_are_left_alone(n_features):
    rng = np.random.default_rng(0)
    subspace = moving_directions([rng.normal(size=(9, n_features)) * 3 for _ in range(4)])
    np.testing.assert_array_equal(subspace.matrix, np.eye(n_features))
    assert subspace.n_moving == n_features
    assert subspace.still.shape == (n_features, 0)


def test_coordinates_are_uncorrelated_within_domains_and_of_unit_spread():
    clouds, _ = hidden_circle()
    subspace = moving_directions(clouds)
    seen = [cloud @ subspace.matrix for cloud in clouds]
    np.testing.assert_allclose(pooled_within(seen), np.eye(20), atol=1e-4)


def test_the_others_do_not_tell_domains_apart():
    clouds, _ = hidden_circle(n_rows=200)
    subspace = moving_directions(clouds)
    means = np.stack([(cloud @ subspace.still).mean(axis=0) for cloud in clouds])
    moving = np.stack([(cloud @ subspace.moving).mean(axis=0) for cloud in clouds])
    assert means.std(axis=0).max() < 0.2
    assert moving.std(axis=0).min() > 1.0


def test_many_features_are_reduced():
    clouds, plane = hidden_circle(n_features=60)
    subspace = moving_directions(clouds)
    assert subspace.matrix.shape == (60, MAP.max_features)
    assert np.degrees(subspace_angles(subspace.moving, plane)).max() < 20.0


def test_domains_that_are_all_alike_still_get_two_directions():
    rng = np.random.default_rng(0)
    subspace = moving_directions([rng.normal(size=(50, 5)) for _ in range(6)])
    assert subspace.n_moving == 2
    assert np.linalg.matrix_rank(subspace.matrix) == 5


def test_constant_features_do_no_harm():
    clouds, plane = hidden_circle(n_features=8)
    clouds = [np.column_stack([cloud, np.full((len(cloud), 2), 5.0)]) for cloud in clouds]
    subspace = moving_directions(clouds)
    assert np.isfinite(subspace.matrix).all()
    angles = subspace_angles(subspace.moving[:8], plane)
    assert np.degrees(angles).max() < 10.0


@pytest.mark.parametrize(("n_rows", "n_features"), [(1, 5), (3, 10), (5, 50)])
def test_fewer_rows_than_features_will_do(n_rows, n_features):
    clouds, _ = hidden_circle(n_features, n_domains=6, n_rows=n_rows)
    subspace = moving_directions(clouds)
    assert np.isfinite(subspace.matrix).all()
    assert 1 <= subspace.n_moving <= 4


def test_domains_without_any_spread_do_not_fail():
    subspace = moving_directions([np.ones((4, 3)) for _ in range(3)])
    assert np.isfinite(subspace.matrix).all()


def test_a_subspace_comes_back_from_its_state():
    clouds, _ = hidden_circle(n_features=8)
    subspace = moving_directions(clouds)
    again = Subspace.from_state(subspace.state())
    np.testing.assert_array_equal(again.moving, subspace.moving)
    np.testing.assert_array_equal(again.still, subspace.still)


@pytest.mark.parametrize(
    "damage", [{"n_moving": -1}, {"n_moving": 4}, {"matrix": np.ones(3)}, {"matrix": np.eye(1)}]
)
def test_a_damaged_subspace_is_refused(damage):
    state = Subspace(np.eye(3), 2).state()
    with pytest.raises(ValueError, match="directions move"):
        Subspace.from_state({**state, **damage})


def test_components_of_very_many_features_are_those_of_the_covariance():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(60, 5)) * [9, 7, 5, 3, 2] @ rng.normal(size=(5, 2048 + 1))
    found = principal_components(rows, 3)
    expected = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)[2][:3].T
    assert subspace_angles(found, expected).max() < 1e-6
    np.testing.assert_allclose(found.T @ found, np.eye(3), atol=1e-9)
    assert principal_components(rows, 32).shape == (2048 + 1, 5)  # no more vary


@pytest.mark.timeout(60)
def test_pictures_of_many_cells_need_no_covariance_of_all_of_them():
    clouds = [np.random.default_rng(k).normal(size=(6, 30_000)) + k for k in range(4)]
    subspace = moving_directions(clouds)  # 30,000 squared would be 7 GB
    assert np.isfinite(subspace.matrix).all()
    constant = moving_directions([np.ones((4, 2048 + 1)) for _ in range(3)])
    assert np.isfinite(constant.matrix).all()


def test_of_very_many_features_no_row_is_passed_over():
    for alone in (0, 4, 9):
        rows = np.zeros((10, 2048 + 1))
        rows[alone, 7] = 1.0
        (component,) = principal_components(rows, 1).T
        np.testing.assert_allclose(np.abs(component), np.arange(len(component)) == 7, atol=1e-9)


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


def test_levels_stay_where_shapes_would_have_to_be_more_reliable_than_they_can_be(monkeypatch):
    clouds = families(level=50.0, shape=0.7)
    monkeypatch.setattr(domain_geometry, "MAP", replace(MAP, reliable_shapes=1.0))
    assert chosen(clouds).level_share == 1.0


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

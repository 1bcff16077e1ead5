"""The directions along which domains differ are found among those that are noise."""

import numpy as np
import pytest
from scipy.linalg import subspace_angles
from scipy.stats import ortho_group

from domindex.geometry.subspace import (
    MANY_FEATURES,
    MAX_FEATURES,
    Subspace,
    moving_directions,
    principal_components,
)


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
    assert subspace.matrix.shape == (60, MAX_FEATURES)
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
    rows = rng.normal(size=(60, 5)) * [9, 7, 5, 3, 2] @ rng.normal(size=(5, MANY_FEATURES + 1))
    found = principal_components(rows, 3)
    expected = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)[2][:3].T
    assert subspace_angles(found, expected).max() < 1e-6
    np.testing.assert_allclose(found.T @ found, np.eye(3), atol=1e-9)
    assert principal_components(rows, 32).shape == (MANY_FEATURES + 1, 5)  # no more vary


@pytest.mark.timeout(60)
def test_pictures_of_many_cells_need_no_covariance_of_all_of_them():
    clouds = [np.random.default_rng(k).normal(size=(6, 30_000)) + k for k in range(4)]
    subspace = moving_directions(clouds)  # 30,000 squared would be 7 GB
    assert np.isfinite(subspace.matrix).all()
    constant = moving_directions([np.ones((4, MANY_FEATURES + 1)) for _ in range(3)])
    assert np.isfinite(constant.matrix).all()


def test_of_very_many_features_no_row_is_passed_over():
    for alone in (0, 4, 9):
        rows = np.zeros((10, MANY_FEATURES + 1))
        rows[alone, 7] = 1.0
        (component,) = principal_components(rows, 1).T
        np.testing.assert_allclose(np.abs(component), np.arange(len(component)) == 7, atol=1e-9)

"""The closed form of many domains, from their inputs alone."""

import numpy as np
import pytest

from domindex.datasets import make_circle
from domindex.geometry import DomainMap
from domindex.geometry.domain_geometry import DomainGeometry, scaled_clouds
from domindex.geometry.transport import misalignment
from domindex.inputs import DomainData, check_domain_data


def circle_data(leave_out=None) -> DomainData:
    family = make_circle(n_domains=20, n_sources=5, samples_per_domain=60, random_state=0)
    rows = np.array([name != leave_out for name in family.sample_domain])
    return check_domain_data(
        family.X[rows], family.y[rows], family.sample_domain[rows], family.source_domains
    )


@pytest.fixture(scope="module")
def circle() -> DomainData:
    return circle_data()


@pytest.fixture(scope="module")
def geometry(circle) -> DomainGeometry:
    return DomainGeometry.fit(circle, 2)


def test_the_circle_is_a_rotation_about_its_centre(geometry):
    assert geometry.selected.flow.family == "spin"
    assert geometry.selected.misfit < 1.15
    steps = np.diff(geometry.domain_map.coordinates[:, 0])
    assert (np.sign(steps) == np.sign(steps[0])).all()


def test_the_centre_of_the_rotation_is_the_users_zero(geometry):
    flow = geometry.selected.flow
    generator = flow.generators[0]
    np.testing.assert_allclose(generator @ np.append(geometry.moving_origin, 1.0), 0.0, atol=1e-9)
    zero = geometry.scaler.apply(np.zeros((1, 2)))[0] @ geometry.subspace.moving
    np.testing.assert_allclose(geometry.moving_origin, zero)


def test_domains_of_the_circle_aligned_coincide(circle, geometry):
    clouds = [c @ geometry.subspace.moving for c in scaled_clouds(circle, geometry.scaler)]
    aligned = geometry.selected.flow.align_all(clouds, geometry.domain_map.coordinates)
    assert misalignment(aligned) < 0.2 * misalignment(clouds)


def test_a_new_domain_of_the_circle_is_located_and_aligned_with_the_others(circle):
    name = circle.domains[9]
    rest = DomainGeometry.fit(circle_data(leave_out=name), 2)
    assert name not in rest.domain_map.index.domains
    scaled = scaled_clouds(circle, rest.scaler)
    new, first = scaled[9], scaled[0]
    place = rest.domain_map.locate(new @ rest.projection.matrix)
    neighbours = rest.domain_map.coordinates[8:10, 0]
    assert neighbours.min() < place[0] < neighbours.max()
    own = rest.domain_map.coordinates[0]
    apart = np.linalg.norm(new.mean(axis=0) - first.mean(axis=0))
    moving, flow = rest.subspace.moving, rest.selected.flow
    aligned = flow.align_all([new @ moving], place[None])[0].mean(axis=0)
    aligned -= flow.align_all([first @ moving], own[None])[0].mean(axis=0)
    assert np.linalg.norm(aligned) < 0.1 * apart


def test_every_part_names_the_same_domains_in_the_same_order(circle, geometry):
    assert geometry.domain_map.index.domains == circle.domains
    assert [len(rows) for rows in geometry.map_rows] == circle.domain_sizes.tolist()
    assert geometry.domain_map is geometry.selected.domain_map


def test_labels_do_not_matter(circle, geometry):
    names = np.array(circle.row_names)
    other = check_domain_data(
        circle.inputs, np.resize([0, 1], circle.n_rows), names, circle.source_domains[:2]
    )
    again = DomainGeometry.fit(other, 2)
    np.testing.assert_array_equal(again.domain_map.coordinates, geometry.domain_map.coordinates)


def test_on_another_map_the_flow_runs_along_that(circle, geometry):
    other = DomainMap.fit(circle.domains, scaled_clouds(circle, geometry.scaler), 1, neighbors=(3,))
    moved = geometry.on_map(other, circle)
    assert moved.domain_map is other
    assert moved.selected.flow.n_components == 1
    assert {neighbors for _, neighbors, _ in moved.selected.candidates} == {(3,)}
    assert moved.subspace is geometry.subspace
    assert geometry.domain_map is not other


def test_on_its_own_map_the_flow_is_the_same(circle, geometry):
    again = geometry.on_map(geometry.domain_map, circle)
    assert again.selected.flow.family == geometry.selected.flow.family
    np.testing.assert_array_equal(again.selected.flow.generators, geometry.selected.flow.generators)


def shifting(n_domains=8, n_rows=30, n_strays=10) -> DomainData:
    """Domains along a line, each with some rows that have nothing to do with it."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(n_domains, n_rows, 2)) + np.arange(n_domains)[:, None, None]
    strays = 40 * rng.normal(size=(n_domains, 1, 2)) + rng.normal(size=(n_domains, n_strays, 2))
    X = np.concatenate([rows, strays], axis=1).reshape(-1, 2)
    names = np.repeat(np.arange(n_domains), n_rows + n_strays)
    return check_domain_data(X, np.resize([0, 1], len(X)), names, [0, 1, 2])


def test_the_map_rests_on_the_rows_that_it_is_given():
    data = shifting()
    map_rows = [np.arange(30) for _ in range(8)]
    cut, whole = DomainGeometry.fit(data, 1, map_rows=map_rows), DomainGeometry.fit(data, 1)
    assert [len(cloud) for cloud in cut.domain_map.clouds] == [30] * 8
    assert [len(cloud) for cloud in whole.domain_map.clouds] == [40] * 8
    steps = np.diff(cut.domain_map.coordinates[:, 0])
    assert (np.sign(steps) == np.sign(steps[0])).all()
    steps = np.diff(whole.domain_map.coordinates[:, 0])
    assert len(set(np.sign(steps))) == 2


def test_pictures_are_flattened_and_local_indices_have_the_dimension_asked_for():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 1, 3, 2)) + np.repeat(np.arange(6.0), 20)[:, None, None, None]
    data = check_domain_data(X, np.resize([0, 1], 120), np.repeat(np.arange(6), 20), [0, 1])
    geometry = DomainGeometry.fit(data, 1, local_dim=2)
    assert geometry.projection.matrix.shape == (6, 2)
    assert {cloud.shape[1] for cloud in geometry.domain_map.clouds} == {2}
    assert [cloud.shape for cloud in scaled_clouds(data, geometry.scaler)] == [(20, 6)] * 6


@pytest.mark.parametrize("n_domains", [2, 3])
def test_a_few_domains_will_do(n_domains):
    rng = np.random.default_rng(0)
    names = np.repeat(np.arange(n_domains), 15)
    X = rng.normal(size=(len(names), 4)) + names[:, None]
    data = check_domain_data(X, np.resize([0, 1], len(X)), names, [0])
    geometry = DomainGeometry.fit(data, 2)
    assert geometry.domain_map.coordinates.shape == (n_domains, 2)
    assert np.isfinite(geometry.domain_map.coordinates).all()


@pytest.mark.parametrize("seed", range(6))
def test_domains_of_a_single_row_among_many_features_have_a_map(seed):
    """Clouds without any spread could all be carried onto one point, where nothing is defined."""
    rng = np.random.default_rng(seed)
    names = ["a", "b", "c", "d"]
    data = check_domain_data(rng.normal(size=(4, 20)), [0.0, 1.0, 0.0, 0.0], names, ["a", "b"])
    geometry = DomainGeometry.fit(data)
    assert np.isfinite(geometry.domain_map.coordinates).all()
    assert np.isfinite(geometry.selected.flow.generators).all()

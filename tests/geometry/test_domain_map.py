"""A map keeps its unit and orientation, and gives a new domain the place it deserves."""

import numpy as np
import pytest

from domindex.data.standardizing import InputScaler
from domindex.data.validation import check_domain_data
from domindex.datasets import make_circle
from domindex.geometry import procrustes_align
from domindex.geometry.atlas import (
    MAX_EXACT_DOMAINS,
    default_method,
    draw_map,
)
from domindex.geometry.flow_choice import alignment
from domindex.geometry.geodesics import extend_geodesics, geodesic_distances, mean_geodesics
from domindex.geometry.transport import MAX_POINTS, thin
from domindex.geometry.unrolled import unroll

EVERY_MAP = pytest.mark.parametrize(
    ("method", "neighbors"),
    [("exact", ()), ("exact", (2,)), ("exact", (2, 3, 4)), ("sliced", ()), ("sliced", (2,))],
)


def cloud_at(*centre, n_rows=30, seed=0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n_rows, 2)) * 0.3 + centre


def along_a_line(n_domains=8) -> list[np.ndarray]:
    return [cloud_at(2.0 * number, 0.0, seed=number) for number in range(n_domains)]


def along_an_arc(n_domains=9, n_rows=30) -> list[np.ndarray]:
    angles = np.linspace(0.0, 1.5 * np.pi, n_domains)
    return [
        cloud_at(5 * np.cos(a), 5 * np.sin(a), n_rows=n_rows, seed=n) for n, a in enumerate(angles)
    ]


@EVERY_MAP
def test_a_known_domain_is_placed_at_its_own_point(method, neighbors):
    clouds = along_an_arc()
    atlas = draw_map(range(9), clouds, 2, method=method, neighbors=neighbors)
    found = np.stack([atlas.locate(cloud) for cloud in clouds])
    np.testing.assert_allclose(found, atlas.index.coordinates, atol=1e-6)


@EVERY_MAP
def test_a_new_domain_between_two_neighbours_lands_between_them(method, neighbors):
    atlas = draw_map(range(8), along_a_line(), 1, method=method, neighbors=neighbors)
    place = atlas.locate(cloud_at(7.0, 0.0, seed=99))
    neighbours = atlas.index.coordinates[3:5, 0]
    assert neighbours.min() < place[0] < neighbours.max()
    assert place[0] == pytest.approx(neighbours.mean(), abs=0.1)


@EVERY_MAP
def test_a_domain_of_one_row_has_a_place(method, neighbors):
    atlas = draw_map(range(8), along_a_line(), 2, method=method, neighbors=neighbors)
    place = atlas.locate(np.array([[6.0, 0.0]]))
    assert np.isfinite(place).all()
    assert place[0] == pytest.approx(atlas.index.coordinates[3, 0], abs=0.1)


@pytest.mark.parametrize("factor", [1e-4, 1.0, 1e4])
def test_a_map_has_unit_scale_whatever_the_clouds(factor):
    atlas = draw_map(range(8), [cloud * factor for cloud in along_a_line()], 2)
    coordinates = atlas.index.coordinates
    assert (coordinates**2).sum(axis=1).mean() == pytest.approx(1.0)
    np.testing.assert_allclose(atlas.index.distances * atlas.unit, atlas.transport)
    spread = np.linspace(-7, 7, 8).std() * factor
    assert atlas.unit == pytest.approx(spread, rel=0.02)


def test_one_scale_for_both_axes_keeps_the_shape_of_the_map():
    corners = [(0, 0), (6, 0), (6, 1), (0, 1)]
    cloud = cloud_at(0.0, 0.0)
    atlas = draw_map(range(4), [cloud + corner for corner in corners], 2)
    truth = np.array(corners, dtype=float) / atlas.unit
    shown = procrustes_align(atlas.index.coordinates, truth)
    np.testing.assert_allclose(shown, truth, atol=1e-6)


def test_a_map_is_turned_onto_its_reference():
    clouds = along_an_arc()
    reference = draw_map(range(9), clouds, 2).index.coordinates @ [[0.0, 1.0], [1.0, 0.0]]
    turned = draw_map(range(9), clouds, 2, reference=reference)
    np.testing.assert_allclose(turned.index.coordinates, reference, atol=1e-9)
    np.testing.assert_allclose(turned.locate(clouds[4]), reference[4], atol=1e-6)


def test_geodesics_unroll_an_arc():
    clouds = along_an_arc()
    plain = draw_map(range(9), clouds, 1)
    unrolled = draw_map(range(9), clouds, 1, neighbors=(2,), transport=plain.transport)
    assert unrolled.index.stress < 0.1 < plain.index.stress
    steps = np.diff(unrolled.index.coordinates[:, 0])
    assert (np.sign(steps) == np.sign(steps[0])).all()


def test_distances_that_are_given_are_not_computed_again():
    transport = np.array([[0.0, 1.0], [1.0, 0.0]])
    atlas = draw_map("ab", [cloud_at(0, 0), cloud_at(50, 0)], 1, transport=transport)
    np.testing.assert_array_equal(atlas.transport, transport)
    assert atlas.unit == pytest.approx(0.5)


def test_domains_that_are_all_alike_lie_at_the_origin():
    atlas = draw_map(range(3), [cloud_at(0, 0)] * 3, 2)
    np.testing.assert_allclose(atlas.index.coordinates, 0.0, atol=1e-9)
    assert np.isfinite(atlas.locate(cloud_at(1, 1))).all()


def test_large_clouds_are_thinned_to_the_same_rows_every_time():
    large, small = cloud_at(0, 0, n_rows=3 * MAX_POINTS), cloud_at(0, 0, n_rows=MAX_POINTS)
    thinned = thin(large)
    assert thinned.shape == (MAX_POINTS, 2)
    np.testing.assert_array_equal(thinned, thin(large))
    assert len(np.unique(thinned, axis=0)) == MAX_POINTS
    assert {tuple(row) for row in thinned} <= {tuple(row) for row in large}
    assert thin(small) is small


def test_a_large_known_domain_is_still_placed_at_its_own_point():
    clouds = [cloud_at(n, n**2, n_rows=2 * MAX_POINTS, seed=n) for n in range(4)]
    atlas = draw_map(range(4), clouds, 2, method="sliced")
    assert all(len(cloud) == MAX_POINTS for cloud in atlas.clouds)
    np.testing.assert_allclose(atlas.locate(clouds[1]), atlas.index.coordinates[1], atol=1e-6)


def test_many_domains_are_compared_by_slices():
    assert default_method(MAX_EXACT_DOMAINS) == "exact"
    assert default_method(MAX_EXACT_DOMAINS + 1) == "sliced"


def test_a_path_from_a_new_domain_starts_at_one_of_its_neighbours():
    corner = np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 1.0], [2.0, 1.0, 0.0]])
    gaps = np.array([0.5, 1.1, 1.2])
    np.testing.assert_allclose(extend_geodesics(gaps, corner, 1), [0.5, 1.5, 2.5])
    np.testing.assert_allclose(extend_geodesics(gaps, corner, 2), [0.5, 1.1, 2.1])
    np.testing.assert_allclose(extend_geodesics(gaps, corner, 3), [0.5, 1.1, 1.2])


def test_a_new_domain_that_is_a_known_one_has_its_geodesics():
    places = np.array([0.0, 1.0, 2.5, 2.9, 7.0])
    direct = np.abs(places[:, None] - places) ** 0.9
    geodesics = geodesic_distances(direct, 2)
    for number in range(5):
        paths = extend_geodesics(direct[number], geodesics, 2)
        np.testing.assert_allclose(paths, geodesics[number], atol=1e-12)


@pytest.fixture(scope="module")
def circle():
    family = make_circle(n_domains=20, n_sources=5, samples_per_domain=60, random_state=0)
    data = check_domain_data(family.X, family.y, family.sample_domain, family.source_domains)
    scaler = InputScaler.fit(data)
    clouds = [scaler.apply(cloud) for cloud in data.inputs_by_domain()]
    origin = scaler.apply(np.zeros((1, 2)))[0]
    return data.domains, clouds, origin


@pytest.fixture(scope="module")
def unrolled(circle):
    return unroll(*circle[:2], 2, circle[2])


def test_the_circle_is_a_rotation_about_its_centre(unrolled):
    assert unrolled.choice.flow.family == "spin"
    assert unrolled.choice.misfit < 1.15
    steps = np.diff(unrolled.atlas.index.coordinates[:, 0])
    assert (np.sign(steps) == np.sign(steps[0])).all()


def test_domains_of_the_circle_carried_back_coincide(circle, unrolled):
    _, clouds, _ = circle
    index = unrolled.atlas.index.coordinates
    carried = [unrolled.carry(cloud, place) for cloud, place in zip(clouds, index)]
    assert alignment(carried) < 0.2 * alignment(clouds)


def test_a_new_domain_of_the_circle_is_located_and_carried_to_the_others(circle):
    domains, clouds, origin = circle
    known = [number for number in range(20) if number != 9]
    rest = unroll([domains[n] for n in known], [clouds[n] for n in known], 2, origin)
    place = rest.locate(clouds[9])
    neighbours = rest.atlas.index.coordinates[8:10, 0]
    assert neighbours.min() < place[0] < neighbours.max()
    own = rest.atlas.index.coordinates[0]
    apart = np.linalg.norm(clouds[9].mean(axis=0) - clouds[0].mean(axis=0))
    carried = rest.carry(clouds[9], place).mean(axis=0) - rest.carry(clouds[0], own).mean(axis=0)
    assert np.linalg.norm(carried) < 0.1 * apart


def test_an_axis_on_which_the_domains_do_not_differ_stays_near_zero_for_a_new_one():
    cloud = cloud_at(0.0, 0.0)
    atlas = draw_map(range(8), [cloud + [2.0 * n, 0.0] for n in range(8)], 2, neighbors=(2,))
    assert abs(atlas.locate(cloud_at(7.0, 0.0, seed=5))[1]) < 0.1


def test_mean_geodesics_of_one_neighbourhood_are_its_geodesics():
    distances = draw_map(range(9), along_an_arc(), 2).transport
    np.testing.assert_allclose(mean_geodesics(distances, (3,)), geodesic_distances(distances, 3))


def test_mean_geodesics_weigh_every_neighbourhood_alike():
    distances = draw_map(range(9), along_an_arc(), 2).transport
    short, long = (geodesic_distances(distances, k) for k in (5, 2))
    expected = (long + short * long.mean() / short.mean()) / 2
    np.testing.assert_allclose(mean_geodesics(distances, (2, 5)), expected)


def test_identical_domains_have_no_geodesics_to_speak_of():
    assert not mean_geodesics(np.zeros((4, 4)), (2, 3)).any()

"""A map keeps its unit and orientation, and gives a new domain the place it deserves."""

import json

import numpy as np
import pytest

from domindex.geometry import DomainMap, procrustes_align, transport_distances
from domindex.geometry.settings import MAP
from domindex.geometry.transport import thin
from domindex.persistence.codec import decode, encode

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
    domain_map = DomainMap.fit(range(9), clouds, 2, method=method, neighbors=neighbors)
    found = np.stack([domain_map.locate(cloud) for cloud in clouds])
    np.testing.assert_allclose(found, domain_map.index.coordinates, atol=1e-6)


@EVERY_MAP
def test_a_new_domain_between_two_neighbours_lands_between_them(method, neighbors):
    domain_map = DomainMap.fit(range(8), along_a_line(), 1, method=method, neighbors=neighbors)
    place = domain_map.locate(cloud_at(7.0, 0.0, seed=99))
    neighbours = domain_map.index.coordinates[3:5, 0]
    assert neighbours.min() < place[0] < neighbours.max()
    assert place[0] == pytest.approx(neighbours.mean(), abs=0.1)


@EVERY_MAP
def test_a_domain_of_one_row_has_a_place(method, neighbors):
    domain_map = DomainMap.fit(range(8), along_a_line(), 2, method=method, neighbors=neighbors)
    place = domain_map.locate(np.array([[6.0, 0.0]]))
    assert np.isfinite(place).all()
    assert place[0] == pytest.approx(domain_map.index.coordinates[3, 0], abs=0.1)


@pytest.mark.parametrize("factor", [1e-4, 1.0, 1e4])
def test_a_map_has_unit_scale_whatever_the_clouds(factor):
    domain_map = DomainMap.fit(range(8), [cloud * factor for cloud in along_a_line()], 2)
    coordinates = domain_map.index.coordinates
    assert (coordinates**2).sum(axis=1).mean() == pytest.approx(1.0)
    np.testing.assert_allclose(domain_map.index.distances * domain_map.unit, domain_map.transport)
    spread = np.linspace(-7, 7, 8).std() * factor
    assert domain_map.unit == pytest.approx(spread, rel=0.02)


def test_one_scale_for_both_axes_keeps_the_shape_of_the_map():
    corners = [(0, 0), (6, 0), (6, 1), (0, 1)]
    cloud = cloud_at(0.0, 0.0)
    domain_map = DomainMap.fit(range(4), [cloud + corner for corner in corners], 2)
    truth = np.array(corners, dtype=float) / domain_map.unit
    shown = procrustes_align(domain_map.index.coordinates, truth)
    np.testing.assert_allclose(shown, truth, atol=1e-6)


def test_a_map_is_turned_onto_its_reference():
    clouds = along_an_arc()
    reference = DomainMap.fit(range(9), clouds, 2).index.coordinates @ [[0.0, 1.0], [1.0, 0.0]]
    turned = DomainMap.fit(range(9), clouds, 2, reference=reference)
    np.testing.assert_allclose(turned.index.coordinates, reference, atol=1e-9)
    np.testing.assert_allclose(turned.locate(clouds[4]), reference[4], atol=1e-6)


def test_geodesics_unroll_an_arc():
    plain = DomainMap.fit(range(9), along_an_arc(), 1)
    unrolled = plain.along((2,))
    assert unrolled.index.stress < 0.1 < plain.index.stress
    steps = np.diff(unrolled.index.coordinates[:, 0])
    assert (np.sign(steps) == np.sign(steps[0])).all()


@pytest.mark.parametrize("neighbors", [(2,), (3, 4, 5)])
def test_a_map_seen_along_geodesics_is_the_map_drawn_along_them(neighbors):
    drawn = DomainMap.fit(range(9), along_an_arc(), 2, neighbors=neighbors)
    seen = DomainMap.fit(range(9), along_an_arc(), 2).along(neighbors)
    assert seen.neighbors == neighbors
    assert seen.unit == drawn.unit
    np.testing.assert_array_equal(seen.coordinates, drawn.coordinates)
    np.testing.assert_array_equal(seen.locate(cloud_at(4, 4)), drawn.locate(cloud_at(4, 4)))


def test_a_map_seen_along_no_neighbours_is_the_plain_one():
    plain = DomainMap.fit(range(9), along_an_arc(), 2)
    np.testing.assert_array_equal(plain.along((2,)).along(()).coordinates, plain.coordinates)


def test_other_neighbours_do_not_measure_the_distances_again():
    cloud = cloud_at(0, 0)
    plain = DomainMap.fit("abc", [cloud, cloud + [1, 0], cloud + [0, 1]], 1)
    assert plain.along((1,)).transport is plain.transport


def test_two_domains_at_unit_distance_lie_half_a_unit_from_the_middle():
    cloud = cloud_at(0, 0)
    domain_map = DomainMap.fit("ab", [cloud, cloud + [1, 0]], 1)
    np.testing.assert_allclose(domain_map.transport, [[0, 1], [1, 0]], atol=1e-9)
    assert domain_map.unit == pytest.approx(0.5)


def test_domains_that_are_all_alike_lie_at_the_origin():
    domain_map = DomainMap.fit(range(3), [cloud_at(0, 0)] * 3, 2)
    np.testing.assert_allclose(domain_map.index.coordinates, 0.0, atol=1e-9)
    assert np.isfinite(domain_map.locate(cloud_at(1, 1))).all()


def test_large_clouds_are_thinned_to_the_same_rows_every_time():
    large, small = cloud_at(0, 0, n_rows=3 * MAP.max_points), cloud_at(0, 0, n_rows=MAP.max_points)
    thinned = thin(large)
    assert thinned.shape == (MAP.max_points, 2)
    np.testing.assert_array_equal(thinned, thin(large))
    assert len(np.unique(thinned, axis=0)) == MAP.max_points
    assert {tuple(row) for row in thinned} <= {tuple(row) for row in large}
    assert thin(small) is small


def test_a_large_known_domain_is_still_placed_at_its_own_point():
    clouds = [cloud_at(n, n**2, n_rows=2 * MAP.max_points, seed=n) for n in range(4)]
    domain_map = DomainMap.fit(range(4), clouds, 2, method="sliced")
    assert all(len(cloud) == MAP.max_points for cloud in domain_map.clouds)
    np.testing.assert_allclose(
        domain_map.locate(clouds[1]), domain_map.index.coordinates[1], atol=1e-6
    )


def test_many_domains_are_compared_by_slices():
    points = np.random.default_rng(0).normal(size=(MAP.max_exact_domains + 1, 1, 2))
    assert DomainMap.fit(range(MAP.max_exact_domains), points[:-1], 2).method == "exact"
    assert DomainMap.fit(range(MAP.max_exact_domains + 1), points, 2).method == "sliced"


def test_an_axis_on_which_the_domains_do_not_differ_stays_near_zero_for_a_new_one():
    cloud = cloud_at(0.0, 0.0)
    domain_map = DomainMap.fit(
        range(8), [cloud + [2.0 * n, 0.0] for n in range(8)], 2, neighbors=(2,)
    )
    assert abs(domain_map.locate(cloud_at(7.0, 0.0, seed=5))[1]) < 0.1


def test_a_share_of_the_level_moves_clouds_together_and_keeps_their_shape():
    rng = np.random.default_rng(0)
    clouds = [rng.normal(size=(20, 2)), rng.normal(size=(20, 2)) + [30, 40]]
    seen = DomainMap.fit("ab", clouds, 1, level_share=0.1).clouds
    gap = np.linalg.norm(seen[1].mean(axis=0) - seen[0].mean(axis=0))
    assert gap == pytest.approx(
        0.1 * np.linalg.norm(clouds[1].mean(axis=0) - clouds[0].mean(axis=0))
    )
    for before, after in zip(clouds, seen):
        np.testing.assert_allclose(before - before.mean(axis=0), after - after.mean(axis=0))


def test_without_levels_only_shapes_are_on_the_map():
    clouds = along_an_arc()
    domain_map = DomainMap.fit(range(9), clouds, 2, level_share=0.0)
    shapes = transport_distances([cloud - cloud.mean(axis=0) for cloud in clouds])
    np.testing.assert_allclose(domain_map.transport, shapes, atol=1e-9)


@pytest.mark.parametrize("share", [0.0, 0.3])
def test_a_known_domain_is_placed_at_its_own_point_whatever_its_level_counts(share):
    clouds = along_an_arc()
    domain_map = DomainMap.fit(range(9), clouds, 2, level_share=share)
    np.testing.assert_allclose(domain_map.locate(clouds[4]), domain_map.coordinates[4], atol=1e-6)


def kept(state: dict) -> dict:
    """A state as it comes back from a file."""
    tree, arrays = encode(state)
    return decode(json.loads(json.dumps(tree)), arrays)


@EVERY_MAP
def test_a_map_comes_back_from_its_state_to_the_bit(method, neighbors):
    clouds = [*along_an_arc(8), cloud_at(0, 0, n_rows=7)]
    names = ["a", "b", 3, 4.5, True, None, ("x", 1), "h", "i"]
    saved = DomainMap.fit(names, clouds, 2, method=method, neighbors=neighbors, level_share=0.7)
    found = DomainMap.from_state(kept(saved.state()))
    assert found.index.domains == saved.index.domains
    assert found.method == method
    assert found.neighbors == neighbors
    np.testing.assert_array_equal(found.coordinates, saved.coordinates)
    new = cloud_at(2, 3, n_rows=11, seed=5)
    np.testing.assert_array_equal(found.locate(new), saved.locate(new))
    np.testing.assert_array_equal(found.along((3,)).coordinates, saved.along((3,)).coordinates)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ({"method": "guess"}, "method is 'guess'"),
        ({"cloud_sizes": [30, 30]}, "clouds do not match"),
        ({"cloud_sizes": [0, 60, 30]}, "clouds do not match"),
        ({"cloud_sizes": [30, 30, 29]}, "clouds do not match"),
        ({"clouds": np.zeros((5, 2))}, "clouds do not match"),
        ({"transport": np.zeros((2, 2))}, "transport distances do not match"),
    ],
)
def test_a_damaged_map_is_refused(damage, message):
    state = DomainMap.fit(range(3), along_a_line(3), 2).state()
    with pytest.raises(ValueError, match=message):
        DomainMap.from_state({**state, **damage})


def test_a_map_with_a_damaged_index_is_refused():
    state = DomainMap.fit(range(3), along_a_line(3), 2).state()
    state["index"] = {**state["index"], "domains": (0, 1, 1)}
    with pytest.raises(ValueError, match="do not have a name each"):
        DomainMap.from_state(state)


@pytest.mark.parametrize(
    ("damage", "word"),
    [
        ({"unit": 0.0}, "usable"),
        ({"unit": float("nan")}, "usable"),
        ({"transport": np.full((4, 4), np.nan)}, "usable"),
        ({"neighbors": [0]}, "neighbours"),
    ],
)
def test_a_map_that_could_place_nothing_is_refused(damage, word):
    clouds = [np.random.default_rng(0).normal(size=(9, 2)) + number for number in range(4)]
    state = DomainMap.fit(range(4), clouds, 2).state()
    with pytest.raises(ValueError, match=word):
        DomainMap.from_state({**state, **damage})


@EVERY_MAP
def test_many_new_domains_are_placed_as_each_alone(method, neighbors):
    domain_map = DomainMap.fit(range(9), along_an_arc(), 2, method=method, neighbors=neighbors)
    new = [cloud_at(4.0, 2.0 + k, n_rows=10 + 20 * (k % 2), seed=k) for k in range(4)]
    together = domain_map.locate_all(new)
    np.testing.assert_allclose(together, [domain_map.locate(cloud) for cloud in new], atol=1e-9)
    assert domain_map.locate_all([]).shape == (0, 2)


@EVERY_MAP
def test_added_domains_have_their_place_and_move_nothing(method, neighbors):
    domain_map = DomainMap.fit(range(9), along_an_arc(), 2, method=method, neighbors=neighbors)
    new = [cloud_at(4.0, 2.0 + k, seed=k) for k in range(3)]
    grown = domain_map.with_domains("abc", new)
    assert grown.index.domains == (*range(9), "a", "b", "c")
    assert (grown.n_fitted, grown.n_added, domain_map.n_added) == (9, 3, 0)
    np.testing.assert_array_equal(grown.coordinates[:9], domain_map.coordinates)
    np.testing.assert_allclose(grown.coordinates[9:], domain_map.locate_all(new))
    probe = cloud_at(1.0, 4.0, seed=7)
    np.testing.assert_allclose(grown.locate(probe), domain_map.locate(probe), atol=1e-12)
    assert grown.index.eigenvalues.shape == (12,)
    np.testing.assert_allclose(grown.index.distances, grown.index.distances.T)


def test_the_order_of_additions_does_not_matter():
    domain_map = DomainMap.fit(range(9), along_an_arc(), 2, neighbors=(2,))
    new = [cloud_at(4.0, 2.0 + k, seed=k) for k in range(2)]
    at_once = domain_map.with_domains("ab", new)
    in_turn = domain_map.with_domains("a", new[:1]).with_domains("b", new[1:])
    np.testing.assert_allclose(at_once.coordinates, in_turn.coordinates, atol=1e-12)
    np.testing.assert_allclose(at_once.index.distances, in_turn.index.distances)


def test_transport_of_added_domains_is_what_it_would_have_been():
    clouds = along_an_arc()
    domain_map = DomainMap.fit(range(6), clouds[:6], 2, neighbors=(2,))
    grown = domain_map.with_domains("abc", clouds[6:])
    np.testing.assert_allclose(grown.all_transport, transport_distances(clouds), atol=1e-9)
    assert domain_map.all_transport is domain_map.transport


def test_a_map_with_added_domains_comes_back_from_its_state():
    domain_map = DomainMap.fit(range(6), along_an_arc(6), 2, neighbors=(2,))
    grown = domain_map.with_domains(["new"], [cloud_at(4.0, 2.0)])
    tree, arrays = encode(grown.state())
    twin = DomainMap.from_state(decode(json.loads(json.dumps(tree)), arrays))
    assert (twin.n_fitted, twin.index.domains) == (6, grown.index.domains)
    np.testing.assert_array_equal(twin.locate(cloud_at(1, 1)), grown.locate(cloud_at(1, 1)))
    for wrong, word in ((-1, "were added"), (7, "were added"), (1.0, "n_added is 1.0")):
        with pytest.raises(ValueError, match=word):
            DomainMap.from_state(grown.state() | {"n_added": wrong})


@pytest.mark.parametrize("n_domains", [1, 2, 3])
def test_fewer_domains_than_axes_still_place_new_ones(n_domains):
    domain_map = DomainMap.fit(range(n_domains), along_a_line(n_domains), 4, neighbors=(1,))
    places = domain_map.locate_all([cloud_at(1.0, 0.0), cloud_at(3.0, 5.0)])
    assert places.shape == (2, 4)
    assert np.isfinite(places).all()
    assert (places[:, n_domains - 1 :] == 0).all()


def test_identical_domains_leave_a_new_one_at_their_point():
    domain_map = DomainMap.fit(range(4), [cloud_at(0, 0)] * 4, 2, neighbors=(1,))
    np.testing.assert_array_equal(domain_map.locate(cloud_at(3, 3)), np.zeros(2))


def around(n_domains=16) -> list[np.ndarray]:
    angles = 2 * np.pi * np.arange(n_domains) / n_domains
    return [cloud_at(5 * np.cos(a), 5 * np.sin(a), seed=n) for n, a in enumerate(angles)]


def test_a_ring_of_domains_is_a_closed_map_and_an_arc_is_not():
    closed = DomainMap.fit(range(16), around(), 2).closed()
    assert closed.loop is not None
    np.testing.assert_array_equal(closed.index.angles, closed.loop.angles)
    along = closed.along((3,))
    assert along.loop is closed.loop
    np.testing.assert_array_equal(along.index.angles, closed.loop.angles)
    arc = DomainMap.fit(range(9), along_an_arc(), 2).closed()
    assert arc.loop is None
    assert arc.index.angles is None


def test_a_new_domain_on_a_closed_map_has_an_angle():
    closed = DomainMap.fit(range(16), around(), 2).closed()
    between = cloud_at(5 * np.cos(np.pi / 16), 5 * np.sin(np.pi / 16), seed=99)
    (angle,) = closed.angles_of([between])
    assert np.rad2deg(angle) == pytest.approx(11.25, abs=5)
    grown = closed.with_domains(["between"], [between])
    np.testing.assert_array_equal(grown.index.angles, [*closed.index.angles, angle])
    assert closed.angles_of([]).shape == (0,)
    assert DomainMap.fit(range(9), along_an_arc(), 2).angles_of([between]) is None


def test_a_closed_map_comes_back_from_its_state_and_a_damaged_one_is_refused():
    closed = DomainMap.fit(range(16), around(), 2).closed()
    tree, arrays = encode(closed.state())
    again = DomainMap.from_state(decode(json.loads(json.dumps(tree)), arrays))
    np.testing.assert_array_equal(again.index.angles, closed.index.angles)
    assert again.angles_of([cloud_at(1, 4)]) == closed.angles_of([cloud_at(1, 4)])
    for part in ({"loop": closed.loop.state() | {"angles": np.zeros(3)}}, {"loop": {}}):
        with pytest.raises((ValueError, KeyError)):
            DomainMap.from_state(closed.state() | part)

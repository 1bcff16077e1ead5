"""When a loop of domains appears and when it is filled, against closed forms of regular rings."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from domindex.errors import InputError
from domindex.evaluation import circular_correlation
from domindex.geometry import DomainMap
from domindex.geometry.rings import (
    Loop,
    RingCoordinate,
    arc_angles,
    birth_of_winding,
    comes_back,
    death_of_winding,
    find_loop,
    harmonic_angles,
    opening,
    wrap_angle,
)
from domindex.geometry.settings import RING


def ring(angles) -> np.ndarray:
    points = np.column_stack([np.cos(angles), np.sin(angles)])
    return cdist(points, points)


def regular(n_domains) -> np.ndarray:
    return wrap_angle(2 * np.pi * np.arange(n_domains) / n_domains)


@pytest.mark.parametrize("n_domains", [6, 7, 8, 12, 24])
def test_a_regular_ring_is_born_at_its_side_and_dies_at_its_widest_triangle(n_domains):
    angles = regular(n_domains)
    distances = ring(angles)
    third = -(-n_domains // 3)
    assert birth_of_winding(distances, angles) == pytest.approx(2 * np.sin(np.pi / n_domains))
    assert death_of_winding(distances, angles) == pytest.approx(
        2 * np.sin(np.pi * third / n_domains)
    )


def test_angles_that_do_not_go_around_make_no_loop():
    angles = np.linspace(0.0, 1.0, 10)
    assert birth_of_winding(ring(angles), angles) == np.inf
    assert death_of_winding(ring(angles), angles) == np.inf


def test_an_arc_is_born_at_its_opening():
    angles = np.deg2rad(np.linspace(-150, 150, 21))
    assert birth_of_winding(ring(angles), angles) == pytest.approx(2 * np.sin(np.deg2rad(30)))


def test_harmonic_angles_of_a_regular_ring_are_regular():
    angles = regular(12)
    rng = np.random.default_rng(0)
    found = harmonic_angles(ring(angles), angles + 0.1 * rng.normal(size=12), reach=1.1)
    steps = wrap_angle(np.diff(np.append(found, found[0])))
    np.testing.assert_allclose(steps, 2 * np.pi / 12, atol=1e-6)


def test_arc_angles_are_right_where_domains_lie_unevenly():
    truth = 2 * np.pi * (np.arange(24) / 24) ** 1.5
    distances = ring(truth)
    found, rate = arc_angles(distances, wrap_angle(truth + 0.3 * np.sin(truth)), reach=0.9)
    assert circular_correlation(found, truth) > 0.999
    assert rate == pytest.approx(1.0, abs=0.1)  # radians per length of a ring of radius 1


def test_angles_are_wrapped_to_one_turn():
    wrapped = wrap_angle(np.linspace(-20, 20, 101))
    assert (np.abs(wrapped) <= np.pi).all()
    np.testing.assert_allclose(np.exp(1j * wrapped), np.exp(1j * np.linspace(-20, 20, 101)))


@pytest.mark.parametrize("off", [0.0, 1e-15, -1e-15, 1e-12, -1e-12])
def test_half_a_turn_has_one_name_however_processors_round(off):
    wrapped = wrap_angle(np.array([np.pi + off, -np.pi + off, 3 * np.pi + off]))
    np.testing.assert_allclose(wrapped, np.pi, atol=1e-9)


@pytest.mark.parametrize("off", [0.0, 1e-15, -1e-15])
def test_the_cut_between_equal_arcs_does_not_hang_on_rounding(off):
    angles = np.array([0.0, np.pi + off, 1.0])
    ring = RingCoordinate.opposite(angles, np.array([True, True, False]))
    assert ring.middle == pytest.approx(-np.pi / 2)


SEEDS = range(5)


def directions(degrees) -> np.ndarray:
    angles = np.deg2rad(degrees)
    return np.column_stack([np.cos(angles), np.sin(angles)])


def around(n_domains) -> np.ndarray:
    return directions(360 * np.arange(n_domains) / n_domains)


def grid(n_domains) -> np.ndarray:
    side = int(np.ceil(n_domains**0.5))
    return np.array([(i, j) for i in range(side) for j in range(side)])[:n_domains] / side


def ring_with_tail(n_domains) -> np.ndarray:
    on_ring = 2 * n_domains // 3
    tail = np.linspace(1.3, 3.0, n_domains - on_ring)
    return np.vstack([around(on_ring), np.column_stack([tail, 0 * tail])])


def two_rings(n_domains) -> np.ndarray:
    half = n_domains // 2
    return np.vstack([around(half) + [1, 0], around(n_domains - half) - [1, 0]])


def star(n_domains) -> np.ndarray:
    along = np.linspace(0.2, 1, n_domains // 3)[:, None]
    return np.vstack([along * directions([angle]) for angle in (0, 120, 240)])


OPEN = {
    "line": lambda n, rng: np.column_stack([np.linspace(0, 4, n), np.zeros(n)]),
    "half a circle": lambda n, rng: directions(np.linspace(0, 180, n)),
    "270 degrees": lambda n, rng: directions(np.linspace(0, 270, n)),
    "300 degrees": lambda n, rng: directions(np.linspace(0, 300, n)),
    "300 degrees at random": lambda n, rng: directions(rng.uniform(0, 300, n)),
    "grid": lambda n, rng: 2 * grid(n),
    "blob": lambda n, rng: rng.normal(size=(n, 2)),
    "blob in 3-D": lambda n, rng: rng.normal(size=(n, 3)),
    "blob in 8-D": lambda n, rng: rng.normal(size=(n, 8)),
    "clusters": lambda n, rng: 2 * rng.normal(size=(4, 2))[rng.integers(0, 4, n)],
    "random walk": lambda n, rng: np.cumsum(rng.normal(size=(n, 2)), axis=0),
    "star": lambda n, rng: star(n),
    "ring with a tail": lambda n, rng: ring_with_tail(n),
    "two rings": lambda n, rng: two_rings(n),
}


def noisy(points, noise, rng) -> np.ndarray:
    moved = points + noise * rng.normal(size=points.shape)
    return cdist(moved, moved)


@pytest.mark.parametrize("n_domains", [9, 12, 24, 48])
@pytest.mark.parametrize("shape", OPEN)
def test_open_shapes_are_not_called_loops(shape, n_domains):
    for seed in SEEDS:
        rng = np.random.default_rng([seed, n_domains])
        assert find_loop(noisy(OPEN[shape](n_domains, rng), 0.05, rng)) is None


@pytest.mark.parametrize(("n_domains", "noise"), [(8, 0.03), (12, 0.05), (24, 0.1), (48, 0.1)])
def test_rings_are_found_and_their_angles_are_right(n_domains, noise):
    truth = np.arange(n_domains)
    for seed in SEEDS:
        rng = np.random.default_rng([seed, n_domains])
        loop = find_loop(noisy(around(n_domains), noise, rng))
        assert loop is not None
        assert circular_correlation(loop.angles, truth, period=n_domains) > 0.97


def test_a_ring_in_many_dimensions_is_found():
    rng = np.random.default_rng(0)
    points = around(24) @ np.linalg.qr(rng.normal(size=(10, 2)))[0].T
    assert find_loop(noisy(points, 0.05, rng)) is not None


def test_two_years_of_months_lie_on_one_ring():
    months = np.arange(24)
    distances = noisy(directions(30 * months), 0.05, np.random.default_rng(0))
    loop = find_loop(distances)
    assert loop is not None
    assert circular_correlation(loop.angles, months, period=12) > 0.99


def test_unevenly_placed_domains_get_angles_by_arc_length():
    degrees = 360 * (np.arange(24) / 24) ** 1.3
    loop = find_loop(noisy(directions(degrees), 0.02, np.random.default_rng(0)))
    assert loop is not None
    assert circular_correlation(loop.angles, degrees, period=360) > 0.995


def test_the_first_domain_is_at_zero_and_angles_rise_with_the_domains():
    loop = find_loop(cdist(around(12), around(12)))
    assert loop is not None
    np.testing.assert_allclose(loop.angles[:6], np.deg2rad(30 * np.arange(6)), atol=1e-6)
    assert loop.order.tolist() == list(range(12))


def test_few_domains_are_never_a_loop():
    for n_domains in range(1, RING.min_domains):
        assert find_loop(cdist(around(n_domains), around(n_domains))) is None


def test_domains_that_all_coincide_are_no_loop():
    assert find_loop(np.zeros((12, 12))) is None


def test_the_unit_of_the_distances_makes_no_difference():
    distances = noisy(around(18), 0.05, np.random.default_rng(0))
    small, large = find_loop(1e-6 * distances), find_loop(1e6 * distances)
    assert small is not None
    assert large is not None
    np.testing.assert_allclose(small.angles, large.angles, atol=1e-6)
    assert small.persistence == pytest.approx(large.persistence)


def test_a_new_domain_gets_the_angle_between_its_neighbours():
    points, new = around(24), directions([37.0, 202.5])
    loop = find_loop(cdist(points, points))
    assert loop is not None
    found = [loop.locate(gaps) for gaps in cdist(new, points)]
    np.testing.assert_allclose(np.rad2deg(found), [37.0, -157.5], atol=1.0)


def test_a_known_domain_is_located_where_it_is():
    distances = noisy(around(24), 0.05, np.random.default_rng(0))
    loop = find_loop(distances)
    assert loop is not None
    found = np.array([loop.locate(gaps) for gaps in distances])
    assert np.abs(np.exp(1j * found) - np.exp(1j * loop.angles)).max() < 0.1


def test_many_domains_are_looked_at_through_landmarks():
    n_domains = RING.max_landmarks + 150
    distances = noisy(around(n_domains), 0.02, np.random.default_rng(0))
    loop = find_loop(distances)
    assert loop is not None
    assert loop.angles.shape == (n_domains,)
    assert circular_correlation(loop.angles, np.arange(n_domains), period=n_domains) > 0.999
    blob = np.random.default_rng(0).normal(size=(n_domains, 2))
    assert find_loop(cdist(blob, blob)) is None


def test_a_loop_comes_back_from_its_state():
    distances = cdist(around(12), around(12))
    loop = find_loop(distances)
    assert loop is not None
    again = Loop.from_state({**loop.state(), "distances": distances})
    assert again.locate(distances[3]) == loop.locate(distances[3])


@pytest.mark.parametrize(
    "damage",
    [{"angles": np.zeros(3)}, {"angles": np.full(12, 4.0)}, {"birth": 2.0}, {"rate": np.nan}],
)
def test_a_damaged_state_is_refused(damage):
    distances = cdist(around(12), around(12))
    loop = find_loop(distances)
    assert loop is not None
    with pytest.raises(ValueError, match="loop"):
        Loop.from_state({**loop.state(), **damage, "distances": distances})


def test_distances_that_are_none_are_refused():
    with pytest.raises(InputError):
        find_loop([[0.0, np.nan], [np.nan, 0.0]])


DEGREES = np.arange(0, 360, 15.0)


def helix(rise, degrees=DEGREES) -> np.ndarray:
    angles = np.deg2rad(degrees)
    return np.column_stack([np.cos(angles), np.sin(angles), rise * angles / (2 * np.pi)])


def clouds_at(places, n_rows=40) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [5 * place + 0.3 * rng.normal(size=(n_rows, len(place))) for place in places]


def test_the_opening_of_a_helix_grows_with_its_rise():
    found = [
        opening(cdist(helix(rise), helix(rise)), np.deg2rad(DEGREES)) for rise in (0.0, 1.0, 2.0)
    ]
    assert found[0] < np.deg2rad(1) < found[1] < np.deg2rad(RING.max_opening) < found[2]


def test_a_ring_is_closed_however_unevenly_it_is_filled():
    degrees = 360 * (np.arange(24) / 24) ** 1.3
    points = helix(0.0, degrees)
    assert opening(cdist(points, points), np.deg2rad(degrees)) < np.deg2rad(3)


def test_a_missing_domain_is_no_opening():
    degrees = np.delete(DEGREES, 7)
    points = helix(0.0, degrees)
    assert opening(cdist(points, points), np.deg2rad(degrees)) < np.deg2rad(3)


def test_a_helix_is_not_closed_where_all_inputs_are_looked_at():
    for rise, closes in ((0.0, True), (2.0, False)):
        places = helix(rise)
        clouds = clouds_at(places)
        flat = [cloud[:, :2] for cloud in clouds]
        loop = find_loop(cdist(places[:, :2], places[:, :2]))
        assert loop is not None
        assert comes_back(loop, clouds) == closes
        drawn = DomainMap.fit(range(24), flat, 2)
        assert drawn.closed().loop is not None
        assert (drawn.closed(clouds).loop is not None) == closes


ANGLES = wrap_angle(np.deg2rad(15.0 * np.arange(24)))


def some(*numbers) -> np.ndarray:
    return np.isin(np.arange(24), numbers)


def test_the_cut_lies_opposite_to_a_stretch_of_sources():
    ring = RingCoordinate.opposite(ANGLES, some(0, 1, 2, 3, 4))
    assert np.rad2deg(ring.middle) == pytest.approx(30)
    assert np.rad2deg(ring.half_width) == pytest.approx(30)
    assert np.abs(ring.of(ANGLES)).max() <= np.pi
    assert np.argmax(np.abs(ring.of(ANGLES))) == 14  # 210 degrees


def test_the_cut_does_not_pass_through_the_beginning_of_the_angles():
    ring = RingCoordinate.opposite(ANGLES, some(22, 23, 0, 1, 2))
    assert np.rad2deg(ring.middle) == pytest.approx(0, abs=1e-9)


def test_one_source_is_the_middle():
    ring = RingCoordinate.opposite(ANGLES, some(7))
    assert ring.of(ANGLES)[7] == pytest.approx(0, abs=1e-12)
    assert ring.half_width == pytest.approx(0, abs=1e-12)


def test_the_other_way_is_a_full_turn_off_and_on_the_other_side():
    ring = RingCoordinate.opposite(ANGLES, some(0, 1, 2))
    one, other = ring.of(ANGLES), ring.of(ANGLES, other_way=True)
    np.testing.assert_allclose(np.abs(one - other), 2 * np.pi)
    assert (np.sign(one[one != 0]) == -np.sign(other[one != 0])).all()


def test_the_other_way_is_as_likely_opposite_to_the_sources_and_unlikely_beside_them():
    ring = RingCoordinate.opposite(ANGLES, some(0, 1, 2))
    chance = ring.chance_of_other_way(ANGLES)
    assert chance[13] == pytest.approx(0.5)
    np.testing.assert_allclose(chance[:3], 0, atol=1e-12)
    assert not ring.in_question(ANGLES)[[23, 0, 1, 2, 3]].any()
    assert ring.in_question(ANGLES)[6:21].all()


def test_a_damaged_coordinate_is_refused():
    ring = RingCoordinate.opposite(ANGLES, some(0))
    assert RingCoordinate.from_state(ring.state()) == ring
    with pytest.raises(ValueError, match="ring"):
        RingCoordinate.from_state({"middle": 7.0, "half_width": 0.0})

"""One turn of a helix is a ring in two dimensions, and does not come back in three."""

import numpy as np
from scipy.spatial.distance import cdist

from domindex.geometry import DomainMap
from domindex.geometry.loop import find_loop
from domindex.geometry.loop_opening import MOST_OPENING, comes_back, opening

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
    assert found[0] < np.deg2rad(1) < found[1] < MOST_OPENING < found[2]


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

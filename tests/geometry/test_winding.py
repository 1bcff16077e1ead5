"""When a loop of domains appears and when it is filled, against closed forms of regular rings."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from domindex.evaluation import circular_correlation
from domindex.geometry.winding import (
    SHORTEST,
    arc_angles,
    birth_of_winding,
    death_of_winding,
    harmonic_angles,
    join_weights,
    wrap_angle,
)


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


def test_joins_count_by_their_length_and_those_of_equal_domains_not_without_end():
    weights = join_weights(np.array([0.0, 2.0, 8.0]), 4.0)
    np.testing.assert_allclose(weights, [1.0 / (SHORTEST * 4.0), 0.5, 0.125])

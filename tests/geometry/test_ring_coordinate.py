"""The coordinate along a ring: cut opposite to the sources, and reached both ways."""

import numpy as np
import pytest

from domindex.geometry.ring_coordinate import RingCoordinate
from domindex.geometry.winding import wrap_angle

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


def test_a_damaged_state_is_refused():
    ring = RingCoordinate.opposite(ANGLES, some(0))
    assert RingCoordinate.from_state(ring.state()) == ring
    with pytest.raises(ValueError, match="ring"):
        RingCoordinate.from_state({"middle": 7.0, "half_width": 0.0})

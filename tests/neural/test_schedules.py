"""Weights and rates move as they should over a training."""

import numpy as np
import pytest

from domindex.neural.training import adversary_ramp, warm_up_and_decay


def test_the_adversary_starts_at_nothing_and_ends_at_full_weight():
    ramp = [adversary_ramp(progress) for progress in np.linspace(0, 1, 50)]
    assert ramp[0] == 0.0
    assert ramp[-1] == pytest.approx(1.0, abs=1e-3)
    assert (np.diff(ramp) > 0).all()


def test_the_adversary_has_half_its_weight_after_a_ninth_of_the_way():
    assert adversary_ramp(np.log(3) / 10) == pytest.approx(0.5)


def test_a_rate_rises_stays_and_falls_to_its_floor():
    rates = np.array([warm_up_and_decay(step, 1000, 50) for step in range(1001)])
    np.testing.assert_allclose(rates[:50], np.arange(1, 51) / 50)
    np.testing.assert_allclose(rates[50:501], 1.0)
    assert (np.diff(rates[501:]) < 0).all()
    assert rates[750] == pytest.approx(0.525)
    assert rates[1000] == pytest.approx(0.05)


def test_a_rate_is_never_zero():
    for n_steps in (1, 2, 10, 500):
        rates = [warm_up_and_decay(step, n_steps, 50) for step in range(n_steps)]
        assert min(rates) > 0.0
        assert max(rates) <= 1.0


def test_without_warm_up_or_steps_the_rate_is_full():
    assert warm_up_and_decay(0, 100, 0) == 1.0
    assert warm_up_and_decay(0, 0, 0) == 1.0

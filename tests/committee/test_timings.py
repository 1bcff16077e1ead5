"""Seconds by stage: each second is counted once, for the innermost stage."""

import pytest

from domindex.committee.context import Timings


def ticking(*times):
    left = iter(times)
    return Timings(clock=lambda: next(left))


def test_a_stage_that_is_entered_again_goes_on():
    timings = ticking(0.0, 1.0, 5.0, 7.0)
    for _ in range(2):
        with timings.stage("validating"):
            pass
    assert timings.seconds == {"validating": 3.0}


def test_a_stage_that_fails_is_counted_and_left():
    timings = ticking(0.0, 2.0, 3.0, 4.0)
    with pytest.raises(ValueError, match="oh"), timings.stage("mapping"):
        raise ValueError("oh")
    with timings.stage("fitting"):
        pass
    assert timings.seconds == {"mapping": 2.0, "fitting": 1.0}


def test_the_table_has_a_row_a_stage_in_their_order():
    timings = ticking(0.0, 1.0, 1.0, 4.0)
    for name in ("mapping", "fitting"):
        with timings.stage(name):
            pass
    table = timings.table()
    assert table["stage"].tolist() == ["mapping", "fitting"]
    assert table["seconds"].tolist() == [1.0, 3.0]
    assert Timings().table().shape == (0, 2)

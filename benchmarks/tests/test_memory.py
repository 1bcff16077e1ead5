"""The meter sees what is held for a while, and forgets nothing."""

import time

import numpy as np

from domindex_bench.memory import MemoryMeter


def test_memory_that_was_given_back_is_part_of_the_peak():
    with MemoryMeter() as meter:
        before = meter.now_mb()
        held = np.ones(100 * 2**20 // 8)
        time.sleep(0.1)
        del held
    assert 90 < meter.peak_mb - before < 200

"""Signals that move from domain to domain."""

import numpy as np
import pytest

from domindex.errors import InputError
from domindex_bench.data.motions import make_moving_waves


def test_waves_grow_and_have_five_shapes():
    data = make_moving_waves(samples_per_domain=50, length=40)
    assert data.X.shape == (600, 40, 1)
    assert set(data.y) == set(range(5))
    heights = [np.abs(data.X[data.sample_domain == d]).max() for d in (0, 11)]
    assert heights[1] > 1.5 * heights[0]


def test_wrong_arguments_are_refused():
    with pytest.raises(InputError, match="n_sources"):
        make_moving_waves(n_domains=3, n_sources=3)

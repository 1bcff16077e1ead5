"""Every test starts from the same chance, and leaves the caller's alone."""

import math

import pytest
import torch


@pytest.fixture(autouse=True)
def _seeded():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        yield


@pytest.fixture
def assert_within():
    """Deviations lie between those of the two ends of a log variance."""

    def check(scale, log_variance):
        low, high = (math.exp(end / 2) for end in log_variance)
        assert low * (1 - 1e-5) <= scale.min()
        assert scale.max() <= high * (1 + 1e-5)

    return check

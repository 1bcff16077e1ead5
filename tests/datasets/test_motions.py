"""Pictures that move from domain to domain."""

import numpy as np
import pytest

from domindex.datasets import make_moving_digits
from domindex.datasets.digits import MOTIONS
from domindex.errors import InputError


@pytest.mark.parametrize("motion", MOTIONS)
def test_every_digit_appears_once_and_the_seed_deals_them(motion):
    data = make_moving_digits(motion, random_state=0)
    assert data.X.shape == (1797, 8, 8)
    assert len(data.domains) == 12
    assert data.source_domains == [0, 1, 2, 3]
    assert np.array_equal(data.X, make_moving_digits(motion, random_state=0).X)
    assert not np.array_equal(data.y, make_moving_digits(motion, random_state=1).y)


def middle(pictures):
    """Of the light, along either axis."""
    light = pictures.sum(axis=0)
    cells = np.arange(8)
    return np.array([light.sum(axis=1) @ cells, light.sum(axis=0) @ cells]) / light.sum()


def test_digits_go_where_they_are_said_to_go():
    shift = make_moving_digits("shift")
    first, last = (middle(shift.X[shift.sample_domain == d]) for d in (0, 11))
    assert last[1] - first[1] > 1
    bright = make_moving_digits("brightness")
    levels = [bright.X[bright.sample_domain == d].mean() for d in range(12)]
    assert np.all(np.diff(levels) > 0)


def test_wrong_arguments_are_refused():
    with pytest.raises(InputError, match="Choose one of"):
        make_moving_digits("jump")

"""None"""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from domindex.datasets import load_dataset, make_moving_digits
from domindex.datasets.digits import MOTIONS
from domindex.errors import InputError


@pytest.fixture(scope="module")
def digits():
    return load_dataset("rotating-digits")


def test_there_are_eighteen_domains_of_nearly_equal_size(digits):
    assert digits.domains == list(range(0, 180, 10))
    assert digits.source_domains == [0, 10, 20, 30, 40]
    assert set(np.unique(digits.sample_domain, return_counts=True)[1]) <= {99, 100}
    np.testing.assert_array_equal(digits.true_index[:, 0], digits.domains)


def test_images_keep_their_shape_and_range(digits):
    assert digits.X.shape == (1797, 1, 8, 8)
    assert digits.X.min() >= 0.0
    assert digits.X.max() <= 1.0


def test_every_image_is_dealt_to_one_domain(digits):
    np.testing.assert_array_equal(np.bincount(digits.y), np.bincount(load_digits().target))


def test_every_domain_holds_every_digit(digits):
    for domain in digits.domains:
        assert len(np.unique(digits.y[digits.sample_domain == domain])) == 10


def count_originals(images):
    """How many (n, 8, 8) images are, to the grey level, among scikit-learn's."""
    originals = {image.astype(int).tobytes() for image in load_digits().images}
    return sum(image.tobytes() in originals for image in np.rint(images * 16).astype(int))


def test_domain_zero_is_upright(digits):
    upright = digits.X[digits.sample_domain == 0][:, 0]
    assert count_originals(upright) == len(upright)


def test_domain_ninety_is_a_quarter_turn_anticlockwise(digits):
    turned = digits.X[digits.sample_domain == 90][:, 0]
    assert count_originals(turned) == 0
    assert count_originals(np.rot90(turned, k=-1, axes=(1, 2))) == len(turned)


def test_loading_twice_gives_the_same(digits):
    np.testing.assert_array_equal(digits.X, load_dataset("rotating-digits").X)


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

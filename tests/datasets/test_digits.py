import numpy as np
import pytest
from sklearn.datasets import load_digits

from domindex.datasets import load_dataset


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

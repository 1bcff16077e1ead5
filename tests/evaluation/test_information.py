"""Exact information of tables whose answer is known by hand."""

import numpy as np
import pytest

from domindex.errors import InputError
from domindex.evaluation import entropy, mutual_information

COPY = np.eye(4) / 4


def test_four_equal_chances_hold_the_logarithm_of_four():
    assert entropy(np.full(4, 0.25)) == pytest.approx(np.log(4))
    assert entropy([1.0, 0.0]) == 0.0


def test_a_copy_tells_everything_and_an_independent_variable_nothing():
    assert mutual_information(COPY, [0], [1]) == pytest.approx(np.log(4))
    apart = np.outer([0.3, 0.7], [0.1, 0.9])
    assert mutual_information(apart, [0], [1]) == pytest.approx(0, abs=1e-12)


def test_a_parity_bit_is_known_from_both_others_and_from_neither_alone():
    parity = np.zeros((2, 2, 2))
    for a in (0, 1):
        for b in (0, 1):
            parity[a, b, a ^ b] = 0.25
    assert mutual_information(parity, [0], [2]) == pytest.approx(0, abs=1e-12)
    assert mutual_information(parity, [0], [2], given=[1]) == pytest.approx(np.log(2))
    assert mutual_information(parity, [0, 1], [2]) == pytest.approx(np.log(2))


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (np.ones((2, 2)), "adds up to 4"),
        ([0.5, -0.5, 1.0], "negative"),
        ([np.nan, 1.0], "NaN"),
        (1.0, "single number"),
        ([[0.5], [0.25, 0.25]], "rectangular"),
    ],
)
def test_what_is_no_distribution_is_refused(table, message):
    with pytest.raises(InputError, match=message):
        entropy(table)


def test_axes_must_exist_and_stand_in_one_group_only():
    with pytest.raises(InputError, match=r"\[2\] names no axis of the table, which has 0 to 1"):
        mutual_information(COPY, [0], [2])
    with pytest.raises(InputError, match="overlap"):
        mutual_information(COPY, [0], [0, 1])
    with pytest.raises(InputError, match="at least one axis"):
        mutual_information(COPY, [0], [])

"""Values keep their types on the way through JSON."""

import json

import numpy as np
import pytest

from domindex.errors import InputError
from domindex.persistence.plain_values import from_plain, to_plain


@pytest.mark.parametrize(
    "value", [None, True, 1, 1.0, "1", (1, "a", (2.5, None)), [1, [True]], float("inf")]
)
def test_a_value_comes_back_with_its_type(value):
    revived = from_plain(json.loads(json.dumps(to_plain(value, "it"), allow_nan=False)))
    assert revived == value
    assert type(revived) is type(value)


def test_a_random_state_goes_on_where_it_was():
    state = np.random.RandomState(3)
    state.normal(size=5)
    revived = from_plain(json.loads(json.dumps(to_plain(state, "random_state"))))
    np.testing.assert_array_equal(revived.normal(size=4), state.normal(size=4))


def test_numbers_of_numpy_become_pythons():
    assert to_plain(np.float32(0.5), "it") == 0.5
    assert type(to_plain(np.int64(3), "it")) is int


def test_what_cannot_be_kept_is_named():
    with pytest.raises(InputError, match=r"classes_ is .* which a saved model cannot keep"):
        to_plain(object(), "classes_")


@pytest.mark.parametrize("plain", [{"call": []}, {"tuple": [], "list": []}, [1]])
def test_what_was_never_written_is_refused(plain):
    with pytest.raises(ValueError, match="is not a saved value"):
        from_plain(plain)

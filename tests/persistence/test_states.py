"""States as a tree and arrays: numbers stay numbers, and bytes stay bytes."""

import numpy as np
import pytest

from domindex.errors import InputError
from domindex.persistence.model_folder import load_model, save_model
from domindex.persistence.states import join_state, split_state


class Model:
    def __init__(self, state):
        self._state = state

    def state(self):
        return self._state


def test_bytes_stay_bytes_and_numbers_become_floats():
    state = {"packed": np.arange(256, dtype=np.uint8), "inner": {"numbers": np.arange(3)}}
    tree, arrays = split_state(state)
    assert arrays["packed"].dtype == np.uint8
    assert arrays["inner.numbers"].dtype == np.float64
    back = join_state(tree, arrays)
    np.testing.assert_array_equal(back["packed"], state["packed"])


def test_a_folder_keeps_bytes(tmp_path):
    state = {"packed": np.arange(256, dtype=np.uint8), "numbers": np.eye(2)}
    save_model(Model(state), tmp_path / "model")
    back = load_model(tmp_path / "model", {"Model": dict})
    assert back["packed"].tobytes() == state["packed"].tobytes()
    assert back["packed"].dtype == np.uint8
    assert back["numbers"].dtype == np.float64


@pytest.mark.parametrize("kind", ["float64", "int8", "object"])
def test_a_type_that_is_not_the_arrays_is_refused(tmp_path, kind):
    save_model(Model({"packed": np.zeros(4, dtype=np.uint8)}), tmp_path / "model")
    description = tmp_path / "model" / "model.json"
    description.write_text(description.read_text().replace('"uint8"', f'"{kind}"'))
    with pytest.raises(InputError, match="damaged"):
        load_model(tmp_path / "model", {"Model": dict})

"""A network goes through sizes and arrays and comes back; what does not fit is refused."""

import numpy as np
import pytest
import torch

from domindex.neural.layers import mlp
from domindex.neural.weights import count, counts, network_from_state, network_state

SIZES = {"n_inputs": 3, "n_outputs": 2, "width": 4}


def build(sizes):
    return mlp(**sizes, depth=1)


@pytest.fixture
def state() -> dict:
    return network_state(build(SIZES).double(), SIZES)


def test_a_state_is_plain_sizes_and_arrays(state):
    assert state["sizes"] == SIZES
    assert set(state["weights"]) == {"0.weight", "0.bias", "2.weight", "2.bias"}
    assert all(array.dtype == np.float64 for array in state["weights"].values())


def test_a_network_comes_back_bit_for_bit_and_ready_to_predict():
    network, x = build(SIZES).double(), torch.randn(5, 3).double()
    twin = network_from_state(build, network_state(network, SIZES))
    assert torch.equal(twin(x), network(x))
    assert not twin.training
    assert {p.dtype for p in twin.parameters()} == {torch.float64}


def test_what_comes_back_does_not_share_its_weights_with_the_state(state):
    twin = network_from_state(build, state)
    with torch.no_grad():
        twin[0].bias.add_(1.0)
    assert not np.array_equal(state["weights"]["0.bias"], twin[0].bias.detach())


@pytest.mark.parametrize("name", SIZES)
@pytest.mark.parametrize("size", [1, 10**9])
def test_sizes_that_do_not_fit_the_arrays_are_refused_without_taking_memory(state, name, size):
    state["sizes"][name] = size
    with pytest.raises(ValueError, match=r"the weights of [02]\.\w+ do not fit the sizes"):
        network_from_state(build, state)


def test_an_array_too_few_or_too_many_is_refused_by_name(state):
    bias = state["weights"].pop("2.bias")
    with pytest.raises(ValueError, match=r"the weights of 2\.bias do not fit the sizes"):
        network_from_state(build, state)
    state["weights"] |= {"2.bias": bias, "extra": bias}
    with pytest.raises(ValueError, match="the weights of extra do not fit the sizes"):
        network_from_state(build, state)


@pytest.mark.parametrize("kind", [np.float32, np.int64])
def test_weights_in_another_precision_are_refused(state, kind):
    state["weights"]["0.bias"] = state["weights"]["0.bias"].astype(kind)
    with pytest.raises(ValueError, match=r"the weights of 0\.bias are not in double precision"):
        network_from_state(build, state)


@pytest.mark.parametrize("value", [0, -1, 2.0, True, "3", None])
def test_a_size_is_a_whole_number_of_one_or_more(value):
    with pytest.raises(ValueError, match=f"width is {value!r}"):
        count({"width": value}, "width")
    assert count({"width": 3}, "width") == 3


def test_a_size_may_be_zero_only_where_that_is_said():
    sizes = {"width": 3, "n_coefficients": 0}
    assert counts(sizes, may_be_zero=("n_coefficients",)) == sizes
    with pytest.raises(ValueError, match="n_coefficients is 0"):
        counts(sizes)
    with pytest.raises(ValueError, match="width is 0"):
        counts({"width": 0, "n_coefficients": 0}, may_be_zero=("n_coefficients",))
    with pytest.raises(ValueError, match="n_coefficients is False"):
        counts({"n_coefficients": False}, may_be_zero=("n_coefficients",))

"""Published weights come from a file, whole or not at all, and no code with them."""

import pickle

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from domindex.errors import InputError
from domindex.neural.backbones import load_weights


@pytest.fixture
def network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))


@pytest.mark.parametrize("suffix", [".safetensors", ".pth"])
def test_weights_come_back_from_either_kind_of_file(network, tmp_path, suffix):
    other = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
    path = tmp_path / f"weights{suffix}"
    (save_file if suffix == ".safetensors" else torch.save)(other.state_dict(), path)
    load_weights(network, path, "this network")
    assert torch.equal(network[0].weight, other[0].weight)


def test_a_last_layer_that_is_left_out_here_may_be_in_the_file(network, tmp_path):
    network.left_out = ("fc.weight",)
    torch.save({**network.state_dict(), "fc.weight": torch.zeros(4, 2)}, tmp_path / "w.pth")
    load_weights(network, tmp_path / "w.pth", "this network")


def test_names_that_are_missing_or_unexpected_are_listed(network, tmp_path):
    state = network.state_dict()
    state["module.0.weight"] = state.pop("0.weight")
    torch.save(state, tmp_path / "w.pth")
    with pytest.raises(InputError, match=r"missing \('0.weight'\), 1 are unexpected \('module"):
        load_weights(network, tmp_path / "w.pth", "this network")


def test_a_shape_of_another_network_is_named(network, tmp_path):
    torch.save({**network.state_dict(), "0.weight": torch.zeros(2, 5)}, tmp_path / "w.pth")
    with pytest.raises(InputError, match=r"'0.weight' of shape \(2, 5\).*has \(2, 3\)"):
        load_weights(network, tmp_path / "w.pth", "this network")


class Trap:
    def __reduce__(self):
        return exec, ("raise SystemExit('code was run')",)


def test_a_pickle_with_code_in_it_is_not_opened(network, tmp_path):
    (tmp_path / "w.pth").write_bytes(pickle.dumps({"0.weight": Trap()}, protocol=2))
    with pytest.raises(InputError, match="cannot be read as weights"):
        load_weights(network, tmp_path / "w.pth", "this network")


@pytest.mark.parametrize(
    ("name", "held", "message"),
    [
        ("w.pth", None, "There is no file"),
        ("w.onnx", {}, "is none of"),
        ("w.pth", [1, 2], "no state_dict of tensors"),
        ("w.safetensors", "text", "cannot be read as weights"),
    ],
)
def test_what_holds_no_weights_is_refused(network, tmp_path, name, held, message):
    if isinstance(held, str):
        (tmp_path / name).write_text(held)
    elif held is not None:
        torch.save(held, tmp_path / name)
    with pytest.raises(InputError, match=message):
        load_weights(network, tmp_path / name, "this network")


def test_weights_that_are_not_numbers_are_refused(network, tmp_path):
    state = network.state_dict()
    state["0.bias"] = torch.full((2,), torch.nan)
    torch.save(state, tmp_path / "w.pth")
    with pytest.raises(InputError, match=r"NaN or infinity in '0\.bias'"):
        load_weights(network, tmp_path / "w.pth", "this network")

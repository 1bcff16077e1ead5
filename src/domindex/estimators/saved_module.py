"""A trained module as sizes and arrays, and built again from them: no code is read from a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from domindex.errors import InputError
from domindex.model.module import VDIModule
from domindex.networks.carriers import FlowCarrier, IndexedAffine, StillCarrier
from domindex.networks.decoders import ClassPredictor, ValuePredictor

Arrays = Mapping[str, NDArray]
Sizes = Mapping[str, Any]

_CARRIERS: dict[str, type[nn.Module]] = {
    "flow": FlowCarrier,
    "still": StillCarrier,
    "indexed_affine": IndexedAffine,
}
_PREDICTORS: dict[str, Callable[[int, int], nn.Module]] = {
    "classes": ClassPredictor,
    "values": ValuePredictor,
}
_CARRIER = "data_encoder.carrier."


def describe_module(module: VDIModule) -> dict[str, Any]:
    """What `build_module` needs beside the arrays."""
    carrier, predictor = module.data_encoder.carrier, module.predictor
    linear = predictor.linear
    assert isinstance(linear, nn.Linear)
    sizes = {
        "n_features": int(module.local_encoder.projection.shape[1]),
        "local_dim": int(module.local_dim),
        "index_dim": int(module.index_dim),
        "width": int(module.width),
        "carrier": _name_of(_CARRIERS, carrier),
        "latent_dim": int(linear.in_features),
        "predictor": _name_of(_PREDICTORS, predictor),
        "n_outputs": int(linear.out_features),
    }
    if isinstance(carrier, FlowCarrier):
        sizes["n_moving"] = int(carrier.n_moving)
    if isinstance(carrier, IndexedAffine):
        sizes["told_features"] = _told_features(carrier)
    return sizes


def module_arrays(module: VDIModule) -> dict[str, NDArray]:
    return {name: tensor.numpy() for name, tensor in module.state_dict().items()}


def build_module(sizes: Sizes, arrays: Arrays) -> VDIModule:
    """The module of `describe_module`, with these weights, ready to predict.

    It is laid out without memory first, so that sizes in a file cannot ask for more than the
    arrays that came with it. ValueError where the two do not agree.
    """
    with torch.device("meta"):
        carrier = _build_carrier(sizes, arrays)
        predictor = _PREDICTORS[sizes["predictor"]](
            _count(sizes, "latent_dim"), _count(sizes, "n_outputs")
        )
        module = VDIModule(
            _count(sizes, "n_features"),
            _count(sizes, "local_dim"),
            _count(sizes, "index_dim"),
            carrier,
            predictor,
            _count(sizes, "width"),
        )
    expected = {name: tuple(tensor.shape) for name, tensor in module.state_dict().items()}
    found = {name: array.shape for name, array in arrays.items()}
    if expected != found:
        names = expected.keys() | found.keys()
        odd = sorted(name for name in names if expected.get(name) != found.get(name))
        raise ValueError(f"the weights of {odd[0]} do not fit the sizes")
    wrong = [name for name, array in arrays.items() if array.dtype != np.float64]
    if wrong:
        raise ValueError(f"the weights of {wrong[0]} are not in double precision")
    state = {name: torch.tensor(array) for name, array in arrays.items()}
    module.load_state_dict(state, assign=True)
    return module.double().eval()


def _build_carrier(sizes: Sizes, arrays: Arrays) -> nn.Module:
    kind = _CARRIERS[sizes["carrier"]]
    if kind is IndexedAffine:
        told = _count(sizes, "told_features")
        return IndexedAffine(told, _count(sizes, "index_dim"), _count(sizes, "width"))
    projection = arrays[_CARRIER + "projection"]
    if kind is StillCarrier:
        return StillCarrier(projection, _count(sizes, "width"))
    return FlowCarrier(
        arrays[_CARRIER + "coefficients"],
        arrays[_CARRIER + "basis"],
        projection,
        _count(sizes, "n_moving"),
        _count(sizes, "width"),
    )


def _told_features(carrier: IndexedAffine) -> int:
    """How many features it is given: its own outputs, unless it projects them."""
    projection = carrier.projection
    return int(projection.in_features) if isinstance(projection, nn.Linear) else carrier.n_outputs


def _count(sizes: Sizes, name: str) -> int:
    value = sizes[name]
    if type(value) is not int or value < 1:
        raise ValueError(f"{name} is {value!r}")
    return value


def _name_of(registry: Mapping[str, Any], network: nn.Module) -> str:
    for name, kind in registry.items():
        if type(network) is kind:
            return name
    raise InputError(
        f"The model holds a {type(network).__name__}, which a saved model cannot keep. "
        "Use pickle, which keeps everything and runs code when opened."
    )

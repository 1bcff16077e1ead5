"""A backbone in use: rows to features, checked, in single precision, a bounded number at once."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from domindex.data.standardizing import InputScaler
from domindex.errors import InputError
from domindex.networks.backbone_settings import OWN, Backbone
from domindex.networks.backbones import SCALED, built_in
from domindex.networks.weights import Sizes, count, network_from_state, network_state

ROWS_AT_ONCE = 256
"""Rows whose features are computed at once where no gradient is needed; for memory."""

PROBED_ROWS = 2
"""Rows on which a backbone is tried before anything else is done."""


class FeatureExtractor(nn.Module):
    """Flat rows (..., n), each of `input_shape` to the network, to features (..., n_features).

    The network works in single precision whatever surrounds it: a module of the user's need not
    know any other. It is given rows of one leading axis.

    Attributes
    ----------
    network : the backbone
    name : of a built-in one, or "own"
    offset, scale : of `input_shape`; the network is given x · scale + offset
    """

    in_single_precision = True
    offset: Tensor
    scale: Tensor

    def __init__(
        self, network: nn.Module, name: str, input_shape: tuple[int, ...], n_features: int
    ) -> None:
        super().__init__()
        self.network = network
        self.name, self.input_shape, self.n_features = name, tuple(input_shape), n_features
        self.register_buffer("offset", torch.zeros(input_shape))
        self.register_buffer("scale", torch.ones(input_shape))

    @property
    def sizes(self) -> dict[str, Any]:
        """What `extractor_of_sizes` builds it from."""
        return {
            "name": self.name,
            "input_shape": list(self.input_shape),
            "n_features": self.n_features,
        }

    def forward(self, x: Tensor) -> Tensor:
        rows = x.reshape(-1, *self.input_shape).to(self.offset.dtype) * self.scale + self.offset
        if torch.is_grad_enabled() or len(rows) <= ROWS_AT_ONCE:
            features = self.features(rows)
        else:
            features = torch.cat([self.features(part) for part in rows.split(ROWS_AT_ONCE)])
        return features.reshape(*x.shape[:-1], self.n_features).to(x.dtype)

    def features(self, rows: Tensor) -> Tensor:
        """(rows, n_features) of rows (rows, *input_shape) on the network's scale."""
        return self.network(rows)

    def undoing(self, scaler: InputScaler) -> FeatureExtractor:
        """A copy for rows that `scaler` scaled: the network is given them in the user's units."""
        twin = copy.deepcopy(self)
        unit, level = (
            torch.as_tensor(part.reshape(self.input_shape)).to(self.offset)
            for part in (scaler.scale, scaler.offset)
        )
        twin.scale, twin.offset = self.scale * unit, self.scale * level + self.offset
        return twin

    def without_scale(self) -> FeatureExtractor:
        """A copy for rows of a representation, which are given to the network as they are."""
        twin = copy.deepcopy(self)
        twin.scale, twin.offset = torch.ones_like(self.scale), torch.zeros_like(self.offset)
        return twin

    def table(self, inputs: NDArray) -> NDArray[np.float64]:
        """The features of rows in the user's units as a table, (rows, n_features), all finite."""
        parts = []
        self.eval()
        with torch.inference_mode():
            for begin in range(0, len(inputs), ROWS_AT_ONCE):
                rows = torch.tensor(inputs[begin : begin + ROWS_AT_ONCE], dtype=torch.float32)
                features = self(rows.flatten(1)).numpy()
                bad = np.flatnonzero(~np.isfinite(features).all(axis=1))
                if len(bad):
                    raise InputError(
                        f"The backbone gives NaN or infinity for row {begin + bad[0]}. Look for "
                        "extreme values in X, or for a fault in the backbone."
                    )
                parts.append(features.astype(np.float64))
        return np.concatenate(parts)

    def state(self) -> dict[str, Any]:
        return network_state(self, self.sizes)

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> FeatureExtractor:
        return network_from_state(extractor_of_sizes, state).requires_grad_(False)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> FeatureExtractor:
        """Moved with what holds it, but never out of single precision."""
        super()._apply(fn, recurse)
        if self.offset.dtype != torch.float32:
            super()._apply(lambda held: held.float() if held.is_floating_point() else held)
        return self


@dataclass(frozen=True, eq=False)
class TrainedBackbone:
    """A backbone to be trained: where it starts, and its share of the learning rate."""

    extractor: FeatureExtractor
    rate: float


def prepare_extractor(backbone: Backbone, inputs: NDArray, seed: int) -> FeatureExtractor:
    """The network that the settings stand for, tried on the first rows.

    `inputs` are (rows, *input_shape) in the user's units. InputError where it does not work.
    """
    shape = inputs.shape[1:]
    network = backbone.network(shape, seed)
    n_features = _tried(network, inputs[:PROBED_ROWS], backbone.title)
    extractor = FeatureExtractor(network, backbone.name, shape, n_features)
    if backbone.name in SCALED:
        level, unit = float(inputs.mean()), float(inputs.std()) or 1.0
        extractor.scale.fill_(1.0 / unit)
        extractor.offset.fill_(-level / unit)
    if backbone.frozen:
        extractor.requires_grad_(False).eval()
    return extractor


def extractor_of_sizes(sizes: Sizes) -> FeatureExtractor:
    """An extractor to be filled with weights; ValueError where sizes are damaged.

    Of a module of the user's, "template" holds one: its code is in no file.
    """
    shape = tuple(count({"input_shape": size}, "input_shape") for size in sizes["input_shape"])
    n_features = count(sizes, "n_features")
    if sizes["name"] != OWN:
        network: nn.Module = built_in(sizes["name"], shape)
        if network.n_features != n_features:
            raise ValueError("the features do not fit the backbone")
    else:
        network = copy.deepcopy(sizes["template"])
    return FeatureExtractor(network, sizes["name"], shape, n_features)


def give_template(state: Any, backbone: Any) -> bool:
    """Put a module of the user's wherever a state needs one; whether it was needed.

    Parameters
    ----------
    state : nested dictionaries, changed in place
    backbone : the module, a callable that makes it, or a `Backbone`; None where none was given
    """
    if not isinstance(state, Mapping):
        return False
    needed = state.get("name") == OWN and "n_features" in state
    if needed:
        if backbone is None:
            raise InputError(
                "The model was saved with a backbone of your own, whose weights are here and whose "
                "code is not. Open it with domindex.load(path, backbone=MODULE), the module or the "
                "callable that it was fitted with."
            )
        settings = backbone if isinstance(backbone, Backbone) else Backbone(backbone)
        settings.check()
        assert isinstance(state, dict)
        shape = tuple(int(size) for size in state["input_shape"])
        bare = Backbone(settings.module)
        state["template"] = bare.network(shape, 0)
    return any([needed, *(give_template(part, backbone) for part in list(state.values()))])


def _tried(network: nn.Module, rows: NDArray, title: str) -> int:
    """How many features it gives; InputError where what it gives are none."""
    network.eval()
    given = tuple(rows.shape)
    for part in (rows[:1], rows):
        try:
            with torch.inference_mode():
                out = network(torch.tensor(part, dtype=torch.float32))
        except Exception as error:
            raise InputError(
                f"{title} fails on a batch of shape {tuple(part.shape)} ({type(error).__name__}: "
                f"{str(error)[:300]}). It must map (rows, {', '.join(map(str, given[1:]))}) to "
                "features (rows, p)."
            ) from error
        if not isinstance(out, Tensor) or out.ndim != 2 or len(out) != len(part):
            got = tuple(out.shape) if isinstance(out, Tensor) else f"a {type(out).__name__}"
            raise InputError(
                f"{title} maps a batch of shape {tuple(part.shape)} to {got}, and must map it to "
                f"({len(part)}, p): one row of features a row. Flatten or pool what it returns."
            )
        if not out.is_floating_point() or not out.shape[1] or not torch.isfinite(out).all():
            raise InputError(
                f"{title} maps a batch of shape {tuple(part.shape)} to {tuple(out.shape)} of type "
                f"{out.dtype} that holds NaN, infinity, or nothing. Return finite floats, and "
                "check the weights."
            )
    network.train()
    return int(out.shape[1])

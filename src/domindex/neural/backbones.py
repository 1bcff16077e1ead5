"""A backbone: what can be set about it, weights from a file, and rows to features."""

from __future__ import annotations

import copy
import inspect
import os
import pickle
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from torch import Tensor, nn

from domindex.errors import InputError
from domindex.inputs.messages import preview
from domindex.inputs.standardizing import InputScaler
from domindex.neural.builtin_backbones import BUILT_IN, SCALED, built_in
from domindex.neural.rng import seeded_torch
from domindex.neural.weights import Sizes, count, network_from_state, network_state
from domindex.persistence.paths import usable_path


def load_weights(network: nn.Module, path: str | os.PathLike[str], what: str) -> None:
    """Fill `network` from a file of tensors by name; InputError where they are not its own.

    Names in `network.left_out` are passed over. `what` names the network in messages.
    """
    found = _read(usable_path(path))
    left_out = getattr(network, "left_out", ())
    found = {name: value for name, value in found.items() if name not in left_out}
    expected = network.state_dict()
    counters = {name for name in expected if name.endswith("num_batches_tracked")}
    missing = [name for name in expected if name not in found and name not in counters]
    unexpected = [name for name in found if name not in expected]
    if missing or unexpected:
        raise InputError(
            f"{path} does not hold the weights of {what}: {len(missing)} names are missing "
            f"({preview(missing) or 'none'}), {len(unexpected)} are unexpected "
            f"({preview(unexpected) or 'none'}). Give the file of a state_dict of {what}."
        )
    odd = [name for name in found if found[name].shape != expected[name].shape]
    if odd:
        raise InputError(
            f"{path} holds {odd[0]!r} of shape {tuple(found[odd[0]].shape)}, and {what} for these "
            f"inputs has {tuple(expected[odd[0]].shape)}. Give weights for inputs of this shape."
        )
    lost = [name for name in found if not torch.isfinite(found[name]).all()]
    if lost:
        raise InputError(f"{path} holds NaN or infinity in {preview(lost, 3)}. Copy it again.")
    network.load_state_dict(found, strict=False)


def _read(path: Path) -> dict[str, Tensor]:
    if not path.is_file():
        raise InputError(
            f"There is no file {path}. domindex downloads no weights: save a state_dict there, "
            "for example with torch.save(model.state_dict(), path)."
        )
    kinds = (".safetensors", ".pth", ".pt", ".bin")
    if path.suffix not in kinds:
        raise InputError(f"{path} is none of {', '.join(kinds)}. Give a file of weights.")
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    held: Any
    damage = (pickle.UnpicklingError, SafetensorError, RuntimeError, ValueError, EOFError, OSError)
    try:
        if path.suffix == kinds[0]:
            held = load_file(path)
        else:
            held = torch.load(path, map_location="cpu", weights_only=True)
    except damage as error:
        raise InputError(
            f"{path} cannot be read as weights ({type(error).__name__}: {str(error)[:200]}). "
            "Save a plain state_dict of tensors: nothing else is opened."
        ) from error
    if not isinstance(held, Mapping) or not all(
        isinstance(name, str) and isinstance(value, Tensor) for name, value in held.items()
    ):
        raise InputError(
            f"{path} holds a {type(held).__name__} that is no state_dict of tensors by name. "
            "Save model.state_dict(), not the model or a checkpoint around it."
        )
    return dict(held)


OWN = "own"
"""What a module of the user's is called in saved models: its code is not kept."""


class Backbone(BaseEstimator):
    """A network that maps inputs (rows, *input_shape) to features (rows, p), and how it is used.

    Parameters
    ----------
    module : "conv" (pictures), "temporal" (signals) or "resnet18"; a `torch.nn.Module`; or a
        callable that returns one, given nothing or the shape of a row
    frozen : True computes features once, and all that follows works on them as on a table: map,
        flow, and every candidate. False trains the backbone with the variational network
    rate : its share of the learning rate; None is 0.3 for a built-in one that starts at random,
        else 0.1
    weights : path of published weights for it, .safetensors or .pth with a state_dict

    Examples
    --------
    >>> from domindex import Backbone, CrossDomainClassifier
    >>> backbone = Backbone("resnet18", frozen=True, weights="resnet18.pth")
    >>> model = CrossDomainClassifier(backbone=backbone)
    >>> model.get_params()["backbone__frozen"]
    True
    """

    def __init__(
        self,
        module: str | nn.Module | Callable[..., nn.Module] = "conv",
        *,
        frozen: bool = False,
        rate: float | None = None,
        weights: str | os.PathLike[str] | None = None,
    ) -> None:
        self.module = module
        self.frozen = frozen
        self.rate = rate
        self.weights = weights

    def check(self) -> None:
        """Refuse what cannot be used."""
        if self.frozen not in (True, False):
            raise InputError(f"frozen is {self.frozen!r}. Choose True or False.")
        if isinstance(self.module, str):
            if self.module not in BUILT_IN:
                built_in(self.module, ())
            if self.frozen and self.weights is None:
                raise InputError(
                    f"The backbone {self.module!r} is frozen and has no weights, so its features "
                    "would be random. Give weights=PATH, or leave it to be trained."
                )
        elif not isinstance(self.module, nn.Module) and not callable(self.module):
            raise InputError(
                f"The backbone is {self.module!r:.80}, a {type(self.module).__name__}. Pass one of "
                f"{', '.join(map(repr, BUILT_IN))}, a torch.nn.Module, or a callable that returns "
                "one."
            )
        if self.rate is not None and not 0 < self.rate < float("inf"):
            raise InputError(f"rate is {self.rate!r}. Choose a positive number.")

    @property
    def name(self) -> str:
        """Of the network: that of a built-in one, or "own"."""
        return self.module if isinstance(self.module, str) else OWN

    @property
    def title(self) -> str:
        """What messages call it."""
        if isinstance(self.module, str):
            return f"The backbone {self.module!r}"
        kind = type(self.module).__name__ if isinstance(self.module, nn.Module) else None
        return f"The backbone {kind or getattr(self.module, '__name__', 'that was given')}"

    @property
    def share(self) -> float:
        """Of the learning rate of 0.003: about 3e-4 and 1e-3, as usual for Adam. Not tuned."""
        if self.rate is not None:
            return float(self.rate)
        fresh = isinstance(self.module, str) and self.weights is None
        return 0.3 if fresh else 0.1

    def network(self, input_shape: tuple[int, ...], seed: int) -> nn.Module:
        """A copy of the module, or a new one whose random numbers are the seed's."""
        with seeded_torch(seed):
            network = self._made(input_shape)
        if self.weights is not None:
            inner = network.network if isinstance(self.module, str) else network
            assert isinstance(inner, nn.Module)
            load_weights(inner, self.weights, self.title.replace("The", "the", 1))
        return network.cpu().float()

    def _made(self, input_shape: tuple[int, ...]) -> nn.Module:
        if isinstance(self.module, str):
            return built_in(self.module, input_shape)
        if isinstance(self.module, nn.Module):
            return copy.deepcopy(self.module)
        try:
            made = self.module(*([input_shape] if _takes_shape(self.module) else []))
        except Exception as error:
            raise InputError(
                f"{self.title} could not be made for rows of shape {input_shape} "
                f"({type(error).__name__}: {error}). Pass a callable that takes nothing, or the "
                "shape of a row, and returns a torch.nn.Module."
            ) from error
        if not isinstance(made, nn.Module):
            raise InputError(
                f"{self.title} is a callable that returned a {type(made).__name__}. "
                "Return a torch.nn.Module."
            )
        return copy.deepcopy(made)


def as_backbone(given: Any) -> Backbone | None:
    """What a user may pass, as settings that were checked; None stays None."""
    if given is None:
        return None
    backbone = given if isinstance(given, Backbone) else Backbone(given)
    backbone.check()
    return backbone


def _takes_shape(factory: Callable[..., Any]) -> bool:
    """Whether a callable needs an argument."""
    try:
        parameters = inspect.signature(factory).parameters.values()
    except (TypeError, ValueError):
        return False
    return any(
        one.default is one.empty and one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)
        for one in parameters
    )


class FeatureExtractor(nn.Module):
    """Flat rows (..., n), each of `input_shape` to the network, to features (..., n_features).

    The network works in single precision whatever surrounds it: a module of the user's need not
    know any other. It is given rows of one leading axis.

    Attributes
    ----------
    network : the backbone
    name : of a built-in one, or "own"
    offset, scale : of `input_shape`; the network is given x · scale + offset
    max_rows : rows whose features are computed at once where no gradient is needed; for memory
    """

    in_single_precision = True
    max_rows = 256
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
        if torch.is_grad_enabled() or len(rows) <= self.max_rows:
            features = self.features(rows)
        else:
            features = torch.cat([self.features(part) for part in rows.split(self.max_rows)])
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
            for begin in range(0, len(inputs), self.max_rows):
                rows = torch.tensor(inputs[begin : begin + self.max_rows], dtype=torch.float32)
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
    n_features = _tried(network, inputs[:2], backbone.title)
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

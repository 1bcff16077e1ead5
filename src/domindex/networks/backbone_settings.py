"""What can be set about a backbone, and the network that it stands for."""

from __future__ import annotations

import copy
import inspect
import os
from collections.abc import Callable
from typing import Any

from sklearn.base import BaseEstimator
from torch import nn

from domindex.errors import InputError
from domindex.networks.backbones import BUILT_IN, built_in
from domindex.networks.chance import alone_with_torch
from domindex.networks.pretrained import load_weights

OWN = "own"
"""What a module of the user's is called in saved models: its code is not kept."""

TUNED_RATE = 0.1
FRESH_RATE = 0.3
"""Shares of the learning rate of 0.003 at which a backbone moves that has learned elsewhere, and
one that starts at random: about 3e-4 and 1e-3, as usual for Adam. Not tuned."""


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
    >>> from domindex import Backbone, VDIClassifier
    >>> model = VDIClassifier(backbone=Backbone("resnet18", frozen=True, weights="resnet18.pth"))
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
        """Of the learning rate."""
        if self.rate is not None:
            return float(self.rate)
        fresh = isinstance(self.module, str) and self.weights is None
        return FRESH_RATE if fresh else TUNED_RATE

    def network(self, input_shape: tuple[int, ...], seed: int) -> nn.Module:
        """A copy of the module, or a new one whose random numbers are the seed's."""
        with alone_with_torch(seed):
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

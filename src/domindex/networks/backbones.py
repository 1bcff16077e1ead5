"""The networks' door: inputs of any shape to features, as they are or through a network."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from torch import Tensor, nn

from domindex.data.messages import did_you_mean
from domindex.errors import InputError
from domindex.networks.conv import ConvolutionalFeatures
from domindex.networks.resnet import ResNet18

MOST_CHANNELS = 4
"""Entries of an axis of a picture that is taken for its channels: grey, two, colours, and depth."""


class Flatten(nn.Module):
    """Rows of any shape, (..., *input_shape), to (..., features), as they are."""

    def __init__(self, input_shape: tuple[int, ...]) -> None:
        super().__init__()
        self.input_shape = input_shape
        self.n_features = prod(input_shape)

    def forward(self, x: Tensor) -> Tensor:
        return x.flatten(start_dim=x.ndim - len(self.input_shape))


class ChannelsFirst(nn.Module):
    """Rows as users hold them to (rows, channels, *grid), and then a network of those.

    Attributes
    ----------
    network : what is given rows with their channels first; has `n_features`
    order : axes of a row in the order in which the network takes them; without channels, one more
        axis comes first
    """

    def __init__(self, network: nn.Module, order: tuple[int, ...], has_channels: bool) -> None:
        super().__init__()
        self.network = network
        self.order, self.has_channels = order, has_channels
        self.n_features = int(network.n_features)  # type: ignore[arg-type]

    def forward(self, x: Tensor) -> Tensor:
        rows = x.permute(0, *(1 + axis for axis in self.order))
        return self.network(rows if self.has_channels else rows.unsqueeze(1))


def _small_pictures(input_shape: tuple[int, ...]) -> ChannelsFirst:
    shape, order = picture_axes(input_shape)
    return ChannelsFirst(ConvolutionalFeatures(shape), order, len(input_shape) == 3)


def _signals(input_shape: tuple[int, ...]) -> ChannelsFirst:
    if len(input_shape) > 2:
        raise InputError(
            f"backbone='temporal' is for signals, (rows, time) or (rows, time, channels), but rows "
            f"have shape {input_shape}. Choose 'conv' for pictures, or bring a module of your own."
        )
    time, channels = (*input_shape, 1)[:2]
    order = (1, 0) if len(input_shape) == 2 else (0,)
    return ChannelsFirst(ConvolutionalFeatures((channels, time)), order, len(input_shape) == 2)


def _resnet(input_shape: tuple[int, ...]) -> ChannelsFirst:
    shape, order = picture_axes(input_shape)
    return ChannelsFirst(ResNet18(shape[0]), order, len(input_shape) == 3)


BUILT_IN: dict[str, Callable[[tuple[int, ...]], ChannelsFirst]] = {
    "conv": _small_pictures,
    "temporal": _signals,
    "resnet18": _resnet,
}

SCALED = ("conv", "temporal")
"""Those that start at random, on inputs of one scale: they are given rows of zero mean and unit
deviation. Others are given rows in the user's units, which weights from elsewhere expect."""


def built_in(name: str, input_shape: tuple[int, ...]) -> ChannelsFirst:
    """A network by name, for rows of this shape.

    Examples
    --------
    >>> from domindex.networks.backbones import built_in
    >>> built_in("conv", (28, 28)).n_features, built_in("temporal", (50, 3)).n_features
    (1024, 448)
    """
    if name not in BUILT_IN:
        raise InputError(
            f"There is no backbone {name!r}; there are {', '.join(BUILT_IN)}. "
            f"{did_you_mean(name, BUILT_IN) or 'Choose one, or pass a torch.nn.Module.'}"
        )
    return BUILT_IN[name](input_shape)


def picture_axes(input_shape: tuple[int, ...]) -> tuple[tuple[int, int, int], tuple[int, ...]]:
    """(channels, height, width) of pictures, and the order of axes that makes it so.

    Pictures are (height, width), (height, width, channels) or (channels, height, width): channels
    are the last axis, or else the first, if that has few entries.
    """
    if len(input_shape) == 2:
        return (1, *input_shape), (0, 1)
    if len(input_shape) == 3 and input_shape[2] <= MOST_CHANNELS:
        height, width, channels = input_shape
        return (channels, height, width), (2, 0, 1)
    if len(input_shape) == 3 and input_shape[0] <= MOST_CHANNELS:
        channels, height, width = input_shape
        return (channels, height, width), (0, 1, 2)
    raise InputError(
        f"Rows of shape {input_shape} are no pictures for this backbone: it takes (height, width), "
        f"(height, width, channels) or (channels, height, width), with {MOST_CHANNELS} channels at "
        "most. Reshape X, choose 'temporal' for signals, or pass a torch.nn.Module of your own."
    )

"""The backbones with a name: small convolutions for pictures and signals, and ResNet-18."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, prod
from typing import ClassVar

import torch
from torch import Tensor, nn

from domindex.errors import InputError
from domindex.inputs.messages import did_you_mean


class ConvolutionalFeatures(nn.Module):
    """Blocks of convolution, group normalisation and pooling, until few cells are left.

    Takes rows (..., channels, *grid), with a grid of one or two axes, and returns
    (..., n_features). It holds no statistics of what it saw: a row's features depend on the row
    alone. A small network, for time; its sizes are not tuned.

    Parameters
    ----------
    input_shape : (channels, time) or (channels, height, width)
    widths : channels after every block; further blocks keep the last
    last_side : cells a side at which halving ends, by the number of axes: what is left says where
        in the grid a feature was found

    Examples
    --------
    >>> import torch
    >>> from domindex.neural.builtin_backbones import ConvolutionalFeatures
    >>> features = ConvolutionalFeatures((1, 28, 28))
    >>> features(torch.zeros(5, 1, 28, 28)).shape, features.n_features
    (torch.Size([5, 1024]), 1024)
    """

    last_side: ClassVar[dict[int, int]] = {1: 8, 2: 4}

    def __init__(
        self, input_shape: tuple[int, ...], widths: tuple[int, ...] = (16, 32, 64)
    ) -> None:
        super().__init__()
        channels, *grid = input_shape
        if len(grid) not in self.last_side:
            raise ValueError(f"rows of shape {input_shape} are neither signals nor pictures")
        self.input_shape = tuple(input_shape)
        blocks: list[nn.Module] = []
        last_side = self.last_side[len(grid)]
        while not blocks or max(grid) > last_side:
            width = widths[min(len(blocks), len(widths) - 1)]
            window = tuple(2 if side > last_side else 1 for side in grid)
            blocks.append(_block(channels, width, window, not blocks))
            channels, grid = width, [ceil(side / step) for side, step in zip(grid, window)]
        self.blocks = nn.Sequential(*blocks)
        self.n_features = channels * prod(grid)

    def forward(self, x: Tensor) -> Tensor:
        leading = x.shape[: x.ndim - len(self.input_shape)]
        rows = x.reshape(-1, *self.input_shape)
        return self.blocks(rows).reshape(*leading, self.n_features)


def _block(channels: int, width: int, window: tuple[int, ...], is_first: bool) -> nn.Module:
    """Convolution, normalisation and a bend; the grid is halved where `window` says so.

    The first block halves it by skipping cells, which spares most of the time, the others keep the
    largest of every window.
    """
    convolution = nn.Conv1d if len(window) == 1 else nn.Conv2d
    pooling = nn.MaxPool1d if len(window) == 1 else nn.MaxPool2d
    kernel = 5 if is_first or len(window) == 1 else 3
    stride = window if is_first else 1
    layers = [
        convolution(channels, width, kernel, stride, padding=kernel // 2),  # type: ignore[arg-type]
        nn.GroupNorm(min(4, width), width),  # of the row alone, unlike batch normalisation
        nn.ReLU(),
    ]
    if not is_first:
        layers.append(pooling(window, ceil_mode=True))  # type: ignore[arg-type]
    return nn.Sequential(*layers)


class Residual(nn.Module):
    """Two convolutions beside a shortcut."""

    def __init__(self, channels: int, width: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, width, 3, stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.downsample: nn.Module | None = None
        if stride > 1 or channels != width:
            shortcut = nn.Conv2d(channels, width, 1, stride, bias=False)
            self.downsample = nn.Sequential(shortcut, nn.BatchNorm2d(width))

    def forward(self, x: Tensor) -> Tensor:
        shortcut = x if self.downsample is None else self.downsample(x)
        hidden = torch.relu(self.bn1(self.conv1(x)))
        return torch.relu(self.bn2(self.conv2(hidden)) + shortcut)


class ResNet18(nn.Module):
    """Pictures (rows, 3, height, width) to their pooled features, (rows, 512).

    Pictures of one channel are taken for grey and shown in all three. The last layer of published
    weights, `fc`, is left out: it gives the classes of ImageNet.

    Examples
    --------
    >>> import torch
    >>> from domindex.neural.builtin_backbones import ResNet18
    >>> network = ResNet18().eval()
    >>> network(torch.zeros(2, 3, 64, 64)).shape
    torch.Size([2, 512])
    """

    n_features = 512
    left_out = ("fc.weight", "fc.bias")
    """Of published weights."""

    def __init__(self, n_channels: int = 3) -> None:
        super().__init__()
        self.is_grey = n_channels == 1
        channels = 3 if self.is_grey else n_channels
        self.conv1 = nn.Conv2d(channels, 64, 7, 2, padding=3, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        self.maxpool = nn.MaxPool2d(3, 2, padding=1)
        self.layer1 = _stage(64, 64, 1)
        self.layer2 = _stage(64, 128, 2)
        self.layer3 = _stage(128, 256, 2)
        self.layer4 = _stage(256, 512, 2)
        for layer in self.modules():
            if isinstance(layer, nn.Conv2d):
                nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, x: Tensor) -> Tensor:
        if self.is_grey:
            x = x.expand(-1, 3, -1, -1)
        hidden = self.maxpool(torch.relu(self.bn1(self.conv1(x))))
        hidden = self.layer4(self.layer3(self.layer2(self.layer1(hidden))))
        return hidden.mean(dim=(2, 3))


def _stage(channels: int, width: int, stride: int) -> nn.Sequential:
    return nn.Sequential(Residual(channels, width, stride), Residual(width, width, 1))


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
    >>> from domindex.neural.builtin_backbones import built_in
    >>> built_in("conv", (28, 28)).n_features, built_in("temporal", (50, 3)).n_features
    (1024, 448)
    """
    if name not in BUILT_IN:
        raise InputError(
            f"There is no backbone {name!r}; there are {', '.join(BUILT_IN)}. "
            f"{did_you_mean(name, BUILT_IN) or 'Choose one, or pass a torch.nn.Module.'}"
        )
    return BUILT_IN[name](input_shape)


def picture_axes(
    input_shape: tuple[int, ...], max_channels: int = 4
) -> tuple[tuple[int, int, int], tuple[int, ...]]:
    """(channels, height, width) of pictures, and the order of axes that makes it so.

    Pictures are (height, width), (height, width, channels) or (channels, height, width): channels
    are the last axis, or else the first, if that has at most `max_channels` entries.
    """
    if len(input_shape) == 2:
        return (1, *input_shape), (0, 1)
    if len(input_shape) == 3 and input_shape[2] <= max_channels:
        height, width, channels = input_shape
        return (channels, height, width), (2, 0, 1)
    if len(input_shape) == 3 and input_shape[0] <= max_channels:
        channels, height, width = input_shape
        return (channels, height, width), (0, 1, 2)
    raise InputError(
        f"Rows of shape {input_shape} are no pictures for this backbone: it takes (height, width), "
        f"(height, width, channels) or (channels, height, width), with {max_channels} channels at "
        "most. Reshape X, choose 'temporal' for signals, or pass a torch.nn.Module of your own."
    )

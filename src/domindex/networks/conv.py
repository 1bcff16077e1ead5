"""Convolutions over a grid: pictures (channels, height, width) or signals (channels, time)."""

from __future__ import annotations

from math import ceil, prod

from torch import Tensor, nn

WIDTHS = (16, 32, 64)
"""Channels of one block after the other; further blocks keep the last. A small network, for time:
28 x 28 pictures cost about two million products a row. Not tuned."""

LAST_SIDE = {1: 8, 2: 4}
"""Cells a side at which halving ends, for signals and for pictures: what is left says where in the
grid a feature was found. Not tuned."""

GROUPS = 4
"""Of channels that are normalised together: unlike batch normalisation, a row's features do not
depend on its batch, nor on the domain that the batch was drawn from."""


class ConvolutionalFeatures(nn.Module):
    """Blocks of convolution, group normalisation and pooling, until few cells are left.

    Takes rows (..., channels, *grid), with a grid of one or two axes, and returns
    (..., n_features). It holds no statistics of what it saw: a row's features depend on the row.

    Parameters
    ----------
    input_shape : (channels, time) or (channels, height, width)
    widths : channels after every block

    Examples
    --------
    >>> import torch
    >>> from domindex.networks.conv import ConvolutionalFeatures
    >>> features = ConvolutionalFeatures((1, 28, 28))
    >>> features(torch.zeros(5, 1, 28, 28)).shape, features.n_features
    (torch.Size([5, 1024]), 1024)
    >>> ConvolutionalFeatures((3, 50))(torch.zeros(2, 7, 3, 50)).shape
    torch.Size([2, 7, 448])
    """

    def __init__(self, input_shape: tuple[int, ...], widths: tuple[int, ...] = WIDTHS) -> None:
        super().__init__()
        channels, *grid = input_shape
        if len(grid) not in LAST_SIDE:
            raise ValueError(f"rows of shape {input_shape} are neither signals nor pictures")
        self.input_shape = tuple(input_shape)
        blocks: list[nn.Module] = []
        while not blocks or max(grid) > LAST_SIDE[len(grid)]:
            width = widths[min(len(blocks), len(widths) - 1)]
            window = tuple(2 if side > LAST_SIDE[len(grid)] else 1 for side in grid)
            blocks.append(_block(channels, width, window))
            channels, grid = width, [ceil(side / step) for side, step in zip(grid, window)]
        self.blocks = nn.Sequential(*blocks)
        self.n_features = channels * prod(grid)

    def forward(self, x: Tensor) -> Tensor:
        leading = x.shape[: x.ndim - len(self.input_shape)]
        rows = x.reshape(-1, *self.input_shape)
        return self.blocks(rows).reshape(*leading, self.n_features)


def _block(channels: int, width: int, window: tuple[int, ...]) -> nn.Module:
    """Convolution, normalisation, a bend, and the largest of every window."""
    flat = len(window) == 1
    convolution = nn.Conv1d(channels, width, 5, padding=2) if flat else None
    pooling = nn.MaxPool1d if flat else nn.MaxPool2d
    return nn.Sequential(
        convolution or nn.Conv2d(channels, width, 3, padding=1),
        nn.GroupNorm(min(GROUPS, width), width),
        nn.ReLU(),
        pooling(window, ceil_mode=True),
    )

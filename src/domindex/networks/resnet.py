"""ResNet-18 (He et al., 2016), its parameters named as in torchvision, so that those load here."""

from __future__ import annotations

import torch
from torch import Tensor, nn

STAGES = (64, 128, 256, 512)
COLOURS = 3


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
    weights, `fc`, tells the classes of ImageNet, and is not there.

    Examples
    --------
    >>> import torch
    >>> from domindex.networks.resnet import ResNet18
    >>> network = ResNet18().eval()
    >>> network(torch.zeros(2, 3, 64, 64)).shape
    torch.Size([2, 512])
    >>> network.layer2[0].downsample[0].weight.shape
    torch.Size([128, 64, 1, 1])
    """

    n_features = STAGES[-1]
    left_out = ("fc.weight", "fc.bias")
    """Of published weights."""

    def __init__(self, n_channels: int = COLOURS) -> None:
        super().__init__()
        self.is_grey = n_channels == 1
        channels = COLOURS if self.is_grey else n_channels
        self.conv1 = nn.Conv2d(channels, STAGES[0], 7, 2, padding=3, bias=False)
        self.bn1 = nn.BatchNorm2d(STAGES[0])
        self.maxpool = nn.MaxPool2d(3, 2, padding=1)
        self.layer1 = _stage(STAGES[0], STAGES[0], 1)
        self.layer2 = _stage(STAGES[0], STAGES[1], 2)
        self.layer3 = _stage(STAGES[1], STAGES[2], 2)
        self.layer4 = _stage(STAGES[2], STAGES[3], 2)
        for layer in self.modules():
            if isinstance(layer, nn.Conv2d):
                nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, x: Tensor) -> Tensor:
        if self.is_grey:
            x = x.expand(-1, COLOURS, -1, -1)
        hidden = self.maxpool(torch.relu(self.bn1(self.conv1(x))))
        hidden = self.layer4(self.layer3(self.layer2(self.layer1(hidden))))
        return hidden.mean(dim=(2, 3))


def _stage(channels: int, width: int, stride: int) -> nn.Sequential:
    return nn.Sequential(Residual(channels, width, stride), Residual(width, width, 1))

"""What the modules of a program are made of: constants, and tables with a row a domain."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from domindex.inputs.standardizing import InputScaler


class NotExportableError(Exception):
    """A part that no program can stand for; the message says which, and why."""


def constant(array: Any) -> Tensor:
    """In double precision, as predictions are made."""
    return torch.tensor(np.asarray(array), dtype=torch.float64).contiguous()


def rows_times(rows: Tensor, matrices: Tensor) -> Tensor:
    """Every row (n, p) times a matrix of its own (n, p, q)."""
    return (rows.unsqueeze(1) @ matrices).squeeze(1)


class Scaled(nn.Module):
    """x ↦ (x − offset) / scale, by the operations of `InputScaler`."""

    offset: Tensor
    scale: Tensor

    def __init__(self, scaler: InputScaler) -> None:
        super().__init__()
        self.register_buffer("offset", constant(scaler.offset))
        self.register_buffer("scale", constant(scaler.scale))

    def forward(self, x: Tensor) -> Tensor:
        return (x - self.offset) / self.scale

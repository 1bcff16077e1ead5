"""What the shape of inputs means: a table, pictures or signals, and where their channels stand."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from domindex.errors import InputError
from domindex.persistence.saved import Saved

Kind = Literal["table", "pictures", "signals"]
KINDS = ("auto", *get_args(Kind))


@dataclass(frozen=True)
class InputLayout(Saved):
    """How rows are to be read."""

    kind: Kind = "table"
    shape: tuple[int, ...] = ()  # of a row, as the user gives it
    channel_axis: int | None = None  # of a row; None where there is one channel only

    @property
    def is_grid(self) -> bool:
        """Whether neighbouring cells are neighbours: pictures and signals."""
        return self.kind != "table"

    @property
    def grid_shape(self) -> tuple[int, ...]:
        """(channels, *sides) of a row."""
        return self.to_grid(np.empty((1, *self.shape), dtype=np.bool_)).shape[1:]

    def to_grid(self, rows: NDArray) -> NDArray:
        """Rows (n, ...), flat or not, as (n, channels, *sides)."""
        shaped = rows.reshape(len(rows), *self.shape)
        if self.channel_axis is None:
            return shaped[:, None]
        return np.moveaxis(shaped, 1 + self.channel_axis, 1)

    def from_grid(self, rows: NDArray) -> NDArray:
        """(n, channels, *sides) as a table (n, features), in the order of the user's rows."""
        if self.channel_axis is not None:
            rows = np.moveaxis(rows, 1, 1 + self.channel_axis)
        return rows.reshape(len(rows), prod(self.shape))

    def _check_state(self) -> None:
        if any(side < 1 for side in self.shape):
            raise ValueError(f"inputs of kind {self.kind!r} and shape {self.shape}")
        if self.channel_axis is not None and not 0 <= self.channel_axis < len(self.shape):
            raise ValueError(f"channels stand on axis {self.channel_axis} of {self.shape}")


TABLE = InputLayout()  # rows whose features have no order


def check_inputs_kind(kind: Any) -> None:
    """Refuse what the parameter `inputs` cannot be."""
    if kind not in KINDS:
        raise InputError(f"inputs is {kind!r}. Choose one of {KINDS}.")


def read_layout(shape: tuple[int, ...], kind: str = "auto") -> InputLayout:
    """What rows of this shape are, the number of rows first.

    By themselves (rows, features) are a table; four axes are pictures, with channels last if there
    are at most 4, else first; (rows, a, b) are pictures where a and b are 8 or more, else signals
    of b channels; more axes are read as a table. `kind` says otherwise.
    """
    check_inputs_kind(kind)
    row = tuple(int(side) for side in shape[1:])
    if kind == "auto":
        kind = "pictures" if len(row) == 3 else "table"
        if len(row) == 2:
            kind = "pictures" if min(row) >= 8 else "signals"
    if kind == "table":
        return InputLayout("table", row)
    if kind == "signals" and len(row) in (1, 2):
        return InputLayout("signals", row, 1 if len(row) == 2 else None)
    if kind == "pictures" and len(row) in (2, 3):
        return InputLayout("pictures", row, _channel_axis(shape) if len(row) == 3 else None)
    allowed = "(rows, time) or (rows, time, channels)"
    if kind == "pictures":
        allowed = "(rows, height, width), with channels before or after"
    raise InputError(f"inputs is {kind!r}, but X has shape {shape}. Pass {allowed}.")


def _channel_axis(shape: tuple[int, ...], max_channels: int = 4) -> int:
    if shape[-1] <= max_channels:
        return 2
    if shape[1] <= max_channels:
        return 0
    raise InputError(
        f"X has shape {shape}, and neither its second nor its last axis can be the channels of "
        f"pictures: these are at most {max_channels}. Pass (rows, height, width, channels) or "
        "(rows, channels, height, width), or inputs='table' for rows that are no pictures."
    )

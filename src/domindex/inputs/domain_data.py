"""The value that everything behind the gate works on, the layout of its rows, and batches."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, fields, replace
from math import prod
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from domindex.arrays import Floats, Ints
from domindex.errors import InputError
from domindex.inputs.canonical import canonical_order
from domindex.persistence.saved import Saved

Task = Literal["classification", "regression"]

HIDDEN_CLASS = -1
"""What stands in `DomainData.labels` where a class is not known to training."""

Kind = Literal["table", "pictures", "signals"]
KINDS = ("auto", *get_args(Kind))


@dataclass(frozen=True)
class InputLayout(Saved):
    """What rows are: a table, pictures or signals, and where their channels stand."""

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
    """What rows of this shape are, the number of rows first; `kind` has the first word.

    (rows, a, b) are pictures where a and b are 8 or more, else signals of b channels; four axes
    are pictures; fewer or more are a table.
    """
    check_inputs_kind(kind)
    row, max_channels = tuple(int(side) for side in shape[1:]), 4
    if kind == "auto":
        kind = "pictures" if len(row) == 3 else "table"
        if len(row) == 2:
            kind = "pictures" if min(row) >= 8 else "signals"
    if kind == "table":
        return InputLayout("table", row)
    if kind == "signals" and len(row) in (1, 2):
        return InputLayout("signals", row, 1 if len(row) == 2 else None)
    if kind == "pictures" and len(row) == 2:
        return InputLayout("pictures", row)
    if kind == "pictures" and len(row) == 3:
        for axis in (2, 0):
            if row[axis] <= max_channels:
                return InputLayout("pictures", row, axis)
        raise InputError(
            f"X has shape {shape}, and neither its second nor its last axis can be the channels of "
            f"pictures: these are at most {max_channels}. Pass (rows, height, width, channels) or "
            "(rows, channels, height, width), or inputs='table' for rows that are no pictures."
        )
    allowed = "(rows, time) or (rows, time, channels)"
    if kind == "pictures":
        allowed = "(rows, height, width), with channels before or after"
    raise InputError(f"inputs is {kind!r}, but X has shape {shape}. Pass {allowed}.")


@dataclass(frozen=True, eq=False)
class DomainData:
    """Rows of many domains, with labels in the source domains only.

    In `labels` those of targets do not exist: the gate replaces them by `HIDDEN_CLASS` or NaN, so
    nothing can train on them by mistake. The few that a user gave stand apart.

    Attributes
    ----------
    inputs : (rows, ...) float array
    labels : (rows,) class numbers into `classes`, or (rows, outputs) float values
    row_domains : (rows,) numbers into `domains`
    domains : the names, in order
    is_source : (domains,) bool
    task : "classification" or "regression"
    classes : the class labels as the user spells them, in order; None for regression
    single_output : whether the user gave regression values as a 1-D array
    weights : (rows,) how much rows count in learning, of mean 1 over sources; None for all alike
    layout : whether rows are a table, pictures or signals
    target_labels : as `labels`, of the targets' rows that have one; None where none has
    columns : (features,) which of the user's columns each is; None: they stand as they came

    Examples
    --------
    >>> from domindex.inputs import check_domain_data
    >>> X, y, hospitals = [[0.0], [1.0], [5.0]], ["no", "yes", None], ["north", "north", "south"]
    >>> data = check_domain_data(X, y, hospitals, source_domains=["north"])
    >>> data.target_domains, data.domain_sizes.tolist()
    (('south',), [2, 1])
    """

    inputs: NDArray
    labels: NDArray
    row_domains: Ints
    domains: tuple[Hashable, ...]
    is_source: NDArray[np.bool_]
    task: Task
    classes: NDArray | None = None
    single_output: bool = True
    weights: Floats | None = None
    layout: InputLayout = TABLE
    target_labels: NDArray | None = None
    columns: Ints | None = None

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, np.ndarray):
                value.setflags(write=False)

    @property
    def n_rows(self) -> int:
        return len(self.inputs)

    @property
    def n_domains(self) -> int:
        return len(self.domains)

    @property
    def row_is_source(self) -> NDArray[np.bool_]:
        return self.is_source[self.row_domains]

    @property
    def row_counts(self) -> NDArray[np.bool_]:
        """Whether each row is a source's and counts for something in learning."""
        if self.weights is None:
            return self.row_is_source
        return self.row_is_source & (self.weights > 0)

    @property
    def row_names(self) -> list[Hashable]:
        """The name of every row's domain."""
        return [self.domains[number] for number in self.row_domains]

    @property
    def source_domains(self) -> tuple[Hashable, ...]:
        return tuple(name for name, source in zip(self.domains, self.is_source) if source)

    @property
    def target_domains(self) -> tuple[Hashable, ...]:
        return tuple(name for name, source in zip(self.domains, self.is_source) if not source)

    @property
    def domain_sizes(self) -> Ints:
        return np.bincount(self.row_domains, minlength=self.n_domains)

    def select(self, rows: Ints, is_source: NDArray[np.bool_]) -> DomainData:
        """Some of the rows, with other roles (domains,); labels of what is no source are hidden."""
        present = np.unique(self.row_domains[rows])
        labels = np.array(self.labels[rows])
        hidden = ~is_source[self.row_domains[rows]]
        labels[hidden] = HIDDEN_CLASS if self.task == "classification" else np.nan
        return replace(
            self,
            inputs=self.inputs[rows],
            labels=labels,
            row_domains=np.searchsorted(present, self.row_domains[rows]),
            domains=tuple(self.domains[number] for number in present),
            is_source=is_source[present],
            weights=None if self.weights is None else self.weights[rows],
            target_labels=None if self.target_labels is None else self.target_labels[rows],
        )

    def in_canonical_order(self, *, may_move_columns: bool = False) -> DomainData:
        """The same rows, domain by domain, with rows, domains and columns in the order of
        `canonical_order`. Columns stay where their order may mean something."""
        is_table = self.inputs.ndim == 2 and not self.layout.is_grid
        moves = is_table and may_move_columns
        beside = [self.labels, self.weights, self.target_labels, self.row_is_source]
        rows, domains, columns = canonical_order(
            self.inputs,
            self.row_domains,
            self.n_domains,
            np.column_stack([one for one in beside if one is not None]),
            may_move_columns=moves,
            is_table=is_table,
        )
        return replace(
            self,
            inputs=self.inputs[np.ix_(rows, columns)] if moves else self.inputs[rows],
            labels=self.labels[rows],
            row_domains=np.argsort(domains)[self.row_domains[rows]],
            domains=tuple(self.domains[number] for number in domains),
            is_source=self.is_source[domains],
            weights=None if self.weights is None else self.weights[rows],
            target_labels=None if self.target_labels is None else self.target_labels[rows],
            columns=columns if moves else None,
        )

    @property
    def column_places(self) -> Ints:
        """Where each of the user's columns stands in `inputs`, (features,)."""
        return np.arange(self.inputs.shape[1]) if self.columns is None else np.argsort(self.columns)

    def rows_by_domain(self) -> list[Ints]:
        """Row numbers of each domain, in the order of `domains`."""
        order = np.argsort(self.row_domains, kind="stable")
        return np.split(order, np.cumsum(self.domain_sizes)[:-1])

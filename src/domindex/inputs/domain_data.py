"""The value that everything behind the gate works on, and balanced batches of its rows."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, fields, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from domindex.inputs.layout import TABLE, InputLayout

Task = Literal["classification", "regression"]

HIDDEN_CLASS = -1
"""What stands in `DomainData.labels` where a class is not known to training."""


@dataclass(frozen=True, eq=False)
class DomainData:
    """Rows of many domains, with labels in the source domains only.

    Target labels do not exist here: the gate replaces them by `HIDDEN_CLASS` (classification) or
    NaN (regression), so nothing downstream can train on them by mistake.

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
    weights : (rows,) how much each row counts in learning, with mean 1 over source rows; None
        where all count alike
    layout : whether rows are a table, pictures or signals

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
    row_domains: NDArray[np.int64]
    domains: tuple[Hashable, ...]
    is_source: NDArray[np.bool_]
    task: Task
    classes: NDArray | None = None
    single_output: bool = True
    weights: NDArray[np.float64] | None = None
    layout: InputLayout = TABLE

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
    def domain_sizes(self) -> NDArray[np.int64]:
        return np.bincount(self.row_domains, minlength=self.n_domains)

    def select(self, rows: NDArray[np.int64], is_source: NDArray[np.bool_]) -> DomainData:
        """Some of the rows, with other roles: `is_source` (domains,) of all domains.

        Labels of rows that are no source's now are hidden; domains without rows are left out.
        """
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
        )

    def rows_by_domain(self) -> list[NDArray[np.int64]]:
        """Row numbers of each domain, in the order of `domains`."""
        order = np.argsort(self.row_domains, kind="stable")
        return np.split(order, np.cumsum(self.domain_sizes)[:-1])

    def inputs_by_domain(self) -> list[NDArray]:
        """The inputs of each domain flattened to (rows, features), in the order of `domains`."""
        flat = self.inputs.reshape(self.n_rows, -1)
        return [flat[rows] for rows in self.rows_by_domain()]


class DomainBatches:
    """Draws row numbers of shape (domains, batch_size).

    A domain with fewer rows than a batch needs repeats them as evenly as possible; a larger one is
    gone through in a fresh random order before any of its rows comes again. With `weights` (rows,)
    every row of a domain is drawn as often as its weight says instead.

    `queues` holds, for each domain, the rows that are to come before any comes again.
    """

    def __init__(
        self,
        data: DomainData,
        batch_size: int,
        rng: np.random.Generator,
        weights: NDArray[np.float64] | None = None,
    ) -> None:
        self._rows = data.rows_by_domain()
        self._weights = weights
        self._batch_size = batch_size
        self._rng = rng
        self.queues = [np.empty(0, dtype=np.int64) for _ in self._rows]

    def draw(self, domains: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
        """Row numbers (domains, batch_size), of all domains or of those given."""
        chosen = range(len(self._rows)) if domains is None else domains
        return np.stack([self._draw_domain(int(domain)) for domain in chosen])

    def _draw_domain(self, domain: int) -> NDArray[np.int64]:
        rows = self._rows[domain]
        if self._weights is not None:
            chances = self._weights[rows]
            if not chances.sum() > 0:  # all count alike
                chances = np.ones(len(rows))
            return self._rng.choice(rows, self._batch_size, p=chances / chances.sum())
        queue = self.queues[domain]
        while len(queue) < self._batch_size:
            queue = np.concatenate([queue, self._rng.permutation(rows)])
        self.queues[domain] = queue[self._batch_size :]
        return queue[: self._batch_size]

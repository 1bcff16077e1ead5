"""One cell of the benchmark, and what became of it, as values that travel as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, get_args

from domindex.versions import versions

Status = Literal["done", "failed", "not applicable"]
Figures = Mapping[str, float | str]
Key = tuple[str, str, int]

MORE_IS_NOT_NEEDED: tuple[Status, ...] = ("done", "not applicable")
"""A cell that ended like this is not run again."""


@dataclass(frozen=True)
class Cell:
    """One method on one dataset with one seed."""

    dataset: str
    method: str
    seed: int

    @property
    def key(self) -> Key:
        return self.dataset, self.method, self.seed

    def failed(self, note: str) -> CellResult:
        return CellResult(*self.key, "failed", note=note, versions=versions())

    def not_applicable(self, reason: str) -> CellResult:
        return CellResult(*self.key, "not applicable", note=reason, versions=versions())

    def __str__(self) -> str:
        return f"{self.dataset} {self.method} seed {self.seed}"


@dataclass(frozen=True)
class CellResult:
    """What one cell measured, or why it did not.

    Attributes
    ----------
    figures : what `score` found, by name
    fit_seconds, predict_seconds : wall-clock time; predictions of all target rows together
    peak_mb : the most memory that the process of this cell ever held, imports and data included
    fit_mb : the part of it above what the process held just before the fit
    note : the error of a failed cell, the reason of one that is not applicable
    versions : of Python and the libraries that can change a figure
    """

    dataset: str
    method: str
    seed: int
    status: Status
    figures: Figures = field(default_factory=dict)
    fit_seconds: float | None = None
    predict_seconds: float | None = None
    peak_mb: float | None = None
    fit_mb: float | None = None
    note: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)

    @property
    def cell(self) -> Cell:
        return Cell(self.dataset, self.method, self.seed)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, record: Any) -> CellResult:
        """The result in a decoded line; ValueError where it is something else."""
        try:
            result = cls(**record)
        except TypeError as error:
            raise ValueError(str(error)) from None
        if result.status not in get_args(Status):
            raise ValueError(f"status is {result.status!r}")
        return result

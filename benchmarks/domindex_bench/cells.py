"""One cell of the benchmark, and what became of it, as values that travel as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, get_args

from domindex_bench.provenance import Provenance

Status = Literal["done", "failed", "not applicable"]
Figures = Mapping[str, float | str]
Key = tuple[str, str, str, int]

MORE_IS_NOT_NEEDED: tuple[Status, ...] = ("done", "not applicable")
"""A cell that ended like this, with the settings of today, is not run again."""


@dataclass(frozen=True)
class Cell:
    """One method on one dataset of a suite, with one seed."""

    suite: str
    dataset: str
    method: str
    seed: int

    @property
    def key(self) -> Key:
        return self.suite, self.dataset, self.method, self.seed

    def ended(self, status: Status, settings: str, **measured: Any) -> CellResult:
        """The row of this cell, which ended here and now."""
        origin = asdict(Provenance.here_and_now())
        known = {**asdict(self), "status": status, "settings": settings, **measured, **origin}
        return CellResult(**known)

    def __str__(self) -> str:
        return f"{self.suite}: {self.dataset} {self.method} seed {self.seed}"


@dataclass(frozen=True)
class CellResult:
    """What one cell measured, or why it did not: a row of the record.

    Attributes
    ----------
    suite : name of the suite
    dataset : name of the dataset
    method : name of the method
    seed : of data and method
    status : "done", "failed" or "not applicable"
    figures : what the suite's figures found, by name
    fit_seconds : wall-clock time
    predict_seconds : wall-clock time, of all scored rows together
    peak_mb : the most memory that the process of this cell held, imports and data included
    fit_mb : the part of it above what the process held just before the fit
    note : the error of a failed cell, the reason of one that is not applicable
    settings : hash of the settings that the method was built with
    commit : of the code; see `Provenance`
    versions : of the libraries that can change a figure
    cores : of the machine
    date : of the measurement
    """

    suite: str
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
    commit: str = ""
    settings: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    cores: int | None = None
    date: str = ""

    @property
    def cell(self) -> Cell:
        return Cell(self.suite, self.dataset, self.method, self.seed)

    def __str__(self) -> str:
        """A finished cell on one line."""
        if self.status != "done":
            return f"{self.cell}: {self.status}: {self.note}"
        figures = ", ".join(
            f"{name.replace('_', ' ')} {value:.4g}"
            for name, value in self.figures.items()
            if isinstance(value, float) and "level" not in name
        )
        memory = "" if self.peak_mb is None else f", {self.peak_mb:.0f} MB"
        return f"{self.cell}: {figures}; fit {self.fit_seconds:.1f} s{memory}"

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, row: Any) -> CellResult:
        """The result in a decoded line; ValueError where it is something else."""
        try:
            result = cls(**row)
        except TypeError as error:
            raise ValueError(str(error)) from None
        if result.status not in get_args(Status):
            raise ValueError(f"status is {result.status!r}")
        return result

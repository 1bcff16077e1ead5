"""The folder of a run as a value."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from domindex.data.json_files import read_json
from domindex.data.preparation import TablePreparation
from domindex.errors import InputError
from domindex.estimators.saving import load

FORMAT_VERSION = 1
RUN, PREPARATION, SUMMARY, TRAINING, MODEL = (
    "run.json",
    "preparation.json",
    "domain_summary.json",
    "training.json",
    "model",
)
FORMS = {
    RUN: "a domindex run",
    PREPARATION: "a domindex preparation",
    SUMMARY: "a domindex domain summary",
    TRAINING: "a domindex training record",
}
"""What each file of a run says it is."""

Value = TypeVar("Value")


@dataclass(frozen=True)
class Run:
    """A fitted table on disk.

    Attributes
    ----------
    folder : model/, run.json, preparation.json, domain_summary.json, training.json
    about : run.json: what was fitted, with which settings, versions and seed, and the notes
    """

    folder: Path
    about: dict[str, Any]

    @classmethod
    def open(cls, folder: str | os.PathLike[str]) -> Run:
        path = Path(folder).expanduser()
        if not path.is_dir():
            raise InputError(f"There is no folder {path}. Name one that `domindex fit` wrote.")
        return cls(path, read_part(path, RUN))

    @property
    def domain(self) -> str:
        """The column that names the domain."""
        return self.about["domain"]

    @property
    def notes(self) -> list[str]:
        return list(self.about["notes"])

    def model(self) -> Any:
        """The fitted estimator."""
        return load(self.folder / MODEL)

    def preparation(self) -> TablePreparation:
        """How its inputs are made of a table."""
        return self._checked(PREPARATION, TablePreparation.from_dict)

    def domain_summary(self) -> dict[str, Any]:
        """For every domain its rows, its role and the mean of every column of numbers."""
        return read_part(self.folder, SUMMARY)

    def training(self) -> dict[str, Any]:
        """The record of the training, by columns."""
        return read_part(self.folder, TRAINING)

    def _checked(self, name: str, revive: Callable[[dict[str, Any]], Value]) -> Value:
        try:
            return revive(read_part(self.folder, name))
        except (KeyError, TypeError, AttributeError) as error:
            raise _damaged(self.folder / name, error) from error
        except ValueError as error:
            if isinstance(error, InputError):
                raise
            raise _damaged(self.folder / name, error) from error


def read_part(folder: Path, name: str) -> dict[str, Any]:
    """One of the JSON files of a run."""
    return read_json(folder / name, form=FORMS[name], newest=FORMAT_VERSION)


def stamped(name: str, content: dict[str, Any]) -> dict[str, Any]:
    """The content of a file of a run, with what it is and its version."""
    return {"format": FORMS[name], "format_version": FORMAT_VERSION, **content}


def _damaged(path: Path, error: Exception) -> InputError:
    return InputError(
        f"{path} is damaged ({type(error).__name__}: {error}). Copy the run again, or fit it anew."
    )

"""The folder of a run, and the checkpoint beside it while a fit is under way."""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import NoneType
from typing import Any, get_args

import numpy as np

from domindex.errors import InputError, PredictorError, TrainingDiverged
from domindex.estimators import load
from domindex.estimators.fitted import MappedEstimator
from domindex.estimators.indexer import DomainIndexer
from domindex.inputs.domain_data import Task
from domindex.inputs.preparation import TablePreparation
from domindex.persistence.atomic import new_folder
from domindex.persistence.codec import read_json, write_json
from domindex.persistence.paths import usable_path
from domindex.reporting.report import REPORT_FILE
from domindex.tables.labels import DomainRule
from domindex.tables.reading import AnyPath, TextFormat

FORMAT_VERSION = 2
"""In format 1 the preparation of the table was a file of its own, and no part of the model."""

RUN, MODEL, PREPARATION = "run.json", "model", "preparation.json"
FORM, PREPARATION_FORM = "a domindex run", "a domindex preparation"

KINDS: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("domain", "task"), (str,)),
    **dict.fromkeys(("targets", "notes"), (list,)),
    "rule": (dict,),
    "key": (str, NoneType),
    "form": (dict, NoneType),
    "added": (list, NoneType),
}
"""What is asked of run.json after the fit, and which type each has."""


@dataclass(frozen=True)
class Run:
    """A fitted table on disk.

    Attributes
    ----------
    folder : run.json, model/, and report.json and report.html where asked for
    about : run.json: what was fitted, with which settings, versions and seed, and the notes

    Examples
    --------
    >>> Run.open("run").domain
    'hospital'
    >>> Run.open("run").model().domains_
    ['Ahlen', 'Bruck', 'Celle', 'Dornach', 'Étienne']
    """

    folder: Path
    about: dict[str, Any]

    @classmethod
    def open(cls, folder: Run | AnyPath) -> Run:
        """The run in a folder; a run is returned as it is."""
        if isinstance(folder, Run):
            return folder
        path = usable_path(folder)
        if not path.is_dir():
            raise InputError(f"There is no folder {path}. Name one that `domindex fit` wrote.")
        about = read_json(path / RUN, form=FORM, newest=FORMAT_VERSION)
        if about["format_version"] == 1:
            prepared = read_json(path / PREPARATION, form=PREPARATION_FORM, newest=1)
            about["rule"] = prepared.get("rule", {})
        wrong = [name for name, kinds in KINDS.items() if not isinstance(about.get(name), kinds)]
        texts = [] if wrong else [*about["targets"], *about["notes"]]
        is_map = about.get("estimator") == DomainIndexer.__name__
        if not all(isinstance(one, str) for one in texts) or is_map == bool(about.get("targets")):
            wrong = ["targets or notes"]
        if wrong:
            raise _damaged(path / RUN, f"{', '.join(wrong)}: not as domindex writes it")
        run = cls(path, about)
        try:
            if about["task"] not in get_args(Task):
                raise ValueError(f"the task is {about['task']!r}")
            run.form, run.rule  # noqa: B018 - refused here, and not where a table is read
        except (InputError, TypeError, ValueError) as error:
            raise _damaged(path / RUN, error) from error
        return run

    @classmethod
    def write(
        cls, folder: AnyPath, model: MappedEstimator, about: dict[str, Any], *, overwrite: bool
    ) -> Run:
        """Write a run, complete or not at all; only another run is ever replaced.

        Where the disk is full, the model goes to the system's folder for temporary files.
        """
        stamp = {"format": FORM, "format_version": FORMAT_VERSION}
        try:
            with new_folder(folder, marker=RUN, overwrite=overwrite) as draft:
                model.save(draft / MODEL)
                write_json(draft / RUN, about | stamp)
        except InputError as error:
            if not isinstance(error.__cause__, OSError):
                raise
            place = Path(tempfile.gettempdir()) / f"domindex-rescued-{os.getpid()}-{time.time_ns()}"
            try:
                model.save(place)
            except InputError:
                raise NotWrittenError(str(error)) from error
            raise NotWrittenError(
                f"{error} The fitted model was kept in {place}: open it with domindex.load, or "
                "move it to a disk with room."
            ) from error
        return cls.open(folder)

    @property
    def domain(self) -> str:
        """The column that names the domain."""
        return self.about["domain"]

    @property
    def targets(self) -> tuple[str, ...]:
        """The columns that are predicted; none of a map alone."""
        return tuple(self.about["targets"])

    @property
    def rule(self) -> DomainRule:
        """How the domain column names domains."""
        return DomainRule.from_dict(self.about["rule"])

    @property
    def form(self) -> TextFormat:
        """What was said of the text file that was fitted."""
        return TextFormat.from_dict(self.about.get("form") or {})

    @property
    def notes(self) -> list[str]:
        """What was done to the table that a user should know."""
        return list(self.about["notes"])

    @property
    def is_shared(self) -> bool:
        """Whether it was fitted to be shown to others, so that small counts are hidden."""
        return bool(self.about.get("share", False))

    @property
    def report(self) -> Path | None:
        """The report as one HTML file, where it was drawn."""
        path = self.folder / REPORT_FILE
        return path if path.is_file() and not path.is_symlink() else None

    def model(self) -> Any:
        """The fitted estimator, which takes the inputs as the table has them."""
        model = load(self.folder / MODEL)
        if self.about["format_version"] == 1:  # it was given prepared inputs
            found = self._first_preparation(model.n_features_in_)
            model._preparation, model.n_features_in_ = found, len(found.names)
            model.feature_names_in_ = np.array(found.names, dtype=object)
        if model._preparation is None:
            raise _damaged(self.folder / MODEL, "it does not know how to prepare a table")
        return model

    def predictor(self) -> Any:
        """The fitted estimator, which predicts; a map alone is refused."""
        if not self.targets:
            raise InputError(
                f"{self.folder} is a map alone, and predicts nothing. `domindex index` writes the "
                "map; fit a table with labels (domindex fit --target) to predict."
            )
        return self.model()

    def _first_preparation(self, n_features: int) -> TablePreparation:
        """Of a run of format 1, from a file of its own."""
        path = self.folder / PREPARATION
        content = read_json(path, form=PREPARATION_FORM, newest=1)
        try:
            found = TablePreparation.from_dict(content)
            if (content["domain"], content["targets"]) != (self.domain, list(self.targets)):
                raise ValueError(f"it names other columns than {RUN}")
            if len(found.features) != n_features:
                raise ValueError("it does not fit the model")
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise _damaged(path, f"{type(error).__name__}: {error}") from error
        return found


class NotWrittenError(InputError):
    """A fit that succeeded, and could not be written where it was to go."""


def _damaged(path: Path, why: object) -> InputError:
    return InputError(f"{path} is damaged ({why}). Copy the run again, or fit it anew.")


REQUEST, CHECKPOINT_FORM = "request.json", "a fit of domindex that is under way"


def checkpoint_of(out: AnyPath) -> Path:
    """The folder of a run's checkpoint: beside it, on the same disk."""
    path = usable_path(out)
    path = path if path.name else path.resolve()
    if not path.name:
        raise InputError(f"{path} cannot be the folder of a run. Name a folder in it.")
    return path.with_name(f"{path.name}.checkpoint")


@dataclass(frozen=True)
class RunCheckpoint:
    """A fit under way: what was asked for, and the finished stages of it, in a folder."""

    folder: Path
    request: dict[str, Any]
    token: str  # by which a run is known to have come of it
    is_new: bool = False  # whether nothing was finished before

    @classmethod
    def begin(cls, out: AnyPath, request: Mapping[str, Any]) -> RunCheckpoint:
        """That of the same request, if one was cut off, or a new one; others are left alone."""
        folder = checkpoint_of(out)
        if folder.exists():
            found = cls.open(out)
            changed = [name for name in request if request[name] != found.request.get(name)]
            if changed:
                raise InputError(
                    f"{folder} holds a fit that was cut off, of another request ("
                    f"{', '.join(changed)}). Go on with it: domindex fit --resume {out}; or remove "
                    "it; or name another folder for this run."
                )
            return found
        token = secrets.token_hex(8)
        stamped = {"format": CHECKPOINT_FORM, "format_version": 1, "token": token}
        with new_folder(folder, marker=REQUEST, overwrite=False) as draft:
            write_json(draft / REQUEST, {**stamped, "request": dict(request)})
        return cls(folder, dict(request), token, is_new=True)

    @classmethod
    def open(cls, out: AnyPath) -> RunCheckpoint:
        """That of a run that was cut off; refused where there is none."""
        folder = checkpoint_of(out)
        if not folder.is_dir():
            is_complete = (usable_path(out) / RUN).is_file()
            what = "it is complete" if is_complete else f"there is no {folder}"
            raise InputError(f"There is nothing to resume of {out}: {what}. Fit it with DATA.")
        content = read_json(folder / REQUEST, form=CHECKPOINT_FORM, newest=1)
        request, token = content.get("request"), content.get("token")
        if not isinstance(request, dict) or not isinstance(token, str):
            raise InputError(f"{folder / REQUEST} is damaged. Remove the folder and fit anew.")
        return cls(folder, request, token)

    def written_run(self, out: AnyPath) -> Run | None:
        """The run that came of it, where only the report was left to do."""
        with suppress(InputError):
            run = Run.open(out)
            return run if run.about.get("checkpoint") == self.token else None
        return None


@contextmanager
def run_checkpoint(
    out: AnyPath, request: Mapping[str, Any], wanted: bool
) -> Iterator[RunCheckpoint | None]:
    """A checkpoint that stays where the block was cut off, and goes where it ended or failed."""
    if not wanted:
        yield None
        return
    checkpoint = RunCheckpoint.begin(out, request)
    try:
        yield checkpoint
    except NotWrittenError as error:
        raise NotWrittenError(
            f"{error} Once there is room, write the run with: domindex fit --resume {out}"
        ) from error
    except (InputError, TrainingDiverged, PredictorError):
        if checkpoint.is_new:  # it would fail again
            shutil.rmtree(checkpoint.folder, ignore_errors=True)
        raise
    shutil.rmtree(checkpoint.folder, ignore_errors=True)

"""What a fit of a table leaves beside its run until that is complete, and how to go on from it."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from domindex.errors import InputError, PredictorError, TrainingDiverged
from domindex.persistence.atomic import new_folder
from domindex.persistence.json_files import read_json, write_json
from domindex.persistence.paths import usable_path
from domindex.tables.run import RUN, NotWrittenError, Run

SUFFIX = ".checkpoint"
REQUEST, PIECES = "request.json", "fit"
FORM = "a fit of domindex that is under way"
FORMAT_VERSION = 1

HOPELESS = (InputError, TrainingDiverged, PredictorError)
"""Errors that the same fit would end in again."""


def checkpoint_of(out: str | os.PathLike[str]) -> Path:
    """The folder of a run's checkpoint: beside it, on the same disk."""
    path = usable_path(out)
    path = path if path.name else path.resolve()
    if not path.name:
        raise InputError(f"{path} cannot be the folder of a run. Name a folder in it.")
    return path.with_name(path.name + SUFFIX)


@dataclass(frozen=True)
class RunCheckpoint:
    """A fit under way.

    Attributes
    ----------
    folder : what was asked for, and the finished pieces of the fit
    request : what was asked for, in plain values
    token : by which a run is known to have come of it
    is_new : whether nothing was finished before
    """

    folder: Path
    request: dict[str, Any]
    token: str
    is_new: bool = False

    @classmethod
    def begin(cls, out: str | os.PathLike[str], request: Mapping[str, Any]) -> RunCheckpoint:
        """That of the same request, if one was cut off, or a new one.

        A run that is under way with another request is left alone.
        """
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
        stamped = {"format": FORM, "format_version": FORMAT_VERSION, "token": token}
        with new_folder(folder, marker=REQUEST, overwrite=False) as draft:
            write_json(draft / REQUEST, {**stamped, "request": dict(request)})
        return cls(folder, dict(request), token, is_new=True)

    @classmethod
    def open(cls, out: str | os.PathLike[str]) -> RunCheckpoint:
        """That of a run that was cut off; refused where there is none."""
        folder = checkpoint_of(out)
        if not folder.is_dir():
            is_complete = (usable_path(out) / RUN).is_file()
            what = "it is complete" if is_complete else f"there is no {folder}"
            raise InputError(f"There is nothing to resume of {out}: {what}. Fit it with DATA.")
        content = read_json(folder / REQUEST, form=FORM, newest=FORMAT_VERSION)
        request, token = content.get("request"), content.get("token")
        if not isinstance(request, dict) or not isinstance(token, str):
            raise InputError(f"{folder / REQUEST} is damaged. Remove the folder and fit anew.")
        return cls(folder, request, token)

    @property
    def pieces(self) -> Path:
        """Where the estimator keeps what is finished."""
        return self.folder / PIECES

    def written_run(self, out: str | os.PathLike[str]) -> Run | None:
        """The run that came of it, where only the report was left to do."""
        with suppress(InputError):
            run = Run.open(out)
            return run if run.about.get("checkpoint") == self.token else None
        return None

    def remove(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


@contextmanager
def kept_until_complete(
    out: str | os.PathLike[str], request: Mapping[str, Any], wanted: bool
) -> Iterator[RunCheckpoint | None]:
    """A checkpoint that is gone once the block has ended, and stays where that was cut off.

    A fit that fails, and would fail again, takes its checkpoint with it, if it is its own.
    """
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
    except HOPELESS:
        if checkpoint.is_new:
            checkpoint.remove()
        raise
    checkpoint.remove()

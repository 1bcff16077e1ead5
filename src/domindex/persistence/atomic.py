"""Files and folders that appear complete or not at all."""

from __future__ import annotations

import ctypes
import glob
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path

from domindex.errors import InputError
from domindex.persistence.paths import usable_path

DRAFT, ASIDE = "-draft-", "-old-"
"""In the names, after a dot and the name itself, of what is being written and what makes way."""

LOCK = "lock"
"""The file in a folder that is held by whoever writes to it over a long time."""

TAKEN = "{} exists. Name another {}, or ask for it to be replaced (overwrite=True, --force)."
OTHER_THINGS = (
    "{} exists and holds other things (there is no {} in it), so it is left alone. Name a folder "
    "that does not exist yet."
)


@contextmanager
def new_folder(path: str | os.PathLike[str], *, marker: str, overwrite: bool) -> Iterator[Path]:
    """A folder to write into, which becomes `path`; replaced is only one with a file `marker`."""
    goal = check_free(path, marker=marker, overwrite=overwrite)
    with _draft_beside(goal) as draft:
        os.umask(mask := os.umask(0o022))
        draft.chmod(0o777 & ~mask)
        yield draft
        _sync(*draft.rglob("*"), draft)
        _swap(draft, goal)


@contextmanager
def new_file(path: str | os.PathLike[str], *, overwrite: bool) -> Iterator[Path]:
    """A path beside `path` to write to, which takes its name once the block has ended."""
    goal = usable_path(path)
    check_free_file(goal, overwrite=overwrite)
    with _draft_beside(goal) as draft:
        yield draft / goal.name
        _sync(draft / goal.name, draft)
        os.replace(draft / goal.name, goal)


@contextmanager
def _draft_beside(goal: Path) -> Iterator[Path]:
    """A folder on the same disk as `goal`, gone when the block has ended."""
    try:
        goal.parent.mkdir(parents=True, exist_ok=True)
        for old in goal.parent.glob(f".{glob.escape(goal.name)}{DRAFT}*"):
            with suppress(OSError):  # left behind by a kill: nothing takes a day to be written
                if time.time() - old.stat().st_mtime > 24 * 3600.0:
                    shutil.rmtree(old, ignore_errors=True)
        draft = Path(tempfile.mkdtemp(prefix=f".{goal.name}{DRAFT}", dir=goal.parent))
    except OSError as error:
        raise _not_writable(goal, error) from error
    try:
        yield draft
    except OSError as error:
        raise _not_writable(goal, error) from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def replace_file(path: Path, parts: Iterable[bytes]) -> None:
    """Write a file that can be made again after a power cut: complete or not at all, not synced."""
    draft = path.with_name(f".{path.name}{DRAFT}")
    try:
        with draft.open("wb") as file:
            file.writelines(parts)
        os.replace(draft, path)
    except OSError:
        with suppress(OSError):
            draft.unlink()
        raise


def require_folder(path: str | os.PathLike[str], *, marker: str) -> Path:
    """A folder to write into over a long time; refused where it holds other things."""
    folder = usable_path(path).resolve()
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file. Name a folder, or one that does not exist yet.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        names = [one.name for one in folder.iterdir()]
        left_by_kill = [n == LOCK or n.startswith(f".{marker}{DRAFT}") for n in names]
        if not (folder / marker).is_file() and not all(left_by_kill):
            raise InputError(OTHER_THINGS.format(folder, marker))
        os.rmdir(tempfile.mkdtemp(prefix=f".{marker}{DRAFT}", dir=folder))
    except OSError as error:
        raise _not_writable(folder, error) from error
    return folder


def check_free(path: str | os.PathLike[str], *, marker: str, overwrite: bool) -> Path:
    """Where a folder can be written, links followed; refused where something stands in the way."""
    goal = usable_path(path).resolve()
    _require_writable(goal)
    recover(goal)
    if goal.exists() and not goal.is_dir():
        raise InputError(f"{goal} is a file. Name a folder that does not exist yet.")
    if goal.exists() and any(goal.iterdir()):
        if not (goal / marker).is_file():
            raise InputError(OTHER_THINGS.format(goal, marker))
        if not overwrite:
            raise InputError(TAKEN.format(goal, "folder"))
    return goal


def check_free_file(path: Path, *, overwrite: bool) -> None:
    """Refuse to write over a file that nobody asked to be replaced, or over a folder."""
    if path.is_dir():
        raise InputError(f"{path} is a folder and cannot be written to. Name a file in it.")
    if path.exists() and not overwrite:
        raise InputError(TAKEN.format(path, "file"))
    _require_writable(path)


def _require_writable(goal: Path) -> None:
    """Try, in the nearest folder that exists: what is allowed depends on more than modes."""
    parent = next(folder for folder in goal.absolute().parents if folder.exists())
    try:
        os.rmdir(tempfile.mkdtemp(prefix=f".{goal.name}-", dir=parent))
    except OSError as error:
        raise _not_writable(goal, error) from error


def _swap(draft: Path, goal: Path) -> None:
    """Give `draft` the name of `goal`; `recover` mends a kill in the midst of it."""
    if not goal.exists():
        os.rename(draft, goal)
    elif not _exchange_names(draft, goal):
        aside = Path(tempfile.mkdtemp(prefix=f".{goal.name}{ASIDE}", dir=goal.parent))
        os.rename(goal, aside / goal.name)
        try:
            os.rename(draft, goal)
        except BaseException:
            os.rename(aside / goal.name, goal)
            raise
        finally:
            shutil.rmtree(aside, ignore_errors=True)
    _sync(goal.parent)


def _exchange_names(first: Path, second: Path) -> bool:
    """Whether what was `first` is now `second` and the other way round; False: nothing was done."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return False
    here, exchange = -100, 2  # AT_FDCWD of <fcntl.h>, RENAME_EXCHANGE of <linux/fs.h>
    return rename(here, os.fsencode(first), here, os.fsencode(second), exchange) == 0


def recover(goal: Path) -> None:
    """Put a folder back that was set aside when its replacement was killed between two renames."""
    if os.path.lexists(goal) or not goal.parent.is_dir():
        return
    set_aside = [
        folder / goal.name
        for folder in goal.parent.glob(f".{glob.escape(goal.name)}{ASIDE}*")
        if (folder / goal.name).is_dir()
    ]
    if set_aside:
        newest = max(set_aside, key=lambda path: path.stat().st_mtime)
        os.rename(newest, goal)
        shutil.rmtree(newest.parent, ignore_errors=True)


def existing_folder(path: str | os.PathLike[str]) -> Path:
    """A folder to be opened, recovered where its replacement was cut off."""
    folder = usable_path(path)
    recover(folder)
    if not folder.is_dir():
        raise InputError(f"There is no folder {folder}. Name one that model.save(path) wrote.")
    return folder


def _sync(*paths: Path) -> None:
    """Return once these are safe from a power cut; folders where the system syncs them."""
    for path in paths:
        with suppress(OSError) if path.is_dir() else nullcontext():
            number = os.open(path, os.O_RDONLY)
            try:
                os.fsync(number)
            finally:
                os.close(number)


def _not_writable(goal: Path, error: OSError) -> InputError:
    return InputError(
        f"{str(goal)[:400]} cannot be written to ({error.strerror or error}). "
        "Name a place that you may write to and that has room."
    )

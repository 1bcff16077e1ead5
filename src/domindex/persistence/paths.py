"""Paths that a user names, told apart from what is none."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from domindex.errors import InputError


def usable_path(path: str | os.PathLike[str]) -> Path:
    """A path that the system can look up, `~` expanded; whether something is there is not asked.

    InputError for what is no path, is too long for the system, or holds a zero byte.
    """
    if not _is_path(path):
        raise InputError(
            f"{repr(path)[:200]} is no path. Pass a text, or a pathlib.Path, that names a file or "
            "a folder."
        )
    try:
        found = Path(path).expanduser()
        os.lstat(found)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        pass
    except (OSError, ValueError, RuntimeError) as error:
        why = getattr(error, "strerror", None) or error
        raise InputError(
            f"{str(path)[:200]!r} cannot be used as a path ({why}). Name another."
        ) from error
    return found


def _is_path(path: Any) -> bool:
    """A text, or what stands for one; bytes are paths to some of Python, and not to `Path`."""
    try:
        return isinstance(os.fspath(path), str)
    except TypeError:
        return False

"""Paths that a user names, and regular files, which are all that this library reads of a folder."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from domindex.errors import InputError


def usable_path(path: str | os.PathLike[str]) -> Path:
    """A path that the system can look up, `~` expanded; whether something is there is not asked."""
    if not isinstance(path, str | os.PathLike):
        raise InputError(
            f"{repr(path)[:200]} is no path. Pass a text, or a pathlib.Path, that names a file or "
            "a folder."
        )
    try:
        found = Path(path).expanduser()
        os.lstat(found)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        pass
    except (OSError, TypeError, ValueError, RuntimeError) as error:
        why = getattr(error, "strerror", None) or error
        raise InputError(
            f"{str(path)[:200]!r} cannot be used as a path ({why}). Name another."
        ) from error
    return found


def read_bounded(path: Path, max_bytes: int = 256 * 2**20) -> bytes:
    """All bytes of a regular file, refused where there are more than `max_bytes`."""
    with open_regular(path) as file:
        content = file.read(max_bytes + 1)
    if len(content) > max_bytes:
        raise InputError(
            f"{path} is too large to be a file of domindex ({max_bytes} bytes at most). "
            "Check where it came from."
        )
    return content


@contextmanager
def open_regular(path: Path) -> Iterator[BinaryIO]:
    """A regular file to read; links, devices and pipes are refused unread."""
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0)
    try:
        number = os.open(path, flags)
    except FileNotFoundError:
        raise InputError(
            f"There is no {path}. Name a folder that domindex wrote, with all of its files."
        ) from None
    except (OSError, ValueError) as error:
        if getattr(error, "errno", None) == errno.ELOOP or path.is_symlink():
            raise InputError(
                f"{path} is a link, not a regular file. Check where the folder came from, and put "
                "the file itself there."
            ) from None
        why = getattr(error, "strerror", None) or error
        raise InputError(f"{str(path)[:200]} cannot be read ({why}).") from error
    if not stat.S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        raise InputError(f"{path} is not a regular file. Check where the folder came from.")
    with open(number, "rb") as file:
        yield file

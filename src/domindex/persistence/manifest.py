"""The list of a folder's files with their checksums: what was changed since is seen, not guessed.

A checksum finds damage and edits; it is no proof of who wrote a folder, since whoever can edit a
file can also count anew.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from domindex.errors import InputError

MANIFEST = "manifest.sha256"
SIGNATURE = "this list"
"""What the last line, the checksum of all lines above it, stands for."""

LARGEST = 64 * 2**10
"""Bytes of a manifest: a model has few files."""


def write_manifest(folder: Path) -> None:
    """List all files of `folder`, and sign the list by its own checksum."""
    names = sorted(path.name for path in folder.iterdir() if path.is_file())
    lines = "".join(f"{checksum(folder / name)}  {name}\n" for name in names if name != MANIFEST)
    signature = hashlib.sha256(lines.encode()).hexdigest()
    (folder / MANIFEST).write_text(f"{lines}{signature}  {SIGNATURE}\n", encoding="utf-8")


def check_manifest(folder: Path) -> None:
    """InputError where a file is not the one that was listed, or the list is not as it was."""
    listed = _read_manifest(folder)
    for name, expected in listed.items():
        path = folder / name
        if not os.path.lexists(path):
            raise InputError(f"There is no {path}. Copy the whole folder of the saved model.")
        if checksum(path) != expected:
            raise InputError(
                f"{path} is damaged: its SHA-256 is not the one that {MANIFEST} gives. "
                "Copy the folder again from where it was saved."
            )


def _read_manifest(folder: Path) -> dict[str, str]:
    """Checksums by name."""
    path = folder / MANIFEST
    try:
        lines = read_bounded(path, LARGEST).decode("utf-8").splitlines(keepends=True)
        pairs = [line.rstrip("\n").split("  ", 1) for line in lines]
        signature, last = pairs[-1]
        whole = hashlib.sha256("".join(lines[:-1]).encode()).hexdigest()
        if last != SIGNATURE or signature != whole or not lines[-1].endswith("\n"):
            raise ValueError("its last line is not the checksum of the others")
        listed = {name: expected for expected, name in pairs[:-1]}
        if any("/" in name or "\\" in name or name in ("", ".", "..") for name in listed):
            raise ValueError("it names something outside of the folder")
    except (ValueError, IndexError) as error:
        raise InputError(
            f"{path} is damaged ({error}). Copy the folder again from where it was saved."
        ) from None
    return listed


def checksum(path: Path) -> str:
    """The SHA-256 of a regular file."""
    digest = hashlib.sha256()
    with open_regular(path) as file:
        for block in iter(lambda: file.read(2**20), b""):
            digest.update(block)
    return digest.hexdigest()


def read_bounded(path: Path, most: int) -> bytes:
    """All bytes of a regular file, refused where there are more than `most`."""
    with open_regular(path) as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise InputError(
            f"{path} is too large to be a file of domindex ({most} bytes at most). "
            "Check where it came from."
        )
    return content


@contextmanager
def open_regular(path: Path) -> Iterator[BinaryIO]:
    """A regular file to read: a device or a pipe, which may have no end, is refused unread."""
    try:
        number = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except FileNotFoundError:
        raise InputError(
            f"There is no {path}. Name a folder that domindex wrote, with all of its files."
        ) from None
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise InputError(f"{str(path)[:200]} cannot be read ({why}).") from error
    if not stat.S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        raise InputError(f"{path} is not a regular file. Check where the folder came from.")
    with open(number, "rb") as file:
        yield file

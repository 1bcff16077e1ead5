"""The list of a folder's files with their checksums: what was changed since is seen, not guessed.

A checksum finds damage and edits; it is no proof of who wrote a folder, since whoever can edit a
file can also count anew.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from domindex.errors import InputError
from domindex.persistence.paths import open_regular, read_bounded

MANIFEST = "manifest.sha256"
SIGNATURE = "this list"
"""What the last line, the checksum of all lines above it, stands for."""


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
        lines = read_bounded(path, 64 * 2**10).decode("utf-8").splitlines(keepends=True)
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

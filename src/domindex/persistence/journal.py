"""The finished pieces of a fit on disk, for a fit that is cut off and begun again.

A fit is determined by its data, settings and seed. So nothing needs to be known of where it was cut
off: it goes its way again, and takes from the journal what it finds there. A piece is a file that
appears complete or not at all; one that is damaged is made again.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import shutil
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any, TypeVar

from domindex.errors import InputError
from domindex.persistence.atomic import LOCK, new_file, replace_file, require_folder
from domindex.persistence.codec import (
    DAMAGE,
    NotEncodable,
    from_bytes,
    read_json,
    to_bytes,
    write_json,
)
from domindex.persistence.paths import open_regular

FORM = "a domindex checkpoint"
FORMAT_VERSION = 1
DESCRIPTION = "journal.json"
SUFFIX = ".piece"

DIGEST = hashlib.sha256().digest_size

Result = TypeVar("Result")


class Journal:
    """A folder of finished pieces; without a folder, nothing is kept and nothing found.

    Another process that is sent a journal gets one without a folder: whoever leads the fit writes.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder
        self._facts: dict[str, str] | None = None
        self._seed: int | None = None
        self._fingerprint = ""
        self._lock: IO[bytes] | None = None

    @classmethod
    def open(cls, folder: str | os.PathLike[str]) -> Journal:
        """That of a folder, which is made where there is none; refused where it cannot be one.

        Held until `close`, or the end of the process: no other fit may write to it.
        """
        path = require_folder(folder, marker=DESCRIPTION)
        journal = cls(path)
        journal._hold()
        if os.path.lexists(path / DESCRIPTION):
            journal._read_description()
        return journal

    def __getstate__(self) -> dict[str, Any]:
        return vars(Journal())

    @property
    def fingerprint(self) -> str:
        """Of the fit that it belongs to; empty before `begin` and without a folder."""
        return self._fingerprint

    def seed(self) -> int:
        """A number drawn once for the fit, for where the user named none."""
        if self._seed is None:
            self._seed = secrets.randbelow(2**31 - 1)
        return self._seed

    def begin(self, facts: Mapping[str, str]) -> None:
        """Say what determines the fit: the first time it is written down, later compared.

        Facts are texts by name. InputError where one is not as it was.
        """
        if self.folder is None:
            return
        if self._facts is None:
            self._facts = dict(facts)
            content = {"facts": self._facts, "seed": self._seed}
            stamped = {"format": FORM, "format_version": FORMAT_VERSION, **content}
            with new_file(self.folder / DESCRIPTION, overwrite=True) as draft:
                write_json(draft, stamped)
        elif self._facts != dict(facts):
            raise InputError(
                f"{self.folder} belongs to another fit: {_differences(self._facts, facts)}. "
                "Fit as before to go on with it, or name another folder."
            )
        self._fingerprint = hashlib.sha256(_as_text(self._facts).encode()).hexdigest()

    def piece(self, name: str, make: Callable[[], Result]) -> Result:
        """The piece of that name, found or made and kept."""
        found = self.find(name)
        if found is None:
            found = make()
            self.keep(name, found)
        return found

    def find(self, name: str) -> Any:
        """A piece that was kept; None where there is none, or it is damaged."""
        if self.folder is None:
            return None
        path = self.folder / _file_name(name)
        if not os.path.lexists(path):
            return None
        try:
            with open_regular(path) as file:
                content = file.read()
            body, digest = content[:-DIGEST], content[-DIGEST:]
            if hashlib.sha256(body).digest() != digest:
                return None
            found = from_bytes(body, values=True)
            if found["name"] != name or found["fingerprint"] != self._fingerprint:
                return None
            return found["value"]
        except (InputError, OSError, *DAMAGE):
            return None

    def keep(self, name: str, value: Any) -> None:
        """Write a piece; one that cannot be written is made again, should it come to that.

        A disk that is full or gone ends the keeping with a warning, and not the fit.
        """
        if self.folder is None:
            return
        try:
            body = to_bytes({"name": name, "fingerprint": self._fingerprint, "value": value})
        except NotEncodable:
            return
        try:
            parts = [body, hashlib.sha256(body).digest()]
            replace_file(self.folder / _file_name(name), parts)
        except OSError as error:
            warnings.warn(
                f"From here on nothing is kept in {self.folder} ({error.strerror or error}). The "
                "fit goes on; cut off, it can be resumed from what was kept so far.",
                stacklevel=2,
            )
            self.close()

    def forget(self, name: str) -> None:
        """Remove a piece that later ones stand for."""
        if self.folder is not None:
            (self.folder / _file_name(name)).unlink(missing_ok=True)

    def close(self) -> None:
        """Let others write to the folder; nothing is kept any more."""
        self.folder = None
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def _hold(self) -> None:
        """A lock that goes with the process, however it ends."""
        try:
            import fcntl
        except ImportError:  # not on this system
            return
        assert self.folder is not None
        self._lock = (self.folder / LOCK).open("wb")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._lock.close()
            raise InputError(
                f"Another fit is writing to {self.folder}. Wait for it, or name another folder."
            ) from None
        except OSError:  # some network disks have no locks
            self._lock.close()
            self._lock = None

    def _read_description(self) -> None:
        assert self.folder is not None
        path = self.folder / DESCRIPTION
        content = read_json(path, form=FORM, newest=FORMAT_VERSION)
        facts, seed = content.get("facts"), content.get("seed")
        is_right = isinstance(facts, dict) and all(isinstance(one, str) for one in facts.values())
        if not is_right or not (seed is None or (type(seed) is int and 0 <= seed < 2**31)):
            raise InputError(f"{path} is damaged. Remove the folder to fit from the beginning.")
        self._facts, self._seed = facts, seed


def remove_journal(folder: str | os.PathLike[str]) -> None:
    """Remove the folder of a journal, and nothing that is none."""
    path = Path(folder)
    if (path / DESCRIPTION).is_file():
        shutil.rmtree(path, ignore_errors=True)


def _differences(before: Mapping[str, str], now: Mapping[str, str]) -> str:
    """What is not as it was, in words; long texts, such as checksums, only by name."""
    told = []
    for name in [*before, *(one for one in now if one not in before)]:
        old, new = before.get(name), now.get(name)
        if old == new:
            continue
        is_short = all(one is not None and len(one) <= 40 for one in (old, new))
        told.append(f"{name} was {old} and is {new}" if is_short else f"{name} differs")
    return "; ".join(told[:5]) + (" …" if len(told) > 5 else "")


def _as_text(facts: Mapping[str, str]) -> str:
    return json.dumps(facts, sort_keys=True)


def _file_name(name: str) -> str:
    """Readable, and different for different names."""
    readable = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:60]
    return f"{readable}-{hashlib.sha256(name.encode()).hexdigest()[:12]}{SUFFIX}"

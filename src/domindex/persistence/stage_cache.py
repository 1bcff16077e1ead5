"""Finished stages of a fit in a folder, for a fit that is cut off and started again."""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from domindex.errors import InputError
from domindex.persistence import codec
from domindex.persistence.atomic import LOCK, new_file, replace_file, require_folder
from domindex.persistence.codec import DAMAGE, NotEncodable
from domindex.persistence.paths import open_regular

FORM, VERSION = "a domindex checkpoint", 2
DESCRIPTION = "checkpoint.json"

Result = TypeVar("Result")


class StageCache:
    """Values of finished stages by name; without a folder nothing is written and nothing found.

    A fit that is started again takes from here what is finished. A damaged stage is computed again.
    Checksums protect against accidents only: whoever may write here may change the result.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder
        self._facts: dict[str, str] | None = None
        self._seed: int | None = None
        self._fingerprint = ""

    @classmethod
    @contextmanager
    def open(cls, folder: str | os.PathLike[str] | None) -> Iterator[StageCache]:
        """That of a folder, made where there is none; no other fit may write to it meanwhile."""
        if folder is None:
            yield cls()
            return
        path = require_folder(folder, marker=DESCRIPTION)
        cache = cls(path)
        with _locked(path):
            if os.path.lexists(path / DESCRIPTION):
                cache._facts, cache._seed = _read_description(path / DESCRIPTION)
            yield cache

    def seed(self) -> int:
        """A number drawn once for the fit, for where the user named none."""
        if self._seed is None:
            self._seed = secrets.randbelow(2**31 - 1)
        return self._seed

    def begin(self, facts: Mapping[str, str]) -> None:
        """Write down what determines the fit, texts by name; InputError where one has changed."""
        if self.folder is None:
            return
        if self._facts is None:
            self._facts = dict(facts)
            content = {"facts": self._facts, "seed": self._seed}
            with new_file(self.folder / DESCRIPTION, overwrite=True) as draft:
                codec.write_json(draft, {"format": FORM, "format_version": VERSION, **content})
        elif self._facts != dict(facts):
            said = []  # long texts, such as checksums, only by name
            for name in dict.fromkeys([*self._facts, *facts]):
                old, new = self._facts.get(name), facts.get(name)
                is_short = all(one is not None and len(one) <= 40 for one in (old, new))
                if old != new:
                    said.append(f"{name} was {old} and is {new}" if is_short else f"{name} differs")
            listed = "; ".join(said[:5]) + (" …" if len(said) > 5 else "")
            raise InputError(
                f"{self.folder} belongs to another fit: {listed}. "
                "Fit as before to go on with it, or name another folder."
            )
        text = json.dumps(self._facts, sort_keys=True)
        self._fingerprint = hashlib.sha256(text.encode()).hexdigest()

    def get(self, name: str, compute: Callable[[], Result]) -> Result:
        """The stage of that name, found or computed and stored."""
        found = self.load(name)
        if found is None:
            found = compute()
            self.store(name, found)
        return found

    def load(self, name: str) -> Any:
        """A stage that was stored; None where there is none, or it is damaged."""
        if self.folder is None or not os.path.lexists(self.folder / _file_name(name)):
            return None
        try:
            with open_regular(self.folder / _file_name(name)) as file:
                digest, body = file.read(32), file.read()
            if hashlib.sha256(body).digest() != digest:
                return None
            found = codec.from_bytes(body, values=True)
            is_own = (found["name"], found["fit"]) == (name, self._fingerprint)
            return found["value"] if is_own else None
        except (InputError, OSError, *DAMAGE):
            return None

    def store(self, name: str, value: Any) -> None:
        """Write a stage, if it can be encoded; where the disk is full, a warning, and no more."""
        if self.folder is None:
            return
        try:
            body = codec.to_bytes({"name": name, "fit": self._fingerprint, "value": value})
            replace_file(self.folder / _file_name(name), [hashlib.sha256(body).digest(), body])
        except NotEncodable:
            return
        except OSError as error:
            warnings.warn(
                f"From here on nothing is kept in {self.folder} ({error.strerror or error}). The "
                "fit goes on; cut off, it can be resumed from what was kept so far.",
                stacklevel=2,
            )
            self.folder = None


def _read_description(path: Path) -> tuple[Any, Any]:
    content = codec.read_json(path, form=FORM, newest=VERSION)
    facts, seed = content.get("facts"), content.get("seed")
    is_right = isinstance(facts, dict) and all(isinstance(one, str) for one in facts.values())
    if not is_right or not (seed is None or (type(seed) is int and 0 <= seed < 2**31)):
        raise InputError(f"{path} is damaged. Remove the folder to fit from the beginning.")
    return facts, seed


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """A lock that goes with the process, however it ends; none where the system has no locks."""
    with (folder / LOCK).open("wb") as lock:
        try:
            import fcntl

            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(
                f"Another fit is writing to {folder}. Wait for it, or name another folder."
            ) from None
        except (ImportError, OSError):  # not on this system, or not on this network disk
            pass
        yield


def _file_name(name: str) -> str:
    """Readable, and different for different names."""
    readable = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:60]
    return f"{readable}-{hashlib.sha256(name.encode()).hexdigest()[:12]}.stage"

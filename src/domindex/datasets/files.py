"""Where the paper's data files come from, where they are kept, and whether they are intact."""

from __future__ import annotations

import hashlib
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pooch

from domindex.errors import DatasetError

AUTHORS_REPOSITORY = "https://raw.githubusercontent.com/Wang-ML-Lab/VDI/main"
DATA_HOME_VARIABLE = "DOMINDEX_DATA"

DataHome = str | os.PathLike[str] | None


@dataclass(frozen=True)
class RemoteFile:
    """One file of the authors' repository, and what its content must hash to."""

    name: str
    folder: str
    digest: str
    kind: Literal["SHA-256", "git blob id"] = "SHA-256"

    @property
    def url(self) -> str:
        return f"{AUTHORS_REPOSITORY}/{self.folder}/{self.name}"


FILES = {
    file.name: file
    for file in (
        RemoteFile(
            "toy_d15_quarter_circle.pkl",
            "Toy/data",
            "63f7967314c9afc1f61aaca17232230f6ade18383b9a760f04d78aad00647db2",
        ),
        RemoteFile(
            "toy_d15_spiral_tight_boundary.pkl",
            "Toy/data",
            "46de00f5cbb33afb315c22ce55cc127d6fead57ea09d7a578f4152c1d6900a96",
        ),
        RemoteFile(
            "toy_d60_pi_random.pkl",
            "Toy/data",
            "81043309d113c3d41ca914d897c3997ec4b35b517c7373c0cf3a7099c1976415",
        ),
        RemoteFile(
            "month_temp_data.pkl",
            "TPT-48/train_data/data",
            "f996d73fd0cb4a13d9ef2015b6a2cf973dc88c0e21c368cef18c2b16c874bea4",
        ),
        RemoteFile(
            "longitude-latitude-normalize.csv",
            "TPT-48/visualization/usa_map",
            "fade81a3626372b2dd787f64404d1ff349cbd3980698a4e6e86f9ec6ca063f1a",
        ),
        RemoteFile(
            "usa_map.txt",
            "TPT-48/visualization/usa_map",
            "93851875ccd2935f447137185a2a4785e685a7dce55fbd28b9d651bd24362313",
        ),
        RemoteFile(
            "feature_resnet18_new_data.pkl",
            "CompCars/data",
            "06db4a7c42beb4bbd810afb017ea7d285dd2c94b",
            "git blob id",
        ),
    )
}


def data_folder(data_home: DataHome = None) -> Path:
    """The folder of the files: the argument, else $DOMINDEX_DATA, else the user's cache."""
    chosen = data_home or os.environ.get(DATA_HOME_VARIABLE) or pooch.os_cache("domindex")
    return Path(chosen).expanduser()


def find_file(name: str, data_home: DataHome = None) -> Path:
    """The path of an intact copy of `name`, downloaded first if the folder lacks it.

    A damaged file is reported, never replaced: it may be something the user put there.
    """
    file, folder = FILES[name], data_folder(data_home)
    path = folder / name
    if not path.exists():
        _download(file, folder)
        return path
    try:
        found = _hash(file, path)
    except OSError as error:
        raise DatasetError(
            f"{path} is there but could not be read ({error}). "
            "Give yourself the right to read it, or name another folder as data_home."
        ) from error
    if found != file.digest:
        raise DatasetError(
            f"{path} is not the published file: its {file.kind} is {found}, expected "
            f"{file.digest}. Delete it and load the dataset again to download it from {file.url}."
        )
    return path


def git_blob_id(path: Path) -> str:
    """The name git gives the content of a file: SHA-1 of "blob", its size in bytes, 0, and it."""
    digest = hashlib.sha1(b"blob %d\0" % path.stat().st_size, usedforsecurity=False)
    with path.open("rb") as stream:
        while part := stream.read(1 << 20):
            digest.update(part)
    return digest.hexdigest()


def _hash(file: RemoteFile, path: Path) -> str:
    if file.kind == "git blob id":
        return git_blob_id(path)
    found: str = pooch.file_hash(str(path), alg="sha256")
    return found


def _download(file: RemoteFile, folder: Path) -> None:
    """Fetch `file` into `folder`; it appears there only once complete and verified."""
    known = f"sha256:{file.digest}" if file.kind == "SHA-256" else None
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as drafts:
            draft = Path(pooch.retrieve(file.url, known, fname=file.name, path=drafts))
            if _hash(file, draft) != file.digest:
                raise ValueError(f"the {file.kind} is another")
            draft.replace(folder / file.name)
    except OSError as error:
        raise DatasetError(
            f"{file.name} is not in {folder} and could not be downloaded "
            f"({type(error).__name__}: {error}). Fetch it by hand from {file.url}, put it into "
            f"that folder, or name a folder that holds it as data_home or ${DATA_HOME_VARIABLE}."
        ) from error
    except ValueError as error:
        raise DatasetError(
            f"What {file.url} sent is not the published {file.name}: its {file.kind} differs from "
            f"{file.digest}. Nothing was kept. Try again; if it happens again, get the file "
            f"elsewhere and put it into {folder}."
        ) from error

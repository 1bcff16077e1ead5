"""The paper's data files: where they come from, whether they are intact, and how they are read.

A pickle is a program that calls what it names, so these are read without running anything.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import re
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pooch

from domindex.datasets.dataset import Array
from domindex.errors import DatasetError

AUTHORS_REPOSITORY = "https://raw.githubusercontent.com/Wang-ML-Lab/VDI/main"
DATA_HOME_VARIABLE = "DOMINDEX_DATA"

DataHome = str | os.PathLike[str] | None


class RemoteFile(NamedTuple):
    """One file of the authors' repository, and what its content must hash to."""

    name: str
    folder: str
    digest: str
    kind: str = "SHA-256"  # or "git blob id"

    @property
    def url(self) -> str:
        return f"{AUTHORS_REPOSITORY}/{self.folder}/{self.name}"


_PUBLISHED = """
Toy/data toy_d15_quarter_circle.pkl
    63f7967314c9afc1f61aaca17232230f6ade18383b9a760f04d78aad00647db2
Toy/data toy_d15_spiral_tight_boundary.pkl
    46de00f5cbb33afb315c22ce55cc127d6fead57ea09d7a578f4152c1d6900a96
Toy/data toy_d60_pi_random.pkl
    81043309d113c3d41ca914d897c3997ec4b35b517c7373c0cf3a7099c1976415
TPT-48/train_data/data month_temp_data.pkl
    f996d73fd0cb4a13d9ef2015b6a2cf973dc88c0e21c368cef18c2b16c874bea4
TPT-48/visualization/usa_map longitude-latitude-normalize.csv
    fade81a3626372b2dd787f64404d1ff349cbd3980698a4e6e86f9ec6ca063f1a
TPT-48/visualization/usa_map usa_map.txt
    93851875ccd2935f447137185a2a4785e685a7dce55fbd28b9d651bd24362313
CompCars/data feature_resnet18_new_data.pkl
    06db4a7c42beb4bbd810afb017ea7d285dd2c94b
"""

FILES = {
    name: RemoteFile(name, folder, digest, "SHA-256" if len(digest) == 64 else "git blob id")
    for folder, name, digest in re.findall(r"(\S+) (\S+)\n +(\w+)", _PUBLISHED)
}


def data_folder(data_home: DataHome = None) -> Path:
    """The folder of the files: the argument, else $DOMINDEX_DATA, else the user's cache."""
    chosen = data_home or os.environ.get(DATA_HOME_VARIABLE) or pooch.os_cache("domindex")
    return Path(chosen).expanduser()


def find_file(name: str, data_home: DataHome = None) -> Path:
    """The path of an intact copy of `name`, downloaded first if the folder lacks it."""
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
    if found != file.digest:  # never replaced: it may be something that the user put there
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


# Even NumPy's own names are not safe to hand out: `numpy.ndarray`, called with objects for a type
# and bytes for a buffer, reads wild memory. So the names that a pickled array uses lead to classes
# of our own, which only note down what they are given; arrays are made from them afterwards.


class _TypeForm:
    """Stands for a dtype: a code such as "f8", and a byte order that is given later."""

    def __init__(self, code: str, *flags: object) -> None:
        self.code, self.order = code, "|"

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.order = state[1]


class _ArrayForm:
    """Stands for an array: its shape, type, layout and bytes are given after it is made."""

    def __init__(self, *blank: object) -> None:
        self.state: tuple[Any, ...] = ()

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.state = state

    def array(self) -> Array:
        """The array, read-only: it looks at the bytes of the file. Only numbers are accepted."""
        _, shape, form, by_columns, content = self.state
        if not isinstance(form, _TypeForm):
            raise DatasetError("it has no type")
        if not isinstance(form.code, str) or form.code[:1] not in "biuf":
            raise DatasetError(f"its type is {form.code!r}")
        dtype = np.dtype(form.code).newbyteorder(form.order)  # type: ignore[arg-type]
        flat = np.frombuffer(content, dtype=dtype)
        return flat.reshape(shape, order="F" if by_columns else "C")


class _FormUnpickler(pickle.Unpickler):
    """Knows the names a plain array needs and imports nothing, so nothing else can be called."""

    def find_class(self, module_name: str, global_name: str, /) -> Any:
        if (module_name, global_name) == ("numpy", "ndarray"):
            return "ndarray"
        if (module_name, global_name) == ("numpy", "dtype"):
            return _TypeForm
        home = re.fullmatch(r"numpy\._?core\.(_multiarray_umath|multiarray)", module_name)
        if home and global_name == "_reconstruct":  # it has moved over the years
            return _ArrayForm
        raise DatasetError(
            f"it asks for {module_name}.{global_name}, which no array of numbers needs"
        )


def read_pickle(path: str | os.PathLike[str]) -> dict[str, Array]:
    """The dict of named numeric arrays pickled in `path`; anything else is refused."""
    with Path(path).open("rb") as stream:
        try:
            content = _FormUnpickler(stream).load()
        except Exception as error:
            raise _refusal(path, str(error) or type(error).__name__) from error
    if type(content) is not dict:
        raise _refusal(path, "it does not hold a dict of arrays")
    arrays = {}
    for name, form in content.items():
        if not isinstance(form, _ArrayForm):
            raise _refusal(path, f"its entry {name!r} is not an array")
        try:
            arrays[name] = form.array()
        except Exception as error:
            reason = f"its entry {name!r} is not an array of numbers ({error})"
            raise _refusal(path, reason) from error
    return arrays


def _refusal(path: str | os.PathLike[str], reason: str) -> DatasetError:
    return DatasetError(
        f"{path} was not read: {reason}. Only a pickled dict of numeric NumPy arrays is accepted; "
        "do not trust this file, delete it and download it again."
    )

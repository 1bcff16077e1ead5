"""Reading the authors' pickles without running whatever a pickle may ask to run.

A pickle is a program that calls what it names. Even NumPy's own names are not safe to hand out:
`numpy.ndarray`, called with objects for a type and bytes for a buffer, reads wild memory. So the
names a pickled array uses lead to forms of our own, which only note down what they are told; the
arrays are made from them afterwards, by us, and only if they hold numbers.
"""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np

from domindex.datasets.dataset import Array
from domindex.errors import DatasetError


class _TypeForm:
    """Stands for a dtype: a code such as "f8", and a byte order told later."""

    def __init__(self, code: str, *flags: object) -> None:
        self.code, self.order = code, "|"

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.order = state[1]

    def dtype(self) -> np.dtype[Any]:
        """The NumPy type, if it is one of numbers."""
        if not isinstance(self.code, str) or self.code[:1] not in "biuf":
            raise DatasetError(f"its type is {self.code!r}")
        return np.dtype(self.code).newbyteorder(self.order)  # type: ignore[arg-type]


class _ArrayForm:
    """Stands for an array: its shape, type, layout and bytes, all told after it is made."""

    def __init__(self, *blank: object) -> None:
        self.state: tuple[Any, ...] = ()

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.state = state

    def array(self) -> Array:
        """The array, read-only: it looks at the bytes of the file."""
        _, shape, type_form, by_columns, content = self.state
        if not isinstance(type_form, _TypeForm):
            raise DatasetError("it has no type")
        flat = np.frombuffer(content, dtype=type_form.dtype())
        return flat.reshape(shape, order="F" if by_columns else "C")


# NumPy has moved its function over the years; old files know the older names.
_FORMS: dict[tuple[str, str], Any] = {
    ("numpy", "ndarray"): "ndarray",
    ("numpy", "dtype"): _TypeForm,
    ("numpy.core.multiarray", "_reconstruct"): _ArrayForm,
    ("numpy.core._multiarray_umath", "_reconstruct"): _ArrayForm,
    ("numpy._core.multiarray", "_reconstruct"): _ArrayForm,
    ("numpy._core._multiarray_umath", "_reconstruct"): _ArrayForm,
}


class _FormUnpickler(pickle.Unpickler):
    """Knows the names a plain array needs and imports nothing, so nothing else can be called."""

    def find_class(self, module_name: str, global_name: str, /) -> Any:
        try:
            return _FORMS[module_name, global_name]
        except KeyError:
            raise DatasetError(
                f"it asks for {module_name}.{global_name}, which no array of numbers needs"
            ) from None


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

"""What a worker process makes of a dataset's items: checked values, or what is wrong with them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from torch.utils.data import Dataset

FORM = "Items must be (x, y, domain): an array, a label (None for targets), and a domain's name."


class CheckedItems(Dataset):
    """Items (x, y, domain) as an array and plain values, or a text that says what is wrong.

    A text, not an error: it comes out of the process that reads as it went in.
    """

    def __init__(self, dataset: Any) -> None:
        self.dataset = dataset

    def __getitem__(self, number: int) -> tuple[Any, Any, Any] | str:
        try:
            item = self.dataset[number]
        except Exception as error:
            return (
                f"Item {number} of the dataset cannot be read ({type(error).__name__}: {error}). "
                "Repair it, or leave it out."
            )
        if not isinstance(item, (tuple, list)) or len(item) != 3:
            length = f" of length {len(item)}" if isinstance(item, (tuple, list)) else ""
            return f"Item {number} of the dataset is a {type(item).__name__}{length}. {FORM}"
        x, y, name = item
        try:
            inputs = np.asarray(x)
            if inputs.dtype.kind not in "fiub" or not inputs.size:
                raise ValueError(f"dtype {inputs.dtype}, shape {inputs.shape}")
        except Exception as error:
            return f"Item {number} of the dataset has an x that is no numbers ({error}). {FORM}"
        name = _plain(name)
        try:
            hash(name)
        except TypeError:
            return (
                f"Item {number} of the dataset has the domain {name!r:.60}, a "
                f"{type(name).__name__}, which cannot name a domain (unhashable). Use strings, "
                "integers or tuples."
            )
        if name is None or name != name:
            return f"Item {number} of the dataset has no domain ({name!r}). {FORM}"
        return np.atleast_1d(inputs), _plain(y), name


def collected(items: Sequence[Any]) -> tuple[list[str], tuple[Any, list[Any], list[Any]]]:
    """What is wrong with some of the items, and else inputs stacked, labels and names."""
    failures = [item for item in items if isinstance(item, str)]
    if failures:
        return failures, (np.empty(0), [], [])
    shapes = sorted({item[0].shape for item in items})
    if len(shapes) > 1:
        return [f"Items of the dataset have x of shapes {shapes}. Make them one."], (None, [], [])
    return [], (
        np.stack([item[0] for item in items]),
        [item[1] for item in items],
        [item[2] for item in items],
    )


def collected_names(items: Sequence[Any]) -> tuple[list[str], tuple[None, list[Any], list[Any]]]:
    """The same without inputs: they need not come out of the process."""
    failures = [item for item in items if isinstance(item, str)]
    names = [] if failures else [item[2] for item in items]
    return failures, (None, [], names)


def _plain(value: Any) -> Any:
    """A number or text out of a tensor or array of no axes; an array of several numbers as one."""
    if hasattr(value, "detach"):
        value = value.detach().cpu().numpy()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray) and value.ndim == 0:
        return value.item()
    return value

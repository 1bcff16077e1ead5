"""Which rows an audit uses, and with which labels."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier, is_regressor

from domindex.arrays import Floats
from domindex.errors import InputError
from domindex.evaluation.probes import MIN_PER_CLASS, MIN_ROWS
from domindex.inputs import group_rows
from domindex.inputs.labels import check_label_array, encode_classes, encode_values, hidden_marks
from domindex.inputs.messages import preview

Rows = NDArray[np.int64]

MAX_PROBED_ROWS = 3000
MAX_PROBED_DOMAINS = 100
"""What is used at most, so that an audit takes seconds."""

NEEDED = ("encode", "transform", "place_domains")


def check_model(model: Any) -> None:
    """A fitted classifier or regressor that has u, β and z."""
    if isinstance(model, type):
        raise InputError(f"model is the class {model.__name__}. Pass a fitted object of it.")
    missing = [name for name in NEEDED if not hasattr(model, name)]
    if missing or not (is_classifier(model) or is_regressor(model)):
        lack = f"lacks {preview(missing)}" if missing else "is neither classifier nor regressor"
        raise InputError(
            f"model is a {type(model).__name__}, which {lack}. Pass a fitted VDIClassifier."
        )
    if not hasattr(model, "source_domains_"):
        raise InputError(f"This {type(model).__name__} is not fitted. Call fit before the audit.")


def source_labels(
    model: Any, y: Any, names: Sequence[Hashable], rng: np.random.Generator
) -> tuple[Rows, NDArray]:
    """Row numbers of labelled rows to use, and their labels; no other label is looked at."""
    array = check_label_array(y, len(names))
    sources = set(model.source_domains_)
    present = [row for row, name in enumerate(names) if name in sources]
    if not present:
        raise InputError(
            f"sample_domain holds {preview(dict.fromkeys(names))}, none of the model's source "
            f"domains ({preview(model.source_domains_)}). Add rows with labels: condition 3 is "
            "about them."
        )
    rows = np.sort(rng.permutation(present)[:MAX_PROBED_ROWS])
    known = array[rows]
    hidden = rows[hidden_marks(known, minus_one_hides=False)]
    if len(hidden):
        raise InputError(
            f"y is missing in {len(hidden)} rows of source domains, the first at row "
            f"{preview(hidden.tolist())}. Give these rows labels or leave them out."
        )
    everywhere = np.ones(len(rows), dtype=bool)
    if is_regressor(model):
        return rows, on_one_scale(encode_values(known, everywhere))
    numbers = encode_classes(known, everywhere)[1]
    common = np.bincount(numbers)[numbers] >= MIN_PER_CLASS
    if len(np.unique(numbers[common])) < 2 or common.sum() < MIN_ROWS:
        raise InputError(
            f"Of {len(rows)} rows with labels, {common.sum()} have a class that {MIN_PER_CLASS} "
            f"rows share. Pass at least {MIN_ROWS} of these, in two classes or more."
        )
    return rows[common], numbers[common]


def rows_to_probe(names: Sequence[Hashable], rng: np.random.Generator) -> tuple[Rows, Rows]:
    """Row numbers, and the number of each row's domain: even over domains as far as they go."""
    groups = [rows for _, rows in group_rows(names, len(names)) if len(rows) >= MIN_PER_CLASS]
    if len(groups) > MAX_PROBED_DOMAINS:
        groups = [groups[n] for n in np.sort(rng.permutation(len(groups))[:MAX_PROBED_DOMAINS])]
    if len(groups) < 2 or sum(map(len, groups)) < MIN_ROWS:
        raise InputError(
            f"sample_domain has {len(groups)} domains of {MIN_PER_CLASS} rows or more, with "
            f"{sum(map(len, groups))} rows. Pass two such domains or more and {MIN_ROWS} rows: "
            "a domain can only be told from others."
        )
    sizes = np.array([len(rows) for rows in groups])
    most = max(
        size
        for size in range(1, MAX_PROBED_ROWS)
        if np.minimum(sizes, size).sum() <= MAX_PROBED_ROWS
    )
    chosen = [np.sort(rng.permutation(rows)[:most]) for rows in groups]
    return np.concatenate(chosen), np.repeat(np.arange(len(chosen)), [len(c) for c in chosen])


def on_one_scale(values: NDArray) -> Floats:
    """(rows, columns) of unit variance: each column of a table, all pixels of images together."""
    flat = values.reshape(len(values), -1).astype(np.float64, order="C")
    centred = flat - flat.mean(axis=0)
    scale = np.sqrt((centred**2).mean(axis=0 if values.ndim == 2 else None))
    return centred / np.where(scale > 0.0, scale, 1.0)

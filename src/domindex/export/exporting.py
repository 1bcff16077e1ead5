"""Write a program to a folder, once it was seen to predict what the estimator predicts."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from domindex.committee.committee import Committee
from domindex.errors import InputError
from domindex.export.onnx_files import require_onnx, run_onnx, write_onnx
from domindex.export.program import (
    Half,
    NotExportableError,
    Program,
    ask,
    build_program,
    exported_program,
)
from domindex.inputs.bounds import InputBounds
from domindex.persistence.atomic import check_free, new_folder
from domindex.persistence.codec import to_plain, write_json
from domindex.persistence.manifest import write_manifest
from domindex.vdi.backbones import FeatureExtractor
from domindex.vdi.fitted_indices import FittedIndices
from domindex.versions import versions

FORMATS = ("torch", "onnx")

FORM = "an exported domindex predictor"
FORM_VERSION = 2
DESCRIPTION, ONNX = "export.json", "predictor.onnx"
FEATURES, PROGRAM = "features.pt2", "predictor.pt2"
"""The program; where scikit-learn fitted a part of it, what comes before that and what after."""


@dataclass(frozen=True, eq=False)
class Source:
    """What of a fitted model a program is made from.

    Attributes
    ----------
    bounds : how far inputs may lie out; None where they are not bounded
    input_shape : of a row, in the user's units
    classes : in the order of the columns; None for values
    predict : rows (n, *input_shape) and a name for each, to probabilities, or means and deviations
    uses_single : whether a network in single precision is part of it
    """

    committee: Committee
    indices: FittedIndices
    extractor: FeatureExtractor | None
    bounds: InputBounds | None
    input_shape: tuple[int, ...]
    classes: list[Any] | None
    single_output: bool
    predict: Callable[[NDArray, list[Hashable]], tuple[NDArray, ...]]
    uses_single: bool

    @property
    def domains(self) -> list[Hashable]:
        return list(self.indices.domain_map.index.domains)


def export_predictor(
    source: Source, path: str | os.PathLike[str], form: Any, *, overwrite: bool
) -> None:
    """Write the program of a fitted model to a folder that appears complete or not at all.

    What `model.export` calls.

    Examples
    --------
    >>> from domindex.export import FORMATS, export_predictor
    >>> FORMATS
    ('torch', 'onnx')
    >>> export_predictor(None, "predictor", "pickle", overwrite=False)
    Traceback (most recent call last):
    domindex.errors.InputError: format is 'pickle'. Choose one of 'torch', 'onnx'.
    """
    if form not in FORMATS:
        raise InputError(f"format is {form!r:.80}. Choose one of {', '.join(map(repr, FORMATS))}.")
    check_free(path, marker=DESCRIPTION, overwrite=overwrite)
    if form == "onnx":
        require_onnx()
    try:
        program = build_program(source.committee, source.indices, source.extractor, source.bounds)
    except NotExportableError as error:
        raise InputError(
            f"The model cannot be exported: {error}. Prescribe other candidates=, or keep it with "
            "model.save(path)."
        ) from None
    X, numbers = _tried_rows(source)
    expected = source.predict(X, [source.domains[number] for number in numbers])
    # sums in another order, onnxruntime's exponentials; backbones and ONNX's trees are single
    single = source.uses_single or (form == "onnx" and program.estimators)
    tolerance = 1e-4 if single else {"torch": 1e-8, "onnx": 1e-6}[form]
    with new_folder(path, marker=DESCRIPTION, overwrite=overwrite) as folder:
        if form == "torch":
            predicted = _write_torch(program, folder, X, numbers)
        else:
            write_onnx(program, folder / ONNX, X, numbers)
            predicted = run_onnx(folder / ONNX, X, numbers)
        _require_agreement(predicted, expected, tolerance)
        write_json(folder / DESCRIPTION, _description(source, program, form))
        write_manifest(folder)


def _tried_rows(source: Source, n_rows: int = 64) -> tuple[NDArray, NDArray[np.int64]]:
    """Rows about where those of the fit were, and some far out, dealt out to the domains."""
    rng = np.random.default_rng(0)
    scaler, shape = source.indices.scaler, source.input_shape
    X = rng.normal(size=(n_rows, *shape))
    if source.extractor is None:
        X = (X.reshape(n_rows, -1) * scaler.scale + scaler.offset).reshape(n_rows, *shape)
    if source.bounds is not None:
        X[::8] *= 1e3
    allowed = np.arange(len(source.domains))
    shift = source.committee.label_shift
    if shift is not None:  # in sources, shares depend on the rows of a call
        allowed = np.array([k for k in allowed if source.domains[k] in shift.domains])
    return X, np.resize(rng.permutation(allowed), n_rows).astype(np.int64)


def _require_agreement(
    predicted: tuple[NDArray, ...], expected: tuple[NDArray, ...], tolerance: float
) -> None:
    for one, other in zip(predicted, expected, strict=True):
        apart = float(np.abs(one - other).max() / max(float(np.abs(other).max()), 1e-300))
        if not apart <= tolerance:
            raise InputError(
                f"The exported predictor differs from predict by {apart:.2g} of the largest "
                f"prediction ({tolerance:.0e} is allowed), so nothing was written. Keep the model "
                "with model.save(path), and report this as a fault of domindex."
            )


def _write_torch(
    program: Program, folder: Path, X: NDArray, numbers: NDArray[np.int64]
) -> tuple[NDArray, ...]:
    """The files, and what they predict."""
    given: tuple[torch.Tensor, ...] = (torch.tensor(X), torch.tensor(numbers))
    last: torch.nn.Module = program
    if program.estimators:
        before, last = exported_program(Half(program, "before"), given), Half(program, "after")
        torch.export.save(before, folder / FEATURES)
        found, count = before.module()(*given), len(program.estimators)
        given = (*found[:-count], *ask(program.estimators, found[-count:]))
        for number, one in enumerate(program.estimators):
            packed = one.state()["estimators"]
            (folder / skops_name(number)).write_bytes(packed.tobytes())
    exported = exported_program(last, given)
    torch.export.save(exported, folder / PROGRAM)
    return tuple(one.detach().numpy() for one in exported.module()(*given))


def skops_name(number: int) -> str:
    return f"predictor-{number}.skops"


def _description(source: Source, program: Program, form: str) -> dict[str, Any]:
    classes = source.classes
    states = [one.state() for one in program.estimators] if form == "torch" else []
    return {
        "format": FORM,
        "format_version": FORM_VERSION,
        "kind": form,
        "domains": [to_plain(name, "A domain") for name in source.domains],
        "classes": None if classes is None else [to_plain(one, "A class") for one in classes],
        "input_shape": list(source.input_shape),
        "single_output": source.single_output,
        "outputs": list(program.outputs),
        "skops": [
            {name: part for name, part in state.items() if name != "estimators"} for state in states
        ],
        "versions": versions(),
    }

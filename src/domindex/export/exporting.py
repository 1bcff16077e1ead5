"""Write a program to a folder, once it was seen to predict what the estimator predicts."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from domindex.committee.committee import Committee
from domindex.errors import InputError
from domindex.export.onnx_files import require_onnx, run_onnx, write_onnx
from domindex.export.program import Features, Program, build_program
from domindex.export.tables import NotExportableError
from domindex.inputs.bounds import InputBounds
from domindex.persistence.atomic import check_free, new_folder
from domindex.persistence.codec import to_plain, write_json
from domindex.persistence.manifest import write_manifest
from domindex.vdi.backbones import FeatureExtractor
from domindex.vdi.fitted_indices import FittedIndices
from domindex.versions import versions

Format = Literal["torch", "onnx"]
FORMATS: tuple[Format, ...] = ("torch", "onnx")

FORM = "an exported domindex predictor"
FORM_VERSION = 1
DESCRIPTION, PROGRAM, FEATURES, ONNX = (
    "export.json",
    "predictor.pt2",
    "features.pt2",
    "predictor.onnx",
)

TRIED_ROWS = 64
"""Rows on which a program is compared with its estimator before it is written."""

FAR_OUT_EACH, FAR_OUT = 8, 1e3
"""Every so many of them lies so many times as far out, where values are drawn in."""

TOLERANCES: dict[Format, float] = {"torch": 1e-8, "onnx": 1e-6}
SINGLE_TOLERANCE = 1e-4
"""Largest difference allowed there, relative to the largest prediction: of sums in another order,
of onnxruntime's exponentials, and of backbones, which compute in single precision."""


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
    program = _built(source, form)
    if form == "onnx":
        require_onnx()
    X, numbers = _tried_rows(source)
    with new_folder(path, marker=DESCRIPTION, overwrite=overwrite) as folder:
        write = _write_torch if form == "torch" else _write_onnx
        said = write(program, folder, X, numbers)
        _require_agreement(said, source, X, numbers, form)
        write_json(folder / DESCRIPTION, _description(source, program, form))
        write_manifest(folder)


def _built(source: Source, form: Format) -> Program:
    try:
        program = build_program(source.committee, source.indices, source.extractor, source.bounds)
    except NotExportableError as error:
        raise InputError(
            f"The model cannot be exported: {error}. Prescribe other candidates=, or keep it with "
            "model.save(path)."
        ) from None
    if form == "onnx" and program.foreign:
        named = "; ".join(f"{one.predictor.name!r} ({one.why})" for one in program.foreign)
        raise InputError(
            f"The model cannot be exported to ONNX because of the predictor {named}. Choose "
            "format='torch', which keeps it by skops, or prescribe other candidates=."
        )
    return program


def _tried_rows(source: Source) -> tuple[NDArray, NDArray[np.int64]]:
    """Rows about where those of the fit were, and some far out, dealt out to the domains."""
    rng = np.random.default_rng(0)
    scaler, shape = source.indices.scaler, source.input_shape
    X = rng.normal(size=(TRIED_ROWS, *shape))
    if source.extractor is None:
        flat = X.reshape(TRIED_ROWS, -1) * scaler.scale + scaler.offset
        X = flat.reshape(TRIED_ROWS, *shape)
    if source.bounds is not None:
        X[::FAR_OUT_EACH] *= FAR_OUT
    allowed = np.arange(len(source.domains))
    shift = source.committee.label_shift
    if shift is not None:  # in sources, shares depend on the rows of a call
        allowed = np.array([k for k in allowed if source.domains[k] in shift.domains])
    return X, np.resize(rng.permutation(allowed), TRIED_ROWS).astype(np.int64)


def _require_agreement(
    said: Sequence[NDArray], source: Source, X: NDArray, numbers: NDArray[np.int64], form: Format
) -> None:
    expected = source.predict(X, [source.domains[number] for number in numbers])
    tolerance = SINGLE_TOLERANCE if source.uses_single else TOLERANCES[form]
    for one, other in zip(said, expected, strict=True):
        apart = float(np.abs(one - other).max() / max(float(np.abs(other).max()), 1e-300))
        if not apart <= tolerance:
            raise InputError(
                f"The exported predictor differs from predict by {apart:.2g} of the largest "
                f"prediction ({tolerance:.0e} is allowed), so nothing was written. Keep the model "
                "with model.save(path), and report this as a fault of domindex."
            )


def exported_program(module: torch.nn.Module, X: NDArray, *others: NDArray) -> Any:
    """As torch.export has it, for any number of rows."""
    rows = torch.export.Dim("rows")
    given = tuple(torch.tensor(one) for one in (X, *others))
    shapes = tuple({0: rows} for _ in given)
    dynamic: Any = shapes if len(given) == 2 else (*shapes[:2], shapes[2:])  # X, domain, *said
    with torch.no_grad():
        return torch.export.export(module, given, dynamic_shapes=dynamic, strict=False)


def _write_torch(
    program: Program, folder: Path, X: NDArray, numbers: NDArray[np.int64]
) -> tuple[NDArray, ...]:
    said: tuple[NDArray, ...] = ()
    if program.foreign:
        features = exported_program(Features(program), X, numbers)
        torch.export.save(features, folder / FEATURES)
        given = features.module()(torch.tensor(X), torch.tensor(numbers))
        pairs = zip(program.foreign, given)
        said = tuple(one.predictor.predict(part.numpy()) for one, part in pairs)
        for number, one in enumerate(program.foreign):
            state = one.predictor.state()
            (folder / skops_name(number)).write_bytes(state["estimators"].tobytes())
    exported = exported_program(program, X, numbers, *said)
    torch.export.save(exported, folder / PROGRAM)
    everything = (X, numbers, *said)
    return tuple(one.numpy() for one in exported.module()(*map(torch.tensor, everything)))


def _write_onnx(
    program: Program, folder: Path, X: NDArray, numbers: NDArray[np.int64]
) -> tuple[NDArray, ...]:
    write_onnx(exported_program(program, X, numbers), folder / ONNX, program.outputs)
    return run_onnx(folder / ONNX, X, numbers)


def skops_name(number: int) -> str:
    return f"predictor-{number}.skops"


def _description(source: Source, program: Program, form: Format) -> dict[str, Any]:
    foreign = [one.predictor for one in program.foreign]
    classes = source.classes
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
            {
                "name": one.name,
                "n_features": one.n_features,
                "n_outputs": one.n_outputs,
                "present": None if one.present is None else one.present.tolist(),
            }
            for one in foreign
        ],
        "versions": versions(),
    }

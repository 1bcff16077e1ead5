"""Write a program to a folder, once it is seen to predict what the estimator predicts; open one."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from domindex.committee.fitted_indices import FittedIndices
from domindex.committee.learners.estimators import EstimatorPredictor
from domindex.errors import InputError
from domindex.export.onnx_files import INPUTS, onnx_session, require_onnx, write_onnx
from domindex.export.program import (
    CommitteeProgram,
    Half,
    NotExportableError,
    Program,
    ask,
    exported_program,
)
from domindex.inputs import check_domain_names, check_inputs
from domindex.inputs.messages import preview
from domindex.persistence.atomic import check_free, existing_folder, new_folder
from domindex.persistence.codec import decode, read_json, to_plain, write_json
from domindex.persistence.model_folder import check_manifest, write_manifest
from domindex.persistence.paths import read_bounded
from domindex.versions import versions

FORMATS = ("torch", "onnx")

FORM = "an exported domindex predictor"
FORM_VERSION = 2
DESCRIPTION, ONNX = "export.json", "predictor.onnx"
# what scikit-learn fitted is asked between the two programs
FEATURES, SKOPS, PROGRAM = "features.pt2", "predictor-{}.skops", "predictor.pt2"

Run = Callable[[NDArray, NDArray[np.int64]], tuple[NDArray, ...]]


@dataclass(frozen=True, eq=False)
class Source:
    """What of a fitted model a program is made from."""

    build: Callable[[], Program]
    indices: FittedIndices
    input_shape: tuple[int, ...]  # of a row, in the user's units
    classes: list[Any] | None  # in the order of the columns; None for values
    single_output: bool
    # rows (n, *input_shape) and a name for each to probabilities, or means and deviations
    predict: Callable[[NDArray, list[Hashable]], tuple[NDArray, ...]]

    @property
    def domains(self) -> list[Hashable]:
        return list(self.indices.domain_map.index.domains)


def export_predictor(
    source: Source, path: str | os.PathLike[str], form: Any, *, overwrite: bool
) -> None:
    """Write the program of a fitted model to a folder, complete or not at all: `model.export`.

    Examples
    --------
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
        program = source.build()
    except NotExportableError as error:
        raise InputError(
            f"The model cannot be exported: {error}. Prescribe other candidates=, or keep it with "
            "model.save(path)."
        ) from None
    X, numbers = _tried_rows(source, program)
    expected = source.predict(X, [source.domains[number] for number in numbers])
    # sums in another order, onnxruntime's exponentials; backbones and ONNX's trees are single
    single = program.uses_single or (form == "onnx" and program.estimators)
    tolerance = 1e-4 if single else {"torch": 1e-8, "onnx": 1e-6}[form]
    with new_folder(path, marker=DESCRIPTION, overwrite=overwrite) as folder:
        if form == "torch":
            predicted = _write_torch(program, folder, X, numbers)
        else:
            write_onnx(program, folder / ONNX, X, numbers)
            predicted = _onnx_run(folder, {})(X, numbers)
        for one, other in zip(predicted, expected, strict=True):
            apart = float(np.abs(one - other).max() / max(float(np.abs(other).max()), 1e-300))
            if not apart <= tolerance:
                raise InputError(
                    f"The exported predictor differs from predict by {apart:.2g} of the largest "
                    f"prediction ({tolerance:.0e} is allowed), so nothing was written. Keep the "
                    "model with model.save(path), and report this as a fault of domindex."
                )
        write_json(folder / DESCRIPTION, _description(source, program, form))
        write_manifest(folder)


def _tried_rows(
    source: Source, program: Program, n_rows: int = 64
) -> tuple[NDArray, NDArray[np.int64]]:
    """Rows about where those of the fit were, and some far out, dealt out to the domains."""
    rng = np.random.default_rng(0)
    scaler, shape = source.indices.scaler, source.input_shape
    X = rng.normal(size=(n_rows, *shape))
    if program.extractor is None:
        X = (X.reshape(n_rows, -1) * scaler.scale + scaler.offset).reshape(n_rows, *shape)
    if program.limits:
        X[::8] *= 1e3
    return X, np.resize(rng.permutation(program.steady), n_rows).astype(np.int64)


def _write_torch(
    program: Program, folder: Path, X: NDArray, numbers: NDArray[np.int64]
) -> tuple[NDArray, ...]:
    """The files, and what they predict."""
    given: tuple[torch.Tensor, ...] = (torch.tensor(X), torch.tensor(numbers))
    last: torch.nn.Module = program
    if isinstance(program, CommitteeProgram) and program.estimators:
        before, last = exported_program(Half(program, "before"), given), Half(program, "after")
        torch.export.save(before, folder / FEATURES)
        found, count = before.module()(*given), len(program.estimators)
        given = (*found[:-count], *ask(program.estimators, found[-count:]))
        for number, one in enumerate(program.estimators):
            (folder / SKOPS.format(number)).write_bytes(one.state()["estimators"].tobytes())
    exported = exported_program(last, given)
    torch.export.save(exported, folder / PROGRAM)
    return tuple(one.detach().numpy() for one in exported.module()(*given))


def _description(source: Source, program: Program, form: str) -> dict[str, Any]:
    classes = source.classes
    states = [one.state() for one in program.estimators if form == "torch"]
    return {
        "format": FORM,
        "format_version": FORM_VERSION,
        "kind": form,
        "domains": [to_plain(name, "A domain") for name in source.domains],
        "classes": None if classes is None else [to_plain(one, "A class") for one in classes],
        "input_shape": list(source.input_shape),
        "single_output": source.single_output,
        "outputs": list(program.outputs),
        "skops": [{k: part for k, part in state.items() if k != "estimators"} for state in states],
        "versions": versions(),
    }


class ExportedPredictor:
    """What `model.export` wrote, to be asked for predictions in the domains that it knows.

    Attributes
    ----------
    domains : names, in the order of the numbers that a program takes
    classes : in the order of the columns of `predict_proba`; None for values
    input_shape : of a row

    Examples
    --------
    >>> model.export("predictor")
    >>> found = load_exported("predictor").predict_proba(data.X, **rows)
    >>> bool(abs(found - model.predict_proba(data.X, **rows)).max() < 1e-9)
    True
    """

    def __init__(self, description: dict[str, Any], run: Run) -> None:
        self.domains = [decode(name) for name in description["domains"]]
        classes = description["classes"]
        self.classes = None if classes is None else [decode(one) for one in classes]
        self.input_shape = tuple(int(size) for size in description["input_shape"])
        self._single_output, self._run = bool(description["single_output"]), run
        self._numbers = {name: number for number, name in enumerate(self.domains)}

    def predict(
        self, X: Any, *, sample_domain: Any, return_std: bool = False
    ) -> NDArray | tuple[NDArray, NDArray]:
        """The likeliest class, or the expected values, with deviations where asked for."""
        mean, *deviation = self._outputs(X, sample_domain)
        if self.classes is not None:
            if return_std:
                raise InputError("return_std is for values, and this predictor gives classes.")
            return np.array(self.classes)[mean.argmax(axis=1)]
        given = [mean, *deviation]
        one = [array[:, 0] for array in given] if self._single_output else given
        return (one[0], one[1]) if return_std else one[0]

    def predict_proba(self, X: Any, *, sample_domain: Any) -> NDArray:
        """Probabilities (rows, classes), in the order of `classes`."""
        if self.classes is None:
            raise InputError("This predictor gives values, which have no probabilities.")
        return self._outputs(X, sample_domain)[0]

    def _outputs(self, X: Any, sample_domain: Any) -> list[NDArray]:
        inputs = np.ascontiguousarray(check_inputs(X), dtype=np.float64)
        if inputs.shape[1:] != self.input_shape:
            raise InputError(
                f"X has rows of shape {inputs.shape[1:]}, but the predictor takes "
                f"{self.input_shape}. Pass inputs of the same shape."
            )
        names = check_domain_names(sample_domain, len(inputs))
        unknown = list(dict.fromkeys(name for name in names if name not in self._numbers))
        if unknown:
            raise InputError(
                f"sample_domain names {preview(unknown)}, which the exported predictor does not "
                "know. New domains need the model itself: add_domains and export again, or "
                "domindex.load."
            )
        numbers = np.array([self._numbers[name] for name in names], dtype=np.int64)
        at_once = 4096  # a program gathers every row's own matrices
        parts = [
            self._run(inputs[start : start + at_once], numbers[start : start + at_once])
            for start in range(0, len(inputs), at_once)
        ]
        return [np.concatenate(column) for column in zip(*parts)]


def load_exported(path: str | os.PathLike[str]) -> ExportedPredictor:
    """Open a folder that `model.export` wrote. Open only what you trust: programs are code.

    Examples
    --------
    >>> load_exported("nowhere")
    Traceback (most recent call last):
    domindex.errors.InputError: ...
    """
    folder = existing_folder(path)
    check_manifest(folder)
    description = read_json(folder / DESCRIPTION, form=FORM, newest=FORM_VERSION)
    try:
        runners = {"torch": _torch_run, "onnx": _onnx_run}
        return ExportedPredictor(description, runners[description["kind"]](folder, description))
    except InputError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, RuntimeError) as error:
        raise InputError(
            f"{folder} is damaged: {DESCRIPTION} does not describe a predictor "
            f"({type(error).__name__}: {error}). Export the model again."
        ) from error


def _onnx_run(folder: Path, description: dict[str, Any]) -> Run:
    session = onnx_session(folder / ONNX)
    return lambda X, numbers: tuple(session.run(None, dict(zip(INPUTS, (X, numbers)))))


def _torch_run(folder: Path, description: dict[str, Any]) -> Run:
    program = torch.export.load(folder / PROGRAM).module()
    is_old, estimators = description["format_version"] == 1, []
    for number, described in enumerate(description["skops"]):
        packed = np.frombuffer(read_bounded(folder / SKOPS.format(number), 2**31), dtype=np.uint8)
        estimators.append(EstimatorPredictor.from_state({**described, "estimators": packed}))
    before = torch.export.load(folder / FEATURES).module() if estimators else None

    def run(X: NDArray, numbers: NDArray[np.int64]) -> tuple[NDArray, ...]:
        with torch.no_grad():
            given = (torch.tensor(X), torch.tensor(numbers))
            if before is not None:
                found, count = before(*given), len(estimators)
                context = given if is_old else found[:-count]
                given = (*context, *ask(estimators, found[-count:]))
            return tuple(one.numpy() for one in program(*given))

    return run

"""Open an exported predictor: no estimator, no map, no training code; known domains only."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from domindex.committee.learners.estimators import EstimatorPredictor
from domindex.errors import InputError
from domindex.export.exporting import (
    DESCRIPTION,
    FEATURES,
    FORM,
    FORM_VERSION,
    ONNX,
    PROGRAM,
    skops_name,
)
from domindex.export.onnx_files import INPUTS, onnx_session
from domindex.export.program import ask
from domindex.inputs import check_domain_names, check_inputs
from domindex.inputs.messages import preview
from domindex.persistence.atomic import existing_folder
from domindex.persistence.codec import decode, read_json
from domindex.persistence.manifest import check_manifest
from domindex.persistence.paths import read_bounded

Run = Callable[[NDArray, NDArray[np.int64]], tuple[NDArray, ...]]


class ExportedPredictor:
    """What `model.export` wrote, to be asked for predictions in the domains that it knows.

    Attributes
    ----------
    domains : names, in the order of the numbers that a program takes
    classes : in the order of the columns of `predict_proba`; None for values
    input_shape : of a row

    Examples
    --------
    >>> from domindex import load_exported
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
        one = (lambda array: array[:, 0]) if self._single_output else (lambda array: array)
        return (one(mean), one(deviation[0])) if return_std else one(mean)

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
    >>> from domindex import load_exported
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
    import torch

    program = torch.export.load(folder / PROGRAM).module()
    is_old, estimators = description["format_version"] == 1, []
    for number, described in enumerate(description["skops"]):
        packed = np.frombuffer(read_bounded(folder / skops_name(number), 2**31), dtype=np.uint8)
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

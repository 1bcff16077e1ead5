"""Every candidate's predictions of source domains that it never saw."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import cast

import numpy as np

from domindex.arrays import Floats
from domindex.committee.candidates import Candidate, Trial, learn, predict_with
from domindex.committee.folds import Fold, HeldOutRows, RepresentedFolds
from domindex.committee.kept_pieces import KeptPieces
from domindex.committee.parallel import Workers
from domindex.committee.weighing import mix_penalties
from domindex.errors import PredictorError
from domindex.inputs import DomainData
from domindex.progress import Progress


def validate(
    candidates: Sequence[Candidate],
    represented: dict[str, RepresentedFolds],
    rows: HeldOutRows,
    data: DomainData,
    seed: int,
    workers: Workers,
    progress: Progress,
    kept: KeptPieces,
    draws: int,
) -> list[Trial]:
    """A trial for each candidate; one whose predictor fails is left out with a warning.

    Candidates that differ in their penalty alone are mixed, over so many `draws` of the held-out
    domains. Where all fail, the last failure is raised. What was `kept` is not predicted again.
    """
    of: dict[Candidate, Floats | PredictorError] = {}
    for candidate in candidates:
        predicted = kept.held_out(candidate)
        if predicted is not None:
            of[candidate] = predicted
    ordered = sorted((one for one in candidates if one not in of), key=lambda one: one.in_threads)
    attempts = (
        result
        for in_threads, group in groupby(ordered, key=lambda one: one.in_threads)
        for result in _attempts(
            [(one, represented[one.features]) for one in group],
            rows,
            (data, seed),
            workers,
            in_threads,
        )
    )
    shown = progress.each("validating", attempts, total=len(ordered))
    for result, candidate in zip(shown, ordered):
        of[candidate] = result
        if not isinstance(result, PredictorError):
            kept.keep_held_out(candidate, result)
    named: dict[str, list[tuple[Trial, Floats]]] = {}
    failures: dict[str, PredictorError] = {}
    for candidate in candidates:
        result = of[candidate]
        if isinstance(result, PredictorError):
            failures[candidate.name] = result
        else:
            trial = Trial.of(candidate, result, rows)
            named.setdefault(candidate.name, []).append((trial, result))
    if not named:
        raise list(failures.values())[-1]
    for name, failure in failures.items():
        warnings.warn(f"{name} is left out: {failure}", stacklevel=2)
    return [mix_penalties(tried, rows, draws, seed) for tried in named.values()]


def predict_held_out(
    candidate: Candidate,
    represented: RepresentedFolds,
    rows: HeldOutRows,
    data: DomainData,
    seed: int,
) -> Floats:
    """(n, columns) for the rows of all folds, in the user's units."""
    return np.concatenate(
        [predict_fold(candidate, represented, fold, data, seed) for fold in rows.folds]
    )


def predict_fold(
    candidate: Candidate, represented: RepresentedFolds, fold: Fold, data: DomainData, seed: int
) -> Floats:
    """(n, columns) for the rows that one fold holds out."""
    train, held_out = represented.of(fold)
    predictor = learn(candidate, represented, train, held_out, fold.train, fold.domains, seed)
    predicted = predict_with(predictor, held_out)
    return held_out.restore(predicted) if data.classes is None else predicted


def _attempts(
    candidates: Sequence[tuple[Candidate, RepresentedFolds]],
    rows: HeldOutRows,
    given: tuple[DomainData, int],
    workers: Workers,
    in_threads: bool,
) -> Iterator[Floats | PredictorError]:
    """What each candidate predicts, in their order.

    Threads are given a fold at a time: the last candidates, of which some take several times as
    long as others, then keep all of them busy. What is sent to other processes is a candidate with
    all its folds, for its rows go with it.
    """
    if not (in_threads and workers.has_threads):
        whole = [(predict_held_out, *one, rows, *given) for one in candidates]
        yield from workers.run(_attempt, whole, in_threads=in_threads)
        return
    folded = [(predict_fold, *one, fold, *given) for one in candidates for fold in rows.folds]
    results = workers.run(_attempt, folded, in_threads=True)
    for _ in candidates:
        yield _joined([next(results) for _ in rows.folds])


def _joined(parts: Sequence[Floats | PredictorError]) -> Floats | PredictorError:
    """The predictions of all folds, or the first failure."""
    failed = [part for part in parts if isinstance(part, PredictorError)]
    return failed[0] if failed else np.concatenate(cast("Sequence[Floats]", parts))


def _attempt(function: Callable[..., Floats], *arguments: object) -> Floats | PredictorError:
    try:
        return function(*arguments)
    except PredictorError as error:
        return error

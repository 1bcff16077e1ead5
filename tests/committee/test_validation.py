"""Tests of who predicts the folds: threads a fold at a time, processes a candidate at a time."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from domindex.committee import validation
from domindex.committee.parallel import Workers
from domindex.errors import PredictorError

ROWS = SimpleNamespace(folds=(1, 2, 3))
DATA = SimpleNamespace(classes=None)


@pytest.fixture
def predicted(monkeypatch):
    """Folds as they are predicted: a number for each candidate and fold, and one that fails."""
    calls = []

    def predict_fold(candidate, represented, fold, data, seed):
        calls.append((candidate, fold))
        if (candidate, fold) == ("b", 2):
            raise PredictorError("b fails in fold 2")
        return np.full((2, 1), 10.0 * "abc".index(candidate) + fold)

    monkeypatch.setattr(validation, "predict_fold", predict_fold)
    return calls


@pytest.mark.parametrize("workers", [Workers(None, 2), Workers(1, 2), Workers(None, 1)])
def test_predictions_come_by_candidate_with_all_folds_and_a_failure_in_its_place(
    workers, predicted
):
    candidates = [(name, None) for name in "abc"]
    found = list(validation._attempts(candidates, ROWS, (DATA, 0), workers, True))
    np.testing.assert_array_equal(found[0].ravel(), [1, 1, 2, 2, 3, 3])
    assert isinstance(found[1], PredictorError)
    assert "fold 2" in str(found[1])
    np.testing.assert_array_equal(found[2].ravel(), [21, 21, 22, 22, 23, 23])


def test_threads_are_given_every_fold(predicted):
    candidates = [(name, None) for name in "abc"]
    list(validation._attempts(candidates, ROWS, (DATA, 0), Workers(None, 2), True))
    assert sorted(predicted) == [(name, fold) for name in "abc" for fold in ROWS.folds]

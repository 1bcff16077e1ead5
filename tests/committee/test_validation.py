"""Who predicts the folds: threads a fold at a time, processes a candidate at a time."""

from types import SimpleNamespace

import numpy as np
import pytest

from domindex.committee import building
from domindex.committee.context import Workers
from domindex.errors import PredictorError

FOLDS = (1, 2, 3)
CANDIDATES = [SimpleNamespace(name=name, features="raw", in_threads=True) for name in "abc"]


@pytest.fixture
def predicted(monkeypatch):
    """Folds as they are predicted: a number for each candidate and fold, and one that fails."""
    calls = []

    def predict_folds(candidate, represented, folds, seed):
        calls.append((candidate.name, folds))
        if candidate.name == "b" and 2 in folds:
            return PredictorError("b fails in fold 2")
        return np.repeat([[10.0 * "abc".index(candidate.name) + fold] for fold in folds], 2, axis=0)

    monkeypatch.setattr(building, "predict_folds", predict_folds)
    return calls


@pytest.mark.parametrize("workers", [Workers(None, 2), Workers(1, 2), Workers(None, 1)])
def test_predictions_come_by_candidate_with_all_folds_and_a_failure_in_its_place(
    workers, predicted
):
    found = list(building.attempt(CANDIDATES, {"raw": None}, FOLDS, workers, 0))
    np.testing.assert_array_equal(found[0].ravel(), [1, 1, 2, 2, 3, 3])
    assert "fold 2" in str(found[1])
    np.testing.assert_array_equal(found[2].ravel(), [21, 21, 22, 22, 23, 23])


def test_threads_are_given_every_fold(predicted):
    list(building.attempt(CANDIDATES, {"raw": None}, FOLDS, Workers(None, 2), 0))
    assert sorted(predicted) == [(name, (fold,)) for name in "abc" for fold in FOLDS]

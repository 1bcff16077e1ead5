"""Fits in several processes are those of one, to the last bit."""

import numpy as np
import pytest

from domindex import Training, VDIClassifier, VDIRegressor
from domindex.datasets import make_circle

SETTINGS = {"training": Training(index_steps=3, steps=5), "random_state": 0}
PAIRS = [("raw", "linear"), ("domain_standardised", "trees"), ("flow", "network")]


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        (VDIClassifier, {"candidates": PAIRS}),
        (VDIRegressor, {"candidates": PAIRS}),
        (VDIClassifier, {"predictor": "network"}),
        (VDIClassifier, {"flow": None}),
    ],
    ids=["classes", "values", "network", "paper"],
)
def test_two_processes_fit_what_one_fits(kind, settings):
    family = make_circle(n_domains=6, n_sources=3, samples_per_domain=20, random_state=0)
    y = family.y if kind is VDIClassifier else family.X
    known = {"sample_domain": family.sample_domain}
    alone, together = (
        kind(n_jobs=n_jobs, **settings, **SETTINGS).fit(
            family.X, y, **known, source_domains=family.source_domains
        )
        for n_jobs in (None, 2)
    )
    ask = "predict_proba" if kind is VDIClassifier else "predict"
    np.testing.assert_array_equal(
        *(getattr(model, ask)(family.X, **known) for model in (alone, together))
    )
    np.testing.assert_array_equal(alone.domain_indices_, together.domain_indices_)
    assert alone.candidates_.equals(together.candidates_)

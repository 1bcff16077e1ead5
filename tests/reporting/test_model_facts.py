"""What a report takes from an estimator, whatever of it is there."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from domindex.reporting.model_facts import MAX_EPOCHS, model_facts, quick_training
from domindex.reporting.report_data import History


def test_an_estimator_that_chose_nothing_has_nothing_to_show():
    facts = model_facts(SimpleNamespace())
    assert (facts.representation, facts.flow, facts.candidates) == (None, None, ())
    assert facts.history == History()


def test_candidates_become_plain_values():
    table = pd.DataFrame(
        {"candidate": ["raw", "rows"], "error": [np.nan, 1.5], "chosen": [False, True]}
    )
    facts = model_facts(SimpleNamespace(representation_="rows", candidates_=table))
    assert facts.representation == "rows"
    assert facts.candidates == (
        {"candidate": "raw", "error": None, "chosen": False},
        {"candidate": "rows", "error": 1.5, "chosen": True},
    )


def test_a_classifier_names_its_flow_and_a_regressor_its_candidates(classifier, regressor):
    for model in (classifier, regressor):
        assert sum(one["weight"] for one in model_facts(model).candidates) == pytest.approx(1.0)
    assert model_facts(classifier).flow is not None
    assert model_facts(regressor).representation == "raw"


def test_a_long_history_is_thinned_from_first_to_last():
    epochs = np.arange(5000)
    frame = pd.DataFrame({"phase": "encoding", "step": epochs, "label": epochs * 1.0})
    history = model_facts(SimpleNamespace(history_=frame)).history
    assert len(history.phases) == MAX_EPOCHS
    assert history.terms["label"][0] == 0.0
    assert history.terms["label"][-1] == 4999.0
    assert list(history.terms) == ["label"]


def test_a_refit_never_trains_longer_than_the_model_did(classifier):
    quick = quick_training(classifier)
    assert quick.steps == classifier.training.steps == 10
    assert quick.parameters.keys() <= classifier.get_params().keys()

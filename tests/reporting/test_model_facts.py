"""What a report takes from an estimator, whatever of it is there."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from domindex.reporting.model_facts import MAX_EPOCHS, model_facts
from domindex.reporting.records import ForecastRecord, History


def test_an_estimator_that_chose_nothing_has_nothing_to_show():
    facts = model_facts(SimpleNamespace())
    assert (facts.representation, facts.flow, facts.members) == (None, None, ())
    assert (facts.summary, facts.forecasts) == ((), {})
    assert facts.history == History()


def test_candidates_that_predict_become_plain_values():
    table = pd.DataFrame(
        {
            "candidate": ["linear on raw", "trees on raw"],
            "weight": [1.0, 0.0],
            "near_loss": [0.5, 0.7],
            "far_loss": [np.nan, np.nan],
        }
    )
    facts = model_facts(SimpleNamespace(representation_="raw", candidates_=table))
    assert facts.representation == "raw"
    assert facts.members == (
        {"candidate": "linear on raw", "weight": 1.0, "near loss": 0.5, "far loss": None},
    )


@pytest.mark.parametrize("column", ["expected_accuracy", "expected_error"])
def test_forecasts_are_found_by_the_name_of_their_domain(column):
    table = pd.DataFrame({"domain": [3, 7], column: [0.9, 0.8], "low": [0.7, 0.6], "high": 1.0})
    forecasts = model_facts(SimpleNamespace(forecast_=table)).forecasts
    assert forecasts == {"3": ForecastRecord(0.9, 0.7, 1.0), "7": ForecastRecord(0.8, 0.6, 1.0)}


def test_a_model_says_who_predicts_and_what_to_expect(classifier, regressor):
    for model in (classifier, regressor):
        facts = model_facts(model)
        assert sum(one["weight"] for one in facts.members) == pytest.approx(1.0)
        assert facts.summary == tuple(model.summary().splitlines())
        assert facts.forecasts.keys() == set(model.domains_) - set(model.source_domains_)
    assert model_facts(regressor).representation == "raw"


def test_the_family_of_a_flow_is_named():
    assert model_facts(SimpleNamespace(flow_={"family": "spin"})).flow == "spin"
    assert model_facts(SimpleNamespace(flow_=None)).flow is None


def test_a_long_history_is_thinned_from_first_to_last():
    epochs = np.arange(5000)
    frame = pd.DataFrame({"phase": "encoding", "step": epochs, "label": epochs * 1.0})
    history = model_facts(SimpleNamespace(history_=frame)).history
    assert len(history.phases) == MAX_EPOCHS
    assert history.terms["label"][0] == 0.0
    assert history.terms["label"][-1] == 4999.0
    assert list(history.terms) == ["label"]

"""Tables of a fitted model as the records of a report."""

import numpy as np
import pandas as pd
import pytest

from domindex.reporting.building import forecast_records, history_record, member_records
from domindex.reporting.report_data import ForecastRecord, History


def test_candidates_that_predict_become_plain_values():
    table = pd.DataFrame(
        {
            "candidate": ["linear on raw", "trees on raw"],
            "representation": ["raw", "raw"],
            "weight": [1.0, 0.0],
            "near_loss": [0.5, 0.7],
            "far_loss": [np.nan, np.nan],
        }
    )
    assert member_records(table) == (
        {"candidate": "linear on raw inputs", "weight": 1.0, "near loss": 0.5, "far loss": None},
    )


@pytest.mark.parametrize("column", ["expected_accuracy", "expected_error"])
def test_forecasts_are_found_by_the_name_of_their_domain(column):
    table = pd.DataFrame({"domain": [3, 7], column: [0.9, 0.8], "low": [0.7, 0.6], "high": 1.0})
    expected = {"3": ForecastRecord(0.9, 0.7, 1.0), "7": ForecastRecord(0.8, 0.6, 1.0)}
    assert forecast_records(table) == expected
    assert forecast_records(table.head(0)) == {}


def test_a_long_history_is_thinned_from_first_to_last():
    epochs = np.arange(5000)
    frame = pd.DataFrame({"phase": "encoding", "step": epochs, "label": epochs * 1.0})
    history = history_record(frame)
    assert len(history.phases) == 400
    assert history.terms["label"][0] == 0.0
    assert history.terms["label"][-1] == 4999.0
    assert list(history.terms) == ["label"]
    assert history_record(frame.head(0)) == History()

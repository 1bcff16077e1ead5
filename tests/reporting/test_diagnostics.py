"""Diagnostics of maps: nothing is said of an ordinary one, and what may mislead is named."""

from dataclasses import replace

import numpy as np

from domindex.geometry import DomainIndex
from domindex.reporting.diagnostics import diagnose
from domindex.reporting.report_data import (
    DomainRecord,
    ForecastRecord,
    HeldOutQuality,
    HeldOutScore,
)


def record(place: float, role: str = "target", rows: int = 50, away: float = 0.0) -> DomainRecord:
    return DomainRecord(f"at {place}", role, rows, (place, 0.0), (0.01, 0.01), (), away)


def diagnosis(records, held_out=None, off_map=()) -> str:
    places = np.array([one.coordinates for one in records])
    apart = np.linalg.norm(places[:, None] - places, axis=-1)
    index = DomainIndex([one.name for one in records], places, apart, np.zeros(len(places)))
    return " ".join(diagnose(index, records, None, held_out, off_map))


def test_an_ordinary_map_needs_no_warning():
    assert diagnosis([record(0.0, "source"), record(1.0), record(2.0, away=2.0)]) == ""


def test_small_domains_are_named():
    assert "1 domain has fewer than 10 rows: at 1.0." in diagnosis(
        [record(0.0, "source"), record(1.0, rows=4)]
    )


def test_added_domains_off_the_map_are_named():
    records = [record(0.0, "source"), record(1.0), record(2.0)]
    assert "1 added domain lies off the map" in diagnosis(records, off_map=["at 2.0"])


def test_targets_beyond_the_reach_of_the_sources_are_named_farthest_first():
    records = [record(0.0, "source"), record(1.0, "source"), record(5.0, away=4.0)]
    assert "1 target lies farther" in diagnosis([*records, record(6.0, away=3.5)][:3])
    assert "at 9.0, at 5.0" in diagnosis([*records, record(9.0, away=8.0)])


def test_a_collapsed_index_is_called_so():
    assert "all domains lie on one point" in diagnosis([record(0.0, "source"), record(0.0)])
    blurred = [replace(one, deviations=(3.0, 3.0)) for one in (record(0.0, "source"), record(1.0))]
    assert "may have collapsed" in diagnosis(blurred)


def test_a_plain_model_that_did_better_is_mentioned():
    worse = HeldOutQuality("accuracy", True, "", "", (HeldOutScore("a", 0.5, 0.9),))
    assert "a plain model without adaptation did better" in diagnosis(
        [record(0.0, "source"), record(1.0)], worse
    )
    assert not replace(worse, higher_is_better=False).clearly_worse
    nearly = replace(worse, scores=(HeldOutScore("a", 0.98, 0.99),))
    assert not nearly.clearly_worse


def test_targets_that_can_be_reached_both_ways_with_different_answers_are_named():
    forecast = ForecastRecord(0.9, 0.1, 1.0, two_ways=0.2)
    apart = replace(record(2.0, away=2.0), forecast=forecast)
    found = diagnosis([record(0.0, "source"), record(1.0), apart])
    assert "1 target can be reached both ways round with different predictions: at 2.0." in found
    agreed = replace(apart, forecast=replace(forecast, two_ways=1.0))
    assert diagnosis([record(0.0, "source"), record(0.5, "source"), agreed]) == ""


def test_forecasts_of_a_single_source_are_doubted():
    far = replace(record(1.0), forecast=ForecastRecord(0.97, 0.48, 1.0))
    assert "There is one source" in diagnosis([record(0.0, "source"), far])
    assert "one source" not in diagnosis([record(0.0, "source"), record(0.5, "source"), far])


def test_targets_far_from_the_only_source_are_not_compared_with_sources_that_there_are_not():
    found = diagnosis([record(0.0, "source"), record(1.0), record(9.0, away=9.0)])
    assert "1 target lies more than 3 median spacings from the only source: at 9.0." in found
    assert "from one another" not in found

"""Columns that never change within a domain: when rules without them are tried, and their gain."""

import numpy as np
import pytest

from domindex import CrossDomainClassifier, Training
from domindex.committee.candidates import list_candidates
from domindex.committee.settings import ChoiceSettings
from domindex.errors import InputError
from domindex.geometry.domain_geometry import DomainGeometry
from domindex.inputs import check_domain_data
from domindex.representations import PlacedRows, representation_named
from domindex.representations.base import WithoutConstants

MONTHS = [f"month {number:02}" for number in range(1, 13)]
LATE = MONTHS[6:]
SHORT = Training(steps=3, index_steps=3)


def bookings(n_rows=60, seed=0):
    """Twelve months; late ones are labelled. What is cancelled depends on the price, more or less
    so from month to month, and the number of the month says nothing of how much."""
    rng = np.random.default_rng(seed)
    month = np.repeat(np.arange(1, 13), n_rows)
    price, guests = rng.normal(size=(2, len(month)))
    level = 1.5 * rng.normal(size=13)[month]
    cancelled = 2 * price + level + rng.normal(size=len(month)) > 0
    X = np.column_stack([price, month, guests])
    return X, np.where(cancelled, "yes", "no"), np.array(MONTHS)[month - 1]


def checked(X, sources=LATE):
    months = bookings()[2]
    return check_domain_data(X, bookings()[1], months, sources, task="classification")


def is_tried(X, sources=LATE):
    data = checked(X, sources)
    geometry = DomainGeometry.fit(data, 2)
    listed = list_candidates(None, "auto", "auto", data, geometry, ChoiceSettings())
    return "without_constants" in {candidate.representation for candidate in listed}


def test_it_is_tried_where_a_target_lies_outside_the_sources_in_such_a_column():
    X = bookings()[0]
    assert is_tried(X)
    assert not is_tried(X, [MONTHS[0], MONTHS[5], MONTHS[11]])  # months in between are no risk
    moving = X + [0.0, 0.01, 0.0] * np.random.default_rng(0).normal(size=(len(X), 1))
    assert not is_tried(moving)  # it changes within domains
    assert not is_tried(X[:, [0, 2]])
    assert not is_tried(X, MONTHS)  # no target


def test_a_category_that_no_source_has_is_outside_too():
    X = bookings()[0]
    is_june = (X[:, 1] == 6).astype(float)
    assert is_tried(np.column_stack([X[:, 0], is_june]))


def test_the_columns_that_change_stay_as_they_are():
    data = checked(bookings()[0])
    geometry = DomainGeometry.fit(data, 2)
    known = WithoutConstants.fit(data, geometry)
    assert known.kept.tolist() == [0, 2]
    raw = representation_named("raw").fit(data, geometry)
    rows = PlacedRows.of_map(data, geometry.domain_map)
    np.testing.assert_array_equal(known.apply(rows).features, raw.apply(rows).features[:, [0, 2]])


def test_where_nothing_changes_it_cannot_be_asked_for():
    data = checked(bookings()[0][:, [1, 1]])
    with pytest.raises(InputError, match="all columns of X are such"):
        WithoutConstants.fit(data, DomainGeometry.fit(data, 2))


@pytest.mark.parametrize("kept", [[], [0, 3], [-1]])
def test_a_damaged_state_is_refused(kept):
    data = checked(bookings()[0])
    state = WithoutConstants.fit(data, DomainGeometry.fit(data, 2)).state()
    with pytest.raises(ValueError, match="none of the inputs"):
        WithoutConstants.from_state({**state, "kept": kept})


def fitted(*pairs):
    X, y, months = bookings()
    model = CrossDomainClassifier(candidates=list(pairs), training=SHORT, random_state=0)
    return model.fit(X, y, sample_domain=months, source_domains=LATE)


def test_held_out_months_prefer_it_where_the_month_misleads():
    X, y, months = bookings()
    early = np.isin(months, MONTHS[:6])

    def right(model):
        return (model.predict(X[early], sample_domain=months[early]) == y[early]).mean()

    raw = fitted(("raw", "kernel"))
    both = fitted(("raw", "kernel"), ("without_constants", "kernel"))
    assert right(both) > right(raw) + 0.1
    assert "features that vary within domains" in both.summary()


def test_it_is_saved_and_exported(stays_itself):
    X, _, months = bookings()
    model = fitted(("without_constants", "linear"))
    stays_itself(model, X, months)

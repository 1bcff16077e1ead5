"""Domains without names: windows along an order stand for them."""

import numpy as np
import pandas as pd
import pytest

import domindex
from domindex import CrossDomainClassifier, DomainIndexer
from domindex.errors import InputError

PAIRS = [("flow", "linear"), ("raw", "linear")]


@pytest.fixture(scope="module")
def stream():
    """Two classes that drift together, so that a rule of the start is wrong at the end; labels in
    the first half only, rows in any order."""
    rng, n_rows = np.random.default_rng(0), 600
    times = np.linspace(0.0, 6.0, n_rows)
    truth = rng.integers(0, 2, n_rows)
    X = rng.normal(scale=0.3, size=(n_rows, 2))
    X += np.stack([times + truth, -0.5 * times], axis=1)
    shuffled = rng.permutation(n_rows)
    return X[shuffled], truth[shuffled], times[shuffled]


@pytest.fixture(scope="module")
def model(stream):
    X, truth, times = stream
    y = np.where(times < 3.0, truth, np.nan)
    made = CrossDomainClassifier(candidates=PAIRS, effort="quick", random_state=0)
    return made.fit(X, y, order=times)


def test_windows_are_the_domains_and_those_with_labels_the_sources(model):
    found = model.discovered_domains_
    assert sorted(found["domain"]) == sorted(model.domains_)
    assert found["first"].is_monotonic_increasing
    labelled = found.loc[found["last"] < 3.0, "domain"]
    assert sorted(labelled) == sorted(model.source_domains_)
    assert len(model.boundaries_) == len(found) - 1


def test_it_predicts_where_drift_has_gone_to(model, stream):
    X, truth, times = stream
    later = times >= 3.0
    names = model.name_domains(times)
    predicted = model.predict(X, sample_domain=names)
    # Who knows the drift has 0.96, and the sources' rule 0.5.
    assert (predicted == truth)[later].mean() > 0.85


def test_the_index_of_rows_follows_time(model, stream):
    times = stream[2]
    assert model.row_index_.shape == (600, 2)
    order = np.argsort(times)
    first = model.row_index_[order, 0]
    assert abs(np.corrcoef(first, times[order])[0, 1]) > 0.98
    np.testing.assert_array_equal(model.index_at(times), model.row_index_)


def test_a_time_is_a_place(model, stream):
    X, truth, times = stream
    late = np.flatnonzero(times > 5.0)
    predicted = model.predict(X[late], at=times[late])
    assert (predicted == truth[late]).mean() > 0.85
    assert model.predict(X[late[:1]], at=6.2).shape == (1,)


def test_a_saved_model_knows_its_windows(model, stream, tmp_path):
    model.save(tmp_path / "model")
    opened = domindex.load(tmp_path / "model")
    times = stream[2]
    assert opened.name_domains(times) == model.name_domains(times)
    np.testing.assert_array_equal(opened.index_at(times), model.row_index_)
    pd.testing.assert_frame_equal(opened.discovered_domains_, model.discovered_domains_)


def test_an_order_may_be_a_column_and_needs_no_labels(stream):
    X, _, times = stream
    table = pd.DataFrame(X, columns=["a", "b"])
    table["day"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(times, unit="D")
    indexer = DomainIndexer(effort="quick", random_state=0).fit(table, order="day")
    assert list(indexer.feature_names_in_) == ["a", "b"]
    assert indexer.boundaries_[0] > pd.Timestamp("2024-01-01", tz="UTC")
    assert all(name.startswith("2024-01-0") for name in indexer.domains_)


def test_what_orders_nothing_is_refused(stream, model):
    X, truth, times = stream
    with pytest.raises(InputError, match="order is given, and sample_domain"):
        CrossDomainClassifier().fit(X, truth, order=times, sample_domain=["a"] * len(X))
    with pytest.raises(InputError, match="order is constant"):
        CrossDomainClassifier().fit(X, truth, order=np.ones(len(X)))
    with pytest.raises(InputError, match=r"sample_domain is missing.*Rows alone make no domains"):
        CrossDomainClassifier().fit(X, truth)
    with pytest.raises(InputError, match="knows no order"):
        DomainIndexer(effort="quick").fit(X, sample_domain=times < 3).index_at(times)


def test_a_fit_with_names_forgets_the_order(stream):
    X, _, times = stream
    indexer = DomainIndexer(effort="quick", random_state=0).fit(X, order=times)
    indexer.fit(X, sample_domain=times < 3)
    assert not hasattr(indexer, "row_index_")
    assert indexer.domains_ == [False, True]

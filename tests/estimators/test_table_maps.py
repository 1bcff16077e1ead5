"""The map of a table, as users see it: from columns of different units, and from labels."""

import numpy as np
import pandas as pd
import pytest

import domindex
from domindex import CrossDomainClassifier, CrossDomainRegressor

N_DOMAINS, N_ROWS = 12, 60
NAMES = [f"h{number:02}" for number in range(N_DOMAINS)]
SOURCES = NAMES[::2]


def table(seed=0):
    """Columns of different units, whose means drift along the domains; y drifts with them."""
    rng = np.random.default_rng(seed)
    place = np.repeat(np.arange(N_DOMAINS), N_ROWS)
    X = rng.normal(size=(len(place), 3)) + np.outer(place, [0.3, 0.0, 0.1])
    y = X[:, 1] + 0.5 * place
    return X * [1.0, 1000.0, 0.01], y, np.array(NAMES)[place]


X, Y, DOMAIN = table()
HOW = {"sample_domain": DOMAIN, "source_domains": SOURCES}


@pytest.fixture(scope="module")
def regressor():
    model = CrossDomainRegressor(candidates=[("raw", "linear")], effort="quick", random_state=0)
    return model.fit(X, Y, **HOW)


def test_domains_lie_in_the_order_in_which_columns_and_labels_drift(regressor):
    order = np.corrcoef(regressor.domain_indices_[:, 0], np.arange(N_DOMAINS))[0, 1]
    assert abs(order) > 0.95


def test_units_of_columns_do_not_matter(regressor):
    model = CrossDomainRegressor(candidates=[("raw", "linear")], effort="quick", random_state=0)
    model.fit(X * [1.0, 1e3, 1e6], Y, **HOW)
    np.testing.assert_allclose(model.domain_indices_, regressor.domain_indices_, atol=1e-3)


def test_columns_of_one_unit_have_the_map_of_their_inputs():
    model = CrossDomainRegressor(candidates=[("raw", "linear")], effort="quick", random_state=0)
    model.fit(X / [1.0, 1000.0, 0.01], Y, **HOW)
    np.testing.assert_array_equal(model.domain_indices_, model._indices.domain_map.coordinates)


def test_known_domains_are_placed_where_the_map_has_them(regressor):
    found = regressor.place_domains(X, sample_domain=DOMAIN)
    np.testing.assert_array_equal(found[["index_1", "index_2"]], regressor.domain_indices_)
    np.testing.assert_array_equal(found[["std_1", "std_2"]], regressor.domain_index_std_)


def test_a_new_domain_is_placed_beside_the_one_it_resembles_and_stays_there_when_added(regressor):
    rows = DOMAIN == "h05"
    new = np.array(["new"] * int(rows.sum()))
    place = regressor.place_domains(X[rows], sample_domain=new)
    assert place["nearest_1"].item() in ("h04", "h05", "h06")
    grown = regressor.add_domains(X[rows], sample_domain=new)
    np.testing.assert_allclose(grown.domain_indices_[-1], place[["index_1", "index_2"]].iloc[0])
    np.testing.assert_array_equal(grown.domain_indices_[:-1], regressor.domain_indices_)
    assert len(grown.domain_index_std_) == N_DOMAINS + 1


def test_forecasts_name_the_nearest_source_on_the_map(regressor):
    placed = regressor.map_.set_index("domain")
    for _, row in regressor.forecast_.iterrows():
        gaps = np.linalg.norm(
            regressor.domain_indices_[[NAMES.index(name) for name in SOURCES]]
            - regressor.domain_indices_[NAMES.index(row["domain"])],
            axis=1,
        )
        assert row["nearest"] == SOURCES[int(gaps.argmin())]
        assert row["distance"] == pytest.approx(placed.loc[row["domain"], "distance"])
    assert list(placed.index) == NAMES


def test_the_summary_says_how_far_distances_can_be_trusted(regressor):
    assert "between 6 sources their rank correlation" in regressor.summary()


def test_it_comes_back_from_a_folder(regressor, tmp_path):
    regressor.save(tmp_path / "model")
    again = domindex.load(tmp_path / "model")
    np.testing.assert_array_equal(again.domain_indices_, regressor.domain_indices_)
    np.testing.assert_array_equal(again.domain_index_std_, regressor.domain_index_std_)
    pd.testing.assert_frame_equal(
        again.place_domains(X[:40]), regressor.place_domains(X[:40]), check_dtype=False
    )
    np.testing.assert_array_equal(
        again.index_deviations([[0.0, 0.0]]), regressor.index_deviations([[0.0, 0.0]])
    )


def test_a_damaged_map_is_refused(regressor):
    state = regressor.state()
    damaged = {**state["transfer_map"], "domains": tuple("abcdefghijkl")}
    with pytest.raises(ValueError, match="other domains"):
        CrossDomainRegressor.from_state(state | {"transfer_map": damaged})


@pytest.mark.parametrize("case", ["one class", "constant column", "no relation", "one row"])
def test_odd_tables_have_a_map(case):
    inputs, domain = X.copy(), DOMAIN.copy()
    label = np.array(["low", "high"])[(np.median(Y) < Y).astype(int)]
    if case == "one class":
        label[np.isin(domain, SOURCES)] = "low"
        label[0] = "high"
    if case == "constant column":
        inputs[:, 2] = 7.0
    if case == "no relation":
        label = np.random.default_rng(1).permutation(label)
    if case == "one row":
        inputs, label, domain = inputs[:-59], label[:-59], domain[:-59]
    model = CrossDomainClassifier(candidates=[("raw", "linear")], effort="quick", random_state=0)
    model.fit(inputs, label, sample_domain=domain, source_domains=SOURCES)
    assert np.isfinite(model.domain_indices_).all()
    assert (model.domain_index_std_ > 0).all()
    assert len(model.domain_index_.domains) == N_DOMAINS


def test_a_place_on_the_map_stands_for_the_domain_that_lies_there():
    model = CrossDomainRegressor(
        candidates=[("with_index", "linear")], effort="quick", random_state=0
    ).fit(X, Y, **HOW)
    rows = DOMAIN == "h05"
    known = model.predict(X[rows], sample_domain=DOMAIN[rows])
    there = model.predict(X[rows], at=model.domain_indices_[5])
    np.testing.assert_allclose(there, known)
    between = model.predict(X[rows], at=model.domain_indices_[5:7].mean(axis=0))
    assert np.isfinite(between).all()

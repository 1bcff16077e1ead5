"""The regressor as a user meets it."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.metrics import r2_score

from domindex import CrossDomainRegressor, Training
from domindex.errors import InputError

TRAINING = {
    "effort": "quick",
    "training": Training(index_steps=10, steps=30),
    "random_state": 0,
}
QUICK = {"predictor": "linear", **TRAINING}
LINE = {"index_dim": 1, "local_dim": 1}
"""Of the map, where it does not matter: a line is found in a fraction of the time."""
SHORT = TRAINING | {"training": Training(index_steps=3, steps=5)}
CHEAP = {"candidates": [("raw", "linear"), ("row_standardised", "linear")], **LINE, **TRAINING}
N_DOMAINS, N_SOURCES = 12, 5


class Family:
    """Rows of twelve domains, the first five with labels."""

    def __init__(self, X, y, sizes):
        self.X, self.y = X, y
        self.domain = np.repeat([f"d{n}" for n in range(N_DOMAINS)], sizes)
        self.sources = [f"d{n}" for n in range(N_SOURCES)]
        self.target = ~np.isin(self.domain, self.sources)

    def fit(self, model, X=None, y=None):
        return model.fit(
            self.X if X is None else X,
            self.y if y is None else y,
            sample_domain=self.domain,
            source_domains=self.sources,
        )

    def predict(self, model, **how):
        return model.predict(self.X, sample_domain=self.domain, **how)


def forecasts(n_rows=30, n_outputs=2, seed=0):
    """Five readings foretell the next; every row has a level and a spread of its own.

    They grow from domain to domain, and nothing but a row's shape tells what comes.
    """
    rng = np.random.default_rng(seed)
    sizes = np.resize(n_rows, N_DOMAINS)
    place = np.repeat(np.arange(N_DOMAINS) / N_DOMAINS, sizes)[:, None]
    shape = rng.normal(size=(len(place), 5))
    shape -= shape.mean(axis=1, keepdims=True)
    shape /= shape.std(axis=1, keepdims=True)
    slopes = rng.normal(size=(5, n_outputs)) / 2
    level = 20 * place + 3 * rng.normal(size=place.shape)
    spread = np.exp(2 * place + 0.3 * rng.normal(size=place.shape))
    future = shape @ slopes + 0.1 * rng.normal(size=(len(place), n_outputs))
    return Family(level + spread * shape, level + spread * future, sizes)


@pytest.fixture(scope="module")
def family():
    return forecasts()


@pytest.fixture(scope="module")
def fitted(family):
    return family.fit(CrossDomainRegressor(**QUICK))


@pytest.mark.parametrize(
    "settings",
    [
        QUICK,
        {"predictor": "network", **LINE, **SHORT},
        {"candidates": [("raw", "linear"), ("row_standardised", "kernel")], **LINE, **SHORT},
    ],
    ids=str,
)
def test_noise_in_target_labels_changes_no_prediction_by_a_bit(family, fitted, settings):
    noise = np.random.default_rng(0).normal(size=family.y.shape) * 1e3
    noisy = np.where(family.target[:, None], noise, family.y)
    noisy[-1] = np.nan
    first = fitted if settings is QUICK else family.fit(CrossDomainRegressor(**settings))
    second = family.fit(CrossDomainRegressor(**settings), y=noisy)
    for one, other in zip(
        family.predict(first, return_std=True), family.predict(second, return_std=True)
    ):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(first.domain_indices_, second.domain_indices_)


def test_rows_are_normalized_where_levels_and_spreads_drift(family, fitted):
    assert fitted.representation_ == "row_standardised"
    trials = fitted.candidates_
    assert isinstance(trials, pd.DataFrame)
    assert trials["representation"].iloc[0] == "row_standardised"
    assert {"raw", "row_centred", "row_standardised"} <= set(trials["representation"])
    target = family.target
    assert r2_score(family.y[target], family.predict(fitted)[target]) > 0.99


def test_domains_are_normalized_where_their_levels_drift():
    rng = np.random.default_rng(0)
    sizes = np.resize(40, N_DOMAINS)
    level = np.repeat(np.linspace(0, 20, N_DOMAINS), sizes)[:, None]
    readings = rng.normal(size=(len(level), 5))
    family = Family(level + readings, level[:, 0] + readings @ [1.0, -1.0, 2.0, 0.0, 0.5], sizes)
    model = family.fit(CrossDomainRegressor(**QUICK))
    assert model.representation_ == "domain_scaled"
    assert r2_score(family.y[family.target], family.predict(model)[family.target]) > 0.95


def test_predictions_and_deviations_have_the_shape_of_y(family, fitted):
    mean, deviation = family.predict(fitted, return_std=True)
    assert mean.shape == deviation.shape == family.y.shape
    assert (deviation > 0).all()
    np.testing.assert_array_equal(mean, family.predict(fitted))
    single = family.fit(CrossDomainRegressor(**CHEAP), y=family.y[:, 0])
    mean, deviation = family.predict(single, return_std=True)
    assert mean.shape == deviation.shape == (len(family.X),)
    column = family.fit(CrossDomainRegressor(**CHEAP), y=family.y[:, :1])
    assert family.predict(column).shape == (len(family.X), 1)


def test_everything_a_user_reads_has_its_shape(family, fitted):
    assert fitted.domains_ == sorted(set(family.domain))
    assert fitted.domain_indices_.shape == (N_DOMAINS, 2)
    assert (fitted.domain_index_std_ > 0).all()
    assert fitted.domain_distances_.shape == (N_DOMAINS, N_DOMAINS)
    n_rows, local_dim = fitted.transform(family.X).shape
    assert n_rows == len(family.X)
    assert 1 <= local_dim <= family.X.shape[1]
    assert fitted.encode(family.X, sample_domain=family.domain).shape == (len(family.X), 5)
    assert set(fitted.domain_graph(quantile=0.3).nodes) == set(family.domain)
    assert set(fitted.history_["phase"]) == {"indices"}
    assert set(fitted.forecast_["domain"]) == set(family.domain[family.target])
    assert fitted.flow_ is None


def test_a_new_domain_is_placed_and_predicted(family, fitted):
    rows = family.domain == "d8"
    placed = fitted.place_domains(family.X[rows], sample_domain=["new"] * rows.sum())
    known = fitted.domain_indices_[fitted.domains_.index("d8")]
    np.testing.assert_allclose(placed[["index_1", "index_2"]].to_numpy()[0], known, atol=0.05)
    new = fitted.predict(family.X[rows], sample_domain=["new"] * rows.sum())
    np.testing.assert_allclose(new, family.predict(fitted)[rows], rtol=1e-6)
    np.testing.assert_allclose(fitted.predict(family.X[rows]), new)


def test_a_row_is_predicted_the_same_alone(family, fitted):
    together = family.predict(fitted)
    alone = fitted.predict(family.X[-1:], sample_domain=family.domain[-1:])
    np.testing.assert_allclose(alone, together[-1:])


@pytest.mark.parametrize("unit", [1e-6, pytest.param(1e6, marks=pytest.mark.full)])
def test_predictions_do_not_depend_on_the_unit(family, fitted, unit):
    scaled = family.fit(CrossDomainRegressor(**QUICK), X=family.X * unit, y=family.y * unit)
    assert scaled.representation_ == fitted.representation_
    mean, deviation = scaled.predict(family.X * unit, sample_domain=family.domain, return_std=True)
    expected, expected_deviation = family.predict(fitted, return_std=True)
    np.testing.assert_allclose(mean / unit, expected, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(deviation / unit, expected_deviation, rtol=0.1)


def test_huge_inputs_and_tiny_outputs_are_no_trouble(family):
    model = family.fit(CrossDomainRegressor(**QUICK), X=family.X * 1e6, y=family.y * 1e-6)
    mean, deviation = model.predict(family.X * 1e6, sample_domain=family.domain, return_std=True)
    assert np.isfinite(mean).all()
    assert np.isfinite(deviation).all()
    members = model.candidates_[model.candidates_["weight"] > 0]
    restored = {"row_centred", "row_standardised", "domain_scaled"}
    assert not restored & set(members["representation"])


def test_an_output_that_is_constant_is_predicted_as_it_is(family):
    values = np.column_stack([family.y[:, 0], np.full(len(family.y), 7.0)])
    model = family.fit(CrossDomainRegressor(representation="raw", **LINE, **QUICK), y=values)
    mean, deviation = family.predict(model, return_std=True)
    np.testing.assert_allclose(mean[:, 1], 7.0, atol=1e-5)
    assert np.isfinite(deviation).all()
    assert (deviation > 0).all()


def test_a_target_and_a_source_with_constant_outputs_are_no_trouble(family):
    values = family.y.copy()
    values[family.domain == "d0"] = 3.0
    values[family.domain == "d9"] = 3.0
    mean, deviation = family.predict(
        family.fit(CrossDomainRegressor(**CHEAP), y=values), return_std=True
    )
    assert np.isfinite(mean).all()
    assert (deviation > 0).all()


def test_domains_of_one_to_many_rows_are_no_trouble():
    sizes = [1, 40, 2, 25, 9, 1, 60, 3, 2, 17, 5, 80]
    family = forecasts(sizes)
    mean, deviation = family.predict(family.fit(CrossDomainRegressor(**CHEAP)), return_std=True)
    assert np.isfinite(mean).all()
    assert (deviation > 0).all()
    assert r2_score(family.y[family.target], mean[family.target]) > 0.9


def test_one_source_is_enough(family):
    model = CrossDomainRegressor(**CHEAP).fit(
        family.X, family.y, sample_domain=family.domain, source_domains=["d3"]
    )
    assert np.isfinite(family.predict(model)).all()


@pytest.mark.parametrize(
    "kind", ["raw", "row_centred", "row_standardised", "domain_scaled", "domain_centred"]
)
def test_a_representation_can_be_prescribed(family, kind):
    model = family.fit(CrossDomainRegressor(representation=kind, **LINE, **QUICK))
    assert model.representation_ == kind
    assert model.candidates_["candidate"].tolist() == [f"linear on {kind}"]
    assert np.isfinite(family.predict(model)).all()


def test_the_flow_is_taken_where_inputs_turn_with_the_domain():
    rng = np.random.default_rng(0)
    sizes = np.resize(60, N_DOMAINS)
    still = rng.normal(size=(sizes.sum(), 2)) * [2.0, 0.5] + [3.0, 0.0]
    angles = np.repeat(np.linspace(0, np.pi, N_DOMAINS), sizes)
    turned = np.column_stack(
        [
            still[:, 0] * np.cos(angles) - still[:, 1] * np.sin(angles),
            still[:, 0] * np.sin(angles) + still[:, 1] * np.cos(angles),
        ]
    )
    family = Family(turned, still[:, 0] + 2 * still[:, 1], sizes)
    model = family.fit(CrossDomainRegressor(**QUICK))
    assert model.representation_ == "flow"
    assert model.flow_["family"] in {"spin", "rigid"}
    target = family.target
    score = model.score(family.X[target], family.y[target], sample_domain=family.domain[target])
    ridge = Ridge().fit(family.X[~target], family.y[~target]).predict(family.X[target])
    assert score > 0.9 > r2_score(family.y[target], ridge)


def test_a_curve_is_learned_where_the_domains_are_alike():
    rng = np.random.default_rng(0)
    sizes = np.resize(60, N_DOMAINS)
    X = rng.normal(size=(sizes.sum(), 2))
    family = Family(X, np.sin(2 * X[:, 0]) + X[:, 1] ** 2, sizes)
    candidates = [("raw", "linear"), ("raw", "kernel")]
    model = family.fit(CrossDomainRegressor(candidates=candidates, **TRAINING))
    assert model.candidates_["candidate"].iloc[0] == "kernel on raw"
    target = family.target
    assert r2_score(family.y[target], family.predict(model)[target]) > 0.8


@pytest.mark.full
def test_intervals_cover_what_they_say_in_sources_that_were_held_out():
    family = forecasts(n_rows=40, seed=3)
    inside = []
    for held_out in family.sources:
        kept = family.domain != held_out
        model = CrossDomainRegressor(**CHEAP).fit(
            family.X[kept],
            family.y[kept],
            sample_domain=family.domain[kept],
            source_domains=[name for name in family.sources if name != held_out],
        )
        mean, deviation = model.predict(
            family.X[~kept], sample_domain=family.domain[~kept], return_std=True
        )
        inside.append(np.abs(mean - family.y[~kept]) <= 1.645 * deviation)
    assert 0.85 <= np.mean(inside) <= 0.95


def test_score_is_r2_of_the_prediction(family, fitted):
    expected = r2_score(family.y, family.predict(fitted))
    assert fitted.score(family.X, family.y, sample_domain=family.domain) == pytest.approx(expected)


def test_survives_cloning_and_pickling(family, fitted):
    assert repr(clone(fitted).get_params()) == repr(fitted.get_params())
    revived = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(family.predict(revived), family.predict(fitted))


def test_data_frames_come_with_their_names(family):
    X = pd.DataFrame(family.X, columns=list("abcde"))
    model = family.fit(CrossDomainRegressor(**CHEAP), X=X, y=pd.DataFrame(family.y))
    np.testing.assert_array_equal(model.feature_names_in_, list("abcde"))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(X.rename(columns={"a": "z"}), sample_domain=family.domain)


def test_refuses_what_it_cannot_do(family, fitted):
    with pytest.raises(InputError, match=r"no representation 'zscore'; there are raw, "):
        family.fit(CrossDomainRegressor(representation="zscore"))
    with pytest.raises(InputError, match="needs 3 features or more, but X has 2"):
        family.fit(
            CrossDomainRegressor(representation="row_standardised", **LINE, **QUICK),
            X=family.X[:, :2],
        )
    with pytest.raises(InputError, match="which are not numbers"):
        family.fit(CrossDomainRegressor(), y=np.resize(["low", "high"], len(family.y)))
    with pytest.raises(InputError, match="flow is 'on'"):
        family.fit(CrossDomainRegressor(flow="on"))
    with pytest.raises(ValueError, match="5 features"):
        fitted.predict(family.X[:, :3], sample_domain=family.domain)


def test_inputs_are_not_touched(family):
    X, y = family.X.copy(), family.y.copy()
    family.fit(CrossDomainRegressor(**CHEAP), X=X, y=y)
    np.testing.assert_array_equal(X, family.X)
    np.testing.assert_array_equal(y, family.y)

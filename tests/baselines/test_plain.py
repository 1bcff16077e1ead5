"""scikit-learn's models on the sources, with domain means and representations of their rows."""

import numpy as np
import pytest
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.multioutput import MultiOutputRegressor

from domindex.baselines import PlainBaseline
from domindex.datasets import load_dataset, make_circle
from domindex.errors import InputError

REPRESENTATIONS = (
    "raw",
    "row_centred",
    "row_standardised",
    "domain_scaled",
    "domain_centred",
    "domain_standardised",
)


def fit(model, family, y=None):
    return model.fit(
        family.X,
        family.y if y is None else y,
        sample_domain=family.sample_domain,
        source_domains=family.source_domains,
    )


@pytest.fixture(scope="module")
def family():
    return make_circle(n_domains=8, n_sources=3, samples_per_domain=30, random_state=0)


def test_bare_it_is_the_model_on_the_source_rows(family):
    sources = family.is_source
    bare = LogisticRegression().fit(family.X[sources], family.y[sources])
    model = fit(PlainBaseline(LogisticRegression()), family)
    np.testing.assert_array_equal(model.predict(family.X), bare.predict(family.X))
    np.testing.assert_allclose(model.predict_proba(family.X), bare.predict_proba(family.X))


def test_target_labels_are_never_read(family):
    spoiled = np.where(family.is_source, family.y, 7)
    honest = fit(PlainBaseline(LogisticRegression(), with_domain_means=True), family)
    blind = fit(PlainBaseline(LogisticRegression(), with_domain_means=True), family, spoiled)
    asked = {"sample_domain": family.sample_domain}
    np.testing.assert_array_equal(
        honest.predict(family.X, **asked), blind.predict(family.X, **asked)
    )


def test_the_mean_of_a_domain_explains_what_differs_between_domains_only(family):
    """y is the mean of the domain: nothing in a row says it, everything in the mean does."""
    means = np.array([family.X[family.sample_domain == k].mean() for k in family.domains])
    values = means[family.sample_domain]
    model = fit(PlainBaseline(Ridge(alpha=1e-9), with_domain_means=True), family, values)
    predicted = model.predict(family.X, sample_domain=family.sample_domain)
    np.testing.assert_allclose(predicted, values, atol=1e-4)


def test_a_new_domain_brings_its_own_mean(family):
    model = fit(PlainBaseline(LogisticRegression(), with_domain_means=True), family)
    rows = family.sample_domain == 5
    named = model.predict_proba(family.X[rows], sample_domain=family.sample_domain[rows])
    renamed = model.predict_proba(family.X[rows], sample_domain=["new"] * rows.sum())
    np.testing.assert_allclose(named, renamed)
    np.testing.assert_allclose(renamed, model.predict_proba(family.X[rows]))


def test_normalised_rows_make_a_forecast_move_with_its_input():
    """Shifted and stretched inputs give equally shifted and stretched outputs."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    y = X[:, :2] + 0.1 * rng.normal(size=(60, 2))
    model = PlainBaseline(Ridge(), representation="row_standardised").fit(
        X, y, sample_domain=np.repeat(["a", "b", "c"], 20), source_domains=["a", "b"]
    )
    np.testing.assert_allclose(model.predict(3.0 * X + 40.0), 3.0 * model.predict(X) + 40.0)


@pytest.mark.parametrize("kind", REPRESENTATIONS)
def test_one_output_stays_one_column(family, kind):
    X = np.hstack([family.X, family.X**2])
    model = PlainBaseline(Ridge(), representation=kind).fit(
        X, X.sum(axis=1), sample_domain=family.sample_domain, source_domains=family.source_domains
    )
    assert model.predict(X, sample_domain=family.sample_domain).shape == (len(X),)


def test_images_are_flattened_and_text_classes_come_back():
    digits = load_dataset("rotating-digits")
    words = np.where(digits.y % 2 == 0, "even", "odd")
    model = fit(PlainBaseline(LogisticRegression(max_iter=500)), digits, words)
    assert set(model.predict(digits.X[:20])) <= {"even", "odd"}
    assert model.classes_.tolist() == ["even", "odd"]


def test_what_is_wrong_is_said(family):
    model = PlainBaseline(Ridge(), representation="row_standardised")
    with pytest.raises(NotFittedError):
        model.predict(family.X)
    with pytest.raises(InputError, match="needs 3 features or more"):
        fit(model, family)
    with pytest.raises(ValueError, match="X has 1 features, but PlainBaseline is expecting 2"):
        fit(PlainBaseline(Ridge()), family).predict(family.X[:, :1])
    assert not hasattr(PlainBaseline(Ridge()), "predict_proba")
    assert clone(model).get_params()["representation"] == "row_standardised"


def test_columns_that_are_missing_are_refused_as_all_input_is(family):
    model = fit(PlainBaseline(Ridge()), family)
    with pytest.raises(InputError, match="X has 1 features, but PlainBaseline is expecting 2"):
        model.predict(family.X[:, :1])


@pytest.mark.parametrize("kind", ["rows", "flow", "none", None])
def test_a_representation_that_plain_models_do_not_have_is_refused_with_those_there_are(
    family, kind
):
    with pytest.raises(InputError, match="There is no representation") as caught:
        fit(PlainBaseline(Ridge(), representation=kind), family)
    assert repr(kind) in str(caught.value)
    assert all(known in str(caught.value) for known in REPRESENTATIONS)


def moving_domains(n_domains=4, n_rows=30):
    """The same cloud and rule in every domain, which shifts and stretches each feature."""
    rng = np.random.default_rng(0)
    cloud = rng.normal(size=(n_rows, 3))
    moves, stretches = rng.normal(size=(n_domains, 3)) * 20, rng.uniform(1, 9, (n_domains, 3))
    X = np.concatenate([cloud * s + m for s, m in zip(stretches, moves)])
    y = np.tile(cloud @ [1.0, -2.0, 3.0], n_domains)
    return X, y, np.repeat(np.arange(n_domains), n_rows)


def test_a_shift_and_a_stretch_of_every_feature_are_taken_out_by_the_domain():
    X, y, domains = moving_domains()
    scores = {}
    for kind in ("raw", "domain_centred", "domain_standardised"):
        model = PlainBaseline(Ridge(alpha=1e-6), representation=kind)
        model.fit(X, y, sample_domain=domains, source_domains=[0])
        scores[kind] = model.score(X, y, sample_domain=domains)
    assert scores["domain_standardised"] > 0.999
    assert scores["raw"] < scores["domain_centred"] < 0.999


@pytest.mark.parametrize("kind", ["domain_centred", "domain_standardised", "domain_scaled"])
@pytest.mark.parametrize("with_domain_means", [False, True])
def test_a_new_domain_is_told_by_its_own_rows(kind, with_domain_means):
    X, y, domains = moving_domains()
    model = PlainBaseline(Ridge(), representation=kind, with_domain_means=with_domain_means)
    model.fit(X, y, sample_domain=domains, source_domains=[0, 1])
    rows = domains == 3
    named = model.predict(X[rows], sample_domain=domains[rows])
    np.testing.assert_allclose(named, model.predict(X[rows]))
    np.testing.assert_allclose(named, model.predict(X[rows], sample_domain=["new"] * rows.sum()))


def test_a_domain_that_was_seen_is_told_as_it_was_whatever_rows_are_asked_for():
    X, y, domains = moving_domains()
    for kind in REPRESENTATIONS:
        model = PlainBaseline(Ridge(), representation=kind, with_domain_means=True)
        model.fit(X, y, sample_domain=domains, source_domains=[0, 1])
        together = model.predict(X, sample_domain=domains)
        np.testing.assert_allclose(model.predict(X[:3], sample_domain=domains[:3]), together[:3])


def test_what_it_was_fitted_to_can_be_read(family):
    classifier = fit(PlainBaseline(LogisticRegression()), family)
    assert classifier.task_ == "classification"
    assert is_classifier(classifier)
    assert classifier.domains_ == list(family.domains)
    assert set(classifier.source_domains_) == set(family.source_domains)
    assert classifier.n_features_in_ == 2
    predicted = classifier.predict(family.X)
    assert classifier.score(family.X, family.y) == np.mean(predicted == family.y)
    regressor = PlainBaseline(Ridge())
    assert is_regressor(regressor)
    assert fit(regressor, family).task_ == "regression"
    assert not hasattr(regressor, "classes_")


def papers_error(model, dataset) -> float:
    """Squared errors summed over outputs, averaged over a domain's rows, then over targets."""
    predicted = model.predict(dataset.X, sample_domain=dataset.sample_domain)
    errors = ((predicted - dataset.y) ** 2).sum(axis=1)
    members = [dataset.sample_domain == name for name in dataset.target_domains]
    return float(np.mean([errors[rows].mean() for rows in members]))


@pytest.mark.parametrize(
    ("name", "kind", "error"),
    [
        ("tpt-48-w-e", "raw", 1.070),
        ("tpt-48-n-s", "raw", 3.662),
        ("tpt-48-w-e", "row_standardised", 0.771),
        ("tpt-48-n-s", "row_standardised", 0.777),
    ],
)
def test_ridge_sets_the_bar_on_temperatures(paper_data, name, kind, error):
    dataset = load_dataset(name, paper_data)
    model = fit(PlainBaseline(Ridge(alpha=1e-3), representation=kind), dataset)
    assert papers_error(model, dataset) == pytest.approx(error, abs=6e-4)


def test_boosting_foretells_several_outputs(paper_data):
    dataset = load_dataset("tpt-48-w-e", paper_data)
    boosting = MultiOutputRegressor(HistGradientBoostingRegressor(max_iter=20))
    model = fit(PlainBaseline(boosting, representation="row_standardised"), dataset)
    assert papers_error(model, dataset) < 3.0

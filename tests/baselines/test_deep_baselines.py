"""Every baseline as a user meets it: one interface, one seed, no target labels, clear refusals."""

import inspect
from functools import cache

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import NotFittedError

import domindex
from domindex import CrossDomainClassifier, Training, baselines
from domindex.baselines import (
    ADDA,
    CDANN,
    CIDA,
    D2V,
    DANN,
    GRDA,
    MDD,
    SENTRY,
    SourceOnly,
)
from domindex.datasets import make_domain_graph
from domindex.errors import InputError, TrainingDiverged
from domindex.estimators.base import DomainEstimator

FAMILY = make_domain_graph(n_domains=8, n_sources=3, samples_per_domain=30, random_state=1)
INDEX = dict(zip(FAMILY.domains, FAMILY.true_index))
NO_GIVEN = (SourceOnly, DANN, ADDA, CDANN, MDD, SENTRY, D2V)
ONE_STEP = Training(steps=1)
WITH_REGRESSION = ("SourceOnly", "DANN", "ADDA", "CDANN", "MDD", "SENTRY", "CIDA", "PCIDA", "GRDA")


def make(name, steps=15, learning_rate=3e-3, **settings):
    training = Training(steps=steps, learning_rate=learning_rate)
    settings = {"training": training, "random_state": 0, **settings}
    if name in ("CIDA", "PCIDA"):
        return getattr(baselines, name)(INDEX, **settings)
    if name == "GRDA":
        return GRDA(FAMILY.graph, **settings)
    return {kind.__name__: kind for kind in NO_GIVEN}[name](**settings)


NAMES = [*(kind.__name__ for kind in NO_GIVEN), "CIDA", "PCIDA", "GRDA"]
every = pytest.mark.parametrize("name", NAMES)
every_regressor = pytest.mark.parametrize("name", WITH_REGRESSION)


def fit(model, y=FAMILY.y, **changes):
    given = {
        "X": FAMILY.X,
        "y": y,
        "sample_domain": FAMILY.sample_domain,
        "source_domains": FAMILY.source_domains,
        **changes,
    }
    return model.fit(given.pop("X"), given.pop("y"), **given)


def probabilities(model):
    return model.predict_proba(FAMILY.X, sample_domain=FAMILY.sample_domain)


@pytest.fixture(scope="module")
def plain():
    """A model as `make` makes it, fitted once a method; for tests that only ask."""
    return cache(lambda name: fit(make(name)))


def two_values():
    """Two outputs of very different size, with noise."""
    noise = np.random.default_rng(0).normal(size=(len(FAMILY.X), 2))
    return (FAMILY.X + 0.1 * noise) * [1.0, 1e4] + [0.0, 5e4]


@every
def test_noise_in_target_labels_changes_nothing_by_a_bit(name, plain):
    noise = np.random.default_rng(0).integers(-9, 99, size=len(FAMILY.y))
    noisy = np.where(FAMILY.is_source, FAMILY.y, noise)
    second = fit(make(name), noisy)
    np.testing.assert_array_equal(probabilities(plain(name)), probabilities(second))


@every
def test_the_same_seed_gives_the_same_model_and_leaves_the_global_state(name, plain):
    first = plain(name)
    torch.manual_seed(123)
    before = torch.random.get_rng_state()
    np.testing.assert_array_equal(probabilities(first), probabilities(fit(make(name))))
    assert torch.equal(torch.random.get_rng_state(), before)
    other = fit(make(name, random_state=1))
    assert not np.array_equal(probabilities(first), probabilities(other))


@every
def test_what_comes_back_has_its_shape_and_names(name):
    labels = np.where(FAMILY.y == 1, "yes", "no")
    model = fit(make(name), labels)
    predicted = model.predict(FAMILY.X, sample_domain=FAMILY.sample_domain)
    assert set(predicted) <= {"yes", "no"}
    assert probabilities(model).shape == (len(FAMILY.X), 2)
    np.testing.assert_allclose(probabilities(model).sum(axis=1), 1.0)
    assert model.classes_.tolist() == ["no", "yes"]
    assert model.task_ == "classification"
    assert is_classifier(model)
    assert model.domains_ == FAMILY.domains
    assert set(model.source_domains_) == set(FAMILY.source_domains)
    history = model.history_
    assert isinstance(history, pd.DataFrame)
    assert np.isfinite(history.iloc[-1].drop("phase").astype(float).dropna()).all()
    score = model.score(FAMILY.X, labels, sample_domain=FAMILY.sample_domain)
    assert score == np.mean(predicted == labels)


@every
def test_a_row_is_predicted_alike_whatever_rows_are_beside_it(name, plain):
    model = plain(name)
    order = np.random.default_rng(0).permutation(len(FAMILY.X))
    shuffled = model.predict_proba(FAMILY.X[order], sample_domain=FAMILY.sample_domain[order])
    np.testing.assert_allclose(shuffled, probabilities(model)[order], atol=1e-9)


@pytest.mark.parametrize(
    "name",
    [
        *("SourceOnly", "DANN", "GRDA"),
        *(pytest.param(one, marks=pytest.mark.full) for one in ("ADDA", "CDANN", "MDD")),
        *(pytest.param(one, marks=pytest.mark.full) for one in ("SENTRY", "CIDA", "PCIDA")),
    ],
)
def test_several_outputs_of_any_size_are_learned_on_the_sources(name):
    values = two_values()
    hidden = np.where(FAMILY.is_source[:, None], values, np.nan)
    weight = {} if name == "SourceOnly" else {"adaptation_weight": 0.05}
    model = fit(make(name, steps=150, **weight), hidden)
    assert model.task_ == "regression"
    assert is_regressor(model)
    assert not hasattr(model, "predict_proba")
    sources = FAMILY.is_source
    rows, names = FAMILY.X[sources], FAMILY.sample_domain[sources]
    assert model.predict(rows, sample_domain=names).shape == (len(rows), 2)
    assert model.score(rows, values[sources], sample_domain=names) > 0.8


@every_regressor
def test_one_output_comes_back_in_one_dimension(name):
    model = fit(make(name), two_values()[:, 1])
    assert model.predict(FAMILY.X, sample_domain=FAMILY.sample_domain).shape == (len(FAMILY.X),)


def test_whole_numbers_are_classes_unless_told_otherwise(plain):
    assert plain("SourceOnly").task_ == "classification"
    assert fit(make("SourceOnly", task="regression")).task_ == "regression"


def test_d2v_says_that_it_has_no_regression():
    with pytest.raises(InputError, match=r"no regression.*another baseline"):
        fit(make("D2V"), two_values())


@pytest.mark.parametrize("kind", NO_GIVEN)
def test_no_domain_is_needed_to_predict_where_none_is_given(kind):
    model = fit(kind(training=Training(steps=5), random_state=0))
    rows = FAMILY.X[FAMILY.sample_domain == 3]
    unnamed = model.predict_proba(rows)
    np.testing.assert_array_equal(unnamed, model.predict_proba(rows, sample_domain=[99] * 30))


@pytest.mark.parametrize("name", ["CIDA", "GRDA"])
def test_a_domain_of_which_nothing_is_known_is_refused(name, plain):
    model = plain(name)
    with pytest.raises(InputError, match=r"99 is none of the domains that fit saw.*Fit with"):
        model.predict(FAMILY.X[:2], sample_domain=[99, 99])
    with pytest.raises(InputError, match=r"sample_domain is missing.*one domain name per row"):
        model.predict(FAMILY.X[:2])


@pytest.mark.parametrize(
    ("index", "message"),
    [
        (None, r"NoneType, which does not name the domains.*mapping"),
        (FAMILY.true_index, r"ndarray, which does not name the domains.*dict\(zip"),
        ({0: 1.0}, r"no entry for 1, 2, 3.*it names 0"),
        ({**INDEX, 2: np.nan}, r"NaN or infinite for 2"),
        ({**INDEX, 2: [1.0, 2.0]}, r"shapes \(1,\), \(2,\)"),
        ({**INDEX, 2: "north"}, r"not numbers"),
        (dict.fromkeys(FAMILY.domains, 1.0), r"same for every domain.*DANN"),
        (fit(SourceOnly(training=ONE_STEP)), r"SourceOnly, which does not name"),
    ],
)
def test_an_index_that_cannot_be_used_is_refused_with_advice(index, message):
    with pytest.raises(InputError, match=message):
        fit(CIDA(index, training=ONE_STEP))


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (None, r"is a NoneType. Pass a networkx.Graph"),
        (nx.path_graph(3), r"no node for 3, 4.*Add every domain"),
        (nx.empty_graph(8), r"joins none of the 8 domains.*DANN"),
    ],
)
def test_a_graph_that_cannot_be_used_is_refused_with_advice(graph, message):
    with pytest.raises(InputError, match=message):
        fit(GRDA(graph, training=ONE_STEP))


def test_an_inferred_index_and_graph_serve_as_well_as_given_ones():
    settings = {"candidates": [("raw", "linear")], "training": Training(index_steps=5)}
    found = fit(CrossDomainClassifier(**settings, random_state=0))
    by_index = fit(CIDA(found.domain_index_, training=Training(steps=3)))
    by_graph = fit(GRDA(found.domain_graph(quantile=0.3), training=Training(steps=3)))
    assert probabilities(by_index).shape == probabilities(by_graph).shape == (len(FAMILY.X), 2)
    with pytest.raises(InputError, match=r"CrossDomainClassifier.*Pass its domain_index_"):
        fit(CIDA(found, training=ONE_STEP))


def test_a_graph_in_two_parts_is_taken():
    halves = nx.disjoint_union(nx.path_graph(4), nx.path_graph(4))
    model = fit(GRDA(halves, training=Training(steps=5), random_state=0))
    assert np.isfinite(probabilities(model)).all()


@every
def test_settings_can_be_read_and_cloned(name):
    model = make(name, width=8).set_params(training__batch_size=7)
    twin = clone(model)
    assert twin.width == 8
    assert twin.training is not model.training
    assert twin.get_params()["training__batch_size"] == 7
    assert set(twin.get_params()) == set(model.get_params())


@every
def test_fitting_leaves_the_settings_as_they_were(name, plain):
    before, after = (
        {key: value for key, value in model.get_params().items() if key != "training"}
        for model in (make(name), plain(name))
    )
    assert repr(after) == repr(before)


def test_the_history_has_a_row_an_epoch_and_every_phase_in_its_order():
    """30 rows a domain in batches of 10 are 3 steps an epoch."""
    training = Training(steps=9, batch_size=10)
    alone = fit(SourceOnly(training=training)).history_
    assert alone["phase"].tolist() == ["encoding"] * 3
    assert alone["step"].tolist() == [3, 6, 9]
    both = fit(ADDA(training=training)).history_
    assert both["phase"].tolist() == ["sources"] * 3 + ["targets"] * 3
    assert both["label_prediction"].isna().tolist() == [False] * 3 + [True] * 3


PUBLIC = [
    *(getattr(baselines, name) for name in baselines.__all__),
    *(
        getattr(domindex, name)
        for name in ("MomentFlow", "CrossDomainClassifier", "CrossDomainRegressor")
    ),
]


@pytest.mark.parametrize("kind", PUBLIC, ids=lambda kind: kind.__name__)
def test_every_estimator_has_one_base_and_few_parameters(kind):
    assert issubclass(kind, DomainEstimator)
    assert 1 <= len(inspect.signature(kind).parameters) <= 17
    for method in ("fit", "predict", "score"):
        assert "sample_domain" in inspect.signature(getattr(kind, method)).parameters


def test_an_unknown_baseline_is_no_attribute():
    with pytest.raises(AttributeError, match="no attribute 'DAN'"):
        _ = baselines.DAN


@pytest.mark.parametrize("training", [{"steps": 5}, 500, Training])
def test_a_training_is_a_training(training):
    with pytest.raises(InputError, match=r"training is .* Pass a domindex\.Training, or None"):
        fit(DANN(training=training))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"steps": 0}, r"steps is 0. Choose a whole number"),
        ({"latent_dim": 1.5}, r"latent_dim is 1.5"),
        ({"width": 0}, r"width is 0. Choose a whole number"),
        ({"training": Training(batch_size=0)}, r"batch_size is 0. Choose a whole number"),
        ({"learning_rate": 0.0}, r"learning_rate is 0.0. Choose a positive"),
        ({"adaptation_weight": -1.0}, r"adaptation_weight is -1.0. Choose 0 or more"),
        ({"adaptation_weight": np.nan}, r"adaptation_weight is nan"),
        ({"task": "ranking"}, r"task is 'ranking'. Choose 'auto'"),
    ],
)
def test_settings_out_of_range_are_refused(settings, message):
    with pytest.raises(InputError, match=message):
        fit(make("DANN", **settings))


def test_rows_that_cannot_be_used_are_refused():
    with pytest.raises(InputError, match="sample_domain is missing"):
        fit(make("DANN"), sample_domain=None)
    with pytest.raises(NotFittedError):
        make("DANN").predict(FAMILY.X)
    model = fit(make("DANN"), X=np.stack([FAMILY.X, FAMILY.X], axis=1))
    with pytest.raises(InputError, match=r"fit saw \(2, 2\)"):
        model.predict(FAMILY.X.reshape(-1, 2, 1))


def test_pictures_that_stand_on_their_side_are_refused_with_both_shapes():
    model = fit(make("DANN"), X=FAMILY.X.reshape(-1, 1, 2))
    with pytest.raises(InputError, match=r"fit saw \(1, 2\)"):
        model.predict(FAMILY.X.reshape(-1, 2, 1))


def test_a_training_that_breaks_says_so():
    with pytest.raises(TrainingDiverged, match="Lower learning_rate"):
        fit(make("SourceOnly", learning_rate=1e30), two_values())


def test_more_domains_than_a_step_takes_and_uneven_sizes():
    sizes = np.resize([1, 7, 3], 140)
    family = make_domain_graph(n_domains=140, samples_per_domain=sizes, random_state=0)
    for name in ("DANN", "ADDA", "MDD", "SENTRY", "D2V"):
        model = make(name, steps=3).fit(
            family.X,
            family.y,
            sample_domain=family.sample_domain,
            source_domains=family.source_domains,
        )
        assert len(model.predict(family.X)) == len(family.X)

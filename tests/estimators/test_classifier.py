"""The classifier as a user meets it."""

import pickle

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import sklearn
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from domindex import CrossDomainClassifier, Network, Training
from domindex.datasets import make_circle, make_domain_graph
from domindex.errors import InputError, TrainingDiverged
from domindex.evaluation import index_correlation
from domindex.geometry import transport_distances
from domindex.neural.settings import TrainingSettings

QUICK = {
    "predictor": "network",
    "effort": "quick",
    "training": Training(index_steps=5, steps=10),
    "random_state": 0,
}

LINEAR = {"predictor": "linear", "representation": "raw"}
"""Where the map is asked about, and not what predicts."""


@pytest.fixture(scope="module")
def family():
    return make_domain_graph(n_domains=12, samples_per_domain=40, random_state=1)


@pytest.fixture(scope="module")
def fitted(family):
    return fit(CrossDomainClassifier(**QUICK), family)


def fit(model, family, y=None):
    labels = family.y if y is None else y
    return model.fit(
        family.X,
        labels,
        sample_domain=family.sample_domain,
        source_domains=family.source_domains,
    )


def target_accuracy(model, family) -> float:
    target = ~family.is_source
    return model.score(
        family.X[target], family.y[target], sample_domain=family.sample_domain[target]
    )


def test_noise_in_target_labels_changes_no_prediction_by_a_bit(family, fitted):
    rng = np.random.default_rng(0)
    noisy = np.where(family.is_source, family.y, rng.integers(-9, 99, size=len(family.y)))
    second = fit(CrossDomainClassifier(**QUICK), family, noisy)
    np.testing.assert_array_equal(
        fitted.predict_proba(family.X, sample_domain=family.sample_domain),
        second.predict_proba(family.X, sample_domain=family.sample_domain),
    )
    np.testing.assert_array_equal(fitted.domain_indices_, second.domain_indices_)


def test_the_same_seed_gives_the_same_model_whatever_the_global_state(family, fitted):
    torch.manual_seed(123)
    np.random.seed(123)  # noqa: NPY002 - the global state is the point
    before = torch.random.get_rng_state()
    second = fit(CrossDomainClassifier(**QUICK), family)
    assert torch.equal(torch.random.get_rng_state(), before)
    np.testing.assert_array_equal(
        fitted.predict_proba(family.X, sample_domain=family.sample_domain),
        second.predict_proba(family.X, sample_domain=family.sample_domain),
    )


def test_another_seed_gives_another_model(family, fitted):
    other = fit(CrossDomainClassifier(**{**QUICK, "random_state": 1}), family)
    assert not np.array_equal(
        fitted.predict_proba(family.X, sample_domain=family.sample_domain),
        other.predict_proba(family.X, sample_domain=family.sample_domain),
    )


def test_predictions_are_deterministic_and_add_up(family, fitted):
    first = fitted.predict_proba(family.X, sample_domain=family.sample_domain)
    np.testing.assert_array_equal(
        first, fitted.predict_proba(family.X, sample_domain=family.sample_domain)
    )
    np.testing.assert_allclose(first.sum(axis=1), 1.0)
    assert set(fitted.predict(family.X, sample_domain=family.sample_domain)) <= {0, 1}


def test_the_order_of_rows_does_not_matter_to_a_prediction(family, fitted):
    order = np.random.default_rng(0).permutation(len(family.X))
    np.testing.assert_allclose(
        fitted.predict_proba(family.X[order], sample_domain=family.sample_domain[order]),
        fitted.predict_proba(family.X, sample_domain=family.sample_domain)[order],
        atol=1e-6,
    )


def test_everything_a_user_reads_has_its_shape(family, fitted):
    n_domains, n_rows = 12, len(family.X)
    assert fitted.domains_ == list(range(n_domains))
    assert set(fitted.source_domains_) == set(family.source_domains)
    assert fitted.domain_indices_.shape == (n_domains, 2)
    assert fitted.domain_index_std_.shape == (n_domains, 2)
    assert (fitted.domain_index_std_ > 0).all()
    assert fitted.domain_distances_.shape == (n_domains, n_domains)
    assert fitted.transform(family.X).shape == (n_rows, 2)
    encoded = fitted.encode(family.X, sample_domain=family.sample_domain)
    assert len(encoded) == n_rows
    assert np.isfinite(encoded).all()
    graph = fitted.domain_graph(quantile=0.2)
    assert isinstance(graph, nx.Graph)
    assert set(graph.nodes) == set(fitted.domains_)
    assert fitted.flow_["family"] in {"none", "shift", "spin", "rigid", "linear", "affine"}


@pytest.mark.full
def test_a_domain_with_more_rows_has_a_surer_place():
    few, many = (
        fit(
            CrossDomainClassifier(**LINEAR, training=Training(index_steps=100), random_state=0),
            make_circle(n_domains=12, samples_per_domain=n, random_state=0),
        )
        for n in (10, 300)
    )
    assert many.domain_index_std_.mean() < 0.7 * few.domain_index_std_.mean()


def test_history_has_a_column_per_term_and_stays_finite(fitted):
    history = fitted.history_
    assert isinstance(history, pd.DataFrame)
    index, encoding = (history[history.phase == phase] for phase in ("indices", "encoding"))
    for term in (
        "input_reconstruction",
        "local_index_reconstruction",
        "local_index_entropy",
        "global_index_divergence",
        "contrastive",
    ):
        assert np.isfinite(index[term]).all()
    for term in ("label_prediction", "encoding_divergence", "adversary", "smoothness"):
        assert np.isfinite(encoding[term]).all()


@pytest.mark.full
def test_a_rotating_family_is_solved_where_a_source_model_fails():
    family = make_circle(n_domains=16, samples_per_domain=60, random_state=0)
    model = fit(
        CrossDomainClassifier(
            predictor="network", training=Training(index_steps=20, steps=150), random_state=0
        ),
        family,
    )
    assert target_accuracy(model, family) > 0.97
    assert index_correlation(model.domain_indices_, family.true_index) > 0.99


def test_a_known_domain_under_a_new_name_is_placed_where_it_was(family, fitted):
    rows = family.sample_domain == 3
    placed = fitted.place_domains(family.X[rows], sample_domain=["elsewhere"] * rows.sum())
    assert placed["domain"].tolist() == ["elsewhere"]
    assert placed["nearest_1"].tolist() == [3]
    unnamed = fitted.predict_proba(family.X[rows])
    renamed = fitted.predict_proba(family.X[rows], sample_domain=["elsewhere"] * rows.sum())
    np.testing.assert_array_equal(unnamed, renamed)


def test_new_domains_are_predicted_without_changing_the_model(family, fitted):
    before = pickle.dumps(fitted.domain_indices_)
    names = np.where(family.sample_domain == 3, "new a", "new b")
    chosen = np.isin(family.sample_domain, [3, 5])
    assert len(fitted.predict(family.X[chosen], sample_domain=names[chosen])) == chosen.sum()
    assert fitted.predict(family.X[:1]).shape == (1,)
    assert pickle.dumps(fitted.domain_indices_) == before


def test_names_and_classes_of_any_kind_come_back_as_they_were_given(family):
    names = np.array([f"site {n}" for n in family.sample_domain])
    labels = np.where(family.y == 1, "yes", "no")
    model = CrossDomainClassifier(**QUICK).fit(
        pd.DataFrame(family.X, columns=["east", "north"]),
        labels,
        sample_domain=names,
        source_domains=[f"site {n}" for n in family.source_domains],
    )
    assert model.feature_names_in_.tolist() == ["east", "north"]
    assert set(model.predict(pd.DataFrame(family.X, columns=["east", "north"]))) <= {"yes", "no"}
    assert "site 3" in model.domains_


def test_unequal_sizes_down_to_one_row_and_several_classes():
    sizes = [60, 5, 40, 1, 30, 80, 25, 1, 50]
    family = make_domain_graph(
        n_domains=9, n_sources=4, samples_per_domain=sizes, n_classes=3, random_state=0
    )
    model = fit(CrossDomainClassifier(**QUICK), family)
    assert model.predict_proba(family.X, sample_domain=family.sample_domain).shape[1] == len(
        model.classes_
    )


def test_images_and_many_features_are_flattened():
    rng = np.random.default_rng(0)
    images = rng.normal(size=(120, 1, 6, 7)).astype(np.float32)
    domains = np.repeat(np.arange(6), 20)
    labels = rng.integers(0, 2, size=120)
    model = CrossDomainClassifier(**QUICK).fit(
        images, labels, sample_domain=domains, source_domains=[0, 1]
    )
    assert model.predict(images, sample_domain=domains).shape == (120,)
    with pytest.raises(InputError, match=r"fit saw \(1, 6, 7\)"):
        model.predict(images[:, :, :3])


def test_more_domains_than_a_step_takes():
    n_domains = TrainingSettings().max_domains + 10
    family = make_circle(n_domains=n_domains, samples_per_domain=4, random_state=0)
    short = {"representation": "raw", "training": Training(index_steps=2, steps=3)}
    model = fit(CrossDomainClassifier(**QUICK | short), family)
    assert model.domain_indices_.shape == (n_domains, 2)


def test_hostile_scales_do_not_break_the_fit(family):
    shifted = family.X * 1e6 + 1e9
    model = CrossDomainClassifier(**QUICK).fit(
        shifted,
        family.y,
        sample_domain=family.sample_domain,
        source_domains=family.source_domains,
    )
    assert np.isfinite(model.predict_proba(shifted, sample_domain=family.sample_domain)).all()


def test_constant_inputs_give_an_answer_not_nan():
    X = np.ones((40, 3))
    y = np.tile([0, 1], 20)
    model = CrossDomainClassifier(**QUICK).fit(X, y, sample_domain=[1] * 20 + [-2] * 20)
    assert np.isfinite(model.predict_proba(X)).all()


def test_divergence_is_reported_not_returned(family):
    with pytest.raises(TrainingDiverged, match="learning_rate"):
        fit(
            CrossDomainClassifier(
                predictor="network", training=Training(learning_rate=1e30), random_state=0
            ),
            family,
        )


def test_pickles_and_clones_like_any_estimator(family, fitted):
    copy = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(
        copy.predict_proba(family.X, sample_domain=family.sample_domain),
        fitted.predict_proba(family.X, sample_domain=family.sample_domain),
    )
    assert repr(clone(fitted).get_params()) == repr(fitted.get_params())
    with pytest.raises(NotFittedError):
        clone(fitted).predict(family.X)


@pytest.mark.parametrize(
    ("setting", "word"),
    [
        ({"flow": "affine"}, "flow is 'affine'. Choose 'auto'"),
        ({"flow": None}, "flow is None.* for the paper's model use VDIClassifier or VDIRegressor"),
        ({"index_dim": 0}, "index_dim is 0"),
        ({"local_dim": -2}, "local_dim is -2"),
        ({"training": Training(steps=1.5)}, "steps is 1.5"),
        ({"training": Training(learning_rate=-1.0)}, "learning_rate is -1.0"),
        ({"training": 500}, r"training is 500\. Pass a domindex\.Training"),
        ({"network": Network(adversary_weight=-0.1)}, "adversary_weight is -0.1"),
        ({"network": Network(adversary=("graf",))}, "Choose one or more of"),
        ({"network": Network(adversary=())}, "Choose one or more of"),
        ({"network": {"width": 3}}, r"network is .* Pass a domindex\.Network"),
        ({"representation": "row"}, r"no representation 'row'; there are raw, with_index, with_"),
        (
            {"predictor": "liner"},
            r"no predictor 'liner'; there are .*linear.*Did you mean 'linear'",
        ),
    ],
)
def test_settings_that_cannot_work_are_refused(family, setting, word):
    with pytest.raises(InputError, match=word):
        fit(CrossDomainClassifier(**{**QUICK, **setting}), family)


def test_a_progress_bar_is_shown_on_demand_only(family, capsys):
    short = {"representation": "raw", "training": Training(index_steps=2, steps=2)}
    fit(CrossDomainClassifier(**QUICK | short), family)
    assert capsys.readouterr().err == ""
    fit(CrossDomainClassifier(**QUICK | short, verbose=1), family)
    assert "encoding" in capsys.readouterr().err


def test_domains_are_routed_through_a_pipeline(family):
    with sklearn.config_context(enable_metadata_routing=True):
        model = make_pipeline(StandardScaler(), CrossDomainClassifier(**QUICK))
        model.fit(
            family.X,
            family.y,
            sample_domain=family.sample_domain,
            source_domains=family.source_domains,
        )
        predicted = model.predict(family.X, sample_domain=family.sample_domain)
    inside = model[-1].predict(model[0].transform(family.X), sample_domain=family.sample_domain)
    np.testing.assert_array_equal(predicted, inside)


def test_nested_settings_are_scikit_learn_parameters(family):
    model = CrossDomainClassifier(
        predictor="network", training=Training(steps=3, index_steps=3), network=Network()
    )
    model.set_params(training__steps=4, network__width=16, index_dim=1)
    assert (model.training.steps, model.network.width) == (4, 16)
    fit(model, family)
    assert model.domain_indices_.shape == (12, 1)
    assert (model.history_.phase == "encoding").any()


def test_the_map_is_drawn_from_what_transform_returns(family, fitted):
    """Transport between the local indices of the domains is what the map's distances are."""
    u = fitted.transform(family.X)
    clouds = [u[family.sample_domain == name] for name in fitted.domains_]
    np.testing.assert_allclose(
        transport_distances(clouds), fitted.domain_distances_, rtol=1e-5, atol=1e-5
    )


def test_fewer_local_components_draw_another_map():
    rng = np.random.default_rng(0)
    domains = np.repeat(np.arange(8), 40)
    X = rng.normal(size=(320, 5)) + np.outer(domains, [1.0, 0.5, 0.0, 0.0, 0.0])
    X[:, 1] += 2 * np.sin(domains)
    labels = rng.integers(0, 2, size=320)
    one, two = (
        CrossDomainClassifier(local_dim=size, **QUICK | LINEAR).fit(
            X, labels, sample_domain=domains, source_domains=[0, 1, 2]
        )
        for size in (1, 2)
    )
    assert one.transform(X).shape == (320, 1)
    assert two.transform(X).shape == (320, 2)
    assert not np.allclose(one.domain_distances_, two.domain_distances_)


@pytest.mark.parametrize("kind", ["raw", "with_index", "domain_standardised", "flow"])
def test_a_representation_can_be_prescribed(family, kind):
    model = fit(CrossDomainClassifier(representation=kind, **QUICK), family)
    assert model.representation_ == kind
    assert model.candidates_["candidate"].tolist() == [f"network on {kind}"]
    proba = model.predict_proba(family.X, sample_domain=family.sample_domain)
    assert np.isfinite(proba).all()


def test_a_linear_predictor_can_be_asked_for(family):
    model = fit(
        CrossDomainClassifier(**{**QUICK, "predictor": "linear", "representation": "flow"}), family
    )
    assert target_accuracy(model, family) > 0.9
    assert not (model.history_.phase == "encoding").any()

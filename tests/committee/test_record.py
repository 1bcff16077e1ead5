"""What a fit leaves: quality on held-out sources, what predictions rest on, and profiles."""

import numpy as np
import pandas as pd
import pytest

import domindex
from domindex import CrossDomainClassifier, CrossDomainRegressor, Training
from domindex.committee.record import FitRecord, profile_features
from domindex.datasets import make_domain_graph

CANDIDATES = [("raw", "linear"), ("flow", "linear"), ("coral", "linear")]


@pytest.fixture(scope="module")
def family():
    return make_domain_graph(n_domains=12, n_sources=6, samples_per_domain=60, random_state=0)


@pytest.fixture(scope="module")
def table(family):
    """Two inputs that matter, two that do not: one of numbers, one of texts as two columns."""
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 2, len(family.X))
    columns = [*family.X.T, rng.normal(size=len(family.X)), kind, 1 - kind]
    return pd.DataFrame(np.stack(columns, axis=1), columns=["a", "b", "noise", "kind=x", "kind=y"])


def fitted(kind, family, table, y, **settings):
    model = kind(candidates=CANDIDATES, training=Training(index_steps=5), random_state=0)
    model.set_params(**settings)
    return model.fit(
        table, y, sample_domain=family.sample_domain, source_domains=family.source_domains
    )


@pytest.fixture(scope="module")
def classifier(family, table):
    return fitted(CrossDomainClassifier, family, table, family.y)


@pytest.fixture(scope="module")
def regressor(family, table):
    noise = np.random.default_rng(1).normal(size=len(family.X))
    return fitted(CrossDomainRegressor, family, table, 2.0 * family.X[:, 0] + 0.1 * noise)


def test_every_source_was_held_out_and_scored(classifier, family):
    record = classifier._record.held_out
    assert [classifier.domains_[k] for k in record.domains] == sorted(family.source_domains)
    assert record.plain == "linear on raw"
    assert record.figures["accuracy"] > record.plain_figures["accuracy"]
    assert 0.5 < record.figures["auc"] <= 1.0
    assert record.figures["brier"] < record.plain_figures["brier"] < 0.5


def test_a_confusion_matrix_has_the_rows_of_each_class(classifier):
    confusion = classifier._record.held_out.confusion
    np.testing.assert_allclose(confusion.sum(axis=1), 1.0)
    assert (np.diag(confusion) > 0.8).all()


def test_calibration_of_a_good_model_lies_near_the_diagonal(regressor):
    told, found, share = regressor._record.held_out.calibration.T
    np.testing.assert_allclose(told, found, atol=0.3)
    assert share.sum() == pytest.approx(1.0)


def test_intervals_hold_about_what_they_say(regressor):
    level, held = regressor._record.held_out.coverage.T
    np.testing.assert_allclose(held, level, atol=0.15)
    assert regressor._record.held_out.residuals[:, 2].sum() == pytest.approx(1.0)


@pytest.mark.parametrize("name", ["classifier", "regressor"])
def test_what_matters_comes_first_and_levels_of_a_text_are_one_column(name, request):
    importance = request.getfixturevalue(name)._record.importance
    assert importance["column"].iloc[0] == "a"
    assert set(importance["column"]) == {"a", "b", "noise", "kind"}
    unread = importance.set_index("column")["importance"][["noise", "kind"]]
    assert unread.abs().max() < 0.1 * importance["importance"].iloc[0]


def test_a_representation_that_looks_at_roles_is_explained_too(family, table):
    model = fitted(CrossDomainClassifier, family, table, family.y, candidates=[("coral", "linear")])
    assert model._record.importance["column"].iloc[0] in ("a", "b")


def test_a_single_source_has_its_rows_held_out(family, table):
    model = CrossDomainClassifier(candidates=CANDIDATES[:1], training=Training(index_steps=5))
    model.set_params(random_state=0).fit(
        table, family.y, sample_domain=family.sample_domain, source_domains=[0]
    )
    assert model._record.held_out.by_rows
    assert len(model._record.held_out.scores) == 1
    assert len(model._record.importance) == 4


def test_pictures_have_no_columns(family):
    pictures = np.random.default_rng(0).normal(size=(len(family.X), 4, 4))
    model = fitted(
        CrossDomainClassifier,
        family,
        pictures,
        family.y,
        candidates=[("raw", "linear")],
        inputs="pictures",
    )
    assert model._record.profiles == ()
    assert len(model._record.importance) == 0


def test_the_record_is_saved_with_the_model(classifier, tmp_path):
    classifier.save(tmp_path / "model")
    again = domindex.load(tmp_path / "model")._record
    pd.testing.assert_frame_equal(again.importance, classifier._record.importance)
    assert again.held_out.figures == classifier._record.held_out.figures
    np.testing.assert_array_equal(again.rows, classifier._record.rows)


def test_a_damaged_record_is_refused(classifier):
    state = classifier._record.state()
    with pytest.raises(ValueError, match="profiles do not fit"):
        FitRecord.from_state(state | {"rows": [1, 2]})
    with pytest.raises(ValueError, match="not among the domains"):
        FitRecord.from_state(
            state | {"held_out": state["held_out"] | {"domains": [0, 1, 2, 3, 4, 99]}}
        )


def test_models_of_before_there_was_a_record_still_open(classifier):
    state = classifier.state()
    del state["record"]
    assert CrossDomainClassifier.from_state(state)._record is None


def test_categories_of_a_column_are_one_column_to_those_who_ask_why(classifier, table, family):
    name = classifier.domains_[-1]
    told = classifier.explain_domain(name).set_index("column")
    assert set(told.index) == {"a", "b", "noise", "kind"}
    here = np.array([domain == name for domain in family.sample_domain])
    level, share = told.loc["kind", "typical"].rsplit(" ", 1)
    assert level in {"x", "y"}
    assert share == f"{table.loc[here, f'kind={level}'].mean():.0%}"


def test_numbers_whose_names_hold_a_sign_stay_numbers():
    values = np.random.default_rng(0).normal(size=(40, 2))
    profiles = profile_features(values, ["dose=low", "dose=high"], np.repeat([0, 1], 20), 2)
    assert [one.name for one in profiles] == ["dose=low", "dose=high"]
    assert all(len(one.edges) for one in profiles)


def test_rows_of_rare_categories_do_not_hide_that_a_column_is_one():
    """They have shares of all categories in place of a 1."""
    one_hot = np.eye(2)[np.arange(40) % 2]
    one_hot[:3] = [0.6, 0.3]
    (found,) = profile_features(one_hot, ["ward=a", "ward=b"], np.repeat([0, 1], 20), 2)
    assert found.bin_names == ("b", "a", "others")
    assert found.counts[:, -1].tolist() == [3.0, 0.0]


def test_the_feature_of_all_rare_categories_belongs_to_its_column():
    one_hot = np.eye(3)[np.arange(60) % 3]
    names = ["ward=a", "ward=b", "ward (others)"]
    (found,) = profile_features(one_hot, names, np.repeat([0, 1], 30), 2)
    assert found.name == "ward"
    np.testing.assert_array_equal(found.counts, 10.0)

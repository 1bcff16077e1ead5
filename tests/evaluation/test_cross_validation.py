"""Cross-validation over domains: whole domains held out, or the labels of sources hidden."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score

from domindex import CrossDomainClassifier, MomentFlow, Training
from domindex.datasets import make_circle
from domindex.errors import InputError, PreparationWarning
from domindex.evaluation import DomainKFold, cross_validate_domains

NAMES = np.repeat(["a", "b", "c", "d", "e", "f", "g"], 5)
SOURCES = ["a", "b", "c"]
IS_SOURCE = np.isin(NAMES, SOURCES)
X = np.zeros((len(NAMES), 2))
MODEL = CrossDomainClassifier(
    candidates=[("raw", "linear")], training=Training(steps=2, index_steps=2), random_state=0
)


@pytest.fixture(scope="module")
def data():
    return make_circle(n_domains=8, n_sources=4, samples_per_domain=30, random_state=0)


def rows(data, **more):
    return {"sample_domain": data.sample_domain, "source_domains": data.source_domains} | more


def test_every_source_is_held_out_once_and_predicted_without_its_labels(data):
    model = MomentFlow(LogisticRegression())
    table = cross_validate_domains(model, data.X, data.y, **rows(data, n_splits=2))
    assert sorted(table["domain"]) == sorted(data.source_domains)
    assert table["fold"].value_counts().tolist() == [2, 2]
    assert not hasattr(model, "domains_")
    held_out = table.loc[table["fold"] == 0, "domain"].tolist()
    swapped = np.where(np.isin(data.sample_domain, held_out), 1 - data.y, data.y)
    other = cross_validate_domains(model, data.X, swapped, **rows(data, n_splits=2))
    first, second = (one.set_index("domain").loc[held_out, "accuracy"] for one in (table, other))
    np.testing.assert_allclose(first + second, 1.0, err_msg="its own labels were not used")


def test_too_few_sources_and_folds_are_refused(data):
    model = MomentFlow(LogisticRegression())
    with pytest.raises(InputError, match="two labelled domains or more"):
        cross_validate_domains(model, data.X, data.y, **rows(data, source_domains=[0]))
    with pytest.raises(InputError, match="Choose from 2 to 4"):
        cross_validate_domains(model, data.X, data.y, **rows(data, n_splits=9))


def test_columns_may_be_named_and_labels_left_empty_mark_targets(data):
    frame = pd.DataFrame(data.X, columns=["a", "b"]).assign(
        place=[f"d{number}" for number in data.sample_domain],
        label=pd.Series(data.y).where(data.is_source, np.nan),
    )
    frame.loc[0, "label"] = np.nan  # a row of a source without one
    table = cross_validate_domains(
        MomentFlow(LogisticRegression()), frame, "label", sample_domain="place", n_splits=2
    )
    assert set(table["domain"]) == {f"d{number}" for number in data.source_domains}
    assert table["rows"].sum() == data.is_source.sum() - 1
    assert table["accuracy"].between(0.0, 1.0).all()


def test_what_is_done_to_columns_is_said_once_not_by_every_fold(data):
    frame = pd.DataFrame(data.X, columns=["a", "b"]).assign(code=np.arange(len(data.X)))
    frame.loc[0, "a"] = np.nan
    model = CrossDomainClassifier(candidates=[("raw", "linear")], training=Training(index_steps=2))
    with pytest.warns(PreparationWarning) as warned:
        cross_validate_domains(model, frame, data.y, **rows(data, n_splits=2))
    texts = [str(one.message) for one in warned if one.category is PreparationWarning]
    assert any("'code'" in text for text in texts)
    assert len(set(texts)) == len(texts)
    assert warned[0].filename == __file__


def folds(splitter, source_domains=SOURCES):
    return list(splitter.split(X, sample_domain=NAMES, source_domains=source_domains))


@pytest.mark.parametrize("n_splits", [2, 3])
@pytest.mark.parametrize("shuffle", [False, True])
def test_both_sides_of_every_split_hold_sources_and_targets(n_splits, shuffle):
    held_out = []
    for train, test in folds(DomainKFold(n_splits, shuffle=shuffle, random_state=1)):
        assert not set(NAMES[train]) & set(NAMES[test])
        assert sorted([*train, *test]) == list(range(len(NAMES)))
        for side in (train, test):
            assert set(IS_SOURCE[side]) == {True, False}
        held_out += sorted(set(NAMES[test]))
    assert sorted(held_out) == sorted(set(NAMES))


def test_targets_stay_with_every_fit_where_only_sources_are_scored():
    for train, test in folds(DomainKFold(3, score_on="sources")):
        assert IS_SOURCE[test].all()
        assert set(NAMES[~IS_SOURCE]) <= set(NAMES[train])


def test_sources_may_be_given_by_name_by_row_or_by_sign():
    numbers = np.where(IS_SOURCE, 1, -1) * np.unique(NAMES, return_inverse=True)[1]
    numbers[NAMES == "a"] = 10
    by_name, by_row = folds(DomainKFold(3)), folds(DomainKFold(3), IS_SOURCE)
    by_sign = list(DomainKFold(3).split(X, groups=numbers))
    for (_, first), (_, second) in zip(by_name, by_row):
        np.testing.assert_array_equal(first, second)
    assert all(set(IS_SOURCE[test]) == {True, False} for _, test in by_sign)


def test_the_same_seed_deals_alike_and_another_otherwise():
    first, again, other = (
        [test.tolist() for _, test in folds(DomainKFold(2, shuffle=True, random_state=seed))]
        for seed in (0, 0, 3)
    )
    assert first == again
    assert first != other


@pytest.mark.parametrize(
    "make",
    [
        lambda: DomainKFold(1),
        lambda: DomainKFold(True),
        lambda: DomainKFold("a"),
        lambda: DomainKFold(score_on="targets"),
        lambda: folds(DomainKFold(4)),
        lambda: folds(DomainKFold(2), IS_SOURCE & (np.arange(len(NAMES)) > 0)),
        lambda: list(DomainKFold(2).split(X)),
        lambda: folds(DomainKFold(2), ["a", "nowhere"]),
    ],
)
def test_what_cannot_be_split_is_refused(make):
    with pytest.raises(InputError):
        make()


def test_a_splitter_of_groups_alone_may_leave_a_fit_without_sources(data):
    model = clone(MODEL)
    folds = GroupKFold(2).split(data.X, groups=~data.is_source)
    train = next(train for train, _ in folds if not data.is_source[train].any())
    with pytest.raises(InputError, match="no source domain"):
        model.fit(
            data.X[train],
            data.y[train],
            sample_domain=np.asarray(data.sample_domain)[train],
            source_domains=np.asarray(data.is_source)[train],
        )


@pytest.fixture
def domains(data):
    return {
        "sample_domain": np.asarray(data.sample_domain),
        "source_domains": np.asarray(data.is_source),
    }


def test_scikit_learn_scores_over_domains(data, domains):
    with sklearn.config_context(enable_metadata_routing=True):
        scores = cross_val_score(
            MODEL, data.X, data.y, cv=DomainKFold(2), params=domains, error_score="raise"
        )
    assert scores.shape == (2,)
    assert np.isfinite(scores).all()


@pytest.mark.full
def test_scikit_learn_searches_over_domains(data, domains):
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            MODEL,
            {"candidates": [[("raw", "linear")], [("flow", "linear")]]},
            cv=DomainKFold(2, score_on="sources"),
            error_score="raise",
        ).fit(data.X, data.y, **domains)
    assert search.best_score_ > 0.4
    assert len(search.best_estimator_.domains_) == 8

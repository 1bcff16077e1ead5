"""Cross-validation over domains, by itself and in scikit-learn's hands."""

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score

from domindex import Training, VDIClassifier
from domindex.datasets import make_circle
from domindex.errors import InputError
from domindex.evaluation import DomainKFold

NAMES = np.repeat(["a", "b", "c", "d", "e", "f", "g"], 5)
SOURCES = ["a", "b", "c"]
IS_SOURCE = np.isin(NAMES, SOURCES)
X = np.zeros((len(NAMES), 2))
MODEL = VDIClassifier(
    candidates=[("raw", "linear")], training=Training(steps=2, index_steps=2), random_state=0
)


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


@pytest.fixture
def family():
    return make_circle(n_domains=8, n_sources=4, samples_per_domain=20, random_state=0)


def test_a_splitter_of_groups_alone_may_leave_a_fit_without_sources(family):
    model = clone(MODEL)
    train, _ = next(iter(GroupKFold(2).split(family.X, groups=~family.is_source)))
    with pytest.raises(InputError, match=r"no (source|target) domain"):
        model.fit(
            family.X[train],
            family.y[train],
            sample_domain=np.asarray(family.sample_domain)[train],
            source_domains=np.asarray(family.is_source)[train],
        )


@pytest.fixture
def domains(family):
    return {
        "sample_domain": np.asarray(family.sample_domain),
        "source_domains": np.asarray(family.is_source),
    }


def test_scikit_learn_scores_over_domains(family, domains):
    with sklearn.config_context(enable_metadata_routing=True):
        scores = cross_val_score(
            MODEL, family.X, family.y, cv=DomainKFold(2), params=domains, error_score="raise"
        )
    assert scores.shape == (2,)
    assert np.isfinite(scores).all()


@pytest.mark.full
def test_scikit_learn_searches_over_domains(family, domains):
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            MODEL,
            {"candidates": [[("raw", "linear")], [("flow", "linear")]]},
            cv=DomainKFold(2, score_on="sources"),
            error_score="raise",
        ).fit(family.X, family.y, **domains)
    assert search.best_score_ > 0.4
    assert len(search.best_estimator_.domains_) == 8

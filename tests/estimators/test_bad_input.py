"""What a daily feed brings sooner or later: a defined answer, or an error in words, at the door."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from domindex import CrossDomainClassifier, CrossDomainRegressor, MomentFlow, Training
from domindex.errors import ClusterError, InputError
from domindex.geometry.domain_geometry import DomainGeometry

SHORT = {
    "candidates": [("raw", "linear")],
    "training": Training(steps=2, index_steps=2),
    "random_state": 0,
}


def family(n_domains=8, n_rows=1):
    rng = np.random.default_rng(0)
    names = np.repeat([f"d{number:02}" for number in range(n_domains)], n_rows)
    X = rng.normal(size=(len(names), 3)) + np.repeat(np.arange(n_domains), n_rows)[:, None]
    return X, np.arange(len(X)) % 2, names


@pytest.mark.parametrize("kind", [CrossDomainClassifier, CrossDomainRegressor, MomentFlow])
def test_domains_of_one_row_each_have_a_map_and_predictions(kind):
    X, y, names = family()
    model = kind(LogisticRegression()) if kind is MomentFlow else kind(**SHORT)
    labels = X.sum(axis=1) if kind is CrossDomainRegressor else y
    model.fit(X, labels, sample_domain=names, source_domains=names[:4].tolist())
    assert np.isfinite(model.domain_indices_).all()
    assert len(model.predict(X, sample_domain=names)) == len(X)
    if kind is not MomentFlow:
        grown = model.add_domains(X[:1] + 0.5, sample_domain=["new"])
        assert np.isfinite(grown.domain_indices_).all()
        assert np.isfinite(grown.place_domains(X, sample_domain=names)["distance_1"]).all()


def test_sources_of_one_row_and_one_class_are_refused_in_words():
    X, y, names = family(n_domains=3)
    with pytest.raises(InputError, match=r"only one class.*Add a source domain"):
        CrossDomainClassifier(**SHORT).fit(X, y, sample_domain=names, source_domains=["d00"])


@pytest.mark.parametrize(
    ("changed", "words"),
    [(lambda part: part.drop(columns="x1"), "no 'x1'"), (lambda part: part.iloc[:, 1:], "no 'x0'")],
    ids=["x1", "x0"],
)
def test_a_partition_with_other_columns_is_named_by_fit(changed, words):
    frames = pytest.importorskip("dask.dataframe")
    X, y, names = family(n_rows=10)
    table = pd.DataFrame(X, columns=["x0", "x1", "x2"]).assign(y=y, site=names)
    parts = [table, changed(table)]
    lazy = frames.from_map(lambda k: parts[k], [0, 1], meta=table, enforce_metadata=False)
    model = CrossDomainClassifier(**SHORT)
    with pytest.raises(InputError, match=rf"partition 1 of the Dask data frame .*: {words}"):
        model.fit(lazy, "y", sample_domain="site", source_domains=["d00", "d01"])
    assert not hasattr(model, "domains_")


def test_a_cluster_that_goes_away_in_a_fit_is_said_and_changes_nothing(monkeypatch):
    distributed = pytest.importorskip("distributed")
    X, y, names = family(n_rows=10)
    known = {"sample_domain": names, "source_domains": ["d00", "d01"]}
    model = CrossDomainClassifier(**SHORT).fit(X, y, **known)
    before = model.predict_proba(X, sample_domain=names)

    def gone(*_, **__):
        raise distributed.CancelledError("lost")

    monkeypatch.setattr(DomainGeometry, "fit", gone)
    with pytest.raises(ClusterError, match="The Dask cluster went away"):
        model.fit(X + 1.0, y, **known)
    np.testing.assert_array_equal(model.predict_proba(X, sample_domain=names), before)

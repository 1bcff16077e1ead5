"""The map alone: no labels, no predictions."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier, is_regressor

import domindex
from domindex import CrossDomainClassifier, DomainIndexer
from domindex.datasets import make_domain_graph
from domindex.errors import InputError


@pytest.fixture(scope="module")
def family():
    return make_domain_graph(n_domains=8, random_state=0)


@pytest.fixture(scope="module")
def indexer(family):
    return DomainIndexer(effort="quick", random_state=0).fit(
        family.X, sample_domain=family.sample_domain
    )


def test_the_map_is_that_of_a_fit_with_labels(family, indexer):
    model = CrossDomainClassifier(
        candidates=[("raw", "linear")], effort="quick", random_state=0
    ).fit(family.X, family.y, sample_domain=family.sample_domain, source_domains=[0, 1, 2])
    np.testing.assert_array_equal(indexer.domain_indices_, model.domain_indices_)
    np.testing.assert_array_equal(indexer.domain_distances_, model.domain_distances_)
    np.testing.assert_array_equal(indexer.transform(family.X), model.transform(family.X))


def test_labels_are_never_read(family, indexer):
    names, rng = family.sample_domain, np.random.default_rng(0)
    other = clone(indexer).fit(family.X, rng.normal(size=len(names)), sample_domain=names)
    np.testing.assert_array_equal(other.domain_indices_, indexer.domain_indices_)


def test_it_is_a_transformer_of_scikit_learn(family, indexer):
    u = clone(indexer).fit_transform(family.X, sample_domain=family.sample_domain)
    np.testing.assert_array_equal(u, indexer.transform(family.X))
    assert list(indexer.get_feature_names_out()) == [f"domainindexer{n}" for n in range(u.shape[1])]
    assert not is_classifier(indexer)
    assert not is_regressor(indexer)
    assert not any(hasattr(indexer, name) for name in ("predict", "predict_proba", "score"))


def test_a_column_of_labels_is_left_out_by_its_name(family, indexer):
    table = pd.DataFrame(family.X, columns=["a", "b"]).assign(site=family.sample_domain, y=family.y)
    named = clone(indexer).fit(table, "y", sample_domain="site")
    assert list(named.feature_names_in_) == ["a", "b"]
    np.testing.assert_allclose(named.domain_indices_, indexer.domain_indices_, atol=1e-9)
    along = clone(indexer).fit(table.drop(columns="site"), "y", order=np.arange(len(table)))
    assert list(along.feature_names_in_) == ["a", "b"]


def test_new_domains_are_placed_and_added(family, indexer):
    rows = family.X[family.sample_domain == 3]
    placed = indexer.place_domains(rows)
    assert placed.loc[0, "nearest_1"] == 3
    assert "expected_error" not in placed
    grown = indexer.add_domains(rows, sample_domain=["again"] * len(rows))
    assert grown.added_domains_ == ["again"]


def test_a_saved_map_is_the_same(indexer, family, tmp_path):
    indexer.save(tmp_path / "map")
    opened = domindex.load(tmp_path / "map")
    assert type(opened) is DomainIndexer
    assert opened.source_domains_ == []
    np.testing.assert_array_equal(opened.transform(family.X), indexer.transform(family.X))


def test_it_is_shown(indexer, family, tmp_path):
    content = indexer.report(
        tmp_path / "map.html", family.X, sample_domain=family.sample_domain
    ).read_text()
    assert "drawn from inputs alone" in content
    assert indexer.plot_map().get_xlabel() == "domain index 1"
    assert len(indexer.domain_graph(n_neighbors=2).edges) >= 8
    assert indexer.map_["distance"].isna().all()
    assert "8 domains" in indexer._html_repr()
    assert len(indexer.explain_domain(0)) == 2


def test_there_is_nothing_to_export(indexer, tmp_path):
    with pytest.raises(InputError, match="has no labels to predict"):
        indexer.export(tmp_path / "exported")


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"sample_domain": None}, "sample_domain is missing"),
        ({"sample_domain": ["a"] * 4}, "All rows are of one domain, 'a'"),
        ({"sample_domain": ["a", "b"]}, "4 rows"),
    ],
)
def test_bad_domains_are_refused(how, message):
    with pytest.raises(InputError, match=message):
        DomainIndexer().fit(np.eye(4), **how)


def test_rows_that_are_read_in_parts_are_refused():
    pa = pytest.importorskip("pyarrow")
    reader = pa.table({"x": [1.0, 2.0], "site": ["a", "b"]}).to_reader()
    with pytest.raises(InputError, match=r"read in parts.*Pass a sample"):
        DomainIndexer().fit(reader, sample_domain="site")

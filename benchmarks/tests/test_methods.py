"""The registry: what each method is built from, and where it does not apply."""

from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
from sklearn.base import clone

from domindex.baselines import PCIDA
from domindex.datasets import make_circle
from domindex_bench import METHODS, list_methods
from domindex_bench.methods import true_graph, true_index

FAMILY = make_circle(n_domains=6, n_sources=3, samples_per_domain=20)
FORECASTS = replace(FAMILY, X=np.hstack([FAMILY.X, FAMILY.X**2]), y=FAMILY.X, task="regression")
PLAIN = [name for name in list_methods() if METHODS[name].group.startswith("plain")]


@pytest.mark.parametrize("name", PLAIN)
@pytest.mark.parametrize("family", [FAMILY, FORECASTS], ids=["classes", "values"])
def test_a_plain_method_fits_or_says_why_not(name, family):
    method = METHODS[name]
    if method.objection(family):
        assert f"this is {family.task}" in method.objection(family)
        return
    if method.package is not None:
        pytest.importorskip(method.package)
    model = clone(method.build(family, 0))
    model.fit(
        family.X,
        family.y,
        sample_domain=family.sample_domain,
        source_domains=family.source_domains,
    )
    predicted = model.predict(family.X, sample_domain=family.sample_domain)
    assert predicted.shape == family.y.shape


def test_every_plain_model_has_its_variants():
    for model in ("ridge", "forest", "knn", "boosting"):
        assert {f"{model}{aid}" for aid in ("", "-means", "-flow", "-rows")} <= set(PLAIN)
    for model in ("logistic", "svm"):
        assert {f"{model}{aid}" for aid in ("", "-means", "-flow")} <= set(PLAIN)
        assert f"{model}-rows" not in PLAIN


def test_the_default_model_comes_with_its_seed_and_stands_beside_the_papers_vdi():
    assert METHODS["cross-domain"].build(FAMILY, 3).random_state == 3
    assert METHODS["cross-domain"].published_as == "vdi"


def test_where_only_an_order_is_known_the_graph_is_a_chain():
    shuffled = replace(FAMILY, graph=None, true_index=np.array([[5.0, 1, 3, 0, 2, 4]]).T)
    chain = true_graph(shuffled)
    assert nx.utils.edges_equal(chain.edges, [(3, 1), (1, 4), (4, 2), (2, 5), (5, 0)])
    assert true_graph(FAMILY) is FAMILY.graph
    assert true_index(shuffled)[0] == 5.0


def test_oracles_need_the_truth():
    unknown = replace(FAMILY, graph=None, true_index=None)
    for name in ("cida", "pcida"):
        assert METHODS[name].objection(unknown) == "the true index of the domains is not known"
    assert "neither a true graph nor a true order" in METHODS["grda"].objection(unknown)
    plane = replace(FAMILY, graph=None, true_index=np.zeros((6, 2)))
    assert METHODS["grda"].objection(plane)
    assert not METHODS["grda"].objection(replace(FAMILY, graph=None))
    assert not METHODS["cida"].objection(FAMILY)
    model = METHODS["pcida"].build(FAMILY, 1)
    assert type(model) is PCIDA
    assert model.domain_index == true_index(FAMILY)


def test_domain2vec_is_for_classes():
    assert "it predicts classes" in METHODS["domain2vec"].objection(FORECASTS)
    assert not METHODS["domain2vec"].objection(FAMILY)

"""More domains than a map is drawn from: estimators on landmarks."""

from functools import partial

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import domindex
from domindex import CrossDomainClassifier, MomentFlow, Training
from domindex.geometry.domain_geometry import DomainGeometry
from domindex.geometry.settings import MAP

N_DOMAINS = MAP.max_drawn + 20
ONE_ROW, TWINS = N_DOMAINS - 1, (N_DOMAINS - 3, N_DOMAINS - 2)


@pytest.fixture(scope="module")
def family():
    """Two classes that move along a line; a domain of one row, and two that are the same."""
    rng = np.random.default_rng(0)
    names = np.repeat(np.arange(N_DOMAINS), 8)
    y = np.tile([0, 1], 4 * N_DOMAINS)
    X = rng.normal(size=(len(names), 2)) * 0.1
    X[:, 0] += y + names / 50.0
    X[names == TWINS[1]] = X[names == TWINS[0]]
    kept = np.ones(len(names), dtype=bool)
    kept[np.flatnonzero(names == ONE_ROW)[1:]] = False
    return X[kept], y[kept], names[kept]


@pytest.fixture(scope="module")
def model(family):
    X, y, names = family
    chosen = CrossDomainClassifier(
        candidates=[("raw", "linear"), ("flow", "linear")],
        effort="quick",
        training=Training(steps=5, index_steps=5),
        random_state=0,
    )
    return chosen.fit(X, y, sample_domain=names, source_domains=list(range(0, N_DOMAINS, 3)))


@pytest.mark.full
def test_the_map_is_drawn_from_landmarks_and_says_how_well(model, family):
    X, y, names = family
    assert len(model.landmark_domains_) == MAP.max_drawn
    assert model.domain_distances_.shape == (N_DOMAINS, MAP.max_drawn)
    assert model.landmark_error_.spearman > 0.97
    assert f"{MAP.max_drawn} of {N_DOMAINS} domains" in model.summary()
    along = model.domain_indices_[:-1, 0]
    assert abs(np.corrcoef(along, np.arange(N_DOMAINS - 1))[0, 1]) > 0.98
    assert np.isfinite(model.domain_indices_).all()
    assert model.score(X, y, sample_domain=names) > 0.95


@pytest.mark.full
def test_domains_that_coincide_lie_together(model):
    first, second = model.domain_indices_[list(TWINS)]
    assert np.linalg.norm(first - second) < 0.1


@pytest.mark.full
def test_it_is_saved_grows_and_has_neighbours(model, family, tmp_path):
    X, _, names = family
    model.save(tmp_path / "model")
    again = domindex.load(tmp_path / "model")
    assert again.landmark_domains_ == model.landmark_domains_
    np.testing.assert_allclose(
        again.predict_proba(X[:50], sample_domain=names[:50]),
        model.predict_proba(X[:50], sample_domain=names[:50]),
    )
    grown = again.add_domains(X[names == 7], sample_domain=["new"] * 8)
    assert grown.added_domains_ == ["new"]
    table = grown.place_domains(X[names == 7], sample_domain=["new"] * 8, forecast=False)
    assert abs(int(table["nearest_1"][0]) - 7) < 40
    graph = grown.domain_graph(n_neighbors=2)
    assert graph.number_of_nodes() == N_DOMAINS + 1
    assert grown.domain_graph(quantile=0.001).number_of_edges() == round(
        0.001 * (N_DOMAINS + 1) * N_DOMAINS / 2
    )


def test_the_closed_form_alone_takes_many_domains(family, monkeypatch):
    """Every fourth domain, and a quarter as many landmarks, for time."""
    most = MAP.max_drawn // 4
    monkeypatch.setattr(DomainGeometry, "fit", partial(DomainGeometry.fit, most_drawn=most))
    X, y, names = (part[family[2] % 4 == 0] for part in family)
    model = MomentFlow(LogisticRegression())
    model.fit(X, y, sample_domain=names, source_domains=list(range(0, N_DOMAINS, 12)))
    assert model.landmark_error_.n_landmarks == most < len(model.domains_)
    assert model.score(X, y, sample_domain=names) > 0.95


def test_fewer_domains_than_axes_leave_the_last_axes_at_zero():
    rng = np.random.default_rng(0)
    names = np.repeat([0, 1, 2], 10)
    X, y = rng.normal(size=(30, 2)) + names[:, None], np.tile([0, 1], 15)
    model = MomentFlow(index_dim=5).fit(X, y, sample_domain=names, source_domains=[0, 1])
    assert model.domain_indices_.shape == (3, 5)
    np.testing.assert_allclose(model.domain_indices_[:, 2:], 0.0, atol=1e-6)

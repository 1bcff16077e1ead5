"""One wild row moves no domain, whatever way the data come in, and clean data are not touched."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import cdist

import domindex
from domindex import CrossDomainClassifier, CrossDomainRegressor, MomentFlow, Training
from domindex.datasets import make_circle
from domindex.errors import ExtremeValueWarning
from domindex.geometry import procrustes_align
from domindex.inputs.bounds import InputBounds
from domindex.tables import Run, fit_table

SETTINGS = {
    "candidates": [("raw", "linear"), ("flow", "linear")],
    "effort": "quick",
    "training": Training(steps=3, index_steps=3),
    "random_state": 0,
}
CIRCLE = make_circle(n_domains=10, n_sources=4, samples_per_domain=40)
X, NAMES = np.array(CIRCLE.X), np.array(CIRCLE.sample_domain)
COLUMNS = ["east", "north"]
FIRST, LAST = 0, 9
"""The first domain is a source, the last a target."""


def fit(inputs, y=CIRCLE.y, names=NAMES):
    model = CrossDomainClassifier(**SETTINGS)
    return model.fit(inputs, y, sample_domain=names, source_domains=CIRCLE.source_domains)


def spoil(inputs, row, factor):
    spoiled = np.array(inputs)
    spoiled[row] *= factor
    return spoiled


def moves(model, clean):
    """(domains,) how far each lies from where it was, in distances to its nearest neighbour."""
    places = clean.domain_indices_ - clean.domain_indices_.mean(axis=0)
    found = procrustes_align(model.domain_indices_, places)
    gaps = cdist(places, places)
    np.fill_diagonal(gaps, np.inf)
    return np.linalg.norm(found - places, axis=1) / gaps.min(axis=1)


@pytest.fixture(scope="module")
def clean():
    return fit(X)


@pytest.fixture(scope="module")
def wild():
    """Fitted with one wild row in a target."""
    with pytest.warns(ExtremeValueWarning):
        return fit(spoil(X, -1, 1e6))


@pytest.mark.parametrize(
    ("domain", "which", "factor"),
    [
        (FIRST, 0, 1e3),
        (LAST, -1, -1e6),
        pytest.param(FIRST, -1, -1e6, marks=pytest.mark.full),
        pytest.param(LAST, 0, 1e3, marks=pytest.mark.full),
    ],
)
def test_one_wild_row_moves_no_domain_and_hardly_a_prediction(clean, domain, which, factor):
    row = np.flatnonzero(domain == NAMES)[which]
    with pytest.warns(ExtremeValueWarning, match=f"in row {row}"):
        model = fit(spoil(X, row, factor))
    assert moves(model, clean).max() < 0.5
    others = np.arange(len(X)) != row
    found, expected = (
        one.predict(X[others], sample_domain=NAMES[others]) for one in (model, clean)
    )
    assert (found == expected).mean() > 0.98


def test_a_fit_with_a_wild_row_is_the_fit_without_it_to_the_bit(wild):
    others = np.arange(len(X)) < len(X) - 1
    without = fit(X[others], y=CIRCLE.y[others], names=NAMES[others])
    np.testing.assert_array_equal(wild.domain_indices_, without.domain_indices_)
    np.testing.assert_array_equal(
        *(one.predict_proba(X, sample_domain=NAMES) for one in (wild, without))
    )


def test_the_rule_would_be_missed(clean, monkeypatch):
    """Without it, the same row takes its domain far across the map."""
    monkeypatch.setattr(InputBounds, "apply", lambda self, inputs, groups: inputs)
    assert moves(fit(spoil(X, -1, 1e3)), clean).max() > 2.0


def test_clean_data_are_what_they_were_to_the_bit(clean, monkeypatch):
    def nothing(self, data, has_row_numbers):
        return data

    monkeypatch.setattr(CrossDomainClassifier, "_within_bounds", nothing)
    plain = fit(X)
    assert plain._bounds is None
    np.testing.assert_array_equal(plain.domain_indices_, clean.domain_indices_)
    np.testing.assert_array_equal(
        plain.predict_proba(X, sample_domain=NAMES), clean.predict_proba(X, sample_domain=NAMES)
    )


def test_frames_of_numbers_are_bounded_by_name_and_once():
    frame = pd.DataFrame(spoil(X, 3, 1e5), columns=COLUMNS)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ExtremeValueWarning)
        fit(frame)
    said = [str(one.message) for one in caught if one.category is ExtremeValueWarning]
    assert len(said) == 1
    assert "column 'east' holds" in said[0]
    assert "column 'north' holds" in said[0]


@pytest.mark.parametrize("kind", [MomentFlow, CrossDomainRegressor])
def test_other_estimators_are_as_safe(kind):
    settings = SETTINGS if kind is CrossDomainRegressor else {}
    known = {"sample_domain": NAMES, "source_domains": CIRCLE.source_domains}
    labels = X[:, 0] + X[:, 1] if kind is CrossDomainRegressor else CIRCLE.y
    plain = kind(**settings).fit(X, labels, **known)
    with pytest.warns(ExtremeValueWarning):
        model = kind(**settings).fit(spoil(X, -1, 1e4), labels, **known)
    assert moves(model, plain).max() < 0.5


def test_rows_on_disk_are_as_safe(clean, tmp_path):
    np.save(tmp_path / "rows.npy", spoil(X, -1, 1e4))
    on_disk = np.load(tmp_path / "rows.npy", mmap_mode="r")
    with pytest.warns(ExtremeValueWarning, match="column 0 holds [^ ]*, which counts as"):
        model = fit(on_disk)
    assert moves(model, clean).max() < 0.5
    np.testing.assert_array_equal(
        model.predict(on_disk, sample_domain=NAMES),
        model.predict(np.array(on_disk), sample_domain=NAMES),
    )


def test_a_table_from_a_file_is_as_safe(tmp_path):
    known = np.isin(NAMES, CIRCLE.source_domains)
    labels = np.where(known, np.where(CIRCLE.y, "outside", "inside"), "")
    table = pd.DataFrame(X, columns=COLUMNS).assign(site=NAMES, label=labels)
    runs = {}
    for name, inputs in (("clean", X), ("wild", spoil(X, -1, 1e4))):
        table.assign(**dict(zip(COLUMNS, inputs.T))).to_csv(tmp_path / f"{name}.csv", index=False)
        with warnings.catch_warnings():
            warnings.simplefilter("error", ExtremeValueWarning)  # a note says it
            fit_table(
                tmp_path / f"{name}.csv",
                target=["label"],
                domain="site",
                out=tmp_path / name,
                report=False,
                settings={"candidates": [["raw", "linear"]], "training": {"index_steps": 3}},
            )
        runs[name] = Run.open(tmp_path / name)
    assert moves(runs["wild"].model(), runs["clean"].model()).max() < 0.5
    assert any("Drew in values far beyond" in note for note in runs["wild"].about["notes"])


def test_a_wild_row_of_later_counts_as_an_ordinary_one(wild):
    domain = NAMES == FIRST
    later = X[domain].copy()
    later[5] = [1e9, -1e9]
    ends = later.copy()
    ends[5] = [X[domain, 0].max(), X[domain, 1].min()]
    for method in (wild.predict_proba, wild.encode):
        found, expected = (method(rows, sample_domain=NAMES[domain]) for rows in (later, ends))
        np.testing.assert_allclose(found[5], expected[5], rtol=1e-9)
        alone = method(later[5:6], sample_domain=NAMES[domain][:1])
        np.testing.assert_allclose(alone[0], found[5], rtol=1e-9)
    assert np.abs(wild.transform(later)).max() < 10 * np.abs(wild.transform(X)).max()


def new_rows(shift=0.0, n=60):
    """Rows of a domain between others, or so far beside them."""
    between = make_circle(n_domains=10, n_sources=4, samples_per_domain=n, random_state=5)
    return np.array(between.X)[np.array(between.sample_domain) == 6] + shift


@pytest.mark.parametrize("row", [0, -1])
def test_one_wild_row_does_not_move_a_new_domain(clean, row):
    rows, spacing = new_rows(), clean.place_domains(X, sample_domain=NAMES)["distance_1"].median()
    index = ["index_1", "index_2"]
    for factor in (1e3, -1e6):
        places = [
            clean.place_domains(one, sample_domain=["new"] * len(one))
            for one in (rows, spoil(rows, row, factor))
        ]
        moved = np.linalg.norm(places[0][index].to_numpy() - places[1][index].to_numpy())
        assert moved < 0.5 * spacing
        assert not places[1]["off_map"].item()


@pytest.mark.parametrize("n", [1, 2, 60])
def test_a_new_domain_beyond_the_bounds_is_still_off_the_map(clean, n):
    far = new_rows(shift=1e4, n=60)[:n]
    scores = [
        clean.place_domains(rows, sample_domain=["new"] * n)["off_map_score"].item()
        for rows in (far, new_rows(shift=1e2)[:n])
    ]
    assert scores[0] > 10 * scores[1] > 10


@pytest.mark.filterwarnings("ignore:.*off the map")
def test_domains_that_are_added_are_bounded_as_they_were_placed(clean, tmp_path):
    far = new_rows(shift=1e4)
    spoiled = np.vstack([new_rows(), spoil(far, 7, 1e3)])
    names = ["within"] * 60 + ["far"] * 60
    with pytest.warns(domindex.errors.OffMapWarning, match="far"):
        grown = clean.add_domains(spoiled, sample_domain=names)
    before = grown.predict_proba(spoiled, sample_domain=names)
    alone = grown.predict_proba(spoiled[67:68], sample_domain=["far"])
    np.testing.assert_allclose(alone[0], before[67], rtol=1e-9)
    np.testing.assert_array_equal(
        clean.predict_proba(X, sample_domain=NAMES), grown.predict_proba(X, sample_domain=NAMES)
    )
    grown.save(tmp_path / "model")
    again = domindex.load(tmp_path / "model").predict_proba(spoiled, sample_domain=names)
    np.testing.assert_array_equal(again, before)
    grown.export(tmp_path / "program")
    exported = domindex.load_exported(tmp_path / "program")
    np.testing.assert_allclose(
        exported.predict_proba(spoiled, sample_domain=names), before, atol=1e-9
    )


def test_saved_and_exported_models_draw_in_the_same_rows(wild, tmp_path):
    later = spoil(X, slice(0, None, 7), 1e4)
    expected = wild.predict_proba(later, sample_domain=NAMES)
    wild.save(tmp_path / "model")
    again = domindex.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_proba(later, sample_domain=NAMES), expected)
    np.testing.assert_array_equal(again.transform(later), wild.transform(later))
    wild.export(tmp_path / "program")
    exported = domindex.load_exported(tmp_path / "program")
    np.testing.assert_allclose(
        exported.predict_proba(later, sample_domain=NAMES), expected, atol=1e-9
    )


def test_pictures_and_signals_have_no_bounds():
    rng = np.random.default_rng(0)
    pictures = rng.random((60, 8, 8))
    names = np.repeat(["a", "b", "c"], 20)
    model = CrossDomainClassifier(candidates=[("raw", "linear")], training=Training(index_steps=3))
    model.fit(pictures, np.arange(60) % 2, sample_domain=names, source_domains=["a", "b"])
    assert model._bounds is None
